/* Reads the head of an answer. Called by exchange.c, with lines of a server that is not trusted. */
#include "io/remote/answer.h"

#include <inttypes.h>
#include <stdio.h>

enum { RETRY_MAX = 3600 }; /* seconds that a server may ask for; more counts as this much */

/* A decimal number at *at, before end. False where there is no digit, or too many. */
static bool take_number(const char **at, const char *end, uint64_t *number)
{
	const char *p = *at;

	*number = 0;
	for (; p < end && *p >= '0' && *p <= '9'; p++)
		if (*number > (UINT64_MAX - 9) / 10)
			return false;
		else
			*number = *number * 10 + (uint64_t)(*p - '0');
	if (p == *at)
		return false;
	*at = p;
	return true;
}

static bool take_char(const char **at, const char *end, char c)
{
	if (*at == end || **at != c)
		return false;
	++*at;
	return true;
}

/* "bytes FIRST-LAST/TOTAL", where TOTAL may be "*"; "bytes * /TOTAL" without a blank says that no
 * byte was in the range. */
static bool take_range(struct bpk_answer *answer, const char *at, const char *end)
{
	static const char unit[] = "bytes ";
	uint64_t last = 0;

	if ((size_t)(end - at) < sizeof unit - 1 || strncasecmp(at, unit, sizeof unit - 1) != 0)
		return false;
	at += sizeof unit - 1;
	if (!take_char(&at, end, '*')) {
		if (!take_number(&at, end, &answer->first) || !take_char(&at, end, '-') ||
		    !take_number(&at, end, &last) || last < answer->first)
			return false;
		answer->size = last - answer->first + 1;
		answer->has_range = true;
	}
	if (!take_char(&at, end, '/'))
		return false;
	if (take_char(&at, end, '*'))
		return at == end;
	return take_number(&at, end, &answer->total) && at == end &&
	       (!answer->has_range || last < answer->total);
}

/* Copy a version. A long one is cut, and ends with a CRC-32 of all of it. */
static void copy_version(char to[BPK_ANSWER_TEXT], const char *at, const char *end)
{
	enum { CRC = 8 };
	size_t size = (size_t)(end - at), most = BPK_ANSWER_TEXT - 1 - CRC;

	snprintf(to, BPK_ANSWER_TEXT, "%.*s", (int)bpk_min_size(size, most), at);
	if (size > most)
		snprintf(to + strlen(to), CRC + 1, "%08" PRIx32, bpk_crc32(0, bpk_view(at, size)));
}

static void copy_text(char to[BPK_ANSWER_TEXT], const char *at, const char *end)
{
	size_t size = bpk_min_size((size_t)(end - at), BPK_ANSWER_TEXT - 1);

	memcpy(to, at, size);
	to[size] = '\0';
}

static void take_etag(struct bpk_answer *answer, const char *at, const char *end)
{
	copy_version(answer->version, at, end);
	/* it is sent back, so it must be text (RFC 9110, "ETag") */
	answer->is_strong =
		end - at > 2 && *at == '"' && end[-1] == '"' && end - at < BPK_ANSWER_TEXT / 2;
	for (const char *c = at; c < end; c++)
		if ((uint8_t)*c <= ' ' || *c == 0x7f || (*c == '"' && c != at && c != end - 1))
			answer->is_strong = false;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool may_bound(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
	       (c != '\0' && strchr("'()+_,-./:=? ", c) != NULL);
}

/* The value of a boundary parameter, which may be in quotation marks. */
static void copy_boundary(char to[BPK_ANSWER_BOUNDARY + 1], const char *at, const char *end)
{
	bool is_quoted = at < end && *at == '"';
	const char *value = at + is_quoted;
	size_t size;

	for (at = value; at < end && may_bound(*at) && (is_quoted || *at != ' '); at++)
		;
	size = (size_t)(at - value);
	if (size == 0 || size > BPK_ANSWER_BOUNDARY || at[-1] == ' ')
		return;
	if (is_quoted ? at == end || *at != '"' : at < end && *at != ';' && !is_blank(*at))
		return;
	memcpy(to, value, size);
	to[size] = '\0';
}

static void take_type(struct bpk_answer *answer, const char *at, const char *end)
{
	static const char type[] = "multipart/byteranges", name[] = "boundary=";
	size_t size = sizeof type - 1;

	answer->boundary[0] = '\0';
	answer->is_multipart = (size_t)(end - at) > size && strncasecmp(at, type, size) == 0 &&
			       (at[size] == ';' || is_blank(at[size]));
	while (answer->is_multipart && (at = memchr(at, ';', (size_t)(end - at))) != NULL) {
		for (at++; at < end && is_blank(*at); at++)
			;
		if ((size_t)(end - at) < sizeof name || strncasecmp(at, name, strlen(name)) != 0)
			continue;
		copy_boundary(answer->boundary, at + strlen(name), end);
		return;
	}
}

static void take_status(struct bpk_answer *answer, const char *at, const char *end)
{
	const char *begin = at;
	uint64_t status;

	*answer = (struct bpk_answer){ .size = BPK_UNKNOWN, .total = BPK_UNKNOWN };
	while (at < end && *at != ' ')
		at++;
	if (!take_char(&at, end, ' ') || !take_number(&at, end, &status))
		return;
	answer->status = (unsigned)bpk_min_u64(status, 999);
	answer->is_framed = begin[strlen("HTTP/")] != '1';
	if (take_char(&at, end, ' '))
		copy_text(answer->reason, at, end);
}

/* True if the line is a field of that name; *at becomes its value. */
static bool is_field(const char **at, const char *end, const char *name)
{
	size_t size = strlen(name);
	const char *p = *at;

	if ((size_t)(end - p) <= size || strncasecmp(p, name, size) != 0 || p[size] != ':')
		return false;
	for (p += size + 1; p < end && (*p == ' ' || *p == '\t'); p++)
		;
	*at = p;
	return true;
}

void bpk_answer_take(struct bpk_answer *answer, struct bpk_view line)
{
	const char *at = (const char *)line.data, *end = at + line.size;
	uint64_t number;

	while (end > at && (end[-1] == '\n' || end[-1] == '\r' || end[-1] == ' '))
		end--;
	if (end - at > 5 && strncmp(at, "HTTP/", 5) == 0)
		take_status(answer, at, end);
	else if (at == end || answer->is_complete)
		answer->is_complete = true;
	else if (is_field(&at, end, "content-range"))
		answer->is_bad = answer->is_bad || !take_range(answer, at, end);
	else if (is_field(&at, end, "content-encoding"))
		answer->is_bad =
			answer->is_bad || end - at != 8 || strncasecmp(at, "identity", 8) != 0;
	else if (is_field(&at, end, "content-type"))
		take_type(answer, at, end);
	else if (is_field(&at, end, "transfer-encoding"))
		answer->is_framed = true;
	else if (is_field(&at, end, "etag"))
		take_etag(answer, at, end);
	else if (is_field(&at, end, "last-modified") && answer->version[0] == '\0')
		copy_version(answer->version, at, end);
	else if (is_field(&at, end, BPK_ANSWER_MARK))
		copy_text(answer->mark, at, end);
	else if (is_field(&at, end, "x-amz-checksum-algorithm"))
		answer->is_checked = end - at == 5 && strncasecmp(at, "CRC32", 5) == 0;
	else if (is_field(&at, end, "location"))
		copy_text(answer->location, at, end);
	else if (is_field(&at, end, "retry-after") && take_number(&at, end, &number))
		answer->retry_after = (unsigned)bpk_min_u64(number, RETRY_MAX);
	else if (is_field(&at, end, "content-length") && !answer->has_range &&
		 take_number(&at, end, &number))
		answer->size = number;
}
