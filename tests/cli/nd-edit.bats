#!/usr/bin/env bats
# Arrays in chunks of several dimensions (b2nd), changed: rows added and cut off, bytes overwritten.

load lib.bash

# TYPE ITEM SHAPE CHUNKS BLOCKS; none: chosen.
arrays() {
    cat <<'ROWS'
<i4 4 1000 300 70
|u1 1 70,90 16,16 5,4
<i2 2 7,90 16,16 5,4
>f8 8 20,13,5 7,6,5 3,4,2
[('x','<f4'),('y','<i2')] 6 40,50 7,50 7,9
|V300 300 19,17 10,8 3,3
<f8 8 21,1 7,1 2,1
<i8 8 3,2,2,3 2,1,2,2 1,1,2,1
<f8 8 0,7 4,3 2,2
<f4 4 30,40
<i4 4 50000
ROWS
}

# TYPE ITEM SHAPE ...: bytes of a row of it, and how many rows it has.
measure() {
    local sizes
    IFS=, read -r -a sizes <<<"$3"
    rows=${sizes[0]}
    inner=${sizes[*]:1}
    row_size=$(($2 * (${inner:+${inner// /*}*}1)))
}

# bpk, and c-blosc2 where there is one, find the content of `now` in $array, and its shape.
agree() {
    bpk cat "$array" | cmp - now
    quietly bpk verify -q "$array"
    bpk info --json "$array" >info
    grep -qF "\"shape\":[$(($(stat -c %s now) / row_size))${inner:+,${inner// /,}}]" info ||
        die "$(cat info)"
    [ -z "${oracle2:-}" ] || oracle2 array "$array" >theirs
    [ -z "${oracle2:-}" ] || cmp theirs now
    count=$((count + 1))
}

# COUNT: append so many rows; with a second word through a pipe.
append_rows() {
    "$BPK_MAKE_DATA" field-f64 $(($1 * row_size)) >more
    if [ $# -gt 1 ]; then
        quietly bpk append -q "$array" - <more
    else
        quietly bpk append -q -T 3 "$array" more
    fi
    cat more >>now
    agree
}

keep_rows() {
    quietly bpk truncate -q --bytes $(($1 * row_size)) "$array"
    truncate -s $(($1 * row_size)) now
    agree
}

# START SIZE
overwrite() {
    "$BPK_MAKE_DATA" text "$2" >patch
    quietly bpk write -q --at "$1" "$array" patch
    dd if=patch of=now bs=64K oflag=seek_bytes seek="$1" conv=notrunc status=none
    agree
}

# All of these on the array $array of the rows and row_size, whose content is `now`.
change_all() {
    local size
    agree
    append_rows 1
    append_rows $((rows + 3))
    size=$(stat -c %s now)
    overwrite $((size / 3)) 1
    overwrite $((size / 5 + 1)) $((size / 2))
    overwrite 0 "$size"
    keep_rows $((rows + 2))
    append_rows 9 pipe
    keep_rows 1
    append_rows 30 pipe
    quietly bpk meta set "$array" n=1
    agree
    keep_rows 0
    append_rows 5
}

@test "arrays that are changed: rows added, cut off and written over" {
    need_numpy
    [ -z "${BPK_CBLOSC2:-}" ] || need_oracle2
    count=0
    while read -r -a row; do
        measure "${row[@]}"
        options_of "${row[@]}"
        for format in b2frame b2sparse; do
            sampled 3 || continue
            array=a.$format
            rm -rf "$array"
            nd make "${row[0]}" "${row[2]}" >now
            cp now raw
            bpk pack -q -F $format -o "$array" "${options[@]}" raw
            change_all
        done
    done < <(arrays)
    echo "# $count arrays are what they should be" >&3
}

@test "arrays of c-blosc2 that are changed: it finds what bpk does" {
    need_oracle2
    need_numpy
    count=0
    while read -r -a row; do
        [ -n "${row[3]:-}" ] || continue
        measure "${row[@]}"
        for sparse in '' x; do
            rm -rf a
            array=a
            nd make "${row[0]}" "${row[2]}" >now
            oracle2 make a "${row[@]}" $sparse <now
            change_all
            ! light || break
        done
    done < <(arrays)
    echo "# $count arrays are what c-blosc2 unpacks" >&3
}

@test "arrays of other programs are changed" {
    need_fixtures blosc2
    need_numpy
    count=0
    for fixture in "$BPK_FIXTURES"/blosc2/*.b2nd; do
        array=a.b2nd
        cp "$fixture" $array
        cp "${fixture%.*}.raw" now
        bpk info --json $array >info
        measure "$(json info 'x["dtype"]')" "$(json info 'x["typesize"]')" \
            "$(json info '",".join(str(n) for n in x["shape"])')"
        change_all
    done
    echo "# $count arrays are what they should be" >&3
    [ "$count" -gt 0 ]
}

@test "arrays: what does not end with a row is refused, and nothing changed" {
    head -c 3000 /dev/zero >raw
    head -c 101 /dev/zero >part
    for format in b2frame b2sparse; do
        bpk pack -q -F $format -o a.$format --dtype '<i4' --shape 30,25 --chunk-shape 8,10 raw
        [ ! -d a.$format ] || : >a.$format/.lock
        refuses 1 '3101 bytes are not whole rows of 100$' bpk append a.$format part
        refuses 1 '3101 bytes are not whole rows of 100$' bpk append a.$format - <part
        refuses 1 '2950 bytes are not whole rows of 100$' bpk truncate --bytes 2950 a.$format
        refuses 1 '2996 bytes are not whole rows of 100$' bpk truncate --items -1 a.$format
        refuses 1 'has more than the 50 bytes' bpk write --at -50 a.$format part
        refuses 64 '--slack is not for arrays' bpk append --slack 10 a.$format raw
        refuses 64 '--block-size is not for arrays' bpk append --block-size 1K a.$format raw
        quietly bpk append a.$format /dev/null
        bpk cat a.$format | cmp - raw
    done
}

@test "arrays: a change packs anew only the chunks that it touches" {
    data text 24000 raw
    bpk pack -q -F b2sparse -o a --dtype '<i4' --shape 60,100 --chunk-shape 16,25 raw
    : >a/.lock
    (cd a && sha256sum -- *.chunk) >before
    # a single item, in the chunk of row 20 and column 30
    printf 'xxxx' | bpk write -q --at $(((20 * 100 + 30) * 4)) a -
    [ "$(cd a && sha256sum -- *.chunk | sort - ../before | uniq -u | wc -l)" -eq 2 ]
    (cd a && sha256sum -- *.chunk) >before
    # the existing content
    bpk cat a >now
    bpk write -q --at 0 a now
    [ "$(cd a && sha256sum -- *.chunk | sort - ../before | uniq -u | wc -l)" -eq 0 ]
    # the last row of chunks, which is not full, and a new one
    head -c $((20 * 400)) raw | bpk append -q a -
    [ "$(cd a && sha256sum -- *.chunk | sort - ../before | uniq -d | wc -l)" -eq 12 ]
}

@test "arrays and directories follow a growing file by whole rows" {
    data field-f64 4000 a
    for format in b2frame b2sparse chunked; do
        rm -rf x
        head -c 1000 a >f
        bpk pack -q -F $format -o x --dtype '<i4' --shape 10,25 f
        head -c 1570 a >f
        bpk append --follow f --idle 1 x 2>"$err"
        says '^bpk: x: the last 70 bytes of f are not a whole row of 100 and are left out$'
        bpk cat x | cmp - <(head -c 1500 a)
        cp a f
        quietly bpk append --follow f --idle 1 x
        bpk cat x | cmp - a
    done
}

@test "arrays without rows, or of a single item" {
    need_oracle2
    need_numpy
    printf 'abcdefgh' >raw
    oracle2 make a '<f8' 8 '' '' '' <raw
    bpk cat a | cmp - raw
    refuses 1 'a single item' bpk append a raw
    refuses 1 'a single item' bpk truncate --bytes 0 a
    printf 'xyz' | quietly bpk write --at 2 a
    bpk cat a | cmp - <(printf 'abxyzfgh')
    oracle2 array a | cmp - <(printf 'abxyzfgh')
    : >none
    bpk pack -q -F b2frame -o b --dtype '<f8' --shape 5,0,3 --chunk-shape 2,1,3 none
    refuses 1 'rows without bytes' bpk append b raw
}
