/*
 * Chooses, for each part in which copies differ outside of chunks, the copy that is right: the one
 * with which the archive opens and its index leads to the chunks that were found. merge.c calls it.
 */
#include "archive/merge_inner.h"

#include <inttypes.h>
#include <stdlib.h>

enum {
	MOST_TRIES = 1024, /* ways to choose parts that are tried */
	MOST_PROOFS = 256, /* of those, with a look at every byte */
	MOST_COUNTS = 16,  /* searches for chunks */
	MOST_MISSES = 64,  /* chunks in a row that are not found */
};

/* The parts of a file, or of all files. One thread's own. */
struct choice {
	struct bpk_merge *merge;
	struct bpk_merge_file *only;     /* NULL: all */
	const struct bpk_format *format; /* of the place */
	struct bpk_merge_part **parts;
	size_t nparts;
	uint64_t reach; /* where the last known chunk ends that the way weighed last leads to */
	struct bpk_err *err;
};

/* ---- One way ---- */

/* True if the last way leads there to a chunk that was found, for the first time: one that leads to
 * a chunk again and again finds no more of the archive. */
static bool is_found(const struct choice *choice, const struct bpk_where *where)
{
	struct bpk_merge *m = choice->merge;
	const struct bpk_merge_file *file = choice->only;
	struct bpk_merge_known key = { .offset = where->packed_offset,
				       .packed_size = where->header.packed_size };
	struct bpk_merge_known *known;

	if (file == NULL)
		file = bpk_merge_find_file(m, m->names == NULL ? "" : where->file);
	if (file == NULL || m->nknown == 0)
		return false;
	key.file = (size_t)(file - m->files);
	known = bsearch(&key, m->known, m->nknown, sizeof key, bpk_merge_compare_known);
	if (known == NULL || known->seen == m->nways)
		return false;
	known->seen = m->nways;
	return true;
}

/* The points of an archive: 4 for each chunk that was found and that it leads to, 2 if it has
 * no damage outside of chunks, 1 if it has the typesize of a chunk, which no digest covers. */
static int64_t count_points(struct choice *choice, void *reader)
{
	const struct bpk_reader_ops *ops = choice->format->reader;
	const struct bpk_info *info = ops->info(reader);
	struct bpk_merge *m = choice->merge;
	int64_t points = info->damage == NULL ? 2 : 0;
	bool agrees = false;
	unsigned misses = 0;

	choice->reach = 0;
	m->nways++;
	for (uint64_t n = 0; n < info->chunks.count && misses < MOST_MISSES && m->budget > 0; n++) {
		struct bpk_where where = { 0 };
		int rc = ops->locate(reader, n, &where, NULL);

		if (rc > 0)
			break;
		misses = rc == 0 ? 0 : misses + 1;
		m->budget--;
		if (rc != 0 || !is_found(choice, &where))
			continue;
		points += 4;
		choice->reach =
			bpk_max_u64(choice->reach, where.packed_offset + where.header.packed_size);
		agrees = agrees || where.header.typesize == info->chunks.typesize;
	}
	return points + agrees;
}

/* A union that cannot be read is named by the first copy. */
static int fail_union(const struct choice *choice, const struct bpk_err *why)
{
	bpk_fail_as(choice->err, why);
	return bpk_input_subject(&choice->merge->copies[0], choice->err);
}

/* *score: less than 0 for an archive that does not open. */
static int weigh(struct choice *choice, int64_t *score)
{
	const struct bpk_read_options options = { .as_stored = true, .saves = true };
	const struct bpk_reader_ops *ops = choice->format->reader;
	struct bpk_merge_view view;
	struct bpk_err why = { 0 };
	void *reader = NULL;
	int rc = bpk_merge_view_open(choice->merge, BPK_MERGE_UNION, choice->only, &view,
				     choice->err);

	*score = -1;
	if (rc != 0)
		return -1;
	choice->merge->budget -= bpk_min_u64(choice->merge->budget, 64);
	if (ops->open(&view.place, &options, &reader, &why) == 0) {
		*score = count_points(choice, reader);
		ops->close(reader);
	} else if (bpk_err_is_of_machine(&why)) {
		rc = fail_union(choice, &why);
	}
	bpk_merge_view_close(&view);
	return rc;
}

typedef int prove_fn(struct choice *choice, bool *proven);

/* *proven: the union opens, and every byte of it outside of the chunks is accounted for. */
static int prove(struct choice *choice, bool *proven)
{
	struct bpk_merge_view view;
	struct bpk_err why = { 0 };
	int rc = bpk_merge_view_open(choice->merge, BPK_MERGE_UNION, NULL, &view, choice->err);

	*proven = false;
	if (rc != 0)
		return -1;
	if (bpk_merge_test(choice->merge, &view.place, NULL, NULL, proven, &why) != 0)
		rc = fail_union(choice, &why);
	bpk_merge_view_close(&view);
	return rc;
}

/* *proven: the union is sealed, and the root of the seal is that of the parts outside of chunks. */
static int prove_root(struct choice *choice, bool *proven)
{
	const struct bpk_read_options options = { .as_stored = true };
	const struct bpk_reader_ops *ops = choice->format->reader;
	struct bpk_merge_view view;
	struct bpk_err why = { 0 };
	void *reader = NULL;
	int rc = bpk_merge_view_open(choice->merge, BPK_MERGE_UNION, NULL, &view, choice->err);

	*proven = false;
	if (rc == 0 && ops->open(&view.place, &options, &reader, &why) == 0) {
		*proven = ops->prove(reader, 0, 0, &why) == 0;
		ops->close(reader);
	}
	if (rc == 0 && bpk_err_is_of_machine(&why))
		rc = fail_union(choice, &why);
	bpk_merge_view_close(&view);
	return rc;
}

/* ---- All ways ---- */

static bool is_in_run(const struct bpk_merge_file *file, const struct bpk_merge_part *part)
{
	for (size_t i = 0; i < file->nruns; i++)
		if (file->runs[i].at <= part->at &&
		    part->at + part->size <= file->runs[i].at + file->runs[i].size)
			return true;
	return false;
}

/* List the parts with a choice. In a chunk that was taken they are those with which it is
 * intact. */
static int list_parts(struct choice *choice)
{
	struct bpk_merge *m = choice->merge;
	size_t count = 0;

	for (size_t i = 0; i < m->nfiles; i++)
		count += m->files[i].nparts;
	choice->parts = bpk_calloc(count + 1, sizeof *choice->parts, choice->err);
	if (choice->parts == NULL)
		return -1;
	for (size_t i = 0; i < m->nfiles; i++)
		for (size_t p = 0; p < m->files[i].nparts; p++)
			if ((choice->only == NULL || choice->only == &m->files[i]) &&
			    m->files[i].parts[p].nvariants > 1 &&
			    !is_in_run(&m->files[i], &m->files[i].parts[p]))
				choice->parts[choice->nparts++] = &m->files[i].parts[p];
	return 0;
}

/* Go to the next way; false after the last. */
static bool go_on(struct choice *choice)
{
	for (size_t i = 0; i < choice->nparts; i++) {
		struct bpk_merge_part *part = choice->parts[i];

		part->chosen = (uint8_t)((part->chosen + 1) % part->nvariants);
		if (part->chosen != 0)
			return true;
	}
	return false;
}

static void keep(const struct choice *choice, uint8_t *chosen)
{
	for (size_t i = 0; i < choice->nparts; i++)
		chosen[i] = choice->parts[i]->chosen;
}

static void bring_back(struct choice *choice, const uint8_t *chosen)
{
	for (size_t i = 0; i < choice->nparts; i++)
		choice->parts[i]->chosen = chosen[i];
}

/* Change one part after the other as long as that is better. */
static int climb(struct choice *choice, int64_t *best)
{
	for (size_t i = 0; i < choice->nparts; i++) {
		struct bpk_merge_part *part = choice->parts[i];
		uint8_t kept = part->chosen;

		for (uint8_t v = 0; v < part->nvariants && choice->merge->budget > 0; v++) {
			int64_t score;

			part->chosen = v;
			if (v != kept && weigh(choice, &score) != 0)
				return -1;
			if (v != kept && score > *best) {
				*best = score;
				kept = v;
			}
		}
		part->chosen = kept;
	}
	return 0;
}

/* Try all ways, up to a limit, then one part after the other. *best: the score of the chosen one,
 * and of equal ones the first. */
static int choose(struct choice *choice, int64_t *best)
{
	bool is_file = choice->merge->names == NULL;
	int64_t perfect = is_file ? 4 * (int64_t)choice->merge->nknown + 3 : INT64_MAX, score;
	uint8_t *chosen;
	int rc = 0;

	*best = INT64_MIN;
	if (list_parts(choice) != 0)
		return -1;
	for (size_t i = 0; i < choice->nparts; i++)
		choice->parts[i]->chosen = 0;
	chosen = bpk_calloc(choice->nparts + 1, 1, choice->err);
	if (chosen == NULL)
		return -1;
	for (unsigned tries = 0; rc == 0 && tries < MOST_TRIES && *best < perfect; tries++) {
		rc = weigh(choice, &score);
		if (rc == 0 && score > *best) {
			*best = score;
			keep(choice, chosen);
		}
		if (choice->merge->budget == 0 || !go_on(choice))
			break;
	}
	bring_back(choice, chosen);
	if (rc == 0 && *best < perfect)
		rc = climb(choice, best);
	free(chosen);
	return rc;
}

/* ---- Files ---- */

/* Choose the parts of a file of this size that is an archive by itself. *reach: where the last
 * chunk ends that they lead to. */
static int choose_size(struct bpk_merge *m, struct bpk_merge_file *file,
		       const struct bpk_format *format, uint64_t size, int64_t *score,
		       uint64_t *reach, struct bpk_err *err)
{
	struct choice choice = { .merge = m, .only = file, .format = format, .err = err };
	int rc = bpk_merge_find_parts(m, file, size, err);

	if (rc == 0)
		rc = choose(&choice, score);
	if (rc == 0 && choice.nparts > 0)
		rc = weigh(&choice, score);
	*reach = choice.reach;
	free(choice.parts);
	return rc;
}

/* True if the last intact chunk of a copy ends the data file of a directory in this size, so that
 * no bytes came. */
static bool is_filled(const struct bpk_merge *m, const struct bpk_merge_file *file, uint64_t size)
{
	for (size_t c = 0; m->names != NULL && c < m->ncopies; c++)
		if (file->sizes[c] == size && file->end[c] == size)
			return true;
	return false;
}

/* The same in the size with which these lead to the most chunks. *best: their score. Of two sizes
 * with equal scores the smaller one is wrong if the parts lead to a chunk behind its end; else the
 * one that an intact chunk ends is better. */
static int choose_alone(struct bpk_merge *m, struct bpk_merge_file *file,
			const struct bpk_format *format, int64_t *best, struct bpk_err *err)
{
	uint64_t usual = bpk_merge_usual_size(m, file), size = usual, reach;
	int64_t score;

	if (choose_size(m, file, format, usual, best, &reach, err) != 0)
		return -1;
	for (size_t c = 0; c < m->ncopies; c++) {
		if (file->sizes[c] == BPK_UNKNOWN || file->sizes[c] == usual)
			continue;
		if (choose_size(m, file, format, file->sizes[c], &score, &reach, err) != 0)
			return -1;
		if (score > *best ||
		    (score == *best && (reach > size || (is_filled(m, file, file->sizes[c]) &&
							 !is_filled(m, file, size))))) {
			*best = score;
			size = file->sizes[c];
		}
	}
	return file->size == size ? 0 : choose_size(m, file, format, size, best, &reach, err);
}

/* True if the file is no more than an intact chunk in some copy: base and size are set. */
static bool take_chunk_file(const struct bpk_merge *m, struct bpk_merge_file *file)
{
	for (size_t c = 0; c < m->ncopies; c++)
		if (file->first[c] == 0 && file->end[c] == file->sizes[c]) {
			file->base = c;
			file->size = file->sizes[c];
			return true;
		}
	return false;
}

/* The ending of a name, with its dot. */
static const char *ending(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot == NULL ? "" : dot;
}

static int choose_file(struct bpk_merge *m, struct bpk_merge_file *file, const char **chunk_ending,
		       struct bpk_err *err)
{
	const struct bpk_format *format;
	int64_t best;

	if (take_chunk_file(m, file)) {
		*chunk_ending = ending(file->name);
		return 0;
	}
	if (bpk_merge_file_format(m, file, &format, err) != 0)
		return -1;
	return format != NULL ? choose_alone(m, file, format, &best, err)
			      : bpk_merge_find_parts(m, file, bpk_merge_usual_size(m, file), err);
}

/* Choose the parts of all files in the sizes that these have. */
static int choose_all(struct bpk_merge *m, int64_t *best, struct bpk_err *err)
{
	struct choice choice = { .merge = m, .format = m->format, .err = err };
	int rc = choose(&choice, best);

	free(choice.parts);
	return rc;
}

/* Of a file that is neither an archive nor a chunk, as metadata, take the size with which all files
 * together do best. */
static int choose_other_size(struct bpk_merge *m, struct bpk_merge_file *file, int64_t *best,
			     struct bpk_err *err)
{
	const struct bpk_format *format;
	uint64_t size = file->size;
	int64_t score;

	if (file->is_chunk || take_chunk_file(m, file))
		return 0;
	if (bpk_merge_file_format(m, file, &format, err) != 0)
		return -1;
	for (size_t c = 0; format == NULL && c < m->ncopies; c++) {
		if (file->sizes[c] == BPK_UNKNOWN || file->sizes[c] == size)
			continue;
		if (bpk_merge_find_parts(m, file, file->sizes[c], err) != 0 ||
		    choose_all(m, &score, err) != 0)
			return -1;
		if (score > *best) {
			*best = score;
			size = file->sizes[c];
		}
	}
	if (file->size == size)
		return 0;
	return bpk_merge_find_parts(m, file, size, err) != 0 ? -1 : choose_all(m, best, err);
}

int bpk_merge_choose(struct bpk_merge *m, struct bpk_err *err)
{
	const char *chunk_ending = "";
	int64_t best;
	int rc = 0;

	if (m->names == NULL) {
		rc = choose_alone(m, &m->files[0], m->format, &best, err);
		m->is_open = rc == 0 && best >= 0;
		return rc;
	}
	for (size_t i = 0; rc == 0 && i < m->nfiles; i++)
		rc = choose_file(m, &m->files[i], &chunk_ending, err);
	for (size_t i = 0; *chunk_ending != '\0' && i < m->nfiles; i++)
		if (m->files[i].nparts > 0 && strcmp(ending(m->files[i].name), chunk_ending) == 0) {
			m->files[i].is_chunk = true;
			m->files[i].nparts = 0;
		}
	if (rc == 0)
		rc = choose_all(m, &best, err);
	for (size_t i = 0; rc == 0 && i < m->nfiles; i++)
		rc = choose_other_size(m, &m->files[i], &best, err);
	m->is_open = rc == 0 && best >= 0;
	return rc;
}

/* ---- Proofs ---- */

static struct bpk_merge_file *file_of(struct bpk_merge *m, const struct bpk_merge_part *part)
{
	for (size_t i = 0; i < m->nfiles; i++)
		if (m->files[i].nparts > 0 && part >= m->files[i].parts &&
		    part < m->files[i].parts + m->files[i].nparts)
			return &m->files[i];
	return NULL;
}

/* True if chunks of some copy begin before the part. */
static bool is_behind(const struct bpk_merge *m, const struct bpk_merge_file *file,
		      const struct bpk_merge_part *part)
{
	for (size_t c = 0; c < m->ncopies; c++)
		if (file->first[c] != BPK_UNKNOWN && file->first[c] <= part->at)
			return true;
	return false;
}

static int add_doubt(struct bpk_merge *m, const struct bpk_merge_file *file,
		     const struct bpk_merge_part *part, struct bpk_err *err)
{
	if (m->doubt.size > 0)
		return 0;
	if (bpk_buf_printf(&m->doubt, err,
			   "the copies differ in bytes %" PRIu64 ":%" PRIu64 "%s%s, which nothing "
			   "proves; those of %s are taken",
			   part->at, part->at + part->size, *file->name != '\0' ? " of " : "",
			   file->name, m->copies[part->variants[part->chosen]].path) != 0)
		return -1;
	m->between = m->names == NULL && m->format->repack == NULL && is_behind(m, file, part);
	return bpk_buf_append(&m->doubt, bpk_view("", 1), err);
}

/* Note the first part of which another variant, of as many copies, would do as well. */
static int doubt_part(struct choice *choice, struct bpk_merge_part *part, int64_t best)
{
	const struct bpk_merge_file *file = file_of(choice->merge, part);
	uint8_t kept = part->chosen;
	bool proven = false;

	if (file == NULL)
		return 0;
	for (uint8_t v = 0; !proven && v < part->nvariants; v++) {
		int64_t score;

		part->chosen = v;
		if (v == kept || part->votes[v] < part->votes[kept])
			continue;
		if (weigh(choice, &score) != 0 || (score >= best && prove(choice, &proven) != 0))
			return -1;
	}
	part->chosen = kept;
	return proven ? add_doubt(choice->merge, file, part, choice->err) : 0;
}

/* Find a way that is proven, from the chosen one on. */
static int find_proven(struct choice *choice, prove_fn *test, bool *proven)
{
	uint8_t *chosen = bpk_calloc(choice->nparts + 1, 1, choice->err);
	int rc;

	if (chosen == NULL)
		return -1;
	keep(choice, chosen);
	rc = test(choice, proven);
	for (size_t i = 0; !*proven && i < choice->nparts; i++)
		choice->parts[i]->chosen = 0;
	for (unsigned tries = 0; rc == 0 && !*proven && tries < MOST_PROOFS; tries++) {
		rc = test(choice, proven);
		if (!*proven && !go_on(choice))
			break;
	}
	if (!*proven)
		bring_back(choice, chosen);
	free(chosen);
	return rc;
}

/* *counted: the search for chunks in the union finds the numbers of those that are lost. */
static int count_chunks(struct choice *choice, bool *counted)
{
	struct bpk_salvage found = { 0 };
	struct bpk_err why = { 0 };
	struct bpk_merge_view view;
	int rc = bpk_merge_view_open(choice->merge, BPK_MERGE_UNION, NULL, &view, choice->err);

	if (rc == 0 && choice->format->salvage(&view.place, &found, &why) != 0)
		rc = fail_union(choice, &why);
	*counted = rc == 0 && found.counted;
	bpk_salvage_clear(&found);
	bpk_merge_view_close(&view);
	return rc;
}

/* Chunks are lost: of variants that make no difference to a reader one may tell their numbers. */
static int find_counted(struct choice *choice)
{
	unsigned tries = 0;
	bool counted;

	if (count_chunks(choice, &counted) != 0)
		return -1;
	for (size_t i = 0; !counted && i < choice->nparts; i++) {
		struct bpk_merge_part *part = choice->parts[i];
		uint8_t kept = part->chosen;

		for (uint8_t v = 0; !counted && v < part->nvariants && tries < MOST_COUNTS; v++) {
			part->chosen = v;
			tries += v != kept;
			if (v != kept && count_chunks(choice, &counted) != 0)
				return -1;
		}
		if (!counted)
			part->chosen = kept;
	}
	return 0;
}

int bpk_merge_choose_seal(struct bpk_merge *m, struct bpk_err *err)
{
	struct choice choice = { .merge = m, .format = m->format, .err = err };
	bool proven;
	int rc = list_parts(&choice);

	if (rc == 0)
		rc = find_proven(&choice, prove_root, &proven);
	free(choice.parts);
	return rc;
}

int bpk_merge_prove(struct bpk_merge *m, struct bpk_err *err)
{
	struct choice choice = { .merge = m, .format = m->format, .err = err };
	bool proven = false;
	int64_t best = 0;
	int rc = m->is_open ? list_parts(&choice) : 0;

	if (rc == 0 && choice.nparts > 0)
		rc = find_proven(&choice, prove, &proven);
	if (rc == 0 && proven)
		rc = weigh(&choice, &best);
	else if (rc == 0 && choice.nparts > 0)
		rc = find_counted(&choice);
	for (size_t i = 0; rc == 0 && proven && i < choice.nparts && i < MOST_PROOFS; i++)
		rc = doubt_part(&choice, choice.parts[i], best);
	free(choice.parts);
	return rc;
}
