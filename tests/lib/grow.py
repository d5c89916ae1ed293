#!/usr/bin/env python3
"""A program whose output file grows. For SECONDS it appends pieces of random sizes to FILE, a WAV,
and after each updates the sizes in the file's head of 44 bytes, as writers of trajectories do.

    grow.py FILE SECONDS SEED
"""
import random
import struct
import sys
import time

path, seconds, seed = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
rng = random.Random(seed)
stop = time.monotonic() + seconds
with open(path, "r+b", buffering=0) as out:
    out.seek(0, 2)
    if out.tell() == 0:
        out.write(b"RIFF" + bytes(4) + b"WAVEfmt " + struct.pack("<IHHIIHH", 16, 1, 1, 8000, 8000, 1, 8))
        out.write(b"data" + bytes(4))
    count = 0
    while time.monotonic() < stop:
        out.seek(0, 2)
        size = int(rng.choice([1, 10, 100, 1000]) ** rng.uniform(0.5, 1.7))
        out.write(rng.randbytes(size) if rng.random() < 0.5 else b"steps %d " % count * (size // 8 + 1))
        count += 1
        size = out.tell()
        out.seek(4)
        out.write(struct.pack("<I", size - 8))
        out.seek(40)
        out.write(struct.pack("<I", size - 44))
        time.sleep(rng.random() * 0.02)
