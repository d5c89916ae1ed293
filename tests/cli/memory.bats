load lib

# The promise: 32 MiB + threads x (6 chunks + the codec's own state), whatever the input's size.
# Arguments: threads, chunk size in KiB, the codec's state in KiB, command...
stays_small() {
    local limit=$((32768 + $1 * (6 * $2 + $3)))
    shift 3
    "$BPK_PEAK" "$BATS_TEST_TMPDIR/peak" "$@" >"$out" || die "status $?: $*"
    peak=$(cat "$BATS_TEST_TMPDIR/peak")
    [ "$peak" -gt 1000 ]
    [ "$peak" -le $limit ] || die "$peak KiB, promised $limit: $*"
    echo "# $peak of $limit KiB: ${*:2}" >&3
}

setup_file() {
    cd "$BATS_FILE_TMPDIR"
    "$BPK_MAKE_DATA" field-f64 16000000 >part
    for ((i = 0; i < 10; i++)); do cat part; done >a
    rm part
}

@test "memory: pack, unpack, cat and verify, files and pipes" {
    need_plain_build
    ln "$BATS_FILE_TMPDIR/a" a
    for threads in 1 2 8; do
        for setting in "lz4 4096 1024" "zstd 4096 8192" "zstd 256 8192"; do
            sampled 2 || continue
            read -r codec chunk state <<<"$setting"
            common="-T $threads"
            # shellcheck disable=SC2086 # words
            set -- $threads $chunk $state "$BPK"
            stays_small "$@" pack -f -z ${chunk}K --codec $codec -o a.blp $common a
            stays_small "$@" verify $common a.blp
            stays_small "$@" unpack -f $common -o b a.blp
            stays_small "$@" unpack $common -c a.blp
            stays_small "$@" pack -q -z ${chunk}K --codec $codec $common - <a
            stays_small "$@" verify $common - < <(cat a.blp)
        done
    done
}

@test "memory: what pack chooses by itself keeps the promise too" {
    need_plain_build
    need_python
    ln "$BATS_FILE_TMPDIR/a" a
    bpk pack -o a.blp a
    bpk info --json a.blp >info
    chunk=$(($(json info 'x["chunk_size"]') / 1024 + 1))
    for threads in 1 8; do
        stays_small $threads $chunk 8192 "$BPK" pack -f -T $threads -o b.blp a
        stays_small $threads $chunk 8192 "$BPK" verify -T $threads a.blp
    done
}

@test "memory: 300,000 chunks, offsets in batches" {
    need_plain_build
    light && skip "too long for a slow build"
    head -c 9600000 "$BATS_FILE_TMPDIR/a" >a
    # less than 20 bytes for each chunk above the 10 MiB of the smallest file
    batched() { stays_small 1 1 1024 "$BPK" "$@" && [ "$peak" -le 16000 ]; }
    batched pack -z 32 -t 8 --codec lz4 --no-sync -T 1 -o a.blp a
    batched verify -T 1 a.blp
    batched info a.blp
    batched cat -T 1 --bytes 9000000:9000100 a.blp
    tail -c +9000001 a | head -c 100 | cmp - "$out"
    "$BPK_PEAK" peak "$BPK" pack -q -z 32 -t 8 --codec lz4 -T 1 -c a >b.blp
    [ "$(cat peak)" -le 16000 ] || die "$(cat peak) KiB for standard output"
    bpk cat b.blp | cmp - a
}

@test "memory: a frame of 400,000 chunks, index and digests in pages" {
    need_plain_build
    light && skip "too long for a slow build"
    head -c 12800000 "$BATS_FILE_TMPDIR/a" >a
    bpk pack -F b2frame -z 32 -t 8 --codec lz4 --no-sync -o a.b2frame a
    # the index alone has 3.2 MB, the digests 1.6
    paged() { stays_small 1 1 1024 "$BPK" "$@" && [ "$peak" -le 12000 ]; }
    paged info a.b2frame
    paged cat -T 1 --bytes 12000000:12000100 a.b2frame
    tail -c +12000001 a | head -c 100 | cmp - "$out"
    paged verify -T 1 a.b2frame
    paged unpack -f -T 1 --no-sync -o b a.b2frame
    cmp a b
    # chunks in the middle lie behind all others
    head -c 500 /dev/zero >patch
    bpk write --at 6000000 a.b2frame patch
    paged info -v a.b2frame
    paged verify -T 1 a.b2frame
}
