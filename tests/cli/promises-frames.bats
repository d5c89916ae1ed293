# Promises about frames and arrays that other programs read and write, as in promises.bats.

load lib
load each

frames='b2frame|b2sparse'
arrays='b2nd|b2nddir'

judged() { oracle2 judge "$archive" "$1" 1 20; }
each_with_oracle() { need_oracle2 && each "$@"; }

# Chunks of one value, by every way to make them.
one_value() {
    head -c 30000 /dev/zero | tr '\0' '\101' >a
    options+=(--block-shape 4,10)
    pack_it a
    judged a
    bpk convert -q "$archive" other.b2nd && oracle2 judge other.b2nd a 1 20
    bpk append -q "$archive" a
    cat a a >b
    judged b
    bpk truncate --bytes 40800 "$archive" && truncate -s 40800 b
    judged b
    head -c 30000 a | tr A B >c
    bpk write -q --at 0 "$archive" c && dd if=c of=b conv=notrunc status=none
    judged b
}
@test "promise 9: c-blosc2 reads an array whose chunks hold one value" {
    each_with_oracle one_value "$arrays"
}

# Zeros that end inside an item.
odd_zeros() {
    head -c 293 /dev/zero >a
    options=(-q -F "$kind" -t 4 --filter none)
    pack_it a
    judged a
    head -c 500 /dev/zero >a
    pack_it a
    bpk truncate --bytes 293 "$archive" && truncate -s 293 a
    judged a
}
@test "promise 10: c-blosc2 reads a frame of zeros that end inside an item" {
    each_with_oracle odd_zeros "$frames"
}

# What is appended behind nothing, a byte and zeros is of the frame's items.
added_behind_little() {
    for size in 0 1 4096; do
        head -c $size /dev/zero >little
        options=(-q -F "$kind" -z 4K -t 4)
        pack_it little
        bpk append -q $([ $size -ne 4096 ] || echo -t 8) "$archive" a
        cat little a >all
        judged all
    done
}
@test "promise 11: c-blosc2 reads what is appended to an empty frame, one of a byte, one of zeros" {
    each_with_oracle added_behind_little "$frames"
}

with_slack() {
    data text 30000 a
    options+=(-F "$kind" -t 8 --block-size 1024 --slack 20%)
    pack_it a
    judged a
}
@test "promise 12: c-blosc2 takes parts of chunks with slack" {
    each_with_oracle with_slack "$frames" # it is not for arrays
}

# c-blosc2 reads parts of chunks of delta wrongly; bytedelta is another filter.
no_delta() {
    "$python" -c 'import struct
n = 500
print(end="")
open("a", "wb").write(b"".join(struct.pack("<i", (i + j) % 2) for i in range(n) for j in range(n)))'
    case $kind in
    b2nd | b2nddir) options=(-q --dtype '<i4' --shape 500,500) ;;
    *) options=(-q -F "$kind" -t 4) ;;
    esac
    pack_it a
    if bpk info -v "$archive" | grep 'filter .*[ ,]delta'; then die "delta was chosen"; fi
    judged a
}
@test "promise 13: the automatic choice takes no delta where c-blosc2 reads" {
    each_with_oracle no_delta "$frames|$arrays"
}

# Every kind of change, one at a time.
changed_by_peer() {
    pack_it a
    bpk meta set "$archive" 'any="abcx"'
    rm -f "$archive/.lock"
    cp -r "$archive" was
    show=raw && [[ $kind != b2nd* ]] || show=array
    for seed in 1 2 3 4 5 6 7 8 19 32 38; do
        rm -rf "$archive" && cp -r was "$archive"
        oracle2 change "$archive" $seed 2 >what || continue
        oracle2 $show "$archive" >now || continue
        quietly bpk verify "$archive" || die "$(cat what)"
        bpk cat "$archive" | cmp - now
    done
}
@test "promise 14: a change by c-blosc2 is no damage" {
    each_with_oracle changed_by_peer "$frames|$arrays"
}

two_zero_chunks() {
    head -c 4000 a >b && head -c 1000 /dev/zero >z && rm -rf "$archive"
    # shellcheck disable=SC2046 # a word or none
    oracle2 pack "$archive" 1000 4 $([ "$kind" = b2frame ] || echo sparse) <b
    head -c 2000 b | oracle2 append "$archive" 2000
    cat z z | oracle2 append "$archive" 500
    oracle2 append "$archive" 4000 <b
    cat b <(head -c 2000 b) z z b >now
    bpk cat "$archive" >got || [ $? -eq 3 ]
    same got now
}
@test "promise 16: several chunks of zeros in a frame of many sizes lose no other chunk" {
    each_with_oracle two_zero_chunks "$frames"
}

# A title block that says one line more than it holds.
dcd() {
    "$python" -c 'b = bytearray(open(0, "rb").read()); size = int.from_bytes(b[92:96], "little")
wrong = (size + 80).to_bytes(4, "little")
b[92:96] = b[96 + size:100 + size] = wrong; b[96:100] = (size // 80 + 1).to_bytes(4, "little")
open("t.dcd", "wb").write(b)' <"$tests/fuzz/corpus/layout/dcd-2"
    case $kind in dcd) cp t.dcd "$archive" ;; *) bpk pack -q -f -F "${kind/plain/blp}" -o "$archive" t.dcd ;; esac
    bpk info -v "$archive" >"$out"
    grep -qE 'frames +2' "$out" || die "no trajectory: $(cat "$out")"
}
@test "promise 16: a DCD file that counts its titles wrongly is one" {
    each dcd 'dcd|blp|plain|chunked|b2frame|b2sparse'
}

# GSD's library cuts names to 63 bytes, and lists such a name again for each frame.
long_names() {
    "$python" -c 'import struct
name = b"n" * 63 + b"\0"
chunks = ((0, 0, b"a"), (0, 1, b"x"), (1, 1, b"y"), (1, 2, b"b"))
index = b"".join(struct.pack("<QQqIHBB", chunk[0], 1, 256 + i, 1, chunk[1], 1, 0) for i, chunk in enumerate(chunks))
names = name + b"short".ljust(64, b"\0") + name
head = struct.pack("<8sQQQQII", bytes.fromhex("df65df65df65df65"), 512, 5, 320, 3, 0, 0x10000)
open("t.gsd", "wb").write(head.ljust(256, b"\0") + b"axyb".ljust(64, b"\0") + names + index + bytes(32))'
    case $kind in gsd) cp t.gsd "$archive" ;; *) bpk pack -q -f -F "${kind/plain/blp}" -o "$archive" t.gsd ;; esac
    bpk verify "$archive"
    bpk cat --name "$(printf 'n%.0s' {1..63})" "$archive" >got
    [ "$(cat got)" = ab ] || die "not ab: $(cat got)"
}
@test "promise 16: a name of GSD 1 that was cut is one name in all frames" {
    each long_names 'gsd|blp|plain|chunked|b2frame|b2sparse'
}

# A chunk says another element size than the header, which c-blosc2 minds in slices.
other_typesize() {
    bpk pack -q -f "${options[@]}" -t 4 -0 --checksum none -o "$archive" a
    file=$archive
    if [ -d "$archive" ]; then
        file=$archive/00000001.chunk at=0
    else
        at=$(bpk info --json -vv "$archive" | "$python" -c 'import json; print(json.load(open(0))["chunks"][1]["offset"])')
    fi
    printf '\2' | dd of="$file" bs=1 seek=$((at + 3)) conv=notrunc status=none
    bpk verify -v "$archive" >"$out"
    grep -q "1 chunks have another typesize than the header's 4, chunk 1 first with 2" "$out" || die "says: $(cat "$out")"
    bpk cat "$archive" >got
    same got a
}
@test "promise 16: verify -v names the chunk whose typesize is not the header's" {
    each other_typesize "$frames"
}
