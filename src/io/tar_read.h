/*
 * Inside the room io: the members of a tar, one after the other. Names and sizes are libarchive's,
 * of which nothing but the tar format is switched on: no compression, no other format.
 */
#ifndef BPK_IO_TAR_READ_H
#define BPK_IO_TAR_READ_H

#include "io/io.h"

enum { BPK_TAR_BLOCK = 512 };

/* One thread's own. */
struct bpk_tar_stream;

/*
 * Begin at the cursor of source, which is borrowed until close. Fails with BPK_CORRUPT (no tar) or
 * BPK_UNSUPPORTED (a compressed one).
 */
int bpk_tar_stream_open(struct bpk_source *source, struct bpk_tar_stream **stream,
			struct bpk_err *err);
void bpk_tar_stream_close(struct bpk_tar_stream *stream); /* NULL is harmless */

/*
 * The next member, valid until the next call; 1 behind the last. Fails with BPK_CORRUPT where the
 * tar is broken, and where it ends without its end marker, two blocks of zeros: then it was cut
 * between two members or in the marker.
 */
int bpk_tar_stream_next(struct bpk_tar_stream *stream, const struct bpk_tar_entry **entry,
			struct bpk_err *err);

/*
 * Behind the last member, and once: nothing but zeros may follow to the end of the source. A header
 * that was overwritten with zeros looks like the end, and so does the end of the first of two tars
 * that were concatenated. Fails with BPK_CORRUPT, also where the zeros of what may be endless (no
 * file), or of a tar without members, do not end; and with the errors of bpk_source_read.
 */
int bpk_tar_stream_check_rest(struct bpk_tar_stream *stream, struct bpk_err *err);

/* Bytes of the member's content and where they lie in it, ascending; what is left out is zeros, as
 * in a sparse file. 1 behind the last. */
int bpk_tar_stream_data(struct bpk_tar_stream *stream, struct bpk_view *bytes, uint64_t *offset,
			struct bpk_err *err);

/* The content is stored in pieces, with zeros left out. */
bool bpk_tar_stream_is_sparse(const struct bpk_tar_stream *stream);

/* How many bytes of the tar lie in front of the member's first header, or of the end. */
uint64_t bpk_tar_stream_header(const struct bpk_tar_stream *stream);

/* Does a tar begin with these BPK_TAR_BLOCK bytes? */
bool bpk_tar_is_header(const uint8_t *block);

#endif
