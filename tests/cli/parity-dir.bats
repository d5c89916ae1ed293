load lib

# Parity of archives that are directories.

formats="chunked b2sparse"

# FORMAT OPTION...: pack "raw" to "a", in many files.
packed() {
    local many=
    [ $1 = b2sparse ] || many="--superchunk 1"
    bpk pack -q -f $many -F "$@" -o a raw
}

# NAME FORMAT [SHARE]: such an archive of many files, with parity, and its copy "good".
protected() {
    data field-f32 1000000 raw
    rm -rf "$1" "$1.bpp" good
    packed "$2" -z 32K
    bpk parity "$1" "${3:-10}"
    cp -a "$1" good
}

# FILE OFFSET COUNT: so many bytes become others, as on a bad disk: the file's time stays.
rot() {
    touch -r "$1" time
    dd if="$1" bs=1 skip="$2" count="$3" status=none | tr '\000-\377' '\200-\377\000-\177' >rotten
    dd if=rotten of="$1" bs=64K oflag=seek_bytes seek="$2" conv=notrunc status=none
    touch -r time "$1"
}

# DIRECTORY OTHER: their files have equal bytes; and times, with -t.
alike() {
    diff -r -x .lock "$1" "$2" || die "$1 and $2 differ"
}

# ARCHIVE: a copy of its damaged state is healed in both ways, to the state "good".
heals() {
    refuses 3 'parity restores all of it: bpk verify --heal' bpk verify "$1"
    ends 0 bpk repair --apply -f -o out "$1"
    says "out: [0-9]+ bytes in [0-9]+ cells? were restored by $1.bpp"
    alike out good
    ends 0 bpk verify --heal "$1"
    alike "$1" good
    quietly bpk verify "$1"
    [ -z "$(find . -name '.*' ! -name . ! -name .lock)" ]
}

# ARCHIVE: it and its parity are of one state, and a missing file and a damaged one heal.
current() {
    quietly bpk verify "$1"
    rm -rf good
    cp -a "$1" good
    local file
    file=$(find "$1" -type f ! -name .lock -size +1 | sort | sed -n 3p)
    rm "$file"
    rot "$(find "$1" -type f ! -name .lock -size +1 | sort | sed -n 5p)" 700 30
    ends 0 bpk verify --heal "$1"
    alike "$1" good
    quietly bpk verify "$1"
}

@test "parity of a directory: a damaged, a short, a long and a missing file, whatever it is, heal" {
    for format in $formats; do
        protected a $format
        for file in $(cd good && find . -type f | sort | awk 'NR <= 3 || NR % 7 == 0'); do
            for damage in rot cut grow remove; do
                size=$(stat -c %s a/$file)
                case $damage in
                    rot) rot a/$file $((size / 2)) 4 ;;
                    cut) truncate -s $((size / 2)) a/$file && touch -r good/$file a/$file ;;
                    grow) continue ;;
                    remove) rm a/$file ;;
                esac
                cmp -s a/$file good/$file && continue
                [ $damage = rot ] && [ "$size" -lt 10 ] && { cp -a good/$file a/$file; continue; }
                heals a
            done
        done
    done
}

@test "parity of a directory: a whole folder, and several files up to the share" {
    protected a chunked
    rm -r a/meta
    heals a
    rm a/data/__1__.bin a/data/__9__.bin
    heals a
    protected a b2sparse
    rm a/00000003.chunk a/00000011.chunk
    rm a/chunks.b2frame
    heals a
}

@test "parity of a directory: damage beyond the share is refused, with the files that are lost" {
    for format in $formats; do
        protected a $format 5
        find a -type f -size +10k | sort | head -4 | xargs rm
        cp -a a before
        ends 2 bpk verify a
        says 'parity cannot restore [0-9]+ bytes in [0-9]+ of [0-9]+ damaged cells'
        says 'a: .*(bin|chunk): bytes [0-9]+ to [0-9]+ are in damaged cells that parity cannot restore$'
        ends 2 bpk verify --heal a
        alike a before
        ends 2 bpk repair --apply -o out a
        [ ! -e out ]
        rm -r before
    done
}

@test "parity of a directory that was copied without its times restores damaged chunks, and nothing written" {
    local file
    for format in $formats; do
        protected a $format
        rm -rf copy && mkdir copy && sleep 0.02
        cp -r a a.bpp copy/
        cd copy
        quietly bpk verify a
        for file in $(find a -type f -size +10k | sort | head -3); do rot $file 3000 200; done
        ends 3 bpk verify a
        says 'parity of another time restores all of it: bpk repair --apply -o OUT a writes that into another file'
        ends 3 bpk verify --heal a
        ends 0 bpk repair --apply -o out a
        says 'out: has all of a, whose parity is of another time'
        alike out ../good
        rm -r out
        # nothing is written to it: what parity restores would be lost
        cp -a a damaged
        refuses 3 'parity of another time restores all of it: bpk repair --apply' bpk append a ../raw
        alike a damaged
        rm -r damaged
        # what was written would be lost
        mv a.bpp kept.bpp
        cp ../raw other
        head -c 40000 /dev/zero | dd of=other bs=1 seek=600000 conv=notrunc status=none
        tail -c +600001 other | head -c 40000 | bpk write -q --at 600000 a 2>"$err" || die "$(cat "$err")"
        mv kept.bpp a.bpp
        ends 2 bpk verify a
        says 'it may have been changed since its parity was made: '
        cd ..
    done
    # metadata that differ may have been written
    protected a chunked
    rm -rf copy && mkdir copy && sleep 0.02
    cp -r a a.bpp copy/
    printf ' ' >>copy/a/meta/attributes
    rot copy/a/data/__2__.bin 3000 200
    ends 2 bpk verify copy/a
}

@test "parity of a directory: a copy that has lost a file, or its end, is not changed" {
    local file how
    for format in $formats; do
        for how in rm "truncate -s -100"; do
            protected a $format
            rm -rf copy && mkdir copy && sleep 0.02
            cp -r a a.bpp copy/
            cd copy
            file=$(find a -type f -size +10k | sort | head -1)
            $how $file
            cp -a a damaged
            ends 2 bpk append a ../raw
            says 'it may have been changed since its parity was made: bpk repair --apply -o OUT a keeps the changes if no chunk is lost; otherwise it writes the state of the parity, without them, or with --fill zero the changes, and zeros for lost chunks$'
            alike a damaged
            ends 2 bpk repair --apply -o out a
            alike out ../good
            cd ..
        done
    done
}

# In the second in which the parity was made; a copy cuts its times to seconds.
@test "parity of a directory does not undo a write of the same second" {
    data field-f32 100000 raw
    head -c 4096 /dev/zero >piece
    while [ "$(date +%N | cut -c1)" -gt 2 ]; do sleep 0.05; done
    bpk pack -q --no-sync -F chunked -z 16K --parity 20 -o a raw
    cp -p a.bpp kept
    bpk write -q --no-sync --at 16384 a piece
    mv kept a.bpp
    find a -type f -exec sh -c 'touch -d "@$(stat -c %Y "$1")" "$1"' - {} \;
    refuses 3 'whole, but its parity is stale' bpk verify --heal a
    bpk cat --bytes 16384:20480 a | same - piece
}

@test "parity of a directory: bytes that nobody wrote behind the end of a file are cut off" {
    local file
    for format in $formats; do
        protected a $format
        file=$(find a -type f -size +10k | sort | head -1)
        cp -p $file kept
        printf junk >>$file
        cp -a a later && touch later/${file#a/}
        touch -r kept $file
        refuses 3 'parity restores all of it: bpk verify --heal' bpk verify a
        refuses 3 'parity restores all of it: bpk verify --heal' bpk append a raw
        ends 3 bpk repair a
        says 'parity restores all of it: bpk verify --heal'
        rm -rf out
        ends 0 bpk repair --apply -o out a
        says '^bpk: out: 4 bytes behind the end that a.bpp records were cut off$'
        alike out good
        ends 0 bpk verify --heal a
        says '^bpk: a: 4 bytes behind the end that a.bpp records were cut off$'
        alike a good
        [ ! $file -nt kept ] && [ ! $file -ot kept ]
        # with damage
        printf junk >>$file
        touch -r kept $file
        rot $file 5000 10
        ends 0 bpk verify --heal a
        alike a good
        # written later, or in the same second where times are whole seconds
        rm -r a && cp -a later a
        ends 2 bpk verify --heal a
        alike a later
        rm -r a later && cp -a good a
        find a -type f -exec touch -d '2026-11-01 12:00' {} +
        bpk parity a
        printf junk >>$file
        touch -d '2026-11-01 12:00' $file
        ends 2 bpk verify --heal a
        says 'it may have been changed since its parity was made'
        ends 2 bpk append a raw
    done
}

@test "parity of a directory: files that were written since are not replaced" {
    for format in $formats; do
        protected a $format
        cp a.bpp old.bpp
        data positions-f32 1000000 other
        bpk pack -q -f -z 64K -F $format -o a other
        cp old.bpp a.bpp
        cp -a a newer
        refuses 3 'is whole, but its parity is stale' bpk verify a
        refuses 3 stale bpk verify --heal a
        alike a newer
        file=$(find a -type f -size +10k | sort | head -1)
        rot "$file" 5000 10
        rm -r newer
        cp -a a newer
        ends 2 bpk verify --heal a
        alike a newer
        rm -r newer
        # few bytes, and then damage
        protected a $format
        cp a.bpp old.bpp
        head -c 4000 raw | tr '\000-\377' '\001-\377\000' >piece
        bpk write -q --at 0 a piece
        cp old.bpp a.bpp
        rot "$(find a -type f -size +10k | sort | tail -1)" 5000 10
        cp -a a newer
        refuses 2 'it may have been changed since its parity was made: bpk repair' bpk verify --heal a
        alike a newer
        ends 2 bpk repair --apply -f -o out a
        says 'out: has the state in which a was when its parity was made; changes since then, if there were any, are not in it$'
        alike out good
        rm -r newer
    done
}

@test "parity of a directory: append, write, truncate and meta renew it" {
    data field-f32 400000 raw
    head -c 100004 raw >part
    for format in $formats; do
        rm -rf a
        packed $format -z 20000 --parity 20%
        current a
        for i in 1 2 3; do
            quietly bpk append -q a part
            current a
        done
        quietly bpk write -q --at 100000 a part
        current a
        quietly bpk truncate -q --bytes 333336 a
        current a
        quietly bpk append -q a part
        current a
        quietly bpk meta set a key=value
        current a
        { head -c 100000 raw; cat part; tail -c +200005 raw; } | head -c 333336 >expected
        cat part >>expected
        bpk cat a | cmp - expected
        cp a.bpp before
        quietly bpk parity a
        current a
    done
    bpk repair --repack -q a
    current a
}

@test "parity of a directory: whatever name leads to it, the parity file is one, and is renewed" {
    data field-f32 100000 raw
    head -c 10004 raw >part
    part=$PWD/part
    for format in $formats; do
        rm -rf a
        packed $format -z 20000 --parity 20%
        mkdir -p a/meta
        ln -sfn a link
        for name in a/ . ./ link link/ meta/.. ../link; do
            folder=a
            case $name in a/ | link*) folder=. ;; esac
            (cd $folder && quietly bpk append -q $name "$part")
            quietly bpk verify a
            (cd $folder && quietly bpk parity -q $name)
            [ "$(find . -name '*.bpp')" = ./a.bpp ] || die "$format, $name: $(find . -name '*.bpp')"
        done
        rmdir a/meta 2>/dev/null || true
        current a
    done
}

@test "parity: a change that is refused in a folder that cannot be written to is not called committed" {
    # shellcheck disable=SC2317 # called by as_user
    as_user() { if [ "$(id -u)" -ne 0 ]; then "$@"; else setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; fi; }
    as_user "$BPK" version >"$out" 2>&1 || skip "another user cannot run bpk, or setpriv is missing"
    data text 100000 raw
    chmod 755 .
    mkdir -m 755 d
    bpk pack -q --parity 10 -o d/x.blp raw
    bpk pack -q -F chunked --parity 10 -o d/x.blpd raw
    : >d/x.blpd/.lock
    [ "$(id -u)" -ne 0 ] || chown -R 65534 d
    find d -type d -exec chmod 555 {} +
    for archive in x.blp x.blpd; do
        status=0
        as_user "$BPK" append d/$archive - <raw 2>said || status=$?
        [ $status -eq 1 ] || die "$archive: status $status"
        ! grep -q 'committed' said || die "$archive: $(cat said)"
    done
    find d -type d -exec chmod 755 {} +
    bpk verify -q d/x.blp d/x.blpd
}

@test "parity of a directory: appended files of a large one make a second segment" {
    data field-f32 90000000 raw
    for format in $formats; do
        packed $format --parity 5%
        head -c 3000000 raw >part
        bpk append -q a part
        [ "$(od -An -tu8 -j24 -N8 a.bpp | tr -d ' ')" = 2 ]
        current a
        bpk append -q a part
        [ "$(od -An -tu8 -j24 -N8 a.bpp | tr -d ' ')" = 2 ]
        current a
        quietly bpk parity a
        [ "$(od -An -tu8 -j24 -N8 a.bpp | tr -d ' ')" = 1 ]
        rm -r a
    done
}

@test "parity of a directory: damage is not made permanent by a change" {
    for format in $formats; do
        protected a $format
        rot "$(find a -type f -size +10k | sort | head -1)" 5000 10
        cp a.bpp old.bpp
        head -c 100000 raw >part
        cp -pr a bad
        for change in 'append -q a part' 'meta set a key=value'; do
            ends 3 bpk $change
            says 'a: is damaged, and parity restores it: bpk verify --heal a first'
        done
        diff -r -x .lock a bad
        same a.bpp old.bpp
        rm -r bad
        ends 0 bpk verify --heal a
        ends 0 bpk append -q a part
        # another state
        protected a $format
        touch -d 2001-01-01 "$(find a -type f -size +10k | sort | head -1)"
        ends 0 bpk append -q a part
        says 'its parity was of another state before this change'
        refuses 3 stale bpk verify a
    done
}

@test "parity of a directory: pack -f, convert and unpack --rm" {
    data field-f32 300000 raw
    for format in $formats; do
        rm -rf a a.bpp
        packed $format -z 20000 --parity 20%
        head -c 200000 raw >less
        mv raw all && mv less raw
        packed $format -z 20000
        mv all raw
        current a
        bpk pack -q -f -z 20000 -o b.blp raw
        quietly bpk convert -q -f -F $format b.blp a
        quietly bpk verify a
        quietly bpk unpack -q --rm -f -o raw2 a
        [ ! -e a ] && [ ! -e a.bpp ]
        same raw2 raw
    done
}

@test "parity of a file is none of a directory, and the other way round" {
    protected a chunked
    rm -r a
    bpk pack -q -o a raw -F blp
    refuses 3 'a.bpp: is parity of a directory, not of a file; bpk parity a renews it' bpk verify a
    quietly bpk parity a
    rm a
    cp -a good a
    refuses 3 'a.bpp: is parity of a file, not of a directory; bpk parity a renews it' bpk verify a
    rm a/data/__3__.bin
    ends 2 bpk verify --heal a
}

@test "parity of a directory: walks verify one that lost the file by which it is known" {
    mkdir w
    protected a b2sparse
    cp -a a w/a && cp -p a.bpp w
    rm w/a/chunks.b2frame
    refuses 3 'parity restores' bpk verify -r w
    ends 0 bpk verify -r --heal w
    alike w/a good
    ends 0 bpk verify -r -v w
    grep -qx '1 archive, .*, 0 damaged, 1 skipped' "$out"
}

@test "parity of a directory: a reader that shares no line with bpk restores the same bytes" {
    need_python
    data field-f32 60000 raw
    head -c 7000 raw >part
    for format in $formats; do
        rm -rf a out
        packed $format -z 4000 --parity 30%
        bpk append -q a part
        rm -rf good
        cp -a a good
        rm "$(find a -type f ! -name .lock | sort | sed -n 3p)"
        rot "$(find a -type f -size +1 | sort | sed -n 2p)" 200 20
        rot a.bpp 100 1
        cells=$("$python" "$tests/lib/parity_reader.py" a.bpp a out)
        alike out good
        ends 3 bpk verify --heal a
        says "in $cells cells?"
        alike a good
    done
}

@test "parity of a directory: verify --heal is killed at any call, and the next one heals" {
    need_strace
    protected a chunked
    file=$(find a -type f -size +10k | sort | head -1)
    rm "$file"
    file=$(find a -type f -size +10k | sort | tail -1)
    touch -r "$file" kept
    printf junk >>"$file"
    touch -r kept "$file"
    rot "$file" 5000 10
    rm -rf damaged && cp -a a damaged
    for call in pwrite64 fdatasync linkat renameat2 unlinkat openat; do
        for n in 1 2 5 13; do
            rm -rf a && cp -a damaged a
            strace -f -o /dev/null -e inject=$call:signal=KILL:when=$n "$BPK" verify --heal -q a 2>/dev/null || :
            "$BPK" verify a 2>"$err" || [ $? -eq 3 ] || die "$(cat "$err")"
            [ ! -s "$err" ] || says 'bpk verify --heal a'
            ends 0 bpk verify --heal a
            alike a good
        done
    done
}

@test "parity of a directory: an append that fails or is killed at any call leaves no parity that reverts it" {
    need_strace
    data field-f32 60000 raw
    head -c 7000 raw >part
    cat raw part >both
    for format in $formats; do
        rm -rf a first first.bpp
        packed $format -z 4000 --parity 30%
        mv a first && mv a.bpp first.bpp
        for fault in error=EIO signal=KILL; do
            for call in pwrite64 linkat renameat2 openat fsync; do
                n=$((1 + ${#call} % 4))
                rm -rf a && cp -a first a && cp first.bpp a.bpp
                strace -f -o /dev/null -e inject=$call:$fault:when=$n+7 "$BPK" append -q a part 2>/dev/null || :
                bpk repair -q --in-place a 2>"$err" || cat "$err"
                bpk cat a >content
                cmp -s content raw || same content both
                status=0
                bpk verify -q --heal a 2>"$err" || status=$?
                [ $status -eq 0 ] || [ $status -eq 3 ] || die "status $status: $format $call $fault"
                bpk cat a | cmp - content
                quietly bpk parity a
                quietly bpk verify a
            done
        done
    done
}
