load lib

# Datasets made by hand, and with $1 from them one to break, as d.
good() { cp -r "$tests/data/chunkdir/$1" d; cp "$tests/data/chunkdir/$1.raw" d.raw; chmod -R u+w d d.raw; }

@test "chunked: cat, unpack and verify give what bcolz wrote" {
    need_fixtures bcolz
    for raw in "$BPK_FIXTURES"/bcolz/*.raw; do
        set=${raw%.raw}
        [ -d "$set" ] || continue # a column of a table
        quietly bpk verify "$set"
        bpk cat "$set" | cmp - "$raw"
        bpk unpack -T 3 -o out.raw "$set"
        same out.raw "$raw"
        rm out.raw
    done
}

@test "chunked: every dataset made by hand, with one thread and with four" {
    for raw in "$tests"/data/chunkdir/good-*.raw; do
        bpk cat -T 1 "${raw%.raw}" | cmp - "$raw"
        bpk cat -T 4 "${raw%.raw}/" | cmp - "$raw"
        quietly bpk verify -T 4 "${raw%.raw}"
    done
}

@test "chunked: byte ranges and items, also within records" {
    good good-blaze-columns
    size=$(wc -c <d.raw)
    for range in 0:1 5:77 18:20 "$((size - 3)):$size" 57:114; do
        bpk cat --bytes "$range" d >part
        tail -c +$((${range%:*} + 1)) d.raw | head -c $((${range#*:} - ${range%:*})) | cmp - part
        bpk cat --no-check --bytes "$range" d | cmp - part
    done
    rm -r d
    good good-bcolz
    bpk cat --items 3:9 d | cmp - <(tail -c +13 d.raw | head -c 24)
}

@test "chunked: unpack strips .blpd" {
    good good-bcolz
    mv d data.blpd
    bpk unpack data.blpd
    same data d.raw
    refuses 4 'no suffix to strip' bpk unpack "$tests/data/chunkdir/good-blaze"
}

@test "chunked: info says layout, type, shape and what the columns are" {
    need_python
    good good-blaze-columns
    quietly bpk info --json d
    [ "$(json "$out" 'x["format"], x["variant"], x["shape"], x["ncolumns"]')" = "('chunked', 'Blaze', [7], 4)" ]
    [ "$(json "$out" 'x["raw_size"], x["nchunks"], x["nfiles"], x["superchunk_nchunks"]')" = "(133, 3, 8, 2)" ]
    quietly bpk info -vv d
    grep -q "dtype  .*'q'" "$out"
    rm -r d
    good good-bcolz-2d
    quietly bpk info -v d
    grep -qE 'format +chunked, bcolz$' "$out"
    grep -qE 'shape +6 x 2, order C$' "$out"
}

@test "chunked: damage is found, and named with its file" {
    good good-digests
    rm d/data/__2__.bin
    refuses 2 'd: data/__2__\.bin: is missing' bpk verify d
    cp "$tests/data/chunkdir/good-digests/data/__1__.bin" d/data/__2__.bin
    refuses 2 'meta/sizes: its digests do not match' bpk verify d
    refuses 2 'meta/sizes: its digests do not match' bpk unpack -o x d
    cp "$tests/data/chunkdir/good-digests/data/__2__.bin" d/data/__2__.bin
    quietly bpk verify d
    printf '\377' | dd of=d/data/__2__.bin bs=1 seek=70 conv=notrunc 2>dd
    refuses 2 'd: data/__2__\.bin: chunk 0 at offset 48: adler32 is' bpk verify -T 2 d
}

@test "chunked: what is no part of it is told by verify -v, a link is damage" {
    good good-bcolz-stale
    quietly bpk verify d
    echo note >d/README
    quietly bpk verify -v d
    grep -q 'd: README is not part of the dataset' "$out"
    grep -q 'd: data/__2\.blp follows the last file that sizes counts' "$out"
    ln -s /etc/passwd d/data/__3.blp
    refuses 2 'data/__3\.blp is a link' bpk verify d
    rm d/data/__3.blp d/data/__0.blp
    ln -s "$tests/data/chunkdir/good-bcolz/data/__0.blp" d/data/__0.blp
    refuses 2 'data/__0\.blp: is not a regular file' bpk verify d
    refuses 2 'data/__0\.blp: is not a regular file' bpk cat d
    rm d/data/__0.blp
    mkfifo d/data/__0.blp
    refuses 2 'data/__0\.blp: is not a regular file' timeout 10 "$BPK" verify d
    rm d/meta/sizes
    mkfifo d/meta/sizes
    refuses 2 'meta/sizes: is not a regular file' timeout 10 "$BPK" info d
}

@test "chunked: columns and folders lead nowhere else" {
    good good-table
    mv d/y elsewhere
    ln -s ../elsewhere d/y
    refuses 2 'y/meta/sizes: ' bpk cat d
    rm -r d elsewhere
    good good-table
    printf '{"names": ["x", "../d/y"]}' >d/__rootdirs__
    refuses 2 '__rootdirs__: column "\.\./d/y" leads elsewhere' bpk cat d
}

@test "chunked: verify -r takes a dataset for one archive" {
    need_python
    mkdir -p tree/sub
    cp -r "$tests/data/chunkdir/good-bcolz" tree/sub/a
    cp -r "$tests/data/chunkdir/good-table" tree/t.blpd
    mkdir tree/empty.blpd
    status=0
    bpk verify -rv tree >"$out" 2>"$err" || status=$?
    [ "$status" -eq 2 ]
    [ "$(wc -l <"$out")" -eq 3 ]
    tail -n 1 "$out" | grep -q '^3 archives, .* 1 damaged, 0 skipped$'
    says 'tree/empty\.blpd: is not a chunked directory, although its name says so'
    refuses 1 'is a directory, expected an archive' bpk verify tree
}

@test "chunked: Python objects are told of, and left alone" {
    cp -r "$tests/data/chunkdir/unsupported-object" d
    quietly bpk info -v d
    grep -qE 'dtype +\|O$' "$out"
    refuses 1 'its elements are Python objects' bpk cat d
}

# bcolz keeps no plain bytes: a directory without bpk's digests is the array that it records.
@test "chunked: bcolz's one-dimensional uint8 carray is an array" {
    head -c 1000 "$BATS_TEST_FILENAME" >raw
    bpk pack -q -F chunked --layout bcolz -o ours raw
    cp -r ours theirs
    sed -i 's/, "bpk": {[^}]*}//' theirs/meta/sizes
    ! grep -q bpk theirs/meta/sizes
    quietly bpk unpack -o a.npy theirs
    [ "$(head -c 6 a.npy | tail -c 5)" = NUMPY ]
    grep -qa "'|u1'" a.npy
    tail -c 1000 a.npy | cmp - raw
    quietly bpk cat theirs
    same raw "$out"
    quietly bpk append theirs raw
    quietly bpk unpack -f -o a.npy theirs
    [ "$(head -c 6 a.npy | tail -c 5)" = NUMPY ]
    quietly bpk unpack -o b.npy ours
    same raw b.npy
    quietly bpk unpack --no-check -f -o b.npy ours
    same raw b.npy
}

@test "chunked: items are what was packed, and what the type says" {
    need_python
    data field-f64 80000 a
    bpk pack -F chunked -t 8 -z 16K -o d a
    bpk cat --items 3:-9990 d | cmp - <(tail -c +25 a | head -c 56)
    bpk truncate --items 5 d
    bpk cat d | cmp - <(head -c 40 a)
    # records in columns, and a type that the chunks were not packed as
    bpk pack -q -f -t 8 -z 16K --set container=numpy --set 'shape=[20000]' --set order=C \
        --set "dtype='<f4'" a
    bpk convert-to-chunked a.blp f4
    bpk cat --items 1:3 f4 | cmp - <(tail -c +5 a | head -c 8)
    bpk pack -q -f -t 8 -z 16K --set container=numpy --set 'shape=[5000]' --set order=C \
        --set "dtype=[('x', '<f8'), ('y', '<i8')]" a
    bpk convert-to-chunked a.blp xy
    bpk cat --items 1:3 xy | cmp - <(tail -c +17 a | head -c 32)
    bpk truncate --items 7 xy
    bpk cat xy | cmp - <(head -c 112 a)
}

# bcolz's proposal allows room after a chunk. A hole there has any size, and no bytes.
@test "chunked: zeros after the chunk of a bcolz file are not read where they are a hole" {
    data noise 100000 raw
    bpk pack -q -0 -F chunked --layout bcolz -z 20000 -o x raw
    truncate -s 1T x/data/__2.blp || skip "this file system has no files of 1 TiB"
    timeout 20 "$BPK" verify x >"$out" 2>"$err"
    timeout 20 "$BPK" cat x | cmp - raw
    printf x | dd of=x/data/__2.blp bs=1 seek=700G conv=notrunc status=none
    status=0
    timeout 20 "$BPK" verify x >"$out" 2>"$err" || status=$?
    [ $status -eq 2 ]
    says 'belong to no archive'
}
