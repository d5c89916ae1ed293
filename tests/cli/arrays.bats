load lib

# Small simulation files of every kind, as other programs write them.
seeds=$(cd "$BATS_TEST_DIRNAME/../fuzz/corpus/layout" && pwd)

seed() { cp "$seeds/$1" . && chmod 644 "$1"; }

# ATOMS FRAMES: t.dcd, in which everything of a kind and a frame is one number.
make_dcd() {
    "$python" -c 'import struct, sys
def record(b): return struct.pack("<i", len(b)) + b + struct.pack("<i", len(b))
n, frames = map(int, sys.argv[1:])
ic = [0] * 20; ic[0] = frames; ic[2] = 1; ic[19] = 24
with open("t.dcd", "wb") as f:
    f.write(record(b"CORD" + struct.pack("<20i", *ic)))
    f.write(record(struct.pack("<i", 1) + b"t".ljust(80)) + record(struct.pack("<i", n)))
    for i in range(frames):
        for k in range(3): f.write(record(struct.pack("<f", i * 3 + k) * n))' "$@"
}

# FILE NAME [OPTION]...: the numbers of an array, as od prints type $type.
numbers() { bpk cat --name "$2" "${@:3}" "$1" | od -A n -v -t "$type" --endian="${order:-little}" | tr -s ' \n' ' '; }

# FILE EXPECTED NAME [OPTION]...: raw, and packed in every format.
shows() {
    local expected=$2 format archive
    [ "$(numbers "$1" "${@:3}")" = "$expected" ] || die "$1: $(numbers "$1" "${@:3}")"
    for format in "${editable[@]}"; do
        make_archive $format "$1" -z 64 -t 1
        [ "$(numbers "$archive" "${@:3}")" = "$expected" ] || die "$archive: $(numbers "$archive" "${@:3}")"
    done
}

@test "arrays are read by name out of files and out of archives of them" {
    for file in npy-f8 npz-two wav-16 fits-f4 dcd-2 trr-2 cdf-1 gsd-2; do seed $file; done
    type=f8 shows npy-f8 ' 0 1 2 3 4 5 ' data
    type=d4 shows npz-two ' 0 1 2 3 ' x
    type=f4 order=big shows fits-f4 ' 0 1 2 3 4 5 ' hdu0
    type=f4 shows dcd-2 ' 0 2 1 2 ' z
    type=f4 shows dcd-2 ' 1 2 ' z --frames -1:
    type=f4 order=big shows trr-2 ' 0 1 2 3 4 5 0 1 2 3 4 5 ' x
    type=f4 order=big shows cdf-1 ' 4 5 6 ' x --frames 1:2
    type=d2 order=big shows cdf-1 ' 7 8 9 ' u
    type=f4 shows gsd-2 ' 0 1 2 3 4 5 1 1 1 1 1 1 ' particles/position
    type=u2 shows wav-16 "$(tail -c 40 wav-16 | od -A n -v -t u2 --endian=little | tr -s ' \n' ' ')" data
}

@test "what the schema says stands for an array that a frame lacks" {
    seed gsd-2
    type=u4 shows gsd-2 ' 2 2 ' particles/N
    type=u4 shows gsd-2 ' 2 ' particles/N --no-defaults
    type=u8 shows gsd-2 ' 5 ' configuration/step --frames 1:2
    type=f4 shows gsd-2 ' 1 1 ' particles/mass --frames 1:
    refuses 1 "has no array 'particles/mass'" bpk cat --name particles/mass --no-defaults gsd-2
    refuses 1 "has no array 'log/energy'" bpk cat --name log/energy gsd-2
}

@test "what cannot be meant is refused" {
    seed gsd-2
    seed npy-f8
    data text 20000 text
    bpk pack -q text gsd-2
    refuses 1 "has no array 'position', did you mean 'particles/position'" bpk cat --name position gsd-2
    refuses 1 "has no array 'position'" bpk cat --name position gsd-2.blp
    refuses 1 "has no array 'particles/positon', did you mean 'particles/position'" \
        bpk unpack --name particles/positon -o x.npy gsd-2
    refuses 1 "has no frames" bpk cat --name data --frames 0:1 npy-f8
    refuses 1 "has no array 'particles/foo'; it has particles/N, particles/position, configuration/step$" bpk cat --name particles/foo gsd-2
    refuses 1 "in these frames; it has 2 frames$" bpk cat --name particles/N --frames 5:9 gsd-2
    refuses 1 "holds no arrays that bpk knows" bpk cat --name data text.blp
    refuses 1 "holds no arrays that bpk knows" bpk cat --name data text
    refuses 1 "through a pipe" bpk cat --name particles/N - < <(cat gsd-2.blp)
    refuses 64 "--frames needs --name" bpk cat --frames 0:1 gsd-2.blp
    refuses 64 "--no-defaults needs --name" bpk unpack --no-defaults gsd-2.blp
    refuses 64 "only one of --name and --bytes" bpk cat --name data --bytes 0:1 gsd-2.blp
    refuses 64 "only one of --name and --rm" bpk unpack --name data --rm -o x.npy gsd-2.blp
    refuses 64 "--name needs --output" bpk unpack --name particles/N gsd-2.blp
    refuses 64 "--name: can be given only once" bpk cat --name data --name other gsd-2.blp
    refuses 1 "bytes that --max-output allows" bpk unpack --name particles/position --max-output 24 -o x.npy gsd-2
    refuses 1 "not an archive in a format" bpk info text
}

@test "damage on the way to an array is damage" {
    need_python
    make_dcd 100 4
    bpk pack -q -z 512 -t 1 --filter none t.dcd
    bpk info -vv t.dcd.blp | awk '$1 == 7 && NF > 8 { print $2 }' >offset
    printf 'xxxx' | dd of=t.dcd.blp bs=1 seek=$(($(cat offset) + 20)) conv=notrunc status=none
    refuses 2 "chunk 7" bpk cat --name x --frames 3: t.dcd.blp
    quietly bpk cat --name x --frames 0:2 t.dcd.blp
    refuses 2 "chunk 7" bpk unpack --name x -o x.npy t.dcd.blp
    quietly bpk info -v t.dcd.blp
}

@test "info tells what is inside, of files and of archives" {
    need_python
    seed gsd-2
    bpk pack -q -F b2frame gsd-2
    bpk info gsd-2 | grep -q 'gsd-2$' || die "no line"
    for file in gsd-2 gsd-2.b2frame; do
        bpk info -v $file >text
        grep -q 'content  *gsd, 2.0$' text && grep -q 'schema  *hoomd 1.4$' text || die "$(cat text)"
        grep -qE '^ +2 +48 B +<f4 +2 x 3 +([a-z]+ *[0-9]* +|- +)?particles/position$' text || die "$(cat text)"
        bpk info --json -vv $file >record
        [ "$(json record 'x["content"], x["nframes"], x["last_step"], x["narrays"]')" = "('gsd', 2, 5, 4)" ]
        [ "$(json record '[a["name"] for a in x["names"]][:2]')" = "['particles/N', 'particles/position']" ] ||
            die "$(json record 'x["names"]')"
        [ "$(json record '[(a["frame"], a["step"]) for a in x["arrays"] if a["shape"] == [2, 3]]')" = "[(0, 5), (1, 5)]" ]
    done
    bpk info --json gsd-2 >record
    [ "$(json record 'x["codec"], x["filter"], x["typesize"], x["block_size"]')" = "(None, None, None, None)" ]
    data text 20000 text
    bpk pack -q text
    bpk info --json text.blp >record
    [ "$(json record 'x["content"]')" = None ]
}

@test "unpack --name writes what NumPy loads" {
    need_numpy
    for file in npy-f8 npy-f npy-rec gsd-2 cdf-1; do seed $file; done
    loads() { # FILE EXPRESSION-OVER-a
        "$python" -c 'import sys, numpy as np
a = np.load(sys.argv[1]); assert eval(sys.argv[2]), (a if hasattr(a, "dtype") else dict(a))' "$@"
    }
    bpk pack -q gsd-2 npy-f npy-rec
    for source in gsd-2 gsd-2.blp; do
        quietly bpk unpack -f --name particles/position -o x.npy $source
        loads x.npy 'a.shape == (2, 2, 3) and a.dtype == "<f4" and (a[1] == 1).all() and a[0, 1, 2] == 5'
        quietly bpk unpack -f --name particles/position --frames 1: -o x.npz $source
        loads x.npz 'a.files == ["1"] and (a["1"] == np.ones((2, 3))).all()'
        bpk unpack -c --name particles/N $source >c.npy
        loads c.npy 'a.tolist() == [[2], [2]]'
    done
    quietly bpk unpack --name data -o f.npy npy-f.blp
    loads f.npy 'a.flags.f_contiguous and a.dtype == ">u2" and a.tolist() == [[0, 1, 2], [3, 4, 5]]'
    quietly bpk unpack --name data -o rec.npy npy-rec.blp
    same rec.npy npy-rec
    quietly bpk unpack --name x -o cdf.npy cdf-1
    loads cdf.npy 'a.tolist() == [[1, 2, 3], [4, 5, 6]] and a.dtype == ">f4"'
    refuses 1 "Is a directory|exists" bpk unpack --name x -o cdf.npy cdf-1
}

@test "an array that all frames share is there in each that is asked for" {
    need_numpy
    seed cdf-1
    quietly bpk unpack --name u -o one.npy cdf-1
    quietly bpk unpack --name u --frames 0:2 -o two.npy cdf-1
    quietly bpk unpack --name u --frames 0:2 -o two.npz cdf-1
    "$python" -c 'import numpy as np
u = [7, 8, 9]
assert np.load("one.npy").tolist() == u and np.load("two.npy").tolist() == [u, u]
a = np.load("two.npz"); assert [(k, a[k].tolist()) for k in a.files] == [("0", u), ("1", u)]'
}

@test "the first frame that lacks an array is named, be it the first of all" {
    need_numpy
    "$python" -c 'import gsd.fl' 2>/dev/null || skip "python3-gsd is not installed"
    "$python" -c 'import gsd.fl, numpy as np
f = gsd.fl.open("g", "wb", application="a", schema="s", schema_version=[1, 0])
for n in range(4): f.write_chunk("xy"[n % 2], np.arange(3, dtype="i4")); f.end_frame()
f.close()'
    refuses 1 "frame 0 has no array 'y', --no-defaults" bpk cat --name y g
    refuses 1 "frame 2 has no array 'y', --no-defaults" bpk cat --name y --frames 1: g
    refuses 1 "has no array 'y' in these frames" bpk cat --name y --frames 2:3 g
    type=d4 shows g ' 0 1 2 0 1 2 ' y --no-defaults
}

@test "shapes that differ between frames take an .npz" {
    need_numpy
    "$python" -c 'import gsd.fl' 2>/dev/null || skip "python3-gsd is not installed"
    "$python" -c 'import gsd.fl, numpy as np
f = gsd.fl.open("g", "wb", application="a", schema="s", schema_version=[1, 0])
for n in 1, 2, 3: f.write_chunk("x", np.arange(n, dtype="i4")); f.end_frame()
f.close()'
    refuses 1 "it takes an .npz" bpk unpack --name x -o x.npy g
    quietly bpk unpack --name x -o x.npz g
    "$python" -c 'import numpy as np
a = np.load("x.npz"); assert [a[k].tolist() for k in a.files] == [[0], [0, 1], [0, 1, 2]]'
}

# FILE: every array that its own readers find comes out of it, and out of archives of it.
read_by_others() {
    local sum status=0
    rm -f x.blp x.b2frame
    bpk pack -q -o x.blp "$1"
    bpk pack -q -F b2frame -o x.b2frame "$1"
    sum=$("$python" "$tests/lib/layout_oracle.py" "$BPK" "$1" "$1" x.blp x.b2frame 2>"$err") || status=$?
    [ "$status" -ne 77 ] || skip "$(tail -n 1 "$err")"
    [ "$status" -eq 0 ] || die "$(tail -n 3 "$err")"
    echo "# $(basename "$1"): $sum, as its own readers find them" >&3
}

@test "GSD files of others: every array as python3-gsd reads it" {
    need_fixtures gsd
    need_numpy
    for file in "$BPK_FIXTURES"/gsd/*.gsd; do read_by_others "$file"; done
}

@test "samples of every kind: every array as other readers find it" {
    need_samples
    need_numpy
    for file in "$BPK_SAMPLES"/*.{gsd,dcd,trr,ncdf,npy}; do
        [ ! -f "$file" ] || read_by_others "$file"
    done
}

# FILE: frames as gsd.hoomd gives them, the schema's defaults for absent arrays included.
resolved() {
    local name frame sum found
    rm -f x.blp
    bpk pack -q -o x.blp "$1"
    "$python" "$tests/lib/gsd_oracle.py" --resolved "$1" >expected || skip "python3-gsd is not installed"
    right=0
    while IFS=$'\t' read -r name frame _ _ sum; do
        sampled 5 || continue
        right=$((right + 1))
        found=$(bpk cat --name "$name" --frames "$frame:$((frame + 1))" x.blp | sha256sum)
        [ "${found%% *}" = "$sum" ] || die "$1: $name of frame $frame differs"
    done <expected
    echo "# $right of $(wc -l <expected) values tried of $(basename "$1")" >&3
}

@test "hoomd's trajectories: every frame as gsd.hoomd gives it" {
    need_fixtures gsd
    need_numpy
    light && skip "a slow build"
    resolved "$BPK_FIXTURES/gsd/traj.gsd"
    for file in "${BPK_SAMPLES:-none}"/*.gsd; do [ ! -f "$file" ] || resolved "$file"; done
}

@test "one frame of a large packed trajectory costs its chunks" {
    need_strace
    need_plain_build
    need_python
    make_dcd 20000 400
    bpk pack -q -z 256K --codec lz4 --filter none -t 4 t.dcd
    strace -f -qq -o trace -e trace=read,pread64,preadv,mmap "$BPK" cat --name y --frames 200:201 t.dcd.blp >y
    [ "$(od -A n -t f4 -N 4 y | tr -d ' ')" = 601 ] && [ "$(stat -c %s y)" = 80000 ]
    bytes=$(awk '/read/ && / = [0-9]+$/ { sum += $NF } END { print sum }' trace)
    # the head's chunk, that of the frame, libraries, the table of offsets
    [ "$bytes" -lt 1000000 ] || die "$bytes bytes were read"
    [ "$(stat -c %s t.dcd)" -gt 90000000 ]
}

@test "Python objects are a pickle, which nobody gets for an array" {
    need_python
    "$python" -c '
import zipfile
def npy(descr):
    text = "{\"descr\": %s, \"fortran_order\": False, \"shape\": (1,), }\n" % descr
    text = text.replace("\"", chr(39))
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode() + b"pickle--"
open("o.npy", "wb").write(npy("\"|O\""))
open("r.npy", "wb").write(npy("[(\"a\", \"|O\"), (\"b\", \"<i4\")]"))
with zipfile.ZipFile("z.npz", "w") as z:
    z.writestr("o.npy", npy("\"|O\""))
    z.writestr("n.npy", npy("\"<i8\""))'
    for file in o.npy r.npy z.npz; do
        name=data
        [ $file != z.npz ] || name=o
        bpk pack -q -o p.blp $file
        for from in $file p.blp; do
            refuses 1 "'$name' holds Python objects as a pickle" bpk cat --name $name $from
            refuses 1 "'$name' holds Python objects as a pickle" bpk unpack --name $name -o x.npy $from
        done
        quietly bpk unpack -f -o back p.blp
        same back $file
        rm p.blp back
    done
    refuses 1 "holds Python objects as a pickle" bpk cat --slice 0 o.npy
    quietly bpk cat --name n z.npz
    [ "$(cat "$out")" = pickle-- ]
}
