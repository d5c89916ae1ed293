#!/bin/sh
# Calls go down only: reads the include lines of src and prints TAP. HACKING.md, "The house", has
# the table this checks.
set -u
top=${top_srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
. "$(dirname "$0")/tap"

# Offending include lines below the folder $1, one a line: FILE: HEADER: why.
offences() {
    (cd "$1" && find src -name '*.[ch]' -type f | sort | xargs awk '
BEGIN {
    may["base"] = " "
    may["checksum"] = " base "
    may["chunk"] = " base "
    may["io"] = " base checksum "
    may["layout"] = " base io "
    may["format"] = " base io chunk checksum "
    may["choose"] = " base layout io chunk "
    may["flow"] = " base choose format layout io chunk "
    may["mpi"] = " base flow "
    may["archive"] = " base flow choose format layout io chunk "
    may["plot"] = " base "
    may["parity"] = " base checksum io "
    may["cli"] = " base archive plot parity mpi flow choose format layout io chunk checksum "
    # what a room must not know shows in the system headers it asks for
    only["mpi.h"] = " mpi "
    only["getopt.h"] = " cli "
    only["signal.h"] = " flow cli "
    only["pthread.h"] = " base checksum io flow archive cli "
    only["png.h"] = " plot "
    only["jansson.h"] = " base "
    only["zstd.h"] = only["lz4.h"] = only["lz4hc.h"] = only["snappy-c.h"] = " chunk "
}
function offence(why) { printf "%s: %s: %s\n", FILENAME, header, why }
/^[ \t]*#[ \t]*include[ \t]*</ {
    split(FILENAME, path, "/"); room = path[2]
    header = $0; sub(/^[^<]*</, "", header); sub(/>.*/, "", header)
    if (header in only && index(only[header], " " room " ") == 0)
        offence("not for the room " room)
    if (header ~ /^openssl\// && room != "checksum")
        offence("not for the room " room)
}
/^[ \t]*#[ \t]*include[ \t]*"/ {
    n = split(FILENAME, path, "/"); room = path[2]
    header = $0; sub(/^[^"]*"/, "", header); sub(/".*/, "", header)
    if (header == "config.h")
        next
    if (split(header, to, "/") < 2 || !(to[1] in may)) {
        offence("begins with no room")
        next
    }
    if (to[1] == room) {
        # formats do not know each other, but for the file format that a directory is made of;
        # formats.c, the table, knows them all
        if (path[3] == "chunkdir" && header == "format/bloscpack/bloscpack.h")
            next
        if (room == "format" && header ~ /^format\/.*\// && FILENAME != "src/format/formats.c" &&
            path[3] != to[2])
            offence("belongs to another format")
        next
    }
    if (index(may[room], " " to[1] " ") == 0)
        offence("goes up or sideways from the room " room)
    else if (header != to[1] "/" to[1] ".h")
        offence("is not the door of its room")
}')
}

# Does a file $1 with the line $2 count as an offence?
planted() {
    rm -rf "$scratch/src"
    mkdir -p "$scratch/$(dirname "$1")"
    printf '%s\n' "$2" >"$scratch/$1"
    [ -n "$(offences "$scratch")" ]
}

echo 1..18
planted src/chunk/a.c '#include "io/io.h"'
report $? "a call sideways is found"
planted src/choose/a.c '#include "flow/flow.h"'
report $? "choosing that calls the flow is found"
planted src/choose/a.c '#include "format/format.h"'
report $? "choosing that knows formats is found"
planted src/base/a.c '#include "cli/cli.h"'
report $? "a call up is found"
planted src/flow/a.c '#include "format/bloscpack/bloscpack.h"'
report $? "a way round the door is found"
planted src/cli/a.c '#include "chunk/codec/codec.h"'
report $? "an inner room used from outside is found"
planted src/format/chunk.c '# include "format/bloscpack/bloscpack.h"'
report $? "a format that knows another is found"
planted src/format/bloscpack/a.c '#include "format/chunkdir/chunkdir.h"'
report $? "a file format that knows the directory made of it is found"
planted src/archive/a.c '#include "cli/opt.h"'
report $? "options in the room of archives are found"
planted src/archive/a.c '#include <signal.h>'
report $? "signals in the room of archives are found"
planted src/plot/a.c '#include "archive/archive.h"'
report $? "a picture that knows archives is found"
planted src/chunk/a.c '#include <pthread.h>'
report $? "threads in a room without threads are found"
planted src/flow/a.c '#include <mpi.h>'
report $? "a room but mpi that knows MPI is found"
planted src/flow/a.c '#include "plan.h"'
report $? "an include line without its room is found"
! planted src/format/a.c '#include "chunk/chunk.h"'
report $? "a door below is let through"
! planted src/format/chunkdir/a.c '#include "format/bloscpack/bloscpack.h"'
report $? "a directory that opens the files it is made of is let through"
! planted src/chunk/codec/a.c '#include "chunk/codec/codec.h"'
report $? "a room's own header is let through"

found=$(offences "$top")
[ -z "$found" ]
report $? "calls go down only, through doors"
[ -z "$found" ] || printf '%s\n' "$found" | sed 's/^/# /'
