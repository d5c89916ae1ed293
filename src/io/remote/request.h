/*
 * Requests for ranges of a file, several at a time, without a thread of their own: a thread that
 * waits for its request does the work of all. Failures that may pass (no connection, a reset, a
 * short answer, status 408, 429 or 5xx) are tried again, later each time. Called by object.c,
 * remote.c, list.c and, through upload.h, by those who write.
 */
#ifndef BPK_IO_REMOTE_REQUEST_H
#define BPK_IO_REMOTE_REQUEST_H

#include "io/remote.h"
#include "io/remote/answer.h"
#include "io/remote/url.h"

/* What became of a request. */
enum bpk_outcome {
	BPK_OUTCOME_FAILED,  /* err says why */
	BPK_OUTCOME_BYTES,   /* the bytes wanted, fewer only at the end of the file */
	BPK_OUTCOME_WHOLE,   /* the server does not send ranges; no byte was stored */
	BPK_OUTCOME_CHANGED, /* another version of the file is there */
	BPK_OUTCOME_SAME,    /* the version that is known; it was not sent */
	/* As FAILED, of a first answer: there is no such file; or a store denies access, as it does
	 * for a missing file, too, to those who may not list. */
	BPK_OUTCOME_MISSING,
	BPK_OUTCOME_DENIED,
};

/* Caller storage; valid when zeroed and the members of the first part are set. */
struct bpk_request {
	/* set by the caller, fixed until the request is done */
	const struct bpk_url *url;
	uint64_t offset;     /* of the first byte wanted */
	struct bpk_span out; /* room for the bytes wanted, 1 at least */
	/* The answer that began the file: version and size must be the same. NULL: any. */
	const struct bpk_answer *seen;
	const char *known; /* a strong ETag: this version is not to be sent; NULL: any */
	/* Takes the bytes of the whole file, in order, instead of out; no range is asked for then,
	 * and nothing is tried again once a byte was taken. Any thread may call it; non-zero fails
	 * the request. */
	int (*take)(void *arg, struct bpk_view bytes, struct bpk_err *err);
	void *take_arg;

	/* NULL: content is asked for, as above. Or "HEAD", "PUT", "POST" or "DELETE": a request to
	 * a store, for which the members above but url do not count. A good answer has an ETag; to
	 * POST, the element proof in its text; to DELETE, the status 204. */
	const char *method;
	struct bpk_view body;     /* to be sent */
	const char *const *lines; /* more header fields; ends with NULL */
	const char *proof;        /* the path of an XML element */
	bool fresh; /* on a connection of its own: libcurl never sends it again by itself */
	bool once;  /* fresh, and not tried again where a try may have been carried out unsaid */

	/* the answer, once it is done */
	enum bpk_outcome outcome;
	struct bpk_answer answer;
	uint64_t got; /* bytes stored, or taken */
	unsigned tries;
	bool is_uncertain; /* a try was sent, and the server may have carried it out unsaid */
	struct bpk_buf
		text; /* the beginning of a store's text, of an error or an answer to method */
	struct bpk_err err;

	/* request.c's, under its lock or the driver's own */
	struct bpk_request *next; /* in the queue */
	void *handle, *fields;    /* of libcurl, while it runs */
	bool is_done;
	bool is_refused;               /* the transfer was ended by us */
	bool is_wrong;                 /* since it brought other bytes than those wanted */
	uint64_t head_size, body_size; /* received */
	uint64_t sent;                 /* of body */
	double begun;      /* when it started, or its last byte came or went; a time of bpk_clock */
	double deadline;   /* of bpk_request_hurry; 0: none */
	double not_before; /* when the next try may be sent */
	/* The request that it is joined to others in, or that it is the carrier of; or NULL. */
	struct bpk_joint *joint;
	bool is_alone; /* it was in one, and is in none any more */
	char *why;     /* libcurl's text */
};

/* Begin a request; it is sent at once if a connection is free. Any thread. Fails with BPK_NO_MEMORY
 * or BPK_FAILED (libcurl cannot be loaded); then there is nothing to wait for. */
int bpk_request_start(struct bpk_request *request, struct bpk_err *err);

/* Wait until the request is done. Any thread; several may wait for one request. */
void bpk_request_wait(struct bpk_request *request);

/* End a request that was started, whatever its state; its storage is the caller's again. */
void bpk_request_stop(struct bpk_request *request);

/* Let a request that was started, and perhaps is done, end within seconds, or fail. Its owner goes
 * on to wait for it and to stop it. Any thread. */
void bpk_request_hurry(struct bpk_request *request, double seconds);

/* Tell the user a line about a URL, or a file of ours, unless he wants none; and a line on
 * something that he has to do, in any case. */
void bpk_request_tell(const char *path, const char *line);
void bpk_request_warn(const char *path, const char *line);

/* Send and receive without a wait. For a thread that has other work. */
void bpk_request_poke(void);

/* All of this at once: its outcome is set in any case. Fails with the request's error unless it
 * brought the bytes. */
int bpk_request_run(struct bpk_request *request, struct bpk_err *err);

/* The counts of bpk_remote_counted, but for the cache's. */
struct bpk_remote_counts bpk_request_counted(void);

/* The options of bpk_remote_set. */
struct bpk_remote_options bpk_request_options(void);

#endif
