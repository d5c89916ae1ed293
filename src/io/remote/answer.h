/*
 * The head of a server's answer: its status line and header fields. exchange.c feeds them line by
 * line.
 * Source: RFC 9110, "Content-Range", "ETag", "Last-Modified", "Location", "Retry-After";
 * RFC 2046, section 5.1.1.
 */
#ifndef BPK_IO_REMOTE_ANSWER_H
#define BPK_IO_REMOTE_ANSWER_H

#include "base/base.h"

enum {
	BPK_ANSWER_TEXT = 200,
	BPK_ANSWER_BOUNDARY = 70, /* characters at most, as RFC 2046 has it */
};

struct bpk_answer {
	unsigned status;      /* 206; 0 before the status line */
	bool has_range;       /* a Content-Range with a first and a last byte */
	bool is_bad;          /* a Content-Range that cannot be read, or content that is encoded */
	bool is_complete;     /* the head has ended; lines behind the content are passed over */
	bool is_framed;       /* the end of the content is noticed without Content-Length */
	uint64_t first, size; /* of the bytes that follow; first is 0 without has_range */
	uint64_t total;       /* bytes of the whole file, BPK_UNKNOWN if the server does not say */
	unsigned retry_after; /* seconds; 0: not given */
	bool is_strong;       /* version is an ETag that If-Match may ask for */
	bool is_multipart;    /* of the type multipart/byteranges */
	char boundary[BPK_ANSWER_BOUNDARY + 1]; /* between its parts; "": none that may be one */
	char version[BPK_ANSWER_TEXT];          /* ETag, or else Last-Modified; "": neither */
	char reason[BPK_ANSWER_TEXT];           /* of the status line; "" in HTTP/2 */
	bool is_checked; /* a store will compare CRC-32s of parts (x-amz-checksum-algorithm) */
	char mark[BPK_ANSWER_TEXT];     /* of the command that wrote the file; "": none */
	char location[BPK_ANSWER_TEXT]; /* where it redirects to, cut; "": nowhere */
};

/* The field of a store's file with the mark of the command that wrote it, in small letters. */
#define BPK_ANSWER_MARK "x-amz-meta-bpk-upload"

/* Take one line of the head, with or without its end. A status line begins a new answer: that of
 * a redirection's target, or the final one. */
void bpk_answer_take(struct bpk_answer *answer, struct bpk_view line);

#endif
