/* Inside the room io: the calls of libarchive, which is loaded when a tar is first opened or made.
 * read.c and write.c alone make them. */
#ifndef BPK_IO_TAR_LIBARCHIVE_H
#define BPK_IO_TAR_LIBARCHIVE_H

#include <archive.h>
#include <archive_entry.h>

#include "base/base.h"

#define BPK_LIBARCHIVE_CALLS(X)                                                                    \
	X(archive_errno)                                                                           \
	X(archive_error_string)                                                                    \
	X(archive_filter_bytes)                                                                    \
	X(archive_read_data_block)                                                                 \
	X(archive_read_free)                                                                       \
	X(archive_read_header_position)                                                            \
	X(archive_read_new)                                                                        \
	X(archive_read_next_header)                                                                \
	X(archive_read_open2)                                                                      \
	X(archive_read_support_format_tar)                                                         \
	X(archive_write_close)                                                                     \
	X(archive_write_data)                                                                      \
	X(archive_write_finish_entry)                                                              \
	X(archive_write_free)                                                                      \
	X(archive_write_header)                                                                    \
	X(archive_write_new)                                                                       \
	X(archive_write_open)                                                                      \
	X(archive_write_set_bytes_in_last_block)                                                   \
	X(archive_write_set_bytes_per_block)                                                       \
	X(archive_write_set_format_pax)                                                            \
	X(archive_write_set_format_zip)                                                            \
	X(archive_write_zip_set_compression_store)                                                 \
	X(archive_entry_copy_pathname)                                                             \
	X(archive_entry_free)                                                                      \
	X(archive_entry_hardlink)                                                                  \
	X(archive_entry_new)                                                                       \
	X(archive_entry_pathname)                                                                  \
	X(archive_entry_set_filetype)                                                              \
	X(archive_entry_set_gid)                                                                   \
	X(archive_entry_set_mtime)                                                                 \
	X(archive_entry_set_perm)                                                                  \
	X(archive_entry_set_size)                                                                  \
	X(archive_entry_set_uid)                                                                   \
	X(archive_entry_size)                                                                      \
	X(archive_entry_sparse_count)                                                              \
	X(archive_entry_stat)                                                                      \
	X(archive_entry_symlink)

/* Valid after bpk_libarchive_need. */
extern struct bpk_libarchive {
	BPK_LIBARCHIVE_CALLS(BPK_LIBRARY_CALL)
} bpk_libarchive;

/* Load libarchive if it is not loaded. Fails with BPK_FAILED. Any thread. */
int bpk_libarchive_need(struct bpk_err *err);

#endif
