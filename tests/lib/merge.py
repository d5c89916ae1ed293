"""merge.py ARCHIVE RAW CHUNKSIZE FROM TO: damage copies of an archive in many ways, each by a seed, and merge them.

A chunk that is intact in a copy comes back. If all are, and every other part, the result is the archive, byte for byte
but where nothing proves a byte; a line says so. If a chunk is lost in all copies nothing is written without --fill.
"""
import os
import random
import subprocess
import sys

from salvage import Bytes, chunks_of, run

SIZES = [1, 1, 7, 300, 3000]
NEAR = 17  # equal bytes between two that differ belong to one part


def load(name):
    """The files of an archive, by name."""
    if not os.path.isdir(name):
        return {"": open(name, "rb").read()}
    files = {}
    for folder, _, names in os.walk(name):
        for file in names:
            if file != ".lock":
                path = os.path.join(folder, file)
                files[os.path.relpath(path, name)] = open(path, "rb").read()
    return files


def store(files, name):
    subprocess.run(["rm", "-rf", name])
    for file, data in files.items():
        path = os.path.join(name, file) if file else name
        if file:
            os.makedirs(os.path.dirname(path), exist_ok=True)
        open(path, "wb").write(data)


def spans_of(archive, files):
    """The file, the start and the end of each chunk with its digest; None: the index alone has it."""
    chunks, suffix = chunks_of(archive), os.path.splitext(archive)[1]
    digest = {".blp": 4, ".blpd": 4}.get(suffix, 0)
    if suffix == ".b2s":
        # a new frame has its files in the order of its chunks
        names = iter(sorted(name for name in files if name.endswith(".chunk") and files[name]))
        named = [None if c["offset"] is None else next(names) for c in chunks]
        return [None if name is None else (name, 0, len(files[name])) for name in named]
    spans, names, last = [], iter(sorted(name for name in files if name.startswith("data/"))), -1
    names = iter(sorted((n for n in files if n.startswith("data/")), key=lambda n: int(n.split("__")[1])))
    name = "" if suffix != ".blpd" else None
    for c in chunks:
        if c["offset"] is None:
            spans.append(None)
            continue
        if suffix == ".blpd" and c["offset"] <= last or name is None:
            name = next(names)
        last = c["offset"]
        spans.append((name, c["offset"], c["offset"] + c["packed_size"] + digest))
    return spans


class Copy:
    def __init__(self, rng, files, spans):
        self.rng, self.marks, self.gone, self.cut = rng, {}, set(), None
        self.files = files
        weights = [max(len(files[name]), 200) for name in files]
        for _ in range(rng.randrange(7)):
            name = rng.choices(list(files), weights)[0]
            if len(files) > 1 and rng.random() < 0.15:
                self.gone.add(name)
            elif files[name]:
                b = self.marks.setdefault(name, Bytes(rng, files[name]))
                # parts outside of chunks are small, and hit as often
                inner = [s for s in spans if s is not None and s[0] == name]
                low = min((s[1] for s in inner), default=len(b.data))
                high = max((s[2] for s in inner), default=0)
                kind = rng.random()
                at = rng.randrange(len(b.data))
                if kind < 0.25 and low > 0:
                    at = rng.randrange(low)
                elif kind < 0.5 and high < len(b.data):
                    at = rng.randrange(high, len(b.data))
                b.flip(at, at + rng.choice(SIZES))
        if rng.random() < 0.15:
            name = rng.choices(list(files), weights)[0]
            if len(files[name]) > 1:
                b = self.marks.setdefault(name, Bytes(rng, files[name]))
                b.remove(rng.randrange(len(b.data)), len(b.data))

    def is_whole(self, span):
        name, start, end = span
        return name not in self.gone and (name not in self.marks or self.marks[name].is_whole(start, end))

    def is_cut(self):
        """The only file has lost its end."""
        b = self.marks.get("")
        return b is not None and any(end == len(b.data) and instead is not None for _, end, instead in b.marks)

    def marks_of(self, name):
        if name in self.gone:
            return [(0, max(1, len(self.files[name])))]
        return [(a, b) for a, b, _ in self.marks[name].marks] if name in self.marks else []

    def store(self, name):
        out = {n: self.marks[n].result() if n in self.marks else d for n, d in self.files.items() if n not in self.gone}
        store(out, name)
        return out


def outside(a, b, spans):
    """The pieces of a range that lie in no chunk."""
    for start, end in sorted(spans):
        if a < min(b, start):
            yield a, min(b, start)
        a = max(a, end)
    if a < b:
        yield a, b


def holes(copies, files, spans):
    """True if bytes between chunks are damaged, which nothing in the archive refers to."""
    for name in files:
        inner = [s[1:] for s in spans if s is not None and s[0] == name]
        low, high = min((a for a, _ in inner), default=0), max((b for _, b in inner), default=0)
        for copy in copies:
            for a, b in copy.marks_of(name):
                if any(low < d and c < high for c, d in outside(a, b, inner)):
                    return True
    return False


def is_solvable(copies, files, spans):
    """In every part outside of the chunks in which copies differ, one of them is intact, and one has its end."""
    if "" in files and all(copy.is_cut() for copy in copies):
        return False
    for name in files:
        inner = [s[1:] for s in spans if s is not None and s[0] == name]
        hurt = []
        for n, copy in enumerate(copies):
            for a, b in copy.marks_of(name):
                hurt += [(c, d, n) for c, d in outside(a, b, inner)]
        group, end = set(), -NEAR
        for a, b, n in sorted(hurt):
            if a - end > NEAR:
                group = set()
            group.add(n)
            end = max(end, b)
            if len(group) == len(copies):
                return False
    return True


def main():
    archive, raw, size = sys.argv[1], open(sys.argv[2], "rb").read(), int(sys.argv[3])
    suffix = os.path.splitext(archive)[1]
    files = load(archive)
    spans = spans_of(archive, files)
    pieces = [raw[at : at + size] for at in range(0, len(raw), size)]
    end = files["chunks.b2frame" if suffix == ".b2s" else ""][-16:] if suffix.startswith(".b2") else b""
    digests, count = suffix in (".blp", ".blpd") or end == b"bpk sealed frame", [0, 0, 0]
    for seed in range(int(sys.argv[4]), int(sys.argv[5])):
        rng = random.Random(seed)
        copies = [Copy(rng, files, spans) for _ in range(rng.choice([2, 2, 3]))]
        names = [f"copy{n}{suffix}" for n in range(len(copies))]
        before = [copy.store(name) for copy, name in zip(copies, names)]
        lost = [n for n, s in enumerate(spans) if s is not None and not any(c.is_whole(s) for c in copies)]
        solvable, out = is_solvable(copies, files, spans), "out" + suffix
        subprocess.run(["rm", "-rf", out])
        if os.environ.get("MERGE_SHOW"):
            print(seed, [{n: c.marks_of(n) for n in files if c.marks_of(n)} for c in copies], spans, flush=True)
        made = run("repair", "--merge", "-o", out, *names)
        said = f"seed {seed}: {'' if solvable else 'not '}solvable, lost {lost}: status {made.returncode}: " + (made.stdout + made.stderr).decode()
        if [load(name) for name in names] != before:
            sys.exit(said + "a copy was changed")
        if made.returncode == 1 and "are not copies" in said and not (digests and solvable):
            # without digests a chunk with changed bytes may unpack; a frame whose end is cut off and whose
            # header is damaged may be the one before an append
            count[2] += 1
            continue
        if made.returncode == 2 and "stand on no checksum" in said and not digests:
            # a chunk that one copy alone has may be damaged, and unpack
            count[2] += 1
            continue
        count[0 if solvable and not lost else 1 if solvable else 2] += 1
        if solvable and not lost:
            if made.returncode != 0 or run("verify", out).returncode != 0 or run("cat", out).stdout != raw:
                sys.exit(said + "not merged")
            # padding may differ in a copy that verify calls intact
            bare = holes(copies, files, spans) or any(run("verify", name).returncode == 0 for name in names)
            if load(out) != files and "nothing proves" not in said and not bare:
                sys.exit(said + "other bytes")
            continue
        if lost and solvable and os.path.exists(out):
            # damage at different bytes of a chunk may leave all of it
            if run("verify", out).returncode != 0 or run("cat", out).stdout != raw:
                sys.exit(said + "written, and chunks are lost")
            continue
        if made.returncode not in (0, 2):
            sys.exit(said)
        made = run("repair", "-f", "--merge", "--fill", "zero", "-o", out, *names)
        said += (made.stdout + made.stderr).decode()
        if not os.path.exists(out):
            if solvable and len(lost) < len(spans):
                sys.exit(said + "not filled")
            continue
        result = run("cat", out).stdout
        if run("verify", out).returncode != 0:
            sys.exit(said + "the result is damaged")
        got = [result[at : at + size] for at in range(0, len(result), size)]
        if solvable and not (len(got) == len(pieces) and all(
            g == p or (n in lost and not g.strip(b"\0")) for n, (g, p) in enumerate(zip(got, pieces)))):
            sys.exit(said + "other content")
        told = "go unnoticed" in said or "may have changed bytes" in said
        if any(p not in pieces and p.strip(b"\0") for p in got) and (digests or solvable) and not told:
            sys.exit(said + "false content")
    print(f"{sum(count)} of {sum(count)}: {count[0]} whole, {count[1]} with lost chunks, {count[2]} with lost parts")


main()
