#!/usr/bin/env python3
"""Small files that claim large content, made from a seed, and the cost of reading them.

    bombs.py list                         the kinds, a line each
    bombs.py make KIND COUNT SEED FOLDER  COUNT files (or directories) of a kind
    bombs.py run BPK PEAK KIND COUNT SEED FOLDER [all]
                                          makes them and runs two of the commands on
                                          each, or all; prints those that took more than
                                          64 MiB or a second of processor time, or ended
                                          with a status that bpk does not have; the last
                                          line is "N of N"
    bombs.py first BPK PEAK FOLDER        the same of the files that were found first

Each file has at most 4 KiB, or little more. PEAK is tests/lib/peak.
"""
import os
import random
import resource
import struct
import subprocess
import sys
import zlib

MIB = 1 << 20
MOST_CHUNK = 2147483583
MOST_LAYERS = (4 << 20) - 64  # unpacked, whatever a frame's size

# ---- Chunks ----


def special(kind, size, value=b"", typesize=8):
    return bytes([5, 1, 5, typesize]) + struct.pack(
        "<III", size, max(1, min(size, 536866816)), 32 + len(value)) + bytes(15) + bytes(
            [kind << 4]) + value


def stored(raw, typesize=1):
    return bytes([5, 1, 7, typesize]) + struct.pack("<III", len(raw), max(1, len(raw)),
                                                    32 + len(raw)) + bytes(16) + raw


def streams(size, block, stream, codec=4, typesize=1, filters=(0, 0, 0, 0, 0, 0), share=False):
    """Blocks of one stream each, made by stream(number, bytes); share: all are the same stream."""
    count = -(-size // block)
    at = 32 + 4 * count
    starts = body = b""
    for number in range(count):
        starts += struct.pack("<I", at + (0 if share else len(body)))
        if not share or number == 0:
            body += stream(number, min(block, size - number * block))
    return bytes([5, 1, 0x15 | codec << 5, typesize]) + struct.pack(
        "<III", size, block, at + len(body)) + bytes(filters) + bytes(10) + starts + body


def run(number, size):
    return struct.pack("<i", 0) if number % 2 == 0 else struct.pack("<iB", -7, 1)


def zlib_zeros(number, size):
    packed = zlib.compress(bytes(size), 9)
    return struct.pack("<i", len(packed)) + packed


def zstd_zeros(number, size):
    """A frame of blocks that are one byte repeated, 128 KiB each."""
    blocks = b""
    left = size
    while left > 0:
        part = min(left, 131072)
        left -= part
        blocks += struct.pack("<I", part << 3 | 2 | (left == 0))[:3] + b"\0"
    frame = struct.pack("<IBI", 0xfd2fb528, 0xa0, size) + blocks
    return struct.pack("<i", len(frame)) + frame


def zlib_chunk(raw, typesize=1, block=None):
    block = block or len(raw)

    def stream(number, size):
        packed = zlib.compress(raw[number * block:number * block + size], 9)
        if len(packed) >= size:
            packed = raw[number * block:number * block + size]
        return struct.pack("<i", len(packed)) + packed
    return streams(len(raw), block, stream, 3, typesize)


def variable(sizes, stream):
    """Blocks of variable length, each with its size."""
    at = 32 + 4 * len(sizes)
    starts = body = b""
    for number, size in enumerate(sizes):
        starts += struct.pack("<I", at + len(body))
        body += struct.pack("<I", size) + stream(number, size)[4:]
    return bytes([6, 1, 0x15 | 4 << 5, 1]) + struct.pack(
        "<III", sum(sizes), len(sizes), at + len(body)) + bytes(14) + bytes([1, 0]) + starts + body


# ---- Frames ----

ZERO, NAN, UNINIT = 0x81 << 56, 0x82 << 56, 0x84 << 56


def layers(items, trailer):
    """The section of metalayers; a reader that walks over it ignores the offsets."""
    names = b""
    contents = b""
    for name, content in items:
        names += bytes([0xa0 + len(name)]) + name + b"\xd2" + b"@OFF"
        contents += b"\xc6" + struct.pack(">I", len(content)) + content
    head = 1 + 2 + 1 + 3 + len(names)
    at = head + 3
    for name, content in items:
        names = names.replace(b"@OFF", struct.pack(">i", at + (2 if trailer else 87)), 1)
        at += 5 + len(content)
    size = head - (1 if trailer else 0)
    return b"\x93\xcd" + struct.pack(">H", size) + b"\xde" + struct.pack(
        ">H", len(items)) + names + b"\xdc" + struct.pack(">H", len(items)) + contents


def frame(payload, index, raw_size, chunk_size, typesize=1, block=0, sparse=False, packed=None,
          fixed=(), vary=(), flags=0x12):
    section = layers(list(fixed), False)
    tail = b"\x94\x01" + layers(list(vary), True)
    tail += b"\xce" + struct.pack(">I", len(tail) + 23) + b"\xd8" + bytes(17)
    header = 87 + len(section)
    size = header + len(payload) + len(index) + len(tail)
    head = b"\x9e\xa8b2frame\0\xd2" + struct.pack(">i", header) + b"\xcf" + struct.pack(">Q", size)
    head += b"\xa4" + bytes([flags, 1 if sparse else 0, 0x15, 3])
    head += b"\xd3" + struct.pack(">q", raw_size) + b"\xd3" + struct.pack(
        ">q", len(payload) if packed is None else packed)
    head += b"\xd2" + struct.pack(">i", typesize) + b"\xd2" + struct.pack(
        ">i", block) + b"\xd2" + struct.pack(">i", chunk_size)
    head += b"\xd1\0\1\xd1\0\1" + (b"\xc3" if vary else b"\xc2") + b"\xd8\6" + bytes(
        6) + b"\5\0" + bytes(6) + bytes(2)
    assert len(head) == 87, len(head)
    return head + section + payload + index + tail


def entries(values):
    return struct.pack("<%dQ" % len(values), *values)


def uniform_index(count, value):
    return special(3, 8 * count, struct.pack("<Q", value))


def count_of(r, most=1 << 28):
    return min(most - 1, int(2 ** r.uniform(1, 28)))


def chunk_size_of(r):
    return min(MOST_CHUNK, int(2 ** r.uniform(3, 31))) & ~7


def uniform(r):
    count, size = count_of(r), chunk_size_of(r)
    value = r.choice([ZERO, ZERO, NAN, UNINIT])
    total = count * size - r.choice([0, 0, 8 * r.randrange(0, size // 8)])
    claimed = r.choice([size, size, size, 0, 2 * size & 0x7fffffff])
    return frame(b"", uniform_index(count, value), r.choice([total, total, total // 2 + 1]), claimed,
                 r.choice([1, 4, 8]) if value != NAN else r.choice([4, 8]))


def value(r):
    size = chunk_size_of(r)
    typesize = r.choice([1, 2, 4, 8, 16])
    size -= size % typesize
    size = max(size, typesize)
    chunk = r.choice([special(3, size, bytes(r.randrange(256) for _ in range(typesize)), typesize),
                      special(1, size, b"", typesize), special(4, size, b"", typesize)])
    count = r.choice([1, 3, 50, count_of(r)])
    index = uniform_index(count, 0) if r.random() < .7 or count > 400 else stored(
        entries([0] * count), 8)
    return frame(chunk, index, count * size, size, typesize)


def runs(r):
    size = chunk_size_of(r)
    block = max(size // r.choice([1, 3, 20, 100]), 1)
    kind = r.choice(["run", "run", "zstd", "zlib", "shared"])
    if kind == "run":
        chunk = streams(size, block, run)
    elif kind == "zstd":
        block = size = min(size, 60 * MIB)
        chunk = streams(size, block, zstd_zeros)
    elif kind == "zlib":
        block = size = min(size, MIB)
        chunk = streams(size, block, zlib_zeros, 3)
    else:
        size, block = 500 * 2 * MIB, 2 * MIB
        chunk = streams(size, block, zstd_zeros, share=True)
    count = r.choice([1, 4, 100, 5000, count_of(r)])
    index = uniform_index(count, 0) if r.random() < .6 or count > 60000 else zlib_chunk(
        entries([0] * count), 8)
    return frame(chunk, index, count * size, size)


def large(r):
    """A single large chunk, for commands that output all of it."""
    size = min(chunk_size_of(r), 1 << 30)
    kind = r.choice(["zero", "value", "run", "run", "odd", "filter"])
    if kind == "zero":
        chunk = special(r.choice([1, 4]), size)
    elif kind == "value":
        chunk = special(3, size, b"\1\2\3\4\5\6\7\10")
    elif kind == "run":
        chunk = streams(size, max(8, size // r.choice([1, 3, 20]) & ~7), run, typesize=8,
                        filters=(0, 0, 0, 0, 0, r.choice([0, 1])))
    elif kind == "filter":  # blocks that must be whole before a byte of them is known
        chunk = streams(size, max(8, size // r.choice([1, 3, 20]) & ~7), run, typesize=8,
                        filters=(0, 0, 0, 0, r.choice([0, 1]), r.choice([2, 3])))
    else:
        chunk = streams(size, max(1, size // r.choice([1, 3, 20])), lambda n, s: struct.pack("<iB", -7, 1))
    return frame(chunk, stored(entries([0]), 8), size, size, 8 if kind in ("run", "filter") else 1)


def predicted(size, block):
    """Blocks that are runs, of numbers that are differences; bpk's own extension."""
    count = -(-size // block)
    at = 32 + 4 * count + 8
    starts = body = b""
    for number in range(count):
        starts += struct.pack("<I", at + len(body))
        body += run(number, min(block, size - number * block))
    return bytes([5, 1, 0x15 | 4 << 5, 4]) + struct.pack("<III", size, block, at + len(body)) + bytes(
        [208, 0, 0, 0, 0, 0, 0, 0, 2 | 1 << 4]) + bytes(7) + starts + struct.pack("<II", 0, 1) + body


def array_layer(shape, block):
    """The metalayer of an array of one chunk, and the sizes of the chunk and its blocks."""
    layer = b"\x97\0\2"
    for code, sizes in ((">q", shape), (">i", shape), (">i", block)):
        layer += b"\x92" + b"".join((b"\xd3" if code == ">q" else b"\xd2") + struct.pack(code, n) for n in sizes)
    layer += b"\0\xdb" + struct.pack(">I", 3) + b"<f4"
    size = 4
    for a, b in zip(shape, block):
        size *= -(-a // b) * b
    return layer, size, 4 * block[0] * block[1]


def parts(r):
    """Chunks of arrays that do not come in the array's blocks, or in many for each row."""
    rows = r.choice([1, 3, 100, 5000])
    columns = max(20, min(chunk_size_of(r), 500 * MIB) // 4 // rows)
    block = r.choice([[1, 1], [min(rows, 10), 10], [rows, 1], [rows, columns // 20], [1, columns]])
    layer, size, part = array_layer([rows, columns], block)
    most = max(part, -(-size // 20) + 3 & ~3)
    kind = r.choice(["predicted", "zstd", "run", "value", "odd"])
    if kind == "predicted":
        chunk = predicted(size, most)
    elif kind == "zstd":
        chunk = streams(size, min(size, 60 * MIB), zstd_zeros, typesize=4)
    elif kind == "run":
        chunk = streams(size, most, run, typesize=r.choice([1, 4]))
    elif kind == "value":
        typesize = r.choice([3, 8])
        chunk = special(3, size, bytes(range(typesize)), typesize)
    else:
        chunk = streams(size, most, run, typesize=3)
    return frame(chunk, stored(entries([0]), 8), size, size, 4, fixed=[(b"b2nd", layer)])


def whole(r):
    """Chunks, or blocks of arrays, that cannot be unpacked in parts."""
    size = max(4, min(chunk_size_of(r), 500 * MIB) & ~3)
    kind = r.choice(["predicted", "variable", "array", "array"])
    if kind == "predicted":
        chunk = predicted(size, max(4, size // r.choice([1, 3, 20]) & ~3))
        return frame(chunk, stored(entries([0]), 8), size, size, 4)
    if kind == "variable":
        part = min(size, 8 * MIB)
        chunk = variable([part] * r.choice([1, 3, 14]), zstd_zeros)
        size = struct.unpack("<I", chunk[4:8])[0]
        return frame(chunk, stored(entries([0]), 8), size, size, flags=0xd2)
    rows = r.choice([1, 3, 100, size // 4])
    shape = [rows, max(1, size // 4 // rows)]
    block = r.choice([shape, [1, shape[1]], [shape[0], 1], [min(10, shape[0]), min(10, shape[1])]])
    layer, size, part = array_layer(shape, block)
    if r.random() < .5 or size // part > 100 or (part > 120 * MIB):
        return frame(b"", uniform_index(1, r.choice([ZERO, NAN])), size, size, 4, fixed=[(b"b2nd", layer)])
    chunk = streams(size, part, zstd_zeros if size < 120 * MIB else run, typesize=4, share=True)
    return frame(chunk, stored(entries([0]), 8), size, size, 4, fixed=[(b"b2nd", layer)])


def tiny(r):
    """Many chunks of a few bytes."""
    size = r.choice([1, 1, 2, 8])
    chunk = stored(b"abcdefgh"[:size])
    pattern = r.choice([[ZERO, UNINIT], [ZERO] * 3 + [UNINIT], [0], [0, ZERO], [0, len(chunk)], [ZERO]])
    count = int(2 ** r.uniform(10, 18))
    if len(pattern) == 1:
        index = uniform_index(count * 4, pattern[0])
        count *= 4
    else:
        index = zlib_chunk(entries((pattern * count)[:count]), 8)
    return frame(chunk * 2, index, count * size, r.choice([size, size, 0]))


def index(r):
    """An index that is not uniform and packs well."""
    size = chunk_size_of(r)
    chunk = r.choice([streams(size, size, run), zlib_chunk(bytes(65536)), special(1, size)])
    size = struct.unpack("<I", chunk[4:8])[0]
    pattern = [r.choice([0, 0, ZERO, NAN, UNINIT, 1, len(chunk)]) for _ in range(r.choice([2, 3, 7, 64]))]
    if r.random() < .5:
        pattern = [entry for entry in pattern if entry in (0, ZERO, UNINIT)] or [ZERO, UNINIT]
    count = min(count_of(r), 1 << 18)
    raw = entries((pattern * (count // len(pattern) + 1))[:count])
    block = r.choice([len(raw), 65536])
    packed = zlib_chunk(raw, 8, max(8, min(block, len(raw))))
    if r.random() < .3:
        count = min(count_of(r), 1 << 24)
        packed = streams(8 * count, 8 * count, run)
    return frame(chunk + chunk, packed, count * size, size, 4)


def blocks(r):
    many = r.choice([1, 10, 300])
    most = MOST_CHUNK // many // 2
    sizes = [r.choice([1, 4096, most]) for _ in range(many)]
    chunk = variable([min(size, 300000) for size in sizes], zlib_zeros) if r.random() < .3 else variable(
        [min(size, 8 * MIB) for size in sizes][:100], zstd_zeros)
    size = struct.unpack("<I", chunk[4:8])[0]
    count = r.choice([1, 4, 1000, count_of(r)])
    return frame(chunk, uniform_index(count, 0), count * size, r.choice([size, 0]), flags=0xd2)


def nd(r):
    dims = r.choice([1, 2, 3, 8])
    chunks = [max(1, int(2 ** r.uniform(0, 28 / dims))) for _ in range(dims)]
    counts = [max(1, int(2 ** r.uniform(0, 24 / dims))) for _ in range(dims)]
    shape = [a * b - r.choice([0, 0, a // 2]) for a, b in zip(chunks, counts)]
    part = [max(1, c // r.choice([1, 1, 2, c])) for c in chunks]
    layer = bytes([0x97, 0, dims]) + bytes([0x90 + dims]) + b"".join(
        b"\xd3" + struct.pack(">q", n) for n in shape)
    for sizes in (chunks, part):
        layer += bytes([0x90 + dims]) + b"".join(b"\xd2" + struct.pack(">i", n) for n in sizes)
    layer += b"\0\xdb" + struct.pack(">I", 3) + b"<f4"
    count = size = 1
    for a, b, c in zip(counts, chunks, part):
        count *= a
        size *= -(-b // c) * c
    count = min(count, (1 << 28) - 1)
    size = min(4 * size, MOST_CHUNK & ~3)
    return frame(b"", uniform_index(count, r.choice([ZERO, NAN])), count * size, size, 4,
                 fixed=[(b"b2nd", layer)])


def msgpack(r):
    nest = r.choice([b"\x91", b"\x81\xa1k", b"\x92\xc0", b"\xdd\0\0\0\1"])
    content = r.choice([nest * r.choice([10, 100, 3000 // len(nest)]) + b"\xc0",
                        b"\xdd" + struct.pack(">I", r.choice([5, 1 << 30, 0xffffffff])),
                        b"\xdf" + struct.pack(">I", 0x7fffffff) + b"\1\2",
                        b"\xdb" + struct.pack(">I", 0xfffffff0), b"\xc6\xff\xff\xff\xff"])
    many = r.choice([4096, MIB, 4 * MIB, 30 * MIB])
    large = r.choice([
        special(1, many), special(3, many, b"\x90" * 8), special(3, many, b"\xcb\x3f\xf1\x99\x99\x99\x99\x99\x9a"[:8]),
        zlib_chunk(b"\xdd" + struct.pack(">I", min(many, MOST_LAYERS) - 5) + r.choice(
            [b"\x90", b"\xc0", b"\xa0", b"\x80", b"\xc2"]) * (min(many, MOST_LAYERS) - 5)),
        zlib_chunk(b"\xdb" + struct.pack(">I", min(many, MOST_LAYERS) - 5) + r.choice([b"[", b"\1", b'"']) * (min(many, MOST_LAYERS) - 5)),
        zlib_chunk(b"\xc6" + struct.pack(">I", min(many, MOST_LAYERS) - 5) + bytes(min(many, MOST_LAYERS) - 5)),
        streams(many, many, run), stored(content)])
    vary = [(b"l%d" % i, large if i % 3 == 0 else stored(content[:200]))
            for i in range(r.choice([1, 2, 16]))]
    if len(large) > 300:
        vary = vary[:1]
    return frame(stored(b"abcdefgh"), stored(entries([0]), 8), 8, 8, fixed=[(b"f", content[:3000])],
                 vary=vary)


def sparse(r, path):
    os.mkdir(path)
    chunk_frame = r.choice([uniform, value, runs])(r)
    header = struct.unpack(">i", chunk_frame[11:15])[0]
    payload = struct.unpack(">q", chunk_frame[39:47])[0]
    head = bytearray(chunk_frame[:header])
    head[26] = 1
    head[16:24] = struct.pack(">Q", len(chunk_frame) - payload)
    head[39:47] = struct.pack(">q", r.choice([payload, 0, 1 << 40, (1 << 62)]))
    if payload > 0:
        with open(os.path.join(path, "00000000.chunk"), "wb") as file:
            file.write(chunk_frame[header:header + payload])
    with open(os.path.join(path, "chunks.b2frame"), "wb") as file:
        file.write(bytes(head) + chunk_frame[header + payload:])


# ---- Bloscpack ----


def chunk1(raw):
    return struct.pack("<BBBBIII", 2, 1, 0x13, 8, len(raw), max(1, len(raw)), 16 + len(raw)) + raw


def blosc1(size, block, stream, codec=3):
    count = -(-size // block)
    at = 16 + 4 * count
    starts = body = b""
    for number in range(count):
        starts += struct.pack("<I", at + len(body))
        body += stream(number, min(block, size - number * block))
    return struct.pack("<BBBBIII", 2, 1, 0x10 | codec << 5, 1, size, block, at + len(body)) + starts + body


def blp_header(options=0, checksum=0, chunk_size=8, last=8, nchunks=2, spare=0, version=3):
    return struct.pack("<4sBBBBiiqq", b"blpk", version, options, checksum, 8, chunk_size, last,
                       nchunks, spare)


def blp_metadata(text, level=9, **change):
    packed = zlib.compress(text, level)
    field = {"size": len(text), "room": len(packed), "used": len(packed)}
    field.update(change)
    return struct.pack("<8sBBBBIII8s", b"JSON\0\0\0\0", 0, 1, 1, 6, field["size"], field["room"],
                       field["used"], bytes(8)) + packed + struct.pack("<I", zlib.adler32(packed))


def bloscpack(r):
    many = r.choice([1 << 20, 10 ** 9, 1 << 40, (1 << 62), (1 << 63) - 1])
    body = chunk1(b"ABCDEFGH") * r.choice([1, 2, 100])
    return r.choice([
        lambda: blp_header(nchunks=many) + body,
        lambda: blp_header(1, nchunks=many) + struct.pack("<q", 40) + body,
        lambda: blp_header(1, nchunks=2, spare=many) + struct.pack("<3q", 56, 80, -1) + body,
        lambda: blp_header(1, nchunks=100) + struct.pack("<100q", *[832] * 100) + body,
        lambda: blp_header(0, 0, -1, -1, -1) + body,
        lambda: blp_header(0, 0, MOST_CHUNK & ~7, 8, many) + body,
        lambda: blp_header(0, 0, 60 * MIB, 60 * MIB, 1) + blosc1(60 * MIB, 60 * MIB, zstd_zeros, 4),
        lambda: blp_header(0, 0, MIB, MIB, 3) + blosc1(MIB, MIB, zlib_zeros) * 3,
        lambda: b"blpk\1\0\0\0" + struct.pack("<q", many) + body,
        lambda: blp_header(2, nchunks=2) + blp_metadata(b"{}", room=0xffffffff) + body,
        lambda: blp_header(2, nchunks=2) + blp_metadata(b"{}", size=0x7fffffff) + body,
    ])()


def metadata(r):
    """At most 87 KB, the packed size of a text of 64 MiB."""
    many = int(2 ** r.uniform(10, 23))
    piece = r.choice([b"1,", b"[],", b"{},", b'"",', b'"\\u0000",', b"[[]],", b"1e9,", b" ", b"\n",
                      b"NaN,", b'"\xc3\xa9",', b'"' + b"a" * 50 + b'",'])
    text = b"[" + piece * (many // len(piece)) + b"0]"
    if r.random() < .3:
        text = b'{"a":"' + b"x" * many + b'"}'
    elif r.random() < .2:
        depth = r.choice([60, 64, 65, 1000, many])
        text = b"[" * depth + b"]" * depth
    elif r.random() < .2:
        text = b'{"bpk_chunks":[[%d,8],[%d,8,16],[1,8]]}' % (many << r.randrange(40), many)
    return blp_header(2, nchunks=2) + blp_metadata(text) + chunk1(b"ABCDEFGH") * 2


def chunked(r, path):
    rows = r.choice([10 ** 6, 10 ** 12, 1 << 40, (1 << 62), (1 << 63) - 1, 10 ** 30])
    chunklen = r.choice([1, 4, 1000, 1 << 20, 1 << 40])
    os.makedirs(os.path.join(path, "data"))
    os.mkdir(os.path.join(path, "meta"))
    dtype = r.choice(['"<f8"', '"|S%d"' % r.choice([1, 1 << 20, 1 << 31]), '"(1000,1000)f8"', "[" + ",".join(
        '["c%d","<f8"]' % i for i in range(r.choice([1, 100]))) + "]", "[" * 1000])
    blaze = r.random() < .5
    texts = {
        "sizes": '{"shape": [%d], "nbytes": %d, "cbytes": %d}' % (rows, 8 * rows, r.choice(
            [0, 1 << 40])),
        "storage": '{"dtype": %s, "cparams": {"clevel": 5, "shuffle": 1, "cname": "lz4", "quantize": '
                   '0}, "chunklen": %d, "expectedlen": %d, "dflt": 0, "superchunksize": %d}' % (
                       dtype, chunklen, rows, r.choice([1, 1000, 1 << 40])),
    }
    for name, text in texts.items():
        with open(os.path.join(path, "meta", name), "w", encoding="ascii") as file:
            file.write(text)
    with open(os.path.join(path, "__attrs__"), "w", encoding="ascii") as file:
        file.write("{}")
    for number in range(r.choice([0, 1, 3])):
        name = "__%d__.bin" % (number + 1) if blaze else "__%d.blp" % number
        with open(os.path.join(path, "data", name), "wb") as file:
            file.write(bloscpack(r) if r.random() < .5 else
                       b"blpk\1\0\0\0" + struct.pack("<q", 1) + chunk1(b"ABCDEFGH"))


# ---- Inside an archive: tables of simulation files ----


def inside(r, head, rest, total):
    """A frame whose raw bytes are head, then rest, repeated."""
    size = r.choice([65536, MIB])
    pad = -(len(head)) % len(rest)
    first = (head + bytes(pad) + rest * (size // len(rest) + 1))[:size]
    count = max(2, total // size)
    packed = zlib_chunk(first)
    if len(rest) <= 255 and size % len(rest) == 0 and r.random() < .5:
        again = special(3, size, rest, len(rest))
    else:
        again = zlib_chunk((rest * (size // len(rest) + 1))[:size])
    values = [0] + [len(packed)] * (count - 1)
    if count > 60000:
        count = 60000
        values = values[:count]
    return frame(packed + again, zlib_chunk(entries(values), 8), count * size, size)


def total_of(r):
    return int(2 ** r.uniform(20, 36))


def gsd(r):
    total = total_of(r)
    entry = struct.pack("<QQqIHBB", 0, r.choice([0, 1]), 256, 1, 0, 1, 0)
    head = struct.pack("<8sQQQQII", bytes.fromhex("df65df65df65df65"), 320, (total - 320) // 32, 256,
                       r.choice([1, 1, (total - 320) // 64]), 0, r.choice([0x20000, 0x10000, 0x10003]))
    head += r.choice([bytes(128), b"a" * 63 + b"\0" + b"hoomd" + bytes(59)])
    head += bytes(256 - len(head)) + b"x" + bytes(63)
    return inside(r, head, entry, total)


def npz(r):
    total = total_of(r)
    text = b"{'descr': [" + b",".join(b"('f%d','<f8')" % i for i in range(r.choice([1, 4000])))
    text += b"], 'fortran_order': False, 'shape': (0,), }"
    npy = b"\x93NUMPY\2\0" + struct.pack("<I", len(text)) + text
    if r.random() < .3:
        npy = bytes(100)
    name = r.choice([b"a", b"a.npy"])
    local = struct.pack("<IHHHHHIIIHH", 0x04034b50, 20, 0, 0, 0, 0, 0, len(npy), len(npy), len(name),
                        0) + name + npy
    count = r.choice([2, 400, 20000])
    apart = r.random() < .5
    if apart:
        count = min(count, max(1, 8 * MIB // len(local)))
    body = bytearray(local * (count if apart else 1))
    at = len(body)
    for number in range(count):
        body += struct.pack("<IHHHHHHIIIHHHHHII", 0x02014b50, 20, 20, 0, 0, 0, 0, 0, len(npy), len(npy),
                            len(name), 0, 0, 0, 0, 0, number * len(local) if apart else 0) + name
    body += struct.pack("<IHHHHIIH", 0x06054b50, 0, 0, count, count, len(body) - at, at, 0)
    raw = bytes(body)
    if r.random() < .3:
        raw = raw.replace(struct.pack("<I", len(npy)), struct.pack("<I", 0xfffffff0))
    raw += bytes(-len(raw) % 8)
    packed = zlib_chunk(raw)
    return frame(packed, stored(entries([0]), 8), len(raw), len(raw))


def zip64(r):
    """Members of an .npz of no or few bytes, with sizes of 8 bytes."""
    count = r.choice([10, 1000, 30000])
    huge = r.choice([0, 1, 1 << 40, (1 << 64) - 1])
    extra = struct.pack("<HHQQ", 1, 16, huge, huge)
    name = b"a.npy"
    npy = b"\x93NUMPY\1\0" + struct.pack("<H", 54) + b"{'descr':'<f8','fortran_order':False,'shape':(0,),}".ljust(
        53) + b"\n"
    size = r.choice([len(npy), 0xffffffff])
    local = struct.pack("<IHHHHHIIIHH", 0x04034b50, 45, 0, 0, 0, 0, 0, size, size, len(name),
                        len(extra)) + name + extra + npy
    apart = count <= 1000
    body = local * (count if apart else 1)
    central = b"".join(struct.pack("<IHHHHHHIIIHHHHHII", 0x02014b50, 45, 45, 0, 0, 0, 0, 0, size, size, len(name),
                                   len(extra), 0, 0, 0, 0, number * len(local) if apart else 0) + name + extra
                       for number in range(count))
    end = struct.pack("<IQHHIIQQQQ", 0x06064b50, 44, 45, 45, 0, 0, count, count, len(central), len(body))
    end += struct.pack("<IIQI", 0x07064b50, 0, len(body) + len(central), 1)
    raw = body + central + end + struct.pack("<IHHHHIIH", 0x06054b50, 0, 0, 0xffff, 0xffff, 0xffffffff, 0xffffffff, 0)
    raw += bytes(-len(raw) % 8)
    return frame(zlib_chunk(raw), stored(entries([0]), 8), len(raw), len(raw))


def nested(r):
    """Metadata in JSON that are deep, or wide."""
    depth = r.choice([10, 1000, 100000, 1000000])
    text = r.choice([b"[" * depth + b"]" * depth, b'{"a":' * depth + b"1" + b"}" * depth,
                     b"[" + b"[]," * depth + b"0]", b'{"a":"' + b"\\u0041" * depth + b'"}',
                     b"[" + b"1e300," * depth + b"0]", b'{"a":' + b"9" * depth + b"}",
                     b"{" + b",".join(b'"%d":0' % i for i in range(min(depth, 2000))) + b"}"])
    return blp_header(2, nchunks=2) + blp_metadata(text) + chunk1(b"ABCDEFGH") * 2


def netcdf(r):
    total = total_of(r)
    many = r.choice([1, 1000, 1 << 20, 0x7fffffff])
    version = r.choice([1, 2, 5])
    wide = ">Q" if version == 5 else ">I"
    head = b"CDF" + bytes([version]) + struct.pack(wide, r.choice([many, 0xffffffff]))
    item = struct.pack(wide, 4) + b"abcd" + struct.pack(wide, r.choice([0, 1, 5]))
    return inside(r, head + struct.pack(">I", r.choice([10, 11, 12])) + struct.pack(wide, many),
                  item * 1, total)


def fits(r):
    total = total_of(r)

    def cards(*texts):
        block = b"".join(text.ljust(80).encode() for text in texts)
        return block + b" " * (-len(block) % 2880)
    size = r.choice([0, 1, 10 ** 9, 10 ** 18])
    head = cards("SIMPLE  =                    T", "BITPIX  =                    8",
                 "NAXIS   =                    0", "EXTEND  =                    T", "END")
    part = cards("XTENSION= 'IMAGE   '", "BITPIX  =                    8", "NAXIS   = %20d" % min(size, 1),
                 *(["NAXIS1  = %20d" % size] if size else []), "PCOUNT  =                    0",
                 "GCOUNT  =                    1", "END")
    return inside(r, head, part, total)


def trr(r):
    total = total_of(r)
    natoms = r.choice([0, 0, 1, 1000, 0x7fffffff])
    parts = [0] * 7 + [12 * natoms & 0x7fffffff, 0, 0]
    one = struct.pack(">iii12s", 1993, 13, 12, b"GMX_trn_file") + struct.pack(">10i", *parts) + struct.pack(
        ">iiiff", natoms, 0, 0, 0, 0) + bytes(12 * natoms if natoms < 10 else 0)
    return inside(r, b"", one, total)


def dcd(r):
    total = total_of(r)
    natoms = r.choice([0, 1, 3, 10 ** 9])
    icntrl = [r.choice([1, 10 ** 9]), 0, 1] + [0] * 17
    icntrl[19] = 24
    lines = r.choice([1, 10 ** 7])
    head = struct.pack("<i4s20ii", 84, b"CORD", *icntrl, 84)
    head += struct.pack("<ii", (4 + 80 * lines) & 0x7fffffff, lines) + b"t" * 80 * min(lines, 1) + struct.pack(
        "<i", (4 + 80 * lines) & 0x7fffffff)
    head += struct.pack("<iii", 4, natoms, 4)
    part = struct.pack("<i", 4 * min(natoms, 9)) + bytes(4 * min(natoms, 9)) + struct.pack(
        "<i", 4 * min(natoms, 9))
    return inside(r, head, part, total)


def wav(r):
    total = total_of(r)
    head = b"RIFF" + struct.pack("<I", r.choice([total & 0xffffffff, 0xffffffff])) + b"WAVE"
    return inside(r, head, r.choice([b"LIST", b"fmt ", b"data"]) + struct.pack("<I", r.choice([0, 0, 16])),
                  total)


# ---- Tars ----


def tar_head(name, size, kind=b"0", gnu=b"ustar  \0", extra=b""):
    head = bytearray(512)
    head[0:len(name)] = name
    head[100:108] = b"0000644\0"
    head[108:116] = head[116:124] = b"0000000\0"
    head[124:136] = b"%011o\0" % size if size < 1 << 33 else b"\x80" + size.to_bytes(11, "big")
    head[136:148] = b"00000000000\0"
    head[156:157] = kind
    head[257:265] = gnu
    head[345:345 + len(extra)] = extra
    head[148:156] = b" " * 8
    head[148:156] = b"%06o\0 " % sum(head)
    return bytes(head)


def pax(records):
    text = b""
    for key, item in records:
        size = len(key) + len(item) + 3
        while len(b"%d" % size) + len(key) + len(item) + 3 != size:
            size = len(b"%d" % size) + len(key) + len(item) + 3
        text += b"%d %s=%s\n" % (size, key, item)
    return tar_head(b"x", len(text), b"x", b"ustar\00000") + text + bytes(-len(text) % 512)


def tar(r):
    huge = r.choice([1 << 30, 1 << 40, (1 << 62), (1 << 63) - 1])
    blp = blp_header() + chunk1(b"ABCDEFGH") * 2
    data = blp + bytes(-len(blp) % 512)
    end = bytes(1024)

    def old_sparse():
        extra = bytes(41) + b"".join(b"%011o %011o " % (i * 1024 & 0o77777777777, 512)
                                     for i in range(4)) + b"\0" + (
            b"\x80" + huge.to_bytes(11, "big") if huge >= 1 << 33 else b"%011o\0" % huge)
        return tar_head(b"a.blp", 2048, b"S", extra=extra[:155]) + data * 2 + end

    return r.choice([
        lambda: tar_head(b"a.blp", huge) + data,
        lambda: tar_head(b"a.blp", len(blp)) + data + tar_head(b"b", huge) + end,
        lambda: pax([(b"size", b"%d" % huge)]) + tar_head(b"a.blp", 0) + data + end,
        lambda: pax([(b"GNU.sparse.major", b"1"), (b"GNU.sparse.minor", b"0"),
                     (b"GNU.sparse.name", b"a.blp"), (b"GNU.sparse.realsize", b"%d" % huge)])
        + tar_head(b"a.blp", 1024, gnu=b"ustar\00000") + (b"1\n0\n512\n" + b"%d\n0\n" % huge).ljust(
            512, b"\0") + data[:512] + end,
        lambda: pax([(b"GNU.sparse.map", b",".join(b"%d,0" % (i << 20) for i in range(200))),
                     (b"GNU.sparse.size", b"%d" % huge)]) + tar_head(b"a.blp", 0) + end,
        old_sparse,
        lambda: tar_head(b"x", huge & 0x1fffffff, b"x", b"ustar\00000") + bytes(512),
        lambda: tar_head(b"././@LongLink", 0x1fffffff, b"L") + bytes(512),
        lambda: tar_head(b"d/", 0, b"5") * 6 + tar_head(b"d/a.blp", len(blp)) + data + end,
    ])()


KINDS = {make.__name__: make for make in (
    uniform, value, runs, large, whole, parts, tiny, index, blocks, nd, msgpack, sparse, bloscpack, metadata,
    nested, chunked, gsd, npz, zip64, netcdf, fits, trr, dcd, wav, tar)}
SUFFIX = {"bloscpack": ".blp", "nested": ".blp", "metadata": ".blp", "tar": ".tar", "sparse": ".b2s",
          "chunked": ".blpd", "nd": ".b2nd"}

# ---- Running ----

# Commands that write get an output limit; commands that only read need no limit.
LOOKS = [["info", "-vv"], ["info", "--json"], ["verify"], ["verify", "-v", "-T16"]]
WRITES = [["cat", "--memory-limit", "48M", "--max-output", "1M"],
          ["cat", "--name", "x", "--memory-limit", "48M", "--max-output", "1M"],
          ["unpack", "-c", "--memory-limit", "48M", "--max-output", "1M"],
          ["tar", "--raw", "-o", "-", "--memory-limit", "48M", "--max-output", "1M"], ["tar", "-o", "-"]]
WHOLE = [["cat"], ["cat", "--bytes", "1000:2000000"], ["unpack", "-c"], ["tar", "--raw", "-o", "-"]]
TARS = [["tar", "-t", "-f"]]


def make_all(kind, count, seed, folder):
    names = []
    for number in range(count):
        path = os.path.join(folder, "%s-%d%s" % (kind, number, SUFFIX.get(kind, ".b2frame")))
        r = random.Random("%s %s %d" % (kind, seed, number))
        if kind in ("sparse", "chunked"):
            KINDS[kind](r, path)
        else:
            with open(path, "wb") as file:
                file.write(KINDS[kind](r))
        names.append(path)
    return names


def limit():
    resource.setrlimit(resource.RLIMIT_CPU, (1, 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run_one(bpk, peak, report, command, path):
    """The problem in words, or None."""
    env = {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C"}
    done = subprocess.run([peak, report, bpk] + command + [path], env=env, preexec_fn=limit,
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, timeout=120, check=False)
    with open(report, encoding="ascii") as file:
        memory = int(file.read())
    lines = done.stderr.count(b"\n")
    why = []
    if done.returncode not in (0, 1, 2, 3):
        why.append("status %d" % done.returncode)
    if memory > 64 * 1024:
        why.append("%d KiB" % memory)
    # verify has one for each damaged chunk, and one for those behind the first twenty
    if lines > (21 if command[0] == "verify" else 1) or (done.returncode in (1, 2) and lines == 0):
        why.append("%d lines" % lines)
    if not why:
        return None
    return "%s %s: %s: %s" % (" ".join(command), path, ", ".join(why),
                              done.stderr[:200].decode("utf-8", "replace").strip())


def run_all(bpk, peak, kind, count, seed, folder, every):
    report = os.path.join(folder, "peak")
    commands = LOOKS + (WHOLE if kind in ("large", "whole", "parts") else WRITES) + (TARS if kind == "tar" else [])
    good = total = 0
    for number, path in enumerate(make_all(kind, count, seed, folder)):
        some = [LOOKS[number % len(LOOKS)], commands[-1 - number % (len(commands) - len(LOOKS))]]
        for command in commands if every else some:
            total += 1
            why = run_one(bpk, peak, report, command, path)
            good += why is None
            if why is not None:
                print(why)
    print("%d of %d" % (good, total))
    return 0 if good == total else 1


def first():
    """The files that were found first, with the commands that they made costly."""
    many = uniform_index(10 ** 6, ZERO)
    yield "many.b2frame", frame(b"", many, 2 * 10 ** 15, 2 * 10 ** 9, 1, 4096), [["info", "-v"]]
    total = 26 * 10 ** 7
    yield ("more.b2frame", frame(b"", uniform_index(total, ZERO), total * 4096, 4096, 1, 4096),
           [["info", "-v"], ["verify"]])
    chunk = streams(2147483600, 536866816, lambda number, size: struct.pack("<i", 0))
    yield ("runs.b2frame", frame(chunk, uniform_index(4, 0), 4 * 2147483600, 2147483600),
           [["verify"], ["verify", "-T16"]])
    entry = struct.pack("<QQqIHBB", 0, 1, 256, 1, 0, 1, 0)
    head = struct.pack("<8sQQQQII", bytes.fromhex("df65df65df65df65"), 320, 1 << 29, 256, 1, 0, 0x20000)
    head += bytes(256 - len(head)) + b"x" + bytes(63)
    body = zlib_chunk(head + entry * ((MIB - len(head)) // len(entry)))
    again = zlib_chunk(entries([0] + [len(body)] * 16383), 8)
    yield ("gsd.b2frame", frame(body + special(3, MIB, entry, 32), again, MIB << 14, MIB), [["info", "-v"]])
    text = b"{'descr': [" + b",".join(b"('f%d','<f8')" % i for i in range(4000)) + b"], 'fortran_order': False, 'shape': (0,), }"
    npy = b"\x93NUMPY\2\0" + struct.pack("<I", len(text)) + text
    local = struct.pack("<IHHHHHIIIHH", 0x04034b50, 20, 0, 0, 0, 0, 0, len(npy), len(npy), 1, 0) + b"a" + npy
    central = struct.pack("<IHHHHHHIIIHHHHHII", 0x02014b50, 20, 20, 0, 0, 0, 0, 0, len(npy), len(npy),
                          1, 0, 0, 0, 0, 0, 0) + b"a"
    raw = local + 400 * central + struct.pack("<IHHHHIIH", 0x06054b50, 0, 0, 400, 400, 400 * len(central), len(local), 0)
    yield "npz.b2frame", frame(zlib_chunk(raw), stored(entries([0]), 8), len(raw), len(raw)), [["info", "-v"]]
    layer, size, _ = array_layer([5000, 20000], [1, 1])
    yield ("dots.b2frame", frame(b"", uniform_index(1, NAN), size, size, 4, fixed=[(b"b2nd", layer)]),
           [["cat"], ["unpack", "-c"]])
    layer, size, part = array_layer([5000, 20000], [5000, 200])
    yield ("columns.b2frame", frame(streams(size, part, run, typesize=4), stored(entries([0]), 8), size, size, 4,
                                    fixed=[(b"b2nd", layer)]), [["cat", "--bytes", "1000:2000000"]])
    layer, size, part = array_layer([100, 1310720], [100, 65536])
    yield ("rows.b2frame", frame(streams(size, part, run, typesize=4), stored(entries([0]), 8), size, size, 4,
                                 fixed=[(b"b2nd", layer)]), [["cat"], ["unpack", "-c"]])
    size = 30 * MIB
    chunk = streams(size, size, run, typesize=8, filters=(0, 0, 0, 0, 1, 3))
    yield "filters.b2frame", frame(chunk, stored(entries([0]), 8), size, size, 8), [["cat"], ["unpack", "-c"]]
    chunk, count = stored(b"abcdefgh"), 65000
    again = zlib_chunk(entries([0, len(chunk)] * (count // 2)), 8)
    yield "walk.b2frame", frame(chunk * 2, again, 8 * count, 0), [["info", "-vv"], ["info", "--json"]]
    empty = zlib_chunk(b"\xdd" + struct.pack(">I", MIB - 5) + b"\xa0" * (MIB - 5))
    yield ("strings.b2frame", frame(stored(b"abcdefgh"), stored(entries([0]), 8), 8, 8,
                                    vary=[(b"a", empty), (b"b", empty)]), [["info", "--json"]])
    for name, head, value in (("false", b"\xdd", b"\xc2"), ("text", b"\xdb", b"\1"), ("raw", b"\xdd", b"\xc1"),
                              ("keys", b"\xdf", b"\xa0\xc0")):
        count = MOST_LAYERS // len(value) - 5
        layer = zlib_chunk(head + struct.pack(">I", count) + value * count)
        looks = [["info", "-vv"], ["meta", "get"], ["verify"]]
        if name != "keys":  # which takes most of a second
            looks.append(["info", "--json"])
        yield (name + "-layer.b2frame", frame(stored(b"abcdefgh"), stored(entries([0]), 8), 8, 8, vary=[(b"a", layer)]),
               looks)
    text = b"[" + b"[]," * (20 << 20) + b"0]"
    yield ("tiny.b2frame", frame(variable([1], zstd_zeros), uniform_index(700199, 0), 700199, 1, flags=0xd2),
           [["cat"], ["cat", "-T", "16", "--bytes", "1:"], ["unpack", "-c"], ["tar", "--raw", "-o", "-"]])
    yield "metadata.blp", blp_header(2, nchunks=2) + blp_metadata(text) + chunk1(b"ABCDEFGH") * 2, [["info"]]


def run_first(bpk, peak, folder):
    wrong = 0
    for name, content, commands in first():
        path = os.path.join(folder, name)
        with open(path, "wb") as file:
            file.write(content)
        for command in commands:
            why = run_one(bpk, peak, os.path.join(folder, "peak"), command, path)
            wrong += why is not None
            print(why or "%s %s: well" % (" ".join(command), path))
    return wrong > 0


def main():
    what = sys.argv[1] if len(sys.argv) > 1 else ""
    if what == "list":
        print("\n".join(KINDS))
    elif what == "make" and len(sys.argv) == 6:
        make_all(sys.argv[2], int(sys.argv[3]), sys.argv[4], sys.argv[5])
    elif what == "first" and len(sys.argv) == 5:
        return run_first(sys.argv[2], sys.argv[3], sys.argv[4])
    elif what == "run" and len(sys.argv) in (8, 9):
        return run_all(sys.argv[2], sys.argv[3], sys.argv[4], int(sys.argv[5]), sys.argv[6],
                       sys.argv[7], len(sys.argv) == 9)
    else:
        print(__doc__, file=sys.stderr)
        return 64
    return 0


if __name__ == "__main__":
    sys.exit(main())
