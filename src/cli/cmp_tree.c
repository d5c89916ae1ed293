/* bpk cmp -r: the files of two trees, in pairs of one name. Called by cmp.c. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/cmp.h"
#include "cli/record.h"
#include "cli/report.h"
#include "cli/share.h"
#include "cli/side.h"
#include "cli/text.h"

/* A file of either tree. */
struct entry {
	struct bpk_file *file;
	int side;
	const char *name; /* below the root */
	size_t size;      /* of the part of the name that counts */
	bool is_paired;
};

/* Two files, or one; the other is NULL. */
struct pair {
	struct bpk_file *files[2];
	const char *name;
};

struct trees {
	const struct bpk_cmp_args *args;
	const char *roots[2];
	struct bpk_files files[2];
	bool is_partial[2]; /* a part could not be read, which was reported */
	struct entry *entries;
	size_t nentries;
	struct pair *pairs;
	size_t npairs;
	uint64_t ndifferent, nlone, nfailed; /* lone: in one tree alone */
};

/* Parity is no content. */
static bool takes(const char *path)
{
	return !bpk_side_is(path);
}

static const struct bpk_tree_kind kind = { .takes = takes, .takes_datasets = true };

/* ---- pairs ---- */

static int compare_names(const struct entry *a, const struct entry *b)
{
	int order = memcmp(a->name, b->name, bpk_min_size(a->size, b->size));

	return order != 0 ? order : (a->size > b->size) - (a->size < b->size);
}

/* Those that are paired go last. Of archives of one name the first ones of both sides meet. */
static int by_name(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;
	int order = a->is_paired - b->is_paired;

	if (order == 0)
		order = compare_names(a, b);
	if (order == 0)
		order = a->side - b->side;
	if (order == 0)
		order = strcmp(a->name, b->name) * (a->side == 0 ? -1 : 1);
	return order;
}

static void add_pair(struct trees *trees, const struct entry *a, const struct entry *b)
{
	struct pair *pair = &trees->pairs[trees->npairs++];

	pair->name = a->name;
	pair->files[a->side] = a->file;
	if (b != NULL)
		pair->files[b->side] = b->file;
}

/* Pair entries of one name. */
static void pair_up(struct trees *trees)
{
	struct entry *entries = trees->entries;

	qsort(entries, trees->nentries, sizeof *entries, by_name);
	for (size_t i = 0; i + 1 < trees->nentries && !entries[i].is_paired; i++) {
		struct entry *a = &entries[i], *b = a + 1;

		if (b->is_paired || a->side == b->side || compare_names(a, b) != 0)
			continue;
		add_pair(trees, a, b);
		a->is_paired = b->is_paired = true;
		i++;
	}
}

static int compare_pairs(const void *left, const void *right)
{
	return strcmp(((const struct pair *)left)->name, ((const struct pair *)right)->name);
}

/* Names are compared as they are; then those that are left without the suffix of an archive; and
 * the rest is in one tree alone. */
static void make_pairs(struct trees *trees)
{
	pair_up(trees);
	for (size_t i = 0; i < trees->nentries; i++) {
		const char *suffix = bpk_format_suffix(trees->entries[i].name);

		if (suffix != NULL)
			trees->entries[i].size -= strlen(suffix);
	}
	pair_up(trees);
	for (size_t i = 0; i < trees->nentries; i++)
		if (!trees->entries[i].is_paired)
			add_pair(trees, &trees->entries[i], NULL);
	qsort(trees->pairs, trees->npairs, sizeof *trees->pairs, compare_pairs);
}

static void list_entries(struct trees *trees)
{
	for (int side = 0; side < 2; side++)
		for (size_t i = 0; i < trees->files[side].count; i++) {
			struct bpk_file *file = &trees->files[side].all[i];
			char *name = file->path + file->below;
			size_t size = strlen(name);

			/* a dataset of a store ends with a slash */
			if (size > 0 && name[size - 1] == '/')
				name[--size] = '\0';
			trees->entries[trees->nentries++] = (struct entry){
				.file = file, .side = side, .name = name, .size = size
			};
		}
}

/* ---- shares ---- */

/* The pairs as files, which have the size of both, if they are shared. For bpk_files_clear. */
static int list_pairs(const struct trees *trees, struct bpk_files *files, struct bpk_err *err)
{
	bool is_shared = trees->args->shared.tree.share.count > 0 || bpk_share_is_asked();
	int rc = 0;

	for (size_t i = 0; is_shared && rc == 0 && i < trees->npairs; i++) {
		const struct pair *pair = &trees->pairs[i];

		rc = bpk_files_add(files, bpk_strdup(pair->name, err), err);
		for (int side = 0; rc == 0 && side < 2; side++)
			if (pair->files[side] != NULL)
				files->all[i].size += bpk_min_u64(bpk_file_size(pair->files[side]),
								  BPK_UNKNOWN / 4);
	}
	return rc;
}

/* Leave the pairs of the share. */
static int share(struct trees *trees, struct bpk_files *files, struct bpk_err *err)
{
	size_t kept = 0;

	if (trees->args->shared.tree.share.count == 0)
		return 0;
	if (bpk_files_share(&trees->args->shared, files, err) != 0)
		return -1;
	/* both are in the order of names */
	for (size_t i = 0; i < trees->npairs && kept < files->count; i++)
		if (strcmp(trees->pairs[i].name, files->all[kept].path) == 0)
			trees->pairs[kept++] = trees->pairs[i];
	trees->npairs = kept;
	return 0;
}

/* ---- one pair ---- */

static void tell_missing(const struct trees *trees, const struct pair *pair)
{
	int side = pair->files[0] == NULL;
	const struct bpk_shared *shared = &trees->args->shared;
	const char *path = pair->files[side]->path;

	bpk_report_difference();
	if (shared->json) {
		bpk_record_begin("cmp", path);
		bpk_record_text("other", NULL);
		bpk_record_text("difference",
				side == 0 ? "only in the first" : "only in the second");
		bpk_record_end();
		bpk_record_settle(shared, path);
	} else if (!shared->quiet) {
		fputs("only in ", stdout);
		bpk_print_escaped(bpk_view(trees->roots[side], strlen(trees->roots[side])));
		fputs(": ", stdout);
		bpk_print_escaped(bpk_view(pair->name, strlen(pair->name)));
		putchar('\n');
		bpk_flush_results();
	}
}

static void compare_pair(void *arg, size_t number)
{
	struct trees *trees = arg;
	const struct pair *pair = &trees->pairs[number];
	bool lone = pair->files[0] == NULL || pair->files[1] == NULL;
	int rc = 0;

	if (lone && trees->is_partial[pair->files[0] != NULL])
		rc = -1; /* it may lie in the part that was not read */
	else if (!lone)
		rc = bpk_cmp_files(trees->args, pair->files[0]->path, pair->files[1]->path);
	else if (!bpk_share_assists())
		tell_missing(trees, pair);
	if (bpk_share_assists()) /* rank 0 counts */
		return;
	trees->nlone += lone && rc == 0;
	trees->ndifferent += rc > 0;
	trees->nfailed += rc < 0;
}

/* ---- all ---- */

static int gather(struct trees *trees, struct bpk_err *err)
{
	struct bpk_shared shared = trees->args->shared;
	size_t count;

	shared.tree.share.count = 0; /* pairs are shared, not files */
	for (int side = 0; side < 2; side++) {
		char *const named[] = { (char *)trees->roots[side] };
		struct bpk_tally tally = { 0 };
		bool directory;

		if (bpk_tree_is_directory(named[0], &directory, err) != 0)
			return -1;
		if (!directory) {
			bpk_fail(err, BPK_FAILED, "is not a directory");
			return bpk_err_subject(err, "%s", bpk_input_name(named[0]));
		}
		shared.tally = &tally;
		if (bpk_files_gather(&shared, &kind, named, 1, &trees->files[side], err) != 0)
			return -1;
		trees->is_partial[side] = tally.failed + tally.damaged + tally.skipped > 0;
	}
	count = trees->files[0].count + trees->files[1].count;
	if (count == 0)
		return bpk_fail(err, BPK_FAILED, "no file was found in either directory");
	trees->entries = bpk_calloc(count, sizeof *trees->entries, err);
	trees->pairs = bpk_calloc(count, sizeof *trees->pairs, err);
	return trees->entries == NULL || trees->pairs == NULL ? -1 : 0;
}

static void tell_sum(const struct trees *trees)
{
	const struct bpk_shared *shared = &trees->args->shared;
	uint64_t equal = trees->npairs - trees->ndifferent - trees->nlone - trees->nfailed;

	if (shared->verbose == 0 || shared->json || shared->quiet)
		return;
	printf("%" PRIu64 " %s equal, %" PRIu64 " different, %" PRIu64
	       " in one directory only, %" PRIu64 " failed\n",
	       equal, bpk_plural(equal, "file is", "files are"), trees->ndifferent, trees->nlone,
	       trees->nfailed);
	bpk_flush_results();
}

static void compare_pairs_of(struct trees *trees, const struct bpk_files *files)
{
	if (files->count > 0 && bpk_share_each(&trees->args->shared, files, compare_pair, trees)) {
		bpk_share_total(&trees->ndifferent);
		bpk_share_total(&trees->nlone);
		bpk_share_total(&trees->nfailed);
	} else {
		for (size_t i = 0; i < trees->npairs; i++)
			compare_pair(trees, i);
	}
	if (bpk_share_leads())
		tell_sum(trees);
}

void bpk_cmp_trees(const struct bpk_cmp_args *args, const char *a, const char *b)
{
	struct trees trees = { .args = args, .roots = { a, b } };
	struct bpk_files files = { 0 };
	struct bpk_err err = { 0 };
	int rc = gather(&trees, &err);

	if (rc == 0) {
		list_entries(&trees);
		make_pairs(&trees);
		rc = list_pairs(&trees, &files, &err);
	}
	if (rc == 0)
		rc = share(&trees, &files, &err);
	if (rc != 0)
		bpk_report(NULL, &err);
	else
		compare_pairs_of(&trees, &files);
	free(trees.entries);
	free(trees.pairs);
	bpk_files_clear(&files);
	bpk_files_clear(&trees.files[0]);
	bpk_files_clear(&trees.files[1]);
}
