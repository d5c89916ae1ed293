/*
 * Audits concatenated members, and judges the bytes after the last of them. Also the tests that
 * editors make before they change an archive. Called through the row that members.h makes, by
 * editors, and by chunked directories.
 */
#include "format/members.h"

#include <inttypes.h>
#include <stdio.h>

#include "format/scan.h"

enum {
	LINE = 512,   /* longest remark, in bytes */
	LOOKS = 20,   /* how often a changing file is examined for a tail */
	ZEROS = 4096, /* bytes read at a time when looking for zeros */
};

/* ---- Each member ---- */

static int audit_table(struct bpk_members *m, bpk_remark_fn *remark, void *arg, struct bpk_err *err)
{
	struct bpk_member *member;

	for (size_t i = 0; i < m->count; i++) {
		const struct bpk_info *info;
		int rc = bpk_members_enter(m, i, &member, err);

		if (rc != 0)
			return -1;
		info = m->kind->one->info(member->reader);
		if (i > 0 && bpk_member_is_empty(info->chunks.count, info->raw_size))
			rc = bpk_members_prove_empty(m, member, err);
		if (rc == 0)
			rc = bpk_members_audit_one(m, member, remark, arg, err);
		bpk_members_leave(m, member);
		if (rc != 0)
			return -1;
	}
	return 0;
}

static void say_differences(const struct bpk_merged *merged, bpk_remark_fn *remark, void *arg)
{
	char line[LINE];

	snprintf(line, sizeof line, "%" PRIu64 " archives follow each other", merged->nmembers);
	remark(arg, line);
	if (merged->differs.typesize || merged->differs.checksum)
		remark(arg, "typesize or checksum of its members differ");
	if (merged->differs.array || merged->differs.metadata)
		remark(arg, "arrays or metadata of its members differ: only their bytes are "
			    "concatenated");
}

int bpk_members_audit(void *reader, bpk_remark_fn *remark, void *arg, struct bpk_err *err)
{
	struct bpk_members *m = reader;
	if (m->in_sequence) {
		if (bpk_members_audit_walk(m, remark, arg, err) != 0)
			return -1;
		if (bpk_merged_info(&m->merged, &m->info, err) != 0)
			return -1;
	} else if (m->count > 1) {
		if (audit_table(m, remark, arg, err) != 0)
			return -1;
	} else {
		if (m->kind->one->audit(m->first->reader, remark, arg, err) != 0)
			return -1;
		/* the audit has measured the holes */
		m->info.hole_size = m->kind->one->info(m->first->reader)->hole_size;
	}
	if (m->merged.nmembers > 1 && remark != NULL)
		say_differences(&m->merged, remark, arg);
	return bpk_members_tail(m, err);
}

/* ---- After the end ---- */

/* The current end of a single archive, and the current size of its source. */
static int look_again(struct bpk_members *m, uint64_t *end, uint64_t *size, struct bpk_err *err)
{
	static const struct bpk_member begin;
	struct bpk_member_end found = { .offset = BPK_UNKNOWN };
	struct bpk_member *now;
	int rc;

	if (bpk_members_open_one(m, &begin, &now, err) != 0)
		return -1;
	rc = bpk_members_pass(m, now, &found, err);
	*end = found.offset;
	*size = m->kind->one->info(now->reader)->stored_size;
	bpk_members_leave(m, now);
	return rc;
}

/*
 * Find bytes after the archive that no active writer has put there. A writer that ended meanwhile
 * has made them part of the archive, so look until two looks agree.
 */
static int find_tail(struct bpk_members *m, uint64_t *end, uint64_t *size, bool *found,
		     struct bpk_err *err)
{
	uint64_t now_end, now_size;

	*found = false;
	for (int i = 0; i < LOOKS; i++) {
		if (bpk_source_in_change(m->place.source))
			return 0;
		if (look_again(m, &now_end, &now_size, err) != 0)
			return -1;
		if (now_end == BPK_UNKNOWN || now_end >= now_size)
			return 0;
		*found = now_end == *end && now_size == *size;
		if (*found && !bpk_source_in_change(m->place.source))
			return 0;
		*end = now_end;
		*size = now_size;
	}
	*found = false;
	return 0;
}

static int fail_tail(uint64_t offset, uint64_t size, bool unfinished, struct bpk_err *err)
{
	if (unfinished)
		return bpk_fail(
			err, BPK_REPAIRABLE,
			"%" PRIu64 " %s from offset %" PRIu64
			" on %s left from an interrupted append; bpk repair --in-place FILE, or "
			"the next append, removes %s",
			size, bpk_plural(size, "byte", "bytes"), offset,
			bpk_plural(size, "is", "are"), bpk_plural(size, "it", "them"));
	return bpk_fail(err, BPK_CORRUPT,
			"%" PRIu64 " %s from offset %" PRIu64
			" on, after the end of the archive, %s to no archive",
			size, bpk_plural(size, "byte", "bytes"), offset,
			bpk_plural(size, "belongs", "belong"));
}

/* *is: another archive begins at offset. The digests of a frame have a copy of its header, which is
 * longer than the bytes that are left. */
static int begins_archive(const struct bpk_members_kind *kind, struct bpk_scan *scan,
			  uint64_t offset, bool *is, struct bpk_err *err)
{
	const struct bpk_place place = { 0 };
	size_t size = (size_t)bpk_min_u64(scan->size - offset, BPK_PROBE_SIZE);
	const uint8_t *bytes;

	if (bpk_scan_see(scan, offset, size, &bytes, err) != 0 ||
	    kind->probe(&place, bpk_view(bytes, size), is, err) != 0)
		return -1;
	*is = *is &&
	      (kind->size == NULL || kind->size(bpk_view(bytes, size)) <= scan->size - offset);
	return 0;
}

/* The same behind a trailer that begins at offset, which an append writes last. */
static int has_archive(const struct bpk_members_kind *kind, struct bpk_scan *scan, uint64_t offset,
		       bool *is, struct bpk_err *err)
{
	enum { MOST = 1 << 20 }; /* bytes of a trailer */
	uint64_t end = offset + bpk_min_u64(MOST, scan->size - offset);
	const uint8_t *bytes;

	*is = false;
	if (kind->ends == NULL || scan->size - offset < BPK_PROBE_SIZE)
		return 0;
	if (bpk_scan_see(scan, offset, BPK_PROBE_SIZE, &bytes, err) != 0)
		return -1;
	if (!kind->ends(bytes))
		return 0;
	while (!*is && ++offset < end)
		if (begins_archive(kind, scan, offset, is, err) != 0)
			return -1;
	return 0;
}

/* The most raw bytes of a chunk that an append writes; unknown: any. */
static uint64_t largest_chunk(const struct bpk_info *info)
{
	return info->chunks.count > 0 && info->array.chunk_shape == NULL ? info->chunks.size
									 : BPK_UNKNOWN;
}

/*
 * *foreign: the chunks at offset are not those that an append wrote, since another archive follows
 * them, or one that is not the last has more raw bytes than the archive's chunks. Between them a
 * power cut may have lost any bytes, and data may hold archives: no more is looked at.
 */
static int follow_chunks(const struct bpk_members_kind *kind, void *reader,
			 struct bpk_source *source, uint64_t offset, bool *foreign,
			 struct bpk_err *err)
{
	const struct bpk_info *info = kind->one->info(reader);
	const struct bpk_checksum *checksum = info->chunks.checksum;
	size_t digest = kind->has_digests && checksum != NULL ? checksum->size : 0;
	uint64_t most = largest_chunk(info);
	struct bpk_chunk_header chunk;
	struct bpk_scan scan = { 0 };
	bool is = true, is_large = false;
	int rc = bpk_scan_begin(&scan, source, !kind->has_digests, err);

	*foreign = false;
	scan.specials = true;
	while (rc == 0 && is && !*foreign && offset < scan.size) {
		rc = bpk_scan_look(&scan, offset, &chunk, &is, err);
		if (rc != 0 || !is)
			continue;
		*foreign = is_large;
		/* the index of a frame is a chunk of any size */
		is_large = chunk.raw_size > most;
		*foreign = *foreign || (is_large && kind->has_digests);
		offset += bpk_min_u64(chunk.packed_size + digest, scan.size - offset);
	}
	if (rc == 0 && !*foreign && offset < scan.size)
		rc = begins_archive(kind, &scan, offset, foreign, err);
	if (rc == 0 && !*foreign && offset < scan.size)
		rc = has_archive(kind, &scan, offset, foreign, err);
	bpk_scan_clear(&scan);
	return rc;
}

/* *unfinished: an append of ours has left the bytes at offset, which begin with head. source is
 * NULL for a pipe, which is not followed. */
static int judge_tail(const struct bpk_members_kind *kind, void *reader, struct bpk_source *source,
		      uint64_t offset, struct bpk_view head, bool *unfinished, struct bpk_err *err)
{
	bool foreign = false;

	if (kind->unfinished(reader, head, unfinished, err) != 0 ||
	    (*unfinished && source != NULL &&
	     follow_chunks(kind, reader, source, offset, &foreign, err) != 0))
		return -1;
	*unfinished = *unfinished && !foreign;
	return 0;
}

static int judge_file(struct bpk_members *m, struct bpk_member *last, uint64_t end,
		      struct bpk_err *err)
{
	uint8_t bytes[BPK_PROBE_SIZE];
	struct bpk_view head = bpk_view(bytes, 0);
	uint64_t size = m->size;
	bool found = true, unfinished;

	if (end == BPK_UNKNOWN || size <= end)
		return 0;
	if (last->number == 0 && find_tail(m, &end, &size, &found, err) != 0)
		return -1;
	if (!found)
		return 0;
	if (bpk_source_read_at(m->place.source, end, bpk_span(bytes, sizeof bytes), &head.size,
			       err) != 0)
		return -1;
	if (judge_tail(m->kind, last->reader, m->place.source, end, head, &unfinished, err) != 0)
		return -1;
	return fail_tail(end, size - end, unfinished, err);
}

static int judge_pipe(struct bpk_members *m, struct bpk_member *last, uint64_t end,
		      struct bpk_err *err)
{
	struct bpk_view head;
	bool unfinished;
	uint64_t size;

	if (end == BPK_UNKNOWN)
		return 0;
	if (bpk_source_peek(m->place.source, BPK_PROBE_SIZE, &head, err) != 0)
		return -1;
	if (head.size == 0)
		return 0;
	if (judge_tail(m->kind, last->reader, NULL, 0, head, &unfinished, err) != 0 ||
	    bpk_source_skip(m->place.source, UINT64_MAX, &size, err) != 0)
		return -1;
	return fail_tail(end, size, unfinished, err);
}

int bpk_members_tail(void *reader, struct bpk_err *err)
{
	struct bpk_members *m = reader;
	const struct bpk_members_walk *walk = m->fetching.ended ? &m->fetching : &m->locating;
	struct bpk_member *last = m->first;
	int rc;

	if (m->broken.kind != BPK_OK)
		return bpk_fail_as(err, &m->broken);
	if (m->in_sequence && !walk->ended)
		return 0; /* no walk has reached the end */
	if (m->in_sequence)
		return (m->seekable ? judge_file : judge_pipe)(m, walk->at, walk->end, err);
	if (m->count <= 1)
		return judge_file(m, last, m->end, err);
	if (bpk_members_enter(m, m->count - 1, &last, err) != 0)
		return -1;
	rc = judge_file(m, last, m->end, err);
	bpk_members_leave(m, last);
	return rc;
}

/* Walk to the end of the last member. */
static int walk_to_end(struct bpk_members *m, struct bpk_err *err)
{
	struct bpk_where where;
	int rc = 0;

	for (uint64_t number = 0; rc == 0; number++)
		rc = bpk_members_locate_next(m, number, &where, err);
	return rc < 0 ? -1 : 0;
}

/* Cut *end, the size, to found, the end of last, if bpk has written what lies between. */
static int cut_tail(struct bpk_members *m, struct bpk_member *last, uint64_t found, uint64_t *end,
		    struct bpk_err *err)
{
	uint8_t bytes[BPK_PROBE_SIZE];
	struct bpk_view head = bpk_view(bytes, 0);
	bool unfinished;

	if (found > *end) /* or unknown */
		return bpk_fail(err, BPK_CORRUPT, "ends at byte %" PRIu64 " inside an archive",
				*end);
	if (bpk_source_in_change(m->place.source)) {
		*end = found;
		return 0;
	}
	if (bpk_source_read_at(m->place.source, found, bpk_span(bytes, sizeof bytes), &head.size,
			       err) != 0)
		return -1;
	if (judge_tail(m->kind, last->reader, m->place.source, found, head, &unfinished, err) != 0)
		return -1;
	if (unfinished || bpk_source_in_change(m->place.source))
		*end = found;
	return 0;
}

int bpk_members_end(void *reader, uint64_t *end, struct bpk_err *err)
{
	struct bpk_members *m = reader;
	struct bpk_member *last;
	int rc;

	*end = m->size;
	if (m->broken.kind != BPK_OK)
		return 0;
	if (m->in_sequence)
		return walk_to_end(m, err) != 0
			       ? -1
			       : cut_tail(m, m->locating.at, m->locating.end, end, err);
	if (m->count <= 1)
		return cut_tail(m, m->first, m->end, end, err);
	if (bpk_members_enter(m, m->count - 1, &last, err) != 0)
		return -1;
	rc = cut_tail(m, last, m->end, end, err);
	bpk_members_leave(m, last);
	return rc;
}

/* ---- Proofs ---- */

int bpk_members_prove(void *reader, uint64_t first, uint64_t end, struct bpk_err *err)
{
	struct bpk_members *m = reader;

	if (m->kind->one->prove == NULL)
		return bpk_fail(err, BPK_UNSUPPORTED, "the format has no seal");
	if (m->in_sequence && first < end)
		return bpk_fail(
			err, BPK_UNSUPPORTED,
			"its chunks are found by walking, so no range of them can be proven; "
			"bpk verify FILE tests the seal");
	if (m->count > 1)
		return bpk_fail(err, BPK_CORRUPT, "another archive follows, and no seal covers it");
	return m->kind->one->prove(m->first->reader, first, end, err);
}

/* Chunks are saved of a single archive alone. */
int bpk_members_refutes(void *reader, const struct bpk_place *place,
			const struct bpk_salvage *found, bool *refuted, struct bpk_err *err)
{
	struct bpk_members *m = reader;

	*refuted = false;
	return m->kind->one->refutes == NULL
		       ? 0
		       : m->kind->one->refutes(m->first->reader, place, found, refuted, err);
}

/* ---- While a writer is active ---- */

/* Several members have no multidimensional array. */
int bpk_members_narrow(void *reader, const struct bpk_slice *slice, struct bpk_err *err)
{
	struct bpk_members *m = reader;
	const struct bpk_reader_ops *one = m->kind->one;
	const struct bpk_info *narrowed = one->info(m->first->reader);

	if (m->info.array.chunk_shape == NULL || one->narrow == NULL)
		return bpk_fail(err, BPK_USAGE, "is not an array, so it has no slices");
	if (one->narrow(m->first->reader, slice, err) != 0)
		return -1;
	m->info.raw_size = narrowed->raw_size;
	m->info.chunks.count = narrowed->chunks.count;
	m->info.chunks.size = narrowed->chunks.size;
	m->info.chunks.last_size = narrowed->chunks.last_size;
	return 0;
}

/* Only the first member can change in place, and only if no other follows. */
int bpk_members_unchanged(void *reader, bool failed, struct bpk_err *err)
{
	struct bpk_members *m = reader;

	return m->kind->one->unchanged != NULL
		       ? m->kind->one->unchanged(m->first->reader, failed, err)
		       : 0;
}

/* ---- Before a change ---- */

int bpk_members_refuse(const struct bpk_members_kind *kind, const void *reader,
		       struct bpk_source *source, uint64_t offset, struct bpk_err *err)
{
	const struct bpk_place place = { 0 };
	uint8_t bytes[BPK_PROBE_SIZE];
	struct bpk_view head = bpk_view(bytes, 0);
	bool begins, sealed;

	if (bpk_source_read_at(source, offset, bpk_span(bytes, sizeof bytes), &head.size, err) != 0)
		return -1;
	if (kind->probe(&place, head, &begins, err) != 0)
		return -1;
	if (!begins)
		return 0;
	sealed = kind->one->info(reader)->seal.sealed; /* then no command reads both */
	return bpk_fail(err, BPK_FAILED,
			"another archive follows at offset %" PRIu64
			", and a change would destroy it; bpk %s",
			offset,
			sealed ? "repair --apply -o NEW FILE writes the first"
			       : "convert FILE NEW merges them");
}

int bpk_members_only_zeros(struct bpk_source *source, uint64_t offset, bool *zero,
			   struct bpk_err *err)
{
	uint8_t bytes[ZEROS];
	size_t size = sizeof bytes;

	*zero = true;
	for (; *zero && size == sizeof bytes; offset += size) {
		offset += bpk_source_hole_at(source, offset); /* a file of TiB may be one */
		if (bpk_source_read_at(source, offset, bpk_span(bytes, sizeof bytes), &size, err) !=
		    0)
			return -1;
		*zero = bpk_is_zero(bpk_view(bytes, size));
	}
	return 0;
}

int bpk_members_refuse_tail(const struct bpk_members_kind *kind, void *reader,
			    struct bpk_source *source, const char *path, uint64_t offset,
			    struct bpk_err *err)
{
	uint8_t bytes[BPK_PROBE_SIZE];
	struct bpk_view head = bpk_view(bytes, 0);
	bool zero, unfinished;
	char word[BPK_WORD_TEXT];
	uint64_t size;
	const char *them;

	if (bpk_members_refuse(kind, reader, source, offset, err) != 0 ||
	    bpk_source_read_at(source, offset, bpk_span(bytes, sizeof bytes), &head.size, err) != 0)
		return -1;
	if (head.size == 0)
		return 0;
	if (judge_tail(kind, reader, source, offset, head, &unfinished, err) != 0)
		return -1;
	if (unfinished)
		return 0;
	if (bpk_members_only_zeros(source, offset, &zero, err) != 0)
		return -1;
	if (zero)
		return 0;
	size = bpk_source_size(source) - offset;
	them = bpk_plural(size, "it", "them");
	return bpk_fail(err, BPK_FAILED,
			"%" PRIu64 " %s from offset %" PRIu64
			" on, after the end of the archive, %s to no archive, and a change "
			"would destroy %s; truncate -s %" PRIu64 " %s removes %s",
			size, bpk_plural(size, "byte", "bytes"), offset,
			bpk_plural(size, "belongs", "belong"), them, offset,
			bpk_shell_word(path, word), them);
}
