/* Reads XML. Called by page.c and s3.c, with text of a server that is not trusted. */
#include "io/remote/xml.h"

#include <stdlib.h>

struct scan {
	const char *at, *end;
	size_t path_size, value_size;
	bool is_done; /* the outermost element has ended */
	char path[BPK_XML_PATH], value[BPK_XML_VALUE];
};

static int fail(struct bpk_err *err)
{
	return bpk_fail(err, BPK_FAILED, "the answer is not the XML that was expected");
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool is_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '_' || c == ':' || c == '.';
}

static bool skip(struct scan *s, const char *text)
{
	size_t size = strlen(text);

	if ((size_t)(s->end - s->at) < size || memcmp(s->at, text, size) != 0)
		return false;
	s->at += size;
	return true;
}

/* ---- text ---- */

static bool put(struct scan *s, char c)
{
	if (c == '\0' || s->value_size == sizeof s->value - 1)
		return false;
	s->value[s->value_size++] = c;
	return true;
}

static bool put_utf8(struct scan *s, uint32_t code)
{
	if (code < 0x80)
		return put(s, (char)code);
	if (code < 0x800)
		return put(s, (char)(0xc0 | code >> 6)) && put(s, (char)(0x80 | (code & 63)));
	if (code < 0x10000)
		return (code < 0xd800 || code > 0xdfff) && put(s, (char)(0xe0 | code >> 12)) &&
		       put(s, (char)(0x80 | (code >> 6 & 63))) &&
		       put(s, (char)(0x80 | (code & 63)));
	return put(s, (char)(0xf0 | code >> 18)) && put(s, (char)(0x80 | (code >> 12 & 63))) &&
	       put(s, (char)(0x80 | (code >> 6 & 63))) && put(s, (char)(0x80 | (code & 63)));
}

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 16;
}

/* Behind "&#". */
static bool take_number(struct scan *s)
{
	uint32_t base = skip(s, "x") ? 16 : 10, code = 0;
	const char *first = s->at;

	for (; s->at < s->end && *s->at != ';'; s->at++) {
		uint32_t digit = (uint32_t)digit_of(*s->at);

		if (digit >= base)
			return false;
		code = code * base + digit;
		if (code > 0x10ffff)
			return false;
	}
	return s->at > first && skip(s, ";") && put_utf8(s, code);
}

/* Behind "&". */
static bool take_entity(struct scan *s)
{
	static const struct {
		const char *name;
		char c;
	} known[] = {
		{ "amp;", '&' },  { "lt;", '<' },    { "gt;", '>' },
		{ "quot;", '"' }, { "apos;", '\'' },
	};

	if (skip(s, "#"))
		return take_number(s);
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (skip(s, known[i].name))
			return put(s, known[i].c);
	return false;
}

/* The text up to the next tag. */
static bool take_text(struct scan *s)
{
	while (s->at < s->end && *s->at != '<') {
		char c = *s->at++;

		if (s->path_size == 0 ? !is_blank(c) : !(c == '&' ? take_entity(s) : put(s, c)))
			return false;
	}
	return true;
}

/* ---- tags ---- */

/* Attributes, up to the tag's end. *is_empty: it is "/>". */
static bool skip_attributes(struct scan *s, bool *is_empty)
{
	while (s->at < s->end && *s->at != '>' && *s->at != '/') {
		char quote = *s->at++;

		if (quote == '<')
			return false;
		if (quote != '"' && quote != '\'')
			continue;
		while (s->at < s->end && *s->at != quote)
			s->at++;
		if (!skip(s, quote == '"' ? "\"" : "'"))
			return false;
	}
	*is_empty = skip(s, "/");
	return skip(s, ">");
}

static size_t name_size(const struct scan *s)
{
	size_t size = 0;

	while (s->at + size < s->end && is_name(s->at[size]))
		size++;
	return size;
}

/* Add a name to the path. */
static bool enter(struct scan *s, size_t size)
{
	size_t slash = s->path_size > 0;

	if (size == 0 || s->is_done || size >= sizeof s->path ||
	    slash + size >= sizeof s->path - s->path_size)
		return false;
	if (slash)
		s->path[s->path_size++] = '/';
	memcpy(s->path + s->path_size, s->at, size);
	s->path_size += size;
	s->at += size;
	return true;
}

/* Take the last name off the path. */
static void leave(struct scan *s)
{
	while (s->path_size > 0 && s->path[--s->path_size] != '/')
		;
	s->is_done = s->path_size == 0;
}

/* True if the name at the cursor is the path's last one. */
static bool closes(const struct scan *s, size_t size)
{
	size_t before = s->path_size - bpk_min_size(size, s->path_size);

	return size > 0 && s->path_size >= size && (before == 0 || s->path[before - 1] == '/') &&
	       memcmp(s->path + before, s->at, size) == 0;
}

static int end(struct scan *s, bpk_xml_fn *at_end, void *arg, struct bpk_err *err)
{
	int rc;

	s->path[s->path_size] = '\0';
	s->value[s->value_size] = '\0';
	rc = at_end(arg, s->path, s->value, err);
	s->value_size = 0;
	leave(s);
	return rc;
}

/* Behind "<". */
static int take_tag(struct scan *s, bpk_xml_fn *at_end, void *arg, struct bpk_err *err)
{
	bool closing = skip(s, "/"), is_empty = false;
	size_t size = name_size(s);

	if (closing) {
		if (!closes(s, size))
			return fail(err);
		s->at += size;
		while (s->at < s->end && is_blank(*s->at))
			s->at++;
		return skip(s, ">") ? end(s, at_end, arg, err) : fail(err);
	}
	s->value_size = 0;
	if (!enter(s, size) || !skip_attributes(s, &is_empty))
		return fail(err);
	return is_empty ? end(s, at_end, arg, err) : 0;
}

/* Pass over <?xml ... ?>. */
static bool skip_declaration(struct scan *s)
{
	const char *close;

	skip(s, "\xef\xbb\xbf"); /* a byte order mark */
	if (!skip(s, "<?xml"))
		return true;
	close = memmem(s->at, (size_t)(s->end - s->at), "?>", 2);
	s->at = close == NULL ? s->end : close + 2;
	return close != NULL;
}

int bpk_xml_scan(struct bpk_view text, bpk_xml_fn *at_end, void *arg, struct bpk_err *err)
{
	struct scan *s = text.size == 0 ? NULL : bpk_calloc(1, sizeof *s, err);
	int rc = 0;

	if (s == NULL)
		return text.size == 0 ? fail(err) : -1;
	s->at = (const char *)text.data;
	s->end = s->at + text.size;
	if (!skip_declaration(s))
		rc = fail(err);
	while (rc == 0 && s->at < s->end)
		if (!take_text(s))
			rc = fail(err);
		else if (skip(s, "<"))
			rc = take_tag(s, at_end, arg, err);
	if (rc == 0 && !s->is_done)
		rc = fail(err);
	free(s);
	return rc;
}
