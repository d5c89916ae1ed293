load lib

# The bytes A up to B of file $1, A and B counted from its start.
piece() { tail -c +$(($2 + 1)) "$1" | head -c $(($3 - $2)); }

@test "cat writes all, or any range as Python would slice it" {
    data records 100000 a
    bpk pack -z 9999 -t 1 a
    bpk cat a.blp | cmp - a
    while read -r range start end; do
        bpk cat --bytes "$range" a.blp >"$out"
        piece a "$start" "$end" | cmp - "$out" || die "range $range"
        bpk cat --no-check "--bytes=$range" a.blp | cmp - "$out" || die "range $range, no check"
        bpk cat --bytes "$range" - <a.blp | cmp - "$out" || die "range $range of standard input"
        cat a.blp | bpk cat --bytes "$range" | cmp - "$out" || die "range $range of a pipe"
    done <<'END'
: 0 100000
0: 0 100000
:100000 0 100000
0:1 0 1
99999: 99999 100000
9998:10000 9998 10000
9999:19998 9999 19998
9998:19999 9998 19999
5000:5000 0 0
7000:6000 0 0
100000: 0 0
12345:67890 12345 67890
-1: 99999 100000
-100: 99900 100000
:-1 0 99999
-30000:-20000 70000 80000
-20000:-30000 0 0
1000:-1000 1000 99000
-200000:10 0 10
99990:200000 99990 100000
200000:300000 0 0
1K:2K 1024 2048
0:1T 0 100000
END
}

@test "cat --items counts in elements" {
    data field-f64 80000 a
    bpk pack -z 4000 -t 8 a
    while read -r items start end; do
        bpk cat --items "$items" a.blp >"$out"
        piece a "$start" "$end" | cmp - "$out" || die "items $items"
    done <<'END'
0:1 0 8
499:501 3992 4008
-1: 79992 80000
-10:-5 79920 79960
: 0 80000
9999:20000 79992 80000
END
}

@test "cat --items believes no typesize that the chunks contradict" {
    data field-f32 40000 a
    bpk pack -t 4 a
    printf '\010' | dd of=a.blp bs=1 seek=7 conv=notrunc status=none
    refuses 1 '^bpk: a.blp: header says items of 8 bytes, the first chunk 4' bpk cat --items 0:1 a.blp
    bpk cat --bytes 0:100 a.blp | cmp - <(head -c 100 a)
}

@test "cat of a range works where offsets are missing or sizes are not known" {
    data records 100000 a
    bpk pack -z 9999 -t 1 --no-offsets a
    cat a | bpk pack -z 9999 -t 1 2>/dev/null | cat >stream.blp
    for archive in a.blp stream.blp; do
        bpk cat --bytes 20000:40000 $archive >"$out"
        piece a 20000 40000 | cmp - "$out"
        cat $archive | bpk cat --bytes 20000:40000 >"$out"
        piece a 20000 40000 | cmp - "$out"
        bpk cat --bytes -5: $archive >"$out"
        piece a 99995 100000 | cmp - "$out"
    done
}

@test "cat reads and checks only the chunks that it touches" {
    data records 100000 a
    bpk pack -z 10000 -t 1 --codec zlib a
    printf XX | dd of=a.blp bs=1 seek=$(($(stat -c %s a.blp) - 12)) conv=notrunc status=none
    bpk cat --bytes 0:90000 a.blp >"$out"
    piece a 0 90000 | cmp - "$out"
    refuses 2 '^bpk: a.blp: chunk 9 ' bpk cat --bytes 0:90001 a.blp
    refuses 2 '^bpk: a.blp: chunk 9 ' bpk cat a.blp
}

@test "cat of one MiB out of a large archive reads a few chunks' worth" {
    need_strace
    need_plain_build
    # thousands of chunks of zeros, and a MiB of other bytes
    truncate -s 1500M big
    data field-f64 1048576 island
    dd if=island of=big bs=1M seek=1000 conv=notrunc status=none
    bpk pack --codec lz4 -z 256K -t 8 -o big.blp big
    rm big
    strace -f -o trace -e trace=read,pread64,preadv,readv,mmap "$BPK" cat \
        --bytes 1000M:1001M big.blp >"$out"
    same "$out" island
    bytes=$(grep -F "big.blp" -q trace; awk '/read|pread64/ && / = [0-9]+$/ { sum += $NF }
        END { print sum + 0 }' trace)
    [ "$bytes" -lt $((3 * 1048576)) ] || die "read $bytes bytes"
    bpk cat --bytes 1000M:1001M big.blp -T 1 | cmp - island
}

@test "cat of a range of one large chunk decodes only the blocks it needs, unchecked" {
    need_strace
    need_plain_build
    data noise 4000000 a
    data field-f64 28000000 b
    cat b a b >all
    bpk pack -z 64M --block-size 256K -t 8 --codec lz4 -o all.blp all
    strace -f -o trace -e trace=read,pread64 "$BPK" cat --no-check --bytes 30000000:30001000 \
        all.blp >"$out"
    tail -c +30000001 all | head -c 1000 | cmp - "$out"
    bytes=$(awk '/ = [0-9]+$/ { sum += $NF } END { print sum + 0 }' trace)
    [ "$bytes" -lt 2000000 ] || die "read $bytes bytes"
}

@test "cat of many small chunks reads them together, also beside another thread" {
    need_strace
    need_plain_build
    data field-f32 2000000 a
    for format in blp b2frame; do
        bpk pack -f --no-sync -z 32 -F $format -o x a
        sleep 0.2 # until its times can tell of a change
        for threads in 1 2; do
            strace -f -o trace -e trace=pread64 "$BPK" cat -T $threads --bytes 500000:1500000 x >"$out"
            tail -c +500001 a | head -c 1000000 | cmp - "$out"
            reads=$(grep -c pread64 trace)
            # 31250 chunks
            [ "$reads" -lt 3000 ] || die "$format, $threads threads: $reads reads"
        done
    done
}

@test "cat of a file just written, without offsets: the test for changes is one walk, too" {
    need_strace
    need_plain_build
    data noise 30000 a
    bpk pack --no-sync -z 5 -t 5 --codec lz4 --no-offsets -o x a
    touch x
    strace -f -o trace -e trace=pread64 "$BPK" cat x >"$out"
    same a "$out"
    reads=$(grep -c pread64 trace)
    # of 6000 chunks
    [ "$reads" -lt 60000 ] || die "$reads reads"
}

@test "cat takes several files one after the other" {
    data text 5000 a
    data text 7000 b
    bpk pack a b
    bpk cat a.blp b.blp >"$out"
    cat a b | cmp - "$out"
}

@test "cat: wrong ranges are wrong usage" {
    data text 5000 a
    bpk pack a
    for range in 5 a:b 1:2:3 "" 1.5:2 99999999999999999999: --5:; do
        refuses 64 "^bpk: .*bytes" bpk cat --bytes "$range" a.blp
    done
    refuses 64 "" bpk cat --bytes 0:1 --items 0:1 a.blp
}

@test "cat: an empty archive" {
    : >a
    bpk pack a
    for range in : 0: :5 -5: 1:; do
        quietly bpk cat --bytes $range a.blp
        [ ! -s "$out" ]
    done
}

# System calls can be counted, of files whose times tell that they were not changed.
need_timely_calls() {
    need_strace
    need_plain_build
    case $(stat -f -c %T .) in
    ext2/ext3 | xfs | btrfs | tmpfs) ;;
    *) skip "on this file system times do not tell whether a file was changed" ;;
    esac
}

@test "cat of a range of small chunks reads many of them at once" {
    need_timely_calls
    data noise 1000000 a
    for format in blp b2frame; do
        bpk pack -z 32 -F $format -o x a
        sleep 0.3 # younger files are read under locks
        for range in 0:100000 777777:877777 -100001:-1; do
            strace -f -qq -o trace "$BPK" cat -T 1 --bytes=$range x >"$out"
            bpk cat -T 3 --bytes=$range x | cmp - "$out"
            calls=$(grep -c '(' trace)
            [ "$calls" -lt 400 ] || die "$format: $calls calls for 3126 chunks"
        done
        bpk cat -T 3 x | cmp - a
        rm x
    done
}

@test "a chunk of an archive that is left alone takes four system calls" {
    need_timely_calls
    data field-f32 33554432 a
    for format in blp b2frame; do
        bpk pack -z 64K -F $format -o x a
        sleep 0.3 # younger files are read under locks
        strace -f -qq -o trace "$BPK" unpack --no-sync -f -T 1 -o b x
        cmp a b
        # a slow run pauses its lock more often
        calls=$(grep '(' trace | grep -vc 'fcntl(')
        [ "$calls" -lt $((4 * 512 + 400)) ] || die "$format: $calls calls for 512 chunks"
        rm x
    done
}

# The difference of two archives, since opening one takes some hundred calls. 4 of a sparse frame:
# open, fstat, read, close; without digests fstat again, to see that nobody wrote to the file.
# A data file of a directory is opened once for its chunk and once for its audit.
@test "a chunk in a file of its own takes few system calls" {
    need_timely_calls
    data noise 6400000 200
    head -c 3200000 200 >100
    while read -r most options; do
        rm -rf x.100 x.200
        for count in 100 200; do
            # shellcheck disable=SC2086 # words
            bpk pack -q -0 -z 32000 $options -o x.$count $count
        done
        sleep 0.3
        for command in "verify -q" cat "unpack -q --no-sync -f -o b"; do
            for count in 100 200; do
                # shellcheck disable=SC2086 # words
                strace -f -qq -o trace.$count "$BPK" $command -T 1 x.$count >"$out"
            done
            more=$(($(grep -c '(' trace.200) - $(grep -c '(' trace.100)))
            own=$((most + (${#command} != 9))) # verify writes nothing
            [ "$more" -le $((100 * own + 20)) ] ||
                die "$options, $command: $more calls for 100 more chunks, expected at most $own each"
        done
    done <<'ROWS'
4 -F b2sparse
5 -F b2sparse --checksum none
16 -F chunked --superchunk-size 32000
16 -F chunked --superchunk-size 32000 --checksum none
16 -F chunked --layout bcolz
ROWS
}

@test "cat: a range of a chunk that packs very well, without the rest of it" {
    head -c 48M /dev/zero | bpk pack -q -z 48M -t 1 --codec zstd -1 --filter none --block-size 1M -o z.blp -
    for option in "" --no-check; do
        # shellcheck disable=SC2086
        bpk cat $option --bytes 5:15 z.blp | cmp - <(head -c 10 /dev/zero)
        # shellcheck disable=SC2086
        bpk cat $option --bytes 47000000:47000010 z.blp | cmp - <(head -c 10 /dev/zero)
    done
}

@test "cat: a part of a frame whose digests are damaged is not taken on trust" {
    need_python
    data text 300000 raw
    bpk pack -q -F b2frame -z 20000 --codec lz4 -t 1 --filter none -o f raw
    "$python" -c 'b = bytearray(open("f", "rb").read())
b[b.rfind(b"bpkd") + 30] ^= 1
open("f", "wb").write(b)'
    ends 2 bpk cat --bytes 0:20000 f
    says "f: the head of the digests"
    ends 2 bpk cat --items 5:10 f
    bpk cat --no-check --bytes 0:20000 f | cmp - <(head -c 20000 raw)
}

@test "cat --text: rows of numbers that give the same values when they are read back" {
    need_numpy
    "$python" -c 'import numpy as np
r = np.random.default_rng(7)
bits = r.integers(0, 2**64, 3000, "u8")
np.savez("t.npz", f8=bits.view("f8"), f4=bits[:1000].view("f4").reshape(50, 40), bf8=bits.byteswap().view(">f8"),
    f2=np.arange(2**16, dtype="u2").view("f2"), i8=bits.view("i8").reshape(10, 20, 15), u8=bits.astype(">u8"),
    i1=np.arange(-128, 128, dtype="i1").reshape(16, 16), i2=r.integers(-2**15, 2**15, (7, 9)).astype(">i2"),
    b=r.integers(0, 2, (3, 5)).astype(bool), one=np.float64(0.1), none=np.zeros((0, 3)), c=np.array([1 + 2j, 3 - 4j], ">c8"),
    fort=np.asfortranarray(r.normal(size=(30, 4, 5))))'
    bpk pack -q -z 16K t.npz
    for f in t.npz t.npz.blp; do
        for name in f8 f4 bf8 f2 i8 u8 i1 i2 b one none c fort; do
            quietly bpk cat --text --name $name $f
            cp "$out" $name.txt
        done
        "$python" -c 'import numpy as np
z = np.load("t.npz")
for name in z:
    a = z[name]
    parse = float if a.dtype.kind in "fc" else int
    rows = [[parse(x) for x in line.split(" ")] for line in open(name + ".txt")]
    if a.dtype.kind == "c": a = a.view(a.real.dtype).reshape(-1, 2)
    b = a.reshape(-1, a.shape[-1] if a.ndim > 1 else 1)
    assert len(rows) == len(b), (name, len(rows), b.shape)
    for got, row in zip(rows, b):
        with np.errstate(over="ignore"): got = np.array(got, dtype=a.dtype if a.dtype.kind != "b" else int).astype(a.dtype)
        assert got.shape == row.shape and np.array_equal(got, row, equal_nan=a.dtype.kind == "f"), (name, got, row)' ||
            die "$f differs"
    done
    quietly bpk cat --text --name fort --slice 3:5,1,2: t.npz.blp
    "$python" -c 'import sys, numpy as np
a = np.load("t.npz")["fort"][3:5, 1, 2:]
assert np.array_equal(np.loadtxt(sys.argv[1]), a)' "$out"
}

@test "cat --text: formats, headers and frames" {
    cp "$tests"/fuzz/corpus/layout/{trr-2,npy-f8,npz-two,npy-rec} .
    quietly bpk cat --text --header --name x trr-2
    same "$out" <(printf '%s\n' '# x >f4 2x3 frame 0' '0 1 2' '3 4 5' '# x >f4 2x3 frame 1' '0 1 2' '3 4 5')
    quietly bpk cat --text --name x --frames 1: --slice :,1 trr-2
    same "$out" <(printf '%s\n' 1 4)
    quietly bpk cat --text --number-format %+07.2f npy-f8
    same "$out" <(printf '%s\n' '+000.00 +001.00 +002.00' '+003.00 +004.00 +005.00')
    quietly bpk cat --text --number-format %a npy-f8
    grep -qx '0x0p+0 0x1p+0 0x1p+1' "$out"
    data sorted-i64 4800 a
    bpk pack -q --dtype '>i2' --shape 60,40 -o a.b2nd a
    for options in '' '--items 35:1000' '--items -7:' '--slice 3:9,5:7' '--slice 3'; do
        # shellcheck disable=SC2086
        bpk cat $options a.b2nd | od -An -v -w2 -td2 --endian=big | tr -d ' ' >expected
        # shellcheck disable=SC2086
        quietly bpk cat --text $options a.b2nd
        tr ' ' '\n' <"$out" | same - expected
        # shellcheck disable=SC2086
        bpk cat --text --number-format %04x $options a.b2nd | tr ' ' '\n' >got
        # shellcheck disable=SC2086
        bpk cat $options a.b2nd | od -An -v -w2 -tx2 --endian=big | tr -d ' ' | same - got
        # shellcheck disable=SC2086
        quietly bpk cat --native $options a.b2nd
        od -An -v -w2 -td2 "$out" | tr -d ' ' | same - expected
    done
    quietly bpk cat --text --items 35:85 a.b2nd
    [ "$(awk '{ print NF }' "$out" | paste -sd,)" = 5,40,5 ]
    bpk cat a.b2nd | bpk pack -q --dtype '>i2' --shape 60,40 --stream-size 4800 | bpk cat --text | same - <(bpk cat --text a.b2nd)
    for format in %n %s %c %p %d%d '%d%n' '%*d' '%1$d' %lld %hhd '%d ' ' %d' % '' %600d %.600f %5.n %- %d%% %%; do
        refuses 64 "is not one conversion of a number" bpk cat --text --number-format "$format" npy-f8
    done
    refuses 64 "is for integers" bpk cat --text --number-format %d npy-f8
    refuses 64 "--number-format needs --text" bpk cat --number-format %g npy-f8
    refuses 64 "--header needs --text" bpk cat --header npy-f8
    refuses 64 "only one of --bytes and --text" bpk cat --text --bytes 1: npy-f8
    refuses 1 "holds 2 arrays, --text needs the --name of one" bpk cat --text npz-two
    refuses 1 "the array holds no numbers" bpk cat --text npy-rec
    bpk pack -q -f -o a.blp a
    refuses 1 "is not an array, as --text needs it" bpk cat --text a.blp
    refuses 1 "records no array, whose items --items could count; bpk pack --dtype records the type of data$" \
        bpk cat --text --items 0:2 a.blp
    refuses 1 "is not an array, as --native needs it" bpk cat --native a.blp
}

@test "cat --native: numbers in this machine's order" {
    need_numpy
    "$python" -c 'import numpy as np
np.savez("t.npz", a=np.arange(7, dtype=">f8"), b=np.arange(70000, dtype=">i2"), c=np.array([1 + 2j], ">c16"), u=np.array(["ab", "c"], ">U2"),
    s=np.array([b"abc"]), n=np.arange(5), l=np.arange(3).astype(">f16"), rec=np.zeros(3, [("a", "<i4"), ("b", "<f8")]),
    bad=np.zeros(3, [("a", ">i4")]))'
    for name in a b c u s n l rec; do
        quietly bpk cat --native --name $name t.npz
        cp "$out" $name.raw
    done
    "$python" -c 'import numpy as np
z = np.load("t.npz")
for name in set(z) - {"bad"}:
    a = z[name]
    assert a.astype(a.dtype.newbyteorder("=")).tobytes() == open(name + ".raw", "rb").read(), name'
    refuses 1 "structured items of another byte order" bpk cat --native --name bad t.npz
}

@test "cat --text writes what lies before damage, and ends with its reader" {
    need_python
    "$python" -c 'import array
array.array("d", [(i * 7919 % 100003) / 1000 for i in range(400000)]).tofile(open("a", "wb"))'
    bpk pack -q -z 64K --dtype '<f8' --shape 200000,2 -o a.blp a
    bpk cat --text a.blp >whole
    status=0
    { "$BPK" cat --text a.blp || echo $? >status; } | head -n 1 >"$out"
    [ "$(cat status)" -eq 141 ]
    refuses 1 "No space left" sh -c '"$1" cat --text a.blp >/dev/full' - "$BPK"
    printf 'xxxxxxxx' | dd of=a.blp bs=1 seek=$(($(wc -c <a.blp) / 2)) conv=notrunc status=none
    ends 2 bpk cat --text a.blp
    [ "$(wc -l <"$err")" -eq 1 ]
    lines=$(wc -l <"$out")
    [ "$lines" -gt 10000 ]
    head -n "$lines" whole | same - "$out"
}

@test "--frames and --items take an index, frames a step, in cat, unpack and cmp" {
    need_numpy
    "$python" -c 'import numpy as np
for i in range(9): np.save("x%d.npy" % i, np.arange(4, dtype="f4") + 10 * i)
a = np.array([np.load("x%d.npy" % i) for i in range(9)])
for part in "3", "-1", "-9", "::4", "1:9:3", "-3::2", "5:", ":20:7", "::1":
    sides = [int(n) if n else None for n in part.split(":")]
    np.atleast_2d(a[sides[0]] if len(sides) == 1 else a[slice(*sides)]).tofile("expected" + part)'
    for i in 0 1 2 3 4 5 6 7 8; do bpk append -q t.gsd --schema my x=x$i.npy; done
    quietly bpk pack -q t.gsd
    for file in t.gsd t.gsd.blp; do
        for expected in expected*; do
            bpk cat --name x --frames "${expected#expected}" $file | cmp - "$expected"
            bpk cat --name x --frames "${expected#expected}" --no-defaults $file | cmp - "$expected"
        done
        for index in 9 100 -10; do
            refuses 1 "^bpk: $file: frames $index: outside; there are 9$" bpk cat --name x --frames $index $file
        done
        refuses 1 "it has 9 frames" bpk cat --name x --frames 20:30 $file
        refuses 64 "'::-1': a step is a number from 1" bpk cat --name x --frames ::-1 $file
        refuses 64 "'x' is not a range, expected N, A:B or A:B:STEP" bpk cat --name x --frames x $file
    done
    quietly bpk unpack --name x --frames ::4 -o f.npy t.gsd.blp
    "$python" -c 'import numpy as np
assert (np.load("f.npy") == np.array([np.load("x%d.npy" % i) for i in (0, 4, 8)])).all()'
    bpk append -q u.gsd --schema my x=x0.npy
    bpk append -q u.gsd --schema my x=x2.npy
    bpk cmp --name x --frames ::2 t.gsd t.gsd.blp
    bpk cmp --name x --frames 0 t.gsd u.gsd
    status=0
    bpk cmp --name x --frames 1 t.gsd u.gsd >"$out" || status=$?
    [ "$status" -eq 5 ]

    data field-f32 4000 a
    quietly bpk pack -q -t 4 -z 1000 a
    for index in 0 17 999; do
        tail -c +$((4 * index + 1)) a | head -c 4 >item
        bpk cat --items $index a.blp | cmp - item
        bpk cat --items $((index - 1000)) a.blp | cmp - item
        bpk pack -q -t 4 <a | cat | bpk cat --items $index | cmp - item
    done
    refuses 1 "items 1000: outside; there are 1000$" bpk cat --items 1000 a.blp
    refuses 1 "items -1001: outside; there are 1000$" bpk cat --items -1001 a.blp
    bpk pack -q -t 4 <a | cat >piped
    refuses 1 "items 1000: outside; there are" bash -c 'cat piped | "$BPK" cat --items 1000'
    refuses 64 "'1:9:2': steps are not supported" bpk cat --items 1:9:2 a.blp
    refuses 64 "'3' is not a range" bpk cat --bytes 3 a.blp
}
