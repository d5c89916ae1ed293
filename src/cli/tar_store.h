/*
 * The storing of datasets in a tar: the list of datasets (tar_store.c), the copying of packed files
 * (tar_copy.c), and the steps that both take (tar_dataset.c).
 */
#ifndef BPK_CLI_TAR_STORE_H
#define BPK_CLI_TAR_STORE_H

#include "cli/transfer.h"
#include "cli/tar.h"

enum { BPK_TAR_PIECE = 1 << 20 };

struct bpk_tar_dataset {
	const char *path; /* as the user gave it */
	char *name;       /* of its member; owned */
	struct stat seen; /* of the file or directory at the first check; in a tar: of the tar */
	struct stat stat; /* the same when it was stored */
	uint64_t size;    /* bytes stored so far */
	uint64_t nfiles;
};

struct bpk_tar_storing {
	const struct bpk_tar_args *args;
	const char *tar; /* the path that is written */
	struct bpk_tar_dataset *datasets;
	size_t count;
	struct stat like; /* of the tar: who may read it may read everything in it */
	struct bpk_draft *draft;
	struct bpk_tar_writer *writer;
	struct bpk_buf piece; /* room for BPK_TAR_PIECE bytes */
};

/* Put the name of the tar in front of a report. Returns -1. */
int bpk_tar_subject(const struct bpk_tar_storing *s, struct bpk_err *err);

/* Count the permissions of an input that was stored. */
void bpk_tar_count_like(struct bpk_tar_storing *s, const struct bpk_input *in);

/* Find the input of a dataset, and its stat. The report of a failure names it. */
int bpk_tar_input(const struct bpk_tar_storing *s, struct bpk_input *in,
		  struct bpk_tar_dataset *dataset, struct bpk_err *err);

/* Store the file as a member, or the directory file by file. The report names the failed file. */
int bpk_tar_store_packed(struct bpk_tar_storing *s, struct bpk_tar_dataset *dataset,
			 struct bpk_err *err);

#endif
