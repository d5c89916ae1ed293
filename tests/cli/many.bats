load lib

# Small files of several kinds, and operands that fail or are done alone, in $operands.
make_many() { # COUNT
    local i kinds=(field-f32 text noise mesh-i32 records field-f64) folder
    operands=()
    mkdir -p x/y z
    for ((i = 0; i < $1; i++)); do
        folder=$([ $((i % 3)) -eq 0 ] && echo x/y || echo z)
        "$BPK_MAKE_DATA" "${kinds[i / 2 % 6]}" $((i * 37 % 5 * 7000 + 20000 - i)) $((i % 4)) >$folder/f$i
        operands+=($folder/f$i)
    done
    : >z/empty
    printf 1 >z/one
    data text 3000000 z/large
    data text 5000 z/there
    echo old | tee z/there.blp >z/f7.blp
    ln z/f7.blp z/f10.blp
    ln -s f8.blp z/f11.blp
    ln -s f13 z/f13.blp
    data text 6000 z/named.blp
    ln z/f1 z/hard
    ln -s f2 z/link
    ln -s loop z/loop
    mkdir z/folder
    operands=(z/f1 z/loop "${operands[@]:0:20}" z/empty z/none z/one "${operands[@]:20:20}" z/there
        z/large z/named.blp "${operands[@]:40}" z/folder z/hard z/link z/../z/f4 z/f4.blp x/y/f3 z/none)
}

# THREADS OPTION...: pack a copy of the files, and leave all that can be seen of it in ../tTHREADS.
pack_copy() {
    local threads=$1 status=0
    shift
    rm -rf copy "../t$threads"
    cp -a files copy
    (cd copy && "$BPK" pack -T "$threads" "$@" "${operands[@]}") >"$out" 2>"$err" || status=$?
    mkdir "../t$threads"
    (cd copy && find . ! -type d -printf '%p %y %m %l\n' -exec sh -c '[ -L "$1" ] || cksum <"$1"' - {} \; | sort) >"../t$threads/files"
    sed -E 's/"seconds":[0-9.]+/"seconds":0/' "$out" >"../t$threads/out"
    sed -E 's/, [0-9.]+ s, [0-9]+ MB/, s, MB/' "$err" >"../t$threads/err"
    echo "$status" >"../t$threads/status"
}

@test "many small files: results, messages and status are those of one thread" {
    light && count=60 || count=200
    mkdir files
    cd files && make_many $count && cd ..
    for options in "--no-sync -v --json" "--no-sync -f --json" --rm "--rm -f" "-q -F b2frame -9"; do
        for threads in 1 2 8; do
            pack_copy $threads $options
            diff -r ../t1 ../t$threads || die "$options -T $threads"
        done
        [ "$(cat ../t1/status)" -ne 0 ]
        grep -q '^./z/f40\.' ../t1/files
    done
}

@test "many small files: few descriptors and little memory mean fewer at a time" {
    need_plain_build
    for i in {1..60}; do data field-f32 $((20000 + i)) f$i; done
    quietly bpk pack --no-sync -T 1 f*
    sum=$(cat ./*.blp | cksum)
    rm ./*.blp
    (ulimit -n 80; quietly bpk pack --no-sync -T 8 f*)
    [ "$(cat ./*.blp | cksum)" = "$sum" ]
    rm ./*.blp
    quietly bpk pack --no-sync -T 8 --memory-limit 100M f*
    [ "$(cat ./*.blp | cksum)" = "$sum" ]
    rm ./*.blp
    (ulimit -s 64 && quietly bpk pack --no-sync -T 3 f*)
    [ "$(cat ./*.blp | cksum)" = "$sum" ]
}

@test "many small files: a signal leaves whole results, and no source without one" {
    data field-f32 20000 f
    for signal in TERM INT; do
        for i in {1..1500}; do cp f f$i; done
        env --default-signal=INT,TERM "$BPK" pack --rm -T 4 f?* 2>"$err" &
        pid=$!
        eventually test -e f1001.blp
        kill -$signal $pid
        status=0
        wait $pid || status=$?
        [ "$status" -eq $((128 + $(kill -l $signal))) ] || die "status $status after $signal"
        [ -z "$(find . -name '.*' ! -name .)" ] || die "litter: $(find . -name '.*')"
        [ ! -e f1500.blp ] || die "it was done before the signal"
        quietly bpk verify ./*.blp
        for i in {1..1500}; do
            [ -e f$i ] || bpk cat f$i.blp | cmp - f || die "f$i is lost"
        done
        rm ./*.blp
    done
}

@test "many small files: --force holds for targets that others make meanwhile" {
    mkdir m && cd m
    for i in {1..150}; do data field-f32 3000 f$i; done
    for i in 1 2 3; do
        rm -f ./*.blp
        # an inode that is used again may pass for an earlier result: that is refused, too
        bpk pack --no-sync -f -T 4 f* 2>"$bad" &
        other=$!
        bpk pack --no-sync -f -T 4 f* 2>"$err" || true
        wait $other || true
        ! grep 'already exists' "$bad" "$err" || die "pack -f refused to replace"
    done
}
