/*
 * A hostile parity file, whose digests are made to fit: open it, compare an archive that has
 * nothing to do with it, name the losses and restore what can be.
 */
#include "fuzz/fuzz.h"

#include "parity/side.h"

#include <stdio.h>
#include <stdlib.h>

enum { ARCHIVE = 3000, LARGEST = 64 << 10 };

static void require(bool promise, const char *text)
{
	if (promise)
		return;
	fprintf(stderr, "broken: %s\n", text);
	abort();
}

/* Seal the first head, and the pages behind it that are there. */
static void seal(uint8_t *file, size_t size)
{
	uint8_t digest[BPK_DIGEST_MAX], page[BPK_SIDE_PAYLOAD + 8];

	if (size < BPK_SIDE_HEAD)
		return;
	memcpy(file, "bpkparit", 8);
	bpk_checksum_compute(bpk_checksum_find("sha256"), bpk_view(file, 480), digest, NULL);
	memcpy(file + 480, digest, 32);
	for (size_t i = 0; (size - BPK_SIDE_HEAD) / BPK_SIDE_PAGE > i; i++) {
		uint8_t *at = file + BPK_SIDE_HEAD + i * BPK_SIDE_PAGE;

		memcpy(page, at, BPK_SIDE_PAYLOAD);
		bpk_put_le64(page + BPK_SIDE_PAYLOAD, i);
		bpk_side_sum(bpk_view(page, sizeof page), at + BPK_SIDE_PAYLOAD, NULL);
	}
}

static void count_lost(void *arg, uint64_t offset, uint64_t size)
{
	uint64_t *end = arg;

	require(size > 0 && (offset > *end || *end == 0), "losses come in order, and apart");
	*end = offset + size;
}

static int put(void *arg, uint64_t offset, struct bpk_view bytes, struct bpk_err *err)
{
	const struct bpk_parity *parity = arg;

	(void)err;
	require(bytes.size <= bpk_parity_size(parity) &&
			offset <= bpk_parity_size(parity) - bytes.size,
		"restored cells lie in the archive");
	return 0;
}

static void use(struct bpk_parity *parity)
{
	static uint8_t bytes[ARCHIVE];
	struct bpk_parity_scan scan = { 0 };
	struct bpk_source *archive;
	struct bpk_err err = { 0 };
	uint64_t end = 0;

	require(bpk_source_of_memory(bpk_view(bytes, sizeof bytes), &archive, NULL) == 0, "memory");
	require(bpk_parity_compare(parity, archive, &scan, &err) == 0, err.text);
	require(scan.lost <= scan.bad && scan.bad <= bpk_parity_cells(parity), "counts fit");
	require(bpk_parity_losses(parity, &scan, count_lost, &end, &err) == 0, err.text);
	require((end > 0) == (scan.lost > 0), "losses are named");
	if (bpk_parity_heal(parity, archive, &scan, put, parity, &err) != 0)
		require(err.kind == BPK_CORRUPT, err.text);
	bpk_parity_scan_clear(&scan);
	bpk_source_close(archive);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *file = malloc(size + 1);
	struct bpk_parity *parity = NULL;
	struct bpk_source *source;
	struct bpk_err err = { 0 };

	if (file == NULL || size > LARGEST) {
		free(file);
		return 0;
	}
	bpk_copy(file, data, size);
	seal(file, size);
	require(bpk_source_of_memory(bpk_view(file, size), &source, NULL) == 0, "memory");
	if (bpk_side_open_source(source, &parity, &err) == 0)
		use(parity);
	else
		require(err.kind == BPK_CORRUPT || err.kind == BPK_UNSUPPORTED, err.text);
	bpk_parity_close(parity);
	free(file);
	return 0;
}
