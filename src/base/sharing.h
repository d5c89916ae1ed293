/*
 * Work on one parcel that other threads may help with: the rooms below flow divide it into parts,
 * and flow has the threads.
 */
#ifndef BPK_BASE_SHARING_H
#define BPK_BASE_SHARING_H

#include <stdbool.h>
#include <stdint.h>

/* Work divided into parts. */
struct bpk_shared_work {
	void *of;
	/* Do a part. Called by other threads than the one that offers it; scratch is the calling
	 * thread's chunk context, NULL if it has none. */
	void (*part)(void *of, void *scratch, uint32_t part);
};

/* Calls of the thread that has work to share. */
struct bpk_sharing {
	void *arg;
	/* Until take returns false, other threads may do the nparts parts, each once. work and what
	 * it leads to are constant meanwhile. */
	void (*offer)(void *arg, const struct bpk_shared_work *work, uint32_t nparts);
	/* True: the caller has the lowest part that nobody had taken. False: none is left, and
	 * other threads, which take the highest first, have finished theirs. */
	bool (*take)(void *arg);
};

#endif
