/*
 * The room parity: a side file of Reed-Solomon codes over GF(2^8), which restores lost cells of a
 * file, or of the files of a directory, joined. It knows sources and drafts, and neither formats
 * nor options nor the terminal. cli calls it. One thread uses a side file at a time.
 *
 *     the archive, a source     |0|1|2|3|4|5|6|7|8|9|   cells of one size, in segments
 *     groups, 3 of them here     0 1 2 0 1 2 0 1 2 0    cell i is in group i mod 3
 *     parity cells                                      m for each group; any m lost cells of a
 *                                                       group and its parity are restored
 */
#ifndef BPK_PARITY_PARITY_H
#define BPK_PARITY_PARITY_H

#include "io/io.h"
#include "parity/files.h"
#include "parity/kernel.h"
#include "parity/matrix.h"

/* The name of a side file is the archive's with this behind. */
#define BPK_PARITY_SUFFIX ".bpp"

/* A share of parity in hundredths of a percent. */
enum { BPK_PARITY_PERCENT = 100, BPK_PARITY_MOST = 100 * BPK_PARITY_PERCENT };

/* A side file whose head and tables are read. */
struct bpk_parity;

/* The path of the side file of the archive at path, for free(); NULL with BPK_NO_MEMORY. */
char *bpk_parity_name(const char *path, struct bpk_err *err);

/* *ours: there is a file at path, and its first or last bytes are those of a side file, however
 * damaged; *there: there is anything. Fails with BPK_FAILED. */
int bpk_parity_look(const char *path, bool *there, bool *ours, struct bpk_err *err);

/*
 * Open the side file at path. Fails with BPK_FAILED: missing, no regular file, and a link counts as
 * none; with BPK_CORRUPT if both copies of its head or of a page of its tables are damaged, or if
 * they contradict each other; with BPK_UNSUPPORTED for a later version.
 */
int bpk_parity_open(const char *path, struct bpk_parity **parity, struct bpk_err *err);
void bpk_parity_close(struct bpk_parity *parity); /* NULL is harmless */

/* Call wait after each read of cells, of the archive and of the side file, that compares or heals:
 * it may slow these down. */
typedef void bpk_parity_wait_fn(void *arg, uint64_t size);
void bpk_parity_on_read(struct bpk_parity *parity, bpk_parity_wait_fn *wait, void *arg);

/* The side file, as it was when it was opened. */
const struct stat *bpk_parity_stat(const struct bpk_parity *parity);

/* The archive's size, the time of its last change and its number of cells when the side file was
 * made; and the share of parity. */
uint64_t bpk_parity_size(const struct bpk_parity *parity);
struct timespec bpk_parity_time(const struct bpk_parity *parity);
uint64_t bpk_parity_cells(const struct bpk_parity *parity);
unsigned bpk_parity_share(const struct bpk_parity *parity);

/* The files of the directory whose parity it is; NULL: that of a file. */
const struct bpk_parity_files *bpk_parity_files(const struct bpk_parity *parity);

/* Bytes of an archive that a command wrote; for free(). Valid when zeroed. */
struct bpk_parity_range {
	uint64_t offset, size;
};

/* What the new state of an archive has from the old one. */
struct bpk_parity_change {
	struct bpk_parity *old;
	const struct bpk_parity_range *written; /* in any order; bytes behind the old end count */
	size_t count;
};

/*
 * Write a side file for all of archive, a seekable source, into draft: one segment. Of a directory,
 * archive is the source of files; otherwise files is NULL. With change,
 * which may be NULL, closed segments of the old one stay, groups with cells that were written are
 * computed again, and the bytes behind make one more segment.
 * Memory: 64 MiB, and 16 bytes for each cell, that is at most 1/32 of a small archive and 1/4096 of
 * a large one. Fails with BPK_CORRUPT if the archive differs from the old side file in bytes that
 * were not written.
 */
int bpk_parity_make(struct bpk_source *archive, const struct bpk_parity_files *files,
		    unsigned share, const struct bpk_parity_change *change, struct bpk_draft *draft,
		    struct bpk_err *err);

/* Read as many of the bytes as are there; the others become zeros. A read that fails counts as
 * bytes that are not there: a medium error is the damage that parity is for. Fails with
 * BPK_NO_MEMORY alone. */
int bpk_parity_read(struct bpk_source *source, uint64_t offset, struct bpk_span out,
		    struct bpk_err *err);

/* A comparison of an archive with its side file. Caller storage, valid when zeroed; for
 * bpk_parity_scan_clear. */
struct bpk_parity_scan {
	uint64_t size;        /* of the archive that was read */
	uint64_t bad;         /* cells of the archive that differ, or are missing */
	uint64_t lost;        /* those of them that cannot be restored */
	uint64_t alike;       /* cells that agree; not those of zeros, such as padding */
	uint64_t bad_parity;  /* damaged cells of the side file */
	bool bad_tables;      /* one of the two copies of head or tables is damaged */
	uint8_t *data, *side; /* a bit for each cell */
};

/* Compare all cells; archive: NULL if it is gone, and with it all of its cells. Fails with
 * BPK_FAILED or BPK_NO_MEMORY, and not for damage. */
int bpk_parity_compare(struct bpk_parity *parity, struct bpk_source *archive,
		       struct bpk_parity_scan *scan, struct bpk_err *err);
void bpk_parity_scan_clear(struct bpk_parity_scan *scan);

/* The groups of an archive that were compared before a change. Caller storage, valid when zeroed;
 * for bpk_parity_check_clear. */
struct bpk_parity_check {
	uint8_t *seen; /* a bit for each group */
};

/*
 * Compare those cells that the parity of a change of that range, UINT64_MAX bytes for a file that
 * is replaced, is made of: those of its groups, and of a last segment that is computed again. Each
 * group is compared once, so call this before the range is written. *differs: a cell does. Fails
 * with BPK_NO_MEMORY.
 */
int bpk_parity_check(struct bpk_parity *parity, struct bpk_source *archive,
		     struct bpk_parity_range range, struct bpk_parity_check *check, bool *differs,
		     struct bpk_err *err);
void bpk_parity_check_clear(struct bpk_parity_check *check);

/* Call lost for each run of the archive's bytes that cannot be restored, in order. */
int bpk_parity_losses(const struct bpk_parity *parity, const struct bpk_parity_scan *scan,
		      void (*lost)(void *arg, uint64_t offset, uint64_t size), void *arg,
		      struct bpk_err *err);

/* True if the cell of the byte at offset, below the size, differs; *size is the number of bytes
 * from there to the cell's end. */
bool bpk_parity_is_bad(const struct bpk_parity *parity, const struct bpk_parity_scan *scan,
		       uint64_t offset, uint64_t *size);

/*
 * Restore every cell that can be, and put it at its offset; each has the digest that the side file
 * holds of it. Memory is that of a group, at most 32 MiB. Fails with BPK_CORRUPT if a restored cell
 * has another digest, or as put does.
 */
typedef int bpk_parity_put_fn(void *arg, uint64_t offset, struct bpk_view bytes,
			      struct bpk_err *err);
int bpk_parity_heal(struct bpk_parity *parity, struct bpk_source *archive,
		    const struct bpk_parity_scan *scan, bpk_parity_put_fn *put, void *arg,
		    struct bpk_err *err);

#endif
