/*
 * repair --reseal: new digests after another program changed an archive. Chunks that still match
 * their digest, or unpack, are sealed; anything else is damage, and the archive stays unchanged.
 * So does an archive whose digests are current, which is tested in full: a bit that flipped is
 * what its user may take for another program's change. Called by repair.c.
 */
#include "cli/reseal.h"

#include "cli/transfer.h"
#include "cli/record.h"
#include "cli/report.h"
#include "cli/side.h"

/* *resealed: digests were missing, and new ones are committed. */
static int reseal(struct bpk_archive *archive, bool *resealed, struct bpk_err *err)
{
	const struct bpk_editor_ops *ops = archive->format->editor;

	if (ops->reseal == NULL)
		return 0;
	if (ops->reseal(archive->editor, resealed, err) != 0)
		return bpk_archive_subject(archive, err);
	return *resealed ? bpk_archive_commit(archive, err) : 0;
}

static int test(const struct bpk_args *args, const char *path, struct bpk_err *err)
{
	struct bpk_input in = { 0 };
	int rc = bpk_input_find(&in, path, &args->shared, err);

	if (rc == 0)
		rc = bpk_side_verify(&args->shared, &in, err);
	bpk_input_close(&in);
	return rc;
}

static void tell(const struct bpk_args *args, const char *path, bool resealed)
{
	const struct bpk_shared *shared = &args->shared;

	if (shared->verbose)
		bpk_note(path, "%s",
			 resealed ? "new digests were written"
				  : "no other program changed it, its digests stay");
	if (!shared->json)
		return;
	bpk_record_begin("repair", path);
	bpk_record_bool("resealed", resealed);
	bpk_record_end();
}

void bpk_reseal(const struct bpk_args *args, const char *path)
{
	struct bpk_edited edited = { 0 };
	struct bpk_err err = { 0 };
	bool resealed = false;
	int rc = bpk_edited_open(&edited, args, path, false, &err);

	if (rc == 0)
		rc = reseal(&edited.archive, &resealed, &err);
	bpk_edited_close(&edited);
	if (rc == 0 && !resealed)
		rc = test(args, path, &err);
	if (rc == 0)
		tell(args, path, resealed);
	else
		bpk_edited_report(path, &err);
}
