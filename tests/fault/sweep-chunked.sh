#!/bin/sh
# Changes of chunked directories x every call that writes x every fault: at whatever instant a command
# dies and whatever fails, the dataset has its old or its new content, verify accepts it, and the next
# command works and leaves no draft. Prints TAP.
#
#     sweep-chunked.sh [NAME [KIND]]
#
#     NAME, KIND        only that change, and only of that dataset
#     BPK_FAULT_THIN    one point in so many (41); 1: every point
#     BPK_FAULT_SEED    which of them
#     abs_top_builddir  the build folder, with bpk and tests/fault/nth
set -u
umask 022
export LC_ALL=C
unset BPK_LEVEL BPK_CODEC BPK_THREADS BPK_MEMORY_LIMIT
build=${abs_top_builddir:-$(pwd)}
BPK=${BPK:-$build/bpk}
NTH=$build/tests/fault/nth
THIN=${BPK_FAULT_THIN:-41}
SEED=${BPK_FAULT_SEED:-0}

if grep -qaE '__(asan|tsan|msan)_init' "$BPK"; then
    echo '1..0 # SKIP a sanitizer build'
    exit 0
fi

work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 99

"$NTH" -o calls true 2>/dev/null || {
    echo '1..0 # SKIP this machine does not let one process trace another'
    exit 0
}

# SIZE compressible bytes.
make_bytes() { # SIZE SEED
    awk -v n="$1" -v s="$2" 'BEGIN { for (i = 0; i < n; i++) {
        s = (s * 1103515245 + 12345) % 2147483648
        printf "%c", 97 + (i % 4 == 0 ? s % 13 : 3) } }' | head -c "$1"
}

# ---- the datasets, base/KIND, and their content, KIND.raw: records of 12 bytes, chunks of 100 ----

bail() {
    echo "Bail out! $1: $(head -n 1 said)"
    exit 99
}

mkdir base
make_bytes 10200 1 >partial # the last chunk and the last file are partial
make_bytes 9600 2 >whole    # the last chunk is full, its file is partial
make_bytes 5040 3 >more
printf '%s' "{\"dtype\":\"[('x', '<f4'), ('y', [('u', '<i2'), ('v', '|S6')])]\",\"shape\":[N]," \
    '"order":"C","container":"numpy"}' >nested.json
printf '%s' "{\"dtype\":\"[('x', '<f4'), ('y', '<f8')]\",\"shape\":[N],\"order\":\"C\"," \
    '"container":"numpy"}' >flat.json

base() { # KIND RAW METADATA OPTIONS: converted from a Bloscpack file, with files of three chunks
    kind=$1 raw=$2 metadata=$3
    shift 3
    cp "$raw" "$kind.raw"
    sed "s/N/$(($(wc -c <"$raw") / 12))/" "$metadata" >metadata
    "$BPK" pack -q --codec lz4 -z 1200 --metadata metadata -o "$kind.blp" "$raw" 2>said &&
        "$BPK" convert -q --superchunk-size 1200 "$@" "$kind.blp" "base/$kind.blpd" 2>said ||
        bail "base/$kind cannot be made"
}
echo '{}' >empty.json
base bytes partial empty.json --superchunk-size 3600
base full whole empty.json --superchunk-size 3600
base columns partial nested.json
base bcolz partial empty.json --layout bcolz
base table whole flat.json --layout bcolz

# ---- one run with a fault ----

# Write the content of the dataset set.blpd after the change to wanted.
scenario() { # NAME KIND
    content=$2.raw
    case $1 in
    append) cat "$content" more >wanted ;;
    truncate) head -c 4200 "$content" >wanted ;; # inside a chunk and a file
    boundary) head -c 3600 "$content" >wanted ;;
    write) { head -c 2400 "$content"; cat more; tail -c +7441 "$content"; } >wanted ;;
    meta) cp "$content" wanted ;;
    esac
}

change() { # NAME [COMMAND BEFORE]...
    name=$1
    shift
    case $name in
    append) "$@" "$BPK" append -q -T 1 set.blpd more ;;
    truncate) "$@" "$BPK" truncate -q --bytes 4200 set.blpd ;;
    boundary) "$@" "$BPK" truncate -q --bytes 3600 set.blpd ;;
    write) "$@" "$BPK" write -q -T 1 --at 2400 set.blpd more ;;
    meta) "$@" "$BPK" meta set -q set.blpd answer=42 ;;
    esac
}

fresh() { rm -rf set.blpd && cp -a "base/$1.blpd" set.blpd; }

wrong() {
    failed=$((failed + 1))
    [ "$failed" -gt 5 ] || echo "# point $point: $1: $(head -n 1 said)" # show the first five
}

# The content must be the old or the wanted one, and the next command must work.
check() { # NAME KIND STATUS
    "$BPK" cat set.blpd >seen 2>said || { wrong "cannot be read"; return; }
    if cmp -s seen wanted; then :; elif cmp -s seen "$2.raw"; then
        [ "$3" -ne 0 ] || { wrong "succeeded, and nothing has changed"; return; }
    else
        wrong "has neither the old nor the new content"
        return
    fi
    # a list of changes that the fault left is pending
    "$BPK" verify set.blpd 2>said || { [ $? -eq 3 ] && [ "$3" -ne 0 ]; } || { wrong "is not sound"; return; }
    cat seen more >seen.more
    "$BPK" append -q set.blpd more 2>said || { wrong "cannot be appended to"; return; }
    "$BPK" verify set.blpd 2>said || { wrong "is not sound when appended to"; return; }
    "$BPK" cat set.blpd 2>said | cmp -s - seen.more || { wrong "is not what was appended to"; return; }
    [ -z "$(find set.blpd -name '*.bpk-*' -o -name '.bpkj')" ] || wrong "holds leftovers"
}

sweep() { # NAME KIND
    failed=0 tried=0 point=0
    scenario "$1" "$2"
    fresh "$2"
    change "$1" "$NTH" -o calls 2>said || { wrong "fails without a fault"; }
    check "$1" "$2" 0
    points=$(wc -l <calls)
    for action in kill after half short fail:ENOSPC fail:EIO "fail:ENOSPC -s"; do
        point=$(((tried + SEED) % THIN + 1))
        while [ "$point" -le "$points" ]; do
            tried=$((tried + 1))
            fresh "$2"
            # shellcheck disable=SC2086
            change "$1" "$NTH" -n "$point" -a $action 2>said >/dev/null
            check "$1" "$2" $?
            point=$((point + THIN))
        done
    done
    count=$((count + 1))
    [ "$failed" -eq 0 ] && word=ok || word="not ok"
    echo "$word $count - $1, $2: $tried faults at $points calls"
}

count=0
for name in ${1:-append truncate boundary write meta}; do
    for kind in ${2:-bytes full columns bcolz table}; do
        sweep "$name" "$kind"
    done
done
echo "1..$count"
