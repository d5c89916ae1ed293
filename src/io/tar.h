/* Tar streams, over libarchive: members written, extracted, listed, and read in place. A part of
 * the room's door. */
#ifndef BPK_IO_TAR_H
#define BPK_IO_TAR_H

#include "io/io.h"

/* ---- Writing ---- */

/* A pax stream being written to a draft. Belongs to one thread. */
struct bpk_tar_writer;

struct bpk_tar_options {
	bool has_date; /* times of members are date, owners are left out (SOURCE_DATE_EPOCH) */
	int64_t date;  /* seconds */
	bool zip;      /* write a zip of stored members: checks sizes and names, ignores owners */
};

/* draft is borrowed until close. */
int bpk_tar_writer_open(struct bpk_draft *draft, const struct bpk_tar_options *options,
			struct bpk_tar_writer **tar, struct bpk_err *err);

/*
 * Write a member like a draft: exactly size bytes in sequence, then bpk_draft_keep ends it (with
 * the mode and mtime of like); bpk_draft_drop leaves a broken stream. name is clean: relative,
 * without "." and "..". One member at a time. size is known beforehand because the header precedes
 * the bytes.
 */
int bpk_tar_member(struct bpk_tar_writer *tar, const char *name, uint64_t size,
		   const struct stat *like, struct bpk_draft **draft, struct bpk_err *err);

/* A folder, with the permissions of the folder or file like. */
int bpk_tar_folder(struct bpk_tar_writer *tar, const char *name, const struct stat *like,
		   struct bpk_err *err);

/* finish ends the stream. close frees it, finished or not. */
int bpk_tar_writer_finish(struct bpk_tar_writer *tar, struct bpk_err *err);
void bpk_tar_writer_close(struct bpk_tar_writer *tar);

/* The name of path in a tar, for free(): relative, without ".", ".." and doubled slashes. Fails
 * with BPK_FAILED when nothing remains. */
char *bpk_tar_name(const char *path, struct bpk_err *err);

/* ---- Extracting and listing ---- */

struct bpk_tar_entry {
	const char *name; /* as stored in the tar: hostile */
	const char *link; /* the target of a symbolic or hard link, hostile too; otherwise NULL */
	bool is_hard_link;
	enum bpk_entry entry; /* BPK_ENTRY_OTHER for links of both kinds */
	uint64_t size;        /* of a file */
	const struct stat *stat;
};

/*
 * Call visit for every member of the tar in source, in sequence. Stops when visit returns non-zero
 * and returns that value. Fails with BPK_CORRUPT (no tar, damaged, truncated: without an end
 * marker, or with bytes other than zero behind it) or BPK_UNSUPPORTED (compressed).
 */
int bpk_tar_list(struct bpk_source *source, int (*visit)(void *arg, const struct bpk_tar_entry *),
		 void *arg, struct bpk_err *err);

struct bpk_tar_extract_options {
	bool overwrite;
	bool sync;
	/* reports each member: written when reason is NULL, else skipped; may be NULL */
	void (*tell)(void *arg, const char *name, const char *reason);
	void *arg;
};

/*
 * Extract files and folders below folder, which exists. Each file is a draft until it is complete.
 * Skipped members are counted in *skipped: those that would leave the folder (absolute, "..",
 * through a link), links that lead out, devices and FIFOs, names that exist already, and names of a
 * journal, a list of changes, a lock or a draft. Set-id bits are never set. Fails with BPK_CORRUPT
 * as bpk_tar_list does; complete members before the damage stay. Fails with BPK_FAILED at the first
 * file that would lie in a dataset with a writer or a pending list of changes.
 */
int bpk_tar_extract(struct bpk_source *source, const char *folder,
		    const struct bpk_tar_extract_options *options, uint64_t *skipped,
		    struct bpk_err *err);

/* ---- Reading members in place ---- */

/*
 * Find name in the tar in source (seekable, uncompressed; takes source, and the result keeps it
 * open). *member is a source over the bytes of the file with exactly that name; *dir is a directory
 * of the members below name/. Both are NULL, and source is closed, when it is no tar (*is_tar) or
 * has neither. Hard links, sparse members and duplicate names resolve as tar would extract them:
 * the last one wins. Fails with BPK_CORRUPT when the tar is damaged; if the only damage is bytes
 * other than zero behind its end marker, the files before that are found.
 */
int bpk_tar_find(struct bpk_source *source, const char *name, bool *is_tar,
		 struct bpk_source **member, struct bpk_dir **dir, struct bpk_err *err);

/* True if the source is seekable and begins as a tar. is_named: the user calls it one, so that it
 * may be empty, or have lost its head; raw data may begin with as many zeros. */
int bpk_tar_probe(struct bpk_source *source, bool is_named, bool *is_tar, struct bpk_err *err);

/* The calls of a walk over a tar. Names are clean, and borrowed for the call. */
struct bpk_tar_visit {
	/* A folder, as a directory that the visitor takes, and closes before the walk ends. Returns
	 * whether its members are visited. */
	bool (*folder)(void *arg, const char *name, struct bpk_dir *dir);
	/* A regular file: a source over its bytes, which the visitor takes; NULL if it cannot be
	 * opened, and why. */
	void (*file)(void *arg, const char *name, struct bpk_source *source,
		     const struct bpk_err *why);
};

/* Visit all members of the tar in source, folders first, in byte order of the names. Takes source,
 * also on failure. Fails as bpk_tar_find, when the members that are found were visited. */
int bpk_tar_walk(struct bpk_source *source, const struct bpk_tar_visit *visit, void *arg,
		 struct bpk_err *err);

#endif
