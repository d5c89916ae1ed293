/*
 * GSD: verification of all tables of a file, for bpk verify. GSD's own library checks only the
 * entries that it uses.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "layout/gsd_salvage.h"
#include "layout/gsd_write.h"

struct look {
	const struct bpk_gsd *gsd;
	void (*remark)(void *arg, const char *line);
	void *arg;
};

static void say(const struct look *look, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void say(const struct look *look, const char *format, ...)
{
	char line[256];
	va_list args;

	if (look->remark == NULL)
		return;
	va_start(args, format);
	vsnprintf(line, sizeof line, format, args);
	va_end(args);
	look->remark(look->arg, line);
}

int bpk_gsd_probe(struct bpk_source *source, bool *is_gsd, struct bpk_err *err)
{
	struct bpk_view head;

	*is_gsd = false;
	if (bpk_source_peek(source, BPK_LAYOUT_HEAD, &head, err) != 0)
		return -1;
	*is_gsd = bpk_layout_gsd.probe(head, head.size);
	return 0;
}

static int check_overlaps(const struct bpk_gsd *gsd, uint64_t *total, struct bpk_err *err)
{
	struct bpk_gsd_extent *extents =
		bpk_calloc((size_t)gsd->nentries + 1, sizeof *extents, err);
	size_t count = 0;
	int rc;

	if (extents == NULL)
		return -1;
	for (uint64_t i = 0; i < gsd->nentries; i++) {
		const struct bpk_gsd_entry *entry = bpk_gsd_entry(gsd, i);
		uint64_t size = 0;

		(void)bpk_gsd_entry_size(entry, &size);
		if (size == 0)
			continue;
		extents[count++] = (struct bpk_gsd_extent){ entry->location, size, i };
		*total += size;
	}
	rc = bpk_gsd_extents_check(extents, count, err);
	free(extents);
	return rc;
}

/* ---- Oddities ---- */

/* Report entries after the end of the list, which a killed writer may have left. */
static int look_behind(const struct look *look, struct bpk_err *err)
{
	const struct bpk_gsd *gsd = look->gsd;
	struct bpk_gsd_editor none = { 0 };
	struct bpk_gsd_slot rest = {
		.offset = gsd->index.offset + gsd->nentries * BPK_GSD_ENTRY,
		.room = gsd->index.room - gsd->nentries,
	};

	if (gsd->version == 0)
		return 0;
	if (bpk_gsd_slot_survey(&none, gsd->source, &rest, err) != 0)
		return -1;
	if (rest.dirty > 0)
		say(look,
		    "index has entries behind its end that are not zeros, the last is entry "
		    "%" PRIu64,
		    gsd->nentries + rest.dirty - 1);
	return 0;
}

/* The size of the idle index block that bpk keeps in the file. */
static uint64_t idle_size(const struct bpk_gsd *gsd)
{
	const struct bpk_gsd_block *idle = &gsd->idle;

	return bpk_layout_fits(gsd->file_size, idle->offset, idle->size) ? idle->size : 0;
}

/* Bytes of the file that no table and no chunk has. total: bytes of all chunks, which do not
 * overlap. */
static uint64_t count_unused(const struct bpk_gsd *gsd, uint64_t total)
{
	total += gsd->header_size + gsd->index.size + gsd->names_block.size + idle_size(gsd);
	return gsd->version > 0 && total < gsd->file_size ? gsd->file_size - total : 0;
}

/* ---- Entry ---- */

/* Name the next step. Returns -1. */
static int advise(struct bpk_err *err)
{
	struct bpk_err plain = *err;

	return bpk_fail(err, plain.kind, "%s; bpk repair FILE shows which frames are left",
			plain.text);
}

int bpk_gsd_may_be_cut(const struct bpk_gsd *gsd, bool *may, struct bpk_err *err)
{
	uint64_t narrays = 0;

	*may = false;
	if (gsd->sound_frames == BPK_UNKNOWN)
		return 0;
	while (narrays < gsd->nentries && bpk_gsd_entry(gsd, narrays)->frame < gsd->sound_frames)
		narrays++;
	return bpk_gsd_is_torn(gsd->source, gsd->sound_frames, narrays, may, err);
}

static int fail_damaged(const struct bpk_gsd *gsd, struct bpk_err *err)
{
	uint64_t sound = gsd->sound_frames;
	bool torn = false;

	if (gsd->version >= 0x20000 && bpk_gsd_may_be_cut(gsd, &torn, err) != 0)
		return -1;
	if (!torn) {
		*err = gsd->damage;
		return gsd->version > 0 ? advise(err) : -1;
	}
	return bpk_fail(err, BPK_CORRUPT,
			"frame %" PRIu64 " is torn: %s; bpk truncate --frames %" PRIu64
			" FILE cuts off that frame and all behind it, bpk repair FILE shows its "
			"arrays that are left",
			sound, gsd->damage.text, sound);
}

/* The end of the last table. */
static uint64_t tables_end(const struct bpk_gsd *gsd)
{
	uint64_t end = bpk_max_u64(gsd->index.offset + gsd->index.size,
				   gsd->names_block.offset + gsd->names_block.size);

	return bpk_max_u64(end, idle_size(gsd) > 0 ? gsd->idle.offset + gsd->idle.size : 0);
}

bool bpk_gsd_index_is_lost(const struct bpk_gsd *gsd)
{
	return gsd->version > 0 && gsd->nentries == 0 && gsd->file_size > tables_end(gsd);
}

int bpk_gsd_fail_lost(const struct bpk_gsd *gsd, struct bpk_err *err)
{
	bpk_fail(err, BPK_CORRUPT,
		 "has no frames, but %" PRIu64 " bytes behind its tables: its index is lost, or "
		 "its writer was killed in the first frame",
		 gsd->file_size - tables_end(gsd));
	return advise(err);
}

int bpk_gsd_check_names(const struct bpk_gsd *gsd, struct bpk_err *err)
{
	const struct bpk_gsd_names *names = &gsd->names;

	if (names->nodd == 0)
		return 0;
	bpk_fail(err, BPK_CORRUPT, "name %u of the list is no text: %s", names->odd,
		 bpk_gsd_name(names, names->odd));
	return gsd->version > 0 ? advise(err) : -1;
}

static int verify(const struct look *look, struct bpk_err *err)
{
	const struct bpk_gsd *gsd = look->gsd;
	uint64_t total = 0, unused;

	if (gsd->damage.kind != BPK_OK)
		return fail_damaged(gsd, err);
	if (bpk_gsd_check_names(gsd, err) != 0)
		return -1;
	if (check_overlaps(gsd, &total, err) != 0)
		return err->kind == BPK_CORRUPT && gsd->version > 0 ? advise(err) : -1;
	if (look_behind(look, err) != 0)
		return -1;
	if (bpk_gsd_index_is_lost(gsd))
		return bpk_gsd_fail_lost(gsd, err);
	unused = count_unused(gsd, total);
	if (unused > 0)
		say(look,
		    "%" PRIu64 " bytes hold nothing: tables that were outgrown, frames that "
		    "were cut off or not ended",
		    unused);
	if (gsd->names.ncut > 0)
		say(look,
		    "%u names of 63 bytes are listed again, as GSD's library does with longer ones "
		    "that it cuts; equal names are read as one",
		    gsd->names.ncut);
	return 0;
}

int bpk_gsd_verify(struct bpk_source *source, void (*remark)(void *arg, const char *line),
		   void *arg, struct bpk_gsd_verdict *verdict, struct bpk_err *err)
{
	struct look look = { .remark = remark, .arg = arg };
	struct bpk_gsd *gsd;
	int rc;

	*verdict = (struct bpk_gsd_verdict){ .sound_frames = BPK_UNKNOWN };
	if (bpk_gsd_open(source, &gsd, err) != 0)
		return err->kind == BPK_CORRUPT ? advise(err) : -1;
	look.gsd = gsd;
	verdict->narrays = gsd->nentries;
	if (gsd->nentries > 0)
		verdict->nframes = bpk_gsd_entry(gsd, gsd->nentries - 1)->frame + 1;
	verdict->sound_frames = gsd->sound_frames;
	rc = verify(&look, err);
	bpk_gsd_close(gsd);
	return rc;
}

int bpk_gsd_count_sound(struct bpk_source *source, uint64_t *nframes, struct bpk_err *err)
{
	struct bpk_gsd *gsd;

	if (bpk_gsd_open(source, &gsd, err) != 0)
		return -1;
	*nframes = gsd->sound_frames;
	bpk_gsd_close(gsd);
	return 0;
}
