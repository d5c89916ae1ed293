load lib

# Files of several kinds and sizes in a tree, d by default.
make_tree() { # [FOLDER]
    local d=${1:-d} i
    mkdir -p "$d/a/b/c" "$d/z"
    for i in 1 2 3 4 5 6; do
        data field-f32 $((i * 3000 + 1)) "$d/a/f$i"
        data text $((i * 1700)) "$d/a/b/t$i.txt"
    done
    data mesh-i32 2500000 "$d/z/large"
    : >"$d/z/empty"
    printf x >"$d/a/b/c/one"
}

# The names of the raw files below a folder, and their sums.
raw_files() { (cd "$1" && find . -type f ! -name '*.blp' ! -name '*.b2frame' -exec cksum {} + | sort); }

@test "pack -r and unpack -r: a tree and its copy elsewhere" {
    make_tree
    raw_files d >was
    quietly bpk pack -r d
    [ ! -s "$out" ]
    [ "$(find d -name '*.blp' | wc -l)" -eq 15 ]
    mkdir o p
    quietly bpk unpack -r -O o d
    raw_files o | diff was -
    quietly bpk pack -r -T 8 -O p/ o/
    (cd d && find . -name '*.blp' -exec cksum {} + | sort) >one
    (cd p && find . -name '*.blp' -exec cksum {} + | sort) | diff one -
    quietly bpk unpack --rm -r -T 1 p
    raw_files p | diff was -
    [ -z "$(find p -name '*.blp')" ]
    cd d && quietly bpk verify -r . && quietly bpk unpack -f -r .
    cd .. && raw_files d | diff was -
}

@test "pack -r: links, drafts, journals and archives are passed over" {
    make_tree
    data text 4000 outside
    bpk pack -o d/archive outside
    bpk pack -F chunked -o d/set outside
    bpk pack -F b2sparse -o d/sp.b2s outside
    ln -s ../outside d/link
    ln -s .. d/a/up
    cp outside d/.f.bpk-000001
    mkfifo d/fifo
    bpk pack -rv -F b2frame d 2>"$err"
    [ "$(find d -name '*.b2frame' ! -path '*/sp.b2s/*' | wc -l)" -eq 15 ]
    says '^bpk: d/archive: is an archive, skipped$'
    says '^bpk: 15 files packed, .* ratio [0-9.]+, 1 skipped$'
    [ ! -e outside.b2frame ] && [ ! -e d/set.b2frame ] && [ ! -e d/set/data/__0__.blp.b2frame ]
    rm d/.f.bpk-000001
    snapshot >../before
    quietly bpk pack -rf --update -F b2frame d
    snapshot | diff ../before -
}

@test "pack -r: names that would change the terminal are escaped, and kept" {
    mkdir -p $'d/new\nline'
    data text 3000 $'d/new\nline/\e[31mred'
    bpk pack -rv d >"$out" 2>"$err"
    says '^bpk: d/new\\x0aline/\\x1b\[31mred: 3000 bytes raw'
    LC_ALL=C grep -q $'\e' "$err" && return 1
    bpk verify -rv d >"$out"
    grep -q '^d/new\\x0aline/\\x1b\[31mred.blp: ok' "$out"
    rm $'d/new\nline/\e[31mred'
    quietly bpk unpack -r d
    [ "$(wc -c <$'d/new\nline/\e[31mred')" -eq 3000 ]
}

@test "pack -r: --include and --exclude" {
    make_tree
    mkdir o
    while IFS='|' read -r count options; do
        rm -r o && mkdir o
        eval "quietly bpk pack --no-sync -r -O o $options d"
        [ "$(find o -type f | wc -l)" -eq "$count" ] || die "$options" "$(find o -type f)"
    done <<'END'
6|--include '*.txt'
9|--exclude '*.txt'
2|--include '*.txt' --exclude 't[1-4].txt'
7|--include '*.txt' --include large
2|--exclude 'a/*' --exclude b
2|--exclude b --exclude '/a/f*' --include '*'
2|--exclude a
8|--exclude /a/b
8|--exclude a/b
15|--exclude b/t1.txt
14|--exclude 'a/*/t1.txt'
15|--exclude 'a/*1.txt'
0|--include nothing
END
    refuses 64 'need --recursive' bpk pack --include '*' d/a/f1
}

@test "pack -r: one that cannot be done does not stop the others" {
    need_user
    make_tree
    chmod 0 d/a/f3 d/z
    ends 1 bpk pack -r d
    chmod 755 d/z
    says '^bpk: d/a/f3: cannot open: Permission denied$'
    says '^bpk: d/z: cannot be? ?read.*: Permission denied$'
    [ "$(find d -name '*.blp' | wc -l)" -eq 12 ]
}

@test "pack -r: an output directory's links are no way out, and its folders are as private as the tree's" {
    make_tree
    mkdir -p o elsewhere
    ln -s ../elsewhere o/z
    chmod 700 d/a/b
    ends 1 bpk pack -r -O o d
    says '^bpk: o/z/large.blp: folder z cannot be made: '
    [ -z "$(ls elsewhere)" ]
    [ "$(stat -c %a o/a/b o/a)" = $'700\n755' ]
    chmod 750 d
    bpk pack -r -O new d
    [ "$(stat -c %a new)" = 750 ]
    ends 1 bpk pack -r -O nowhere/new d
    says '^bpk: nowhere/new/a/b/c/one.blp: folder nowhere/new cannot be opened: '
    [ "$(find o -name '*.blp' | wc -l)" -eq 13 ]
}

@test "options of a tree that contradict each other" {
    make_tree
    refuses 64 'needs a DIR' bpk pack -r
    refuses 64 'needs a DIR' bpk verify -r
    refuses 64 'many files; use --output-dir' bpk pack -r -o x d
    refuses 64 'many files; use --output-dir' bpk unpack -r -c d
    refuses 64 'many files; use --output-dir' bpk pack --files0-from list -c
    refuses 64 'takes the place of all operands' bpk pack --files0-from list d
    refuses 64 'needs a result in a file' bpk pack --update -c d/a/f1
    refuses 64 'no modification time' bpk pack --update -o x -
    refuses 64 'standard input has no shares' bpk pack --shard 1/2
    refuses 64 'one FILE' bpk unpack -r --name x d
    for share in 0/2 3/2 1 1/ /2 1/0 -1/2 1/2x; do
        refuses 64 'shar' bpk pack --shard="$share" d/a/f1
    done
    refuses 1 '^bpk: d: is a directory, expected a file; -r walks it$' bpk pack d
    refuses 1 '^bpk: none: ' bpk pack -r none
}

@test "--files0-from: names from a file or a pipe" {
    make_tree
    find d -name 'f*' -print0 >list
    quietly bpk pack --files0-from list
    [ "$(find d -name '*.blp' | wc -l)" -eq 6 ]
    find d -name '*.blp' -print0 | bpk verify -v --files0-from - >"$out"
    [ "$(grep -c ': ok' "$out")" -eq 6 ]
    [ "$(tail -n 1 "$out" | sed 's/, [0-9.]* KiB,/, N,/')" = "6 archives, N, 0 damaged, 0 skipped" ]
    printf 'd\0' | bpk pack -r --update --files0-from -
    [ "$(find d -name '*.blp' | wc -l)" -eq 15 ]
    rm d/a/*.blp
    printf 'd/a/f1\0none\0d/a/f2' >list
    ends 1 bpk pack --files0-from list
    says '^bpk: none: cannot open: No such file'
    [ -e d/a/f1.blp ] && [ -e d/a/f2.blp ]
    rm d/a/*.blp
    printf 'd/a/f1\0\0' | refuses 1 '^bpk: standard input: has an empty name at byte 7$' bpk pack --files0-from -
    printf 'd/a/f1\0-\0' | refuses 1 'names standard input' bpk pack --files0-from -
    : | quietly bpk pack --files0-from -
    printf 'd/a/f1\0' | quietly bpk pack -F chunked --files0-from -
    [ -d d/a/f1.blpd ]
    printf 'd/a/f2\0' | refuses 64 'both data and metadata' bpk pack --metadata - --files0-from -
}

@test "--update: what is there and not older is skipped" {
    make_tree
    quietly bpk pack -r d
    snapshot >../before
    quietly bpk pack -r --update d
    snapshot | diff ../before -
    data field-f64 9000 d/a/f2
    touch -d '2 hours' d/a/f2
    bpk pack -rv --update d 2>"$err"
    says '^bpk: 1 file packed, .*, 14 skipped$'
    bpk cat d/a/f2.blp | same d/a/f2 -
    # a source that got older, as a copy from a backup does, is not packed
    touch -d 2001-01-01 d/a/f3
    snapshot >../before
    quietly bpk pack -r --update d
    snapshot | diff ../before -
    # what is there is no archive
    echo text >d/a/f4.blp
    refuses 1 '^bpk: d/a/f4.blp: already exists' bpk pack --update d/a/f4
    # the same in the other direction
    mkdir o
    bpk unpack -r -O o d 2>/dev/null || true
    rm o/a/f1
    touch -d 2001-01-01 o/a/f5
    bpk unpack -rv --update -O o --exclude f4.blp d 2>"$err"
    says '^bpk: 2 files unpacked, .*, 12 skipped$'
    same d/a/f1 o/a/f1
    # older by less than a second
    touch -d '2001-01-01 00:00:00.5' d/a/f1
    touch -d '2001-01-01 00:00:00' d/a/f1.blp
    bpk pack -v --update d/a/f1 2>"$err"
    says 'd/a/f1: [0-9]* bytes raw'
    bpk pack -v --update d/a/f1 2>"$err"
    says 'd/a/f1: its archive is up to date, skipped'
    # a dataset is as old as its newest file
    bpk pack -F chunked -o s.blpd d/a/f1
    bpk unpack s.blpd
    quietly bpk unpack --update s.blpd
    data text 5000 more
    bpk append s.blpd more
    quietly bpk unpack --update s.blpd
    [ "$(wc -c <s)" -eq $(($(wc -c <d/a/f1) + 5000)) ]
}

# OPTION...: pack -r, killed at many calls and run again with --update.
killed_and_again() {
    local calls n ino
    need_nth
    mkdir d
    for n in 1 2 3 4 5 6 7; do data field-f32 $((n * 997)) d/f$n; done
    mkdir d/sub && mv d/f[56] d/sub
    raw_files d >was
    cp -a d whole
    "$nth" -o calls "$BPK" pack -r "$@" d
    calls=$(wc -l <calls)
    [ "$calls" -gt 40 ]
    for ((n = 1; n <= calls; n++)); do
        sampled 11 || continue
        for action in kill after half; do
            rm -rf d && cp -a whole d
            "$nth" -n $n -a $action "$BPK" pack -r "$@" d 2>/dev/null || true
            # whole archives alone have a name, and no source is lost
            bpk verify -r d 2>"$err" || grep -q 'no archive was found' "$err" || die "call $n: $(cat "$err")"
            for f in f1 f2 f3 f4 sub/f5 sub/f6 f7; do
                [ -e d/$f ] || [ -e d/$f.blp ] || die "call $n: d/$f is lost"
            done
            find d -name '*.blp' -printf '%p %i %C@\n' | sort >there
            quietly bpk pack -r "$@" --update d
            find d -name '*.blp' -printf '%p %i %C@\n' | sort >now
            [ -z "$(comm -23 there now)" ] || die "call $n: packed again" "$(diff there now)"
            [ "$(wc -l <now)" -eq 7 ] || die "call $n: $(cat now)"
            [ -z "$(find d -name '.*')" ] || die "call $n: $(find d -name '.*')"
            quietly bpk unpack -rf d
            raw_files d | diff was - || die "call $n"
        done
    done
}

@test "pack -r killed anywhere and run again: nothing is lost, nothing is packed twice" {
    killed_and_again -T 1
}

@test "pack -r --rm killed anywhere and run again: no source without an archive" {
    killed_and_again -T 1 --rm
}

# COMMAND N: the files of all shares, one line each; each share is also the same under another locale.
shares() {
    local i
    for ((i = 1; i <= $2; i++)); do
        "${@:3}" --shard "$i/$2" -v >"$out" 2>&1 || return
        sed -n 's/^\(bpk: \)\{0,1\}\([^:]*\): \(ok\|[0-9]* bytes raw\).*/\2/p' "$out" | sort >"share$i"
    done
    cat share*
}

@test "--shard: each file is in one share, and shares are even" {
    make_tree
    for i in {1..40}; do data text $((i * 20000)) d/z/s$i; done
    mkdir o
    for n in 1 2 3 7 60; do
        rm -rf o share* && mkdir o
        shares pack $n bpk pack --no-sync -O o -r d | sort >all
        find d -type f | sort | diff - all || die "$n shares"
        diff <(find o -type f | sed 's|^o|d|; s/\.blp$//' | sort) all
        for ((i = 1; i <= n; i++)); do
            xargs -r cat <share$i | wc -c
        done | sort -n >sizes
        [ $n -gt 3 ] || [ $(($(tail -n 1 sizes) * 10)) -le $(($(head -n 1 sizes) * 13)) ] || die "$n shares:" "$(cat sizes)"
    done
    # the order of a folder's entries, and the operands' order, do not matter
    rm share*
    shares verify 3 bpk verify -r o | sort >all
    find o -type f | sort | diff - all
    cp share1 was
    cp -r o p && rm -r o && mkdir o
    (cd p && find . -type f | sort -R | tar cf - -T -) | tar xf - -C o
    bpk verify -rv --shard 1/3 o | sed -n 's/: ok.*//p' | diff was -
    find o -type f | sort -R | tr '\n' '\0' | bpk verify -v --shard 1/3 --files0-from - | sed -n 's/: ok.*//p' | diff was -
    # a file that is named twice is in one share
    mkdir q
    n=0
    for i in 1 2; do bpk pack -v -O q --shard $i/2 d/a/f1 d/a/f1 d/a/f2 2>"$err"; done
    [ "$(find q -type f | wc -l)" -eq 2 ]
}

@test "--shard --rm: shares that run in turn leave no file unpacked" {
    make_tree
    for i in {1..30}; do data text $((i * 1000)) d/z/s$i; done
    raw_files d >was
    for i in 3 1 4 2; do quietly bpk pack -r --rm --shard $i/4 d; done
    [ -z "$(raw_files d)" ]
    [ "$(find d -name '*.blp' | wc -l)" -eq 45 ]
    # and at the same time
    for i in 1 2 3; do bpk unpack -r --rm --shard $i/3 d & done
    wait
    raw_files d | diff was -
    [ -z "$(find d -name '*.blp')" ]
    for i in 1 2 3; do bpk pack -r --rm --shard $i/3 d & done
    wait
    [ -z "$(raw_files d)" ]
    quietly bpk verify -r --at-least 45 d
}

@test "verify -r: no archive is a failure, and --at-least counts" {
    make_tree
    refuses 1 '^bpk: d: no archive was found in it$' bpk verify -r d
    mkdir e
    refuses 1 '^bpk: e: no archive was found in it$' bpk verify -r e
    bpk pack -r -O e d
    refuses 1 '^bpk: d: no archive was found in it$' bpk verify -r e d
    quietly bpk verify -r --at-least 15 e
    refuses 1 '^bpk: 15 archives were found, --at-least asks for 16$' bpk verify -r --at-least 16 e
    refuses 1 '^bpk: 1 archive was found, --at-least asks for 2$' bpk verify --at-least 2 e/a/f1.blp
    cp d/a/f1 e
    head -c 400 e/a/f1.blp >e/cut.blp
    ends 2 bpk verify -rv e
    grep -qE '^16 archives, [0-9.]+ (K|M)iB, 1 damaged, 1 skipped$' "$out"
    # with shares, of all of them
    mkdir f
    refuses 1 'no archive was found in it' bpk verify -r --shard 1/2 f
    cp e/a/f1.blp f
    bpk verify -r --shard 1/2 f && bpk verify -r --shard 2/2 f
}

@test "verify --at-least counts archives of which hardly anything is left" {
    mkdir d
    data records 5000 d/a
    bpk pack -q --rm d/a
    for size in 0 1 10 1000; do
        head -c "$size" d/a.blp >d/$size.blp
    done
    head -c 3000 /dev/zero >d/zeros.blp
    rm d/a.blp
    ends 2 bpk verify -q -r --at-least 5 d
    ends 2 bpk verify -q -r --at-least 6 d
    says '^bpk: 5 archives were found, --at-least asks for 6$'
    ends 1 bpk verify -q --at-least 1 d/none.blp
    says '^bpk: 0 archives were found'
}

@test "verify -r: raw data that look like the head of a tar are passed over" {
    make_tree
    bpk pack -r -O e d
    # zeros, and bytes whose signed sum is 0, where the checksum's field has no digit
    truncate -s 3000 e/zeros
    { head -c 700 /dev/zero && cat d/a/f1; } >e/head
    { printf '\377%.0s' {1..256} && head -c 1000 /dev/zero; } | head -c 1000 >e/sum
    quietly bpk verify -r --at-least 15 e
    refuses 1 '^bpk: e/head: is not an archive in a format that bpk knows$' bpk verify e/head
    # the name makes zeros a tar
    cp e/head e/head.tar
    refuses 2 '^bpk: e/head.tar: begins with 700 zeros, expected the header of a tar$' bpk verify -r e
}

@test "unpack -r: no archive is a failure" {
    mkdir d
    refuses 1 '^bpk: d: no archive was found in it$' bpk unpack -r d
    data text 100 d/f
    refuses 1 '^bpk: d: no archive was found in it$' bpk unpack -r -O e d
    quietly bpk pack -r -O e d
    [ "$(ls e)" = f.blp ]
    quietly bpk unpack -r -O g e
    same d/f g/f
}

@test "verify: a tar is verified member by member" {
    make_tree
    bpk pack -r -F b2frame d
    bpk pack -F chunked -o d/set.blpd d/z/large
    bpk pack -F b2sparse -o d/sp d/z/large
    tar cf t.tar d
    bpk verify -rv d | sed -n 's/: ok.*//p' | sort >local
    bpk verify -v t.tar | sed -n 's/^t.tar:\(.*\): ok.*/\1/p' | sort >in
    diff local in
    [ "$(wc -l <in)" -eq 17 ]
    mkdir e && mv t.tar e
    bpk verify -rv e >"$out"
    [ "$(tail -n 1 "$out" | sed 's/, [0-9.]* .iB,/, N,/')" = "17 archives, N, 0 damaged, 15 skipped" ]
    # a damaged member, and a damaged dataset
    printf '\125\125\125' | dd of=d/a/f1.b2frame bs=1 seek=700 conv=notrunc status=none
    file=$(find d/set.blpd/data -type f -size +8k | sort | head -n 1)
    printf '\125\125\125' | dd of="$file" bs=1 seek=3000 conv=notrunc status=none
    tar cf e/t.tar d
    ends 2 bpk verify -r e
    [ "$(wc -l <"$err")" -eq 2 ]
    says '^bpk: e/t.tar:d/a/f1.b2frame: '
    says '^bpk: e/t.tar:d/set.blpd: '
    # a tar that ends early
    head -c 100000 e/t.tar >e/cut.tar
    rm e/t.tar
    ends 2 bpk verify -r e
    says '^bpk: e/cut.tar'
    # a tar without archives
    tar cf n.tar --exclude '*.b2frame' --exclude 's*' d
    refuses 1 '^bpk: n.tar: no archive was found in it$' bpk verify n.tar
}

@test "verify -r --shard of a store" {
    need_urls
    make_tree
    mkdir -p s/b
    bpk pack --no-sync -r -O s/b d
    serve s
    export AWS_ACCESS_KEY_ID=id AWS_SECRET_ACCESS_KEY=secret BPK_ENDPOINT=$url AWS_REGION=us-east-1
    for i in 1 2; do bpk verify -rv --shard $i/2 s3://b/ >"$out" && sed -n 's/: ok.*//p' "$out"; done | sort >all
    (cd s && find b -type f | sed 's|^|s3://|' | sort) | diff - all
}
