/*
 * A share of the operands: the largest first, each to the share that has least so far. So the
 * shares differ by less than the largest operand. tree.c calls it.
 */
#include <stdlib.h>
#include <sys/stat.h>

#include "cli/tree.h"

const struct bpk_opt bpk_opt_shard = {
	.name = "shard",
	BPK_OPT_VALUE(OPT_SHARE, struct bpk_shared, tree.share),
	.metavar = "I/N",
	.help = "only share I of N, from 1 to N, of the files",
	.more = "The shares of one list are even in size, and each file belongs to one of them, on "
		"every machine. With --rm a file's share follows from its name alone, and shares "
		"are about even in the number of files.",
};

/* Bytes that it takes as long to read as to open a file. */
enum { OPENING = 64 << 10 };

/* ---- sizes ---- */

/* A sum that ends at the largest number: sizes of a store's listing are only claims. */
static void count(uint64_t *sum, uint64_t size)
{
	if (!bpk_add_u64(*sum, size, sum))
		*sum = UINT64_MAX;
}

static int add_size(void *arg, const char *path, uint64_t size)
{
	struct stat found;

	if (size == BPK_UNKNOWN)
		size = lstat(path, &found) == 0 && S_ISREG(found.st_mode) ? (uint64_t)found.st_size
									  : 0;
	count(arg, size);
	return 0;
}

/* A file that is missing, or cannot be examined, has no size; whoever opens it reports that. */
uint64_t bpk_file_size(struct bpk_file *operand)
{
	struct bpk_source *source;
	struct stat found;
	bool missing;

	if (operand->size != BPK_UNKNOWN)
		return operand->size;
	operand->size = 0;
	if (!operand->is_dataset && !bpk_path_is_url(operand->path) &&
	    stat(operand->path, &found) == 0) {
		operand->is_dataset = S_ISDIR(found.st_mode);
		operand->size = S_ISREG(found.st_mode) ? (uint64_t)found.st_size : 0;
	}
	if (operand->is_dataset) {
		bpk_walk(operand->path, NULL, add_size, NULL, &operand->size, NULL);
	} else if (bpk_path_is_url(operand->path) &&
		   bpk_remote_open(operand->path, &source, &missing, NULL) == 0) {
		operand->size = bpk_source_size(source);
		bpk_source_close(source);
	}
	return operand->size;
}

/* ---- the order ---- */

/* By bytes, whatever the locale. */
static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct bpk_file *)a)->path, ((const struct bpk_file *)b)->path);
}

static int by_size(const void *a, const void *b)
{
	const struct bpk_file *left = a, *right = b;

	if (left->size != right->size)
		return left->size > right->size ? -1 : 1;
	return by_name(a, b);
}

static void sort(struct bpk_files *operands, int (*order)(const void *a, const void *b))
{
	if (operands->count > 0)
		qsort(operands->all, operands->count, sizeof *operands->all, order);
}

/* A name that is given twice belongs to one share. */
static void drop_repeated(struct bpk_files *operands)
{
	size_t kept = 0;

	sort(operands, by_name);
	for (size_t i = 0; i < operands->count; i++)
		if (kept > 0 && by_name(&operands->all[kept - 1], &operands->all[i]) == 0)
			free(operands->all[i].path);
		else
			operands->all[kept++] = operands->all[i];
	operands->count = kept;
}

/* ---- the shares ---- */

struct share {
	uint64_t size, number; /* number from 1 */
};

static bool is_before(const struct share *a, const struct share *b)
{
	return a->size != b->size ? a->size < b->size : a->number < b->number;
}

/* Restore the order of a heap whose first share has grown: none is before the one above it. */
static void sink(struct share *heap, uint64_t count)
{
	for (uint64_t at = 0, next; (next = 2 * at + 1) < count; at = next) {
		struct share moved = heap[at];

		next += next + 1 < count && is_before(&heap[next + 1], &heap[next]);
		if (!is_before(&heap[next], &moved))
			return;
		heap[at] = heap[next];
		heap[next] = moved;
	}
}

static void keep(struct bpk_files *operands, size_t *kept, size_t i, bool is_ours)
{
	if (is_ours)
		operands->all[(*kept)++] = operands->all[i];
	else
		free(operands->all[i].path);
}

static int share_by_size(const struct bpk_opt_share *share, struct bpk_files *operands,
			 struct bpk_err *err)
{
	struct share *heap = bpk_calloc((size_t)share->count, sizeof *heap, err);
	size_t kept = 0;

	if (heap == NULL)
		return -1;
	for (uint64_t n = 0; n < share->count; n++)
		heap[n].number = n + 1;
	for (size_t i = 0; i < operands->count; i++)
		(void)bpk_file_size(&operands->all[i]);
	sort(operands, by_size);
	for (size_t i = 0; i < operands->count; i++) {
		count(&heap[0].size, operands->all[i].size);
		count(&heap[0].size, OPENING);
		keep(operands, &kept, i, heap[0].number == share->number);
		sink(heap, share->count);
	}
	operands->count = kept;
	free(heap);
	return 0;
}

static void share_by_name(const struct bpk_opt_share *share, struct bpk_files *operands)
{
	size_t kept = 0;

	for (size_t i = 0; i < operands->count; i++) {
		const char *name = operands->all[i].path + operands->all[i].below;
		uint64_t hash = bpk_hash_text(BPK_HASH_START, name);

		hash = (hash ^ hash >> 32) % share->count;
		keep(operands, &kept, i, hash + 1 == share->number);
	}
	operands->count = kept;
}

int bpk_files_share(const struct bpk_shared *shared, struct bpk_files *operands,
		    struct bpk_err *err)
{
	int rc = 0;

	drop_repeated(operands);
	if (shared->remove)
		share_by_name(&shared->tree.share, operands);
	else
		rc = share_by_size(&shared->tree.share, operands, err);
	sort(operands, by_name);
	return rc;
}
