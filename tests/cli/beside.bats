load lib

# Readers beside writers. A command sees one generation of an archive, or ends with status 1 and
# leaves nothing; and a reader whose output nobody takes keeps no writer waiting.
#
#   BPK_BESIDE_TRIES   how often a test of chance tries, 10 by default; if set, no row is left out

[ -z "${BPK_BESIDE_TRIES:-}" ] || BPK_TEST_WHOLE=1

# NAME ARCHIVE OPTIONS: archives that are packed from $data.
kinds() {
    cat <<'END'
blp x.blp -z 8K
none x.blp -z 8K --checksum none
walked x.blp -z 8K --no-offsets
chunked x.blpd -F chunked -z 8K --superchunk-size 32K
bcolz x.blpd -F chunked --layout bcolz -z 8K
b2frame x.b2frame -z 8K
b2sparse x.b2s -z 8K
sealed x.blp -z 8K --seal
sealeddir x.blpd -F chunked -z 8K --superchunk-size 32K --seal
sealedframe x.b2frame -z 8K --seal
unsealed x.b2s -z 8K --checksum none
b2nd x.b2nd --dtype <u2 --shape 500,300 --chunk-shape 20,100 --block-shape 10,50
b2nddir x.b2s --dtype <u2 --shape 500,300 --chunk-shape 20,100 --block-shape 10,50
END
    light || cat <<'END'
partial x.blp -z 7000 -T 1
columns x.blpd -F chunked -z 8K --dtype [('a','<u2'),('b','<u4')] --shape 50000
END
}

# Both of 300,000 bytes, which do not shrink: more than a pipe holds.
make_data() {
    data noise 300000 a
    tail -c 150000 a >b
    head -c 150000 a >>b
    data noise 60000 more
    truncate -s 60000 more
}

# ARCHIVE OPTIONS of a kind: have it hold a.
pack_kind() {
    local words
    rm -rf "$1"
    read -ra words <<<"$2"
    bpk pack -q -0 "${words[@]}" -o "$1" a
}

# Changes of $archive meanwhile; these change committed bytes.
deed() {
    case $1 in
    write) bpk write -q --at 0 "$archive" b ;;
    copy) bpk write -q --copy --at 0 "$archive" b ;;
    truncate) bpk truncate -q --bytes 120000 "$archive" ;;
    replace)
        read -ra words <<<"$options"
        bpk pack -q -f -0 "${words[@]}" -o "$archive" b
        ;;
    append) bpk append -q "$archive" more ;;
    meta) bpk meta -q set "$archive" k=1 ;;
    esac
}

# The generation that a reader's output in the file is of.
content_of() {
    case $1 in
    tar) tar xOf "$2" ;;
    convert) bpk cat "$2" ;;
    *) cat "$2" ;;
    esac
}

start_reader() {
    case $1 in
    cat) bpk cat "$archive" ;;
    unpack) bpk unpack -c "$archive" ;;
    convert) bpk convert -q -F blp "$archive" - ;;
    tar) bpk tar --raw "$archive" ;;
    esac
}

# READER DEED: the deed while nobody takes more than the first bytes of the output.
read_beside() {
    local reading status=0
    rm -f pipe
    mkfifo pipe
    start_reader "$1" >pipe 2>"$err" &
    reading=$!
    exec 7<pipe
    head -c 100 <&7 >got
    deed "$2" 2>deed.err || die "$name, $1: $2 failed: $(cat deed.err)"
    cat <&7 >>got
    exec 7<&-
    wait $reading || status=$?
    all=$((all + 1))
    if [ $status -eq 0 ]; then
        content_of "$1" got | cmp -s - a || die "$name, $1 beside $2: a mixture, with status 0"
    else
        [ $status -eq 1 ] || die "$name, $1 beside $2: status $status" "$(cat "$err")"
        says 'changed while it was read'
        [ "$2" != append ] || die "$name, $1 beside append: $(cat "$err")"
    fi
}

@test "a slow reader sees one generation or fails, and keeps no writer waiting" {
    make_data
    all=0
    readers=(cat unpack convert tar)
    deeds=(write copy truncate replace append meta)
    while read -r name archive options; do
        for deed in "${deeds[@]}"; do
            for reader in "${readers[@]}"; do
                sampled 5 || continue
                pack_kind "$archive" "$options"
                SECONDS=0
                read_beside "$reader" "$deed"
                [ $SECONDS -lt 30 ] || die "$name: $deed waited for $reader"
            done
        done
        rm -rf "$archive"
    done < <(kinds)
    echo "# $all of $all readers" >&3
}

# ---- arrays inside, of archives and of raw files ----

# t.gsd: 12 frames of an array x, whose bytes are those of x.raw; u.npy, one more such array, and
# v.gsd, a frame of it.
make_trajectory() {
    data noise 520000 all
    head -c 480000 all >x.raw
    for ((i = 12; i >= 0; i--)); do
        dd if=all of=piece bs=40000 skip=$i count=1 status=none
        bpk pack -q -0 -f --dtype '<u2' --shape 20000 -o piece.b2nd piece
        bpk unpack -q -f -o "p$i.npy" piece.b2nd
    done
    mv p12.npy u.npy
    for ((i = 0; i < 12; i++)); do bpk append t.gsd --schema demo x=p$i.npy; done
    bpk append v.gsd --schema demo x=u.npy
    rm all piece piece.b2nd p*.npy
}

shorten() {
    case $archive in
    raw.gsd) bpk truncate -q --frames 11 raw.gsd ;;
    *) bpk truncate -q --bytes 400000 "$archive" ;;
    esac
}

# What happens to $archive, which holds t.gsd or is a copy of it.
deed_inside() {
    case $1.$archive in
    append.raw.gsd) bpk append raw.gsd x=u.npy ;;
    append.*) bpk append -q "$archive" v.gsd ;;
    cut.raw.gsd) bpk truncate -q --frames 3 raw.gsd ;;
    cut.*) bpk truncate -q --bytes 100000 "$archive" ;;
    regrow.raw.gsd) shorten && bpk append raw.gsd x=u.npy ;;
    regrow.*) shorten && bpk append -q "$archive" x.raw ;;
    poke.raw.gsd) dd if=u.npy of=raw.gsd bs=1000 count=10 seek=470 conv=notrunc status=none ;;
    poke.*) head -c 10000 u.npy | bpk write -q --at 470000 "$archive" ;;
    esac
}

pack_inside() {
    rm -rf "$1"
    read -ra words <<<"$2"
    if [ "$1" = raw.gsd ]; then cp t.gsd raw.gsd; else bpk pack -q -0 "${words[@]}" -o "$1" t.gsd; fi
}

containers() {
    echo raw raw.gsd
    kinds | grep -Ev -- '--dtype|--no-offsets'
}

@test "cat --name, slow, beside who changes the file" {
    make_trajectory
    all=0
    while read -r name archive options; do
        for deed in append cut regrow poke; do
            for part in "" "--slice ..."; do
                sampled 5 || continue
                pack_inside "$archive" "$options"
                rm -f pipe
                mkfifo pipe
                # shellcheck disable=SC2086 # words
                bpk cat --name x --frames : $part "$archive" >pipe 2>"$err" &
                reading=$!
                exec 7<pipe
                head -c 100 <&7 >got
                deed_inside $deed 2>deed.err || die "$name: $deed failed: $(cat deed.err)"
                cat <&7 >>got
                exec 7<&-
                status=0
                wait $reading || status=$?
                all=$((all + 1))
                if [ $status -eq 0 ]; then
                    cmp -s got x.raw || bpk cat --name x --frames : "$archive" | cmp -s got ||
                        die "$name beside $deed: a mixture"
                else
                    [ $status -eq 1 ] && says 'changed while it was read' ||
                        die "$name beside $deed: status $status" "$(cat "$err")"
                    [ "$name.$deed" != raw.append ] || die "a growing file: $(cat "$err")"
                fi
            done
        done
        rm -rf "$archive"
    done < <(containers)
    echo "# $all of $all readers" >&3
}

# COMMAND...: at each of its calls that read, $deed is done; then $check is asked.
at_each_read() {
    local count step
    pack_inside "$archive" "$options"
    "$nth" -R -o calls "$BPK" "$@" >"$out"
    count=$(wc -l <calls)
    step=$((count / (${BPK_BESIDE_TRIES:-3}) + 1))
    for ((point = 1 + all % step; point <= count; point += step)); do
        pack_inside "$archive" "$options"
        rm -f out.npy
        status=0
        # a writer that meets a hold would wait for the reader, which waits for it here
        NTH_RUN="$(declare -f shorten deed_inside); bpk() { timeout 0.3 \"\$BPK\" \"\$@\"; }
            archive=$archive; deed_inside $deed; :" \
            "$nth" -R -n $point -a run "$BPK" "$@" >got 2>"$err" || status=$?
        all=$((all + 1))
        [ $status -eq 0 ] || { [ $status -eq 1 ] && says 'changed while it was'; } ||
            die "$name, $1 beside $deed at $point: status $status" "$(cat "$err")"
        [ $status -eq 0 ] || [ ! -e out.npy ] || die "$name: left a result"
        [ $status -ne 0 ] || $check "$archive" || die "$name, $1 beside $deed at $point: a mixture"
    done
}

# The archive is committed twice by regrow: the shortened content is a generation, too.
is_old_or_new() {
    cmp -s out.npy old.npy || cmp -s out.npy short.npy || { bpk unpack --name x --frames : -f -o new.npy "$1" && cmp out.npy new.npy; }
}

tells_old_or_new() { cmp -s got old.txt || cmp -s got short.txt || bpk info -v "$1" | cmp - got; }

@test "unpack --name and info -v beside who changes the file, at every call" {
    count_own_calls
    make_trajectory
    bpk unpack --name x --frames : -o old.npy t.gsd
    export BPK
    all=0
    while read -r name archive options; do
        pack_inside "$archive" "$options"
        bpk info -v "$archive" >old.txt
        shorten
        bpk info -v "$archive" >short.txt
        bpk unpack -q -f --name x --frames : -o short.npy "$archive"
        for deed in append cut poke regrow; do
            ! sampled 3 || check=is_old_or_new at_each_read unpack -T 1 --name x --frames : -o out.npy "$archive"
            ! sampled 3 || check=tells_old_or_new at_each_read info -v "$archive"
        done
        rm -rf "$archive"
    done < <(containers | grep -E "^(raw|blp|b2sparse) ")
    echo "# $all of $all commands" >&3
}

@test "a slice of a NumPy file that another program writes over" {
    data noise 400000 a
    bpk pack -q -0 --dtype '<u2' --shape 400,500 -o a.b2nd a
    for part in 0:400 :,0:499; do
        bpk unpack -q -f -o a.npy a.b2nd
        bpk cat --slice $part a.npy >whole
        rm -f pipe
        mkfifo pipe
        bpk cat --slice $part a.npy >pipe 2>"$err" &
        reading=$!
        exec 7<pipe
        head -c 100 <&7 >got
        dd if=/dev/zero of=a.npy bs=1000 seek=300 count=1 conv=notrunc status=none
        cat <&7 >>got
        exec 7<&-
        ! wait $reading
        says '^bpk: a.npy: changed while it was read$'
        bpk unpack -q -f -o a.npy a.b2nd
        bpk cat --slice $part a.npy | cmp - whole
    done
}

@test "a frame without digests that another program writes over, and one that bpk extends" {
    data noise 2000000 a
    data noise 2000001 b
    for name in a b; do head -c 2000000 $name | bpk pack -q -0 -F b2frame --checksum none -z 64K -f -o $name.b2frame -; done
    for command in "cat" "unpack -o -" "tar --raw -o -"; do
        for deed in cp append; do
            cp a.b2frame x.b2frame
            # shellcheck disable=SC2086 # words
            bpk $command x.b2frame >before
            rm -f pipe
            mkfifo pipe
            # shellcheck disable=SC2086
            bpk $command x.b2frame >pipe 2>"$err" &
            reading=$!
            exec 7<pipe
            head -c 100 <&7 >got
            if [ $deed = cp ]; then cp b.b2frame x.b2frame; else bpk append -q x.b2frame b; fi
            cat <&7 >>got
            exec 7<&-
            status=0
            wait $reading || status=$?
            if [ $deed = append ]; then
                [ $status -eq 0 ]
                [ "$command" != cat ] || head -c 2000000 a | cmp - got
            elif [ $status -eq 0 ]; then # all of it was read before
                cmp before got
            else
                [ $status -eq 1 ] || die "status $status: $(cat "$err")"
                says 'x\.b2frame( -> standard output)?: changed while it was read$'
            fi
        done
    done
}

@test "cat --slice opens an array once" {
    count_own_calls
    data noise 60000 a
    bpk pack -q -F b2frame --dtype '<u2' --shape 300,100 --chunk-shape 20,50 --block-shape 10,50 -o a.b2nd a
    "$nth" -R -o once "$BPK" cat -T 1 --bytes 0:100 a.b2nd >"$out"
    "$nth" -R -o sliced "$BPK" cat -T 1 --slice 0:1,0:50 a.b2nd >"$out"
    [ "$(wc -l <sliced)" -le "$(($(wc -l <once) + 2))" ] || diff once sliced
}

# ---- results in files ----

# Sanitizers make calls before main: $own.
count_own_calls() {
    need_nth
    "$nth" -o calls "$BPK" --version >"$out"
    own=$(($(wc -l <calls) - 1)) # all but the write of the version
}

# POINT COMMAND...: at that call of the command that writes, the deed is done.
at_write() {
    NTH_RUN="$BPK write -q --at 0 $archive b" "$nth" -n $((own + $1)) -a run "$BPK" "${@:2}" 2>"$err"
}

# OUTPUT POINT COMMAND...
check_result() {
    local status=0
    at_write "${@:2}" || status=$?
    all=$((all + 1))
    if [ $status -ne 0 ]; then
        [ $status -eq 1 ] || die "$name, ${*:2}: status $status" "$(cat "$err")"
        says 'changed while it was read|is not removed: it was changed meanwhile'
        if [ -e "$1" ]; then # it was kept when the change came
            says 'is not removed'
            same "$1" a
        fi
        [ -e "$archive" ] || die "$name, ${*:2}: removed what was not read"
    elif [ -f "$1" ] && [ "${1%.*}" = "$1" ]; then
        same "$1" a
    else
        bpk cat "$1" | cmp - a
    fi
    rm -rf "$1"
}

@test "what was changed while it was read gets no name, and is not removed" {
    count_own_calls
    make_data
    all=0
    while read -r name archive options; do
        for point in 3 17 30; do
            sampled 5 || continue
            pack_kind "$archive" "$options"
            check_result out $point unpack -T 1 -o out "$archive"
            pack_kind "$archive" "$options"
            check_result out.blp $point convert -q -T 1 "$archive" out.blp
            [ -z "$(find . -name '.out*')" ]
        done
        [ ! -f "$archive" ] || for point in 3 25 40; do
            sampled 5 || continue
            pack_kind "$archive" "$options"
            check_result out $point unpack -T 1 --rm -o out "$archive"
        done
        rm -rf "$archive"
    done < <(kinds)
    echo "# $all of $all results" >&3
}

@test "verify and info take no change for damage" {
    make_data
    all=0
    while read -r name archive options; do
        pack_kind "$archive" "$options"
        : >go
        while [ -e go ]; do
            bpk write -q --at 0 "$archive" b && bpk write -q --at 0 "$archive" a
        done &
        writing=$!
        for ((i = 0; i < 6; i++)); do
            for command in "verify" "info -vv" "verify --quick"; do
                status=0
                # shellcheck disable=SC2086 # words
                bpk $command "$archive" >"$out" 2>"$err" || status=$?
                all=$((all + 1))
                [ $status -eq 0 ] || { [ $status -eq 1 ] && says 'changed while it was'; } ||
                    { rm go && die "$name, $command: status $status" "$(cat "$err")"; }
            done
        done
        rm go
        wait $writing
        rm -rf "$archive"
    done < <(kinds)
    echo "# $all of $all commands" >&3
}

@test "readers of an archive that grows see it as it was" {
    make_data
    while read -r name archive options; do
        pack_kind "$archive" "$options"
        : >go
        while [ -e go ]; do bpk append -q "$archive" more; done &
        writing=$!
        for ((i = 0; i < 4; i++)); do
            bpk cat -T 2 "$archive" >got || { rm go && die "$name"; }
            head -c 300000 got | cmp - a || { rm go && die "$name"; }
            tail -c +300001 got >rest
            [ $(($(stat -c %s rest) % 60000)) -eq 0 ] || { rm go && die "$name: half an append"; }
        done
        rm go
        wait $writing
        rm -rf "$archive"
    done < <(kinds)
}

# POINT: an append stops at this call until cat has read its last bytes, and ends before cat does.
cat_across() {
    local ask=("$BPK" cat -T 1 --bytes -20000: "$archive")
    rm -f go stopped ended
    (NTH_RUN='touch stopped; while [ ! -e go ]; do sleep 0.01; done' \
        "$nth" -n $1 -a run "$BPK" append -q "$archive" more 2>append.err
    echo $? >ended) &
    while [ ! -e stopped ] && [ ! -e ended ]; do sleep 0.01; done
    "$nth" -R -o reads "${ask[@]}" >got
    NTH_RUN='touch go; while [ ! -e ended ]; do sleep 0.01; done' \
        "$nth" -R -n "$(grep -n '^pread' reads | tail -n 1 | cut -d : -f 1)" -a run "${ask[@]}" \
        >got 2>"$err" || status=$?
    touch go
    wait $!
    [ "$(<ended)" = 0 ] || die "$name: append failed: $(cat append.err)"
}

# Archives that are files have a lock for this.
@test "a reader of a directory that began in the middle of a commit sees its end" {
    need_nth
    make_data
    cat a more | tail -c 20000 >new.end
    tail -c 20000 a >old.end
    all=0
    while read -r name archive options; do
        pack_kind "$archive" "$options"
        "$nth" -o calls "$BPK" append -q "$archive" more
        count=$(wc -l <calls)
        for ((point = $(grep -n '^renameat' calls | head -n 1 | cut -d : -f 1); point <= count; point++)); do
            sampled 2 || continue
            pack_kind "$archive" "$options"
            status=0
            cat_across $point
            all=$((all + 1))
            [ $status -eq 0 ] || die "$name at $point of $count: status $status" "$(cat "$err")"
            cmp -s got old.end || cmp -s got new.end || die "$name at $point: of neither"
        done
        rm -rf "$archive"
    done < <(kinds | grep -E ' x\.(blpd|b2s) ')
    echo "# $all of $all readers" >&3
}

@test "cat beside a truncation and an append behind it, at calls that read" {
    count_own_calls
    data noise 20000 a
    data text 9000 more
    head -c 15000 a >cut
    cat cut more >new
    all=0
    while read -r name archive options; do
        read -ra words <<<"$options"
        rm -rf kept "$archive"
        bpk pack -q "${words[@]}" -z 4K -o kept a
        cp -a kept "$archive"
        "$nth" -R -o calls "$BPK" cat -T 1 "$archive" >got
        count=$(wc -l <calls)
        for ((point = 1; point <= count; point++)); do
            sampled 6 || continue
            rm -rf "$archive"
            cp -a kept "$archive"
            status=0
            # a reader that holds the file lets no writer in
            NTH_RUN="timeout 0.2 \"$BPK\" truncate -q --bytes 15000 $archive && timeout 0.2 \"$BPK\" append -q $archive more; :" \
                "$nth" -R -n $point -a run "$BPK" cat -T 1 "$archive" >got 2>"$err" || status=$?
            all=$((all + 1))
            [ $status -eq 0 ] || { [ $status -eq 1 ] && says 'changed while it was'; } ||
                die "$name at $point: status $status" "$(cat "$err")"
            [ $status -ne 0 ] || cmp -s got a || cmp -s got cut || cmp -s got new ||
                die "$name at $point: bytes of no state"
        done
        rm -rf "$archive"
    done < <(kinds | grep -E '^(blp|none|walked|chunked|b2frame) ')
    echo "# $all of $all readers" >&3
}

@test "cat beside truncate and append, again and again" {
    make_data
    tail -c 180000 a >end
    tries=${BPK_BESIDE_TRIES:-10}
    right=0
    while read -r name archive options; do
        case $name in blp | b2nddir | chunked) ;; *) continue ;; esac
        pack_kind "$archive" "$options"
        : >go
        while [ -e go ]; do
            bpk truncate -q --bytes 120000 "$archive" && bpk append -q "$archive" end
        done &
        writing=$!
        for ((i = 0; i < tries; i++)); do
            status=0
            bpk cat "$archive" >got 2>"$err" || status=$?
            if [ $status -eq 0 ]; then
                cmp -s got a || head -c 120000 a | cmp -s - got ||
                    { rm go && die "$name: $(stat -c %s got) bytes of neither"; }
            else
                [ $status -eq 1 ] && says 'changed while it was' ||
                    { rm go && die "$name: $status" "$(cat "$err")"; }
            fi
            right=$((right + 1))
        done
        rm go
        wait $writing
        rm -rf "$archive"
    done < <(kinds)
    echo "# $right of $right tries" >&3
}

@test "a lock that another program keeps is told of after a second" {
    need_python
    [ "$(getconf LONG_BIT)" -eq 64 ] || skip "the lock is spelled for 64 bits"
    data text 30000 a
    bpk pack a
    cat >hold.py <<'END'
import fcntl, os, struct, sys, time
f = open(sys.argv[1], "r+b")
for byte in 1, 2:
    lock = struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, (1 << 62) + byte, 1, 0)
    fcntl.fcntl(f, fcntl.F_SETLK if sys.argv[2] == "process" else 37, lock)
open("held", "w").close()
while not os.path.getsize(sys.argv[3]): time.sleep(0.01)
END
    for kind in process description; do
        rm -f held
        : >"$err"
        "$python" hold.py a.blp $kind "$err" & # until something is said
        holding=$!
        eventually test -e held
        bpk cat a.blp >got 2>"$err"
        same got a
        holder="another process"
        [ $kind = description ] || holder="process $holding"
        says "^bpk: .*/a.blp: waits for a lock that $holder holds$"
        [ "$(wc -l <"$err")" -eq 1 ]
        wait $holding
    done
}

# ---- directories that are removed ----

directories() { kinds | grep -E '\.(blpd|b2s) '; }

@test "unpack --rm removes a directory, and nothing that is no part of it" {
    make_data
    while read -r name archive options; do
        pack_kind "$archive" "$options"
        echo mine >"$archive/notes"
        refuses 1 "$archive: holds notes, which is no part of it; not removed" \
            bpk unpack --rm -o out "$archive"
        rm "$archive/notes"
        mkdir "$archive/mine"
        ln -s ../a "$archive/mine/link"
        refuses 1 "holds mine/link, which is no part of it" bpk unpack --rm -o out "$archive"
        rm -r "$archive/mine"
        ln -s "$archive" link
        refuses 1 "link: cannot be opened to be removed" bpk unpack --rm -o out link
        rm link
        quietly bpk unpack --rm -o out "$archive/"
        same out a
        [ ! -e "$archive" ]
        [ -z "$(find . -name '.*' ! -name .)" ]
        rm out
        # bpk leaves a lock in a directory that it changed
        pack_kind "$archive" "$options"
        quietly bpk append "$archive" more
        quietly bpk unpack --rm -o out "$archive"
        cat a more | cmp - out
        [ ! -e "$archive" ]
        rm out
    done < <(directories)
}

@test "unpack --rm leaves a directory that is changed or read meanwhile, and survives a kill" {
    count_own_calls
    make_data
    all=0
    while read -r name archive options; do
        pack_kind "$archive" "$options"
        "$nth" -o calls "$BPK" unpack -T 1 --rm -o out "$archive"
        rm out
        linked=$(grep -n linkat calls | head -n 1 | cut -d : -f 1)
        for point in $((own + 2)) $(((own + linked) / 2)) "$linked"; do
            pack_kind "$archive" "$options"
            NTH_RUN="$BPK append -q $archive more" "$nth" -n $point -a run "$BPK" unpack -T 1 --rm \
                -o out "$archive" 2>"$err" &&
                die "$name: removed what was appended to"
            says 'is not removed: it was changed meanwhile'
            same out a
            cat a more | cmp - <(bpk cat "$archive")
            rm out
        done
        # around the moment when the result is kept, and up to the end
        last=$(wc -l <calls)
        step=$(light && echo 7 || echo 3)
        for ((point = linked - 1; point <= last; point += point < linked + 7 ? step : 4 * step)); do
            rm -rf out
            pack_kind "$archive" "$options"
            { "$nth" -n $point "$BPK" unpack -T 1 --rm -o out "$archive" || true; } 2>"$err"
            all=$((all + 1))
            if [ -e "$archive" ]; then
                bpk cat "$archive" | cmp - a || die "$name: half a dataset after $point"
            else
                same out a
            fi
            # leftovers go with the next one
            pack_kind "$archive" "$options"
            [ -z "$(find . -name '.*' ! -name . ! -name .lock)" ] || die "litter: $(find . -name '.*')"
        done
        rm -rf out "$archive"
    done < <(directories)
    echo "# $all of $all kills" >&3
}

@test "a frame that another program writes over is neither mixed nor called damaged" {
    head -c 4000000 /dev/urandom >a
    head -c 4000000 /dev/urandom >b
    for options in "--checksum none" "--checksum crc32" --no-check; do
        [ "$options" = --no-check ] && sum= || sum=$options
        [ "$options" = --no-check ] && check=--no-check || check=
        bpk pack -F b2frame -t 8 -z 32K -0 $sum -o x a
        bpk pack -F b2frame -t 4 -z 32K -0 $sum -o y b
        sleep 0.3
        mkfifo pipe
        status=0
        bpk cat $check x >pipe 2>"$err" &
        reading=$!
        exec 9<pipe
        head -c 400000 <&9 >got
        dd if=y of=x bs=8M conv=notrunc status=none
        cat <&9 >>got
        exec 9<&-
        wait $reading || status=$?
        [ $status -eq 1 ] && says 'x.*changed while it was read' || die "$options: $status" "$(cat "$err")"
        rm -f x y pipe
    done
}

# x is copied over while COMMAND reads it; the result is in out. Sets what: old, new, a status or mixed.
read_copied_over() { # POINT COMMAND...
    local status=0
    rm -rf x out copied
    cp -r old x
    NTH_RUN="[ -d x ] && cp -r new/. x/ && : >copied" timeout 60 "$nth" -R -n "$1" -a run "$BPK" "${@:2}" x >got 2>"$err" || status=$?
    [ "$2" != cat ] || mv got out
    what=mixed
    if [ $status -ne 0 ]; then
        what=$status
    elif [ "$2" = verify ] || cmp -s out a; then
        what=old
    elif cmp -s out b; then
        what=new
    fi
}

@test "a directory that another program copies over is not mixed, with its result or without its source" {
    count_own_calls
    data noise 200000 a
    data noise 200001 c
    tail -c 200000 c >b
    all=0 failed=0
    while read -r name options; do
        rm -rf old new
        for words in "old a" "new b"; do
            # shellcheck disable=SC2086 # words
            bpk pack -q -0 -z 8K $options -o $words
        done
        for command in "unpack -q -T 1 -o out" "cat -T 1" "verify -q -T 1" "unpack -q -T 1 --rm -o out"; do
            read -ra words <<<"$command"
            rm -rf x out
            cp -r old x
            "$nth" -R -o calls "$BPK" "${words[@]}" x >got
            step=$(($(wc -l <calls) / ${BPK_BESIDE_TRIES:-4} + 1))
            for ((point = 1 + step / 2; point <= $(wc -l <calls); point += step)); do
                ! light || sampled 3 || continue
                read_copied_over $point "${words[@]}"
                all=$((all + 1))
                case $what in
                mixed) die "$name, $command at $point: a mixture" ;;
                1) says 'changed while it was|is not removed: ' ;;
                2) [ "$name" != unsealed ] || die "$name, $command at $point: called damaged" ;;
                old | new) ;;
                *) die "$name, $command at $point: status $what" "$(cat "$err")" ;;
                esac
                [ "$what" = old ] || [ "$what" = new ] || failed=$((failed + 1))
                [ "${words[0]}" != unpack ] || [ ! -e out ] || cmp -s out a || cmp -s out b ||
                    die "$name, $command at $point: kept a mixture"
                [ -d x ] || [ ! -e copied ] || cmp -s out b || die "$name, $command at $point: removed what was not read"
            done
        done
    done <<'KINDS'
chunked -F chunked --superchunk-size 32K
bare -F chunked --superchunk-size 8K --checksum none
bcolz -F chunked --layout bcolz
b2sparse -F b2sparse
unsealed -F b2sparse --checksum none
KINDS
    [ $failed -gt 0 ]
    echo "# $all of $all readers" >&3
}

# Its last steps are taken under the writer lock, which an append meets, or after which it finds another archive.
@test "convert --retune in place beside an append, at every call that writes: no byte is lost" {
    local count step
    count_own_calls
    make_data
    export BPK
    all=0
    while read -r name archive options; do
        case $archive in *.blp | *.b2frame | *.b2nd) ;; *) continue ;; esac
        pack_kind "$archive" "$options"
        "$nth" -o calls "$BPK" convert -q -T 1 --retune "$archive"
        count=$(wc -l <calls)
        step=$(light && echo 5 || echo 2)
        for ((point = own + 1; point <= count; point += step)); do
            rm -f appended
            pack_kind "$archive" "$options"
            NTH_RUN="timeout 2 \"\$BPK\" append -q $archive more && : >appended" "$nth" -n $point -a run \
                "$BPK" convert -q -T 1 --retune "$archive" 2>"$err" || [ $? -eq 1 ]
            if [ -e appended ]; then cat a more; else cat a; fi >wanted
            bpk cat "$archive" | cmp - wanted || die "$name: at $point" "$(cat "$err")"
            quietly bpk verify "$archive"
            all=$((all + 1))
        done
        rm -rf "$archive"
    done < <(kinds)
    echo "# $all appends" >&3
}

@test "verify -v does not take a commit beside it for an interrupted append" {
    make_data
    head -c 8192 a >c
    for options in "" --seal; do
        bpk pack -q -f -0 -z 8K --append-space 5000 $options -o x.blp b
        bpk append -q x.blp c
        rm -f done
        (for i in $(seq $((4 * ${BPK_BESIDE_TRIES:-10}))); do bpk append -q --no-sync x.blp c c c; done; : >done) &
        while [ ! -e done ]; do
            bpk verify -v x.blp >"$out"
            ! grep interrupted "$out" || die "$(cat "$out")"
        done
        wait
    done
}
