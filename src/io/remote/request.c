/*
 * Sends requests through libcurl's interface for several transfers. Called by object.c,
 * remote.c and list.c.
 *
 *     queue ──send──▶ running ──collect──▶ done
 *       ▲                        │
 *       └──── later, again ──────┘
 *
 * Requests for ranges of one file that wait in the queue leave it together (joint.c).
 *
 * One thread at a time is the driver: it alone calls libcurl, without the lock, for the requests of
 * all threads. A thread that has to wait becomes the driver if there is none.
 */
#include "io/remote/exchange.h"

#include <pthread.h>
#include <stdlib.h>

#include "io/remote/curl.h"
#include "io/remote/joint.h"
#include "io/remote/prepare.h"

enum {
	CONNECTIONS_MAX = 64,
	TRIES = 6,   /* of one request */
	POLL = 1000, /* milliseconds at most for one wait */
};

static const double FIRST_DELAY = 0.1; /* seconds before the second try; doubled each time */

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed; /* a request is done, or there is no driver any more */
	bool driving;
	CURLM *multi;
	CURL *idle[CONNECTIONS_MAX];
	struct bpk_request *active[CONNECTIONS_MAX]; /* the running ones */
	unsigned nidle, running;
	struct bpk_request *queue; /* in the order of their starts */
	struct bpk_joint_hosts hosts;
	struct bpk_remote_counts counts;
	struct bpk_remote_options options;
} engine = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.changed = PTHREAD_COND_INITIALIZER,
	.options = { .connections = 8, .timeout = 60, .max_download = (uint64_t)1 << 30 },
};

void bpk_remote_set(const struct bpk_remote_options *options)
{
	engine.options = *options;
	if (engine.options.connections > CONNECTIONS_MAX)
		engine.options.connections = CONNECTIONS_MAX;
}

struct bpk_remote_options bpk_request_options(void)
{
	return engine.options;
}

struct bpk_remote_counts bpk_request_counted(void)
{
	struct bpk_remote_counts counts;

	pthread_mutex_lock(&engine.lock);
	counts = engine.counts;
	pthread_mutex_unlock(&engine.lock);
	return counts;
}

/* ---- the queue, with the lock ---- */

static void push(struct bpk_request *request)
{
	struct bpk_request **at = &engine.queue;

	while (*at != NULL)
		at = &(*at)->next;
	request->next = NULL;
	*at = request;
}

static void withdraw(struct bpk_request *request)
{
	struct bpk_request **at = &engine.queue;

	while (*at != NULL && *at != request)
		at = &(*at)->next;
	if (*at != NULL)
		*at = request->next;
}

/* True if nobody waits for the request any more. */
static bool is_unwanted(const struct bpk_request *request, double now)
{
	return request->deadline > 0 && now >= request->deadline;
}

/* ---- trying again ---- */

/* Seconds before the next try: twice as many each time, and half of them at random, so that many
 * clients do not come back at once. */
static double delay_of(const struct bpk_request *request, double now)
{
	double spread = now * 1e6 - (double)(uint64_t)(now * 1e6); /* digits that nobody chose */
	double delay = FIRST_DELAY * (1u << request->tries) / 2 * (1 + spread);
	double asked = request->answer.retry_after;

	return delay > asked ? delay : asked;
}

/* Put the request back into the queue, unless its time is over. */
static bool try_again(struct bpk_request *request)
{
	double now = bpk_clock();

	if ((request->take != NULL && request->got > 0) || request->tries >= TRIES)
		return false;
	request->not_before = now + delay_of(request, now);
	if (request->not_before > request->begun + engine.options.timeout ||
	    is_unwanted(request, request->not_before))
		return false;
	request->err = (struct bpk_err){ 0 };
	push(request);
	return true;
}

/* ---- libcurl's objects, by the driver ---- */

static CURL *take_handle(const struct bpk_curl_calls *curl)
{
	return engine.nidle > 0 ? engine.idle[--engine.nidle] : curl->curl_easy_init();
}

/* Give back a running request's objects of libcurl. */
static void release(const struct bpk_curl_calls *curl, struct bpk_request *request)
{
	if (request->handle != NULL) {
		curl->curl_easy_reset(request->handle);
		engine.idle[engine.nidle++] = request->handle;
	}
	curl->curl_slist_free_all(request->fields);
	request->handle = request->fields = NULL;
}

static void end(struct bpk_request *request)
{
	request->is_done = true;
	engine.counts.bytes += request->got;
}

/* Take a running request from libcurl. */
static void take_back(const struct bpk_curl_calls *curl, struct bpk_request *request)
{
	unsigned i = 0;

	while (engine.active[i] != request)
		i++;
	engine.active[i] = engine.active[--engine.running];
	curl->curl_multi_remove_handle(engine.multi, request->handle);
}

/* ---- joint requests ---- */

/* Join queued requests for the same file to one that leaves the queue. Returns the request to be
 * sent. */
static struct bpk_request *join(struct bpk_request *request, double now)
{
	struct bpk_joint *joint = NULL;
	struct bpk_request *next;

	if (!bpk_joint_may(&engine.hosts, request))
		return request;
	for (struct bpk_request *r = engine.queue; r != NULL; r = next) {
		next = r->next;
		if (r->seen != request->seen || is_unwanted(r, now) ||
		    !bpk_joint_may(&engine.hosts, r))
			continue;
		if (joint != NULL ? bpk_joint_add(joint, r)
				  : (joint = bpk_joint_new(request, r)) != NULL)
			withdraw(r);
	}
	if (joint == NULL)
		return request;
	bpk_joint_note_sent(&engine.hosts, request->url);
	return &joint->carrier;
}

/* End the members of a joint request that has ended, or send them by themselves. */
static void settle(struct bpk_joint *joint, enum bpk_joint_end how)
{
	bpk_joint_note(&engine.hosts, joint->carrier.url, how);
	for (size_t i = 0; i < joint->body.count; i++) {
		struct bpk_request *request = joint->members[i];

		if (request == NULL)
			continue;
		if (bpk_joint_settle(joint, i, how))
			end(request);
		else if (how != BPK_JOINT_FAILED)
			push(request);
		else if (!try_again(request))
			end(request);
	}
	bpk_joint_free(joint);
}

/* End a joint request that nobody waits for any more. */
static void drop(const struct bpk_curl_calls *curl, struct bpk_joint *joint)
{
	bpk_joint_note(&engine.hosts, joint->carrier.url, BPK_JOINT_DROPPED);
	take_back(curl, &joint->carrier);
	release(curl, &joint->carrier);
	bpk_joint_free(joint);
}

/* ---- sending, by the driver ---- */

/* Hand a request to libcurl. */
static void send_one(const struct bpk_curl_calls *curl, struct bpk_request *request)
{
	request->answer = (struct bpk_answer){ .size = BPK_UNKNOWN, .total = BPK_UNKNOWN };
	request->got = 0;
	request->head_size = request->body_size = request->sent = 0;
	request->is_wrong = request->is_refused = false;
	request->why[0] = '\0';
	request->text.size = 0;
	if (request->tries++ == 0)
		request->begun = bpk_clock();
	request->handle = take_handle(curl);
	if (request->handle != NULL && bpk_prepare(curl, request, &engine.options) == 0 &&
	    curl->curl_multi_add_handle(engine.multi, request->handle) == CURLM_OK) {
		engine.active[engine.running++] = request;
		engine.counts.requests++;
		return;
	}
	bpk_fail(&request->err, BPK_FAILED, "libcurl cannot send a request");
	request->outcome = BPK_OUTCOME_FAILED;
	release(curl, request);
	if (request->joint != NULL)
		settle(request->joint, BPK_JOINT_REFUSED);
	else
		end(request);
}

/* Send the requests whose time has come. Returns the milliseconds until that of the next one. */
static int send_queued(const struct bpk_curl_calls *curl)
{
	double now = bpk_clock(), first = now + POLL / 1000.0;
	struct bpk_request *next;

	for (struct bpk_request *r = engine.queue;
	     r != NULL && engine.running < engine.options.connections; r = next) {
		next = r->next;
		if (r->not_before <= now && !is_unwanted(r, now)) {
			withdraw(r);
			send_one(curl, join(r, now));
			next = engine.queue; /* others may have left it, too */
		} else if (r->not_before < first) {
			first = r->not_before;
		}
	}
	return (int)((first - now) * 1000) + 1;
}

/* Note a try that has failed: it is uncertain if it was sent, and no refusal came. */
static void note_failure(const struct bpk_curl_calls *curl, struct bpk_request *request)
{
	long size = 0;

	curl->curl_easy_getinfo(request->handle, CURLINFO_REQUEST_SIZE, &size);
	if (size > 0 && request->answer.status < 400)
		request->is_uncertain = true;
}

/* End a request that has taken too long. */
static void give_up(struct bpk_request *request)
{
	if (is_unwanted(request, bpk_clock()))
		bpk_fail(&request->err, BPK_FAILED, "was given up before the server answered");
	else
		bpk_fail(&request->err, BPK_FAILED, "the server sent nothing for %u seconds",
			 engine.options.timeout);
	request->outcome = BPK_OUTCOME_FAILED;
	end(request);
}

/* End the late members of a joint request, and the request with the last one. */
static void end_late_members(const struct bpk_curl_calls *curl, struct bpk_joint *joint, double now)
{
	bool is_late = now >= joint->carrier.begun + engine.options.timeout, is_empty = true;

	for (size_t i = 0; i < joint->body.count; i++) {
		struct bpk_request *request = joint->members[i];

		if (request == NULL)
			continue;
		if (!is_late && !is_unwanted(request, now))
			is_empty = false;
		else if (bpk_joint_settle(joint, i, BPK_JOINT_FAILED))
			end(request);
		else
			give_up(request);
	}
	if (is_empty)
		drop(curl, joint);
}

/* End the requests that brought no content for too long, whatever else came: redirections and
 * errors may have a body that drips. And end those whose time is over. */
static void end_late(const struct bpk_curl_calls *curl)
{
	double now = bpk_clock();
	struct bpk_request *next;

	for (unsigned i = engine.running; i-- > 0;) {
		struct bpk_request *request = engine.active[i];

		if (request->joint != NULL) {
			end_late_members(curl, request->joint, now);
			continue;
		}
		if (now < request->begun + engine.options.timeout && !is_unwanted(request, now))
			continue;
		take_back(curl, request);
		engine.counts.sent += request->sent;
		give_up(request);
		note_failure(curl, request);
		release(curl, request);
	}
	for (struct bpk_request *r = engine.queue; r != NULL; r = next) {
		next = r->next;
		if (is_unwanted(r, now)) {
			withdraw(r);
			give_up(r);
		}
	}
}

/* End a request that libcurl has finished with code. */
static void collect_one(const struct bpk_curl_calls *curl, struct bpk_request *request,
			CURLcode code)
{
	bool fails;

	take_back(curl, request);
	engine.counts.sent += request->sent;
	if (request->joint != NULL) {
		enum bpk_joint_end how = bpk_exchange_judge_joint(request, curl, code);

		release(curl, request);
		settle(request->joint, how);
		return;
	}
	fails = bpk_exchange_judge(request, curl, code);
	if (fails || request->outcome != BPK_OUTCOME_BYTES)
		note_failure(curl, request);
	if (!fails || (request->once && request->is_uncertain) || !try_again(request))
		end(request);
	release(curl, request);
}

/* End the requests that libcurl has finished. */
static void collect(const struct bpk_curl_calls *curl)
{
	struct bpk_request *request;
	CURLMsg *message;
	int left;

	while ((message = curl->curl_multi_info_read(engine.multi, &left)) != NULL) {
		CURLcode code = message->data.result;

		if (message->msg != CURLMSG_DONE)
			continue;
		curl->curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&request);
		collect_one(curl, request, code);
	}
}

/* Work on all requests as the driver; with the lock, which is given up meanwhile. wait: until
 * something happens. */
static void drive(const struct bpk_curl_calls *curl, bool wait)
{
	int running, patience;

	engine.driving = true;
	patience = send_queued(curl);
	pthread_mutex_unlock(&engine.lock);
	curl->curl_multi_perform(engine.multi, &running);
	if (wait && running == (int)engine.running) { /* which the driver alone changes */
		curl->curl_multi_poll(engine.multi, NULL, 0, patience, NULL);
		curl->curl_multi_perform(engine.multi, &running);
	}
	pthread_mutex_lock(&engine.lock);
	collect(curl);
	end_late(curl);
	engine.driving = false;
	pthread_cond_broadcast(&engine.changed);
}

/* ---- the calls ---- */

/* With the lock. */
static int make_multi(const struct bpk_curl_calls *curl, struct bpk_err *err)
{
	if (engine.multi == NULL)
		engine.multi = curl->curl_multi_init();
	if (engine.multi == NULL)
		return bpk_fail(err, BPK_NO_MEMORY, "libcurl cannot start");
	/* connections are kept for later requests */
	curl->curl_multi_setopt(engine.multi, CURLMOPT_MAXCONNECTS, (long)CONNECTIONS_MAX);
	return 0;
}

int bpk_request_start(struct bpk_request *request, struct bpk_err *err)
{
	const struct bpk_curl_calls *curl = bpk_curl(err);
	int rc;

	if (curl == NULL)
		return -1;
	request->why = bpk_calloc(1, CURL_ERROR_SIZE, err);
	if (request->why == NULL)
		return -1;
	request->begun = bpk_clock();
	pthread_mutex_lock(&engine.lock);
	rc = make_multi(curl, err);
	if (rc == 0) {
		push(request);
		if (engine.driving)
			curl->curl_multi_wakeup(engine.multi);
		else
			drive(curl, false);
	}
	pthread_mutex_unlock(&engine.lock);
	return rc;
}

void bpk_request_wait(struct bpk_request *request)
{
	const struct bpk_curl_calls *curl = bpk_curl(NULL);

	pthread_mutex_lock(&engine.lock);
	while (!request->is_done)
		if (engine.driving)
			pthread_cond_wait(&engine.changed, &engine.lock);
		else
			drive(curl, true);
	pthread_mutex_unlock(&engine.lock);
}

void bpk_request_stop(struct bpk_request *request)
{
	const struct bpk_curl_calls *curl = bpk_curl(NULL);

	pthread_mutex_lock(&engine.lock);
	while (engine.driving && !request->is_done) {
		/* the driver ends it: it need not let anybody in between its rounds */
		request->deadline = bpk_clock();
		curl->curl_multi_wakeup(engine.multi);
		pthread_cond_wait(&engine.changed, &engine.lock);
	}
	if (!request->is_done) {
		struct bpk_joint *joint = request->joint;

		withdraw(request);
		if (joint != NULL && bpk_joint_remove(joint, request))
			drop(curl, joint);
		if (request->handle != NULL)
			take_back(curl, request);
		release(curl, request);
		request->is_done = true;
	}
	pthread_mutex_unlock(&engine.lock);
	free(request->why);
	request->why = NULL;
	bpk_buf_clear(&request->text);
}

void bpk_request_hurry(struct bpk_request *request, double seconds)
{
	const struct bpk_curl_calls *curl = bpk_curl(NULL);
	double deadline = bpk_clock() + seconds;

	pthread_mutex_lock(&engine.lock);
	if (request->deadline <= 0 || deadline < request->deadline)
		request->deadline = deadline;
	if (engine.driving)
		curl->curl_multi_wakeup(engine.multi);
	pthread_mutex_unlock(&engine.lock);
}

void bpk_request_tell(const char *path, const char *line)
{
	if (!bpk_request_options().quiet)
		bpk_request_warn(path, line);
}

void bpk_request_warn(const char *path, const char *line)
{
	struct bpk_remote_options options = bpk_request_options();

	if (options.tell != NULL)
		options.tell(path, line);
}

void bpk_request_poke(void)
{
	const struct bpk_curl_calls *curl = bpk_curl(NULL);

	pthread_mutex_lock(&engine.lock);
	if (!engine.driving && (engine.running > 0 || engine.queue != NULL))
		drive(curl, false);
	pthread_mutex_unlock(&engine.lock);
}

int bpk_request_run(struct bpk_request *request, struct bpk_err *err)
{
	int rc = 0;

	request->outcome = BPK_OUTCOME_FAILED;
	if (bpk_request_start(request, err) != 0)
		return -1;
	bpk_request_wait(request);
	if (request->outcome != BPK_OUTCOME_BYTES)
		rc = bpk_fail_as(err, &request->err);
	bpk_request_stop(request);
	return rc;
}
