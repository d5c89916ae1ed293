load lib

# Frames that c-blosc2 changed since bpk wrote its digests: told from damage, read, changed, sealed.
# BPK_PEER_ROUNDS=400 makes 400 files instead of 12.

# NUMBER: make $archive, a frame of the kind, content and sizes of that number; $show is what
# oracle2 calls its content, $item the size of what can be appended.
make_random() {
    local sizes=(256 1024 4096) items=(1 4 8) size rows columns
    RANDOM=$1
    size=$((RANDOM % 20000 + 1))
    case $((RANDOM % 4)) in
        0) head -c $size /dev/zero >raw ;;
        1) data text $size raw ;;
        *) data field-f64 $size raw ;;
    esac
    format=b2frame
    [ $(($1 % 2)) = 0 ] || format=b2sparse
    archive=a.${suffix[$format]}
    rm -rf "$archive"
    if [ $(($1 % 4)) -lt 2 ]; then
        show=raw item=1
        bpk pack -q -F $format -z ${sizes[RANDOM % 3]} -t ${items[RANDOM % 3]} -o "$archive" raw
    else
        rows=$((RANDOM % 30 + 1)) columns=$((RANDOM % 30 + 1))
        show=array item=$((4 * columns))
        truncate -s $((rows * item)) raw
        bpk pack -q -F $format --dtype '<i4' --shape $rows,$columns \
            --chunk-shape $((RANDOM % rows + 1)),$((RANDOM % columns + 1)) --block-shape 1,1 \
            -o "$archive" raw
    fi
}

# One change by bpk, of any kind; `now` holds the content.
change_it() {
    local size
    size=$(stat -c %s now)
    case $((RANDOM % 6)) in
        0) bpk append -q "$archive" <(head -c "$item" /dev/urandom) ;;
        1) [ "$size" -lt 16 ] || printf 'abcdefgh' | bpk write -q --at $((size / 8 * 4)) "$archive" - ;;
        2) bpk meta set "$archive" n=$RANDOM ;;
        3) bpk truncate -q --bytes $((size / item * 3 / 4 * item)) "$archive" ;;
        4) bpk repair -q --repack "$archive" ;;
        5) bpk repair -q --reseal "$archive" ;;
    esac
}

# SEED: c-blosc2 changes $archive, and `now` is the new content. Fails where it refuses, or cannot
# read what it wrote itself, as frames of chunks of many sizes with zeros among them.
change_by_peer() {
    oracle2 change "$archive" "$1" $((RANDOM % 2 + 1)) >what 2>/dev/null &&
        ! grep -q refused what && { oracle2 $show "$archive" >now; } 2>/dev/null
}

@test "changes by c-blosc2 and by bpk in turn are no damage" {
    need_oracle2
    files=${BPK_PEER_ROUNDS:-12}
    ! light || files=4
    right=0 all=0
    for ((file = 1; file <= files; file++)); do
        make_random $file
        for round in 1 2 3 4 5; do
            change_by_peer $((file * 100 + round)) || break
            all=$((all + 1))
            if quietly bpk verify "$archive" && bpk cat "$archive" | cmp - now && change_it &&
                quietly bpk verify "$archive"; then
                right=$((right + 1))
            else
                echo "wrong: file $file, round $round: $(tr '\n' ' ' <what)" >&2
            fi
        done
    done
    echo "# $right of $all rounds" >&3
    [ "$right" -eq "$all" ]
    [ "$all" -ge $((files * 2)) ]
}

# Its content in the trailer gets another of the same length.
peer_changes_layer() {
    local seed=1
    until oracle2 change "$archive" $seed 1 | grep -q layer; do
        seed=$((seed + 1))
        cp -r before.x "$archive.new"
        rm -rf "$archive"
        mv "$archive.new" "$archive"
    done
}

@test "a change that keeps the frame's length is told as what it is, and sealed by reseal" {
    need_oracle2
    data field-f64 20000 a
    for format in b2frame b2sparse; do
        make_archive $format a -z 4K -t 8
        quietly bpk meta set "$archive" 'any="abcx"'
        rm -rf before.x
        cp -r "$archive" before.x
        peer_changes_layer
        quietly bpk verify "$archive"
        bpk verify -v "$archive" >"$out"
        grep -q 'another program changed it since' "$out"
        quietly bpk unpack -f -o b "$archive"
        same a b
        quietly bpk repair --reseal "$archive"
        bpk verify -v "$archive" >"$out"
        ! grep -q 'another program' "$out"
        before=$(snapshot)
        quietly bpk repair --reseal "$archive"
        [ "$(snapshot)" = "$before" ]
        bpk repair --reseal --json "$archive" >"$out"
        grep -q '"resealed": *false' "$out"
        oracle2 raw "$archive" | cmp - a
    done
}

# STATUS LINE: of $archive comes `now`, with a line and that status.
reads_in_doubt() {
    local status=0
    bpk cat "$archive" >b 2>"$err" || status=$?
    same b now
    [ "$status" -eq "$1" ]
    says "^bpk: $archive: $2"
    status=0
    bpk verify "$archive" 2>"$err" || status=$?
    [ "$status" -eq "$1" ]
    says "^bpk: $archive: $2"
}

@test "zeros in c-blosc2's frames of chunks of many sizes: the line says what was taken for them" {
    need_oracle2
    head -c 4000 /dev/urandom >a
    head -c 1000 /dev/zero >z
    for format in b2frame b2sparse; do
        archive=c.${suffix[$format]}
        rm -rf "$archive"
        # shellcheck disable=SC2046 # a word or none
        oracle2 pack "$archive" 1000 4 $([ $format = b2frame ] || echo sparse) <a
        head -c 2000 a | oracle2 append "$archive" 2000
        cat z z | oracle2 append "$archive" 500
        oracle2 append "$archive" 4000 <a
        cat a <(head -c 2000 a) z z a >now
        reads_in_doubt 3 'no size is stored .* .4, from chunk 5 on.: 2000 bytes were assumed'
        bpk unpack -f -o c "$archive" 2>"$err" || [ $? -eq 3 ]
        same c now
        says 'no size is stored'
        rm c
        oracle2 append "$archive" 1000 <z
        oracle2 append "$archive" 4000 <a
        cat a <(head -c 2000 a) a a >now
        reads_in_doubt 2 'no size is stored .* .5, from chunk 5 on.: they are left out, and the header has 3000'
        bpk unpack --keep-broken -o c "$archive" 2>"$err" || [ $? -eq 2 ]
        same c.partial now
        rm c.partial
    done
}

@test "reseal seals nothing that is damaged" {
    need_oracle2
    data field-f64 20000 a
    for format in b2frame b2sparse; do
        make_archive $format a -z 4K -t 8
        oracle2 append "$archive" 4096 <a
        file=$archive at=$((97 + 32))
        [ ! -d "$archive" ] || file=$archive/00000000.chunk at=32
        printf '\377\377\377\377' | dd of="$file" bs=1 seek=$at conv=notrunc status=none
        refuses 2 "$archive: chunk 0" bpk repair --reseal "$archive"
        make_archive $format a -z 4K -t 8
        printf '\377\377\377\377' | dd of="$file" bs=1 seek=$at conv=notrunc status=none
        refuses 2 "$archive: chunk 0" bpk verify "$archive"
        before=$(snapshot)
        ends 2 bpk repair --reseal "$archive"
        says "$archive: chunk 0"
        [ "$(snapshot)" = "$before" ]
    done
    refuses 64 'output goes with --repack, --apply and --merge alone' bpk repair --reseal -o b "$archive"
    refuses 64 'only one of --repack, .*--reseal' bpk repair --reseal --repack "$archive"
}
