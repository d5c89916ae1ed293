"""salvage_nd.py SUFFIX FROM TO: refill lost chunks of arrays in chunks of several dimensions from their raw data.

Each seed makes an array of other shapes. Raw data that differ in an intact chunk must be refused.
"""
import json
import os
import random
import subprocess
import sys

from salvage import chunks_of, run

TYPES = {"u1": 1, "i2": 2, "f8": 8, "S3": 3}


def make(rng, name):
    """An array, its item size, shape and chunk shape."""
    kind = rng.choice(list(TYPES))
    count = rng.randrange(1, 5)
    shape = [rng.randrange(1, [400, 60, 24, 12][count - 1]) for _ in range(count)]
    chunk = [rng.randrange(max(1, n // 3), n + 1) for n in shape]
    block = [rng.randrange(max(1, n // 2), n + 1) for n in chunk]
    size = TYPES[kind]
    for n in shape:
        size *= n
    words = [rng.randbytes(5) for _ in range(40)]
    data = b"".join(rng.choice(words) for _ in range(size // 5 + 1))[:size]
    open("raw", "wb").write(data)
    subprocess.run(["rm", "-rf", name])
    join = lambda numbers: ",".join(map(str, numbers))
    made = run(
        *("pack", "-q", "--dtype", kind, "--shape", join(shape), "--chunk-shape", join(chunk), "--block-shape", join(block)),
        *("--identity", "-o", name, "raw"),
    )
    return (data, TYPES[kind], shape, chunk) if made.returncode == 0 else None


def chunk_of(at, size, shape, chunk):
    """The number of the chunk that holds this byte."""
    item, index = at // size, []
    for n in reversed(shape):
        index.insert(0, item % n)
        item //= n
    number = 0
    for i, n, c in zip(index, shape, chunk):
        number = number * -(-n // c) + i // c
    return number


def damage(rng, name, lost):
    """Change a byte of each of these chunks, and perhaps the header's bytes that the trailer copies."""
    sparse, listed, files = name.endswith(".b2s"), chunks_of(name), {}
    path = f"{name}/chunks.b2frame" if sparse else name
    with open(path, "r+b") as file:
        if rng.random() < 0.3:
            file.write(bytes(rng.choice([16, 87])))
    for n in lost:
        at = 0 if sparse else listed[n]["offset"]
        with open(f"{name}/{n:08X}.chunk" if sparse else name, "r+b") as file:
            file.seek(at + listed[n]["packed_size"] - 1)
            byte = file.read(1)[0]
            file.seek(-1, os.SEEK_CUR)
            file.write(bytes([byte ^ rng.randrange(1, 256)]))


def main():
    name, out, refused = f"bad.{sys.argv[1]}", f"out.{sys.argv[1]}", 0
    for seed in range(int(sys.argv[2]), int(sys.argv[3])):
        rng = random.Random(seed)
        array = make(rng, name)
        if array is None:
            sys.exit(f"seed {seed}: not packed")
        data, size, shape, chunk = array
        listed = chunks_of(name)
        numbers = [n for n, c in enumerate(listed) if c["offset"] is not None]
        lost = rng.sample(numbers, rng.randrange(1, len(numbers) + 1))
        damage(rng, name, lost)
        intact = set(range(len(listed))) - set(lost)
        subprocess.run(["rm", "-rf", out])
        made = run("repair", "--apply", "--from", "raw", "-o", out, name)
        said = made.stderr.decode()
        if not intact:
            if made.returncode != 2 or "no intact chunk" not in said:
                sys.exit(f"seed {seed}: status {made.returncode} without any chunk: {said}")
            continue
        if made.returncode != 0 or run("cat", out).stdout != data or run("verify", out).returncode != 0:
            sys.exit(f"seed {seed}: status {made.returncode}, or other data: {shape} in {chunk}, lost {lost}: {said}")
        info = json.loads(run("info", "--json", out).stdout)
        if info["shape"] != shape or info["chunk_shape"] != chunk or info["identity_root"] is None:
            sys.exit(f"seed {seed}: shape or identity are lost")
        at = rng.randrange(len(data))
        if chunk_of(at, size, shape, chunk) not in intact:
            continue
        open("raw", "wb").write(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        made = run("repair", "--apply", "-f", "--from", "raw", "-o", out, name)
        if made.returncode != 1 or f"differs from the intact chunk {chunk_of(at, size, shape, chunk)} of" not in made.stderr.decode():
            sys.exit(f"seed {seed}: other raw data were taken, status {made.returncode}: {made.stderr.decode()}")
        refused += 1
    print(f"# {sys.argv[1]}: other raw data refused {refused} times")


if __name__ == "__main__":
    main()
