"""Writes GSD files whose frames mix arrays of several element sizes, without the GSD library.

    gsd_mix.py FILE FRAMES NAME=TYPE:COUNT ...

TYPE is u1, u8, f4 or f8; f4 has rows of three. Smooth numbers, the same ones every time.
"""

import array
import math
import random
import struct
import sys

CODES = {"u1": (1, "B"), "u8": (4, "Q"), "f4": (9, "f"), "f8": (10, "d")}


def numbers(kind, count, frame):
    rng = random.Random(f"{kind}{frame}")
    if kind == "u8":
        return [frame] * count
    if kind == "u1":
        return bytes(byte & 3 for byte in rng.getrandbits(8 * count).to_bytes(count, "little"))
    return [math.sin(i * 1e-4 + frame) * (1 + i % 3) + rng.random() * 1e-3 for i in range(count)]


def main(path, frames, *chunks):
    names = [chunk.split("=")[0] for chunk in chunks]
    index, at = [], 256
    with open(path, "wb") as f:
        f.seek(at)
        for frame in range(int(frames)):
            for number, chunk in enumerate(chunks):
                kind, count = chunk.split("=")[1].split(":")
                code, letter = CODES[kind]
                data = array.array(letter, numbers(kind, int(count), frame))
                if sys.byteorder == "big":
                    data.byteswap()
                columns = 3 if kind == "f4" else 1
                index.append(struct.pack("<QQqIHBB", frame, len(data) // columns, at, columns,
                                         number, code, 0))
                data = data.tobytes()
                f.write(data)
                at += len(data)
        listed = b"".join(name.encode() + b"\0" for name in names)
        blocks = len(listed) // 64 + 1
        f.write(listed.ljust(64 * blocks, b"\0"))
        f.write(b"".join(index) + bytes(32))
        f.seek(0)
        f.write(struct.pack("<QQQQQII", 0x65DF65DF65DF65DF, at + 64 * blocks, len(index) + 1, at,
                            blocks, 1 << 16, 2 << 16) + b"bpk-test".ljust(64, b"\0")
                + b"mix".ljust(64, b"\0"))


main(*sys.argv[1:])
