"""Arrays made and cut by NumPy.

    nd.py slice RAW TYPE SHAPE SLICE   the part of RAW that SLICE takes, in C order
    nd.py make TYPE SHAPE              an array of that type and shape, to standard output
    nd.py files                        .npy files of many types, shapes and orders, here
    nd.py cuts                         rows from standard input, COUNT NPY COMMAND...: COUNT
                                       slices of the array in NPY (in an .npz: NPY:NAME) by
                                       COMMAND --slice SLICE must be those of NumPy
"""
import ast
import random
import subprocess
import sys

import numpy


def type_of(text):
    return numpy.dtype(ast.literal_eval(text) if text.startswith("[") else text)


def shape_of(text):
    return tuple(int(n) for n in text.split(",")) if text else ()


def side_of(text):
    if text == "...":
        return Ellipsis
    if ":" not in text:
        return int(text)
    return slice(*(int(n) if n else None for n in text.split(":")))


def take(raw, dtype, shape, part):
    array = numpy.fromfile(raw, dtype=type_of(dtype)).reshape(shape_of(shape))
    return array[tuple(side_of(side) for side in part.split(","))]


def make(dtype, shape):
    dtype, shape = type_of(dtype), shape_of(shape)
    count = int(numpy.prod(shape, dtype=object))
    # runs and a slow wave: some chunks are zero, some compress, some do not
    numbers = numpy.arange(count, dtype="<i8")
    numbers = numpy.where(numbers // 3000 % 3 == 0, 0, numbers * numbers // 97 % 251)
    rows = numpy.zeros((count, dtype.itemsize), dtype="u1")
    for k in range(0, dtype.itemsize, 2):
        rows[:, k] = numbers >> k % 8
    return rows


def files():
    number = 0
    types = ["<f8", ">f4", "<i4", "|u1", "?", "<c16", ">u2", "<M8[s]", "|S3", "<U2", "|S300",
             "[('a', '<i4'), ('b', '|S3'), ('c', [('x', '<f4', (2,))])]"]
    shapes = ["", "1", "0", "1000", "100,7", "3,0,2", "5,4,3,2", "1,9,1", "40,50,6"]
    for dtype in types:
        for shape in shapes:
            array = make(dtype, shape).reshape(-1).view(type_of(dtype)).reshape(shape_of(shape))
            for order in "CF":
                if type_of(dtype) == "?":
                    array = array.view("u1") % 2 == 1
                numpy.save("a%03d.npy" % number, numpy.asarray(array, order=order))
                number += 1
    return numpy.zeros(0)


def some_side(length):
    """A random slice of one dimension: empty, beyond its ends, from its end, with steps, and others."""
    if length > 0 and random.random() < 0.35:
        return str(random.randrange(-length, length))
    if random.random() < 0.25:
        return ":"
    ends = [random.randrange(-length - 2, length + 3) for _ in range(2)]
    if random.random() < 0.7:
        ends.sort(key=lambda end: end + length if end < 0 else end)
    side = ":".join("" if random.random() < 0.15 else str(end) for end in ends)
    if random.random() < 0.6:
        return side
    return side + ":" + random.choice(["", "1", "2", "3", "7", str(length + 1), "9000000000000000000"])


def some_slice(shape):
    sides = [some_side(length) for length in shape]
    cut = random.randrange(len(sides) + 1)
    if not sides or random.random() < 0.2:
        sides[cut:cut + random.randrange(len(sides) + 1)] = ["..."]
    elif cut > 0 and random.random() < 0.3:
        del sides[cut:]
    return ",".join(sides)


def cut(count, path, *command):
    random.seed(path)
    name = path.split(":")
    array = numpy.load(name[0])
    if len(name) > 1:
        array = array[name[1]]
    for _ in range(int(count)):
        part = some_slice(array.shape)
        ran = subprocess.run(command + ("--slice", part), stdout=subprocess.PIPE, check=False)
        sides = [side_of(side) for side in part.split(",")]
        if Ellipsis not in sides:
            sides.append(Ellipsis)  # otherwise a single text loses its zeros
        expected = numpy.ascontiguousarray(array[tuple(sides)])
        if ran.returncode != 0 or ran.stdout != expected.tobytes():
            sys.exit("%s --slice %s: status %d, or other bytes"
                     % (" ".join(command), part, ran.returncode))


def cuts():
    for row in sys.stdin:
        cut(*row.split())
    return numpy.zeros(0)


command, rest = sys.argv[1], sys.argv[2:]
kinds = {"slice": take, "make": make, "files": files, "cuts": cuts}
result = kinds[command](*rest)
sys.stdout.buffer.write(numpy.ascontiguousarray(result).tobytes())
