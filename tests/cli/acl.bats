load lib

need_acl() {
    command -v setfacl >/dev/null && command -v getfacl >/dev/null || skip "setfacl is not installed"
    data records 100000 a
    chmod 640 a
    setfacl -m u:65534:r a 2>/dev/null || skip "no access control lists here"
}

# The mode of a file without a list.
mode_of() {
    [ -z "$(getfacl -cs --omit-header "$1")" ] || die "$1 has a list: $(getfacl -c "$1")"
    stat -c %a "$1"
}

# The list of a file, in one line.
list_of() { getfacl -cn --omit-header "$1" | sed '/^$/d; s/\t.*//' | tr '\n' ' '; }

@test "a result of one file has its access list and its attributes" {
    need_acl
    umask 0
    setfacl --set u::rw,g::-,u:65534:rw,m::rw,o::- a
    [ "$(stat -c %a a)" = 660 ] # the mask, as the mode shows it
    if command -v setfattr >/dev/null && setfattr -n user.origin -v 'run 7' a 2>/dev/null; then
        setfattr -n user.empty a
        attributes=yes
    fi
    list=$(list_of a)
    bpk pack -q -o a.blp a
    bpk unpack -q -o b a.blp
    bpk convert -q a.blp b.b2frame
    cp a.blp c.blp
    setfacl --set-file=<(getfacl -c a) c.blp
    bpk append -q --copy c.blp a
    for result in a.blp b b.b2frame c.blp; do
        [ "$(list_of $result)" = "$list" ] || die "$result: $(list_of $result)"
        [ -z "${attributes-}" ] || [ $result = c.blp ] ||
            [ "$(getfattr -d $result | tail -n +2)" = "$(getfattr -d a | tail -n +2)" ] || die "$result"
    done
    # the umask takes from it as from a mode
    (umask 077 && bpk pack -q -o narrow.blp a)
    [ "$(list_of narrow.blp)" = "user::rw- user:65534:rw- group::--- mask::--- other::--- " ]
    # several inputs, and directories, have no list for all
    bpk pack -q -F chunked -o d a
    [ "$(mode_of d/meta/sizes)" = 600 ]
}

# Owner, group, mode, access list and attributes of users of a file.
rights_of() {
    stat -c '%u %g %a' "$1"
    getfacl -cn --omit-header "$1"
    ! command -v getfattr >/dev/null || getfattr -d "$1" | tail -n +2
}

# COMMAND OPTION...: c.blp is changed in a copy that takes its place. Killed at any call, and in the end, it has all rights.
copies_rights() {
    local rights count n
    cp --preserve=all c.blp first
    rights=$(rights_of c.blp)
    "$nth" -o calls "$BPK" "$@"
    count=$(wc -l <calls)
    [ "$(stat -c %i c.blp)" != "$(stat -c %i first)" ]
    for ((n = 1; n <= count; n++)); do
        cp --preserve=all first second
        mv second c.blp
        quietly "$nth" -n $n -a after "$BPK" "$@" || :
        [ "$(rights_of c.blp)" = "$rights" ] || die "$*, killed after call $n: $(rights_of c.blp)"
        rm -f .c.blp.bpk-*
    done
}

@test "a changed copy has all rights of the old archive before it has its name" {
    need_acl
    need_nth
    setfacl -b a
    bpk pack -q -z 64K -o c.blp a
    head -c 1000 a >more
    [ "$(id -u)" != 0 ] || chown 65533:65532 c.blp
    chmod 664 c.blp
    setfattr -n user.origin -v 'run 7' c.blp 2>/dev/null || :
    umask 077
    copies_rights append -q --copy c.blp more
    copies_rights write -q --copy --at 0 c.blp more
    setfacl --set u::rw,g::-,u:65534:rw,m::rw,o::- c.blp
    copies_rights append -q --copy c.blp more
    copies_rights truncate -q --copy --bytes 5000 c.blp
}

# COMMAND OPTION...: if any call that sets attributes or a list fails, the command goes on and says so in one line.
notes_loss() {
    local n
    cp --preserve=all c.blp first
    "$nth" -o calls "$BPK" "$@" 2>"$err"
    [ ! -s "$err" ] || die "$(cat "$err")"
    [ "$(grep -c '^fsetxattr' calls)" -ge 2 ] || die "$(cat calls)"
    grep -n '^fsetxattr' calls | cut -d: -f1 >numbers
    while read -r n; do
        cp --preserve=all first second
        mv second c.blp
        "$nth" -n "$n" -a fail:ENOSPC "$BPK" "$@" 2>"$err" || die "$*, call $n: $(cat "$err")"
        says '^bpk: [a-z0-9.]+: did not get all attributes and access rights of '
        [ "$(wc -l <"$err")" -eq 1 ] || die "$(cat "$err")"
    done <numbers
    mv first c.blp
}

@test "attributes and rights that a copy cannot get are said in one line" {
    need_acl
    need_nth
    bpk pack -q -z 64K -o c.blp a
    setfattr -n user.origin -v 'run 7' c.blp 2>/dev/null || skip "no attributes of users here"
    setfattr -n user.run -v 7 c.blp
    setfacl --set u::rw,g::-,u:65534:rw,m::rw,o::- c.blp
    head -c 1000 a >more
    notes_loss append --copy c.blp more
    notes_loss write --copy --at 0 c.blp more
    notes_loss unpack -f -o c c.blp
    notes_loss convert -f c.blp c.b2frame
}

@test "an archive made for a file that is followed gives nobody more than the file" {
    need_acl
    umask 0
    setfacl --set u::rw,g::-,u:65534:rw,m::rw,o::- a
    [ "$(stat -c %a a)" = 660 ] # the mask: the owning group has nothing
    bpk append -q --follow a --idle 1 a.blp
    [ "$(mode_of a.blp)" = 600 ]
    "$BPK" cat a.blp | cmp - a
}

@test "members of a group that a result cannot have are no others to it" {
    need_acl
    command -v setpriv >/dev/null && [ "$(id -u)" = 0 ] || skip "root and setpriv are needed"
    chmod 755 .
    setfacl -b a
    mkdir -m 777 theirs
    for modes in 604:600 640:600 664:644 644:644 606:600; do
        chmod ${modes%:*} a
        [ ${modes%:*} != 640 ] || continue # which they cannot read
        setpriv --reuid 65534 --regid 65534 --clear-groups "$BPK" pack -q -f -o theirs/a.blp a ||
            skip "another user does not get here"
        [ "$(mode_of theirs/a.blp)" = ${modes#*:} ] || die "$modes: $(mode_of theirs/a.blp)"
    done
}

@test "a user whom the input's list refuses is no other to the output" {
    need_acl
    setfacl --set u::rw,g::r,u:65534:-,m::r,o::r a
    bpk pack -q -F chunked -o d a # whose files have no list
    [ "$(mode_of d/meta/sizes)" = 600 ]
    setfacl --set u::rw,g::r,g:65534:r,m::r,o::r a
    bpk pack -q -F chunked -o e a
    [ "$(mode_of e/meta/sizes)" = 644 ]
}

@test "a folder's default list gives nobody an output that the input does not give" {
    need_acl
    setfacl -b a
    mkdir d
    setfacl -d -m u:65534:rwx,g::rx,m::rwx,o::- d
    bpk pack -q -o d/a.blp a
    [ "$(mode_of d/a.blp)" = 640 ]
    bpk pack -q <a >"$out" 2>"$err"
    cat a | bpk pack -q -o d/b.blp - 2>"$err"
    [ "$(mode_of d/b.blp)" = 640 ]
}

# The other files of a dataset lie in its folder, which others cannot enter.
@test "a dataset is no more public than its input" {
    data records 100000 a
    for format in chunked b2sparse; do
        chmod 600 a
        bpk pack -q -f -F $format -o private.$format a
        [ "$(stat -c %a private.$format)" = 700 ]
        bpk append -q private.$format a
        [ "$(stat -c %a private.$format)" = 700 ]
        chmod 644 a
        bpk pack -q -f -F $format -o public.$format a
        [ "$(stat -c %a public.$format)" = 755 ]
    done
    chmod 600 a
    bpk pack -q -o a.blp a
    bpk convert -q -F chunked a.blp converted
    [ "$(stat -c %a converted)" = 700 ]
    mkdir shared
    chmod g+s shared
    bpk pack -q -F chunked -o shared/private a
    [ "$(stat -c %a shared/private)" = 2700 ] # the group of a shared folder
}

# NAME: the mode that every output of the dataset NAME has, or the modes where they differ.
outputs_of() {
    rm -rf "$bad" && mkdir "$bad"
    bpk unpack -q -o "$bad/raw" "$1"
    bpk convert -q "$1" "$bad/o.blp"
    bpk convert -q -F chunked "$1" "$bad/o.blpd"
    bpk convert -q -F b2sparse "$1" "$bad/o.b2s"
    bpk tar -q -o "$bad/o.tar" "$1"
    bpk tar -q --raw -o "$bad/r.tar" "$1"
    [ ! -e "$1/chunks.b2frame" ] || bpk repair -q --repack -o "$bad/p.b2s" "$1"
    (cd "$bad" && stat -c %A -- * | cut -c 2- | tr x - | sort -u)
}

@test "outputs of a dataset are no more public than the dataset" {
    data records 100000 a
    for format in chunked b2sparse; do
        bpk pack -q -F $format -o d a
        [ "$(outputs_of d)" = rw-r--r-- ]
        chmod 700 d
        [ "$(outputs_of d)" = rw------- ]
        chmod 755 d
        find d -type f -exec chmod 600 {} +
        [ "$(outputs_of d)" = rw------- ]
        find d -type f -exec chmod 644 {} +
        chmod 711 d # lists nothing to others
        [ "$(outputs_of d)" = rw------- ]
        chmod 755 d
        chmod 640 "$(find d -type f | sort | tail -n 1)"
        [ "$(outputs_of d)" = rw-r----- ]
        rm -r d
    done
    bpk pack -q -F chunked -o d a
    chmod 700 d/data
    [ "$(outputs_of d)" = rw------- ]
    [ "$(bpk tar d | bpk tar -tv - | grep '/data$\|/data/$' | cut -c 1-10)" = drwx------ ]
}

@test "outputs of a member are no more public than its tar" {
    data records 100000 a
    bpk pack -q -F chunked -o d a
    bpk tar -q -o t.tar d
    [ "$(outputs_of t.tar:d)" = rw-r--r-- ]
    chmod 600 t.tar
    [ "$(outputs_of t.tar:d)" = rw------- ]
    [ "$(bpk tar t.tar:d | bpk tar -tv - | head -n 1 | cut -c 1-10)" = drwx------ ]
}

@test "a part of an input is no more public than the input" {
    need_numpy
    "$python" -c 'import numpy; numpy.save("a.npy", numpy.arange(10000.))'
    chmod 600 a.npy
    name=$(bpk info --json a.npy | "$python" -c 'import json, sys
print(json.loads(sys.stdin.read())["names"][0]["name"])')
    bpk unpack -q --name "$name" -o b.npy a.npy
    [ "$(stat -c %a b.npy)" = 600 ]
    bpk append -q --schema s new.gsd x=a.npy
    [ "$(stat -c %a new.gsd)" = 600 ]
    cp a.npy c.npy
    chmod 644 c.npy
    bpk append -q --schema s wide.gsd x=c.npy
    [ "$(stat -c %a wide.gsd)" = 644 ]
    bpk append -q --schema s both.gsd x=c.npy y=a.npy
    [ "$(stat -c %a both.gsd)" = 600 ]
}

@test "what is kept of a damaged dataset is for its owner alone" {
    data noise 100000 a
    bpk pack -q -F chunked -z 16K -o d.blpd a
    file=$(find d.blpd/data -type f | sort | tail -n 1)
    printf damage | dd of="$file" bs=1 seek=90000 conv=notrunc status=none
    ends 2 bpk unpack -q --keep-broken d.blpd
    [ "$(stat -c %a d.partial)" = 600 ]
}

# No file or folder of the datasets has a list; their modes, sorted.
modes_in() {
    local name
    while read -r name; do mode_of "$name" || return; done < <(find "$@") | sort -u | tr '\n' ' '
}

@test "a folder's default list gives nobody a dataset that the input does not give" {
    need_acl
    setfacl -b a
    mkdir d
    setfacl -d -m u:65534:rwx,g::rx,m::rwx,o::- d
    for format in chunked b2sparse; do
        bpk pack -q -F $format -o d/$format a
        [ "$(modes_in d/$format)" = "640 750 " ]
        bpk append -q d/$format a
        [ "$(modes_in d/$format)" = "640 750 " ]
        bpk convert -q -F chunked d/$format d/c$format
        [ "$(modes_in d/c$format)" = "640 750 " ]
    done
    bpk tar -q d/chunked | (cd d && mkdir x && bpk tar -x -C x)
    [ "$(getfacl -c d/x/d/chunked | grep -v '^default:\|^$' | tr '\n' ' ')" = \
        "user::rwx group::r-x other::--- " ]
}

@test "without an input's mode a folder's default list is the limit" {
    need_acl
    setfacl -b a
    mkdir d
    for list in u:65534:rwx,g::rx,m::---,o::rx g::-,o::-; do
        setfacl -b -d -m $list d
        bpk pack -q -F chunked -o d/c - <a
        bpk pack -q -o d/b - <a
        [ "$(modes_in d/b)" = "600 " ]
        [ "$(modes_in d/c)" = "600 700 " ]
        rm -r d/c d/b
    done
}

@test "a dataset that grows gives nobody more" {
    data records 100000 a
    umask 002
    for format in chunked b2sparse; do
        chmod 640 a
        bpk pack -q -z 16K -F $format -o d a
        [ "$(modes_in d)" = "640 750 " ]
        bpk append -q d a
        [ "$(modes_in d)" = "640 750 " ]
        find d -type f -exec chmod 600 {} +
        chmod 755 d
        bpk append -q d a
        [ "$(modes_in d -type f)" = "600 " ]
        rm -r d
    done
    need_acl
    bpk pack -q -F chunked -o d a
    setfacl --set u::rw,g::-,u:65534:rw,m::rw,o::- d/meta/sizes
    bpk append -q d a
    [ "$(mode_of d/meta/sizes)" = 600 ]
}

@test "the lock of a dataset is no wider than its files" {
    local format mask mode
    data records 30000 a
    for format in chunked b2sparse; do
        for mode in 600 640 664 666 444; do
            for mask in 000 002 022 077; do
                (umask 000 && bpk pack -q -z 16K -F $format -o d a)
                [ "$(id -u)" != 0 ] || chown -R 65533:65532 d
                find d -type f -exec chmod $mode {} +
                find d -type d -exec chmod 777 {} +
                (umask $mask && bpk append -q d a)
                [ "$(stat -c %a d/.lock)" = "$(printf %o $((8#$mode & ~8#$mask | 8#600)))" ] ||
                    die "$format of mode $mode, umask $mask: $(stat -c %a d/.lock)"
                [ "$(stat -c %u:%g d/.lock)" = "$(stat -c %u:%g d)" ] || die "$(stat -c %u:%g d/.lock)"
                rm -r d
            done
        done
    done
}
