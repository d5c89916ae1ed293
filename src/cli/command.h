/*
 * Commands as rows of a table: name, synopsis, options, and the function that does the work. Read
 * by main, opt.c, help.c and gendoc.
 */
#ifndef BPK_CLI_COMMAND_H
#define BPK_CLI_COMMAND_H

#include "cli/opt.h"
#include "flow/flow.h"

/* The kind of a command's operands; completions offer them. */
enum bpk_operands {
	OPERANDS_NONE,
	OPERANDS_FILES,         /* any files */
	OPERANDS_ARCHIVES,      /* archives and tars */
	OPERANDS_CONTENT,       /* the same, and simulation files */
	OPERANDS_ARCHIVE_FIRST, /* one of these, then any files */
	OPERANDS_COMMANDS,      /* names of commands */
};

/* Which arrays inside the raw bytes are wanted. */
struct bpk_pick {
	const char *name; /* NULL: not given */
	struct bpk_opt_range frames;
	bool no_defaults;
};

/* The files that a command works on: tree.h. */
struct bpk_tree_args {
	bool recursive, update;
	struct bpk_opt_list include, exclude;
	const char *files0_from;
	struct bpk_opt_share share;
};

/* The arguments that several commands share; every command's own struct begins with it. */
struct bpk_shared {
	const char *command; /* its name; no option */
	bool help;
	bool quiet;
	unsigned verbose;
	bool json;
	enum bpk_when progress;
	uint64_t threads; /* 0: all that are usable */
	/* 0: no limit. BPK_UNKNOWN while options are read: not given. It then becomes a share of
	 * the machine's memory, and memory_given stays false. */
	uint64_t memory_limit;
	bool memory_given;
	uint64_t max_output;  /* BPK_UNKNOWN: no limit */
	uint64_t chunk_limit; /* chunks that unpack to more are refused; 0: no limit. No option */

	bool to_stdout;
	const char *output;
	const char *output_dir;
	bool force;
	bool remove; /* --rm */
	bool no_sync;

	const struct bpk_format *format; /* NULL: by content, or by the output's name */
	bool no_check;
	bool no_marker;
	bool heal;    /* of verify: damaged archives are restored in place */
	bool outline; /* no content is read, or a part that ends before that does; no option */
	bool judges;  /* its verdict reports a pending change; no option */
	struct bpk_pick pick;
	struct bpk_tree_args tree;
	size_t below;                /* of the current operand (tree.h); no option */
	struct bpk_pace *pace;       /* of verify's --limit-rate, or NULL; no option */
	struct bpk_tally *tally;     /* what was done, or NULL; no option */
	struct bpk_results *results; /* files that no result may replace, or NULL; no option */
	bool saves;                  /* intact chunks count one by one; no option */
	bool as_stored;              /* read chunks as they lie, those of arrays too; no option */
	bool audits;                 /* all is read and then audited; no option */

	uint64_t connections, timeout, max_download; /* of URLs; 0: the default */
	const char *endpoint, *region;               /* of stores; NULL: see bpk-remote(7) */
	const char *state;                           /* a file that verify keeps, or NULL */
	const char *cache;                           /* a folder for URLs; NULL: none */
	uint64_t cache_size;                         /* 0: the default */
};

/* Fill in the derived members after all options are read. Returns shared. */
const struct bpk_shared *bpk_shared_complete(struct bpk_shared *shared);

/* The number of threads to use; and with it the limit on memory. */
unsigned bpk_shared_threads(const struct bpk_shared *shared);
struct bpk_limits bpk_shared_limits(const struct bpk_shared *shared);

/* The default of --memory-limit: half of the memory that this process may use. */
uint64_t bpk_memory_default(void);

/* The arguments of a program itself, before any command; the last two of bpk-mpi alone. */
struct bpk_main_args {
	struct bpk_shared shared;
	bool version;
	uint64_t max_time;  /* seconds; 0: no limit */
	const char *resume; /* the file of the operands that are done; NULL: none */
};

/* An option of a like program, and the words to use instead. */
struct bpk_foreign {
	char letter;      /* a blank: none */
	const char *name; /* the long one, or NULL */
	const char *instead;
};

struct bpk_command {
	const char *name;        /* NULL: bpk itself */
	const char *synopsis;    /* "[OPTION]... [FILE]..."; a line for each way to call it */
	const char *summary;     /* one line for lists: lower case, no full stop */
	const char *description; /* a few sentences for --help */
	enum bpk_operands operands;
	const char *words; /* the words that its first operand may be, "get set"; NULL: any */
	const struct bpk_opt *const *options; /* ended by NULL */
	const struct bpk_foreign *foreign;    /* ended by letter 0; or NULL */
	size_t args_size;     /* of its arguments, which begin with struct bpk_shared */
	const void *defaults; /* its arguments before options are read */
	bool reads;           /* it writes no file, unless for --cache or --heal: it is confined
		     * (bpk_confine) */
	/* Do the work. Failures are reported (report.h) as they come; there is no result. */
	void (*run)(void *args, char **operands, size_t count);
};

/* bpk itself, and bpk-mpi: the options that stand before a command. */
extern const struct bpk_command bpk_command_main, bpk_command_team;

/* A program: one of the tables of commands. */
struct bpk_program {
	const char *name;
	const struct bpk_command *main;
	const struct bpk_command *const *commands; /* in the order of help, ended by NULL */
	struct bpk_team *team; /* the processes that share its work; NULL: it is alone */
	const char *library;   /* that the team's messages need, with its version, or NULL */
};

/* The one that runs: bpk, until bpk_program_run sets another. */
extern const struct bpk_program *bpk_program;

extern const struct bpk_program bpk_program_alone, bpk_program_team;

/* Run by the arguments of main; program outlives it. Returns the exit status, of rank 0 in a
 * team and 0 on other ranks. */
int bpk_program_run(const struct bpk_program *program, int argc, char **argv);

/* All commands of bpk in the order of help, ended by NULL. */
extern const struct bpk_command *const bpk_commands[];

extern const struct bpk_command bpk_command_pack, bpk_command_unpack, bpk_command_cat,
	bpk_command_cmp, bpk_command_info, bpk_command_ls, bpk_command_plot, bpk_command_verify,
	bpk_command_sum, bpk_command_append, bpk_command_truncate, bpk_command_write,
	bpk_command_meta, bpk_command_convert, bpk_command_convert_to_chunked, bpk_command_tar,
	bpk_command_repair, bpk_command_parity, bpk_command_seal, bpk_command_bench,
	bpk_command_help, bpk_command_version;

/* By name; NULL if not found. */
const struct bpk_command *bpk_command_find(const char *name);

/* Report an unknown command as BPK_USAGE, with the nearest known one. */
int bpk_command_unknown(const char *name, struct bpk_err *err);

/* Print the text of --help: usage, description, options by group, 80 columns. */
void bpk_command_help_print(const struct bpk_command *command);

/* Print the text of --version. */
void bpk_version_print(void);

/* Rows that several commands share; their values are in struct bpk_shared. */
extern const struct bpk_opt bpk_opt_stdout, bpk_opt_output, bpk_opt_output_dir, bpk_opt_force,
	bpk_opt_keep, bpk_opt_rm, bpk_opt_no_sync, bpk_opt_threads, bpk_opt_memory_limit,
	bpk_opt_max_output, bpk_opt_quiet, bpk_opt_verbose, bpk_opt_progress, bpk_opt_json,
	bpk_opt_help, bpk_opt_format_read, bpk_opt_format_write, bpk_opt_no_check,
	bpk_opt_no_marker, bpk_opt_name, bpk_opt_frames, bpk_opt_no_defaults, bpk_opt_connections,
	bpk_opt_timeout, bpk_opt_max_download, bpk_opt_endpoint, bpk_opt_region, bpk_opt_cache,
	bpk_opt_cache_size;

/* The rows of every command that reads URLs. */
#define BPK_OPTS_REMOTE                                                                            \
	&bpk_opt_connections, &bpk_opt_timeout, &bpk_opt_max_download, &bpk_opt_endpoint,          \
		&bpk_opt_region, &bpk_opt_cache, &bpk_opt_cache_size

/* The last rows of a command that works on whole contents. */
#define BPK_OPTS_RUN                                                                               \
	&bpk_opt_threads, &bpk_opt_memory_limit, &bpk_opt_quiet, &bpk_opt_verbose,                 \
		&bpk_opt_progress, &bpk_opt_json, &bpk_opt_help

#endif
