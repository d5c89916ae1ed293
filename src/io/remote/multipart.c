/*
 * Reads multipart/byteranges as a sequence of lines, and contents whose sizes their heads give; no
 * content is searched for a delimiter. Called by exchange.c.
 */
#include "io/remote/multipart.h"

#include <stdio.h>

static bool fail(struct bpk_multipart *body)
{
	body->state = BPK_MULTIPART_WRONG;
	for (size_t i = 0; i < body->count; i++)
		body->ranges[i].is_whole = false;
	return false;
}

/* ---- a content ---- */

static uint64_t end_of(const struct bpk_multipart_range *range)
{
	return range->offset + range->out.size;
}

/* Find the ranges that a part from first to end has: it begins with one and ends with one, and no
 * other part has them. */
static bool find_ranges(struct bpk_multipart *body, uint64_t first, uint64_t end)
{
	uint64_t wanted = 0;
	size_t i = 0;

	while (i < body->count && body->ranges[i].offset != first)
		i++;
	body->first = i;
	for (; i < body->count && !body->ranges[i].is_taken; i++) {
		wanted += body->ranges[i].out.size;
		if (end_of(&body->ranges[i]) < end)
			continue;
		if (end_of(&body->ranges[i]) > end)
			return false;
		body->last = i;
		body->gaps += end - first - wanted;
		return body->gaps <= BPK_MULTIPART_GAPS;
	}
	return false;
}

/* Begin the content that a head announces. */
static bool begin_content(struct bpk_multipart *body, const struct bpk_answer *head)
{
	if (head->is_bad || !head->has_range || head->total != body->total ||
	    !find_ranges(body, head->first, head->first + head->size))
		return false;
	body->at = head->first;
	body->end = head->first + head->size;
	for (size_t i = body->first; i <= body->last; i++)
		body->ranges[i].is_taken = true;
	return true;
}

/* The ranges of the content are whole: the part has ended where it should. */
static void end_content(struct bpk_multipart *body)
{
	for (size_t i = body->first; i <= body->last; i++)
		body->ranges[i].is_whole = true;
}

/* Put the bytes of the file at body->at, which the content has, into the ranges. */
static void place(struct bpk_multipart *body, struct bpk_view bytes)
{
	uint64_t start = body->at, end = start + bytes.size;

	for (size_t i = body->first; i <= body->last; i++) {
		const struct bpk_multipart_range *range = &body->ranges[i];
		uint64_t from = bpk_max_u64(start, range->offset);
		uint64_t to = bpk_min_u64(end, end_of(range));

		if (from < to && range->out.data != NULL)
			memcpy(range->out.data + (from - range->offset),
			       bytes.data + (from - start), (size_t)(to - from));
	}
	body->at = end;
}

/* Take the bytes of the content. Returns how many that were. */
static size_t take_content(struct bpk_multipart *body, struct bpk_view bytes)
{
	size_t size = (size_t)bpk_min_u64(bytes.size, body->end - body->at);

	place(body, bpk_view(bytes.data, size));
	if (body->at < body->end)
		return size;
	if (body->state == BPK_MULTIPART_SINGLE)
		end_content(body);
	else
		body->state = BPK_MULTIPART_BEHIND;
	body->between = 0;
	return size;
}

/* ---- lines ---- */

static bool begins_as_delimiter(const struct bpk_multipart *body)
{
	size_t size = strlen(body->delimiter);

	return body->line_size >= size && memcmp(body->line, body->delimiter, size) == 0;
}

/* True for the delimiter in front of a part; blanks may follow it. */
static bool is_delimiter(const struct bpk_multipart *body)
{
	size_t i = strlen(body->delimiter);

	if (!begins_as_delimiter(body))
		return false;
	while (i < body->line_size && (body->line[i] == ' ' || body->line[i] == '\t'))
		i++;
	if (i < body->line_size && body->line[i] == '\r')
		i++;
	return i + 1 == body->line_size && body->line[i] == '\n';
}

/* True for the delimiter behind all parts, which may have no end of a line. */
static bool is_last_delimiter(const struct bpk_multipart *body)
{
	size_t size = strlen(body->delimiter);

	return body->line_size == size + 2 && begins_as_delimiter(body) &&
	       memcmp(body->line + size, "--", 2) == 0;
}

/* True for a line that has nothing but its end, CR LF or LF. */
static bool is_empty(const struct bpk_multipart *body)
{
	return body->line_size == 1 || (body->line_size == 2 && body->line[0] == '\r');
}

/* Take a whole line. */
static bool take_line(struct bpk_multipart *body)
{
	switch (body->state) {
	case BPK_MULTIPART_BEHIND:
		body->state = BPK_MULTIPART_DELIMITER;
		return is_empty(body) && body->line_size == body->ending;
	case BPK_MULTIPART_DELIMITER:
		if (!is_delimiter(body))
			return false;
		end_content(body);
		break;
	case BPK_MULTIPART_PREAMBLE:
		if (!is_delimiter(body))
			return true;
		break;
	case BPK_MULTIPART_HEAD:
		bpk_answer_take(&body->part, bpk_view(body->line, body->line_size));
		if (!body->part.is_complete)
			return true;
		if (!is_empty(body))
			return false;
		body->ending = body->line_size;
		body->state = BPK_MULTIPART_CONTENT;
		return begin_content(body, &body->part);
	default:
		return true;
	}
	body->part = (struct bpk_answer){ .size = BPK_UNKNOWN, .total = BPK_UNKNOWN };
	body->state = BPK_MULTIPART_HEAD;
	return true;
}

/* Note the delimiter behind all parts. */
static bool take_end(struct bpk_multipart *body)
{
	if (body->state == BPK_MULTIPART_DELIMITER)
		end_content(body);
	body->state = BPK_MULTIPART_EPILOGUE;
	return true;
}

/* Take a byte that is no content. */
static bool take_byte(struct bpk_multipart *body, char byte)
{
	bool is_end, may_end = body->state == BPK_MULTIPART_DELIMITER ||
			       body->state == BPK_MULTIPART_PREAMBLE;

	if (++body->between > BPK_MULTIPART_BETWEEN)
		return false;
	if (body->state == BPK_MULTIPART_EPILOGUE)
		return true;
	if (body->line_size == BPK_MULTIPART_LINE)
		return false;
	body->line[body->line_size++] = byte;
	is_end = may_end && is_last_delimiter(body);
	if (!is_end && byte != '\n')
		return true;
	if (!(is_end ? take_end(body) : take_line(body)))
		return false;
	body->line_size = 0;
	return true;
}

/* ---- the calls ---- */

bool bpk_multipart_begin(struct bpk_multipart *body, const struct bpk_answer *answer)
{
	bool is_single = answer->has_range;

	if (answer->is_bad || answer->is_multipart == is_single)
		return fail(body);
	if (is_single) {
		body->state = BPK_MULTIPART_SINGLE;
		return begin_content(body, answer) || fail(body);
	}
	if (answer->boundary[0] == '\0')
		return fail(body);
	snprintf(body->delimiter, sizeof body->delimiter, "--%s", answer->boundary);
	return true;
}

bool bpk_multipart_take(struct bpk_multipart *body, struct bpk_view bytes)
{
	while (bytes.size > 0) {
		size_t size = 1;

		if (body->state == BPK_MULTIPART_WRONG)
			return false;
		if (body->state == BPK_MULTIPART_CONTENT ||
		    (body->state == BPK_MULTIPART_SINGLE && body->at < body->end))
			size = take_content(body, bytes);
		else if (body->state == BPK_MULTIPART_SINGLE ||
			 !take_byte(body, (char)bytes.data[0]))
			return fail(body);
		bytes = bpk_view(bytes.data + size, bytes.size - size);
	}
	return true;
}

bool bpk_multipart_is_cut(const struct bpk_multipart *body)
{
	switch (body->state) {
	case BPK_MULTIPART_HEAD:
	case BPK_MULTIPART_CONTENT:
	case BPK_MULTIPART_BEHIND:
	case BPK_MULTIPART_DELIMITER:
		return true;
	case BPK_MULTIPART_SINGLE:
		return body->at < body->end;
	case BPK_MULTIPART_PREAMBLE:
	case BPK_MULTIPART_EPILOGUE:
	case BPK_MULTIPART_WRONG:
		break;
	}
	return false;
}
