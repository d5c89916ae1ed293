/*
 * repair --reseal: new digests after another program changed an archive. Chunks that still match
 * their digest, or unpack, are sealed; anything else is damage, and the archive stays unchanged.
 * Called by repair.c.
 */
#include "cli/reseal.h"

#include "cli/transfer.h"
#include "cli/record.h"
#include "cli/report.h"

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

	if (bpk_edited_open(&edited, args, path, false, &err) == 0 &&
	    reseal(&edited.archive, &resealed, &err) == 0)
		tell(args, path, resealed);
	else
		bpk_report(NULL, &err);
	bpk_edited_close(&edited);
}
