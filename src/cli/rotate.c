/* Archives of files that were rotated. See rotate.h. */
#include "cli/rotate.h"

#include <stdlib.h>

#include "cli/report.h"
#include "format/format.h"

int bpk_rotate_archive(const struct bpk_args *args, const char *path, const char *file,
		       struct bpk_err *err)
{
	char *name = bpk_strdup(path, err), *to = NULL;
	const char *suffix;
	int rc = -1;

	if (name == NULL)
		return -1;
	for (size_t size = strlen(name); size > 1 && name[size - 1] == '/'; size--)
		name[size - 1] = '\0';
	suffix = bpk_format_suffix(name);
	rc = bpk_path_number(name, suffix != NULL ? suffix : "", !args->shared.no_sync, &to, err);
	if (rc == 0 && !args->shared.quiet)
		bpk_note(file, "is another file now; %s has the bytes of the one before", to);
	free(to);
	free(name);
	return rc;
}
