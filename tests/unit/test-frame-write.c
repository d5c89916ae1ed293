/*
 * Frames by the writers, parsed with the room's own parts: contiguous and sparse, to a file and
 * through a pipe, of one chunk size and of several.
 */
#include "unit/archive.h"

#include <dirent.h>
#include <sys/stat.h>

#include "format/frame/frame.h"

enum { NCHUNKS = 8, ROOM = 4096 };

static char folder[64];
static char path[96];

/* The content of a frame: its packed chunks. */
struct content {
	struct bpk_buf chunks[NCHUNKS];
	size_t nchunks;
	uint64_t announced, chunk_size;
	unsigned typesize;
	uint32_t block_size;
	const char *checksum;
	const struct bpk_layer *layers;
	size_t nlayers;
};

/* A parsed frame. */
struct found {
	struct bpk_buf bytes;
	struct bpk_frame_header header;
	struct bpk_frame_layers layers;
	struct bpk_buf entries;
	uint64_t nchunks;
	uint32_t index_size;
};

static struct bpk_chunk_ctx *ctx;

/* ---- Content ---- */

static void add_chunk(struct content *c, struct bpk_view chunk)
{
	struct bpk_err err = { 0 };

	assert_true(c->nchunks < NCHUNKS);
	assert_int_equal(bpk_buf_append(&c->chunks[c->nchunks++], chunk, &err), 0);
}

static void add_special(struct content *c, enum bpk_special special, uint32_t raw_size)
{
	uint8_t chunk[BPK_CHUNK_EXTENDED_HEADER_SIZE];

	bpk_chunk_write_special(special, raw_size, c->typesize, chunk);
	add_chunk(c, bpk_view(chunk, sizeof chunk));
}

/* Stored bytes 0, 1, 2 ...; "Chunks", memcpyed. */
static void add_stored(struct content *c, uint32_t raw_size)
{
	uint8_t chunk[ROOM] = { 5, 1, 0x17, (uint8_t)c->typesize };

	bpk_put_le32(chunk + 4, raw_size);
	bpk_put_le32(chunk + 8, raw_size);
	bpk_put_le32(chunk + 12, raw_size + 32);
	for (uint32_t i = 0; i < raw_size; i++)
		chunk[32 + i] = (uint8_t)i;
	add_chunk(c, bpk_view(chunk, raw_size + 32));
}

/* "Hex examples", the chunk of "hello", "worlds!" and "x". */
static void add_blocks(struct content *c)
{
	static const uint8_t chunk[] = "\6\1\x35\4\x0d\0\0\0\3\0\0\0\x45\0\0\0"
				       "\0\0\0\0\0\1\1\0\0\0\0\0\0\0\1\0"
				       "\x2c\0\0\0\x35\0\0\0\x40\0\0\0"
				       "\5\0\0\0hello\7\0\0\0worlds!\1\0\0\0x";

	add_chunk(c, bpk_view(chunk, sizeof chunk - 1));
}

static struct content begin(unsigned typesize, uint64_t chunk_size)
{
	return (struct content){ .announced = BPK_UNKNOWN,
				 .chunk_size = chunk_size,
				 .typesize = typesize,
				 .checksum = "crc32" };
}

static void clear(struct content *c)
{
	for (size_t i = 0; i < c->nchunks; i++)
		bpk_buf_clear(&c->chunks[i]);
	c->nchunks = 0;
}

/* ---- Writing ---- */

static struct bpk_draft *open_draft(bool seeks, bool directory, int *end)
{
	struct bpk_draft_options options = { .overwrite = true,
					     .follow_links = true,
					     .directory = directory,
					     .ours = directory ? bpk_frame_owns : NULL };
	struct bpk_draft *draft = NULL;
	struct bpk_err err = { 0 };

	*end = -1;
	if (!directory)
		unlink(path);
	if (!seeks) {
		assert_int_equal(mkfifo(path, 0600), 0);
		*end = open(path, O_RDONLY | O_NONBLOCK);
		assert_true(*end >= 0);
		assert_true(fcntl(*end, F_SETPIPE_SZ, 1 << 20) > 0);
	}
	if (bpk_draft_open(path, &options, &draft, &err) != 0)
		fail_msg("%s", err.text);
	return draft;
}

static int put_all(const struct bpk_writer_ops *ops, void *writer, const struct content *c,
		   struct bpk_err *err)
{
	struct bpk_parcel parcel = { 0 };
	struct bpk_chunk_header header;
	int rc = 0;

	for (; rc == 0 && parcel.number < c->nchunks; parcel.number++) {
		struct bpk_view chunk = bpk_buf_view(&c->chunks[parcel.number]);

		parcel.packed.size = 0;
		assert_int_equal(bpk_chunk_header_read(chunk, &header, err), 0);
		assert_int_equal(bpk_buf_append(&parcel.packed, chunk, err), 0);
		parcel.packed_size = chunk.size;
		parcel.raw_size = header.raw_size;
		rc = ops->seal(writer, &parcel, err);
		if (rc == 0)
			rc = ops->put(writer, &parcel, err);
	}
	bpk_buf_clear(&parcel.packed);
	return rc;
}

static int write_to(struct bpk_draft *draft, const struct bpk_writer_ops *ops,
		    const struct content *c, struct bpk_err *err)
{
	const struct bpk_recipe recipe = {
		.codec = bpk_codec_find("blosclz"),
		.level = 5,
		.typesize = c->typesize,
		.block_size = c->block_size,
		.pipeline = bpk_pipeline_of(BPK_FILTER_SHUFFLE),
		.extended = true,
	};
	const struct bpk_write_options options = { .recipe = &recipe };
	const struct bpk_info info = { .raw_size = c->announced,
				       .chunks.count = BPK_UNKNOWN,
				       .chunks.size = c->chunk_size,
				       .chunks.last_size = BPK_UNKNOWN,
				       .chunks.typesize = c->typesize,
				       .chunks.checksum = bpk_checksum_find(c->checksum),
				       .metadata.layers = c->layers,
				       .metadata.nlayers = c->nlayers };
	void *writer;
	int rc;

	if (ops->open(draft, &info, &options, &writer, err) != 0)
		return -1;
	rc = put_all(ops, writer, c, err);
	if (rc == 0)
		rc = ops->finish(writer, err);
	ops->close(writer);
	return rc;
}

static struct bpk_buf read_file(const char *name)
{
	struct bpk_buf bytes = { 0 };
	struct bpk_err err = { 0 };
	int fd = open(name, O_RDONLY);
	ssize_t got;

	if (fd < 0)
		fail_msg("%s is missing", name);
	assert_int_equal(bpk_buf_reserve(&bytes, 1 << 20, &err), 0);
	while ((got = read(fd, bytes.data + bytes.size, bytes.capacity - bytes.size)) > 0)
		bytes.size += (size_t)got;
	close(fd);
	return bytes;
}

static struct bpk_buf write_frame(const struct content *c, bool seeks)
{
	struct bpk_buf bytes = { 0 };
	struct bpk_err err = { 0 };
	int end;
	struct bpk_draft *draft = open_draft(seeks, false, &end);

	if (write_to(draft, &bpk_frame_writer_ops, c, &err) != 0)
		fail_msg("%s", err.text);
	if (bpk_draft_keep(draft, NULL, &err) != 0)
		fail_msg("%s", err.text);
	if (seeks)
		return read_file(path);
	assert_int_equal(bpk_buf_resize(&bytes, 1 << 20, &err), 0);
	bytes.size = (size_t)read(end, bytes.data, bytes.size);
	close(end);
	unlink(path);
	return bytes;
}

static void refused(const struct content *c, enum bpk_kind kind, const char *pattern)
{
	struct bpk_err err = { 0 };
	int end;
	struct bpk_draft *draft = open_draft(true, false, &end);

	assert_int_equal(write_to(draft, &bpk_frame_writer_ops, c, &err), -1);
	bpk_draft_drop(draft);
	assert_int_equal(err.kind, kind);
	if (strstr(err.text, pattern) == NULL)
		fail_msg("says: %s", err.text);
}

/* ---- Parsing ---- */

/* payload: bytes of the chunks in the frame, 0 in a sparse one. Takes bytes. */
static struct found take_apart(struct bpk_buf bytes)
{
	struct found f = { .bytes = bytes };
	struct bpk_err err = { 0 };
	uint64_t index, trailer;
	uint32_t head;

	if (bpk_frame_header_size(bpk_buf_view(&bytes), &head, &err) != 0 ||
	    bpk_frame_header_read(bpk_view(bytes.data, head), &f.header, &err) != 0)
		fail_msg("%s", err.text);
	assert_int_equal(f.header.frame_size, bytes.size);
	trailer = bytes.size - (bytes.data[bytes.size - 22] * 0x1000000u +
				bytes.data[bytes.size - 21] * 0x10000u +
				bytes.data[bytes.size - 20] * 0x100u + bytes.data[bytes.size - 19]);
	index = f.header.size + (f.header.sparse ? 0 : f.header.packed_size);
	assert_true(index <= trailer);
	if (f.header.raw_size > 0 &&
	    bpk_frame_index_read(ctx, &f.header, bpk_view(bytes.data + index, trailer - index),
				 f.header.variable_chunks ? BPK_UNKNOWN
							  : bpk_frame_count(&f.header),
				 &f.entries, &f.nchunks, &f.index_size, &err) != 0)
		fail_msg("%s", err.text);
	assert_int_equal(index + f.index_size, trailer);
	if (bpk_frame_trailer_read(ctx, &f.header,
				   bpk_view(bytes.data + trailer, bytes.size - trailer), 1 << 20,
				   &f.layers, &err) != 0)
		fail_msg("%s", err.text);
	return f;
}

static void clear_found(struct found *f)
{
	bpk_frame_header_clear(&f->header);
	bpk_frame_layers_clear(&f->layers);
	bpk_buf_clear(&f->entries);
	bpk_buf_clear(&f->bytes);
}

static uint64_t entry(const struct found *f, uint64_t number)
{
	uint64_t value;

	assert_true(number < f->nchunks);
	memcpy(&value, f->entries.data + number * sizeof value, sizeof value);
	return value;
}

/* The chunk at its entry decodes to the bytes given by byte. */
static void check_chunk(struct bpk_view chunk, uint32_t raw_size, uint8_t (*byte)(uint32_t i))
{
	uint8_t raw[ROOM];
	struct bpk_err err = { 0 };

	if (bpk_chunk_decode(ctx, chunk, bpk_span(raw, raw_size), &err) != 0)
		fail_msg("%s", err.text);
	for (uint32_t i = 0; i < raw_size; i++)
		if (raw[i] != byte(i))
			fail_msg("byte %u is %u", (unsigned)i, (unsigned)raw[i]);
}

static void check_stored(const struct found *f, uint64_t number, uint32_t raw_size,
			 uint8_t (*byte)(uint32_t i))
{
	uint64_t at = f->header.size + entry(f, number);

	assert_true(at < f->bytes.size);
	check_chunk(bpk_view(f->bytes.data + at, f->bytes.size - at), raw_size, byte);
}

static uint8_t counted(uint32_t i)
{
	return (uint8_t)i;
}

static uint8_t zero(uint32_t i)
{
	(void)i;
	return 0;
}

static uint8_t nan8(uint32_t i)
{
	return i % 8 == 7 ? 0x7f : i % 8 == 6 ? 0xf8 : 0;
}

/* The frame has the correct digest of every chunk. */
static void check_digests(const struct found *f, const struct bpk_view *chunks)
{
	const struct bpk_frame_layer *layer = bpk_frame_layers_find(&f->layers, BPK_FRAME_DIGESTS);
	static const uint8_t none[BPK_DIGEST_MAX];
	struct bpk_frame_digests digests;
	struct bpk_err err = { 0 };

	assert_non_null(layer);
	if (bpk_frame_digests_read(bpk_buf_view(&layer->content), 0, &digests, &err) != 0)
		fail_msg("%s", err.text);
	assert_int_equal(digests.nchunks, f->nchunks);
	assert_int_equal(digests.frame_size, f->bytes.size);
	for (uint64_t i = 0; i < f->nchunks; i++) {
		const uint8_t *digest = bpk_frame_digests_chunk(&digests, i);

		assert_non_null(digest);
		if (chunks[i].size == 0)
			assert_memory_equal(digest, none, digests.checksum->size);
		else
			assert_int_equal(
				bpk_checksum_check(digests.checksum, chunks[i], digest, &err), 0);
	}
	bpk_buf_clear(&digests.bytes);
}

static struct bpk_view stored_view(const struct found *f, uint64_t number)
{
	const uint8_t *chunk = f->bytes.data + f->header.size + entry(f, number);

	return bpk_view(chunk, bpk_get_le32(chunk + 12));
}

/* ---- Tests ---- */

/* "Hex examples", the contiguous one: equal for every c-blosc2. */
static void test_example(void **state)
{
	static const uint8_t head[] =
		"\x9e\xa8"
		"b2frame\0"
		"\xd2\0\0\0\x74\xcf\0\0\0\0\0\0\x01\x99"
		"\xa4\x12\0\x50\x03\xd3\0\0\0\0\0\0\0\x98\xd3\0\0\0\0\0\0\0\x98"
		"\xd2\0\0\0\x04\xd2\0\0\0\0\xd2\0\0\0\x40\xd1\0\x01\xd1\0\x01\xc3"
		"\xd8\x06\0\0\0\0\0\x01\0\0\0\0\0\0\0\0\0\0"
		"\x93\xcd\0\x11\xde\0\x01\xa4"
		"demo\xd2\0\0\0\x6b\xdc\0\x01\xc6\0\0\0\x04\x81\xa1k\x01";
	const struct bpk_layer layers[] = { { "demo", true, bpk_view("\x81\xa1k\x01", 4) },
					    { "note", false, bpk_view("\xa2hi", 3) } };
	struct content c = begin(4, 64);
	struct found f;

	(void)state;
	c.checksum = "none";
	c.layers = layers;
	c.nlayers = 2;
	add_stored(&c, 64);
	add_special(&c, BPK_SPECIAL_ZERO, 64);
	add_stored(&c, 24);
	f = take_apart(write_frame(&c, true));
	assert_int_equal(f.bytes.size, 409);
	assert_memory_equal(f.bytes.data, head, sizeof head - 1);
	assert_int_equal(f.nchunks, 3);
	assert_int_equal(entry(&f, 0), 0);
	assert_int_equal(entry(&f, 1), (uint64_t)0x81 << 56);
	assert_int_equal(entry(&f, 2), 96);
	assert_string_equal(f.header.fixed.all[0].name, "demo");
	assert_string_equal(f.layers.all[0].name, "note");
	assert_int_equal(f.layers.count, 1);
	clear_found(&f);
	clear(&c);
}

/* "Empty frame": 132 bytes; and with only an empty chunk from flow. */
static void test_empty(void **state)
{
	struct content c = begin(4, 1 << 20);
	struct found f;

	(void)state;
	c.checksum = "none";
	c.announced = 0;
	for (unsigned i = 0; i < 2; i++) {
		f = take_apart(write_frame(&c, i == 0));
		assert_int_equal(f.bytes.size, 132);
		assert_int_equal(f.header.chunk_size, -1);
		assert_int_equal(f.header.size, 97);
		clear_found(&f);
		if (c.nchunks == 0)
			add_special(&c, BPK_SPECIAL_ZERO, 0);
	}
	clear(&c);
}

static void test_pipe_and_file_are_equal(void **state)
{
	struct content c = begin(4, 64);

	(void)state;
	for (size_t i = 0; i < 6; i++) {
		struct bpk_buf file = write_frame(&c, true), pipe = write_frame(&c, false);

		assert_int_equal(file.size, pipe.size);
		assert_memory_equal(file.data, pipe.data, file.size);
		bpk_buf_clear(&file);
		bpk_buf_clear(&pipe);
		if (i % 2 == 0)
			add_stored(&c, 64);
		else
			add_special(&c, BPK_SPECIAL_UNINIT, 64);
	}
	clear(&c);
}

/* One chunk size: special chunks are index entries only; a repeated value is stored. */
static void test_special_entries(void **state)
{
	struct content c = begin(8, 64);
	uint8_t value[40];
	struct found f;
	struct bpk_view chunks[5] = { { 0 } };

	(void)state;
	bpk_chunk_write_special(BPK_SPECIAL_VALUE, 64, 8, value);
	bpk_put_le32(value + 12, sizeof value);
	memcpy(value + 32, "\0\1\2\3\4\5\6\7", 8);
	add_special(&c, BPK_SPECIAL_ZERO, 64);
	add_special(&c, BPK_SPECIAL_NAN, 64);
	add_chunk(&c, bpk_view(value, sizeof value));
	add_special(&c, BPK_SPECIAL_UNINIT, 64);
	add_special(&c, BPK_SPECIAL_ZERO, 16);
	f = take_apart(write_frame(&c, true));
	assert_int_equal(f.header.version, 2);
	assert_int_equal(f.header.chunk_size, 64);
	assert_int_equal(f.header.raw_size, 4 * 64 + 16);
	assert_int_equal(f.header.packed_size, sizeof value);
	assert_int_equal(entry(&f, 0) >> 56, 0x81);
	assert_int_equal(entry(&f, 1) >> 56, 0x82);
	assert_int_equal(entry(&f, 2), 0);
	assert_int_equal(entry(&f, 3) >> 56, 0x84);
	assert_int_equal(entry(&f, 4) >> 56, 0x81);
	chunks[2] = stored_view(&f, 2);
	check_digests(&f, chunks);
	clear_found(&f);
	clear(&c);
}

/* The index cannot express NaN of another size than the frame's elements. */
static void test_foreign_nan_is_stored(void **state)
{
	struct content c = begin(8, 64);
	struct found f;

	(void)state;
	add_special(&c, BPK_SPECIAL_NAN, 64);
	c.typesize = 4;
	f = take_apart(write_frame(&c, true));
	assert_int_equal(f.nchunks, 1);
	assert_int_equal(entry(&f, 0), 0);
	check_stored(&f, 0, 64, nan8);
	clear_found(&f);
	clear(&c);
}

/* Different sizes: version 3, and every special chunk is stored, including earlier ones. */
static void test_variable_chunks(void **state)
{
	struct content c = begin(8, BPK_UNKNOWN);
	struct bpk_view chunks[7];
	struct found f;

	(void)state;
	add_special(&c, BPK_SPECIAL_ZERO, 64);
	add_stored(&c, 64);
	add_special(&c, BPK_SPECIAL_NAN, 64);
	add_special(&c, BPK_SPECIAL_UNINIT, 40);
	add_stored(&c, 100);
	add_special(&c, BPK_SPECIAL_ZERO, 13);
	add_special(&c, BPK_SPECIAL_NAN, 24);
	f = take_apart(write_frame(&c, true));
	assert_int_equal(f.header.version, 3);
	assert_true(f.header.variable_chunks);
	assert_int_equal(f.header.chunk_size, 0);
	assert_int_equal(f.header.raw_size, 3 * 64 + 40 + 100 + 13 + 24);
	assert_int_equal(f.nchunks, 7);
	for (uint64_t i = 0; i < 7; i++)
		chunks[i] = stored_view(&f, i);
	check_digests(&f, chunks);
	check_stored(&f, 0, 64, zero);
	check_stored(&f, 1, 64, counted);
	check_stored(&f, 2, 64, nan8);
	check_stored(&f, 3, 40, zero);
	check_stored(&f, 4, 100, counted);
	check_stored(&f, 5, 13, zero);
	check_stored(&f, 6, 24, nan8);
	clear_found(&f);
	clear(&c);
}

/* A first chunk larger than announced, and a chunk after a short one. */
static void test_what_makes_chunks_variable(void **state)
{
	static const uint32_t sizes[][3] = { { 65, 64, 64 }, { 63, 64, 64 }, { 64, 63, 63 } };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct content c = begin(1, 64);
		struct found f;

		for (size_t k = 0; k < 3; k++)
			add_stored(&c, sizes[i][k]);
		f = take_apart(write_frame(&c, true));
		assert_true(f.header.variable_chunks);
		clear_found(&f);
		clear(&c);
	}
}

static void test_variable_blocks(void **state)
{
	struct content c = begin(1, BPK_UNKNOWN);
	struct found f;

	(void)state;
	add_blocks(&c);
	add_blocks(&c);
	f = take_apart(write_frame(&c, true));
	assert_true(f.header.variable_blocks);
	assert_false(f.header.variable_chunks);
	assert_int_equal(f.header.version, 3);
	clear_found(&f);
	add_stored(&c, 13);
	refused(&c, BPK_UNSUPPORTED, "chunk 2 has blocks of fixed length");
	clear(&c);
	add_stored(&c, 13);
	add_blocks(&c);
	refused(&c, BPK_UNSUPPORTED, "chunk 1 has blocks of variable length");
	clear(&c);
}

static void test_refusals(void **state)
{
	struct content c = begin(1, 64);
	uint8_t old[BPK_CHUNK_HEADER_SIZE + 4] = { 2, 1, 2, 1, 4, 0, 0, 0, 4, 0, 0, 0, 20 };

	(void)state;
	add_chunk(&c, bpk_view(old, sizeof old));
	refused(&c, BPK_UNSUPPORTED, "chunk 0 is one of Blosc 1");
	clear(&c);
	c.announced = 65;
	add_stored(&c, 64);
	refused(&c, BPK_FAILED, "65 bytes were announced, 64 came");
	c.announced = BPK_UNKNOWN;
	c.chunk_size = BPK_CHUNK_MAX_RAW_SIZE;
	refused(&c, BPK_LIMIT, "chunks of 2147483631 bytes");
	clear(&c);
}

/* Files of the directory; drafts must be gone. */
static unsigned count_files(void)
{
	DIR *dir = opendir(path);
	struct dirent *found;
	unsigned count = 0;

	assert_non_null(dir);
	while ((found = readdir(dir)) != NULL)
		count += found->d_name[0] != '.';
	closedir(dir);
	return count;
}

static void check_sparse_file(const char *name, uint32_t raw_size, uint8_t (*byte)(uint32_t i))
{
	char file[128];
	struct bpk_buf bytes;

	snprintf(file, sizeof file, "%s/%s", path, name);
	bytes = read_file(file);
	check_chunk(bpk_buf_view(&bytes), raw_size, byte);
	unlink(file);
	bpk_buf_clear(&bytes);
}

/* ---- Limits of c-blosc2 (the rules are in compat.c) ---- */

static struct bpk_chunk_header header_at(const struct found *f, uint64_t number)
{
	uint64_t at = f->header.size + entry(f, number);
	struct bpk_chunk_header header;
	struct bpk_err err = { 0 };

	if (bpk_chunk_header_read(bpk_view(f->bytes.data + at, f->bytes.size - at), &header,
				  &err) != 0)
		fail_msg("%s", err.text);
	return header;
}

/* A chunk of a repeated item of typesize bytes, each of them 7. */
static void add_sevens(struct content *c, uint32_t raw_size, unsigned typesize)
{
	uint8_t chunk[BPK_CHUNK_EXTENDED_HEADER_SIZE + BPK_CHUNK_MAX_TYPESIZE];

	bpk_chunk_write_special(BPK_SPECIAL_VALUE, raw_size, typesize, chunk);
	bpk_put_le32(chunk + 12, BPK_CHUNK_EXTENDED_HEADER_SIZE + typesize);
	memset(chunk + BPK_CHUNK_EXTENDED_HEADER_SIZE, 7, typesize);
	add_chunk(c, bpk_view(chunk, BPK_CHUNK_EXTENDED_HEADER_SIZE + typesize));
}

static uint8_t seven(uint32_t i)
{
	(void)i;
	return 7;
}

/* Whole zero items are index entries, or repeated; a partial item is neither. */
static void test_zeros_without_whole_items(void **state)
{
	struct content c = begin(4, 64);
	struct bpk_chunk_header header;
	struct found f;

	(void)state;
	add_special(&c, BPK_SPECIAL_ZERO, 64);
	add_special(&c, BPK_SPECIAL_ZERO, 37);
	f = take_apart(write_frame(&c, true));
	assert_int_equal(entry(&f, 0), (uint64_t)0x81 << 56);
	header = header_at(&f, 1);
	assert_true(header.special == BPK_SPECIAL_NONE && header.raw_size == 37);
	check_stored(&f, 1, 37, zero);
	clear_found(&f);
	clear(&c);
}

/* NaN are index entries if the frame's blocks hold whole items. */
static void test_nans_need_blocks_of_whole_items(void **state)
{
	static const uint32_t blocks[] = { 0, 16, 1, 12 };

	(void)state;
	for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
		struct content c = begin(8, 64);
		struct found f;

		c.block_size = blocks[i];
		add_special(&c, BPK_SPECIAL_NAN, 64);
		f = take_apart(write_frame(&c, true));
		if (blocks[i] % 8 == 0)
			assert_int_equal(entry(&f, 0), (uint64_t)0x82 << 56);
		else
			assert_int_equal(header_at(&f, 0).special, BPK_SPECIAL_VALUE);
		if (blocks[i] % 8 != 0)
			check_stored(&f, 0, 64, nan8);
		clear_found(&f);
		clear(&c);
	}
}

/* A repeated value has the size of the frame's items. */
static void test_values_have_the_items_of_the_frame(void **state)
{
	static const unsigned widths[] = { 1, 2, 4, 8, 16 };
	struct bpk_chunk_header header;
	struct found f;

	(void)state;
	for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
		struct content c = begin(8, 64);

		add_sevens(&c, 64, widths[i]);
		f = take_apart(write_frame(&c, true));
		header = header_at(&f, 0);
		if (widths[i] <= 8)
			assert_true(header.special == BPK_SPECIAL_VALUE && header.value_size == 8);
		else
			assert_true(header.special == BPK_SPECIAL_NONE && header.typesize == 8);
		check_stored(&f, 0, 64, seven);
		clear_found(&f);
		clear(&c);
	}
}

/* Parts of chunks begin at items of the frame, so the elements of a chunk divide the items, and the
 * chunk size where items do not. */
static void test_elements_divide_items(void **state)
{
	static const struct {
		unsigned item, element, expected;
	} cases[] = { { 4, 4, 4 }, { 4, 8, 4 },  { 8, 4, 4 },   { 1, 8, 1 },
		      { 6, 4, 2 }, { 12, 8, 4 }, { 300, 8, 4 }, { 300, 2, 2 } };
	struct found f;

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct content c = begin(cases[i].element, 64);
		bool whole = 64 % cases[i].item == 0;
		struct bpk_chunk_header header;

		add_stored(&c, 64);
		add_special(&c, BPK_SPECIAL_ZERO, 64);
		add_sevens(&c, 64, cases[i].element);
		c.typesize = cases[i].item;
		f = take_apart(write_frame(&c, true));
		header = header_at(&f, 0);
		assert_int_equal(header.typesize, cases[i].expected);
		check_stored(&f, 0, 64, counted);
		assert_int_equal(header_at(&f, 2).value_size,
				 whole && cases[i].item % cases[i].element == 0 ? cases[i].item
										: 0);
		if (whole) {
			assert_int_equal(entry(&f, 1), (uint64_t)0x81 << 56);
		} else {
			check_stored(&f, 1, 64, zero);
			assert_int_equal(header_at(&f, 1).special, BPK_SPECIAL_NONE);
		}
		check_stored(&f, 2, 64, seven);
		clear_found(&f);
		clear(&c);
	}
}

static void test_sparse(void **state)
{
	struct content c = begin(8, 64);
	struct bpk_err err = { 0 };
	struct bpk_draft *draft;
	char file[128];
	struct found f;
	int end;

	(void)state;
	add_stored(&c, 64);
	add_special(&c, BPK_SPECIAL_ZERO, 64);
	add_stored(&c, 64);
	add_special(&c, BPK_SPECIAL_NAN, 32);
	for (unsigned variable = 0; variable < 2; variable++) {
		unlink(path);
		draft = open_draft(true, true, &end);
		if (write_to(draft, &bpk_frame_sparse_writer_ops, &c, &err) != 0 ||
		    bpk_draft_keep(draft, NULL, &err) != 0)
			fail_msg("%s", err.text);
		snprintf(file, sizeof file, "%s/chunks.b2frame", path);
		f = take_apart(read_file(file));
		assert_true(f.header.sparse);
		assert_int_equal(f.nchunks, 4 + variable);
		assert_int_equal(count_files(), variable ? 6 : 3);
		assert_int_equal(entry(&f, 0), 0);
		assert_int_equal(entry(&f, 1), variable ? 2 : (uint64_t)0x81 << 56);
		assert_int_equal(entry(&f, 2), 1);
		assert_int_equal(entry(&f, 3), variable ? 3 : (uint64_t)0x82 << 56);
		assert_int_equal(f.header.packed_size, variable ? 2 * 96 + 40 + 40 + 33 : 2 * 96);
		clear_found(&f);
		check_sparse_file("00000000.chunk", 64, counted);
		check_sparse_file("00000001.chunk", 64, counted);
		if (variable) {
			check_sparse_file("00000002.chunk", 64, zero);
			check_sparse_file("00000003.chunk", 32, nan8);
			check_sparse_file("00000004.chunk", 1, zero);
		}
		unlink(file);
		assert_int_equal(rmdir(path), 0);
		if (!variable)
			add_special(&c, BPK_SPECIAL_ZERO, 1);
	}
	clear(&c);
}

/* ---- Damage ---- */

/* The result of reading possibly damaged bytes. */
enum verdict { FOUND_OUT, UNSEEN, WRONG };

static void no_remark(void *arg, const char *line)
{
	(void)arg;
	(void)line;
}

static enum verdict judge(struct bpk_view bytes, struct bpk_view raw)
{
	const struct bpk_read_options options = { .as_stored = true };
	const struct bpk_reader_ops *ops = &bpk_frame_reader_ops;
	struct bpk_buf out = { 0 };
	struct bpk_err err = { 0 };
	struct archive_input input;
	enum verdict verdict = FOUND_OUT;
	void *reader;

	archive_input_open(&input, bytes, ARCHIVE_MEMORY);
	if (ops->open(&input.place, &options, &reader, &err) == 0) {
		if (archive_drain(ops, reader, &out, &err) == 0 &&
		    ops->audit(reader, no_remark, NULL, &err) == 0)
			verdict = out.size == raw.size && memcmp(out.data, raw.data, raw.size) == 0
					  ? UNSEEN
					  : WRONG;
		ops->close(reader);
	}
	archive_input_close(&input);
	bpk_buf_clear(&out);
	return verdict;
}

/* A frame with every feature: layers, stored and special chunks, a value. */
static struct content everything(void)
{
	static const struct bpk_layer layers[] = {
		{ "demo", true, { (const void *)"\x81\xa1k\x01", 4 } },
		{ "note", false, { (const void *)"\xa2hi", 3 } }
	};
	struct content c = begin(4, 64);

	c.layers = layers;
	c.nlayers = 2;
	add_stored(&c, 64);
	add_special(&c, BPK_SPECIAL_ZERO, 64);
	add_special(&c, BPK_SPECIAL_NAN, 64);
	add_stored(&c, 24);
	return c;
}

/* Its decoded content. */
static struct bpk_buf raw_of(struct bpk_view frame)
{
	struct archive_input input;
	struct bpk_buf raw = { 0 };
	struct bpk_err err = { 0 };
	const struct bpk_read_options options = { 0 };
	void *reader;

	archive_input_open(&input, frame, ARCHIVE_MEMORY);
	if (bpk_frame_reader_ops.open(&input.place, &options, &reader, &err) != 0 ||
	    archive_drain(&bpk_frame_reader_ops, reader, &raw, &err) != 0)
		fail_msg("%s", err.text);
	bpk_frame_reader_ops.close(reader);
	archive_input_close(&input);
	return raw;
}

static void test_every_flipped_bit_is_found(void **state)
{
	struct content c = everything();
	struct bpk_buf frame = write_frame(&c, true), raw = raw_of(bpk_buf_view(&frame));
	size_t found = 0;

	(void)state;
	assert_int_equal(raw.size, 3 * 64 + 24);
	assert_int_equal(judge(bpk_buf_view(&frame), bpk_buf_view(&raw)), UNSEEN);
	for (size_t bit = 0; bit < 8 * frame.size; bit++) {
		enum verdict verdict;

		frame.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		verdict = judge(bpk_buf_view(&frame), bpk_buf_view(&raw));
		frame.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		found += verdict == FOUND_OUT;
		if (verdict != FOUND_OUT)
			print_message("# bit %zu of byte %zu: %s\n", bit % 8, bit / 8,
				      verdict == WRONG ? "other bytes" : "unseen");
	}
	print_message("# flipped bits found: %zu of %zu\n", found, 8 * frame.size);
	assert_int_equal(found, 8 * frame.size);
	bpk_buf_clear(&frame);
	bpk_buf_clear(&raw);
	clear(&c);
}

static void test_every_truncation_is_found(void **state)
{
	struct content c = everything();
	struct bpk_buf frame = write_frame(&c, true), raw = raw_of(bpk_buf_view(&frame));
	size_t found = 0;

	(void)state;
	for (size_t size = 0; size < frame.size; size++)
		found += judge(bpk_view(frame.data, size), bpk_buf_view(&raw)) == FOUND_OUT;
	print_message("# truncations found: %zu of %zu\n", found, frame.size);
	assert_int_equal(found, frame.size);
	bpk_buf_clear(&frame);
	bpk_buf_clear(&raw);
	clear(&c);
}

static int make_folder(void **state)
{
	(void)state;
	snprintf(folder, sizeof folder, "/tmp/bpk-test-frame-XXXXXX");
	if (mkdtemp(folder) == NULL)
		return -1;
	snprintf(path, sizeof path, "%s/a", folder);
	ctx = bpk_chunk_ctx_new(NULL);
	return ctx == NULL ? -1 : 0;
}

static int remove_folder(void **state)
{
	(void)state;
	bpk_chunk_ctx_free(ctx);
	unlink(path);
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_example),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_pipe_and_file_are_equal),
		cmocka_unit_test(test_special_entries),
		cmocka_unit_test(test_foreign_nan_is_stored),
		cmocka_unit_test(test_variable_chunks),
		cmocka_unit_test(test_what_makes_chunks_variable),
		cmocka_unit_test(test_variable_blocks),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_zeros_without_whole_items),
		cmocka_unit_test(test_nans_need_blocks_of_whole_items),
		cmocka_unit_test(test_values_have_the_items_of_the_frame),
		cmocka_unit_test(test_elements_divide_items),
		cmocka_unit_test(test_sparse),
		cmocka_unit_test(test_every_flipped_bit_is_found),
		cmocka_unit_test(test_every_truncation_is_found),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
