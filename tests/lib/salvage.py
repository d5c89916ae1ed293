"""salvage.py ARCHIVE RAW CHUNKSIZE FROM TO OLD...: damage an archive in many ways, each by a seed, and compare.

Every chunk whose packed bytes are intact must come back, and nothing else. Without any digest a chunk with changed
bytes may come back, too, but then a line must say so. An archive of raw bytes that hold another archive must not lose
its outer chunks to it.
"""
import collections
import json
import os
import random
import shutil
import subprocess
import sys

BPK = os.environ["BPK"]
SIZES = [1, 7, 300, 20000]


def run(*args):
    return subprocess.run([BPK, *args], capture_output=True)


def chunks_of(archive):
    return json.loads(run("info", "-vv", "--json", archive).stdout)["chunks"]


class Bytes:
    """The bytes of one file, and the damages to it."""

    def __init__(self, rng, data):
        self.rng, self.data, self.marks = rng, data, []

    def flip(self, start, end):
        if start < end:
            self.marks.append((start, min(end, len(self.data)), None))

    def insert(self, at, size):
        self.marks.append((at, at, self.rng.randbytes(size)))

    def remove(self, start, end):
        self.marks.append((start, min(end, len(self.data)), b""))

    def at_random(self, first):
        at, kind, size = self.rng.randrange(first, len(self.data)), self.rng.randrange(3), self.rng.choice(SIZES)
        [lambda: self.flip(at, at + size), lambda: self.insert(at, size), lambda: self.remove(at, at + size)][kind]()

    def is_whole(self, start, end):
        return all(end <= a or b <= start if a < b else not start < a < end for a, b, _ in self.marks)

    def only_flips(self):
        return all(instead is None for _, _, instead in self.marks)

    def result(self):
        data, drop, inserts, out = bytearray(self.data), bytearray(len(self.data)), {}, bytearray()
        for start, end, instead in self.marks:
            if instead is None:
                # other bytes, and never the old ones
                data[start:end] = bytes(b ^ self.rng.randrange(1, 256) for b in data[start:end])
            elif start == end:
                inserts.setdefault(start, []).append(instead)
            else:
                drop[start:end] = b"\1" * (end - start)
        at = 0
        edges = sorted({*inserts, *(a for a, b, i in self.marks if i == b""), *(b for a, b, i in self.marks if i == b"")})
        for edge in edges + [len(data)]:
            if edge > at and not drop[at]:
                out += data[at:edge]
            for extra in inserts.get(edge, ()):
                out += extra
            at = max(at, edge)
        return bytes(out)


class Bloscpack:
    DIGEST = 4
    has_digests = True

    def __init__(self, archive):
        self.data = open(archive, "rb").read()
        self.spans = [(c["offset"], c["offset"] + c["packed_size"] + self.DIGEST) for c in chunks_of(archive)]

    def damage(self, rng, name):
        first, size = self.spans[0][0], len(self.data)
        b = Bytes(rng, self.data)
        if rng.random() < 0.8:
            b.flip(0, rng.choice([16, 32, first]))
        for _ in range(rng.randrange(3)):
            b.at_random(first)
        if rng.random() < 0.2:
            b.remove(0, rng.randrange(size // 2))
        if rng.random() < 0.2:
            b.remove(rng.randrange(size // 2, size), size)
        open(name, "wb").write(b.result())
        return [n for n, span in enumerate(self.spans) if b.is_whole(*span)], True, True

    def same(self, name):
        return open(name, "rb").read() == self.data


class Frame:
    """A contiguous frame. Its digests, if it has them, are in the trailer."""

    def __init__(self, archive):
        d = self.data = open(archive, "rb").read()
        self.header = int.from_bytes(d[11:15], "big")
        self.index = self.header + int.from_bytes(d[39:47], "big")
        self.trailer = len(d) - int.from_bytes(d[-22:-18], "big")
        self.has_digests = d[-16:] == b"bpk sealed frame"
        self.spans = [
            None if "offset" not in c or c["offset"] is None else (c["offset"], c["offset"] + c["packed_size"])
            for c in chunks_of(archive)
        ]

    def damage(self, rng, name):
        b, size = Bytes(rng, self.data), len(self.data)
        if rng.random() < 0.4:
            b.flip(0, rng.choice([16, 32, 97, self.header]))
        if rng.random() < 0.4:
            b.flip(*sorted(rng.sample(range(self.index, self.trailer), 2)))
        if rng.random() < 0.3:
            b.flip(*sorted(rng.sample(range(self.trailer, size), 2)))
        for _ in range(rng.randrange(3)):
            b.at_random(self.header)
        if rng.random() < 0.1:
            b.remove(0, rng.randrange(size // 2))
        if rng.random() < 0.1:
            b.remove(rng.randrange(size // 2, size), size)
        open(name, "wb").write(b.result())
        index = b.is_whole(self.index, self.trailer)
        whole = [n for n, s in enumerate(self.spans) if (index if s is None else b.is_whole(*s))]
        proven = self.has_digests and b.is_whole(self.trailer, size)
        if not proven and not b.is_whole(0, self.header) and all(self.spans[n] is None for n in whole):
            whole = []  # nothing has the size of special chunks
        return whole, proven, proven or index

    def same(self, name):
        return open(name, "rb").read() == self.data


class Sparse:
    """A sparse frame: chunks.b2frame, and a file for each chunk."""

    def __init__(self, archive):
        self.archive = archive
        d = self.index = open(f"{archive}/chunks.b2frame", "rb").read()
        self.header = int.from_bytes(d[11:15], "big")
        self.trailer = len(d) - int.from_bytes(d[-22:-18], "big")
        self.has_digests = d[-16:] == b"bpk sealed frame"
        # a new frame has its files in the order of its chunks
        files = (name for name in os.listdir(archive) if name.endswith(".chunk"))
        names = iter(sorted(name for name in files if os.path.getsize(f"{archive}/{name}") > 0))
        self.spans = [None if c["offset"] is None else next(names) for c in chunks_of(archive)]
        self.damaged = False

    def damage(self, rng, name):
        subprocess.run(["rm", "-rf", name])
        shutil.copytree(self.archive, name)
        b, size = Bytes(rng, self.index), len(self.index)
        if rng.random() < 0.3:
            b.flip(0, rng.choice([16, 32, self.header]))
        if rng.random() < 0.3:
            b.flip(*sorted(rng.sample(range(self.header, self.trailer), 2)))
        if rng.random() < 0.3:
            b.flip(*sorted(rng.sample(range(self.trailer, size), 2)))
        if rng.random() < 0.1:
            b.at_random(0)
        open(f"{name}/chunks.b2frame", "wb").write(b.result())
        gone = rng.random() < 0.2
        if gone:
            os.remove(f"{name}/chunks.b2frame")
        lost = set()
        for n in rng.sample(range(len(self.spans)), rng.randrange(4)):
            if self.spans[n] is not None:
                self.hurt(rng, f"{name}/{self.spans[n]}")
                lost.add(n)
        self.damaged = bool(lost or b.marks or gone)
        index = not gone and b.is_whole(self.header, size)
        proven = self.has_digests and not gone and b.is_whole(self.trailer, size)
        whole = [n for n, s in enumerate(self.spans) if n not in lost and (index if s is None else True)]
        if not proven and (gone or not b.is_whole(0, self.header)) and all(self.spans[n] is None for n in whole):
            whole = []  # nothing has the size of special chunks
        return whole, proven, proven or index

    @staticmethod
    def hurt(rng, name):
        data = open(name, "rb").read()
        kind = rng.randrange(3)
        b = Bytes(rng, data)
        at = rng.randrange(len(data))
        if kind == 0:
            os.remove(name)
            return
        if kind == 1:
            b.flip(at, at + 7)
        else:
            b.remove(at, len(data))
        open(name, "wb").write(b.result())

    def same(self, name):
        return not self.damaged


class Chunked:
    """A chunked directory of superchunks, which are Bloscpack files."""

    has_digests = True

    def __init__(self, archive):
        self.archive = archive
        info = json.loads(run("info", "-vv", "--json", archive).stdout)
        self.per_file = info["superchunk_nchunks"]
        self.spans = [(c["offset"], c["offset"] + c["packed_size"] + Bloscpack.DIGEST) for c in info["chunks"]]
        self.damaged = False

    def damage(self, rng, name):
        subprocess.run(["rm", "-rf", name])
        shutil.copytree(self.archive, name)
        self.damaged = False
        for meta in ("sizes", "storage"):
            if rng.random() < 0.2:
                self.hurt(rng, f"{name}/meta/{meta}", 0)
        lost = set()
        nfiles = -(-len(self.spans) // self.per_file)
        for file in rng.sample(range(nfiles), rng.randrange(min(4, nfiles + 1))):
            first = file * self.per_file
            spans = self.spans[first : first + self.per_file]
            b = self.hurt(rng, f"{name}/data/__{file + 1}__.bin", spans[0][0])
            lost.update(first + n for n, span in enumerate(spans) if b is None or not b.is_whole(*span))
        return [n for n in range(len(self.spans)) if n not in lost], True, True

    def hurt(self, rng, name, first):
        """The damage to a file; None: it is removed."""
        self.damaged = True
        b = Bytes(rng, open(name, "rb").read())
        kind = rng.randrange(4)
        if kind == 0:
            os.remove(name)
            return None
        if kind == 1:
            b.flip(0, max(first, 8))
        if kind == 2:
            at = rng.randrange(len(b.data))
            b.remove(at, len(b.data))
        if kind == 3 or rng.random() < 0.5:
            b.at_random(first)
        open(name, "wb").write(b.result())
        return b

    def same(self, name):
        return not self.damaged


KINDS = {".blpd": Chunked, ".b2s": Sparse, ".blp": Bloscpack, ".b2frame": Frame, ".b2nd": Frame}


def is_among(wanted, got, ordered, spare):
    """The pieces wanted are in got, in order if that is known, and of others there are at most spare."""
    it, count = iter(got), collections.Counter
    there = all(any(w == g for g in it) for w in wanted) if ordered else not count(wanted) - count(got)
    return there and len(got) <= len(wanted) + spare


def save(kind, seed, bad, out):
    """Damage the archive, and save its chunks into out: the chunks that are whole, whether digests prove them and their
    order is known, the run and what it said. None: there is no result to look at."""
    whole, proven, ordered = kind.damage(random.Random(seed), bad)
    subprocess.run(["rm", "-rf", out])
    made = run("repair", "--apply", "--fill", "skip", "-o", out, bad)
    said = made.stdout.decode() + made.stderr.decode()
    unseen = made.returncode == 0 and not kind.has_digests and not os.path.exists(out)
    if made.returncode == 3 and "interrupted append" in said:
        return None
    if made.returncode not in (0, 2) or (whole and not (unseen or kind.same(bad) or os.path.exists(out))):
        sys.exit(f"seed {seed}: {whole}: status {made.returncode}: {said}")
    if not os.path.exists(out):
        return None
    if run("verify", out).returncode != 0:
        sys.exit(f"seed {seed}: the result is damaged")
    return whole, proven, ordered, made, said


def main():
    archive, raw, size = sys.argv[1], open(sys.argv[2], "rb").read(), int(sys.argv[3])
    suffix = os.path.splitext(archive)[1]
    kind = KINDS[suffix](archive)
    pieces = [raw[at : at + size] for at in range(0, len(raw), size)]
    states = [raw] + [open(name, "rb").read() for name in sys.argv[6:]]
    bad, out = "bad" + suffix, "out" + suffix
    for seed in range(int(sys.argv[4]), int(sys.argv[5])):
        saved = save(kind, seed, bad, out)
        if saved is None:
            continue
        whole, proven, ordered, made, said = saved
        if not proven and "no index of them" in said:
            whole, ordered = [n for n in whole if kind.spans[n] is not None], False
        result, expected = run("cat", out).stdout, [pieces[n] for n in whole]
        got = [result[at : at + size] for at in range(0, len(result), size)]
        if proven and result != b"".join(expected):
            sys.exit(f"seed {seed}: {len(got)} chunks, other than {whole}: {said}")
        unsure = not proven and "left out" in said
        if not unsure and result not in states and not is_among(expected, got, ordered, 0 if proven else len(pieces) - len(whole)):
            sys.exit(f"seed {seed}: {len(got)} chunks, {whole} are not all there: {said}")
        if made.returncode == 0 and kind.has_digests and result not in states:
            sys.exit(f"seed {seed}: status 0, but chunks are lost: {said}")


if __name__ == "__main__":
    main()
