/* The talk with a store about one upload: begin it, send its parts, abort it, look at the file.
 * Called by upload.c and commit.c. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "io/remote/upload.h"
#include "io/remote/xml.h"

/* Seconds for a request that only cleans up. */
static const double CLEANING = 15;

static const char content_type[] = "Content-Type: application/octet-stream";

/* ---- texts ---- */

void bpk_deposit_crc_text(uint32_t crc, char text[9])
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	uint64_t bits = (uint64_t)crc << 4; /* 36 bits are six digits of base 64 */

	for (int i = 0; i < 6; i++)
		text[i] = digits[bits >> (30 - 6 * i) & 63];
	memcpy(text + 6, "==", 3);
}

void bpk_deposit_crc_line(uint32_t crc, char line[BPK_UPLOAD_TEXT])
{
	char text[9];

	bpk_deposit_crc_text(crc, text);
	snprintf(line, BPK_UPLOAD_TEXT, "x-amz-checksum-crc32: %s", text);
}

/* The URL of the file with a query: its names in order and its values escaped, as a signature has
 * them. number 0: without partNumber. */
static int make_url(const struct bpk_upload *upload, size_t number, const char *id,
		    struct bpk_url *url, struct bpk_err *err)
{
	struct bpk_buf text = { 0 };
	int rc = bpk_buf_printf(&text, err, "%s?", upload->url.text);

	*url = upload->url;
	url->text = NULL;
	if (rc == 0 && number > 0)
		rc = bpk_buf_printf(&text, err, "partNumber=%zu&", number);
	if (rc == 0)
		rc = bpk_buf_printf(&text, err, id == NULL ? "uploads=" : "uploadId=");
	if (rc == 0 && id != NULL)
		rc = bpk_url_encode(&text, id, "", err);
	if (rc == 0)
		rc = bpk_buf_append(&text, bpk_view("", 1), err);
	if (rc != 0) {
		bpk_buf_clear(&text);
		return -1;
	}
	url->text = (char *)text.data;
	return 0;
}

int bpk_deposit_url(const struct bpk_upload *upload, const char *id, struct bpk_url *url,
		    struct bpk_err *err)
{
	return make_url(upload, 0, id, url, err);
}

/* ---- requests but of parts ---- */

static int take_id(void *arg, const char *path, const char *value, struct bpk_err *err)
{
	char **id = arg;

	if (strcmp(path, "InitiateMultipartUploadResult/UploadId") != 0 || *id != NULL)
		return 0;
	*id = bpk_strdup(value, err);
	return *id == NULL ? -1 : 0;
}

static int take_code(void *arg, const char *path, const char *value, struct bpk_err *err)
{
	struct bpk_reply *reply = arg;

	(void)err;
	if (strcmp(path, "Error/Code") == 0 && strcmp(value, "NoSuchUpload") == 0)
		reply->is_missing_upload = true;
	return 0;
}

/* Note the answer of a request that is done; with the lock. */
static int take(struct bpk_upload *upload, enum bpk_step step, const struct bpk_request *request,
		struct bpk_reply *reply, struct bpk_err *err)
{
	struct bpk_view text = bpk_buf_view(&request->text);

	*reply = (struct bpk_reply){
		.outcome = request->outcome,
		.answer = request->answer,
		.tries = request->tries,
		.is_silent = request->answer.status == 0 && request->tries > 0 &&
			     request->sent == request->body.size,
		.is_uncertain = request->is_uncertain,
	};
	if (request->outcome != BPK_OUTCOME_BYTES) {
		(void)bpk_xml_scan(text, take_code, reply, NULL);
		return bpk_fail_as(err, &request->err);
	}
	if (step == BPK_STEP_BEGIN)
		return bpk_xml_scan(text, take_id, &upload->id, err);
	upload->is_done = upload->is_done || step == BPK_STEP_COMMIT;
	return 0;
}

/* As the thread that took a signal. */
static int run_last(struct bpk_upload *upload, enum bpk_step step, const struct bpk_request *wish,
		    double seconds, struct bpk_reply *reply, struct bpk_err *err)
{
	struct bpk_request request = *wish;
	int rc;

	request.deadline = bpk_clock() + seconds;
	if (bpk_request_start(&request, err) != 0)
		return -1;
	bpk_request_wait(&request);
	pthread_mutex_lock(&upload->lock);
	rc = take(upload, step, &request, reply, err);
	pthread_mutex_unlock(&upload->lock);
	bpk_request_stop(&request);
	return rc;
}

int bpk_deposit_start(struct bpk_upload *upload, enum bpk_step step, const struct bpk_request *wish,
		      struct bpk_err *err)
{
	int rc;

	pthread_mutex_lock(&upload->lock);
	if (upload->is_over) {
		rc = bpk_fail(err, BPK_FAILED, "interrupted");
	} else {
		upload->control = *wish;
		upload->step = step;
		rc = bpk_request_start(&upload->control, err);
		upload->is_busy = rc == 0;
		upload->is_committing =
			upload->is_committing || (rc == 0 && step == BPK_STEP_COMMIT);
	}
	pthread_mutex_unlock(&upload->lock);
	return rc;
}

int bpk_deposit_end(struct bpk_upload *upload, enum bpk_step step, struct bpk_reply *reply,
		    struct bpk_err *err)
{
	int rc;

	bpk_request_wait(&upload->control);
	pthread_mutex_lock(&upload->lock);
	rc = take(upload, step, &upload->control, reply, err);
	upload->is_busy = false;
	pthread_cond_broadcast(&upload->calm);
	pthread_mutex_unlock(&upload->lock);
	bpk_request_stop(&upload->control);
	return rc;
}

int bpk_deposit_run(struct bpk_upload *upload, enum bpk_step step, const struct bpk_request *wish,
		    double seconds, struct bpk_reply *reply, struct bpk_err *err)
{
	*reply = (struct bpk_reply){ .outcome = BPK_OUTCOME_FAILED };
	if (seconds > 0)
		return run_last(upload, step, wish, seconds, reply, err);
	if (bpk_deposit_start(upload, step, wish, err) != 0)
		return -1;
	return bpk_deposit_end(upload, step, reply, err);
}

enum bpk_sight bpk_deposit_look(struct bpk_upload *upload, double seconds, struct bpk_reply *reply,
				struct bpk_err *err)
{
	static const char *const none[] = { NULL };
	const struct bpk_request wish = { .url = &upload->url, .method = "HEAD", .lines = none };
	const char *mark = strchr(upload->mark, ' ') + 1;

	if (bpk_deposit_run(upload, BPK_STEP_LOOK, &wish, seconds, reply, err) != 0)
		return reply->outcome == BPK_OUTCOME_MISSING ? BPK_SIGHT_NONE : BPK_SIGHT_UNKNOWN;
	if (strcmp(reply->answer.mark, mark) == 0)
		return BPK_SIGHT_OURS;
	/* a store that keeps no marks does not say whose the file is */
	if (reply->answer.mark[0] != '\0' || reply->answer.size != upload->end ||
	    strcmp(reply->answer.version, upload->old_tag) == 0)
		return BPK_SIGHT_OTHER;
	bpk_fail(err, BPK_FAILED, "the store does not say who wrote it");
	return BPK_SIGHT_UNKNOWN;
}

static int begin(struct bpk_upload *upload, struct bpk_err *err)
{
	const char *const lines[] = { content_type, "x-amz-checksum-algorithm: CRC32", upload->mark,
				      NULL };
	struct bpk_request wish = { .method = "POST",
				    .lines = lines,
				    .proof = "InitiateMultipartUploadResult/UploadId" };
	struct bpk_reply reply;
	struct bpk_url url;
	int rc;

	if (make_url(upload, 0, NULL, &url, err) != 0)
		return -1;
	wish.url = &url;
	rc = bpk_deposit_run(upload, BPK_STEP_BEGIN, &wish, 0, &reply, err);
	upload->is_checked = rc == 0 && reply.answer.is_checked;
	if (reply.is_uncertain)
		bpk_request_warn(upload->path,
				 "a multipart upload without parts may be left at the "
				 "store, as its answer was lost");
	bpk_url_clear(&url);
	return rc;
}

/* Copy the number of the multipart upload; NULL: none is open. Also for the thread that took a
 * signal, while another one begins the upload. The caller frees *id. */
static int copy_id(struct bpk_upload *upload, char **id, struct bpk_err *err)
{
	bool is_open;

	*id = NULL;
	pthread_mutex_lock(&upload->lock);
	is_open = upload->id != NULL;
	if (is_open)
		*id = bpk_strdup(upload->id, err);
	pthread_mutex_unlock(&upload->lock);
	return is_open && *id == NULL ? -1 : 0;
}

static int run_abort(struct bpk_upload *upload, const char *id, double seconds, struct bpk_err *err)
{
	static const char *const none[] = { NULL };
	struct bpk_request wish = { .method = "DELETE", .lines = none };
	struct bpk_reply reply;
	struct bpk_url url;
	int rc;

	if (make_url(upload, 0, id, &url, err) != 0)
		return -1;
	wish.url = &url;
	wish.deadline = bpk_clock() + CLEANING;
	rc = bpk_deposit_run(upload, BPK_STEP_ABORT, &wish, seconds, &reply, err);
	bpk_url_clear(&url);
	return rc == 0 || reply.is_missing_upload ? 0 : -1;
}

int bpk_deposit_abort(struct bpk_upload *upload, double seconds, struct bpk_err *err)
{
	char *id;
	int rc = copy_id(upload, &id, err);

	if (rc == 0 && id != NULL)
		rc = run_abort(upload, id, seconds, err);
	free(id);
	if (rc != 0)
		return -1;
	if (seconds > 0) /* the thread that writes may hold it */
		return 0;
	pthread_mutex_lock(&upload->lock);
	free(upload->id);
	upload->id = NULL;
	pthread_mutex_unlock(&upload->lock);
	return 0;
}

/* ---- parts ---- */

/* End the request of a slot, and free its bytes. */
static void clear_slot(struct bpk_upload *upload, struct bpk_slot *slot)
{
	pthread_mutex_lock(&upload->lock);
	slot->is_started = false;
	pthread_mutex_unlock(&upload->lock);
	bpk_request_stop(&slot->request);
	bpk_url_clear(&slot->url);
	free(slot->bytes);
	slot->bytes = NULL;
}

/* Wait for the part of a slot, if there is one. */
static int collect(struct bpk_upload *upload, struct bpk_slot *slot, struct bpk_err *err)
{
	struct bpk_part *part = &upload->parts[slot->part];
	int rc = 0;

	if (!slot->is_started)
		return 0;
	bpk_request_wait(&slot->request);
	if (slot->request.outcome == BPK_OUTCOME_BYTES) {
		part->tag = bpk_strdup(slot->request.answer.version, err);
		rc = part->tag == NULL ? -1 : 0;
		part->state = BPK_PART_STORED;
	} else {
		rc = bpk_fail(err, slot->request.err.kind, "part %zu: %s", slot->part + 1,
			      slot->request.err.text);
	}
	clear_slot(upload, slot);
	return rc;
}

static int start(struct bpk_upload *upload, struct bpk_slot *slot, struct bpk_err *err)
{
	int rc;

	pthread_mutex_lock(&upload->lock);
	rc = upload->is_over ? bpk_fail(err, BPK_FAILED, "interrupted")
			     : bpk_request_start(&slot->request, err);
	slot->is_started = rc == 0;
	pthread_mutex_unlock(&upload->lock);
	return rc;
}

/* Parts on their way at a time: as many as connections, or fewer large ones, but two. */
static size_t slots_for(const struct bpk_upload *upload, size_t size)
{
	uint64_t room = upload->connections * upload->base;

	return (size_t)bpk_max_u64(bpk_min_u64(upload->connections, 2),
				   bpk_min_u64(upload->connections, room / size));
}

/* Wait until fewer than most parts are on their way. */
static int make_way(struct bpk_upload *upload, size_t most, struct bpk_err *err)
{
	size_t busy = 0;

	for (size_t i = 0; i < upload->connections; i++)
		busy += upload->slots[i].is_started;
	for (size_t i = 0; i < upload->connections && busy >= most; i++) {
		struct bpk_slot *slot = &upload->slots[(upload->nsent + i) % upload->connections];

		busy -= slot->is_started;
		if (collect(upload, slot, err) != 0)
			return -1;
	}
	return 0;
}

int bpk_deposit_send(struct bpk_upload *upload, size_t number, struct bpk_err *err)
{
	struct bpk_part *part = &upload->parts[number];
	struct bpk_slot *slot = &upload->slots[upload->nsent % upload->connections];

	if (upload->id == NULL && begin(upload, err) != 0)
		return -1;
	if (make_way(upload, slots_for(upload, part->size), err) != 0 ||
	    collect(upload, slot, err) != 0 ||
	    make_url(upload, number + 1, upload->id, &slot->url, err) != 0)
		return -1;
	part->crc = bpk_crc32(0, bpk_view(part->bytes, part->size));
	bpk_deposit_crc_line(part->crc, slot->crc);
	slot->lines[0] = slot->crc;
	slot->part = number;
	slot->bytes = part->bytes;
	slot->request = (struct bpk_request){ .url = &slot->url,
					      .method = "PUT",
					      .body = bpk_view(part->bytes, part->size),
					      .lines = slot->lines };
	part->bytes = NULL;
	part->state = BPK_PART_SENT;
	upload->nsent++;
	if (start(upload, slot, err) == 0)
		return 0;
	clear_slot(upload, slot);
	return -1;
}

int bpk_deposit_wait(struct bpk_upload *upload, struct bpk_err *err)
{
	return make_way(upload, 1, err);
}

void bpk_deposit_drop_parts(struct bpk_upload *upload)
{
	for (size_t i = 0; i < upload->connections; i++)
		if (upload->slots[i].is_started)
			clear_slot(upload, &upload->slots[i]);
}
