# Files of other programs, and raw files, where an archive is expected; file(1) on archives.

load lib

corpus=$tests/fuzz/corpus/layout

# NAME TOOL BYTES: a file that begins with BYTES, as printf spells them.
foreign() {
    printf '%b%s' "$3" 'and more bytes that need not be right, since nobody reads them' >f
    for command in cat verify "unpack -c" info ls; do
        refuses 1 "^bpk: f: is $1, not an archive; see $2\(1\)$" bpk $command f
    done
    refuses 1 "^bpk: standard input: is $1, not an archive; see $2\(1\)$" sh -c 'cat f | "$BPK" cat'
}

@test "foreign: compressed files, HDF5 and SQLite are named, with their tools" {
    foreign 'a zstd file' zstd '\x28\xb5\x2f\xfd'
    foreign 'a gzip file' gzip '\x1f\x8b\x08'
    foreign 'an xz file' xz '\xfd7zXZ\x00'
    foreign 'a bzip2 file' bzip2 'BZh91AY&SY'
    foreign 'an LZ4 file' lz4 '\x04\x22\x4d\x18'
    foreign 'an HDF5 file' h5dump '\x89HDF\r\n\x1a\n'
    foreign 'an SQLite database' sqlite3 'SQLite format 3\x00'
}

@test "foreign: a parity file is named" {
    echo data >a
    bpk pack -q --parity 5 -o a.blp a
    for command in info ls verify unpack; do
        refuses 1 '^bpk: a.blp.bpp: is the parity of an archive, not an archive; see bpk-parity\(1\)$' \
            bpk $command a.blp.bpp
    done
}

@test "foreign: commands that look for arrays, or change an archive, name the file too" {
    printf '\x28\xb5\x2f\xfdmore' >f
    for command in plot "cat --text" "cat --name x" append "truncate --bytes 1" "write --at 1"; do
        refuses 1 '^bpk: f: is a zstd file, not an archive; see zstd\(1\)$' bpk $command f
    done
}

@test "foreign: an archive's name does not hide the content" {
    printf '\x1f\x8b\x08more' >a.blp
    refuses 2 '^bpk: a.blp: is a gzip file, not an archive; see gzip\(1\)$' bpk verify a.blp
    : >empty.blp
    : >empty
    refuses 2 '^bpk: empty.blp: is empty, not an archive$' bpk unpack empty.blp
    for command in cat info ls verify; do
        refuses 1 '^bpk: empty: is empty, not an archive$' bpk $command empty
    done
}

@test "foreign: raw files are named, and pack" {
    local -A names=([dcd-2]=DCD [trr-2]=TRR [gsd-2]=GSD [cdf-1]=NetCDF [fits-f4]=FITS [wav-16]=WAV
        [npy-f8]='\.npy' [npz-two]='\.npz')
    for f in "${!names[@]}"; do
        cp "$corpus/$f" .
        for command in cat unpack "meta get"; do
            refuses 1 "^bpk: $f: is a raw ${names[$f]} file, not an archive; bpk pack $f packs it$" bpk $command "$f"
        done
        [ "$f" = gsd-2 ] ||
            refuses 1 "^bpk: $f: is a raw ${names[$f]} file, not an archive; bpk pack $f packs it$" bpk verify "$f"
        quietly bpk pack -q "$f"
    done
    printf '\x00\x00\x07\xcb\x00\x00\x00\x03\x00\x00\x00\x01\x00\x00\x00\x01' >x.xtc
    refuses 1 '^bpk: x.xtc: is a raw XTC file, not an archive; bpk pack x.xtc packs it$' bpk cat x.xtc
    # cut in its head it is not called one that bpk reads
    head -c 100 dcd-2 >cut
    refuses 1 '^bpk: cut: begins like a raw DCD file, but bpk finds no array in it$' bpk ls cut
}

@test "foreign: compressed members of an .npz are named" {
    need_python
    cp "$corpus/npy-f8" a
    "$python" -c 'import zipfile
with zipfile.ZipFile("m.npz", "w") as z:
    z.write("a", "p.npy", zipfile.ZIP_STORED)
    for name in "q.npy", "r.npy": z.write("a", name, zipfile.ZIP_DEFLATED)'
    bpk ls m.npz >"$out" 2>"$err"
    [ "$(wc -l <"$out")" -eq 1 ]
    says "^bpk: m.npz: 'q' is compressed in the zip, and left out, with 1 more$"
    bpk info -v m.npz >"$out"
    grep -q "left out  *'q' is compressed" "$out" || die "$(cat "$out")"
    bpk ls --json m.npz >"$out" 2>/dev/null
    grep -Fq "\"content_left_out\":\"'q' is compressed" "$out" || die "$(cat "$out")"
    for name in q r; do
        refuses 1 "^bpk: m.npz: '$name' is compressed in the zip; unzip\(1\) extracts it$" bpk cat --name $name m.npz
        refuses 1 "'$name' is compressed in the zip" bpk unpack --name $name -o x.npy m.npz
    done
    bpk pack -q m.npz
    refuses 1 "^bpk: m.npz.blp: 'q' is compressed in the zip; unzip\(1\) extracts it$" bpk cat --name q m.npz.blp
    refuses 1 "^bpk: m.npz: has no array 'zzz'; it has p$" bpk cat --name zzz m.npz
    refuses 1 "has no array 'zzz'; it has time, lambda, box, x$" bpk cat --name zzz "$corpus/trr-2"
}

@test "foreign: file(1) names archives by bpk.magic" {
    need file
    data records 30000 a
    bpk pack -q -z 8K -t 8 a
    bpk pack -q -F b2frame -z 8K -t 8 a
    bpk pack -q -F b2sparse -z 8K -t 8 a
    printf 'bpkr and more' >journal
    names() { [[ $(file -b -m "$tests/../man/bpk.magic" "$1") =~ $2 ]] || die "$(file -m "$tests/../man/bpk.magic" "$1")"; }
    names a.blp '^Bloscpack archive, version 3, elements of 8 bytes, chunks: 4, of up to 8192 bytes'
    names a.b2frame '^Blosc2 frame, 30000 bytes unpacked, elements of 8 bytes, chunks of up to 8192 bytes'
    names a.b2s/chunks.b2frame '^Blosc2 frame'
    names journal '^journal of bpk'
    for archive in "$tests"/data/bloscpack/good-*.blp; do names "$archive" '^Bloscpack archive, version [123]'; done
    for frame in "$tests"/data/frame/good-*.b2frame; do names "$frame" '^Blosc2 frame'; done
    for raw in "$tests"/data/frame/good-*.raw; do
        ! file -b -m "$tests/../man/bpk.magic" "$raw" | grep -q '^Blosc' || die "$raw"
    done
}
