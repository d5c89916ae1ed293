load lib

# Nothing but a crash ends with 128 or more.
try() {
    local status=0
    (ulimit -s 64 && exec "$BPK" "$@") >"$out" 2>"$err" || status=$?
    [ "$status" -le "$allowed" ] || die "$*: status $status: $(cat "$err")"
}

setup_stack() {
    need_plain_build # sanitizers need larger stacks
    (ulimit -s 64 && exec "$BPK" --version) >"$out" || skip "no program runs with 64 KiB here"
    data records 300000 a
    allowed=0
}

@test "64 KiB of stack are enough to pack and unpack, for the main thread and for others" {
    setup_stack
    for threads in 1 3; do
        for codec in blosclz lz4 lz4hc zlib zstd snappy; do
            try pack -f -T$threads --codec $codec -z 64K -o c.blp a
            try unpack -f -T$threads -o b c.blp
            cmp a b
        done
        try pack -f -T$threads -o c.blp a
        try pack -f -T$threads -9 -o c.blp a
        for filter in bitshuffle shuffle delta,shuffle shuffle,bytedelta; do
            try pack -f -T$threads -F b2frame -t 4 --filter $filter -o f.b2frame a
            try cat -T$threads f.b2frame
            cmp a "$out"
        done
        for width in 3 16 255; do
            try pack -f -T$threads -t $width --filter bitshuffle -z 200000 -o c.blp a
            try verify -T$threads c.blp
        done
    done
}

@test "64 KiB of stack are enough for every command and format" {
    setup_stack
    for threads in 1 3; do
        rm -rf s.* e && mkdir e
        bpk pack -q -o s.blp a
        bpk pack -q -F b2frame -o s.b2frame a
        bpk pack -q --dtype '<i4' --shape 250,300 -o s.b2nd a
        bpk pack -q -F chunked -t 4 -o s.blpd a
        bpk pack -q -F b2sparse -o s.b2s a
        for f in s.*; do
            allowed=0
            try verify -v -T$threads $f
            try cat -T$threads $f
            try info -v $f
            try ls -l $f
            try sum -T$threads $f
            try sum --tree -T$threads $f
            [ -d $f ] || try parity $f
            try info --stats -T$threads $f
            [ $f != s.b2nd ] || try cat --text --number-format %.500f -T$threads $f
            try bench -f -T$threads --codec lz4,zstd --level 5 --filter none --plot p.svg $f
            try unpack -f -T$threads -o u $f
            try convert -f -T$threads $f o.b2nd
            try convert -f -T$threads $f o.blpd
            try convert -f -T$threads --codec lz4 $f o.blp
            try tar --force -o q.tar $f
            try tar --force --raw -o r.tar $f
            try tar -t q.tar
            try tar -x --force -C e q.tar
            try verify -r -v -T$threads e
            allowed=64 # an array may refuse
            try append -T$threads $f a
            try truncate --bytes 200000 $f
            try write -T$threads --at 0 $f a
            try meta set $f x=1
            try repair $f
        done
    done
}
