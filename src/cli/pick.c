/* The arrays that the user picks by name and frame. Called by cat and unpack. */
#include <inttypes.h>
#include <stdio.h>

#include "cli/content.h"
#include "cli/nearest.h"
#include "cli/report.h"

int bpk_content_look(const struct bpk_input *in, const struct bpk_shared *shared,
		     struct bpk_content *content, struct bpk_err *err)
{
	const struct bpk_content_options options = {
		.no_check = shared->no_check,
		.limits = bpk_shared_limits(shared),
	};

	return bpk_content_open(in, &options, content, err);
}

void bpk_content_note_damage(const struct bpk_content *content)
{
	const char *damage =
		content->layout != NULL ? bpk_layout_info(content->layout)->damage : NULL;

	if (damage != NULL)
		bpk_note(bpk_input_name(content->in->path), "%s", damage);
}

/* Empty frames cost nothing in the file: no more than this many are looked through. */
enum { MOST_EMPTY = 1 << 24 };

int bpk_pick_check(const struct bpk_pick *pick, const char *other, struct bpk_err *err)
{
	if (pick->name == NULL && (pick->frames.given || pick->no_defaults))
		return bpk_fail(err, BPK_USAGE, "%s needs --name",
				pick->frames.given ? "--frames" : "--no-defaults");
	if (pick->name != NULL && other != NULL)
		return bpk_fail(err, BPK_USAGE, "only one of --name and %s can be given", other);
	return 0;
}

/* Report that no arrays are known: because of the pipe, or else as said. */
static int fail_unseen(const struct bpk_content *content, const char *said, struct bpk_err *err)
{
	const struct bpk_place *place = &content->in->place;

	if (!place->is_directory && !bpk_source_seekable(place->source))
		return bpk_fail(err, BPK_FAILED,
				"comes through a pipe, where arrays cannot be looked up");
	bpk_fail(err, BPK_UNSUPPORTED, "%s", said);
	if (err != NULL && content->in->format == &bpk_format_raw && place->source != NULL)
		bpk_foreign_name(place->source, true, err);
	return -1;
}

struct picking {
	const struct bpk_content *content;
	const struct bpk_pick *pick;
	uint64_t start, stop, step; /* frames */
	int (*visit)(void *arg, const struct bpk_item *item, struct bpk_err *err);
	void *arg;
	uint64_t found;
};

/* Reading a pickle runs programs, so it is not handed out as an array. */
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
		return bpk_fail(err, BPK_FAILED, "has no frames");
	return bpk_part_resolve(&p->pick->frames, "frames", nframes, &p->start, &p->stop, err);
}

/* Visit the stored arrays of that name: a frame without one costs nothing. */
static int visit_stored(struct picking *p, struct bpk_err *err)
{
	struct bpk_layout *layout = p->content->layout;
	struct bpk_item item;
	int rc = 0;

	for (uint64_t i = 0; rc == 0 && i < bpk_layout_info(layout)->narrays; i++) {
		if (bpk_layout_get(layout, i, &item, err) != 0)
			return -1;
		if (strcmp(item.name, p->pick->name) != 0 || item.frame == BPK_UNKNOWN ||
		    item.frame < p->start || item.frame >= p->stop ||
		    (item.frame - p->start) % p->step != 0)
			continue;
		/* tests the marks of the array */
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

	if ((p->stop - bpk_min_u64(p->start, p->stop)) / p->step > most)
		return bpk_fail(err, BPK_LIMIT,
				"claims %" PRIu64 " frames, nearly all without an array; name "
				"some with --frames, or give --no-defaults",
				p->stop - p->start);
	for (uint64_t frame = p->start; rc == 0 && frame < p->stop;
	     frame += bpk_min_u64(p->step, p->stop - frame)) {
		rc = bpk_layout_find(p->content->layout, p->pick->name, frame, true, &item, err);
		if (rc == 1 && p->found == 0 && frame == p->start)
			return 0; /* the name is probably unknown */
		if (rc == 1)
			return fail_frame(p, frame, err);
		if (rc != 0)
			return -1;
		item.frame = frame; /* also for an array that all frames share */
		p->found++;
		rc = visit_item(p, &item, err);
	}
	return rc;
}

/* No array has a name like it: name the first ones. */
static int fail_unlike(const struct picking *p, struct bpk_err *err)
{
	enum { MOST_NAMED = 8 };
	struct bpk_content_names names = { 0 };
	struct bpk_buf list = { 0 };
	int rc = bpk_content_names_fill(p->content, false, &names, err);

	for (size_t i = 0; rc == 0 && i < names.count && i < MOST_NAMED; i++)
		rc = bpk_buf_printf(&list, err, "%s%.60s", i > 0 ? ", " : "", names.rows[i]->name);
	if (rc == 0 && names.count > MOST_NAMED)
		rc = bpk_buf_printf(&list, err, " and others");
	if (rc == 0)
		rc = bpk_fail(err, BPK_FAILED, "has no array '%s'; it has %.*s", p->pick->name,
			      names.count > 0 ? (int)list.size : 4,
			      names.count > 0 ? (const char *)list.data : "none");
	bpk_buf_clear(&list);
	bpk_content_names_clear(&names);
	return rc;
}

static int fail_unknown(const struct picking *p, uint64_t nearest, struct bpk_err *err)
{
	struct bpk_item item;

	if (nearest == BPK_UNKNOWN)
		return fail_unlike(p, err);
	if (bpk_layout_get(p->content->layout, nearest, &item, err) != 0)
		return -1;
	return bpk_fail(err, BPK_FAILED, "has no array '%s', did you mean '%s'?", p->pick->name,
			item.name);
}

static int fail_frames(const struct picking *p, struct bpk_err *err)
{
	uint64_t nframes = bpk_layout_info(p->content->layout)->nframes;

	if (nframes == BPK_UNKNOWN)
		return bpk_fail(err, BPK_FAILED, "has no array '%s' in these frames",
				p->pick->name);
	return bpk_fail(err, BPK_FAILED, "has no array '%s' in these frames; it has %" PRIu64 " %s",
			p->pick->name, nframes, bpk_plural(nframes, "frame", "frames"));
}

/* Offer a name to nearest; true if it is the best so far. Names of one folder, or with one last
 * part, are compared by their last parts: a long folder would make all its names alike. */
static bool offer(struct bpk_nearest *nearest, const char *wanted, const char *name)
{
	const char *ends[2] = { strrchr(wanted, '/'), strrchr(name, '/') };
	const char *last = ends[0] == NULL ? wanted : ends[0] + 1;
	const char *part = ends[1] == NULL ? name : ends[1] + 1;
	bool one_folder =
		part - name == last - wanted && strncmp(wanted, name, (size_t)(part - name)) == 0;
	bool by_part = one_folder || strcmp(last, part) == 0;
	const char *offered = by_part ? part : name;

	nearest->word = by_part ? last : wanted;
	bpk_nearest_offer(nearest, offered);
	return nearest->best == offered;
}

/* Report why nothing was found: an unknown name, no such frames, or a frame without the array. */
static int fail_absent(const struct picking *p, struct bpk_err *err)
{
	enum { MOST_OFFERED = 1 << 12 }; /* names: files repeat them in each frame */
	uint64_t narrays = bpk_layout_info(p->content->layout)->narrays, best = BPK_UNKNOWN;
	struct bpk_nearest nearest = { 0 };
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
			/* the next call overwrites the name: remember its number */
			nearest.best = best == BPK_UNKNOWN ? NULL : "";
			if (offer(&nearest, p->pick->name, item.name))
				best = i;
		}
	}
	if (known)
		return fail_frames(p, err);
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
	struct picking p = { .content = content,
			     .pick = pick,
			     .step = bpk_max_u64(1, pick->frames.step),
			     .visit = visit,
			     .arg = arg };
	int rc = pick_each(&p, err);

	return rc < 0 ? bpk_input_subject(content->in, err) : rc;
}

int bpk_content_only(const struct bpk_content *content, const char *option, struct bpk_item *item,
		     struct bpk_err *err)
{
	char said[128];
	uint64_t narrays = content->layout == NULL ? 0 : bpk_layout_info(content->layout)->narrays;
	int rc;

	snprintf(said, sizeof said,
		 "is not an array, as %s needs it; bpk pack --dtype records the type of data",
		 option);
	if (narrays == 1)
		rc = bpk_layout_get(content->layout, 0, item, err) == 0 ? check_item(item, err)
									: -1;
	else if (narrays == 0)
		rc = fail_unseen(content, said, err);
	else
		rc = bpk_fail(err, BPK_FAILED,
			      "holds %" PRIu64
			      " arrays, %s needs the --name of one; bpk ls lists them",
			      narrays, option);
	return rc == 0 ? 0 : bpk_input_subject(content->in, err);
}
