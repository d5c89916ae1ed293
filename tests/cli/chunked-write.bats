# Chunked directories that bpk writes, before programs that share no line with it.
load lib

bcolz() { "$python" "$tests/lib/bcolz_reader.py" "$@"; }

# Numpy's metadata of a dtype and shape, as python bloscpack spells them.
numpy() { # DTYPE SHAPE [ORDER]
    printf '{"dtype":"%s","shape":[%s],"order":"%s","container":"numpy"}' "$1" "$2" "${3:-C}"
}

# RAW OUT METADATA [OPTIONS]: a Bloscpack file, then converted.
convert_raw() {
    local raw=$1 directory=$2 metadata=$3
    shift 3
    printf '%s' "$metadata" >metadata
    quietly bpk pack -f --metadata metadata -z 1200 --codec lz4 --filter shuffle -t 4 \
        -o "$raw.blp" "$raw"
    rm -rf "$directory"
    quietly bpk convert "$@" "$raw.blp" "$directory"
}

@test "superchunks are Bloscpack files to other readers" {
    need_blosc
    data text 50000 a
    for checksum in none adler32 crc32 md5 sha1 sha224 sha256 sha384 sha512; do
        rm -rf a.blpd
        quietly bpk pack -f --checksum "$checksum" -z 4K a
        quietly bpk convert --superchunk-size 12K a.blp a.blpd
        for i in 1 2 3 4 5; do
            reader unpack "a.blpd/data/__${i}__.bin"
        done >joined
        same a joined
        [ "$(ls a.blpd/data | wc -l)" -eq 5 ]
    done
}

@test "superchunks unpack with python bloscpack" {
    need_bloscpack
    data text 50000 a
    quietly bpk pack -z 4K a
    quietly bpk convert --superchunk-size 12K a.blp a.blpd
    split -b 12288 -d a part
    for i in 1 2 3 4 5; do
        cp "a.blpd/data/__${i}__.bin" "part0$((i - 1)).blp"
        bloscpack compare "part0$((i - 1)).blp" "part0$((i - 1))"
    done
}

@test "arrays in the layout of bcolz are what bcolz opens" {
    need_blosc
    data text 12000 a
    while read -r dtype shape; do
        convert_raw a b.blpd "$(numpy "$dtype" "$shape")" --layout bcolz --codec zstd
        bcolz compare b.blpd a
        quietly bpk verify b.blpd
        quietly bpk convert b.blpd back.blp
        same <(bpk meta get a.blp) <(bpk meta get back.blp)
        rm back.blp
    done <<'CASES'
'<i4' 3000
'>i2' 6000
'<f8' 1500
'<f4' 300,10
'|b1' 12000
'|S3' 4000
'<U5' 600
'<M8[ns]' 1500
'<c16' 750
CASES
}

@test "a table in the layout of bcolz is what bcolz opens" {
    need_blosc
    data text 12000 a
    convert_raw a b.blpd "$(numpy "[('x', '<f4'), ('y', '|S8')]" 1000)" --layout bcolz --codec zstd
    bcolz unpack b.blpd x >x
    bcolz unpack b.blpd y >y
    "$python" -c 'import sys
a, x, y = (open(name, "rb").read() for name in "axy")
assert x == b"".join(a[i:i + 4] for i in range(0, len(a), 12))
assert y == b"".join(a[i + 4:i + 12] for i in range(0, len(a), 12))'
    quietly bpk verify b.blpd
    bpk cat b.blpd | cmp - a
}

@test "what bpk changed in the layout of bcolz is still what bcolz opens" {
    need_blosc
    data text 12000 a
    data random-i32 1000 more
    convert_raw a b.blpd "$(numpy "'<i4'" 3000)" --layout bcolz
    quietly bpk append b.blpd more
    cat a more >grown
    bcolz compare b.blpd grown
    quietly bpk truncate --bytes 5000 b.blpd
    head -c 5000 a >short
    bcolz compare b.blpd short
    quietly bpk write --at 1000 b.blpd more
    { head -c 1000 a; cat more; tail -c +2001 a | head -c 3000; } >written
    bcolz compare b.blpd written
    quietly bpk meta set b.blpd answer=42
    bcolz compare b.blpd written
    quietly bpk verify b.blpd
}

# A row for each byte of the text: that letter four times, in the column x, and eight times, in y.
rows_of() { sed -E 's/(.)/\1\1\1\1\1\1\1\1\1\1\1\1/g' | tr -d '\n'; }

# NAME: a table of bcolz with 1000 rows.
make_table() {
    printf 'o%.0s' {1..1000} | rows_of >a
    bpk pack -q -f -F chunked --layout bcolz -z 4K --dtype "[('x','|S4'),('y','|S8')]" --shape 1000 -o "$1" a
}

@test "a table of bcolz: of two that append at once nothing is lost, nor beside one that writes to a column" {
    local name letter pids
    make_table t
    for name in p q; do
        (for i in {1..25}; do printf '%s%s' "$name" "$name" | rows_of | "$BPK" append -q --wait t - || exit 1; done) &
        pids+=" $!"
    done
    for letter in b c d e f g h i j k; do
        printf '%s%s%s%s' $letter $letter $letter $letter >w
        "$BPK" write -q --wait --at 3992 t/x w
    done
    for pid in $pids; do wait "$pid"; done
    quietly bpk verify t
    bpk cat t >content
    [ "$(stat -c %s content)" -eq $((12 * 1100)) ]
    for name in p q; do [ "$(tail -c +12001 content | tr -cd $name | wc -c)" -eq $((12 * 50)) ] || die "$name"; done
    # whole rows, in pairs
    [ -z "$(tail -c +12001 content | fold -w 24 | grep -vE '^(p{24}|q{24})$')" ] || die "torn rows"
    [ "$(head -c 11980 content | tail -c 4)" = kkkk ]
}

@test "a column of a table of bcolz is changed under the table's lock, and keeps its rows" {
    make_table t
    head -c 4 a >w
    quietly bpk write --at 0 t/x w # locks are made
    for path in t/x t/x/ link; do
        [ $path != link ] || ln -s t/x link
        refuses 1 'is a column of a table of bcolz, whose columns have the same rows; change the table' bpk append $path a
        refuses 1 'is a column of a table' bpk truncate --bytes 4 $path
    done
    mkfifo pipe
    "$BPK" append t - <pipe &
    exec 5>pipe
    # until the append holds the lock, the same bytes are written once more
    refused() { ! bpk write --at 0 t/x w 2>"$err" && grep -q 'the table that it is a column of: is being changed' "$err"; }
    eventually refused
    exec 5>&-
    wait $!
    # an append of bcolz that was interrupted: the column can be cut
    mkdir other
    cp -r t/x other/x
    quietly bpk append other/x w
    rm -r t/x
    cp -r other/x t/x
    refuses 2 'y/meta/sizes: has 1000 rows, the first column 1001' bpk cat t
    quietly bpk truncate --bytes 4000 t/x
    quietly bpk verify t
    bpk cat t | cmp - a
}

@test "one job and eight, a file and a pipe write the same" {
    data text 300000 a
    quietly bpk pack -F chunked -z 4K -T 1 -o one.blpd a
    quietly bpk pack -F chunked -z 4K -T 8 -o eight.blpd a
    bpk cat one.blpd | bpk pack -q -F chunked -z 4K -o pipe.blpd -
    diff -r one.blpd eight.blpd
    diff -r one.blpd pipe.blpd
}

@test "a round trip gives metadata back to the byte" {
    data text 12000 a
    while read -r metadata; do
        for layout in blaze bcolz; do
            convert_raw a b.blpd "$metadata" --layout "$layout"
            quietly bpk convert b.blpd back.blp
            same <(bpk meta get a.blp) <(bpk meta get back.blp)
            same <(bpk unpack -c back.blp) a
            rm back.blp
        done
    done <<'CASES'
{"temp": 22.50}
{ "spaces" : [1,2 ] }
[1,2,3]
{}
{"dtype":"'<f4'","shape":[300,10],"order":"C","container":"numpy"}
{"dtype":"'<f4'","shape":[300,10],"order":"F","container":"numpy"}
{"dtype":"'|u1'","shape":[12000],"order":"C","container":"numpy"}
{"dtype":"'<f4'","shape":[300,10],"order":"C","container":"numpy","extra":1}
{"shape": [300, 10], "dtype": "'<f4'", "order": "C", "container": "numpy"}
{"dtype":"'<f4'","shape":[77],"order":"C","container":"numpy"}
{"dtype":"[('x', '<f4'), ('y', '<f8')]","shape":[1000],"order":"C","container":"numpy"}
{"numpy":{"shape":[3000],"order":"C"}}
CASES
}

@test "a directory replaces only what it may" {
    data text 3000 a
    quietly bpk pack -F chunked -o a.blpd a
    refuses 1 'already exists' bpk pack -F chunked -o a.blpd a
    quietly bpk pack -f -F chunked -o a.blpd a
    echo mine >a.blpd/notes
    refuses 1 'notes' bpk pack -f -F chunked -o a.blpd a
    rm a.blpd/notes
    quietly bpk verify a.blpd
}

# No chunk has a checksum here, and sizes would get digests that match the damage.
@test "sizes that count rows which the last chunk does not hold: nothing is built on them" {
    data field-f32 300000 raw
    head -c 100 raw >more
    for rows in 81920 80000; do
        bpk pack -q -f -z 64K --dtype '<f4' -F chunked -o x raw
        echo "{\"shape\": [$rows], \"nbytes\": $((4 * rows)), \"cbytes\": 65536}" >x/meta/sizes
        cp -r x before
        ends 2 bpk append x more
        says "data/__1__.bin: chunk 4 at offset .* unpacks to 37856 bytes, sizes and storage say at least"
        diff -r -x .lock before x
        rm -rf x before
    done
}

@test "a damaged last chunk without a checksum is not built on" {
    local change
    data noise 1920 a
    data noise 40 b
    for layout in bcolz blaze; do
        rm -rf was
        bpk pack -q -F chunked --layout $layout --checksum none -t 4 -0 -z 512 --superchunk-size 1K --plain -o was a
        file=$(find was/data -type f | sort | tail -n 1)
        printf X | dd of="$file" bs=1 seek=$(($(wc -c <"$file") - 60)) conv=notrunc status=none
        bpk verify was 2>/dev/null && die "verify passes over it"
        for change in "append x b" "append --copy x b" "write --at 1600 x b" "write --at 1880 x b" \
            "truncate --bytes 1900 x"; do
            rm -rf x
            cp -r was x
            # shellcheck disable=SC2086 # words
            bpk $change 2>"$err" && die "$layout: $change"
            says 'meta/sizes: its digests do not match the last chunk'
            bpk cat x | cmp - <(bpk cat was)
            bpk verify x 2>/dev/null && die "$layout: $change: verify passes over it"
        done
        # a truncation below it drops it
        rm -rf x
        cp -r was x
        bpk truncate -q --bytes 1000 x
        quietly bpk verify x
        bpk cat x | cmp - <(head -c 1000 a)
    done
}

@test "an append with another codec that is killed before its commit leaves the old state whole" {
    need_nth
    need_python
    local n status checksum codec
    "$python" -c 'import random
r = random.Random(9)
t = "".join("%d %f\n" % (r.randrange(10**6), r.random()) for i in range(200)).encode()
open("A", "wb").write(t[:1129]); open("more", "wb").write(t[1129:2600])'
    for checksum in none crc32; do
        for codec in lz4 zlib; do
            bpk pack -f -q -z 512 --checksum $checksum --codec zstd --superchunk-size 1536 -o was.blpd A
            for ((n = 1; n < 400; n++)); do
                rm -rf x.blpd
                cp -a was.blpd x.blpd
                status=0
                "$nth" -n "$n" -a after "$BPK" append -q -T 1 --codec $codec x.blpd more >"$out" 2>&1 || status=$?
                [ "$status" -ne 125 ] || skip "this machine does not let processes be traced"
                [ "$status" -ne 0 ] || break
                status=0
                bpk verify x.blpd >"$out" 2>&1 || status=$?
                [ $status -eq 0 ] || [ $status -eq 3 ] || die "call $n: $status $(cat "$out")"
            done
            [ $n -lt 400 ]
        done
    done
}
