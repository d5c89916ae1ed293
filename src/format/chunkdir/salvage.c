/*
 * Finds the chunks of a damaged directory, whose data files may be missing or damaged, and whose
 * meta files may be: bpk_format.salvage. Each data file is searched as a Bloscpack file of its own.
 * The row is in formats.c.
 */
#include "format/bloscpack/bloscpack.h"
#include "format/chunkdir/salvage.h"

#include <inttypes.h>
#include <stdlib.h>

/* A data file, and the first bytes of it. */
struct data_file {
	uint64_t number;
	uint64_t nchunks; /* by its header; 0: unknown */
	bool blaze;       /* by its name; else of bcolz */
};

/* The parts of a salvage with meta files. From the heap. */
struct parts {
	void *reader;
	struct bpk_salvage strays;
};

/* One thread's own. */
struct search {
	struct bpk_dir *dir;
	struct bpk_salvage *salvage;
	struct bpk_err *err;
	const struct bpk_chunkdir_reader *reader; /* NULL: the meta files are damaged */
	struct bpk_salvage *strays;               /* then: as in bpk_salvage */
	bool is_missing;                          /* and some of its data files are */
	bool unsure; /* numbers of chunks in some file follow from their order and sizes */
	struct bpk_buf scratch;

	/* without a reader */
	struct bpk_chunkdir set; /* its layout alone */
	struct bpk_chunkdir_column column;
	struct data_file *files; /* ascending */
	size_t nfiles, room;
	bool has_columns;
	uint32_t chunk_size; /* that the last file with intact chunks has */
	bool unsized;        /* and this of it */
	uint64_t raw_size;   /* by a list of sizes that its digest proves; or unknown */
};

/* ---- One file ---- */

/* Set brief of an intact chunk of the file found. */
static int set_brief(struct search *s, struct bpk_source *source, const struct bpk_salvage *found,
		     struct bpk_saved *saved)
{
	size_t size = saved->packed_size, digest = found->checksum->size;

	if (bpk_buf_resize(&s->scratch, size + digest, s->err) != 0 ||
	    bpk_source_need_at(source, saved->offset, bpk_span(s->scratch.data, size + digest),
			       s->err) != 0)
		return -1;
	saved->brief = bpk_chunkdir_brief(bpk_view(s->scratch.data, size),
					  bpk_view(s->scratch.data + size, digest));
	return 0;
}

/* Keep a chunk that has no place, unless it is that of an archive inside the data, by its size. */
static int keep_stray(struct search *s, const struct bpk_saved *saved)
{
	const struct bpk_chunkdir *set = &s->reader->set;
	struct bpk_saved stray = *saved;

	if (saved->guessed ||
	    (saved->raw_size != bpk_chunkdir_chunk_size(set, set->columns, 0) &&
	     saved->raw_size !=
		     bpk_chunkdir_chunk_size(set, set->columns, set->columns->nchunks - 1)))
		return 0;
	return bpk_salvage_add_file(s->strays, s->salvage->files[saved->file], &stray.file,
				    s->err) != 0
		       ? -1
		       : bpk_salvage_add(s->strays, &stray, s->err);
}

static int add_chunk(struct search *s, struct bpk_source *source, const struct bpk_salvage *found,
		     struct bpk_saved *saved)
{
	if (s->reader != NULL &&
	    saved->raw_size != bpk_chunkdir_chunk_size(&s->reader->set, s->reader->set.columns,
						       saved->number)) {
		s->salvage->nothers++;
		return keep_stray(s, saved);
	}
	if (s->reader != NULL && s->reader->set.sizes.digests.given &&
	    set_brief(s, source, found, saved) != 0)
		return -1;
	return bpk_salvage_add(s->salvage, saved, s->err);
}

/* Of a file with a chunk that has no place, or without a number of its own, no chunk is one of an
 * append before its commit. */
static int add_chunks(struct search *s, struct bpk_source *source, const struct bpk_salvage *found,
		      uint64_t file, uint64_t first, uint64_t most)
{
	size_t nothers = s->salvage->nothers;

	for (size_t i = 0; i < found->count; i++) {
		struct bpk_saved saved = found->all[i];
		int rc = 0;

		saved.number += first;
		saved.file = file;
		if (saved.intact && found->all[i].number < most)
			rc = add_chunk(s, source, found, &saved);
		else if (saved.intact && (most == 0 || s->salvage->nothers > nothers))
			rc = keep_stray(s, &saved);
		if (rc != 0)
			return -1;
	}
	return 0;
}

/* Number the chunks of a file of most chunks, as search_file has them. */
static void fit_numbers(const struct search *s, uint64_t first, uint64_t most,
			struct bpk_salvage *found)
{
	uint64_t last_size = BPK_UNKNOWN;

	if (most == BPK_UNKNOWN || most < found->count)
		return;
	if (s->reader != NULL) {
		/* the last chunk may be all that is left of the file */
		found->chunk_size = (uint32_t)bpk_chunkdir_chunk_size(
			&s->reader->set, s->reader->set.columns, first);
		last_size = bpk_chunkdir_chunk_size(&s->reader->set, s->reader->set.columns,
						    first + most - 1);
	}
	bpk_salvage_fit_numbers(found, most, last_size);
}

/* Search a file of most chunks, the first of which is chunk first of the dataset; most may be
 * unknown, or 0 for a file that has no place there. */
static int search_file(struct search *s, const char *name, uint64_t first, uint64_t most)
{
	struct bpk_salvage found = { .guesses = s->salvage->guesses };
	struct bpk_source *source = NULL;
	struct bpk_err why = { 0 };
	uint64_t file;
	int rc;

	if (bpk_dir_source(s->dir, name, &source, &why) != 0) {
		s->is_missing = true;
		return why.kind == BPK_CORRUPT ? 0 : bpk_fail_as(s->err, &why);
	}
	rc = bpk_bloscpack_salvage_source(source, &found, s->err);
	if (rc != 0)
		bpk_err_subject(s->err, "%s", name);
	s->salvage->guessable = s->salvage->guessable || found.guessable;
	s->salvage->unguessed = s->salvage->unguessed || found.unguessed;
	if (rc == 0 && bpk_salvage_intact(&found) > 0) {
		s->chunk_size = found.chunk_size;
		s->unsized = found.unsized;
	}
	if (rc == 0 && !found.counted && found.count > 0 && most > 0) {
		fit_numbers(s, first, most, &found);
		s->unsure = s->unsure || !found.counted;
	}
	if (rc == 0 && (s->salvage->checksum == NULL || s->salvage->checksum->size == 0)) {
		s->salvage->checksum = found.checksum;
		s->salvage->seal_size = found.seal_size;
		s->salvage->proven = found.proven;
	}
	if (rc == 0)
		rc = bpk_salvage_add_file(s->salvage, name, &file, s->err);
	if (rc == 0)
		rc = add_chunks(s, source, &found, file, first, most);
	s->salvage->nothers += found.nothers;
	bpk_salvage_clear(&found);
	bpk_source_close(source);
	return rc;
}

/* ---- With meta files ---- */

static int add_file(struct search *s, uint64_t number, bool blaze)
{
	struct data_file *files =
		bpk_alloc_grow(s->files, s->nfiles, &s->room, sizeof *files, s->err);

	if (files == NULL)
		return -1;
	s->files = files;
	files[s->nfiles++] = (struct data_file){ .number = number, .blaze = blaze };
	return 0;
}

static int visit(void *arg, const char *name, enum bpk_entry entry)
{
	struct search *s = arg;
	uint64_t number;
	bool blaze = bpk_chunkdir_is_blaze_file(name, &number);

	s->has_columns = s->has_columns || entry == BPK_ENTRY_DIRECTORY;
	if (entry != BPK_ENTRY_FILE || (!blaze && !bpk_chunkdir_is_bcolz_file(name, &number)))
		return 0;
	return add_file(s, number, blaze);
}

/* A folder that is missing has lost all files. */
static int list_files(struct search *s, const char *folder)
{
	struct bpk_err why = { 0 };

	if (bpk_dir_list(s->dir, folder, visit, s, &why) == 0 || why.kind == BPK_CORRUPT)
		return 0;
	return why.kind == BPK_OK ? -1 : bpk_fail_as(s->err, &why);
}

/* A data file that is missing may have got a number that is too large. */
static int search_strays(struct search *s)
{
	const struct bpk_chunkdir *set = &s->reader->set;
	const struct bpk_chunkdir_column *column = &set->columns[0];
	struct bpk_buf name = { 0 };
	int rc = list_files(s, column->folder);

	for (size_t i = 0; rc == 0 && i < s->nfiles; i++) {
		const struct data_file *file = &s->files[i];

		if (file->number < column->nfiles ||
		    file->blaze != (set->layout == BPK_CHUNKDIR_BLAZE))
			continue;
		rc = bpk_chunkdir_file_name(set, column, file->number, &name, s->err);
		if (rc == 0)
			rc = search_file(s, (const char *)name.data, 0, 0);
	}
	bpk_buf_clear(&name);
	return rc;
}

static int search_column(struct search *s)
{
	const struct bpk_chunkdir *set = &s->reader->set;
	const struct bpk_chunkdir_column *column = &set->columns[0];
	struct bpk_buf name = { 0 };
	int rc = 0;

	for (uint64_t i = 0; rc == 0 && i < column->nfiles; i++) {
		uint64_t first = i * column->superchunk_chunks;

		rc = bpk_chunkdir_file_name(set, column, i, &name, s->err);
		if (rc == 0)
			rc = search_file(
				s, (const char *)name.data, first,
				bpk_min_u64(column->superchunk_chunks, column->nchunks - first));
	}
	bpk_buf_clear(&name);
	return rc;
}

static int doubt_numbers(struct search *s)
{
	s->salvage->estimated = s->unsure;
	return !s->unsure ? 0
			  : bpk_salvage_doubt(s->salvage,
					      "the numbers of chunks in damaged files follow from "
					      "their order and sizes",
					      s->err);
}

/* No digest has the number of its chunk, but the sums in sizes have: chunks that were swapped or
 * copied show once all are there. */
static bool refutes(const struct bpk_salvage *salvage)
{
	const struct parts *parts = salvage->parts;
	const struct bpk_chunkdir *set = &((const struct bpk_chunkdir_reader *)parts->reader)->set;
	const struct bpk_chunkdir_digests *digests = &set->sizes.digests;
	uint64_t full = set->columns->chunk_rows * set->row_items * set->columns->item_size;
	uint64_t data = 0, last = 0;

	for (size_t i = 0; i < salvage->count; i++) {
		const struct bpk_saved *saved = &salvage->all[i];

		*(saved->raw_size == full ? &data : &last) +=
			bpk_chunkdir_share_of(0, saved->number, saved->brief);
	}
	return digests->data != data || digests->last != last;
}

static void judge_order(struct search *s)
{
	struct bpk_salvage *salvage = s->salvage;

	if (s->reader->set.sizes.digests.given)
		salvage->refutes = refutes;
	salvage->disordered =
		salvage->refutes != NULL && salvage->count == salvage->nchunks && refutes(salvage);
	salvage->exchangeable = s->reader->info.directory.exchangeable;
}

/* A hash of the digests in sizes, which has one of its own. */
static uint64_t hash_digests(const struct bpk_chunkdir_digests *digests)
{
	const uint64_t all[] = { digests->data, digests->last, digests->storage,
				 digests->attributes };

	return digests->given ? bpk_hash_words(BPK_HASH_START, bpk_view(all, sizeof all)) : 0;
}

static int take_meta(struct search *s, const struct bpk_info *info)
{
	struct bpk_salvage *salvage = s->salvage;

	if (s->reader->set.has_columns || info->chunks.size == BPK_UNKNOWN)
		return bpk_fail(s->err, BPK_UNSUPPORTED,
				"keeps records as columns, or objects, which repair does not save; "
				"bpk unpack --fill zero -o RAW FILE writes the rows that are "
				"intact");
	salvage->like = info;
	salvage->counted = true;
	salvage->nchunks = info->chunks.count;
	salvage->chunk_size = (uint32_t)info->chunks.size;
	salvage->last_size = info->chunks.last_size;
	salvage->typesize = info->chunks.typesize;
	salvage->sealed = info->seal.sealed;
	salvage->state = hash_digests(&s->reader->set.sizes.digests);
	if (search_column(s) != 0 || (s->is_missing && search_strays(s) != 0) ||
	    doubt_numbers(s) != 0)
		return -1;
	judge_order(s);
	return info->damage == NULL ? 0
				    : bpk_salvage_doubt_metadata(
					      salvage, "metadata are damaged, and lost", s->err);
}

/* ---- Without ---- */

static int compare_files(const void *a, const void *b)
{
	const struct data_file *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

/* Sort the files, and keep those of the layout that most have: each number once. */
static int keep_layout(struct search *s)
{
	size_t nfiles = s->nfiles, nblaze = 0;
	bool blaze;

	for (size_t i = 0; i < nfiles; i++)
		nblaze += s->files[i].blaze;
	blaze = nblaze >= nfiles - nblaze;
	s->set.layout = blaze ? BPK_CHUNKDIR_BLAZE : BPK_CHUNKDIR_BCOLZ;
	qsort(s->files, nfiles, sizeof *s->files, compare_files);
	s->nfiles = 0;
	for (size_t i = 0; i < nfiles; i++) {
		const struct data_file *file = &s->files[i];

		if (file->blaze == blaze &&
		    (s->nfiles == 0 || s->files[s->nfiles - 1].number != file->number))
			s->files[s->nfiles++] = *file;
	}
	if (nblaze == 0 || nblaze == nfiles)
		return 0;
	return bpk_salvage_doubt(s->salvage,
				 blaze ? "files named as bcolz does are left out"
				       : "files named as blaze does are left out",
				 s->err);
}

static int name_file(const struct search *s, uint64_t number, struct bpk_buf *name)
{
	return bpk_chunkdir_file_name(&s->set, &s->column, number, name, s->err);
}

/* Read the number of chunks from the header of a file, if that is intact. */
static int count_chunks(struct search *s, struct data_file *file)
{
	uint8_t bytes[BPK_BLOSCPACK_HEAD_SIZE];
	struct bpk_bloscpack_header header;
	struct bpk_source *source = NULL;
	struct bpk_buf name = { 0 };
	struct bpk_err why = { 0 };
	size_t got = 0;
	bool good = false;
	int rc = name_file(s, file->number, &name);

	if (rc == 0)
		rc = bpk_err_settle(bpk_dir_source(s->dir, (const char *)name.data, &source, &why),
				    &why, &good, s->err);
	if (rc == 0 && good)
		rc = bpk_source_read_at(source, 0, bpk_span(bytes, sizeof bytes), &got, s->err);
	if (rc == 0 && good &&
	    bpk_bloscpack_header_read(bpk_view(bytes, got), &header, NULL) == 0 &&
	    header.nchunks <= bpk_source_size(source) / BPK_CHUNK_HEADER_SIZE)
		file->nchunks = header.nchunks;
	bpk_source_close(source);
	bpk_buf_clear(&name);
	return rc;
}

/* The chunks of every file but the last: most files say the same. */
static int find_superchunk(struct search *s, uint64_t *nchunks)
{
	int64_t votes = 0; /* for *nchunks more than for others */

	for (size_t i = 0; i < s->nfiles; i++)
		if (count_chunks(s, &s->files[i]) != 0)
			return -1;
	*nchunks = s->nfiles == 1 ? s->files[0].nchunks : 0;
	/* a single file may be the last one, which has fewer */
	s->unsure = s->nfiles == 1 && s->files[0].number > 0;
	for (size_t i = 0; i + 1 < s->nfiles; i++) {
		uint64_t n = s->files[i].nchunks;

		if (n > 0 && votes == 0)
			*nchunks = n;
		if (n > 0)
			votes += n == *nchunks ? 1 : -1;
	}
	return 0;
}

/* superchunk 0: unknown, and files follow each other as far as is known. */
static int search_all(struct search *s, uint64_t superchunk)
{
	const struct bpk_salvage *salvage = s->salvage;
	struct bpk_buf name = { 0 };
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < s->nfiles; i++) {
		uint64_t most = i + 1 < s->nfiles ? superchunk : s->files[i].nchunks;
		uint64_t first = s->files[i].number * superchunk;

		if (superchunk == 0 && salvage->count > 0) {
			first = salvage->all[salvage->count - 1].number + 1;
			s->unsure = true;
		}
		rc = name_file(s, s->files[i].number, &name);
		if (rc == 0)
			rc = search_file(s, (const char *)name.data, first,
					 most > 0 ? most : BPK_UNKNOWN);
	}
	bpk_buf_clear(&name);
	return rc;
}

/* Count the chunks, those of files that are missing as well, by the size of the dataset. */
static void count_all(const struct search *s, struct bpk_salvage *salvage)
{
	uint64_t count, last;

	if (!salvage->counted || s->raw_size == BPK_UNKNOWN || s->raw_size == 0)
		return;
	count = bpk_div_up(s->raw_size, salvage->chunk_size);
	last = s->raw_size - (count - 1) * salvage->chunk_size;
	if (count < salvage->nchunks ||
	    (count == salvage->nchunks && salvage->last_size != BPK_UNKNOWN &&
	     salvage->last_size != last))
		return;
	salvage->nchunks = count;
	salvage->last_size = last;
	salvage->is_least = false;
}

static int set_sizes(struct search *s, uint64_t superchunk)
{
	struct bpk_salvage *salvage = s->salvage;
	const struct data_file *file = &s->files[s->nfiles - 1];
	const struct bpk_saved *last;

	if (bpk_salvage_find_chunk_size(salvage, s->err) != 0)
		return -1;
	if (salvage->count == 1) { /* it may be the last, which may be shorter */
		salvage->chunk_size = s->chunk_size;
		s->unsure = s->unsure || s->unsized;
	}
	bpk_salvage_keep_size(salvage);
	if (salvage->count == 0)
		return 0;
	last = &salvage->all[salvage->count - 1];
	salvage->nchunks = bpk_max_u64(last->number + 1, file->number * superchunk + file->nchunks);
	salvage->last_size = last->number + 1 == salvage->nchunks ? last->raw_size : BPK_UNKNOWN;
	salvage->counted = !s->unsure && file->nchunks > 0;
	salvage->is_least = true;
	count_all(s, salvage);
	salvage->exchangeable = s->nfiles > 1;
	return 0;
}

/* Names are not trusted to count more than a few times the files that are there. */
static int check_numbers(const struct search *s, uint64_t superchunk)
{
	enum { ANY = 1024, TIMES = 16, MOST = 1 << 28 };
	uint64_t number = s->files[s->nfiles - 1].number;

	if (number / TIMES <= s->nfiles + ANY && superchunk <= MOST)
		return 0;
	return bpk_fail(s->err, BPK_LIMIT, "has %zu data files, and one of number %" PRIu64,
			s->nfiles, number);
}

/* A list of sizes that its own digest proves tells size and state of a directory that does not
 * open. */
static int find_state(struct search *s)
{
	struct bpk_chunkdir_sizes sizes = { 0 };
	struct bpk_buf text = { 0 };
	struct bpk_err why = { 0 };
	int rc = bpk_chunkdir_read(s->dir, "meta/sizes", BPK_CHUNKDIR_MAX_JSON, &text, &why);

	if (rc == 0)
		rc = bpk_chunkdir_sizes_parse(bpk_buf_view(&text), false, &sizes, &why);
	if (rc == 0) {
		s->salvage->state = hash_digests(&sizes.digests);
		s->raw_size = sizes.digests.given ? sizes.nbytes : BPK_UNKNOWN;
	}
	bpk_buf_clear(&text);
	return rc == 0 ? 0 : bpk_err_pass(&why, s->err);
}

static int take_files(struct search *s)
{
	static char none[] = "", data[] = "data";
	uint64_t superchunk;

	s->column = (struct bpk_chunkdir_column){ .name = none, .home = none, .folder = data };
	s->raw_size = BPK_UNKNOWN;
	if (find_state(s) != 0 || list_files(s, data) != 0)
		return -1;
	if (s->has_columns)
		return bpk_fail(
			s->err, BPK_UNSUPPORTED,
			"has lost its meta files, and keeps records as columns, which repair does "
			"not save");
	if (s->nfiles == 0)
		return 0;
	if (keep_layout(s) != 0 || find_superchunk(s, &superchunk) != 0 ||
	    check_numbers(s, superchunk) != 0 || search_all(s, superchunk) != 0 ||
	    set_sizes(s, superchunk) != 0 || doubt_numbers(s) != 0)
		return -1;
	return bpk_chunkdir_salvage_attributes(s->dir, s->salvage, s->err);
}

/* ---- All ---- */

static void parts_free(void *own)
{
	struct parts *parts = own;

	bpk_chunkdir_reader_ops.close(parts->reader);
	bpk_salvage_clear(&parts->strays);
	free(parts);
}

/* Takes the reader. */
static int take_reader(struct search *s, void *reader)
{
	struct parts *parts = bpk_calloc(1, sizeof *parts, s->err);

	if (parts == NULL) {
		bpk_chunkdir_reader_ops.close(reader);
		return -1;
	}
	parts->reader = reader;
	s->reader = reader;
	s->strays = &parts->strays;
	s->salvage->strays = &parts->strays;
	s->salvage->parts = parts;
	s->salvage->release = parts_free;
	return take_meta(s, bpk_chunkdir_reader_ops.info(reader));
}

int bpk_chunkdir_salvage(const struct bpk_place *place, struct bpk_salvage *salvage,
			 struct bpk_err *err)
{
	const struct bpk_reader_ops *ops = &bpk_chunkdir_reader_ops;
	const struct bpk_read_options options = { .saves = true };
	struct search s = { .dir = place->directory, .salvage = salvage, .err = err };
	struct bpk_place copy = *place; /* of which the reader keeps the directory */
	struct bpk_err why = { 0 };
	void *reader = NULL;
	int rc;

	salvage->checksum = &bpk_checksums[0];
	if (ops->open(&copy, &options, &reader, &why) == 0) {
		rc = take_reader(&s, reader);
		bpk_buf_clear(&s.scratch);
	} else if (bpk_err_is_of_machine(&why)) {
		return bpk_fail_as(err, &why);
	} else {
		rc = take_files(&s);
	}
	free(s.files);
	return rc;
}
