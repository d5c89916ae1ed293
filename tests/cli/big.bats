load lib

# A file of zeros and holes of 4.1 GiB takes no room, but the file system must allow the size.
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

# KIND NAME: one frame of a packed trajectory of 2 GiB, as it was written, for its chunks and the
# tables that lead to them.
one_frame() {
    local frame=400 read chunks cost all
    [ -n "${BPK_BIG:-}" ] || skip "BPK_BIG is not set: 4 GB on the disk, minutes"
    need_plain_build
    need_numpy
    need_strace
    "$python" "$tests/lib/trajectory.py" make "t.$1" 2048 || skip "python3-gsd is not installed"
    quietly bpk pack -q "t.$1"
    bpk info --json -vv "t.$1.blp" >record
    read -r cost chunks < <("$python" "$tests/lib/trajectory.py" cost record "$2" $frame)
    strace -f -qq -y -o trace -e trace=read,pread64,preadv,preadv2,mmap \
        "$BPK" cat --name "$2" --frames $frame:$((frame + 1)) "t.$1.blp" >got
    "$python" "$tests/lib/trajectory.py" frame "t.$1" "$2" $frame | cmp - got
    read=$(awk -v f="t.$1.blp>" 'index($0, f) && / = [0-9]+$/ { sum += $NF } END { print sum + 0 }' trace)
    all=$(stat -c %s "t.$1.blp")
    echo "# $1: $read bytes read of $all, the $chunks chunks of $2 have $cost" \
        "($(stat -c %s "t.$1") raw, $(json record 'x["nchunks"]') chunks)" >&3
    grep 'mmap.*t\.' trace && die "it is mapped"
    # and a chunk or two of tables, of 4 MiB at most
    [ "$read" -lt $((cost + 8388608)) ] || die "$read bytes were read"
    [ "$read" -lt $((all / 50)) ] || die "$read bytes were read"
}

@test "one frame of a packed DCD trajectory of 2 GiB costs its chunks" { one_frame dcd y; }

@test "one frame of a packed GSD trajectory of 2 GiB costs its chunks" { one_frame gsd particles/position; }
