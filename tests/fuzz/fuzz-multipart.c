/* Hostile answers to a request for several ranges: a line of the head, then the body. Nothing is
 * written outside of the ranges, and the pieces in which the body comes make no difference. */
#include "fuzz/fuzz.h"

#include <stdlib.h>

#include "io/remote/multipart.h"

enum { RANGES = 3, TOTAL = 1000 };

static const struct {
	size_t offset, size;
} asked[RANGES] = { { 10, 10 }, { 20, 5 }, { 100, 40 } };

/* Take an answer whose body comes in pieces of step bytes. */
static bool take(struct bpk_multipart *body, struct bpk_view head, struct bpk_view bytes,
		 size_t step)
{
	struct bpk_answer answer = { .size = BPK_UNKNOWN, .total = BPK_UNKNOWN };
	bool is_good;

	body->count = RANGES;
	body->total = TOTAL;
	for (size_t i = 0; i < RANGES; i++) {
		uint8_t *data = calloc(1, asked[i].size);

		if (data == NULL)
			abort();
		body->ranges[i] =
			(struct bpk_multipart_range){ .offset = asked[i].offset,
						      .out = bpk_span(data, asked[i].size) };
	}
	bpk_answer_take(&answer, head);
	is_good = bpk_multipart_begin(body, &answer);
	while (is_good && bytes.size > 0) {
		size_t size = bpk_min_size(bytes.size, step);

		is_good = bpk_multipart_take(body, bpk_view(bytes.data, size));
		bytes = bpk_view(bytes.data + size, bytes.size - size);
	}
	for (size_t i = 0; i < RANGES; i++)
		if (!is_good && body->ranges[i].is_whole)
			abort();
	return is_good;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = size > 0 ? memchr(data, '\n', size) : NULL;
	size_t head = end != NULL ? (size_t)(end - data) : size;
	struct bpk_view line = bpk_view(data, head);
	struct bpk_view bytes = end != NULL ? bpk_view(end + 1, size - head - 1) : bpk_view("", 0);
	struct bpk_multipart one = { 0 }, other = { 0 };
	bool is_good = take(&one, line, bytes, SIZE_MAX);

	if (take(&other, line, bytes, 1 + head % 7) != is_good ||
	    bpk_multipart_is_cut(&one) != bpk_multipart_is_cut(&other))
		abort();
	for (size_t i = 0; i < RANGES; i++) {
		const struct bpk_multipart_range *a = &one.ranges[i], *b = &other.ranges[i];

		if (a->is_whole != b->is_whole ||
		    memcmp(a->out.data, b->out.data, a->out.size) != 0)
			abort();
		free(a->out.data);
		free(b->out.data);
	}
	return 0;
}
