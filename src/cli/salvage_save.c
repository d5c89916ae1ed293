/* Makes a new archive of the chunks that were found of a damaged one. Called by salvage.c. */
#include "cli/salvage_job.h"

#include <inttypes.h>
#include <stdio.h>
#include <strings.h>

#include "cli/signal.h"

/* ---- raw data ---- */

/* Compare the raw data with the content of the intact chunk in the parcel. */
static int compare_raw(struct bpk_salvage_job *job, const struct bpk_saved *saved, bool *same,
		       struct bpk_err *err)
{
	if (bpk_salvage_read_raw(job, saved->number, saved->raw_size, err) != 0)
		return -1;
	if (bpk_salvage_unpack(job, job->ctx, saved, err) != 0)
		return bpk_input_subject(&job->in, err);
	if (job->found.clear_padding != NULL &&
	    job->found.clear_padding(job->found.parts, saved->number,
				     bpk_span(job->proof.data, job->proof.size), err) != 0)
		return -1;
	*same = memcmp(job->proof.data, job->parcel.raw.data, job->proof.size) == 0;
	return 0;
}

/* A failure to write, unlike one to read, is that of the result. */
static int name_result(const struct bpk_salvage_job *job, int rc, struct bpk_err *err)
{
	return rc == 0 ? 0 : bpk_err_subject(err, "%s", job->shared->output);
}

static int put(struct bpk_salvage_job *job, uint32_t raw_size, struct bpk_err *err)
{
	const struct bpk_writer_ops *ops = job->format->writer;
	struct bpk_parcel *parcel = &job->parcel;

	parcel->number = job->nput++;
	parcel->packed_size = parcel->packed.size;
	parcel->raw_size = parcel->data_size = parcel->want_size = raw_size;
	return name_result(
		job,
		ops->seal(job->writer, parcel, err) != 0 ? -1 : ops->put(job->writer, parcel, err),
		err);
}

/* Memory is bounded by the archive, whose headers may claim any size. */
static int check_size(const struct bpk_salvage_job *job, uint64_t size, struct bpk_err *err)
{
	enum { ANY = 64 << 20, TIMES = 1024 };
	const struct bpk_salvage *found = &job->found;
	uint64_t most = ANY;

	for (size_t i = 0; i < found->count && most < size; i++)
		if (found->all[i].intact)
			most = bpk_max_u64(most, (uint64_t)found->all[i].packed_size * TIMES);
	if (size <= most)
		return 0;
	bpk_fail(err, BPK_LIMIT, "chunks of %" PRIu64 " bytes, at most %" PRIu64, size, most);
	return bpk_input_subject(&job->in, err);
}

static int put_zeros(struct bpk_salvage_job *job, uint64_t size, struct bpk_err *err)
{
	struct bpk_buf *packed = &job->parcel.packed;

	if (bpk_buf_resize(packed, BPK_CHUNK_EXTENDED_HEADER_SIZE, err) != 0)
		return -1;
	bpk_chunk_write_special(BPK_SPECIAL_ZERO, (uint32_t)size, 1, packed->data);
	return put(job, (uint32_t)size, err);
}

static struct bpk_recipe default_recipe(const struct bpk_salvage_job *job)
{
	unsigned typesize = job->found.typesize;

	return (struct bpk_recipe){
		.codec = bpk_codec_at(0),
		.level = 1,
		.typesize = typesize > 0 && typesize <= BPK_CHUNK_MAX_TYPESIZE ? typesize : 1,
		.extended = job->format->extended_chunks,
		.block_size = job->found.block_size,
	};
}

/* Take over the recipe of the first intact chunk that shows one. */
static int find_recipe(struct bpk_salvage_job *job, struct bpk_err *err)
{
	enum { MOST = 64 }; /* chunks that are read for it */
	const struct bpk_salvage *found = &job->found;
	struct bpk_chunk_header header;
	bool is = false;

	job->recipe = default_recipe(job);
	for (size_t i = 0; !is && job->raw != NULL && i < found->count && i < MOST; i++) {
		const struct bpk_saved *saved = &found->all[i];
		struct bpk_buf *packed = &job->parcel.packed;

		if (!saved->intact || saved->unproven || saved->special != BPK_SPECIAL_NONE)
			continue;
		if (bpk_salvage_fetch(&job->in.place, found, saved, packed, err) != 0 ||
		    bpk_chunk_header_read(bpk_buf_view(packed), &header, err) != 0)
			return bpk_input_subject(&job->in, err);
		is = bpk_recipe_is_shown(&header);
		if (is)
			job->recipe = bpk_recipe_like(&header);
	}
	return 0;
}

/* Pack the raw bytes in the parcel. A recipe that no encoder knows is that of a chunk whose header
 * is damaged. */
static int encode(struct bpk_salvage_job *job, struct bpk_err *err)
{
	struct bpk_buf *packed = &job->parcel.packed;
	struct bpk_view raw = bpk_buf_view(&job->parcel.raw);
	struct bpk_span room = bpk_span(packed->data, packed->size);
	struct bpk_err why = { 0 };

	if (bpk_chunk_encode(job->ctx, &job->recipe, raw, room, &packed->size, &why) == 0)
		return 0;
	if (why.kind != BPK_USAGE && why.kind != BPK_UNSUPPORTED)
		return bpk_fail_as(err, &why);
	job->recipe = default_recipe(job);
	return bpk_chunk_encode(job->ctx, &job->recipe, raw, room, &packed->size, err);
}

/* Pack a lost chunk: zeros, or the raw data. */
static int put_packed(struct bpk_salvage_job *job, uint64_t number, uint64_t size,
		      struct bpk_err *err)
{
	struct bpk_parcel *parcel = &job->parcel;

	if (size == BPK_UNKNOWN) {
		bpk_fail(err, BPK_CORRUPT,
			 "lost chunks have unknown sizes; --fill skip leaves them out");
		return bpk_input_subject(&job->in, err);
	}
	if (job->raw == NULL && job->format->extended_chunks)
		return put_zeros(job, size, err);
	if (check_size(job, size, err) != 0 ||
	    (job->raw != NULL && bpk_salvage_read_raw(job, number, (uint32_t)size, err) != 0))
		return -1;
	if (bpk_buf_resize(&parcel->raw, (size_t)size, err) != 0 ||
	    bpk_buf_resize(&parcel->packed, bpk_chunk_bound((size_t)size), err) != 0)
		return -1;
	if (job->raw == NULL)
		memset(parcel->raw.data, 0, parcel->raw.size);
	return name_result(job, encode(job, err), err) != 0 ? -1 : put(job, (uint32_t)size, err);
}

static int fail_differ(const struct bpk_salvage_job *job, const struct bpk_saved *saved,
		       struct bpk_err *err)
{
	bpk_fail(err, BPK_FAILED, "differs from the intact chunk %" PRIu64 " of %s", saved->number,
		 bpk_input_name(job->in.path));
	return bpk_err_subject(err, "%s", job->from);
}

/* Raw data that differ would be mixed with the chunk, unless no digest proves it, or the recorded
 * identity proves them: then the chunk stands at the place of another one. */
static int copy_chunk(struct bpk_salvage_job *job, const struct bpk_saved *saved,
		      struct bpk_err *err)
{
	bool same = true, proven;

	if (bpk_salvage_fetch(&job->in.place, &job->found, saved, &job->parcel.packed, err) != 0)
		return bpk_input_subject(&job->in, err);
	if (job->raw != NULL && compare_raw(job, saved, &same, err) != 0)
		return -1;
	if (same) {
		job->same += job->raw != NULL;
		return put(job, saved->raw_size, err);
	}
	/* where digests prove some, they prove those that are not marked */
	proven = (job->found.proven || job->found.nunproven > 0) && !saved->unproven;
	if (job->proves_ident || !proven) {
		job->replaced += proven;
		job->unproven += !proven && !job->proves_ident;
		return put_packed(job, saved->number, saved->raw_size, err);
	}
	return fail_differ(job, saved, err);
}

/* Raw data that differ from most of the chunks which no digest proves are those of another file. */
static int check_same(const struct bpk_salvage_job *job, struct bpk_err *err)
{
	if (job->proves_ident || job->unproven <= job->same)
		return 0;
	bpk_fail(err, BPK_FAILED, "differs from %" PRIu64 " of %" PRIu64 " intact %s of %s",
		 job->unproven, job->unproven + job->same,
		 bpk_plural(job->unproven + job->same, "chunk", "chunks"),
		 bpk_input_name(job->in.path));
	return bpk_err_subject(err, "%s", job->from);
}

static int put_all(struct bpk_salvage_job *job, struct bpk_err *err)
{
	const struct bpk_salvage *found = &job->found;
	size_t next = 0;

	for (uint64_t number = 0; number < found->nchunks; number++) {
		const struct bpk_saved *saved = NULL;

		while (next < found->count && found->all[next].number <= number)
			saved = &found->all[next++];
		if (saved != NULL && saved->number == number && saved->intact) {
			if (copy_chunk(job, saved, err) != 0)
				return -1;
		} else if (job->fill != BPK_FILL_SKIP &&
			   put_packed(job, number, bpk_salvage_size(job, number), err) != 0) {
			return -1;
		}
	}
	return check_same(job, err);
}

/* Raw bytes of the intact chunks. */
static uint64_t sum_intact(const struct bpk_salvage *found)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < found->count; i++)
		sum += found->all[i].intact ? found->all[i].raw_size : 0;
	return sum;
}

/* The writer finds sizes that differ. */
static void set_uneven(const struct bpk_salvage_job *job, struct bpk_info *info)
{
	bool skips = job->fill == BPK_FILL_SKIP;

	info->raw_size = skips ? sum_intact(&job->found) : bpk_salvage_raw_size(job);
	info->chunks.count = job->found.nchunks - (skips ? job->lost : 0);
	info->chunks.size = BPK_UNKNOWN;
	info->chunks.last_size = BPK_UNKNOWN;
}

/* Sizes of the new archive: without lost chunks, if these are left out. */
static void set_sizes(const struct bpk_salvage_job *job, struct bpk_info *info)
{
	const struct bpk_salvage *found = &job->found;
	const struct bpk_saved *last = &found->all[found->count - 1];
	uint64_t count = found->nchunks, last_size = bpk_salvage_last_size(found);

	if (found->uneven) {
		set_uneven(job, info);
		return;
	}
	if (job->fill == BPK_FILL_SKIP) {
		count -= job->lost;
		if (last->number + 1 != found->nchunks || !last->intact)
			last_size = found->chunk_size;
	}
	info->raw_size = (count - 1) * found->chunk_size + last_size;
	info->chunks.count = count;
	info->chunks.size = found->chunk_size;
	info->chunks.last_size = last_size;
}

bool bpk_salvage_loses_array(const struct bpk_salvage_job *job)
{
	const struct bpk_info *like = job->found.like;
	bool is_array = like != NULL && like->array.type != NULL;
	struct bpk_info info = { 0 };

	set_sizes(job, &info);
	return (job->fill == BPK_FILL_SKIP && job->lost > 0 && (job->found.shaped || is_array)) ||
	       (is_array && like->array.type->size != info.raw_size);
}

/* An array that loses chunks becomes plain bytes. */
static int drop_array(struct bpk_salvage_job *job, struct bpk_info *info, struct bpk_err *err)
{
	struct bpk_metadata_info *metadata = &info->metadata;

	info->frame = NULL;
	info->array = (struct bpk_array_info){ 0 };
	if (metadata->layers != NULL || bpk_json_kind(metadata->text) != BPK_JSON_OBJECT)
		return 0;
	if (bpk_array_strip_metadata(metadata->text, &job->text, err) != 0)
		return -1;
	metadata->text = bpk_buf_view(&job->text);
	metadata->given = metadata->text.size > 0;
	return 0;
}

/* True if the content is that of the array by the digests of all chunks. */
static bool is_same_array(const struct bpk_salvage_job *job)
{
	const struct bpk_salvage *found = &job->found;

	return found->shaped && found->numbered && found->counted && job->lost == 0;
}

/* Leave the record of an identity out unless it is that of the content. */
static int settle_ident(struct bpk_salvage_job *job, struct bpk_info *info, struct bpk_err *err)
{
	if (!bpk_ident_is_recorded(info))
		return 0;
	if (job->raw != NULL ? bpk_salvage_prove_raw(job, err) != 0
			     : !job->proves_ident && bpk_salvage_prove(job, err) != 0 &&
				       bpk_input_subject(&job->in, err) != 0)
		return -1;
	if (job->proves_ident || is_same_array(job))
		return 0;
	job->loses_ident = true;
	if (job->raw != NULL &&
	    bpk_salvage_doubt(&job->found, "the raw data are not those of the recorded identity",
			      err) != 0)
		return -1;
	return bpk_ident_leave_out(info, &job->less, err);
}

/* The raw data have moved chunks, or lack some that are intact, and no identity proves these. */
static int doubt_raw(struct bpk_salvage_job *job, struct bpk_err *err)
{
	struct bpk_salvage *found = &job->found;
	uint64_t lacking = job->raw_lacking;
	char line[128];

	if (job->raw == NULL || job->proves_ident)
		return 0;
	found->estimated = found->estimated || job->raw_doubt != NULL || lacking > 0;
	if (job->raw_doubt != NULL && bpk_salvage_doubt(found, job->raw_doubt, err) != 0)
		return -1;
	if (lacking == 0)
		return 0;
	snprintf(line, sizeof line,
		 "%" PRIu64 " more intact %s left out, and %s not in the raw data", lacking,
		 bpk_plural(lacking, "chunk is", "chunks are"), bpk_plural(lacking, "is", "are"));
	return bpk_salvage_doubt(found, line, err);
}

/* The parts that the new archive takes over. */
static int make_info(struct bpk_salvage_job *job, struct bpk_info *info, struct bpk_err *err)
{
	const struct bpk_salvage *found = &job->found;

	*info = (struct bpk_info){ 0 };
	if (found->like != NULL)
		*info = *found->like;
	if (bpk_salvage_loses_array(job) && drop_array(job, info, err) != 0)
		return -1;
	set_sizes(job, info);
	info->stored_size = BPK_UNKNOWN;
	info->seal = (struct bpk_seal_info){ 0 };
	info->chunks.checksum = found->checksum;
	if (info->chunks.typesize == 0)
		info->chunks.typesize = found->typesize;
	return settle_ident(job, info, err) != 0 ? -1 : doubt_raw(job, err);
}

/* The layout of the old archive, if the format writes it; or NULL. */
static const char *layout_of(const struct bpk_salvage_job *job)
{
	const char *variant = job->found.like != NULL ? job->found.like->variant : NULL;
	const char *const *layouts = job->format->layouts;

	for (size_t i = 0; layouts != NULL && layouts[i] != NULL && variant != NULL; i++)
		if (strcasecmp(layouts[i], variant) == 0)
			return layouts[i];
	return NULL;
}

static int write_into(struct bpk_salvage_job *job, struct bpk_err *err)
{
	struct bpk_write_options options = {
		.append_space = BPK_UNKNOWN,
		.layout = layout_of(job),
	};
	const struct bpk_writer_ops *ops = job->format->writer;
	struct bpk_info info;
	int rc = make_info(job, &info, err);

	options.superchunk_size = info.directory.superchunk_chunks * job->found.chunk_size;
	if (rc == 0)
		rc = name_result(job, ops->open(job->draft, &info, &options, &job->writer, err),
				 err);
	if (rc == 0)
		rc = find_recipe(job, err);
	job->ctx = rc == 0 ? bpk_chunk_ctx_new(err) : NULL;
	if (rc == 0)
		rc = job->ctx == NULL ? -1 : put_all(job, err);
	if (rc == 0)
		rc = name_result(job, ops->finish(job->writer, err), err);
	if (job->writer != NULL)
		ops->close(job->writer);
	bpk_chunk_ctx_free(job->ctx);
	return rc;
}

int bpk_salvage_agree(struct bpk_salvage_job *job, struct bpk_err *err)
{
	const struct bpk_salvage *found = &job->found;
	bool same = true;
	int rc = 0;

	job->ctx = bpk_chunk_ctx_new(err);
	if (job->ctx == NULL)
		return -1;
	for (size_t i = 0; rc == 0 && i < found->count; i++) {
		const struct bpk_saved *saved = &found->all[i];

		if (!saved->intact)
			continue;
		if (bpk_salvage_fetch(&job->in.place, found, saved, &job->parcel.packed, err) != 0)
			rc = bpk_input_subject(&job->in, err);
		else
			rc = compare_raw(job, saved, &same, err);
		if (rc == 0 && !same)
			rc = fail_differ(job, saved, err);
	}
	bpk_chunk_ctx_free(job->ctx);
	return rc;
}

/* The archive is the one that was searched. */
static int check_unchanged(const struct bpk_salvage_job *job, struct bpk_err *err)
{
	const struct bpk_place *place = &job->in.place;

	if (job->merge != NULL)
		return bpk_merge_unchanged(job->merge, err);
	if (place->is_directory &&
	    bpk_dir_settle(place->directory, job->generation, true, err) != 0)
		return bpk_input_subject(&job->in, err);
	return bpk_place_unchanged(place, err) != 0 ? bpk_input_subject(&job->in, err) : 0;
}

/* The result has the format of the archive. */
static int check_suffix(const struct bpk_salvage_job *job, struct bpk_err *err)
{
	const char *target = job->shared->output;
	const struct bpk_format *named = bpk_format_of_suffix(target);

	if (named == NULL || named == job->format)
		return 0;
	bpk_fail(err, BPK_USAGE,
		 "the suffix is that of format %s, and the result has format %s, as the archive "
		 "has; bpk convert changes it",
		 named->name, job->format->name);
	return bpk_err_subject(err, "%s", target);
}

int bpk_salvage_save(struct bpk_salvage_job *job, struct bpk_err *err)
{
	const char *target = job->shared->output;
	bool directory = job->format->is_directory;
	struct stat like = job->like;
	bool has_like = job->merge != NULL ? job->has_like : bpk_input_like(&job->in, &like);
	const struct bpk_draft_options options = {
		.overwrite = job->shared->force,
		.remedy = BPK_REMEDY_FORCE,
		.follow_links = true,
		.sync = !job->shared->no_sync,
		.not_this = job->merge != NULL ? NULL : bpk_input_stat(&job->in),
		.nor_this = job->raw != NULL ? bpk_source_stat(job->raw) : NULL,
		.directory = directory,
		.ours = directory ? job->format->owns : NULL,
		.like = has_like ? &like : NULL,
	};
	int rc;

	if (check_suffix(job, err) != 0)
		return -1;
	bpk_signals_start();
	if (bpk_draft_open(target, &options, &job->draft, err) != 0)
		return bpk_err_subject(err, "%s", target);
	if (!directory && !bpk_draft_is_hidden(job->draft)) {
		bpk_fail(err, BPK_FAILED, "is no file, expected one for --output");
		rc = name_result(job, -1, err);
	} else if (!job->is_whole) {
		rc = write_into(job, err);
	} else {
		rc = job->merge != NULL ? bpk_merge_write(job->merge, job->draft, err)
					: bpk_draft_copy(job->draft, job->in.place.source, err);
		rc = name_result(job, rc, err);
	}
	if (rc == 0)
		rc = check_unchanged(job, err);
	if (rc != 0)
		bpk_draft_drop(job->draft);
	else
		rc = name_result(job, bpk_draft_keep(job->draft, has_like ? &like : NULL, err),
				 err);
	job->is_saved = rc == 0;
	return rc;
}
