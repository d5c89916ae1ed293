/* Decides whether the chunks of an archive are searched for: it may be whole, or be restored by its
 * parity. Called by repair.c and merge.c. */
#include "cli/salvage.h"

#include "cli/heal.h"
#include "cli/heal_side.h"
#include "cli/report.h"
#include "cli/salvage_job.h"
#include "cli/verify.h"

/* ---- the need ---- */

/* A format whose file the entry of a directory's root is. */
static int visit(void *arg, const char *name, enum bpk_entry entry)
{
	const struct bpk_format **format = arg;

	for (size_t i = 0; bpk_formats[i] != NULL && entry == BPK_ENTRY_FILE; i++)
		if (bpk_formats[i]->owns != NULL && bpk_formats[i]->owns(name))
			*format = bpk_formats[i];
	return *format != NULL;
}

/* The format by the name, or of a directory by its files. */
static const struct bpk_format *guess_format(const struct bpk_input *in)
{
	const struct bpk_format *format = bpk_format_of_suffix(in->path);

	if (!in->place.is_directory || (format != NULL && format->is_directory))
		return format;
	format = NULL;
	(void)bpk_dir_list(in->place.directory, "", visit, &format, NULL);
	return format;
}

bool bpk_salvage_has_leftover(const struct bpk_place *place)
{
	return bpk_place_pending(place) || (place->is_directory && bpk_place_remark(place) != NULL);
}

const struct bpk_format *bpk_salvage_format(const struct bpk_input *in)
{
	const struct bpk_place *place = &in->place;
	const struct bpk_format *format = in->format != NULL ? in->format : guess_format(in);

	if (format == NULL || format->salvage == NULL ||
	    format->is_directory != place->is_directory || bpk_salvage_has_leftover(place))
		return NULL;
	return place->is_directory || bpk_source_seekable(place->source) ? format : NULL;
}

bool bpk_salvage_serves(const struct bpk_input *in)
{
	bool several = in->info->members > 1 && in->info->members != BPK_UNKNOWN;

	return !several && in->info->directory.ncolumns == 0 && strcmp(in->path, "-") != 0 &&
	       !bpk_path_is_url(in->path) && bpk_salvage_format(in) != NULL;
}

const char *bpk_salvage_restorers(const struct bpk_input *in)
{
	return bpk_salvage_serves(in) ? "intact copies (bpk repair --merge) or raw data of that "
					"identity (bpk repair --apply --from) restore it; "
				      : "";
}

enum need {
	WHOLE,
	DAMAGED, /* or unknown */
	UNREAD,  /* it cannot be read */
};

/* Open it; of a file with bytes behind a sealed archive, that archive alone. */
static int start(const struct bpk_shared *shared, struct bpk_input *in, struct bpk_err *err)
{
	if (bpk_input_start(in, shared, shared->chunk_limit, err) != 0 ||
	    bpk_input_leave_rest(in, err) != 0)
		return -1;
	return in->rest > 0 ? bpk_input_start(in, shared, shared->chunk_limit, err) : 0;
}

/* Look at parts of it; of a directory, at files. */
static int look(struct bpk_input *in, struct bpk_err *err)
{
	if (bpk_input_check_damage(in, err) != 0)
		return -1;
	return in->place.is_directory ? bpk_input_check_end(in, err) : 0;
}

/* True if bytes are behind its end, which err says. */
static bool has_tail(const struct bpk_input *in, struct bpk_err *err)
{
	const struct bpk_reader_ops *ops = in->format->reader;

	return ops->tail != NULL && ops->tail(in->reader, err) != 0;
}

/* True if bytes beside it, or behind its end, are settled first. */
static bool has_rest(const struct bpk_input *in)
{
	return bpk_place_remark(&in->place) != NULL || has_tail(in, NULL);
}

/* True if bytes behind the end are all that is wrong. */
static bool is_tail_alone(const struct bpk_input *in, const struct bpk_err *damage)
{
	struct bpk_err tail = { 0 };

	return has_tail(in, &tail) && strstr(damage->text, tail.text) != NULL;
}

/* Read all of it up to the first damaged chunk, and unless it is to be saved look first at what
 * that does not need. */
static enum need need_of(const struct bpk_shared *shared, struct bpk_input *in, bool applies,
			 struct bpk_err *damage)
{
	int rc = start(shared, in, damage);

	if (rc == 0 && in->rest > 0) {
		bpk_fail(damage, BPK_CORRUPT, "more follows behind the end of a sealed archive");
		rc = bpk_input_subject(in, damage);
	}
	if (rc == 0)
		rc = applies ? bpk_side_test(shared, in, damage) : look(in, damage);
	if (rc == 0 && !applies) {
		rc = bpk_side_test(shared, in, damage);
		if (rc != 0 && (damage->kind != BPK_CORRUPT || is_tail_alone(in, damage)))
			return UNREAD;
	}
	if (rc == 0)
		return WHOLE;
	return damage->kind == BPK_CORRUPT || damage->kind == BPK_UNSUPPORTED ? DAMAGED : UNREAD;
}

/* ---- the verdict ---- */

static bool has_losses(const struct bpk_salvage_job *job)
{
	return job->lost > 0 || job->found.nchunks == 0;
}

/* Lost chunks may be in the state of the parity. */
static void name_state(const struct bpk_salvage_job *job, struct bpk_err *err)
{
	struct bpk_err plain = *err;
	char word[BPK_WORD_TEXT];

	if (has_losses(job))
		bpk_fail(err, plain.kind,
			 "%s; bpk repair --apply -o OUT %s writes the state of its parity file",
			 plain.text, bpk_shell_word(job->in.path, word));
}

/* Without a new archive the damage itself counts: parity may restore it, and it is there if no
 * chunks can be searched for. */
static void weigh(const struct bpk_salvage_job *job, struct bpk_err *damage, struct bpk_err *err)
{
	struct bpk_heal_verdict verdict;

	bpk_heal_judge(job->shared, &job->in, -1, &verdict, damage);
	if (damage->kind == BPK_CORRUPT && err->kind == BPK_UNSUPPORTED)
		bpk_note(NULL, "%s", err->text);
	else if (damage->kind != BPK_REPAIRABLE && verdict.other)
		return name_state(job, err);
	else if (damage->kind != BPK_REPAIRABLE)
		return;
	*err = *damage;
}

/* No chunk of it is lost, so that nothing can be saved but what is there. */
static void report_refuted(const struct bpk_input *in, bool by_identity, struct bpk_err *err)
{
	const char *restorers = by_identity ? bpk_salvage_restorers(in) : "";
	struct bpk_err plain = *err;
	char word[BPK_WORD_TEXT];

	if (err->kind == BPK_CORRUPT)
		bpk_fail(err, plain.kind, "%s; %sbpk unpack -o RAW %s writes the content as it is",
			 plain.text, restorers, bpk_shell_word(in->path, word));
	bpk_report(NULL, err);
}

/* The verdict of parity on an archive of which no chunk is damaged. To --apply a stale one tells
 * nothing. */
static int judge_parity(const struct bpk_salvage_job *job, bool applies, int rc,
			struct bpk_err *err)
{
	struct bpk_heal_verdict verdict;

	if (bpk_heal_judge(job->shared, &job->in, rc, &verdict, err) == 0)
		return 0;
	if (!applies || rc != 0 || verdict.heals || err->kind == BPK_CORRUPT)
		return -1;
	*err = (struct bpk_err){ 0 };
	return 0;
}

/* No chunk is damaged. True if the identity that the archive records is of another content, or
 * parity tells of damage, as verify says: that is reported. */
static bool is_refuted(const struct bpk_salvage_job *job, const struct bpk_salvage_how *how)
{
	const struct bpk_input *in = &job->in;
	struct bpk_err err = { 0 };
	bool by_identity;
	int rc;

	if (has_rest(in))
		return false;
	rc = bpk_verify_recorded(job->shared, in, false, &err);
	by_identity = rc != 0;
	if (!how->without_parity)
		rc = judge_parity(job, how->applies, rc, &err);
	if (rc != 0)
		report_refuted(in, by_identity, &err);
	return rc != 0;
}

int bpk_salvage_compare_whole(struct bpk_salvage_job *job, struct bpk_err *err)
{
	if (bpk_salvage_find_chunks(job, err) != 0)
		return -1;
	if (!job->found.counted)
		return 0;
	return bpk_salvage_check_raw(job, err) != 0 ? -1 : bpk_salvage_agree(job, err);
}

/* Nothing is written of a whole archive. */
static void tell_whole(struct bpk_salvage_job *job, const char *path)
{
	struct bpk_err err = { 0 };

	if (job->from != NULL && !has_rest(&job->in) && job->in.info->members <= 1 &&
	    bpk_salvage_compare_whole(job, &err) != 0)
		bpk_report(NULL, &err);
	else
		bpk_heal_tell_whole(job->shared, path);
}

/* *has: it has a parity file, which is one by its head. has_state: of an earlier state, perhaps. */
static int find_side(struct bpk_salvage_job *job, const char *path, bool *has, struct bpk_err *err)
{
	struct bpk_err why = { 0 };
	struct bpk_side *side = &job->side;

	if (bpk_side_open(side, path, has, &why) != 0)
		*has = why.kind != BPK_CORRUPT;
	else if (*has)
		job->has_state =
			bpk_parity_files(side->parity) != NULL || bpk_heal_seems_other(side, path);
	return bpk_err_pass_memory(&why, err);
}

/* True if its parity, to which the damaged archive is compared, lacks later changes. */
static bool lacks_changes(struct bpk_salvage_job *job)
{
	const char *path = job->in.path;

	return bpk_side_compare(&job->side, path, NULL) == 0 &&
	       !bpk_heal_is_damage_alone(&job->side, &job->in) &&
	       !bpk_heal_is_earlier(&job->side, path);
}

/* *opened: it was opened, and its chunks can be searched for. may_heal: not if parity may restore
 * it, of this state. Fails if the machine does. */
static int open_job(struct bpk_salvage_job *job, const char *path, bool may_heal, bool *opened,
		    struct bpk_err *err)
{
	bool heals =
		may_heal && job->fill == BPK_FILL_NONE && job->from == NULL && !job->found.guesses;
	struct bpk_err why = { 0 };
	bool has = false;
	int rc;

	*opened = false;
	if (strcmp(path, "-") == 0 || bpk_path_is_url(path))
		return 0;
	rc = bpk_input_look(&job->in, path, job->shared->format, &why);
	rc = bpk_err_settle(rc, &why, opened, err);
	if (rc == 0 && *opened)
		job->format = bpk_salvage_format(&job->in);
	if (rc == 0 && job->format != NULL && heals)
		rc = find_side(job, path, &has, err);
	*opened = rc == 0 && job->format != NULL && (!has || job->has_state);
	return rc;
}

/* As with unpack --fill: nothing is filled that parity restores, or taken from raw data. err is the
 * damage, or becomes the way to restore it, or the lack of memory to look for one. */
static bool is_healed(struct bpk_salvage_job *job, bool applies, struct bpk_err *err)
{
	struct bpk_err way = *err;
	struct bpk_heal_verdict verdict;

	if (!applies || (job->fill == BPK_FILL_NONE && job->from == NULL))
		return false;
	(void)bpk_heal_judge(job->shared, &job->in, -1, &verdict, &way);
	job->is_judged = !verdict.later && !verdict.other;
	if ((way.kind != BPK_REPAIRABLE || verdict.later) && way.kind != BPK_NO_MEMORY)
		return false;
	*err = way;
	return true;
}

/* An option without an effect is not passed over. */
static int check_guesses(const struct bpk_salvage_job *job, const char *path, struct bpk_err *err)
{
	if (!job->found.guesses || job->format->salvage_guesses)
		return 0;
	bpk_fail(err, BPK_USAGE,
		 "--guess is for Bloscpack files and chunked directories, not for format %s",
		 job->format->name);
	return bpk_err_subject(err, "%s", path);
}

/* Bytes behind the end of a sealed archive, of a file, may be all that is wrong with it. *saved:
 * then the archive alone is written, byte for byte. */
static int save_sealed(struct bpk_salvage_job *job, bool *saved, struct bpk_err *err)
{
	struct bpk_err why = { 0 };

	*saved = false;
	if (job->in.rest == 0)
		return 0;
	if (bpk_side_test(job->shared, &job->in, &why) != 0)
		return bpk_err_pass(&why, err);
	*saved = job->is_whole = true;
	if (bpk_salvage_save(job, err) != 0)
		return -1;
	bpk_salvage_map(job);
	bpk_salvage_tell_rest(&job->in);
	return 0;
}

/* The need of an opened job. A journal that is not used may settle the damage: its choices come
 * first. */
static enum need find_need(struct bpk_salvage_job *job, bool applies, struct bpk_err *damage)
{
	enum need need;

	if (!applies && bpk_place_remark(&job->in.place) != NULL)
		return UNREAD;
	if (applies)
		bpk_input_tell(&job->in, job->shared);
	need = need_of(job->shared, &job->in, applies, damage);
	/* parity that lacks nothing restores it */
	if (job->has_state && (need != DAMAGED || !lacks_changes(job)))
		return UNREAD;
	/* raw data stand for intact chunks that a recorded identity refutes */
	if (need == WHOLE && applies && job->from != NULL && !has_rest(&job->in) &&
	    bpk_verify_recorded(job->shared, &job->in, false, damage) != 0)
		return damage->kind == BPK_CORRUPT ? DAMAGED : UNREAD;
	return need;
}

/* True if chunks are lost, and parity restores the state of then; cells that it cannot restore are
 * printed. */
static bool has_lost_state(const struct bpk_salvage_job *job, const struct bpk_err *damage)
{
	struct bpk_err why = { 0 };

	if (!job->has_state || !has_losses(job))
		return false;
	if (job->side.scan.lost == 0)
		return true;
	(void)bpk_heal_fail_lost(job->shared, &job->side, job->in.path, damage->text, &why);
	return false;
}

/* Search a damaged archive. Returns UNREAD if the state of its parity is to be restored. */
static enum need search(struct bpk_salvage_job *job, bool applies, struct bpk_err *damage)
{
	struct bpk_err err = { 0 };

	if (bpk_salvage_run(job, applies, &err) == 0)
		return DAMAGED;
	if (!applies && bpk_heal_is_moving(&job->in)) {
		bpk_fail_changed(&err);
		bpk_input_subject(&job->in, &err);
	} else if (!applies ||
		   (!job->is_judged && !job->has_state && bpk_salvage_intact(&job->found) == 0)) {
		weigh(job, damage, &err);
	}
	if (has_lost_state(job, damage) || job->yields)
		return UNREAD;
	bpk_report(NULL, &err);
	return DAMAGED;
}

bool bpk_salvage_file(const struct bpk_args *args, const char *path,
		      const struct bpk_salvage_how *how)
{
	struct bpk_salvage_job job = {
		.shared = &args->shared,
		.fill = how->fill,
		.from = how->from,
		.is_judged = how->without_parity,
		.found = { .guesses = how->guesses },
	};
	bool applies = how->applies;
	struct bpk_err damage = { 0 };
	enum need need = UNREAD;
	bool opened, failed, saved = false;

	failed = open_job(&job, path, applies && !how->without_parity, &opened, &damage) != 0 ||
		 (opened && check_guesses(&job, path, &damage) != 0);
	if (opened && !failed)
		need = find_need(&job, applies, &damage);
	/* the next steps would pass a file that could not be read */
	failed = failed ||
		 (opened && need == UNREAD && !job.has_state && bpk_err_is_of_machine(&damage));
	if (!failed && need == DAMAGED && applies)
		failed = save_sealed(&job, &saved, &damage) != 0;
	if (failed || (need == DAMAGED && !saved && is_healed(&job, applies, &damage)))
		bpk_report(NULL, &damage);
	else if (need == DAMAGED && !saved)
		need = search(&job, applies, &damage);
	else if (need == WHOLE && is_refuted(&job, how))
		need = DAMAGED;
	else if (need == WHOLE && applies)
		tell_whole(&job, path);
	if (need == DAMAGED)
		bpk_salvage_record(&job);
	bpk_salvage_job_clear(&job);
	return failed || need == DAMAGED || (need == WHOLE && applies);
}
