"""What NumPy makes of arrays.

    nd.py slice RAW TYPE SHAPE SLICE   the part of RAW that SLICE takes, in C order
    nd.py make TYPE SHAPE              an array of that type and shape, to standard output
"""
import ast
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
    # runs and a slow wave, so that chunks differ: some are zero, some pack, some do not
    numbers = numpy.arange(count, dtype="<i8")
    numbers = numpy.where(numbers // 3000 % 3 == 0, 0, numbers * numbers // 97 % 251)
    rows = numpy.zeros((count, dtype.itemsize), dtype="u1")
    for k in range(0, dtype.itemsize, 2):
        rows[:, k] = numbers >> k % 8
    return rows


what, rest = sys.argv[1], sys.argv[2:]
result = {"slice": take, "make": make}[what](*rest)
sys.stdout.buffer.write(numpy.ascontiguousarray(result).tobytes())
