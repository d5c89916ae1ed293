/*
 * One of several concatenated archives: its reader, opened when it is needed, and its chunks and
 * remarks with its number. The other members*.c files call it.
 */
#include "format/members.h"

#include <inttypes.h>
#include <stdlib.h>

enum {
	IDLE = 16, /* unused readers that stay open */
};

int bpk_members_subject(const struct bpk_members *m, const struct bpk_member *member,
			struct bpk_err *err)
{
	if (member->number == 0 && m->count < 2)
		return -1;
	return bpk_err_subject(err, "member %" PRIu64 ", from offset %" PRIu64, member->number + 1,
			       member->offset);
}

void bpk_members_free_one(const struct bpk_members *m, struct bpk_member *member)
{
	if (member->reader != NULL)
		m->kind->one->close(member->reader);
	bpk_source_close(member->source);
	free(member);
}

int bpk_members_open_one(struct bpk_members *m, const struct bpk_member *where,
			 struct bpk_member **member, struct bpk_err *err)
{
	struct bpk_member *own = bpk_calloc(1, sizeof *own, err);
	struct bpk_place place = m->place;
	int rc = 0;

	*member = NULL;
	if (own == NULL)
		return -1;
	*own = *where;
	own->users = 1;
	if (where->offset > 0) {
		place.path = NULL; /* locks of other programs concern the first member */
		if (m->seekable)
			rc = bpk_members_part(m, where->offset, &own->source, err);
		if (own->source != NULL)
			place.source = own->source;
	}
	if (rc == 0)
		rc = m->kind->one->open(&place, &m->options, &own->reader, err);
	if (rc != 0) {
		bpk_members_subject(m, own, err);
		bpk_members_free_one(m, own);
		return -1;
	}
	bpk_mutex_lock(&m->lock);
	own->next = m->open;
	m->open = own;
	bpk_mutex_unlock(&m->lock);
	*member = own;
	return 0;
}

/* Remove the longest open idle reader from the list, if there are too many. The caller has the
 * lock. */
static struct bpk_member *evict(struct bpk_members *m)
{
	struct bpk_member **oldest = NULL, *evicted;
	unsigned idle = 0;

	for (struct bpk_member **at = &m->open; *at != NULL; at = &(*at)->next)
		if ((*at)->users == 0) {
			idle++;
			oldest = at;
		}
	if (idle <= IDLE)
		return NULL;
	evicted = *oldest;
	*oldest = evicted->next;
	return evicted;
}

void bpk_members_leave(struct bpk_members *m, struct bpk_member *member)
{
	struct bpk_member *evicted;

	if (member == NULL)
		return;
	bpk_mutex_lock(&m->lock);
	member->users--;
	evicted = evict(m);
	bpk_mutex_unlock(&m->lock);
	if (evicted != NULL)
		bpk_members_free_one(m, evicted);
}

int bpk_members_enter(struct bpk_members *m, size_t index, struct bpk_member **member,
		      struct bpk_err *err)
{
	const struct bpk_members_place *place = &m->all[index];
	const struct bpk_member where = { .number = index,
					  .offset = place->offset,
					  .first = place->first,
					  .raw_offset = place->raw_offset };
	struct bpk_member *at;

	bpk_mutex_lock(&m->lock);
	for (at = m->open; at != NULL && at->number != index; at = at->next)
		;
	if (at != NULL)
		at->users++;
	bpk_mutex_unlock(&m->lock);
	*member = at;
	return at != NULL ? 0 : bpk_members_open_one(m, &where, member, err);
}

int bpk_members_begins(struct bpk_members *m, uint64_t offset, bool *begins, struct bpk_err *err)
{
	const struct bpk_place place = { 0 };
	uint8_t bytes[BPK_PROBE_SIZE];
	struct bpk_view head = bpk_view(bytes, 0);

	if ((m->seekable
		     ? bpk_members_read(m, offset, bpk_span(bytes, sizeof bytes), &head.size, err)
		     : bpk_source_peek(m->place.source, sizeof bytes, &head, err)) != 0)
		return -1;
	return m->kind->probe(&place, head, begins, err);
}

int bpk_members_fetch_from(const struct bpk_members *m, struct bpk_member *member,
			   struct bpk_parcel *parcel, struct bpk_err *err)
{
	uint64_t number = parcel->number;
	int rc;

	parcel->member = member;
	parcel->number -= member->first;
	rc = m->kind->one->fetch(member->reader, parcel, err);
	parcel->number = number;
	if (rc != 0)
		return rc < 0 ? bpk_members_subject(m, member, err) : rc;
	if (parcel->packed_offset != BPK_UNKNOWN)
		parcel->packed_offset += member->offset;
	if (member->raw_offset == BPK_UNKNOWN || parcel->raw_offset == BPK_UNKNOWN ||
	    !bpk_add_u64(parcel->raw_offset, member->raw_offset, &parcel->raw_offset))
		parcel->raw_offset = BPK_UNKNOWN;
	return 0;
}

/* ---- Audit ---- */

struct naming {
	const struct bpk_members *members;
	const struct bpk_member *member;
	bpk_remark_fn *remark;
	void *arg;
};

static void name_remark(void *arg, const char *line)
{
	const struct naming *n = arg;
	struct bpk_err named = { 0 };

	if (n->remark == NULL)
		return;
	bpk_fail(&named, BPK_OK, "%s", line);
	bpk_members_subject(n->members, n->member, &named);
	n->remark(n->arg, named.text);
}

int bpk_members_audit_one(struct bpk_members *m, struct bpk_member *member, bpk_remark_fn *remark,
			  void *arg, struct bpk_err *err)
{
	struct naming naming = { m, member, remark, arg };

	if (m->kind->one->audit(member->reader, name_remark, &naming, err) != 0)
		return bpk_members_subject(m, member, err);
	return 0;
}
