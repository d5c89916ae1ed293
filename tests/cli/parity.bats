load lib

# NAME SIZE: an archive of so many bytes, packed to four fifths.
packed() {
    data field-f32 "$2" raw
    bpk pack -q -f -o "$1" raw
}

@test "parity: writes a file beside the archive, with the share that was asked for" {
    packed a.blp 3000000
    quietly bpk parity a.blp
    [ "$(stat -c %s a.blp.bpp)" -gt 120000 ]
    [ "$(stat -c %s a.blp.bpp)" -lt 220000 ]
    cp a.blp.bpp five
    bpk parity -v a.blp 10% 2>"$err"
    says 'a.blp: parity of 10%: [0-9]+ bytes for [0-9]+ in a.blp.bpp'
    [ "$(stat -c %s a.blp.bpp)" -gt 240000 ]
    # an old share stays
    quietly bpk parity a.blp
    [ "$(stat -c %s a.blp.bpp)" -gt 240000 ]
    quietly bpk parity a.blp 5
    same a.blp.bpp five
    for share in 0.01 2.5% 100%; do quietly bpk parity a.blp $share; done
}

@test "parity: every container that is a file" {
    data field-f32 700000 raw
    for name in a.blp a.b2frame a.b2nd; do
        bpk pack -q -o $name raw
        quietly bpk parity $name
        [ -s $name.bpp ]
    done
    bpk pack -q -F chunked -o a.blpd raw
    refuses 1 'a.blpd: is a directory' bpk parity a.blpd
    tar cf a.tar a.blp
    refuses 1 'no file of its own' bpk parity a.tar:a.blp
}

@test "parity: an empty archive, and a small one" {
    : >nothing
    bpk pack -q -o a.blp nothing
    quietly bpk parity a.blp
    echo x >one
    bpk pack -q -o b.blp one
    quietly bpk parity b.blp 1%
}

@test "parity: wrong usage" {
    packed a.blp 1000
    for share in 0 101 5%% x -1 1e1 '' 0.001; do
        refuses 64 'no share of parity' bpk parity -- a.blp "$share"
    done
    refuses 64 '' bpk parity
    refuses 64 '' bpk parity -
    refuses 64 '' bpk parity a.blp 5 6
    refuses 1 '' bpk parity missing.blp
    refuses 1 '' bpk parity raw
    [ ! -e raw.bpp ]
}

@test "parity: a damaged archive gets none, and keeps its old parity" {
    packed a.blp 100000
    quietly bpk parity a.blp
    cp a.blp.bpp old
    printf X | dd of=a.blp bs=1 seek=50000 conv=notrunc status=none
    refuses 2 '' bpk parity a.blp
    same a.blp.bpp old
}

@test "parity: replaces nothing but parity" {
    packed a.blp 1000
    echo mine >a.blp.bpp
    refuses 1 'a.blp.bpp: exists, and is no parity file; --force replaces it' bpk parity a.blp
    [ "$(cat a.blp.bpp)" = mine ]
    quietly bpk parity --force a.blp
    ln -s /dev/null b && mv b a.blp.bpp
    refuses 1 '' bpk parity a.blp
    [ -L a.blp.bpp ]
    rm a.blp.bpp && mkfifo a.blp.bpp
    refuses 1 '' bpk parity a.blp
    # damaged parity is parity
    rm a.blp.bpp
    quietly bpk parity a.blp
    truncate -s 100 a.blp.bpp
    quietly bpk parity a.blp
    [ "$(stat -c %s a.blp.bpp)" -gt 1000 ]
}

@test "parity: through a link, beside the file that it leads to; and no more public" {
    packed a.blp 1000
    mkdir d
    mv a.blp d
    chmod 640 d/a.blp
    ln -s d/a.blp l
    quietly bpk parity l
    [ "$(stat -c %a d/a.blp.bpp)" = 640 ]
    [ ! -e l.bpp ]
}
