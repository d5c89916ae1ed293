#!/usr/bin/env python3
"""Change an archive as a whole, so that each of its digests stays right.

    blp_manip.py FILE OUT swap|copy|kind|count|cut

FILE is a Bloscpack file whose chunks all have one packed size.
"""
import struct, sys

path, out, change = sys.argv[1:]
b = bytearray(open(path, "rb").read())
SIZES = [0, 4, 4, 16, 20, 28, 32, 48, 64]
digest = SIZES[b[6]]
n, spare = struct.unpack_from("<qq", b, 16)
size, = struct.unpack_from("<i", b, 8)
start = 32
if b[5] & 2:
    start += 32 + struct.unpack_from("<I", b, 48)[0] + SIZES[b[41]]
slots = start
offsets = b[5] & 1
at = start + 8 * (n + spare) if offsets else start
where = []
for i in range(n):
    cbytes, = struct.unpack_from("<i", b, at + 12)
    where.append((at, cbytes + digest))
    at += cbytes + digest
one, two = where[0], where[1]
assert one[1] == two[1], where
def chunk(w): return bytes(b[w[0]:w[0] + w[1]])
if change == "swap":
    first, second = chunk(one), chunk(two)
    b[one[0]:one[0] + one[1]], b[two[0]:two[0] + two[1]] = second, first
elif change == "copy":
    b[two[0]:two[0] + two[1]] = chunk(one)
elif change == "kind":
    b[6] = 0
elif change == "count":
    # an earlier header: one chunk less; its offset becomes a spare one
    struct.pack_into("<i", b, 12, size)
    struct.pack_into("<q", b, 16, n - 1)
    if offsets:
        struct.pack_into("<q", b, 24, spare + 1)
elif change == "cut":
    struct.pack_into("<i", b, 12, size)
    struct.pack_into("<q", b, 16, n - 1)
    if offsets:
        struct.pack_into("<q", b, 24, spare + 1)
        struct.pack_into("<q", b, slots + 8 * (n - 1), -1)
    del b[where[-1][0]:]
else:
    sys.exit(__doc__)
open(out, "wb").write(b)
