"""salvage_meta.py ARCHIVE FROM TO: damage an archive with metadata in many ways, each by a seed, and save it.

Metadata whose bytes are intact must come back, and no others; lost ones must be told of. An identity in the result must
be that of its content.
"""
import json
import os
import random
import shutil
import subprocess
import sys

from salvage import Bytes, chunks_of, run


class Bloscpack:
    def __init__(self, archive):
        d = self.data = open(archive, "rb").read()
        room, digest = int.from_bytes(d[48:52], "little"), 4 if d[41] else 0
        self.used = 64 + int.from_bytes(d[52:56], "little")
        self.end = 64 + room + digest
        self.chunks = [(c["offset"], c["offset"] + c["packed_size"] + 4) for c in chunks_of(archive)]

    def damage(self, rng, name):
        """True if the metadata must come back, if they may, and if the bytes of all chunks are intact."""
        b, first = Bytes(rng, self.data), self.chunks[0][0]
        if rng.random() < 0.7:
            b.flip(0, rng.choice([4, 16, 32]))
        if rng.random() < 0.3:
            b.flip(*sorted(rng.sample(range(self.end, first), 2)))
        if rng.random() < 0.3:
            at = rng.randrange(32, self.end)
            b.flip(at, at + rng.choice([1, 9, 500]))
        if rng.random() < 0.2:
            [b.insert, lambda at, size: b.remove(at, at + size)][rng.randrange(2)](rng.randrange(33), rng.choice([1, 7, 20]))
        if rng.random() < 0.1:
            b.remove(0, rng.randrange(len(self.data) // 3))
        for _ in range(rng.choice([0, 0, 0, 1, 2])):
            b.at_random(first)
        open(name, "wb").write(b.result())
        whole = [b.is_whole(*span) for span in self.chunks]
        # in place, or moved as far as the entries and a chunk behind
        still = all(instead is None or start > self.end for start, _, instead in b.marks)
        front = still or (b.is_whole(self.end, self.chunks[0][1]))
        must = front and b.is_whole(32, self.end)
        return must, b.is_whole(32, self.used) and b.is_whole(self.end - 4, self.end), all(whole)


class Frame:
    def __init__(self, archive):
        d = self.data = open(archive, "rb").read()
        self.header = int.from_bytes(d[11:15], "big")
        self.trailer = len(d) - int.from_bytes(d[-22:-18], "big")
        self.chunks = [(c["offset"], c["offset"] + c["packed_size"]) for c in chunks_of(archive)]

    def damage(self, rng, name):
        b, size = Bytes(rng, self.data), len(self.data)
        if rng.random() < 0.7:
            b.flip(0, rng.choice([16, 32, 87, self.header]))
        if rng.random() < 0.3:
            b.flip(*sorted(rng.sample(range(self.chunks[-1][1], self.trailer), 2)))
        if rng.random() < 0.3:
            b.flip(*sorted(rng.sample(range(self.trailer, size), 2)))
        if rng.random() < 0.2:
            b.insert(rng.choice([0, 5]), rng.choice([1, 7, 20]))
        for _ in range(rng.choice([0, 0, 0, 1, 2])):
            b.at_random(self.chunks[0][0])
        open(name, "wb").write(b.result())
        trailer = b.is_whole(self.trailer, size)
        # of a header that is not at the file's start, the trailer must tell
        still = b.only_flips()
        self.shaped = (b.is_whole(0, self.header) and (still or trailer)) or (trailer and b.is_whole(87, self.header) and still)
        return trailer, trailer, all(b.is_whole(*span) for span in self.chunks)


class Chunked:
    def __init__(self, archive):
        self.archive = archive

    def damage(self, rng, name):
        subprocess.run(["rm", "-rf", name])
        shutil.copytree(self.archive, name)
        hurt = {file: rng.random() < 0.4 for file in ("meta/sizes", "meta/storage", "meta/attributes")}
        data = rng.choice([None, None, "data/__2__.bin"])
        for file in [f for f, is_hurt in hurt.items() if is_hurt] + [data] * (data is not None):
            path = f"{name}/{file}"
            b = Bytes(rng, open(path, "rb").read())
            at = rng.randrange(len(b.data))
            if file != "meta/attributes" and rng.random() < 0.4:
                os.remove(path)
                continue
            b.flip(at, at + rng.choice([1, 20]))
            open(path, "wb").write(b.result())
        whole = not hurt["meta/attributes"]
        return whole, whole, data is None


def user_of(info):
    """The user's members of the metadata."""
    members = json.loads(info["metadata"] or "{}")
    return {key: value for key, value in members.items() if key not in ("dtype", "shape", "order", "container")}


def main():
    archive = sys.argv[1]
    suffix = os.path.splitext(archive)[1]
    kind = {".blp": Bloscpack, ".blpd": Chunked}.get(suffix, Frame)(archive)
    good = json.loads(run("info", "--json", archive).stdout)
    raw = run("cat", archive).stdout
    bad, out = "bad" + suffix, "out" + suffix
    counts = [0, 0, 0]
    for seed in range(int(sys.argv[2]), int(sys.argv[3])):
        must, may, whole = kind.damage(random.Random(seed), bad)
        subprocess.run(["rm", "-rf", out])
        made = run("repair", "--apply", "--fill", "zero", "-o", out, bad)
        said = made.stdout.decode(errors="replace") + made.stderr.decode()
        if not os.path.exists(out):
            if made.returncode not in (0, 2, 3) or (whole and made.returncode == 2 and "interrupted" not in said):
                sys.exit(f"seed {seed}: status {made.returncode}: {said}")
            continue
        if run("verify", out).returncode != 0:
            sys.exit(f"seed {seed}: the result is damaged: {said}")
        info = json.loads(run("info", "--json", out).stdout)
        got, wanted = user_of(info), user_of(good)
        told = "etadata" in said or "trailer is" in said or "header is lost" in said
        if must and got != wanted:
            sys.exit(f"seed {seed}: the metadata did not come back: {said}")
        if not may and got and not told:
            sys.exit(f"seed {seed}: metadata came back that are lost: {said}")
        if got not in ({}, wanted) and not ("no checksum" in said or "trailer is damaged" in said):
            sys.exit(f"seed {seed}: other metadata came back: {got}: {said}")
        if got != wanted and not told:
            sys.exit(f"seed {seed}: the metadata are lost, and no line says so: {said}")
        content = run("cat", out).stdout
        if info["identity_root"] is not None:
            root = run("sum", "--tree", out).stdout.decode().split()[-1]
            if info["identity_root"] != root:
                sys.exit(f"seed {seed}: the identity is not that of the content: {said}")
        elif must and whole and content == raw and good["identity_root"] is not None and "header is lost" not in said:
            sys.exit(f"seed {seed}: the identity is lost: {said}")
        shaped = must and info["raw_size"] == len(raw) if kind.__class__ is Bloscpack else getattr(kind, "shaped", False)
        if shaped and (info["dtype"], info["shape"]) != (good["dtype"], good["shape"]):
            sys.exit(f"seed {seed}: the shape is lost: {said}")
        if made.returncode == 0 and (content != raw or got != wanted):
            sys.exit(f"seed {seed}: status 0, and something is lost: {said}")
        counts[0] += 1
        counts[1] += got == wanted
        counts[2] += info["identity_root"] is not None
    print(f"# {archive}: {counts[0]} results, {counts[1]} with metadata, {counts[2]} with identity")


if __name__ == "__main__":
    main()
