/*
 * bpk: packs binary and simulation data into archives of Blosc chunks.
 *
 * A map of the house; calls go down only. The first comment of each file says what it is for, and
 * who calls it.
 *
 *     cli                argv, stdio, signals, exit: main.c, a file per command, and shared parts
 *                        opt.c command.h    options and commands as rows of tables
 *                        transfer.c input.c      opening, naming, running, keeping
 *                        report.c signal.c  errors, exit status, the end by a signal
 *     archive            an open archive: its arrays, append, overwrite, truncate, follow, join
 *     parity             Reed-Solomon codes that restore lost cells of a file
 *     plot               pictures of numbers: SVG, PNG, text
 *     mpi                the messages between the ranks of bpk-mpi
 *     flow               reads parcels, works on them on many threads, hands them on in order
 *     choose             how to pack: recipes tried on samples, inputs cut along their arrays
 *     format             the table of containers; raw files, lone chunks, concatenated archives
 *     format/bloscpack   Bloscpack files
 *     format/chunkdir    chunked directories, over Bloscpack files
 *     format/frame       Blosc2 frames, contiguous and sparse
 *     format/frame/nd    arrays of several dimensions in them
 *     format/frame/parts their header, index, trailer, layers and digests
 *     layout             arrays inside raw bytes: GSD, DCD, NumPy and others
 *     io                 places, locks, links
 *     io/file            sources and drafts
 *     io/edit            a file changed in place, under its journal
 *     io/tree            a directory, read and changed as a whole
 *     io/tar             tars
 *     io/remote          files on web servers
 *     chunk              one Blosc chunk: headers, encoding, decoding, prediction
 *     chunk/codec        the codecs of its blocks
 *     chunk/filter       shuffle and its kin: the portable kernels, and the choice of others
 *     chunk/filter/arm   vector kernels
 *     chunk/filter/x86   vector kernels
 *     checksum           digests by name
 *     base               errors, buffers, cursors, JSON, the machine
 */
#include "cli/command.h"

int main(int argc, char **argv)
{
	return bpk_program_run(&bpk_program_alone, argc, argv);
}
