load lib

@test "--version and version say what is built in" {
    quietly bpk --version
    grep -qE '^bpk [0-9]+\.[0-9]+' "$out"
    quietly bpk version
    for word in blosclz lz4 lz4hc snappy zlib zstd crc32 sha512 blp; do
        grep -qw "$word" "$out" || die "no $word" "$(cat "$out")"
    done
    grep -qE 'zstd \([0-9]+\.[0-9]+' "$out"
    grep -qE '^MPI +(in bpk-mpi|left out)$' "$out"
}

@test "--help of bpk and of every command" {
    quietly bpk --help
    for command in pack unpack cat info ls verify sum parity seal append truncate write meta bench help version; do
        grep -qw "$command" "$out" || die "no $command"
    done
    for command in pack unpack cat info ls verify sum parity seal append truncate write meta bench help version; do
        quietly bpk $command --help
        grep -q -- '--help' "$out"
        grep -qi '^usage: bpk '$command "$out"
        ! grep -qE '.{81}' "$out" || die "a line over 80 columns: $command" "$(grep -E '.{81}' "$out")"
    done
    quietly bpk help pack
    grep -q chunk-size "$out"
    quietly bpk help
    refuses 64 "no command 'pakc'|pakc" bpk help pakc
    mkdir bin
    printf '#!/bin/sh\necho "$*" >>pages\n' >bin/man
    chmod +x bin/man
    PATH=$PWD/bin:$PATH bpk help remote
    PATH=$PWD/bin:$PATH bpk help formats
    same pages <(printf '%s\n' "-w bpk-remote" bpk-remote "-w bpk-formats" bpk-formats)
    for page in "$tests"/../man/bpk-*.in; do # every page has a name for help
        page=${page##*/bpk-} page=${page%.[1-9].in}
        PATH=$PWD/bin:$PATH bpk help $page
        [ "$(tail -n 1 pages)" = bpk-$page ] || die "$page"
    done
    printf '#!/bin/sh\nexit 16\n' >bin/man
    PATH=$PWD/bin:$PATH refuses 1 "the manual page bpk-remote is not installed" bpk help remote
    rm -r bin pages
}

@test "every option of pack that CLI users know is in its help" {
    bpk pack --help >"$out"
    for option in --format --level --codec --filter --typesize --chunk-size --block-size --checksum \
        --no-offsets --append-space --metadata --set --stream-size --compare --stdout --output \
        --output-dir --force --keep --rm --threads --memory-limit --quiet --verbose --progress --json; do
        grep -q -- "$option" "$out" || die "no $option"
    done
}

@test "no command, or one mistyped, is answered with the nearest" {
    status=0
    bpk >"$out" 2>"$err" || status=$?
    [ "$status" -eq 64 ]
    [ ! -s "$out" ]
    says '[Uu]sage: bpk '
    refuses 64 "pack" bpk pakc
    refuses 64 "unpack" bpk unpak
    refuses 64 "verify" bpk verfy
    refuses 64 "" bpk xyzzy
    : >foo.dat
    : >foo.blp
    refuses 64 "foo.dat: no such command; to pack a file: bpk pack foo.dat$" bpk foo.dat
    refuses 64 "foo.blp: no such command; to unpack an archive: bpk unpack foo.blp$" bpk foo.blp
}

@test "blpk's commands are answered with ours" {
    for pair in compress:pack c:pack decompress:unpack d:unpack a:append i:info; do
        refuses 64 "${pair#*:}" bpk "${pair%%:*}" x
    done
}

@test "a mistyped option is answered with the nearest" {
    data text 500 a
    refuses 64 "chunk-size" bpk pack --chunksize 1M a
    refuses 64 "checksum" bpk pack --cheksum crc32 a
    refuses 64 "" bpk pack -X a
    refuses 64 "" bpk pack --xyzzy a
    refuses 64 "option --c is ambiguous: --codec, --chunk-size, " bpk pack --c a
    refuses 64 "" bpk pack -z
    refuses 64 "" bpk pack --json=yes a
}

@test "a word that an option does not know is answered with the nearest" {
    data text 500 a
    refuses 64 "zstd" bpk pack --codec zsdt a
    refuses 64 "unknown filter 'shufle', did you mean 'shuffle'" bpk pack --filter shufle a
    refuses 64 "sha256" bpk pack --checksum sha265 a
    refuses 64 "blp" bpk pack -F bpl a
    refuses 64 "unknown format 'b2nd'" bpk pack -F b2nd a
    refuses 64 "unknown codec 'gzip'" bpk pack --codec gzip a
}

@test "values out of range are wrong usage" {
    data text 500 a
    for option in --level=10 --level=-1 --level=x --typesize=0 --typesize=256 --chunk-size=0 \
        --chunk-size=-1 --chunk-size=1X --chunk-size= --chunk-size=3G --threads=-1 --threads=x \
        --append-space=-1 --memory-limit=x --progress=maybe --chunk-size=99999999999999999999; do
        refuses 64 "${option%%=*}" bpk pack $option a
    done
    for digits in 10 12 19; do
        refuses 64 "levels go from -0 to -9, not to -$digits$" bpk pack -$digits a
    done
    quietly bpk pack -q5 a
    refuses 64 "unknown option --best, use -9" bpk pack --best a
    refuses 64 "unknown option --fast, use -1" bpk convert --fast=3 a.blp b.blp
    refuses 64 "unknown option --decompress; 'bpk unpack' restores FILE" bpk --decompress a.blp
    refuses 64 "unknown option --ultra, use -9" bpk pack --ultra a
    refuses 64 "unknown option -x$" bpk pack -x.f64
    touch -- -x.f64
    refuses 64 "unknown option -x; the file is ./-x.f64$" bpk pack -q -x.f64
    refuses 64 "unknown option -j; -T sets the number of threads" bpk pack -j2 a
    refuses 64 "unknown option -C; -O names the directory" bpk unpack -C . a.blp
}

@test "the suffix of a result is that of a format, or --format is given" {
    data text 500 a
    known='names no format \(\.blp, \.blpd, \.b2frame, \.b2nd, \.b2s\); give --format$'
    for name in x.zst a.csv x.blp.gz d.x/y.bin; do
        refuses 64 "the suffix of $name $known" bpk pack -o $name a
    done
    quietly bpk pack a
    refuses 64 "the suffix of x.zst $known" bpk convert a.blp x.zst
    for name in x.tgz x.tar.gz x.zst; do
        refuses 64 "the suffix of $name is not .tar" bpk tar -o $name a.blp
        refuses 64 "the suffix of $name is not .tar" bpk tar -f $name a.blp
    done
    mkdir d.x
    for name in x run.2 .hidden d.x/y; do # no words
        quietly bpk pack -o $name a
        bpk cat $name | cmp - a
        quietly bpk tar -o $name.0 a.blp
    done
    quietly bpk pack -F blp -o x.zst a
    bpk cat x.zst | cmp - a
}

@test "SIZE takes K, M, G, T and max" {
    data text 3000 a
    for size in 2048 2K max 2147483631 1M 1G; do
        quietly bpk pack -f -z $size a
        bpk cat a.blp | cmp - a
    done
}

@test "-z max is the largest chunk of every format" {
    data field-f64 20000 a
    for format in blp chunked b2frame b2sparse; do
        for typesize in auto 1 7 8 24 255; do
            rm -rf packed converted dir
            quietly bpk pack -z max --block-size max -t $typesize -F $format -o packed a
            bpk cat packed | cmp - a
            quietly bpk convert-to-chunked -z max packed dir
            for goal in blp chunked b2frame b2sparse; do
                rm -rf converted
                quietly bpk convert -F $goal packed converted
                rm -rf converted
                quietly bpk convert -z max -F $goal packed converted
                bpk cat converted | cmp - a
            done
        done
        rm -rf packed
        quietly bpk pack -z max -F $format -o packed /dev/null
        quietly bpk append packed a
        bpk cat packed | cmp - a
    done
    quietly bpk pack -z max --dtype '<f8' --shape 50,50 -o packed.b2nd a
}

@test "long options may be shortened, -- ends options, options may follow files" {
    data text 500 a
    cp a ./-v
    quietly bpk pack --chunk-si 1M --chec md5 a
    quietly bpk pack -f -- -v
    bpk cat ./-v.blp | cmp - a
    quietly bpk pack a -f
    quietly bpk pack -fT1 a
}

@test "the environment gives defaults, options win" {
    need_python
    data field-f64 100000 a
    BPK_CODEC=lz4 bpk pack -o lz4.blp a
    bpk pack --codec lz4 -o same.blp a
    same lz4.blp same.blp
    BPK_CODEC=lz4 bpk pack --codec zstd -o zstd.blp a
    bpk pack --codec zstd -o same.blp -f a
    same zstd.blp same.blp
    BPK_LEVEL=9 bpk pack -o nine.blp a
    bpk pack -9 -o same.blp -f a
    same nine.blp same.blp
    BPK_LEVEL=9 bpk pack -1 -o one.blp a
    bpk pack -1 -o same.blp -f a
    same one.blp same.blp
    BPK_THREADS=2 quietly bpk pack -o x.blp a
    refuses 64 BPK_LEVEL env BPK_LEVEL=x "$BPK" pack a
    refuses 64 BPK_CODEC env BPK_CODEC=x "$BPK" pack a
    refuses 64 BPK_THREADS env BPK_THREADS=x "$BPK" pack a
    BLOSC_CLEVEL=0 BLOSC_COMPRESSOR=lz4 BLOSC_NTHREADS=x quietly bpk pack -f -o same.blp a
    bpk pack -o plain.blp a
    same plain.blp same.blp
    BPK_LEVEL='' quietly bpk pack -f -o same.blp a
    same plain.blp same.blp
}

@test "--memory-limit refuses before anything is written" {
    data field-f64 1000000 a
    refuses 1 "[Mm]emory|limit" bpk pack -z 64M --memory-limit 1M a
    bpk pack -z 1M a
    refuses 1 "[Mm]emory|limit" bpk unpack --memory-limit 64K -o x a.blp
    refuses 1 "" env BPK_MEMORY_LIMIT=64K "$BPK" verify a.blp
    quietly bpk verify --memory-limit 1G a.blp
}

@test "descriptors 0 to 2 may be closed" {
    data text 5000 a
    cp a before
    bpk pack a 0<&- 1>&- 2>&-
    bpk cat a.blp | cmp - before
    same a before
    status=0
    bpk cat a.blp >&- || status=$?
    [ "$status" -eq 1 ] || [ "$status" -eq 0 ]
    same a before
    bpk verify a.blp 2>&-
    bpk info a.blp 0<&- >"$out"
}

# A result must never get the number of a descriptor that messages go to.
@test "every command works with any of descriptors 0 to 2 closed, and makes the same files" {
    local command closed status expected
    while read -r command; do
        for closed in '' '0<&-' '1>&-' '2>&-' '0<&- 1>&-' '0<&- 2>&-' '1>&- 2>&-' '0<&- 1>&- 2>&-'; do
            rm -rf ./*
            data records 9000 a
            touch -d '2001-01-01' a
            cp -p a b
            bpk pack -q -T 1 -z 4K a
            bpk pack -q -T 1 -z 4K -F chunked -o d.blpd a
            status=0
            eval "\"\$BPK\" $command </dev/null >\"\$out\" 2>\"\$err\" $closed" || status=$?
            if [ -z "$closed" ]; then
                [ "$status" -eq 0 ] || die "$command: $(cat "$err")"
                expected=$(find . -type f -exec sha256sum {} + | sort)
            fi
            # what cannot be printed is an error
            case $status-$closed in 0-* | 1-*1*) ;; *) die "$command $closed: status $status" ;; esac
            [ "$(find . -type f -exec sha256sum {} + | sort)" = "$expected" ] || die "$command $closed: other files"
        done
    done <<'END'
pack -o x.blp a
pack -f -F chunked -o d.blpd b
unpack -o x a.blp
convert a.blp x.b2frame
convert -F chunked a.blp x.blpd
append a.blp b
append d.blpd b
write --at 0 a.blp b
truncate --bytes 5000 a.blp
meta set a.blp k=1
parity a.blp
tar --date 1 -o x.tar d.blpd
verify -v a.blp
info -v a.blp
cat a.blp
cmp a a.blp
sum a.blp
ls a.blp
END
}

@test "-q keeps notices away, not errors" {
    data text 5000 a
    cat a | bpk pack 2>"$err" | cat >x.blp
    [ "$(wc -l <"$err")" -eq 1 ]
    cat a | bpk pack -q 2>"$err" | cat >x.blp
    [ ! -s "$err" ]
    refuses 1 "none" bpk pack -q none
}

@test "--progress always draws a bar, never and auto do not in a pipe" {
    data text 3000000 a
    bpk pack --progress always -o x.blp a 2>"$err"
    [ -s "$err" ]
    grep -q '%' "$err"
    bpk pack --progress never -f -o x.blp a 2>"$err"
    [ ! -s "$err" ]
    bpk pack --progress auto -f -o x.blp a 2>"$err"
    [ ! -s "$err" ]
}

@test "BPK_OPTIONS holds options for every command, and those of the command line win" {
    data field-f64 100000 a
    export BPK_OPTIONS='-T 2 -q --codec lz4'
    bpk pack -o lz4.blp a
    bpk pack --codec zstd -o zstd.blp a
    BPK_CODEC=zlib bpk pack -o over.blp a
    cat a | bpk pack 2>"$err" | cat >piped.blp # -q keeps the notice away
    [ ! -s "$err" ]
    BPK_OPTIONS='' bpk pack --codec lz4 -o same.blp a
    same lz4.blp same.blp
    same over.blp same.blp
    BPK_OPTIONS='' bpk pack -f --codec zstd -o same.blp a
    same zstd.blp same.blp
    # other commands pass over those that they do not know, letters of one word too
    for options in '--codec lz4 -T 1' '--codec=lz4 -9' '-kqT1 -z 1M' '-z1M -q9'; do
        export BPK_OPTIONS=$options
        quietly bpk info lz4.blp
        quietly bpk verify lz4.blp
        bpk cat lz4.blp | cmp - a
        rm -f a.blp
        quietly bpk pack a
    done
    BPK_OPTIONS=' -v  --json ' bpk info a.blp >"$out"
    grep -q '^{' "$out"
    BPK_OPTIONS='--set k=v --set' refuses 64 "BPK_OPTIONS: --set needs an argument" bpk pack -f a
    BPK_OPTIONS='-T' refuses 64 "BPK_OPTIONS: -T needs an argument" bpk ls a.blp
    BPK_OPTIONS='--thraeds 1' refuses 64 "BPK_OPTIONS: unknown option --thraeds, did you mean --threads" bpk ls a.blp
    BPK_OPTIONS='-qX' refuses 64 "BPK_OPTIONS: unknown option -X" bpk ls a.blp
    BPK_OPTIONS='-q b' refuses 64 "BPK_OPTIONS: 'b' is not an option" bpk pack -f a
    BPK_OPTIONS='--' refuses 64 "BPK_OPTIONS: '--' is not an option" bpk pack -f a
    BPK_OPTIONS='-' refuses 64 "BPK_OPTIONS: '-' is not an option" bpk pack -f a
    BPK_OPTIONS='-T x' refuses 64 "BPK_OPTIONS: -T: 'x' is not a number" bpk pack -f a
    BPK_OPTIONS='-12' refuses 64 "BPK_OPTIONS: levels go from -0 to -9" bpk pack -f a
    unset BPK_OPTIONS
}

@test "words of like programs for healing, sealing and sums are answered with those of bpk" {
    for pair in 'heal verify --heal' 'fsck verify' 'sign seal --sign' 'salvage repair' 'recover repair' \
        'merge repair --merge' 'hash sum' 'prove cat --prove'; do
        refuses 64 "unknown command '${pair%% *}', use 'bpk ${pair#* }'$" bpk "${pair%% *}" f
    done
    refuses 64 '--repair; --heal restores' bpk verify --repair f
    refuses 64 "--check; 'bpk verify FILE'" bpk parity --check f
    refuses 64 "ARCHIVE stands before P%$" bpk parity 5% f
    refuses 64 '-b; every FILE is read as binary' bpk sum -b f
    refuses 64 '--tag; lines have the form of sha256sum' bpk sum --tag f
    refuses 64 "--verify; --check SIGNERS" bpk seal --verify f
    echo x >"it's"
    refuses 64 "to pack a file: bpk pack 'it'.''s'$" bpk "it's"
}

@test "options that other programs have are answered with bpk's own" {
    refuses 64 'unknown option --subset; --shard K/N' bpk verify --subset 1/3 x
    refuses 64 'unknown option --scrub; --heal restores' bpk verify --scrub x
    refuses 64 "unknown option --fix; 'bpk verify --heal' restores" bpk repair --fix x
    refuses 64 'unknown option --reindex; --apply -o OUT writes' bpk repair --reindex x
    refuses 64 "unknown option -n; 'bpk repair FILE' only shows" bpk repair -n x
    refuses 64 "unknown option --repair; 'bpk verify --heal FILE' restores" bpk parity --repair x
    refuses 64 "unknown command 'scrub', use 'bpk verify'" bpk scrub x
}
