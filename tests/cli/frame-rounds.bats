load lib

# BPK_PEER_ROUNDS=N: so many rounds instead of 60; 2000 take a minute and a half.
rounds() {
    need_python
    need_oracle2
    mkdir rounds
    cd rounds
    "$python" "$tests/lib/frame_rounds.py" "$BPK" "$oracle2" "$@"
}

@test "frames made and changed at random: c-blosc2 reads all of them, and any part" {
    light && count=20 || count=60
    rounds "${BPK_PEER_FIRST:-0}" "${BPK_PEER_ROUNDS:-$count}"
}

# FILE: the size of the blocks of its first chunk, which follows the header, becomes that of the chunk.
one_block() {
    local header
    header=$(od -An -j 11 -N 4 -t u1 "$1" | awk '{ print (($1 * 256 + $2) * 256 + $3) * 256 + $4 }')
    dd if="$1" of=size bs=1 skip=$((header + 4)) count=4 status=none
    dd if=size of="$1" bs=1 seek=$((header + 8)) conv=notrunc status=none
}

@test "an array's chunk of one value without the array's blocks is mended where it is carried over" {
    need_oracle2
    head -c 8000 /dev/zero | tr '\0' '\101' >raw
    bpk pack --checksum none --dtype '<f8' --shape 20,50 --chunk-shape 20,50 --block-shape 5,10 \
        -o old.b2nd raw
    oracle2 judge old.b2nd raw 1 20
    one_block old.b2nd
    if oracle2 judge old.b2nd raw 1 20 2>"$err"; then die "c-blosc2 reads it by now"; fi
    bpk convert -v old.b2nd new.b2nd 2>"$err"
    says 'chunks are copied'
    oracle2 judge new.b2nd raw 1 20
    bpk convert old.b2nd new.b2s
    oracle2 judge new.b2s raw 1 20
    # repack looks for a hole
    bpk meta set old.b2nd x=1
    bpk repair --repack old.b2nd
    oracle2 judge old.b2nd raw 1 20
}
