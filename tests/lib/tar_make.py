#!/usr/bin/env python3
"""Hostile and damaged tars.

    tar_make.py DIR     writes NAME.tar for every row of CASES into DIR, and prints for each
                        NAME STATUS MEMBERS..., separated by tabs: the status of `bpk tar -x` and
                        the files that it must leave
"""
import io
import os
import struct
import sys
import tarfile

BLOCK = 512


def member(name, data=b"content of it\n", type=tarfile.REGTYPE, link="", mode=0o644,
           format=tarfile.PAX_FORMAT, pax=None):
    info = tarfile.TarInfo(name)
    info.type = type
    info.linkname = link
    info.mode = mode
    info.mtime = 1000000000
    info.size = len(data) if type in (tarfile.REGTYPE, tarfile.AREGTYPE) else 0
    info.pax_headers = pax or {}
    head = info.tobuf(format, "utf-8", "surrogateescape")
    return head + (padded(data) if info.size else b"")


def padded(data):
    return data + bytes(-len(data) % BLOCK)


def field(block, at, size, value):
    """Put value into a header and correct its checksum."""
    block = bytearray(block)
    block[at:at + size] = value
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block[:BLOCK])
    return bytes(block)


def sized(name, size):
    """A header whose size is these 12 bytes, and a little content."""
    return field(member(name, b""), 124, 12, size) + padded(b"a little")


def number(value):
    """A size in base 256, as GNU tar writes it."""
    return struct.pack(">BxxxQ", 0x80 if value >= 0 else 0xff, value & (2**64 - 1)) \
        if value >= 0 else b"\xff" * 4 + struct.pack(">Q", value & (2**64 - 1))


def device(name, type):
    return member(name, b"", type)


END = bytes(2 * BLOCK)
GOOD = member("good.txt")
AFTER = member("after.txt")
DIR = tarfile.DIRTYPE
SYM = tarfile.SYMTYPE
LNK = tarfile.LNKTYPE

# name: (the tar, status of -x, files that it leaves)
CASES = {
    "good": (GOOD + AFTER + END, 0, ["good.txt", "after.txt"]),
    "dot-dot": (GOOD + member("../escaped") + AFTER + END, 4, ["good.txt", "after.txt"]),
    "journal": (GOOD + member(".good.txt.bpkj") + AFTER + END, 4, ["good.txt", "after.txt"]),
    "journal-below": (GOOD + member("d/.x.blp.bpkj") + member("d/x") + END, 4,
                      ["good.txt", "d/x"]),
    "journal-link": (GOOD + member(".good.txt.bpkj", b"", SYM, "good.txt") +
                     member(".after.txt.bpkj", b"", LNK, "good.txt") + AFTER + END, 4,
                     ["good.txt", "after.txt"]),
    "list": (GOOD + member("./.bpkj") + member("d/.bpkj") + AFTER + END, 4,
             ["good.txt", "after.txt"]),
    "lock": (GOOD + member("d/.lock") + member("d/.b2lock") + AFTER + END, 4,
             ["good.txt", "after.txt"]),
    "draft": (GOOD + member(".x.bpk-000000") + member("d/.x.bpk-000001/in/it") + AFTER + END, 4,
              ["good.txt", "after.txt"]),
    "c-blosc2-lock": (GOOD + member("q.b2lock", b"") + member("d/.b2lock", b"") +
                      member("d/q.b2frame.b2lock") + member("b2lock") + AFTER + END, 4,
                      ["good.txt", "b2lock", "after.txt"]),
    "nearly-a-draft": (GOOD + member("x.bpkj") + member("lock") + member(".x.bpk-00000") + END, 0,
                       ["good.txt", "x.bpkj", "lock", ".x.bpk-00000"]),
    "dot-dot-inside": (GOOD + member("a/../../escaped") + AFTER + END, 4,
                       ["good.txt", "after.txt"]),
    "dot-dot-last": (GOOD + member("a/..", b"", DIR) + AFTER + END, 4, ["good.txt", "after.txt"]),
    "absolute": (GOOD + member("/tmp/bpk-escaped") + AFTER + END, 4, ["good.txt", "after.txt"]),
    "absolute-pax": (GOOD + member("x", pax={"path": "/tmp/bpk-escaped"}) + AFTER + END, 4,
                     ["good.txt", "after.txt"]),
    "link-out-then-through": (GOOD + member("l", b"", SYM, "..") + member("l/escaped") +
                              AFTER + END, 4, ["good.txt", "l/escaped", "after.txt"]),
    "link-absolute": (GOOD + member("l", b"", SYM, "/tmp") + member("l/bpk-escaped") + AFTER +
                      END, 4, ["good.txt", "l/bpk-escaped", "after.txt"]),
    "link-in-then-through": (GOOD + member("d", b"", DIR, mode=0o755) +
                             member("l", b"", SYM, "d") + member("l/x") + AFTER + END, 4,
                             ["good.txt", "after.txt"]),
    "link-over-folder": (GOOD + member("d", b"", DIR, mode=0o755) +
                         member("d", b"", SYM, "..") + member("d/inside") + AFTER + END, 4,
                         ["good.txt", "d/inside", "after.txt"]),
    "links-that-climb": (GOOD + member("a/b/up", b"", SYM, "../..") +
                         member("out", b"", SYM, "a/b/up/..") + member("out/escaped") + AFTER +
                         END, 4, ["good.txt", "out/escaped", "after.txt"]),
    "link-then-file": (GOOD + member("l", b"", SYM, "good.txt") + member("l", b"replaced\n") +
                       END, 0, ["good.txt", "l"]),
    "hard-link-out": (GOOD + member("h", b"", LNK, "../victim") + AFTER + END, 4,
                      ["good.txt", "after.txt"]),
    "hard-link-absolute": (GOOD + member("h", b"", LNK, "/etc/passwd") + AFTER + END, 4,
                           ["good.txt", "after.txt"]),
    "hard-link-to-link": (GOOD + member("l", b"", SYM, "good.txt") + member("h", b"", LNK, "l") +
                          AFTER + END, 4, ["good.txt", "after.txt"]),
    "hard-link": (GOOD + member("h", b"", LNK, "good.txt") + AFTER + END, 0,
                  ["good.txt", "h", "after.txt"]),
    "character-device": (GOOD + device("dev", tarfile.CHRTYPE) + AFTER + END, 4,
                         ["good.txt", "after.txt"]),
    "block-device": (GOOD + device("dev", tarfile.BLKTYPE) + AFTER + END, 4,
                     ["good.txt", "after.txt"]),
    "fifo": (GOOD + device("fifo", tarfile.FIFOTYPE) + AFTER + END, 4, ["good.txt", "after.txt"]),
    "set-id": (member("s", mode=0o6755) + member("d", b"", DIR, mode=0o7777) + END, 0, ["s"]),
    "closed-folder": (member("d", b"", DIR, mode=0o500) + member("d/x") + END, 0, ["d/x"]),
    "huge-part": (GOOD + member("n" * 300) + AFTER + END, 4, ["good.txt", "after.txt"]),
    "huge-name": (GOOD + member("/".join(["part"] * 2000)) + AFTER + END, 4,
                  ["good.txt", "after.txt"]),
    "control-bytes": (member("esc\x1b[31m\nname") + END, 0, ["esc\x1b[31m\nname"]),
    "huge-size": (GOOD + sized("big", b"77777777777\0") + END, 2, ["good.txt"]),
    "huge-size-base-256": (GOOD + sized("big", number(2**62)) + END, 2, ["good.txt"]),
    "largest-size": (GOOD + sized("big", number(2**63 - 1)) + END, 2, ["good.txt"]),
    "size-past-64-bits": (GOOD + sized("big", b"\x80" + b"\xff" * 11) + END, 2, ["good.txt"]),
    "negative-size": (GOOD + sized("big", number(-512)) + END, 2, ["good.txt"]),
    "pax-size-larger": (GOOD + member("p", pax={"size": "99999999"}) + END, 2, ["good.txt"]),
    "pax-size-negative": (GOOD + member("p", pax={"size": "-1"}) + END, 2, ["good.txt"]),
    "duplicate": (member("x", b"first\n") + member("x", b"second\n") + END, 0, ["x"]),
    "file-below-file": (GOOD + member("good.txt/x") + AFTER + END, 4, ["good.txt", "after.txt"]),
    "folder-over-file": (GOOD + member("good.txt", b"", DIR) + AFTER + END, 4,
                         ["good.txt", "after.txt"]),
    "file-over-folder": (member("d", b"", DIR, mode=0o755) + member("d") + AFTER + END, 4,
                         ["after.txt"]),
    "no-name": (GOOD + field(member("x"), 0, 1, b"\0") + AFTER + END, 4,
                ["good.txt", "after.txt"]),
    "the-folder-itself": (member("./", b"", DIR) + member("./good.txt") + END, 0, ["good.txt"]),
    "bad-checksum": (GOOD + member("x")[:148] + b"000000\0 " + member("x")[156:] + END, 2,
                     ["good.txt"]),
    "no-end": (GOOD, 2, ["good.txt"]),
    "half-an-end": (GOOD + bytes(100), 2, ["good.txt"]),
    "no-tar": (b"this is no tar at all, not even a short one\n" * 40, 1, []),
    "empty": (b"", 1, []),
    "nothing-in-it": (END, 0, []),
}


def main():
    folder = sys.argv[1]
    for name, (tar, status, files) in CASES.items():
        with open(os.path.join(folder, name + ".tar"), "wb") as f:
            f.write(tar)
        sys.stdout.write("\t".join([name, str(status)] + [x.encode().hex() for x in files]) +
                         "\n")


if __name__ == "__main__":
    main()
