#!/usr/bin/env python3
"""Write the datasets of this folder, all of them made by hand; README.md says what each one shows.
Chunks are in their stored form, so that no codec is needed. Run it in an empty folder and compare."""
import json
import os
import struct
import sys
import zlib

MASK = (1 << 64) - 1


def chunk(raw, typesize, flags=0x13):
    head = struct.pack("<BBBBIII", 2, 1, flags, typesize, len(raw), max(len(raw), 1), len(raw) + 16)
    return head + raw


def v1(*chunks, count=None):
    return b"blpk\1\0\0\0" + struct.pack("<q", len(chunks) if count is None else count) + b"".join(chunks)


def v3(chunks, typesize, chunk_size=None, checksum=1, offsets=True):
    """A superchunk as the specification's example has it."""
    sizes = [struct.unpack("<I", c[4:8])[0] for c in chunks]
    head = struct.pack("<4sBBBBiiqq", b"blpk", 3, int(offsets), checksum, typesize,
                       sizes[0] if chunk_size is None else chunk_size, sizes[-1], len(chunks), 0)
    at = 32 + (8 * len(chunks) if offsets else 0)
    table, body = b"", b""
    for c in chunks:
        table += struct.pack("<q", at)
        body += c + (struct.pack("<I", zlib.adler32(c)) if checksum else b"")
        at = 32 + (8 * len(chunks) if offsets else 0) + len(body)
    return head + (table if offsets else b"") + body


def cut(raw, size):
    return [raw[i:i + size] for i in range(0, len(raw), size)]


def blaze_files(raw, chunk_size, per_file, typesize, folder="data", **how):
    chunks = [chunk(c, typesize) for c in cut(raw, chunk_size)]
    return {"%s/__%d__.bin" % (folder, i + 1): v3(part, typesize, **how)
            for i, part in enumerate(cut(chunks, per_file))}


def bcolz_files(raw, chunk_size, typesize, folder="data"):
    return {"%s/__%d.blp" % (folder, i): v1(chunk(c, typesize, 0x33))
            for i, c in enumerate(cut(raw, chunk_size))}


def js(value):
    return json.dumps(value).encode()


def meta(shape, nbytes, dtype, chunklen, home="", **more):
    storage = {"dtype": dtype, "cparams": {"shuffle": True, "clevel": 5}, "chunklen": chunklen}
    storage.update(more)
    return {home + "meta/sizes": js({"shape": shape, "nbytes": nbytes, "cbytes": 0}) + b"\n",
            home + "meta/storage": js(storage) + b"\n"}


TEN = struct.pack("<10i", *range(10))
NAMES = []


def dataset(name, files, raw=None, error=None):
    """raw: what a good one unpacks to; error: what the report of another one says."""
    NAMES.append(name)
    for path, content in files.items():
        os.makedirs(os.path.dirname(os.path.join(name, path)), exist_ok=True)
        with open(os.path.join(name, path), "wb") as out:
            out.write(content)
    with open(name + (".raw" if error is None else ".error"), "wb") as out:
        out.write(raw if error is None else error.encode() + b"\n")


# ---- good ones ----

def bcolz(rows=10, **more):
    files = meta([rows], 4 * rows, "int32", 4, expectedlen=10, dflt=0, **more)
    files["__attrs__"] = b'{"temp": 22.5}\n'
    files.update(bcolz_files(TEN, 16, 4))
    return files


def blaze(**more):
    files = meta([10], 40, "int32", 4, superchunksize=2, **more)
    files["meta/attributes"] = b'{"temp": 22.5}'
    files.update(blaze_files(TEN, 16, 2, 4))
    return files


# the specification's examples, to the byte
example = bcolz()
assert example["data/__0.blp"] == bytes.fromhex(
    "626c706b01000000010000000000000002013304100000001000000020000000"
    "00000000010000000200000003000000")
assert example["data/__2.blp"] == bytes.fromhex(
    "626c706b0100000001000000000000000201330408000000080000001800000008000000" "09000000")
example["meta/storage"] = (b'{"dtype": "int32", "cparams": {"clevel": 5, "shuffle": 1, "cname": "lz4", '
                           b'"quantize": 0}, "chunklen": 4, "expectedlen": 10, "dflt": 0}\n')
example["meta/sizes"] = b'{"shape": [10], "nbytes": 40, "cbytes": 80}\n'
dataset("good-bcolz", example, TEN)
trimmed = dict(example)
trimmed["meta/sizes"] = b'{"shape": [8], "nbytes": 32, "cbytes": 80}\n'
dataset("good-bcolz-stale", trimmed, TEN[:32])
example = blaze()
assert example["data/__1__.bin"] == bytes.fromhex(
    "626c706b03010104100000001000000002000000000000000000000000000000"
    "30000000000000005400000000000000"
    "02011304100000001000000020000000000000000100000002000000030000006100150902011304"
    "100000001000000020000000040000000500000006000000070000007100b509")
example["meta/sizes"] = b'{"shape": [10], "nbytes": 40, "cbytes": 188}'
example["meta/storage"] = (b'{"dtype": "int32", "cparams": {"shuffle": true, "clevel": 5, "cname": "blosclz"}, '
                           b'"chunklen": 4, "dflt": 0, "expectedlen": 10, "superchunksize": 2}')
# its second file claims chunks of 16 bytes, though it has one of 8 alone
example["data/__2__.bin"] = v3([chunk(TEN[32:], 4)], 4, chunk_size=16)
assert example["data/__2__.bin"] == bytes.fromhex(
    "626c706b03010104100000000800000001000000000000000000000000000000"
    "28000000000000000201130408000000080000001800000008000000090000005400f904")
dataset("good-blaze", example, TEN)

padded = bcolz()
padded["data/__2.blp"] = v1(chunk(TEN[32:] + b"\xee" * 8, 4))
dataset("good-bcolz-padded", padded, TEN)
slack = bcolz()
slack["data/__1.blp"] += bytes(16)
dataset("good-bcolz-slack", slack, TEN)
unknown = bcolz()
unknown["data/__1.blp"] = v1(chunk(TEN[16:32], 4), count=-1)
dataset("good-bcolz-unknown-count", unknown, TEN)
nan = bcolz()
nan["meta/storage"] = nan["meta/storage"].replace(b'"dflt": 0', b'"dflt": -Infinity')
nan["__attrs__"] = b'{"x": [NaN, Infinity]}'
dataset("good-bcolz-nan", nan, TEN)
two = struct.pack("<12f", *range(12))
files = meta([6, 2], 48, "float32", 4, dflt=0.0)
files.update(bcolz_files(two, 32, 4))
files["__attrs__"] = b"{}\n"
dataset("good-bcolz-2d", files, two)
record = b"".join(struct.pack("<id", i, i / 2) for i in range(5))
files = meta([5], 60, "[('a', '<i4'), ('b', '<f8')]", 2)
files.update(bcolz_files(record, 24, 12))
files["__attrs__"] = b"{}\n"
dataset("good-bcolz-record", files, record)
blz = bcolz()
blz["meta/storage"] = b'{"dtype": "int32", "bparams": {"clevel": 5, "shuffle": true}, "chunklen": 4}'
dataset("good-blz", blz, TEN)

dataset("good-blaze-big-endian", {**blaze(endianness="big"),
                                  **blaze_files(struct.pack(">10i", *range(10)), 16, 2, 4)},
        struct.pack(">10i", *range(10)))
files = meta([6, 2], 48, "<f4", 4, order="F", superchunksize=1)
files.update(blaze_files(two, 32, 1, 4))
dataset("good-blaze-fortran", files, two)
files = blaze()
files["meta/storage"] = b'{"dtype": "int32", "cparams": {}, "chunkshape": [4, 7]}'
files["__attrs__"] = files.pop("meta/attributes")
dataset("good-blaze-proposal", files, TEN)
files = blaze()
files["data/__2__.bin"] = v3([chunk(TEN[32:] + TEN[:8], 4), chunk(TEN[:16], 4)], 4)
files["data/__3__.bin"] = v3([chunk(TEN[:16], 4)], 4)
dataset("good-blaze-uncommitted", files, TEN)
files = blaze()
files.update(blaze_files(TEN, 16, 2, 4, offsets=False, checksum=0))
dataset("good-blaze-no-offsets", files, TEN)
files = meta([0], 0, "int32", 4, superchunksize=2)
files["data/__1__.bin"] = v3([chunk(b"", 4)], 4)
dataset("good-blaze-empty-chunk", files, b"")
files = meta([3, 0], 0, "int32", 4, superchunksize=2)
files["data/__1__.bin"] = v3([chunk(b"", 4)], 4)
dataset("good-blaze-no-bytes", files, b"")
dates = b"".join(struct.pack("<q", i * 86400) for i in range(5))
files = meta([5], 40, "datetime64[s]", 4, superchunksize=8, dflt=0)
files.update(blaze_files(dates, 32, 8, 8))
dataset("good-blaze-dates", files, dates)
text = b"".join(("ab%d" % i).encode("utf-32-le") for i in range(5))
files = meta([5], 60, "<U3", 4, superchunksize=8, dflt="")
files.update(blaze_files(text, 48, 8, 4))
dataset("good-blaze-text", files, text)

# columns: x, and below p two more; p/v has two values for each row, and q is one record
COLUMNS = [struct.pack("<7i", *range(7)), struct.pack("<7d", *[i / 4 for i in range(7)]),
           bytes(range(14)), bytes(range(100, 135))]
ITEMS = [4, 8, 2, 5]
RECORDS = b"".join(c[i * s:(i + 1) * s] for i in range(7) for c, s in zip(COLUMNS, ITEMS))


def nested(**how):
    files = meta([7], 7 * 19,
                 [["x", "<i4"], ["p", [["u", "<f8"], ["v", "|u1", [2]]]],
                  ["q", [["a", "|u1"], ["b", "<i4"]], [1]]], 3, superchunksize=2)
    for column, size, folder in zip(COLUMNS, ITEMS, ["data/x", "data/p/u", "data/p/v", "data/q"]):
        files.update(blaze_files(column, 3 * size, 2, size, folder, **how))
    files["meta/attributes"] = b"{}"
    return files


dataset("good-blaze-columns", nested(), RECORDS)
proposal = nested()
proposal["meta/storage"] = js({"dtype": {"x": "int32", "p": {"u": "float64", "v": "(2,)u1"},
                                         "q": [["a", "|u1"], ["b", "<i4"]]},
                               "cparams": {}, "chunklen": 3, "superchunksize": 2})
dataset("good-blaze-columns-proposal",
        {**{k: v for k, v in proposal.items() if "data/q" not in k},
         **blaze_files(COLUMNS[3][0::5], 3, 2, 1, "data/q/a"),
         **blaze_files(b"".join(COLUMNS[3][i + 1:i + 5] for i in range(0, 35, 5)), 12, 2, 4, "data/q/b")},
        RECORDS)


def table(lengths=(4, 4), rows=(7, 7), names=("x", "y")):
    x, y = struct.pack("<7i", *range(7)), struct.pack("<14H", *range(14))
    files = {"__rootdirs__": js({"names": list(names)}) + b"\n", "__attrs__": b'{"who": "lab"}\n'}
    for home, raw, size, length, n, shape, dtype in (("x/", x, 4, lengths[0], rows[0], [rows[0]], "int32"),
                                                     ("y/", y, 4, lengths[1], rows[1], [rows[1], 2], "uint16")):
        files.update(meta(shape, n * size, dtype, length, home))
        files.update(bcolz_files(raw, length * size, 4, home + "data"))
        files[home + "__attrs__"] = b"{}\n"
    return files, b"".join(x[4 * i:4 * i + 4] + y[4 * i:4 * i + 4] for i in range(7))


dataset("good-table", *table())
dataset("good-table-lengths", *table((2, 5)))
dataset("good-table-long", *table((1, 7)))
old, raw = table()
old["__rootdirs__"] = b'{"names": ["x", "y"], "dirs": {"x": "/etc", "y": "../y"}}\n'
dataset("good-table-dirs", old, raw)


# ---- digests of our own ----

def crc(data):
    return zlib.crc32(data)


def mix(x):
    x = ((x ^ x >> 32) * 0x9e3779b97f4a7c15) & MASK
    x = ((x ^ x >> 29) * 0xd6e8feb86659fd93) & MASK
    return x ^ x >> 32


def share(column, number, packed, seal):
    identity = crc(packed[:16] + seal if seal else packed)
    return mix((mix((mix(column + 1) + number) & MASK) + identity) & MASK)


def own_sizes(shape, nbytes, cbytes, chunks, rows, chunklen, storage, attributes=None):
    """chunks: for each column a list of (chunk, seal)"""
    data = last = 0
    for column, those in enumerate(chunks):
        for number, (packed, seal) in enumerate(those):
            if (number + 1) * chunklen <= rows:
                data += share(column, number, packed, seal)
            elif number * chunklen < rows:
                last += share(column, number, packed, seal)
    data, last = data & MASK, last & MASK
    numbers = [nbytes, cbytes, data, last, crc(storage), int(attributes is not None),
               crc(attributes) if attributes is not None else 0] + shape
    digests = {"data": "%016x" % data, "last": "%016x" % last, "storage": "%08x" % crc(storage)}
    if attributes is not None:
        digests["attributes"] = "%08x" % crc(attributes)
    digests["sizes"] = "%08x" % crc(struct.pack("<%dQ" % len(numbers), *numbers))
    return js({"shape": shape, "nbytes": nbytes, "cbytes": cbytes, "bpk": digests}) + b"\n"


def sealed(raw, size, typesize, digest=True, flags=0x13):
    return [(c, struct.pack("<I", zlib.adler32(c)) if digest else b"")
            for c in (chunk(part, typesize, flags) for part in cut(raw, size))]


def ours():
    raw = struct.pack("<18i", *range(18))
    files = meta([18], 72, "<i4", 4, superchunksize=2)
    files.update(blaze_files(raw, 16, 2, 4))
    files["meta/attributes"] = b'{"temp": 22.5}\n'
    files["meta/sizes"] = own_sizes([18], 72, 600, [sealed(raw, 16, 4)], 18, 4, files["meta/storage"],
                                    files["meta/attributes"])
    return files, raw


dataset("good-digests", *ours())
files, raw = ours()
files["data/__3__.bin"] = v3([chunk(raw[64:] + raw[:8], 4), chunk(raw[:16], 4)], 4)
dataset("good-digests-uncommitted", files, raw)
files = nested()
files["meta/sizes"] = own_sizes([7], 133, 500, [sealed(c, 3 * s, s) for c, s in zip(COLUMNS, ITEMS)], 7, 3,
                                files["meta/storage"], files["meta/attributes"])
dataset("good-digests-columns", files, RECORDS)
files, raw = table()
for home, column in (("x/", 0), ("y/", 1)):
    content = raw[4 * column:][:4] + b"".join(raw[i:i + 4] for i in range(8 + 4 * column, 56, 8))
    shape = [7] if column == 0 else [7, 2]
    files[home + "meta/sizes"] = own_sizes(shape, 28, 100, [sealed(content, 16, 4, False, 0x33)], 7, 4,
                                           files[home + "meta/storage"])
dataset("good-digests-table", files, raw)

# ---- bad ones ----


def bad(name, base, error, **changes):
    """base: a function that makes a good one; changes: file -> new content, None to leave it out"""
    files = base()
    if isinstance(files, tuple):
        files = files[0]
    for path, content in changes.items():
        if content is None:
            del files[path]
        else:
            files[path] = content(files[path]) if callable(content) else content
    dataset(name, files, error=error)


def sub(old, new):
    def replace(content):
        assert old in content, (old, content)
        return content.replace(old, new, 1)
    return replace


S, T = "meta/sizes", "meta/storage"
bad("bad-missing-file", bcolz, "data/__1.blp: is missing", **{"data/__1.blp": None})
bad("bad-bcolz-tail", bcolz, "data/__1.blp: 16 bytes from offset 48 on, after its chunk, belong to no archive",
    **{"data/__1.blp": bcolz()["data/__1.blp"] + b"behind the chunk"})
bad("bad-missing-last", blaze, "data/__2__.bin: is missing", **{"data/__2__.bin": None})
bad("bad-missing-sizes", blaze, "meta/sizes: is missing", **{S: None})
bad("bad-missing-storage", blaze, "meta/storage: is missing", **{T: None})
bad("bad-both-layouts", blaze, "data: has files of both layouts", **{"data/__0.blp": b""})
bad("bad-nbytes", bcolz, "meta/sizes: nbytes is 40, shape and dtype have 44 bytes", **{S: sub(b"[10]", b"[11]")})
bad("bad-sizes-float", bcolz, "meta/sizes: shape has the dimension '10.0'", **{S: sub(b"[10]", b"[10.0]")})
bad("bad-sizes-exponent", bcolz, "meta/sizes: shape has the dimension '1e1'", **{S: sub(b"[10]", b"[1e1]")})
bad("bad-sizes-negative", bcolz, "meta/sizes: shape has the dimension '-10'", **{S: sub(b"[10]", b"[-10]")})
bad("bad-sizes-nan", bcolz, "'NaN' is valid in a fill value only", **{S: sub(b'"nbytes": 40', b'"nbytes": NaN')})
bad("bad-sizes-large", bcolz, "array has 2^63 bytes or more",
    **{S: sub(b"[10]", b"[9223372036854775807]")})
bad("bad-sizes-too-large", bcolz, "shape has the dimension '9223372036854775808'",
    **{S: sub(b"[10]", b"[9223372036854775808]")})
bad("bad-sizes-dimensions", bcolz, "a row has 2^64 items or more",
    **{S: js({"shape": [0, 1 << 62, 1 << 62], "nbytes": 0, "cbytes": 0})})
bad("bad-sizes-many-dimensions", bcolz, "shape has more than 32 dimensions",
    **{S: js({"shape": [10] + 32 * [1], "nbytes": 40, "cbytes": 0})})
bad("bad-sizes-duplicate", bcolz, "meta/sizes: JSON: duplicate object key",
    **{S: sub(b'"nbytes": 40', b'"nbytes": 40, "shape": [5]')})
bad("bad-sizes-list", bcolz, "meta/sizes: holds no JSON object", **{S: b"[10, 40, 0]"})
bad("bad-sizes-empty", bcolz, "meta/sizes: JSON", **{S: b""})
bad("bad-sizes-utf8", bcolz, "meta/sizes: JSON is not in UTF-8", **{S: sub(b"shape", b"sh\xffape")})
bad("bad-sizes-deep", bcolz, "meta/sizes: JSON: nested deeper", **{S: b'{"shape": ' + b"[" * 70 + b"]" * 70 + b"}"})
bad("bad-shape-empty", bcolz, 'meta/sizes: "shape" is empty', **{S: sub(b"[10]", b"[]")})
bad("bad-shape-number", bcolz, 'meta/sizes: "shape" is 10, expected a list', **{S: sub(b"[10]", b"10")})
bad("bad-shape-missing", bcolz, 'meta/sizes: has no "shape"', **{S: sub(b"shape", b"shap_")})
bad("bad-chunklen-0", bcolz, 'meta/storage: "chunklen" is 0', **{T: sub(b'"chunklen": 4', b'"chunklen": 0')})
bad("bad-chunklen-missing", bcolz, 'meta/storage: has no "chunklen"', **{T: sub(b'"chunklen"', b'"chunkle"')})
bad("bad-chunklen-nan", bcolz, "'NaN' is valid in a fill value only",
    **{T: sub(b'"chunklen": 4', b'"chunklen": NaN')})
bad("bad-chunklen-large", bcolz, "at most 2147483631 bytes are accepted",
    **{T: sub(b'"chunklen": 4', b'"chunklen": 536870908')})
bad("bad-chunklen-largest", bcolz, "at most 2147483631 bytes are accepted",
    **{T: sub(b'"chunklen": 4', b'"chunklen": 9223372036854775807')})
bad("bad-superchunksize-0", blaze, '"superchunksize" is 0',
    **{T: sub(b'"superchunksize": 2', b'"superchunksize": 0')})
bad("bad-superchunksize-3", blaze, "data/__1__.bin: ends before chunk 2",
    **{T: sub(b'"superchunksize": 2', b'"superchunksize": 3')})
bad("bad-superchunksize-1", blaze, "data/__2__.bin: chunk 0 at offset 40: it unpacks to 8 bytes",
    **{T: sub(b'"superchunksize": 2', b'"superchunksize": 1')})
bad("bad-dtype", bcolz, "meta/storage: there is no type 'int33'", **{T: sub(b"int32", b"int33")})
bad("bad-dtype-code", bcolz, "meta/storage: there is no type '__import__",
    **{T: sub(b"int32", b"__import__('os').abort()")})
bad("bad-dtype-missing", bcolz, 'meta/storage: has no "dtype"', **{T: sub(b'"dtype"', b'"dtyp_"')})
bad("bad-order", blaze, '"order" is "A"', **{T: sub(b'"chunklen"', b'"order": "A", "chunklen"')})
bad("bad-endianness", blaze, '"endianness" is "middle"',
    **{T: sub(b'"chunklen"', b'"endianness": "middle", "chunklen"')})
bad("bad-attributes", blaze, "meta/attributes: JSON", **{"meta/attributes": b'{"temp": '})
bad("bad-attributes-list", bcolz, "__attrs__: holds no JSON object", **{"__attrs__": b"[]"})
bad("bad-chunk-short", bcolz, "data/__1.blp: chunk 0 at offset 16: it unpacks to 12 bytes",
    **{"data/__1.blp": v1(chunk(TEN[16:28], 4))})
bad("bad-chunk-long", bcolz, "data/__1.blp: chunk 0 at offset 16: it unpacks to 20 bytes",
    **{"data/__1.blp": v1(chunk(TEN[16:36], 4))})
bad("bad-last-short", bcolz, "data/__2.blp: chunk 0 at offset 16: it unpacks to 4 bytes",
    **{"data/__2.blp": v1(chunk(TEN[32:36], 4))})
bad("bad-last-long", bcolz, "data/__2.blp: chunk 0 at offset 16: it unpacks to 20 bytes",
    **{"data/__2.blp": v1(chunk(TEN[:20], 4))})
bad("bad-two-chunks", bcolz, "data/__1.blp: has 2 chunks, expected 1",
    **{"data/__1.blp": v1(chunk(TEN[16:32], 4), chunk(TEN[:16], 4))})
bad("bad-version", bcolz, "data/__1.blp: does not begin as a Bloscpack file of version 1",
    **{"data/__1.blp": v3([chunk(TEN[16:32], 4)], 4)})
bad("bad-cut", bcolz, "data/__1.blp:", **{"data/__1.blp": lambda c: c[:-1]})
bad("bad-empty-file", bcolz, "data/__1.blp:", **{"data/__1.blp": b""})
bad("bad-digest", blaze, "data/__1__.bin: chunk 1 at offset 84: adler32 is",
    **{"data/__1__.bin": lambda c: c[:-1] + b"\0"})
bad("bad-more-chunks", blaze, "data/__1__.bin: holds more chunks than the 2",
    **{"data/__1__.bin": v3([chunk(TEN[:16], 4), chunk(TEN[16:32], 4), chunk(TEN[:16], 4)], 4)})
for spelled, name in (("dots", ".."), ("dot", "."), ("slash", "a/b"), ("backslash", "a\\b"), ("empty", ""),
                      ("nul", "a\0b"), ("control", "a\nb"), ("long", "a" * 256), ("root", "/etc")):
    bad("bad-table-" + spelled, table, "__rootdirs__: column", **{"__rootdirs__": js({"names": ["x", name]})})
bad("bad-table-twice", table, '__rootdirs__: two columns "x"', **{"__rootdirs__": js({"names": ["x", "x"]})})
bad("bad-table-missing", table, "z/meta/sizes: is missing", **{"__rootdirs__": js({"names": ["x", "z"]})})
bad("bad-table-names", table, '__rootdirs__: has no list "names"', **{"__rootdirs__": b"{}"})
bad("bad-table-number", table, '"names" holds an item that is not a name', **{"__rootdirs__": js({"names": ["x", 1]})})
bad("bad-table-rows", lambda: table(rows=(7, 6)), "y/meta/sizes: has 6 rows, the first column 7")
bad("bad-table-nbytes", table, "y/meta/sizes: nbytes is 29",
    **{"y/meta/sizes": sub(b'"nbytes": 28', b'"nbytes": 29')})
bad("bad-table-file", table, "y/data/__1.blp: is missing", **{"y/data/__1.blp": None})
bad("bad-columns-file", nested, "data/p/v/__2__.bin: is missing", **{"data/p/v/__2__.bin": None})
bad("bad-columns-digest", nested, "data/p/u/__1__.bin: chunk 1 at offset",
    **{"data/p/u/__1__.bin": lambda c: c[:-1] + bytes([c[-1] ^ 1])})
bad("bad-columns-name", nested, "has a name that is not valid for a folder", **{T: sub(b'"v"', b'"../v"')})

bad("bad-digests-sizes", ours, "meta/sizes: crc32 is", **{S: sub(b'"cbytes": 600', b'"cbytes": 601')})
bad("bad-digests-storage", ours, "meta/storage does not match its digest in sizes", **{T: sub(b"<i4", b">i4")})
bad("bad-digests-attributes", ours, "meta/attributes: crc32 is", **{"meta/attributes": b'{"temp": 32.5}\n'})
bad("bad-digests-hex", ours, "expected a digest in hexadecimal", **{S: sub(b'"data": "', b'"data": "0')})
swapped = ours()[0]
bad("bad-digests-swapped", ours, "its digests do not match the chunks",
    **{"data/__1__.bin": swapped["data/__2__.bin"], "data/__2__.bin": swapped["data/__1__.bin"]})
bad("bad-digests-last", ours, "its digests do not match the chunks",
    **{"data/__3__.bin": v3([chunk(TEN[:8], 4)], 4)})

# ---- what is well formed, but not for us ----

bad("unsupported-object", bcolz, "its elements are Python objects", **{T: sub(b"int32", b"object")})
bad("unsupported-padding", nested, "type has padding between its fields", **{T: sub(b'"v"', b'""')})
bad("unsupported-titles", bcolz, "type has a field with a title", **{T: sub(b"int32", b"[(('t', 'a'), '<i4')]")})
bad("unsupported-version", blaze, "data/__1__.bin: ", **{"data/__1__.bin": lambda c: c[:4] + b"\x04" + c[5:]})
bad("unsupported-fortran-column", table, "a column in Fortran's order",
    **{"y/meta/storage": sub(b'"chunklen"', b'"order": "F", "chunklen"')})
bad("unsupported-no-columns", table, "has 0 columns", **{"__rootdirs__": js({"names": []})})

if len(sys.argv) > 1:
    print("\n".join(NAMES))
