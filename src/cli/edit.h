/*
 * The archive that a command changes: the options that such commands share, and their messages
 * about the change. Every error is a whole line that names its file; report it with
 * bpk_report(NULL, err). For the main thread alone.
 */
#ifndef BPK_CLI_EDIT_H
#define BPK_CLI_EDIT_H

#include "archive/archive.h"
#include "cli/encoding.h"
#include "cli/progress.h"
#include "cli/renew.h"

extern const struct bpk_opt bpk_opt_wait, bpk_opt_no_lock, bpk_opt_copy, bpk_opt_journal_limit;

/* The rows of every command that changes an archive in place. */
#define BPK_OPTS_CHANGE                                                                            \
	&bpk_opt_wait, &bpk_opt_no_lock, &bpk_opt_copy, &bpk_opt_journal_limit, &bpk_opt_no_sync

/* The arguments as io takes them. */
struct bpk_edit_options bpk_edited_options(const struct bpk_args *args);

/* Caller storage, valid when zeroed and not moved while open; for bpk_edited_close. */
struct bpk_edited {
	const struct bpk_args *args; /* borrowed */
	struct bpk_archive archive;
	struct bpk_progress progress;
	struct bpk_renewal renewal; /* of its parity */
};

/* Begin to wait for signals and open path for changing, as bpk_archive_open; only_adds as in its
 * options. Also fails with BPK_USAGE if the format or the archive's array cannot obey the
 * options. */
int bpk_edited_open(struct bpk_edited *edited, const struct bpk_args *args, const char *path,
		    bool only_adds, struct bpk_err *err);

/* Undo uncommitted changes, and renew the parity file after committed ones, and report if that
 * fails; harmless on a zeroed one. */
void bpk_edited_close(struct bpk_edited *edited);

/* Report that the archive at path was not changed; of damage with the next step. */
void bpk_edited_report(const char *path, struct bpk_err *err);

/* How the change was committed, for -v: "in place", "in the store", "rewritten, as --copy asks",
 * "rewritten without its holes" in a format that has them, or no_room if there was none. */
const char *bpk_edited_how(const struct bpk_edited *edited, const char *no_room);

/* Note that the metadata record an array whose shape could not follow the change of size. */
void bpk_edited_tell_shape(const struct bpk_edited *edited);

/* The raw offset of a number of bytes, or of items of unit bytes; a negative number counts from the
 * end. Fails with BPK_FAILED if it is outside of the archive. */
int bpk_edited_resolve(const struct bpk_edited *edited, const struct bpk_opt_offset *offset,
		       uint64_t unit, uint64_t *at, struct bpk_err *err);

#endif
