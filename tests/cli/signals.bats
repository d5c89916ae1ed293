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
