/*
 * Inside the room io: where the members of a tar lie.
 */
#ifndef BPK_IO_TAR_INDEX_H
#define BPK_IO_TAR_INDEX_H

#include "io/io.h"

enum bpk_tar_kind {
	BPK_TAR_PLAIN, /* a file whose content lies in one piece */
	BPK_TAR_FOLDER,
	BPK_TAR_HARD_LINK,
	BPK_TAR_IN_PIECES, /* a file with holes that were left out */
	BPK_TAR_NO_FILE,
};

struct bpk_tar_member_at {
	const char *name; /* clean (io/tar_name.h); set when the index is whole, as the next */
	const char *link; /* of a hard link, clean */
	size_t name_at, link_at; /* where they are in texts */
	size_t turn;             /* its place in the tar */
	enum bpk_tar_kind kind;
	uint64_t offset, size; /* of a plain file's content */
};

/* Fixed once it is made; any thread. It takes no more memory than a few times the headers that fill
 * it. Members that would not be extracted for their names are left out. */
struct bpk_tar_index {
	struct bpk_source *source;         /* owned */
	struct bpk_tar_member_at *members; /* by name, then turn; in room */
	size_t count;
	struct bpk_buf room, texts;
	struct bpk_err behind; /* what is wrong behind the last member: more may be there */
	bool is_checked; /* while it is made: the last member was held against the next header */
};

/* Walk over the whole tar. Takes source, also when it fails: as bpk_tar_list. */
struct bpk_tar_index *bpk_tar_index_new(struct bpk_source *source, struct bpk_err *err);
void bpk_tar_index_free(struct bpk_tar_index *index); /* NULL is harmless */

/* What the last member of that name is, hard links followed; NULL: there is none. */
const struct bpk_tar_member_at *bpk_tar_index_find(const struct bpk_tar_index *index,
						   const char *name);

/* The number of the first member below folder, which ends in "/"; and whether member i lies there.
 * All that do follow each other. */
size_t bpk_tar_index_below(const struct bpk_tar_index *index, const char *folder);
bool bpk_tar_index_lies_below(const struct bpk_tar_index *index, size_t i, const char *folder);

/* The content of a member that was found, for bpk_source_close; it needs neither index nor source.
 * Fails with BPK_UNSUPPORTED (in pieces) or BPK_CORRUPT (no file). */
int bpk_tar_index_open(const struct bpk_tar_index *index, const struct bpk_tar_member_at *member,
		       struct bpk_source **source, struct bpk_err *err);

#endif
