"""salvage.py ARCHIVE RAW CHUNKSIZE FROM TO: damage a Bloscpack archive in many ways, each by a seed, and compare.

Every chunk whose packed bytes and digest are intact must come back, and nothing else. An archive of raw bytes that hold
another archive must not lose its outer chunks to it.
"""
import json
import os
import random
import subprocess
import sys

BPK = os.environ["BPK"]
DIGEST = 4


def run(*args):
    return subprocess.run([BPK, *args], capture_output=True)


def damage(rng, data, spans):
    """The damaged bytes, and the numbers of the chunks that are whole in them."""
    marks = []  # (from, to, bytes instead)
    if rng.random() < 0.8:
        marks.append((0, rng.choice([16, 32, spans[0][0]]), None))
    for _ in range(rng.randrange(3)):
        at = rng.randrange(spans[0][0], len(data))
        kind = rng.randrange(3)
        size = rng.choice([1, 7, 300, 20000])
        if kind == 0:
            marks.append((at, min(len(data), at + size), None))
        elif kind == 1:
            marks.append((at, at, rng.randbytes(size)))
        else:
            marks.append((at, min(len(data), at + size), b""))
    if rng.random() < 0.2:
        marks.append((0, rng.randrange(len(data) // 2), b""))
    if rng.random() < 0.2:
        marks.append((rng.randrange(len(data) // 2, len(data)), len(data), b""))
    whole = [
        n
        for n, (start, end) in enumerate(spans)
        if all(end <= a or b <= start if a < b else not start < a < end for a, b, _ in marks)
    ]
    out = bytearray()
    drop = bytearray(len(data))
    inserts = {}
    for start, end, instead in marks:
        if instead is None:
            # other bytes, and never the old ones
            data = data[:start] + bytes(b ^ rng.randrange(1, 256) for b in data[start:end]) + data[end:]
        elif start == end:
            inserts.setdefault(start, []).append(instead)
        else:
            drop[start:end] = b"\1" * (end - start)
    for at in range(len(data)):
        for extra in inserts.get(at, ()):
            out += extra
        if not drop[at]:
            out.append(data[at])
    return bytes(out), whole


def main():
    archive, raw, size = sys.argv[1], open(sys.argv[2], "rb").read(), int(sys.argv[3])
    data = open(archive, "rb").read()
    info = json.loads(run("info", "-vv", "--json", archive).stdout)
    spans = [(c["offset"], c["offset"] + c["packed_size"] + DIGEST) for c in info["chunks"]]
    for seed in range(int(sys.argv[4]), int(sys.argv[5])):
        bad, whole = damage(random.Random(seed), data, spans)
        open("bad.blp", "wb").write(bad)
        for name in ("out.blp", "out"):
            if os.path.exists(name):
                os.remove(name)
        made = run("repair", "--apply", "--fill", "skip", "-o", "out.blp", "bad.blp")
        expected = b"".join(raw[n * size : (n + 1) * size] for n in whole)
        if made.returncode not in (0, 2) or (whole and bad != data and not os.path.exists("out.blp")):
            sys.exit(f"seed {seed}: status {made.returncode}: {made.stderr.decode()}")
        if not os.path.exists("out.blp"):
            continue
        if run("verify", "out.blp").returncode != 0:
            sys.exit(f"seed {seed}: the result is damaged")
        if run("cat", "out.blp").stdout != expected:
            sys.exit(f"seed {seed}: other chunks than {whole}: {made.stdout.decode()} {made.stderr.decode()}")
        if made.returncode == 0 and expected != raw:
            sys.exit(f"seed {seed}: status 0, but chunks are lost")
        assert open("bad.blp", "rb").read() == bad


main()
