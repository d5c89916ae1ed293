/* The identity that an archive records, as text, for verify_report.c, sum_work.c, info.c,
 * describe.c and meta.c. */
#ifndef BPK_CLI_IDENTITY_H
#define BPK_CLI_IDENTITY_H

#include "archive/archive.h"

/* Print the root in hexadecimal; empty without a record, and for one of another content, which
 * *fits tells. raw_size: of the content (bpk_describe_raw_size). */
int bpk_identity_print(const struct bpk_info *info, uint64_t raw_size, char text[BPK_DIGEST_TEXT],
		       bool *fits, struct bpk_err *err);

/* Add identity_root to the record: null without a record that fits. */
int bpk_identity_record(const struct bpk_info *info, uint64_t raw_size, struct bpk_err *err);

/* The user's metadata, without the record; empty: there are none. less, which is zeroed and the
 * caller's to clear, holds them if they differ from the text in info. */
int bpk_identity_users(const struct bpk_info *info, struct bpk_buf *less, struct bpk_view *text,
		       struct bpk_err *err);

/* True if comparing a content of raw_size bytes, of which stored are packed, would unpack more than
 * 1 GiB and 1000 times the archive: the work follows the bytes that are there. stored may be
 * unknown. */
bool bpk_identity_is_bomb(uint64_t raw_size, uint64_t stored);

/* Find the record, and fail with BPK_CORRUPT if it is not one of as many bytes as are there; *has
 * is false without any. */
int bpk_identity_take(const struct bpk_info *info, uint64_t raw_size, struct bpk_ident *tree,
		      bool *has, struct bpk_err *err);

/* Take the record of an archive on its word. Fails with BPK_FAILED without one, with BPK_CORRUPT
 * for one of another content. Errors name the input. */
int bpk_identity_recorded(const struct bpk_input *in, struct bpk_ident *tree, struct bpk_err *err);

#endif
