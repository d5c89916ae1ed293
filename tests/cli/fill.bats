#!/usr/bin/env bats
# bpk unpack --fill: what is intact, around damage.

load lib.bash

# FILE RAW HOW CHUNK...: FILE is RAW, in chunks of $size, with these lost.
is_filled() {
    "$python" - "$@" <<'END'
import os
import sys
size = int(os.environ.get("size", 32768))
raw, how = open(sys.argv[2], "rb").read(), sys.argv[3]
chunks = [raw[i : i + size] for i in range(0, len(raw), size)]
for lost in map(int, sys.argv[4:]):
    n = len(chunks[lost])
    chunks[lost] = {"zero": bytes(n), "skip": b"", "nan": b"\0\0\0\0\0\0\xf8\x7f" * (n // 8)}[how]
assert b"".join(chunks) == open(sys.argv[1], "rb").read()
END
}

@test "every intact chunk is at its place, in each format" {
    local format how threads
    need_python
    export BPK
    data field-f64 400000 A
    for format in blp blpd b2frame b2s; do
        bpk pack -q -z 32K --checksum crc32 -o "A.$format" A
        ends 0 bpk unpack -f --fill zero -o B "A.$format"
        same A B
        "$python" "$tests/lib/damage.py" "A.$format" 2 5 6 12
        for how in zero skip; do
            for threads in 1 3; do
                ends 2 bpk unpack -f -T "$threads" --fill "$how" -o B "A.$format"
                says '^bpk: A\.[a-z0-9]+: raw bytes 65536:98304 are lost: '
                says '^bpk: A\.[a-z0-9]+: raw bytes 163840:229376 are lost: '
                says '^bpk: A\.[a-z0-9]+: 105088 raw bytes are lost and .*, 294912 were unpacked; bpk repair A[^ ]* searches for chunks that moved$'
                [ "$(wc -l <"$err")" -eq 4 ] || die "$(cat "$err")"
                is_filled B A "$how" 2 5 6 12
            done
        done
        bpk unpack --fill zero -c "A.$format" 2>"$err" >B && false
        is_filled B A zero 2 5 6 12
        refuses 64 'records an array of floating-point numbers' bpk unpack -f --fill nan -o B "A.$format"
    done
}

@test "nan: numbers of the array's type, also as a NumPy file" {
    local format
    need_python
    export BPK
    data field-f64 400000 A
    for format in b2frame blpd; do
        bpk pack -q -z 32K --dtype '<f8' --shape 50000 --checksum crc32 -o "A.$format" A
        set -- 1 12
        export size=32768
        [ "$format" = blpd ] || size=25000
        "$python" "$tests/lib/damage.py" "A.$format" "$@"
        ends 2 bpk unpack -f --fill nan -o B "A.$format"
        is_filled B A nan "$@"
        ends 2 bpk unpack -f --fill nan -o B.npy "A.$format"
        tail -c 400000 B.npy | cmp - B
        [ "$(head -c 6 B.npy | od -An -tx1)" = ' 93 4e 55 4d 50 59' ]
        ends 2 bpk unpack -q --fill skip -o C.npy "A.$format"
        says 'record an array of 400000; --raw gives the bytes$'
        [ ! -e C.npy ]
    done
}

@test "a file whose end is missing, and one that is read in sequence" {
    need_python
    export BPK
    data field-f64 400000 A
    bpk pack -q -z 32K -o A.blp A
    head -c $(($(stat -c %s A.blp) / 2)) A.blp >cut.blp
    ends 2 bpk unpack --fill zero cut.blp
    says 'were unpacked; bpk repair cut.blp searches for chunks that moved$'
    [ "$(stat -c %s cut)" -eq 400000 ]
    "$python" - <<'END'
a, b = open("A", "rb").read(), open("cut", "rb").read()
good = [i for i in range(0, 400000, 32768) if a[i : i + 32768] == b[i : i + 32768]]
assert 3 <= len(good) <= 10 and good == list(range(0, 32768 * len(good), 32768))
assert not any(b[32768 * len(good) :])
END
    bpk pack -q -z 32K --no-offsets -o N.blp A
    "$python" "$tests/lib/damage.py" N.blp 3
    ends 2 bpk unpack --fill zero -o B N.blp
    is_filled B A zero 3
    head -c $(($(stat -c %s N.blp) / 2)) N.blp >half.blp
    ends 2 bpk unpack --fill skip half.blp
    cmp -n 98304 half A
    says '^bpk: half.blp: [0-9]+ raw bytes are lost and were left out, [0-9]+ were unpacked(, but without offsets perhaps not at their places)?; bpk repair half.blp searches for chunks that moved$'
}

# The members have 13 chunks, the last one short, so only a walk finds a chunk of the later ones.
@test "concatenated archives that are read in sequence" {
    local threads
    need_python
    export BPK
    data field-f64 400000 A
    bpk pack -q -z 32K --no-offsets --checksum crc32 -o N.blp A
    cp N.blp M.blp
    "$python" "$tests/lib/damage.py" M.blp 3
    cat N.blp M.blp N.blp >all.blp
    { cat A && head -c 98304 A && head -c 32768 /dev/zero && tail -c +131073 A && cat A; } >expected
    for threads in 1 3; do
        ends 2 bpk unpack -f -T "$threads" --fill zero -o B all.blp
        same expected B
        says '^bpk: all.blp: raw bytes 498304:531072 are lost: member 2, '
    done
    mkfifo pipe
    cat all.blp >pipe &
    ends 64 bpk unpack --fill zero -o C pipe
    wait
    says '^bpk: pipe: a pipe, and --fill reads a FILE twice$'
}

@test "what parity restores is not filled; other options that do not fit" {
    need_python
    export BPK
    data field-f64 400000 A
    bpk pack -q -z 32K --parity 10% -o A.blp A
    "$python" "$tests/lib/damage.py" A.blp 2
    refuses 3 'repair --apply|--heal' bpk unpack --fill zero -o B A.blp
    for other in --keep-broken --rm '--name x'; do
        # shellcheck disable=SC2086
        refuses 64 'only one of' bpk unpack --fill zero $other A.blp
    done
    refuses 64 '--fill needs a FILE' bpk unpack --fill zero -o B -
}

@test "damage outside of chunks is told and costs no byte" {
    local format
    data noise 100000 A
    for format in blp b2frame; do
        bpk pack -q -z 16K --seal -o good.$format A
        bpk pack -q -z 16K -o plain.$format A
        # bytes behind the end
        cp plain.$format x.$format
        printf 'foreign bytes' >>x.$format
        ends 2 bpk unpack -f --fill zero -o B x.$format
        says 'x.b.*: 13 bytes from offset [0-9]+ on, after the end of the archive, belong to no archive$'
        [ "$(wc -l <"$err")" -eq 1 ]
        same A B
        # and a chunk
        printf 'hurt' | dd of=x.$format bs=1 seek=40000 conv=notrunc status=none
        ends 2 bpk unpack -f --fill zero -o B x.$format
        says 'raw bytes 32768:49152 are lost: '
        says 'after the end of the archive, belong to no archive$'
        says '16384 raw bytes are lost and became zeros, 83616 were unpacked; bpk repair [^ ]* searches for chunks that moved$'
    done
    # a seal that is damaged
    cp -r good.b2frame x.b2frame
    format=$(grep -abo bpk_seal good.b2frame | tail -n 1)
    printf 'hurt' | dd of=x.b2frame bs=1 seek=$((${format%%:*} - 1 + 40)) conv=notrunc status=none
    ends 2 bpk verify x.b2frame
    ends 2 bpk unpack -f --fill zero -o B x.b2frame
    same A B
}

@test "a result with filled ranges is not up to date" {
    data noise 100000 A
    bpk pack -q -z 16K -o A.blp A
    cp -p A.blp tape
    mv A raw
    printf 'hurt' | dd of=A.blp bs=1 seek=40000 conv=notrunc status=none
    touch -r tape A.blp
    ends 2 bpk unpack --fill zero --update A.blp
    ends 2 bpk unpack --fill zero --update A.blp
    cp -p tape A.blp
    ends 0 bpk unpack --update A.blp
    cmp A raw
}

@test "a header that claims gigabytes is not filled with them; without offsets places may be wrong" {
    data noise 40000 A
    bpk pack -q -z 2000 -o a.blp A
    printf '\100' | dd of=a.blp bs=1 seek=11 conv=notrunc status=none
    ends 2 bpk unpack --fill zero -o B a.blp
    says 'its header claims [0-9]+ raw bytes, more than 1000 times the archive.s size, and may be damaged; bpk repair a.blp shows'
    [ ! -e B ]
    bpk pack -q -0 -z 2000 --no-offsets -o n.blp A
    head -c 10132 n.blp >x.blp
    tail -c +12153 n.blp >>x.blp # without chunk 5
    ends 2 bpk unpack --fill zero -o B x.blp
    says 'without offsets perhaps not at their places; bpk repair x.blp searches for chunks that moved$'
}

@test "the same of directories, and of a header without offsets" {
    data noise 9000 A
    local suffix file
    for suffix in blpd b2s; do
        bpk pack -q -z 1000 -o "A.$suffix" A
        file=A.blpd/data/__1__.bin
        [ $suffix = blpd ] || file=A.b2s/00000002.chunk
        cp -a "A.$suffix" tape
        printf 'hurt' | dd of=$file bs=1 seek=300 conv=notrunc status=none
        touch -r "tape${file#A."$suffix"}" $file
        ends 2 bpk unpack --fill zero -o raw "A.$suffix"
        ends 2 bpk unpack --update -o raw "A.$suffix"
        rm -r "A.$suffix"
        mv tape "A.$suffix"
        ends 0 bpk unpack --update -o raw "A.$suffix"
        cmp A raw
        rm raw
    done
    bpk pack -q -z 1000 --no-offsets -o n.blp A
    printf '\100' | dd of=n.blp bs=1 seek=11 conv=notrunc status=none
    ends 2 bpk unpack --fill zero -o B n.blp
    says 'its header claims [0-9]+ raw bytes, more than 1000 times the archive.s size'
    [ ! -e B ]
}

@test "data files that were swapped are unpacked as they lie, which a line tells, while chunks are lost too" {
    local option hidden='d.blpd: data files that were swapped or copied would not show while chunks are lost$'
    data noise 50000 A
    for option in '' --seal --identity; do
        rm -rf d.blpd
        bpk pack -q -z 4K --superchunk-size 8K $option -o d.blpd A
        mv d.blpd/data/__2__.bin x
        mv d.blpd/data/__3__.bin d.blpd/data/__2__.bin
        mv x d.blpd/data/__3__.bin
        ends 2 bpk unpack -f --fill zero -o B d.blpd
        says 'its digests do not match the chunks: some were changed or swapped'
        printf 'hurt' | dd of=d.blpd/data/__1__.bin bs=1 seek=300 conv=notrunc status=none
        ends 2 bpk unpack -f --fill zero -o B d.blpd
        says "$hidden"
    done
    # of one file nothing can be swapped
    rm -r d.blpd
    bpk pack -q -z 4K -o d.blpd A
    printf 'hurt' | dd of=d.blpd/data/__1__.bin bs=1 seek=300 conv=notrunc status=none
    ends 2 bpk unpack -f --fill zero -o B d.blpd
    says 'searches for chunks that moved$'
    ! grep -q "$hidden" "$err" || die "$(cat "$err")"
}
