"""Damages GSD files, and compares what bpk repair saves of them with the frames that they had.

    gsd_salvage.py KIND FIRST ROUNDS
    gsd_salvage.py make FILE FRAMES

KIND is the writer of the files: lib (tables in front, indexes that grow), compact (tables behind the
data), old (version 1.0), or bpk. Round FIRST and up each make a file, and one damage. What must hold:

  * no false array: a frame that is called intact, and certain, has the arrays that it had;
  * every array comes back whose entry, in the index in use, and whose data and name are intact;
  * a status of 0 means that all frames are as they were;
  * bpk verify, and the reader below, accept the result.

make writes a file as lib does, of frames with the arrays particles/position, 4 x 3 float32, and log/x,
1 x 1 uint64: the number of the frame.
"""

import json
import os
import random
import struct
import subprocess
import sys

MAGIC = 0x65DF65DF65DF65DF
SIZES = {1: 1, 2: 2, 3: 4, 4: 8, 5: 1, 6: 2, 7: 4, 8: 8, 9: 4, 10: 8, 11: 1}
BPK = os.environ.get("BPK", "bpk")


def make_frames(rng, nframes, gaps):
    """[{id: (type, columns, rows, data)}]: regular frames mostly, as simulations write them."""
    nnames = rng.randrange(1, 9)
    kinds = [(rng.choice([1, 3, 4, 7, 9, 9, 10]), rng.choice([1, 1, 3, 4])) for _ in range(nnames)]
    counts = [rng.randrange(1, 40) for _ in range(nnames)]
    omits = rng.random() < 0.3
    frames = []
    for number in range(nframes):
        frame = {}
        for name, (kind, columns) in enumerate(kinds):
            if omits and number > 0 and rng.random() < 0.4:
                continue
            rows = counts[name]
            frame[name] = (kind, columns, rows, rng.randbytes(rows * columns * SIZES[kind]))
        frames.append(frame)
    for frame in frames[-1:] if gaps else frames:
        frame or frame.update({0: (kinds[0][0], 1, 1, bytes(SIZES[kinds[0][0]]))})
    names = ["particles/position", "log/x"] + [f"name{i}" for i in range(2, nnames)]
    return frames, names[:nnames]


def entry(frame, number, location, array):
    kind, columns, rows, _ = array
    return struct.pack("<QQqIHBB", frame, rows, location, columns, number, kind, 0)


def pack_names(names, version, segments):
    if version >= 0x20000:
        return b"".join(n.encode() + b"\0" for n in names).ljust(64 * segments, b"\0")
    return b"".join(n.encode().ljust(64, b"\0") for n in names).ljust(64 * segments, b"\0")


def pack_header(index, room, names, segments, version):
    return (struct.pack("<QQQQQII", MAGIC, index, room, names, segments, 0x10004, version)
            + b"writer".ljust(64, b"\0") + b"hoomd".ljust(64, b"\0") + bytes(80))


def write_lib(frames, names, version):
    """As GSD's library: an index that is full is copied to the end, at twice the size."""
    index, room, at_names, segments = 256, 128, 4352, 16
    out = bytearray(4352) + pack_names(names, version, segments)
    used = []
    for number, frame in enumerate(frames):
        for name, array in sorted(frame.items()):
            used.append((entry(number, name, len(out), array), number, name))
            out += array[3]
        while len(used) > room:
            index, room = len(out), room * 2
            out += bytes(32 * room)
        for i, (packed, _, _) in enumerate(used):
            out[index + 32 * i:index + 32 * i + 32] = packed
    out[:256] = pack_header(index, room, at_names, segments, version)
    return out, index, used


def write_compact(frames, names, version):
    out, used = bytearray(256), []
    for number, frame in enumerate(frames):
        for name, array in sorted(frame.items()):
            used.append((entry(number, name, len(out), array), number, name))
            out += array[3]
    at_names = len(out)
    segments = (len(names) if version < 0x20000 else sum(len(n) + 1 for n in names) // 64) + 1
    out += pack_names(names, version, segments)
    index = len(out)
    room = max(len(used) + 1, len(frames))
    out += b"".join(e for e, _, _ in used).ljust(32 * room, b"\0")
    out[:256] = pack_header(index, room, at_names, segments, version)
    return out, index, used


def npy(array):
    kind, columns, rows, data = array
    letter = {1: "|u1", 3: "<u4", 4: "<u8", 7: "<i4", 9: "<f4", 10: "<f8"}[kind]
    shape = f"({rows},)" if columns == 1 else f"({rows}, {columns})"
    head = f"{{'descr': '{letter}', 'fortran_order': False, 'shape': {shape}, }}"
    head += " " * (63 - (10 + len(head)) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data


def write_bpk(frames, names, _version):
    """Frames that bpk appends one after the other: it has two indexes, which it writes in turn."""
    path = "made.gsd"
    if os.path.exists(path):
        os.remove(path)
    for frame in frames:
        words = []
        for name, array in frame.items():
            with open(f"{name}.npy", "wb") as f:
                f.write(npy(array))
            words.append(f"{names[name]}={name}.npy")
        subprocess.run([BPK, "append", "--no-sync", "--schema", "demo", path] + words, check=True)
    with open(path, "rb") as f:
        out = bytearray(f.read())
    index, = struct.unpack_from("<Q", out, 8)
    used = []
    while out[index + 32 * len(used) + 16:index + 32 * len(used) + 24] != bytes(8):
        packed = bytes(out[index + 32 * len(used):index + 32 * len(used) + 32])
        number, name = struct.unpack_from("<Q20xH", packed)
        used.append((packed, number, name))
    return out, index, used


def read(data):
    """The frames of a GSD file as {(frame, name): (type, columns, rows, bytes)}: strict."""
    magic, index, room, at_names, segments, _, version = struct.unpack_from("<QQQQQII", data)
    assert magic == MAGIC and version >> 16 in (1, 2), "header"
    block = data[at_names:at_names + 64 * segments]
    assert len(block) == 64 * segments and block[-1] == 0, "names"
    if version >= 0x20000:
        names = block.split(b"\0\0")[0].rstrip(b"\0").split(b"\0")
    else:
        names = [block[i:i + 64].rstrip(b"\0") for i in range(0, len(block), 64)]
        names = names[:names.index(b"")]
    found, before = {}, (-1, -1)
    for i in range(room):
        frame, rows, at, columns, name, kind, flags = struct.unpack_from("<QQqIHBB", data, index + 32 * i)
        if at == 0:
            break
        size = rows * columns * SIZES[kind]
        assert (frame, name) > before and frame < room and flags == 0, f"entry {i}"
        assert at >= 256 and at + size <= len(data), f"data of entry {i}"
        before = frame, name
        found[frame, names[name].decode()] = kind, columns, rows, bytes(data[at:at + size])
    return found


def damage(rng, data, index, used):
    """Returns a word for what was done, and the entries that are lost by it."""
    how = rng.choice(["head", "head bit", "front", "slot bit", "slot bit", "slot", "sector", "index",
                      "cut", "cut", "names", "torn", "head and slot", "moved", "copied", "swapped",
                      "name bit"])
    hit = set()
    gone = []

    def spoil(at, size, random_bytes):
        data[at:at + size] = rng.randbytes(size) if random_bytes else bytes(size)
        gone.append((at, at + size))
        hit.update(i for i in range(len(used)) if at < index + 32 * i + 32 and index + 32 * i < at + size)

    garbage = rng.random() < 0.5
    if how == "head":
        spoil(0, 256, garbage)
    elif how == "head bit":
        at = rng.randrange(48)
        data[at] ^= 1 << rng.randrange(8)
    elif how == "front":
        spoil(0, rng.choice([512, 1024, 4096]), garbage)
    elif how == "slot bit":
        i = rng.randrange(len(used))
        byte = rng.randrange(32)
        data[index + 32 * i + byte] ^= 1 << rng.randrange(8)
        how = "slot name" if byte < 8 or byte in (28, 29) else how
        hit.add(i)
    elif how in ("slot", "head and slot"):
        spoil(index + 32 * rng.randrange(len(used)), 32, garbage)
        if how != "slot":
            spoil(0, 256, garbage)
    elif how == "sector":
        at = index + 32 * rng.randrange(len(used))
        spoil(at - at % 512, 512, garbage)
    elif how == "index":
        spoil(index, 32 * len(used), garbage)
    elif how == "cut":
        del data[rng.randrange(300, len(data)):]
    elif how == "names":
        at, = struct.unpack_from("<Q", data, 24)
        spoil(at + rng.randrange(2) * 7, 40, garbage)
    elif how == "torn":
        i = len(used) - 1
        data[index + 32 * i + 16:index + 32 * i + 32] = bytes(16)
        hit.add(i)
    elif how == "moved":
        at = rng.randrange(256, len(data))
        size = rng.choice([1, 8, 16, 40])  # slots that came before an index would not show
        if rng.random() < 0.5:
            del data[at:at + size]
        else:
            data[at:at] = rng.randbytes(size)
        gone.append((at, 1 << 62))
        hit.update(range(len(used)))
    elif how == "copied":
        size = rng.choice([32, 64, 512])
        at = index + 32 * rng.randrange(len(used))
        to = index + 32 * rng.randrange(len(used))
        part = data[at:at + size]
        spoil(to, len(part), False)
        data[to:to + len(part)] = part
        hit.update(i for i in range(len(used)) if index + 32 * i in range(at - 31, at + size))
    elif how == "swapped":
        i = rng.randrange(max(1, len(used) - 1))
        j = min(len(used) - 1, i + rng.choice([1, 1, 2, 8]))
        a, b = index + 32 * i, index + 32 * j
        data[a:a + 32], data[b:b + 32] = data[b:b + 32], data[a:a + 32]
        hit.update((i, j))
    elif how == "name bit":
        at, = struct.unpack_from("<Q", data, 24)
        data[at + rng.randrange(40)] ^= 1 << rng.randrange(8)
        gone.append((at, at + 40))
    return how, hit, gone


def repair(*words):
    result = subprocess.run([BPK, "repair"] + list(words), capture_output=True)
    assert result.returncode in (0, 1, 2, 3), (result.returncode, result.stderr)
    return result.returncode, result.stdout, result.stderr.decode()


def frames_of(runs):
    return {run["frame"] + i for run in runs for i in range(run["nframes"])}


def rotten_arrays(used, names, gone):
    """(frame, name) of the arrays with damaged data, which nobody can tell."""
    for packed, frame, name in used:
        rows, at, columns, _, kind = struct.unpack_from("<8xQqIHB", packed)
        if any(a < at + rows * columns * SIZES[kind] and at < b for a, b in gone):
            yield frame, names[name]


def saved_entries(data, index, used, hit, gone):
    """(frame, id) of the entries whose bytes are still in the index in use, with all of their data."""
    for i, (packed, frame, name) in enumerate(used):
        rows, at, columns, _, kind = struct.unpack_from("<8xQqIHB", packed)
        if (i not in hit and data[index + 32 * i:index + 32 * i + 32] == packed
                and at + rows * columns * SIZES[kind] <= len(data)
                and not any(a < at + rows * columns * SIZES[kind] and at < b for a, b in gone)):
            yield frame, name


def check(number, how, data, index, used, hit, gone, whole, names, at_names):
    with open("damaged.gsd", "wb") as f:
        f.write(data)
    for old in ("out.gsd", "skip.gsd"):
        if os.path.exists(old):
            os.remove(old)
    verdict = subprocess.run([BPK, "verify", "damaged.gsd"], capture_output=True).returncode
    if verdict == 0:
        return "passed"
    status, text, lines = repair("--json", "--apply", "--fill", "zero", "-o", "out.gsd", "damaged.gsd")
    if not os.path.exists("out.gsd"):
        assert status != 0 and lines, f"{how}: status {status} without a file"
        assert not list(saved_entries(data, index, used, hit, gone)) or how == "cut", f"{how}: {lines}"
        return "refused"
    with open("out.gsd", "rb") as f:
        got = read(f.read())
    after = subprocess.run([BPK, "verify", "out.gsd"], capture_output=True)
    assert after.returncode == 0, f"{how}: {after.stderr}"
    record = json.loads(text)
    written = dict(got)
    for key in rotten_arrays(used, names, gone):
        if key in got:
            got[key] = whole[key]
    sure = frames_of(record["good"]) if record["certain"] else set()
    assert how != "moved" or status == 2, f"moved: status {status}"
    moved = how == "moved" and any(written[k] != whole.get(k) for k in written)
    assert not moved or not record["certain"], f"moved: certain: {lines}"
    clean = {k: v for k, v in got.items() if not k[1].startswith("lost/")}
    false = {k for k in clean if whole.get(k) != clean[k]}
    wrong = {k for k in false if k[0] not in frames_of(record["lost"]) | frames_of(record["unproven"])}
    assert not wrong or not record["certain"], f"{how}: false {sorted(wrong)[:3]}: {lines}"
    for frame in sure:
        assert ({k: v for k, v in got.items() if k[0] == frame}
                == {k: v for k, v in whole.items() if k[0] == frame}), f"{how}: frame {frame} differs: {lines}"
    if status == 0:
        assert got == whole, f"{how}: status 0"
    named = set(k[1] for k in clean)
    excused = False
    lacks_names = how in ("cut", "head bit") or (how == "head and slot" and at_names != 4352) or any(a < at_names + 1024 and at_names < b for a, b in gone)
    for frame, name in saved_entries(data, index, used, hit, gone):
        if how in ("copied", "swapped", "name bit"):
            break  # of entries out of order too many may be dropped, and names may be joined
        if names[name] not in named and lacks_names:
            continue
        key = frame, names[name]
        if how == "slot name" and got.get(key) != whole[key] and not excused:
            excused = True  # two entries have one name then, and either may be the true one
            continue
        assert got.get(key) == whole[key], f"{how}: {key} does not come back: {lines}"
    if record["nlost"] < record["nframes"] and 0 not in frames_of(record["lost"]):
        again, _, lines = repair("--apply", "--fill", "skip", "-o", "skip.gsd", "damaged.gsd")
        assert again == status, (again, status, lines)
        with open("skip.gsd", "rb") as f:
            skipped = read(f.read())
        left = [n for n in range(record["nframes"]) if n not in frames_of(record["lost"])]
        assert skipped == {(left.index(k[0]), k[1]): v for k, v in written.items() if k[0] in left}, f"{how}: skip"
    if wrong or false:
        return "doubted"
    return "lost" if record["nlost"] else "certain" if record["certain"] else "whole"


def main(kind, first, rounds):
    tally = {}
    for number in range(int(first), int(first) + int(rounds)):
        rng = random.Random(f"{kind}{number}")
        frames, names = make_frames(rng, rng.choice([1, 2, 5, 12]) if kind == "bpk" else rng.randrange(1, 60), kind != "bpk")
        version = 0x10000 if kind == "old" else 0x20000
        write = {"lib": write_lib, "old": write_lib, "compact": write_compact, "bpk": write_bpk}[kind]
        data, index, used = write(frames, names, version)
        if kind == "bpk":
            names = bytes(data[4352:5376]).split(b"\0\0")[0].decode().split("\0")
        whole = read(data)
        at_names, = struct.unpack_from("<Q", data, 24)
        how, hit, gone = damage(rng, data, index, used)
        try:
            what = check(number, how, data, index, used, hit, gone, whole, names, at_names)
        except AssertionError as why:
            sys.exit(f"round {number} of {kind}: {why}")
        tally[how, what] = tally.get((how, what), 0) + 1
    for (how, what), count in sorted(tally.items()):
        print(f"{how:14} {what:8} {count}")


def make(path, nframes):
    frames = [{0: (9, 3, 4, struct.pack("<12f", *[n + i / 8 for i in range(12)])),
               1: (4, 1, 1, struct.pack("<Q", n))} for n in range(int(nframes))]
    with open(path, "wb") as f:
        f.write(write_lib(frames, ["particles/position", "log/x"], 0x20000)[0])


if sys.argv[1] == "make":
    make(*sys.argv[2:])
else:
    main(*sys.argv[1:])
