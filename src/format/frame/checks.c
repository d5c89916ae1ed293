/*
 * Checks of a frame's chunks and of its parts: seals, damage that leaves the data readable, bytes
 * behind the end of files. Called by reader_ops.c, audit.c, surveys, repack and editors.
 */
#include "format/frame/chunks.h"
#include "format/frame/names.h"

#include <inttypes.h>

int bpk_frame_chunk_check(const struct bpk_frame_reader *r, const struct bpk_parcel *parcel,
			  struct bpk_err *err)
{
	const struct bpk_checksum *checksum = r->state.digests.checksum;
	size_t size = parcel->packed_size;

	if (checksum == NULL || parcel->packed.size - size < checksum->size)
		return 0;
	if (bpk_checksum_check(checksum, bpk_view(parcel->packed.data, size),
			       parcel->packed.data + size, err) != 0)
		return bpk_frame_chunk_subject(r, parcel->number, err);
	return 0;
}

int bpk_frame_chunk_subject(const struct bpk_frame_reader *r, uint64_t number, struct bpk_err *err)
{
	char name[BPK_FRAME_FILE_NAME];
	uint64_t entry;

	if (bpk_frame_entry(&r->state, number, &entry, NULL) != 0 ||
	    bpk_frame_offset_special(entry) != BPK_SPECIAL_NONE)
		return bpk_err_subject(err, "chunk %" PRIu64, number);
	if (r->dir == NULL)
		return bpk_err_subject(err, "chunk %" PRIu64 " at offset %" PRIu64, number,
				       r->state.header.size + entry);
	bpk_frame_file_name((uint32_t)entry, name);
	return bpk_err_subject(err, "chunk %" PRIu64 " in %s", number, name);
}

int bpk_frame_check_parts(const struct bpk_frame_reader *r, struct bpk_err *err)
{
	if (r->state.damage.kind != BPK_OK)
		return bpk_fail_as(err, &r->state.damage);
	if (r->sizes.damage.kind == BPK_CORRUPT)
		return bpk_fail(err, BPK_CORRUPT, "%s", r->sizes.damage.text);
	return 0;
}

int bpk_frame_check_room(const struct bpk_frame_reader *reader, uint64_t number,
			 const struct bpk_frame_found *found, struct bpk_err *err)
{
	uint64_t end = found->header.packed_size;

	if (reader->dir == NULL || found->offset == BPK_UNKNOWN || found->room <= end)
		return 0;
	bpk_fail(err, BPK_CORRUPT,
		 "%" PRIu64 " %s from offset %" PRIu64 " on, after its end, %s to no archive",
		 found->room - end, bpk_plural(found->room - end, "byte", "bytes"), end,
		 bpk_plural(found->room - end, "belongs", "belong"));
	return bpk_frame_chunk_subject(reader, number, err);
}

int bpk_frame_check_end(const struct bpk_frame_reader *reader, struct bpk_err *err)
{
	uint64_t end = reader->state.header.frame_size, size = bpk_source_size(reader->source);

	if (reader->dir == NULL || size <= end)
		return 0;
	return bpk_fail(err, BPK_CORRUPT,
			"chunks.b2frame: %" PRIu64 " %s from offset %" PRIu64
			" on, after its end, %s to no archive",
			size - end, bpk_plural(size - end, "byte", "bytes"), end,
			bpk_plural(size - end, "belongs", "belong"));
}
