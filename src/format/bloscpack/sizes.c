/*
 * The list of chunk sizes in the metadata, for archives whose chunk sizes differ. Called by
 * metadata.c, open.c, reader.c and text.c. It is the last member of the object, inserted as text so
 * that the user's own text stays unchanged:
 *
 *     {"a":1,"bpk_chunks":[[57,1048576,300032],[1,4096]]}
 *
 * means 57 times a chunk of 1048576 bytes and one of 300032, then one of 4096. The list never
 * includes the last chunk, whose size is in the header, nor appended chunks.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "format/bloscpack/bloscpack.h"

enum {
	LONGEST_PATTERN = 32, /* runs in a pattern that is searched for */
	SPELLED_OUT = 16,     /* most chunks in a run that is part of a pattern */
	LONGEST_LIST = 192 << 10,
	RAW_PER_BYTE = 1000, /* keeps the list under a thousandth of the data */
	SHORT_LIST = 256,    /* a list up to this size is always stored */
};

static const char name[] = "bpk_chunks";

/* ---- Reading ---- */

/* Parse [count, size, size ...]; false if it is malformed, or has more than most chunks. */
static bool parse_pattern(struct bpk_view pattern, uint64_t most, struct bpk_sizes *runs,
			  struct bpk_err *err)
{
	struct bpk_view value;
	uint64_t count, size;
	size_t at = 0, behind;

	if (bpk_json_kind(pattern) != BPK_JSON_LIST || !bpk_json_next(pattern, &at, NULL, &value) ||
	    !bpk_json_u64(value, &count) || count == 0)
		return false;
	behind = at;
	for (uint64_t i = 0; i < count; i++) {
		uint64_t before = runs->nchunks;
		bool alone;

		for (at = behind; bpk_json_next(pattern, &at, NULL, &value);)
			if (!bpk_json_u64(value, &size) || size == 0 ||
			    size > BPK_CHUNK_MAX_RAW_SIZE || runs->nchunks >= most ||
			    bpk_sizes_add(runs, 1, (uint32_t)size, 0, err) != 0)
				return false;
		alone = runs->nchunks - before == 1;
		if (runs->nchunks == before)
			return false;
		if (alone)
			return count - 1 <= most - runs->nchunks &&
			       bpk_sizes_add(runs, count - 1, (uint32_t)size, 0, err) == 0;
	}
	return true;
}

static bool parse_list(struct bpk_view list, uint64_t most, struct bpk_sizes *runs,
		       struct bpk_err *err)
{
	struct bpk_view pattern;
	size_t at = 0;

	if (bpk_json_kind(list) != BPK_JSON_LIST)
		return false;
	while (bpk_json_next(list, &at, NULL, &pattern))
		if (!parse_pattern(pattern, most, runs, err))
			return false;
	return runs->nchunks > 0;
}

int bpk_bloscpack_sizes_parse(struct bpk_view text, uint64_t nchunks,
			      struct bpk_bloscpack_sizes *sizes, struct bpk_err *err)
{
	struct bpk_err why = { 0 };
	struct bpk_view key, value;

	*sizes = (struct bpk_bloscpack_sizes){ 0 };
	if (nchunks == BPK_UNKNOWN || !bpk_bloscpack_member_find(text, name, &key, &value))
		return 0;
	if (bpk_bloscpack_member_cut(text, key, value, &sizes->user, err) != 0)
		return -1;
	sizes->listed = true;
	if (nchunks == 0 || !parse_list(value, nchunks - 1, &sizes->runs, &why)) {
		bpk_sizes_clear(&sizes->runs);
		sizes->wrong = true;
	}
	return bpk_err_pass_memory(&why, err);
}

void bpk_bloscpack_sizes_clear(struct bpk_bloscpack_sizes *sizes)
{
	bpk_buf_clear(&sizes->user);
	bpk_sizes_clear(&sizes->runs);
	*sizes = (struct bpk_bloscpack_sizes){ 0 };
}

/* ---- Writing ---- */

/* Number of chunks in run i. */
static uint64_t length_of(const struct bpk_sizes *runs, size_t i)
{
	return (i + 1 < runs->count ? runs->all[i + 1].first : runs->nchunks) - runs->all[i].first;
}

static bool are_same(const struct bpk_sizes *runs, size_t i, size_t k)
{
	return runs->all[i].size == runs->all[k].size && length_of(runs, i) == length_of(runs, k);
}

/* How many times the n runs from first on occur in succession. */
static size_t count_repeats(const struct bpk_sizes *runs, size_t first, size_t n)
{
	size_t end = first + n;

	while (end < runs->count && are_same(runs, end, end - n))
		end++;
	return (end - first) / n;
}

/* The length of the pattern at first that covers most runs; a shorter one wins a tie. */
static size_t find_pattern(const struct bpk_sizes *runs, size_t first, size_t *repeats)
{
	size_t best = 1, covered = 1;

	*repeats = 1;
	for (size_t n = 1; n <= LONGEST_PATTERN && first + n <= runs->count; n++) {
		size_t times = count_repeats(runs, first, n);

		if (length_of(runs, first + n - 1) > SPELLED_OUT)
			break;
		if (times > 1 && times * n > covered) {
			covered = times * n;
			*repeats = times;
			best = n;
		}
	}
	return best;
}

static int print_pattern(const struct bpk_sizes *runs, size_t first, size_t n, size_t repeats,
			 struct bpk_buf *out, struct bpk_err *err)
{
	bool alone = n == 1 && repeats == 1;
	uint64_t times = alone ? length_of(runs, first) : repeats;
	int rc = bpk_buf_printf(out, err, "%s[%" PRIu64, first > 0 ? "," : "", times);

	for (size_t i = first; rc == 0 && i < first + n; i++)
		for (uint64_t k = 0; rc == 0 && k < (alone ? 1 : length_of(runs, i)); k++)
			rc = bpk_buf_printf(out, err, ",%u", (unsigned)runs->all[i].size);
	return rc == 0 ? bpk_buf_printf(out, err, "]") : -1;
}

/* Print the list; out is empty if the list is too long for the data it describes. */
static int print_list(const struct bpk_sizes *runs, struct bpk_buf *out, struct bpk_err *err)
{
	uint64_t most = bpk_max_u64(SHORT_LIST, runs->raw_size / RAW_PER_BYTE);
	size_t n, repeats;

	out->size = 0;
	if (bpk_buf_printf(out, err, "[") != 0)
		return -1;
	for (size_t i = 0; i < runs->count; i += n * repeats) {
		n = find_pattern(runs, i, &repeats);
		if (print_pattern(runs, i, n, repeats, out, err) != 0)
			return -1;
		if (out->size > bpk_min_u64(most, LONGEST_LIST)) {
			out->size = 0;
			return 0;
		}
	}
	return bpk_buf_printf(out, err, "]");
}

int bpk_bloscpack_sizes_join(struct bpk_view user, const struct bpk_sizes *runs,
			     struct bpk_buf *out, struct bpk_err *err)
{
	struct bpk_buf list = { 0 };
	bool joined;
	int rc = 0;

	out->size = 0;
	if (runs != NULL && runs->nchunks > 0)
		rc = print_list(runs, &list, err);
	if (rc == 0)
		rc = list.size > 0 ? bpk_bloscpack_member_join(user, name, bpk_buf_view(&list), out,
							       &joined, err)
				   : bpk_buf_append(out, user, err);
	bpk_buf_clear(&list);
	return rc;
}
