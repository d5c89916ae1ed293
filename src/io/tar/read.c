/* Reading the members of a tar in sequence, and checking its end. tar/extract.c, tar/index.c and
 * bpk tar -t call it. */
#include "io/tar/read.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "io/file/source.h"
#include "io/tar/libarchive.h"

enum {
	PIECE = 64 << 10,           /* bytes read at a time */
	ZEROS_MAX = 64 << 20,       /* zeros accepted after the end; tar programs write some MiB */
	MARKER = 2 * BPK_TAR_BLOCK, /* zeros; POSIX, "ustar Interchange Format" */
	CHECKSUM = 148,             /* offset in a header: 8 bytes, octal digits */
	CHECKSUM_SIZE = 8,
};

struct bpk_tar_stream {
	struct archive *archive;
	struct bpk_source *source;
	struct bpk_buf piece; /* the bytes last given to libarchive */
	uint64_t brought;     /* bytes read or skipped in source so far */
	uint64_t zeros;       /* all bytes from here up to brought are zero */
	size_t last;          /* how many of the bytes brought are in piece */
	bool has_members;
	struct bpk_err read_err; /* of source; libarchive cannot pass it on */
	struct archive_entry *found;
	uint64_t header; /* its offset, which libarchive forgets when it fails */
	struct bpk_tar_entry entry;
};

/* ---- Input of libarchive ---- */

/* Update brought, zeros and last after size bytes were read into piece. */
static void count_brought(struct bpk_tar_stream *stream, size_t size)
{
	size_t data = size;

	while (data > 0 && stream->piece.data[data - 1] == 0)
		data--;
	if (data > 0)
		stream->zeros = stream->brought + data;
	stream->brought += size;
	stream->last = size;
}

static la_ssize_t bring(struct archive *archive, void *arg, const void **bytes)
{
	struct bpk_tar_stream *stream = arg;
	size_t got;

	(void)archive;
	*bytes = stream->piece.data;
	if (bpk_source_read(stream->source, bpk_buf_room(&stream->piece), &got,
			    &stream->read_err) != 0)
		return ARCHIVE_FATAL;
	count_brought(stream, got);
	return (la_ssize_t)got;
}

static la_int64_t pass(struct archive *archive, void *arg, la_int64_t size)
{
	struct bpk_tar_stream *stream = arg;
	uint64_t skipped;

	(void)archive;
	if (size <= 0)
		return 0;
	if (bpk_source_skip(stream->source, (uint64_t)size, &skipped, &stream->read_err) != 0)
		return ARCHIVE_FATAL;
	stream->brought += skipped;
	stream->zeros = stream->brought; /* skipped bytes count as not zero */
	return (la_int64_t)skipped;
}

/* ---- Is it a tar? ---- */

/* The number in the checksum's field: octal digits between spaces and a zero or space. -1: other
 * bytes. Source: POSIX pax, "ustar Interchange Format". */
static int64_t said_sum(const uint8_t *field)
{
	int64_t sum = 0;
	size_t i = 0, first;

	while (i < CHECKSUM_SIZE && field[i] == ' ')
		i++;
	for (first = i; i < CHECKSUM_SIZE && field[i] >= '0' && field[i] <= '7'; i++)
		sum = sum * 8 + (field[i] - '0');
	if (i == first || (i < CHECKSUM_SIZE && field[i] != '\0' && field[i] != ' '))
		return -1;
	return sum;
}

bool bpk_tar_is_header(const uint8_t *block)
{
	int64_t plain = 0, with_signs = 0; /* old tars summed up signed characters */
	int64_t said = said_sum(block + CHECKSUM);

	for (size_t i = 0; i < BPK_TAR_BLOCK; i++) {
		bool own = i >= CHECKSUM && i < CHECKSUM + CHECKSUM_SIZE;

		plain += own ? ' ' : block[i];
		with_signs += own ? ' ' : (int8_t)block[i];
	}
	return said >= 0 && (said == plain || said == with_signs);
}

bool bpk_tar_is_end(const uint8_t *block)
{
	for (size_t i = 0; i < BPK_TAR_BLOCK; i++)
		if (block[i] != 0)
			return false;
	return true;
}

/* The name of the compressor of these bytes; NULL when they have no known magic. */
static const char *compressor_of(struct bpk_view head)
{
	static const struct {
		const char *name, *magic;
		size_t size;
	} known[] = {
		{ "gzip", "\x1f\x8b", 2 },        { "zstd", "\x28\xb5\x2f\xfd", 4 },
		{ "xz", "\xfd\x37zXZ\0", 6 },     { "bzip2", "BZh", 3 },
		{ "lz4", "\x04\x22\x4d\x18", 4 }, { "lzip", "LZIP", 4 },
		{ "compress", "\x1f\x9d", 2 },
	};

	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
		if (head.size >= known[i].size &&
		    memcmp(head.data, known[i].magic, known[i].size) == 0)
			return known[i].name;
	return NULL;
}

static int check_head(struct bpk_source *source, struct bpk_err *err)
{
	/* POSIX, "ustar Interchange Format": the magic of a header */
	static const char magic[] = { 'u', 's', 't', 'a', 'r' };
	enum { MAGIC = 257 };
	struct bpk_view head;
	const char *compressor;

	if (bpk_source_peek(source, BPK_TAR_BLOCK, &head, err) != 0)
		return -1;
	if (head.size == BPK_TAR_BLOCK &&
	    (bpk_tar_is_header(head.data) || bpk_tar_is_end(head.data)))
		return 0;
	compressor = compressor_of(head);
	if (compressor != NULL)
		return bpk_fail(err, BPK_UNSUPPORTED,
				"is compressed with %s, expected a plain tar; decompress it first",
				compressor);
	if (head.size >= MAGIC + sizeof magic &&
	    memcmp(head.data + MAGIC, magic, sizeof magic) == 0)
		return bpk_fail(err, BPK_CORRUPT,
				"tar is broken, its first header is damaged or cut short");
	if (head.size < BPK_TAR_BLOCK)
		return bpk_fail(err, BPK_FAILED, "is not a tar: ends after %zu bytes", head.size);
	return bpk_fail(err, BPK_FAILED, "is not a tar: does not begin with a header");
}

/* ---- Opening ---- */

/* Report the error that stopped libarchive. */
static int fail(struct bpk_tar_stream *stream, struct bpk_err *err)
{
	const char *why = bpk_libarchive.archive_error_string(stream->archive);

	if (stream->read_err.kind != BPK_OK) {
		if (err != NULL)
			*err = stream->read_err;
		return -1;
	}
	if (bpk_libarchive.archive_errno(stream->archive) == ENOMEM)
		return bpk_fail_errno(err, ENOMEM, "tar");
	return bpk_fail(err, BPK_CORRUPT,
			"tar is broken in or behind the member at byte %" PRIu64 ": %s",
			stream->header, why != NULL ? why : "its headers end early");
}

static int start(struct bpk_tar_stream *stream, struct bpk_err *err)
{
	struct archive *archive;

	if (bpk_libarchive_need(err) != 0)
		return -1;
	stream->archive = archive = bpk_libarchive.archive_read_new();
	if (archive == NULL)
		return bpk_fail_errno(err, ENOMEM, "tar");
	if (bpk_buf_reserve(&stream->piece, PIECE, err) != 0)
		return -1;
	if (bpk_libarchive.archive_read_support_format_tar(archive) != ARCHIVE_OK ||
	    bpk_libarchive.archive_read_open2(archive, stream, NULL, bring, pass, NULL) !=
		    ARCHIVE_OK)
		return fail(stream, err);
	return 0;
}

int bpk_tar_stream_open(struct bpk_source *source, struct bpk_tar_stream **stream,
			struct bpk_err *err)
{
	struct bpk_tar_stream *s;

	*stream = NULL;
	if (check_head(source, err) != 0)
		return -1;
	s = bpk_calloc(1, sizeof *s, err);
	if (s == NULL)
		return -1;
	s->source = source;
	if (start(s, err) != 0) {
		bpk_tar_stream_close(s);
		return -1;
	}
	*stream = s;
	return 0;
}

void bpk_tar_stream_close(struct bpk_tar_stream *stream)
{
	if (stream == NULL)
		return;
	if (stream->archive != NULL)
		bpk_libarchive.archive_read_free(stream->archive);
	bpk_buf_clear(&stream->piece);
	free(stream);
}

uint64_t bpk_tar_stream_header(const struct bpk_tar_stream *stream)
{
	return stream->header;
}

/* ---- Members ---- */

/* Record the position of a member that was found, or of the end. */
static void take_position(struct bpk_tar_stream *stream)
{
	la_int64_t at = bpk_libarchive.archive_read_header_position(stream->archive);

	stream->header = at > 0 ? (uint64_t)at : 0;
}

static int take_entry(struct bpk_tar_stream *stream, struct bpk_err *err)
{
	struct archive_entry *found = stream->found;
	const char *hard = bpk_libarchive.archive_entry_hardlink(found);
	struct bpk_tar_entry *entry = &stream->entry;

	*entry = (struct bpk_tar_entry){
		.name = bpk_libarchive.archive_entry_pathname(found),
		.link = hard != NULL ? hard : bpk_libarchive.archive_entry_symlink(found),
		.is_hard_link = hard != NULL,
		.entry = BPK_ENTRY_OTHER,
		.stat = bpk_libarchive.archive_entry_stat(found),
	};
	if (entry->name == NULL || entry->stat == NULL)
		return bpk_fail_errno(err, ENOMEM, "tar");
	if (entry->link != NULL)
		return 0;
	if (S_ISDIR(entry->stat->st_mode))
		entry->entry = BPK_ENTRY_DIRECTORY;
	if (!S_ISREG(entry->stat->st_mode))
		return 0;
	entry->entry = BPK_ENTRY_FILE;
	if (bpk_libarchive.archive_entry_size(found) < 0)
		return bpk_fail(err, BPK_CORRUPT, "tar is broken, a member has a size below 0");
	entry->size = (uint64_t)bpk_libarchive.archive_entry_size(found);
	return 0;
}

/* The position where libarchive stopped: at the end, after the marker or its part that exists. */
static uint64_t passed(const struct bpk_tar_stream *stream)
{
	la_int64_t at = bpk_libarchive.archive_filter_bytes(stream->archive, 0);

	return at > 0 ? (uint64_t)at : 0;
}

/*
 * At the end libarchive does not say whether it met the marker or the end of the bytes, and one
 * block of zeros suffices for it. Extended headers may come last, between header and marker; their
 * text ends in a line feed, so the zeros that fill its block are not a marker.
 */
static int check_end(const struct bpk_tar_stream *stream, struct bpk_err *err)
{
	uint64_t from = bpk_max_u64(stream->header, stream->zeros);

	if (stream->zeros > passed(stream)) /* bpk_tar_stream_check_rest reports that */
		return 1;
	if (stream->brought >= from && stream->brought - from >= MARKER)
		return 1;
	return bpk_fail(err, BPK_CORRUPT,
			"tar ends at byte %" PRIu64
			" without the marker of its end, two blocks of zeros",
			stream->header);
}

int bpk_tar_stream_next(struct bpk_tar_stream *stream, const struct bpk_tar_entry **entry,
			struct bpk_err *err)
{
	*entry = &stream->entry;
	switch (bpk_libarchive.archive_read_next_header(stream->archive, &stream->found)) {
	case ARCHIVE_OK:
	case ARCHIVE_WARN: /* a part of the header was not understood: times, owners */
		take_position(stream);
		stream->has_members = true;
		return take_entry(stream, err);
	case ARCHIVE_EOF:
		take_position(stream);
		return check_end(stream, err);
	default:
		return fail(stream, err);
	}
}

/* The first byte after end that is not zero, among those read last. */
static uint64_t first_data(const struct bpk_tar_stream *stream, uint64_t end)
{
	uint64_t start = stream->brought - stream->last;
	uint64_t at = bpk_max_u64(start, end);

	while (at + 1 < stream->zeros && stream->piece.data[at - start] == 0)
		at++;
	return at;
}

static int fail_rest(const struct bpk_tar_stream *stream, uint64_t end, struct bpk_err *err)
{
	bool has_data = stream->zeros > end;
	uint64_t data = has_data ? first_data(stream, end) : 0;

	if (!stream->has_members && has_data)
		return bpk_fail(err, BPK_CORRUPT,
				"begins with %" PRIu64 " zeros, expected the header of a tar",
				data);
	if (!stream->has_members)
		return bpk_fail(err, BPK_FAILED,
				"is not a tar: begins with more than %d zeros, expected a header",
				ZEROS_MAX);
	if (has_data)
		return bpk_fail(err, BPK_CORRUPT,
				"tar ends at byte %" PRIu64 ", but byte %" PRIu64
				" is not zero: a damaged header, or another tar",
				end, data);
	return bpk_fail(err, BPK_CORRUPT,
			"tar ends at byte %" PRIu64
			", but more than %d zeros follow in a pipe or device; "
			"the rest was not read",
			end, ZEROS_MAX);
}

/* A file ends, and its holes cost nothing; but a file of zeros only is no tar. */
static bool too_many(const struct bpk_tar_stream *stream, uint64_t zeros)
{
	const struct bpk_source *source = stream->source;

	return zeros > ZEROS_MAX && (!stream->has_members || !bpk_source_seekable(source) ||
				     S_ISBLK(bpk_source_stat(source)->st_mode));
}

int bpk_tar_stream_check_rest(struct bpk_tar_stream *stream, struct bpk_err *err)
{
	uint64_t end = passed(stream);
	const void *bytes;
	la_ssize_t got = 1;

	while (got > 0 && stream->zeros <= end && !too_many(stream, stream->brought - end)) {
		stream->brought += bpk_source_skip_hole(stream->source);
		got = bring(stream->archive, stream, &bytes);
	}
	if (got < 0)
		return fail(stream, err);
	if (stream->zeros > end || too_many(stream, stream->brought - end))
		return fail_rest(stream, end, err);
	return 0;
}

int bpk_tar_stream_data(struct bpk_tar_stream *stream, struct bpk_view *bytes, uint64_t *offset,
			struct bpk_err *err)
{
	la_int64_t at = 0;
	const void *data;
	size_t size;

	switch (bpk_libarchive.archive_read_data_block(stream->archive, &data, &size, &at)) {
	case ARCHIVE_OK:
	case ARCHIVE_WARN:
		break;
	case ARCHIVE_EOF:
		return 1;
	default:
		return fail(stream, err);
	}
	if (at < 0)
		return bpk_fail(err, BPK_CORRUPT, "tar is broken, data lie in front of a member");
	*bytes = bpk_view(data, size);
	*offset = (uint64_t)at;
	return 0;
}

bool bpk_tar_stream_is_sparse(const struct bpk_tar_stream *stream)
{
	return bpk_libarchive.archive_entry_sparse_count(stream->found) > 0;
}

int bpk_tar_list(struct bpk_source *source, int (*visit)(void *arg, const struct bpk_tar_entry *),
		 void *arg, struct bpk_err *err)
{
	const struct bpk_tar_entry *entry;
	struct bpk_tar_stream *stream;
	int rc, stopped = 0;

	if (bpk_tar_stream_open(source, &stream, err) != 0)
		return -1;
	do {
		rc = bpk_tar_stream_next(stream, &entry, err);
		if (rc == 0)
			stopped = visit(arg, entry);
	} while (rc == 0 && stopped == 0);
	if (rc > 0 && bpk_tar_stream_check_rest(stream, err) != 0)
		rc = -1;
	bpk_tar_stream_close(stream);
	return rc < 0 ? -1 : stopped;
}
