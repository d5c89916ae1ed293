load lib

# What the tests of a matrix found: cases and right ones, told at its end.
cases=0
right=0
wrong=
tally() { # NAME COMMAND...
    cases=$((cases + 1))
    if "${@:2}" >"$out" 2>"$err"; then
        right=$((right + 1))
    else
        wrong+="$1: $(head -c 300 "$err")"$'\n'
    fi
}
told() {
    echo "# $right of $cases: $1" >&3
    [ "$right" -eq "$cases" ] || die "$wrong"
}

# Zeros, noise, a repeated item, numbers, and an end inside an item: several chunks of 8 KiB.
mixed() { # FILE
    {
        head -c 8192 /dev/zero
        data field-f32 20000 /dev/stdout
        head -c 8192 /dev/zero
        yes 'ABCDEFGHIJK' | head -c 24576
        head -c 9000 /dev/zero
        data records 8192 /dev/stdout
    } >"$1"
}

frame_of=([0]=x.b2frame [1]=x.b2s)

# A frame holds FILE, is sound, and c-blosc2 says the same where it is there.
is_frame_of() { # FRAME FILE
    "$BPK" verify "$1" && "$BPK" cat "$1" | cmp - "$2" || return
    ! oracle2_reads "$1" || oracle2 raw "$1" | cmp - "$2"
}

sizes_case() { # FRAME FILE ARGUMENTS...
    rm -rf "$1"
    "$BPK" pack -q -o "$1" "${@:3}" "$2" && is_frame_of "$1" "$2"
}

piped_case() { # FILE ARGUMENTS...: the same bytes, out of a pipe and into one
    "$BPK" pack -q -f -o x.b2frame "${@:2}" "$1" || return
    # shellcheck disable=SC2002 # a pipe is meant
    cat "$1" | "$BPK" pack -q -F b2frame "${@:2}" | cat >p.b2frame
    is_frame_of p.b2frame "$1" && cmp x.b2frame p.b2frame
}

@test "every codec, pipeline and element size comes back, contiguous and sparse" {
    mixed a
    for codec in blosclz lz4 lz4hc zlib zstd; do
        for filter in none shuffle bitshuffle delta,shuffle shuffle,bytedelta; do
            for typesize in 1 4 12; do
                for frame in x.b2frame x.b2s; do
                    sampled 3 || continue
                    tally "$codec $filter $typesize $frame" sizes_case $frame a -z 8K \
                        --codec $codec --filter $filter -t $typesize
                done
            done
        done
    done
    told "codec x pipeline x typesize x {contiguous, sparse}"
}

@test "c-blosc2 reads every codec, pipeline and element size, contiguous and sparse" {
    need_oracle2
    mixed a
    for codec in blosclz lz4 lz4hc zlib zstd; do
        for filter in none shuffle bitshuffle delta,shuffle shuffle,bytedelta; do
            oracle2_has "$filter" || continue
            for typesize in 1 4 8 12 255; do
                for frame in x.b2frame x.b2s; do
                    sampled 3 || continue
                    tally "$codec $filter $typesize $frame" sizes_case $frame a -z 8K \
                        --codec $codec --filter $filter -t $typesize
                done
            done
        done
    done
    told "read by c-blosc2: codec x pipeline x typesize x {contiguous, sparse}, special chunks among them"
}

@test "every size around a chunk's, from a file and a pipe, into a file and a pipe" {
    [ -z "${BPK_CBLOSC2:-}" ] || need_oracle2
    data field-f64 100000 all
    for size in 0 1 7 8 4095 4096 4097 8192 100000; do
        head -c $size all >a
        for codec in lz4 zstd; do
            for frame in x.b2frame x.b2s; do
                tally "$size $codec $frame" sizes_case $frame a -z 4K -t 8 --codec $codec
            done
            tally "$size $codec piped" piped_case a -z 4K -t 8 --codec $codec
            rm -f x.b2frame
        done
    done
    told "sizes x codec x {contiguous, sparse, piped}"
}

@test "any number of threads gives the same frame" {
    data records 3000000 a
    for frame in b2frame b2s; do
        bpk pack -T 1 -z 64K -o one.$frame a
        bpk pack -T 8 -z 64K -o eight.$frame a
        diff -r one.$frame eight.$frame
    done
}

@test "what is given without a choice makes a good frame" {
    [ -z "${BPK_CBLOSC2:-}" ] || need_oracle2
    data field-f32 3000000 a
    quietly bpk pack -F b2frame a
    quietly bpk pack -F b2sparse a
    is_frame_of a.b2frame a
    is_frame_of a.b2s a
    head -c 3000000 /dev/zero >z
    quietly bpk pack -F b2frame z
    quietly bpk pack -F b2sparse z
    is_frame_of z.b2frame z
    is_frame_of z.b2s z
    # nothing is stored of zeros
    [ "$(stat -c %s z.b2frame)" -lt 400 ]
    [ "$(ls z.b2s)" = chunks.b2frame ]
    [ ! -s /dev/null ]
}

@test "metadata become metalayers, which c-blosc2 finds by their names" {
    need_python
    data sorted-i64 10000 a
    quietly bpk pack -F b2frame --set run=7 --set 'names=["a","b"]' --set text=hi a
    bpk meta get a.b2frame >"$out"
    [ "$(json "$out" 'x["run"], x["names"], x["text"]')" = "(7, ['a', 'b'], 'hi')" ]
    quietly bpk convert a.b2frame a.blp
    bpk meta get a.blp >"$out"
    [ "$(json "$out" 'x["run"], x["names"], x["text"]')" = "(7, ['a', 'b'], 'hi')" ]
    quietly bpk convert a.blp b.b2s
    bpk meta get b.b2s >"$out"
    [ "$(json "$out" 'x["run"], x["names"], x["text"]')" = "(7, ['a', 'b'], 'hi')" ]
    need_oracle2
    oracle2 names b.b2s | grep -qx 'variable run'
    [ "$(oracle2 layer a.b2frame text | xxd -p)" = a26869 ]
}

@test "a frame refuses what it cannot obey" {
    data sorted-i64 10000 a
    refuses 64 '^bpk: pack: --no-offsets is not for format b2frame$' \
        bpk pack -F b2frame --no-offsets a
    refuses 64 '^bpk: pack: --append-space is not for format b2sparse$' \
        bpk pack -F b2sparse --append-space 3 a
    refuses 64 '^bpk: pack: --superchunk-size is not for format b2sparse$' \
        bpk pack -F b2sparse --superchunk-size 1M a
    refuses 64 "^bpk: pack: --superchunk-size is for directories" \
        bpk pack -F b2frame --superchunk-size 1M a
    refuses 64 "^bpk: pack: format b2sparse has no layout 'blaze'$" \
        bpk pack -F b2sparse --layout blaze a
    if bpk version | grep -q snappy; then
        refuses 64 '^bpk: pack: format b2frame has no codec snappy$' \
            bpk pack -F b2frame --codec snappy a
    fi
    refuses 64 'b2sparse is a directory' bpk pack -F b2sparse -c a
    : >b.b2frame
    refuses 1 'already exists' bpk pack -o b.b2frame a
}

@test "--slack leaves room inside the chunks of a frame" {
    [ -z "${BPK_CBLOSC2:-}" ] || need_oracle2
    data field-f64 300000 a
    bpk pack -z 64K -o a.b2frame a
    quietly bpk pack -z 64K --slack 1000 -o b.b2frame a
    is_frame_of b.b2frame a
    [ "$(stat -c %s b.b2frame)" -ge "$(($(stat -c %s a.b2frame) + 4000))" ]
    quietly bpk pack -z 64K --slack 5% -o b.b2s a
    is_frame_of b.b2s a
}

@test "a checksum for every chunk, or none" {
    data sorted-i64 30000 a
    for name in none adler32 crc32 sha512; do
        quietly bpk pack -z 8K --checksum $name -o $name.b2frame a
        is_frame_of $name.b2frame a
        bpk info -v $name.b2frame >"$out"
        grep -q "checksum  *$name" "$out"
    done
    need_oracle2
    [ "$(oracle2 names none.b2frame)" = "" ]
    [ "$(oracle2 names crc32.b2frame)" = "variable bpk_digests" ]
}

@test "convert carries chunks over from frame to frame, with layers and digests" {
    [ -z "${BPK_CBLOSC2:-}" ] || need_oracle2
    mixed a
    bpk pack -z 8K --set x=1 --checksum sha256 -o a.b2frame a
    bpk convert -v a.b2frame b.b2s 2>"$err"
    says '^bpk: a.b2frame: chunks are copied$'
    is_frame_of b.b2s a
    bpk convert -v b.b2s c.b2frame 2>"$err"
    says '^bpk: b.b2s: chunks are copied$'
    same a.b2frame c.b2frame
    bpk convert -v --checksum md5 a.b2frame d.b2frame 2>"$err"
    says 'chunks are copied'
    is_frame_of d.b2frame a
    bpk info -v d.b2frame | grep -q 'checksum  *md5'
    # from a pipe and into one
    cat a.b2frame | bpk convert -q -F b2frame - - | cat >e.b2frame
    same a.b2frame e.b2frame
}

@test "convert between frames and the formats of Blosc 1 packs anew, both ways" {
    [ -z "${BPK_CBLOSC2:-}" ] || need_oracle2
    mixed a
    bpk pack -z 8K -t 4 --set x=1 -o a.blp a
    for from in a.blp; do
        for frame in b2frame b2s; do
            bpk convert -v $from b.$frame 2>"$err"
            says 'recompressed: its chunks are of Blosc 1'
            is_frame_of b.$frame a
            bpk convert -v b.$frame $frame.blp 2>"$err"
            says 'recompressed: its chunks are of Blosc2'
            quietly bpk verify $frame.blp
            bpk cat $frame.blp | same - a
            bpk convert b.$frame $frame.blpd
            quietly bpk verify $frame.blpd
            bpk cat $frame.blpd | same - a
            bpk convert $frame.blpd again.$frame
            is_frame_of again.$frame a
            [ "$(bpk meta get again.$frame)" = "$(bpk meta get a.blp)" ]
        done
    done
    # a list of filters that Blosc 1 does not know is given up
    bpk pack -z 8K -t 4 --filter delta,shuffle -o l.b2frame a
    quietly bpk convert l.b2frame l.blp
    bpk cat l.blp | same - a
}

@test "convert packs frames anew as asked" {
    [ -z "${BPK_CBLOSC2:-}" ] || need_oracle2
    mixed a
    bpk pack -z 8K -t 4 -o a.b2frame a
    for arguments in "-z 20000" "--codec lz4 --filter bitshuffle" "-9 -t 8" "--slack 100"; do
        # shellcheck disable=SC2086 # words
        bpk convert -v $arguments a.b2frame b.b2s 2>"$err"
        says 'recompressed'
        is_frame_of b.b2s a
        rm -r b.b2s
    done
}

@test "fixtures: every frame of c-blosc2 is carried over, and repacked" {
    need_fixtures blosc2
    [ -z "${BPK_CBLOSC2:-}" ] || need_oracle2
    for frame in "$BPK_FIXTURES"/blosc2/*.b2frame; do
        raw=${frame%.b2frame}.raw
        oracle2_has "$(case $frame in *bytedelta*) echo bytedelta ;; esac)" || continue
        for to in x.b2frame x.b2s; do
            rm -rf x.*
            bpk convert "$frame" $to
            tally "$frame $to" is_frame_of $to "$raw"
        done
    done
    told "frames of c-blosc2 copied"
}

@test "tar stores frames, lists, extracts and reads them in place" {
    mixed a
    bpk pack -z 8K -o a.b2frame a
    bpk pack -z 8K -o b.b2s a
    bpk pack -o c.blp a
    quietly bpk tar -o t.tar a.b2frame b.b2s c.blp
    bpk tar -t t.tar >"$out"
    grep -qx 'b2s/chunks.b2frame\|b.b2s/chunks.b2frame' "$out"
    bpk cat t.tar:a.b2frame | same - a
    bpk cat t.tar:b.b2s | same - a
    quietly bpk verify t.tar:b.b2s t.tar:a.b2frame
    mkdir new
    quietly bpk tar -x -C new t.tar
    diff -r b.b2s new/b.b2s
    same a.b2frame new/a.b2frame
    quietly bpk tar --raw -o r.tar a.b2frame b.b2s
    bpk tar -t r.tar >"$out"
    [ "$(cat "$out")" = $'a\nb' ]
    mkdir raw
    bpk tar -x -C raw r.tar
    same raw/a a
    same raw/b a
}

@test "verify -r takes a sparse frame as one archive" {
    mixed a
    mkdir d
    bpk pack -z 8K -o d/a.b2frame a
    bpk pack -z 8K -o d/b.b2s a
    bpk verify -rv d >"$out"
    [ "$(wc -l <"$out")" -eq 3 ]
    tail -n 1 "$out" | grep -q '^2 archives, '
    printf x >>d/b.b2s/chunks.b2frame
    printf '\377' | dd of=d/b.b2s/00000000.chunk bs=1 seek=40 conv=notrunc status=none
    status=0
    bpk verify -r d 2>"$err" || status=$?
    [ "$status" -eq 2 ]
    [ "$(wc -l <"$err")" -eq 1 ]
    says '^bpk: d/b.b2s: .*chunk 0'
}

@test "a sparse frame is replaced as a whole, and what is no part of one keeps it" {
    mixed a
    bpk pack -z 4K -o x.b2s a
    head -c 5000 a >b
    refuses 1 'already exists' bpk pack -o x.b2s b
    quietly bpk pack -f -z 4K -o x.b2s b
    is_frame_of x.b2s b
    : >x.b2s/mine
    refuses 1 'holds mine, which is no part' bpk pack -f -o x.b2s a
}

@test "thousands of small chunks" {
    [ -z "${BPK_CBLOSC2:-}" ] || need_oracle2
    data sorted-i64 1600000 a
    light && truncate -s 160000 a
    for frame in x.b2frame x.b2s; do
        quietly bpk pack -z 400 -o $frame a
        is_frame_of $frame a
    done
}
