#!/usr/bin/env bats
# bpk repair of frames whose chunks differ in size. BPK_SALVAGE_ROUNDS=1000 tries so many damages of each.

load lib.bash

rounds() {
    local default=40
    ! light || default=10
    "$python" "$tests/lib/salvage_vary.py" "$1" 0 "${BPK_SALVAGE_ROUNDS:-$default}"
}

# W.b2frame, without digests, and its raw bytes in A.
make_frame() {
    data field-f64 200000 A
    local size at=0 n=0 names=()
    for size in 7000 16000 320 24000 9000 31000 8000 15200 40 22000 8000 59440; do
        tail -c +$((at + 1)) A | head -c "$size" >part
        bpk pack -q -z 1M --typesize 8 -o p$n.b2frame part
        names+=(p$n.b2frame)
        at=$((at + size)) n=$((n + 1))
    done
    "$python" "$tests/lib/vary.py" W.b2frame "${names[@]}"
    bpk cat W.b2frame | cmp - A
}

@test "every intact chunk of a frame comes back whose chunks differ in size: with digests and without, sparse" {
    need_python
    export BPK
    make_frame
    rounds W.b2frame
    bpk convert -q --checksum crc32 W.b2frame X.b2frame
    bpk info --json X.b2frame | grep -q '"chunk_size":null'
    rounds X.b2frame
    bpk convert -q --checksum crc32 W.b2frame Y.b2s
    rounds Y.b2s
}

@test "the map says where raw bytes are unknown; sizes of lost chunks follow from the whole, or are needed" {
    need_python
    export BPK
    make_frame
    bpk convert -q --checksum crc32 W.b2frame X.b2frame
    cp X.b2frame one.b2frame
    "$python" "$tests/lib/damage.py" one.b2frame 3
    ends 2 bpk repair one.b2frame
    grep -qx 'one.b2frame: raw bytes 23320:47320 are lost' "$out"
    ends 0 bpk repair --apply --from A -o new.b2frame one.b2frame
    bpk cat new.b2frame | cmp - A
    bpk verify new.b2frame
    ends 2 bpk repair --apply -f --fill zero -o new.b2frame one.b2frame
    bpk cat new.b2frame | cmp - <(head -c 23320 A && head -c 24000 /dev/zero && tail -c +47321 A)
    # of two lost ones that do not follow each other only the sum is known
    "$python" "$tests/lib/damage.py" one.b2frame 6
    ends 2 bpk repair one.b2frame
    grep -qx 'one.b2frame: raw bytes 0:23320 are intact' "$out"
    grep -qx 'one.b2frame: chunks 4:6 are intact, at unknown raw bytes' "$out"
    grep -qx 'one.b2frame: raw bytes 95320:200000 are intact' "$out"
    says '2 of 12 chunks are lost; copies .--merge. restore more, bpk repair --apply --fill skip -o OUT one.b2frame writes the others'
    ends 2 bpk repair --apply -o new.b2frame one.b2frame
    says '2 of 12 chunks are lost; --fill skip writes the others'
    ends 2 bpk repair --apply -f --fill zero -o new.b2frame one.b2frame
    says 'lost chunks have unknown sizes; --fill skip leaves them out'
    ends 2 bpk repair --apply -f --from A -o new.b2frame one.b2frame
    says 'lost chunks have unknown sizes, as --from needs them'
    ends 2 bpk repair --apply -f --fill skip -o new.b2frame one.b2frame
    bpk cat new.b2frame | cmp - <(head -c 23320 A && tail -c +47321 A | head -c 40000 && tail -c +95321 A)
}
