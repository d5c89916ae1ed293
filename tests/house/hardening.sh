#!/bin/sh
# The program is linked and compiled against attacks through hostile files: position-independent, relocations
# read-only from the start, checked stacks. Builds with --disable-hardening and sanitizers have none of that.
set -u
build=${abs_top_builddir:-.}
if ! grep -q '^BPK_LDFLAGS = .*-z,now' "$build/Makefile"; then
    echo '1..0 # SKIP built without hardening'
    exit 0
fi
if ! command -v readelf >/dev/null 2>&1; then
    echo '1..0 # SKIP readelf is not installed'
    exit 0
fi

n=0
has() { # PATTERN READELF-OPTION WORDS...
    n=$((n + 1))
    if readelf -W "$2" "$build/bpk" | grep -q "$1"; then
        echo "ok $n - $3"
    else
        echo "not ok $n - $3"
    fi
}

echo 1..5
has 'FLAGS_1.*PIE' -d "the program is position-independent"
has 'FLAGS_1.*NOW' -d "its symbols are bound at the start"
has 'GNU_RELRO' -l "its relocations are read-only then"
has 'GNU_STACK.* RW ' -l "its stack holds no code"
has '__stack_chk_fail' --dyn-syms "its stacks are checked"
