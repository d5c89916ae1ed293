/*
 * The verdict of verify on an archive with one bit flipped, for every bit: of a file, or of each
 * file of a directory. Tests of commands run it.
 *
 *     flips ARCHIVE [STEP]   every STEP-th bit only
 *
 * It prints a line for each bit whose flip verify does not report as damage,
 *
 *     FILE BYTE.BIT STATUS CONTENT LINE
 *
 * where CONTENT is "same" or "other", the result of unpacking. The last line has the number of
 * bits, of those reported with status 2, and of those with status 3. Afterwards the archive is
 * unchanged.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/transfer.h"

struct bits {
	const char *archive;
	size_t step, turn;
	uint64_t content; /* of the whole archive */
	size_t nbits, ndamaged, nrepairable;
};

static struct bits bits;

/* FNV-1a: only differences matter. */
static int digest(void *arg, const struct bpk_parcel *parcel, struct bpk_err *err)
{
	uint64_t *sum = arg;

	(void)err;
	for (size_t i = 0; i < parcel->raw.size; i++)
		*sum = (*sum ^ parcel->raw.data[i]) * 0x100000001b3u;
	return 0;
}

static void ignore(void *arg, const char *line)
{
	(void)arg;
	(void)line;
}

/* Check and decode the archive as verify does; *content is a digest of the raw bytes. */
static int verify(uint64_t *content, struct bpk_err *err)
{
	static const struct bpk_writer_ops sink = { .put = digest };
	struct bpk_shared shared = { .quiet = true, .threads = 1 };
	struct bpk_input in = { 0 };
	struct bpk_flow_result result;
	struct bpk_flow flow = {
		.out = &sink, .writer = content, .check = true, .decode = true, .limits.threads = 1
	};
	int rc = bpk_input_find(&in, bits.archive, &shared, err);

	*content = 0xcbf29ce484222325u;
	if (rc == 0)
		rc = bpk_input_start(&in, &shared, 1 << 24, err);
	if (rc == 0) {
		flow.in = in.format->reader;
		flow.reader = in.reader;
		flow.plan = bpk_plan_all(in.info);
		rc = bpk_flow_run(&flow, &result, err);
	}
	if (rc == 0)
		rc = bpk_input_audit(&in, ignore, NULL, err);
	if (rc == 0 && in.info->pending)
		rc = bpk_fail(err, BPK_REPAIRABLE, "pending");
	bpk_input_close(&in);
	return rc;
}

static int status_of(const struct bpk_err *err)
{
	switch (err->kind) {
	case BPK_OK:
		return 0;
	case BPK_CORRUPT:
		return 2;
	case BPK_REPAIRABLE:
		return 3;
	default:
		return 1;
	}
}

static void judge(const char *path, size_t byte, unsigned bit)
{
	struct bpk_err err = { 0 };
	uint64_t content;
	int status;

	verify(&content, &err);
	status = status_of(&err);
	bits.nbits++;
	bits.ndamaged += status == 2;
	bits.nrepairable += status == 3;
	if (status < 2)
		printf("%s %zu.%u %d %s %s\n", path, byte, bit, status,
		       content == bits.content ? "same" : "other", err.text);
}

static void flip(int fd, off_t at, unsigned bit)
{
	uint8_t byte;

	if (pread(fd, &byte, 1, at) != 1)
		exit(1);
	byte ^= (uint8_t)(1u << bit);
	if (pwrite(fd, &byte, 1, at) != 1)
		exit(1);
}

static int flip_file(const char *path, const struct stat *found, int kind, struct FTW *where)
{
	int fd;

	(void)where;
	if (kind != FTW_F)
		return 0;
	fd = open(path, O_RDWR);
	if (fd < 0)
		return 1;
	for (off_t at = 0; at < found->st_size; at++)
		for (unsigned bit = 0; bit < 8; bit++) {
			if (bits.turn++ % bits.step != 0)
				continue;
			flip(fd, at, bit);
			judge(path, (size_t)at, bit);
			flip(fd, at, bit);
		}
	close(fd);
	return 0;
}

int main(int argc, char **argv)
{
	struct bpk_err err = { 0 };

	bits.archive = argc > 1 ? argv[1] : "";
	bits.step = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
	if (bits.step == 0 || verify(&bits.content, &err) != 0) {
		fprintf(stderr, "flips: %s\n", err.text);
		return 1;
	}
	if (nftw(bits.archive, flip_file, 8, FTW_PHYS) != 0) {
		fprintf(stderr, "flips: %s: %s\n", bits.archive, strerror(errno));
		return 1;
	}
	printf("%zu bits, %zu damaged, %zu repairable\n", bits.nbits, bits.ndamaged,
	       bits.nrepairable);
	return 0;
}
