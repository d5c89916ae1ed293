#!/bin/sh
# The map of the tree: HACKING.md lists the folders, src/cli/main.c those of src, a room.am the files
# of its room, and the first comment of a file says what the file is for, and who calls it. Prints TAP.
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

# First comments that name a caller ("Called by a.c and b.c", "a.c and b.c call it") that uses nothing
# of the file: a .c file uses a function or a constant that another defines, and includes a header.
# Files with neither are left out.
uncalled() {
    sources | grep '^src/' | xargs awk '
        FNR == 1 { files[FILENAME]; inside = 1; comment = 0 }
        inside {
            line = $0
            gsub(/^\/?\*+|\*\//, "", line)
            heads[FILENAME] = heads[FILENAME] " " line
            if (/\*\//)
                inside = 0
            next
        }
        /^[ \t]*\/\*/ { comment = 1 }
        comment { if (/\*\//) comment = 0; next }
        /^#include "/ { split($0, quoted, "\""); uses[FILENAME, "src/" quoted[2]]; next }
        /^[a-z].*bpk_/ && !/^(static|typedef|extern)/ && FILENAME ~ /\.c$/ &&
            match($0, /bpk_[a-z0-9_]+(\(|(\[[A-Z_0-9]*\])? = )/) {
            name = substr($0, RSTART, RLENGTH)
            sub(/[^a-z0-9_].*/, "", name)
            defines[FILENAME] = defines[FILENAME] " " name
        }
        {
            line = $0
            while (match(line, /bpk_[a-z0-9_]+/)) {
                uses[FILENAME, substr(line, RSTART, RLENGTH)]
                line = substr(line, RSTART + RLENGTH)
            }
        }
        function is_user(file, of,  names, n, i) {
            if (of ~ /\.h$/)
                return (file, of) in uses
            n = split(defines[of], names, " ")
            for (i = 1; i <= n; i++)
                if ((file, names[i]) in uses)
                    return 1
            return 0
        }
        # A name means the file of the same folder, or else any file of that name.
        function has_user(name, of,  folder, file, end) {
            folder = of
            sub(/[^\/]*$/, "", folder)
            if ((folder name) in files)
                return is_user(folder name, of)
            for (file in files) {
                end = length(file) - length(name)
                if (end > 0 && substr(file, end) == "/" name && is_user(file, of))
                    return 1
            }
            return 0
        }
        END {
            for (of in files) {
                if (of ~ /\.c$/ && defines[of] == "")
                    continue
                n = split(heads[of], sentences, /[.;:] +/)
                for (i = 1; i <= n; i++) {
                    line = sentences[i]
                    if (match(line, /[Cc]alled (by|through) /))
                        line = substr(line, RSTART)
                    else if (line !~ / calls? it( |$)/)
                        continue
                    while (match(line, /[a-z][a-z0-9_\/]*\.c/)) {
                        name = substr(line, RSTART, RLENGTH)
                        line = substr(line, RSTART + RLENGTH)
                        if (!has_user(name, of))
                            printf "%s: %s does not use it\n", of, name
                    }
                }
            }
        }'
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
    (cd "$1" && silent && unlisted && unbuilt && astray && uncalled && asking)
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

echo 1..9
planted src/io/a.c '#include "io/io.h"' 'a.c: opens without'
report $? "a file that opens silently is found"
planted src/new/a.c '/* A file. */' 'line for src/new/' && planted src/new/a.c '/* A file. */' 'line for new'
report $? "a folder that a map omits is found"
planted src/io/b.c '/* A file. */' 'b.c: is in no room.am'
report $? "a file that no room.am lists is found"
planted src/io/a.c '/* Called by b.c. */' 'names b.c'
report $? "a comment that names a missing file is found"
planted src/io/a.c '/* Called by cli/main.c. */
int bpk_a(void)' 'cli/main.c does not use it'
report $? "a comment that names a caller wrongly is found"
planted HACKING.md 'See `io/b.c`.' 'names io/b.c'
report $? "a missing file in HACKING.md is found"
planted src/io/a.c '/* Finds what is there. */' 'hold "what"'
report $? "a comment that asks is found"
! planted src/io/a.c '/* Called by cli/main.c, after linux/fs.h. */' .
report $? "a file as it should be is let through"

found=$(offences "$top")
[ -z "$found" ]
report $? "folders and files stand in their map, files and callers named exist, and comments are plain"
[ -z "$found" ] || printf '%s\n' "$found" | sed 's/^/# /'
