load lib

@test "every layout that the format allows is read: from a file, a pipe, in ranges, by 8 threads" {
    need_python
    make_archives good .
    rm v3-tail.* # an append was interrupted: status 3, see members.bats
    for archive in *.blp; do
        raw=${archive%.blp}.raw
        marker=
        [ $archive != v1-unknown.blp ] || marker=--no-marker
        for threads in 1 8; do
            bpk cat $marker -T $threads "$archive" >"$out" || die "$archive"
            cmp "$out" "$raw" || die "$archive"
        done
        quietly bpk unpack $marker -o x "$archive"
        same x "$raw"
        rm x
        bpk verify $marker "$archive" || die "$archive"
        bpk info "$archive" >"$out" || die "$archive"
        # -vv walks to the end, and tells that this one has no marker
        [ -n "$marker" ] || bpk info -vv "$archive" >"$out" || die "$archive"
        bpk cat $marker --bytes 3:12 "$archive" >"$out" || die "$archive"
        tail -c +4 "$raw" | head -c 9 | cmp - "$out" || die "$archive"
        # gaps between chunks are known from the offsets alone, which a pipe cannot go back to
        [ "$archive" != v3-gap.blp ] || continue
        cat "$archive" | bpk cat $marker >"$out" || die "$archive from a pipe"
        cmp "$out" "$raw" || die "$archive from a pipe"
    done
}

@test "packed with python3-blosc: every codec and filter, chunk by chunk another" {
    need_blosc
    "$python" - "$tests/lib" <<'END'
import itertools, struct, sys, zlib
sys.path.insert(0, sys.argv[1])
import blosc
import blp_make
raw = b"".join(struct.pack("<id", n // 3, n * 0.25) for n in range(9000))
packed, n = b"", 0
for cname, shuffle, level in itertools.product(blosc.compressor_list(), (0, 1, 2), (0, 1, 5, 9)):
    for typesize in (1, 4, 12, 255):
        packed += blp_make.sealed(blosc.compress(raw, typesize=typesize, clevel=level,
                                                 shuffle=shuffle, cname=cname))
        n += 1
open("a.blp", "wb").write(blp_make.header(chunk_size=len(raw), last=len(raw), nchunks=n) + packed)
open("a", "wb").write(raw * n)
END
    quietly bpk verify a.blp
    bpk cat a.blp | cmp - a
    bpk cat --bytes 5000000:5100000 a.blp >"$out"
    tail -c +5000001 a | head -c 100000 | cmp - "$out"
}

@test "fixtures: archives of python bloscpack" {
    need_fixtures bloscpack
    count=0
    for archive in "$BPK_FIXTURES"/bloscpack/*.blp; do
        bpk cat "$archive" | cmp - "${archive%.blp}.raw"
        cat "$archive" | bpk cat | cmp - "${archive%.blp}.raw"
        bpk verify "$archive"
        bpk info "$archive" >"$out"
        count=$((count + 1))
    done
    [ "$count" -ge 10 ]
}

@test "fixtures: chunks of every c-blosc since 1.3" {
    need_fixtures blosc1
    count=0
    while read -r sum size name; do
        bpk cat -F chunk "$BPK_FIXTURES/blosc1/$name" >"$out"
        [ "$(stat -c %s "$out")" -eq "$size" ]
        [ "$(sha256sum <"$out")" = "$sum  -" ] || die "$name"
        count=$((count + 1))
    done <"$BPK_FIXTURES/blosc1/SHA256SUMS.txt"
    [ "$count" -ge 10 ]
}

@test "fixtures: chunked directories' chunk files are archives of version 1" {
    need_fixtures bcolz
    for folder in "$BPK_FIXTURES"/bcolz/i4; do
        for file in "$folder"/data/*.blp; do bpk cat "$file"; done | cmp - "$folder.raw"
    done
}

@test "archives that python bloscpack packs are read" {
    need_bloscpack
    data records-12 300000 a
    for settings in "" "chunk_size=10K typesize=4 cname=zstd checksum=sha384" \
        "cname=lz4hc shuffle=2 checksum=None" "cname=snappy offsets=0 chunk_size=64K" \
        "cname=zlib clevel=9 checksum=md5 typesize=12 chunk_size=12K"; do
        # shellcheck disable=SC2086 # words
        bloscpack pack a a.blp $settings 'metadata={"run":[1,2.5,null]}'
        bpk cat a.blp | cmp - a
        bpk verify a.blp
        bpk info --json a.blp >info
        [ "$(json info 'json.loads(x["metadata"])')" = "{'run': [1, 2.5, None]}" ]
        rm a.blp
    done
}

@test "-F that contradicts the content is status 1, for every pair of formats" {
    data text 3000 x
    for format in blp chunked b2frame b2sparse; do
        quietly bpk pack -F $format -o $format x
    done
    for format in blp chunked b2frame b2sparse chunk; do
        for archive in blp chunked b2frame b2sparse; do
            [ $format != $archive ] || continue
            refuses 1 "has format $archive, not $format$" bpk unpack -F $format -o out $archive
            refuses 1 "has format $archive, not $format$" bpk verify -F $format $archive
            refuses 1 "has format $archive, not $format$" bpk append -F $format $archive x
        done
    done
}
