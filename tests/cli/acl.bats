load lib

need_acl() {
    command -v setfacl >/dev/null && command -v getfacl >/dev/null || skip "setfacl is not installed"
    data records 100000 a
    chmod 640 a
    setfacl -m u:65534:r a 2>/dev/null || skip "no access control lists here"
}

# The mode of a file without a list.
mode_of() {
    [ -z "$(getfacl -cs --omit-header "$1")" ] || die "$1 has a list: $(getfacl -c "$1")"
    stat -c %a "$1"
}

@test "an output gives the group no more than the input's list does" {
    need_acl
    setfacl --set u::rw,g::-,u:65534:rw,m::rw,o::- a
    [ "$(stat -c %a a)" = 660 ] # the mask, as the mode shows it
    bpk pack -q -o a.blp a
    [ "$(mode_of a.blp)" = 600 ]
    cp -p a.blp b.blp
    setfacl --set u::rw,g::r,u:65534:rw,m::rw,o::- b.blp
    bpk unpack -q -o b b.blp
    [ "$(mode_of b)" = 640 ]
    bpk convert -q b.blp b.b2frame
    [ "$(mode_of b.b2frame)" = 640 ]
    bpk append -q --copy b.blp a
    [ "$(mode_of b.blp)" = 640 ]
}

@test "a user whom the input's list refuses is no other to the output" {
    need_acl
    setfacl --set u::rw,g::r,u:65534:-,m::r,o::r a
    bpk pack -q -o a.blp a
    [ "$(mode_of a.blp)" = 600 ]
    setfacl --set u::rw,g::r,g:65534:r,m::r,o::r a
    bpk pack -q -f -o a.blp a
    [ "$(mode_of a.blp)" = 644 ]
}

@test "a folder's default list gives nobody an output that the input does not give" {
    need_acl
    setfacl -b a
    mkdir d
    setfacl -d -m u:65534:rwx,g::rx,m::rwx,o::- d
    bpk pack -q -o d/a.blp a
    [ "$(mode_of d/a.blp)" = 640 ]
    bpk pack -q <a >"$out" 2>"$err"
    cat a | bpk pack -q -o d/b.blp - 2>"$err"
    [ "$(mode_of d/b.blp)" = 640 ]
}

# The other files of a dataset lie in its folder, which others cannot enter.
@test "a dataset is no more public than its input" {
    data records 100000 a
    for format in chunked b2sparse; do
        chmod 600 a
        bpk pack -q -f -F $format -o private.$format a
        [ "$(stat -c %a private.$format)" = 700 ]
        bpk append -q private.$format a
        [ "$(stat -c %a private.$format)" = 700 ]
        chmod 644 a
        bpk pack -q -f -F $format -o public.$format a
        [ "$(stat -c %a public.$format)" = 755 ]
    done
    chmod 600 a
    bpk pack -q -o a.blp a
    bpk convert -q -F chunked a.blp converted
    [ "$(stat -c %a converted)" = 700 ]
    mkdir shared
    chmod g+s shared
    bpk pack -q -F chunked -o shared/private a
    [ "$(stat -c %a shared/private)" = 2700 ] # the group of a shared folder
}
