load lib

# The server of the tests of remote archives (tests/lib/store), asked by http.client.

# Standard input, a Python program, with these helpers; the served folder is d, with the file d/b/x.
client() {
    url=$url requests=$requests "$python" - "$tests/lib" <<END
import collections, hashlib, http.client, os, re, sys, time
sys.path.insert(0, sys.argv[1])
host = os.environ["url"].partition("//")[2]
text = open("d/b/x", "rb").read()
Reply = collections.namedtuple("Reply", "status body headers")

def asked(connection, method, path, body=None, **headers):
    connection.request(method, path, body, {k.replace("_", "-"): v for k, v in headers.items()})
    answer = connection.getresponse()
    return Reply(answer.status, answer.read(), answer.headers)

def ask(method, path, body=None, seconds=5, **headers):
    return asked(http.client.HTTPConnection(host, timeout=seconds), method, path, body, **headers)

def get(range=None, path="/b/x", **headers):
    return ask("GET", path, **headers, **({"Range": "bytes=" + range} if range else {}))

def ends(*errors, seconds=5):
    try:
        reply = ask("GET", "/b/x", seconds=seconds)
    except errors as error:
        return error
    assert False, reply

def code(reply):
    return reply.status, re.search(b"<Code>(.*)</Code>", reply.body)[1].decode()

def found(tag, reply):
    return re.findall(f"<{tag}>([^<]*)</{tag}>", reply.body.decode())

$(cat)
END
}

folder() { mkdir -p d/b && printf 0123456789abcdef >d/b/x; }

@test "files, ranges and conditions" {
    folder
    truncate -s 5G d/b/sparse
    echo secret >outside
    ln -s ../../outside d/b/link
    serve d
    client <<'END'
whole = get()
tag, date = whole.headers["ETag"], whole.headers["Last-Modified"]
assert whole[:2] == (200, text) and whole.headers["Accept-Ranges"] == "bytes"
head = ask("HEAD", "/b/x")
assert head[:2] == (200, b"") and head.headers["Content-Length"] == "16" and head.headers["ETag"] == tag
for range, part, place in (("2-5", text[2:6], "2-5"), ("-3", b"def", "13-15"), ("12-", b"cdef", "12-15"),
                           ("9-99", text[9:], "9-15"), ("-99", text, "0-15"), ("0-1,99-", b"01", "0-1")):
    reply = get(range)
    assert reply[:2] == (206, part) and reply.headers["Content-Range"] == f"bytes {place}/16", reply
many = get("1-2,5-6,-1")
mark = many.headers["Content-Type"].partition("boundary=")[2].encode()
parts = [part.partition(b"\r\n\r\n") for part in many.body.split(b"\r\n--" + mark)[1:-1]]
assert many.status == 206 and [body for _, _, body in parts] == [b"12", b"56", b"f"]
assert b"Content-Range: bytes 5-6/16" in parts[1][0]
none = get("16-")
assert none.status == 416 and none.headers["Content-Range"] == "bytes */16"
assert get("5-2").status == get("x").status == 200
assert get("1-2", If_Range=tag).status == get("1-2", If_Range=date).status == 206
assert get("1-2", If_Range='"other"').status == 200
assert get(If_Match=f'"o", {tag}').status == 200 and get(If_Match='"o"').status == 412
assert get(If_None_Match=tag).status == 304 and get(If_None_Match='"o"').status == 200
assert get(If_Unmodified_Since="Thu, 01 Jan 1970 00:00:00 GMT").status == 412
reply = get("5368709118-", "/b/sparse")
assert reply[:2] == (206, b"\0\0") and reply.headers["Content-Range"].endswith("/5368709120")
for path in ("/b", "/b/none", "/b/link", "/../outside", "/%2e%2e/outside", "//../outside", "/b/../b/x"):
    assert code(get(path=path)) == (404, "NoSuchKey"), path
lines = [line.split("\t") for line in open(os.environ["requests"]).read().splitlines()]
assert lines[0] == ["1", "GET", "/b/x", "-", "200", "16"] and lines[2][3:] == ["bytes=2-5", "206", "4"]
kept = http.client.HTTPConnection(host, timeout=5)
assert [asked(kept, "GET", "/b/x").status for _ in (1, 2)] == [200, 200] and kept.sock
END
}

@test "servers that know less, answer late, or speak TLS" {
    folder
    serve d --no-range --no-etag --delay 0.2
    client <<'END'
began = time.monotonic()
reply = get("1-2", If_Match='"o"')
assert reply[:2] == (200, text) and "ETag" not in reply.headers and time.monotonic() - began > 0.2
END
    serve d --weak-etag --no-multirange
    client <<'END'
tag = get().headers["ETag"]
assert tag.startswith("W/") and get("1-2", If_Range=tag).status == 200 and get(If_None_Match=tag).status == 304
assert get("1-2").status == 206 and get("1-2,5-6")[:2] == (200, text)
END
    need openssl
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout key -out cert -days 2 \
        -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 2>"$err"
    serve d --tls cert key --fault reset@2
    client <<'END'
import ssl
safe = http.client.HTTPSConnection(host, timeout=5, context=ssl.create_default_context(cafile="cert"))
assert asked(safe, "GET", "/b/x", Range="bytes=1-2")[:2] == (206, b"12")
try:
    asked(safe, "GET", "/b/x")
    assert False
except ConnectionError:
    pass
END
}

@test "buckets: lists, conditions, uploads in parts" {
    folder
    serve d --page 2
    client <<'END'
for key in ("p/a", "p/b%20%26%2B", "p/c/1", "p/c/2", "p/d", "q"):
    assert ask("PUT", "/b/" + key, b"hello").status == 200
def listed(query):
    pages, token = [], ""
    while True:
        reply = ask("GET", "/b?list-type=2" + query + token)
        pages.append(found("Key", reply) + found("Prefix", reply)[1:])
        if found("IsTruncated", reply) == ["false"]:
            return pages
        token = "&continuation-token=" + found("NextContinuationToken", reply)[0]
assert listed("") == [["p/a", "p/b &amp;+"], ["p/c/1", "p/c/2"], ["p/d", "q"], ["x"]]
assert listed("&prefix=p/&delimiter=/") == [["p/a", "p/b &amp;+"], ["p/d", "p/c/"]]
assert listed("&delimiter=/&max-keys=1") == [["p/"], ["q"], ["x"]]
assert listed("&prefix=p/b&encoding-type=url") == [["p/b%20%26%2B"]]
assert code(ask("GET", "/none?list-type=2")) == (404, "NoSuchBucket")
tag = ask("PUT", "/b/k", b"one", If_None_Match="*").headers["ETag"]
assert tag == ask("HEAD", "/b/k").headers["ETag"]
assert code(ask("PUT", "/b/k", b"two", If_None_Match="*")) == (412, "PreconditionFailed")
assert code(ask("PUT", "/b/k", b"two", If_Match='"o"')) == (412, "PreconditionFailed")
assert get(path="/b/k").body == b"one"
assert ask("PUT", "/b/k", b"two", If_Match=tag).status == 200 and get(path="/b/k").body == b"two"
assert ask("DELETE", "/b/k").status == ask("DELETE", "/b/k").status == 204
assert code(ask("PUT", "/b/k", b"two", If_Match=tag)) == (404, "NoSuchKey")

def begin():
    return "/b/m?uploadId=" + found("UploadId", ask("POST", "/b/m?uploads"))[0]
def end(upload, parts):
    rows = "".join(f"<Part><PartNumber>{n}</PartNumber><ETag>{tag}</ETag></Part>" for n, tag in parts)
    return ask("POST", upload, f"<CompleteMultipartUpload>{rows}</CompleteMultipartUpload>")
one = begin()
tags = [ask("PUT", f"{one}&partNumber={n}", body).headers["ETag"] for n, body in
        ((1, b"a" * (5 << 20)), (2, b"b"), (3, b"c"))]
assert code(get(path="/b/m")) == (404, "NoSuchKey")
assert found("UploadId", ask("GET", "/b?uploads")) == [one.partition("=")[2]] == os.listdir("d/.uploads")
assert get(path="/.uploads/" + one.partition("=")[2] + "/key").status == 404
assert code(end(one, [])) == (400, "MalformedXML")
assert code(end(one, [(2, tags[1]), (1, tags[0])])) == (400, "InvalidPartOrder")
assert code(end(one, [(1, tags[1])])) == code(end(one, [(4, tags[1])])) == (400, "InvalidPart")
assert code(end(one, enumerate(tags, 1))) == (400, "EntityTooSmall")
done = end(one, [(1, tags[0]), (3, tags[2])])
assert done.status == 200 and found("ETag", done) == [ask("HEAD", "/b/m").headers["ETag"]]
assert get(path="/b/m").body == b"a" * (5 << 20) + b"c"
assert code(end(one, [(1, tags[0])])) == (404, "NoSuchUpload")
two = begin()
assert ask("PUT", f"{two}&partNumber=1", b"a").status == 200
assert ask("DELETE", two).status == 204 and code(ask("DELETE", two)) == (404, "NoSuchUpload")
assert os.listdir("d/.uploads") == []
END
}

@test "signatures of version 4" {
    folder
    serve d --key ACCESS:SECRET
    client <<'END'
from store_s3 import canonical_request, signature
# Amazon S3 API Reference, "Signature Calculations for the Authorization Header", "Example: GET Object"
empty = hashlib.sha256(b"").hexdigest()
signed = {"host": "examplebucket.s3.amazonaws.com", "range": "bytes=0-9", "x-amz-content-sha256": empty,
          "x-amz-date": "20130524T000000Z"}
request = canonical_request("GET", "/test.txt", signed, sorted(signed), empty)
assert signature("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "20130524T000000Z",
                 "20130524/us-east-1/s3/aws4_request", request)[0] == \
    "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"

def put(access="ACCESS", secret="SECRET", payload="UNSIGNED-PAYLOAD", age=0, unsigned=()):
    date = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(time.time() - age))
    scope = f"{date[:8]}/eu-west-1/s3/aws4_request"
    headers = {"host": host, "x-amz-content-sha256": payload, "x-amz-date": date, "x-amz-security-token": "T"}
    names = sorted(set(headers) - set(unsigned))
    made = signature(secret, date, scope, canonical_request("PUT", "/b/a%20b?x=", headers, names, payload))[0]
    headers["Authorization"] = (f"AWS4-HMAC-SHA256 Credential={access}/{scope}, "
                                f"SignedHeaders={';'.join(names)}, Signature={made}")
    return ask("PUT", "/b/a%20b?x=", b"hello", **headers)
assert put().status == put(payload=hashlib.sha256(b"hello").hexdigest()).status == 200
assert code(put(secret="OTHER")) == (403, "SignatureDoesNotMatch")
assert code(put(access="OTHER")) == (403, "InvalidAccessKeyId")
assert code(put(age=1000)) == (403, "RequestTimeTooSkewed")
assert code(put(unsigned=["x-amz-security-token"])) == code(get()) == (403, "AccessDenied")
assert code(put(payload=hashlib.sha256(b"other").hexdigest())) == (400, "XAmzContentSHA256Mismatch")
END
}

@test "faults instead of an answer, and in its head" {
    folder
    serve d --fault 503@1 --fault 429@2 --fault reset@3 --fault lost@4 --fault garbage@5 --fault empty@6 \
        --fault error-in-200@7 --fault redirect@8,9 --fault redirect-loop@10 --fault redirect-host@11 \
        --fault redirect-scheme@12 --fault redirect-ftp@13 --fault redirect-plain@14 --fault big-headers@15 \
        --fault 500@17+
    client <<'END'
reply = get()
assert code(reply) == (503, "SlowDown") and reply.headers["Retry-After"] == "1"
assert get().status == 429
assert type(ends(OSError)) is ConnectionResetError
try:
    ask("PUT", "/b/lost", b"kept")
    assert False
except ConnectionResetError:
    assert open("d/b/lost").read() == "kept"
ends(http.client.BadStatusLine)
assert get()[:2] == (200, b"") and code(get()) == (200, "InternalError")
def place(path="/b/x"):
    reply = get(path=path)
    assert reply.status == 302
    return reply.headers["Location"]
assert place() == "/b/x?r=1" and get(path="/b/x?r=1").status == 200
assert place() == "/b/x" and place() == "http://localhost:" + host.split(":")[1] + "/b/x"
assert place() == "file:///etc/passwd" and place().startswith("ftp://") and place() == f"http://{host}/b/x"
ends(http.client.HTTPException)
assert get().status == 200 and get().status == get().status == 500
END
}

@test "faults in the body" {
    folder
    serve d --fault cut@1 --fault short@2 --fault stall@3 --fault slow@4 --fault long@5 --fault ignore-range@6 \
        --fault wrong-range@7 --fault wrong-size@8 --fault wrong-bytes@9 --fault change@11 --fault truncate@13
    client <<'END'
reply = get("2-9")
assert reply[:2] == (206, text[2:6]) and "Content-Length" not in reply.headers
assert ends(http.client.IncompleteRead).partial == text[:8]
ends(TimeoutError, seconds=0.2)
ends(TimeoutError, seconds=0.2)
kept = http.client.HTTPConnection(host, timeout=5)
kept.request("GET", "/b/x")
raw = b""
while not raw.endswith(b"x" * 1000):
    raw += kept.sock.recv(65536) or sys.exit("the connection ended")
assert b"Content-Length: 16\r\n" in raw and raw.endswith(text + b"x" * 1000)
assert get("2-3")[:2] == (200, text)
for range, size in (("3-4", 16), ("2-3", 17)):
    reply = get("2-3")
    assert reply[:2] == (206, b"23") and reply.headers["Content-Range"] == f"bytes {range}/{size}"
reply = get("2-3")
assert reply[:2] == (206, b"45") and reply.headers["Content-Range"] == "bytes 2-3/16"
assert get(If_Match=get().headers["ETag"]).status == 412
assert get().body == text[:8] + bytes([255 - text[8]]) + text[9:]
assert ends(http.client.IncompleteRead).partial == text[:8] == get().body
END
}

@test "it ends with its input, by a signal, and in time" {
    folder
    need_python
    mkfifo in
    for way in input signal time; do
        "$python" "$tests/lib/store" d --port-file port --seconds "$([ $way = time ] && echo 0.3 || echo 60)" <in &
        exec {input}>in
        eventually [ -e port ]
        [ $way != input ] || exec {input}>&-
        [ $way != signal ] || kill $!
        status=0
        wait $! || status=$?
        [ $way = signal ] && [ $status -eq 143 ] || [ $status -eq 0 ] || die "$way: status $status"
        rm port
    done
    ends 1 "$python" "$tests/lib/store" d --fault nothing@1
    says 'no such fault: nothing@1'
}
