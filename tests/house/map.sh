#!/bin/sh
# The map of the tree: HACKING.md lists the folders, src/cli/main.c those of src, a room.am the files
# of its room, and the first comment of a file says what the file is for. Prints TAP.
set -u
top=${top_srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
. "$(dirname "$0")/tap"

# The source files below the current folder, without those of a build in the tree.
sources() {
    find src tests -name '*.[ch]' -type f | grep -v '^tests/data/' | sort
}

# Source files that do not open with a sentence.
silent() {
    sources | while IFS= read -r file; do
        awk '
            FNR == 1 && !/^\/\*/ { exit }
            { text = text $0 }
            /\*\// { exit }
            END { exit text !~ /[a-z].*[.:;]/ }' "$file" || echo "$file: opens without a sentence"
    done
}

# Folders with source files that a map omits; main.c names those of src without "src/".
unlisted() {
    sources | sed 's,/[^/]*$,,' | sort -u | while IFS= read -r folder; do
        grep -q "^    $folder/ " HACKING.md || echo "HACKING.md: has no line for $folder/"
        case $folder in
        src/*) grep -q "^ \*     *${folder#src/} " src/cli/main.c ||
            echo "src/cli/main.c: has no line for ${folder#src/}" ;;
        esac
    done
}

# Source files that no room.am lists: nothing builds or distributes them.
unbuilt() {
    find src -name room.am -exec cat {} + | tr -s ' \t\\' '\n' >"$scratch/built"
    sources | grep '^src/' | grep -vxF -f "$scratch/built" | sed 's/$/: is in no room.am/'
}

# File names in comments and in HACKING.md that no file has. Names below linux/ are the kernel's.
astray() {
    find . -type f | sed 's,^\./,,' >"$scratch/files"
    {
        printf '%s\n' HACKING.md
        sources
    } | xargs awk '
        FILENAME ~ /\.md$/ || /\/\*/ { comment = 1 }
        comment {
            line = $0
            while (match(line, /[A-Za-z0-9_.\/*<{-]*[a-z0-9]\.(c|h|sh|bats|bash|py)[A-Za-z0-9_]*/)) {
                name = substr(line, RSTART, RLENGTH)
                line = substr(line, RSTART + RLENGTH)
                if (name ~ /^[a-z][a-z0-9_\/-]*\.(c|h|sh|bats|bash|py)$/ && name !~ /^linux\//)
                    print FILENAME, name
            }
        }
        FILENAME !~ /\.md$/ && /\*\// { comment = 0 }' | sort -u |
        awk '
            NR == FNR {
                for (path = $0; path != ""; path = substr(path, at + 1)) {
                    known[path]
                    at = index(path, "/")
                    if (at == 0)
                        break
                }
                next
            }
            !($2 in known) { printf "%s: names %s, which is no file\n", $1, $2 }' \
            "$scratch/files" -
}

# Comments that ask: more than one line in 300 of them holds the word "what".
asking() {
    sources | xargs awk '
        /\/\*/ { comment = 1 }
        comment { lines++; asks += / [Ww]hat / }
        /\*\// { comment = 0 }
        END { if (300 * asks > lines) printf "%d of %d lines of comments hold \"what\"\n", asks, lines }'
}

offences() { # FOLDER
    (cd "$1" && silent && unlisted && unbuilt && astray && asking)
}

# Does a small tree with the file $1 of the line $2 have an offence that says $3?
planted() {
    rm -rf "$scratch/tree"
    mkdir -p "$scratch/tree/src/cli" "$scratch/tree/tests" "$scratch/tree/$(dirname "$1")"
    printf '    src/cli/  commands\n    src/io/  files\n' >"$scratch/tree/HACKING.md"
    printf '/*\n * A map.\n *     cli  commands\n *     io  files\n */\n' >"$scratch/tree/src/cli/main.c"
    printf 'x_SOURCES += \\\n\tsrc/cli/main.c src/io/a.c src/new/a.c\n' >"$scratch/tree/src/cli/room.am"
    printf '%s\n' "$2" >"$scratch/tree/$1"
    offences "$scratch/tree" | grep -q "$3"
}

echo 1..8
planted src/io/a.c '#include "io/io.h"' 'a.c: opens without'
report $? "a file that opens silently is found"
planted src/new/a.c '/* A file. */' 'line for src/new/' && planted src/new/a.c '/* A file. */' 'line for new'
report $? "a folder that a map omits is found"
planted src/io/b.c '/* A file. */' 'b.c: is in no room.am'
report $? "a file that no room.am lists is found"
planted src/io/a.c '/* Called by b.c. */' 'names b.c'
report $? "a comment that names a missing file is found"
planted HACKING.md 'See `io/b.c`.' 'names io/b.c'
report $? "a missing file in HACKING.md is found"
planted src/io/a.c '/* Finds what is there. */' 'hold "what"'
report $? "a comment that asks is found"
! planted src/io/a.c '/* Called by cli/main.c, after linux/fs.h. */' .
report $? "a file as it should be is let through"

found=$(offences "$top")
[ -z "$found" ]
report $? "every folder and file stands in its map, files named there exist, and comments are plain"
[ -z "$found" ] || printf '%s\n' "$found" | sed 's/^/# /'
