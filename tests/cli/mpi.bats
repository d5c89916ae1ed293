load lib

# bpk-mpi: the same bytes, messages and statuses as bpk's, for any number of ranks and threads; ranks
# that are killed; stopping early and going on. Every mpirun ends: it runs under timeout.
#   BPK_MPIRUN     how ranks are started, "mpirun" by default; Open MPI needs "mpirun --oversubscribe", and
#                  --allow-run-as-root for root
#   BPK_MPI_KILLS  points at which each rank is killed, 2 by default; 200 is the long form

need_mpi() {
    mpi=$(dirname "$BPK")/bpk-mpi
    read -r -a mpirun <<<"${BPK_MPIRUN:-mpirun}"
    [ -x "$mpi" ] || skip "bpk-mpi was not built: configure --with-mpi"
    command -v "${mpirun[0]}" >/dev/null || skip "${mpirun[0]} is not installed"
    export HYDRA_LAUNCHER=fork TMPDIR=$BATS_TEST_TMPDIR
}

# RANKS ARGUMENT...: that many ranks of bpk-mpi.
ranks() {
    local n=$1
    shift
    timeout -k 5 120 "${mpirun[@]}" -n "$n" "$mpi" "$@" </dev/null
}

# RANKS COMMAND ARGUMENT...: standard output, messages and status are those of bpk.
agrees() {
    local n=$1 expected=0 status=0
    shift
    bpk "$@" >expected.out 2>expected.err || expected=$?
    ranks "$n" "$@" >"$out" 2>"$err" || status=$?
    [ "$status" -eq "$expected" ] || die "$n ranks: status $status, not $expected: $*" "$(cat "$err")"
    sed 's/^bpk: /bpk-mpi: /' expected.err >expected
    # Open MPI speaks about a status that is not 0
    grep '^bpk-mpi: ' "$err" >found || true
    cmp expected found || die "$n ranks: other messages: $*" "$(diff expected found)"
    cmp expected.out "$out" || die "$n ranks: other results: $*"
}

no_drafts() { [ -z "$(find . -name '.*bpk-*')" ] || die "drafts: $(find . -name '.*bpk-*')"; }

formats=(blp b2frame b2sparse chunked)

@test "bpk-mpi makes the same seals" {
    need_mpi
    data records 3000000 a
    for format in "${formats[@]}"; do
        bpk pack -q --seal -F "$format" -z 256K a -o "ref.$format"
        quietly ranks 3 pack --seal -F "$format" -z 256K a -o out
        diff -r "ref.$format" out || die "$format"
        bpk verify --print-root out >root
        rm -rf out
    done
}

@test "bpk-mpi packs and unpacks as bpk does, for any number of ranks and threads" {
    need_mpi
    data records 3000000 a
    for format in "${formats[@]}"; do
        bpk pack -q -F "$format" -z 64K a -o "ref.$format"
        for n in 1 2 3 4; do
            for t in 1 2; do
                sampled 5 || continue
                rm -rf out back
                quietly ranks $n pack -T $t -F "$format" -z 64K a -o out
                diff -r "ref.$format" out || die "$format, $n ranks of $t threads"
                quietly ranks $n verify -T $t out
                quietly ranks $n unpack -T $t out -o back
                same a back
            done
        done
    done
    no_drafts
}

@test "bpk-mpi: each rank writes the files of a directory, also for a read-only source" {
    need_mpi
    need_strace
    need_plain_build
    data field-f32 3000000 a
    for format in b2sparse chunked; do
        bpk pack -q -F $format -z 64K a -o ref.$format
        rm -rf trace out
        mkdir trace
        timeout -k 5 120 "${mpirun[@]}" -n 2 strace -ff -o trace/t -e trace=pwrite64 \
            "$mpi" pack -q -T 1 -F $format -z 64K a -o out
        diff -r ref.$format out
        # of 46 chunks
        writers=$(grep -cE 'pwrite64.* = [0-9]{5,}$' trace/t.* | awk -F: '$2 >= 20 { n++ } END { print n + 0 }')
        [ "$writers" -eq 2 ] || die "$format: $(grep -c pwrite64 trace/t.*)"
    done
    chmod 400 a
    for format in b2sparse chunked; do
        rm -rf out ref.$format
        bpk pack -q -F $format -z 64K a -o ref.$format
        quietly ranks 2 pack -F $format -z 64K a -o out
        diff -r ref.$format out
        [ "$(cd out && find . -printf '%m %p\n' | sort)" = "$(cd ref.$format && find . -printf '%m %p\n' | sort)" ]
    done
}

@test "bpk-mpi: ranks of different numbers of threads" {
    need_mpi
    data field-f32 3000000 a
    cat >rank <<END
#!/bin/sh
n=\${PMI_RANK:-\${OMPI_COMM_WORLD_RANK:-0}}
command=\$1
shift
exec "$mpi" \$command -T \$((1 + 2 * n)) "\$@"
END
    chmod +x rank
    mpi=$PWD/rank
    for format in "${formats[@]}"; do
        sampled 2 || continue
        rm -rf ref out back
        bpk pack -q -F "$format" -z 32K a -o ref
        quietly ranks 3 pack -F "$format" -z 32K a -o out
        diff -r ref out || die "$format"
        quietly ranks 3 verify out
        quietly ranks 3 unpack out -o back
        same a back
    done
    no_drafts
}

@test "bpk-mpi: inputs that are empty, smaller than a chunk, of one chunk, of zeros" {
    need_mpi
    for size in 0 1 1000 65536 65537; do
        data records $size a
        for format in "${formats[@]}"; do
            sampled 5 || continue
            rm -rf ref out back
            bpk pack -q -F $format -z 64K a -o ref
            quietly ranks 3 pack -F $format -z 64K a -o out
            diff -r ref out || die "$size bytes, $format"
            quietly ranks 3 unpack out -o back
            same a back
        done
    done
    data zeros 1000000 z
    data noise 500000 n
    cat z n z >a
    for format in "${formats[@]}"; do
        sampled 2 || continue
        rm -rf ref out
        bpk pack -q -F $format -z 64K a -o ref
        quietly ranks 2 pack -F $format -z 64K a -o out
        diff -r ref out || die "zeros, $format"
    done
}

@test "bpk-mpi: arrays, simulation files, predictions, --compare, --slack" {
    need_mpi
    data field-f32 1000000 a
    rows=(
        "-F b2frame --dtype <f4 --shape 500,500"
        "-F b2sparse --dtype <f4 --shape 500,500 --chunk-shape 100,90"
        "-F chunked --dtype <f4 --shape 500,500"
        "-F blp --compare --slack 100 -z 32K"
        "-F b2frame --predict --dtype <f4 --shape 10,100,250"
        "-F blp -z 64K --checksum sha256 --no-offsets"
        "-F b2frame -z 64K --checksum none"
    )
    for row in "${rows[@]}"; do
        sampled 2 || continue
        rm -rf ref out
        read -r -a options <<<"$row"
        bpk pack -q "${options[@]}" a -o ref
        ranks 3 pack -q "${options[@]}" a -o out || die "$row"
        diff -r ref out || die "$row"
    done
}

@test "bpk-mpi convert: every container to every other" {
    need_mpi
    data records 1000000 a
    for from in "${formats[@]}"; do
        bpk pack -q -F $from -z 64K a -o from.$from
        for to in "${formats[@]}"; do
            sampled 3 || continue
            rm -rf ref out
            bpk convert -q from.$from ref -F $to
            ranks 3 convert -q from.$from out -F $to || die "$from to $to"
            diff -r ref out || die "$from to $to"
        done
    done
}

@test "bpk-mpi: damage gives bpk's message and status, and no result" {
    need_mpi
    data field-f32 1500000 a
    for format in blp b2frame; do
        bpk pack -q -F $format -z 64K a -o d.$format
        size=$(stat -c %s d.$format)
        for at in $((size / 2)) $((size * 2 / 3)); do
            printf 'damage' | dd of=d.$format bs=1 seek=$at conv=notrunc status=none
        done
        for n in 1 2 3; do
            sampled 2 || continue
            agrees $n verify -q d.$format
            agrees $n unpack d.$format -o u
            agrees $n convert d.$format c.blp
        done
        [ ! -e u ] && [ ! -e c.blp ]
    done
    bpk unpack --keep-broken d.blp -o ref 2>"$err" || true
    status=0
    ranks 3 unpack --keep-broken d.blp -o out 2>"$err" || status=$?
    [ $status -eq 2 ]
    same ref.partial out.partial
    truncate -s 700000 d.blp
    agrees 2 verify -q d.blp
    agrees 2 unpack missing
    no_drafts
}

@test "bpk-mpi: many files, handed out and divided, reported in order" {
    need_mpi
    for i in 1 2 3 4 5 6 7; do data records $((i * 30000)) f$i; done
    data text 5000000 big
    mkdir ref
    for file in f? big; do bpk pack -q $file -o ref/$file.blp; done
    status=0
    ranks 3 pack f1 f2 missing f3 big f4 f5.blp f5 f6 f7 2>"$err" || status=$?
    [ $status -eq 1 ]
    grep '^bpk-mpi: ' "$err" >found
    printf 'bpk-mpi: %s: cannot open: No such file or directory\n' missing f5.blp >expected
    same expected found
    for file in f? big; do same ref/$file.blp $file.blp; done
    quietly ranks 2 verify ./*.blp
    printf x >>f3.blp
    printf damage | dd of=f5.blp bs=1 seek=3000 conv=notrunc status=none
    agrees 3 verify -q f?.blp big.blp
    agrees 2 verify -q -r .
    rm f?
    status=0
    ranks 2 unpack --json f1.blp f2.blp f4.blp >"$out"
    [ "$(grep -o '"path":"[^"]*"' "$out" | tr -d '\n')" = '"path":"f1.blp""path":"f2.blp""path":"f4.blp"' ]
    # two results of one name
    cp ref/f1.blp g.blp
    bpk convert -q g.blp g.b2frame
    status=0
    ranks 2 unpack -f g.blp g.b2frame 2>"$err" || status=$?
    [ $status -eq 1 ]
    says 'is the result of g.blp already'
    no_drafts
}

# N A B OPTION...: the ranks say of two operands what bpk says, with the same status.
same_as_cmp() {
    local n=$1 expected=0 status=0
    shift
    bpk cmp "$@" >expected.out 2>expected.err || expected=$?
    ranks "$n" cmp "$@" >got.out 2>"$err" || status=$?
    [ $status -eq $expected ] || die "$n ranks, cmp $*: status $status, expected $expected"
    diff expected.out got.out || die "$n ranks, cmp $*"
    # Open MPI speaks about a status that is not 0
    diff <(sed 's/^bpk: /bpk-mpi: /' expected.err) <(grep '^bpk-mpi: ' "$err" | sed '/files on/d') || die "$n ranks, cmp $*"
}

@test "bpk-mpi cmp: the first difference, the ends and damage are those that bpk finds" {
    need_mpi
    data field-f32 3000000 a
    cp a b
    bpk pack -q -z 64K a
    bpk pack -q -F b2frame -z 100K -o b.b2frame a
    printf '\231' | dd of=b bs=1 seek=2400001 conv=notrunc status=none
    printf '\231' | dd of=b bs=1 seek=2700001 conv=notrunc status=none
    head -c 2999000 a >short
    for at in 2 4; do # before and behind the first difference
        cp a.blp damaged$at.blp
        printf '\125\252' | dd of=damaged$at.blp bs=1 seek=$(($(stat -c %s a.blp) * (2 * at + 1) / 10)) \
            conv=notrunc status=none
    done
    for n in 1 2 3; do
        same_as_cmp $n a.blp b.b2frame
        same_as_cmp $n a.blp b
        same_as_cmp $n b b.b2frame
        same_as_cmp $n a short
        same_as_cmp $n short a.blp
        same_as_cmp $n damaged2.blp b
        same_as_cmp $n b damaged4.blp
        same_as_cmp $n --tolerance 1e30 --dtype '<f4' a.blp b.b2frame
        same_as_cmp $n a gone
    done
    mkdir t u
    for i in 1 2 3 4 5; do
        head -c $((i * 100000)) a >t/f$i
        cp t/f$i u
    done
    echo x >u/f3
    echo y >t/only
    cp b t/large
    cp a u/large
    bpk pack -q -r --rm u
    for n in 1 3; do
        same_as_cmp $n -r -v t u
        same_as_cmp $n -r --json t u
        same_as_cmp $n -r --shard 1/2 t u
    done
}

@test "bpk-mpi: help, version and unknown commands are its own" {
    need_mpi
    ranks 3 version >"$out"
    [ "$(grep -c '^bpk-mpi ' "$out")" -eq 1 ]
    grep -qE '^MPI +.*MPI' "$out"
    ranks 2 --help >"$out"
    [ "$(grep -c '^Usage: bpk-mpi' "$out")" -eq 1 ]
    ! grep -qE '^  (cat|append|tar) ' "$out"
    ranks 2 help pack >"$out"
    head -n 1 "$out" | grep -q '^Usage: bpk-mpi pack'
    status=0
    ranks 3 cat x 2>"$err" || status=$?
    [ $status -ne 0 ]
    [ "$(grep -c "^bpk-mpi: unknown command 'cat'" "$err")" -eq 1 ]
    # alone, without mpirun
    data records 100000 a
    quietly timeout 60 "$mpi" pack a
    bpk pack -q a -o ref.blp
    same ref.blp a.blp
}

@test "bpk-mpi --resume passes over what is done, and is for one command" {
    need_mpi
    for i in 1 2 3; do data records $((i * 30000)) f$i; done
    quietly ranks 2 --resume state pack f1 f2 f3
    before=$(stat -c '%i %Y' f?.blp)
    quietly ranks 2 --resume state pack f1 f2 f3
    [ "$(stat -c '%i %Y' f?.blp)" = "$before" ]
    # a file that has changed is not done
    data records 50000 f2
    rm f2.blp
    quietly ranks 2 --resume state pack f1 f2 f3
    bpk pack -q f2 -o ref.blp
    same ref.blp f2.blp
    cp state before
    status=0
    ranks 2 --resume state pack -f f1 f2 f3 2>"$err" || status=$?
    [ $status -eq 1 ]
    says 'state: is the state of another command'
    same before state
    # a failure is no end
    status=0
    ranks 2 --resume state2 pack f1 gone 2>"$err" || status=$?
    [ $status -eq 1 ]
    [ ! -e state2 ] || ! grep -q gone state2
}

@test "bpk-mpi --max-time begins nothing more, with status 4, and a later run goes on" {
    need_mpi
    data records 100000 f1
    data records 200000 f2
    # standard input ends behind the limit
    for again in 1 2; do
        status=0
        { cat f1; sleep 2; } | timeout 60 "$mpi" --max-time 1 --resume state pack - f1 f2 >"$out" 2>"$err" ||
            status=$?
        [ $status -eq 4 ] || die "status $status" "$(cat "$err")"
        says '^bpk-mpi: 2 of 3 files are not done: stopped after the 1 second of --max-time$'
        [ ! -e f1.blp ] && [ ! -e f2.blp ]
        no_drafts
    done
    bpk unpack -o back "$out"
    same f1 back
    timeout 60 "$mpi" --resume state pack - f1 f2 <f1 >"$out" 2>"$err"
    bpk verify f1.blp f2.blp
}

@test "bpk-mpi: SIGTERM or SIGUSR1 to any rank begins nothing more, with status 4" {
    need_mpi
    data records 100000 f1
    data records 200000 f2
    mkfifo input
    plain=$mpi
    mpi=$PWD/rank
    for row in "0 TERM 15" "1 TERM 15" "1 USR1 10"; do
        read -r which signal number <<<"$row"
        cat >rank <<END
#!/bin/sh
n=\${PMI_RANK:-\${OMPI_COMM_WORLD_RANK:-0}}
[ \$n -ne $which ] || echo \$\$ >pid
[ \$n -eq 0 ] || exec "$plain" "\$@"
exec "$plain" "\$@" <input
END
        chmod +x rank
        # a pipe holds less than f1: when cat ends, all ranks wait for the signal
        timeout -k 5 60 sh -c "exec >input; cat f1; kill -$signal \$(cat pid); sleep 1" &
        status=0
        ranks 2 pack - f1 f2 >"$out" 2>"$err" || status=$?
        wait $!
        [ $status -eq 4 ] || die "$row: status $status" "$(cat "$err")"
        says "^bpk-mpi: 2 of 3 files are not done: stopped by signal $number\$"
        [ ! -e f1.blp ] && [ ! -e f2.blp ] || die "$row: f1 or f2 was begun"
        bpk unpack -f -o back "$out"
        same f1 back
    done
    mpi=$plain
    quietly ranks 2 pack f1 f2
    bpk verify f1.blp f2.blp
    no_drafts
}

# The calls that change or read files, of one rank of a run.
traced='openat,pread64,pwrite64,write,ftruncate,fsync,fdatasync,renameat2,renameat,linkat,unlinkat,fchmod,flock'

# RANK POINT ARGUMENT...: two ranks, one of them killed at its call of that number; 0: count them.
killed() {
    local which=$1 point=$2
    shift 2
    cat >"$bad" <<END
#!/bin/sh
n=\${PMI_RANK:-\${OMPI_COMM_WORLD_RANK:-0}}
[ \$n -eq $which ] || exec "$mpi" "\$@"
exec strace -qq -f -o "$BATS_TEST_TMPDIR/trace" -e trace=$traced $([ "$point" -eq 0 ] ||
        echo "-e inject=$traced:signal=KILL:when=$point") "$mpi" "\$@"
END
    chmod +x "$bad"
    timeout -k 5 60 "${mpirun[@]}" -n 2 "$bad" "$@" </dev/null >"$out" 2>"$err"
}

@test "bpk-mpi: a rank that is killed leaves nothing half-made, and the next run is right" {
    need_mpi
    need_strace
    points=${BPK_MPI_KILLS:-2}
    data records 600000 a
    for row in "blp 1" "blp 0" "b2frame 0" "b2frame 1"; do
        [ "$points" -gt 2 ] || sampled 2 || continue
        read -r format which <<<"$row"
        bpk pack -q -f -F $format -z 32K a -o ref
        rm -f out
        killed $which 0 pack -T 1 -F $format -z 32K a -o out
        calls=$(wc -l <"$BATS_TEST_TMPDIR/trace")
        [ "$calls" -gt 20 ]
        for ((k = 1; k <= points; k++)); do
            rm -f out
            killed $which $((calls - (calls * (k - 1) / points / 2))) \
                pack -T 1 -F $format -z 32K a -o out || true
            [ ! -e out ] || same ref out
            quietly ranks 2 pack -f -T 1 -F $format -z 32K a -o out
            same ref out
            no_drafts
        done
    done
}
