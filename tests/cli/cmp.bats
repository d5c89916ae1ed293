load lib

# DIFFERENCE COMMAND...: status 5, one line of output that holds DIFFERENCE, and nothing on standard error.
differs() {
    local status=0
    "${@:2}" >"$out" 2>"$err" || status=$?
    [ "$status" -eq 5 ] || die "status $status: ${*:2}" "$(cat "$out" "$err")"
    [ ! -s "$err" ] || die "says: $(cat "$err")"
    [ "$(wc -l <"$out")" -eq 1 ] || die "not one line: $(cat "$out")"
    grep -qF -- "$1" "$out" || die "not '$1': $(cat "$out")"
}

# A copy of a file with one byte changed.
change() { # FILE OFFSET COPY
    cp "$1" "$3"
    printf '\xa5' | dd of="$3" bs=1 seek="$2" conv=notrunc status=none
    [ "$(od -An -tx1 -j "$2" -N 1 "$1")" != " a5" ] || printf '\x5a' | dd of="$3" bs=1 seek="$2" conv=notrunc status=none
}

# Archives of the file a in every format and some shapes; $archives are their names.
make_archives_of_a() {
    bpk pack -o a.blp a
    bpk pack -z 100000 -9 -o z.blp a
    bpk pack --no-offsets -o walked.blp a
    bpk pack --checksum none -z 64K -o none.blp a
    bpk pack -z 3M -o a.b2frame a
    bpk pack -o a.b2s a
    bpk pack -F chunked -o a.blpd a
    bpk pack -F b2frame --dtype '<f4' --shape 1000,775 -o a.b2nd a
    tar cf a.tar a a.blp a.blpd
    archives=(a.blp z.blp walked.blp none.blp a.b2frame a.b2s a.blpd a.b2nd a.tar:a a.tar:a.blp a.tar:a.blpd)
}

@test "cmp: equal contents in any two formats" {
    data field-f32 3100000 a
    make_archives_of_a
    for left in a "${archives[@]}"; do
        for right in a "${archives[@]}"; do
            sampled 3 || continue
            quietly bpk cmp "$left" "$right" || die "$left $right"
            [ ! -s "$out" ]
        done
        quietly bpk cmp "$left" a && quietly bpk cmp a.blp "$left"
        quietly bpk cmp - "$left" <a
        cat z.blp | quietly bpk cmp "$left" -
    done
    cat a | quietly bpk cmp - <(cat a.blp)
    bpk cmp -v a a.blp | grep -qx 'a a.blp: equal'
}

@test "cmp: the first byte that differs, wherever it is" {
    data field-f32 3100000 a
    make_archives_of_a
    for at in 0 1 99999 100000 1048575 1048576 3099999; do
        change a $at b
        bpk pack -f -z 100000 -o b.blp b
        bpk pack -f -z 3M -o b.b2frame b
        for left in a "${archives[@]}"; do
            sampled 3 || continue
            for right in b b.blp b.b2frame; do
                for threads in 1 4; do
                    differs "differ: byte $at: 0x" bpk cmp -T $threads "$left" $right
                    differs "differ: byte $at: 0x" bpk cmp -T $threads $right "$left"
                done
            done
        done
        [ "$(cmp -l a b | awk '{ print $1 - 1 }')" -eq $at ]
    done
    # which value is whose
    printf 'abc' >one
    printf 'abd' >two
    differs 'one two differ: byte 2: 0x63 is 0x64' bpk cmp one two
    bpk pack -o two.blp two
    differs 'one two.blp differ: byte 2: 0x63 is 0x64' bpk cmp one two.blp
    differs 'two.blp one differ: byte 2: 0x64 is 0x63' bpk cmp two.blp one
}

@test "cmp: of several differences the first, for every number of threads" {
    data noise 6000000 a
    change a 5000000 b
    change b 3000001 b2
    change b2 2999999 b
    for z in 64K 1M 5M; do
        bpk pack -z $z -f -o a.blp a
        for threads in 1 2 8; do
            for i in 1 2 3; do differs 'byte 2999999:' bpk cmp -T $threads a.blp b; done
        done
    done
}

@test "cmp: one ends before the other" {
    data text 2500000 a
    for size in 0 1 999999 1048576 2499999; do
        head -c $size a >b
        bpk pack -f -o b.blp b
        bpk pack -f -z 1M -o a.blp a
        for left in a a.blp; do
            for right in b b.blp; do
                differs "$right ends at byte $size, $left goes on" bpk cmp $left $right
                differs "$right ends at byte $size, $left goes on" bpk cmp $right $left
            done
        done
        differs "b.blp ends at byte $size, standard input goes on" bpk cmp - b.blp <a
        cat a | differs "b.blp ends at byte $size, standard input goes on" bpk cmp b.blp -
        cat b.blp | differs "standard input ends at byte $size, a.blp goes on" bpk cmp a.blp -
    done
}

@test "cmp: chunks that are packed alike are not unpacked" {
    data field-f32 3000000 a
    change a 1500000 b
    for options in "-z 100000" "-F b2frame -z 100000" "-F chunked -z 100000" "-F b2sparse -z 100000"; do
        rm -rf one two three
        bpk pack $options -o one a
        cp -r one two
        bpk cmp -vv one two 2>"$err" >"$out"
        says '^bpk: 30 chunks compared, 30 of them as they are packed$'
        bpk pack $options -o three b
        differs 'byte 1500000:' bpk cmp one three
        # a damaged chunk that both have is damage
        file=one
        [ ! -d one ] || file=$(find one -type f -size +40k | sort | head -n 1)
        printf '\125\125\125\125' | dd of="$file" bs=1 seek=30000 conv=notrunc status=none
        rm -rf two && cp -r one two
        ends 2 bpk cmp one two
        says '^bpk: (one|two): '
        ends 2 bpk cmp one a
        ends 2 bpk cmp a two
    done
    # without checksums they are unpacked
    bpk pack --checksum none -z 100000 -o none.blp a
    cp none.blp none2.blp
    bpk cmp -vv none.blp none2.blp 2>"$err" >"$out"
    says '^bpk: 30 chunks compared, 0 of them as they are packed$'
    # chunks of many sizes
    "$BPK_MAKE_DATA" mesh-i32 500000 >m
    cat a m a >c
    bpk pack -o c.blp c
    cp c.blp d.blp
    bpk cmp -vv c.blp d.blp 2>"$err"
    says '^bpk: ([0-9]+) chunks compared, ([0-9]+) of them as they are packed$'
}

@test "cmp: damage and failures are those of verify" {
    data field-f64 900000 a
    bpk pack -z 100000 -o a.blp a
    for at in 900 200000 400000; do
        change a.blp $at bad.blp
        ends 2 bpk verify -q bad.blp
        sed 's/; raw bytes .*//' "$err" >was # which cmp does not tell
        ends 2 bpk cmp a.blp bad.blp
        ends 2 bpk cmp bad.blp a
        sed 's/; bpk verify bad.blp shows all damage and the next step$//' "$err" | diff was -
    done
    printf x >>a.blp
    ends 2 bpk cmp a a.blp
    says 'a.blp: .*1 byte'
    refuses 1 '^bpk: none: ' bpk cmp none a
    refuses 1 '^bpk: none: ' bpk cmp a none
    refuses 1 '^bpk: \.: ' bpk cmp a .
    refuses 64 'needs two operands, not 1' bpk cmp a
    refuses 64 'can be read but once' bpk cmp - -
    refuses 64 "use 'bpk cmp'" bpk diff a a
    refuses 64 'is not a tolerance' bpk cmp --tolerance x a a
    refuses 64 'is not a tolerance' bpk cmp --tolerance -1 a a
    refuses 64 'is not a tolerance' bpk cmp --tolerance 1,2,3 a a
    refuses 64 'need --recursive' bpk cmp --shard 1/2 a a
    refuses 64 'not a type of numbers' bpk cmp --tolerance 1 --dtype S3 a a
    refuses 64 'not a type of numbers' bpk cmp --tolerance 1 --dtype '(2,)f4' a a
    refuses 1 'holds no arrays that bpk knows; --dtype' bpk cmp --tolerance 1 a a
}

@test "cmp --tolerance: an infinity equals itself alone, a NaN any NaN, and zero has no sign" {
    printf '\0\0\200\177' >inf
    printf '\0\0\200\377' >./-inf
    printf '\0\0\300\177' >nan
    printf '\1\0\300\377' >./-nan
    printf '\0\0\200\77' >1
    printf '\0\0\0\0' >0
    printf '\0\0\0\200' >./-0
    for a in inf -inf nan 1 0; do
        for b in inf -inf nan -nan 1 -0; do
            for tolerance in 0 0.5 0.5,0.25; do
                set -- bpk cmp --tolerance $tolerance --dtype '<f4' ./$a ./$b
                case $a/$b in
                    "$a/$a" | nan/-nan | 0/-0) quietly "$@" ;;
                    *) differs 'item 0; 1 numbers differ by more' "$@" ;;
                esac
            done
        done
    done
    # bytes have a sign
    differs 'byte 3:' bpk cmp ./0 ./-0
}

@test "cmp: -q and --json" {
    need_python
    printf abc >a
    printf abd >b
    for options in -q "-q -v"; do
        status=0
        bpk cmp $options a b >"$out" 2>"$err" || status=$?
        [ "$status" -eq 5 ] && [ ! -s "$out" ] && [ ! -s "$err" ]
    done
    bpk cmp --json a b >x || [ $? -eq 5 ]
    [ "$(json x '[x[k] for k in ("bpk", "command", "path", "other", "status", "error", "offset", "name", "frame")]')" = \
        "[1, 'cmp', 'a', 'b', 5, None, 2, None, None]" ]
    bpk cmp --json a a >x
    [ "$(json x '[x["status"], x["difference"], x["offset"]]')" = "[0, None, None]" ]
    bpk cmp --json a none >x 2>"$err" || [ $? -eq 1 ]
    [ "$(json x 'x["status"]')" = 1 ]
}

@test "cmp -r: two trees" {
    mkdir -p d/sub
    for i in 1 2 3; do data field-f32 $((i * 9999)) d/f$i && data text $((i * 5000)) d/sub/t$i; done
    cp -r d e
    quietly bpk cmp -r d e
    mkdir o
    bpk pack -r -O o d
    quietly bpk cmp -r d o
    quietly bpk cmp -r o d/
    bpk cmp -rv d o >"$out"
    [ "$(tail -n 1 "$out")" = '6 files are equal, 0 different, 0 in one directory only, 0 failed' ]
    change d/f2 100 e/f2
    rm e/sub/t1
    data text 10 e/new
    ends 5 bpk cmp -r d e
    [ "$(sed 's/0x.. is 0x../X/; s/, item .*//' "$out")" = "d/f2 e/f2 differ: byte 100: X
only in e: new
only in d: sub/t1" ]
    ends 5 bpk cmp -rv d e
    [ "$(tail -n 1 "$out")" = '4 files are equal, 1 different, 2 in one directory only, 0 failed' ]
    ends 5 bpk cmp -r --exclude 't*' --exclude new --include f1 --include f2 d e
    [ "$(wc -l <"$out")" -eq 1 ]
    quietly bpk cmp -r --include f1 d e
    # globs match an archive with its suffix and without
    bpk cmp -rv --include f1 d o >"$out"
    [ "$(head -n 1 "$out")" = 'd/f1 o/f1.blp: equal' ]
    quietly bpk cmp -r --exclude f1 --exclude new d o
    # of several archives of one name the first one is compared, and the other is told
    mkdir s t
    cp d/f1 s/x
    bpk pack -o t/x.b2frame d/f1
    bpk pack -o t/x.blp d/f2
    differs 'only in t: x.blp' bpk cmp -r s t
    differs 'only in t: x.blp' bpk cmp -r t s
    # each pair is in one share
    for i in 1 2 3; do bpk cmp -r -v --shard $i/3 d o | sed -n 's/ .*: equal//p'; done | sort >all
    find d -type f | sort | diff - all
    # damage in one file does not stop the others
    printf '\125\125\125' | dd of=o/f1.blp bs=1 seek=900 conv=notrunc status=none
    rm o/f3.blp
    ends 2 bpk cmp -r d o
    says '^bpk: o/f1.blp: '
    grep -qx 'only in d: f3' "$out"
    # datasets count as files, and links are none
    mkdir p
    bpk pack -F chunked -O p d/f1
    bpk pack -F b2sparse -O p d/f2
    ln -s ../d/f3 p/f3.blp
    quietly bpk cmp -r --include 'f[12]' d p
    refuses 1 'is not a directory' bpk cmp -r d d/f1
    mkdir q r
    refuses 1 'no file was found' bpk cmp -r q r
}

@test "cmp --tolerance: a NumPy file and the array that an archive records" {
    data field-f64 80000 raw
    bpk pack -q --dtype '<f8' --shape 100,100 -o b.blp raw
    bpk unpack -q -o a.npy b.blp
    bpk pack -q --as-array -o c.b2nd a.npy
    for pair in "a.npy b.blp" "b.blp a.npy" "a.npy c.b2nd" "c.b2nd b.blp"; do
        quietly bpk cmp --tolerance 0 $pair
    done
    head -c 79992 raw >d
    printf '\1\2\3\4\5\6\7\100' >>d
    bpk pack -q --dtype '<f8' --shape 100,100 -o d.blp d
    ends 5 bpk cmp --tolerance 1e-9 a.npy d.blp
    grep -q 'item 9999' "$out"
}

@test "cmp --tolerance reports damage, whatever the threads" {
    data field-f64 4000000 A
    cp A B
    bpk pack -q --dtype f8 -z 64K A B
    size=$(wc -c <B.blp)
    for part in 2 4 5; do
        printf 'xxxxxxxx' | dd of=B.blp bs=1 seek=$((size * part / 6)) conv=notrunc status=none
    done
    for threads in 1 3; do
        ends 2 bpk cmp --tolerance 1 -T$threads A.blp B.blp
        [ "$(wc -l <"$err")" -eq 1 ]
        says '^bpk: B.blp: chunk 2[01] '
    done
}

@test "cmp -r --tolerance: files without arrays are compared as bytes, or as numbers of --dtype" {
    mkdir a b
    data field-f64 80000 a/n.f64
    data field-f64 80000 raw
    bpk pack -q --dtype '<f8' -o b/n.f64.blp raw
    echo text >a/log
    cp a/log b
    bpk cmp -rv --tolerance 1e-6 a b >"$out"
    grep -qx 'a/log b/log: equal' "$out"
    grep -qx '2 files are equal, 0 different, 0 in one directory only, 0 failed' "$out"
    bpk cmp -rv --tolerance 1e-6 --dtype f8 a b >"$out"
    grep -qx 'a/n.f64 b/n.f64.blp: equal; the largest difference is 0' "$out"
    echo more >>b/log
    ends 5 bpk cmp -r --tolerance 1e-6 --dtype f8 a b
}

@test "cmp: arrays and numbers, as NumPy sees them" {
    need_numpy
    "$python" - <<'END'
import numpy as np
rng = np.random.default_rng(1)
for dtype in "<f2 <f4 <f8 >f4 >f8 <i1 <i2 <i4 <i8 >i4 <u1 <u2 <u8 <c8 >c16 |b1".split():
    kind = np.dtype(dtype).kind
    n = 300001
    x = rng.normal(size=n) * 100
    if kind == "c":
        x = x + 1j * rng.normal(size=n)
    if kind == "b":
        x = x > 0
    if kind == "u":
        x = np.abs(x)
    x = x.astype(dtype)
    if kind in "fc":
        x[[5, 70000]] = np.nan
        x[[6, 80000]] = np.inf
    y = x.copy()
    for i in rng.integers(0, n, 20):
        y[i] = (y[i] + 3 if kind != "b" else ~y[i])
    name = dtype.replace("<", "l").replace(">", "b").replace("|", "n")
    x.tofile(f"{name}.x")
    y.tofile(f"{name}.y")
    np.save(f"{name}.x.npy", x)
    np.save(f"{name}.y.npy", y)
END
    for x in *.x; do
        name=${x%.x}
        dtype=$(sed 's/^l/</; s/^b\(.[0-9]\)/>\1/; s/^n/|/' <<<"$name")
        [ "$name" != nb1 ] || dtype='|b1'
        bpk pack -f -o y.blp "$name.y"
        bpk pack -f -F b2frame -o y.b2frame "$name.y"
        for tolerance in 0 2.5 3 4 0,0.01 1,0.5; do
            sampled 5 || continue
            "$python" - "$name" "$dtype" $tolerance >expected <<'END'
import sys, numpy as np
name, dtype, text = sys.argv[1:]
absolute, relative = [float(x) for x in (text + ",0").split(",")[:2]]
x, y = (np.fromfile(f"{name}.{c}", dtype) for c in "xy")
parts = 1
if x.dtype.kind == "c":
    x, y, parts = x.view(x.real.dtype), y.view(y.real.dtype), 2
x, y = x.astype("f8"), y.astype("f8")
with np.errstate(all="ignore"):
    d = np.where((x == y) | (np.isnan(x) & np.isnan(y)), 0, np.abs(x - y))
    bad = d > absolute + relative * np.abs(y)
finite = np.where(np.isfinite(d), d, 0)
print("equal" if not bad.any() else f"item {bad.argmax() // parts}; {bad.sum()} numbers differ by more, "
      f"the largest difference is {finite.max():.9g}, in item {finite.argmax() // parts}")
END
            for pair in "$name.x $name.y" "$name.x y.blp" "$name.x y.b2frame"; do
                for threads in 1 3; do
                    bpk cmp -v -T $threads --tolerance $tolerance --dtype "$dtype" $pair >"$out" 2>"$err" || [ $? -eq 5 ]
                    sed 's/^.* differ: //; s/.*: equal.*/equal/' "$out" | diff expected - || die "$pair, $tolerance"
                done
            done
        done
    done
    # arrays inside files, and those that archives record
    bpk pack lf4.x.npy
    quietly bpk cmp --tolerance 4 lf4.x.npy.blp lf4.y.npy
    bpk cmp lf4.x.npy.blp lf4.y.npy >"$out" || [ $? -eq 5 ]
    grep -q " of array '" "$out"
    bpk pack --as-array -F b2frame -o x.b2nd lf4.x.npy
    bpk pack --as-array -o y.blp -f lf8.x.npy
    bpk cmp --tolerance 4 x.b2nd y.blp >"$out" || [ $? -eq 5 ]
    bpk pack --as-array -F b2frame -o y.b2nd lf4.y.npy
    quietly bpk cmp --tolerance 4 x.b2nd y.b2nd
    bpk cmp --tolerance 1 x.b2nd y.b2nd >"$out" || [ $? -eq 5 ]
    grep -q 'numbers differ by more' "$out"
}

@test "cmp --name: one array of two simulation files" {
    need_numpy
    "$python" - <<'END'
import io, struct, zipfile, numpy as np
rng = np.random.default_rng(2)
a = {"position": rng.normal(size=(5000, 3)).astype("f4"), "id": np.arange(5000), "box": np.eye(3)}
b = {k: v.copy() for k, v in a.items()}
b["position"][40, 1] += 0.001
np.savez("a.npz", **a)
np.savez("b.npz", **b)
np.savez("c.npz", position=a["position"][:4000], id=a["id"].astype("i4"))
END
    bpk pack a.npz b.npz
    name=$(bpk info -v a.npz | grep -o 'position[^ ]*' | head -n 1)
    for a in a.npz a.npz.blp; do
        for b in b.npz b.npz.blp; do
            differs "differ: array '$name': item 121" bpk cmp --name "$name" $a $b
            quietly bpk cmp --name "${name/position/id}" $a $b
            quietly bpk cmp --name "$name" --tolerance 0.01 $a $b
            differs "item 121; 1 numbers differ by more, the largest difference is 0.000" \
                bpk cmp --name "$name" --tolerance 1e-5 $a $b
            quietly bpk cmp --tolerance 0.01 $a $b
            differs "array '$name'" bpk cmp --tolerance 1e-5 $a $b
        done
    done
    differs 'shape 5000,3 is 4000,3' bpk cmp --name "$name" a.npz c.npz
    differs 'type <i8 is <i4' bpk cmp --name "${name/position/id}" a.npz c.npz
    refuses 1 "has no array 'none'" bpk cmp --name none a.npz b.npz
    refuses 1 'has no array' bpk cmp --name "${name/position/box}" a.npz c.npz
}

@test "cmp --no-defaults: an array that the second alone has is a difference" {
    need_numpy
    "$python" -c 'import gsd.fl' 2>/dev/null || skip "python3-gsd is not installed"
    "$python" - <<'END'
import gsd.fl, numpy as np
for name, frames in ("one", [0]), ("two", [0, 2]):
    f = gsd.fl.open(name, "wb", application="a", schema="s", schema_version=[1, 0])
    for n in range(3):
        if n in frames:
            f.write_chunk("x", np.arange(3, dtype="i4"))
        f.write_chunk("y", np.arange(n, dtype="i4"))
        f.end_frame()
    f.close()
END
    quietly bpk cmp --name x --no-defaults two two
    differs '1 arrays are 2' bpk cmp --name x --no-defaults one two
    differs 'missing in one' bpk cmp --name x --no-defaults two one
}

# Frames whose chunks differ in size do not record the places of their raw bytes.
@test "cmp finds a difference in an archive that was empty and then got several chunks" {
    data field-f32 2500000 a
    data noise 2500000 b
    : >empty
    for name in x.blp x.b2frame x.b2s x.blpd; do
        bpk pack -q -o $name empty
        bpk append -q $name a
        quietly bpk cmp $name a
        for other in b empty; do
            ends 5 bpk cmp $name $other
            ends 5 bpk cmp $other $name
        done
    done
}
