load lib

# Formats that keep a text as it is; frames keep its meaning.
textual=(blp chunked)

@test "meta set, get, rm and import" {
    data text 50000 a
    for format in "${textual[@]}"; do
        make_archive $format a -z 16K
        refuses 1 'has no metadata' bpk meta get "$archive"
        refuses 1 'has no metadata' bpk meta rm "$archive"
        quietly bpk meta set "$archive" run=7 'box=[10,10.50,20]' name=trp-cage 'quoted="a\nb"'
        [ "$(bpk meta get "$archive" run)" = 7 ]
        [ "$(bpk meta get "$archive" box)" = '[10,10.50,20]' ]
        [ "$(bpk meta get "$archive" name)" = '"trp-cage"' ]
        [ "$(bpk meta get -r "$archive" name)" = trp-cage ]
        [ "$(bpk meta get "$archive" quoted)" = '"a\nb"' ]
        [ "$(bpk meta get --raw-string "$archive" quoted)" = $'a\nb' ]
        refuses 1 "metadata have no member 'nam'" bpk meta get "$archive" nam
        quietly bpk meta set "$archive" run=8
        [ "$(bpk meta get "$archive" run)" = 8 ]
        quietly bpk meta rm "$archive" box quoted
        refuses 1 "no member 'box'" bpk meta rm "$archive" name box
        [ "$(bpk meta get -r "$archive" name)" = trp-cage ]
        printf '{"a": 1.000, "b" : "\\u00e9"}' >text
        quietly bpk meta import "$archive" text
        bpk meta get "$archive" | cmp - <(cat text; echo)
        printf '{"c": 1e999}' | quietly bpk meta import "$archive" -
        [ "$(bpk meta get "$archive")" = '{"c": 1e999}' ]
        holds a
        quietly bpk meta rm "$archive"
        refuses 1 'has no metadata' bpk meta get "$archive"
        holds a
    done
}

@test "meta: texts that outgrow their room" {
    data text 50000 a
    for format in "${editable[@]}"; do
        make_archive $format a -z 16K
        for ((size = 10; size < 100000; size *= 5)); do
            bpk meta set "$archive" "long=$(head -c $size /dev/zero | tr '\0' x)" small=1
            [ "$(bpk meta get -r "$archive" long | wc -c)" -eq $((size + 1)) ]
        done
        bpk meta set "$archive" long=1
        [ "$(bpk meta get "$archive" small)" = 1 ]
        holds a
    done
}

@test "meta: what makes no sense is refused" {
    data text 5000 a
    bpk pack --set x=1 a
    refuses 64 "unknown word 'gte', did you mean 'get'" bpk meta gte a.blp
    refuses 64 'expected get, set, import or rm' bpk meta show-it-all a.blp
    refuses 64 'needs one of' bpk meta
    refuses 64 'get takes ARCHIVE \[KEY\]' bpk meta get
    refuses 64 'get takes ARCHIVE' bpk meta get a.blp x y
    refuses 64 'set takes' bpk meta set a.blp
    refuses 64 'import takes ARCHIVE FILE' bpk meta import a.blp
    refuses 64 "'x' is not KEY=VALUE" bpk meta set a.blp x
    refuses 64 'for get alone' bpk meta set -r a.blp x=1
    echo '{"x": }' >bad
    refuses 1 'bad: ' bpk meta import a.blp bad
    refuses 1 'missing: cannot open' bpk meta import a.blp missing
    refuses 1 'is not an archive' bpk meta set a x=1
    echo '[1]' >list
    quietly bpk meta import a.blp list
    refuses 64 'object' bpk meta set a.blp x=1
    [ "$(bpk meta get a.blp)" = '[1]' ]
}

@test "meta -v and --json say what was done" {
    data text 5000 a
    bpk pack --set x=1 a
    bpk meta set -v a.blp x=2 2>"$err"
    says 'a.blp: [0-9]+ bytes of metadata, in place'
    bpk meta set --json a.blp x=3 >"$out"
    grep -q '"command":"meta","path":"a.blp","metadata_size":' "$out"
}

@test "meta: other readers understand the result" {
    need_blosc
    data field-f64 50000 a
    for options in "" "--set x=1" "--no-offsets"; do
        # shellcheck disable=SC2086 # words
        bpk pack -f -z 16K $options a
        for value in 1 '[1,2,3]' '"a long text, longer than before, longer than ten times before"'; do
            bpk meta set a.blp "y=$value"
            quietly reader compare a.blp a
            [ -z "${BPK_BLOSCPACK:-}" ] || quietly bloscpack compare a.blp a
            reader header a.blp >"$out"
            json "$out" 'json.loads(x["metadata"])["y"]' >"$err"
        done
        bpk meta rm a.blp
        quietly reader compare a.blp a
    done
}

@test "meta get ends what it prints with one newline" {
    printf 'data' >a
    printf '{"a":1}\n' >text
    for format in "${textual[@]}"; do
        make_archive $format a
        quietly bpk meta import "$archive" text
        bpk meta get "$archive" | cmp - text
        quietly bpk meta set "$archive" b='x
'
        [ "$(bpk meta get -r "$archive" b | wc -l)" -eq 1 ]
        [ "$(bpk meta get "$archive" a | wc -c)" -eq 2 ]
    done
}

@test "meta set and rm KEY refuse damaged metadata, import and rm replace it" {
    data noise 1000 a
    bpk pack -q --set key=value -o a.blp a
    offset=$(LC_ALL=C grep -abo value a.blp | head -n 1 | cut -d : -f 1)
    printf X | dd of=a.blp bs=1 seek="$offset" conv=notrunc status=none
    cp a.blp before
    refuses 2 'a.blp: metadata: adler32 is' bpk meta set a.blp other=3
    refuses 2 'a.blp: metadata: adler32 is' bpk meta rm a.blp key
    refuses 2 'a.blp: metadata: adler32 is' bpk meta get a.blp
    cmp before a.blp
    bpk pack -q -F chunked --set key=value -o a.blpd a
    sed -i s/value/vAlue/ a.blpd/meta/attributes
    refuses 2 'meta/attributes' bpk meta get a.blpd
    echo '{"other": 4}' >text
    quietly bpk meta import a.blp text
    quietly bpk verify a.blp
    cp before a.blp
    quietly bpk meta rm a.blp
    quietly bpk verify a.blp
}
