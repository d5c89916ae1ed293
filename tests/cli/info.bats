load lib

@test "info prints one line for each archive, and a heading at most" {
    data field-f64 100000 a
    data text 5000 b
    bpk pack a b
    quietly bpk info a.blp
    grep -q 'a\.blp' "$out"
    lines=$(wc -l <"$out")
    [ "$lines" -le 2 ]
    quietly bpk info a.blp b.blp
    grep -q 'a\.blp' "$out"
    grep -q 'b\.blp' "$out"
    [ "$(wc -l <"$out")" -le 4 ]
    ! grep -qP '[\x00-\x08\x0b-\x1f\x7f]' "$out"
}

@test "info: columns stand below each other, whatever the filters" {
    data field-f64 50000 a
    for filters in none shuffle,bytedelta delta,shuffle,bytedelta,bitshuffle; do
        bpk pack -t 8 --filter $filters -o $filters.b2frame a
    done
    quietly bpk info *.b2frame
    [ "$(head -n 4 "$out" | sed -E 's/(Name|[^ ]*\.b2frame)$/@/' | awk '{ print index($0, "@") }' | uniq | wc -l)" -eq 1 ] ||
        die "$(cat "$out")"
    grep -qE ' delta,shuffle,\.\.\. +crc32' "$out"
}

@test "info -v says every field, -vv every chunk" {
    data field-f64 100000 a
    bpk pack -t 8 -z 32K --checksum sha256 --set run=7 a
    quietly bpk info -v a.blp
    for word in zstd sha256 100000 run; do grep -q "$word" "$out" || die "no $word" "$(cat "$out")"; done
    one=$(wc -l <"$out")
    quietly bpk info -vv a.blp
    [ "$(wc -l <"$out")" -ge $((one + 4)) ]
}

@test "info --json has the keys that scripts rely on" {
    need_python
    data field-f64 100000 a
    bpk pack -t 8 -z 32K --checksum sha256 --filter shuffle --set run=7 a
    quietly bpk info --json a.blp
    [ "$(wc -l <"$out")" -eq 1 ]
    [ "$(json "$out" 'list(x)[:3]')" = "['bpk', 'command', 'path']" ]
    [ "$(json "$out" 'x["bpk"], x["command"], x["path"]')" = "(1, 'info', 'a.blp')" ]
    [ "$(json "$out" 'x["raw_size"]')" = 100000 ]
    [ "$(json "$out" 'x["nchunks"], x["typesize"], x["checksum"]')" = "(4, 8, 'sha256')" ]
    [ "$(json "$out" 'x["chunk_size"]')" = 32768 ]
    [ "$(json "$out" 'json.loads(x["metadata"])')" = "{'run': 7}" ]
    quietly bpk info --json a.blp a.blp
    [ "$(wc -l <"$out")" -eq 2 ]
}

@test "info shows the array that NumPy's metadata describe, and only one that fits the data" {
    need_python
    data field-f64 4800 a
    numpy='{"dtype":"'"'<f8'"'","shape":[20,30],"order":"F","container":"numpy"}'
    printf '%s' "$numpy" >m.json
    bpk pack -t 8 --metadata m.json a
    quietly bpk info -v a.blp
    grep -qE 'dtype +<f8$' "$out"
    grep -qE 'shape +20 x 30, order F$' "$out"
    quietly bpk info --json a.blp
    [ "$(json "$out" 'x["dtype"], x["shape"], x["order"]')" = "('<f8', [20, 30], 'F')" ]
    quietly bpk verify -v a.blp
    ! grep -q 'describes an array' "$out"
    printf '%s' "${numpy/20/21}" >m.json
    bpk pack -f -t 8 --metadata m.json a
    quietly bpk info --json a.blp
    [ "$(json "$out" 'x["dtype"], x["shape"], x["order"]')" = "(None, None, None)" ]
    quietly bpk verify -v a.blp
    grep -q 'describes an array of 5040 bytes, the data has 4800' "$out"
}

@test "info walks through an archive from a pipe, and shows its chunks, size and ratio" {
    need_python
    data field-f64 100000 a
    cat a | bpk pack -z 32K 2>/dev/null | cat >s.blp
    for file in s.blp -; do
        bpk info --json $file <s.blp >x
        [ "$(json x 'x["raw_size"], x["nchunks"], x["last_chunk_size"], x["offsets"]')" = \
            "(100000, 4, 1696, False)" ]
    done
    quietly bpk info -v s.blp
    grep -q 'ratio  *[0-9]' "$out"
    printf '' | bpk pack 2>/dev/null | cat >e.blp
    bpk info --json e.blp >x
    [ "$(json x 'x["raw_size"], x["nchunks"]')" = "(0, 0)" ]
}

@test "info: damage in an archive from a pipe is reported behind what is known" {
    data field-f64 100000 a
    cat a | bpk pack -z 32K 2>/dev/null | cat >s.blp
    head -c -60 s.blp >t.blp
    head -c -20 s.blp >u.blp
    for file in t u; do
        for how in "" -v --json; do
            status=0
            bpk info $how $file.blp >x 2>"$err" || status=$?
            [ $status -eq 2 ]
            says "^bpk: $file.blp: "
            grep -q $file.blp x
        done
    done
}

@test "info: names are shown, not obeyed" {
    need_python
    data text 500 a
    name=$'evil\e[31m\nname'
    bpk pack -o "$name" a
    quietly bpk info "$name"
    ! grep -q $'\e' "$out"
    [ "$(wc -l <"$out")" -le 2 ]
    quietly bpk info --json "$name"
    [ "$(wc -l <"$out")" -eq 1 ]
    [ "$(json "$out" 'x["path"] == "evil\x1b[31m\nname"')" = True ]
    bpk pack -o $'bad\xff' a
    quietly bpk info --json $'bad\xff'
    [ "$(json "$out" '__import__("base64").b64decode(x["path_b64"]) == b"bad\xff"')" = True ]
    refuses 1 'evil' bpk info $'none\e[31mevil\nname'
    ! grep -q $'\e' "$err"
}

@test "info reads no more than it shows" {
    need_strace
    need_plain_build
    data field-f64 20000000 a
    bpk pack -z 64K a
    strace -f -o trace -e trace=read,pread64 "$BPK" info a.blp >"$out"
    bytes=$(awk '/ = [0-9]+$/ { sum += $NF } END { print sum + 0 }' trace)
    [ "$bytes" -lt 400000 ] || die "read $bytes bytes"
}

@test "info goes on after a bad file" {
    data text 500 a
    bpk pack a
    echo nonsense >b.blp
    status=0
    bpk info none.blp b.blp a.blp >"$out" 2>"$err" || status=$?
    [ "$status" -eq 2 ]
    [ "$(wc -l <"$err")" -eq 2 ]
    grep -q 'a\.blp' "$out"
}

# The example of the specification: three chunks, one of them zeros; layers demo and note.
small_frame() { # FILE
    printf '%s' 9ea862326672616d6500d200000074cf0000000000000199a412005003d30000000000000098 \
        d30000000000000098d200000004d200000000d200000040d10001d10001c3d80600000000000100 \
        000000000000000000 93cd0011de0001a464656d6fd20000006bdc0001c60000000481a16b01 \
        0501170440000000400000006000000000000000000100000000000000000000 \
        00000000010000000200000003000000040000000500000006000000070000000800000009000000 \
        0a0000000b0000000c0000000d0000000e0000000f000000 \
        0501170418000000180000003800000000000000000100000000000000000000 \
        000000000100000002000000030000000400000005000000 \
        0501170818000000180000003800000000000000000100000000000000000000 \
        000000000000000000000000000000816000000000000000 \
        940193cd0010de0001a46e6f7465d200000016dc0001c600000023 \
        0501070803000000010000002300000000000000000100000000000000000000a26869 \
        ce00000055d80000000000000000000000000000000000 |
        sed 's/../\\x&/g' | { IFS= read -r hex || true; printf '%b' "$hex"; } >"$1"
}

@test "info shows a frame's layers, and chunks that are not stored" {
    small_frame a.b2frame
    [ "$(wc -c <a.b2frame)" -eq 409 ]
    quietly bpk info -vv a.b2frame
    grep -qF '{"demo": {"k": 1}, "note": "hi"}' "$out"
    grep -qE 'layers +demo \(fixed, 4 bytes\), note \(3 bytes\)$' "$out"
    grep -qE '^ +1 +- +64 +0 +64 .* zeros ' "$out"
    quietly bpk verify a.b2frame
}

@test "info --json tells of a frame's layers" {
    need_python
    small_frame a.b2frame
    quietly bpk info --json -vv a.b2frame
    [ "$(json "$out" 'x["layers"][0]')" = \
        "{'name': 'demo', 'fixed': True, 'size': 4, 'content': '{\"k\": 1}'}" ]
    [ "$(json "$out" 'x["layers"][1]["fixed"], x["layers"][1]["content"]')" = "(False, '\"hi\"')" ]
    [ "$(json "$out" '[c["special"] for c in x["chunks"]]')" = "[None, 'zeros', None]" ]
    [ "$(json "$out" 'x["hole_size"], x["dictionary"], x["variable_blocks"]')" = "(0, False, None)" ]
}

@test "meta changes a frame's layers, and c-blosc2 finds them" {
    small_frame a.b2frame
    bpk cat a.b2frame >raw
    bpk meta set a.b2frame note=ho list=[1,2.5]
    [ "$(bpk meta get a.b2frame)" = '{"demo": {"k": 1}, "note": "ho", "list": [1, 2.5]}' ]
    bpk meta rm a.b2frame note
    [ "$(bpk meta get a.b2frame)" = '{"demo": {"k": 1}, "list": [1, 2.5]}' ]
    bpk meta set a.b2frame 'demo={"k":2}'
    refuses 1 "keeps its 4 bytes" bpk meta set a.b2frame 'demo={"k":1000}'
    refuses 1 'cannot be removed' bpk meta rm a.b2frame demo
    [ "$(bpk meta get a.b2frame)" = '{"demo": {"k": 2}, "list": [1, 2.5]}' ]
    quietly bpk verify a.b2frame
    bpk cat a.b2frame | cmp - raw
    need_oracle2
    "$oracle2" raw a.b2frame | cmp - raw
    "$oracle2" layer a.b2frame demo | cmp - <(printf '\x81\xa1k\x02')
    "$oracle2" layer a.b2frame list | cmp - <(printf '\x92\x01\xcb\x40\x04\0\0\0\0\0\0')
}

@test "info prints the row of an archive whose end is missing, and reports it" {
    data field-f64 200000 a
    for options in '' '--no-offsets' '--checksum none'; do
        bpk pack -f -z 16K $options a
        size=$(stat -c %s a.blp)
        for cut in 1 5 1000 $((size / 2)); do
            head -c $((size - cut)) a.blp >cut.blp
            refuses 2 '^bpk: cut.blp: ' bpk info cut.blp
            grep -q ' cut.blp$' "$out" || die "no row: $options, $cut bytes"
        done
    done
    bpk pack -z 16K -o a.blpd a
    bpk pack -z 16K -o a.b2s a
    bpk pack -z 16K -o a.b2frame a
    quietly bpk info a.blp a.blpd a.b2s a.b2frame
    for format in blpd b2s; do
        for what in rm "truncate -s -1" "truncate -s 10"; do
            rm -rf cut.$format
            cp -r a.$format cut.$format
            file=$(find cut.$format -name '*.bin' -o -name '0000000A.chunk')
            $what "$file"
            refuses 2 "^bpk: cut.$format: |^bpk: .*10 " bpk info cut.$format
            grep -q " cut.$format\$" "$out" || [ "$format" = blpd ] || die "no row: $what $format"
        done
    done
    head -c -1 a.b2frame >cut.b2frame
    refuses 2 '^bpk: cut.b2frame: ' bpk info cut.b2frame
}

# FILE.npz in the current folder: arrays of every kind, some of them not numbers.
many_arrays() {
    "$python" -c 'import numpy as np
r = np.random.default_rng(3)
np.savez("s.npz", f8=r.normal(size=300001) * 1e3 + 1e6, f4=r.normal(size=(5000, 3)).astype("f4"),
    f2=r.normal(size=500).astype("f2"), bf4=r.normal(size=7000).astype(">f4"), bf2=np.arange(9).astype(">f2"),
    bi2=r.integers(-30000, 30000, 9000).astype(">i2"), u1=r.integers(0, 256, 100).astype("u1"),
    i1=np.array([-128, 127, 3], "i1"), i4=np.array([-2**31, 2**31 - 1]), bi4=np.array([-5, 2**30], ">i4"),
    i8=np.array([-2**63, 2**63 - 1, 5, 7], "i8"), u8=np.array([2**64 - 1, 2**64 - 2, 2**63], ">u8"),
    b=r.integers(0, 2, 1001).astype(bool), nan=np.array([np.nan, np.inf, -np.inf, 3, 5]), allnan=np.full(3, np.nan),
    empty=np.zeros((0, 3)), huge=np.array([1.7e308, 1.7e308, -1.7e308, 1.6e308]), near=1e9 + r.random(100000),
    const=np.full(100000, 0.1), one=np.float64(3.5), fort=np.asfortranarray(r.normal(size=(300, 40))),
    c=np.array([1 + 2j]), s=np.array([b"abc"]), rec=np.zeros(3, [("a", "i4"), ("b", "f8")]))'
}

# FILE: the statistics in it are those that NumPy finds in s.npz.
check_by_numpy() {
    "$python" -c 'import json, sys, numpy as np
z = np.load("s.npz")
stats = json.loads(open(sys.argv[1]).read())["stats"]
assert [s["name"] for s in stats] == list(z), stats
for s in stats:
    a = z[s["name"]]
    if a.dtype.kind in "cSV":
        assert s["skipped"] == {"c": "complex", "S": "no numbers", "V": "structured"}[a.dtype.kind], s
        assert all(s[k] is None for k in ("count", "min", "max", "mean", "std", "nan", "infinite")), s
        continue
    f = a.astype("f8")
    g = f[np.isfinite(f)]
    assert s["skipped"] is None and s["count"] == a.size, s
    assert s["nan"] == np.isnan(f).sum() and s["infinite"] == np.isinf(f).sum(), s
    if g.size == 0:
        assert s["min"] is s["max"] is s["mean"] is s["std"] is None, s
        continue
    if a.dtype.kind in "iu":
        assert (s["min"], s["max"]) == (int(a.min()), int(a.max())), s
    else:
        assert (s["min"], s["max"]) == (g.min(), g.max()), s
    if s["name"] == "huge":
        assert abs(s["mean"] - 8.25e307) < 1e293 and s["std"] is None, s
        continue
    for key, value in ("mean", g.mean()), ("std", g.std()):
        assert abs(s[key] - value) <= 1e-12 * abs(value) + 2e-16 * abs(g).max(), (s, key, value)' \
        "$1" || die "$(cat "$1")"
}

@test "info --stats finds the numbers that NumPy finds" {
    need_numpy
    many_arrays
    quietly bpk info --stats --json s.npz
    check_by_numpy "$out"
    sed 's/.*"stats"//' "$out" >expected
    for format in blp b2frame chunked; do
        make_archive $format s.npz -z 32K
        for threads in 1 2 5; do
            bpk info --stats --json -T $threads "$archive" >"$out"
            sed 's/.*"stats"//' "$out" | same - expected
        done
    done
    quietly bpk info --stats s.npz
    grep -qE '^ +300001 +99[0-9]{4}\.[0-9]+ +100[0-9]{4}\.[0-9]+ +100000[0-9.]+ +[0-9.]+ +0 +0  f8$' "$out" ||
        die "$(cat "$out")"
    grep -qE '^ +4 +-9223372036854775808 +9223372036854775807 .* i8$' "$out"
    grep -qE '^ +5 +3 +5 +4 +1 +1 +2  nan$' "$out"
    grep -qE '^  no statistics +rec: structured$' "$out"
    quietly bpk info --stats --name nan s.npz
    [ "$(grep -cE '^ +[0-9]+ .* nan$' "$out")" -eq 1 ]
    ! grep -q 'no statistics' "$out"
    refuses 1 "no array 'f88', did you mean 'f8'" bpk info --json --stats --name f88 s.npz
    refuses 64 "--name needs --stats" bpk info --name f8 s.npz
}

@test "info --stats: all frames of a trajectory together, as awk finds them" {
    corpus=$tests/fuzz/corpus/layout
    for f in trr-2 gsd-2 dcd-2; do
        name=x
        [ $f != gsd-2 ] || name=particles/position
        order=little
        [ $f != trr-2 ] || order=big
        bpk cat --name $name "$corpus/$f" | od -An -v -w4 -tf4 --endian=$order |
            awk '{ n++; s += $1; q += $1 * $1; if (n == 1 || $1 < a) a = $1; if (n == 1 || $1 > b) b = $1 }
                END { m = s / n; printf "%d %.6g %.6g %.6g %.6g 0 0 NAME\n", n, a, b, m, sqrt(q / n - m * m) }' |
            sed "s,NAME,$name," >expected
        cp "$corpus/$f" .
        bpk pack -q $f
        for input in $f $f.blp; do
            quietly bpk info --stats --name $name $input
            tail -n 1 "$out" | awk '{ printf "%d %.6g %.6g %.6g %.6g %d %d %s\n", $1, $2, $3, $4, $5, $6, $7, $8 }' |
                same - expected
        done
    done
}

@test "info --stats of an archive that records its type, in any byte order and chunk shape" {
    need_python
    data sorted-i64 4800 a
    od -An -v -w8 -td8 --endian=big a | tr -d ' ' | sort -n >sorted
    for options in '--dtype >i8 --shape 600 -o a.blp' '--dtype >i8 --shape 20,30 -o b.b2nd' \
        '--dtype >i8 --shape 20,30 --chunk-shape 7,7 --block-shape 3,4 -o c.b2nd'; do
        # shellcheck disable=SC2086
        bpk pack -q $options a
        quietly bpk info --stats --json "${options##* }"
        [ "$(json "$out" 'len(x["stats"]), x["stats"][0]["name"], x["stats"][0]["count"], x["stats"][0]["min"], x["stats"][0]["max"]')" = \
            "(1, None, 600, $(head -n 1 sorted), $(tail -n 1 sorted))" ] || die "$(cat "$out")"
        mean=$(json "$out" '"%.17g" % x["stats"][0]["mean"]')
        "$python" -c 'import sys; a = [int(n) for n in open("sorted")]
assert abs(float(sys.argv[1]) - sum(a) / 600) <= 1e-12 * max(map(abs, a))' "$mean"
    done
    bpk pack -q -f -o a.blp a
    quietly bpk info --stats a.blp
    tail -n 1 "$out" | grep -q 'no array of numbers is recorded'
    quietly bpk info --stats --json a.blp
    [ "$(json "$out" 'x["stats"]')" = '[]' ]
    bpk cat a.blp | bpk pack -q --dtype '>i8' --shape 600 --stream-size 4800 >p.blp
    status=0
    cat p.blp | bpk info --stats >"$out" 2>"$err" || status=$?
    [ "$status" -eq 1 ]
    says 'cannot be read by place'
}

@test "info --stats reports damage, and takes memory by threads alone" {
    need_python
    "$python" -c 'import struct, sys
head = b"{\"descr\": \"<f8\", \"fortran_order\": False, \"shape\": (4000000,), }"
with open("a.npy", "wb") as f:
    f.write(b"\x93NUMPY\x01\x00\x76\x00" + head.ljust(117) + b"\n")
    for i in range(400): f.write(struct.pack("<10000d", *range(i, i + 10000)))'
    bpk pack -q -z 256K a.npy
    quietly bpk info --stats -T2 a.npy.blp
    tail -n 1 "$out" | grep -qE '^ +4000000 +0 +10398 +5199 +[0-9.]+ +0 +0  data$' || die "$(cat "$out")"
    if ! grep -qaE '__(asan|tsan)_init' "$BPK"; then
        "$(dirname "$BPK")/tests/lib/peak" peak "$BPK" info --stats -T2 a.npy >"$out"
        [ "$(cat peak)" -lt 24000 ] || die "$(cat peak) KiB"
    fi
    size=$(wc -c <a.npy.blp)
    printf 'xxxxxxxx' | dd of=a.npy.blp bs=1 seek=$((size * 3 / 4)) conv=notrunc status=none
    for threads in 1 3; do
        ends 2 bpk info --stats -T$threads a.npy.blp
        [ "$(wc -l <"$err")" -eq 1 ]
        says '^bpk: a.npy.blp: chunk '
    done
    ends 2 bpk info --stats --json a.npy.blp
    [ "$(json "$out" 'x["stats"]')" = '[]' ]
}
