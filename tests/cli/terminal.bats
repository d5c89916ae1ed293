load lib

# Nothing but printable ASCII and newlines reached the terminal.
is_tame() {
    local rest
    rest=$(cat "$out" "$err" | LC_ALL=C tr -d '\12\40-\176' | od -An -tx1)
    [ -z "$rest" ] || die "$*: $rest" "$(cat -v "$out" "$err" | head -5)"
}

try() {
    "$BPK" "$@" >"$out" 2>"$err" || true
    is_tame "$@"
}

@test "controls in names of files reach no terminal, as UTF-8, as bytes, or as ASCII" {
    data records 100000 a
    for hostile in $'x\xc2\x9b31my' $'x\x9b31my' $'x\e]0;z\ay' $'x\xc2\x85y' $'x\x84y'; do
        rm -rf t "$hostile"* && mkdir t
        cp a "$hostile"
        try pack -v "$hostile"
        try pack "$hostile"
        cp a "$hostile.blp.broken"
        for command in verify info ls cat unpack append truncate write repair meta convert tar; do
            try $command "$hostile.none"
        done
        try verify -v "$hostile.blp"
        try verify --json "$hostile.blp"
        try verify -r -v .
        try verify "$hostile.blp.broken"
        try info "$hostile.blp"
        try info -v "$hostile.blp"
        try ls "$hostile.blp" "$hostile.blp"
        try info --json "$hostile.blp" "$hostile.none"
        try unpack -v -f "$hostile.blp"
        try unpack "$hostile.blp"
        try convert -v "$hostile.blp" "t/$hostile.blpd"
        try convert "$hostile.blp" "t/$hostile.blpd"
        try append -v "$hostile.blp" a
        try append "$hostile.blp" "$hostile.none"
        try truncate --bytes 1000 -v "$hostile.blp"
        try write --at 0 "$hostile.blp" "$hostile.none"
        try repair "$hostile.blp"
        try tar -v -o t/t.tar "$hostile.blp"
        try tar -t t/t.tar
        try tar -tv t/t.tar
        try tar -t --json t/t.tar
        try tar -x -v -C t t/t.tar
        try tar -x -v -C t t/t.tar
        try info "t/t.tar:$hostile"
        try "$hostile"
        try pack "--$hostile"
        try pack --codec "$hostile" a
    done
}

@test "controls in metadata, names of layers and types reach no terminal" {
    data records 100000 a
    control=$'x\xc2\x9by'
    printf '{"%s": "%s"}' "$control" "$control" >m
    bpk pack -q --metadata m -o s.blp a 2>"$err" || { bpk pack -q -o s.blp a && bpk meta import s.blp m; }
    bpk pack -q -F b2frame -o s.b2frame a
    bpk meta import s.b2frame m
    for f in s.blp s.b2frame; do
        try info -v $f
        try ls -l $f
        try info --json $f
        try meta get $f
        try meta get $f "$control"
        try meta get $f "$control.none"
        try meta set $f "$control=$control"
    done
    bpk pack -q -F chunked --dtype "[('$control','<i4'),('q','<f4')]" -o s.blpd a 2>"$err" || true
    is_tame chunked
    try info -v s.blpd
    try verify -v s.blpd
    try info --json s.blpd
}

# Run bpk on a terminal of N columns; all that it writes is in $out, without carriage returns at ends of lines.
on_terminal() { # N ARGUMENT...
    local status=0
    "$python" "$tests/lib/terminal.py" "$1" "$BPK" "${@:2}" >"$out" || status=$?
    sed -i 's/\r$//' "$out"
    return $status
}

@test "each file that is done gets a line on a terminal, and none elsewhere" {
    need_python
    data field-f64 2000000 a
    data noise 100 b
    number='[0-9]+(\.[0-9]+)?'
    on_terminal 80 pack a b
    grep -qxE "bpk: a: 1.9 -> $number MiB \([0-9]\.[0-9]+\), zstd [0-9], (bit)?shuffle 8, $number s" "$out" || die "$(cat "$out")"
    grep -qxE "bpk: b: 100 -> [0-9]+ B \(0\.[0-9]+\), zstd [0-9], .*$number s" "$out" || die "$(cat "$out")"
    [ "$(wc -l <"$out")" -eq 2 ]
    on_terminal 80 unpack -f a.blp
    grep -qxE "bpk: a.blp: $number -> 1.9 MiB \([0-9]\.[0-9]+\), $number s" "$out" || die "$(cat "$out")"
    on_terminal 80 convert a.blp a.b2frame
    grep -qE '^bpk: a.blp: .* -> .* s$' "$out"
    for command in "pack -q -f a" "unpack -q -f a.blp" "convert -q -f a.blp a.b2frame" "pack -f --json a"; do
        on_terminal 80 $command
        ! grep -q -- '->' "$out" || die "$command" "$(cat "$out")"
    done
    on_terminal 80 pack -f -v a
    [ "$(grep -c '^bpk: a: ' "$out")" -eq 2 ] || die "$(cat "$out")"
    quietly bpk pack -f a
    quietly bpk unpack -f a.blp
    quietly bpk convert -f a.blp a.b2frame
}

@test "the bar counts files, is cleared at an interrupt, and leaves the terminal to others from the background" {
    need_python
    data noise 3000000 a
    cp a b
    on_terminal 100 pack --progress always -f -T 1 -z 64K a b
    tr '\r' '\n' <"$out" | grep -qE '^\(1/2, [0-9]+ % of 5.7 MiB\)  *[0-9]+ % of 2.9 MiB, .*  a *$' ||
        die "$(cat "$out")"
    tr '\r' '\n' <"$out" | grep -qE '^\(2/2, ([5-9][0-9]|100) % of 5.7 MiB\) .*  b *$' || die "$(cat "$out")"
    on_terminal 60 pack --progress always -f -T 1 -z 64K a b
    tr '\r' '\n' <"$out" | grep -q '^(2/2, ' || die "$(cat "$out")"
    on_terminal 100 pack --progress always -f -z 64K a
    ! grep -q '(1/1)' "$out"
    # an archive that comes for two seconds, in the foreground and in the background
    mkfifo pipe
    size=$(stat -c %s a.blp)
    slowly() { for i in $(seq 0 150000 "$size"); do tail -c +$((i + 1)) a.blp | head -c 150000; sleep 0.1; done; }
    unpack="'$BPK' unpack -f -o c - <pipe"
    slowly >pipe &
    "$python" "$tests/lib/terminal.py" 100 bash -c "$unpack" >"$out"
    tr '\r' '\n' <"$out" | grep -q '/s, .*standard input *$' || die "$(cat "$out")"
    slowly >pipe &
    "$python" "$tests/lib/terminal.py" 100 bash -m -c "$unpack & wait" >"$out"
    ! grep -q '/s, ' "$out" || die "$(cat "$out")"
    # an interrupt, once the bar is there
    (head -c 2000000 a.blp; exec sleep 30) >pipe &
    feeder=$!
    status=0
    "$python" "$tests/lib/terminal.py" 100 bash -c "
        env --default-signal=INT '$BPK' unpack --progress always -f -o d - <pipe & pid=\$!
        sleep 1; kill -INT \$pid; wait \$pid" >"$out" || status=$?
    kill $feeder
    [ "$status" -eq 130 ] || die "$status"
    tr '\r' '\n' <"$out" | grep -q 'standard input *$' || die "$(cat "$out")"
    [ -z "$(tr '\r' '\n' <"$out" | tail -n 1 | tr -d ' ')" ] || die "$(cat "$out")"
}

@test "info fits its list into the terminal, or into --columns" {
    need_python
    data field-f64 200000 a
    bpk pack -q a
    bpk info a.blp >whole
    grep -q 'Ratio *Type *Codec *Filter *Checksum *Name$' whole
    for columns in 200 95 80 70 60 40; do
        on_terminal $columns info a.blp a.blp
        bpk info --columns $columns a.blp a.blp >given
        same "$out" given
        [ $columns -lt 60 ] || ! grep -qE ".{$((columns + 1))}" given || die "$columns" "$(cat given)"
        grep -q ' a.blp$' given
    done
    bpk info --columns 80 a.blp | grep -q 'Ratio *Codec *Filter *Name$'
    bpk info --columns 0 a.blp | same - whole
    on_terminal 200 info a.blp
    same "$out" whole
    refuses 64 "" bpk info --columns x a.blp
}
