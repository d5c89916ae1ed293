/*
 * Internal to layout: the positions of members in a zip. Nothing is decompressed. Used by npz.c.
 * Source: APPNOTE.TXT, the .ZIP file format specification, version 6.3: 4.3.7 (local headers),
 * 4.3.12 (the central directory), 4.3.14 to 4.3.16 (its end), 4.5.3 (the sizes of zip64).
 */
#ifndef BPK_LAYOUT_ZIP_H
#define BPK_LAYOUT_ZIP_H

#include "layout/member.h"

enum {
	BPK_ZIP_STORED = 0,      /* the method of uncompressed members */
	BPK_ZIP_ENCRYPTED = 1,   /* a flag */
	BPK_ZIP_SIZE_BEHIND = 8, /* a flag: the local header may lack the sizes */
};

/* A central directory and a window into it. Caller storage; bpk_zip_clear frees the window. */
struct bpk_zip {
	struct bpk_source *source; /* borrowed */
	uint64_t directory;        /* offset of its first entry */
	uint64_t end;              /* offset of its end */
	uint64_t count;            /* number of entries, limited by its size */
	uint64_t claimed;          /* number of entries that it claims */
	struct bpk_buf window;
	uint64_t window_offset;
};

/* One entry of the directory. name points into the window and is valid until the next call. */
struct bpk_zip_entry {
	uint16_t flags, method;
	uint64_t packed_size, size;
	uint64_t local;        /* offset of the local header */
	uint64_t next;         /* offset of the next entry */
	struct bpk_view name;  /* as stored */
	struct bpk_view extra; /* the extra fields after the name */
};

/* Find the directory from the file's end. Fails with BPK_CORRUPT, BPK_UNSUPPORTED (a zip in several
 * parts) or as reading does. */
int bpk_zip_open(struct bpk_source *source, struct bpk_zip *zip, struct bpk_err *err);
void bpk_zip_clear(struct bpk_zip *zip);

/* Read the entry at offset: the start of the directory, or next of the previous entry. Fails with
 * BPK_CORRUPT, or as reading does. */
int bpk_zip_entry(struct bpk_zip *zip, uint64_t offset, struct bpk_zip_entry *entry,
		  struct bpk_err *err);

/* Find the offset of a stored member's bytes. They must end before the directory, and the local
 * header must match the entry. Fails with BPK_CORRUPT, or as reading does. */
int bpk_zip_locate(struct bpk_zip *zip, const struct bpk_zip_entry *entry, uint64_t *offset,
		   struct bpk_err *err);

#endif
