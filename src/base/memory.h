/*
 * Memory limits of the machine. A part of the room's door, for cli.
 */
#ifndef BPK_BASE_MEMORY_H
#define BPK_BASE_MEMORY_H

#include <stdint.h>

/*
 * The most bytes of memory that this process may use: the minimum of physical memory, the limits of
 * its control group and that group's parents, and the limit on address space. UINT64_MAX if
 * unknown. Any thread.
 */
uint64_t bpk_memory_size(void);

/* The limit of the control groups, read from the files under root ("" outside of tests). */
uint64_t bpk_memory_of_groups(const char *root);

#endif
