load lib

# Archives on a web server, which is tests/lib/store.

# A folder d to serve, with the archives of raw in every format that is a file.
archives() {
    mkdir d
    data field-f32 3000000 raw
    bpk pack -q -t 4 -z 256K -o d/x.blp raw
    bpk pack -q -t 4 -z 256K --no-offsets -o d/plain.blp raw
    bpk pack -q -t 4 -z 256K -o d/x.b2frame raw
    bpk pack -q --dtype '<f4' --shape 750,1000 --chunk-shape 100,300 -o d/x.b2nd raw
}

@test "every command reads a URL as it reads the file" {
    need_urls
    archives
    serve d
    for name in x.blp plain.blp x.b2frame x.b2nd; do
        bpk unpack -o u "$url/$name" 2>"$err" && same u raw && rm u
        bpk verify "$url/$name"
        bpk cat --bytes 1000001:1300001 "$url/$name" >part
        cmp part <(tail -c +1000002 raw | head -c 300000) || die "$name: the range differs"
        bpk cat --bytes 2999990: "$url/$name" | cmp - <(tail -c 10 raw)
        bpk info -v "$url/$name" | sed "s|$url|d|g" >remote
        bpk info -v "d/$name" | grep -v '^ *holes' >local
        same remote local
        bpk convert "$url/$name" y.blp && bpk unpack -qf -o u y.blp && same u raw
        rm -f u y.blp
    done
    bpk cat --slice 10:20,5:7 "$url/x.b2nd" | cmp - <(bpk cat --slice 10:20,5:7 d/x.b2nd)
    # the raw file itself, and a result beside nothing is one in the working directory
    cp raw d/r.f32
    bpk pack -q -t 4 "$url/r.f32" && bpk unpack -qc r.f32.blp | cmp - raw
    bpk unpack -q "$url/x.blp" && same x raw
}

@test "opening takes one request or two, a range those for its chunks" {
    need_urls
    archives
    data field-f32 3000 small
    bpk pack -q -t 4 -o d/small.blp small
    bpk pack -q -t 4 -o d/small.b2frame small
    serve d
    expect() { # REQUESTS COMMAND...
        local most=$1 before
        shift
        before=$(count_requests)
        "$@" >"$out" || die "failed: $*"
        [ $(($(count_requests) - before)) -le "$most" ] ||
            die "$* took $(($(count_requests) - before)) requests, not $most:" "$(tail -n +$((before + 1)) "$requests")"
    }
    expect 1 bpk cat --bytes 0:10 "$url/small.blp"
    expect 1 bpk info "$url/small.b2frame"
    expect 1 bpk verify "$url/small.b2frame"
    expect 3 bpk cat --bytes 1000000:1000004 "$url/x.blp"
    expect 3 bpk cat --bytes 1000000:1000004 "$url/x.b2frame"
    bpk info -v "$url/x.blp" 2>&1 >/dev/null | grep -q '^bpk: network: [0-9]* requests, .* received$'
}

# A Bloscpack file of 10 GiB: stored chunks of zeros, which are holes on the disk.
@test "a range of 1 MiB in 10 GiB takes three requests and 3 MiB" {
    need_urls
    need_python
    mkdir d
    "$python" - <<'END'
import struct
n, size = 10240, 1 << 20
with open("d/big.blp", "wb") as f:
    f.write(struct.pack("<4sBBBBiiqq", b"blpk", 3, 1, 0, 1, size, size, n, 0))
    first, step = 32 + 8 * n, size + 16
    f.write(b"".join(struct.pack("<q", first + i * step) for i in range(n)))
    for i in range(n):
        f.seek(first + i * step)
        f.write(struct.pack("<BBBBiii", 2, 1, 2, 1, size, size, size + 16) + struct.pack("<q", i))
    f.truncate(first + n * step)
END
    serve d
    bpk cat --bytes 5000M:5001M "$url/big.blp" >part
    cmp part <(bpk cat --bytes 5000M:5001M d/big.blp)
    [ "$(count_requests)" -le 3 ] || die "$(cat "$requests")"
    [ "$(count_bytes)" -le $((3 << 20)) ] || die "$(cat "$requests")"
    rm d/big.blp
}

# COMMAND under a fault: the right bytes, or status 1 or 2 with one line.
judge() { # FAULT
    local rc=0
    timeout 60 "$BPK" unpack -q --timeout 2 -o u "$url/$name" 2>"$err" || rc=$?
    case $rc in
    0) same u raw || die "$1: wrong bytes, status 0" ;;
    1 | 2)
        [ ! -e u ] || die "$1: status $rc, and a file is left"
        [ "$(wc -l <"$err")" -eq 1 ] && says "^bpk: $url/$name(: | -> )" || die "$1: $(cat "$err")"
        ;;
    *) die "$1: status $rc: $(cat "$err")" ;;
    esac
    rm -f u
}

@test "a fault at any request: the right bytes, or one line" {
    need_urls
    archives
    for name in x.blp x.b2frame; do
        serve d
        bpk unpack -q -o u "$url/$name"
        last=$(count_requests)
        rm u
        for kind in 404 429 500 503 reset lost garbage empty cut short stall slow long big-headers \
            ignore-range wrong-range wrong-size wrong-bytes redirect redirect-loop redirect-host \
            redirect-scheme redirect-ftp change truncate; do
            for n in $(seq "$last") "*"; do
                sampled 37 || continue
                rm -rf e && cp -r d e
                serve e --fault "$kind@$n"
                judge "$kind@$n"
            done
        done
        rm -f u
    done
}

@test "what may pass is tried again, what stays ends with a line" {
    need_urls
    archives
    for kind in 500 503 429 408 reset lost cut short wrong-range; do
        serve d --fault "$kind@1,3"
        bpk unpack -q -o u "$url/x.blp" || die "$kind"
        same u raw
        rm u
    done
    serve d --fault '500@*'
    ends 1 bpk verify --timeout 1 "$url/x.blp"
    says "x.blp: cannot open: the server answered 500"
    [ "$(count_requests)" -gt 2 ]
    ends 1 bpk verify "http://127.0.0.1:1/x.blp" --timeout 1
    says "x.blp: cannot open: "
    ends 1 bpk verify "$url/missing.blp"
    says "missing.blp: cannot open: the server answered "
    serve d --fault 'redirect-scheme@*'
    ends 1 bpk verify "$url/x.blp"
    ! grep -q root "$err"
}

@test "another version of the file is noticed" {
    need_urls
    archives
    for options in "" --weak-etag --no-etag; do
        cp d/x.blp d/y.blp
        # shellcheck disable=SC2086
        serve d $options --fault change@3
        ends 1 bpk unpack -o u "$url/y.blp"
        says "changed while it was read"
        [ ! -e u ]
    done
}

@test "a server that sends whole files alone" {
    need_urls
    archives
    serve d --no-range
    bpk unpack -o u "$url/x.blp" 2>"$err" && same u raw
    says "x.blp: the server does not send ranges; the whole file is downloaded"
    [ "$(wc -l <"$err")" -eq 1 ]
    bpk cat -q --bytes 1000:2000 "$url/x.b2frame" | cmp - <(tail -c +1001 raw | head -c 1000)
    ends 1 bpk verify -q --max-download 100K "$url/x.blp"
    says "only the whole file, which has more than 102400 bytes; --max-download allows more"
}

@test "URLs are refused where a file is changed or removed" {
    need_urls
    archives
    serve d
    ends 1 bpk append "$url/x.blp" raw
    says "append adds only to these"
    ends 64 bpk unpack --rm "$url/x.blp"
    says "a URL cannot be removed"
    ends 64 bpk info "http://me:secret@127.0.0.1/x.blp"
    says "belong in ~/.netrc"
    ends 64 bpk info http:///x.blp
    says "without a host"
    [ "$(count_requests)" -eq 0 ]
    # a file of that name
    mkdir -p http:/here && cp d/x.blp http:/here
    bpk verify ./http://here/x.blp
}

@test "a query is no part of a name, and no message repeats it" {
    need_urls
    archives
    bpk pack -q -t 4 -F chunked -o d/field.blpd raw
    (cd d && tar cf run.tar field.blpd x.blp)
    serve d
    bpk unpack -v "$url/x.blp?sig=SECRET" 2>"$err" && same x raw
    says '/x.blp[?]\.\.\.: .* to ./x$'
    ! grep SECRET "$err"
    bpk pack -q "$url/x.blp?sig=SECRET" -fo again.blp && bpk unpack -q again.blp
    for row in 'http://me:SECRET@127.0.0.1/x.blp' "$url/x?sig=SECRET" "$url/d/?sig=SECRET" "$url/x.blp:y?sig=SECRET#SECRET"; do
        bpk verify "$row" 2>"$err" && die "$row: status 0"
        says '^bpk: http://'
        ! grep SECRET "$err" || die "$row"
    done
    # a directory in a tar may end with a slash, as it may elsewhere
    bpk verify "$url/run.tar:field.blpd/"
    bpk unpack -qc "$url/run.tar:field.blpd/" | cmp - raw
    refuses 1 "the tar .*/run.tar has no member none.blpd/" bpk verify "$url/run.tar:none.blpd/"
    refuses 1 "is a directory that cannot be listed, and no archive" bpk verify "$url/none.blpd/"
}

@test "arrays by name, frame by frame: no request too many" {
    need_urls
    need_python
    mkdir d
    # DCD: 60 frames of 20,000 atoms, x, y and z in each
    "$python" - <<'END'
import array, struct
n, frames = 20000, 60
def record(b): return struct.pack("<i", len(b)) + b + struct.pack("<i", len(b))
with open("raw.dcd", "wb") as f:
    f.write(record(b"CORD" + struct.pack("<20i", frames, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 24)))
    f.write(record(struct.pack("<i", 1) + b"made for a test".ljust(80)))
    f.write(record(struct.pack("<i", n)))
    for i in range(frames):
        for axis in range(3):
            f.write(record(array.array("f", ((j * 7919 + i * 31 + axis) % 65521 / 7 for j in range(n))).tobytes()))
END
    bpk pack -q -z 64K -o d/x.blp raw.dcd
    bpk pack -q -z 64K -o d/x.b2frame raw.dcd
    serve d
    for name in x.blp x.b2frame; do
        bpk unpack -q --name x -o local d/$name
        before=$(count_requests)
        bpk unpack -q --name x -o remote "$url/$name"
        same local remote
        # 60 arrays of 80,000 bytes lie in two or three chunks each
        [ $(($(count_requests) - before)) -le 190 ] || die "$(cat "$requests")"
        rm local remote
    done
}

# Python has no server of HTTP/2.
@test "HTTP/2 over TLS, many requests on one connection" {
    need_urls
    need nginx
    need openssl
    archives
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout key -out cert -days 2 \
        -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 2>"$err"
    serve_nginx "ssl http2" "ssl_certificate $PWD/cert; ssl_certificate_key $PWD/key;"
    url=https://127.0.0.1:$port
    ends 1 bpk verify "$url/x.blp"
    says "x.blp: cannot open: .*certificate"
    for name in x.blp x.b2frame x.b2nd; do
        CURL_CA_BUNDLE=$PWD/cert bpk unpack -q -o u "$url/$name" && same u raw && rm u || wrong=$name
        SSL_CERT_FILE=$PWD/cert bpk verify "$url/$name" || wrong=$name
    done
    kill $server
    [ -z "${wrong:-}" ] || die "$wrong"
}

# Standard input: answers, one a line, as Python writes them. Request n gets answer n, later ones the last, and the
# connection is closed. $url is where.
answer() {
    local port=$PWD/port
    rm -f "$port"
    "$python" -c 'import os, socket, sys
answers = [eval("b\"" + line.rstrip("\n") + "\"") for line in sys.stdin]
listener = socket.create_server(("127.0.0.1", 0))
open(sys.argv[1] + ".new", "w").write(str(listener.getsockname()[1]))
os.rename(sys.argv[1] + ".new", sys.argv[1])
listener.settimeout(20)
for n in range(100):
    connection = listener.accept()[0]
    while b"\r\n\r\n" not in connection.recv(65536): pass
    connection.sendall(answers[min(n, len(answers) - 1)])
    connection.close()' "$port" 3>&- 2>/dev/null &
    answering=$!
    eventually [ -s "$port" ]
    url=http://127.0.0.1:$(cat "$port")
}

@test "an answer that is no answer is a failure" {
    need_urls
    need_python
    while IFS= read -r text; do
        answer <<<"$text"
        refuses 1 "x.blp: " bpk verify --timeout 1 -q "$url/x.blp"
        rm -f port
        kill $answering
    done <<'END'
HTTP/1.1 206 OK\r\nContent-Length: 0\r\n\r\n
HTTP/1.1 206 Partial Content\r\nContent-Type: a
HTTP/1.1 206 OK\r\nContent-Range: bytes 0-1/*\r\nContent-Length: 0\r\n\r\n
HTTP/1.1 206 OK\r\nContent-Range: bytes x\r\nContent-Length: 0\r\n\r\n
HTTP/1.1 200 OK\r\nContent-Ty
HTTP/1.0 200 OK\r\n\r\nhello
HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Range: bytes 0-4/3000000\r\n\r\nhello
HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Encoding: gzip\r\n\r\nhello
HTTP/1.1 101 Switching Protocols\r\n\r\n
END
}

@test "many threads share one connection, and what it brought" {
    need_urls
    mkdir d
    data noise 40000000 raw
    bpk pack -q -z 1M -o d/x.blp raw
    serve d
    for options in "-T 32 --connections 1" "-T 64 --connections 2" "-T 1 --connections 8"; do
        # shellcheck disable=SC2086
        timeout 60 "$BPK" verify -q $options "$url/x.blp" || die "$options"
        [ "$(count_bytes)" -le 44000000 ] || die "$options: $(count_bytes) bytes"
        : >"$requests"
    done
}

@test "ls -l and info -v of a server that fails: an error, no unknown size" {
    need_urls
    need_python
    mkdir d
    "$python" -c 'import random, struct
head = b"{\x27descr\x27: \x27<f8\x27, \x27fortran_order\x27: False, \x27shape\x27: (250000,)}".ljust(117) + b"\n"
random.seed(1)
open("d/a.npy", "wb").write(b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head + random.randbytes(2000000))'
    bpk pack -q -z 64K d/a.npy
    serve d
    quietly bpk ls -l $url/a.npy.blp
    grep -q '1\.000$' "$out"
    [ "$(wc -l <"$requests")" -ge 4 ]
    for command in "ls -l" "ls -l --json"; do
        stop_serving
        serve d --fault '403@4+'
        ends 1 bpk $command $url/a.npy.blp
        says "^bpk: $url/a.npy.blp: "
        [ "$(wc -l <"$err")" -eq 1 ]
    done
}
