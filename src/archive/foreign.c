/* Names the files of other programs, and raw files that bpk packs. Called by
 * archive.c, input.c and cli/pick.c. */
#include "archive/foreign.h"

#include "layout/layout.h"

struct signature {
	const char *bytes; /* at the start of the file */
	size_t size;
	const char *name; /* with its article */
	const char *tool; /* that reads it */
};

static const struct signature signatures[] = {
	{ "\x28\xb5\x2f\xfd", 4, "a zstd file", "zstd(1)" },
	{ "\x1f\x8b", 2, "a gzip file", "gzip(1)" },
	{ "\xfd"
	  "7zXZ\0",
	  6, "an xz file", "xz(1)" },
	{ "BZh", 3, "a bzip2 file", "bzip2(1)" },
	{ "\x04\x22\x4d\x18", 4, "an LZ4 file", "lz4(1)" },
	{ "\x89HDF\r\n\x1a\n", 8, "an HDF5 file", "h5dump(1)" },
	{ "SQLite format 3\0", 16, "an SQLite database", "sqlite3(1)" },
	{ "PK\3\4", 4, "a zip file", "unzip(1)" },
	{ "PK\5\6", 4, "an empty zip file", "unzip(1)" },
	{ "bpkparit", 8, "the parity of an archive", "bpk-parity(1)" },
};

static const struct signature *find_signature(struct bpk_view head)
{
	for (size_t i = 0; i < sizeof signatures / sizeof signatures[0]; i++)
		if (head.size >= signatures[i].size &&
		    memcmp(head.data, signatures[i].bytes, signatures[i].size) == 0)
			return &signatures[i];
	return NULL;
}

/* The magic number of an XTC file, in big-endian. */
static bool is_xtc(struct bpk_view head)
{
	enum { MAGIC = 1995, NEWER_MAGIC = 2023 };
	uint32_t magic = head.size >= 16 ? bpk_get_be32(head.data) : 0;

	return magic == MAGIC || magic == NEWER_MAGIC;
}

/* The first member of a zip is an array of NumPy. Source: APPNOTE.TXT, 4.3.7. */
static bool is_npz(struct bpk_view head)
{
	enum { FIXED = 30, NAME_SIZE = 26 };
	size_t size = head.size >= FIXED ? bpk_get_le16(head.data + NAME_SIZE) : 0;

	return size > 4 && size <= head.size - FIXED && memcmp(head.data, "PK\3\4", 4) == 0 &&
	       memcmp(head.data + FIXED + size - 4, ".npy", 4) == 0;
}

/* A file that pack takes for more than bytes, or that simulations write; NULL: another one. */
static const char *name_raw(struct bpk_view head, uint64_t size)
{
	if (is_npz(head))
		return ".npz";
	return is_xtc(head) ? "XTC" : bpk_layout_title(head, size);
}

void bpk_foreign_name(struct bpk_source *source, bool as_raw, struct bpk_err *err)
{
	const struct signature *found;
	struct bpk_view head = { 0 };
	const char *raw;

	if (bpk_source_peek(source, BPK_LAYOUT_HEAD, &head, NULL) != 0)
		return;
	found = find_signature(head);
	raw = name_raw(head, bpk_source_size(source));
	if (head.size == 0)
		bpk_fail(err, err->kind, "is empty, not an archive");
	else if (raw != NULL && as_raw)
		bpk_fail(err, err->kind, "begins like a raw %s file, but bpk finds no array in it",
			 raw);
	else if (raw != NULL)
		bpk_fail(err, err->kind, "is a raw %s file, not an archive; bpk pack FILE packs it",
			 raw);
	else if (found != NULL)
		bpk_fail(err, err->kind, "is %s, not an archive; see %s", found->name, found->tool);
}

bool bpk_foreign_is_known(struct bpk_source *source)
{
	struct bpk_view head = { 0 };

	return bpk_source_peek(source, BPK_LAYOUT_HEAD, &head, NULL) == 0 &&
	       (head.size == 0 || find_signature(head) != NULL ||
		name_raw(head, bpk_source_size(source)) != NULL);
}

int bpk_foreign_fail(const struct bpk_place *place, bool as_raw, struct bpk_err *err)
{
	bpk_format_fail_unknown(place, err);
	if (err != NULL && place->source != NULL && err->kind != BPK_FAILED)
		bpk_foreign_name(place->source, as_raw, err);
	return -1;
}
