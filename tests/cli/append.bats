load lib

teardown() {
    for job in $(jobs -p); do kill -KILL "$job" 2>/dev/null || true; done
}

@test "append: every way that the last chunk, the new bytes and the archive may be" {
    data field-f64 100000 a
    data records 70001 b
    for format in "${editable[@]}"; do
        for options in "-z 10000 -t 8" "-z 16K -t 8" "-z 1M" "-z 7777 -t 1 --codec lz4 --checksum none" \
            "-z 16K --checksum sha256 --set x=1" "-z 16K --no-offsets" "-z 16K --append-space 0" \
            "-z 16K -0" "-z 16K --slack 5%"; do
            # shellcheck disable=SC2086 # words
            make_archive $format a $options 2>/dev/null || continue
            quietly bpk append "$archive" b
            holds a b
            head -c 1 b >one
            quietly bpk append "$archive" one
            holds a b one
            cat b | quietly bpk append "$archive"
            holds a b one b
            quietly bpk append -T 3 "$archive" one - a <b
            holds a b one b one b a
        done
    done
}

@test "append to an empty archive, and of nothing" {
    : >a
    data field-f64 300000 b
    for format in "${editable[@]}"; do
        make_archive $format a
        before=$(snapshot)
        quietly bpk append "$archive" </dev/null
        quietly bpk append "$archive" a a
        [ "$(snapshot)" = "$before" ] || die "nothing was appended, and something changed"
        quietly bpk append "$archive" b
        holds b
        quietly bpk append "$archive" b
        holds b b
    done
}

@test "append to an archive of empty input: the chunk size that pack was given holds" {
    data noise 50000 a
    for format in blp chunked; do
        rm -rf x
        bpk pack -q -F $format -z 4096 -t 4 -o x - </dev/null
        quietly bpk append x a
        bpk info --json x | grep -q '"nchunks":13,' || die "$format: $(bpk info --json x)"
        bpk cat x | cmp - a
    done
}

@test "append keeps how the archive is packed, unless told otherwise" {
    need_python
    data field-f32 200000 a
    data noise 50000 n
    for options in "-t 4 --codec lz4 --filter shuffle --block-size 4K -z 32K --checksum adler32" \
        "-t 12 --codec zlib --filter bitshuffle --block-size 6144 -z 24K --checksum md5" \
        "-t 1 --codec blosclz --filter none --block-size 8K -z 64K --checksum none"; do
        # shellcheck disable=SC2086 # words
        bpk pack -f $options a
        bpk append a.blp n a
        bpk info -vv --json a.blp >"$out"
        [ "$(json "$out" 'len({(c["codec"], c["typesize"], c["filter"], c["block_size"])
            for c in x["chunks"] if not c["stored"] and c["raw_size"] == x["chunk_size"]})')" -eq 1 ]
    done
    bpk pack -f -t 4 --codec lz4 --filter shuffle -z 32K a
    bpk append --codec zstd --filter bitshuffle -t 8 a.blp a
    bpk info -vv a.blp >"$out"
    grep -qE ' 4 +[0-9]+ +lz4 +shuffle' "$out"
    grep -qE ' 8 +[0-9]+ +zstd +bitshuffle' "$out"
    bpk cat a.blp | cmp - <(cat a a)
}

@test "append: what was appended does not depend on the number of threads" {
    data records 1500000 a
    data field-f64 3000000 b
    bpk pack -z 100K a
    for threads in 1 2 8; do
        cp a.blp $threads.blp
        quietly bpk append -T $threads $threads.blp b
    done
    same 1.blp 2.blp
    same 1.blp 8.blp
}

@test "append is all or nothing" {
    data text 50000 a
    data text 30000 b
    for format in "${editable[@]}"; do
        make_archive $format a -z 16K
        refuses 1 'missing: cannot open: No such file' bpk append "$archive" b missing
        refuses 1 'is a directory' bpk append "$archive" b "$BATS_TEST_TMPDIR"
        holds a
    done
    refuses 1 'no-such.blp: does not exist; create it with bpk pack$' bpk append no-such.blp b
    cp a.blp other.blp
    refuses 1 'other.blp: is an archive by its name; .*bpk cat.*--bytes' bpk append a.blp b other.blp
    refuses 1 'a.blp: is the archive itself' bpk append --bytes a.blp b a.blp
    refuses 1 'a.blp: is the archive itself' bpk append --bytes --commit-interval 1 a.blp b a.blp
    refuses 64 'needs an ARCHIVE' bpk append
    refuses 64 'but once' bpk append a.blp - -
    refuses 64 'standard input cannot be changed' bpk append - b
    refuses 1 'a: is not an archive' bpk append a b
    dd if=a.blp of=chunk bs=1 skip=$(bpk info -vv a.blp | awk '$1 == "0" { print $2 }') status=none
    refuses 1 'has format chunk, which cannot be changed' bpk append -F chunk chunk b
    ln a.blp second.blp
    refuses 1 'hard link' bpk append a.blp b
    quietly bpk append --copy a.blp b
    bpk cat a.blp | cmp - <(cat a b)
    bpk cat second.blp | cmp - a
}

@test "append: an input that changes while it is read, and one that ends early" {
    data noise 3000000 a
    bpk pack -z 64K a
    mkfifo pipe
    data noise 1000000 b
    before=$(sha256sum a.blp)
    "$BPK" append a.blp b pipe 2>"$err" &
    pid=$!
    exec 5>pipe
    echo more >>b
    echo end >&5
    exec 5>&-
    status=0
    wait $pid || status=$?
    [ "$status" -eq 1 ]
    says 'b: changed while it was read'
    [ "$(sha256sum a.blp)" = "$before" ]
}

@test "append: a damaged last chunk is no ground to build on" {
    data text 50000 a
    bpk pack -z 16K a
    printf 'XXXX' | dd of=a.blp bs=1 seek=$(($(stat -c %s a.blp) - 100)) conv=notrunc status=none
    refuses 2 'a.blp: chunk 3' bpk append a.blp a
}

@test "append -v and --json say what happened" {
    need_python
    data text 50000 a
    bpk pack -z 16K --append-space 0 a
    bpk append -v a.blp a 2>"$err"
    says 'a.blp: 50000 bytes appended, now 100000 in 7 chunks, .*rewritten, since it had no room'
    bpk append -v a.blp a 2>"$err"
    says 'in place'
    bpk append -v --copy a.blp a 2>"$err"
    says 'rewritten, as --copy asks'
    bpk append --json a.blp a >"$out"
    [ "$(json "$out" '(x["bpk"], x["command"], x["path"], x["appended"], x["raw_size"])')" = \
        "(1, 'append', 'a.blp', 50000, 250000)" ]
}

@test "append: other readers understand the result, also with slack" {
    need_blosc
    data field-f64 100000 a
    data records 33333 b
    for options in "-z 16K" "-z 16K --slack 300 --checksum crc32" "-z 16K --set x=1 --checksum md5" \
        "-z 16K --no-offsets"; do
        # shellcheck disable=SC2086 # words
        bpk pack -f $options a
        cp a all
        for ((i = 0; i < 5; i++)); do
            bpk append --slack 100 a.blp b
            cat b >>all
            quietly reader compare a.blp all
        done
    done
}

@test "append: python bloscpack unpacks the result" {
    need_bloscpack
    data field-f64 100000 a
    data field-f64 16001 b
    for options in "" "--slack 10%" "--set x=1"; do
        # shellcheck disable=SC2086 # words
        bpk pack -f -z 16K -t 8 $options a
        bpk append a.blp b
        bpk append a.blp b
        cat a b b >all
        quietly bloscpack compare a.blp all
    done
}

@test "append: two at once; one is refused, or waits" {
    data text 40000 a
    for format in "${editable[@]}"; do
        make_archive $format a -z 16K
        mkfifo pipe
        "$BPK" append "$archive" - <pipe &
        pid=$!
        exec 5>pipe
        refused() {
            ! bpk append "$archive" a </dev/null 2>"$err" && grep -q 'is being changed' "$err"
        }
        # until the first has its lock the second may come before it
        eventually refused
        "$BPK" append --wait "$archive" a 5>&- &
        waits=$!
        bpk cat "$archive" >/dev/null
        echo "and more" >&5
        exec 5>&-
        wait $pid
        wait $waits
        bpk cat "$archive" | grep -q 'and more'
        rm pipe
    done
}

# BPK_RACES=N: so many in each format instead of 7; 200 take five minutes.
@test "append: races, nothing is lost" {
    local count=7
    ! light || count=3
    for ((i = 0; i < 4; i++)); do
        printf "writer $i, %.0s" {1..3000} >part$i
    done
    : >empty
    for format in "${editable[@]}"; do
        for ((race = 0; race < ${BPK_RACES:-$count}; race++)); do
            make_archive $format empty -z 4K
            pids=()
            for ((i = 0; i < 4; i++)); do
                bpk append --wait --no-sync "$archive" part$i &
                pids+=($!)
            done
            for pid in "${pids[@]}"; do wait $pid; done
            quietly bpk verify "$archive"
            bpk cat "$archive" >all
            [ "$(stat -c %s all)" -eq "$(cat part? | wc -c)" ]
            for ((i = 0; i < 4; i++)); do
                [ "$(grep -o "writer $i," all | wc -l)" -eq 3000 ] || die "race $race"
            done
        done
    done
}

@test "append --commit-interval: what was committed stays" {
    data text 100000 a
    data text 20000 b
    for format in "${editable[@]}"; do
        make_archive $format a -z 16K
        mkfifo pipe
        "$BPK" append --commit-interval 1 "$archive" <pipe &
        pid=$!
        exec 5>pipe
        cat b >&5
        committed() { bpk cat "$archive" | cmp -s - <(cat a b); }
        eventually committed
        echo "lost" >&5
        kill -KILL $pid
        wait $pid || true
        exec 5>&-
        committed || die "not what was committed"
        rm pipe
        (cat b; sleep 0.1; cat a) | quietly bpk append --commit-interval 1 "$archive"
        quietly bpk append --commit-interval 1 "$archive" a b
        holds a b b a a b
    done
}

@test "append: SIGTERM leaves the old content" {
    data noise 500000 a
    for format in "${editable[@]}"; do
        make_archive $format a -z 64K
        before=$(snapshot)
        mkfifo "$BATS_TEST_TMPDIR/in"
        env --default-signal=TERM "$BPK" append "$archive" <"$BATS_TEST_TMPDIR/in" &
        pid=$!
        exec 5>"$BATS_TEST_TMPDIR/in"
        data noise 400000 "$BATS_TEST_TMPDIR/part"
        cat "$BATS_TEST_TMPDIR/part" >&5
        sleep 0.3
        kill -TERM $pid
        status=0
        wait $pid || status=$?
        exec 5>&-
        rm "$BATS_TEST_TMPDIR/in"
        [ "$status" -eq 143 ]
        holds a
        quietly bpk append "$archive" a
        holds a a
    done
}

@test "append to a huge archive writes little" {
    need_strace
    need_plain_build
    truncate -s 4100M a 2>/dev/null || skip "no file over 4 GiB here"
    data noise 1048576 n
    bpk pack -q -z 1M -t 1 --codec lz4 --no-sync a -o a.blp
    rm a
    appends_little() {
        strace -f -qq -e trace=write,pwrite64,writev,pwritev,copy_file_range,sendfile -o trace \
            "$BPK" append a.blp n
        written=$(awk -F= '/= [0-9]+$/ { sum += $NF } END { print sum + 0 }' trace)
        [ "$written" -ge 1048576 ]
        [ "$written" -lt 3145728 ] || die "$written bytes written for 1 MiB"
        echo "# $written bytes written: $1" >&3
    }
    appends_little "behind a full chunk"
    head -c 500000 n | bpk append a.blp
    appends_little "behind a short one"
    quietly bpk info a.blp
}

@test "append and truncate: an array's shape in the metadata follows whole rows" {
    need_bloscpack
    "$python" -c 'import numpy' 2>/dev/null || skip "numpy is not installed"
    data field-f64 160000 a
    data field-f64 40000 b
    for exact in "" exact; do
        # shellcheck disable=SC2086 # a word or none
        {
            bloscpack pack-array a a.blp 2000,10 '<f8' C $exact
            bloscpack pack-array a f.blp 2000,10 '<f8' F $exact
        }
        for options in "" --copy "--journal-limit 0"; do
            cp a.blp c.blp
            # shellcheck disable=SC2086 # words
            {
                quietly bpk append $options c.blp b b b b b b b b
                cat a b b b b b b b b >now
                quietly bloscpack compare-array c.blp now 6000,10
                bpk append $options c.blp <(head -c 8 b) 2>"$err"
                [ "$(wc -l <"$err")" -eq 1 ]
                says 'c.blp: metadata keep the array.s old shape: 480008 bytes are not whole rows'
                bpk meta get c.blp shape | grep -qE '^.6000, ?10.$'
                quietly bpk append $options c.blp <(tail -c +9 b | head -c 72)
                cat now <(head -c 80 b) >more
                quietly bloscpack compare-array c.blp more 6001,10
                quietly bpk truncate $options --bytes 800 c.blp
                head -c 800 a >less
                quietly bloscpack compare-array c.blp less 10,10
                quietly bpk truncate -q $options --bytes 799 c.blp
            }
        done
        before=$(bpk meta get f.blp)
        bpk append f.blp b 2>"$err"
        says 'old shape'
        [ "$(bpk meta get f.blp)" = "$before" ]
    done
}

@test "append takes nothing that lies in the directory appended to" {
    data text 50000 a
    bpk pack -F chunked -z 16K -o d a
    : >d/.lock
    ln -s d/data link
    refuses 1 'd/data/__1__.bin: lies in the archive itself' bpk append d a d/data/__1__.bin
    refuses 1 'link/__1__.bin: lies in the archive itself' bpk append d link/__1__.bin
    refuses 1 'lies in the archive itself' bpk append d <d/meta/sizes
    refuses 1 'lies in the archive itself' bpk append --commit-interval 1 d d/meta/sizes
    refuses 1 'lies in the archive itself' bpk append --follow d/meta/sizes --idle 1 d
    refuses 1 'lies in the archive itself' bpk write --at 0 d d/meta/sizes
    cp -r d d2
    quietly bpk append d d2/meta/sizes
    bpk cat d | cmp - <(cat a d2/meta/sizes)
}

@test "append: one that died within an offset entry has committed nothing" {
    data records 16000 a
    head -c 8192 a >first
    bpk pack -q -z 4K -t 4 -o whole.blp - <first
    cp whole.blp torn.blp
    bpk append whole.blp a
    # its chunks, and half of the second new entry; entries begin behind the header
    tail -c +$(($(stat -c %s torn.blp) + 1)) whole.blp >>torn.blp
    dd if=whole.blp of=torn.blp bs=1 skip=48 seek=48 count=12 conv=notrunc status=none
    refuses 3 'torn.blp: .* left from an interrupted append' bpk verify torn.blp
    ends 3 bpk verify --json torn.blp
    grep -q '"repairable":"tail"' "$out"
    bpk cat torn.blp 2>"$err" | cmp - first || [ "${PIPESTATUS[*]}" = '3 0' ]
    quietly bpk append torn.blp a
    cmp whole.blp torn.blp
}

# Every byte of an archive's header, offsets and index, one bit of each: what verify calls damaged is
# not made whole by a change, with other content or the same.
@test "a damaged index is refused before a byte is changed, or stays as it is" {
    need_python
    data text 2600 a
    data noise 300 more
    refused=0
    for format in blp b2frame chunked b2sparse; do
        rm -rf was && make_archive "$format" a -z 400 && cp -r "$archive" was
        files=("$archive")
        [ ! -d "$archive" ] || mapfile -t files < <(find "$archive" -type f ! -name .lock | sort)
        for file in "${files[@]}"; do
            rm -rf "$archive" && cp -r was "$archive"
            size=$(stat -c %s "$file")
            for ((at = 0; at < size; at++)); do
                sampled 97 || continue
                rm -rf "$archive" && cp -r was "$archive"
                "$python" -c 'import sys
at = int(sys.argv[2])
with open(sys.argv[1], "r+b") as f:
    f.seek(at); byte = f.read(1)[0] ^ 1 << at // 37 % 8
    f.seek(at); f.write(bytes([byte]))' "$file" $at
                status=0
                bpk verify -q "$archive" 2>"$err" || status=$?
                [ $status -ne 0 ] || continue
                rm -rf bad && cp -r "$archive" bad
                if bpk append -q -T 1 "$archive" more 2>"$err"; then
                    ! bpk verify -q "$archive" 2>"$err" || die "$file, byte $at: healed"
                else
                    refused=$((refused + 1))
                    diff -r bad "$archive" || die "$file, byte $at: changed"
                fi
            done
        done
    done
    [ $refused -gt 3 ] || light || die "only $refused were refused"
}

@test "a damaged offset entry is refused, the last and spare ones too" {
    data text 2600 a
    data noise 300 more
    bpk pack -q -z 400 -o was.blp a
    for at in 85 87 88 95 100 167; do # entries of 8 bytes begin at 32, spare ones at 88
        cp was.blp x.blp
        byte=$(od -An -tu1 -j $at -N 1 x.blp)
        # shellcheck disable=SC2059
        printf "\\$(printf %o $((byte ^ 8)))" | dd of=x.blp bs=1 seek=$at conv=notrunc status=none
        cp x.blp bad.blp
        for command in "append x.blp more" "write --at 900 x.blp more" "truncate --bytes 1500 x.blp" "meta set x.blp k=1"; do
            # shellcheck disable=SC2086
            refuses 2 'x.blp: .*offset entry' bpk $command
            cmp x.blp bad.blp
        done
    done
    # in a directory's data file, which is written again: without its last entry it is walked
    bpk pack -q -F chunked -z 400 -o was.blpd a
    : >was.blpd/.lock # the first writer makes it
    for at in 79 87; do
        for command in "append x.blpd more" "write --at 2500 x.blpd part" "truncate --bytes 2100 x.blpd"; do
            rm -rf x.blpd && cp -r was.blpd x.blpd
            head -c 50 more >part
            printf '\4' | dd of=x.blpd/data/__1__.bin bs=1 seek=$at conv=notrunc status=none
            rm -rf bad && cp -r x.blpd bad
            # shellcheck disable=SC2086
            refuses 2 'x.blpd: .*offset entry' bpk $command
            diff -r x.blpd bad
        done
    done
}

@test "an append to a chunked directory, killed at any call, leaves the old rows or the new ones, intact" {
    need_nth
    local options point status
    data positions-f32 7000 a
    data field-f32 20 more
    cat a more >both
    for options in "" "--checksum none" "--layout bcolz"; do
        # shellcheck disable=SC2086 # words
        bpk pack -q -F chunked -z 4K $options -o x.blpd a
        cp -a x.blpd kept
        "$nth" -o calls "$BPK" append -q x.blpd more
        for ((point = $(grep -n '^renameat' calls | head -n 1 | cut -d : -f 1); point <= $(wc -l <calls); point++)); do
            rm -rf x.blpd
            cp -a kept x.blpd
            "$nth" -n $point -a kill "$BPK" append -q x.blpd more || :
            status=0
            bpk verify x.blpd 2>"$err" || status=$?
            [ $status -eq 0 ] || { [ $status -eq 3 ] && says 'is pending'; } || die "$options at $point: $status" "$(cat "$err")"
            bpk cat -q x.blpd >got
            cmp -s got a || cmp got both
        done
        rm -rf x.blpd kept
    done
}

@test "no change gives a last chunk with more rows a digest that is not its own" {
    local change
    data positions-f32 7000 a
    data noise 2924 noise
    { head -c 4096 a && cat noise; } >other
    printf Z >z
    for change in "append x.blpd z" "truncate --bytes 6990 x.blpd" "truncate --bytes 5000 x.blpd" "write --at 6000 x.blpd z"; do
        for options in "" "--checksum sha256" "--identity"; do
            rm -rf x.blpd y.blpd
            # shellcheck disable=SC2086 # words
            bpk pack -q -F chunked -z 4K -t 4 $options -o x.blpd a
            # shellcheck disable=SC2086
            bpk pack -q -F chunked -z 4K -t 4 $options -o y.blpd other
            cp y.blpd/data/__1__.bin x.blpd/data/__1__.bin
            ends 2 bpk verify x.blpd
            # shellcheck disable=SC2086
            ends 2 bpk $change
            ends 2 bpk verify x.blpd
        done
    done
}
