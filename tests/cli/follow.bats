load lib

teardown() {
    for job in $(jobs -p); do kill -KILL "$job" 2>/dev/null || true; done
}

grow() { "$python" "$tests/lib/grow.py" "$@"; }

gone=4194305 # a process that there cannot be

follow() { "$BPK" append --commit-interval 1 "$archive" --follow f "$@"; }

# The same in the background, with its own signals; $! is bpk itself.
behind() {
    exec env --default-signal=INT,TERM "$BPK" append --commit-interval "$1" "$archive" --follow f \
        "${@:2}"
}

# Do COMMAND FORMAT for every format at once, each in a folder of its own: they mostly wait.
each_format() {
    local format doers=() doer failed=
    for format in "${editable[@]}"; do
        mkdir "$format.d"
        (
            cd "$format.d"
            out=$out.$format
            err=$err.$format
            "$1" "$format"
        ) &
        doers+=("$!")
    done
    for doer in "${doers[@]}"; do wait "$doer" || failed=yes; done
    [ -z "$failed" ] || die "$1 failed"
}

# COMMAND...: it succeeds with an empty $err.read, or ended because the head was changed meanwhile,
# which the file's program does with every piece. Returns 1 for that.
or_changed() {
    local status=0
    "$@" >"$out.seen" 2>"$err.read" || status=$?
    [ "$status" -ne 0 ] || [ -s "$err.read" ] || return 0
    [ "$status" -eq 1 ] && grep -qx "bpk: $archive: changed while it was read" "$err.read" && return 1
    # a change that a killed one left is put back by the next writer
    [ "$1 $2" = "bpk verify" ] && [ "$status" -eq 3 ] && grep -q 'is pending' "$err.read" && return 0
    [ "$status" -eq 0 ] && grep -q 'is pending' "$err.read" ||
        die "status $status: $*" "$(cat "$err.read")"
}

# Read $archive over and over while process $1 lives: it holds the beginning of f.
read_beside() {
    local whole=0
    while kill -0 "$1" 2>/dev/null; do
        if or_changed bpk cat "$archive"; then
            size=$(stat -c %s "$out.seen")
            cmp <(tail -c +45 "$out.seen") <(head -c "$size" f | tail -c +45) ||
                die "not the beginning of the file"
            whole=$((whole + 1))
        fi
        or_changed bpk verify "$archive" || true
        or_changed bpk info "$archive" || true
    done
    [ "$whole" -gt 0 ] || die "no reader ever saw a whole state"
}

killed_and_read() {
    : >f
    make_archive "$1" f -z 32K -t 1
    grow f "$seconds" 7 &
    writer=$!
    read_beside $writer &
    readers=$!
    while kill -0 $writer 2>/dev/null; do
        behind 1 --pid $writer &
        pid=$!
        sleep 1.$((RANDOM % 10))
        kill -KILL $pid 2>/dev/null || true
        wait $pid 2>/dev/null || true
    done
    wait $readers || die "a reader failed"
    wait $writer
    quietly follow --pid $writer
    holds f
}

@test "follow: readers beside it never fail, and a killed one is started again" {
    need_python
    local seconds=${BPK_FOLLOW_SECONDS:-8} # 600 for the long run
    light && seconds=4
    each_format killed_and_read
}

ends_with_pid() {
    : >f
    make_archive "$1" f -z 32K -t 1
    grow f 2 1 &
    quietly follow --pid $!
    holds f
    # a process that is gone already
    grow f 1 2
    quietly follow --pid $!
    holds f
}

@test "follow ends with --pid, and reads the rest first" {
    need_python
    each_format ends_with_pid
}

ends_idle() {
    data text 50000 f
    make_archive "$1" f -z 32K
    cat f f >g && mv g f
    quietly follow --idle 1
    holds f
    quietly follow --idle 1
    holds f
}

@test "follow ends with --idle" {
    each_format ends_idle
}

@test "follow: SIGTERM and SIGINT commit what is there, SIGUSR1 at once" {
    data text 50000 part
    cp part f
    for format in "${editable[@]}"; do
        make_archive $format f -z 32K
        for signal in TERM INT; do
            behind 100 2>"$err" &
            pid=$!
            cat part >>f
            committed() { bpk cat "$archive" | cmp -s - f; }
            # it has opened the file to follow
            waits() { ls -l "/proc/$pid/fd" | grep -q "$PWD/f\$"; }
            eventually waits
            kill -USR1 $pid
            eventually committed
            cat part >>f
            kill -$signal $pid
            wait $pid || die "status $? after SIG$signal" "$(cat "$err")"
            [ ! -s "$err" ] || die "$(cat "$err")"
            holds f
        done
    done
}

@test "follow: SIGUSR1 for bytes that came between two looks at the file" {
    need_strace
    data text 50000 part
    cp part f
    archive=f.blp
    bpk pack -z 32K f
    : >trace
    # every look lasts, so that the next steps happen during one
    slowly() {
        exec env --default-signal=INT,TERM strace -D -f -qq -o trace -P f \
            -e inject='/stat:delay_exit=100000' "$BPK" append --commit-interval 100 f.blp --follow f
    }
    slowly 2>"$err" &
    pid=$!
    for wait in 0.05 0.15 0.25; do
        looks=$(wc -l <trace)
        looked() { [ "$(wc -l <trace)" -gt $((looks + 1)) ]; }
        eventually looked
        touch f
        sleep $wait
        cat part >>f
        kill -USR1 $pid
        committed() { bpk cat f.blp | cmp -s - f; }
        eventually committed
    done
    kill -TERM $pid
    wait $pid || die "status $?" "$(cat "$err")"
    holds f
}

head_is_mended() {
    (printf 'count 0000\n'; seq 1 20000) >f
    make_archive "$1" f -z 16K
    printf 'count 0001\n' | dd of=f conv=notrunc status=none
    seq 20001 30000 >>f
    keeps 'byte 9 is 0x31, 0x30 is committed'
    quietly follow --pid $gone --mend
    holds f
    # nothing was added, and in the middle something changed
    printf 'count 0002\n' | dd of=f conv=notrunc status=none
    printf 'odd' | dd of=f bs=1 seek=70000 conv=notrunc status=none
    keeps 'byte 9 is 0x32, 0x31 is committed'
    quietly follow --pid $gone --mend
    holds f
}

# PATTERN [OPTION]...: following is refused, and the archive stays as it is.
keeps() {
    local status=0
    find "$archive" -type f ! -name .lock -exec cat {} + >archive.was
    follow --pid $gone "${@:2}" >"$out" 2>"$err" || status=$?
    [ "$status" -eq 1 ] || die "status $status" "$(cat "$err")"
    says "f: differs from $archive: $1"
    find "$archive" -type f ! -name .lock -exec cat {} + | same archive.was /dev/stdin
    rm archive.was
}

@test "follow: --mend believes a file that was changed in place" {
    each_format head_is_mended
}

@test "follow: a head that is changed while nothing is added reaches the archive" {
    need_python
    : >f
    grow f 0.3 1
    archive=f.blp
    bpk pack -z 16K f
    behind 1 &
    pid=$!
    printf 'size' | dd of=f bs=1 seek=4 conv=notrunc status=none
    committed() { [ "$(bpk cat --bytes 4:8 f.blp)" = size ]; }
    eventually committed
    kill -TERM $pid
    wait $pid
}

# COUNT SEED: a run's output, of numbers whose bytes are mostly those of every other run.
run_of() {
    "$python" -c 'import random, struct, sys
r = random.Random(sys.argv[2]); n = int(sys.argv[1])
sys.stdout.buffer.write(struct.pack("<%dq" % n, *(r.randrange(256) for i in range(n))))' "$@"
}

second_run() {
    local status=0
    run_of 65536 1 >f
    make_archive "$1" f -z 64K
    cp f was
    run_of 73728 2 >f
    keeps 'byte 0 is'
    # changed nowhere but in the middle, where no sample may be
    cp was f
    printf '\377' | dd of=f bs=1 seek=300001 conv=notrunc status=none
    tail -c 8000 was >>f
    status=0
    follow --pid $gone 2>"$err" || status=$?
    [ "$status" -eq 1 ] || die "status $status"
    says "byte 300001 is 0xff, 0x.. is committed"
    bpk cat "$archive" | head -c 524288 | same was /dev/stdin
    # truncated, and as long again before anyone looks
    cp was f
    make_archive "$1" f -z 64K
    behind 100 2>"$err" &
    pid=$!
    waits() { ls -l "/proc/$pid/fd" | grep -q "$PWD/f\$"; }
    eventually waits
    kill -STOP $pid
    run_of 73728 3 >next
    cat next >f
    kill -CONT $pid
    kill -TERM $pid 2>/dev/null || true # it may have failed already
    status=0
    wait $pid || status=$?
    [ "$status" -eq 1 ] || die "status $status" "$(cat "$err")"
    says "f: differs from $archive: byte"
    cp was f
    holds f
}

@test "follow: a second run's output, or one written anew between two looks, changes no committed byte" {
    need_python
    each_format second_run
}

# Bytes $2 (for printf) are written into f at $1.
poke() { printf "$2" | dd of=f bs=1 seek="$1" conv=notrunc status=none; }

# In each kind of file: where its writers count, and a byte of its head that no one changes.
counted() {
    local seeds=$tests/fuzz/corpus/layout kind more
    for kind in dcd-2:8:20:84 cdf-1:7:4:20 wav-16:4:40:24 npy-f8:61:61:21 gsd-2:24:39:60; do
        IFS=: read -r kind one two other <<<"$kind"
        cp "$seeds/$kind" f
        chmod 644 f
        make_archive "$1" f -z 64 -t 1
        poke "$one" 3
        poke "$two" 3
        seq 100 >>f
        quietly follow --pid $gone --bytes
        holds f
        poke "$other" '\377'
        keeps "byte $other is 0xff" --bytes
    done
}

@test "follow: what a kind of file counts in its head may change, nothing else" {
    each_format counted
}

@test "follow: another file, a shorter one, one that shrinks or is replaced" {
    data noise 100000 f
    data noise 100000 g
    archive=f.blp
    bpk pack -z 16K f
    head -c 100000 <(tail -c 50000 g; cat g) >f
    refuses 1 'f: differs from f.blp: byte 0 is' follow --idle 1
    head -c 99999 g >f
    refuses 1 'f: has 99999 bytes, f.blp holds 100000 already' follow --idle 1
    refuses 1 'missing: cannot open' bpk append f.blp --follow missing --idle 1
    refuses 1 'regular file|directory' bpk append f.blp --follow .
    refuses 1 'is the archive itself' bpk append f.blp --follow f.blp
    refuses 64 'takes no other FILE' bpk append f.blp g --follow f
    refuses 64 'need --follow' bpk append f.blp --idle 1
    refuses 64 'need --follow' bpk append f.blp --mend g
    refuses 64 'needs a FILE' bpk append f.blp --follow -
    cp g f
    for what in "truncate -s 10 f" "mv g f" "rm f"; do
        [ -e g ] || data noise 100000 g
        [ -e f ] && [ "$(stat -c %s f)" -ge 100000 ] || data noise 100000 f
        behind 1 2>"$err" &
        pid=$!
        data text 5000 more
        cat more >>f
        committed() { bpk cat f.blp | cmp -s - f; }
        eventually committed
        cp f was
        $what
        status=0
        wait $pid || status=$?
        [ "$status" -eq 1 ]
        says 'f: (shrank to 10 bytes|was replaced by another|cannot be followed any more)'
        bpk cat f.blp | cmp - was
        cp was f
        bpk pack -f -z 16K f
    done
}

# Bytes of the packed chunks of an archive; holes of a frame are not among them.
packed_bytes() {
    bpk info -vv --json "$1" >"$out.info"
    json "$out.info" 'sum(c["packed_size"] for c in x["chunks"])'
}

# The archive has at most 3% more packed bytes than pack makes of f.
as_small_as_pack() {
    local wanted got
    bpk pack -q -f -F "$1" -o packed."${suffix[$1]}" f
    wanted=$(packed_bytes packed."${suffix[$1]}")
    got=$(packed_bytes "$archive")
    [ "$got" -le $((wanted + wanted * 3 / 100 + 1024)) ] || die "$got packed bytes, pack needs $wanted"
    rm -rf packed."${suffix[$1]}"
    # the header's typesize is that of the chunks
    bpk verify -v "$archive" >"$out"
    ! grep 'header says' "$out"
}

# A text head and numbers of 4 bytes, as in a DCD: the first bytes call for other filters.
head_and_numbers() {
    seq 1 100
    "$BPK_MAKE_DATA" field-f32 2500000
}

grows_slowly() {
    local size
    head_and_numbers >all
    : >f
    make_archive "$1" f
    for size in 100 292 20000 300000 1000000 1100000 2500292; do
        head -c "$size" all >f
        quietly follow --pid $gone
        holds f
    done
    as_small_as_pack "$1"
}

@test "follow: a file that grows slowly ends as small as pack makes it, whatever its first bytes" {
    need_python
    each_format grows_slowly
}

grows_in_one_run() {
    local size at=0
    head_and_numbers >all
    : >f
    make_archive "$1" f
    behind 100 --idle 60 2>"$err" &
    pid=$!
    waits() { ls -l "/proc/$pid/fd" | grep -q "$PWD/f\$"; }
    eventually waits
    committed() { bpk cat "$archive" | cmp -s - f; }
    for size in 100 20000 1000000 2500292; do
        tail -c +$((at + 1)) all | head -c $((size - at)) >>f
        at=$size
        kill -USR1 $pid
        eventually committed
    done
    kill -TERM $pid
    wait $pid || die "status $?" "$(cat "$err")"
    [ ! -s "$err" ] || die "$(cat "$err")"
    holds f
    as_small_as_pack "$1"
    [ "$1" != b2frame ] || { bpk info -v --json "$archive" >"$out"; [ "$(json "$out" 'x["hole_size"]')" -lt 65536 ]; }
}

@test "follow: one run chooses by trial until the first chunk is full" {
    need_python
    each_format grows_in_one_run
}

@test "follow and append in rounds: settings that a trial would not choose stay" {
    need_python
    data field-f32 100000 all
    head -c 50000 all >f
    for options in "codec --codec lz4" "filter --filter none" "typesize -t 8 --filter shuffle" \
        "block_size --block-size 4K"; do
        key=${options%% *}
        options=${options#* }
        for more in "--pid $gone --follow f" "--commit-interval 100 -"; do
            head -c 50000 all >f
            # shellcheck disable=SC2086 # words
            make_archive blp f $options
            bpk info -vv --json f.blp >was
            cp all f
            # shellcheck disable=SC2086
            tail -c +50001 all | bpk append f.blp $more
            holds f
            bpk info -vv --json f.blp >now
            [ "$(json was "x['chunks'][0]['$key']")" = "$(json now "x['chunks'][0]['$key']")" ] ||
                die "$options: $key changed"
        done
    done
}

@test "append in rounds: an empty archive is decided by the first chunk, not by the first bytes" {
    need_python
    head_and_numbers >f
    for format in "${editable[@]}"; do
        : >g
        make_archive "$format" g
        mkfifo pipe
        "$BPK" append --commit-interval 100 "$archive" <pipe &
        pid=$!
        exec 5>pipe
        head -c 292 f >&5
        tail -c +293 f >&5
        exec 5>&-
        wait $pid
        holds f
        as_small_as_pack "$format"
        rm pipe
    done
}

# The follower is killed at random moments, before and after its first chunk is full.
killed_while_undecided() {
    local i
    head_and_numbers >all
    : >f
    make_archive "$1" f
    for ((i = 0; i < rounds; i++)); do
        head -c $(((i + 1) * 2500292 / rounds)) all | tail -c +$(($(stat -c %s f) + 1)) >>f
        behind 1 2>/dev/null &
        pid=$!
        sleep 0.0$((RANDOM % 10))
        kill -USR1 $pid 2>/dev/null || true
        sleep 0.0$((RANDOM % 10))
        kill -KILL $pid 2>/dev/null || true
        wait $pid 2>/dev/null || true
        or_changed bpk verify "$archive" || true
    done
    quietly follow --pid $gone
    holds f
    as_small_as_pack "$1"
}

@test "follow: killed at any moment before the first chunk is full, the next run goes on" {
    need_python
    rounds=30
    light && rounds=8
    each_format killed_while_undecided
}

# ---- archives and files that are not there yet ----

creates() {
    archive=new.${suffix[$1]}
    head_and_numbers >f
    chmod 640 f
    quietly follow --pid $gone
    holds f
    [ -z "$(find "$archive" ! -name .lock -perm /027)" ] || die "more public than f: $(ls -lR "$archive")"
    as_small_as_pack "$1"
    bpk info --json "$archive" >"$out.info"
    [ "$(json "$out.info" 'x["format"]')" = "$1" ]
}

@test "follow creates a missing archive, in the format of its name" {
    need_python
    each_format creates
}

@test "follow: options that choose packing, for an archive that it creates" {
    need_python
    head_and_numbers >f
    archive=new.b2frame
    quietly follow --pid $gone -t 8 --codec lz4 --filter shuffle
    holds f
    bpk info --json "$archive" >was
    [ "$(json was 'x["typesize"], x["codec"], x["filter"]')" = "(8, 'lz4', 'shuffle')" ]
    refuses 64 'the suffix of new.zst names no format' bpk append new.zst --follow f --pid $gone
    [ ! -e new.zst ]
    archive=other
    quietly follow --pid $gone -F chunked
    holds f
    [ -d other ]
    archive=new.blp
    refuses 64 'dictionar' follow --pid $gone --dictionary
    archive=chunk
    refuses 1 'chunk: cannot be created in format chunk' follow --pid $gone -F chunk
    refuses 1 'no/new.blp: ' bpk append no/new.blp --follow f --pid $gone
}

waits_for_file() {
    archive=new.${suffix[$1]}
    sleep 60 &
    writer=$!
    behind 1 --pid $writer 2>"$err" &
    pid=$!
    sleep 0.3
    kill -0 $pid || die "does not wait" "$(cat "$err")"
    [ ! -e "$archive" ] || die "$archive is there before f"
    seq 1000 >f
    committed() { bpk cat "$archive" 2>/dev/null | cmp -s - f; }
    eventually committed
    seq 1000 >>f
    kill $writer
    wait $pid || die "status $?" "$(cat "$err")"
    [ ! -s "$err" ] || die "$(cat "$err")"
    holds f
}

@test "follow waits for a missing file, as long as --pid lives" {
    each_format waits_for_file
}

@test "follow: a file that does not appear" {
    archive=new.blp
    refuses 1 'f: cannot open: it did not appear$' follow --pid $gone
    refuses 1 'f: cannot open: it did not appear$' follow --idle 1
    for options in "" -q; do
        # shellcheck disable=SC2086 # words
        behind 1 $options 2>"$err" &
        pid=$!
        waits() { ls -l "/proc/$pid/fd" | grep -q eventfd; }
        eventually waits
        kill -TERM $pid
        wait $pid || die "status $?"
        [ "$options" = -q ] || says 'f: does not exist yet; waiting for it$'
        [ -z "$options" ] || [ ! -s "$err" ] || die "$(cat "$err")"
        [ ! -e new.blp ]
    done
}

# From nothing to the end, the follower is killed at random moments beside a growing writer.
killed_from_nothing() {
    archive=new.${suffix[$1]}
    (
        sleep 0.3
        : >f
        grow f "$seconds" 5
    ) &
    writer=$!
    while kill -0 $writer 2>/dev/null; do
        behind 1 -q --pid $writer 2>/dev/null &
        pid=$!
        sleep 0.$((RANDOM % 10))
        kill -KILL $pid 2>/dev/null || true
        wait $pid 2>/dev/null || true
        [ ! -e "$archive" ] || or_changed bpk verify "$archive" || true
    done
    wait $writer
    quietly follow --pid $gone
    # drafts of killed ones have no name, or lie beside the archive
    rm -f .*.bpk*
    bpk cat "$archive" | cmp - f
    quietly bpk verify "$archive"
}

@test "follow: killed at random moments while it creates the archive, content is equal" {
    need_python
    seconds=6
    light && seconds=3
    each_format killed_from_nothing
}

# In the folder of a format: follow f under the archive f.SUFFIX until $pid is told to end.
rotating() {
    exec env --default-signal=INT,TERM "$BPK" append --commit-interval 1 --follow f --rotate "$archive" 2>said
}

# NAME RAW: an archive holds that.
contains() { [ -e "$1" ] && "$BPK" cat "$1" 2>&1 | cmp -s - "$2"; }

rotate_in() {
    case $1 in chunked) archive=f.blpd ;; b2sparse) archive=f.b2s ;; *) archive=f.$1 ;; esac
    local one=f.1.${archive##*.} two=f.2.${archive##*.}
    data text 30000 f
    rotating &
    pid=$!
    eventually contains "$archive" f
    # the old file is written on until another one has the name
    mv f old
    data noise 5000 more
    cat more >>old
    eventually contains "$archive" old
    cat more >>old
    data records 20000 new
    cp new f
    eventually contains "$one" old
    eventually contains "$archive" new
    # cut off and begun anew
    : >f
    eventually contains "$two" new
    data field-f32 9000 third
    cat third >>f
    eventually contains "$archive" third
    kill -TERM $pid
    wait $pid
    grep -q "f: is another file now; $one has the bytes of the one before" said
    # while nobody follows it
    mv f old
    cp new f
    rotating &
    pid=$!
    eventually contains "f.3.${archive##*.}" third
    eventually contains "$archive" new
    kill -KILL $pid
    wait $pid || true
    # the same file goes on
    cat more >>f
    timeout 60 "$BPK" append --follow f --rotate --idle 1 "$archive"
    contains "$archive" f
    [ ! -e "f.4.${archive##*.}" ]
}

@test "follow: --rotate follows a name from file to file" {
    each_format rotate_in
}

@test "follow: --rotate ends at a signal that comes with a rotation" {
    for signal in TERM INT; do
        echo old >f
        rm -f a*.blp
        env --default-signal=INT,TERM "$BPK" append -q a.blp --follow f --rotate &
        pid=$!
        eventually test -s a.blp
        eventually committed_is f
        echo new >new
        mv new f
        kill -$signal $pid
        gone_is() { ! kill -0 $pid 2>/dev/null; }
        eventually gone_is
        wait $pid || die "status $?"
    done
}

committed_is() { bpk cat a.blp 2>/dev/null | cmp -s - "$1"; }

@test "follow: a GSD file that bpk writes, whose two blocks of its index take turns" {
    data field-f32 1200 raw
    bpk pack -q --dtype '<f4' --shape 100,3 -o raw.blp raw
    bpk unpack -q -o p.npy raw.blp
    bpk append f --schema hoomd --step 0 particles/position=p.npy
    archive=a.blp
    behind 100 --idle 60 2>"$err" &
    pid=$!
    followed() { ls -l "/proc/$pid/fd" 2>/dev/null | grep -q "$PWD/f\$"; }
    eventually followed
    for step in $(seq 12); do
        bpk append f --step $step particles/position=p.npy
        kill -USR1 $pid
        sleep 0.1
    done
    kill -TERM $pid
    wait $pid || die "status $?" "$(cat "$err")"
    quietly bpk cmp --name particles/position f a.blp
}

@test "follow: a FIFO is refused, with an archive and without" {
    mkfifo f
    echo x >x
    bpk pack -q -o a.blp x
    refuses 1 'f: is not a regular file' timeout 20 "$BPK" append a.blp --follow f
    refuses 1 'f: is not a regular file' timeout 20 "$BPK" append new.blp --follow f
    [ ! -e new.blp ]
}

@test "follow: --rotate, and what is not rotated" {
    data text 1000 f
    archive=f.blp
    refuses 64 'need --follow' bpk append --rotate f.blp f
    refuses 64 'only one of --mend and --rotate' bpk append --rotate --mend --follow f f.blp
    refuses 1 'is not renamed, nor changed in place, as --rotate asks' bpk append --rotate --follow f s3://b/x
    # numbers that are taken stay
    bpk pack -q f
    echo other >f.1.blp
    data noise 500 f
    bpk append -q --rotate --follow f --idle 1 f.blp
    [ "$(cat f.1.blp)" = other ]
    bpk cat f.2.blp | cmp - <(data text 1000 /dev/stdout)
    bpk cat f.blp | cmp - f
}

@test "a file that differs from an archive without offsets is told so" {
    data noise 40000 a
    bpk pack -q -z 4K --no-offsets -o x.blp a
    cp a b
    printf XXXX | dd of=b bs=1 seek=9000 conv=notrunc status=none
    refuses 1 '^bpk: b: differs from x.blp: byte 9000 ' bpk append x.blp --follow b --idle 1
}
