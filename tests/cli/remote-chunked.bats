load lib

# Chunked directories in a store of S3, which is tests/lib/store, that are added to. Their data files have numbers, so
# that the last one is replaced under its name.

# A command that writes, which must end.
bpk() { timeout 100 "$BPK" "$@"; }

# An archive $old of which the last file and its last chunk are short, and $more bytes for it; both is the whole.
archives() { # OPTION...
    data field-f32 300000 raw
    data field-f32 200000 more
    "$BPK" pack -q -z 64K -F chunked "$@" -o old raw
    cat raw more >both
}

# The folder d with the archive x in the bucket.
serve_archive() { # OPTION...
    rm -rf d
    mkdir -p d/b
    cp -r old d/b/x
    serve_store "$@"
}

# RAW: the archive x in the store is sound, and holds that.
holds() {
    "$BPK" cat d/b/x >content 2>"$err" && cmp -s content "$1" || die "another content: $(cat "$err")"
    "$BPK" verify -q d/b/x 2>"$err" || die "$(cat "$err")"
}

# After a failure: the old archive; and the next append goes on from there, whatever was left.
holds_old() { # REASON
    "$BPK" cat d/b/x >content 2>"$err" && cmp -s content raw || die "$1: another content: $(cat "$err" said)"
    "$BPK" verify -q d/b/x 2>"$err" || die "$1: $(cat "$err" said)"
    serve_store
    bpk append -q s3://b/x more 2>"$err" || die "$1: then: $(cat "$err")"
    stop_serving
    holds both
}

@test "append adds to chunked directories in a store" {
    need_urls
    archives
    for options in '' '--superchunk-size 192K' '--layout bcolz' '--dtype <f4' '--checksum none' \
        "--dtype [('a','<i2'),('b','<i2')]"; do
        rm -rf old
        # shellcheck disable=SC2086
        quietly bpk pack -z 64K $options -F chunked -o old raw
        serve_archive
        quietly bpk append s3://b/x more
        holds both
        quietly bpk verify s3://b/x/
        # the same files as on the disk
        quietly bpk append old more
        rm -f old/.lock
        diff -r old d/b/x >&2 || die "$options: other files"
        quietly bpk append --commit-interval 1 s3://b/x/ more more
        cat both more more >all
        holds all
        : >empty
        quietly bpk append s3://b/x empty
        holds all
        [[ $(<d/b/x/meta/sizes) != *writer* ]] || die "$(<d/b/x/meta/sizes)"
        stop_serving
    done
}

@test "a file is followed into a chunked directory in a store" {
    need_urls
    archives
    serve_archive
    bpk append -q --follow both --idle 1 s3://b/x/ 2>said || die "$(cat said)"
    holds both
}

@test "append to a full last file replaces nothing" {
    need_urls
    archives
    head -c 262144 raw >full
    quietly bpk pack -t 4 -z 64K --superchunk-size 128K -F chunked -o full.d full
    rm -rf old
    mv full.d old
    serve_archive
    cp -r d/b/x/data was
    quietly bpk append s3://b/x more
    holds <(cat full more)
    for file in was/*; do same "$file" "d/b/x/data/${file#was/}"; done
    # sizes was written once: there was no reservation
    [ "$(awk -F '\t' '$2 == "PUT" && $3 ~ /sizes/' "$requests" | wc -l)" -eq 1 ]
    ! awk -F '\t' '$2 == "PUT" && $3 ~ /__[12]__/' "$requests" | grep .
}

@test "which chunked directories are not added to" {
    need_urls
    archives --dtype "[('a','<i2'),('b','<i2')]" --layout bcolz
    serve_archive
    [ -e d/b/x/__rootdirs__ ]
    refuses 1 "is a table of bcolz in a store, .* columns do not grow in one step" bpk append s3://b/x more
    [ -e d/b/x/a/meta/sizes ]
    refuses 1 "is a table of bcolz in a store, or a column of one, " bpk append s3://b/x/a more
    rm -rf d/b/x old
    archives
    cp -r old d/b/x
    refuses 1 "not changed in place" bpk truncate --bytes 0 s3://b/x/
    refuses 1 "not changed in place" bpk write --at 0 s3://b/x/ more
    rm d/b/x/meta/sizes
    refuses 1 "meta/sizes: does not exist, or cannot be looked up" bpk append s3://b/x more
    cp old/meta/sizes d/b/x/meta
    stop_serving
    serve_store --weak-etag
    refuses 1 "no strong ETags" bpk append s3://b/x more
    diff -r old d/b/x
}

# FAULT: with that fault, what an append ends in: the new archive, or a line and the old one.
append_falters() {
    local fault=$1 status=0 lines
    serve_archive --fault "$fault"
    bpk append --timeout 2 s3://b/x more >"$out" 2>said || status=$?
    stop_serving
    # a line about http:// says that the store does not list, which is no failure
    lines=$(grep -cvE 'of its files may be left|^bpk: http://' said) || true
    if [ "$status" -eq 0 ]; then
        holds both
        [ "$lines" -eq 0 ] || die "$fault: $(cat said)"
        return
    fi
    [[ $status = [12] ]] && [ "$lines" -eq 1 ] || die "$fault: status $status: $(cat said)"
    if grep -qE 'all of its files stay|is committed' said && cmp -s <("$BPK" cat d/b/x) both; then
        holds both
        return
    fi
    holds_old "$fault"
}

@test "a fault of any request of an append ends in the new archive, or the old one and a line" {
    need_urls
    archives --superchunk-size 192K
    serve_archive
    quietly bpk append s3://b/x more
    number=$(count_requests)
    commit=$(awk -F '\t' '$2 == "PUT" { n = $1 } END { print n }' "$requests")
    first=$(awk -F '\t' '$2 == "PUT" { print $1; exit }' "$requests")
    stop_serving
    for row in $(rows $((number * ${#faults[@]})) 61); do
        append_falters "${faults[row % ${#faults[@]}]}@$((row / ${#faults[@]} + 1))"
    done
    lasting=(403 500 reset lost condition late)
    for row in $(rows $((number * 6)) 61); do
        append_falters "${lasting[row % 6]}@$((row / 6 + 1))+"
    done
    append_falters "condition@$first"
    grep -q "meta/sizes: was changed by another command meanwhile, and stays so; append again" said || die "$(cat said)"
    append_falters "condition@$commit"
    grep -q "meta/sizes: was changed by another command meanwhile, and stays so; append again" said || die "$(cat said)"
    append_falters "lost@$commit"
    [ ! -s said ] || die "$(cat said)"
}

@test "an append that is killed at any request leaves the old archive, and the next one goes on" {
    need_urls
    need pgrep
    archives --superchunk-size 192K
    serve_archive
    quietly bpk append --connections 1 s3://b/x more
    number=$(count_requests)
    stop_serving
    : >said
    for row in $(rows $((number * 2)) 9); do
        at=$((row / 2 + 1)) fault=stall
        [ $((row % 2)) -eq 0 ] || fault=late
        serve_archive --fault "$fault@$at"
        timeout 60 "$BPK" append --connections 1 --timeout 50 s3://b/x more 2>"$err" &
        waiting=$!
        eventually arrived "$at"
        sleep 0.1
        kill -KILL "$(pgrep -P "$waiting")" || true # on a slow machine it has ended
        wait "$waiting" || true
        stop_serving
        if cmp -s <("$BPK" cat d/b/x) both; then holds both; else holds_old "$fault@$at"; fi
    done
}

@test "three appends to one archive: each is whole or refused" {
    need_urls
    archives --superchunk-size 192K
    data field-f32 150000 more2
    data noise 90000 more3
    append() { bpk append -q s3://b/x "$1" 2>"$1.err"; }
    serve_archive --delay 0.003
    many=12 total=0
    ! light || many=4
    [ -z "${BPK_TEST_WHOLE:-}" ] || many=100
    for round in $(seq $many); do
        rm -rf d/b/x
        cp -r old d/b/x
        ids=()
        for part in more more2 more3; do
            append $part &
            ids+=($!)
        done
        done=()
        for i in 0 1 2; do
            names=(more more2 more3)
            if wait "${ids[i]}"; then done+=("${names[i]}"); else
                grep -qE "is there already|was changed by another|changed while it was read" "${names[i]}.err" ||
                    die "$(cat "${names[i]}.err")"
            fi
        done
        holds_these "${done[@]}"
        total=$((total + ${#done[@]}))
    done
    [ "$total" -ge "$many" ] || die "$total appends in $many rounds"
}

# The archive x holds raw and each of these files once, in some order.
holds_these() {
    "$BPK" verify -q d/b/x 2>"$err" || die "$(cat "$err")"
    "$BPK" cat d/b/x >content
    "$python" - content raw "$@" <<'END' || die "$# appends are not there"
import itertools, sys
content, raw, *parts = [open(name, "rb").read() for name in sys.argv[1:]]
sys.exit(content not in [raw + b"".join(order) for order in itertools.permutations(parts)])
END
}

@test "a commit that arrives late does not take the file of another append" {
    need_urls
    need pgrep
    archives --superchunk-size 192K
    data field-f32 150000 more2
    append=(append --connections 1 --timeout 50 s3://b/x)
    serve_archive
    quietly bpk "${append[@]}" more
    commit=$(awk -F '\t' '$2 == "PUT" { n = $1 } END { print n }' "$requests")
    stop_serving
    step=1 late=0
    ! light || step=5
    for at in $(seq $((commit + 1)) $step $((2 * commit + 20))); do
        # the first command waits for the answer to its commit; the other one ends with its request $at
        serve_archive --fault "late@$commit" --fault "403@$at+"
        timeout 60 "$BPK" "${append[@]}" more 2>one.err &
        waiting=$!
        eventually arrived "$commit"
        two=0
        bpk "${append[@]}" more2 2>two.err || two=$?
        kill -KILL "$(pgrep -P "$waiting")"
        wait "$waiting" || true
        stop_serving
        "$BPK" verify -q d/b/x 2>"$err" || die "$at: $(cat "$err" two.err)"
        "$BPK" cat d/b/x >content
        if [ "$two" -eq 0 ]; then same content <(cat raw more2); continue; fi
        cmp -s content both && late=1 || cmp -s content raw || same content <(cat raw more2)
    done
    # the commit is carried out where the other command has changed nothing yet
    [ "$late-$two" = 1-0 ] || die "$late, $two: $(cat two.err)"
}

@test "readers beside an append see one state" {
    need_urls
    archives --superchunk-size 192K
    serve_archive --delay 0.01
    for round in 1 2 3 4 5; do
        rm -rf d/b/x
        cp -r old d/b/x
        one() { bpk cat --threads 1 s3://b/x/; }
        other() { bpk append -q s3://b/x more; }
        both one other
        [ "$two" -eq 0 ] || die "$(cat two.err)"
        if [ "$one" -eq 0 ]; then
            cmp -s one.out raw || same one.out both
        else
            grep -q "changed while it was read" one.err || die "$(cat one.err)"
        fi
        ends 0 bpk verify s3://b/x/
    done
}
