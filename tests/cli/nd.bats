#!/usr/bin/env bats
# Arrays in chunks of several dimensions (b2nd): read in C order, in parts, and written.

load lib.bash

# nd.py, with the python that need_numpy found.
nd() { "$python" "$tests/lib/nd.py" "$@"; }

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
    for slice in x 1:2:3 ...,... '1;2' '' 1,; do
        refuses 64 'slice' bpk cat --slice "$slice" "$array"
    done
    for slice in 1000000 -1000000 1,1,1,1,1,1; do
        refuses 64 'the array' bpk cat --slice "$slice" "$array"
    done
    refuses 64 'only one' bpk cat --slice 1 --bytes 1:2 "$array"
    refuses 1 'is no array' bpk cat --slice 1 "$BPK_FIXTURES/blosc2/c_lz4_shuffle_f64.b2frame"
}
