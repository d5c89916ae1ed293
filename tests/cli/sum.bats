load lib

# The root of the tree over standard input, by a program that shares no line with bpk.
tree_of() {
    "$python" -c '
import hashlib, sys
LEAF = 1 << 20
def digest(data): return hashlib.sha256(data).digest()
def root(leaves):
    if not leaves: return digest(b"")
    if len(leaves) == 1: return digest(b"\0" + leaves[0])
    left = 1
    while 2 * left < len(leaves): left *= 2
    return digest(b"\1" + root(leaves[:left]) + root(leaves[left:]))
data = sys.stdin.buffer.read()
print(root([data[at:at + LEAF] for at in range(0, len(data), LEAF)]).hex())'
}

digest_of() { sha256sum <"$1" | cut -c 1-64; }

# Archives of the file a in every format and some shapes; $archives are their names.
make_archives_of_a() {
    bpk pack -o a.blp a
    bpk pack -z 100000 -o z.blp a
    bpk pack --no-offsets -o walked.blp a
    bpk pack --checksum none -z 64K -o none.blp a
    bpk pack --checksum sha256 -z 1000 -o small.blp a
    bpk pack -z 3M -o a.b2frame a
    bpk pack -o a.b2s a
    bpk pack -F chunked -o a.blpd a
    bpk pack -F chunked -t 4 -o t.blpd a
    bpk pack --dtype '<f4' --shape 1000,775 -o a.b2nd a
    bpk pack --dtype '<f4' --shape 1000,775 --chunk-shape 300,100 -o c.b2nd a
    cp z.blp x && mv x unnamed
    tar cf a.tar a a.blp a.blpd
    archives=(a.blp z.blp walked.blp none.blp small.blp a.b2frame a.b2s a.blpd t.blpd a.b2nd c.b2nd unnamed
        a.tar:a a.tar:a.blp a.tar:a.blpd)
}

@test "sum: the digest of the content in every container is sha256sum's" {
    data field-f32 3100000 a
    make_archives_of_a
    digest=$(digest_of a)
    for threads in 1 2 7; do
        quietly bpk sum -T $threads a "${archives[@]}"
        same "$out" <(printf "$digest  %s\n" a "${archives[@]}")
    done
    for file in a a.blp walked.blp a.b2frame; do
        quietly bpk sum <$file
        same "$out" <(echo "$digest  -")
        cat $file | quietly bpk sum - a
        same "$out" <(printf "$digest  %s\n" - a)
    done
    cat a | bpk pack -q | bpk sum | grep -qx "$digest  -"
    # archives that follow each other are one content
    cat z.blp a.blp >both.blp
    bpk sum both.blp | grep -qx "$(cat a a | sha256sum | cut -c 1-64)  both.blp"
    cat a.tar | sha256sum | cut -c 1-64 >expected
    bpk sum a.tar | cut -c 1-64 | cmp - expected
}

@test "sum --tree: the root is RFC 6962's in every container" {
    need_python
    data field-f32 3100000 a
    make_archives_of_a
    root=$(tree_of <a)
    for threads in 1 2 7; do
        quietly bpk sum --tree -T $threads a "${archives[@]}"
        same "$out" <(printf "SHA256-TREE (%s) = $root\n" a "${archives[@]}")
    done
    for file in a a.blp walked.blp a.b2frame; do
        quietly bpk sum --tree <$file
        same "$out" <(echo "SHA256-TREE (-) = $root")
        cat $file | quietly bpk sum -T 4 --tree
        same "$out" <(echo "SHA256-TREE (-) = $root")
    done
    cat a | bpk pack -q | bpk sum -T 3 --tree | grep -qxF "SHA256-TREE (-) = $root"
    cat z.blp a.blp >both.blp
    root=$(cat a a | tree_of)
    for threads in 1 4; do
        bpk sum --tree -T $threads both.blp | grep -qxF "SHA256-TREE (both.blp) = $root"
        cat both.blp | bpk sum --tree -T $threads | grep -qxF "SHA256-TREE (-) = $root"
    done
}

@test "sum --tree: any size, chunks of any size, any number of threads" {
    need_python
    data noise 9500000 all
    for size in 0 1 1048575 1048576 1048577 2097152 3145728 5242883 9500000; do
        head -c $size all >a
        root=$(tree_of <a)
        quietly bpk sum --tree a
        same "$out" <(echo "SHA256-TREE (a) = $root")
        for chunk in 12345 262144 786432 1048576 1500000 9M; do
            for format in blp b2frame; do
                sampled 3 || continue
                bpk pack -f -q -F $format -z $chunk -t 1 -o x a
                for threads in 1 2 5; do
                    quietly bpk sum --tree -T $threads x
                    same "$out" <(echo "SHA256-TREE (x) = $root")
                done
            done
        done
    done
    # runs of zeros are one parcel, and limits on memory leave fewer threads
    truncate -s 20000000 a
    root=$(tree_of <a)
    bpk pack -f -q -z 300000 -o x.b2frame a
    bpk sum --tree -T 4 x.b2frame | grep -qxF "SHA256-TREE (x.b2frame) = $root"
    bpk sum --tree -T 8 --memory-limit 20M x.b2frame | grep -qxF "SHA256-TREE (x.b2frame) = $root"
}

@test "sum: lines are those of sha256sum, whatever the name, and either program checks them" {
    names=(plain ' two  blanks ' $'new\nline' $'carriage\rreturn' 'back\slash' $'tab\there' '*star' 'a) = b' '#x' $'esc\eape' 'n\n')
    for name in "${names[@]}"; do printf '%s' "$name" >"$name"; done
    quietly bpk sum -- "${names[@]}"
    same "$out" <(sha256sum -- "${names[@]}")
    cp "$out" ../list
    sha256sum --quiet -c ../list
    quietly bpk sum -c ../list
    # sha256sum prints these names as they are: a terminal would obey them
    same "$out" <(sha256sum -c ../list | sed 's/\r/\\x0d/; s/\x1b/\\x1b/; s/\t/\\x09/')
    sha256sum --tag -- "${names[@]}" >../list
    quietly bpk sum -c ../list
    quietly bpk sum --tree -- "${names[@]}"
    cp "$out" ../list
    [ "$(wc -l <../list)" -eq ${#names[@]} ]
    quietly bpk sum -q -c ../list
    [ ! -s "$out" ]
    # lines of a tree are none of sha256sum's
    if sha256sum -c ../list 2>/dev/null; then die "sha256sum takes the lines of trees"; fi
    # a name of standard input
    quietly bpk sum <plain
    same "$out" <(sha256sum <plain)
}

@test "sum: of a damaged archive a message, status 2, and no line" {
    data records 90000 a
    bpk pack -z 8K -t 4 a
    for option in "" --tree; do
        for threads in 1 4; do
            cp a.blp bad.blp
            printf x >>bad.blp
            refuses 2 '^bpk: bad.blp: ' bpk sum $option -T $threads bad.blp
            [ ! -s "$out" ]
            head -c 3000 a.blp >bad.blp
            refuses 2 '^bpk: bad.blp: ' bpk sum $option -T $threads bad.blp
            [ ! -s "$out" ]
            cat bad.blp | refuses 2 '^bpk: standard input: ' bpk sum $option -T $threads
            [ ! -s "$out" ]
            echo "not an archive" >bad.blp
            refuses 2 '^bpk: bad.blp: ' bpk sum $option bad.blp
            [ ! -s "$out" ]
            # the others are done, in order
            ends 2 bpk sum $option -T $threads a bad.blp a.blp
            same "$out" <(bpk sum $option a a.blp)
            says '^bpk: bad.blp: '
            [ "$(wc -l <"$err")" -eq 1 ]
        done
    done
    digest=$(digest_of a)
    size=$(stat -c %s a.blp)
    step=${BPK_TEST_WHOLE:+1}
    step=${step:-211}
    for ((at = ${BPK_TEST_SEED:-0} % step; at < size; at += step)); do
        cp a.blp bad.blp
        printf '\xa5' | dd of=bad.blp bs=1 seek=$at conv=notrunc status=none
        status=0
        bpk sum bad.blp >"$out" 2>"$err" || status=$?
        case $status in
        0) same "$out" <(echo "$digest  bad.blp") ;;
        1 | 2) [ ! -s "$out" ] && [ "$(wc -l <"$err")" -eq 1 ] || die "byte $at: $(cat "$out" "$err")" ;;
        *) die "byte $at: status $status" ;;
        esac
    done
}

@test "sum: what cannot be done is status 1, wrong usage 64" {
    data noise 1000 a
    mkdir d
    refuses 1 '^bpk: none: ' bpk sum none
    refuses 1 '^bpk: d: ' bpk sum d
    refuses 64 'only one of --check and --tree' bpk sum -c --tree a
    refuses 64 'need --check' bpk sum --strict a
    refuses 64 'need --check' bpk sum --ignore-missing a
    refuses 64 'can be read but once' bpk sum - a -
    refuses 64 "use 'bpk sum'" bpk sha256sum a
    ends 1 bpk sum none a
    same "$out" <(sha256sum a)
    if bpk sum a >/dev/full 2>"$err"; then die "a full device is no failure"; fi
    says 'standard output'
}

@test "sum --check: verdicts and statuses" {
    data noise 5000 a
    data noise 6000 b
    sha256sum a b >list
    quietly bpk sum -c list
    same "$out" <(printf 'a: OK\nb: OK\n')
    quietly bpk sum -c <list
    same "$out" <(printf 'a: OK\nb: OK\n')
    quietly bpk sum -q --check list list
    [ ! -s "$out" ]
    # a difference is status 5
    echo >>b
    ends 5 bpk sum -c list
    same "$out" <(printf 'a: OK\nb: FAILED\n')
    says '^bpk: list: 1 of 2 contents differs$'
    refuses 5 '' bpk sum -c list
    ends 5 bpk sum -q -c list
    same "$out" <(echo 'b: FAILED')
    [ ! -s "$err" ]
    # a missing file 1
    rm a
    ends 1 bpk sum -q -c list 2>"$err" || true
    head -n 1 list >one
    refuses 1 '^bpk: a: .*No such file' bpk sum -c one
    same "$out" <(echo 'a: FAILED open or read')
    refuses 1 '^bpk: one: no file that it names is there' bpk sum --ignore-missing -c one
    [ ! -s "$out" ]
    ends 5 bpk sum -q --ignore-missing -c list
    same "$out" <(echo 'b: FAILED')
    # damage 2, which outranks a difference
    bpk pack -q -o a.blp b && printf x >>a.blp
    ends 2 bpk sum -c list
    same "$out" <(printf 'a: FAILED open or read\nb: FAILED\n')
    says '^bpk: a.blp: '
    refuses 1 '^bpk: none: ' bpk sum -c none
    mkdir d
    refuses 1 '^bpk: d: ' bpk sum -c d
}

@test "sum --check: a list of raw files stays good when they are packed" {
    for file in a b c d e; do data field-f32 ${#file}20000 $file && echo $file >>$file; done
    sha256sum a b c d e >../list
    bpk sum --tree a b c d e >>../list
    bpk pack -q --rm a
    bpk pack -q --rm -F chunked b
    bpk pack -q --rm -F b2frame c
    bpk pack -q --rm -F b2sparse d
    quietly bpk sum -c ../list
    same "$out" <(printf '%s: OK\n' a b c d e a b c d e)
    bpk sum -v -c ../list >"$out" 2>"$err"
    says '^bpk: c: is not there; c.b2frame was read$'
    [ "$(wc -l <"$err")" -eq 8 ]
    # a file of the name is the one that counts
    echo other >a
    ends 5 bpk sum -q -c ../list
    same "$out" <(printf '%s: FAILED\n' a a)
    # what the digests of archives name are the archives
    rm a
    bpk sum *.b* >../list
    quietly bpk sum -q -c ../list
    # members of a tar are no files that are missing
    tar cf t.tar e a.blp
    bpk sum t.tar:e t.tar:a.blp >../list
    quietly bpk sum --ignore-missing -c ../list
    same "$out" <(printf '%s: OK\n' t.tar:e t.tar:a.blp)
    sed -i 's/t.tar:e/t.tar:f/' ../list
    ends 1 bpk sum --ignore-missing -c ../list
    same "$out" <(printf 't.tar:f: FAILED open or read\nt.tar:a.blp: OK\n')
}

@test "sum --check: other forms of lines, and malformed ones" {
    printf abc >a
    hex=$(digest_of a)
    { echo "# made by hand"; echo; echo "$hex *a"; echo "${hex^^}  a"; printf '%s  a\r\n' "$hex"
        echo " $hex  a"; echo "SHA256 (a) = $hex"; printf %s "$hex  a"; } >list
    quietly bpk sum --strict -c list
    same "$out" <(printf 'a: OK\n%.0s' {1..6})
    sha256sum --strict --quiet -c list
    { echo "$hex  a"; echo "$hex a"; echo "${hex}  "; echo "${hex%?}  a"; echo "${hex}0  a"; echo "${hex/?/g}  a"; echo word
        echo "MD5 (a) = $hex"; echo "SHA256 (a = $hex"; echo "SHA256 () = $hex"; echo "SHA256-TREE (a) = ${hex%?}"
        printf '%s  a\0b\n' "$hex"; echo "\\$hex  a\\x"; echo "\\$hex  a\\"; } >list
    bpk sum -c list >"$out" 2>"$err"
    same "$out" <(echo 'a: OK')
    says '^bpk: list: 13 lines are malformed'
    quietly bpk sum -q -c list
    bpk sum -v -c list >"$out" 2>"$err"
    says '^bpk: list: line 12 is malformed'
    [ "$(wc -l <"$err")" -eq 14 ]
    refuses 1 '^bpk: list: 13 lines are malformed' bpk sum --strict -c list
    same "$out" <(echo 'a: OK')
    tail -n 3 list >none
    refuses 1 '^bpk: none: has no line with a SHA-256 digest' bpk sum -c none
    : >none
    refuses 1 '^bpk: none: has no line with a SHA-256 digest' bpk sum -c none
}

@test "sum --check: hostile lists" {
    printf abc >a
    hex=$(digest_of a)
    # a program, and a line that has no end
    refuses 1 'has no line with a SHA-256 digest' bpk sum -c "$BPK"
    { head -c 30000000 /dev/zero | tr '\0' 0; echo "$hex  a"; echo "$hex  a"; } >list
    "$BPK_PEAK" "$BATS_TEST_TMPDIR/peak" "$BPK" sum -c list >"$out" 2>"$err"
    same "$out" <(echo 'a: OK')
    says '1 line is malformed'
    grep -qaE '__(asan|tsan|msan)_init' "$BPK" || [ "$(cat "$BATS_TEST_TMPDIR/peak")" -lt 20000 ]
    # names that end a terminal's peace, and names too long for any file
    long=$(printf 'x%.0s' {1..5000})
    { printf '%s  \e[2J\n' "$hex"; echo "$hex  $long"; echo "$hex  ../../../../../../etc"; } >list
    ends 1 bpk sum -c list
    [ "$(wc -l <"$out")" -eq 3 ]
    if grep -q $'\e' "$out" "$err"; then die "an escape reached the terminal"; fi
    # standard input is read once
    echo "$hex  -" >list
    quietly bpk sum -c list <a
    same "$out" <(echo '-: OK')
    echo "$hex  -" >>list
    ends 1 bpk sum -c list <a
    same "$out" <(printf -- '-: OK\n-: FAILED open or read\n')
    ends 1 bpk sum -c <list
    says 'standard input: can be read but once'
    # nothing is made or changed
    refuses 1 '' bpk sum -c - <<<"$hex  new/file"
}

@test "sum: many files beside each other give the lines and messages of one thread" {
    mkdir d
    for i in {1..60}; do
        data records $((i * 977)) d/$i
        [ $((i % 3)) -ne 0 ] || bpk pack -q --rm d/$i
        [ $((i % 7)) -ne 0 ] || bpk pack -q -f -F b2sparse -o d/$i.b2s "$BPK_MAKE_DATA"
    done
    cd d
    printf x >>9.blp
    data noise 7000000 large
    files=({1..60} *.blp *.b2s large)
    for option in "" --tree; do
        status=0
        bpk sum $option -T 1 "${files[@]}" >one 2>one.err || status=$?
        [ "$status" -eq 2 ]
        for threads in 2 5; do
            ends 2 bpk sum $option -T $threads "${files[@]}"
            same "$out" one
            same "$err" one.err
        done
        ends 2 sh -c 'ulimit -n 20 && exec "$BPK" sum "$@"' - $option -T 4 "${files[@]}"
        same "$out" one
        same "$err" one.err
    done
    # more lines than are read at a time, in their order
    sha256sum large 1 2 4 5 large >list
    for i in {1..9}; do cat list list >x && mv x list; done
    [ "$(wc -l <list)" -gt 2048 ]
    sed '/large/d' list >small
    quietly bpk sum -T 3 -c small
    same "$out" <(sha256sum -c small)
}

@test "sum: a file that changes meanwhile has no line" {
    need_nth
    data noise 3000000 a
    cp a before
    bpk pack -q -z 64K -o b.blp a
    cp b.blp kept
    digests="$(digest_of a) $(bpk sum b.blp | cut -c 1-64)"
    "$nth" -R -o calls "$BPK" sum -T 1 b.blp
    count=$(wc -l <calls)
    failed=0
    for ((point = 1; point <= count; point += 7)); do
        for file in a b.blp; do
            status=0
            NTH_RUN="[ -e changed ] || { dd if=/dev/zero of=$file bs=1 seek=20000 count=9 conv=notrunc status=none && : >changed; }" \
                "$nth" -R -n $point -a run "$BPK" sum -T 1 $file >"$out" 2>"$err" || status=$?
            case $status in
            # it was changed before it was opened, or was read before
            0) [[ $digests = *$(cut -c 1-64 "$out")* ]] || [ "$(cat "$out")" = "$(bpk sum $file)" ] || die "$file at $point: a mixture" ;;
            1 | 2) [ ! -s "$out" ] && [ "$(wc -l <"$err")" -eq 1 ] && failed=$((failed + 1)) ||
                die "$file at $point: $(cat "$out" "$err")" ;;
            *) die "$file at $point: status $status" ;;
            esac
            cp before a && cp kept b.blp && rm -f changed
        done
    done
    [ $failed -gt 2 ]
}

@test "sum: URLs" {
    need_urls
    mkdir d
    data field-f32 3000000 d/raw
    bpk pack -q -o d/x.blp d/raw
    bpk pack -q -o d/x.b2frame d/raw
    serve d
    digest=$(digest_of d/raw)
    bpk sum "$url/raw" "$url/x.blp" "$url/x.b2frame" >"$out" 2>"$err"
    same "$out" <(printf "$digest  $url/%s\n" raw x.blp x.b2frame)
    bpk sum --tree "$url/x.blp" | grep -qF "= $(bpk sum --tree d/raw | cut -d ' ' -f 4)"
    cp "$out" list
    bpk sum -c list >"$out"
    [ "$(grep -c ': OK$' "$out")" -eq 3 ]
}
