#!/usr/bin/env python3
"""Break the good frames here, one thing at a time: bad-NAME and unsupported-NAME beside NAME.error,
a part of the line that tells of it. The good ones are c-blosc2's own, and are not made here."""

import os
import shutil
import struct

HERE = os.path.dirname(os.path.abspath(__file__))
os.chdir(HERE)


def load(name):
    with open(name, "rb") as f:
        return bytearray(f.read())


def store(name, data, error):
    with open(name, "wb") as f:
        f.write(data)
    tell(name, error)


def tell(name, error):
    with open(os.path.splitext(name)[0] + ".error", "w") as f:
        f.write(error + "\n")


def broken(name, error, *changes, of="good-lz4.b2frame", cut=None):
    """changes: (offset, format, value), offsets below 0 from the end; cut: what is left."""
    data = load(of)
    for offset, form, value in changes:
        struct.pack_into(form, data, offset if offset >= 0 else len(data) + offset, value)
    store(name + ".b2frame", data[:cut], error)


def i64(data, offset):
    return struct.unpack_from(">q", data, offset)[0]


lz4 = load("good-lz4.b2frame")
HEADER = 97
INDEX = HEADER + i64(lz4, 39)  # stored: entries behind 32 bytes
TRAILER = len(lz4) - struct.unpack_from(">I", lz4, len(lz4) - 22)[0]

for old in os.listdir("."):
    if old.startswith(("bad-", "unsupported-")):
        shutil.rmtree(old) if os.path.isdir(old) else os.remove(old)

# the header
broken("bad-magic", "does not begin as one", (3, "B", 0x33))
broken("bad-marker", "which is not a marker", (29, "B", 0xD2))
broken("bad-header-size", "says that it has 96 bytes", (11, ">i", 96))
broken("bad-header-size-large", "bytes, expected 100000 bytes at offset 0", (11, ">i", 100000))
broken("bad-header-size-negative", "says that it has -1 bytes", (11, ">i", -1))
broken("bad-frame-size", f"the frame has {len(lz4) + 1} bytes, the file {len(lz4)}", (16, ">Q", len(lz4) + 1))
broken("bad-frame-size-short", "trailer: byte 0x", (16, ">Q", len(lz4) - 1))
broken("bad-frame-size-negative", "a size in the header is negative", (16, ">q", -1))
broken("bad-raw-size", "unpacks to 1000 bytes, expected 1004", (30, ">q", 1004))
broken("bad-packed-size", "index: chunk format version 1", (39, ">q", INDEX - HEADER + 1))
broken("bad-packed-size-large", "payload of 4096 bytes exceeds", (39, ">q", 4096))
broken("bad-packed-size-wraps", "exceeds the frame", (39, ">q", 2**63 - 1))
broken("bad-typesize", "typesize in the header is 0", (48, ">i", 0))
broken("bad-chunk-size", "it unpacks to 400 bytes, expected at most 399", (58, ">i", 399))
broken("bad-chunk-size-none", "no chunks yet", (58, ">i", -1))
broken("bad-chunk-size-negative", "chunksize in the header is -2", (58, ">i", -2))
broken("bad-filters", "7 filter slots", (70, "B", 7))
broken("bad-section", "no metalayer section at 87 in the header", (88, "B", 0xCC))
broken("bad-sparse", "index of a sparse frame", (26, "B", 1))
broken("unsupported-version", "frame version 4", (25, "B", 0x14))
broken("bad-type", "frame type 2", (26, "B", 2))
broken("bad-width", "width code 2", (25, "B", 0x22))

# the index
broken("bad-index-size", "index: stored chunk takes 4096 bytes", (INDEX + 12, "<i", 4096))
broken("bad-index-count", "index: stored chunk takes 56 bytes, but holds 20", (INDEX + 4, "<i", 20))
broken("bad-index-entry", "index entry 1: offset 4096 leads outside", (INDEX + 40, "<q", 4096))
broken("bad-index-special", "index entry 1: 8300000000000098 is neither an offset", (INDEX + 47, "B", 0x83))
broken("bad-index-special-low", "index entry 2: 8100000000000001 is neither an offset", (INDEX + 48, "<Q", 0x8100000000000001))
broken("bad-index-middle", "chunk 1 at offset 98: chunk format version 1", (INDEX + 40, "<q", 1))

# the trailer
broken("bad-trailer-marker", "trailer: byte 0xcd", (-23, "B", 0xCD))
broken("bad-trailer-size", "trailer: it has 34 bytes", (-22, ">I", 34))
broken("bad-trailer-size-large", "trailer: it has 4096 bytes", (-22, ">I", 4096))
broken("bad-trailer-map", "metalayer", (TRAILER + 6, "B", 0xDF))
broken("unsupported-trailer", "trailer version 2", (TRAILER + 1, "B", 2))
broken("bad-cut", "the file", cut=-1)
broken("bad-cut-head", "header: file ends after 90 bytes, expected 97 bytes at offset 0", cut=90)

# chunks
broken("bad-chunk-raw-size", "chunk 0 at offset 97: it unpacks to 396 bytes, expected 400", (HEADER + 4, "<i", 396))
broken("bad-chunk-packed-size", "chunk 0 at offset 97: it has 4096 bytes", (HEADER + 12, "<i", 4096))
broken("bad-chunk-lazy", "lazy", (HEADER + 31, "B", 8))
broken("bad-chunk-special", "chunk 0 at offset 97: chunk of special kind 5", (HEADER + 31, "B", 0x50))
broken("bad-chunk-starts", "chunk 0 at offset 97: block 0 starts at 2147483647", (HEADER + 32, "<i", 2**31 - 1))
broken("bad-chunk-version", "chunk 0 at offset 97: ", (HEADER, "B", 7))
broken("bad-filter", "filter 200", (HEADER + 16, "B", 200))
broken("bad-codec", "38", (HEADER + 2, "B", lz4[HEADER + 2] & 0x1F | 0xC0), (HEADER + 22, "B", 38))

# metalayers
meta = load("good-metadata.b2frame")
at = meta.index(b"\xc6", len(meta) - struct.unpack_from(">I", meta, len(meta) - 22)[0])
broken("bad-layer-size", "metalayer 'note' has 4096 bytes", (at + 1, ">I", 4096), of="good-metadata.b2frame")
broken("bad-layer-chunk", "metalayer 'note': stored chunk takes 33 bytes", (at + 5 + 12, "<i", 33), of="good-metadata.b2frame")
broken("bad-layer-fixed", "metalayers in the header", (103, ">i", 4096), of="good-metadata.b2frame")

# sparse frames
for name, error in (("missing", "chunk 1: 00000002.chunk"), ("empty", "chunk 1 in 00000002.chunk: the file is empty"),
                    ("cut", "chunk 1 in 00000002.chunk: it has 152 bytes, 151 are there"), ("other", "chunk 1 in 00000002.chunk: it unpacks to 260 bytes, expected 400"),
                    ("contiguous", "chunks.b2frame: payload of 523 bytes exceeds"),
                    ("entry", "chunks.b2frame: index entry 0: 1099511627776 is not the number of a file")):
    folder = "bad-sparse-" + name
    shutil.copytree("good-sparse", folder)
    second, index = folder + "/00000002.chunk", folder + "/chunks.b2frame"
    data = load(second)
    if name == "missing":
        os.remove(second)
    elif name == "empty":
        open(second, "wb").close()
    elif name == "cut":
        open(second, "wb").write(data[:-1])
    elif name == "other":
        open(second, "wb").write(data[:4] + b"\x04" + data[5:])
    data = load(index)
    if name == "contiguous":
        data[26] = 0
    elif name == "entry":
        data[struct.unpack_from(">i", data, 11)[0] + 32 + 5] = 1
    open(index, "wb").write(data)
    tell(folder, error)

# arrays
nd = load("good-array.b2nd")
at = nd.index(b"\x97\x00\x02")
for name, error, offset, form, value in (
        ("shape", "the array has 6 chunks, the frame 4", 5, ">q", 9),
        ("block", "block shape 0", 4 + 18 + 1 + 10 + 1 + 1, ">i", 0)):
    data = bytearray(nd)
    struct.pack_into(form, data, at + offset, value)
    store("bad-array-" + name + ".b2nd", data, error)
