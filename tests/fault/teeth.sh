#!/bin/sh
# The sweeps have teeth: they pass bpk, and notice each wrong order of commits in src/io/mutant.h. Prints TAP.
set -u
build=${abs_top_builddir:-.}
BPK=$build/tests/fault/bpk-mutant
export BPK
# some mutants are seen in few states
BPK_FAULT_THIN=2
export BPK_FAULT_THIN
unset BPK_MUTANT BPK_FAULT_SEED

if ! "$build/tests/fault/nth" true 2>/dev/null || grep -qaE '__(asan|tsan|msan)_init' "$BPK"; then
    echo '1..0 # SKIP faults cannot be injected here'
    exit 0
fi

n=0
failed=0
say() { # STATUS WORDS...
    n=$((n + 1))
    if [ "$1" -ne 0 ]; then
        printf 'not '
        failed=1
    fi
    shift
    echo "ok $n - $*"
}

# MUTANT SWEEP ROW WORDS...: the sweep passes the row of bpk, and fails for the mutant.
notices() {
    mutant=$1 sweep=$2 row=$3
    shift 3
    said=$("$build/tests/fault/$sweep" "$row" 2>&1)
    say $? "$sweep passes bpk: $row"
    said=$(BPK_MUTANT=$mutant "$build/tests/fault/$sweep" "$row" 2>&1)
    [ $? -eq 1 ] && printf '%s\n' "$said" | grep -q '^# .*: after call\|^# .*SIGKILL'
    say $? "$sweep notices $*"
    printf '%s\n' "$said" | sed -n 's/^\(not \)*ok [0-9]* - /# /p'
}

echo 1..12
notices 1 powercuts 'b2frame, last chunk full: append from a pipe' a head before its bytes are synced
notices 2 powercuts 'blp, last chunk partial: write' bytes overwritten without a journal
notices 3 powercuts 'blp, last chunk partial: write' a journal that is not synced
BPK_FAULT_THIN=1
notices 4 powercuts 'blp, last chunk partial: append from a pipe' a journal that goes before its file is synced
BPK_FAULT_THIN=2
notices 5 powercuts 'b2sparse, last chunk full: append from a pipe' an index before the files that it names
notices 6 powercuts 'blp, last chunk partial: convert to a file' a name before the content is synced
exit $failed
