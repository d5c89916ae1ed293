load lib

# AT FILE: make the raw file `now` that a write must give.
patch() { dd if="$2" of=now bs=64K oflag=seek_bytes seek="$1" conv=notrunc status=none; }

@test "write: any range, from files and pipes" {
    data field-f64 200000 a
    turn=0
    for format in "${editable[@]}"; do
        for options in "-z 10000 -t 8" "-z 16K -t 8 --no-offsets" "-z 7777 -t 1 --codec lz4 --checksum none" \
            "-z 16K -t 8 --set x=1 --slack 10%" "-z 1M -t 8" "-z 16K -0"; do
            # shellcheck disable=SC2086 # words
            make_archive $format a $options 2>/dev/null || continue
            cp a now
            turn=$((turn + 1))
            while read -r at size kind; do
                sampled 5 || continue
                data "$kind" "$size" new
                patch "$at" new
                turn=$((turn + 1))
                if ((turn % 2)); then
                    quietly bpk write --at "$at" "$archive" new
                else
                    cat new | quietly bpk write --at "$at" "$archive"
                fi
                holds now
            done <<'END'
0 1 noise
0 200000 text
199999 1 zeros
100 50000 noise
16384 16384 field-f64
10000 10000 records
150000 50000 text
99999 2 noise
200000 0 noise
END
        done
    done
}

@test "write: chunks keep how they are packed, also where they differ" {
    data field-f64 100000 a
    for format in "${editable[@]}"; do
        make_archive $format a -z 16K -t 8 --codec lz4 --filter shuffle --block-size 4K
        bpk append -q --codec zlib --filter bitshuffle -t 4 --block-size 8K "$archive" a
        bpk info -vv "$archive" | awk '$1 ~ /^[0-9]+$/ { print $5, $7, $8, $9, $10 }' >before
        cat a a >now
        data field-f64 120000 new
        patch 50000 new
        quietly bpk write --at 50000 "$archive" new
        holds now
        bpk info -vv "$archive" | awk '$1 ~ /^[0-9]+$/ { print $5, $7, $8, $9, $10 }' >after
        same before after
    done
}

@test "write in place, or not" {
    need_python
    data text 100000 a
    data noise 3000 n
    bpk pack --level 2 -z 16K a # the level that write takes, since an archive does not record it
    inode=$(stat -c %i a.blp)
    head -c 3000 a >same
    bpk write -v --at 0 a.blp same 2>"$err"
    says 'a.blp: 3000 bytes written at 0, in place'
    [ "$(stat -c %i a.blp)" = "$inode" ]
    bpk write -v --at 20000 a.blp n 2>"$err"
    says 'rewritten, since chunks outgrew their places'
    [ "$(stat -c %i a.blp)" != "$inode" ]
    bpk write -v --copy --at 20000 a.blp same 2>"$err"
    says 'rewritten, as --copy asks'
    bpk write -v --journal-limit 100 --at 0 a.blp same 2>"$err"
    says 'rewritten'
    bpk write --json --at 0 a.blp same >"$out"
    [ "$(json "$out" '(x["command"], x["at"], x["written"], x["rewritten"])')" = \
        "('write', 0, 3000, False)" ]
}

@test "write: --slack keeps what outgrew its place in place from then on" {
    data text 100000 a
    bpk pack -z 16K a
    cp a now
    data noise 300 n
    patch 5000 n
    bpk write -v --slack 2K --at 5000 a.blp n 2>"$err"
    says 'rewritten'
    patch 7000 n
    bpk write -v --slack 2K --at 7000 a.blp n 2>"$err"
    says 'in place'
    quietly bpk verify a.blp
    bpk cat a.blp | cmp - now
    # archives that were packed with room need no rewriting at all
    bpk pack -f -z 16K --slack 2K a
    bpk write -v --at 5000 a.blp n 2>"$err"
    says 'in place'
}

@test "write: the range must lie inside" {
    data text 1000 a
    data noise 500 n
    bpk pack -t 1 a
    refuses 1 'n: has more than the 499 bytes that a.blp has from that offset to its end' bpk write --at 501 a.blp n
    piped() { cat n | bpk write "$@"; }
    refuses 1 'standard input: has more than the 499 bytes' piped --at 501 a.blp
    refuses 1 'standard input: has more than the 0 bytes' piped --at 1000 a.blp
    refuses 1 '1001 is outside of the archive, which has 1000 bytes' bpk write --at 1001 a.blp n
    refuses 1 'is outside' bpk write --at -1001 a.blp n
    refuses 64 'needs --at BYTE' bpk write a.blp n
    refuses 64 'needs an ARCHIVE' bpk write --at 1
    refuses 64 'one FILE at most' bpk write --at 1 a.blp n n
    refuses 1 'is the archive itself' bpk write --at 1 a.blp a.blp
    refuses 1 'missing: cannot open' bpk write --at 1 a.blp missing
    before=$(snapshot)
    quietly bpk write --at 1000 a.blp /dev/null
    quietly bpk write --at 5 a.blp </dev/null
    [ "$(snapshot)" = "$before" ]
    quietly bpk write --at 500 a.blp n
    quietly bpk write --at -500 a.blp n
    bpk cat --bytes 500: a.blp | cmp - n
}

@test "write: other readers understand the result" {
    need_blosc
    data field-f64 100000 a
    data noise 20000 n
    for options in "-z 16K" "-z 16K --slack 40%" "-z 16K --set x=1 --checksum md5" "-z 16K --no-offsets"; do
        # shellcheck disable=SC2086 # words
        bpk pack -f -t 8 $options a
        cp a now
        for at in 100 50000 80000; do
            for source in a n; do
                head -c 10000 $source >new
                patch $at new
                bpk write --slack 10% --at $at a.blp new
                quietly reader compare a.blp now
                [ -z "${BPK_BLOSCPACK:-}" ] || quietly bloscpack compare a.blp now
            done
        done
    done
}

@test "write --copy: an error after the rename says that the file is replaced" {
    need_nth
    data text 5000 a
    data noise 100 b
    bpk pack -q -o was.blp a
    replaced=0
    for ((n = 1; n < 30; n++)); do
        cp was.blp x.blp
        status=0
        "$nth" -n $n -a fail:EIO "$BPK" write -q -T 1 --copy --at 10 x.blp b 2>"$err" || status=$?
        [ $status -ne 0 ] && ! cmp -s was.blp x.blp || continue
        says 'x.blp: is replaced, but a power cut may undo that: sync its folder: '
        replaced=$((replaced + 1))
    done
    [ $status -eq 0 ] # all calls were met
    [ $replaced -gt 0 ]
}
