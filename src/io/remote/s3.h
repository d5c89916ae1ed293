/*
 * Stores of S3: their URLs, the user's keys, and error answers. Called by store.c and
 * exchange.c.
 * Source: Amazon S3 API, "Virtual hosting of buckets", "Error responses"; AWS SDKs and Tools,
 * "Shared config and credentials files".
 */
#ifndef BPK_IO_REMOTE_S3_H
#define BPK_IO_REMOTE_S3_H

#include "io/remote/answer.h"
#include "io/remote/url.h"

/* The URL of s3://BUCKET/KEY: https://BUCKET.s3.REGION.amazonaws.com/KEY, or ENDPOINT/BUCKET/KEY.
 * Fails with BPK_USAGE (no such bucket name). */
int bpk_s3_url_of(const struct bpk_store *store, const char *path, struct bpk_url *url,
		  struct bpk_err *err);

/* The meaning of an error answer. */
enum bpk_s3_meaning {
	BPK_S3_FAILED,
	BPK_S3_MISSING, /* no such key */
	BPK_S3_DENIED,  /* access denied; or no such key, where the user may not list */
};

/* Fill err with a line about an answer without content, whose body may be cut. */
enum bpk_s3_meaning bpk_s3_explain(const struct bpk_answer *answer, struct bpk_view body,
				   struct bpk_err *err);

/* ---- the user's files ---- */

/* Texts for free(); NULL: not given. */
struct bpk_s3_profile {
	char *key_id, *secret, *token, *region;
};

/* Take what is not given yet from the section of an INI file: [PROFILE] or [profile PROFILE]. Lines
 * that cannot be read are passed over. Fails with BPK_NO_MEMORY. */
int bpk_s3_profile_read(struct bpk_view text, const char *profile, struct bpk_s3_profile *found,
			struct bpk_err *err);

/* Read the files of the user. Fails with BPK_FAILED if one cannot be read, or the profile of
 * AWS_PROFILE is in none. */
int bpk_s3_profile_load(struct bpk_s3_profile *found, struct bpk_err *err);

void bpk_s3_profile_clear(struct bpk_s3_profile *profile);

#endif
