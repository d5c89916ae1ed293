# The promises that did not hold before bpk looked through journals: one test each, which asks only
# for content, statuses and files, of every container that the promise can concern. Each container
# that fails is named, so that an older BPK can be held against the same tests.

load lib
load each

# Version 1 was obeyed once, version 3 is written now.
journal() { "$python" "$tests/lib/journal.py" "$@"; }

# The commands that read $archive; what they print and say does not matter here.
read_all() {
    local command
    for command in info cat "unpack -c" verify "tar -f -" "tar --raw -f -" "convert -F blp -o -"; do
        # shellcheck disable=SC2086
        timeout 20 "$BPK" $command "$archive" >"$out" 2>"$err" </dev/null || [ $? -lt 124 ] || die "$command: a crash"
    done
}

# "$@" is killed behind a sample of its calls in turn; $check judges what is left.
killed() { # CHECK COMMAND...
    local point status check=$1 seen=0
    need_nth
    cp -a "$archive" was
    for ((point = 1; point < 120; point++)); do
        sampled 5 || continue
        rm -rf "$archive" ".$archive.bpkj"
        cp -a was "$archive"
        status=0
        "$nth" -n $point -a after "$BPK" "${@:2}" >"$out" 2>"$err" || status=$?
        [ "$status" -ne 0 ] || break
        [ -s ".$archive.bpkj" ] || [ -s "$archive/.bpkj" ] || continue
        seen=$((seen + 1))
        "$check"
    done
    [ "$seen" -gt 0 ] || echo "# $kind: never anything left" >&3
}

# ---- journals and lists of changes ----

# A change of $archive that leaves a journal or a list when it is killed.
set_change() {
    case $kind in
    chunked | bcolz) change=(write -T 1 --at 2000 "$archive" more) ;;
    b2sparse | b2nddir) change=(truncate --bytes 7200 "$archive") ;;
    *) change=(append -T 1 "$archive" more) ;;
    esac
    # its header is so long that an append changes bytes behind the first sector
    [ "$kind" != b2nd ] || cp "$tests/data/frame/good-bpk-long-header.b2nd" "$archive"
}

is_new() {
    pack_it b
    bpk cat "$archive" >now
    same now b
}
stale() {
    pack_it a
    { head -c 24240 a && tail -c 5760 b; } >more && mv more b && head -c 9600 a >more
    set_change
    killed is_new "${change[@]}"
}
@test "promise 1: an archive made anew is not what an older one's journal says" {
    each stale "$files|$folders"
}

# A list for $archive, of things that are no part of it.
list_planted() {
    pack_it a
    [ "$kind" != bcolz ] || rm "$archive"/meta/* # no dataset
    echo mine >"$archive/notes" && echo other >"$archive/.notes.bpk-000000"
    [ ! -e "$archive/.lock" ]
    for version in 1 2 3; do
        for change in -notes +.notes.bpk-000000:notes; do
            journal list "$archive/.bpkj" "$archive" version=$version "$change"
            before=$(snapshot)
            read_all
            [ "$(snapshot)" = "$before" ] || die "version $version, $change: changed:" "$(diff <(echo "$before") <(snapshot))"
        done
    done
}
@test "promise 2: a planted list of changes is carried out by no command that reads" {
    each list_planted "$folders"
}

journal_planted() {
    pack_it a
    for version in 1 2; do
        for size in "$(stat -c %s "$archive")" 100; do
            journal journal ".$archive.bpkj" "$archive" version=$version size="$size" samples=none device=0 inode=0 100:evil
            before=$(snapshot)
            read_all
            bpk pack -f -o new.blp "$archive" && rm -f new.blp
            [ "$(snapshot)" = "$before" ] || die "version $version, $size: changed:" "$(diff <(echo "$before") <(snapshot))"
        done
    done
}
@test "promise 3: a planted journal without samples changes no file that is read" {
    each journal_planted "$files|npy|gsd"
}

# A tar gives nothing that would be obeyed, and takes nothing of that kind.
not_in_tars() {
    pack_it a
    : >".$archive.bpkj" && : >".$archive.bpk-000000"
    [ ! -d "$archive" ] || { : >"$archive/.bpkj" && : >"$archive/.lock" && : >"$archive/.a.bpk-000000"; }
    "$python" -c 'import sys, tarfile
with tarfile.open("t.tar", "w") as t:
    for name in sys.argv[1:]: t.add(name)' "$archive" ".$archive.bpkj" ".$archive.bpk-000000"
    mkdir to
    bpk tar -x -C to t.tar || true
    [ -e "to/$archive" ] && [ -z "$(find to -name '.*')" ] || die "extracts $(find to -name '.*')"
    rm -f "$archive"/.bpkj
    bpk tar -q -f s.tar "$archive"
    ! tar -tf s.tar | grep -E '(^|/)\.[^/]*$' || die "is stored"
}
@test "promise 3: tar neither stores nor extracts journals, lists, locks and drafts" {
    need tar
    each not_in_tars "$files|$folders"
}

# Run the commands on $archive. Before a call that reads, of a sample, the shell line $swap is carried out;
# SET-UP comes before each run and makes that line, $check judges what is left.
at_each_look() { # SET-UP COMMAND...
    local command more point
    [ "$(id -u)" -eq 0 ] || skip "only root can be two users"
    need_nth
    for command in "${@:2}"; do
        case $command in append*) more=b ;; meta*) more=k=1 ;; *) more= ;; esac
        for ((point = 1; point < 60; point++)); do
            sampled 11 || continue
            $1
            # shellcheck disable=SC2086
            NTH_RUN=$swap "$nth" -n $point -R -a run -o calls "$BPK" $command "$archive" $more >"$out" 2>&1 || true
            $check || die "version $version, $command, at $point"
            grep -q '\*' calls || break
        done
    done
}

# The neighbour's folder and journal; root's file and the neighbour's change places at the name. The
# neighbour's is there first, or root's, which is then open while the name is the neighbour's.
set_files() {
    local first=mine last=victim
    rm -rf "$archive" mine ".$archive.bpkj" .*bpk-*
    cp -p was mine
    ((point % 2)) || first=victim last=mine
    ln $first "$archive"
    journal journal ".$archive.bpkj" "$archive" version=$version samples="$(((version == 1)) && echo none || echo all)" 100:evil
    chown 65534 . mine ".$archive.bpkj"
    swap="ln -f $last $archive"
}
swapped() {
    pack_it a
    cp -p "$archive" was && cp "$archive" victim && chmod 600 victim && cp victim goal
    commands=(info cat "append -T 1" "meta set")
    [ "$kind" != gsd ] || commands=(info cat)
    check="same victim goal"
    for version in 1 3; do at_each_look set_files "${commands[@]}"; done
}
@test "promise 4: a name that is swapped between the look at its owner and the change leads nowhere" {
    each swapped "$files|gsd"
}

# A dataset that everyone may write to: a list of its owner's, which is about another directory, and a valid
# one of the neighbour's, which removes a chunk, change places at the name.
set_lists() {
    local first=mine last=theirs
    ((point % 3)) || first=theirs last=mine
    ln -f "$archive/$first" "$archive/.bpkj"
    swap="ln -f $archive/$last $archive/.bpkj"
}
list_swapped() {
    pack_it a
    chunk=$(cd "$archive" && find . -name '__[01]*' -path '*/data/*' -o -name '00000000.chunk' | sort | head -n 1)
    cp "$archive/$chunk" was
    chmod a+rwx "$archive"
    check="cmp was $archive/$chunk"
    for version in 1 3; do
        journal list "$archive/mine" "$archive" version=$version inode=1 "-${chunk#./}"
        journal list "$archive/theirs" "$archive" version=$version "-${chunk#./}"
        chown 65534 "$archive/theirs"
        at_each_look set_lists cat "append -T 1" "meta set"
    done
}
@test "promise 4: a list of changes that is swapped between the look at its owner and the change is not obeyed" {
    each list_swapped "$folders"
}

# A change that was interrupted is there for those who read, who leave all as it is.
untouched() {
    local before
    before=$(snapshot)
    "$BPK" cat -q "$archive" >"$out" 2>"$err" || [ $? -eq 3 ] || die "cannot be read: $(cat "$err")"
    { cmp -s "$out" committed || cmp -s "$out" changed; } || die "neither old nor new"
    read_all
    [ "$(snapshot)" = "$before" ] || die "changed:" "$(diff <(echo "$before") <(snapshot))"
}
pending() {
    pack_it a
    head -c 9600 b >more
    set_change
    bpk cat "$archive" >committed
    cp -a "$archive" saved
    bpk "${change[@]}"
    bpk cat "$archive" >changed
    rm -rf "$archive" && mv saved "$archive" && rm -f "$archive/.lock"
    before=$(snapshot)
    read_all
    [ "$(snapshot)" = "$before" ] || die "changed:" "$(diff <(echo "$before") <(snapshot))"
    killed untouched "${change[@]}"
}
@test "promises 2 and 3: commands that read write, delete and create nothing" {
    each pending "$files|$folders"
}

# What mv leaves of an archive that was being changed.
moved_over() {
    cp good new
    mv new "$archive"
    bpk cat "$archive" >now
    same now b
    [ "$(bpk verify -q "$archive" 2>&1)" = "" ] || [ -s ".$archive.bpkj" ]
}
moved() {
    cp a b && printf CORRECTION | dd of=b bs=1 seek=29000 conv=notrunc status=none
    head -c 9600 a >more
    pack_it b && mv "$archive" good
    pack_it a
    killed moved_over append -T 1 "$archive" more
}
@test "promise F: an archive moved to the place of one with a journal is what it is" {
    each moved 'blp|plain'
}

# After cp wrote over it, in the same inode: no old byte comes back or is shown.
copied_over() {
    cp good "$archive"
    if bpk cat "$archive" >now 2>"$err"; then same now right; fi
    bpk meta set "$archive" k=1 >"$out" 2>"$err" || cmp good "$archive"
    if bpk cat "$archive" >now 2>"$err"; then same now right; fi
    [ ! -e ".$archive.bpkj" ] || bpk repair --drop-journal "$archive" >"$out" 2>"$err"
    bpk cat "$archive" >now
    same now right
}
copied() {
    head -c 9600 a >more
    pack_it a
    set_change
    [ "$kind" != b2nd ] || { head -c 14000 a | bpk append -q -T 1 "$archive" - && head -c 800 a >more; }
    cp "$archive" good
    bpk cat good >right
    printf CORRECTION12 | bpk write -q -T 1 --at $(($(stat -c %s right) - 1000)) good -
    bpk cat good >right
    killed copied_over "${change[@]}"
}
@test "promise F: an archive copied over one with a journal is what it is" {
    each copied 'blp|plain|b2nd' # b2frame leaves no journal
}

# ---- nothing is lost in silence ----

@test "promise 5: archives that follow each other in a file or pipe are read whole, and --rm loses none" {
    each following "$files"
}
following() {
    pack_it a && mv "$archive" one
    pack_it b && cat one "$archive" >m && mv m "$archive"
    [ "$kind" != plain ] || { bpk pack -q -c - <a && bpk pack -q -c - <b; } 2>"$err" | cat >piped
    for file in "$archive" piped; do
        [ -e $file ] || continue
        bpk cat $file | cmp - <(cat a b)
        bpk cat - <$file | cmp - <(cat a b)
        bpk cat --bytes 29990:30010 $file | cmp - <(tail -c 10 a && head -c 10 b)
        bpk convert -q -f $file x.b2s && bpk cat x.b2s | cmp - <(cat a b)
        bpk verify $file
        bpk unpack -q -f --rm -o x $file
        cat a b | cmp - x
    done
}

@test "promises 5 and 15: no command that changes an archive loses what follows it" {
    each kept "$files"
}
kept() {
    pack_it a && cp "$archive" one && cat one >>"$archive"
    bpk cat one >a2 && cat a2 a2 >whole
    cp "$archive" was
    for command in "append $archive b" "append --copy $archive b" "truncate --bytes 7200 $archive" "write --at 0 $archive b" \
        "meta set $archive k=1" "repair --repack $archive" "repair --in-place $archive"; do
        # shellcheck disable=SC2086
        bpk $command >"$out" 2>&1 || true
        cmp was "$archive" || die "$command"
    done
}

# The last data file of the dataset, and its index.
files_of() {
    find "$archive" -name '__*' -path '*/data/*' -o -name '*.chunk' | sort -V | tail -n 1
    find "$archive" -name 'chunks.b2frame'
}

# Bytes behind the file that a change would replace stay, whatever the command says.
tail_kept() {
    pack_it a
    head -c 48 b >less
    for file in $(files_of); do
        cp "$file" whole
        printf 'something else' >>"$file"
        cp "$file" was
        for command in "append $archive b" "write --at 29900 $archive less" "truncate --bytes 7200 $archive"; do
            # shellcheck disable=SC2086
            ends 2 bpk $command
            cmp was "$file" || die "$command"
        done
        cp whole "$file"
    done
}
@test "promise 5: no change of a dataset loses bytes behind one of its files" {
    each tail_kept "$folders"
}

# In a file of the archive; 2 and not 0, and the source stays.
trailing() {
    pack_it a
    [ -d "$archive" ] && files=$(files_of) || files=$archive
    for file in $files; do
        cp "$file" whole
        printf 'something else' >>"$file"
        ends 2 bpk verify "$archive"
        ends 2 bpk cat "$archive"
        same "$out" a
        ends 2 bpk unpack --rm -f -o x "$archive"
        [ -s "$file" ]
        [ -d "$archive" ] || { ends 2 bpk cat - < <(cat "$file") && same "$out" a; }
        cp whole "$file"
    done
}
@test "promise 5: other bytes behind an archive's end are damage, and no source is removed" {
    each trailing "$files|$folders"
}

# Another run's output, mostly of the same bytes; a file that became shorter and grew again.
run_of() {
    "$python" -c 'import random, struct, sys
r = random.Random(sys.argv[2]); n = int(sys.argv[1])
sys.stdout.buffer.write(struct.pack("<%dq" % n, *(r.randrange(256) for i in range(n))))' "$@"
}
followed() {
    run_of 3750 1 >a
    run_of 7500 2 >f
    pack_it a
    if bpk append "$archive" --follow f --pid 4194305 --bytes >"$out" 2>"$err"; then die "status 0"; fi
    bpk cat "$archive" >now
    same now a
}
@test "promise 6: append --follow of another file changes no committed byte" {
    each followed "$files|$folders"
}

# A header's bit that says which version a chunk has, where the archive knows better.
flipped() {
    local bit file start
    pack_it a
    file=$archive
    [ ! -d "$archive" ] || file=$(find "$archive" -name '__1__.bin' -o -name '__1.blp' -o -name '00000001.chunk')
    cp "$file" was
    start=0
    [ "$kind" != b2frame ] && [ "$kind" != b2nd ] || start=$((16#$(od -An -j 11 -N 4 -t x1 was | tr -d ' \n')))
    for byte in $(seq "$start" $((start + 40))); do
        for bit in 0 7; do
            sampled 7 || continue # tests/lib/flips tries every bit
            cp was "$file"
            value=$(od -An -j "$byte" -N 1 -t u1 was)
            printf "\\x$(printf %x $((value ^ (1 << bit))))" | dd of="$file" bs=1 seek="$byte" conv=notrunc status=none
            status=0
            bpk verify -q "$archive" >"$out" 2>"$err" || status=$?
            [ "$status" -ne 1 ] || die "byte $byte, bit $bit: $(cat "$err")"
        done
    done
}
@test "promise 7: a flipped bit is damage, and no version or method that is not supported" {
    each flipped "$files|$folders"
}

shortened() {
    pack_it a
    if [ -d "$archive" ]; then
        file=$(find "$archive" -name '__*' -size +0 | sort | tail -n 1)
        [ -n "$file" ] || file=$(find "$archive" -name '0*.chunk' | sort | tail -n 1)
    else
        file=$archive
    fi
    truncate -s -5 "$file"
    if bpk info "$archive" >"$out" 2>"$err"; then die "info: status 0"; fi
}
@test "promise 7: info reports an archive whose end is missing" {
    each shortened "$files|$folders"
}

@test "promise 7: no manual removes what only verify --quick has seen" {
    [ -n "${top_srcdir:-}" ] || skip "top_srcdir is not set"
    ! tr -d '\\' <"$top_srcdir/man/bpk-verify.1" | grep -E 'verify --quick.*&& rm'
}
