/*
 * Finds the chunks of a damaged sparse frame, whose files are there without chunks.b2frame too:
 * bpk_format.salvage. Its row is in formats.c.
 */
#include "format/frame/names.h"
#include "format/frame/salvage.h"

/* One thread's own. */
struct search {
	struct bpk_dir *dir;
	struct bpk_frame_left *left;
	struct bpk_scan scan;
	struct bpk_salvage *salvage;
	struct bpk_frame_table table;
	uint64_t nnamed; /* files that the index names, and that hold a chunk */
	struct bpk_err *err;
};

/* ---- The index ---- */

static int find_parts(struct search *s)
{
	struct bpk_salvage found = { 0 };
	bool loaded;
	int rc = bpk_frame_left_load(s->scan.source, s->left, &loaded, s->err);

	if (rc == 0 && !loaded)
		rc = bpk_frame_find_chunks(&s->scan, 0, &found, s->err);
	if (rc == 0 && !loaded)
		rc = bpk_frame_left_find(&s->scan, s->left, &found, s->err);
	bpk_salvage_clear(&found);
	return rc;
}

/* Find the parts in chunks.b2frame, if that is there. */
static int open_index(struct search *s)
{
	struct bpk_source *source = NULL;
	struct bpk_err why = { 0 };
	int rc = bpk_dir_source(s->dir, BPK_FRAME_SPARSE_INDEX, &source, &why);

	if (rc != 0)
		return why.kind == BPK_CORRUPT ? 0 : bpk_fail_as(s->err, &why);
	bpk_scan_turn(&s->scan, source);
	rc = find_parts(s);
	bpk_scan_turn(&s->scan, NULL);
	bpk_source_close(source);
	return rc == 0 ? 0 : bpk_err_subject(s->err, "%s", BPK_FRAME_SPARSE_INDEX);
}

/* ---- Files ---- */

/* Turn to a file; *is: it is there. */
static int open_file(struct search *s, const char *name, struct bpk_source **source, bool *is)
{
	struct bpk_err why = { 0 };

	*is = bpk_dir_source(s->dir, name, source, &why) == 0;
	if (*is)
		bpk_scan_turn(&s->scan, *source);
	return *is || why.kind == BPK_CORRUPT ? 0 : bpk_fail_as(s->err, &why);
}

static void close_file(struct search *s, struct bpk_source *source)
{
	bpk_scan_turn(&s->scan, NULL);
	bpk_source_close(source);
}

/* *is: the file begins with an intact chunk, by the digest of its number if there is one. */
static int test_file(struct search *s, const char *name, const uint8_t *digest,
		     struct bpk_saved *saved, bool *is)
{
	struct bpk_source *source = NULL;
	int rc = open_file(s, name, &source, is);

	if (rc == 0 && *is)
		rc = bpk_frame_bring(&s->scan, 0, s->left->digests.checksum, digest, saved, is,
				     s->err);
	close_file(s, source);
	return rc;
}

/* ---- By the index ---- */

static int take_by_index(struct search *s)
{
	struct bpk_frame_table *table = &s->table;
	char name[BPK_FRAME_FILE_NAME];
	struct bpk_saved saved = { 0 };
	bool is = false;

	for (size_t i = 0; i < table->nkeys; i++) {
		uint64_t number = table->keys[i].number, id = table->keys[i].key;

		/* an index may lead to a file many times */
		if (i == 0 || table->keys[i - 1].key != id) {
			saved = (struct bpk_saved){ 0 };
			bpk_frame_file_name((uint32_t)id, name);
			if (test_file(s, name, bpk_frame_left_digest(s->left, number), &saved,
				      &is) != 0 ||
			    (is &&
			     bpk_salvage_add_file(s->salvage, name, &saved.file, s->err) != 0))
				return -1;
			s->nnamed += is;
		}
		if (is)
			bpk_frame_table_set(table, number, &saved);
	}
	return 0;
}

/* ---- By all files ---- */

static int search_file(struct search *s, const char *name)
{
	struct bpk_source *source = NULL;
	uint64_t file;
	bool is;
	int rc = open_file(s, name, &source, &is);

	if (rc == 0 && is)
		rc = bpk_salvage_add_file(s->salvage, name, &file, s->err);
	if (rc == 0 && is)
		rc = bpk_frame_find_by_digests(&s->scan, file, &s->table, s->err);
	close_file(s, source);
	return rc;
}

static int visit_for_digests(void *arg, const char *name, enum bpk_entry entry)
{
	uint32_t id;

	return entry == BPK_ENTRY_FILE && bpk_frame_file_id(name, &id) ? search_file(arg, name) : 0;
}

static int visit_in_order(void *arg, const char *name, enum bpk_entry entry)
{
	struct search *s = arg;
	struct bpk_saved saved = { 0 };
	uint32_t id;
	bool is;

	if (entry != BPK_ENTRY_FILE || !bpk_frame_file_id(name, &id))
		return 0;
	if (test_file(s, name, NULL, &saved, &is) != 0)
		return -1;
	if (!is)
		return 0;
	/* the gaps between ids are those between chunks, as far as is known */
	saved.number = id;
	return bpk_salvage_add_file(s->salvage, name, &saved.file, s->err) != 0
		       ? -1
		       : bpk_salvage_add(s->salvage, &saved, s->err);
}

static int take_in_order(struct search *s)
{
	struct bpk_salvage *salvage = s->salvage;

	if (bpk_dir_list(s->dir, "", visit_in_order, s, s->err) != 0)
		return -1;
	if (s->left->has_fields && s->left->header.chunk_size > 0)
		salvage->chunk_size = (uint32_t)s->left->header.chunk_size;
	else if (bpk_salvage_find_chunk_size(salvage, s->err) != 0)
		return -1;
	salvage->uneven = bpk_frame_left_is_uneven(s->left, salvage);
	if (!salvage->uneven)
		bpk_salvage_keep_size(salvage);
	return bpk_frame_number_by_order(s->left, 0, 0, salvage, s->err);
}

/* Look in all files for the chunks that are not where the index says: a file may have got another
 * name. */
static int take_by_digests(struct search *s)
{
	bpk_frame_table_sort(&s->table, true);
	return bpk_dir_list(s->dir, "", visit_for_digests, s, s->err);
}

/* ---- Ways ---- */

static int count_file(void *arg, const char *name, enum bpk_entry entry)
{
	uint32_t id;

	*(uint64_t *)arg += entry == BPK_ENTRY_FILE && bpk_frame_file_id(name, &id);
	return 0;
}

/* An index without a digest may be damaged, if chunks that it names are lost and others are
 * there. */
static int doubt_index(struct search *s)
{
	uint64_t count = 0;

	if (s->left->digests.checksum != NULL || bpk_frame_table_is_full(&s->table))
		return 0;
	if (bpk_dir_list(s->dir, "", count_file, &count, s->err) != 0)
		return -1;
	return count <= s->nnamed
		       ? 0
		       : bpk_salvage_doubt(s->salvage,
					   "files that the index does not name, since it "
					   "is damaged or they were replaced, are left "
					   "out",
					   s->err);
}

static int take_by_table(struct search *s)
{
	const struct bpk_frame_left *left = s->left;
	uint64_t size = bpk_max_u64(left->index.end, left->trailer.end);
	int rc = bpk_frame_table_begin(&s->table, left, size, s->err);

	if (rc == 0 && left->entries.size > 0)
		rc = take_by_index(s);
	s->scan.specials = left->has_fields && left->header.chunk_size == 0;
	if (rc == 0 && (left->entries.size == 0 ||
			(left->digests.checksum != NULL && !bpk_frame_table_is_full(&s->table))))
		rc = take_by_digests(s);
	if (rc == 0 && left->entries.size > 0)
		rc = doubt_index(s);
	if (rc == 0)
		rc = bpk_frame_table_give(&s->table, s->salvage, s->err);
	if (rc == 0)
		rc = bpk_frame_doubt_specials(&s->table, s->salvage, s->err);
	bpk_frame_table_clear(&s->table);
	return rc;
}

static int salvage_parts(struct search *s)
{
	if (open_index(s) != 0)
		return -1;
	return s->left->nchunks > 0 ? take_by_table(s) : take_in_order(s);
}

int bpk_frame_salvage_sparse(const struct bpk_place *place, struct bpk_salvage *salvage,
			     struct bpk_err *err)
{
	struct bpk_frame_left *left = bpk_calloc(1, sizeof *left, err);
	struct search s = { .dir = place->directory, .left = left, .salvage = salvage, .err = err };
	int rc;

	if (left == NULL)
		return -1;
	left->sparse = true;
	salvage->index = BPK_FRAME_SPARSE_INDEX;
	rc = bpk_scan_begin(&s.scan, NULL, true, err);
	if (rc == 0)
		rc = salvage_parts(&s);
	bpk_scan_clear(&s.scan);
	if (rc == 0)
		rc = bpk_frame_left_prove(left, place, salvage, err);
	if (rc != 0) {
		bpk_frame_left_free(left);
		return -1;
	}
	return bpk_frame_left_give(left, salvage, err);
}
