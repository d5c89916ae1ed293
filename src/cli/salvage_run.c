/* Searches for the chunks of a damaged archive, shows them, has a new archive made of them, and
 * says in a line how much is left. Called by salvage.c and merge.c. */
#include "cli/salvage_job.h"

#include <inttypes.h>
#include <stdlib.h>

#include "cli/heal.h"
#include "cli/heal_side.h"
#include "cli/report.h"

/* ---- the count ---- */

static void count_chunks(struct bpk_salvage_job *job)
{
	job->lost = job->found.nchunks - bpk_salvage_intact(&job->found);
	job->guessed = 0;
	for (size_t i = 0; i < job->found.count; i++)
		job->guessed += job->found.all[i].intact && job->found.all[i].guessed;
}

/* ---- the verdict ---- */

/* The doubts behind a semicolon, or nothing. */
static const char *doubt_of(const struct bpk_salvage_job *job, const char **semicolon)
{
	const struct bpk_buf *doubt = &job->found.doubt;

	*semicolon = doubt->size > 0 ? "; " : "";
	return doubt->size > 0 ? (const char *)doubt->data : "";
}

static int fail_lost(const struct bpk_salvage_job *job, const char *consequence,
		     struct bpk_err *err)
{
	const char *semicolon, *doubt = doubt_of(job, &semicolon);
	uint64_t n = job->found.nchunks;

	if (job->guessed > 0 && job->lost == 0)
		bpk_fail(err, BPK_CORRUPT,
			 "%" PRIu64 " of %" PRIu64 " %s a damaged byte, and %s guessed%s%s%s",
			 job->guessed, n, bpk_plural(n, "chunk had", "chunks had"),
			 bpk_plural(job->guessed, "is", "are"), semicolon, doubt, consequence);
	else if (job->lost == 0 && n == 1)
		bpk_fail(err, BPK_CORRUPT, "the chunk that was found is intact%s%s%s", semicolon,
			 doubt, consequence);
	else if (job->lost == 0)
		bpk_fail(err, BPK_CORRUPT,
			 "all %" PRIu64 " chunks that were found are intact%s%s%s", n, semicolon,
			 doubt, consequence);
	else
		bpk_fail(err, BPK_CORRUPT, "%s%" PRIu64 " of %" PRIu64 " chunks %s lost%s%s%s",
			 job->found.counted ? "" : "about ", job->lost, job->found.nchunks,
			 bpk_plural(job->lost, "is", "are"), consequence, semicolon, doubt);
	return bpk_input_subject(&job->in, err);
}

/* ---- one file ---- */

/* The deed, or the next step. */
static const char *consequence_of(const struct bpk_salvage_job *job, bool applies)
{
	if (applies || job->merge != NULL)
		return applies && job->lost > 0 && job->fill == BPK_FILL_ZERO
			       ? "; zeros stand for them"
			       : "";
	if (job->lost > 0 && bpk_salvage_lacks_size(job))
		return "; copies (--merge) restore more, bpk repair --apply --fill skip -o OUT "
		       "FILE writes the others";
	if (job->lost > 0 && job->in.place.is_member)
		return "; its parity file, if the tar has that, restores more once both are "
		       "extracted, as do copies (--merge) or the raw data (--from); bpk repair "
		       "--apply --fill zero -o OUT FILE writes the others";
	if (job->lost > 0 &&
	    (bpk_salvage_lacks_shape(&job->found) || (job->found.uneven && !job->found.counted)))
		return "; copies (--merge) restore more, bpk repair --apply --fill zero -o OUT "
		       "FILE writes the others";
	if (job->lost > 0 && job->found.guessable)
		return "; copies (--merge), the raw data (--from), or --guess if one byte of a "
		       "chunk is damaged restore more, bpk repair --apply --fill zero -o OUT FILE "
		       "writes the others";
	if (job->lost > 0)
		return "; copies (--merge) or the raw data (--from) restore more, bpk repair "
		       "--apply --fill zero -o OUT FILE writes the others";
	return job->found.nchunks == 1
		       ? "; bpk repair --apply -o OUT FILE makes an archive of it"
		       : "; bpk repair --apply -o OUT FILE makes an archive of them";
}

static int judge(const struct bpk_salvage_job *job, bool applies, struct bpk_err *err)
{
	bool certain = job->found.counted && job->found.doubt.size == 0 && job->guessed == 0 &&
		       job->unproven == 0;

	if (applies && certain && (job->lost == 0 || job->raw != NULL))
		return 0;
	if (job->raw != NULL && (job->lost > 0 || job->unproven > 0)) {
		const char *semicolon, *doubt = doubt_of(job, &semicolon);

		bpk_fail(err, BPK_CORRUPT, "the raw data stand for %s%s%s",
			 job->lost > 0 ? "lost chunks" : "chunks that no digest proves", semicolon,
			 doubt);
		return bpk_input_subject(&job->in, err);
	}
	if (job->lost > 0 || !certain)
		return fail_lost(job, consequence_of(job, applies), err);
	bpk_fail(err, BPK_REPAIRABLE,
		 "is damaged, but all chunks are intact; %s makes an archive of them",
		 job->merge == NULL ? "bpk repair --apply -o OUT FILE" : "-o OUT");
	return bpk_input_subject(&job->in, err);
}

void bpk_salvage_tell_rest(const struct bpk_input *in)
{
	uint64_t end = bpk_source_size(in->place.source);
	char word[BPK_WORD_TEXT];

	bpk_note(bpk_input_name(in->path),
		 "%" PRIu64 " %s from offset %" PRIu64
		 " on, behind the end of the sealed archive, %s left out; tail -c +%" PRIu64
		 " %s writes %s",
		 in->rest, bpk_plural(in->rest, "byte", "bytes"), end,
		 bpk_plural(in->rest, "is", "are"), end + 1, bpk_shell_word(in->path, word),
		 bpk_plural(in->rest, "it", "them"));
}

/* Of concatenated archives one would be saved, and the content of the others lost. */
static int refuse_members(const struct bpk_input *in, struct bpk_err *err)
{
	char word[BPK_WORD_TEXT];

	if (in->reader == NULL || in->rest > 0 || in->info->members <= 1 ||
	    in->info->members == BPK_UNKNOWN)
		return 0;
	bpk_fail(err, BPK_UNSUPPORTED,
		 "holds %" PRIu64 " archives, and repair saves the chunks of one; bpk unpack "
		 "--fill zero -o RAW %s writes the content of all",
		 in->info->members, bpk_shell_word(in->path, word));
	return bpk_input_subject(in, err);
}

int bpk_salvage_find_chunks(struct bpk_salvage_job *job, struct bpk_err *err)
{
	const struct bpk_place *place = &job->in.place;
	size_t doubt;

	if (refuse_members(&job->in, err) != 0)
		return -1;
	if ((place->is_directory &&
	     bpk_dir_generation(place->directory, &job->generation, err) != 0) ||
	    job->format->salvage(place, &job->found, err) != 0)
		return bpk_input_subject(&job->in, err);
	doubt = job->found.doubt.size;
	if (job->merge != NULL && (bpk_merge_complete(job->merge, &job->found, err) != 0 ||
				   bpk_merge_find_twice(job->merge, place, &job->found, err) != 0))
		return -1;
	job->in_doubt = job->in_doubt || job->found.doubt.size > doubt; /* two states */
	count_chunks(job);
	if ((job->lost > 0 || job->from != NULL) && bpk_salvage_test_peaks(job, err) != 0)
		return bpk_input_subject(&job->in, err);
	if (job->from != NULL && bpk_salvage_open_raw(job, err) != 0)
		return -1;
	count_chunks(job);
	if (bpk_salvage_place(job, err) != 0 || bpk_salvage_settle(job, err) != 0)
		return bpk_input_subject(&job->in, err);
	return 0;
}

/* True if an archive of the chunks would be less than the state that parity restores: other parts
 * are lost or in doubt, and that state has all chunks that are proven. */
static bool yields(const struct bpk_salvage_job *job)
{
	const struct bpk_salvage *found = &job->found;

	return job->has_state &&
	       (found->doubt.size > 0 || found->nunproven > 0 || !found->counted || found->sealed ||
		job->loses_ident) &&
	       bpk_heal_keeps(&job->side, &job->in, found);
}

int bpk_salvage_run(struct bpk_salvage_job *job, bool applies, struct bpk_err *err)
{
	if (bpk_salvage_find_chunks(job, err) != 0)
		return -1;
	bpk_salvage_map(job);
	if (job->found.unguessed)
		bpk_note(bpk_input_name(job->in.path),
			 "no byte is guessed of chunks that are too large for that with %s",
			 job->found.checksum->name);
	if (job->lost == job->found.nchunks) {
		bpk_fail(err, BPK_CORRUPT, "no intact chunk was found in it%s",
			 !applies || job->merge != NULL  ? ""
			 : bpk_side_may_be(job->in.path) ? "; its parity file does not restore it"
							 : "; it has no parity file");
		return bpk_input_subject(&job->in, err);
	}
	if (job->raw != NULL && bpk_salvage_check_raw(job, err) != 0)
		return -1;
	if (applies && job->lost > 0 && job->fill == BPK_FILL_NONE && job->raw == NULL)
		return fail_lost(job,
				 bpk_salvage_lacks_size(job)
					 ? "; --fill skip writes the others"
					 : "; --fill zero or skip writes the others",
				 err);
	job->yields = applies && yields(job);
	if (job->yields || (applies && bpk_salvage_save(job, err) != 0))
		return -1;
	if (applies && job->found.sealed && !job->shared->quiet)
		bpk_note(bpk_input_name(job->in.path), "was sealed; the result has no seal");
	if (job->loses_ident)
		bpk_note(bpk_input_name(job->in.path),
			 "recorded an identity; the result has none, since %s",
			 job->raw != NULL ? "it is not that of the raw data"
			 : job->lost > 0  ? "chunks are lost"
					  : "it is not proven to be theirs");
	if (job->replaced > 0)
		bpk_note(bpk_input_name(job->in.path),
			 "%" PRIu64 " intact %s not at %s: the raw data, whose identity is "
			 "recorded, stand for %s",
			 job->replaced, bpk_plural(job->replaced, "chunk is", "chunks are"),
			 bpk_plural(job->replaced, "its place", "their places"),
			 bpk_plural(job->replaced, "it", "them"));
	if (job->unproven > 0)
		bpk_note(bpk_input_name(job->in.path),
			 "%" PRIu64 " intact %s to the raw data, which stand for %s", job->unproven,
			 bpk_plural(job->unproven, "chunk, without its digest, is not equal",
				    "chunks, without their digests, are not equal"),
			 bpk_plural(job->unproven, "it", "them"));
	if (applies && job->raw != NULL && job->lost > 0 && !job->proves_ident)
		bpk_note(job->shared->output,
			 "has %" PRIu64 " %s of %s alone: no digest of the archive proves %s",
			 job->lost, bpk_plural(job->lost, "chunk", "chunks"), job->from,
			 bpk_plural(job->lost, "it", "them"));
	if (job->in.rest > 0)
		bpk_salvage_tell_rest(&job->in);
	if (job->found.nothers > 0)
		bpk_note(bpk_input_name(job->in.path),
			 "%zu more intact %s another size, and %s left out", job->found.nothers,
			 bpk_plural(job->found.nothers, "chunk has", "chunks have"),
			 bpk_plural(job->found.nothers, "is", "are"));
	if (job->guessed > 0 && job->lost > 0)
		bpk_note(bpk_input_name(job->in.path),
			 "%" PRIu64 " %s a damaged byte, and %s guessed", job->guessed,
			 bpk_plural(job->guessed, "chunk had", "chunks had"),
			 bpk_plural(job->guessed, "is", "are"));
	if (applies && bpk_salvage_loses_array(job))
		bpk_note(job->shared->output, "is plain bytes%s, since chunks of the array are %s",
			 job->found.shaped ? ", in the order of its chunks, with their padding"
					   : "",
			 job->fill == BPK_FILL_SKIP ? "left out" : "lost");
	if (judge(job, applies, err) == 0) {
		if (applies && job->merge != NULL && !job->shared->quiet)
			bpk_note(job->shared->output,
				 "is a new archive of the chunks, not the old one byte for byte");
		return 0;
	}
	if (applies && !job->shared->quiet)
		bpk_note(job->shared->output, "was written of the chunks that were found");
	return -1;
}

void bpk_salvage_job_clear(struct bpk_salvage_job *job)
{
	bpk_side_clear(&job->side);
	bpk_salvage_clear(&job->found);
	bpk_buf_clear(&job->parcel.raw);
	bpk_buf_clear(&job->parcel.packed);
	bpk_buf_clear(&job->proof);
	bpk_buf_clear(&job->text);
	bpk_ident_less_clear(&job->less);
	free(job->starts);
	bpk_source_close(job->raw);
	bpk_input_close(&job->in);
	bpk_merge_close(job->merge);
}
