/* Remarks of audits, as formatted lines. Audits of frames and of chunked directories call it. */
#include "format/format.h"

#include <stdio.h>

void bpk_remark(const struct bpk_remarks *to, const char *format, ...)
{
	char line[512];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof line, format, args);
	va_end(args);
	to->remark(to->arg, line);
}

void bpk_remark_ignore(void *arg, const char *line)
{
	(void)arg;
	(void)line;
}

void bpk_remark_unlisted(const struct bpk_remarks *to)
{
	bpk_remark(to, "the server does not list the directory: files that are no part of it were "
		       "not looked for");
}
