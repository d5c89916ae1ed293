load lib

# The small files of every kind that layouts read.
corpus=$BATS_TEST_DIRNAME/../fuzz/corpus/layout

# LINE...: what ls prints.
lists() { # LINE... -- ARGUMENT...
    local lines=()
    while [ "$1" != -- ]; do
        lines+=("$1")
        shift
    done
    shift
    quietly bpk ls "$@"
    same "$out" <(printf '%s\n' "${lines[@]}")
}

@test "ls: a line for each array of every kind of file, packed or not" {
    cp "$corpus"/* .
    for format in raw blp b2frame chunked; do
        for f in cdf-1 dcd-2 fits-f4 gsd-2 npy-f npy-f8 npz-two trr-2 wav-16; do
            [ "$format" = raw ] || { make_archive "$format" $f && rm $f && mv "$archive" $f; }
        done
        lists 'u  -  >i2  3  -' 'x  2  >f4  3  -' -- cdf-1
        lists 'x  2  <f4  2  10..15' 'y  2  <f4  2  10..15' 'z  2  <f4  2  10..15' -- dcd-2
        lists 'hdu0  -  >f4  2 x 3  -' -- fits-f4
        lists 'particles/N         1  <u4  1      5' 'particles/position  2  <f4  2 x 3  5' \
            'configuration/step  1  <u8  1      5' -- gsd-2
        lists 'data  -  >u2  2 x 3, order F  -' -- npy-f
        lists 'data  -  <f8  2 x 3  -' -- npy-f8
        lists 'x  -  <i4  4      -' 'y  -  <f8  2 x 2  -' -- npz-two
        lists 'time    2  >f4  -      0..10' 'lambda  2  >f4  -      0..10' \
            'box     2  >f4  3 x 3  0..10' 'x       2  >f4  2 x 3  0..10' -- trr-2
        lists 'data  -  <i2  10 x 2  -' -- wav-16
        rm -rf ./*
        cp "$corpus"/* .
    done
}

@test "ls -l: titles, sizes and the share of the chunks" {
    need_python
    cp "$corpus"/npy-f8 a.npy
    lists 'Name  Frames  Type  Shape  Steps  Size  Packed  Ratio' \
        'data       -  <f8   2 x 3  -      48 B       -      -' -- -l a.npy
    "$python" -c 'head = b"{\"descr\": \"<f8\", \"fortran_order\": False, \"shape\": (20000, 3), }"
open("z.npy", "wb").write(b"\x93NUMPY\x01\x00\x76\x00" + head.ljust(117) + b"\n" + bytes(480000))'
    bpk pack -q -z 64K z.npy
    quietly bpk ls --long z.npy.blp
    sed -n 2p "$out" | grep -qE '^data +- +<f8 +20000 x 3 +- +468\.8 KiB +[0-9.]+ (B|KiB) +[0-9.]+$' ||
        die "$(cat "$out")"
    quietly bpk ls -l --json z.npy.blp
    # all chunks but for the head of 128 bytes
    [ "$(json "$out" '0.9 * x["packed_size"] > x["names"][0]["packed_size"] > 0.3 * x["packed_size"]')" = True ] ||
        die "$(cat "$out")"
    quietly bpk ls --json z.npy.blp
    [ "$(json "$out" '"packed_size" in x["names"][0]')" = False ]
}

@test "ls: the packed sizes of all arrays are at most those of the chunks" {
    need_numpy
    "$python" -c 'import numpy as np
r = np.random.default_rng(5)
np.savez("a.npz", **{"x%d" % i: r.integers(0, 50, 1000 * i + 1).astype("i4") for i in range(20)})'
    for format in blp chunked b2frame; do
        make_archive $format a.npz -z 16K
        bpk ls -l --json "$archive" >"$out"
        json "$out" 'sum(n["packed_size"] for n in x["names"])' >sum
        bpk info --json -vv "$archive" >"$out"
        json "$out" 'sum(c["packed_size"] for c in x["chunks"])' >all
        [ "$(cat sum)" -le $(($(cat all) + 20)) ]
        [ $((10 * $(cat sum))) -ge $((9 * $(cat all))) ] || die "$(cat sum) of $(cat all)"
    done
}

@test "ls: data without arrays have one line" {
    data field-f64 100000 a
    bpk pack -q -t 8 a
    lists '-  -  |V8  12500  -' -- a.blp
    lists '-  -  |V8  12500  -' -- - <a.blp
    lists '-  -  |V8  12500  -' -- <a.blp
    bpk pack -q -o n.b2nd --dtype '<f8' --shape 125,100 a
    lists '-  -  <f8  125 x 100  -' -- n.b2nd
    quietly bpk ls -l n.b2nd
    sed -n 2p "$out" | grep -qE '^- +- +<f8 +125 x 100 +- +97\.7 KiB +[0-9.]+ KiB +[0-9.]+$' || die "$(cat "$out")"
    cat a | bpk pack -q -t 8 2>/dev/null | cat >s.blp
    cat s.blp | bpk ls >"$out"
    same "$out" <(echo '-  -  -  -  -')
    : >empty
    bpk pack -q empty
    lists '-  -  |V1  0  -' -- empty.blp
}

@test "ls: several files have headings, and a bad one does not stop the others" {
    cp "$corpus"/{npy-f8,wav-16} .
    lists npy-f8: 'data  -  <f8  2 x 3  -' '' wav-16: 'data  -  <i2  10 x 2  -' -- npy-f8 wav-16
    data text 500 a
    ends 1 bpk ls a none npy-f8
    [ "$(wc -l <"$err")" -eq 2 ]
    says '^bpk: a: is not an archive'
    says '^bpk: none: cannot open'
    same "$out" <(printf '%s\n' npy-f8: 'data  -  <f8  2 x 3  -')
    bpk pack -q -z 16 wav-16
    printf '\377\377\377' | dd of=wav-16.blp bs=1 seek=60 conv=notrunc status=none
    ends 2 bpk ls wav-16.blp npy-f8
    same "$out" <(printf '%s\n' npy-f8: 'data  -  <f8  2 x 3  -')
    [ "$(wc -l <"$err")" -eq 1 ]
    refuses 1 "is a directory, expected an archive" bpk ls .
    refuses 64 "standard input can be read but once" bpk ls - -
    refuses 64 "unknown option" bpk ls --longer npy-f8
}

@test "ls: the members of a tar, packed or not, and archives in it" {
    need_python
    cp "$corpus"/gsd-2 t.gsd
    mkdir d
    cp "$corpus"/npy-f8 d/a.npy
    bpk pack -q t.gsd
    ln -s t.gsd link
    tar cf x.tar --sort=name d link t.gsd t.gsd.blp
    bpk pack -q x.tar
    for f in x.tar x.tar.blp; do
        lists d/ d/a.npy link t.gsd t.gsd.blp -- $f
        quietly bpk ls -l $f
        sed -E 's/ +[0-9.]+ K?i?B  /S /; s/  +/ /g' "$out" >got
        same got <(printf '%s\n' ' Size Type Name' ' - directory d/' 'S file d/a.npy' \
            ' - symbolic link link -> t.gsd' 'S file t.gsd' 'S file t.gsd.blp')
        quietly bpk ls --json $f
        [ "$(json "$out" 'x["content"], [(e["name"], e["type"], e["size"]) for e in x["entries"]][1:3]')" = \
            "('tar', [('d/a.npy', 'file', 176), ('link', 'symbolic link', None)])" ] || die "$(cat "$out")"
    done
    lists 'data  -  <f8  2 x 3  -' -- x.tar:d/a.npy
    lists x.tar:t.gsd.blp: 'particles/N         1  <u4  1      5' 'particles/position  2  <f4  2 x 3  5' \
        'configuration/step  1  <u8  1      5' '' x.tar: d/ d/a.npy link t.gsd t.gsd.blp -- x.tar:t.gsd.blp x.tar
    head -c 4000 x.tar >cut.tar
    ends 2 bpk ls cut.tar
    grep -qx d/a.npy "$out"
    [ "$(wc -l <"$err")" -eq 1 ]
    ends 2 bpk ls --json cut.tar
    [ "$(json "$out" 'x["entries"][1]["name"]')" = d/a.npy ]
    head -c 100000 /dev/zero >zeros
    bpk pack -q -t 1 zeros
    lists '-  -  |V1  100000  -' -- zeros.blp
}

@test "ls shows the steps of the first and of the last frame, also where they begin anew" {
    cp "$corpus/gsd-2" t.gsd
    for step in 7 9 4; do
        quietly bpk append t.gsd --step $step log/x="$corpus/npy-f8"
    done
    bpk ls t.gsd >"$out"
    grep -Eq '^log/x .* 7\.\.4$' "$out" || die "$(cat "$out")"
}

@test "ls --json: the members of info --json" {
    need_python
    cp "$corpus"/{gsd-2,trr-2} .
    bpk pack -q trr-2
    for f in gsd-2 trr-2 trr-2.blp; do
        quietly bpk ls --json $f
        cp "$out" ls.json
        quietly bpk info --json $f
        [ "$(json "$out" 'all(x[k] == v for k, v in json.load(open("ls.json")).items() if k != "command")')" = True ]
        [ "$(json ls.json '[x[k] for k in list(x)[:3]]')" = "[1, 'ls', '$f']" ]
    done
    [ "$(json ls.json 'x["content"], x["names"][0]["first_step"], x["names"][0]["last_step"]')" = "('trr', 0, 10)" ]
    quietly bpk ls --json gsd-2 trr-2
    [ "$(wc -l <"$out")" -eq 2 ]
}

@test "ls: a file on a server, and a member of a tar there" {
    need_urls
    mkdir www
    cp "$corpus"/trr-2 .
    bpk pack -q -o www/t.blp trr-2
    tar cf www/x.tar trr-2
    serve www
    lists 'time    2  >f4  -      0..10' 'lambda  2  >f4  -      0..10' \
        'box     2  >f4  3 x 3  0..10' 'x       2  >f4  2 x 3  0..10' -- "$url/t.blp"
    lists trr-2 -- "$url/x.tar"
    quietly bpk ls "$url/x.tar:trr-2"
    [ "$(wc -l <"$out")" -eq 4 ]
    ends 1 bpk ls "$url/none"
}

@test "ls reads no more than headers and tables" {
    need_strace
    need_plain_build
    data field-f64 20000000 a
    printf 'x' >b
    tar cf x.tar a b
    bpk pack -q -z 64K x.tar
    for f in x.tar x.tar.blp; do
        strace -f -o trace -e trace=read,pread64 "$BPK" ls $f >"$out"
        same "$out" <(printf '%s\n' a b)
        bytes=$(awk '/ = [0-9]+$/ { sum += $NF } END { print sum + 0 }' trace)
        [ "$bytes" -lt 1000000 ] || die "$f: read $bytes bytes"
    done
}

@test "ls: names are shown, not obeyed, and damage behind the arrays is told" {
    need_python
    name=$'evil\e[31m\nname'
    cp "$corpus"/npy-f8 "$name"
    cp "$corpus"/npy-f8 a.npy
    quietly bpk ls "$name" a.npy
    ! grep -q $'\e' "$out"
    [ "$(wc -l <"$out")" -eq 5 ]
    tar cf x.tar "$name"
    quietly bpk ls x.tar
    ! grep -q $'\e' "$out"
    [ "$(wc -l <"$out")" -eq 1 ]
    "$python" -c 'import zipfile
with zipfile.ZipFile("n.npz", "w") as z: z.writestr("\x1b[31m\nx.npy", open("a.npy", "rb").read())'
    quietly bpk ls n.npz
    ! grep -q $'\e' "$out"
    [ "$(wc -l <"$out")" -eq 1 ]
    head -c 280 "$corpus"/trr-2 >cut.trr
    ends 0 bpk ls cut.trr
    [ "$(wc -l <"$out")" -eq 4 ]
    [ "$(wc -l <"$err")" -eq 1 ]
    says '^bpk: cut.trr: '
}

@test "ls -0: names alone, as they are, ended by NUL bytes" {
    local name=$'a b\n\e[1m$(x)' f
    cp "$corpus"/npz-two two.npz
    cp "$corpus"/npy-f8 f8.npy
    bpk pack -q two.npz
    data noise 500 raw
    bpk pack -q raw
    cp two.npz "$name"
    tar cf x.tar "$name"
    bpk pack -q x.tar
    for f in two.npz two.npz.blp; do
        quietly bpk ls -0 $f
        same "$out" <(printf '%s\0' x y)
    done
    for f in x.tar x.tar.blp; do
        quietly bpk ls --null $f
        same "$out" <(printf '%s\0' "$name")
    done
    quietly bpk ls -0 raw.blp
    [ ! -s "$out" ]
    quietly bpk ls -0 two.npz raw.blp f8.npy # no headings
    same "$out" <(printf '%s\0' x y data)
    refuses 64 "not with --long" bpk ls -0 -l two.npz
    refuses 64 "not with --json" bpk ls -0 --json two.npz
    [ -x "$(command -v xargs)" ] || return 0
    bpk ls -0 two.npz | xargs -0 -I{} "$BPK" cat --name={} two.npz >both
    same both <("$BPK" cat --name x two.npz && "$BPK" cat --name y two.npz)
}

@test "ls ends with the reader of its output" {
    mkdir many
    (cd many && for i in {1..3000}; do : >"a-rather-long-name-of-an-empty-file-$i"; done)
    tar cf x.tar many
    status=0
    { "$BPK" ls x.tar || echo $? >status; } | head -n 1 >"$out"
    [ "$(cat status)" -eq 141 ]
    refuses 1 "No space left" sh -c '"$1" ls x.tar >/dev/full' - "$BPK"
}

@test "ls: a table that costs too much is refused" {
    need_plain_build
    cp "$corpus"/gsd-2 t.gsd
    bpk pack -q t.gsd
    refuses 1 "memory" bpk ls --memory-limit 1K t.gsd.blp
    [ ! -s "$out" ]
}
