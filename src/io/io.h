/*
 * The door of the room io: places, sources to read from and drafts to write to. It reads and writes
 * in full loops, keeps committed content, drops everything else, and never knows the meaning
 * of the bytes. layout, format and the rooms above them call it.
 */
#ifndef BPK_IO_IO_H
#define BPK_IO_IO_H

#include <sys/stat.h>
#include <time.h>

#include "base/base.h"

/* All files must agree on struct stat and on the size of an offset. */
_Static_assert(sizeof(off_t) == 8, "files over 2 GiB need -D_FILE_OFFSET_BITS=64");

/* ---- Sources: bytes to be read ---- */

/*
 * A source is a file, a pipe, a device or memory. read, peek and skip move its one cursor and
 * belong to one thread at a time. Any thread may call read_at and the queries.
 */
struct bpk_source;

/*
 * Open path for reading. "-" is standard input: a regular file there is read from its current
 * position, which counts as offset 0. Opening a FIFO waits for its writer. Fails with BPK_FAILED:
 * missing, no permission, a directory.
 */
int bpk_source_open(const char *path, struct bpk_source **source, struct bpk_err *err);

/* The name of such a path in messages: "-" is "standard input". */
const char *bpk_input_name(const char *path);

/* Make a seekable source of bytes, which are borrowed and must outlive it. */
int bpk_source_of_memory(struct bpk_view bytes, struct bpk_source **source, struct bpk_err *err);

void bpk_source_close(struct bpk_source *source); /* NULL is harmless */

/* True when read_at works: regular files, block devices, memory. */
bool bpk_source_seekable(const struct bpk_source *source);

/* The size in bytes at open; BPK_UNKNOWN when the source is not seekable. */
uint64_t bpk_source_size(const struct bpk_source *source);

/* The cursor's offset. */
uint64_t bpk_source_tell(const struct bpk_source *source);

/* Read out.size bytes at the cursor, fewer only at the end; *got is the number read. Repeats the
 * call after a short read or EINTR. Fails with BPK_FAILED. */
int bpk_source_read(struct bpk_source *source, struct bpk_span out, size_t *got,
		    struct bpk_err *err);

/* Read the first bytes of a file, up to size, so that small reads there cost no system call. Before
 * other threads read it; nothing for files that bpk changes in place, and for other sources. */
int bpk_source_keep_head(struct bpk_source *source, size_t size, struct bpk_err *err);

/* The number of bytes from offset on that are a hole of a file, and so zeros; 0 where the file
 * system knows none. Any thread. */
uint64_t bpk_source_hole_at(const struct bpk_source *source, uint64_t offset);

/* Expect a stream to end size bytes from its start, before the first read. The read that reaches
 * them waits for the end, and fails with BPK_FAILED if more bytes come. */
void bpk_source_expect(struct bpk_source *source, uint64_t size);

/* Read at an offset, without the cursor; seekable sources only. Past the end *got is 0. */
int bpk_source_read_at(struct bpk_source *source, uint64_t offset, struct bpk_span out, size_t *got,
		       struct bpk_err *err);

/* The same with the help of other threads, if the source is a file and the read is large; sharing
 * may be NULL. The result is that of the lowest offset whose bytes could not be read. */
int bpk_source_read_shared_at(struct bpk_source *source, uint64_t offset, struct bpk_span out,
			      const struct bpk_sharing *sharing, size_t *got, struct bpk_err *err);

/* Announce reads of size bytes at offset: a remote file begins to fetch them. Does nothing for
 * other sources, and never fails. Any thread. */
void bpk_source_ahead(struct bpk_source *source, uint64_t offset, uint64_t size);

/* Read exactly out.size bytes at an offset, or fail with BPK_CORRUPT: "ends N bytes early". */
int bpk_source_need_at(struct bpk_source *source, uint64_t offset, struct bpk_span out,
		       struct bpk_err *err);
int bpk_source_need_shared_at(struct bpk_source *source, uint64_t offset, struct bpk_span out,
			      const struct bpk_sharing *sharing, struct bpk_err *err);

/*
 * Look at the next size bytes, fewer only at the end, without moving the cursor. *head is borrowed
 * until the next call on the cursor. Costs size bytes of memory.
 */
int bpk_source_peek(struct bpk_source *source, size_t size, struct bpk_view *head,
		    struct bpk_err *err);

/* Move the cursor forward; a stream is read instead. *skipped is smaller than size only at the
 * end. */
int bpk_source_skip(struct bpk_source *source, uint64_t size, uint64_t *skipped,
		    struct bpk_err *err);

/* Count the offsets of a stream from its cursor, as if it began there. */
void bpk_source_rebase(struct bpk_source *source);

/* The result of fstat at open; all zero for memory. */
const struct stat *bpk_source_stat(const struct bpk_source *source);

/* Fails with BPK_FAILED, "changed while it was read", when size, mtime or ctime of a regular file
 * differ from those at open. */
int bpk_source_unchanged(struct bpk_source *source, struct bpk_err *err);

/* *overwritten: a regular file was written to since it was opened: its size or its mtime differ, or
 * its ctime, unless it only lost or changed a name. Fails with BPK_FAILED. One system call. */
int bpk_source_is_overwritten(const struct bpk_source *source, bool *overwritten,
			      struct bpk_err *err);

/* A hash of a file's inode, size and times at open. */
uint64_t bpk_source_state(const struct bpk_source *source);

/* True if state is that of the same file, unchanged. It may have been a draft, which a commit has
 * renamed since. */
bool bpk_source_has_state(const struct bpk_source *source, uint64_t state);

/* True if every read may cost a request over a network. */
bool bpk_source_is_remote(const struct bpk_source *source);

/* True if bpk may change the file in place while it is read. */
bool bpk_source_may_change(const struct bpk_source *source);

/*
 * True if nobody has written to the file since it was opened. The file was opened before opened, a
 * CLOCK_REALTIME time. False when the times cannot prove it, because the last write came just
 * before.
 */
bool bpk_source_is_untouched(const struct bpk_source *source, const struct timespec *opened);

/*
 * Between hold and release, reads of a file opened by bpk_place_open see one committed state of it,
 * even while a writer changes it or after one died: the change lock is shared, and regions saved in
 * a journal are read from the journal. The size is that of this state and may differ from the size
 * at open.
 *
 * Any thread may hold, and several at once. A thread that already holds must not hold again: it
 * could wait a second for itself. Pipes, memory and plain sources need no hold; slices and joins
 * hold their parts. The first of several holders pays for five system calls.
 *
 * A journal of another file is ignored (bpk_source_remark). Fails with BPK_CORRUPT when the journal
 * of this file is damaged, or when another program has written to the file since.
 */
int bpk_source_hold(struct bpk_source *source, struct bpk_err *err);
void bpk_source_release(struct bpk_source *source);

/* True if a hold since then, a CLOCK_MONOTONIC time, has lasted so long that the caller should
 * release it and hold again, so that a waiting writer gets its turn. */
bool bpk_hold_is_long(const struct timespec *since);

/*
 * Reads without a hold, which cost one system call: between glance and is_still, reads see the
 * committed state of the last hold, if is_still returns true for the number that glance returned.
 * Otherwise the bytes read are worth nothing, and the caller reads again between hold and release.
 *
 * glance returns 0 if there must be a hold: the file changed less than a tenth of a second before
 * the last one, is read through a journal, or lies on a file system whose times may be late. Slices
 * and joins always need one. Any thread.
 */
unsigned bpk_source_glance(struct bpk_source *source);
bool bpk_source_is_still(struct bpk_source *source, unsigned state);

/* True if somebody is changing the file, or died doing so: its writer lock is held now, or reads go
 * through a journal (bpk_source_pending). An ignored journal does not count. */
bool bpk_source_in_change(struct bpk_source *source);

/* True if the last hold (or open) found a change that a writer left unfinished, so that reads go
 * through its journal. */
bool bpk_source_pending(const struct bpk_source *source);

/* True if that change keeps this time of the file (struct bpk_edit_kept), or has changed nothing;
 * and if it has saved all of size bytes at offset, as far as the file had them. False for a slice
 * or a join. Any thread. */
bool bpk_source_pending_keeps(const struct bpk_source *source, const struct timespec *time);
bool bpk_source_pending_saved(const struct bpk_source *source, uint64_t offset, uint64_t size);

/* A line that says why a journal beside the file is ignored, or NULL. For files opened by
 * bpk_place_open, called by the thread that opened them, before other threads read. */
const char *bpk_source_remark(const struct bpk_source *source);

/*
 * Set the function that reports a long wait for a lock. The waiting thread calls it once, after a
 * second, and then waits on. path is the locked file, NULL when unknown; holder is "process 4711"
 * or "another process". NULL, as at first: nothing is reported.
 */
typedef void bpk_wait_fn(const char *path, const char *holder);
void bpk_on_wait(bpk_wait_fn *tell);

/*
 * Let stdout and stderr repeat interrupted writes and wait for non-blocking descriptors; stdio
 * itself drops the bytes. The main thread calls it before the first output. Without memory both
 * stay as they are.
 */
void bpk_complete_streams(void);

/* A seekable source over size bytes at offset of whole, which must be seekable and outlive it. */
int bpk_source_slice(struct bpk_source *whole, uint64_t offset, uint64_t size,
		     struct bpk_source **source, struct bpk_err *err);

/*
 * A source over size bytes at offset of a seekable file, a URL or memory. Unlike a slice it
 * outlives whole and notices changes of the file. Fails with BPK_CORRUPT when the bytes do not all
 * exist.
 */
int bpk_source_part(const struct bpk_source *whole, uint64_t offset, uint64_t size,
		    struct bpk_source **part, struct bpk_err *err);

/*
 * Concatenate several sources. They are borrowed and must outlive the result; the array is copied.
 * The result is seekable when all parts are; otherwise it is read in sequence, and its size is
 * known when the sizes of all parts are.
 */
int bpk_source_join(struct bpk_source *const *parts, size_t nparts, struct bpk_source **source,
		    struct bpk_err *err);

/*
 * A source implemented by the caller, size bytes long. When positional is true, any thread calls
 * read_at, which behaves as bpk_source_read_at. When it is false, one thread calls read_at with
 * ascending offsets without gaps, and size may be BPK_UNKNOWN. close may be NULL.
 */
struct bpk_source_ops {
	int (*read_at)(void *arg, uint64_t offset, struct bpk_span out, size_t *got,
		       struct bpk_err *err);
	void (*ahead)(void *arg, uint64_t offset, uint64_t size); /* bpk_source_ahead; or NULL */
	void (*close)(void *arg);
	/* Count one more close to come, and return arg. NULL: no parts that outlive the source. */
	void *(*share)(void *arg);
	bool positional;
	bool remote; /* see bpk_source_is_remote */
};

int bpk_source_of(const struct bpk_source_ops *ops, void *arg, uint64_t size,
		  struct bpk_source **source, struct bpk_err *err);

/* ---- Places: files and directories named by a path ---- */

/* True if both are the same file: device and inode. */
static inline bool bpk_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* True for the errors that mean "no such file": ENOENT, ENOTDIR and ELOOP. Every other error leaves
 * the question open and is reported. */
bool bpk_is_missing(int errnum);

/* The same, and for a name that is too long to be that of a file. */
bool bpk_is_absent(int errnum);

/* Fail with BPK_FAILED, "changed while it was read". Returns -1. */
int bpk_fail_changed(struct bpk_err *err);

/* True if it is the same file, and nobody has written to it or renamed it since. */
bool bpk_is_still(const struct stat *now, const struct stat *seen);

/* True if a write after now, a CLOCK_REALTIME time not later than found, changes the times in
 * found: two writes within one tick of the file system's clock leave the same ones. */
bool bpk_is_settled(const struct stat *found, const struct timespec *now);

/* The name of path without slashes at its end, and with suffix behind, for free(); NULL with
 * BPK_NO_MEMORY. */
char *bpk_path_beside(const char *path, const char *suffix, struct bpk_err *err);

/*
 * Call stat. *there is false when the path does not exist; any other error fails with BPK_FAILED.
 */
int bpk_path_look(const char *path, struct stat *found, bool *there, struct bpk_err *err);

/* True if a journal has the name that belongs to the file at path; false, too, where that cannot be
 * found out. */
bool bpk_path_has_journal(const char *path);

/*
 * Rename path, which ends with suffix, to the first of "STEM.1SUFFIX", "STEM.2SUFFIX" ... that does
 * not exist; sync: also on the disk. *to is that name, for free(). Fails with BPK_FAILED and a line
 * that begins with path.
 */
int bpk_path_number(const char *path, const char *suffix, bool sync, char **to,
		    struct bpk_err *err);

/*
 * True if is_it is true for the folder that path lies in, or for one above it, however path is
 * spelled; a last part that is a link counts where it leads with follow, as for a draft. The way up
 * ends where it cannot be examined. path need not exist.
 */
bool bpk_path_lies_in(const char *path, bool follow,
		      bool (*is_it)(void *arg, const struct stat *folder), void *arg);

struct bpk_dir;

/* Caller storage. Owns source or directory; the other one is NULL. */
struct bpk_place {
	const char *path; /* borrowed; "-" is standard input */
	bool is_directory;
	bool is_member; /* path is PATH:NAME, in a tar */
	struct bpk_source *source;
	struct bpk_dir *directory;
};

/*
 * Open path for reading as an archive. When it does not exist, PATH:NAME is tried: a member of an
 * uncompressed tar. Nothing is changed or created. A change left unfinished by a writer that died
 * is read through its journal or list (bpk_place_pending); a journal or list of another archive is
 * ignored (bpk_place_remark).
 *
 * owns returns true if a file of that name, relative to the root, may belong to a dataset; NULL:
 * every file may. It is called as long as the place is open.
 */
int bpk_place_open(const char *path, bool (*owns)(const char *name), struct bpk_place *place,
		   struct bpk_err *err);
void bpk_place_close(struct bpk_place *place);

/* Fails with BPK_FAILED, "changed while it was read", when the file has changed since it was opened
 * (bpk_source_unchanged), or the directory's path leads elsewhere now. */
int bpk_place_unchanged(const struct bpk_place *place, struct bpk_err *err);

/* True if a writer left a change unfinished; reads then return the last committed state. */
bool bpk_place_pending(const struct bpk_place *place);

/* A line that says why a journal or a list of changes is ignored, or NULL. */
const char *bpk_place_remark(const struct bpk_place *place);

/* True if a part of an ignored list was carried out: the files mix two states. */
bool bpk_place_is_torn(const struct bpk_place *place);

/*
 * Narrow like, the permissions of an output, to those that more also gives: a file's mode, or a
 * folder's for those who may search it. Of another group, group and others get
 * what both had. An owner and a
 * group of -1, with which like begins, become those of more; inputs of several owners give an
 * output of this user.
 */
void bpk_stat_narrow(struct stat *like, const struct stat *more);

/* ---- Drafts: a place being written, kept or dropped as a whole ---- */

/*
 * A draft of a regular file has no name in its folder (O_TMPFILE; otherwise .NAME.bpk-000000 and
 * up, O_EXCL, mode 0600) and gets its name when it is kept. Standard output, a device or a FIFO is
 * written directly. One thread calls write; several threads may call write_at at once.
 */
struct bpk_draft;

struct bpk_draft_options {
	bool overwrite;     /* replace an existing target */
	const char *remedy; /* of a target that overwrite would replace, for the report; or NULL */
	bool follow_links;  /* for an explicit -o: follow a link, write to a device or FIFO */
	bool sync;          /* fdatasync file and folder before and after the rename */
	bool named;         /* it has a name from the start, by which other processes join it */
	const struct stat *not_this; /* refuse a target that is this file; may be NULL */
	const struct stat *nor_this; /* and of a second one that is read */
	/* replace this file alone, and only if nobody changed it since; may be NULL. Not for a
	 * directory. */
	const struct stat *only_this;

	/*
	 * Write a directory (bpk_draft_tree). An existing one is replaced only with overwrite, and
	 * only when ours returns true for every file in it, by its name relative to the root. It is
	 * locked as a writer does it, exchanged with the draft, and its files are then removed one
	 * by one under that lock. Files added to it at the last moment stay, with their folders,
	 * under the draft's name, and keep fails with a message that says so. ours is required,
	 * because it also selects which leftovers of killed processes are removed.
	 */
	bool directory;
	bool (*ours)(const char *name);
	const struct stat *like; /* the permissions of its files, as for keep; may be NULL */
};

/*
 * Begin to write target; "-" is standard output. Fails with BPK_FAILED: target exists and overwrite
 * is not set ("already exists", and remedy), it is the input itself, it is a directory, it is
 * a link or device and follow_links is not set, its folder is missing or not writable.
 */
int bpk_draft_open(const char *target, const struct bpk_draft_options *options,
		   struct bpk_draft **draft, struct bpk_err *err);

/*
 * True when write_at and read_at work: for regular files, and for standard output when it is a
 * regular file, is not in append mode, and can be reopened for reading. Offset 0 is the position
 * where writing began. True for a file in a store, too.
 */
bool bpk_draft_seekable(const struct bpk_draft *draft);

/* True if the draft is a new file, on the disk or in a store, which nobody sees before it is kept:
 * not for standard output or a device. */
bool bpk_draft_is_hidden(const struct bpk_draft *draft);

/* The number of bytes written in sequence so far. */
uint64_t bpk_draft_tell(const struct bpk_draft *draft);

/* Bytes of a draft that is no file: up to the last one written. As bpk_draft_tell for others. */
uint64_t bpk_draft_extent(const struct bpk_draft *draft);

/* Announce, before the first byte, that bytes will be read back or written twice. A draft in a
 * store then keeps all of them in a temporary file, to send them at the end. Seekable drafts
 * only. */
int bpk_draft_reread(struct bpk_draft *draft, struct bpk_err *err);

/* Append bytes. EPIPE fails with BPK_PIPE. */
int bpk_draft_write(struct bpk_draft *draft, struct bpk_view bytes, struct bpk_err *err);

/* Append all bytes of a seekable source, without its cursor. */
int bpk_draft_copy(struct bpk_draft *draft, struct bpk_source *source, struct bpk_err *err);

/* Write or read at an offset; seekable drafts only. read_at, and a write over bytes that were
 * written, need bpk_draft_reread; read_at fails unless every byte exists. Long runs of zeros
 * written past the end of a draft file may become holes. */
int bpk_draft_write_at(struct bpk_draft *draft, uint64_t offset, struct bpk_view bytes,
		       struct bpk_err *err);
int bpk_draft_read_at(struct bpk_draft *draft, uint64_t offset, struct bpk_span out,
		      struct bpk_err *err);

/*
 * Announce the size of the file, so that a limit on file sizes fails early and holes at its end
 * count. A longer draft file is truncated. No space is reserved, because that would fill the holes.
 * Seekable drafts only. A hint: it fails only when it truncates, never for lack of support.
 */
int bpk_draft_set_size(struct bpk_draft *draft, uint64_t size, struct bpk_err *err);

/* The file that is kept has this time of its last change, whatever like says. */
void bpk_draft_keep_time(struct bpk_draft *draft, struct timespec time);

/*
 * Keep the draft: sync, set mode and mtime, give it its name. Mode (its 0777 bits) and mtime come
 * from like; when like is NULL, the mode is 0666 less the umask. The file gets the group of like,
 * and of root the owner, if they are not -1. Group permissions of like are kept only together with
 * its group. A direct target is only checked for late write errors, and synced when it is a regular
 * file or a block device.
 *
 * A file to be replaced is settled first, under its writer lock, so that it leaves no journal
 * behind; a file that is being changed is not replaced. Frees the draft in any case. After a
 * failure no draft is left and an existing target is unchanged, unless its folder could not be
 * synced after the rename.
 */
int bpk_draft_keep(struct bpk_draft *draft, const struct stat *like, struct bpk_err *err);

/*
 * Let bpk_draft_keep also give the draft the attributes user.NAME (xattr(7)) of the file source
 * and, if like then has that file's owner, group and mode, its access list (acl(5)), less the
 * umask, if it can have the file's group. *is_lost is set by then if the file system has them and
 * refused some. Nothing happens unless both are files.
 */
void bpk_draft_inherit(struct bpk_draft *draft, const struct bpk_source *source, bool *is_lost);

/* Delete the draft and free it; NULL is harmless. */
void bpk_draft_drop(struct bpk_draft *draft);

struct bpk_tree;

/*
 * A draft that is no file. Exactly one of keep and drop is called, once, as the last call. All of
 * them must cope with an owner that has failed. Without write_at it is written in sequence, into
 * something larger, and cannot be read back; with it write is not called, and the others are those
 * of a seekable draft: set_size as bpk_draft_set_size, and reread as bpk_draft_reread, without
 * which read_at may fail.
 */
struct bpk_draft_ops {
	int (*write)(void *owner, struct bpk_view bytes, struct bpk_err *err);
	int (*keep)(void *owner, const struct stat *like, struct bpk_err *err);
	void (*drop)(void *owner);
	int (*write_at)(void *owner, uint64_t offset, struct bpk_view bytes, struct bpk_err *err);
	int (*read_at)(void *owner, uint64_t offset, struct bpk_span out, struct bpk_err *err);
	int (*set_size)(void *owner, uint64_t size, struct bpk_err *err);
	int (*reread)(void *owner, struct bpk_err *err);
	struct bpk_tree *(*tree)(void *owner); /* of a directory, without write; else NULL */
};

/* ops and owner are borrowed until the draft is kept or dropped. */
int bpk_draft_of_ops(const struct bpk_draft_ops *ops, void *owner, struct bpk_draft **draft,
		     struct bpk_err *err);

/*
 * A draft that several processes write. One opens it with options.named and keeps or drops it. The
 * others have a shadow: it takes any write and forgets it, until it joins the draft. Then writes at
 * offsets reach a file, and bpk_draft_write_place any draft; drop leaves it. A shadow is never
 * kept.
 */
int bpk_draft_shadow(bool sync, struct bpk_draft **draft, struct bpk_err *err);
bool bpk_draft_is_shadow(const struct bpk_draft *draft);

/* The absolute path and inode of a named draft; false: others cannot join it. path is a text, for
 * bpk_buf_clear. */
bool bpk_draft_whereabouts(const struct bpk_draft *draft, struct bpk_buf *path, uint64_t *inode);

/* Fails with BPK_FAILED where the path does not lead to that inode, a regular file or directory of
 * this user. */
int bpk_draft_join(struct bpk_draft *shadow, const char *path, uint64_t inode, struct bpk_err *err);

/* Bring the joined file's bytes, as this process wrote them, to the disk, if it was to be synced;
 * and report late errors. */
int bpk_draft_flush(struct bpk_draft *shadow, struct bpk_err *err);

/* Bytes in a draft. */
struct bpk_draft_place {
	uint64_t offset, size;
	char name[64]; /* the file of a directory; "": the draft is the file */
};

/* A write of bytes that begin at data, to the draft or a file of the directory, is not carried out
 * from now on: it will be by bpk_draft_write_place. NULL ends that. Belongs to the one thread that
 * writes. */
void bpk_draft_withhold(struct bpk_draft *draft, const uint8_t *data);

/* The place of the last write that was withheld since bpk_draft_withhold; size 0: there was
 * none. */
struct bpk_draft_place bpk_draft_withheld(const struct bpk_draft *draft);

/* Write the first place.size of bytes there, on the draft itself or on a shadow that joined it. A
 * file of a directory is also synced, if the draft is to be. */
int bpk_draft_write_place(struct bpk_draft *draft, const struct bpk_draft_place *place,
			  struct bpk_view bytes, struct bpk_err *err);

/*
 * For a process that a signal ends: unlink the names of all open drafts, and refuse to keep any
 * draft from here on. Waits for a keep that has begun. Any thread.
 */
void bpk_draft_drop_all(void);

/*
 * Remove path and its journal, and sync its folder, as --rm does after its result was kept. Refused
 * unless path is still the file described by seen and nobody is changing it.
 */
int bpk_remove_source(const char *path, const struct stat *seen, struct bpk_err *err);

/*
 * Remove a directory in the same way. begin lists its content before it is read. end removes it if
 * that content is unchanged, down to the times of every file. end holds the writer lock and first
 * renames the directory to the name of a draft, so that no half of it is ever taken for a dataset.
 * owns returns true if a file of that name, relative to the root, belongs to the dataset; begin and
 * end refuse a directory that holds anything else. Both fail with BPK_FAILED. end frees the removal
 * in any case.
 */
struct bpk_removal;

int bpk_removal_begin(const char *path, bool (*owns)(const char *name),
		      struct bpk_removal **removal, struct bpk_err *err);
int bpk_removal_end(struct bpk_removal *removal, struct bpk_err *err);
void bpk_removal_drop(struct bpk_removal *removal); /* NULL is harmless */

/* ---- Confinement ---- */

/*
 * Give up the right to create, open for writing, rename and remove files, but for those below
 * bpk_temporary_folder and in the folder of the file replaced (NULL: none), and to gain privileges
 * (Landlock, no_new_privs). It holds for this thread, and those that it starts later; open
 * descriptors stay as they are. Does nothing where the kernel does not offer it.
 */
void bpk_confine(const char *replaced);

/* ---- Spools: temporary storage ---- */

/*
 * A temporary file without a name, in the folder named by TMPDIR (otherwise /tmp), for data that
 * comes through a pipe and needs seeking, or that goes into a pipe and whose first bytes are known
 * last.
 * It disappears when it is closed or the process ends. Belongs to one thread while it is written.
 * Failures are BPK_FAILED and name "a temporary file".
 */
struct bpk_spool;

/* The folder that TMPDIR names, or /tmp. */
const char *bpk_temporary_folder(void);

int bpk_spool_open(struct bpk_spool **spool, struct bpk_err *err);
void bpk_spool_close(struct bpk_spool *spool); /* NULL is harmless */

/* Its size in bytes. */
uint64_t bpk_spool_size(const struct bpk_spool *spool);

/* Write or read at an offset, or set the size; read_at fails unless every byte exists. */
int bpk_spool_write_at(struct bpk_spool *spool, uint64_t offset, struct bpk_view bytes,
		       struct bpk_err *err);
int bpk_spool_read_at(struct bpk_spool *spool, uint64_t offset, struct bpk_span out,
		      struct bpk_err *err);
int bpk_spool_set_size(struct bpk_spool *spool, uint64_t size, struct bpk_err *err);

/* Append bytes, or the rest of source. */
int bpk_spool_write(struct bpk_spool *spool, struct bpk_view bytes, struct bpk_err *err);
int bpk_spool_fill(struct bpk_spool *spool, struct bpk_source *source, struct bpk_err *err);

/* A seekable source over the current content; it must be closed before the spool. */
int bpk_spool_source(struct bpk_spool *spool, struct bpk_source **source, struct bpk_err *err);

/* Append the content to draft. */
int bpk_spool_drain(struct bpk_spool *spool, struct bpk_draft *draft, struct bpk_err *err);

/*
 * Call visit for every regular file below the directory path, in byte order of the names, without
 * following links or leaving the directory; size is the file's, where a listing has it, or
 * BPK_UNKNOWN. Stops when visit returns non-zero and returns that value. Skips files without data:
 * drafts, journals (.NAME.bpkj), and the locks (.lock, .b2lock) and lists of changes (.bpkj) of
 * directories. A folder that cannot be read, and a journal without its file, are passed to report,
 * which may be NULL.
 * enter is called for every folder, path first, and returns whether to descend; NULL: always.
 */
int bpk_walk(const char *path, bool (*enter)(void *arg, const char *folder),
	     int (*visit)(void *arg, const char *file, uint64_t size),
	     void (*report)(void *arg, const struct bpk_err *err), void *arg, struct bpk_err *err);

/*
 * Make the folder root, in one that is there, and those below it that name lies in: where they are
 * missing, and below root never through a link. source is the path of the file that name is made
 * of. Its folder of below bytes is that for root, and those behind it have the names of name:
 * theirs are the most permissions that new ones get. A new folder is synced with its name. Fails
 * with BPK_FAILED.
 */
int bpk_folders_make(const char *root, const char *name, const char *source, size_t below,
		     bool sync, struct bpk_err *err);

#include "io/dir.h"
#include "io/edit.h"
#include "io/remote.h"
#include "io/sidecar.h"
#include "io/stretch.h"
#include "io/tar.h"

#endif
