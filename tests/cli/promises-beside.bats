# Promises about messages, about readers beside writers and about limits, as in promises.bats.

load lib
load each

# What passes verify after a change of whole chunks, counts or files is named by verify -v.
unprotected() {
    if [ ! -d "$archive" ]; then
        head -c 40960 ../both >a
    else
        head -c 24000 a >b && mv b a
    fi
    case $kind in b2nd*) options=("${options[@]/125,60/$(($(stat -c %s a) / 240)),60}") && truncate -s $(($(stat -c %s a) / 240 * 240)) a ;; esac
    pack_it a
    bpk verify -v "$archive" >named
    cp -a "$archive" was
    case $kind in
    blp | plain)
        for what in swap copy count cut; do
            "$python" "$tests/lib/blp_manip.py" was "$archive" $what
            passes=0 && bpk verify "$archive" >"$out" 2>"$err" || passes=$?
            word=order && [[ $what != c[ou]* ]] || word=counts
            [ $what != copy ] || word=order
            [ $passes -ne 0 ] || grep -q "$word" named || die "$what passes, not named: $(cat named)"
        done
        ;;
    *)
        bpk append -q "$archive" <(head -c 4800 ../other)
        case $kind in
        b2frame | b2nd) dd if=was of="$archive" conv=notrunc status=none ;;
        chunked | bcolz) cp was/meta/sizes "$archive/meta/sizes" ;;
        *) cp was/chunks.b2frame "$archive/chunks.b2frame" ;;
        esac
        passes=0 && bpk verify -v "$archive" >named 2>"$err" || passes=$?
        [ $passes -ne 0 ] || grep -q 'return to' named || die "an earlier state passes, not named: $(cat named)"
        ;;
    esac
}
@test "promise 8: verify -v names the order of chunks, counts, and a return to an earlier state" {
    each unprotected "$files|$folders"
}

# 300,000 bytes, more than a pipe holds, and as many others.
pack_large() {
    data noise 300000 a
    tail -c 150000 a >b && head -c 150000 a >>b
    options=("${options[@]/125,60/1250,60}")
    bpk pack -0 "${options[@]}" -o "$archive" a
}

# A slow reader while the archive is changed.
beside() { # DEED...
    rm -f pipe && mkfifo pipe
    bpk cat "$archive" >pipe 2>said &
    reading=$!
    exec 7<pipe
    head -c 100 <&7 >got
    "$@" &
    writing=$!
    # the writer ends, or it waits
    for _ in {1..20}; do kill -0 $writing 2>/dev/null && sleep 0.02 || break; done
    cat <&7 >>got
    exec 7<&-
    status=0
    wait $reading || status=$?
    wait $writing
    if [ $status -eq 0 ]; then cmp got a || die "a mixture, with status 0"; else [ $status -eq 1 ] && grep -q 'changed while' said; fi
}
one_generation() {
    pack_large
    beside bpk write -q --at 0 "$archive" b
    rm -rf "$archive"
    pack_large
    beside bpk write -q --copy --at 0 "$archive" b
    rm -rf "$archive"
    pack_large
    beside bpk truncate --bytes 120000 "$archive"
}
@test "promise 17: a reader beside a writer sees one generation, or fails" {
    each one_generation "$files|$folders"
}

not_waiting() {
    pack_large
    mkfifo pipe
    bpk cat "$archive" >pipe 2>said &
    reading=$!
    exec 7<pipe
    head -c 100 <&7 >got
    status=0
    timeout 5 "$BPK" write -q --at 0 "$archive" b || status=$?
    exec 7<&-
    wait $reading || true
    [ $status -eq 0 ] || die "the writer ends with $status"
}
@test "promise 18: a reader whose output nobody takes keeps no writer waiting" {
    each not_waiting "$files|$folders"
}

# Every reading command at once: their results and messages go to a pipe that is full.
all_not_waiting() {
    pack_large
    [ ! -d "$archive" ] || for i in {1..25}; do : >"$archive/foreign-$i"; done
    mkfifo pipe
    exec 7<>pipe
    dd if=/dev/zero of=pipe oflag=nonblock bs=4096 count=999 status=none 2>/dev/null || true
    readers=
    for command in "info" "info -vv" "info --json -vv" "verify -v" "verify -v --json" "cat" "cat --bytes 9:" "unpack -c" \
        "unpack -v -f -o out" "tar -f -" "tar --raw -f -" "tar -v -f t.tar" "meta get" "convert -F blp" "convert -F b2frame"; do
        goal=
        case $command in convert*) goal=- ;; esac
        # shellcheck disable=SC2086
        "$BPK" $command "$archive" $goal >pipe 2>&1 </dev/null &
        readers+=" $!"
    done
    sleep 0.3
    blocked=0
    for reader in $readers; do kill -0 "$reader" && blocked=$((blocked + 1)); done
    [ $blocked -ge 12 ] || die "only $blocked readers wait"
    wrong=
    for command in "append $archive b" "write --at 0 $archive b" "write --copy --at 0 $archive b" \
        "meta set $archive k=1" "truncate --bytes 240000 $archive"; do
        # shellcheck disable=SC2086
        timeout 5 "$BPK" $command -q 2>said || wrong="$command: status $?, $(cat said)"
    done
    # shellcheck disable=SC2086
    kill -9 $readers 2>/dev/null || true
    exec 7<&-
    [ -z "$wrong" ] || die "$wrong"
}
@test "promise 18: no reading command whose output is blocked keeps a writer waiting" {
    each all_not_waiting "$files|$folders"
}

@test "promise 19: the manuals say what --no-sync gives up" {
    [ -n "${top_srcdir:-}" ] || skip "top_srcdir is not set"
    for command in append truncate write meta; do
        grep -q 'A power cut soon afterwards may lose the result, or leave wrong content' \
            "$top_srcdir/man/bpk-$command.1" || die "bpk-$command(1)"
    done
}

removed() {
    pack_it a
    bpk unpack -q --rm -o out "$archive"
    same out a
    [ ! -e "$archive" ]
}
@test "promise 20: unpack --rm removes a dataset" {
    each removed "$folders"
}

on_small_stack() {
    for command in "pack -f ${options[*]} -o $archive a" "verify $archive" "cat $archive" "convert -f -T 3 $archive o.b2nd" \
        "append $archive a" "truncate --bytes 24000 $archive"; do
        # shellcheck disable=SC2086
        (ulimit -s 64 && exec "$BPK" $command) >"$out" 2>"$err" || [ $? -lt 128 ] || die "$command: a crash"
    done
}
@test "promise 22: 64 KiB of stack are enough" {
    need_plain_build
    (ulimit -s 64 && exec "$BPK" --version) >"$out" || skip "no program runs with 64 KiB here"
    each on_small_stack "$files|$folders"
}

# ---- the terminal, other users, locks ----

tame() {
    local hostile=$'x\xc2\x9b31my' name
    mkdir d
    name=d/$hostile.${archive##*.}
    bpk pack "${options[@]}" -v --set "k=\"$hostile\"" -o "$name" a >said 2>&1
    for command in "info -v" "verify -v" "cat --bytes 9:1" "meta get" "unpack -v -f -o $hostile" "tar -v -o t.tar"; do
        # shellcheck disable=SC2086
        bpk $command "$name" >>said 2>&1 </dev/null || true
    done
    bpk tar -tv t.tar >>said 2>&1
    [ "$(grep -ac . said)" -gt 9 ]
    # the content of meta get is JSON, and no text
    if grep -aq $'\x9b' said; then die "$(grep -a -m 2 $'\x9b' said | cat -v)"; fi
}
@test "promise F: no control reaches a terminal in names, messages and metadata" {
    each tame "$files|$folders"
}

no_wider() {
    chmod 640 a
    setfacl --set u::rw,g::-,u:65534:rw,m::rw,o::- a
    pack_it a
    # the same list, less the umask, in which the group has nothing
    getfacl -cn "$archive" | grep -q '^group::---' || die "list $(getfacl -cn "$archive")"
    [ -z "$(getfacl -cn "$archive" | grep -v '^user::rw-$\|^user:65534:\|^group::---$\|^mask::\|^other::---$\|^$')" ] ||
        die "list $(getfacl -cn "$archive")"
}
@test "promise F: an input's list of rights makes no output wider" {
    command -v setfacl >/dev/null || skip "setfacl is not installed"
    : >probe && setfacl -m u:65534:r probe 2>/dev/null || skip "no access control lists here"
    each no_wider "$files"
}

locked() {
    pack_it a
    file=$archive
    [ ! -d "$archive" ] || file=$archive/.lock
    : >>"$file"
    : >said
    "$python" -c 'import fcntl, os, struct, sys, time
f = open(sys.argv[1], "r+b")
for byte in 1, 2:
    fcntl.fcntl(f, 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, (1 << 62) + byte, 1, 0))
open("held", "w").close()
while not os.path.getsize("said"): time.sleep(0.01)' "$file" &
    holding=$!
    eventually test -e held
    bpk append -q "$archive" a 2>said || true
    grep -q 'waits for a lock that' said || die "says: $(cat said)"
    wait $holding
}
@test "promise F: who waits for a lock says so after a second" {
    [ "$(getconf LONG_BIT)" -eq 64 ] || skip "the lock is spelled for 64 bits"
    each locked "blp|b2frame|chunked|b2sparse"
}
