# For the tests of seals.

root() { bpk verify --print-root "$1" | awk '{ print $(NF - 2) }'; }
generation() { bpk info --json "$1" | sed 's/.*"seal_generation":\([0-9a-z]*\).*/\1/'; }

# SIZE: random bytes in the file in, and metadata in m.
make_input() {
    need_python
    "$python" -c 'import random, sys
open("in", "wb").write(random.Random(5).randbytes(int(sys.argv[1])))' "$1"
    echo '{"step":7}' >m
}

# SCRIPT KIND ARCHIVE: make BPK_SEAL_ROUNDS manipulated copies, a few by default, of which verify
# finds each; unpacking with losses is never the advice.
all_found() {
    local first n rounds=${BPK_SEAL_ROUNDS:-4}
    for ((first = 0; first < rounds; first += 100)); do
        n=$((rounds - first < 100 ? rounds - first : 100))
        rm -rf broken
        "$python" "$tests/lib/$1" "$2" "$first" "$n" "$3" broken
        "$BPK" verify --json broken/* >records 2>said || [ $? -eq 2 ] || [ $? -eq 3 ]
        [ "$(grep -c '"status":[23],' records)" -eq $n ] || die "$3, $2: $(grep '"status":0' records)"
        ! grep -q 'bpk unpack' said || die "$3, $2: $(cat said)"
    done
}

# s.x is whole, has the bytes of all, and one generation more than before.
renewed() {
    n=$((n + 1))
    [ "$(generation s.x)" = $n ] || die "generation $(generation s.x), expected $n"
    quietly bpk verify s.x
    bpk cat s.x | cmp - all
}

more() {
    cat "$1" >>all
    bpk append s.x "$1"
    renewed
}

cut_to() {
    truncate -s $1 all
    bpk truncate s.x --bytes $1
    renewed
}

over() {
    dd if=$2 of=all bs=1 seek=$1 conv=notrunc status=none
    bpk write s.x --at $1 $2
    renewed
}
