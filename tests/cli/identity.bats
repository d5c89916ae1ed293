load lib

# The root that the archive records, and that of its content as it is.
recorded() { bpk sum --tree --recorded "$1" | sed 's/.*= //'; }
root() { bpk sum --tree "$1" | sed 's/.*= //'; }

# The record of $1 is that of the content of $2.
records() {
    [ "$(recorded "$1")" = "$(root "$2")" ]
    quietly bpk verify --identity "$1"
}

# bpk pack --identity, of an older x, too.
pack() {
    rm -rf x
    bpk pack -q --identity -o x "$@"
}

# PATTERN COMMAND...: it succeeds, and says a line that matches PATTERN.
notes() {
    "${@:2}" >"$out" 2>"$err" || die "status $?: $(cat "$err")"
    says "$1"
}

formats=(blp b2frame b2sparse chunked)

# x.blp records the identity of a, and has the chunks of b, of the same size: their files differ
# behind the metadata alone. Source: Bloscpack format, metadata section (32 bytes, room, adler32).
forge() {
    bpk pack -qf --identity -o a.blp "$1"
    bpk pack -qf --identity -o b.blp "$2"
    end=$((32 + 32 + $(od -An -tu4 -j48 -N4 a.blp) + 4))
    (head -c 32 b.blp; head -c $end a.blp | tail -c +33; tail -c +$((end + 1)) b.blp) >x.blp
}

@test "pack --identity: one root for the same data, in any container, codec, chunk size, threads, pipe" {
    data field-f32 5500000 in
    sum=$(root in)
    for format in "${formats[@]}"; do
        for options in '' '-z 100000' '-z 1M --codec lz4' '-z 3000000 -9' '-z 5000 --checksum sha256' '--checksum none -t 1' '--seal'; do
            for threads in 1 4; do
                sampled 3 || continue
                pack $options -T $threads -F $format in
                [ "$(recorded x)" = $sum ]
                quietly bpk verify --identity x
                bpk cat x | cmp - in
                rm -rf x
                bpk pack -q --identity $options -T $threads -F $format -o x <(cat in)
                [ "$(recorded x)" = $sum ]
                quietly bpk verify x
            done
        done
    done
    bpk pack --identity -F b2frame <in | cat >p.b2frame
    [ "$(recorded p.b2frame)" = $sum ]
    bpk pack --identity <in 2>"$err" | cat >/dev/null || :
    says 'cannot be changed in a pipe'
    pack --dtype '<f4' --shape 1375,1000 -F b2frame --chunk-shape 100,300 in
    [ "$(recorded x)" = $sum ]
    quietly bpk verify --identity x
    pack --dtype '<f4' --shape 1375,1000 -F blp in
    [ "$(recorded x)" = $sum ]
    bpk info -v x | grep -q 'float32\|<f4'
    pack --dtype "[('a','<f4'),('b','<i2'),('c','<u2')]" -F chunked --shape 687500 in
    [ "$(recorded x)" = $sum ]
    quietly bpk verify --identity x
}

@test "pack --identity: any size; also what a lossy filter leaves" {
    data noise 3200000 all
    for size in 0 1 1048575 1048576 1048577 2097152 3145729; do
        head -c $size all >in
        for format in "${formats[@]}"; do
            pack -F $format -z 300000 in
            records x in
        done
    done
    data field-f32 2500000 in
    pack -q --lossy --filter trunc:10,shuffle -t 4 -F b2frame in
    bpk cat x >out
    ! cmp -s in out
    records x out
}

@test "the user's metadata have no identity in them, and keep it" {
    echo 12345 >in
    for format in "${formats[@]}"; do
        pack -F $format in
        refuses 1 'no metadata' bpk meta get x
        bpk info -v x | grep -q 'metadata *none'
        bpk info -v x | grep -qx "  identity         $(root in)"
        bpk info --json x | grep -qF "\"identity_root\":\"$(root in)\""
        bpk meta set x step=7
        [ "$(bpk meta get x | tr -d ' ')" = '{"step":7}' ]
        records x in
        echo '{"other":[1,2]}' >m
        bpk meta import x m
        [ "$(bpk meta get x | tr -d ' ')" = '{"other":[1,2]}' ]
        records x in
        bpk meta rm x
        records x in
        refuses 64 "bpk's own" bpk meta set x bpk_identity=1
        echo '[1]' >m
        notes 'was removed' bpk meta import x m
        refuses 1 'records no identity' bpk sum --tree --recorded x
        pack --set k=v -F $format in
        [ "$(bpk meta get x k)" = '"v"' ]
        records x in
    done
    refuses 64 "bpk's own" bpk pack --set bpk_identity=1 -o y.blp in
    refuses 64 'an object' bpk pack --identity --metadata m -o y.blp in
}

@test "append and truncate keep the identity, write removes it and says so" {
    data noise 5300000 noise
    for format in "${formats[@]}"; do
        for options in '' '--seal' '-z 400000' '-z 2500000'; do
            sampled 2 || continue
            head -c 1500000 noise >in
            pack -F $format $options in
            for size in 1 548575 1 1048576 2000000; do
                head -c $size noise >part
                quietly bpk append x part
                cat part >>in
                records x in
            done
            cat part | quietly bpk append x -
            cat part >>in
            records x in
            for size in 7000000 5242880 5242879 1048577 5 0; do
                quietly bpk truncate --bytes $size x
                truncate -s $size in
                records x in
            done
            quietly bpk append x noise noise
            records x <(cat noise noise)
            [ "$options" = --seal ] && [ $format = blp ] && continue
            notes 'identity is no longer' bpk write --at 1048570 x part
            refuses 1 'records no identity' bpk sum --tree --recorded x
            refuses 2 'records no identity$' bpk verify --identity x
            quietly bpk verify x
        done
    done
}

@test "write removes the identity of a file that has no other metadata, and which has to grow" {
    data field-f64 1048576 in
    data noise 1000 part
    for format in "${formats[@]}"; do
        pack -F $format -z 256K in
        notes 'identity is no longer' bpk write --at 300000 x part
        quietly bpk verify x
        cp in now
        dd if=part of=now bs=1 seek=300000 conv=notrunc status=none
        bpk cat x | cmp - now
        refuses 1 'records no identity' bpk sum --tree --recorded x
    done
}

@test "append --follow keeps the identity at each commit" {
    data noise 2500000 noise
    head -c 1000 noise >grows
    for format in blp b2sparse; do
        pack -F $format grows
        cp grows g
        (for i in 1 2 3; do sleep 0.4; cat noise >>g; done) &
        quietly bpk append --follow g --commit-interval 1 --idle 2 x
        wait
        records x g
    done
}

@test "a file that outgrows the room of its record keeps a coarser one" {
    echo x | bpk pack -q --identity -o x.blp
    for i in 1 2 3; do
        truncate -s 120M zeros
        bpk append x.blp zeros
    done
    [ "$(recorded x.blp)" = "$(root x.blp)" ]
    quietly bpk verify --identity x.blp
    bpk truncate --bytes 100000000 x.blp
    quietly bpk verify --identity x.blp
}

@test "convert keeps the identity, but for another content" {
    data field-f32 3500000 in
    for format in "${formats[@]}"; do
        pack -F $format in
        for other in "${formats[@]}"; do
            rm -rf y
            quietly bpk convert -F $other x y
            records y in
            rm -rf y
            quietly bpk convert -F $other -9 -z 70000 x y
            records y in
        done
        rm -rf y
        notes 'left out' bpk convert -F b2frame --lossy --filter trunc:8,shuffle -t 4 x y
        refuses 1 'records no identity' bpk sum --tree --recorded y
    done
    pack -F b2frame --dtype '<f4' --shape 875,1000 --chunk-shape 100,300 in
    quietly bpk convert x y.b2nd
    records y.b2nd in
    head -c 400000 in >part
    quietly bpk append x part
    records x <(cat in part)
    quietly bpk truncate --bytes 3200000 x
    records x <(head -c 3200000 in)
    bpk repair --repack x
    records x <(head -c 3200000 in)
    pack in
    cat x x >two.blp
    notes 'left out' bpk convert two.blp y.blp
    bpk verify -v two.blp | grep -q 'not compared: it is that of the first'
    refuses 2 'is of 3500000 bytes, the content has 7000000' bpk sum --tree --recorded two.blp
}

@test "convert --seal and --identity give an archive both, in any format, and copy its chunks" {
    data records 3300000 in
    root=$(bpk sum --tree in)
    root=${root%% *}
    bpk pack -q --set 'k={"a":[1,2]}' --checksum sha256 -o in.blp in
    bpk pack -q --set k=1 --dtype f4 --shape 11,75000 --chunk-shape 4,40000 -o in.b2nd in
    bpk pack -q --set k=1 -o in.b2s in
    bpk pack -q --set k=1 -o in.blpd in
    for from in in.blp in.b2nd in.b2s in.blpd; do
        for to in out.blp out.b2frame out.b2s out.blpd out.b2nd; do
            rm -rf out.*
            ends 0 bpk convert -v --seal --identity $from $to
            [[ $from$to != in.b2sout.b2frame ]] || says 'chunks are copied'
            bpk verify -q --identity --min-generation 1 $to
            [ "$(bpk sum --tree --recorded $to | cut -d' ' -f1)" = "$root" ]
            [ "$(bpk meta get $to k | tr -d " ")" = "$(bpk meta get $from k | tr -d " ")" ]
            bpk cat $to | cmp - in
        done
    done
    # without metadata, too: a frame has then no list of layers to add one to
    for from in in.blp in.b2s in.blpd; do
        bpk pack -q -f -o $from in
        for to in out.blp out.b2frame out.b2s out.blpd; do
            rm -rf out.*
            ends 0 bpk convert --seal --identity $from $to
            bpk verify -q --identity --min-generation 1 $to
        done
    done
    bpk pack -q -f --set k=1 -o in.blp in
    ends 0 bpk convert -v --seal -o sealed.blp in.blp
    says 'chunks are copied'
    bpk info --json sealed.blp | grep -q '"checksum":"sha256"'
    quietly bpk verify --min-generation 1 sealed.blp
    bpk pack -f --identity --checksum none -o none.blp in
    bpk verify -v none.blp | grep -q 'ok; the recorded identity protects the content, beside it no checksum protects the chunks'
    refuses 2 'records no identity$' bpk verify --identity sealed.blp
    notes 'left out of the result; --seal makes a new one' bpk convert --identity sealed.blp new.blp
    refuses 64 'a pipe, and --identity reads a file twice' bash -c 'cat in.blp | "$BPK" convert --identity - x.blp'
    ends 64 bpk convert --identity --lossy --filter trunc:8,shuffle -t 4 in.b2s x.b2s
}

@test "verify reads an archive once for its chunks and its identity" {
    need_strace
    data field-f32 3000000 raw
    for format in blp b2frame; do
        bpk pack -q -f --identity -F $format -z 100K -o a raw
        strace -f -e trace=pread64 -o calls "$BPK" verify --identity a
        bytes=$(sed -n 's/.* = \([0-9]*\)$/\1/p' calls | awk '{ sum += $1 } END { print sum }')
        [ $bytes -gt 2000000 ]
        [ $bytes -lt $(($(stat -c %s a) * 11 / 10)) ] || die "$format: $bytes of $(stat -c %s a)"
    done
}

@test "verify names the raw ranges that are not those of the identity" {
    data noise 5500000 a
    cp a b
    for at in 5 1048583 4194313; do
        printf x | dd of=b bs=1 seek=$at conv=notrunc status=none
    done
    forge a b
    status=0
    bpk verify --json x.blp >"$out" 2>"$err" || status=$?
    [ $status -eq 2 ]
    same "$err" <(printf 'bpk: x.blp: raw bytes %s are not those of the recorded identity%s\n' \
        0:2097152 '; intact copies (bpk repair --merge) or raw data of that identity (bpk repair --apply --from) restore it; bpk unpack -o RAW x.blp writes the content as it is' 4194304:5242880 '')
    grep -qF '"differing":[{"start":0,"end":2097152},{"start":4194304,"end":5242880}]' "$out"
    quietly bpk verify --quick x.blp
    # a record that its own digests contradict
    for change in 's/"level": *0/"level":9/' 's/"size": *5500000/"size":5500001/' 's/"digests": *"../"digests":"zz/' 's/"root": *"/"root":"00/'; do
        rm -rf x.blpd
        bpk pack -q --identity -F chunked --checksum none -o x.blpd a
        sed -i "$change" x.blpd/meta/attributes
        sed -i 's/, *"digests": *{[^}]*}//; s/, *"bpk[^}]*}//' x.blpd/meta/sizes
        ! bpk verify x.blpd 2>err
        ! bpk sum --tree --recorded x.blpd
    done
}

@test "cmp --recorded finds changed ranges by the trees, and reads no more; by itself cmp believes none" {
    data noise 5500000 a
    cp a b
    for at in 3000000 5300000; do
        printf XX | dd of=b bs=1 seek=$at conv=notrunc status=none
    done
    first=$(cmp a b | sed -E 's/.* (char|byte) ([0-9]+),.*/\2/')
    bpk pack -q --identity -z 300000 -o a.blp a
    bpk pack -q --identity -F b2frame -o same.b2frame a
    bpk pack -q --identity -F chunked -o b.blpd b
    quietly bpk cmp --recorded a.blp same.b2frame
    for pair in 'a.blp b.blpd' 'a.blp b' 'a b.blpd'; do
        set -- $pair
        ends 5 bpk cmp --recorded -v $1 $2
        grep -q "differ: byte $((first - 1)):" "$out"
        says "bytes 2097152:3145728 of $1 differ from those of $2"
        says "bytes 5242880:5500000 of $1 differ from those of $2"
        [ "$(wc -l <"$err")" -eq 2 ]
    done
    head -c 4000000 a >short
    ends 5 bpk cmp --recorded a.blp short
    grep -q 'short ends at byte 4000000, a.blp goes on' "$out"
    refuses 1 'neither records an identity' bpk cmp --recorded a b
    refuses 64 'compares whole contents' bpk cmp --recorded --tolerance 1 a.blp b
    # equal records of contents that differ, and the other way round
    forge a b
    quietly bpk cmp --recorded x.blp a
    ends 5 bpk cmp x.blp a
    refuses 2 'a recorded identity is not that of its content' bpk cmp --recorded x.blp b
}

@test "chunks that were swapped come back as the line says: from a copy, or from raw data" {
    need_python
    data noise 300000 a
    bpk pack -q -0 -z 20000 --identity -o good.blp a
    "$python" "$tests/lib/blp_manip.py" good.blp x.blp swap
    for command in verify repair; do
        refuses 2 'identity; intact copies .*--merge.* or raw data of .*--from.* restore it; bpk unpack -o RAW x.blp writes' \
            bpk $command x.blp
    done
    ends 0 bpk repair --apply --from a -o from.blp x.blp
    ends 0 bpk repair --merge -o merged.blp x.blp good.blp
    quietly bpk verify --identity from.blp merged.blp
    # repair saves no columns
    bpk pack -q -F chunked --dtype "[('f0', '<u2'), ('f1', '<u2')]" -o x.blpd a
    printf hurt | dd of=x.blpd/data/f0/__1__.bin bs=1 seek=1000 conv=notrunc status=none
    ends 2 bpk unpack --fill zero -o raw x.blpd
    says 'were unpacked$'
}

@test "repair, --merge, unpack --rm and parity trust no content that is not that of the record" {
    data noise 60000 a
    { printf x && tail -c +2 a; } >b
    forge a b
    cp x.blp y.blp
    for command in 'repair x.blp' 'repair --apply -o out x.blp' 'repair --merge -o out x.blp y.blp' \
        'unpack --rm -o out x.blp' 'parity x.blp'; do
        refuses 2 'raw bytes 0:60000 are not those of the recorded identity' bpk $command
        [ ! -e out ]
        [ ! -e x.blp.bpp ]
        same x.blp y.blp
    done
    refuses 2 '; bpk unpack -o RAW x.blp writes the content as it is$' bpk repair x.blp
    quietly bpk unpack -o raw x.blp
    same raw b
    # of an archive that is up to date, too
    cp b x
    touch -r x.blp x
    refuses 2 'raw bytes 0:60000 are not those of the recorded identity; bpk parity --force x.blp keeps' \
        bpk pack --update --parity 20 x
    [ ! -e x.blp.bpp ]
    quietly bpk parity --force x.blp
    refuses 2 'not those of the recorded identity' bpk repair --apply -o out x.blp
    for format in "${formats[@]}"; do
        bpk pack -q --identity --parity 20% -F $format -o good.$format a
        quietly bpk repair good.$format
        quietly bpk repair --merge -o out good.$format good.$format
        rm -r out
        quietly bpk unpack --rm -o out good.$format
        same out a
        [ ! -e good.$format ]
        [ ! -e good.$format.bpp ]
        rm out
    done
}

@test "pack over an archive with an identity records that of the new data" {
    data noise 2500000 all
    for format in "${formats[@]}"; do
        head -c 2100000 all >a
        pack -F $format -z 300000 a
        for how in --force --update; do
            cat a all >b
            mv b a
            touch -d '1 minute' a
            quietly bpk pack $how -F $format -o x a
            records x a
            bpk cat x | cmp - a
        done
        quietly bpk pack -f -F $format -o x <(cat all)
        records x all
    done
    pack -F blp a
    notes 'x: was of another format, blp; no seal or identity is carried over' bpk pack -f -F b2frame -o x a
    ends 1 bpk sum --tree --recorded x
    quietly bpk pack -f -F b2frame -o x a
    ends 1 bpk sum --tree --recorded x
    pack -F blp a
    echo '[1]' >list
    notes 'x: an identity needs metadata that are an object; no identity' bpk pack -f --metadata list -o x a
    mkdir d
    cp all d/a
    head -c 5000 all >d/b
    bpk pack -q -r --identity --seal d
    touch -d '1 minute' d/a d/b
    quietly bpk pack -r --update d
    quietly bpk verify --identity --min-generation 2 d/a.blp d/b.blp
}
