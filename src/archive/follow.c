/* Appending in rounds: files and pipes whose bytes are committed again and again, and a file that
 * is followed while it grows. Called by the command append. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "archive/chunks.h"
#include "archive/feed.h"
#include "archive/followed.h"
#include "layout/layout.h"

enum {
	HEAD_SLACK = 1024, /* bytes in a first chunk, for the counts that will change there */
	SAMPLES = 14,      /* compared between both ends, when the following begins */
	SAMPLES_AGAIN = 2, /* compared before each commit: some milliseconds */
	TRIAL = 4 << 20,   /* bytes that decide on the packing, where a first chunk is larger */
};

/* One appending in rounds. */
struct appending {
	struct bpk_archive *archive;
	struct bpk_followed file; /* the file that grows; without a path nothing is followed */
	char opened[32];          /* where the open file is read, if it may lose its name */
	struct bpk_feed feed;
	struct bpk_packing packing;
	bool undecided; /* all bytes are recompressed by another trial when more come */
	int typesize;   /* of an empty archive's elements; BPK_AUTO: it records none */
	struct bpk_rounds *rounds;
};

/* The caller's slack. Without it the first chunk of a followed file has some, so that the counts in
 * the file's head can change in place. */
static struct bpk_slack slack_for(const struct appending *a, bool first)
{
	struct bpk_slack slack = a->archive->options.slack;

	if (slack.bytes == 0 && slack.percent == 0 && first && a->feed.follows)
		slack.bytes = HEAD_SLACK;
	return slack;
}

/* ---- the file against the archive ---- */

/* Overwrite the archive's raw bytes from at on with bytes, if they differ and may differ; the
 * change is not committed. */
static int mend(struct appending *a, uint64_t at, struct bpk_view held, struct bpk_view bytes,
		bool *mended, struct bpk_err *err)
{
	struct bpk_overwrite change = { .at = at, .slack = slack_for(a, true) };
	uint64_t written = 0;
	int rc;

	if (bytes.size == 0 || memcmp(held.data, bytes.data, bytes.size) == 0)
		return 0;
	if (bpk_followed_judge(&a->file, at, held, bytes, err) != 0)
		return -1;
	if (bpk_source_of_memory(bytes, &change.source, err) != 0)
		return bpk_archive_subject(a->archive, err);
	rc = bpk_archive_overwrite(a->archive, &change, &written, err);
	a->rounds->mended += written;
	*mended = true;
	bpk_source_close(change.source);
	return rc;
}

static void remark_commit(const struct bpk_archive *archive)
{
	char line[64];

	if (archive->options.hooks.remark == NULL)
		return;
	snprintf(line, sizeof line, "committed, now %" PRIu64 " bytes",
		 bpk_archive_info(archive)->raw_size);
	archive->options.hooks.remark(archive->options.hooks_arg, line);
}

static int commit(struct appending *a, uint64_t appended, struct bpk_err *err)
{
	if (bpk_archive_commit(a->archive, err) != 0)
		return -1;
	a->rounds->appended += appended;
	a->rounds->commits++;
	remark_commit(a->archive);
	return 0;
}

/* Some writers keep a count in the head of their file: it must agree with the frames that were just
 * committed. */
static int mend_head(struct appending *a, struct bpk_err *err)
{
	struct bpk_view head = bpk_buf_view(&a->feed.head.bytes);
	struct bpk_buf held = { 0 };
	bool mended = false;
	int rc;

	head.size = bpk_min_size(head.size, bpk_archive_info(a->archive)->raw_size);
	rc = bpk_archive_read(a->archive, 0, head.size, &held, err);
	if (rc == 0)
		rc = mend(a, 0, bpk_buf_view(&held), head, &mended, err);
	if (rc == 0 && mended)
		rc = commit(a, 0, err);
	bpk_buf_clear(&held);
	return rc;
}

/* ---- rounds ---- */

/* Bytes at the beginning that decide on the packing. */
static uint64_t trial_size(const struct appending *a)
{
	return bpk_min_u64(a->packing.choice.chunk_size, TRIAL);
}

/* Choose the packing: the archive's content decides, or else the file as it is now, unless it is
 * still small. source is NULL for input that is yet to come. */
static int decide(struct appending *a, struct bpk_source *source, struct bpk_err *err)
{
	const struct bpk_info *info = bpk_archive_info(a->archive);

	a->typesize = BPK_AUTO;
	if (info->raw_size == 0 && info->chunks.typesize > 1 &&
	    info->chunks.typesize <= BPK_CHUNK_MAX_TYPESIZE)
		a->typesize = (int)info->chunks.typesize;
	if (bpk_archive_choose(a->archive, source, &a->packing, err) != 0 ||
	    bpk_archive_is_undecided(a->archive, trial_size(a), &a->undecided, err) != 0)
		return -1;
	if (!a->undecided || source == NULL)
		return 0;
	a->undecided = bpk_source_size(source) < trial_size(a);
	return bpk_archive_choose_anew(a->archive, source, a->typesize, &a->packing, err);
}

/* Read the round's bytes behind those of the archive, up to the size of a trial. */
static int gather(struct appending *a, struct bpk_buf *all, struct bpk_err *err)
{
	size_t size = (size_t)trial_size(a), got = 1;
	struct bpk_source *source = NULL;
	int rc = bpk_buf_reserve(all, size, err) != 0
			 ? bpk_archive_subject(a->archive, err)
			 : bpk_archive_read(a->archive, 0, bpk_archive_info(a->archive)->raw_size,
					    all, err);

	if (rc == 0)
		rc = bpk_feed_source(&a->feed, &source, err);
	while (rc == 0 && got > 0 && all->size < size) {
		got = 0;
		rc = bpk_source_read(source, bpk_span(all->data + all->size, size - all->size),
				     &got, err);
		all->size += got;
	}
	bpk_source_close(source);
	return rc;
}

/* Choose for all bytes up to now, and append those that are new. */
static int append_undecided(struct appending *a, struct bpk_err *err)
{
	size_t held = (size_t)bpk_archive_info(a->archive)->raw_size;
	struct bpk_source *source = NULL, *added = NULL;
	struct bpk_buf all = { 0 };
	struct bpk_flow_result result;
	int rc = gather(a, &all, err);

	if (rc == 0)
		rc = bpk_source_of_memory(bpk_buf_view(&all), &source, err);
	if (rc == 0)
		rc = bpk_source_of_memory(bpk_view(all.data + held, all.size - held), &added, err);
	if (rc == 0)
		rc = bpk_archive_choose_anew(a->archive, source, a->typesize, &a->packing, err);
	a->packing.slack = slack_for(a, true);
	if (rc == 0)
		rc = bpk_archive_append(a->archive, added, NULL, &a->packing, &result, err);
	a->undecided = all.size < trial_size(a);
	/* a round that is due goes on behind the trial's bytes */
	if (a->feed.round.limit != BPK_UNKNOWN && a->feed.position < a->feed.round.limit)
		bpk_archive_ask_commit();
	bpk_source_close(added);
	bpk_source_close(source);
	bpk_buf_clear(&all);
	return rc;
}

static int append_decided(struct appending *a, struct bpk_err *err)
{
	struct bpk_source *source = NULL;
	struct bpk_flow_result result;
	int rc;

	if (bpk_feed_source(&a->feed, &source, err) != 0)
		return bpk_archive_subject(a->archive, err);
	a->packing.slack = slack_for(a, bpk_archive_info(a->archive)->chunks.count < 2);
	rc = bpk_archive_append(a->archive, source, NULL, &a->packing, &result, err);
	bpk_source_close(source);
	return rc;
}

/* Before a commit. Of a file that was cut off nothing is left to be compared. */
static int sample_again(struct appending *a, struct bpk_err *err)
{
	struct bpk_err found = { 0 };

	if (bpk_feed_was_cut(&a->feed) ||
	    bpk_followed_sample(&a->file, SAMPLES_AGAIN, false, &found) == 0 ||
	    bpk_feed_was_cut(&a->feed))
		return 0;
	*err = found;
	return -1;
}

static int append_round(struct appending *a, struct bpk_err *err)
{
	uint64_t before = a->feed.position;
	int rc = a->undecided ? append_undecided(a, err) : append_decided(a, err);

	/* the file may have been rewritten, and the bytes of this round may be of another run */
	if (rc == 0 && a->feed.follows && !a->file.mend)
		rc = sample_again(a, err);
	if (rc == 0)
		rc = commit(a, a->feed.position - before, err);
	return rc;
}

/* The first bytes of all are known here, of a pipe, too. */
static int check_first(struct appending *a, struct bpk_err *err)
{
	if (a->feed.follows || a->feed.position > 0)
		return 0;
	return bpk_archive_check_npy(a->archive, bpk_buf_view(&a->feed.ahead), a->feed.path, err);
}

static int run_rounds(struct appending *a, struct bpk_err *err)
{
	uint64_t short_size;
	bool more;

	for (;;) {
		short_size = bpk_archive_short_size(a->archive, a->packing.choice.chunk_size);
		if (bpk_feed_begin(&a->feed, short_size, &more, err) != 0)
			return -1;
		if (!more)
			return 0;
		if (check_first(a, err) != 0)
			return -1;
		if (bpk_feed_has_bytes(&a->feed) && append_round(a, err) != 0)
			return -1;
		if (a->feed.head.fresh && mend_head(a, err) != 0)
			return -1;
	}
}

static int check_npy(struct bpk_archive *archive, const char *path, struct bpk_err *err)
{
	struct bpk_source *source = NULL;
	uint8_t head[BPK_NPY_MAGIC_SIZE];
	size_t got;
	int rc = bpk_source_open(path, &source, err);

	if (rc == 0)
		rc = bpk_source_read_at(source, 0, bpk_span(head, sizeof head), &got, err);
	bpk_source_close(source);
	if (rc != 0)
		return bpk_err_subject(err, "%s", path);
	return bpk_archive_check_npy(archive, bpk_view(head, got), path, err);
}

static int check_inputs(struct bpk_archive *archive, char *const *paths, size_t count,
			struct bpk_err *err)
{
	struct stat seen;

	for (size_t i = 0; i < count; i++) {
		int rc = strcmp(paths[i], "-") == 0 ? fstat(STDIN_FILENO, &seen)
						    : stat(paths[i], &seen);

		/* a missing file fails where it is opened */
		if (rc != 0 && !bpk_is_missing(errno) && errno != EBADF)
			return bpk_fail_errno(err, errno, "%s: cannot stat", paths[i]);
		if (rc == 0 && bpk_archive_is_not(archive, &seen, paths[i], err) != 0)
			return -1;
		if (rc == 0 && S_ISREG(seen.st_mode) && strcmp(paths[i], "-") != 0 &&
		    check_npy(archive, paths[i], err) != 0)
			return -1;
	}
	return 0;
}

int bpk_archive_append_rounds(struct bpk_archive *archive, char *const *paths, size_t count,
			      double interval, struct bpk_rounds *rounds, struct bpk_err *err)
{
	struct appending a = { .archive = archive, .rounds = rounds };
	struct bpk_feed_options options = { .end.interval = interval };
	int rc = check_inputs(archive, paths, count, err);

	if (rc == 0)
		rc = decide(&a, NULL, err);
	options.chunk_size = a.packing.choice.chunk_size;
	if (rc == 0)
		rc = bpk_feed_open(&a.feed, paths, count, &options, err);
	if (rc == 0)
		rc = run_rounds(&a, err);
	if (rc == 0 && rounds->commits > 1)
		rc = bpk_archive_compact(archive, err);
	bpk_feed_close(&a.feed);
	bpk_buf_clear(&a.packing.choice.why);
	return rc;
}

/* ---- following ---- */

/* Refuse an .npy file whose array the archive holds without the header. */
static int check_header(struct appending *a, struct bpk_source *source, struct bpk_err *err)
{
	const struct bpk_array *array = bpk_archive_info(a->archive)->array.type;
	struct bpk_view head;

	if (array == NULL || a->archive->options.any_bytes)
		return 0;
	if (bpk_source_peek(source, BPK_NPY_MAGIC_SIZE, &head, err) != 0)
		return bpk_err_subject(err, "%s", a->file.path);
	if (!bpk_npy_begins(head))
		return 0;
	return bpk_fail(err, BPK_FAILED,
			"%s: is a NumPy file, %s holds an array without such a header and cannot "
			"follow it",
			a->file.path, a->archive->path);
}

/* Fails where the file is the archive itself, an .npy file for another array, shorter than its
 * content, or differs from it. */
static int check_file(struct appending *a, struct bpk_source **source, struct bpk_err *err)
{
	uint64_t raw_size = bpk_archive_info(a->archive)->raw_size;
	const char *path = a->file.path;

	if (bpk_source_open(path, source, err) != 0)
		return bpk_err_subject(err, "%s", path);
	if (bpk_archive_is_not(a->archive, bpk_source_stat(*source), path, err) != 0)
		return -1;
	if (check_header(a, *source, err) != 0)
		return -1;
	if (bpk_source_size(*source) < raw_size)
		return bpk_fail(err, BPK_FAILED,
				"%s: has %" PRIu64 " bytes, %s holds %" PRIu64 " already", path,
				bpk_source_size(*source), a->archive->path, raw_size);
	return a->file.mend ? 0 : bpk_followed_sample(&a->file, SAMPLES, true, err);
}

/* The file's bytes of a chunk. The first bytes of the file are those read when its end was
 * found. */
static int read_chunk(struct appending *a, const struct bpk_archive_chunk *chunk,
		      struct bpk_buf *bytes, struct bpk_err *err)
{
	size_t known = a->feed.head.fresh ? a->feed.head.bytes.size : 0;

	if (bpk_buf_resize(bytes, chunk->size, err) != 0 ||
	    bpk_followed_read(&a->file, chunk->start, bpk_span(bytes->data, bytes->size), err) != 0)
		return -1;
	if (chunk->start == 0)
		bpk_copy(bytes->data, a->feed.head.bytes.data, bpk_min_size(known, bytes->size));
	return 0;
}

static int compare_chunk(struct appending *a, const struct bpk_archive_chunk *chunk,
			 struct bpk_buf *held, struct bpk_buf *bytes, bool *mended,
			 struct bpk_err *err)
{
	held->size = 0;
	if (bpk_archive_read(a->archive, chunk->start, chunk->size, held, err) != 0 ||
	    read_chunk(a, chunk, bytes, err) != 0)
		return -1;
	return mend(a, chunk->start, bpk_buf_view(held), bpk_buf_view(bytes), mended, err);
}

/* Compare all of the archive with the file, chunk by chunk, and mend differences that may be. */
static int compare_all(struct appending *a, struct bpk_err *err)
{
	uint64_t raw_size = bpk_archive_info(a->archive)->raw_size;
	struct bpk_buf held = { 0 }, bytes = { 0 };
	struct bpk_archive_chunk chunk;
	bool mended = false;
	int rc = 0;

	if (raw_size > 0)
		rc = bpk_archive_find(a->archive, 0, &chunk, err);
	while (rc == 0 && raw_size > 0) {
		rc = compare_chunk(a, &chunk, &held, &bytes, &mended, err);
		if (rc != 0 || chunk.start + chunk.size >= raw_size)
			break;
		rc = bpk_archive_next(a->archive, &chunk, err);
	}
	if (rc == 0 && mended)
		rc = commit(a, 0, err);
	bpk_buf_clear(&held);
	bpk_buf_clear(&bytes);
	return rc;
}

/* source is the file as it is now. */
static int follow(struct appending *a, struct bpk_source *source,
		  const struct bpk_follow_options *end, struct bpk_err *err)
{
	struct bpk_feed_options options = { .end = *end };
	int rc = decide(a, source, err);

	options.chunk_size = a->packing.choice.chunk_size;
	options.start = bpk_archive_info(a->archive)->raw_size;
	options.unit = bpk_archive_info(a->archive)->array.row_size;
	if (rc == 0 && a->file.mend)
		rc = compare_all(a, err);
	if (rc == 0)
		rc = bpk_feed_follow(&a->feed, a->file.path, &options, err);
	if (rc == 0 && end->rotates) {
		snprintf(a->opened, sizeof a->opened, "/proc/self/fd/%d", a->feed.fd);
		a->file.opened = a->opened;
	}
	if (rc == 0)
		rc = run_rounds(a, err);
	if (rc == 0 && !a->feed.is_cut)
		rc = compare_all(a, err);
	if (rc == 0 && a->rounds->commits > 1)
		rc = bpk_archive_compact(a->archive, err);
	a->rounds->left_out = a->feed.rest;
	a->rounds->is_replaced = rc == 0 && a->feed.is_replaced;
	bpk_feed_close(&a->feed);
	bpk_buf_clear(&a->packing.choice.why);
	return rc;
}

/* True if the file that has the name now does not begin with the archive's content. */
static bool is_another(struct appending *a)
{
	struct bpk_followed file = { .archive = a->archive, .path = a->file.path };
	struct bpk_source *source = NULL;
	struct bpk_err err = { 0 };
	bool is_shorter;

	if (bpk_source_open(file.path, &source, &err) != 0)
		return false;
	is_shorter = bpk_source_size(source) < bpk_archive_info(a->archive)->raw_size;
	bpk_source_close(source);
	return is_shorter ||
	       (bpk_followed_sample(&file, SAMPLES, true, &err) != 0 && err.kind == BPK_FAILED);
}

int bpk_archive_follow(struct bpk_archive *archive, const char *path, bool mend,
		       const struct bpk_follow_options *options, struct bpk_rounds *rounds,
		       struct bpk_err *err)
{
	struct appending a = {
		.archive = archive,
		.file = { .archive = archive, .path = path, .mend = mend },
		.rounds = rounds,
	};
	struct bpk_source *source = NULL;
	int rc = check_file(&a, &source, err);

	if (rc == 0)
		rc = follow(&a, source, options, err);
	bpk_source_close(source);
	if (rc == 0 || !options->rotates || err->kind != BPK_FAILED)
		return rc;
	/* a difference from the old file is no rotation */
	if ((a.feed.is_replaced && !a.feed.is_cut) || !is_another(&a))
		return -1;
	*err = (struct bpk_err){ 0 };
	rounds->is_replaced = true;
	return 0;
}
