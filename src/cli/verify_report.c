/* How bpk verify shows what was found in one input: lines, and the object of --json. Called by
 * verify_work.c. */
#include "cli/verify_report.h"

#include <inttypes.h>
#include <stdio.h>

#include "cli/describe.h"
#include "cli/identity.h"
#include "cli/record.h"
#include "cli/report.h"
#include "cli/salvage_job.h"
#include "cli/seal.h"
#include "cli/share.h"
#include "cli/sum.h"

void bpk_verify_say(const struct bpk_input *in, const char *line)
{
	struct bpk_err shown = { 0 };

	bpk_fail(&shown, BPK_OK, "%s", line);
	bpk_input_subject(in, &shown);
	puts(shown.text);
	bpk_flush_results();
}

void bpk_verify_say_well(const struct bpk_verify_args *args, const struct bpk_input *in)
{
	char line[400] = "ok";

	if (in->info->unprotected != NULL)
		snprintf(line, sizeof line, "ok; %s protects %s",
			 bpk_verify_compares_identity(args, in)
				 ? "the recorded identity protects the content, beside it no "
				   "checksum"
				 : "no checksum",
			 in->info->unprotected);
	bpk_verify_say(in, line);
}

void bpk_verify_note(void *arg, const char *line)
{
	struct bpk_verify_remarks *remarks = arg;
	struct bpk_err named = { 0 }, err = { 0 };

	if (remarks->shared->verbose && !remarks->shared->json)
		bpk_verify_say(remarks->in, line);
	bpk_fail(&named, BPK_OK, "%s", line);
	bpk_err_name_file(&named, remarks->in->path);
	if (remarks->shared->json &&
	    bpk_buf_append(&remarks->lines, bpk_view(named.text, strlen(named.text) + 1), &err) !=
		    0)
		bpk_report(NULL, &err);
}

void bpk_verify_add_range(const struct bpk_damaged *damaged, struct bpk_err *err)
{
	char others[64] = "", range[80] = "";
	struct bpk_err plain = *err;

	if (damaged->count > 1)
		snprintf(others, sizeof others, "; the same for the chunks up to %" PRIu64,
			 damaged->first + damaged->count - 1);
	if (damaged->start != BPK_UNKNOWN)
		snprintf(range, sizeof range, "; raw bytes %" PRIu64 ":", damaged->start);
	if (damaged->start != BPK_UNKNOWN && damaged->end != BPK_UNKNOWN)
		snprintf(range + strlen(range), sizeof range - strlen(range), "%" PRIu64,
			 damaged->end);
	bpk_fail(err, plain.kind, "%s%s%s", plain.text, others, range);
}

/* Bytes behind the end of an archive with damaged chunks, which has no audit: that would end at the
 * first of these. Directories report such bytes in their audits alone. */
static void report_tail(struct bpk_input *in)
{
	struct bpk_err err = { 0 };

	if (bpk_input_tail(in, &err) != 0)
		bpk_report(NULL, &err);
}

void bpk_verify_report_others(struct bpk_input *in, const struct bpk_damage *damage)
{
	enum { LINES = 20 };
	uint64_t nmore = 0;
	struct bpk_err err;

	for (size_t i = 1; i < damage->count; i++) {
		if (i >= LINES) {
			nmore += damage->all[i].count;
			continue;
		}
		err = (struct bpk_err){ 0 };
		bpk_fail(&err, BPK_CORRUPT, "%s", damage->all[i].report);
		bpk_verify_add_range(&damage->all[i], &err);
		bpk_input_subject(in, &err);
		bpk_report(NULL, &err);
	}
	err = (struct bpk_err){ 0 };
	if (nmore > 0) {
		bpk_fail(&err, BPK_CORRUPT, "and %s%" PRIu64 " more damaged chunks",
			 damage->more ? "at least " : "", nmore);
		bpk_input_subject(in, &err);
		bpk_report(NULL, &err);
	}
	if (damage->stop.kind != BPK_OK) {
		err = damage->stop;
		bpk_input_subject(in, &err);
		bpk_report(NULL, &err);
	}
	report_tail(in);
}

/* Without damaged chunks an archive that is not intact could not be read through. Others may have
 * been exchanged if the digests of all together, or the seal, do not prove them. */
static void record_damage(const struct bpk_info *info, const struct bpk_verify_found *found)
{
	const struct bpk_damage *damage = &found->damage;
	bool ends = found->intact || damage->count > 0;
	bool others = info != NULL && (info->directory.exchangeable || info->seal.sealed);

	bpk_record_list_begin("bad_chunks");
	for (size_t i = 0; i < damage->count; i++) {
		const struct bpk_damaged *damaged = &damage->all[i];

		bpk_record_item_begin();
		bpk_record_u64("chunk", damaged->first);
		bpk_record_u64("nchunks", damaged->count);
		bpk_record_u64("start", damaged->start);
		bpk_record_u64("end", damaged->end);
		bpk_record_text("error", damaged->report);
		bpk_record_item_end();
	}
	bpk_record_list_end();
	bpk_record_bool("bad_chunks_complete", ends && (found->sound || !others) && !damage->more &&
						       damage->stop.kind == BPK_OK);
}

void bpk_verify_end_record(const struct bpk_verify_remarks *remarks)
{
	const struct bpk_buf *lines = &remarks->lines;

	bpk_record_list_begin("remarks");
	for (size_t at = 0; at < lines->size; at += strlen((const char *)lines->data + at) + 1)
		bpk_record_list_text((const char *)lines->data + at);
	bpk_record_list_end();
	bpk_record_end();
}

void bpk_verify_record(const struct bpk_transfer *transfer, const struct bpk_verify_found *found,
		       const struct bpk_verify_remarks *remarks, const struct bpk_err *err)
{
	const struct bpk_info *info = transfer->in->info;
	bool whole = info != NULL && (err->kind == BPK_OK || found->intact);

	bpk_record_begin("verify", transfer->in->path);
	bpk_record_text("format", info != NULL ? info->format : NULL);
	bpk_record_text("checksum", info != NULL ? info->chunks.checksum->name : NULL);
	bpk_record_u64("packed_size", info != NULL ? info->stored_size : BPK_UNKNOWN);
	/* threads go on behind damage for a while, so these would depend on timing */
	bpk_record_u64("raw_size", whole ? transfer->result.raw_size : BPK_UNKNOWN);
	bpk_record_u64("nchunks", whole ? transfer->result.nchunks : BPK_UNKNOWN);
	bpk_record_text("unprotected", info != NULL ? info->unprotected : NULL);
	bpk_seal_record(info);
	(void)bpk_identity_record(info, info != NULL ? bpk_describe_raw_size(info) : 0, NULL);
	record_damage(info, found);
	bpk_verify_record_differing(&found->differing);
	bpk_side_record(found->parity);
	bpk_record_text("repairable", err->kind == BPK_REPAIRABLE ? found->repairable : NULL);
	bpk_verify_end_record(remarks);
}

void bpk_verify_say_root(const struct bpk_input *in)
{
	const char *name = bpk_input_name(in->path);
	char root[BPK_DIGEST_TEXT];

	bpk_sum_begin_line(name);
	/* --roots takes a line that begins so for a comment */
	if (*name == '#')
		fputs("./", stdout);
	bpk_sum_print_name(name);
	printf(": %s generation %" PRIu64 "\n", bpk_seal_print(&in->info->seal, root),
	       in->info->seal.generation);
	bpk_flush_results();
}

/* Of a file that does not begin as an archive, some of one may be left. */
static bool may_be_salvaged(const struct bpk_input *in)
{
	struct bpk_source *source = in->place.source;

	if (source == NULL && in->place.directory == NULL)
		return false;
	return bpk_salvage_format(in) != NULL && (source == NULL || !bpk_foreign_is_known(source));
}

/* The next step, a command before and behind the file's name. NULL: there is none, as for a file
 * that is no archive. */
static const char *find_advice(const struct bpk_input *in, const struct bpk_verify_found *found,
			       const char **use)
{
	bool is_open = in->place.source != NULL || in->place.directory != NULL, saves;

	*use = "settles it";
	if (is_open && bpk_place_pending(&in->place))
		return "a change was interrupted and is pending: bpk repair --in-place";
	*use = "shows the choices";
	if (is_open && bpk_place_remark(&in->place) != NULL)
		return "bpk repair";
	*use = "writes the content as it is";
	if (found->differing.count > 0 || found->sound)
		return "bpk unpack -o RAW";
	*use = "saves the content that is sealed";
	if (found->intact && bpk_input_rest(in) > 0 && bpk_input_check_damage(in, NULL) == 0)
		return "bpk repair --apply -o OUT";
	*use = "writes the content of all";
	if (in->info != NULL && in->info->members > 1 && in->info->members != BPK_UNKNOWN)
		return "bpk unpack --fill zero -o RAW";
	if (in->format == NULL && !may_be_salvaged(in))
		return NULL;
	saves = found->intact && in->info->chunks.checksum->size > 0;
	*use = saves ? "saves the intact chunks" : "shows which data are left";
	return saves ? "bpk repair --apply -o OUT" : "bpk repair";
}

void bpk_verify_add_advice(const struct bpk_verify_args *args, const struct bpk_input *in,
			   const struct bpk_verify_found *found, struct bpk_err *err)
{
	const char *use, *advice = find_advice(in, found, &use);
	const char *restorers = found->differing.count > 0 ? bpk_salvage_restorers(in) : "";
	struct bpk_err plain = *err;
	char word[BPK_WORD_TEXT];

	if (advice == NULL || err->kind != BPK_CORRUPT || err->advises ||
	    args->shared.tally->advised || args->shared.quiet || bpk_share_is_asked())
		return;
	args->shared.tally->advised = true;
	bpk_fail(err, plain.kind, "%s; %s%s %s %s", plain.text, restorers, advice,
		 bpk_shell_word(in->path, word), use);
}

void bpk_verify_found_clear(struct bpk_verify_found *found, struct bpk_verify_remarks *remarks)
{
	bpk_ident_clear(&found->tree);
	bpk_ident_ranges_clear(&found->differing);
	bpk_damage_clear(&found->damage);
	bpk_buf_clear(&remarks->lines);
}
