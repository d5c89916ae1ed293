/*
 * The arrays that are left of a damaged GSD file. Part of the room's door. Errors do not name the
 * file.
 *
 * A GSD file has no checksums. Its index entries are recognised by their form: a known type, no
 * flags, a frame, and data that lie in the file. They are searched for in the whole file, since an
 * index that was outgrown, or the idle one of bpk, has most entries a second time. Bytes that no
 * entry describes are never taken for an array.
 */
#ifndef BPK_LAYOUT_GSD_SALVAGE_H
#define BPK_LAYOUT_GSD_SALVAGE_H

#include "base/base.h"
#include "io/io.h"

/* One thread's own. */
struct bpk_gsd_found;

enum bpk_gsd_fate {
	BPK_GSD_LOST,     /* arrays of these frames are lost, or may be */
	BPK_GSD_UNPROVEN, /* all arrays are there, but some may be wrong */
	BPK_GSD_INTACT,
};

struct bpk_gsd_run {
	uint64_t first, end; /* frames first to end-1 */
	enum bpk_gsd_fate fate;
};

struct bpk_gsd_found_info {
	uint64_t nframes; /* as far as entries tell */
	uint64_t narrays; /* found */
	uint64_t nlost;   /* frames of the fate LOST */
	bool certain;     /* no array is in doubt, nor the header, nor the names */
	/* Frame 0 has lost arrays, from which readers of the schema hoomd take those that later
	 * frames lack: these are not to be written without it. */
	bool needs_first;
	/* The doubts, and the parts that are lost beside arrays; "" without any. */
	const char *doubt;
	const struct bpk_gsd_run *runs; /* all frames, in order */
	size_t nruns;
};

/*
 * Search a GSD file of version 0.3 to 2, as it was: its header may be lost. Reads all of source,
 * which is seekable and borrowed until close. Memory follows the entries that are there.
 * Fails with BPK_UNSUPPORTED for a file of version 0.0.1 or 0.2, or of a big-endian machine, and
 * with BPK_CORRUPT if no entry is found.
 */
int bpk_gsd_found_open(struct bpk_source *source, struct bpk_gsd_found **found,
		       struct bpk_err *err);
void bpk_gsd_found_close(struct bpk_gsd_found *found); /* NULL is harmless */

/* Set *torn if a search finds no arrays but the narrays ones of the first nframes frames, and some
 * of the next one, which has lost others: a cut removes that frame alone. Reads all of source.
 * Fails if that does. */
int bpk_gsd_is_torn(struct bpk_source *source, uint64_t nframes, uint64_t narrays, bool *torn,
		    struct bpk_err *err);

/* Owned by found, valid until close. */
const struct bpk_gsd_found_info *bpk_gsd_found_info(const struct bpk_gsd_found *found);

/*
 * Write the arrays that were found as a GSD file into an empty draft: the bytes of source with a
 * new header, and a new index behind them. skip: without the frames of the fate LOST, which are
 * not all; the numbers of later ones become lower. Otherwise these frames lack their lost arrays,
 * and zeros stand for data behind the end of source. Holes of source stay holes.
 */
int bpk_gsd_found_write(const struct bpk_gsd_found *found, bool skip, struct bpk_draft *draft,
			struct bpk_err *err);

#endif
