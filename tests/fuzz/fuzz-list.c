/* Hostile lists of changes (io/tree/changes.h) with a valid checksum: names of an accepted list lie
 * below the root, and writing it gives the same bytes. */
#include "fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

#include "io/tree/dir.h"
#include "io/file/hidden.h"
#include "io/tree/changes.h"

static void require(bool promise, const char *text)
{
	if (promise)
		return;
	fprintf(stderr, "broken: %s\n", text);
	abort();
}

static void look_at(const struct bpk_changes *redo, const struct bpk_change *change)
{
	require(bpk_dir_check_name(change->name, NULL) == 0, "names are safe");
	require(!bpk_hidden_is_name(change->name), "locks and lists are not changed");
	require(change->draft == NULL || bpk_dir_check_name(change->draft, NULL) == 0,
		"names of drafts are safe");
	require(change->draft == NULL || bpk_hidden_is_name(change->draft), "drafts are drafts");
	require(bpk_changes_find(redo, change->name) == change, "every change is found");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bpk_buf text = { 0 }, copy = { 0 }, spelled = { 0 };
	struct bpk_changes redo = { 0 };
	struct bpk_err err = { 0 };

	require(bpk_buf_append(&text, bpk_view(data, size), &err) == 0 &&
			bpk_buf_printf(&text, &err, "crc32\t%08x\n",
				       (unsigned)crc32_z(0, data, size)) == 0 &&
			bpk_buf_append(&copy, bpk_buf_view(&text), &err) == 0,
		"memory");
	if (bpk_changes_parse(&text, &redo, &err) == 0) {
		require(redo.count > 0, "a list has changes");
		for (size_t i = 0; i < redo.count; i++)
			look_at(&redo, &redo.changes[i]);
		require(bpk_changes_encode(&redo, &spelled, &err) == 0, "memory");
		require(spelled.size == copy.size &&
				memcmp(spelled.data, copy.data, copy.size) == 0,
			"there is one way to write a list");
	} else {
		require(err.kind == BPK_CORRUPT, err.text);
		require(redo.count == 0 && redo.changes == NULL, "a failure leaves it empty");
	}
	bpk_changes_clear(&redo);
	bpk_buf_clear(&text);
	bpk_buf_clear(&copy);
	bpk_buf_clear(&spelled);
	return 0;
}
