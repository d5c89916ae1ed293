/* Hostile answers of a store: pages of listings, whose names must be sound, and errors; and files
 * of keys. */
#include "fuzz/fuzz.h"

#include "io/remote/list.h"
#include "io/remote/s3.h"
#include "io/tree/dir.h"

#include <stdlib.h>

static void list(struct bpk_view text)
{
	struct bpk_listing listing = { 0 };
	struct bpk_page page = { .listing = &listing, .prefix = "p/" };

	if (bpk_page_read(&page, text, NULL) == 0)
		for (size_t i = 0; i < listing.count; i++) {
			const struct bpk_listed *entry = bpk_listing_at(&listing, i);
			const char *name = bpk_listing_name(&listing, entry);

			if (bpk_dir_check_name(name, NULL) != 0 || strchr(name, '/') != NULL)
				abort();
		}
	free(page.next);
	bpk_listing_clear(&listing);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bpk_view text = bpk_view(data, size);
	const struct bpk_answer answer = { .status = 301 };
	struct bpk_s3_profile profile = { 0 };
	struct bpk_err err = { 0 };

	list(text);
	bpk_s3_explain(&answer, text, &err);
	bpk_s3_profile_read(text, "default", &profile, NULL);
	bpk_s3_profile_clear(&profile);
	return 0;
}
