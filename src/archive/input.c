/* An archive, or a file of raw bytes, open for reading. Called by every command that reads. */
#include "archive/input.h"

#include "archive/foreign.h"

int bpk_input_subject(const struct bpk_input *in, struct bpk_err *err)
{
	bpk_err_name_file(err, in->path);
	return bpk_err_subject(err, "%s", bpk_input_name(in->path));
}

/* ---- opening ---- */

/* What cannot be opened as an archive may be one that another process is writing over. */
static int judge_opening(const struct bpk_input *in, struct bpk_err *err)
{
	struct bpk_err changed = { 0 };

	if (err == NULL)
		return -1;
	if ((err->kind == BPK_CORRUPT || err->kind == BPK_UNSUPPORTED) &&
	    bpk_place_unchanged(&in->place, &changed) != 0)
		*err = changed;
	return bpk_input_subject(in, err);
}

int bpk_input_fail_unknown(const struct bpk_input *in, struct bpk_err *err)
{
	bool is_tar = false;

	bpk_foreign_fail(&in->place, in->format == &bpk_format_raw, err);
	if (err != NULL && err->kind == BPK_UNSUPPORTED &&
	    bpk_tar_probe(in->place.source, false, &is_tar, NULL) == 0 && is_tar)
		bpk_fail(err, BPK_UNSUPPORTED,
			 "is a tar, no archive; bpk tar -t FILE lists it, and FILE:NAME is a "
			 "member");
	return judge_opening(in, err);
}

/* The URL of a directory without its last slash names another file. A store knows the directory,
 * a web server does not. */
static void add_hint(const char *path, struct bpk_err *err)
{
	const struct bpk_format *promised = bpk_format_of_suffix(path);
	struct bpk_err plain;

	if (err != NULL && promised != NULL && promised->is_directory && bpk_path_is_url(path) &&
	    !bpk_path_is_s3(path) && !bpk_ends_with(path, "/")) {
		plain = *err;
		bpk_fail(err, plain.kind, "%s; the URL of a directory ends with /", plain.text);
	}
}

int bpk_input_look(struct bpk_input *in, const char *path, const struct bpk_format *format,
		   struct bpk_err *err)
{
	*in = (struct bpk_input){ .path = path };
	if (bpk_place_open(path, bpk_format_owns, &in->place, err) != 0) {
		add_hint(path, err);
		return bpk_input_subject(in, err);
	}
	in->format = format;
	in->named = format != NULL;
	if (format == NULL && bpk_format_probe(&in->place, &in->format, err) != 0)
		return judge_opening(in, err);
	return 0;
}

int bpk_input_read(struct bpk_input *in, const struct bpk_read_options *options,
		   struct bpk_err *err)
{
	if (bpk_place_is_torn(&in->place)) {
		bpk_fail(err, BPK_CORRUPT, "%s", bpk_place_remark(&in->place));
		return bpk_input_subject(in, err);
	}
	if (in->format == NULL)
		return bpk_input_fail_unknown(in, err);
	if (in->named && bpk_format_check(&in->place, in->format, err) != 0)
		return bpk_input_subject(in, err);
	if (in->format->reader->open(&in->place, options, &in->reader, err) != 0)
		return judge_opening(in, err);
	in->info = in->format->reader->info(in->reader);
	return 0;
}

void bpk_input_close(struct bpk_input *in)
{
	if (in->reader != NULL)
		in->format->reader->close(in->reader);
	in->reader = NULL;
	bpk_place_close(&in->place);
	in->place = (struct bpk_place){ 0 };
}

uint64_t bpk_input_rest(const struct bpk_input *in)
{
	const struct bpk_source *source = in->place.source;
	uint64_t end = in->info->seal.end;

	return end > 0 && bpk_source_seekable(source) && bpk_source_size(source) > end
		       ? bpk_source_size(source) - end
		       : 0;
}

/* True if it is that of an interrupted append, which the next one removes, or cannot be judged, as
 * if the header, by which the end is found, is not the one that was sealed. */
static bool has_other_rest(const struct bpk_input *in, struct bpk_err *why)
{
	const struct bpk_reader_ops *ops = in->format->reader;

	if (bpk_source_in_change(in->place.source) ||
	    (ops->tail(in->reader, why) != 0 &&
	     (why->kind == BPK_REPAIRABLE || bpk_err_is_of_machine(why))))
		return true;
	*why = (struct bpk_err){ 0 };
	return in->info->members == 1 && ops->prove(in->reader, 0, 0, why) != 0 &&
	       why->kind == BPK_CORRUPT;
}

int bpk_input_leave_rest(struct bpk_input *in, struct bpk_err *err)
{
	uint64_t rest = bpk_input_rest(in);
	struct bpk_source *part;
	struct bpk_err why = { 0 };

	if (rest == 0 || has_other_rest(in, &why))
		return bpk_err_is_of_machine(&why) ? bpk_fail_as(err, &why) : 0;
	if (bpk_input_unchanged(in, err) != 0)
		return -1;
	if (bpk_source_part(in->place.source, 0, in->info->seal.end, &part, err) != 0)
		return bpk_input_subject(in, err);
	in->format->reader->close(in->reader);
	in->reader = NULL;
	in->info = NULL;
	bpk_source_close(in->place.source);
	in->place.source = part;
	in->rest = rest;
	return 0;
}

int bpk_input_item_size(const struct bpk_info *info, uint64_t *size, struct bpk_err *err)
{
	unsigned said = info->chunks.typesize;
	unsigned packed = info->chunks.has_first ? info->chunks.first.typesize : 0;

	if (info->array.type != NULL) {
		*size = info->array.type->dtype.size;
		return 0;
	}
	*size = said > 0 ? said : packed;
	if (*size == 0)
		return bpk_fail(err, BPK_FAILED,
				"does not record the size of its items, use --bytes");
	if (said > BPK_CHUNK_MAX_TYPESIZE)
		return 0; /* chunks cannot say it */
	if (said > 0 && packed > 0 && said != packed)
		return bpk_fail(err, BPK_FAILED,
				"header says items of %u bytes, the first chunk %u, use --bytes",
				said, packed);
	return 0;
}

/* ---- one generation ---- */

/* Remarks are passed on when the audit has ended: it holds the input, and the receiver may
 * block. */
static void keep_remark(void *arg, const char *line)
{
	struct bpk_buf *lines = arg;

	/* a lost remark is no reason to fail */
	(void)bpk_buf_append(lines, bpk_view(line, strlen(line) + 1), NULL);
}

int bpk_input_audit(struct bpk_input *in, bpk_remark_fn *remark, void *arg, struct bpk_err *err)
{
	const struct bpk_reader_ops *ops = in->format->reader;
	struct bpk_buf lines = { 0 };
	int rc;

	if (ops->audit == NULL)
		return 0;
	rc = ops->audit(in->reader, keep_remark, &lines, err);
	for (size_t at = 0; remark != NULL && at < lines.size;
	     at += strlen((const char *)lines.data + at) + 1)
		remark(arg, (const char *)lines.data + at);
	bpk_buf_clear(&lines);
	if (rc == 0)
		return 0;
	bpk_input_subject(in, err);
	return bpk_input_judge(in, err);
}

static int check_unchanged(const struct bpk_input *in, bool failed, struct bpk_err *err)
{
	if (in->reader == NULL || in->format->reader->unchanged == NULL ||
	    in->format->reader->unchanged(in->reader, failed, err) == 0)
		return 0;
	return bpk_input_subject(in, err);
}

int bpk_input_unchanged(const struct bpk_input *in, struct bpk_err *err)
{
	return check_unchanged(in, false, err);
}

int bpk_input_check_damage(const struct bpk_input *in, struct bpk_err *err)
{
	if (in->info->damage == NULL)
		return 0;
	bpk_fail(err, BPK_CORRUPT, "%s", in->info->damage);
	return bpk_input_subject(in, err);
}

int bpk_input_judge(const struct bpk_input *in, struct bpk_err *err)
{
	struct bpk_err changed = { 0 };

	if (err->kind == BPK_CORRUPT && check_unchanged(in, true, &changed) != 0)
		*err = changed;
	return -1;
}

/* ---- sizes ---- */

/* A sum of sizes of files. */
struct weighing {
	struct bpk_dir *dir;
	uint64_t size;
};

static int weigh(void *arg, const char *name, enum bpk_entry entry)
{
	struct weighing *w = arg;
	uint64_t size;

	if (entry == BPK_ENTRY_FILE && bpk_dir_look(w->dir, name, &entry, &size, NULL) == 0 &&
	    entry == BPK_ENTRY_FILE && !bpk_add_u64(w->size, size, &w->size))
		w->size = UINT64_MAX;
	return 0;
}

/* The size in a directory's metadata counts up to the sum of the files in its root. Files that
 * lie deeper were counted when the directory was opened. */
uint64_t bpk_input_weight(const struct bpk_input *in)
{
	struct weighing w = { .dir = in->place.directory };

	if (!in->place.is_directory)
		return bpk_source_seekable(in->place.source) ? bpk_source_size(in->place.source)
							     : 0;
	if (!bpk_dir_lists(in->place.directory))
		return 0;
	if (in->info->directory.superchunk_chunks > 0 || in->info->stored_size == BPK_UNKNOWN)
		return in->info->stored_size;
	(void)bpk_dir_list(w.dir, "", weigh, &w,
			   NULL); /* an entry that cannot be listed counts nothing */
	return bpk_min_u64(w.size, in->info->stored_size);
}

bool bpk_input_can_locate(const struct bpk_input *in)
{
	return in->format->reader->locate != NULL &&
	       (in->place.is_directory || bpk_source_seekable(in->place.source));
}

const struct stat *bpk_input_stat(const struct bpk_input *in)
{
	return in->place.is_directory ? bpk_dir_stat(in->place.directory)
				      : bpk_source_stat(in->place.source);
}

bool bpk_input_like(const struct bpk_input *in, struct stat *like)
{
	const struct stat *seen = bpk_input_stat(in);

	if (strcmp(in->path, "-") == 0)
		return false;
	if (in->place.is_directory)
		*like = bpk_dir_like(in->place.directory);
	else if (S_ISREG(seen->st_mode) || S_ISBLK(seen->st_mode))
		*like = *seen;
	else
		return false;
	if (S_ISBLK(seen->st_mode))
		like->st_mtim.tv_nsec = UTIME_OMIT;
	return true;
}

int bpk_input_raw_size(struct bpk_input *in, uint64_t *raw_size, struct bpk_err *err)
{
	const struct bpk_reader_ops *ops = in->format->reader;
	struct bpk_where where;
	uint64_t total = 0;
	int rc = 0;

	*raw_size = in->info->members == BPK_UNKNOWN ? BPK_UNKNOWN : in->info->raw_size;
	if (*raw_size != BPK_UNKNOWN || !bpk_input_can_locate(in))
		return 0;
	for (uint64_t number = 0; rc == 0; number++) {
		rc = ops->locate(in->reader, number, &where, err);
		if (rc == 0 && !bpk_add_u64(total, where.header.raw_size, &total))
			rc = bpk_fail(err, BPK_CORRUPT, "unpacks to more than 2^64 bytes");
	}
	if (rc < 0)
		return bpk_input_subject(in, err);
	*raw_size = total;
	return 0;
}

int bpk_input_complete(struct bpk_input *in, struct bpk_err *err)
{
	uint64_t raw_size;

	return in->info->members == BPK_UNKNOWN ? bpk_input_raw_size(in, &raw_size, err) : 0;
}
