"""Makes simulation files for bench-structure in a folder; needs NumPy and python3-gsd.

    make-files.py FOLDER

Numbers are the same every time: particles that diffuse, fields that are smooth, counts, flags.
"""

import os
import struct
import sys

import gsd.fl
import numpy as np

rng = np.random.default_rng(20)


def walk(count):
    position = rng.uniform(-50, 50, size=(count, 3)).astype("f4")
    velocity = rng.normal(size=(count, 3)).astype("f4")
    while True:
        yield position, velocity
        velocity = (velocity * 0.9 + rng.normal(scale=0.1, size=(count, 3))).astype("f4")
        position = (position + velocity * 0.005).astype("f4")


def hoomd(path, count, frames):
    with gsd.fl.open(path, "wb", application="bench", schema="hoomd", schema_version=[1, 4]) as f:
        turn = rng.normal(size=(count, 4))
        turn = (turn / np.linalg.norm(turn, axis=1)[:, None]).astype("f4")
        for frame, (position, velocity) in zip(range(frames), walk(count)):
            f.write_chunk("configuration/step", np.array([frame * 100], "u8"))
            if frame == 0:
                f.write_chunk("particles/N", np.array([count], "u4"))
                f.write_chunk("particles/typeid", rng.integers(0, 3, count).astype("u4"))
            f.write_chunk("particles/position", position)
            f.write_chunk("particles/orientation", turn)
            f.write_chunk("particles/velocity", velocity)
            f.write_chunk("particles/image", (position / 40).astype("i4"))
            f.end_frame()


def mixed(path, count, frames):
    with gsd.fl.open(path, "wb", application="bench", schema="mix", schema_version=[1, 0]) as f:
        x = np.linspace(0, 40, count)
        for frame, (position, _) in zip(range(frames), walk(count // 3)):
            f.write_chunk("position", position)
            f.write_chunk("field", np.sin(x + frame) + rng.normal(scale=1e-6, size=count))
            f.write_chunk("flags", rng.integers(0, 4, 4 * count).astype("u1"))
            f.end_frame()


def dcd(path, count, frames):
    def record(data):
        return struct.pack("<i", len(data)) + data + struct.pack("<i", len(data))

    control = [0] * 20
    control[0], control[2], control[10], control[19] = frames, 1, 1, 24
    with open(path, "wb") as f:
        f.write(record(b"CORD" + struct.pack("<20i", *control)))
        f.write(record(struct.pack("<i", 1) + b"bench".ljust(80)))
        f.write(record(struct.pack("<i", count)))
        for _, (position, _) in zip(range(frames), walk(count)):
            f.write(record(struct.pack("<6d", 50, 90, 50, 90, 90, 50)))
            for k in range(3):
                f.write(record(position[:, k].astype("<f4").tobytes()))


def several(path, count):
    np.savez(path, walk=np.cumsum(rng.normal(size=count)),
             cells=(np.arange(3 * count) // 7).astype("i4"),
             counts=rng.integers(0, 100, 2 * count).astype("u2"),
             path=np.cumsum(rng.normal(size=(count // 2, 3)), axis=0).astype("f4"))


folder = sys.argv[1]
os.makedirs(folder, exist_ok=True)
hoomd(f"{folder}/hoomd-64000.gsd", 64000, 12)
hoomd(f"{folder}/hoomd-2000.gsd", 2000, 200)
mixed(f"{folder}/mixed-60000.gsd", 60000, 24)
mixed(f"{folder}/mixed-3000.gsd", 3000, 400)
dcd(f"{folder}/atoms-100000.dcd", 100000, 20)
dcd(f"{folder}/atoms-1000.dcd", 1000, 2000)
several(f"{folder}/several.npz", 1000000)
np.save(f"{folder}/path.npy", np.cumsum(rng.normal(size=(1500000, 3)), axis=0).astype("f4"))
np.save(f"{folder}/field.npy", np.sin(np.linspace(0, 60, 3000000)).reshape(3000, 1000))
