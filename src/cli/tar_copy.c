/* bpk tar: datasets stored as they lie there. Called by tar_store.c. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "cli/transfer.h"
#include "cli/progress.h"
#include "cli/tar_store.h"

/* ---- a file ---- */

/* A file being stored. At the end it must show one state: it has not changed since it was opened,
 * or the stored bytes are still there. */
struct copying {
	struct bpk_source *source;
	const char *path;           /* its name in messages */
	const struct bpk_input *in; /* an archive that ends at size; NULL: any other file */
	uint64_t size;              /* bytes to store */
	bool in_change;             /* when it was opened */
	struct timespec opened;
};

static int fail_changed(const struct copying *c, struct bpk_err *err)
{
	return bpk_fail(err, BPK_FAILED, "%s: changed while it was read", c->path);
}

/* Bytes that a running or killed writer overwrote are read as they were committed. */
static int read_piece(const struct copying *c, uint64_t offset, struct bpk_span piece,
		      struct bpk_err *err)
{
	size_t got;
	int rc = bpk_source_hold(c->source, err);

	if (rc == 0) {
		rc = bpk_source_read_at(c->source, offset, piece, &got, err);
		bpk_source_release(c->source);
	}
	if (rc != 0)
		return bpk_err_subject(err, "%s", c->path);
	return got == piece.size ? 0 : fail_changed(c, err);
}

/* Pass all bytes to draft, or with NULL only read them. */
static int pass(struct bpk_tar_storing *s, const struct copying *c, struct bpk_draft *draft,
		struct bpk_progress *progress, uint64_t *hash, struct bpk_err *err)
{
	*hash = BPK_HASH_START;
	for (uint64_t done = 0; done < c->size;) {
		struct bpk_span piece =
			bpk_span(s->piece.data, (size_t)bpk_min_u64(BPK_TAR_PIECE, c->size - done));

		if (read_piece(c, done, piece, err) != 0)
			return -1;
		*hash = bpk_hash_words(*hash, bpk_view_of_span(piece));
		if (draft != NULL && bpk_draft_write(draft, bpk_view_of_span(piece), err) != 0)
			return bpk_tar_subject(s, err);
		done += piece.size;
		if (progress != NULL)
			bpk_progress_update(progress, done, done);
	}
	return 0;
}

static int find_end(const struct bpk_tar_storing *s, struct bpk_input *in, uint64_t *end,
		    struct bpk_err *err)
{
	if (bpk_input_start(in, &s->args->shared, 0, err) != 0)
		return -1;
	*end = bpk_source_size(in->place.source);
	if (in->format->reader->end == NULL || in->format->reader->end(in->reader, end, err) == 0)
		return 0;
	return bpk_input_subject(in, err);
}

/* Fails unless the archive still ends where it did, whatever follows there. */
static int check_end(const struct bpk_tar_storing *s, const struct copying *c, struct bpk_err *err)
{
	struct bpk_input now = { .path = c->path, .place = c->in->place, .format = c->in->format };
	uint64_t end;
	int rc = find_end(s, &now, &end, err);

	if (now.reader != NULL)
		now.format->reader->close(now.reader);
	if (rc != 0 && bpk_err_is_of_machine(err))
		return -1;
	return rc == 0 && end == c->size ? 0 : fail_changed(c, err);
}

/* Fails unless the bytes that hash to stored were all of one state. */
static int check_stored(struct bpk_tar_storing *s, const struct copying *c, uint64_t stored,
			struct bpk_err *err)
{
	struct bpk_err found = { 0 };
	uint64_t now;

	if (!c->in_change && bpk_source_is_untouched(c->source, &c->opened))
		return 0;
	/* without a known end, a file that has grown may have been incomplete */
	if (c->in == NULL && bpk_source_unchanged(c->source, &found) != 0)
		return bpk_fail(err, found.kind, "%s: %s", c->path, found.text);
	if (pass(s, c, NULL, NULL, &now, err) != 0)
		return -1;
	if (now != stored)
		return fail_changed(c, err);
	return c->in == NULL ? 0 : check_end(s, c, err);
}

static int copy(struct bpk_tar_storing *s, const struct copying *c, struct bpk_draft *draft,
		struct bpk_err *err)
{
	const struct bpk_shared *shared = &s->args->shared;
	struct bpk_progress progress;
	uint64_t stored;
	int rc;

	bpk_progress_start(&progress, shared->progress, shared->quiet, c->path, c->size);
	rc = pass(s, c, draft, &progress, &stored, err);
	if (rc == 0)
		rc = check_stored(s, c, stored, err);
	bpk_progress_hide();
	return rc;
}

/* Store the file as the member name. */
static int store_file(struct bpk_tar_storing *s, struct bpk_tar_dataset *dataset,
		      const struct copying *c, const char *name, struct bpk_err *err)
{
	struct bpk_draft *draft;

	if (bpk_tar_member(s->writer, name, c->size, bpk_source_stat(c->source), &draft, err) != 0)
		return bpk_tar_subject(s, err);
	if (copy(s, c, draft, err) != 0) {
		bpk_draft_drop(draft);
		return -1;
	}
	if (bpk_draft_keep(draft, NULL, err) != 0)
		return bpk_tar_subject(s, err);
	dataset->size += c->size;
	dataset->nfiles++;
	return 0;
}

static struct copying copying_of(struct bpk_source *source, const char *path)
{
	struct copying c = {
		.source = source,
		.path = path,
		.size = bpk_source_size(source),
		.in_change = bpk_source_in_change(source),
	};

	clock_gettime(CLOCK_REALTIME, &c.opened);
	return c;
}

/*
 * An archive is stored up to its committed end. One that cannot be read, being damaged or of a
 * later version, is stored as it lies.
 */
static int store_archive(struct bpk_tar_storing *s, struct bpk_tar_dataset *dataset,
			 struct bpk_input *in, struct bpk_err *err)
{
	struct copying c = copying_of(in->place.source, dataset->path);
	struct bpk_err found = { 0 };

	if (find_end(s, in, &c.size, &found) == 0)
		c.in = in;
	else if (bpk_err_is_of_machine(&found) ||
		 !bpk_is_still(bpk_source_stat(c.source), &dataset->seen))
		return bpk_fail_as(err, &found);
	if (store_file(s, dataset, &c, dataset->name, err) != 0)
		return -1;
	return c.size < bpk_source_size(c.source) ? bpk_input_tail(in, err) : 0;
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
	if (walk->s != NULL) {
		const struct copying c = copying_of(source, path);

		rc = store_file(walk->s, walk->dataset, &c, member, walk->err);
	}
	bpk_source_close(source);
	return rc;
}

static int walk_folder(struct walk *walk, const char *name, const char *member)
{
	struct stat found = walk->dataset->stat;

	if (bpk_dir_folder_stat(walk->dir, name, &found, walk->err) != 0)
		return bpk_err_subject(walk->err, "%s/%s", walk->dataset->path, name);
	walk->seen = bpk_hash(walk->seen, bpk_view(name, strlen(name) + 1));
	if (walk->s != NULL && bpk_tar_folder(walk->s->writer, member, &found, walk->err) != 0)
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
			      "%s: is neither a regular file nor a folder, expected one of these",
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

static int store_files(struct bpk_tar_storing *s, struct bpk_tar_dataset *dataset,
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

static int store_directory(struct bpk_tar_storing *s, struct bpk_tar_dataset *dataset,
			   struct bpk_dir *dir, struct bpk_err *err)
{
	struct bpk_err changed = { 0 };
	uint64_t generation;

	if (bpk_dir_generation(dir, &generation, err) != 0)
		return bpk_err_subject(err, "%s", dataset->path);
	if (store_files(s, dataset, dir, err) == 0)
		return 0;
	if (err->kind == BPK_CORRUPT && bpk_dir_settle(dir, generation, true, &changed) != 0)
		return bpk_fail(err, changed.kind, "%s: %s", dataset->path, changed.text);
	return -1;
}

int bpk_tar_store_packed(struct bpk_tar_storing *s, struct bpk_tar_dataset *dataset,
			 struct bpk_err *err)
{
	struct bpk_input in;
	int rc = bpk_tar_input(s, &in, dataset, err);

	if (rc == 0 && in.place.directory != NULL)
		rc = store_directory(s, dataset, in.place.directory, err);
	else if (rc == 0)
		rc = store_archive(s, dataset, &in, err);
	if (rc == 0)
		bpk_tar_count_like(s, &in);
	bpk_input_close(&in);
	return rc;
}
