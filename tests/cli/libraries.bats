load lib

# Libraries that are loaded at their first call, and missing then: an empty file of their name is found first.
without() { # LIBRARY
    local name
    name=$(grep -ao "$1\.so[.0-9]*" "$BPK" | head -n 1) && [ -n "$name" ] || skip "bpk has no $1"
    mkdir none && : >"none/$name"
    LD_LIBRARY_PATH=$PWD/none "$BPK" --version >/dev/null 2>&1 || skip "bpk is linked with $1"
    bpk() { LD_LIBRARY_PATH=$PWD/none "$BPK" "$@"; }
}

@test "a missing jansson is named, and is no damage" {
    data noise 30000 a
    "$BPK" pack -q --set n=1 -o a.blp a
    "$BPK" pack -q -F chunked -o a.blpd a
    "$BPK" pack -q -F chunked --layout bcolz --set n=1 -o b.blpd a
    echo '[1, 2]' >list
    "$BPK" pack -q -F b2frame --metadata list -o a.b2frame a
    without libjansson
    for archive in a.blp a.blpd b.blpd a.b2frame; do
        refuses 1 'cannot load libjansson' bpk info $archive
        refuses 1 'cannot load libjansson' bpk verify $archive
        refuses 1 'cannot load libjansson' bpk unpack -o b $archive
    done
    refuses 1 'cannot load libjansson' bpk pack --set n=1 -o b.blp a
    refuses 1 'cannot load libjansson' bpk pack --dtype "[('\\x41','<i4')]" -o b.blp a
    [ ! -e b.blp ]
    [ ! -e b ]
    bpk pack -q -o b.blp a
    bpk unpack -q -o b b.blp
    cmp a b
}

@test "a missing zlib is named, and is no damage" {
    local text
    data noise 30000 a
    text=$(printf 'same %.0s' {1..100})
    "$BPK" pack -q --set n="$text" -o a.blp a
    without libz
    refuses 1 'cannot load libz' bpk info a.blp
    refuses 1 'cannot load libz' bpk pack --set n="$text" -o b.blp a
    bpk pack -q -o b.blp a
    bpk verify b.blp
}

@test "CRC-32 of many bytes without ISA-L is that with it" {
    data noise 5000000 a
    "$BPK" pack -q -o a.blp a
    without libisal
    quietly bpk verify a.blp
    bpk pack -q -o b.blp a
    cmp a.blp b.blp
}

@test "bpk help: a failure of man is status 1, and its end by a signal is kept" {
    mkdir bin
    printf '#!/bin/sh\n[ "$1" = -w ] || { echo "page $*"; eval "$MAN"; }\n' >bin/man
    chmod +x bin/man
    PATH=$PWD/bin:$PATH MAN=true bpk help pack >"$out"
    [ "$(cat "$out")" = 'page bpk-pack' ]
    export PATH=$PWD/bin:$PATH
    MAN='exit 16' refuses 1 'help: man .* 16' bpk help
    local status=0
    MAN='kill -TERM $$' bpk help pack >"$out" 2>"$err" || status=$?
    [ "$status" -eq 143 ]
    [ ! -s "$err" ]
}
