#!/usr/bin/env bats
# Arrays in chunks of several dimensions (b2nd): read in C order, in parts, and written.

load lib.bash

# The array in $1 ($2 its raw bytes, type $3, shape $4) gives these slices as NumPy does.
slices_agree() {
    local array=$1 raw=$2 type=$3 shape=$4 slice
    shift 4
    for slice; do
        nd slice "$raw" "$type" "$shape" "$slice" >expected
        bpk cat --slice "$slice" "$array" >got || die "$array, $slice: status $?"
        cmp got expected || die "$array, $slice: other bytes"
    done
}

@test "cat: an array of c-blosc2 in C order, whole and in ranges of bytes" {
    need_fixtures blosc2
    for array in "$BPK_FIXTURES"/blosc2/*.b2nd; do
        raw=${array%.*}.raw
        bpk cat "$array" | cmp - "$raw"
        bpk cat -T 1 "$array" | cmp - "$raw"
        size=$(stat -c %s "$raw")
        for start in 0 1 7 $((size / 3)) $((size - 5)); do
            for length in 0 1 4 95 $((size / 2)); do
                bpk cat --bytes $start:$((start + length)) "$array" >got
                tail -c +$((start + 1)) "$raw" | head -c $length | cmp - got
            done
        done
    done
}

@test "cat --slice: what NumPy takes of the same array" {
    need_fixtures blosc2
    need_numpy
    array=$BPK_FIXTURES/blosc2/nd_i32.b2nd
    shape=$(bpk info --json "$array" | "$python" -c 'import json,sys
print(",".join(str(n) for n in json.load(sys.stdin)["shape"]))')
    slices_agree "$array" "${array%.*}.raw" '<i4' "$shape" \
        : ... 3 -1 0:1 2:7 -3: 5:5 7:2 1,2 1:3,2:4 :,5 :,-1 3:,:-4 ...,0 0,... 2:100,1:100
}

@test "cat --slice: what is no part of the array is refused, and what is no array" {
    need_fixtures blosc2
    array=$BPK_FIXTURES/blosc2/nd_i32.b2nd
    for slice in x 1:2:0 ...,... '1;2' '' 1,; do
        refuses 64 'slice' bpk cat --slice "$slice" "$array"
    done
    for slice in 1000000 -1000000 1,1,1,1,1,1; do
        refuses 64 'the array' bpk cat --slice "$slice" "$array"
    done
    refuses 64 'only one' bpk cat --slice 1 --bytes 1:2 "$array"
    refuses 1 'is not an array' bpk cat --slice 1 "$BPK_FIXTURES/blosc2/c_lz4_shuffle_f64.b2frame"
}

# Arrays of several types and shapes, chunks and blocks (none: chosen): TYPE ITEM SHAPE CHUNKS BLOCKS.
shapes() {
    cat <<'ROWS'
<i4 4 1000
<f8 8 20000 3000 700
|u1 1 70,90
<i2 2 70,90 16,16 5,4
>f4 4 1,5000 1,1000 1,64
<f8 8 5000,1 1000,1 64,1
<c16 16 9,11,13 4,5,6 2,5,3
<i4 4 20,30,7 8,30,7 3,8,2
[('x','<f4'),('y','<i2')] 6 40,50 7,50 7,9
|S7 7 33,21 33,21 33,21
|V300 300 19,17 10,8 3,3
<U3 12 6,5,4,3,2 3,5,2,3,1 2,2,2,2,1
<i8 8 3,1,2,1,3,1,4 2,1,2,1,2,1,3 1,1,2,1,2,1,2
<i4 4 0,7
<f8 8 5,0,3 2,1,3 1,1,3
ROWS
}

@test "pack: arrays come back in C order, from files and directories, on one job and many" {
    need_numpy
    count=0
    while read -r -a row; do
        nd make "${row[0]}" "${row[2]}" >raw
        options_of "${row[@]}"
        for format in b2frame b2sparse; do
            rm -rf a
            quietly bpk pack -q -F $format -o a --compare "${options[@]}" raw
            bpk cat a | cmp - raw
            bpk cat -T 1 a | cmp - raw
            quietly bpk verify -q a
            bpk info --json a >info
            [ "$(json info 'x["shape"]')" = "[${row[2]//,/, }]" ] || die "$(cat info)"
            count=$((count + 1))
        done
        bpk pack -q -T 1 -F b2frame -c "${options[@]}" raw >one
        bpk pack -q -T 3 -F b2frame -c "${options[@]}" raw | cmp - one
        bpk pack -q -F b2frame -c "${options[@]}" <raw | cmp - one
    done < <(shapes)
    echo "# $count of $((2 * $(shapes | wc -l)))" >&3
}

@test "pack: c-blosc2 reads our arrays, whole and in parts" {
    need_oracle2
    need_numpy
    count=0
    while read -r -a row; do
        nd make "${row[0]}" "${row[2]}" >raw
        options_of "${row[@]}"
        for format in b2frame b2sparse; do
            for filter in auto none shuffle bitshuffle delta,shuffle; do
                rm -rf a
                bpk pack -q -F $format --filter $filter -o a "${options[@]}" raw
                oracle2 array a | cmp - raw
                count=$((count + 1))
            done
        done
        [[ "${row[2]}" != *0,* && "${row[2]}" != 0* ]] || continue
        start=$(sed 's/[0-9]*/0/g' <<<"${row[2]}")
        nd slice raw "${row[0]}" "${row[2]}" "$(sed 's/\([0-9]*\)/0:\1/g' <<<"${row[2]}")" >expected
        oracle2 part a "$start" "${row[2]}" | cmp - expected
    done < <(shapes)
    echo "# $count of $((10 * $(shapes | wc -l)))" >&3
}

@test "cat --slice: arrays of c-blosc2 and of ours, as NumPy has them" {
    need_oracle2
    need_numpy
    while read -r -a row; do
        [ -n "${row[3]:-}" ] && [[ "${row[2]}" != *0,* ]] || continue
        nd make "${row[0]}" "${row[2]}" >raw
        options_of "${row[@]}"
        bpk pack -q -F b2frame -o ours "${options[@]}" raw
        oracle2 make theirs "${row[0]}" "${row[1]}" "${row[2]}" "${row[3]}" "${row[4]}" <raw
        oracle2 make sparse "${row[0]}" "${row[1]}" "${row[2]}" "${row[3]}" "${row[4]}" x <raw
        bpk cat theirs | cmp - raw
        bpk cat sparse | cmp - raw
        quietly bpk verify -q theirs sparse
        for array in ours theirs sparse; do
            slices_agree $array raw "${row[0]}" "${row[2]}" : 0 -1 1: ...,0 ...,:-1
        done
        rm -rf ours theirs sparse
    done < <(shapes)
}

@test "cat --slice: arrays in C order, in other formats and through a pipe" {
    need_numpy
    nd make '<i4' 40,30,7 >raw
    for format in blp chunked b2frame; do
        rm -rf a
        bpk pack -q -F $format -o a --dtype '<i4' --shape 40,30,7 -z 3000 raw
        slices_agree a raw '<i4' 40,30,7 : 3 -1 2:7,3 :,:,3 5:35,-9:,2:4 ...,6 39,29,6 7:7
        [ -d a ] || bpk cat --slice 3:9,:,2 <a | cmp - <(nd slice raw '<i4' 40,30,7 3:9,:,2)
        [ -d a ] || cat a | bpk cat --slice 3:9,:,2 | cmp - <(nd slice raw '<i4' 40,30,7 3:9,:,2)
    done
}

@test "cat --slice reads the blocks that it needs" {
    need_plain_build # a leak sanitizer cannot run under strace
    need_oracle2
    need_numpy
    need_strace
    nd make '<f8' 2000,2000 >raw
    oracle2 make a '<f8' 8 2000,2000 500,500 50,50 <raw
    all=$(stat -c %s a)
    strace -f -y -e trace=read,pread64 -o trace "$BPK" cat -T 1 --slice 1230,777:1500 a >got
    nd slice raw '<f8' 2000,2000 1230,777:1500 | cmp - got
    bytes=$(awk -F' = ' '/\/a>/ { sum += $NF } END { print sum + 0 }' trace)
    echo "# $bytes bytes read of $all" >&3
    [ "$bytes" -lt $((all / 10)) ] || die "$bytes bytes read of $all"
}

@test "pack: shapes that do not fit are refused" {
    head -c 24000 /dev/zero >raw
    refuses 64 'no larger than chunks' bpk pack -F b2frame --dtype '<i4' --shape 60,100 \
        --chunk-shape 10,10 --block-shape 10,11 raw
    refuses 64 'has 1 dimension, the array has 2' bpk pack -F b2frame --dtype '<i4' --shape 60,100 \
        --chunk-shape 10 raw
    refuses 64 'dimension of 0' bpk pack -F b2frame --dtype '<i4' --shape 60,100 \
        --block-shape 0,1 raw
    refuses 64 'no chunks of several dimensions' bpk pack --dtype '<i4' --shape 60,100 \
        --chunk-shape 10,10 raw
    refuses 64 'the input is not one' bpk pack -F b2frame --chunk-shape 10,10 raw
    quietly bpk pack -q -F b2frame --dtype '<i4' --shape 60,100 raw
    [ -f raw.b2nd ] || die "$(ls)"
    quietly bpk pack -q -F b2frame raw
    [ -f raw.b2frame ]
}

@test "convert: type and shape of an array come along, to frames and back" {
    need_numpy
    nd make '<f4' 30,50,11 >raw
    bpk pack -q -o a.blp --dtype '<f4' --shape 30,50,11 raw
    quietly bpk convert a.blp b.b2nd
    bpk cat b.b2nd | cmp - raw
    quietly bpk info --json b.b2nd
    [ "$(json "$out" 'x["dtype"], x["shape"], x["metadata"], x["layers"]')" = \
        "('<f4', [30, 50, 11], None, [])" ] || die "$(cat "$out")"
    quietly bpk convert b.b2nd c.blp
    bpk cat c.blp | cmp - raw
    [ "$(bpk meta get c.blp)" = "$(bpk meta get a.blp)" ]
    quietly bpk convert b.b2nd d.blpd
    bpk cat d.blpd | cmp - raw
    quietly bpk convert d.blpd e.b2s
    bpk cat e.b2s | cmp - raw
    quietly bpk info --json e.b2s
    [ "$(json "$out" 'x["dtype"], x["shape"]')" = "('<f4', [30, 50, 11])" ]
    # as stored, and recompressed in the same or other shapes
    bpk convert -v b.b2nd f.b2nd 2>notes
    grep -q 'copied' notes
    cmp b.b2nd f.b2nd
    quietly bpk convert -9 b.b2nd g.b2nd
    bpk cat g.b2nd | cmp - raw
    bpk info --json b.b2nd >b
    bpk info --json g.b2nd >g
    for x in b g; do json $x 'x["chunk_shape"], x["block_shape"]' >$x.shapes; done
    same b.shapes g.shapes
    quietly bpk convert --chunk-shape 7,20,11 --block-shape 3,20,2 b.b2nd h.b2nd
    bpk cat h.b2nd | cmp - raw
    bpk info --json h.b2nd >h
    [ "$(json h 'x["chunk_shape"], x["block_shape"], x["nchunks"], x["raw_size"]')" = \
        "([7, 20, 11], [3, 20, 2], 15, 66000)" ] || die "$(cat h)"
}

@test "convert: an array in Fortran's order is refused by a frame, and the message names a way" {
    {
        printf '\x93NUMPY\x01\x00\x76\x00'
        printf '%-117s\n' "{'descr': '<u2', 'fortran_order': True, 'shape': (2, 3), }"
        printf 'aabbccddeeff'
    } >f.npy
    quietly bpk pack --as-array f.npy
    refuses 1 "array is in Fortran order, .*bpk cat --slice \.\.\. writes" bpk convert f.npy.blp f.b2nd
    bpk cat --slice ... f.npy.blp | quietly bpk pack --dtype '<u2' --shape 2,3 -o f.b2nd
    [ "$(bpk cat f.b2nd)" = aacceebbddff ]
}

@test "pack, convert, append: --typesize that the archive cannot obey is refused" {
    data field-f64 4800 a
    for format in b2frame b2sparse; do
        refuses 64 "typesize 3 does not divide the array's items of 8 bytes" \
            bpk pack -F $format --dtype '<f8' -t 3 -o x a
        refuses 64 "typesize 16 does not divide" bpk pack -F $format --dtype '<f8' -t 16 -o x a
        quietly bpk pack -F $format --dtype '<f8' -t 4 -o $format a
    done
    refuses 64 "typesize 3 does not divide" bpk append -t 3 b2frame a
    refuses 64 "typesize is not for records, which format chunked keeps as columns" \
        bpk pack -F chunked --dtype "[('t','<f8'),('v','<f4')]" -t 4 -o x a
    quietly bpk pack --dtype '<f8' -t 3 -o a.blp a
    refuses 64 "typesize 3 does not divide" bpk convert -t 3 a.blp a.b2nd
}
