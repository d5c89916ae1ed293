/* A growing trajectory, followed frame by frame. Called by append --follow on GSD files. */
#include <inttypes.h>
#include <time.h>

#include "archive/feed.h"
#include "archive/join.h"

enum {
	LOOKED_AT = 1 << 16, /* bytes that a round is rounded up to, and that are read at a time */
	SAMPLES = 16,        /* frames compared when the following begins */
	SAMPLES_AGAIN = 2,   /* before each commit */
	PLACES = 64,         /* where samples are taken, in turn */
	/* places from one sample to the next: prime to PLACES, so that samples spread early */
	STRIDE = 27,
	MOMENT = 20, /* milliseconds, after which an index that was being written to is whole */
};

struct following {
	struct bpk_joining j;
	struct bpk_join_store own;
	struct bpk_feed feed;
	const char *path;
	struct stat seen; /* the file at its first opening; st_ino 0: before that */
	uint64_t turn;    /* samples so far */
	struct bpk_joined *joined;
};

/* ---- The file as it is ---- */

/* The number of whole frames. Damage behind them may be a frame that is being written; *torn says
 * that there is some. */
static int count_sound(struct bpk_gsd_file *file, uint64_t *nframes, bool *torn,
		       struct bpk_err *err)
{
	uint64_t sound = BPK_UNKNOWN;
	struct bpk_err why = { 0 };

	*torn = file->info->damage != NULL;
	*nframes = file->info->nframes;
	if (!*torn)
		return 0;
	(void)bpk_gsd_count_sound(file->source, &sound, &why);
	if (sound == BPK_UNKNOWN)
		return bpk_fail(err, BPK_FAILED, "%s", file->info->damage);
	*nframes = bpk_min_u64(*nframes, sound);
	return 0;
}

/* Fails where another file has taken its place. */
static int check_identity(struct following *f, struct bpk_err *err)
{
	const struct stat *now = bpk_source_stat(f->j.copy.more.source);

	if (f->seen.st_ino == 0)
		f->seen = *now;
	if (bpk_same_file(now, &f->seen))
		return 0;
	return bpk_fail(err, BPK_FAILED, "was replaced by another file, which is not followed");
}

static int open_gsd(struct following *f, struct bpk_err *err)
{
	struct bpk_gsd_file *file = &f->j.copy.more;

	if (bpk_source_open(f->path, &file->source, err) != 0 || check_identity(f, err) != 0 ||
	    bpk_layout_open(file->source, &file->layout, err) != 0)
		return -1;
	file->info = file->layout != NULL ? bpk_layout_info(file->layout) : NULL;
	if (file->info == NULL || strcmp(file->info->kind, "gsd") != 0)
		return bpk_fail(err, BPK_FAILED, "is no longer a GSD file");
	return 0;
}

static int open_now(struct following *f, uint64_t *nframes, bool *torn, struct bpk_err *err)
{
	bpk_gsd_file_close(&f->j.copy.more);
	if (open_gsd(f, err) != 0 || count_sound(&f->j.copy.more, nframes, torn, err) != 0)
		return bpk_err_subject(err, "%s", f->path);
	return 0;
}

/* The entries of a frame are written at once, but may be seen half-way: the last frame counts
 * only if a second look finds it the same. */
static int look_twice(struct following *f, uint64_t *nframes, bool *torn, struct bpk_err *err)
{
	const struct timespec moment = { .tv_nsec = MOMENT * 1000000 };
	uint64_t before, narrays;

	if (open_now(f, &before, torn, err) != 0)
		return -1;
	*nframes = before;
	if (before <= bpk_gsd_editor_nframes(f->j.copy.editor))
		return 0;
	narrays = f->j.copy.more.info->narrays;
	nanosleep(&moment, NULL);
	if (open_now(f, nframes, torn, err) != 0)
		return -1;
	if (*nframes != before || f->j.copy.more.info->narrays != narrays)
		*nframes -= *nframes > 0;
	return 0;
}

/* ---- Is it the file that the archive follows? ---- */

static int compare_frame(struct following *f, uint64_t frame, bool *same, struct bpk_err *err)
{
	const struct bpk_gsd_file *held = &f->j.copy.held;
	struct bpk_item a, b;
	uint64_t i;

	if (bpk_gsd_file_find_frame(held, frame, &i, err) != 0)
		return -1;
	for (; *same && i < held->info->narrays; i++) {
		int rc;

		if (bpk_layout_get(held->layout, i, &a, err) != 0)
			return -1;
		if (a.frame > frame)
			break;
		rc = bpk_layout_find(f->j.copy.more.layout, a.name, frame, false, &b, err);
		*same = rc == 0;
		if (rc < 0 || (rc == 0 && bpk_gsd_copy_compare(&f->j.copy, &a, &b, same, err) != 0))
			return -1;
	}
	return 0;
}

/* Compare the first frame, the last, and count between them with the file. */
static int check_frames(struct following *f, unsigned count, struct bpk_err *err)
{
	uint64_t has = f->j.copy.held.info->nframes, frame = has - 1;
	bool same = true;
	int rc = 0;

	for (unsigned i = 0; rc == 0 && same && has > 0 && i < count + 2; i++) {
		if (i > 0)
			frame = i == 1 ? 0 : has * (f->turn++ * STRIDE % PLACES) / PLACES;
		rc = compare_frame(f, frame, &same, err);
	}
	if (rc != 0)
		return bpk_err_subject(err, "%s", f->path);
	if (same)
		return 0;
	return bpk_fail(err, BPK_FAILED,
			"%s: differs from %s: frame %" PRIu64 " is not the committed one", f->path,
			f->j.archive->path, frame);
}

static int check_count(const struct following *f, uint64_t has, uint64_t nframes,
		       struct bpk_err *err)
{
	if (nframes >= has)
		return 0;
	return bpk_fail(err, BPK_FAILED, "%s: has %" PRIu64 " frames, %s holds %" PRIu64 " already",
			f->path, nframes, f->j.archive->path, has);
}

static int check_same(struct following *f, struct bpk_err *err)
{
	uint64_t nframes;
	bool torn;

	if (open_now(f, &nframes, &torn, err) != 0 ||
	    check_count(f, f->j.copy.held.info->nframes, nframes, err) != 0)
		return -1;
	return check_frames(f, SAMPLES, err);
}

/* The file may have been rewritten since the last look. */
static int check_again(struct following *f, struct bpk_err *err)
{
	int rc = bpk_join_hold(&f->j, err);

	if (rc == 0)
		rc = check_frames(f, SAMPLES_AGAIN, err);
	bpk_gsd_file_close(&f->j.copy.held);
	return rc;
}

/* ---- Frames ---- */

/* Append the new frames, and commit. */
static int take_frames(struct following *f, bool *torn, struct bpk_err *err)
{
	struct bpk_gsd_editor *editor = f->j.copy.editor;
	uint64_t has = bpk_gsd_editor_nframes(editor), nframes;
	int rc = look_twice(f, &nframes, torn, err);

	if (rc == 0 && !*torn)
		rc = check_count(f, has, nframes, err);
	if (rc == 0 && nframes > has)
		rc = check_again(f, err);
	if (rc == 0 && nframes > has) {
		rc = bpk_gsd_copy_frames(&f->j.copy, has, nframes, err);
		if (rc != 0)
			bpk_err_subject(err, "%s", f->path);
		else
			rc = bpk_gsd_editor_commit(editor, err);
		if (rc == 0)
			f->joined->appended_frames += nframes - has;
	}
	bpk_gsd_file_close(&f->j.copy.more);
	return rc;
}

/* ---- Rounds ---- */

/* The feed's bytes are not used: they only say when to look at the file. */
static int let_pass(struct following *f, struct bpk_err *err)
{
	struct bpk_source *source = NULL;
	struct bpk_buf piece = { 0 };
	size_t got = 1;
	int rc = bpk_feed_source(&f->feed, &source, err);

	if (rc == 0)
		rc = bpk_buf_resize(&piece, LOOKED_AT, err);
	while (rc == 0 && got > 0)
		rc = bpk_source_read(source, bpk_span(piece.data, piece.size), &got, err);
	bpk_source_close(source);
	bpk_buf_clear(&piece);
	return rc;
}

static int run_rounds(struct following *f, bool *torn, struct bpk_err *err)
{
	bool more = true;

	for (;;) {
		if (take_frames(f, torn, err) != 0)
			return -1;
		if (!more)
			return 0;
		if (bpk_feed_begin(&f->feed, 0, &more, err) != 0)
			return -1;
		if (more && bpk_feed_has_bytes(&f->feed) && let_pass(f, err) != 0)
			return -1;
	}
}

static int follow(struct following *f, const struct bpk_follow_options *end, struct bpk_err *err)
{
	struct bpk_feed_options options = { .end = *end };

	options.chunk_size = LOOKED_AT;
	options.start = bpk_source_size(f->j.copy.more.source);
	bpk_gsd_file_close(&f->j.copy.held); /* the view is of content that is about to change */
	if (bpk_feed_follow(&f->feed, f->path, &options, err) != 0 ||
	    run_rounds(f, &f->joined->torn, err) != 0)
		return -1;
	return bpk_archive_compact(f->j.archive, err);
}

int bpk_archive_join_follow(struct bpk_archive *archive, const char *path,
			    const struct bpk_follow_options *options, struct bpk_joined *joined,
			    struct bpk_err *err)
{
	struct following f = {
		.j.archive = archive,
		.own.archive = archive,
		.path = path,
		.joined = joined,
	};
	struct bpk_gsd_store store = bpk_gsd_store_of_archive(&f.own);
	int rc = bpk_join_begin(&f.j, &store, err);

	if (rc == 0)
		rc = check_same(&f, err);
	if (rc == 0)
		rc = follow(&f, options, err);
	if (f.j.copy.editor != NULL)
		joined->nframes = bpk_gsd_editor_nframes(f.j.copy.editor);
	joined->commits = f.own.commits;
	bpk_feed_close(&f.feed);
	bpk_gsd_copy_clear(&f.j.copy);
	bpk_join_store_clear(&f.own);
	return rc;
}
