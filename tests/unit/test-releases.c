/*
 * Chunks by old releases of c-blosc, found through BPK_FIXTURES: every codec of each release.
 */
#include "unit/unit.h"

#include "chunk/chunk.h"

#include <glob.h>
#include <openssl/evp.h>
#include <stdio.h>

/* SHA256SUMS.txt: digest, size, name. */
static int find_digest(const char *folder, const char *name, char digest[65])
{
	char line[512], path[1024], found[300];
	int rc = -1;
	FILE *f;

	snprintf(path, sizeof path, "%s/blosc1/SHA256SUMS.txt", folder);
	f = fopen(path, "r");
	if (f == NULL)
		return -1;
	while (rc != 0 && fgets(line, sizeof line, f) != NULL)
		if (sscanf(line, "%64s %*s %299s", digest, found) == 2)
			rc = strcmp(found, name) == 0 ? 0 : -1;
	fclose(f);
	return rc;
}

static void check_digest(const uint8_t *bytes, size_t size, const char *expected)
{
	uint8_t digest[EVP_MAX_MD_SIZE];
	char text[2 * EVP_MAX_MD_SIZE + 1];
	unsigned length = 0;

	assert_int_equal(EVP_Digest(bytes, size, digest, &length, EVP_sha256(), NULL), 1);
	for (unsigned i = 0; i < length; i++)
		snprintf(text + (size_t)2 * i, 3, "%02x", digest[i]);
	assert_string_equal(text, expected);
}

static void check_release(struct bpk_chunk_ctx *ctx, const char *folder, const char *path)
{
	enum { RAW = 4000000 };
	uint8_t *packed = malloc(RAW + 4096), *raw = malloc(RAW);
	struct bpk_chunk_header header;
	struct bpk_err err = { 0 };
	char digest[65];
	FILE *f = fopen(path, "rb");
	size_t size;

	assert_non_null(packed);
	assert_non_null(raw);
	assert_non_null(f);
	size = fread(packed, 1, RAW + 4096, f);
	fclose(f);
	if (bpk_chunk_header_read(bpk_view(packed, size), &header, &err) != 0 ||
	    header.raw_size != RAW ||
	    bpk_chunk_decode(ctx, bpk_view(packed, size), bpk_span(raw, RAW), &err) != 0) {
		fprintf(stderr, "%s: %s\n", path, err.text);
		fail();
	}
	assert_int_equal(find_digest(folder, strrchr(path, '/') + 1, digest), 0);
	check_digest(raw, RAW, digest);
	free(packed);
	free(raw);
}

/* One bare chunk per file, by c-blosc 1.3 to 1.18. */
static void test_chunks_of_old_releases(void **state)
{
	const char *folder = getenv("BPK_FIXTURES");
	struct bpk_chunk_ctx *ctx = bpk_chunk_ctx_new(NULL);
	char pattern[1024];
	glob_t found;

	(void)state;
	assert_non_null(ctx);
	snprintf(pattern, sizeof pattern, "%s/blosc1/*.cdata", folder);
	assert_int_equal(glob(pattern, 0, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++)
		check_release(ctx, folder, found.gl_pathv[i]);
	globfree(&found);
	bpk_chunk_ctx_free(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_chunks_of_old_releases),
	};

	if (getenv("BPK_FIXTURES") == NULL) {
		puts("1..0 # SKIP BPK_FIXTURES is not set");
		return 0;
	}
	return UNIT_RUN(tests);
}
