/*
 * The arrays inside an input, as commands show and save them: picked by name and frame, described,
 * written as NumPy's files. Errors name the input. Called by cat, info, ls, plot and unpack.
 */
#ifndef BPK_CLI_CONTENT_H
#define BPK_CLI_CONTENT_H

#include "cli/transfer.h"

/* bpk_content_open with the options that the user gave. */
int bpk_content_look(const struct bpk_input *in, const struct bpk_shared *shared,
		     struct bpk_content *content, struct bpk_err *err);

/* Tell of damage in a simulation file, behind the arrays that were read: perhaps it still grows. */
void bpk_content_note_damage(const struct bpk_content *content);

/* Fails with BPK_USAGE if frames are given without a name, or either beside another part of the
 * data (other: its option, "--bytes"; NULL: no option). */
int bpk_pick_check(const struct bpk_pick *pick, const char *other, struct bpk_err *err);

/*
 * Call visit for the picked array, frame after frame, until it returns non-zero. A frame without it
 * is an error, unless no_defaults is given: then it is left out. Fails with BPK_FAILED if no frame
 * has it.
 */
int bpk_pick_each(const struct bpk_content *content, const struct bpk_pick *pick,
		  int (*visit)(void *arg, const struct bpk_item *item, struct bpk_err *err),
		  void *arg, struct bpk_err *err);

/* The only array of a file, for an option that needs it. Fails with BPK_FAILED if the file has no
 * array, or several. */
int bpk_content_only(const struct bpk_content *content, const char *option, struct bpk_item *item,
		     struct bpk_err *err);

/* Write the picked arrays as NumPy's files, .npz if the transfer's target ends so, into its draft.
 * More than most bytes of arrays are refused. *count is the number of arrays. */
int bpk_content_save(const struct bpk_content *content, const struct bpk_pick *pick, uint64_t most,
		     struct bpk_transfer *transfer, uint64_t *count, struct bpk_err *err);

/* ---- By name ---- */

/* Arrays of one name, in all frames. */
struct bpk_content_name {
	char *name;
	size_t number;                  /* of the row */
	struct bpk_array array;         /* of the first */
	uint64_t count, size;           /* bytes of all */
	uint64_t offset;                /* of the first with bytes; BPK_UNKNOWN: all are empty */
	uint64_t first_step, last_step; /* or BPK_UNKNOWN */
	uint64_t packed; /* the share that all have of the packed chunks; BPK_UNKNOWN: not known */
	double share;    /* the same, before it is rounded */
	bool varies;     /* shapes or types are not all those of the first */
	bool framed;
};

/* In the order in which the names come. Caller storage, valid when zeroed. */
struct bpk_content_names {
	struct bpk_content_name **rows;
	size_t count, room;
	void *tree; /* of the same, by name */
};

/* True for damage, or a cost above the limits, which are no failures of a list: verify reports
 * them. */
bool bpk_content_is_damage(const struct bpk_err *err);

/* Fill the table from a content with a layout; packed: look up the chunks of all arrays, where
 * damage leaves the packed size unknown. Errors do not name the input. */
int bpk_content_names_fill(const struct bpk_content *content, bool packed,
			   struct bpk_content_names *names, struct bpk_err *err);

/* The row of a name; NULL if there is none. */
const struct bpk_content_name *bpk_content_names_find(const struct bpk_content_names *names,
						      const char *name);
void bpk_content_names_clear(struct bpk_content_names *names);

/* True if the chunk of any byte can be looked up without a walk over all of them. */
bool bpk_content_has_chunks(const struct bpk_content *content);

/* "<f8", as a C string. */
int bpk_content_dtype_text(const struct bpk_dtype *dtype, struct bpk_buf *text,
			   struct bpk_err *err);

/* "100 x 3": "-" for a single element; "varies" follows if later frames differ. */
int bpk_content_shape_text(const struct bpk_array *array, bool varies, struct bpk_buf *text,
			   struct bpk_err *err);

/* ---- Described ---- */

/* The type of an array, as members of a record: dtype, shape, order. */
int bpk_content_record_array(const struct bpk_array *array, struct bpk_err *err);

/* Members of a record that are not always wanted. */
struct bpk_content_detail {
	bool packed; /* the packed size of each name */
	bool arrays; /* a list of all arrays */
};

/* Describe the content: as text below the fields of an input, and as members of a record. */
int bpk_content_describe(const struct bpk_content *content, struct bpk_err *err);
int bpk_content_record(const struct bpk_content *content, const struct bpk_content_detail *detail,
		       struct bpk_err *err);

#endif
