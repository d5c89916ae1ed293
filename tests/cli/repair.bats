load lib

# Bytes that a frame's header gives to its payload, holes among them.
payload() { od -A n -t u8 --endian=big -j 39 -N 8 "$1" | tr -d ' '; }

# A contiguous frame with a hole: c-blosc2 or bpk left one, or (here) an index that skips a chunk.
# Its second chunk is forgotten by a copy of the frame without it, whose index is put behind.
@test "repair wants to be told what to do" {
    data sorted-i64 10000 a
    bpk pack -F b2frame a
    refuses 64 '^bpk: repair: only one of --repack, --apply, --merge, --finish, --reseal' bpk repair --repack --reseal a.b2frame
    refuses 64 '^bpk: repair: needs a FILE' bpk repair --repack
    refuses 1 'is not an archive' bpk repair --repack a
}

@test "repack leaves alone what has no holes, and says so with -v" {
    data sorted-i64 100000 a
    for format in b2frame b2sparse blp chunked; do
        make_archive $format a -z 8K
        before=$(snapshot)
        bpk repair --repack -v "$archive" 2>"$err"
        says 'no holes'
        [ "$(snapshot)" = "$before" ]
        bpk repair --repack --json -q "$archive" >"$out"
        grep -q '"repacked": *false' "$out"
    done
}

@test "repack cuts zeros behind a frame off, and refuses other bytes" {
    data sorted-i64 100000 a
    bpk pack -z 8K --set x=1 -o a.b2frame a
    cp a.b2frame b.b2frame
    head -c 5000 a >>b.b2frame
    refuses 1 '5000 bytes .*, belong to no archive, and a change would destroy them' bpk repair --repack b.b2frame
    cp a.b2frame b.b2frame
    truncate -s +5000 b.b2frame
    chmod 640 b.b2frame
    quietly bpk repair --repack b.b2frame
    same a.b2frame b.b2frame
    [ "$(stat -c %a b.b2frame)" = 640 ]
}

@test "repack drops the holes that appends leave, as c-blosc2 and bpk make them" {
    [ -z "${BPK_CBLOSC2:-}" ] || need_oracle2
    data sorted-i64 100000 a
    head -c 30000 a >1
    tail -c +30001 a >2
    for format in b2frame b2sparse; do
        # the same recipe for both, whatever a trial would say of either
        make_archive $format 1 -z 8K -t 8 --filter shuffle --set x=1
        mv "$archive" whole
        bpk pack -q -F $format -z 8K -t 8 --filter shuffle -o clean --set x=1 a
        cp -r whole "x.${suffix[$format]}"
        archive=x.${suffix[$format]}
        bpk append "$archive" 2 || skip "frames cannot be appended to"
        quietly bpk repair --repack "$archive"
        quietly bpk verify "$archive"
        bpk cat "$archive" | same - a
        ! oracle2_reads "$archive" || oracle2 raw "$archive" | same - a
        [ "$(du -sb --apparent-size "$archive" | cut -f 1)" -le \
            "$(($(du -sb --apparent-size clean | cut -f 1) + 64))" ]
        rm -rf whole clean
    done
}

@test "repack of a sparse frame removes orphans and empty files, and closes the gaps of ids" {
    data sorted-i64 100000 a
    bpk pack -z 8K --set x=1 -o a.b2s a
    cp -r a.b2s b.b2s
    : >b.b2s/000000FF.chunk
    cp a.b2s/00000001.chunk b.b2s/00000F00.chunk
    quietly bpk repair --repack b.b2s
    diff -r a.b2s b.b2s --exclude=.lock
    bpk repair --repack -v b.b2s 2>"$err"
    says 'has no holes'
}

@test "repack moves the chunks of large ids down" {
    need_python
    need_oracle2
    data sorted-i64 50000 a
    oracle2 pack x.b2s 4096 8 sparse <a
    oracle2 delete x.b2s 0
    oracle2 delete x.b2s 3
    oracle2 raw x.b2s >b
    [ -e x.b2s/0000000C.chunk ]
    quietly bpk repair --repack x.b2s
    [ "$(ls x.b2s/*.chunk | wc -l)" -eq 11 ]
    [ -e x.b2s/0000000A.chunk ]
    [ ! -e x.b2s/0000000B.chunk ]
    quietly bpk verify x.b2s
    bpk cat x.b2s | same - b
    oracle2 raw x.b2s | same - b
    oracle2 append x.b2s 4096 <a
    bpk cat x.b2s | same - <(cat b a)
    # a contiguous one has holes then
    oracle2 pack x.b2frame 4096 8 <a
    oracle2 delete x.b2frame 0
    oracle2 delete x.b2frame 3
    size=$(stat -c %s x.b2frame)
    bpk repair --repack -v x.b2frame 2>"$err"
    says "^bpk: x.b2frame: from $size to [0-9]* bytes"
    [ "$(stat -c %s x.b2frame)" -lt "$size" ]
    bpk cat x.b2frame | same - b
    oracle2 raw x.b2frame | same - b
    bpk info --json x.b2frame >"$out"
    [ "$(json "$out" 'x["hole_size"]')" = 0 ]
}

@test "repack into another file or directory" {
    data sorted-i64 100000 a
    for format in b2frame b2sparse; do
        make_archive $format a -z 8K --set x=1
        quietly bpk repair --repack -o "other.${suffix[$format]}" "$archive"
        diff -r "$archive" "other.${suffix[$format]}" --exclude=.lock
        refuses 1 'already exists' bpk repair --repack -o "other.${suffix[$format]}" "$archive"
    done
    printf x >>a.b2frame
    cat a.b2frame | bpk repair --repack -o - - | same - other.b2frame
}

@test "repack tells of a damaged chunk, and changes nothing" {
    data field-f64 100000 a
    for format in b2frame b2sparse; do
        make_archive $format a -z 8K
        if [ -d "$archive" ]; then
            : >"$archive/00000F00.chunk"
            file=$archive/00000003.chunk
        else
            truncate -s +1 "$archive"
            file=$archive
        fi
        printf '\377\377' | dd of="$file" bs=1 seek=3000 conv=notrunc status=none
        refuses 2 "$archive: .*chunk [0-9]" bpk repair --repack "$archive"
    done
}

@test "repack waits for another writer, or says that there is one" {
    need flock
    data sorted-i64 10000 a
    bpk pack -o a.b2frame a
    head -c 1 /dev/zero >>a.b2frame
    mkfifo hold
    bpk append a.b2frame - <hold &
    exec 8>hold
    eventually bash -c '! "$BPK" repair --repack a.b2frame 2>/dev/null || false' ||
        skip "frames cannot be appended to"
    exec 8>&-
    wait
    quietly bpk repair --repack a.b2frame
    bpk cat a.b2frame | same - a
}

@test "repack and reseal tell of a damaged trailer, and drop neither metadata nor digests" {
    data sorted-i64 40000 a
    for format in b2frame b2sparse; do
        make_archive $format a -z 8K --set temperature=300
        bpk append -q "$archive" a # leaves a hole
        file=$archive
        [ ! -d "$archive" ] || file=$archive/chunks.b2frame
        size=$(stat -c %s "$file")
        cp "$file" whole
        for back in 40 80 120 160 200; do
            cp whole "$file"
            printf '\377' | dd of="$file" bs=1 seek=$((size - back)) conv=notrunc status=none
            cp "$file" damaged
            for options in --repack --reseal "--repack -o other"; do
                status=0
                # shellcheck disable=SC2086 # words
                bpk repair $options "$archive" 2>"$err" || status=$?
                [ $status -eq 2 ] || die "$format, $back before the end, $options: status $status"
                cmp "$file" damaged
                [ ! -e other ]
            done
        done
        rm -rf "$archive"
    done
}

@test "repair --repack: sizes that contradict the header stay damage" {
    data text 50000 raw
    for format in b2frame b2sparse; do
        bpk pack -q -F $format -z 4096 --codec lz4 -t 1 --filter none --checksum none -o "$format" raw
        file=$format
        [ ! -d $format ] || file=$format/chunks.b2frame
        # the low byte of the header's raw size (blosc2 frames, "Header")
        printf '\x01' | dd of="$file" bs=1 seek=37 conv=notrunc status=none
        ends 2 bpk verify $format
        cp -r $format before
        ends 2 bpk repair --repack $format
        diff -r -x .lock before $format
        rm -r before
    done
}

@test "--finish adds the counts and offsets that an archive from a pipe lacks" {
    need_python
    data sorted-i64 100000 a
    cat a | bpk pack -q -z 8K --set x=1 2>/dev/null | cat >a.blp
    chmod 640 a.blp
    quietly bpk repair --finish a.blp
    [ "$(stat -c %a a.blp)" = 640 ]
    quietly bpk verify a.blp
    bpk cat a.blp | same - a
    bpk info --json a.blp >x
    [ "$(json x 'x["nchunks"], x["raw_size"], x["offsets"], x["metadata"]')" = \
        "(13, 100000, True, '{\"x\": 1}')" ]
    before=$(snapshot)
    bpk repair --finish -v a.blp 2>"$err"
    says 'is complete, nothing to do'
    [ "$(snapshot)" = "$before" ]
    printf '' | bpk pack -q 2>/dev/null | cat >e.blp
    quietly bpk repair --finish e.blp
    quietly bpk verify e.blp
    bpk cat e.blp | same - /dev/null
}

@test "--finish leaves alone what is damaged, and what needs it not" {
    data sorted-i64 100000 a
    cat a | bpk pack -q -z 8K 2>/dev/null | cat >whole.blp
    head -c -5 whole.blp >cut.blp
    cp whole.blp bad.blp
    printf '\377\377\377\377' | dd of=bad.blp bs=1 seek=200 conv=notrunc status=none
    for file in cut bad; do
        cp $file.blp before
        refuses 2 "^bpk: $file.blp: " bpk repair --finish $file.blp
        same $file.blp before
    done
    cat whole.blp whole.blp >two.blp
    refuses 1 'another archive follows' bpk repair --finish two.blp
    refuses 1 'is a URL' bpk repair --finish http://127.0.0.1:9/a.blp
    bpk pack -F b2frame a
    bpk repair --finish -v a.b2frame 2>"$err"
    says 'b2frame are always complete'
}

@test "what repair does not have is not listed, and --heal is answered" {
    refuses 64 '--heal.*bpk verify --heal' bpk repair --heal x.blp
    refuses 64 'nan' bpk repair --apply --fill nan -o y.blp x.blp
    [ -z "$(bpk repair --help | grep -w nan)" ]
    bpk unpack --help | grep -qw nan
}

@test "a damaged size of zeros is damage, not wrong usage" {
    data zeros 100000 r
    bpk pack -q --checksum none -z 4000 -o r.b2s r
    printf '\5' | dd of=r.b2s/chunks.b2frame bs=1 seek=35 conv=notrunc status=none
    ends 2 bpk repair --reseal r.b2s
    says 'unpacks to 98144 bytes, expected 100000; bpk verify r.b2s shows'
    refuses 2 'unpacks to 98144 bytes, expected 100000' bpk cat --bytes 99990:100000 r.b2s
}
