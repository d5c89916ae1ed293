/*
 * Inside the room io: the records of a journal. Each has a head of 40 bytes, then size bytes of
 * payload. Integers are little-endian.
 *
 *      0  4  "bpkr"
 *      4  4  kind
 *      8  8  its own offset in the journal
 *     16  8  offset in the file
 *     24  8  size of the payload
 *     32  4  CRC-32 of the payload
 *     36  4  CRC-32 of the 36 bytes before it
 */
#ifndef BPK_IO_EDIT_RECORD_H
#define BPK_IO_EDIT_RECORD_H

#include "base/base.h"

enum { BPK_RECORD_HEAD = 40 };

enum bpk_record_kind {
	BPK_RECORD_START = 1, /* offset: the file's old size; payload: see journal_start.c */
	BPK_RECORD_SAVED,     /* payload: the old bytes at offset */
	BPK_RECORD_NEXT,      /* payload: the bytes that are written at offset next */
	/*
	 * No payload. All records before it are durable. So a broken record was damaged later if a
	 * MARK follows it, and was never finished otherwise.
	 */
	BPK_RECORD_MARK,
	/* No payload; after START. offset: the time of the file's last change, which it keeps
	 * (struct bpk_edit_kept), in nanoseconds since 1970, modulo 2^64. */
	BPK_RECORD_TIME,
};

struct bpk_record {
	uint32_t kind;
	uint64_t position;
	uint64_t offset;
	uint64_t size;
	uint32_t crc;
};

extern const char bpk_record_magic[4];

void bpk_record_put(const struct bpk_record *record, uint8_t out[BPK_RECORD_HEAD]);

/* False when these bytes are not the head of a record at position. */
bool bpk_record_get(const uint8_t in[BPK_RECORD_HEAD], uint64_t position,
		    struct bpk_record *record);

#endif
