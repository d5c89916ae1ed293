/*
 * The first and the last request of an upload: a look at the store, and the one that makes the file
 * visible. Its outcome is looked up where the answer is lost, as the file has a mark of
 * this upload. Called by upload.c; bpk_upload_interrupt by a signal, on its thread.
 */
#include <stdio.h>

#include "io/remote/upload.h"

/* Seconds for each step of the thread that takes a signal: for a request on its way, and for one of
 * its own. */
static const double PATIENCE = 2, LAST = 5;

/* ---- the beginning ---- */

static int fail_exists(const struct bpk_upload *upload, struct bpk_err *err)
{
	return bpk_fail(err, BPK_FAILED, "already exists%s%s", upload->remedy != NULL ? "; " : "",
			upload->remedy != NULL ? upload->remedy : "");
}

int bpk_upload_begin(struct bpk_upload *upload, struct bpk_err *err)
{
	struct bpk_reply reply;
	enum bpk_sight sight = bpk_deposit_look(upload, 0, &reply, err);
	const struct bpk_answer *answer = &reply.answer;
	static const char absent[] = "If-None-Match: *";

	if (sight == BPK_SIGHT_NONE) {
		snprintf(upload->condition, sizeof upload->condition, absent);
		return 0;
	}
	if (reply.outcome == BPK_OUTCOME_BYTES) {
		if (!upload->overwrite)
			return fail_exists(upload, err);
		snprintf(upload->old_tag, sizeof upload->old_tag, "%s", answer->version);
		if (answer->is_strong)
			snprintf(upload->condition, sizeof upload->condition, "If-Match: %.*s",
				 BPK_ANSWER_TEXT / 2, answer->version);
		return 0;
	}
	/* who may write need not be allowed to read */
	if (answer->status != 403)
		return bpk_err_subject(err, "cannot be looked up");
	if (!upload->overwrite)
		snprintf(upload->condition, sizeof upload->condition, absent);
	return 0;
}

/* ---- the end ---- */

/* A multipart upload that may still be open, or have been completed: abort it, which decides. */
static enum bpk_sight decide(struct bpk_upload *upload, enum bpk_sight sight, double seconds)
{
	struct bpk_reply reply;

	if (upload->id == NULL)
		return sight;
	if (bpk_deposit_abort(upload, seconds, NULL) != 0)
		return BPK_SIGHT_UNKNOWN;
	return bpk_deposit_look(upload, seconds, &reply, NULL);
}

/* The store said no, for the first try; so no other one can have been carried out. */
static bool is_refusal(const struct bpk_reply *reply)
{
	unsigned status = reply->answer.status;

	/* libcurl may have sent it twice, so that 412 tells of our own file */
	return status >= 400 && status < 500 && status != 408 && status != 412 && reply->tries == 1;
}

static int explain_member(const struct bpk_upload *upload, unsigned status, bool is_lost,
			  struct bpk_err *err)
{
	if (upload->old_tag[0] != '\0')
		return status == 412 || status == 409 || status == 404
			       ? bpk_fail(err, BPK_FAILED,
					  "was changed by another command meanwhile, and stays "
					  "so%s",
					  is_lost ? "" : "; append again")
			       : -1;
	if (status != 412 && status != 409)
		return -1;
	return bpk_fail(err, BPK_FAILED,
			"is there already: another command is writing it, or one that was killed "
			"left it%s",
			upload->is_added ? "; append again" : "");
}

static int explain(const struct bpk_upload *upload, const struct bpk_reply *reply,
		   struct bpk_err *err)
{
	if (upload->is_member)
		return explain_member(upload, reply->answer.status, reply->is_uncertain, err);
	if (reply->answer.status == 412 && upload->old_tag[0] != '\0')
		return bpk_fail(err, BPK_FAILED,
				"was changed by another program meanwhile, and stays so");
	return reply->answer.status == 412 ? fail_exists(upload, err) : -1;
}

/*
 * Note whether a member's request was carried out, or may be yet: not once another file is there.
 * That says nothing of the last one of a directory: another command may have added to its archive.
 */
static int note_uncertain(struct bpk_upload *upload, const struct bpk_reply *reply,
			  enum bpk_sight sight, const struct bpk_reply *seen)
{
	bool is_other = sight == BPK_SIGHT_OTHER && !upload->is_last &&
			strcmp(seen->answer.version, upload->old_tag) != 0;

	pthread_mutex_lock(&upload->lock);
	upload->is_uncertain = sight == BPK_SIGHT_UNKNOWN ||
			       (upload->nsent == 0 && reply->is_uncertain && !is_other);
	pthread_mutex_unlock(&upload->lock);
	return -1;
}

/* The last request did not succeed, for all that is known. Returns 0 if it did. */
static int find_outcome(struct bpk_upload *upload, const struct bpk_reply *reply,
			struct bpk_err *err)
{
	struct bpk_reply seen;
	enum bpk_sight sight;

	if (is_refusal(reply))
		return explain(upload, reply, err);
	sight = bpk_deposit_look(upload, 0, &seen, NULL);
	if (sight != BPK_SIGHT_OURS && sight != BPK_SIGHT_UNKNOWN)
		sight = decide(upload, sight, 0);
	if (sight == BPK_SIGHT_OURS) {
		pthread_mutex_lock(&upload->lock);
		upload->is_done = true;
		pthread_mutex_unlock(&upload->lock);
		return 0;
	}
	explain(upload, reply, err);
	if (upload->is_member)
		return note_uncertain(upload, reply, sight, &seen);
	/* a whole file that was sent may be kept later, where no upload had to be open for it */
	if (sight == BPK_SIGHT_UNKNOWN || (upload->nsent == 0 && reply->is_silent))
		return bpk_err_subject(err, "it is uncertain whether the store keeps the file");
	return -1;
}

static int add_part(const struct bpk_upload *upload, size_t number, struct bpk_buf *text,
		    struct bpk_err *err)
{
	const struct bpk_part *part = &upload->parts[number];
	char crc[9];

	bpk_deposit_crc_text(part->crc, crc);
	return bpk_buf_printf(text, err,
			      "<Part><PartNumber>%zu</PartNumber><ETag>%s</ETag>%s%s%s"
			      "</Part>",
			      number + 1, part->tag, upload->is_checked ? "<ChecksumCRC32>" : "",
			      upload->is_checked ? crc : "",
			      upload->is_checked ? "</ChecksumCRC32>" : "");
}

/* The text that names all parts, in order. */
static int list_parts(const struct bpk_upload *upload, struct bpk_buf *text, struct bpk_err *err)
{
	int rc = bpk_buf_printf(text, err,
				"<CompleteMultipartUpload "
				"xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">");

	for (size_t i = 0; rc == 0 && i < upload->nparts; i++)
		rc = add_part(upload, i, text, err);
	return rc == 0 ? bpk_buf_printf(text, err, "</CompleteMultipartUpload>") : -1;
}

static int run(struct bpk_upload *upload, const struct bpk_request *wish, struct bpk_err *err)
{
	struct bpk_reply reply;

	if (bpk_deposit_run(upload, BPK_STEP_COMMIT, wish, 0, &reply, err) == 0)
		return 0;
	return find_outcome(upload, &reply, err);
}

int bpk_upload_complete(struct bpk_upload *upload, struct bpk_err *err)
{
	const char *condition = upload->condition[0] != '\0' ? upload->condition : NULL;
	const char *const lines[] = { "Content-Type: application/xml", condition, NULL };
	struct bpk_request wish = { .method = "POST",
				    .lines = lines,
				    .proof = "CompleteMultipartUploadResult/ETag" };
	struct bpk_buf text = { 0 };
	struct bpk_url url = { 0 };
	int rc = -1;

	if (list_parts(upload, &text, err) == 0 &&
	    bpk_deposit_url(upload, upload->id, &url, err) == 0) {
		wish.url = &url;
		wish.body = bpk_buf_view(&text);
		rc = run(upload, &wish, err);
	}
	bpk_url_clear(&url);
	bpk_buf_clear(&text);
	return rc;
}

int bpk_upload_put(struct bpk_upload *upload, struct bpk_view bytes, struct bpk_err *err)
{
	const struct bpk_request wish = { .url = &upload->url,
					  .method = "PUT",
					  .body = bytes,
					  .lines = upload->lines,
					  .fresh = upload->is_last };

	bpk_deposit_crc_line(bpk_crc32(0, bytes), upload->crc);
	upload->lines[0] = "Content-Type: application/octet-stream";
	upload->lines[1] = upload->mark;
	upload->lines[2] = upload->crc;
	upload->lines[3] = upload->condition[0] != '\0' ? upload->condition : NULL;
	return bpk_deposit_start(upload, BPK_STEP_COMMIT, &wish, err);
}

int bpk_upload_end_put(struct bpk_upload *upload, struct bpk_err *err)
{
	struct bpk_reply reply;

	if (bpk_deposit_end(upload, BPK_STEP_COMMIT, &reply, err) == 0)
		return 0;
	return find_outcome(upload, &reply, err);
}

/* ---- signals ---- */

bool bpk_upload_stop(struct bpk_upload *upload, double seconds)
{
	bool is_closed;

	pthread_mutex_lock(&upload->lock);
	is_closed = upload->is_closed;
	upload->is_over = true;
	if (upload->is_busy)
		bpk_request_hurry(&upload->control, seconds);
	for (size_t i = 0; i < upload->connections; i++)
		if (upload->slots[i].is_started)
			bpk_request_hurry(&upload->slots[i].request, 0);
	pthread_mutex_unlock(&upload->lock);
	return !is_closed;
}

/* Wait for the request that is no part's, after bpk_upload_stop. Its thread takes it, but for the
 * one that puts a whole file, which that thread may not wait for. */
static void hold_up(struct bpk_upload *upload, bool *is_done, bool *is_committing)
{
	struct timespec until;
	bool is_putting;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += (time_t)PATIENCE + 2;
	pthread_mutex_lock(&upload->lock);
	*is_committing = upload->is_committing;
	is_putting = upload->is_busy && upload->is_member && upload->step == BPK_STEP_COMMIT;
	pthread_mutex_unlock(&upload->lock);
	if (is_putting)
		bpk_request_wait(&upload->control);
	pthread_mutex_lock(&upload->lock);
	while (!is_putting && upload->is_busy &&
	       pthread_cond_timedwait(&upload->calm, &upload->lock, &until) == 0)
		;
	*is_done = upload->is_done ||
		   (is_putting && upload->is_busy && upload->control.outcome == BPK_OUTCOME_BYTES);
	pthread_mutex_unlock(&upload->lock);
}

/* True if a whole file was sent, and no answer has shown its outcome. */
static bool may_arrive(struct bpk_upload *upload)
{
	bool may;

	pthread_mutex_lock(&upload->lock);
	may = upload->nsent == 0 &&
	      (upload->is_uncertain ||
	       (upload->step == BPK_STEP_COMMIT ? upload->control.is_uncertain : upload->is_busy));
	pthread_mutex_unlock(&upload->lock);
	return may;
}

enum bpk_sight bpk_upload_settle(struct bpk_upload *upload, double until)
{
	double left = until - bpk_clock();
	struct bpk_reply reply;
	bool is_done, is_committing;
	enum bpk_sight sight;

	hold_up(upload, &is_done, &is_committing);
	if (is_done)
		return BPK_SIGHT_OURS;
	if (left <= 0)
		return BPK_SIGHT_UNKNOWN;
	if (bpk_deposit_abort(upload, left, NULL) != 0)
		return BPK_SIGHT_UNKNOWN;
	if (!is_committing)
		return BPK_SIGHT_NONE;
	sight = bpk_deposit_look(upload, left, &reply, NULL);
	/* the name is free, so that a request that was lost may still arrive */
	return sight == BPK_SIGHT_NONE && may_arrive(upload) ? BPK_SIGHT_UNKNOWN : sight;
}

void bpk_upload_interrupt(void *arg)
{
	struct bpk_upload *upload = arg;
	enum bpk_sight sight = BPK_SIGHT_NONE;
	struct bpk_reply reply;
	bool is_done, is_committing, is_left;

	if (!bpk_upload_stop(upload, PATIENCE))
		return;
	hold_up(upload, &is_done, &is_committing);
	is_left = !is_done && bpk_deposit_abort(upload, LAST, NULL) != 0;
	if (is_done)
		sight = BPK_SIGHT_OURS;
	else if (is_committing)
		sight = bpk_deposit_look(upload, LAST, &reply, NULL);
	if (sight == BPK_SIGHT_OURS)
		bpk_request_warn(upload->path, "is complete; the signal came too late");
	else if (sight == BPK_SIGHT_UNKNOWN)
		bpk_request_warn(upload->path,
				 "interrupted; it is uncertain whether the store keeps the file");
	else if (is_left)
		bpk_request_warn(
			upload->path,
			"interrupted; a part of it may be left at the store, invisible, as a "
			"multipart upload");
}
