/* Takes the answer to one request, and judges it. Called by request.c; prepare.c hands the
 * callbacks to libcurl. */
#include "io/remote/exchange.h"

#include "io/remote/curl.h"
#include "io/remote/joint.h"
#include "io/remote/multipart.h"
#include "io/remote/s3.h"
#include "io/remote/xml.h"

enum {
	HEAD_MAX = 256 << 10,      /* bytes of an answer's head */
	ERROR_BODY_MAX = 64 << 10, /* bytes of the text that comes with an error status */
	TEXT_MAX = 16 << 10,       /* bytes of it that are read, and of an answer to POST */
};

/* ---- the answer, while it comes ---- */

/* Settle the outcome before the end: libcurl stops the transfer when a callback returns 0. */
static size_t refuse(struct bpk_request *request, enum bpk_outcome outcome)
{
	request->is_refused = true;
	request->outcome = outcome;
	return 0;
}

static size_t refuse_failed(struct bpk_request *request, const char *why)
{
	bpk_fail(&request->err, BPK_FAILED, "%s", why);
	return refuse(request, BPK_OUTCOME_FAILED);
}

size_t bpk_exchange_head(char *line, size_t one, size_t size, void *arg)
{
	struct bpk_request *request = arg;

	request->head_size += size * one;
	if (request->head_size > HEAD_MAX)
		return refuse_failed(request, "the head of the server's answer is too long");
	bpk_answer_take(&request->answer, bpk_view(line, size * one));
	return size * one;
}

/* True if the answer is of another version of the file than the first one was. */
static bool is_other(const struct bpk_request *request)
{
	const struct bpk_answer *seen = request->seen, *answer = &request->answer;

	return seen != NULL &&
	       (answer->total != seen->total || strcmp(answer->version, seen->version) != 0);
}

/* The bytes that the wanted range should have. */
static uint64_t expected(const struct bpk_request *request)
{
	uint64_t total = request->answer.total;

	return bpk_min_u64(request->out.size,
			   total > request->offset ? total - request->offset : 0);
}

/* The transfer brought something else than was asked for; that may pass. */
static size_t refuse_wrong(struct bpk_request *request)
{
	request->is_wrong = request->is_refused = true;
	return 0;
}

/* The whole file instead of a range: good if the range is all of it, and a file that was sent by
 * ranges before does not end where the answer does. */
static void judge_whole(struct bpk_request *request)
{
	struct bpk_answer *answer = &request->answer;

	answer->total = answer->size;
	if (answer->has_range)
		refuse_wrong(request);
	else if (is_other(request))
		refuse(request, BPK_OUTCOME_CHANGED);
	else if (request->offset > 0 || answer->size > request->out.size)
		refuse(request, BPK_OUTCOME_WHOLE);
}

static void judge_range(struct bpk_request *request)
{
	const struct bpk_answer *answer = &request->answer;

	if (!answer->has_range || (answer->total == BPK_UNKNOWN && request->seen != NULL))
		refuse_wrong(request);
	else if (answer->total == BPK_UNKNOWN)
		refuse(request, BPK_OUTCOME_WHOLE);
	else if (is_other(request))
		refuse(request, BPK_OUTCOME_CHANGED);
	else if (answer->first != request->offset || answer->size != expected(request))
		refuse_wrong(request);
}

/* Judge the head of an answer that brings content; true: store it. */
static bool accepts(struct bpk_request *request)
{
	const struct bpk_answer *answer = &request->answer;

	if (!answer->is_complete || answer->is_bad)
		refuse_wrong(request);
	else if (request->take != NULL && (answer->status != 200 || answer->has_range))
		refuse_wrong(request);
	else if (request->take != NULL && answer->size == BPK_UNKNOWN && !answer->is_framed)
		refuse_failed(request, "the server does not say where the file ends");
	else if (request->take == NULL && answer->status == 200)
		judge_whole(request);
	else if (request->take == NULL)
		judge_range(request);
	return !request->is_refused;
}

/* Judge the head of an answer to a joint request; true: its body may have the ranges. */
static bool accepts_ranges(struct bpk_request *carrier)
{
	const struct bpk_answer *answer = &carrier->answer;

	return answer->is_complete && answer->status == 206 &&
	       strcmp(answer->version, carrier->seen->version) == 0 &&
	       bpk_multipart_begin(&carrier->joint->body, answer);
}

/* Take content for a joint request. The whole file is refused with its first bytes. */
static size_t take_ranges(struct bpk_request *carrier, struct bpk_view body)
{
	if (carrier->body_size == body.size && !accepts_ranges(carrier))
		return refuse_wrong(carrier);
	carrier->begun = bpk_clock();
	return bpk_multipart_take(&carrier->joint->body, body) ? body.size : refuse_wrong(carrier);
}

/* Keep the text of a store, as much as there is room and memory for. */
static void keep_text(struct bpk_request *request, struct bpk_view body)
{
	size_t left = TEXT_MAX - request->text.size;

	if (request->url->store != NULL)
		(void)bpk_buf_append(&request->text,
				     bpk_view(body.data, bpk_min_size(body.size, left)), NULL);
}

size_t bpk_exchange_body(char *bytes, size_t one, size_t size, void *arg)
{
	struct bpk_request *request = arg;
	struct bpk_view body = bpk_view(bytes, size * one);
	bool is_content = request->answer.status == 200 || request->answer.status == 206;

	request->body_size += body.size;
	if (!is_content || request->method != NULL) {
		keep_text(request, body);
		if (is_content)
			request->begun = bpk_clock();
		return request->body_size > ERROR_BODY_MAX ? 0 : body.size;
	}
	if (request->joint != NULL)
		return take_ranges(request, body);
	if (request->body_size == body.size && !accepts(request))
		return 0;
	request->begun = bpk_clock();
	if (request->take != NULL) {
		if (request->take(request->take_arg, body, &request->err) != 0)
			return refuse(request, BPK_OUTCOME_FAILED);
	} else {
		if (body.size > expected(request) - request->got)
			return refuse_wrong(request);
		memcpy(request->out.data + request->got, body.data, body.size);
	}
	request->got += body.size;
	return body.size;
}

/* ---- the bytes of a request ---- */

size_t bpk_exchange_send(char *to, size_t one, size_t size, void *arg)
{
	struct bpk_request *request = arg;
	size_t n = (size_t)bpk_min_u64(size * one, request->body.size - request->sent);

	if (n > 0)
		memcpy(to, request->body.data + request->sent, n);
	request->sent += n;
	request->begun = bpk_clock();
	return n;
}

int bpk_exchange_rewind(void *arg, curl_off_t offset, int origin)
{
	struct bpk_request *request = arg;

	if (origin != SEEK_SET || offset < 0 || (uint64_t)offset > request->body.size)
		return CURL_SEEKFUNC_FAIL;
	request->sent = (uint64_t)offset;
	return CURL_SEEKFUNC_OK;
}

/* ---- the answer, at its end ---- */

static bool is_passing(CURLcode code)
{
	switch (code) {
	case CURLE_COULDNT_CONNECT:
	case CURLE_GOT_NOTHING:
	case CURLE_HTTP2:
	case CURLE_HTTP2_STREAM:
	case CURLE_OPERATION_TIMEDOUT:
	case CURLE_PARTIAL_FILE:
	case CURLE_RECV_ERROR:
	case CURLE_SEND_ERROR:
	case CURLE_SSL_CONNECT_ERROR:
		return true;
	default:
		return false;
	}
}

static bool is_passing_status(unsigned status)
{
	return status == 408 || status == 425 || status == 429 ||
	       (status >= 500 && status != 501 && status != 505);
}

static void fail_of_store(struct bpk_request *request)
{
	static const enum bpk_outcome outcomes[] = {
		[BPK_S3_FAILED] = BPK_OUTCOME_FAILED,
		[BPK_S3_MISSING] = BPK_OUTCOME_MISSING,
		[BPK_S3_DENIED] = BPK_OUTCOME_DENIED,
	};
	struct bpk_err why = { 0 };

	request->outcome =
		outcomes[bpk_s3_explain(&request->answer, bpk_buf_view(&request->text), &why)];
	bpk_fail(&request->err, why.kind, "%s%s", why.text,
		 request->answer.status == 403 && request->url->store->signer == NULL
			 ? "; no key of the user was found"
			 : "");
}

static void fail_status(struct bpk_request *request)
{
	const struct bpk_answer *answer = &request->answer;
	const char *blank = answer->reason[0] != '\0' ? " " : "";

	if (request->url->store != NULL) {
		fail_of_store(request);
		return;
	}
	bpk_fail(&request->err, BPK_FAILED, "the server answered %u%s%s%s", answer->status, blank,
		 answer->reason,
		 answer->status == 401 ? "; ~/.netrc may name a user and a password" : "");
	request->outcome = answer->status == 404 || answer->status == 410 ? BPK_OUTCOME_MISSING
									  : BPK_OUTCOME_FAILED;
}

/* A status that brings no content. */
static void judge_status(struct bpk_request *request)
{
	unsigned status = request->answer.status;
	bool is_gone = status == 404 || status == 410 || status == 412;

	if (status == 304 && request->known != NULL &&
	    strcmp(request->answer.version, request->known) == 0)
		request->outcome = BPK_OUTCOME_SAME;
	else if (request->seen != NULL && (is_gone || (status == 416 && is_other(request))))
		request->outcome = BPK_OUTCOME_CHANGED;
	else if (status == 416 && request->answer.total <= request->offset)
		request->outcome = BPK_OUTCOME_BYTES;
	else
		fail_status(request);
}

struct proof {
	const char *path;
	bool is_there;
};

static int look_for(void *arg, const char *path, const char *value, struct bpk_err *err)
{
	struct proof *proof = arg;

	(void)err;
	proof->is_there = proof->is_there || (strcmp(path, proof->path) == 0 && *value != '\0');
	return 0;
}

/* True if the answer proves that the store has carried it out: a status alone may come from
 * a proxy, and S3 reports some errors with the status 200. */
static bool is_proved(const struct bpk_request *request)
{
	struct proof proof = { .path = request->proof };

	if (strcmp(request->method, "DELETE") == 0)
		return request->answer.status == 204;
	if (request->answer.status != 200)
		return false;
	if (request->proof == NULL)
		return request->answer.version[0] != '\0';
	return bpk_xml_scan(bpk_buf_view(&request->text), look_for, &proof, NULL) == 0 &&
	       proof.is_there;
}

/* Judge the answer to a request that asked for no content; as bpk_exchange_judge. */
static bool judge_method(struct bpk_request *request)
{
	unsigned status = request->answer.status;

	if (is_proved(request)) {
		request->outcome = BPK_OUTCOME_BYTES;
		return false;
	}
	fail_of_store(request);
	if (status / 100 == 2)
		bpk_err_subject(&request->err, "not what S3 answers");
	/* 409: another request for the key is at work */
	return status / 100 == 2 || status == 409 || is_passing_status(status);
}

static void fail_early(struct bpk_request *request)
{
	bpk_fail(&request->err, BPK_FAILED, "the server's answer ended early");
}

/* Say how the transfer broke off. libcurl's text of a bad proxy holds its password. */
static void fail_code(struct bpk_request *request, const struct bpk_curl_calls *curl, CURLcode code)
{
	bpk_fail(&request->err, BPK_FAILED, "%s",
		 request->why[0] != '\0' && strstr(request->why, "proxy") == NULL
			 ? request->why
			 : curl->curl_easy_strerror(code));
}

bool bpk_exchange_judge(struct bpk_request *request, const struct bpk_curl_calls *curl,
			CURLcode code)
{
	unsigned status = request->answer.status;
	bool is_content = status == 200 || status == 206;

	if (code == CURLE_OK && is_content && request->body_size == 0 && request->method == NULL)
		(void)accepts(request);
	if (request->is_refused && !request->is_wrong)
		return false;
	request->outcome = BPK_OUTCOME_FAILED;
	if (request->is_wrong) {
		bpk_fail(&request->err, BPK_FAILED,
			 "the server sent other bytes than those asked for");
		return true;
	}
	if (code != CURLE_OK) {
		fail_code(request, curl, code);
		return is_passing(code);
	}
	if (request->method != NULL)
		return judge_method(request);
	if (!is_content) {
		judge_status(request);
		return request->outcome == BPK_OUTCOME_FAILED && is_passing_status(status);
	}
	if (request->take == NULL && request->got < expected(request)) {
		fail_early(request);
		return true;
	}
	request->outcome = BPK_OUTCOME_BYTES;
	return false;
}

/* True if the answer had all ranges. */
static bool is_whole(const struct bpk_multipart *body)
{
	for (size_t i = 0; i < body->count; i++)
		if (!body->ranges[i].is_whole)
			return false;
	return true;
}

enum bpk_joint_end bpk_exchange_judge_joint(struct bpk_request *carrier,
					    const struct bpk_curl_calls *curl, CURLcode code)
{
	if (carrier->is_refused)
		return BPK_JOINT_REFUSED;
	if (code != CURLE_OK) {
		fail_code(carrier, curl, code);
		return is_passing(code) ? BPK_JOINT_FAILED : BPK_JOINT_REFUSED;
	}
	if (is_passing_status(carrier->answer.status)) {
		fail_status(carrier);
		return BPK_JOINT_FAILED;
	}
	if (bpk_multipart_is_cut(&carrier->joint->body)) {
		fail_early(carrier);
		return BPK_JOINT_FAILED;
	}
	return is_whole(&carrier->joint->body) ? BPK_JOINT_TAKEN : BPK_JOINT_REFUSED;
}
