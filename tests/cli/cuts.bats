load lib

# Frames of arrays of three element sizes, each too large to be merged with its neighbours.
make_gsd() {
    need_python
    "$python" "$tests/lib/gsd_mix.py" mix.gsd "${1:-4}" a=f4:75000 b=f8:37500 c=u1:300000 step=u8:1
}

# ARCHIVE [OPTION]...: raw size and element size of each chunk.
chunks() { bpk info -vv "$1" | awk '/^ +Chunk /{ on = 1; next } on { print $5, $7 }'; }

# Sizes of chunks that the metadata of an archive list, as they stand there.
listed() { "$python" -c 'import struct, sys, zlib
data = open(sys.argv[1], "rb").read()
assert data[5] & 2, "no metadata"
codec, size = data[32 + 10], struct.unpack_from("<I", data, 32 + 20)[0]
text = data[64:64 + size]
print((zlib.decompress(text) if codec else text).decode())' "$1"; }

@test "a simulation file is cut along its arrays, and comes back bit for bit" {
    make_gsd
    for threads in 1 2 8; do
        bpk pack -f -T $threads -o $threads.blp mix.gsd
        bpk unpack -f -T $threads -o back $threads.blp
        same back mix.gsd
        same 1.blp $threads.blp
        quietly bpk verify $threads.blp
    done
    [ "$(chunks 1.blp | wc -l)" -eq 12 ]
    [ "$(chunks 1.blp | awk '$2 == 1' | wc -l)" -eq 4 ] || die "$(chunks 1.blp)"
    [ "$(chunks 1.blp | awk '$2 % 4 == 0' | wc -l)" -eq 8 ] || die "$(chunks 1.blp)"
    bpk pack --plain -o plain.blp mix.gsd
    [ "$(stat -c %s 1.blp)" -lt "$(stat -c %s plain.blp)" ]
    bpk pack -o - mix.gsd >piped.blp
    bpk unpack <piped.blp | cmp - mix.gsd
    bpk pack --compare --slack 10% -f -o slack.blp mix.gsd
    bpk cat slack.blp | cmp - mix.gsd
}

@test "info tells how the arrays of a name are packed" {
    make_gsd
    bpk pack mix.gsd
    bpk info -v mix.gsd.blp >told
    grep -Eq ' Packed as +Name$' told
    grep -Eq ' shuffle (4|12) +a$| bitshuffle (4|12) +a$' told || die "$(cat told)"
    bpk info -v mix.gsd | grep -q 'Packed as' && false
    bpk info --json mix.gsd.blp >record
    "$python" -c 'import json
for x in json.load(open("record"))["names"][:3]:
    assert x["codec"] == "zstd" and x["filter"], x
    assert x["typesize"] in {"a": (4, 12), "b": (8,), "c": (1,)}[x["name"]], x'
    bpk info --json mix.gsd | grep -q '"typesize":null}'
}

@test "where all chunks are as large each gets the element size that suits it" {
    make_gsd 8
    data text 500000 more
    for format in "${editable[@]}"; do
        make_archive $format mix.gsd -z 128K
        holds mix.gsd
        [ -d "$archive" ] || bpk append "$archive" more
        [ -d "$archive" ] || holds mix.gsd more
    done
    bpk pack -z 128K -o a.blp mix.gsd
    [ "$(chunks a.blp | cut -d ' ' -f 2 | sort -u | wc -l)" -gt 1 ] || die "$(chunks a.blp)"
}

@test "python bloscpack unpacks what is cut along arrays" {
    need_bloscpack
    make_gsd
    need_blosc
    data text 500000 more
    bpk pack -o mix.blp mix.gsd
    bpk pack --metadata <(echo '{"a": 1}') -o meta.blp mix.gsd
    cp meta.blp longer.blp
    bpk append longer.blp more
    cat mix.gsd more >all
    bloscpack compare mix.blp mix.gsd meta.blp mix.gsd longer.blp all
}

@test "what the user fixes makes all chunks alike" {
    make_gsd
    for option in --plain '-z 256K' '-t 4' '--block-size 64K' '--dtype u1'; do
        bpk pack -f $option -o a.blp mix.gsd
        [ "$(chunks a.blp | sed '$d' | cut -d ' ' -f 1 | uniq | wc -l)" -eq 1 ] || die "$option: $(chunks a.blp)"
        bpk cat a.blp | cmp - mix.gsd
    done
    bpk pack -f --filter shuffle -o a.blp mix.gsd
    [ "$(bpk info -vv a.blp | grep -c ' shuffle ')" -ge 8 ]
}

@test "the sizes of chunks stand in the metadata, where users do not see them" {
    make_gsd
    bpk pack -o mix.blp mix.gsd
    [ "$(listed mix.blp)" = '{"bpk_chunks":[[1,300256],[1,300000],[3,300008,300000,300000]]}' ] ||
        die "$(listed mix.blp)"
    refuses 1 'metadata' bpk meta get mix.blp
    for text in '{"b": [1, 2.50]}' '{}' ' { } ' '[1,2]' '"x"'; do
        echo "$text" >text
        bpk pack -f --metadata text -o a.blp mix.gsd
        bpk meta get a.blp | cmp - text || die "$text"
        bpk convert a.blp a.blpd
        bpk cat a.blpd | cmp - mix.gsd
        bpk info --json a.blp | grep -q '"chunk_size":null'
        rm -r a.blpd
    done
    bpk meta set mix.blp 'k=[1,2]'
    [ "$(bpk meta get mix.blp)" = '{"k": [1,2]}' ] || die "$(bpk meta get mix.blp)"
    [[ $(listed mix.blp) == '{"k": [1,2],"bpk_chunks":[[1,300256],'* ]] || die "$(listed mix.blp)"
    bpk meta rm mix.blp k
    [[ $(listed mix.blp) == *'"bpk_chunks":[[1,300256],'* ]] || die "$(listed mix.blp)"
    archive=mix.blp holds mix.gsd
}

@test "an archive of chunks of many sizes is read anywhere" {
    make_gsd
    bpk pack -o mix.blp mix.gsd
    for range in 0:1 300255:300257 3600000:3600896 1000001:2000003 3300280: -5: 600256:600256; do
        bpk cat --bytes $range mix.blp >part
        "$python" -c 'import sys
a, b = sys.argv[-1].split(":"); d = open("mix.gsd", "rb").read()
sys.stdout.buffer.write(d[int(a):int(b) if b else None])' -- $range | cmp - part || die "$range"
    done
    bpk cat --name b --frames 2:3 mix.blp >b
    bpk cat --name b --frames 2:3 mix.gsd | cmp - b
    bpk cat --bytes 3600000:3600897 mix.blp | cmp - <(tail -c 896 mix.gsd)
    bpk tar --raw mix.blp | tar xO | cmp - mix.gsd
}

@test "one array of a large archive is read without the rest" {
    need_strace
    need_plain_build
    make_gsd 20
    bpk pack -o mix.blp mix.gsd
    strace -f -o trace -e trace=read,pread64,preadv,mmap "$BPK" cat --bytes 17000000:17000010 mix.blp >part
    tail -c +17000001 mix.gsd | head -c 10 | cmp - part
    bytes=$(awk '/read|pread64/ && / = [0-9]+$/ { sum += $NF } END { print sum + 0 }' trace)
    [ "$bytes" -lt 600000 ] || die "read $bytes bytes"
}

@test "an archive of chunks of many sizes is changed like any other" {
    make_gsd
    data text 500000 more
    head -c 1000000 mix.gsd >short
    bpk pack -o mix.blp mix.gsd
    before=$(listed mix.blp)
    bpk append mix.blp more
    [ "$(listed mix.blp)" = "$before" ]
    archive=mix.blp holds mix.gsd more
    bpk append mix.blp more more
    archive=mix.blp holds mix.gsd more more more
    bpk cat --bytes 4600000:4700000 mix.blp | cmp - <(cat mix.gsd more more more | tail -c +4600001 | head -c 100000)
    head -c 400000 more >patch
    cat <(head -c 200000 mix.gsd) patch <(tail -c +600001 mix.gsd) >now
    bpk write --at 200000 mix.blp patch
    archive=mix.blp holds now more more more
    bpk truncate --bytes 4000000 mix.blp
    cat now more more >all
    head -c 4000000 all >kept
    archive=mix.blp holds kept
    for size in 3600896 3300280 1000000 600256 600255 300256 7; do
        bpk truncate --bytes $size mix.blp
        head -c $size all >kept
        archive=mix.blp holds kept
        cp mix.blp b.blp
        bpk append b.blp more
        archive=b.blp holds kept more
        bpk cat --bytes -3: b.blp | cmp - <(tail -c 3 more)
    done
}

@test "an archive of chunks of many sizes outgrows its entries" {
    make_gsd
    bpk pack --append-space 1 --metadata <(echo '{"a":1}') -o mix.blp mix.gsd
    data noise 3000000 more
    bpk append mix.blp more
    archive=mix.blp holds mix.gsd more
    [[ $(listed mix.blp) == '{"a":1,"bpk_chunks":[[1,300256],'* ]]
    bpk truncate --bytes 900001 mix.blp
    bpk append mix.blp more
    head -c 900001 mix.gsd >kept
    archive=mix.blp holds kept more
    [ "$(listed mix.blp)" = '{"a":1,"bpk_chunks":[[1,300256],[1,300000]]}' ] || die "$(listed mix.blp)"
}

@test "sizes that are not those of the chunks are damage" {
    make_gsd
    bpk pack --metadata <(echo '{"bpk_chunks":[[2,300256]]}') -z 300256 -t 1 -o known.blp mix.gsd
    quietly bpk verify known.blp
    [ "$(bpk meta get known.blp)" = '{"bpk_chunks":[[2,300256]]}' ]
    "$python" - <<'END'
import struct, zlib
data = bytearray(open("known.blp", "rb").read())
data[8:12] = b"\xff" * 4
open("right.blp", "wb").write(data)
def put(name, text):
    d = bytearray(data)
    room = struct.unpack_from("<I", d, 48)[0]
    d[42] = 0
    struct.pack_into("<I", d, 44, len(text)); struct.pack_into("<I", d, 52, len(text))
    d[64:64 + room] = text.ljust(room, b"\0")
    d[64 + room:68 + room] = struct.pack("<I", zlib.adler32(text))
    open(name, "wb").write(d)
put("wrong.blp", b'{"bpk_chunks":[[1,300256,7]]}')
put("many.blp", b'{"bpk_chunks":[[99,300256]]}')
put("huge.blp", b'{"bpk_chunks":[[9223372036854775807,2147483631]]}')
put("zero.blp", b'{"bpk_chunks":[[1,0]]}')
put("odd.blp", b'{"bpk_chunks":[[1]]}')
put("text.blp", b'{"bpk_chunks":"x"}')
put("none.blp", b'{"bpk_chunks":[[0,1]]}')
END
    quietly bpk verify right.blp
    bpk cat right.blp | cmp - mix.gsd
    refuses 2 'chunk 1 .*300256 bytes, the file.s metadata say 7' bpk verify wrong.blp
    refuses 2 'chunk 1 ' bpk cat --bytes 300300:300301 wrong.blp
    for file in many huge zero odd text none; do
        refuses 2 'the list of chunk sizes in the metadata' bpk verify $file.blp
        bpk cat $file.blp | cmp - mix.gsd
        bpk cat --bytes 3600000: $file.blp | cmp - <(tail -c 896 mix.gsd)
    done
}

@test "any input is packed bit for bit, whatever its tables say" {
    make_gsd
    "$python" - <<'END'
import random, struct
random.seed(5)
data = open("mix.gsd", "rb").read()
index, = struct.unpack_from("<Q", data, 8)
for i in range(40):
    d = bytearray(data)
    for k in range(1 + i % 5):
        at = index + 32 * random.randrange(16) + 8 * random.randrange(4)
        struct.pack_into("<Q", d, at, random.choice([0, 1, 255, 300000, 2**31, 2**63 - 1, random.getrandbits(20)]))
    open(f"odd{i}", "wb").write(d[:len(d) - random.randrange(3) * random.randrange(400000)])
END
    for file in odd*; do
        sampled 3 || continue
        bpk pack -q $file
        bpk cat $file.blp | cmp - $file
    done
    cat mix.gsd mix.gsd >twice
    bpk pack twice
    bpk cat twice.blp | cmp - twice
}
