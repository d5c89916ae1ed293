# bpk COMMAND --json: an object for every input, good, damaged or missing, each as the schema says.

load lib

corpus=$BATS_TEST_DIRNAME/../fuzz/corpus/layout

# STATUS LINES COMMAND...: its exit status, the number of its lines, which the schema allows; the
# gravest status in them is the command's.
lines() {
    local expected=$1 count=$2 found
    shift 2
    ends "$expected" "$@"
    found=$("$python" "$tests/lib/json_lines.py" "$tests/../man/bpk-json.schema.json" "$out") ||
        die "$*" "$found"
    [ "$found" -eq "$count" ] || die "$found lines, expected $count: $*" "$(cat "$out")"
    "$python" -c 'import json, sys
rank = [0, 1, 5, 4, 3, 2]
found = [json.loads(line)["status"] for line in open(sys.argv[1])]
sys.exit(max(found, key=rank.index) != int(sys.argv[2]))' "$out" "$expected" ||
        die "no line has status $expected: $*" "$(cat "$out")"
}

# What the record says of PATH: the value of an expression.
of() { # PATH EXPRESSION
    grep -F "\"path\":\"$1\"" "$out" >line
    json line "$2"
}

# What every test begins with.
inputs() {
    need_python
    data text 30000 a
    bpk pack -q -z 4K a
    head -c 3000 a.blp >cut.blp
    cp "$corpus/gsd-2" t.gsd
    bpk pack -q t.gsd
}

@test "json: info, ls and verify of good, damaged and missing inputs, of every format" {
    inputs
    for format in chunked b2frame b2sparse; do
        bpk pack -q -F $format -z 4K --set x=1 -o a.${suffix[$format]} a
    done
    local all=(a.blp a.blpd a.b2frame a.b2s t.gsd.blp cut.blp none a)
    for options in info "info -vv" ls "ls -l" verify "verify --quick"; do
        lines 2 ${#all[@]} bpk $options --json "${all[@]}"
        [ "$(of none 'x["status"], x["error"]')" = \
            "(1, 'none: cannot open: No such file or directory')" ] || die "$(cat "$out")"
        [ "$(of cut.blp 'x["status"]')" = 2 ]
        [ "$(of a.blpd 'x["status"], x["error"], x["raw_size"]')" = "(0, None, 30000)" ]
        sed 's/^bpk: //' "$err" >said
        "$python" -c 'import json, sys
for line in open(sys.argv[1]):
    if json.loads(line)["error"]: print(json.loads(line)["error"])' "$out" >errors
        # verify prints more lines for a file with several damaged chunks
        awk -F': ' '!seen[$1]++' said | cmp - errors
    done
    lines 0 2 bpk info --stats --json t.gsd t.gsd.blp
    lines 0 1 bpk verify --json t.gsd
}

@test "json: verify of trees and tars" {
    inputs
    mkdir d
    cp a.blp cut.blp d
    lines 2 2 bpk verify -r --json d
    lines 1 2 bpk verify -r --at-least 3 --json d/a.blp
    grep -q '"path":null,"status":1,' "$out"
    bpk tar -q -f t.tar a.blp
    lines 0 1 bpk verify --json t.tar
    [ "$(of t.tar:a.blp 'x["status"]')" = 0 ]
    head -c 1500 t.tar >cut.tar
    ends 2 bpk verify --json cut.tar
    "$python" "$tests/lib/json_lines.py" "$tests/../man/bpk-json.schema.json" "$out"
    mkdir empty
    lines 1 1 bpk verify -r --json empty
}

@test "json: pack, unpack and convert" {
    inputs
    lines 1 3 bpk pack -f --json a none t.gsd
    lines 1 2 bpk pack --json a t.gsd
    grep -q '"error":"a.blp: already exists' "$out" || die "$(cat "$out")"
    lines 0 1 bpk pack --update --json a
    [ "$(of a 'x["skipped"], x["status"]')" = "('its archive is up to date', 0)" ] || die "$(cat "$out")"
    lines 2 3 bpk unpack -f --json a.blp cut.blp none.blp
    lines 0 1 bpk unpack --json --name particles/position -o p.npy t.gsd.blp
    lines 0 1 bpk convert --json a.blp b.b2frame
    lines 1 1 bpk convert --json a.blp b.b2frame
    lines 2 1 bpk convert --json cut.blp c.b2frame
    lines 0 1 bpk convert-to-chunked --json a.blp b.blpd
}

@test "json: cmp and bench" {
    inputs
    cp a b
    echo more >>b
    lines 0 1 bpk cmp --json a a.blp
    lines 5 1 bpk cmp --json b a.blp
    lines 2 1 bpk cmp --json a cut.blp
    lines 1 1 bpk cmp --json a none
    mkdir d e
    cp a b d
    cp a e
    lines 5 2 bpk cmp -r --json d e
    lines 1 2 bpk bench --codec lz4 --level 1 --filter none --json a none
}

@test "json: the commands that change an archive" {
    inputs
    lines 0 1 bpk append --json a.blp a
    lines 1 1 bpk append --json none a
    lines 0 1 bpk truncate --json --bytes 100 a.blp
    lines 1 1 bpk truncate --json --bytes 1000000 a.blp
    lines 0 1 bpk write --json --at 0 a.blp <<<x
    lines 1 1 bpk write --json --at 0 none <<<x
    lines 0 1 bpk meta set --json a.blp x=1
    lines 1 1 bpk meta set --json none x=1
    lines 0 1 bpk append --json t.gsd --step 9
    lines 0 1 bpk truncate --json --frames 1 t.gsd
    lines 1 1 bpk truncate --json --frames 1 none.gsd
    bpk pack -q -o a.b2frame a
    lines 1 2 bpk repair --json --repack a.b2frame none
    ends 1 bpk repair --json none
    "$python" "$tests/lib/json_lines.py" "$tests/../man/bpk-json.schema.json" "$out"
}

@test "json: tar" {
    inputs
    lines 0 2 bpk tar --json -f t.tar a.blp t.gsd.blp
    lines 1 1 bpk tar --json -f u.tar a.blp none
    lines 0 2 bpk tar -t --json t.tar
    lines 0 2 bpk tar -x --json -C . --force t.tar
    lines 4 2 bpk tar -x --json -C . t.tar
    head -c 16900 t.tar >cut.tar
    lines 2 2 bpk tar -t --json cut.tar
    [ "$(head -n 1 "$out" | grep -c '"status":0,')" -eq 1 ]
    lines 1 1 bpk tar -t --json none
    lines 0 1 bpk ls --json t.tar
}

@test "json: names that are not UTF-8, or hold control characters" {
    inputs
    local odd=$'odd\xff\e\n"'
    cp a.blp "$odd.blp"
    lines 1 2 bpk info --json "$odd.blp" "$odd"
    grep -Fq '"error":"odd\\xff\\x1b\\x0a\": cannot open' "$out" || die "$(cat "$out")"
    "$python" -c 'import base64, json, sys
for line in open(sys.argv[1]):
    assert base64.b64decode(json.loads(line)["path_b64"]).startswith(b"odd\xff\x1b\n\"")' "$out"
    lines 1 1 bpk unpack --json "$odd"
    lines 0 1 bpk unpack --json "$odd.blp"
    lines 0 1 bpk tar --json -f t.tar "$odd.blp"
    lines 0 1 bpk tar -t --json t.tar
}
