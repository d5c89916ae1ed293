/* An archive is tested, and gets a parity file. Called by parity.c and pack_work.c. */
#include "cli/protect.h"

#include <inttypes.h>
#include <stdlib.h>

#include "cli/heal.h"
#include "cli/report.h"
#include "cli/side.h"
#include "cli/text.h"
#include "cli/verify.h"

enum { DEFAULT_SHARE = 5 * BPK_PARITY_PERCENT };

/* ---- the share ---- */

/* Losses of an older parity file. */
struct old {
	bool damaged, share_lost;
	struct bpk_err why; /* it cannot be opened */
};

/* The share of an older parity file stays, unless the user gives one. One that cannot be read as it
 * is of a later bpk is replaced by force alone. */
static int look_at_old(const char *name, bool force, unsigned *share, struct old *found,
		       struct bpk_err *err)
{
	struct bpk_parity *old = NULL;
	struct bpk_err why = { 0 };
	bool there, ours;

	if (bpk_parity_look(name, &there, &ours, err) != 0)
		return bpk_err_subject(err, "%s", name);
	if (ours && bpk_parity_open(name, &old, &why) == 0)
		*share = *share > 0 ? *share : bpk_parity_share(old);
	bpk_parity_close(old);
	found->why = why;
	if (why.kind == BPK_CORRUPT) {
		found->damaged = true;
		found->share_lost = *share == 0;
	} else if (why.kind != BPK_OK && !(why.kind == BPK_UNSUPPORTED && force)) {
		bpk_fail(err, why.kind, "%s%s", why.text,
			 why.kind == BPK_UNSUPPORTED ? "; --force replaces it" : "");
		return bpk_err_subject(err, "%s", name);
	}
	if (*share == 0)
		*share = DEFAULT_SHARE;
	return 0;
}

/* ---- all ---- */

static void tell(const struct bpk_shared *shared, const char *path, const char *name,
		 unsigned share, uint64_t size, const struct old *old)
{
	struct stat made;

	if (old->share_lost && !shared->quiet)
		bpk_note(name, "was damaged, its share unknown: it was made anew with %g%%",
			 (double)share / BPK_PARITY_PERCENT);
	else if (old->damaged && !shared->quiet)
		bpk_note(name, "was damaged, and was made anew");
	if (shared->verbose && stat(name, &made) == 0)
		bpk_note(path, "parity of %g%%: %" PRIu64 " bytes for %" PRIu64 " in %s",
			 (double)share / BPK_PARITY_PERCENT, (uint64_t)made.st_size, size, name);
}

/* Parity of a damaged archive would keep the damage. Of a directory, files are the ones that were
 * verified. */
static int verify(const struct bpk_shared *shared, struct bpk_input *in,
		  struct bpk_parity_files *files, struct bpk_err *err)
{
	if (in->place.is_directory &&
	    bpk_parity_files_list(in->place.directory, bpk_format_owns, files, err) != 0)
		return bpk_input_subject(in, err);
	return bpk_side_verify(shared, in, err);
}

/* Parity that is lost cannot show damage, which no checksum would show either. */
static int refuse_unprotected(const struct bpk_input *in, const char *name, const struct old *old,
			      struct bpk_err *err)
{
	char word[BPK_WORD_TEXT];

	if (old->why.kind != BPK_CORRUPT || in->info->seal.sealed ||
	    in->info->chunks.checksum->size > 0)
		return 0;
	bpk_fail(err, BPK_CORRUPT,
		 "%s: %s, and no checksum tells whether the archive is damaged; "
		 "bpk parity --force %s keeps its bytes as they are",
		 name, old->why.text, bpk_shell_word(in->path, word));
	err->advises = true;
	return -1;
}

static int write_side(const struct bpk_shared *shared, struct bpk_input *in, unsigned share,
		      struct bpk_side_options *options, struct old *old, struct bpk_err *err)
{
	char *name = bpk_side_name(in->path, err);
	uint64_t size;
	int rc = name == NULL ? -1 : 0;

	options->share = share;
	if (rc == 0)
		rc = look_at_old(name, options->force, &options->share, old, err);
	if (rc == 0 && !options->force)
		rc = refuse_unprotected(in, name, old, err);
	if (rc == 0)
		rc = bpk_side_make(in->path, name, options, &size, err);
	if (rc == 0)
		tell(shared, in->path, name, options->share, size, old);
	free(name);
	return rc;
}

/* Bytes that no checksum covers would lose their parity, and wrong content would be kept. A
 * seal that fits proves that older parity is of another state. */
static int refuse_damaged(const struct bpk_shared *shared, const struct bpk_input *in,
			  bool *old_damaged, struct bpk_err *err)
{
	char word[BPK_WORD_TEXT];
	struct bpk_err why;
	int rc = bpk_verify_recorded(shared, in, false, err);

	if (rc == 0 && !bpk_heal_is_proven(shared, in))
		rc = bpk_side_need_whole(in->path, old_damaged, err);
	if (rc == 0 || (err->kind != BPK_REPAIRABLE && err->kind != BPK_CORRUPT))
		return rc;
	why = *err;
	bpk_fail(err, why.kind, "%s; bpk parity --force %s keeps the bytes as they are", why.text,
		 bpk_shell_word(in->path, word));
	err->advises = true;
	return -1;
}

int bpk_protect(const struct bpk_shared *shared, struct bpk_input *in, unsigned share, bool trusts,
		struct bpk_err *err)
{
	struct bpk_side_options options = { .force = shared->force, .sync = !shared->no_sync };
	struct bpk_parity_files files = { 0 };
	struct bpk_heal_verdict verdict;
	struct old old = { 0 };
	struct stat seen;
	int rc = bpk_side_check_own(in, "parity", err);

	if (rc == 0) {
		seen = *bpk_input_stat(in);
		options.seen = &seen;
		options.files = in->place.is_directory ? &files : NULL;
		rc = verify(shared, in, &files, err);
		if (rc != 0)
			rc = bpk_heal_judge(shared, in, rc, &verdict, err);
	}
	if (rc == 0 && !trusts)
		rc = refuse_damaged(shared, in, &old.damaged, err);
	if (rc == 0 && !trusts)
		rc = bpk_heal_refuse_earlier(in->path, err);
	if (rc == 0)
		rc = write_side(shared, in, share, &options, &old, err);
	bpk_parity_files_clear(&files);
	return rc;
}
