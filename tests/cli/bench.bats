load lib

# A short table: lz4 and pack's own choice.
short=(--codec lz4 --level 1 --filter shuffle)

# Packed bytes of all chunks of an archive.
packed() {
    bpk info -vv --json "$1" >info.json
    json info.json 'sum(c["packed_size"] for c in x["chunks"])'
}

# The packed size of a row in table.json: its place by codec, level and filter, or "default".
row() {
    [ "$1" != default ] || { json table.json '[r["packed_size"] for r in x["rows"] if r["default"]][0]'; return; }
    json table.json "[r['packed_size'] for r in x['rows']
        if (r['codec'], r['level'], r['filter']) == ('$1', $2, '$3')][0]"
}

@test "bench prints a row for each codec, level and filter, by ratio" {
    data field-f64 300000 a
    quietly bpk bench --codec lz4,zlib --level 1,4-5 --filter none --filter shuffle a
    head -n 1 "$out" | grep -qx 'a: 293.0 KiB in 1 chunk of 1.0 MiB, typesize 8, format blp, 1 thread'
    sed -n 2p "$out" | grep -q '^ *Ratio *Pack-MB/s *Unpack-MB/s .* Mark$'
    [ "$(wc -l <"$out")" -eq 15 ]
    for codec in lz4 zlib; do
        for level in 1 4 5; do
            for filter in none shuffle; do
                grep -Eq " $codec +$level +$filter +[a-z,-]+$" "$out" || die "no $codec $level $filter"
            done
        done
    done
    [ "$(grep -c default "$out")" -eq 1 ]
    grep -Eq '(-|,| )unpack$' "$out"
    sed 1,2d "$out" | awk '{ print $1 }' >ratios
    sort -rnc ratios
    awk 'NR > 1 && NF != 9 { exit 1 }' "$out" || die "a cell is empty or has a blank"
}

@test "by default all codecs, the filters that the format has, and four levels" {
    need_python
    data records 2000 a
    bpk bench --level 1 --filter none --json a >table.json
    [ "$(json table.json 'sorted({r["codec"] for r in x["rows"]})')" = \
        "['blosclz', 'lz4', 'lz4hc', 'snappy', 'zlib', 'zstd']" ]
    bpk bench --codec lz4 --json a >table.json
    [ "$(json table.json 'sorted({r["level"] for r in x["rows"] if not r["default"]})')" = '[1, 3, 5, 9]' ]
    [ "$(json table.json 'sorted({r["filter"] for r in x["rows"]})')" = "['bitshuffle', 'none', 'shuffle']" ]
    bpk bench -F b2frame --level 1 --json a >table.json
    [ "$(json table.json '"snappy" in {r["codec"] for r in x["rows"]}')" = False ]
    [ "$(json table.json 'sorted({r["filter"] for r in x["rows"] if r["codec"] == "lz4"})')" = \
        "['bitshuffle', 'delta,shuffle', 'none', 'shuffle', 'shuffle,bytedelta']" ]
}

@test "the sizes are those of pack with the same settings" {
    need_python
    data field-f64 1200000 field
    data records 300001 records
    data text 100000 text
    for name in field records text; do
        for format in blp b2frame; do
            filters=(none bitshuffle)
            [ $format = blp ] || filters+=(delta,shuffle shuffle,bytedelta)
            bpk bench -F $format --codec lz4,zstd --level 5 "${filters[@]/#/--filter=}" --json $name >table.json
            typesize=$(json table.json 'x["typesize"]')
            chunk=$(json table.json 'x["chunk_size"]')
            for codec in lz4 zstd; do
                for filter in "${filters[@]}"; do
                    sampled 3 || continue
                    bpk pack -f -F $format -o x --codec $codec -5 --filter $filter -t $typesize -z $chunk $name
                    [ "$(row $codec 5 $filter)" = "$(packed x)" ] || die "$name $format $codec $filter"
                done
            done
            bpk pack -f -F $format -o x $name
            [ "$(row default)" = "$(packed x)" ] || die "$name $format: default"
        done
    done
}

@test "the default row is the choice of pack, with filters for each chunk and chunks along arrays" {
    need_python
    "$python" "$tests/lib/gsd_mix.py" mix.gsd 4 a=f4:75000 b=f8:37500 c=u1:300000 step=u8:1
    { cat mix.gsd && "$BPK_MAKE_DATA" text 3000000 && "$BPK_MAKE_DATA" sorted-i64 3000000; } >mixed
    for name in mix.gsd mixed; do
        bpk bench "${short[@]}" --json $name >table.json
        bpk pack -f -o x.blp $name
        [ "$(row default)" = "$(packed x.blp)" ] || die "$name: $(cat table.json)"
        bpk bench "${short[@]}" -z 64K -t 4 --json $name >table.json
        bpk pack -f -z 64K -t 4 -o x.blp $name
        [ "$(row default)" = "$(packed x.blp)" ] || die "$name, 64K"
        [ "$(json table.json '(x["chunk_size"], x["typesize"])')" = '(65536, 4)' ]
    done
}

@test "raw files, archives and pipes give the same sizes, with any number of threads" {
    need_python
    data field-f64 3000000 a
    bpk pack -z 300K a
    bpk bench "${short[@]}" --json a >table.json
    expected=$(row lz4 1 shuffle)
    bpk bench "${short[@]}" -T 3 --json a.blp >table.json
    [ "$(row lz4 1 shuffle)" = "$expected" ]
    cat a.blp | bpk bench "${short[@]}" --json >table.json
    [ "$(row lz4 1 shuffle)" = "$expected" ]
    bpk bench "${short[@]}" --json - <a >table.json
    [ "$(row lz4 1 shuffle)" = "$expected" ]
    cat a | bpk bench "${short[@]}" --json >table.json
    [ "$(row lz4 1 shuffle)" = "$expected" ]
    [ "$(json table.json 'x["raw_size"], x["measured_size"]')" = '(None, 3000000)' ]
}

@test "a sample is spread over the data, in whole chunks" {
    need_python
    # the second half does not pack
    { head -c 4000000 /dev/zero && "$BPK_MAKE_DATA" noise 4000000; } >a
    bpk bench "${short[@]}" -z 10000 -t 1 --sample 405000 --json a >table.json
    [ "$(json table.json 'x["measured_size"], x["nchunks"], x["raw_size"]')" = '(400000, 40, 8000000)' ]
    [ "$(json table.json '200000 <= x["rows"][0]["packed_size"] <= 215000')" = True ]
    quietly bpk bench "${short[@]}" -z 10000 -t 1 --sample 405000 a
    grep -q '^a: 390.6 KiB of 7.6 MiB in 40 chunks' "$out"
    cat a | bpk bench "${short[@]}" -z 10000 -t 1 --sample 405000 >"$out"
    grep -q '^standard input: the first 390.6 KiB in 40 chunks' "$out"
    bpk bench "${short[@]}" -z 10000 --sample 1 a | grep -q 'in 1 chunk of'
    bpk bench "${short[@]}" --sample max a | grep -q '^a: 7.6 MiB in '
}

@test "several files: a table each, an object each, lines of one CSV" {
    need_python
    data field-f64 20000 a
    data text 20000 'b "c", d'
    quietly bpk bench "${short[@]}" a 'b "c", d'
    [ "$(grep -c ' thread$' "$out")" -eq 2 ]
    quietly bpk bench "${short[@]}" --json a 'b "c", d'
    "$python" -c 'import json, sys
paths = [json.loads(line)["path"] for line in open(sys.argv[1])]
assert paths == ["a", "b \"c\", d"], paths' "$out"
    quietly bpk bench "${short[@]}" --csv a 'b "c", d'
    "$python" -c 'import csv, sys
rows = list(csv.DictReader(open(sys.argv[1], newline="")))
assert [r["path"] for r in rows] == ["a"] * 2 + ["b \"c\", d"] * 2, rows
for r in rows:
    assert None not in r and None not in r.values(), r
    assert abs(float(r["ratio"]) - int(r["raw_size"]) / int(r["packed_size"])) < 1e-3 * float(r["ratio"])
    assert int(r["pack_rate"]) > 0 and int(r["unpack_memory"]) > 0
assert sum(int(r["default"]) for r in rows) == 2' "$out"
    leaves_one 1 'none' bpk bench "${short[@]}" none a
    [ "$(grep -c ' thread$' "$out")" -eq 1 ]
}

@test "--plot writes an SVG that is well-formed, with a title for each point" {
    need_python
    data field-f64 100000 'a<&">'
    quietly bpk bench --codec lz4,zstd --level 1-3 --plot p.svg 'a<&">'
    "$python" -c 'import sys, xml.etree.ElementTree as tree
svg = "{http://www.w3.org/2000/svg}"
root = tree.parse("p.svg").getroot()
assert root.tag == svg + "svg"
titles = [t.text for t in root.iter(svg + "title")]
rows = len(open(sys.argv[1]).readlines()) - 2
assert len(titles) == 2 * rows, (len(titles), rows)
assert sum("(default)" in t for t in titles) == 2
assert any(t.startswith("lz4, level 2, shuffle: ratio ") for t in titles), titles
texts = [t.text for t in root.iter(svg + "text")]
assert texts[0] == "a<&\">", texts
assert {"lz4", "zstd", "default", "Pareto front"} <= set(texts)
assert len(list(root.iter(svg + "polyline"))) == 2
for circle in root.iter(svg + "circle"):
    assert 0 < float(circle.get("cx")) < 1110 and 0 < float(circle.get("cy")) < 460' "$out"
    name=$(printf 'b\001\377\357\277\277')
    data noise 1 "$name"
    bpk bench "${short[@]}" -f --plot p.svg "$name" >/dev/null
    "$python" -c 'import xml.dom.minidom as m; m.parse("p.svg")'
}

@test "--plot replaces nothing without --force, and leaves nothing where it fails" {
    data field-f64 100000 a
    echo old >p.svg
    refuses 1 'p.svg: already exists' bpk bench "${short[@]}" --plot p.svg a
    [ ! -s "$out" ]
    refuses 1 '' bpk bench -f "${short[@]}" --plot a a
    refuses 1 'none/p.svg' bpk bench "${short[@]}" --plot none/p.svg a
    refuses 64 'single input' bpk bench --plot new.svg a a
    refuses 64 'name of a file' bpk bench --plot - a
    bpk pack -F chunked a
    refuses 1 'lies in the source' bpk bench "${short[@]}" --plot a.blpd/p.svg a.blpd
    quietly bpk bench -f "${short[@]}" --plot p.svg a
    grep -q '</svg>' p.svg
}

@test "a full disk: the table is printed, the plot fails" {
    [ -c /dev/full ] || skip "no /dev/full"
    data field-f64 100000 a
    refuses 1 '/dev/full.*[Nn]o space' bpk bench -f "${short[@]}" --plot /dev/full a
    grep -q default "$out"
    refuses 1 '[Nn]o space' sh -c '"$BPK" bench --codec lz4 --level 1 a >/dev/full'
}

@test "bad options are wrong usage" {
    data field-f64 1000 a
    refuses 64 "zstd" bpk bench --codec lz4,zsdt a
    refuses 64 "codec" bpk bench --codec '' a
    refuses 64 "codec" bpk bench --codec lz4, a
    for levels in 10 1,12 5-3 1- -3 x '' , 1,,2; do
        refuses 64 "not a list of levels" bpk bench --level="$levels" a
    done
    refuses 64 "shuffle" bpk bench --filter shufle a
    refuses 64 "loses precision" bpk bench -F b2frame --filter trunc:4,shuffle a
    refuses 64 "use -F b2frame" bpk bench --filter delta,shuffle a
    refuses 64 "no codec snappy" bpk bench -F b2frame --codec snappy a
    refuses 64 "json and --csv" bpk bench --json --csv a
    refuses 64 "sample" bpk bench --sample 0 a
    refuses 64 "but once" bpk bench - -
}

@test "empty and missing inputs have status 1, damaged archives status 2" {
    : >empty
    refuses 1 'empty: has no data' bpk bench empty
    refuses 1 'standard input: has no data' bpk bench </dev/null
    bpk pack empty
    refuses 1 'empty.blp: has no data' bpk bench empty.blp
    refuses 1 'none' bpk bench none
    data field-f64 300000 a
    bpk pack a
    printf 'damage' | dd of=a.blp bs=1 seek=100000 conv=notrunc 2>/dev/null
    refuses 2 'a.blp: chunk 0.*crc32' bpk bench "${short[@]}" --plot p.svg a.blp
    refuses 2 'standard input: chunk 0' sh -c 'cat a.blp | "$BPK" bench --codec lz4'
    data text 1000 false.blp
    refuses 2 'false.blp' bpk bench false.blp
}

@test "--memory-limit makes samples smaller, and refuses what does not fit" {
    need_plain_build
    data field-f64 16000000 part
    cat part part part part >a
    refuses 1 'memory, the limit is' bpk bench "${short[@]}" --memory-limit 4M a
    quietly "$BPK_PEAK" "$BATS_TEST_TMPDIR/peak" "$BPK" bench "${short[@]}" --memory-limit 32M a
    [ "$(cat "$BATS_TEST_TMPDIR/peak")" -le 36000 ] || die "$(cat "$BATS_TEST_TMPDIR/peak") KiB"
    grep -Eq ' of 61.0 MiB in ' "$out"
    bpk pack a
    quietly "$BPK_PEAK" "$BATS_TEST_TMPDIR/peak" "$BPK" bench "${short[@]}" --memory-limit 32M a.blp
    [ "$(cat "$BATS_TEST_TMPDIR/peak")" -le 36000 ] || die "$(cat "$BATS_TEST_TMPDIR/peak") KiB"
}

@test "--progress always draws a bar, a signal leaves no plot" {
    data field-f64 3000000 a
    bpk bench "${short[@]}" --progress always a 2>"$err" >"$out"
    grep -q '%' "$err"
    bpk bench "${short[@]}" a 2>"$err" >"$out"
    [ ! -s "$err" ]
    before=$(snapshot)
    env --default-signal=INT,TERM "$BPK" bench --level 9 --plot p.svg a >"$out" 2>"$err" &
    pid=$!
    eventually sh -c "ls -l /proc/$pid/fd | grep -q '$PWD/.*deleted'"
    kill -TERM $pid
    status=0
    wait $pid || status=$?
    [ "$status" -eq 143 ]
    [ "$(snapshot)" = "$before" ]
    [ ! -s "$out" ]
}
