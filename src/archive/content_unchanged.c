/*
 * One generation of a raw file that other programs write: when a command ends, and the file has
 * changed, its arrays are looked up once more, and the bytes that were read of them are read again.
 * Called by content.c, cat, info and unpack.
 */
#include <stdlib.h>
#include <sys/stat.h>

#include "archive/content.h"

enum { MOST_READS = 1 << 20 }; /* that are remembered, of 24 bytes each */

struct read {
	uint64_t offset, size, hash;
};

static uint64_t hash_read(struct bpk_view bytes)
{
	return bpk_hash_words(BPK_HASH_START, bytes);
}

static int add_note(struct bpk_content_watch *watch, const struct read *note, struct bpk_err *err)
{
	int rc = 0;

	bpk_mutex_lock(&watch->lock);
	if (watch->reads.size / sizeof *note < MOST_READS)
		rc = bpk_buf_append(&watch->reads, bpk_view(note, sizeof *note), err);
	else
		watch->lost = true;
	bpk_mutex_unlock(&watch->lock);
	return rc;
}

static int read_and_note(void *arg, uint64_t offset, struct bpk_span out, size_t *got,
			 struct bpk_err *err)
{
	struct bpk_content *content = arg;
	struct read note = { .offset = offset };

	if (bpk_source_read_at(content->source, offset, out, got, err) != 0)
		return -1;
	note.size = *got;
	note.hash = hash_read(bpk_view(out.data, *got));
	return add_note(&content->watch, &note, err);
}

int bpk_content_watch(struct bpk_content *content, struct bpk_err *err)
{
	static const struct bpk_source_ops ops = { .read_at = read_and_note, .positional = true };

	bpk_mutex_init(&content->watch.lock);
	content->watch.started = true;
	return bpk_source_of(&ops, content, bpk_source_size(content->source), &content->view, err);
}

/* ---- The same arrays? ---- */

static int hash_item(struct bpk_layout *layout, uint64_t number, uint64_t *hash,
		     struct bpk_err *err)
{
	struct bpk_buf text = { 0 };
	struct bpk_item item;
	int rc = bpk_layout_get(layout, number, &item, err);

	if (rc == 0)
		rc = bpk_dtype_print(&item.array->dtype, &text, err);
	if (rc == 0) {
		const uint64_t facts[] = { item.frame, item.step, item.offset, item.array->fortran,
					   item.array->ndimensions };

		*hash = bpk_hash(bpk_hash_text(BPK_HASH_START, item.name), bpk_buf_view(&text));
		*hash = bpk_hash(*hash, bpk_view(facts, sizeof facts));
		*hash = bpk_hash(*hash, bpk_view(item.array->shape,
						 item.array->ndimensions * sizeof(uint64_t)));
	}
	bpk_buf_clear(&text);
	return rc;
}

/* Arrays added behind them do not count as a difference. */
static bool same_items(struct bpk_layout *old, struct bpk_layout *now)
{
	uint64_t count = bpk_layout_info(old)->narrays, a, b;

	if (bpk_layout_info(now)->narrays < count)
		return false;
	for (uint64_t i = 0; i < count; i++)
		if (hash_item(old, i, &a, NULL) != 0 || hash_item(now, i, &b, NULL) != 0 || a != b)
			return false;
	return true;
}

static bool same_arrays(const struct bpk_content *content)
{
	struct bpk_layout *now = NULL;
	bool same = false;

	/* the size is printed with the arrays; holding a source brings it up to date */
	if (bpk_source_size(content->view) != content->in->info->raw_size ||
	    bpk_source_hold(content->source, NULL) != 0)
		return false;
	if (bpk_layout_open(content->source, &now, NULL) == 0)
		same = content->layout == NULL || now == NULL ? content->layout == now
							      : same_items(content->layout, now);
	bpk_source_release(content->source);
	bpk_layout_close(now);
	return same;
}

/* ---- The same bytes? ---- */

static bool same_bytes(const struct bpk_content *content)
{
	const struct bpk_content_watch *watch = &content->watch;
	struct bpk_buf buf = { 0 };
	bool same = !watch->lost;
	struct read note;
	size_t got;

	for (size_t at = 0; same && at < watch->reads.size; at += sizeof note) {
		memcpy(&note, watch->reads.data + at, sizeof note);
		same = bpk_buf_resize(&buf, (size_t)note.size, NULL) == 0 &&
		       bpk_source_read_at(content->source, note.offset,
					  bpk_span(buf.data, buf.size), &got, NULL) == 0 &&
		       got == note.size && hash_read(bpk_buf_view(&buf)) == note.hash;
	}
	bpk_buf_clear(&buf);
	return same;
}

/* A success is tested later, by the reader; arrays that are not found may be due to a change. */
static int archive_unchanged(const struct bpk_content *content, int rc, struct bpk_err *err)
{
	struct bpk_err changed = { 0 };

	if (rc != 0 && (err->kind == BPK_FAILED || err->kind == BPK_UNSUPPORTED) &&
	    bpk_input_unchanged(content->in, &changed) != 0)
		*err = changed;
	return rc;
}

int bpk_content_unchanged(const struct bpk_content *content, int rc, struct bpk_err *err)
{
	struct bpk_source *source = content->source;

	if (content->in->format != &bpk_format_raw)
		return archive_unchanged(content, rc, err);
	if (!S_ISREG(bpk_source_stat(source)->st_mode) ||
	    bpk_source_is_untouched(source, &content->watch.opened))
		return rc;
	if (same_arrays(content) && (rc != 0 || same_bytes(content)))
		return rc;
	bpk_fail_changed(err);
	return bpk_input_subject(content->in, err);
}
