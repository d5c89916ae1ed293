#!/bin/sh
# What nobody should stumble over in the tree: paths of one machine, things left for later, spaces
# at the ends of lines. Long files and functions are named in a note, for a reader to judge.
set -u
top=${top_srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
cd "$top" || exit 99

# Text files that people write; without what a build in the tree leaves there.
written() {
    if git ls-files --error-unmatch configure.ac >/dev/null 2>&1; then
        git ls-files
    else
        find src man tests completions m4 .ci -type f 2>/dev/null
        ls configure.ac Makefile.am README.md HACKING.md ChangeLog 2>/dev/null
    fi | grep -Ev '\.(o|a|log|trs|blp|bin|cdata|raw)$|/\.(deps|dirstamp)|^tests/(data|fuzz/corpus)/' |
        while IFS= read -r file; do
            [ -f "$file" ] && grep -Iq . "$file" 2>/dev/null && printf '%s\n' "$file"
        done
}

count=0
absent() { # PATTERN DESCRIPTION [FILES LEFT OUT]
    count=$((count + 1))
    found=$(written | grep -Ev "^tests/house/tree\.sh$|${3:-^$}" | xargs grep -nE -e "$1" | head -n 20)
    if [ -z "$found" ]; then
        echo "ok $count - $2"
    else
        echo "not ok $count - $2"
        printf '%s\n' "$found" | sed 's/^/# /'
    fi
}

echo 1..5
count=1
files=$(written | wc -l)
if [ "$files" -ge 40 ]; then echo "ok 1 - the tree is there"; else
    echo "not ok 1 - the tree is there"
    echo "# $files files"
fi
absent '\.\./shared|(^|[^[:alnum:]_.])/(work|home|root|Users)/' "no path of one machine" '^\.ci/run$'
absent '(^|[^[:alnum:]_])(TODO|FIXME|XXX|HACK:)([^[:alnum:]_]|$)|not implemented' \
    "nothing is left for later"
absent '[[:blank:]]$' "no line ends in a blank" '\.(md|diff|patch)$'
# Tabs reach to the next eighth column; bytes are counted, and what is not ASCII is let through.
found=$(written | grep -E '\.[ch]$' | xargs awk '
    /[^\t -~]/ { next }
    {
        line = $0
        while ((at = index(line, "\t")) > 0)
            line = substr(line, 1, at - 1) substr("        ", (at - 1) % 8 + 1) substr(line, at + 1)
        if (length(line) > 100)
            printf "%s:%d: %d columns\n", FILENAME, FNR, length(line)
    }')
if [ -z "$found" ]; then echo "ok 5 - no line of C is over 100 columns wide"; else
    echo "not ok 5 - no line of C is over 100 columns wide"
    printf '%s\n' "$found" | sed 's/^/# /'
fi

written | grep -E '^src/.*\.[ch]$' | xargs wc -l | awk '
    $2 != "total" && $1 > 500 { printf "# note: %s has %d lines\n", $2, $1 }'
written | grep -E '^src/.*\.c$' | xargs awk '
    FNR == 1 { start = 0 }
    /^\{/ { start = FNR }
    /^\}/ && start {
        if (FNR - start > 80)
            printf "# note: %s:%d: a function of %d lines\n", FILENAME, start, FNR - start
        start = 0
    }'
exit 0
