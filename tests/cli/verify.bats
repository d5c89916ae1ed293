load lib

@test "verify is silent when all is well, and -v says so" {
    data field-f64 300000 a
    bpk pack a
    quietly bpk verify a.blp
    [ ! -s "$out" ]
    bpk verify -v a.blp >"$out" 2>&1
    grep -qx 'a\.blp: ok; no checksum protects the header (typesize, sizes, counts), the spare offsets and the order of chunks' "$out"
    bpk pack --checksum none -o none.blp a
    bpk verify -v none.blp >"$out" 2>&1
    grep -q '^none\.blp: ok; no checksum protects the chunks' "$out"
    printf '\003' | dd of=a.blp bs=1 seek=7 conv=notrunc status=none
    bpk verify -v a.blp >"$out" 2>&1
    grep -q 'typesize 3, the first chunk' "$out"
    quietly bpk verify <a.blp
    cat a.blp | bpk verify -
}

@test "verify goes on after a bad file; the worst status wins" {
    data field-f64 30000 a
    bpk pack a
    head -c 5000 a.blp >cut.blp
    status=0
    bpk verify a.blp none.blp cut.blp a.blp 2>"$err" || status=$?
    [ "$status" -eq 2 ]
    [ "$(wc -l <"$err")" -eq 2 ]
    says '^bpk: none.blp: '
    says '^bpk: cut.blp: '
    status=0
    bpk verify none.blp a.blp 2>"$err" || status=$?
    [ "$status" -eq 1 ]
}

@test "verify -r walks directories" {
    mkdir -p d/e/f
    data text 3000 d/a
    cp d/a d/e/b
    cp d/a d/e/f/c
    bpk pack d/a d/e/b d/e/f/c
    ln -s ../.. d/e/loop
    quietly bpk verify -r d
    head -c 100 d/e/b.blp >d/e/cut.blp
    refuses 2 '^bpk: d/e/cut.blp: ' bpk verify -r d
    refuses 1 '^bpk: d: is a directory, expected an archive; -r walks it$' bpk verify d
    rm d/e/cut.blp
    head -c 300 /dev/zero >d/e/x.gsd
    refuses 2 '^bpk: d/e/x.gsd: does not begin as a GSD file' bpk verify -r d
}

@test "verify --quick leaves the decode out, not the checksums" {
    need_python
    data records 30000 a
    bpk pack -t 1 -z 10000 --checksum none --codec zlib -o none.blp a
    bpk pack -t 1 -z 10000 --codec zlib -o crc.blp a
    for name in none crc; do
        "$python" - $name.blp <<'END'
import struct, sys
data = bytearray(open(sys.argv[1], "rb").read())
where, = struct.unpack("<q", data[40:48])
size, = struct.unpack("<i", data[where + 12:where + 16])
for at in range(where + size // 2, where + size - 8):
    data[at] ^= 0x55
open(sys.argv[1], "wb").write(data)
END
    done
    refuses 2 '^bpk: crc.blp: chunk 1 ' bpk verify --quick crc.blp
    quietly bpk verify --quick none.blp
    refuses 2 '^bpk: none.blp: chunk 1 ' bpk verify none.blp
}

@test "verify: bytes behind the last chunk are damage, with offsets and without" {
    data text 3000 a
    bpk pack -o with.blp a
    bpk pack --no-offsets -o without.blp a
    echo tail >>with.blp
    echo tail >>without.blp
    refuses 2 '^bpk: with.blp: 5 bytes from offset ' bpk verify with.blp
    refuses 2 '^bpk: without.blp: ' bpk verify without.blp
    for archive in with without; do
        run ! bpk cat $archive.blp >"$out"
        bpk cat $archive.blp 2>"$err" | cmp - a || [ "${PIPESTATUS[*]}" = '2 0' ]
    done
}

@test "verify --json: one object for each file" {
    need_python
    data text 3000 a
    bpk pack a
    head -c 200 a.blp >cut.blp
    status=0
    bpk verify --json a.blp cut.blp >lines 2>"$err" || status=$?
    [ "$status" -eq 2 ]
    [ "$(wc -l <lines)" -eq 2 ]
    head -n 1 lines >line
    [ "$(json line 'list(x)[:3], x["path"]')" = "(['bpk', 'command', 'path'], 'a.blp')" ]
    tail -n 1 lines >line
    [ "$(json line 'x["path"]')" = cut.blp ]
}

@test "a file that cannot be read is no damaged one" {
    [ -e /proc/self/mem ] || skip "no /proc/self/mem here"
    refuses 1 '^bpk: /proc/self/mem: read: ' bpk verify /proc/self/mem
}

@test "verify: a change that was interrupted is pending, and verify leaves it so" {
    need_nth
    data text 30000 a
    bpk pack -z 8K a
    cp a.blp was.blp
    for n in $(seq 40); do
        cp was.blp a.blp
        status=0
        "$nth" -n "$n" -a kill "$BPK" append -T 1 a.blp a >"$out" 2>&1 || status=$?
        [ "$status" -ne 125 ] || skip "this machine does not let processes be traced"
        bpk verify a.blp >"$out" 2>&1 && continue || status=$?
        [ "$status" -eq 3 ] && break
    done
    [ -e .a.blp.bpkj ]
    refuses 3 '^bpk: a.blp: .* pending' bpk verify a.blp
    [ -e .a.blp.bpkj ]
    bpk verify --json a.blp 2>"$err" | grep -q '"status":3,'
    bpk cat -q a.blp | cmp - a
    [ -e .a.blp.bpkj ]
    bpk meta set -q a.blp k=1
    quietly bpk verify a.blp
    [ ! -e .a.blp.bpkj ]
}

# Small archives of every kind that bpk writes, of the same numbers.
each_kind() {
    local kind
    for kind in crc.blp none.blp nooff.blp bare.blp meta.blp stream.blp x.blpd a.blpd x.b2frame none.b2frame \
        meta.b2frame x.b2nd x.b2s none.b2s; do
        local options=(-z 128 -t 4)
        case $kind in
        none.*) options+=(--checksum none) ;;
        nooff.*) options+=(--no-offsets) ;;
        bare.*) options+=(--no-offsets --checksum none) ;;
        meta.*) options+=(--set a=1) ;;
        a.*) options+=(--dtype '<i4') ;;
        *.b2nd) options=(-z 128 --dtype '<i4' --shape 6,10) ;;
        esac
        if [ "$kind" = stream.blp ]; then
            cat numbers | bpk pack -q -z 128 -t 4 -c | cat >$kind
        else
            bpk pack -q "${options[@]}" -o $kind numbers
        fi
        "$@" $kind
    done
}

# The squares of 0 to 59: two chunks that differ and can be packed.
make_numbers() {
    "$python" -c 'import struct, sys; sys.stdout.buffer.write(struct.pack("<60i", *(i * i for i in range(60))))' >numbers
}

# Flip every bit; in sanitizer builds every 11th.
flips() {
    light && set -- "$1" 11
    "$BPK_FLIPS" "$@" >flips || die "$(cat flips)"
}

bits_are_damage() {
    flips "$1"
    ! grep -m 5 -E '^[^ ]+ [0-9.]+ 1 ' flips || die "$1: called something else than damage"
    case $1 in
    none.* | bare.*) ;;
    *) ! grep -m 5 ' 0 other ' flips || die "$1: changed content passes" ;;
    esac
    passed_is_named "$1"
    echo "# $1: $(tail -n 1 flips)" >&3
}

# Each bit that passes lies in a field that `verify -v` names as unprotected.
passed_is_named() {
    local file bit at name
    bpk verify -v "$1" >named
    while read -r file bit _; do
        at=${bit%.*}
        case $file in
        *.b2*/*.chunk | none.b2frame) name='the chunks' ;;
        none.b2s/*) name='chunks.b2frame' ;;
        */meta/sizes) name='cbytes' ;;
        */data/*) name='headers of the data files' ;;
        none.blp | bare.blp) name='the chunks and their order, the header and the offsets' ;;
        *) case $at in
            4) name='version' ;;
            7) name='typesize' ;;
            [89] | [12][0-9] | 3[01]) name='counts' ;;
            *) name='spare offsets' ;;
            esac
            [ "$file" != meta.blp ] || [ "$at" -lt 32 ] || [ "$at" -ge 144 ] || name='of the metadata' ;;
        esac
        grep -q "no checksum protects.*$name" named || die "$file: bit $bit passes, and $name is not named" "$(cat named)"
    done < <(grep ' 0 same ' flips | awk '{ split($2, a, "."); if (!seen[$1 a[1]]++) print }')
}

@test "verify: a flipped bit is damage, and never anything that is not supported" {
    need_python
    make_numbers
    each_kind bits_are_damage
}

@test "verify -v names what can be changed unseen by whole chunks and counts" {
    need_python
    local options what
    data noise 384 a
    for options in '' '--no-offsets' '--checksum none' '--set a=1' '--checksum adler32'; do
        # shellcheck disable=SC2086
        bpk pack -q -f -z 128 -t 4 $options a
        bpk verify -v a.blp >named
        for what in swap copy kind count cut; do
            "$python" "$tests/lib/blp_manip.py" a.blp m.blp $what
            ! cmp -s a.blp m.blp || continue
            status=0
            bpk verify m.blp 2>"$err" || status=$?
            case $status in
            0) ;;
            2 | 3) continue ;;
            *) die "$options, $what: $(cat "$err")" ;;
            esac
            case $what in
            swap | copy) grep -q 'order' named ;;
            kind) die "another kind of checksum passes" ;;
            *) grep -qE 'counts|the header and' named ;;
            esac || die "$options: $what passes, and is not named: $(cat named)"
            echo "$what" >>passed
        done
    done
    [ "$(sort -u passed | tr '\n' ' ')" = 'copy cut swap ' ]
    bpk verify --json a.blp >"$out"
    [ "$(json "$out" '"order of chunks" in x["unprotected"]')" = True ]
    # digests by number find them
    bpk pack -q -z 128 -t 4 -o a.blpd a
    "$python" "$tests/lib/blp_manip.py" a.blpd/data/__1__.bin m swap
    cp m a.blpd/data/__1__.bin
    refuses 2 'some were swapped' bpk verify a.blpd
    bpk pack -q -z 128 -t 4 -o a.b2s a
    cp a.b2s/00000001.chunk a.b2s/00000000.chunk
    refuses 2 'chunk 0 in 00000000.chunk: crc32 is' bpk verify a.b2s
    # but not a header from before
    bpk pack -q -z 128 -t 4 -o a.b2frame a
    cp a.b2frame before
    bpk append -q a.b2frame a
    dd if=before of=a.b2frame conv=notrunc status=none
    bpk verify -v a.b2frame >named || [ $? -eq 3 ]
    bpk verify -v before | grep -q 'no checksum protects the frame from a return to an earlier header'
}

@test "verify names the next step for damage, once, and not with -q" {
    data text 30000 a
    bpk pack -q -z 4K a
    size=$(stat -c %s a.blp)
    printf X | dd of=a.blp bs=1 seek=$((size - 1000)) conv=notrunc status=none
    cp a.blp b.blp
    ends 2 bpk verify a.blp b.blp
    [ "$(grep -c '; bpk unpack --keep-broken keeps the data before the damage$' "$err")" -eq 1 ] || die "$(cat "$err")"
    ends 2 bpk verify -q a.blp
    ! grep -q 'keep-broken' "$err"
    # nothing of it can be unpacked
    head -c 40 a.blp >cut.blp
    ends 2 bpk verify cut.blp
    ! grep -q 'keep-broken' "$err"
}
