#!/bin/sh
# Every external symbol begins with bpk_, and no two files call each other, directly or over others:
# reads the symbol tables of libbpk.a and of the program's own objects. Names that begin with __ belong
# to the compiler and its sanitizers. Tables of functions (kinds of formats and of layouts) are data, and
# no calls.
set -u
build=${abs_top_builddir:-.}
NM=${NM:-nm}

if ! command -v "$NM" >/dev/null 2>&1; then
    echo '1..0 # SKIP nm is not installed'
    exit 0
fi

# External names defined by the files given, that should not be there.
foreign() {
    "$NM" -g --defined-only "$@" 2>/dev/null | awk 'NF == 3 && $3 !~ /^(bpk_|__)/ { print $3 }' |
        sort -u
}

# "CALLER CALLEE" for each pair of objects below src: a function that one uses and another defines.
calls() {
    find "$build/src" -name '*.o' -exec "$NM" -A -g {} + 2>/dev/null |
        awk '{ file = $1; sub(/:[^:]*$/, "", file); name = $NF }
             $(NF - 1) == "T" { defined[name] = file }
             $(NF - 1) == "U" { user[++n] = file; used[n] = name }
             END { for (i = 1; i <= n; i++)
                       if (used[i] in defined && defined[used[i]] != user[i])
                           print user[i], defined[used[i]] }' | sort -u
}

echo 1..4
library=$build/libbpk.a
total=$("$NM" -g --defined-only "$library" 2>/dev/null | awk 'NF == 3 && $3 ~ /^bpk_/' | wc -l)
if [ "$total" -ge 20 ]; then
    echo "ok 1 - the symbol table can be read"
else
    echo "not ok 1 - the symbol table can be read"
    echo "# $total names that begin with bpk_ in libbpk.a"
fi
found=$(foreign "$library")
if [ -z "$found" ]; then
    echo "ok 2 - every external symbol of libbpk.a begins with bpk_"
else
    echo "not ok 2 - every external symbol of libbpk.a begins with bpk_"
    printf '%s\n' "$found" | sed 's/^/# /'
fi
objects=$(find "$build/src/cli" -name '*.o' 2>/dev/null)
# shellcheck disable=SC2086 # one word an object
found=$(foreign $objects | grep -vx main)
if [ -n "$objects" ] && [ -z "$found" ]; then
    echo "ok 3 - every external symbol of the program but main begins with bpk_"
else
    echo "not ok 3 - every external symbol of the program but main begins with bpk_"
    printf '%s\n' "$found" | sed 's/^/# /'
fi
pairs=$(calls)
circle=$(printf '%s\n' "$pairs" | tsort 2>&1 >/dev/null)
if [ -n "$pairs" ] && [ -z "$circle" ]; then
    echo "ok 4 - the calls of files form no circle"
else
    echo "not ok 4 - the calls of files form no circle"
    printf '%s\n' "${circle:-no call was found}" | head -n 20 | sed "s|$build/||; s/^/# /"
fi
