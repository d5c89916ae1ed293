#!/usr/bin/env python3
"""The real python bloscpack, from the tree named by BPK_BLOSCPACK.

    bloscpack_oracle.py compare FILE RAW ...   pairs: does bloscpack unpack FILE to RAW?
    bloscpack_oracle.py pack RAW FILE [KEY=VALUE]...
        chunk_size, typesize, clevel, shuffle, cname, checksum, offsets, metadata (JSON)
    bloscpack_oracle.py compare-array FILE RAW SHAPE     is FILE the array RAW, of SHAPE: "3,4"?
    bloscpack_oracle.py compare-npy FILE NPY ...         pairs: is FILE the array in NPY?
    bloscpack_oracle.py pack-array RAW FILE SHAPE DTYPE ORDER [exact]
        exact: no room for the metadata to grow

Status 0: all is well; 1: it is not; 77: the tree or one of its needs is missing.
"""
import json
import os
import sys
import tempfile
import types


def load():
    tree = os.environ.get("BPK_BLOSCPACK")
    if not tree:
        raise ImportError("BPK_BLOSCPACK is not set")
    sys.path.insert(0, tree)
    try:
        import deprecated  # noqa: F401
    except ImportError:
        # used there only to mark old names
        module = types.ModuleType("deprecated")
        module.deprecated = lambda *args, **kwargs: (lambda function: function)
        sys.modules["deprecated"] = module
    import bloscpack
    return bloscpack


def content(path):
    with open(path, "rb") as file:
        return file.read()


def compare(bloscpack, pairs):
    wrong = 0
    for path, raw in zip(pairs[::2], pairs[1::2]):
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "out")
            try:
                bloscpack.unpack_file_from_file(path, out)
                if content(out) == content(raw):
                    continue
                problem = "does not unpack to " + raw
            except Exception as error:  # any exception is a finding
                problem = "%s: %s" % (type(error).__name__, error)
        print("%s: %s" % (path, problem), file=sys.stderr)
        wrong = 1
    return wrong


def pack(bloscpack, raw, path, settings):
    chosen = dict(setting.split("=", 1) for setting in settings)
    blosc_args = bloscpack.BloscArgs(
        typesize=int(chosen.get("typesize", 8)), clevel=int(chosen.get("clevel", 7)),
        shuffle=int(chosen.get("shuffle", 1)), cname=chosen.get("cname", "blosclz"))
    bloscpack_args = bloscpack.BloscpackArgs(
        offsets=chosen.get("offsets", "1") == "1", checksum=chosen.get("checksum", "adler32"))
    metadata = json.loads(chosen["metadata"]) if "metadata" in chosen else None
    bloscpack.pack_file_to_file(raw, path, chunk_size=chosen.get("chunk_size", "1M"),
                                metadata=metadata, blosc_args=blosc_args,
                                bloscpack_args=bloscpack_args)
    return 0


def compare_array(bloscpack, path, raw, shape):
    array = bloscpack.unpack_ndarray_from_file(path)
    found = ",".join(str(n) for n in array.shape)
    if found == shape and array.tobytes(order="A") == content(raw):
        return 0
    print("%s: an array of %s, expected %s, or other bytes" % (path, found, shape),
          file=sys.stderr)
    return 1


def compare_npy(bloscpack, pairs):
    import numpy
    wrong = 0
    for path, npy in zip(pairs[::2], pairs[1::2]):
        found, expected = bloscpack.unpack_ndarray_from_file(path), numpy.load(npy)
        if (found.dtype, found.shape) != (expected.dtype, expected.shape) or \
                found.tobytes() != expected.tobytes() or \
                found.flags.f_contiguous != expected.flags.f_contiguous:
            print("%s: is not the array in %s" % (path, npy), file=sys.stderr)
            wrong = 1
    return wrong


def pack_array(bloscpack, raw, path, shape, dtype, order, *exact):
    import numpy
    array = numpy.frombuffer(content(raw), dtype=dtype)
    array = array.reshape([int(n) for n in shape.split(",")], order=order)
    room = bloscpack.MetadataArgs(max_meta_size=(lambda size: size) if exact else None,
                                  meta_codec="None" if exact else "zlib")
    if not exact:
        room = bloscpack.MetadataArgs()
    bloscpack.pack_ndarray_to_file(array, path, chunk_size="16K", metadata_args=room)
    return 0


def main(argv):
    try:
        bloscpack = load()
    except ImportError as problem:
        print("python bloscpack: %s" % problem, file=sys.stderr)
        return 77
    if argv[1] == "compare":
        return compare(bloscpack, argv[2:])
    if argv[1] == "compare-array":
        return compare_array(bloscpack, *argv[2:])
    if argv[1] == "compare-npy":
        return compare_npy(bloscpack, argv[2:])
    if argv[1] == "pack-array":
        return pack_array(bloscpack, *argv[2:])
    return pack(bloscpack, argv[2], argv[3], argv[4:])


if __name__ == "__main__":
    sys.exit(main(sys.argv))
