/*
 * The parity files beside archives: made, and compared. Called by parity.c, and by the commands
 * that verify, mend and change archives. For the main thread alone. Errors name the file that they
 * are about.
 */
#ifndef BPK_CLI_SIDE_H
#define BPK_CLI_SIDE_H

#include "cli/transfer.h"
#include "parity/parity.h"

/* The path of the file beside the archive at path, whose name has the suffix more; and that of its
 * parity file. A link, "." and ".." stand for the archive that they lead to. For free(); NULL with
 * BPK_NO_MEMORY. */
char *bpk_side_beside(const char *path, const char *suffix, struct bpk_err *err);
char *bpk_side_name(const char *path, struct bpk_err *err);

/* False if there is surely no parity file: found out without memory, for callers whose archive is
 * there already, and which must not fail if they have nothing to do. */
bool bpk_side_may_be(const char *path);

/* "5", "5%" or "2.5%", in hundredths of a percent; false: none of these, or out of range. */
bool bpk_side_parse(const char *text, unsigned *share);

/* True if the file at path is a parity file, by its name and content. */
bool bpk_side_is(const char *path);

struct bpk_side_options {
	unsigned share;                         /* hundredths of a percent */
	bool force;                             /* replace any file of its name */
	bool sync;                              /* file and folder */
	const struct bpk_parity_change *change; /* of an append; or NULL */
	const struct stat *seen;                /* the archive that is meant; or NULL */
	const struct bpk_parity_files *files;   /* of a directory, the same; or NULL */
};

/* Write the parity file name for the archive at path, a file or a directory: beside it, then in the
 * place of an old one. *size is that of the archive. */
int bpk_side_make(const char *path, const char *name, const struct bpk_side_options *options,
		  uint64_t *size, struct bpk_err *err);

/* Fail unless the input of bpk_input_look is an archive of its own, without a pending change, which
 * a file may lie beside. */
int bpk_side_check_own(const struct bpk_input *in, const char *what, struct bpk_err *err);

/* Test structure and every checksum of an input that was started, and its seal. */
int bpk_side_test(const struct bpk_shared *shared, struct bpk_input *in, struct bpk_err *err);

/* Start the input of bpk_input_look, and test it. */
int bpk_side_verify(const struct bpk_shared *shared, struct bpk_input *in, struct bpk_err *err);

/* An archive beside its parity file. Caller storage, valid when zeroed; for bpk_side_clear. */
struct bpk_side {
	char *name; /* of the parity file */
	struct bpk_parity *parity;
	/* of bpk_side_compare */
	struct bpk_parity_scan scan;
	struct bpk_parity_files now; /* of a directory; and how they differ from its list */
	struct bpk_parity_drift drift;
};

/* Open the parity file of the archive at path. *there is false if it has none, or can have none.
 * Fails as bpk_parity_open does, and with the name of the file in front. */
int bpk_side_open(struct bpk_side *side, const char *path, bool *there, struct bpk_err *err);

/* List the files of the directory at path that parity covers. files need not be zeroed; for
 * bpk_parity_files_clear, also after a failure, which does not name path. */
int bpk_side_list(const char *path, struct bpk_parity_files *files, struct bpk_err *err);

/* True if it has one, even one that cannot be opened: the command that uses it reports that. */
bool bpk_side_has(const char *path);

/* The worth of a parity file to the archive as it is now, by times and sizes alone. */
enum bpk_side_state {
	BPK_SIDE_NONE,    /* there is none, or can be none */
	BPK_SIDE_CURRENT, /* it heals in place */
	BPK_SIDE_STALE,   /* it is of another time of change, or another size */
	BPK_SIDE_DAMAGED, /* it cannot be used */
};

int bpk_side_look(const char *path, enum bpk_side_state *state, struct bpk_err *err);

/* The same, and all of the parity file is read, but nothing of the archive: BPK_SIDE_DAMAGED also
 * if a part of it is lost. */
int bpk_side_look_through(const char *path, enum bpk_side_state *state, struct bpk_err *err);

/* Add it to the record as parity: null, "current", "stale" or "damaged". */
void bpk_side_record(enum bpk_side_state state);

/* True if err is damage of the archive at path. */
bool bpk_side_is_damage(const char *path, const struct bpk_err *err);

/* If err is damage of the archive at path, and names no command as the next step: name the one that
 * shows all damage, or compares it with its parity file. The second call is for an input. */
void bpk_side_advise_path(const char *path, struct bpk_err *err);
void bpk_side_advise(const struct bpk_input *in, struct bpk_err *err);

/* If err is that the archive at path is gone, and its parity file is there, name the next step. */
void bpk_side_advise_gone(const char *path, struct bpk_err *err);

/* True if a file with these times was not written since its parity file was made. */
bool bpk_side_is_current(const struct bpk_side *side, const struct stat *archive);

/* Compare the archive, as its file or its files are now, with it. */
int bpk_side_compare(struct bpk_side *side, const char *path, struct bpk_err *err);

/* The same for the source of a file, and for an open directory. */
int bpk_side_compare_source(struct bpk_side *side, struct bpk_source *source, struct bpk_err *err);
int bpk_side_compare_dir(struct bpk_side *side, struct bpk_dir *dir, struct bpk_err *err);

/* Results of a comparison: a part of the archive is lost or damaged; of the parity file; nothing
 * was written to the archive since its parity file was made, by its times. */
bool bpk_side_has_damage(const struct bpk_side *side);
bool bpk_side_is_damaged(const struct bpk_side *side);
bool bpk_side_is_as_then(const struct bpk_side *side, const char *path);
void bpk_side_clear(struct bpk_side *side);

/* True if the times are those to the nanosecond. A time that was cut to seconds may be that of a
 * later write in the same second. */
bool bpk_side_is_exact(const struct bpk_side *side, const char *path);

/* True if the file at path, or a file of the directory, which was compared, has bytes behind the
 * end that the parity file records, and nobody wrote them since that was made: an append has given
 * the file a later time, unless the clock stood still meanwhile, as it may where times are whole
 * seconds, or the parity file has no later one. */
bool bpk_side_has_grown(const struct bpk_side *side, const char *path);

/* True if the file is as then, or has grown so: any difference is damage. */
bool bpk_side_is_unwritten(const struct bpk_side *side, const char *path);

/* Fail with the damage that a comparison found: BPK_REPAIRABLE, or BPK_CORRUPT if some is lost. */
int bpk_side_fail_damaged(const struct bpk_side *side, const char *path, struct bpk_err *err);

/* Open the parity file of the archive at path, if it has one, and compare them, if it is of its
 * time or a directory's. *differs: by bytes that nobody wrote since. side is for bpk_side_clear,
 * after a failure, too. */
int bpk_side_find_damage(struct bpk_side *side, const char *path, bool *differs,
			 struct bpk_err *err);

/* Before a change of all of the archive at path: fail, as above and with its name in front, if it
 * is damaged and has parity of its state before. One read of it. own_damage, unless NULL: true if
 * a part of the parity file itself is lost. */
int bpk_side_need_whole(const char *path, bool *own_damage, struct bpk_err *err);

#endif
