/*
 * Sends requests through libcurl's interface for several transfers. Called by object.c,
 * remote.c and list.c.
 *
 *     queue ──send──▶ running ──collect──▶ done
 *       ▲                        │
 *       └──── later, again ──────┘
 *
 * One thread at a time is the driver: it alone calls libcurl, without the lock, for the requests of
 * all threads. A thread that has to wait becomes the driver if there is none.
 */
#include "io/remote/exchange.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "config.h"
#include "io/remote/curl.h"

enum {
	CONNECTIONS_MAX = 64,
	TRIES = 6,           /* of one request */
	REDIRECTS = 5,       /* followed by one request */
	POLL = 1000,         /* milliseconds at most for one wait */
	SLOWEST = 1000,      /* bytes a second; a connection that brings less is given up */
	RECEIVE = 256 << 10, /* bytes of libcurl's buffer */
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
	if (request->not_before > request->begun + engine.options.timeout)
		return false;
	request->err = (struct bpk_err){ 0 };
	push(request);
	return true;
}

/* ---- sending, by the driver ---- */

static int add_field(const struct bpk_curl_calls *curl, struct curl_slist **fields,
		     const char *line)
{
	struct curl_slist *longer = curl->curl_slist_append(*fields, line);

	if (longer == NULL)
		return -1;
	*fields = longer;
	return 0;
}

/* The header fields that make the server compare versions, or belong to a signature; *fields is
 * NULL where none is needed, and is to be freed in any case. */
static int make_fields(const struct bpk_curl_calls *curl, const struct bpk_request *request,
		       struct curl_slist **fields)
{
	/* SHA-256 of nothing: libcurl 7.88 does not send it of itself */
	static const char no_body[] = "x-amz-content-sha256: e3b0c44298fc1c149afbf4c8996fb924"
				      "27ae41e4649b934ca495991b7852b855";
	const struct bpk_store *store = request->url->store;
	char line[BPK_ANSWER_TEXT + 20];

	*fields = NULL;
	if (store != NULL && store->signer != NULL && add_field(curl, fields, no_body) != 0)
		return -1;
	if (store != NULL && store->token_field != NULL &&
	    add_field(curl, fields, store->token_field) != 0)
		return -1;
	if (request->known != NULL) {
		snprintf(line, sizeof line, "If-None-Match: %s", request->known);
		return add_field(curl, fields, line);
	}
	if (request->seen == NULL || !request->seen->is_strong)
		return 0;
	snprintf(line, sizeof line, "If-Match: %s", request->seen->version);
	return add_field(curl, fields, line);
}

/* The certificates to trust, where the user names a file as for other programs. */
static const char *trusted_file(void)
{
	const char *name = getenv("CURL_CA_BUNDLE");

	return name != NULL && *name != '\0' ? name : getenv("SSL_CERT_FILE");
}

static bool set_limits(const struct bpk_curl_calls *curl, CURL *handle)
{
	long patience = engine.options.timeout < 4 ? 1 : (long)engine.options.timeout / 4;

	/* only a handle that has no buffer yet takes the size */
	(void)curl->curl_easy_setopt(handle, CURLOPT_BUFFERSIZE, (long)RECEIVE);
	return curl->curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
	       curl->curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT, patience) == CURLE_OK &&
	       curl->curl_easy_setopt(handle, CURLOPT_LOW_SPEED_TIME, patience) == CURLE_OK &&
	       curl->curl_easy_setopt(handle, CURLOPT_LOW_SPEED_LIMIT, (long)SLOWEST) == CURLE_OK;
}

/* A signed request goes to the store alone: no redirection, and no name from ~/.netrc. */
static bool set_store(const struct bpk_curl_calls *curl, CURL *handle,
		      const struct bpk_store *store)
{
#if LIBCURL_VERSION_NUM >= 0x075700
	return curl->curl_easy_setopt(handle, CURLOPT_FOLLOWLOCATION, 0L) == CURLE_OK &&
	       curl->curl_easy_setopt(handle, CURLOPT_PATH_AS_IS, 1L) == CURLE_OK &&
	       curl->curl_easy_setopt(handle, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED) ==
		       CURLE_OK &&
	       (store->signer == NULL ||
		(curl->curl_easy_setopt(handle, CURLOPT_AWS_SIGV4, store->signer) == CURLE_OK &&
		 curl->curl_easy_setopt(handle, CURLOPT_USERNAME, store->key_id) == CURLE_OK &&
		 curl->curl_easy_setopt(handle, CURLOPT_PASSWORD, store->secret) == CURLE_OK));
#else
	(void)curl;
	(void)handle;
	return store == NULL; /* none was made: s3.c */
#endif
}

/* A redirection stays within the scheme, and takes no password to another host. */
static bool set_target(const struct bpk_curl_calls *curl, CURL *handle, const char *url)
{
	const char *trusted = trusted_file();
#if LIBCURL_VERSION_NUM >= 0x075500
	char scheme[8];

	snprintf(scheme, sizeof scheme, "%.*s", (int)strcspn(url, ":"), url);
	if (curl->curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, scheme) != CURLE_OK ||
	    curl->curl_easy_setopt(handle, CURLOPT_REDIR_PROTOCOLS_STR, scheme) != CURLE_OK)
		return false;
#else
	long scheme = url[4] == ':' ? CURLPROTO_HTTP : CURLPROTO_HTTPS;

	if (curl->curl_easy_setopt(handle, CURLOPT_PROTOCOLS, scheme) != CURLE_OK ||
	    curl->curl_easy_setopt(handle, CURLOPT_REDIR_PROTOCOLS, scheme) != CURLE_OK)
		return false;
#endif
	return curl->curl_easy_setopt(handle, CURLOPT_URL, url) == CURLE_OK &&
	       curl->curl_easy_setopt(handle, CURLOPT_FOLLOWLOCATION, 1L) == CURLE_OK &&
	       curl->curl_easy_setopt(handle, CURLOPT_MAXREDIRS, (long)REDIRECTS) == CURLE_OK &&
	       curl->curl_easy_setopt(handle, CURLOPT_NETRC, (long)CURL_NETRC_OPTIONAL) ==
		       CURLE_OK &&
	       curl->curl_easy_setopt(handle, CURLOPT_PIPEWAIT, 1L) == CURLE_OK &&
	       curl->curl_easy_setopt(handle, CURLOPT_USERAGENT, "bpk/" PACKAGE_VERSION) ==
		       CURLE_OK &&
	       (trusted == NULL ||
		curl->curl_easy_setopt(handle, CURLOPT_CAINFO, trusted) == CURLE_OK);
}

static bool set_content(const struct bpk_curl_calls *curl, CURL *handle,
			struct bpk_request *request)
{
	char range[64];

	snprintf(range, sizeof range, "%" PRIu64 "-%" PRIu64, request->offset,
		 request->offset + (request->out.size - 1));
	return (request->take != NULL ||
		curl->curl_easy_setopt(handle, CURLOPT_RANGE, range) == CURLE_OK) &&
	       curl->curl_easy_setopt(handle, CURLOPT_HTTPHEADER, request->fields) == CURLE_OK &&
	       curl->curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, request->why) == CURLE_OK &&
	       curl->curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, bpk_exchange_head) ==
		       CURLE_OK &&
	       curl->curl_easy_setopt(handle, CURLOPT_HEADERDATA, request) == CURLE_OK &&
	       curl->curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, bpk_exchange_body) ==
		       CURLE_OK &&
	       curl->curl_easy_setopt(handle, CURLOPT_WRITEDATA, request) == CURLE_OK &&
	       curl->curl_easy_setopt(handle, CURLOPT_PRIVATE, request) == CURLE_OK;
}

static CURL *take_handle(const struct bpk_curl_calls *curl)
{
	return engine.nidle > 0 ? engine.idle[--engine.nidle] : curl->curl_easy_init();
}

/* Give back what a running request holds of libcurl. */
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

/* Hand a request to libcurl. */
static void send_one(const struct bpk_curl_calls *curl, struct bpk_request *request)
{
	struct curl_slist *fields;

	request->answer = (struct bpk_answer){ .size = BPK_UNKNOWN, .total = BPK_UNKNOWN };
	request->got = 0;
	request->head_size = request->body_size = 0;
	request->is_wrong = request->is_refused = false;
	request->why[0] = '\0';
	request->refusal.size = 0;
	if (request->tries++ == 0)
		request->begun = bpk_clock();
	request->handle = take_handle(curl);
	if (request->handle != NULL) {
		int rc = make_fields(curl, request, &fields);

		request->fields = fields;
		if (rc == 0 && set_limits(curl, request->handle) &&
		    set_target(curl, request->handle, request->url->text) &&
		    (request->url->store == NULL ||
		     set_store(curl, request->handle, request->url->store)) &&
		    set_content(curl, request->handle, request) &&
		    curl->curl_multi_add_handle(engine.multi, request->handle) == CURLM_OK) {
			engine.active[engine.running++] = request;
			engine.counts.requests++;
			return;
		}
	}
	bpk_fail(&request->err, BPK_FAILED, "libcurl cannot send a request");
	request->outcome = BPK_OUTCOME_FAILED;
	release(curl, request);
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
		if (r->not_before <= now) {
			withdraw(r);
			send_one(curl, r);
		} else if (r->not_before < first) {
			first = r->not_before;
		}
	}
	return (int)((first - now) * 1000) + 1;
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

/* End the requests that brought no content for too long, whatever else came: redirections and
 * errors may have a body that drips. */
static void end_late(const struct bpk_curl_calls *curl)
{
	double now = bpk_clock();

	for (unsigned i = engine.running; i-- > 0;) {
		struct bpk_request *request = engine.active[i];

		if (now < request->begun + engine.options.timeout)
			continue;
		take_back(curl, request);
		bpk_fail(&request->err, BPK_FAILED, "the server sent nothing for %u seconds",
			 engine.options.timeout);
		request->outcome = BPK_OUTCOME_FAILED;
		end(request);
		release(curl, request);
	}
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
		take_back(curl, request);
		if (!bpk_exchange_judge(request, curl, code) || !try_again(request))
			end(request);
		release(curl, request);
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
		curl->curl_multi_wakeup(engine.multi);
		pthread_cond_wait(&engine.changed, &engine.lock);
	}
	if (!request->is_done) {
		withdraw(request);
		if (request->handle != NULL)
			take_back(curl, request);
		release(curl, request);
		request->is_done = true;
	}
	pthread_mutex_unlock(&engine.lock);
	free(request->why);
	request->why = NULL;
	bpk_buf_clear(&request->refusal);
}

int bpk_request_run(struct bpk_request *request, struct bpk_err *err)
{
	int rc = 0;

	request->outcome = BPK_OUTCOME_FAILED;
	if (bpk_request_start(request, err) != 0)
		return -1;
	bpk_request_wait(request);
	if (request->outcome != BPK_OUTCOME_BYTES)
		rc = bpk_fail(err, request->err.kind, "%s", request->err.text);
	bpk_request_stop(request);
	return rc;
}
