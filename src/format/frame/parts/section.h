/*
 * Inside the room frame: the section of metalayers in a header or a trailer, and the chunks that
 * are part of the frame itself.
 */
#ifndef BPK_FORMAT_FRAME_PARTS_SECTION_H
#define BPK_FORMAT_FRAME_PARTS_SECTION_H

#include "format/frame/frame.h"

/* First bytes of a section's parts, as msgpack defines them. */
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
	BPK_FRAME_FIXSTR = 0xa0,    /* with the length in the low five bits */
	BPK_FRAME_SECTION_HEAD = 7, /* bytes before the first name */
};

/* A section, and the part that contains it. */
struct bpk_frame_section {
	struct bpk_view part; /* header or trailer: offsets count from its start */
	size_t start, end;    /* of the section, and of the space for its values */
	size_t max;           /* layers */
	bool in_trailer;      /* names the part in errors; in a trailer, values are chunks */
};

/*
 * Parse a section. layers are replaced; each content is the stored value, in a trailer a whole
 * chunk. Checks markers, that names are unique, and that values lie inside part and together fit
 * into it. Fails with BPK_CORRUPT or BPK_NO_MEMORY; layers are then empty.
 */
int bpk_frame_section_read(const struct bpk_frame_section *section, struct bpk_frame_layers *layers,
			   struct bpk_err *err);

/* Find the offset in part of the value of layer name, whose bytes part need not hold. False if
 * there is none, or the map of names is not intact. */
bool bpk_frame_section_find(const struct bpk_frame_section *section, const char *name,
			    size_t *offset);

/*
 * Append a section to out, whose bytes from part on are header or trailer. places (one for each
 * layer, or NULL) receives the offset of each value in the part. Fails with BPK_LIMIT: layers too
 * many or too long for the format.
 */
int bpk_frame_section_write(const struct bpk_frame_layers *layers, bool in_trailer, size_t part,
			    struct bpk_buf *out, size_t *places, struct bpk_err *err);

/* ---- Chunks of the frame itself ---- */

/* Flags of a stored chunk, as c-blosc2 sets them in an index, and in a trailer. */
enum { BPK_FRAME_STORED = 0x17, BPK_FRAME_STORED_SHORT = 0x07 };

/* Append raw as a stored (memcpyed) chunk of typesize 8. Fails with BPK_LIMIT if it is too
 * large. */
int bpk_frame_pack_stored(struct bpk_view raw, unsigned flags, struct bpk_buf *out,
			  struct bpk_err *err);

/* Append raw as a chunk of typesize 8, packed if that saves space, with a codec of every
 * c-blosc2. */
int bpk_frame_pack(struct bpk_chunk_ctx *ctx, struct bpk_view raw, unsigned stored_flags,
		   struct bpk_buf *out, struct bpk_err *err);

/* ---- Writing digests ---- */

/* Make the layer's content for nchunks chunks, with every digest and the header's fields still 0.
 * Fails with BPK_LIMIT: too large for a layer. */
int bpk_frame_digests_begin(const struct bpk_checksum *checksum, uint64_t nchunks,
			    struct bpk_buf *content, struct bpk_err *err);

/* Complete the head of the bin's content. header: at least BPK_FRAME_FIXED_SIZE bytes. */
void bpk_frame_digests_set_header(uint8_t *bytes, uint64_t frame_size, struct bpk_view header);

#endif
