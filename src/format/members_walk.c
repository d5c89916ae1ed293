/*
 * Walks from member to member: the next member is found at the end of the one before it. Used if
 * chunks are found by walking, or come through a pipe. The reader in members.c calls it.
 */
#include "format/members.h"

#include <inttypes.h>

/* ---- To the end of a member ---- */

int bpk_members_pass(const struct bpk_members *m, struct bpk_member *member,
		     struct bpk_member_end *end, struct bpk_err *err)
{
	const struct bpk_reader_ops *one = m->kind->one;
	uint64_t nchunks = one->info(member->reader)->chunks.count;
	uint64_t number = nchunks != BPK_UNKNOWN && nchunks > 0 ? nchunks - 1 : 0;
	struct bpk_where where;
	int rc = 0;

	m->kind->end(member->reader, end);
	while (rc == 0 && end->offset == BPK_UNKNOWN) {
		rc = one->locate(member->reader, number++, &where, err);
		m->kind->end(member->reader, end);
	}
	return rc < 0 ? bpk_members_subject(m, member, err) : 0;
}

/* True for a later member without data, which adds no chunk. */
static bool is_passed_over(const struct bpk_members *m, const struct bpk_member *member)
{
	const struct bpk_info *info = m->kind->one->info(member->reader);

	return member->number > 0 && bpk_member_is_empty(info->chunks.count, info->raw_size);
}

int bpk_members_prove_empty(struct bpk_members *m, struct bpk_member *member, struct bpk_err *err)
{
	const struct bpk_reader_ops *one = m->kind->one;
	struct bpk_parcel parcel = { .want_size = SIZE_MAX };
	int rc;

	do {
		rc = one->fetch(member->reader, &parcel, err);
		if (rc == 0 && !m->options.no_check)
			rc = one->check(member->reader, &parcel, err);
		parcel.number++;
	} while (rc == 0);
	bpk_buf_clear(&parcel.packed);
	return rc < 0 ? bpk_members_subject(m, member, err) : 0;
}

/* ---- From member to member ---- */

static void start(struct bpk_members *m, struct bpk_members_walk *walk)
{
	bpk_members_leave(m, walk->at);
	bpk_merged_clear(&walk->merged);
	walk->ended = false;
	walk->at = m->first;
	bpk_mutex_lock(&m->lock);
	walk->at->users++;
	bpk_mutex_unlock(&m->lock);
}

/* After the last member: the description of all is now known. A fetching walk sets only the counts,
 * since other threads may be unpacking parcels. */
static int end_walk(struct bpk_members *m, struct bpk_members_walk *walk, uint64_t end,
		    struct bpk_err *err)
{
	walk->ended = true;
	walk->end = end;
	if (m->merged.nmembers > 0)
		bpk_merged_clear(&walk->merged);
	else
		m->merged = walk->merged;
	walk->merged = (struct bpk_merged){ 0 };
	if (walk == &m->locating)
		return bpk_merged_info(&m->merged, &m->info, err);
	bpk_merged_counts(&m->merged, &m->info);
	m->info.members = m->merged.nmembers;
	return 0;
}

/* Move a pipe's cursor to the end of the member. */
static int pass_pipe(const struct bpk_members *m, const struct bpk_member_end *end,
		     struct bpk_err *err)
{
	uint64_t here = bpk_source_tell(m->place.source), skipped;

	return end->offset > here
		       ? bpk_source_skip(m->place.source, end->offset - here, &skipped, err)
		       : 0;
}

static void keep_silent(void *arg, const char *line)
{
	(void)arg;
	(void)line;
}

/* Audit a member of a pipe before it is gone; the first damage is reported at the end. */
static void audit_passed(struct bpk_members *m, struct bpk_member *member)
{
	struct bpk_err err = { 0 };

	if (bpk_members_audit_one(m, member, keep_silent, NULL, &err) != 0 &&
	    m->damage.kind == BPK_OK)
		m->damage = err;
}

/* After the end of a member: open the next one, or end the walk. */
static int advance(struct bpk_members *m, struct bpk_members_walk *walk, struct bpk_err *err)
{
	struct bpk_member *at = walk->at, next;
	struct bpk_member_end end;
	bool begins = false;

	if (bpk_members_pass(m, at, &end, err) != 0)
		return -1;
	if (!m->seekable)
		audit_passed(m, at);
	if (bpk_merged_add(&walk->merged, m->kind->one->info(at->reader), &end, err) != 0)
		return -1;
	if (end.offset == BPK_UNKNOWN || end.offset == 0)
		return end_walk(m, walk, BPK_UNKNOWN, err);
	next = (struct bpk_member){ .number = at->number + 1,
				    .offset = at->offset + end.offset,
				    .first = walk->merged.chunks.count,
				    .raw_offset = walk->merged.chunks.raw_size };
	if ((!m->seekable && pass_pipe(m, &end, err) != 0) ||
	    bpk_members_begins(m, next.offset, &begins, err) != 0)
		return -1;
	if (!begins)
		return end_walk(m, walk, next.offset, err);
	if (!m->seekable)
		bpk_source_rebase(m->place.source);
	if (bpk_members_open_one(m, &next, &walk->at, err) != 0) {
		walk->at = at;
		return -1;
	}
	bpk_members_leave(m, at);
	return 0;
}

/* ---- The operations ---- */

/* True for a chunk that the walk has passed with its member. */
static bool lies_before(const struct bpk_members *m, const struct bpk_members_walk *walk,
			uint64_t number)
{
	return number < walk->at->first || (walk->ended && number < m->merged.chunks.count);
}

int bpk_members_fetch_next(struct bpk_members *m, struct bpk_parcel *parcel, struct bpk_err *err)
{
	struct bpk_members_walk *walk = &m->fetching;
	int rc;

	if (walk->at == NULL || (m->seekable && lies_before(m, walk, parcel->number)))
		start(m, walk);
	if (parcel->number < walk->at->first)
		return bpk_fail(err, BPK_BUG,
				"chunk %" PRIu64 " was asked for after chunk %" PRIu64,
				parcel->number, walk->at->first);
	while (!walk->ended) {
		if (is_passed_over(m, walk->at))
			rc = bpk_members_prove_empty(m, walk->at, err) < 0 ? -1 : 1;
		else
			rc = bpk_members_fetch_from(m, walk->at, parcel, err);
		if (rc == 0) {
			bpk_mutex_lock(&m->lock);
			walk->at->users++; /* for the parcel */
			bpk_mutex_unlock(&m->lock);
			return 0;
		}
		parcel->member = NULL;
		if (rc < 0 || advance(m, walk, err) != 0)
			return -1;
	}
	return 1;
}

static int locate_at(struct bpk_members *m, struct bpk_member *at, uint64_t number,
		     struct bpk_where *where, struct bpk_err *err)
{
	int rc = m->kind->one->locate(at->reader, number - at->first, where, err);

	if (rc < 0)
		return bpk_members_subject(m, at, err);
	where->packed_offset += at->offset;
	where->raw_offset += at->raw_offset;
	return rc;
}

int bpk_members_locate_next(struct bpk_members *m, uint64_t number, struct bpk_where *where,
			    struct bpk_err *err)
{
	struct bpk_members_walk *walk = &m->locating;
	int rc = 1;

	if (walk->ended && number >= m->merged.chunks.count)
		return 1;
	if (walk->at == NULL || number < walk->at->first)
		start(m, walk);
	else if (walk->ended)
		return locate_at(m, walk->at, number, where, err);
	while (!walk->ended) {
		if (!is_passed_over(m, walk->at))
			rc = locate_at(m, walk->at, number, where, err);
		if (rc <= 0)
			return rc;
		if (advance(m, walk, err) != 0)
			return -1;
	}
	return 1;
}

/* On a pipe, skip the members that were not fetched, and audit them on the way. */
static int audit_pipe(struct bpk_members *m, bpk_remark_fn *remark, void *arg, struct bpk_err *err)
{
	struct bpk_members_walk *walk = &m->fetching;

	if (walk->at == NULL)
		start(m, walk);
	/* remarks about members already passed were dropped */
	if (bpk_members_audit_one(m, walk->at, remark, arg, err) != 0)
		return -1;
	while (!walk->ended) {
		if (bpk_members_audit_one(m, walk->at, keep_silent, NULL, err) != 0 ||
		    advance(m, walk, err) != 0)
			return -1;
	}
	if (m->damage.kind == BPK_OK)
		return 0;
	return bpk_fail_as(err, &m->damage);
}

int bpk_members_audit_walk(struct bpk_members *m, bpk_remark_fn *remark, void *arg,
			   struct bpk_err *err)
{
	struct bpk_members_walk *walk = &m->locating;

	if (!m->seekable)
		return audit_pipe(m, remark, arg, err);
	start(m, walk);
	while (!walk->ended) {
		if (is_passed_over(m, walk->at) && bpk_members_prove_empty(m, walk->at, err) != 0)
			return -1;
		if (bpk_members_audit_one(m, walk->at, remark, arg, err) != 0 ||
		    advance(m, walk, err) != 0)
			return -1;
	}
	return 0;
}
