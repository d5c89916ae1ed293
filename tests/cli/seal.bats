load lib

load seal

# Chunks of equal sizes, a short one at the end, and metadata: s.blp, from in.
make_sealed() {
    make_input $((40 * 2000 + 777))
    rm -f s.blp
    bpk pack --seal --metadata m -t 1 -z 2000 --filter none -o s.blp in "$@"
}

# The offset of the entries of a Bloscpack file.
entries_of() {
    "$python" -c 'import struct, sys
d = open(sys.argv[1], "rb").read()
print(64 + struct.unpack_from("<I", d, 48)[0] + [0, 4, 4, 16, 20, 28, 32, 48, 64][d[41]])' "$1"
}

@test "a seal is tested, printed, and compared" {
    make_sealed
    quietly bpk verify s.blp
    root=$(root s.blp)
    [[ $root =~ ^[0-9a-f]{64}$ ]] || die "$root"
    [ "$(bpk verify --print-root s.blp)" = "s.blp: $root generation 1" ]
    quietly bpk verify --root "$root" --min-generation 1 s.blp
    quietly bpk verify --root "${root^^}" s.blp
    refuses 2 '' bpk verify --root "${root:1}0" s.blp
    refuses 2 '' bpk verify --min-generation 2 s.blp
    ! grep -q 'bpk unpack' "$err" || die "$(cat "$err")"
    for other in "$root"0 "${root:1}" "${root:1}x" ''; do
        refuses 64 '' bpk verify --root "$other" s.blp
    done
    bpk info -v s.blp | grep -q "seal  *$root"
    [[ $(bpk info --json s.blp) == *'"seal_root":"'$root'","seal_generation":1'* ]]
    [ "$(bpk meta get s.blp)" = '{"step":7}' ]
    bpk unpack -c s.blp | cmp - in
    bpk pack -o plain.blp in
    [[ $(bpk info --json plain.blp) == *'"seal_root":null,"seal_generation":null'* ]]
    for option in --print-root "--root $root" "--min-generation 1"; do
        refuses 2 '' bpk verify $option plain.blp
    done
}

@test "the seal does not depend on threads, and needs a file of the right format" {
    make_sealed
    for threads in 1 2 8; do
        bpk pack -T $threads --seal --metadata m -t 1 -z 2000 --filter none -o $threads.blp in
        same s.blp $threads.blp
    done
    bpk pack --seal --metadata m -t 1 -z 2000 --filter none <in >redirected.blp
    quietly bpk verify --min-generation 1 redirected.blp
    for checksum in none crc32 sha512; do
        bpk pack --seal --checksum $checksum -o $checksum.blp in
        quietly bpk verify --min-generation 1 $checksum.blp
    done
    bpk pack --seal -o empty.blp /dev/null
    quietly bpk verify --min-generation 1 empty.blp
    refuses 1 '' bash -c '"$BPK" pack --seal <in | cat; exit ${PIPESTATUS[0]}'
    refuses 1 '' bash -c 'cat s.blp | "$BPK" verify --print-root -'
    echo '[1]' >list
    refuses 64 '' bpk pack --seal --metadata list -o x.blp in
    echo '{"bpk_seal":1}' >taken
    refuses 64 '' bpk pack --metadata taken -o x.blp in
    refuses 64 '' bpk meta import s.blp taken
}

@test "the record of a seal has room for the chunks that the offsets have, and more make room for it" {
    make_input 5000
    bpk pack -z 1000 -o plain.blp in
    bpk pack --seal --checksum crc32 -z 1000 --append-space 3 -o s.blp in
    [ $(($(stat -c %s s.blp) - $(stat -c %s plain.blp))) -lt 700 ]
    head -c 1000 in >more
    for ((i = 1; i <= 70; i++)); do
        bpk append -q --append-space 0 s.blp more
        [ $((i % 8)) -gt 0 ] || quietly bpk verify --min-generation $((i + 1)) s.blp
    done
    [ "$(bpk cat s.blp | wc -c)" -eq 75000 ]
}

@test "append, truncate, write and meta renew the seal" {
    make_sealed
    n=1
    cp in all
    renewed() {
        n=$((n + 1))
        [ "$(generation s.blp)" = $n ] || die "generation $(generation s.blp), expected $n"
        quietly bpk verify s.blp
        bpk cat s.blp | cmp - all
    }
    for size in 1 1222 1 2000 777 4000 0 300000; do
        head -c $size in >more
        cat more >>all
        bpk append s.blp more
        [ $size = 0 ] || renewed
    done
    for size in 120000 119999 118000 116000 3000 2000 0; do
        truncate -s $size all
        bpk truncate s.blp --bytes $size
        renewed
    done
    bpk append --append-space 0 s.blp in
    cp in all
    renewed
    bpk meta set s.blp note='"a long note that is longer than the room of the others"'
    renewed
    bpk meta rm s.blp note
    renewed
    bpk meta import s.blp /dev/stdin <<<'{}'
    renewed
    "$python" -c 'print("{\"long\":\"" + "".join(chr(33 + i * i * 7919 % 89).replace("\\", "x").replace("\"", "y") for i in range(9000)) + "\"}")' >long
    bpk meta import s.blp long
    renewed
    dd if=m of=all bs=1 seek=5 conv=notrunc status=none
    bpk write s.blp --at 5 m
    renewed
    bpk convert s.blp other.blp
    [ "$(generation other.blp)" = null ]
}

# The record of s.x, but for its generation and root: the leaves alone decide it.
leaves() {
    "$python" -c 'import json, struct, sys, zlib
data = open(sys.argv[1], "rb").read()
size = struct.unpack_from("<I", data, 52)[0]
text = data[64:64 + size]
record = json.loads(zlib.decompress(text) if data[42] else text)["bpk_seal"]
print(record["last"], record["peaks"])' "$1"
}

# OPTION... -- HOW AT SIZE: overwrite SIZE random bytes of s.x, which keeps its inode or not.
write_part() {
    local options=() inode
    while [ "$1" != -- ]; do options+=("$1") && shift; done
    inode=$(stat -c %i s.x)
    head -c "$4" /dev/urandom >part
    dd if=part of=all bs=1 seek="$3" conv=notrunc status=none
    bpk write "${options[@]}" s.x --at "$3" part
    [ "$2" = "$([ "$(stat -c %i s.x)" = "$inode" ] && echo in-place || echo new-file)" ] || die "not $*"
    renewed
}

@test "write renews the seal of a Bloscpack file, in place and in a new file" {
    make_input 80777
    { head -c 20000 /dev/zero; tail -c 60777 in; } >mixed
    for option in "" "--no-offsets" "--checksum none" "--checksum crc32 --append-space 0" "--checksum sha512"; do
        rm -f s.x
        bpk pack -F blp --seal $option --metadata m -t 1 -z 2000 --codec lz4 -o s.x mixed
        cp mixed all
        n=1
        write_part -- in-place 20000 1
        write_part -- in-place 41999 2
        write_part -T 3 -- in-place 45000 17001
        write_part -- in-place 80700 77
        write_part -- new-file 3 1500
        write_part -- new-file 15000 30000
        write_part --journal-limit 4100 -- new-file 60000 4000
        write_part --copy -- new-file 60000 4000
        bpk write s.x --at 5 /dev/null
        [ "$(generation s.x)" = $n ]
        bpk write --at -3 s.x <<<ab
        printf 'ab\n' | dd of=all bs=1 seek=80774 conv=notrunc status=none
        renewed
        head -c 3 all | bpk write --at 0 s.x
        renewed
        if "$python" -c 'import blosc' 2>/dev/null; then reader compare s.x all; fi
        [ -z "${BPK_BLOSCPACK:-}" ] || bloscpack compare s.x all
    done
}

@test "after write, the seal has the leaves of an archive that was packed so" {
    make_input 20777
    for checksum in crc32 sha256 none; do
        rm -f s.x fresh.blp
        bpk pack -F blp --seal --checksum $checksum --metadata m -t 1 -z 2000 -0 -o s.x in
        cp in all
        n=1
        for at in 0 6000 20000; do
            write_part -- in-place $at 777
        done
        bpk pack --seal --checksum $checksum --metadata m -t 1 -z 2000 -0 -o fresh.blp all
        [ "$(leaves s.x)" = "$(leaves fresh.blp)" ] || die "$(leaves s.x)" "$(leaves fresh.blp)"
        [ "$(root s.x)" != "$(root fresh.blp)" ]
    done
}

@test "write leaves a file alone whose chunks are not the sealed ones" {
    for checksum in crc32 sha256 none; do
        make_sealed -f --checksum $checksum
        for kind in swap copy; do
            rm -rf f
            "$python" "$tests/lib/seal_break.py" $kind 0 2 s.blp f
            cp -r f kept
            for at in 0 39999 80700; do
                for option in "" --copy "--journal-limit 1"; do
                    refuses 2 'the chunks are not those that were sealed' bpk write $option f/0 --at $at m
                    refuses 2 'the chunks are not those that were sealed' bpk write $option f/1 --at $at m
                done
            done
            diff -r f kept
            rm -r kept
        done
    done
    make_sealed -f
    # a chunk that fails its own digest keeps it, and is found by it
    printf X | dd of=s.blp bs=1 seek=60000 conv=notrunc status=none
    bpk write s.blp --at 3 m
    refuses 2 'chunk 2[0-9]' bpk verify s.blp
}

@test "write removes an identity under the seal, which it renews" {
    for option in "" --copy "--journal-limit 1"; do
        make_sealed -f --identity
        "$BPK" write $option s.blp --at 4000 m 2>said
        grep -q identity said
        [ "$(generation s.blp)" = 2 ]
        quietly bpk verify s.blp
        refuses 2 'records no identity' bpk verify --identity s.blp
    done
}

@test "an empty archive keeps its seal through a copy" {
    make_input 900
    for way in --copy '--journal-limit 0'; do
        # shellcheck disable=SC2086
        bpk pack -q -f --seal -z 300 -o s.blp in
        ends 0 bpk truncate $way --bytes 0 s.blp
        quietly bpk verify --min-generation 2 s.blp
        ends 0 bpk meta set $way s.blp k=1
        quietly bpk verify --min-generation 3 s.blp
        ends 0 bpk append $way s.blp in
        quietly bpk verify --min-generation 4 s.blp
        bpk cat s.blp | cmp - in
    done
}

@test "an array's shape follows its rows under the seal" {
    make_sealed
    head -c 80000 in >rows
    bpk pack --seal --dtype '<f8' -z 2000 -o a.blp rows
    for i in $(seq 2 6); do
        bpk append a.blp rows
        quietly bpk verify --min-generation $i a.blp
    done
    [[ $(bpk meta get a.blp) == *'[60000]'* ]] || die "$(bpk meta get a.blp)"
}

# BPK_SEAL_ROUNDS=2000: so many manipulations of each kind
@test "manipulations that keep every digest are found" {
    for checksum in crc32 sha256; do
        make_sealed -f --checksum $checksum
        [ $checksum = crc32 ] || bpk write s.blp --at 4000 m
        for kind in swap copy kind kind-none header cut behind record mark field metadata typesize; do
            all_found seal_break.py $kind s.blp
        done
    done
}

@test "an old state is not taken for the new one, and nothing seals damage anew" {
    make_sealed
    cp s.blp old.blp
    bpk append s.blp in
    refuses 2 '' bpk verify --min-generation 2 old.blp
    refuses 2 '' bpk verify --root "$(root s.blp)" old.blp
    dd if=old.blp of=mixed.blp bs=32 count=1 status=none
    tail -c +33 s.blp >>mixed.blp
    refuses 2 '' bpk verify mixed.blp
    refuses 2 '' bpk append mixed.blp in
    "$python" "$tests/lib/seal_break.py" swap 1 1 old.blp swapped
    mv swapped/1 swapped.blp
    for command in "truncate swapped.blp --bytes 3000" "append --append-space 900 swapped.blp in in in in in"; do
        bpk $command || [ $? -eq 2 ]
        refuses 2 '' bpk verify -q swapped.blp
    done
}

@test "reseal makes a new seal after another program's change" {
    for option in "" "--checksum none" "--checksum sha256"; do
        make_sealed -f $option
        cp s.blp before.blp
        quietly bpk repair --reseal s.blp
        same s.blp before.blp
        rm -rf f
        "$python" "$tests/lib/seal_break.py" foreign 0 1 s.blp f
        cp f/0 foreign.blp
        for command in "append f/0 in" "truncate f/0 --bytes 3000" "write f/0 --at 3 m" "meta set f/0 a=1" \
            "verify f/0" "unpack -o out f/0" "convert f/0 out.blp"; do
            ends 2 bpk $command
            grep -q 'does not fit .* 42 chunks: another program changed it .* or it is damaged; bpk repair f/0 shows .* if you know that program, bpk repair --reseal f/0 accepts' "$err"
            same f/0 foreign.blp
        done
        bpk repair -q --reseal f/0
        bpk info --json f/0 | grep -q '"seal_generation":2,'
        quietly bpk verify f/0
        { head -c 80000 in; head -c 4000 in; } >all
        bpk cat f/0 | cmp - all
        bpk append f/0 in
        quietly bpk verify --min-generation 3 f/0
    done
    for kind in swap copy cut kind-none mark metadata typesize record; do
        rm -rf f
        "$python" "$tests/lib/seal_break.py" $kind 0 1 before.blp f
        ends 0 bpk repair --reseal f/0
        quietly bpk verify f/0
        [ "$(generation f/0)" = $([ $kind = record ] && echo 1 || echo 2) ]
    done
}

@test "a line of --print-root is taken for --root, and its root alone counts" {
    make_sealed
    bpk verify --print-root s.blp >run.root
    quietly bpk verify --root "$(cat run.root)" s.blp
    bpk cat --prove --root "$(sed 's/^s.blp/other: name/' run.root)" --bytes 10:20 s.blp >part
    bpk cat --bytes 10:20 s.blp | cmp - part
    refuses 2 "the seal's root is $(root s.blp) of generation 1, expected 0[0-9a-f]{63} of generation 1$" \
        bpk verify --root "$(sed 's/: [0-9a-f]/: 0/' run.root)" s.blp
    for text in "x$(cat run.root)x" "$(cat run.root run.root)" "$(root s.blp) generation 1"; do
        refuses 64 'expected 64 hexadecimal digits, or a line of bpk verify --print-root' bpk verify --root "$text" s.blp
    done
}

@test "lines of --print-root are read again by --roots" {
    make_sealed
    mkdir "a: b"
    for format in blp b2frame b2sparse chunked; do
        bpk pack --seal -F $format -z 2000 -o "a: b/$format" in
    done
    bpk verify --print-root s.blp "a: b"/* >roots
    [ "$(wc -l <roots)" = 5 ]
    { echo '# anchors'; echo; head -c -1 roots; } >list
    quietly bpk verify --roots list
    ends 0 bpk verify -v --roots list
    [ "$(grep -c ': ok' "$out")" = 5 ]
    mv s.blp t.blp
    mkfifo s.blp
    refuses 1 's.blp: is a FIFO, expected an archive' timeout 60 "$BPK" verify --roots list
    mv t.blp s.blp
    # a name as bpk sum writes it
    for name in $'a\nb' $'\\a\rb\\n' $'a\tb\xff'; do
        cp s.blp "$name"
        bpk verify --print-root "$name" >list
        [ "$(wc -l <list)" = 1 ]
        quietly bpk verify --roots list
        bpk append "$name" m
        ends 2 bpk verify --roots list
    done
    # a name that a line cannot begin with
    cp s.blp '#s.blp'
    bpk verify --print-root '#s.blp' >list
    quietly bpk verify --roots list
    bpk append '#s.blp' m
    refuses 2 "^bpk: ./#s.blp: the seal's root is " bpk verify --roots list
    bpk append s.blp m
    refuses 2 "^bpk: s.blp: the seal's root is $(root s.blp) of generation 2, expected [0-9a-f]{64} of generation 1$" \
        bpk verify --roots roots
    bpk verify --print-root s.blp >>roots
    quietly bpk verify --roots roots
    mv "a: b/chunked" away
    refuses 1 '^bpk: a: b/chunked: cannot open: No such file' bpk verify --roots roots
    bpk pack -o "a: b/chunked" in
    refuses 2 '^bpk: a: b/chunked: has no seal' bpk verify --roots roots
    for line in s.blp "s.blp: $(root s.blp | tr 0-9 x)" "$(head -n 1 roots)x" "$(root s.blp) generation 1"; do
        { echo "#"; echo "$line"; } >list
        refuses 1 '^bpk: list: line 2 is no line of bpk verify --print-root' bpk verify --roots list
    done
    echo '#' >list
    refuses 1 '^bpk: list: names no archive' bpk verify --roots list
    refuses 64 '' bpk verify --roots roots s.blp
    refuses 64 '' bpk verify --roots roots --root "$(root s.blp)"
}

@test "reseal does not go back from a generation that cannot be read" {
    make_sealed
    "$python" "$tests/lib/seal_break.py" generation 0 1 s.blp f
    cp f/0 before.blp
    refuses 2 'does not fit' bpk verify f/0
    refuses 1 'f/0: its seal has the last generation, or none that can be read' bpk repair --reseal f/0
    same f/0 before.blp
}

@test "what follows a sealed archive is left out by repair --apply, which says so" {
    make_input 50000
    for format in blp b2frame; do
        for option in --seal "" garbage; do
            rm -f ./*.x ./*.bpp
            bpk pack --seal -z 16000 -F $format -o a.x in
            bpk pack ${option#garbage} -z 16000 -F $format -o b.x m
            [ "$option" != garbage ] || cp in b.x
            cat a.x b.x >"c d.x"
            chmod 600 "c d.x"
            refuses 2 "bpk repair --apply -o OUT 'c d.x' saves the content that is sealed$" bpk verify "c d.x"
            ends 3 bpk repair "c d.x"
            says ' left out; tail -c \+'
            ends 0 bpk repair --apply -o o.x "c d.x"
            says "c d.x: $(stat -c %s b.x) bytes from offset $(stat -c %s a.x) on, .* are left out; tail"
            bpk cat o.x | cmp - in
            [ "$(stat -c %a o.x)" = 600 ]
            eval "$(sed -n 's/.*; \(tail .*\) writes them$/\1/p' "$err")" >rest
            same rest b.x
            # with a parity file the sealed archive comes back as it was
            bpk parity a.x 10
            mv a.x.bpp "c d.x.bpp"
            ends 0 bpk repair --apply -f -o o.x "c d.x"
            same o.x a.x
            [ "$option" = garbage ] ||
                refuses 1 "bpk repair --apply -o NEW 'c d.x' writes the first$" bpk append "c d.x" m
        done
    done
}

@test "reseal leaves a recorded identity to verify, and removes one of another size" {
    need_python
    for format in blp chunked; do
        make_input $((40 * 2000 + 776))
        rm -rf s.x f
        bpk pack --seal --identity -t 1 -z 2000 --filter none -F $format -o s.x in
        script=$tests/lib/seal_$([ $format = blp ] && echo break || echo dir).py
        "$python" "$script" swap 0 1 s.x f
        quietly bpk repair --reseal f/0
        refuses 2 'not those of the recorded identity' bpk verify f/0
        rm -rf f
        "$python" "$script" foreign 0 1 s.x f
        ends 0 bpk repair --reseal f/0
        says 'its recorded identity is no longer that of its content, and was removed'
        quietly bpk verify f/0
    done
}

@test "reseal seals nothing that is damaged, and cuts nothing off" {
    make_sealed
    bpk pack -f --seal --checksum none -t 1 -z 2000 --codec lz4 -o n.blp <(seq 20000)
    for archive in s.blp n.blp; do
        for kind in none foreign; do
            rm -rf f
            [ $kind = none ] && mkdir f && cp $archive f/0 ||
                "$python" "$tests/lib/seal_break.py" $kind 0 1 $archive f
            # in the stored bytes of chunk 3, or the place of its first block
            "$python" -c 'import struct, sys
d = bytearray(open("f/0", "rb").read())
at = struct.unpack_from("<q", d, int(sys.argv[1]) + 24)[0] + 16
d[at:at + 4] = b"\xff\xff\xff\xff"
open("f/0", "wb").write(d)' "$(entries_of f/0)"
            refuses 2 'f/0: chunk 3' bpk repair --reseal f/0
        done
        rm -rf f
        "$python" "$tests/lib/seal_break.py" behind 0 1 $archive f
        refuses 1 'belong to no archive' bpk repair --reseal f/0
    done
    bpk pack -q -o plain.blp in
    cp plain.blp before.blp
    quietly bpk repair --reseal plain.blp
    same plain.blp before.blp
}

@test "reseal tests an archive that no other program changed" {
    make_input 5000
    for format in blp b2frame b2sparse chunked; do
        for seal in "" --seal; do
            rm -rf f
            bpk pack -q $seal -F $format -z 2000 --filter none -o f in
            file=$(find f -type f -size +1k | sort | head -1)
            at=$(($(stat -c %s "$file") / 2))
            printf '\377\377\377\377' | dd of="$file" bs=1 seek=$at conv=notrunc status=none
            before=$(cat "$file" | sha256sum)
            ends 2 bpk repair --reseal f
            says "^bpk: f: .*chunk "
            [ "$(cat "$file" | sha256sum)" = "$before" ]
        done
    done
}

@test "a seal that has no room is written with a new file" {
    make_input 5000
    bpk pack --metadata m -z 2000 -o s.blp in
    printf bpkseal1 | dd of=s.blp bs=1 seek=56 conv=notrunc status=none
    refuses 2 'marked as sealed, but have no seal: another program' bpk verify s.blp
    quietly bpk repair --reseal s.blp
    quietly bpk verify --min-generation 1 s.blp
    [ "$(bpk meta get s.blp)" = '{"step":7}' ]
    bpk cat s.blp | cmp - in
}

@test "a salvaged archive is said to have no seal" {
    make_sealed
    for zeros in 20 55; do
        { head -c $zeros /dev/zero; tail -c +$((zeros + 1)) s.blp; } >lost.blp
        "$BPK" repair --apply -f -o new.blp lost.blp 2>said || [ $? -lt 4 ]
        grep -q 'lost.blp: was sealed; the result has no seal$' said || die "$(cat said)"
        [ "$(generation new.blp)" = null ]
        bpk cat new.blp | cmp - in
    done
}

# FORMAT ARCHIVE OTHER: put OTHER's last chunk, of 777 random bytes that are stored, into ARCHIVE.
exchange_last() {
    "$python" -c 'import os, sys
kind, archive, other = sys.argv[1:]
names = {"b2sparse": "00000003.chunk", "chunked": "data/__1__.bin"}
if kind in names:
    a, b = (os.path.join(d, names[kind]) for d in (archive, other))
else:
    a, b = archive, other
data, more = open(a, "rb").read(), open(b, "rb").read()
if kind == "b2frame":  # with its digest, in the trailer
    at, size = data.index(open("in", "rb").read()[-777:]) - 32, 777 + 32
    data = data[:at] + more[at:at + size] + data[at + size:]
elif kind == "blp":
    at, size = data.index(open("in", "rb").read()[-777:]) - 16, 777 + 16 + 32
    data = data[:at] + more[at:at + size] + data[at + size:]
else:
    data = more
open(a, "wb").write(data)' "$@"
}

@test "append, truncate and write do not seal a last chunk anew that is not the sealed one" {
    make_input 6777
    (head -c 6000 in; head -c 777 /dev/urandom) >other
    for format in blp chunked b2frame b2sparse; do
        for option in "--seal" "--identity" "--seal --identity"; do
            rm -rf s.x o.x
            bpk pack -q $option --checksum sha256 -F $format -t 1 -z 2000 -0 -o s.x in
            bpk pack -q $option --checksum sha256 -F $format -t 1 -z 2000 -0 -o o.x other
            exchange_last $format s.x o.x
            refuses 2 '' bpk verify s.x
            ends 2 bpk append s.x m
            ends 2 bpk truncate s.x --bytes 6500
            [ "$option" = --identity ] || ends 2 bpk write s.x --at 3 m
            refuses 2 '' bpk verify s.x
        done
    done
}

checksum_of() { bpk info --json "$1" | sed 's/.*"checksum":"\([a-z0-9]*\)".*/\1/'; }

# The seal of s.x: GENERATION CHECKSUM; it holds for the bytes of in.
is_sealed() {
    [ "$(generation s.x) $(checksum_of s.x)" = "$1 $2" ] || die "$(bpk info --json s.x), expected $*"
    quietly bpk verify --min-generation $1 s.x
    bpk cat s.x | cmp - in
}

@test "pack over an archive with a seal makes one with a seal, of the next generation" {
    make_input 20777
    for format in blp b2frame b2sparse chunked; do
        for checksum in none crc32 sha256 sha512; do
            sampled 2 || continue
            rm -rf s.x
            touch in
            bpk pack --seal --checksum $checksum -F $format -z 2000 -o s.x in
            is_sealed 1 $checksum
            quietly bpk pack -f -F $format -o s.x in
            is_sealed 2 $checksum
            cat m >>in
            touch -d '1 minute' in
            quietly bpk pack --update -F $format -T 2 -z 3000 -o s.x in
            is_sealed 3 $checksum
            # the folder of a directory has a time of its own
            [ -d s.x ] || quietly bpk pack --update -F $format -o s.x in
            is_sealed 3 $checksum
            quietly bpk pack -f -F $format --checksum sha1 -o s.x in
            is_sealed 4 sha1
            quietly bpk pack -f -F $format --seal -o s.x in
            is_sealed 5 sha256
            quietly bpk pack -f -F $format --checksum sha512 -o s.x in
            quietly bpk pack -f -F $format --seal -o s.x in
            is_sealed 7 sha512
        done
    done
    rm -rf s.x
    bpk pack -F blp -o s.x in
    quietly bpk pack -f -F blp -o s.x in
    [ "$(generation s.x)" = null ]
    quietly bpk pack -f -F blp --seal -o s.x in
    is_sealed 1 sha256
    ln -s s.x link
    quietly bpk pack -f -F blp -o link in
    is_sealed 2 sha256
}

@test "pack -r --update unseals no archive of a tree" {
    make_input 20777
    mkdir d
    for name in a b c d e; do
        cp in d/$name
    done
    bpk pack -q -r --seal --checksum crc32 d
    bpk pack -qf -o d/c.blp d/c
    rm d/d.blp
    bpk pack -o d/d.blp d/d
    touch -d '1 minute' d/a d/c d/d
    for threads in 1 4; do
        cp -a d $threads
        quietly bpk pack -T $threads -r --update $threads
        for row in 'a 2' 'b 1' 'c 3' 'd null' 'e 1'; do
            [ "$(generation $threads/${row% *}.blp)" = ${row#* } ] || die "$threads threads: $row"
        done
        quietly bpk verify -r $threads
    done
}

# PATTERN STATE OPTION...: s.x is replaced with one line, and none with -q; the seal then has the
# generation STATE.
replaces() {
    for option in -q ''; do
        rm -rf old
        cp -r s.x old
        ends 0 bpk pack -f $option "${@:3}" -o s.x in
        [ "$(generation s.x)" = "$2" ] || die "generation $(generation s.x): $*"
        bpk cat s.x | cmp - in
        if [ -z "$option" ]; then
            [ "$(wc -l <"$err")" -eq 1 ] || die "$(cat "$err")"
            says "$1"
        else
            [ ! -s "$err" ] || die "$(cat "$err")"
            rm -r s.x
            mv old s.x
        fi
    done
}

@test "pack says when the seal of an archive is not carried over" {
    make_sealed
    # a byte of the metadata
    at=$(grep -abo '"root":"' s.blp | head -n 1 | cut -d: -f1)
    cp s.blp s.x
    printf '\377' | dd of=s.x bs=1 seek=$((at + 20)) conv=notrunc status=none
    replaces '^bpk: s.x: .*; no seal or identity is carried over from it$' null -F blp
    "$python" "$tests/lib/seal_break.py" record 0 1 s.blp f
    cp f/0 s.x
    replaces '^bpk: s.x: .*; no seal is carried over from it$' null -F blp
    cp f/0 s.x
    replaces '^bpk: s.x: .*; no seal is carried over from it$' 1 -F blp --seal
    cp s.blp s.x
    replaces '^bpk: s.x: was of another format, blp; no seal' null -F b2frame
    cp s.blp s.x
    echo '[1]' >list
    replaces '^bpk: s.x: a seal needs metadata that are an object; no seal' null -F blp --metadata list
    rm s.x
    bpk pack --seal -F chunked -o s.x in
    replaces '^bpk: s.x: a seal needs the layout blaze; no seal' null -F chunked --layout bcolz
    rm -r s.x
    for text in nothing ''; do
        echo -n "$text" >s.x
        quietly bpk pack -f -F blp -o s.x in
    done
    if [ "$(id -u)" -ne 0 ]; then
        chmod 000 s.x
        ends 0 bpk pack -f -F blp -o s.x in
        says '^bpk: s.x: cannot be read: Permission denied; no seal'
    fi
}

@test "verify names the next step where the metadata of a sealed archive are damaged" {
    data noise 60000 a
    bpk pack -q --seal -z 20000 -o x.blp a
    printf '?' | dd of=x.blp bs=1 seek=33 conv=notrunc status=none
    refuses 2 '^bpk: x.blp: metadata begins with .*; bpk repair --apply -o OUT x.blp saves the intact chunks$' bpk verify x.blp
    ends 2 bpk repair --apply -o new x.blp
    bpk cat new | cmp - a
}

@test "an anchor is not met by something else in the place of the archive" {
    make_sealed
    cp s.blp run # a name that promises no format
    bpk verify --print-root run >roots
    quietly bpk verify --roots roots
    bpk pack --seal -o z.blp m
    tar cf run z.blp
    refuses 2 '^bpk: run:z.blp: is in the place of an archive that --roots names$' bpk verify --roots roots
    refuses 2 "the seal's root is" bpk verify --root "$(cut -d ' ' -f 2 roots)" run
    cp "$BATS_TEST_DIRNAME/../fuzz/corpus/layout/gsd-2" run
    quietly bpk verify run
    refuses 2 '^bpk: run: is a raw GSD file, which has no seal$' bpk verify --roots roots
    refuses 2 'has no seal$' bpk verify --root "$(cut -d ' ' -f 2 roots)" run
    refuses 2 'has no seal$' bpk verify --min-generation 1 run
    refuses 2 'has no seal$' bpk verify --print-root run
    refuses 2 'is a raw GSD file, which has no identity$' bpk verify --identity run
    quietly bpk verify --parity run
}
