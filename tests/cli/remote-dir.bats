load lib

# Directories in a store of S3, which is tests/lib/store: each new one is whole or no archive, and so is each change.

# A command that writes, which must end.
bpk() { timeout 100 "$BPK" "$@"; }

files_of() { [ ! -d "$1" ] || find "$1" -type f; }

# DIR NAME: the directory is in the store under that name, and nothing else of it.
stored() {
    find "$1" -type d -empty -delete # which a store does not have
    diff -r "$1" "d/b/$2" >&2 || die "$2 differs"
    [ -z "$(ls d/.uploads 2>/dev/null)" ] || die "left at the store: $(ls d/.uploads)"
}

@test "every container of many files is written as on the disk" {
    need_urls
    data field-f32 600000 raw
    serve_store
    for format in b2sparse chunked; do
        for options in '' '--dtype <f4' '-z 16K' '--connections 1 -z 16K' '-z 16M'; do
            name=x$((n += 1)).$format
            # shellcheck disable=SC2086
            {
                quietly bpk pack -t 4 $options -F $format -o "s3://b/$name" raw
                quietly bpk pack -t 4 $options -F $format -o "$name" raw
            }
            stored "$name" "$name"
        done
        quietly bpk pack -t 4 -z 16K -F $format -o "s3://b/pipe.$format" <raw
        quietly bpk pack -t 4 -z 16K -F $format -o "pipe.$format" <raw
        stored "pipe.$format" "pipe.$format"
        quietly bpk verify "s3://b/pipe.$format/"
        : >empty
        if [ $format = chunked ]; then
            refuses 1 "without data needs an empty folder" bpk pack -F $format -o "s3://b/empty.$format" empty
            [ -z "$(files_of "d/b/empty.$format")" ]
        else
            quietly bpk pack -F $format -o "s3://b/empty.$format" empty
            quietly bpk pack -F $format -o "empty.$format" empty
            stored "empty.$format" "empty.$format"
        fi
        quietly bpk convert -F $format s3://b/x1.b2sparse/ "s3://b/deep/er.$format/"
        quietly bpk convert -F $format x1.b2sparse "er.$format"
        stored "er.$format" "deep/er.$format"
    done
    quietly bpk convert-to-chunked s3://b/x1.b2sparse/ s3://b/z
    quietly bpk convert-to-chunked x1.b2sparse z
    stored z z
    quietly bpk repair --repack -o s3://b/repacked.b2sparse s3://b/x1.b2sparse/
    stored x1.b2sparse repacked.b2sparse
    mkdir -p one/deep
    cp raw one/a
    cp raw one/deep/b
    quietly bpk pack -r -t 4 -F b2sparse -O s3://b/tree one
    quietly bpk pack -t 4 -F b2sparse -o a.b2s raw
    stored a.b2s tree/a.b2s
    stored a.b2s tree/deep/b.b2s
}

@test "large files of a directory are sent in parts" {
    need_urls
    data field-f32 22000000 raw
    serve_store
    quietly bpk pack -t 4 -F chunked -o s3://b/x raw
    quietly bpk pack -t 4 -F chunked -o x raw
    stored x x
    grep -q uploadId "$requests"
}

@test "what is not written, and what is said" {
    need_urls
    data field-f32 300000 raw
    serve_store
    for format in b2sparse chunked; do
        quietly bpk pack -t 4 -z 64K -F $format -o "s3://b/x.$format" raw
        bpk pack -q -t 4 -z 64K -F $format -o "x.$format" raw
        for force in '' -f; do
            # shellcheck disable=SC2086
            refuses 1 "s3://b/x.$format: already exists, at least in part: .*choose another name" \
                bpk pack $force -t 4 -F $format -o "s3://b/x.$format" raw
        done
        stored "x.$format" "x.$format"
        refuses 1 "already exists" bpk pack -F $format -o "s3://b/x.$format/" raw
        refuses 1 "is a bucket, and names no directory" bpk pack -F $format -o s3://b/ raw
        refuses 1 "results go to files or to s3:// URLs" bpk pack -F $format -o "$url/x" raw
    done
    cp raw d/b/file
    refuses 1 "already exists, at least in part: a file of that name" bpk pack -F b2sparse -o s3://b/file raw
    leaves_one 1 "no such bucket" bpk pack -F b2sparse -o s3://none/x raw
    AWS_SECRET_ACCESS_KEY=wr/ong leaves_one 1 "403 Forbidden" bpk pack -F b2sparse -o s3://b/y raw
    [ -z "$(files_of d/b/y)" ]
    # left by a killed command
    mkdir -p d/b/left
    cp raw d/b/left/00000003.chunk
    refuses 1 "00000003.chunk is there" bpk pack -F b2sparse -o s3://b/left raw
    # that cannot be listed: its files are met one by one
    stop_serving
    serve_store --fault 403@2 --fault 403@4
    ends 1 bpk pack -t 4 -z 64K -F b2sparse -o s3://b/left raw
    says "left: 00000003.chunk: is there already: another command is writing it, or one that was killed left it"
    same raw d/b/left/00000003.chunk
    [ "$(files_of d/b/left)" = d/b/left/00000003.chunk ]
}

# FAULT FORMAT: with that fault, what packing to a new directory ends in. It is there as a whole, or one line says
# of a failure, and it is no archive; what is left of it is said, too.
falters() {
    local fault=$1 format=$2 status=0 name=s3://b/x.$2
    rm -rf d
    serve_store --fault "$fault"
    bpk pack -t 4 -z 64K -F "$format" --timeout 2 -o "$name" raw >"$out" 2>"$err" || status=$?
    stop_serving
    if [ "$status" -eq 0 ]; then
        stored "whole.$format" "x.$format"
        [ ! -s "$err" ] || die "$fault: $(cat "$err")"
        return
    fi
    [ "$status" -eq 1 ] || die "$fault: status $status: $(cat "$err")"
    [ "$(grep -cv 'of its files may be left' "$err")" -eq 1 ] || die "$fault: $(cat "$err")"
    if grep -q 'all of its files stay' "$err"; then
        return
    fi
    [ ! -e "d/b/x.$format/chunks.b2frame" ] && [ ! -e "d/b/x.$format/meta/sizes" ] || die "$fault: $(cat "$err")"
    grep -q 'may be left' "$err" || [ -z "$(files_of "d/b/x.$format")" ] ||
        die "$fault: $(cat "$err"): $(files_of d/b)"
}

@test "a file that cannot be removed keeps no other from being removed" {
    local last
    need_urls
    data field-f32 300000 raw
    serve_store
    quietly bpk pack -t 4 -z 64K -F b2sparse --connections 1 -o s3://b/x raw
    last=$(count_requests)
    stop_serving
    rm -rf d
    serve_store --fault "condition@$last" --fault "reset@$((last + 3))"
    ends 1 bpk pack -t 4 -z 64K -F b2sparse --connections 1 -o s3://b/x raw
    stop_serving
    says '^bpk: s3://b/x/?: 1 of its files may be left'
    [ "$(files_of d/b/x | wc -l)" -eq 1 ]
}

@test "a fault of any request of a new directory ends in all of it, or in a line" {
    need_urls
    data field-f32 300000 raw
    # requests of each: two looks, and the files
    bpk pack -q -t 4 -z 64K -F b2sparse -o whole.b2sparse raw
    bpk pack -q -t 4 -z 64K -F chunked -o whole.chunked raw
    [ "$(files_of whole.b2sparse | wc -l)" -eq 6 ]
    [ "$(files_of whole.chunked | wc -l)" -eq 4 ]
    for row in $(rows $((9 * ${#faults[@]})) 23); do
        falters "${faults[row % ${#faults[@]}]}@$((row / ${#faults[@]} + 1))" b2sparse
    done
    for row in $(rows $((7 * ${#faults[@]})) 31); do
        falters "${faults[row % ${#faults[@]}]}@$((row / ${#faults[@]} + 1))" chunked
    done
    for row in $(rows $((9 * 5)) 17); do
        lasting=(403 500 reset lost condition)
        falters "${lasting[row % 5]}@$((row / 5 + 1))+" b2sparse
    done
}

@test "the outcome of a lost answer is looked up" {
    need_urls
    data field-f32 300000 raw
    bpk pack -q -t 4 -z 64K -F b2sparse -o whole.b2sparse raw
    # of the first file, of another one, of the last one
    for fault in lost@3 cut@6 stall@9 lost@9; do
        falters "$fault" b2sparse
        stored whole.b2sparse x.b2sparse
    done
    falters condition@3 b2sparse
    says "s3://b/x.b2sparse: 00000000.chunk: is there already"
    [ -z "$(files_of d/b)" ]
    falters condition@9 b2sparse
    says "chunks.b2frame: is there already"
    [ -z "$(files_of d/b)" ]
    # nobody knows: what was sent may become an archive yet
    falters lost@9+ b2sparse
    says "it is uncertain whether the store keeps it, so that all of its files stay"
    diff -r whole.b2sparse d/b/x.b2sparse
}

# SIGNAL FAULT NUMBER COMMAND...: it hangs there, and the signal ends it.
interrupted() {
    local signal=$1 status=0 child waiting
    serve_store --fault "$2@$3"
    timeout 60 "$BPK" "${@:4}" --timeout 50 2>"$err" &
    waiting=$!
    eventually arrived "$3"
    sleep 0.3
    child=$(pgrep -P "$waiting")
    kill "-$signal" "$child"
    wait "$waiting" || status=$?
    stop_serving
    [ "$status" -eq $((128 + $(kill -l "$signal"))) ] || die "$2@$3, $signal: status $status: $(cat "$err")"
}

@test "signals leave nothing, or say what is left" {
    need_urls
    need pgrep
    data field-f32 300000 raw
    pack=(pack -t 4 -z 64K -F b2sparse -o s3://b/x raw)
    bpk pack -q -t 4 -z 64K -F b2sparse -o whole raw
    # the last but one is on its way, with others
    interrupted TERM stall 8 "${pack[@]}"
    [ -z "$(files_of d/b)" ] && [ ! -s "$err" ] || die "$(cat "$err"; files_of d/b)"
    interrupted INT stall 9 "${pack[@]}"
    stored whole x
    says "^bpk: s3://b/x: is complete; the signal came too late$"
    rm -rf d
    # carried out when it is given up, or never
    interrupted TERM late 9 "${pack[@]}"
    if [ -e d/b/x/chunks.b2frame ]; then stored whole x; else says "all of its files stay"; fi
    ! light || return 0
    rm -rf d
    interrupted KILL late 9 "${pack[@]}"
    [ ! -e d/b/x/chunks.b2frame ] || stored whole x
}

@test "two writers of one new name: each is whole or refused" {
    need_urls
    data field-f32 300000 raw
    data field-f32 200000 raw2
    for format in b2sparse chunked; do
        bpk pack -q -t 4 -z 64K -F $format -o "one.$format" raw
        bpk pack -q -t 4 -z 64K -F $format -o "two.$format" raw2
    done
    first() { bpk pack -q -t 4 -z 64K -F "$format" -o s3://b/x raw; }
    second() { bpk pack -q -t 4 -z 64K -F "$format" -o s3://b/x raw2; }
    serve_store --delay 0.003
    for round in $(seq 6); do
        for format in b2sparse chunked; do
            rm -rf d/b/x
            both first second
            [ $((one + two)) -eq 1 ] || [ $((one + two)) -eq 2 ] || die "$round: $(cat one.err two.err)"
            for who in one two; do
                if [ "${!who}" -eq 0 ]; then
                    stored "$who.$format" x
                else
                    grep -qE "already exists|is there already" $who.err || die "$(cat $who.err)"
                    [ "$(wc -l <$who.err)" -eq 1 ] || die "$(cat $who.err)"
                fi
            done
            [ $((one + two)) -eq 1 ] || [ -z "$(files_of d/b/x)" ]
        done
    done
}

@test "two writers of one new name and two formats: one archive at most" {
    need_urls
    data field-f32 300000 raw
    data field-f32 200000 raw2
    bpk pack -q -t 4 -z 64K -F b2sparse -o one raw
    bpk pack -q -t 4 -z 64K -F chunked -o two raw2
    first() { bpk pack -q -t 4 -z 64K -F b2sparse -o s3://b/x raw; }
    second() { bpk pack -q -t 4 -z 64K -F chunked -o s3://b/x raw2; }
    serve_store --delay 0.003
    for round in $(seq 8); do
        rm -rf d/b/x
        both first second
        [ $((one + two)) -ge 1 ] || die "$round: both are done"
        find d/b -mindepth 1 -type d -empty -delete
        [ $one -ne 0 ] || stored one x
        [ $two -ne 0 ] || stored two x
        [ $((one + two)) -eq 1 ] || [ -z "$(files_of d/b/x)" ]
    done
}

# ---- append ----

# An archive of which the last chunk is short, and $more bytes for it; whole is the one that has both.
archives() {
    data field-f32 300000 raw
    data field-f32 200000 more
    bpk pack -q -t 4 -z 64K -F b2sparse -o old raw
    cat raw more >both
}

# The folder d with the archive x in the bucket.
serve_archive() { # OPTION...
    rm -rf d
    mkdir -p d/b
    cp -r old d/b/x
    serve_store "$@"
}

# RAW: the archive x in the store is sound, and holds that; no other file is there.
holds() {
    "$BPK" cat d/b/x >content 2>"$err" && cmp -s content "$1" || die "another content: $(cat "$err")"
    quietly "$BPK" verify d/b/x
}

@test "append adds to a sparse frame in a store" {
    need_urls
    archives
    serve_archive
    quietly bpk append s3://b/x more
    holds both
    quietly bpk verify s3://b/x/
    # the short last chunk was repacked; its file is gone, and its number is not used again
    [ ! -e d/b/x/00000004.chunk ] && [ -e d/b/x/00000005.chunk ]
    # left by one that was killed: its number is passed over
    echo left >d/b/x/00000009.chunk
    quietly bpk append --commit-interval 1 s3://b/x/ more more
    cat both more more >all
    same <("$BPK" cat s3://b/x/) all
    [ "$(cat d/b/x/00000009.chunk)" = left ]
    [ -e d/b/x/0000000A.chunk ]
    : >empty
    before=$(ls -l --full-time d/b/x)
    quietly bpk append s3://b/x empty
    [ "$(ls -l --full-time d/b/x)" = "$before" ]
    # zeros have no file
    head -c 300000 /dev/zero >zeros
    quietly bpk append s3://b/x zeros
    same <("$BPK" cat s3://b/x/) <(cat all zeros)
    bpk pack -q --dtype '<f4' --shape 15000,5 -F b2sparse -o s3://b/array raw
    quietly bpk append s3://b/array raw
    same <("$BPK" cat s3://b/array/) <(cat raw raw)
}

@test "what is not changed in a store, and what is said" {
    need_urls
    archives
    serve_archive
    bpk pack -q -o s3://b/x.blp raw
    for path in s3://b/x.blp s3://b/x/chunks.b2frame; do
        refuses 1 "append adds only to these" bpk append "$path" more
    done
    # an empty part of a key is a name, too
    for path in s3://b/none s3://b/none/ s3://b/x// "$url/b/x/"; do
        refuses 1 "$path: is no sparse frame or chunked directory in a store, .*shows how to create one" bpk append "$path" more
    done
    # everything that reads says the same of a directory without its slash
    for read in info verify cat 'unpack -c' 'pack -c' ls sum 'cmp raw' 'meta get' repair bench; do
        # shellcheck disable=SC2086
        refuses 1 "^bpk: s3://b/x: is a directory in the store; write s3://b/x/$" bpk $read s3://b/x
    done
    refuses 1 "s3://b/f.gsd: is a URL; frames are added to GSD files on a disk alone" bpk append s3://b/f.gsd --schema hoomd --step 0
    [ ! -e d/b/f.gsd ]
    for path in s3:// s3:///; do
        refuses 64 "^bpk: $path: a URL without a bucket, expected s3://BUCKET/KEY$" bpk append "$path" more
    done
    refuses 1 "not changed in place" bpk write --at 0 s3://b/x/ more
    refuses 1 "not changed in place" bpk truncate --bytes 0 s3://b/x/
    refuses 1 "not changed in place" bpk meta set s3://b/x/ a=1
    refuses 1 "not changed in place" bpk repair --repack s3://b/x/
    # a script that then removes the source must not take this for done
    refuses 1 "have no holes, and nothing is written; bpk convert s3://b/x.blp NEW makes a copy" bpk repair --repack -o s3://b/copy s3://b/x.blp
    [ ! -e d/b/copy ]
    refuses 1 "as --mend asks" bpk append --follow more --idle 1 --mend s3://b/x/
    holds raw
    stop_serving
    serve_store --weak-etag
    ends 1 bpk append s3://b/x more
    says "no strong ETags"
    holds raw
    stop_serving
    serve_store
    ends 0 bpk append -v s3://b/x more
    says 's3://b/x/: .* bytes appended, .* in the store$'
}

# FAULT: with that fault, what an append ends in: the new archive, or a line and the old one.
append_falters() {
    local fault=$1 status=0 lines
    serve_archive --fault "$fault"
    bpk append --timeout 2 s3://b/x more >"$out" 2>"$err" || status=$?
    stop_serving
    # a line about http:// says that the store does not list, which is no failure
    lines=$(grep -cvE 'of its files may be left|^bpk: http://' "$err") || true
    cp "$err" said
    if [ "$status" -eq 0 ]; then
        holds both
        [ "$lines" -eq 0 ] || die "$fault: $(cat said)"
        return
    fi
    # other bytes than those of the archive, as a read has them, are damage
    [[ $status = [12] ]] && [ "$lines" -eq 1 ] || die "$fault: status $status: $(cat said)"
    if grep -qE 'all of its files stay|is committed' said; then
        cmp -s <("$BPK" cat d/b/x) raw || holds both
        return
    fi
    if grep -q 'may be left' said; then
        same <("$BPK" cat d/b/x) raw
    else
        diff -r old d/b/x >&2 || die "$fault: $(cat said)"
    fi
}

@test "a fault of any request of an append ends in the new archive, or the old one and a line" {
    need_urls
    archives
    serve_archive
    quietly bpk append s3://b/x more
    number=$(count_requests)
    put=$(awk -F '\t' '$2 == "PUT" { print $1; exit }' "$requests")
    commit=$(awk -F '\t' '$2 == "PUT" { n = $1 } END { print n }' "$requests")
    stop_serving
    for row in $(rows $((number * ${#faults[@]})) 97); do
        append_falters "${faults[row % ${#faults[@]}]}@$((row / ${#faults[@]} + 1))"
    done
    lasting=(403 500 reset lost condition)
    for row in $(rows $((number * 5)) 97); do
        append_falters "${lasting[row % 5]}@$((row / 5 + 1))+"
    done
    append_falters "lost@$commit"
    holds both
    append_falters "condition@$commit"
    says "chunks.b2frame: was changed by another command meanwhile, and stays so; append again"
    diff -r old d/b/x
    append_falters "condition@$put"
    says "0000000.\.chunk: is there already"
    diff -r old d/b/x
    append_falters "lost@$commit+"
    grep -q "it is uncertain whether the store keeps it" said
    holds both
}

@test "a signal after the commit of an append says that its data are there" {
    need_urls
    need pgrep
    archives
    serve_archive
    quietly bpk append s3://b/x more
    number=$(count_requests)
    stop_serving
    rm -rf d/b/x
    cp -r old d/b/x
    interrupted TERM stall "$number" append s3://b/x more
    says "^bpk: s3://b/x: interrupted after a commit, whose data are in the archive$"
    holds both
}

@test "two appends to one archive: each is whole or refused" {
    need_urls
    archives
    data field-f32 150000 more2
    cat raw more >first
    cat raw more2 >second
    cat raw more more2 >third
    cat raw more2 more >fourth
    one() { bpk append -q s3://b/x more; }
    other() { bpk append -q s3://b/x more2; }
    serve_archive --delay 0.003
    for round in 1 2 3 4 5 6 7 8; do
        rm -rf d/b/x
        cp -r old d/b/x
        both one other
        case $one$two in
        00) wanted=(third fourth) ;;
        01) wanted=(first) ;;
        10) wanted=(second) ;;
        11) wanted=(raw) ;;
        *) die "$round: $(cat one.err two.err)" ;;
        esac
        "$BPK" cat d/b/x >content
        cmp -s content "${wanted[0]}" || same content "${wanted[-1]}"
        quietly "$BPK" verify d/b/x
        for who in one two; do
            [ "${!who}" -eq 0 ] || grep -qE "is there already|was changed by another|changed while it was read" $who.err ||
                die "$(cat $who.err)"
        done
        # nothing is left of the one that was refused
        [ "$(files_of d/b/x | wc -l)" -eq "$(($("$BPK" info --json d/b/x | grep -o '"nchunks": *[0-9]*' |
            grep -o '[0-9]*$') + 1))" ] || die "$round: $(files_of d/b/x; cat one.err two.err)"
    done
}

@test "another append adds to one whose answer is lost: nothing is removed" {
    need_urls
    archives
    data noise 50000 third
    cat both third >all
    cat raw third >other
    serve_archive
    quietly bpk append --connections 1 s3://b/x more
    commit=$(awk -F '\t' '$2 == "PUT" { n = $1 } END { print n }' "$requests")
    stop_serving
    for fault in "" "--fault 503@$((commit + 1))"; do
        # shellcheck disable=SC2086
        serve_archive --fault "lost@$commit" $fault
        status=0
        bpk append --connections 1 s3://b/x more 2>said &
        pid=$!
        eventually arrived $((commit + 1))
        quietly bpk append s3://b/x third
        wait $pid || status=$?
        stop_serving
        [ $status -eq 0 ] || grep -q "it is uncertain whether the store keeps it" said || die "$(cat said)"
        "$BPK" cat d/b/x >content || die "$(cat said)"
        cmp -s content all || cmp -s content other || die "another content"
        quietly "$BPK" verify d/b/x || [ $status -ne 0 ]
    done
}

@test "readers beside an append see one state" {
    need_urls
    archives
    serve_archive --delay 0.01
    for round in 1 2 3 4 5; do
        rm -rf d/b/x
        cp -r old d/b/x
        one() { bpk cat --threads 1 s3://b/x/; }
        other() { bpk append -q s3://b/x more; }
        both one other
        [ "$two" -eq 0 ] || die "$(cat two.err)"
        if [ "$one" -eq 0 ]; then
            cmp -s one.out raw || same one.out both
        else
            grep -q "changed while it was read" one.err || die "$(cat one.err)"
        fi
        ends 0 bpk verify s3://b/x/
    done
}
