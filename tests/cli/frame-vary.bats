load lib

# Frames by c-blosc2 whose blocks, or chunks, have no one size.
#
# FORMAT KIND: make $archive of the raw file `now`.
#   blocks   blocks of variable length; the last chunk is short
#   mixed    the same, in chunks of several sizes
#   chunks   chunks of several sizes (version 3)
#   middle   a chunk size, and a short chunk before the last, as c-blosc2 2.15 leaves one
#   zeros    the same in blocks of variable length; of the first chunk the index alone tells
kinds=(blocks mixed chunks middle zeros)
make_kind() {
    local sparse=()
    [ "$1" = b2frame ] || sparse=(sparse)
    archive=v.${suffix[$1]}
    rm -rf "$archive"
    head -c 42768 a >now
    case $2 in
        blocks) oracle2 blocks "$archive" 16384 5,700,1,3000,64 4 "${sparse[@]}" <now ;;
        mixed) oracle2 blocks "$archive" 16384,10000,7,20000 100,2000 1 "${sparse[@]}" <now ;;
        chunks | middle)
            head -c 26384 now | oracle2 pack "$archive" 16384 8 "${sparse[@]}"
            tail -c 16384 now | oracle2 append "$archive" 16384
            ;;
    esac
    case $2 in
        middle) fix_chunk_size '\022' ;;
        zeros)
            oracle2 blocks "$archive" 16384,10000 700,3000,1 8 "${sparse[@]}" <now
            fix_chunk_size '\222'
            head -c 16384 /dev/zero | dd of=now conv=notrunc status=none
            ;;
    esac
    [ ! -d "$archive" ] || : >"$archive/.lock"
}

# FLAGS: the header says that all chunks have 16384 bytes; where blocks are variable the index says
# of the first one that it is zeros.
fix_chunk_size() {
    local file=$archive at=97
    if [ -d "$archive" ]; then
        file=$archive/chunks.b2frame
    else
        at=$((at + $(od -An -tu8 --endian=big -j39 -N8 "$archive")))
    fi
    # shellcheck disable=SC2059 # they are an escape
    printf "$1" | dd of="$file" bs=1 seek=25 conv=notrunc status=none
    printf '\0\0\100\0' | dd of="$file" bs=1 seek=58 conv=notrunc status=none
    [ "$1" = '\022' ] ||
        printf '\0\0\0\0\0\0\0\201' | dd of="$file" bs=1 seek=$((at + 32)) conv=notrunc status=none
}

# DEED: change $archive, and `now` with it.
deeds=(append truncate write meta repack)
change() {
    case $1 in
        append) bpk append -q "$archive" more && cat more >>now ;;
        truncate) bpk truncate -q --bytes 21000 "$archive" && truncate -s 21000 now ;;
        write) bpk write -q --at 10000 "$archive" patch &&
            dd if=patch of=now bs=64K oflag=seek_bytes seek=10000 conv=notrunc status=none ;;
        meta) bpk meta set "$archive" "n=$RANDOM" ;;
        repack) bpk repair --repack -q "$archive" ;;
    esac
}

# bpk and c-blosc2 find the content of `now`.
agree() {
    bpk cat "$archive" | cmp - now && oracle2 raw "$archive" | cmp - now &&
        bpk verify -q "$archive"
}

@test "frames of variable blocks or chunks are changed: c-blosc2 opens and unpacks what bpk does" {
    need_oracle2
    data field-f64 65536 a
    data text 30000 more
    # longer than a chunk, and with more zeros than that
    cat <(head -c 2000 more) <(head -c 9000 /dev/zero) >patch
    right=0 all=0
    for format in b2frame b2sparse; do
        for kind in "${kinds[@]}"; do
            for first in "${deeds[@]}"; do
                for second in "${deeds[@]}"; do
                    sampled 3 || continue
                    make_kind $format "$kind"
                    all=$((all + 1))
                    if agree && change "$first" && agree && change "$second" && agree; then
                        right=$((right + 1))
                    else
                        echo "wrong: $format $kind $first $second" >&2
                    fi
                done
            done
        done
    done
    echo "# $right of $all frames of no one size, changed twice, are what c-blosc2 unpacks" >&3
    [ "$right" -eq "$all" ]
}

@test "blocks of variable length keep their sizes" {
    need_oracle2
    data field-f64 65536 a
    data text 30000 more
    head -c 16384 /dev/zero >patch
    sizes() { for n in "$@"; do oracle2 sizes "$archive" "$n"; done; }
    for format in b2frame b2sparse; do
        make_kind $format blocks
        sizes 0 1 2 >before
        # all of chunk 1 becomes zeros, a part of chunk 0 too; neither is told by the index
        quietly bpk write --at 10000 "$archive" patch
        quietly bpk write --at 16384 "$archive" patch
        sizes 0 1 2 | same - before
        # the last chunk is recompressed with more behind it, then cut again
        quietly bpk append "$archive" more
        count=$(($(wc -l <before) - $(sizes 0 1 | wc -l)))
        tail -n $count before >third
        # its former last block stays as it is
        sizes 2 | head -n $count | same - third
        quietly bpk truncate --bytes 17000 "$archive"
        sizes 1 >after
        same after <(printf '5\n611\n')
    done
}

@test "what frames of variable blocks cannot hold is refused" {
    need_oracle2
    data field-f64 65536 a
    data text 30000 more
    for format in b2frame b2sparse; do
        make_kind $format blocks
        refuses 64 'filter delta is not for blocks of variable length' \
            bpk append --filter delta "$archive" more
        agree
    done
}
