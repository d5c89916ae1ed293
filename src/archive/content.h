/*
 * The arrays inside an input: those of a simulation file, in a raw file or in an archive. A part of
 * the room's door. Errors that come from opening name the input. One thread's at a time.
 */
#ifndef BPK_ARCHIVE_CONTENT_H
#define BPK_ARCHIVE_CONTENT_H

#include <time.h>

#include "archive/input.h"
#include "flow/flow.h"
#include "layout/layout.h"

struct bpk_content_options {
	bool no_check; /* digests are not tested */
	struct bpk_limits limits;
};

/* The reads of a raw file's arrays, to be compared with its bytes at the end. */
struct bpk_content_watch {
	struct timespec opened;
	bool started;
	struct bpk_mutex lock; /* guards the members below, once started */
	struct bpk_buf reads;
	bool lost; /* more reads than are remembered */
};

/* Caller storage, valid when zeroed, not moved while open; for bpk_content_close. */
struct bpk_content {
	const struct bpk_input *in;
	struct bpk_source *view;   /* of the arrays' own bytes; owned */
	struct bpk_source *source; /* of tables; owned where in is an archive */
	struct bpk_content_watch watch;
	/* Bytes that layouts may still read, and have unpacked for them; and the view's limits. */
	uint64_t tables_left, unpacked_left;
	struct bpk_view_limits limits;
	struct bpk_err damage; /* the view's first failure: of the archive, not of its content */
	struct bpk_layout *layout; /* NULL: plain bytes */
};

/*
 * Look at the raw bytes of an input whose reader is open. A pipe, and an archive that does not say
 * how much it unpacks to, have no layout. in is borrowed until close. The cost of looking into an
 * archive is bounded by its own size, or by the limit that the user gave, here and in all that
 * follows but copying: more fails with BPK_LIMIT.
 */
int bpk_content_open(const struct bpk_input *in, const struct bpk_content_options *options,
		     struct bpk_content *content, struct bpk_err *err);
void bpk_content_close(struct bpk_content *content);

/*
 * Open all raw bytes of an input for reads by place, without a layout. nchunks is the number of
 * unpacked chunks that are kept, memory the limit for them. Fails with BPK_FAILED for a pipe.
 */
int bpk_content_open_whole(const struct bpk_input *in, unsigned nchunks, uint64_t memory,
			   struct bpk_content *content, struct bpk_err *err);

/* Bytes to read at a time, from multiples of them on: whole chunks, if these have at most 16 MiB,
 * which are unpacked right into their place; about 1 MiB if they are smaller. */
size_t bpk_content_piece(const struct bpk_content *content);

/*
 * To be called when a command has used its content, with rc, the result so far. Compares the arrays
 * of a raw file, and the bytes that were read of them, with the file as it is now; arrays that were
 * added since do not count. Fails with BPK_FAILED, "changed while it was read", whatever rc
 * is. Returns rc for the same file, and for archives, whose readers know (bpk_input_unchanged).
 */
int bpk_content_unchanged(const struct bpk_content *content, int rc, struct bpk_err *err);

/* Inside content: remember from now on the reads of a raw file's arrays, which any thread makes. */
int bpk_content_watch(struct bpk_content *content, struct bpk_err *err);

/* Add the bytes of an array to a draft; and a part of it, which lies inside, in C order. */
int bpk_content_copy(const struct bpk_content *content, const struct bpk_item *item,
		     struct bpk_draft *draft, struct bpk_err *err);
int bpk_content_copy_slice(const struct bpk_content *content, const struct bpk_item *item,
			   const struct bpk_slice *slice, struct bpk_draft *draft,
			   struct bpk_err *err);

#endif
