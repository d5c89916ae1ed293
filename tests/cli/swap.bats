load lib

# Names that are given to another archive, as mv does, while a command changes the one that had it.

teardown() {
    for job in $(jobs -p); do kill -KILL "$job" 2>/dev/null || true; done
}

# Files are replaced by a rename, directories are moved away first.
swap='mv -T z old; mv -T other z; : >took'

# COMMAND...: it takes standard input, and the name z is swapped before it ends.
meanwhile() {
    mkfifo pipe
    # with an end of our own neither open waits
    exec 7<>pipe
    cat b >&7 &
    "$@" <pipe >"$out" 2>"$err" 7>&- &
    pid=$!
    sleep 0.3
    eval "$swap"
    exec 7>&-
    status=0
    wait $pid || status=$?
    rm pipe
}

# z is what other was, and the command said so.
is_other() {
    [ "$status" -eq 1 ] || die "$1: status $status" "$(cat "$err")"
    grep -Eq '^bpk: z: (is committed, .*: )?was replaced by another (file|directory) while it was changed; ' "$err" ||
        die "$1: says $(cat "$err")"
    diff -r -x .lock z kept || die "$1: changed the new one"
    [ -z "$(find . -maxdepth 1 -name '.z*')" ] || die "$1: litter: $(find . -maxdepth 1 -name '.z*')"
}

# FORMAT OPTIONS...: z and other hold a, kept is a copy of other.
two_archives() {
    rm -rf z old other kept took
    bpk pack -q -F "$1" "${@:2}" -o z a
    bpk pack -q -F "$1" "${@:2}" -o other a
    cp -r other kept
}

@test "append: an archive whose name another one takes meanwhile is not changed with status 0" {
    data noise 50000 a
    data noise 3000 b
    for format in "${editable[@]}"; do
        for option in "" --copy; do
            [ -z "$option" ] || [[ $format != chunked && $format != b2sparse ]] || continue
            two_archives "$format" -z 16K
            meanwhile bpk append $option z
            is_other "$format $option"
        done
    done
}

@test "append --follow and --commit-interval notice another archive under the name" {
    data noise 50000 a
    data noise 3000 b
    for format in "${editable[@]}"; do
        two_archives "$format" -z 16K
        meanwhile bpk append --commit-interval 1 z
        is_other "$format, interval"
        two_archives "$format" -z 16K
        cp a f
        bpk append --commit-interval 1 --follow f --idle 2 z >"$out" 2>"$err" &
        pid=$!
        sleep 0.5
        eval "$swap"
        cat b >>f
        status=0
        wait $pid || status=$?
        is_other "$format, follow"
    done
}

# At every call that changes files.
swap_at_all() { # WHAT COMMAND...
    local point
    for ((point = 1; point < 100; point++)); do
        sampled 7 || [ "$point" -gt 60 ] || continue
        "${again[@]}"
        status=0
        NTH_RUN=$swap "$nth" -n "$point" -a run "$BPK" "${@:2}" >"$out" 2>"$err" <b || status=$?
        [ -e took ] || break
        # opened after the swap: then the old one is as it was
        if [ "$status" -eq 0 ] && diff -r -x .lock old kept >"$out"; then continue; fi
        is_other "$1 at $point"
    done
    [ "$point" -gt 1 ] || die "$1: nothing was swapped"
}

@test "append, write, truncate and meta: the same at every call that changes a file" {
    need_plain_build
    need_nth
    data noise 50000 a
    data noise 3000 b
    for format in "${editable[@]}"; do
        for command in "append -q -T 1 z" "append -q -T 1 --copy z" "write -q -T 1 --at 100 z" \
            "write -q -T 1 --copy --at 100 z" "truncate -q --bytes 20000 z" \
            "truncate -q --copy --bytes 20000 z" "meta set z k=1"; do
            [[ $command != *copy* ]] || [[ $format != chunked && $format != b2sparse ]] || continue
            again=(two_archives "$format" -z 16K)
            swap_at_all "$format, $command" $command
        done
    done
}

@test "truncate: a raw GSD file, the same" {
    need_plain_build
    need_nth
    gsd=$(ls "$tests"/fuzz/corpus/layout/gsd-* | head -n 1)
    again=(eval 'rm -rf z old other kept took; cp "$gsd" z; cp z other; cp z kept')
    : >b
    swap_at_all "gsd" truncate -q --frames 1 z
}

# ---- Directories replaced by bpk, which excludes their writers ----

# COMMAND...: at its call $point an append begins that ends after it.
append_across() {
    mkfifo pipe
    exec 7<>pipe
    status=0
    NTH_RUN="\"$BPK\" append -q z <pipe >said 2>&1 7>&- & echo \$! >pid; sleep 0.15; : >took" \
        "$nth" -n "$point" -a run "$@" >"$out" 2>"$err" || status=$?
    cat c >&7
    exec 7>&-
    rm pipe
    [ -e took ] || return 0
    eventually gone "$(cat pid)"
}
gone() { ! kill -0 "$1" 2>/dev/null; }

@test "pack -f over a directory: an append that begins meanwhile is refused, or its bytes are there" {
    need_plain_build
    need_nth
    data noise 40000 a
    data noise 30000 b
    data field-f64 5000 c
    for format in chunked b2sparse; do
        for used in no yes; do # the old one was changed before, and has a lock
            for ((point = 1; point < 100; point++)); do
                sampled 13 || [ "$point" -gt 40 ] || continue
                rm -rf z .z* took said
                bpk pack -q -0 -z 16K -F $format -o z a
                [ $used = no ] || : >z/.lock
                append_across "$BPK" pack -q -0 -z 16K -f -F $format -o z b
                [ -e took ] || break
                [ "$status" -eq 0 ] || is_busy "$err"
                if [ -s said ]; then
                    is_busy said
                    bpk cat z | cmp - b
                elif [ "$status" -eq 0 ]; then
                    bpk cat z | cmp - <(cat b c) # it went on with the new one
                else
                    bpk cat z | cmp - <(cat a c)
                fi || die "$format, used $used, at $point: lost" "$(cat said)" "$(cat "$err")"
                [ -z "$(find . -maxdepth 1 -name '.z*')" ] || die "$format at $point: litter"
            done
        done
    done
}
is_busy() { grep -qx "bpk: z: is being changed by another process" "$1"; }

@test "pack -f over a directory that another pack replaces, and an append to that one" {
    need_plain_build
    need_nth
    data noise 40000 a
    data noise 30000 b
    data field-f64 5000 c
    for format in chunked b2sparse; do
        again=("$BPK" pack -q -0 -z 16K -f -F $format -o z)
        rm -rf z .z* said
        "${again[@]}" a
        "$nth" -o calls "${again[@]}" b
        point=$(grep -n rename calls | tail -n 1 | cut -d : -f 1) # the names are exchanged
        rm -rf z
        "${again[@]}" a
        mkfifo pipe
        exec 7<>pipe
        NTH_RUN="${again[*]} b 2>/dev/null; \"$BPK\" append -q z <pipe >said 2>&1 7>&- & echo \$! >pid; sleep 0.3" \
            "$nth" -n "$point" -a run "${again[@]}" b 2>"$err" || is_busy "$err"
        cat c >&7
        exec 7>&-
        rm pipe
        eventually gone "$(cat pid)"
        if [ -s said ]; then
            bpk cat z | cmp - b
        else
            bpk cat z | cmp - <(cat b c)
        fi || die "$format: lost" "$(cat said)" "$(cat "$err")"
        [ -z "$(find . -maxdepth 1 -name '.z*')" ] || die "$format: litter"
    done
}

@test "directories that several commands replace and change at once leave nothing hidden" {
    data noise 200000 a
    data noise 100000 b
    for format in chunked b2sparse; do
        for ((i = 0; i < 4; i++)); do
            rm -rf z .z*
            bpk pack -q -0 -z 16K -F $format -o z a
            jobs=()
            for command in "pack -q -0 -z 16K -f -F $format -o z b" "append -q --wait z b" \
                "pack -q -0 -z 16K -f -F $format -o z a" "append -q --wait z b"; do
                "$BPK" $command 2>>"$err" &
                jobs+=($!)
            done
            for job in "${jobs[@]}"; do wait "$job" || true; done
            [ -z "$(find . -maxdepth 1 -name '.z*')" ] ||
                die "$format: left $(find . -maxdepth 1 -name '.z*')" "$(cat "$err")"
            bpk verify -q z
        done
    done
}

# Append b to ARCHIVE, with SWAP done while it is open.
append_while() { # ARCHIVE SWAP
    mkfifo pipe
    exec 7<>pipe
    "$BPK" append -q -T 1 "$1" - <pipe 7>&- 2>"$err" &
    pid=$!
    eventually has_opened
    eval "$2"
    cat b >&7
    exec 7>&-
    rm pipe
    status=0
    wait "$pid" || status=$?
}
has_opened() { ls -l "/proc/$pid/fd" 2>/dev/null | grep -q 'z\.'; }

@test "append: a folder that is renamed meanwhile takes the archive along" {
    data noise 20000 a
    data noise 3000 b
    for format in blp b2frame; do
        rm -rf d e
        mkdir d
        bpk pack -q -z 4K -F $format -o d/z.$format a
        append_while d/z.$format 'mv d e'
        [ "$status" -eq 0 ] || die "$format: $(cat "$err")"
        bpk cat e/z.$format | cmp - <(cat a b)
    done
}

@test "append: a link, or a folder, that leads to another archive meanwhile" {
    data noise 20000 a
    data noise 3000 b
    for format in blp b2frame; do
        rm -rf d e
        mkdir d e
        bpk pack -q -z 4K -F $format -o d/z.$format a
        cp d/z.$format e
        ln -sfn d/z.$format cur
        append_while cur "ln -sfn e/z.$format cur"
        [ "$status" -eq 1 ] || die "$format: status $status"
        says 'cur: was replaced by another file while it was changed'
        bpk cat e/z.$format | cmp - a
        append_while d/z.$format 'mv d f; mv e d; mv f e'
        [ "$status" -eq 1 ] || die "$format: status $status"
        bpk cat d/z.$format | cmp - a
    done
}

@test "root's changes of another user's directory leave it that user's" {
    [ "$(id -u)" -eq 0 ] || skip "not root"
    data noise 20000 a
    data noise 3000 b
    for format in chunked b2sparse; do
        rm -rf z
        bpk pack -q -z 4K -F $format -o z a
        chown -R nobody z
        bpk append -q z b
        bpk truncate --bytes 15000 z
        [ -z "$(find z ! -user nobody)" ] || die "$format: $(find z ! -user nobody)"
    done
}
