load lib

@test "verify is silent when all is well, and -v says so" {
    data field-f64 300000 a
    bpk pack a
    quietly bpk verify a.blp
    [ ! -s "$out" ]
    bpk verify -v a.blp >"$out" 2>&1
    grep -qx 'a\.blp: ok; no checksum protects the header (typesize, sizes, counts), the spare offsets and the order of chunks' "$out"
    bpk pack --checksum none -o none.blp a
    bpk verify -v none.blp >"$out" 2>&1
    grep -q '^none\.blp: ok; no checksum protects the chunks' "$out"
    printf '\003' | dd of=a.blp bs=1 seek=7 conv=notrunc status=none
    bpk verify -v a.blp >"$out" 2>&1
    grep -q 'typesize 3, the first chunk' "$out"
    quietly bpk verify <a.blp
    cat a.blp | bpk verify -
}

@test "verify goes on after a bad file; the worst status wins" {
    data field-f64 30000 a
    bpk pack a
    head -c 5000 a.blp >cut.blp
    status=0
    bpk verify a.blp none.blp cut.blp a.blp 2>"$err" || status=$?
    [ "$status" -eq 2 ]
    [ "$(wc -l <"$err")" -eq 2 ]
    says '^bpk: none.blp: '
    says '^bpk: cut.blp: '
    status=0
    bpk verify none.blp a.blp 2>"$err" || status=$?
    [ "$status" -eq 1 ]
}

@test "verify -r walks directories" {
    mkdir -p d/e/f
    data text 3000 d/a
    cp d/a d/e/b
    cp d/a d/e/f/c
    bpk pack d/a d/e/b d/e/f/c
    ln -s ../.. d/e/loop
    quietly bpk verify -r d
    head -c 100 d/e/b.blp >d/e/cut.blp
    refuses 2 '^bpk: d/e/cut.blp: ' bpk verify -r d
    refuses 1 '^bpk: d: is a directory, expected an archive; -r walks it$' bpk verify d
    rm d/e/cut.blp
    head -c 300 /dev/zero >d/e/x.gsd
    refuses 2 '^bpk: d/e/x.gsd: does not begin as a GSD file' bpk verify -r d
}

@test "verify --quick leaves the decode out, not the checksums" {
    need_python
    data records 30000 a
    bpk pack -t 1 -z 10000 --checksum none --codec zlib -o none.blp a
    bpk pack -t 1 -z 10000 --codec zlib -o crc.blp a
    for name in none crc; do
        "$python" - $name.blp <<'END'
import struct, sys
data = bytearray(open(sys.argv[1], "rb").read())
where, = struct.unpack("<q", data[40:48])
size, = struct.unpack("<i", data[where + 12:where + 16])
for at in range(where + size // 2, where + size - 8):
    data[at] ^= 0x55
open(sys.argv[1], "wb").write(data)
END
    done
    refuses 2 '^bpk: crc.blp: chunk 1 ' bpk verify --quick crc.blp
    quietly bpk verify --quick none.blp
    refuses 2 '^bpk: none.blp: chunk 1 ' bpk verify none.blp
}

@test "verify: bytes behind the last chunk are damage, with offsets and without" {
    data text 3000 a
    bpk pack -o with.blp a
    bpk pack --no-offsets -o without.blp a
    echo tail >>with.blp
    echo tail >>without.blp
    refuses 2 '^bpk: with.blp: 5 bytes from offset ' bpk verify with.blp
    refuses 2 '^bpk: without.blp: ' bpk verify without.blp
    for archive in with without; do
        run ! bpk cat $archive.blp >"$out"
        bpk cat $archive.blp 2>"$err" | cmp - a || [ "${PIPESTATUS[*]}" = '2 0' ]
    done
}

@test "verify --json: one object for each file" {
    need_python
    data text 3000 a
    bpk pack a
    head -c 200 a.blp >cut.blp
    status=0
    bpk verify --json a.blp cut.blp >lines 2>"$err" || status=$?
    [ "$status" -eq 2 ]
    [ "$(wc -l <lines)" -eq 2 ]
    head -n 1 lines >line
    [ "$(json line 'list(x)[:3], x["path"]')" = "(['bpk', 'command', 'path'], 'a.blp')" ]
    tail -n 1 lines >line
    [ "$(json line 'x["path"]')" = cut.blp ]
}

@test "a file that cannot be read is no damaged one" {
    [ -e /proc/self/mem ] || skip "no /proc/self/mem here"
    refuses 1 '^bpk: /proc/self/mem: read: ' bpk verify /proc/self/mem
}

@test "verify: a change that was interrupted is pending, and verify leaves it so" {
    need_nth
    data text 30000 a
    bpk pack -z 8K a
    cp a.blp was.blp
    for n in $(seq 40); do
        cp was.blp a.blp
        status=0
        "$nth" -n "$n" -a kill "$BPK" append -T 1 a.blp a >"$out" 2>&1 || status=$?
        [ "$status" -ne 125 ] || skip "this machine does not let processes be traced"
        bpk verify a.blp >"$out" 2>&1 && continue || status=$?
        [ "$status" -eq 3 ] && break
    done
    [ -e .a.blp.bpkj ]
    refuses 3 '^bpk: a.blp: .* pending' bpk verify a.blp
    ends 3 bpk verify --json a.blp
    grep -q '"repairable":"pending"' "$out"
    [ -e .a.blp.bpkj ]
    bpk verify --json a.blp 2>"$err" | grep -q '"status":3,'
    bpk cat -q a.blp | cmp - a
    [ -e .a.blp.bpkj ]
    bpk meta set -q a.blp k=1
    quietly bpk verify a.blp
    [ ! -e .a.blp.bpkj ]
}

# Small archives of every kind that bpk writes, of the same numbers.
each_kind() {
    local kind
    for kind in crc.blp none.blp nooff.blp bare.blp meta.blp stream.blp x.blpd a.blpd x.b2frame none.b2frame \
        meta.b2frame x.b2nd x.b2s none.b2s; do
        local options=(-z 128 -t 4)
        case $kind in
        none.*) options+=(--checksum none) ;;
        nooff.*) options+=(--no-offsets) ;;
        bare.*) options+=(--no-offsets --checksum none) ;;
        meta.*) options+=(--set a=1) ;;
        a.*) options+=(--dtype '<i4') ;;
        *.b2nd) options=(-z 128 --dtype '<i4' --shape 6,10) ;;
        esac
        if [ "$kind" = stream.blp ]; then
            cat numbers | bpk pack -q -z 128 -t 4 -c | cat >$kind
        else
            bpk pack -q "${options[@]}" -o $kind numbers
        fi
        "$@" $kind
    done
}

# The squares of 0 to 59: two chunks that differ and can be packed.
make_numbers() {
    "$python" -c 'import struct, sys; sys.stdout.buffer.write(struct.pack("<60i", *(i * i for i in range(60))))' >numbers
}

# Flip every bit; in sanitizer builds every 11th.
flips() {
    light && set -- "$1" 11
    "$BPK_FLIPS" "$@" >flips || die "$(cat flips)"
}

bits_are_damage() {
    flips "$1"
    ! grep -m 5 -E '^[^ ]+ [0-9.]+ 1 ' flips || die "$1: called something else than damage"
    case $1 in
    none.* | bare.*) ;;
    *) ! grep -m 5 ' 0 other ' flips || die "$1: changed content passes" ;;
    esac
    passed_is_named "$1"
    echo "# $1: $(tail -n 1 flips)" >&3
}

# Each bit that passes lies in a field that `verify -v` names as unprotected.
passed_is_named() {
    local file bit at name
    bpk verify -v "$1" >named
    while read -r file bit _; do
        at=${bit%.*}
        case $file in
        *.b2*/*.chunk | none.b2frame) name='the chunks' ;;
        none.b2s/*) name='chunks.b2frame' ;;
        */meta/sizes) name='cbytes' ;;
        */data/*) name='headers of the data files' ;;
        none.blp | bare.blp) name='the chunks and their order, the header and the offsets' ;;
        *) case $at in
            4) name='version' ;;
            7) name='typesize' ;;
            [89] | [12][0-9] | 3[01]) name='counts' ;;
            *) name='spare offsets' ;;
            esac
            [ "$file" != meta.blp ] || [ "$at" -lt 32 ] || [ "$at" -ge 144 ] || name='of the metadata' ;;
        esac
        grep -q "no checksum protects.*$name" named || die "$file: bit $bit passes, and $name is not named" "$(cat named)"
    done < <(grep ' 0 same ' flips | awk '{ split($2, a, "."); if (!seen[$1 a[1]]++) print }')
}

@test "verify: a flipped bit is damage, and never anything that is not supported" {
    need_python
    make_numbers
    each_kind bits_are_damage
}

@test "verify -v names what can be changed unseen by whole chunks and counts" {
    need_python
    local options what
    data noise 384 a
    for options in '' '--no-offsets' '--checksum none' '--set a=1' '--checksum adler32'; do
        # shellcheck disable=SC2086
        bpk pack -q -f -z 128 -t 4 $options a
        bpk verify -v a.blp >named
        for what in swap copy kind count cut; do
            "$python" "$tests/lib/blp_manip.py" a.blp m.blp $what
            ! cmp -s a.blp m.blp || continue
            status=0
            bpk verify m.blp 2>"$err" || status=$?
            case $status in
            0) ;;
            2 | 3) continue ;;
            *) die "$options, $what: $(cat "$err")" ;;
            esac
            case $what in
            swap | copy) grep -q 'order' named ;;
            kind) die "another kind of checksum passes" ;;
            *) grep -qE 'counts|the header and' named ;;
            esac || die "$options: $what passes, and is not named: $(cat named)"
            echo "$what" >>passed
        done
    done
    [ "$(sort -u passed | tr '\n' ' ')" = 'copy cut swap ' ]
    bpk verify --json a.blp >"$out"
    [ "$(json "$out" '"order of chunks" in x["unprotected"]')" = True ]
    # digests by number find them
    bpk pack -q -z 128 -t 4 -o a.blpd a
    "$python" "$tests/lib/blp_manip.py" a.blpd/data/__1__.bin m swap
    cp m a.blpd/data/__1__.bin
    refuses 2 'some were changed or swapped' bpk verify a.blpd
    bpk pack -q -z 128 -t 4 -o a.b2s a
    cp a.b2s/00000001.chunk a.b2s/00000000.chunk
    refuses 2 'chunk 0 in 00000000.chunk: crc32 is' bpk verify a.b2s
    # but not a header from before
    bpk pack -q -z 128 -t 4 -o a.b2frame a
    cp a.b2frame before
    bpk append -q a.b2frame a
    dd if=before of=a.b2frame conv=notrunc status=none
    bpk verify -v a.b2frame >named || [ $? -eq 3 ]
    bpk verify -v before | grep -q 'no checksum protects the frame from a return to an earlier header'
}

@test "rows of a last chunk that sizes does not count: behind the recorded ones, and not those of another dataset" {
    local options
    data field-f64 400000 w
    "$BPK_MAKE_DATA" field-f64 600000 7 >longer
    head -c 80000 longer >more
    for options in "" "-9 --codec lz4hc" "-0" "-7 --codec zlib --checksum sha256" "--checksum none" "--dtype <f8" \
        "--dtype [('t','<f8'),('v','<f8')]" "-z 64K --superchunk-size 128K" "--layout bcolz --dtype <f8"; do
        rm -rf *.blpd
        # shellcheck disable=SC2086 # words
        bpk pack -q -F chunked $options -o w.blpd w
        # shellcheck disable=SC2086 # words
        bpk pack -q -F chunked $options -o longer.blpd longer
        # an append that was interrupted: its data are there, and its sizes not
        cp -r w.blpd more.blpd
        bpk append -q more.blpd more
        cp -r w.blpd begun.blpd
        (cd more.blpd && find . -path '*data*' -type f -exec cp {} ../begun.blpd/{} \;)
        quietly bpk verify begun.blpd
        bpk cat begun.blpd | cmp - w
        # the last file of another dataset
        last=$(cd w.blpd && find . -path '*data*' -type f | sort -V | tail -1)
        cp longer.blpd/$last w.blpd/$last
        ! cmp -s w.blpd/$last more.blpd/$last
        ends 2 bpk verify w.blpd
    done
}

@test "verify names the next step for damage, once, and not with -q" {
    data text 30000 a
    bpk pack -q -z 4K a
    size=$(stat -c %s a.blp)
    printf X | dd of=a.blp bs=1 seek=$((size - 1000)) conv=notrunc status=none
    cp a.blp b.blp
    ends 2 bpk verify a.blp b.blp
    [ "$(grep -c '; bpk repair [^ ]* shows which data are left$' "$err")" -eq 1 ] || die "$(cat "$err")"
    ends 2 bpk verify -q a.blp
    ! grep -q 'keep-broken' "$err"
    # nothing of it can be unpacked
    head -c 40 a.blp >cut.blp
    ends 2 bpk verify cut.blp
    ! grep -q 'keep-broken' "$err"
}

# Overwrite the bytes of a raw range's packed chunk in FILE.
spoil() { # FILE OFFSET SIZE
    head -c "$3" /dev/zero | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

@test "verify lists every damaged chunk with its raw range, for every number of threads" {
    need_python
    data noise 100000 a
    for format in blp b2frame chunked; do
        local at=a.${suffix[$format]} n
        bpk pack -q -F $format -z 1000 a
        [ "$format" = chunked ] && set -- $at/data/__1__.bin || set -- $at
        spoil "$1" 20500 2
        spoil "$1" 60500 2
        # neighbours of one cause share a line
        spoil "$1" 80000 5000
        for n in 1 3; do
            ends 2 bpk verify -q -T $n $at
            says "^bpk: $at: .*chunk ([0-9]+) at offset .* is .*; raw bytes \\1000:[0-9]+000$"
            says "^bpk: $at: .*chunk ([0-9]+) at offset .*; the same for the chunks up to [0-9]+; raw bytes \\1000:[0-9]+000$"
            cp "$err" said.$n
        done
        cmp said.1 said.3
        bpk verify --json $at >line 2>"$err" || true
        [ "$(json line 'len(x["bad_chunks"]), x["bad_chunks_complete"]')" = "($(wc -l <said.1), True)" ]
        # each chunk by itself
        for n in $(seq 0 99); do
            bpk cat --bytes ${n}000:$((n + 1))000 $at >"$out" 2>"$err" || echo $n
        done >bad
        [ "$(json line '" ".join(str(i) for x in x["bad_chunks"] for i in range(x["chunk"], x["chunk"] + x["nchunks"]))')" = \
            "$(paste -s -d' ' bad)" ] || die "$(cat line bad)"
    done
    bpk pack -q -f -z 1000 a
    ends 0 bpk verify --json a.blp
    [ "$(json "$out" 'x["bad_chunks"], x["bad_chunks_complete"]')" = "([], True)" ]
}

@test "verify --json calls the list of damaged chunks complete only where the archive was read through" {
    need_python
    data noise 100000 a
    bpk pack -q -z 16K -F b2frame a
    bpk pack -q -z 16K -F b2sparse a
    bpk pack -q --dtype '<u4' --shape 100,250 --chunk-shape 50,50 -o n.b2nd a
    bpk pack -q -z 16K -F blp a
    rm a.b2s/chunks.b2frame
    head -c 3000 a.b2frame >lost.b2frame
    for name in a.b2frame n.b2nd a.blp; do
        head -c 60000 $name >cut-$name
        { head -c 20000 $name; echo inserted; tail -c +20001 $name; } >more-$name
    done
    for name in lost.b2frame a.b2s cut-* more-* gone.blp; do
        bpk verify --json $name >line 2>"$err" && die "$name is good"
        # of such a list, the last chunk is in it
        [ "$(json line 'x["bad_chunks_complete"]')" = False ] ||
            [ "$(json line 'x["bad_chunks"][-1]["chunk"] + x["bad_chunks"][-1]["nchunks"]')" = 7 ] || die "$(cat line)"
    done
}

@test "verify --json calls no list complete where chunks may have been exchanged" {
    need_python
    data noise 100000 a
    bpk pack -q -z 1K --superchunk-size 10K -o a.blpd a
    mv a.blpd/data/__2__.bin x
    mv a.blpd/data/__3__.bin a.blpd/data/__2__.bin
    mv x a.blpd/data/__3__.bin
    bpk verify --json a.blpd >line 2>"$err" && die "a.blpd is good"
    [ "$(json line 'x["bad_chunks"], x["bad_chunks_complete"]')" = "([], False)" ]
    spoil a.blpd/data/__1__.bin 500 2
    bpk verify --json a.blpd >line 2>"$err" && die "a.blpd is good"
    [ "$(json line 'len(x["bad_chunks"]), x["bad_chunks_complete"]')" = "(1, False)" ]
    bpk pack -q -z 10K --seal --parity 20 -o a.blp a
    cp -p a.blp good
    spoil a.blp 50000 2
    touch -r good a.blp
    bpk verify --json a.blp >line 2>"$err" && die "a.blp is good"
    [ "$(json line 'len(x["bad_chunks"]), x["bad_chunks_complete"]')" = "(1, False)" ]
    ends 0 bpk verify --heal --json a.blp
    [ "$(json "$out" 'x["bad_chunks"], x["bad_chunks_complete"]')" = "([], True)" ]
}

@test "verify prints twenty lines for a file; --json lists all chunks" {
    need_python
    data noise 100000 a
    bpk pack -q -z 1000 a
    for n in $(seq 0 2 90); do
        spoil a.blp $((5500 + n * 1020)) 2
    done
    ends 2 bpk verify -q a.blp
    [ "$(wc -l <"$err")" -eq 21 ] || die "$(cat "$err")"
    says '^bpk: a.blp: and 26 more damaged chunks$'
    bpk verify --json a.blp >line 2>"$err" || true
    [ "$(json line 'len(x["bad_chunks"])')" -eq 46 ]
}

@test "verify of a pipe ends at a chunk that has no length, and says so" {
    need_python
    data noise 100000 a
    bpk pack -q -z 1000 a
    spoil a.blp 20500 2
    spoil a.blp 80000 5000
    cat a.blp | ends 2 bpk verify -q -
    [ "$(wc -l <"$err")" -ge 3 ] || die "$(cat "$err")"
    says '^bpk: standard input: chunk [0-9]* at .*; raw bytes [0-9]*000:$'
    cat a.blp | bpk verify --json - >line 2>"$err" || true
    [ "$(json line 'x["bad_chunks_complete"], x["bad_chunks"][-1]["end"]')" = "(False, None)" ]
}

@test "verify lists chunks that repeat a damaged one, and gives no range to chunks of several dimensions" {
    need_python
    head -c 60000 /dev/zero | tr '\0' x >a
    data noise 1000 b
    cat b a >c
    bpk pack -q -z 1000 -F b2frame c
    bpk convert -q c.b2frame d.b2s
    chunk=$(ls d.b2s | sed -n 's/chunk$/&/p' | tail -n 1)
    rm "d.b2s/$chunk"
    ends 2 bpk verify -q d.b2s
    says 'is missing'
    data noise 6400 e
    bpk pack -q --dtype '<u4' --shape 40,40 --chunk-shape 10,10 e -o e.b2nd
    spoil e.b2nd 1500 3
    ends 2 bpk verify -q e.b2nd
    says '^bpk: e.b2nd: chunk [0-9]* at offset [0-9]*: '
    ! grep -q 'raw bytes' "$err" || die "$(cat "$err")"
    bpk verify --json e.b2nd >line 2>"$err" || true
    [ "$(json line 'x["bad_chunks"][0]["start"], x["bad_chunks"][0]["end"]')" = "(None, None)" ]
}

@test "verify --limit-rate reads no faster" {
    data noise 200000 a
    for z in 100 20K; do
        bpk pack -q -f -z $z a
        began=$(date +%s%N)
        quietly bpk verify --limit-rate 200K a.blp a.blp
        took=$((($(date +%s%N) - began) / 1000000))
        # 400,000 bytes and more
        [ $took -ge 1900 ] || die "$z: $took ms"
    done
    ends 64 bpk verify --limit-rate 0 a.blp
}

@test "verify: bytes behind the end of any container have a line, also behind damaged chunks" {
    local file path line
    data noise 20000 a
    for format in blp chunked b2frame b2sparse; do
        bpk pack -q -z 1000 -F $format a
    done
    bpk pack -q -z 1000 --no-offsets -o nooff.blp a
    bpk pack -q -z 1000 --dtype '<u4' -o x.b2nd a
    bpk pack -q -z 1000 -c <a 2>"$err" | cat >stream.blp
    cp "$BATS_TEST_DIRNAME/../fuzz/corpus/layout/gsd-2" g.gsd
    for file in a.blp nooff.blp stream.blp a.b2frame x.b2nd a.b2s/chunks.b2frame a.b2s/00000001.chunk \
        a.blpd/data/__1__.bin; do
        path=${file%%/*}
        cp $file sound
        echo something >>$file
        ends 2 bpk verify -q $path
        says "^bpk: $path: .*10 bytes from offset [0-9]* on, after "
        case $file in
        *.b2s/* | *.blpd/*) ;;
        *)
            printf XX | dd of=$file bs=1 seek=5500 conv=notrunc status=none
            ends 2 bpk verify -q $path
            says "^bpk: $path: .*chunk [0-9]+ at .*; raw bytes 50[0-9]+:[56][0-9]+$"
            says "^bpk: $path: .*10 bytes from offset [0-9]* on, after "
            ;;
        esac
        cp sound $file
    done
    # files that belong to nothing, and the space of a GSD file that an append may have left, are no damage
    for file in a.b2s/000000FF.chunk a.b2s/x a.blpd/data/__9__.bin a.blpd/data/x; do
        echo something >$file
        ends 0 bpk verify -v ${file%%/*}
        grep -qF "${file##*/} " "$out" || die "$file" "$(cat "$out")"
        rm $file
    done
    echo something >>g.gsd
    ends 0 bpk verify -v g.gsd
    grep -q '^g.gsd: 10 bytes hold nothing' "$out"
}

@test "a lost beginning, index or folder is answered with repair, which finds the chunks" {
    data noise 100000 raw
    for suffix in blp b2frame; do
        bpk pack -q -z 8K -o x.$suffix raw
        printf 'xxxxxxxxxxxxxxxx' | dd of=x.$suffix bs=1 conv=notrunc status=none
        refuses 2 "does not begin .*; bpk repair x.$suffix shows which data are left\$" bpk verify x.$suffix
    done
    bpk pack -q -z 8K -o x.b2s raw
    rm x.b2s/chunks.b2frame
    bpk pack -q -z 8K -o x.blpd raw
    rm -r x.blpd/meta
    for archive in x.b2s x.blpd; do
        refuses 2 "; bpk repair $archive shows which data are left\$" bpk verify $archive
        ends 2 bpk repair $archive
        grep -q 'raw bytes 0:100000 are intact' "$out"
    done
}

@test "--parity of an archive whose change was interrupted names the step that settles it" {
    need_nth
    local n found=
    data noise 300000 A
    data noise 5000 more
    for n in 3 4 5 6 7 8 9; do
        rm -f x.blp x.blp.bpp .x.blp.bpkj
        bpk pack -q -0 -z 16K -o x.blp A
        bpk parity -q x.blp 10
        "$nth" -n $n -a after "$BPK" write --at 100 x.blp more >/dev/null 2>&1 || true
        status=0
        "$BPK" verify --parity x.blp 2>"$err" || status=$?
        [ $status -ne 0 ] || continue # the journal is unfinished
        found=yes
        [ $status -eq 3 ]
        says 'a change was interrupted and is pending; bpk repair --in-place x.blp'
    done
    [ "$found" ]
}
