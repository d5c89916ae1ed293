"""salvage_vary.py ARCHIVE FROM TO: damage a frame whose chunks differ in size in many ways, each by a seed.

Every chunk whose packed bytes are intact must come back, and nothing else; with its digests also in order.
"""
import collections
import os
import sys

from salvage import Frame, Sparse, chunks_of, run, save


def cut(raw, sizes):
    at, pieces = 0, []
    for size in sizes:
        pieces.append(raw[at : at + size])
        at += size
    return pieces


def main():
    archive = sys.argv[1]
    suffix = os.path.splitext(archive)[1]
    kind = (Sparse if suffix == ".b2s" else Frame)(archive)
    raw = run("cat", archive).stdout
    pieces = cut(raw, [c["raw_size"] for c in chunks_of(archive)])
    count, bad, out, total = collections.Counter, "bad" + suffix, "out" + suffix, 0
    for seed in range(int(sys.argv[2]), int(sys.argv[3])):
        saved = save(kind, seed, bad, out)
        if saved is None:
            continue
        whole, proven, _, made, said = saved
        result, expected = run("cat", out).stdout, [pieces[n] for n in whole]
        got = cut(result, [c["raw_size"] for c in chunks_of(out)])
        if proven and got != expected:
            sys.exit(f"seed {seed}: {len(got)} chunks, other than {whole}: {said}")
        # without digests one with changed bytes may come back, and a line says so
        unsure = not proven and "left out" in said
        if not unsure and (count(expected) - count(got) or len(got) > len(pieces)):
            sys.exit(f"seed {seed}: {len(got)} chunks, {whole} are not all there: {said}")
        if made.returncode == 0 and kind.has_digests and result != raw:
            sys.exit(f"seed {seed}: status 0, but chunks are lost: {said}")
        total += len(got)
    print(f"# {archive}: {total} chunks saved")


if __name__ == "__main__":
    main()
