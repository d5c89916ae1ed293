/* Loading shared libraries at their first call. Called by checksum.c, snappy.c and
 * io/tar/libarchive.c. */
#include "base/library.h"

#include <dlfcn.h>
#include <string.h>

/* The text of dlerror begins with the name of the library. */
static int fail(struct bpk_err *err)
{
	const char *why = dlerror();

	return bpk_fail(err, BPK_FAILED, "cannot load a library: %s",
			why != NULL ? why : "unknown error");
}

/* The lock is held. */
static int load(struct bpk_library *library, struct bpk_err *err)
{
	void *handle = dlopen(library->soname, RTLD_NOW | RTLD_LOCAL);

	if (handle == NULL)
		return fail(err);
	for (size_t i = 0; library->names[i] != NULL; i++) {
		void *call = dlsym(handle, library->names[i]);

		if (call == NULL)
			return fail(err);
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
