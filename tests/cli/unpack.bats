load lib

@test "unpack gives FILE back beside FILE.blp, with mode and time" {
    data positions-f32 300000 a
    chmod 600 a
    touch -d '2001-02-03 04:05:06.789' a
    cp -p a before
    bpk pack --rm a
    quietly bpk unpack a.blp
    [ ! -s "$out" ]
    [ "$(ls -A)" = $'a\na.blp\nbefore' ]
    same a before
    [ "$(stat -c '%a %y' a)" = "$(stat -c '%a %y' before)" ]
}

@test "unpack -o, -O and -c choose where the data goes" {
    data mesh-i32 100000 a
    bpk pack a
    mkdir sub
    quietly bpk unpack a.blp -o b
    quietly bpk unpack -O sub a.blp
    bpk unpack -c a.blp >c
    bpk unpack <a.blp >d
    bpk unpack - <a.blp >e
    for copy in b sub/a c d e; do same $copy a; done
    refuses 64 "" bpk unpack -o x a.blp a.blp
}

@test "unpack recognises an archive by its content, and asks for a name when it has none to derive" {
    data mesh-i32 10000 a
    bpk pack -o packed a
    refuses 4 "^bpk: packed: .*--output" bpk unpack packed
    quietly bpk unpack packed -o b
    same a b
    bpk unpack -c packed | cmp - a
}

@test "unpack refuses an existing target without --force" {
    data mesh-i32 10000 a
    bpk pack a
    echo other >a
    refuses 1 "^bpk: a: already exists; --force replaces it$" bpk unpack a.blp
    quietly bpk unpack -f a.blp
    [ "$(stat -c %s a)" -eq 10000 ]
}

@test "unpack refuses to write over its archive" {
    data mesh-i32 10000 a
    bpk pack --rm a
    ln a.blp hard
    ln -s a.blp link
    for target in a.blp hard link ./a.blp; do
        refuses 1 "^bpk: " bpk unpack -f -o $target a.blp
    done
}

@test "unpack --rm deletes the archive once the data is whole, and only then" {
    data mesh-i32 10000 a
    cp a before
    bpk pack --rm a
    cp a.blp archive
    refuses 64 'tested checksums' bpk unpack --rm --no-check a.blp
    quietly bpk unpack --rm a.blp
    same a before
    [ ! -e a.blp ]
    cp archive a.blp
    printf 'x' | dd of=a.blp bs=1 seek=$(($(stat -c %s a.blp) - 10)) conv=notrunc status=none
    refuses 2 "^bpk: a.blp: " bpk unpack --rm -f a.blp
}

@test "unpack: a second archive of one name does not replace the first result" {
    local format
    mkdir w x y o
    data field-f64 100000 A
    data mesh-i32 100000 B
    for format in b2frame blpd b2s b2nd; do
        rm -rf w/f*
        bpk pack A -o w/f.blp
        if [ $format = b2nd ]; then set -- --dtype '<i4'; else set --; fi
        bpk pack "$@" B -o w/f.$format
        leaves_one 1 '^bpk: w/f: is the result of w/f.blp already' \
            bpk unpack --rm -f w/f.blp w/f.$format
        same w/f A
        [ ! -e w/f.blp ]
        bpk cat w/f.$format | same - B
        bpk pack A -o w/f.blp
        leaves_one 1 "^bpk: w/../w/f: is the result of w/f.$format already" \
            bpk unpack --rm -f w/f.$format w/../w/f.blp
        same w/f B
        bpk cat w/f.blp | same - A
    done
    bpk pack A -o x/f.blp
    bpk pack B -o y/f.blp
    leaves_one 1 '^bpk: o/f: is the result of x/f.blp already' bpk unpack -O o x/f.blp y/f.blp
    leaves_one 1 '^bpk: o/f: is the result of x/f.blp already' bpk unpack --rm -f -O o x/f.blp y/f.blp
    same o/f A
    bpk cat y/f.blp | same - B
}

@test "unpack: a result does not replace an operand that is still to be read" {
    data field-f64 100000 A
    data mesh-i32 100000 B
    bpk pack A -o f.blp.blp
    bpk pack B -o f.blp
    leaves_one 1 '^bpk: f.blp: is an operand of this command' bpk unpack --rm -f f.blp.blp f.blp
    same f B
    [ -f f.blp.blp ]
    [ ! -e f.blp ]
    bpk pack f
    # an operand that has its result may be replaced
    quietly bpk unpack -f f.blp f.blp.blp
    same f.blp A
    # a damaged one has no result
    bpk pack -f f
    truncate -s -5 f.blp
    cp f.blp before
    leaves_one 2 '^bpk: f.blp: is an operand of this command' bpk unpack -f f.blp f.blp.blp
    same f.blp before
    leaves_one 2 '^bpk: f.blp: is an operand of this command' \
        bpk unpack -f --keep-broken f.blp f.blp.blp
    same f.blp before
    # bytes of an interrupted append have no result
    data records 50000 f
    bpk pack -z 10000 -f f
    cp f.blp before
    bpk append f.blp A
    tail -c +$(($(stat -c %s before) + 1)) f.blp | head -c 1000 >>before
    cp before f.blp
    ends 3 bpk unpack -f f.blp
    leaves_one 3 '^bpk: f.blp: is an operand of this command' bpk unpack -f f.blp f.blp.blp
    same f.blp before
}

@test "unpack: partial results, members of a tar and standard output count" {
    local folder
    data field-f64 100000 A
    data mesh-i32 100000 B
    mkdir x y o
    bpk pack -z 16K A
    for folder in x y; do head -c 20000 A.blp >$folder/f.blp; done
    leaves_one 2 '^bpk: o/f.partial: is the result of x/f.blp already' \
        bpk unpack -f --keep-broken -O o x/f.blp y/f.blp
    bpk pack B
    bpk tar -f t.tar B.blp
    bpk pack A -o t.tar.blp
    cp t.tar before
    leaves_one 4 '^bpk: t.tar: is an operand' bpk unpack -f t.tar.blp t.tar:B.blp
    same t.tar before
    cp B.blp C.blp
    leaves_one 1 'standard output: is an operand' bash -c '"$BPK" unpack -c A.blp C.blp >>C.blp'
    same C.blp B.blp
    leaves_one 1 '^bpk: A: is the result of standard input already' \
        bash -c '"$BPK" unpack -f - A.blp <B.blp >A'
    same A B
    leaves_one 1 '^bpk: A: is the result of standard input already' \
        bash -c '"$BPK" unpack -f A.blp - <B.blp >A'
    same A B
    quietly bash -c '"$BPK" unpack -c A.blp B.blp >both'
    [ "$(stat -c %s both)" -eq 200000 ]
}

@test "unpack of several goes on after a bad one, and the worst status wins" {
    data mesh-i32 10000 a
    cp a c
    cp a before
    bpk pack --rm a
    bpk pack --rm c
    echo nonsense-nonsense-nonsense-nonsense >b.blp
    status=0
    bpk unpack a.blp b.blp none.blp c.blp 2>"$err" || status=$?
    [ "$status" -eq 2 ]
    [ "$(wc -l <"$err")" -eq 2 ]
    same a before
    same c before
    [ ! -e b ]
}

@test "damage leaves no file behind, whichever chunk it is in" {
    data field-f32 1000000 a
    bpk pack --rm -z 64K a
    size=$(stat -c %s a.blp)
    cp a.blp good
    for at in 1200 $((size / 2)) $((size - 20)) $((size - 1)); do
        cp good a.blp
        byte=$(od -An -tu1 -j $at -N 1 a.blp)
        printf "\\x$(printf %02x $((byte ^ 16)))" |
            dd of=a.blp bs=1 seek=$at conv=notrunc status=none
        for threads in 1 8; do
            refuses 2 '^bpk: a.blp: chunk [0-9]+' bpk unpack -T $threads a.blp
        done
    done
}

@test "what lies before damage is all that is left, whatever the number of threads" {
    local format try
    data field-f64 600000 A
    for format in blp b2frame; do
        bpk pack -f -z 64K --checksum crc32 -o "A.$format" A
        cp "A.$format" whole
        # byte 70000 is in the second chunk or the first
        printf '\001\002\003' | dd of="A.$format" bs=1 seek=70000 conv=notrunc status=none
        bpk cat -T 1 "A.$format" 2>/dev/null | cat >before
        [ "$(stat -c %s before)" -le 65536 ]
        cmp -n "$(stat -c %s before)" before A
        for try in $(seq 20); do
            rm -f B.partial
            ends 2 bpk unpack -T 3 --keep-broken -o B "A.$format"
            same B.partial before
            bpk cat -T 3 "A.$format" >got 2>/dev/null && false
            same got before
            bpk unpack -T 3 -c "A.$format" >got 2>/dev/null && false
            same got before
            bpk verify -T 3 --json "A.$format" 2>/dev/null >"json.$((try % 2))" || [ $? -eq 2 ]
        done
        cmp json.0 json.1
    done
}

@test "the lowest damaged chunk is reported, whatever the number of threads" {
    need_python
    data field-f32 1000000 a
    bpk pack --rm -z 32K -o a.blp a
    "$python" - <<'END'
import struct
data = bytearray(open("a.blp", "rb").read())
nchunks, spare = struct.unpack("<qq", data[16:32])
where = struct.unpack("<%dq" % nchunks, data[32:32 + 8 * nchunks])
for number in (5, 6, 20, 29):
    data[where[number] + 30] ^= 1
open("a.blp", "wb").write(data)
END
    for ((i = 0; i < 5; i++)); do
        for threads in 1 2 8; do
            refuses 2 '^bpk: a.blp: chunk 5 ' bpk unpack -T $threads a.blp
        done
    done
}

@test "a bare Blosc chunk is unpacked when asked for" {
    need_python
    "$python" -c '
import sys; sys.path.insert(0, sys.argv[1])
import blp_make
open("c", "wb").write(blp_make.chunk(b"0123456789" * 30))' "$tests/lib"
    quietly bpk unpack -F chunk c -o raw
    [ "$(cat raw)" = "$(printf '0123456789%.0s' {1..30})" ]
    [ "$(bpk cat -F chunk --bytes 8:12 c)" = 8901 ]
    quietly bpk verify -F chunk c
    bpk cat -F chunk <c | cmp - raw
    head -c 100 c >cut
    refuses 2 "^bpk: cut: " bpk unpack -F chunk cut -o x
}

@test "runs of zeros become holes" {
    truncate -s 64M a
    printf end >>a
    bpk pack a
    cp --sparse=always a before
    rm a
    quietly bpk unpack a.blp
    same a before
    [ "$(stat -c %b a)" -lt 16384 ] || [ "$(stat -c %b before)" -ge 16384 ]
}

@test "a target that is a directory, a missing folder, a folder without permission" {
    data mesh-i32 10000 a
    bpk pack --rm a
    mkdir a
    refuses 1 "^bpk: a: " bpk unpack a.blp
    refuses 1 "^bpk: a: " bpk unpack -f a.blp
    refuses 1 "none" bpk unpack -o none/a a.blp
    need_user
    mkdir -m 555 closed
    refuses 1 "^bpk: closed/a: .*[Pp]ermission" bpk unpack -o closed/a a.blp
}

@test "an input that is missing, a directory, not readable" {
    mkdir d
    refuses 1 "^bpk: none.blp: .*[Nn]o such file" bpk unpack none.blp
    refuses 1 "^bpk: d: .*directory" bpk unpack d -o x
    touch closed.blp
    chmod 000 closed.blp
    need_user
    refuses 1 "^bpk: closed.blp: .*[Pp]ermission" bpk unpack closed.blp
}

@test "no result lies in an operand that is still to be unpacked, however it is spelled" {
    data records 20000 a
    bpk pack -q -o x.blp a
    bpk pack -q -o __1__.bin.blp a
    bpk pack -q -o sizes.blp a
    bpk pack -q -o 00000000.chunk.blp a
    bpk pack -q -F chunked -o d.blpd a
    bpk pack -q -F b2sparse -o s.b2s a
    ln -s d.blpd/data data
    before=$(snapshot)
    for operands in "d.blpd x.blp d.blpd" "data __1__.bin.blp d.blpd" "./s.b2s/../d.blpd/meta sizes.blp $PWD/d.blpd" \
        "s.b2s 00000000.chunk.blp s.b2s" "s.b2s 00000000.chunk.blp data/../../s.b2s/"; do
        read -ra args <<<"$operands"
        leaves_one 1 'lies in an operand of this command|lies in the source itself' bpk unpack -f -O "${args[@]}"
        [ "$(snapshot)" = "$before" ]
    done
    # a hard link to it, a link to its folder, and the tar that it lies in
    ln x.blp h
    cp x.blp h.blp
    leaves_one 1 '^bpk: h: is an operand of this command' bpk unpack -f h.blp x.blp
    rm h x
    mkdir real
    mv x.blp real
    ln -s real l
    cp h.blp l.blp
    leaves_one 1 '^bpk: l: is an operand of this command' bpk unpack -f l.blp l/x.blp
    [ -L l ]
    ln -s d.blpd/data m
    cp a d
    leaves_one 1 '^bpk: d.blpd: is an operand of this command, or holds one' \
        bpk pack -f -F chunked d m/__1__.bin
}
