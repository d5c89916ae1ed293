#!/usr/bin/env bats
# bpk repair --from: lost chunks of arrays in chunks of several dimensions are refilled from raw data.
# BPK_SALVAGE_ROUNDS=1000 makes so many arrays of each kind.

load lib.bash

rounds() {
    local default=15
    ! light || default=8
    "$python" "$tests/lib/salvage_nd.py" "$1" 0 "${BPK_SALVAGE_ROUNDS:-$default}"
}

@test "lost chunks get the right items: arrays of 1 to 4 dimensions, contiguous and sparse" {
    need_python
    export BPK
    rounds b2nd
    rounds b2s
}

@test "raw data of another size, and a shape that is lost, are refused" {
    need_python
    export BPK
    data field-f64 200000 A
    bpk pack -q --dtype f8 --shape 100,250 --chunk-shape 30,100 -o N.b2nd A
    "$python" "$tests/lib/damage.py" N.b2nd 3
    head -c 199992 A >short
    ends 1 bpk repair --apply --from short -o new.b2nd N.b2nd
    says 'short: is no file of the 200000 raw bytes that N.b2nd has$'
    # the chunks have more, as padding
    head -c 288000 /dev/zero >long
    ends 1 bpk repair --apply --from long -o new.b2nd N.b2nd
    says 'long: is no file of the 200000 raw bytes'
    [ ! -e new.b2nd ]
    ends 0 bpk repair --apply --from A -o new.b2nd N.b2nd
    bpk cat new.b2nd | cmp - A
    # without the shape the order of bytes is unknown: these are plain chunks then
    dd if=/dev/zero of=N.b2nd bs=1 count=100 conv=notrunc status=none
    ends 1 bpk repair --apply -f --from A -o new.b2nd N.b2nd
    says 'A: is no file of the 288000 raw bytes'
}

@test "raw data tell the size of the last chunk, which is lost, without a header" {
    need_python
    data field-f64 60000 A
    bpk pack -q -z 4K -t 8 -F b2frame --checksum none -o N.b2frame A
    "$python" "$tests/lib/damage.py" N.b2frame 14
    dd if=/dev/zero of=N.b2frame bs=512 count=1 conv=notrunc status=none
    ends 2 bpk repair --apply --from A -o new.b2frame N.b2frame
    bpk cat new.b2frame | cmp - A
}

@test "copies are merged and refilled from raw data" {
    need_python
    export BPK
    data field-f64 200000 A
    bpk pack -q --dtype f8 --shape 100,250 --chunk-shape 30,100 -o 1.b2nd A
    cp 1.b2nd 2.b2nd
    "$python" "$tests/lib/damage.py" 1.b2nd 3 5
    "$python" "$tests/lib/damage.py" 2.b2nd 5 7
    ends 0 bpk repair --merge --from A -o new.b2nd 1.b2nd 2.b2nd
    bpk cat new.b2nd | cmp - A
    bpk verify new.b2nd
}

@test "the raw data may be an .npy file, as pack takes it" {
    need_python
    export BPK
    data field-f64 200000 A
    bpk pack -q --dtype f8 --shape 100,250 -z 16000 -o a.blp A
    bpk unpack -q -o A.npy a.blp
    [ "$(wc -c <A.npy)" -gt 200000 ]
    bpk pack -q -f --as-array -z 16000 -o a.blp A.npy
    cmp <(bpk cat a.blp) A
    bpk pack -q --dtype f8 --shape 100,250 --chunk-shape 30,100 -o a.b2nd A
    for file in a.blp a.b2nd; do
        "$python" "$tests/lib/damage.py" $file 3
        ends 0 bpk repair --apply --from A.npy -o new.${file#a.} $file
        bpk cat new.${file#a.} | cmp - A
        head -c 200120 A.npy >short.npy
        ends 1 bpk repair --apply -f --from short.npy -o none.${file#a.} $file
        says 'short.npy: is no file of the 200000 raw bytes'
    done
}

@test "raw data that the recorded identity proves need no checksum" {
    need_python
    export BPK
    data noise 100000 A
    for kind in blp b2frame; do
        bpk pack -q -0 -z 16K --checksum none --identity -o a.$kind A
        printf 'hurt hurt' | dd of=a.$kind bs=1 seek=40000 conv=notrunc status=none
        ends 2 bpk verify a.$kind
        ends 0 bpk repair --apply --from A -o new.$kind a.$kind
        bpk cat new.$kind | cmp - A
        quietly bpk verify new.$kind
        bpk info --json new.$kind | grep -q '"identity_root":"'
    done
}

@test "without its shape the ranges of an array are not certain" {
    data field-f64 40000 A
    bpk pack -q --dtype '<i4' --shape 100,100 --chunk-shape 30,40 -o x.b2nd A
    printf '\377' | dd of=x.b2nd bs=1 seek=110 conv=notrunc status=none
    ends 2 bpk repair --json x.b2nd
    grep -q '"certain":false' "$out"
    grep -q '"start":null,"end":null' "$out"
    # no message stands within the record
    bpk repair --json x.b2nd >both 2>&1 || true
    grep -q '^{.*}$' both || die "$(cat both)"
    ends 2 bpk repair x.b2nd
    grep -qx 'x.b2nd: chunks 0:12 are intact, but not certain' "$out"
    says 'the header is lost, and with it shape and fixed metadata; without the shape the bytes of an array are in '
    ends 2 bpk repair --apply -o new.b2nd x.b2nd
    says '; without the shape the bytes of an array are in the order of its chunks, with their padding'
}

@test "raw data tell the numbers of chunks: cut frames, lost headers, swapped data files, missing bytes" {
    need_python
    export BPK
    data field-f64 300000 A
    bpk pack -q -z 16K -o a.b2frame A
    truncate -s -30000 a.b2frame
    ends 2 bpk repair --apply --from A -o new.b2frame a.b2frame
    says 'the raw data stand for lost chunks'
    bpk cat new.b2frame | cmp - A
    bpk pack -q -z 16K -o a.blp A
    printf 'hurt' | dd of=a.blp bs=1 count=4 conv=notrunc status=none
    truncate -s -30000 a.blp
    ends 0 bpk repair --apply --from A -o new.blp a.blp
    bpk cat new.blp | cmp - A
    bpk pack -q -z 16K --superchunk-size 64K -o a.blpd A
    mv a.blpd/data/__2__.bin x && mv a.blpd/data/__3__.bin a.blpd/data/__2__.bin && mv x a.blpd/data/__3__.bin
    rm a.blpd/data/__4__.bin
    ends 2 bpk repair --apply --from A -o new.blpd a.blpd
    says '; the intact chunks lie in another order than in the raw data$'
    bpk cat new.blpd | cmp - A
    # other data are refused, and the line does not name the result
    tr '\0-\377' '\1-\377\0' <A >B
    ends 1 bpk repair --apply --from B -f -o new.blpd a.blpd
    says '^bpk: B: differs from the intact chunk [0-9]+ of a.blpd$'
    ends 2 bpk repair --apply --from B -f -o new.b2frame a.b2frame
    says 'the places of its chunks are not certain'
}

@test "raw data tell the numbers of chunks: an array without its end, a rotated file" {
    need_python
    data noise 200000 A
    tr '\0-\377' '\1-\377\0' <A >B
    bpk pack -q --dtype f8 --shape 100,250 --chunk-shape 30,100 -o a.b2nd A
    truncate -s -100000 a.b2nd
    ends 2 bpk repair --apply --from B -o new.b2nd a.b2nd
    says 'the places of its chunks are not certain'
    ends 2 bpk repair --apply --from A -o new.b2nd a.b2nd
    says 'the raw data stand for lost chunks'
    bpk cat new.b2nd | cmp - A
    bpk info -v new.b2nd | grep -q '^  shape  *100 x 250'
    # in another order than that of the file
    head -c 10240 A >N
    bpk pack -q -z 1K -t 1 -o a.blp N
    { tail -c +5001 a.blp && head -c 5000 a.blp; } >r.blp
    ends 2 bpk repair r.blp
    says 'or the raw data \(--from\) restore more'
    ends 2 bpk repair --apply --from N -o new.blp r.blp
    says '; the intact chunks lie in another order than in the raw data$'
    bpk cat new.blp | cmp - N
    head -c 10240 B >N
    ends 2 bpk repair --apply --from N -f -o new.blp r.blp
    says 'the places of its chunks are not certain'
}

@test "lost chunks are packed as the first intact one is" {
    data field-f64 300000 A
    bpk pack -q -z 16K --codec zstd --filter shuffle -o a.blp A
    cp a.blp x.blp
    printf 'hurt' | dd of=x.blp bs=1 seek=9000 conv=notrunc status=none
    ends 0 bpk repair --apply --from A -o new.blp x.blp
    bpk info -vv new.blp >"$out"
    ! grep -qE 'stored|blosclz' "$out" || die "$(cat "$out")"
}

@test "raw data do not move chunks whose numbers are certain, though they are equal" {
    need_python
    export BPK
    data noise 6000 N
    { head -c 2000 N && head -c 1000 /dev/zero && tail -c +2001 N | head -c 1000 && head -c 1000 /dev/zero &&
        tail -c 1000 N; } >A
    # a later state, in which the first zeros are others
    { head -c 2000 A && tail -c 1000 N | tr '\0-\377' '\1-\377\0' && tail -c +3001 A; } >later
    { cat A && head -c 5000 N; } >longer
    local options
    for options in "--checksum crc32" "--checksum sha256" "--seal"; do
        # shellcheck disable=SC2086 # words
        bpk pack -f -q -z 1000 $options -o a.blp A
        "$python" "$tests/lib/damage.py" a.blp 4
        ends 1 bpk repair --apply --from later -o new.blp a.blp
        says '^bpk: later: differs from the intact chunk 2 of a.blp$'
        ends 1 bpk repair --apply --from longer -o new.blp a.blp
        says 'longer: is no file of the 6000 raw bytes'
        ends 0 bpk repair --apply --from A -f -o new.blp a.blp
        bpk cat new.blp | cmp - A
        rm new.blp
    done
}

@test "an array whose shape is lost is not said to be restored by raw data in C order" {
    data field-f64 200000 F
    bpk pack -q --dtype f8 --shape 250,100 --chunk-shape 50,30 -o x.b2nd F
    head -c 300 /dev/zero | dd of=x.b2nd conv=notrunc status=none
    ends 2 bpk repair x.b2nd
    says '1 of 20 chunks is lost; copies \(--merge\) restore more, '
    ends 1 bpk repair --apply --from F -o new.b2nd x.b2nd
    says 'F: is no file of the 240000 raw bytes that x.b2nd has, in the order of its chunks, since the shape is lost$'
}

# Write raw data of seven chunks of 256 bytes to A, and to B with the first two exchanged.
make_orders() {
    data noise 1792 A
    { tail -c +257 A | head -c 256; head -c 256 A; tail -c +513 A; } >B
}

# Repair a.$1, whose chunks were swapped, from A, and from B, whose order contradicts what was $2.
repair_orders() {
    ends 0 bpk repair --apply --from A -f -o new."$1" a."$1"
    grep -q 'raw bytes 0:1792 are intact$' "$out"
    bpk cat new."$1" | cmp - A
    ends 2 bpk repair --apply --from B -f -o new."$1" a."$1"
    grep -q 'raw bytes 0:1792 are intact, but not certain$' "$out"
    says "all 7 chunks that were found are intact; in the order of the raw data the chunks are not those that $2\$"
}

@test "raw data in an order that the digests in sizes refute have status 2" {
    local option
    make_orders
    for option in "" --seal "--checksum none"; do
        # shellcheck disable=SC2086
        bpk pack -q -f -0 -z 256 --superchunk-size 256 $option -o a.blpd A
        ends 0 bpk repair --apply --from A -o new.blpd a.blpd
        ends 1 bpk repair --apply --from B -o new.blpd a.blpd
        says '^bpk: B: differs from the intact chunk 0 of a.blpd$'
        mv a.blpd/data/__4__.bin x
        mv a.blpd/data/__6__.bin a.blpd/data/__4__.bin
        mv x a.blpd/data/__6__.bin
        repair_orders blpd 'meta/sizes records'
        rm -r new.blpd
    done
}

@test "the seal of a directory without its first file does not say that others have moved" {
    data noise 1792 A
    { head -c 1280 A; tail -c 256 A; tail -c 512 A | head -c 256; } >B
    bpk pack -q -z 256 --superchunk-size 256 --seal -o a.blpd A
    rm a.blpd/data/__1__.bin
    ends 2 bpk repair a.blpd
    says 'would not show while chunks are lost$'
    ends 2 bpk repair --apply --from B -o new.blpd a.blpd
    says '; in the order of the raw data the chunks are not those that were sealed$'
    ends 0 bpk repair --apply --from A -f -o new.blpd a.blpd
    bpk cat new.blpd | cmp - A
}

@test "raw data replace a copy of a chunk where the digests in sizes refute it" {
    data noise 6000 A
    bpk pack -q -z 2000 --superchunk-size 2000 -o a.blpd A
    cp a.blpd/data/__1__.bin a.blpd/data/__3__.bin
    ends 2 bpk repair --apply --from A -o new.blpd a.blpd
    says 'the raw data stand for lost chunks; some chunks are there more often than in the raw data$'
    bpk cat new.blpd | cmp - A
    # an intact chunk that the raw data do not have at all
    { head -c 2000 A; tr '\0-\377' '\1-\377\0' <A | tail -c +2001; } >B
    bpk pack -q -f -z 2000 --superchunk-size 2000 -o a.blpd A
    cp a.blpd/data/__1__.bin a.blpd/data/__3__.bin
    ends 1 bpk repair --apply --from B -f -o new.blpd a.blpd
    says '^bpk: B: differs from the intact chunk [0-9] of a.blpd$'
}

@test "raw data that the recorded identity proves are certain, though some of their chunks are equal" {
    data noise 10000 A
    head -c 2000 A >>A
    bpk pack -q --identity -z 2000 --superchunk-size 2000 -o a.blpd A
    mv a.blpd/data/__2__.bin x
    mv a.blpd/data/__3__.bin a.blpd/data/__2__.bin
    mv x a.blpd/data/__3__.bin
    cp a.blpd/data/__4__.bin a.blpd/data/__5__.bin
    ends 0 bpk repair --apply --from A -o new.blpd a.blpd
    bpk cat new.blpd | cmp - A
}

@test "raw data in an order that the seal refutes have status 2" {
    local option n size
    make_orders
    for option in "" "--checksum none"; do
        # shellcheck disable=SC2086
        bpk pack -q -f -0 -z 256 --seal $option -o a.blp A
        n=304 # of each chunk: 16 bytes of a header, 256, and 32 of a digest
        [ -z "$option" ] || n=272
        size=$(stat -c %s a.blp)
        cp a.blp x
        tail -c $n x | dd of=a.blp bs=1 seek=$((size - 3 * n)) conv=notrunc status=none
        tail -c $((3 * n)) x | head -c $n | dd of=a.blp bs=1 seek=$((size - n)) conv=notrunc status=none
        repair_orders blp 'were sealed'
    done
    bpk pack -q -F b2sparse -0 -z 256 --seal --checksum none -o a.b2sparse A
    mv a.b2sparse/00000004.chunk x
    mv a.b2sparse/00000006.chunk a.b2sparse/00000004.chunk
    mv x a.b2sparse/00000006.chunk
    repair_orders b2sparse 'were sealed'
    # the last chunk of a directory, where another one is lost
    bpk pack -q -f -z 256 --superchunk-size 256 --seal -o a.blpd A
    mv a.blpd/data/__6__.bin x
    mv a.blpd/data/__7__.bin a.blpd/data/__6__.bin
    mv x a.blpd/data/__7__.bin
    rm a.blpd/data/__1__.bin
    { head -c 1280 A; tail -c 256 A; tail -c 512 A | head -c 256; } >B
    ends 2 bpk repair --apply --from B -o new.blpd a.blpd
    says '; in the order of the raw data the chunks are not those that were sealed$'
    ends 0 bpk repair --apply --from A -f -o new.blpd a.blpd
    bpk cat new.blpd | cmp - A
}

@test "raw data that lack an intact chunk of a data file with another number have status 2" {
    local case per last option
    data noise 4439 A
    cp A B
    printf OTHER | dd of=B bs=1 seek=1900 conv=notrunc status=none
    for case in "1000 5" "1000 7" "2000 3" "1000 5 --identity"; do
        read -r per last option <<<"$case"
        rm -rf d.blpd new.blpd
        bpk pack -q -z 1000 --superchunk-size "$per" ${option:+"$option"} -o d.blpd A
        # chunk 1, which B lacks, is in the first or the second file
        mv d.blpd/data/__$((2000 / per))__.bin moved
        [ "$last" = 7 ] || mv "d.blpd/data/__${last}__.bin" d.blpd/data/__$((2000 / per))__.bin
        mv moved "d.blpd/data/__${last}__.bin"
        ends 0 bpk repair --apply --from A -o new.blpd d.blpd
        bpk cat new.blpd | cmp - A
        ends 2 bpk repair --json --apply --from B -f -o new.blpd d.blpd
        grep -q '"certain":false' "$out"
        says '1 more intact chunk is left out, and is not in the raw data'
    done
}
