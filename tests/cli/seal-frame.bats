load lib
load seal

# A frame of 32 chunks, three of zeros, with a short one at the end, and metadata: s.x, from in.
# The arguments are pack's.
make_frame() {
    need_python
    "$python" -c 'import random
r = random.Random(5)
open("in", "wb").write(r.randbytes(16000) + bytes(4000) + r.randbytes(40000) + bytes(2000) + r.randbytes(777))'
    echo '{"step":7}' >m
    rm -rf s.x
    bpk pack --seal --metadata m -t 1 -z 2000 --filter none -o s.x "$@" in
}

# The same of an array of 210 x 50 numbers, from nd.
make_array() {
    need_python
    "$python" -c 'import random
r = random.Random(5)
open("nd", "wb").write(r.randbytes(14000) + bytes(14000) + r.randbytes(14000))'
    echo '{"step":7}' >m
    rm -rf s.x
    bpk pack -q --seal --metadata m --dtype '<i4' --shape 210,50 --chunk-shape 15,25 --filter none -o s.x "$@" nd
}

@test "frames have a seal, of any number of threads, into a file or a pipe" {
    for format in b2frame b2sparse; do
        make_frame -F $format
        quietly bpk verify --root "$(root s.x)" --min-generation 1 s.x
        refuses 2 '' bpk verify --min-generation 2 s.x
        [ "$(bpk meta get s.x | tr -d ' ')" = '{"step":7}' ]
        sum=$(root s.x)
        for option in "-T 1" "-T 3"; do
            make_frame -F $format $option
            [ "$(root s.x)" = $sum ]
        done
        for checksum in none crc32 sha512; do
            make_frame -F $format --checksum $checksum
            quietly bpk verify --min-generation 1 s.x
            [ "$(root s.x)" != $sum ]
        done
    done
    bpk pack --seal -F b2frame <in | cat >p.b2frame
    quietly bpk verify --min-generation 1 p.b2frame
    bpk pack --seal -F b2frame -o e.b2frame /dev/null
    quietly bpk verify --min-generation 1 e.b2frame
    bpk append e.b2frame in
    quietly bpk verify --min-generation 2 e.b2frame
}

@test "append, truncate, write and meta renew the seal of a frame" {
    for format in b2frame b2sparse; do
        make_frame -F $format
        cp in all
        n=1
        for size in 1 1222 1 2000 4000; do
            head -c $size in >part
            more part
        done
        for size in 68000 67999 66000 64000 30000 18500; do
            cut_to $size
        done
        more in
        head -c 5000 in >part
        over 17000 part
        head -c 9000 /dev/zero >part
        over 4000 part
        bpk meta set s.x a=1
        renewed
        bpk meta import s.x /dev/stdin <<<'[1]'
        renewed
        cut_to 0
        more in
    done
}

@test "chunks of another size turn special entries into chunks under the seal" {
    need_python
    head -c 20000 /dev/zero >zeros
    bpk pack --seal -z 2000 -t 1 -F b2frame -o s.x zeros
    cp zeros all
    n=1
    make_other() { "$python" -c 'open("part", "wb").write(bytes(range(256)) * 40)'; }
    make_other
    more part
    cut_to 7000
    more part
    over 100 part
}

@test "rows of an array are appended, cut and written over under the seal" {
    for format in b2frame b2sparse; do
        make_array -F $format
        cp nd all
        n=1
        for size in 200 2000 6000; do
            head -c $size nd >part
            more part
        done
        for size in 50000 49800 48000 16000 600; do
            cut_to $size
        done
        more nd
        head -c 3000 nd >part
        over 5000 part
        bpk meta set s.x k=2
        renewed
        cut_to 0
        more nd
    done
}

@test "a copy without holes keeps the seal, and convert leaves it out" {
    make_frame -F b2frame
    head -c 9000 in >part
    for i in 1 2 3; do bpk write s.x --at 1000 part; done
    root=$(root s.x)
    bpk repair -q --repack -o copy.b2frame s.x
    quietly bpk verify --root "$root" copy.b2frame
    bpk repair -q --repack s.x
    quietly bpk verify --root "$root" s.x
    same s.x copy.b2frame
    says_left_out() { "$BPK" convert "$@" 2>said; grep -q 'its seal is left out of the result; --seal makes a new one$' said; }
    for target in x.b2frame x.b2s x.blp; do
        says_left_out s.x $target
        quietly bpk verify $target
        [ "$(generation $target)" = null ]
        refuses 2 '' bpk verify --min-generation 1 $target
    done
    ! grep -q bpk_seal x.b2frame
}

# MAKE ZEROS: manipulations of the frame that MAKE makes, whose chunks ZEROS hold zeros, are found.
# BPK_SEAL_ROUNDS=2000: so many of each kind
manipulate() {
    export ZEROS=$2
    for option in "-F b2frame" "-F b2frame --checksum crc32" "-F b2sparse" "-F b2sparse --checksum crc32"; do
        $1 $option
        rm -rf same
        "$python" "$tests/lib/seal_frame.py" none 0 1 s.x same
        quietly bpk verify --root "$(root s.x)" same/0
        for kind in swap copy special cut kind record mark field metadata layer header behind; do
            all_found seal_frame.py $kind s.x
        done
    done
}

@test "manipulations of a frame with digests that fit are found" {
    manipulate make_frame 8,9,30
}

@test "manipulations of an array with digests that fit are found" {
    manipulate make_array 10,11,12,13,14,15,16,17
}

@test "an old header over an appended frame is found" {
    make_frame -F b2frame
    cp s.x old.x
    head -c 3000 in >part
    bpk append s.x part
    size=$(stat -c %s old.x)
    header=$("$python" -c 'print(int.from_bytes(open("old.x", "rb").read()[11:15], "big"))')
    { head -c "$header" old.x; tail -c +$((header + 1)) s.x; } >mixed.x
    "$BPK" verify mixed.x 2>said && die "whole"
    refuses 2 '' bpk verify --min-generation 2 old.x
    refuses 2 '' bpk verify --root "$(root s.x)" old.x
    { head -c "$header" s.x; tail -c +$((header + 1)) old.x; } >mixed.x
    refuses 2 '' bpk verify mixed.x
    truncate -s "$size" mixed.x
    refuses 2 '' bpk verify mixed.x
}

@test "another program's change breaks the seal, and nothing but reseal makes a new one" {
    for format in b2frame b2sparse; do
        make_frame -F $format
        export ZEROS=8,9,30
        rm -rf f
        "$python" "$tests/lib/seal_frame.py" foreign 0 1 s.x f
        refuses 2 'another program changed it since it was sealed' bpk verify f/0
        for command in "append f/0 in" "truncate f/0 --bytes 3000" "write f/0 --at 3 m" "meta set f/0 a=1"; do
            ends 2 bpk $command
            grep -q 'another program changed it since it was sealed' "$err" || die "$(cat "$err")"
        done
        bpk repair -q --reseal f/0
        quietly bpk verify --min-generation 2 f/0
        rm -rf f
        "$python" "$tests/lib/seal_frame.py" swap 0 1 s.x f
        for command in "truncate f/0 --bytes 3000" "write f/0 --at 3 m" "repair --reseal f/0" "repair --repack f/0"; do
            bpk $command || [ $? -eq 2 ]
            refuses 2 '' bpk verify f/0
        done
    done
}

@test "c-blosc2 reads frames and arrays with a seal and an identity" {
    need_oracle2
    for format in b2frame b2sparse; do
        make_frame -F $format --identity
        oracle2 raw s.x >out
        cmp out in
        head -c 1222 in >part
        bpk append -q s.x part
        oracle2 raw s.x >out
        cat in part | cmp - out
        quietly bpk verify --min-generation 2 s.x
        make_array -F $format --identity
        oracle2 array s.x >out
        cmp out nd
    done
}
