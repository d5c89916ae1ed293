load lib

# Is FORMAT one that can be written here?
need_format() { "$BPK" pack --help | grep -qw "$1" || skip "format $1 cannot be written"; }

@test "a format that cannot say the filters refuses them before anything is written" {
    data field-f32 20000 a
    for filters in trunc:12,shuffle shuffle:4 delta,shuffle shuffle,bytedelta shuffle,shuffle; do
        for format in blp chunked; do
            refuses 64 "format $format knows shuffle and bitshuffle alone, not $filters" \
                bpk pack -F $format --filter $filters --lossy -t 4 -o new a
        done
    done
    refuses 64 "format blp has no dictionaries" bpk pack --dictionary a
    bpk pack -q a
    bpk pack -q -F chunked a
    : >a.blpd/.lock # the first writer makes it, whatever becomes of its change
    for archive in a.blp a.blpd; do
        refuses 64 "knows shuffle and bitshuffle alone" bpk append --filter delta $archive a
        refuses 64 "has no dictionaries" bpk append --dictionary $archive a
    done
    refuses 64 "knows shuffle and bitshuffle alone" bpk convert --filter delta a.blp b.blp
    refuses 64 "knows shuffle and bitshuffle alone" bpk convert --filter delta a.blp b.blpd
}

@test "lists that make no sense are wrong usage" {
    data field-f32 20000 a
    refuses 64 "unknown filter 'shufle', did you mean 'shuffle'" bpk pack --filter shufle a
    refuses 64 "unknown filter ''" bpk pack --filter shuffle, a
    refuses 64 "filter delta must be the first" bpk pack --filter shuffle,delta a
    refuses 64 "filter bitshuffle takes no number" bpk pack --filter bitshuffle:4 a
    refuses 64 "filter trunc needs a number of bits" bpk pack --filter trunc a
    refuses 64 "from 1 to 255" bpk pack --filter shuffle:256 a
    refuses 64 "more than 6 filters" bpk pack --filter delta,shuffle,shuffle,shuffle,shuffle,shuffle,shuffle a
}

@test "--follow takes no --lossy" {
    data field-f32 20000 a
    bpk pack -q a
    refuses 64 "which --lossy changes" bpk append --lossy --follow a a.blp
}

@test "a chunk that is stored loses what its filters take, as the others do" {
    need_format b2frame
    data noise 200000 a
    for codec in lz4 blosclz; do
        quietly bpk pack -q -f -F b2frame --codec $codec -t 4 --filter trunc:22 --lossy -o a.b2frame a
        [ "$(stat -c %s a.b2frame)" -gt 200000 ] || die "$codec found something to pack"
        bpk cat a.b2frame >b
        ! cmp -s a b || die "nothing was lost"
        quietly bpk pack -q -f -F b2frame --codec $codec -t 4 --filter trunc:22 --lossy -o b.b2frame b
        bpk cat b.b2frame | same - b
    done
}

# Two kinds of data in turns of a MiB: $1 MiB in all.
mixed() {
    local i
    data text $(($1 << 20)) text
    data field-f64 $(($1 << 20)) field
    for ((i = 0; i < $1; i++)); do
        if [ $((i % 2)) -eq 0 ]; then tail -c +$(((i << 20) + 1)) text; else tail -c +$(((i << 20) + 1)) field; fi |
            head -c 1M
    done >mixed
}

# The filters of an archive's chunks, one a line.
filters_of() { bpk info -vv "$1" | awk '$5 == "1048576" && length($NF) == 8 { print $(NF - 1) }'; }

@test "regions that are unlike each other are packed with filters of their own" {
    mixed 8
    for threads in 1 2 8; do bpk pack -T $threads -o $threads.blp mixed; done
    same 1.blp 2.blp
    same 1.blp 8.blp
    bpk cat 1.blp | cmp - mixed
    [ "$(filters_of 1.blp | sed 's/.*shuffle/shuffle/' | paste -sd,)" = \
        none,shuffle,none,shuffle,none,shuffle,none,shuffle ]
    for filters in none shuffle bitshuffle; do
        bpk pack -t 8 --filter $filters -o single.blp -f mixed
        [ "$(stat -c %s 1.blp)" -lt "$(stat -c %s single.blp)" ]
    done
    # added and recompressed chunks keep the filters
    cp 1.blp grown.blp
    bpk append grown.blp mixed
    filters_of 1.blp >filters
    filters_of grown.blp | cmp - <(cat filters filters)
    bpk pack -v --filter shuffle -o one.blp mixed 2>"$err"
    ! grep -q ' or ' "$err"
}

# Frames of a dump: lines of atoms whose numbers differ in length.
dump_text() {
    awk 'BEGIN {
        srand(1)
        for (frame = 0; frame < 12; frame++) {
            printf "ITEM: TIMESTEP\n%d\nITEM: ATOMS id type x y z vx vy vz\n", frame * 1000
            for (i = 1; i <= 3000; i++)
                printf "%d %d %.6g %.6g %.6g %.6g %.6g %.6g\n", i, i % 3, rand() * 50, rand() * 50,
                    rand() * 50, rand() - .5, rand() - .5, rand() - .5
        }
    }'
}

@test "text without columns packs no larger than zstd -9 makes it, text with columns by a filter" {
    dump_text >a
    bpk pack -vv -o a.blp a 2>"$err"
    says 'chosen: zstd level 5, typesize 1, none, chunks of 4194304 bytes'
    bpk cat a.blp | same - a
    if command -v zstd >/dev/null; then
        zstd -9 -q -c a >a.zst
        [ "$(stat -c %s a.blp)" -le "$(stat -c %s a.zst)" ]
    fi
    bpk pack -vv -3 -o b.blp a 2>"$err"
    says 'chosen: zstd level 3, .* chunks of 1048'
    awk '{ printf "%-8s%8s%12.12s%12.12s\n", $1, $2, $3, $4 }' a >columns
    bpk pack -vv -o c.blp columns 2>"$err"
    says 'chosen: zstd level [123], .*shuffle'
}

@test "append --lossy leaves every committed byte as it is, in a short last chunk too" {
    need_format b2frame
    data noise 150001 a
    data noise 70000 b
    for format in b2frame b2sparse; do
        for size in 65536 1M; do
            for options in "-t 8" "-t 8 --seal --identity" "-t 4 --filter int_trunc:-3 --lossy"; do
                rm -rf x
                # shellcheck disable=SC2086
                bpk pack -q -F $format -z $size $options -o x a
                bpk cat x >was
                bpk append -q --filter trunc:4,shuffle --lossy x b
                bpk append -q --filter trunc:3,shuffle --lossy x b
                bpk verify -q x
                bpk cat --bytes :150001 x | same - was
                bpk cat --bytes 150001: x | cmp -s - <(cat b b) && [ $size = 65536 ] &&
                    die "nothing was lost"
            done
        done
    done
    # bytes that lost the same before are packed as the others
    rm -rf x
    truncate -s 150000 a
    bpk pack -q -F b2frame -z 64K -t 4 --filter trunc:4,shuffle --lossy -o x a
    bpk append -q --filter trunc:4,shuffle --lossy x b
    cat a b >both
    bpk pack -q -F b2frame -z 64K -t 4 --filter trunc:4,shuffle --lossy -o y both
    bpk cat y | cmp - <(bpk cat x)
}
