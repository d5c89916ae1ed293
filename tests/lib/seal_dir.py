"""KIND FIRST COUNT IN DIR: manipulate a sealed chunked directory COUNT times, into directories DIR/FIRST, DIR/FIRST+1,
..., so that all of bpk's digests fit. IN is of the layout Blaze, with columns or without. The kind "none" changes
nothing; "foreign" appends as another program does, which knows no digests."""
import hashlib, json, os, struct, zlib

from seal_main import main

SIZES = [0, 4, 4]
M = (1 << 64) - 1
SUMS = {0: lambda b: b"", 1: lambda b: struct.pack("<I", zlib.adler32(b)), 2: lambda b: struct.pack("<I", zlib.crc32(b)),
        6: lambda b: hashlib.sha256(b).digest()}


def mix(x):  # src/format/chunkdir/digest.c
    x = (x ^ x >> 32) * 0x9E3779B97F4A7C15 & M
    x = (x ^ x >> 29) * 0xD6E8FEB86659FD93 & M
    return x ^ x >> 32


class Directory:
    foreign = False

    def __init__(self, path):
        read = lambda name: open(os.path.join(path, name), "rb").read()
        self.sizes = json.loads(read("meta/sizes"))
        self.storage = read("meta/storage")
        self.attributes = read("meta/attributes")
        self.rows = self.sizes["shape"][0]
        kept = json.loads(self.storage)
        self.chunklen, self.per_file = kept["chunklen"], kept["superchunksize"]
        folders = sorted(d for d in os.listdir(path + "/data") if os.path.isdir(path + "/data/" + d))
        self.folders = ["data/" + f for f in folders] or ["data"]
        self.columns = [self.take(path, f) for f in self.folders]

    def take(self, path, folder):
        chunks = []
        for n in range(len([f for f in os.listdir(os.path.join(path, folder)) if f.endswith(".bin")])):
            data = open(os.path.join(path, folder, "__%d__.bin" % (n + 1)), "rb").read()
            self.head = data[:32]
            self.checksum = data[6]
            for offset in struct.unpack_from("<%dq" % struct.unpack_from("<q", data, 16)[0], data, 32):
                size = struct.unpack_from("<I", data, offset + 12)[0]
                chunks.append(data[offset:offset + size])
        return chunks

    def file(self, chunks, full):
        offsets, body, at = b"", b"", 32 + 8 * len(chunks)
        for c in chunks:
            offsets += struct.pack("<q", at + len(body))
            body += c + SUMS[self.checksum](c)
        head = bytearray(self.head)
        head[6] = self.checksum
        struct.pack_into("<iiqq", head, 8, full, struct.unpack_from("<I", chunks[-1], 4)[0], len(chunks), 0)
        return bytes(head) + offsets + body

    def share(self, column, number, chunk):
        digest = SUMS[self.checksum](chunk)
        identity = zlib.crc32(chunk[:16] + digest) if digest else zlib.crc32(chunk)
        return mix(mix(mix(column + 1) + number & M) + identity & M)

    def write(self, path, behind=b""):
        os.makedirs(path + "/meta")
        data = last = size = 0
        for k, (folder, chunks) in enumerate(zip(self.folders, self.columns)):
            os.makedirs(os.path.join(path, folder), exist_ok=True)
            full = struct.unpack_from("<I", chunks[0], 4)[0]
            for at in range(0, len(chunks), self.per_file):
                content = self.file(chunks[at:at + self.per_file], full)
                size += len(content)
                name = "__%d__.bin" % (at // self.per_file + 1)
                open(os.path.join(path, folder, name), "wb").write(content + behind)
            for i, c in enumerate(chunks):
                share = self.share(k, i, c)
                if struct.unpack_from("<I", c, 4)[0] == full and (i + 1) * self.chunklen <= self.rows:
                    data += share
                else:
                    last += share
        self.write_meta(path, data & M, last & M, size)

    def write_meta(self, path, data, last, size):
        crcs = zlib.crc32(self.storage), zlib.crc32(self.attributes)
        row = self.sizes["nbytes"] // self.sizes["shape"][0]
        sizes = {"shape": [self.rows], "nbytes": self.rows * row, "cbytes": size}
        numbers = struct.pack("<8Q", self.rows * row, size, data, last, crcs[0], 1, crcs[1], self.rows)
        sizes["bpk"] = {"data": "%016x" % data, "last": "%016x" % last, "storage": "%08x" % crcs[0],
                        "attributes": "%08x" % crcs[1], "sizes": "%08x" % zlib.crc32(numbers)}
        if self.foreign:
            del sizes["bpk"]
        elif "bpk_seal" in self.sizes:
            sizes["bpk_seal"] = self.sizes["bpk_seal"]
        open(path + "/meta/sizes", "w").write(json.dumps(sizes) + "\n")
        open(path + "/meta/storage", "wb").write(self.storage)
        open(path + "/meta/attributes", "wb").write(self.attributes)


def pick(d, rng):
    while True:
        column = rng.choice(d.columns)
        i, k = rng.sample(range(len(column) - 1), 2)
        if column[i] != column[k]:
            return column, i, k


def break_swap(d, rng):
    column, i, k = pick(d, rng)
    column[i], column[k] = column[k], column[i]


def break_copy(d, rng):
    column, i, k = pick(d, rng)
    column[i] = column[k]


def break_cut(d, rng):
    cut = rng.randrange(1, len(d.columns[0]))
    for column in d.columns:
        del column[cut:]
    d.rows = cut * d.chunklen


def break_kind(d, rng):
    d.checksum = rng.choice([c for c in SUMS if c != d.checksum])


def break_record(d, rng):
    del d.sizes["bpk_seal"]


def break_mark(d, rng):
    d.storage = d.storage.replace(b"bpk_seal", b"bpk_sea" + rng.choice([b"a", b"b", b"c"]))


def break_field(d, rng):
    record = json.dumps(d.sizes["bpk_seal"])
    while True:
        at = rng.randrange(len(record))
        if record[at] in "0123456789abcdef" and ": " in record[:at]:
            other = record[:at] + rng.choice([c for c in "0123456789" if c != record[at]]) + record[at + 1:]
            try:
                now = json.loads(other)
            except ValueError:
                continue
            if set(now) == set(d.sizes["bpk_seal"]):
                d.sizes["bpk_seal"] = now
                return


def break_metadata(d, rng):
    d.attributes = d.attributes.replace(b'"step":7', b'"step":%d' % rng.choice([n for n in range(99) if n != 7]))


def break_storage(d, rng):
    was = json.loads(d.storage)["cparams"]["clevel"]
    d.storage = d.storage.replace(b'"clevel": %d' % was, b'"clevel": %d' % rng.choice([n for n in range(10) if n != was]))


def break_foreign(d, rng):
    for column in d.columns:
        column[-1:] = [column[0], column[1]]
    d.rows = len(d.columns[0]) * d.chunklen
    d.foreign = True


def behind(d, rng, source):
    return rng.choice([rng.randbytes(rng.randrange(1, 300)), bytes(rng.randrange(1, 300)), d.columns[0][0]])


main(Directory, globals(), behind)
