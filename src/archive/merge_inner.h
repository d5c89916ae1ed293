/*
 * Damaged copies and the bytes that are taken from each. Between the files merge*.c of archive.
 *
 * A file of the place is that of one copy, its base. Over it lie runs, which are chunks of other
 * copies, and over these the parts in which copies differ outside of chunks.
 */
#ifndef BPK_ARCHIVE_MERGE_INNER_H
#define BPK_ARCHIVE_MERGE_INNER_H

#include "archive/merge.h"

/* Bytes outside of intact chunks in which copies differ. */
struct bpk_merge_part {
	uint64_t at, size;
	/* The copies of different bytes, the most frequent ones first, and how many have these. */
	uint8_t nvariants, variants[BPK_MERGE_MOST], votes[BPK_MERGE_MOST];
	uint8_t chosen; /* variant */
};

/* An intact chunk with its digest. */
struct bpk_merge_run {
	uint64_t at, size;
	uint64_t offset; /* in the copy */
	uint64_t number; /* of the chunk */
	size_t copy;
};

struct bpk_merge_file {
	char *name;                     /* ""; or of a directory relative to its root */
	uint64_t sizes[BPK_MERGE_MOST]; /* in the copies; unknown: it is missing */
	/* Where the first intact chunk of each copy begins (unknown: it has none), and the last one
	 * ends. */
	uint64_t first[BPK_MERGE_MOST], end[BPK_MERGE_MOST];
	size_t base; /* copy */
	uint64_t size;
	bool is_chunk; /* no more than a chunk, and damaged in all copies */
	struct bpk_merge_part *parts;
	size_t nparts, parts_room;
	struct bpk_merge_run *runs; /* ascending, without overlaps */
	size_t nruns, runs_room;
};

/* A chunk that was found in some copy. */
struct bpk_merge_known {
	uint64_t offset, packed_size;
};

/* The state of a directory. */
struct bpk_merge_state {
	uint64_t generation;
	uint64_t files; /* a hash of their names, inodes, sizes and times */
};

struct bpk_merge {
	const struct bpk_input *copies;
	size_t ncopies;
	const struct bpk_format *format;
	struct bpk_merge_state states[BPK_MERGE_MOST]; /* before the search */
	struct bpk_salvage found[BPK_MERGE_MOST];      /* in each copy alone */
	struct bpk_merge_file *files;                  /* by name */
	size_t nfiles, files_room;
	const char **names;           /* theirs */
	bool dropped[BPK_MERGE_MOST]; /* copies that are damaged, where others are intact */
	struct bpk_merge_known *known;
	size_t nknown;
	uint64_t budget; /* bytes and chunks that may still be looked at to choose parts */
	bool is_open;    /* the chosen parts make an archive that opens */
	struct bpk_buf doubt;
};

/* The copies, or their union. */
enum { BPK_MERGE_UNION = -1 };

/* ---- Files and views: merge_view.c ---- */

/* List the files of all copies, whose chunks were found. */
int bpk_merge_list(struct bpk_merge *m, struct bpk_err *err);

/* The file of a chunk that was found in a copy; NULL: none. */
struct bpk_merge_file *bpk_merge_file_of(struct bpk_merge *m, const struct bpk_salvage *found,
					 const struct bpk_saved *saved);

/* Open a file of a copy; *source is NULL if it is missing. For bpk_merge_release. */
int bpk_merge_borrow(const struct bpk_merge *m, size_t copy, const struct bpk_merge_file *file,
		     struct bpk_source **source, struct bpk_err *err);
void bpk_merge_release(const struct bpk_merge *m, struct bpk_source *source);

/*
 * Make a place of a copy with the chosen parts, or of BPK_MERGE_UNION with runs as well. A file
 * that the copy lacks is that of the base. only: a file, of which alone the place is made; NULL:
 * all. For bpk_merge_view_close.
 */
struct bpk_merge_view {
	struct bpk_merge *merge;
	int whose;
	struct bpk_place place;
};
int bpk_merge_view_open(struct bpk_merge *m, int whose, struct bpk_merge_file *only,
			struct bpk_merge_view *view, struct bpk_err *err);
void bpk_merge_view_close(struct bpk_merge_view *view);

/* ---- Intact copies: merge_intact.c ---- */

/* *passed: the archive at place opens, passes the test (NULL: none) of its reader, and every byte
 * of it outside of the chunks is accounted for. Fails if the machine does. */
typedef int bpk_merge_test_fn(void *arg, void *reader, struct bpk_err *err);
int bpk_merge_test(const struct bpk_merge *m, struct bpk_place *place, bpk_merge_test_fn *test,
		   void *arg, bool *passed, struct bpk_err *err);

/* If copies are intact, take nothing of the others: bytes that no digest covers would come from any
 * copy. */
int bpk_merge_keep_intact(struct bpk_merge *m, struct bpk_err *err);

/* ---- Parts: merge_parts.c, merge_choose.c ---- */

/* Choose the size and the base of a file, and list its parts. */
int bpk_merge_find_parts(struct bpk_merge *m, struct bpk_merge_file *file, uint64_t size,
			 struct bpk_err *err);

/* Choose sizes and parts of all files. */
int bpk_merge_choose(struct bpk_merge *m, struct bpk_err *err);

/* The runs are there: if the archive is not sound, try other parts; note those that nothing
 * proves. */
int bpk_merge_prove(struct bpk_merge *m, struct bpk_err *err);

/* ---- Chunks: merge_runs.c ---- */

/* Fails if two copies contradict each other. */
int bpk_merge_compare(struct bpk_merge *m, struct bpk_err *err);

/* Fill the runs of all files. */
int bpk_merge_take_chunks(struct bpk_merge *m, struct bpk_err *err);

#endif
