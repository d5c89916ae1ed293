/*
 * Inside the room format: concatenated archives of one format, its members, read as one. A row of
 * calls that find the end of one archive, and recognise the next, turns a format's reader of one
 * archive into a reader of all.
 */
#ifndef BPK_FORMAT_MEMBERS_H
#define BPK_FORMAT_MEMBERS_H

#include "format/format.h"

/* ---- Supplied by a format ---- */

/* The end of an archive in its source, and the size of its content. */
struct bpk_member_end {
	uint64_t offset;            /* after its last byte; BPK_UNKNOWN: not reached yet */
	uint64_t nchunks, raw_size; /* may be unknown until then */
};

struct bpk_members_kind {
	/* Reads one archive. Opened with options.followed, it fetches ascending chunks until it
	 * returns 1; its end is known then, if not at open. */
	const struct bpk_reader_ops *one;
	int (*probe)(const struct bpk_place *place, struct bpk_view head, bool *found,
		     struct bpk_err *err);
	void (*end)(const void *reader, struct bpk_member_end *end);
	/* Find out whether head, the first BPK_PROBE_SIZE or fewer bytes after the end, looks like
	 * the start of an append of ours that was interrupted. Fails as a read of the archive. */
	int (*unfinished)(void *reader, struct bpk_view head, bool *unfinished,
			  struct bpk_err *err);
	/* True if the bytes, BPK_PROBE_SIZE of them, begin the part behind the last chunk, as a
	 * trailer; NULL: there is none. */
	bool (*ends)(const uint8_t *bytes);
	bool has_digests; /* the digest of a chunk follows it in the file */
	/* The size of an archive that begins with head; NULL: its header does not have it. */
	uint64_t (*size)(struct bpk_view head);
	bool seeks; /* an archive from a pipe must be spooled before it is read */
};

/* ---- The members' common description ---- */

/* Caller storage, valid when zeroed; freed by bpk_merged_clear. The first member's bpk_info must
 * outlive it. */
struct bpk_merged {
	uint64_t nmembers;
	const struct bpk_info *base; /* of the first member */
	struct {
		uint64_t count, raw_size;
		uint64_t size;         /* of all so far but the last; BPK_UNKNOWN: they differ */
		uint64_t last_size;    /* of the last so far; BPK_UNKNOWN: not known */
		struct bpk_sizes runs; /* of the first, up to one of unknown size */
		bool runs_ended;
	} chunks;
	struct {
		bool typesize, checksum, array, metadata;
	} differs;              /* from member to member */
	struct bpk_array array; /* of the first member; its rows are the sum of all rows */
	bool tells_array;       /* the metadata describe an array */
	struct bpk_view text;   /* metadata, with 0 as the number of rows; of base, or plain */
	struct bpk_buf plain;
	struct bpk_buf metadata;
	bool has_offsets, pending;
	uint64_t hole_size;
	const char *unprotected;
};

/* True for a member without a byte of data. A later such member adds no chunk. */
bool bpk_member_is_empty(uint64_t nchunks, uint64_t raw_size);

/* Add one more member, described by info. */
int bpk_merged_add(struct bpk_merged *merged, const struct bpk_info *info,
		   const struct bpk_member_end *end, struct bpk_err *err);

/* Set the sizes in info, of the first member, to those of all chunks. */
void bpk_merged_counts(const struct bpk_merged *merged, struct bpk_info *info);

/* Fill info with the description of all members; it borrows from merged and the first member. */
int bpk_merged_info(struct bpk_merged *merged, struct bpk_info *info, struct bpk_err *err);
void bpk_merged_clear(struct bpk_merged *merged);

/* ---- The reader of all members ---- */

/* A reader of one member. Fixed, except for users. */
struct bpk_member {
	struct bpk_member *next;
	void *reader;
	struct bpk_source *source; /* its own slice; NULL: it reads the whole source */
	uint64_t number;           /* from 0 */
	uint64_t offset;           /* its start in the whole source */
	uint64_t first;            /* number of its first chunk */
	uint64_t raw_offset;       /* raw bytes before it; may be unknown */
	unsigned users;            /* guarded by the lock */
};

/* The place of a member in the table of all. */
struct bpk_members_place {
	uint64_t offset; /* start of the member */
	uint64_t first;  /* number of its first chunk */
	uint64_t raw_offset;
};

/* A walk from member to member. Owned by one thread. */
struct bpk_members_walk {
	struct bpk_member *at; /* NULL: the walk has not begun */
	bool ended;
	uint64_t end; /* if ended: the end of the last member; may be unknown */
	struct bpk_merged merged;
};

struct bpk_members {
	/* fixed after open */
	const struct bpk_members_kind *kind;
	struct bpk_place place;
	struct bpk_spool *spool; /* the bytes of a pipe, if the format must seek in them */
	struct bpk_read_options options;
	bool seekable;
	/* The chunks of a member are found by walking: it is read like a pipe, and the members
	 * after it are found on the way. */
	bool in_sequence;
	uint64_t size; /* of the source */
	struct bpk_member *first;
	struct bpk_members_place *all; /* not in sequence, and more than one member */
	size_t count, room;
	uint64_t end; /* not in sequence: end of the last member; may be unknown */
	/* Not in sequence: the reason why an archive that begins at end cannot be read. */
	struct bpk_err broken;

	struct bpk_merged merged;
	struct bpk_info info;  /* completed when a walk has ended */
	struct bpk_err damage; /* in members of a pipe that were skipped */
	struct bpk_members_walk fetching, locating;

	struct bpk_mutex lock;
	struct bpk_member *open;       /* all open members; guarded by the lock */
	struct bpk_members_page *page; /* the last page read; guarded by the lock */
};

/* Read from the source, small pieces by whole pages; any thread. Then: make a source for a member
 * from the bytes at offset and after. */
int bpk_members_read(struct bpk_members *members, uint64_t offset, struct bpk_span out, size_t *got,
		     struct bpk_err *err);
int bpk_members_part(struct bpk_members *members, uint64_t offset, struct bpk_source **source,
		     struct bpk_err *err);

/* Open the member described by where. It counts the caller as a user. */
int bpk_members_open_one(struct bpk_members *members, const struct bpk_member *where,
			 struct bpk_member **member, struct bpk_err *err);
/* Get the member at index in the table, opened now or before. It counts the caller as a user. */
int bpk_members_enter(struct bpk_members *members, size_t index, struct bpk_member **member,
		      struct bpk_err *err);
void bpk_members_leave(struct bpk_members *members, struct bpk_member *member);
/* Close a member that is in no list. */
void bpk_members_free_one(const struct bpk_members *members, struct bpk_member *member);

/* Prepend the member to a report, if there are several. Any thread: it uses only fields fixed after
 * open, so a walk does not name its first member, whose offsets equal the file's. Returns -1. */
int bpk_members_subject(const struct bpk_members *members, const struct bpk_member *member,
			struct bpk_err *err);

/* Test whether another archive begins at offset. On a pipe the cursor must be there. */
int bpk_members_begins(struct bpk_members *members, uint64_t offset, bool *begins,
		       struct bpk_err *err);

/* Fetch the chunks of a later member without data, and test their seals. */
int bpk_members_prove_empty(struct bpk_members *members, struct bpk_member *member,
			    struct bpk_err *err);

/* Fetch a chunk from a member. */
int bpk_members_fetch_from(const struct bpk_members *members, struct bpk_member *member,
			   struct bpk_parcel *parcel, struct bpk_err *err);

/* In sequence: fetch or locate a chunk; returns 1 after the last. */
int bpk_members_fetch_next(struct bpk_members *members, struct bpk_parcel *parcel,
			   struct bpk_err *err);
int bpk_members_locate_next(struct bpk_members *members, uint64_t number, struct bpk_where *where,
			    struct bpk_err *err);

/* In sequence: go on to the end and audit every member, except members of a pipe already passed. */
int bpk_members_audit_walk(struct bpk_members *members, bpk_remark_fn *remark, void *arg,
			   struct bpk_err *err);

/* Audit one member; its remarks get its subject. */
int bpk_members_audit_one(struct bpk_members *members, struct bpk_member *member,
			  bpk_remark_fn *remark, void *arg, struct bpk_err *err);

/* Walk to the end of a member whose chunks are found by walking. */
int bpk_members_pass(const struct bpk_members *members, struct bpk_member *member,
		     struct bpk_member_end *end, struct bpk_err *err);

/* bpk_reader_ops.open of a format, and the row with all other calls. */
int bpk_members_open(const struct bpk_members_kind *kind, struct bpk_place *place,
		     const struct bpk_read_options *options, void **reader, struct bpk_err *err);

#define BPK_MEMBERS_READER(OPEN)                                                                   \
	{                                                                                          \
		.open = OPEN, .info = bpk_members_info, .narrow = bpk_members_narrow,              \
		.positional = bpk_members_positional, .fetch = bpk_members_fetch,                  \
		.ahead = bpk_members_ahead, .check = bpk_members_check,                            \
		.unpacks = bpk_members_unpacks, .unpack = bpk_members_unpack,                      \
		.subject = bpk_members_name, .locate = bpk_members_locate,                         \
		.repeats = bpk_members_repeats, .audit = bpk_members_audit,                        \
		.unchanged = bpk_members_unchanged, .tail = bpk_members_tail,                      \
		.prove = bpk_members_prove, .refutes = bpk_members_refutes,                        \
		.end = bpk_members_end, .close = bpk_members_close,                                \
	}

const struct bpk_info *bpk_members_info(const void *reader);
int bpk_members_narrow(void *reader, const struct bpk_slice *slice, struct bpk_err *err);
bool bpk_members_positional(const void *reader);
int bpk_members_fetch(void *reader, struct bpk_parcel *parcel, struct bpk_err *err);
void bpk_members_ahead(void *reader, uint64_t number);
int bpk_members_check(const void *reader, const struct bpk_parcel *parcel, struct bpk_err *err);
bool bpk_members_unpacks(const void *reader);
int bpk_members_unpack(const void *reader, struct bpk_chunk_ctx *ctx,
		       const struct bpk_parcel *parcel, struct bpk_span out, struct bpk_err *err);
int bpk_members_name(const void *reader, const struct bpk_parcel *parcel, struct bpk_err *err);
int bpk_members_locate(void *reader, uint64_t number, struct bpk_where *where, struct bpk_err *err);
uint64_t bpk_members_repeats(void *reader, uint64_t number, uint64_t *first, uint64_t *raw_size);
int bpk_members_audit(void *reader, bpk_remark_fn *remark, void *arg, struct bpk_err *err);
int bpk_members_prove(void *reader, uint64_t first, uint64_t end, struct bpk_err *err);
int bpk_members_refutes(void *reader, const struct bpk_place *place,
			const struct bpk_salvage *found, bool *refuted, struct bpk_err *err);
int bpk_members_unchanged(void *reader, bool failed, struct bpk_err *err);
int bpk_members_tail(void *reader, struct bpk_err *err);
int bpk_members_end(void *reader, uint64_t *end, struct bpk_err *err);
void bpk_members_close(void *reader);

/*
 * For changes to an archive that ends at offset: fails with BPK_FAILED if another archive follows
 * in the source, which the change would destroy. reader is one of kind->one.
 */
int bpk_members_refuse(const struct bpk_members_kind *kind, const void *reader,
		       struct bpk_source *source, uint64_t offset, struct bpk_err *err);

/*
 * The same for changes that cut off or overwrite all bytes after offset: also fails with BPK_FAILED
 * unless an interrupted append left them, or they are all zeros, as sectors that were never written
 * read. path is that of the file, for the line.
 */
int bpk_members_refuse_tail(const struct bpk_members_kind *kind, void *reader,
			    struct bpk_source *source, const char *path, uint64_t offset,
			    struct bpk_err *err);

/* Is every byte from offset to the end of the source zero? */
int bpk_members_only_zeros(struct bpk_source *source, uint64_t offset, bool *zero,
			   struct bpk_err *err);

extern const struct bpk_members_kind bpk_bloscpack_members, bpk_frame_members;

#endif
