/*
 * The room parity: Reed-Solomon codes over GF(2^8), which restore lost cells of bytes. It knows
 * sources and drafts, and neither formats nor options nor the terminal.
 */
#ifndef BPK_PARITY_PARITY_H
#define BPK_PARITY_PARITY_H

#include "parity/kernel.h"
#include "parity/matrix.h"

#endif
