"""guess.py ARCHIVE RAW FROM TO bytes|bits: damage a byte in some chunks of a Bloscpack file, each time by a seed.

repair --apply --guess restores them, with the status of damage; without --guess nothing is written. Two damaged bytes
in a chunk are never passed off as intact.
"""
import os
import random
import subprocess
import sys

from salvage import chunks_of, run

DIGESTS = {"crc32": 4, "adler32": 4, "md5": 16, "sha256": 32}


def main():
    archive, raw, bits = sys.argv[1], open(sys.argv[2], "rb").read(), sys.argv[5] == "bits"
    good = open(archive, "rb").read()
    digest = next(size for name, size in DIGESTS.items() if name in run("info", "-v", archive).stdout.decode())
    spans = [(c["offset"], c["offset"] + c["packed_size"] + digest) for c in chunks_of(archive)]
    count = 0
    for seed in range(int(sys.argv[3]), int(sys.argv[4])):
        rng = random.Random(seed)
        data = bytearray(good)
        two = rng.random() < 0.2
        # the header of the first chunk says where it begins
        for n in rng.sample(range(len(spans)), min(len(spans), rng.randrange(1, 4))):
            places = rng.sample(range(spans[n][0] + (16 if n == 0 else 0), spans[n][1]), 2 if two else 1)
            for at in places:
                data[at] ^= 1 << rng.randrange(8) if bits else rng.randrange(1, 256)
        open("bad.blp", "wb").write(data)
        subprocess.run(["rm", "-f", "out.blp"])
        plain = run("repair", "--apply", "-o", "out.blp", "bad.blp")
        if plain.returncode != 2 or os.path.exists("out.blp"):
            sys.exit(f"seed {seed}: without --guess: status {plain.returncode}")
        made = run("repair", "--apply", "--guess", "-o", "out.blp", "bad.blp")
        said = f"seed {seed}: status {made.returncode}: " + (made.stdout + made.stderr).decode()
        if made.returncode != 2:
            sys.exit(said)
        if two:
            # a chunk of two damaged bytes may be guessed wrongly, but not be called intact
            if "intact" in made.stderr.decode():
                sys.exit(said)
            continue
        if "guessed" not in said or not os.path.exists("out.blp"):
            sys.exit(said)
        if run("verify", "out.blp").returncode != 0 or run("cat", "out.blp").stdout != raw:
            sys.exit(said + "another content")
        count += 1
    print(f"{count} of {count}")


main()
