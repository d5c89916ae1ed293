load lib

# NumPy's files, packed as the arrays they hold, and arrays unpacked to such files.

@test "pack --as-array: every type, shape and order comes back as the same file, from each format" {
    need_numpy
    nd files
    made=$(ls a*.npy | wc -l)
    for format in "${editable[@]}"; do
        files=(a*.npy)
        case $format in
        chunked) ;;
        b2*) # keeps arrays in C order alone
            files=()
            for file in a*.npy; do grep -qa "'fortran_order': True" "$file" || files+=("$file"); done
            ;;
        esac
        for i in "${!files[@]}"; do sampled 3 || unset "files[i]"; done
        mkdir o
        quietly bpk pack -q --as-array -F $format -O o "${files[@]}"
        quietly bpk unpack -q o/*
        count=0
        for file in "${files[@]}"; do
            same "o/$file" "$file"
            count=$((count + 1))
        done
        echo "# $format: $count of ${#files[@]} files" >&3
        rm -rf o
    done
    [ "$made" -ge 200 ]
}

@test "pack --as-array: python bloscpack opens it as that array" {
    need_bloscpack
    need_numpy
    nd files
    quietly bpk pack -q --as-array a*.npy
    quietly bpk pack -q --as-array -z 1000 -o small.blp a016.npy
    pairs=(small.blp a016.npy)
    for file in a*.npy; do pairs+=("$file.blp" "$file"); done
    bloscpack compare-npy "${pairs[@]}"
    echo "# $((${#pairs[@]} / 2)) of $((${#pairs[@]} / 2)) arrays" >&3
}

@test "pack --as-array, unpack: through pipes" {
    need_numpy
    nd files
    for file in a010.npy a015.npy a208.npy a002.npy a004.npy; do
        bpk pack --as-array <$file >x.blp
        quietly bpk unpack -f -o x.npy x.blp
        same x.npy $file
        cat $file | bpk pack --as-array | cat | bpk unpack -f -o x.npy
        same x.npy $file
        quietly bpk unpack -f --raw -o x.npy x.blp
        bpk cat x.blp | cmp - x.npy
        bpk unpack -c x.blp | cmp - x.npy
    done
}

@test "pack --as-array: what is none, or not whole, is refused" {
    need_numpy
    nd files
    "$python" -c 'import numpy as np
np.save("objects.npy", np.array([None]), allow_pickle=True)
np.save("padded.npy", np.zeros(3, np.dtype([("a", "u1"), ("b", "<i4")], align=True)))
np.save("nested.npy", np.fromfile("a000.npy", "u1"))'
    data text 5000 text
    head -c 1000 a006.npy >short.npy
    { cat a006.npy && echo; } >long.npy
    head -c 50 a006.npy >torn.npy
    refuses 1 "is not an .npy file" bpk pack --as-array text
    refuses 1 "Python's objects" bpk pack --as-array objects.npy
    refuses 1 "does not know" bpk pack --as-array padded.npy
    refuses 1 "whose data are another .npy file" bpk pack --as-array nested.npy
    refuses 1 "has 872 bytes, but an array of 1000 items of 8 bytes has 8000$" bpk pack --as-array short.npy
    refuses 1 "has 8001 bytes" bpk pack --as-array long.npy
    refuses 2 "npy head" bpk pack --as-array torn.npy
    refuses 64 "only one of --as-array and --dtype" bpk pack --as-array --dtype '<f8' a006.npy
    refuses 64 "only one of --as-array and --shape" bpk pack --as-array --shape 3 a006.npy
    refuses 64 "only one of --as-array and --stream-size" bpk pack --as-array --stream-size 3 -c
    refuses 64 "without --metadata and --set" bpk pack --as-array --set x=1 a006.npy
    refuses 64 "integers" bpk pack --as-array -F b2frame --filter int_trunc:3 --lossy a006.npy
    refuses 1 "array is in Fortran order" bpk pack --as-array -F b2frame a009.npy
    quietly bpk pack -q objects.npy nested.npy torn.npy
    quietly bpk unpack -f objects.npy.blp nested.npy.blp torn.npy.blp
}

@test "pack --as-array --rm keeps a file whose head would be written otherwise" {
    need_numpy
    nd files
    sed '1s/ \n/\n/; 1s/, }  /,  } /' a006.npy >b.npy
    cp b.npy before
    refuses 1 "head that unpack would write differently" bpk pack --as-array --rm b.npy
    quietly bpk pack --as-array b.npy
    cp a006.npy c.npy
    quietly bpk pack --as-array --rm c.npy
    [ ! -e c.npy ]
    quietly bpk unpack c.npy.blp
    same c.npy a006.npy
}

@test "unpack: arrays told in any spelling become NumPy's files" {
    need_numpy
    nd make '<f8' 30,5 >raw
    count=0
    while read -r dtype order expected; do
        printf '{"container":"numpy","order":"%s","shape":[30,5],"dtype":%s}' "$order" "$dtype" >meta
        quietly bpk pack -f -q --metadata meta -o x.blp raw
        quietly bpk unpack -f -o x.npy x.blp
        "$python" -c 'import sys, numpy as np
a = np.load("x.npy"); expected = np.fromfile("raw", eval(sys.argv[1])).reshape((30, 5), order=sys.argv[2])
assert a.dtype == expected.dtype and (a == expected).all() and a.flags.f_contiguous == (sys.argv[2] == "F")
' "$expected" "$order"
        count=$((count + 1))
    done <<'ROWS'
"'<f8'" C '<f8'
"<f8" C '<f8'
"float64" F '<f8'
"'>f8'" F '>f8'
"[('a',\u0020'<i4'),('b',\u0020'|V4')]" C [('a','<i4'),('b','|V4')]
[["a","<i4"],["b","|V4"]] C [('a','<i4'),('b','|V4')]
"'<M8[s]'" C '<M8[s]'
ROWS
    [ "$count" -eq 7 ]
}

@test "unpack: what is no array, or another one, or a file already, is written as it is" {
    need_numpy
    nd files
    nd make '<f8' 30,5 >raw
    printf '{"container":"numpy","order":"C","shape":[30,6],"dtype":"<f8"}' >meta
    quietly bpk pack -q --metadata meta -o other.blp raw
    refuses 1 "unpacks to 1200 bytes, its metadata record an array of 1440" \
        bpk unpack -o x.npy other.blp
    quietly bpk unpack --raw -o x.npy other.blp
    same x.npy raw
    cat raw | bpk pack -q --metadata meta >stream.blp
    cat stream.blp | refuses 1 "record an array of 1440" bpk unpack -o y.npy
    for options in "" "--dtype |u1" "--dtype |u1 -z 4"; do
        # shellcheck disable=SC2086
        quietly bpk pack -f -q $options a006.npy
        cp a006.npy kept
        quietly bpk unpack -f a006.npy.blp
        same a006.npy kept
        cat a006.npy.blp | bpk unpack -f -o a006.npy
        same a006.npy kept
    done
    quietly bpk pack -q -o y.blp raw
    quietly bpk unpack -o y.npy y.blp
    same y.npy raw
}

@test "unpack --keep-broken: a part of a NumPy file begins as one" {
    need_numpy
    nd make '<f8' 30000 >raw
    quietly bpk pack -q -z 20000 --dtype '<f8' -o x.npy.blp raw
    bpk info -vv x.npy.blp | awk '$1 == 7 && NF > 8 { print $2 }' >offset
    printf 'xxxx' | dd of=x.npy.blp bs=1 seek=$(($(cat offset) + 20)) conv=notrunc status=none
    status=0
    bpk unpack --keep-broken x.npy.blp 2>"$err" || status=$?
    [ "$status" -eq 2 ]
    says 'holds what came before'
    tail -c +129 x.npy.partial | cmp - <(head -c 140000 raw)
}

@test "unpack: arrays of python bloscpack as NumPy saves them" {
    need_fixtures bloscpack
    for file in "$BPK_FIXTURES"/bloscpack/np_*.blp; do
        quietly bpk unpack -f -o x.npy "$file"
        same x.npy "${file%.blp}.npy"
    done
}

@test "append: an .npy file is refused where its header would become items" {
    {
        printf '\x93NUMPY\x01\x00\x76\x00'
        printf '%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }"
        printf '%012d' 0
    } >x.npy
    printf '%012d' 0 >x.f4
    quietly bpk pack --as-array -o a.blp x.npy
    quietly bpk pack --dtype '<f4' -o a.b2nd x.f4
    quietly bpk pack -o a.b2frame x.npy
    for archive in a.blp a.b2nd a.b2frame; do
        before=$(cksum $archive)
        for how in "" "--commit-interval 1"; do
            refuses 1 "x.npy: is a NumPy file, .*$archive; --bytes appends" \
                bpk append $how $archive x.npy
            refuses 1 "x.npy: is a NumPy file" bpk append $how $archive x.f4 x.npy
            refuses 1 "standard input: is a NumPy file" bpk append $how $archive < <(cat x.npy)
        done
        [ "$(cksum $archive)" = "$before" ]
    done
    for archive in a.blp a.b2nd; do
        refuses 1 "x.npy: is a NumPy file, $archive holds an array without such a header" \
            bpk append --follow x.npy --idle 1 $archive
        quietly bpk append --bytes $archive x.npy
        cat x.f4 x.npy | cmp - <(bpk cat $archive)
    done
    cp x.npy grown.npy
    cat x.f4 >>grown.npy
    quietly bpk append --follow grown.npy --idle 1 a.b2frame
    bpk cat a.b2frame | cmp - grown.npy
    quietly bpk pack -o plain.blp x.f4
    quietly bpk append plain.blp x.npy
}
