load lib

# FORMAT KIND: make $archive, and the raw file `now` that it holds. Foreign ones are c-blosc2's own.
make_kind() {
    archive=a.${suffix[$1]}
    rm -rf "$archive"
    case $2 in
        full) head -c 65536 a >now ;;
        partial | foreign) head -c 60000 a >now ;;
        empty) : >now ;;
        special) cat zeros a zeros >now ;;
    esac
    if [ "$2" = foreign ]; then
        # shellcheck disable=SC2046 # a word or none
        oracle2 pack "$archive" 16384 8 $([ "$1" = b2frame ] || echo sparse) <now
    else
        bpk pack -q -F "$1" -z 16K -t 8 -o "$archive" now
    fi
    [ ! -d "$archive" ] || : >"$archive/.lock"
}

# DEED: change $archive, and `now` with it. What an empty one cannot be changed by fails.
change() {
    case $1 in
        append) bpk append -q "$archive" more && cat more >>now ;;
        truncate) [ -s now ] && bpk truncate -q --bytes 33333 "$archive" && truncate -s 33333 now ;;
        write) [ -s now ] && bpk write -q --at 10000 "$archive" patch &&
            dd if=patch of=now bs=64K oflag=seek_bytes seek=10000 conv=notrunc status=none ;;
        meta) bpk meta set "$archive" "n=$RANDOM" ;;
    esac
}

# bpk and c-blosc2 find the content of `now`.
agree() {
    bpk cat "$archive" | cmp - now && oracle2 raw "$archive" | cmp - now &&
        bpk verify -q "$archive"
}

@test "frames that were changed: c-blosc2 opens and unpacks what bpk does" {
    need_oracle2
    data field-f64 100000 a
    head -c 50000 /dev/zero >zeros
    data text 40000 more
    data text 20000 patch
    right=0 all=0
    for format in b2frame b2sparse; do
        for kind in full partial empty special foreign; do
            for first in append truncate write meta; do
                for second in append truncate write meta; do
                    make_kind $format $kind
                    [ -s now ] || [ $first = append ] || [ $first = meta ] || continue
                    [ -s now ] || [ $first = append ] || [ $second = append ] || [ $second = meta ] ||
                        continue
                    sampled 3 || continue
                    all=$((all + 1))
                    if change $first && agree && change $second && agree; then
                        right=$((right + 1))
                    else
                        echo "wrong: $format $kind $first $second" >&2
                    fi
                done
            done
        done
    done
    echo "# $right of $all frames, changed twice, are what c-blosc2 unpacks" >&3
    [ "$right" -eq "$all" ]
}

@test "frames to which bpk and c-blosc2 append in turn" {
    need_oracle2
    data field-f64 65536 a
    data text 16384 more
    for format in b2frame b2sparse; do
        for kind in full partial; do
            make_kind $format $kind
            quietly bpk append "$archive" more
            cat more >>now
            # c-blosc2 2 and 3 add whole chunks behind a full one
            bpk truncate --bytes 65536 "$archive" && truncate -s 65536 now
            oracle2 append "$archive" 16384 <more
            cat more >>now
            oracle2 raw "$archive" | cmp - now
            bpk cat "$archive" | cmp - now
            bpk verify -v "$archive" >"$out" 2>&1
            grep -q 'another program changed it since bpk wrote its digests.* 1 have no digest' "$out"
            quietly bpk append "$archive" more
            cat more >>now
            agree
            bpk verify -v "$archive" >"$out" 2>&1
            ! grep -q 'another program' "$out"
        done
    done
}

# FORMAT: $archive, to which c-blosc2 has appended since bpk wrote it; it holds removable content.
make_foreign() {
    make_kind "$1" full
    oracle2 append "$archive" 16384 <more
    cat more >>now
    if [ -d "$archive" ]; then : >"$archive/000000FF.chunk"; else head -c 1 /dev/zero >>"$archive"; fi
}

# The places of the blocks of its first chunk lead nowhere from here on.
damage() {
    local file=$archive at=32
    if [ -d "$archive" ]; then
        file=$archive/00000000.chunk
    else
        at=$((at + 97))
    fi
    printf '\377\377\377\377' | dd of="$file" bs=1 seek=$at conv=notrunc status=none
}

@test "after c-blosc2 digests are made anew for what unpacks, and for nothing else" {
    need_oracle2
    data field-f64 65536 a
    data text 16384 more
    for format in b2frame b2sparse; do
        for deed in "append -q ARCHIVE more" "meta set ARCHIVE n=1" "repair --repack -q ARCHIVE"; do
            make_foreign $format
            # shellcheck disable=SC2086 # words
            quietly bpk ${deed/ARCHIVE/$archive}
            [ "${deed%% *}" != append ] || cat more >>now
            agree
            bpk verify -v "$archive" >"$out" 2>&1
            ! grep -q 'another program' "$out"
            make_foreign $format
            damage
            # shellcheck disable=SC2086
            refuses 2 "$archive: .*chunk 0" bpk ${deed/ARCHIVE/$archive}
        done
    done
}

@test "frames that are emptied are such for c-blosc2 too, and their metadata" {
    need_oracle2
    data field-f64 60000 a
    for format in b2frame b2sparse; do
        make_kind $format partial
        quietly bpk truncate --bytes 0 "$archive"
        : >now
        agree
        for value in 1 2; do
            quietly bpk meta set "$archive" n=$value
            agree
            [ "$(oracle2 layer "$archive" n | xxd -p)" = 0$value ]
        done
        quietly bpk append "$archive" a
        cp a now
        agree
    done
}

@test "zeros behind a frame, and files of no chunk, go with the next change" {
    data field-f64 65536 a
    make_kind b2frame partial
    head -c 30000 /dev/zero >>"$archive"
    quietly bpk append "$archive" a
    cat now a | cmp - <(bpk cat "$archive")
    bpk verify -v "$archive" >"$out" 2>&1
    ! grep -q 'behind the frame' "$out"
    make_kind b2sparse partial
    cp a "$archive/00000004.chunk"
    : >"$archive/000000FF.chunk"
    quietly bpk append "$archive" a
    cat now a | cmp - <(bpk cat "$archive")
    bpk verify -v "$archive" >"$out" 2>&1
    ! grep -q 'no chunk' "$out"
    [ ! -e "$archive/000000FF.chunk" ]
}

@test "a frame that grows by small appends has at most twice its content" {
    data noise 400000 a
    head -c 2000 a >part
    bpk pack -q -F b2frame -o f.b2frame part
    cp part now
    for at in $(seq 2000 2000 298000); do
        dd if=a of=part bs=2000 skip=$((at / 2000)) count=1 status=none
        bpk append -q --no-sync f.b2frame part
        cat part >>now
    done
    [ "$(stat -c %s f.b2frame)" -le $((2 * 300000)) ] || die "$(stat -c %s f.b2frame) bytes"
    bpk cat f.b2frame | same - now
    quietly bpk verify f.b2frame

    # both names of a file keep its content, and its holes
    rm -f g.b2frame
    ln f.b2frame g.b2frame
    for i in 1 2 3 4; do bpk append -q f.b2frame part; done
    [ "$(stat -c %h f.b2frame)" -eq 2 ]
    [ "$(stat -c %s f.b2frame)" -gt $((4 * 300000)) ]
    bpk cat g.b2frame | same - <(cat now part part part part)
    # and lose them with the next change of a single name
    rm g.b2frame
    for i in 1 2; do bpk append -q f.b2frame part; done
    [ "$(stat -c %s f.b2frame)" -le $((2 * 312000)) ] || die "$(stat -c %s f.b2frame) bytes"
    bpk cat f.b2frame | same - <(cat now part part part part part part)
}

# Make f.b2frame, of which the next append of the file part outgrows its holes.
make_holes() {
    local at
    data noise 36000 a
    data noise 9000 part
    rm -f f.b2frame
    bpk pack -q -F b2frame -o f.b2frame - </dev/null
    for at in 0 1 2 3; do
        dd if=a bs=9000 skip=$at count=1 status=none | bpk append -q f.b2frame -
    done
}

@test "a copy without holes is as the file was, or there is none" {
    make_holes
    chmod 640 f.b2frame
    inode=$(stat -c %i f.b2frame)
    bpk append -v f.b2frame part 2>"$err"
    grep -q 'rewritten without its holes' "$err" || die "$(cat "$err")"
    [ "$(stat -c %i f.b2frame)" -ne "$inode" ]
    [ "$(stat -c %a f.b2frame)" -eq 640 ]

    # the attributes that users gave the file would be lost
    make_holes
    xattr() { "${PYTHON:-python3}" -c "import os; $1" 2>/dev/null; }
    xattr 'os.setxattr("f.b2frame", "user.project", b"turbulence")' || skip "no user attributes here"
    inode=$(stat -c %i f.b2frame)
    bpk append -v f.b2frame part 2>"$err"
    grep -q 'in place' "$err" || die "$(cat "$err")"
    [ "$(stat -c %i f.b2frame)" -eq "$inode" ]
    [ "$(xattr 'print(os.getxattr("f.b2frame", "user.project").decode())')" = turbulence ]
    bpk cat f.b2frame | same - <(cat a part)
}

@test "a copy without holes is given up when another program changes the frame meanwhile" {
    need_plain_build
    need_nth
    make_holes
    "$nth" -o calls "$BPK" append -q f.b2frame part
    # the copy gets a name of its own, then that of the frame
    at=$(grep -n '^linkat' calls | tail -1 | cut -d: -f1)
    [ -n "$at" ] || skip "this file system has no nameless drafts"
    for change in 'chmod 600 f.b2frame' 'printf x >>f.b2frame' 'ln f.b2frame other'; do
        make_holes
        rm -f other
        inode=$(stat -c %i f.b2frame)
        NTH_RUN=$change "$nth" -n "$at" -a run "$BPK" append -q f.b2frame part
        [ "$(stat -c %i f.b2frame)" -eq "$inode" ] || die "lost: $change"
        [ "$(ls -A | grep -c bpk-)" -eq 0 ] || die "$(ls -A)"
    done
}

@test "a frame with a name that leaves no room for a lock file's" {
    data noise 9000 a
    name=$(printf 'n%.0s' $(seq 243)).b2frame
    bpk pack -q -o "$name" a
    quietly bpk append -q "$name" a
    bpk cat "$name" | same - <(cat a a)
    quietly bpk verify "$name"
}

@test "a short last chunk in the place of another one is damage, and moves no chunk between them" {
    data noise 85760 a
    printf HELLO >patch
    for options in "" "--seal" "--checksum sha256 --identity"; do
        rm -rf x.b2s
        # shellcheck disable=SC2086
        quietly bpk pack -q -F b2sparse -z 20000 $options -o x.b2s a
        : >x.b2s/.lock
        mv x.b2s/00000001.chunk t
        mv x.b2s/00000004.chunk x.b2s/00000001.chunk
        mv t x.b2s/00000004.chunk
        ends 2 bpk verify x.b2s
        says 'chunk 1 in 00000001.chunk: it unpacks to 5760 bytes, expected 20000'
        says 'chunk 4 in 00000004.chunk: it unpacks to 20000 bytes, expected 5760'
        bpk cat --bytes 40000:80000 x.b2s | cmp - <(tail -c +40001 a | head -c 40000)
        refuses 2 'chunk 1 ' bpk cat --bytes 30000:30001 x.b2s
        refuses 2 'chunk 4 ' bpk write --at 50000 x.b2s patch
        refuses 2 'chunk 4 ' bpk truncate --bytes 50000 x.b2s
        ends 2 bpk unpack --fill zero -f -o b x.b2s
        cat <(head -c 20000 a) <(head -c 20000 /dev/zero) \
            <(tail -c +40001 a | head -c 40000) <(head -c 5760 /dev/zero) | cmp - b
    done
}
