load lib

@test "verify is silent when all is well, and -v says so" {
    data field-f64 300000 a
    bpk pack a
    quietly bpk verify a.blp
    [ ! -s "$out" ]
    bpk verify -v a.blp >"$out" 2>&1
    grep -qx 'a\.blp: ok; no checksum protects the typesize in the header' "$out"
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
    refuses 1 '^bpk: d: .*directory' bpk verify d
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

@test "verify: bytes behind the last chunk are a remark with offsets, damage without" {
    data text 3000 a
    bpk pack -o with.blp a
    bpk pack --no-offsets -o without.blp a
    echo tail >>with.blp
    echo tail >>without.blp
    quietly bpk verify with.blp
    bpk verify -v with.blp >"$out" 2>&1
    grep -qiE '5 bytes' "$out"
    refuses 2 '^bpk: without.blp: ' bpk verify without.blp
    bpk cat with.blp | cmp - a
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
    nth=${abs_top_builddir:-}/tests/fault/nth
    [ -x "$nth" ] || skip "tests/fault/nth was not built"
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
    bpk verify --json a.blp 2>"$err" | grep -q '"status":"repairable"'
    bpk cat a.blp | cmp - a
    quietly bpk verify a.blp
    [ ! -e .a.blp.bpkj ]
}
