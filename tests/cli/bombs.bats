load lib

# Goal: the claims of a file of 4 KiB cost at most a second of processor time and 64 MiB, or are refused
# with status 1. BPK_BOMBS=200 makes as many of each kind and runs every command on each.
bombs() {
    need_plain_build
    need_python
    local kind wrong=
    for kind in "$@"; do
        mkdir "$kind"
        "$python" "$tests/lib/bombs.py" run "$BPK" "$BPK_PEAK" "$kind" "${BPK_BOMBS:-10}" \
            "${BPK_BOMBS_SEED:-1}" "$kind" ${BPK_BOMBS:+all} >"$out" || wrong+=$(cat "$out")$'\n'
        echo "# $kind: $(tail -n 1 "$out")" >&3
        rm -r "$kind"
    done
    [ -z "$wrong" ] || die "$wrong"
}

@test "bombs: special values, runs and indexes of frames" {
    bombs uniform value runs large whole parts tiny index
}

@test "bombs: blocks, arrays and layers of frames, and sparse ones" {
    bombs blocks nd msgpack sparse
}

@test "bombs: Bloscpack files, their metadata, chunked directories, tars" {
    bombs bloscpack metadata nested chunked tar
}

@test "bombs: tables of simulation files" {
    bombs gsd npz zip64 netcdf fits trr dcd wav
}

@test "bombs: the files that were found first" {
    need_plain_build
    need_python
    "$python" "$tests/lib/bombs.py" first "$BPK" "$BPK_PEAK" . >"$out" || die "$(cat "$out")"
}
