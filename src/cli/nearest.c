/* The nearest known word for a misspelt one, for messages about options, commands, arrays and keys.
 * Called by opt.c, commands.c, pick.c and meta.c. */
#include "cli/nearest.h"

#include <stdint.h>
#include <string.h>

enum { MAX_WORD = 63 };

static size_t min3(size_t a, size_t b, size_t c)
{
	size_t least = a < b ? a : b;

	return least < c ? least : c;
}

/* Three rows of the table of prefix distances are alive at a time; a swap looks two rows back. */
size_t bpk_word_distance(const char *a, const char *b)
{
	size_t rows[3][MAX_WORD + 1];
	size_t m = strlen(a), n = strlen(b);
	size_t *before = rows[0], *last = rows[1], *now = rows[2];

	if (m > MAX_WORD || n > MAX_WORD)
		return SIZE_MAX;
	for (size_t j = 0; j <= n; j++)
		last[j] = before[j] = j;
	for (size_t i = 1; i <= m; i++) {
		size_t *oldest = before;

		now[0] = i;
		for (size_t j = 1; j <= n; j++) {
			size_t replaced = last[j - 1] + (a[i - 1] != b[j - 1]);

			now[j] = min3(last[j] + 1, now[j - 1] + 1, replaced);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    before[j - 2] + 1 < now[j])
				now[j] = before[j - 2] + 1;
		}
		before = last;
		last = now;
		now = oldest;
	}
	return last[n];
}

void bpk_nearest_offer(struct bpk_nearest *nearest, const char *known)
{
	size_t distance = bpk_word_distance(nearest->word, known);
	size_t typed = strlen(nearest->word), longer = strlen(known);

	longer = longer > typed ? longer : typed;
	if (typed > 0 && strncmp(nearest->word, known, typed) == 0)
		distance = 0;
	if (distance > (longer + 2) / 3)
		return;
	if (nearest->best == NULL || distance < nearest->distance) {
		nearest->best = known;
		nearest->distance = distance;
	}
}
