"""Leftovers of a writer beside an archive: an undo journal, or a list of changes.

    journal.py journal OUT FILE [KEY=VALUE]... [OFFSET:TEXT]...
    journal.py list OUT DIR [KEY=VALUE]... [-NAME | +DRAFT:NAME]...

Both are valid for FILE or DIR, unless a KEY changes that: version, device, inode, born; for a
journal also size (the old one of the file), samples (all, none or some), crc (wrong: that of the
last record is), mark (no: without it) and start (no: without it).
"""
import os
import struct
import sys
import zlib

FIRST, LATER, COUNT = 512, 64, 15


def record(kind, position, offset, payload, wrong=False):
    crc = zlib.crc32(payload) ^ wrong
    head = b"bpkr" + struct.pack("<IQQQI", kind, position, offset, len(payload), crc)
    return head + struct.pack("<I", zlib.crc32(head)) + payload


def samples(data, size):
    yield data[: min(size, FIRST)]
    distance = size // (COUNT + 1)
    if distance >= FIRST:
        for i in range(1, COUNT + 1):
            yield data[i * distance : i * distance + LATER]


def journal(path, keys, changes):
    with open(path, "rb") as file:
        data = file.read()
    found = os.stat(path)
    size = int(keys.get("size", len(data)))
    known = list(samples(data.ljust(size, b"\0"), size))
    known = {"all": known, "none": [], "some": known[1:]}[keys.get("samples", "all")]
    version = int(keys.get("version", 3))
    numbers = [int(keys.get("device", found.st_dev)), int(keys.get("inode", found.st_ino))]
    if version > 1:
        numbers += [int(keys.get("born", 0)), 0, 0]
    start = struct.pack("<II%dQ" % len(numbers), version, 0, *numbers)
    out = b"" if keys.get("start") == "no" else record(1, 0, size, start + b"".join(known))
    for i, (offset, text) in enumerate(changes):
        wrong = keys.get("crc") == "wrong" and i + 1 == len(changes)
        out += record(2, len(out), offset, text)
        out += record(3, len(out), offset, data[offset : offset + len(text)], wrong)
    return out if keys.get("mark") == "no" else out + record(4, len(out), 0, b"")


def changes_of(path, keys, changes):
    found = os.stat(path)
    version = keys.get("version", "3")
    lines = ["bpk changes %s\t%d" % (version, len(changes))]
    values = keys.get("device", found.st_dev), keys.get("inode", found.st_ino), keys.get("born", 0)
    if version != "1":
        lines.append("root\t%s\t%s\t%s" % values)
    for change in changes:
        names = change[1:].split(":")
        states = []
        if len(names) == 2:
            draft = os.stat(os.path.join(path, names[0]))
            new = [draft.st_ino, draft.st_size, draft.st_mtime_ns]
            states += new if version > "2" else new[1:2]
        if version > "2":
            name = os.path.join(path, names[-1])
            old = os.stat(name) if os.path.exists(name) else None
            states += [old.st_ino, old.st_ctime_ns] if old else [0, 0]
        lines.append("\t".join([change[0]] + [str(state) for state in states] + names))
    text = ("\n".join(lines) + "\n").encode()
    return text + b"crc32\t%08x\n" % (zlib.crc32(text) ^ (keys.get("crc") == "wrong"))


def main():
    what, out, path = sys.argv[1:4]
    keys = dict(word.split("=", 1) for word in sys.argv[4:] if "=" in word)
    rest = [word for word in sys.argv[4:] if "=" not in word]
    if what == "journal":
        pairs = [word.split(":", 1) for word in rest]
        made = journal(path, keys, [(int(offset), text.encode()) for offset, text in pairs])
    else:
        made = changes_of(path, keys, rest)
    with open(out, "wb") as file:
        file.write(made)


main()
