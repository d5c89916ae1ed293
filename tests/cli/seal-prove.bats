load lib
load seal

# FORMAT [OPTION]...: the archive s.x of 40 chunks and a short one, from in, and its root.
make_sealed() {
    [ -e in ] || make_input $((40 * 2000 + 777))
    rm -rf s.x
    bpk pack -q --seal --metadata m -t 1 -z 2000 --filter none -F "$1" -o s.x "${@:2}" in
    sum=$(root s.x)
}

# A B: the raw bytes from A to B.
range() { tail -c +$(($1 + 1)) in | head -c $(($2 - $1)); }

# A B [OPTION]...: --prove writes these bytes of s.x, of any number of threads.
proves() {
    for threads in 1 3; do
        "$BPK" cat -T $threads --prove --root "$sum" --bytes $1:$2 "${@:3}" s.x >got 2>said || die "$(cat said)"
        [ ! -s said ] || die "$(cat said)"
        cmp got <(range $1 $2)
    done
}

@test "ranges and whole archives are proven" {
    for format in blp b2frame b2sparse chunked; do
        for checksum in sha256 sha512 none; do
            make_sealed $format --checksum $checksum
            proves 0 80777
            proves 4000 4001
            proves 31999 32001
            proves 64000 66000
            proves 79999 80001
            proves 80776 80777
            proves 5 5
            "$BPK" cat --prove s.x | cmp - in
            "$BPK" cat --prove --root "${sum^^}" --items 3 s.x | cmp - <(range 3 4)
            "$BPK" cat --prove --bytes -700: s.x | cmp - <(range 80077 80777)
            "$BPK" append -q s.x in
            sum=$(root s.x)
            proves 70000 80777
            bpk truncate -q s.x --bytes 7000
            sum=$(root s.x)
            proves 1999 6001
        done
    done
    bpk pack -q --seal -F blp -o e.x /dev/null
    quietly bpk cat --prove e.x
}

@test "cat, sum and tar of a whole sealed archive read its chunks once" {
    [ -r /proc/self/io ] || skip "the kernel counts no bytes"
    make_input 4000000
    for format in blp b2frame b2sparse chunked; do
        rm -rf s.x
        bpk pack -q --seal -z 100000 --filter none -F $format -o s.x in
        for command in cat sum "sum --tree" "tar --raw"; do
            sed -n 's/^rchar: //p' /proc/$BASHPID/io >before # with the children that ended
            "$BPK" $command s.x >got
            sed -n 's/^rchar: //p' /proc/$BASHPID/io >after
            [ "$command" != cat ] || cmp got in
            [ $(($(<after) - $(<before))) -lt 6000000 ] ||
                die "$command of $format: $(($(<after) - $(<before))) bytes"
        done
    done
}

@test "parts of arrays, records and text are proven" {
    make_input 48000
    bpk pack -q --seal --dtype '<i4' --shape 120,100 --chunk-shape 25,30 --checksum none -o s.b2nd in
    for option in "--slice 3:50,7" "--text --slice 0,:" "--native" "--bytes 700:9001" "--items 3" "--slice ::7,::3"; do
        bpk cat -f $option s.b2nd >want
        "$BPK" cat -f --prove $option s.b2nd | cmp - want
    done
    bpk pack -q --seal --dtype "[('x','<f4'),('y','<f4')]" -z 2000 -F chunked -o r.x in
    "$BPK" cat --prove r.x | cmp - in
    "$BPK" cat --prove --items 30:700 r.x | cmp - <(range 240 5600)
}

@test "what cannot be proven" {
    make_sealed blp
    refuses 2 's.x: the seal.s root is .*, expected' bpk cat --prove --root "${sum:1}0" s.x
    bpk pack -q -F blp -o plain.x in
    refuses 2 'plain.x: has no seal' bpk cat --prove plain.x
    for checksum in crc32 md5 sha1; do # another chunk may have the same digest
        bpk pack -q -f --seal --checksum $checksum -F blp -o weak.x in
        refuses 1 "weak.x: its seal is as weak as its checksum $checksum, .*bpk convert --seal weak.x NEW" bpk cat --prove weak.x
    done
    refuses 1 'is a pipe, in which no seal' bash -c 'cat s.x | "$BPK" cat --prove'
    refuses 64 '--no-check' bpk cat --prove --no-check s.x
    refuses 64 '--root needs --prove' bpk cat --root "$sum" s.x
    refuses 64 'hexadecimal' bpk cat --prove --root 5 s.x
    cat s.x plain.x >both.x
    refuses 2 'both.x: .*another archive follows' bpk cat --prove both.x
    refuses 2 'both.x: .*another archive follows' bpk cat --prove --bytes 5:9 both.x
}

# N: change a byte of chunk N of s.x.
flip() {
    "$python" -c 'import glob, os, sys
at = 2000 * int(sys.argv[1])
want = open("in", "rb").read()[at + 100:at + 164]
for path in glob.glob("s.x/**", recursive=True) if os.path.isdir("s.x") else ["s.x"]:
    data = bytearray(open(path, "rb").read()) if os.path.isfile(path) else b""
    if want in data:
        data[data.index(want)] ^= 1
        open(path, "wb").write(data)
        sys.exit()
sys.exit("not found")' "$1"
}

@test "a chunk that is not the sealed one is named, and none of its bytes are written" {
    for format in blp b2frame b2sparse chunked; do
        for row in "none 20 chunk 20 is not proven: of the chunks 0 to 31" \
            "none 40 chunk 40.* it is not the chunk that was sealed" "sha256 20 chunk 20.*not the chunk that was sealed" "sha224 40 chunk 40.*not the chunk that was sealed"; do
            set -- $row
            make_sealed $format --checksum $1
            flip $2
            refuses 2 "${row#* * }" bpk cat --prove --bytes $((2000 * $2)):$((2000 * $2 + 1)) s.x
            [ ! -s "$out" ]
            # under another peak; and where digests are recorded, under the same one
            proves 64001 64003
            [ $1 != sha256 ] || proves 10000 12000
        done
    done
}

# BPK_SEAL_ROUNDS=2000: so many manipulations of each kind; one in three from a range, and into a file
@test "of manipulated archives no byte is written that was not sealed" {
    local status size n=${BPK_SEAL_ROUNDS:-4}
    for row in "blp seal_break.py swap copy kind kind-none header cut behind record mark field metadata typesize" \
        "b2frame seal_frame.py swap copy special cut kind record mark field metadata layer header behind" \
        "b2sparse seal_frame.py swap copy special cut kind record mark field metadata layer header behind" \
        "chunked seal_dir.py swap copy cut kind record mark field metadata storage behind"; do
        set -- $row
        if [ $2 = seal_frame.py ]; then # whose chunks 8, 9 and 30 are entries of the index
            make_input 62777
            dd if=/dev/zero of=in bs=2000 seek=8 count=2 conv=notrunc status=none
            dd if=/dev/zero of=in bs=2000 seek=30 count=1 conv=notrunc status=none
        else
            make_input 80777
        fi
        all=$(stat -c %s in)
        make_sealed $1
        for kind in "${@:3}"; do
            rm -rf broken
            ZEROS=8,9,30 "$python" "$tests/lib/$2" $kind 0 $n s.x broken || die "$row: $kind"
            for ((i = 0; i < n; i++)); do
                start=$((i % 3 == 0 ? i * 7919 % all : 0))
                option=$([ $start -eq 0 ] || echo "--bytes $start:")
                status=0
                if [ $((i % 2)) -eq 0 ]; then
                    "$BPK" cat --prove --root "$sum" $option broken/$i >got 2>said || status=$?
                else
                    "$BPK" cat --prove --root "$sum" $option broken/$i 2>said | cat >got
                    status=${PIPESTATUS[0]}
                fi
                size=$(stat -c %s got)
                range $start $all | cmp -s -n $size - got || die "$1, $kind, $i: other bytes"
                [ $status -eq 2 ] || [ $status -eq 3 ] || [ $size -eq $((all - start)) ] || die "$1, $kind, $i: $size"
                [ $status -eq 0 ] || [ "$(wc -l <said)" -eq 1 ] || die "$1, $kind, $i: $(cat said)"
            done
        done
    done
}
