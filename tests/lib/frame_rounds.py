#!/usr/bin/env python3
"""Frames that bpk makes and changes at random, read by c-blosc2.

    frame_rounds.py BPK ORACLE2 FIRST COUNT [both]

Rounds FIRST to FIRST + COUNT - 1, each determined by its number: an input of 0 to 5,000 bytes
(random, of one value, of one repeated item, or a mixture) is packed with random options into a
contiguous or sparse frame, or an array, and changed up to four times. After every step c-blosc2
must read all of it, and random ranges and slices (oracle2 judge). With `both` c-blosc2 changes the
frame between bpk's changes, and bpk must read the result and find no damage. Works in the current
folder. Prints the commands of a failed round; the last line is "N of N", and the status is 1 after
a failure.
"""
import os
import random
import shutil
import struct
import subprocess
import sys

NAMES = {"b2frame": "f.b2frame", "b2sparse": "f.b2s"}
ITEMS = [1, 1, 2, 3, 4, 4, 8, 8, 12, 16, 24, 100, 255]
NANS = [struct.pack("<f", float("nan")), struct.pack("<d", float("nan"))]


class Wrong(Exception):
    pass


def uniform(rng, size, item):
    """One repeated item."""
    pattern = rng.choice([b"\0", b"\xff", rng.choice(NANS), rng.randbytes(item), rng.randbytes(1)])
    return (pattern * (size // len(pattern) + 1))[:size]


def smooth(rng, size, item):
    """Counters of that many bytes."""
    step = rng.randrange(1, 1000)
    count = size // item + 1
    return b"".join((i * step % 256 ** item).to_bytes(item, "little") for i in range(count))[:size]


def content(rng, size, item):
    kind = rng.randrange(5)
    if kind < 2:
        return uniform(rng, size, item)
    if kind == 2:
        return rng.randbytes(size)
    if kind == 3:
        return smooth(rng, size, item)
    parts = b""
    while len(parts) < size:
        make = rng.choice([uniform, uniform, smooth, lambda r, n, i: r.randbytes(n)])
        parts += make(rng, rng.choice([item * rng.randrange(1, 200), rng.randrange(1, 1500)]), item)
    return parts[:size]


class Round:
    def __init__(self, bpk, oracle, number, both):
        self.bpk, self.oracle, self.both = bpk, oracle, both
        self.rng = random.Random(number)
        self.number = number
        self.log = []
        self.row = 0  # bytes of an array's row; 0: no array
        self.raw = b""

    # ---- commands ----

    def run(self, command, data=None):
        self.log.append(" ".join(command) + (" <%d bytes" % len(data) if data is not None else ""))
        done = subprocess.run(command, input=data, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              check=False)
        if done.returncode != 0:
            raise Wrong("status %d: %s" % (done.returncode, done.stderr.decode(errors="replace")))
        return done.stdout

    def judge(self):
        with open("raw", "wb") as file:
            file.write(self.raw)
        self.run([self.oracle, "judge", self.frame, "raw", str(self.number), "12"])
        if self.both:
            self.run([self.bpk, "verify", "-q", self.frame])
            if self.run([self.bpk, "cat", self.frame]) != self.raw:
                raise Wrong("bpk cat gives other bytes")

    # ---- options ----

    def packing(self, form):
        """Options of pack and convert except the sizes."""
        rng, options = self.rng, []
        filters = ["none", "shuffle", "bitshuffle", "auto"]
        if form in NAMES:
            filters += ["shuffle,bytedelta", "shuffle:4"]
        if rng.randrange(2):
            options += ["--codec", rng.choice(["zstd", "lz4", "lz4hc", "blosclz", "zlib"])]
        if rng.randrange(3) == 0:
            options += ["-%d" % rng.randrange(10)]
        if rng.randrange(2):
            options += ["--filter", rng.choice(filters)]
        return options

    def sizes(self):
        rng, options = self.rng, []
        if rng.randrange(2):
            options += ["--block-size", str(rng.choice([1, 16, 64, 100, 256, 1000, 4096]))]
        if rng.randrange(2):
            options += ["-z", str(rng.choice([1, 32, 100, 256, 1000, 1024, 2048, 5000]))]
        if rng.randrange(3) == 0:
            options += ["--slack", rng.choice(["1", "100", "5000", "10%", "90%", "max"])]
        return options

    def typesize(self):
        return ["-t", str(self.item)] if self.rng.randrange(3) else []

    # ---- the frame ----

    def begin(self):
        rng = self.rng
        self.format = rng.choice(["b2frame", "b2frame", "b2sparse"])
        self.frame = NAMES[self.format]
        self.item = rng.choice(ITEMS)
        size = rng.choice([0, 1, rng.randrange(40), rng.randrange(600), rng.randrange(5001)])
        way = rng.randrange(8)
        if way < 3:
            self.make_array(size)
        elif way == 3:
            self.raw = content(rng, size, self.item)
            self.convert_from()
        elif way == 4 and size > 0:
            self.make_foreign(size)
        else:
            self.raw = content(rng, size, self.item)
            self.pack(self.frame, self.format, self.typesize() + self.sizes())

    def pack(self, name, form, options):
        with open("in", "wb") as file:
            file.write(self.raw)
        self.run([self.bpk, "pack", "-q", "-F", form, "-o", name, "--checksum",
                  self.rng.choice(["crc32", "none", "adler32"])] + options + self.packing(form) + ["in"])

    def make_array(self, size):
        rng = self.rng
        kind, item = rng.choice([("|u1", 1), ("<i2", 2), ("|S3", 3), ("<f4", 4), ("<f8", 8),
                                 ("<c16", 16), ("|S100", 100), ("|S300", 300)])
        self.item = item
        count = max(size // item, 1)
        shape = [1] * rng.randrange(1, 4)
        for _ in range(8):
            axis = rng.randrange(len(shape))
            factor = rng.randrange(1, 8)
            if shape[axis] * factor * (count // max(1, shape[axis])) <= count * 4:
                product = 1
                for length in shape:
                    product *= length
                if product * factor <= count:
                    shape[axis] *= factor
        product = 1
        for length in shape:
            product *= length
        self.row = item * product // shape[0]
        self.raw = content(rng, item * product, item)
        options = ["--dtype", kind, "--shape", ",".join(map(str, shape))]
        if rng.randrange(2):
            chunks = [rng.randrange(1, length + 1) for length in shape]
            options += ["--chunk-shape", ",".join(map(str, chunks))]
            if rng.randrange(2):
                blocks = [rng.randrange(1, length + 1) for length in chunks]
                options += ["--block-shape", ",".join(map(str, blocks))]
        self.pack(self.frame, self.format, options)

    def convert_from(self):
        """Convert another archive."""
        rng = self.rng
        source = rng.choice(["blp", "blpd", "b2frame", "b2s"])
        form = {"blp": "blp", "blpd": "chunked", "b2frame": "b2frame"}.get(source, "b2sparse")
        sizes = self.sizes()
        if form == "chunked" and "--slack" in sizes:
            sizes = sizes[:-2]
        self.pack("g." + source, form, self.typesize() + sizes)
        name = "g." + source
        options = self.packing(self.format) + self.typesize() if rng.randrange(3) == 0 else []
        self.run([self.bpk, "convert", "-q", "-F", self.format] + options + [name, self.frame])

    def make_foreign(self, size):
        """Let c-blosc2 make the frame, with chunks of whole items."""
        rng = self.rng
        self.raw = content(rng, max(1, size // self.item) * self.item, self.item)
        self.run([self.oracle, "pack", self.frame, str(self.item * rng.randrange(1, 200)),
                  str(self.item)] + (["sparse"] if self.format == "b2sparse" else []), self.raw)

    # ---- changes ----

    def append(self):
        rng = self.rng
        data = content(rng, rng.choice([1, rng.randrange(1, 100), rng.randrange(1, 5001)]), self.item)
        if self.row:
            data = content(rng, self.row * rng.randrange(1, 4), self.item)
        options = []
        if rng.randrange(4) == 0 and not self.row:
            options = ["-t", str(rng.choice(ITEMS))]
        self.run([self.bpk, "append", "-q"] + options + [self.frame], data)
        self.raw += data

    def write(self):
        rng = self.rng
        if not self.raw:
            return
        at = rng.randrange(len(self.raw))
        data = content(rng, rng.randrange(1, len(self.raw) - at + 1), self.item)
        self.run([self.bpk, "write", "-q", "--at", str(at), self.frame], data)
        self.raw = self.raw[:at] + data + self.raw[at + len(data):]

    def truncate(self):
        unit = self.row or 1
        size = self.rng.randrange(len(self.raw) // unit + 1) * unit
        self.run([self.bpk, "truncate", "-q", "--bytes", str(size), self.frame])
        self.raw = self.raw[:size]

    def meta(self):
        self.run([self.bpk, "meta", "-q", "set", self.frame, "x=%d" % self.rng.randrange(10 ** 6)])

    def repack(self):
        self.run([self.bpk, "repair", "-q", "--repack", self.frame])

    def convert(self):
        rng = self.rng
        old = self.frame
        self.format = rng.choice(sorted(NAMES))
        self.frame = "%d-%s" % (len(self.log), NAMES[self.format])
        options = self.packing(self.format) if rng.randrange(3) == 0 else []
        self.run([self.bpk, "convert", "-q", "-F", self.format] + options + [old, self.frame])

    def theirs(self):
        """Let c-blosc2 change the frame; its view of the content counts from then on."""
        did = self.run([self.oracle, "change", self.frame, str(self.rng.randrange(10 ** 6)), "1"])
        self.log.append("# " + did.decode().strip())
        self.raw = self.run([self.oracle, "array" if self.row else "raw", self.frame])

    def play(self):
        for name in os.listdir("."):
            (shutil.rmtree if os.path.isdir(name) else os.remove)(name)
        self.begin()
        self.judge()
        changes = [self.append, self.append, self.write, self.write, self.truncate, self.meta,
                   self.repack, self.convert]
        for _ in range(5 if self.both else self.rng.randrange(5)):
            self.rng.choice(changes)()
            self.judge()
            if self.both:
                self.theirs()
                self.judge()


def main():
    bpk, oracle, first, count = sys.argv[1:5]
    failed = 0
    for number in range(int(first), int(first) + int(count)):
        game = Round(bpk, oracle, number, sys.argv[5:] == ["both"])
        try:
            game.play()
        except Wrong as error:
            failed += 1
            print("round %d:\n  %s\n%s" % (number, "\n  ".join(game.log), error))
    print("%d of %s" % (int(count) - failed, count))
    sys.exit(failed > 0)


main()
