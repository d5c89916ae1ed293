load lib

@test "cat F | bpk pack | bpk unpack gives F, for every size" {
    data records 3000000 all
    for size in 0 1 15 16 17 4096 65535 65536 65537 262143 262144 262145 1048575 1048576 1048577 \
        3000000; do
        head -c $size all >a
        cat a | bpk pack 2>/dev/null | bpk unpack | cmp - a || die "size $size"
        cat a | bpk pack -t 8 -z 64K 2>/dev/null | cat >s.blp
        bpk verify s.blp
        bpk unpack -c s.blp | cmp - a || die "size $size"
        cat a | bpk pack -t 8 -z 64K >r.blp 2>"$err"
        [ ! -s "$err" ] || die "$(cat "$err")"
        bpk verify r.blp
        bpk cat <r.blp | cmp - a || die "size $size, redirected"
    done
}

@test "a pipe's header says that nothing is known, and a notice says what that means" {
    need_blosc
    data records 300000 a
    cat a | bpk pack -t 8 -z 64K 2>"$err" | cat >s.blp
    [ "$(wc -l <"$err")" -eq 1 ]
    says '^bpk: .*stream-size'
    reader compare s.blp a
    reader header s.blp >header
    [ "$(json header 'x["nchunks"], x["last_chunk"], x["offsets"], x["space"], len(x["chunks"])')" = \
        "(-1, -1, 0, 0, 6)" ]
}

@test "--stream-size: the header is whole from the start, and the size is held to" {
    need_blosc
    data records 300000 a
    cat a | bpk pack -t 8 -z 64K --stream-size 300000 2>"$err" | cat >s.blp
    [ ! -s "$err" ] || die "$(cat "$err")"
    reader compare s.blp a
    reader header s.blp >header
    [ "$(json header 'x["nchunks"], x["last_chunk"], x["offsets"]')" = "(5, 37856, 0)" ]
    refuses 1 "" sh -c 'cat a | "$BPK" pack --stream-size 300001 -o x.blp'
    refuses 1 "" sh -c 'cat a | "$BPK" pack --stream-size 299999 -o x.blp'
    printf '' | bpk pack --stream-size 0 2>"$err" | bpk cat | cmp - /dev/null
    [ ! -s "$err" ]
}

@test "--stream-size: too many bytes leave no whole archive in the pipe" {
    data records 300000 a
    for format in blp b2frame; do
        for size in 299999 262144 0; do
            status=0
            cat a | "$BPK" pack -z 64K -F "$format" --stream-size $size 2>"$err" >piped || status=$?
            [ $status -eq 1 ]
            says "brought more than the $size bytes expected"
            ! "$BPK" verify piped 2>"$err" || die "$format, $size: a whole archive"
        done
    done
}

@test "standard input is read but once" {
    data text 3000 a
    bpk pack a
    for command in pack unpack cat info verify; do
        refuses 64 'read but once' bash -c '"$BPK" "$1" - - <a.blp' _ $command
    done
}

@test "> file: header and offsets are filled in at the end" {
    need_blosc
    data records 300000 a
    cat a | bpk pack -t 8 -z 64K >s.blp
    reader compare s.blp a
    reader header s.blp >header
    [ "$(json header 'x["nchunks"], x["offsets"] == x["space"] + 5, x["space"] > 0')" = \
        "(5, True, True)" ]
    bpk pack -t 8 -z 64K <a >t.blp
    bpk pack -t 8 -z 64K a
    bpk pack -t 8 -z 64K -c a >u.blp
    reader compare t.blp a u.blp a
}

@test "> file with more chunks than entries were reserved" {
    need_blosc
    data text 300000 a
    cat a | bpk pack -z 100 -t 1 --codec lz4 >s.blp
    reader compare s.blp a
    reader header s.blp >header
    [ "$(json header 'x["nchunks"]')" = 3000 ]
    bpk cat --bytes 250000:250010 s.blp >"$out"
    tail -c +250001 a | head -c 10 | cmp - "$out"
}

@test ">> file: an archive behind other bytes is written as into a pipe" {
    need_blosc
    data records 300000 a
    printf 'before' >s
    cat a | bpk pack -t 8 -z 64K >>s 2>"$err"
    [ "$(head -c 6 s)" = before ]
    tail -c +7 s >s.blp
    reader compare s.blp a
    bpk cat s.blp | cmp - a
    bpk cat a.none >/dev/null 2>&1 || true
    printf 'before' >r
    bpk cat s.blp >>r
    tail -c +7 r | cmp - a
}

@test "a seekable file that does not start at 0" {
    need_blosc
    data records 300000 a
    (printf 'before'; bpk pack -t 8 -z 64K a -c 2>/dev/null; printf 'after') >s
    [ "$(head -c 6 s)" = before ]
    [ "$(tail -c 5 s)" = after ]
    tail -c +7 s | head -c -5 >s.blp
    bpk cat s.blp | cmp - a
    bpk verify s.blp
    (head -c 6 >/dev/null; bpk cat) <s >"$out" 2>"$err" || true
    bpk pack a
    (printf 'before'; bpk unpack -c a.blp; printf 'after') >r
    (printf 'before'; cat a; printf 'after') | cmp - r
    (printf 'before'; cat a) >s
    (dd bs=6 count=1 of=/dev/null status=none; bpk pack -t 8 -z 64K -c) <s >t.blp
    bpk cat t.blp | cmp - a
}

@test "slow and torn pipes" {
    data records 20000 a
    (for ((i = 0; i < 40; i++)); do
        tail -c +$((500 * i + 1)) a | head -c 500
        sleep 0.005
    done) | bpk pack -q -z 3000 -t 1 | (while dd bs=77 count=20 iflag=fullblock status=none |
        tee part; [ -s part ]; do :; done) | bpk unpack | cmp - a
}

@test "a stream that was cut short ends with status 2 after what is there" {
    data records 300000 a
    cat a | bpk pack -q -t 8 -z 64K | cat >s.blp
    size=$(stat -c %s s.blp)
    head -c $((size - 20)) s.blp >cut.blp
    refuses 2 '^bpk: cut.blp: ' bpk unpack cut.blp -o x
    refuses 2 '^bpk: cut.blp: ' bpk verify cut.blp
    status=0
    cat cut.blp | bpk unpack >x 2>"$err" || status=$?
    [ "$status" -eq 2 ]
    [ "$(wc -l <"$err")" -eq 1 ]
    same x a
    bpk cat --no-marker cut.blp | cmp - a
    bpk verify --no-marker cut.blp
    head -c $((size - 1000)) s.blp >cut.blp
    status=0
    bpk cat --no-marker cut.blp >x 2>"$err" || status=$?
    [ "$status" -eq 2 ]
    [ "$(stat -c %s x)" -eq 262144 ]
    head -c 262144 a | cmp - x
}

@test "a full device is reported, whatever is written to it" {
    [ -c /dev/full ] || skip "no /dev/full"
    data noise 3000000 a
    bpk pack a
    cat a | bpk pack -t 8 -z 64K -q | cat >s.blp
    refuses 1 '[Nn]o space' sh -c '"$BPK" pack -c a >/dev/full'
    refuses 1 '[Nn]o space' sh -c 'cat a | "$BPK" pack -q >/dev/full'
    refuses 1 '[Nn]o space' sh -c '"$BPK" cat a.blp >/dev/full'
    refuses 1 '[Nn]o space' sh -c '"$BPK" cat --bytes 0:1 a.blp >/dev/full'
    refuses 1 '[Nn]o space' sh -c '"$BPK" unpack -c s.blp >/dev/full'
    refuses 1 '[Nn]o space' bpk pack -f -o /dev/full a
    refuses 1 '[Nn]o space' bpk unpack -f -o /dev/full a.blp
    refuses 1 '[Nn]o space' sh -c '"$BPK" info a.blp >/dev/full'
    refuses 1 '[Nn]o space' sh -c '"$BPK" info --json a.blp >/dev/full'
    refuses 1 '[Nn]o space' sh -c '"$BPK" verify --json a.blp a.blp s.blp >/dev/full'
    refuses 1 '[Nn]o space' sh -c '"$BPK" --help >/dev/full'
    refuses 1 '[Nn]o space' sh -c '"$BPK" version >/dev/full'
    refuses 1 '[Nn]o space' sh -c '"$BPK" verify -v a.blp >/dev/full 2>/dev/full ||
        { "$BPK" cat a.blp >/dev/full; }'
}

@test "a reader that goes away ends bpk by SIGPIPE, quietly" {
    data noise 3000000 a
    bpk pack a
    for command in "cat a.blp" "unpack -c a.blp" "pack -c a" "pack -q -c - <a"; do
        bash -c '"$BPK" '"$command"' 2>"$0" | head -c 1 >/dev/null; exit ${PIPESTATUS[0]}' "$err" &&
            status=0 || status=$?
        [ "$status" -eq 141 ] || die "status $status: $command"
        [ ! -s "$err" ] || die "$(cat "$err")"
    done
}

@test "where SIGPIPE is ignored, a reader that goes away is an error" {
    need_python
    data noise 3000000 a
    bpk pack a
    # python leaves SIGPIPE ignored for its children when asked to
    "$python" - "$BPK" <<'END'
import subprocess, sys
p = subprocess.Popen([sys.argv[1], "cat", "a.blp"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                     restore_signals=False)
p.stdout.read(1)
p.stdout.close()
said = p.stderr.read().decode()
assert p.wait() == 1, p.returncode
assert said.startswith("bpk: ") and said.count("\n") == 1, said
END
}

@test "a pipe that does not block gets every line of the results" {
    need_python
    data text 300 a
    bpk pack a
    cat >slow.py <<'END'
import os, subprocess, sys, time
ends = os.pipe2(os.O_NONBLOCK)
process = subprocess.Popen(sys.argv[1:], stdout=ends[1])
os.close(ends[1])
time.sleep(0.3)
os.set_blocking(ends[0], True)
with os.fdopen(ends[0], "rb") as pipe:
    sys.stdout.buffer.write(pipe.read())
sys.exit(process.wait())
END
    files=$(yes a.blp | head -n 2000)
    # shellcheck disable=SC2086 # one name a word
    bpk info $files >whole
    [ "$(wc -c <whole)" -gt 100000 ]
    # shellcheck disable=SC2086
    "$python" slow.py "$BPK" info $files | cmp - whole
}

@test "a terminal gets no binary data without --force" {
    need script
    need_python
    script -qec true /dev/null </dev/null >"$out" 2>&1 || skip "no pseudo-terminal here"
    data text 5000 a
    bpk pack a
    status=0
    script -qec "'$BPK' pack -c a" /dev/null </dev/null >"$out" 2>&1 || status=$?
    [ "$status" -ne 0 ]
    grep -q '^bpk: .*terminal' "$out"
    script -qec "'$BPK' pack -f -c a" /dev/null </dev/null >"$out" 2>&1
    grep -qa blpk "$out"
}

@test "FIFOs on both sides" {
    data records 300000 a
    mkfifo in packed
    cat a >in &
    timeout 20 "$BPK" pack -q in -c >packed &
    timeout 20 "$BPK" unpack packed -c >x
    wait
    same x a
}
