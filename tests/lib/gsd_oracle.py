#!/usr/bin/python3
"""The chunks that python gsd finds in a GSD file, one a line, to compare with bpk:

    gsd_oracle.py FILE              every chunk of every frame, as it is
    gsd_oracle.py --resolved FILE   every frame of a hoomd trajectory as gsd.hoomd returns it,
                                    except types and type_shapes, which it returns as lists of texts

Each line: name, frame, dtype, shape ("2,3"), SHA-256 of the bytes in C order, separated by tabs.
Ends with 77 when python gsd is not installed.
"""

import hashlib
import sys
import warnings

try:
    import gsd.fl
    import gsd.hoomd
    import numpy
except ImportError as error:
    print(error, file=sys.stderr)
    sys.exit(77)

GROUPS = ("particles", "bonds", "angles", "dihedrals", "impropers", "pairs", "constraints")


def show(name, frame, array):
    array = numpy.ascontiguousarray(array)
    digest = hashlib.sha256(array.tobytes()).hexdigest()
    shape = ",".join(map(str, array.shape))
    print(name, frame, array.dtype.str, shape, digest, sep="\t")


def show_chunks(path):
    with gsd.fl.open(path, "rb") as file:
        names = file.find_matching_chunk_names("")
        for frame in range(file.nframes):
            for name in names:
                if file.chunk_exists(frame, name):
                    show(name, frame, file.read_chunk(frame, name))


def show_group(file, frame, group, container):
    show(group + "/N", frame, numpy.array([container.N], "<u4"))
    for key in container._default_value:
        if key in ("N", "types", "type_shapes"):
            continue
        name = group + "/" + key
        value = getattr(container, key)
        # without a chunk gsd.hoomd uses int32 in place of uint32
        if key == "group" and not (file.chunk_exists(frame, name) or file.chunk_exists(0, name)):
            value = value.astype("<u4")
        show(name, frame, value)


def show_resolved(path):
    with gsd.fl.open(path, "rb") as file, gsd.hoomd.open(path, "rb") as trajectory:
        for frame, snapshot in enumerate(trajectory):
            configuration = snapshot.configuration
            show("configuration/step", frame, numpy.array([configuration.step], "<u8"))
            show("configuration/dimensions", frame, numpy.array([configuration.dimensions], "u1"))
            show("configuration/box", frame, configuration.box)
            for group in GROUPS:
                show_group(file, frame, group, getattr(snapshot, group))
            for name, value in snapshot.log.items():
                show("log/" + name, frame, value)
            for name, value in snapshot.state.items():
                show("state/" + name, frame, value)


warnings.simplefilter("ignore")
if len(sys.argv) == 3 and sys.argv[1] == "--resolved":
    show_resolved(sys.argv[2])
elif len(sys.argv) == 2:
    show_chunks(sys.argv[1])
else:
    sys.exit(__doc__)
