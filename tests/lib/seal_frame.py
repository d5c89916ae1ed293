"""KIND FIRST COUNT IN DIR: manipulate a sealed frame COUNT times, into files (of a sparse frame: directories)
DIR/FIRST, DIR/FIRST+1, ..., so that all of bpk's digests fit. IN must be as `bpk pack` wrote it; ZEROS=N,N,... are
the numbers of its chunks that hold zeros. The kind "none" changes nothing."""
import hashlib, os, struct, zlib

from seal_main import main

STORED, BIN, STR = 0x17, 0xC6, 0xDA
FIELDS = {"frame": (16, ">Q"), "raw": (30, ">Q"), "packed": (39, ">Q"), "type": (48, ">I"), "chunk": (58, ">i")}
CRCS = {1: lambda b: struct.pack("<I", zlib.adler32(b)), 2: lambda b: struct.pack("<I", zlib.crc32(b)),
        3: lambda b: hashlib.md5(b).digest(), 6: lambda b: hashlib.sha256(b).digest()}
MARK = b"bpk sealed frame"


def stored(raw):  # a chunk of the frame itself
    flags = STORED if len(raw) >= 32 else 0x07
    block = 1 if len(raw) < 8 else len(raw) - len(raw) % 8
    head = bytearray(32)
    struct.pack_into("<BBBBIII", head, 0, 5, 1, flags, 8, len(raw), block, 32 + len(raw))
    head[21] = 1
    return bytes(head) + raw


class Frame:
    def __init__(self, path):
        self.sparse = os.path.isdir(path)
        index = os.path.join(path, "chunks.b2frame") if self.sparse else path
        data = open(index, "rb").read()
        size = struct.unpack_from(">I", data, 11)[0]
        self.header = bytearray(data[:size])
        self.take_trailer(data[len(data) - struct.unpack_from(">I", data, len(data) - 22)[0]:])
        self.take_chunks(path, data, size)

    def get(self, field):
        at, form = FIELDS[field]
        return struct.unpack_from(form, self.header, at)[0]

    def set(self, field, value):
        at, form = FIELDS[field]
        struct.pack_into(form, self.header, at, value)

    def take_trailer(self, t):
        self.layers, at = [], 2 + 7
        for _ in range(struct.unpack_from(">H", t, 7)[0]):
            n = t[at] & 31
            name = t[at + 1:at + 1 + n].decode()
            place = struct.unpack_from(">I", t, at + n + 2)[0]
            at += n + 6
            length = struct.unpack_from(">I", t, place + 1)[0]
            self.layers.append([name, t[place + 5:place + 5 + length]])
        digests = self.layer("bpk_digests")
        self.checksum = digests[32 + 5 + 5] if digests else 0
        self.stale = None  # or the digests that another program keeps when it changes the frame
        self.digests = digests[37:] if digests else b""
        self.layers = [l for l in self.layers if l[0] != "bpk_digests"]

    def layer(self, name):
        return next((l[1] for l in self.layers if l[0] == name), None)

    def take_chunks(self, path, data, at):
        count = -(-self.get("raw") // self.get("chunk"))
        zeros = {int(n) for n in os.environ.get("ZEROS", "").split(",") if n}
        self.chunks, number = [], 0
        for i in range(count):  # an entry of the index, or the bytes of a chunk
            if i in zeros:
                self.chunks.append(0x81 << 56)
                continue
            if self.sparse:
                self.chunks.append(open(os.path.join(path, "%08X.chunk" % number), "rb").read())
                number += 1
                continue
            n = struct.unpack_from("<I", data, at + 12)[0]
            self.chunks.append(data[at:at + n])
            at += n

    def section(self, layers):
        names = sum(len(l[0]) + 6 for l in layers)
        at, head, values = 2 + 7 + names + 3, b"", b""
        for name, chunk in layers:
            head += bytes([0xA0 | len(name)]) + name.encode() + b"\xd2" + struct.pack(">I", at + len(values))
            values += bytes([BIN]) + struct.pack(">I", len(chunk)) + chunk
        return (b"\x93\xcd" + struct.pack(">H", 7 + names) + b"\xde" + struct.pack(">H", len(layers)) + head
                + b"\xdc" + struct.pack(">H", len(layers)) + values)

    def trailer(self, digests):
        layers = self.layers + ([["bpk_digests", stored(b"\xc6" + struct.pack(">I", len(digests)) + digests)]]
                                if digests else [])
        body = b"\x94\x01" + self.section(layers)
        tail = b"\xce" + struct.pack(">I", len(body) + 23) + b"\xd8\x00" + (MARK if digests and not self.stale else bytes(16))
        return body + tail

    def ending(self, index, payload):
        """Header, and index with trailer, whose digests fit."""
        d = CRCS.get(self.checksum) if not self.stale else None
        n = len(d(b"")) if d else 0
        empty = bytes(116 + n * (3 + len(self.chunks))) if d else self.stale or b""
        size = len(index) + len(self.trailer(empty)) + len(self.header)
        self.set("frame", size if self.sparse else size + payload)
        self.set("packed", payload)
        if not d:
            return self.header, index + self.trailer(empty)
        head = bytearray(116)
        struct.pack_into("<4sBBHQQ", head, 0, b"bpkd", 2, self.checksum, 0, self.get("frame"), len(self.chunks))
        head[24:24 + 87] = self.header[:87]
        head[112:] = struct.pack("<I", zlib.crc32(head[:112]))
        chunks = b"".join(bytes(n) if isinstance(c, int) else d(c) for c in self.chunks)
        parts = d(self.header) + (d(index) if index else bytes(n))
        head = bytes(head)
        own = d(self.trailer(head + parts + bytes(n) + chunks))
        return self.header, index + self.trailer(head + parts + own + chunks)

    def write(self, path, behind=b""):
        entries, at, number = [], 0, 0
        for c in self.chunks:
            entries.append(c if isinstance(c, int) else number if self.sparse else at)
            if not isinstance(c, int):
                at, number = at + len(c), number + 1
        index = stored(b"".join(struct.pack("<Q", e) for e in entries)) if entries else b""
        header, tail = self.ending(index, at)
        places = [c for c in self.chunks if not isinstance(c, int)]
        if not self.sparse:
            open(path, "wb").write(bytes(header) + b"".join(places) + tail + behind)
            return
        os.mkdir(path)
        open(path + "/chunks.b2frame", "wb").write(bytes(header) + tail + behind)
        for i, c in enumerate(places):
            open(path + "/%08X.chunk" % i, "wb").write(c)


def pick(frame, rng, want):
    while True:
        i, k = rng.sample(range(len(frame.chunks) - 1), 2)
        if want(frame.chunks[i], frame.chunks[k]):
            return i, k


def two_stored(a, b):
    return isinstance(a, bytes) and isinstance(b, bytes) and a != b


def break_swap(f, rng):
    i, k = pick(f, rng, two_stored)
    f.chunks[i], f.chunks[k] = f.chunks[k], f.chunks[i]


def break_copy(f, rng):
    i, k = pick(f, rng, two_stored)
    f.chunks[i] = f.chunks[k]


def break_special(f, rng):  # in and out of the index, or another value
    i, k = pick(f, rng, lambda a, b: isinstance(a, int))
    way = rng.randrange(3)
    if way == 0:
        f.chunks[i] = 0x84 << 56
    elif way == 1:
        f.chunks[pick(f, rng, two_stored)[0]] = 0x81 << 56
    else:
        f.chunks[i], f.chunks[k] = (f.chunks[k], f.chunks[i]) if f.chunks[k] != f.chunks[i] else (0x84 << 56, f.chunks[k])


def break_cut(f, rng):
    cut = rng.randrange(1, len(f.chunks))
    del f.chunks[cut:]
    f.set("raw", cut * f.get("chunk"))


def break_kind(f, rng):
    f.checksum = rng.choice([c for c in (0, 1, 2, 3, 6) if c != f.checksum])


def break_record(f, rng):
    f.layers = [l for l in f.layers if l[0] != "bpk_seal"]


def break_mark(f, rng):
    at = bytes(f.header).index(b"bpk_seal") + rng.randrange(8)
    f.header[at] = rng.choice([c for c in b"abcdefghijkl" if c != f.header[at]])


def break_field(f, rng):
    chunk = bytearray(f.layer("bpk_seal"))
    spots = [i for i in range(35, len(chunk)) if chunk[i] in b"0123456789abcdef" and chr(chunk[i + 1]) not in "s"
             and (chr(chunk[i]).isdigit() or chr(chunk[i + 1]) in "0123456789abcdef\"")]
    at = rng.choice(spots)
    chunk[at] = rng.choice([c for c in b"0123456789" if c != chunk[at]])
    next(l for l in f.layers if l[0] == "bpk_seal")[1] = bytes(chunk)


def break_metadata(f, rng):
    layer = next(l for l in f.layers if l[0] == "step")
    layer[1] = stored(bytes([rng.choice([n for n in range(128) if n != 7])]))


def break_layer(f, rng):  # one more, another name, none
    way = rng.randrange(3)
    if way == 0:
        f.layers.insert(rng.randrange(len(f.layers) + 1), ["more%d" % rng.randrange(99), stored(b"\x01")])
    elif way == 1:
        next(l for l in f.layers if l[0] == "step")[0] = "ste" + rng.choice("abcdefgh")
    else:
        f.layers = [l for l in f.layers if l[0] != "step"]


def break_header(f, rng):  # the typesize, defaults for new chunks, the dtype of an array
    dtype = bytes(f.header).find(b"<i4")
    if dtype >= 0 and rng.randrange(2):
        f.header[dtype + 1] = rng.choice(b"uf")
    elif dtype >= 0 or rng.randrange(2):
        at = rng.choice([27, 28, 53 + 3, 71, 78])
        f.header[at] = (f.header[at] & 0xF0) | rng.choice([n for n in range(4) if n != f.header[at] & 15])
    else:
        f.set("type", rng.choice([n for n in range(1, 256) if n != f.get("type")]))


def break_foreign(f, rng):  # as c-blosc2 appends
    f.stale = f.digests
    struct.pack_into(">H", f.header, 63, 1)
    struct.pack_into(">H", f.header, 66, 1)
    f.chunks[-1] = f.chunks[0]
    f.set("raw", len(f.chunks) * f.get("chunk"))


def behind(f, rng, source):
    head = bytes(f.header)
    return rng.choice([rng.randbytes(rng.randrange(1, 300)), bytes(rng.randrange(1, 300)), head,
                       head if f.sparse else open(source, "rb").read()])


main(Frame, globals(), behind)
