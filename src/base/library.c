/* Loading shared libraries at their first call. Called by base/json.c,
 * base/crc.c, checksum.c, the codecs zlib and snappy, bloscpack/metadata.c and libarchive.c. */
#include "base/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

/* The text of glibc's dlerror begins with the name of a library that is missing, and does not name
 * a lack of memory each time: number is errno after the failure. */
static int fail(const char *soname, int number, struct bpk_err *err)
{
	const char *why = number != ENOMEM ? dlerror() : strerror(number);
	size_t size = strlen(soname);

	why = why != NULL ? why : "unknown error";
	if (strncmp(why, soname, size) == 0 && strncmp(why + size, ": ", 2) == 0)
		why += size + 2;
	return bpk_fail(err, BPK_FAILED, "cannot load %s: %s", soname, why);
}

/* The lock is held. */
static int load(struct bpk_library *library, struct bpk_err *err)
{
	void *handle;

	errno = 0;
	handle = dlopen(library->soname, RTLD_NOW | RTLD_LOCAL);
	if (handle == NULL)
		return fail(library->soname, errno, err);
	for (size_t i = 0; library->names[i] != NULL; i++) {
		void *call = dlsym(handle, library->names[i]);

		if (call == NULL)
			return fail(library->soname, 0, err);
		memcpy((char *)library->calls + i * sizeof call, &call, sizeof call);
	}
	return 0;
}

int bpk_library_need(struct bpk_library *library, struct bpk_err *err)
{
	int rc = 0;

	if (library->soname == NULL || atomic_load_explicit(&library->loaded, memory_order_acquire))
		return 0;
	pthread_mutex_lock(&library->lock);
	if (!atomic_load_explicit(&library->loaded, memory_order_relaxed)) {
		rc = load(library, err);
		atomic_store_explicit(&library->loaded, rc == 0, memory_order_release);
	}
	pthread_mutex_unlock(&library->lock);
	return rc;
}
