#!/bin/sh
# .clang-format is the judge of layout; its verdicts differ between versions, so version 14 alone
# is asked.
set -u
top=${top_srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
cd "$top" || exit 99

tool=
for name in clang-format-14 clang-format; do
    if "$name" --version 2>/dev/null | grep -q 'version 14\.'; then
        tool=$name
        break
    fi
done
if [ -z "$tool" ]; then
    echo '1..0 # SKIP clang-format 14 is not installed'
    exit 0
fi

echo 1..2
scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT
cp .clang-format "$scratch"
printf 'int  bpk_x( void ){return 0;}\n' >"$scratch/planted.c"
if "$tool" --dry-run -Werror "$scratch/planted.c" 2>/dev/null; then
    echo 'not ok 1 - a badly laid out file is found'
else
    echo 'ok 1 - a badly laid out file is found'
fi
found=$(find src tests -name '*.[ch]' -type f | sort |
    xargs -n 20 "$tool" --dry-run -Werror 2>&1 | grep -E '(error|warning):' | head -n 20)
if [ -z "$found" ]; then
    echo 'ok 2 - every C file is laid out as .clang-format says'
else
    echo 'not ok 2 - every C file is laid out as .clang-format says'
    printf '%s\n' "$found" | sed 's/^/# /'
fi
