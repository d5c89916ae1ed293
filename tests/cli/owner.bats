load lib

# Results of root belong to the owner and the group of the input.

need_root() {
    [ "$(id -u)" -eq 0 ] || skip "only root gives files away"
    data records 100000 a
    chmod 640 a
    chown 1234:4321 a 2>/dev/null || skip "no owners here"
    [ "$(stat -c %u:%g a)" = 1234:4321 ] || skip "no owners here"
}

# Every file and folder of the paths has this owner and group.
owned_by() {
    local other
    other=$(find "${@:2}" ! -name .lock -printf '%U:%G %p\n' | grep -v "^$1 ") || return 0
    die "$other"
}

@test "results of root keep owner and group, files and directories" {
    need_root
    for format in blp chunked b2frame b2sparse; do
        make_archive $format a -z 8K
        owned_by 1234:4321 "$archive"
        bpk unpack -q -f -o back "$archive"
        owned_by 1234:4321 back
        [ "$(stat -c %a back)" = 640 ]
        bpk convert -q -f "$archive" other.b2s
        owned_by 1234:4321 other.b2s
        head -c 5000 a >more
        bpk append -q "$archive" more
        owned_by 1234:4321 "$archive"
    done
    bpk append -q --copy a.blp more
    owned_by 1234:4321 a.blp
    bpk tar -o a.tar a.blp
    owned_by 1234:4321 a.tar
}

@test "an archive that append --follow creates belongs to the owner of the file, and to no other group" {
    need_root
    for name in a.blp a.b2frame a.b2s a.blpd; do
        bpk append $name --follow a --idle 1
        owned_by 1234:4321 $name
        [ -d $name ] || [ "$(stat -c %a $name)" = 640 ]
        bpk cat $name | same - a
    done
}

@test "pack -r keeps the owners of folders" {
    need_root
    mkdir -p in/b
    chmod 750 in/b
    mv a in/b
    chown 77:88 in/b
    bpk pack -q -r -O out in
    [ "$(stat -c %u:%g out/b)" = 77:88 ]
    [ "$(stat -c %a out/b)" = 750 ]
    owned_by 1234:4321 out/b/a.blp
}

@test "what is made of the files of several owners belongs to the user" {
    need_root
    bpk pack -q -o a.blp a
    cp a b
    chmod 600 b
    chown 77:88 b
    bpk pack -q -o b.blp b
    bpk tar -o both.tar a.blp b.blp
    owned_by 0:4321 both.tar
    [ "$(stat -c %a both.tar)" = 600 ]
}
