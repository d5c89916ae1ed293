/*
 * What memory the machine offers.
 */
#ifndef BPK_BASE_MEMORY_H
#define BPK_BASE_MEMORY_H

#include <stdint.h>

/*
 * Bytes of memory that this process may use at the most: the least of what the machine has, of what
 * its control group and those around it allow, and of its limit of address space. UINT64_MAX where
 * nothing is known. Any thread.
 */
uint64_t bpk_memory_size(void);

/* What control groups allow, by the files below root ("" in earnest). */
uint64_t bpk_memory_of_groups(const char *root);

#endif
