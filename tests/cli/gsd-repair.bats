#!/usr/bin/env bats
# bpk repair of raw GSD files: the frames of one whose header, index, names or end are damaged.
# BPK_SALVAGE_ROUNDS=1000 tries so many damages of each kind of file.

load lib.bash

rounds() {
    local default=60
    ! light || default=12
    export BPK
    "$python" "$tests/lib/gsd_salvage.py" "$1" 0 "${BPK_SALVAGE_ROUNDS:-$default}"
}

make_gsd() { "$python" "$tests/lib/gsd_salvage.py" make "$@"; } # FILE FRAMES

put() { printf "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none; } # FILE OFFSET BYTES

zero() { # FILE OFFSET SIZE
    dd if=/dev/zero of="$1" bs=1 seek="$2" count="$3" conv=notrunc status=none
}

# STATUS PATTERN COMMAND...
saves() {
    local status=$1 pattern=$2
    shift 2
    ends "$status" "$@"
    says "$pattern"
}

steps() { bpk cat --name log/x "$1" | od -An -v -t u8 | tr -s ' \n' ' '; }

@test "arrays whose entries are intact come back, and no others: tables in front, as GSD's library writes them" {
    need_python
    rounds lib
}

@test "the same with the tables behind the data" {
    need_python
    rounds compact
}

@test "the same in files of version 1" {
    need_python
    rounds old
}

@test "the same in files that bpk appended to" {
    need_python
    BPK_SALVAGE_ROUNDS=${BPK_SALVAGE_ROUNDS:-20} rounds bpk
}

@test "one damaged entry costs its frame, and not those behind it" {
    need_python
    make_gsd t.gsd 5
    put t.gsd $((256 + 2 * 32 + 30)) '\x49' # type of the first array of frame 1
    refuses 2 'entry 2 of the index \(frame 1\): unknown type 73; bpk repair t.gsd shows which frames are left' bpk verify t.gsd
    cp t.gsd was
    refuses 2 '1 of 5 frames has lost arrays; bpk repair --apply --fill zero -o OUT t.gsd keeps' bpk repair t.gsd
    grep -qx 't.gsd: frames 0:1 are intact' "$out"
    grep -qx 't.gsd: frames 1:2 have lost arrays' "$out"
    grep -qx 't.gsd: frames 2:5 are intact' "$out"
    refuses 2 '--fill zero keeps what is left of them, --fill skip leaves them out' bpk repair --apply -o o.gsd t.gsd
    [ ! -e o.gsd ]
    saves 2 '1 of 5 frames has lost arrays; they are left out' bpk repair --apply --fill skip -o o.gsd t.gsd
    quietly bpk verify o.gsd
    [ "$(steps o.gsd)" = ' 0 2 3 4 ' ]
    saves 2 'they have what is left of them' bpk repair --apply --fill zero -o z.gsd t.gsd
    quietly bpk verify z.gsd
    [ "$(steps z.gsd)" = ' 0 1 2 3 4 ' ]
    [ "$(bpk cat --name particles/position --no-defaults z.gsd | wc -c)" -eq 192 ]
    ends 2 bpk repair --json t.gsd
    [ "$(json "$out" 'x["lost"], x["nframes"], x["nlost"], x["certain"]')" = "([{'frame': 1, 'nframes': 1}], 5, 1, True)" ]
    cmp t.gsd was
}

@test "without its first frame nothing is written of a hoomd trajectory, and a number of no name is a lost entry" {
    need_python
    make_gsd t.gsd 5
    put t.gsd $((256 + 30)) '\x49'
    refuses 2 'frame 0 has lost arrays, and readers of the schema hoomd take from it those that later frames lack; --fill zero' \
        bpk repair --apply --fill skip -o o.gsd t.gsd
    [ ! -e o.gsd ]
    saves 2 'they have what is left of them' bpk repair --apply --fill zero -o o.gsd t.gsd
    make_gsd t.gsd 5
    put t.gsd $((256 + 5 * 32 + 29)) '\x80'
    saves 2 '1 of 5 frames has lost arrays; they are left out$' bpk repair --apply --fill skip -f -o o.gsd t.gsd
    [ "$(steps o.gsd)" = ' 0 1 3 4 ' ]
}

@test "truncate removes no frame that repair saves" {
    need_python
    make_gsd whole 70 # 140 entries: the index of 128 was outgrown
    local index=$(od -An -t u8 -j 8 -N 8 whole | tr -d ' ')
    local at
    # an entry of frame 30, the last one of frame 69, the one before, a name, and an end that is cut off
    for at in $((index + 60 * 32 + 30)) $((index + 139 * 32 + 1)) $((index + 138 * 32 + 1)) 4352 cut; do
        cp whole t.gsd
        if [ "$at" = cut ]; then
            truncate -s $((index + 100 * 32)) t.gsd
        else
            put t.gsd "$at" '\x80'
        fi
        refuses 2 'bpk repair t.gsd shows which frames are left$' bpk verify t.gsd
        cp t.gsd was
        [ "$at" = 4352 ] || refuses 2 'bpk repair t.gsd shows which frames are left, and a cut would remove' bpk truncate --frames 20 t.gsd
        cmp was t.gsd
    done
    # an entry of frame 5 that the last one was copied over, and two that were exchanged
    cp whole t.gsd
    dd if=whole of=t.gsd bs=32 skip=$((index / 32 + 139)) seek=$((index / 32 + 10)) count=1 conv=notrunc status=none
    refuses 2 'after frame 69; bpk repair t.gsd shows' bpk verify t.gsd
    make_gsd whole 2
    cp whole t.gsd
    dd if=whole of=t.gsd bs=32 skip=8 seek=11 count=1 conv=notrunc status=none
    dd if=whole of=t.gsd bs=32 skip=11 seek=8 count=1 conv=notrunc status=none
    refuses 2 'after frame 1; bpk repair t.gsd shows' bpk verify t.gsd
    # the last frame, as a power cut leaves it
    make_gsd t.gsd 5
    put t.gsd $((256 + 9 * 32 + 30)) '\0'
    refuses 2 'frame 4 is torn: .*; bpk truncate --frames 4 t.gsd cuts off that frame' bpk verify t.gsd
    quietly bpk truncate --frames 4 t.gsd
    quietly bpk verify t.gsd
}

@test "nothing is appended to a file that has lost its index, or a name" {
    need_python
    make_gsd whole 70
    cp whole t.gsd
    zero t.gsd "$(od -An -t u8 -j 8 -N 8 t.gsd | tr -d ' ')" $((140 * 32))
    cp t.gsd was
    refuses 2 'has no frames, but .*; bpk repair t.gsd shows which frames are left$' bpk append t.gsd --step 5
    cmp was t.gsd
    cp whole t.gsd
    put t.gsd 4353 '\1'
    refuses 2 'name 0 of the list is no text: .*; bpk repair t.gsd shows' bpk append t.gsd --step 5
}

@test "frames that have all lost arrays are not left out" {
    need_python
    make_gsd t.gsd 2
    put t.gsd 112 'other' # the schema
    zero t.gsd 256 32
    zero t.gsd $((256 + 2 * 32)) 32
    refuses 2 '2 of 2 frames have lost arrays; bpk repair --apply --fill zero -o OUT t.gsd keeps what is left of them$' bpk repair t.gsd
    refuses 2 '2 of 2 frames have lost arrays; --fill zero keeps what is left of them$' bpk repair --apply --fill skip -o o.gsd t.gsd
    [ ! -e o.gsd ]
    saves 2 'they have what is left of them' bpk repair --apply --fill zero -o o.gsd t.gsd
    [ "$(steps o.gsd)" = ' 0 1 ' ]
}

@test "a slot of zeros between entries is damage, not the end of the index" {
    need_python
    make_gsd t.gsd 5
    zero t.gsd $((256 + 3 * 32)) 32
    refuses 2 'entry 3 of the index is zeros, and others follow; bpk repair' bpk verify t.gsd
    refuses 2 'is zeros, and others follow' bpk append --step 1 t.gsd
    refuses 2 'is zeros, and others follow; bpk repair t.gsd shows .* a cut would remove them' bpk truncate --frames -1 t.gsd
    saves 2 'frames has lost arrays' bpk repair --apply --fill skip -o o.gsd t.gsd
    [ "$(steps o.gsd)" = ' 0 2 3 4 ' ]
}

@test "a lost header, index pointer or list of names is found again, and that is not certain" {
    need_python
    make_gsd t.gsd 50
    cp t.gsd whole
    zero t.gsd 0 256
    refuses 2 'does not begin as a GSD file, as its name says it should; bpk repair t.gsd shows' bpk verify t.gsd
    saves 2 "all 50 frames that were found are intact, but not certain; names were found at 4352; its header is damaged, and version 2.0 and schema 'hoomd' may be wrong; its index was found at 256" \
        bpk repair --apply -o o.gsd t.gsd
    quietly bpk verify o.gsd
    cmp <(bpk cat --name particles/position o.gsd) <(bpk cat --name particles/position whole)
    [ "$(steps o.gsd)" = "$(steps whole)" ]
    cp whole t.gsd
    put t.gsd 46 '\x07'
    refuses 1 'GSD version 7.0 is not known, .*; if its header is damaged, bpk repair t.gsd shows' bpk verify t.gsd
    cp whole t.gsd
    put t.gsd 9 '\x7f'
    saves 2 'its index was found at 256 by its entries' bpk repair --apply -f -o o.gsd t.gsd
    [ "$(steps o.gsd)" = "$(steps whole)" ]
    cp whole t.gsd
    zero t.gsd 4352 30
    saves 2 '2 of 2 names are lost, and are made up: lost/0 and up' bpk repair --apply -f -o o.gsd t.gsd
    [ "$(bpk cat --name lost/1 o.gsd | od -An -v -t u8 | tr -s ' \n' ' ')" = "$(steps whole)" ]
}

@test "a damaged name costs no other one" {
    need_python
    make_gsd whole 5
    local at byte want
    while read -r at byte want; do
        cp whole t.gsd
        put t.gsd "$at" "$byte"
        refuses 2 't.gsd: .*name .*; bpk repair t.gsd shows' bpk verify t.gsd
        saves 2 'the list of names is damaged' bpk repair --apply -f -o o.gsd t.gsd
        quietly bpk verify o.gsd
        [ "$(bpk ls -0 o.gsd | sort -z | tr '\0' ' ')" = "$want " ]
    done <<'EOF'
4352 \x80 log/x lost/0
4352 \0 log/x lost/0
4357 \1 log/x lost/0
4370 \x81 log/x particles/position
4373 \xff lost/1 particles/position
EOF
}

@test "an older index gives back the entries of a damaged one, and the status is 0" {
    need_python
    make_gsd t.gsd 70 # 140 entries: the index of 128 was outgrown
    steps t.gsd >whole
    at=$(od -An -t u8 -j 8 -N 8 t.gsd | tr -d ' ')
    zero t.gsd $((at + 64)) 512
    refuses 3 'is damaged, but all 70 frames are intact; bpk repair --apply -o OUT t.gsd writes them' bpk repair t.gsd
    ends 0 bpk repair --apply -o o.gsd t.gsd
    [ ! -s "$err" ]
    cmp whole <(steps o.gsd)
    zero t.gsd "$at" $((140 * 32))
    refuses 2 'has no frames, but .* bytes behind its tables: its index is lost, or .*; bpk repair' bpk verify t.gsd
    saves 2 'its index was found at 256.*later frames may be lost' bpk repair --apply -f -o o.gsd t.gsd
    [ "$(steps o.gsd)" = "$(head -c $(($(printf ' %s' $(seq 0 63) | wc -c) + 1)) whole)" ]
}

@test "bytes that came or went, copied and foreign entries, and equal names are not certain" {
    need_python
    make_gsd whole 70
    at=$(od -An -t u8 -j 8 -N 8 whole | tr -d ' ')
    # a byte before the index, and so before the data behind it
    { head -c 7000 whole; tail -c +7002 whole; } >t.gsd
    saves 2 "its index was found at $((at - 1)) by its entries" bpk repair --apply --fill zero -o o.gsd t.gsd
    # a slot of the index
    { head -c $((at + 75 * 32)) whole; tail -c +$((at + 76 * 32 + 1)) whole; } >t.gsd
    saves 2 'bytes are missing at its end, or before; bytes .* belong to no array that was found' \
        bpk repair --apply --fill zero -f -o o.gsd t.gsd
    # an entry over the next one
    cp whole t.gsd
    dd if=whole of=t.gsd bs=1 skip=$((at + 20 * 32)) seek=$((at + 23 * 32)) count=32 conv=notrunc status=none
    zero t.gsd 256 4096 # the older index
    ends 2 bpk repair --json t.gsd
    json "$out" 'all(not run["frame"] <= n < run["frame"] + run["nframes"] for run in x["good"] for n in [11])' | grep -qx True
    # an entry of a file that follows
    make_gsd b.gsd 3
    make_gsd a.gsd 3
    zero a.gsd 256 32
    cat a.gsd b.gsd >t.gsd
    ends 2 bpk repair --json t.gsd
    [ "$(json "$out" 'x["certain"]')" = False ]
    # an equal name
    make_gsd t.gsd 3
    put t.gsd $((4352 + 19)) 'particles/position\0'
    saves 2 '1 name is damaged or equals another one, and is made up' bpk repair --apply -f -o o.gsd t.gsd
    quietly bpk verify o.gsd
}

@test "a file that is cut short" {
    need_python
    make_gsd t.gsd 5
    truncate -s -4 t.gsd
    refuses 2 'frame 4 is torn' bpk verify t.gsd
    saves 2 '1 of 5 frames has lost arrays' bpk repair --apply --fill zero -o o.gsd t.gsd
    quietly bpk verify o.gsd
    [ "$(steps o.gsd)" = ' 0 1 2 3 4 ' ]
    saves 2 'they are left out' bpk repair --apply --fill skip -f -o o.gsd t.gsd
    [ "$(steps o.gsd)" = ' 0 1 2 3 ' ]
}

@test "python gsd reads the result" {
    need_python
    make_gsd t.gsd 70
    for python in "${PYTHON3:-python3}" python3 /usr/bin/python3; do
        ! "$python" -c 'import gsd.fl, numpy' 2>/dev/null || break
    done
    "$python" -c 'import gsd.fl' 2>/dev/null || skip "python3-gsd is not installed"
    zero t.gsd 0 4352
    saves 2 'may be wrong' bpk repair --apply --fill skip -o o.gsd t.gsd
    "$python" -c 'import gsd.fl
with gsd.fl.open("o.gsd", "rb+") as f:
    assert f.nframes == 70 and f.schema == "hoomd"
    assert [int(f.read_chunk(i, "log/x")[0]) for i in range(70)] == list(range(70))
    f.write_chunk("log/x", f.read_chunk(0, "log/x"))
    f.end_frame()'
    quietly bpk verify o.gsd
}

@test "a file of a tebibyte that is a hole is searched at once" {
    need_python
    make_gsd t.gsd 5
    truncate -s 1T t.gsd 2>/dev/null || skip "the file system has no files of 1 TiB"
    put t.gsd 0 'x'
    ends 2 timeout 20 "$BPK" repair t.gsd
    says 'all 5 frames that were found'
}

@test "refused, with nothing written" {
    need_python
    make_gsd t.gsd 5
    quietly bpk repair t.gsd
    ends 0 bpk repair --apply -o o.gsd t.gsd
    says 'is whole, nothing to do'
    put t.gsd 0 'x'
    refuses 64 'from and --guess are for archives' bpk repair --apply --from t.gsd -o o.gsd t.gsd
    refuses 64 'for archives' bpk repair --apply --guess -o o.gsd t.gsd
    refuses 64 'out.blp: the suffix is that of format blp, and the result is a GSD file' bpk repair --apply -o out.blp t.gsd
    refuses 64 'is written to standard output' bpk repair --apply -o - t.gsd
    refuses 1 'same file|is the input' bpk repair --apply -f -o t.gsd t.gsd
    [ ! -e o.gsd ]
    head -c 5000 /dev/zero >n.gsd
    refuses 2 "no entry of a GSD file's index is left" bpk repair n.gsd
    refuses 2 "no entry of a GSD file's index is left" bpk repair --apply --fill zero -o o.gsd n.gsd
    [ ! -e o.gsd ]
}
