#!/bin/sh
# Manual pages and completions are what gendoc makes of the tables, and their readers accept them.
set -u
top=${top_srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
gendoc=./gendoc
if [ ! -x "$gendoc" ]; then
    echo "1..0 # SKIP gendoc was not built here"
    exit 0
fi
new=$(mktemp)
trap 'rm -f "$new"' EXIT

count=0
result() { # STATUS DESCRIPTION
    count=$((count + 1))
    if [ "$1" -eq 0 ]; then echo "ok $count - $2"; else echo "not ok $count - $2"; fi
}

current() { # FILE ARGUMENT OF GENDOC...
    file=$1
    shift
    "$gendoc" "$@" >"$new" && cmp -s "$new" "$top/$file"
    result $? "$file is what make docs writes"
}

accepted() { # PROGRAM FILE ARGUMENTS...
    program=$1 file=$2
    shift 2
    if ! command -v "$program" >/dev/null 2>&1; then
        count=$((count + 1))
        echo "ok $count - $program accepts $file # SKIP no $program here"
        return
    fi
    "$program" "$@" "$top/$file" >"$new" 2>&1 && [ ! -s "$new" ]
    result $? "$program accepts $file"
    sed 's/^/# /' "$new"
}

for template in "$top"/man/*.in; do
    page=man/$(basename "$template" .in)
    current "$page" man "$template"
    accepted mandoc "$page" -T lint -W warning
done
current completions/bash/bpk bash
current completions/zsh/_bpk zsh
current completions/fish/bpk.fish fish
current completions/bash/bpk-mpi bash bpk-mpi
current completions/zsh/_bpk-mpi zsh bpk-mpi
current completions/fish/bpk-mpi.fish fish bpk-mpi
accepted bash completions/bash/bpk -n
accepted bash completions/bash/bpk-mpi -n
accepted zsh completions/zsh/_bpk -n
accepted fish completions/fish/bpk.fish --no-execute
# A sentence stands above each block of examples.
awk '/^\.SH/ { inside = /EXAMPLES/; text = 0 }
    inside && /^[^.]/ { text = 1 }
    inside && /^\.EX/ && !text { print FILENAME ": " FNR }
    /^\.EE/ { text = 0 }' "$top"/man/*.in >"$new"
[ ! -s "$new" ]
result $? "examples have captions"
sed 's/^/# /' "$new"
# Pages are read in terminals of 80 columns. Their lines of output are ASCII here, so bytes count.
if ! command -v groff >/dev/null 2>&1 || ! command -v col >/dev/null 2>&1; then
    count=$((count + 1))
    echo "ok $count - pages fit 80 columns # SKIP no groff, or no col here"
else
    for page in "$top"/man/*.[157]; do
        groff -t -man -Tascii -P-cbou -rLL=80n -rcR=0 "$page" | col -bx |
            awk -v page="${page##*/}" 'length($0) > 80 { print page ": " $0 }'
    done >"$new" 2>&1
    [ ! -s "$new" ]
    result $? "pages fit 80 columns"
    sed 's/^/# /' "$new"
fi

echo "1..$count"
