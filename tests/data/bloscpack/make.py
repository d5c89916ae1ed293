#!/usr/bin/env python3
"""Make the archives of this folder, field by field, from tests/lib/blp_make.py and what is here.

    make.py [FOLDER]     good-NAME.blp with good-NAME.raw, bad-NAME.blp, unsupported-NAME.blp

Run it again after a change; README.md says what each file is. Nothing packs: chunks are stored.
"""
import os
import sys
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "lib"))

from blp_make import RAW, S, chunk, header, metadata, offsets, sealed, store  # noqa: E402
import blp_make  # noqa: E402


def blaze_zlib(text, cut=0, behind=b""):
    """The Blaze layout with metadata packed by zlib, whose unpacked size nothing records."""
    stored = zlib.compress(text, 9)
    stored = stored[:len(stored) - cut] + behind
    return header(options=2 | 4, tail=len(stored)) + stored + S * 2


def listed(text):
    """Chunks of several sizes, and what the metadata say of them."""
    raw = [RAW, RAW * 2, RAW, RAW * 2, RAW, RAW * 2, b"12345"]
    chunks = [sealed(chunk(r)) for r in raw]
    first = 32 + len(metadata(text)) + 8 * len(raw)
    at = [first + sum(map(len, chunks[:i])) for i in range(len(raw))]
    data = header(options=3, chunk_size=-1, last=5, nchunks=len(raw)) + metadata(text) + offsets(*at) + b"".join(chunks)
    return data, b"".join(raw)


def more_good():
    two = RAW * 2
    end = 64 + 2 * len(S)
    text = b'{"run":7}'
    filled = bytearray(metadata(text))
    filled[32 + len(text) + 5] = 1
    return {
        "blaze-zlib": (blaze_zlib(text), two),
        "blaze-zlib-long": (blaze_zlib(b"[" + b"1, " * 3000 + b"2]"), two),
        "v3-sizes": listed(b'{"run":7,"bpk_chunks":[[1,8],[1,16],[2,8,16]]}'),
        "v3-interrupted-append": (
            header(options=1, tail=2) + offsets(64, 92, end, -1) + S * 2 + S[:9], two),
        "v3-metadata-fill": (header(options=2) + bytes(filled) + S * 2, two),
        "v3-metadata-foreign": (
            header(options=2) + metadata(b"<run>7</run>", magic=b"XML\0\0\0\0\0") + S * 2, two),
    }


def more_bad():
    whole = header(options=1, tail=2) + offsets(64, 92, -1, -1) + S * 2
    return {
        "damaged-blaze-zlib-cut": blaze_zlib(b'{"run":7}', cut=3),
        "damaged-blaze-zlib-more": blaze_zlib(b'{"run":7}', behind=b"}"),
        "damaged-blaze-zlib-stored": header(options=2 | 4, tail=9) + b'{"run":7}' + S * 2,
        "damaged-sizes-huge": listed(b'{"bpk_chunks":[[9223372036854775807,2147483631]]}')[0],
        "damaged-sizes-many": listed(b'{"bpk_chunks":[[4,8,16]]}')[0],
        "damaged-sizes-wrong": listed(b'{"bpk_chunks":[[3,16,8]]}')[0],
        "damaged-spare-inside": header(options=1, tail=2) + offsets(64, 92, 70, -1) + S * 2,
        "damaged-spare-negative": header(options=1, tail=2) + offsets(64, 92, -2, -1) + S * 2,
        "damaged-first-count-lowered": whole[:16] + b"\1" + whole[17:],
        "damaged-first-count-raised": whole[:16] + b"\3" + whole[17:],
        "damaged-first-space-lowered": whole[:24] + b"\1" + whole[25:],
        "damaged-no-chunks-but-last": header(nchunks=0, options=1, tail=2) + offsets(-1, -1),
        "damaged-no-chunks-but-tail": header(nchunks=0, chunk_size=0, last=0) + S,
        "damaged-metadata-magic": header(options=2) + metadata(magic=b"JSOM\0\0\0\0") + S * 2,
        "damaged-stream-marker-digest": header(last=-1, nchunks=-1) + S + sealed(chunk(b""))[:-1]
                                        + b"\0",
    }


def more_unsupported():
    return {
        # 2 MiB in 2 KiB: above the limit on a text of so few bytes
        "unsupported-blaze-zlib-bomb": blaze_zlib(b"[" + b" " * (2 << 20) + b"]"),
    }


def main(argv):
    folder = argv[1] if len(argv) > 1 else HERE
    for name, (data, raw) in {**blp_make.good(), **more_good()}.items():
        store(folder, "good-" + name + ".blp", data)
        store(folder, "good-" + name + ".raw", raw)
    for name, data in {**blp_make.bad(), **more_bad(), **more_unsupported()}.items():
        kind, rest = name.split("-", 1)
        # every cut is made by the unit test itself
        if "cut-" not in rest:
            store(folder, {"damaged": "bad"}.get(kind, kind) + "-" + rest + ".blp", data)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
