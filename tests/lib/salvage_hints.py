"""Damages of a frame in the digests of its trailer and in chunks: salvage_hints.py FORMAT RAW SEED ROUNDS.

No chunk whose bytes were changed is called good by the map of repair, each whose bytes and digest were not
is, and with the raw data all bytes come back."""
import json
import os
import random
import shutil
import struct
import subprocess
import sys

kind, raw_path, seed, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
bpk = os.environ["BPK"]
with open(raw_path, "rb") as file:
    raw = file.read()


def run(*words):
    return subprocess.run([bpk, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def change(path, places, rng):
    with open(path, "r+b") as file:
        for at in places:
            file.seek(at)
            byte = file.read(1)[0] ^ rng.randrange(1, 256)
            file.seek(at)
            file.write(bytes([byte]))


def damage_chunk(name, number, size, rng):
    """A byte behind the header of the chunk, whose data are stored, as they are noise."""
    if os.path.isdir(name):
        path, start = os.path.join(name, "%08X.chunk" % number), 0
    else:
        with open(name, "rb") as file:
            head = struct.unpack(">i", file.read(15)[11:])[0]
        path, start = name, head + number * (size + 32)
    change(path, [start + rng.randrange(32, 4000)], rng)


for n in range(seed, seed + rounds):
    rng = random.Random(n)
    size = rng.choice([5000, 9000, 20000])
    checksum, width = rng.choice([("crc32", 4), ("sha256", 32), ("md5", 16)])
    options = ["--checksum", checksum, "-z", str(size), "-F", kind]
    options += rng.choice([[], ["--set", "unit=m"], ["--seal"] if checksum == "sha256" else []])
    for name in ("h", "h.out"):
        shutil.rmtree(name, ignore_errors=True)
        if os.path.exists(name):
            os.unlink(name)
    assert run("pack", "-q", "-o", "h", *options, raw_path).returncode == 0, options
    count = -(-len(raw) // size)
    bad = set(rng.sample(range(count), rng.randrange(0, 3)))
    for number in bad:
        damage_chunk("h", number, size, rng)
    index = "h/chunks.b2frame" if kind == "b2sparse" else "h"
    end = os.path.getsize(index) - 23
    hit = set(rng.sample(range(count), rng.randrange(1, 4)))
    change(index, [end - (count - number) * width + rng.randrange(width) for number in hit], rng)
    result = run("repair", "--json", "h")
    where = "seed %d: %s: " % (n, " ".join(options))
    assert result.returncode == 2, where + str(result)
    chunks = {}
    record = json.loads(result.stdout)
    assert not record["certain"], where
    if len(bad | hit) == count:  # no digest proves that these are the frame's
        continue
    for fate in ("good", "unproven", "lost"):
        for item in record[fate]:
            for number in range(item["chunk"], item["chunk"] + item["nchunks"]):
                chunks[number] = fate
    for number in range(count):
        expected = ("unproven", "lost") if number in bad else ("unproven",) if number in hit else ("good",)
        assert chunks[number] in expected, where + "chunk %d of %s is %s" % (number, (bad, hit), chunks[number])
    assert run("repair", "-q", "--apply", "--from", raw_path, "-o", "h.out", "h").returncode == 2, where
    assert run("cat", "h.out").stdout == raw, where + "other bytes come back"
