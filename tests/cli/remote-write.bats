load lib

# Results in a store of S3, which is tests/lib/store: whole under their key, or not there.

# A command that writes, which must end.
bpk() { timeout 100 "$BPK" "$@"; }

# Nothing is left of uploads, whose folders the store removes.
no_uploads() { [ -z "$(ls d/.uploads 2>/dev/null)" ] || die "left at the store: $(ls d/.uploads)"; }

# FILE KEY: it is under the key, and nothing else of it.
stored() {
    same "$1" "d/b/$2"
    no_uploads
}

# A file of several parts, and one of a single part.
results() {
    data field-f32 22000000 raw
    data field-f32 300000 less
    "$BPK" pack -q -t 4 raw less
    [ "$(stat -c %s raw.blp)" -gt 17000000 ]
}

@test "every container of one file is written as on the disk" {
    need_urls
    results
    serve_store
    for file in raw less; do
        for name in x.blp x.b2frame; do
            quietly bpk pack -t 4 -o "s3://b/$file.$name" "$file"
            quietly bpk pack -t 4 -o "$file.$name" "$file"
            stored "$file.$name" "$file.$name"
        done
        quietly bpk pack --dtype '<f4' -o "s3://b/$file.b2nd" "$file"
        quietly bpk pack --dtype '<f4' -o "$file.b2nd" "$file"
        stored "$file.b2nd" "$file.b2nd"
        quietly bpk unpack -o "s3://b/$file.raw" "s3://b/$file.x.blp"
        stored "$file" "$file.raw"
        quietly bpk convert "s3://b/$file.x.blp" "s3://b/$file.c.b2frame"
        quietly bpk convert "$file.x.blp" "$file.c.b2frame"
        stored "$file.c.b2frame" "$file.c.b2frame"
        quietly bpk tar --date 0 -f "s3://b/$file.tar" "$file.x.blp"
        quietly bpk tar --date 0 -f "$file.tar" "$file.x.blp"
        stored "$file.tar" "$file.tar"
        # sizes that are known at the end alone
        quietly bpk pack -t 4 -o "s3://b/$file.p.blp" <"$file"
        quietly bpk pack -t 4 -o "$file.p.blp" <"$file"
        stored "$file.p.blp" "$file.p.blp"
        quietly bpk verify "s3://b/$file.p.blp"
    done
    # many chunks from a pipe: the archive moves behind its offsets
    quietly bpk pack -t 4 -z 16K -o s3://b/many.blp <raw
    quietly bpk pack -t 4 -z 16K -o many.blp <raw
    stored many.blp many.blp
    : >empty
    quietly bpk unpack -o s3://b/empty <(bpk pack -c empty)
    stored empty empty
}

@test "frames with holes are repacked into a store" {
    need_urls
    data field-f32 9000000 raw
    bpk pack -q -t 4 -z 256K -o x.b2frame raw
    bpk append -q x.b2frame raw
    serve_store
    quietly bpk repair --repack -o s3://b/y.b2frame x.b2frame
    quietly bpk repair --repack -o y.b2frame x.b2frame
    stored y.b2frame y.b2frame
}

@test "a prefix, several results, sources that are removed" {
    need_urls
    results
    serve_store
    mkdir -p one/deep two
    cp less one/a
    cp less one/deep/b
    cp raw two/a
    quietly bpk pack -r -t 4 -O s3://b/tree one
    stored less.blp tree/a.blp
    stored less.blp tree/deep/b.blp
    quietly bpk unpack -O s3://b/raw s3://b/tree/deep/b.blp
    stored less raw/b
    refuses 64 "update needs a result in a file, not in a store" bpk pack --update -O s3://b/tree one/a
    quietly bpk pack -t 4 -O s3://b/out/ raw less
    stored raw.blp out/raw.blp
    stored less.blp out/less.blp
    quietly bpk unpack -O s3://b/out s3://b/out/less.blp
    stored less out/less
    ends 1 bpk pack -q -t 4 -f -O s3://b/out/ one/a two/a
    says "s3://b/out/a.blp: is the result of one/a already"
    stored less.blp out/a.blp
    quietly bpk pack -t 4 --rm -o s3://b/gone.blp one/a
    [ ! -e one/a ]
    stored less.blp gone.blp
    # the source stays where the result is not there
    stop_serving
    serve d --key 'ID:se/cr+et' --fault '500@2+'
    ends 1 env "BPK_ENDPOINT=$url" "$BPK" pack -q -t 4 --rm -o s3://b/other.blp two/a
    [ -e two/a ]
}

@test "what is not written, and what is said" {
    need_urls
    results
    serve_store
    quietly bpk pack -t 4 -o s3://b/x.blp less
    refuses 1 "s3://b/x.blp: already exists; --force replaces it" bpk pack -o s3://b/x.blp raw
    [ "$(count_requests)" -eq 3 ]
    quietly bpk pack -t 4 -f -o s3://b/x.blp raw
    stored raw.blp x.blp
    refuses 1 "names no file" bpk pack -o s3://b/ raw
    refuses 1 "is on a web server, and results go to files or to s3:// URLs" bpk pack -o "$url/x" raw
    leaves_one 1 "no such bucket" bpk pack -o s3://none/x.blp less
    leaves_one 1 "no such bucket" bpk pack -o s3://none/x.blp raw
    AWS_SECRET_ACCESS_KEY=wr/ong leaves_one 1 "403 Forbidden" bpk pack -f -o s3://b/y.blp less
    refuses 1 "append adds only to these" bpk append s3://b/x.blp raw
    refuses 1 "not changed in place; bpk-remote.7., WRITING" bpk write --at 0 s3://b/x.blp less
    refuses 1 "not changed in place; bpk-remote.7., WRITING" bpk meta set s3://b/x.blp a=1
    refuses 1 "not changed in place; bpk-remote.7., WRITING" bpk repair --in-place s3://b/x.blp
    refuses 1 "not changed in place; name the result with --output" bpk repair --repack s3://b/x.blp
    bpk pack -v -t 4 -f -o s3://b/x.blp less 2>"$err"
    says "network: 2 requests, 0 B received, sent 2"
    no_uploads
}

# KIND WHOLE OLD: with that fault, what converting an archive to s3://b/x ends in. OLD is the file that is
# replaced, or empty. One line, beside that on the rest of an upload, says of a failure, and the key
# is as it was; or the line says that nobody knows.
falters() {
    local fault=$1 whole=$2 old=$3 status=0 force=()
    rm -rf d
    serve_store --fault "$fault" ${options+"${options[@]}"}
    [ -z "$old" ] || { cp "$old" d/b/x.blp; force=(-f); }
    bpk convert --timeout 4 -q "${force[@]}" "$whole" s3://b/x.blp >"$out" 2>"$err" || status=$?
    stop_serving
    if [ "$status" -eq 0 ]; then
        same "$whole" d/b/x.blp || die "$fault: status 0"
        ! grep -v 'may be left at the store' "$err" || die "$fault: $(cat "$err")"
    elif [ "$status" -ne 1 ] || [ "$(grep -cv 'may be left at the store' "$err")" -ne 1 ]; then
        die "$fault: status $status: $(cat "$err")"
    elif ! grep -q "is uncertain" "$err"; then
        if [ -n "$old" ]; then same "$old" d/b/x.blp; else [ ! -e d/b/x.blp ]; fi ||
            die "$fault: $(cat "$err")"
    fi
    # of an upload whose number did not arrive nobody else may know, either
    case $fault in *+ | lost@2 | big-headers@2 | cut@2 | short@2 | stall@2 | garbage@2) return ;; esac
    no_uploads || die "$fault: $(cat "$err")"
}

kinds=(403 404 409 500 503 reset lost garbage empty error-in-200 condition cut short stall long big-headers
    redirect 400 501)

# COUNT N: one in N of the rows 0 to COUNT - 1, as `sampled` has them, but without a step for each row.
rows() {
    local every=$2
    ! light || every=$((3 * every))
    [ -z "${BPK_TEST_WHOLE:-}" ] || every=1
    seq $(((${BPK_TEST_SEED:-0} + 7) % every)) "$every" $(($1 - 1))
}

@test "a fault of any request ends in the whole file, or in a line" {
    need_urls
    results
    cp less.blp old
    olds=('' old)
    for row in $(rows $((6 * ${#kinds[@]} * 2)) 47); do
        number=$((row / 2 / ${#kinds[@]} + 1))
        falters "${kinds[row / 2 % ${#kinds[@]}]}@$number" raw.blp "${olds[row % 2]}"
    done
    for row in $(rows $((2 * ${#kinds[@]} * 2)) 47); do
        number=$((row / 2 / ${#kinds[@]} + 1))
        falters "${kinds[row / 2 % ${#kinds[@]}]}@$number" less.blp "${olds[row % 2]}"
    done
}

@test "a multipart upload is named that may be left, since its number was lost" {
    need_urls
    results
    for fault in lost short 503; do
        rm -rf d
        serve_store --fault "$fault@2"
        # -q leaves the line, since the user has to act
        bpk convert -q --timeout 4 raw.blp s3://b/x.blp 2>"$err"
        stop_serving
        same raw.blp d/b/x.blp
        if [ $fault = 503 ]; then
            no_uploads
            [ ! -s "$err" ] || die "$fault: $(cat "$err")"
        else
            [ -n "$(ls d/.uploads)" ]
            says '^bpk: s3://b/x.blp: a multipart upload without parts may be left at the store'
        fi
    done
    rm -rf d
    serve_store --fault big-headers@2
    ends 1 bpk convert --timeout 4 raw.blp s3://b/x.blp
    stop_serving
    says '^bpk: s3://b/x.blp: a multipart upload without parts may be left at the store'
}

@test "faults that last" {
    need_urls
    results
    cp less.blp old
    olds=('' old)
    lasting=(403 500 reset lost error-in-200 empty)
    numbers=(2 3 6)
    for row in $(rows $((3 * 6 * 2)) 17); do
        falters "${lasting[row / 2 % 6]}@${numbers[row / 12]}+" raw.blp "${olds[row % 2]}"
    done
    for row in $(rows $((6 * 2)) 11); do
        falters "${lasting[row / 2 % 6]}@2+" less.blp "${olds[row % 2]}"
    done
}

@test "the outcome of a lost answer is looked up" {
    need_urls
    results
    cp less.blp old
    falters lost@2 less.blp ''
    same less.blp d/b/x.blp
    falters stall@2 less.blp old
    same less.blp d/b/x.blp
    falters lost@6 raw.blp ''
    same raw.blp d/b/x.blp
    falters cut@6 raw.blp old
    same raw.blp d/b/x.blp
    # a refusal is certain, and so is what came first
    falters condition@2 less.blp ''
    says "s3://b/x.blp: already exists"
    falters condition@6 raw.blp old
    says "was changed by another program meanwhile, and stays so"
    falters 403@6 raw.blp ''
    says "403 Forbidden"
    ! grep -q uncertain "$err"
    ! light || return 0
    # nothing can be looked up any more
    falters lost@6+ raw.blp ''
    says "it is uncertain whether the store keeps the file"
    # a store that forgets whose the file is
    options=(--no-metadata)
    falters lost@2 less.blp ''
    says "uncertain"
    options=(--no-checksum)
    falters 500@3 raw.blp ''
    same raw.blp d/b/x.blp
}

# SIGNAL FAULT NUMBER: it hangs there, and the signal ends it.
interrupted() {
    local signal=$1 fault=$2 number=$3 status=0
    rm -rf d
    serve_store --fault "$fault@$number"
    timeout 60 "$BPK" convert --timeout 50 raw.blp s3://b/x.blp 2>"$err" &
    local waiting=$! child
    eventually arrived "$number"
    sleep 0.3
    child=$(pgrep -P "$waiting")
    kill "-$signal" "$child"
    wait "$waiting" || status=$?
    stop_serving
    [ "$status" -eq $((128 + $(kill -l "$signal"))) ] || die "$fault@$number, $signal: status $status: $(cat "$err")"
}

@test "signals leave nothing, or say what is left" {
    need_urls
    need pgrep
    results
    for number in 3 5; do
        interrupted TERM late "$number"
        [ ! -e d/b/x.blp ] && no_uploads && [ ! -s "$err" ] || die "$number: $(cat "$err")"
    done
    interrupted INT stall 6
    same raw.blp d/b/x.blp
    says "^bpk: s3://b/x.blp: is complete; the signal came too late$"
    ! light || return 0
    # carried out when it is given up, or never
    interrupted TERM late 6
    no_uploads
    if [ -e d/b/x.blp ]; then
        same raw.blp d/b/x.blp
        says "is complete; the signal came too late"
    fi
    for number in 4 6; do
        interrupted KILL late "$number"
        if [ -e d/b/x.blp ]; then
            [ "$number" -eq 6 ]
            same raw.blp d/b/x.blp
        fi
    done
}

@test "two writers of one key: each is whole or refused" {
    need_urls
    results
    data field-f32 21000000 raw2
    "$BPK" pack -q -t 4 raw2
    serve_store
    for round in 1 2 3; do
        ! light || [ "$round" -eq 1 ] || continue
        for force in '' -f; do
            [ -n "$force" ] || rm -f d/b/x.blp
            one=0 two=0
            bpk convert $force raw.blp s3://b/x.blp 2>one.err &
            bpk convert $force raw2.blp s3://b/x.blp 2>two.err || two=$?
            wait $! || one=$?
            [ $((one + two)) -le 1 ] || die "$round: $(cat one.err two.err)"
            [ $((one + two)) -eq 0 ] || grep -qE "already exists|was changed by another program" one.err two.err
            [ -n "$force" ] || [ $((one + two)) -eq 1 ]
            cmp -s d/b/x.blp raw.blp || same d/b/x.blp raw2.blp
            if [ "$one" -ne 0 ]; then same d/b/x.blp raw2.blp; fi
            if [ "$two" -ne 0 ]; then same d/b/x.blp raw.blp; fi
            no_uploads
        done
    done
}

@test "memory is bounded by parts and connections" {
    need_urls
    need_plain_build
    data field-f32 22000000 raw
    bpk pack -q -t 4 raw
    for _ in 1 2 3 4 5 6 7 8; do cat raw.blp; done >many.blp
    serve_store
    quietly "$BPK_PEAK" peak "$BPK" convert --connections 2 --threads 1 many.blp s3://b/x.blp
    [ "$(cat peak)" -le 100000 ] || die "$(cat peak) KiB"
    quietly bpk verify s3://b/x.blp
}
