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

/*
 * Account for what is no chunk, once all chunks were read or instead of it; remarks go to remark,
 * which may be NULL.
 */
int bpk_input_audit(struct bpk_input *in, bpk_remark_fn *remark, void *arg, struct bpk_err *err);

/*
 * Was all that was read of one committed state of the input? To be asked before a result is kept
 * or a verdict given. Fails with BPK_FAILED: "changed while it was read".
 */
int bpk_input_settle(const struct bpk_input *in, struct bpk_err *err);

/* A step failed with *err, which names the input: what looks like damage, but comes of a change
 * beside it, becomes "changed while it was read". Returns -1. */
int bpk_input_judge(const struct bpk_input *in, struct bpk_err *err);

/* Have the info tell of all archives that follow each other, by walking where that must be; of a
 * pipe it stays that of the first. */
int bpk_input_complete(struct bpk_input *in, struct bpk_err *err);

/* Raw bytes in all, by walking over the chunks where the archive does not say; BPK_UNKNOWN for a
 * pipe that does not. */
int bpk_input_raw_size(struct bpk_input *in, uint64_t *raw_size, struct bpk_err *err);

/* Bytes that the input really has: what it may reasonably cost is reckoned from them. 0: of a pipe,
 * or where nobody knows. */
uint64_t bpk_input_weight(const struct bpk_input *in);

/* Can chunks be looked up beside reading them, which a pipe does not allow? */
bool bpk_input_can_locate(const struct bpk_input *in);

/* What the input was when it was opened; NULL for a directory, of which it tells nothing. */
const struct stat *bpk_input_stat(const struct bpk_input *in);

/*
 * How many bytes an item of an archive has: the archive says, else its first chunk. No checksum may
 * cover what the archive says, so where the two differ neither is believed, and BPK_FAILED tells to
 * use --bytes. The line does not name the archive.
 */
int bpk_input_item_size(const struct bpk_info *info, uint64_t *size, struct bpk_err *err);

/* Put the input's name in front of a report. Returns -1. */
int bpk_input_subject(const struct bpk_input *in, struct bpk_err *err);

#endif
