/* The remains of a damaged directory, inside the room: salvage.c finds its chunks,
 * salvage_attributes.c the metadata. */
#ifndef BPK_FORMAT_CHUNKDIR_SALVAGE_H
#define BPK_FORMAT_CHUNKDIR_SALVAGE_H

#include "format/chunkdir/meta.h"

/* Describe in salvage the metadata of a directory that has lost its other meta files, and add the
 * doubts about lost facts. */
int bpk_chunkdir_salvage_attributes(struct bpk_dir *dir, struct bpk_salvage *salvage,
				    struct bpk_err *err);

#endif
