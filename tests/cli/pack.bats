load lib

@test "pack puts FILE.blp beside FILE and keeps FILE, mode and time" {
    data field-f64 300000 a
    chmod 640 a
    touch -d '2001-02-03 04:05:06.789' a
    cp -p a before
    quietly bpk pack a
    [ ! -s "$out" ]
    [ "$(ls -A)" = $'a\na.blp\nbefore' ]
    same a before
    [ "$(stat -c '%a %y' a.blp)" = "$(stat -c '%a %y' a)" ]
    quietly bpk verify a.blp
    bpk unpack -c a.blp | cmp - a
}

@test "pack takes several files, and says which one failed" {
    data text 5000 a
    data text 6000 b
    status=0
    bpk pack a none b 2>"$err" || status=$?
    [ "$status" -eq 1 ]
    [ "$(wc -l <"$err")" -eq 1 ]
    says '^bpk: none: '
    bpk cat a.blp | cmp - a
    bpk cat b.blp | cmp - b
}

@test "pack: set-id bits are not carried over" {
    data text 5000 a
    chmod 6755 a
    quietly bpk pack a
    [ "$(stat -c %a a.blp)" = 755 ]
}

# The mode of a file, after what.
has_mode() { # WANTED PATH
    [ "$(stat -c %a "$2")" = "$(printf %o "$1")" ] || die "$2: $(stat -c %a "$2"), not $(printf %o "$1"): $what"
}

@test "results have the mode of their input less the umask, new ones and those that replace others" {
    local what mode mask given
    data records 3000 a
    for mask in 0 022 027 077; do
        for mode in 400 444 600 640 644 666 755 4755; do
            what="umask $mask, input $mode"
            given=$((0$mode & 0777 & ~0$mask))
            umask 022
            rm -f ./*.*
            for name in old.blp old.raw old.b2frame; do
                echo old >$name
                chmod 666 $name
            done
            chmod $mode a
            umask $mask
            bpk pack -q a
            bpk pack -q -f -o old.blp a
            chmod $mode a.blp
            bpk unpack -q -o new.raw a.blp
            bpk unpack -q -f -o old.raw a.blp
            bpk convert -q -f a.blp old.b2frame
            for name in old.blp new.raw old.raw old.b2frame; do has_mode $given $name; done
            bpk pack -q -o pipe.blp - <a
            bpk unpack -q -f -o old.raw - <a.blp
            for name in pipe.blp old.raw; do has_mode $((0666 & ~0$mask)) $name; done
        done
    done
    umask 022
}

@test "no draft is wider than its input at any call" {
    need_nth
    data records 20000 private
    chmod 600 private
    umask 0
    bpk pack -q -z 8K private
    for what in "pack -o new.blp private" "pack -f -o a.blp private" "unpack -f -o a.blp private.blp" \
        "convert -f private.blp a.blp" "pack -F b2sparse -o new.b2s private" "pack -F chunked -o new.blpd private"; do
        for ((n = 1; ; n++)); do
            rm -rf new* a.blp .[!.]*
            echo old >a.blp
            chmod 600 a.blp
            status=0
            # shellcheck disable=SC2086 # words
            "$nth" -n $n -a after "$BPK" $what -q -T 1 >"$out" 2>&1 || status=$?
            [ -z "$(find . ! -type d -size +0 -perm /077 -print -quit)" ] ||
                die "$what, killed after call $n:" "$(ls -lAR)"
            [ $status -ne 0 ] || break
        done
        [ $n -gt 5 ] || die "$what: $n calls"
    done
    umask 022
}

@test "pack -o, -O and -c choose where the archive goes" {
    data mesh-i32 100000 a
    mkdir sub
    quietly bpk pack a
    quietly bpk pack -o x.blp a
    quietly bpk pack a --output=y.blp
    quietly bpk pack -O sub a
    bpk pack -c a >z.blp
    bpk pack --stdout a >w.blp
    for archive in x.blp y.blp sub/a.blp z.blp w.blp; do
        bpk cat $archive | cmp - a
    done
    same x.blp a.blp
    same y.blp a.blp
    same sub/a.blp a.blp
    refuses 64 "" bpk pack -o x.blp a a
    refuses 1 "none" bpk pack -O none a
}

@test "pack refuses an existing target without --force" {
    data text 5000 a
    echo old >a.blp
    refuses 1 "^bpk: a.blp: already exists; --force replaces it$" bpk pack a
    refuses 1 "^bpk: a.blp: already exists" bpk pack -o a.blp a
    quietly bpk pack -qf a
    bpk cat a.blp | cmp - a
    [ "$(ls -A)" = $'a\na.blp' ]
}

@test "pack refuses to write over its source" {
    data text 5000 a
    ln a hard
    ln -s a link
    refuses 1 "^bpk: " bpk pack -f -o a a
    refuses 1 "^bpk: " bpk pack -f -o hard a
    refuses 1 "^bpk: " bpk pack -f -o link a
    refuses 1 "^bpk: " bpk pack -f -o ./a a
    refuses 1 "^bpk: " sh -c '"$BPK" pack -c a >>a'
    refuses 1 "^bpk: " sh -c '"$BPK" pack -c a 1<>a'
}

@test "pack never writes a derived name through a link or into a device" {
    data text 5000 a
    echo precious >target
    ln -s target a.blp
    refuses 1 "^bpk: a.blp: " bpk pack a
    status=0
    bpk pack -f a 2>"$err" || status=$?
    [ "$(cat target)" = precious ]
    rm -f a.blp
    mkfifo a.blp
    refuses 1 "^bpk: a.blp: " timeout 10 "$BPK" pack a
    refuses 1 "^bpk: a.blp: " timeout 10 "$BPK" pack -f a
}

@test "pack takes no device without the name of a result" {
    refuses 1 "^bpk: /dev/zero: is a device" timeout 10 "$BPK" pack -O . /dev/zero
    head -c 1000 /dev/zero | quietly bpk pack -o z.blp /dev/stdin
    bpk pack -c /dev/null >n.blp
    [ "$(bpk cat n.blp | wc -c)" -eq 0 ]
}

@test "pack -o follows a link and writes into devices and FIFOs" {
    data text 50000 a
    echo old >target
    ln -s target link
    quietly bpk pack -qf -o link a
    [ -L link ]
    bpk cat target | cmp - a
    quietly bpk pack -f -o /dev/null a
    [ -c /dev/null ]
    mkfifo pipe
    cat pipe >copy &
    timeout 20 "$BPK" pack -o pipe a
    wait
    [ -p pipe ]
    bpk cat copy | cmp - a
}

@test "pack --rm deletes the source once the archive is whole, and only then" {
    data records 100000 a
    cp a before
    quietly bpk pack --rm a
    [ ! -e a ]
    bpk cat a.blp | cmp - before
    cp before a
    refuses 1 "already exists" bpk pack --rm a
    mkdir sub
    refuses 1 "" bpk pack --rm -o sub/none/x.blp a
    quietly bpk pack -k -f a
    same a before
    ln -s a link
    status=0
    bpk pack --rm link 2>"$err" || status=$?
    [ "$status" -eq 1 ]
    says '^bpk: link: is not removed: it is a symbolic link$'
    [ -L link ]
}

@test "pack: a second source of one name does not replace the first result" {
    local format
    for format in blp b2frame chunked b2sparse; do
        rm -rf x y o
        mkdir x y o
        data field-f64 100000 x/f
        data mesh-i32 100000 y/f
        cp y/f before
        leaves_one 1 '^bpk: o/f\.[a-z0-9]+: is the result of x/f already' \
            bpk pack --rm -f -F $format -O o x/f y/f
        [ ! -e x/f ]
        same y/f before
        data field-f64 100000 x/f
        bpk cat o/f.* | same - x/f
        rm -r o/f.*
        leaves_one 1 'is the result of x/f already' bpk pack -F $format -O o x/f y/../y/f
        bpk cat o/f.* | same - x/f
    done
    leaves_one 1 'is the result of x/f already' bpk pack -f x/f x/f
}

@test "pack: a result does not replace an operand that is still to be read" {
    data field-f64 100000 f
    data mesh-i32 100000 f.blp
    cp f.blp before
    leaves_one 1 '^bpk: f.blp: is an operand of this command' bpk pack f f.blp -f
    same f.blp before
    bpk cat f.blp.blp | same - before
    leaves_one 1 '^bpk: f.blp: is an operand' bpk pack --rm -f f ./f.blp
    [ -f f ]
    [ ! -e f.blp ]
    mv before real
    ln -s real f.blp
    leaves_one 1 '^bpk: f.blp: is an operand' bpk pack -f f f.blp
    [ -L f.blp ]
    rm f.blp
    quietly bpk pack -f f.blp.blp f
    quietly bpk pack -f f.blp.blp f
    cp f.blp before
    leaves_one 1 '^bpk: f.blp: is an operand' bash -c '"$BPK" pack -f f - <f.blp >s'
    same f.blp before
    leaves_one 1 '^bpk: f.blp: is the result of standard input' bash -c '"$BPK" pack -f - f <real >f.blp'
    bpk cat f.blp | same - real
}

@test "pack: a directory that is an operand is not replaced" {
    data field-f64 100000 f
    bpk pack -F chunked f
    leaves_one 1 'f.blpd: is an operand' bpk pack -f -F chunked f f.blpd
    bpk cat f.blpd | same - f
    leaves_one 1 'f.blpd: is an operand of this command, or holds one' \
        bpk pack -f -F chunked f f.blpd/data/__1__.bin
    bpk cat f.blpd/data/__1__.bin.blpd >x
    same x f.blpd/data/__1__.bin
}

@test "pack --rm into standard output keeps the source" {
    data records 100000 a
    status=0
    bpk pack --rm -c a >/dev/full 2>"$err" || status=$?
    [ "$status" -ne 0 ]
    [ -e a ]
    status=0
    bpk pack --rm -c a 2>"$err" | head -c 1 >/dev/null || status=$?
    [ -e a ]
}

@test "pack: every size around the borders of chunks and blocks comes back" {
    data records 200000 all
    pairs=()
    for size in 0 1 2 7 8 15 16 17 127 128 129 4095 4096 4097 65535 65536 65537 65544 131071 131072 \
        131073 196608 199999 200000; do
        head -c $size all >$size
        quietly bpk pack -z 64K -t 8 $size
        quietly bpk verify $size.blp
        bpk unpack -c $size.blp | cmp - $size
        cat $size | bpk pack -z 64K -t 8 2>/dev/null | bpk unpack | cmp - $size
        pairs+=("$size.blp" "$size")
    done
    need_blosc
    reader compare "${pairs[@]}"
}

@test "pack: one thread and eight give equal bytes" {
    data field-f32 3000000 a
    data noise 1000000 b
    for options in "" "-z 64K" "-z 100001 -t 3" "--codec lz4 --no-offsets" "-z 256K --compare"; do
        for file in a b; do
            # shellcheck disable=SC2086 # words
            bpk pack $options -T 1 -o 1.blp -f $file
            # shellcheck disable=SC2086
            bpk pack $options -T 8 -o 8.blp -f $file
            same 1.blp 8.blp
            # shellcheck disable=SC2086
            cat $file | bpk pack $options -T 1 2>/dev/null | cat >1.blp
            # shellcheck disable=SC2086
            cat $file | bpk pack $options -T 8 2>/dev/null | cat >8.blp
            same 1.blp 8.blp
        done
    done
}

@test "every number of threads from 1 to 16 gives equal bytes, packed and unpacked" {
    data records 700000 a
    for format in blp b2frame b2sparse chunked; do
        bpk pack -F $format -z 32K -T 1 -o one a
        for ((threads = 2; threads <= 16; threads++)); do
            bpk pack -F $format -z 32K -T $threads -o other a
            diff -r -x .lock one other || die "$format, $threads threads"
            bpk cat -T $threads one | cmp - a
            rm -r other
        done
        rm -r one
    done
}

@test "pack --compare changes nothing in the archive" {
    data field-f64 1000000 a
    quietly bpk pack a
    quietly bpk pack --compare -o b.blp a
    same a.blp b.blp
}

@test "every codec, filter and checksum comes back, by other readers too" {
    data records-12 50000 a
    checksums="none adler32 crc32 md5 sha1 sha224 sha256 sha384 sha512"
    pairs=()
    for codec in blosclz lz4 lz4hc snappy zlib zstd; do
        for filter in none shuffle bitshuffle; do
            for checksum in $checksums; do
                name=$codec-$filter-$checksum.blp
                bpk pack --codec $codec --filter $filter --checksum $checksum -t 12 -z 20000 \
                    -o $name a
                bpk cat $name | cmp - a
                pairs+=("$name" a)
            done
            light && checksums="adler32 crc32"
        done
    done
    bpk verify ./*.blp
    need_blosc
    reader compare "${pairs[@]}"
    [ -z "${BPK_BLOSCPACK:-}" ] || bloscpack compare "${pairs[@]}"
}

@test "python bloscpack unpacks what bpk packs" {
    need_bloscpack
    data field-f64 500000 a
    pairs=()
    for options in "" "-9" "-1" "--no-offsets" "--append-space 0" "-z 64K --set run=7" "-t 3 -z 1000" \
        "--checksum none" "--codec blosclz -z 300K"; do
        # shellcheck disable=SC2086 # words
        bpk pack $options -o "a${options// /}.blp" a
        pairs+=("a${options// /}.blp" a)
    done
    for size in 0 1 8 65536; do
        head -c $size a >$size
        bpk pack -z 64K $size
        pairs+=("$size.blp" "$size")
    done
    bpk pack -c a >seekable.blp
    cat a | bpk pack --stream-size 500000 | cat >sized.blp
    bloscpack compare "${pairs[@]}" seekable.blp a sized.blp a
}

@test "every level and many typesizes come back" {
    data records-7 60000 a
    pairs=()
    for level in 0 1 2 3 4 5 6 7 8 9; do
        bpk pack -$level -o level$level.blp a
        bpk pack --level $level -o same.blp -f a
        same same.blp level$level.blp
        pairs+=(level$level.blp a)
    done
    for typesize in 1 2 3 4 5 7 8 9 12 16 17 24 255; do
        for filter in shuffle bitshuffle; do
            bpk pack -t $typesize --filter $filter -o $typesize-$filter.blp a
            pairs+=("$typesize-$filter.blp" a)
        done
    done
    for ((i = 0; i < ${#pairs[@]}; i += 2)); do
        bpk cat "${pairs[i]}" | cmp - a
    done
    need_blosc
    reader compare "${pairs[@]}"
}

@test "the chunk size is rounded down to whole items" {
    need_blosc
    data records-7 100000 a
    bpk pack -t 7 -z 10000 a
    reader header a.blp >header
    [ "$(json header 'x["chunk_size"], x["typesize"], x["checksum"]')" = "(9996, 7, 'crc32')" ]
}

@test "metadata is kept as it was written" {
    need_blosc
    data text 1000 a
    printf '{"n":1.10000000000000000001,"t":"\\u00e4\\n","l":[1,2e400],"big":12345678901234567890}' >m
    quietly bpk pack --metadata m a
    reader header a.blp >header
    [ "$(json header 'x["metadata"]')" = "$(cat m)" ]
    bpk info --json a.blp >info
    grep -qF '1.10000000000000000001' info
    grep -qF '12345678901234567890' info
    quietly bpk verify a.blp
    [ -z "${BPK_BLOSCPACK:-}" ] || bloscpack compare a.blp a
}

@test "--set adds members to the metadata, as JSON or as text" {
    need_blosc
    data text 1000 a
    quietly bpk pack --set run=7 --set name=first --set 'box=[1, 2.50]' --set 'text="7"' \
        --set path=a=b a
    reader header a.blp >header
    [ "$(json header 'json.loads(x["metadata"])')" = \
        "{'run': 7, 'name': 'first', 'box': [1, 2.5], 'text': '7', 'path': 'a=b'}" ]
    printf '{"run":1,"keep":true}' >m
    quietly bpk pack -f --metadata m --set run=2 a
    reader header a.blp >header
    [ "$(json header 'json.loads(x["metadata"])')" = "{'run': 2, 'keep': True}" ]
}

@test "metadata that is no JSON is refused" {
    data text 1000 a
    for text in '{"a":' '' '{"a":1,"a":2}' '{"a":1} x' $'{"a":"\xff"}' "$(printf '[%.0s' {1..200})"; do
        printf '%s' "$text" >m
        before=$(snapshot)
        status=0
        bpk pack --metadata m a 2>"$err" || status=$?
        [ "$status" -ne 0 ]
        [ "$status" -lt 70 ]
        [ "$(wc -l <"$err")" -eq 1 ]
        [ "$(snapshot)" = "$before" ]
    done
    refuses 64 "" bpk pack --set novalue a
}

@test "offsets: none, none to spare, some" {
    need_blosc
    data text 100000 a
    bpk pack -z 10K --no-offsets -o none.blp a
    bpk pack -z 10K --append-space 0 -o zero.blp a
    bpk pack -z 10K --append-space 7 -o seven.blp a
    bpk pack -z 10K -o default.blp a
    for name in none zero seven default; do
        reader compare $name.blp a
        reader header $name.blp >$name.json
    done
    [ "$(json none.json 'x["offsets"], x["space"]')" = "(0, 0)" ]
    [ "$(json zero.json 'x["offsets"], x["space"]')" = "(10, 0)" ]
    [ "$(json seven.json 'x["offsets"], x["space"]')" = "(17, 7)" ]
    [ "$(json default.json 'x["space"] > 0 and x["offsets"] == 10 + x["space"]')" = True ]
}

@test "incompressible data grows by at most 0.02%" {
    data noise 8000000 a
    bpk pack a
    [ "$(stat -c %s a.blp)" -le $((8000000 + 8000000 / 5000)) ]
    bpk cat a.blp | cmp - a
    need zstd
    zstd -q a
    quietly bpk pack a.zst
    [ "$(stat -c %s a.zst.blp)" -le $(($(stat -c %s a.zst) * 10002 / 10000 + 1)) ]
}

@test "-v says what was chosen and why; the choice is the same every time" {
    data field-f64 2000000 a
    bpk pack -v a 2>"$err"
    [ -s "$err" ]
    says '^bpk: a: chosen: zstd'
    [ "$(wc -l <"$err")" -eq 2 ] # and the result
    bpk pack -f -vv a 2>"$err"
    says '^bpk: a:   level '
    cp a.blp first
    bpk pack -f a
    same a.blp first
    env BPK_THREADS=3 "$BPK" pack -f a
    same a.blp first
}

@test "real simulation outputs come back, and are smaller than with zstd -3" {
    need_samples
    need zstd
    for file in adk_dims.dcd cobrotoxin.trr example_longer.gsd bala.ncdf; do
        cp "$BPK_SAMPLES/$file" .
        quietly bpk pack "$file"
        bpk cat "$file.blp" | cmp - "$file"
        quietly bpk verify "$file.blp"
        theirs=$(zstd -3 -c "$file" | wc -c)
        ours=$(stat -c %s "$file.blp")
        [ "$ours" -lt "$theirs" ] || die "$file: $ours bytes, zstd -3: $theirs"
    done
}

@test "a level packs no larger than the one below, where they search in different ways" {
    data mesh-i32 2000000 a
    for level in 2 3 4; do
        bpk pack -$level -o level$level.blp a
    done
    [ "$(stat -c %s level3.blp)" -le "$(stat -c %s level2.blp)" ]
    [ "$(stat -c %s level4.blp)" -le "$(stat -c %s level3.blp)" ]
    data records-12 3000000 b
    [ "$(bpk pack -4 <b | wc -c)" -le "$(bpk pack -2 <b | wc -c)" ]
}

@test "the level suits an input whose parts differ, not the part in its middle" {
    need_samples
    for options in "-z 256K" "-F b2frame -z 256K"; do
        # shellcheck disable=SC2086
        quietly bpk pack -q -f $options -o chosen "$BPK_SAMPLES/example_longer.gsd"
        # shellcheck disable=SC2086
        quietly bpk pack -q -f $options --level 3 -o named "$BPK_SAMPLES/example_longer.gsd"
        [ "$(stat -c %s chosen)" -le $(($(stat -c %s named) * 105 / 100)) ]
    done
}

@test "--json says what was done, one object a line" {
    need_python
    data text 5000 a
    data text 6000 b
    bpk pack --json a b >lines
    [ "$(wc -l <lines)" -eq 2 ]
    head -n 1 lines >line
    [ "$(json line 'list(x)[:3], x["bpk"], x["command"], x["path"]')" = \
        "(['bpk', 'command', 'path'], 1, 'pack', 'a')" ]
}

@test "a source that changes while it is read is not packed" {
    need_plain_build
    data field-f64 10000000 a
    "$BPK" pack -9 -T 1 a 2>"$err" &
    pid=$!
    # it has opened a, and then its output
    writes() { ls -l "/proc/$pid/fd" 2>/dev/null | grep -q "$PWD/[^a]"; }
    eventually writes
    kill -STOP $pid
    printf 'more' >>a
    kill -CONT $pid
    status=0
    wait $pid || status=$?
    [ "$status" -eq 1 ]
    says '^bpk: a: changed while it was read'
    [ "$(ls -A)" = a ]
}

@test "pack --dtype and --shape say what the data is" {
    data field-f64 240000 a
    bpk pack --dtype '<f8' --shape 100,300 a
    quietly bpk verify a.blp
    bpk info -v a.blp >"$out"
    grep -q '"dtype":"'"'<f8'"'","shape":\[100,300\],"order":"C","container":"numpy"' "$out"
    grep -q 'typesize  *8$' "$out"
    bpk cat a.blp | same - a
    bpk pack --dtype '<f8' -z 5000 -o rows.blp a
    bpk info -v rows.blp | grep -q 'shape.:\[30000\]'
    bpk pack --dtype '<f8' --shape 100,300 -z 5000 -o rows2.blp a
    bpk info -v rows2.blp | grep -q 'chunk size  *4800 '
    # of a pipe the shape tells the size
    cat a | bpk pack --dtype '<f8' --shape 30000 >p.blp
    quietly bpk verify p.blp
    cat a | bpk pack --dtype '<f8' --stream-size 240000 | cat >q.blp
    quietly bpk verify q.blp
    mkdir "$bad"
    cp a "$bad/a"
    cd "$bad"
    refuses 1 'a: has 240000 bytes, but an array of 30001 items of 8 bytes has 240008$' bpk pack --dtype f8 --shape 30001 a
    refuses 1 'a: has 240000 bytes' bpk pack --dtype S7 a
    refuses 1 'standard input: .*--shape or --stream-size' bash -c 'cat a | "$BPK" pack --dtype f8 -o b.blp -'
    refuses 64 'dtype' bpk pack --dtype nonesuch a
    refuses 64 'dtype' bpk pack --dtype object a
    refuses 64 'shape needs --dtype' bpk pack --shape 10 a
    refuses 64 'without --metadata and --set' bpk pack --dtype f8 --set x=1 a
    refuses 64 'not a shape' bpk pack --dtype f8 --shape 10x a
    refuses 1 'standard input' bash -c 'head -c 100 a | "$BPK" pack --dtype f8 --shape 30000 -o b.blp -'
}

@test "pack -F chunked writes a directory" {
    data field-f64 3000000 a
    bpk pack -F chunked --set run=7 a
    [ -f a.blpd/data/__1__.bin ]
    quietly bpk verify a.blpd
    bpk cat a.blpd | same - a
    bpk info -v a.blpd | grep -q '"run": *7'
    bpk pack --dtype '<f8' --shape 375,1000 --superchunk-size 1M -z 100K -o b.blpd --compare a
    grep -q '"shape": \[375, 1000\]' b.blpd/meta/sizes
    grep -q '"chunklen": 12' b.blpd/meta/storage
    [ -f b.blpd/data/__3__.bin ]
    quietly bpk verify b.blpd
    bpk cat b.blpd | same - a
    bpk pack -F chunked --layout bcolz -o c a
    [ -f c/data/__0.blp ]
    bpk cat c | same - a
    cat a | bpk pack -o p.blpd -
    bpk cat p.blpd | same - a
    rm a
    bpk unpack a.blpd/
    bpk cat b.blpd | same - a
    mkdir "$bad"
    cp -r a a.blpd "$bad"
    cd "$bad"
    refuses 1 'already exists; --force replaces it' bpk pack -F chunked a
    refuses 64 'a directory, name it with --output' bpk pack -F chunked -c a
    refuses 64 'a directory, name it with --output' bash -c '"$BPK" pack -F chunked <a'
    refuses 64 'superchunk' bpk pack --superchunk-size 1M a
    refuses 64 'layout' bpk pack --layout bcolz a
    : >a.blpd/foreign
    refuses 1 'already exists$' bpk pack -F chunked a
    refuses 1 'foreign' bpk pack -f -F chunked a
    rm a.blpd/foreign
    bpk pack -f -F chunked --codec lz4 a
    bpk cat a.blpd | same - a
}

@test "pack keeps records as columns in a directory" {
    data records 600000 a
    dtype="[('n','<i4'),('v','<f4',(3,)),('s','S4')]"
    bpk pack -F chunked --compare --dtype "$dtype" a
    [ -f a.blpd/data/n/__1__.bin ] && [ -f a.blpd/data/v/__1__.bin ]
    quietly bpk verify a.blpd
    bpk cat a.blpd | same - a
    bpk pack -F chunked -T 1 -o one.blpd --dtype "$dtype" a
    diff -r a.blpd one.blpd
    refuses 64 'slack' bpk pack -F chunked --slack 10 --dtype "$dtype" -o b.blpd a
    bpk pack -F chunked --rm --dtype "$dtype" -o c.blpd a
    [ ! -e a ]
    quietly bpk verify c.blpd
}

@test "many small files: one that looks like an earlier one is packed like it" {
    data field-f64 200000 a
    data text 60000 b
    split -b 20000 a f-
    split -b 20000 b t-
    mkdir alone
    for file in f-* t-*; do bpk pack -q -o "alone/$file.blp" "$file"; done
    bpk pack -v f-* t-* 2>"$err"
    [ "$(grep -c 'looks like an earlier input' "$err")" -eq 11 ] || die "$(cat "$err")"
    for file in f-* t-*; do
        case $file in *.blp) continue ;; esac
        bpk cat "$file.blp" | same - "$file"
    done
    # the same bytes as with trials, in any order of kinds
    same f-ab.blp alone/f-ab.blp
    rm ./*.blp
    bpk pack -q t-aa f-aa t-ab f-ab
    same f-ab.blp alone/f-ab.blp
    same t-ab.blp alone/t-ab.blp
}

@test "pack: a folder that cannot be written in is named as the reason" {
    data text 3000 a
    [ -d /sys/kernel ] && ! touch /sys/kernel/a.blp 2>/dev/null || skip "no folder here that refuses files"
    refuses 1 '^bpk: /sys/kernel/a.blp: cannot write in its directory: ' bpk pack -o /sys/kernel/a.blp a
}
