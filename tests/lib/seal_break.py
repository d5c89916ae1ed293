"""KIND FIRST COUNT IN DIR: manipulate a sealed Bloscpack file COUNT times, into files DIR/FIRST, DIR/FIRST+1, ...,
so that every chunk keeps its digest. They are whole to a reader that knows no seal, or damaged. The kind "foreign"
appends as Python's bloscpack does."""
import json, os, random, struct, sys, zlib

kind, first, count, source, target = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], sys.argv[5]
original = open(source, "rb").read()
data = bytearray(original)
META = 32
SIZES = [0, 4, 4, 16, 20, 28, 32, 48, 64]
nchunks = struct.unpack_from("<q", data, 16)[0]
spare = struct.unpack_from("<q", data, 24)[0]
size, room, packed = struct.unpack_from("<III", data, META + 12)
entries = META + 32 + room + SIZES[data[META + 9]]
offsets = list(struct.unpack_from("<%dq" % nchunks, data, entries))
digest = SIZES[data[6]]


def extent(i):
    return offsets[i], struct.unpack_from("<I", data, offsets[i] + 12)[0] + digest


def text():
    raw = bytes(data[META + 32:META + 32 + packed])
    return zlib.decompress(raw).decode() if data[META + 10] else raw.decode()


def put_text(new):
    raw = new.encode()
    assert len(raw) <= room
    data[META + 10] = 0
    struct.pack_into("<I", data, META + 12, len(raw))
    struct.pack_into("<I", data, META + 20, len(raw))
    data[META + 32:META + 32 + room] = raw + bytes(room - len(raw))
    assert data[META + 9] == 1
    struct.pack_into("<I", data, META + 32 + room, zlib.adler32(raw))


def pick_equal(rng):
    while True:
        i, k = rng.sample(range(nchunks - 1), 2)
        if extent(i)[1] == extent(k)[1] and data[extent(i)[0]:sum(extent(i))] != data[extent(k)[0]:sum(extent(k))]:
            return extent(i)[0], extent(k)[0], extent(i)[1]


def manipulate(rng):
    global data
    if kind == "swap":
        a, b, n = pick_equal(rng)
        data[a:a + n], data[b:b + n] = data[b:b + n], data[a:a + n]
    elif kind == "copy":
        a, b, n = pick_equal(rng)
        data[a:a + n] = data[b:b + n]
    elif kind == "kind":  # digests are kept as bytes between chunks
        data[6] = 0
    elif kind == "kind-none":  # digests are cut out, offsets follow
        chunks = [bytes(data[extent(i)[0]:sum(extent(i)) - digest]) for i in range(nchunks)]
        data = data[:offsets[0]]
        data[6] = 0
        for i, chunk in enumerate(chunks):
            struct.pack_into("<q", data, entries + 8 * i, len(data))
            data += chunk
    elif kind == "header":  # the header of fewer chunks, entries and chunks stay
        cut = rng.randrange(1, nchunks)
        struct.pack_into("<qq", data, 16, cut, spare + nchunks - cut)
        struct.pack_into("<i", data, 12, struct.unpack_from("<i", data, 8)[0])
    elif kind == "cut":  # the last chunks are cut off without a trace
        cut = rng.randrange(1, nchunks)
        del data[offsets[cut]:]
        for i in range(cut, nchunks):
            struct.pack_into("<q", data, entries + 8 * i, -1)
        struct.pack_into("<qq", data, 16, cut, spare + nchunks - cut)
        struct.pack_into("<i", data, 12, struct.unpack_from("<i", data, 8)[0])
    elif kind == "foreign":  # a short last chunk is filled up, and a chunk more follows it
        del data[offsets[-1]:]
        for i, chunk in enumerate([bytes(data[a:a + n]) for a, n in (extent(0), extent(1))]):
            struct.pack_into("<q", data, entries + 8 * (nchunks - 1 + i), len(data))
            data += chunk
        struct.pack_into("<iqq", data, 12, struct.unpack_from("<i", data, 8)[0], nchunks + 1, spare - 1)
    elif kind == "behind":
        data += rng.choice([rng.randbytes(rng.randrange(1, 300)), bytes(rng.randrange(1, 300)),
                            bytes(data[offsets[0]:sum(extent(0))]), bytes(data)])
    elif kind == "record":
        user = json.loads(text())
        del user["bpk_seal"]
        put_text(json.dumps(user))
    elif kind == "mark":
        at = META + 24 + rng.randrange(8)
        data[at] ^= 1 << rng.randrange(8)
    elif kind == "field":  # any field of the record
        now = text()
        spots = [i for i in range(now.index('"bpk_seal"') + 11, len(now)) if now[i] in "0123456789abcdef"]
        at = rng.choice(spots)
        put_text(now[:at] + rng.choice([c for c in "0123456789" if c != now[at]]) + now[at + 1:])
    elif kind == "generation":  # above the largest that is read
        put_text(text().replace('"generation":1,', '"generation":9223372036854775808,'))
    elif kind == "metadata":
        put_text(text().replace('"step":7', '"step":%d' % rng.choice([1, 2, 3, 8, 9])))
    elif kind == "typesize":
        data[7] = (data[7] + rng.randrange(1, 255)) % 256
    else:
        sys.exit("unknown kind")


os.makedirs(target)
for seed in range(first, first + count):
    data = bytearray(original)
    rng = random.Random(seed)
    manipulate(rng)
    assert data != original
    open("%s/%d" % (target, seed), "wb").write(data)
