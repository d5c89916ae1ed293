load lib

# c-blosc2's lock: beside a contiguous frame NAME.b2lock, in a sparse one's directory .b2lock.

# FORMAT: make $archive, of the raw file `now`, with c-blosc2's lock $lock.
make_locked() {
    data field-f64 60000 now
    archive=a.${suffix[$1]}
    rm -rf "$archive" "$archive".b2lock
    bpk pack -q -F "$1" -z 16K -t 8 -o "$archive" now
    lock=$archive.b2lock
    [ ! -d "$archive" ] || { lock=$archive/.b2lock && : >"$archive/.lock"; }
    : >"$lock"
}

# Every command that changes a frame, as it is called.
deeds=(append truncate write meta repack)
change() {
    local deed=$1
    shift
    case $deed in
        append) bpk append -q "$@" "$archive" more ;;
        truncate) bpk truncate -q "$@" --bytes 33333 "$archive" ;;
        write) bpk write -q "$@" --at 10000 "$archive" more ;;
        meta) bpk meta set "$@" "$archive" n=1 ;;
        repack) bpk repair --repack -q "$@" "$archive" ;;
    esac
}

counter() { od -An -tu8 -j8 -N8 "$lock" | tr -d ' '; }

# A program that has the lock until the file `free` is there.
hold() { # SHARED-OR-EXCLUSIVE
    rm -f free
    flock "$1" "$lock" bash -c ': >held; until [ -e free ]; do sleep 0.02; done' &
    eventually test -e held
    rm held
}
let_go() {
    : >free
    wait
    rm free
}

@test "whoever changes a frame takes c-blosc2's lock, or waits for it" {
    need flock
    data text 20000 more
    right=0 all=0
    for format in b2frame b2sparse; do
        for deed in "${deeds[@]}"; do
            for how in -x -s; do
                make_locked $format
                all=$((all + 1))
                hold $how
                refuses 1 "$archive: is being changed by another process" change "$deed"
                [ -z "$(counter)" ]
                change "$deed" --wait &
                changing=$!
                sleep 0.2
                kill -0 $changing # it waits
                : >free
                wait $changing
                let_go
                [ "$(counter)" -gt 0 ]
                quietly bpk verify "$archive"
                right=$((right + 1))
            done
        done
    done
    echo "# $right of $all changes waited for c-blosc2's lock" >&3
    [ $right -eq $all ]
}

@test "the counter in c-blosc2's lock rises with every change" {
    data text 20000 more
    for format in b2frame b2sparse; do
        make_locked $format
        before=0
        for deed in "${deeds[@]}"; do
            change "$deed"
            [ "$(counter)" -gt "$before" ]
            before=$(counter)
        done
        [ "$(stat -c %s "$lock")" -eq 16 ]
    done
}

@test "readers share c-blosc2's lock, and pass a writer of ours" {
    need flock
    for format in b2frame b2sparse; do
        make_locked $format
        hold -s
        bpk cat "$archive" | same - now
        let_go
        hold -x
        bpk cat "$archive" >got &
        reading=$!
        sleep 0.2
        kill -0 $reading # it waits
        let_go
        same got now
        # a slow append has changed something by now, and holds the lock
        mkfifo slow
        bpk append "$archive" - <slow &
        exec 8>slow
        head -c 100000 now >&8
        data noise 2000000 noise
        cat noise >&8
        eventually bash -c "! flock -n '$lock' true"
        quietly bpk verify "$archive"
        bpk cat "$archive" | same - now
        exec 8>&-
        wait
        cat now now noise | cmp - <(bpk cat "$archive")
        rm slow
    done
}

@test "c-blosc2's lock is no litter: it is never made, stays where it is, and goes nowhere" {
    data text 20000 more
    for format in b2frame b2sparse; do
        make_locked $format
        rm "$lock"
        for deed in "${deeds[@]}"; do
            quietly change "$deed"
            bpk cat "$archive" >now
        done
        [ ! -e "$lock" ]
        : >"$lock"
        quietly bpk append "$archive" more
        cat more >>now
        [ -e "$lock" ]
        bpk verify -v "$archive" >"$out" 2>&1
        ! grep -q b2lock "$out"
        quietly bpk verify -r .
        quietly bpk tar -f a.tar "$archive"
        ! tar tf a.tar | grep b2lock
        quietly bpk convert "$archive" "b.${suffix[$format]}"
        [ ! -e "b.${suffix[$format]}.b2lock" ]
        [ ! -e "b.${suffix[$format]}/.b2lock" ]
        bpk cat "b.${suffix[$format]}" | same - now
        rm -r a.* b.*
    done
}

@test "a lock that cannot be had keeps nobody from reading, but from changing" {
    data text 20000 more
    head -c 17 more >large
    for format in b2frame b2sparse; do
        make_locked $format
        for what in "ln -s ../more" "ln -s nowhere" mkfifo mkdir "cp large"; do
            rm -rf "$lock"
            $what "$lock"
            quietly bpk verify "$archive"
            bpk cat "$archive" | same - now
            refuses 1 "$archive: .b2lock: (cannot open|is no)" change append
            [ "$what" != "cp large" ] || same "$lock" large
        done
        quietly change append --no-lock
        same "$lock" large
    done
}

@test "c-blosc2, that locks, and bpk append at once" {
    need_oracle2
    export BLOSC_LOCKING=1
    data field-f64 16384 a
    data text 16384 more
    times=20
    ! light || times=5
    for format in b2frame b2sparse; do
        archive=c.${suffix[$format]}
        # two chunks: bpk chooses the chunk size of a frame of one chunk anew
        cat a a | oracle2 pack "$archive" 16384 8 $([ $format = b2frame ] || echo sparse)
        # neither waits for the other for long; who comes too late begins again
        # c-blosc2 opens without the lock: what it read may be half of a commit, and it fails
        theirs() {
            for ((i = 0; i < times; i++)); do
                until oracle2 append "$archive" 16384 <a 2>/dev/null; do
                    tries=$((tries + 1))
                    [ $tries -lt 1000 ] || return 1
                done
            done
        }
        tries=0
        ours() {
            for ((i = 0; i < times; i++)); do
                until bpk append --wait -q "$archive" more 2>"$err"; do
                    says 'was changed by another program meanwhile|changed while it was read'
                done
            done
        }
        theirs &
        ours
        wait $!
        bpk verify "$archive"
        oracle2 raw "$archive" | cmp - <(bpk cat "$archive")
        [ "$(bpk cat "$archive" | wc -c)" -eq $((16384 * (2 * times + 2))) ]
        # each of them is there, whole
        bpk cat "$archive" | split -b 16384 - piece.
        count=0
        for piece in piece.*; do
            if cmp -s "$piece" more; then count=$((count + 1)); else same "$piece" a; fi
        done
        echo "# $format: $count of $times by bpk beside $times by c-blosc2" >&3
        [ $count -eq $times ]
        rm piece.*
    done
}
