"""The S3 half of tests/lib/store: its answers and errors, signatures, buckets and uploads.

A folder of the served one is a bucket, in path style: ListObjectsV2, PUT with conditions, DELETE,
multipart uploads. The parts of an upload lie in DIR/.uploads/ID, beside the files `key` with its
path, `mark` with its metadata and `checked` if its parts have CRCs, until it is completed or
aborted. Metadata of objects are kept in memory, by inode.
"""

import base64
import calendar
import contextlib
import glob
import hashlib
import hmac
import os
import re
import secrets
import shutil
import time
import urllib.parse
import zlib
from xml.etree import ElementTree
from xml.sax.saxutils import escape

BLOCK = 64 << 10
SMALLEST_PART = 5 << 20
SKEW = 15 * 60
OWN = (".uploads", ".drafts")   # folders beside the buckets; the second has bodies of requests
MARK, CHECKSUM = "x-amz-meta-bpk-upload", "x-amz-checksum-crc32"
CODES = {401: "AccessDenied", 403: "AccessDenied", 409: "ConditionalRequestConflict",
         429: "TooManyRequests", 500: "InternalError", 501: "NotImplemented", 503: "SlowDown"}


class Markup(str):
    """Text that is XML already."""


def xml(name, *content):
    inner = "".join(c if isinstance(c, Markup) else escape(str(c)) for c in content)
    return Markup(f"<{name}>{inner}</{name.split()[0]}>")


def document(name, *content):
    text = '<?xml version="1.0" encoding="UTF-8"?>\n' + xml(name, *content)
    return text.encode("utf-8", "replace")


def answer_xml(name, *content):
    body = document(f'{name} xmlns="http://s3.amazonaws.com/doc/2006-03-01/"', *content)
    return Answer(200, {"Content-Type": "application/xml"}, body)


class Slice:
    """A range of an open file, which is read when the body is sent."""

    def __init__(self, file, start, end):
        self.file, self.start, self.end = file, start, end

    def __len__(self):
        return self.end - self.start

    def __getitem__(self, key):
        return os.pread(self.file.fileno(), key.stop - key.start, self.start + key.start)


class Answer:
    """A status, headers, and a body of bytes and slices."""

    def __init__(self, status, headers=(), *body):
        self.status, self.headers, self.body = status, dict(headers), list(body)

    def size(self):
        return sum(len(part) for part in self.body)

    def pieces(self, limit, step):
        """At most `limit` bytes of the body; it ends early where a file has become shorter."""
        for part in self.body:
            size = min(len(part), limit)
            limit -= size
            for at in range(0, size, step):
                piece = part[at:min(at + step, size)]
                if not piece:
                    return
                yield piece


class Refusal(Exception):
    """Ends a request with an S3 error."""

    def __init__(self, status, code=None, message="", headers=(), extra=()):
        super().__init__(status)
        body = document("Error", xml("Code", code or CODES.get(status, "Refused")),
                        xml("Message", message), *extra)
        self.answer = Answer(status, {"Content-Type": "application/xml", **dict(headers)})
        if status != 304:
            self.answer.body.append(body)


def forget(path):
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def keys_below(folder):
    for where, _, names in os.walk(folder):
        for name in names:
            yield os.path.relpath(os.path.join(where, name), folder)


def quoted(text, safe=""):
    return urllib.parse.quote(text, safe=safe + "-_.~", errors="surrogateescape")


def unquoted(text):
    return urllib.parse.unquote(text, errors="surrogateescape")


def canonical_request(method, target, headers, signed, payload):
    """AWS Signature Version 4, "Create a canonical request"; `headers` has lower-case names."""
    path, _, query = target.partition("?")
    pairs = [pair.partition("=") for pair in query.split("&") if pair]
    pairs = sorted((quoted(unquoted(name)), quoted(unquoted(value))) for name, _, value in pairs)
    lines = [f"{name}:{' '.join(headers.get(name, '').split())}\n" for name in signed]
    return "\n".join([method, "/".join(quoted(unquoted(part)) for part in path.split("/")),
                      "&".join(f"{name}={value}" for name, value in pairs),
                      "".join(lines), ";".join(signed), payload])


def signature(secret, date, scope, request):
    """Of a canonical request, with the string that is signed."""
    digest = hashlib.sha256(request.encode("utf-8", "surrogateescape")).hexdigest()
    text = "\n".join(["AWS4-HMAC-SHA256", date, scope, digest])
    key = b"AWS4" + secret.encode()
    for part in scope.split("/") + [text]:
        key = hmac.digest(key, part.encode(), "sha256")
    return key.hex(), text


class Bucket:
    """What a handler does for S3; it has `query`, `target_path`, the body's draft and digest."""

    def authorize(self):
        headers = {name.lower(): value for name, value in self.headers.items()}
        parsed = re.fullmatch(r"AWS4-HMAC-SHA256 +Credential=([^/,]+)/([^,]+), *SignedHeaders="
                              r"([^,]+), *Signature=([0-9a-f]{64})",
                              headers.get("authorization", ""))
        if not parsed:
            raise Refusal(403, "AccessDenied", "no signature of version 4")
        access, scope, signed, given = parsed.groups()
        signed, date = signed.split(";"), headers.get("x-amz-date", "")
        payload = headers.get("x-amz-content-sha256", "")
        key, secret, token = self.server.key
        if access != key:
            raise Refusal(403, "InvalidAccessKeyId")
        if not re.fullmatch(re.escape(date[:8]) + "/[^/]+/s3/aws4_request", scope) or not payload:
            raise Refusal(403, "AccessDenied", "wrong scope, or no x-amz-content-sha256")
        must = {"host"} | {name for name in headers if name.startswith("x-amz-")}
        if signed != sorted(signed) or not must <= set(signed):
            raise Refusal(403, "AccessDenied", f"sign in order, with {sorted(must)}")
        request = canonical_request(self.command, self.path, headers, signed, payload)
        right, text = signature(secret, date, scope, request)
        if not hmac.compare_digest(right, given):
            raise Refusal(403, "SignatureDoesNotMatch", "the signature is another", extra=[
                xml("StringToSign", text), xml("CanonicalRequest", request)])
        if abs(calendar.timegm(time.strptime(date, "%Y%m%dT%H%M%SZ")) - time.time()) > SKEW:
            raise Refusal(403, "RequestTimeTooSkewed")
        if token is not None and headers.get("x-amz-security-token") != token:
            raise Refusal(400, "InvalidToken")
        if payload not in ("UNSIGNED-PAYLOAD", self.payload.hexdigest()):
            raise Refusal(400, "XAmzContentSHA256Mismatch")

    def bucket(self, path):
        name = self.target_path.split("/")[1]
        folder = os.path.join(self.server.root, name)
        if name in ("", ".", "..", *OWN) or not os.path.isdir(folder):
            raise Refusal(404, "NoSuchBucket")
        if path and (self.target_path.endswith("/") or os.path.dirname(path) == self.server.root):
            raise Refusal(400, "InvalidArgument", "no key of an object")
        return name, folder

    def list_objects(self):
        bucket, folder = self.bucket(None)
        query, token = self.query, self.query.get("continuation-token", "")
        after = base64.urlsafe_b64decode(token).decode() if token else query.get("start-after", "")
        count = min(int(query.get("max-keys", 1000)), self.server.options.page)
        names = sorted(name for name in self.collapsed(folder) if name[0] > after)
        rows = [self.list_row(folder, *name) for name in names[:count]]
        if "encoding-type" in query:
            rows.append(xml("EncodingType", query["encoding-type"]))
        more = 0 < count < len(names)
        if more:
            token = base64.urlsafe_b64encode(names[count - 1][0].encode()).decode()
            rows.append(xml("NextContinuationToken", token))
        return answer_xml("ListBucketResult", xml("Name", bucket),
                          xml("Prefix", self.listed(query.get("prefix", ""))),
                          xml("KeyCount", len(names[:count])), xml("MaxKeys", count),
                          xml("IsTruncated", str(more).lower()), *rows)

    def collapsed(self, folder):
        """Pairs (name, False) of keys and (name, True) of common prefixes."""
        prefix, delimiter = self.query.get("prefix", ""), self.query.get("delimiter", "")
        found = set()
        for key in keys_below(folder):
            if key.startswith(prefix):
                at = key.find(delimiter, len(prefix)) if delimiter else -1
                found.add((key, False) if at < 0 else (key[:at + len(delimiter)], True))
        return found

    def listed(self, name):
        return quoted(name, "/") if self.query.get("encoding-type") == "url" else name

    def list_row(self, folder, name, common):
        if common:
            return xml("CommonPrefixes", xml("Prefix", self.listed(name)))
        state = os.stat(os.path.join(folder, name))
        changed = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(state.st_mtime))
        return xml("Contents", xml("Key", self.listed(name)), xml("LastModified", changed),
                   xml("ETag", self.etag(state)), xml("Size", state.st_size),
                   xml("StorageClass", "STANDARD"))

    def list_uploads(self):
        bucket, _ = self.bucket(None)
        rows = []
        for key in sorted(glob.glob(f"{self.server.uploads}/*/key")):
            with open(key, encoding="utf-8", errors="surrogateescape") as file:
                _, owner, name = file.read().split("/", 2)
            if owner == bucket:
                rows.append(xml("Upload", xml("Key", name), xml("UploadId", key.split("/")[-2])))
        return answer_xml("ListMultipartUploadsResult", xml("Bucket", bucket),
                          xml("IsTruncated", "false"), *rows)

    # ---- writing ----

    def keep(self, path, source, mark):
        """Give a finished draft the name of an object, if the request's conditions hold."""
        with self.server.lock:
            self.require(os.stat(path) if os.path.isfile(path) else None)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            os.replace(source, path)
            state = os.stat(path)
            self.server.marks[state.st_ino, state.st_mtime_ns] = mark
            return {"ETag": self.etag(state)}

    def mark(self):
        """The metadata that a request gives to its object."""
        return self.headers.get(MARK, "") if not self.server.options.no_metadata else ""

    def compare(self):
        """The CRC-32 that the body has, if it is the one that the header names, or there is none."""
        self.draft.seek(0)
        crc = 0
        while piece := self.draft.read(BLOCK):
            crc = zlib.crc32(piece, crc)
        right = base64.b64encode(crc.to_bytes(4, "big")).decode()
        if self.headers.get(CHECKSUM, right) != right:
            raise Refusal(400, "BadDigest", "the CRC-32 is another")
        return right

    def put_object(self):
        path = self.locate()
        self.bucket(path)
        if "Content-Length" not in self.headers:
            raise Refusal(411, "MissingContentLength")
        self.compare()
        return Answer(200, self.keep(path, self.draft.name, self.mark()))

    def delete_object(self):
        path = self.locate()
        self.bucket(path)
        with self.server.lock:
            self.require(os.stat(path) if os.path.isfile(path) else None)
            forget(path)
        return Answer(204)

    def upload(self, name):
        """The folder of an open upload to this path."""
        folder = f"{self.server.uploads}/{name}"
        try:
            with open(f"{folder}/key", encoding="utf-8", errors="surrogateescape") as file:
                if re.fullmatch("[0-9a-f]{32}", name) and file.read() == self.target_path:
                    return folder
        except OSError:
            pass
        raise Refusal(404, "NoSuchUpload")

    def begin(self):
        bucket, _ = self.bucket(self.locate())
        name = secrets.token_hex(16)
        os.makedirs(f"{self.server.uploads}/{name}")
        with open(f"{self.server.uploads}/{name}/key", "w", encoding="utf-8",
                  errors="surrogateescape") as file:
            file.write(self.target_path)
        with open(f"{self.server.uploads}/{name}/mark", "w", encoding="ascii") as file:
            file.write(self.mark())
        answer = answer_xml("InitiateMultipartUploadResult", xml("Bucket", bucket),
                            xml("Key", self.target_path.split("/", 2)[2]), xml("UploadId", name))
        if "x-amz-checksum-algorithm" in self.headers and not self.server.options.no_checksum:
            answer.headers["x-amz-checksum-algorithm"] = self.headers["x-amz-checksum-algorithm"]
            open(f"{self.server.uploads}/{name}/checked", "w", encoding="ascii").close()
        return answer

    def put_part(self, folder):
        number = self.query.get("partNumber", "")
        if not number.isdigit() or not 1 <= int(number) <= 10000:
            raise Refusal(400, "InvalidArgument", "partNumber is 1 to 10000")
        path, crc = f"{folder}/{int(number):05}", self.compare()
        if CHECKSUM not in self.headers and os.path.exists(f"{folder}/checked"):
            raise Refusal(400, "InvalidRequest", "a part without its CRC-32")
        with self.server.lock:      # not while it is aborted
            self.upload(self.query["uploadId"])
            with open(f"{path}.crc", "w", encoding="ascii") as file:
                file.write(crc)
            os.replace(self.draft.name, path)
        return Answer(200, {"ETag": self.etag(os.stat(path))})

    def complete(self, folder):
        path, parts = self.locate(), self.parts_named()
        self.draft.seek(0)
        self.draft.truncate()
        for number, tag, crc in parts:
            part = f"{folder}/{number:05}"
            if not os.path.isfile(part) or self.etag(os.stat(part)).strip('"') != tag:
                raise Refusal(400, "InvalidPart", number)
            with open(f"{part}.crc", encoding="ascii") as file:
                if os.path.exists(f"{folder}/checked") and crc != file.read():
                    raise Refusal(400, "InvalidPart", f"the CRC-32 of {number}")
            small = os.path.getsize(part) < SMALLEST_PART and number != parts[-1][0]
            if small and not self.server.options.small_parts:
                raise Refusal(400, "EntityTooSmall", number)
            with open(part, "rb") as file:
                shutil.copyfileobj(file, self.draft)
        self.draft.flush()
        with open(f"{folder}/mark", encoding="ascii") as file:
            headers = self.keep(path, self.draft.name, file.read())
        shutil.rmtree(folder)
        bucket, key = self.target_path.split("/", 2)[1:]
        return answer_xml("CompleteMultipartUploadResult", xml("Bucket", bucket), xml("Key", key),
                          xml("ETag", headers["ETag"]))

    def parts_named(self):
        """Number, entity tag without quotes and CRC-32 from the body of a request to complete."""
        self.draft.seek(0)
        try:
            tree = ElementTree.parse(self.draft)
            parts = [(int(part.findtext("{*}PartNumber")), part.findtext("{*}ETag").strip('"'),
                      part.findtext("{*}ChecksumCRC32"))
                     for part in tree.iterfind("{*}Part")]
        except (ElementTree.ParseError, AttributeError, TypeError, ValueError):
            parts = []
        numbers = [number for number, *_ in parts]
        if not parts:
            raise Refusal(400, "MalformedXML")
        if numbers != sorted(set(numbers)):
            raise Refusal(400, "InvalidPartOrder")
        return parts

    def abort(self, folder):
        with self.server.lock:
            shutil.rmtree(folder)
        return Answer(204)


