load lib

# Frames that c-blosc2 wrote: $1 is the file or directory of NAME.raw.
frame_of() {
    for suffix in .b2frame .b2nd ''; do
        [ -e "${1%.raw}$suffix" ] && printf '%s\n' "${1%.raw}$suffix" && return
    done
}

# Slices of bytes and of items, with and without checks.
slices_agree() { # FRAME RAW
    size=$(wc -c <"$2")
    for range in 0:1 1:77 "$((size / 2)):$((size / 2 + 5))" "$((size / 3)):$size"; do
        from=${range%:*} to=${range#*:}
        [ "$to" -le "$size" ] && [ "$from" -lt "$to" ] || continue
        tail -c +$((from + 1)) "$2" | head -c $((to - from)) >slice
        bpk cat --bytes "$range" "$1" | cmp - slice
        bpk cat --no-check --bytes "$range" "$1" | cmp - slice
    done
}

@test "frame: every frame of c-blosc2 unpacks, by file and by pipe, whole and in slices" {
    for raw in "$tests"/data/frame/good-*.raw; do
        frame=$(frame_of "$raw")
        quietly bpk verify "$frame"
        bpk cat -T 1 "$frame" | cmp - "$raw"
        bpk cat -T 4 "$frame" | cmp - "$raw"
        slices_agree "$frame" "$raw"
        [ -d "$frame" ] || cat "$frame" | bpk cat | cmp - "$raw"
        [ -d "$frame" ] || cat "$frame" | bpk verify
    done
}

@test "frame: fixtures: the same" {
    need_fixtures blosc2
    for raw in "$BPK_FIXTURES"/blosc2/*.raw; do
        frame=$(frame_of "$raw")
        quietly bpk verify "$frame"
        bpk cat -T 3 "$frame" | cmp - "$raw"
        slices_agree "$frame" "$raw"
        [ -d "$frame" ] || cat "$frame" | bpk cat | cmp - "$raw"
    done
}

@test "frame: items are as long as the header says" {
    bpk cat --items 3:9 "$tests/data/frame/good-lz4.b2frame" | cmp - <(tail -c +13 "$tests/data/frame/good-lz4.raw" | head -c 24)
    bpk cat --items 1:2 "$tests/data/frame/good-wide.b2frame" | cmp - <(tail -c +301 "$tests/data/frame/good-wide.raw" | head -c 300)
}

@test "frame: unpack strips each of the suffixes" {
    cp "$tests/data/frame/good-lz4.b2frame" a.b2frame
    cp "$tests/data/frame/good-lz4.b2frame" b.b2nd
    cp -r "$tests/data/frame/good-sparse" c.b2s
    bpk unpack a.b2frame b.b2nd c.b2s/
    same a "$tests/data/frame/good-lz4.raw"
    same b "$tests/data/frame/good-lz4.raw"
    same c "$tests/data/frame/good-sparse.raw"
}

@test "frame: what is broken is named" {
    for error in "$tests"/data/frame/bad-*.error "$tests"/data/frame/unsupported-*.error; do
        frame=$(frame_of "${error%.error}.raw")
        format=b2frame expected=2
        [ -d "$frame" ] && format=b2sparse
        case $error in */unsupported-*) expected=1 ;; esac
        run bpk verify -F $format "$frame"
        [ "$status" -eq $expected ] || die "$frame: $status, $output"
        [[ $output == *"$(cat "$error")"* ]] || die "$frame: $output"
        run bpk unpack -F $format -o out "$frame"
        [ "$status" -eq $expected ] || die "$frame: unpacked, $status"
        [ ! -e out ] || die "$frame left a file"
    done
}

@test "frame: a run of zeros is read once, also where its index has many pages" {
    data noise 100000 raw
    truncate -s 34M raw
    bpk pack -q -F b2frame -z 256 -t 4 --plain -o a.b2frame raw
    timeout 20 "$BPK" cat a.b2frame | cmp - raw
}

@test "frame: verify -v tells what is no damage" {
    cp "$tests/data/frame/good-deleted.b2frame" a.b2frame
    quietly bpk verify -v a.b2frame
    grep -q 'bytes in 1 hole,' "$out"
    grep -q 'no checksum protects the chunks, header, index and trailer' "$out"
    printf tail >>a.b2frame
    refuses 2 '4 bytes from offset .*, after the end of the archive, belong to no archive' bpk verify a.b2frame
    cp a.b2frame as-it-was
    refuses 1 'belong to no archive, and a change would destroy them; truncate -s' bpk repair --repack a.b2frame
    same a.b2frame as-it-was
    cp -r "$tests/data/frame/good-sparse-updated" b.b2s
    echo text >b.b2s/README
    quietly bpk verify -v b.b2s
    grep -q '00000001.chunk is not the file of any chunk, and empty' "$out"
    grep -q 'README is not part of the frame' "$out"
    ln -s README b.b2s/link
    refuses 2 'link is a link' bpk verify b.b2s
    rm b.b2s/link
    # every program begins such a file anew, so the bytes are a stranger's
    printf x >>b.b2s/00000000.chunk
    refuses 2 '00000000.chunk: 1 byte from offset .*, after its end, belongs to no archive' bpk verify b.b2s
    ends 2 bpk repair --repack b.b2s
}

@test "frame: info says what it is" {
    need_python
    quietly bpk info --json -vv "$tests/data/frame/good-special.b2frame"
    [ "$(json "$out" 'x["format"], x["variant"], x["nchunks"], x["chunk_size"], x["raw_size"]')" = "('b2frame', 'version 2', 5, 400, 1640)" ]
    [ "$(json "$out" '[x["chunks"][i]["special"] for i in range(5)]')" = "[None, 'zeros', 'nan', 'value', None]" ]
    [ "$(json "$out" 'x["chunks"][1]["offset"], x["chunks"][1]["packed_size"]')" = "(None, 0)" ]
    quietly bpk info --json "$tests/data/frame/good-sparse"
    [ "$(json "$out" 'x["format"], x["nfiles"], x["layers"][0]["name"]')" = "('b2sparse', 4, 'note')" ]
    quietly bpk info --json "$tests/data/frame/good-array.b2nd"
    [ "$(json "$out" 'x["shape"], x["chunk_shape"], x["block_shape"], x["dtype"]')" = "([7, 9], [4, 5], [2, 3], '<i2')" ]
    quietly bpk info -v "$tests/data/frame/good-deleted.b2frame"
    grep -qE 'holes +152 bytes' "$out"
}

@test "frame: members of a tar, contiguous and sparse" {
    cp "$tests/data/frame/good-lz4.b2frame" .
    cp -r "$tests/data/frame/good-sparse" .
    tar cf a.tar good-lz4.b2frame good-sparse
    bpk cat a.tar:good-lz4.b2frame | cmp - "$tests/data/frame/good-lz4.raw"
    bpk cat a.tar:good-sparse | cmp - "$tests/data/frame/good-sparse.raw"
    quietly bpk verify a.tar:good-sparse
}

# A frame whose second chunk lies behind 5 GiB that nothing refers to.
@test "frame: places over 4 GiB" {
    need_python
    python3 - <<'END'
import struct

def chunk(raw, typesize):
    n = len(raw)
    return struct.pack("<BBBBiii", 5, 1, 0x17, typesize, n, n, n + 32) + bytes(16) + raw

far = 5 << 30
first, second = chunk(b"abcdefgh", 4), chunk(b"ijkl", 4)
packed = far + len(second)
index = chunk(struct.pack("<qq", 0, far), 8)
trailer = bytes.fromhex("9401 93cd0006de0000dc0000 ce00000023 d800") + bytes(16)
size = 97 + packed + len(index) + len(trailer)
head = b"\x9e\xa8b2frame\0\xd2" + struct.pack(">i", 97) + b"\xcf" + struct.pack(">Q", size)
head += b"\xa4\x12\x00\x50\x03\xd3" + struct.pack(">q", 12) + b"\xd3" + struct.pack(">q", packed)
head += b"\xd2" + struct.pack(">i", 4) + b"\xd2" + struct.pack(">i", 0) + b"\xd2" + struct.pack(">i", 8)
head += bytes.fromhex("d10001 d10001 c2 d806 000000000001 0000 000000000000 0000 93cd0007de0000dc0000")
assert len(head) == 97
with open("far.b2frame", "wb") as f:
    f.write(head + first)
    f.seek(97 + far)
    f.write(second + index + trailer)
END
    [ "$(bpk cat far.b2frame)" = abcdefghijkl ]
    [ "$(bpk cat --bytes 7:10 far.b2frame)" = hij ]
    quietly bpk verify -v far.b2frame
    grep -q "$(((5 << 30) - 40)) bytes in 1 hole," "$out"
    quietly bpk info -v far.b2frame
    grep -qE "holes +$(((5 << 30) - 40)) bytes" "$out"
}

@test "frame: no place to put aside what comes through a pipe" {
    run bash -c "cat '$tests/data/frame/good-lz4.b2frame' | TMPDIR=/nonexistent '$BPK' cat"
    [ "$status" -eq 1 ]
    [[ $output == *"a temporary file in /nonexistent"* ]]
}

# 172 bytes that say to be 195 TiB of zeros: nobody unpacks them to see that they are.
@test "frame: zeros by the terabyte cost verify and info nothing" {
    need_python
    python3 - <<'END'
import struct

chunks, size = 200000, 1 << 30
index = struct.pack("<BBBBiii", 5, 1, 5, 8, 8 * chunks, 8 * chunks, 40) + bytes(15) + b"\x30"
index += bytes(7) + b"\x81"
trailer = bytes.fromhex("9401 93cd0006de0000dc0000 ce00000023 d800") + bytes(16)
head = b"\x9e\xa8b2frame\0\xd2" + struct.pack(">i", 97) + b"\xcf"
head += struct.pack(">Q", 97 + len(index) + len(trailer))
head += b"\xa4\x12\x00\x50\x03\xd3" + struct.pack(">q", chunks * size) + b"\xd3" + bytes(8)
head += b"\xd2" + struct.pack(">i", 8) + b"\xd2" + bytes(4) + b"\xd2" + struct.pack(">i", size)
head += bytes.fromhex("d10001 d10001 c2 d806 000000000001 0000 000000000000 0000 93cd0007de0000dc0000")
with open("zeros.b2frame", "wb") as f:
    f.write(head + index + trailer)
END
    quietly bpk verify zeros.b2frame
    quietly bpk info -v zeros.b2frame
    grep -q "raw size  *$((200000 << 30)) bytes" "$out"
    bpk cat --bytes 1000000000000:1000000000008 zeros.b2frame | cmp - <(head -c 8 /dev/zero)
    refuses 1 'max-output' bpk unpack --max-output 1G zeros.b2frame
}
