load lib

# Archives that follow each other in one file or pipe are one; anything else behind an archive is
# told. BPK_MEMBERS_ROUNDS enlarges the random test.

kinds="blp none stream b2frame"

# An archive of FILE, of a kind, with more options of pack.
archive() { # KIND FILE OPTION...
    local kind=$1 file=$2
    shift 2
    case $kind in
    none) bpk pack -q --no-offsets -c "$@" "$file" ;;
    stream) bpk pack -q "$@" - <"$file" | cat ;;
    *) bpk pack -q -F "$kind" -c "$@" "$file" ;;
    esac
}

# STATUS FILE RAW: the result of every command on FILE, whose content is RAW.
reads() {
    local expected=$1 file=$2 raw=$3
    ends "$expected" bpk cat "$file"
    same "$out" "$raw"
    ends "$expected" bpk cat - < <(cat "$file")
    same "$out" "$raw"
    ends "$expected" bpk verify "$file"
    ends "$expected" bpk verify - < <(cat "$file")
    ends "$expected" bpk info "$file"
    ends "$expected" bpk tar -f x.tar --force --raw "$file"
    ends "$expected" bpk unpack -f -o x "$file"
    case $expected in 0 | 3) same x "$raw" ;; esac
    ends "$expected" bpk convert -f "$file" x.blp
    case $expected in 0 | 3) bpk cat x.blp | same - "$raw" ;; esac
    rm -f x x.tar x.blp
}

@test "members: two, three and empty ones are one archive, from a file and a pipe" {
    need_python
    data records 50000 a
    data text 30001 b
    : >e
    for kind in $kinds; do
        archive $kind a -z 8K >a.$kind
        archive $kind b -z 5000 >b.$kind
        archive $kind e >e.$kind
        for list in "a b" "a b a" "e a" "a e" "a e b" "e e" "e b e a e"; do
            read -ra names <<<"$list"
            cat "${names[@]}" >raw
            cat "${names[@]/%/.$kind}" >m
            reads 0 m raw
            bpk info --json m >info
            [ "$(json info 'x["nmembers"], x["raw_size"]')" = "(${#names[@]}, $(stat -c %s raw))" ] ||
                die "$kind $list: $(cat info)"
            bpk info --json - < <(cat m) >info
            [ "$(json info 'x["nmembers"], x["raw_size"]')" = "(${#names[@]}, $(stat -c %s raw))" ] ||
                die "$kind $list of a pipe: $(cat info)"
        done
        [ "$(bpk verify -v m | grep -c '5 archives follow each other')" -eq 1 ]
        bpk info -v m | grep -qE 'members +5'
    done
}

@test "members: pack >> file, convert makes one of them, --rm, other formats" {
    data records 50000 a
    data text 30001 b
    cat a b >raw
    bpk pack -q -c a >x.blp
    bpk pack -q - <b >>x.blp
    bpk cat x.blp | same - raw
    for suffix in blp b2frame blpd b2s; do
        bpk convert x.blp y.$suffix
        bpk cat y.$suffix | same - raw
        quietly bpk verify y.$suffix
    done
    quietly bpk append y.blp a
    bpk cat y.blp | cmp - <(cat raw a)
    bpk convert - z.blp < <(cat x.blp)
    bpk cat z.blp | same - raw
    tar cf t.tar x.blp
    bpk cat t.tar:x.blp | same - raw
    quietly bpk unpack --rm -o whole x.blp
    same whole raw
    [ ! -e x.blp ]
}

@test "members: what would destroy them is refused with the command to use" {
    data records 50000 a
    for kind in $kinds; do
        archive $kind a -z 8K | tee m >/dev/null
        archive $kind a -z 5000 >>m
        [ $kind != b2frame ] || mv m m.b2frame
        for command in "append M a" "append --copy M a" "append --follow a --idle 1 M" \
            "truncate --bytes 100 M" "write --at 0 M a" "meta set M k 1"; do
            [ $kind != b2frame ] || command=${command//M/m.b2frame}
            # shellcheck disable=SC2086 # words
            refuses 1 'another archive follows at offset [0-9]+, .* bpk convert m(\.b2frame)? NEW' bpk ${command//M/m}
        done
        [ $kind = b2frame ] || refuses 1 'holds 2 archives' bpk repair --repack m
    done
    refuses 1 'another archive follows at offset' bpk repair --repack m.b2frame
    refuses 1 'holds 2 archives' bpk repair --repack -o other m.b2frame
}

@test "members: other bytes behind the end are damage, and the content comes" {
    data records 50000 a
    for kind in $kinds; do
        archive $kind a -z 8K >good
        for tail in text zeros cut; do
            cp good m
            case $tail in
            text) echo hello >>m ;;
            zeros) head -c 600 /dev/zero >>m ;;
            cut) head -c 400 good >>m ;;
            esac
            [ $tail = cut ] || reads 2 m a
            ends 2 bpk cat m
            same "$out" a
            refuses 2 'm: ' bpk unpack --rm -o x m
            ends 2 bpk verify --json m
            grep -q '"status":2,' "$out"
            case $kind-$tail in *-cut) ;; blp-* | b2frame-*) ends 2 bpk cat --bytes 10:20 m ;; esac
        done
        says 'm: (member 2, from offset|[0-9]+ bytes from offset)'
    done
}

# NAME: the command that the last message advised, run by a shell, removes the bytes behind m.
cuts() {
    local command
    command=$(grep -o 'truncate -s .* removes' "$err") || die "no command: $(cat "$err")"
    bash -c "${command% removes}"
    cmp -- good "$1"
    quietly bpk append -- "$1" a
}

@test "the command that a message advises can be pasted, whatever the name of the file" {
    data records 5000 a
    bpk pack -q -c a >good
    mkdir 'p 0'
    for name in "p 0/it's-10%.f64.blp" -x.blp '$(touch oops)&.blp' $'new\nline\xff1.blp' '#~.blp'; do
        { cat good && echo hello; } >"./$name"
        ends 1 bpk append -- "$name" a
        cuts "$name"
    done
    [ ! -e oops ]
}

@test "members: no change destroys what lies behind the end; zeros alone may go" {
    data records 50000 a
    for kind in $kinds; do
        archive $kind a -z 8K --set k=0 >good
        size=$(stat -c %s good)
        { cat good; echo hello; } >m
        { cat good; head -c 600 /dev/zero; echo hello; } >later
        for file in m later; do
            cp $file before
            for change in "append $file a" "append --copy $file a" "truncate --bytes 9000 $file" \
                "write --at 16 $file later" "meta set $file k=1" "meta rm $file"; do
                # shellcheck disable=SC2086
                refuses 1 "bytes from offset $size on, after the end .* a change would destroy them; truncate -s $size $file removes them$" \
                    bpk $change
                cmp before $file || die "$kind: $change"
            done
        done
        truncate -s "$size" m
        quietly bpk append m a
        bpk cat m | cmp - <(cat a a)
        case $kind in none | stream) continue ;; esac
        { cat good; head -c 10000 /dev/zero; } >m
        quietly bpk append m a
        quietly bpk verify m
        bpk cat m | cmp - <(cat a a)
    done
}

@test "members: what an interrupted append leaves is status 3, and the content comes" {
    data records 50000 a
    data text 30001 b
    for kind in blp b2frame; do
        archive $kind a -z 10000 >old
        [ $kind = b2frame ] || bpk pack -q -f -z 10000 -o old a
        cp old new
        bpk append new b
        size=$(stat -c %s old)
        for more in 5 20 1000 1000000; do
            { cat old; tail -c +$((size + 1)) new | head -c $more; } >m
            reads 3 m a
            says "bytes from offset $size on are left from an interrupted append"
            ends 3 bpk unpack --rm -f -o x m
            same x a
            [ -e m ]
            ends 3 bpk cat --bytes 10:20 m
        done
        quietly bpk append m b
        bpk cat m | cmp - <(cat a b)
        reads 0 m <(cat a b) || true
        quietly bpk verify m
        rm -f x
    done
}

@test "members: an archive behind chunks that have lost their header is not left from an append" {
    need_python
    data noise 20000 a
    data noise 30000 b
    data noise 9000 c
    for kind in blp b2frame; do
        for name in a b c; do archive $kind $name -z 4000 >$name.x; done
        # the bytes of a chunk of b, from its header on, and then another archive
        start=$("$BPK" info -vv --json b.x | "$python" -c 'import json, sys; print(json.load(sys.stdin)["chunks"][0]["offset"])')
        { cat a.x && tail -c +$((start + 1)) b.x && cat c.x; } >m
        refuses 2 'belong to no archive' bpk verify m
        ends 1 bpk append m a
        ends 1 bpk repair --in-place m
        { cat a.x && tail -c +$((start + 1)) b.x && cat c.x; } | cmp - m
        # a copy of it among the data of an append is none
        cp a.x m
        bpk append --level 0 m <(cat c.x c.x c.x)
        head -c $(($(stat -c %s m) - 700)) m >n
        cp a.x m
        tail -c +$(($(stat -c %s a.x) + 1)) n >>m
        refuses 3 'left from an interrupted append' bpk verify m
    done
}

@test "members: larger chunks behind the end are not left from an append; one that lost a page is" {
    need_python
    data noise 5000 a
    data noise 40000 b
    for kind in blp b2frame; do
        archive $kind a -z 1000 >a.x
        archive $kind b -z 4000 >b.x
        start=$(bpk info -vv --json b.x | "$python" -c 'import json, sys; print(json.load(sys.stdin)["chunks"][0]["offset"])')
        { cat a.x && tail -c +$((start + 1)) b.x; } >m
        refuses 2 'belong to no archive' bpk verify m
        cp m n
        for change in "append m a" "repair --in-place m" "truncate --bytes 3000 m" "meta set m k=1"; do
            # shellcheck disable=SC2086 # words
            ends 1 bpk $change
            cmp m n
        done
        # data that hold archives, of which a power cut has lost a page behind the first chunk
        [ $kind = b2frame ] || bpk pack -q -f -F blp -z 1000 --append-space 200 -o a.x a
        cp a.x m
        cat b.x b.x b.x >raw
        bpk append --level 0 m raw
        size=$(stat -c %s a.x)
        dd if=/dev/zero of=m bs=1 seek=$((size + 1016)) count=600 conv=notrunc status=none
        { cat a.x && tail -c +$((size + 1)) m; } >n
        refuses 3 'left from an interrupted append' bpk verify n
        # a file system may show holes of any size behind the end
        truncate -s 20G n
        timeout 20 "$BPK" verify n >"$out" 2>&1 || [ $? -eq 3 ]
        rm n
    done
}

@test "members: the first bytes of an append, of which a power cut lost sectors, are status 3" {
    data records 50000 a
    for kind in $kinds; do
        case $kind in none | stream) continue ;; esac
        archive $kind a -z 8K >good
        size=$(stat -c %s good)
        cp good grown
        quietly bpk append grown a
        tail -c +$((size + 1)) grown >added
        for lost in 32 9; do
            { cat good; head -c $lost /dev/zero; head -c 32 added | tail -c $((32 - lost)); } >m
            refuses 3 "32 bytes from offset $size on are left from an interrupted append" bpk verify m
            quietly bpk append m a
            bpk cat m | cmp - <(cat a a)
        done
        { cat good; head -c 33 /dev/zero; } >m # room for an archive
        refuses 2 "belong to no archive" bpk verify m
    done
}

@test "members: arrays of one type and row are one array, else there is none" {
    need_python
    data records 48000 a
    data records 24000 b
    cat a b >raw
    for kind in blp b2frame; do
        bpk pack -q -F $kind --dtype '<i4' --shape 1000,12 -o a.$kind a
        bpk pack -q -F $kind --dtype '<i4' --shape 500,12 -o b.$kind b
        bpk pack -q -F $kind --dtype '<i4' --shape 250,24 -o c.$kind b
        cat a.$kind b.$kind >m
        bpk cat m | same - raw
        bpk info --json m >info
        [ "$(json info 'x["dtype"], x["shape"]')" = "('<i4', [1500, 12])" ] || die "$(cat info)"
        quietly bpk unpack -f -o x.npy m
        tail -c 72000 x.npy | same - raw
        bpk cat --slice 999:1001,3:5 m | cmp - <(for at in 47964 48012; do tail -c +$((at + 1)) raw | head -c 8; done)
        bpk convert -f m o.$kind
        bpk info --json o.$kind >info
        [ "$(json info 'x["dtype"], x["shape"]')" = "('<i4', [1500, 12])" ] || die "$(cat info)"
        bpk cat o.$kind | same - raw
        cat a.$kind c.$kind >m
        bpk cat m | same - raw
        bpk info --json m >info
        [ "$(json info 'x["dtype"], x["metadata"]')" = "(None, None)" ] || die "$(cat info)"
        bpk verify -v m | grep -q 'arrays or metadata of its members differ'
        bpk convert -f m o.$kind
        bpk cat o.$kind | same - raw
    done
}

@test "members: of different element sizes ranges are in bytes" {
    data records 50000 a
    { bpk pack -c -t 4 a; bpk pack -c -t 8 a; } >m
    refuses 1 'use --bytes' bpk cat --items 3:5 m
    bpk cat --bytes 49990:50010 m | cmp - <(tail -c 10 a; head -c 10 a)
    bpk verify -v m | grep -q 'typesize or checksum of its members differ'
    { bpk pack -c --checksum md5 a; bpk pack -c --checksum none a; } >m
    bpk convert m o.blp
    bpk cat o.blp | cmp - <(cat a a)
    quietly bpk verify o.blp
}

@test "members: a range of a pipe cannot count from the end of several" {
    data records 50000 a
    bpk pack a
    cat a.blp a.blp >m
    bpk cat --bytes -10: - < <(cat a.blp) | cmp - <(tail -c 10 a)
    refuses 1 'brings 2 archives that follow each other' bpk cat --bytes -10: - < <(cat m)
    bpk cat --bytes 49990:50010 - < <(cat m) | cmp - <(tail -c 10 a; head -c 10 a)
}

@test "members: damage names the member" {
    data records 50000 a
    bpk pack -z 8K a
    cat a.blp a.blp a.blp >m
    size=$(stat -c %s a.blp)
    at=$((size + size / 2))
    printf '\xff\xff\xff' | dd of=m bs=1 seek=$at conv=notrunc status=none
    refuses 2 "m: member 2, from offset $size: chunk [0-9]+ at offset [0-9]+: crc32 is" bpk verify m
    refuses 2 "member 2, from offset $size: chunk" bpk unpack -o x m
    quietly bpk cat --bytes 0:50000 m
    same "$out" a
    quietly bpk cat --bytes 100000:150000 m
    same "$out" a
}

@test "members: random splits into archives of random options, ranges against the raw bytes" {
    rounds=${BPK_MEMBERS_ROUNDS:-11}
    if light; then rounds=4; fi
    data mixed 60000 all 2>/dev/null || data records 60000 all
    RANDOM=$((7 + ${BPK_TEST_SEED:-0}))
    right=0 tried=0
    for ((round = 0; round < rounds; round++)); do
        read -ra of <<<"$kinds"
        at=0 n=$((RANDOM % 5 + 1))
        : >m
        family=$((RANDOM % 4))
        for ((i = 0; i < n; i++)); do
            size=$((RANDOM % 12000))
            tail -c +$((at + 1)) all | head -c $size >part
            at=$((at + size))
            kind=b2frame
            [ $family -eq 0 ] || kind=${of[RANDOM % 3]}
            set -- -z $((RANDOM % 9000 + 256)) -t $((1 << RANDOM % 4)) --level $((RANDOM % 4))
            [ $((RANDOM % 2)) -eq 0 ] || set -- "$@" --checksum none
            archive $kind part "$@" >>m
        done
        head -c $at all >raw
        reads 0 m raw
        for ((i = 0; i < 4; i++)); do
            from=$((at > 0 ? RANDOM % at : 0)) to=$((from + RANDOM % (at - from + 1)))
            bpk cat --bytes $from:$to m >part || die "round $round: $from:$to"
            tried=$((tried + 1))
            cmp part <(tail -c +$((from + 1)) raw | head -c $((to - from))) && right=$((right + 1))
        done
    done
    echo "# $right of $tried ranges, $rounds files" >&3
    [ $right -eq $tried ]
}

@test "members: thousands of them, and empty ones, cost what they weigh" {
    need_python
    need_plain_build
    data records 1000 a
    archive blp a --append-space 0 >one
    printf 'blpk\3\0\0\1\350\3\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0' >none
    "$python" -c 'for n in ("one", "none"): open(n + "s", "wb").write(open(n, "rb").read() * (1000 if n == "one" else 20000))'
    "$python" -c 'open("raw", "wb").write(open("a", "rb").read() * 1000)'
    bpk cat ones | same - raw
    bpk cat - < <(cat ones) | same - raw
    bpk cat --bytes 500500:500600 ones | cmp - <(tail -c +500501 raw | head -c 100)
    for file in ones nones; do
        "$BPK_PEAK" peak "$BPK" verify -T 2 $file
        [ "$(cat peak)" -le 65536 ] || die "$(cat peak) KiB for $file"
    done
    bpk info --json nones >info
    [ "$(json info 'x["nmembers"], x["raw_size"]')" = '(20000, 0)' ]
}

# verify says 3, repair the same, and --in-place makes it 0.
@test "repair tells of what an interrupted append left, and cuts it off" {
    data noise 30000 a
    for format in blp b2frame; do
        make_archive $format a -z 10K
        cp "$archive" whole
        # a chunk behind the end, as an append puts it there before it commits
        from=$(bpk info -vv --json "$archive" | tr , '\n' | sed -n 's/.*"offset":\([0-9]*\).*/\1/p' | head -n 1)
        tail -c +$((from + 1)) "$archive" | head -c 9000 >piece
        cat piece >>"$archive"
        for command in verify repair; do
            status=0
            bpk $command "$archive" >"$out" 2>"$err" || status=$?
            [ "$status" -eq 3 ] || die "$format: $command: status $status" "$(cat "$err")"
            says "bpk repair --in-place $archive, or the next append, removes them"
        done
        bpk repair -v --in-place "$archive" 2>"$err"
        says 'what was pending is settled'
        quietly bpk verify "$archive"
        same "$archive" whole
    done
}

# A data file is replaced as a whole when it changes, so bytes behind its chunks are nobody's.
@test "bytes behind the chunks of a data file are damage, and no change destroys them" {
    data noise 100000 a
    bpk pack -q -F chunked -z 10K --superchunk-size 40K -o c.blpd a
    for file in __1__.bin __3__.bin; do
        rm -rf d.blpd
        cp -a c.blpd d.blpd
        echo hello >>d.blpd/data/$file
        cp d.blpd/data/$file seen
        refuses 2 "data/$file: 6 bytes from offset .* after its last chunk" bpk verify d.blpd
        for command in "write --at 0" append; do
            [ "$command $file" != "append __1__.bin" ] || continue # which it leaves alone
            status=0
            # shellcheck disable=SC2086
            bpk $command d.blpd a 2>"$err" || status=$?
            [ "$status" -eq 2 ] || die "$command, $file: status $status"
            says "data/$file: 6 bytes from offset"
            same seen d.blpd/data/$file
        done
    done
}

# The second change must not leave a part of the first one's bytes.
@test "a change that is killed behind another one leaves the rest of neither" {
    local first second status format change
    need_nth
    data noise 30000 a
    data noise 5000 more
    for format in b2frame b2nd; do
        if [ $format = b2nd ]; then
            "$BPK" pack -q --dtype '<i4' --shape 125,60 --chunk-shape 16,20 -o was.b2nd a
        else
            "$BPK" pack -q -F b2frame -z 8K -o was.b2frame a
        fi
        archive=x.$format
        head -c 4800 more >rows
        for change in "meta set $archive k=x" "truncate --bytes 9600 $archive"; do
            for first in 2 3; do
                for second in 2 3 4 5; do
                    cp was.$format "$archive"
                    "$nth" -n $first -a after "$BPK" append "$archive" rows >/dev/null 2>&1 || true
                    # shellcheck disable=SC2086 # words
                    "$nth" -n $second -a after "$BPK" $change >/dev/null 2>&1 || true
                    status=0
                    "$BPK" verify "$archive" 2>"$err" || status=$?
                    [ $status -eq 0 ] || [ $status -eq 3 ] ||
                        die "$change, $first, $second: status $status: $(cat "$err")"
                    "$BPK" cat -q "$archive" 2>"$err" | head -c 9600 | cmp - <(head -c 9600 a)
                    rm -f .x.*
                done
            done
        done
    done
}
