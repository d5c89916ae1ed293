/*
 * An archive, or a file of raw bytes, open for reading. A part of the room's door. Errors are whole
 * lines that name the input. One thread's at a time.
 */
#ifndef BPK_ARCHIVE_INPUT_H
#define BPK_ARCHIVE_INPUT_H

#include "format/format.h"

/* Caller storage, valid when zeroed; for bpk_input_close. */
struct bpk_input {
	const char *path; /* as the user gave it, borrowed */
	struct bpk_place place;
	const struct bpk_format *format; /* NULL: no format that bpk knows */
	void *reader;                    /* NULL before bpk_input_read */
	const struct bpk_info *info;     /* the reader's own */
	uint64_t rest;                   /* of bpk_input_leave_rest: bytes that were left out */
	bool named;      /* the user named the format, and the content may be of another */
	bool unfinished; /* an interrupted append behind it was reported: the input is kept */
};

/* Open path ("-": standard input) and recognise its format by content, unless format names it. An
 * unknown format is no failure here: format stays NULL. */
int bpk_input_look(struct bpk_input *in, const char *path, const struct bpk_format *format,
		   struct bpk_err *err);

/* Start the reader of the format. Fails as bpk_input_fail_unknown where it is unknown. */
int bpk_input_read(struct bpk_input *in, const struct bpk_read_options *options,
		   struct bpk_err *err);

/* Report that the format is unknown: bpk_format_fail_unknown. Returns -1. */
int bpk_input_fail_unknown(const struct bpk_input *in, struct bpk_err *err);

void bpk_input_close(struct bpk_input *in); /* harmless on a zeroed one */

/* The number of bytes behind the end of an open archive that is sealed, which belong to nothing
 * sealed, such as those of another archive. */
uint64_t bpk_input_rest(const struct bpk_input *in);

/* Leave them out, but for those of an interrupted append: place is the sealed archive alone, rest
 * their number, and the reader closed, for another bpk_input_read. Without any, or while a writer
 * is at work, nothing changes. */
int bpk_input_leave_rest(struct bpk_input *in, struct bpk_err *err);

/* Account for every byte that is no chunk, after all chunks were read, or instead of that.
 * Remarks go to remark, which may be NULL, when the audit has ended. */
int bpk_input_audit(struct bpk_input *in, bpk_remark_fn *remark, void *arg, struct bpk_err *err);

/* To be called before a result is kept, or a verdict given. Fails with BPK_FAILED, "changed while
 * it was read", where the reads were not all of one committed state of the input. No other thread
 * reads the input meanwhile. */
int bpk_input_unchanged(const struct bpk_input *in, struct bpk_err *err);

/* Fails with BPK_CORRUPT for damage outside of the chunks, which info names. */
int bpk_input_check_damage(const struct bpk_input *in, struct bpk_err *err);

/* A step failed with *err, which names the input: apparent damage that comes from a change by
 * another process becomes "changed while it was read". No other thread reads the input meanwhile.
 * Returns -1. */
int bpk_input_judge(const struct bpk_input *in, struct bpk_err *err);

/* Make the info that of all concatenated archives, by a walk over their chunks if necessary; for a
 * pipe it stays that of the first. */
int bpk_input_complete(struct bpk_input *in, struct bpk_err *err);

/* The sum of raw bytes, by a walk over the chunks where no header has it; BPK_UNKNOWN for such a
 * pipe. */
int bpk_input_raw_size(struct bpk_input *in, uint64_t *raw_size, struct bpk_err *err);

/* Bytes that the input takes, which bound its cost; 0 for a pipe, or where that is unknown. */
uint64_t bpk_input_weight(const struct bpk_input *in);

/* True if chunks can be located; never in a pipe. */
bool bpk_input_can_locate(const struct bpk_input *in);

/* The input's file or directory when it was opened. */
const struct stat *bpk_input_stat(const struct bpk_input *in);

/* Permissions and time for an output made of the input: those of a file, those that all of a
 * directory gives that was read (bpk_dir_like). False, and like stays, for a stream. */
bool bpk_input_like(const struct bpk_input *in, struct stat *like);

/*
 * The size of an item: that of the archive's array or header, or else of its first chunk. Header
 * and chunk may lack a checksum: where they differ, the call fails with BPK_FAILED and the advice
 * to use --bytes. The line does not name the archive.
 */
int bpk_input_item_size(const struct bpk_info *info, uint64_t *size, struct bpk_err *err);

/* Put the input's name in front of a report, and into its advice. Returns -1. */
int bpk_input_subject(const struct bpk_input *in, struct bpk_err *err);

#endif
