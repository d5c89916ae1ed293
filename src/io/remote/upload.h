/*
 * A file on its way into a store of S3, as a draft: the bytes are gathered in parts, the parts are
 * sent as a multipart upload while later ones are written, and one last request makes all of it
 * visible. A small file is that request alone.
 *
 *     upload.c    the draft: bytes into parts; which parts are complete
 *     deposit.c   the talk with the store: begin, send a part, abort, look
 *     commit.c    the last request, and the finding of its outcome where it is lost; signals
 *
 * Source: Amazon S3 API, CreateMultipartUpload, UploadPart, CompleteMultipartUpload,
 * AbortMultipartUpload, PutObject, HeadObject.
 */
#ifndef BPK_IO_REMOTE_UPLOAD_H
#define BPK_IO_REMOTE_UPLOAD_H

#include <pthread.h>

#include "io/cleanup.h"
#include "io/remote/request.h"

enum {
	BPK_UPLOAD_SLOTS = 64, /* parts on their way at a time, at most */
	BPK_UPLOAD_TEXT = 64,  /* bytes of a header line with a digest, or of a mark */
};

/* Bytes [from, to) of a part. */
struct bpk_extent {
	size_t from, to;
};

enum bpk_part_state { BPK_PART_OPEN, BPK_PART_SENT, BPK_PART_STORED };

struct bpk_part {
	uint64_t start; /* in the file */
	size_t size;
	enum bpk_part_state state;
	uint8_t *bytes; /* zeros where nothing was written; NULL: nothing was, or it is sent */
	struct bpk_extent *written; /* in order, without touching each other */
	size_t nwritten, room;
	uint32_t crc; /* once it is sent */
	char *tag;    /* the ETag, once it is stored */
};

/* A part on its way. */
struct bpk_slot {
	struct bpk_request request;
	struct bpk_url url;
	char crc[BPK_UPLOAD_TEXT];
	const char *lines[2];
	size_t part;
	uint8_t *bytes;
	bool is_started; /* guarded by the upload's lock */
};

/* The state of the file at the store, as a request has found it. */
enum bpk_sight {
	BPK_SIGHT_UNKNOWN, /* it could not be looked at */
	BPK_SIGHT_NONE,    /* there is no such file */
	BPK_SIGHT_OTHER,   /* a file of another command */
	BPK_SIGHT_OURS,
};

/* What follows a good answer to a request, under the lock. */
enum bpk_step { BPK_STEP_LOOK, BPK_STEP_BEGIN, BPK_STEP_COMMIT, BPK_STEP_ABORT };

struct bpk_upload {
	/* fixed after open */
	char *path; /* as the user wrote it */
	struct bpk_url url;
	char mark[BPK_UPLOAD_TEXT];      /* the header line that says whose the file is */
	char condition[BPK_ANSWER_TEXT]; /* the header line for the last request; "": none */
	char old_tag[BPK_ANSWER_TEXT];   /* of the file to be replaced; "": none, or not known */
	bool overwrite;
	const char *remedy; /* for "already exists"; or NULL */
	bool is_member;     /* a file of a directory (objects.h), which cleans up */
	bool is_added;      /* to a directory that is there */
	unsigned connections;
	struct bpk_cleanup cleanup;
	struct bpk_upload *next; /* of a directory's open files; guarded by the cleanup lock */

	/* of the thread that writes, or keeps: guarded by write_lock while several may write */
	pthread_mutex_t write_lock;
	struct bpk_part *parts;
	size_t nparts, room;
	uint64_t base;           /* bytes of the first parts */
	uint64_t end;            /* bytes of the file so far */
	struct bpk_spool *spool; /* all bytes, for a writer that reads back; NULL: parts */
	struct bpk_slot slots[BPK_UPLOAD_SLOTS];
	size_t nsent;    /* parts that were sent: the next slot is nsent % connections */
	bool is_checked; /* the store compares CRCs, and wants them once more at the end */
	bool is_last;    /* of a directory: its request has a connection of its own */
	char crc[BPK_UPLOAD_TEXT]; /* header lines of a whole file, while it is put */
	const char *lines[5];
	bool is_uncertain; /* the last request failed, and the store may carry it out later */

	/* shared with the thread that takes a signal */
	pthread_mutex_t lock;
	pthread_cond_t calm;        /* is_busy has become false */
	bool is_over;               /* a signal has come: nothing may be sent any more */
	bool is_busy;               /* control is on its way */
	bool is_committing;         /* the last request was begun */
	bool is_done;               /* the file is visible */
	bool is_closed;             /* nothing is left to be cleaned up */
	char *id;                   /* of the multipart upload; NULL: none is open at the store */
	struct bpk_request control; /* a request but of a part */
	enum bpk_step step;         /* of control */
};

/* ---- upload.c ---- */

/* bpk_draft_open for a file in a store. */
int bpk_upload_open(const char *path, const struct bpk_draft_options *options,
		    struct bpk_draft **draft, struct bpk_err *err);

/* ---- deposit.c ---- */

/* An answer, without its text. */
struct bpk_reply {
	enum bpk_outcome outcome;
	struct bpk_answer answer;
	unsigned tries;
	bool is_missing_upload; /* the store says that there is no such upload (any more) */
	bool is_silent;         /* the body was sent, and no answer came to the last try */
	bool is_uncertain;      /* of the request */
};

/*
 * Run a request of the upload. Fails with the request's error, or when a signal has come. seconds:
 * 0; or, for the thread that took the signal, the time after which the request is given up.
 */
int bpk_deposit_run(struct bpk_upload *upload, enum bpk_step step, const struct bpk_request *wish,
		    double seconds, struct bpk_reply *reply, struct bpk_err *err);

/* Both halves of a run: nothing waits in between, and all that wish points to stays there. */
int bpk_deposit_start(struct bpk_upload *upload, enum bpk_step step, const struct bpk_request *wish,
		      struct bpk_err *err);
int bpk_deposit_end(struct bpk_upload *upload, enum bpk_step step, struct bpk_reply *reply,
		    struct bpk_err *err);

/* Look up the file at the store; err says why it cannot be seen. seconds: as above. */
enum bpk_sight bpk_deposit_look(struct bpk_upload *upload, double seconds, struct bpk_reply *reply,
				struct bpk_err *err);

/* Send a complete part, after another one has arrived if too many are on their way; takes its
 * bytes. wait: until a part has arrived, or all. Both fail if any part did. */
int bpk_deposit_send(struct bpk_upload *upload, size_t number, struct bpk_err *err);
int bpk_deposit_wait(struct bpk_upload *upload, struct bpk_err *err);

/* End the parts on their way, whatever their state, and free their bytes. */
void bpk_deposit_drop_parts(struct bpk_upload *upload);

/* Abort the multipart upload at the store, if one is open. seconds: as above. Fails if it may still
 * be there. */
int bpk_deposit_abort(struct bpk_upload *upload, double seconds, struct bpk_err *err);

/* Write a CRC-32 as S3 does: the header line, or the text alone. */
void bpk_deposit_crc_line(uint32_t crc, char line[BPK_UPLOAD_TEXT]);
void bpk_deposit_crc_text(uint32_t crc, char text[9]);

/* The URL of the file with the query of an open multipart upload. */
int bpk_deposit_url(const struct bpk_upload *upload, const char *id, struct bpk_url *url,
		    struct bpk_err *err);

/* ---- commit.c ---- */

/* Look up the file at the store before anything is sent, and set the condition of the last request.
 * Fails as bpk_draft_open. */
int bpk_upload_begin(struct bpk_upload *upload, struct bpk_err *err);

/* Make the file visible: of all parts, which are stored; or begin to do so, of bytes alone, which
 * stay there, and wait for that. */
int bpk_upload_complete(struct bpk_upload *upload, struct bpk_err *err);
int bpk_upload_put(struct bpk_upload *upload, struct bpk_view bytes, struct bpk_err *err);
int bpk_upload_end_put(struct bpk_upload *upload, struct bpk_err *err);

/* For bpk_cleanup_add: a signal ends the upload. */
void bpk_upload_interrupt(void *upload);

/* The same in steps, for the files of a directory: end all requests, that of a whole file within
 * seconds (false: it was closed); then find out whose the file is. OURS: it is to be removed;
 * UNKNOWN: it may be left, or appear later. until: a time of bpk_clock. Any thread, with the
 * cleanup lock. */
bool bpk_upload_stop(struct bpk_upload *upload, double seconds);
enum bpk_sight bpk_upload_settle(struct bpk_upload *upload, double until);

/* ---- upload.c, for the files of a directory ---- */

/* Begin the file name of that directory. tag: of the file to be replaced; NULL: there must be none.
 * Sends nothing. For bpk_upload_free. */
int bpk_upload_open_member(const char *directory, const struct bpk_url *url, const char *name,
			   const char *tag, struct bpk_upload **upload, struct bpk_err *err);

/* A draft that writes the file; its drop leaves the upload. And the upload of such a draft. */
int bpk_upload_draft(struct bpk_upload *upload, struct bpk_draft **draft, struct bpk_err *err);
struct bpk_upload *bpk_upload_of(const struct bpk_draft *draft);

/* Send a complete file: to return while a small one is on its way, and to wait for that. */
int bpk_upload_send(struct bpk_upload *upload, struct bpk_err *err);
int bpk_upload_wait(struct bpk_upload *upload, struct bpk_err *err);

/* End what is on its way, and free it; the file stays. */
void bpk_upload_free(struct bpk_upload *upload);

#endif
