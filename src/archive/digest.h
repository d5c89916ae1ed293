/*
 * Digests of raw contents: those of archives in any format, or of raw files. A part of the room's
 * door. Errors name the input.
 */
#ifndef BPK_ARCHIVE_DIGEST_H
#define BPK_ARCHIVE_DIGEST_H

#include "archive/ident.h"
#include "archive/input.h"
#include "flow/flow.h"

/* Bytes of a content's digest, which is SHA-256 either way; and of a leaf of its tree. */
enum { BPK_DIGEST_SIZE = BPK_MERKLE_SIZE, BPK_DIGEST_LEAF = BPK_IDENT_LEAF };

/* The caller's part in the work. */
struct bpk_digest_options {
	/* The root of the tree over leaves of BPK_DIGEST_LEAF bytes (archive/ident.h), of which
	 * the last may be shorter; false: the digest of all bytes in order. */
	bool tree;
	struct bpk_limits limits;
	/* Called now and then, by one thread at a time; NULL: no progress is shown. */
	void (*progress)(void *arg, uint64_t raw_done, uint64_t packed_done);
	void *progress_arg;
};

/*
 * Find the digest of the raw content of an input, whose reader is open and has fetched no chunk.
 * Every chunk is read, tested and unpacked by all threads. SHA-256 of all bytes takes them in
 * order, one thread at a time; leaves of a tree are digested by the threads that complete them.
 * Memory is that of a flow, 2 MiB more for each thread of a tree, and there 33 bytes for each leaf
 * that other threads are ahead of the slowest. The caller accounts for the bytes that are no chunks
 * (bpk_input_audit). Fails as reading does.
 */
int bpk_input_digest(struct bpk_input *in, const struct bpk_digest_options *options,
		     uint8_t digest[BPK_DIGEST_SIZE], struct bpk_err *err);

/* Find the whole tree in the same way; options->tree is not read. tree is zeroed, but for most and
 * level, and the caller's to clear. */
int bpk_input_identity(struct bpk_input *in, const struct bpk_digest_options *options,
		       struct bpk_ident *tree, struct bpk_err *err);

/* The output of a flow that unpacks all: its writer is a struct bpk_leaves. */
extern const struct bpk_writer_ops bpk_leaves_writer;

#endif
