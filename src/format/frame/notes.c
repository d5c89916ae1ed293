/* Notes on the files of a sparse frame's chunks: headers for the audit, and files that may have
 * been written since open. Called by the files that notes.h names. */
#include "format/frame/notes.h"
#include "format/frame/names.h"

#include <stdlib.h>

enum { MOST_NOTED = 1 << 20 }; /* chunks: 8 MiB. An audit opens the files of the others again */

/* A noted chunk: its packed size, its typesize, and this bit. */
#define NOTED (UINT64_C(1) << 63)

struct young {
	uint64_t state;
	uint32_t id;
};

struct bpk_frame_notes {
	struct bpk_mutex lock; /* guards the rest */
	uint64_t *chunks;      /* NULL: none was noted */
	bool no_room;          /* for chunks */
	struct bpk_buf young;
};

struct bpk_frame_notes *bpk_frame_notes_new(struct bpk_err *err)
{
	struct bpk_frame_notes *notes = bpk_calloc(1, sizeof *notes, err);

	if (notes != NULL)
		bpk_mutex_init(&notes->lock);
	return notes;
}

void bpk_frame_notes_free(struct bpk_frame_notes *notes)
{
	if (notes == NULL)
		return;
	bpk_mutex_clear(&notes->lock);
	free(notes->chunks);
	bpk_buf_clear(&notes->young);
	free(notes);
}

/* ---- Headers ---- */

static size_t most_noted(const struct bpk_frame_reader *r)
{
	return (size_t)bpk_min_u64(r->state.nchunks, MOST_NOTED);
}

void bpk_frame_note_chunk(struct bpk_frame_reader *r, uint64_t number,
			  const struct bpk_chunk_header *header, uint64_t room)
{
	struct bpk_frame_notes *notes = r->notes;

	if (notes == NULL || number >= most_noted(r) || !r->sizes.regular ||
	    header->variable_blocks || room != header->packed_size)
		return;
	bpk_mutex_lock(&notes->lock);
	if (notes->chunks == NULL && !notes->no_room) {
		notes->chunks = bpk_calloc(most_noted(r), sizeof *notes->chunks, NULL);
		notes->no_room = notes->chunks == NULL;
	}
	if (notes->chunks != NULL)
		notes->chunks[number] =
			NOTED | (uint64_t)header->typesize << 32 | header->packed_size;
	bpk_mutex_unlock(&notes->lock);
}

bool bpk_frame_noted(struct bpk_frame_reader *r, uint64_t number, struct bpk_frame_found *found)
{
	struct bpk_frame_notes *notes = r->notes;
	uint64_t noted = 0;

	if (notes == NULL || number >= most_noted(r))
		return false;
	bpk_mutex_lock(&notes->lock);
	if (notes->chunks != NULL)
		noted = notes->chunks[number];
	bpk_mutex_unlock(&notes->lock);
	if (noted == 0)
		return false;
	*found = (struct bpk_frame_found){ .room = (uint32_t)noted };
	found->header.packed_size = (uint32_t)noted;
	found->header.typesize = (uint8_t)(noted >> 32);
	found->header.raw_size = (uint32_t)r->state.header.chunk_size;
	if (number == r->state.nchunks - 1)
		found->header.raw_size = (uint32_t)r->sizes.last;
	return true;
}

/* ---- Young files ---- */

int bpk_frame_note_young(struct bpk_frame_reader *r, const struct bpk_frame_sight *sight,
			 struct bpk_err *err)
{
	const struct young young = { .state = sight->state, .id = sight->id };
	int rc;

	bpk_mutex_lock(&r->notes->lock);
	rc = bpk_buf_append(&r->notes->young, bpk_view(&young, sizeof young), err);
	bpk_mutex_unlock(&r->notes->lock);
	return rc;
}

int bpk_frame_notes_differ(const struct bpk_frame_reader *r, bool *differ, struct bpk_err *err)
{
	const struct bpk_buf *all = &r->notes->young;
	bool same = true;

	for (size_t at = 0; at < all->size && same; at += sizeof(struct young)) {
		char name[BPK_FRAME_FILE_NAME];
		struct young young;

		memcpy(&young, all->data + at, sizeof young);
		bpk_frame_file_name(young.id, name);
		if (bpk_dir_has_state(r->dir, name, young.state, &same, err) != 0)
			return -1;
	}
	*differ = !same;
	return 0;
}
