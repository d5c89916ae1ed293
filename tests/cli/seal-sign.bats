load lib
load seal

# Keys one and two; the signers of the file signers are those of one, ann and bob.
make_keys() {
    command -v ssh-keygen >/dev/null || skip "ssh-keygen is not installed"
    for key in one two; do
        ssh-keygen -q -t ed25519 -N '' -C "" -f $key
    done
    echo "ann,bob $(cat one.pub)" >signers
    echo "eve $(cat two.pub)" >others
    ssh-keygen -Y sign -f one -n bpk-seal <signers >/dev/null 2>&1 || skip "ssh-keygen makes no signatures"
}

# The archive s.x, a signature by one beside it, and bytes to append in more: FORMAT, or blp.
make_signed() {
    [ -e in ] || make_input $((20 * 2000 + 777))
    rm -rf s.x s.x.sig
    bpk pack -q --seal --metadata m -t 1 -z 2000 --filter none -F "${1:-blp}" -o s.x in
    bpk seal --sign one s.x
    head -c 3000 in >more
}

# N: the N archives in the folder broken all fail.
none_pass() {
    local status=0
    "$BPK" seal --check signers $(ls -d broken/* | grep -v '\.sig$') >passed 2>said || status=$?
    [ $status -eq 2 ] || [ $status -eq 3 ] || die "status $status"
    [ ! -s passed ] || die "passed: $(cat passed)"
    [ "$(wc -l <said)" -eq "$1" ] || die "$1 expected: $(cat said)"
}

@test "a seal is signed, checked, and checked by ssh-keygen alone" {
    make_keys
    for format in blp b2frame b2sparse chunked; do
        make_signed $format
        quietly bpk seal --check signers s.x
        grep -q '^s.x: generation 1 is signed by ann with ED25519 key SHA256:' "$out" || die "$(cat "$out")"
        quietly bpk seal --check signers -I bob s.x
        grep -q 'signed by bob' "$out"
        quietly bpk seal -q --check signers s.x
        [ ! -s "$out" ]
        quietly bpk seal --quick --check signers s.x
        grep -q 'signed by ann .*; its chunks were not read$' "$out"
        tail -n 4 s.x.sig | ssh-keygen -Y verify -f signers -I ann -n bpk-seal -s s.x.sig >/dev/null
        [ "$(tail -n 4 s.x.sig)" = "bpk-seal 1
format $format
generation 1
root $(root s.x)" ]
        ln -sfn s.x link
        quietly bpk seal --check signers link
        rm link
    done
    quietly bpk seal --check signers s.x/
    bpk seal --sign one -v s.x/ 2>said
    grep -q 'generation 1 is signed in s.x.sig$' said
    rm s.x.sig
    (cd s.x && bpk seal --sign ../one . && quietly bpk seal --check ../signers ./)
    [ -e s.x.sig ]
    ! ls -A s.x | grep sig
}

@test "a signature of a later state, or of another archive, is replaced by force alone" {
    make_keys
    data noise 80000 in
    bpk pack -q -F blp --seal -t 1 -o s.x in
    cp s.x first
    head -c 3000 in | bpk append -q s.x -
    bpk seal --sign one s.x
    cp s.x second
    cp first s.x
    refuses 1 's.x.sig: exists, and signs generation 2, the archive is an older one, at generation 1; --force replaces it$' \
        bpk seal --sign one s.x
    refuses 2 'older one than the signature.s, 2: look for the newer archive, in a backup$' bpk seal --check signers s.x
    head -c 4000 in | bpk append -q s.x -
    refuses 1 's.x.sig: exists, and signs another archive of generation 2; --force' bpk seal --sign one s.x
    cp second s.x
    quietly bpk seal --check signers s.x
    quietly bpk seal --sign one s.x
    head -c 4000 in | bpk append -q s.x -
    quietly bpk seal --sign one s.x
}

@test "a signer, a key or an archive that is not the right one" {
    make_keys
    make_signed
    refuses 2 's.x.sig: is of no signer in others$' bpk seal --check others s.x
    refuses 2 "s.x.sig: signers does not confirm a signature of 'eve'" bpk seal --check signers -I eve s.x
    echo "ann namespaces=\"file\" $(cat one.pub)" >file
    refuses 2 's.x.sig: file does not confirm a signature of .ann..*namespace' bpk seal --check file s.x
    refuses 1 'missing: No such file' bpk seal --check missing s.x
    refuses 1 's.x: ssh-keygen: .*No such file' bpk seal --sign missing s.x
    refuses 1 's.x.sig: exists, signed with ED25519 key .*--force' bpk seal --sign two s.x
    bpk seal --sign two -f s.x
    quietly bpk seal --check others s.x
    refuses 2 'is of no signer in signers' bpk seal --check signers s.x
    bpk pack -q -F blp -o plain.x in
    refuses 1 'plain.x: has no seal; bpk convert --seal plain.x NEW makes' bpk seal --sign one plain.x
    refuses 2 'plain.x: has no seal; bpk convert --seal plain.x NEW makes an archive with one$' bpk seal --check signers plain.x
    bpk pack -q --seal --checksum crc32 -F blp -o weak.x in
    refuses 1 'weak.x: its seal is as weak as its checksum crc32' bpk seal --sign one weak.x
    bpk pack -q --seal -F blp -o new.x in
    refuses 2 'new.x: has no signature, new.x.sig is missing' bpk seal --check signers new.x
    echo mine >new.x.sig
    refuses 1 'new.x.sig: .*exists; --force' bpk seal --sign one new.x
    refuses 2 'new.x.sig: is no signature of a seal' bpk seal --check signers new.x
    ln -sf s.x.sig new.x.sig
    refuses 1 'new.x.sig' bpk seal --sign one new.x
    refuses 2 'new.x.sig: is no signature' bpk seal --check signers new.x
    cp s.x.sig before
    quietly bpk seal -f --sign one new.x
    [ -f new.x.sig ] && [ ! -L new.x.sig ]
    same s.x.sig before
    refuses 64 'needs one of --sign and --check' bpk seal s.x
    refuses 64 'needs one of' bpk seal --sign one --check signers s.x
    refuses 64 'needs --check' bpk seal --sign one -I ann s.x
    refuses 64 'needs --check' bpk seal --sign one --quick s.x
    refuses 64 'needs a FILE' bpk seal --sign one
    refuses 64 'standard input' bash -c '"$BPK" seal --sign one - <s.x'
    refuses 1 'in: ' bpk seal --sign one in
    mkdir empty
    for option in "--sign one" "--check signers"; do
        refuses 1 'ssh-keygen: no such program is installed' env PATH="$PWD/empty" "$BPK" seal $option s.x
    done
    quietly bpk seal -f --sign one s.x
}

@test "a signature of an older or a newer state, and a damaged archive" {
    make_keys
    for format in blp b2frame b2sparse chunked; do
        make_signed $format
        cp -r s.x old.x
        bpk append -q s.x more
        bpk append -q s.x more
        refuses 3 's.x: the signature is of generation 1, the archive is at generation 3 and intact; if you made' bpk seal --check signers s.x
        bpk seal --sign one s.x
        quietly bpk seal --check signers s.x
        cp s.x.sig old.x.sig
        refuses 2 'old.x: the archive is at generation 1, an older one' bpk seal --check signers old.x
        rm -rf old.x old.x.sig
    done
    make_signed
    cp s.x whole.x
    printf x | dd of=s.x bs=1 seek=20000 conv=notrunc status=none
    refuses 2 's.x: chunk .*; bpk verify s.x shows all damage and the next step$' bpk seal --check signers s.x
    quietly bpk seal --quick --check signers s.x
    cp whole.x s.x
    printf x | dd of=s.x bs=1 seek=8 conv=notrunc status=none
    refuses 2 's.x: ' bpk seal --quick --check signers s.x
    printf x | dd of=s.x bs=1 seek=20000 conv=notrunc status=none
    refuses 2 's.x: chunk ' bpk seal --sign one -f s.x
}

@test "damage of an archive that was changed since it was signed comes first" {
    make_keys
    for format in blp b2frame b2sparse chunked; do
        make_signed $format
        bpk append -q s.x more
        file=$(find s.x -type f -size +1k | sort | head -1)
        "$python" -c "
f = open('$file', 'r+b')
f.seek(1500)
byte = f.read(1)[0] ^ 1
f.seek(1500)
f.write(bytes([byte]))"
        refuses 2 's.x: .*chunk ' bpk seal --check signers s.x
        refuses 3 'generation 2, and its chunks were not read; if you made' bpk seal --quick --check signers s.x
    done
}

# BPK_SEAL_ROUNDS=2000: so many manipulations of each kind
@test "manipulated signatures do not pass" {
    local first n rounds=${BPK_SEAL_ROUNDS:-4}
    make_keys
    bpk pack -q --seal -F blp -o other.x signers
    bpk seal --sign one other.x
    export OTHER=other.x
    for format in blp chunked; do
        make_signed $format
        rm -rf same
        "$python" "$tests/lib/seal_sig.py" none 0 1 s.x same
        quietly bpk seal --check signers same/0
        # version 0 of the signature's form, which ssh-keygen takes
        cp -R s.x zero
        sed 's/^U1NIU0lHAAAAAQ/U1NIU0lHAAAAAA/' s.x.sig >zero.sig
        refuses 2 'zero.sig: is no signature of a seal' bpk seal --check signers zero
        rm -r zero
        for kind in bit field spell other cut; do
            for ((first = 0; first < rounds; first += 100)); do
                n=$((rounds - first < 100 ? rounds - first : 100))
                rm -rf broken
                "$python" "$tests/lib/seal_sig.py" $kind $first $n s.x broken
                none_pass $n
            done
        done
    done
}

@test "manipulated archives do not pass with their signature" {
    local n=${BPK_SEAL_ROUNDS:-4}
    make_keys
    for row in "blp seal_break.py swap copy kind header cut behind record field metadata" \
        "b2frame seal_frame.py swap copy cut kind record field metadata layer header behind" \
        "chunked seal_dir.py swap copy cut kind record field metadata storage behind"; do
        set -- $row
        make_signed $1
        for kind in "${@:3}"; do
            rm -rf broken
            ZEROS=99 "$python" "$tests/lib/$2" $kind 0 $n s.x broken
            for broken in broken/*; do cp s.x.sig $broken.sig; done
            none_pass $n
        done
    done
}

@test "an archive that pack replaced is a later state than the signature's" {
    make_keys
    for format in blp b2frame b2sparse chunked; do
        make_signed $format
        quietly bpk pack -f -F $format -o s.x in
        ends 3 bpk seal --check signers s.x
        says 'signature is of generation 1, the archive is at generation 2'
        bpk pack -f --seal -F $format -o s.x in
        ends 3 bpk seal --check signers s.x
        says 'signature is of generation 1, the archive is at generation 3'
        bpk seal --sign one s.x
        quietly bpk seal --check signers s.x
    done
}
