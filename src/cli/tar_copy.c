/* bpk tar: datasets stored as they lie there. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/job.h"
#include "cli/progress.h"
#include "cli/tar_store.h"

/* ---- a file ---- */

/* Bytes that a running or killed writer overwrote are read as they were committed. */
static int read_piece(struct bpk_source *source, uint64_t offset, struct bpk_span piece,
		      size_t *got, struct bpk_err *err)
{
	int rc;

	if (bpk_source_hold(source, err) != 0)
		return -1;
	rc = bpk_source_read_at(source, offset, piece, got, err);
	bpk_source_release(source);
	return rc;
}

/* Copy all of source, called path, into draft. */
static int copy(struct bpk_tar_storing *s, struct bpk_source *source, const char *path,
		struct bpk_draft *draft, struct bpk_progress *progress, struct bpk_err *err)
{
	uint64_t size = bpk_source_size(source), done = 0;
	size_t got;

	while (done < size) {
		struct bpk_span piece =
			bpk_span(s->piece.data, (size_t)bpk_min_u64(BPK_TAR_PIECE, size - done));

		if (read_piece(source, done, piece, &got, err) != 0)
			return bpk_err_subject(err, "%s", path);
		if (got < piece.size)
			return bpk_fail(err, BPK_FAILED,
					"%s: changed while it was read: ends at byte %" PRIu64
					", expected %" PRIu64,
					path, done + got, size);
		if (bpk_draft_write(draft, bpk_view_of_span(piece), err) != 0)
			return bpk_tar_subject(s, err);
		done += got;
		bpk_progress_update(progress, done, done);
	}
	if (bpk_source_unchanged(source, err) != 0)
		return bpk_err_subject(err, "%s", path);
	return 0;
}

/* Store source as the member name. path: its name in messages. */
static int store_source(struct bpk_tar_storing *s, struct bpk_tar_dataset *dataset,
			struct bpk_source *source, const char *path, const char *name,
			struct bpk_err *err)
{
	const struct bpk_shared *shared = &s->args->shared;
	uint64_t size = bpk_source_size(source);
	struct bpk_progress progress;
	struct bpk_draft *draft;
	int rc;

	if (bpk_tar_member(s->writer, name, size, bpk_source_stat(source), &draft, err) != 0)
		return bpk_tar_subject(s, err);
	bpk_progress_start(&progress, shared->progress, shared->quiet, path, size);
	rc = copy(s, source, path, draft, &progress, err);
	bpk_progress_hide();
	if (rc != 0) {
		bpk_draft_drop(draft);
		return -1;
	}
	if (bpk_draft_keep(draft, NULL, err) != 0)
		return bpk_tar_subject(s, err);
	dataset->size += size;
	dataset->nfiles++;
	return 0;
}

/* ---- a directory, file by file ---- */

/* A walk over a directory: once to store it, once to see whether it is still the same. */
struct walk {
	struct bpk_tar_storing *s; /* NULL: only look */
	struct bpk_tar_dataset *dataset;
	struct bpk_dir *dir;
	const char *below; /* the folder at hand, "" or "NAME/" */
	uint64_t seen;     /* a digest of names, sizes and times */
	struct bpk_err *err;
};

static void mix_file(uint64_t *digest, const char *name, const struct stat *stat)
{
	const uint64_t facts[] = {
		(uint64_t)stat->st_ino,         (uint64_t)stat->st_size,
		(uint64_t)stat->st_mtim.tv_sec, (uint64_t)stat->st_mtim.tv_nsec,
		(uint64_t)stat->st_ctim.tv_sec, (uint64_t)stat->st_ctim.tv_nsec,
	};

	*digest = bpk_hash(*digest, bpk_view(name, strlen(name) + 1));
	*digest = bpk_hash(*digest, bpk_view(facts, sizeof facts));
}

static int walk_below(struct walk *walk, const char *name);

static int walk_file(struct walk *walk, const char *name, const char *member, const char *path)
{
	struct bpk_source *source;
	int rc = bpk_dir_source(walk->dir, name, &source, walk->err);

	if (rc != 0)
		return bpk_err_subject(walk->err, "%s", walk->dataset->path);
	mix_file(&walk->seen, name, bpk_source_stat(source));
	if (walk->s != NULL)
		rc = store_source(walk->s, walk->dataset, source, path, member, walk->err);
	bpk_source_close(source);
	return rc;
}

static int walk_folder(struct walk *walk, const char *name, const char *member)
{
	walk->seen = bpk_hash(walk->seen, bpk_view(name, strlen(name) + 1));
	if (walk->s != NULL &&
	    bpk_tar_folder(walk->s->writer, member, &walk->dataset->stat, walk->err) != 0)
		return bpk_tar_subject(walk->s, walk->err);
	return walk_below(walk, name);
}

static int meet(void *arg, const char *entry_name, enum bpk_entry entry)
{
	struct walk *walk = arg;
	const struct bpk_tar_dataset *dataset = walk->dataset;
	char *name = NULL, *member = NULL, *path = NULL;
	int rc = -1;

	if (asprintf(&name, "%s%s", walk->below, entry_name) < 0 ||
	    asprintf(&member, "%s/%s", dataset->name, name) < 0 ||
	    asprintf(&path, "%s/%s", dataset->path, name) < 0)
		bpk_fail_memory(walk->err, strlen(entry_name));
	else if (entry == BPK_ENTRY_FILE)
		rc = walk_file(walk, name, member, path);
	else if (entry == BPK_ENTRY_DIRECTORY)
		rc = walk_folder(walk, name, member);
	else
		rc = bpk_fail(walk->err, BPK_FAILED,
			      "%s: is no regular file and no folder, which a dataset is made of",
			      path);
	free(name);
	free(member);
	free(path);
	return rc;
}

/* Everything below the folder name; "" is the directory itself. */
static int walk_below(struct walk *walk, const char *name)
{
	const char *before = walk->below;
	char *below = NULL;
	struct bpk_err err = { 0 };
	int rc;

	if (asprintf(&below, "%s%s", name, *name != '\0' ? "/" : "") < 0)
		return bpk_fail_memory(walk->err, strlen(name));
	walk->below = below;
	rc = bpk_dir_list(walk->dir, name, meet, walk, &err);
	walk->below = before;
	free(below);
	if (rc != 0 && err.kind != BPK_OK) { /* the listing itself failed, not a visit */
		*walk->err = err;
		bpk_err_subject(walk->err, "%s", walk->dataset->path);
	}
	return rc;
}

static int store_directory(struct bpk_tar_storing *s, struct bpk_tar_dataset *dataset,
			   struct bpk_dir *dir, struct bpk_err *err)
{
	struct walk walk = { .s = s, .dataset = dataset, .dir = dir, .err = err };
	uint64_t stored;

	if (bpk_tar_folder(s->writer, dataset->name, &dataset->stat, err) != 0)
		return bpk_tar_subject(s, err);
	if (walk_below(&walk, "") != 0)
		return -1;
	stored = walk.seen;
	walk.s = NULL;
	walk.seen = 0;
	if (walk_below(&walk, "") != 0)
		return -1;
	if (walk.seen == stored)
		return 0;
	return bpk_fail(err, BPK_FAILED, "%s: changed while it was read", dataset->path);
}

int bpk_tar_store_packed(struct bpk_tar_storing *s, struct bpk_tar_dataset *dataset,
			 struct bpk_err *err)
{
	struct bpk_input in;
	int rc = bpk_input_find(&in, dataset->path, &s->args->shared, err);

	if (rc == 0 && in.place.directory != NULL)
		rc = store_directory(s, dataset, in.place.directory, err);
	else if (rc == 0)
		rc = store_source(s, dataset, in.place.source, dataset->path, dataset->name, err);
	bpk_input_close(&in);
	return rc;
}
