/* The attributes and the access list that a result takes over from its input. Called by cli through
 * io.h, and by draft_keep.c. */
#include "io/file/draft_inner.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "io/acl.h"
#include "io/file/source.h"

/* Bounds of all attributes that are copied, and of one value and the list of names (xattr(7)). */
enum { COUNT_MAX = 256, SUM_MAX = 1 << 20, SIZE_MAX_OF_ONE = 64 << 10 };

static bool is_unsupported(int errnum)
{
	return errnum == ENOTSUP || errnum == ENOSYS;
}

/* Copy one attribute, and count its bytes. Returns 0, or -1 with errno. */
static int copy_one(int from, int to, const char *name, char *value, size_t *sum)
{
	ssize_t size = fgetxattr(from, name, value, SIZE_MAX_OF_ONE);

	if (size < 0)
		return errno == ENODATA ? 0 : -1; /* removed meanwhile */
	*sum += (size_t)size;
	if (*sum > SUM_MAX) {
		errno = E2BIG;
		return -1;
	}
	return fsetxattr(to, name, value, (size_t)size, 0);
}

static bool copy_named(int from, int to, const char *names, size_t size, char *value)
{
	size_t sum = 0, count = 0;
	bool is_whole = true;

	for (const char *name = names; name < names + size; name += strlen(name) + 1) {
		if (strncmp(name, "user.", 5) != 0)
			continue;
		if (++count > COUNT_MAX)
			return false;
		if (copy_one(from, to, name, value, &sum) != 0) {
			if (is_unsupported(errno))
				return true;
			is_whole = false;
		}
	}
	return is_whole;
}

static bool copy_all(int from, int to)
{
	/* the names end with a NUL, whatever the file system returns */
	char *names = calloc(2, SIZE_MAX_OF_ONE + 1);
	bool is_whole = false;
	ssize_t size;

	if (names == NULL)
		return false;
	size = flistxattr(from, names, SIZE_MAX_OF_ONE);
	if (size >= 0)
		is_whole = copy_named(from, to, names, (size_t)size, names + SIZE_MAX_OF_ONE + 1);
	free(names);
	return is_whole;
}

bool bpk_draft_copy_attributes(int from, int to)
{
	ssize_t size = flistxattr(from, NULL, 0); /* of most files: none */

	if (size < 0)
		return is_unsupported(errno);
	return size == 0 || copy_all(from, to);
}

void bpk_draft_inherit(struct bpk_draft *draft, const struct bpk_source *source, bool *is_lost)
{
	*is_lost = false;
	if (draft->ops != NULL || !draft->is_file || draft->is_shadow || source->fd < 0 ||
	    source->is_stdin || !S_ISREG(source->stat.st_mode))
		return;
	draft->heir_of = fcntl(source->fd, F_DUPFD_CLOEXEC, 0);
	draft->is_lost = is_lost;
	*is_lost = draft->heir_of < 0;
}
