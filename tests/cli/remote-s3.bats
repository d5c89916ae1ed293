load lib

# Archives in a store of S3, and directories on a web server; both are tests/lib/store.

# The archives of raw in every format, below d/b; $names are those of files, $folders the others.
archives() {
    mkdir -p d/b/deep/er
    data field-f32 3000000 raw
    bpk pack -q -t 4 -z 256K -o d/b/x.blp raw
    bpk pack -q -t 4 -z 256K -o d/b/x.b2frame raw
    bpk pack -q --dtype '<f4' --shape 750,1000 --chunk-shape 100,300 -o d/b/x.b2nd raw
    bpk pack -q -t 4 -z 256K -F b2sparse -o d/b/x.b2s raw
    bpk pack -q -t 4 -z 256K -F chunked -o d/b/blaze.blpd raw
    bpk pack -q -t 4 -z 256K -F chunked --layout bcolz -o d/b/deep/bcolz.blpd raw
    (cd d/b && bpk tar -q -f run:1.tar x.blp x.b2s 2>/dev/null || tar cf run:1.tar x.blp x.b2s)
    cp d/b/x.blp "d/b/deep/er/a b%41+ä&'.blp"
    names=(x.blp x.b2frame x.b2nd run:1.tar:x.blp run:1.tar:x.b2s "deep/er/a b%41+ä&'.blp")
    folders=(x.b2s blaze.blpd deep/bcolz.blpd)
}

# URL LOCAL: every command reads both the same.
reads_as() {
    bpk unpack -o u "$1" 2>"$err" && same u raw && rm u || die "$1: unpack: $(cat "$err")"
    bpk verify "$1" || die "$1: verify"
    bpk cat --bytes 1000001:1300001 "$1" | cmp - <(tail -c +1000002 raw | head -c 300000) || die "$1: cat"
    bpk info -v "$1" 2>"$err" | tail -n +2 >remote
    bpk info -v "$2" | tail -n +2 | grep -v '^ *holes' >local
    [ -n "${3:-}" ] || same remote local
    bpk convert "$1" y.blp 2>"$err" && bpk unpack -qf -o u y.blp && same u raw || die "$1: convert: $(cat "$err")"
    rm -f u y.blp
}

@test "every command reads an archive of a store as it reads the file" {
    need_urls
    archives
    serve_store
    for name in "${names[@]}"; do reads_as "s3://b/$name" "d/b/$name"; done
    for name in "${folders[@]}"; do reads_as "s3://b/$name/" "d/b/$name"; done
    ! cut -f 5 "$requests" | grep -q 403
    # a result beside nothing is one in the working directory
    bpk unpack -q s3://b/x.b2s/ && same x raw
}

@test "directories on a web server are read without listings" {
    need_urls
    archives
    serve d
    for name in "${folders[@]}"; do reads_as "$url/b/$name/" "d/b/$name" unlisted; done
    bpk verify -v "$url/b/x.b2s/" >remote
    grep -q "the server does not list the directory: files that are no part of it were not looked for" remote
    reads_as "$url/b/run:1.tar:x.b2s" d/b/run:1.tar:x.b2s
    refuses 1 "/b/: a web server does not list its directories" bpk verify -r "$url/b/"
    refuses 1 "/b/x.b2s: does not exist; the URL of a directory ends with /" bpk verify "$url/b/x.b2s"
    # nothing is asked for twice
    : >"$requests"
    bpk info "$url/b/blaze.blpd/" >remote
    cut -f 3,4 "$requests" | grep -vF /.lock | sort | uniq -d >twice
    [ ! -s twice ] || die "$(cat twice)"
    # the first and the last of the 12 chunks are looked at when the frame is opened
    : >"$requests"
    bpk verify "$url/b/x.b2s/"
    [ "$(grep -c '\.chunk.bytes=0-' "$requests")" -le 14 ] || die "$(cat "$requests")"
}

@test "keys: of the environment, of files, wrong ones, none" {
    need_urls
    archives
    serve_store
    bpk verify s3://b/x.blp
    AWS_SECRET_ACCESS_KEY=wr/ong refuses 1 "x.blp: cannot open: the store answered 403 Forbidden: SignatureDoesNotMatch" \
        bpk verify s3://b/x.blp
    ! grep -qF -e wr/ong -e se/cr+et "$err"
    AWS_SECRET_ACCESS_KEY=wr/ong refuses 1 "403 Forbidden: SignatureDoesNotMatch" bpk verify s3://b/x.b2s/
    AWS_SECRET_ACCESS_KEY='' refuses 1 "only one is set" bpk verify s3://b/x.blp
    unset AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY
    refuses 1 "403 Forbidden: AccessDenied" bpk verify s3://b/x.blp
    mkdir .aws
    printf '[default]\naws_access_key_id = ID\naws_secret_access_key = wrong\n[p]\n' >.aws/credentials
    printf 'aws_access_key_id = ID\naws_secret_access_key = se/cr+et\n' >>.aws/credentials
    printf '[profile p]\nregion = eu-west-1\n' >.aws/config
    refuses 1 SignatureDoesNotMatch bpk verify s3://b/x.blp
    AWS_PROFILE=p bpk verify s3://b/x.blp
    AWS_PROFILE=q refuses 1 "AWS_PROFILE is q, of which no file has an aws_access_key_id" bpk verify s3://b/x.blp
    mv .aws/credentials keys
    AWS_SHARED_CREDENTIALS_FILE=keys AWS_PROFILE=p bpk verify s3://b/x.blp
    # a token of a session is sent and signed
    serve d --key ID:se/cr+et:to/ken
    export AWS_ACCESS_KEY_ID=ID AWS_SECRET_ACCESS_KEY=se/cr+et BPK_ENDPOINT=$url
    refuses 1 "400 Bad Request: InvalidToken" bpk verify s3://b/x.blp
    AWS_SESSION_TOKEN=to/ken bpk verify s3://b/x.blp
}

@test "what is not there, and what is no URL" {
    need_urls
    archives
    serve_store
    refuses 1 "s3://b/y.blp: does not exist$" bpk verify s3://b/y.blp
    refuses 1 "s3://b/y/: does not exist" bpk verify s3://b/y/
    refuses 1 "s3://b/y: does not exist" bpk verify -r s3://b/y
    refuses 1 "s3://b/x.b2s: is a directory in the store; write s3://b/x.b2s/$" bpk verify s3://b/x.b2s
    refuses 1 "s3://b/deep/: is a directory, expected an archive" bpk verify s3://b/deep/
    refuses 1 "the tar s3://b/run:1.tar has no member y" bpk verify s3://b/run:1.tar:y
    refuses 64 "without a bucket" bpk verify s3:///x.blp
    refuses 64 "is no name of a bucket" bpk verify s3://b@c/x.blp
    refuses 64 "is no name of a region" bpk verify --region "x/y" s3://b/x.blp
    refuses 64 "expected http://HOST or https://HOST" bpk verify --endpoint ftp://x s3://b/x.blp
    refuses 64 "a user's name" bpk verify --endpoint http://a:b@c s3://b/x.blp
    refuses 1 "append adds only to these" bpk append s3://b/x.blp raw
    rm d/b/x.b2s/00000003.chunk
    refuses 2 "00000003.chunk: is missing" bpk verify s3://b/x.b2s/
    : >d/b/blaze.blpd/.bpkj
    refuses 1 "holds .bpkj, a change that was interrupted" bpk verify s3://b/blaze.blpd/
}

@test "verify -r walks the folders of a store, page by page" {
    need_urls
    archives
    mkdir d/b/many
    for i in {1..25}; do cp d/b/x.blp "d/b/many/$i.blp"; done
    : >d/b/many/.x.bpkj
    serve_store --page 3
    bpk verify -rv s3://b >remote 2>"$err" || [ $? -eq 1 ]
    says "s3://b/many/.x.bpkj: is a journal without its archive"
    rm d/b/many/.x.bpkj
    bpk verify -rv s3://b 2>"$err" | sed 's|^s3://b/|d/b/|; s|/: ok|: ok|' | sort >remote
    bpk verify -rv d/b | sort >local
    same remote local
    [ "$(grep -c max-keys "$requests")" -eq 0 ]
    bpk verify -rv s3://b/many | grep -c ': ok' | grep -qx 25
    bpk verify -r s3://b/x.blp
    printf x >>d/b/many/7.blp
    leaves_one 2 "^bpk: s3://b/many/7.blp: " bpk verify -r s3://b/many/
    # a frame of more files than a page has
    bpk verify s3://b/x.b2s/
}

@test "verify -r meets a frame that is completed at that moment" {
    need_urls
    mkdir -p d/b/p
    data field-f32 300000 raw
    "$BPK" pack -q -F b2sparse -z 64K raw -o d/b/p/x
    # two listings of p, one of x that looks for an archive, and one of its files
    serve_store --arrive b/p/x/chunks.b2frame@4
    bpk verify -rv s3://b/p/ 2>"$err" | grep -q 'x/: ok'
    [ "$(grep -c 'prefix=p%2Fx%2F' "$requests")" -eq 3 ]
}

@test "an archive that is replaced during reading" {
    need_urls
    archives
    serve_store --fault change@3
    ends 1 bpk unpack -o u s3://b/x.blp
    says "^bpk: s3://b/x.blp.*: changed while it was read"
    [ ! -e u ]
    # a directory by its generation, while the output waits for its reader
    serve_store
    : >d/b/x.b2s/.lock
    mkfifo output
    bpk cat s3://b/x.b2s/ >output 2>"$err" 3>&- &
    exec {reading}<output
    head -c 1 <&"$reading" >part
    printf '\1\0\0\0\0\0\0\0' >d/b/x.b2s/.lock
    cat <&"$reading" >part
    status=0
    wait $! || status=$?
    [ "$status" -eq 1 ]
    says "^bpk: s3://b/x.b2s/: changed while it was read"
    bpk verify s3://b/x.b2s/
    # no lock file of bpk
    data field-f32 100000 d/b/x.b2s/.lock
    bpk verify s3://b/x.b2s/
}

@test "what may pass is tried again, and no redirection is followed" {
    need_urls
    archives
    serve_store --fault 503@1 --fault reset@3 --fault 500@5
    bpk verify s3://b/x.b2s/
    for kind in redirect redirect-host redirect-plain; do
        serve_store --fault "$kind@*"
        refuses 1 "the store redirects to (127.0.0.1:[0-9]*|localhost:[0-9]*|elsewhere); name its --region or --endpoint" \
            bpk verify s3://b/x.blp
        [ "$(count_requests)" -eq 1 ]
    done
    # the listing comes first
    for kind in empty error-in-200 cut; do
        serve_store --fault "$kind@1"
        refuses 1 "^bpk: s3://b/x.b2s/: the (answer is not the XML|store answered InternalError|server does not say where the file ends)" \
            bpk verify --timeout 1 s3://b/x.b2s/
    done
}

@test "a store that refuses: one line, with the reason" {
    need_urls
    archives
    serve_store
    unset AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY
    for row in "-r s3://b" "-r s3://b/" "-r s3://b/deep" s3://b/x.blp; do
        # shellcheck disable=SC2086
        refuses 1 'the store answered 403 .*; no key of the user was found$' bpk verify $row
    done
    refuses 1 '^bpk: s3://b/deep/: is a directory that cannot be listed, and no archive$' bpk verify s3://b/deep/
    export AWS_ACCESS_KEY_ID=ID AWS_SECRET_ACCESS_KEY=wrong
    ends 1 bpk verify s3://b/x.blp
    ! says 'no key'
    export AWS_SECRET_ACCESS_KEY=se/cr+et
    refuses 1 '^bpk: s3://none/: no such bucket$' bpk verify -r s3://none
}
