/*
 * The room io: places, the sources read from them and the drafts written to them. It moves bytes in
 * full loops, keeps what is committed, drops what is not, and never knows what the bytes mean.
 */
#ifndef BPK_IO_IO_H
#define BPK_IO_IO_H

#include <sys/stat.h>
#include <time.h>

#include "base/base.h"

/* Every file that sees a struct stat or an offset must see the same one. */
_Static_assert(sizeof(off_t) == 8, "files over 2 GiB need -D_FILE_OFFSET_BITS=64");

/* ---- Sources: bytes to be read ---- */

/*
 * A file, a pipe, a device or memory. read, peek and skip move one cursor and belong to one thread
 * at a time; read_at and the questions may be asked by any thread.
 */
struct bpk_source;

/*
 * Open path for reading; "-" is standard input (a regular file there is read from its present
 * position, which then counts as offset 0). Opening never blocks on a FIFO that an archive named.
 * Fails with BPK_FAILED: missing, no permission, a directory.
 */
int bpk_source_open(const char *path, struct bpk_source **source, struct bpk_err *err);

/* Borrow bytes as a seekable source; they must outlive it. */
int bpk_source_of_memory(struct bpk_view bytes, struct bpk_source **source, struct bpk_err *err);

void bpk_source_close(struct bpk_source *source); /* NULL is harmless */

/* True when read_at works: regular files, block devices, memory. */
bool bpk_source_seekable(const struct bpk_source *source);

/* Bytes in all; BPK_UNKNOWN when not seekable. As it was at open. */
uint64_t bpk_source_size(const struct bpk_source *source);

/* The cursor's offset. */
uint64_t bpk_source_tell(const struct bpk_source *source);

/* Read out.size bytes at the cursor, less only at the end; *got says how many. Loops over short
 * reads and EINTR. Fails with BPK_FAILED. */
int bpk_source_read(struct bpk_source *source, struct bpk_span out, size_t *got,
		    struct bpk_err *err);

/* The same at an offset, without the cursor; seekable sources only. Past the end *got is 0. */
int bpk_source_read_at(struct bpk_source *source, uint64_t offset, struct bpk_span out, size_t *got,
		       struct bpk_err *err);

/* Exactly out.size bytes at an offset, or BPK_CORRUPT: "ends N bytes early". */
int bpk_source_need_at(struct bpk_source *source, uint64_t offset, struct bpk_span out,
		       struct bpk_err *err);

/*
 * The next size bytes without moving the cursor, less only at the end; borrowed until the next
 * call on the cursor. Costs size bytes of memory.
 */
int bpk_source_peek(struct bpk_source *source, size_t size, struct bpk_view *head,
		    struct bpk_err *err);

/* Move the cursor forward, by reading where it cannot seek. *skipped is less only at the end. */
int bpk_source_skip(struct bpk_source *source, uint64_t size, uint64_t *skipped,
		    struct bpk_err *err);

/* Count the offsets of a stream from its cursor on, as if it began there. */
void bpk_source_rebase(struct bpk_source *source);

/* What fstat said at open; all zero for memory. */
const struct stat *bpk_source_stat(const struct bpk_source *source);

/* Fails with BPK_FAILED, "changed while it was read", when size, mtime or ctime of a regular file
 * are not what they were at open. */
int bpk_source_unchanged(struct bpk_source *source, struct bpk_err *err);

/* Writers of ours may change the file in place while it is read. */
bool bpk_source_may_change(const struct bpk_source *source);

/* Nobody has written to the file since it was opened, which was before opened, by CLOCK_REALTIME.
 * False where its times cannot tell: it was written to in the last moment before. */
bool bpk_source_is_untouched(const struct bpk_source *source, const struct timespec *opened);

/*
 * Between hold and release, reads of a file that bpk_place_open opened see one committed state of
 * it, even while a writer is at work or when one died: the change lock is shared, and regions
 * that a journal saved are read from there. The size is that of this state, and may have changed
 * since open. Any thread, and several at once, but a thread that holds already does not hold
 * again: it could wait a second for itself. Nothing for pipes, memory and plain sources; slices
 * and joins hold what they are made of. Costs five system calls, to the first of several. A journal
 * that is not about this file is left aside (bpk_source_remark). Fails with BPK_CORRUPT when one
 * that is about it is damaged, or someone else has written to the file since.
 */
int bpk_source_hold(struct bpk_source *source, struct bpk_err *err);
void bpk_source_release(struct bpk_source *source);

/* Its writer lock is held just now, or reads go through a journal (bpk_source_pending): someone is
 * changing the file, or died doing so. A journal that is not used does not count. */
bool bpk_source_in_change(struct bpk_source *source);

/* A change that a writer left unfinished was pending at the last hold (or at open): reads go
 * through its journal. */
bool bpk_source_pending(const struct bpk_source *source);

/* A line about a journal beside the file that is not used, and why; NULL: there is none. Of files
 * that bpk_place_open opened, by the thread that opened them, before others read. */
const char *bpk_source_remark(const struct bpk_source *source);

/*
 * Told once when a lock is waited for longer than a second, by the thread that waits, which then
 * waits on: the file, NULL where it is not known, and who holds the lock: "process 4711", or
 * "another process". NULL: nobody is told, as at first.
 */
typedef void bpk_wait_fn(const char *path, const char *holder);
void bpk_on_wait(bpk_wait_fn *tell);

/* size bytes at offset of another source, which must be seekable and outlive it. Seekable. */
int bpk_source_slice(struct bpk_source *whole, uint64_t offset, uint64_t size,
		     struct bpk_source **source, struct bpk_err *err);

/*
 * The bytes of several sources one after the other; they are borrowed and must outlive it, the
 * array is copied. Seekable when all of them are; else read in sequence, and the size is known
 * when those of all parts are.
 */
int bpk_source_join(struct bpk_source *const *parts, size_t nparts, struct bpk_source **source,
		    struct bpk_err *err);

/*
 * A source of a caller's own: read_at, for any thread, behaves as bpk_source_read_at, of a source
 * of size bytes; or, when positional is false, is called by one thread with ascending offsets
 * that leave nothing out, and size may be unknown. close may be NULL.
 */
struct bpk_source_ops {
	int (*read_at)(void *arg, uint64_t offset, struct bpk_span out, size_t *got,
		       struct bpk_err *err);
	void (*close)(void *arg);
	bool positional;
};

int bpk_source_of(const struct bpk_source_ops *ops, void *arg, uint64_t size,
		  struct bpk_source **source, struct bpk_err *err);

/* ---- Places: what a path names ---- */

/* True of the errors that mean "nothing of that name is there": ENOENT, ENOTDIR and ELOOP. Every
 * other error leaves the question open, and is reported. */
bool bpk_is_missing(int errnum);

/* stat. *there is false when nothing is there; any other error fails with BPK_FAILED. */
int bpk_path_look(const char *path, struct stat *found, bool *there, struct bpk_err *err);

struct bpk_dir;

/* Caller storage. Owns source, or directory; the other is NULL. */
struct bpk_place {
	const char *path; /* borrowed; "-" is standard input */
	bool is_directory;
	bool is_member; /* path is PATH:NAME, in a tar */
	struct bpk_source *source;
	struct bpk_dir *directory;
};

/*
 * Open path for reading as an archive. Where nothing of that name is there, PATH:NAME is looked
 * for: an uncompressed tar and a member of it. Nothing is changed or made: what a writer that died
 * left behind is looked through (bpk_place_pending), or, where it is not about this archive, left
 * aside (bpk_place_remark). owns says of a name, from the root, whether a file of that name may be
 * part of a dataset; NULL: any may. It is asked as long as the place is open.
 */
int bpk_place_open(const char *path, bool (*owns)(const char *name), struct bpk_place *place,
		   struct bpk_err *err);
void bpk_place_close(struct bpk_place *place);

/* A change that a writer left unfinished is pending; what is read is what it had committed. */
bool bpk_place_pending(const struct bpk_place *place);

/* A line about a journal or a list of changes that is there and is not used; NULL: none is. */
const char *bpk_place_remark(const struct bpk_place *place);

/* ---- Drafts: a place being written, kept or dropped as a whole ---- */

/*
 * A regular file is written as a nameless draft in its folder (O_TMPFILE; else .NAME.bpk-000000 and
 * up, O_EXCL, mode 0600) and gets its name when it is kept. Standard output, a device or a FIFO is
 * written directly. write belongs to one thread; write_at may be called by many at once.
 */
struct bpk_draft;

struct bpk_draft_options {
	bool overwrite;    /* replace an existing target */
	bool follow_links; /* an explicit -o: may go through a link, or into a device or FIFO */
	bool sync;         /* fdatasync file and folder before and after the rename */
	const struct stat *not_this; /* refuse a target that is this very file; NULL: none */
	bool is_locked; /* the caller holds the writer lock of what is replaced, and settled it */

	/*
	 * Write a directory (bpk_draft_tree). One that is there is replaced only with overwrite,
	 * and only when ours says true of every file in it, by its name from the root; it is
	 * exchanged with the draft and then removed, file by file of ours. What came into it at the
	 * last moment stays, with the folders it is in, under the draft's name, and keep fails and
	 * says so. ours must be there, since leftovers of killed processes are removed by it too.
	 */
	bool directory;
	bool (*ours)(const char *name);
};

/*
 * Begin to write target; "-" is standard output. Fails with BPK_FAILED: it exists and overwrite is
 * not set ("already exists"; overwriting is asked for with --force), it is the input itself, it is
 * a directory, it is a link or device and follow_links is not set, its folder is missing or not
 * writable.
 */
int bpk_draft_open(const char *target, const struct bpk_draft_options *options,
		   struct bpk_draft **draft, struct bpk_err *err);

/*
 * True when write_at and read_at work: regular files, and standard output when it is one, is not in
 * append mode, and can be reopened for reading. Offset 0 is where writing began.
 */
bool bpk_draft_seekable(const struct bpk_draft *draft);

/* Bytes written one after the other so far. */
uint64_t bpk_draft_tell(const struct bpk_draft *draft);

/* Add bytes at the end. EPIPE fails with BPK_PIPE. */
int bpk_draft_write(struct bpk_draft *draft, struct bpk_view bytes, struct bpk_err *err);

/* Write or read at an offset; seekable drafts only. read_at needs every byte to be there. Long runs
 * of zeros written past the end of a draft file may be left as holes. */
int bpk_draft_write_at(struct bpk_draft *draft, uint64_t offset, struct bpk_view bytes,
		       struct bpk_err *err);
int bpk_draft_read_at(struct bpk_draft *draft, uint64_t offset, struct bpk_span out,
		      struct bpk_err *err);

/* Say how long the file will be, so that a limit on file sizes fails early and holes at its end
 * count; what a draft file has behind that is cut off. It reserves no space, which would undo the
 * holes. Seekable drafts only; a hint that never fails for want of support, unless it cuts off. */
int bpk_draft_set_size(struct bpk_draft *draft, uint64_t size, struct bpk_err *err);

/*
 * Keep what was written: sync, give it mode (0777 bits of it) and mtime when like is not NULL, else
 * 0666 less the umask, then its name. Group permissions of like go over only with its group. Direct
 * targets are only checked for late write errors, and synced when they are regular files or block
 * devices. A file that is replaced is settled first, under its writer lock, so that no journal of
 * it is left; one that is being changed is not replaced. Frees the draft whether it succeeds or
 * fails; after a failure nothing is left and an existing target is as it was, but for one whose
 * folder could not be synced after the rename.
 */
int bpk_draft_keep(struct bpk_draft *draft, const struct stat *like, struct bpk_err *err);

/* Drop what was written and free the draft; NULL is harmless. */
void bpk_draft_drop(struct bpk_draft *draft);

/*
 * For the end of the process by a signal: unlink the names of all drafts now open, and let no draft
 * be kept from here on (a keep that has begun is waited for). Any thread.
 */
void bpk_draft_drop_all(void);

/*
 * Remove path, as --rm does after its result was kept: only if it is still the file that seen
 * describes and nobody is changing it, with its journal, and sync its folder.
 */
int bpk_remove_source(const char *path, const struct stat *seen, struct bpk_err *err);

/*
 * The same for a directory. begin looks at all that is in it, before it is read; end removes it
 * when that is still the same, to the last file's times: under the writer lock, by a new name
 * first, that of a draft, so that no half of it is ever taken for a dataset. owns: is a file of
 * that name, from the root, a part of it? A directory that holds anything else is refused at begin,
 * and at end. Fails with BPK_FAILED. end frees the removal whether it succeeds or fails.
 */
struct bpk_removal;

int bpk_removal_begin(const char *path, bool (*owns)(const char *name),
		      struct bpk_removal **removal, struct bpk_err *err);
int bpk_removal_end(struct bpk_removal *removal, struct bpk_err *err);
void bpk_removal_drop(struct bpk_removal *removal); /* NULL is harmless */

/* ---- Spools: bytes put aside ---- */

/*
 * A temporary file without a name, in the folder that TMPDIR names (else /tmp), for what comes by a
 * pipe and must be sought in, or goes into one and has its beginning known last. It is gone when it
 * is closed or the process ends. One thread's own while it is written. Failures are BPK_FAILED and
 * name "a temporary file".
 */
struct bpk_spool;

int bpk_spool_open(struct bpk_spool **spool, struct bpk_err *err);
void bpk_spool_close(struct bpk_spool *spool); /* NULL is harmless */

/* Bytes in it. */
uint64_t bpk_spool_size(const struct bpk_spool *spool);

/* Add bytes at the end; or all that source still brings. */
int bpk_spool_write(struct bpk_spool *spool, struct bpk_view bytes, struct bpk_err *err);
int bpk_spool_fill(struct bpk_spool *spool, struct bpk_source *source, struct bpk_err *err);

/* What is in it now as a seekable source, which must be closed before the spool. */
int bpk_spool_source(struct bpk_spool *spool, struct bpk_source **source, struct bpk_err *err);

/* Add all of it to the end of draft. */
int bpk_spool_drain(struct bpk_spool *spool, struct bpk_draft *draft, struct bpk_err *err);

/*
 * Call visit for every regular file below the directory path, in the order of their names (bytes),
 * without following links or leaving the directory; stops when visit returns non-zero and returns
 * that. Left out is what holds no data: drafts, journals (.NAME.bpkj), and the locks (.lock,
 * .b2lock) and lists of changes (.bpkj) of directories. A folder that cannot be read is given to
 * unreadable and left out. enter is asked of every folder, of path first, whether to go into it;
 * NULL: into all.
 */
int bpk_walk(const char *path, bool (*enter)(void *arg, const char *folder),
	     int (*visit)(void *arg, const char *file),
	     void (*unreadable)(void *arg, const struct bpk_err *err), void *arg,
	     struct bpk_err *err);

#include "io/dir.h"
#include "io/edit.h"
#include "io/sidecar.h"
#include "io/tar.h"

#endif
