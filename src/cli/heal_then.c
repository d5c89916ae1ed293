/* Looks at the state of an archive that its parity file restores, before it is written: the door is
 * heal_side.h. Called by salvage.c. */
#include "cli/heal_side.h"

#include <stdlib.h>

/* The state of then. One thread's own. */
struct then {
	const struct bpk_side *side;
	struct bpk_source *now;        /* the archive; of a directory, all of its files joined */
	struct bpk_draft *spool;       /* restored cells at their offsets */
	struct bpk_parity_files files; /* of a directory, by name */
	const char **names;            /* and their names */
};

/* A file of it, among the bytes that parity covers. */
struct part {
	const struct then *then;
	uint64_t start, size;
};

static int read_part(void *arg, uint64_t offset, struct bpk_span out, size_t *got,
		     struct bpk_err *err)
{
	const struct part *part = arg;
	const struct bpk_side *side = part->then->side;
	uint64_t left = offset < part->size ? part->size - offset : 0, run;

	*got = 0;
	for (left = bpk_min_u64(left, out.size); left > *got;) {
		uint64_t at = part->start + offset + *got;
		bool bad = bpk_parity_is_bad(side->parity, &side->scan, at, &run);
		struct bpk_span piece = bpk_span(out.data + *got, bpk_min_u64(run, left - *got));

		if ((bad ? bpk_draft_read_at(part->then->spool, at, piece, err)
			 : bpk_source_need_at(part->then->now, at, piece, err)) != 0)
			return -1;
		*got += piece.size;
	}
	return 0;
}

static int open_part(const struct then *then, uint64_t start, uint64_t size,
		     struct bpk_source **source, struct bpk_err *err)
{
	static const struct bpk_source_ops ops = { .read_at = read_part,
						   .close = free,
						   .positional = true };
	struct part *part = bpk_calloc(1, sizeof *part, err);

	if (part == NULL)
		return -1;
	*part = (struct part){ then, start, size };
	if (bpk_source_of(&ops, part, size, source, err) == 0)
		return 0;
	free(part);
	return -1;
}

static int open_file(void *arg, size_t number, struct bpk_source **source, struct bpk_err *err)
{
	const struct then *then = arg;
	const struct bpk_parity_file *file = &then->files.files[number];

	return open_part(then, file->start, file->size, source, err);
}

static int open_place(struct then *then, struct bpk_place *place, struct bpk_err *err)
{
	const struct bpk_parity_files *files = bpk_parity_files(then->side->parity);
	struct bpk_dir_files all = { .open = open_file, .arg = then };

	if (files == NULL)
		return open_part(then, 0, bpk_parity_size(then->side->parity), &place->source, err);
	if (bpk_parity_files_sort(files, &then->files, err) != 0)
		return -1;
	then->names = bpk_calloc(then->files.count + 1, sizeof *then->names, err);
	if (then->names == NULL)
		return -1;
	for (size_t i = 0; i < then->files.count; i++)
		then->names[i] = then->files.files[i].name;
	all.names = then->names;
	all.count = then->files.count;
	place->is_directory = true;
	return bpk_dir_of_files(&all, &place->directory, err);
}

static int put_in_spool(void *arg, uint64_t offset, struct bpk_view bytes, struct bpk_err *err)
{
	return bpk_draft_write_at(arg, offset, bytes, err);
}

static int restore(struct then *then, const struct bpk_input *in, const char *name,
		   struct bpk_err *err)
{
	const struct bpk_draft_options options = { .overwrite = true };
	const struct bpk_side *side = then->side;
	const struct bpk_parity_files *files = bpk_parity_files(side->parity);
	int rc = files == NULL ? bpk_source_open(in->path, &then->now, err)
			       : bpk_parity_files_source(in->place.directory, files, true,
							 &then->now, err);

	if (rc != 0 || bpk_draft_open(name, &options, &then->spool, err) != 0 ||
	    bpk_draft_reread(then->spool, err) != 0)
		return -1;
	return bpk_parity_heal(side->parity, then->now, &side->scan, put_in_spool, then->spool,
			       err);
}

/* The chunks of the archive at place; 0: it is not one of that format. */
static uint64_t count_chunks(const struct bpk_format *format, struct bpk_place *place)
{
	const struct bpk_read_options options = { .as_stored = true };
	void *reader;
	uint64_t count;

	if (format->reader->open(place, &options, &reader, NULL) != 0)
		return 0;
	count = format->reader->info(reader)->chunks.count;
	format->reader->close(reader);
	return count == BPK_UNKNOWN ? 0 : count;
}

int bpk_heal_count(const struct bpk_side *side, const struct bpk_input *in,
		   const struct bpk_format *format, const char *output, uint64_t *count,
		   struct bpk_err *err)
{
	struct bpk_place place = { .path = in->path };
	struct then then = { .side = side };
	char *name = bpk_side_beside(output, BPK_PARITY_SUFFIX, err);
	int rc = -1;

	*count = 0;
	if (name != NULL && restore(&then, in, name, err) == 0 &&
	    open_place(&then, &place, err) == 0) {
		*count = count_chunks(format, &place);
		rc = 0;
	} else {
		bpk_err_subject(err, "%s", output);
	}
	bpk_place_close(&place);
	bpk_draft_drop(then.spool);
	bpk_source_close(then.now);
	free(then.files.files);
	free(then.names);
	free(name);
	return rc;
}
