load lib
load seal

# A directory of 41 chunks, the last one short, and metadata: s.x, from in. The arguments are pack's.
make_directory() {
    make_input $((40 * 2000 + 776))
    rm -rf s.x
    bpk pack --seal --metadata m -z 2000 --filter none -F chunked --superchunk-size 8K -o s.x "$@" in
}

records="[('x','<f4'),('y','<f4')]"

@test "chunked directories have a seal, of any number of threads, in the layout blaze" {
    make_directory -t 1
    quietly bpk verify --root "$(root s.x)" --min-generation 1 s.x
    refuses 2 '' bpk verify --min-generation 2 s.x
    [ "$(bpk meta get s.x)" = '{"step":7}' ]
    sum=$(root s.x)
    for threads in 1 3; do
        make_directory -t 1 -T $threads
        [ "$(root s.x)" = "$sum" ]
    done
    for checksum in none crc32 sha512; do
        make_directory -t 1 --checksum $checksum
        quietly bpk verify --min-generation 1 s.x
        [ "$(root s.x)" != "$sum" ]
    done
    refuses 64 'a seal needs the layout blaze' bpk pack --seal -F chunked --layout bcolz -o x.blpd in
    bpk pack --seal -F chunked -o e.blpd /dev/null
    quietly bpk verify --min-generation 1 e.blpd
    bpk append e.blpd in
    quietly bpk verify --min-generation 2 e.blpd
    "$BPK" convert s.x c.blpd 2>said
    grep -q 'its seal is left out of the result; --seal makes a new one$' said
    [ "$(generation c.blpd)" = null ]
    ! grep -rq bpk_seal c.blpd
}

@test "append, truncate, write and meta renew the seal of a directory" {
    for option in "-t 1" "--dtype $records"; do
        make_directory $option
        cp in all
        n=1
        for size in 8 1224 2000 776 4000 30000; do
            head -c $size in >part
            more part
        done
        for size in 110000 109992 108000 106000 60000 10504; do
            cut_to $size
        done
        more in
        head -c 5000 in >part
        over 3000 part
        bpk meta set s.x a=1
        renewed
        cut_to 0
        more in
    done
}

# BPK_SEAL_ROUNDS=2000: so many manipulations of each kind
@test "manipulations of a directory with digests that fit are found" {
    for option in "-t 1" "-t 1 --checksum crc32" "--dtype $records" "--checksum crc32 --dtype $records"; do
        make_directory $option
        rm -rf same
        "$python" "$tests/lib/seal_dir.py" none 0 1 s.x same
        quietly bpk verify --root "$(root s.x)" same/0
        for kind in swap copy cut kind record mark field metadata storage behind; do
            all_found seal_dir.py $kind s.x
        done
    done
}

@test "reseal makes a new seal after another program's change" {
    for option in "-t 1" "-t 1 --checksum none" "--dtype $records"; do
        make_directory $option
        quietly bpk repair --reseal s.x
        [ "$(generation s.x)" = 1 ]
        rm -rf f
        "$python" "$tests/lib/seal_dir.py" foreign 0 1 s.x f
        refuses 2 'have no seal: another program changed it .* or it is damaged; bpk repair f/0 shows .* if you know that program, bpk repair --reseal f/0 accepts' bpk verify f/0
        for command in "truncate f/0 --bytes 3000" "append f/0 in" "meta set f/0 a=1"; do
            ends 2 bpk $command
        done
        quietly bpk repair --reseal f/0
        quietly bpk verify f/0
        [ "$(generation f/0)" = 1 ]
        grep -q '"bpk":' f/0/meta/sizes
        { head -c 80000 in; head -c 4000 in; } >all
        bpk cat f/0 | cmp - all
        head -c 2000 in >part
        bpk append f/0 part
        [ "$(generation f/0)" = 2 ]
        quietly bpk verify f/0
        for kind in swap copy cut kind mark field metadata storage; do
            rm -rf f
            "$python" "$tests/lib/seal_dir.py" $kind 0 1 s.x f
            quietly bpk repair --reseal f/0
            quietly bpk verify f/0
            [ $kind = field ] || [ "$(generation f/0)" = 2 ]
        done
    done
}

@test "reseal of a directory seals nothing that is damaged" {
    need_python
    seq 20000 >in
    for option in "" "--checksum none"; do
        rm -rf s.x
        bpk pack --seal -z 2000 -F chunked --superchunk-size 8K --codec lz4 -o s.x $option in
        for kind in none foreign cut; do
            rm -rf f before
            "$python" "$tests/lib/seal_dir.py" $kind 0 1 s.x f
            printf '\377\377\377\377' | dd of=f/0/data/__1__.bin bs=1 seek=80 conv=notrunc status=none
            cp -r f/0 before
            ends 2 bpk repair --reseal f/0
            grep -q 'f/0: data/__1__.bin: chunk 0' "$err" || die "$(cat "$err")"
            diff -r -x .lock f/0 before
        done
        rm -rf f
        "$python" "$tests/lib/seal_dir.py" behind 0 1 s.x f
        cp -r f/0 behind
        ends 2 bpk repair --reseal f/0
        diff -r -x .lock f/0 behind
        rm -rf behind
    done
    bpk pack -q -F chunked -o plain.x in
    cp -r plain.x before.x
    quietly bpk repair --reseal plain.x
    diff -r -x .lock plain.x before.x
}

@test "an old state of a directory is found, and nothing seals damage anew" {
    make_directory -t 1
    cp -r s.x old.x
    bpk append s.x in
    refuses 2 '' bpk verify --min-generation 2 old.x
    refuses 2 '' bpk verify --root "$(root s.x)" old.x
    cp -r s.x mixed.x
    cp old.x/meta/sizes mixed.x/meta/sizes
    refuses 2 '' bpk verify mixed.x
    for command in "truncate f/0 --bytes 3000" "write f/0 --at 3 m" "append f/0 in" "meta set f/0 a=1"; do
        rm -rf f
        "$python" "$tests/lib/seal_dir.py" swap 0 1 old.x f
        ends 2 bpk $command
        ends 2 bpk verify f/0
    done
}

@test "cat --prove calls a directory that bpk appends to meanwhile changed, and not damaged" {
    need_nth
    local changed=0
    data noise 20000 raw
    data text 3000 more
    bpk pack -q -F chunked -t 4 -z 4096 --seal -o was raw
    cp -r was A
    "$nth" -R -o calls "$BPK" cat --prove -T 1 A >/dev/null
    for ((point = 1; point <= $(wc -l <calls); point += 5)); do
        rm -rf A done && cp -r was A
        status=0
        NTH_RUN="[ -e done ] || { : >done; '$BPK' append -q A more; }" \
            "$nth" -R -n $point -a run "$BPK" cat --prove -T 1 A >content 2>"$err" || status=$?
        case $status in
        0) cmp <(head -c 20000 content) raw ;;
        1) says 'changed while it was' && changed=$((changed + 1)) ;;
        *) die "status $status at $point: $(cat "$err")" ;;
        esac
    done
    [ $changed -gt 0 ]
}
