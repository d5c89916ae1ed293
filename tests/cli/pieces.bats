load lib

# Chunks of more than 4 MiB are unpacked and verified in pieces, by all threads, in little memory.

setup_file() {
    cd "$BATS_FILE_TMPDIR"
    "$BPK_MAKE_DATA" field-f64 12000000 >a
    { cat a && printf x; } >odd
}

same_bytes() {
    local from=$1 to=$2
    for threads in 1 2 8; do
        bpk cat -T $threads "$3" | cmp - "$BATS_FILE_TMPDIR/$4"
        bpk cat -T $threads --bytes "$from:$to" "$3" >part
        tail -c +$((from + 1)) "$BATS_FILE_TMPDIR/$4" | head -c $((to - from)) | cmp - part
        bpk unpack -f -T $threads -o b "$3"
        cmp b "$BATS_FILE_TMPDIR/$4"
        bpk verify -T $threads "$3"
    done
}

@test "pieces: the same bytes, whatever the blocks and filters" {
    for format in blp b2frame; do
        for how in "-z 16M" "-z 9M" "-z 9M --block-size 5M" "-z 16M --filter bitshuffle" \
            "-z 8M --codec lz4 --filter none" "-z 9M -0" "-z 16M --block-size 333"; do
            sampled 3 || continue
            # shellcheck disable=SC2086 # words
            bpk pack -q -f -F $format -t 8 $how -o x "$BATS_FILE_TMPDIR/odd"
            same_bytes 1048575 9500001 x odd
        done
    done
    bpk pack -f -F b2frame -t 8 -z 16M --filter delta,shuffle -o x "$BATS_FILE_TMPDIR/a"
    same_bytes 4000001 12000000 x a
    bpk pack -f -F b2frame -t 8 -z 16M --predict --dtype '<f8' -o x "$BATS_FILE_TMPDIR/a"
    same_bytes 1 11999999 x a
}

# Blocks of a chunk of more than 4 MiB are packed by all threads, if there are fewer chunks than threads.
@test "pieces: one large chunk is packed to the same bytes by any number of threads" {
    ln -s "$BATS_FILE_TMPDIR/a" a
    for how in "-F blp" "-F blp --codec lz4 --filter bitshuffle" "-F b2frame" "-F b2frame -0" \
        "-F b2frame --filter delta,shuffle" "-F b2frame --dictionary -z 5M" \
        "-F b2frame --predict --dtype <f8" "-F blp --codec zlib -z 5M --compare"; do
        sampled 2 || continue
        # shellcheck disable=SC2086 # words
        bpk pack -f -T 1 -z 16M -t 8 $how -o one a
        for threads in 2 4; do
            # shellcheck disable=SC2086 # words
            bpk pack -f -T $threads -z 16M -t 8 $how -o x a
            cmp x one
            # shellcheck disable=SC2086 # words
            bpk pack -f -T $threads -z 16M -t 8 $how -o x - <a
            bpk cat x | cmp - a
        done
        bpk verify -T 4 x
    done
}

@test "pieces: directories, pipes and tars" {
    ln -s "$BATS_FILE_TMPDIR/a" a
    bpk pack -F chunked -z 9M -o d a
    same_bytes 1048575 9500001 d a
    bpk pack -z 9M -o x a
    bpk cat - <x | cmp - a
    # shellcheck disable=SC2002 # a pipe
    cat x | bpk cat - | cmp - a
    cat x x >both.blp
    bpk cat both.blp | cmp - <(cat a a)
    bpk tar --raw -o - d | tar -xOf - | cmp - a
}

@test "pieces: memory does not follow the size of chunks" {
    need_plain_build
    yes 'all work and no play' | head -c 100000000 >a
    bpk pack -z 100M -o x a
    for command in "cat -T 2 x" "cat -T 2 --bytes 5M:90M x" "unpack -T 2 -f -o b x" \
        "tar --raw -T 2 -o - x"; do
        # shellcheck disable=SC2086 # words
        "$BPK_PEAK" peak "$BPK" $command >"$out"
        [ "$(cat peak)" -lt 40000 ] || die "$(cat peak) KiB: $command"
    done
}

@test "pieces: a constant is converted into common chunks" {
    need_plain_build
    head -c 100000000 /dev/zero >a
    bpk pack -F b2frame -z 100M -o x a
    "$BPK_PEAK" peak "$BPK" convert x b.blp
    [ "$(cat peak)" -lt 64000 ] || die "$(cat peak) KiB"
    bpk cat b.blp | cmp - a
}

@test "pieces: the first damage is reported, and nothing kept" {
    seq 2000000 >a
    for format in blp b2frame; do
        bpk pack -f -F $format -z 12M --filter none --codec zlib -o x a
        size=$(stat -c %s x)
        for at in $((size / 3)) $((size / 2)); do
            head -c 4000 /dev/zero | tr '\0' '\377' | dd of=x bs=1 seek="$at" conv=notrunc status=none
        done
        ends 2 bpk cat -T 1 --no-check x
        cp "$err" first
        sed 's/; bpk verify x shows .*$//' first >bare
        for threads in 1 2 8; do
            ends 2 bpk cat -T $threads --no-check x
            cmp "$err" first
            ends 2 bpk unpack -T $threads --no-check -o b x
            [ ! -e b ]
            sed 's/; bpk repair x shows which data are left$//' "$err" | cmp - bare
        done
    done
}

# What lies inside is looked at piece by piece, too, so that an archive which packs well is not taken
# for one that claims too much.
@test "pieces: info looks inside large chunks that pack well" {
    need_plain_build
    need_python
    "$python" - a.trr <<'EOF'
import struct, sys
n = 3000
frame = struct.pack(">iii12s", 1993, 13, 12, b"GMX_trn_file") + struct.pack(
    ">10i", 0, 0, 0, 0, 0, 0, 0, 12 * n, 0, 0) + struct.pack(">iiiff", n, 0, 0, 0, 0) + bytes(12 * n)
with open(sys.argv[1], "wb") as file:
    for _ in range(2000):
        file.write(frame)
EOF
    for format in blp b2frame; do
        bpk pack -f -F $format -z 64M -o x a.trr
        "$BPK_PEAK" peak "$BPK" info -v x >"$out"
        grep -q "frames  *2000" "$out" || die "$(cat "$out")"
        [ "$(cat peak)" -lt 40000 ] || die "$(cat peak) KiB"
        bpk cat --name x --frames 1999: x >frame
    done
}

# Equal chunks that follow each other are unpacked as one.
@test "pieces: chunks that repeat, in every order and size" {
    need_python
    "$python" - "$tests/lib" <<'EOF'
import random, sys
sys.path.insert(0, sys.argv[1])
from bombs import *
r = random.Random(3)
for number in range(10):
    size = r.choice([1, 3, 8, 1000, 70000])
    raws = [bytes(r.randrange(256) for _ in range(size)) for _ in range(2)] + [bytes(size)]
    chunks = [stored(raw) for raw in raws[:2]]
    order = [0]
    while len(order) < 400:
        order += [r.randrange(3)] * r.choice([1, 1, 2, 5, 60])
    claimed = r.choice([size, size, 0])
    order = [i if claimed else i % 2 for i in order] # zeros have no size there
    end = b"the end"[:size] if claimed else raws[0]
    last = stored(end)
    places = [0, len(chunks[0]), ZERO]
    index = entries([places[i] for i in order] + [len(chunks[0]) + len(chunks[1])])
    raw = b"".join(raws[i] for i in order) + end
    with open("%d.b2frame" % number, "wb") as file:
        file.write(frame(b"".join(chunks) + last, zlib_chunk(index, 8), len(raw), claimed))
    with open("%d.raw" % number, "wb") as file:
        file.write(raw)
EOF
    for number in {0..9}; do
        half=$(($(stat -c %s $number.raw) / 2))
        mv $number.raw raw
        for threads in 1 2 5; do
            bpk cat -T $threads $number.b2frame | cmp - raw
            bpk cat -T $threads --memory-limit 5M $number.b2frame | cmp - raw
            bpk cat -T $threads --bytes "2:$half" $number.b2frame |
                cmp - <(head -c "$half" raw | tail -c +3)
            bpk unpack -T $threads -f -o b $number.b2frame
            cmp b raw
            bpk verify -T $threads $number.b2frame
        done
        bpk cat - <$number.b2frame | cmp - raw
        # shellcheck disable=SC2002 # a pipe
        cat $number.b2frame | bpk cat - | cmp - raw
        bpk tar --raw -o - $number.b2frame | tar -xOf - | cmp - raw
        cat $number.b2frame $number.b2frame >both.b2frame
        bpk cat both.b2frame | cmp - <(cat raw raw)
        for to in c.b2frame c.blp; do
            bpk convert -f $number.b2frame $to
            bpk cat $to | cmp - raw
        done
    done
}

# What cannot be unpacked in parts follows the size of its archive, unless the user sets a limit.
@test "pieces: predicted chunks, blocks of many sizes and blocks of arrays in a small archive" {
    need_plain_build
    need_python
    "$python" - "$tests/lib" <<'EOF'
import sys
sys.path.insert(0, sys.argv[1])
from bombs import *
def array(block, chunk=b"", rows=4000):
    index = stored(entries([0]), 8) if chunk else uniform_index(1, ZERO)
    layer = array_layer((rows, 4000), block)[0]
    return frame(chunk, index, 16000 * rows, 16000 * rows, 4, fixed=[(b"b2nd", layer)])
size = 60 * MIB
made = {
    "predicted": frame(predicted(size, size), stored(entries([0]), 8), size, size, 4),
    "variable": frame(variable([6 * MIB] * 10, zstd_zeros), stored(entries([0]), 8), size, size, flags=0xd2),
    "array": array((4000, 4000), streams(64000000, 64000000, zstd_zeros, typesize=4)),
    "bent": array((4000, 40), predicted(64000000, 64000000)),
    "zeros": array((40, 40)),
    "wide": array((4000, 4000)),
    "narrow": array((4000, 1)),
}
for name, content in made.items():
    with open(name + ".b2frame", "wb") as file:
        file.write(content)
EOF
    for name in predicted variable array bent; do
        for command in cat "cat -T 16" "unpack -c" "tar --raw -o -"; do
            # shellcheck disable=SC2086 # words
            ends 1 bpk $command $name.b2frame
            grep -q "memory at once" "$err"
            [ "$(wc -l <"$err")" = 1 ]
        done
        bpk cat --memory-limit 1G $name.b2frame >raw
        cmp -n "$(stat -c %s raw)" raw /dev/zero
        [ "$(stat -c %s raw)" -gt 60000000 ]
    done
    for name in zeros wide narrow; do
        "$BPK_PEAK" peak "$BPK" cat -T 16 $name.b2frame >raw
        cmp -n 64000000 raw /dev/zero
        [ "$(cat peak)" -lt 64000 ] || die "$(cat peak) KiB: $name"
    done
}
