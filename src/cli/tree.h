/*
 * The files that a command works on: its operands or the names in a file, those found below
 * directories, or a share of them. Called by pack, unpack, verify and cmp. For the main thread
 * alone. Errors name their file.
 */
#ifndef BPK_CLI_TREE_H
#define BPK_CLI_TREE_H

#include "archive/archive.h"
#include "cli/command.h"

struct bpk_file {
	char *path;    /* as messages show it */
	size_t below;  /* where the part of path begins that --output-dir keeps; 0: the last one */
	uint64_t size; /* in bytes, of a whole dataset; known if there are shares */
	bool is_found; /* in a directory: the user did not name this very path */
	bool is_dataset; /* then, a directory that is one archive */
};

/* Caller storage, valid when zeroed; for bpk_files_clear. Fixed once gathered. */
struct bpk_files {
	struct bpk_file *all;
	size_t count, room;
	size_t npassed; /* files found that are none of the command's */
	size_t nheavy;  /* operands that are not light, in all shares */
};

/* Which files a command takes of those below a directory. */
struct bpk_tree_kind {
	bool (*takes)(const char *path); /* a file, by its name */
	/* Such a file costs no more than to open it, whatever its size; NULL: no file does. */
	bool (*is_light)(const char *path);
	bool takes_datasets; /* directories that are one archive; others are entered */
};

/*
 * Gather the operands of a command: named, or the names that --files0-from lists; with --recursive
 * the files below those that are directories, in byte order, and without --shard for no operand
 * "-". Folders that cannot be read are reported. With --shard only those of the share are left.
 * Memory follows their number. Fails with BPK_USAGE for options that contradict each other, or as
 * reading a list does.
 */
int bpk_files_gather(const struct bpk_shared *shared, const struct bpk_tree_kind *kind,
		     char *const *named, size_t count, struct bpk_files *operands,
		     struct bpk_err *err);

/* The same without a walk, and without shares: the names that were given. */
int bpk_files_name(const struct bpk_shared *shared, char *const *named, size_t count,
		   struct bpk_files *operands, struct bpk_err *err);

void bpk_files_clear(struct bpk_files *operands);

/*
 * The bytes of the operands before each of them, and at last of all, as files have them; for
 * free(). Directories and pipes count nothing. NULL if no bar is drawn, for one operand, or without
 * memory.
 */
uint64_t *bpk_files_starts(const struct bpk_shared *shared, const struct bpk_files *operands);

/* Tell the bar that operand number of count is in work; starts may be NULL. */
void bpk_files_go_to(const uint64_t *starts, size_t number, size_t count);

/* Add an operand; takes path, also on failure, when it may be NULL. Inside these files. */
int bpk_files_add(struct bpk_files *operands, char *path, struct bpk_err *err);

/*
 * Leave the operands of the share: an even split by size, the same for every order of listing and
 * on every machine. With --rm files disappear while other shares are at work, and an operand's
 * share follows from its name alone. Called by gather.
 */
int bpk_files_share(const struct bpk_shared *shared, struct bpk_files *operands,
		    struct bpk_err *err);

/* The size of an operand, in bytes, found once. */
uint64_t bpk_file_size(struct bpk_file *operand);

/* The calls of a walk. Paths are borrowed for the call. */
struct bpk_tree_visit {
	/* A directory that is one archive, by content, by the promise of its name or by its parity
	 * file; it is not entered. in is that of bpk_input_look, and the visitor closes it; rc and
	 * err say why it could not be examined. */
	void (*dataset)(void *arg, struct bpk_input *in, int rc, struct bpk_err *err);
	/* A regular file, and its size if it is known, or BPK_UNKNOWN. */
	void (*file)(void *arg, const char *path, uint64_t size);
	void *arg;
};

/* True if path, or the folder of a store, is a directory to be walked. */
int bpk_tree_is_directory(const char *path, bool *directory, struct bpk_err *err);

/* Walk a directory, without the files that --include and --exclude leave out. Folders that cannot
 * be read are reported. */
int bpk_tree_walk(const struct bpk_shared *shared, const char *root,
		  const struct bpk_tree_visit *visit, struct bpk_err *err);

/* ---- The end of a command ---- */

/* The sum of a command's work. */
struct bpk_tally {
	uint64_t done, raw_size, packed_size;
	uint64_t skipped, damaged, failed;
	bool advised; /* of the next step for damage */
};

/* Count a failure that is reported; skipped files, too, which have a kind of their own. Shared may
 * have no tally. */
void bpk_tally_failed(const struct bpk_shared *shared, const struct bpk_err *err);

/* Count a result. */
void bpk_tally_done(const struct bpk_shared *shared, uint64_t raw_size, uint64_t packed_size);

/* Count a file that is left out, because why; a note says so with -v. */
void bpk_tally_skipped(const struct bpk_shared *shared, const char *path, const char *why);

/* Print the sum of a command over a tree or a list, as a note, if the user looks at it: on a
 * terminal, or with -v. verb: "packed". */
void bpk_tally_tell(const struct bpk_shared *shared, const char *verb);

/* The rows of these options. */
extern const struct bpk_opt bpk_opt_recursive, bpk_opt_include, bpk_opt_exclude,
	bpk_opt_files0_from, bpk_opt_shard, bpk_opt_update;

/* The rows of every command that takes whole trees. */
#define BPK_OPTS_TREE                                                                              \
	&bpk_opt_recursive, &bpk_opt_include, &bpk_opt_exclude, &bpk_opt_files0_from, &bpk_opt_shard

#endif
