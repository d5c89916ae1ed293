#!/usr/bin/env bats
# bpk repair without a parity file: chunks that are found without header and offsets.
# BPK_SALVAGE_ROUNDS=1000 tries so many damages of each archive.

load lib.bash

rounds() {
    local default=67
    ! light || default=15
    "$python" "$tests/lib/salvage.py" "$1" "$2" "$3" 0 "${BPK_SALVAGE_ROUNDS:-$default}"
}

@test "every intact chunk comes back and no other: packed chunks, stored chunks, adler32 without offsets" {
    need_python
    export BPK
    data field-f64 200000 A
    bpk pack -q -z 16K -o A.blp A
    rounds A.blp A 16384
    bpk pack -q -z 8K --codec lz4 --level 0 -o B.blp A.blp
    rounds B.blp A.blp 8192
    bpk pack -q -z 4K --no-offsets --checksum adler32 -o C.blp A
    rounds C.blp A 4096
}

@test "a map of intact and lost ranges, and a new archive" {
    need_python
    export BPK
    data field-f64 200000 A
    bpk pack -q -z 16K -o A.blp A
    cp A.blp good.blp
    cp A.blp p.blp
    bpk parity p.blp 2%
    dd if=/dev/zero of=A.blp bs=1 count=32 conv=notrunc status=none
    before=$(sha256sum A.blp)
    ends 2 bpk repair A.blp
    grep -qx 'A.blp: raw bytes 0:200000 are intact' "$out"
    says '^bpk: A.blp: all 13 chunks that were found are intact; it is unknown'
    ends 2 bpk repair --json A.blp
    [ "$(wc -l <"$out")" -eq 1 ]
    grep -q '^{"bpk":1,.*"status":2,' "$out"
    ends 2 bpk repair --apply -o new.blp A.blp
    bpk cat new.blp | cmp - A

    # the header is there, the entries are not
    cp good.blp A.blp
    dd if=/dev/zero of=A.blp bs=1 seek=32 count=64 conv=notrunc status=none
    ends 3 bpk repair A.blp
    ends 0 bpk repair -f --apply -o new.blp A.blp
    bpk cat new.blp | cmp - A
    "$python" "$tests/lib/damage.py" good.blp 2 3
    ends 2 bpk repair --apply -o other.blp good.blp
    says '2 of 13 chunks are lost; --fill zero or skip'
    grep -qx 'good.blp: raw bytes 32768:65536 are lost' "$out"
    [ ! -e other.blp ]
    ends 2 bpk repair --apply --fill zero -o other.blp good.blp
    bpk cat other.blp >got
    { head -c 32768 A && head -c 32768 /dev/zero && tail -c +65537 A; } | cmp - got
    # the raw data restore the rest, unless they are others
    ends 0 bpk repair -f --apply --from A -o other.blp good.blp
    bpk verify other.blp
    bpk cat other.blp | cmp - A
    rm other.blp
    head -c 190000 A >short
    ends 1 bpk repair --apply --from short -o other.blp good.blp
    says 'short: is no file of the 200000 raw bytes'
    { printf x && tail -c +2 A; } >B
    ends 1 bpk repair --apply --from B -o other.blp good.blp
    says 'B: differs from the intact chunk 0 of good.blp$'
    [ ! -e other.blp ]
    # --from and --fill leave a parity file aside, which may not suffice
    "$python" "$tests/lib/damage.py" p.blp 2 3
    ends 0 bpk repair -f --apply --from A -o other.blp p.blp
    bpk cat other.blp | cmp - A
    rm other.blp
    refuses 64 'goes with --apply alone' bpk repair --fill zero A.blp
}
