# What the files of promises load: a check of every container that a promise can concern, each in a
# folder of its own. All that fail are named.

# KIND OUTPUT OPTIONS: 30,000 bytes are packed so.
kinds_of() {
    grep -E "^($1) " <<'END'
blp x.blp -z 4K
plain x.blp -z 4K --no-offsets
chunked x.blpd -F chunked -z 4K --superchunk-size 8K
bcolz x.blpd -F chunked --layout bcolz -z 4K
b2frame x.b2frame -z 4K
b2nd x.b2nd --dtype <i4 --shape 125,60 --chunk-shape 16,20
b2sparse x.b2s -z 4K
b2nddir x.b2s --dtype <i4 --shape 125,60 --chunk-shape 16,20
npy x.npy
gsd x.gsd
dcd x.dcd
END
}
files='blp|plain|b2frame|b2nd'
folders='chunked|bcolz|b2sparse|b2nddir'

# CHECK KINDS: CHECK in a folder of its own for each kind, in light runs for every second one. All that
# fail are named.
each() {
    local check=$1 wrong= kind archive options
    need_python
    data noise 60000 both && head -c 30000 both >raw && tail -c 30000 both >other
    while read -r kind archive options; do
        sampled_row=$((sampled_row + 1)) # each kind samples others
        ! light || [ $((sampled_row % 2)) -eq 0 ] || continue
        read -ra options <<<"-q -T 1 $options"
        mkdir "$kind"
        (cd "$kind" && cp ../raw a && cp ../other b && "$check") >"$kind.said" 2>&1 &
        wait $! || wrong+="$kind: $(grep -v Killed "$kind.said" | tail -n 2)"$'\n'
        rm -rf "$kind"
    done < <(kinds_of "$2")
    [ -z "$wrong" ] || die "$wrong"
}
pack_it() {
    case $kind in
    npy | gsd) cp "$tests/fuzz/corpus/layout/$(ls "$tests/fuzz/corpus/layout" | grep -m 1 "^$kind-")" "$archive" ;;
    *) bpk pack -f "${options[@]}" -o "$archive" "$1" ;;
    esac
}
