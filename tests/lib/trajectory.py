#!/usr/bin/python3
"""Large trajectories, and the expected cost of reading one frame of a packed one.

    trajectory.py make FILE MIB          drifting positions of 200,000 particles, in frames of
                                         MIB together: FILE ends in .dcd or .gsd (by python gsd)
    trajectory.py frame FILE NAME FRAME  the bytes of that array
    trajectory.py cost RECORD NAME FRAME from `info --json -vv` of the archive, in RECORD: the
                                         packed size of the chunks that hold the array, and
                                         their number

Ends with 77 when NumPy or python gsd is missing.
"""

import json
import struct
import sys

try:
    import numpy
except ImportError:
    sys.exit(77)

N = 200000


def positions(frame):
    start = numpy.random.default_rng(1).random((N, 3), numpy.float32)
    drift = numpy.random.default_rng(2).random((N, 3), numpy.float32) - numpy.float32(0.5)
    return start + drift * numpy.float32(frame / 100)


def record(body):
    return struct.pack("<i", len(body)) + body + struct.pack("<i", len(body))


def make_dcd(path, count):
    control = [0] * 20
    control[0], control[2], control[19] = count, 1, 24
    with open(path, "wb") as file:
        file.write(record(b"CORD" + struct.pack("<20i", *control)))
        file.write(record(struct.pack("<i", 1) + b"t".ljust(80)) + record(struct.pack("<i", N)))
        for frame in range(count):
            for row in positions(frame).T:
                file.write(record(row.tobytes()))


def make_gsd(path, count):
    try:
        import gsd.fl
    except ImportError:
        sys.exit(77)
    with gsd.fl.open(path, "wb", application="test", schema="hoomd",
                     schema_version=[1, 4]) as file:
        for frame in range(count):
            file.write_chunk("configuration/step", numpy.array([frame], "<u8"))
            if frame == 0:
                file.write_chunk("particles/N", numpy.array([N], "<u4"))
            file.write_chunk("particles/position", positions(frame))
            file.end_frame()


def make(path, mib):
    count = int(mib) * 1048576 // (N * 12) + 1
    (make_gsd if path.endswith(".gsd") else make_dcd)(path, count)


def frame_of(path, name, frame):
    rows = positions(int(frame))
    if path.endswith(".dcd"):
        rows = rows[:, "xyz".index(name)]
    sys.stdout.buffer.write(numpy.ascontiguousarray(rows).tobytes())


def cost(path, name, frame):
    with open(path, encoding="utf-8") as file:
        found = json.load(file)
    array = next(array for array in found["arrays"]
                 if (array["name"], array["frame"]) == (name, int(frame)))
    start, stop = array["offset"], array["offset"] + array["raw_size"]
    touched = [chunk for chunk in found["chunks"]
               if chunk["raw_offset"] < stop and chunk["raw_offset"] + chunk["raw_size"] > start]
    print(sum(chunk["packed_size"] for chunk in touched), len(touched))


{"make": make, "frame": frame_of, "cost": cost}[sys.argv[1]](*sys.argv[2:])
