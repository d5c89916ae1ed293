/* The verification of one input: an archive, or a GSD file. Called by verify_tree.c and
 * verify_roots.c. */
#include <inttypes.h>

#include "cli/heal.h"
#include "cli/record.h"
#include "cli/report.h"
#include "cli/seal.h"
#include "cli/verify_report.h"
#include "layout/layout.h"

/* ---- archives ---- */

/* Chunks of several dimensions are no ranges of the array's bytes. */
static bool has_ranges(const struct bpk_input *in)
{
	const struct bpk_array_info *array = &in->info->array;

	return array->chunk_shape == NULL || array->type == NULL || array->type->ndimensions <= 1;
}

static int verify_chunks(const struct bpk_verify_args *args, struct bpk_transfer *transfer,
			 struct bpk_damage *damage, struct bpk_err *err)
{
	struct bpk_flow flow = {
		.plan = bpk_plan_all(transfer->in->info),
		.check = true,
		.decode = !args->quick,
		.damage = damage,
		.pace = args->shared.pace,
	};
	int rc = bpk_transfer_run(transfer, &flow, err);

	for (size_t i = 0; i < damage->count && !has_ranges(transfer->in); i++)
		damage->all[i].start = damage->all[i].end = BPK_UNKNOWN;
	/* the archive may have changed meanwhile: then it is not damaged */
	if (rc == 0 || err->kind != BPK_CORRUPT)
		bpk_damage_drop(damage);
	if (damage->count > 0)
		bpk_verify_add_range(&damage->all[0], err);
	return rc;
}

/* The committed state, which was read, is intact. */
static int fail_pending(const struct bpk_input *in, struct bpk_err *err)
{
	char word[BPK_WORD_TEXT];

	bpk_shell_word(in->path, word);
	bpk_fail(err, BPK_REPAIRABLE,
		 "a change was interrupted and is pending; bpk repair --in-place %s, or the next "
		 "append, write, truncate or meta, settles it",
		 word);
	return bpk_input_subject(in, err);
}

static bool expects_seal(const struct bpk_verify_args *args)
{
	return args->print_root || args->root != NULL || args->anchors != NULL ||
	       args->min_generation > 0;
}

/* Compare the seal, which the audit has tested, with those that the user expects. */
static int compare_seal(const struct bpk_verify_args *args, const struct bpk_input *in,
			struct bpk_err *err)
{
	const struct bpk_seal_info *seal = &in->info->seal;
	const char *root = args->anchors != NULL ? bpk_verify_anchors_root(args->anchors, in->path)
						 : bpk_seal_find_root(args->root);

	if (!expects_seal(args))
		return 0;
	if (in->place.source != NULL && !bpk_source_seekable(in->place.source))
		bpk_fail(err, BPK_FAILED, "is a pipe, in which no seal can be tested");
	else if (args->anchors != NULL && root == NULL)
		bpk_fail(err, BPK_CORRUPT, "is in the place of an archive that --roots names");
	else if (bpk_seal_expect(seal, root, err) == 0 && seal->generation < args->min_generation)
		bpk_fail(err, BPK_CORRUPT,
			 "the seal is of generation %" PRIu64 ", expected at least %" PRIu64,
			 seal->generation, args->min_generation);
	else if (err->kind == BPK_OK)
		return 0;
	return bpk_input_subject(in, err);
}

/* Open the input anew: its reader has fetched chunks. */
static int start_again(const struct bpk_verify_args *args, struct bpk_transfer *transfer,
		       struct bpk_err *err)
{
	const struct bpk_shared *shared = &args->shared;
	struct bpk_input *in = transfer->in;
	const char *path = in->path;

	bpk_transfer_clear(transfer);
	*transfer = (struct bpk_transfer){ .shared = shared, .in = in };
	bpk_input_close(in);
	return bpk_input_look(in, path, shared->format, err) != 0
		       ? -1
		       : bpk_input_start(in, shared, shared->chunk_limit, err);
}

/* Verify all chunks, and find the tree of the content where that is possible meanwhile. Damage is
 * listed by a run without an output, and read again for that. */
static int verify_content(const struct bpk_verify_args *args, struct bpk_transfer *transfer,
			  struct bpk_verify_found *found, struct bpk_err *err)
{
	if (bpk_verify_identity_beside(args, transfer->in)) {
		struct bpk_err why = { 0 }, changed = { 0 };

		if (bpk_verify_identity_run(args, transfer, &found->tree, &why) == 0)
			return 0;
		bpk_ident_clear(&found->tree);
		if (bpk_err_is_of_machine(&why) && bpk_input_unchanged(transfer->in, &changed) == 0)
			return bpk_fail_as(err, &why);
		if (start_again(args, transfer, err) != 0)
			return -1;
	}
	return verify_chunks(args, transfer, &found->damage, err);
}

static int verify_found(const struct bpk_verify_args *args, struct bpk_transfer *transfer,
			struct bpk_verify_found *found, struct bpk_verify_remarks *remarks,
			struct bpk_err *err)
{
	const struct bpk_remarks to = { bpk_verify_note, remarks };

	if (bpk_input_start(transfer->in, &args->shared, args->shared.chunk_limit, err) != 0 ||
	    verify_content(args, transfer, found, err) != 0)
		return -1;
	found->intact = true;
	if (bpk_input_audit(transfer->in, bpk_verify_note, remarks, err) != 0)
		return -1;
	if (bpk_input_unchanged(transfer->in, err) != 0)
		return -1;
	found->sound = bpk_verify_identity(args, transfer->in, &found->tree, &found->differing, &to,
					   err) == 0;
	return found->sound ? 0 : -1;
}

/* Look again: a running command renews parity after each change. */
static int demand_parity(const struct bpk_input *in, enum bpk_side_state parity,
			 struct bpk_err *err)
{
	char word[BPK_WORD_TEXT];

	if (parity != BPK_SIDE_CURRENT && bpk_side_look(in->path, &parity, err) != 0)
		return bpk_input_subject(in, err);
	if (parity == BPK_SIDE_CURRENT)
		return 0;
	if (parity == BPK_SIDE_NONE)
		bpk_fail(err, BPK_CORRUPT, "has no parity");
	else if (bpk_heal_is_moving(in))
		bpk_fail(err, BPK_FAILED,
			 "is being changed, and its parity is renewed at the end of that");
	else
		bpk_fail(err, BPK_CORRUPT, "its parity %s; bpk parity %s renews it",
			 parity == BPK_SIDE_STALE ? "is of another time of change"
						  : "file is damaged",
			 bpk_shell_word(in->path, word));
	return bpk_input_subject(in, err);
}

static int demand_identity(const struct bpk_input *in, struct bpk_err *err)
{
	if (bpk_ident_is_recorded(in->info))
		return 0;
	bpk_fail(err, BPK_CORRUPT, "records no identity");
	return bpk_input_subject(in, err);
}

/* Test the user's expectations of a whole archive. That they are not met is no damage, which parity
 * could restore. */
static int expect(const struct bpk_verify_args *args, const struct bpk_input *in,
		  struct bpk_err *err)
{
	return compare_seal(args, in, err) != 0 ? -1
	       : args->identity                 ? demand_identity(in, err)
						: 0;
}

/* The archive is whole, and rc tells of its parity: an expectation that is not met is graver than
 * a parity file of no use. */
static int judge_state(const struct bpk_verify_args *args, const struct bpk_input *in,
		       struct bpk_verify_found *found, int rc, struct bpk_err *err)
{
	struct bpk_err unmet = { 0 };

	if (expect(args, in, &unmet) != 0) {
		if (rc != 0)
			bpk_note(NULL, "%s", err->text);
		found->repairable = NULL;
		found->parity_alone = false;
		return bpk_fail_as(err, &unmet);
	}
	if (rc != 0 ||
	    (args->parity && !in->info->pending && demand_parity(in, found->parity, err) != 0))
		return -1;
	found->repairable = "pending";
	return in->info->pending ? fail_pending(in, err) : 0;
}

void bpk_verify_count(const struct bpk_verify_args *args, const struct bpk_input *in,
		      bool is_archive, const struct bpk_err *err)
{
	uint64_t size = in->info != NULL ? in->info->stored_size : BPK_UNKNOWN;

	if (size == BPK_UNKNOWN && in->place.source != NULL)
		size = bpk_source_size(in->place.source);
	if (is_archive)
		bpk_tally_done(&args->shared, 0, size != BPK_UNKNOWN ? size : 0);
	if (err != NULL)
		bpk_tally_failed(&args->shared, err);
}

void bpk_verify_fail_empty(const struct bpk_verify_args *args, const char *path)
{
	struct bpk_err err = { 0 };

	bpk_fail(&err, BPK_FAILED, "no archive was found in it");
	bpk_tally_failed(&args->shared, &err);
	bpk_report(path, &err);
	bpk_record_settle(&args->shared, path);
}

void bpk_verify_well(const struct bpk_verify_args *args, const struct bpk_input *in)
{
	if (args->shared.verbose && !args->shared.json)
		bpk_verify_say_well(args, in);
	bpk_verify_count(args, in, true, NULL);
	bpk_record_settle(&args->shared, in->path);
}

/* ---- GSD files, which are not archives ---- */

static int probe_gsd(const struct bpk_input *in, bool *is_gsd, struct bpk_err *err)
{
	*is_gsd = false;
	if (in->format != NULL || in->place.is_directory ||
	    !bpk_source_seekable(in->place.source) || bpk_format_of_suffix(in->path) != NULL)
		return 0;
	if (bpk_gsd_probe(in->place.source, is_gsd, err) != 0)
		return bpk_input_subject(in, err);
	return 0;
}

/* Fail if a file that is named .gsd has neither a GSD file nor an archive in it. */
static int check_gsd_name(const struct bpk_input *in, bool is_gsd, struct bpk_err *err)
{
	if (is_gsd || in->format != NULL || in->place.is_directory ||
	    !bpk_ends_with(in->path, ".gsd"))
		return 0;
	bpk_fail(err, BPK_CORRUPT,
		 "does not begin as a GSD file, as its name says it should; bpk repair FILE "
		 "shows which frames are left");
	return bpk_input_subject(in, err);
}

/* A GSD file in the place of an archive has nothing of what the user expects of that. */
static int expect_gsd(const struct bpk_verify_args *args, const struct bpk_input *in,
		      struct bpk_err *err)
{
	if (!expects_seal(args) && !args->identity)
		return 0;
	bpk_fail(err, BPK_CORRUPT, "is a raw GSD file, which has no %s",
		 expects_seal(args) ? "seal" : "identity");
	return bpk_input_subject(in, err);
}

static void verify_gsd(const struct bpk_verify_args *args, struct bpk_input *in)
{
	const struct bpk_shared *shared = &args->shared;
	struct bpk_verify_remarks remarks = { .in = in, .shared = shared };
	struct bpk_gsd_verdict verdict = { 0 };
	struct bpk_err err = { 0 }, changed = { 0 };

	if (bpk_gsd_verify(in->place.source, bpk_verify_note, &remarks, &verdict, &err) != 0) {
		if (err.kind == BPK_CORRUPT &&
		    bpk_source_unchanged(in->place.source, &changed) != 0)
			err = changed;
		bpk_input_subject(in, &err);
	} else {
		expect_gsd(args, in, &err);
	}
	if (err.kind == BPK_OK && shared->verbose && !shared->json)
		bpk_verify_say(in, "ok; no checksum protects a GSD file");
	if (shared->json) {
		bpk_record_begin("verify", in->path);
		bpk_record_text("format", "gsd");
		bpk_record_u64("raw_size", bpk_source_size(in->place.source));
		bpk_record_u64("nframes", verdict.nframes);
		bpk_record_u64("narrays", verdict.narrays);
		bpk_record_u64("sound_frames", verdict.sound_frames);
		bpk_verify_end_record(&remarks);
	}
	bpk_verify_count(args, in, true, err.kind == BPK_OK ? NULL : &err);
	if (err.kind != BPK_OK)
		bpk_report(NULL, &err);
	bpk_buf_clear(&remarks.lines);
}

/* ---- one input ---- */

/* Verify the file anew, which was restored: also what --quick leaves out. */
static int verify_again(const struct bpk_verify_args *args, struct bpk_transfer *transfer,
			struct bpk_verify_found *found, struct bpk_verify_remarks *remarks,
			struct bpk_err *err)
{
	struct bpk_verify_args thorough = *args;
	struct bpk_input *in = transfer->in;
	const char *path = in->path;

	thorough.quick = false;
	bpk_verify_found_clear(found, remarks);
	*found = (struct bpk_verify_found){ .intact = false };
	bpk_damage_init(&found->damage);
	bpk_transfer_clear(transfer);
	*transfer = (struct bpk_transfer){ .shared = &args->shared, .in = in };
	bpk_input_close(in);
	if (bpk_input_find(in, path, &args->shared, err) != 0)
		return -1;
	if (verify_found(&thorough, transfer, found, remarks, err) != 0)
		return -1;
	if (args->shared.json)
		bpk_verify_note(remarks, "was restored by its parity file");
	return 0;
}

static int find_parity(const struct bpk_verify_args *args, const struct bpk_input *in,
		       enum bpk_side_state *state, struct bpk_err *err)
{
	bool is_wanted = args->parity || args->shared.json;

	*state = BPK_SIDE_NONE;
	if (!is_wanted || bpk_program->team != NULL || in->place.is_member)
		return 0;
	return bpk_side_look(in->path, state, err) == 0 ? 0 : bpk_input_subject(in, err);
}

/* Bytes follow the end of the archive. */
static bool has_tail(const struct bpk_input *in)
{
	return in->reader != NULL && in->format->reader->tail != NULL &&
	       in->format->reader->tail(in->reader, NULL) != 0;
}

/* The word for status 3, by the verdicts before and after parity was looked at. */
static const char *find_word(const struct bpk_input *in, enum bpk_kind before,
			     const struct bpk_heal_verdict *verdict)
{
	if (verdict->heals)
		return "healable";
	if (verdict->parity == BPK_SIDE_CURRENT)
		return "pending";
	if (before == BPK_OK)
		return verdict->parity == BPK_SIDE_STALE ? "parity-stale" : "parity-damaged";
	if (before != BPK_REPAIRABLE)
		return "restorable";
	return has_tail(in) ? "tail" : "sizes";
}

/* Note both for the record, and for --parity. A verdict that was found stays, but parity that is
 * demanded and does not heal in place is a failure like none at all. */
static int note_parity(const struct bpk_verify_args *args, const struct bpk_input *in,
		       struct bpk_verify_found *found, enum bpk_kind before,
		       const struct bpk_heal_verdict *verdict, int rc, struct bpk_err *err)
{
	bool is_useless = !verdict->heals && verdict->parity != BPK_SIDE_CURRENT;
	struct bpk_err why = { 0 };

	if (find_parity(args, in, &found->parity, &why) != 0 && rc == 0)
		return bpk_fail_as(err, &why);
	if (rc == 0 || err->kind != BPK_REPAIRABLE)
		return rc;
	found->repairable = find_word(in, before, verdict);
	/* cells tell more than times and sizes */
	if (!verdict->heals && verdict->parity != BPK_SIDE_NONE)
		found->parity = verdict->parity;
	found->parity_alone = before == BPK_OK && is_useless;
	if (args->parity && before != BPK_REPAIRABLE && is_useless)
		err->kind = BPK_CORRUPT;
	return rc;
}

/* The archive is as damaged as before: that is graver than a file system that is full or read-only,
 * or another writer. */
static int fail_to_heal(const struct bpk_err *plain, const struct bpk_err *why, struct bpk_err *err)
{
	if (plain->kind == BPK_OK || why->kind == BPK_CORRUPT)
		return bpk_fail_as(err, why);
	bpk_note(NULL, "%s; it is not restored", why->text);
	return bpk_fail_as(err, plain);
}

/* The verdict with a parity file, after healing if that is asked for. */
static int judge_by_parity(const struct bpk_verify_args *args, struct bpk_transfer *transfer,
			   struct bpk_verify_found *found, struct bpk_verify_remarks *remarks,
			   int rc, struct bpk_err *err)
{
	const struct bpk_shared *shared = &args->shared;
	struct bpk_healed healed = { 0 };
	enum bpk_kind before = rc == 0 ? BPK_OK : err->kind;
	unsigned tries = 4; /* while another process heals */
	struct bpk_err plain, why = { 0 };
	struct bpk_heal_verdict verdict;

	rc = bpk_heal_judge(shared, transfer->in, rc, &verdict, err);
	rc = note_parity(args, transfer->in, found, before, &verdict, rc, err);
	if (rc == 0 && found->parity == BPK_SIDE_STALE && shared->json)
		bpk_verify_note(remarks,
				"parity is of another time of change; bpk parity FILE renews it");
	if (rc != 0 && shared->heal && err->kind == BPK_CORRUPT &&
	    !bpk_side_has(transfer->in->path)) {
		plain = *err;
		bpk_fail(err, plain.kind, "%s; %s", plain.text,
			 transfer->in->place.is_member
				 ? "it is a member of a tar: extract it and its parity file to "
				   "heal it"
				 : "it has no parity file");
	}
	if (!verdict.gone && (!verdict.heals || !shared->heal))
		return rc;
	plain = *err;
	/* under the lock, another command's healing has ended */
	if (shared->heal && bpk_heal_in_place(shared, transfer->in->path, &healed, &why) != 0)
		return fail_to_heal(&plain, &why, err);
	do {
		*err = (struct bpk_err){ 0 };
		rc = verify_again(args, transfer, found, remarks, err);
		before = rc == 0 ? BPK_OK : err->kind;
		if (rc == 0 && healed.cells + healed.cut > 0)
			bpk_heal_tell(shared, transfer->in->path, &healed);
		/* the parity file may be damaged, too, and have restored all nonetheless */
		rc = bpk_heal_judge(shared, transfer->in, rc, &verdict, err);
		rc = note_parity(args, transfer->in, found, before, &verdict, rc, err);
	} while (verdict.gone && --tries > 0);
	return rc;
}

/* Damage may leave nothing of an archive but the promise of its name. */
static bool is_archive(const struct bpk_input *in, int rc, const struct bpk_err *err)
{
	return rc == 0 || in->info != NULL || in->format != NULL ||
	       (err->kind == BPK_CORRUPT && bpk_format_of_suffix(in->path) != NULL);
}

/* Settle a healing that was interrupted, so that it can begin again. */
static int settle_healing(const struct bpk_verify_args *args, struct bpk_input *in,
			  struct bpk_err *err)
{
	const char *path = in->path;

	if (!args->shared.heal || in->place.is_member || !bpk_place_pending(&in->place) ||
	    !bpk_heal_settle(&args->shared, path))
		return 0;
	bpk_input_close(in);
	return bpk_input_find(in, path, &args->shared, err);
}

/* An archive, or an input that should have been one. */
static void verify_archive(const struct bpk_verify_args *args, struct bpk_input *in, int rc,
			   struct bpk_err *err)
{
	const struct bpk_shared *shared = &args->shared;
	struct bpk_transfer transfer = { .shared = shared, .in = in };
	struct bpk_verify_remarks remarks = { .in = in, .shared = shared };
	struct bpk_verify_found found = { .intact = false };
	struct bpk_damage *damage = &found.damage;

	bpk_damage_init(damage);
	if (rc == 0)
		rc = settle_healing(args, in, err);
	if (rc == 0)
		rc = verify_found(args, &transfer, &found, &remarks, err);
	rc = judge_by_parity(args, &transfer, &found, &remarks, rc, err);
	if (rc != 0 && found.repairable == NULL)
		bpk_verify_add_advice(args, in, &found, err);
	if (rc == 0 || found.parity_alone)
		rc = judge_state(args, in, &found, rc, err);
	if ((rc == 0 || found.parity_alone) && args->print_root && !shared->json)
		bpk_verify_say_root(in);
	if (rc == 0 && shared->verbose && !shared->json)
		bpk_verify_say_well(args, in);
	if (rc != 0)
		bpk_side_advise_gone(in->path, err);
	if (shared->json)
		bpk_verify_record(&transfer, &found, &remarks, err);
	bpk_verify_count(args, in, is_archive(in, rc, err), rc == 0 ? NULL : err);
	if (rc != 0)
		bpk_report(NULL, err);
	/* and not what parity restores */
	if (rc != 0 && err->kind == BPK_CORRUPT && found.repairable == NULL && damage->count > 0)
		bpk_verify_report_others(in, damage);
	if (rc != 0)
		bpk_verify_report_differing(&found.differing, in);
	bpk_verify_found_clear(&found, &remarks);
	bpk_transfer_clear(&transfer);
}

void bpk_verify_input(const struct bpk_verify_args *args, struct bpk_input *in, bool ours, int rc,
		      struct bpk_err *err)
{
	bool is_gsd = false;

	if (rc == 0)
		rc = probe_gsd(in, &is_gsd, err);
	if (rc == 0)
		rc = check_gsd_name(in, is_gsd, err);
	if (rc == 0 && is_gsd)
		verify_gsd(args, in);
	else if (ours || rc != 0 || in->format != NULL || bpk_format_of_suffix(in->path) != NULL)
		verify_archive(args, in, rc, err);
	else
		args->shared.tally->skipped++;
	bpk_record_settle(&args->shared, in->path);
	bpk_input_close(in);
}
