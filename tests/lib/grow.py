#!/usr/bin/env python3
"""A program whose output file grows: for SECONDS it adds pieces of random sizes to FILE and, as
writers of trajectories do, counts them in the file's head after each.

    grow.py FILE SECONDS SEED
"""
import random
import sys
import time

path, seconds, seed = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
rng = random.Random(seed)
stop = time.monotonic() + seconds
with open(path, "r+b", buffering=0) as out:
    out.seek(0, 2)
    if out.tell() == 0:
        out.write(b"HEAD" + bytes(8) + rng.randbytes(500))
    out.seek(4)
    count = int.from_bytes(out.read(8), "little")
    while time.monotonic() < stop:
        out.seek(0, 2)
        size = int(rng.choice([1, 10, 100, 1000]) ** rng.uniform(0.5, 1.7))
        out.write(rng.randbytes(size) if rng.random() < 0.5 else b"steps %d " % count * (size // 8 + 1))
        count += 1
        out.seek(4)
        out.write(count.to_bytes(8, "little"))
        time.sleep(rng.random() * 0.02)
