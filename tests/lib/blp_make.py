#!/usr/bin/env python3
"""Bloscpack files made by hand, field by field, from stored chunks: no library packs anything.

    blp_make.py good FOLDER          NAME.blp beside NAME.raw: every layout that readers must accept
    blp_make.py bad FOLDER           NAME.blp: every field that misleads, every count that is wrong
    blp_make.py cuts FOLDER      NAME.blp: a whole archive and a stream, cut after every byte
    blp_make.py flips FILE N FOLDER [SEED]
                                 FILE with one bit turned, for N bits spread over the whole file
                                 (all of them when N is 0), which SEED moves: BYTE.BIT.blp

The names of bad files begin with the expected verdict: damaged-, unknown- (no
Bloscpack file by its first bytes), unsupported-.
"""
import os
import struct
import sys
import zlib

RAW = b"ABCDEFGH"
UNKNOWN = -1


def chunk(raw=RAW, **change):
    """A stored chunk; change replaces header fields."""
    field = {"version": 2, "lz": 1, "flags": 0x13, "typesize": 8, "nbytes": len(raw),
             "block": max(1, len(raw)), "size": 16 + len(raw)}
    field.update(change)
    return struct.pack("<BBBBIII", field["version"], field["lz"], field["flags"],
                       field["typesize"], field["nbytes"] & 0xffffffff, field["block"] & 0xffffffff,
                       field["size"] & 0xffffffff) + raw


def sealed(packed, checksum=2):
    digest = {0: lambda b: b"", 1: lambda b: struct.pack("<I", zlib.adler32(b)),
              2: lambda b: struct.pack("<I", zlib.crc32(b))}[checksum]
    return packed + digest(packed)


def header(version=3, options=0, checksum=2, typesize=8, chunk_size=8, last=8, nchunks=2, tail=0,
           magic=b"blpk"):
    return struct.pack("<4sBBBBiiqq", magic, version, options, checksum, typesize, chunk_size, last,
                       nchunks, tail)


def metadata(text=b'{"run":7}', room=None, codec=0, checksum=1, size=None, used=None,
             magic=b"JSON\0\0\0\0", digest=None):
    stored = zlib.compress(text) if codec == 1 else text
    room = 10 * len(text) if room is None else room
    size = len(text) if size is None else size
    used = len(stored) if used is None else used
    digest = struct.pack("<I", zlib.adler32(stored)) if digest is None else digest
    return struct.pack("<8sBBBBIII8s", magic, 0, checksum, codec, 6, size, room, used, bytes(8)) + (
        stored + bytes(max(0, room - len(stored)))) + digest


def offsets(*entries):
    return struct.pack("<%dq" % len(entries), *entries)


C = chunk()
S = sealed(C)
END = sealed(chunk(b"", flags=0x13))


def good():
    two = RAW * 2
    blaze_text = b'{"dtype":"float64","shape":[1]}'
    blaze = header(options=2, tail=len(blaze_text)) + blaze_text + S * 2
    return {
        "v1": (b"blpk\1\0\0\0" + struct.pack("<q", 2) + C * 2, two),
        "v1-unknown": (b"blpk\1\0\0\0" + struct.pack("<q", -1) + C * 2, two),
        "v2": (header(version=2, options=1) + offsets(48, 76) + S * 2, two),
        "v2-one-chunk": (header(version=2, checksum=0, chunk_size=0, nchunks=1) + C, RAW),
        "v2-longer-last": (header(version=2, checksum=0, last=9) + C + chunk(b"123456789"),
                           RAW + b"123456789"),
        "v2-empty-last": (header(version=2, checksum=0, last=0) + C + chunk(b""), RAW),
        "v3": (header() + S * 2, two),
        "v3-no-chunks": (header(nchunks=0, chunk_size=0, last=0), b""),
        "v3-one-empty": (header(nchunks=1, chunk_size=0, last=0, options=1) + offsets(40) + END,
                         b""),
        "v3-spare": (header(options=1, tail=2) + offsets(64, 92, -1, -1) + S * 2, two),
        "v3-no-offsets-known": (header(options=1) + offsets(-1, -1) + S * 2, two),
        "v3-metadata": (header(options=2) + metadata() + S * 2, two),
        "v3-metadata-zlib": (header(options=2) + metadata(b'{"a":"' + b"x" * 99 + b'"}', codec=1)
                             + S * 2, two),
        "v3-metadata-nan": (header(options=2) + metadata(b'{"a":NaN,"b":-Infinity}') + S * 2, two),
        "v3-metadata-number": (header(options=2) + metadata(b"17") + S * 2, two),
        "v3-sizes-unknown": (header(chunk_size=-1, last=-1) + S + sealed(chunk(b"12")), RAW + b"12"),
        "v3-larger-chunk-size": (header(nchunks=1, chunk_size=4096, last=8) + S, RAW),
        "v3-tail": (header(options=1) + offsets(48, 76) + S * 2 + S[:9], two),
        "v3-gap": (header(options=1) + offsets(48, 86) + S + bytes(10) + S, two),
        "v3-stream": (header(last=-1, nchunks=-1) + S * 2 + END, two),
        "v3-stream-empty": (header(last=-1, nchunks=-1) + END, b""),
        "blaze": (blaze, two),
        "blaze-offsets": (header(options=3, tail=len(blaze_text)) + blaze_text
                          + offsets(32 + len(blaze_text) + 16, 32 + len(blaze_text) + 16 + len(S))
                          + S * 2, two),
    }


def bad():
    big = 1 << 62
    cases = {
        # the header
        "unknown-magic": header(magic=b"blpq") + S * 2,
        "unknown-empty": b"",
        "unknown-short-magic": b"blp",
        "damaged-version-0": header(version=0) + S * 2,
        "unsupported-version-4": header(version=4) + S * 2,
        "damaged-version-255": header(version=255) + S * 2,
        "damaged-v1-reserved": b"blpk\1\0\0\1" + struct.pack("<q", 2) + C * 2,
        "damaged-v1-count": b"blpk\1\0\0\0" + struct.pack("<q", -2) + C * 2,
        "damaged-v1-absurd": b"blpk\1\0\0\0" + struct.pack("<q", big) + C * 2,
        "damaged-v2-reserved": header(version=2, checksum=0, tail=1) + C * 2,
        "damaged-option-bits": header(options=0x80) + S * 2,
        "damaged-checksum-9": header(checksum=9) + S * 2,
        "damaged-checksum-255": header(checksum=255) + S * 2,
        "damaged-chunk-size": header(chunk_size=-2) + S * 2,
        "damaged-chunk-size-max": header(chunk_size=0x7fffffff, last=8) + S * 2,
        "damaged-last-chunk": header(last=-2) + S * 2,
        "damaged-last-larger": header(last=9) + S * 2,
        "damaged-count": header(nchunks=-2) + S * 2,
        "damaged-count-absurd": header(nchunks=big) + S * 2,
        "damaged-count-absurd-offsets": header(options=1, nchunks=big) + S * 2,
        "damaged-space-absurd": header(options=1, tail=big) + offsets(48, 76) + S * 2,
        "damaged-space-wraps": header(options=1, nchunks=(1 << 61) + 2, tail=(1 << 61) + 1) + S * 2,
        "damaged-space-negative": header(options=1, tail=-1) + offsets(48, 76) + S * 2,
        "damaged-space-unknown": header(nchunks=-1, last=-1, tail=3) + S * 2 + END,
        "damaged-offsets-unknown": header(options=1, nchunks=-1, last=-1) + S * 2 + END,
        "damaged-count-too-large": header(nchunks=3) + S * 2,
        "damaged-count-too-small": header(nchunks=1) + S * 2,
        # metadata
        "damaged-metadata-checksum": header(options=2) + metadata(checksum=9) + S * 2,
        "damaged-metadata-codec": header(options=2) + metadata(codec=2) + S * 2,
        "damaged-metadata-digest": header(options=2) + metadata(digest=b"\0\0\0\0") + S * 2,
        "damaged-metadata-used": header(options=2) + metadata(used=91) + S * 2,
        "damaged-metadata-size": header(options=2) + metadata(size=8) + S * 2,
        "damaged-metadata-size-zlib": header(options=2) + metadata(codec=1, size=8) + S * 2,
        "damaged-metadata-bomb": header(options=2) + metadata(b"[" + b" " * 200 + b"]", codec=1,
                                                              size=0xffffffff) + S * 2,
        "damaged-metadata-room": header(options=2) + metadata(room=90)[:16] + struct.pack(
            "<I", 0xfffffff0) + metadata(room=90)[20:] + S * 2,
        "damaged-metadata-json": header(options=2) + metadata(b'{"run":') + S * 2,
        "damaged-metadata-utf8": header(options=2) + metadata(b'{"run":"\xff"}') + S * 2,
        "damaged-metadata-keys": header(options=2) + metadata(b'{"run":1,"run":2}') + S * 2,
        "damaged-metadata-deep": header(options=2) + metadata(b"[" * 100 + b"]" * 100) + S * 2,
        "damaged-blaze-size": header(options=2, tail=0x7ffffff0) + b'{"a":1}' + S * 2,
        # offsets
        "damaged-offset-in-header": header(options=1) + offsets(8, 76) + S * 2,
        "damaged-offset-in-offsets": header(options=1) + offsets(40, 76) + S * 2,
        "damaged-offset-behind": header(options=1) + offsets(48, 4096) + S * 2,
        "damaged-offset-last": header(options=1) + offsets(48, 48 + 2 * len(S) - 8) + S * 2,
        "damaged-offset-negative": header(options=1) + offsets(48, -2) + S * 2,
        "damaged-offset-descends": header(options=1) + offsets(76, 48) + S * 2,
        "damaged-offset-overlaps": header(options=1) + offsets(48, 60) + S * 2,
        "damaged-offset-huge": header(options=1) + offsets(48, (1 << 63) - 1) + S * 2,
        # chunks
        "damaged-digest": header() + S + S[:-1] + bytes([S[-1] ^ 1]),
        "damaged-payload": header() + S + S[:20] + bytes([S[20] ^ 1]) + S[21:],
        "damaged-zeros-for-chunk": header(checksum=0) + C + bytes(24),
        "damaged-tail": header() + S * 2 + b"x",
        "damaged-tail-text": header(options=1) + offsets(48, 76) + S * 2 + b"old bytes",
        "damaged-chunk-too-long": header() + S + sealed(chunk(b"123456789")),
        "damaged-chunk-too-short": header() + S + sealed(chunk(b"1234567")),
        "damaged-first-too-short": header(checksum=0) + chunk(b"1234567") + C,
        "unsupported-chunk-codec": header() + S + sealed(chunk(RAW * 20, flags=0xb1)),
        "damaged-chunk-version": header() + S + sealed(chunk(version=9)),
        # streams of unknown length
        "damaged-stream-no-marker": header(last=-1, nchunks=-1) + S * 2,
        "damaged-stream-behind-marker": header(last=-1, nchunks=-1) + S * 2 + END + S,
        "damaged-stream-torn": header(last=-1, nchunks=-1) + S * 2 + END[:-1],
        "damaged-stream-short-chunk": header(last=-1, nchunks=-1) + sealed(chunk(b"12")) + S + END,
    }
    for field, values in {"size": (0, 15, 23, 25, 0x7fffffff, 0xffffffff, 0x80000000),
                          "nbytes": (7, 9, 0x7fffffff, 0xffffffff),
                          "block": (0, 0xffffffff),
                          "typesize": (0,),
                          "flags": (0x17,), "lz": ()}.items():
        for value in values:
            cases["damaged-chunk-%s-%x" % (field, value)] = (
                header(checksum=0) + C + chunk(**{field: value}))
    return cases


def cuts():
    whole = header(options=3, tail=2) + metadata() + offsets(
        32 + 126 + 32, 32 + 126 + 32 + len(S), -1, -1) + S * 2
    stream = header(last=-1, nchunks=-1) + S * 2 + END
    for name, data in ("whole", whole), ("stream", stream):
        for cut in range(5, len(data)):
            yield "%s-%03d" % (name, cut), data[:cut]


def flips(path, number, folder, seed=0):
    with open(path, "rb") as file:
        data = file.read()
    step = 1 if number == 0 else max(1, 8 * len(data) // number)
    if step > 1 and step % 2 == 0:
        step += 1  # so that every bit of a byte is flipped in some byte
    for at in range(seed % step, 8 * len(data), step):
        changed = bytearray(data)
        changed[at // 8] ^= 1 << at % 8
        store(folder, "%06d.%d.blp" % (at // 8, at % 8), bytes(changed))


def store(folder, name, data):
    with open(os.path.join(folder, name), "wb") as file:
        file.write(data)


def main(argv):
    if argv[1] == "good":
        for name, (data, raw) in good().items():
            store(argv[2], name + ".blp", data)
            store(argv[2], name + ".raw", raw)
    elif argv[1] == "bad":
        for name, data in bad().items():
            store(argv[2], name + ".blp", data)
    elif argv[1] == "cuts":
        for name, data in cuts():
            store(argv[2], name + ".blp", data)
    elif argv[1] == "flips":
        flips(argv[2], int(argv[3]), argv[4], *map(int, argv[5:]))
    else:
        print(__doc__, file=sys.stderr)
        return 64
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
