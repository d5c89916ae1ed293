/*
 * Files on web servers and in stores of S3, read by ranges of bytes; and files written into stores,
 * which appear there as a whole or not at all. A part of the room's door.
 * Without libcurl every open fails, and nothing else changes.
 *
 * A file is opened with one request, which also brings its first bytes. Later reads bring what they
 * need, several requests at a time. All bytes of an open file are of one version: the server names
 * it (ETag, or else Last-Modified) with every answer, and another one is a failure, "changed while
 * it was read".
 * Source: RFC 9110, "Range Requests" and "Conditional Requests".
 */
#ifndef BPK_IO_REMOTE_H
#define BPK_IO_REMOTE_H

#include "io/io.h"

struct bpk_remote_options {
	unsigned connections;  /* requests at a time, 1..64 */
	unsigned timeout;      /* seconds without a byte, after which a read fails; 1.. */
	uint64_t max_download; /* bytes of a file that a server sends only as a whole */
	/* Of stores, borrowed for ever; NULL or "": those of environment and files. */
	const char *endpoint, *region;
	/* A folder where blocks of files are kept, and how many bytes at most; made if it is not
	 * there, borrowed for ever. NULL or "": none. */
	const char *cache;
	uint64_t cache_size;
	/* Report a line about url, or the cache, which reads go on after, or about files that may
	 * be left in a store; NULL: no report. Any thread. */
	void (*tell)(const char *url, const char *line);
	bool quiet; /* report only files that may be left, and outcomes that are uncertain */
};

/* Replace the options. Called once, before the first file is opened. */
void bpk_remote_set(const struct bpk_remote_options *options);

/* True if path begins as the URL of a store's file, s3://BUCKET/KEY, in small letters. KEY is
 * taken as it is: "%" and "?" are bytes like others. */
static inline bool bpk_path_is_s3(const char *path)
{
	return strncmp(path, "s3://", 5) == 0;
}

/* True if path begins as a URL that bpk knows: that of a store, or "http://" or "https://". */
static inline bool bpk_path_is_url(const char *path)
{
	return strncmp(path, "http://", 7) == 0 || strncmp(path, "https://", 8) == 0 ||
	       bpk_path_is_s3(path);
}

/* The bytes of path in front of a query, if it is a URL that has one: those that name the file. */
static inline size_t bpk_path_name_size(const char *path)
{
	return bpk_path_is_url(path) && !bpk_path_is_s3(path) ? strcspn(path, "?#") : strlen(path);
}

/*
 * Open a URL as a seekable source. A file that the server does not send by ranges is downloaded to
 * a spool. Fails with BPK_FAILED (no such file, no access, no answer in time), BPK_LIMIT (more than
 * max_download), BPK_UNSUPPORTED (bpk was built without libcurl, or with one too old for s3://), or
 * BPK_USAGE (a URL with a password, or without a host). *missing: it failed because there is no
 * such file, as far as a store lets the user know. Reads of the source may fail with BPK_FAILED.
 * Any thread may read.
 */
int bpk_remote_open(const char *url, struct bpk_source **source, bool *missing,
		    struct bpk_err *err);

/* True if path is the URL of a directory: it ends with "/", or is that of a bucket. */
bool bpk_remote_is_folder(const char *path);

/*
 * Open the URL of a directory. Its names are looked up in listings if it is of a store; a web
 * server is asked for each file, and has no directories in it (bpk_dir_lists). Fails as
 * bpk_remote_open, and with BPK_FAILED if a change of it was interrupted.
 */
int bpk_remote_dir_open(const char *url, struct bpk_dir **dir, struct bpk_err *err);

/* *has is true if a store has files below path, the URL of a directory with its last slash or
 * without. Fails as bpk_remote_open. */
int bpk_remote_has_folder(const char *path, bool *has, struct bpk_err *err);

/* For bpk_walk: add the entries of the folder of that URL. Fails as bpk_dir_list. */
struct bpk_dir_entries;
int bpk_remote_entries(const char *url, struct bpk_dir_entries *entries, struct bpk_err *err);

/*
 * Begin to write a file of a store: bpk_draft_open for a URL. The store is asked for the name;
 * keep fails with "already exists", or without a change, if that is something else by then. Nothing
 * is visible before keep, and nothing is left by drop, or by a signal, unless a line of tell says
 * so. A directory's files are visible before, but for the last one that is staged, which should be
 * the one that makes them an archive; a directory is never replaced. A failed keep says so if it
 * does not know the outcome. Memory: connections + 3 parts of 8 MiB, larger ones beyond 8 GB; or as
 * many chunks of a directory. Fails as bpk_draft_open and bpk_remote_open do.
 */
int bpk_remote_draft(const char *url, const struct bpk_draft_options *options,
		     struct bpk_draft **draft, struct bpk_err *err);

/*
 * Open a directory in a store to add to it: bpk_tree_open for a URL. There is no lock: the commit
 * replaces options->pivot, which must be the file as it was when the tree was opened. It needs
 * bpk_tree_only_adds. Fails as bpk_tree_open and bpk_remote_open do.
 */
struct bpk_tree;
struct bpk_edit_options;
int bpk_remote_tree_open(const char *url, const struct bpk_edit_options *options,
			 struct bpk_tree **tree, struct bpk_err *err);

/* Requests sent so far by this process, bytes of content received, from the cache, and sent. */
struct bpk_remote_counts {
	uint64_t requests, bytes, cached, sent;
};
struct bpk_remote_counts bpk_remote_counted(void);

/* The version of libcurl that bpk was built with; NULL: without it. */
const char *bpk_remote_library(void);

#endif
