/* The files of a directory on their way into a store, and the removal of those that are not kept.
 * Called by new.c; the removal also by a signal, on its thread. */
#include "io/remote/objects.h"

#include <stdio.h>
#include <stdlib.h>

#include "io/file/draft.h"

/* Seconds for requests on their way once nothing is kept, and for all of the removal; then where a
 * signal waits. */
static const double PATIENCE = 10, LIMIT = 120, IMPATIENCE = 2, SOON = 10;

/* ---- removing ---- */

struct removal {
	struct bpk_request request;
	struct bpk_url url;
	bool is_started;
};

static void start_removal(const struct bpk_objects *objects, const char *name, double until,
			  struct removal *removal)
{
	static const char *const none[] = { NULL };

	*removal = (struct removal){ 0 };
	if (bpk_url_below(&objects->url, name, &removal->url, NULL) != 0)
		return;
	removal->request = (struct bpk_request){ .url = &removal->url,
						 .method = "DELETE",
						 .lines = none,
						 .once = true,
						 .deadline = until };
	removal->is_started = bpk_request_start(&removal->request, NULL) == 0;
}

/* True if the file is gone. */
static bool end_removal(struct removal *removal)
{
	enum bpk_outcome outcome = BPK_OUTCOME_FAILED;

	if (removal->is_started) {
		bpk_request_wait(&removal->request);
		outcome = removal->request.outcome;
		bpk_request_stop(&removal->request);
	}
	bpk_url_clear(&removal->url);
	return outcome == BPK_OUTCOME_BYTES || outcome == BPK_OUTCOME_MISSING;
}

/* Remove files, as many at a time as there are connections. Returns the number of those that may be
 * left. */
static size_t remove_all(const struct bpk_objects *objects, const struct bpk_names *names,
			 double until)
{
	size_t most = objects->connections, left = 0;
	struct removal *removals = bpk_calloc(most, sizeof *removals, NULL);

	if (removals == NULL)
		return names->count;
	for (size_t at = 0, n; at < names->count; at += n) {
		n = bpk_min_size(most, names->count - at);
		for (size_t i = 0; i < n; i++)
			start_removal(objects, names->all[at + i], until, &removals[i]);
		for (size_t i = 0; i < n; i++)
			left += !end_removal(&removals[i]);
	}
	free(removals);
	return left;
}

static void tell_left(const struct bpk_objects *objects, size_t left)
{
	char line[120];

	if (left == 0)
		return;
	snprintf(line, sizeof line, "%zu of its files may be left at the store, without use%s",
		 left, objects->shares_names ? "; the next append replaces them" : "");
	bpk_request_warn(objects->path, line);
}

void bpk_objects_remove(struct bpk_objects *objects, const struct bpk_names *names)
{
	tell_left(objects, remove_all(objects, names, bpk_clock() + LIMIT));
}

/* ---- nothing is kept ---- */

/* Find out which of the open files are stored, to be removed with the others. Returns the number of
 * those that nobody knows about. */
static size_t settle_open(struct bpk_objects *objects, double until)
{
	size_t left = 0;

	for (struct bpk_upload *upload = objects->open; upload != NULL; upload = upload->next) {
		enum bpk_sight sight = bpk_upload_settle(upload, until);
		const char *name = upload->path + strlen(objects->path) + 1;

		if (upload->old_tag[0] != '\0')
			continue; /* one file as before, whichever it is */
		if (sight == BPK_SIGHT_UNKNOWN ||
		    (sight == BPK_SIGHT_OURS &&
		     bpk_names_add(&objects->stored, strdup(name), NULL) != 0))
			left++;
	}
	return left;
}

/* The last file was on its way. */
static void tell_outcome(const struct bpk_objects *objects, double until)
{
	if (bpk_upload_settle(objects->last, until) == BPK_SIGHT_OURS)
		bpk_request_warn(objects->path, "is complete; the signal came too late");
	else
		bpk_request_warn(objects->path, "interrupted; it is uncertain whether the store "
						"keeps it, so that all of its files stay");
}

/* Leave nothing that is not kept. */
static void clean(struct bpk_objects *objects, double until)
{
	size_t left = settle_open(objects, until);

	left += objects->shares_names ? objects->stored.count
				      : remove_all(objects, &objects->stored, until);
	tell_left(objects, left);
}

static void stop_all(const struct bpk_objects *objects, double patience)
{
	for (struct bpk_upload *upload = objects->open; upload != NULL; upload = upload->next)
		(void)bpk_upload_stop(upload, patience);
}

/* For bpk_cleanup_add: a signal ends the writing; with the cleanup lock. */
static void interrupt(void *owner)
{
	struct bpk_objects *objects = owner;
	double until = bpk_clock() + SOON;

	if (objects->is_clean)
		return;
	if (objects->is_kept) {
		bpk_request_warn(objects->path,
				 "interrupted after a commit, whose data are in the archive");
		return;
	}
	if (objects->is_cleaning) {
		bpk_request_warn(objects->path,
				 "interrupted; some of its files may be left at the store, without "
				 "use");
		return;
	}
	stop_all(objects, IMPATIENCE);
	if (objects->is_committing)
		tell_outcome(objects, until);
	else
		clean(objects, until);
}

/* The same without a signal, which is not kept waiting. */
static void end_clean(struct bpk_objects *objects)
{
	if (bpk_cleanup_lock(NULL) != 0)
		return; /* a signal has done it */
	objects->is_cleaning = true;
	bpk_cleanup_unlock();
	stop_all(objects, PATIENCE);
	if (!objects->is_committing)
		clean(objects, bpk_clock() + LIMIT);
	bpk_cleanup_lock_always();
	objects->is_clean = true;
	bpk_cleanup_unlock();
}

/* ---- files ---- */

int bpk_objects_begin(struct bpk_objects *objects, const char *name, const char *tag,
		      struct bpk_draft **draft, struct bpk_err *err)
{
	struct bpk_upload *upload;

	*draft = NULL;
	if (bpk_upload_open_member(objects->path, &objects->url, name, tag, &upload, err) != 0)
		return -1;
	if (bpk_cleanup_lock(err) != 0) {
		bpk_upload_free(upload);
		return -1;
	}
	upload->is_added = objects->pivot_tag != NULL;
	upload->next = objects->open;
	objects->open = upload;
	objects->is_kept = false;
	bpk_cleanup_unlock();
	return bpk_upload_draft(upload, draft, err);
}

/* With the cleanup lock. */
static void withdraw(struct bpk_objects *objects, const struct bpk_upload *upload)
{
	struct bpk_upload **at = &objects->open;

	while (*at != upload)
		at = &(*at)->next;
	*at = upload->next;
}

/* A file is stored: its name alone is left of it. */
static int note_stored(struct bpk_objects *objects, struct bpk_upload *upload, struct bpk_err *err)
{
	const char *name = upload->path + strlen(objects->path) + 1;
	int rc = 0;

	if (bpk_cleanup_lock(err) != 0)
		return -1;
	if (upload->old_tag[0] == '\0')
		rc = bpk_names_add(&objects->stored, strdup(name), err);
	if (rc == 0)
		withdraw(objects, upload);
	bpk_cleanup_unlock();
	if (rc == 0)
		bpk_upload_free(upload);
	return rc;
}

static int file_subject(const struct bpk_objects *objects, const struct bpk_upload *upload,
			struct bpk_err *err)
{
	return bpk_err_subject(err, "%s", upload->path + strlen(objects->path) + 1);
}

static int end_oldest(struct bpk_objects *objects, struct bpk_err *err)
{
	struct bpk_upload *upload = objects->queue[objects->first];

	objects->first = (objects->first + 1) % BPK_UPLOAD_SLOTS;
	objects->count--;
	if (bpk_upload_wait(upload, err) != 0)
		return file_subject(objects, upload, err);
	return note_stored(objects, upload, err);
}

static int end_all(struct bpk_objects *objects, struct bpk_err *err)
{
	while (objects->count > 0)
		if (end_oldest(objects, err) != 0)
			return -1;
	return 0;
}

static int fail_taken(const char *found, struct bpk_err *err)
{
	return bpk_fail(err, BPK_FAILED,
			"%s is there, too: another command is writing it, or one that was killed "
			"left it",
			found);
}

int bpk_objects_list(const struct bpk_objects *objects, size_t most, struct bpk_listing *listing,
		     struct bpk_err *err)
{
	enum bpk_outcome outcome;
	struct bpk_err why = { 0 };

	if (bpk_listing_make(&objects->url, most, listing, &outcome, &why) == 0 ||
	    outcome == BPK_OUTCOME_DENIED)
		return 0;
	return bpk_fail_as(err, &why);
}

/* The first file of a new directory is stored. Another command that writes another format has a
 * first file of another name: who lists the directory after both are stored gives up. */
static int check_alone(const struct bpk_objects *objects, struct bpk_err *err)
{
	const char *own = objects->stored.all[0];
	struct bpk_listing listing = { 0 };
	int rc = bpk_objects_list(objects, 2, &listing, err);

	for (size_t i = 0; rc == 0 && i < listing.count; i++) {
		const char *name = bpk_listing_name(&listing, bpk_listing_at(&listing, i));

		if (strncmp(own, name, strcspn(own, "/")) != 0 || strlen(name) != strcspn(own, "/"))
			rc = fail_taken(name, err);
	}
	bpk_listing_clear(&listing);
	return rc;
}

/* Send a file. The first one is waited for: of two commands, one gets its name, and the other one
 * ends before it has put more. */
static int send_file(struct bpk_objects *objects, struct bpk_upload *upload, struct bpk_err *err)
{
	size_t most = objects->has_claim ? objects->connections : 1;

	if (objects->count >= most && end_oldest(objects, err) != 0)
		return -1;
	if (bpk_upload_send(upload, err) != 0)
		return file_subject(objects, upload, err);
	objects->queue[(objects->first + objects->count++) % BPK_UPLOAD_SLOTS] = upload;
	if (!objects->has_claim && (end_all(objects, err) != 0 ||
				    (objects->pivot_tag == NULL && check_alone(objects, err) != 0)))
		return -1;
	objects->has_claim = true;
	bpk_request_poke();
	return 0;
}

int bpk_objects_stage(struct bpk_objects *objects, struct bpk_draft *draft, struct bpk_err *err)
{
	struct bpk_upload *upload = bpk_upload_of(draft), *before = objects->last;

	bpk_draft_drop(draft);
	objects->last = upload;
	return before == NULL ? 0 : send_file(objects, before, err);
}

/* ---- the commit ---- */

/* Put the pivot, and note its ETag: another command may have replaced it by then. */
static int put_pivot(struct bpk_objects *objects, struct bpk_upload *upload, struct bpk_err *err)
{
	struct bpk_reply reply;
	enum bpk_sight sight;
	char *tag;

	if (bpk_upload_send(upload, err) != 0 || bpk_upload_wait(upload, err) != 0)
		return -1;
	sight = bpk_deposit_look(upload, 0, &reply, err);
	if (sight == BPK_SIGHT_UNKNOWN)
		return -1;
	if (sight != BPK_SIGHT_OURS)
		return bpk_fail(err, BPK_FAILED,
				"was changed by another command meanwhile, and stays so; append "
				"again");
	tag = bpk_strdup(reply.answer.version, err);
	if (tag == NULL)
		return -1;
	free(objects->pivot_tag);
	objects->pivot_tag = tag;
	return 0;
}

int bpk_objects_reserve(struct bpk_objects *objects, const char *pivot, struct bpk_view text,
			struct bpk_err *err)
{
	struct bpk_upload *upload;
	struct bpk_draft *draft;
	int rc;

	if (bpk_upload_open_member(objects->path, &objects->url, pivot, objects->pivot_tag, &upload,
				   err) != 0)
		return -1;
	rc = bpk_upload_draft(upload, &draft, err);
	if (rc == 0) {
		rc = bpk_draft_write(draft, text, err);
		bpk_draft_drop(draft);
	}
	if (rc == 0)
		rc = put_pivot(objects, upload, err);
	bpk_upload_free(upload);
	return rc == 0 ? 0 : bpk_err_subject(err, "%s", pivot);
}

static int set_committing(struct bpk_objects *objects, bool is_committing, struct bpk_err *err)
{
	if (bpk_cleanup_lock(err) != 0)
		return -1;
	objects->is_committing = is_committing;
	bpk_cleanup_unlock();
	return 0;
}

/* All files are kept: forget them. */
static int keep_all(struct bpk_objects *objects, struct bpk_err *err)
{
	struct bpk_upload *last = objects->last;

	/* a signal has found the same, and said so */
	if (bpk_cleanup_lock(err) != 0)
		return -1;
	withdraw(objects, last);
	objects->is_committing = false;
	objects->is_kept = true;
	bpk_names_clear(&objects->stored);
	bpk_cleanup_unlock();
	objects->last = NULL;
	objects->has_claim = false;
	bpk_upload_free(last);
	return 0;
}

/* The condition of the last file, which was begun as any other one. */
static void set_condition(const struct bpk_objects *objects, struct bpk_upload *last)
{
	last->is_last = true;
	if (objects->pivot_tag == NULL)
		return;
	snprintf(last->condition, sizeof last->condition, "If-Match: %s", objects->pivot_tag);
	snprintf(last->old_tag, sizeof last->old_tag, "%s", objects->pivot_tag);
}

int bpk_objects_commit(struct bpk_objects *objects, struct bpk_err *err)
{
	struct bpk_upload *last = objects->last;

	if (last == NULL)
		return bpk_fail(err, BPK_BUG, "a directory without a file");
	if (end_all(objects, err) != 0 || set_committing(objects, true, err) != 0)
		return -1;
	set_condition(objects, last);
	if (bpk_upload_send(last, err) == 0 && bpk_upload_wait(last, err) == 0)
		return keep_all(objects, err);
	file_subject(objects, last, err);
	if (last->is_uncertain)
		return bpk_err_subject(err, "it is uncertain whether the store keeps it, so that "
					    "all of its files stay");
	(void)set_committing(objects, false, NULL);
	return -1;
}

/* ---- opening and closing ---- */

int bpk_objects_open(struct bpk_objects *objects, const char *path, struct bpk_err *err)
{
	struct bpk_url url = { 0 };
	size_t size = strlen(path);
	int rc;

	objects->connections = bpk_request_options().connections;
	objects->path = bpk_strdup(path, err);
	if (objects->path == NULL)
		return -1;
	while (objects->path[size - 1] == '/')
		objects->path[--size] = '\0';
	if (!bpk_path_is_s3(objects->path) || bpk_remote_is_folder(objects->path))
		return bpk_fail(err, BPK_FAILED, "is a bucket, and names no directory in it");
	rc = bpk_url_make(objects->path, &url, err);
	if (rc == 0)
		rc = bpk_url_below(&url, "/", &objects->url, err);
	bpk_url_clear(&url);
	if (rc != 0 || bpk_cleanup_lock(err) != 0)
		return -1;
	bpk_cleanup_add(&objects->cleanup, interrupt, objects);
	bpk_cleanup_unlock();
	return 0;
}

void bpk_objects_close(struct bpk_objects *objects)
{
	if (objects->cleanup.drop != NULL) /* it was opened in full */
		end_clean(objects);
	bpk_cleanup_end(&objects->cleanup);
	for (struct bpk_upload *next; objects->open != NULL; objects->open = next) {
		next = objects->open->next;
		bpk_upload_free(objects->open);
	}
	bpk_names_clear(&objects->stored);
	bpk_url_clear(&objects->url);
	free(objects->pivot_tag);
	free(objects->path);
}
