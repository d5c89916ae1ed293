"""KIND FIRST COUNT IN DIR: manipulate the signature IN.sig COUNT times, into DIR/N.sig beside a copy DIR/N of the archive
IN, N from FIRST on. OTHER names another archive with a signature by the same key. "none" changes nothing."""
import base64, os, random, shutil, sys

kind, first, count, source, target = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], sys.argv[5]
BEGIN, END = b"-----BEGIN SSH SIGNATURE-----\n", b"-----END SSH SIGNATURE-----\n"


def split(data):
    at = data.index(END) + len(END)
    return base64.b64decode(data[len(BEGIN):at - len(END)]), data[at:]


def join(blob, text):
    code = base64.b64encode(blob)
    return BEGIN + b"".join(code[i:i + 70] + b"\n" for i in range(0, len(code), 70)) + END + text


def field(text, rng):  # format, generation or root of the text
    lines = text.split(b"\n")
    at = rng.randrange(1, 4)
    name, value = lines[at].split(b" ")
    if at == 1:
        value = rng.choice([f for f in (b"blp", b"b2frame", b"b2sparse", b"chunked") if f != value])
    elif at == 2:
        value = b"%d" % (int(value) + rng.randrange(1, 99))
    else:
        i = rng.randrange(64)
        value = value[:i] + rng.choice([c for c in "0123456789abcdef" if c != chr(value[i])]).encode() + value[i + 1:]
    lines[at] = name + b" " + value
    return b"\n".join(lines)


def change(data, rng):
    blob, text = split(data)
    if kind == "none":
        return join(blob, text)
    if kind == "bit":
        i = rng.randrange(len(blob))
        return join(blob[:i] + bytes([blob[i] ^ 1 << rng.randrange(8)]) + blob[i + 1:], text)
    if kind == "field":
        return join(blob, field(text, rng))
    if kind == "spell":  # the text, but for white space and case
        i = rng.randrange(len(text))
        new = rng.choice([text[:i] + b" " + text[i:], text[:i] + b"\n" + text[i:], text[:i] + text[i + 1:], text + text])
        return join(blob, new)
    if kind == "other":
        theirs = split(open(os.environ["OTHER"] + ".sig", "rb").read())
        return join(*rng.choice([(theirs[0], text), (blob, theirs[1]), theirs]))
    if kind == "cut":
        return data[:rng.randrange(len(data))]
    raise SystemExit("no such kind")


os.makedirs(target)
whole = open(source + ".sig", "rb").read()
for seed in range(first, first + count):
    copy = os.path.join(target, "%d" % seed)
    shutil.copytree(source, copy) if os.path.isdir(source) else shutil.copy(source, copy)
    open(copy + ".sig", "wb").write(change(whole, random.Random(seed)))
