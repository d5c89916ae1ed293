/*
 * Inside the work on archives: the identity that an archive records follows each change, or is
 * removed by it. One thread, but for bpk_archive_ident_packed.
 */
#ifndef BPK_ARCHIVE_KEEP_IDENT_H
#define BPK_ARCHIVE_KEEP_IDENT_H

#include "archive/chunks.h"

/* Take the record of an archive that was just opened; without one, nothing below does anything. */
int bpk_archive_ident_open(struct bpk_archive *archive, struct bpk_err *err);
void bpk_archive_ident_close(struct bpk_archive *archive);

/* The first kept raw bytes stay, and others follow: those of a batch that begins at raw offset
 * start, as its chunks are packed. Bytes that the tree lacks before are read. */
int bpk_archive_ident_begin(struct bpk_archive *archive, uint64_t kept, uint64_t start,
			    struct bpk_err *err);

/* As bpk_flow.packed of that batch; arg is the archive. Any thread. */
int bpk_archive_ident_packed(void *arg, const struct bpk_parcel *parcel, struct bpk_err *err);

/* Bytes are overwritten: the next commit removes the record. */
void bpk_archive_ident_drop(struct bpk_archive *archive);

/* Before a commit: let it write the new record, or remove it. */
int bpk_archive_ident_settle(struct bpk_archive *archive, struct bpk_err *err);
/* After it. */
void bpk_archive_ident_settled(struct bpk_archive *archive);

#endif
