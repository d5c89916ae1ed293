"""Restores a file or a directory by its parity file, as bpk-formats(5) describes it; shares no line with bpk.

parity_reader.py FILE.bpp FILE OUT: prints the number of cells that were restored.
"""
import hashlib
import os
import struct
import sys

HEAD, PAGE, PAYLOAD, POLYNOMIAL = 512, 1024, 1008, 0x11D

exponents, logarithms = [0] * 512, [0] * 256
number = 1
for power in range(255):
    exponents[power] = exponents[power + 255] = number
    logarithms[number] = power
    number = (number << 1) ^ (POLYNOMIAL if number & 0x80 else 0)


def times(a, b):
    return exponents[logarithms[a] + logarithms[b]] if a and b else 0


def inverse(a):
    return exponents[255 - logarithms[a]]


def factor(parity, row):
    return inverse(row ^ (255 - parity))


def scaled(cell, by):
    return cell.translate(bytes(times(value, by) for value in range(256)))


def plus(a, b):
    return (int.from_bytes(a, "little") ^ int.from_bytes(b, "little")).to_bytes(len(a), "little")


def digest(data):
    return hashlib.sha256(data).digest()[:16]


def find_head(side):
    for head in side[:HEAD], side[-HEAD:]:
        if head[:8] == b"bpkparit" and hashlib.sha256(head[:480]).digest() == head[480:]:
            return struct.unpack("<IIQQQQ", head[8:48]) + struct.unpack("<Q", head[64:72])
    sys.exit("no head")


def read_tables(side, size, parity_size):
    pages = -(-size // PAYLOAD)
    tables = b""
    for page in range(pages):
        for start in HEAD, HEAD + pages * PAGE + parity_size:
            copy = side[start + page * PAGE : start + (page + 1) * PAGE]
            if digest(copy[:PAYLOAD] + struct.pack("<Q", page)) == copy[PAYLOAD:]:
                tables += copy[:PAYLOAD]
                break
        else:
            sys.exit("no page %d" % page)
    return tables[:size], HEAD + pages * PAGE


def solve(matrix, values):
    """Gauss over cells."""
    n = len(values)
    for column in range(n):
        pivot = next(row for row in range(column, n) if matrix[row][column])
        matrix[column], matrix[pivot] = matrix[pivot], matrix[column]
        values[column], values[pivot] = values[pivot], values[column]
        by = inverse(matrix[column][column])
        matrix[column] = [times(x, by) for x in matrix[column]]
        values[column] = scaled(values[column], by)
        for row in range(n):
            by = matrix[row][column]
            if row != column and by:
                matrix[row] = [x ^ times(y, by) for x, y in zip(matrix[row], matrix[column])]
                values[row] = plus(values[row], scaled(values[column], by))
    return values


def restore_group(data, parity, bad, good):
    """data: cells by row; bad: rows; good: numbers of parity cells that may be used."""
    used = good[: len(bad)]
    if len(used) < len(bad):
        sys.exit("lost")
    values = []
    for j in used:
        value = parity[j]
        for row, cell in enumerate(data):
            if row not in bad:
                value = plus(value, scaled(cell, factor(j, row)))
        values.append(value)
    return solve([[factor(j, row) for row in bad] for j in used], values)


def read_list(listed):
    """Names, extents and sizes of the files of a directory."""
    files, at = [], 0
    while at < len(listed):
        room, size, seconds, nanoseconds, name_size = struct.unpack_from("<QQqII", listed, at)
        files.append((listed[at + 32 : at + 32 + name_size].decode(), room, size))
        at += 32 + name_size
    return files


def read_file(name, size):
    try:
        data = open(name, "rb").read()[:size]
    except OSError:
        data = b""
    return data.ljust(size, b"\0")


def read_archive(name, size, files):
    if not os.path.isdir(name):
        return read_file(name, size)
    return b"".join((read_file(os.path.join(name, file), length) if file else b"").ljust(room, b"\0")
                    for file, room, length in files)


def write_archive(name, data, files):
    if not files:
        open(name, "wb").write(data)
        return
    at = 0
    for file, room, length in files:
        if file:
            path = os.path.join(name, file)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            open(path, "wb").write(data[at : at + length])
        at += room


def main(side_name, name, out_name):
    side = open(side_name, "rb").read()
    version, share, size, nsegments, tables_size, parity_size, list_size = find_head(side)
    tables, parity_at = read_tables(side, tables_size, parity_size)
    files = read_list(tables[tables_size - list_size :]) if version == 2 else []
    data = read_archive(name, size, files)
    digests_at, start, restored = 24 * nsegments, 0, 0
    out = bytearray(data[:size].ljust(size, b"\0"))
    for segment in range(nsegments):
        length, groups, cell, m = struct.unpack_from("<QQII", tables, 24 * segment)
        ncells = -(-length // cell)
        sums = [tables[digests_at + 16 * i :][:16] for i in range(ncells + groups * m)]
        cells = [bytes(out[start + i * cell : start + min((i + 1) * cell, length)]) for i in range(ncells)]
        stored = [side[parity_at + i * cell :][:cell] for i in range(groups * m)]
        for group in range(groups):
            rows = range(group, ncells, groups)
            bad = [row for row, i in enumerate(rows) if digest(cells[i]) != sums[i]]
            good = [j for j in range(m) if digest(stored[j * groups + group]) == sums[ncells + j * groups + group]]
            if not bad:
                continue
            new = restore_group([cells[i].ljust(cell, b"\0") for i in rows],
                                {j: stored[j * groups + group] for j in good}, bad, good)
            for row, whole in zip(bad, new):
                i = rows[row]
                whole = whole[: len(cells[i])]
                assert digest(whole) == sums[i]
                out[start + i * cell : start + i * cell + len(whole)] = whole
                restored += 1
        digests_at += 16 * (ncells + groups * m)
        parity_at += groups * m * cell
        start += length
    write_archive(out_name, out, files)
    print(restored)


main(*sys.argv[1:])
