load lib

# Requests for several ranges of a file on a web server, which is tests/lib/store or nginx. What waits for a
# connection goes together: with --connections 1 nearly all.

# A folder d with a trajectory in two archives, whose 80 cells are far from each other; local holds the cells.
archives() {
    need_python
    mkdir d
    "$python" - <<'PYTHON'
import random, struct
random.seed(1)
frames, n = 80, 15000
def record(b): return struct.pack("<i", len(b)) + b + struct.pack("<i", len(b))
with open("raw", "wb") as f:
    f.write(record(b"CORD" + struct.pack("<20i", frames, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 24)))
    f.write(record(struct.pack("<i", 1) + b"made for a test".ljust(80)))
    f.write(record(struct.pack("<i", n)))
    for _ in range(frames):
        f.write(record(struct.pack("<6d", *(random.random() for _ in range(6)))))
        for _ in range(3):
            f.write(record(random.getrandbits(32 * n).to_bytes(4 * n, "little")))
PYTHON
    bpk pack -q -z 16K -o d/x.blp raw
    bpk pack -q -z 16K -o d/x.b2frame raw
    bpk cat --name cell d/x.blp >local
    [ "$(wc -c <local)" -eq 3840 ]
}

count_joint() { grep -c $'\tbytes=[^\t]*,' "$requests"; }

# PROGRAM OPTION...: the right bytes, and nothing to the user.
reads() { # URL OPTION...
    quietly bpk cat --name cell "${@:2}" "$1" && same "$out" local
}

@test "ranges that wait for a connection go together" {
    need_urls
    archives
    for name in x.blp x.b2frame; do
        serve d --no-multirange --delay 0.01
        reads "$url/$name" --connections 1
        alone=$(count_requests) bytes=$(count_bytes)
        serve d --delay 0.01
        reads "$url/$name" --connections 1
        [ $((2 * $(count_requests))) -le "$alone" ] || die "$(count_requests) requests, not half of $alone"
        [ "$(count_joint)" -ge 5 ] || die "$(cat "$requests")"
        # heads of parts, and blocks that were fetched in vain
        [ "$(count_bytes)" -le $((bytes + bytes / 8 + 100000)) ] || die "$(count_bytes) bytes, not $bytes"
        [ "$(awk -F '\t' '{ print gsub(",", "", $4) }' "$requests" | sort -n | tail -1)" -le 15 ]
        for connections in 2 8 64; do
            reads "$url/$name" --connections $connections
            bpk verify --connections $connections "$url/$name"
            bpk unpack --connections $connections -o u "$url/$name" && same u raw && rm u
        done
    done
    # a stop while requests are under way
    bpk cat --name cell --frames 0:30 --connections 1 "$url/x.blp" | cmp - <(head -c 1440 local)
    # blocks of the cache are left out
    reads "$url/x.blp" --connections 1 --cache cache
    alone=$(count_requests)
    reads "$url/x.blp" --connections 1 --cache cache
    [ "$(count_requests)" -le $((alone + 3)) ]
}

@test "a store of S3 is asked for one range at a time" {
    need_urls
    archives
    serve .
    reads s3://d/x.blp --endpoint "$url" --connections 1
    [ "$(count_joint)" -eq 0 ] || die "$(cat "$requests")"
}

@test "a server that does not send several ranges is asked for them once" {
    need_urls
    archives
    for options in --no-multirange "--no-multirange --no-etag" "--no-multirange --weak-etag"; do
        # shellcheck disable=SC2086
        serve d $options
        reads "$url/x.blp" --connections 1 --max-download 1
        [ "$(count_joint)" -eq 1 ] || die "$options: $(cat "$requests")"
        : >"$requests"
        reads "$url/x.b2frame" --connections 8
        [ "$(count_joint)" -le 1 ] || die "$options: $(cat "$requests")"
        bpk verify --connections 2 "$url/x.blp"
    done
}

# A column of an array whose rows are chunks.
@test "a hundred items of as many chunks" {
    need_urls
    mkdir d
    data noise 6000000 raw
    bpk pack -q --dtype '<f4' --shape 100,15000 --chunk-shape 1,3000 -o d/x.b2nd raw
    bpk pack -q --checksum none --dtype '<f4' --shape 100,15000 --chunk-shape 1,3000 -o d/plain.b2nd raw
    for name in x.b2nd plain.b2nd; do
        bpk cat --slice :,7000 d/$name >local
        [ "$(wc -c <local)" -eq 400 ]
        for row in "8 45" "1 25" "64 250"; do
            serve d --delay 0.01
            quietly bpk cat --slice :,7000 --connections "${row% *}" "$url/$name" && same "$out" local
            [ "$(count_requests)" -le "${row#* }" ] || die "$name $row: $(cat "$requests")"
        done
        serve d --no-multirange --delay 0.01
        quietly bpk cat --slice :,7000 "$url/$name" && same "$out" local
        [ "$(count_joint)" -eq 1 ]
    done
}

@test "an answer with several ranges may have any form, and a wrong one costs requests alone" {
    need_urls
    archives
    for kind in one hull merged reversed quoted lf preamble endless boundary missing extra twice cross shifted short \
        total open; do
        serve d --fault "parts-$kind@*"
        for name in x.blp x.b2frame; do
            reads "$url/$name" --connections 1
        done
        case $kind in
        # good answers
        reversed | quoted | lf | preamble) [ "$(count_joint)" -ge 6 ] || die "$kind: $(cat "$requests")" ;;
        # the gaps are too large, or it is wrong; each command tries once
        hull | merged) [ "$(count_joint)" -le 8 ] || die "$kind: $(cat "$requests")" ;;
        endless | boundary | extra | twice | cross | shifted | short | total)
            [ "$(count_joint)" -le 2 ] || die "$kind: $(cat "$requests")"
            ;;
        esac
        bpk verify --connections 2 "$url/x.blp"
        bpk unpack --connections 1 -o u "$url/x.b2frame" && same u raw && rm u
    done
}

@test "a fault at a joint request: the right bytes, or one line" {
    need_urls
    archives
    serve d --delay 0.01
    reads "$url/x.blp" --connections 1
    mapfile -t joint < <(grep $'\tbytes=[^\t]*,' "$requests" | cut -f1)
    for kind in 404 416 429 500 503 reset lost garbage empty cut short stall slow long big-headers \
        ignore-range wrong-range wrong-size wrong-bytes redirect redirect-loop redirect-host redirect-scheme \
        change truncate; do
        for n in "${joint[1]}" "${joint[4]}" "${joint[0]}+"; do
            sampled 3 || continue
            rm -rf e && cp -r d e
            serve e --fault "$kind@$n"
            rc=0
            timeout 60 "$BPK" cat --name cell --connections 1 --timeout 2 -q "$url/x.blp" >"$out" 2>"$err" || rc=$?
            case $rc in
            0) same "$out" local || die "$kind@$n: wrong bytes, status 0" ;;
            1 | 2) [ "$(wc -l <"$err")" -eq 1 ] && says "^bpk: $url/x.blp" || die "$kind@$n: $(cat "$err")" ;;
            *) die "$kind@$n: status $rc: $(cat "$err")" ;;
            esac
        done
    done
}

@test "a joint request that fails for a while is sent in parts" {
    need_urls
    archives
    serve d --delay 0.01
    reads "$url/x.blp" --connections 1
    n=$(grep $'\tbytes=[^\t]*,' "$requests" | sed -n 2p | cut -f1)
    for kind in 404 416 429 500 503 reset lost cut short long wrong-range wrong-size ignore-range empty; do
        serve d --delay 0.01 --fault "$kind@$n"
        reads "$url/x.blp" --connections 1
        # the others are joined again, unless the server seems to refuse that
        case $kind in
        500 | reset | lost | cut | short) [ "$(count_joint)" -ge 5 ] || die "$kind: $(cat "$requests")" ;;
        esac
    done
    for options in "" --weak-etag --no-etag; do
        cp -r d e
        # shellcheck disable=SC2086
        serve e $options --fault "change@$n"
        ends 1 bpk cat --name cell --connections 1 "$url/x.blp"
        says "changed while it was read"
        rm -r e
    done
}

# URL OPTION...: what nginx sends has the right bytes; $wrong otherwise.
compare() {
    reads "$@" || wrong+=" $*"
    bpk verify "${@:2}" "$1" || wrong+=" verify $*"
    bpk unpack "${@:2}" -o u "$1" && same u raw || wrong+=" unpack $*"
    rm -f u
}

@test "nginx sends several ranges, or does not" {
    need_urls
    need nginx
    archives
    for lines in "" "max_ranges 1;" "max_ranges 0;"; do
        wrong=
        serve_nginx "" "$lines"
        # the choice goes by the time that answers take, and a busy machine answers late at times
        for try in 1 2 3 4 5; do
            reads "http://127.0.0.1:$port/x.blp" --connections 1 -q || wrong+=" $lines"
            all=$(count_requests) joint=$(count_joint) || true
            [ -z "$lines" ] && [ "$joint" -eq 0 ] || break
        done
        case $lines in
        "") [ "$joint" -ge 1 ] || wrong+=" $joint of $all requests" ;;
        *) [ "$joint" -le 1 ] || wrong+=" $joint joint requests" ;;
        esac
        for name in x.blp x.b2frame; do
            compare "http://127.0.0.1:$port/$name" --connections 1 -q
            compare "http://127.0.0.1:$port/$name" --connections 8 -q
        done
        kill $server
        wait $server || true
        [ -z "$wrong" ] || die "'$lines':$wrong" "$(cat "$requests")"
    done
}

@test "several ranges of HTTP/2" {
    need_urls
    need nginx
    need openssl
    archives
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout key -out cert -days 2 \
        -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 2>"$err"
    wrong=
    serve_nginx "ssl http2" "ssl_certificate $PWD/cert; ssl_certificate_key $PWD/key;"
    export CURL_CA_BUNDLE=$PWD/cert
    for name in x.blp x.b2frame; do
        compare "https://127.0.0.1:$port/$name" --connections 1
        compare "https://127.0.0.1:$port/$name" --connections 8
    done
    kill $server
    wait $server || true
    [ -z "$wrong" ] || die "$wrong"
}
