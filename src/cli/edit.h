/*
 * What the commands that change an archive share: their options, opening an archive with its
 * format's editor, reading raw bytes of it, and packing bytes into it. Nothing is changed for
 * anyone before bpk_archive_commit. Every error that comes from here is a whole line that names its
 * file; report it with bpk_report(NULL, err). For the main thread alone.
 */
#ifndef BPK_CLI_EDIT_H
#define BPK_CLI_EDIT_H

#include "cli/encoding.h"

/* The arguments that these commands share; every command's own struct begins with it. */
struct bpk_edit_args {
	struct bpk_encoding_args encoding;
	bool wait, no_lock, copy;
	uint64_t journal_limit;
};

enum { BPK_JOURNAL_LIMIT = 256 << 20 };

#define BPK_EDIT_DEFAULTS                                                                          \
	{                                                                                          \
		.encoding = BPK_ENCODING_DEFAULTS, .journal_limit = BPK_JOURNAL_LIMIT              \
	}

extern const struct bpk_opt bpk_opt_wait, bpk_opt_no_lock, bpk_opt_copy, bpk_opt_journal_limit;

/* An archive being changed. Caller storage, valid when zeroed; for bpk_archive_close. */
struct bpk_archive {
	const struct bpk_edit_args *args; /* borrowed, as path */
	const char *path;
	const struct bpk_format *format;
	void *editor;
	struct stat seen;                /* the file or directory as it was last committed */
	bool rewritten;                  /* by a commit: another file has taken its place */
	bool was_array;                  /* and its size agreed, before anything was changed */
	struct bpk_chunk_header example; /* how its chunks are packed, if one of them says so */
};

/*
 * Open path for changing, and begin to wait for signals. Fails with BPK_USAGE for standard input,
 * with BPK_FAILED for what lies in a tar, for a format that cannot be changed in place, and where
 * someone else is changing it.
 */
int bpk_archive_open(struct bpk_archive *archive, const struct bpk_edit_args *args,
		     const char *path, struct bpk_err *err);

/* Undo what was not committed; harmless on a zeroed one. */
void bpk_archive_close(struct bpk_archive *archive);

/* Put the archive's name in front of a report. Returns -1. */
int bpk_archive_subject(const struct bpk_archive *archive, struct bpk_err *err);

/* As last committed; sizes and counts are known. */
const struct bpk_info *bpk_archive_info(const struct bpk_archive *archive);

/* Fails with BPK_FAILED where the file called name is the archive, or lies in its directory. */
int bpk_archive_is_not(const struct bpk_archive *archive, const struct stat *file, const char *name,
		       struct bpk_err *err);

/* A chunk of what is committed. */
struct bpk_piece {
	uint64_t number;
	uint64_t start;                 /* raw bytes before it */
	uint64_t size;                  /* its raw bytes */
	struct bpk_chunk_header header; /* how it is packed */
};

/* Fill in size and header of the chunk whose number and start are set. */
int bpk_archive_locate(struct bpk_archive *archive, struct bpk_piece *piece, struct bpk_err *err);

/* The chunk that holds the raw byte at offset, which is below raw_size. */
int bpk_archive_find(struct bpk_archive *archive, uint64_t offset, struct bpk_piece *piece,
		     struct bpk_err *err);

/* Go on to the chunk behind piece, which is not the last. */
int bpk_archive_next(struct bpk_archive *archive, struct bpk_piece *piece, struct bpk_err *err);

/* Where the chunk has blocks of variable length: their raw sizes, uint32_t each. */
int bpk_archive_block_sizes(struct bpk_archive *archive, const struct bpk_piece *piece,
			    struct bpk_buf *sizes, struct bpk_err *err);

/* Add size raw bytes from start on to out. */
int bpk_archive_read(struct bpk_archive *archive, uint64_t start, uint64_t size,
		     struct bpk_buf *out, struct bpk_err *err);

/* Find a chunk that says how the archive is packed: the first or the last, if one of them does.
 * Called by bpk_archive_open. */
int bpk_archive_find_example(struct bpk_archive *archive, struct bpk_err *err);

/* How to pack a chunk as header says that it was packed; level as the options say. */
struct bpk_recipe bpk_archive_recipe(const struct bpk_archive *archive,
				     const struct bpk_chunk_header *header);

/*
 * How to pack chunks that are added: as the options say, and, where they leave it open, as the
 * archive is packed; an archive that does not say is decided by trial on source, or, when that is
 * NULL, without.
 */
int bpk_archive_choose(struct bpk_archive *archive, struct bpk_source *source,
		       struct bpk_choice *choice, struct bpk_err *err);

/* Let what is put follow the first nchunks chunks. */
int bpk_archive_cut(struct bpk_archive *archive, uint64_t nchunks, struct bpk_err *err);

/* Raw bytes on their way into chunks of an archive. */
struct bpk_load {
	struct bpk_source *source;
	const char *name;    /* of source in messages; NULL: the bytes are the archive's own */
	uint64_t raw_size;   /* what source holds; may be unknown */
	uint64_t chunk_size; /* to cut it into */
	uint64_t first;      /* number of the first chunk */
	const struct bpk_recipe *recipe;
	const struct bpk_way *others; /* as in a bpk_flow */
	size_t nothers;
	struct bpk_view first_sizes; /* likewise */
	struct bpk_slack slack;
};

/* Pack a load and hand the chunks to writer; what it came to is in result. A progress bar shows
 * what has a name. */
int bpk_archive_run(struct bpk_archive *archive, const struct bpk_load *load,
		    const struct bpk_writer_ops *ops, void *writer, struct bpk_flow_result *result,
		    struct bpk_err *err);

/* The same, and the chunks are put into the archive. */
int bpk_archive_put(struct bpk_archive *archive, const struct bpk_load *load,
		    struct bpk_flow_result *result, struct bpk_err *err);

int bpk_archive_commit(struct bpk_archive *archive, struct bpk_err *err);

/* What its commits came to, for -v: "in place", "rewritten, as --copy asks", or, where there was no
 * room for the change, what no_room says. */
const char *bpk_archive_how(const struct bpk_archive *archive, const char *no_room);

/* Say so where the metadata tell of an array and could not follow what was appended or cut off. */
void bpk_archive_tell_shape(const struct bpk_archive *archive);

/* Raw bytes of the last chunk that must be packed anew when chunks of chunk_size are added. */
uint64_t bpk_archive_short_size(const struct bpk_archive *archive, uint64_t chunk_size);

/* Put what source brings behind the content, without committing; name as in a load. */
int bpk_archive_append(struct bpk_archive *archive, struct bpk_source *source, const char *name,
		       const struct bpk_choice *choice, const struct bpk_slack *slack,
		       struct bpk_flow_result *result, struct bpk_err *err);

/*
 * Overwrite raw bytes from at on with what source brings, without committing; *written says how
 * many they were. Chunks stay packed as they are, and those that outgrow their place get slack.
 * Fails with BPK_FAILED when source, whose size may be unknown, brings more than the archive holds
 * there.
 */
int bpk_archive_overwrite(struct bpk_archive *archive, uint64_t at, struct bpk_source *source,
			  const char *name, const struct bpk_slack *slack, uint64_t *written,
			  struct bpk_err *err);

/* Where a number of bytes, or of items of unit bytes, that may be negative to count from the end
 * (bpk_opt_offset), lies in the raw bytes. Fails with BPK_FAILED when that is outside. */
int bpk_archive_resolve(const struct bpk_archive *archive, const struct bpk_opt_offset *offset,
			uint64_t unit, uint64_t *at, struct bpk_err *err);

#endif
