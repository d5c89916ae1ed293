load lib

# The status that a bad file of this name must end with; a name that ends in .blp says what the
# content should be, standard input does not.
expected() {
    case $1 in
    unsupported-*) echo 1 ;;
    unknown-*) [ "${2:-}" = stdin ] && echo 1 || echo 2 ;;
    *) echo 2 ;;
    esac
}

# Files that verify, given all of the folder $1, finds nothing wrong with.
unnoticed() {
    (cd "$1" && "$BPK" verify ./*.blp 2>&1 >/dev/null | sed 's/^bpk: \.\/\([^:]*\): .*/\1/' | sort |
        comm -23 <(ls) -)
}

# COMMAND FILE: standard error has one line about FILE; verify may have one for each damaged chunk.
is_told() {
    local more
    more=$(tail -n +2 "$err")
    [ -s "$err" ] && ! grep -qvF "bpk: $2: " "$err" &&
        { [ -z "$more" ] || { [[ $1 = verify* ]] && ! grep -qvE ': chunk [0-9]+[ :].*; raw bytes ' <<<"$more"; }; }
}

@test "every kind of damaged or unknown header, metadata, offset and chunk is refused" {
    need_python
    mkdir "$bad"
    make_archives bad "$bad"
    cp "$bad"/* .
    before=$(snapshot)
    wrong=
    count=0
    for file in *.blp; do
        count=$((count + 1))
        for command in "verify" "unpack -o x"; do
            status=0
            # shellcheck disable=SC2086 # words
            timeout 10 "$BPK" $command "$file" >/dev/null 2>"$err" || status=$?
            [ "$status" -eq "$(expected "$file")" ] && is_told "$command" "$file" && [ ! -e x ] ||
                wrong+="$command $file: status $status: $(head -c 300 "$err")"$'\n'
            rm -f x
        done
    done
    [ -z "$wrong" ] || die "$wrong"
    [ "$count" -gt 60 ]
    [ "$(snapshot)" = "$before" ]
}

@test "cat, info and quick verification of bad files end soon, with a status and one line" {
    need_python
    mkdir "$bad"
    make_archives bad "$bad"
    wrong=
    for file in "$bad"/*.blp; do
        for command in "info -vv" "info --json" "verify --quick" "sum" "cat --no-check" \
            "cat --bytes 1:9" "cat --bytes -3: --no-check"; do
            sampled 5 || continue
            status=0
            # shellcheck disable=SC2086 # words
            timeout 10 "$BPK" $command "$file" >/dev/null 2>"$err" || status=$?
            case $status in
            0) [ ! -s "$err" ] || wrong+="$command $file: status 0: $(head -c 300 "$err")"$'\n' ;;
            1 | 2) is_told "$command" "$file" ||
                wrong+="$command $file: $(head -c 300 "$err")"$'\n' ;;
            *) wrong+="$command $file: status $status: $(head -c 300 "$err")"$'\n' ;;
            esac
        done
        status=0
        timeout 10 "$BPK" verify <"$file" >/dev/null 2>"$err" || status=$?
        [ "$status" -eq "$(expected "${file##*/}" stdin)" ] ||
            wrong+="verify <$file: status $status"$'\n'
        # a pipe is read in sequence: offsets may not matter
        status=0
        cat "$file" | timeout 10 "$BPK" cat >/dev/null 2>"$err" || status=$?
        [ "$status" -eq 1 ] || [ "$status" -eq 2 ] || [[ $status = 0 && $file = *offset* ]] ||
            wrong+="cat of a pipe: $file: status $status"$'\n'
    done
    [ -z "$wrong" ] || die "$wrong"
}

@test "no allocation follows a count that the file makes up" {
    need_python
    need_plain_build
    mkdir "$bad"
    make_archives bad "$bad"
    for name in damaged-{v1-absurd,count-absurd,count-absurd-offsets,space-absurd,space-wraps} \
        damaged-{metadata-bomb,metadata-room,chunk-size-max,blaze-size,chunk-size-7fffffff} \
        damaged-chunk-nbytes-7fffffff; do
        for command in "verify -T 1" "cat -T 1" info; do
            for input in file pipe; do
                status=0
                # shellcheck disable=SC2086 # words
                if [ $input = file ]; then
                    timeout 10 "$BPK_PEAK" peak "$BPK" $command "$bad/$name.blp" >/dev/null 2>&1 ||
                        status=$?
                else
                    cat "$bad/$name.blp" |
                        timeout 10 "$BPK_PEAK" peak "$BPK" $command - >/dev/null 2>&1 || status=$?
                fi
                [ "$status" -le 2 ] || die "$command of a $input, $name: status $status"
                [ "$(cat peak)" -lt 32768 ] ||
                    die "$command of a $input, $name: $(cat peak) KiB"
            done
        done
    done
}

# tests/lib/flips turns every bit (verify.bats)
@test "a bit turned in an archive with checksums is found, or changes nothing" {
    need_python
    data records 900 a
    bpk pack -t 4 -z 400 --append-space 2 --set run=7 --checksum crc32 a
    mkdir "$bad"
    make_archives flips a.blp 1500 "$bad" "${BPK_TEST_SEED:-0}"
    [ "$(ls "$bad" | wc -l)" -ge 1000 ]
    passed=($(unnoticed "$bad"))
    for file in "${passed[@]}"; do
        # What nothing protects, since no reader takes anything from it. In the header: that there
        # are digests, where offsets say where chunks lie (6); the element size (7). Of the metadata:
        # option bits (40), level (43), the user's codec (56 to 63), what lies behind the text.
        # Spare offsets that lie behind the end.
        at=$((10#${file%%.*}))
        case $at in
        6 | 7 | 40 | 43 | 199 | 207) ;;
        *) ((at >= 56 && at < 64 || at >= 74 && at < 164)) || die "verify misses $file" ;;
        esac
    done
    # all of them one after the other
    (cd "$bad" && "$BPK" cat "${passed[@]}") 2>"$err" |
        cmp - <(for file in "${passed[@]}"; do cat a; done) || die "wrong bytes: $(cat "$err")"
    for file in $(ls "$bad"); do
        sampled 11 || continue
        status=0
        "$BPK" cat -T 2 "$bad/$file" >"$out" 2>"$err" || status=$?
        case $status in
        0) same "$out" a || die "$file: wrong bytes with status 0" ;;
        1 | 2) [ "$(wc -l <"$err")" -eq 1 ] || die "$file: $(cat "$err")" ;;
        *) die "$file: status $status" ;;
        esac
    done
}

@test "a bit turned in an archive without checksums: no crash, no hang" {
    need_python
    data records 900 a
    for codec in lz4 blosclz zstd; do
        bpk pack -f -t 4 -z 400 --append-space 2 --checksum none --codec $codec a
        rm -rf "$bad"
        mkdir "$bad"
        make_archives flips a.blp 800 "$bad" "${BPK_TEST_SEED:-0}"
        status=0
        (cd "$bad" && timeout 60 "$BPK" verify ./*.blp) >"$out" 2>"$err" || status=$?
        [ "$status" -eq 2 ] || die "status $status: $(tail -c 2000 "$err")"
        ! grep -v '^bpk: ./[0-9.]*blp: ' "$err"
        status=0
        (cd "$bad" && timeout 60 "$BPK" cat ./*.blp) >"$out" 2>"$err" || status=$?
        [ "$status" -eq 2 ] || die "status $status: $(tail -c 2000 "$err")"
    done
}

@test "an archive cut anywhere is found" {
    need_python
    mkdir "$bad"
    make_archives cuts "$bad"
    [ "$(ls "$bad" | wc -l)" -gt 300 ]
    found=$(unnoticed "$bad")
    [ -z "$found" ] || die "cuts that verify misses: $found"
    data records 900 a
    for options in "--set run=7" "--no-offsets" "--checksum none"; do
        # shellcheck disable=SC2086 # words
        bpk pack -f -t 4 -z 400 --append-space 2 $options a
        size=$(stat -c %s a.blp)
        for ((cut = 5; cut < size; cut++)); do
            sampled 97 || continue
            head -c $cut a.blp >cut.blp
            refuses 2 '^bpk: cut.blp: ' bpk cat cut.blp
            refuses 2 '^bpk: standard input: ' sh -c 'cat cut.blp | "$BPK" cat'
        done
        head -c $((size - 1)) a.blp >cut.blp
        refuses 2 "" bpk verify cut.blp
        refuses 2 "" bpk unpack cut.blp
    done
}

@test "sectors of zeros, swapped and doubled are found" {
    data field-f64 100000 a
    bpk pack -z 8K a
    size=$(stat -c %s a.blp)
    mkdir "$bad"
    for ((at = 1; at < size / 512 - 1; at++)); do
        sampled 5 || continue
        cp a.blp "$bad/zero-$at.blp"
        dd if=/dev/zero of="$bad/zero-$at.blp" bs=512 seek=$at count=1 conv=notrunc status=none
        cp a.blp "$bad/double-$at.blp"
        dd if=a.blp of="$bad/double-$at.blp" bs=512 skip=$at seek=$((at + 1)) count=1 conv=notrunc \
            status=none
        { head -c $((512 * at)) a.blp
            tail -c +$((512 * at + 513)) a.blp | head -c 512
            tail -c +$((512 * at + 1)) a.blp | head -c 512
            tail -c +$((512 * at + 1025)) a.blp; } >"$bad/swapped-$at.blp"
    done
    for file in "$bad"/*; do if cmp -s "$file" a.blp; then rm "$file"; fi; done
    [ "$(ls "$bad" | wc -l)" -gt 10 ]
    found=$(unnoticed "$bad")
    [ -z "$found" ] || die "verify misses: $found"
}

@test "other files are no archives" {
    for text in "" "hello, world" "BZh9" "blp" "BLPK"; do
        printf '%s' "$text" >a.blp
        refuses 2 "^bpk: a.blp: " bpk verify a.blp
        refuses 2 "^bpk: a.blp: " bpk unpack a.blp
    done
    printf '\037\213\010\0\0\0\0\0\0\003\003\0\0\0\0\0\0\0\0\0' >a.blp
    refuses 2 "^bpk: a.blp: " bpk cat a.blp
    head -c 100000 /dev/zero >a.blp
    refuses 2 "^bpk: a.blp: " bpk cat a.blp
}

@test "commands that only read cannot gain privileges" {
    data noise 1000000 raw
    bpk pack -q -o a.blp raw
    mkfifo in out
    "$BPK" cat a.blp >out &
    pid=$!
    exec 5<out
    head -c 1 <&5 >/dev/null # it has begun, and more waits than a pipe holds
    grep -q '^NoNewPrivs:[[:blank:]]*1$' /proc/$pid/status || die "cat: $(cat /proc/$pid/status)"
    exec 5<&-
    wait $pid || true
    for command in verify info sum 'cat --bytes 0:1'; do
        # shellcheck disable=SC2086
        "$BPK" $command - <in >/dev/null &
        pid=$!
        exec 5>in
        head -c 200000 a.blp >&5 # more than a pipe holds: it has begun
        grep -q '^NoNewPrivs:[[:blank:]]*1$' /proc/$pid/status || die "$command: $(cat /proc/$pid/status)"
        tail -c +200001 a.blp >&5 || true
        exec 5>&-
        wait $pid || die "$command"
    done
}

@test "characters that change the direction of text are escaped in names" {
    local name # in bytes: a shell without a locale knows no characters
    for name in $'a\xd8\x9c' $'a\xe2\x80\x8f' $'a\xe2\x80\xaegnp' $'a\xe2\x80\xa8' $'a\xe2\x81\xa7'; do
        ends 1 bpk info "$name"
        says '^bpk: a\\x'
        [ "$(grep -cF "$name" "$err")" -eq 0 ]
    done
    ends 1 bpk info $'\xc3\xa9\xe2\x80\xa6'
    says $'^bpk: \xc3\xa9\xe2\x80\xa6: '
}
