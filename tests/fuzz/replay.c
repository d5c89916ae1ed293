/* Running a fuzz target over files and folders: those given, or the target's corpus (FUZZ_CORPUS,
 * below the source tree). make check calls it. Prints TAP, one line a file. */
#include "fuzz/fuzz.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_SIZE = 4096, LARGEST = 64 << 20 };

static unsigned nfiles;
static bool failed;

static void report(bool ok, const char *path, const char *why)
{
	printf("%s %u - %s%s%s\n", ok ? "ok" : "not ok", ++nfiles, path, ok ? "" : ": ",
	       ok ? "" : why);
	/* a crash must not lose the lines before it */
	fflush(stdout);
	failed = failed || !ok;
}

/* The target gets a block of exactly the file's size, so that a sanitizer notices a read past
 * it. */
static void replay_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	uint8_t *all, *exact;
	size_t size;

	if (f == NULL) {
		report(false, path, strerror(errno));
		return;
	}
	all = malloc(LARGEST);
	size = all == NULL ? 0 : fread(all, 1, LARGEST, f);
	exact = malloc(size == 0 ? 1 : size);
	if (all == NULL || exact == NULL || ferror(f)) {
		report(false, path, "cannot be read");
	} else {
		memcpy(exact, all, size);
		free(all);
		all = NULL;
		LLVMFuzzerTestOneInput(exact, size);
		report(true, path, NULL);
	}
	free(all);
	free(exact);
	fclose(f);
}

static int visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static void replay(const char *path)
{
	struct dirent **names;
	int n = scandir(path, &names, visible, alphasort);
	char below[PATH_SIZE];

	if (n < 0) {
		replay_file(path);
		return;
	}
	for (int i = 0; i < n; i++) {
		if (snprintf(below, sizeof below, "%s/%s", path, names[i]->d_name) < PATH_SIZE)
			replay(below);
		else
			report(false, path, "path too long");
		free(names[i]);
	}
	free(names);
}

int main(int argc, char **argv)
{
	const char *source = getenv("srcdir");
	char corpus[PATH_SIZE];

	for (int i = 1; i < argc; i++)
		replay(argv[i]);
	if (argc == 1) {
		snprintf(corpus, sizeof corpus, "%s/%s", source == NULL ? "." : source,
			 FUZZ_CORPUS);
		replay(corpus);
	}
	printf("1..%u\n", nfiles);
	return failed ? 1 : 0;
}
