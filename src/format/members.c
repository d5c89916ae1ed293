/*
 * Reads concatenated archives as one, for the rows of formats.c. If chunks are found by offsets,
 * all members are found at open; a table keeps their positions, and a few of their readers stay
 * open. Otherwise members are found one after another (members_walk.c). For a single archive this
 * costs one look after its end; every call then goes straight to its reader.
 */
#include "format/members.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- Finding the members ---- */

/* The member that holds chunk number, which exists; the last of those that begin with it. */
static size_t find(const struct bpk_members *m, uint64_t number)
{
	return bpk_find_last(&m->all[0].first, sizeof *m->all, m->count, number);
}

static int add_place(struct bpk_members *m, const struct bpk_member *member, struct bpk_err *err)
{
	struct bpk_members_place *all =
		bpk_alloc_grow(m->all, m->count, &m->room, sizeof *all, err);

	if (all == NULL)
		return -1;
	m->all = all;
	m->all[m->count++] =
		(struct bpk_members_place){ member->offset, member->first, member->raw_offset };
	return 0;
}

/* Add member to the totals, and set next to its end; offset 0 if that is unknown. */
static int count_in(struct bpk_members *m, const struct bpk_member *member, struct bpk_member *next,
		    struct bpk_err *err)
{
	const struct bpk_info *info = m->kind->one->info(member->reader);
	struct bpk_member_end end;

	m->kind->end(member->reader, &end);
	if (bpk_merged_add(&m->merged, info, &end, err) != 0)
		return -1;
	*next = (struct bpk_member){ .number = member->number + 1,
				     .first = m->merged.chunks.count,
				     .raw_offset = m->merged.chunks.raw_size };
	m->end = BPK_UNKNOWN;
	if (end.offset == BPK_UNKNOWN || end.offset == 0)
		return 0;
	m->end = next->offset = member->offset + end.offset;
	return 0;
}

/* Open the member that begins at next; *member is NULL if there is no archive, or it is damaged. */
static int open_next(struct bpk_members *m, const struct bpk_member *next,
		     struct bpk_member **member, struct bpk_err *err)
{
	bool begins = false;

	*member = NULL;
	if (next->offset == 0 || next->offset >= m->size)
		return 0;
	if (bpk_members_begins(m, next->offset, &begins, err) != 0)
		return -1;
	if (!begins || bpk_members_open_one(m, next, member, &m->broken) == 0)
		return 0;
	if (m->broken.kind == BPK_FAILED || m->broken.kind == BPK_NO_MEMORY)
		return bpk_fail_as(err, &m->broken);
	return 0;
}

/* Find all members, until one has chunks that are found by walking: all are then read in
 * sequence. */
static int find_all(struct bpk_members *m, struct bpk_err *err)
{
	struct bpk_member *at = m->first, *behind = NULL, next = { 0 };
	int rc = 0;

	m->in_sequence = !m->kind->one->positional(at->reader);
	while (rc == 0 && at != NULL && !m->in_sequence) {
		rc = count_in(m, at, &next, err);
		if (rc == 0)
			rc = open_next(m, &next, &behind, err);
		if (rc == 0 && (behind != NULL || m->count > 0))
			rc = add_place(m, at, err);
		m->in_sequence = behind != NULL && !m->kind->one->positional(behind->reader);
		if (at != m->first)
			bpk_members_leave(m, at);
		at = behind;
	}
	if (m->in_sequence) {
		if (at != m->first)
			bpk_members_leave(m, at);
		m->count = 0;
		m->broken = (struct bpk_err){ 0 };
		bpk_merged_clear(&m->merged);
	}
	return rc;
}

/* ---- Opening ---- */

void bpk_members_close(void *reader)
{
	struct bpk_members *m = reader;

	if (m == NULL)
		return;
	bpk_merged_clear(&m->merged);
	bpk_merged_clear(&m->fetching.merged);
	bpk_merged_clear(&m->locating.merged);
	while (m->open != NULL) {
		struct bpk_member *member = m->open;

		m->open = member->next;
		bpk_members_free_one(m, member);
	}
	if (m->spool != NULL)
		bpk_source_close(m->place.source);
	bpk_spool_close(m->spool);
	bpk_mutex_clear(&m->lock);
	free(m->all);
	free(m->page);
	free(m);
}

/* Spool a pipe if the format must seek in its input. */
static int put_aside(struct bpk_members *m, struct bpk_err *err)
{
	struct bpk_source *pipe = m->place.source;

	if (!m->kind->seeks || pipe == NULL || bpk_source_seekable(pipe))
		return 0;
	m->place.source = NULL;
	m->place.path = NULL;
	if (bpk_spool_open(&m->spool, err) != 0 || bpk_spool_fill(m->spool, pipe, err) != 0)
		return -1;
	return bpk_spool_source(m->spool, &m->place.source, err);
}

static int open_all(struct bpk_members *m, struct bpk_err *err)
{
	static const struct bpk_member begin;

	if (put_aside(m, err) != 0)
		return -1;
	m->seekable = m->place.source != NULL && bpk_source_seekable(m->place.source);
	if (bpk_members_open_one(m, &begin, &m->first, err) != 0)
		return -1;
	m->info = *m->kind->one->info(m->first->reader);
	m->size = m->info.stored_size;
	if (find_all(m, err) != 0)
		return -1;
	m->info.members = BPK_UNKNOWN;
	if (m->in_sequence)
		return 0;
	if (bpk_merged_info(&m->merged, &m->info, err) != 0)
		return -1;
	if (m->info.seal.sealed && m->end != BPK_UNKNOWN)
		m->info.seal.end = m->count > 1 ? m->all[1].offset : m->end;
	return 0;
}

int bpk_members_open(const struct bpk_members_kind *kind, struct bpk_place *place,
		     const struct bpk_read_options *options, void **reader, struct bpk_err *err)
{
	struct bpk_members *m = bpk_calloc(1, sizeof *m, err);

	*reader = NULL;
	if (m == NULL)
		return -1;
	bpk_mutex_init(&m->lock);
	m->kind = kind;
	m->place = *place;
	m->options = *options;
	m->options.followed = true;
	if (open_all(m, err) != 0) {
		bpk_members_close(m);
		return -1;
	}
	*reader = m;
	return 0;
}

/* ---- The operations ---- */

static bool is_alone(const struct bpk_members *m)
{
	return !m->in_sequence && m->count <= 1;
}

const struct bpk_info *bpk_members_info(const void *reader)
{
	const struct bpk_members *m = reader;

	return &m->info;
}

bool bpk_members_positional(const void *reader)
{
	return !((const struct bpk_members *)reader)->in_sequence;
}

int bpk_members_fetch(void *reader, struct bpk_parcel *parcel, struct bpk_err *err)
{
	struct bpk_members *m = reader;
	struct bpk_member *member;

	if (is_alone(m))
		return m->kind->one->fetch(m->first->reader, parcel, err);
	bpk_members_leave(m, parcel->member);
	parcel->member = NULL;
	if (m->in_sequence)
		return bpk_members_fetch_next(m, parcel, err);
	if (parcel->number >= m->merged.chunks.count)
		return 1;
	if (bpk_members_enter(m, find(m, parcel->number), &member, err) != 0)
		return -1;
	return bpk_members_fetch_from(m, member, parcel, err);
}

/* The member of a parcel, and a copy of the parcel with that member's own numbers. */
static const struct bpk_member *member_of(const struct bpk_members *m,
					  const struct bpk_parcel *parcel, struct bpk_parcel *own)
{
	const struct bpk_member *member = is_alone(m) ? m->first : parcel->member;

	*own = *parcel;
	own->number -= member->first;
	if (own->packed_offset != BPK_UNKNOWN)
		own->packed_offset -= member->offset;
	return member;
}

int bpk_members_check(const void *reader, const struct bpk_parcel *parcel, struct bpk_err *err)
{
	const struct bpk_members *m = reader;
	struct bpk_parcel own;
	const struct bpk_member *member = member_of(m, parcel, &own);

	if (m->kind->one->check(member->reader, &own, err) != 0)
		return bpk_members_subject(m, member, err);
	return 0;
}

int bpk_members_name(const void *reader, const struct bpk_parcel *parcel, struct bpk_err *err)
{
	const struct bpk_members *m = reader;
	struct bpk_parcel own;
	const struct bpk_member *member = member_of(m, parcel, &own);

	if (m->kind->one->subject != NULL)
		m->kind->one->subject(member->reader, &own, err);
	else
		bpk_err_subject(err, "chunk %" PRIu64 " at offset %" PRIu64, own.number,
				own.packed_offset);
	return bpk_members_subject(m, member, err);
}

static bool one_unpacks(const struct bpk_members *m, const struct bpk_member *member)
{
	return m->kind->one->unpacks != NULL && m->kind->one->unpacks(member->reader);
}

/* Some members may be arrays and others not, and their typesize may not stand in the chunks. */
bool bpk_members_unpacks(const void *reader)
{
	const struct bpk_members *m = reader;

	return is_alone(m) ? one_unpacks(m, m->first) : m->kind->one->unpacks != NULL;
}

int bpk_members_unpack(const void *reader, struct bpk_chunk_ctx *ctx,
		       const struct bpk_parcel *parcel, struct bpk_span out, struct bpk_err *err)
{
	const struct bpk_members *m = reader;
	struct bpk_parcel own;
	const struct bpk_member *member = member_of(m, parcel, &own);
	struct bpk_view chunk = bpk_view(parcel->packed.data, parcel->packed_size);

	bpk_chunk_ctx_set_typesize(ctx, m->kind->one->info(member->reader)->chunks.typesize);
	if (one_unpacks(m, member))
		return m->kind->one->unpack(member->reader, ctx, &own, out, err);
	if (parcel->want_size == parcel->raw_size)
		return bpk_chunk_decode(ctx, chunk, out, err);
	return bpk_chunk_decode_range(ctx, chunk, parcel->want_start, out, err);
}

static int locate_in_table(struct bpk_members *m, uint64_t number, struct bpk_where *where,
			   struct bpk_err *err)
{
	struct bpk_member *member;
	int rc;

	if (number >= m->merged.chunks.count)
		return 1;
	if (bpk_members_enter(m, find(m, number), &member, err) != 0)
		return -1;
	rc = m->kind->one->locate(member->reader, number - member->first, where, err);
	if (rc < 0)
		bpk_members_subject(m, member, err);
	if (rc == 0 && where->packed_offset != BPK_UNKNOWN)
		where->packed_offset += member->offset;
	if (rc == 0 && member->raw_offset != BPK_UNKNOWN)
		where->raw_offset += member->raw_offset;
	bpk_members_leave(m, member);
	return rc;
}

int bpk_members_locate(void *reader, uint64_t number, struct bpk_where *where, struct bpk_err *err)
{
	struct bpk_members *m = reader;

	if (is_alone(m))
		return m->kind->one->locate(m->first->reader, number, where, err);
	return m->in_sequence ? bpk_members_locate_next(m, number, where, err)
			      : locate_in_table(m, number, where, err);
}

/* Repeats are found within a member only. */
/* Of several members only the one that is fetched from is open. */
void bpk_members_ahead(void *reader, uint64_t number)
{
	struct bpk_members *m = reader;

	if (is_alone(m) && m->kind->one->ahead != NULL)
		m->kind->one->ahead(m->first->reader, number);
}

uint64_t bpk_members_repeats(void *reader, uint64_t number, uint64_t *first, uint64_t *raw_size)
{
	struct bpk_members *m = reader;
	const struct bpk_reader_ops *one = m->kind->one;
	struct bpk_member *member;
	uint64_t count;

	if (one->repeats == NULL)
		return 0;
	if (is_alone(m))
		return one->repeats(m->first->reader, number, first, raw_size);
	if (m->in_sequence || number >= m->merged.chunks.count ||
	    bpk_members_enter(m, find(m, number), &member, NULL) != 0)
		return 0;
	count = one->repeats(member->reader, number - member->first, first, raw_size);
	*first += count > 0 ? member->first : 0;
	bpk_members_leave(m, member);
	return count;
}
