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

@test "parity: an old file that is damaged is made anew, and that is said" {
    packed a.blp 100000
    bpk parity a.blp 20%
    printf XXXXXXXX | dd of=a.blp.bpp bs=1 seek=3500 conv=notrunc status=none
    ends 0 bpk parity a.blp
    says '^bpk: a.blp.bpp: was damaged, and was made anew$'
    bpk info --json a.blp | grep -q '"parity":"current"'
    cp a.blp.bpp twenty
    printf X | dd of=a.blp.bpp bs=1 seek=20 conv=notrunc status=none
    printf X | dd of=a.blp.bpp bs=1 seek=$(($(stat -c %s a.blp.bpp) - 492)) conv=notrunc status=none
    ends 0 bpk parity a.blp
    says '^bpk: a.blp.bpp: was damaged, its share unknown: it was made anew with 5%$'
    [ "$(stat -c %s a.blp.bpp)" -lt "$(stat -c %s twenty)" ]
    quietly bpk verify --parity a.blp
}

@test "parity: where no checksum protects the archive, damaged parity is replaced by force alone" {
    data noise 400000 raw
    bpk pack -q --checksum none --parity 20% -z 64K -o a.blp raw
    rot a.blp 40000 300
    truncate -s 600 a.blp.bpp
    ends 2 bpk parity a.blp
    says '^bpk: a.blp.bpp: .*, and no checksum tells whether the archive is damaged; bpk parity --force a.blp keeps'
    [ "$(stat -c %s a.blp.bpp)" -eq 600 ]
    ends 0 bpk parity --force a.blp
}

@test "parity: one that a later bpk wrote is replaced by force alone" {
    need_python
    packed a.blp 100000
    bpk parity a.blp
    "$python" - <<'END'
import hashlib
d = bytearray(open("a.blp.bpp", "rb").read())
for at in (0, len(d) - 512):
    d[at + 8] = 3
    d[at + 480 : at + 512] = hashlib.sha256(d[at : at + 480]).digest()
open("a.blp.bpp", "wb").write(d)
END
    cp a.blp.bpp later
    for share in "" 5%; do
        # shellcheck disable=SC2086 # words
        refuses 1 'a.blp.bpp: parity of version 3, this bpk reads 2; --force replaces it$' bpk parity a.blp $share
    done
    same a.blp.bpp later
    quietly bpk parity --force a.blp
    quietly bpk verify --parity a.blp
}

@test "parity: every container that is a file; parity-dir.bats has the others" {
    data field-f32 700000 raw
    for name in a.blp a.b2frame a.b2nd; do
        bpk pack -q -o $name raw
        quietly bpk parity $name
        [ -s $name.bpp ]
    done
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
    refuses 3 'restores all of it: bpk (verify --heal|repair --apply -o OUT) a.blp' bpk parity a.blp
    same a.blp.bpp old
}

@test "parity: replaces nothing but parity" {
    packed a.blp 1000
    echo mine >a.blp.bpp
    refuses 1 'a.blp.bpp: exists, and is no parity file; --force replaces it' bpk parity a.blp
    refuses 3 'bpk parity --force a.blp P% replaces it' bpk verify a.blp
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
    quietly bpk parity -q a.blp
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

# ---- damage ----

# FILE OFFSET COUNT: so many bytes become others, as on a bad disk: the file's time stays.
rot() {
    touch -r "$1" "$1.time"
    dd if="$1" bs=1 skip="$2" count="$3" status=none | tr '\000-\377' '\200-\377\000-\177' >"$1.rot"
    dd if="$1.rot" of="$1" bs=64K oflag=seek_bytes seek="$2" conv=notrunc status=none
    touch -r "$1.time" "$1"
    rm "$1.time" "$1.rot"
}

# NAME SIZE [SHARE]: such an archive with parity, and its copy "good".
protected() {
    packed "$1" "$2"
    bpk parity "$1" "${3:-5}"
    cp -p "$1" good
    size=$(stat -c %s "$1")
}

@test "damage within the share: verify says repairable, repair --apply and verify --heal restore every bit" {
    for name in a.blp a.b2frame; do
        protected $name 3000000
        hole=$((size / 20))
        # the header, the middle, the end; and a file that lost its end
        for at in 0 $((size / 3)) $((size - hole)); do
            rot $name $at $hole
            refuses 3 'parity restores all of it: bpk verify --heal' bpk verify $name
            ends 0 bpk repair --apply -f -o out $name
            says "out: [0-9]+ bytes in [0-9]+ cells? were restored by $name.bpp"
            same out good
            refuses 3 'parity restores' bpk verify --quick $name
            ends 0 bpk verify --heal $name
            says "$name: [0-9]+ bytes in [0-9]+ cells? were restored"
            same $name good
            quietly bpk verify $name
            [ "$(stat -c %Y $name)" = "$(stat -c %Y good)" ]
        done
        truncate -s -$hole $name
        touch -r good $name
        refuses 3 'parity restores' bpk verify $name
        ends 0 bpk verify --heal $name
        same $name good
        [ -z "$(find . -name '.*' ! -name .)" ]
    done
}

@test "bytes behind the end that nobody wrote are damage that parity restores; later ones are not cut off" {
    need_python
    data noise 40000 raw
    for name in a.blp a.b2frame a.b2nd; do
        for options in '' --seal; do
            [ $name = a.b2nd ] && set -- --dtype '<u4' --shape 100,100 || set --
            # shellcheck disable=SC2086
            bpk pack -q -f -z 8K $options "$@" -o $name raw
            touch -d '1 hour ago' $name
            bpk parity $name 20%
            cp -p $name good
            printf JUNK >>$name
            cp $name later # without the time
            touch -r good $name
            refuses 3 'parity restores all of it: bpk verify --heal' bpk verify $name
            bpk verify --json $name >line 2>"$err" || [ $? -eq 3 ]
            [ "$(json line 'x["repairable"]')" = healable ] || die "$(cat line)"
            ends 3 bpk repair $name
            says 'parity restores all of it: bpk verify --heal'
            ends 0 bpk repair --apply -f -o out $name
            says "^bpk: out: 4 bytes behind the end that $name.bpp records were cut off$"
            same out good
            ends 0 bpk verify --heal $name
            says "^bpk: $name: 4 bytes behind the end that $name.bpp records were cut off$"
            same $name good
            [ ! $name -nt good ] && [ ! $name -ot good ]
            # with damage
            printf JUNK >>$name
            rot $name 20000 100
            touch -r good $name
            ends 0 bpk verify --heal $name
            same $name good
            # written later, or in the same second where times are whole seconds
            cp later $name
            [ -n "$options" ] || ends 2 bpk repair $name
            ends 2 bpk verify --heal $name
            same $name later
            cp good $name
            touch -d '2026-11-01 12:00' $name
            bpk parity $name 20%
            cp later $name
            touch -d '2026-11-01 12:00' $name
            ends 2 bpk verify --heal $name
            same $name later
        done
    done
}

@test "a time cut to whole seconds is that of the parity, and verify -v tells of another one" {
    protected a.blp 100000
    touch -d "@$(stat -c %Y a.blp)" a.blp
    quietly bpk verify a.blp
    rot a.blp 50000 1
    ends 0 bpk verify --heal a.blp
    same a.blp good
    ends 0 bpk verify -v a.blp
    ! grep -q 'another time' "$err"
    touch a.blp
    ends 0 bpk verify -v a.blp
    says 'a.blp: parity is of another time of change; bpk parity a.blp renews it'
}

@test "damage beyond the share is refused, with the bytes that are lost" {
    protected a.blp 1000000
    rot a.blp 100000 $((size / 20 + 20000))
    ends 2 bpk verify a.blp
    says 'a.blp: bytes [0-9]+ to [0-9]+ are in damaged cells that parity cannot restore$'
    says 'parity cannot restore [0-9]+ bytes in [0-9]+ of [0-9]+ damaged cells'
    cp -p a.blp before
    ends 2 bpk verify --heal a.blp
    same a.blp before
    ends 2 bpk repair --apply -o out a.blp
    says 'cells that parity cannot restore'
    [ ! -e out ]
}

@test "random scattered damage, of the parity file too" {
    protected a.blp 3000000 10
    cp a.blp.bpp good.bpp
    RANDOM=7
    for round in 1 2 3 4 5; do
        for i in 1 2 3 4 5 6; do rot a.blp $(((RANDOM << 15 | RANDOM) % size)) 1; done
        rot a.blp.bpp $((RANDOM % 500)) 1
        rot a.blp.bpp $((100000 + RANDOM)) 3000
        ends 3 bpk verify --heal a.blp
        same a.blp good
        refuses 3 'its parity file a.blp.bpp is damaged in [0-9]+ cells? and a copy' bpk verify a.blp
        quietly bpk parity -q a.blp
        same a.blp.bpp good.bpp
    done
}

@test "a parity file of another state reverts nothing" {
    protected a.blp 1000000
    # another program writes a good archive
    data positions-f32 1000000 other
    bpk pack -q -o other.blp other
    cp other.blp a.blp
    cp -p a.blp newer
    refuses 3 'is whole, but its parity is stale: [0-9]+ of [0-9]+ cells differ(, and it may be that of another archive)?; bpk parity a.blp renews it' bpk verify a.blp
    refuses 3 'stale' bpk verify --heal a.blp
    quietly bpk repair -q --apply -o out a.blp
    [ ! -e out ]
    same a.blp newer
    # a small change, and damage: the state of then goes into another file alone
    cp -p good a.blp
    bpk parity a.blp
    head -c 400 raw >piece
    tr '\000-\377' '\001-\377\000' <piece >changed
    "$BPK" pack -q --chunk-size 64K -f -o a.blp raw
    bpk parity a.blp
    cp -p a.blp then
    cp a.blp.bpp kept
    bpk write --at 0 a.blp changed 2>"$err" || cat "$err"
    cp kept a.blp.bpp
    rot a.blp 300000 1
    cp -p a.blp damaged
    refuses 2 'it may have been changed since its parity was made: bpk repair --apply -o OUT a.blp keeps the changes if no chunk is lost; otherwise it writes the state of the parity, without them, or with --fill zero the changes, and zeros for lost chunks' bpk verify --heal a.blp
    same a.blp damaged
    ends 2 bpk repair --apply -o out a.blp
    says '^bpk: out: has the state in which a.blp was when its parity was made; changes since then, if there were any, are not in it$'
    same out then
    # the changes are in the chunks that are intact
    ends 2 bpk repair --apply --fill zero -f -o out a.blp
    bpk cat out | head -c 400 | cmp - changed
    ends 2 bpk repair --json --apply -f -o out a.blp
    [ "$(grep -o '"bpk":1' "$out" | wc -l)" -eq 1 ]
    # or in the one that was damaged later: its digest differs, too
    cp -p then a.blp
    bpk parity a.blp
    cp a.blp.bpp kept
    bpk write --at 0 a.blp changed 2>"$err" || cat "$err"
    cp kept a.blp.bpp
    rot a.blp 2000 1
    refuses 2 'it may have been changed since' bpk verify a.blp
}

# Of a copy without its times; the damage is not in chunks alone.
@test "parity of another time stands for metadata, and for chunks whose digest is damaged" {
    data positions-f32 200000 raw
    for format in blp b2frame; do
        rm -rf a a.bpp copy && mkdir copy
        bpk pack -q -F $format -z 16K --set run=7 --seal --parity 12 -o a raw
        sleep 0.02
        cp a a.bpp copy/
        cd copy
        [ $format = blp ] && rot a 70 1 || rot a $(($(stat -c %s a) - 30)) 1
        rot a 20000 1
        ends 2 bpk repair --apply -o out a
        says '^bpk: out: has the state in which a was when its parity was made; changes since then, if there were any, are not in it$'
        same out ../a
        # metadata alone
        [ $format = b2frame ] || {
            cp ../a a
            rot a 70 1
            ends 2 bpk repair --apply -f -o out a
            same out ../a
        }
        cd ..
    done
}

@test "what parity of another time restores is not written to" {
    data positions-f32 200000 raw
    for format in blp b2frame; do
        rm -rf a a.bpp copy && mkdir copy
        bpk pack -q -F $format -z 16K --parity 12 -o a raw
        sleep 0.02
        cp a a.bpp copy/
        cd copy
        rot a 20000 1
        cp a damaged
        for change in "append a ../raw" "truncate --bytes 100000 a" "meta set a run=7" "write --at 0 a ../raw"; do
            refuses 3 '^bpk: a: chunk 1 .*; parity of another time restores all of it: bpk repair --apply -o OUT a' bpk $change
            same a damaged
        done
        quietly bpk repair -q --apply -o out a
        same out ../a
        # a whole copy is changed, and its parity renewed
        cp ../a a
        bpk append a ../raw
        quietly bpk verify a
        cd ..
    done
}

@test "an unusable parity file is no damage of the archive" {
    protected a.blp 100000
    head -c 300 a.blp.bpp >x && mv x a.blp.bpp
    refuses 3 'a.blp.bpp: both copies .* bpk parity a.blp P% renews it' bpk verify a.blp
    rot a.blp 50000 1
    ends 2 bpk verify a.blp
    says 'both copies'
    rm a.blp.bpp && ln -s good a.blp.bpp
    ends 2 bpk verify a.blp
    cp -p good a.blp
    refuses 1 'no regular file' bpk verify a.blp
    rm a.blp.bpp
    quietly bpk verify a.blp
    rot a.blp 50000 1
    refuses 2 'it has no parity file' bpk repair --apply -o out a.blp
    refuses 64 'needs --output' bpk repair --apply a.blp
    cp -p good a.blp
    quietly bpk repair -q --apply -o out a.blp
    [ ! -e out ]
}

@test "of an archive that is gone the parity file is named, and what it restores" {
    data noise 60000 raw
    for format in blp b2frame b2sparse chunked; do
        name=a.$format
        bpk pack -q -F $format --parity 20 -o $name raw
        mv $name kept
        refuses 1 "^bpk: $name: cannot open: .*; its parity file $name.bpp is there, for losses of 20%: with a damaged copy in the place of the archive, bpk repair --apply -o OUT $name tries it$" bpk verify $name
        mv kept $name
        bpk parity $name 100
        mv $name kept
        refuses 1 "its parity file $name.bpp is there and suffices: with an empty (file|directory) in the place of the archive, bpk repair --apply -o OUT $name restores it$" bpk verify $name
        if [ -d kept ]; then mkdir $name; else : >$name; fi
        ends 0 bpk repair --apply -o out $name
        diff -r out kept
        rm -rf out kept $name*
    done
    refuses 1 '^bpk: a.blp: cannot open: No such file or directory$' bpk verify a.blp
}

@test "walks pass parity files over, and fail for those without an archive" {
    mkdir d e
    protected d/a.blp 100000
    cp d/a.blp.bpp d/gone.blp.bpp
    echo mine >d/data.bpp
    gone="^bpk: d/gone.blp: cannot open: .*; its parity file d/gone.blp.bpp is there, "
    refuses 1 "$gone" bpk verify -r d
    ends 1 bpk verify -r --state state d
    says "$gone"
    [ "$(sed -n 's/^\([a-z]*\) .* /\1 /p' state | grep bpp)" = $'other d/a.blp.bpp\nother d/data.bpp\nother d/gone.blp.bpp' ]
    refuses 1 "$gone" bpk verify -r -v d
    grep -qx '1 archive, .*, 0 damaged, 2 skipped, 1 failed' "$out"
    mv d/gone.blp.bpp away
    quietly bpk verify -r d
    rm away
    quietly bpk pack -r -q -O e d
    [ "$(cd e && find . -type f)" = ./data.bpp.blp ]
    cp -r d f && rm f/*.blp.bpp
    quietly bpk cmp -r d f
    rot d/a.blp 50000 1
    refuses 3 'parity restores' bpk verify -r d
    ends 0 bpk verify -r --heal d
    same d/a.blp good
}

@test "unpack --rm: the parity file goes after its archive, and no other file does" {
    protected a.blp 60000
    protected b.blp 60000
    echo mine >c.blp.bpp
    cp b.blp c.blp
    ln -s b.blp link.blp
    quietly bpk unpack -q --rm a.blp
    [ ! -e a.blp ] && [ ! -e a.blp.bpp ]
    quietly bpk unpack -q b.blp
    [ -e b.blp ] && [ -e b.blp.bpp ]
    quietly bpk unpack -q --rm c.blp
    [ ! -e c.blp ] && [ -e c.blp.bpp ]
    rot b.blp $((size / 2)) 1
    ends 2 bpk unpack -q -f --rm b.blp
    [ -e b.blp ] && [ -e b.blp.bpp ]
    bpk unpack -q -f --rm link.blp || :
    [ -e b.blp ] && [ -e b.blp.bpp ]
}

# A damaged a.blp with parity, its copies "damaged" and "good", and the list "calls" of its healing. Its
# end is cut, or with "longer" bytes follow it.
wounded() { # [longer]
    protected a.blp 60000 20
    rot a.blp 20000 2000
    rot a.blp 40000 10
    if [ -n "${1:-}" ]; then head -c 1500 raw >>a.blp; else truncate -s -1000 a.blp; fi
    touch -r good a.blp
    cp -p a.blp damaged
    "$nth" -o calls "$BPK" verify --heal -q a.blp
    same a.blp good
}

# ACTION N: its healing is killed there.
heal_until() {
    rm -f .a.blp.bpkj
    cp -p damaged a.blp
    quietly "$nth" -n "$2" -a "$1" "$BPK" verify --heal -q a.blp || :
}

@test "verify --heal is killed at any call, and the next one heals" {
    need_nth
    for end in '' longer; do
        wounded $end
        count=$(wc -l <calls)
        for action in after half; do
            for ((n = 1; n <= count; n += $([ $action = after ] && echo 1 || echo 3))); do
                heal_until $action $n
                # and so is every other of the next ones
                [ $((n % 2)) = 0 ] || quietly "$nth" -n $((n * 7 % count + 1)) -a after "$BPK" verify --heal -q a.blp || :
                "$BPK" verify a.blp 2>"$err" || [ $? -eq 3 ] || die "$(cat "$err")"
                [ ! -s "$err" ] || says 'bpk verify --heal a.blp'
                ends 0 bpk verify --heal a.blp
                same a.blp good
                [ ! a.blp -nt good ] && [ ! a.blp -ot good ] || die "another time after $action $n"
                [ ! -e .a.blp.bpkj ]
            done
        done
    done
}

@test "verify --heal was killed: repair --in-place leaves a file that it heals" {
    need_nth
    wounded
    # from the first saved bytes on it is pending
    for n in $(grep -n pwrite64 calls | cut -d: -f1 | sed -n '12~4p'); do
        heal_until after $n
        ends 0 bpk repair -q --in-place a.blp
        ends 0 bpk verify --heal a.blp
        same a.blp good
    done
}

@test "verify --heal was killed: bytes that another program has written since are kept" {
    need_nth
    wounded
    n=$(($(grep -n pwrite64 calls | tail -n 1 | cut -d: -f1) + 1))
    for how in "verify --heal" "repair -q --in-place"; do
        heal_until after $n
        [ -e .a.blp.bpkj ]
        printf foreign | dd of=a.blp bs=1 seek=30100 conv=notrunc status=none
        ends 2 bpk verify a.blp
        ! grep 'a healing was interrupted' "$err"
        bpk $how a.blp >"$out" 2>&1 || :
        refuses 2 'it may have been changed since its parity was made: bpk repair' bpk verify --heal a.blp
        [ "$(tail -c +30101 a.blp | head -c 7)" = foreign ]
    done
}

@test "verify --heal was killed: verify says so, and that the next one continues it" {
    need_nth
    need_python
    data noise 60000 raw
    head -c 100 raw >more
    changes=('append NAME more' 'truncate --bytes 100 NAME' 'write --at 9000 NAME more' 'meta set NAME k=1')
    at=0
    for options in '--checksum crc32' '--seal --checksum none' '--checksum none'; do
        for name in a.blp a.b2frame; do
            # shellcheck disable=SC2086
            bpk pack -q -f -0 -t 1 -z 8K $options --parity 20% -o $name raw
            cp -p $name good
            rot $name 30000 900
            touch -r good $name
            cp -p $name damaged
            "$nth" -o calls "$BPK" verify --heal -q $name
            cp -p damaged $name
            n=$(grep -n pwrite64 calls | tail -n 1 | cut -d: -f1)
            "$nth" -n $((n - 1)) -a after "$BPK" verify --heal -q $name || :
            [ -e .$name.bpkj ]
            refuses 3 "$name: .*a healing was interrupted and is pending; the next bpk verify --heal $name continues it$" bpk verify $name
            bpk verify --parity --json $name >line 2>"$err" || [ $? -eq 3 ]
            [ "$(json line 'x["repairable"], x["parity"], x["status"]')" = "('pending', 'current', 3)" ] || die "$(cat line)"
            # a change finds the damage, and leaves it as it was
            change=${changes[at++ % 4]}
            status=0
            # shellcheck disable=SC2086
            bpk ${change/NAME/$name} 2>"$err" || status=$?
            # 2: a seal without checksums is compared first
            [[ $status == [23] ]] || die "$change: status $status" "$(cat "$err")"
            ends 0 bpk verify --heal $name
            same $name good
        done
    done
}

@test "verify --heal leaves a change alone that is no healing" {
    need_nth
    data field-f32 60000 raw
    bpk pack -q -o a.blp -z 8000 raw
    bpk parity a.blp
    head -c 30000 raw >part
    "$nth" -o calls "$BPK" write -q --at 7 a.blp part
    for ((n = $(wc -l <calls); n > 0; n--)); do
        [ -e .a.blp.bpkj ] || quietly "$nth" -n $n -a kill "$BPK" write -q --at 5 a.blp part || :
    done
    [ -e .a.blp.bpkj ]
    refuses 3 'interrupted' bpk verify --heal a.blp
    [ -e .a.blp.bpkj ]
}

@test "verify --heal that is interrupted leaves a file that it heals" {
    need_nth
    wounded
    for n in $(grep -n pwrite64 calls | cut -d: -f1 | sed -n '2~6p'); do
        heal_until signal:INT $n
        [ ! -e .a.blp.bpkj ]
        ends 0 bpk verify --heal a.blp
        same a.blp good
    done
}

@test "verify --limit-rate bounds the bytes that parity is compared with, too" {
    protected a.blp 200000 50
    rate=$(stat -c %s a.blp)
    began=$(date +%s%N)
    quietly bpk verify --limit-rate $rate a.blp
    took=$((($(date +%s%N) - began) / 1000000))
    # the archive once for itself, once for its parity, and that
    [ $took -ge 2400 ] || die "$took ms"
    rot a.blp 20000 2000
    began=$(date +%s%N)
    ends 0 bpk verify --heal --limit-rate $((2 * rate)) a.blp
    took=$((($(date +%s%N) - began) / 1000000))
    [ $took -ge 2900 ] || die "$took ms"
}

# ---- changes ----

# ARCHIVE: it and its parity are of one state, and a hole heals.
current() {
    quietly bpk verify "$1"
    cp -p "$1" now
    rot "$1" 0 400
    ends 0 bpk verify --heal "$1"
    same "$1" now
}

@test "pack --parity writes both; a replaced archive gets new parity" {
    data field-f32 300000 raw
    quietly bpk pack --parity 10% -o a.blp raw
    current a.blp
    quietly bpk pack --parity 5 raw
    [ "$(stat -c %s raw.blp.bpp)" -lt "$(stat -c %s a.blp.bpp)" ]
    cp a.blp.bpp old
    head -c 200000 raw >less
    quietly bpk pack -f -o a.blp less
    ! cmp -s a.blp.bpp old
    current a.blp
    quietly bpk convert -f raw.blp a.blp
    current a.blp
    quietly bpk pack --parity 5% raw less -O .  -f
    current less.blp
    # many small files, which are packed beside each other
    mkdir many
    for i in 1 2 3 4 5 6 7 8; do head -c 3000 raw >many/$i; done
    quietly bpk pack -q -r --parity 5% many
    for i in 1 2 3 4 5 6 7 8; do current many/$i.blp; done
    refuses 64 'no share' bpk pack --parity 0 -o b.blp raw
    refuses 64 'needs a result in a file' bpk pack --parity 5% -c raw
    refuses 64 'needs a result in a file' bpk pack --parity 5% -
}

@test "append, write, truncate and meta renew parity" {
    data field-f32 400000 raw
    head -c 100004 raw >part
    for format in blp b2frame; do
        for options in "-z 50000" "-z 64K --checksum sha256" "-z 1M --set a=1"; do
            a=a.$format
            bpk pack -q -f --parity 5% $options -o $a raw
            quietly bpk append -q $a part
            current $a
            quietly bpk append -q --copy $a part
            current $a
            quietly bpk write -q --at 100000 $a part
            current $a
            quietly bpk truncate -q --bytes 333336 $a
            current $a
            quietly bpk meta set $a key=value
            current $a
            bpk cat $a >content
            { head -c 100000 raw; cat part; tail -c +200005 raw; } | head -c 333336 | cmp - content
        done
    done
    quietly bpk repair --repack -q a.b2frame
    current a.b2frame
}

@test "append computes the last segment and the groups that it wrote, and nothing else" {
    data field-f32 90000000 raw
    bpk pack -q --parity 5% -o a.blp raw
    head -c 3000000 raw >part
    bpk append -q a.blp part
    # a second segment, which is renewed as a whole
    [ "$(od -An -tu8 -j24 -N8 a.blp.bpp | tr -d ' ')" = 2 ]
    current a.blp
    need_strace
    strace -f -e trace=pread64 -o log "$BPK" append -q a.blp part 2>/dev/null
    current a.blp
    # less than the archive was read
    read=$(awk -F '= ' '{ n += $NF } END { print n + 0 }' log)
    [ "$read" -lt 50000000 ] || die "$read bytes were read"
    quietly bpk parity a.blp
    [ "$(od -An -tu8 -j24 -N8 a.blp.bpp | tr -d ' ')" = 1 ]
}

@test "parity of another state is not renewed by a change, and damage not made permanent" {
    protected a.blp 300000
    head -c 1000 raw >part
    # a time tells nothing of a file that has the content of its parity
    touch -d '2001-01-01' a.blp
    quietly bpk append -q a.blp part
    current a.blp
    mv a.blp.bpp x
    bpk append -q a.blp part
    mv x a.blp.bpp
    ends 0 bpk append -q a.blp part
    says 'its parity was of another state before this change'
    ends 3 bpk verify a.blp
    says stale
    bpk parity a.blp
    # the first chunk is damaged, and append reads the last one
    bpk pack -q -f --parity 5% -z 20000 -o a.blp raw
    rot a.blp 9000 1
    cp -p a.blp bad
    refuses 3 'a.blp: is damaged, and parity restores it: bpk verify --heal a.blp first' \
        bpk append -q a.blp part
    same a.blp bad
    [ -z "$(find . -name '.*' ! -name .)" ]
    ends 0 bpk verify --heal a.blp
    ends 0 bpk append -q a.blp part
    current a.blp
}

# NAME COMMAND...: it refuses to change NAME, and to renew parity over its damage.
keeps_cure() {
    local name=$1
    shift
    cp -pr "$name" bad
    cp "$name.bpp" old
    refuses 3 "$name: is damaged, and parity restores it: bpk verify --heal $name first" "$@"
    diff -r "$name" bad
    same "$name.bpp" old
    ends 0 bpk verify --heal "$name"
    diff -r "$name" good
    rm -r bad
}

@test "a change that rewrites the archive does not renew parity over damage" {
    data field-f32 32000 raw
    head -c 100 raw >w
    data field-f32 400000 more
    bpk pack -q -z 4K --append-space 3 --parity 15% -o a.blp raw
    cp -p a.blp good
    for change in 'meta set a.blp a=1' 'write --at 3000 a.blp w' 'append a.blp more' \
        'truncate --bytes 9000 a.blp' 'append --copy a.blp w' 'convert -f a.blp a.blp'; do
        rot a.blp 9000 5
        keeps_cure a.blp bpk $change
    done
    bpk parity -q a.blp 1%
    rot a.blp 7500 2000
    refuses 2 'a.blp: is damaged, and parity restores a part of it' bpk meta set a.blp a=1
    bpk pack -q -z 4K --checksum none --parity 15% -o a.b2frame raw
    bpk write -q --at 3000 a.b2frame w
    cp -p a.b2frame good
    rot a.b2frame 9000 5
    keeps_cure a.b2frame bpk repair --repack a.b2frame
}

@test "a change that comes upon damage has status 3 where parity restores it" {
    data noise 100000 raw
    head -c 100 raw >w
    for name in a.blp a.b2frame; do
        for options in '' --identity; do
            # shellcheck disable=SC2086
            bpk pack -q -f -z 64K $options --parity 10% -o $name raw
            cp -p $name good
            rot $name $(($(stat -c %s $name) - 9000)) 5 # in the last chunk
            cp -p $name bad
            for change in append 'append --copy' 'write --at 99000' 'truncate --bytes 99000'; do
                [ "$change" != "${change#truncate}" ] && set -- || set -- w
                # shellcheck disable=SC2086
                refuses 3 "$name: .*parity restores it: bpk verify --heal $name first" bpk $change $name "$@"
                same $name bad
            done
            ends 0 bpk verify --heal $name
            same $name good
        done
        # the identity is that of all chunks
        rot $name 20000 5
        refuses 3 "$name: chunk 0 .*; parity restores it: bpk verify --heal $name first" bpk append $name w
        rot $name 30000 50000
        refuses 2 "; bpk verify $name shows whether its parity file restores it" bpk append $name w
    done
    # nothing but a seal tells
    bpk pack -q -f --plain -0 -z 512 --checksum none --seal --parity 10% -o d.blp raw
    rot d.blp 50000 1
    refuses 3 'not those that were sealed.*; parity restores it: bpk verify --heal d.blp first' bpk write d.blp --at 3 w
    # reading has the status of damage
    bpk pack -q -o c.blp raw
    bpk meta set c.blp key=value
    bpk parity c.blp
    rot c.blp "$(grep -abo value c.blp | cut -d: -f1)" 3
    refuses 2 'metadata: .*; bpk verify c.blp shows whether' bpk meta get c.blp
    refuses 3 'metadata: .*; parity restores it: bpk verify --heal c.blp first' bpk meta set c.blp key=other
}

# NAME: damage of NAME that no checksum finds is found by its time, and restored.
restores_unwritten() {
    cp -p "$1" bad
    refuses 3 "$1: no checksum fails, but 1 of [0-9]+ cells differ .* not written since; parity restores" \
        bpk verify "$1"
    refuses 3 "$1: is damaged, .* bpk verify --heal $1 first; bpk parity --force $1 keeps" bpk parity "$1"
    same "$1" bad
    ends 0 bpk repair --apply -f -o out "$1"
    same out good
    ends 0 bpk verify --heal "$1"
    same "$1" good
}

@test "bytes that differ from parity, in a file of its time, are damage though no checksum fails" {
    data field-f32 65536 raw
    for name in a.blp a.b2frame; do
        bpk pack -q -0 --checksum none --parity 10% -z 16K -o $name raw
        cp -p $name good
        rot $name 30000 1
        restores_unwritten $name
        rot $name 30000 1
        quietly bpk parity --force $name
        quietly bpk verify $name
        # a file that was written may be damaged or changed
        touch $name
        rot $name 40000 1
        refuses 3 'nothing tells a change from damage: bpk parity' bpk verify $name
        quietly bpk parity $name
    done
}

@test "append to a large archive compares the groups that it writes before it commits" {
    data field-f32 90000000 raw
    head -c 3000000 raw >part
    bpk pack -q -0 --parity 5% -o a.blp raw
    cp -p a.blp good
    # another cell of the group of the header, which the commit writes after the chunks
    groups=$(od -An -tu8 -j520 -N8 a.blp.bpp)
    cell=$(od -An -tu4 -j528 -N4 a.blp.bpp)
    rot a.blp $((groups * cell + 100)) 5
    keeps_cure a.blp bpk append -q a.blp part
}

@test "a reader that shares no line with bpk restores the same bytes" {
    need_python
    for size in 700 3000 150000 400000; do
        protected a.blp $size 7
        rot a.blp $((size / 3)) $((size / 50))
        rot a.blp.bpp 100 1
        rot a.blp.bpp $(($(stat -c %s a.blp.bpp) / 2)) 20
        cells=$("$python" "$tests/lib/parity_reader.py" a.blp.bpp a.blp out)
        same out good
        [ "$cells" -gt 0 ]
        ends 3 bpk verify --heal a.blp
        says "in $cells cells?"
        same a.blp good
    done
}

@test "parity beside a truncate or an append, at any call, never says that the archive is damaged" {
    need_nth
    data noise 300000 raw
    head -c 90000 raw >more
    for format in blp b2frame chunked b2sparse; do
        bpk pack -q -F $format -z 20K -o first raw
        cp -a first a
        "$nth" -R -o calls "$BPK" parity -T 1 a
        count=$(wc -l <calls)
        for ((n = 7; n <= count; n += count / 5)); do
            # a writer that meets a hold would wait for the reader, which waits for it here
            for change in "truncate -q --bytes 100000 a" "append -q a more"; do
                rm -rf a a.bpp && cp -a first a
                status=0
                NTH_RUN="timeout 0.3 $BPK $change; :" "$nth" -R -n $n -a run "$BPK" parity -T 1 a >"$out" 2>"$err" || status=$?
                [ $status -le 1 ] || die "status $status: $format, $change at $n" "$(cat "$err")"
                [ $status -eq 0 ] || says 'a: changed while it was read$|is being changed'
                status=0
                bpk verify -q a 2>"$err" || status=$?
                [ $status -eq 0 ] || [ $status -eq 3 ] || die "verify $status: $format, $change at $n"
            done
        done
        rm -rf a first a.bpp
    done
}

@test "parity that fails or is killed at any call leaves the old file or the new one" {
    need_strace
    protected a.blp 60000 5
    cp a.blp.bpp old
    bpk parity a.blp 9
    cp a.blp.bpp new
    for fault in error=ENOSPC error=EIO signal=KILL; do
        for call in pwrite64 openat linkat renameat2 fsync fdatasync; do
            for n in 1 2 3 6 9; do
                cp old a.blp.bpp
                status=0
                strace -f -o /dev/null -e inject=$call:$fault:when=$n "$BPK" parity a.blp 9 2>/dev/null || status=$?
                cmp -s a.blp.bpp new || cmp -s a.blp.bpp old || die "neither old nor new: $call $fault $n"
                [ $status -ne 0 ] || same a.blp.bpp new
                [ $fault = signal=KILL ] || [ -z "$(find . -name '.a*')" ] || die "litter: $call $fault $n"
                quietly bpk parity a.blp 9
                same a.blp.bpp new
                [ -z "$(find . -name '.a*')" ] || die "litter after the next run: $call $fault $n"
            done
        done
    done
}

@test "verify --heal: a seal that is not the one expected is no damage" {
    need_python
    data field-f64 60000 A
    bpk pack -q -z 8K --seal --parity 20% -o A.blp A
    bpk pack -q -z 8K --parity 20% -o B.blp A
    zeros=$(printf '0%.0s' $(seq 64))
    for name in A B; do
        cp -p $name.blp good
        touch -r good time
        printf 'xxxxxxxx' | dd of=$name.blp bs=1 seek=30000 conv=notrunc status=none
        touch -r time $name.blp
        ends 2 bpk verify --heal --root $zeros $name.blp
        cmp good $name.blp
        ends 2 bpk verify --heal --min-generation 9 $name.blp
        cmp good $name.blp
    done
    touch -r A.blp time
    printf 'xxxxxxxx' | dd of=A.blp bs=1 seek=30000 conv=notrunc status=none
    touch -r time A.blp
    bpk verify --heal --json A.blp >"$out"
    [ "$(json "$out" 'x["raw_size"], x["status"], x["bad_chunks"], x["remarks"]')" = \
        "(60000, 0, [], ['was restored by its parity file'])" ] || die "$(cat "$out")"
}

# Chunks 3 and 5 of an archive of chunks that are stored, of one size, change places: its time stays.
swap() {
    touch -r "$1" time
    "$python" - "$1" "$2" <<'END'
import sys
data = bytearray(open(sys.argv[1], "rb").read())
raw = open(sys.argv[2], "rb").read()
size = 8192 + 16 + 4
first, second = (data.find(raw[n * 8192:n * 8192 + 99]) - 16 for n in (3, 5))
data[first:first + size], data[second:second + size] = data[second:second + size], data[first:first + size]
open(sys.argv[1], "r+b").write(data)
END
    touch -r time "$1"
}

@test "unpack --rm keeps an archive that its parity calls damaged, and repair tells" {
    need_python
    data noise 60000 a
    bpk pack -q --checksum crc32 -0 -t 1 -z 8K --parity 40% -o a.blp a
    cp a.blp good
    swap a.blp a
    cp a.blp bad
    refuses 3 'no checksum fails, but .* parity restores all of it' bpk unpack --rm -o out a.blp
    [ ! -e out ]
    cmp a.blp bad
    [ -e a.blp.bpp ]
    refuses 3 'no checksum fails, but .* parity restores all of it' bpk repair a.blp
    bpk verify --heal a.blp 2>"$err"
    cmp a.blp good
    quietly bpk unpack --rm -o out a.blp
    cmp out a
    [ -z "$(find . -name 'a.blp*')" ]
}

@test "verify beside appends calls neither the archive damaged nor its parity stale" {
    local tries=0 status
    data noise 1000000 raw
    head -c 50000 raw >more
    bpk pack -q --seal --identity --parity 10% -o a.blp raw
    (for _ in 1 2 3 4 5 6 7 8; do bpk append -q a.blp more; done && touch done) &
    until [ -e done ]; do
        quietly bpk verify a.blp
        status=0
        bpk verify --parity --identity a.blp >"$out" 2>"$err" || status=$?
        [ $status -eq 0 ] || { [ $status -eq 1 ] && says 'a.blp: is being changed, and its parity is renewed'; } ||
            die "status $status" "$(cat "$err")"
        [ $((tries += 1)) -lt 1000 ]
    done
    wait
    quietly bpk verify --parity --identity a.blp
}

@test "repair --apply says that a whole file needs none, and --json has an object in any case" {
    data noise 100000 raw
    bpk pack -q -z 16K -o a.blp raw
    ends 0 bpk repair --apply -o x a.blp
    says '^bpk: a.blp: is whole, nothing to do; no x was written$'
    [ ! -e x ]
    quietly bpk repair -q --apply -o x a.blp
    bpk parity a.blp
    ends 0 bpk repair --json --apply -o x a.blp
    grep -qx '{"bpk":1,"command":"repair","path":"a.blp","output":null,"status":0,"error":null}' "$out"
    rot a.blp 20000 3
    ends 0 bpk repair --json --apply -o x a.blp
    grep -qx '{"bpk":1,"command":"repair","path":"a.blp","output":"x","status":0,"error":null}' "$out"
    # too much for parity, and for any chunk
    rot a.blp 100 99000
    ends 2 bpk repair --apply --fill zero -o y a.blp
    says 'no intact chunk was found in it; its parity file does not restore it$'
}

@test "an expectation that is not met is graver than parity of no use" {
    data noise 100000 raw
    data noise 100001 other
    bpk pack -q --seal --parity 10% -o a.blp raw
    bpk verify --print-root a.blp >roots
    local root
    root=$(grep -o '[0-9a-f]\{64\}' roots)
    bpk pack -q --seal -o b.blp other
    cp b.blp a.blp
    for args in "--roots roots" "--root $root a.blp" "--min-generation 2 a.blp" "--identity a.blp"; do
        # shellcheck disable=SC2086 # words
        ends 2 bpk verify $args
        says 'is whole, but its parity is stale'
        says "the seal's root is|the seal is of generation 1|records no identity"
    done
    ends 2 bpk verify --json --root "$root" a.blp
    grep -q '"parity":"stale","repairable":null' "$out"
    ends 3 bpk verify --print-root a.blp
    grep -q '^a.blp: [0-9a-f]\{64\} generation 1$' "$out"
    bpk parity -q a.blp
    printf X | dd of=a.blp.bpp bs=1 seek=600 conv=notrunc status=none
    ends 3 bpk verify a.blp
    ends 2 bpk verify --root "$root" a.blp
    bpk pack -q -f -o a.blp raw
    ends 2 bpk verify --root "$root" a.blp
}

@test "what a seal, or strong checksums and an identity prove is not replaced by other parity of its time" {
    local proof name
    data noise 60000 a
    { printf x && tail -c +2 a; } >b
    for proof in --seal '--identity --checksum sha256'; do
        for name in x.blp x.b2frame; do
            bpk pack -q -f $proof -0 -z 8K -o old.${name#x.} a
            bpk pack -q -f $proof -0 -z 8K -o new.${name#x.} b
            touch -d '2020-02-02 02:02:02' old.${name#x.} new.${name#x.}
            cp -p old.${name#x.} $name
            bpk parity $name 40%
            cp -p new.${name#x.} $name
            refuses 3 'is whole, but its parity is stale' bpk verify --heal $name
            cmp $name new.${name#x.}
            quietly bpk parity $name
            quietly bpk verify $name
            # damage is healed still
            printf 'xxxxxxxx' | dd of=$name bs=1 seek=30000 conv=notrunc status=none
            touch -r new.${name#x.} $name
            bpk verify --heal $name 2>"$err"
            cmp $name new.${name#x.}
        done
    done
}

@test "pack --update --parity makes the parity that archives lack, or that is of another state" {
    mkdir in
    data records 3000 in/a
    data records 5000 in/b
    for format in blp b2sparse chunked; do
        pack() { bpk pack -r --update -F $format "$@" -O out in; }
        quietly pack -q
        quietly pack -q
        [ "$(find out -name '*.bpp')" = "" ]
        # as after a kill between an archive and its parity
        quietly pack -q --parity 100
        [ "$(find out -name '*.bpp' | wc -l)" -eq 2 ]
        ends 0 pack -v --parity 100
        [ "$(grep -c ': its archive is up to date, skipped$' "$err")" -eq 2 ] || die "$(cat "$err")"
        touch -d 2030-01-01 $(find out -type f ! -name '*.bpp' | grep b)
        echo junk | dd of="$(ls -d out/a*.bpp)" conv=notrunc status=none
        bpk pack --help >/dev/null
        ends 0 pack -v --parity 100
        [ "$(grep -c ': its archive is up to date and got parity, skipped$' "$err")" -ge 1 ] || die "$(cat "$err")"
        quietly bpk verify -r out
        # damage of the parity file alone, and its loss
        printf XXXXXXXX | dd of="$(ls -d out/a*.bpp)" bs=1 seek=3500 conv=notrunc status=none
        ends 2 bpk verify -r --parity out
        ends 0 pack -v --parity 100
        [ "$(grep -c 'bpp: was damaged, and was made anew$' "$err")" -eq 1 ] || die "$(cat "$err")"
        [ "$(grep -c ': its archive is up to date and got parity, skipped$' "$err")" -eq 1 ] || die "$(cat "$err")"
        quietly bpk verify -r --parity out
        truncate -s 600 "$(ls -d out/a*.bpp)"
        quietly pack -q --parity 100
        quietly bpk verify -r --parity out
        # what is no parity may be a file of the user
        echo mine >"$(ls -d out/a*.bpp)"
        refuses 1 'bpp: exists, and is no parity file; --force replaces it' pack -q --parity 100
        quietly pack -q -f --parity 100
        quietly bpk verify -r --parity out
        ends 0 pack -v --parity 100
        [ "$(grep -c ': its archive is up to date, skipped$' "$err")" -eq 2 ] || die "$(cat "$err")"
        rm -r out
    done
}

@test "pack -r --parity passes archives over that it finds, whatever their names" {
    mkdir in
    data records 3000 in/a
    bpk pack -q -F blp -o in/b.dat in/a
    quietly bpk pack -q -r --parity 20 -O out in
    [ "$(cd out && ls)" = "$(printf 'a.blp\na.blp.bpp')" ]
}

@test "pack --update --parity gives damage no parity" {
    mkdir in
    data records 3000 in/a
    bpk pack -q -r -O out in
    touch -r out/a.blp time
    printf XXXX | dd of=out/a.blp bs=1 seek=400 conv=notrunc status=none
    touch -r time out/a.blp
    ends 2 bpk pack -q -r --update --parity 100 -O out in
    [ ! -e out/a.blp.bpp ]
}

@test "verify --parity demands parity that heals in place; --json tells of it" {
    need_python
    word() { json line 'x["parity"], x["repairable"], x["status"]'; }
    found() { bpk verify --json "$1" >line; [ "$(word)" = "$2" ] || die "$1" "$(cat line)"; }
    data records 20000 a
    for format in blp b2frame b2sparse chunked; do
        name=a.$format
        bpk pack -q -F $format --parity 20 -o $name a
        quietly bpk verify --parity $name
        found $name "('current', None, 0)"
        bpk info --json $name >line
        [ "$(json line 'x["parity"]')" = current ]
        mv $name.bpp away
        found $name '(None, None, 0)'
        ends 2 bpk verify --parity $name
        says "^bpk: $name: has no parity$"
        mv away $name.bpp
        find $name -type f -exec touch {} +
        found $name "('stale', None, 0)"
        [ "$(json line 'x["remarks"]')" = "['parity is of another time of change; bpk parity $name renews it']" ]
        ends 2 bpk verify -r --parity $name
        says "^bpk: $name: its parity is of another time of change; bpk parity $name renews it$"
        bpk parity $name
        quietly bpk verify --parity $name
        size=$(stat -c %s $name.bpp)
        printf XXXXXXXX | dd of=$name.bpp bs=1 seek=$((size / 2)) conv=notrunc status=none
        bpk verify --json $name >line 2>"$err" || [ $? -eq 3 ]
        [ "$(word)" = "('damaged', 'parity-damaged', 3)" ] || die "$(cat line)"
        refuses 2 "^bpk: $name: is whole, but its parity file $name.bpp is damaged in [0-9]+ cells?; bpk parity $name renews it$" bpk verify --parity $name
        bpk verify --parity --json $name >line 2>"$err" || [ $? -eq 2 ]
        [ "$(word)" = "('damaged', None, 2)" ] || die "$(cat line)"
        # what it restores nonetheless is healed, and the demand not met
        file=$(find $name -type f -size +4k | head -n 1)
        touch -r "$file" time
        printf XXXXXXXX | dd of="$file" bs=1 seek=3000 conv=notrunc status=none
        touch -r time "$file"
        refuses 3 'bpk verify --heal' bpk verify --parity $name
        cp "$file" damaged
        touch -r time damaged
        ends 3 bpk verify --heal $name
        says "^bpk: $name: is whole, but its parity file $name.bpp is damaged in [0-9]+ cells?; bpk parity $name renews it$"
        cp -p damaged "$file"
        ends 2 bpk verify --parity --heal $name
        says "^bpk: $name: is whole, but its parity file $name.bpp is damaged in [0-9]+ cells?; bpk parity $name renews it$"
        truncate -s -3000 $name.bpp
        refuses 2 "its parity file $name.bpp is damaged in" bpk verify --parity $name
        : >$name.bpp
        refuses 2 "^bpk: $name.bpp: .*; bpk parity --force $name P% replaces it$" bpk verify --parity $name
        echo XXXX >$name.bpp
        refuses 2 "^bpk: $name.bpp: .*; bpk parity --force $name P% replaces it$" bpk verify --parity $name
        bpk verify --json $name >line 2>"$err" || [ $? -eq 3 ]
        [ "$(word)" = "('damaged', 'parity-damaged', 3)" ] || die "$(cat line)"
        rm -r $name $name.bpp
    done
    "$python" "$tests/lib/json_lines.py" "$tests/../man/bpk-json.schema.json" line
    # small archives beside each other, too
    mkdir d
    for name in d/1 d/2 d/3; do bpk pack -q -o $name.blp a; done
    bpk parity d/1.blp
    ends 2 bpk verify -T 4 -r --parity d
    [ "$(grep -c 'has no parity$' "$err")" -eq 2 ]
}

@test "verify --parity: what parity restores into another file alone has status 2" {
    data records 20000 a
    for format in blp b2frame b2sparse chunked; do
        bpk pack -q -F $format --parity 20 -o f a
        file=$(find f -type f -size +4k | head -n 1)
        printf XXXXXXXX | dd of="$file" bs=1 seek=3000 conv=notrunc status=none
        refuses 3 'parity of another time restores all of it: bpk repair --apply -o OUT f' bpk verify f
        refuses 2 'restores all of it: bpk repair --apply -o OUT f writes that into another file$' bpk verify --parity f
        ends 0 bpk repair --apply -o out f
        # whose time is that of the parity, of a file
        rm -r f
        mv out f
        [ -d f ] || quietly bpk verify --parity f
        rm -rf f f.bpp out
    done
}

@test "verify --json names each cause of status 3" {
    need_python
    word() { bpk verify --json a.blp >line 2>"$err" || :; json line 'x["repairable"], x["parity"], x["status"]'; }
    is() { [ "$(word)" = "$1" ] || die "$1" "$(cat line)"; }
    protected a.blp 100000
    rot a.blp 50000 1
    is "('healable', 'current', 3)"
    bpk verify --json --heal a.blp >line
    [ "$(json line 'x["repairable"], x["parity"], x["status"]')" = "(None, 'current', 0)" ] || die "$(cat line)"
    rot a.blp 50000 1
    touch a.blp
    is "('restorable', 'stale', 3)"
    cp -p good a.blp
    data text 5000 other
    bpk pack -q -o a.blp -f other
    cp a.blp other.blp
    rm a.blp*
    protected a.blp 100000
    cp other.blp a.blp
    is "('parity-stale', 'stale', 3)"
    rm a.blp.bpp
    cp good a.blp
    printf XXXX >>a.blp
    is '(None, None, 2)'
}

@test "every command that a verdict advises has the file's name, quoted for a shell" {
    data field-f64 100000 raw
    bpk pack -q -z 8K -o 'a b.blp' raw
    bpk parity -q 'a b.blp' 20
    cp -p 'a b.blp' whole
    printf 'damaged' | dd of='a b.blp' bs=1 seek=20000 conv=notrunc status=none
    touch -r whole 'a b.blp'
    refuses 3 "bpk verify --heal 'a b.blp' in place, bpk repair --apply -o OUT 'a b.blp' into" bpk verify 'a b.blp'
    rm 'a b.blp.bpp'
    ends 2 bpk verify 'a b.blp'
    says "; bpk repair 'a b.blp' shows which data are left$"
    { cat whole && echo more; } >'a b.blp'
    bpk parity -q --force 'a b.blp' || true
    head -c 100 whole >'a b.blp'
    ends 2 bpk verify 'a b.blp'
    says "; bpk repair 'a b.blp' shows which data are left$"
}

@test "repair --apply --fill fills nothing that parity restores, and is named where parity is too weak" {
    data noise 200000 raw
    bpk pack -q -z 4K -o a.blp raw
    bpk parity -q a.blp 5
    cp -p a.blp whole
    printf 'damaged' | dd of=a.blp bs=1 seek=20000 conv=notrunc status=none
    touch -r whole a.blp
    refuses 3 'bpk verify --heal a.blp in place' bpk repair --apply --fill zero -o out.blp a.blp
    head -c 60000 /dev/urandom | dd of=a.blp bs=1 seek=20000 conv=notrunc status=none
    touch -r whole a.blp
    ends 2 bpk repair --apply -o out.blp a.blp
    says 'are in damaged cells that parity cannot restore$'
    says '1[56] of 49 chunks are lost; --fill zero or skip writes the others$'
    [ ! -e out.blp ]
    ends 2 bpk repair --apply --fill zero -o out.blp a.blp
    quietly bpk verify out.blp
    # too much is damaged for parity, but no chunk is lost
    bpk pack -q -f -z 500 --parity 1% -o b.blp raw
    cp -p b.blp whole
    head -c 2800 /dev/zero | dd of=b.blp bs=1 seek=300 conv=notrunc status=none
    touch -r whole b.blp
    ends 2 bpk verify b.blp
    says 'parity cannot restore .* damaged cells; bpk repair b.blp shows which data are left$'
    ends 3 bpk repair b.blp
    says 'bpk repair --apply -o OUT b.blp makes an archive of them$'
    ends 0 bpk repair --apply -f -o out.blp b.blp
    quietly bpk verify out.blp
    bpk cat out.blp | cmp - raw
}

@test "damage with a parity file beside it is answered with that by every command that reads" {
    data noise 100000 raw
    bpk pack -q -z 4K -o a.blp raw
    printf 'damaged' | dd of=a.blp bs=1 seek=20000 conv=notrunc status=none
    refuses 2 '; bpk repair a.blp shows which data are left$' bpk unpack -o out a.blp
    refuses 2 '; it has no parity file; bpk repair a.blp shows which data are left$' bpk verify --heal a.blp
    bpk pack -q -f -z 4K -o a.blp raw
    bpk parity -q a.blp 20
    cp -p a.blp whole
    printf 'damaged' | dd of=a.blp bs=1 seek=20000 conv=notrunc status=none
    touch -r whole a.blp
    for command in 'unpack -o out a.blp' 'cat a.blp' 'cmp a.blp raw' 'sum a.blp' 'convert a.blp b.b2s'; do
        # shellcheck disable=SC2086
        ends 2 bpk $command
        says 'a.blp: .*; bpk verify a.blp shows whether its parity file restores it$'
    done
}

@test "parity of a later state than the archive has writes that state, and --force alone replaces it" {
    local name seal options
    data noise 300000 a
    data noise 9000 more
    cat a more >both
    for seal in "" --seal; do
        for name in x.blp x.blpd x.b2frame x.b2s; do
            options=
            [ $name != x.blpd ] || options="--superchunk-size 80K"
            bpk pack -q $seal -z 8K $options -o $name a
            find $name -exec touch -d '2020-02-02 02:02:02' {} +
            cp -Rp $name old
            bpk append $name more
            bpk parity $name 60%
            rm -r $name
            mv old $name
            cp $name.bpp kept.bpp
            refuses 3 "is whole, but an older state than that of its parity: bpk repair --apply -o OUT $name writes the later one" bpk verify $name
            refuses 3 'is whole, but an older state' bpk verify --heal $name
            ends 3 bpk parity $name
            says "writes the later one, or bpk parity --force $name renews it"
            ends 3 bpk append $name more
            says 'is whole, but an older state'
            ends 3 bpk truncate $name --bytes 5000
            bpk cat $name | cmp - a
            cmp $name.bpp kept.bpp
            bpk cat $name | cmp - a
            ends 0 bpk repair --apply -o new.$name $name
            says "new.$name: has the state of the parity; that of $name is older"
            bpk cat new.$name | cmp - both
            # too little parity
            bpk parity -q --force new.$name 1%
            mv new.$name.bpp $name.bpp
            refuses 3 'is whole, but an older state than that of its parity, which cannot restore the later one' bpk verify $name
            ends 3 bpk parity $name
            quietly bpk parity --force $name
            quietly bpk verify $name
            rm -r $name new.$name
        done
    done
}

@test "damage of an archive that is older than its parity has the later state for a remedy" {
    local name
    data noise 100000 a
    data noise 2000 piece
    for name in x.blp x.b2frame; do
        bpk pack -q --parity 20% -0 -z 4096 -o $name a
        touch -d '2020-02-02 02:02:02' $name
        bpk parity -q $name
        cp -p $name old
        bpk write --at 8192 $name piece
        cp -p old $name
        dd if=/dev/urandom of=$name bs=1 count=4 seek=50000 conv=notrunc status=none
        touch -r old $name
        refuses 3 "it is an older state than that of its parity: bpk repair --apply -o OUT $name writes the later one" bpk verify $name
        ends 3 bpk repair $name
        ends 0 bpk repair --apply -o new $name
        says "new: has the state of the parity; that of $name is older"
        { head -c 8192 a && cat piece && tail -c +10193 a; } >now
        bpk cat new | cmp - now
        rm new
        refuses 3 "chunk 12 .* older state" bpk append $name piece
        # with the bytes of the same state but for the damage, an earlier time does not make it older
        cp -p old $name
        bpk parity -q --force $name
        dd if=/dev/urandom of=$name bs=1 count=4 seek=50000 conv=notrunc status=none
        touch -d '2019-02-02 02:02:02' $name
        refuses 3 "parity of another time restores all of it" bpk verify $name
        refuses 3 "chunk 12 .*parity of another time restores all of it" bpk append $name piece
    done
}

@test "chunks of a later state are lost: --apply writes the state of the parity, --fill the intact chunks" {
    local format
    data noise 100000 raw
    data noise 1000 few
    data noise 9000 some
    for format in blp b2frame b2sparse "chunked --superchunk-size 4K"; do
        rm -rf x x.bpp kept out
        bpk pack -q -F $format -z 4K --parity 30% -o x raw
        cp -p x.bpp kept
        bpk append -q x few
        cp -p kept x.bpp
        if [ -d x ]; then rm "$(find x -type f -size +1k | sort | head -1)"; else rot x 30000 12000; fi
        ends 2 bpk repair x
        says 'writes the others; .*bpk repair --apply -o OUT x writes the state of its parity file$'
        ends 2 bpk repair --apply -o out x
        says 'out: has the state in which x was when its parity was made'
        bpk cat out | cmp - raw
        # most chunks are of a later state
        rm -rf x x.bpp out
        bpk pack -q -F $format -z 4K --parity 100% -o x some
        cp -p x.bpp kept
        bpk append -q x raw
        cp -p kept x.bpp
        if [ -d x ]; then rm "$(find x -type f -size +1k | sort | head -3 | tail -1)"; else rot x 30000 500; fi
        ends 2 bpk repair --apply -o out x
        [ "$(grep -c 'are lost$' "$out")" = 1 ]
        says 'cells? (was|were) restored by x.bpp$'
        bpk cat out | cmp - some
        ends 2 bpk repair --apply -f --fill zero -o out x
        says 'x: [12] of 27 chunks (is|are) lost; zeros stand for (it|them)'
    done
}

@test "no cell agrees with the parity: repair names the state of the parity" {
    head -c 60000 /dev/zero | tr '\0' '\7' >raw
    bpk pack -q -F chunked -z 16K --parity 5% -o x raw
    mkdir copy
    cp -r x x.bpp copy/
    cd copy
    rm x/meta/storage x/meta/attributes x/data/__1__.bin
    refuses 2 'no intact chunk was found in it; bpk repair --apply -o OUT x writes the state of its parity file$' bpk repair x
    ends 2 bpk repair --apply -o out x
    bpk cat out | cmp - ../raw
}

@test "without checksums a change since the parity was made is not told from damage" {
    data noise 100000 raw
    for format in blp b2frame b2sparse; do
        rm -rf x x.bpp y out
        bpk pack -q -F $format -z 16K --checksum none --parity 10% -o x raw
        cp -r x y
        rm -r x
        mv y x
        rot "$(find x -type f -size +8k | head -1)" 5000 3
        for command in verify repair; do
            refuses 3 '^bpk: x: 1 of [0-9]+ cells differ from its parity, and without checksums nothing tells a change from damage: bpk parity x renews the parity, or bpk repair --apply -o OUT x writes the state of the parity$' \
                bpk $command x
        done
        ends 2 bpk repair --apply -o out x
        says 'out: has the state in which x was when its parity was made'
        bpk cat out | cmp - raw
    done
    # a seal refutes the chunks
    bpk pack -q -z 16K --checksum none --seal --parity 10% -o s.blp raw
    touch s.blp
    rot s.blp 50000 3
    ends 2 bpk repair --apply -o sealed s.blp
    says 'sealed: has the state in which s.blp was when its parity was made'
    bpk cat sealed | cmp - raw
    quietly bpk verify sealed
    # digests over all chunks tell
    bpk pack -q -F chunked -z 16K --checksum none --parity 10% -o y raw
    cp -p y.bpp kept
    bpk append -q y raw
    cp -p kept y.bpp
    refuses 3 'y: is whole, but its parity is stale' bpk verify y
}

@test "raw data are not needed for chunks that parity restores" {
    packed a.blp 10000
    bpk parity -q a.blp
    rot a.blp 4000 3
    refuses 3 'parity restores all of it: bpk verify --heal a.blp' bpk repair --apply --from raw -o out a.blp
    [ ! -e out ]
    # the result would have no seal
    data noise 160000 R
    bpk pack -q -z 16K --seal --parity 20% -o s.blp R
    cp -p s.blp good
    rot s.blp 40000 2
    touch -r good s.blp
    refuses 3 'parity restores all of it: bpk verify --heal s.blp' bpk repair --apply --from R -o out s.blp
    ends 0 bpk repair --apply -o out s.blp
    same out good
    # parity does not suffice
    rot s.blp 30000 90000
    ends 0 bpk repair --apply --from R -f -o out s.blp
    bpk cat out | cmp - R
}

@test "repair --apply --fill writes the intact chunks of an older state, too" {
    data noise 100000 raw
    bpk pack -q -z 16K --parity 100% -o a.blp raw
    cp -p a.blp old
    bpk append -q a.blp raw
    cp -p old a.blp
    rot a.blp 50000 3
    refuses 3 'it is an older state' bpk verify a.blp
    ends 2 bpk repair --apply --fill zero -o out a.blp
    says '1 of 7 chunks is lost; zeros stand for them'
    [ "$(bpk cat out | cmp -l - raw | wc -l)" -gt 0 ]
}

@test "parity of another archive, however much it restores, is not passed for a later state" {
    data noise 20000 a
    data field-f64 30000 b
    bpk pack -q --seal a
    bpk pack -q --seal --parity 100% b
    touch -d '2020-02-02 02:02:02' a.blp
    cp -p b.blp.bpp a.blp.bpp
    refuses 3 'is whole, but older than its parity, .*: it is an older state, or another archive; bpk parity --force a.blp renews it' \
        bpk verify a.blp
    ends 3 bpk parity a.blp
    ends 3 bpk append a.blp b
    ends 0 bpk repair --apply -o new a.blp
    [ ! -e new ]
    dd if=/dev/urandom of=a.blp bs=1 count=4 seek=10000 conv=notrunc status=none
    refuses 2 'no cell of it agrees with its parity file a.blp.bpp' bpk verify a.blp
    ends 2 bpk repair --apply -o new a.blp
    says 'may be that of another archive'
}

@test "parity of another archive that shares padding with it is called that" {
    data noise 20000 a
    data field-f64 30000 b
    bpk pack -q --seal --identity --parity 10% a
    sleep 0.02
    bpk pack -q --seal --identity --parity 10% b
    mv a.blp c
    mv b.blp a.blp
    mv c b.blp
    refuses 3 'cells differ, and it may be that of another archive; bpk parity a.blp renews it' bpk verify a.blp
    refuses 3 'no cell of which it agrees: it is an older state, or another archive' bpk verify b.blp
}

@test "parity of another archive that has the time of this one does not replace it" {
    data noise 40000 both
    head -c 20000 both >a
    tail -c 20000 both >b
    bpk pack -q -z 2K a
    bpk pack -q -z 2K b
    touch -d '2020-02-02 02:02:02' a.blp b.blp
    bpk parity -q b.blp 100%
    cp -p b.blp.bpp a.blp.bpp
    cp -p a.blp was
    local how
    for how in "" --heal; do
        refuses 3 'is whole, but its parity is stale: .* cells differ, and it may be that of another archive; bpk parity --force a.blp renews it' \
            bpk verify $how a.blp
        cmp was a.blp
    done
    printf '\1\2\3' | dd of=a.blp bs=1 seek=3000 conv=notrunc status=none
    touch -r was a.blp
    cp a.blp was
    for how in "" --heal; do
        refuses 2 'no cell of it agrees with its parity file a.blp.bpp, which may be that of another archive; bpk repair a.blp shows' \
            bpk verify $how a.blp
        cmp was a.blp
    done
}

@test "appended bytes are not cut off by a healing, whatever the archive's time is" {
    data noise 60000 r
    local name
    for name in a.blp a.b2frame; do
        bpk pack -q --parity 10% -z 4K -o $name r
        cp -p $name was
        cp -p $name.bpp parity
        bpk append -q $name r
        cp parity $name.bpp
        touch -r parity $name.bpp
        printf xx | dd of=$name bs=1 seek=20000 conv=notrunc status=none
        touch -r was $name
        cp $name now
        refuses 2 'it may have been changed since its parity was made|no cell of it agrees' bpk verify $name
        refuses 2 'it may have been changed since its parity was made|no cell of it agrees' bpk verify --heal $name
        cmp now $name
    done
}

@test "a file of the parity file's name that is none is no hindrance to repair" {
    data noise 20000 a
    bpk pack -q -z 4096 a
    : >a.blp.bpp
    # a size in the header, which the chunks prove
    printf '?' | dd of=a.blp bs=1 seek=13 conv=notrunc status=none
    ends 2 bpk repair --apply -o new a.blp
    says 'was written of the chunks that were found$'
    bpk cat new | cmp - a
}

@test "verify beside a healing finds no damage without a remedy, and two healings at once agree" {
    local name i one two other options target
    data noise 900000 a
    for name in x.blp x.b2s x.blpd; do
        options=
        target=/
        [ $name != x.blpd ] || options="--superchunk-size 80K"
        bpk pack -q -z 20000 $options --parity 10 -o $name a
        cp -Rp $name good
        cp -Rp $name bad
        case $name in
            x.blp) target= ;;
            x.b2s) target=/00000007.chunk ;;
            x.blpd) target=/data/__3__.bin ;;
        esac
        printf '????????' | dd of=bad$target bs=1 seek=9000 conv=notrunc status=none
        touch -r good$target bad$target
        for i in 0 1 2 3 4 5 6 7 8 9 10 11; do
            rm -rf $name
            cp -Rp bad $name
            other=--heal
            [ $((i % 3)) -gt 0 ] || other=
            "$BPK" verify --heal $name 2>err1 &
            one=$!
            sleep 0.0$(printf %02d $((i * 2)))
            two=0
            "$BPK" verify $other $name 2>err2 || two=$?
            wait $one || die "status $?: $(cat err1)"
            # 1: changed while it was read; 3 without --heal: before the healing began
            [ $two -lt 2 ] || { [ $two -eq 3 ] && [ -z "$other" ]; } || die "$name, verify $other: status $two: $(cat err2)"
            quietly bpk verify $name
            cmp $name$target good$target
        done
        rm -rf $name good bad
    done
}

@test "verify --heal undoes no write of the second of its parity whose time was cut to whole seconds" {
    local second
    data noise 300000 a
    head -c 5000 a >piece
    bpk pack -q -0 -t 1 -z 20000 --parity 10 -o x.blp a
    second=$(date -r x.blp +%s)
    bpk write --at 100000 x.blp piece
    bpk pack -q -0 -t 1 -z 20000 --parity 10 -f -o y.blp a
    touch -d "@$second.5" y.blp
    bpk parity -q y.blp
    cp x.blp y.blp
    touch -d "@$second" y.blp
    refuses 3 'is whole, but' bpk verify --heal y.blp
    cmp x.blp y.blp
}

@test "verify --heal of a damaged archive does not undo a write in the second of its parity" {
    local options name file second=1790000000
    data noise 6000 raw
    head -c 300 raw >piece
    for name in a.blp a.blpd; do
        for options in '--checksum crc32' '--checksum crc32 --seal' '--checksum sha256'; do
            rm -rf $name $name.bpp before damaged out
            # shellcheck disable=SC2086
            bpk pack -q --plain -0 -z 512 $options -o $name raw
            find $name -type f -exec touch -d "@$second.3" {} +
            bpk parity $name 40
            cp -p $name.bpp old.bpp
            cp -pr $name before
            bpk write -q $name --at 600 piece
            cp -p old.bpp $name.bpp
            find $name before -type f -exec touch -d "@$second" {} +
            file=$(find $name -type f ! -name .lock -size +1 | sort | head -1)
            rot "$file" $(($(stat -c %s "$file") - 50)) 1
            touch -d "@$second" "$file"
            cp -pr $name damaged
            ends 2 bpk verify --heal $name
            ends 2 bpk append $name piece
            ends 2 bpk repair --apply -o out $name
            diff -r -x .lock $name damaged
            # the same damage without a write
            rm -rf $name && cp -pr before $name
            rot "$file" $(($(stat -c %s "$file") - 50)) 1
            touch -d "@$second" "$file"
            ends 3 bpk append $name piece
            ends 0 bpk verify --heal $name
            diff -r -x .lock $name before
        done
    done
}

@test "bytes behind the end and damage that no checksum finds are healed together" {
    data noise 6000 raw
    for options in '' --identity; do
        # shellcheck disable=SC2086
        bpk pack -q -f --plain -0 -z 512 --checksum none $options --parity 50% -o a.blp raw
        cp -p a.blp good
        printf '\1abcdefg' >>a.blp
        rot a.blp 2500 1
        touch -r good a.blp
        refuses 3 'no checksum fails, but 1 of [0-9]+ cells differ .*; parity restores all of it' bpk verify a.blp
        ends 0 bpk verify --heal a.blp
        same a.blp good
    done
}

@test "an archive whose change was undone heals in place still" {
    need_nth
    data noise 300000 a
    data noise 9000 more
    local n
    bpk pack -q --seal -z 20000 --parity 10 -o x.blp a
    cp -p x.blp good
    for ((n = 2; n < 40; n++)); do
        cp -p good x.blp
        quietly "$nth" -n $n -a kill "$BPK" append x.blp more || :
        [ ! -e .x.blp.bpkj ] || break
    done
    [ -e .x.blp.bpkj ]
    bpk repair --in-place x.blp
    quietly bpk verify --parity x.blp
    printf xxxx | dd of=x.blp bs=1 seek=100000 conv=notrunc status=none
    touch -r good x.blp
    ends 0 bpk verify --heal x.blp
    cmp x.blp good
}

@test "verify --heal that cannot write names the damage, and ends as verify does" {
    need_nth
    data noise 300000 a
    bpk pack -q -0 -z 20000 --parity 10 -o x.blp a
    cp -p x.blp good
    printf xxxx | dd of=x.blp bs=1 seek=100000 conv=notrunc status=none
    touch -r good x.blp
    cp -p x.blp bad
    ends 3 "$nth" -n 1 -a fail:EROFS "$BPK" verify --heal x.blp
    says 'Read-only file system; it is not restored$'
    says 'x.blp: chunk 4 .*; parity restores all of it: bpk verify --heal x.blp in place'
    cmp x.blp bad
    ends 3 "$nth" -n 1 -a fail:ENOSPC "$BPK" verify --json --heal x.blp
    grep -q '"repairable":"healable"' "$out"
    quietly bpk repair -q --in-place x.blp
    ends 0 bpk verify --heal x.blp
    cmp x.blp good
}

@test "exchanged chunks that only parity shows are no whole archive to repair" {
    need_python
    data noise 300000 a
    data noise 300001 b
    tail -c 300000 b >other
    bpk pack -q -0 -z 20000 --parity 5 -o x.blp a
    cp -p x.blp good
    "$python" "$tests/lib/blp_manip.py" good x.blp swap
    touch -r good x.blp
    local options
    for options in "--from a" "--from other" "--fill zero" "--guess" ""; do
        # shellcheck disable=SC2086 # words
        ends 2 bpk repair --apply $options -o new.blp x.blp
        [ ! -e new.blp ]
    done
    ends 2 bpk verify x.blp
    says '; bpk unpack -o RAW x.blp writes the content as it is$'
    ends 0 bpk repair --apply --from a -o new.blp good
    says 'is whole, nothing to do'
    # without parity nothing shows it but the raw data
    rm x.blp.bpp
    quietly bpk verify x.blp
    ends 1 bpk repair --apply --from a -o new.blp x.blp
    says '^bpk: a: differs from the intact chunk 0 of x.blp$'
    ends 1 bpk repair --apply --from other -o new.blp good
    says '^bpk: other: differs from the intact chunk 0 of good$'
    [ ! -e new.blp ]
}

# settles NAME N PATTERN CHANGE...: of appends to NAME that are killed at a call up to N, those after which verify says
# PATTERN are followed by one of the changes, and the parity is good
settles() {
    local name=$1 most=$2 pattern=$3 n seen=0
    shift 3
    bpk pack -q -z 20000 --parity 10 -o "$name" a
    for ((n = 1; n < most; n++)); do
        rm -rf x x.bpp .x.bpkj
        cp -a "$name" x && cp -a "$name.bpp" x.bpp
        "$nth" -n $n -a kill "$BPK" append x more 2>"$err" || :
        bpk verify x 2>"$err" || :
        grep -Eq "$pattern" "$err" || continue
        # shellcheck disable=SC2086 # words
        quietly bpk ${@:seen++ % $# + 1:1}
        quietly bpk verify --parity x
    done
    [ "$seen" -ge 2 ]
}

@test "the next change, or repair, settles an interrupted one and keeps the parity" {
    need_nth
    data noise 305000 a
    data noise 9000 more
    local changes=("append x more" "meta set x k=1" "truncate x --bytes 100000" "write --at 5 x more")
    settles good.blp 60 'is pending; ' "${changes[@]}" "repair --in-place x"
    settles good.b2frame 60 'left from an interrupted append' "${changes[@]}" "repair --in-place x"
    settles good.b2s 40 'stale: it is of other files or sizes' "${changes[@]}" # files that no index names
}

@test "an archive that was appended to since its parity was made keeps its chunks if its header alone is damaged" {
    local name index
    data noise 300000 raw
    for name in x.blp x.b2frame x.b2s; do
        bpk pack -q -z 20000 --parity 30% -o $name raw
        cp -a $name.bpp old
        bpk append -q $name raw
        cp -a old $name.bpp
        index=$name
        [ ! -d $name ] || index=$name/chunks.b2frame
        head -c 12 /dev/zero | dd of="$index" conv=notrunc status=none
        bpk repair -q --apply -o "new.$name" $name || [ $? = 2 ]
        bpk cat "new.$name" | cmp - <(cat raw raw)
    done
}

@test "damage of a member of a tar names its parity file, which heals once both are extracted" {
    need tar
    data noise 300000 raw
    bpk pack -q -z 20000 --parity 10 -o a.blp raw
    tar -cf t.tar a.blp a.blp.bpp
    rot t.tar 100000 3
    refuses 2 'it is a member of a tar: extract it and its parity file to heal it; ' bpk verify --heal t.tar
    ends 2 bpk repair t.tar:a.blp
    says 'its parity file, if the tar has that, restores more once both are extracted'
    mkdir x
    tar -C x -xf t.tar
    ends 0 bpk verify --heal x/a.blp
    cmp a.blp x/a.blp
}

@test "pack --rm keeps its source if the parity file cannot be written" {
    data noise 300000 raw
    (
        ulimit -f 310 # KiB: the archive has less, its parity file more
        ends 1 bpk pack -q --rm --parity 100% -o a.blp raw
        says '^bpk: a.blp: making its parity file: write: File too large$'
    )
    bpk cmp a.blp raw
    [ ! -e a.blp.bpp ]
    bpk pack -q --rm --update --parity 100% -o a.blp raw
    [ -e a.blp.bpp ]
}

@test "a whole archive of an older state with the very time of its parity is stale, and the advice renews it" {
    data noise 60000 raw
    data noise 3000 more
    touch -d '2026-11-11 11:11:11.123' raw
    # pack gives both the time of the source
    bpk pack -q -F b2frame -z 4096 --parity 10% -o a.b2frame raw
    cp -p a.b2frame old
    bpk pack -q -f -F b2frame -z 4096 --set a=1 --parity 10% -o a.b2frame raw
    cp -p old a.b2frame
    refuses 3 'is whole, but its parity is stale: .*; bpk parity --force a.b2frame renews it' bpk verify a.b2frame
    bpk parity --force a.b2frame
    quietly bpk verify a.b2frame
    # of the same second, in whole seconds
    bpk pack -q -z 4096 --identity -o b.blp raw
    touch -d @1790000000.5 b.blp
    bpk parity b.blp 10
    cp b.blp.bpp old
    bpk meta set b.blp key=value
    cp old b.blp.bpp
    touch -d @1790000000 b.blp
    refuses 3 'is whole, but its parity is stale: .*; bpk parity --force b.blp renews it' bpk verify b.blp
    refuses 3 'does not tell why; bpk verify b.blp tells whether it is damaged' bpk append b.blp more
    bpk parity --force b.blp
    bpk append -q b.blp more
    quietly bpk verify b.blp
}
