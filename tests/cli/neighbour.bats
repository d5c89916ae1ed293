#!/usr/bin/env bats
# A neighbour who may put files into the folder: whatever lies there as a journal, a list of changes,
# a lock or a draft, commands that read change nothing, and commands that change an archive touch no
# file but that archive's.
#
#   BPK_TEST_WHOLE  1: every case, not one in six

load lib

them=65534  # the neighbour
other=65533 # a user without rights, in place of root

# COMMAND... as the owner of the archive, who is root or $other.
as_owner() {
    if [ "$owner" -eq 0 ]; then "$@"; else setpriv --reuid="$owner" --regid="$owner" --clear-groups "$@"; fi
}

# Every file of the neighbour's, and victim, which is root's: who owns it, what it holds.
theirs() {
    find . \( -user $them -o -name victim \) -printf '%p %y %U %m %s %l\n' -type f -exec sha256sum {} + | sort
}

# FORMAT: an archive, and beside it files that a neighbour values.
settle_down() {
    cd "$BATS_TEST_TMPDIR/work"
    rm -rf in
    mkdir in && chmod 1777 in && cd in
    data text 30000 a
    data noise 3000 more
    echo secret >victim && chmod 600 victim
    case $1 in
    b2nd) archive=x.b2nd && bpk pack -q --dtype '<i4' --shape 125,60 --chunk-shape 16,20 -o x.b2nd a ;;
    raw) archive=x.npy && cp a x.npy ;;
    *) archive=a.${suffix[$1]} && bpk pack -q -z 4K -F "$1" -o "$archive" a ;;
    esac
    if [ -d "$archive" ]; then
        chmod -R a+rwX "$archive"
        kind=archive list=$archive/.bpkj first=$(cd "$archive" && find . -type f | sort | head -n 1 | cut -c 3-)
    else
        kind=folder
    fi
    chown -R "$owner:$owner" "$archive" a more
}
journal() { "$python" "$tests/lib/journal.py" "$@"; }

# Cases for files: NAME, what to do. The owner follows: us or them.
plant_in_folder() { # NUMBER
    local j=.$archive.bpkj
    case $1 in
    0) journal journal "$j" "$archive" samples=none "0:evil" ;;
    1) journal journal "$j" "$archive" samples=none size=10 "0:evil" ;;
    2) journal journal "$j" "$archive" version=1 "0:evil" ;;
    3) journal journal "$j" "$archive" inode=1 "0:evil" ;;
    4) journal journal "$j" "$archive" device=1 "0:evil" ;;
    5) journal journal "$j" "$archive" start=no "0:evil" ;;
    6) journal journal "$j" victim samples=all ;;
    7) echo notes >"$j" ;;
    8) ln -s victim "$j" ;;
    9) ln -s "$archive" "$j" ;;
    10) mkdir "$j" ;;
    11) mkfifo "$j" ;;
    12) journal journal "$j" "$archive" "100:evil" && truncate -s 300 "$j" && printf x | dd of="$j" bs=1 conv=notrunc status=none ;;
    13) echo draft >".$archive.bpk-000000" ;;
    14) ln -s victim ".$archive.bpk-000000" ;;
    15) mkdir ".$archive.bpk-000000" && echo x >".$archive.bpk-000000/x" ;;
    *) return 1 ;;
    esac
}

# And for directories.
plant_in_archive() { # NUMBER
    case $1 in
    0) journal list "$list" "$archive" inode=1 "-$first" ;;
    1) journal list "$list" "$archive" device=1 "-$first" ;;
    2) journal list "$list" "$archive" version=1 "-$first" ;;
    3) journal list "$list" "$archive" -victim ;;
    4) echo draft >"$archive/.victim.bpk-000000" && journal list "$list" "$archive" +.victim.bpk-000000:victim ;;
    5) echo notes >"$list" ;;
    6) ln -s ../victim "$list" ;;
    7) mkdir "$list" ;;
    8) mkfifo "$list" ;;
    9) : >"$list" ;;
    10) echo draft >"$archive/.x.bpk-000000" ;;
    11) ln -s ../victim "$archive/.lock" ;;
    12) mkfifo "$archive/.lock" ;;
    *) return 1 ;;
    esac
}

# Run every command; the first ones read. Prints nothing, dies where something is not as it was.
meet() { # WHAT: what was planted, for the message
    local before all command
    all=$(snapshot)
    before=$(theirs)
    for command in "info @" "info -v @" "cat @" "unpack -c @" "verify @" "tar -f $bad/t.tar @" "repair @" \
        "convert @ $bad/y.blp"; do
        rm -rf "$bad" && mkdir -m 777 "$bad"
        # shellcheck disable=SC2086
        as_owner timeout 20 "$BPK" ${command//@/$archive} >"$out" 2>"$err" </dev/null || [ $? -ne 124 ] || die "$1: $command hangs"
        [ "$(snapshot)" = "$all" ] || die "$1: $command changed:" "$(diff <(echo "$all") <(snapshot))"
    done
    rm -rf "$bad"
    for command in "append -T 1 @ more" "truncate --bytes 8000 @" "write --at 8 @ more" "meta set @ k=1" \
        "repair --in-place @" "repair --repack @" "pack -f -z 4K -o @ a"; do
        # shellcheck disable=SC2086
        as_owner timeout 20 "$BPK" ${command//@/$archive} >"$out" 2>"$err" </dev/null || [ $? -ne 124 ] || die "$1: $command hangs"
        [ "$(theirs)" = "$before" ] || die "$1: $command changed:" "$(diff <(echo "$before") <(theirs))"
    done
}

# Every case, or one in $step, with an archive of $owner.
meet_all() {
    local turn=0 format number
    for format in blp b2frame b2nd raw chunked b2sparse; do
        for ((number = turn++ % step; ; number += step)); do
            settle_down "$format"
            "plant_in_${kind}" "$number" || break
            find . -mindepth 1 -name '.*' -exec chown -hR $them {} +
            meet "user $owner, $format $number"
            cases=$((cases + 1))
        done
    done
}

need_two_users() {
    need_python
    [ "$(id -u)" -eq 0 ] || skip "only root can be two users"
    chmod a+x "$BATS_RUN_TMPDIR"
    step=6
    light && step=11
    [ -z "${BPK_TEST_WHOLE:-}" ] || step=1
    cases=0
}

@test "what a neighbour plants changes nothing, and nothing of the neighbour's is changed: root" {
    need_two_users
    owner=0
    meet_all
    [ "$step" -gt 1 ] || [ "$cases" -ge 60 ]
    echo "# $cases cases" >&3
}

@test "what a neighbour plants changes nothing, and nothing of the neighbour's is changed: a user" {
    need_two_users
    owner=$other
    as_owner "$BPK" version >"$out" 2>&1 || skip "another user cannot run bpk, or setpriv is missing"
    step=$((2 * step - 1))
    meet_all
    [ "$step" -gt 1 ] || [ "$cases" -ge 60 ]
    echo "# $cases cases" >&3
}

# The folder is the neighbour's, who puts another file in the archive's place while a command runs,
# with and without a journal of its own beside it.
@test "a name that is swapped while a command runs leads to no other file" {
    need_two_users
    need_nth
    owner=0
    settle_down blp
    chown $them . && chmod 755 .
    cp -p "$archive" was
    swapped=0
    for command in "append -q -T 1 @ more" "truncate -q --bytes 8000 @" "write -q --at 8 @ more" "meta set @ k=1" "cat @"; do
        for ((point = 1; point < 60; point += step)); do
            rm -f "$archive" old ".$archive.bpkj" took
            cp -p was "$archive"
            # a file of root's that holds an archive too, reached by another name
            cp -p was victim && truncate -s -3 victim
            cp victim victim.was
            status=0
            # shellcheck disable=SC2086
            NTH_RUN="mv $archive old; ln victim $archive; mv -f .$archive.bpkj took; : >took.was" \
                "$nth" -n "$point" -a run "$BPK" ${command//@/$archive} >"$out" 2>"$err" || status=$?
            [ "$status" -ne 125 ] || skip "this machine does not let processes be traced"
            [ -e took.was ] || break # fewer calls
            rm -f took.was
            swapped=$((swapped + 1))
            same victim victim.was
        done
    done
    [ "$swapped" -ge 5 ]
    echo "# $swapped names swapped" >&3
}

# A link of the neighbour's in a folder where everyone may make one, as in /tmp.
@test "a link of another user in a sticky folder is not written through, and one's own is" {
    need_two_users
    as_them() { setpriv --reuid=$them --regid=$them --clear-groups "$@"; }
    as_them true || skip "setpriv is missing"
    formats=(blp b2frame b2nd raw chunked b2sparse)
    ! light || formats=(blp chunked)
    for format in "${formats[@]}"; do
        owner=0
        settle_down "$format"
        mkdir ../goal-$format
        mv a "$archive" ../goal-$format
        chmod 700 ../goal-$format
        goal=../goal-$format/$archive
        for dangling in "" yes; do
            for whose in $them 0; do
                ln -s "${goal}${dangling:+.new}" link
                chown -h "$whose" link
                ln -s link own # to the neighbour's
                commands=("append -q link more" "append -q own more" "truncate -q --bytes 8000 link" "write -q --at 8 link more"
                    "meta set link k=1" "repair -q --in-place link" "repair -q --drop-pending link" "append -q --copy link more")
                [ -d "$goal" ] || commands+=("pack -q -f -z 4K -o link more" "pack -q -f -z 4K -o own more" "tar -q --force -o link $goal" "unpack -q -f -o link $goal")
                for command in "${commands[@]}"; do
                    before=$(cd .. && snapshot)
                    status=0
                    # shellcheck disable=SC2086
                    bpk $command >"$out" 2>"$err" || status=$?
                    if [ "$whose" -eq "$them" ]; then
                        [ "$(cd .. && snapshot)" = "$before" ] || die "$format: $command goes through the link:" "$(cat "$err")"
                        [ "$status" -ne 0 ] || die "$format: $command: status 0"
                        judged=$((${judged:-0} + $(grep -c 'is a link of another user in a folder that everyone' "$err" || true)))
                    elif [ -z "$dangling" ] && [[ $format != raw && $format != b2nd ]] && [ "$command" = "append -q own more" ]; then
                        [ "$status" -eq 0 ] || die "$format: $command: not through one's own" "$(cat "$err")"
                    fi
                done
                # reading stays as it is
                [ -n "$dangling" ] || [ "$whose" -ne "$them" ] || [ "$format" = raw ] || quietly bpk info link
                rm -f link own ../goal-$format/*.new
            done
        done
        cd ..
    done
    echo "# $judged links refused" >&3
    [ "$judged" -ge $((8 * ${#formats[@]})) ] || die "only $judged were refused for the link"
}

# COMMAND... as the owner; whatever becomes of it, nothing in the owner's folder is changed.
leads_nowhere() {
    as_owner "$BPK" "$@" >"$out" 2>"$err" || true
    [ "$(cd secret && snapshot)" = "$before" ] || die "uid $owner, changed by a link: bpk $*"
}

# The folder "in" is for everyone, as /tmp is; the links in it are the neighbour's, and lead to the
# owner's folder "secret", whose files have the names that the commands derive.
lead_out() {
    local command
    rm -rf in secret && mkdir -p in secret/data secret/meta
    cp a secret/f && cp a secret/a.blp && cp a secret/b.partial && cp a secret/f.blp
    cp d.blpd/data/* secret/data && cp d.blpd/meta/* secret/meta
    cp a secret/data/__2__.bin && cp a secret/.lock
    chown -R "$owner" secret && chmod 700 secret && chmod 1777 in
    before=$(cd secret && snapshot)
    as_them ln -s ../secret in/t
    as_them ln -s ../secret/f in/f
    as_them ln -s ../secret/a.blp in/a.blp
    as_them ln -s ../secret/b.partial in/b.partial
    leads_nowhere tar -x --force -C in t.tar
    says 'lies behind a link'
    leads_nowhere unpack -f -O in f.blp
    leads_nowhere unpack -f --keep-broken -O in b.blp
    leads_nowhere pack -f -O in a
    for part in data meta data/__2__.bin .lock; do
        as_them cp -r d.blpd in/d.blpd
        as_them rm -rf in/d.blpd/$part
        as_them ln -s "$PWD/secret/$part" in/d.blpd/$part
        chmod -R a+rwX in/d.blpd
        leads_nowhere tar -x --force -C in d.tar
        for command in "append in/d.blpd a" "truncate in/d.blpd --bytes 5" "write in/d.blpd --at 0 a" \
            "meta set in/d.blpd k=1" "repair --in-place in/d.blpd" "unpack --rm in/d.blpd" "cat in/d.blpd" \
            "pack -f -F chunked -o in/d.blpd a" "convert -f -F chunked b2.b2s in/d.blpd"; do
            read -ra words <<<"$command"
            leads_nowhere "${words[@]}"
        done
        rm -r in/d.blpd*
    done
    # a link in the middle of a path that the user names is followed, as by every program
    as_owner "$BPK" unpack -q -o in/t/new f.blp
    same a secret/new
}

@test "links of another user lead no derived name out of a folder" {
    need_two_users
    as_them() { setpriv --reuid=$them --regid=$them --clear-groups "$@"; }
    as_them true || skip "setpriv is missing"
    data noise 30000 a
    bpk pack -q -o f.blp a
    bpk pack -q -o b.blp a
    printf damage | dd of=b.blp bs=1 seek=20000 conv=notrunc status=none
    bpk pack -q -F chunked -z 4K --superchunk-size 32K -o d.blpd a
    bpk pack -q -F b2sparse -o b2.b2s a
    bpk tar -q -o d.tar d.blpd
    mkdir t && cp f.blp t && bpk tar -q -o t.tar t/f.blp
    owner=0 && lead_out
    owner=$other
    as_owner "$BPK" version >"$out" 2>&1 || skip "another user cannot run bpk"
    lead_out
}

@test "verify -r names a folder that it may not search" {
    [ "$(id -u)" -eq 0 ] || skip "only root can be two users"
    as_them() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
    chmod 755 "$BATS_TEST_TMPDIR" .
    as_them "$BPK" version >"$out" 2>&1 || skip "another user cannot run bpk, or setpriv is missing"
    mkdir -p vr/sub
    as_them test -x vr || skip "another user cannot reach this folder"
    chmod 744 vr/sub
    refuses 1 '^bpk: vr/sub: cannot be read: Permission denied$' as_them "$BPK" verify -r vr
}
