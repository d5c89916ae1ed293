load lib

# --cache: blocks of files on a server, which is tests/lib/store, kept from run to run.

archives() { # [SIZE]
    mkdir d
    data field-f32 "${1:-600000}" raw
    bpk pack -q -t 4 -z 256K -o d/x.blp raw
    bpk pack -q -t 4 -z 256K -o d/x.b2frame raw
}

# COMMAND...: bpk with the cache c, which never waits for anything but the server.
cached() { timeout 60 "$BPK" "$@" --cache c; }

# FILE: it is unpacked as it should be, after N requests of any number of bytes.
unpacks() { # N FILE
    local before=0
    [ ! -e "$requests" ] || before=$(count_requests)
    cached unpack -q -o u "$url/$2" 2>"$err" || die "$2: $(cat "$err")"
    same u raw
    rm u
    [ "$1" = any ] || [ $(($(count_requests) - before)) -eq "$1" ] ||
        die "$2: not $1 requests:" "$(tail -n +$((before + 1)) "$requests")"
}

@test "a second run asks whether the file has changed, and receives nothing" {
    need_urls
    archives 6000000
    serve d
    for name in x.blp x.b2frame; do
        unpacks any "$name"
        before=$(count_bytes)
        unpacks 1 "$name"
        tail -n 1 "$requests" | grep -q $'\t304\t0$' || die "$(tail -n 1 "$requests")"
        cached info "$url/$name" >/dev/null
        cached cat --bytes 1000001:1300001 "$url/$name" | cmp - <(tail -c +1000002 raw | head -c 300000)
        [ "$(count_bytes)" -eq "$before" ]
        cached verify -v "$url/$name" 2>&1 >/dev/null | grep -qE '^bpk: network: 1 request, 0 B received, .*B from the cache$'
    done
    # a part that was not read yet is fetched, and nothing else
    rm -r c
    cached cat --bytes 4000000:4000004 "$url/x.blp" >part
    before=$(count_bytes)
    BPK_CACHE=c timeout 60 "$BPK" cat --bytes 2000000:2000004 "$url/x.blp" | cmp - <(tail -c +2000001 raw | head -c 4)
    [ $(($(count_bytes) - before)) -le 300000 ]
    unpacks any x.blp
    unpacks 1 x.blp
}

@test "a store's files and directories" {
    need_urls
    mkdir -p d/b
    data field-f32 1000000 raw
    bpk pack -q -t 4 -z 256K -o d/b/x.blp raw
    bpk pack -q -t 4 -z 256K -F b2sparse -o d/b/x.b2s raw
    serve d --key 'ID:se/cr+et'
    export AWS_ACCESS_KEY_ID=ID AWS_SECRET_ACCESS_KEY=se/cr+et BPK_ENDPOINT=$url
    url=s3://b
    for name in x.blp x.b2s/; do
        unpacks any $name
        before=$(count_bytes)
        unpacks any $name
        # listings are not kept
        [ $(($(count_bytes) - before)) -le 10000 ] || die "$(count_bytes) bytes, before $before"
    done
    AWS_SECRET_ACCESS_KEY=other ends 1 bpk verify -q --cache c s3://b/x.blp
    says "x.blp: cannot open: the store answered 403"
}

@test "a file that was replaced is noticed, also while it is read" {
    need_urls
    archives
    serve d
    unpacks any x.blp
    mv raw old
    data noise 600000 raw
    # of the same size, so that every block has its place
    bpk pack -q -t 4 -z 256K -0 -o one.blp raw
    bpk pack -q -t 4 -z 256K -0 -o two.blp old
    [ "$(stat -c %s one.blp)" -eq "$(stat -c %s two.blp)" ]
    cp two.blp d/x.blp && touch -d '2001-01-01' d/x.blp
    cp raw noise && cp old raw
    unpacks any x.blp
    unpacks 1 x.blp
    cp one.blp d/x.blp && touch -d '2002-01-01' d/x.blp
    cp noise raw
    unpacks any x.blp
    unpacks 1 x.blp
    # another version comes after the first answer: what is in the cache is of the first
    rm -r c
    cached cat --bytes 0:4 "$url/x.blp" | cmp - <(head -c 4 raw)
    serve d --fault change@2
    ends 1 cached unpack -q -o u "$url/x.blp"
    says "changed while it was read"
    [ ! -e u ]
}

@test "files without a strong ETag are not kept" {
    need_urls
    archives
    for option in --weak-etag --no-etag --no-range; do
        serve d $option
        unpacks any x.blp
        before=$(count_bytes)
        unpacks any x.blp
        [ "$(count_bytes)" -gt $((before + 300000)) ]
        [ -z "$(ls -A c)" ] || die "$option: $(ls c)"
    done
}

@test "a cache that was damaged costs a fetch, never wrong bytes" {
    need_urls
    archives
    serve d
    unpacks any x.blp
    file=$(echo c/*-0)
    cp "$file" sound
    size=$(stat -c %s sound)
    for at in 0 9 40 60 249 2048 2055 4096 9000 20480 $((size - 1)); do
        cp sound "$file"
        printf '\377' | dd of="$file" bs=1 seek="$at" conv=notrunc status=none
        cmp -s sound "$file" && printf 'x' | dd of="$file" bs=1 seek="$at" conv=notrunc status=none
        unpacks any x.blp
        unpacks 1 x.blp
    done
    for at in 0 1 249 2047 2050 4095 5000 $((size - 1)); do
        head -c "$at" sound >"$file"
        unpacks any x.blp
        unpacks 1 x.blp
    done
    for command in mkfifo "ln -s /dev/zero" "ln -s ../d/x.blp" "ln ../sound"; do
        (cd c && rm -- *-0 && $command "${file#c/}")
        unpacks any x.blp
        unpacks 1 x.blp
    done
    # nothing can be made in place of a folder
    rm c/*-0 && mkdir "$file"
    cached verify "$url/x.blp" 2>"$err"
    says "^bpk: c: nothing more is kept: "
    [ "$(wc -l <"$err")" -eq 1 ]
    unpacks any x.blp
}

@test "several processes share a cache" {
    need_urls
    archives
    serve d
    for round in 1 2 3; do
        rm -rf c
        pids=()
        for i in 1 2 3 4; do
            cached unpack -q -o "u$i" "$url/x.blp" &
            pids+=($!)
        done
        for pid in "${pids[@]}"; do wait "$pid"; done
        for i in 1 2 3 4; do same "u$i" raw; done
        rm u?
    done
    # what they kept is right, though some of it may have been lost between them
    unpacks any x.blp
    unpacks 1 x.blp
    # and each removes what another has just read
    mkdir e && data noise 5000000 e/noise
    bpk pack -q -z 1M -o d/n.blp e/noise
    pids=()
    for i in 1 2 3; do
        BPK_CACHE_SIZE=4M cached unpack -q -o "u$i" "$url/n.blp" &
        pids+=($!)
    done
    for pid in "${pids[@]}"; do wait "$pid"; done
    for i in 1 2 3; do same "u$i" e/noise; done
}

@test "the bound is kept, and what was used least recently goes first" {
    need_urls
    mkdir d
    for i in 1 2 3 4; do
        data noise 3000000 raw$i
        printf '%s' $i | dd of=raw$i conv=notrunc status=none
        bpk pack -q -z 256K -o d/$i.blp raw$i
    done
    data noise 30000000 raw
    bpk pack -q -z 1M -o d/big.blp raw
    serve d
    for i in 1 2 3 1 4; do
        cached verify -q --cache-size 10M "$url/$i.blp"
        [ "$(du -sB1 c | cut -f 1)" -le $((10 << 20)) ]
    done
    for row in "1 0" "3 0" "4 0" "2 3000000"; do
        before=$(count_bytes)
        cached verify -q --cache-size 10M "$url/${row% *}.blp"
        [ $(($(count_bytes) - before)) -ge "${row#* }" ]
        [ "${row#* }" -gt 0 ] || [ "$(count_bytes)" -eq "$before" ] || die "${row% *} was removed"
    done
    touch c/mine c/bpk-mine
    unpacks any big.blp
    BPK_CACHE_SIZE=4M unpacks any big.blp
    rm -r c && mkdir -m 700 c
    touch c/mine c/bpk-mine
    BPK_CACHE_SIZE=4M unpacks any big.blp
    [ "$(du -sB1 c | cut -f 1)" -le $((4 << 20)) ] || die "$(du -B1 c)"
    [ -e c/mine ] && [ -e c/bpk-mine ]
    ends 64 bpk verify --cache c --cache-size 1M "$url/1.blp"
}

@test "a folder that cannot be used: one line, and the command's result" {
    need_urls
    archives
    serve d
    one_line() { # PATTERN
        cached verify "$url/x.blp" 2>"$err"
        says "^bpk: c: $1"
        [ "$(wc -l <"$err")" -eq 1 ] || die "$(cat "$err")"
        rm -rf c
    }
    touch c && one_line "the cache is not used: cannot open: Not a directory$"
    ln -s nowhere/at/all c && one_line "the cache is not used: cannot "
    mkdir -m 770 c && one_line "the cache is not used: other users may write to it$"
    timeout 60 "$BPK" verify -q --cache nowhere/c "$url/x.blp" 2>"$err"
    [ ! -s "$err" ]
    # as on a full disk: no file may be larger than 100 KiB
    (ulimit -f 100 && cached verify "$url/x.blp") 2>"$err"
    says "^bpk: c: nothing more is kept: write: File too large$"
    [ "$(wc -l <"$err")" -eq 1 ]
    unpacks any x.blp
}

@test "a cache is private, and holds no URL" {
    need_urls
    archives
    serve d
    (umask 0 && cached verify "$url/x.blp?sig=SECRET&key=$HOME")
    [ "$(stat -c %a c)" = 700 ]
    for file in c/*; do [ "$(stat -c %a "$file")" = 600 ]; done
    ! ls c | grep -iE 'secret|x\.blp'
    ! grep -raE 'SECRET|sig=|x\.blp|127\.0\.0\.1' c
    # without the option, and for local files, nothing is written
    rm -r c
    bpk verify "$url/x.blp"
    cached verify d/x.blp
    [ ! -e c ]
}
