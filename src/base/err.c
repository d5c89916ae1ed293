/*
 * Error reports. Every room fills them; the command line prints them.
 */
#include "base/err.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* Copy text to out as bpk_text_show spells it. Both end with NUL; out holds cap bytes. */
static void copy_printable(char *out, size_t cap, const char *text)
{
	struct bpk_view rest = bpk_view(text, strlen(text));
	char shown[BPK_TEXT_SHOWN];
	size_t used = 0;

	while (rest.size > 0) {
		size_t taken = bpk_text_show(rest, shown), need = strlen(shown);

		if (need >= cap - used)
			break;
		memcpy(out + used, shown, need);
		used += need;
		rest = bpk_view(rest.data + taken, rest.size - taken);
	}
	out[used] = '\0';
}

static void fill(struct bpk_err *err, enum bpk_kind kind, const char *reason, const char *format,
		 va_list args)
{
	char line[BPK_ERR_TEXT];
	int length = vsnprintf(line, sizeof line, format, args);

	if (length < 0)
		line[length = 0] = '\0';
	if (reason != NULL && (size_t)length < sizeof line)
		snprintf(line + length, sizeof line - (size_t)length, ": %s", reason);
	err->kind = kind;
	err->advises = false;
	copy_printable(err->text, sizeof err->text, line);
}

int bpk_fail(struct bpk_err *err, enum bpk_kind kind, const char *format, ...)
{
	va_list args;

	if (err == NULL)
		return -1;
	va_start(args, format);
	fill(err, kind, NULL, format, args);
	va_end(args);
	return -1;
}

static enum bpk_kind kind_of_errno(int errnum)
{
	switch (errnum) {
	case EPIPE:
		return BPK_PIPE;
	case ENOMEM:
		return BPK_NO_MEMORY;
	default:
		return BPK_FAILED;
	}
}

int bpk_fail_errno(struct bpk_err *err, int errnum, const char *format, ...)
{
	char reason[128];
	va_list args;

	if (err == NULL)
		return -1;
	/* the GNU strerror_r, which may return a static string */
	va_start(args, format);
	fill(err, kind_of_errno(errnum), strerror_r(errnum, reason, sizeof reason), format, args);
	va_end(args);
	return -1;
}

int bpk_fail_memory(struct bpk_err *err, uint64_t size)
{
	return bpk_fail(err, BPK_NO_MEMORY, "no memory for %" PRIu64 " bytes", size);
}

int bpk_fail_as(struct bpk_err *err, const struct bpk_err *other)
{
	bpk_fail(err, other->kind, "%s", other->text);
	if (err != NULL)
		err->advises = other->advises;
	return -1;
}

bool bpk_err_is_of_machine(const struct bpk_err *err)
{
	return err->kind == BPK_FAILED || err->kind == BPK_NO_MEMORY;
}

int bpk_err_pass(const struct bpk_err *why, struct bpk_err *err)
{
	return bpk_err_is_of_machine(why) ? bpk_fail_as(err, why) : 0;
}

int bpk_err_pass_memory(const struct bpk_err *why, struct bpk_err *err)
{
	return why->kind == BPK_NO_MEMORY ? bpk_fail_as(err, why) : 0;
}

int bpk_err_settle(int rc, const struct bpk_err *why, bool *passed, struct bpk_err *err)
{
	*passed = rc == 0;
	return rc != 0 ? bpk_err_pass(why, err) : 0;
}

void bpk_err_name_file(struct bpk_err *err, const char *path)
{
	static const char name[] = " FILE";
	char *at = err != NULL ? strstr(err->text, "bpk ") : NULL;
	char word[BPK_WORD_TEXT], rest[BPK_ERR_TEXT];

	bpk_shell_word(path, word);
	while (at != NULL && (at = strstr(at, name)) != NULL) {
		err->advises = true;
		memcpy(rest, at + sizeof name - 1, strlen(at) - sizeof name + 2);
		/* a line that has no room for all is cut */
		if (snprintf(at, (size_t)(err->text + BPK_ERR_TEXT - at), " %s%s", word, rest) < 0)
			*at = '\0';
		at += bpk_min_size(strlen(at), 1 + strlen(word));
	}
}

int bpk_err_subject(struct bpk_err *err, const char *format, ...)
{
	char line[BPK_ERR_TEXT];
	char rest[BPK_ERR_TEXT];
	bool advises = err != NULL && err->advises;
	va_list args;

	if (err == NULL)
		return -1;
	memcpy(rest, err->text, sizeof rest);
	va_start(args, format);
	fill(err, err->kind, NULL, format, args);
	va_end(args);
	err->advises = advises;
	memcpy(line, err->text, sizeof line);
	/* a subject that fills the whole line leaves no room for the fact: the cut is harmless */
	if (snprintf(err->text, sizeof err->text, "%s: %s", line, rest) < 0)
		err->text[0] = '\0';
	return -1;
}
