load lib

# Room for a file of zeros and holes of 4.1 GiB: none, but the file system must allow the size.
need_room() {
    truncate -s 4300M probe 2>/dev/null || skip "no file larger than 4 GiB here"
    rm probe
}

@test "a sparse file larger than 4 GiB comes back, by file, by range and by pipe" {
    need_plain_build
    need_room
    truncate -s 4300M a
    data field-f64 1000000 island
    dd if=island of=a bs=1M seek=4200 conv=notrunc status=none
    quietly bpk pack --codec lz4 a
    [ "$(stat -c %s a.blp)" -lt 100000000 ]
    quietly bpk verify a.blp
    quietly bpk unpack a.blp -o b
    [ "$(stat -c %s b)" -eq $((4300 * 1048576)) ]
    cmp a b
    [ "$(stat -c %b b)" -lt 200000 ]
    rm b
    bpk cat --bytes 4200M:4201M a.blp | head -c 1000000 | cmp - island
    cat a | bpk pack -q --codec lz4 | bpk unpack | cmp - a
}
