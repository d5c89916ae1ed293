/* Names made for a tar and names found in one. tar/extract.c, tar/index.c and bpk tar call it. */
#include "io/tar/name.h"

#include <limits.h>
#include <stdlib.h>

/* Take the next part of *path. Returns its size, 0 after the last part. */
static size_t next_part(const char **path, const char **part)
{
	size_t size;

	*path += strspn(*path, "/");
	size = strcspn(*path, "/");
	*part = *path;
	*path += size;
	return size;
}

static bool is_dot(const char *part, size_t size)
{
	return size == 1 && part[0] == '.';
}

static bool is_dot_dot(const char *part, size_t size)
{
	return size == 2 && part[0] == '.' && part[1] == '.';
}

/* Append a part to clean, whose text ends at end. Returns the new end. */
static char *add_part(const char *clean, char *end, const char *part, size_t size)
{
	if (end > clean)
		*end++ = '/';
	memmove(end, part, size); /* part may lie in the same text */
	end[size] = '\0';
	return end + size;
}

char *bpk_tar_name(const char *path, struct bpk_err *err)
{
	char *name = bpk_strdup(path, err);
	const char *rest = path, *part;
	char *end = name;
	size_t size;

	if (name == NULL)
		return NULL;
	*name = '\0';
	while ((size = next_part(&rest, &part)) > 0) {
		if (is_dot_dot(part, size))
			*(end = name) = '\0'; /* the name is relative to the folder reached */
		else if (!is_dot(part, size))
			end = add_part(name, end, part, size);
	}
	if (end > name)
		return name;
	free(name);
	bpk_fail(err, BPK_FAILED,
		 "gives no name for a member of a tar; name it from another folder");
	return NULL;
}

const char *bpk_tar_clean(const char *name, char *clean)
{
	const char *rest = name, *part;
	char *end = clean;
	size_t size;

	*clean = '\0';
	if (*name == '/')
		return "has an absolute name";
	while ((size = next_part(&rest, &part)) > 0) {
		if (is_dot_dot(part, size))
			return "leads out of the folder with ..";
		if (size > NAME_MAX)
			return "has a name with a part of more than 255 bytes";
		if (!is_dot(part, size))
			end = add_part(clean, end, part, size);
	}
	return end - clean < PATH_MAX ? NULL : "has a name that is too long for a path";
}

bool bpk_tar_link_stays(const char *name, const char *link)
{
	const char *rest = link, *part;
	size_t depth = 0, size;
	bool climbs = true;

	for (const char *slash = strchr(name, '/'); slash != NULL; slash = strchr(slash + 1, '/'))
		depth++;
	if (*link == '/' || *link == '\0')
		return false;
	while ((size = next_part(&rest, &part)) > 0) {
		if (is_dot(part, size))
			continue;
		climbs = climbs && is_dot_dot(part, size);
		if (climbs && depth-- == 0)
			return false;
		if (!climbs && is_dot_dot(part, size))
			return false; /* an earlier part may be a link to any folder below */
	}
	return true;
}
