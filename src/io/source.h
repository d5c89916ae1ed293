/*
 * Inside the room io: sources of what was opened already.
 */
#ifndef BPK_IO_SOURCE_H
#define BPK_IO_SOURCE_H

#include "io/io.h"

/* The regular file fd, from its beginning; takes fd, also when it fails. */
int bpk_source_of_descriptor(int fd, struct bpk_source **source, struct bpk_err *err);

#endif
