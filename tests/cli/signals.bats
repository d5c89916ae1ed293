load lib

# Start "$@" with a pipe that brings some data and never ends as its input; $pid is bpk's.
start() {
    mkfifo "$BATS_TEST_TMPDIR/in"
    (cat a; exec sleep 60) >"$BATS_TEST_TMPDIR/in" &
    feeder=$!
    # a shell without job control ignores INT in its background jobs
    env --default-signal=INT,TERM,HUP "$@" <"$BATS_TEST_TMPDIR/in" 2>"$err" &
    pid=$!
}

teardown() {
    [ -z "${feeder:-}" ] || kill "$feeder" 2>/dev/null || true
}

# The process has opened a file it may write, below this folder.
has_draft() { ls -l "/proc/$pid/fd" 2>/dev/null | grep -q "$PWD/"; }

@test "a signal leaves nothing behind, and is what the caller sees" {
    data noise 3000000 a
    for signal in INT TERM HUP; do
        rm -f "$BATS_TEST_TMPDIR/in"
        before=$(snapshot)
        start "$BPK" pack -q -z 64K -o out.blp -
        eventually has_draft
        kill -$signal $pid
        status=0
        wait $pid || status=$?
        kill $feeder 2>/dev/null || true # it may have died of the closed pipe
        wait $feeder 2>/dev/null || true
        [ "$status" -eq $((128 + $(kill -l $signal))) ] || die "status $status after $signal"
        [ "$(snapshot)" = "$before" ] || die "$(ls -A)"
        [ ! -s "$err" ] || die "$(cat "$err")"
    done
}

@test "a signal leaves an existing target as it was" {
    data noise 3000000 a
    echo old >out.blp
    before=$(snapshot)
    start "$BPK" pack -q -f -z 64K -o out.blp -
    eventually has_draft
    kill -TERM $pid
    status=0
    wait $pid || status=$?
    [ "$status" -eq 143 ]
    [ "$(snapshot)" = "$before" ]
}

@test "unpack from a pipe that stops: a signal leaves nothing" {
    data noise 3000000 raw
    bpk pack -q -z 64K <raw | head -c 2000000 >a
    before=$(snapshot)
    start "$BPK" unpack -T 4 -o out -
    eventually has_draft
    kill -INT $pid
    status=0
    wait $pid || status=$?
    [ "$status" -eq 130 ]
    [ "$(snapshot)" = "$before" ]
}

@test "SIGKILL leaves no litter for a new target" {
    data noise 3000000 a
    before=$(snapshot)
    start "$BPK" pack -q -z 64K -o out.blp -
    eventually has_draft
    if ls -A | grep -q '\.bpk-'; then
        kill -KILL $pid
        skip "this file system has no O_TMPFILE"
    fi
    kill -KILL $pid
    wait $pid || true
    [ "$(snapshot)" = "$before" ]
}

@test "a signal that the caller ignores stays ignored" {
    data noise 300000 a
    mkfifo "$BATS_TEST_TMPDIR/in" # elsewhere, or has_draft would take it for the draft
    (cat a; until [ -e "$BATS_TEST_TMPDIR/go" ]; do sleep 0.05; done) >"$BATS_TEST_TMPDIR/in" &
    env --ignore-signal=HUP "$BPK" pack -q -o out.blp - <"$BATS_TEST_TMPDIR/in" &
    pid=$!
    eventually has_draft
    kill -HUP $pid
    sleep 0.1
    touch "$BATS_TEST_TMPDIR/go"
    wait $pid
    bpk cat out.blp | cmp - a
}

@test "a limit on file sizes is an error to commands that only print, too" {
    need_plain_build
    data noise 3000 a
    bpk pack -q a
    status=0
    said=$(ulimit -f 0; "$BPK" info a.blp 2>&1 >out) || status=$?
    [ "$status" -eq 1 ] || die "status $status"
    [[ "$said" == "bpk: standard output: "*"File too large" ]] || die "$said"
}

# The process has a thread that waits for signals, in which it will take SIGUSR1.
starts_thread() { [ "$(ls "/proc/$pid/task" 2>/dev/null | wc -l)" -gt 1 ]; }

# SIGUSR1 until a line of the status is there; SECONDS of its work are no matter.
ask_status() {
    kill -USR1 $pid 2>/dev/null
    sleep 0.05
    grep -q "$1" "$err"
}

@test "SIGUSR1 asks for a line of status, and disturbs nothing" {
    data noise 3000000 a
    mkfifo "$BATS_TEST_TMPDIR/in"
    (cat a; until [ -e "$BATS_TEST_TMPDIR/go" ]; do sleep 0.05; done; cat a) >"$BATS_TEST_TMPDIR/in" &
    feeder=$!
    env --default-signal=USR1 "$BPK" pack -q -T 2 -z 64K -o out.blp - <"$BATS_TEST_TMPDIR/in" 2>"$err" &
    pid=$!
    eventually has_draft
    eventually ask_status '^bpk: standard input: [0-9.]* [KM]iB, .*/s, ratio [0-9.]*$'
    for i in $(seq 50); do kill -USR1 $pid; done # reads and writes go on
    touch "$BATS_TEST_TMPDIR/go"
    wait $pid
    ! grep -v '^bpk: standard input: \|^bpk: no data are in work yet$' "$err" || die "$(cat "$err")"
    cat a a | same - <(bpk cat out.blp)
}

@test "SIGUSR1: unpack, verify, cmp, convert and append, with numbers of files" {
    data noise 3000000 a
    bpk pack -q -z 64K a
    mkfifo "$BATS_TEST_TMPDIR/in"
    for row in "unpack -f -o u -" "verify a.blp -" "cmp - a.blp" "convert - c.b2frame" "append a.blp -"; do
        rm -f "$BATS_TEST_TMPDIR/go" c.b2frame
        cp a.blp copy
        [[ $row == append* ]] && cp a copy
        (head -c 2000000 copy; until [ -e "$BATS_TEST_TMPDIR/go" ]; do sleep 0.05; done
            tail -c +2000001 copy) >"$BATS_TEST_TMPDIR/in" &
        feeder=$!
        # shellcheck disable=SC2086 # words
        env --default-signal=USR1 "$BPK" $row <"$BATS_TEST_TMPDIR/in" 2>"$err" >"$out" &
        pid=$!
        eventually starts_thread
        want='standard input: .*ratio'
        [[ $row == verify* ]] && want='(2/2) standard input: .*ratio'
        [[ $row == [ca][op]* ]] && want='^bpk: no data are in work yet$' # it gathers a window first
        eventually ask_status "$want"
        touch "$BATS_TEST_TMPDIR/go"
        wait $pid || die "$row: $?" "$(cat "$err")"
    done
}
