/*
 * Archives of one format that follow each other in one file or pipe, read as one: inside the room.
 * A format's reader of one archive is made a reader of all of them, its members, by a row that says
 * where one ends and what the next begins with.
 */
#ifndef BPK_FORMAT_MEMBERS_H
#define BPK_FORMAT_MEMBERS_H

#include "format/format.h"

/* ---- What a format says ---- */

/* Where an archive ends in its source, and what it holds. */
struct bpk_member_end {
	uint64_t offset;            /* behind its last byte; BPK_UNKNOWN: not passed yet */
	uint64_t nchunks, raw_size; /* may be unknown until then */
};

struct bpk_members_kind {
	/* Reads one archive. It is opened with options.followed, and fetches ascending chunks until
	 * it returns 1; then, if not at open, its end is known. */
	const struct bpk_reader_ops *one;
	int (*probe)(const struct bpk_place *place, struct bpk_view head, bool *found,
		     struct bpk_err *err);
	void (*end)(const void *reader, struct bpk_member_end *end);
	/* Do these bytes, the first BPK_PROBE_SIZE or fewer behind the end, begin as what an append
	 * of ours leaves there when it is interrupted? */
	bool (*unfinished)(void *reader, struct bpk_view head);
	bool seeks; /* an archive from a pipe must be put aside to be read */
};

/* ---- What the members come to together ---- */

/* Caller storage, valid when zeroed; for bpk_merged_clear. The first member's bpk_info must live as
 * long. */
struct bpk_merged {
	uint64_t nmembers;
	const struct bpk_info *base; /* of the first */
	uint64_t nchunks, raw_size;
	uint64_t chunk_size;   /* of all chunks so far but the last; BPK_UNKNOWN: they differ */
	uint64_t last_size;    /* of the last chunk so far; BPK_UNKNOWN: not known */
	struct bpk_sizes runs; /* of the first chunks, up to one of unknown size */
	bool runs_ended;
	bool typesize_differs, checksum_differs, array_differs, metadata_differs;
	struct bpk_array array; /* of the first member; its rows are those of all */
	struct bpk_buf dtype;   /* of it, as text */
	bool tells_array;       /* the metadata do */
	struct bpk_buf text;    /* metadata, without the number of rows */
	struct bpk_buf metadata;
	bool has_offsets, pending;
	uint64_t hole_size;
	const char *unprotected;
};

/* A later member without a byte of data counts as no chunk. */
bool bpk_member_is_empty(uint64_t nchunks, uint64_t raw_size);

/* One more member, of which info says the rest. */
int bpk_merged_add(struct bpk_merged *merged, const struct bpk_info *info,
		   const struct bpk_member_end *end, struct bpk_err *err);

/* What all of them are; it borrows from merged and from the first member. */
int bpk_merged_info(struct bpk_merged *merged, struct bpk_info *info, struct bpk_err *err);
void bpk_merged_clear(struct bpk_merged *merged);

/* ---- The reader of all ---- */

/* A reader of one member. Fixed, but for users. */
struct bpk_member {
	struct bpk_member *next;
	void *reader;
	struct bpk_source *source; /* its own slice; NULL: it reads the whole */
	uint64_t number;           /* from 0 */
	uint64_t offset;           /* where it begins in the whole */
	uint64_t first;            /* number of its first chunk */
	uint64_t raw_offset;       /* raw bytes before it; may be unknown */
	unsigned users;            /* by the lock */
};

/* Going from member to member. One thread's own. */
struct bpk_members_walk {
	struct bpk_member *at; /* NULL: it has not begun */
	bool ended;
	uint64_t end; /* then: where the last member ends; may be unknown */
	struct bpk_merged merged;
};

struct bpk_members {
	/* fixed after open */
	const struct bpk_members_kind *kind;
	struct bpk_place place;
	struct bpk_spool *spool; /* what came through a pipe, where that must be sought in */
	struct bpk_read_options options;
	bool seekable;
	bool in_sequence; /* chunks of a member are found by walking: it is read as a pipe is, and
			     what follows is found out on the way */
	uint64_t size;    /* of the source */
	struct bpk_member *first;
	struct bpk_members_place *all; /* not in sequence, and more than one */
	size_t count, room;
	uint64_t end;          /* not in sequence: of the last; may be unknown */
	struct bpk_err broken; /* not in sequence: why what begins there cannot be read */

	struct bpk_merged merged;
	struct bpk_info info;  /* completed once a walk has ended */
	struct bpk_err damage; /* of a pipe's members that were passed */
	struct bpk_members_walk fetching, locating;

	struct bpk_mutex lock;
	struct bpk_member *open;       /* all that are open; by the lock */
	struct bpk_members_page *page; /* what was read last; by the lock */
};

/* Read of a file, small pieces by whole pages; any thread. And what lies from offset on as a source
 * for a member. */
int bpk_members_read(struct bpk_members *members, uint64_t offset, struct bpk_span out, size_t *got,
		     struct bpk_err *err);
int bpk_members_part(struct bpk_members *members, uint64_t offset, struct bpk_source **source,
		     struct bpk_err *err);

/* Open the member of that number, which begins at offset; in use by the caller. */
int bpk_members_open_one(struct bpk_members *members, const struct bpk_member *where,
			 struct bpk_member **member, struct bpk_err *err);
/* Have the member of that index in the table, open already or now; in use by the caller. */
int bpk_members_enter(struct bpk_members *members, size_t index, struct bpk_member **member,
		      struct bpk_err *err);
void bpk_members_leave(struct bpk_members *members, struct bpk_member *member);

/* Put in front of a report which member it is about, where there are several. Any thread: it
 * goes by what is fixed after open, so a walk does not name its first member, whose offsets are
 * the file's. Returns -1. */
int bpk_members_subject(const struct bpk_members *members, const struct bpk_member *member,
			struct bpk_err *err);

/* Does another archive begin at offset? On a pipe the cursor is there. */
int bpk_members_begins(struct bpk_members *members, uint64_t offset, bool *begins,
		       struct bpk_err *err);

/* Take the chunks of a later member that holds nothing, and test their seals. */
int bpk_members_prove_empty(struct bpk_members *members, struct bpk_member *member,
			    struct bpk_err *err);

/* Bring a chunk out of a member. */
int bpk_members_fetch_from(const struct bpk_members *members, struct bpk_member *member,
			   struct bpk_parcel *parcel, struct bpk_err *err);

/* In sequence: bring, or locate, a chunk; 1 behind the last. */
int bpk_members_fetch_next(struct bpk_members *members, struct bpk_parcel *parcel,
			   struct bpk_err *err);
int bpk_members_locate_next(struct bpk_members *members, uint64_t number, struct bpk_where *where,
			    struct bpk_err *err);

/* In sequence: go on to the end and audit every member, those of a pipe that were passed before
 * excepted. */
int bpk_members_audit_walk(struct bpk_members *members, bpk_remark_fn *remark, void *arg,
			   struct bpk_err *err);

/* Let inner audit a member, its remarks told with its subject. */
int bpk_members_audit_one(struct bpk_members *members, struct bpk_member *member,
			  bpk_remark_fn *remark, void *arg, struct bpk_err *err);

/* Walk to the end of a member that is read by walking. */
int bpk_members_pass(const struct bpk_members *members, struct bpk_member *member,
		     struct bpk_member_end *end, struct bpk_err *err);

/* bpk_reader_ops.open for a format, and a row with all the others. */
int bpk_members_open(const struct bpk_members_kind *kind, struct bpk_place *place,
		     const struct bpk_read_options *options, void **reader, struct bpk_err *err);

#define BPK_MEMBERS_READER(OPEN)                                                                   \
	{                                                                                          \
		.open = OPEN, .info = bpk_members_info, .positional = bpk_members_positional,      \
		.fetch = bpk_members_fetch, .check = bpk_members_check,                            \
		.unpacks = bpk_members_unpacks, .unpack = bpk_members_unpack,                      \
		.subject = bpk_members_name, .locate = bpk_members_locate,                         \
		.repeats = bpk_members_repeats, .audit = bpk_members_audit,                        \
		.settle = bpk_members_settle, .tail = bpk_members_tail,                            \
		.close = bpk_members_close,                                                        \
	}

const struct bpk_info *bpk_members_info(const void *reader);
bool bpk_members_positional(const void *reader);
int bpk_members_fetch(void *reader, struct bpk_parcel *parcel, struct bpk_err *err);
int bpk_members_check(const void *reader, const struct bpk_parcel *parcel, struct bpk_err *err);
bool bpk_members_unpacks(const void *reader);
int bpk_members_unpack(const void *reader, struct bpk_chunk_ctx *ctx,
		       const struct bpk_parcel *parcel, struct bpk_span out, struct bpk_err *err);
int bpk_members_name(const void *reader, const struct bpk_parcel *parcel, struct bpk_err *err);
int bpk_members_locate(void *reader, uint64_t number, struct bpk_where *where, struct bpk_err *err);
uint64_t bpk_members_repeats(void *reader, uint64_t number, uint64_t *first, uint64_t *raw_size);
int bpk_members_audit(void *reader, bpk_remark_fn *remark, void *arg, struct bpk_err *err);
int bpk_members_settle(void *reader, bool failed, struct bpk_err *err);
int bpk_members_tail(void *reader, struct bpk_err *err);
void bpk_members_close(void *reader);

/*
 * For who changes an archive that ends at offset: fails with BPK_FAILED when another one follows it
 * in the source, which it would destroy.
 */
int bpk_members_refuse(const struct bpk_members_kind *kind, struct bpk_source *source,
		       uint64_t offset, struct bpk_err *err);

/*
 * The same for who would cut off or write over whatever lies behind offset: fails with BPK_FAILED
 * also when that is neither what an interrupted append leaves there nor zeros alone, as sectors
 * that were never written read. reader is one of kind->one.
 */
int bpk_members_refuse_tail(const struct bpk_members_kind *kind, void *reader,
			    struct bpk_source *source, uint64_t offset, struct bpk_err *err);

/* Is every byte from offset to the end of the source zero? */
int bpk_members_only_zeros(struct bpk_source *source, uint64_t offset, bool *zero,
			   struct bpk_err *err);

extern const struct bpk_members_kind bpk_bloscpack_members, bpk_frame_members;

#endif
