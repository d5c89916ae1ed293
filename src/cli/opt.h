/*
 * Options as rows of a table. Parsing, --help, the OPTIONS section of the manual pages and the
 * completions are all made from the same rows, so they always agree. Every command has rows; main,
 * help.c and gendoc read them.
 */
#ifndef BPK_CLI_OPT_H
#define BPK_CLI_OPT_H

#include <stddef.h>

#include "format/format.h"

/* The kind of an option's argument. bpk_value_KIND below is the C type of its value. */
enum bpk_opt_type {
	OPT_FLAG,         /* set */
	OPT_UNFLAG,       /* cleared: the opposite of a flag */
	OPT_COUNT,        /* one more each time */
	OPT_U64,          /* from min to max */
	OPT_SIZE,         /* in bytes from min to max; K M G T, and "max" */
	OPT_TIME,         /* in seconds from min to max; m h d w */
	OPT_LEVEL,        /* 0..9 */
	OPT_DIGITS,       /* -0 to -9: one row for ten letters */
	OPT_TYPESIZE,     /* 1..255, or "auto": BPK_AUTO */
	OPT_CODEC,        /* a name */
	OPT_CODECS,       /* several names */
	OPT_LEVELS,       /* several levels, or ranges of them */
	OPT_FILTER,       /* a list, or "auto": not given */
	OPT_CHECKSUM,     /* a name */
	OPT_FORMAT_READ,  /* one that can be read */
	OPT_FORMAT_WRITE, /* one that can be written */
	OPT_WHEN,         /* auto, always, never */
	OPT_FILL,         /* the first max of zero, skip, nan; 0: all */
	OPT_LAYOUT,       /* one of some format's layouts */
	OPT_SLACK,        /* a size up to max, or P% */
	OPT_RANGE,        /* A:B */
	OPT_PART,         /* the same, an index, or A:B:STEP with a step up to max */
	OPT_OFFSET,       /* a number, from the start or the end */
	OPT_SHAPE,        /* A,B,... */
	OPT_SLICE,        /* ranges and indices, one for each dimension */
	OPT_TEXT,         /* any text */
	OPT_FILE,         /* a path */
	OPT_DIRECTORY,    /* a path */
	OPT_LIST,         /* one more text each time */
	OPT_SHARE,        /* I/N */
};

/* The title under which an option stands, in this order. */
enum bpk_opt_group {
	GROUP_WORK,   /* the work of the command */
	GROUP_OUTPUT, /* where the result goes */
	GROUP_RUN,    /* how it runs, and its messages */
	BPK_OPT_GROUPS,
};

enum bpk_when {
	BPK_WHEN_AUTO,
	BPK_WHEN_ALWAYS,
	BPK_WHEN_NEVER,
};

/* The bytes that stand for lost ones. */
enum bpk_fill {
	BPK_FILL_NONE, /* not given: nothing is written without them */
	BPK_FILL_ZERO,
	BPK_FILL_SKIP, /* they are left out */
	BPK_FILL_NAN,
};

/* A:B as in Python: half open, negative counts from the end, either side may be left out. An index
 * is the range of it alone, which has no end if that is the end of all. */
struct bpk_opt_range {
	bool given, is_index;
	bool has_start, has_end;
	int64_t start, end;
	uint64_t step; /* 0: not given */
};

/* One of several shares of the work. */
struct bpk_opt_share {
	uint64_t number, count; /* from 1 to count; 0: not given */
};

/* A place in the data; a negative one counts from the end. */
struct bpk_opt_offset {
	bool given, negative;
	uint64_t distance; /* from the start, or from the end; at most 2^63-1 */
};

/* A list of filters. */
struct bpk_opt_filter {
	bool given;
	struct bpk_pipeline pipeline;
};

/* Dimensions of an array. */
struct bpk_opt_shape {
	size_t ndimensions; /* 0: not given */
	uint64_t sizes[BPK_ARRAY_MAX_DIMENSIONS];
};

/* A part of an array: "0:10,...,-1". */
struct bpk_opt_slice {
	bool given;
	size_t count; /* of the dimensions named */
	bool has_ellipsis;
	size_t before_ellipsis; /* the number of sides before it */
	struct bpk_opt_range sides[BPK_ARRAY_MAX_DIMENSIONS];
};

/* Texts in the order given; items is owned, the texts are borrowed from argv. */
struct bpk_opt_list {
	const char **items;
	size_t count;
};

typedef bool bpk_value_OPT_FLAG;
typedef bool bpk_value_OPT_UNFLAG;
typedef unsigned bpk_value_OPT_COUNT;
typedef uint64_t bpk_value_OPT_U64;
typedef uint64_t bpk_value_OPT_SIZE;
typedef uint64_t bpk_value_OPT_TIME;
typedef int bpk_value_OPT_LEVEL;
typedef int bpk_value_OPT_DIGITS;
typedef int bpk_value_OPT_TYPESIZE;
typedef const struct bpk_codec *bpk_value_OPT_CODEC;
typedef unsigned bpk_value_OPT_CODECS; /* bit i: codec i of the table; 0: not given */
typedef unsigned bpk_value_OPT_LEVELS; /* bit n: level n; 0: not given */
typedef struct bpk_opt_filter bpk_value_OPT_FILTER;
typedef const struct bpk_checksum *bpk_value_OPT_CHECKSUM;
typedef const struct bpk_format *bpk_value_OPT_FORMAT_READ;
typedef const struct bpk_format *bpk_value_OPT_FORMAT_WRITE;
typedef enum bpk_when bpk_value_OPT_WHEN;
typedef enum bpk_fill bpk_value_OPT_FILL;
typedef const char *bpk_value_OPT_LAYOUT;
typedef const char *bpk_value_OPT_TEXT;
typedef const char *bpk_value_OPT_FILE;
typedef const char *bpk_value_OPT_DIRECTORY;
typedef struct bpk_slack bpk_value_OPT_SLACK;
typedef struct bpk_opt_range bpk_value_OPT_RANGE;
typedef struct bpk_opt_range bpk_value_OPT_PART;
typedef struct bpk_opt_offset bpk_value_OPT_OFFSET;
typedef struct bpk_opt_shape bpk_value_OPT_SHAPE;
typedef struct bpk_opt_slice bpk_value_OPT_SLICE;
typedef struct bpk_opt_list bpk_value_OPT_LIST;
typedef struct bpk_opt_share bpk_value_OPT_SHARE;

/* The kind of an option and the place of its value: member of a command's arguments args. The
 * compiler checks that the member has the kind's type. */
#define BPK_OPT_VALUE(kind, args, member)                                                          \
	.type = kind, .offset = offsetof(args, member) +                                           \
				0 * sizeof(struct {                                                \
					_Static_assert(__builtin_types_compatible_p(               \
							       __typeof__(((args *)NULL)->member), \
							       bpk_value_##kind),                  \
						       "the type of the member");                  \
					char unused;                                               \
				})

struct bpk_opt {
	char letter;      /* 0: no letter. For OPT_DIGITS '0' */
	const char *name; /* the long name, or NULL */
	enum bpk_opt_type type;
	size_t offset;       /* of its value in the command's arguments */
	const char *metavar; /* "SIZE"; NULL if it takes no argument */
	const char *help;    /* one line: lower case, no full stop */
	const char *more;    /* whole sentences for the manual alone, or NULL */
	enum bpk_opt_group group;
	bool once;               /* a text: a second one is wrong usage, and does not win */
	const char *environment; /* the variable that gives a default, or NULL */
	uint64_t min, max;       /* of OPT_U64, OPT_SIZE, OPT_TIME, OPT_SLACK and OPT_PART */
};

struct bpk_command;

/* The title of a group: "Where the result goes". */
const char *bpk_opt_group_title(enum bpk_opt_group group);

/* True when the option must be followed by an argument. */
bool bpk_opt_takes_argument(const struct bpk_opt *opt);

/*
 * Word number index of the words that an option's argument may be ("zstd", "auto"); NULL behind the
 * last, and for a type without words. The words come from the tables of codecs, filters, checksums
 * and formats.
 */
const char *bpk_opt_word(const struct bpk_opt *opt, size_t index);

/*
 * Store the value that text gives an option in args. Fails with BPK_USAGE: "cannot be 'x',
 * expected ...".
 */
int bpk_opt_set(const struct bpk_opt *opt, const char *text, void *args, struct bpk_err *err);

/* Take over the environment variables that the command's options name; an empty one counts as
 * unset. Fails with BPK_USAGE; the line names the variable. */
int bpk_opts_from_environment(const struct bpk_command *command, void *args, struct bpk_err *err);

/*
 * Take over the options in BPK_OPTIONS, words with blanks between them. Those that only other
 * commands know are left out. *kept owns the text that args refers to; free it with args. Fails
 * with BPK_USAGE: a word that is no option, an option that no command knows, a wrong value.
 */
int bpk_opts_from_defaults(const struct bpk_command *command, void *args, char **kept,
			   struct bpk_err *err);

/*
 * Parse argv[1..] with getopt_long into args; operands are moved behind the options, and
 * *first_operand is the index of the first one (argc: no operands). Fails with BPK_USAGE.
 */
int bpk_opts_parse(const struct bpk_command *command, int argc, char **argv, void *args,
		   int *first_operand, struct bpk_err *err);

/* Free the memory that parsing allocated in args. */
void bpk_opts_clear(const struct bpk_command *command, void *args);

/* Values as users write them. Each fails with BPK_USAGE. */
int bpk_parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *out, struct bpk_err *err);
int bpk_parse_size(const char *text, uint64_t min, uint64_t max, uint64_t *out,
		   struct bpk_err *err);
int bpk_parse_time(const char *text, uint64_t min, uint64_t max, uint64_t *out,
		   struct bpk_err *err);
int bpk_parse_range(const char *text, struct bpk_opt_range *out, struct bpk_err *err);
int bpk_parse_part(const char *text, uint64_t most_step, struct bpk_opt_range *out,
		   struct bpk_err *err);
int bpk_parse_offset(const char *text, struct bpk_opt_offset *out, struct bpk_err *err);

/* "1,3,5-9": bit n of *out is set for level n. */
int bpk_parse_levels(const char *text, unsigned *out, struct bpk_err *err);

int bpk_parse_share(const char *text, struct bpk_opt_share *out, struct bpk_err *err);
int bpk_parse_shape(const char *text, struct bpk_opt_shape *out, struct bpk_err *err);
int bpk_parse_slice(const char *text, struct bpk_opt_slice *out, struct bpk_err *err);

/*
 * The place of a range in total items: as in Python, a side that leaves the data stops at its end,
 * and a range that ends before it starts is empty. total may be BPK_UNKNOWN: then a negative side
 * fails with BPK_FAILED, and an end left out stays BPK_UNKNOWN.
 */
int bpk_range_resolve(const struct bpk_opt_range *range, uint64_t total, uint64_t *start,
		      uint64_t *end, struct bpk_err *err);

/* The same, but an index outside of them fails with BPK_FAILED. items is the name of all:
 * "frames". */
int bpk_part_resolve(const struct bpk_opt_range *range, const char *items, uint64_t total,
		     uint64_t *start, uint64_t *end, struct bpk_err *err);

#endif
