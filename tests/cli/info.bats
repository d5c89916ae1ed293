load lib

@test "info prints one line for each archive, and a heading at most" {
    data field-f64 100000 a
    data text 5000 b
    bpk pack a b
    quietly bpk info a.blp
    grep -q 'a\.blp' "$out"
    lines=$(wc -l <"$out")
    [ "$lines" -le 2 ]
    quietly bpk info a.blp b.blp
    grep -q 'a\.blp' "$out"
    grep -q 'b\.blp' "$out"
    [ "$(wc -l <"$out")" -le 4 ]
    ! grep -qP '[\x00-\x08\x0b-\x1f\x7f]' "$out"
}

@test "info: columns stand below each other, whatever the filters" {
    data field-f64 50000 a
    for filters in none shuffle,bytedelta delta,shuffle,bytedelta,bitshuffle; do
        bpk pack -t 8 --filter $filters -o $filters.b2frame a
    done
    quietly bpk info *.b2frame
    [ "$(head -n 4 "$out" | sed -E 's/(Name|[^ ]*\.b2frame)$/@/' | awk '{ print index($0, "@") }' | uniq | wc -l)" -eq 1 ] ||
        die "$(cat "$out")"
    grep -qE ' delta,shuffle,\.\.\. +crc32' "$out"
}

@test "info -v says every field, -vv every chunk" {
    data field-f64 100000 a
    bpk pack -t 8 -z 32K --checksum sha256 --set run=7 a
    quietly bpk info -v a.blp
    for word in zstd sha256 100000 run; do grep -q "$word" "$out" || die "no $word" "$(cat "$out")"; done
    one=$(wc -l <"$out")
    quietly bpk info -vv a.blp
    [ "$(wc -l <"$out")" -ge $((one + 4)) ]
}

@test "info --json has the keys that scripts rely on" {
    need_python
    data field-f64 100000 a
    bpk pack -t 8 -z 32K --checksum sha256 --filter shuffle --set run=7 a
    quietly bpk info --json a.blp
    [ "$(wc -l <"$out")" -eq 1 ]
    [ "$(json "$out" 'list(x)[:3]')" = "['bpk', 'command', 'path']" ]
    [ "$(json "$out" 'x["bpk"], x["command"], x["path"]')" = "(1, 'info', 'a.blp')" ]
    [ "$(json "$out" 'x["raw_size"]')" = 100000 ]
    [ "$(json "$out" 'x["nchunks"], x["typesize"], x["checksum"]')" = "(4, 8, 'sha256')" ]
    [ "$(json "$out" 'x["chunk_size"]')" = 32768 ]
    [ "$(json "$out" 'json.loads(x["metadata"])')" = "{'run': 7}" ]
    quietly bpk info --json a.blp a.blp
    [ "$(wc -l <"$out")" -eq 2 ]
}

@test "info shows the array that NumPy's metadata describe, and only one that fits the data" {
    need_python
    data field-f64 4800 a
    numpy='{"dtype":"'"'<f8'"'","shape":[20,30],"order":"F","container":"numpy"}'
    printf '%s' "$numpy" >m.json
    bpk pack -t 8 --metadata m.json a
    quietly bpk info -v a.blp
    grep -qE 'dtype +<f8$' "$out"
    grep -qE 'shape +20 x 30, order F$' "$out"
    quietly bpk info --json a.blp
    [ "$(json "$out" 'x["dtype"], x["shape"], x["order"]')" = "('<f8', [20, 30], 'F')" ]
    quietly bpk verify -v a.blp
    ! grep -q 'describes an array' "$out"
    printf '%s' "${numpy/20/21}" >m.json
    bpk pack -f -t 8 --metadata m.json a
    quietly bpk info --json a.blp
    [ "$(json "$out" 'x["dtype"], x["shape"], x["order"]')" = "(None, None, None)" ]
    quietly bpk verify -v a.blp
    grep -q 'describes an array of 5040 bytes, the data has 4800' "$out"
}

@test "info --json: what a stream does not say is null" {
    need_python
    data field-f64 100000 a
    cat a | bpk pack 2>/dev/null | cat >s.blp
    cat s.blp | bpk info --json - >x
    [ "$(json x 'x["raw_size"], x["nchunks"]')" = "(None, None)" ]
}

@test "info: names are shown, not obeyed" {
    need_python
    data text 500 a
    name=$'evil\e[31m\nname'
    bpk pack -o "$name" a
    quietly bpk info "$name"
    ! grep -q $'\e' "$out"
    [ "$(wc -l <"$out")" -le 2 ]
    quietly bpk info --json "$name"
    [ "$(wc -l <"$out")" -eq 1 ]
    [ "$(json "$out" 'x["path"] == "evil\x1b[31m\nname"')" = True ]
    bpk pack -o $'bad\xff' a
    quietly bpk info --json $'bad\xff'
    [ "$(json "$out" '__import__("base64").b64decode(x["path_b64"]) == b"bad\xff"')" = True ]
    refuses 1 'evil' bpk info $'none\e[31mevil\nname'
    ! grep -q $'\e' "$err"
}

@test "info reads no more than it shows" {
    need_strace
    need_plain_build
    data field-f64 20000000 a
    bpk pack -z 64K a
    strace -f -o trace -e trace=read,pread64 "$BPK" info a.blp >"$out"
    bytes=$(awk '/ = [0-9]+$/ { sum += $NF } END { print sum + 0 }' trace)
    [ "$bytes" -lt 400000 ] || die "read $bytes bytes"
}

@test "info goes on after a bad file" {
    data text 500 a
    bpk pack a
    echo nonsense >b.blp
    status=0
    bpk info none.blp b.blp a.blp >"$out" 2>"$err" || status=$?
    [ "$status" -eq 2 ]
    [ "$(wc -l <"$err")" -eq 2 ]
    grep -q 'a\.blp' "$out"
}

# The example of the specification: three chunks, one of them zeros; layers demo and note.
small_frame() { # FILE
    printf '%s' 9ea862326672616d6500d200000074cf0000000000000199a412005003d30000000000000098 \
        d30000000000000098d200000004d200000000d200000040d10001d10001c3d80600000000000100 \
        000000000000000000 93cd0011de0001a464656d6fd20000006bdc0001c60000000481a16b01 \
        0501170440000000400000006000000000000000000100000000000000000000 \
        00000000010000000200000003000000040000000500000006000000070000000800000009000000 \
        0a0000000b0000000c0000000d0000000e0000000f000000 \
        0501170418000000180000003800000000000000000100000000000000000000 \
        000000000100000002000000030000000400000005000000 \
        0501170818000000180000003800000000000000000100000000000000000000 \
        000000000000000000000000000000816000000000000000 \
        940193cd0010de0001a46e6f7465d200000016dc0001c600000023 \
        0501070803000000010000002300000000000000000100000000000000000000a26869 \
        ce00000055d80000000000000000000000000000000000 |
        sed 's/../\\x&/g' | { IFS= read -r hex || true; printf '%b' "$hex"; } >"$1"
}

@test "info shows a frame's layers, and chunks that are not stored" {
    small_frame a.b2frame
    [ "$(wc -c <a.b2frame)" -eq 409 ]
    quietly bpk info -vv a.b2frame
    grep -qF '{"demo": {"k": 1}, "note": "hi"}' "$out"
    grep -qE 'layers +demo \(fixed, 4 bytes\), note \(3 bytes\)$' "$out"
    grep -qE '^ +1 +- +64 +0 +64 .* zeros ' "$out"
    quietly bpk verify a.b2frame
}

@test "info --json tells of a frame's layers" {
    need_python
    small_frame a.b2frame
    quietly bpk info --json -vv a.b2frame
    [ "$(json "$out" 'x["layers"][0]')" = \
        "{'name': 'demo', 'fixed': True, 'size': 4, 'content': '{\"k\": 1}'}" ]
    [ "$(json "$out" 'x["layers"][1]["fixed"], x["layers"][1]["content"]')" = "(False, '\"hi\"')" ]
    [ "$(json "$out" '[c["special"] for c in x["chunks"]]')" = "[None, 'zeros', None]" ]
    [ "$(json "$out" 'x["hole_size"], x["dictionary"], x["variable_blocks"]')" = "(0, False, None)" ]
}

@test "meta changes a frame's layers, and c-blosc2 finds them" {
    small_frame a.b2frame
    bpk cat a.b2frame >raw
    bpk meta set a.b2frame note=ho list=[1,2.5]
    [ "$(bpk meta get a.b2frame)" = '{"demo": {"k": 1}, "note": "ho", "list": [1, 2.5]}' ]
    bpk meta rm a.b2frame note
    [ "$(bpk meta get a.b2frame)" = '{"demo": {"k": 1}, "list": [1, 2.5]}' ]
    bpk meta set a.b2frame 'demo={"k":2}'
    refuses 1 "keeps its 4 bytes" bpk meta set a.b2frame 'demo={"k":1000}'
    refuses 1 'cannot be removed' bpk meta rm a.b2frame demo
    [ "$(bpk meta get a.b2frame)" = '{"demo": {"k": 2}, "list": [1, 2.5]}' ]
    quietly bpk verify a.b2frame
    bpk cat a.b2frame | cmp - raw
    need_oracle2
    "$oracle2" raw a.b2frame | cmp - raw
    "$oracle2" layer a.b2frame demo | cmp - <(printf '\x81\xa1k\x02')
    "$oracle2" layer a.b2frame list | cmp - <(printf '\x92\x01\xcb\x40\x04\0\0\0\0\0\0')
}

@test "info prints the row of an archive whose end is missing, and reports it" {
    data field-f64 200000 a
    for options in '' '--no-offsets' '--checksum none'; do
        bpk pack -f -z 16K $options a
        size=$(stat -c %s a.blp)
        for cut in 1 5 1000 $((size / 2)); do
            head -c $((size - cut)) a.blp >cut.blp
            refuses 2 '^bpk: cut.blp: ' bpk info cut.blp
            grep -q ' cut.blp$' "$out" || die "no row: $options, $cut bytes"
        done
    done
    bpk pack -z 16K -o a.blpd a
    bpk pack -z 16K -o a.b2s a
    bpk pack -z 16K -o a.b2frame a
    quietly bpk info a.blp a.blpd a.b2s a.b2frame
    for format in blpd b2s; do
        for what in rm "truncate -s -1" "truncate -s 10"; do
            rm -rf cut.$format
            cp -r a.$format cut.$format
            file=$(find cut.$format -name '*.bin' -o -name '0000000A.chunk')
            $what "$file"
            refuses 2 "^bpk: cut.$format: |^bpk: .*10 " bpk info cut.$format
            grep -q " cut.$format\$" "$out" || [ "$format" = blpd ] || die "no row: $what $format"
        done
    done
    head -c -1 a.b2frame >cut.b2frame
    refuses 2 '^bpk: cut.b2frame: ' bpk info cut.b2frame
}
