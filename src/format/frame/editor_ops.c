/*
 * The editor of frames, contiguous and sparse, which differ in their store (editor.h): chunks are
 * replaced, added or cut off, and metadata and digests are changed, in the output of a change. Its
 * row is in formats.c.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "format/frame/editor.h"
#include "format/frame/fetch.h"
#include "format/frame/open.h"

/* ---- Opening ---- */

static void editor_close(void *editor)
{
	struct bpk_frame_editor *e = editor;

	bpk_frame_editor_forget(e);
	bpk_frame_close(e->reader);
	if (e->files != NULL)
		e->store->close(e->files);
	free(e);
}

static int open_with(const struct bpk_frame_editor_store *store, const char *path,
		     const struct bpk_editor_options *options, void **editor, struct bpk_err *err)
{
	struct bpk_frame_editor *e = bpk_calloc(1, sizeof *e, err);

	*editor = NULL;
	if (e == NULL)
		return -1;
	e->store = store;
	if (store->open(e, path, &options->edit, err) != 0) {
		editor_close(e);
		return -1;
	}
	*editor = e;
	return 0;
}

static int file_open(const char *path, const struct bpk_editor_options *options, void **editor,
		     struct bpk_err *err)
{
	return open_with(&bpk_frame_editor_file, path, options, editor, err);
}

static int directory_open(const char *path, const struct bpk_editor_options *options, void **editor,
			  struct bpk_err *err)
{
	return open_with(&bpk_frame_editor_directory, path, options, editor, err);
}

static const struct bpk_info *editor_info(const void *editor)
{
	return &((const struct bpk_frame_editor *)editor)->info;
}

static void *editor_reader(void *editor)
{
	return ((struct bpk_frame_editor *)editor)->reader;
}

/* ---- Chunks ---- */

/*
 * For a fixed chunk size with a short chunk before the last ("Chunks"): the length of a special
 * entry would change with the number of chunks, so from here on every chunk records its own size.
 */
static int even_out(struct bpk_frame_editor *e, struct bpk_err *err)
{
	struct bpk_frame_output *out = &e->output;

	bool is_even = e->reader->sizes.regular || e->reader->state.nchunks == 0;

	if (is_even || out->nchunks == 0 || out->header.variable_chunks)
		return 0;
	return bpk_frame_output_vary(out, err);
}

static int begin_chunks(struct bpk_frame_editor *e, struct bpk_err *err)
{
	if (e->reader->array.is_nd && bpk_frame_nd_check(e, err) != 0)
		return -1;
	if (bpk_frame_editor_begin(e, err) != 0)
		return -1;
	e->altered = true;
	return e->reader->array.is_nd ? 0 : even_out(e, err);
}

/* Measure the raw bytes up to chunk number, the last that is kept. */
static int measure(struct bpk_frame_editor *e, uint64_t number, struct bpk_err *err)
{
	struct bpk_frame_output *out = &e->output;
	struct bpk_where where;

	if (e->reader->array.is_nd) {
		out->raw_size = (number + 1) * out->full;
		return 0;
	}
	if (bpk_frame_reader_ops.locate(e->reader, number, &where, err) != 0)
		return -1;
	out->last_size = where.header.raw_size;
	out->raw_size = where.raw_offset + where.header.raw_size;
	return 0;
}

static void cut_all(struct bpk_frame_editor *e)
{
	struct bpk_frame_output *out = &e->output;

	out->raw_size = 0;
	out->header.variable_chunks = false;
	if (e->reader->array.is_nd) {
		/* it is set even without chunks */
		out->header.chunk_size = (int32_t)out->full;
		return;
	}
	out->last_size = 0;
	out->full = e->info.chunks.size;
	out->header.chunk_size = -1;
}

static int drop_entries(struct bpk_frame_output *out, uint64_t nchunks, struct bpk_err *err)
{
	if (bpk_seal_growth_cut(&out->seal, nchunks, err) != 0)
		return -1;
	for (uint64_t i = nchunks; i < out->nchunks; i++) {
		uint64_t entry;

		memcpy(&entry, out->entries.data + i * sizeof entry, sizeof entry);
		out->nstored -= bpk_frame_offset_special(entry) == BPK_SPECIAL_NONE;
	}
	out->nchunks = nchunks;
	out->entries.size = nchunks * sizeof(uint64_t);
	out->digests.size = nchunks * out->checksum->size;
	return 0;
}

static int editor_cut(void *editor, uint64_t nchunks, struct bpk_err *err)
{
	struct bpk_frame_editor *e = editor;

	if (e->altered || nchunks > e->info.chunks.count)
		return bpk_fail(err, BPK_BUG, "cut to %" PRIu64 " of %" PRIu64 " chunks%s", nchunks,
				e->info.chunks.count, e->altered ? " after another change" : "");
	if (begin_chunks(e, err) != 0)
		return -1;
	e->is_cut = true;
	e->kept = nchunks;
	e->altered = nchunks < e->info.chunks.count;
	if (e->reader->array.is_nd && bpk_frame_nd_cut_rows(e, nchunks, &nchunks, err) != 0)
		return -1;
	if (drop_entries(&e->output, nchunks, err) != 0)
		return -1;
	e->output.open_typesize = !e->reader->array.is_nd && e->output.nstored == 0;
	if (!e->altered && nchunks > 0)
		return 0;
	if (nchunks == 0) {
		cut_all(e);
		return 0;
	}
	return measure(e, nchunks - 1, err);
}

/* A chunk can only be replaced by one of the same raw size. */
static int check_size(struct bpk_frame_editor *e, const struct bpk_parcel *parcel,
		      struct bpk_err *err)
{
	struct bpk_frame_found found;
	uint64_t size;

	if (parcel->number >= e->info.chunks.count)
		return bpk_fail(err, BPK_BUG, "chunk %" PRIu64 " of %" PRIu64, parcel->number,
				e->info.chunks.count);
	size = bpk_frame_chunk_size(e->reader, parcel->number);
	if (size == BPK_UNKNOWN) {
		if (bpk_frame_look(e->reader, parcel->number, &found, err) != 0)
			return -1;
		size = found.header.raw_size;
	}
	if (parcel->raw_size != size)
		return bpk_fail(err, BPK_BUG, "chunk %" PRIu64 " of %zu bytes for one of %" PRIu64,
				parcel->number, parcel->raw_size, size);
	return 0;
}

static int editor_put(void *editor, const struct bpk_parcel *parcel, struct bpk_err *err)
{
	struct bpk_frame_editor *e = editor;

	if (begin_chunks(e, err) != 0)
		return -1;
	e->replaces = e->replaces || !e->is_cut;
	if (e->reader->array.is_nd)
		return bpk_frame_nd_put_band(e, parcel, err);
	if (!e->is_cut)
		return check_size(e, parcel, err) == 0
			       ? bpk_frame_output_replace(&e->output, parcel, err)
			       : -1;
	if (parcel->number != e->output.nchunks)
		return bpk_fail(err, BPK_BUG, "chunk %" PRIu64 " was put, expected %" PRIu64,
				parcel->number, e->output.nchunks);
	return bpk_frame_output_put(&e->output, parcel, err);
}

static bool editor_packs(const void *editor)
{
	return ((const struct bpk_frame_editor *)editor)->reader->array.is_nd;
}

static int editor_seal(const void *editor, struct bpk_parcel *parcel, struct bpk_err *err)
{
	const struct bpk_frame_editor *e = editor;

	return e->reader->array.is_nd ? bpk_frame_nd_seal(e->info.chunks.checksum, parcel, err)
				      : bpk_parcel_seal(e->info.chunks.checksum, parcel, err);
}

/* ---- Metadata and digests ---- */

/* Begin a change that affects neither chunks nor rows. */
static int begin_others(struct bpk_frame_editor *e, struct bpk_err *err)
{
	const struct bpk_frame_output *out = &e->output;

	if (bpk_frame_editor_begin(e, err) != 0)
		return -1;
	return out->nchunks == bpk_frame_count(&out->header) ? 0 : even_out(e, err);
}

static int editor_reseal(void *editor, bool *needed, struct bpk_err *err)
{
	struct bpk_frame_editor *e = editor;
	const struct bpk_frame_state *state = &e->reader->state;

	*needed = state->stale || state->stale_header;
	if (!*needed)
		return bpk_frame_check_parts(e->reader, err);
	e->reseals = true;
	e->altered = begin_others(e, err) == 0;
	return e->altered ? 0 : -1;
}

static int parse(struct bpk_frame_editor *e, struct bpk_view text, struct bpk_frame_layers *fixed,
		 struct bpk_frame_layers *layers, struct bpk_err *err)
{
	static const char nothing[] = "{}";

	if (text.size == 0)
		text = bpk_view(nothing, sizeof nothing - 1);
	if (bpk_frame_layers_copy(&e->output.header.fixed, fixed, err) != 0 ||
	    bpk_frame_layers_copy(&e->output.layers, layers, err) != 0)
		return -1;
	return bpk_frame_layers_parse(text, fixed, layers, err);
}

static void exchange(struct bpk_frame_layers *a, struct bpk_frame_layers *b)
{
	struct bpk_frame_layers kept = *a;

	*a = *b;
	*b = kept;
}

static int editor_set_metadata(void *editor, struct bpk_view text, struct bpk_err *err)
{
	struct bpk_frame_editor *e = editor;
	struct bpk_frame_layers fixed = { 0 }, layers = { 0 };
	struct bpk_frame_output *out = &e->output;
	int rc = begin_others(e, err);

	if (rc == 0)
		rc = parse(e, text, &fixed, &layers, err);
	if (rc == 0) {
		exchange(&fixed, &out->header.fixed);
		exchange(&layers, &out->layers);
		e->altered = true;
	}
	bpk_frame_layers_clear(&fixed);
	bpk_frame_layers_clear(&layers);
	return rc;
}

/* ---- The operations ---- */

static int editor_commit(void *editor, struct bpk_err *err)
{
	struct bpk_frame_editor *e = editor;

	return e->store->commit(e, err);
}

static int editor_compact(void *editor, struct bpk_err *err)
{
	struct bpk_frame_editor *e = editor;

	e->compacts = true;
	return e->store->commit(e, err);
}

static const struct bpk_writer_ops appender = {
	.packs = editor_packs,
	.pack = bpk_frame_nd_pack_band,
	.seal = editor_seal,
	.put = editor_put,
};

const struct bpk_editor_ops bpk_frame_editor_ops = {
	.open = file_open,
	.info = editor_info,
	.reader = editor_reader,
	.reads = &bpk_frame_reader_ops,
	.cut = editor_cut,
	.appender = &appender,
	.set_metadata = editor_set_metadata,
	.reseal = editor_reseal,
	.commit = editor_commit,
	.compact = editor_compact,
	.close = editor_close,
};

const struct bpk_editor_ops bpk_frame_sparse_editor_ops = {
	.open = directory_open,
	.info = editor_info,
	.reader = editor_reader,
	.reads = &bpk_frame_reader_ops,
	.cut = editor_cut,
	.appender = &appender,
	.set_metadata = editor_set_metadata,
	.reseal = editor_reseal,
	.commit = editor_commit,
	.close = editor_close,
};
