load lib

@test "convert carries chunks over: the same archive comes out" {
    data field-f64 3000000 a
    bpk pack --set run=7 a
    quietly bpk convert a.blp b.blp
    same a.blp b.blp
    bpk convert -fv a.blp b.blp 2>"$err"
    says '^bpk: a.blp: chunks are copied$'
    cat a.blp | bpk convert - c.blp
    bpk cat c.blp | same - a
    bpk convert -T 1 -f a.blp b.blp
    same a.blp b.blp
}

@test "convert to another checksum seals the same chunks again" {
    data field-f64 3000000 a
    bpk pack a
    for name in none adler32 crc32 sha512; do
        bpk convert -v --checksum $name a.blp $name.blp 2>"$err"
        says 'chunks are copied'
        quietly bpk verify $name.blp
        bpk info -v $name.blp >"$out"
        grep -q "checksum  *$name" "$out"
        bpk cat $name.blp | same - a
    done
    bpk convert --checksum crc32 sha512.blp back.blp
    same a.blp back.blp
}

@test "convert gives a stream its header and offsets" {
    data records 5000000 a
    bpk pack -z 100K -t 4 -o straight.blp a
    cat a | bpk pack -q -z 100K -t 4 --filter shuffle | cat >s.blp
    quietly bpk convert s.blp whole.blp
    quietly bpk verify whole.blp
    bpk info -v whole.blp >"$out"
    grep -q 'offsets  *yes' "$out"
    grep -q 'raw size  *5000000 ' "$out"
    bpk cat whole.blp | same - a
    # to a pipe, and through standard input into a file
    cat s.blp | bpk convert -q - - | cat >again.blp
    same s.blp again.blp
    cat s.blp | bpk convert -q - piped.blp
    quietly bpk verify piped.blp
    bpk cat piped.blp | same - a
    bpk convert --no-offsets s.blp none.blp
    bpk info -v none.blp | grep -q 'offsets  *no'
    cat s.blp | bpk convert - - 2>"$err" | bpk cat - | same - a
    says 'older Bloscpack readers stop there'
}

@test "convert packs anew what is asked to be packed otherwise, and keeps the rest" {
    data field-f64 3000000 a
    bpk pack -z 200K -t 8 --checksum sha256 --set x=1 a
    for codec in blosclz lz4 zlib; do
        bpk convert -v --codec $codec a.blp $codec.blp 2>"$err"
        says '^bpk: a.blp: recompressed: another packing is asked for$'
        quietly bpk verify $codec.blp
        bpk cat $codec.blp | same - a
        bpk info -v $codec.blp >"$out"
        grep -q "codec  *$codec" "$out"
        grep -q 'chunk size  *204800 ' "$out"
        grep -q 'typesize  *8$' "$out"
        grep -q 'checksum  *sha256' "$out"
        grep -q '"x": *1' "$out"
    done
    bpk convert -z 70000 lz4.blp z.blp
    bpk info -v z.blp >"$out"
    grep -q 'codec  *lz4' "$out"
    grep -q 'chunk size  *70000 ' "$out"
    bpk cat z.blp | same - a
    for args in --slack=10% --filter=none -t4 -0 --block-size=4K; do
        bpk convert -f "$args" a.blp b.blp
        quietly bpk verify b.blp
        bpk cat b.blp | same - a
    done
    # one thread and eight give the same
    bpk convert -f -T 1 -z 100000 a.blp one.blp
    bpk convert -f -T 8 -z 100000 a.blp eight.blp
    same one.blp eight.blp
    # in sequence, too
    cat a.blp | bpk convert -z 100000 - - | bpk cat - | same - a
}

@test "convert: slack makes room in the chunks and changes nothing else" {
    data field-f64 1000000 a
    bpk pack a
    bpk pack --slack 1000 -o room.blp a
    quietly bpk verify room.blp
    bpk convert --slack max a.blp most.blp
    quietly bpk verify most.blp
    [ "$(stat -c %s room.blp)" -eq $(($(stat -c %s a.blp) + 1000)) ]
    [ "$(stat -c %s most.blp)" -gt 1000000 ]
    bpk cat most.blp | same - a
    # chunks with slack are copied with it
    bpk convert most.blp again.blp
    same most.blp again.blp
}

@test "convert: the environment of pack is no wish to pack anew" {
    data field-f64 300000 a
    bpk pack a
    BPK_CODEC=lz4 BPK_LEVEL=9 bpk convert a.blp b.blp
    same a.blp b.blp
}

@test "convert: nothing, and little" {
    for size in 0 1 100; do
        data text $size a
        bpk pack -f a
        bpk convert -f a.blp b.blp
        same a.blp b.blp
        bpk convert -f --codec lz4 a.blp c.blp
        quietly bpk verify c.blp
        bpk cat c.blp | same - a
        cat a | bpk pack -q | cat >s.blp
        bpk convert -f s.blp d.blp
        quietly bpk verify d.blp
        cat s.blp | bpk convert -q - - | bpk cat - | same - a
        cat s.blp | bpk convert -q --codec zlib - - | bpk cat - | same - a
    done
}

@test "convert there and back: files and chunked directories" {
    data field-f64 3000000 a
    bpk pack -z 100K --set run=7 --checksum sha256 -o plain.blp a
    bpk pack -z 80000 --dtype '<f8' -o array.blp a
    bpk pack -z 80000 --dtype '<f8' --shape 375,1000 -o rows.blp a
    echo '{"dtype":"'"'<f8'"'","shape":[125,3000],"order":"C","container":"numpy"}' >torn.json
    bpk pack -z 100000 -t 8 --metadata torn.json -o torn.blp a
    bpk pack -z 100000 -t 8 -o plain8.blp a
    for name in plain array rows torn plain8; do
        for layout in blaze bcolz; do
            bpk convert-to-chunked -v --layout $layout $name.blp $name.$layout 2>"$err"
            says 'chunks are copied'
            quietly bpk verify $name.$layout
            bpk cat $name.$layout | same - a
            how=
            [ $layout = blaze ] || how=--checksum=$(bpk info -v $name.blp | awk '$1 == "checksum" { print $2; exit }')
            bpk convert -v ${how:+"$how"} $name.$layout $name.$layout.blp 2>"$err"
            says 'chunks are copied'
            same $name.blp $name.$layout.blp
        done
    done
    grep -q '"shape": \[375, 1000\]' rows.blaze/meta/sizes
    grep -q '"shape": \[375000\]' torn.blaze/meta/sizes
    grep -q '"dtype": "uint8"' plain.blaze/meta/storage
    # through a pipe, and from one directory to another
    cat array.blp | bpk convert-to-chunked - piped
    bpk convert piped - | cat >piped.blp
    bpk cat piped.blp | same - a
    bpk convert -F chunked rows.bcolz rows2
    bpk cat rows2 | same - a
    bpk convert -f -v --level 5 rows.blaze rows2 -F chunked 2>"$err"
    says 'recompressed: another packing is asked for'
    bpk cat rows2 | same - a
    mkdir "$bad"
    cp -r array.blaze "$bad/d.blpd"
    cd "$bad"
    refuses 64 'cannot go to standard output' bpk convert -F chunked d.blpd -
    refuses 1 'input and output are the same directory' bpk convert -f d.blpd d.blpd
    refuses 1 'input and output are the same directory' bpk convert -f d.blpd ./d.blpd/
    refuses 1 'lies in the source itself' bpk convert-to-chunked d.blpd d.blpd/../d.blpd/data
    refuses 1 'lies in the source itself' bpk convert -F blp d.blpd d.blpd/new
    refuses 1 'lies in the source itself' bpk unpack -f -o d.blpd/meta/sizes d.blpd
    refuses 1 'lies in the source itself' bpk unpack -f -O d.blpd d.blpd
    ln -s d.blpd link
    refuses 1 'lies in the source itself' bpk unpack -o link/new d.blpd
    ln -s d.blpd/new name
    refuses 1 'lies in the source itself' bpk unpack -o name d.blpd
    refuses 1 'lies in a dataset' bpk tar --force -o link/meta/sizes d.blpd
    refuses 1 'lies in a dataset' bpk tar --raw -o d.blpd/t.tar link
}

@test "convert takes records apart into columns, and puts them together" {
    data records 600000 a
    dtype="[('n','<i4'),('v','<f4',(3,)),('s','S4')]"
    bpk pack --dtype "$dtype" -z 100K a
    bpk convert -v a.blp a.blpd 2>"$err"
    says 'recompressed: a directory keeps records as columns'
    quietly bpk verify a.blpd
    bpk cat a.blpd | same - a
    bpk convert -v a.blpd b.blp 2>"$err"
    says "recompressed: its chunks are those of columns"
    bpk cat b.blp | same - a
    bpk info -v a.blp | grep '"dtype"' >was
    bpk info -v b.blp | grep '"dtype"' | same - was
    bpk info -v b.blp | grep -q 'typesize  *20$'
    bpk convert --layout bcolz a.blp c.blpd
    bpk cat c.blpd | same - a
    bpk convert -F chunked c.blpd d
    bpk cat d | same - a
    refuses 64 'slack' bpk convert --slack 10 a.blp e.blpd
}

@test "convert takes every layout that a reader must take" {
    need_python
    make_archives good .
    rm v3-tail.* # an append was interrupted: status 3, see members.bats
    for archive in *.blp; do
        raw=${archive%.blp}.raw
        bpk convert --no-marker "$archive" out.b.blp
        bpk convert-to-chunked --no-marker -v "$archive" out.d 2>"$err"
        for result in out.b.blp out.d; do
            quietly bpk verify $result
            bpk cat $result | same - "$raw"
        done
        rm -r out.b.blp out.d
    done
}

@test "convert refuses what makes no sense, and leaves everything as it was" {
    data field-f64 300000 a
    bpk pack a
    refuses 64 'expected a source and a target, 1 was given' bpk convert a.blp
    refuses 64 'expected a source and a target, 3 were given' bpk convert a.blp b.blp c.blp
    refuses 64 'the suffix of b names no format .*; give --format' bpk convert a.blp b
    refuses 64 'layout' bpk convert --layout nonesuch a.blp b.blp
    refuses 64 'superchunk-size is for directories' bpk convert --superchunk-size 1M a.blp b.blp
    refuses 64 'json needs standard output' bpk convert --json a.blp -
    refuses 1 'cannot open' bpk convert none.blp b.blp
    refuses 1 '' bpk convert -f a.blp a.blp
    cp a.blp b.blp
    refuses 1 'already exists; --force replaces it' bpk convert a.blp b.blp
    refuses 1 'are the same file' bpk convert-to-chunked a.blp a.blp
    head -c 20000 a.blp >cut.blp
    refuses 2 'cut.blp' bpk convert cut.blp c.blp
    refuses 2 'cut.blp' bpk convert -f -z 1000 cut.blp b.blp
    cp a.blp rot.blp
    printf 'X' | dd of=rot.blp bs=1 seek=$(($(stat -c %s a.blp) - 500)) conv=notrunc status=none
    refuses 2 'rot.blp: chunk 0 .*crc32' bpk convert -f rot.blp b.blp
    refuses 2 'rot.blp: chunk 0 .*crc32' bpk convert -f --codec lz4 rot.blp b.blp
    refuses 1 'limit' bpk convert --memory-limit 100K --codec lz4 a.blp c.blp
}

@test "convert keeps mode and time of a file, and --json tells what was done" {
    need_python
    data field-f64 300000 a
    bpk pack a
    chmod 640 a.blp
    touch -d '2001-02-03 04:05:06' a.blp
    bpk convert --json a.blp b.blp >"$out"
    [ "$(stat -c '%a %Y' a.blp)" = "$(stat -c '%a %Y' b.blp)" ]
    [ "$(json "$out" 'x["command"], x["carried_over"], x["raw_size"], x["nchunks"]')" = \
        "('convert', True, 300000, 1)" ]
    bpk convert -f --json --level 9 a.blp b.blp >"$out"
    [ "$(json "$out" 'x["carried_over"], x["recompressed_because"]')" = \
        "(False, 'another packing is asked for')" ]
}

@test "convert reads what other programs wrote" {
    need_fixtures bloscpack
    for archive in "$BPK_FIXTURES"/bloscpack/*.blp; do
        raw=${archive%.blp}.raw
        [ -f "$raw" ] || continue
        for how in '' '--checksum=md5' '--codec=lz4' '--chunk-size=777'; do
            sampled 3 || continue
            bpk convert -f ${how:+"$how"} --no-marker "$archive" b.blp
            quietly bpk verify b.blp
            bpk cat b.blp | same - "$raw"
        done
    done
}

@test "python bloscpack reads what convert writes" {
    need_bloscpack
    data field-f64 3000000 a
    bpk pack -z 300000 a
    bpk convert --slack 500 --codec blosclz a.blp b.blp
    cat a | bpk pack -q | cat >s.blp
    bpk convert s.blp c.blp
    bloscpack compare b.blp a c.blp a
}

@test "convert: --max-output refuses what unpacks to more, and keeps nothing" {
    seq 20000 >a
    size=$(stat -c %s a)
    bpk pack -q -z 10K -o a.blp a
    bpk pack -q -z 10K -o a.b2frame a
    bpk pack -q -z 10K - <a | cat >unknown.blp
    for from in a.blp a.b2frame unknown.blp; do
        for to in b.blp b.b2frame b.blpd; do
            ends 1 bpk convert --max-output $((size - 1)) $from $to
            grep -q "max-output allows" "$err"
            [ ! -e $to ]
            bpk convert --max-output "$size" $from $to
            bpk cat $to | cmp - a
            rm -r $to
        done
        # shellcheck disable=SC2002 # a pipe
        cat $from | ends 1 bpk convert --max-output $((size - 1)) - b.b2frame
        [ ! -e b.b2frame ]
        # shellcheck disable=SC2002 # a pipe
        cat $from | bpk convert --max-output "$size" - b.b2frame
        bpk cat b.b2frame | cmp - a
        rm b.b2frame
    done
    ends 1 bpk convert-to-chunked --max-output 100 a.blp d
    [ ! -e d ]
}

@test "convert: a small frame of very many equal chunks is refused" {
    need_python
    "$python" - "$tests/lib" <<'EOF'
import sys
sys.path.insert(0, sys.argv[1])
from bombs import *
for name, count in (("many", 26 * 10 ** 7), ("few", 10 ** 5)):
    with open(name + ".b2frame", "wb") as file:
        file.write(frame(b"", uniform_index(count, ZERO), count * 8, 8, 8))
EOF
    for format in b2frame b2sparse; do
        ends 1 timeout 20 "$BPK" convert -F $format many.b2frame b
        grep -q "equal chunks in a row" "$err"
        [ ! -e b ]
    done
    bpk convert few.b2frame b.b2frame
    bpk cat b.b2frame | cmp -n 800000 - /dev/zero
}

# A frame keeps numbers of metadata as values.
retunes() { # FORMAT
    local b=b.${suffix[$1]} chosen status=0
    make_archive "$1" a --codec lz4 --filter none -z 32K -t 2 --checksum sha256 --set 'name="kept"'
    bpk pack -q -F "$1" -o "packed.${suffix[$1]}" a
    quietly bpk convert --retune "$archive" -o "$b"
    holds a
    for kept in "$archive" "$b"; do
        bpk meta get "$kept" >meta
        grep -q '"name": *"kept"' meta
    done
    bpk info --json "$b" >now
    bpk info --json "packed.${suffix[$1]}" >then
    for key in format codec filter typesize block_size; do
        [ "$(json now "x['$key']")" = "$(json then "x['$key']")" ] || die "$1: $key is not that of pack"
    done
    [ "$(json now 'x["checksum"]')" = sha256 ]
    if [ -d "$archive" ]; then
        refuses 1 'is not a file, which could be replaced; name a DST' bpk convert --retune "$archive"
    else
        quietly bpk convert --retune "$archive"
        same "$archive" "$b"
    fi
    holds a
    bpk convert --retune -fv "$archive" -o "$b" 2>"$err"
    says 'recompressed: another choice is asked for'
}

@test "convert --retune chooses as pack does, and keeps the rest" {
    need_python
    data field-f32 3000000 a
    for format in "${editable[@]}"; do retunes $format; done
}

@test "convert --retune keeps an array's type and shape, and options win" {
    need_python
    data field-f64 800000 a
    for format in "${editable[@]}"; do
        make_archive $format a --dtype '<f8' --shape 100,1000 --codec lz4 --filter none
        rm -rf b
        quietly bpk convert --retune --codec zlib "$archive" -o b
        bpk cat b | same - a
        quietly bpk verify b
        bpk info --json b >now
        [ "$(json now 'x["shape"], x["dtype"], x["codec"]')" = "([100, 1000], '<f8', 'zlib')" ]
    done
}

@test "convert --retune: targets and refusals" {
    data field-f32 300000 a
    bpk pack --filter none a
    cp a.blp x
    quietly bpk convert --retune x
    bpk cat x | same - a
    quietly bpk convert --retune a.blp new.b2frame
    [ "$(head -c 12 new.b2frame | tail -c 8)" != "$(head -c 12 a.blp | tail -c 8)" ]
    bpk cat new.b2frame | same - a
    bpk convert --retune a.blp -o - | bpk cat - | same - a
    refuses 1 'exists' bpk convert --retune a.blp -o new.b2frame
    cp a.blp other.blp
    refuses 64 'one archive at a time' bpk convert --retune -f a.blp other.blp
    refuses 64 'one archive at a time' bpk convert --retune a.blp other.blp new.b2frame
    same a.blp other.blp
    refuses 64 'format b2frame does not fit the name a.blp' bpk convert --retune -F b2frame a.blp
    refuses 64 'only one of DST and --output' bpk convert --retune a.blp b.blp -o c.blp
    refuses 64 'expected a source and a target' bpk convert a.blp
    refuses 64 'standard input cannot be replaced' bpk convert --retune -
    refuses 1 'not an archive' bpk convert --retune a
    tar cf t.tar a.blp
    refuses 1 'is not a file, which could be replaced' bpk convert --retune t.tar:a.blp
    head -c 100000 a.blp >cut.blp
    refuses 2 'cut.blp' bpk convert --retune cut.blp
}
