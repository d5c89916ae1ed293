#include "base/error.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Copy text to out, control bytes as \xNN; both are NUL terminated and out holds cap bytes. */
static void copy_printable(char *out, size_t cap, const char *text)
{
	size_t used = 0;

	for (; *text != '\0'; text++) {
		unsigned char c = (unsigned char)*text;
		bool control = c < 0x20 || c == 0x7f;
		size_t need = control ? 4 : 1;

		if (need >= cap - used)
			break;
		if (control)
			snprintf(out + used, cap - used, "\\x%02x", (unsigned)c);
		else
			out[used] = (char)c;
		used += need;
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
	/* the GNU strerror_r, which may return a text of its own */
	va_start(args, format);
	fill(err, kind_of_errno(errnum), strerror_r(errnum, reason, sizeof reason), format, args);
	va_end(args);
	return -1;
}

int bpk_fail_memory(struct bpk_err *err, uint64_t size)
{
	return bpk_fail(err, BPK_NO_MEMORY, "no memory for %" PRIu64 " bytes", size);
}

int bpk_err_subject(struct bpk_err *err, const char *format, ...)
{
	char line[BPK_ERR_TEXT];
	char rest[BPK_ERR_TEXT];
	va_list args;

	if (err == NULL)
		return -1;
	memcpy(rest, err->text, sizeof rest);
	va_start(args, format);
	fill(err, err->kind, NULL, format, args);
	va_end(args);
	memcpy(line, err->text, sizeof line);
	/* a subject that fills the whole line leaves no room for the fact; the cut is harmless */
	if (snprintf(err->text, sizeof err->text, "%s: %s", line, rest) < 0)
		err->text[0] = '\0';
	return -1;
}
