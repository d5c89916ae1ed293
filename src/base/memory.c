/*
 * The memory that this process may use. The command line derives its default limit from it.
 * Source: proc(5), and the kernel's documents on control groups, versions 1 and 2.
 */
#include "base/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { PATH_ROOM = 4608 };

/* The number in a file; UINT64_MAX if the file is missing or holds no number ("max"). */
static uint64_t read_number(const char *path)
{
	FILE *file = fopen(path, "re");
	uint64_t number;
	int got = 0;

	if (file != NULL) {
		got = fscanf(file, "%" SCNu64, &number);
		fclose(file);
	}
	return got == 1 ? number : UINT64_MAX;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* The least limit of a group and its parents, up to the root of the hierarchy under root. */
static uint64_t least_of_groups(const char *root, const char *hierarchy, char *group,
				const char *name)
{
	uint64_t limit = UINT64_MAX;
	char path[PATH_ROOM];

	for (;;) {
		char *slash = strrchr(group, '/');

		snprintf(path, sizeof path, "%s%s%s/%s", root, hierarchy, group, name);
		limit = least(limit, read_number(path));
		if (slash == NULL)
			return limit;
		*slash = '\0';
	}
}

/* A line of /proc/self/cgroup: "0::/group" in version 2, "N:memory:/group" in version 1. */
static uint64_t limit_of_line(const char *root, char *line)
{
	char *group = strchr(line, '/');

	if (group == NULL)
		return UINT64_MAX;
	line[strcspn(line, "\n")] = '\0';
	if (strncmp(line, "0::", 3) == 0)
		return least_of_groups(root, "/sys/fs/cgroup", group, "memory.max");
	if (strstr(line, ":memory:") == NULL)
		return UINT64_MAX;
	return least_of_groups(root, "/sys/fs/cgroup/memory", group, "memory.limit_in_bytes");
}

uint64_t bpk_memory_of_groups(const char *root)
{
	char path[PATH_ROOM], line[4096];
	uint64_t limit = UINT64_MAX;
	FILE *file;

	snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
	file = fopen(path, "re");
	if (file == NULL)
		return limit;
	while (fgets(line, sizeof line, file) != NULL)
		limit = least(limit, limit_of_line(root, line));
	fclose(file);
	return limit;
}

uint64_t bpk_memory_size(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
	uint64_t limit = bpk_memory_of_groups("");
	struct rlimit address;

	if (pages > 0 && size > 0)
		limit = least(limit, (uint64_t)pages * (uint64_t)size);
	if (getrlimit(RLIMIT_AS, &address) == 0 && address.rlim_cur != RLIM_INFINITY)
		limit = least(limit, address.rlim_cur);
	return limit;
}
