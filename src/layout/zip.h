/*
 * Inside the room layout: where the members of a zip lie. Nothing is unpacked.
 * Source: APPNOTE.TXT, the .ZIP file format specification, version 6.3: 4.3.7 (local headers),
 * 4.3.12 (the central directory), 4.3.14 to 4.3.16 (its end), 4.5.3 (the sizes of zip64).
 */
#ifndef BPK_LAYOUT_ZIP_H
#define BPK_LAYOUT_ZIP_H

#include "layout/member.h"

enum {
	BPK_ZIP_STORED = 0,      /* the method of members that lie there as they are */
	BPK_ZIP_ENCRYPTED = 1,   /* a flag */
	BPK_ZIP_SIZE_BEHIND = 8, /* a flag: the local header need not know the sizes */
};

/* A central directory and a window into it. Caller storage; bpk_zip_clear gives back the window. */
struct bpk_zip {
	struct bpk_source *source; /* borrowed */
	uint64_t directory;        /* offset of its first entry */
	uint64_t end;              /* of it */
	uint64_t count;            /* entries that it claims; no more than it has room for */
	uint64_t claimed;          /* entries that it claims, whatever there is room for */
	struct bpk_buf window;
	uint64_t window_offset;
};

/* One entry of the directory. name points into the window, until the next call. */
struct bpk_zip_entry {
	uint16_t flags, method;
	uint64_t packed_size, size;
	uint64_t local;        /* offset of the local header */
	uint64_t next;         /* offset of the entry behind this one */
	struct bpk_view name;  /* as it stands */
	struct bpk_view extra; /* the extra fields behind the name */
};

/* Find the directory from the file's end. Fails with BPK_CORRUPT, BPK_UNSUPPORTED (a zip in several
 * parts) or as reading does. */
int bpk_zip_open(struct bpk_source *source, struct bpk_zip *zip, struct bpk_err *err);
void bpk_zip_clear(struct bpk_zip *zip);

/* The entry at an offset, of the directory's beginning or of what next said. Fails with
 * BPK_CORRUPT, or as reading does. */
int bpk_zip_entry(struct bpk_zip *zip, uint64_t offset, struct bpk_zip_entry *entry,
		  struct bpk_err *err);

/* Where the bytes of a stored member begin: all of them are in front of the directory, and its
 * local header says the same as the entry. Fails with BPK_CORRUPT, or as reading does. */
int bpk_zip_locate(struct bpk_zip *zip, const struct bpk_zip_entry *entry, uint64_t *offset,
		   struct bpk_err *err);

#endif
