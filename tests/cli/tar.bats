load lib

# Everything below the folder $1 but its part $2.
around() { (cd "$1" && find . -path "./$2" -prune -o -printf '%p %y %m %n %s %T@ %l\n' | sort); }

two_archives() {
    data mesh-i32 300000 a
    data field-f32 500000 b
    bpk pack -z 64K a
    bpk pack -z 64K b
}

@test "tar stores archives as they are, to standard output and to a file" {
    need tar
    two_archives
    touch -d '2001-02-03 04:05:06.5' a.blp
    chmod 640 b.blp
    bpk tar a.blp ./b.blp >one.tar
    quietly bpk tar -o two.tar a.blp ./b.blp
    quietly bpk tar -f three.tar a.blp ./b.blp
    same one.tar two.tar
    same one.tar three.tar
    [ "$(tar -tf one.tar)" = $'a.blp\nb.blp' ]
    mkdir out
    tar -xpf one.tar -C out
    same a.blp out/a.blp
    same b.blp out/b.blp
    [ "$(stat -c '%a %y' out/a.blp out/b.blp)" = "$(stat -c '%a %y' a.blp b.blp)" ]
    [ $(($(stat -c %s one.tar) % 10240)) -eq 0 ]
}

@test "GNU tar and bsdtar read names of any length and any bytes that tar writes" {
    need tar
    need bsdtar
    data mesh-i32 1000 a
    bpk pack a
    deep=$(printf 'd%.0s' {1..200})/$(printf 'e%.0s' {1..200})
    mkdir -p "$deep"
    names=("$(printf 'n%.0s' {1..120}).blp" "$deep/f.blp" $'\xc3\xa9.blp' $'e\xcc\x81.blp' $'no\xfftext.blp')
    for name in "${names[@]}"; do cp a.blp "$name"; done
    bpk tar -o t.tar "${names[@]}"
    mkdir gnu bsd ours
    tar -xf t.tar -C gnu 2>/dev/null
    bsdtar -xf t.tar -C bsd 2>/dev/null || true # it warns of what the C locale cannot show
    quietly bpk tar -x -C ours t.tar
    bpk tar -t t.tar >listed
    for name in "${names[@]}"; do
        for by in gnu bsd ours; do same a.blp "$by/$name"; done
        grep -qxF -e "$name" listed
        bpk cat "t.tar:$name" | cmp - a
    done
}

@test "a member of more than 8 GiB has its size in the header" {
    need tar
    data mesh-i32 1000 a
    bpk pack -o big.blp a
    truncate -s 9G big.blp || skip "no room for a sparse file of 9 GiB"
    (bpk tar big.blp || true) | head -c 4096 >start
    tar -tvf start 2>/dev/null | grep -E ' 9663676416 .* big.blp$'
    bpk tar -tv start 2>/dev/null | grep -E ' 9663676416 .* big.blp$'
}

@test "tar --raw stores what the datasets unpack to, the same with any number of threads" {
    need tar
    two_archives
    for threads in 1 4; do bpk tar --raw -T $threads -o $threads.tar a.blp b.blp; done
    same 1.tar 4.tar
    [ "$(tar -tf 1.tar)" = $'a\nb' ]
    tar -xOf 1.tar a | cmp - a
    tar -xOf 1.tar b | cmp - b
    # an archive that does not say how large it is
    bpk pack -z 64K <b >stream.blp 2>"$err"
    quietly bpk tar --raw -o s.tar stream.blp
    tar -xOf s.tar stream | cmp - b
}

@test "SOURCE_DATE_EPOCH: equal contents give equal bytes, whatever owner, mode and time" {
    two_archives
    mkdir x
    cp a.blp b.blp x
    chmod 600 x/*
    touch -d 1999-01-01 x/*
    SOURCE_DATE_EPOCH=1234567890 bpk tar -o 1.tar a.blp b.blp
    (cd x && bpk tar --date 1234567890 a.blp b.blp) >2.tar
    same 1.tar 2.tar
    ! grep -qaE 'ino=|dev=|atime|ctime|LIBARCHIVE|SCHILY' 1.tar
    TZ=UTC bpk tar -tv 1.tar | grep -F ' 0/0 ' | grep -qF '2009-02-13 23:31 a.blp'
    refuses 64 SOURCE_DATE_EPOCH env SOURCE_DATE_EPOCH=soon "$BPK" tar -o 3.tar a.blp
}

@test "all datasets are stored or none" {
    two_archives
    echo "no archive" >c
    head -c 100000 b.blp >cut.blp
    data field-f32 500000 d
    bpk pack -z 64K d
    printf x | dd of=d.blp bs=1 seek=$(($(stat -c %s d.blp) - 30)) conv=notrunc status=none
    mkdir folder
    mkfifo pipe
    refuses 1 '^bpk: c: is not an archive' bpk tar -o t.tar a.blp c
    refuses 1 '^bpk: none: ' bpk tar -o t.tar a.blp none b.blp
    refuses 1 '^bpk: folder: ' bpk tar -o t.tar a.blp folder
    refuses 2 '^bpk: d.blp: chunk ' bpk tar --raw -o t.tar a.blp d.blp
    refuses 2 '^bpk: cut.blp: ' bpk tar --raw -o t.tar a.blp cut.blp
    refuses 64 'no DATASET' bpk tar -o t.tar
    refuses 64 'standard input' bpk tar -o t.tar -
    refuses 64 'a.blp and ./a.blp would both be stored as a.blp' bpk tar -o t.tar a.blp ./a.blp
    refuses 64 'would both' bpk tar --raw -o t.tar a.blp folder/../a.blp
    refuses 64 'unknown option -c; a tar is written by tar -f' bpk tar -c a.blp
    ln b.blp b.tar
    refuses 1 'already exists; --force replaces it' bpk tar -o b.tar a.blp
    refuses 1 'same file' bpk tar --force -o b.tar a.blp b.blp
    rm b.tar
    refuses 1 'a.tar: ' bpk tar -o none/a.tar a.blp
    status=0
    bpk tar a.blp c >t.tar 2>"$err" || status=$?
    [ "$status" -eq 1 ]
}

@test "names lose what leads elsewhere" {
    two_archives
    mkdir -p x/y
    bpk tar -o t.tar .//a.blp x/y/../../b.blp
    [ "$(bpk tar -t t.tar)" = $'a.blp\nb.blp' ]
    bpk tar -o u.tar "$PWD/a.blp"
    [ "$(bpk tar -t u.tar)" = "${PWD#/}/a.blp" ]
    cd x/y
    bpk tar -o t.tar ../../a.blp
    [ "$(bpk tar -t t.tar)" = a.blp ]
}

@test "a tar is no more readable than what is in it" {
    two_archives
    chmod 600 a.blp
    bpk tar -o t.tar a.blp b.blp
    [ "$(stat -c %a t.tar)" = 600 ]
    bpk tar -o u.tar b.blp
    [ "$(stat -c %a u.tar)" = 644 ]
}

@test "a tar is written to a terminal only with --force" {
    need script
    two_archives
    status=0
    script -qec "'$BPK' tar a.blp" /dev/null >"$out" </dev/null || status=$?
    [ "$status" -eq 1 ]
    grep -q 'is a terminal' "$out"
}

@test "tar says what it did with -v and --json" {
    need_python
    two_archives
    bpk tar -v -o t.tar a.blp 2>"$err"
    says '^bpk: a.blp: stored as a.blp, [0-9]+ bytes$'
    bpk tar --json -o u.tar ./a.blp >"$out"
    [ "$(json "$out" '[x["path"], x["output"], x["name"], x["size"], x["nfiles"]]')" = \
        "['./a.blp', 'u.tar', 'a.blp', $(stat -c %s a.blp), 1]" ]
    bpk tar --json -t u.tar >"$out"
    [ "$(json "$out" '[x["path"], x["name"], x["type"], x["size"], x["mode"], x["link"]]')" = \
        "['u.tar', 'a.blp', 'file', $(stat -c %s a.blp), 420, None]" ]
    refuses 64 json bpk tar --json a.blp
}

@test "tar -t lists as tar does, from a file and from standard input, with control bytes escaped" {
    need tar
    two_archives
    mkdir d
    cp a.blp $'d/esc\e[31m.blp'
    ln -s a.blp l
    ln a.blp h
    tar -cf t.tar a.blp h l d
    TZ=UTC tar --numeric-owner --full-time -tvf t.tar | sed 's/:[0-9.]* \([^ ]*\)/ \1/' | awk '{print $1, $2, $3}' >theirs
    TZ=UTC bpk tar -tv t.tar | awk '{print $1, $2, $3}' >ours
    same ours theirs
    bpk tar -t t.tar >1
    bpk tar -t <t.tar >2
    bpk tar -t - <t.tar >3
    bpk tar -t -f t.tar >4
    for i in 2 3 4; do same 1 $i; done
    grep -qF 'd/esc\x1b[31m.blp' 1
    bpk tar -tv t.tar | grep -qF 'l -> a.blp'
    bpk tar -tv t.tar | grep -qF 'h link to a.blp'
}

@test "tar -t and -x refuse compressed tars and what is not a tar" {
    two_archives
    bpk tar -o t.tar a.blp
    for tool in gzip zstd xz bzip2; do
        command -v $tool >/dev/null || continue
        $tool -kc t.tar >t.tar.$tool
        refuses 1 "compressed with $tool" bpk tar -t t.tar.$tool
        refuses 1 "compressed with $tool" bpk tar -x -f t.tar.$tool
    done
    refuses 1 'is not a tar' bpk tar -t a.blp
    refuses 1 'is not a tar' bpk tar -x /dev/null
    { printf x; tail -c +2 t.tar; } >torn.tar
    refuses 2 'its first header is damaged' bpk tar -t torn.tar
    refuses 64 'only one' bpk tar -t -x t.tar
    refuses 64 'single tar' bpk tar -t t.tar t.tar
    refuses 64 '' bpk tar -t -o x t.tar
    refuses 64 '' bpk tar -C . a.blp
    refuses 1 'none' bpk tar -x -C none t.tar
}

@test "tar -x --force over a dataset with a pending list of changes, or a writer, is refused" {
    need_plain_build
    need_nth
    data noise 60000 a
    mkdir src
    bpk pack -q -z 16K -o src/z.b2s a
    (cd src && bpk tar -q -o ../t.tar z.b2s)
    cp -r src/z.b2s y.b2s
    "$nth" -o calls "$BPK" truncate -q y.b2s --bytes 100
    point=$(grep -n renameat2 calls | tail -n 1 | cut -d : -f 1)
    cp -r src/z.b2s z.b2s
    "$nth" -n "$point" -a after "$BPK" truncate -q z.b2s --bytes 100 2>"$err" || true
    [ -e z.b2s/.bpkj ] || die "no list is pending"
    for place in . z.b2s; do # from above, and from within
        [ $place = . ] || (cd src/z.b2s && tar -cf ../../t.tar chunks.b2frame)
        refuses 1 "pending change.* bpk repair settles" bpk tar -x --force -C $place -f t.tar
        ends 3 bpk verify z.b2s
    done
    bpk repair --in-place z.b2s >"$out" 2>&1
    bpk cat z.b2s | cmp - <(head -c 100 a)

    rm t.tar
    (cd src && bpk tar -q -o ../t.tar z.b2s)
    mkfifo pipe
    exec 7<>pipe
    "$BPK" append -q z.b2s <pipe 7>&- &
    eventually writes z.b2s
    refuses 1 "z.b2s: is being changed by another process" bpk tar -x --force -f t.tar
    exec 7>&-
    wait $!
    quietly bpk tar -x --force -f t.tar
    bpk cat z.b2s | cmp - a
}
# Another writer is refused.
writes() { ! bpk meta set "$1" k=1 >"$out" 2>&1; }

@test "tar -x keeps what exists, unless --force says otherwise" {
    two_archives
    bpk tar -o t.tar a.blp b.blp
    mkdir out
    echo mine >out/a.blp
    status=0
    bpk tar -x -C out t.tar 2>"$err" || status=$?
    [ "$status" -eq 4 ]
    says '^bpk: t.tar: a.blp already exists, left out$'
    [ "$(cat out/a.blp)" = mine ]
    same b.blp out/b.blp
    quietly bpk tar -x --force -C out t.tar
    same a.blp out/a.blp
    # never through a link, whoever put it there
    echo mine >victim
    ln -sf ../victim out/a.blp
    quietly bpk tar -x --force -C out t.tar
    [ "$(cat victim)" = mine ]
    [ ! -L out/a.blp ]
    bpk tar -x -v --json -C out t.tar >"$out" 2>/dev/null || true
    [ "$(grep -c '"extracted":false' "$out")" -eq 2 ]
}

@test "tar -x gives permissions less the umask, times, and never set-id bits" {
    need tar
    two_archives
    mkdir d
    cp a.blp b.blp d
    chmod 2775 d
    chmod 6777 d/a.blp
    chmod 600 d/b.blp
    touch -d '2001-02-03 04:05:06' d/a.blp d
    tar -cf t.tar d
    mkdir out
    (umask 027 && "$BPK" tar -x -C out t.tar)
    [ "$(stat -c '%a %Y' out/d/a.blp)" = "750 $(stat -c %Y d/a.blp)" ]
    [ "$(stat -c %a out/d/b.blp)" = 600 ]
    [ "$(stat -c '%a %Y' out/d)" = "750 $(stat -c %Y d)" ]
}

@test "tars that mean harm write nothing outside, and end as they must" {
    need_python
    mkdir tars
    "$python" "$tests/lib/tar_make.py" tars >rows
    [ "$(wc -l <rows)" -gt 40 ]
    while IFS=$'\t' read -r name expected files; do
        mkdir -p play/in/target
        echo secret >play/victim
        echo secret >play/in/victim
        before=$(around play in/target)
        status=0
        (cd play/in && timeout 60 "$BPK" tar -x -C target ../../tars/$name.tar) 2>"$err" || status=$?
        [ "$status" -eq "$expected" ] || die "$name: status $status, expected $expected" "$(cat "$err")"
        [ "$(around play in/target)" = "$before" ] || die "$name: changed something outside"
        [ ! -e /tmp/bpk-escaped ] || die "$name: wrote into /tmp"
        left=$(cd play/in/target && find . -type f -printf '%P\0' | xargs -0 -r -n 1 printf '%s\n' |
            od -An -v -tx1 | tr -d ' \n')
        wanted=$(printf '%s' "$files" | tr '\t' '\n' | sed 's/$/0a/' | tr -d '\n')
        [ "$(tr -d '\n' <<<"$left" | wc -c)" -eq "$(printf '%s' "$wanted" | wc -c)" ] ||
            die "$name: other files are left: $left, expected $wanted"
        for hex in $(printf '%s' "$files" | tr '\t' ' '); do
            [ -f "play/in/target/$(printf "$(sed 's/../\\x&/g' <<<"$hex")")" ] || die "$name: lacks $hex"
        done
        [ -z "$(find play -perm /7000 -print -quit)" ] || die "$name: a set-id bit"
        ! find play/in/target ! -type f ! -type d ! -type l | grep . || die "$name: a device"
        chmod -R u+rwX play
        rm -rf play
        # and listing says nothing worse
        status=0
        bpk tar -t tars/$name.tar >"$out" 2>&1 || status=$?
        [ "$status" -le 2 ] || die "$name: listing ends with $status"
        ! grep -q $'\e' "$out" || die "$name: an escape sequence is shown"
    done <rows
}

@test "a tar cut anywhere is found out, and whole files in front of the cut stay" {
    two_archives
    head -c 1500 b.blp >c.blp
    bpk tar -o t.tar c.blp a.blp
    first=2048 # header and content of c.blp, with the header that holds its time
    [ "$(bpk tar -tv t.tar | wc -l)" -eq 2 ]
    whole=$(($(stat -c %s t.tar) / 512 * 512))
    used=$(tar -tvf t.tar >/dev/null && "${python:-python3}" -c '
import sys, tarfile
t = tarfile.open("t.tar")
m = t.getmembers()
print(m[0].offset_data + 1536, m[1].offset_data + (m[1].size + 511) // 512 * 512)' 2>/dev/null) || skip "python3 is not installed"
    read -r first last <<<"$used"
    for ((size = 512; size < last + 512; size += 512)); do
        head -c $size t.tar >cut.tar
        rm -rf out
        mkdir out
        status=0
        bpk tar -x -C out cut.tar 2>"$err" || status=$?
        [ "$status" -eq 2 ] || die "cut at $size: status $status" "$(cat "$err")"
        if [ $size -ge "$last" ]; then left=$'a.blp\nc.blp'
        elif [ $size -ge "$first" ]; then left=c.blp
        else left=; fi
        [ "$(ls -A out)" = "$left" ] || die "cut at $size leaves $(ls -A out)"
        for file in $left; do same $file out/$file; done
    done
}

@test "what follows the end of a tar is not passed over: a header of zeros, a second tar, zeros without end" {
    data noise 3000 a
    data text 3000 b
    bpk pack a
    bpk pack b
    bpk tar -o t.tar a.blp b.blp
    blocks=$(($(stat -c %s t.tar) / 512))
    lost=0
    for ((i = 0; i < blocks; i++)); do
        cp t.tar y.tar
        dd if=/dev/zero of=y.tar bs=512 seek=$i count=1 conv=notrunc status=none
        rm -rf out
        mkdir out
        status=0
        bpk tar -x -C out y.tar 2>"$err" || status=$?
        listed=0
        bpk tar -t y.tar >"$out" 2>/dev/null || listed=$?
        [ "$listed" -eq "$status" ] || die "block $i: status $status, listing $listed"
        [ "$(sort "$out")" = "$(ls out)" ] || die "block $i: extracts others than it lists"
        if [ "$status" -eq 0 ]; then
            [ "$(ls out)" = $'a.blp\nb.blp' ] || die "block $i: loses a member"
            continue
        fi
        [ "$status" -eq 2 ] || die "block $i: status $status"
        grep -qE "ends at byte $((512 * (i + 1))), but byte [0-9]+ is not zero|begins with 512 zeros" "$err" || continue
        lost=$((lost + 1))
        # members in front are read in place; a missing member may be lost
        [ -e out/a.blp ] || continue
        bpk cat y.tar:a.blp | cmp - a
        refuses 2 '^bpk: y.tar:b.blp: tar ends' bpk cat y.tar:b.blp
    done
    [ "$lost" -ge 2 ]
    # the end is two blocks of zeros
    used=$blocks
    while [ "$used" -gt 0 ] && tail -c +$((512 * used - 511)) t.tar | head -c 512 | cmp -s - <(head -c 512 /dev/zero); do
        used=$((used - 1))
    done
    for more in 512 700 1023; do
        head -c $((512 * used + more)) t.tar >cut.tar
        refuses 2 "ends at byte $((512 * used)) without the marker" bpk tar -t cut.tar
    done
    for more in 1024 1025 100000; do
        { head -c $((512 * used)) t.tar && head -c $more /dev/zero; } >long.tar
        quietly bpk tar -t long.tar
        quietly bpk tar -t <long.tar
    done
    if truncate -s 1T long.tar; then quietly timeout 10 "$BPK" tar -t long.tar; fi
    rm -f long.tar
    # two tars, also from a pipe
    bpk tar -o 1.tar a.blp
    bpk tar -o 2.tar b.blp
    cat 1.tar 2.tar >both.tar
    refuses 2 "but byte $(stat -c %s 1.tar) is not zero" bpk tar -t both.tar
    cat both.tar | refuses 2 "but byte $(stat -c %s 1.tar) is not zero" bpk tar -t
    refuses 2 "but byte $(stat -c %s 1.tar) is not zero" bpk info both.tar:b.blp
    refuses 1 'the tar t.tar has no member c.blp$' bpk info t.tar:c.blp
    # zeros without end, and a file of nothing but zeros
    refuses 1 'is not a tar' timeout 20 "$BPK" tar -t /dev/zero
    cat /dev/zero | refuses 1 'is not a tar' timeout 20 "$BPK" tar -x
    cat t.tar /dev/zero | refuses 2 'zeros follow in a pipe' timeout 20 "$BPK" tar -t
    if truncate -s 1T zeros; then
        status=0
        timeout 10 "$BPK" tar -t zeros 2>"$err" || status=$?
        rm -f zeros
        [ "$status" -eq 1 ]
        says 'is not a tar'
    fi
}

@test "tars as other programs end them are whole" {
    need tar
    two_archives
    for blocks in 1 2 20 64; do
        tar -b $blocks -cf x.tar a.blp b.blp
        quietly bpk tar -t x.tar
    done
    tar -cf 2.tar b.blp
    tar -cf x.tar a.blp
    tar -Af x.tar 2.tar
    tar -rf x.tar a
    quietly bpk tar -t x.tar
    [ "$(cat "$out")" = $'a.blp\nb.blp\na' ]
    tar --format=pax --pax-option=globexthdr.name=g,comment=all -cf g.tar -T /dev/null
    quietly bpk tar -t g.tar
    tar -cf none.tar -T /dev/null
    quietly bpk tar -t none.tar
    if command -v bsdtar >/dev/null; then
        bsdtar -cf x.tar a.blp b.blp
        quietly bpk tar -t x.tar
    fi
}

@test "members are read where they lie: cat, info, verify, unpack of TAR:NAME" {
    need tar
    two_archives
    mkdir d
    cp b.blp d/c.blp
    ln a.blp d/h.blp
    for format in gnu posix ustar oldgnu v7; do
        tar --format=$format -cf $format.tar a.blp d
        tar --format=$format -rf $format.tar b.blp
        bpk cat $format.tar:a.blp | cmp - a
        bpk cat $format.tar:d/h.blp | cmp - a
        bpk cat $format.tar:./d//c.blp --bytes 70000:70010 | cmp - <(tail -c +70001 b | head -c 10)
        quietly bpk verify $format.tar:b.blp
    done
    bpk info gnu.tar:b.blp | grep -qF gnu.tar:b.blp
    quietly bpk unpack -o x gnu.tar:b.blp
    same x b
    bpk unpack -c gnu.tar:b.blp | cmp - b
    refuses 4 'is a member of a tar' bpk unpack gnu.tar:b.blp
    refuses 1 '^bpk: gnu.tar:none: ' bpk cat gnu.tar:none
    refuses 1 '^bpk: a.blp:none: ' bpk cat a.blp:none
    # a file of that very name comes first; and names may hold colons themselves
    cp a.blp gnu.tar:b.blp
    bpk cat gnu.tar:b.blp | cmp - a
    rm gnu.tar:b.blp
    cp gnu.tar a:b.tar
    cp a.blp x:y.blp
    tar -rf a:b.tar --force-local x:y.blp
    bpk cat a:b.tar:x:y.blp | cmp - a
}

@test "of a member that comes twice the last one is read; what is cut or sparse is refused" {
    need tar
    two_archives
    cp b.blp x
    tar -cf t.tar x
    cp a.blp x
    tar -rf t.tar x
    bpk cat t.tar:x | cmp - a
    head -c $(($(stat -c %s t.tar) / 1024 * 512)) t.tar >cut.tar
    refuses 2 '^bpk: cut.tar:x: tar is broken' bpk cat cut.tar:x
    printf x | dd of=t.tar bs=1 seek=$(($(stat -c %s b.blp) - 500)) conv=notrunc status=none
    quietly bpk verify t.tar:x
    truncate -s 4M sparse
    dd if=a.blp of=sparse conv=notrunc bs=1000 seek=1000 status=none
    for version in 0.0 0.1 1.0; do
        tar --format=posix --sparse-version=$version -Scf s.tar sparse a.blp
        refuses 1 'as a sparse file' bpk cat s.tar:sparse
        bpk cat s.tar:a.blp | cmp - a
        rm -rf out
        mkdir out
        quietly bpk tar -x -C out s.tar
        same sparse out/sparse
        [ "$(stat -c %b out/sparse)" -lt 4000 ]
    done
}

@test "a dataset that is a directory is stored file by file, and read where it lies" {
    need tar
    data field-f32 300000 b
    bpk pack -F chunked -z 64K b
    : >b.blpd/.lock
    echo draft >b.blpd/.x.bpk-000000
    quietly bpk tar -o t.tar b.blpd/
    [ "$(tar -tf t.tar)" = $'b.blpd/\nb.blpd/data/\nb.blpd/data/__1__.bin\nb.blpd/meta/\nb.blpd/meta/attributes\nb.blpd/meta/sizes\nb.blpd/meta/storage' ]
    bpk cat t.tar:b.blpd | cmp - b
    bpk cat --bytes 70000:70010 t.tar:b.blpd | cmp - <(tail -c +70001 b | head -c 10)
    quietly bpk verify t.tar:b.blpd
    quietly bpk unpack -o x t.tar:b.blpd
    same x b
    bpk tar --raw b.blpd | tar -xOf - b | cmp - b
    mkdir out
    quietly bpk tar -x -C out t.tar
    bpk cat out/b.blpd | cmp - b
    # a tar of it by GNU tar is read as well
    tar -cf theirs.tar ./b.blpd
    bpk cat theirs.tar:b.blpd | cmp - b
    # a link in it is not part of a dataset
    ln -s meta b.blpd/data/l
    refuses 1 '^bpk: b.blpd/data/l: ' bpk tar -o u.tar b.blpd
    rm b.blpd/data/l
    refuses 64 'would both' bpk tar -o u.tar b.blpd b.blpd/data/__1__.bin
}

@test "verify of a cut tar reads the members before the damage; a member alone is refused, with the way to it" {
    need tar
    data noise 100000 A
    bpk pack -q -z 16K -o one.blp A
    cp one.blp two.blp
    printf 'hurt' | dd of=one.blp bs=1 seek=40000 conv=notrunc status=none
    tar -cf t.tar one.blp two.blp
    truncate -s -60000 t.tar
    ends 2 bpk verify t.tar
    says '^bpk: t.tar:one.blp: chunk 2'
    says '^bpk: t.tar: tar is broken in or behind the member at byte'
    for command in verify repair unpack; do
        ends 2 bpk $command t.tar:one.blp
        says '^bpk: t.tar:one.blp: tar is broken .*; bpk tar -x -f TAR extracts the members before that$'
    done
}
