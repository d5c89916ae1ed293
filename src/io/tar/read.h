/* Inside the room io: the members of a tar in sequence. libarchive parses names and sizes, with
 * only the tar format enabled: no compression, no other format. */
#ifndef BPK_IO_TAR_READ_H
#define BPK_IO_TAR_READ_H

#include "io/io.h"

enum { BPK_TAR_BLOCK = 512 };

/* Belongs to one thread. */
struct bpk_tar_stream;

/*
 * Begin at the cursor of source, which is borrowed until close. Fails with BPK_CORRUPT (no tar) or
 * BPK_UNSUPPORTED (compressed).
 */
int bpk_tar_stream_open(struct bpk_source *source, struct bpk_tar_stream **stream,
			struct bpk_err *err);
void bpk_tar_stream_close(struct bpk_tar_stream *stream); /* NULL is harmless */

/*
 * Read the next member, valid until the next call. Returns 1 after the last one. Fails with
 * BPK_CORRUPT when the tar is damaged, and when it ends without its end marker, two blocks of
 * zeros: then it was cut between two members or in the marker.
 */
int bpk_tar_stream_next(struct bpk_tar_stream *stream, const struct bpk_tar_entry **entry,
			struct bpk_err *err);

/*
 * Call this once, after the last member: only zeros may follow up to the end of the source. A
 * header overwritten with zeros looks like the end, and so does the end of the first of two
 * concatenated tars. Fails with BPK_CORRUPT, also when too many zeros follow in a source that may
 * be endless (no file) or in a tar without members; and with the errors of bpk_source_read.
 */
int bpk_tar_stream_check_rest(struct bpk_tar_stream *stream, struct bpk_err *err);

/* Read bytes of the member's content and their offset in it, ascending. Bytes between are zero, as
 * in a sparse file. Returns 1 after the last ones. */
int bpk_tar_stream_data(struct bpk_tar_stream *stream, struct bpk_view *bytes, uint64_t *offset,
			struct bpk_err *err);

/* True if the content is stored in pieces, with zeros left out. */
bool bpk_tar_stream_is_sparse(const struct bpk_tar_stream *stream);

/* The offset in the tar of the member's first header, or of the end. */
uint64_t bpk_tar_stream_header(const struct bpk_tar_stream *stream);

/* True if these BPK_TAR_BLOCK bytes are the header of a member; or zeros, as at the end, and all of
 * an empty tar. */
bool bpk_tar_is_header(const uint8_t *block);
bool bpk_tar_is_end(const uint8_t *block);

#endif
