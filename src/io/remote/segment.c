/*
 * The files of the cache. Called by cache.c.
 *
 *     0     magic, format (4), size of a block (4)
 *     16    size of the remote file (8), number of the segment (8)
 *     32    key of the URL (16), version, padded with zeros (200)
 *     248   CRC-32 of the bytes before
 *     2048  a row for each block: CRC-32, the same inverted; a row of zeros is of no block
 *     4096  the blocks
 *
 * All numbers are little-endian. The CRC-32 of a block goes on from the sum of the head's and the
 * block's number: a row of another file or block does not fit.
 */
#include "io/remote/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/full.h"

enum {
	FORMAT = 1,
	TOTAL_AT = 16,
	NUMBER_AT = 24,
	KEY_AT = 32,
	VERSION_AT = KEY_AT + BPK_SEGMENT_KEY,
	CRC_AT = VERSION_AT + BPK_ANSWER_TEXT,
	TABLE_AT = 2048,
	BLOCKS_AT = TABLE_AT + BPK_SEGMENT_BLOCKS * BPK_SEGMENT_ROW,
};

static const char magic[8] = "bpkcache";

/* ---- names ---- */

static const char prefix[] = "bpk-";

void bpk_segment_name(const uint8_t key[BPK_SEGMENT_KEY], uint64_t number,
		      char name[BPK_SEGMENT_NAME])
{
	char *at = name + sprintf(name, "%s", prefix);

	for (int i = 0; i < BPK_SEGMENT_KEY; i++)
		at += sprintf(at, "%02x", key[i]);
	sprintf(at, "-%" PRIx64, number);
}

bool bpk_segment_is_name(const char *name)
{
	static const char digits[] = "0123456789abcdef";
	const char *key = name + sizeof prefix - 1, *number = key + 2 * BPK_SEGMENT_KEY + 1;

	return strncmp(name, prefix, sizeof prefix - 1) == 0 &&
	       strspn(key, digits) == 2 * BPK_SEGMENT_KEY && number[-1] == '-' && *number != '\0' &&
	       strlen(number) <= 16 && number[strspn(number, digits)] == '\0';
}

/* ---- the head ---- */

static void put_head(const struct bpk_segment_id *id, uint64_t number, uint8_t head[BLOCKS_AT])
{
	memset(head, 0, BLOCKS_AT);
	memcpy(head, magic, sizeof magic);
	bpk_put_le32(head + 8, FORMAT);
	bpk_put_le32(head + 12, BPK_SEGMENT_BLOCK);
	bpk_put_le64(head + TOTAL_AT, id->total);
	bpk_put_le64(head + NUMBER_AT, number);
	memcpy(head + KEY_AT, id->key, BPK_SEGMENT_KEY);
	memcpy(head + VERSION_AT, id->version, strlen(id->version));
	bpk_put_le32(head + CRC_AT, bpk_crc32(0, bpk_view(head, CRC_AT)));
}

/* Take version and size from a head, if it is sound. */
static bool get_version(const uint8_t head[BLOCKS_AT], struct bpk_segment_id *id)
{
	const char *version = (const char *)head + VERSION_AT;

	if (memchr(version, '\0', BPK_ANSWER_TEXT) == NULL || *version == '\0')
		return false;
	strcpy(id->version, version);
	id->total = bpk_get_le64(head + TOTAL_AT);
	return id->total > 0 && id->total <= INT64_MAX;
}

/* True if head is exactly that of the segment, of any version if that of id is "". */
static bool is_head(const uint8_t head[BLOCKS_AT], struct bpk_segment_id *id, uint64_t number)
{
	struct bpk_segment_id found = *id;
	uint8_t wanted[BLOCKS_AT];

	if (*id->version == '\0' && !get_version(head, &found))
		return false;
	put_head(&found, number, wanted);
	if (memcmp(head, wanted, TABLE_AT) != 0)
		return false;
	*id = found;
	return true;
}

/* ---- a segment ---- */

void bpk_segment_close(struct bpk_segment *segment)
{
	if (segment->fd >= 0)
		close(segment->fd);
	segment->fd = -1;
}

/* A file of this user's alone: no FIFO, device or link, and no other name of any file. */
static bool is_own(const struct stat *found)
{
	return S_ISREG(found->st_mode) && found->st_uid == geteuid() && found->st_nlink == 1;
}

static void take_head(struct bpk_segment *segment, const uint8_t head[BLOCKS_AT])
{
	segment->seed = bpk_get_le32(head + CRC_AT);
	memcpy(segment->table, head + TABLE_AT, sizeof segment->table);
}

bool bpk_segment_open(int folder, struct bpk_segment_id *id, uint64_t number,
		      struct bpk_segment *segment)
{
	uint8_t head[BLOCKS_AT];
	char name[BPK_SEGMENT_NAME];
	struct stat found;
	size_t got;

	bpk_segment_close(segment);
	segment->number = number;
	bpk_segment_name(id->key, number, name);
	/* a FIFO would wait for its other end */
	segment->fd = bpk_full_openat(folder, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);
	if (segment->fd < 0)
		return false;
	if (fstat(segment->fd, &found) != 0 || !is_own(&found) ||
	    bpk_full_read_at(segment->fd, 0, bpk_span(head, sizeof head), &got, NULL) != 0 ||
	    got < sizeof head || !is_head(head, id, number)) {
		bpk_segment_close(segment);
		return false;
	}
	take_head(segment, head);
	/* the time of its last use: the oldest go first */
	(void)futimens(segment->fd, NULL);
	return true;
}

int bpk_segment_make(int folder, const struct bpk_segment_id *id, struct bpk_segment *segment,
		     struct bpk_err *err)
{
	uint8_t head[BLOCKS_AT];
	char name[BPK_SEGMENT_NAME];

	bpk_segment_close(segment);
	bpk_segment_name(id->key, segment->number, name);
	put_head(id, segment->number, head);
	if (unlinkat(folder, name, 0) != 0 && errno != ENOENT)
		return bpk_fail_errno(err, errno, "cannot remove %s", name);
	segment->fd = bpk_full_openat(folder, name, O_RDWR | O_CREAT | O_EXCL, 0600);
	/* another process was faster: its file is found the next time */
	if (segment->fd < 0)
		return errno == EEXIST ? 0 : bpk_fail_errno(err, errno, "cannot create a file");
	if (bpk_full_write_at(segment->fd, 0, bpk_view(head, sizeof head), err) != 0) {
		(void)unlinkat(folder, name, 0);
		bpk_segment_close(segment);
		return -1;
	}
	take_head(segment, head);
	return 0;
}

bool bpk_segment_is_listed(const struct bpk_segment *segment)
{
	struct stat found;

	return segment->fd >= 0 && fstat(segment->fd, &found) == 0 && found.st_nlink == 1;
}

/* ---- blocks ---- */

static uint32_t digest(const struct bpk_segment *segment, size_t n, struct bpk_view block)
{
	return bpk_crc32(segment->seed + (uint32_t)n, block);
}

static uint64_t place_of(size_t n)
{
	return BLOCKS_AT + (uint64_t)n * BPK_SEGMENT_BLOCK;
}

bool bpk_segment_has(const struct bpk_segment *segment, size_t n)
{
	const uint8_t *row = segment->table + n * BPK_SEGMENT_ROW;

	return segment->fd >= 0 && bpk_get_le32(row) == ~bpk_get_le32(row + 4);
}

bool bpk_segment_read(struct bpk_segment *segment, size_t n, struct bpk_span out)
{
	uint8_t *row = segment->table + n * BPK_SEGMENT_ROW;
	size_t got = 0;

	if (!bpk_segment_has(segment, n))
		return false;
	if (bpk_full_read_at(segment->fd, place_of(n), out, &got, NULL) == 0 && got == out.size &&
	    digest(segment, n, bpk_view_of_span(out)) == bpk_get_le32(row))
		return true;
	memset(row, 0, BPK_SEGMENT_ROW);
	return false;
}

int bpk_segment_write(struct bpk_segment *segment, size_t n, struct bpk_view bytes,
		      struct bpk_err *err)
{
	size_t count = (size_t)bpk_div_up(bytes.size, BPK_SEGMENT_BLOCK);
	uint8_t *rows = segment->table + n * BPK_SEGMENT_ROW;

	if (bpk_full_write_at(segment->fd, place_of(n), bytes, err) != 0)
		return -1;
	for (size_t i = 0; i < count; i++) {
		size_t at = i * BPK_SEGMENT_BLOCK;
		size_t size = bpk_min_size(bytes.size - at, BPK_SEGMENT_BLOCK);
		uint32_t crc = digest(segment, n + i, bpk_view(bytes.data + at, size));

		bpk_put_le32(rows + i * BPK_SEGMENT_ROW, crc);
		bpk_put_le32(rows + i * BPK_SEGMENT_ROW + 4, ~crc);
	}
	return bpk_full_write_at(segment->fd, TABLE_AT + n * BPK_SEGMENT_ROW,
				 bpk_view(rows, count * BPK_SEGMENT_ROW), err);
}
