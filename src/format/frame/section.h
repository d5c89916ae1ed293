/*
 * Inside the room frame: the section that a header and a trailer keep their metalayers in, and the
 * chunks that a frame itself is made of.
 */
#ifndef BPK_FORMAT_FRAME_SECTION_H
#define BPK_FORMAT_FRAME_SECTION_H

#include "format/frame/frame.h"

/* What a section's parts begin with, as msgpack says it. */
enum {
	BPK_FRAME_ARRAY_3 = 0x93,
	BPK_FRAME_ARRAY_4 = 0x94,
	BPK_FRAME_BIN_32 = 0xc6,
	BPK_FRAME_UINT_16 = 0xcd,
	BPK_FRAME_UINT_32 = 0xce,
	BPK_FRAME_UINT_64 = 0xcf,
	BPK_FRAME_INT_16 = 0xd1,
	BPK_FRAME_INT_32 = 0xd2,
	BPK_FRAME_INT_64 = 0xd3,
	BPK_FRAME_FIXEXT_16 = 0xd8,
	BPK_FRAME_ARRAY_16 = 0xdc,
	BPK_FRAME_MAP_16 = 0xde,
	BPK_FRAME_FIXSTR = 0xa0,    /* and the length in the low five bits */
	BPK_FRAME_SECTION_HEAD = 7, /* to the first name */
};

/* A section, and what it lies in. */
struct bpk_frame_section {
	struct bpk_view part; /* header or trailer: offsets count from its start */
	size_t start, end;    /* of the section, and of what its values may take */
	size_t max;           /* layers */
	bool in_trailer;      /* sizes and values are what a trailer's are */
};

/*
 * Take a section apart. layers are replaced: each has its value as it stands, in a trailer a whole
 * chunk. Checks markers, that names are unique and values inside part, not more than once in all.
 * Fails with BPK_CORRUPT or BPK_NO_MEMORY; layers are empty then.
 */
int bpk_frame_section_read(const struct bpk_frame_section *section, struct bpk_frame_layers *layers,
			   struct bpk_err *err);

/*
 * Append a section to out, whose bytes from part on are header or trailer. places (count of
 * layers, or NULL) gets where in the part each value begins. BPK_LIMIT: more or longer layers than
 * the format has numbers for.
 */
int bpk_frame_section_write(const struct bpk_frame_layers *layers, bool in_trailer, size_t part,
			    struct bpk_buf *out, size_t *places, struct bpk_err *err);

/* ---- Chunks of the frame's own ---- */

/* Flags of a chunk that is stored as it is, as c-blosc2 has them in an index, and in a trailer. */
enum { BPK_FRAME_STORED = 0x17, BPK_FRAME_STORED_SHORT = 0x07 };

/* Append raw as a chunk of typesize 8, stored (memcpyed). BPK_LIMIT: over what a chunk holds. */
int bpk_frame_store(struct bpk_view raw, unsigned flags, struct bpk_buf *out, struct bpk_err *err);

/* Append raw as a chunk of typesize 8, packed where that pays, with what every c-blosc2 has. */
int bpk_frame_pack(struct bpk_chunk_ctx *ctx, struct bpk_view raw, unsigned stored_flags,
		   struct bpk_buf *out, struct bpk_err *err);

/* ---- Digests being written ---- */

/* The layer's content for so many chunks, every digest and what is told of the header still 0.
 * BPK_LIMIT: more than a layer holds. */
int bpk_frame_digests_begin(const struct bpk_checksum *checksum, uint64_t nchunks,
			    struct bpk_buf *content, struct bpk_err *err);

/* Complete the head of what the bin holds. header: at least BPK_FRAME_FIXED_SIZE bytes. */
void bpk_frame_digests_set_header(uint8_t *bytes, uint64_t frame_size, struct bpk_view header);

#endif
