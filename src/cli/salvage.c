/* Finds the chunks of a damaged archive, shows them, and makes a new archive of them. Called by
 * repair.c. */
#include "cli/salvage.h"

#include <inttypes.h>
#include <stdio.h>
#include <strings.h>

#include "cli/report.h"
#include "cli/side.h"
#include "cli/signal.h"
#include "cli/transfer.h"

/* A file and the chunks that were found in it. */
struct job {
	const struct bpk_shared *shared;
	struct bpk_input in;
	const struct bpk_format *format;
	struct bpk_salvage found;
	enum bpk_fill fill;
	uint64_t lost; /* chunks */
	struct bpk_draft *draft;
	void *writer;
	uint64_t nput;
	struct bpk_parcel parcel;
	const char *from;       /* path of the raw data, or NULL */
	struct bpk_source *raw; /* and they, open; NULL without them */
	struct bpk_chunk_ctx *ctx;
	struct bpk_recipe recipe; /* of the first intact chunk */
	bool has_recipe;
	struct bpk_buf proof;
	struct bpk_buf text; /* metadata of the new archive */
};

/* ---- the need ---- */

/* A format whose file the entry of a directory's root is. */
static int visit(void *arg, const char *name, enum bpk_entry entry)
{
	const struct bpk_format **format = arg;

	for (size_t i = 0; bpk_formats[i] != NULL && entry == BPK_ENTRY_FILE; i++)
		if (bpk_formats[i]->owns != NULL && bpk_formats[i]->owns(name))
			*format = bpk_formats[i];
	return *format != NULL;
}

/* The format by the name, or of a directory by its files. */
static const struct bpk_format *guess_format(const struct bpk_input *in)
{
	const struct bpk_format *format = bpk_format_of_suffix(in->path);

	if (!in->place.is_directory || (format != NULL && format->is_directory))
		return format;
	format = NULL;
	(void)bpk_dir_list(in->place.directory, "", visit, &format, NULL);
	return format;
}

/* The format whose chunks are searched for, by content, option, or name; NULL: none. */
static const struct bpk_format *format_of(const struct bpk_input *in)
{
	const struct bpk_place *place = &in->place;
	const struct bpk_format *format = in->format != NULL ? in->format : guess_format(in);

	if (format == NULL || format->salvage == NULL ||
	    format->is_directory != place->is_directory || place->is_member ||
	    bpk_place_pending(place))
		return NULL;
	return place->is_directory || bpk_source_seekable(place->source) ? format : NULL;
}

static bool has_parity(const char *path)
{
	struct bpk_side side;
	bool there = false;

	/* one that cannot be used is reported by the command that would use it */
	if (bpk_side_open(&side, path, &there, NULL) != 0)
		there = true;
	bpk_side_clear(&side);
	return there;
}

enum need {
	WHOLE,
	DAMAGED, /* or unknown */
	UNREAD,  /* it cannot be read */
};

/* Open it, and look at parts of it; of a directory, at files. */
static int look(const struct bpk_shared *shared, struct bpk_input *in, struct bpk_err *err)
{
	if (bpk_input_start(in, shared, 0, err) != 0 || bpk_input_check_damage(in, err) != 0)
		return -1;
	return in->place.is_directory ? bpk_input_check_end(in, err) : 0;
}

/* Look at it, or with wholly read all of it up to the first damaged chunk. */
static enum need need_of(const struct bpk_shared *shared, struct bpk_input *in, bool wholly)
{
	struct bpk_err err = { 0 };
	int rc = wholly ? bpk_side_verify(shared, in, &err) : look(shared, in, &err);

	if (rc == 0)
		return WHOLE;
	return err.kind == BPK_CORRUPT || err.kind == BPK_UNSUPPORTED ? DAMAGED : UNREAD;
}

/* ---- the map ---- */

/* True if the new archive is not the array that the old one was. */
static bool loses_array(const struct job *job)
{
	const struct bpk_info *like = job->found.like;

	return job->fill == BPK_FILL_SKIP && job->lost > 0 &&
	       (job->found.shaped || (like != NULL && like->array.type != NULL));
}

static uint64_t raw_size_of(const struct job *job)
{
	const struct bpk_salvage *found = &job->found;

	return found->nchunks == 0
		       ? 0
		       : (found->nchunks - 1) * (uint64_t)found->chunk_size + found->last_size;
}

/* Ranges of raw bytes; of chunks where an array's are not in its order. */
static void show(const struct job *job, uint64_t first, uint64_t end, bool intact)
{
	bool shaped = job->found.shaped;
	uint64_t size = shaped ? 1 : job->found.chunk_size;
	uint64_t stop = end == job->found.nchunks && !shaped ? raw_size_of(job) : end * size;

	if (first < end && !job->shared->json)
		printf("%s: %s %" PRIu64 ":%" PRIu64 " are %s\n", bpk_input_name(job->in.path),
		       shaped ? "chunks" : "raw bytes", first * size, stop,
		       intact ? "intact" : "lost");
}

/* Count the lost chunks, and print runs of them and of intact ones; JSON has the status alone. */
static void make_map(struct job *job)
{
	const struct bpk_salvage *found = &job->found;
	uint64_t end = 0, first = 0; /* of the intact run under way */

	job->lost = found->nchunks;
	for (size_t i = 0; i < found->count; i++) {
		uint64_t number = found->all[i].number;

		if (!found->all[i].intact)
			continue;
		job->lost--;
		if (number > end) {
			show(job, first, end, true);
			show(job, end, number, false);
			first = number;
		}
		end = number + 1;
	}
	show(job, first, end, true);
	show(job, end, found->nchunks, false);
	bpk_flush_results();
}

/* The doubts behind a semicolon, or nothing. */
static const char *doubt_of(const struct job *job, const char **semicolon)
{
	const struct bpk_buf *doubt = &job->found.doubt;

	*semicolon = doubt->size > 0 ? "; " : "";
	return doubt->size > 0 ? (const char *)doubt->data : "";
}

static int fail_lost(const struct job *job, const char *consequence, struct bpk_err *err)
{
	const char *semicolon, *doubt = doubt_of(job, &semicolon);

	if (job->lost == 0)
		bpk_fail(err, BPK_CORRUPT, "all %" PRIu64 " chunks that were found are intact%s%s",
			 job->found.nchunks, semicolon, doubt);
	else
		bpk_fail(err, BPK_CORRUPT, "%s%" PRIu64 " of %" PRIu64 " chunks are lost%s%s%s",
			 job->found.counted ? "" : "about ", job->lost, job->found.nchunks,
			 consequence, semicolon, doubt);
	return bpk_input_subject(&job->in, err);
}

/* ---- the new archive ---- */

/* Bring the raw bytes of a chunk into the parcel. */
static int read_raw(struct job *job, uint64_t number, uint32_t size, struct bpk_err *err)
{
	struct bpk_buf *raw = &job->parcel.raw;
	size_t got = 0;

	if (bpk_buf_resize(raw, size, err) != 0 ||
	    bpk_source_read_at(job->raw, number * job->found.chunk_size,
			       bpk_span(raw->data, raw->size), &got, err) != 0)
		return bpk_err_subject(err, "%s", job->from);
	if (got == size)
		return 0;
	bpk_fail(err, BPK_FAILED, "has become shorter");
	return bpk_err_subject(err, "%s", job->from);
}

/* Check that the raw data have the content of the intact chunk in the parcel: other data would be
 * mixed with it. Its recipe is that of the chunks which are packed. */
static int compare_raw(struct job *job, const struct bpk_saved *saved, struct bpk_err *err)
{
	struct bpk_view packed = bpk_buf_view(&job->parcel.packed);
	struct bpk_chunk_header header;

	if (read_raw(job, saved->number, saved->raw_size, err) != 0)
		return -1;
	if (bpk_buf_resize(&job->proof, saved->raw_size, err) != 0 ||
	    bpk_chunk_header_read(packed, &header, err) != 0 ||
	    bpk_chunk_decode(job->ctx, packed, bpk_span(job->proof.data, job->proof.size), err) !=
		    0)
		return bpk_input_subject(&job->in, err);
	if (!job->has_recipe && header.special == BPK_SPECIAL_NONE) {
		job->recipe = bpk_recipe_like(&header);
		job->has_recipe = true;
	}
	if (memcmp(job->proof.data, job->parcel.raw.data, job->proof.size) == 0)
		return 0;
	bpk_fail(err, BPK_FAILED, "differs from the intact chunk %" PRIu64 " of %s", saved->number,
		 bpk_input_name(job->in.path));
	return bpk_err_subject(err, "%s", job->from);
}

static int put(struct job *job, uint32_t raw_size, struct bpk_err *err)
{
	const struct bpk_writer_ops *ops = job->format->writer;
	struct bpk_parcel *parcel = &job->parcel;

	parcel->number = job->nput++;
	parcel->packed_size = parcel->packed.size;
	parcel->raw_size = parcel->data_size = parcel->want_size = raw_size;
	return ops->seal(job->writer, parcel, err) != 0 ? -1 : ops->put(job->writer, parcel, err);
}

static int copy_chunk(struct job *job, const struct bpk_saved *saved, struct bpk_err *err)
{
	if (bpk_salvage_fetch(&job->in.place, &job->found, saved, &job->parcel.packed, err) != 0)
		return bpk_input_subject(&job->in, err);
	if (job->raw != NULL && compare_raw(job, saved, err) != 0)
		return -1;
	return put(job, saved->raw_size, err);
}

/* Memory is bounded by the archive, whose headers may claim any size. */
static int check_size(const struct job *job, uint64_t size, struct bpk_err *err)
{
	enum { ANY = 64 << 20, TIMES = 1024 };
	const struct bpk_salvage *found = &job->found;
	uint64_t most = ANY;

	for (size_t i = 0; i < found->count && most < size; i++)
		if (found->all[i].intact)
			most = bpk_max_u64(most, (uint64_t)found->all[i].packed_size * TIMES);
	return size <= most ? 0
			    : bpk_fail(err, BPK_LIMIT,
				       "chunks of %" PRIu64 " bytes, at most %" PRIu64, size, most);
}

static int put_zeros(struct job *job, uint64_t size, struct bpk_err *err)
{
	struct bpk_buf *packed = &job->parcel.packed;

	if (bpk_buf_resize(packed, BPK_CHUNK_EXTENDED_HEADER_SIZE, err) != 0)
		return -1;
	bpk_chunk_write_special(BPK_SPECIAL_ZERO, (uint32_t)size, 1, packed->data);
	return put(job, (uint32_t)size, err);
}

/* Pack a lost chunk: zeros, or the raw data. */
static int put_packed(struct job *job, uint64_t number, uint64_t size, struct bpk_err *err)
{
	struct bpk_parcel *parcel = &job->parcel;

	if (job->raw == NULL && job->format->extended_chunks)
		return put_zeros(job, size, err);
	if (check_size(job, size, err) != 0 ||
	    (job->raw != NULL && read_raw(job, number, (uint32_t)size, err) != 0))
		return -1;
	if (bpk_buf_resize(&parcel->raw, (size_t)size, err) != 0 ||
	    bpk_buf_resize(&parcel->packed, bpk_chunk_bound((size_t)size), err) != 0)
		return -1;
	if (job->raw == NULL)
		memset(parcel->raw.data, 0, parcel->raw.size);
	if (bpk_chunk_encode(job->ctx, &job->recipe, bpk_buf_view(&parcel->raw),
			     bpk_span(parcel->packed.data, parcel->packed.size),
			     &parcel->packed.size, err) != 0)
		return -1;
	return put(job, (uint32_t)size, err);
}

static int put_all(struct job *job, struct bpk_err *err)
{
	const struct bpk_salvage *found = &job->found;
	size_t next = 0;

	for (uint64_t number = 0; number < found->nchunks; number++) {
		bool last = number + 1 == found->nchunks;
		const struct bpk_saved *saved = NULL;

		while (next < found->count && found->all[next].number <= number)
			saved = &found->all[next++];
		if (saved != NULL && saved->number == number && saved->intact) {
			if (copy_chunk(job, saved, err) != 0)
				return -1;
		} else if (job->fill != BPK_FILL_SKIP &&
			   put_packed(job, number, last ? found->last_size : found->chunk_size,
				      err) != 0) {
			return -1;
		}
	}
	return 0;
}

/* Sizes of the new archive: without lost chunks, if these are left out. */
static void set_sizes(const struct job *job, struct bpk_info *info)
{
	const struct bpk_salvage *found = &job->found;
	const struct bpk_saved *last = &found->all[found->count - 1];
	uint64_t count = found->nchunks, last_size = found->last_size;

	if (job->fill == BPK_FILL_SKIP) {
		count -= job->lost;
		if (last->number + 1 != found->nchunks || !last->intact)
			last_size = found->chunk_size;
	}
	info->stored_size = BPK_UNKNOWN;
	info->raw_size = (count - 1) * found->chunk_size + last_size;
	info->chunks.count = count;
	info->chunks.size = found->chunk_size;
	info->chunks.last_size = last_size;
	info->chunks.checksum = found->checksum;
	if (info->chunks.typesize == 0)
		info->chunks.typesize = found->typesize;
}

/* An array that loses chunks becomes plain bytes. */
static int drop_array(struct job *job, struct bpk_info *info, struct bpk_err *err)
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

/* The parts that the new archive takes over. */
static int make_info(struct job *job, struct bpk_info *info, struct bpk_err *err)
{
	const struct bpk_salvage *found = &job->found;

	*info = (struct bpk_info){ 0 };
	if (found->like != NULL)
		*info = *found->like;
	if (loses_array(job) && drop_array(job, info, err) != 0)
		return -1;
	set_sizes(job, info);
	return 0;
}

static struct bpk_recipe default_recipe(const struct job *job)
{
	unsigned typesize = job->found.typesize;

	return (struct bpk_recipe){
		.codec = bpk_codec_at(0),
		.level = 1,
		.typesize = typesize > 0 && typesize <= BPK_CHUNK_MAX_TYPESIZE ? typesize : 1,
		.extended = job->format->extended_chunks,
	};
}

/* The layout of the old archive, if the format writes it; or NULL. */
static const char *layout_of(const struct job *job)
{
	const struct bpk_info *like = job->found.like;
	const char *const *layouts = job->format->layouts;

	for (size_t i = 0; layouts != NULL && layouts[i] != NULL && like != NULL; i++)
		if (strcasecmp(layouts[i], like->variant) == 0)
			return layouts[i];
	return NULL;
}

static int write_into(struct job *job, struct bpk_err *err)
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
		rc = ops->open(job->draft, &info, &options, &job->writer, err);

	job->recipe = default_recipe(job);
	job->ctx = rc == 0 ? bpk_chunk_ctx_new(err) : NULL;
	if (rc == 0)
		rc = job->ctx == NULL ? -1 : put_all(job, err);
	if (rc == 0)
		rc = ops->finish(job->writer, err);
	if (job->writer != NULL)
		ops->close(job->writer);
	bpk_chunk_ctx_free(job->ctx);
	return rc;
}

static int save(struct job *job, struct bpk_err *err)
{
	const char *target = job->shared->output;
	bool directory = job->format->is_directory;
	struct stat like;
	bool has_like = bpk_input_like(&job->in, &like);
	const struct bpk_draft_options options = {
		.overwrite = job->shared->force,
		.remedy = BPK_REMEDY_FORCE,
		.follow_links = true,
		.sync = !job->shared->no_sync,
		.not_this = bpk_input_stat(&job->in),
		.directory = directory,
		.ours = directory ? job->format->owns : NULL,
		.like = has_like ? &like : NULL,
	};
	int rc;

	bpk_signals_start();
	if (bpk_draft_open(target, &options, &job->draft, err) != 0)
		return bpk_err_subject(err, "%s", target);
	rc = write_into(job, err);
	if (rc == 0)
		rc = bpk_place_unchanged(&job->in.place, err);
	if (rc != 0)
		bpk_draft_drop(job->draft);
	else
		rc = bpk_draft_keep(job->draft, has_like ? &like : NULL, err);
	return rc == 0 ? 0 : bpk_err_subject(err, "%s", target);
}

/* ---- one file ---- */

static int judge(const struct job *job, bool applies, struct bpk_err *err)
{
	bool certain = job->found.counted && job->found.doubt.size == 0;

	if (applies && certain && (job->lost == 0 || job->raw != NULL))
		return 0;
	if (job->lost > 0 || !certain)
		return fail_lost(
			job, applies && job->fill == BPK_FILL_ZERO ? "; zeros stand for them" : "",
			err);
	bpk_fail(err, BPK_REPAIRABLE,
		 "is damaged, but all chunks are intact; --apply -o OUT makes an archive of them");
	return bpk_input_subject(&job->in, err);
}

/* Open the raw data, which must be those of the archive as far as sizes tell. */
static int open_raw(struct job *job, struct bpk_err *err)
{
	uint64_t size;

	if (!job->found.counted || job->found.shaped) {
		bpk_fail(err, BPK_CORRUPT,
			 job->found.shaped ? "its chunks have several dimensions, as --from does "
					     "not cut them"
					   : "the places of its chunks are not certain, as --from "
					     "needs them");
		return bpk_input_subject(&job->in, err);
	}
	if (bpk_source_open(job->from, &job->raw, err) != 0)
		return bpk_err_subject(err, "%s", job->from);
	size = bpk_source_size(job->raw);
	if (size == raw_size_of(job))
		return 0;
	bpk_fail(err, BPK_FAILED, "is no file of the %" PRIu64 " raw bytes that %s has",
		 raw_size_of(job), bpk_input_name(job->in.path));
	return bpk_err_subject(err, "%s", job->from);
}

/* Search, show, save, judge. */
static int salvage(struct job *job, bool applies, struct bpk_err *err)
{
	if (job->format->salvage(&job->in.place, &job->found, err) != 0)
		return bpk_input_subject(&job->in, err);
	make_map(job);
	if (job->lost == job->found.nchunks) {
		bpk_fail(err, BPK_CORRUPT, "no intact chunk was found in it%s",
			 applies ? "; it has no parity file" : "");
		return bpk_input_subject(&job->in, err);
	}
	if (job->from != NULL && open_raw(job, err) != 0)
		return -1;
	if (applies && job->lost > 0 && job->fill == BPK_FILL_NONE && job->raw == NULL)
		return fail_lost(job, "; --fill zero or skip writes the others", err);
	if (applies && save(job, err) != 0)
		return -1;
	if (job->found.nothers > 0)
		bpk_note(bpk_input_name(job->in.path),
			 "%zu more intact chunks have another size, and are left out",
			 job->found.nothers);
	if (applies && loses_array(job))
		bpk_note(job->shared->output,
			 "is plain bytes, since chunks of the array are left out");
	return judge(job, applies, err);
}

static void job_clear(struct job *job)
{
	bpk_salvage_clear(&job->found);
	bpk_buf_clear(&job->parcel.raw);
	bpk_buf_clear(&job->parcel.packed);
	bpk_buf_clear(&job->proof);
	bpk_buf_clear(&job->text);
	bpk_source_close(job->raw);
	bpk_input_close(&job->in);
}

/* True if it was opened, and its chunks can be searched for. */
static bool open_job(struct job *job, const char *path, bool applies)
{
	bool heals = applies && job->fill == BPK_FILL_NONE && job->from == NULL;

	if (strcmp(path, "-") == 0 || bpk_path_is_url(path) ||
	    bpk_input_look(&job->in, path, job->shared->format, NULL) != 0)
		return false;
	job->format = format_of(&job->in);
	return job->format != NULL && !(heals && has_parity(path));
}

bool bpk_salvage_file(const struct bpk_args *args, const char *path, enum bpk_fill fill,
		      const char *from, bool applies)
{
	struct job job = { .shared = &args->shared, .fill = fill, .from = from };
	enum need need = UNREAD;
	struct bpk_err err = { 0 };

	if (open_job(&job, path, applies))
		need = need_of(job.shared, &job.in, applies);
	if (need == DAMAGED && salvage(&job, applies, &err) != 0)
		bpk_report(NULL, &err);
	else if (need == WHOLE && applies && job.shared->verbose)
		bpk_note(path, "is whole, nothing to do");
	job_clear(&job);
	return need == DAMAGED || (need == WHOLE && applies);
}
