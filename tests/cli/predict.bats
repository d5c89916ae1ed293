load lib

formats=(b2frame b2sparse)

# NAME TYPE FRAMES ITEMS: positions that move smoothly, as NAME.npy and, without a head, NAME.raw.
motion() {
    "$python" - "$@" <<'PY'
import sys
import numpy as np
name, dtype, frames, items = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
rng = np.random.RandomState(7)
phase = rng.rand(3, items, 3) * 6.28
t = np.arange(frames)[:, None, None, None]
a = (np.sin(phase + t * np.array([0.02, 0.05, 0.11])[:, None, None]) * 5).sum(axis=1)
if np.dtype(dtype).kind != 'f':
    a = a * 1e6
a = (a + 20).astype(dtype)
np.save(name + '.npy', a)
a.tofile(name + '.raw')
PY
}

# NAME TYPE SIZE: a smooth field of three dimensions, in the same two ways.
field() {
    "$python" - "$@" <<'PY'
import sys
import numpy as np
name, dtype, n = sys.argv[1], sys.argv[2], int(sys.argv[3])
rng = np.random.RandomState(5)
x = np.arange(n) / n * 6.28
a = np.zeros((n, n, n))
for k in range(12):
    kx, ky, kz = rng.randint(1, 4, 3)
    a += np.sin(kx * x + rng.rand() * 6)[:, None, None] * np.sin(ky * x + 1)[:, None] * np.sin(kz * x)
a = (a + 9).astype(dtype)
np.save(name + '.npy', a)
a.tofile(name + '.raw')
PY
}

predicted() { # ARCHIVE: how many of its chunks are
    bpk info --json "$1" >"$out"
    json "$out" 'x["npredicted"]'
}

@test "pack --predict: trajectories and grids, both byte orders, the same by any number of threads" {
    need_numpy
    for type in '<f4' '>f4' '<f8' '>f8' '<i4' '>i8'; do
        motion a "$type" 40 3000
        field b "$type" 48
        for file in a.npy b.npy; do
            for format in "${formats[@]}"; do
                sampled 5 || continue
                rm -rf one eight
                quietly bpk pack -q -F "$format" --predict --threads 1 -o one "$file"
                quietly bpk pack -q -F "$format" --predict --threads 8 -o eight "$file"
                diff -r one eight
                [ "$(predicted one)" -gt 0 ]
                quietly bpk verify one
                quietly bpk unpack -qf -o back one
                same back "$file"
            done
            sampled 5 || continue
            rm -rf one
            quietly bpk pack -qf -F b2frame -o plain "$file"
            quietly bpk pack -qf -F b2frame --predict -o one "$file"
            [ "$(stat -c %s one)" -lt "$(stat -c %s plain)" ] || die "$type $file"
        done
    done
}

@test "pack --predict: ranges, slices and frames of what was predicted" {
    need_numpy
    motion a '<f4' 50 500
    bpk pack -q -F b2frame --predict --key-frames 8 -o p a.npy
    size=$(stat -c %s a.npy)
    for range in 0:1 0:128 127:130 6000:6001 5999:6012 100003:100005 290000: "$((size - 1)):" 0:; do
        start=${range%:*}
        end=${range#*:}
        bpk cat --bytes "$range" p >part
        tail -c +$((start + 1)) a.npy | head -c $((${end:-$size} - start)) >want
        same part want
    done
    for frame in 0 7 8 33 49; do
        bpk cat --slice "$frame" a.npy >want
        bpk cat --slice "$frame" p >part
        same part want
    done
    bpk cat --name data p >part
    same part a.raw
}

@test "pack --predict: info says so" {
    need_numpy
    motion a '<f4' 50 500
    bpk pack -q -F b2frame --predict -o p a.npy
    bpk info -v p >"$out"
    grep -E '^  prediction +1 chunk; bpk alone can unpack that' "$out"
    bpk info -vv p >"$out"
    grep -E ' predict:[1-6],' "$out"
    bpk pack -q -F b2frame -o n a.npy
    bpk info -v n >"$out"
    ! grep -q prediction "$out"
    [ "$(predicted n)" -eq 0 ]
}

@test "pack --predict: c-blosc2 refuses what it cannot undo" {
    need_numpy
    need_oracle2
    motion a '<f4' 50 500
    for format in "${formats[@]}"; do
        bpk pack -q -F "$format" --predict -o "p.$format" a.npy
        ! oracle2 raw "p.$format" >theirs 2>"$err" || die "c-blosc2 reads $format"
        bpk pack -q -F "$format" --filter shuffle -o "n.$format" a.npy
        oracle2 raw "n.$format" >theirs
        same theirs a.npy
    done
}

@test "pack --predict: key frames" {
    need_numpy
    motion a '<f4' 100 500
    # frames do not begin with a chunk behind a head, and do without
    bpk pack -q -F b2frame --predict --key-frames 11 -o p a.npy
    bpk info --json p >"$out"
    [ "$(json "$out" 'x["chunk_size"]')" -eq 60000 ]
    bpk pack -qf -F b2frame --predict --key-frames 11 --dtype '<f4' --shape 100,500,3 -o p a.raw
    bpk info --json p >"$out"
    [ "$(json "$out" 'x["chunk_size"]')" -eq 66000 ]
    [ "$(json "$out" 'x["npredicted"]')" -eq 9 ]
    bpk unpack -q -o back p
    same back a.raw
}

@test "pack --predict: a pipe, whose array options tell" {
    need_numpy
    motion a '>f8' 60 700
    bpk pack -q -F b2frame --predict --dtype '>f8' --shape 60,700,3 -o p <a.raw
    [ "$(predicted p)" -gt 0 ]
    bpk unpack -q <p >back
    same back a.raw
    # and one without a description
    bpk pack -F b2frame --predict -o q <a.raw 2>"$err"
    says 'nothing in it can be predicted'
    [ "$(predicted q)" -eq 0 ]
    bpk unpack -q <q >back
    same back a.raw
}

@test "pack --predict: what cannot be predicted is packed as without" {
    data text 200000 text
    data noise 200000 random
    : >empty
    printf 'x' >tiny
    for file in text random empty tiny; do
        bpk pack -F b2frame --predict -o "$file.p" "$file" 2>"$err"
        says 'nothing in it can be predicted'
        quietly bpk pack -q -F b2frame -o "$file.n" "$file"
        same "$file.p" "$file.n"
    done
}

@test "pack --predict: floats that are none, infinite, or -0" {
    need_numpy
    "$python" - <<'PY'
import numpy as np
rng = np.random.RandomState(1)
for dtype, bits in (('<f4', '<u4'), ('<f8', '<u8')):
    a = np.cumsum(rng.rand(64, 900), axis=0).astype(dtype)
    flat = a.ravel()
    for value in (np.nan, -np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-42):
        flat[rng.randint(0, flat.size, 300)] = value
    raw = flat.view(bits)
    raw[rng.randint(0, flat.size, 300)] = np.iinfo(bits).max
    raw[rng.randint(0, flat.size, 100)] = np.iinfo(bits).max // 2
    np.save('odd%s.npy' % dtype[2], a)
PY
    for file in odd4.npy odd8.npy; do
        bpk pack -q --compare -F b2frame --predict -o "$file.p" "$file"
        bpk unpack -qf -o back "$file.p"
        same back "$file"
    done
}

@test "pack --predict: what makes no sense is refused" {
    need_numpy
    motion a '<f4' 20 100
    refuses 64 'cannot record predictions, use -F b2frame or -F b2sparse' \
        bpk pack --predict a.npy
    refuses 64 'format blp cannot record predictions, use -F b2frame or -F b2sparse' \
        bpk pack --predict -o x.blp a.npy
    refuses 64 'format chunked cannot record predictions' bpk pack --predict -F chunked a.npy
    refuses 64 '--key-frames needs --predict' bpk pack -F b2frame --key-frames 5 a.npy
    refuses 64 'only one of --predict and --dictionary' \
        bpk pack -F b2frame --predict --dictionary a.npy
    refuses 64 'only one of --predict and --as-array' \
        bpk pack -F b2frame --predict --as-array a.npy
    refuses 64 'prediction does not go with filter delta' \
        bpk pack -F b2frame --predict --filter delta,shuffle a.npy
    refuses 64 'prediction does not go with lossy filters' \
        bpk pack -F b2frame --predict --lossy -t 4 --filter trunc:12 a.npy
    refuses 64 'key-frames' bpk pack -F b2frame --predict --key-frames 1 a.npy
}

# Change $archive, and `now` with it.
change() {
    quietly bpk append -q "$archive" more
    cat more >>now
    quietly bpk write -q --at 10000 "$archive" patch
    dd if=patch of=now bs=64K oflag=seek_bytes seek=10000 conv=notrunc status=none
    quietly bpk truncate -q --bytes 250001 "$archive"
    truncate -s 250001 now
    quietly bpk append -q "$archive" more
    cat more >>now
    quietly bpk meta set "$archive" n=1
}

@test "pack --predict: an archive with predictions is changed, carried over and verified" {
    need_numpy
    motion a '<f4' 50 500
    data text 70000 more
    data noise 5000 patch
    for format in "${formats[@]}"; do
        archive=v.$format
        cp a.npy now
        bpk pack -q -F "$format" --predict --key-frames 8 -o "$archive" a.npy
        before=$(predicted "$archive")
        change
        quietly bpk verify "$archive"
        bpk unpack -qf -o back "$archive"
        same back now
        [ "$(predicted "$archive")" -gt 0 ]
        [ "$(predicted "$archive")" -lt "$before" ]
        quietly bpk repair -q --repack "$archive"
        quietly bpk verify "$archive"
        bpk unpack -qf -o back "$archive"
        same back now
        for to in b2frame b2sparse blp chunked; do
            rm -rf to
            quietly bpk convert -q -F "$to" "$archive" to
            quietly bpk verify to
            bpk unpack -qf -o back to
            same back now
            case $to in
                b2*) [ "$(predicted to)" -eq "$(predicted "$archive")" ] ;;
                *) [ "$(predicted to)" -eq 0 ] ;;
            esac
        done
        bpk tar --raw "$archive" | tar -xO >back
        same back now
    done
}

@test "pack --predict: simulation files" {
    need_samples
    for file in "$BPK_SAMPLES"/*; do
        bpk pack -q -F b2frame -o n "$file"
        bpk pack -q -F b2frame --predict -o p "$file"
        bpk unpack -qf -o back p
        same back "$file"
        [ "$(stat -c %s p)" -le $(($(stat -c %s n) * 101 / 100)) ] || die "$file is larger"
        rm n p
    done
}

@test "pack --predict names its output after the bytes that it holds, not after an array" {
    data field-f64 300000 p.f32
    quietly bpk pack -q -F b2frame --predict --dtype '<f4' --shape 25000,3 p.f32
    [ "$(ls)" = "$(printf 'p.f32\np.f32.b2frame')" ]
    quietly bpk pack -q -F b2frame --dtype '<f4' --shape 25000,3 p.f32
    [ -e p.f32.b2nd ]
}
