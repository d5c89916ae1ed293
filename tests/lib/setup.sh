# Shared by setup-and-try and setup-and-check: packages of a Debian machine, and the build.
# Sourced by sh from the top of the tree.

# Packages to build and run bpk; further packages for the tests.
BUILD_PACKAGES="autoconf automake gcc make pkg-config libc6-dev zlib1g-dev libzstd-dev liblz4-dev
    libdeflate-dev libisal-dev libsnappy-dev libssl-dev libjansson-dev libarchive-dev libcurl4-openssl-dev
    libpng-dev xz-utils"
TEST_PACKAGES="acl bats bsdutils clang clang-format-14 git libblosc-dev libclang-rt-14-dev libcmocka-dev
    lz4 man-db mandoc python3 python3-blosc python3-gsd strace valgrind zstd"

# Install those of the given packages that are missing; as root, or through sudo.
install_missing() {
    missing=
    for package in "$@"; do
        dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null | grep -q '^.i' ||
            missing="$missing $package"
    done
    [ -n "$missing" ] || return 0
    if ! command -v apt-get >/dev/null 2>&1; then
        echo "no apt-get here; missing, under Debian's names:$missing" >&2
        return 0
    fi
    as_root=
    if [ "$(id -u)" -ne 0 ]; then
        as_root=sudo
        command -v sudo >/dev/null 2>&1 || {
            echo "run as root, or install sudo, or ask for:$missing" >&2
            return 1
        }
    fi
    echo "== installing$missing"
    $as_root apt-get update -q </dev/null &&
        $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends \
            $missing </dev/null
}

# Configure and build in the folder $1, with the rest of the arguments for configure.
build_in() {
    folder=$1
    shift
    [ -x configure ] && [ configure -nt configure.ac ] && [ Makefile.in -nt Makefile.am ] ||
        autoreconf -fi
    top=$(pwd)
    mkdir -p "$folder"
    (cd "$folder" && "$top/configure" -q "$@" && make -j "$(nproc)")
}
