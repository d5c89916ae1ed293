/*
 * The room choose: how to pack when the user does not say. It tries recipes on samples of raw bytes
 * and compares their costs. It knows no formats, threads or options; flow hands it the scratch of a
 * thread to choose for single chunks. Called by flow, archive and cli.
 *
 * Sample (sample.c). 32 places show how many groups of regions the input has that look unlike each
 * other. Each group gives a piece, a single one two; a window of 2 MiB comes from the middle.
 *
 * Candidates (candidates.c). A candidate is a list of filters and the element size that they are
 * for. Element sizes come from the distances at which bytes repeat, from the arrays of a known
 * layout, and from the user. Each candidate packs the pieces at a low level. Recipes
 * follow from them: one candidate for all chunks or, if groups need filters of their own, one
 * element size with filters for each group.
 *
 * Race (race.c). A recipe packs some views of the input: pieces, a run, a run of each group, or
 * pieces of one chunk. A ranking holds the trials in the order of their cost: the packed size, and
 * some thousandths for the time that filters and levels take. All trials are made there, by the
 * only formula.
 *
 * Level (choose.c). Recipes that the pieces do not tell apart race on a longer run, or on a run of
 * each group. The winner packs these at the next levels as long as they bring enough. Several lists
 * of filters stay only where choosing among them for each chunk gains 1%. Where long runs repeat
 * far apart, pieces tell little: more recipes race on the run, and the winner packs the window in
 * larger chunks.
 *
 * Cuts (zones.c, cuts.c). The arrays of a known layout divide the input into zones of some kinds.
 * Each kind is chosen for as an input of its own, and the input is cut into chunks along its zones
 * where that packs better. Where chunks must be of one size, the kinds become candidates.
 *
 * A chunk with candidates has a race of its own, on two pieces of it, by the thread that packs it.
 * Predictions (predict.c, grid.c) are candidates, too, for users who ask for them.
 *
 * Many small inputs of one command: one that looks like an earlier one gets its choice (known.c,
 * look.c).
 */
#ifndef BPK_CHOOSE_CHOOSE_H
#define BPK_CHOOSE_CHOOSE_H

#include "base/base.h"
#include "chunk/chunk.h"
#include "io/io.h"

enum { BPK_AUTO = -1, BPK_WISHES_HINTS = 4 };

struct bpk_known;

/* Settings that the user fixed; BPK_AUTO, 0 or NULL leaves the choice to bpk. */
struct bpk_wishes {
	const struct bpk_codec *codec;       /* NULL: ours */
	int level;                           /* BPK_AUTO or 0..9 */
	int typesize;                        /* BPK_AUTO or 1..255 */
	const struct bpk_pipeline *pipeline; /* NULL: ours */
	bool extended;                       /* the format takes Blosc2's chunks */
	bool dictionary;                     /* extended: the user asks for a dictionary */
	uint64_t chunk_size;                 /* 0: ours */
	uint32_t block_size;                 /* 0: ours */
	uint64_t row_size; /* bytes of a row, if chunks hold whole rows; 0: they need not */
	unsigned hints[BPK_WISHES_HINTS]; /* element sizes that are worth a trial; 0: no more */
	bool only_hints;                  /* no other sizes are tried */
	bool is_part; /* of an input whose other parts get their own choice: trials are shorter */
	/* Choices for earlier inputs with the same options: a small input that looks like one of
	 * them gets its choice without trials. NULL: every input has trials. */
	struct bpk_known *known;
};

/* An empty store of such choices; one thread. free accepts NULL. */
int bpk_known_new(struct bpk_known **known, struct bpk_err *err);
void bpk_known_free(struct bpk_known *known);

enum { BPK_CHOICE_CANDIDATES = 3 };

/* Candidate for a chunk: filters, the size of the elements that they are for, and perhaps a
 * prediction. */
struct bpk_candidate {
	unsigned typesize;
	struct bpk_pipeline pipeline;
	/* Size 0: no prediction. Its phase is that of a chunk at raw offset 0; only the presence of
	 * the scale matters. */
	struct bpk_prediction prediction;
};

struct bpk_choice {
	struct bpk_recipe recipe; /* the best for most of the samples */
	/* Better for some of the samples: each chunk gets the best of these and the recipe. Most
	 * inputs have no candidates. Extended chunks all have the recipe's element size. */
	struct bpk_candidate candidates[BPK_CHOICE_CANDIDATES];
	size_t ncandidates;
	uint64_t chunk_size; /* a multiple of typesize, or of the wishes' row size */
	struct bpk_buf why;  /* lines for people, each ended by a newline; for bpk_buf_clear */
};

/* True for a line of why that is about the trials, not about their result. */
bool bpk_choice_line_is_trial(const char *line);

/*
 * Decide by trial on samples spread over source (the first 2 MiB of a pipe, peeked at). raw_size
 * may be unknown. Decided on packed sizes and a fixed cost table, never on the clock, so that one
 * input gives one answer on every machine; with known choices, one sequence of inputs.
 */
int bpk_choose(struct bpk_source *source, uint64_t raw_size, const struct bpk_wishes *wishes,
	       struct bpk_choice *choice, struct bpk_err *err);

enum { BPK_CUTS_KINDS = 16 };

/* The chunks of an input that is cut along its arrays. Caller storage, for bpk_cuts_clear. */
struct bpk_cuts {
	struct bpk_sizes runs; /* all chunks, each of a kind; empty: the input is not cut */
	size_t nkinds;
	struct bpk_choice kinds[BPK_CUTS_KINDS]; /* their chunk_size is an upper bound */
};

/*
 * bpk_choose for an input that may hold arrays. If varies is true, chunks may have any sizes: a
 * file of a known layout is cut along its arrays if that packs better. Otherwise the filters of its
 * arrays become candidates for each chunk. The wishes apply to the whole input. choice is the
 * choice for the whole input if cuts is empty.
 */
int bpk_cuts_choose(struct bpk_source *source, uint64_t raw_size, const struct bpk_wishes *wishes,
		    bool varies, struct bpk_choice *choice, struct bpk_cuts *cuts,
		    struct bpk_err *err);
void bpk_cuts_clear(struct bpk_cuts *cuts);

/* ---- Choosing for one chunk ---- */

/* The scratch that one thread needs to try recipes. Valid when zeroed; ctx may be borrowed,
 * bpk_race_clear frees the rest. */
struct bpk_race {
	struct bpk_chunk_ctx *ctx;
	struct bpk_buf sample, packed; /* pieces of a chunk; bytes of a trial */
	struct bpk_buf differences;    /* the piece after a prediction */
	struct bpk_ranking *ranking;   /* of the candidates for a chunk */
	struct bpk_buf *why;           /* lines on each trial; NULL: none */
	struct bpk_err *err;           /* of the call under way, */
	bool failed;                   /* which it describes; no trial is made after it */
};

void bpk_race_clear(struct bpk_race *race);

/*
 * Give recipe the filters, element size and prediction that pack a sample of raw best, by size and
 * cost: its own, or those of one of the candidates. raw begins at offset of the input. Decided by
 * the bytes alone. Does nothing without candidates.
 */
int bpk_choose_for_chunk(struct bpk_race *race, const struct bpk_candidate *candidates,
			 size_t count, struct bpk_view raw, uint64_t offset,
			 struct bpk_recipe *recipe, struct bpk_err *err);

/* ---- Prediction, which users ask for by name ---- */

enum { BPK_PREDICTIONS = 64 };

/* Candidates with a prediction; each chunk gets the best of them, or no prediction. */
struct bpk_predictions {
	size_t count; /* 0: nothing is predicted */
	struct bpk_candidate all[BPK_PREDICTIONS];
};

/*
 * Find predictions for source, for which bpk_choose made choice: from the frames and grids of
 * numbers in its layout if source is seekable, or from array, which then is all of source (NULL:
 * not given). key_frames is the largest number of frames that are unpacked to read one of them; 0:
 * bpk decides. If trials show a gain, choice gets another chunk size and why says so. Fails with
 * BPK_FAILED (source cannot be read) and BPK_NO_MEMORY.
 */
int bpk_predict(struct bpk_source *source, uint64_t raw_size, const struct bpk_array *array,
		unsigned key_frames, const struct bpk_wishes *wishes, struct bpk_choice *choice,
		struct bpk_predictions *predictions, struct bpk_err *err);

/*
 * The recipe with which a chunk seems to have been packed. Its level is the default of the codec,
 * since chunks do not record theirs. It has no filters that would lose bits of other data.
 */
struct bpk_recipe bpk_recipe_like(const struct bpk_chunk_header *header);

/* False for stored, special and empty chunks, which show no recipe. */
bool bpk_recipe_is_shown(const struct bpk_chunk_header *header);

#endif
