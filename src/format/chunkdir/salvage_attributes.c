/* Finds the user's metadata in a damaged directory whose other meta files are lost: they are in a
 * file of their own, and its digest is in sizes. salvage.c calls it. */
#include "format/chunkdir/salvage.h"

#include <stdlib.h>

/* From the heap. */
struct left {
	struct bpk_chunkdir_attributes described;
	struct bpk_info info;
};

static void left_free(void *parts)
{
	struct left *left = parts;

	bpk_chunkdir_attributes_clear(&left->described);
	free(left);
}

/* Read a meta file; *is: it is there. */
static int read_file(struct bpk_dir *dir, const char *name, uint64_t limit, struct bpk_buf *text,
		     bool *is, struct bpk_err *err)
{
	struct bpk_err why = { 0 };

	text->size = 0;
	return bpk_err_settle(bpk_chunkdir_read(dir, name, limit, text, &why), &why, is, err);
}

/* The digests in sizes; not given if that is damaged. */
static int read_digests(struct bpk_dir *dir, struct bpk_chunkdir_digests *digests,
			struct bpk_err *err)
{
	struct bpk_chunkdir_sizes sizes = { 0 };
	struct bpk_buf text = { 0 };
	struct bpk_err why = { 0 };
	bool is;
	int rc = read_file(dir, "meta/sizes", BPK_CHUNKDIR_MAX_JSON, &text, &is, err);

	*digests = (struct bpk_chunkdir_digests){ 0 };
	if (rc == 0 && is)
		rc = bpk_err_settle(
			bpk_chunkdir_sizes_parse(bpk_buf_view(&text), false, &sizes, &why), &why,
			&is, err);
	if (rc == 0 && is)
		*digests = sizes.digests;
	bpk_buf_clear(&text);
	return rc;
}

static bool is_intact(const struct bpk_chunkdir_digests *digests, struct bpk_view text)
{
	if (digests->has_attributes && bpk_chunkdir_check_crc(text, digests->attributes, NULL) != 0)
		return false;
	return bpk_json_check(text, NULL) == 0 && bpk_json_kind(text) == BPK_JSON_OBJECT;
}

/* Describe the user's members of the attributes; the shape beside them is of no use alone. */
static int take(struct bpk_buf *text, struct bpk_salvage *salvage, struct bpk_err *err)
{
	static const struct bpk_array bytes = {
		.dtype = { .scalar = { .kind = 'u' }, .size = 1 },
		.ndimensions = 1,
	};
	struct left *left;
	struct bpk_view value;
	bool found;

	if (bpk_json_remove(text, "numpy", &found, err) != 0)
		return -1;
	if (!bpk_json_next(bpk_buf_view(text), &(size_t){ 0 }, NULL, &value))
		return 0;
	left = bpk_calloc(1, sizeof *left, err);
	if (left == NULL)
		return -1;
	salvage->parts = left;
	salvage->release = left_free;
	if (bpk_chunkdir_attributes_read(&bytes, true, bpk_chunkdir_trimmed(bpk_buf_view(text)),
					 &left->described, err) != 0)
		return -1;
	salvage->like = &left->info;
	left->info.metadata.given = left->described.has_metadata;
	left->info.metadata.text = bpk_buf_view(&left->described.metadata);
	return 0;
}

/* Say what is lost with the meta files. */
static int doubt_meta(struct bpk_salvage *salvage, bool has_metadata, struct bpk_err *err)
{
	bool knows_files = salvage->counted && !salvage->is_least;
	struct bpk_err line = { 0 };

	bpk_fail(&line, BPK_CORRUPT, "the meta files are damaged, and with them %s lost%s",
		 has_metadata ? "shape and type are" : "shape, type and metadata are",
		 knows_files ? "" : ", and the number of files");
	return bpk_salvage_doubt(salvage, line.text, err);
}

int bpk_chunkdir_salvage_attributes(struct bpk_dir *dir, struct bpk_salvage *salvage,
				    struct bpk_err *err)
{
	static const char unproven[] = "no checksum tells whether the metadata are intact";
	struct bpk_chunkdir_digests digests;
	struct bpk_buf text = { 0 };
	bool is;
	int rc = read_digests(dir, &digests, err);

	if (rc == 0)
		rc = read_file(dir, "meta/attributes", BPK_CHUNKDIR_MAX_ATTRIBUTES, &text, &is,
			       err);
	if (rc == 0 && !is)
		rc = read_file(dir, "__attrs__", BPK_CHUNKDIR_MAX_ATTRIBUTES, &text, &is, err);
	is = rc == 0 && is && is_intact(&digests, bpk_buf_view(&text));
	if (rc == 0)
		rc = doubt_meta(salvage, is, err);
	if (is && rc == 0)
		rc = take(&text, salvage, err);
	if (is && rc == 0 && salvage->like != NULL && !digests.has_attributes)
		rc = bpk_salvage_doubt(salvage, unproven, err);
	bpk_buf_clear(&text);
	return rc;
}
