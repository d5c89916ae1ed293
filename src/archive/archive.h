/*
 * The room archive: an open archive as one thing. Its content is read, appended to, overwritten,
 * truncated and followed through the editor of its format, by the threads of flow. The room knows
 * no options and no terminal, and takes no signal: its caller hands in threads, limits and hooks.
 * Nothing is changed for anyone before bpk_archive_commit. Every error is a whole line that names
 * its file. An archive is used by one thread at a time. Called by cli.
 */
#ifndef BPK_ARCHIVE_ARCHIVE_H
#define BPK_ARCHIVE_ARCHIVE_H

#include "archive/compare.h"
#include "archive/content.h"
#include "archive/digest.h"
#include "archive/foreign.h"
#include "archive/ident.h"
#include "archive/input.h"
#include "archive/statistics.h"
#include "archive/trajectory.h"
#include "flow/flow.h"

/* The caller's part in the work. A call that is NULL is not made; all calls get the arg that
 * stands beside the hooks. */
struct bpk_archive_hooks {
	/* The recipe of chunks that are added was chosen, before any of them is packed. A failure
	 * refuses it; the archive's name is put in front of the line. */
	int (*chosen)(void *arg, const struct bpk_recipe *recipe, struct bpk_err *err);
	/* A following has committed; line says how much. */
	bpk_remark_fn *remark;
	/* Raw bytes of name are packed: total of them, or BPK_UNKNOWN; then how far that is, from
	 * one thread of flow at a time; then the end of it. */
	void (*begin)(void *arg, const char *name, uint64_t total);
	void (*progress)(void *arg, uint64_t raw_done, uint64_t packed_done);
	void (*end)(void *arg);
};

/* Copied at open; the things it points to outlive the archive. */
struct bpk_archive_options {
	const struct bpk_format *format; /* NULL: by content */
	struct bpk_editor_options editor;
	struct bpk_limits limits;

	/* The packing of chunks that are added; the archive decides where a wish is open. It sets
	 * extended and chunk_size. */
	struct bpk_wishes wishes;
	bool lossy;             /* the archive's filters are kept even if they lose something */
	bool only_adds;         /* no byte is changed: a directory in a store may be opened */
	bool any_bytes;         /* an .npy file is appended to an array with its header */
	struct bpk_slack slack; /* room inside chunks */

	struct bpk_archive_hooks hooks;
	void *hooks_arg;
};

struct bpk_archive_ident; /* archive/keep_ident.c */

/* An archive being changed. Caller storage, valid when zeroed; for bpk_archive_close. */
struct bpk_archive {
	struct bpk_archive_options options;
	const char *path; /* borrowed; or url */
	char *url;        /* of a directory in a store; NULL: it is none */
	const struct bpk_format *format;
	void *editor;
	struct stat seen;                /* the file or directory as it was last committed */
	bool rewritten;                  /* a commit put another file in its place */
	bool was_array;                  /* its size agreed with its array when it was opened */
	struct bpk_chunk_header example; /* of a chunk that shows how the archive is packed */
	/* The record of its content's identity, which append and truncate continue, and other
	 * changes of bytes remove; NULL: it has none. */
	struct bpk_archive_ident *ident;
	bool lost_ident; /* a commit removed it */
};

/*
 * Open path for changing. Fails with BPK_USAGE for standard input, with BPK_FAILED for a member of
 * a tar, where another process is changing the archive, and for a URL, but for that of a directory
 * in a store where options and format allow it; with BPK_UNSUPPORTED for a format that cannot be
 * changed in place.
 */
int bpk_archive_open(struct bpk_archive *archive, const struct bpk_archive_options *options,
		     const char *path, struct bpk_err *err);

/* Undo uncommitted changes; harmless on a zeroed one. */
void bpk_archive_close(struct bpk_archive *archive);

/* Fail with BPK_FAILED: the file of a URL is not changed in place, and how else. Returns -1. */
int bpk_fail_url_change(struct bpk_err *err);

/* Put the archive's name in front of a report. Returns -1. */
int bpk_archive_subject(const struct bpk_archive *archive, struct bpk_err *err);

/* As last committed; sizes and counts are known. */
const struct bpk_info *bpk_archive_info(const struct bpk_archive *archive);

/* Fails with BPK_FAILED where the file called name is the archive, or lies in its directory. */
int bpk_archive_is_not(const struct bpk_archive *archive, const struct stat *file, const char *name,
		       struct bpk_err *err);

/* Add size raw bytes from start on to out. */
int bpk_archive_read(struct bpk_archive *archive, uint64_t start, uint64_t size,
		     struct bpk_buf *out, struct bpk_err *err);

/*
 * Choose the packing of chunks that are added: the wishes, and, where they are open, the recipe of
 * the archive's own chunks. An archive without such a chunk is decided by trial on source, or, when
 * that is NULL, without a trial. The slack is that of the options. packing is zeroed before, and
 * its choice has lines for bpk_buf_clear afterwards.
 */
int bpk_archive_choose(struct bpk_archive *archive, struct bpk_source *source,
		       struct bpk_packing *packing, struct bpk_err *err);

/* Put all of source behind the content, without committing. name is that of source in messages and
 * for the progress; NULL: the bytes are the archive's own, and have no progress. */
int bpk_archive_append(struct bpk_archive *archive, struct bpk_source *source, const char *name,
		       const struct bpk_packing *packing, struct bpk_flow_result *result,
		       struct bpk_err *err);

/* The new bytes of an overwrite. */
struct bpk_overwrite {
	uint64_t at;               /* raw offset in the archive */
	struct bpk_source *source; /* all of it; its size may be unknown */
	const char *name;          /* of source; as above */
	struct bpk_slack slack;    /* for chunks that outgrow their place */
};

/*
 * Overwrite raw bytes, without committing; *written is their number. Chunks keep their recipe.
 * Fails with BPK_FAILED when the source has more bytes than the archive from there on.
 */
int bpk_archive_overwrite(struct bpk_archive *archive, const struct bpk_overwrite *bytes,
			  uint64_t *written, struct bpk_err *err);

/* Keep the first raw_size bytes, at most as many as there are, without committing. */
int bpk_archive_truncate(struct bpk_archive *archive, uint64_t raw_size, struct bpk_err *err);

/* Set the user's metadata to this text, without committing; the record of the identity is added to
 * it. Fails with BPK_USAGE if it has such a record, or as the format's editor does. */
int bpk_archive_set_metadata(struct bpk_archive *archive, struct bpk_buf *text,
			     struct bpk_err *err);

/* Make everything since the last commit permanent, all of it or nothing. */
int bpk_archive_commit(struct bpk_archive *archive, struct bpk_err *err);

/* Remove the holes that many commits left, if they are a considerable part; nothing is pending.
 * Fails only if the archive cannot be used any more. */
int bpk_archive_compact(struct bpk_archive *archive, struct bpk_err *err);

/* ---- Appending in rounds ---- */

/* The end of a round, and of a following. */
struct bpk_follow_options {
	double interval; /* seconds: a round lasts no longer, unless a chunk takes longer */
	double idle;     /* seconds without growth that end a following; 0: no limit */
	uint64_t pid;    /* the end of this process ends a following; 0: no process */
	/* Another file under the name ends a following, which then succeeds; the file's bytes are
	 * read to its end, wherever it is by then. */
	bool rotates;
};

/* The sum of all rounds. */
struct bpk_rounds {
	uint64_t appended; /* raw bytes */
	uint64_t commits;
	uint64_t mended;   /* raw bytes that were overwritten, since the file was changed there */
	uint64_t left_out; /* bytes at the file's end, less than a row of the archive */
	/* The name of a file that rotates belongs to another one, or the file was begun anew: the
	 * archive is complete. */
	bool is_replaced;
};

/* Append the content of paths ("-": standard input), and commit once: all of it or nothing. */
int bpk_archive_append_files(struct bpk_archive *archive, char *const *paths, size_t count,
			     struct bpk_rounds *rounds, struct bpk_err *err);

/* Append the content of paths, and commit every interval seconds; committed
 * bytes stay when it fails. */
int bpk_archive_append_rounds(struct bpk_archive *archive, char *const *paths, size_t count,
			      double interval, struct bpk_rounds *rounds, struct bpk_err *err);

/*
 * Append the bytes of the file path, which grows, behind those of the archive, until options or
 * bpk_archive_ask_end end it. Samples of the archive are compared with the file at the start and
 * before each commit, and all of it at the end. Committed bytes stay, but for the parts of the file
 * that its kind changes as it grows (archive/followed.h); with mend they become those of the file.
 * Fails with BPK_FAILED, and the offset of the first difference, where the file is another, unless
 * it rotates: then that is rounds->is_replaced.
 */
int bpk_archive_follow(struct bpk_archive *archive, const char *path, bool mend,
		       const struct bpk_follow_options *options, struct bpk_rounds *rounds,
		       struct bpk_err *err);

/* Wait until path exists, or a following by these options would end. *asked: bpk_archive_ask_end
 * has ended it. Any end leaves the file missing, which is no failure. Fails with BPK_FAILED if it
 * exists and is not a regular file. */
int bpk_archive_await(const char *path, const struct bpk_follow_options *options, bool *asked,
		      struct bpk_err *err);

/* Ask the round, or the following, that is at work to commit now, or to end. Any thread. */
void bpk_archive_ask_commit(void);
void bpk_archive_ask_end(void);

/* ---- Trajectories ---- */

/* Does the archive hold a GSD file? Fails as reading it does. */
int bpk_archive_is_gsd(struct bpk_archive *archive, bool *is_gsd, struct bpk_err *err);

/* The sum of all commits. */
struct bpk_joined {
	uint64_t appended_frames, nframes;
	uint64_t commits;
	bool torn; /* the followed file's last frame is not whole, and was left out */
};

/*
 * Put the frames of every GSD file behind those of the archive, and commit; all of them or nothing.
 * Where the schema is hoomd, an array that a frame leaves out is written out, if it stands for
 * something else in the archive's first frame than in its own file's. Errors name the file they are
 * about.
 */
int bpk_archive_join(struct bpk_archive *archive, char *const *paths, size_t count,
		     struct bpk_joined *joined, struct bpk_err *err);

/*
 * Follow a growing GSD file whose first frames the archive holds: frames are appended once the
 * file's index has them, and each round commits. Fails with BPK_FAILED if the archive's frames
 * differ from the file's.
 */
int bpk_archive_join_follow(struct bpk_archive *archive, const char *path,
			    const struct bpk_follow_options *options, struct bpk_joined *joined,
			    struct bpk_err *err);

#endif
