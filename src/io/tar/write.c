/* Writing a tar, or a zip of stored members, to a draft. bpk tar and the .npz output of unpack call
 * it. */
#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <stdlib.h>

#include "io/file/draft.h"
#include "io/tar/libarchive.h"

enum {
	RECORD = 20 * 512,   /* divides the stream's length; POSIX, pax, "-b blocksize" */
	BLOCK = 12 * RECORD, /* bytes that libarchive passes to the draft at once */
	FILE_MODE = 0644,    /* of members when a date is set */
	PROGRAM_MODE = 0755, /* of executable members and folders then */
};

struct bpk_tar_writer {
	struct archive *archive;
	struct bpk_draft *draft;
	struct bpk_tar_options options;
	locale_t utf8;            /* (locale_t)0: not available */
	struct bpk_err write_err; /* of draft; libarchive cannot pass it on */
	bool broken;              /* nothing more may be written */
	bool in_member;
	uint64_t left; /* bytes of the member not written yet */
};

/* ---- Output of libarchive ---- */

static la_ssize_t hand_on(struct archive *archive, void *arg, const void *bytes, size_t size)
{
	struct bpk_tar_writer *tar = arg;

	(void)archive;
	if (tar->broken || bpk_draft_write(tar->draft, bpk_view(bytes, size), &tar->write_err) != 0)
		return -1;
	return (la_ssize_t)size;
}

/* Report the error that stopped libarchive; the stream is unusable then. */
static int fail(struct bpk_tar_writer *tar, struct bpk_err *err)
{
	const char *why = bpk_libarchive.archive_error_string(tar->archive);

	tar->broken = true;
	if (tar->write_err.kind != BPK_OK) {
		if (err != NULL)
			*err = tar->write_err;
		return -1;
	}
	/* when memory is missing it may have no text either */
	if (bpk_libarchive.archive_errno(tar->archive) == ENOMEM || why == NULL)
		return bpk_fail_errno(err, ENOMEM, "tar");
	return bpk_fail(err, BPK_FAILED, "tar: %s", why);
}

static int set_format(struct archive *archive, bool zip)
{
	int rc = zip ? bpk_libarchive.archive_write_set_format_zip(archive)
		     : bpk_libarchive.archive_write_set_format_pax(archive);

	if (rc == ARCHIVE_OK && zip)
		rc = bpk_libarchive.archive_write_zip_set_compression_store(archive);
	if (rc == ARCHIVE_OK)
		rc = bpk_libarchive.archive_write_set_bytes_per_block(archive, BLOCK);
	if (rc == ARCHIVE_OK)
		rc = bpk_libarchive.archive_write_set_bytes_in_last_block(archive,
									  zip ? 1 : RECORD);
	return rc;
}

int bpk_tar_writer_open(struct bpk_draft *draft, const struct bpk_tar_options *options,
			struct bpk_tar_writer **tar, struct bpk_err *err)
{
	struct archive *archive;
	struct bpk_tar_writer *t;

	*tar = NULL;
	if (bpk_libarchive_need(err) != 0)
		return -1;
	*tar = t = bpk_calloc(1, sizeof *t, err);
	if (t == NULL)
		return -1;
	t->draft = draft;
	t->options = *options;
	/* without it libarchive writes every name that is not ASCII as one of no character set */
	t->utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
	t->archive = archive = bpk_libarchive.archive_write_new();
	if (archive == NULL) {
		bpk_fail_errno(err, ENOMEM, "tar");
	} else if (set_format(archive, options->zip) != ARCHIVE_OK ||
		   bpk_libarchive.archive_write_open(archive, t, NULL, hand_on, NULL) !=
			   ARCHIVE_OK) {
		fail(t, err);
	} else {
		return 0;
	}
	bpk_tar_writer_close(t);
	*tar = NULL;
	return -1;
}

/* ---- Members ---- */

/* Fill in the header of a member. With a date it says nothing about this machine. */
static void describe(const struct bpk_tar_writer *tar, struct archive_entry *entry,
		     const struct stat *like)
{
	if (tar->options.has_date) {
		bool runs = S_ISDIR(like->st_mode) || (like->st_mode & S_IXUSR) != 0;

		bpk_libarchive.archive_entry_set_perm(entry, runs ? PROGRAM_MODE : FILE_MODE);
		bpk_libarchive.archive_entry_set_mtime(entry, (time_t)tar->options.date, 0);
		return;
	}
	bpk_libarchive.archive_entry_set_perm(entry, like->st_mode & 0777);
	bpk_libarchive.archive_entry_set_mtime(entry, like->st_mtim.tv_sec, like->st_mtim.tv_nsec);
	bpk_libarchive.archive_entry_set_uid(entry, like->st_uid);
	bpk_libarchive.archive_entry_set_gid(entry, like->st_gid);
}

static int put_header(struct bpk_tar_writer *tar, struct archive_entry *entry, struct bpk_err *err)
{
	locale_t before = tar->utf8 == (locale_t)0 ? (locale_t)0 : uselocale(tar->utf8);
	int rc = bpk_libarchive.archive_write_header(tar->archive, entry);

	if (before != (locale_t)0)
		uselocale(before);
	/* a warning: the name is not UTF-8, and is written as bytes of no character set */
	return rc == ARCHIVE_OK || rc == ARCHIVE_WARN ? 0 : fail(tar, err);
}

static int begin(struct bpk_tar_writer *tar, const char *name, mode_t type, uint64_t size,
		 const struct stat *like, struct bpk_err *err)
{
	struct archive_entry *entry;
	int rc;

	if (tar->broken || tar->in_member)
		return bpk_fail(err, BPK_BUG, "a member is begun inside another");
	if (size > INT64_MAX)
		return bpk_fail_errno(err, EFBIG, "tar");
	entry = bpk_libarchive.archive_entry_new();
	if (entry == NULL)
		return bpk_fail_errno(err, ENOMEM, "tar");
	bpk_libarchive.archive_entry_copy_pathname(entry, name);
	bpk_libarchive.archive_entry_set_filetype(entry, type);
	bpk_libarchive.archive_entry_set_size(entry, (la_int64_t)size);
	describe(tar, entry, like);
	rc = put_header(tar, entry, err);
	bpk_libarchive.archive_entry_free(entry);
	return rc;
}

static int end(struct bpk_tar_writer *tar, struct bpk_err *err)
{
	tar->in_member = false;
	return bpk_libarchive.archive_write_finish_entry(tar->archive) == ARCHIVE_OK
		       ? 0
		       : fail(tar, err);
}

static int member_write(void *owner, struct bpk_view bytes, struct bpk_err *err)
{
	struct bpk_tar_writer *tar = owner;

	if (bytes.size > tar->left)
		return bpk_fail(err, BPK_FAILED,
				"%zu bytes more than announced, where %" PRIu64 " were left",
				bytes.size, tar->left);
	if (bytes.size == 0)
		return 0;
	if (bpk_libarchive.archive_write_data(tar->archive, bytes.data, bytes.size) !=
	    (la_ssize_t)bytes.size)
		return fail(tar, err);
	tar->left -= bytes.size;
	return 0;
}

static int member_keep(void *owner, const struct stat *like, struct bpk_err *err)
{
	struct bpk_tar_writer *tar = owner;

	(void)like; /* the header is already written */
	if (tar->left == 0)
		return end(tar, err);
	tar->broken = true;
	return bpk_fail(err, BPK_FAILED, "ended %" PRIu64 " bytes before the size announced",
			tar->left);
}

static void member_drop(void *owner)
{
	((struct bpk_tar_writer *)owner)->broken = true;
}

int bpk_tar_member(struct bpk_tar_writer *tar, const char *name, uint64_t size,
		   const struct stat *like, struct bpk_draft **draft, struct bpk_err *err)
{
	static const struct bpk_draft_ops ops = { .write = member_write,
						  .keep = member_keep,
						  .drop = member_drop };

	*draft = NULL;
	if (begin(tar, name, S_IFREG, size, like, err) != 0)
		return -1;
	tar->in_member = true;
	tar->left = size;
	return bpk_draft_of_ops(&ops, tar, draft, err);
}

int bpk_tar_folder(struct bpk_tar_writer *tar, const char *name, const struct stat *like,
		   struct bpk_err *err)
{
	struct stat folder = *like;

	if (!S_ISDIR(like->st_mode)) /* its readers search it */
		folder.st_mode = S_IFDIR | (like->st_mode & 0666) | (like->st_mode & 0444) >> 2;
	if (begin(tar, name, S_IFDIR, 0, &folder, err) != 0)
		return -1;
	return end(tar, err);
}

/* ---- The end ---- */

int bpk_tar_writer_finish(struct bpk_tar_writer *tar, struct bpk_err *err)
{
	if (tar->broken || tar->in_member)
		return bpk_fail(err, BPK_BUG, "a tar is ended inside a member");
	return bpk_libarchive.archive_write_close(tar->archive) == ARCHIVE_OK ? 0 : fail(tar, err);
}

void bpk_tar_writer_close(struct bpk_tar_writer *tar)
{
	if (tar == NULL)
		return;
	tar->broken = true; /* freeing an unfinished stream must not finish it */
	if (tar->archive != NULL)
		bpk_libarchive.archive_write_free(tar->archive);
	if (tar->utf8 != (locale_t)0)
		freelocale(tar->utf8);
	free(tar);
}
