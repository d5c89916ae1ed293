# bpk verify over many nights: --state, --max-time, --max-age.

load lib

# N archives in d, and nothing else.
tree() { # N
    mkdir -p d
    data records 500 a
    bpk pack -q a
    for i in $(seq "$1"); do
        cp -p a.blp "d/$(printf %03d "$i").blp"
    done
}

# "KIND PATH" of each line of the state.
kinds() { sed -n '/^\(good\|bad\|never\|new\|changed\|other\) /s/ .* / /p' "${1:-state}"; }

# Make the checks of the state older by SECONDS, and give it its CRC.
age() { # SECONDS [PATH]
    "$python" - "$1" "${2:-}" <<'END'
import sys, zlib
lines = open("state", "rb").read().splitlines()[:-1]
ns = int(sys.argv[1]) * 10 ** 9
for i, line in enumerate(lines[1:], 1):
    kind, good, last, rest = line.split(b" ", 3)
    if sys.argv[2].encode() in rest.split(b" ")[-1]:
        lines[i] = b"%s %d %d %s" % (kind, int(good) - ns, int(last) - ns, rest)
text = b"\n".join(lines) + b"\n"
open("state", "wb").write(text + b"end %d %08x\n" % (len(lines) - 1, zlib.crc32(text)))
END
}

@test "verify --state notes every file, whatever its name, and writes nothing else" {
    tree 3
    mv d/002.blp $'d/2 %\n\xff\xc3\xa9.blp'
    echo text >d/notes
    before=$(cd d && snapshot)
    quietly bpk verify -r --state state d
    [ "$(cd d && snapshot)" = "$before" ]
    [ "$(kinds)" = "$(printf '%s\n' 'good d/001.blp' 'good d/003.blp' 'good d/2%20%25%0a%ff%c3%a9.blp' 'other d/notes')" ] ||
        die "$(cat state)"
    quietly bpk verify -r --state state d
    ends 0 bpk verify -r -v --state state d
    grep -q '^state: 4 files checked; of 3 archives 0 wait for a check, 0 are bad, and the oldest good check is 0 seconds old$' "$out"
    mkdir sub
    quietly bpk verify -r --state sub/s d
    [ "$(ls -A sub)" = s ]
}

@test "verify --state notes no quick check" {
    tree 1
    refuses 64 'only one of --quick and --state can be given' bpk verify -r --quick --state state d
}

@test "verify --state: damaged files first, then new ones, then those checked longest ago" {
    need_python
    tree 5
    quietly bpk verify -r --state state d
    age 100 003
    age 200 002
    printf XXXX | dd of=d/004.blp bs=1 seek=400 conv=notrunc status=none
    ends 2 bpk verify -q -r --state state d
    [ "$(kinds | grep -v good)" = 'bad d/004.blp' ] || die "$(cat state)"
    cp a.blp d/000.blp
    touch -d '2020-01-01' d/005.blp
    age 100 003
    age 200 002
    ends 2 bpk verify -v -r --state state d
    # the lines of sound files, in their order
    [ "$(sed -n 's/^d\/\(...\).*: ok.*/\1/p' "$out" | tr '\n' ' ')" = '005 000 002 003 001 ' ] ||
        [ "$(sed -n 's/^d\/\(...\).*: ok.*/\1/p' "$out" | tr '\n' ' ')" = '000 005 002 003 001 ' ] || die "$(cat "$out")"
    cp -p a.blp d/004.blp
    quietly bpk verify -r --state state d
    [ "$(kinds | grep -c good)" -eq 6 ]
}

@test "verify --state, killed at any point, leaves a whole state" {
    need_nth
    tree 40
    # dead before the file is replaced, at each of its calls
    for n in $(seq 1 6 200); do
        status=0
        "$nth" -n "$n" -a kill "$BPK" verify -T 1 -r --state state d >"$out" 2>&1 || status=$?
        [ "$status" -ne 125 ] || skip "this machine does not let processes be traced"
        [ ! -e state ] || [ "$(tail -n 1 state | cut -c 1-7)" = "end 40 " ] || die "$(cat state)"
        [ "$status" -ne 0 ] || break
    done
}

@test "verify --max-time --state goes on where the last run ended" {
    tree 1
    mkfifo p1 p2 p3
    # each takes longer than the time
    for next in p1 p2 p3 p1; do
        (sleep 1.1; timeout 20 cat a.blp >$next) 3>&- &
        ends 0 timeout 20 "$BPK" verify -v --max-time 1 --state state p1 p2 p3
        wait
        [ "$(sed -n 's/^\(..\): ok.*/\1/p' "$out")" = $next ] || die "$next" "$(cat "$out")"
    done
}

# BPK_ROTA=N: so many archives; 100000 take five minutes.
@test "verify --state: no archive has its second turn before all had one, whatever ends the runs" {
    need_python
    data noise 250 a
    bpk pack -q a
    "$python" "$tests/lib/rota.py" a.blp "${BPK_ROTA:-120}" >"$out" || die "$(cat "$out")"
    echo "# $(cat "$out")" >&3
}

@test "verify --state: an archive that is gone is reported once" {
    tree 3
    quietly bpk verify -r --state state d
    rm d/002.blp
    refuses_once() { ends 1 bpk verify -r --state state d && says '^bpk: d/002.blp: is missing, it was there at its last check$'; }
    refuses_once
    quietly bpk verify -r --state state d
    # an empty tree is an unmounted one: nothing is forgotten
    mkdir e
    ends 1 bpk verify -r --state state e
    [ "$(kinds | wc -l)" -eq 2 ] || die "$(cat state)"
    # nor are files that only other operands have
    cp a.blp e
    quietly bpk verify -r --state state e
    [ "$(kinds | wc -l)" -eq 3 ] || die "$(cat state)"
}

@test "verify --state: a name that never was a file's is reported when it is given, and never again" {
    tree 2
    ends 1 bpk verify -r --state state d d/never
    says "^bpk: d/never: cannot open: No such file"
    quietly bpk verify -r --state state d
    [ "$(kinds | wc -l)" -eq 2 ] || die "$(cat state)"
}

@test "verify --state --json: an object for each archive that is gone; a run that ends early keeps none, a killed one all" {
    need_python
    tree 3
    quietly bpk verify -r --state state d
    rm d/002.blp
    mkfifo fifo.blp
    # killed while it waits for the FIFO: the next run reports it again
    (exec timeout -s KILL 1 "$BPK" verify --state state -r fifo.blp d) >"$out" 2>&1 || :
    grep -q 'd/002.blp: is missing' "$out" || die "$(cat "$out")"
    grep -q d/002 state || die "$(cat state)"
    status=0
    bpk verify -r --state state --max-time 1 --json d >lines 2>"$err" || status=$?
    [ $status -eq 1 ]
    "$python" "$tests/lib/json_lines.py" "$tests/../man/bpk-json.schema.json" lines
    grep '"missing"' lines >line
    [ "$(json line 'x["path"], x["missing"], x["status"], x["error"]')" = \
        "('d/002.blp', True, 1, 'd/002.blp: is missing, it was there at its last check')" ] || die "$(cat line)"
    ! grep -q d/002 state || die "$(cat state)"
    echo d/002.blp >list
    ends 1 bpk verify -q --json --manifest list d/001.blp
    grep '"missing"' "$out" >line
    [ "$(json line 'x["path"], x["error"]')" = "('d/002.blp', 'd/002.blp: is missing, list names it')" ]
}

@test "verify --state: an empty directory fails every time, and the files below it stay in the state" {
    tree 2
    mkdir e
    mv d/002.blp e
    quietly bpk verify -r --state state d e
    mv e away
    mkdir e
    for _ in 1 2; do
        ends 1 bpk verify -r --state state d e
        says 'e: no archive was found in it'
        [ "$(kinds)" = "$(printf '%s\n' 'good d/001.blp' 'good e/002.blp')" ]
    done
    quietly bpk verify -r --state state d
    (cd d && quietly bpk verify -r --state ../state .)
    rmdir e
    mv away e
    quietly bpk verify -r --state state d e
}

@test "verify --state: an archive that does not begin as one any more" {
    tree 1
    cp d/001.blp d/plain
    cp d/001.blp d/new
    bpk tar -o d/x.tar d/001.blp
    quietly bpk verify -r --state state d
    for name in plain x.tar; do
        touch -r d/$name time
        printf XXXX | dd of=d/$name bs=1 seek=10 conv=notrunc status=none
        printf XXXX | dd of=d/$name bs=1 conv=notrunc status=none
        touch -r time d/$name
    done
    echo text >d/new
    ends 2 bpk verify -r --state state d
    says 'd/new: was an archive at its last check, and does not begin as one'
    for _ in 1 2; do # the one that was written anew is reported once
        says 'd/plain: was an archive at its last check, and does not begin as one'
        says 'd/x.tar: does not begin as a tar, as its name says it should'
        ends 2 bpk verify -r --state state d
        [ "$(wc -l <"$err")" -eq 2 ]
    done
}

@test "verify --max-age fails for an archive without a good check" {
    need_python
    tree 3
    quietly bpk verify -r --state state --max-age 31d d
    age $((40 * 86400)) 002
    printf XXXX | dd of=d/002.blp bs=1 seek=400 conv=notrunc status=none
    ends 2 bpk verify -q -r --state state --max-age 31d d
    says '^bpk: d/002.blp: had no good check for 40 days, --max-age allows 31 days$'
    cp -p a.blp d/002.blp
    quietly bpk verify -r --state state --max-age 31d d
    ends 64 bpk verify -r --max-age 31d d
    says '^bpk: verify: --max-age needs --state$'
    for wrong in 3y d -1 0 9999999w 1dd; do
        ends 64 bpk verify -r --state state --max-age=$wrong d
    done
    need_python
    bpk verify -r --json --state state --max-age 2w d >lines
    tail -n 1 lines >line
    [ "$(json line 'x["path"], x["narchives"], x["nchecked"], x["nbad"], x["nunchecked"], x["status"]')" = "('state', 3, 3, 0, 0, 0)" ]
    "$python" "$tests/lib/json_lines.py" "$tests/../man/bpk-json.schema.json" lines
}

@test "verify --max-time without --state stops with status 4; --at-least counts what the state has" {
    tree 3
    ends 0 bpk verify -r --max-time 1h --at-least 3 d
    ends 0 bpk verify -r --state state --at-least 3 d
    ends 1 bpk verify -r --state state --at-least 4 d
    mkfifo pipe
    # the first file takes longer than the time
    (sleep 2; timeout 20 cat a.blp) >pipe 3>&- &
    ends 4 timeout 20 "$BPK" verify --max-time 1 pipe a.blp
    says '^bpk: 1 of 2 files are not done: stopped after the 1 second of --max-time$'
    wait
}

@test "verify --state: a file that is no state, or a damaged one, is refused and kept" {
    tree 2
    quietly bpk verify -r --state state d
    cp state good
    for change in 's/^good/bad/' 's/001/009/' '$d' '2d' 's/end 2/end 3/' '1s/1/2/' 's/d.001/d%00001/' 's/^good [0-9]*/good x/' \
        '2h;2d;3G' 's/001.blp/001%G0/' '3a extra'; do
        sed "$change" good >state
        cp state was
        cmp -s state good && die "no change: $change"
        refuses 1 '^bpk: state: is (damaged.*; remove it to begin anew|not a state of bpk verify; name a new file); no archive was checked$' bpk verify -r --state state d
        cmp state was
    done
    : >state
    refuses 1 '^bpk: state: is empty; remove it to begin anew; no archive was checked$' bpk verify -r --state state d
    for size in 1 18 19 20 100; do
        head -c $size good >state
        refuses 1 '^bpk: state: is (damaged.*; remove it to begin anew|not a state of bpk verify; name a new file); no archive was checked$' bpk verify -r --state state d
    done
    rm state
    mkdir state
    refuses 1 '^bpk: state: ' bpk verify -r --state state d
    refuses 1 '^bpk: no/state: ' bpk verify -r --state no/state d
    refuses 64 '^bpk: verify: standard input' bpk verify --state new -
}

@test "a file that has become something else is missing" {
    tree 5
    quietly bpk verify -r --state state d
    printf '%s\n' d/*.blp >names
    rm d/00[1-4].blp
    mkfifo d/001.blp
    mkdir d/002.blp
    ln -s 005.blp d/003.blp
    ln -s none d/004.blp
    ends 1 bpk verify -r --state state d
    [ "$(grep -c 'd/00[1-3].blp: is missing, it was a file at its last check, and is none now$' "$err")" -eq 3 ]
    [ "$(wc -l <"$err")" -eq 4 ]
    [ "$(kinds)" = 'good d/005.blp' ]
    quietly bpk verify -r --state state d
    ends 1 bpk verify -r --manifest names d
    grep -q 'd/001.blp: is missing' "$err"
}

@test "verify --manifest reports files that are missing" {
    tree 2
    echo x >'raw \ name'
    bpk pack -q 'raw \ name'
    { echo d/001.blp; sha256sum d/002.blp 'raw \ name'; echo; printf 'raw \\ name\n'; } >list
    rm 'raw \ name'
    quietly bpk verify -r --manifest list d
    # no newline at the end
    { sha256sum d/002.blp | sed 's/002/none/'; seq -f 'gone %g' 24; printf last; } >list
    ends 1 bpk verify -r --manifest list d
    says '^bpk: d/none.blp: is missing, list names it$'
    [ "$(grep -c ': is missing, list names it$' "$err")" -eq 20 ]
    says '^bpk: list: 26 of its files are missing$'
    refuses 1 '^bpk: no list: ' bpk verify -r --manifest 'no list' d
    : >list
    refuses 1 'list: names no file' bpk verify -r --manifest list d
}

@test "verify: lists and states that are empty, endless, or no files" {
    tree 1
    mkfifo fifo
    ln -s target link
    refuses 1 'fifo: is no regular file' bpk verify --state fifo d/001.blp
    quietly bpk verify --state link d/001.blp
    [ -L link ]
    [ "$(kinds target)" = 'good d/001.blp' ]
    refuses 1 '/dev/zero: is no list of names, a line has more than 65536 bytes' \
        bpk verify --manifest /dev/zero d/001.blp
    printf 'd/001.blp\0x\n' >list
    refuses 1 'list: is no list of names, it has a NUL' bpk verify --manifest list d/001.blp
    printf '# nothing\n\n' >list
    refuses 1 'list: names no file' bpk verify --manifest list d/001.blp
    printf '# one\nd/001.blp\n' >list
    quietly bpk verify --manifest list d/001.blp
    : >list
    refuses 1 'list: no archive was found in it' bpk verify --files0-from list
}

@test "verify --since takes files that changed lately, whatever their date" {
    tree 2
    touch -d '2001-01-01' d/001.blp
    mkdir -p d/e
    bpk pack -q -F chunked -o d/e/x.blpd a
    ends 0 bpk verify -r -v --since 1h d
    grep -q '^3 archives' "$out"
    sleep 3.1
    cp a.blp d/003.blp
    touch d/e/x.blpd/data/*
    ends 0 bpk verify -r -v --since 2 d
    grep -q '^d/003.blp: ok' "$out" && grep -q '^d/e/x.blpd: ok' "$out"
    ! grep -q '^d/002.blp: ok' "$out" || die "$(cat "$out")"
}

@test "verify --state: a directory that lost the file by which it is known is checked once, by its own name" {
    need_python
    mkdir d
    data records 5000 a
    for name in a a.b2s a.chunked; do
        format=b2sparse
        [ $name != a.chunked ] || format=chunked
        bpk pack -q --parity 100 -F $format -o d/$name a
        quietly bpk verify -r --state state d
        rm -r d/$name/chunks.b2frame d/$name/meta 2>/dev/null || :
        ends 3 bpk verify -r --state state d
        [ "$(grep -c . "$err")" -eq 1 ] || die "$(cat "$err")"
        says "^bpk: d/$name: .*parity restores all of it"
        [ "$(kinds | grep bad)" = "bad d/$name" ] || die "$(cat state)"
        ends 0 bpk verify -r --heal --state state d
        quietly bpk verify -r --state state d
        # as states were that took the parity file for the archive
        sed -i "/^end/d;s/^other\(.*bpp\)/bad\1/" state
        "$python" -c 'import sys, zlib; t = open("state", "rb").read(); open("state", "ab").write(b"end %d %08x\n" % (t.count(b"\n") - 1, zlib.crc32(t)))'
        quietly bpk verify -r --state state d
        [ "$(kinds | grep -c bad)" -eq 0 ] || die "$(cat state)"
        rm -r d/$name d/$name.bpp state
    done
}

@test "verify --state: parity files are no archives, and all old archives are found" {
    need_python
    tree 3
    for i in 1 2 3; do bpk parity d/00$i.blp; done
    mkfifo d/wait.blp
    sum() { json line 'x["narchives"], x["nunchecked"], x["nbad"], x["oldest_check"] // 86400, sorted(o["path"] for o in x["old"])'; }
    quietly bpk verify -q --max-time 1 --state state d/001.blp
    # the first turn takes longer than the time: nothing else is looked at
    (sleep 1.1; timeout 20 cat a.blp >d/wait.blp) 3>&- &
    bpk verify --json --state state --max-time 1 d/wait.blp d/00*.bpp d/00*.blp | tail -n 1 >line
    wait
    [ "$(json line 'x["narchives"]')" = 4 ] || die "$(cat line)"
    rm d/wait.blp state
    bpk verify -r --json --state state --max-age 31d d | tail -n 1 >line
    [ "$(json line 'x["narchives"], x["nunchecked"], x["old"]')" = '(3, 0, [])' ] || die "$(cat line)"
    age $((40 * 86400))
    age $((10 * 86400)) 003.blp
    for i in 1 2 3; do printf XXXX | dd of=d/00$i.blp bs=1 seek=400 conv=notrunc status=none; touch d/00$i.blp; rm d/00$i.blp.bpp; done
    ends 2 bpk verify -q -r --state state --max-age 31d d
    says '^bpk: d/003.blp: had no good check for 50 days, --max-age allows 31 days; nor had 2 others$'
    ends 2 bpk verify -v -r --state state --max-age 31d d
    [ "$(grep -c 'had no good check for .0 days, --max-age allows 31 days$' "$err")" -eq 3 ] || die "$(cat "$err")"
    ends 2 bpk verify --json -r --state state --max-age 31d d
    tail -n 1 "$out" >line
    [ "$(sum)" = "(3, 0, 3, 50, ['d/001.blp', 'd/002.blp', 'd/003.blp'])" ] || die "$(cat line)"
    "$python" "$tests/lib/json_lines.py" "$tests/../man/bpk-json.schema.json" line
    rm state
    ends 2 bpk verify --json -r --state state d
    tail -n 1 "$out" >line
    [ "$(json line 'x["nbad"], x["oldest_check"]')" = '(3, None)' ] || die "$(cat line)"
    ends 2 bpk verify -v -r --state state d
    grep -q '^state: .* 3 are bad, and none had a good check$' "$out"
}

@test "a --state that cannot be written, or read, ends verify before it checks an archive" {
    data noise 3000 raw
    bpk pack -q -o a.blp raw
    refuses 1 '^bpk: nodir/state: cannot open its folder: .*; no archive was checked$' bpk verify --state nodir/state a.blp
    echo nothing >state
    refuses 1 '^bpk: state: .*; no archive was checked$' bpk verify --state state a.blp
}
