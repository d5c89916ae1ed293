#!/usr/bin/env bats
# What a writer that died leaves beside an archive, and what is put there by others: it is looked
# through, put back or left alone, and never turned against the archive's owner.

load lib

kinds=(blp blp-plain b2nd chunked b2sparse)

# Make $archive of KIND and the command that changes it, $change.
prepare() { # KIND
    data text 30000 a
    data noise 9000 more
    pack=(-q -T 1 -z 4K)
    case $1 in
    blp) archive=x.blp ;;
    blp-plain) archive=x.blp pack+=(--no-offsets) ;;
    chunked) archive=x.blpd pack+=(-F chunked --superchunk-size 8K) ;;
    b2sparse) archive=x.b2s pack+=(-F b2sparse) ;;
    b2nd) archive=x.b2nd pack=(-q -T 1 --dtype '<i4' --shape 125,60 --chunk-shape 16,20) ;;
    esac
    case $1 in
    blp*) change=(append -T 1 "$archive" more) ;;
    chunked) change=(write -T 1 --at 2000 "$archive" more) ;;
    b2sparse) change=(truncate --bytes 7000 "$archive") ;;
    b2nd) change=(append -T 1 "$archive" more) ;;
    esac
    rm -rf "$archive" was
    if [ "$1" = b2nd ]; then
        cp "$top_srcdir/tests/data/frame/good-bpk-long-header.b2nd" "$archive"
        head -c 14000 a | bpk append -q -T 1 "$archive" -
        head -c 800 a >more
    else
        bpk pack "${pack[@]}" -o "$archive" a
    fi
    [ ! -d "$archive" ] || : >"$archive/.lock"
    cp -a "$archive" was
}

# Change $archive, as prepare made it, and be killed behind a call.
interrupt_at() { # NUMBER
    local status=0
    rm -rf "$archive" .x.*
    cp -a was "$archive"
    "$nth" -n "$1" -a after "$BPK" "${change[@]}" >"$out" 2>&1 || status=$?
    [ "$status" -ne 125 ] || skip "this machine does not let processes be traced"
}

# $archive of KIND, with a change that was interrupted at the call $at, and is pending; what was
# committed, in committed.
interrupt() { # KIND
    local status
    need_nth
    prepare "$1"
    for ((at = 1; at < 200; at++)); do
        interrupt_at "$at"
        [ -e ".$archive.bpkj" ] || [ -e "$archive/.bpkj" ] || continue
        status=0
        bpk verify "$archive" >"$out" 2>&1 || status=$?
        # not what only lies behind the end, before the journal is whole
        [ "$status" -eq 3 ] && grep -q 'is pending' "$out" || continue
        bpk cat -q "$archive" >committed
        return 0
    done
    die "no change of $1 was ever pending"
}

# Every command that only reads, on $archive and with output elsewhere: the folder stays as it is.
reads() { # STATUS of verify, PATTERN of the line on standard error
    local before command status
    mkdir -p "$bad"
    before=$(snapshot)
    for command in "info @" "info -vv @" "cat @" "unpack -c @" "unpack -f -o $bad/raw @" \
        "verify @" "convert -f @ $bad/copy.blp" "tar --force -f $bad/t.tar @" \
        "tar --raw --force -f $bad/t.tar @"; do
        status=0
        # shellcheck disable=SC2086
        bpk ${command//@/$archive} >"$out" 2>"$err" || status=$?
        case $command in
        verify*) [ "$status" -eq "$1" ] || die "verify: status $status, not $1" "$(cat "$err")" ;;
        *) [ "$status" -eq 0 ] || die "$command: status $status" "$(cat "$err")" ;;
        esac
        [ "$(wc -l <"$err")" -eq 1 ] || die "$command: not one line:" "$(cat "$err")"
        says "$2"
        case $command in cat* | "unpack -c"*) same "$out" "${3:-committed}" ;; esac
        [ "$(snapshot)" = "$before" ] ||
            die "$command changed something:" "$(diff <(echo "$before") <(snapshot))"
    done
    rm -r "$bad"
}

@test "commands that read look through a pending change, say so, and change nothing" {
    for kind in "${kinds[@]}"; do
        interrupt "$kind"
        reads 3 "^bpk: $archive: a change was interrupted and is pending"
        quietly bpk cat -q "$archive"
        same "$out" committed
    done
}

@test "the next writer settles what is pending" {
    for kind in "${kinds[@]}"; do
        interrupt "$kind"
        quietly bpk meta set "$archive" 0000000000000000000000000000014=1 || die "$kind"
        bpk cat "$archive" | cmp - committed
        quietly bpk verify "$archive"
        [ -z "$(find . -name '.*' ! -name . ! -name .lock)" ] || die "litter: $(find . -name '.*')"
    done
}

@test "a new archive of that name is not touched by what an old one left" {
    for kind in "${kinds[@]}"; do
        interrupt "$kind"
        cp a b && printf CORRECTION | dd of=b bs=1 seek=29000 conv=notrunc status=none
        if [ "$kind" = b2nd ]; then
            head -c 30000 b >raw
            pack=(-q --dtype '<i4' --shape 125,60)
        fi
        bpk pack -f "${pack[@]}" -o "$archive" b
        quietly bpk cat "$archive"
        same "$out" b
        quietly bpk verify -q "$archive"
        [ -z "$(find . -name '.*' ! -name . ! -name .lock)" ] || die "litter: $(find . -name '.*')"
    done
}

@test "killed while it replaces an archive with a pending change, pack leaves the old or the new" {
    interrupt blp
    cp a b && printf CORRECTION | dd of=b bs=1 seek=29000 conv=notrunc status=none
    step=3
    light && step=17
    for ((n = 1; n < 400; n += step)); do
        interrupt_at "$at"
        status=0
        "$nth" -n "$n" -a after "$BPK" pack -f "${pack[@]}" -o "$archive" b >"$out" 2>&1 || status=$?
        bpk cat -q "$archive" >"$out"
        if ! cmp -s "$out" committed; then same "$out" b; fi
        bpk pack -f "${pack[@]}" -o "$archive" a
        quietly bpk cat "$archive"
        same "$out" a
        [ ! -e ".$archive.bpkj" ]
        [ "$status" -ne 0 ] || break
    done
    [ "$status" -eq 0 ]
}

@test "--rm removes an archive's journal with it" {
    for kind in blp blp-plain b2nd; do
        interrupt "$kind"
        bpk unpack -q -f --rm -o raw "$archive"
        same raw committed
        [ ! -e "$archive" ] && [ ! -e ".$archive.bpkj" ] || die "$kind"
    done
}

@test "an archive that is being changed is neither replaced nor removed" {
    data text 30000 a
    bpk pack -z 4K a
    mkfifo pipe
    bpk append a.blp - <pipe &
    writer=$!
    exec 7>pipe
    eventually busy a.blp
    refuses 1 'a.blp: is being changed by another process' bpk pack -f -z 4K a
    status=0
    bpk unpack --rm -o raw a.blp 2>"$err" || status=$?
    [ "$status" -eq 1 ] && [ -e a.blp ]
    says 'a.blp: is not removed: is being changed by another process'
    exec 7>&-
    wait "$writer"
    quietly bpk verify a.blp
}
busy() { ! bpk meta set "$1" k=1 2>/dev/null; }

@test "a journal that was made for another file is told of and not used" {
    for kind in blp blp-plain b2nd; do
        interrupt "$kind"
        cp -a was new && mv new "$archive" # with its owner, mode and time
        bpk cat -q "$archive" >plain
        reads 0 "^bpk: $archive: its journal .$archive.bpkj is not used: it was made for inode" plain
        refuses 1 "its journal .$archive.bpkj is not used" bpk "${change[@]}"
        refuses 1 "its journal .$archive.bpkj is not used" bpk meta set "$archive" k=2
    done
    for kind in chunked b2sparse; do
        interrupt "$kind"
        cp -a was new && mv "$archive/.bpkj" new && rm -r "$archive" && mv new "$archive"
        bpk cat -q "$archive" >plain
        reads 0 "^bpk: $archive: its list of changes .bpkj is not used: it was made for inode" plain
        refuses 1 "its list of changes .bpkj is not used" bpk "${change[@]}"
    done
}

@test "a journal without samples, or of the first version, changes no file" {
    need_python
    journal() { "$python" "$tests/lib/journal.py" "$@"; }
    prepare blp
    size=$(stat -c %s "$archive")
    bpk cat "$archive" >plain
    for key in samples=none samples=some version=1; do
        journal journal ".$archive.bpkj" "$archive" "size=$size" $key 100:evil
        reads 0 "^bpk: $archive: its journal .$archive.bpkj is not used: " plain
        refuses 1 'is not used' bpk "${change[@]}"
    done
    rm ".$archive.bpkj"
    # raw files have journals of nobody
    "$python" -c 'import struct
head = b"{\"descr\": \"<f8\", \"fortran_order\": False, \"shape\": (1000,), }"
head = head.replace(b"\"", b"'\''") + b" " * (117 - len(head)) + b"\n"
open("r.npy", "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + head + bytes(8000))'
    journal journal .r.npy.bpkj r.npy size=64 samples=none 0:xxxx
    before=$(snapshot)
    bpk info r.npy >"$out" 2>"$err" || true
    bpk cat --name '' r.npy >"$out" 2>"$err" || true
    bpk pack -q -o "$bad" r.npy && rm "$bad"
    bpk verify r.npy >"$out" 2>"$err" || true
    [ "$(snapshot)" = "$before" ]
}

@test "a list of changes is carried out by nobody in a directory that is no dataset" {
    need_python
    journal() { "$python" "$tests/lib/journal.py" "$@"; }
    mkdir d && echo mine >d/victim && echo other >d/.victim.bpk-000000 && echo 1 >d/data
    for change in -victim +.victim.bpk-000000:victim; do
        journal list d/.bpkj d "$change"
        before=$(snapshot)
        for command in info cat 'unpack -c' verify 'verify -r' "tar -f -" "tar --raw -f -" \
            'convert -o y.blp' 'append -T 1' 'truncate --bytes 0' 'meta set' 'repair --repack'; do
            # shellcheck disable=SC2086
            bpk $command d >"$out" 2>"$err" </dev/null || true
            [ "$(snapshot)" = "$before" ] || die "$command"
        done
    done
    # nor are names carried out that are no part of the dataset where it is one
    prepare chunked
    echo mine >"$archive/notes"
    journal list "$archive/.bpkj" "$archive" -notes
    bpk cat -q "$archive" >plain
    same plain a
    refuses 1 'it names notes, which is no part of a dataset' bpk "${change[@]}"
    [ -e "$archive/notes" ]
}

# Every point at which a writer of a directory leaves its list, and a backup that is copied back
# over it: the list is about other files then.
@test "a list of changes is not carried out over restored files" {
    for kind in chunked b2sparse; do
        interrupt "$kind"
        bpk cat -q was >old
        turn=0
        for (( ; at < 200; at++)); do
            interrupt_at "$at"
            [ -e "$archive/.bpkj" ] || break
            case $((turn++ % 3)) in
            0) cp -r was/. "$archive" ;;
            1) cp -a was/. "$archive" ;; # with the old times
            2) (cd was && tar -cf - .) | tar -xf - -C "$archive" ;;
            esac
            before=$(snapshot)
            status=0
            bpk verify "$archive" 2>"$err" || status=$?
            says "^bpk: $archive: its list of changes .bpkj is not used: .* was changed since it was made"
            if [ "$status" -eq 0 ]; then bpk cat -q "$archive" | cmp - old; else [ "$status" -eq 2 ]; fi
            refuses $((status == 0 ? 1 : 2)) 'is not used: .* bpk repair' bpk "${change[@]}"
            refuses $((status == 0 ? 1 : 2)) '--use-journal .*--drop-journal' bpk repair "$archive"
            refuses $((status == 0 ? 1 : 2)) 'is not used: .* bpk repair' bpk repair --in-place "$archive"
            [ "$(snapshot)" = "$before" ] || die "$kind, $at:" "$(diff <(echo "$before") <(snapshot))"
            bpk repair --drop-journal "$archive"
            bpk cat -q "$archive" 2>"$err" | cmp - old
        done
        [ "$turn" -ge 3 ]
        # only a part of the files, which the draft of the other would not go with
        interrupt "$kind"
        for file in $(cd was && find . -name '*.b*' -type f); do
            interrupt_at "$at"
            grep -q "${file#./}\$" "$archive/.bpkj" || continue
            cp "was/$file" "$archive/$file"
            refuses 1 "is not used: ${file#./} was changed since it was made" bpk "${change[@]}"
            quietly bpk repair --use-journal "$archive"
            quietly bpk cat "$archive"
            same "$out" committed
        done
    done
}

# A journal, or a list with its drafts, of a change that was settled, saved from a backup of hidden
# files, say, and put back after a later change of the same file.
@test "a journal that is put back after a later change restores nothing" {
    for kind in "${kinds[@]}"; do
        interrupt "$kind"
        first=$at judged=0
        for (( ; at < first + 40; at++)); do
            [ "$at" -eq "$first" ] || sampled 5 || continue
            interrupt_at "$at"
            [ -e ".$archive.bpkj" ] || [ -e "$archive/.bpkj" ] || break
            rm -rf saved && mkdir saved
            find . -path ./saved -prune -o -path ./was -prune -o -name '.*bpk*' \
                -exec cp -a --parents -t saved {} +
            quietly bpk meta set "$archive" k=1
            bpk "${change[@]}" >"$out" 2>&1
            for later in "${change[*]}" "write -T 1 --at 1000 $archive more"; do
                # shellcheck disable=SC2086
                bpk $later >"$out" 2>&1 || true
                bpk cat -q "$archive" >final
                cp -a saved/. .
                status=0
                bpk cat "$archive" >"$out" 2>"$err" || status=$?
                if [ $status -eq 0 ]; then same "$out" final; else [ $status -eq 2 ]; fi
                status=0
                bpk meta set "$archive" k=2 2>"$err" || status=$?
                if [ $status -ne 0 ]; then
                    says ' is not used: | does not match its content| is damaged'
                    bpk repair --drop-journal "$archive"
                    judged=$((judged + 1))
                fi
                quietly bpk cat "$archive"
                same "$out" final
                quietly bpk verify "$archive"
            done
        done
        [ "$judged" -gt 0 ] || die "$kind: was never refused"
    done
}

@test "a journal that is not used is named where the metadata are damaged without it" {
    local at
    need_nth
    data positions-f32 100000 A
    bpk pack -q --set run=7 -o x.blp A
    for ((at = 3; at < 40; at++)); do
        "$nth" -n $at -a after "$BPK" meta set x.blp 'note="a long text"' >"$out" 2>&1 || true
        "$BPK" verify x.blp 2>&1 | grep -q pending && break
    done
    mkdir copy
    cp -p x.blp .x.blp.bpkj copy/
    printf XX | dd of=copy/x.blp bs=1 seek=70 conv=notrunc status=none
    refuses 1 'not used: it was made for .*--use-journal.*--drop-journal' bpk repair copy/x.blp
    ends 2 bpk verify copy/x.blp
    says 'copy/x.blp: metadata: .*; bpk repair copy/x.blp shows the choices$'
    ends 2 bpk repair --apply -o out.blp copy/x.blp
    says 'its journal .* is not used: .*; bpk repair copy/x.blp shows the choices$'
}

@test "repair tells what is pending and why something is not used, settles it, or drops it" {
    for kind in "${kinds[@]}"; do
        prepare "$kind"
        quietly bpk repair "$archive"
        interrupt "$kind"
        refuses 3 "^bpk: $archive: a change was interrupted and is pending" bpk repair "$archive"
        cp -a "$archive" saved
        left=.$archive.bpkj
        if [ -d "$archive" ]; then left=$archive/.bpkj; else cp -a "$left" saved.bpkj; fi
        quietly bpk repair --in-place "$archive"
        [ ! -e "$left" ]
        quietly bpk cat "$archive"
        same "$out" committed
        # a backup of both that is restored; the old inode stays in use
        rm -rf was
        mv "$archive" was
        cp -a saved "$archive"
        [ -d "$archive" ] || cp -a saved.bpkj "$left"
        refuses 1 ' is not used: it was made for .*--use-journal.*--drop-journal' bpk repair "$archive"
        refuses 1 ' is not used: it was made for ' bpk repair --in-place "$archive"
        quietly bpk repair --use-journal "$archive"
        [ ! -e "$left" ]
        quietly bpk cat "$archive"
        same "$out" committed
        quietly bpk verify "$archive"
        # or only removed
        interrupt_at "$at"
        rm -rf before
        cp -a "$archive" before
        quietly bpk repair --drop-journal "$archive"
        [ ! -e "$left" ]
        rm -f before/.bpkj
        diff -r before "$archive"
        rm -rf before saved saved.bpkj
    done
    refuses 64 'only one of' bpk repair --in-place --drop-journal "$archive"
}

@test "repair: a damaged journal is an error until the user drops it" {
    interrupt blp
    while [ "$(grep -ao bpkr ".$archive.bpkj" | wc -l)" -lt 4 ]; do # until something is saved
        at=$((at + 1))
        interrupt_at "$at"
    done
    printf '\377' | dd of=".$archive.bpkj" bs=1 seek=100 conv=notrunc status=none
    for command in "cat $archive" "info $archive" "repair $archive" "repair --in-place $archive" \
        "repair --use-journal $archive" "meta set $archive k=1" "append $archive a"; do
        # shellcheck disable=SC2086
        refuses 2 "its journal .$archive.bpkj is damaged" bpk $command
    done
    quietly bpk repair --drop-journal "$archive"
    [ ! -e ".$archive.bpkj" ]
    bpk pack -f "${pack[@]}" -o "$archive" a
    quietly bpk verify "$archive"
}

@test "a journal that was finished and then cut short is not taken for one that never was" {
    for kind in blp blp-plain; do
        interrupt "$kind"
        while [ -e ".$archive.bpkj" ]; do # the last call before it goes: the file is written over
            at=$((at + 1))
            interrupt_at "$at"
        done
        at=$((at - 1))
        interrupt_at "$at"
        # Cut inside its first record, behind the first sample of the file's bytes. A cut where a later
        # record begins leaves nothing of that to compare.
        end=$(grep -abo bpkr ".$archive.bpkj" | sed -n '2s/:.*//p')
        refused=0
        for ((cut = 600; cut < end; cut += 1 + end / 48)); do
            interrupt_at "$at"
            truncate -s $cut ".$archive.bpkj"
            status=0
            bpk repair --in-place "$archive" 2>"$err" || status=$?
            if [ $status -eq 0 ]; then # all that was saved is left of it
                bpk cat "$archive" | cmp - committed || die "$kind: cut at $cut of $size"
            else
                [ $status -eq 2 ] && [ -e ".$archive.bpkj" ] || die "$kind: $status"
                says 'its journal .* is cut short|does not match its content|is damaged'
                refused=$((refused + 1))
            fi
        done
        [ $refused -gt 10 ]
        # one that never was
        bpk pack -q -f -o y.blp a
        truncate -s 8 .y.blp.bpkj
        quietly bpk repair -q --in-place y.blp
        [ ! -e .y.blp.bpkj ]
    done
}

# The change leaves the first bytes of the file alone, so only later samples show it.
@test "a journal cut inside its first record is compared with all samples that are left" {
    need_nth
    data noise 400000 a
    data noise 250000 b
    bpk pack -q -z 64K --checksum none -o was.blp a
    for ((at = 1; at < 200; at++)); do
        rm -f .x.blp.bpkj
        cp was.blp x.blp
        status=0
        "$nth" -n $at -a after "$BPK" write -q -T 1 --at 50000 x.blp b || status=$?
        [ $status -ne 0 ] || break
        [ ! -e .x.blp.bpkj ] || cmp -s was.blp x.blp || break # the file is written over
    done
    cut=$(grep -abo bpkr .x.blp.bpkj | sed -n '2s/:.*//p')
    for size in $((cut - 1)) 1000 700; do
        truncate -s $size .x.blp.bpkj
        refuses 2 'its journal .* is cut short, and the bytes saved in it were overwritten' bpk verify x.blp
        refuses 2 'is cut short.*bpk repair --drop-journal x.blp removes it' bpk repair x.blp
        refuses 2 'is cut short' bpk append x.blp a
    done
    quietly bpk repair --drop-journal x.blp
}

@test "pack reports a journal of the file that had the name before" {
    interrupt blp
    rm x.blp
    bpk pack -o x.blp a 2>"$err"
    says '^bpk: x.blp: a journal of an earlier file lies beside it; bpk repair'
    [ -e .x.blp.bpkj ]
    quietly bpk repair --drop-journal x.blp
    quietly bpk append x.blp more
}

@test "unpack --rm keeps an archive whose journal or list is not used" {
    for kind in blp chunked; do
        interrupt "$kind"
        if [ -d "$archive" ]; then
            cp -a was new && mv "$archive/.bpkj" new && rm -r "$archive" && mv new "$archive"
        else
            cp -a was new && mv new "$archive"
        fi
        rm -f raw
        bpk unpack --rm -o raw "$archive" 2>"$err"
        says "$archive: is kept, because a journal or list beside it is not used"
        [ -e "$archive" ]
    done
}

# The bytes behind the end are told, whoever put an empty file there that is called like a journal.
@test "a journal that is not used hides nothing behind an archive's end" {
    data noise 30000 a
    for format in blp b2frame; do
        make_archive $format a -z 10K
        printf 'something else' >>"$archive"
        for journal in none empty theirs; do
            rm -f ".$archive.bpkj"
            [ $journal = none ] || : >".$archive.bpkj"
            if [ $journal = theirs ]; then
                [ "$(id -u)" -eq 0 ] || continue
                chown 65534 ".$archive.bpkj"
            fi
            status=0
            bpk verify "$archive" >"$out" 2>"$err" || status=$?
            [ "$status" -eq 2 ] || die "$format, $journal: status $status"
            says 'after the end of the archive, belong to no archive'
        done
    done
}

# Moved without its journal, an archive whose last chunk was written over is no whole one.
@test "a last chunk that was written over, and no journal: that is damage" {
    need_nth
    data noise 29500 a
    data noise 23000 more
    torn=0
    for ((point = 1; point < 40; point++)); do
        rm -f x.blp .x.blp.bpkj
        make_archive blp a -z 10000 -o x.blp
        status=0
        "$nth" -n $point -a after "$BPK" append -T 1 x.blp more >"$out" 2>&1 || status=$?
        [ "$status" -ne 125 ] || skip "this machine does not let processes be traced"
        [ "$status" -ne 0 ] || break
        [ -s .x.blp.bpkj ] || continue
        mv x.blp moved.blp
        status=0
        bpk cat moved.blp >"$out" 2>"$err" || status=$?
        if [ "$status" -eq 0 ] || [ "$status" -eq 3 ]; then
            cmp "$out" a || cmp "$out" <(cat a more) || die "point $point: neither old nor new, status $status"
        else
            [ "$status" -eq 2 ]
            torn=$((torn + 1))
        fi
    done
    [ "$torn" -gt 0 ]
}

@test "a journal that stays after a failed sync is named" {
    need_nth
    prepare blp
    for ((at = 1, stayed = 0; at < 60; at++)); do
        rm -f "$archive" ".$archive.bpkj"
        cp was "$archive"
        "$nth" -n $at -a fail:ENOSPC "$BPK" "${change[@]}" >"$out" 2>"$err" ||
            [ $? -ne 125 ] || skip "this machine does not let processes be traced"
        [ -e ".$archive.bpkj" ] || continue
        stayed=$((stayed + 1))
        says "its journal .$archive.bpkj stays for the next change"
    done
    [ "$stayed" -ge 2 ]
}

@test "a lock file that is a link to another file is not written to" {
    for kind in chunked b2sparse; do
        prepare $kind
        echo 'precious data' >victim
        cp victim victim.was
        ln -f victim "$archive/.lock"
        leaves_one 1 '.lock: is not a lock file: it has 14 bytes, expected at most 8' bpk "${change[@]}"
        same victim victim.was
        rm "$archive/.lock"
        bpk "${change[@]}"
    done
}

@test "a journal costs no more than the bytes that are there" {
    for kind in blp b2nd; do
        prepare $kind
        truncate -s 1T ".$archive.bpkj"
        timeout 20 "$BPK" cat "$archive" >got 2>"$err"
        timeout 20 "$BPK" verify -q "$archive" 2>"$err"
        timeout 20 "$BPK" "${change[@]}" 2>"$err"
        [ ! -e ".$archive.bpkj" ]
        interrupt $kind
        bpk cat "$archive" >before 2>/dev/null
        truncate -s 1T ".$archive.bpkj"
        timeout 20 "$BPK" cat "$archive" >got 2>"$err"
        same got before
        timeout 20 "$BPK" "${change[@]}" 2>"$err"
    done
}

@test "an archive that cannot be put back is reported with the content that is there" {
    need_nth
    for kind in blp blp-plain b2nd; do
        prepare $kind
        bpk cat was >old
        for ((at = 1, old=0, new = 0; at < 60; at++)); do
            rm -f "$archive" ".$archive.bpkj"
            cp was "$archive"
            status=0
            "$nth" -n $at -s -a fail:EIO "$BPK" "${change[@]}" >"$out" 2>"$err" || status=$?
            [ "$status" -ne 125 ] || skip "this machine does not let processes be traced"
            [ "$status" -ne 0 ] || break
            grep -q 'nor could it be put back' "$err" || continue
            bpk cat -q "$archive" >now
            if cmp -s now old; then
                says '; the old content is there'
                old=$((old + 1))
            else
                says '; the new content is there'
                bpk verify -q "$archive"
                new=$((new + 1))
            fi
        done
        [ "$old" -gt 0 ] && [ "$new" -gt 0 ] || die "$kind: $old old, $new new"
    done
}

@test "verify -r reports a journal without its archive" {
    data text 3000 a
    mkdir -p d/e/.z.blp.bpkj
    bpk pack -q -o d/x.blp a
    : >d/.x.blp.bpkj
    quietly bpk verify -r d
    : >d/e/.y.blp.bpkj
    refuses 1 '^bpk: d/e/.y.blp.bpkj: is a journal without its archive, which may hold half of a change$' \
        bpk verify -r d
    mv d/x.blp d/e/y.blp
    refuses 1 '^bpk: d/.x.blp.bpkj: is a journal without its archive' bpk verify -r d
}

@test "verify -r finds the archives of journals whose names are cut" {
    need_python
    data text 3000 a
    bpk pack -q a
    "$python" -c 'import os, zlib
os.mkdir("d")
for length in range(236, 256):
    for letter in "y", "\u00e9", "\u20ac":
        start = b"%03d" % length + letter.encode() * (length // len(letter.encode()) - 3)
        os.link("a.blp", b"d/" + start)
        kept = len(start)
        if kept > 249:
            kept = 240
            while start[kept] & 0xc0 == 0x80:
                kept -= 1
            start = start[:kept] + b"-%08x" % zlib.crc32(start)
        open(b"d/." + start + b".bpkj", "w").close()'
    [ "$(ls d | wc -l)" = 60 ]
    quietly bpk verify -r d
    rm d/255*
    bpk verify -r d >"$out" 2>"$err" && die "status 0"
    [ "$(grep -c 'is a journal without its archive' "$err")" = 3 ]
}
