#!/usr/bin/env python3
"""A small Bloscpack reader that shares no line with bpk, over python3-blosc, zlib and hashlib.

    blp_reader.py unpack FILE                the raw bytes, to standard output
    blp_reader.py compare FILE RAW ...       pairs: does FILE unpack to RAW?
    blp_reader.py header FILE                the fields of the file's header, as JSON

It is strict where a writer could be sloppy: offsets must point at the chunks, spare ones must be
-1, sizes must add up, nothing may lie behind the last chunk, and a file of unknown length must end
with an empty chunk. Status 0: all is well; 1: it is not; 77: no python3-blosc.
"""
import hashlib
import json
import struct
import sys
import zlib

try:
    import blosc
except ImportError:
    blosc = None

DIGESTS = [
    ("none", 0, lambda b: b""),
    ("adler32", 4, lambda b: struct.pack("<I", zlib.adler32(b))),
    ("crc32", 4, lambda b: struct.pack("<I", zlib.crc32(b))),
    ("md5", 16, lambda b: hashlib.md5(b).digest()),
    ("sha1", 20, lambda b: hashlib.sha1(b).digest()),
    ("sha224", 28, lambda b: hashlib.sha224(b).digest()),
    ("sha256", 32, lambda b: hashlib.sha256(b).digest()),
    ("sha384", 48, lambda b: hashlib.sha384(b).digest()),
    ("sha512", 64, lambda b: hashlib.sha512(b).digest()),
]
CODECS = {0: "blosclz", 1: "lz4", 2: "snappy", 3: "zlib", 4: "zstd"}


class Wrong(Exception):
    pass


def expect(truth, text, *args):
    if not truth:
        raise Wrong(text % args)


class Archive:
    """One Bloscpack file of version 1, 2 or 3, read from beginning to end."""

    def __init__(self, data):
        self.data = data
        self.at = 0
        self.offsets = []
        self.metadata = None
        self.space = 0
        self.chunk_size = self.last_chunk = -1
        self.checksum = 0
        self.typesize = None
        magic, self.version = struct.unpack("<4sB", self.take(5))
        expect(magic == b"blpk", "magic is %r", magic)
        expect(self.version in (1, 2, 3), "version is %d", self.version)
        if self.version == 1:
            reserved, self.nchunks = struct.unpack("<3sq", self.take(11))
            expect(reserved == b"\0\0\0", "reserved bytes are %r", reserved)
            return
        (options, self.checksum, self.typesize, self.chunk_size, self.last_chunk, self.nchunks,
         self.space) = struct.unpack("<BBBiiqq", self.take(27))
        expect(self.checksum < len(DIGESTS), "checksum %d", self.checksum)
        expect(options <= (1 if self.version == 2 else 3), "options are %d", options)
        expect(self.version == 3 or self.space == 0, "reserved bytes are %d", self.space)
        if self.version == 3 and self.chunk_size >= 0 and self.last_chunk >= 0:
            expect(self.last_chunk <= self.chunk_size, "last chunk of %d", self.last_chunk)
        if options & 2:
            self.read_metadata()
        if options & 1:
            expect(self.nchunks >= 0, "offsets for %d chunks", self.nchunks)
            count = self.nchunks + self.space
            self.offsets = list(struct.unpack("<%dq" % count, self.take(8 * count)))
        else:
            expect(self.space == 0, "%d spare offsets without offsets", self.space)

    def take(self, size):
        expect(size <= len(self.data) - self.at, "%d bytes are needed at offset %d of %d", size,
               self.at, len(self.data))
        self.at += size
        return self.data[self.at - size:self.at]

    def read_metadata(self):
        (magic, options, checksum, codec, level, size, room, used,
         user) = struct.unpack("<8sBBBBIII8s", self.take(32))
        expect(magic == b"JSON\0\0\0\0", "metadata magic is %r", magic)
        expect(options == 0 and codec < 2 and level < 10, "metadata header")
        expect(checksum < len(DIGESTS) and used <= room, "metadata header")
        stored = self.take(room)
        expect(stored[used:] == bytes(room - used), "the metadata's room is not zero")
        name, digest_size, digest = DIGESTS[checksum]
        expect(self.take(digest_size) == digest(stored[:used]), "metadata %s", name)
        text = zlib.decompress(stored[:used]) if codec == 1 else stored[:used]
        expect(len(text) == size, "metadata of %d bytes, not %d", len(text), size)
        value = json.loads(text)
        sealed = isinstance(value, dict) and "bpk_seal" in value
        expect(user == (b"bpkseal1" if sealed else bytes(8)), "user bytes are %r", user)
        self.metadata = text

    def chunks(self):
        """Yield (header, raw bytes) of every chunk, and check each against the file's header."""
        name, digest_size, digest = DIGESTS[self.checksum]
        number = 0
        last = 0
        while number < self.nchunks or self.nchunks < 0 and self.at < len(self.data):
            where = self.at
            version, lz, flags, typesize, nbytes, block, size = struct.unpack(
                "<BBBBiii", self.take(16))
            expect(version == 2 and typesize > 0 and nbytes >= 0 and size >= 16, "chunk %d: header",
                   number)
            self.at = where
            packed = self.take(size)
            expect(self.take(digest_size) == digest(packed), "chunk %d: %s", number, name)
            if self.offsets:
                expect(self.offsets[number] == where, "chunk %d lies at %d, not %d", number, where,
                       self.offsets[number])
            raw = blosc.decompress(packed) if nbytes > 0 else b""
            expect(len(raw) == nbytes, "chunk %d: %d bytes, not %d", number, len(raw), nbytes)
            if number < self.nchunks - 1 and self.chunk_size >= 0 and self.version == 3:
                expect(nbytes == self.chunk_size, "chunk %d has %d bytes, not %d", number, nbytes,
                       self.chunk_size)
            yield {"codec": CODECS.get(flags >> 5), "flags": flags, "typesize": typesize,
                   "raw_size": nbytes, "block_size": block, "packed_size": size}, raw
            number += 1
            last = nbytes
        expect(self.nchunks >= 0 or number > 0 and last == 0, "no end marker")
        expect(self.last_chunk < 0 or last == self.last_chunk, "the last chunk has %d bytes, not %d",
               last, self.last_chunk)
        expect(self.at == len(self.data), "%d bytes behind the last chunk",
               len(self.data) - self.at)
        expect(all(offset == -1 for offset in self.offsets[number:]), "spare offsets in use")

    def header(self):
        return {"version": self.version, "nchunks": self.nchunks, "chunk_size": self.chunk_size,
                "last_chunk": self.last_chunk, "typesize": self.typesize, "space": self.space,
                "checksum": DIGESTS[self.checksum][0], "offsets": len(self.offsets),
                "metadata": self.metadata.decode() if self.metadata is not None else None,
                "chunks": [header for header, raw in self.chunks()]}


def load(path):
    with open(path, "rb") as file:
        return file.read()


def unpack(path):
    return b"".join(raw for header, raw in Archive(load(path)).chunks())


def main(argv):
    if blosc is None:
        print("python3-blosc is not installed", file=sys.stderr)
        return 77
    command, paths = argv[1], argv[2:]
    path = paths[0]
    try:
        if command == "unpack":
            sys.stdout.buffer.write(unpack(path))
        elif command == "header":
            print(json.dumps(Archive(load(path)).header()))
        elif command == "compare":
            for path, raw in zip(paths[::2], paths[1::2]):
                expect(unpack(path) == load(raw), "does not unpack to %s", raw)
        else:
            print(__doc__, file=sys.stderr)
            return 64
    except (Wrong, OSError, ValueError, zlib.error, blosc.blosc_extension.error) as problem:
        print("%s: %s" % (path, problem), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
