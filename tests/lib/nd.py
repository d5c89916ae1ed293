"""What NumPy makes of arrays.

    nd.py slice RAW TYPE SHAPE SLICE   the part of RAW that SLICE takes, in C order
    nd.py make TYPE SHAPE              an array of that type and shape, to standard output
    nd.py files                        .npy files of many types, shapes and orders, here
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


what, rest = sys.argv[1], sys.argv[2:]
result = {"slice": take, "make": make, "files": files}[what](*rest)
sys.stdout.buffer.write(numpy.ascontiguousarray(result).tobytes())
