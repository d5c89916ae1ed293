/*
 * Shared by tests of frames: frames built by hand and read with the reader's operations alone; and
 * sweeps that cut a frame at every byte and flip every bit.
 */
#ifndef BPK_TESTS_FRAME_H
#define BPK_TESTS_FRAME_H

#include "unit/archive.h"
#include "unit/frame-bytes.h"

#include "lib/memdir.h"

/* ---- Building ---- */

/* A frame under construction. Chunks are added first; tests may then change header. */
struct frame_making {
	struct bpk_frame_header header;
	struct bpk_buf payload;
	uint64_t entries[16];
	size_t nentries;
	struct bpk_frame_layers layers;
	const struct bpk_checksum *checksum; /* NULL: no digests */
	struct bpk_buf digests;
};

static inline struct frame_making frame_begin(uint32_t typesize, int32_t chunk_size)
{
	return (struct frame_making){
		.header = { .version = 2,
			    .typesize = typesize,
			    .chunk_size = chunk_size,
			    .variable_chunks = chunk_size == 0,
			    .level = 5,
			    .split = 3,
			    .pack_threads = 1,
			    .unpack_threads = 1,
			    .nfilters = 6 },
	};
}

/* Append a stored chunk of raw bytes to the payload, with an entry for it. */
static inline void frame_add(struct frame_making *m, struct bpk_view raw)
{
	uint8_t head[BPK_CHUNK_EXTENDED_HEADER_SIZE] = { 5, 1, 0x17, (uint8_t)m->header.typesize };

	bpk_put_le32(head + 4, (uint32_t)raw.size);
	bpk_put_le32(head + 8, (uint32_t)raw.size);
	bpk_put_le32(head + 12, (uint32_t)(raw.size + sizeof head));
	m->entries[m->nentries++] = m->payload.size;
	m->header.raw_size += raw.size;
	if (bpk_buf_append(&m->payload, bpk_view(head, sizeof head), NULL) != 0 ||
	    bpk_buf_append(&m->payload, raw, NULL) != 0)
		fail_msg("no memory");
	if (m->checksum != NULL) {
		uint8_t digest[BPK_DIGEST_MAX];
		size_t size = raw.size + sizeof head;

		assert_int_equal(bpk_checksum_compute(
					 m->checksum,
					 bpk_view(m->payload.data + m->payload.size - size, size),
					 digest, NULL),
				 0);
		assert_int_equal(
			bpk_buf_append(&m->digests, bpk_view(digest, m->checksum->size), NULL), 0);
	}
}

/* Append bytes without an entry. */
static inline void frame_add_hole(struct frame_making *m, size_t size)
{
	assert_int_equal(bpk_buf_append(&m->payload, bpk_view("hole hole hole hole", size), NULL),
			 0);
}

/* Add an entry, for a special value or an earlier offset, of raw_size bytes. */
static inline void frame_add_entry(struct frame_making *m, uint64_t entry, uint64_t raw_size)
{
	static const uint8_t none[BPK_DIGEST_MAX];

	m->entries[m->nentries++] = entry;
	m->header.raw_size += raw_size;
	if (m->checksum != NULL)
		assert_int_equal(
			bpk_buf_append(&m->digests, bpk_view(none, m->checksum->size), NULL), 0);
}

/* The frame's bytes. Frees everything else. */
static inline struct bpk_buf frame_end(struct frame_making *m)
{
	struct bpk_chunk_ctx *ctx = bpk_chunk_ctx_new(NULL);
	struct bpk_buf bytes = { 0 }, head = { 0 }, tail = { 0 };
	struct bpk_err err = { 0 };
	struct bpk_frame_ending ending = {
		.header = &m->header,
		.layers = &m->layers,
		.entries = m->entries,
		.nchunks = m->nentries,
		.checksum = m->checksum,
		.chunk_digests = bpk_buf_view(&m->digests),
	};

	assert_non_null(ctx);
	if (bpk_frame_header_write(&m->header, &head, &err) != 0)
		fail_msg("%s", err.text);
	ending.payload_end = head.size + m->payload.size;
	head.size = 0;
	if (bpk_frame_end(ctx, &ending, &head, &tail, &err) != 0)
		fail_msg("%s", err.text);
	if (bpk_buf_append(&bytes, bpk_buf_view(&head), NULL) != 0 ||
	    (!m->header.sparse && bpk_buf_append(&bytes, bpk_buf_view(&m->payload), NULL) != 0) ||
	    bpk_buf_append(&bytes, bpk_buf_view(&tail), NULL) != 0)
		fail_msg("no memory");
	bpk_chunk_ctx_free(ctx);
	bpk_buf_clear(&head);
	bpk_buf_clear(&tail);
	bpk_buf_clear(&m->payload);
	bpk_buf_clear(&m->digests);
	bpk_frame_layers_clear(&m->layers);
	bpk_frame_layers_clear(&m->header.fixed);
	return bytes;
}

/* ---- Reading ---- */

/* The result of reading a frame; for frame_outcome_clear. */
struct frame_outcome {
	bool well;              /* opened; all chunks fetched, checked and decoded; audited */
	struct bpk_err err;     /* of the first failure */
	struct bpk_buf raw;     /* the bytes read until then */
	struct bpk_buf remarks; /* newline after each; NUL at the end when well */
	char variant[32];
	uint64_t nchunks, chunk_size, hole_size;
	size_t nlayers;
};

static inline void frame_outcome_clear(struct frame_outcome *o)
{
	bpk_buf_clear(&o->raw);
	bpk_buf_clear(&o->remarks);
}

static inline void frame_take_remark(void *arg, const char *line)
{
	struct bpk_buf *remarks = arg;

	assert_true(strlen(line) > 0);
	assert_int_equal(bpk_buf_printf(remarks, NULL, "%s\n", line), 0);
}

static inline void frame_note_info(const struct bpk_info *info, struct frame_outcome *o)
{
	snprintf(o->variant, sizeof o->variant, "%s", info->variant);
	o->nchunks = info->chunks.count;
	o->chunk_size = info->chunks.size;
	o->hole_size = info->hole_size;
	o->nlayers = info->metadata.nlayers;
}

static inline struct frame_outcome frame_read_place(struct bpk_place *place,
						    const struct bpk_read_options *options)
{
	const struct bpk_reader_ops *ops = &bpk_frame_reader_ops;
	struct frame_outcome o = { 0 };
	void *reader;

	if (ops->open(place, options, &reader, &o.err) != 0)
		return o;
	frame_note_info(ops->info(reader), &o);
	o.well = archive_drain(ops, reader, &o.raw, &o.err) == 0 &&
		 ops->audit(reader, frame_take_remark, &o.remarks, &o.err) == 0 &&
		 bpk_buf_append(&o.remarks, bpk_view("", 1), &o.err) == 0;
	ops->close(reader);
	return o;
}

static inline struct frame_outcome frame_read(struct bpk_view bytes, enum archive_way way)
{
	const struct bpk_read_options options = { .as_stored = true, .chunk_limit = 1 << 20 };
	struct archive_input input;
	struct frame_outcome o;

	archive_input_open(&input, bytes, way);
	o = frame_read_place(&input.place, &options);
	archive_input_close(&input);
	return o;
}

/* The files of a sparse frame. */
static inline struct frame_outcome frame_read_files(const struct memdir_file *files, size_t nfiles)
{
	const struct bpk_read_options options = { .as_stored = true, .chunk_limit = 1 << 20 };
	struct memdir dir = { .nfiles = nfiles, .files = files };
	struct bpk_place place = { .path = "test", .is_directory = true };
	struct frame_outcome o;

	assert_int_equal(memdir_open(&dir, &place.directory, NULL), 0);
	o = frame_read_place(&place, &options);
	bpk_dir_close(place.directory);
	return o;
}

/* ---- Damage ---- */

/* Assert that hostile bytes fail as damaged, doubtful, unknown or too large, with a message. */
static inline void frame_judge(const struct frame_outcome *o, const char *what, size_t at)
{
	if (o->well)
		return;
	if (o->err.kind != BPK_CORRUPT && o->err.kind != BPK_REPAIRABLE &&
	    o->err.kind != BPK_UNSUPPORTED && o->err.kind != BPK_LIMIT)
		fail_msg("%s %zu: %s", what, at, o->err.text);
	assert_true(o->err.text[0] != '\0');
}

static inline bool frame_is(const struct frame_outcome *o, struct bpk_view raw)
{
	return o->well && o->raw.size == raw.size &&
	       (raw.size == 0 || memcmp(o->raw.data, raw.data, raw.size) == 0);
}

/*
 * Read bytes cut at every position, and with every bit flipped. They are in a buffer of their exact
 * size, so that a sanitizer finds reads past the end. protects: a digest covers every byte, so
 * every flipped bit must be found. Returns the number of flipped bits that were not found.
 */
static inline unsigned frame_shake(struct bpk_view bytes, struct bpk_view raw, bool protects)
{
	uint8_t *copy = malloc(bytes.size);
	unsigned unseen = 0;

	assert_non_null(copy);
	for (size_t size = 0; size < bytes.size; size++) {
		uint8_t *part = malloc(size + (size == 0));
		struct frame_outcome o;

		assert_non_null(part);
		memcpy(part, bytes.data, size);
		o = frame_read(bpk_view(part, size), ARCHIVE_MEMORY);
		frame_judge(&o, "cut at", size);
		if (o.well)
			fail_msg("cut at %zu, and all is well", size);
		frame_outcome_clear(&o);
		free(part);
	}
	memcpy(copy, bytes.data, bytes.size);
	for (size_t bit = 0; bit < 8 * bytes.size; bit++) {
		struct frame_outcome o;

		copy[bit / 8] ^= (uint8_t)(1 << bit % 8);
		o = frame_read(bpk_view(copy, bytes.size), ARCHIVE_MEMORY);
		copy[bit / 8] ^= (uint8_t)(1 << bit % 8);
		frame_judge(&o, "bit", bit);
		unseen += o.well;
		if (o.well && protects)
			fail_msg("bit %zu of byte %zu was turned, and %s", bit % 8, bit / 8,
				 frame_is(&o, raw) ? "nobody says so" : "other bytes came out");
		frame_outcome_clear(&o);
	}
	free(copy);
	return unseen;
}

#endif
