/*
 * Declarations shared by the parts of bpk tar.
 */
#ifndef BPK_CLI_TAR_H
#define BPK_CLI_TAR_H

#include "cli/command.h"
#include "io/io.h"

struct bpk_tar_args {
	struct bpk_shared shared; /* output is the tar that -o names */
	bool list, extract;
	const char *file;      /* -f: the tar, written or read */
	const char *directory; /* where to extract */
	bool raw;
	uint64_t date; /* BPK_UNKNOWN: members keep their own */
};

/* Store the operands in the tar of that path. Failures are reported. */
void bpk_tar_store(const struct bpk_tar_args *args, char **operands, size_t count, const char *tar);

/* List, or extract, the tar of that path. */
void bpk_tar_show(const struct bpk_tar_args *args, const char *tar);
void bpk_tar_extract_one(const struct bpk_tar_args *args, const char *tar);

/* A member in a list: its kind ("file"), its name as a line, if wanted with the target of a link,
 * and its facts as members of a record. */
const char *bpk_tar_kind(const struct bpk_tar_entry *entry);
void bpk_tar_print_name(const struct bpk_tar_entry *entry, bool with_link);
void bpk_tar_record_entry(const struct bpk_tar_entry *entry);

#endif
