/* Inside the room io: positions of the members of a tar, for find.c. */
#ifndef BPK_IO_TAR_INDEX_H
#define BPK_IO_TAR_INDEX_H

#include "io/io.h"

enum bpk_tar_kind {
	BPK_TAR_PLAIN, /* a file with contiguous content */
	BPK_TAR_FOLDER,
	BPK_TAR_HARD_LINK,
	BPK_TAR_IN_PIECES, /* a sparse file: holes are left out */
	BPK_TAR_NO_FILE,
};

struct bpk_tar_member_at {
	const char *name;        /* clean (io/tar/name.h); set when the index is complete */
	const char *link;        /* of a hard link, clean; likewise */
	size_t name_at, link_at; /* their offsets in texts */
	size_t turn;             /* its number in the tar */
	enum bpk_tar_kind kind;
	uint64_t offset, size; /* of a plain file's content */
};

/* Fixed after bpk_tar_index_new; any thread. Its memory is a small multiple of the headers in it.
 * Members whose names would not be extracted are left out. */
struct bpk_tar_index {
	struct bpk_source *source;         /* owned */
	struct bpk_tar_member_at *members; /* sorted by name, then turn; in room */
	size_t count;
	struct bpk_buf room, texts;
	struct bpk_err behind; /* damage after the last member, which may hide more members */
	bool is_broken;        /* in the middle: others may have taken the place of those before */
	bool is_checked; /* during the walk: the last member was compared with the next header */
};

/* Walk over the whole tar, or to the damage behind a member. Takes source, also on failure, and
 * fails as bpk_tar_list. */
struct bpk_tar_index *bpk_tar_index_new(struct bpk_source *source, struct bpk_err *err);
void bpk_tar_index_free(struct bpk_tar_index *index); /* NULL is harmless */

/* The last member of that name, after following hard links; NULL when it does not exist. */
const struct bpk_tar_member_at *bpk_tar_index_find(const struct bpk_tar_index *index,
						   const char *name);

/* The number of the first member below folder, which ends in "/"; and whether member i lies below
 * it. Members below a folder are adjacent. */
size_t bpk_tar_index_below(const struct bpk_tar_index *index, const char *folder);
bool bpk_tar_index_lies_below(const struct bpk_tar_index *index, size_t i, const char *folder);

/* The content of a member, for bpk_source_close; it outlives the index and its source. Fails with
 * BPK_UNSUPPORTED (in pieces) or BPK_CORRUPT (no file). */
int bpk_tar_index_open(const struct bpk_tar_index *index, const struct bpk_tar_member_at *member,
		       struct bpk_source **source, struct bpk_err *err);

/* The members below prefix, "NAME/", as a directory. It takes the index, if it succeeds, or borrows
 * it. */
int bpk_tar_index_folder(struct bpk_tar_index *index, const char *prefix, bool borrows,
			 struct bpk_dir **dir, struct bpk_err *err);

#endif
