load lib

# cat --slice: parts of arrays of every kind, in C's order and Fortran's, as NumPy takes them.

# All rows, COUNT NPY COMMAND..., in the file rows agree; the slices are counted.
agree() {
    nd cuts <rows
    awk '{ sum += $1 } END { print "# " sum " of " sum " slices" }' rows >&3
}

@test "cat --slice: .npy files, packed as files and as arrays" {
    need_numpy
    nd files
    files=(a*.npy)
    for i in "${!files[@]}"; do sampled 5 || unset "files[i]"; done
    mkdir array
    quietly bpk pack -q -1 -z 500 "${files[@]}"
    quietly bpk pack -q -1 --as-array -z 500 -O array "${files[@]}"
    quietly bpk pack -q -1 --as-array -F chunked -O array "${files[@]}"
    for file in "${files[@]}"; do
        echo "3 $file $BPK cat $file"
        echo "1 $file $BPK cat $file.blp"
        echo "2 $file $BPK cat array/$file.blp"
        echo "2 $file $BPK cat array/$file.blpd"
    done >rows
    agree
}

@test "cat --slice --name: arrays of an .npz, packed or not" {
    need_numpy
    "$python" -c 'import numpy as np
a = np.arange(30 * 20 * 10, dtype="<i4").reshape(30, 20, 10)
np.savez("x.npz", c=a, f=np.asfortranarray(a.astype(">f8")), one=np.float32(3))'
    quietly bpk pack -q -z 1000 x.npz
    for file in x.npz x.npz.blp; do
        for name in c f one; do echo "20 x.npz:$name $BPK cat --name $name $file"; done
    done >rows
    agree
}

@test "cat --slice: steps of arrays in chunks of several dimensions, from files and pipes" {
    need_numpy
    "$python" -c 'import numpy as np
np.save("a.npy", np.random.default_rng(3).integers(0, 1 << 40, (70, 50, 30)))'
    for format in b2frame b2sparse; do
        quietly bpk pack -q -1 --as-array -F $format --chunk-shape 20,20,20 --block-shape 7,10,20 -o a.$format a.npy
        echo "15 a.npy $BPK cat a.$format"
    done >rows
    agree
    cat a.b2frame | bpk cat --slice ::3,5,1:20:4 | cmp - <(bpk cat --slice ::3,5,1:20:4 a.npy)
    # only the chunks of the box are read: another one may be damaged
    quietly bpk pack -q -1 --as-array -F b2frame --chunk-shape 10,50,30 --block-shape 10,50,30 -o d.b2nd a.npy
    bpk cat --slice 0:50:10,::7,3 a.npy >expected
    printf x | dd of=d.b2nd bs=1 seek=$(($(stat -c %s d.b2nd) / 14 * 11)) conv=notrunc status=none
    refuses 2 "d.b2nd: " bpk cat --slice ::10,::7,3 d.b2nd
    bpk cat --slice 0:50:10,::7,3 d.b2nd | cmp - expected
}

@test "cat --slice: a few rows of large blocks" {
    need_numpy
    "$python" -c 'import numpy as np
a = (np.arange(60 * 40000, dtype="<i4") // 7).reshape(60, 40000)
a.tofile("a")
for i, part in enumerate((np.s_[7:9], np.s_[59, 9990:30010], np.s_[:, 19999:20001], np.s_[3:50:, 5])):
    a[part].tofile("part-%d" % i)'
    for filter in none shuffle bitshuffle; do
        bpk pack -q -f --filter $filter --dtype '<i4' --shape 60,40000 --chunk-shape 60,40000 --block-shape 60,10000 -o a.b2nd a
        i=0
        for slice in 7:9 59,9990:30010 :,19999:20001 3:50,5; do
            bpk cat --slice $slice a.b2nd >part
            cmp part part-$i || die "$filter, $slice"
            i=$((i + 1))
        done
    done
}

@test "cat --slice --name: of each frame, and of what stands for an array that is not there" {
    cp "$tests/fuzz/corpus/layout/gsd-2" .
    bpk pack -q gsd-2
    for file in gsd-2 gsd-2.blp; do
        numbers() { bpk cat --name "$@" $file | od -A n -v -t f4 | tr -s ' \n' ' '; }
        [ "$(numbers particles/position --slice 1:,:2)" = ' 3 4 1 1 ' ]
        [ "$(numbers particles/position --slice :,-1 --frames 0:1)" = ' 2 5 ' ]
        [ "$(numbers particles/mass --slice -1)" = ' 1 1 ' ]
        [ "$(numbers particles/orientation --slice 1,:2 --frames 1:)" = ' 1 0 ' ]
        [ "$(numbers particles/position --slice 2: | wc -w)" = 0 ]
        [ "$(numbers particles/position --slice ' 1: , :2 ')" = ' 3 4 1 1 ' ]
        [ "$(numbers particles/position --slice ::2,::2)" = "$(numbers particles/position --slice 0:1,0:3:2)" ]
        refuses 64 "'0:10:-2': a step is a number from 1" bpk cat --name particles/position --slice 0:10:-2 $file
        refuses 64 "'::0': a step is a number from 1" bpk cat --name particles/position --slice ::0 $file
        refuses 64 "'1:2:3:4' is not a range" bpk cat --name particles/position --slice 1:2:3:4 $file
        refuses 64 "'x' is not a range, expected N, A:B or A:B:STEP" bpk cat --name particles/position --slice x $file
        refuses 64 "index 2 leaves dimension 0" bpk cat --name particles/position --slice 2 $file
        refuses 1 "arrays, --slice needs the --name of one" bpk cat --slice 2 $file
    done
    data text 5000 text
    bpk pack -q text
    refuses 1 "is not an array" bpk cat --slice 2 text.blp
    refuses 1 "is not an array" bpk cat --slice 2 text
}

@test "cat --slice: an array in Fortran's order that is larger than memory for it" {
    need_numpy
    light && skip "a slow build"
    "$python" -c 'import numpy as np
np.save("f.npy", np.asfortranarray(np.arange(2200 * 2200, dtype="<f8").reshape(2200, 2200)))
np.save("w.npy", np.asfortranarray(np.arange(2 * 9000000, dtype="<i4").reshape(2, 1000, 9000)))'
    quietly bpk pack -q -4 --as-array f.npy w.npy
    for file in f w; do
        sampled 2 || continue
        "$python" -c 'import sys, numpy as np
np.ascontiguousarray(np.load(sys.argv[1])).tofile("raw")' $file.npy
        bpk cat --slice ... $file.npy | cmp - raw
        bpk cat --slice ... $file.npy.blp | cmp - raw
        # one pass
        cat $file.npy.blp | bpk cat --slice 1:,5:500 | cmp - <(bpk cat --slice 1:,5:500 $file.npy)
    done
    refuses 1 "comes through a pipe" bash -c 'cat f.npy.blp | "$BPK" cat --slice ...'
    echo "10 f.npy $BPK cat f.npy.blp" >rows
    agree
}

@test "cat --slice reads the runs that it needs" {
    need_numpy
    need_strace
    need_plain_build
    "$python" -c 'import numpy as np
np.save("a.npy", np.random.default_rng(1).integers(0, 1 << 60, (2000, 2000)))'
    quietly bpk pack -q --as-array -z 64K a.npy
    for file in a.npy a.npy.blp; do
        strace -f -y -e trace=read,pread64 -o trace "$BPK" cat --slice 1230,777:1500 $file >got
        "$python" -c 'import numpy as np
np.load("a.npy")[1230, 777:1500].tofile("expected")'
        same got expected
        bytes=$(awk -F' = ' -v f="/$file>" 'index($0, f) { sum += $NF } END { print sum + 0 }' trace)
        echo "# $file: $bytes bytes read for $(stat -c %s got) of $(stat -c %s $file)" >&3
        [ "$bytes" -lt 400000 ] || die "$bytes bytes read"
    done
}
