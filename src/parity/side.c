/* The side file's head and tables: bytes to members and back. Called by make.c, compare.c, heal.c
 * and cli. */
#include "parity/side.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* The head's members: magic, u32 version, u32 share, u64 size of the archive, u64 segments, u64
 * size of the tables, u64 size of the parity cells, u64 seconds and u32 nanoseconds of the
 * archive's last change, u32 0, u64 size of the list of files, zeros, and SHA-256 of all before.
 * Version 2 is that of a directory, which alone has a list, and no time. */
enum { VERSION_FILE = 1, VERSION_DIRECTORY = 2, AT_SUM = 480, MAGIC = 8 };

static const char magic[MAGIC + 1] = "bpkparit";

char *bpk_parity_name(const char *path, struct bpk_err *err)
{
	return bpk_path_beside(path, BPK_PARITY_SUFFIX, err);
}

int bpk_side_sum(struct bpk_view bytes, uint8_t out[BPK_SIDE_DIGEST], struct bpk_err *err)
{
	uint8_t digest[BPK_DIGEST_MAX];

	if (bpk_checksum_compute(bpk_checksum_find("sha256"), bytes, digest, err) != 0)
		return -1;
	memcpy(out, digest, BPK_SIDE_DIGEST);
	return 0;
}

/* Where a large read fails, small ones find the sectors that can be read. */
int bpk_parity_read(struct bpk_source *source, uint64_t offset, struct bpk_span out,
		    struct bpk_err *err)
{
	enum { SMALL = 4 << 10 };
	struct bpk_err why = { 0 };
	size_t got = 0;
	int rc = 0;

	if (bpk_source_read_at(source, offset, out, &got, &why) == 0) {
		memset(out.data + got, 0, out.size - got);
		return 0;
	}
	if (why.kind == BPK_NO_MEMORY)
		return bpk_fail_as(err, &why);
	memset(out.data, 0, out.size);
	for (size_t at = 0; rc == 0 && out.size > SMALL && at < out.size; at += SMALL)
		rc = bpk_parity_read(source, offset + at,
				     bpk_span(out.data + at, bpk_min_size(SMALL, out.size - at)),
				     err);
	return rc;
}

void bpk_parity_on_read(struct bpk_parity *parity, bpk_parity_wait_fn *wait, void *arg)
{
	parity->wait = wait;
	parity->wait_arg = arg;
}

int bpk_side_read(const struct bpk_parity *parity, struct bpk_source *source, uint64_t offset,
		  struct bpk_span out, struct bpk_err *err)
{
	if (bpk_parity_read(source, offset, out, err) != 0)
		return -1;
	if (parity->wait != NULL)
		parity->wait(parity->wait_arg, out.size);
	return 0;
}

/* ---- pages ---- */

static uint64_t count_pages(uint64_t tables)
{
	return bpk_div_up(tables, BPK_SIDE_PAYLOAD);
}

/* The digest of a page covers its number, so that no page counts as another. */
static int sum_page(const uint8_t *page, uint64_t number, uint8_t out[BPK_SIDE_DIGEST],
		    struct bpk_err *err)
{
	uint8_t bytes[BPK_SIDE_PAYLOAD + 8];

	memcpy(bytes, page, BPK_SIDE_PAYLOAD);
	bpk_put_le64(bytes + BPK_SIDE_PAYLOAD, number);
	return bpk_side_sum(bpk_view(bytes, sizeof bytes), out, err);
}

/* Take page number from that offset. *good is false if its digest differs. */
static int read_page(struct bpk_parity *parity, uint64_t number, uint64_t offset, bool *good,
		     struct bpk_err *err)
{
	uint64_t at = number * BPK_SIDE_PAYLOAD;
	size_t size = bpk_min_u64(BPK_SIDE_PAYLOAD, parity->tables.size - at);
	uint8_t page[BPK_SIDE_PAGE], digest[BPK_SIDE_DIGEST];

	if (bpk_parity_read(parity->source, offset, bpk_span(page, sizeof page), err) != 0 ||
	    sum_page(page, number, digest, err) != 0)
		return -1;
	*good = memcmp(digest, page + BPK_SIDE_PAYLOAD, sizeof digest) == 0;
	if (*good)
		memcpy(parity->tables.data + at, page, size);
	return 0;
}

static int read_tables(struct bpk_parity *parity, struct bpk_err *err)
{
	uint64_t pages = count_pages(parity->tables.size);
	uint64_t second = BPK_SIDE_HEAD + pages * BPK_SIDE_PAGE + parity->parity_size;

	for (uint64_t i = 0; i < pages; i++) {
		bool good[2];

		if (read_page(parity, i, second + i * BPK_SIDE_PAGE, &good[1], err) != 0 ||
		    read_page(parity, i, BPK_SIDE_HEAD + i * BPK_SIDE_PAGE, &good[0], err) != 0)
			return -1;
		if (!good[0] && !good[1])
			return bpk_fail(err, BPK_CORRUPT,
					"both copies of page %llu of its tables are damaged",
					(unsigned long long)i);
		parity->bad_tables = parity->bad_tables || !good[0] || !good[1];
	}
	return 0;
}

static int write_pages(const struct bpk_parity *parity, uint64_t offset, struct bpk_draft *draft,
		       struct bpk_err *err)
{
	for (uint64_t at = 0; at < parity->tables.size; at += BPK_SIDE_PAYLOAD) {
		size_t size = bpk_min_u64(BPK_SIDE_PAYLOAD, parity->tables.size - at);
		uint64_t number = at / BPK_SIDE_PAYLOAD;
		uint8_t page[BPK_SIDE_PAGE] = { 0 };

		memcpy(page, parity->tables.data + at, size);
		if (sum_page(page, number, page + BPK_SIDE_PAYLOAD, err) != 0 ||
		    bpk_draft_write_at(draft, offset + number * BPK_SIDE_PAGE,
				       bpk_view(page, sizeof page), err) != 0)
			return -1;
	}
	return 0;
}

/* ---- records of segments ---- */

static void put_records(struct bpk_parity *parity)
{
	for (size_t i = 0; i < parity->nsegments; i++) {
		uint8_t *record = parity->tables.data + i * BPK_SIDE_RECORD;

		bpk_put_le64(record, parity->segments[i].size);
		bpk_put_le64(record + 8, parity->segments[i].groups);
		bpk_put_le32(record + 16, parity->segments[i].cell);
		bpk_put_le32(record + 20, parity->segments[i].m);
	}
}

static void get_records(struct bpk_parity *parity)
{
	for (size_t i = 0; i < parity->nsegments; i++) {
		const uint8_t *record = parity->tables.data + i * BPK_SIDE_RECORD;

		parity->segments[i] = (struct bpk_segment){
			.size = bpk_get_le64(record),
			.groups = bpk_get_le64(record + 8),
			.cell = bpk_get_le32(record + 16),
			.m = bpk_get_le32(record + 20),
		};
	}
}

/* ---- the head ---- */

struct head {
	uint32_t version, share;
	uint64_t size, segments, tables, parity, seconds;
	uint32_t nanoseconds;
	uint64_t list;
};

static int sum_head(const uint8_t *head, uint8_t digest[BPK_DIGEST_MAX], struct bpk_err *err)
{
	return bpk_checksum_compute(bpk_checksum_find("sha256"), bpk_view(head, AT_SUM), digest,
				    err);
}

static int read_head(struct bpk_source *source, uint64_t offset, struct head *head, bool *good,
		     struct bpk_err *err)
{
	uint8_t bytes[BPK_SIDE_HEAD], digest[BPK_DIGEST_MAX];

	if (bpk_parity_read(source, offset, bpk_span(bytes, sizeof bytes), err) != 0 ||
	    sum_head(bytes, digest, err) != 0)
		return -1;
	*good = memcmp(bytes, magic, MAGIC) == 0 &&
		memcmp(bytes + AT_SUM, digest, BPK_SIDE_HEAD - AT_SUM) == 0;
	if (*good)
		*head = (struct head){
			.version = bpk_get_le32(bytes + 8),
			.share = bpk_get_le32(bytes + 12),
			.size = bpk_get_le64(bytes + 16),
			.segments = bpk_get_le64(bytes + 24),
			.tables = bpk_get_le64(bytes + 32),
			.parity = bpk_get_le64(bytes + 40),
			.seconds = bpk_get_le64(bytes + 48),
			.nanoseconds = bpk_get_le32(bytes + 56),
			.list = bpk_get_le64(bytes + 64),
		};
	return 0;
}

static int find_head(struct bpk_parity *parity, struct head *head, struct bpk_err *err)
{
	uint64_t size = bpk_source_size(parity->source);
	uint64_t last = size < BPK_SIDE_HEAD ? 0 : size - BPK_SIDE_HEAD;
	bool good[2];

	if (read_head(parity->source, last, head, &good[1], err) != 0 ||
	    read_head(parity->source, 0, head, &good[0], err) != 0)
		return -1;
	if (!good[0] && !good[1])
		return bpk_fail(err, BPK_CORRUPT,
				"both copies of the parity file's head are damaged, "
				"or it is none");
	parity->bad_tables = !good[0] || !good[1];
	if (head->version > VERSION_DIRECTORY)
		return bpk_fail(err, BPK_UNSUPPORTED, "parity of version %u, this bpk reads %d",
				head->version, VERSION_DIRECTORY);
	return 0;
}

int bpk_side_write(struct bpk_parity *parity, struct bpk_draft *draft, struct bpk_err *err)
{
	uint64_t second = BPK_SIDE_HEAD + count_pages(parity->tables.size) * BPK_SIDE_PAGE +
			  parity->parity_size;
	uint64_t last = second + count_pages(parity->tables.size) * BPK_SIDE_PAGE;
	uint8_t head[BPK_SIDE_HEAD] = { 0 }, digest[BPK_DIGEST_MAX];

	put_records(parity);
	memcpy(head, magic, MAGIC);
	bpk_put_le32(head + 8, parity->is_directory ? VERSION_DIRECTORY : VERSION_FILE);
	bpk_put_le32(head + 12, parity->share);
	bpk_put_le64(head + 16, parity->size);
	bpk_put_le64(head + 24, parity->nsegments);
	bpk_put_le64(head + 32, parity->tables.size);
	bpk_put_le64(head + 40, parity->parity_size);
	bpk_put_le64(head + 48, (uint64_t)parity->time.tv_sec);
	bpk_put_le32(head + 56, (uint32_t)parity->time.tv_nsec);
	bpk_put_le64(head + 64, parity->list_size);
	if (sum_head(head, digest, err) != 0)
		return -1;
	memcpy(head + AT_SUM, digest, BPK_SIDE_HEAD - AT_SUM);
	if (write_pages(parity, BPK_SIDE_HEAD, draft, err) != 0 ||
	    write_pages(parity, second, draft, err) != 0 ||
	    bpk_draft_write_at(draft, last, bpk_view(head, sizeof head), err) != 0)
		return -1;
	return bpk_draft_write_at(draft, 0, bpk_view(head, sizeof head), err);
}

/* ---- opening ---- */

static int load_list(struct bpk_parity *parity, struct bpk_err *err)
{
	struct bpk_view list = bpk_buf_view(&parity->tables);

	if (!parity->is_directory)
		return 0;
	if (parity->list_size > 0)
		list.data += list.size - parity->list_size;
	list.size = parity->list_size;
	if (bpk_parity_files_get(list, &parity->files, err) != 0)
		return -1;
	return parity->files.size == parity->size
		       ? 0
		       : bpk_fail(err, BPK_CORRUPT, "files of the parity file contradict its head");
}

/* The tables are no larger than the file, so memory follows its bytes. */
static int load(struct bpk_parity *parity, const struct head *head, struct bpk_err *err)
{
	uint64_t size = bpk_source_size(parity->source);

	if (head->tables > size || head->segments > head->tables / BPK_SIDE_RECORD ||
	    head->share == 0 || head->share > BPK_PARITY_MOST || head->parity > UINT64_MAX / 4 ||
	    head->list > head->tables || (head->version < VERSION_DIRECTORY && head->list > 0))
		return bpk_fail(err, BPK_CORRUPT,
				"sizes in the head of the parity file contradict its size");
	parity->share = head->share;
	parity->is_directory = head->version == VERSION_DIRECTORY;
	parity->list_size = head->list;
	parity->time.tv_sec = (time_t)head->seconds;
	parity->time.tv_nsec = (long)(head->nanoseconds % 1000000000u);
	parity->parity_size = head->parity;
	if (bpk_buf_resize(&parity->tables, head->tables, err) != 0 ||
	    read_tables(parity, err) != 0)
		return -1;
	parity->nsegments = head->segments;
	parity->segments = bpk_calloc(parity->nsegments + 1, sizeof *parity->segments, err);
	if (parity->segments == NULL)
		return -1;
	get_records(parity);
	if (bpk_side_place(parity) == head->tables && parity->size == head->size &&
	    parity->parity_size == head->parity)
		return load_list(parity, err);
	return bpk_fail(err, BPK_CORRUPT, "segments of the parity file contradict its head");
}

/* A link, a FIFO or a device in its place is not read. */
static int open_regular(const char *path, struct bpk_source **source, struct bpk_err *err)
{
	struct stat found;

	if (lstat(path, &found) != 0)
		return bpk_fail_errno(err, errno, "cannot open");
	if (!S_ISREG(found.st_mode))
		return bpk_fail(err, BPK_FAILED, "is no regular file, as parity has to be");
	if (bpk_source_open(path, source, err) != 0)
		return -1;
	if (bpk_same_file(&found, bpk_source_stat(*source)))
		return 0;
	bpk_source_close(*source);
	*source = NULL;
	return bpk_fail_changed(err);
}

int bpk_parity_look(const char *path, bool *there, bool *ours, struct bpk_err *err)
{
	struct bpk_source *source = NULL;
	uint8_t first[MAGIC], last[MAGIC];
	struct stat found;
	uint64_t size;
	int rc;

	*ours = false;
	*there = lstat(path, &found) == 0;
	if (!*there && bpk_is_absent(errno))
		return 0; /* a name as long as the archive's allows none beside it */
	if (!*there)
		return bpk_fail_errno(err, errno, "cannot look");
	if (!S_ISREG(found.st_mode))
		return 0;
	if (open_regular(path, &source, err) != 0)
		return -1;
	size = bpk_source_size(source);
	rc = bpk_parity_read(source, 0, bpk_span(first, MAGIC), err);
	if (rc == 0)
		rc = bpk_parity_read(source, size < BPK_SIDE_HEAD ? 0 : size - BPK_SIDE_HEAD,
				     bpk_span(last, MAGIC), err);
	*ours = rc == 0 && (memcmp(first, magic, MAGIC) == 0 || memcmp(last, magic, MAGIC) == 0);
	bpk_source_close(source);
	return rc;
}

int bpk_side_open_source(struct bpk_source *source, struct bpk_parity **parity, struct bpk_err *err)
{
	struct bpk_parity *opened = bpk_calloc(1, sizeof *opened, err);
	struct head head;

	*parity = NULL;
	if (opened == NULL) {
		bpk_source_close(source);
		return -1;
	}
	opened->source = source;
	if (find_head(opened, &head, err) != 0 || load(opened, &head, err) != 0) {
		bpk_parity_close(opened);
		return -1;
	}
	*parity = opened;
	return 0;
}

int bpk_parity_open(const char *path, struct bpk_parity **parity, struct bpk_err *err)
{
	struct bpk_source *source = NULL;

	*parity = NULL;
	if (open_regular(path, &source, err) != 0)
		return -1;
	return bpk_side_open_source(source, parity, err);
}

const struct stat *bpk_parity_stat(const struct bpk_parity *parity)
{
	return bpk_source_stat(parity->source);
}

void bpk_parity_close(struct bpk_parity *parity)
{
	if (parity == NULL)
		return;
	bpk_source_close(parity->source);
	free(parity->segments);
	bpk_buf_clear(&parity->tables);
	bpk_parity_files_clear(&parity->files);
	free(parity);
}

uint64_t bpk_parity_size(const struct bpk_parity *parity)
{
	return parity->size;
}

uint64_t bpk_parity_cells(const struct bpk_parity *parity)
{
	return parity->cells;
}

struct timespec bpk_parity_time(const struct bpk_parity *parity)
{
	return parity->time;
}

const struct bpk_parity_files *bpk_parity_files(const struct bpk_parity *parity)
{
	return parity->is_directory ? &parity->files : NULL;
}

unsigned bpk_parity_share(const struct bpk_parity *parity)
{
	return parity->share;
}
