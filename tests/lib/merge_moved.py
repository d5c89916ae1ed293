"""merge_moved.py FROM TO: rotate, cut and damage copies of archives that have equal chunks, each by a seed, and merge them.

A digest does not tell the number of its chunk, so an equal chunk may be taken for another one. With status 0 every byte
is right. What one copy gives by itself, with certain numbers, the copies together give, too.
"""
import json
import os
import random
import subprocess
import sys

from salvage import chunks_of, run

SUFFIXES = {"blp": "blp", "b2frame": "b2frame", "chunked": "blpd", "b2sparse": "b2s"}
DIGESTS = {"crc32": 4, "adler32": 4, "sha256": 32, "none": 0}


def piece(rng, size):
    kind = rng.choice("zzzabrr")
    if kind == "z":
        return bytes(size)
    if kind in "ab":
        return (bytes(range(70 if kind == "a" else 10)) * size)[:size]
    n = rng.choice([size, 300, 900])
    return rng.randbytes(n) + bytes(size - n)


def damage(rng, data, spans):
    """One copy of a file whose chunks are at these spans."""
    edges = [a for a, _ in spans] + [b for _, b in spans] + [0, len(data)]
    data = bytearray(data)
    for _ in range(rng.randrange(1, 4)):
        i, k = sorted(
            min(len(data), max(0, rng.choice(edges) + rng.choice([0, 0, 0, 1, 20, -20]) if rng.random() < 0.5
                               else rng.randrange(len(data) + 1))) for _ in range(2))
        kind = rng.random()
        if kind < 0.2:
            data = data[i:] + data[:i]
        elif kind < 0.3:
            del data[i : min(k, i + rng.choice([1, 7, 500, 1 << 20]))]
        elif kind < 0.5:
            size = rng.choice([1, 7, 16, 152, 600])
            data[i:i] = rng.randbytes(size) if kind < 0.4 else bytes(size)
        elif kind < 0.8:
            at = rng.choice(spans)[0] + 5
            size = len(data[at : at + rng.choice([1, 30, 300])])
            data[at : at + size] = rng.randbytes(size)
        elif kind < 0.9:
            data[:16] = rng.randbytes(16)
        elif kind < 0.95:
            data = data[:i]
        else:  # as many zeros at the end as bytes went
            size = len(data)
            del data[i : min(k, i + 3000)]
            data += bytes(size - len(data))
    return bytes(data)


def files_of(name):
    if not os.path.isdir(name):
        return {"": open(name, "rb").read()}
    paths = [os.path.join(folder, file) for folder, _, files in os.walk(name) for file in files]
    return {os.path.relpath(path, name): open(path, "rb").read() for path in paths}


def store(rng, files, spans, name):
    """Write a damaged copy."""
    for file, data in files.items():
        path = os.path.join(name, file) if file else name
        if file:
            os.makedirs(os.path.dirname(path), exist_ok=True)
        if not file or (rng.random() < 0.5 and len(data) > 40):
            inner = spans if not file or file.startswith("data") else [(0, len(data))]
            data = damage(rng, data, inner)
        open(path, "wb").write(data)


def pack(rng, size):
    """Pack random data as a random archive: its name and the size of its digests."""
    form = rng.choice(["blp", "blp", "blp", "b2frame", "chunked", "b2sparse"])
    checksum = rng.choice(list(DIGESTS) if form in ("blp", "chunked") else ["crc32", "sha256"])
    more = rng.choice([[], [], [], ["--identity"], ["--seal"] if checksum != "none" else []])
    more += rng.choice([["--codec", "lz4"], ["--codec", "zstd"], ["-0"]])
    if form == "chunked":
        more += ["--superchunk-size", str(3 * size)]
    name = "moved." + SUFFIXES[form]
    made = run("pack", "-q", "-F", form, "-t", "1", "--filter", "none", "-z", str(size), "--checksum", checksum, *more,
               "-o", name, "moved")
    if made.returncode != 0:
        sys.exit(made.stderr.decode())
    return name, DIGESTS[checksum] if form in ("blp", "chunked") else 0


def alone(names, out, raw):
    """The copies that give all bytes by themselves, with status 0."""
    whole = []
    for name in names:
        subprocess.run(["rm", "-rf", out])
        if run("repair", "--apply", "-o", out, name).returncode == 0 and os.path.exists(out):
            whole += [name] if run("cat", out).stdout == raw else []
    return whole


def main():
    count = {}
    for seed in range(int(sys.argv[1]), int(sys.argv[2])):
        rng = random.Random(seed)
        size = rng.choice([2000, 7000])
        raw = b"".join(piece(rng, size) for _ in range(rng.randrange(2, 9)))
        raw += rng.choice([b"", rng.randbytes(size // 3)])
        subprocess.run("rm -rf moved moved.* moved-*", shell=True, check=True)
        open("moved", "wb").write(raw)
        archive, digest = pack(rng, size)
        suffix = os.path.splitext(archive)[1]
        spans = [(c["offset"], c["offset"] + c["packed_size"] + digest)
                 for c in chunks_of(archive) if c["offset"] is not None] or [(0, 1)]
        names = [f"moved-{n}{suffix}" for n in range(rng.choice([2, 2, 3]))]
        for name in names:
            store(rng, files_of(archive), spans, name)
        out = "moved-out" + suffix
        made = run("repair", "--merge", "-o", out, *names)
        got = run("cat", out).stdout if os.path.exists(out) else None
        said = f"seed {seed}: {archive}: status {made.returncode}: {made.stderr.decode()}"
        if made.returncode not in (0, 1, 2):
            sys.exit(said)
        if made.returncode == 0 and got != raw:
            sys.exit(said + "wrong bytes")
        if got != raw and made.returncode != 1:
            whole = alone(names, "moved-alone" + suffix, raw)
            if whole:
                sys.exit(said + f"{whole[0]} alone gives all bytes")
        count[made.returncode] = count.get(made.returncode, 0) + 1
    print(json.dumps({f"status {status}": n for status, n in sorted(count.items())}))


main()
