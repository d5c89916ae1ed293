/*
 * Tar streams, over libarchive: members written, extracted, listed, and read where they lie. A part
 * of the room's door.
 */
#ifndef BPK_IO_TAR_H
#define BPK_IO_TAR_H

#include "io/io.h"

/* ---- Writing ---- */

/* A pax stream on its way into a draft. One thread's own. */
struct bpk_tar_writer;

struct bpk_tar_options {
	bool has_date; /* times of members are date, owners are left out (SOURCE_DATE_EPOCH) */
	int64_t date;  /* seconds */
	bool zip;      /* a zip of stored members instead: sizes and names obey it, owners do not */
};

/* draft is borrowed until close. */
int bpk_tar_writer_open(struct bpk_draft *draft, const struct bpk_tar_options *options,
			struct bpk_tar_writer **tar, struct bpk_err *err);

/*
 * A member that is written as a draft is: exactly size bytes in sequence, then bpk_draft_keep ends
 * it (with the mode and mtime of like), bpk_draft_drop leaves a stream that is broken. name is
 * clean: relative, without "." and "..". One member at a time. size must be known: it stands in
 * front of the bytes.
 */
int bpk_tar_member(struct bpk_tar_writer *tar, const char *name, uint64_t size,
		   const struct stat *like, struct bpk_draft **draft, struct bpk_err *err);

/* A folder. */
int bpk_tar_folder(struct bpk_tar_writer *tar, const char *name, const struct stat *like,
		   struct bpk_err *err);

/* End the stream; and free it, ended or not. */
int bpk_tar_writer_finish(struct bpk_tar_writer *tar, struct bpk_err *err);
void bpk_tar_writer_close(struct bpk_tar_writer *tar);

/* The name that path gets in a tar, for free(): relative, without ".", ".." and doubled slashes.
 * Fails with BPK_FAILED when nothing is left of it. */
char *bpk_tar_name(const char *path, struct bpk_err *err);

/* ---- Extracting and listing ---- */

struct bpk_tar_entry {
	const char *name; /* as it stands in the tar: hostile */
	const char *link; /* where a symbolic or a hard link leads, hostile too; else NULL */
	bool is_hard_link;
	enum bpk_entry entry; /* BPK_ENTRY_OTHER for links of both kinds */
	uint64_t size;        /* of a file */
	const struct stat *stat;
};

/* Call visit for every member of the tar in source, in sequence; it stops when visit returns
 * non-zero, and returns that. Fails with BPK_CORRUPT (no tar, broken, cut: it ends without its end
 * marker, or something else than zeros lies behind that) or BPK_UNSUPPORTED (a compressed one). */
int bpk_tar_list(struct bpk_source *source, int (*visit)(void *arg, const struct bpk_tar_entry *),
		 void *arg, struct bpk_err *err);

struct bpk_tar_extract_options {
	bool overwrite;
	bool sync;
	/* tell of each member written, or left out and why (reason not NULL); may be NULL */
	void (*tell)(void *arg, const char *name, const char *reason);
	void *arg;
};

/*
 * Extract files and folders below the directory folder, which is there. Each file is a draft until
 * it is whole. Members that would leave it (absolute, "..", through a link), that are links out,
 * devices or FIFOs, that are there already, or that have the name of a journal, a list of changes,
 * a lock or a draft, are left out: *skipped counts them. Set-id bits are
 * never given. Fails with BPK_CORRUPT as bpk_tar_list does: whole members before it stay.
 */
int bpk_tar_extract(struct bpk_source *source, const char *folder,
		    const struct bpk_tar_extract_options *options, uint64_t *skipped,
		    struct bpk_err *err);

/* ---- Reading members where they lie ---- */

/*
 * Where the tar in source (seekable, uncompressed; it is kept open by what comes out, takes source)
 * holds a file of exactly that name, *member is a source over its bytes; where it holds members
 * below name/, *dir is a directory of them. Both NULL: it is no tar, or holds neither; then source
 * was closed. Hard links, sparse members and names that come twice resolve as tar would extract
 * them: the last one wins. Fails with BPK_CORRUPT where the tar is broken; where only its end is
 * followed by something else than zeros, files in front of that are found all the same.
 */
int bpk_tar_find(struct bpk_source *source, const char *name, struct bpk_source **member,
		 struct bpk_dir **dir, struct bpk_err *err);

#endif
