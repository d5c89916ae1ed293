load lib

@test "truncate to any length" {
    data field-f64 100000 all
    for format in "${editable[@]}"; do
        for options in "-z 10000 -t 8" "-z 16K -t 8 --no-offsets" "-z 7777 -t 1 --codec lz4 --checksum none" \
            "-z 16K -t 8 --set x=1" "-z 1M -t 8" "-z 16K -t 8 --slack 5%"; do
            # shellcheck disable=SC2086 # words
            make_archive $format all $options 2>/dev/null || continue
            for size in 100000 99999 80000 79999 70001 40000 32768 16385 16384 1 0; do
                sampled 3 || continue
                quietly bpk truncate --bytes $size "$archive"
                head -c $size all >kept
                holds kept
            done
            quietly bpk append "$archive" all
            holds kept all
        done
    done
}

@test "truncate: units, numbers from the end, items" {
    data field-f64 100000 all
    for format in "${editable[@]}"; do
        make_archive $format all -z 16K -t 8
        while read -r option n size; do
            # in a directory the elements are of its dtype, here bytes
            [ "$option" = bytes ] || [ "$format" = blp ] || continue
            quietly bpk truncate "--$option" "$n" "$archive"
            head -c $size all >kept
            holds kept
        done <<'END'
bytes -1 99999
bytes 97K 99328
bytes -1K 98304
items 12000 96000
items -1 95992
items -11999 0
END
    done
}

@test "truncate keeps how a chunk is packed" {
    data field-f64 100000 all
    bpk pack -o all.blp -z 32K -t 8 --codec lz4 --filter bitshuffle --block-size 8K all
    quietly bpk truncate --bytes 50000 all.blp
    bpk info -vv all.blp >"$out"
    grep -qE '^ +1 .* 17232 .* 8 +8192 +lz4 +bitshuffle' "$out"
}

@test "truncate never makes longer, and says how long it is" {
    data text 1000 a
    bpk pack -t 1 a
    refuses 1 'a.blp: 1001 is outside of the archive, which has 1000 bytes' \
        bpk truncate --bytes 1001 a.blp
    refuses 1 'a.blp: -1001 is outside' bpk truncate --bytes -1001 a.blp
    refuses 1 'which has 1000' bpk truncate --items 1T a.blp
    refuses 64 'one of --bytes, --items and --frames' bpk truncate a.blp
    refuses 64 'one of --bytes, --items and --frames' bpk truncate --bytes 1 --items 1 a.blp
    refuses 64 'not a position, expected a number' bpk truncate --bytes 1x a.blp
    refuses 64 'not a position, expected a number' bpk truncate --bytes -9223372036854775808 a.blp
    refuses 64 'one ARCHIVE' bpk truncate --bytes 1
    refuses 64 'one ARCHIVE' bpk truncate --bytes 1 a.blp a.blp
    refuses 1 'not an archive' bpk truncate --bytes 1 a
    quietly bpk truncate --bytes 1000 a.blp
    bpk truncate -v --bytes 900 a.blp 2>"$err"
    says 'a.blp: from 1000 to 900 bytes in 1 chunks, in place'
    bpk truncate --json --bytes 800 a.blp >"$out"
    grep -q '"command":"truncate","path":"a.blp","removed":100,"raw_size":800,"nchunks":1' "$out"
}

@test "truncate: other readers understand the result" {
    need_blosc
    data field-f64 100000 a
    for options in "-z 16K" "-z 16K --slack 10%" "-z 16K --set x=1 --checksum md5" "-z 16K --no-offsets"; do
        # shellcheck disable=SC2086 # words
        bpk pack -f -t 8 $options a
        for size in 90000 65536 3 0; do
            bpk truncate --bytes $size a.blp
            head -c $size a >kept
            quietly reader compare a.blp kept
            [ -z "${BPK_BLOSCPACK:-}" ] || quietly bloscpack compare a.blp kept
        done
    done
}

@test "truncate: an error after the commit is reported as that, and the next change cuts the rest off" {
    need_nth
    data noise 14000 all
    head -c 9000 all >kept
    bpk pack -z 4K -T 1 -o was.blp all
    for n in $(seq 99); do
        cp was.blp x.blp
        status=0
        "$nth" -n "$n" -a fail:ENOSPC -o calls "$BPK" truncate -q x.blp --bytes 9000 >"$out" 2>"$err" || status=$?
        [ "$status" -ne 125 ] || skip "this machine does not let processes be traced"
        ! grep -q 'ftruncate \*' calls || break
    done
    [ "$status" -eq 1 ]
    grep -q '^bpk: x.blp: is committed, but must be completed by the next change: .*No space' "$err"
    refuses 3 '^bpk: x.blp: ' bpk verify x.blp
    bpk cat -q x.blp >now 2>"$err" || [ $? -eq 3 ]
    cmp now kept
    cp x.blp y.blp
    quietly bpk append -q x.blp kept
    bpk cat x.blp | cmp - <(cat kept kept)
    bpk repair -q --in-place y.blp
    quietly bpk verify y.blp
    bpk cat y.blp | cmp - kept
}

@test "truncate --frames: a missing file is called so" {
    refuses 1 '^bpk: none.gsd: cannot open: No such file or directory$' bpk truncate --frames 1 none.gsd
    echo text >a
    refuses 1 '^bpk: a: is not a raw GSD file, --frames needs one$' bpk truncate --frames 1 a
}

@test "truncate: one unit, not none and not two" {
    data text 500 a
    quietly bpk pack a
    refuses 64 "needs one of --bytes, --items and --frames$" bpk truncate a.blp
    refuses 64 "only one of --bytes, --items and --frames can be given$" bpk truncate --bytes 1 --items 2 a.blp
}
