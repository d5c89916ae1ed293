load lib

# GSD files that bpk writes to. Where python gsd is there, it reads every one of them.



# Is there a python gsd? $python is one that has it.
has_gsd() {
    for python in "${PYTHON3:-python3}" python3 /usr/bin/python3; do
        "$python" -c 'import gsd.fl, numpy' 2>/dev/null && return
    done
    return 1
}
need_gsd() { has_gsd || skip "python3-gsd is not installed"; }

# NAME EXPRESSION...: NAME.npy, and so on.
npy() {
    while [ $# -gt 0 ]; do
        "$python" -c 'import sys, numpy as np; np.save(sys.argv[1] + ".npy", eval(sys.argv[2]))' "$1" "$2"
        shift 2
    done
}

# FILE EXPRESSION-OVER-f, a gsd.fl.GSDFile, and np.
in_gsd() {
    "$python" -c 'import sys, numpy as np, gsd.fl
with gsd.fl.open(sys.argv[1], "rb") as f: assert eval(sys.argv[2]), sys.argv[2]' "$@"
}

# FILE: append a frame by python gsd.
append_by_python() {
    "$python" -c 'import sys, numpy as np, gsd.fl
with gsd.fl.open(sys.argv[1], "rb+") as f:
    f.write_chunk("configuration/step", np.array([f.nframes * 10], "u8"))
    f.write_chunk("py/" + str(f.nframes % 3), np.arange(f.nframes, dtype="f8"))
    f.end_frame()' "$1"
}

sound() { quietly bpk verify "$1"; }

@test "a file is created, frame by frame" {
    need_gsd
    npy n 'np.uint32(4)' pos 'np.arange(12, dtype="f4").reshape(4, 3)'
    quietly bpk append t.gsd --schema hoomd --step 5 particles/N=n.npy particles/position=pos.npy
    quietly bpk append t.gsd --step 6
    quietly bpk append t.gsd --schema hoomd particles/position=- <pos.npy
    sound t.gsd
    in_gsd t.gsd 'f.nframes == 3 and f.schema == "hoomd" and f.schema_version == (1, 4)'
    in_gsd t.gsd 'f.gsd_version == (2, 0) and f.application.startswith("bpk ")'
    in_gsd t.gsd 'f.read_chunk(0, "configuration/step").tolist() == [5]'
    in_gsd t.gsd 'f.read_chunk(1, "configuration/step").tolist() == [6]'
    in_gsd t.gsd '(f.read_chunk(2, "particles/position") == np.load("pos.npy")).all()'
    in_gsd t.gsd 'not f.chunk_exists(1, "particles/N")'
    "$python" -c 'import gsd.hoomd
with gsd.hoomd.open("t.gsd", "rb") as t: assert [s.configuration.step for s in t] == [5, 6, 5] and t[1].particles.N == 4'
    bpk append --json t.gsd --step 9 >record
    [ "$(json record 'x["frame"], x["step"], x["nframes"], x["narrays"]')" = "(3, 9, 4, 6)" ] || die "$(cat record)"
}

@test "arrays of every type and order become what NumPy says they are" {
    need_gsd
    npy be 'np.arange(6, dtype=">f8").reshape(2, 3)' fo 'np.asfortranarray(np.arange(6, dtype=">i2").reshape(2, 3))' \
        none 'np.zeros((0, 5), "u1")' flat 'np.arange(5, dtype="i8")' one 'np.float32(2.5)' \
        big 'np.arange(300000, dtype=">u4").reshape(100000, 3)'
    quietly bpk append t.gsd --schema demo --schema-version 3.7 --application me be=be.npy fo=fo.npy none=none.npy \
        flat=flat.npy one=one.npy big=big.npy
    sound t.gsd
    in_gsd t.gsd 'f.schema_version == (3, 7) and f.application == "me"'
    for name in be fo none big flat; do
        in_gsd t.gsd "(f.read_chunk(0, '$name') == np.load('$name.npy')).all()"
        in_gsd t.gsd "f.read_chunk(0, '$name').shape == np.load('$name.npy').shape"
    done
    in_gsd t.gsd 'f.read_chunk(0, "be").dtype == "<f8" and f.read_chunk(0, "fo").dtype == "<i2"'
    in_gsd t.gsd 'f.read_chunk(0, "one").tolist() == [2.5]'
}

@test "bpk and python gsd append to one file in turns" {
    need_gsd
    npy x 'np.arange(7, dtype="f4")'
    "$python" -c 'import gsd.fl
gsd.fl.open("t.gsd", "wb", application="py", schema="demo", schema_version=(1, 2)).close()'
    for round in 1 2 3 4 5 6; do
        for i in $(seq $((round * 3))); do
            bpk append t.gsd --step $((round * 100 + i)) x=x.npy "only/$round=x.npy" || return
        done
        sound t.gsd
        for i in $(seq $((round * 2))); do append_by_python t.gsd; done
        sound t.gsd
        in_gsd t.gsd "f.nframes == $((5 * round * (round + 1) / 2))"
    done
    in_gsd t.gsd 'all((f.read_chunk(i, "x") == np.load("x.npy")).all() for i in range(f.nframes) if f.chunk_exists(i, "x"))'
    in_gsd t.gsd 'sum(f.chunk_exists(i, "x") for i in range(f.nframes)) == 63'
    in_gsd t.gsd 'all(len(f.read_chunk(i, f"py/{i % 3}")) == i for i in range(f.nframes) if not f.chunk_exists(i, "x"))'
    "$python" "$tests/lib/gsd_oracle.py" t.gsd | cut -f 1,2,5 | sort >theirs
    bpk info --json -vv t.gsd >record
    json record '"\n".join(a["name"] + "\t" + str(a["frame"]) for a in x["arrays"])' | sort >ours
    cut -f 1,2 theirs | sort | same ours /dev/stdin
}

@test "truncate keeps the first frames" {
    need_gsd
    npy x 'np.arange(1000, dtype="f8")'
    for i in $(seq 0 9); do bpk append t.gsd --schema demo --step "$i" x=x.npy y=x.npy || return; done
    cp t.gsd whole
    quietly bpk truncate t.gsd --frames 10
    same t.gsd whole
    quietly bpk truncate t.gsd --frames -3
    sound t.gsd
    in_gsd t.gsd 'f.nframes == 7 and f.read_chunk(6, "configuration/step")[0] == 6'
    [ "$(stat -c %s t.gsd)" -lt $(($(stat -c %s whole) - 40000)) ] || die "$(stat -c %s t.gsd whole)"
    bpk truncate -v t.gsd --frames 2 2>&1 | grep -q 'from 7 to 2 frames'
    append_by_python t.gsd
    sound t.gsd
    in_gsd t.gsd 'f.nframes == 3 and (f.read_chunk(1, "y") == np.load("x.npy")).all()'
    quietly bpk truncate t.gsd --frames 0
    in_gsd t.gsd 'f.nframes == 0'
    quietly bpk append t.gsd y=x.npy
    in_gsd t.gsd 'f.nframes == 1'
    sound t.gsd
    refuses 1 "2 frames cannot be kept, there are 1" bpk truncate t.gsd --frames 2
    refuses 1 "-2 frames cannot be kept, there are 1" bpk truncate t.gsd --frames -2
}

@test "an entry of the index that leads into another's data is never built on" {
    need_numpy
    npy x 'np.arange(10, dtype="f8")'
    for i in 0 1 2; do bpk append t.gsd --schema demo --step "$i" x=x.npy; done
    bpk pack t.gsd -o whole.blp
    # entry 3, of frame 1: 8 bytes into the data of entry 1
    "$python" -c 'import struct
f = open("t.gsd", "r+b"); h = f.read(64); at, = struct.unpack_from("<Q", h, 8)
f.seek(at + 32 + 16); to, = struct.unpack("<Q", f.read(8))
f.seek(at + 3 * 32 + 16); f.write(struct.pack("<Q", to + 8))'
    cp t.gsd more.gsd
    bpk pack t.gsd -o held.blp
    for command in "verify t.gsd" "append t.gsd x=x.npy" "truncate t.gsd --frames 3" "truncate t.gsd --frames 2" \
        "append held.blp t.gsd"; do
        # shellcheck disable=SC2086 # words
        refuses 2 "data of the entries 1 and 3 of the index overlap at" bpk $command
    done
    refuses 2 "overlap" bpk append whole.blp more.gsd
    quietly bpk truncate t.gsd --frames 1
    sound t.gsd
    quietly bpk append t.gsd x=x.npy
    sound t.gsd
}

@test "a torn last frame is found and cut off" {
    need_numpy
    npy x 'np.arange(10, dtype="f8")'
    for i in 0 1 2; do bpk append t.gsd --schema demo --step "$i" x=x.npy; done
    "$python" -c 'import struct
f = open("t.gsd", "r+b"); h = f.read(64); at, = struct.unpack_from("<Q", h, 8)
f.seek(at + 6 * 32); f.write(struct.pack("<QQ", 3, 1))'
    cp t.gsd torn
    refuses 2 "frame 3 is torn: entry 6 of the index is written in part; bpk truncate --frames 3 t.gsd cuts off that frame and all behind it, bpk repair t.gsd shows its arrays that are left" \
        bpk verify t.gsd
    bpk cat --name x t.gsd 2>"$err" | cmp - <(bpk cat --name x --frames :3 t.gsd 2>/dev/null)
    says '^bpk: t.gsd: entry 6 of the index is written in part$'
    refuses 2 "written in part; bpk verify t.gsd says more" bpk append t.gsd x=x.npy
    bpk verify --json t.gsd >record 2>/dev/null && return 1
    [ "$(json record 'x["status"], x["sound_frames"], x["nframes"], x["format"]')" = "(2, 3, 3, 'gsd')" ]
    quietly bpk truncate t.gsd --frames 3
    sound t.gsd
    quietly bpk append t.gsd x=x.npy
    sound t.gsd
    [ "$(bpk cat --name x t.gsd --frames 3: | wc -c)" -eq 80 ]
    # half a frame
    "$python" -c 'import struct
f = open("torn", "r+b"); h = f.read(64); at, = struct.unpack_from("<Q", h, 8)
f.seek(at + 5 * 32 + 16); f.write(struct.pack("<Q", 1 << 40))
f.seek(at + 6 * 32); f.write(bytes(32))'
    refuses 2 "frame 2 is torn.*--frames 2" bpk verify torn
    refuses 2 "frame 2 is torn, so at most 2 frames can be kept" bpk truncate torn --frames 3
    quietly bpk truncate torn --frames 2
    sound torn
}

@test "a torn frame gets no default values" {
    need_numpy
    npy N 'np.array(1, dtype="u4")'
    npy p 'np.full((1, 3), 0.5, dtype="f4")'
    bpk append t.gsd --step 0 --schema hoomd particles/position=p.npy particles/N=N.npy
    for i in 1 2; do
        npy p "np.full((1, 3), $i + 0.5, dtype=\"f4\")"
        bpk append t.gsd --step "$i" particles/position=p.npy
    done
    truncate -s -1 t.gsd
    refuses 2 'frame 2 is torn' bpk verify t.gsd
    ends 2 bpk cat --text --name particles/position t.gsd
    says 'frame 2 is torn, and may have lost its own particles/position'
    [ "$(wc -l <"$out")" -eq 2 ]
    ends 2 bpk cat --name particles/position --frames 2:3 t.gsd
    quietly bpk truncate --frames 2 t.gsd
    [ "$(bpk cat --text --name particles/position t.gsd | wc -l)" -eq 2 ]
}

@test "a cut of a torn frame that is killed is undone, and no byte of the file is lost" {
    need_nth
    need_numpy
    local n status
    npy x 'np.arange(10, dtype="f8")'
    for i in 0 1 2; do bpk append was.gsd --schema demo --step "$i" x=x.npy; done
    # as by GSD's library, without an idle index block; the data of the last frame end behind the file
    "$python" -c 'import os, struct
f = open("was.gsd", "r+b"); h = f.read(64); at, = struct.unpack_from("<Q", h, 8)
f.seek(at + 5 * 32 + 16); f.write(struct.pack("<Q", os.path.getsize("was.gsd") - 16))
f.seek(176); f.write(bytes(80))'
    refuses 2 "frame 2 is torn.*--frames 2" bpk verify was.gsd
    for ((n = 1; n < 200; n++)); do
        cp was.gsd t.gsd
        status=0
        "$nth" -n "$n" -a after "$BPK" truncate t.gsd --frames 2 >"$out" 2>&1 || status=$?
        [ "$status" -ne 125 ] || skip "this machine does not let processes be traced"
        [ "$status" -ne 0 ] || break
        status=0
        bpk append t.gsd --step 7 x=x.npy >"$out" 2>&1 || status=$?
        if [ "$status" -eq 0 ]; then
            [ "$(bpk cat --name x t.gsd | wc -c)" -eq 240 ] || die "call $n: other frames"
            sound t.gsd
        else
            grep -q 'bpk verify t.gsd says more' "$out" || die "call $n: $(cat "$out")"
            cmp was.gsd t.gsd
            quietly bpk truncate t.gsd --frames 2
            sound t.gsd
        fi
    done
    [ "$n" -gt 5 ] && [ "$n" -lt 200 ]
}

@test "verify looks at what the library takes on trust" {
    need_numpy
    npy x 'np.arange(10, dtype="f8")'
    for i in 0 1; do bpk append t.gsd --schema demo --step "$i" x=x.npy; done
    damage() { # OFFSET-IN-INDEX FORMAT VALUE
        cp t.gsd d.gsd
        "$python" -c 'import struct, sys
f = open("d.gsd", "r+b"); h = f.read(64); at, = struct.unpack_from("<Q", h, 8)
f.seek(at + int(sys.argv[1])); f.write(struct.pack("<" + sys.argv[2], int(sys.argv[3])))' "$@"
    }
    damage 48 Q 5380
    refuses 2 "data of the entries 0 and 1 of the index overlap at 5380" bpk verify d.gsd
    damage 48 Q 4360
    refuses 2 "inside the file's tables" bpk verify d.gsd
    damage 96 Q 0
    refuses 2 "frame 0 after frame 1; bpk repair d.gsd shows" bpk verify d.gsd
    damage 124 H 0
    refuses 2 "has configuration/step twice" bpk verify d.gsd
    damage 40 Q 4611686018427387904
    refuses 2 "2.64 bytes or more" bpk verify d.gsd
    damage 208 Q 5 # GSD's library refuses the file
    refuses 2 "entry 4 of the index is zeros, and others follow; bpk repair d.gsd shows" bpk verify d.gsd
    damage 200 Q 5
    quietly bpk verify d.gsd
    bpk verify -v d.gsd | grep -q 'index has entries behind its end that are not zeros, the last is entry 6$'
    bpk verify -v t.gsd | grep -q 'ok; no checksum'
    mkdir deep && mv d.gsd deep && damage 40 Q 4611686018427387904 && mv d.gsd deep/e.gsd
    bpk verify -r deep >"$out" 2>"$err" && return 1
    says 'deep/e.gsd'
    [ "$(wc -l <"$err")" -eq 1 ]
}

@test "what cannot be a frame is refused, and the file stays" {
    need_numpy
    npy x 'np.arange(4, dtype="f4")' s 'np.array([b"a", b"b"])' u 'np.array(["a"])' c 'np.zeros(3, "c8")' \
        r 'np.zeros(2, [("a", "f4")])' d 'np.zeros((2, 2, 2))' b 'np.array([True])'
    refuses 1 "does not exist; a new file needs --schema" bpk append t.gsd x=x.npy
    refuses 1 "at most 63" bpk append t.gsd --schema "$(printf 'x%.0s' $(seq 64))" x=x.npy
    refuses 64 "NAME=FILE.npy" bpk append t.gsd --schema demo x.npy
    refuses 64 "needs --step N or an array" bpk append t.gsd --schema demo
    refuses 64 "cannot be '1'" bpk append t.gsd --schema demo --schema-version 1 x=x.npy
    bpk append t.gsd --schema demo --schema-version 1.2 x=x.npy
    for name in s u c r b; do refuses 1 "has elements of type" bpk append t.gsd "a=$name.npy"; done
    refuses 1 "has 3 dimensions" bpk append t.gsd a=d.npy
    refuses 64 "array 'a' is given twice" bpk append t.gsd a=x.npy a=x.npy
    refuses 64 "array 'configuration/step' is given twice" bpk append t.gsd --step 1 configuration/step=x.npy
    refuses 1 "schema 'demo', not 'hoomd'" bpk append t.gsd --schema hoomd a=x.npy
    refuses 1 "schema version 1.2, not 1.3" bpk append t.gsd --schema-version 1.3 a=x.npy
    refuses 1 "has application .*, not .me.$" bpk append t.gsd --application me a=x.npy
    refuses 1 "no.npy: cannot open" bpk append t.gsd a=no.npy
    refuses 1 "is not an .npy file" bpk append t.gsd a=t.gsd
    "$python" -c 'import numpy as np; np.save("o.npy", np.array([None]), allow_pickle=True)'
    refuses 1 "Python's objects" bpk append t.gsd a=o.npy
    head -c 140 x.npy >cut.npy
    refuses 2 "16 bytes, 12 are there" bpk append t.gsd a=cut.npy
    refuses 64 "at once, without --follow" bpk append t.gsd --follow x.npy
    refuses 64 "read but once" bpk append t.gsd a=- b=- </dev/null
    refuses 64 "name --frames" bpk truncate t.gsd --bytes 5
    bpk pack -q x.npy
    refuses 64 "about frames of a GSD file" bpk append x.npy.blp --step 4 x.npy
    refuses 1 "not a raw GSD file" bpk truncate x.npy.blp --frames 1
    "$python" -c 'b = bytearray(open("t.gsd", "rb").read()); b[44:48] = bytes([0, 0, 1, 0]); open("old.gsd", "wb").write(b)'
    refuses 1 "GSD 1.0 is only read.*upgrade" bpk append old.gsd a=x.npy
    refuses 1 "GSD 1.0 is only read.*upgrade" bpk truncate old.gsd --frames 0
    "$python" -c 'b = open("t.gsd", "rb").read(); open("big.gsd", "wb").write(b[7::-1] + b[8:])'
    refuses 1 "big-endian GSD is not supported" bpk append big.gsd a=x.npy
    refuses 1 "big-endian GSD is not supported" bpk verify big.gsd
    sound t.gsd
}

@test "two writers are kept apart, readers are not in the way" {
    need_numpy
    npy x 'np.arange(4, dtype="f4")'
    bpk append t.gsd --schema demo x=x.npy
    for i in $(seq 20); do bpk append --wait t.gsd --step "$i" x=x.npy & done
    wait
    sound t.gsd
    bpk info --json t.gsd >record
    [ "$(json record 'x["nframes"]')" = 21 ]
}

# An append to many frames writes only the new one.
@test "an append costs what it adds" {
    need_strace
    need_plain_build
    need_numpy
    "$python" -c 'import struct
n = 200000
names = b"a\0" + bytes(62)
with open("t.gsd", "wb") as f:
    at = 256 + len(names); data = at; index = data + 8
    f.write(bytes.fromhex("df65df65df65df65") + struct.pack("<QQQQII", index, 2 * n, 256, 1, 0x10000, 0x20000) +
            b"x".ljust(64, b"\0") + b"demo".ljust(64, b"\0") + bytes(80))
    f.write(names + bytes(8))
    f.write(b"".join(struct.pack("<QQQIHBB", i, 0, data, 1, 0, 3, 0) for i in range(n)))
    f.write(bytes(32 * n))'
    npy x 'np.arange(4, dtype="f4")'
    bpk append t.gsd a=x.npy # its second index
    strace -f -qq -e trace=pwrite64,write -o log "$BPK" append -q t.gsd a=x.npy
    written=$(sed -nE 's/.*(pwrite64|write)\([0-9]+, .*= ([0-9]+)$/\2/p' log | awk '{ n += $1 } END { print n }')
    [ "$written" -lt 1000 ] || die "$(cat log)"
    sound t.gsd
}

# FILE FRAMES N MASS FIRST-STEP: a trajectory of hoomd's, whose later frames leave out arrays that equal the first frame's.
make_hoomd() {
    "$python" -c 'import sys, numpy as np, gsd.hoomd
path, n, rows, mass, first = sys.argv[1], *map(int, sys.argv[2:])
r = np.random.default_rng(first)
Frame = getattr(gsd.hoomd, "Frame", None) or gsd.hoomd.Snapshot
with gsd.hoomd.open(path, "wb") as t:
    for i in range(n):
        f = Frame()
        f.configuration.step, f.configuration.box = first + i, [rows, 1, 1, 0, 0, 0]
        f.particles.N, f.particles.types, f.particles.typeid = rows, [*map(str, range(mass))], [mass - 1] * rows
        f.particles.mass, f.particles.position = [mass] * rows, r.random((rows, 3), "f4")
        t.append(f)' "$@"
}

# Every frame of FILE... as gsd.hoomd gives it, numbered through.
resolved() {
    local file base=0 n
    for file in "$@"; do
        "$python" "$tests/lib/gsd_oracle.py" --resolved "$file" >one || return
        awk -F '\t' -v OFS='\t' -v base=$base '{ $2 += base; print }' one
        n=$(tail -n 1 one | cut -f 2)
        base=$((base + n + 1))
    done
}

@test "append joins trajectories frame by frame" {
    need_gsd
    make_hoomd a.gsd 3 5 1 0
    make_hoomd same.gsd 2 5 1 10
    make_hoomd mass.gsd 3 5 2 20
    make_hoomd more.gsd 2 300 3 30
    resolved a.gsd same.gsd mass.gsd more.gsd same.gsd >want
    for format in "${editable[@]}"; do
        make_archive $format a.gsd -z 4K
        quietly bpk append "$archive" same.gsd
        quietly bpk append "$archive" mass.gsd more.gsd
        quietly bpk append "$archive" same.gsd
        quietly bpk verify "$archive"
        bpk unpack -q -f -o u.gsd "$archive"
        sound u.gsd
        resolved u.gsd | same want /dev/stdin
        bpk info --json "$archive" >record
        [ "$(json record 'x["nframes"], x["last_step"]')" = "(12, 11)" ]
    done
    # equal arrays stay left out
    bpk pack -q -f -o s.blp a.gsd
    bpk append --json s.blp same.gsd >record
    [ "$(json record 'x["appended_frames"], x["nframes"]')" = "(2, 5)" ]
    bpk info --json -vv s.blp >record
    [ "$(json record 'sum(a["name"] == "particles/N" for a in x["arrays"])')" = 2 ] || die "$(cat record)"
    # without offsets frames cannot be looked up
    bpk pack -q -f --no-offsets -o n.blp a.gsd
    refuses 1 "n.blp: holds a GSD file, whose frames cannot be looked up without offsets" bpk append n.blp same.gsd
    quietly bpk append --bytes n.blp same.gsd
    # as bytes, when it is asked for
    make_archive blp a.gsd
    quietly bpk append --bytes "$archive" same.gsd
    holds a.gsd same.gsd
}

@test "gsd.hoomd opens what was joined, also where later files have no bonds" {
    need_gsd
    make_hoomd no.gsd 2 5 1 10
    "$python" -c 'import gsd.hoomd
s = (getattr(gsd.hoomd, "Frame", None) or gsd.hoomd.Snapshot)()
s.bonds.N, s.bonds.types, s.bonds.group = 1, ["b"], [[0, 1]]
with gsd.hoomd.open("bonds.gsd", "wb") as t: t.append(s)'
    make_archive blp bonds.gsd
    quietly bpk append "$archive" no.gsd
    bpk unpack -q -f -o u.gsd "$archive"
    "$python" -c 'import gsd.hoomd
with gsd.hoomd.open("u.gsd", "rb") as t:
    assert [list(s.bonds.types) for s in t] == [["b"], [], []] and [s.bonds.N for s in t] == [1, 0, 0]'
}

@test "what cannot be joined is refused, and the archive stays" {
    need_gsd
    make_hoomd a.gsd 2 5 1 0
    npy x 'np.arange(4, dtype="f4")'
    bpk append other.gsd --schema demo x=x.npy
    bpk pack -q a.gsd
    refuses 1 "other.gsd: has schema 'demo 1.0', the archive has 'hoomd 1.4'" bpk append a.gsd.blp other.gsd
    refuses 1 "only 1 of 2 inputs are named GSD files; --bytes appends" bpk append a.gsd.blp a.gsd x.npy
    cp a.gsd d.gsd
    printf x | dd of=d.gsd bs=1 conv=notrunc status=none
    refuses 1 "only 0 of 1 inputs are named GSD files" bpk append a.gsd.blp d.gsd
    refuses 1 "only 0 of 1 inputs are named GSD files" bash -c '"$BPK" append a.gsd.blp - <a.gsd'
    head -c -20 a.gsd >cut.gsd
    refuses 2 "cut.gsd: " bpk append a.gsd.blp cut.gsd
    quietly bpk verify a.gsd.blp
    bpk append one.gsd --schema my.one x=x.npy
    bpk append two.gsd --schema my.two x=x.npy
    bpk pack -q one.gsd other.gsd
    refuses 1 "two.gsd: has schema 'my.two 1.0', the archive has 'my.one 1.0'" bpk append one.gsd.blp two.gsd
    # version 0.0.1, in which any number of frames may be claimed
    "$python" -c 'import struct
def entry(frame, at): return struct.pack("<Q33sB6xQQQQQ", frame, b"x", 1, 1, 1, 0, at, 1 + 1 + 1 + at)
head = struct.pack("<I64sI64sI4xQQ64sI4x", 0x65df65df, b"t", 1, b"demo", 0x10000, 232, 2, bytes(64), 0xfd56fd56)
open("old.gsd", "wb").write(head + entry(0, 408) + entry(10**12, 409) + b"ab")'
    refuses 1 "old.gsd: claims 1000000000001 frames in 2 arrays" bpk append other.gsd.blp old.gsd
    make_archive blp a.gsd
    holds a.gsd
}

# Archives are rewritten for it only now and then.
@test "many joins fit in place" {
    need_gsd
    make_hoomd a.gsd 3 2000 1 0
    make_hoomd b.gsd 1 2000 1 9
    bpk pack -q -z 64K a.gsd
    for _ in $(seq 40); do bpk append -v a.gsd.blp b.gsd 2>>log || return; done
    [ "$(grep -c 'in place' log)" -ge 38 ] || die "$(cat log)"
    bpk info --json a.gsd.blp >record
    [ "$(json record 'x["nframes"]')" = 43 ]
}

# FILE FRAMES: frames that come one after the other, by python gsd, as a simulation writes them.
grow_gsd() {
    "$python" -c 'import sys, time, numpy as np, gsd.fl
r = np.random.default_rng(5)
with gsd.fl.open(sys.argv[1], "rb+") as f:
    for i in range(f.nframes, int(sys.argv[2])):
        f.write_chunk("configuration/step", np.array([i * 10], "u8"))
        if i % 3 == 0: f.write_chunk("particles/position", r.random((50, 3), "f4"))
        f.write_chunk("log/" + str(i % 5), np.arange(i, dtype="f8"))
        f.end_frame()
        time.sleep(0.01)' "$@"
}

@test "append --follow packs a trajectory frame by frame" {
    need_gsd
    for format in blp b2frame; do
        rm -f t.gsd
        "$python" -c 'import gsd.fl
gsd.fl.open("t.gsd", "wb", application="py", schema="hoomd", schema_version=(1, 4)).close()'
        grow_gsd t.gsd 3
        make_archive $format t.gsd -z 16K
        grow_gsd t.gsd 200 &
        local writer=$! i
        for i in 1 2 3; do
            "$BPK" append "$archive" --follow t.gsd --commit-interval 1 2>"$err" &
            sleep 0.7
            kill -KILL $!
            wait $! 2>/dev/null || true
            bpk unpack -q -f -o now.gsd "$archive"
            sound now.gsd
        done
        quietly bpk append "$archive" --follow t.gsd --pid "$writer" --commit-interval 1
        wait "$writer"
        quietly bpk verify "$archive"
        bpk unpack -q -f -o now.gsd "$archive"
        sound now.gsd
        "$python" "$tests/lib/gsd_oracle.py" t.gsd | sort >want
        "$python" "$tests/lib/gsd_oracle.py" now.gsd | sort | same want /dev/stdin
        # once more, with nothing new
        quietly bpk append "$archive" --follow t.gsd --idle 1
        bpk cat "$archive" | same now.gsd /dev/stdin
    done
    make_hoomd other.gsd 300 5 1 0
    refuses 1 "other.gsd: differs from $archive" bpk append "$archive" --follow other.gsd --idle 1
    make_hoomd few.gsd 2 5 1 0
    refuses 1 "few.gsd: has 2 frames, $archive holds 200 already" bpk append "$archive" --follow few.gsd --idle 1
}

@test "append --follow --bytes: an index that was outgrown between two runs had room when it was committed" {
    need_gsd
    # new.gsd is the file of 100 frames, whose header still names the first index, with the second,
    # half-filled one; t.gsd has the third
    "$python" -c 'import gsd.fl, numpy as np, shutil
f = gsd.fl.open("t.gsd", "wb", application="py", schema="hoomd", schema_version=(1, 4))
def grow(a, b):
    for i in range(a, b):
        f.write_chunk("configuration/step", np.array([i], "u8"))
        f.write_chunk("log/x", np.arange(i, dtype="f8"))
        f.end_frame()
grow(0, 40)
shutil.copy("t.gsd", "first.gsd")
grow(40, 100)
shutil.copy("t.gsd", "new.gsd")
grow(100, 200)'
    dd if=first.gsd of=new.gsd bs=256 count=1 conv=notrunc status=none
    quietly bpk pack --plain -o a.blp new.gsd
    quietly bpk append a.blp --follow t.gsd --bytes --idle 1
    bpk cat a.blp | same t.gsd /dev/stdin
    printf '\1' | dd of=t.gsd bs=1 seek=$(($(stat -c %s new.gsd) - 5)) conv=notrunc status=none
    refuses 1 'differs from a.blp' bpk append a.blp --follow t.gsd --bytes --idle 1
}

@test "append --follow creates the archive of a growing trajectory, and is killed: all frames are there" {
    need_gsd
    local more
    for more in "" --bytes; do
        rm -f t.gsd new.blp
        "$python" -c 'import gsd.fl
gsd.fl.open("t.gsd", "wb", application="py", schema="hoomd", schema_version=(1, 4)).close()'
        grow_gsd t.gsd 200 &
        local writer=$! i
        for i in 1 2 3 4; do
            # shellcheck disable=SC2086 # words
            "$BPK" append new.blp --follow t.gsd --commit-interval 1 $more 2>/dev/null &
            sleep 0.$((RANDOM % 9 + 1))
            kill -KILL $!
            wait $! 2>/dev/null || true
        done
        # shellcheck disable=SC2086
        quietly bpk append new.blp --follow t.gsd --pid "$writer" --commit-interval 1 $more
        wait "$writer"
        quietly bpk verify new.blp
        bpk unpack -q -f -o now.gsd new.blp
        sound now.gsd
        "$python" "$tests/lib/gsd_oracle.py" t.gsd | sort >want
        "$python" "$tests/lib/gsd_oracle.py" now.gsd | sort | same want /dev/stdin
        [ -z "$more" ] || same t.gsd now.gsd
    done
}

@test "append --follow: a GSD file by its bytes, and one that is written anew between two looks" {
    need_gsd
    new_gsd() {
        rm -f "$1"
        "$python" -c 'import gsd.fl, sys
gsd.fl.open(sys.argv[1], "wb", application="py", schema="hoomd", schema_version=(1, 4)).close()' "$1"
    }
    new_gsd t.gsd
    grow_gsd t.gsd 3
    make_archive blp t.gsd -z 16K
    # the index outgrows its block of 128 entries
    for frames in 4 60; do
        grow_gsd t.gsd $frames
        quietly bpk append "$archive" --follow t.gsd --pid 4194305 --bytes
        bpk cat "$archive" | same t.gsd /dev/stdin
    done
    for format in "${editable[@]}"; do
        new_gsd t.gsd
        grow_gsd t.gsd 5
        make_archive $format t.gsd -z 16K
        "$BPK" append "$archive" --follow t.gsd --commit-interval 1 2>"$err" &
        sleep 0.3
        new_gsd next.gsd
        make_hoomd next.gsd 90 5 1 0
        kill -STOP $!
        cat next.gsd >t.gsd
        kill -CONT $!
        wait $! && die "$format: status 0"
        says "t.gsd: differs from $archive: frame 4 is not the committed one"
        bpk unpack -q -f -o now.gsd "$archive"
        in_gsd now.gsd 'f.nframes == 5'
    done
    refuses 1 "frames stay" bpk append "$archive" --follow next.gsd --mend
}

# FILE FRAMES...: they have an array each, frames between them have no array.
write_frames() {
    "$python" -c 'import sys, numpy as np, gsd.fl
with gsd.fl.open(sys.argv[1], "rb+") as f:
    for i in map(int, sys.argv[2:]):
        while f.nframes < i: f.end_frame()
        f.write_chunk("x", np.arange(i, dtype="f8"))
        f.end_frame()' "$@"
}

@test "append --follow: frames without arrays, and a file that is no trajectory any more" {
    need_gsd
    "$python" -c 'import gsd.fl
gsd.fl.open("t.gsd", "wb", application="py", schema="demo", schema_version=(1, 0)).close()'
    write_frames t.gsd 1 4
    bpk pack -q t.gsd
    write_frames t.gsd 7 8 11
    quietly bpk append t.gsd.blp --follow t.gsd --idle 1
    bpk unpack -q -f -o now.gsd t.gsd.blp
    sound now.gsd
    "$python" "$tests/lib/gsd_oracle.py" t.gsd | sort >want
    "$python" "$tests/lib/gsd_oracle.py" now.gsd | sort | same want /dev/stdin
    npy x 'np.arange(100000, dtype="f8")'
    "$BPK" append t.gsd.blp --follow t.gsd --idle 20 --commit-interval 1 2>"$err" &
    pid=$!
    waits() { ls -l "/proc/$pid/fd" | grep -q "$PWD/t.gsd\$"; }
    eventually waits
    dd if=x.npy of=t.gsd conv=notrunc status=none
    wait $pid && return 1
    says "t.gsd: is no longer a GSD file"
    quietly bpk verify t.gsd.blp
    bpk unpack -q -f -o now.gsd t.gsd.blp
    in_gsd now.gsd 'f.nframes == 12'
}

@test "the README's trajectory runs as it is written" {
    need_numpy
    need jq
    mkdir bin
    printf '#!/bin/sh\nexec "%s" "$@"\n' "$BPK" >bin/bpk
    printf '#!/bin/sh\nexec "%s" "$@"\n' "$(command -v "$python")" >bin/python3
    chmod +x bin/*
    mkdir here
    awk '/^A GSD trajectory from creation to query/ { on = 1 } on && /^    / { sub(/^    /, ""); print } on && /^## / { exit }' \
        "$tests/../README.md" >lines
    [ "$(grep -c '^\$ ' lines)" -ge 8 ]
    grep -v '^[$>] ' lines >expected
    sed -n 's/^[$>] //p' lines >commands
    (cd here && PATH=$BATS_TEST_TMPDIR/work/bin:$PATH bash -e ../commands) >got 2>&1
    diff expected got
}
