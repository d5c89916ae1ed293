#!/usr/bin/env python3
"""A small reader of bcolz directories that shares no line with bpk, over python3-blosc.

    bcolz_reader.py unpack DIR [COLUMN]      the raw bytes of an array, or of a table's column
    bcolz_reader.py compare DIR RAW ...      pairs: does the array DIR hold the bytes of RAW?

It opens a directory as bcolz 1.2 does, and checks more: headers of 16 bytes, one chunk a file and
nothing behind it, full chunks full, no file too many, the keys of bcolz in the order of bcolz, and
a dtype in NumPy's spelling.
"""
import json
import os
import re
import struct
import sys

try:
    import blosc
except ImportError:
    blosc = None
try:
    import numpy
except ImportError:
    numpy = None


class Wrong(Exception):
    pass


def expect(truth, text, *args):
    if not truth:
        raise Wrong(text % args)


def load(*parts):
    path = os.path.join(*parts)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    expect(text.endswith("\n"), "%s: no newline at the end", path)
    value = json.loads(text)
    expect(isinstance(value, dict), "%s: no object", path)
    return value


NAMES = re.compile(r"^(?:(bool)|u?int(\d+)|float(\d+)|complex(\d+)|[<>|]?([SUV])(\d+)"
                   r"|[<>]([iufc])(\d+)|(?:datetime64|timedelta64|[<>][Mm]8)(?:\[\w+\])?)$")


def item_size(dtype):
    """Bytes of an element, from the text alone; NumPy must agree if it is installed."""
    found = NAMES.match(dtype)
    expect(found, "dtype %r is not one of bcolz", dtype)
    boolean, whole, real, pair, kind, count, letter, size = found.groups()
    bits = whole or real or pair
    if boolean:
        known = 1
    elif bits:
        known = int(bits) // 8
    elif kind:
        known = int(count) * (4 if kind == "U" else 1)
    else:
        known = int(size) if letter else 8
    if numpy is not None:
        expect(numpy.dtype(dtype).itemsize == known, "NumPy finds another size for %r", dtype)
        expect(str(numpy.dtype(dtype)) == dtype, "NumPy spells %r as %s", dtype, numpy.dtype(dtype))
    return known


def typesize(dtype, size):
    if dtype.lstrip("<>|")[0] == "S" or size > 255:
        return 1
    return 4 if dtype.lstrip("<>|")[0] == "U" else size


class Array:
    def __init__(self, root):
        self.root = root
        self.attributes = load(root, "__attrs__")
        sizes = load(root, "meta", "sizes")
        storage = load(root, "meta", "storage")
        expect(list(sizes)[:3] == ["shape", "nbytes", "cbytes"], "sizes has %s", list(sizes))
        expect(list(storage) == ["dtype", "cparams", "chunklen", "expectedlen", "dflt"],
               "storage has %s", list(storage))
        expect(list(storage["cparams"]) == ["clevel", "shuffle", "cname", "quantize"],
               "cparams has %s", list(storage["cparams"]))
        self.dtype = storage["dtype"]
        self.item = item_size(self.dtype)
        self.rows, *inner = sizes["shape"]
        self.row = self.item
        for n in inner:
            self.row *= n
        self.chunk_rows = storage["chunklen"]
        expect(sizes["nbytes"] == self.rows * self.row, "nbytes is %s", sizes["nbytes"])
        self.files = sorted(os.listdir(os.path.join(root, "data")))
        need = -(-self.rows // self.chunk_rows)
        expect(self.files == sorted("__%d.blp" % i for i in range(need)), "files are %s", self.files)
        expect(sizes["cbytes"] == sum(os.path.getsize(os.path.join(root, "data", name))
                                      for name in self.files), "cbytes is %s", sizes["cbytes"])

    def chunk(self, number):
        path = os.path.join(self.root, "data", "__%d.blp" % number)
        with open(path, "rb") as file:
            data = file.read()
        expect(data[:16] == b"blpk" + struct.pack("<Iq", 1, 1), "%s: header %r", path, data[:16])
        size, _, packed = struct.unpack("<3I", data[20:32])
        expect(packed == len(data) - 16, "%s: a chunk of %d bytes in a file of %d", path, packed,
               len(data))
        rows = min(self.chunk_rows, self.rows - number * self.chunk_rows)
        expect(size == rows * self.row, "%s: %d bytes, expected %d", path, size, rows * self.row)
        if self.item > 1:
            expect(data[19] == typesize(self.dtype, self.item), "%s: typesize %d", path, data[19])
        return blosc.decompress(data[16:])

    def unpack(self):
        return b"".join(self.chunk(i) for i in range(len(self.files)))


def open_array(root, column=None):
    table = os.path.exists(os.path.join(root, "__rootdirs__"))
    expect(table == (column is not None), "%s is %s", root, "a table" if table else "an array")
    if not table:
        return Array(root)
    names = load(root, "__rootdirs__")["names"]
    load(root, "__attrs__")
    columns = {name: Array(os.path.join(root, name)) for name in names}
    expect(len({array.rows for array in columns.values()}) == 1, "columns differ in length")
    return columns[column]


def main(command, *args):
    if blosc is None:
        return 77
    if command == "unpack":
        sys.stdout.buffer.write(open_array(*args).unpack())
        return 0
    expect(command == "compare" and len(args) % 2 == 0, "no such command")
    for root, raw in zip(args[::2], args[1::2]):
        with open(raw, "rb") as file:
            expect(open_array(root).unpack() == file.read(), "%s: other bytes", root)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:]))
    except Wrong as wrong:
        print("bcolz_reader:", wrong, file=sys.stderr)
        sys.exit(1)
