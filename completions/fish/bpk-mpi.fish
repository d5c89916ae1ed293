# fish completion of bpk-mpi
# Made by gendoc from the tables of commands and options; edit those.

# true for an option before the command that takes a word
function __bpk_takes # OPTION
    contains -- $argv[1] --max-time --resume
end

# the words before the cursor that are no options: the command and its operands
function __bpk_line
    set -l words (commandline -opc)
    set -e words[1]
    while string match -q -- '-*' "$words[1]"
        __bpk_takes $words[1]; and set -e words[1]
        set -e words[1]
    end
    set -q words[1]; and string match -rv '^-' -- $words
end

# true for that command; for its operand NUMBER, which begins at 1
function __bpk_is # COMMAND [NUMBER]
    set -l words (__bpk_line)
    test "$words[1]" = $argv[1]; or return
    test (count $argv) -eq 1; or test (count $words) -eq $argv[2]
end

# The names in a file; no URL and no pipe is opened. fish takes a line for a candidate, and the text
# behind a tab for its description.
function __bpk_names # FILE
    set -l file (string replace -r '^~/' ~/ -- "$argv[1]")
    set -l plain (string replace -r '\.tar:.*' .tar -- $file)
    set -l program (string replace -r '^~/' ~/ -- (commandline -opc)[1] | string replace -r -- '-mpi$' '')
    string match -qr '^-|://' -- $file; and return
    test -f "$plain" -o -d "$plain"; or return
    for name in (BPK_OPTIONS= $program ls -0 -- $file 2>/dev/null </dev/null | string split0)
        string match -qr '^-|[\n\t]' -- $name; or printf '%s\n' $name
    end
end

# The arrays of the first file that has any; fish tells no words behind the cursor.
function __bpk_arrays
    for word in (commandline -opc)[2..-1]
        set -l names (__bpk_names $word)
        set -q names[1]; or continue
        printf '%s\n' $names
        return
    end
end

# the members of a tar, or archives and directories; false if there are none
function __bpk_archives # SUFFIX...
    set -l word (commandline -ct)
    set word (string unescape -- "$word"); or return
    set -l path (string replace -r '^~/' ~/ -- "$word")
    set -l found
    if string match -q '*.tar:*' -- "$word"
        set -l tar (string replace -r '\.tar:.*' .tar -- "$word")
        set found $tar:(__bpk_names $tar)
    else
        set -l suffixes (string join '|' $argv)
        set -l all $path*
        set -q all[1]; and set found (string match -r "^.*\.(?:$suffixes)\$" -- $all)
        set -q found[1]; or return
        for each in $all
            test -d $each; and not contains -- $each $found; and set -a found $each/
        end
        set found (string replace -- "$path" "$word" $found)
    end
    set -q found[1]; and string match -rv '[\n\t]' -- $found
end

complete -c bpk-mpi -n '__bpk_is ""' -l max-time -x -d 'stop early after SECONDS, with status 4'
complete -c bpk-mpi -n '__bpk_is ""' -l resume -r -F -d 'note in the file STATE what is done, and pass it over'
complete -c bpk-mpi -n '__bpk_is ""' -s h -l help -d 'print this help'
complete -c bpk-mpi -n '__bpk_is ""' -s V -l version -d 'print the version, the features built in and those of this machine'
complete -c bpk-mpi -n '__bpk_is ""' -f -a pack -d 'pack files, or standard input, into archives'
complete -c bpk-mpi -n '__bpk_is ""' -f -a unpack -d 'restore the raw data of archives'
complete -c bpk-mpi -n '__bpk_is ""' -f -a verify -d 'prove that archives are whole'
complete -c bpk-mpi -n '__bpk_is ""' -f -a convert -d 'convert an archive to another format, or recompress it'
complete -c bpk-mpi -n '__bpk_is ""' -f -a cmp -d 'compare the unpacked data of two archives or files'
complete -c bpk-mpi -n '__bpk_is ""' -f -a help -d 'open the manual page of a command'
complete -c bpk-mpi -n '__bpk_is ""' -f -a version -d 'print the version and the features built in'
complete -c bpk-mpi -n '__bpk_is pack' -s F -l format -x -a 'blp chunked b2frame b2sparse' -d 'write format NAME'
complete -c bpk-mpi -n '__bpk_is pack' -l level -x -d 'the same as a number from 0 to 9'
complete -c bpk-mpi -n '__bpk_is pack' -l codec -x -a 'blosclz lz4 lz4hc snappy zlib zstd' -d 'pack with codec NAME'
complete -c bpk-mpi -n '__bpk_is pack' -l filter -x -a '(__fish_append , auto none shuffle bitshuffle delta bytedelta trunc int_trunc)' -d 'filter items before packing, by LIST in its order'
complete -c bpk-mpi -n '__bpk_is pack' -l lossy -d 'allow filters that lose precision'
complete -c bpk-mpi -n '__bpk_is pack' -l dictionary -d 'give each chunk a dictionary for its blocks'
complete -c bpk-mpi -n '__bpk_is pack' -s t -l typesize -x -d 'items are N bytes (1 to 255, or auto)'
complete -c bpk-mpi -n '__bpk_is pack' -s z -l chunk-size -x -d 'pack SIZE bytes of raw data at a time'
complete -c bpk-mpi -n '__bpk_is pack' -l block-size -x -d 'divide chunks into blocks of SIZE bytes'
complete -c bpk-mpi -n '__bpk_is pack' -l plain -d 'pack plain bytes, without looking for arrays in them'
complete -c bpk-mpi -n '__bpk_is pack' -l checksum -x -a 'none adler32 crc32 md5 sha1 sha224 sha256 sha384 sha512' -d 'protect every chunk with checksum NAME'
complete -c bpk-mpi -n '__bpk_is pack' -l seal -d 'record a digest over the whole archive'
complete -c bpk-mpi -n '__bpk_is pack' -l identity -d 'record the tree that bpk sum --tree finds, in the metadata'
complete -c bpk-mpi -n '__bpk_is pack' -l slack -x -d 'leave room in each chunk: N bytes, or P percent of it'
complete -c bpk-mpi -n '__bpk_is pack' -l no-offsets -d 'write no table of chunk offsets'
complete -c bpk-mpi -n '__bpk_is pack' -l append-space -x -d 'leave room in the table of offsets for N more chunks'
complete -c bpk-mpi -n '__bpk_is pack' -l layout -x -a 'blaze bcolz' -d 'arrange the files of a directory in layout NAME'
complete -c bpk-mpi -n '__bpk_is pack' -l superchunk-size -x -d 'put SIZE bytes of raw data into each file of a directory'
complete -c bpk-mpi -n '__bpk_is pack' -l dtype -x -d 'the data is an array of NumPy'\''s TYPE'
complete -c bpk-mpi -n '__bpk_is pack' -l shape -x -d 'the array has A rows of B ..., in C order'
complete -c bpk-mpi -n '__bpk_is pack' -l as-array -d 'pack the array inside an .npy file, not the file'
complete -c bpk-mpi -n '__bpk_is pack' -l predict -d 'predict numbers from the frames, or neighbours, before them'
complete -c bpk-mpi -n '__bpk_is pack' -l key-frames -x -d 'with --predict: start again after at most K frames'
complete -c bpk-mpi -n '__bpk_is pack' -l chunk-shape -x -d 'keep an array in chunks of A by B by ... items'
complete -c bpk-mpi -n '__bpk_is pack' -l block-shape -x -d 'divide the chunks of an array into blocks of A by B by ... items'
complete -c bpk-mpi -n '__bpk_is pack' -l metadata -r -F -d 'store the JSON text in FILE with the data'
complete -c bpk-mpi -n '__bpk_is pack' -l set -x -d 'set one member of the metadata; may be repeated'
complete -c bpk-mpi -n '__bpk_is pack' -l compare -d 'unpack every chunk again and compare before it is written'
complete -c bpk-mpi -n '__bpk_is pack' -l parity -x -d 'write ARCHIVE.bpp, too, which restores up to P percent of the archive'
complete -c bpk-mpi -n '__bpk_is pack' -l stream-size -x -d 'standard input has exactly SIZE bytes'
complete -c bpk-mpi -n '__bpk_is pack' -s r -l recursive -d 'take the files below the directories named'
complete -c bpk-mpi -n '__bpk_is pack' -l include -x -d 'with -r: only files that match GLOB; may be repeated'
complete -c bpk-mpi -n '__bpk_is pack' -l exclude -x -d 'with -r: no files or directories that match GLOB'
complete -c bpk-mpi -n '__bpk_is pack' -l files0-from -r -F -d 'take the operands from FILE, each ended by a NUL byte'
complete -c bpk-mpi -n '__bpk_is pack' -l shard -x -d 'only share I of N, from 1 to N, of the files'
complete -c bpk-mpi -n '__bpk_is pack' -s c -l stdout -d 'write to standard output'
complete -c bpk-mpi -n '__bpk_is pack' -s o -l output -r -F -d 'write to FILE; - is standard output'
complete -c bpk-mpi -n '__bpk_is pack' -s O -l output-dir -x -a '(__fish_complete_directories)' -d 'write into directory DIR instead of beside the source'
complete -c bpk-mpi -n '__bpk_is pack' -l update -d 'skip files whose result is there and not older'
complete -c bpk-mpi -n '__bpk_is pack' -s f -l force -d 'replace existing files; write binary data to a terminal'
complete -c bpk-mpi -n '__bpk_is pack' -s k -l keep -d 'keep the source (default)'
complete -c bpk-mpi -n '__bpk_is pack' -l rm -d 'delete the source once the result is safe'
complete -c bpk-mpi -n '__bpk_is pack' -l no-sync -d 'do not wait until the result is on the disk'
complete -c bpk-mpi -n '__bpk_is pack' -l connections -x -d 'send N requests at a time for a URL (default 8)'
complete -c bpk-mpi -n '__bpk_is pack' -l timeout -x -d 'give a URL up after SECONDS without data (default 60)'
complete -c bpk-mpi -n '__bpk_is pack' -l max-download -x -d 'refuse to download a whole URL of more than SIZE (default 1G)'
complete -c bpk-mpi -n '__bpk_is pack' -l endpoint -x -d 'use the store at URL for s3:// URLs, not Amazon'
complete -c bpk-mpi -n '__bpk_is pack' -l region -x -d 'the region of s3:// URLs (default us-east-1)'
complete -c bpk-mpi -n '__bpk_is pack' -l cache -x -a '(__fish_complete_directories)' -d 'keep what is read of URLs in DIR, for later commands'
complete -c bpk-mpi -n '__bpk_is pack' -l cache-size -x -d 'keep at most SIZE in --cache (default 1G)'
complete -c bpk-mpi -n '__bpk_is pack' -s T -l threads -x -d 'use N threads; 0 (default): all usable ones'
complete -c bpk-mpi -n '__bpk_is pack' -l memory-limit -x -d 'refuse work that needs more than SIZE of memory'
complete -c bpk-mpi -n '__bpk_is pack' -s q -l quiet -d 'print errors only'
complete -c bpk-mpi -n '__bpk_is pack' -s v -l verbose -d 'print more; twice: even more'
complete -c bpk-mpi -n '__bpk_is pack' -l progress -x -a 'auto always never' -d 'show a progress bar on standard error'
complete -c bpk-mpi -n '__bpk_is pack' -l json -d 'print results as JSON, one object a line'
complete -c bpk-mpi -n '__bpk_is pack' -s h -l help -d 'print this help'
complete -c bpk-mpi -n '__bpk_is unpack; and __bpk_archives blp blpd b2frame b2nd b2s tar >/dev/null' -f -a '(__bpk_archives blp blpd b2frame b2nd b2s tar)'
complete -c bpk-mpi -n '__bpk_is unpack' -l name -x -a '(__bpk_arrays)' -d 'only the array NAME inside the data'
complete -c bpk-mpi -n '__bpk_is unpack' -l frames -x -d 'the array in the frames from A up to, not including, B'
complete -c bpk-mpi -n '__bpk_is unpack' -l no-defaults -d 'leave out frames that do not hold the array'
complete -c bpk-mpi -n '__bpk_is unpack' -s F -l format -x -a 'blp chunked b2frame b2sparse chunk' -d 'read the source as format NAME'
complete -c bpk-mpi -n '__bpk_is unpack' -l max-output -x -d 'refuse archives that unpack to more than SIZE'
complete -c bpk-mpi -n '__bpk_is unpack' -l raw -d 'write an array'\''s bytes alone, for any name of the result'
complete -c bpk-mpi -n '__bpk_is unpack' -l no-check -d 'do not test checksums'
complete -c bpk-mpi -n '__bpk_is unpack' -l no-marker -d 'accept a stream that ends without an end marker'
complete -c bpk-mpi -n '__bpk_is unpack' -s r -l recursive -d 'take the files below the directories named'
complete -c bpk-mpi -n '__bpk_is unpack' -l include -x -d 'with -r: only files that match GLOB; may be repeated'
complete -c bpk-mpi -n '__bpk_is unpack' -l exclude -x -d 'with -r: no files or directories that match GLOB'
complete -c bpk-mpi -n '__bpk_is unpack' -l files0-from -r -F -d 'take the operands from FILE, each ended by a NUL byte'
complete -c bpk-mpi -n '__bpk_is unpack' -l shard -x -d 'only share I of N, from 1 to N, of the files'
complete -c bpk-mpi -n '__bpk_is unpack' -s c -l stdout -d 'write to standard output'
complete -c bpk-mpi -n '__bpk_is unpack' -s o -l output -r -F -d 'write to FILE; - is standard output'
complete -c bpk-mpi -n '__bpk_is unpack' -s O -l output-dir -x -a '(__fish_complete_directories)' -d 'write into directory DIR instead of beside the source'
complete -c bpk-mpi -n '__bpk_is unpack' -l update -d 'skip files whose result is there and not older'
complete -c bpk-mpi -n '__bpk_is unpack' -l keep-broken -d 'keep the data before damage as NAME.partial'
complete -c bpk-mpi -n '__bpk_is unpack' -l fill -x -a 'zero skip nan' -d 'unpack all intact chunks; damaged ones become zero, nan, or are left out: skip'
complete -c bpk-mpi -n '__bpk_is unpack' -s f -l force -d 'replace existing files; write binary data to a terminal'
complete -c bpk-mpi -n '__bpk_is unpack' -s k -l keep -d 'keep the source (default)'
complete -c bpk-mpi -n '__bpk_is unpack' -l rm -d 'delete the source once the result is safe'
complete -c bpk-mpi -n '__bpk_is unpack' -l no-sync -d 'do not wait until the result is on the disk'
complete -c bpk-mpi -n '__bpk_is unpack' -l connections -x -d 'send N requests at a time for a URL (default 8)'
complete -c bpk-mpi -n '__bpk_is unpack' -l timeout -x -d 'give a URL up after SECONDS without data (default 60)'
complete -c bpk-mpi -n '__bpk_is unpack' -l max-download -x -d 'refuse to download a whole URL of more than SIZE (default 1G)'
complete -c bpk-mpi -n '__bpk_is unpack' -l endpoint -x -d 'use the store at URL for s3:// URLs, not Amazon'
complete -c bpk-mpi -n '__bpk_is unpack' -l region -x -d 'the region of s3:// URLs (default us-east-1)'
complete -c bpk-mpi -n '__bpk_is unpack' -l cache -x -a '(__fish_complete_directories)' -d 'keep what is read of URLs in DIR, for later commands'
complete -c bpk-mpi -n '__bpk_is unpack' -l cache-size -x -d 'keep at most SIZE in --cache (default 1G)'
complete -c bpk-mpi -n '__bpk_is unpack' -s T -l threads -x -d 'use N threads; 0 (default): all usable ones'
complete -c bpk-mpi -n '__bpk_is unpack' -l memory-limit -x -d 'refuse work that needs more than SIZE of memory'
complete -c bpk-mpi -n '__bpk_is unpack' -s q -l quiet -d 'print errors only'
complete -c bpk-mpi -n '__bpk_is unpack' -s v -l verbose -d 'print more; twice: even more'
complete -c bpk-mpi -n '__bpk_is unpack' -l progress -x -a 'auto always never' -d 'show a progress bar on standard error'
complete -c bpk-mpi -n '__bpk_is unpack' -l json -d 'print results as JSON, one object a line'
complete -c bpk-mpi -n '__bpk_is unpack' -s h -l help -d 'print this help'
complete -c bpk-mpi -n '__bpk_is verify; and __bpk_archives blp blpd b2frame b2nd b2s tar gsd dcd trr nc fits npy npz wav >/dev/null' -f -a '(__bpk_archives blp blpd b2frame b2nd b2s tar gsd dcd trr nc fits npy npz wav)'
complete -c bpk-mpi -n '__bpk_is verify' -l quick -d 'test structure and checksums, but do not unpack'
complete -c bpk-mpi -n '__bpk_is verify' -l print-root -d 'print the root of the seal of each archive that is whole'
complete -c bpk-mpi -n '__bpk_is verify' -l root -x -d 'fail unless the root of the seal is HEX'
complete -c bpk-mpi -n '__bpk_is verify' -l roots -r -F -d 'verify the archives of FILE, and fail unless the root of each is that of its line'
complete -c bpk-mpi -n '__bpk_is verify' -l identity -d 'fail unless the archive records the identity of its content, and that is right'
complete -c bpk-mpi -n '__bpk_is verify' -l parity -d 'fail unless the archive has parity that restores it in place'
complete -c bpk-mpi -n '__bpk_is verify' -l min-generation -x -d 'fail if the seal is of a generation below N'
complete -c bpk-mpi -n '__bpk_is verify' -l heal -d 'restore damaged archives in place, by their parity files'
complete -c bpk-mpi -n '__bpk_is verify' -s r -l recursive -d 'take the files below the directories named'
complete -c bpk-mpi -n '__bpk_is verify' -l include -x -d 'with -r: only files that match GLOB; may be repeated'
complete -c bpk-mpi -n '__bpk_is verify' -l exclude -x -d 'with -r: no files or directories that match GLOB'
complete -c bpk-mpi -n '__bpk_is verify' -l files0-from -r -F -d 'take the operands from FILE, each ended by a NUL byte'
complete -c bpk-mpi -n '__bpk_is verify' -l shard -x -d 'only share I of N, from 1 to N, of the files'
complete -c bpk-mpi -n '__bpk_is verify' -l at-least -x -d 'fail if fewer than N archives are found'
complete -c bpk-mpi -n '__bpk_is verify' -l state -r -F -d 'note checks in FILE, and begin with the oldest'
complete -c bpk-mpi -n '__bpk_is verify' -l max-time -x -d 'begin no further file after TIME'
complete -c bpk-mpi -n '__bpk_is verify' -l max-age -x -d 'with --state: fail if a file had no good check for TIME'
complete -c bpk-mpi -n '__bpk_is verify' -l manifest -r -F -d 'fail if a file that FILE names is missing'
complete -c bpk-mpi -n '__bpk_is verify' -l since -x -d 'only files that were changed or made within TIME'
complete -c bpk-mpi -n '__bpk_is verify' -s F -l format -x -a 'blp chunked b2frame b2sparse chunk' -d 'read the source as format NAME'
complete -c bpk-mpi -n '__bpk_is verify' -l no-marker -d 'accept a stream that ends without an end marker'
complete -c bpk-mpi -n '__bpk_is verify' -l connections -x -d 'send N requests at a time for a URL (default 8)'
complete -c bpk-mpi -n '__bpk_is verify' -l timeout -x -d 'give a URL up after SECONDS without data (default 60)'
complete -c bpk-mpi -n '__bpk_is verify' -l max-download -x -d 'refuse to download a whole URL of more than SIZE (default 1G)'
complete -c bpk-mpi -n '__bpk_is verify' -l endpoint -x -d 'use the store at URL for s3:// URLs, not Amazon'
complete -c bpk-mpi -n '__bpk_is verify' -l region -x -d 'the region of s3:// URLs (default us-east-1)'
complete -c bpk-mpi -n '__bpk_is verify' -l cache -x -a '(__fish_complete_directories)' -d 'keep what is read of URLs in DIR, for later commands'
complete -c bpk-mpi -n '__bpk_is verify' -l cache-size -x -d 'keep at most SIZE in --cache (default 1G)'
complete -c bpk-mpi -n '__bpk_is verify' -l limit-rate -x -d 'read at most SIZE of chunks and parity a second'
complete -c bpk-mpi -n '__bpk_is verify' -s T -l threads -x -d 'use N threads; 0 (default): all usable ones'
complete -c bpk-mpi -n '__bpk_is verify' -l memory-limit -x -d 'refuse work that needs more than SIZE of memory'
complete -c bpk-mpi -n '__bpk_is verify' -s q -l quiet -d 'print errors only'
complete -c bpk-mpi -n '__bpk_is verify' -s v -l verbose -d 'print more; twice: even more'
complete -c bpk-mpi -n '__bpk_is verify' -l progress -x -a 'auto always never' -d 'show a progress bar on standard error'
complete -c bpk-mpi -n '__bpk_is verify' -l json -d 'print results as JSON, one object a line'
complete -c bpk-mpi -n '__bpk_is verify' -s h -l help -d 'print this help'
complete -c bpk-mpi -n '__bpk_is convert; and __bpk_archives blp blpd b2frame b2nd b2s tar >/dev/null' -f -a '(__bpk_archives blp blpd b2frame b2nd b2s tar)'
complete -c bpk-mpi -n '__bpk_is convert' -s F -l format -x -a 'blp chunked b2frame b2sparse' -d 'write format NAME'
complete -c bpk-mpi -n '__bpk_is convert' -l retune -d 'choose the packing again, as pack does'
complete -c bpk-mpi -n '__bpk_is convert' -l level -x -d 'the same as a number from 0 to 9'
complete -c bpk-mpi -n '__bpk_is convert' -l codec -x -a 'blosclz lz4 lz4hc snappy zlib zstd' -d 'pack with codec NAME'
complete -c bpk-mpi -n '__bpk_is convert' -l filter -x -a '(__fish_append , auto none shuffle bitshuffle delta bytedelta trunc int_trunc)' -d 'filter items before packing, by LIST in its order'
complete -c bpk-mpi -n '__bpk_is convert' -l lossy -d 'allow filters that lose precision'
complete -c bpk-mpi -n '__bpk_is convert' -l dictionary -d 'give each chunk a dictionary for its blocks'
complete -c bpk-mpi -n '__bpk_is convert' -s t -l typesize -x -d 'items are N bytes (1 to 255, or auto)'
complete -c bpk-mpi -n '__bpk_is convert' -s z -l chunk-size -x -d 'pack SIZE bytes of raw data at a time'
complete -c bpk-mpi -n '__bpk_is convert' -l block-size -x -d 'divide chunks into blocks of SIZE bytes'
complete -c bpk-mpi -n '__bpk_is convert' -l slack -x -d 'leave room in each chunk: N bytes, or P percent of it'
complete -c bpk-mpi -n '__bpk_is convert' -l checksum -x -a 'none adler32 crc32 md5 sha1 sha224 sha256 sha384 sha512' -d 'protect every chunk with checksum NAME'
complete -c bpk-mpi -n '__bpk_is convert' -l seal -d 'record a digest over the whole archive, as pack --seal does'
complete -c bpk-mpi -n '__bpk_is convert' -l identity -d 'record the tree that bpk sum --tree finds, as pack --identity does'
complete -c bpk-mpi -n '__bpk_is convert' -l no-offsets -d 'write no table of chunk offsets'
complete -c bpk-mpi -n '__bpk_is convert' -l append-space -x -d 'leave room in the table of offsets for N more chunks'
complete -c bpk-mpi -n '__bpk_is convert' -l layout -x -a 'blaze bcolz' -d 'arrange the files of a directory in layout NAME'
complete -c bpk-mpi -n '__bpk_is convert' -l superchunk-size -x -d 'put SIZE bytes of raw data into each file of a directory'
complete -c bpk-mpi -n '__bpk_is convert' -l chunk-shape -x -d 'keep an array in chunks of A by B by ... items'
complete -c bpk-mpi -n '__bpk_is convert' -l block-shape -x -d 'divide the chunks of an array into blocks of A by B by ... items'
complete -c bpk-mpi -n '__bpk_is convert' -l no-marker -d 'accept a stream that ends without an end marker'
complete -c bpk-mpi -n '__bpk_is convert' -l max-output -x -d 'refuse archives that unpack to more than SIZE'
complete -c bpk-mpi -n '__bpk_is convert' -s o -l output -r -F -d 'write to FILE; - is standard output'
complete -c bpk-mpi -n '__bpk_is convert' -s f -l force -d 'replace existing files; write binary data to a terminal'
complete -c bpk-mpi -n '__bpk_is convert' -l no-sync -d 'do not wait until the result is on the disk'
complete -c bpk-mpi -n '__bpk_is convert' -l connections -x -d 'send N requests at a time for a URL (default 8)'
complete -c bpk-mpi -n '__bpk_is convert' -l timeout -x -d 'give a URL up after SECONDS without data (default 60)'
complete -c bpk-mpi -n '__bpk_is convert' -l max-download -x -d 'refuse to download a whole URL of more than SIZE (default 1G)'
complete -c bpk-mpi -n '__bpk_is convert' -l endpoint -x -d 'use the store at URL for s3:// URLs, not Amazon'
complete -c bpk-mpi -n '__bpk_is convert' -l region -x -d 'the region of s3:// URLs (default us-east-1)'
complete -c bpk-mpi -n '__bpk_is convert' -l cache -x -a '(__fish_complete_directories)' -d 'keep what is read of URLs in DIR, for later commands'
complete -c bpk-mpi -n '__bpk_is convert' -l cache-size -x -d 'keep at most SIZE in --cache (default 1G)'
complete -c bpk-mpi -n '__bpk_is convert' -s T -l threads -x -d 'use N threads; 0 (default): all usable ones'
complete -c bpk-mpi -n '__bpk_is convert' -l memory-limit -x -d 'refuse work that needs more than SIZE of memory'
complete -c bpk-mpi -n '__bpk_is convert' -s q -l quiet -d 'print errors only'
complete -c bpk-mpi -n '__bpk_is convert' -s v -l verbose -d 'print more; twice: even more'
complete -c bpk-mpi -n '__bpk_is convert' -l progress -x -a 'auto always never' -d 'show a progress bar on standard error'
complete -c bpk-mpi -n '__bpk_is convert' -l json -d 'print results as JSON, one object a line'
complete -c bpk-mpi -n '__bpk_is convert' -s h -l help -d 'print this help'
complete -c bpk-mpi -n '__bpk_is cmp' -l name -x -a '(__bpk_arrays)' -d 'only the array NAME inside the data'
complete -c bpk-mpi -n '__bpk_is cmp' -l frames -x -d 'the array in the frames from A up to, not including, B'
complete -c bpk-mpi -n '__bpk_is cmp' -l no-defaults -d 'leave out frames that do not hold the array'
complete -c bpk-mpi -n '__bpk_is cmp' -l tolerance -x -d 'numbers a and b are equal if |a-b| is at most ABS + REL*|b|'
complete -c bpk-mpi -n '__bpk_is cmp' -l dtype -x -d 'with --tolerance: the data are numbers of NumPy'\''s TYPE'
complete -c bpk-mpi -n '__bpk_is cmp' -l recorded -d 'believe the identities that A and B record, and read only what differs in them'
complete -c bpk-mpi -n '__bpk_is cmp' -s r -l recursive -d 'take the files below the directories named'
complete -c bpk-mpi -n '__bpk_is cmp' -l include -x -d 'with -r: only files that match GLOB; may be repeated'
complete -c bpk-mpi -n '__bpk_is cmp' -l exclude -x -d 'with -r: no files or directories that match GLOB'
complete -c bpk-mpi -n '__bpk_is cmp' -l shard -x -d 'only share I of N, from 1 to N, of the files'
complete -c bpk-mpi -n '__bpk_is cmp' -l no-marker -d 'accept a stream that ends without an end marker'
complete -c bpk-mpi -n '__bpk_is cmp' -l connections -x -d 'send N requests at a time for a URL (default 8)'
complete -c bpk-mpi -n '__bpk_is cmp' -l timeout -x -d 'give a URL up after SECONDS without data (default 60)'
complete -c bpk-mpi -n '__bpk_is cmp' -l max-download -x -d 'refuse to download a whole URL of more than SIZE (default 1G)'
complete -c bpk-mpi -n '__bpk_is cmp' -l endpoint -x -d 'use the store at URL for s3:// URLs, not Amazon'
complete -c bpk-mpi -n '__bpk_is cmp' -l region -x -d 'the region of s3:// URLs (default us-east-1)'
complete -c bpk-mpi -n '__bpk_is cmp' -l cache -x -a '(__fish_complete_directories)' -d 'keep what is read of URLs in DIR, for later commands'
complete -c bpk-mpi -n '__bpk_is cmp' -l cache-size -x -d 'keep at most SIZE in --cache (default 1G)'
complete -c bpk-mpi -n '__bpk_is cmp' -s T -l threads -x -d 'use N threads; 0 (default): all usable ones'
complete -c bpk-mpi -n '__bpk_is cmp' -l memory-limit -x -d 'refuse work that needs more than SIZE of memory'
complete -c bpk-mpi -n '__bpk_is cmp' -s q -l quiet -d 'print errors only; the status tells'
complete -c bpk-mpi -n '__bpk_is cmp' -s v -l verbose -d 'print more; twice: even more'
complete -c bpk-mpi -n '__bpk_is cmp' -l progress -x -a 'auto always never' -d 'show a progress bar on standard error'
complete -c bpk-mpi -n '__bpk_is cmp' -l json -d 'print results as JSON, one object a line'
complete -c bpk-mpi -n '__bpk_is cmp' -s h -l help -d 'print this help'
complete -c bpk-mpi -n '__bpk_is help' -f -a 'pack unpack verify convert cmp help version'
complete -c bpk-mpi -n '__bpk_is help' -s h -l help -d 'print this help'
complete -c bpk-mpi -n '__bpk_is version' -f
complete -c bpk-mpi -n '__bpk_is version' -s h -l help -d 'print this help'
