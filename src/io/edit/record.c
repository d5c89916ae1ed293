/* Encoding and decoding of journal records. journal_write.c and journal_load.c call it. */
#include "io/edit/record.h"

enum { CRC_AT = BPK_RECORD_HEAD - 4 };

const char bpk_record_magic[4] = { 'b', 'p', 'k', 'r' };

void bpk_record_put(const struct bpk_record *record, uint8_t out[BPK_RECORD_HEAD])
{
	memcpy(out, bpk_record_magic, sizeof bpk_record_magic);
	bpk_put_le32(out + 4, record->kind);
	bpk_put_le64(out + 8, record->position);
	bpk_put_le64(out + 16, record->offset);
	bpk_put_le64(out + 24, record->size);
	bpk_put_le32(out + 32, record->crc);
	bpk_put_le32(out + CRC_AT, bpk_crc32(0, bpk_view(out, CRC_AT)));
}

bool bpk_record_get(const uint8_t in[BPK_RECORD_HEAD], uint64_t position, struct bpk_record *record)
{
	struct bpk_cursor cursor = bpk_cursor(bpk_view(in, BPK_RECORD_HEAD));

	if (memcmp(in, bpk_record_magic, sizeof bpk_record_magic) != 0 ||
	    bpk_get_le32(in + CRC_AT) != bpk_crc32(0, bpk_view(in, CRC_AT)))
		return false;
	bpk_cursor_take(&cursor, sizeof bpk_record_magic);
	record->kind = bpk_cursor_le32(&cursor);
	record->position = (uint64_t)bpk_cursor_le64s(&cursor);
	record->offset = (uint64_t)bpk_cursor_le64s(&cursor);
	record->size = (uint64_t)bpk_cursor_le64s(&cursor);
	record->crc = bpk_cursor_le32(&cursor);
	return record->position == position;
}
