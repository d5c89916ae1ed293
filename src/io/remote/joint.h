/*
 * Requests for ranges of one file that are sent as one, since they wait for a connection anyway:
 *
 *     request ──┐                       ┌──▶ its bytes
 *     request ──┼── carrier ── answer ──┼──▶ its bytes
 *     request ──┘                       └──▶ by itself, once more
 *
 * libcurl sees the carrier alone. Bytes count only where all checks of a single range hold; any
 * other request is sent by itself, and judged as if it had never been joined. Called by request.c,
 * with its lock, and by exchange.c and prepare.c for the driver.
 * Source: RFC 9110, section 14.2: a server may send the whole file instead, or a part of the
 * ranges. S3 does (Amazon S3 API, GetObject), so that stores get no such request.
 */
#ifndef BPK_IO_REMOTE_JOINT_H
#define BPK_IO_REMOTE_JOINT_H

#include "io/remote/multipart.h"
#include "io/remote/request.h"

enum {
	BPK_JOINT_TEXT = BPK_MULTIPART_RANGES * 44, /* bytes of a Range */
	BPK_JOINT_HOSTS = 16,                       /* that are remembered */
};

struct bpk_joint {
	struct bpk_request carrier;
	struct bpk_multipart body;
	/* those whose bytes are body.ranges; NULL: it was taken out */
	struct bpk_request *members[BPK_MULTIPART_RANGES];
	char why[256]; /* of the carrier: CURL_ERROR_SIZE */
};

/* What is known of servers. Valid when zeroed. */
struct bpk_joint_hosts {
	struct {
		bool is_used;
		bool is_proved; /* it has sent several ranges */
		bool is_tried;  /* its first joint request is under way, and it gets no other yet */
		unsigned failures; /* one after the other; those that may pass count half */
		uint64_t hash;
	} rows[BPK_JOINT_HOSTS];
	unsigned next; /* the row to be replaced */
};

/* What became of a joint request. */
enum bpk_joint_end {
	BPK_JOINT_TAKEN,   /* all ranges are whole */
	BPK_JOINT_REFUSED, /* the server does not send several ranges, or not these */
	BPK_JOINT_FAILED,  /* as any request may fail, for a while; the carrier's err says why */
	BPK_JOINT_DROPPED, /* nobody waited for it any more */
};

/* True if the request may be one of several: the server and the file are known for it. */
bool bpk_joint_may(const struct bpk_joint_hosts *hosts, const struct bpk_request *request);

/* A joint request of two that may be; freed by bpk_joint_free. NULL: they are not of one version of
 * a file, too large, or there is no memory. */
struct bpk_joint *bpk_joint_new(struct bpk_request *request, struct bpk_request *other);

/* Add another one that may be, unless it does not fit. True: it was added. */
bool bpk_joint_add(struct bpk_joint *joint, struct bpk_request *request);

/* Take out a request: nothing is written to its memory any more. Returns true if none is left. */
bool bpk_joint_remove(struct bpk_joint *joint, struct bpk_request *request);

/* Write the ranges as CURLOPT_RANGE wants them. */
void bpk_joint_text(const struct bpk_joint *joint, char text[BPK_JOINT_TEXT]);

/* Note that a joint request to url is sent. */
void bpk_joint_note_sent(struct bpk_joint_hosts *hosts, const struct bpk_url *url);

/* Note how it has ended. */
void bpk_joint_note(struct bpk_joint_hosts *hosts, const struct bpk_url *url,
		    enum bpk_joint_end end);

/* Take a member out, and set its outcome and answer. False: it has to be sent by itself; its try
 * counts if that failed. */
bool bpk_joint_settle(struct bpk_joint *joint, size_t member, enum bpk_joint_end end);

void bpk_joint_free(struct bpk_joint *joint);

#endif
