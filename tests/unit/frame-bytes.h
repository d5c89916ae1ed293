/*
 * Frames from the examples of the Blosc2 frame format ("Hex examples"), and a parser of hexadecimal
 * text.
 */
#ifndef BPK_TESTS_FRAME_BYTES_H
#define BPK_TESTS_FRAME_BYTES_H

#include "unit/unit.h"

#include "format/frame/frame.h"

/* Append the bytes of pairs of hexadecimal digits; spaces are ignored. */
static inline void frame_hex(struct bpk_buf *out, const char *hex)
{
	struct bpk_err err = { 0 };

	for (; *hex != '\0'; hex++) {
		char pair[3] = { hex[0], hex[1], 0 };
		uint8_t byte;

		if (*hex == ' ')
			continue;
		byte = (uint8_t)strtoul(pair, NULL, 16);
		assert_int_equal(bpk_buf_append(out, bpk_view(&byte, 1), &err), 0);
		hex++;
	}
}

/* 409 bytes: chunk 0 is 0..15 as int32, 1 is zeros, 2 is 0..5; layers demo and note. */
#define FRAME_SMALL_HEADER                                                                         \
	"9e a8 62326672616d6500 d2 00000074 cf 0000000000000199"                                   \
	"a4 12 00 50 03  d3 0000000000000098  d3 0000000000000098"                                 \
	"d2 00000004  d2 00000000  d2 00000040  d1 0001  d1 0001  c3"                              \
	"d8 06 000000000001 00 00 000000000000 00 00"                                              \
	"93 cd 0011 de 0001 a4 64656d6f d2 0000006b dc 0001 c6 00000004 81a16b01"
#define FRAME_SMALL_CHUNKS                                                                         \
	"05 01 17 04 40000000 40000000 60000000 0000000000010000 0000000000000000"                 \
	"00000000 01000000 02000000 03000000 04000000 05000000 06000000 07000000"                  \
	"08000000 09000000 0a000000 0b000000 0c000000 0d000000 0e000000 0f000000"                  \
	"05 01 17 04 18000000 18000000 38000000 0000000000010000 0000000000000000"                 \
	"00000000 01000000 02000000 03000000 04000000 05000000"
#define FRAME_SMALL_INDEX                                                                          \
	"05 01 17 08 18000000 18000000 38000000 0000000000010000 0000000000000000"                 \
	"0000000000000000 0000000000000081 6000000000000000"
#define FRAME_SMALL_TRAILER                                                                        \
	"94 01 93 cd 0010 de 0001 a4 6e6f7465 d2 00000016 dc 0001 c6 00000023"                     \
	"05 01 07 08 03000000 01000000 23000000 0000000000010000 0000000000000000 a26869"          \
	"ce 00000055 d8 00 00000000000000000000000000000000"

/* 132 bytes, empty. */
#define FRAME_EMPTY_HEADER                                                                         \
	"9e a8 62326672616d6500 d2 00000061 cf 0000000000000084"                                   \
	"a4 12 00 50 03  d3 0000000000000000  d3 0000000000000000"                                 \
	"d2 00000001  d2 00000000  d2 ffffffff  d1 0001  d1 0001  c2"                              \
	"d8 06 000000000001 00 00 000000000000 00 00 93cd0007de0000dc0000"
#define FRAME_EMPTY_TRAILER                                                                        \
	"9401 93cd0006de0000dc0000 ce00000023 d800 00000000000000000000000000000000"

/* The index of a sparse frame: id 0, id 2, zeros, id 1. */
#define FRAME_SPARSE_INDEX                                                                         \
	"05 01 17 08 20000000 20000000 40000000 0000000000010000 0000000000000000"                 \
	"0000000000000000 0200000000000000 0000000000000081 0100000000000000"

/* The index of 63 chunks of zeros. */
#define FRAME_ZEROS_INDEX                                                                          \
	"05010508 f8010000 f8010000 28000000 000000000000000000000000000000 30 0000000000000081"

#endif
