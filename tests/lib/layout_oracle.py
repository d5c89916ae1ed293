#!/usr/bin/python3
"""Every array of a simulation file, compared between other readers and bpk.

    layout_oracle.py BPK FILE SHOWN...   FILE is read by python gsd, NumPy, SciPy, or here by
                                         the formats' own descriptions (.dcd, .trr); SHOWN are
                                         FILE and archives of it, which bpk reads

For each SHOWN: `info --json -vv` must list exactly these arrays, with their types and shapes, and
`cat --name` must give the bytes of all frames together, and of some frames alone. Of a file with many
arrays, one in so many names is read. The number BPK_TEST_SEED moves both choices. Prints the number of
arrays and of files. Ends with 1 when one differs, with 77 when a reader is missing.
"""

import json
import os
import struct
import subprocess
import sys
import warnings

import numpy

SOME = 2  # frames read alone, beside the first
SEED = int(os.environ.get("BPK_TEST_SEED") or 0)


def read_npy(path):
    yield "data", None, numpy.load(path)


def read_gsd(path):
    import gsd.fl
    with gsd.fl.open(path, "rb") as file:
        names = file.find_matching_chunk_names("")
        for frame in range(file.nframes):
            for name in names:
                if file.chunk_exists(frame, name):
                    yield name, frame, file.read_chunk(frame, name)


def read_netcdf(path):
    from scipy.io import netcdf_file
    with netcdf_file(path, "r", mmap=False) as file:
        for name, variable in file.variables.items():
            if not variable.isrec:
                yield name, None, variable.data
                continue
            for frame, row in enumerate(variable.data):
                yield name, frame, numpy.asarray(row, variable.data.dtype)


def read_dcd(path):
    """Fortran's records: a frame has one each for x, y and z, after one for the cell."""
    with open(path, "rb") as file:
        data = file.read()
    at = 0

    def record():
        nonlocal at
        size = struct.unpack_from("<i", data, at)[0]
        body = data[at + 4:at + 4 + size]
        assert struct.unpack_from("<i", data, at + 4 + size)[0] == size
        at += size + 8
        return body

    head = record()
    assert head[:4] == b"CORD"
    control = struct.unpack("<20i", head[4:])
    assert control[8] == 0 and (control[19] == 0 or control[11] == 0)
    record()  # titles
    record()  # atoms
    frame = 0
    while at < len(data):
        if control[10]:
            yield "cell", frame, numpy.frombuffer(record(), "<f8")
        for name in "xyz":
            yield name, frame, numpy.frombuffer(record(), "<f4")
        frame += 1


def read_trr(path):
    """XDR: a header with the size of each block of the frame, and the blocks."""
    with open(path, "rb") as file:
        data = file.read()
    at, frame = 0, 0
    while at < len(data):
        magic, _, length = struct.unpack_from(">3i", data, at)
        assert magic == 1993
        at += 12 + (length + 3) // 4 * 4
        sizes = struct.unpack_from(">10i", data, at)
        natoms = struct.unpack_from(">i", data, at + 40)[0]
        real = numpy.dtype(">f4" if sizes[2] == 36 or sizes[7] == 12 * natoms else ">f8")
        at += 52
        for name in "time", "lambda":
            yield name, frame, numpy.frombuffer(data, real, 1, at).reshape(())
            at += real.itemsize
        names = [None, None, "box", "vir", "pres", None, None, "x", "v", "f"]
        for name, size in zip(names, sizes):
            if name and size:
                yield name, frame, numpy.frombuffer(data, real, size // real.itemsize,
                                                    at).reshape(-1, 3)
            at += size
        frame += 1


READERS = {"npy": read_npy, "gsd": read_gsd, "ncdf": read_netcdf, "dcd": read_dcd, "trr": read_trr}


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout


def describe(array):
    kind = array.dtype.str.replace("=", "<")
    return kind, list(array.shape)


def check_info(bpk, path, arrays):
    found = json.loads(run(bpk, "info", "--json", "-vv", path)).get("arrays") or []
    found = {(row["name"], row["frame"]): (row["dtype"], row["shape"]) for row in found}
    expected = {key: describe(array) for key, array in arrays.items()}
    if found != expected:
        sys.exit("%s: info lists other arrays: %s"
                 % (path, sorted(set(map(str, found.items())) ^ set(map(str, expected.items())))[:4]))


def check_bytes(bpk, path, name, parts, frames=None):
    command = [bpk, "cat", "--no-defaults", "--name", name, path]
    if frames is not None:
        command[2:2] = ["--frames", "%d:%d" % frames]
    if run(*command) != b"".join(numpy.ascontiguousarray(part).tobytes() for part in parts):
        sys.exit("%s: %s gives other bytes" % (path, " ".join(command[1:])))


def check(bpk, path, arrays, every):
    """Of the names, one in so many is read."""
    check_info(bpk, path, arrays)
    names = list(dict.fromkeys(name for name, _ in arrays))
    for name in names[SEED % every::every]:
        mine = {frame: array for (other, frame), array in arrays.items() if other == name}
        check_bytes(bpk, path, name, mine.values())
        frames = [frame for frame in mine if frame is not None]
        step = max(1, len(frames) // SOME)
        for frame in sorted(set(frames[:1] + frames[1 + SEED % step::step])):
            check_bytes(bpk, path, name, [mine[frame]], (frame, frame + 1))


def main(bpk, path, *shown):
    warnings.simplefilter("ignore")
    try:
        arrays = {(name, frame): array
                  for name, frame, array in READERS[path.rsplit(".")[-1]](path)}
    except ImportError as error:
        print(error, file=sys.stderr)
        return 77
    for each in shown:
        check(bpk, each, arrays, 1 if len(arrays) < 100 else 3 if each == path else 7)
    print("%d arrays in %d files" % (len(arrays), len(shown)))
    return 0


sys.exit(main(*sys.argv[1:]))
