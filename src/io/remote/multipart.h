/*
 * The body of an answer to a request for several ranges of a file: multipart/byteranges, or one
 * range alone. Bytes go in as they come, and are put where they are wanted. Called by exchange.c,
 * with bytes of a server that is not trusted; joint.c sets the ranges.
 *
 *     preamble  --B  head  content  --B  head  content  --B--  epilogue
 *
 * A part is one range, or several that the server has put together; parts come in any order.
 * Source: RFC 9110, "multipart/byteranges"; RFC 2046, section 5.1.1.
 */
#ifndef BPK_IO_REMOTE_MULTIPART_H
#define BPK_IO_REMOTE_MULTIPART_H

#include "io/remote/answer.h"

enum {
	BPK_MULTIPART_RANGES = 16,
	/* Bytes of the file at most that the server sends between ranges, in the whole answer; they
	 * cost less than a request. */
	BPK_MULTIPART_GAPS = 64 << 10,
	BPK_MULTIPART_BETWEEN =
		4 << 10,              /* bytes at most in front of, between and behind contents */
	BPK_MULTIPART_LINE = 1 << 10, /* bytes of a line of these */
};

struct bpk_multipart_range {
	uint64_t offset;
	struct bpk_span out; /* 1 byte at least; with data NULL the bytes are passed over */
	bool is_whole;       /* all its bytes came, and their part ended where it should */
	bool is_taken;       /* the parser's: a part of the answer has it */
};

/* Caller storage, valid when zeroed and the first part is set. One thread at a time. */
struct bpk_multipart {
	/* set by the caller; out.data may become NULL at any time */
	struct bpk_multipart_range ranges[BPK_MULTIPART_RANGES]; /* ascending, without overlap */
	size_t count;
	uint64_t total; /* bytes of the file: that of every part */

	/* the parser's */
	enum {
		BPK_MULTIPART_PREAMBLE,
		BPK_MULTIPART_HEAD,
		BPK_MULTIPART_CONTENT,
		BPK_MULTIPART_BEHIND, /* content: the end of its last line */
		BPK_MULTIPART_DELIMITER,
		BPK_MULTIPART_EPILOGUE,
		BPK_MULTIPART_SINGLE, /* the content of a range without parts */
		BPK_MULTIPART_WRONG,
	} state;
	char delimiter[2 + BPK_ANSWER_BOUNDARY + 1]; /* "--B" */
	char line[BPK_MULTIPART_LINE];
	size_t line_size;
	size_t ending;          /* bytes of the line in front of the content: behind it the same */
	size_t between;         /* bytes since the last content */
	uint64_t gaps;          /* bytes of the file that nobody wanted */
	struct bpk_answer part; /* the head of the part */
	uint64_t at, end;       /* the content of the part that is left: bytes of the file */
	size_t first, last;     /* the ranges that it has */
};

/* Begin with the head of an answer, whose status is 206. False: it is none to these ranges. */
bool bpk_multipart_begin(struct bpk_multipart *body, const struct bpk_answer *answer);

/* Take the next bytes of the body, 1 at least. False: it is a wrong answer, of which no range is
 * whole. */
bool bpk_multipart_take(struct bpk_multipart *body, struct bpk_view bytes);

/* True if the body has ended within a part, or before the delimiter behind it. */
bool bpk_multipart_is_cut(const struct bpk_multipart *body);

#endif
