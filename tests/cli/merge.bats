#!/usr/bin/env bats
# bpk repair --merge: the union of damaged copies of one archive.
# BPK_MERGE_ROUNDS=1000 tries so many damages of the copies of each archive.

load lib.bash

rounds() {
    local default=25
    ! light || default=6
    "$python" "$tests/lib/merge.py" "$1" "$2" "$3" 0 "${BPK_MERGE_ROUNDS:-$default}"
}

# The offset of chunk $2 of an archive.
offset_of() { bpk info -vv --json "$1" | "$python" -c "import json, sys; print(json.load(sys.stdin)['chunks'][$2]['offset'])"; }

# Overwrite bytes of a file: name, offset, count.
hurt() { head -c "$3" /dev/zero | tr '\0' '\252' | dd of="$1" bs=1 seek="$2" conv=notrunc status=none; }

@test "every chunk that is intact in a copy comes back: Bloscpack files" {
    need_python
    export BPK
    data field-f64 200000 A
    bpk pack -q -z 16K --set unit=m -o A.blp A
    rounds A.blp A 16384
}

@test "of contiguous frames: packed chunks, zeros in the index, holes" {
    need_python
    export BPK
    data field-f64 200000 A
    bpk pack -q -z 16K --set unit=m -o A.b2frame A
    rounds A.b2frame A 16384
    { head -c 60000 A && head -c 70000 /dev/zero && tail -c +130001 A; } >S
    bpk pack -q -z 4K -o S.b2frame S
    rounds S.b2frame S 4096
    for seed in 84 163 238 979; do # a damaged size of the file in the header shows no other state
        "$python" "$tests/lib/merge.py" S.b2frame S 4096 $seed $((seed + 1))
    done
    head -c 150000 A >H
    bpk pack -q -z 4K -o H.b2frame H
    tail -c +150001 A | bpk append -q H.b2frame -
    rounds H.b2frame A 4096
    # a copy with the trailer of the state before does not count the chunks
    "$python" "$tests/lib/merge.py" H.b2frame A 4096 522 523
}

@test "of sparse frames and chunked directories, whose files may be missing" {
    need_python
    export BPK
    data field-f64 200000 A
    bpk pack -q -z 16K --set unit=m -o A.b2s A
    rounds A.b2s A 16384
    bpk pack -q -z 16K --set unit=m --superchunk-size 64K -o A.blpd A
    rounds A.blpd A 16384
}

@test "of frames that c-blosc2 wrote, without digests" {
    need_python
    need_fixtures blosc2
    export BPK
    cp "$BPK_FIXTURES"/blosc2/c_updated_f64.* .
    rounds c_updated_f64.b2frame c_updated_f64.raw "$(bpk info --json c_updated_f64.b2frame | sed 's/.*"chunk_size":\([0-9]*\).*/\1/')"
}

@test "a map without --output, the original with it, and nothing where a chunk is lost" {
    local suffix
    data field-f64 200000 A
    for suffix in blp b2frame; do
        bpk pack -q -z 16K --set unit=m -o good.$suffix A
        cp good.$suffix 1.$suffix
        cp good.$suffix 2.$suffix
        hurt 1.$suffix 0 32
        hurt 1.$suffix 40000 100
        hurt 2.$suffix 90000 100
        before=$(cat 1.$suffix 2.$suffix | sha256sum)
        ends 3 bpk repair --merge 1.$suffix 2.$suffix
        grep -qx "1.$suffix: raw bytes 0:200000 are intact" "$out"
        says 'the copies together have all of it; -o OUT writes that'
        ends 3 bpk repair --merge --json 1.$suffix 2.$suffix
        grep -qF '"nchunks":13,"nlost":0,"nrestored":0,"certain":true,"lost":[],"restored":[],"unproven":[],"good":[{"chunk":0,"nchunks":13,"start":0,"end":200000}]' "$out"
        quietly bpk repair --merge -o new.$suffix 1.$suffix 2.$suffix
        same new.$suffix good.$suffix
        refuses 1 'already exists' bpk repair --merge -o new.$suffix 1.$suffix 2.$suffix
        refuses 1 '2.*: is one of the copies, and they are not changed' bpk repair --merge -f -o 2.$suffix 1.$suffix 2.$suffix
        # a whole copy needs no other one
        quietly bpk repair --merge -f -o new.$suffix good.$suffix 1.$suffix
        same new.$suffix good.$suffix
        [ "$(cat 1.$suffix 2.$suffix | sha256sum)" = "$before" ]

        hurt 2.$suffix 40000 100
        ends 2 bpk repair --merge 1.$suffix 2.$suffix
        says "1 of 13 chunks is lost\$"
        [ "$(grep -c 'are lost' "$out")" -eq 1 ]
        ends 2 bpk repair --merge -o none.$suffix 1.$suffix 2.$suffix
        says "1 of 13 chunks is lost; --fill zero or skip writes the others\$"
        [ ! -e none.$suffix ]
        ends 2 bpk repair --merge --fill zero -o filled.$suffix 1.$suffix 2.$suffix
        bpk verify filled.$suffix
        ends 0 bpk repair -f --merge --from A -o filled.$suffix 1.$suffix 2.$suffix
        bpk cat filled.$suffix | same - A
    done
}

@test "archives that are not copies of one are refused, and wrong usage" {
    need_python
    data field-f64 100000 A
    { printf x && tail -c +2 A; } >B
    head -c 90000 A >C
    for name in A B C; do bpk pack -q -z 16K -o $name.blp $name; done
    bpk pack -q -z 16K -o A.b2frame A
    bpk pack -q -z 16K -o B.b2frame B
    refuses 1 'chunk 0 is intact in A.blp and in B.blp, and differs: they are not copies of one archive' bpk repair --merge -o new.blp A.blp B.blp
    refuses 1 'chunk 0 is intact in A.b2frame and in B.b2frame, and differs' bpk repair --merge A.b2frame B.b2frame
    refuses 1 'A.blp and C.blp are not copies of one archive: 7 and 6 chunks' bpk repair --merge -o new.blp A.blp C.blp
    refuses 1 'are not copies of one archive: their formats differ' bpk repair --merge A.blp A.b2frame
    # one small chunk, whose number nothing in the file proves
    seq 1 9 >t
    seq 2 10 >u
    for name in t u; do bpk pack -q -o $name.blp $name; done
    cp A.blp a.blp
    "$python" "$tests/lib/damage.py" a.blp 3
    for name in A a u; do
        refuses 1 'are not copies of one archive' bpk repair --merge -o new.blp $name.blp t.blp
        refuses 1 'are not copies of one archive' bpk repair --merge -o new.blp t.blp $name.blp
    done
    seq 1 1000 >v
    bpk pack -q -o v.blp v
    "$python" "$tests/lib/damage.py" v.blp 0
    refuses 1 'v.blp and t.blp are not copies of one archive: 3893 and 18 raw bytes' bpk repair --merge -o new.blp v.blp t.blp
    [ ! -e new.blp ]
    quietly bpk repair --merge -o same.blp t.blp t.blp
    refuses 64 '--merge needs two copies' bpk repair --merge A.blp
    refuses 64 'only one of --repack, --apply, --merge' bpk repair --merge --apply -o x A.blp A.blp
    refuses 64 '--fill and --from need --output' bpk repair --merge --fill zero A.blp B.blp
    refuses 64 'needs the names of files' bpk repair --merge A.blp -
}

# Make copies of archive $1, whose chunks but those named lose bytes: name, numbers. Its header, the
# index of a frame at the end, or the descriptions of a directory go, too, if the first word is "lost".
leave() {
    local from=$1 to=$2 lost=$3 file
    shift 3
    rm -rf "$to"
    cp -r "$from" "$to"
    "$python" "$tests/lib/damage.py" "$to" "$@"
    [ "$lost" = lost ] || return 0
    case $to in
    *.blp) hurt "$to" 0 32 ;;
    *.b2frame) hurt "$to" 0 32 && truncate -s -100 "$to" ;;
    *.blpd) rm -r "$to/meta" && for file in "$to"/data/*; do hurt "$file" 0 32; done ;;
    *.b2s) hurt "$to/chunks.b2frame" 0 32 && truncate -s -100 "$to/chunks.b2frame" ;;
    esac
}

@test "a copy without certain numbers shows that it is one: it is refused beside another archive" {
    need_python
    export BPK
    local suffix checksum
    data field-f64 200000 A
    data noise 200000 B
    for suffix in blp b2frame b2s blpd; do
        for checksum in crc32 none; do
            [ "$checksum" = crc32 ] || [[ $suffix == blp* ]] || continue
            bpk pack -q -f -z 16K --checksum $checksum -o a.$suffix A
            bpk pack -q -f -z 16K --checksum $checksum -o b.$suffix B
            rm -rf new.$suffix
            leave a.$suffix a2.$suffix lost 3
            leave b.$suffix b2.$suffix kept 5
            leave b.$suffix b3.$suffix lost 5
            for copies in "a2 b" "b a2" "a2 b2" "b2 a2" "a2 b3"; do
                set -- $copies
                refuses 1 'are not copies of one archive' bpk repair --merge $1.$suffix $2.$suffix
                refuses 1 'are not copies of one archive' bpk repair --merge --fill zero -o new.$suffix $1.$suffix $2.$suffix
                [ ! -e new.$suffix ]
            done
            # beside a copy of its own it does no harm
            [ $checksum = crc32 ] || continue
            ends 0 bpk repair --merge -o new.$suffix a2.$suffix a.$suffix
            bpk cat new.$suffix | same - A
        done
    done
}

@test "the last half without a header fits the first half with one, and nothing else" {
    need_python
    export BPK
    local suffix
    data field-f64 200000 A
    data noise 200000 B
    { head -c 20000 A && tail -c +20001 B; } >C
    for suffix in blp b2frame; do
        for name in A B C; do bpk pack -q -f -z 16K -o $name.$suffix $name; done
        leave A.$suffix 1.$suffix kept 7 8 9 10 11 12
        leave A.$suffix 2.$suffix lost 0 1 2 3 4 5 6
        for copies in "1 2" "2 1"; do
            set -- $copies
            rm -f new.$suffix
            # of the frame the end is cut off; the digests of the other copy prove the chunks
            ends 0 bpk repair --merge -o new.$suffix $1.$suffix $2.$suffix
            bpk cat new.$suffix | same - A
        done
        # neither tells its numbers
        leave A.$suffix 1.$suffix lost 7 8 9 10 11 12
        refuses 1 'no intact chunk is in both' bpk repair --merge 1.$suffix 2.$suffix
        # the first chunk is equal, and the others are not
        leave C.$suffix 1.$suffix lost 4
        refuses 1 'of the chunks that are intact in 1.*, 1[12] are not those of the other' bpk repair --merge -o none 1.$suffix A.$suffix
        # a copy without an intact chunk takes and gives nothing; the digests of the frame are cut off
        [ $suffix = blp ] || continue
        leave B.$suffix 1.$suffix lost $(seq 0 12)
        ends 0 bpk repair --merge -f -o new.$suffix 1.$suffix A.$suffix
        same new.$suffix A.$suffix
    done
}

@test "an array keeps its shape and its metadata" {
    need_python
    export BPK
    data field-f64 240000 A
    bpk pack -q --dtype f8 --shape 100,300 --chunk-shape 30,100 --set unit=m -o good.b2nd A
    cp good.b2nd 1.b2nd
    cp good.b2nd 2.b2nd
    "$python" "$tests/lib/damage.py" 1.b2nd 2 3
    "$python" "$tests/lib/damage.py" 2.b2nd 7
    hurt 2.b2nd 0 40
    quietly bpk repair --merge -o new.b2nd 1.b2nd 2.b2nd
    same new.b2nd good.b2nd
}

@test "copies of other sizes: the end is missing, bytes came or went" {
    data field-f64 200000 A
    local suffix
    for suffix in blp b2frame; do
        bpk pack -q -z 16K -o good.$suffix A
        head -c 100000 good.$suffix >1.$suffix
        cp good.$suffix 2.$suffix
        hurt 2.$suffix 20 4
        hurt 2.$suffix 50000 10
        quietly bpk repair --merge -o new.$suffix 1.$suffix 2.$suffix
        same new.$suffix good.$suffix
        # a chunk that has moved
        { head -c 40000 good.$suffix && printf 1234567 && tail -c +40001 good.$suffix; } >1.$suffix
        cp good.$suffix 2.$suffix
        hurt 2.$suffix 70000 10
        quietly bpk repair --merge -f -o new.$suffix 2.$suffix 1.$suffix
        same new.$suffix good.$suffix
    done
}

@test "copies that change while they are read end the merge, or the result is of one state" {
    local suffix count step status all=0
    need_nth
    data noise 60000 A
    data noise 2000 more
    cat A more >longer
    for suffix in blp blpd b2frame b2s; do
        bpk pack -q -z 8K -o good.$suffix A
        cp -r good.$suffix x.$suffix
        "$nth" -R -o calls "$BPK" repair --merge -T 1 -o out.$suffix x.$suffix x.$suffix >"$out"
        count=$(wc -l <calls)
        step=$((count / (${BPK_BESIDE_TRIES:-6}) + 1))
        for ((point = 1 + all % step; point <= count; point += step)); do
            rm -rf x.$suffix out.$suffix
            cp -r good.$suffix x.$suffix
            status=0
            NTH_RUN="timeout 5 $BPK append -q --no-sync x.$suffix more" "$nth" -R -n $point -a run \
                "$BPK" repair --merge -T 1 -o out.$suffix x.$suffix x.$suffix >"$out" 2>"$err" || status=$?
            all=$((all + 1))
            if [ $status -eq 0 ]; then
                bpk verify out.$suffix
                bpk cat out.$suffix >got
                cmp -s got A || same got longer
            else
                [ $status -eq 1 ] || die "$suffix at $point: status $status" "$(cat "$err")"
                says 'changed while it was read'
                [ ! -e out.$suffix ]
            fi
        done
    done
    echo "# $all points" >&3
}

@test "nothing is taken of a damaged copy beside an intact one, whose size of chunks it need not tell" {
    data noise 40000 A
    bpk pack -q -z 8K --set unit=m -o good.blp A
    # the room behind the metadata, which no digest covers: behind header and metadata's head, of
    # 32 bytes each, and the text, whose digest follows the room
    cp good.blp 1.blp
    text=$(od -An -tu4 -j52 -N4 good.blp) room=$(od -An -tu4 -j48 -N4 good.blp)
    [ $((room - text)) -gt 40 ]
    hurt 1.blp $((64 + text - 1)) $((room - text))
    hurt 1.blp 30000 10
    for copies in '1.blp good.blp' 'good.blp 1.blp'; do
        quietly bpk repair --merge -f -o new.blp $copies
        same new.blp good.blp
    done
    # a directory with its last chunk alone
    head -c 32784 A >B
    bpk pack -q -F chunked -z 8K --superchunk-size 8K -o good.blpd B
    cp -r good.blpd 1.blpd
    rm 1.blpd/meta/storage 1.blpd/data/__[1-4]__.bin
    for copies in '1.blpd good.blpd' 'good.blpd 1.blpd'; do
        rm -rf new.blpd
        quietly bpk repair --merge -o new.blpd $copies
        diff -r new.blpd good.blpd
    done
}

@test "a chunk has the place that is proven, not that of an equal one" {
    need_python
    local at
    head -c 20000 /dev/zero >zeros
    for copies in 1 2; do data noise 900 N && head -c 19100 zeros; done >A
    data noise 4900 N
    cat N zeros | head -c 20000 >>A
    bpk pack -q --codec zstd --level 1 -t 1 --filter none -z 20000 -o good.blp A
    # all chunks, and a byte of the header is missing
    { head -c 70 good.blp && tail -c +72 good.blp; } >1.blp
    # the whole file is rotated: chunk 0 lies where chunk 2 was
    at=$(($(offset_of good.blp 2) + 3800))
    { tail -c +$((at + 1)) good.blp && head -c $at good.blp; } >2.blp
    for copies in '1.blp 2.blp' '2.blp 1.blp'; do
        ends 0 bpk repair --merge -f -o new.blp $copies
        bpk cat new.blp | same - A
    done

    # four equal chunks, and the fifth is lost in a copy; the other one is rotated inside of the fourth
    for copies in 1 2 3 4; do head -c 7000 zeros; done >A
    data noise 300 N
    cat N zeros | head -c 7000 >>A
    bpk pack -q -f --codec lz4 --level 1 -t 1 --filter none -z 7000 -o good.blp A
    at=$(($(offset_of good.blp 4) + 26))
    { head -c $at good.blp && printf 0123456789abcdef && tail -c +$((at + 1)) good.blp; } >1.blp
    at=$(($(offset_of good.blp 3) + 10))
    { tail -c +$((at + 1)) good.blp && head -c $at good.blp; } >2.blp
    for copies in '1.blp 2.blp' '2.blp 1.blp'; do
        rm -f new.blp
        status=0
        bpk repair --merge -o new.blp $copies >"$out" 2>"$err" || status=$?
        [ $status -eq 2 ] || { bpk cat new.blp | same - A; }
    done
}

@test "a chunk that no checksum proves, and one copy alone has, is called that" {
    need_python
    local suffix
    data noise 35000 A
    for suffix in blp b2frame; do
        bpk pack -q -0 -t 1 -z 7000 --checksum none -o good.$suffix A
        cp good.$suffix 1.$suffix
        cp good.$suffix 2.$suffix
        # it still unpacks; the other copy has lost it
        hurt 1.$suffix 10000 4
        head -c 4000 /dev/zero | dd of=2.$suffix bs=1 seek="$(offset_of good.$suffix 1)" conv=notrunc status=none
        ends 2 bpk repair --merge -o new.$suffix 1.$suffix 2.$suffix
        says '[12] of 5 chunks stand on no checksum'
        bpk verify new.$suffix
        ends 2 bpk repair --merge 1.$suffix 2.$suffix
        # two that agree outvote it, and the line is there still
        ends 2 bpk repair --merge -f -o new.$suffix 1.$suffix good.$suffix good.$suffix
        says '1 of 5 chunks stand on no checksum'
        bpk cat new.$suffix | same - A
        ends 0 bpk repair --merge -f -o new.$suffix good.$suffix 2.$suffix good.$suffix
        same new.$suffix good.$suffix
    done
    # an identity proves them
    bpk pack -q -f -0 -t 1 -z 7000 --checksum none --identity -o good.blp A
    cp good.blp 1.blp
    cp good.blp 2.blp
    head -c 4000 /dev/zero | dd of=2.blp bs=1 seek="$(offset_of good.blp 1)" conv=notrunc status=none
    quietly bpk repair --merge -f -o new.blp 1.blp 2.blp
    same new.blp good.blp
    hurt 1.blp 10000 4
    ends 2 bpk repair --merge -f -o new2.blp 1.blp 2.blp
    [ ! -e new2.blp ]
}

@test "a recorded identity refutes the union: nothing is written, or with --fill chunks without it" {
    data noise 100000 A
    for walked in "" --no-offsets; do
        bpk pack -q -f -0 -z 20000 --checksum none --identity $walked -o good.blp A
        # bytes came into chunk 0, and a byte of chunk 2 is another one, which unpacks
        { head -c 9000 good.blp && head -c 500 /dev/zero && tail -c +9001 good.blp; } >1.blp
        cp good.blp 2.blp
        hurt 2.blp $(($(offset_of good.blp 2) + 5000)) 1
        for copies in '1.blp 2.blp' '2.blp 1.blp'; do
            rm -f new.blp
            ends 2 bpk repair --merge -o new.blp $copies
            says 'raw bytes 0:100000 are not those of the recorded identity'
            [ ! -e new.blp ]
            ends 2 bpk repair --merge --fill zero -o new.blp $copies
            says 'recorded an identity; the result has none'
            says 'stand on no checksum'
            bpk verify new.blp
        done
    done
}

@test "the union gives no less than a copy by itself, whose index is better than a search" {
    need_python
    data noise 2101 A
    bpk pack -q -0 -t 4 -z 300 --checksum crc32 -o good.blp A
    "$python" - <<'END'
x = open("good.blp", "rb").read()
c = bytearray(x)
c[1180] ^= 1  # chunk 3, and the second half of chunk 1, chunk 2 and some of it are there twice
c[620:620] = c[620:1000]
open("1.blp", "wb").write(c)
c = bytearray(x)
c[58:570] = bytes(512)
open("2.blp", "wb").write(c[476:] + c[:476])
END
    bpk repair --apply --fill zero -o alone.blp 1.blp >"$out" 2>"$err" || [ $? -eq 2 ]
    for copies in '1.blp 2.blp' '2.blp 1.blp'; do
        ends 2 bpk repair --merge -f --fill zero -o new.blp $copies
        same alone.blp new.blp
    done
    bpk cat new.blp >got
    cmp <(head -c 900 got && tail -c +1201 got) <(head -c 900 A && tail -c +1201 A)
}

@test "a copy whose chunks digests prove is taken before a union whose chunks only unpack" {
    need_python
    data noise 512 A
    data noise 8192 N
    LC_ALL=C tr -dc '\000-\047' <N | head -c 512 >B
    bpk pack -q -z 512 -t 1 --checksum sha256 --seal --set k=1 -o x.b2frame A
    bpk write -q --at 0 x.b2frame B
    # one copy has lost 3 bytes and is rotated, and 140 bytes of the trailer are zero in the other one
    { head -c -3 x.b2frame | tail -c +98 && head -c 97 x.b2frame; } >a.b2frame
    cp x.b2frame b.b2frame
    dd if=/dev/zero of=b.b2frame bs=1 seek=$(($(stat -c %s x.b2frame) - 250)) count=140 conv=notrunc status=none
    for copies in "a.b2frame b.b2frame" "b.b2frame a.b2frame"; do
        # shellcheck disable=SC2086 # words
        ends 2 bpk repair --merge -f -o new.b2frame $copies
        bpk cat new.b2frame | same - B
    done
}

@test "a copy of which the end is cut off is no copy that changes" {
    need_python
    local at
    data noise 62993 A
    bpk pack -q -0 -t 1 -z 7000 --checksum none -o good.b2s A
    cp -r good.b2s 1.b2s
    cp -r good.b2s 2.b2s
    truncate -s 59 1.b2s/00000004.chunk
    hurt 2.b2s/chunks.b2frame 72 8
    for copies in '1.b2s 2.b2s' '2.b2s 1.b2s'; do
        rm -rf new.b2s
        ends 2 bpk repair --merge -o new.b2s $copies
        says 'stand on no checksum'
        bpk cat new.b2s | same - A
    done
    # and a chunk that bytes have moved behind the end of the result
    bpk pack -q -z 7000 --checksum none -o good.b2frame A
    at=$(($(offset_of good.b2frame 8) - 20))
    { head -c $at good.b2frame && head -c 30000 /dev/zero && tail -c +$((at + 1)) good.b2frame; } >1.b2frame
    cp good.b2frame 2.b2frame
    hurt 2.b2frame 87 1
    ends 2 bpk repair --merge -o new.b2frame 1.b2frame 2.b2frame
    says 'stand on no checksum'
    bpk cat new.b2frame | head -c 49000 | same - <(head -c 49000 A)
}

@test "rotated, cut and damaged copies of archives with equal chunks give no wrong byte" {
    need_python
    export BPK
    local default=25
    ! light || default=6
    "$python" "$tests/lib/merge_moved.py" 0 "${BPK_MERGE_ROUNDS:-$default}"
    # bytes came: the index does not lead to the chunks, so that no identity refutes their order
    "$python" "$tests/lib/merge_moved.py" 105 106
}

@test "an archive and the same one twice in a file are no copies; the result of one copy has its name" {
    data noise 300000 A
    bpk pack -q -z 10000 -o one.blp A
    cat one.blp one.blp >two.blp
    cp one.blp bad.blp
    hurt bad.blp 150000 4
    for copies in 'bad.blp two.blp' 'two.blp bad.blp' 'one.blp two.blp'; do
        ends 1 bpk repair --merge --from A -o new.blp $copies
        says 'are not copies of one archive: .* raw bytes$'
        [ ! -e new.blp ]
    done
    # the end of one is missing, and the head of the other, so that the numbers of its chunks are lost
    head -c 180000 one.blp >1.blp
    tail -c 220000 one.blp >2.blp
    cp 1.blp 4.blp
    hurt 4.blp 0 32
    ends 2 bpk repair --merge -o new.blp 1.blp 2.blp
    says '^bpk: 1.blp: 13 of 30 chunks are lost'
    # neither knows them
    ends 2 bpk repair --merge -o new.blp 4.blp 2.blp
    says '^bpk: 2.blp: gives more chunks than the copies together, and is taken alone$'
    grep -qx '2.blp: raw bytes 0:210000 are intact, but not certain' "$out" || die "$(cat "$out")"
}

@test "a copy that has lost a whole chunk among others of its size is of another state" {
    need_python
    local options at copies
    head -c 12000 /dev/urandom >A
    for options in '' --seal '--checksum sha256'; do
        # shellcheck disable=SC2086
        bpk pack -q -f --plain -z 2000 $options -o good.blp A
        at=$(offset_of good.blp 1)
        { head -c "$at" good.blp && tail -c +$(($(offset_of good.blp 2) + 1)) good.blp; } >1.blp
        cp good.blp 2.blp
        hurt 2.blp "$at" $(($(offset_of good.blp 5) - at))
        for copies in '1.blp 2.blp' '2.blp 1.blp'; do
            # shellcheck disable=SC2086
            ends 2 bpk repair --merge -f -o new.blp $copies
            says 'chunks 4 and 5 are one that no copy has twice'
        done
    done
}

@test "the seal does not prove chunks of several copies without checksums" {
    need_python
    local at copies
    head -c 1024 /dev/urandom >A
    bpk pack -q --plain -z 256 -0 --seal --checksum none -o good.blp A
    at=$(offset_of good.blp 1)
    # a byte of chunk 0 differs in one copy, which has lost its end; a byte came into the other
    head -c -200 good.blp >1.blp
    hurt 1.blp $((at - 100)) 1
    { head -c "$at" good.blp && printf U && tail -c +$((at + 1)) good.blp; } >2.blp
    for copies in '1.blp 2.blp' '2.blp 1.blp'; do
        # shellcheck disable=SC2086
        ends 2 bpk repair --merge --json -f -o new.blp $copies
        grep -q '"certain":false' "$out"
    done
}

@test "bytes behind a sealed copy are left out, and the seal stays" {
    data noise 300000 A
    local kind
    for kind in blp b2frame; do
        bpk pack -q --seal -z 10000 -o good.$kind A
        cp good.$kind 1.$kind
        hurt 1.$kind 150000 4
        { cat good.$kind && echo junk; } >2.$kind
        { cat good.$kind good.$kind; } >3.$kind
        for copies in "1.$kind 2.$kind" "3.$kind 1.$kind" "2.$kind 3.$kind"; do
            ends 0 bpk repair --merge -f -o new.$kind $copies
            says "[23].$kind: [0-9]+ bytes from offset [0-9]+ on, behind the end of the sealed archive, are left out"
            cmp new.$kind good.$kind
        done
    done
}

@test "copies with seals of two generations: an older result has status 2" {
    data noise 60000 A
    head -c 3000 A >piece
    local kind copies
    for kind in blp blpd; do
        options=
        [ $kind != blpd ] || options="--superchunk-size 20K"
        bpk pack -q -0 -t 1 --seal -z 10000 $options -o 0.$kind A
        cp -R 0.$kind 1.$kind
        bpk write --at 20000 1.$kind piece
        # chunk 0 of the older one is damaged, and of the newer one chunk 2, which was written
        if [ $kind = blp ]; then
            hurt 0.blp 5000 4
            hurt 1.blp 25000 4
        else
            hurt "$(find 0.blpd/data -type f | sort | sed -n 1p)" 6000 4
            hurt "$(find 1.blpd/data -type f | sort | sed -n 2p)" 6000 4
        fi
        for copies in "0.$kind 1.$kind" "1.$kind 0.$kind"; do
            rm -rf new.$kind
            ends 2 bpk repair --merge --json -o new.$kind $copies
            grep -q '"certain":false' "$out"
            says "the result is of an older state: its seal is of generation 1, and that of 1.$kind of 2$"
        done
    done
}

@test "copies of two states, without seals: the chunk that was written and is lost is not passed for whole" {
    need_python
    data noise 60000 A
    data field-f64 20000 piece
    local kind copies options
    for kind in blp b2frame b2s blpd; do
        options=
        [ $kind != blpd ] || options="--superchunk-size 40000"
        bpk pack -q -z 20000 $options -o 0.$kind A
        cp -R 0.$kind 1.$kind
        bpk write --at 20000 1.$kind piece
        cp -R 1.$kind 2.$kind
        case $kind in
            b2s) hurt 2.b2s/00000003.chunk 200 4 ;;
            blpd) hurt 2.blpd/data/__1__.bin $(($(offset_of 2.blpd 1) + 200)) 4 ;;
            *) hurt 2.$kind $(($(offset_of 2.$kind 1) + 200)) 4 ;;
        esac
        for copies in "0.$kind 2.$kind" "2.$kind 0.$kind"; do
            rm -rf new.$kind
            ends 2 bpk repair --merge -o new.$kind $copies
            says "^bpk: ${copies/ / and } are of two states of the archive, as chunk 1 shows; the result may have parts of the older one$"
        done
        # copies of one state
        rm -rf new.$kind
        bpk repair --merge -o new.$kind 2.$kind 1.$kind
    done
}

@test "the same for a chunk of the same size that was written in its place, and where a hole hides its header" {
    need_python
    data noise 60000 A
    data noise 80000 B
    tail -c 20000 B >piece
    bpk pack -q -0 -z 20000 -o 0.blp A
    cp 0.blp 1.blp
    bpk write --at 20000 1.blp piece
    hurt 1.blp $(($(offset_of 0.blp 1) + 200)) 4
    ends 2 bpk repair --merge -o new.blp 0.blp 1.blp
    says "two states of the archive, as chunk 1 shows"
    data field-f64 60000 C
    bpk pack -q -z 20000 -o 2.blp C
    cp 2.blp 3.blp
    bpk write --at 20000 3.blp piece
    hurt 3.blp "$(offset_of 2.blp 1)" 100
    ends 2 bpk repair -f --merge -o new.blp 2.blp 3.blp
    says "two states of the archive, as chunk 2 shows"
    # bytes came or went in the chunk, or sectors are lost, with the header and all offsets
    bpk pack -q -0 -z 16K -o 6.blp A
    cp 6.blp 7.blp
    head -c 50 /dev/zero | bpk write --at 100 7.blp -
    head -c 50 /dev/zero | bpk write --at 40000 7.blp -
    hurt 6.blp $(($(offset_of 6.blp 2) + 300)) 4
    cp 7.blp 8.blp
    hurt 8.blp 0 512
    { head -c 300 7.blp; echo; tail -c +301 7.blp; } >9.blp
    { head -c 300 7.blp; tail -c +813 7.blp; } >10.blp
    for copy in 8 9 10; do
        ends 2 bpk repair --json -f --merge -o new.blp 6.blp $copy.blp
        says "two states of the archive, (as chunk [02] shows|or one has lost a whole chunk: a damaged)"
        grep -qF '"certain":false' "$out"
    done
    # few bytes of a packed chunk differ, its last ones too, and all of its digest
    {
        seq 100000 102500
        echo 1
    } | head -c 16384 >C
    bpk pack -q -z 4K --codec lz4 -t 1 -o 11.blp C
    cp 11.blp 12.blp
    printf 7 | bpk write --at 8190 12.blp -
    hurt 12.blp $(($(offset_of 12.blp 1) + 60)) 1
    [ "$(offset_of 11.blp 2)" = "$(offset_of 12.blp 2)" ]
    ends 2 bpk repair --merge -f -o new.blp 11.blp 12.blp
    says "two states of the archive, as chunk 1 shows"
    # zeros, which the index alone has
    head -c 60000 /dev/zero >Z
    bpk pack -q -z 20000 -o 4.b2frame Z
    cp 4.b2frame 5.b2frame
    bpk write --at 20000 5.b2frame piece
    hurt 5.b2frame $(($(offset_of 5.b2frame 1) + 200)) 4
    ends 2 bpk repair --merge -o new.b2frame 4.b2frame 5.b2frame
    says "two states of the archive, as chunk 1 shows"
}

# Both orders of copies, and the second is the newer one, end with 2 and name what shows it.
tells_states() { # old new line
    local order
    for order in "$1 $2" "$2 $1"; do
        rm -rf out
        ends 2 bpk repair --merge --json -o out $order
        grep -q '"certain":false' "$out"
        says "are of two states of the archive, as $3; the result may have parts of the older one$"
    done
}

@test "copies of two states: what shows it is in a header, a digest, a list of sizes, or in a chunk that one alone has" {
    need_python
    data noise 40000 A
    head -c 4096 A | tr '\0-\377' '\1-\377\0' >piece
    # the header of the chunk that was written is damaged; its digest behind it is not
    bpk pack -q -0 -t 8 -z 4096 -o 0.blp A
    cp 0.blp 1.blp
    bpk write -q 1.blp --at 8192 piece
    hurt 1.blp "$(offset_of 0.blp 2)" 4
    tells_states 0.blp 1.blp 'chunk 2 shows'
    hurt 0.blp $(($(offset_of 0.blp 6) + 50)) 4
    tells_states 0.blp 1.blp 'chunk 2 shows'
    bpk pack -q -0 -t 8 -z 4096 -F chunked -o 0.blpd A
    cp -R 0.blpd 1.blpd
    bpk write -q 1.blpd --at 8192 piece
    cp -R 1.blpd 2.blpd
    hurt 1.blpd/data/__1__.bin "$(offset_of 0.blpd 2)" 4
    tells_states 0.blpd 1.blpd 'chunk 2 shows'
    # the list of sizes of the newer one is damaged, and its chunk is not that of the result
    hurt 2.blpd/meta/sizes $(($(wc -c <2.blpd/meta/sizes) - 30)) 4
    hurt 0.blpd/data/__1__.bin 200 4
    tells_states 0.blpd 2.blpd 'chunks show that are intact in one alone'
    # the index of the newer one is damaged, but its header tells its size
    bpk pack -q -0 -t 8 -z 4096 -F b2sparse -o 0.b2s A
    local change
    for change in write append; do
        rm -rf 1.b2s
        cp -R 0.b2s 1.b2s
        case $change in
            write) bpk write -q 1.b2s --at 8192 piece ;;
            append) bpk append -q 1.b2s piece ;;
        esac
        head -c 16 /dev/zero |
            dd of=1.b2s/chunks.b2frame bs=1 seek=$(($(wc -c <1.b2s/chunks.b2frame) - 30)) conv=notrunc status=none
        tells_states 0.b2s 1.b2s '.* show.*'
    done
    # zeros and metadata, which the end of a frame alone has, whose header tells its size
    head -c 4096 /dev/zero >zeros
    for change in zeros meta; do
        bpk pack -f -q -0 -t 8 -z 4096 -F b2frame -o 5.b2frame A
        cp 5.b2frame 6.b2frame
        case $change in
            zeros) bpk write -q 6.b2frame --at 8192 zeros ;;
            meta) bpk meta set 6.b2frame a=1 ;;
        esac
        head -c 16 /dev/zero | dd of=6.b2frame bs=1 seek=$(($(wc -c <6.b2frame) - 30)) conv=notrunc status=none
        tells_states 5.b2frame 6.b2frame 'their headers show'
    done
    # metadata
    local kind
    for kind in blp b2frame; do
        bpk pack -q -0 -t 8 -z 4096 --set a=1 -o 3.$kind A
        cp 3.$kind 4.$kind
        bpk meta set 4.$kind a=2
        hurt 3.$kind 20000 4
        hurt 4.$kind 8000 4
        tells_states 3.$kind 4.$kind 'their metadata show'
    done
    # parts outside of chunks, that are intact in both, though bytes came in between chunks
    for kind in blp b2frame b2s blpd; do
        rm -rf 3.* 4.*
        options=
        [ $kind != blpd ] || options="-F chunked --superchunk-size 8192"
        bpk pack -q -0 -t 8 -z 4096 $options -o 3.$kind A
        cp -R 3.$kind 4.$kind
        bpk meta set 4.$kind a=2
        case $kind in
            blp | b2frame)
                hurt 3.$kind 20000 4
                { head -c 30000 4.$kind && echo foreign && tail -c +30001 4.$kind; } >x
                mv x 4.$kind ;;
            b2s) rm 3.b2s/00000003.chunk 4.b2s/00000004.chunk ;;
            blpd) rm 3.blpd/data/__1__.bin 4.blpd/data/__3__.bin ;;
        esac
        tells_states 3.$kind 4.$kind '(parts outside of chunks show that are intact in both|their .* show)'
    done
    # a longer last chunk, of which the list of sizes that is left does not know
    rm -rf 3.blpd 4.blpd
    bpk pack -q -0 -t 8 -z 4096 -F chunked -o 3.blpd A
    cp -R 3.blpd 4.blpd
    head -c 800 piece | bpk append -q 4.blpd -
    truncate -s 3000 3.blpd/data/__1__.bin
    rm 4.blpd/meta/sizes
    tells_states 3.blpd 4.blpd 'their last chunks show'
    # the end of the newer one is lost, and its header tells its size
    bpk pack -q -f -0 -t 8 -z 4096 -o 3.b2frame A
    cp 3.b2frame 4.b2frame
    bpk append -q 4.b2frame piece
    hurt 3.b2frame 5000 4
    truncate -s 30000 4.b2frame
    tells_states 3.b2frame 4.b2frame 'their headers show'
}

@test "a copy that its seal or its identity proves is taken alone, without checksums of chunks, too" {
    data noise 60000 A
    local kind proof copies
    for kind in blp b2frame b2s blpd; do
        for proof in --seal --identity; do
            options=
            [ $kind != blpd ] || options="-F chunked --superchunk-size 16K"
            rm -rf 1.* 2.*
            bpk pack -q -0 -t 1 -z 8K --checksum none $proof $options -o 1.$kind A
            cp -R 1.$kind 2.$kind
            case $kind in
                blp | b2frame) hurt 2.$kind 20000 40 ;;
                b2s) hurt 2.b2s/00000003.chunk 1000 40 ;;
                blpd) hurt 2.blpd/data/__2__.bin 1000 40 ;;
            esac
            for copies in "1.$kind 2.$kind" "2.$kind 1.$kind"; do
                rm -rf new.$kind
                quietly bpk repair --merge -o new.$kind $copies
                bpk cat new.$kind | same - A
                diff -r -x .lock 1.$kind new.$kind
            done
        done
    done
}

@test "bytes behind the index of sealed sparse frames cost neither chunks nor the seal" {
    data noise 60000 A
    local copies
    bpk pack -q -0 -t 1 -z 8K --seal -o 0.b2s A
    cp -R 0.b2s 1.b2s
    cp -R 0.b2s 2.b2s
    hurt 1.b2s/00000003.chunk 1000 40
    hurt 2.b2s/00000004.chunk 1000 40
    for behind in '1.b2s' '1.b2s 2.b2s'; do
        for copy in $behind; do head -c 100 A >>"$copy/chunks.b2frame"; done
        for copies in '1.b2s 2.b2s' '2.b2s 1.b2s'; do
            rm -rf new.b2s
            quietly bpk repair --merge -o new.b2s $copies
            diff -r -x .lock 0.b2s new.b2s
        done
    done
}

@test "bytes came and went in all copies: chunks with certain numbers are united all the same" {
    need_python
    data noise 100000 A
    local kind copies at
    for kind in b2frame b2nd; do
        options="-z 8K"
        [ $kind != b2nd ] || options="--dtype <i8 --shape 12500 --chunk-shape 1000"
        bpk pack -q $options -o 0.$kind A
        # each has lost another chunk
        at=$(($(offset_of 0.$kind 3) + 900))
        { head -c $at 0.$kind && echo foreign && tail -c +$((at + 1)) 0.$kind; } >1.$kind
        at=$(($(offset_of 0.$kind 8) + 900))
        { head -c $at 0.$kind && tail -c +$((at + 12)) 0.$kind; } >2.$kind
        at=$(($(offset_of 0.$kind 5) + 900))
        { head -c $at 0.$kind && head -c 5000 A && tail -c +$((at + 1)) 0.$kind; } >3.$kind
        hurt 2.$kind $(($(offset_of 0.$kind 1) + 900)) 4
        for copies in "1.$kind 2.$kind" "2.$kind 1.$kind" "3.$kind 2.$kind 1.$kind"; do
            rm -f new.$kind
            ends 0 bpk repair --merge -o new.$kind $copies
            ! grep -q 'is taken alone' "$err"
            bpk cat new.$kind | same - A
            quietly bpk verify new.$kind
        done
        # a chunk that all have lost
        for k in 1 2; do hurt $k.$kind $(($(offset_of 0.$kind 0) + 900)) 4; done
        ends 2 bpk repair --merge -f --fill zero -o new.$kind 1.$kind 2.$kind
        says '1 of 13 chunks is lost; zeros stand for (them|it)$'
        bpk cat new.$kind | tail -c +8193 | same - <(tail -c +8193 A)
    done
}

@test "without checksums bytes that came into one copy's file take no chunk from the other" {
    need_python
    data field-f64 200000 A
    for layout in blaze bcolz; do
        for d in x a b new; do rm -rf $d.blpd; done
        bpk pack -q -F chunked --layout $layout --checksum none --superchunk-size 16K -z 16K -o x.blpd A
        cp -r x.blpd a.blpd
        cp -r x.blpd b.blpd
        file=$(ls -S x.blpd/data | grep -v __0 | head -1)
        { head -c 3000 x.blpd/data/"$file" && head -c 300 A && tail -c +3001 x.blpd/data/"$file"; } >b.blpd/data/"$file"
        last=$(ls -S x.blpd/data | grep -v __0 | sed -n 3p)
        hurt a.blpd/data/"$last" 3000 1
        for copies in "a.blpd b.blpd" "b.blpd a.blpd"; do
            rm -rf new.blpd
            # shellcheck disable=SC2086 # words
            ends 2 bpk repair --merge -o new.blpd $copies
            says '2 of 13 chunks stand on no checksum'
            bpk cat new.blpd | same - A
        done
    done
}

# The one has lost the end of its last chunk. In the other bytes are missing, and the size of its metadata is damaged.
@test "a copy that has lost its metadata gives chunks by their certain numbers" {
    data field-f64 60000 A
    bpk pack -q -z 4K -t 8 --identity -o 0.blp A
    head -c -1 0.blp >1.blp
    { head -c 20000 0.blp && tail -c +20513 0.blp; } >2.blp
    hurt 2.blp 36 1
    for order in "1.blp 2.blp" "2.blp 1.blp"; do
        rm -f new.blp
        ends 0 bpk repair --merge -o new.blp $order
        bpk cat new.blp | same - A
    done
}

@test "directories without their lists of chunks have at least the chunks of their files" {
    data noise 100000 A
    bpk pack -q -F chunked -z 8K --superchunk-size 32K -o 0.blpd A
    cp -R 0.blpd 1.blpd
    cp -R 0.blpd 2.blpd
    rm 1.blpd/data/__4__.bin 1.blpd/meta/sizes
    rm 2.blpd/data/__2__.bin
    for copies in '1.blpd 2.blpd' '2.blpd 1.blpd'; do
        rm -rf new.blpd
        ends 0 bpk repair --merge -o new.blpd $copies
        bpk cat new.blpd | same - A
    done
}

@test "a copy whose data files are swapped contradicts no other one" {
    data noise 100000 A
    bpk pack -q -F chunked -z 8K --superchunk-size 32K -o 0.blpd A
    cp -R 0.blpd 1.blpd
    cp -R 0.blpd 2.blpd
    rm 1.blpd/data/__4__.bin
    mv 2.blpd/data/__1__.bin x && mv 2.blpd/data/__2__.bin 2.blpd/data/__1__.bin && mv x 2.blpd/data/__2__.bin
    for copies in '1.blpd 2.blpd' '2.blpd 1.blpd'; do
        rm -rf new.blpd
        status=0
        bpk repair --merge --fill zero -o new.blpd $copies 2>"$err" || status=$?
        [ $status -ne 1 ] || die "$(cat "$err")"
        [ $status -ne 0 ] || bpk cat new.blpd | cmp - A
    done
}

@test "an order that a certain copy contradicts is no result, and nothing is lost with a union that gives nothing" {
    need_python
    export BPK
    data noise 39999 A
    bpk pack -q -0 -z 2000 --no-offsets -o n.blp A
    cp n.blp 1.blp
    hurt 1.blp $(($(offset_of n.blp 3) + 100)) 4
    hurt 1.blp $(($(offset_of n.blp 12) + 100)) 4
    local at size source
    at=$(offset_of n.blp 0)
    size=$(($(offset_of n.blp 1) - at))
    for source in 0 5 18; do
        # a copy of a chunk lies before the first one
        { head -c "$at" n.blp && tail -c +$(($(offset_of n.blp $source) + 1)) n.blp | head -c $size &&
            tail -c +$((at + 1)) n.blp; } >2.blp
        for copies in "1.blp 2.blp" "2.blp 1.blp"; do
            status=0
            bpk repair --merge -f -o new.blp $copies 2>"$err" || status=$?
            [ $status -ne 0 ] || bpk cat new.blp | same - A || die "$source: $(cat "$err")"
        done
    done
    # frames whose chunks stand elsewhere, or that are of two states
    bpk pack -q -F b2frame --checksum none -0 -z 2000 -o 1.b2frame A
    cp 1.b2frame 2.b2frame
    head -c 2000 A | tr '\0-\377' '\1-\377\0' >piece
    bpk write -q --at 8000 2.b2frame piece
    ends 2 bpk repair --merge -o new.b2frame 1.b2frame 2.b2frame
    [ "$(bpk cat new.b2frame | wc -c)" -eq 39999 ]
}

@test "copies of two states: a chunk that equals others, and a cut copy whose header counts more" {
    need_python
    data noise 40000 A
    head -c 2000 A >more
    local kind
    for kind in "" --no-offsets; do
        # shellcheck disable=SC2086 # a word, or none
        bpk pack -q -f -0 -z 2000 $kind -o 0.blp A
        cp 0.blp 1.blp
        bpk append -q 1.blp more
        cp 1.blp 2.blp
        hurt 1.blp 21 1
        truncate -s -400 2.blp
        tells_states 0.blp 1.blp '(chunks show that are intact in one alone|their headers show)'
    done
    hurt 0.blp 5000 4
    tells_states 0.blp 2.blp 'their headers show'
    bpk pack -q -0 -z 2000 -o 0.b2frame A
    cp 0.b2frame 1.b2frame
    tail -c 2000 A | bpk append -q 1.b2frame -
    truncate -s -400 1.b2frame
    tells_states 0.b2frame 1.b2frame 'their headers show'
}

@test "a copy that shares only chunks of zeros may be of another archive" {
    need_python
    export BPK
    { data noise 1000 /dev/stdout && head -c 3000 /dev/zero; } >A
    { head -c 1000 /dev/zero && data field-f64 3000 /dev/stdout; } >B
    bpk pack -q -z 1000 -o a.blp A
    bpk pack -q -z 1000 -o b.blp B
    local at
    at=$(offset_of a.blp 0)
    hurt a.blp $((at + 300)) 4
    # of the other one its first chunk is left, where this one has lost its own
    head -c "$(offset_of b.blp 1)" b.blp >x.blp
    hurt x.blp 16 8
    local status=0
    bpk repair --merge -o new.blp a.blp x.blp 2>"$err" || status=$?
    [ $status -ne 0 ] || die "chunks of another archive, with status 0"
}

@test "a copy whose own digests refute it does not stand for one that has lost a chunk" {
    data noise 300000 A
    bpk pack -q -F chunked -z 16K --superchunk-size 64K --seal --identity -o g A
    cp -a g a && cp -a g b
    hurt a/data/__2__.bin 2000 4
    mv b/data/__2__.bin x && mv b/data/__3__.bin b/data/__2__.bin && mv x b/data/__3__.bin
    ends 2 bpk repair --merge -o new a b
    [ ! -e new ]
    ends 2 bpk repair --merge --fill zero -o new a b
    [ "$(bpk cat new | cmp -l - A | wc -l)" -le 16384 ]
    # a stray byte keeps the copies from being put together, and a line says so
    rm -r a b new
    cp -a g a && cp -a g b
    hurt a/data/__2__.bin 2000 4
    printf Q >>b/data/__3__.bin
    ends 0 bpk repair --merge -o new a b
    diff -r new g >/dev/null || says 'new: is a new archive of the chunks, not the old one byte for byte$'
    bpk cat new | cmp - A
    # copies of one list of digests are copies of one archive
    rm -r a b new
    cp -a g a && cp -a g b
    cp a/data/__1__.bin a/data/__3__.bin
    : >b/data/__1__.bin
    status=0
    bpk repair --merge -o new a b 2>"$err" || status=$?
    [ $status -ne 1 ] || die "$(cat "$err")"
    [ $status -ne 0 ] || bpk cat new | cmp - A
}

@test "a list of sizes that is intact tells the state of a directory that does not open" {
    data noise 7451 A
    bpk pack -q -z 1000 -F chunked --superchunk-size 3000 -o old.blpd A
    cp -a old.blpd new.blpd
    bpk truncate --bytes 1500 new.blpd
    rm new.blpd/data/*
    hurt new.blpd/meta/storage 20 1
    for copies in "old.blpd new.blpd" "new.blpd old.blpd"; do
        rm -rf new
        # shellcheck disable=SC2086 # words
        ends 2 bpk repair --merge -o new $copies
        says 'are of two states of the archive'
    done
}

@test "a sealed copy whose chunks are exchanged gives way to the right one" {
    need_python
    data noise 300000 A
    bpk pack -q -0 -z 16K --seal -o good.blp A
    "$python" "$tests/lib/blp_manip.py" good.blp bad.blp swap
    ends 2 bpk verify bad.blp
    for order in "bad.blp good.blp" "good.blp bad.blp"; do
        # shellcheck disable=SC2086 # words
        ends 0 bpk repair --merge -f -o new.blp $order
        cmp new.blp good.blp
    done
}

@test "chunks behind the end of a cut copy come back, and those of a copy of another size" {
    need_python
    data field-f64 200000 A
    bpk pack -q -z 16K --set unit=m -o A.blp A
    bpk pack -q -z 16K --set unit=m --superchunk-size 64K -o A.blpd A
    bpk pack -q -z 16K --set unit=m -o A.b2frame A
    export BPK
    local seed
    "$python" "$tests/lib/merge.py" A.blp A 16384 522 523
    "$python" "$tests/lib/merge.py" A.blpd A 16384 789 790
    # a lost last chunk has no size, which would tell two states; digests that only the union has
    for seed in 143 1007 1117; do
        "$python" "$tests/lib/merge.py" A.b2frame A 16384 $seed $((seed + 1))
    done
}

@test "the metadata of a sealed copy that has lost its end, and raw data, tell that another one is older" {
    data noise 28672 A
    bpk pack -q -z 4K --seal -o old.blp A
    for change in "meta set" "truncate --bytes 12288"; do
        cp old.blp new.blp
        case $change in
            meta*) bpk meta set new.blp valid=false ;;
            *) bpk $change new.blp ;;
        esac
        truncate -s 700 new.blp
        for copies in "old.blp new.blp" "new.blp old.blp"; do
            ends 2 bpk repair -f --merge -o out.blp $copies
            says 'are of two states of the archive, as parts outside of chunks show'
        done
    done
    # the union is whole, and the raw data are those of another state
    bpk pack -q -z 4K -o a.blp A
    cp a.blp b.blp
    hurt a.blp $(($(offset_of a.blp 0) + 200)) 4
    hurt b.blp $(($(offset_of b.blp 5) + 200)) 4
    ends 0 bpk repair --merge --from A -o same.blp a.blp b.blp
    hurt A 9000 4
    ends 1 bpk repair --merge --from A -o out2.blp a.blp b.blp
    says 'A: differs from the intact chunk 2 of a.blp'
    [ ! -e out2.blp ]
}

@test "the header of a copy that has lost its end tells that another one is older" {
    need_python
    data field-f64 50000 A
    data field-f32 9000 more
    for options in --no-offsets ""; do
        # shellcheck disable=SC2086 # words
        bpk pack -q -f -z 4K $options -o old.blp A
        cp old.blp new.blp
        bpk append -q new.blp more
        head -c 27000 new.blp >cut.blp
        # without this byte the places of chunks are lost
        [ -n "$options" ] || { head -c 3000 new.blp && tail -c +3002 new.blp | head -c 25000; } >cut.blp
        for copies in "cut.blp old.blp" "old.blp cut.blp"; do
            # shellcheck disable=SC2086
            ends 2 bpk repair --merge -f -o out.blp $copies
            says 'are of two states of the archive, as their headers show'
        done
    done
}

@test "a chunk that its digest in a damaged trailer contradicts is no evidence against a copy" {
    need_python
    data noise 20000 A
    bpk pack -q -z 4K -o x.b2frame A
    cp x.b2frame a.b2frame
    cp x.b2frame b.b2frame
    local size
    size=$(stat -c %s x.b2frame)
    hurt a.b2frame $((size - 200)) 1
    hurt b.b2frame $((size - 100)) 1
    dd if=/dev/zero of=b.b2frame bs=1 seek=9155 count=100 conv=notrunc status=none
    for copies in "a.b2frame b.b2frame" "b.b2frame a.b2frame"; do
        # shellcheck disable=SC2086 # words
        ends 0 bpk repair --merge -f -o new.b2frame $copies
        cmp new.b2frame x.b2frame
    done
}

@test "copies that differ in the order of chunks: an identity tells, or the status is 2 whichever comes first" {
    need_python
    data noise 50000 R
    bpk pack -q -z 10000 -t 1 --identity -o a.blp R
    "$python" "$tests/lib/blp_manip.py" a.blp b.blp swap
    for names in "a.blp b.blp" "b.blp a.blp"; do
        quietly bpk repair --merge -f -o new.blp $names
        same a.blp new.blp
    done
    rm ./*.blp
    bpk pack -q -z 10000 -t 1 -o a.blp R
    "$python" "$tests/lib/blp_manip.py" a.blp b.blp swap
    { printf X && tail -c +2 a.blp; } >c.blp
    { head -c 20 b.blp && printf '\4' && tail -c +22 b.blp; } >d.blp
    for names in "b.blp c.blp" "c.blp b.blp" "d.blp c.blp" "c.blp d.blp" "d.blp a.blp" "a.blp d.blp"; do
        ends 2 bpk repair --merge -f -o new.blp $names
        says 'have the same chunks in different orders'
        bpk repair --merge --json $names 2>"$err" | grep -q '"certain":false' || die "$names"
    done
}

@test "few chunks whose numbers are certain are worth more than many at unknown places" {
    need_python
    data noise 44000 A
    bpk pack -q -z 4K -t 8 -o 0.blp A
    cp 0.blp 1.blp
    local lost
    for lost in 3 4 7 8 9 10; do hurt 1.blp $(($(offset_of 0.blp $lost) + 900)) 4; done
    { tail -c +3001 0.blp | head -c 15000 && echo XX && tail -c +18001 0.blp; } >2.blp
    for copies in "1.blp 2.blp" "2.blp 1.blp"; do
        ends 2 bpk repair --merge -f --fill zero -o new.blp $copies
        says '1 of 11 chunks is lost'
        # of chunk 4 bytes went in both
        bpk cat new.blp | same - <(head -c 16384 A && head -c 4096 /dev/zero && tail -c +20481 A)
    done
    # unless they are all
    head -c 37000 0.blp >1.blp
    { tail -c +17 0.blp && head -c 16 0.blp; } >2.blp
    for copies in "1.blp 2.blp" "2.blp 1.blp"; do
        ends 2 bpk repair --merge -f --fill zero -o new.blp $copies
        bpk cat new.blp | same - A
    done
}

@test "data files that were exchanged or copied are no sign of another archive" {
    data noise 44000 A
    local options order
    for options in "" --seal --identity; do
        rm -rf ./*.b2s
        bpk pack -q -z 4K -t 8 $options -o 0.b2s A
        cp -R 0.b2s 1.b2s
        cp -R 0.b2s 2.b2s
        mv 1.b2s/00000007.chunk x && mv 1.b2s/00000001.chunk 1.b2s/00000007.chunk && mv x 1.b2s/00000001.chunk
        hurt 2.b2s/00000001.chunk 1456 1
        for order in "1.b2s 2.b2s" "2.b2s 1.b2s"; do
            rm -rf new.b2s
            ends 0 bpk repair --merge -o new.b2s $order
            bpk cat new.b2s | same - A
        done
    done
    # a file copied over another one, with fewer chunks
    data field-f64 240000 A
    bpk pack -q -F chunked -t 8 -z 16K --superchunk-size 64K --seal --identity -o 0.blpd A
    cp -R 0.blpd 1.blpd
    cp -R 0.blpd 2.blpd
    cp 1.blpd/data/__3__.bin 1.blpd/data/__4__.bin
    hurt 2.blpd/data/__3__.bin 20000 100
    for order in "1.blpd 2.blpd" "2.blpd 1.blpd" "1.blpd 0.blpd" "0.blpd 1.blpd"; do
        rm -rf new.blpd
        quietly bpk repair --merge -o new.blpd $order
        diff -r -x .lock 0.blpd new.blpd
    done
    # the other copy has lost its digests
    rm -r ./*.blpd
    bpk pack -q -F chunked -t 8 -z 32K --superchunk-size 32K --seal -o 0.blpd A
    cp -R 0.blpd 1.blpd
    cp -R 0.blpd 2.blpd
    cp 1.blpd/data/__2__.bin 1.blpd/data/__6__.bin
    hurt 2.blpd/data/__4__.bin 200 100
    : >2.blpd/meta/sizes
    for order in "1.blpd 2.blpd" "2.blpd 1.blpd"; do
        rm -rf new.blpd
        quietly bpk repair --merge -o new.blpd $order
        diff -r -x .lock 0.blpd new.blpd
    done
}

# An index of zeros leads to the first chunk forty times.
@test "the right index leads to more chunks than one that leads to the same again and again" {
    data noise 131072 A
    head -c 32768 /dev/zero >>A
    bpk pack -q -F b2sparse -z 4K -o 0.b2s A
    cp -R 0.b2s 1.b2s
    cp -R 0.b2s 2.b2s
    hurt 1.b2s/00000002.chunk 1000 1
    dd if=/dev/zero of=2.b2s/chunks.b2frame bs=512 count=1 conv=notrunc status=none
    quietly bpk repair --merge -o new.b2s 1.b2s 2.b2s
    diff -r -x .lock 0.b2s new.b2s
}

@test "equal chunks do not make a data file a copy of another one" {
    data noise 20480 B
    { head -c 12288 /dev/zero && cat B; } >A
    bpk pack -q -F chunked -t 8 -z 4K --superchunk-size 16K -o 0.blpd A
    cp -R 0.blpd 1.blpd
    cp -R 0.blpd 2.blpd
    dd if=/dev/zero of=1.blpd/data/__1__.bin bs=128 count=1 conv=notrunc status=none
    truncate -s -100 2.blpd/data/__2__.bin
    for order in "1.blpd 2.blpd" "2.blpd 1.blpd"; do
        rm -rf new.blpd
        ends 0 bpk repair --merge -o new.blpd $order
        bpk cat new.blpd | same - A
    done
}

@test "a copy with exchanged data files gives way to two others, though it has more chunks" {
    data field-f64 60000 A
    bpk pack -q -F chunked -t 8 -z 4K --superchunk-size 16K -o 0.blpd A
    cp -R 0.blpd 2.blpd
    rm 0.blpd/data/__1__.bin
    cp -R 0.blpd 1.blpd
    hurt 2.blpd/data/__1__.bin 500 4
    mv 2.blpd/data/__2__.bin x && mv 2.blpd/data/__3__.bin 2.blpd/data/__2__.bin && mv x 2.blpd/data/__3__.bin
    for order in "0.blpd 1.blpd 2.blpd" "2.blpd 1.blpd 0.blpd"; do
        rm -rf new.blpd
        ends 2 bpk repair --merge --fill zero -o new.blpd $order
        says '1 of 15 chunks is lost'
        bpk cat --bytes 4096:60000 new.blpd | same - <(tail -c +4097 A)
    done
}

@test "the digests of one frame prove the chunks of another one that has lost its own" {
    need_python
    data noise 44000 A
    bpk pack -q -F b2frame -z 4K -t 8 -o 0.b2frame A
    local at how order
    at=$(($(offset_of 0.b2frame 2) + 900))
    { head -c $at 0.b2frame && head -c 512 /dev/zero && tail -c +$((at + 1)) 0.b2frame; } >1.b2frame
    at=$(offset_of 0.b2frame 9)
    for how in cut rotated damaged; do
        head -c -300 0.b2frame >2.b2frame
        [ $how != rotated ] || { tail -c +$((at + 1)) 0.b2frame && head -c $at 0.b2frame; } >2.b2frame
        # its own copy of the chunk unpacks, and is not that of the digest
        [ $how != damaged ] || hurt 2.b2frame $(($(offset_of 0.b2frame 2) + 900)) 4
        for order in "1.b2frame 2.b2frame" "2.b2frame 1.b2frame"; do
            rm -f new.b2frame
            if [ $how = damaged ]; then
                ends 2 bpk repair --merge -o new.b2frame $order
                says '1 of 11 chunks is lost'
                continue
            fi
            ends 0 bpk repair --merge -o new.b2frame $order
            bpk cat new.b2frame | same - A
        done
    done
    # it is newer, and its own digests are lost
    cp 0.b2frame 3.b2frame
    data noise 8000 /dev/stdout | bpk append -q 3.b2frame -
    at=26675
    { tail -c +$((at + 1)) 3.b2frame && head -c $at 3.b2frame; } >2.b2frame
    for order in "1.b2frame 2.b2frame" "2.b2frame 1.b2frame"; do
        ends 2 bpk repair --merge --json -f -o new.b2frame $order
        grep -q '"certain":false' "$out"
        says 'has others that are damaged or of another state of the archive; the result may have parts of the older one'
    done
}

@test "a frame that records the digests of a copy's chunks is one of the same archive, though no chunk is in both" {
    need_python
    data noise 4096 A
    tr '\000-\377' '\001-\377\000' <A >B
    bpk pack -q -F b2frame -z 1K -t 4 -o 0.b2frame A
    bpk pack -q -F b2frame -z 1K -t 4 -o other.b2frame B
    local n size archive order
    size=$(stat -c %s 0.b2frame)
    cp 0.b2frame 1.b2frame
    for n in 0 1 2; do hurt 1.b2frame $(($(offset_of 0.b2frame $n) + 100)) 1; done
    for archive in 0 other; do
        cp $archive.b2frame 2.b2frame
        hurt 2.b2frame $(($(offset_of 0.b2frame 3) + 100)) 1
        hurt 2.b2frame $((size - 50)) 1
        for order in "1.b2frame 2.b2frame" "2.b2frame 1.b2frame"; do
            rm -f new.b2frame
            if [ $archive = other ]; then
                refuses 1 'are not copies of one archive: no intact chunk is in both' bpk repair --merge -o new.b2frame $order
                continue
            fi
            ends 0 bpk repair --merge -o new.b2frame $order
            bpk cat new.b2frame | same - A
        done
    done
}

@test "a file of metadata that is longer in another copy is taken where it is intact" {
    data field-f64 240000 A
    bpk pack -q -F chunked -t 8 -z 16K --superchunk-size 64K --set run=7 -o 0.blpd A
    cp -R 0.blpd 1.blpd
    cp -R 0.blpd 2.blpd
    head -c 32 /dev/zero >1.blpd/meta/attributes
    rm 2.blpd/meta/sizes
    for order in "1.blpd 2.blpd" "2.blpd 1.blpd"; do
        rm -rf new.blpd
        quietly bpk repair --merge -o new.blpd $order
        diff -r -x .lock 0.blpd new.blpd
    done
}

@test "a directory that has lost every chunk gives its metadata to one of the same digests" {
    data field-f64 240000 A
    bpk pack -q -F chunked -t 8 -z 16K --seal --identity --set run=7 -o 0.blpd A
    cp -R 0.blpd 1.blpd
    cp -R 0.blpd 2.blpd
    : >1.blpd/data/__1__.bin
    hurt 2.blpd/meta/attributes 8 1
    for order in "1.blpd 2.blpd" "2.blpd 1.blpd"; do
        rm -rf new.blpd
        quietly bpk repair --merge -o new.blpd $order
        diff -r -x .lock 0.blpd new.blpd
    done
}

@test "a newer directory without its index is told from an older one that is sealed, without checksums" {
    data noise 44000 A
    data noise 4800 B
    local change
    for change in "append -q 2.b2s B" "write -q --at 8000 2.b2s B"; do
        rm -rf ./*.b2s
        bpk pack -q -F b2sparse -z 4K -t 8 --checksum none --seal -o 1.b2s A
        cp -R 1.b2s 2.b2s
        bpk $change
        hurt 1.b2s/00000009.chunk 0 2
        rm 2.b2s/chunks.b2frame
        tells_states 1.b2s 2.b2s 'chunks show that are intact in one alone'
    done
}

# One has lost a file and holds a copy of it as another one, which the other copy has lost.
@test "chunks of several directories together are not certain where only their digests over all tell" {
    need_python
    data noise 16000 A
    for checksum in crc32 sha256; do
        rm -rf ./*.blpd
        bpk pack -q -F chunked -z 4K -t 8 --superchunk-size 4K --checksum $checksum -o 1.blpd A
        cp -r 1.blpd 2.blpd
        mv 1.blpd/data/__2__.bin 1.blpd/data/__3__.bin
        rm 2.blpd/data/__3__.bin
        for copies in "1.blpd 2.blpd" "2.blpd 1.blpd"; do
            rm -rf new.blpd
            ends 2 bpk repair --merge --json -o new.blpd $copies
            grep -q '"certain":false' "$out"
            says 'data files that were swapped or copied would not show'
        done
    done
}

# The first chunk of one state is shorter than the room that the offsets of the other leave.
@test "a union with a gap between chunks may be of two states" {
    need_python
    data field-f64 8800 A
    bpk pack -q -z 4K -t 8 --checksum sha256 -o 1.blp A
    cp 1.blp 2.blp
    tail -c +1401 A | head -c 4400 | bpk write -q --at 2544 2.blp -
    [ "$(offset_of 1.blp 1)" -lt "$(offset_of 2.blp 1)" ]
    printf '\377\377\377\377\377\377\377\377' | dd of=1.blp bs=1 seek=10 conv=notrunc status=none
    hurt 1.blp $(($(offset_of 2.blp 1) + 900)) 1
    hurt 2.blp 900 4
    ends 2 bpk repair --merge --json -o new.blp 1.blp 2.blp
    says 'the copies differ in bytes .* which nothing proves; those of 1.blp are taken'
    grep -q '"nlost":0.*"certain":false' "$out"
}

# Print a file without the bytes from offset $2 to $3.
without() {
    head -c "$2" "$1"
    tail -c +$(($3 + 1)) "$1"
}

@test "counts of headers and offsets that chunks confirm tell two states, where a whole chunk is lost or bytes came" {
    need_python
    { head -c 5000 /dev/urandom && head -c 1000 /dev/zero && head -c 9000 /dev/urandom; } >A
    head -c 2000 A >piece
    bpk pack -q --plain -z 2000 -o 0.blp A
    # one has lost chunk 2, and most chunks of the other one are damaged
    without 0.blp "$(offset_of 0.blp 2)" "$(offset_of 0.blp 3)" >1.blp
    cp 0.blp 2.blp
    bpk truncate -q --bytes 13000 2.blp
    for n in 3 4 5 6; do
        hurt 2.blp $(($(offset_of 0.blp $n) + 100)) 4
    done
    ends 2 bpk repair --merge --json -f -o new.blp 1.blp 2.blp
    says 'two states of the archive, as their headers show'
    grep -q '"certain":false' "$out"
    # the chunk was written in one, which has lost its end, and bytes came in the other
    cp 0.blp 3.blp
    bpk write --at 4000 3.blp piece
    head -c 1000 piece | bpk write --at 14000 3.blp -
    head -c "$(offset_of 3.blp 6)" 3.blp >4.blp
    hurt 4.blp $(($(offset_of 3.blp 0) + 100)) 4
    without 0.blp $(($(offset_of 0.blp 2) + 100)) $(($(offset_of 0.blp 2) + 101)) >5.blp
    ends 2 bpk repair --merge --json -f -o new.blp 4.blp 5.blp
    says 'two states of the archive, as chunk 2 shows'
    without 0.blp $(($(offset_of 0.blp 2) + 2)) $(($(offset_of 0.blp 2) + 3)) >5.blp
    ends 2 bpk repair --merge --json -f -o new.blp 4.blp 5.blp
    says 'two states of the archive, as their offsets show'
    grep -q '"certain":false' "$out"
}

@test "the rest of a damaged chunk tells that the chunk in its place is another one, where the index tells nothing" {
    need_python
    head -c 12000 /dev/urandom >A
    tail -c 2000 A >piece
    bpk pack -q --plain -z 2000 -o 0.blp A
    cp 0.blp 1.blp
    bpk write --at 6000 1.blp piece
    head -c $(($(offset_of 0.blp 4) + 9)) 0.blp >2.blp
    hurt 2.blp 40 8 # an offset
    hurt 1.blp $(($(offset_of 0.blp 3) + 100)) 4
    ends 2 bpk repair --merge --json -f -o new.blp 1.blp 2.blp
    says 'two states of the archive, or one has lost a whole chunk: a damaged chunk of [12].blp is not the one at offset [0-9]+ of [12].blp'
    grep -q '"certain":false' "$out"
    # equal chunks: one that has lost the first is of the same state, but others are in its place
    { tail -c +2001 A | head -c 2000 && head -c 2000 A && head -c 2000 A && tail -c 6000 A; } >B
    bpk pack -q --plain -z 2000 -o 3.blp B
    without 3.blp "$(offset_of 3.blp 0)" "$(offset_of 3.blp 1)" >4.blp
    without 4.blp "$(offset_of 3.blp 2)" $(($(offset_of 3.blp 2) + 3)) >5.blp
    hurt 3.blp $(($(offset_of 3.blp 0) + 91)) 4
    hurt 3.blp 20 6 # the header
    ends 2 bpk repair --merge --json -f -o new.blp 5.blp 3.blp
    # bytes came into copies of one state, in two chunks
    bpk pack -q -f --plain -z 2000 -o 0.blp A
    { head -c $(($(offset_of 0.blp 1) + 40)) 0.blp && printf abc && tail -c +$(($(offset_of 0.blp 1) + 41)) 0.blp; } >6.blp
    without 0.blp $(($(offset_of 0.blp 3) + 1990)) $(($(offset_of 0.blp 3) + 1999)) >7.blp
    bpk repair --merge -f -o new.blp 6.blp 7.blp
    bpk cat new.blp | cmp - A
}

@test "without checksums a chunk that no copy has is not certain, and a copy that is shorter does not agree with itself" {
    need_python
    head -c 12000 /dev/urandom >A
    tail -c 2000 A >piece
    bpk pack -q --plain --checksum none -0 -z 2000 -o 0.blp A
    cp 0.blp 1.blp
    bpk write --at 0 1.blp piece
    local at
    at=$(offset_of 0.blp 1)
    { head -c $((at + 300)) 1.blp && printf abc && tail -c +$((at + 301)) 1.blp; } >2.blp
    hurt 0.blp "$at" 4
    ends 2 bpk repair --merge --json -f -o new.blp 0.blp 2.blp
    grep -q '"certain":false' "$out"
    # one has lost a whole chunk and its end, the other its header
    head -c 11000 A >B
    bpk pack -q -f --plain --checksum none -0 -z 2000 -o 0.blp B
    without 0.blp "$(offset_of 0.blp 2)" "$(offset_of 0.blp 3)" | head -c "$(offset_of 0.blp 3)" >3.blp
    hurt 0.blp 0 "$(offset_of 0.blp 0)"
    ends 2 bpk repair --merge --json -f -o new.blp 3.blp 0.blp
    says 'stand on no checksum: copies differ in them'
    grep -q '"certain":false' "$out"
}

@test "a file of a directory into which bytes came or went gives its chunks to their places, whatever the order of copies" {
    data field-f64 240000 A
    bpk pack -q -F chunked -t 8 -z 16K --superchunk-size 32K --set run=7 -o 0.blpd A
    cp -R 0.blpd 1.blpd
    cp -R 0.blpd 2.blpd
    local order
    hurt 1.blpd/meta/attributes 8 1
    truncate -s -100 1.blpd/data/__4__.bin
    without 0.blpd/data/__5__.bin 3000 3007 >2.blpd/data/__5__.bin
    for order in "1.blpd 2.blpd" "2.blpd 1.blpd"; do
        rm -rf new.blpd
        quietly bpk repair --merge -o new.blpd $order
        diff -r -x .lock 0.blpd new.blpd
    done
    # a file whose chunks have moved in both: they are united by their numbers, with the metadata
    without 0.blpd/data/__5__.bin 100 101 >1.blpd/data/__5__.bin
    for order in "1.blpd 2.blpd" "2.blpd 1.blpd"; do
        rm -rf new.blpd
        ends 2 bpk repair --merge --fill zero -o new.blpd $order
        says '1 of 15 chunks is lost'
        grep -q '"run": 7' new.blpd/meta/attributes
    done
}

@test "a chunk of a directory's file whose number is not certain is not laid between the places of others" {
    data noise 20000 A
    bpk pack -q -F chunked -t 8 -z 4K --superchunk-size 16K --seal -o 0.blpd A
    cp -R 0.blpd 1.blpd
    cp -R 0.blpd 2.blpd
    local order at
    hurt 1.blpd/meta/storage 115 4
    without 0.blpd/data/__1__.bin 343 350 >2.blpd/data/__1__.bin
    for at in 9000 13000; do
        hurt 2.blpd/data/__1__.bin $at 4
    done
    for order in "1.blpd 2.blpd" "2.blpd 1.blpd"; do
        rm -rf new.blpd
        quietly bpk repair --merge -o new.blpd $order
        diff -r -x .lock 0.blpd new.blpd
    done
}

# One copy has it twice, and has lost its digests; the other one is taken for its numbers.
@test "a chunk that a copy has twice counts once" {
    local order
    data noise 20000 A
    bpk pack -q -F b2sparse -z 4K -t 8 --seal -o 0.b2s A
    cp -R 0.b2s 1.b2s
    cp -R 0.b2s 2.b2s
    hurt 1.b2s/chunks.b2frame 300 1
    rm 1.b2s/00000001.chunk
    cp 1.b2s/00000002.chunk 1.b2s/00000003.chunk
    truncate -s -7 2.b2s/00000001.chunk 2.b2s/00000002.chunk
    for order in "1.b2s 2.b2s" "2.b2s 1.b2s"; do
        ends 2 bpk repair --merge -o new.b2s $order
        says '1 of 5 chunks is lost'
        [ ! -e new.b2s ]
    done
}

# Copy chunk $2 of 0.blp over chunk $3 of archive $1.
copy_over() {
    local from=$(($(offset_of 0.blp "$2") + 1)) behind
    behind=$(($(offset_of 0.blp $(($2 + 1))) + 1))
    tail -c +$from 0.blp | head -c $((behind - from)) |
        dd of="$1" bs=1 seek="$(offset_of 0.blp "$3")" conv=notrunc status=none
}

@test "a chunk that was copied over one that the other copy has lost is not certain" {
    need_python
    local order at
    data field-f64 20000 A
    bpk pack -q -z 3000 -t 8 -o 0.blp A
    # it is shorter, so that it leaves a gap
    cp 0.blp 1.blp
    cp 0.blp 2.blp
    copy_over 1.blp 1 3
    at=$(offset_of 0.blp 3)
    hurt 2.blp $((at + 1000)) 4
    for order in "1.blp 2.blp" "2.blp 1.blp"; do
        ends 2 bpk repair --merge -f -o new.blp $order
        says 'the offsets of the result name other places than those of its chunks'
    done
    # it is longer, and reaches into the next one
    cp 0.blp 1.blp
    copy_over 1.blp 0 2
    ends 2 bpk repair --json 1.blp
    grep -q '"certain":false' "$out"
    # the other copy ends in the chunk
    data noise 20000 A
    bpk pack -q -f -z 3000 -t 8 --set unit=m -o 0.blp A
    cp 0.blp 1.blp
    copy_over 1.blp 1 3
    head -c $(($(offset_of 0.blp 3) + 900)) 0.blp >2.blp
    for order in "1.blp 2.blp" "2.blp 1.blp"; do
        ends 2 bpk repair --merge -f -o new.blp $order
        says 'two states of the archive, as chunk 3 shows'
    done
    # bytes went before the copied one, so that indexes alone tell where the other copy has lost it
    hurt 1.blp $(($(offset_of 0.blp 2) + 900)) 1
    without 1.blp $(($(offset_of 0.blp 0) + 900)) $(($(offset_of 0.blp 0) + 907)) >3.blp
    for order in "3.blp 2.blp" "2.blp 3.blp"; do
        ends 2 bpk repair --merge -f -o new.blp $order
        says 'two states of the archive, as chunk 3 shows'
    done
    # a byte of the damaged one is missing, and the metadata are lost
    cp 0.blp 1.blp
    copy_over 1.blp 1 3
    without 0.blp $(($(offset_of 0.blp 3) + 900)) $(($(offset_of 0.blp 3) + 901)) >2.blp
    hurt 2.blp 53 1
    cp 1.blp 3.blp
    hurt 3.blp $(($(offset_of 0.blp 6) + 900)) 4
    for order in "3.blp 2.blp" "2.blp 3.blp"; do
        ends 2 bpk repair --merge -f -o new.blp $order
        says 'a damaged chunk of 2.blp is not the one at offset'
    done
    # the copy that has it twice has lost its header
    cp 0.blp 2.blp
    hurt 2.blp $(($(offset_of 0.blp 3) + 900)) 4
    hurt 1.blp 0 32
    for order in "1.blp 2.blp" "2.blp 1.blp"; do
        ends 2 bpk repair --merge -f -o new.blp $order
        says 'a damaged chunk of 2.blp is not the one at offset'
    done
}

@test "a chunk that was copied over a longer one is not certain where the next one is lost, too" {
    need_python
    data field-f64 20000 A
    bpk pack -q -z 3000 -t 8 -o 0.blp A
    head -c $(($(offset_of 0.blp 4) + 900)) 0.blp >1.blp
    copy_over 1.blp 1 3
    ends 2 bpk repair --json 1.blp
    grep -q '"certain":false' "$out"
    # and one that was copied behind the end of a file that was cut
    head -c $(($(offset_of 0.blp 3) + 900)) 0.blp >1.blp
    tail -c +$(($(offset_of 0.blp 1) + 1)) 0.blp | head -c $(($(offset_of 0.blp 2) - $(offset_of 0.blp 1))) >>1.blp
    ends 2 bpk repair --json 1.blp
    grep -q '"certain":false' "$out"
}

@test "copies with other chunks of one number are refused though one has lost metadata, and has moved" {
    need_python
    local order
    data noise 20000 A
    bpk pack -q -z 3000 -t 8 --set unit=m -o 0.blp A
    without 0.blp $(($(offset_of 0.blp 2) + 900)) $(($(offset_of 0.blp 2) + 901)) >1.blp
    hurt 1.blp 53 1
    cp 0.blp 2.blp
    hurt 2.blp $(($(offset_of 0.blp 2) + 900)) 1
    copy_over 2.blp 1 4
    for order in "1.blp 2.blp" "2.blp 1.blp"; do
        ends 1 bpk repair --merge --fill zero -o new.blp $order
        says 'chunk 4 is intact in .* and differs'
    done
}

@test "a short chunk that was copied over the last one is not that of a copy that was cut in it" {
    need_python
    local order
    { head -c 6000 /dev/zero && data noise 3000 B && cat B; } >A
    bpk pack -q -z 3000 -t 8 -o 0.blp A
    cp 0.blp 1.blp
    copy_over 1.blp 0 2
    head -c 2000 B >>1.blp
    head -c -1 0.blp >2.blp
    for order in "1.blp 2.blp" "2.blp 1.blp"; do
        ends 2 bpk repair --merge -f -o new.blp $order
        says 'of two states of the archive'
    done
}

@test "copies without certain numbers are taken for kin in any order" {
    need_python
    local order
    # the second copy alone has the digests of the chunks
    data noise 9000 A
    bpk pack -q -F b2sparse -z 3000 -t 8 --seal -o 0.b2s A
    cp -R 0.b2s 1.b2s
    cp -R 0.b2s 2.b2s
    truncate -s -1 1.b2s/chunks.b2frame
    hurt 1.b2s/00000000.chunk 1410 1
    { head -c 108 0.b2s/chunks.b2frame && printf x && tail -c +109 0.b2s/chunks.b2frame; } >2.b2s/chunks.b2frame
    truncate -s 420 2.b2s/00000002.chunk
    hurt 2.b2s/00000001.chunk 147 7
    for order in "1.b2s 2.b2s" "2.b2s 1.b2s"; do
        rm -rf new.b2s
        bpk repair --merge -o new.b2s $order || [ $? = 2 ]
        bpk cat new.b2s | same - A
    done
    # a chunk was copied over a longer one, and no checksum is wrong
    data field-f64 20000 A
    bpk pack -q -z 3000 -t 8 -o 0.blp A
    cp 0.blp 1.blp
    copy_over 1.blp 1 3
    cp 0.blp 2.blp
    hurt 2.blp $(($(offset_of 0.blp 5) + 900)) 4
    copy_over 2.blp 1 4
    for order in "1.blp 2.blp" "2.blp 1.blp"; do
        ends 2 bpk repair --merge -f -o new.blp $order
        says 'the offsets of the result name other places than those of its chunks'
    done
}

@test "a chunk that is damaged in every copy comes back where the parts in which they differ make it whole, in any order" {
    need_python
    local order
    data noise 20000 A
    bpk pack -q -z 3000 -t 8 -o 0.blp A
    head -c -1 0.blp >1.blp
    cp 0.blp 2.blp
    hurt 2.blp $(($(offset_of 0.blp 6) + 1000)) 4
    for order in "1.blp 2.blp" "2.blp 1.blp"; do
        rm -f new.blp
        quietly bpk repair --merge -o new.blp $order
        same new.blp 0.blp
    done
}

@test "without checksums a seal tells which chunks are intact, in any order of the copies" {
    need_python
    local options suffix order
    data noise 44000 A
    for suffix in blp b2frame b2s blpd; do
        options=
        [ $suffix != blpd ] || options="--superchunk-size 8K"
        bpk pack -q -z 4K -t 8 --checksum none --seal $options -o 0.$suffix A
        leave 0.$suffix 1.$suffix kept 0 3
        cp -R 0.$suffix 2.$suffix
        case $suffix in
        blp | b2frame) hurt 2.$suffix $(($(offset_of 0.$suffix 7) + 900)) 4 ;;
        b2s) hurt 2.$suffix/00000007.chunk 900 4 ;;
        # and a byte that the root covers
        blpd) hurt 2.$suffix/data/__4__.bin 5000 4 && hurt 2.$suffix/meta/sizes 120 1 ;;
        esac
        for order in "1.$suffix 2.$suffix" "2.$suffix 1.$suffix"; do
            rm -rf new.$suffix
            ends 0 bpk repair --merge -o new.$suffix $order
            bpk verify -q new.$suffix
            bpk cat new.$suffix | same - A
        done
    done
}

@test "a copied chunk at the place of a damaged one is not put together from parts" {
    need_python
    data noise 16384 raw
    bpk pack -q -0 --plain -z 4096 --checksum sha256 -o o.blp raw
    "$python" -c '
raw, d = open("raw", "rb").read(), open("o.blp", "rb").read()
at = [d.find(raw[i * 4096:i * 4096 + 4096]) - 16 for i in range(4)]
size = at[1] - at[0]
a = bytearray(d)
a[at[0]:at[0] + size] = d[at[2]:at[2] + size]
a[at[1]:at[1]] = b"x"
b = bytearray(d)
b[at[0] + 500] ^= 1
open("A.blp", "wb").write(a)
open("B.blp", "wb").write(b)'
    for copies in "A.blp B.blp" "B.blp A.blp"; do
        status=0
        bpk repair --merge -f -o m.blp $copies >"$out" 2>"$err" || status=$?
        [ "$status" -eq 2 ] || die "$copies: status $status"
    done
}

# 0.blp and 1.blp give 0.blp, in both orders.
gives_first() {
    local order
    for order in "0.blp 1.blp" "1.blp 0.blp"; do
        quietly bpk repair --merge -f -o new.blp $order
        same 0.blp new.blp
    done
}

@test "beside an intact copy, chunks that were copied in another one are no contradiction" {
    need_python
    local order
    data noise 40000 A
    # the seal proves that no writer put them there
    bpk pack -q -z 4K -t 8 --seal --checksum crc32 -o 0.blp A
    cp 0.blp 1.blp
    copy_over 1.blp 1 3
    gives_first
    # one that came in moves all others
    { head -c "$(offset_of 0.blp 3)" 0.blp && tail -c +$(($(offset_of 0.blp 2) + 1)) 0.blp; } >2.blp
    bpk repair --merge -f -o new.blp 2.blp 0.blp
    same 0.blp new.blp
    rm 0.blp
    bpk pack -q -z 4K -t 8 -o 0.blp A
    cp 0.blp 1.blp
    copy_over 1.blp 1 3
    hurt 1.blp $(($(offset_of 0.blp 6) + 900)) 4
    for order in "0.blp 1.blp" "1.blp 0.blp"; do
        ends 2 bpk repair --merge -f -o new.blp $order
        says 'are of two states of the archive, as chunks at other places show'
        same 0.blp new.blp
    done
}

@test "the seal of a file without offsets proves a copy, and refutes another order of chunks" {
    need_python
    local order
    data noise 40000 A
    bpk pack -q -z 4K -t 8 --seal --checksum none --no-offsets -o 0.blp A
    cp 0.blp 1.blp
    copy_over 1.blp 1 3
    gives_first
    # of some chunks, too
    hurt 0.blp $(($(offset_of 0.blp 8) + 900)) 4
    for order in "0.blp 1.blp" "1.blp 0.blp"; do
        quietly bpk repair --merge -f -o new.blp $order
        bpk cat new.blp | same - A
    done
}

@test "an intact directory with equal chunks loses no file to a copy whose data files are swapped" {
    local order
    data noise 20000 N
    { head -c 16384 N && tail -c +8193 N | head -c 4096 && tail -c +16385 N; } >A
    bpk pack -q -F chunked -z 4K -t 8 --superchunk-size 4K -o 0.blpd A
    cp -R 0.blpd 1.blpd
    mv 1.blpd/data/__2__.bin other
    mv 1.blpd/data/__5__.bin 1.blpd/data/__2__.bin
    mv other 1.blpd/data/__5__.bin
    hurt 1.blpd/data/__0__.bin 900 4
    for order in "0.blpd 1.blpd" "1.blpd 0.blpd"; do
        rm -rf new.blpd
        quietly bpk repair --merge -o new.blpd $order
        bpk cat new.blpd | same - A
    done
}

@test "a chunk that came in moves the last one behind the end, and no chunk is certain" {
    need_python
    local order
    data noise 8192 N
    { cat N && head -c 4096 N && cat N; } >A
    bpk pack -q -z 4K -t 8 -o 0.blp A
    { head -c "$(offset_of 0.blp 2)" 0.blp && tail -c +$(($(offset_of 0.blp 1) + 1)) 0.blp; } >1.blp
    cp 0.blp 2.blp
    hurt 2.blp $(($(offset_of 0.blp 1) + 900)) 4
    hurt 2.blp $(($(offset_of 0.blp 4) + 900)) 4
    for order in "1.blp 2.blp" "2.blp 1.blp"; do
        ends 2 bpk repair --merge --json $order
        grep -q '"certain":false' "$out"
    done
}

@test "an older state that is taken alone has status 2 beside a newer one" {
    data field-f64 200000 A
    head -c 5600 A >more
    bpk pack -q --seal -z 16K -t 8 -o old.blp A
    cp old.blp new.blp
    bpk append -q new.blp more
    bpk write -q --at 40000 new.blp more
    { head -c 11 new.blp && tail -c +112 new.blp; } >a.blp # bytes of its header are gone
    cp old.blp b.blp
    printf '\1' | dd of=b.blp bs=1 seek=9 conv=notrunc status=none
    local copies
    for copies in "a.blp b.blp" "b.blp a.blp"; do
        rm -f out.blp
        # shellcheck disable=SC2086 # words
        ends 2 bpk repair --merge -o out.blp $copies
        says 'are of two states of the archive, as chunks show that are intact in one alone'
    done
}

@test "of bytes that nothing proves those of a copy that opens are taken" {
    data noise 4096 A
    bpk pack -q -F b2frame --checksum none --set k=7 -z 4K -o p.b2frame A
    cp p.b2frame q.b2frame
    local size=$(stat -c %s p.b2frame)
    dd if=/dev/zero of=q.b2frame bs=1 seek=$((size - 99)) count=1 conv=notrunc status=none
    dd if=/dev/zero of=q.b2frame bs=1 seek=$((size - 80)) count=11 conv=notrunc status=none
    ends 2 bpk verify q.b2frame
    local copies
    for copies in "p.b2frame q.b2frame" "q.b2frame p.b2frame"; do
        # shellcheck disable=SC2086 # words
        ends 0 bpk repair --merge -f -o out.b2frame $copies
        cmp p.b2frame out.b2frame
    done
}
