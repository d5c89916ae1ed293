#!/usr/bin/env bats
# bpk repair: metadata, shape and identity of a damaged archive whose header or meta files are lost.
# BPK_SALVAGE_ROUNDS=1000 tries so many damages of each archive.

load lib.bash

rounds() {
    local default=50
    ! light || default=12
    "$python" "$tests/lib/salvage_meta.py" "$1" 0 "${BPK_SALVAGE_ROUNDS:-$default}"
}

zero() { # FILE OFFSET SIZE
    dd if=/dev/zero of="$1" bs=1 seek="$2" count="$3" conv=notrunc status=none
}

@test "metadata whose bytes are intact come back, and no others: arrays, members, identities" {
    need_python
    export BPK
    data field-f64 200000 A
    bpk pack -q --dtype f8 --shape 100,250 -z 16000 --identity -o N.blp A
    rounds N.blp
    data field-f64 1300000 L
    bpk pack -q -z 64K --set unit=m --set n=5 --identity -o U.blp L
    rounds U.blp
    bpk pack -q --dtype f8 --shape 100,250 --set unit=m --identity --superchunk-size 64K -z 16000 -o D.blpd A
    rounds D.blpd
    bpk pack -q -z 16K --set unit=m --identity -o F.b2frame A
    rounds F.b2frame
    bpk pack -q --dtype f8 --shape 100,250 --chunk-shape 30,100 --set unit=m --identity -o S.b2nd A
    rounds S.b2nd
}

@test "a Bloscpack file without its header keeps array and identity, and these tell that it is whole" {
    need_python
    export BPK
    data field-f64 200000 A
    bpk pack -q --dtype f8 --shape 100,250 -z 16000 --identity -o A.blp A
    bpk info --json A.blp >before
    cp A.blp B.blp
    zero B.blp 0 32
    ends 3 bpk repair B.blp
    ends 0 bpk repair --apply -o new.blp B.blp
    cmp A.blp new.blp
    # the identity alone
    bpk pack -q -z 16K --set unit=m --identity -o U.blp A
    cp U.blp B.blp
    zero B.blp 0 32
    ends 0 bpk repair --apply -f -o new.blp B.blp
    cmp U.blp new.blp
    # lost chunks: the array stays, the identity goes
    "$python" "$tests/lib/damage.py" A.blp 0 5
    zero A.blp 0 32
    ends 2 bpk repair --apply -f --fill zero -o new.blp A.blp
    says 'recorded an identity; the result has none, since chunks are lost$'
    says '2 of 13 chunks are lost; zeros stand for them'
    bpk verify new.blp
    bpk info --json new.blp | grep -qF '"shape":[100,250]'
    bpk info --json new.blp | grep -qF '"identity_root":null'
    { head -c 16000 /dev/zero && head -c 80000 A | tail -c +16001 && head -c 16000 /dev/zero && tail -c +96001 A; } >expected
    bpk cat new.blp | cmp - expected
    # the raw data have that identity
    ends 0 bpk repair --apply -f --from A -o new.blp A.blp
    grep -o '"identity_root":"[0-9a-f]*"' before >root
    bpk info --json new.blp | grep -qF "$(cat root)"
    bpk cat new.blp | cmp - A
    ends 2 bpk repair --apply -f --fill skip -o new.blp A.blp
    says 'new.blp: is plain bytes, since chunks of the array are left out$'
    bpk verify new.blp
}

@test "metadata that are damaged are told of, and metadata of an archive in the data are not taken" {
    need_python
    export BPK
    data field-f64 200000 A
    bpk pack -q -z 16K --set unit=m -o A.blp A
    cp A.blp B.blp
    zero B.blp 64 1
    ends 2 bpk repair --apply -o new.blp B.blp
    says 'all 13 chunks that were found are intact; the metadata are damaged, and lost$'
    zero B.blp 0 40
    ends 2 bpk repair --apply -f -o new.blp B.blp
    says 'are intact; metadata, if there were any, are lost; it is unknown'
    bpk info --json new.blp | grep -qF '"metadata":null'
    # the inner archive has metadata, the outer one had others, and has lost them with its first chunk
    bpk pack -q -z 20000 --codec lz4 --level 0 --set unit=s -o O.blp A.blp
    zero O.blp 0 $(($(bpk info -vv --json O.blp | grep -o '"offset":[0-9]*' | head -1 | cut -d: -f2) + 16))
    ends 2 bpk repair --apply -f --fill skip -o new.blp O.blp
    says 'the metadata are damaged, and lost'
    bpk info --json new.blp | grep -qF '"metadata":null'
    # those of a file that came behind other bytes are its own, or are not
    { echo 12 && cat A.blp; } >B.blp
    ends 2 bpk repair --apply -f -o new.blp B.blp
    says 'the metadata are not at their place, and may be those of an archive in the data; the numbers of chunks follow from the gaps'
    bpk info --json new.blp | grep -qF 'unit'
    # nothing was lost of one that had none
    bpk pack -q -z 16K -o P.blp A
    zero P.blp 0 32
    ends 2 bpk repair P.blp
    ! grep -q metadata "$err"
}

@test "digests of a damaged trailer prove the chunks that have them, and no other is called certain" {
    need_python
    export BPK
    data noise 150000 a
    for format in b2frame b2sparse; do
        "$python" "$tests/lib/salvage_hints.py" $format a 0 "${BPK_SALVAGE_ROUNDS:-12}"
    done
    # raw data of another run differ from a proven chunk
    data noise 150000 b
    printf x | dd of=b bs=1 seek=1000 conv=notrunc status=none
    bpk pack -q -z 10000 -F b2frame -o f a
    printf x | dd of=f bs=1 seek=$(($(stat -c %s f) - 40)) conv=notrunc status=none
    ends 1 bpk repair --apply --from b -o out f
    says 'differs from the intact chunk 0 of f'
    [ ! -e out ]
    # digests whose layer has a damaged name prove the chunks, and the new archive has no layer of that name
    for format in b2frame b2sparse; do
        bpk pack -q -z 10000 -F $format -o n.$format b
        f=n.$format
        [ ! -d "$f" ] || f=$f/chunks.b2frame
        flip "$f" "$(($(grep -abo bpk_digests "$f" | tail -1 | cut -d: -f1) + 3))"
        ends 2 bpk repair --apply -o "m.$format" "n.$format"
        ends 0 bpk verify "m.$format"
        bpk cat "m.$format" | cmp - b
        [ -z "$(bpk meta get "m.$format" | tr -d '{}\n ')" ]
    done
    # a frame of zeros alone has no digests that prove anything
    head -c 100000 /dev/zero >z
    bpk pack -q -z 10000 -F b2frame -o z.b2f z
    printf x | dd of=z.b2f bs=1 seek=$(($(stat -c %s z.b2f) - 40)) conv=notrunc status=none
    ends 2 bpk repair z.b2f
}

@test "of a sealed archive with damaged metadata repair names the step that saves its data" {
    data noise 60000 a
    bpk pack -q --seal --set unit=m -z 10000 -F chunked -o s.blpd a
    printf x | dd of=s.blpd/meta/attributes bs=1 seek=12 conv=notrunc status=none
    ends 2 bpk repair s.blpd
    says 'the seal does not prove them.*; bpk repair --apply -o OUT s.blpd makes an archive of them$'
    ! grep reseal "$err"
    ends 2 bpk repair --apply -o out s.blpd
    bpk cat out | cmp - a
    head -c 9000 a >one
    bpk pack -q -F b2frame -o f one
    printf x | dd of=f bs=1 seek=$(($(stat -c %s f) - 40)) conv=notrunc status=none
    ends 2 bpk repair f
    says 'the chunk that was found is intact; .*; bpk repair --apply -o OUT f makes an archive of it$'
}

# FILE OFFSET...: flip a bit of these bytes; a negative offset counts from the end.
flip() {
    "$python" -c 'import sys
b = bytearray(open(sys.argv[1], "rb").read())
for at in sys.argv[2:]:
    b[int(at)] ^= 32
open(sys.argv[1], "wb").write(b)' "$@"
}

@test "the geometry of an array that is damaged is left out, and one that nothing proves is not certain" {
    need_python
    local at
    data noise 192000 raw
    bpk pack -q -F b2frame --dtype '<f4' --shape 40,30,40 --chunk-shape 10,16,40 -o a raw
    # the size of the second dimension, its marker before it
    at=$("$python" -c 'print(open("a", "rb").read().index(b"\xd3" + (30).to_bytes(8, "big")))')
    for place in "$at" $((at + 8)); do
        cp a bad
        flip bad "$place" -30
        ends 2 bpk repair --json bad
        grep -qF '"certain":false' "$out"
        says 'the header has another digest in the trailer'
        ends 2 bpk repair --apply -f -o new bad
        quietly bpk verify new
        bpk cat new >content
        [ "$(stat -c %s content)" -ge 192000 ]
    done
}

@test "chunks of an older state that a cut frame is left with are not certain, and raw data stand for them" {
    data noise 81920 raw
    data text 5000 part
    for options in "" --seal; do
        bpk pack -q -f -F b2frame -z 8192 $options -o A raw
        bpk write -q --at 50167 A part
        cp raw raw2
        dd if=part of=raw2 bs=1 seek=50167 conv=notrunc status=none
        truncate -s -600 A
        ends 2 bpk repair --json A
        grep -qF '"certain":false' "$out"
        ends 2 bpk repair --apply -f --from raw2 -o new A
        bpk cat new | cmp - raw2
    done
}

@test "raw data are packed again as a chunk that a digest proves, and stand for one of few that none does" {
    need_python
    data noise 32768 raw
    bpk pack -q -F b2frame -z 4096 -o A raw
    # a filter of chunk 0, a byte of chunk 2, and one of its digest
    flip A $((97 + 19)) $((97 + 2 * 4128 + 1000)) $((-23 - 32 + 9))
    ends 2 bpk repair --apply --from raw -o new A
    bpk cat new | cmp - raw
    head -c 12288 raw >few
    bpk pack -q -f -F b2frame -z 4096 -o A few
    flip A $((97 + 2 * 4128 + 1000)) $((-23 - 12 + 5))
    ends 2 bpk repair --apply -f --from few -o new A
    bpk cat new | cmp - few
    # without checksums most chunks must be those of the raw data
    bpk pack -q -f -F b2frame --checksum none -z 4096 -o A raw
    flip A $((97 + 2 * 4128 + 1000)) 40
    ends 2 bpk repair --json A
    grep -qF '"certain":false' "$out"
    ends 2 bpk repair --apply -f --from raw -o new A
    bpk cat new | cmp - raw
    tail -c 1 raw >other
    head -c 32767 raw >>other
    ends 1 bpk repair --apply -f --from other -o new A
    says 'other: differs from 8 of 8 intact chunks of A'
}

@test "an identity in layers goes with lost chunks" {
    need_python
    export BPK
    data field-f64 200000 A
    local name
    for name in A.b2frame A.b2s; do
        bpk pack -q -z 16K --set unit=m --identity -o $name A
        "$python" "$tests/lib/damage.py" $name 3
        ends 2 bpk repair --apply --fill zero -o new.$name $name
        says 'recorded an identity; the result has none, since chunks are lost$'
        bpk verify new.$name
        bpk info --json new.$name | grep -qF '"identity_root":null'
        bpk info --json new.$name | grep -qF 'unit'
        ends 0 bpk repair --apply -f --from A -o new.$name $name
        bpk info --json new.$name | grep -q '"identity_root":"'
        bpk verify new.$name
    done
}

@test "chunks that were swapped contradict a recorded identity, which proves the raw data" {
    need_python
    "$python" -c 'import random; open("A", "wb").write(random.Random(5).randbytes(5 << 19))'
    cp A B
    printf x | dd of=B bs=1 conv=notrunc status=none
    local name options damaged
    for options in "" "--superchunk-size 512K"; do
        name=c.blp
        [ -z "$options" ] || name=c.blpd
        bpk pack -q -0 -z 256K --checksum crc32 --identity $options -o $name A
        # chunks 0 and 1 are swapped, and 5 is damaged; the last leaf is half a MiB
        "$python" - $name <<'END'
import glob, os, sys
raw = open("A", "rb").read()
names = sorted(glob.glob("c.blpd/data/*.bin"), key=lambda n: int(n.split("__")[1])) or ["c.blp"]
size = (256 << 10) + 16 + 4
def place(n):
    for name in names:
        at = open(name, "rb").read().find(raw[n << 18 : (n << 18) + 64])
        if at >= 0:
            return name, at - 16
def read(n):
    name, at = place(n)
    return open(name, "rb").read()[at : at + size]
def write(where, data):
    with open(where[0], "r+b") as f:
        f.seek(where[1])
        f.write(data)
places, chunks = [place(n) for n in range(6)], [read(n) for n in range(6)]
if names == ["c.blp"]:
    write(places[0], chunks[1])
    write(places[1], chunks[0])
else:
    write(places[0], chunks[2])
    write(places[2], chunks[0])
write((places[5][0], places[5][1] + 100), b"?????")
END
        ends 2 bpk repair $name
        grep -qx "$name: raw bytes 0:1310720 are intact, but not certain" "$out" || die "$(cat "$out")"
        says '1 of 10 chunks is lost.*; raw bytes 0:1048576 are not those of the recorded identity, and chunks may be swapped or copied$'
        ends 2 bpk repair --json $name
        grep -q '"certain":false' "$out"
        ends 2 bpk repair --apply --fill zero -f -o new $name
        says 'not those of the recorded identity'
        ends 1 bpk repair --apply --from B -f -o new2 $name
        says 'differs from the intact chunk 0'
        ends 0 bpk repair --apply --from A -f -o new $name
        bpk verify new
        bpk cat new | cmp - A
        rm -rf new
    done
}

@test "raw data that a recorded identity refutes are taken for lost chunks with status 2" {
    data noise 300000 A
    { head -c 150000 A && printf XXXX && tail -c +150005 A; } >B
    local name
    for name in c.blp c.b2frame; do
        bpk pack -q -0 -z 20000 --identity -o $name A
        printf '?????' | dd of=$name bs=1 seek=150500 conv=notrunc status=none
        ends 2 bpk repair --apply --from B -f -o new $name
        says 'the raw data stand for lost chunks; the raw data are not those of the recorded identity$'
        says 'recorded an identity; the result has none, since it is not that of the raw data$'
        ends 0 bpk repair --apply --from A -f -o new $name
        bpk cat new | cmp - A
        bpk verify --identity new
    done
}

@test "chunks that were swapped, and none is lost: raw data that the identity proves stand for them" {
    need_python
    data noise 2097152 A
    { head -c 100 A && printf XXXX && tail -c +105 A; } >B
    bpk pack -q -0 -z 256K --checksum crc32 --identity -o c.blp A
    "$python" - <<'END'
raw, data, size = open("A", "rb").read(), bytearray(open("c.blp", "rb").read()), (256 << 10) + 16 + 4
a, b = [data.find(raw[n << 18 : (n << 18) + 64]) - 16 for n in (0, 1)]
data[a : a + size], data[b : b + size] = data[b : b + size], data[a : a + size]
open("c.blp", "wb").write(data)
END
    ends 2 bpk verify c.blp
    ends 1 bpk repair --apply --from B -o new c.blp
    says 'differs from the intact chunk 0'
    [ ! -e new ]
    ends 0 bpk repair --apply --from A -o new c.blp
    bpk verify --identity new
    bpk cat new | cmp - A
    # a chunk of other data, with its digest
    bpk pack -q -0 -z 256K --checksum crc32 -o d.blp B
    "$python" - <<'END'
other, data, size = open("d.blp", "rb").read(), bytearray(open("c.blp", "rb").read()), (256 << 10) + 16 + 4
raw = open("B", "rb").read()
a, b = other.find(raw[:64]) - 16, data.find(raw[2 << 18 : (2 << 18) + 64]) - 16
data[b : b + size] = other[a : a + size]
open("c.blp", "wb").write(data)
END
    ends 0 bpk repair --apply --from A -f -o new c.blp
    says 'intact chunks? (is|are) not at (its place|their places): the raw data, whose identity is recorded, stand for'
    bpk verify --identity new
    bpk cat new | cmp - A
}
