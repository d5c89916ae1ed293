/* The streams of stdio, written like all other descriptors. Called by cli. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "io/full.h"

/* A failed write is 0 bytes to fopencookie(3). */
static ssize_t put(void *cookie, const char *bytes, size_t size)
{
	const int *fd = cookie;

	return bpk_full_write(*fd, bpk_view(bytes, size), NULL) == 0 ? (ssize_t)size : 0;
}

static void complete(FILE **stream, int *fd, int mode)
{
	FILE *made = fopencookie(fd, "w", (cookie_io_functions_t){ .write = put });

	if (made == NULL)
		return;
	setvbuf(made, NULL, mode, 0);
	*stream = made;
}

void bpk_complete_streams(void)
{
	static int out = STDOUT_FILENO;
	static int messages = STDERR_FILENO;

	complete(&stdout, &out, isatty(out) ? _IOLBF : _IOFBF);
	complete(&stderr, &messages, _IONBF);
}
