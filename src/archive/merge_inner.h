/*
 * Damaged copies and the bytes that are taken from each. Between the files merge*.c of archive.
 *
 * A file of the place is that of one copy, its base. Over it lie runs, which are chunks of other
 * copies; over these the parts in which copies differ outside of the chunks of trusted ones; and on
 * top the runs that have moved, which may fill what these copies have lost.
 */
#ifndef BPK_ARCHIVE_MERGE_INNER_H
#define BPK_ARCHIVE_MERGE_INNER_H

#include "archive/merge.h"

enum { BPK_MERGE_PARTS = 64 }; /* of a file, at most; the last one takes the rest */

/* Bytes outside of intact chunks in which copies differ. */
struct bpk_merge_part {
	uint64_t at, size;
	/* The copies of different bytes, the most frequent ones first, and how many have these: one
	 * that opens counts twice. */
	uint8_t nvariants, variants[BPK_MERGE_MOST], votes[BPK_MERGE_MOST];
	uint8_t chosen; /* variant */
};

/* An intact chunk with its digest. */
struct bpk_merge_run {
	uint64_t at, size;
	uint64_t offset; /* in the copy */
	uint64_t number; /* of the chunk; unknown until the place tells it */
	uint64_t hash;   /* as of a print */
	size_t copy;
	bool disputed; /* without digests: another copy has another chunk there */
};

/* An intact chunk where a copy has it. */
struct bpk_merge_print {
	uint64_t hash;  /* of its bytes, with the digest */
	uint64_t bytes; /* the same without the digest */
	uint64_t offset, size;
	uint64_t number; /* by the search in the copy alone */
	size_t file;
	uint32_t raw_size;
	bool once; /* no other chunk of the copy has the same hash */
};
struct bpk_merge_prints {
	struct bpk_merge_print *all; /* ascending by hash, file and offset */
	size_t count;
};

/* The knowledge of the places of a copy's chunks in a file. */
enum bpk_merge_trust {
	BPK_MERGE_LOOSE,  /* nothing: the place of each chunk needs a proof */
	BPK_MERGE_PLACED, /* its chunks agree with those of trusted copies */
	BPK_MERGE_SURE,   /* the copy alone tells their numbers */
};

/* A chunk without a digest, at the place of a run that has another one. */
struct bpk_merge_rival {
	size_t file;
	struct bpk_merge_run run;
};

struct bpk_merge_file {
	char *name;                     /* ""; or of a directory relative to its root */
	uint64_t sizes[BPK_MERGE_MOST]; /* in the copies; unknown: it is missing */
	/* Where the first intact chunk of each copy begins (unknown: it has none), and the last one
	 * ends. */
	uint64_t first[BPK_MERGE_MOST], end[BPK_MERGE_MOST];
	enum bpk_merge_trust trust[BPK_MERGE_MOST];
	bool moved[BPK_MERGE_MOST]; /* though sure, it has chunks at other places than the union */
	size_t nplaced[BPK_MERGE_MOST], nmoved[BPK_MERGE_MOST]; /* chunks, for the judgement */
	size_t base;                                            /* copy */
	/* The base is a loose copy, and its bytes between these offsets are not used. */
	bool masked;
	uint64_t low, high;
	uint64_t size;
	bool is_chunk; /* no more than a chunk, and damaged in all copies */
	struct bpk_merge_part *parts;
	size_t nparts, parts_room;
	struct bpk_merge_run *runs; /* ascending, without overlaps */
	size_t nruns, runs_room;
};

/* A chunk that was found in some copy. */
struct bpk_merge_known {
	size_t file;
	uint64_t offset, packed_size;
	unsigned seen; /* the last way of choosing parts that led to it, by its count */
};

/* The state of a directory. */
struct bpk_merge_state {
	uint64_t generation;
	uint64_t files; /* a hash of their names, inodes, sizes and times */
};

/* A copy by itself. */
struct bpk_merge_own {
	bool opens; /* and nothing shows that it is damaged */
	bool intact;
	bool proven;       /* and its chunks at their places: by a seal, an identity, or digests */
	uint64_t raw_size; /* by its header; BPK_UNKNOWN: that is lost */
};

struct bpk_merge {
	const struct bpk_input *copies;
	size_t ncopies;
	const struct bpk_format *format;
	bpk_merge_ident_fn *compare;
	void *arg;                                     /* its */
	struct bpk_merge_state states[BPK_MERGE_MOST]; /* before the search */
	struct bpk_salvage found[BPK_MERGE_MOST];      /* in each copy alone */
	struct bpk_merge_own own[BPK_MERGE_MOST];      /* known before copies are compared */
	struct bpk_salvage spare[BPK_MERGE_MOST];      /* and in those that another one replaced */
	struct bpk_merge_prints prints[BPK_MERGE_MOST];
	struct bpk_merge_file *files; /* by name */
	size_t nfiles, files_room;
	const char **names;            /* theirs */
	bool dropped[BPK_MERGE_MOST];  /* copies that are damaged, where others are intact */
	struct bpk_merge_known *known; /* ascending by file, offset and size */
	size_t nknown;
	struct bpk_merge_rival *rivals;
	size_t nrivals, rivals_room;
	unsigned nways;  /* of choosing parts that were weighed */
	uint64_t budget; /* bytes and chunks that may still be looked at to choose parts */
	bool is_open;    /* the chosen parts make an archive that opens */
	bool proven;     /* chunks have digests, in some copy */
	uint64_t nbare;  /* else: chunks of the union that no two copies agree in */
	int alone;       /* the place is this copy as it is; BPK_MERGE_UNION: it is the union */
	struct bpk_buf doubt;
	bool between;            /* these bytes are behind a chunk, in a format without holes */
	struct bpk_buf disorder; /* in words: copies differ in the order of chunks; or empty */
	struct bpk_buf since;    /* in words: copies are of two states; or empty */
	bool is_strange;         /* since chunks show it that the union has not */
	const char *lone;        /* path of a copy that may be of another archive; or NULL */
	bool is_refuted; /* the union has another chunk at a number that a copy is certain of */
};

/* The copies, or their union. */
enum { BPK_MERGE_UNION = -1 };

/* ---- Files and views: merge_view.c ---- */

/* List the files of all copies, whose chunks were found. */
int bpk_merge_list(struct bpk_merge *m, struct bpk_err *err);

/* Free the parts of a file. */
void bpk_merge_clear_file(struct bpk_merge_file *file);

/* The file of this name; NULL: none. */
struct bpk_merge_file *bpk_merge_find_file(struct bpk_merge *m, const char *name);

/* Order two chunks, of type bpk_merge_known, for qsort and bsearch. */
int bpk_merge_compare_known(const void *a, const void *b);

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

/* Open the union as it is now; *reader is NULL if it does not open. For bpk_merge_union_close. */
int bpk_merge_union_open(struct bpk_merge *m, struct bpk_merge_view *view, void **reader,
			 struct bpk_err *err);
void bpk_merge_union_close(const struct bpk_merge *m, struct bpk_merge_view *view, void *reader);

/* ---- Intact copies: merge_intact.c ---- */

/* *passed: the archive at place opens, passes the test (NULL: none) of its reader, and every byte
 * of it outside of the chunks is accounted for. Fails if the machine does. */
typedef int bpk_merge_test_fn(void *arg, void *reader, struct bpk_err *err);
int bpk_merge_test(const struct bpk_merge *m, struct bpk_place *place, bpk_merge_test_fn *test,
		   void *arg, bool *passed, struct bpk_err *err);

/* A copy whose chunks are all intact, but not those of its own seal or identity, has exchanged
 * ones: note that it is disordered. Fails if the machine does. */
int bpk_merge_test_order(struct bpk_merge *m, size_t copy, struct bpk_err *err);

/* Find the copies that are intact. Fails if the machine does. */
int bpk_merge_find_intact(struct bpk_merge *m, struct bpk_err *err);

/* If copies are intact, take nothing of the others: bytes that no digest covers would come from any
 * copy. */
int bpk_merge_keep_intact(struct bpk_merge *m, struct bpk_err *err);

/* Make the place of this copy alone, as it is. The chunks of the others are kept in spare. */
void bpk_merge_keep_only(struct bpk_merge *m, size_t copy);

/* ---- Copies of other archives: merge_numbers.c, merge_kin.c ---- */

/* Fails if two copies contradict each other. */
int bpk_merge_compare(struct bpk_merge *m, struct bpk_err *err);

/* Fails if a copy whose numbers are not certain shows no sign of being one of the same archive as
 * the others. */
int bpk_merge_check_kin(struct bpk_merge *m, struct bpk_err *err);

/* Fail since the copies a and b have x and y of them, "chunks" for example. */
int bpk_merge_fail_other(const struct bpk_merge *m, size_t a, size_t b, const char *of, uint64_t x,
			 uint64_t y, struct bpk_err *err);

/* ---- Places of chunks: merge_trust.c, merge_places.c ---- */

/* List the prints of the copies that have no list yet. */
int bpk_merge_list_prints(struct bpk_merge *m, struct bpk_err *err);

/* The size of the file with the index of a directory, as proven headers say, of copies of one
 * state; bytes behind that are foreign. BPK_UNKNOWN: it is none, or they do not say. */
uint64_t bpk_merge_told_size(const struct bpk_merge *m, const struct bpk_merge_file *file);

/* Fill disorder, if two copies have the same chunks in different orders, and no digests of theirs
 * tell the numbers. */
int bpk_merge_compare_order(struct bpk_merge *m, struct bpk_err *err);

/* List the prints of all copies, and judge their places. */
int bpk_merge_judge(struct bpk_merge *m, struct bpk_err *err);

/* Forget those of a copy. */
void bpk_merge_drop_prints(struct bpk_merge *m, size_t copy);

/* A chunk with this hash; NULL: there is none. */
const struct bpk_merge_print *bpk_merge_find_print(const struct bpk_merge_prints *list,
						   uint64_t hash);

/* The chunk of a copy in the list of another one, if both have it once; else NULL. */
const struct bpk_merge_print *bpk_merge_find_twin(const struct bpk_merge_prints *list,
						  const struct bpk_merge_print *print);

/* True if the list has a chunk of the same hash, file and offset. */
bool bpk_merge_has_print(const struct bpk_merge_prints *list, const struct bpk_merge_print *print);

/* Sort hashes or offsets, and whether one of them, once sorted, is this one. */
void bpk_merge_sort_u64(uint64_t *all, size_t count);
bool bpk_merge_has_u64(const uint64_t *all, size_t count, uint64_t wanted);

/* *has: bytes at at, size of them, have this hash. A place outside of the source has none. */
int bpk_merge_has_there(struct bpk_source *source, uint64_t at, uint64_t size, uint64_t hash,
			bool *has, struct bpk_err *err);

/* The places of the chunks of a single file, by their numbers. One thread's own. */
struct bpk_merge_table {
	const struct bpk_merge_file *file;
	uint64_t *at; /* offset in the place; unknown; or nowhere: the index alone has the chunk */
	uint64_t count;
	struct bpk_merge_spot {
		uint64_t at, number;
	} * spots; /* those that were known at first, ascending */
	size_t nspots;
	uint64_t *lost; /* numbers of chunks that were at first */
	size_t nlost;
	bool exact; /* the chunks lie without gaps */
};
#define BPK_MERGE_NOWHERE (BPK_UNKNOWN - 1)

/* reader: of the union. For clear, also after a failure. */
int bpk_merge_table_begin(const struct bpk_merge *m, void *reader, struct bpk_merge_table *table,
			  struct bpk_err *err);
void bpk_merge_table_clear(struct bpk_merge_table *table);

/* True if no run is at the place of the chunk. */
bool bpk_merge_is_lost(const struct bpk_merge_table *table, uint64_t number);

/* The place of a lost chunk if it has this size: where it is known to be, or before the next one;
 * or unknown. */
uint64_t bpk_merge_table_place(const struct bpk_merge_table *table, uint64_t number, uint64_t size);

/* The chunk whose place is this offset; unknown: none was known at first. */
uint64_t bpk_merge_table_find(const struct bpk_merge_table *table, uint64_t at);

/* True if a chunk of this size, with its digest, may be the lost one. */
bool bpk_merge_fits(const struct bpk_merge_table *table, uint64_t number, uint64_t size);

/* A run was laid for the chunk. */
void bpk_merge_table_note(struct bpk_merge_table *table, uint64_t number,
			  const struct bpk_merge_run *run);

/* Call place for the chunks of a copy whose place in the table is proven by the others. */
typedef int bpk_merge_place_fn(void *arg, const struct bpk_merge_print *print, uint64_t number,
			       struct bpk_err *err);
int bpk_merge_place_loose(const struct bpk_merge *m, size_t copy, struct bpk_merge_table *table,
			  bpk_merge_place_fn *place, void *arg, struct bpk_err *err);

/* ---- Chunks by number: merge_pool.c ---- */

/* The copy that has the most intact chunks with those of all others; BPK_MERGE_UNION: none has
 * certain numbers. *count: these. */
int bpk_merge_find_pool(const struct bpk_merge *m, int *base, uint64_t *count, struct bpk_err *err);

/* ---- Copies of two states: merge_since.c, merge_strange.c ---- */

/* Fill since, if the metadata of copies differ, or indexes, digests and headers show that one was
 * written to, and a chunk is lost in one. */
int bpk_merge_find_states(struct bpk_merge *m, struct bpk_err *err);

/* The same, if a damaged chunk of a copy is not the one that the union has at its place. */
int bpk_merge_compare_rests(struct bpk_merge *m, struct bpk_err *err);

/* The same, if a copy has an intact chunk that the result, a copy or BPK_MERGE_UNION, has not. */
int bpk_merge_find_strange(struct bpk_merge *m, int whose, struct bpk_err *err);

/* A chunk that a copy has lost. */
struct bpk_merge_rest {
	size_t copy;
	uint64_t front, back; /* its offset, counted from the chunk before, and from the next one */
	bool is_followed;     /* the copy has that */
	bool is_last;         /* there is none: bytes that came or went do not show */
};

/* *other: a chunk, with its digest behind it, is not the one that is lost, as the rest of that
 * shows. */
int bpk_merge_compare_lost(struct bpk_merge *m, struct bpk_merge_file *file,
			   const struct bpk_merge_run *run, const struct bpk_merge_rest *rest,
			   bool *other, struct bpk_err *err);

/* Fill since, unless it is: the copies a and b are of two states, as the proof shows. */
int bpk_merge_note_states(struct bpk_merge *m, size_t a, size_t b, const char *proof,
			  struct bpk_err *err);

/* ---- Data files of directories: merge_exchanged.c ---- */

/* A file that is a copy of another one, as a copy of the archive shows, counts as missing. So does
 * one with other chunks than two copies or more have there. */
int bpk_merge_lose_copied(struct bpk_merge *m, struct bpk_err *err);

/* True if the archive has the chunk, which a digest of its number proves, in another file than
 * this. reader: of the union; NULL: that does not open. */
bool bpk_merge_is_elsewhere(const struct bpk_merge *m, const struct bpk_salvage *found,
			    const struct bpk_merge_file *file, uint64_t number, void *reader);

/* ---- Chunks at their places: merge_lay.c ---- */

/* The run that begins at this offset of the place; NULL: none. */
const struct bpk_merge_run *bpk_merge_run_at(const struct bpk_merge_file *file, uint64_t at);

/* True if a copy has the chunk of a run at its place in the file. */
bool bpk_merge_has_run(const struct bpk_merge *m, const struct bpk_merge_file *file, size_t copy,
		       const struct bpk_merge_run *run);

/* Take a run, unless an earlier copy has one there. */
int bpk_merge_take_run(struct bpk_merge *m, struct bpk_merge_file *file,
		       const struct bpk_merge_run *run, struct bpk_err *err);

/* ---- Files in which bytes came or went: merge_shifted.c ---- */

/* The places of chunks in the files of a directory, as the union says, ascending. */
struct bpk_merge_places {
	struct bpk_merge_known *all; /* from the heap */
	size_t count;
};
int bpk_merge_list_places(struct bpk_merge *m, void *reader, struct bpk_merge_places *places,
			  struct bpk_err *err);

/* True if a chunk overlaps places that the union knows, so that bytes came or went before it. */
bool bpk_merge_is_between(const struct bpk_merge *m, const struct bpk_merge_places *places,
			  const struct bpk_merge_file *file, const struct bpk_merge_run *run);

/* Take the chunks of a copy from the files of a directory in which bytes came or went: to the
 * places of their numbers. reader: of the union. */
int bpk_merge_take_shifted(struct bpk_merge *m, size_t copy, void *reader, struct bpk_err *err);

/* Of copies with certain numbers, note those whose chunks are not where the archive says. Their
 * bytes are not used at other places. */
int bpk_merge_note_moved(struct bpk_merge *m, struct bpk_err *err);

/* ---- Parts: merge_parts.c, merge_choose.c ---- */

/* Choose the size and the base of a file, and list its parts. */
int bpk_merge_find_parts(struct bpk_merge *m, struct bpk_merge_file *file, uint64_t size,
			 struct bpk_err *err);

/* The size that a header tells, or that most copies have, of equal counts the larger one. */
uint64_t bpk_merge_usual_size(const struct bpk_merge *m, const struct bpk_merge_file *file);

/* The format of a directory's file that is an archive by itself, in any copy; NULL: it is none. */
int bpk_merge_file_format(const struct bpk_merge *m, const struct bpk_merge_file *file,
			  const struct bpk_format **format, struct bpk_err *err);

/* Choose sizes and parts of all files. */
int bpk_merge_choose(struct bpk_merge *m, struct bpk_err *err);

/* Choose parts of which the root of a seal is; the others stay. The format has seals. */
int bpk_merge_choose_seal(struct bpk_merge *m, struct bpk_err *err);

/* The runs are there: if the archive is not sound, try other parts; note those that nothing
 * proves. */
int bpk_merge_prove(struct bpk_merge *m, struct bpk_err *err);

/* ---- Chunks: merge_compare.c, merge_runs.c, merge_mixed.c, merge_rivals.c ---- */

/* The numbers of a copy's chunks are certain by the copy alone. */
bool bpk_merge_is_sure(const struct bpk_salvage *found);

/* A chunk that was found in a copy, at its place there. */
struct bpk_merge_run bpk_merge_run_of(const struct bpk_salvage *found,
				      const struct bpk_saved *saved, size_t copy);

/* Read a chunk of a copy: once parts were chosen, and unless it has moved, as the copy has it with
 * these. */
int bpk_merge_read_run(struct bpk_merge *m, struct bpk_merge_file *file,
		       const struct bpk_merge_run *run, struct bpk_buf *bytes, struct bpk_err *err);

/* True if two directories have the same list of digests over all chunks: they are copies of one
 * archive, though data files may have been copied or exchanged. */
bool bpk_merge_has_same_list(const struct bpk_merge *m, size_t a, size_t b);

/* Set its hash. */
int bpk_merge_hash_run(struct bpk_merge *m, struct bpk_merge_file *file, struct bpk_merge_run *run,
		       struct bpk_err *err);

/* *same: the bytes of two chunks are equal. */
int bpk_merge_compare_runs(struct bpk_merge *m, struct bpk_merge_file *x_file,
			   const struct bpk_merge_run *x, struct bpk_merge_file *y_file,
			   const struct bpk_merge_run *y, bool *same, struct bpk_err *err);

/* Two copies have different intact chunks of one number. Returns -1. */
int bpk_merge_fail_differ(const struct bpk_merge *m, uint64_t number, size_t a, size_t b,
			  struct bpk_err *err);

/* *is: one copy has all bytes of a run with the chosen parts, at the place of the run. Its chunk is
 * intact there, and counts only if that is judged to be its place. */
int bpk_merge_is_of_one(struct bpk_merge *m, struct bpk_merge_file *file,
			const struct bpk_merge_run *run, bool *is, struct bpk_err *err);

/* Take the chunks that no copy has, and whose digests some choice of the parts in them has. */
int bpk_merge_mix(struct bpk_merge *m, struct bpk_err *err);

/* Exchange runs and rivals so that a seal proves the union, if some way does. */
int bpk_merge_settle_rivals(struct bpk_merge *m, struct bpk_err *err);

/* Fill the runs of all files. */
int bpk_merge_take_chunks(struct bpk_merge *m, struct bpk_err *err);

#endif
