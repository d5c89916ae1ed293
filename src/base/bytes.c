/* Repeated bytes. The decoder, flow and arrays of several dimensions call it. */
#include "base/bytes.h"

/* The longest distance between copies, so that the source is still in cache. */
enum { NEAR = 32768 };

void bpk_bytes_repeat(struct bpk_view pattern, size_t phase, struct bpk_span out)
{
	size_t done = bpk_min_size(pattern.size, out.size);
	size_t first = bpk_min_size(pattern.size - phase, done);

	bpk_copy(out.data, pattern.data + phase, first);
	bpk_copy(out.data + first, pattern.data, done - first);
	/* the finished part is a whole number of patterns, or everything */
	while (done < out.size) {
		size_t whole =
			done <= NEAR ? done : bpk_max_u64(pattern.size, NEAR - NEAR % pattern.size);
		size_t count = bpk_min_size(whole, out.size - done);

		memcpy(out.data + done, out.data + (done - whole), count);
		done += count;
	}
}
