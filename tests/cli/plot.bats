load lib

# Arrays, by NumPy: EXPRESSION FILE, with r, random numbers that are always the same.
array() {
    "$python" -c 'import sys, numpy as np
r = np.random.default_rng(7)
np.save(sys.argv[2], eval(sys.argv[1]))' "$1" "$2"
}

# Compare the numbers in the SVG $1 with the expressions of NumPy that follow, ID=EXPRESSION; a is the
# array of file $2, note(ID) the numbers of an id.
shows() { # SVG ARRAY ID=EXPRESSION...
    "$python" -c 'import sys, numpy as np, xml.etree.ElementTree as tree
root = tree.parse(sys.argv[1]).getroot()
notes = {e.get("id"): np.array((e.text or "").split(), float)
         for e in root.iter("{http://www.w3.org/2000/svg}metadata")}
def note(name):
    return notes[name]
a = np.load(sys.argv[2])
def blocks(a, rows, columns):
    with np.errstate(all="ignore"):
        import warnings
        warnings.simplefilter("ignore")
        return np.array([[np.nanmean(a[i:i + rows, k:k + columns])
            for k in range(0, a.shape[1], columns)] for i in range(0, a.shape[0], rows)])
for pair in sys.argv[3:]:
    name, expression = pair.split("=", 1)
    wanted = np.ravel(np.asarray(eval(expression), float))
    assert wanted.shape == notes[name].shape, (name, wanted.shape, notes[name].shape)
    assert np.allclose(wanted, notes[name], rtol=1e-12, atol=1e-300, equal_nan=True), name' "$@"
}

# The drawing holds TEXT.
says() { # SVG TEXT
    grep -qF ">$2" "$1" || die "no text '$2'" "$(grep '<text' "$1")"
}

@test "plot: a line has the least and the greatest number of each column" {
    need_numpy
    array 'r.normal(size=500)' a.npy
    array 'np.where(np.arange(100001) == 77777, 9.5, r.normal(size=100001)).astype(">f4")' b.npy
    bpk pack -q a.npy
    quietly bpk plot -o a.svg a.npy
    shows a.svg a.npy low-0=a high-0=a 'at=np.arange(500)'
    quietly bpk plot -o p.svg a.npy.blp
    shows p.svg a.npy low-0=a high-0=a
    quietly bpk plot -o b.svg b.npy
    shows b.svg b.npy 'low-0=[a[i:i+167].min() for i in range(0, 100001, 167)]' \
        'high-0=[a[i:i+167].max() for i in range(0, 100001, 167)]'
    says b.svg 'b.npy: data &gt;f4 100001'
    says b.svg 'a column is the range of 167; 100001 numbers'
}

@test "plot: a table of few columns has a line for each" {
    need_numpy
    array 'r.integers(-5, 5, (40, 4)).astype(">i2")' t.npy
    quietly bpk plot -o t.svg t.npy
    shows t.svg t.npy 'low-0=a[:,0]' 'high-3=a[:,3]'
    array 'r.normal(size=(40, 3)) + 1j' c.npy
    quietly bpk plot -o c.svg c.npy
    shows c.svg c.npy 'low-2=a[:,2].real'
    says c.svg 'c.npy: data &lt;c16 40 x 3, real part'
}

@test "plot: a grid has the mean of each cell, and grey ones" {
    need_numpy
    array 'r.normal(size=(250, 300))' g.npy
    array 'np.asfortranarray(np.where(r.random((20, 30)) < .2, np.nan, 5))' f.npy
    array 'r.normal(size=(7, 12, 13))' v.npy
    quietly bpk plot -o g.svg g.npy
    shows g.svg g.npy 'cells=blocks(a, 3, 3)' 'shape=[84, 100]'
    says g.svg 'a cell is the mean of 3 x 3; 75000 numbers'
    quietly bpk plot -o f.svg f.npy
    shows f.svg f.npy cells=a
    grep -q 'NaN left out' f.svg
    grep -q '#b0b0b0' f.svg
    quietly bpk plot -o v.svg v.npy
    shows v.svg v.npy 'cells=a[3]'
    says v.svg 'v.npy: data &lt;f8 7 x 12 x 13, [3,:,:]'
    quietly bpk plot --slice :,2,1:9 -o s.svg v.npy
    shows s.svg v.npy 'cells=a[:,2,1:9]'
    quietly bpk plot -f --slice ::3,::2,1:9:3 -o s.svg v.npy
    shows s.svg v.npy 'cells=a[3,::2,1:9:3]'
    says s.svg 'v.npy: data &lt;f8 7 x 12 x 13, [3,:,:]'
}

@test "plot: an array of several dimensions in an archive" {
    need_numpy
    array 'r.normal(size=(30, 40))' a.npy
    "$python" -c 'import numpy as np; np.load("a.npy").tofile("a")'
    bpk pack -q -F b2frame -o a.b2frame --dtype '<f8' --shape 30,40 --chunk-shape 7,9 --block-shape 3,4 a
    quietly bpk plot -o a.svg a.b2frame
    shows a.svg a.npy cells=a
    quietly bpk plot --slice 3 -o b.svg a.b2frame
    shows b.svg a.npy 'low-0=a[3]'
    quietly bpk plot -f --slice ::10,::6 -o b.svg a.b2frame
    shows b.svg a.npy 'cells=a[::10,::6]'
}

@test "plot: positions are counted in cells of x and y" {
    need_numpy
    array 'np.where(r.random((3000, 3)) < .01, np.nan, r.normal(size=(3000, 3))).astype("f4")' p.npy
    quietly bpk plot -o p.svg p.npy
    shows p.svg p.npy 'cells=(lambda b: np.histogram2d(b[:,1], b[:,0], (96, 128))[0][::-1])(
        (lambda d: d[np.isfinite(d[:,0] + d[:,1])])(a.astype(float)))'
    says p.svg 'p.npy: data &lt;f4 3000 x 3, density of x and y (z is not shown)'
    grep -q 'NaN left out' p.svg
}

@test "plot --hist: the counts are those of NumPy, and NaN are counted" {
    need_numpy
    array 'np.concatenate([r.normal(size=4000), [np.nan] * 3, [np.inf, -np.inf]])' h.npy
    quietly bpk plot --hist -o h.svg h.npy
    shows h.svg h.npy 'counts=np.histogram(a[np.isfinite(a)], len(note("counts")))[0]' \
        'edges=[a[np.isfinite(a)].min(), a[np.isfinite(a)].max()]'
    shows h.svg h.npy 'shape=[1, 50]'
    says h.svg '4000 numbers, 3 NaN left out, 2 infinite left out'
    array 'r.integers(-3, 9, 700)' i.npy
    quietly bpk plot --hist -o i.svg i.npy
    shows i.svg i.npy 'counts=np.bincount(a + 3)' 'edges=[-3.5, 8.5]'
}

@test "plot: arrays of frames by name, against the step" {
    need_numpy
    cp "$BATS_TEST_DIRNAME/../fuzz/corpus/layout/trr-2" t.trr
    quietly bpk plot --name lambda -o l.svg t.trr
    "$python" -c 'import numpy as np; np.save("l.npy", np.zeros(2))'
    shows l.svg l.npy at=[0,10]
    quietly bpk plot --name box -o c.svg t.trr
    says c.svg 't.trr: box &gt;f4 3 x 3, 2 frames, array 2 of 2'
    refuses 1 "has no array 'boxes', did you mean 'box'" bpk plot --name boxes t.trr
    refuses 1 'needs the --name of one' bpk plot t.trr
    refuses 64 'frames' bpk plot --frames 1 t.trr
}

@test "plot: odd numbers keep sane axes" {
    need_numpy
    local name expression
    while read -r name expression; do
        array "$expression" "$name.npy"
        for how in '' --hist; do
            # shellcheck disable=SC2086 # one option or none
            quietly bpk plot -f $how -o "$name.svg" "$name.npy"
            "$python" -c 'import sys, re, xml.etree.ElementTree as tree
tree.parse(sys.argv[1])
shapes = re.findall("<(?:rect|polyline|text)[^>]*>", open(sys.argv[1]).read())
assert not [s for s in shapes if re.search("nan|inf", s)]' "$name.svg" || die "$name"
            # shellcheck disable=SC2086
            quietly bpk plot $how "$name.npy"
            [ "$(wc -l <"$out")" -eq 24 ]
        done
    done <<'ROWS'
constant np.full(20, 3.5)
zero np.zeros(20)
none np.full(20, np.nan)
infinite np.array([np.inf, 1, -np.inf])
huge np.array([1e308, -1e308, 1.7e308, -1.7e308])
least np.array([5e-324, 0, 1e-323])
near np.array([1e15, 1e15 + .125])
one np.float64(7)
largest np.array([0, 2**64 - 1], 'u8')
wide np.array([-2**63, 2**63 - 1])
half np.arange(9).astype('>f2')
flag np.array([True, False, True])
grid np.full((9, 9), 1e308)
grey np.full((9, 9), np.nan)
points np.full((9, 3), 1.25)
lost np.full((9, 3), np.inf)
ROWS
}

@test "plot: text of a small array" {
    need_numpy
    array 'np.arange(10.)' a.npy
    array 'np.arange(12).reshape(3, 4)' g.npy
    quietly bpk plot a.npy
    same <(sed -n '1p;20,24p' "$out") - <<'TEXT'
a.npy: data <f8 10
 |   ..:''
0|.:''
 ++----------------+----------------+-----------------+----------------+--------
  0                2                4                 6                8
10 numbers
TEXT
    LC_ALL=C.UTF-8 quietly bpk plot --hist a.npy
    sed -n 2p "$out" | grep -q '█' || die "$(cat "$out")"
    LC_ALL=C.UTF-8 quietly bpk plot a.npy
    sed -n 21p "$out" | grep -q '⠁\|⠉\|⡠\|⠔\|⠤\|⠊' || die "$(cat "$out")"
    quietly bpk plot --hist a.npy
    ! grep -q '[^ -~]' "$out"
}

@test "plot: arrays without numbers are refused in a line" {
    need_numpy
    array 'np.array(["a", "b"])' s.npy
    array 'np.zeros(3, [("x", "f4")])' r.npy
    array 'np.zeros((0, 3))' e.npy
    printf 'no array' >x
    refuses 1 'needs an array of numbers, this one has none' bpk plot s.npy
    refuses 1 'needs an array of numbers, this one has records' bpk plot r.npy
    refuses 1 'x: ' bpk plot x
    refuses 1 'the array is empty' bpk plot e.npy
}

@test "plot -o: suffixes, existing files, odd names, the same bytes" {
    need_numpy
    array 'np.arange(5)' 'a<&">
.npy'
    cp 'a<&">
.npy' a.npy
    quietly bpk plot -o x.svg 'a<&">
.npy'
    says x.svg 'a&lt;&amp;&quot;&gt;\x0a.npy'
    refuses 1 'x.svg: already exists' bpk plot -o x.svg a.npy
    quietly bpk plot -f --no-sync -o x.svg a.npy
    quietly bpk plot -o y.svg a.npy
    same x.svg y.svg
    refuses 64 'the suffix of x.jpg names no kind of picture' bpk plot -o x.jpg a.npy
    refuses 64 'single input' bpk plot -o z.svg a.npy a.npy
    refuses 1 'none/z.svg' bpk plot -o none/z.svg a.npy
}

# The size and pixels of a PNG: "WIDTH HEIGHT" and a line "R G B" for each of X,Y.
pixels() { # PNG X,Y...
    "$python" -c 'import struct, sys, zlib
data, at, parts = open(sys.argv[1], "rb").read(), 8, {}
assert data[:8] == b"\x89PNG\r\n\x1a\n"
while at < len(data):
    size, kind = struct.unpack(">I4s", data[at:at + 8])
    body = data[at + 8:at + 8 + size]
    assert struct.unpack(">I", data[at + 8 + size:][:4])[0] == zlib.crc32(kind + body)
    parts[kind] = parts.get(kind, b"") + body
    at += 12 + size
width, height, depth, colour = struct.unpack(">IIBB", parts[b"IHDR"][:10])
assert (depth, colour) == (8, 2)
raw, rows, last = zlib.decompress(parts[b"IDAT"]), [], bytes(3 * width)
for y in range(height):
    how, *line = raw[y * (3 * width + 1):(y + 1) * (3 * width + 1)]
    for i in range(3 * width):
        a, b, c = line[i - 3] if i > 2 else 0, last[i], last[i - 3] if i > 2 else 0
        near = min((a, b, c), key=lambda v: abs(a + b - c - v))
        line[i] = (line[i] + (0, a, b, (a + b) // 2, near)[how]) % 256
    rows.append(line)
    last = line
print(width, height)
for place in sys.argv[2:]:
    x, y = map(int, place.split(","))
    print(*rows[y][3 * x:3 * x + 3])' "$@"
}

@test "plot -o x.png: the size, and colours of cells" {
    need_numpy
    array 'np.array([[0, 5.], [np.nan, 10]])' a.npy
    if bpk version | grep -q 'no png'; then
        refuses 64 'built without libpng' bpk plot -o a.png a.npy
        skip "bpk was built without libpng"
    fi
    quietly bpk plot -o a.png a.npy
    same <(pixels a.png 2,2 300,250 1000,250 300,600 1000,600) - <<'PIXELS'
1440 960
255 255 255
68 1 84
33 145 140
176 176 176
253 231 37
PIXELS
    refuses 1 'a.png: already exists' bpk plot -o a.png a.npy
    quietly bpk plot --hist -o b.png a.npy
    quietly bpk plot --hist -o c.png a.npy
    same b.png c.png
}
