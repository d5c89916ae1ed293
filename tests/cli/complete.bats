load lib

# What bash, zsh and fish make of the tab key, on a terminal. bpk stands for a script that notes its
# arguments, but lets bpk list names.

need_shell() { # SHELL
    local completions=$tests/../completions
    need "$1"
    need_python
    mkdir ../bin ../home
    cat >../bin/bpk <<END
#!/bin/sh
[ "\$1" != ls ] || { case \$* in *://*) : >done ;; esac && exec "$BPK" "\$@"; }
printf '%s\\n' "\$@" >../arguments
END
    chmod +x ../bin/bpk
    ln -s bpk ../bin/bpk-mpi
    cat >../home/.bashrc <<END
PS1=@@
. '$completions/bash/bpk'
. '$completions/bash/bpk-mpi'
END
    cat >../home/.zshrc <<END
fpath=('$completions/zsh' \$fpath)
autoload -U compinit
compinit -u -D
PS1=@@
unsetopt prompt_cr prompt_sp
END
    cat >../home/fish <<END
function fish_prompt; printf @@; end
source '$completions/fish/bpk.fish'
source '$completions/fish/bpk-mpi.fish'
END
    case $1 in
    bash) shell=(bash --rcfile ../home/.bashrc -i) ;;
    zsh) shell=(zsh -i) ;;
    fish) shell=(fish --no-config -C 'source ../home/fish') ;;
    esac
}

# KEYS ARGUMENT...: the shell runs bpk with these arguments, and nothing else.
typed() {
    local keys=$1
    shift
    rm -f ../arguments
    PATH=$BATS_TEST_TMPDIR/bin:$PATH HOME=$BATS_TEST_TMPDIR/home ZDOTDIR=$BATS_TEST_TMPDIR/home \
        TERM=dumb LC_ALL=C.UTF-8 "$python" "$tests/lib/typed.py" "$keys\\r" "${shell[@]}" >"$out" 2>&1 ||
        die "$keys: not finished" "$(cat -v "$out")"
    [ -e ../arguments ] || die "$keys: nothing ran" "$(cat -v "$out")"
    cmp -s ../arguments <(printf '%s\n' "$@") || die "$keys:" "$(cat ../arguments)"
    [ ! -e done ] || die "$keys: the shell obeyed a name"
}

# Arrays of these names in an .npz file.
named() { # FILE NAME...
    "$python" -c 'import sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w") as z:
    head = b"{\"descr\": \"<f8\", \"fortran_order\": False, \"shape\": (2,), }".ljust(117) + b"\n"
    for name in sys.argv[2:]:
        z.writestr(name + ".npy", b"\x93NUMPY\x01\x00\x76\x00" + head + bytes(16))' "$@"
}

words_and_lists() {
    need_shell "$1"
    : >a.blp
    : >b.txt
    typed 'bpk me\tim\ta\t' meta import a.blp
    typed 'bpk meta set a.blp b\t' meta set a.blp b.txt
    typed 'bpk help convert-\t' help convert-to-chunked
    typed 'bpk pack --codec zs\tb\t' pack --codec zstd b.txt
    typed 'bpk pack --codec=zs\tb\t' pack --codec=zstd b.txt
    typed 'bpk pack --filter trunc:8,shuf\t b\t' pack --filter trunc:8,shuffle b.txt
    typed 'bpk pack --filter=delta,bits\t b\t' pack --filter=delta,bitshuffle b.txt
    typed 'bpk bench --codec lz4,zs\t b\t' bench --codec lz4,zstd b.txt
    typed 'bpk bench --filter delta,shuf\t b\t' bench --filter delta,shuffle b.txt
    typed 'bpk-mpi --max-time 5 --res\t b\t veri\ta\t' --max-time 5 --resume b.txt verify a.blp
}
@test "bash completes words, and lists behind a comma" { words_and_lists bash; }
@test "zsh completes words, and lists behind a comma" { words_and_lists zsh; }
@test "fish completes words, and lists behind a comma" { words_and_lists fish; }

archives() {
    need_shell "$1"
    mkdir xd xs.b2s
    : >xd/only.txt
    : >x.blp
    : >x.txt
    : >y.txt
    : >z.gsd
    : >z.txt
    : >$'q $(touch done)\'".blp'
    typed 'bpk unpack x.\t' unpack x.blp
    typed 'bpk verify y\t' verify y.txt # any, where there is no archive
    typed 'bpk pack x.t\t' pack x.txt
    typed 'bpk cat z\t' cat z.gsd
    typed 'bpk append x.\tx.t\t' append x.blp x.txt
    typed 'bpk unpack q\t' unpack $'q $(touch done)\'".blp'
    : >'s $(touch done)`touch done`".blp'
    typed "bpk unpack 's\\t" unpack 's $(touch done)`touch done`".blp'
    typed 'bpk unpack "q\t' unpack $'q $(touch done)\'".blp'
    typed 'bpk unpack -O xd\t x.\t' unpack -O "xd$([ "$1" = zsh ] || echo /)" x.blp
    cp x.blp ../home
    typed 'bpk unpack ~/x\t' unpack "$BATS_TEST_TMPDIR/home/x.blp"
}
@test "bash completes archives, where there are any" { archives bash; }
@test "zsh completes archives, where there are any" { archives zsh; }
@test "fish completes archives, where there are any" { archives fish; }

arrays() {
    local hostile='p $(touch done)`touch done`;&|<*?[a]{b,c}#'\''"\'
    need_shell "$1"
    named a.npz vel "$hostile" -x
    "$BPK" pack -q a.npz
    mkfifo pipe.blp
    typed 'bpk cat a.npz.blp --name v\t' cat a.npz.blp --name vel
    typed 'bpk cat a.npz --name=v\t' cat a.npz --name=vel
    typed 'bpk cat pipe.blp a.npz --name v\t' cat pipe.blp a.npz --name vel
    [ "$1" = fish ] || # which tells nothing behind the cursor
        typed 'bpk cat --name  a.npz\x02\x02\x02\x02\x02\x02v\t' cat --name vel a.npz
    typed 'bpk unpack a.npz --name p\t' unpack a.npz --name "$hostile"
    typed "bpk unpack a.npz --name 'p\\t" unpack a.npz --name "$hostile"
    typed 'bpk unpack a.npz --name "p \t' unpack a.npz --name "$hostile"
    typed 'bpk unpack a.npz --name=p\\ \t' unpack a.npz --name="$hostile"
    mkdir -p https:/localhost # a file of that name, too
    cp a.npz https:/localhost
    typed 'bpk cat https://localhost/a.npz --name v\t' cat https://localhost/a.npz --name v
    typed 'bpk cat a.npz --name -\t' cat a.npz --name -
    BPK_OPTIONS=--json typed 'bpk cat a.npz --name v\t' cat a.npz --name vel
}
@test "bash completes names of arrays, and obeys none" { arrays bash; }
@test "zsh completes names of arrays, and obeys none" { arrays zsh; }
@test "fish completes names of arrays, and obeys none" { arrays fish; }

members() {
    need_shell "$1"
    mkdir d
    : >'d/a $(touch done).blp'
    : >d/c:d
    : >$'d/n\e[31m\n$(touch done)'
    tar cf 'run x.tar' d
    typed 'bpk unpack run\\ x.tar:d/a\t' unpack 'run x.tar:d/a $(touch done).blp'
    typed "bpk unpack 'run x.tar:d/a\\t" unpack 'run x.tar:d/a $(touch done).blp'
    typed 'bpk unpack "run x.tar:d/a\t' unpack 'run x.tar:d/a $(touch done).blp'
    typed 'bpk cat run\\ x.tar:d/c\t' cat 'run x.tar:d/c:d'
    if [ "$1" != fish ]; then # which has no way to offer a newline
        typed 'bpk unpack run\\ x.tar:d/n\t' unpack $'run x.tar:d/n\e[31m\n$(touch done)'
        typed "bpk unpack 'run x.tar:d/n\\t" unpack $'run x.tar:d/n\e[31m\n$(touch done)'
        typed 'bpk unpack "run x.tar:d/n\t' unpack $'run x.tar:d/n\e[31m\n$(touch done)'
    fi
    named a.npz vel
    tar cf t.tar a.npz
    typed 'bpk cat t.tar:\t --name v\t' cat t.tar:a.npz --name vel
}
@test "bash completes members of a tar" { members bash; }
@test "zsh completes members of a tar" { members zsh; }
@test "fish completes members of a tar" { members fish; }
