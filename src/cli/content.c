#include "cli/content.h"

#include <inttypes.h>

#include "cli/nearest.h"
#include "cli/report.h"
#include "cli/slice.h"

/* ---- Opening ---- */

int bpk_input_open_any(struct bpk_input *in, const char *path, const struct bpk_shared *shared,
		       struct bpk_err *err)
{
	if (bpk_input_find(in, path, shared, err) != 0)
		return -1;
	if (in->format == NULL && !in->place.is_directory && bpk_format_of_suffix(path) == NULL &&
	    bpk_source_seekable(in->place.source))
		in->format = &bpk_format_raw;
	return bpk_input_start(in, shared, shared->chunk_limit, err);
}

/* Where bytes cannot be looked up nothing is to be found; and an array in chunks of several
 * dimensions is an array, and no file. */
static bool can_look(const struct bpk_input *in)
{
	return bpk_input_can_locate(in) && in->info->chunk_shape == NULL &&
	       in->info->raw_size != BPK_UNKNOWN && in->format->reader->positional(in->reader);
}

/* What a layout reads is tables, of which it keeps about as much again. */
static int read_table(struct bpk_content *content, uint64_t offset, struct bpk_span out,
		      size_t *got, struct bpk_err *err)
{
	int rc;

	if (content->tables_left < out.size)
		return bpk_fail(
			err, BPK_LIMIT,
			"the tables of the arrays inside are larger than such an archive is "
			"worth; --memory-limit allows more");
	content->limits.left = content->unpacked_left;
	rc = bpk_source_read_at(content->view, offset, out, got, err);
	if (content->tables_left != BPK_UNKNOWN)
		content->tables_left -= out.size;
	content->unpacked_left = content->limits.left;
	content->limits.left = BPK_UNKNOWN;
	return rc;
}

/* What a layout takes for a file that it cannot follow may be an archive that is damaged. */
static int read_view(void *arg, uint64_t offset, struct bpk_span out, size_t *got,
		     struct bpk_err *err)
{
	struct bpk_content *content = arg;
	struct bpk_err found = { 0 };

	if (read_table(content, offset, out, got, &found) == 0)
		return 0;
	if (content->damage.kind == BPK_OK)
		content->damage = found;
	if (err != NULL)
		*err = found;
	return -1;
}

/* bytes and times what the archive has, at most limit */
static uint64_t worth(const struct bpk_input *in, uint64_t bytes, uint64_t times, uint64_t limit)
{
	uint64_t size = bpk_input_weight(in), most;

	if (!bpk_mul_u64(size, times, &most) || !bpk_add_u64(most, bytes, &most))
		most = BPK_UNKNOWN;
	return limit == 0 ? most : bpk_min_u64(most, limit);
}

/*
 * What looking inside may cost. Tables pack well, and are still a small part of what they tell of:
 * no archive of a real trajectory came near these bounds. A limit that the user gave stands
 * instead.
 */
static void set_limits(const struct bpk_shared *shared, struct bpk_content *content)
{
	enum {
		MEMORY = 24 << 20,
		MEMORY_TIMES = 512,
		TABLES = 2 << 20, /* of which a layout makes up to 22 times in memory (GSD) */
		TABLES_TIMES = 64,
		UNPACKED = 256 << 20,
		UNPACKED_TIMES = 4096,
		FOR_MEMORY = 3,
		FOR_TABLES = 8
	};
	uint64_t limit = shared->memory_limit;

	content->limits =
		(struct bpk_view_limits){ .memory = limit / FOR_MEMORY, .left = BPK_UNKNOWN };
	content->tables_left = limit == 0 ? BPK_UNKNOWN : limit / FOR_TABLES;
	content->unpacked_left = BPK_UNKNOWN;
	if (shared->memory_given)
		return;
	content->limits.memory = worth(content->in, MEMORY, MEMORY_TIMES, limit / FOR_MEMORY);
	content->tables_left = worth(content->in, TABLES, TABLES_TIMES, limit / FOR_TABLES);
	content->unpacked_left = worth(content->in, UNPACKED, UNPACKED_TIMES, 0);
}

static int open_view(const struct bpk_input *in, const struct bpk_shared *shared,
		     struct bpk_content *content, struct bpk_err *err)
{
	static const struct bpk_source_ops ops = { .read_at = read_view, .positional = true };
	enum { SLOTS = 8 };

	set_limits(shared, content);
	if (bpk_view_open_within(in->format->reader, in->reader, shared->no_check, SLOTS,
				 &content->limits, &content->view, err) != 0)
		return -1;
	return bpk_source_of(&ops, content, bpk_source_size(content->view), &content->source, err);
}

/* No writer of ours changes a raw file while its tables are read; a view holds for itself. */
static int open_layout(struct bpk_content *content, struct bpk_err *err)
{
	int rc;

	if (bpk_source_hold(content->source, err) != 0)
		return -1;
	rc = bpk_layout_open(content->source, &content->layout, err);
	bpk_source_release(content->source);
	if (rc != 0)
		return -1;
	if (content->damage.kind == BPK_OK)
		return 0;
	return bpk_fail(err, content->damage.kind, "%s", content->damage.text);
}

int bpk_content_open(const struct bpk_input *in, const struct bpk_shared *shared,
		     struct bpk_content *content, struct bpk_err *err)
{
	int rc = 0;

	*content = (struct bpk_content){ .in = in, .source = in->place.source };
	clock_gettime(CLOCK_REALTIME, &content->watch.opened);
	if (in->format != &bpk_format_raw) {
		if (!can_look(in))
			return 0;
		content->source = NULL;
		rc = open_view(in, shared, content, err);
	}
	if (rc == 0)
		rc = open_layout(content, err);
	if (rc == 0 && content->view == NULL)
		rc = bpk_content_watch(content, err);
	if (rc == 0)
		return 0;
	bpk_content_close(content);
	return bpk_input_subject(in, err);
}

void bpk_content_close(struct bpk_content *content)
{
	bpk_layout_close(content->layout);
	if (content->in != NULL && content->source != content->in->place.source)
		bpk_source_close(content->source);
	bpk_source_close(content->view);
	bpk_buf_clear(&content->watch.reads);
	*content = (struct bpk_content){ 0 };
}

/* ---- Picking ---- */

/* Frames that hold nothing may be claimed by the million, and cost nothing in the file. */
enum { MOST_EMPTY = 1 << 24 };

int bpk_pick_check(const struct bpk_pick *pick, const char *other, struct bpk_err *err)
{
	if (pick->name == NULL && (pick->frames.given || pick->no_defaults))
		return bpk_fail(err, BPK_USAGE, "%s needs --name",
				pick->frames.given ? "--frames" : "--no-defaults");
	if (pick->name != NULL && other != NULL)
		return bpk_fail(err, BPK_USAGE, "only one of --name and %s makes sense", other);
	return 0;
}

/* Why no arrays are known, of what is said where that is not it. */
static int fail_unseen(const struct bpk_content *content, const char *said, struct bpk_err *err)
{
	const struct bpk_place *place = &content->in->place;

	if (!place->is_directory && !bpk_source_seekable(place->source))
		return bpk_fail(err, BPK_FAILED,
				"comes through a pipe, where arrays cannot be looked up");
	return bpk_fail(err, BPK_UNSUPPORTED, "%s", said);
}

struct picking {
	const struct bpk_content *content;
	const struct bpk_pick *pick;
	uint64_t start, stop; /* frames */
	int (*visit)(void *arg, const struct bpk_item *item, struct bpk_err *err);
	void *arg;
	uint64_t found;
};

/* A pickle runs programs when it is read, so nobody gets it for an array. */
static int check_item(const struct bpk_item *item, struct bpk_err *err)
{
	if (!item->pickled)
		return 0;
	return bpk_fail(err, BPK_FAILED,
			"'%s' holds Python objects as a pickle, which is no array; unpack or cat "
			"without --name gives the whole file",
			item->name);
}

static int visit_item(const struct picking *p, const struct bpk_item *item, struct bpk_err *err)
{
	return check_item(item, err) == 0 ? p->visit(p->arg, item, err) : -1;
}

static int resolve_frames(struct picking *p, struct bpk_err *err)
{
	uint64_t nframes = bpk_layout_info(p->content->layout)->nframes;

	if (!p->pick->frames.given) {
		p->stop = nframes == BPK_UNKNOWN ? 0 : nframes;
		return 0;
	}
	if (nframes == BPK_UNKNOWN)
		return bpk_fail(err, BPK_FAILED, "knows no frames");
	return bpk_range_resolve(&p->pick->frames, nframes, &p->start, &p->stop, err);
}

/* Each array of the file that bears the name: a frame that has none costs nothing. */
static int visit_stored(struct picking *p, struct bpk_err *err)
{
	struct bpk_layout *layout = p->content->layout;
	struct bpk_item item;
	int rc = 0;

	for (uint64_t i = 0; rc == 0 && i < bpk_layout_info(layout)->narrays; i++) {
		if (bpk_layout_get(layout, i, &item, err) != 0)
			return -1;
		if (strcmp(item.name, p->pick->name) != 0 || item.frame == BPK_UNKNOWN ||
		    item.frame < p->start || item.frame >= p->stop)
			continue;
		/* what marks the array is tested */
		rc = bpk_layout_find(layout, p->pick->name, item.frame, false, &item, err);
		if (rc == 0) {
			p->found++;
			rc = visit_item(p, &item, err);
		}
	}
	return rc;
}

static int fail_frame(const struct picking *p, uint64_t frame, struct bpk_err *err)
{
	return bpk_fail(err, BPK_FAILED,
			"frame %" PRIu64 " has no array '%s', --no-defaults leaves such frames out",
			frame, p->pick->name);
}

static int visit_frames(struct picking *p, struct bpk_err *err)
{
	uint64_t most = bpk_layout_info(p->content->layout)->narrays + MOST_EMPTY;
	struct bpk_item item;
	int rc = 0;

	if (p->stop - bpk_min_u64(p->start, p->stop) > most)
		return bpk_fail(err, BPK_LIMIT,
				"claims %" PRIu64 " frames, nearly all without an array; name "
				"some with --frames, or give --no-defaults",
				p->stop - p->start);
	for (uint64_t frame = p->start; rc == 0 && frame < p->stop; frame++) {
		rc = bpk_layout_find(p->content->layout, p->pick->name, frame, true, &item, err);
		if (rc == 1 && p->found == 0 && frame == p->start)
			return 0; /* most likely there is none anywhere */
		if (rc == 1)
			return fail_frame(p, frame, err);
		if (rc != 0)
			return -1;
		item.frame = frame; /* also of an array that all frames share */
		p->found++;
		rc = visit_item(p, &item, err);
	}
	return rc;
}

static int fail_unknown(const struct picking *p, uint64_t nearest, struct bpk_err *err)
{
	struct bpk_item item;

	if (nearest == BPK_UNKNOWN)
		return bpk_fail(err, BPK_FAILED, "has no array '%s'", p->pick->name);
	if (bpk_layout_get(p->content->layout, nearest, &item, err) != 0)
		return -1;
	return bpk_fail(err, BPK_FAILED, "has no array '%s', did you mean '%s'?", p->pick->name,
			item.name);
}

/* Nothing was found: say whether it is the name, the frames or the first one of them. */
static int fail_absent(const struct picking *p, struct bpk_err *err)
{
	enum { MOST_OFFERED = 1 << 12 }; /* files repeat their names in each frame */
	uint64_t narrays = bpk_layout_info(p->content->layout)->narrays, best = BPK_UNKNOWN;
	struct bpk_nearest nearest = { .word = p->pick->name };
	bool known = p->pick->frames.given && p->start >= p->stop;
	struct bpk_item item;

	for (uint64_t i = 0; i < narrays; i++) {
		if (bpk_layout_get(p->content->layout, i, &item, err) != 0)
			return -1;
		if (strcmp(item.name, p->pick->name) == 0) {
			if (item.frame >= p->start && item.frame < p->stop)
				return fail_frame(p, p->start, err);
			known = true;
		} else if (i < MOST_OFFERED) {
			/* names are gone with the next call: only whether this one wins is asked */
			nearest.best = best == BPK_UNKNOWN ? NULL : "";
			bpk_nearest_offer(&nearest, item.name);
			if (nearest.best == item.name)
				best = i;
		}
	}
	if (known)
		return bpk_fail(err, BPK_FAILED, "has no array '%s' in these frames",
				p->pick->name);
	return fail_unknown(p, best, err);
}

static int pick_each(struct picking *p, struct bpk_err *err)
{
	struct bpk_item item;
	int rc;

	if (p->content->layout == NULL)
		return fail_unseen(p->content, "holds no arrays that bpk knows by name", err);
	if (resolve_frames(p, err) != 0)
		return -1;
	if (!p->pick->frames.given) {
		rc = bpk_layout_find(p->content->layout, p->pick->name, BPK_UNKNOWN, false, &item,
				     err);
		if (rc == 0)
			return visit_item(p, &item, err);
		if (rc < 0)
			return -1;
	}
	rc = (p->pick->no_defaults ? visit_stored : visit_frames)(p, err);
	return rc == 0 && p->found == 0 ? fail_absent(p, err) : rc;
}

int bpk_pick_each(const struct bpk_content *content, const struct bpk_pick *pick,
		  int (*visit)(void *arg, const struct bpk_item *item, struct bpk_err *err),
		  void *arg, struct bpk_err *err)
{
	struct picking p = { .content = content, .pick = pick, .visit = visit, .arg = arg };
	int rc = pick_each(&p, err);

	return rc < 0 ? bpk_input_subject(content->in, err) : rc;
}

int bpk_content_only(const struct bpk_content *content, struct bpk_item *item, struct bpk_err *err)
{
	uint64_t narrays = content->layout == NULL ? 0 : bpk_layout_info(content->layout)->narrays;
	int rc;

	if (narrays == 1)
		rc = bpk_layout_get(content->layout, 0, item, err) == 0 ? check_item(item, err)
									: -1;
	else if (narrays == 0)
		rc = fail_unseen(content, "is no array, --slice makes no sense", err);
	else
		rc = bpk_fail(err, BPK_FAILED,
			      "holds %" PRIu64 " arrays, --slice needs the --name of one", narrays);
	return rc == 0 ? 0 : bpk_input_subject(content->in, err);
}

/* ---- Copying ---- */

enum { STEP = 1 << 20 };

/* A step's worth of the bytes that stand for an array which is not there. */
static int make_fill(struct bpk_view fill, uint64_t size, struct bpk_buf *out, struct bpk_err *err)
{
	uint64_t wanted = bpk_min_u64(size, STEP - STEP % fill.size + fill.size);

	for (uint64_t done = 0; done < wanted; done += fill.size)
		if (bpk_buf_append(out, fill, err) != 0)
			return -1;
	return 0;
}

static int copy_fill(const struct bpk_item *item, struct bpk_draft *draft, struct bpk_buf *buf,
		     struct bpk_err *err)
{
	uint64_t left = item->array->size;

	if (left == 0)
		return 0;
	if (make_fill(item->fill, left, buf, err) != 0)
		return -1;
	while (left > 0) {
		size_t size = (size_t)bpk_min_u64(left, buf->size);

		if (bpk_draft_write(draft, bpk_view(buf->data, size), err) != 0)
			return -1;
		left -= size;
	}
	return 0;
}

static int copy_stored(const struct bpk_content *content, const struct bpk_item *item,
		       struct bpk_draft *draft, struct bpk_buf *buf, struct bpk_err *err)
{
	uint64_t offset = item->offset, left = item->array->size;

	while (left > 0) {
		size_t size = (size_t)bpk_min_u64(left, STEP);

		if (bpk_buf_resize(buf, size, err) != 0 ||
		    bpk_source_need_at(content->view, offset, bpk_span(buf->data, size), err) !=
			    0 ||
		    bpk_draft_write(draft, bpk_buf_view(buf), err) != 0)
			return -1;
		offset += size;
		left -= size;
	}
	return 0;
}

int bpk_content_copy(const struct bpk_content *content, const struct bpk_item *item,
		     struct bpk_draft *draft, struct bpk_err *err)
{
	struct bpk_buf buf = { 0 };
	int rc;

	if (item->offset == BPK_UNKNOWN)
		rc = copy_fill(item, draft, &buf, err);
	else
		rc = copy_stored(content, item, draft, &buf, err);
	bpk_buf_clear(&buf);
	return rc;
}

/* ---- Copying a part ---- */

static int read_fill(void *arg, uint64_t offset, struct bpk_span out, size_t *got,
		     struct bpk_err *err)
{
	const struct bpk_item *item = arg;

	(void)err;
	for (*got = 0; *got < out.size; ++*got)
		out.data[*got] = item->fill.data[(offset + *got) % item->fill.size];
	return 0;
}

/* Of bytes that stand for an array which is not there. */
static int slice_fill(const struct bpk_item *item, const struct bpk_slice *slice,
		      struct bpk_draft *draft, struct bpk_err *err)
{
	static const struct bpk_source_ops ops = { .read_at = read_fill, .positional = true };
	struct bpk_item own = *item;
	struct bpk_source *source;
	int rc;

	if (bpk_source_of(&ops, &own, item->array->size, &source, err) != 0)
		return -1;
	rc = bpk_slice_copy(source, 0, item->array, slice, draft, err);
	bpk_source_close(source);
	return rc;
}

int bpk_content_copy_slice(const struct bpk_content *content, const struct bpk_item *item,
			   const struct bpk_opt_slice *wanted, struct bpk_draft *draft,
			   struct bpk_err *err)
{
	struct bpk_slice slice;

	if (bpk_slice_resolve(wanted, item->array, &slice, err) != 0)
		return -1;
	if (item->offset == BPK_UNKNOWN)
		return slice_fill(item, &slice, draft, err);
	return bpk_slice_copy(content->view, item->offset, item->array, &slice, draft, err);
}
