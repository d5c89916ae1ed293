/*
 * Two raw contents, compared: those of archives in any format, or raw files. A part of the room's
 * door. Errors name their input.
 */
#ifndef BPK_ARCHIVE_COMPARE_H
#define BPK_ARCHIVE_COMPARE_H

#include "archive/content.h"
#include "archive/ident.h"
#include "archive/number.h"
#include "flow/flow.h"

/* The caller's part in the work. */
struct bpk_compare_options {
	struct bpk_limits limits;
	struct bpk_team *team; /* that works on it, or NULL; ranks but 0 fail with BPK_FAILED */
	/* Called now and then, by one thread at a time; NULL: no progress is shown. */
	void (*progress)(void *arg, uint64_t raw_done, uint64_t packed_done);
	void *progress_arg;
};

/* The first difference. */
struct bpk_compared {
	bool differ;
	uint64_t offset;  /* of the first byte that differs, or where one of them ends */
	bool ends[2];     /* that one of them ends there */
	uint8_t bytes[2]; /* else, the bytes there */
	uint64_t nchunks; /* chunks of one input that were compared up to the end or a difference */
	uint64_t ntwins;  /* of these, those that are packed to the same bytes in the other */
};

/*
 * Compare the raw contents of two inputs, whose readers are open, byte by byte. The chunks of one
 * are read, tested and unpacked by all threads, which read the same bytes of the other. Chunks that
 * are packed to the same bytes in both, under a digest that is tested, are not unpacked. At the
 * first difference the work ends; the first one is found for every number of threads. Two pipes are
 * read in turn. Memory is that of a flow and of a view.
 * Fails as reading does, if a chunk before the first difference is damaged.
 */
int bpk_compare(struct bpk_input *const inputs[2], const struct bpk_compare_options *options,
		struct bpk_compared *compared, struct bpk_err *err);

/* ---- Trees ---- */

/* Ranges of raw bytes, in ascending order. Valid when zeroed; must be cleared. */
struct bpk_ident_range {
	uint64_t start, end;
};

struct bpk_ident_ranges {
	struct bpk_ident_range *all;
	size_t count, room;
};

void bpk_ident_ranges_clear(struct bpk_ident_ranges *ranges);

/* Find the ranges of nodes that differ in two trees, which get one level. Of contents of two sizes
 * the last range has the common bytes behind the last common node, which may be equal. */
int bpk_ident_compare(struct bpk_ident *a, struct bpk_ident *b, struct bpk_ident_ranges *ranges,
		      struct bpk_err *err);

/*
 * bpk_compare by the trees of both contents, which are taken on their word: bytes under equal nodes
 * are not read. *ranges, zeroed, are those of bpk_ident_compare. Fails with BPK_CORRUPT if a tree
 * proves wrong, and with BPK_FAILED for an input that is read in sequence alone.
 */
int bpk_compare_trees(struct bpk_input *const inputs[2], struct bpk_ident *const trees[2],
		      const struct bpk_compare_options *options, struct bpk_ident_ranges *ranges,
		      struct bpk_compared *compared, struct bpk_err *err);

/* ---- Numbers ---- */

/* A difference of a - b is tolerated up to absolute + relative * |b|. NaN equals NaN. */
struct bpk_tolerance {
	bool given; /* else bytes are compared */
	double absolute, relative;
};

/* An array in an opened content; its item is the content's own. */
struct bpk_compared_array {
	const struct bpk_content *content;
	const struct bpk_item *item;
};

/* The differences of the items of two arrays. */
struct bpk_compared_items {
	uint64_t ndifferent; /* items that differ by more than is tolerated */
	uint64_t first;      /* the number of the first of them, in the order they are stored */
	/* The largest difference of all numbers, and of which item; not of NaN and infinities. */
	double largest;
	uint64_t largest_item;
};

/*
 * Compare two arrays of one shape and order, whose types are equal or both are numbers. With a
 * tolerance numbers are compared, which needs numbers; else bytes. Any number of threads finds the
 * same. Adds to items, which is zeroed before the first array. Fails as reading does.
 */
int bpk_compare_items(const struct bpk_compared_array arrays[2],
		      const struct bpk_tolerance *tolerance, unsigned threads,
		      struct bpk_compared_items *items, struct bpk_err *err);

#endif
