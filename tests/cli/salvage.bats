#!/usr/bin/env bats
# bpk repair without a parity file: chunks that are found without header, index or offsets.
# BPK_SALVAGE_ROUNDS=1000 tries so many damages of each archive, BPK_GUESS_ROUNDS so many bytes.

load lib.bash

rounds() {
    local default=67
    ! light || default=15
    "$python" "$tests/lib/salvage.py" "$1" "$2" "$3" 0 "${BPK_SALVAGE_ROUNDS:-$default}" "${@:4}"
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

@test "of contiguous frames: packed chunks, zeros in the index, stored chunks of a frame, holes" {
    need_python
    export BPK
    data field-f64 200000 A
    bpk pack -q -z 16K -o A.b2frame A
    rounds A.b2frame A 16384
    { head -c 60000 A && head -c 70000 /dev/zero && tail -c +130001 A; } >S
    bpk pack -q -z 4K -o S.b2frame S
    rounds S.b2frame S 4096
    bpk pack -q -z 8K --codec lz4 --level 0 -o B.b2frame A.b2frame
    rounds B.b2frame A.b2frame 8192
    head -c 150000 A >H
    bpk pack -q -z 4K -o H.b2frame H
    tail -c +150001 A | bpk append -q H.b2frame -
    rounds H.b2frame A 4096 H
}

@test "of sparse frames: packed chunks, zeros in the index" {
    need_python
    export BPK
    data field-f64 200000 A
    bpk pack -q -z 16K -o A.b2s A
    rounds A.b2s A 16384
    { head -c 60000 A && head -c 70000 /dev/zero && tail -c +130001 A; } >S
    bpk pack -q -z 8K -o S.b2s S
    rounds S.b2s S 8192
}

@test "chunk files of a sparse frame with other names are known by their digests" {
    data noise 100000 A
    bpk pack -q -z 8K -F b2sparse -o A.b2s A
    mv A.b2s/00000003.chunk A.b2s/00000063.chunk
    mv A.b2s/00000004.chunk x && mv A.b2s/00000005.chunk A.b2s/00000004.chunk && mv x A.b2s/00000005.chunk
    ends 3 bpk repair A.b2s
    says 'is damaged, but all chunks are intact; bpk repair --apply -o OUT A.b2s makes an archive of them$'
    quietly bpk repair --apply -o new.b2s A.b2s
    quietly bpk verify new.b2s
    bpk cat new.b2s | cmp - A
}

@test "a damaged archive in a tar has a map, and its chunks are saved" {
    data noise 200000 A
    for format in blp b2s; do
        bpk pack -q -f -z 16K -F ${format/b2s/b2sparse} -o A.$format A
        bpk tar --force -o t.tar A.$format
        quietly bpk repair t.tar:A.$format
        printf xxxx | dd of=t.tar bs=1 seek=100000 conv=notrunc status=none
        ends 2 bpk repair t.tar:A.$format
        says '1 of 13 chunks is lost; its parity file, .* bpk repair --apply --fill zero -o OUT t.tar:A'
        ends 2 bpk repair --apply --fill zero -o new t.tar:A.$format
        quietly bpk verify new
        [ "$(bpk cat new | cmp -l - A | wc -l)" -le 16384 ]
        rm -r new
    done
}

@test "bytes behind a Bloscpack file of one chunk are no lost chunk" {
    data noise 40000 A
    bpk pack -q A
    echo more >>A.blp
    ends 2 bpk verify A.blp
    ends 2 bpk repair A.blp
    says 'belong to no archive; bpk repair --apply -o OUT A.blp leaves them out$'
    ends 0 bpk repair --apply -o new A.blp
    bpk cat new | cmp - A
    for format in blp b2frame; do
        bpk pack -q -F $format --identity -o i.$format A
        echo more >>i.$format
        ends 2 bpk verify i.$format
        says 'belong to no archive; bpk repair --apply -o OUT i.* saves the intact chunks$'
        ends 0 bpk repair --apply -f -o new i.$format
        bpk cat new | cmp - A
    done
}

@test "a chunked directory without its folder of data has lost all, and is no hindrance to a merge" {
    data noise 100000 A
    for k in a b c; do bpk pack -q -F chunked -z 8K --superchunk-size 32K -o $k.blpd A; done
    rm a.blpd/data/__1__.bin b.blpd/data/__2__.bin
    rm -r c.blpd/data
    ends 2 bpk repair c.blpd
    says 'no intact chunk was found in it$'
    ends 0 bpk repair --merge -o new.blpd a.blpd b.blpd c.blpd
    bpk cat new.blpd | cmp - A
}

@test "of chunked directories: data files and meta files are missing or damaged" {
    need_python
    export BPK
    data field-f64 200000 A
    bpk pack -q -z 4K --superchunk-size 32K -o A.blpd A
    rounds A.blpd A 4096

    bpk pack -q --dtype f8 --shape 100,250 --set unit=m --superchunk-size 64K -z 16000 -o N.blpd A
    rm N.blpd/data/__2__.bin
    ends 2 bpk repair N.blpd
    says '4 of 13 chunks are lost; copies .* bpk repair --apply --fill zero -o OUT .* writes the others; data files'
    grep -qx 'N.blpd: raw bytes 64000:128000 are lost' "$out"
    ends 2 bpk repair --apply --fill zero -o new.blpd N.blpd
    bpk verify new.blpd
    bpk cat new.blpd | cmp - <(head -c 64000 A && head -c 64000 /dev/zero && tail -c +128001 A)
    bpk info -v new.blpd >info
    grep -q 'shape  *100 x 250' info
    ends 0 bpk repair -f --apply --from A -o new.blpd N.blpd
    bpk cat new.blpd | cmp - A
    ends 2 bpk repair -f --apply --fill skip -o new.blpd N.blpd
    says 'new.blpd: is plain bytes, since chunks of the array are left out'
    bpk info --json new.blpd | grep -q '"shape":null'
    echo x >N.blpd/meta/storage
    ends 2 bpk repair N.blpd
    says '4 of 13 chunks are lost; .*; the meta files are damaged'
    cp N.blpd/data/__1__.bin N.blpd/data/__0.blp
    ends 2 bpk repair N.blpd
    says '4 of 13 chunks are lost; .*; files named as bcolz does are left out; the meta files are damaged'

    head -c 120000 A >R
    bpk pack -q --dtype "[('x','<i4'),('y','<f8')]" -o R.blpd R
    rm R.blpd/data/y/__1__.bin
    ends 2 bpk repair R.blpd
    says 'R.blpd: data/y/__1__.bin: '
    says 'keeps records as columns, or objects, which repair does not save; bpk unpack --fill zero -o RAW [^ ]* writes the rows'
}

@test "of frames that c-blosc2 wrote" {
    need_python
    need_fixtures blosc2
    export BPK
    local name size seed
    for name in c_updated_f64.b2frame c_special_f64.b2frame c_zstd_shuffle_f64.b2frame \
        c_lz4_clevel0_f64.b2frame s_special_f64.b2frame s_zstd_shuffle_f64.b2frame; do
        cp -r "$BPK_FIXTURES/blosc2/$name" .
        [ ! -d "$name" ] || { mv "$name" "${name%.b2frame}.b2s" && name=${name%.b2frame}.b2s; }
        size=$(bpk info --json "$name" | sed 's/.*"chunk_size":\([0-9]*\).*/\1/')
        BPK_SALVAGE_ROUNDS=${BPK_SALVAGE_ROUNDS:-20} rounds "$name" "$BPK_FIXTURES/blosc2/${name%.b2*}.raw" "$size"
    done
    # the header is lost, and an entry leads far behind the index; bytes came into the second
    for seed in 303 649; do
        "$python" "$tests/lib/salvage.py" c_lz4_clevel0_f64.b2frame \
            "$BPK_FIXTURES/blosc2/c_lz4_clevel0_f64.raw" 16000 $seed $((seed + 1))
    done
}

@test "the range of a frame without an intact chunk is that of its header" {
    local suffix
    need_python
    export BPK
    data noise 6000 A
    for suffix in b2frame b2s; do
        bpk pack -q -o "a.$suffix" A
        "$python" "$tests/lib/damage.py" "a.$suffix" 0
        ends 2 bpk repair "a.$suffix"
        grep -qx "a.$suffix: raw bytes 0:6000 are lost" "$out"
    done
}

@test "metadata and shape of a frame stay with its header, and go with it" {
    need_python
    export BPK
    data field-f64 240000 A
    bpk pack -q --dtype f8 --shape 100,300 --chunk-shape 30,100 --set unit=m -o N.b2nd A
    cp N.b2nd good.b2nd
    "$python" "$tests/lib/damage.py" N.b2nd 2 3
    ends 2 bpk repair --apply -o new.b2nd N.b2nd
    says '2 of 12 chunks are lost; --fill zero or skip writes the others$'
    grep -qx 'N.b2nd: chunks 2:4 are lost' "$out"
    ends 2 bpk repair --apply --fill zero -o new.b2nd N.b2nd
    bpk verify new.b2nd
    bpk info -v new.b2nd >info
    grep -q 'shape  *100 x 300' info
    bpk info --json new.b2nd | grep -qF 'unit\": \"m'
    bpk cat new.b2nd >got
    [ "$(stat -c %s got)" -eq 240000 ]
    head -c 800 got | cmp - <(head -c 800 A)
    ends 2 bpk repair --apply -f --fill skip -o new.b2nd N.b2nd
    says 'new.b2nd: is plain bytes, in the order of its chunks, with their padding, since chunks of the array are left out'
    bpk verify new.b2nd

    # the trailer copies what a header has before its layers
    dd if=/dev/zero of=good.b2nd bs=1 count=87 conv=notrunc status=none
    ends 3 bpk repair good.b2nd
    ends 0 bpk repair --apply -f -o new.b2nd good.b2nd
    bpk cat new.b2nd | cmp - A
    dd if=/dev/zero of=good.b2nd bs=1 count=100 conv=notrunc status=none
    ends 2 bpk repair good.b2nd
    says 'all 12 chunks that were found are intact; the header is lost, and with it shape and fixed metadata; without the shape .*; bpk repair --apply -o OUT .* makes an archive of them$'
    ends 2 bpk repair --apply -f -o new.b2frame good.b2nd
    bpk verify new.b2frame
    bpk info --json new.b2frame | grep -q '"shape":null'
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
    grep -qx 'A.blp: raw bytes 0:200000 are intact, but not certain' "$out"
    says '^bpk: A.blp: all 13 chunks that were found are intact; it is unknown'
    ends 2 bpk repair --json A.blp
    [ "$(wc -l <"$out")" -eq 1 ]
    grep -q '^{"bpk":1,.*"status":2,' "$out"
    ends 2 bpk repair --apply -o new.blp A.blp
    says '^bpk: new.blp: was written of the chunks that were found$'
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
    # --from and --fill leave a parity file aside that does not suffice
    "$python" "$tests/lib/damage.py" p.blp 2 3
    ends 3 bpk repair -f --apply --from A -o other.blp p.blp
    [ ! -e other.blp ]
    "$python" "$tests/lib/damage.py" p.blp 4 5 6 7 8 9 10
    ends 0 bpk repair -f --apply --from A -o other.blp p.blp
    bpk cat other.blp | cmp - A
    rm other.blp
    refuses 64 'goes with --apply and --merge alone' bpk repair --fill zero A.blp
}

@test "--guess restores a chunk of one damaged byte, and says so: crc32, adler32, sha256" {
    need_python
    export BPK
    local n=${BPK_GUESS_ROUNDS:-25}
    ! light || n=5
    data field-f64 200000 A
    bpk pack -q -z 16K -o c.blp A
    "$python" "$tests/lib/guess.py" c.blp A 0 "$n" bytes
    bpk pack -q -z 16K --checksum adler32 -o a.blp A
    "$python" "$tests/lib/guess.py" a.blp A 0 "$n" bytes
    head -c 20000 A >S
    bpk pack -q -z 1K --checksum sha256 -o s.blp S
    "$python" "$tests/lib/guess.py" s.blp S 0 3 bits
    refuses 64 '--guess goes with --apply alone' bpk repair --guess c.blp
    local format
    for format in b2frame b2sparse; do
        bpk pack -q -F $format -o f.$format S
        refuses 64 "^bpk: f.$format: --guess is for Bloscpack files and chunked directories, not for format $format$" \
            bpk repair --apply --guess -o new f.$format
    done
}

@test "--guess in a chunked directory; ranges are called guessed" {
    need_python
    export BPK
    data field-f64 100000 A
    bpk pack -q -z 16K -o A.blpd A
    "$python" "$tests/lib/damage.py" A.blpd 2
    ends 2 bpk repair A.blpd
    says 'the raw data \(--from\), or --guess if one byte of a chunk is damaged restore more'
    ends 2 bpk repair --apply --guess -o new.blpd A.blpd
    says '1 of 7 chunks had a damaged byte, and is guessed'
    grep -qx 'A.blpd: raw bytes 32768:49152 are guessed' "$out"
    bpk verify new.blpd
    bpk cat new.blpd | cmp - A
    ends 2 bpk repair --json -f --apply --guess -o new.blpd A.blpd
    [ "$(json "$out" 'x["nrestored"] > 0 and x["nrestored"] == sum(r["nchunks"] for r in x["restored"])')" = True ] || die "$(cat "$out")"
}

@test "chunks that were swapped or copied are not passed for those that were there" {
    need_python
    "$python" -c 'import random; open("A", "wb").write(random.Random(5).randbytes(61440))'
    local kind
    for kind in "" --seal; do
        bpk pack -f -q -0 --checksum crc32 -z 4K --superchunk-size 16K $kind -o d.blpd A
        mv d.blpd/data/__2__.bin two
        mv d.blpd/data/__3__.bin d.blpd/data/__2__.bin
        mv two d.blpd/data/__3__.bin
        ends 2 bpk repair --apply -f -o new.blpd d.blpd
        grep -qx 'd.blpd: raw bytes 0:61440 are intact, but not certain' "$out"
        says 'all 15 chunks that were found are intact; they are not those that meta/sizes records: some were swapped'
        bpk pack -f -q -0 --checksum crc32 -z 4K --superchunk-size 16K $kind -o d.blpd A
        cp -r d.blpd whole.blpd
        # the last two chunks of a file are 4096 bytes, 16 of a header and 4 of a digest each
        local end=$(stat -c %s d.blpd/data/__1__.bin)
        tail -c 4116 whole.blpd/data/__1__.bin |
            dd of=d.blpd/data/__1__.bin bs=1 seek=$((end - 2 * 4116)) conv=notrunc status=none
        ends 2 bpk repair d.blpd
        says 'some were swapped or copied(; bpk repair --apply -o OUT d.blpd makes an archive of them)?$'
        ends 2 bpk repair --apply -f -o new.blpd d.blpd
        says 'some were swapped or copied(; bpk repair --apply -o OUT d.blpd makes an archive of them)?$'
        rm d.blpd/data/__1__.bin
        ends 2 bpk repair --apply -f --fill zero -o new.blpd d.blpd
        # files that are in each other's place would not show
        says '4 of 15 chunks are lost; zeros stand for them; data files that were swapped or copied would not show while'
        grep -qx 'd.blpd: raw bytes 16384:61440 are intact, but not certain' "$out"
        ends 0 bpk repair --apply -f --from A -o new.blpd d.blpd
        bpk cat new.blpd | cmp - A
        rm -r whole.blpd
    done
    bpk pack -q -0 -z 4K --seal -o s.blp A
    for kind in swap copy; do
        "$python" "$tests/lib/seal_break.py" $kind 1 1 s.blp broken
        mv broken/1 b.blp
        rmdir broken
        ends 2 bpk verify b.blp
        ends 2 bpk repair --apply -f -o new.blp b.blp
        says 'all 15 chunks that were found are intact; the seal does not prove them: .* not those that were sealed'
    done
    dd if=/dev/zero of=s.blp bs=1 seek=$(($(stat -c %s s.blp) - 5)) count=1 conv=notrunc status=none
    ends 2 bpk repair --apply -f -o new.blp s.blp
    says '1 of 15 chunks is lost; --fill'
}

@test "a chunk that was copied does not stand for the lost one beside it: bytes are left over" {
    need_python
    data noise 50000 A
    local kind
    for kind in "" --no-offsets; do
        bpk pack -f -q -0 -z 7000 --checksum sha256 $kind -o c.blp A
        # chunk 3 is there twice, and chunk 4 has lost 16 bytes
        "$python" - <<'END'
d = open("c.blp", "rb").read()
start = len(d) - 7 * (7000 + 16 + 32) - (1000 + 16 + 32)
a, b = (start + n * (7000 + 16 + 32) for n in (3, 4))
open("c.blp", "wb").write(d[:b] + d[a : b + 2000] + d[b + 2016 :])
END
        ends 2 bpk repair --apply --fill zero -f -o new.blp c.blp
        ends 2 bpk repair c.blp
    done
}

@test "a chunk size that no chunk of a frame has costs none of them" {
    need_python
    data noise 62993 A
    bpk pack -q -F b2frame -0 -z 7000 --checksum none -o x.b2frame A
    "$python" - <<'END'
d = bytearray(open("x.b2frame", "rb").read())
d[61] ^= 4  # of the chunk size; and bytes come into chunk 4
d[30000:30000] = b"hello"
open("x.b2frame", "wb").write(d)
END
    ends 2 bpk repair --apply --fill zero -o new.b2frame x.b2frame
    says 'the header is lost'
    bpk cat new.b2frame | head -c 28000 | cmp - <(head -c 28000 A)
    bpk cat new.b2frame | tail -c +35001 | cmp - <(tail -c +35001 A)
    # nor the only one, which has all raw bytes that the header counts
    local at from
    head -c 60000 A >B
    for at in 60 61; do
        bpk pack -q -f -F b2frame -z 60000 --checksum none -o x.b2frame B
        printf '\1' | dd of=x.b2frame bs=1 seek=$at conv=notrunc status=none
        for from in "" "--from B"; do
            ends 2 bpk repair --apply -f $from -o new.b2frame x.b2frame
            says 'the header is lost'
            bpk cat new.b2frame | cmp - B
        done
    done
}

@test "a damaged archive without checksums is never called whole, unless a seal or an identity proves it" {
    data noise 50000 A
    local suffix kind
    for suffix in blp b2frame b2s blpd; do
        for kind in "" --seal --identity; do
            rm -rf x.$suffix new.$suffix
            bpk pack -q -0 -z 7000 --checksum none $kind -o x.$suffix A
            case $suffix in
            blp) printf x | dd of=x.blp bs=1 seek=12 conv=notrunc status=none ;;
            b2frame) printf x | dd of=x.b2frame bs=1 seek=40 conv=notrunc status=none ;;
            b2s) printf x >>x.b2s/00000003.chunk ;;
            blpd) printf x | dd of="$(echo x.blpd/data/__1__.bin)" bs=1 seek=12 conv=notrunc status=none ;;
            esac
            ends 2 bpk verify x.$suffix
            status=0
            bpk repair --apply -o new.$suffix x.$suffix >"$out" 2>"$err" || status=$?
            bpk cat new.$suffix | cmp - A
            if [ -z "$kind" ]; then
                [ $status -eq 2 ] || die "$suffix: status $status"
                [ $suffix != blp ] || says 'intact; they stand on no checksum, and changed bytes may go unnoticed$'
            fi
        done
    done
}

@test "the map and the archive do not share standard output" {
    data field-f64 200000 A
    bpk pack -q -z 16K -o A.blp A
    bpk pack -q -z 16K --parity 5% -o p.blp A
    local file from="--from A"
    for file in A p; do
        dd if=/dev/zero of=$file.blp bs=1 seek=$(($(stat -c %s $file.blp) - 9)) count=4 conv=notrunc status=none
        refuses 64 'no archive is written to standard output' bpk repair --apply --from A -o - $file.blp
        refuses 64 'no archive is written to standard output' bpk repair --apply -o - $file.blp
        # shellcheck disable=SC2086 # words
        ends 1 bpk repair -q --apply $from -o /dev/full $file.blp
        says '/dev/full: is no file'
        from= # parity restores it
    done
}

@test "damage in an archive that opens is mapped; a whole one is passed in silence" {
    need_python
    data field-f64 200000 A
    local name
    for name in A.blp A.b2frame; do
        bpk pack -q -z 16K -o $name A
        quietly bpk repair $name
        [ ! -s "$out" ]
        "$python" "$tests/lib/damage.py" $name 2 3
        before=$(sha256sum $name)
        ends 2 bpk repair $name
        says '2 of 13 chunks are lost; copies .* bpk repair --apply --fill zero -o OUT .* writes the others$'
        grep -qx "$name: raw bytes 32768:65536 are lost" "$out"
        ends 2 bpk repair --json $name
        [ "$(json "$out" 'x["status"], x["nchunks"], x["nlost"], x["certain"], x["restored"], x["lost"], [(r["chunk"], r["nchunks"], r["start"], r["end"]) for r in x["good"]]')" = \
            "(2, 13, 2, True, [], [{'chunk': 2, 'nchunks': 2, 'start': 32768, 'end': 65536}], [(0, 2, 0, 32768), (4, 9, 65536, 200000)])" ] || die "$(cat "$out")"
        "$python" "$tests/lib/json_lines.py" "$tests/../man/bpk-json.schema.json" "$out"
        [ "$(sha256sum $name)" = "$before" ]
    done
    for name in A.blpd A.b2s; do
        bpk pack -q -z 16K -o $name A
        quietly bpk repair $name
        set -- $name/data/*1*.bin $name/*1.chunk
        local file=$1
        [ -e "$file" ] || file=$2
        dd if=/dev/zero of="$file" bs=1 seek=200 count=8 conv=notrunc status=none
        ends 2 bpk repair $name
        says '1 of 13 chunks is lost'
    done
    # parity restores it
    bpk pack -q -z 16K --parity 10% -o p.blp A
    quietly bpk repair p.blp
    dd if=/dev/zero of=p.blp bs=1 seek=$(($(stat -c %s p.blp) - 99)) count=4 conv=notrunc status=none
    ends 3 bpk repair p.blp
    grep -qx 'p.blp: raw bytes 196608:200000 are lost' "$out"
    says 'parity of another time restores all of it: bpk repair --apply -o OUT'
}

@test "no file that is read is replaced: parity, raw data" {
    data field-f64 200000 A
    bpk pack -q -z 16K --parity 10% -o p.blp A
    dd if=/dev/zero of=p.blp bs=1 seek=$(($(stat -c %s p.blp) - 99)) count=4 conv=notrunc status=none
    ln -s A link
    local output
    sums() { sha256sum A p.blp*; }
    before=$(sums)
    ends 1 bpk repair --apply -f -o p.blp.bpp p.blp
    says 'p.blp.bpp: input and output are the same file$'
    [ "$(sums)" = "$before" ]
    rm p.blp.bpp
    before=$(sums)
    for output in A link; do
        ends 1 bpk repair --apply -f --from A -o $output p.blp
        says "$output: input and output are the same file"
    done
    [ "$(sums)" = "$before" ]
}

# FILE AT N: N bytes that are no chunk go into FILE at AT, and its last 300 are lost.
widen() {
    { head -c "$2" "$1" && head -c "$3" /dev/zero | tr '\0' x && tail -c +$(($2 + 1)) "$1" | head -c -300; } >wide
    mv wide "$1"
}

@test "no estimated place contradicts a size that is recorded: the last chunk is short" {
    need_python
    data field-f64 200000 A
    # the gap of chunk 6 is taken for two chunks, and the last one is lost
    bpk pack -q --dtype f8 --shape 100,250 -z 16000 -o A.blp A
    bpk pack -q -z 16000 -o A.b2frame A
    local archive
    for archive in A.blp A.b2frame; do
        bpk info -vv --json $archive >map
        # of a frame trailer, index and the end of the last chunk are lost
        [ $archive = A.blp ] || truncate -s $(($(json map 'x["chunks"][12]["offset"]') + 3000)) $archive
        widen $archive $(($(json map 'x["chunks"][6]["offset"]') + 5000)) 20000
        [ $archive != A.blp ] || dd if=/dev/zero of=A.blp bs=1 count=32 conv=notrunc status=none
        ends 2 bpk repair --apply -f --fill zero -o new.${archive#*.} $archive
        says '^bpk: .*about 2 of 13 chunks are lost; zeros stand for them'
        bpk verify new.${archive#*.}
        bpk cat new.${archive#*.} | cmp - <(head -c 96000 A && head -c 16000 /dev/zero &&
            tail -c +112001 A | head -c 80000 && head -c 8000 /dev/zero)
    done

    # of a directory each file is numbered by itself
    bpk pack -q -z 16000 --superchunk-size 112000 -o A.blpd A
    widen A.blpd/data/__2__.bin 20000 20000
    dd if=/dev/zero of=A.blpd/data/__2__.bin bs=1 count=32 conv=notrunc status=none
    ends 2 bpk repair --apply --fill zero -o new.blpd A.blpd
    says '2 of 13 chunks are lost'
    bpk cat new.blpd | cmp - <(head -c 128000 A && head -c 16000 /dev/zero && tail -c +144001 A |
        head -c 48000 && head -c 8000 /dev/zero)
}

@test "a size of the last chunk that is damaged in the header does not count" {
    data field-f64 200000 A
    bpk pack -q -z 16K -o A.blp A
    cp A.blp bad.blp
    printf x | dd of=bad.blp bs=1 seek=12 conv=notrunc status=none
    ends 3 bpk repair bad.blp
    ends 0 bpk repair --apply -o new.blp bad.blp
    cmp A.blp new.blp
}

@test "the last chunk alone is intact, and short: the header tells its place, or it is not certain" {
    local suffix shape
    need_python
    export BPK
    data noise 6144 A
    for suffix in blp blpd b2frame b2s; do
        for shape in '' 768 16,48; do
            rm -rf a.* new.*
            bpk pack -q -z 4096 ${shape:+--dtype f8 --shape "$shape"} -o "a.$suffix" A
            cp -r "a.$suffix" "b.$suffix"
            "$python" "$tests/lib/damage.py" "a.$suffix" 0
            "$python" "$tests/lib/damage.py" "b.$suffix" 1
            ends 2 bpk repair --json "a.$suffix"
            grep -q '"certain":true' "$out"
            ends 0 bpk repair --apply --from A -o "new.$suffix" "a.$suffix"
            bpk cat "new.$suffix" | cmp - A
            ends 0 bpk repair --merge -f -o "new.$suffix" "a.$suffix" "b.$suffix"
            bpk cat "new.$suffix" | cmp - A
            rm -rf "b.$suffix"
        done
    done
    bpk pack -q -z 4096 -o a.blp A
    dd if=/dev/zero of=a.blp bs=1 seek=128 count=100 conv=notrunc status=none
    ends 2 bpk repair a.blp
    grep -qx 'a.blp: raw bytes 4096:6144 are intact, but not certain' "$out"
    says 'the size of the lost chunks is not certain$'
    # of a directory without meta files the header of a damaged chunk has 6144 bytes
    bpk pack -q -z 4096 -o a.blpd A
    rm -r a.blpd/meta
    printf '\030' | dd of=a.blpd/data/__1__.bin bs=1 seek=53 conv=notrunc status=none
    printf x | dd of=a.blpd/data/__1__.bin bs=1 seek=12 conv=notrunc status=none
    ends 2 bpk repair a.blpd
    grep -q 'are intact, but not certain$' "$out"
}

@test "a frame without header and end, or a rotated one, may be of a later state than the trailer that is left" {
    local change size
    data noise 60000 A
    data noise 60 few
    for change in "write --at 20000" "truncate --bytes 30000"; do
        bpk pack -q -f -F b2frame -z 4K -o A.b2frame A
        # shellcheck disable=SC2086 # words
        case $change in
            write*) bpk $change A.b2frame few ;;
            *) bpk $change A.b2frame ;;
        esac
        size=$(stat -c %s A.b2frame)
        { head -c 64 /dev/zero; tail -c +65 A.b2frame | head -c $((size - 1064)); } >cut.b2frame
        { tail -c 1000 A.b2frame; head -c $((size - 1000)) A.b2frame; } >rotated.b2frame
        for file in cut.b2frame rotated.b2frame; do
            ends 2 bpk repair --json $file
            grep -q '"certain":false' "$out"
            ends 2 bpk repair --apply -f --fill zero -o out $file
        done
    done
}

@test "a raw size that is damaged in the header of a frame without checksums costs no chunk" {
    local suffix at bit file
    data field-f64 200000 A
    for suffix in b2frame b2s; do
        bpk pack -q -z 16K --checksum none -o "A.$suffix" A
        for at in 32.0 33.5 35.0 35.3 36.0 36.6 37.7; do # the count of chunks, and the last one's size
            rm -rf new.* bad.*
            cp -r "A.$suffix" "bad.$suffix"
            file=bad.$suffix bit=${at#*.} at=${at%.*}
            [ ! -d "$file" ] || file+=/chunks.b2frame
            printf "\\x$(printf %x $(($(od -An -tu1 -j "$at" -N 1 "$file") ^ 1 << bit)))" |
                dd of="$file" bs=1 seek="$at" conv=notrunc status=none
            ends 2 bpk repair --apply -o "new.$suffix" "bad.$suffix"
            says 'all 13 chunks that were found are intact'
            bpk cat "new.$suffix" | cmp - A
        done
    done
}

@test "a contiguous frame that has lost the end of an append is not passed for the state before" {
    data noise 62000 A
    data noise 29000 B
    local kind
    for kind in "" --seal --identity "--checksum none --identity"; do
        # shellcheck disable=SC2086 # words
        bpk pack -q -f -t 1 -0 -z 30000 $kind -o c.b2frame A
        bpk append c.b2frame B
        truncate -s -4000 c.b2frame
        ends 2 bpk repair c.b2frame
        ends 2 bpk repair --apply -f -o new.b2frame c.b2frame
        says 'the header is of a later state of the frame, whose end is lost|chunks? (is|are) lost|trailer is lost'
        truncate -s 88000 c.b2frame
        ends 2 bpk repair --apply -f -o new.b2frame c.b2frame
        says 'the header is of a later state of the frame, whose end is lost'
        bpk cat new.b2frame | cmp - A
    done
}

@test "a frame without checksums that has lost the end of a write is not the state whose identity is left" {
    data noise 30000 A
    data noise 60 few
    local cut size
    bpk pack -q -F b2frame -z 4K --checksum none --identity -o A.b2frame A
    size=$(stat -c %s A.b2frame)
    cp A.b2frame B.b2frame
    bpk write -q --at 5000 B.b2frame few
    for cut in 0 300; do
        head -c $((size + cut)) B.b2frame >c.b2frame
        ends 2 bpk repair --json c.b2frame
        grep -q '"nlost":0,.*"certain":false' "$out"
        ends 2 bpk repair --apply -f -o new.b2frame c.b2frame
        says 'the header is of a later state of the frame, whose end is lost'
        ends 2 bpk repair --apply -f --from A -o new.b2frame c.b2frame
        dd if=/dev/zero of=c.b2frame bs=1 count=60 conv=notrunc status=none
        ends 2 bpk repair --json --apply -f -o new.b2frame c.b2frame
        [ $cut = 0 ] || grep -q '"certain":false' "$out"
    done
    # bytes that went are no sign of another state
    for cut in 12000 29500; do
        { head -c $cut A.b2frame; tail -c +$((cut + 701)) A.b2frame; } >c.b2frame
        ends 0 bpk repair --apply -f --from A -o new.b2frame c.b2frame
        bpk cat new.b2frame | cmp - A
    done
}

@test "the only chunk of a frame is that of its header, whose end is lost, and not one of an older index" {
    need_python
    data noise 512 A
    bpk pack -q -F b2frame -0 -t 4 -o c.b2frame A
    printf abcd | bpk write -q --at 10 c.b2frame
    bpk cat c.b2frame >now
    data noise 2428 B
    cat B >>now
    bpk append -q c.b2frame B
    # the index lies behind the chunk
    bpk info -vv --json c.b2frame >info
    truncate -s $("$python" -c 'import json; c = json.load(open("info"))["chunks"][0]; print(c["offset"] + c["packed_size"] + 5)') c.b2frame
    ends 2 bpk repair --apply -o new.b2frame c.b2frame
    says 'more intact chunks have another size, and are left out'
    says '; the order of the chunks is that of the file, since no index of them is left: chunks that were replaced'
    bpk cat new.b2frame | cmp - now
    ends 2 bpk repair --apply -f --from now -o new.b2frame c.b2frame
    bpk cat new.b2frame | cmp - now
}

# An exclusive or of the byte with BIT.
flip_bit() { # FILE OFFSET BIT
    local byte
    byte=$(od -A n -t u1 -j "$2" -N 1 "$1")
    # shellcheck disable=SC2059 # an octal escape
    printf "\\$(printf %o $((byte ^ $3)))" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

wipe() { # FILE OFFSET COUNT
    dd if=/dev/zero of="$1" bs=1 seek="$2" count="$3" conv=notrunc status=none
}

@test "of concatenated archives none is saved alone in silence, and foreign bytes behind cost no chunk" {
    local suffix
    data field-f64 100000 A
    data noise 70000 B
    for suffix in blp b2frame; do
        bpk pack -q -z 16K -o "a.$suffix" A
        bpk pack -q -z 16K -o "b.$suffix" B
        cat "a.$suffix" "b.$suffix" >"both.$suffix"
        wipe "both.$suffix" 5000 8
        ends 2 bpk repair "both.$suffix"
        says 'holds 2 archives, and repair saves the chunks of one; bpk unpack --fill zero -o RAW both'
        [ ! -s "$out" ]
        ends 1 bpk repair --apply --fill zero -o "new.$suffix" "both.$suffix"
        [ ! -e "new.$suffix" ]
        ends 2 bpk unpack -f --fill zero -o raw "both.$suffix"
        tail -c +100001 raw | cmp - B

        # the header of the second one is lost
        cat "a.$suffix" "b.$suffix" >"both.$suffix"
        wipe "both.$suffix" "$(stat -c %s "a.$suffix")" 8
        ends 2 bpk repair --apply -o "new.$suffix" "both.$suffix"
        says 'all 7 chunks that were found are intact; [5-7] intact chunks outside of it, as of another archive, are left out$'
        bpk cat "new.$suffix" | cmp - A

        # bytes that are no archive
        { cat "a.$suffix" && head -c 999 B; } >"both.$suffix"
        quietly bpk repair --apply -f -o "new.$suffix" "both.$suffix"
        bpk cat "new.$suffix" | cmp - A
    done
    # that of the first one
    cat a.b2frame b.b2frame >both.b2frame
    wipe both.b2frame 2 6
    ends 2 bpk repair both.b2frame
    says 'all 5 chunks that were found are intact; [78] intact chunks outside of it, as of another archive'
    # without offsets, the header alone counts
    bpk pack -q -z 16K --no-offsets -o n.blp A
    cat n.blp b.blp >both.blp
    wipe both.blp "$(stat -c %s n.blp)" 4
    ends 2 bpk repair --apply -f -o new.blp both.blp
    says 'all 7 chunks that were found are intact; 5 intact chunks outside of it, as of another archive, are left out$'
    { cat n.blp && head -c 999 B; } >both.blp
    quietly bpk repair --apply -f -o new.blp both.blp
    bpk cat new.blp | cmp - A
}

@test "bytes that came or went in one place of a Bloscpack file leave the numbers of its chunks certain" {
    need_python
    data noise 50000 A
    bpk pack -q -0 -z 7000 -o g.blp A
    local at
    at=$("$BPK" info -vv --json g.blp | "$python" -c 'import json, sys; print(json.load(sys.stdin)["chunks"][3]["offset"])')
    { head -c $((at + 900)) g.blp && echo foreign && tail -c +$((at + 901)) g.blp; } >came.blp
    { head -c $((at + 900)) g.blp && tail -c +$((at + 990)) g.blp; } >went.blp
    for file in came.blp went.blp; do
        ends 2 bpk repair $file
        says ': 1 of 8 chunks is lost; copies .* bpk repair --apply --fill zero -o OUT .* writes the others$'
        grep -qx "$file: raw bytes 28000:50000 are intact" "$out"
        ends 0 bpk repair --apply --from A -f -o new.blp $file
        bpk cat new.blp | cmp - A
    done
    # another copy has the chunk
    ends 0 bpk repair --merge -f -o new.blp came.blp went.blp g.blp
    { head -c $((at + 15000)) g.blp && tail -c +$((at + 15090)) g.blp; } >other.blp
    ends 0 bpk repair --merge -f -o new.blp went.blp other.blp
    bpk cat new.blp | cmp - A
}

@test "the byte of a single chunk is guessed, and of a data file with one chunk" {
    need_python
    data field-f64 30000 A
    bpk pack -q -o a.blp A
    printf U | dd of=a.blp bs=1 seek=3000 conv=notrunc status=none
    ends 2 bpk repair --apply --guess -o new.blp a.blp
    says '1 of 1 chunk had a damaged byte, and is guessed'
    bpk cat new.blp | cmp - A
    bpk pack -q -F chunked -z 8K --superchunk-size 8K -o a.blpd A
    printf U | dd of=a.blpd/data/__2__.bin bs=1 seek=3000 conv=notrunc status=none
    ends 2 bpk repair --apply --guess -o new.blpd a.blpd
    bpk cat new.blpd | cmp - A
}

@test "bytes behind a sealed archive: the archive alone comes back, byte for byte" {
    data noise 100000 A
    local kind
    for kind in blp b2frame; do
        bpk pack -q --seal -z 16K -o good.$kind A
        { cat good.$kind && echo '<html>'; } >x.$kind
        ends 0 bpk repair --apply -o new.$kind x.$kind
        says 'behind the end of the sealed archive, are left out'
        cmp new.$kind good.$kind
        # with a damaged chunk, too
        wipe x.$kind 40000 4
        ends 2 bpk repair --apply -f -o new.$kind x.$kind
        says '1 of 7 chunks is lost; --fill'
        cmp new.$kind good.$kind
    done
}

@test "a damaged chunk is mapped though bytes are behind the end" {
    data noise 100000 A
    bpk pack -q -z 16K -o a.blp A
    wipe a.blp 40000 4
    cp a.blp b.blp
    echo foreign >>a.blp
    head -c 16 /dev/zero >>b.blp # as an append leaves them
    for file in a.blp b.blp; do
        ends 2 bpk repair $file
        grep -qx "$file: raw bytes 32768:49152 are lost" "$out"
        says '1 of 7 chunks is lost; copies .* bpk repair --apply --fill zero'
    done
}

@test "swapped data files without their lists are not certain; a damaged GSD file has no status 0" {
    need_samples
    data noise 100000 A
    bpk pack -q -F chunked -z 8K --superchunk-size 16K -o d.blpd A
    rm -r d.blpd/meta
    mv d.blpd/data/__1__.bin x && mv d.blpd/data/__2__.bin d.blpd/data/__1__.bin && mv x d.blpd/data/__2__.bin
    ends 2 bpk repair d.blpd
    says 'data files that were swapped or copied would not show'
    grep -q 'are intact, but not certain$' "$out"
    ends 2 bpk repair --json d.blpd
    grep -q '"certain":false' "$out"
    cat "$BPK_SAMPLES/example_longer.gsd" >c.gsd
    truncate -s 1000000 c.gsd
    ends 2 bpk repair c.gsd
}

@test "chunks that the offsets name elsewhere are not in their order" {
    need_python
    data field-f64 40000 A
    bpk pack -q -z 2000 -o a.blp A
    cat >move.py <<'END'
import json, os, subprocess, sys
kind, i, k = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
info = json.loads(subprocess.run([os.environ["BPK"], "info", "-vv", "--json", "a.blp"], capture_output=True).stdout)
spans = [(c["offset"], c["packed_size"] + 4) for c in info["chunks"]]
data = open("a.blp", "rb").read()
parts = [data[at : at + size] for at, size in spans]
if kind == "swap":
    assert len(parts[i]) != len(parts[k])
    parts[i], parts[k] = parts[k], parts[i]
elif kind == "insert":
    parts.insert(i, parts[k])
else:
    parts.insert(k, parts[(i + k) // 2])
    del parts[i]
open("x.blp", "wb").write(data[: spans[0][0]] + b"".join(parts))
END
    export BPK
    for move in "swap 3 9" "swap 3 4" "swap 18 19" "copy 3 12" "insert 0 3" "insert 7 3"; do
        # shellcheck disable=SC2086 # words
        "$python" move.py $move
        ends 2 bpk repair x.blp
        grep -q 'are intact, but not certain$' "$out" || die "$move: $(cat "$out" "$err")"
        ends 2 bpk repair --apply --fill zero -f -o new.blp x.blp
        # a copy whose header is damaged has them in order
        cp a.blp e.blp
        printf 'x' | dd of=e.blp bs=1 seek=17 conv=notrunc status=none
        status=0
        bpk repair --merge -f -o new.blp e.blp x.blp 2>"$err" || status=$?
        [ $status -ne 0 ] || bpk cat new.blp | cmp - A || die "$move: $(cat "$err")"
    done
}

@test "chunks of another kind of digest behind the end are told of" {
    data noise 40000 A
    bpk pack -q -z 4K -o a.blp A
    bpk pack -q -z 4K --checksum sha256 -o b.blp A
    { cat a.blp && printf xxxxx && cat b.blp; } >x.blp
    ends 2 bpk repair --apply -o new.blp x.blp
    says '10 intact chunks outside of it, as of another archive, are left out$'
    bpk cat new.blp | cmp - A
}

@test "a chunk that was copied is not certain where the header or a single entry contradicts it" {
    need_python
    export BPK
    cat >move.py <<'EOF'
import json, os, random, subprocess, sys
rand = random.Random(2)
# chunks of 1000 bytes whose packed sizes differ, the last one of 300
raw = b"".join((rand.randbytes(100 + 90 * i) + bytes(1000))[:1000] for i in range(8)) + rand.randbytes(300)
open("A", "wb").write(raw)
def spans(name, *options):
    subprocess.run([os.environ["BPK"], "pack", "-f", "-q", "-z", "1000", "-o", name, *options, "A"], check=True)
    info = subprocess.run([os.environ["BPK"], "info", "-vv", "--json", name], capture_output=True).stdout
    data = open(name, "rb").read()
    at = [c["offset"] for c in json.loads(info)["chunks"]] + [len(data)]
    return data, at
kind, options = sys.argv[1], sys.argv[2:]
b, o = spans("a.blp", *options)
if kind == "last":       # over the short last one
    b = b[: o[8]] + b[o[0] : o[1]]
elif kind == "before":   # over one before the last one, whose entry alone leads elsewhere
    b = b[: o[7]] + b[o[2] : o[3]] + b[o[8] :]
elif kind == "doubled":  # and another one is damaged
    b = bytearray(b[: o[3]] + b[o[2] : o[3]] + b[o[3] :])
    b[o[0] + 60] ^= 1
open("x.blp", "wb").write(b)
EOF
    local kind options
    for kind in last before doubled; do
        for options in "" "--checksum sha256" "--identity" "--seal"; do
            # shellcheck disable=SC2086 # words
            "$python" move.py $kind $options
            ends 2 bpk verify x.blp
            ends 2 bpk repair x.blp
            grep -q 'are intact, but not certain$' "$out" || die "$kind $options: $(cat "$out" "$err")"
            ends 2 bpk repair --apply --fill zero -f -o new.blp x.blp
        done
    done
    # the size of the last chunk is wrong in the header alone
    bpk pack -f -q -z 1000 -o x.blp A
    printf '\2' | dd of=x.blp bs=1 seek=13 conv=notrunc status=none
    ends 0 bpk repair --apply -f -o new.blp x.blp
    bpk cat new.blp | cmp - A
}

@test "of concatenated archives, the second one is cut, or the first one's index is damaged" {
    need_python
    data noise 5000 A
    data field-f64 3500 B
    local n status suffix
    for suffix in blp b2frame; do
        bpk pack -q -z 1000 -o "a.$suffix" A
        bpk pack -q -z 4000 -o "b.$suffix" B
        for n in 40 80 400 1000; do
            { cat "a.$suffix" && head -c $n "b.$suffix"; } >"x.$suffix"
            ends 2 bpk repair "x.$suffix"
            status=0
            bpk repair --apply -f -o "new.$suffix" "x.$suffix" 2>"$err" || status=$?
            [ $status -eq 1 ] || [ $status -eq 2 ] || die "$suffix, cut after $n: status $status"
            grep -qE 'another archive begins at offset|holds 2 archives' "$err" || die "$(cat "$err")"
        done
    done
    bpk pack -q -z 1000 -o s.b2frame B
    cat s.b2frame a.b2frame >both.b2frame
    "$python" - <<'EOF'
import struct
d = bytearray(open("both.b2frame", "rb").read())
header, packed = struct.unpack_from(">i", d, 11)[0], struct.unpack_from(">q", d, 39)[0]
# a bit of the index chunk, behind the packed chunks
i = header + packed + 40
d[i] ^= 4
open("x.b2frame", "wb").write(d)
EOF
    ends 2 bpk verify x.b2frame
    status=0
    bpk repair --apply -o one.b2frame x.b2frame 2>"$err" || status=$?
    [ $status -ne 0 ] || die "one of two archives was saved, with status 0"
}

@test "a data file without its lists may be the last one, and shorter; a seal may not tell chunks that moved" {
    need_python
    export BPK
    data noise 5000 A
    bpk pack -q -z 1000 -F chunked --superchunk-size 4000 -o d.blpd A
    rm d.blpd/data/__1__.bin
    printf x | dd of=d.blpd/meta/storage bs=1 seek=5 conv=notrunc status=none
    ends 2 bpk repair d.blpd
    grep -q 'are intact, but not certain$' "$out"
    # all chunks have one packed size, so that no entry leads elsewhere
    bpk pack -q -0 -z 1000 --seal -o s.blp A
    local at
    at=$(bpk info -vv --json s.blp | "$python" -c 'import json, sys; print(json.load(sys.stdin)["chunks"][1]["offset"])')
    { head -c "$at" s.blp && tail -c +$((at + 1 + 1016 + 32)) s.blp; } >x.blp
    ends 2 bpk repair x.blp
    grep -q '^x.blp: raw bytes 0:4000 are intact, but not certain$' "$out"
    says 'without sound offsets the seal does not tell whether the others are at their places$'
    # one that is lost without a move leaves the others certain
    cp s.blp x.blp
    printf xxxx | dd of=x.blp bs=1 seek=$((at + 4 * 1048 - 900)) conv=notrunc status=none
    ends 2 bpk repair x.blp
    grep -q '^x.blp: raw bytes 0:[34]000 are intact$' "$out"
}

@test "one damaged byte of header or offsets costs no certainty though chunks are equal" {
    need_python
    export BPK
    { data noise 8000 /dev/stdout && head -c 8000 /dev/zero && data text 5000 /dev/stdout; } >A
    bpk pack -q -z 1000 -o a.blp A
    local at n
    n=$(bpk info --json a.blp | "$python" -c 'import json, sys; print(json.load(sys.stdin)["nchunks"])')
    at=$(($(bpk info -vv --json a.blp | "$python" -c 'import json, sys; print(json.load(sys.stdin)["chunks"][0]["offset"])')))
    for entry in 3 10 $((n - 1)); do
        cp a.blp x.blp
        # the table begins where its first entry is
        "$python" - $entry $at <<'EOF'
import struct, sys
entry, at = int(sys.argv[1]), int(sys.argv[2])
d = bytearray(open("x.blp", "rb").read())
table = d.find(struct.pack("<q", at), 32)
d[table + 8 * entry] ^= 1
open("x.blp", "wb").write(d)
EOF
        ends 0 bpk repair --apply -f -o new.blp x.blp
        bpk cat new.blp | cmp - A
    done
}

@test "a sealed archive with a damaged header has all its chunks, and a guess is not moved" {
    data noise 9000 A
    bpk pack -q -0 -z 1000 --seal -o s.blp A
    local bit
    for bit in 1 2 4 8; do
        cp s.blp x.blp
        flip_bit x.blp 6 $bit
        ends 2 bpk repair --apply -f -o new.blp x.blp
        bpk cat new.blp | cmp - A
    done
    # the last chunk is lost, and the byte of another one is guessed
    cp s.blp x.blp
    wipe x.blp $(($(stat -c %s x.blp) - 600)) 90
    flip_bit x.blp $(($(stat -c %s x.blp) - 5 * 1048 - 400)) 1
    ends 2 bpk repair --apply --guess --fill zero -f -o new.blp x.blp
    ! grep -q 'not at their places' "$err" || die "$(cat "$err")"
}

@test "frames behind each other, the first one cut; bytes behind an archive without offsets" {
    data noise 1300 A
    data noise 3500 B
    bpk pack -q -z 1000 -o a.b2frame A
    bpk pack -q -z 1000 -o b.b2frame B
    local copies status
    for copies in "a b" "b a" "a a" "a b a"; do
        # shellcheck disable=SC2086 # words
        set -- $copies
        head -c -25 "$1.b2frame" >x.b2frame
        shift
        for name; do cat "$name.b2frame" >>x.b2frame; done
        ends 2 bpk repair x.b2frame
        ends 2 bpk repair --apply -f -o new.b2frame x.b2frame
    done
    bpk pack -q -z 1000 --no-offsets -o n.blp A
    bpk pack -q -z 1000 -o b.blp B
    { cat n.blp && tail -c 700 b.blp; } >x.blp
    ends 2 bpk repair x.blp
    says '700 bytes from offset [0-9]+ on, after the end of the archive, belong to no archive; bpk repair --apply'
}

@test "--guess tells that chunks are too large for a cryptographic checksum" {
    data noise 400000 A
    for file in x x/data/__1__.bin; do
        local format=blp
        [ $file = x ] || format=chunked
        bpk pack -q -F $format --checksum sha256 -z 128K -o x A
        printf QQ | dd of=$file bs=1 seek=200000 conv=notrunc status=none
        ends 2 bpk repair x
        ! grep -q guess "$err"
        ends 2 bpk repair --apply --guess -o new x
        says 'no byte is guessed of chunks that are too large for that with sha256$'
        [ ! -e new ]
        rm -r x
    done
}

# zero FILE AT SIZE: these bytes of the file
zero() { head -c "$3" /dev/zero | dd of="$1" bs=1 seek="$2" conv=notrunc status=none; }

@test "a lost chunk before the others is counted: the first one without offsets, and one of a data file" {
    data noise 5120 R
    bpk pack -q -0 -t 1 -z 1K --no-offsets -o x.blp R
    zero x.blp 32 1044
    ends 2 bpk repair --apply --fill zero -o new.blp x.blp
    says 'about 1 of 5 chunks is lost'
    bpk cat new.blp | cmp - <(head -c 1024 /dev/zero; tail -c +1025 R)
    # the last data file has lost its first chunk, and has the short last one
    data noise 12296 R
    bpk pack -q -0 -t 1 -z 4K --superchunk-size 8K -o x.blpd R
    zero x.blpd/data/__2__.bin 48 4000
    ends 2 bpk repair --apply --fill zero -o new.blpd x.blpd
    says '1 of 4 chunks is lost'
    bpk cat new.blpd | cmp - <(head -c 8192 R; head -c 4096 /dev/zero; tail -c 8 R)
}

@test "raw data tell the order of exchanged chunks that the seal refutes" {
    need_python
    data noise 50000 R
    bpk pack -q -z 10000 -t 1 --seal -o a.blp R
    "$python" "$tests/lib/blp_manip.py" a.blp b.blp swap
    ends 0 bpk repair --apply --from R -o new.blp b.blp
    bpk cat new.blp | cmp - R
}

@test "a result is not named as one of another format" {
    data noise 5000 R
    bpk pack -q -t 1 -z 1K -o x.b2s R
    zero x.b2s/chunks.b2frame 0 12
    ends 64 bpk repair --apply -o new.blp x.b2s
    says '^bpk: new.blp: the suffix is that of format blp, and the result has format b2sparse, as the archive has; '
    [ ! -e new.blp ]
    ends 0 bpk repair --apply -o new x.b2s
}

@test "the seal of an archive without offsets does not tell of the others" {
    data noise 6144 R
    bpk pack -q -0 -t 1 -z 1K --no-offsets --seal -o x.blp R
    zero x.blp "$(($(stat -c %s x.blp) - 20))" 1
    ends 2 bpk repair x.blp
    says '1 of 6 chunks is lost'
    says 'without sound offsets the seal does not tell'
}

@test "a hole of a file is not searched byte by byte" {
    need_python
    data noise 24576 A
    bpk pack -q -F b2frame -z 4096 -o a.b2frame A
    bpk pack -q -z 4096 -o b.blp A
    truncate -s 1T a.b2frame b.blp 2>/dev/null || skip "no sparse files of 1 TiB"
    "$python" -c 'import struct; f = open("a.b2frame", "r+b"); f.seek(16); f.write(struct.pack(">q", 1 << 40))'
    head -c 16 A | dd of=b.blp conv=notrunc status=none
    ends 2 timeout 60 "$BPK" repair --apply -o new.b2frame a.b2frame
    bpk cat new.b2frame | cmp - A
    ends 2 timeout 60 "$BPK" repair b.blp
    grep -q '^b.blp: raw bytes 0:24576 are intact' "$out"
}

@test "a directory that has lost its last data file has the size that its list of sizes tells" {
    data noise 20000 R
    bpk pack -q -F chunked -z 3000 -t 8 --superchunk-size 16K -o x.blpd R
    rm x.blpd/data/__2__.bin
    zero x.blpd/meta/storage 0 4
    ends 2 bpk repair --json x.blpd
    grep -q '"nchunks":7,"nlost":2,.*"lost":\[{"chunk":5,"nchunks":2,"start":15000,"end":20000}\]' "$out"
    # it has all files, and a list that nobody has compared with them
    bpk pack -q -F chunked -z 3000 -t 8 --superchunk-size 8K -o y.blpd R
    zero y.blpd/meta/storage 0 4
    cp y.blpd/data/__2__.bin y.blpd/data/__1__.bin
    ends 2 bpk repair --json y.blpd
    grep -q '"nchunks":7,"nlost":0,.*"certain":false' "$out"
}
