load lib

# bpk tar, and directories that are replaced, beside other programs and writers of bpk: a command sees
# one generation of each input, or ends with status 1 and leaves no output.
#
#   BPK_BESIDE_TRIES   at how many calls each change is made, 3 by default; also tries more kinds

# NAME ARCHIVE OPTIONS
files() {
    cat <<'END'
blp x.blp -z 64K
walked x.blp -z 64K --no-offsets
b2frame x.b2frame -z 64K
END
    [ -z "${BPK_BESIDE_TRIES:-}" ] || cat <<'END'
none x.blp -z 64K --checksum none
b2nd x.b2nd --dtype <u2 --shape 2500,500 --chunk-shape 200,500 --block-shape 50,100
END
}
folders() {
    cat <<'END'
chunked x.blpd -F chunked -z 64K --superchunk-size 512K
b2sparse x.b2s -z 64K
END
    [ -z "${BPK_BESIDE_TRIES:-}" ] || cat <<'END'
bcolz x.blpd -F chunked --layout bcolz -z 64K
b2nddir x.b2s --dtype <u2 --shape 2500,500 --chunk-shape 200,500 --block-shape 50,100
END
}

# Two archives of one size, of several pieces of tar's copying.
make_both() {
    data noise 5000000 both
    head -c 2500000 both >a
    tail -c 2500000 both >b
    head -c 300000 both >more
    rm both
}

# ARCHIVE CONTENT
pack_as() { bpk pack -q -0 -f "${options[@]}" -o "$1" "$2"; }

need_traced_bpk() {
    need_nth
    export BPK BPK_THREADS=1
}

# FIRST LAST: a list of points, all of the first that are asked for and some of the others.
points() {
    local tries=${BPK_BESIDE_TRIES:-3}
    seq "$1" $((($2 - $1) / tries + 1)) "$2"
}

# DEED COMMAND...: do it before each of these calls that read. The first three find and open the
# archive. $prepare makes it, $check judges a result with status 0.
at_each_call() {
    local deed=$1 status count
    shift
    $prepare
    "$nth" -R -o calls "$BPK" "$@" >got
    rm -rf t.tar
    count=$(wc -l <calls)
    for point in $(points 4 "$count"); do
        $prepare
        [ $((all % 2)) -eq 0 ] || sleep 0.12 # its times are older than a tick of the clock
        status=0
        # a writer that meets a hold would wait for the reader, which waits for it here
        NTH_RUN="bpk() { timeout 0.3 \"\$BPK\" \"\$@\"; }; { $deed; } >&2; :" \
            "$nth" -R -n "$point" -a run "$BPK" "$@" >got 2>"$err" || status=$?
        all=$((all + 1))
        if [ $status -eq 0 ]; then
            $check || die "$name, $* at $point: a mixture beside $deed"
        else
            [ $status -eq 1 ] && says 'changed while it was' ||
                die "$name, $* at $point beside $deed: status $status" "$(cat "$err")"
            [ ! -e t.tar ] || die "$name, $* at $point: left a tar"
        fi
        rm -rf t.tar
    done
}

# ---- other programs ----

fresh_copy() { cp was "$archive"; }
is_one_of_both() {
    tar xOf t.tar >member
    case $raw in
    "") cmp -s member was || cmp -s member other ;;
    *) cmp -s member a || cmp -s member b ;;
    esac
}

@test "tar of an archive that another program writes over" {
    need_traced_bpk
    make_both
    all=0
    prepare=fresh_copy check=is_one_of_both
    while read -r name archive words; do
        read -ra options <<<"$words"
        pack_as "$archive" b && mv "$archive" other
        pack_as "$archive" a && mv "$archive" was
        for raw in "" --raw; do
            # cp truncates and writes; it may be stopped anywhere
            for deed in ": >$archive" "head -c 100000 other >$archive" "cat other >$archive"; do
                # shellcheck disable=SC2086 # no word, or one
                at_each_call "$deed" tar $raw -o t.tar "$archive"
            done
        done
        rm "$archive" was other
    done < <(files)
    echo "# $all of $all tars" >&3
}

# ---- writers of bpk ----

# What a member holds must verify, and be the content of the archive before or after the change.
is_before_or_after() {
    rm -rf taken && mkdir taken
    if [ -n "$raw" ]; then
        tar xOf t.tar >member
    else
        tar xf t.tar -C taken
        bpk verify "taken/$archive" && bpk cat "taken/$archive" >member || return 1
    fi
    cmp -s member a || cmp -s member b || cmp -s member a+more || head -c 1000000 a | cmp -s - member
}

fresh_archive() { rm -rf "$archive" ".$archive.bpkj" && cp -a was "$archive"; }

# The archive's own state counts, so that a writer that meets a reader's hold may fail.
deeds() {
    cat <<'END'
bpk write -q --at 0 $archive b
bpk append -q $archive more
bpk truncate -q --bytes 1000000 $archive
bpk meta -q set $archive k=1
END
}

# Call try for each kind of archive and each deed on it; $name, $archive and $deed say which.
each_deed() { # TRY
    local name archive words
    need_traced_bpk
    make_both
    cat a more >a+more
    all=0
    while read -r name archive words; do
        read -ra options <<<"$words"
        pack_as "$archive" a && rm -rf was && mv "$archive" was
        while read -r deed; do
            deed=${deed/\$archive/$archive}
            $1
        done < <(deeds)
        rm -rf "$archive"
    done < <(files && folders)
    echo "# $all of $all tars" >&3
}

# Call try at some calls of the deed, on a fresh archive.
each_point() { # TRY
    fresh_archive
    # shellcheck disable=SC2086 # words
    "$nth" -o calls "$BPK" ${deed#bpk }
    for point in $(points 1 "$(wc -l <calls)"); do
        fresh_archive
        rm -rf t.tar
        status=0
        all=$((all + 1))
        $1
    done
}

tar_beside_deed() {
    prepare=fresh_archive check=is_before_or_after
    for raw in "" --raw; do
        sampled 3 || continue
        # shellcheck disable=SC2086 # no word, or one
        at_each_call "$deed" tar $raw -o t.tar "$archive"
    done
}
@test "tar of an archive that bpk changes" { each_deed tar_beside_deed; }

# A writer stops before each of its calls; a tar is made there, then it goes on.
tar_inside_deed() {
    # a writer's commit excludes readers, which wait for it
    # shellcheck disable=SC2086 # words
    NTH_RUN="timeout 0.5 $BPK tar -o t.tar $archive 2>said; echo \$? >status" \
        "$nth" -n "$point" -a run "$BPK" ${deed#bpk } 2>"$err" || die "$name, $deed: $(cat "$err")"
    case $(cat status) in
    0) is_before_or_after || die "$name, $deed at $point: a mixture" ;;
    1) grep -q 'changed while it was' said || die "$name, $deed at $point: $(cat said)" ;;
    124) rm -f t.tar ;;
    *) die "$name, $deed at $point: status $(cat status): $(cat said)" ;;
    esac
}
stopped_deed() { ! sampled 2 || each_point tar_inside_deed; }
@test "tar of an archive while a writer is at work" { raw= each_deed stopped_deed; }

tar_after_deed() {
    # shellcheck disable=SC2086 # words
    "$nth" -n "$point" -a kill "$BPK" ${deed#bpk } 2>"$err" || true
    bpk tar -o t.tar "$archive" 2>"$err" || status=$?
    [ $status -eq 0 ] || { [ $status -eq 3 ] && says 'left from an interrupted append' && cut=$((cut + 1)); } ||
        die "$name, $deed at $point: status $status: $(cat "$err")"
    is_before_or_after || die "$name, $deed at $point: a mixture"
}
killed_deed() { each_point tar_after_deed; }
@test "tar of an archive with a change that was interrupted" {
    cut=0
    raw= each_deed killed_deed
    [ $cut -gt 0 ]
    echo "# $cut without what an append left" >&3
}

# ---- directories that are replaced ----

is_known() { :; }

@test "readers beside pack -f of a directory do not call it damaged" {
    need_traced_bpk
    make_both
    all=0
    prepare=fresh_archive check=is_known
    while read -r name archive words; do
        read -ra options <<<"$words"
        pack_as "$archive" a && rm -rf was && mv "$archive" was
        deed="timeout 5 \$BPK pack -q -0 -f ${options[*]@Q} -o $archive b"
        for command in "info -v @" "cat @" "verify @" "verify -r ." "unpack -o t.tar @" \
            "convert -q @ t.tar -F blp" "tar -o t.tar @" "tar --raw -o t.tar @"; do
            # shellcheck disable=SC2086 # words
            at_each_call "$deed" ${command//@/$archive}
        done
        rm -rf "$archive"
    done < <(folders)
    echo "# $all of $all commands" >&3
}
