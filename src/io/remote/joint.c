/* Several requests that are sent as one. Called by request.c and, for their text, by prepare.c. */
#include "io/remote/joint.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	/* Bytes of a joint request. More is worth a connection of its own, on which it comes at the
	 * same time; of scattered blocks even 16 are less. */
	JOINT_SIZE = 1 << 20,
	REFUSALS = 2, /* failures after which a server gets no more joint requests */
};

/* ---- servers ---- */

/* The scheme, host and port of a URL. */
static uint64_t hash_of(const struct bpk_url *url)
{
	const char *host = strstr(url->text, "://") + 3;
	size_t size = (size_t)(host - url->text) + strcspn(host, "/?#");

	return bpk_hash(BPK_HASH_START, bpk_view(url->text, size));
}

static unsigned row_of(const struct bpk_joint_hosts *hosts, const struct bpk_url *url)
{
	uint64_t hash = hash_of(url);
	unsigned i = 0;

	while (i < BPK_JOINT_HOSTS && (!hosts->rows[i].is_used || hosts->rows[i].hash != hash))
		i++;
	return i;
}

/* True if the server is to get no joint request, or not yet: one that does not know them sends the
 * whole file, so that only one is sent before it is known. */
static bool is_closed(const struct bpk_joint_hosts *hosts, const struct bpk_url *url)
{
	unsigned i = row_of(hosts, url);

	return i < BPK_JOINT_HOSTS && (hosts->rows[i].failures >= REFUSALS ||
				       (hosts->rows[i].is_tried && !hosts->rows[i].is_proved));
}

void bpk_joint_note_sent(struct bpk_joint_hosts *hosts, const struct bpk_url *url)
{
	unsigned i = row_of(hosts, url);

	if (i == BPK_JOINT_HOSTS) {
		i = hosts->next;
		hosts->next = (i + 1) % BPK_JOINT_HOSTS;
		memset(&hosts->rows[i], 0, sizeof hosts->rows[i]);
		hosts->rows[i].is_used = true;
		hosts->rows[i].hash = hash_of(url);
	}
	hosts->rows[i].is_tried = true;
}

void bpk_joint_note(struct bpk_joint_hosts *hosts, const struct bpk_url *url,
		    enum bpk_joint_end end)
{
	unsigned i = row_of(hosts, url);

	if (i == BPK_JOINT_HOSTS)
		return;
	hosts->rows[i].is_tried = false;
	if (end == BPK_JOINT_TAKEN) {
		hosts->rows[i].is_proved = true;
		if (hosts->rows[i].failures < REFUSALS)
			hosts->rows[i].failures = 0;
	} else if (end != BPK_JOINT_DROPPED) {
		hosts->rows[i].failures += end == BPK_JOINT_REFUSED ? REFUSALS : 1;
	}
}

/* ---- members ---- */

bool bpk_joint_may(const struct bpk_joint_hosts *hosts, const struct bpk_request *request)
{
	const struct bpk_answer *seen = request->seen;

	return seen != NULL && request->url->store == NULL && request->known == NULL &&
	       request->take == NULL && request->method == NULL && request->tries == 0 &&
	       !request->is_alone && seen->total != BPK_UNKNOWN && request->offset <= seen->total &&
	       request->out.size <= seen->total - request->offset &&
	       !is_closed(hosts, request->url);
}

/* Where the request belongs among the ranges; BPK_MULTIPART_RANGES: nowhere. */
static size_t place_of(const struct bpk_joint *joint, const struct bpk_request *request)
{
	uint64_t end = request->offset + request->out.size, size = request->out.size;
	const struct bpk_multipart *body = &joint->body;
	size_t at = 0;

	for (size_t i = 0; i < body->count; i++) {
		const struct bpk_multipart_range *range = &body->ranges[i];

		size += range->out.size;
		if (range->offset >= end)
			continue;
		if (range->offset + range->out.size > request->offset)
			return BPK_MULTIPART_RANGES;
		at = i + 1;
	}
	return body->count == BPK_MULTIPART_RANGES || size > JOINT_SIZE ? BPK_MULTIPART_RANGES : at;
}

bool bpk_joint_add(struct bpk_joint *joint, struct bpk_request *request)
{
	struct bpk_multipart *body = &joint->body;
	size_t at;

	if (request->url != joint->carrier.url || request->seen != joint->carrier.seen)
		return false;
	at = place_of(joint, request);
	if (at == BPK_MULTIPART_RANGES)
		return false;
	for (size_t i = body->count++; i > at; i--) {
		body->ranges[i] = body->ranges[i - 1];
		joint->members[i] = joint->members[i - 1];
	}
	body->ranges[at] =
		(struct bpk_multipart_range){ .offset = request->offset, .out = request->out };
	joint->members[at] = request;
	request->joint = joint;
	request->begun = bpk_clock();
	request->tries++;
	return true;
}

/* True if two requests are for different bytes of one version of a file, and no more than one
 * brings. */
static bool are_joinable(const struct bpk_request *a, const struct bpk_request *b)
{
	const struct bpk_request *first = a->offset < b->offset ? a : b;
	uint64_t distance = (first == a ? b : a)->offset - first->offset;

	return a->url == b->url && a->seen == b->seen && first->out.size <= distance &&
	       (uint64_t)a->out.size + b->out.size <= JOINT_SIZE;
}

struct bpk_joint *bpk_joint_new(struct bpk_request *request, struct bpk_request *other)
{
	struct bpk_joint *joint =
		are_joinable(request, other) ? bpk_calloc(1, sizeof *joint, NULL) : NULL;

	if (joint == NULL)
		return NULL;
	joint->carrier = (struct bpk_request){
		.url = request->url, .seen = request->seen, .why = joint->why, .joint = joint
	};
	joint->body.total = request->seen->total;
	(void)bpk_joint_add(joint, request);
	(void)bpk_joint_add(joint, other);
	return joint;
}

/* Take out the member at i. */
static void take_out(struct bpk_joint *joint, size_t i)
{
	struct bpk_request *request = joint->members[i];

	joint->members[i] = NULL;
	joint->body.ranges[i].out.data = NULL;
	request->joint = NULL;
	request->is_alone = true;
}

bool bpk_joint_remove(struct bpk_joint *joint, struct bpk_request *request)
{
	bool is_empty = true;

	for (size_t i = 0; i < joint->body.count; i++) {
		if (joint->members[i] == request)
			take_out(joint, i);
		is_empty = is_empty && joint->members[i] == NULL;
	}
	return is_empty;
}

void bpk_joint_text(const struct bpk_joint *joint, char text[BPK_JOINT_TEXT])
{
	const struct bpk_multipart_range *range = joint->body.ranges;
	const struct bpk_multipart_range *behind = range + joint->body.count;
	size_t size = 0;

	while (range < behind) {
		uint64_t first = range->offset, end = first;

		for (; range < behind && range->offset == end; range++) /* one after the other */
			end += range->out.size;
		size += (size_t)snprintf(text + size, BPK_JOINT_TEXT - size,
					 "%s%" PRIu64 "-%" PRIu64, size > 0 ? "," : "", first,
					 end - 1);
	}
}

/* ---- the end ---- */

bool bpk_joint_settle(struct bpk_joint *joint, size_t member, enum bpk_joint_end end)
{
	const struct bpk_request *carrier = &joint->carrier;
	struct bpk_request *request = joint->members[member];
	bool is_whole = joint->body.ranges[member].is_whole;

	take_out(joint, member);
	if (carrier->begun > request->begun)
		request->begun = carrier->begun;
	request->answer = carrier->answer;
	request->got = is_whole ? request->out.size : 0;
	if (is_whole) {
		request->answer.has_range = true;
		request->answer.first = request->offset;
		request->answer.size = request->out.size;
		request->answer.total = joint->body.total;
		request->outcome = BPK_OUTCOME_BYTES;
		return true;
	}
	request->outcome = BPK_OUTCOME_FAILED;
	if (end == BPK_JOINT_FAILED)
		request->err = carrier->err;
	else
		request->tries--;
	return false;
}

void bpk_joint_free(struct bpk_joint *joint)
{
	bpk_buf_clear(&joint->carrier.text);
	free(joint);
}
