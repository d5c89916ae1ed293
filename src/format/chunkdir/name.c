/*
 * Names of data files and columns, and the test for a dataset's own files ("Blaze form", "bcolz
 * form"). Called by the other files of chunkdir, and through formats.c.
 */
#include "format/chunkdir/chunkdir.h"

#include <inttypes.h>

#include "format/bloscpack/bloscpack.h"
#include "format/chunkdir/meta.h"

const char *bpk_chunkdir_variant(enum bpk_chunkdir_layout layout)
{
	static const char *const variants[] = { "Blaze", "bcolz", "BLZ" };

	return variants[layout];
}

/* Decimal digits between two texts: no sign, no leading zero, below 2^63. */
static bool is_numbered(const char *text, const char *before, const char *behind, uint64_t *number)
{
	size_t length = strlen(text), head = strlen(before), tail = strlen(behind);
	struct bpk_view digits;

	if (length <= head + tail || strncmp(text, before, head) != 0 ||
	    strcmp(text + length - tail, behind) != 0)
		return false;
	digits = bpk_view(text + head, length - head - tail);
	return (digits.size == 1 || digits.data[0] != '0') && bpk_json_u64(digits, number);
}

bool bpk_chunkdir_is_blaze_file(const char *text, uint64_t *number)
{
	uint64_t from_one;

	if (!is_numbered(text, "__", "__.bin", &from_one) || from_one == 0)
		return false;
	*number = from_one - 1;
	return true;
}

bool bpk_chunkdir_is_bcolz_file(const char *text, uint64_t *number)
{
	return is_numbered(text, "__", ".blp", number);
}

int bpk_chunkdir_file_name(const struct bpk_chunkdir *set, const struct bpk_chunkdir_column *column,
			   uint64_t number, struct bpk_buf *name, struct bpk_err *err)
{
	bool blaze = set->layout == BPK_CHUNKDIR_BLAZE;

	name->size = 0;
	if (bpk_buf_printf(name, err, blaze ? "%s/__%" PRIu64 "__.bin" : "%s/__%" PRIu64 ".blp",
			   column->folder, blaze ? number + 1 : number) != 0 ||
	    bpk_buf_append(name, bpk_view("", 1), err) != 0)
		return -1;
	name->size--;
	return 0;
}

bool bpk_chunkdir_is_safe_name(const char *name)
{
	size_t size = strlen(name);

	if (size == 0 || size > 255 || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return false;
	for (size_t i = 0; i < size; i++)
		if ((uint8_t)name[i] < 0x20 || name[i] == 0x7f || name[i] == '/' || name[i] == '\\')
			return false;
	return true;
}

/* ---- Files of a dataset ---- */

static bool is_one_of(const char *name, const char *const *names)
{
	for (; *names != NULL; names++)
		if (strcmp(name, *names) == 0)
			return true;
	return false;
}

static bool is_data_file(const char *name)
{
	uint64_t number;

	return bpk_chunkdir_is_bcolz_file(name, &number) ||
	       bpk_chunkdir_is_blaze_file(name, &number);
}

/* True for a file of an array, relative to the array's folder. */
static bool is_part_of_array(const char *name)
{
	static const char *const meta[] = { "meta/sizes", "meta/storage", "meta/attributes",
					    "__attrs__", NULL };

	return is_one_of(name, meta) || (strncmp(name, "data/", 5) == 0 && is_data_file(name + 5));
}

/* True for a column's data file: data/x/y/__1__.bin, up to the deepest level possible. */
static bool is_nested_file(const char *name)
{
	const char *last = strrchr(name, '/');
	unsigned depth = 0;
	uint64_t number;

	if (strncmp(name, "data/", 5) != 0)
		return false;
	for (const char *at = name + 5; *at != '\0'; at++)
		depth += *at == '/';
	return depth <= BPK_CHUNKDIR_MAX_DEPTH && bpk_chunkdir_is_blaze_file(last + 1, &number);
}

bool bpk_chunkdir_owns(const char *name)
{
	static const char *const roots[] = { "__rootdirs__", NULL };
	const char *slash = strchr(name, '/');

	return is_part_of_array(name) || is_one_of(name, roots) || is_nested_file(name) ||
	       (slash != NULL && is_part_of_array(slash + 1));
}

/* ---- Recognising a directory ---- */

int bpk_chunkdir_probe(const struct bpk_place *place, struct bpk_view head, bool *found,
		       struct bpk_err *err)
{
	struct bpk_dir *dir = place->directory;
	int rc;

	(void)head;
	*found = false;
	if (dir == NULL)
		return 0;
	rc = bpk_dir_has(dir, "__rootdirs__", BPK_ENTRY_FILE, found, err);
	if (rc != 0 || *found)
		return rc;
	/* a web server knows no directories */
	*found = !bpk_dir_lists(dir);
	if (!*found)
		rc = bpk_dir_has(dir, "data", BPK_ENTRY_DIRECTORY, found, err);
	if (rc != 0 || !*found)
		return rc;
	rc = bpk_dir_has(dir, "meta/sizes", BPK_ENTRY_FILE, found, err);
	if (rc == 0 && !*found)
		rc = bpk_dir_has(dir, "meta/storage", BPK_ENTRY_FILE, found, err);
	return rc;
}

int bpk_chunkdir_path(const char *home, const char *name, struct bpk_buf *path, struct bpk_err *err)
{
	path->size = 0;
	if (bpk_buf_printf(path, err, "%s%s", home, name) != 0)
		return -1;
	return bpk_buf_append(path, bpk_view("", 1), err);
}

int bpk_chunkdir_subject(const struct bpk_chunkdir *set, const struct bpk_chunkdir_column *column,
			 uint64_t chunk, uint64_t offset, struct bpk_err *err)
{
	struct bpk_buf name = { 0 };

	bpk_bloscpack_chunk_subject(err, bpk_chunkdir_position(column, chunk), offset);
	if (bpk_chunkdir_file_name(set, column, bpk_chunkdir_superchunk(column, chunk), &name,
				   NULL) == 0)
		bpk_err_subject(err, "%s", (const char *)name.data);
	bpk_buf_clear(&name);
	return -1;
}
