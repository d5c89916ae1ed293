# What every bats file loads. A test works in a folder of its own, empty at first; standard output
# and error of the last command checked lie beside it as $out and $err, and
# $bad is a folder that it may make, so that they are no leftovers.
#
#   BPK            the program
#   BPK_MAKE_DATA  writes deterministic data: make-data NAME SIZE [SEED]
#   BPK_TEST_LIGHT non-empty: fewer cases, for slow builds (sanitizers)
#   BPK_TEST_SHARE N: one test in N, the others are skipped
#   BPK_TEST_WHOLE non-empty: every row of the tables that are sampled
#   BPK_TEST_SEED  which of them are tried otherwise, 0 by default

bats_require_minimum_version 1.5.0
tests=$(cd "$BATS_TEST_DIRNAME/.." && pwd)

setup() {
    [ $(((BATS_TEST_NUMBER + ${BPK_TEST_SEED:-0}) % ${BPK_TEST_SHARE:-1})) -eq 0 ] || skip "not of this sample"
    [ -x "$BPK" ] || { echo "BPK names no program: '$BPK'" >&2; return 1; }
    unset BPK_OPTIONS BPK_LEVEL BPK_CODEC BPK_THREADS BPK_MEMORY_LIMIT NO_COLOR SOURCE_DATE_EPOCH CDPATH
    export LC_ALL=C PYTHONDONTWRITEBYTECODE=1
    umask 022
    mkdir "$BATS_TEST_TMPDIR/work"
    cd "$BATS_TEST_TMPDIR/work"
    out=$BATS_TEST_TMPDIR/out
    err=$BATS_TEST_TMPDIR/err
    bad=$BATS_TEST_TMPDIR/bad
}

bpk() { "$BPK" "$@"; }

light() { [ -n "${BPK_TEST_LIGHT:-}" ]; }

# True for one row in N, of a slow build for one in 3 N. N is a prime, so that no loop inside a loop meets
# the same rows each time.
sampled_row=${BPK_TEST_SEED:-0}
sampled() { # N
    local every=$1
    sampled_row=$((sampled_row + 1))
    [ -z "${BPK_TEST_WHOLE:-}" ] || return 0
    ! light || every=$((3 * every))
    [ $((sampled_row % every)) -eq 0 ]
}

# A name of make-data, its size in bytes, the file.
data() { "$BPK_MAKE_DATA" "$1" "$2" >"$3"; }

die() { printf '%s\n' "$@" >&2; return 1; }

# ---- the programs that tests may use where they are there ----

# Any python 3, or the test is skipped.
need_python() {
    python=$(command -v "${PYTHON3:-python3}") || skip "python3 is not installed"
}

# One that has python3-blosc.
need_blosc() {
    for python in "${PYTHON3:-python3}" python3 /usr/bin/python3; do
        "$python" -c 'import blosc' 2>/dev/null && return
    done
    skip "python3-blosc is not installed"
}

# One that has NumPy.
need_numpy() {
    for python in "${PYTHON3:-python3}" python3 /usr/bin/python3; do
        "$python" -c 'import numpy' 2>/dev/null && return
    done
    skip "numpy is not installed"
}

# nd.py, with that.
nd() { "$python" "$tests/lib/nd.py" "$@"; }

# The options of pack for an array: TYPE ITEM SHAPE [CHUNKS BLOCKS].
options_of() {
    options=(--dtype "$1" --shape "$3")
    [ -z "${4:-}" ] || options+=(--chunk-shape "$4" --block-shape "$5")
}

need_bloscpack() {
    [ -n "${BPK_BLOSCPACK:-}" ] || skip "BPK_BLOSCPACK is not set: python bloscpack"
    need_blosc
}

need_fixtures() {
    [ -d "${BPK_FIXTURES:-}/$1" ] ||
        skip "BPK_FIXTURES is not set, or has no $1: files that other programs wrote"
}

need_samples() {
    [ -d "${BPK_SAMPLES:-}" ] || skip "BPK_SAMPLES is not set: real simulation outputs"
}

# The program $oracle2, made once for a run: c-blosc2 itself, to judge frames with.
need_oracle2() {
    local prefix=${BPK_CBLOSC2:-} made
    [ -n "$prefix" ] || skip "BPK_CBLOSC2 is not set: an installed c-blosc2"
    oracle2=$BATS_RUN_TMPDIR/oracle2
    [ ! -x "$oracle2" ] || return 0
    made=$oracle2.$BASHPID
    # CC may hold options beside the compiler's name
    # shellcheck disable=SC2086
    ${CC:-cc} -O1 -I"$prefix/include" -o "$made" "$tests/lib/oracle2.c" -L"$prefix/lib" \
        -Wl,-rpath,"$prefix/lib" -lblosc2 2>"$made.log" ||
        skip "no compiler makes tests/lib/oracle2.c against BPK_CBLOSC2: $(head -n 1 "$made.log")"
    mv "$made" "$oracle2"
}
oracle2() { "$oracle2" "$@"; }

# Does it know every filter of a list? Some are among its plugins, which may be left out.
oracle2_has() {
    case $1 in
    *bytedelta* | *int_trunc*) [ -z "${oracle2:-}" ] || grep -qa bytedelta "$BPK_CBLOSC2"/lib/libblosc2.so ;;
    esac
}

# Is there one that reads this frame, whatever filters pack chose?
oracle2_reads() { [ -n "${oracle2:-}" ] && oracle2_has "$("$BPK" info -vv "$1")"; }

need() { command -v "$1" >/dev/null 2>&1 || skip "$1 is not installed"; }

# tests/fault/nth and strace trace a process, where LeakSanitizer cannot run.
need_nth() {
    nth=$(dirname "$BPK")/tests/fault/nth
    [ -x "$nth" ] || skip "tests/fault/nth was not built"
    "$nth" true || skip "one process may not trace another here"
    export ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0
}

need_strace() {
    need strace
    strace -o /dev/null true 2>/dev/null || skip "one process may not trace another here"
    export ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0
}

need_user() { [ "$(id -u)" -ne 0 ] || skip "root may read and write everything"; }

# Sanitizers reserve terabytes of addresses and use more memory.
need_plain_build() {
    if grep -qaE '__(asan|tsan|msan)_init' "$BPK"; then skip "a sanitizer build"; fi
}

# DIR OPTION...: a web server and S3 store over that folder (tests/lib/store) until the test ends, at $url; $requests
# is its log. The pipe to the server ends with the test's shell, or by stop_serving.
serve() {
    local port
    need_python
    port=$BATS_TEST_TMPDIR/port$((served += 1)) requests=$BATS_TEST_TMPDIR/requests$served
    exec {serving}> >(exec "$python" "$tests/lib/store" "$@" --port-file "$port" --log "$requests" 3>&-)
    store=$!
    eventually [ -e "$port" ]
    url=http://127.0.0.1:$(cat "$port")
}

# What it has begun has ended, too: its threads change the folder no more.
stop_serving() {
    exec {serving}>&-
    wait "$store" || :
}

# The folder d, with the bucket b, as a store that demands signatures, and a web server.
serve_store() { # OPTION...
    mkdir -p d/b
    serve d --key 'ID:se/cr+et' "$@"
    export AWS_ACCESS_KEY_ID=ID AWS_SECRET_ACCESS_KEY=se/cr+et BPK_ENDPOINT=$url
}

# Faults of a store, each in place of an answer, or in it.
faults=(403 404 409 500 503 reset lost garbage empty error-in-200 condition cut short stall long big-headers
    redirect 400 501)

# COUNT N: one in N of the rows 0 to COUNT - 1.
rows() {
    local every=$2
    ! light || every=$((3 * every))
    [ -z "${BPK_TEST_WHOLE:-}" ] || every=1
    seq $(((${BPK_TEST_SEED:-0} + 7) % every)) "$every" $(($1 - 1))
}

# Two commands at the same time, of which $one and $two are the statuses.
both() {
    one=0 two=0
    "$1" >one.out 2>one.err &
    "$2" >two.out 2>two.err || two=$?
    wait $! || one=$?
}

# LISTEN LINES: nginx over the folder d at 127.0.0.1:$port, with these words behind listen, and lines in its server,
# until it is killed as $server; $requests is its log, as that of serve.
serve_nginx() {
    cat >conf <<EOF
daemon off; pid $PWD/pid; error_log $PWD/log; worker_processes 1;
events { worker_connections 64; }
http {
    log_format ranges '\$request_id	GET	\$uri	\$http_range	\$status	\$body_bytes_sent';
    access_log $PWD/requests ranges;
    client_body_temp_path $PWD/t1; proxy_temp_path $PWD/t2; fastcgi_temp_path $PWD/t3;
    uwsgi_temp_path $PWD/t4; scgi_temp_path $PWD/t5;
    server { listen unix:$PWD/socket; listen 127.0.0.1:PORT $1; root $PWD/d; $2 }
}
EOF
    rm -f pid socket
    [ "$(id -u)" -ne 0 ] || sed -i '1i user root;' conf
    : >requests
    requests=$PWD/requests
    for port in $(seq $((20000 + $$ % 20000)) 7 65000); do
        sed -i "s/127.0.0.1:[A-Z0-9]*/127.0.0.1:$port/" conf
        nginx -e "$PWD/log" -p "$PWD" -c "$PWD/conf" 3>&- 2>"$err" &
        server=$!
        for ((i = 0; i < 100; i++)); do
            [ ! -s pid ] || break 2
            kill -0 $server 2>/dev/null || break
            sleep 0.05
        done
    done
}

# A build that reads URLs, which says so itself, and no settings of the user's.
need_urls() {
    ! bpk version | grep -q '^URLs *left out' || skip "built without libcurl"
    unset http_proxy https_proxy all_proxy no_proxy CURL_CA_BUNDLE SSL_CERT_FILE
    unset BPK_CACHE BPK_CACHE_SIZE BPK_CONNECTIONS BPK_TIMEOUT BPK_MAX_DOWNLOAD BPK_ENDPOINT "${!AWS_@}"
    export HOME=$PWD
}

count_requests() { wc -l <"$requests"; }
# N: request N has arrived at a store that keeps it: it is not in the log, and those before it are.
arrived() { [ "$(count_requests)" -ge $(($1 - 1)) ]; }
count_bytes() { awk -F '\t' '{ n += $6 } END { print n + 0 }' "$requests"; }

reader() { "$python" "$tests/lib/blp_reader.py" "$@"; }
bloscpack() { "$python" "$tests/lib/bloscpack_oracle.py" "$@"; }
make_archives() { "$python" "$tests/lib/blp_make.py" "$@"; }

# The value of a Python expression over x, the one JSON object in file $1.
json() { "$python" -c 'import json, sys
x = json.loads(open(sys.argv[1], encoding="utf-8").read())
print(eval(sys.argv[2]))' "$1" "$2"; }

# ---- expectations ----

same() { cmp -- "$1" "$2" || die "'$1' and '$2' differ"; }

# Everything below the folder: names, kinds, modes, sizes, times, contents.
snapshot() {
    # except files that nobody may read
    { find . -mindepth 1 -printf '%p %y %m %s %T@ %l\n' -type f -exec sha256sum {} + 2>/dev/null || true; } |
        sort
}

says() { # PATTERN: what standard error holds
    grep -qE -e "$1" "$err" || die "standard error does not match '$1':" "$(head -c 2000 "$err")"
}

# COMMAND... succeeds and leaves standard error empty.
quietly() {
    local status=0
    "$@" >"$out" 2>"$err" || status=$?
    [ "$status" -eq 0 ] || die "status $status: $*" "$(head -c 2000 "$err")"
    [ ! -s "$err" ] || die "says: $(head -c 2000 "$err")"
}

# STATUS PATTERN COMMAND...: it fails with STATUS and one line that begins with "bpk: " and matches
# PATTERN, and everything in the folder is as it was.
refuses() {
    local expected=$1 pattern=$2 status=0 before lines
    shift 2
    before=$(snapshot)
    "$@" >"$out" 2>"$err" || status=$?
    [ "$status" -eq "$expected" ] ||
        die "status $status, expected $expected: $*" "$(head -c 2000 "$err")"
    mapfile -t lines <"$err"
    [ ${#lines[@]} -eq 1 ] || die "not one line: $*" "$(head -c 2000 "$err")"
    [[ ${lines[0]} =~ ^bpk:\  && ${lines[0]} =~ $pattern ]] ||
        die "standard error does not match '$pattern': ${lines[0]}"
    [ "$(snapshot)" = "$before" ] || die "left or changed something: $*" \
        "$(diff <(printf '%s\n' "$before") <(snapshot))"
}

# STATUS COMMAND...: its status; its messages are in $err.
ends() {
    local expected=$1 status=0
    shift
    "$@" >"$out" 2>"$err" || status=$?
    [ "$status" -eq "$expected" ] || die "status $status, expected $expected: $*" "$(head -c 2000 "$err")"
}

# STATUS PATTERN COMMAND...: one operand is refused, and others may be done.
leaves_one() {
    ends "$1" "${@:3}"
    says "$2"
}

# Wait until the command "$@" succeeds, for 10 seconds at most.
eventually() {
    local i
    for ((i = 0; i < 200; i++)); do
        if "$@"; then return; fi
        sleep 0.05
    done
    die "still not so after 10 seconds: $*"
}

# ---- archives that are changed ----

# The formats that can be, and the names of their files.
editable=(blp chunked b2frame b2sparse)
declare -gA suffix=([blp]=blp [chunked]=blpd [b2frame]=b2frame [b2sparse]=b2s)

# FORMAT DATA OPTIONS...: pack DATA into $archive.
make_archive() {
    archive=$2.${suffix[$1]}
    rm -rf "$archive"
    bpk pack -q -F "$1" -o "$archive" "${@:3}" "$2" || return
    # the first writer makes it, whatever becomes of its change
    [ ! -d "$archive" ] || : >"$archive/.lock"
}

# $archive holds exactly the bytes of the files, in order, and is sound.
holds() {
    bpk cat "$archive" | cmp - <(cat "$@") || die "$archive does not hold $*"
    quietly bpk verify "$archive"
    [ -z "$(find . -name '.*' ! -name . ! -name .lock)" ] || die "litter: $(find . -name '.*')"
}
