/* Files appended to an archive, all of them or nothing. Called by append. */
#include <stdlib.h>

#include "archive/chunks.h"
#include "layout/layout.h"

/* The files that are appended, concatenated. */
struct inputs {
	char *const *names;
	size_t count;
	struct bpk_source **parts;
	struct bpk_source *whole;
};

static void inputs_close(struct inputs *inputs)
{
	bpk_source_close(inputs->whole);
	for (size_t i = 0; inputs->parts != NULL && i < inputs->count; i++)
		bpk_source_close(inputs->parts[i]);
	free(inputs->parts);
}

static int check_npy(struct bpk_archive *archive, struct bpk_source *source, const char *name,
		     struct bpk_err *err)
{
	struct bpk_view head;

	if (bpk_source_peek(source, BPK_NPY_MAGIC_SIZE, &head, err) != 0)
		return bpk_err_subject(err, "%s", bpk_input_name(name));
	return bpk_archive_check_npy(archive, head, name, err);
}

static int inputs_open(struct inputs *inputs, struct bpk_archive *archive, struct bpk_err *err)
{
	inputs->parts = bpk_calloc(inputs->count, sizeof *inputs->parts, err);
	if (inputs->parts == NULL)
		return -1;
	for (size_t i = 0; i < inputs->count; i++) {
		const char *name = inputs->names[i];

		if (bpk_source_open(name, &inputs->parts[i], err) != 0)
			return bpk_err_subject(err, "%s", bpk_input_name(name));
		if (bpk_archive_is_not(archive, bpk_source_stat(inputs->parts[i]), name, err) !=
			    0 ||
		    check_npy(archive, inputs->parts[i], name, err) != 0)
			return -1;
	}
	if (bpk_source_join(inputs->parts, inputs->count, &inputs->whole, err) != 0)
		return bpk_archive_subject(archive, err);
	return 0;
}

static int inputs_unchanged(const struct inputs *inputs, struct bpk_err *err)
{
	for (size_t i = 0; i < inputs->count; i++)
		if (bpk_source_unchanged(inputs->parts[i], err) != 0)
			return bpk_err_subject(err, "%s", bpk_input_name(inputs->names[i]));
	return 0;
}

/* Without a byte to be appended the archive stays untouched. */
static int is_empty(const struct inputs *inputs, bool *empty, struct bpk_err *err)
{
	struct bpk_view head;

	if (bpk_source_peek(inputs->whole, 1, &head, err) != 0)
		return bpk_err_subject(err, "%s", bpk_input_name(inputs->names[0]));
	*empty = head.size == 0;
	return 0;
}

static int append_inputs(struct bpk_archive *archive, const struct inputs *inputs,
			 struct bpk_rounds *done, struct bpk_err *err)
{
	uint64_t before = bpk_archive_info(archive)->raw_size;
	struct bpk_packing packing = { 0 };
	struct bpk_flow_result result;
	bool empty = false;
	int rc;

	if (is_empty(inputs, &empty, err) != 0)
		return -1;
	if (empty)
		return inputs_unchanged(inputs, err);
	rc = bpk_archive_choose(archive, inputs->whole, &packing, err);
	if (rc == 0)
		rc = bpk_archive_append(archive, inputs->whole, inputs->names[0], &packing, &result,
					err);
	if (rc == 0)
		rc = inputs_unchanged(inputs, err);
	if (rc == 0)
		rc = bpk_archive_commit(archive, err);
	if (rc == 0) {
		done->appended = bpk_archive_info(archive)->raw_size - before;
		done->commits = 1;
	}
	bpk_buf_clear(&packing.choice.why);
	return rc;
}

int bpk_archive_append_files(struct bpk_archive *archive, char *const *paths, size_t count,
			     struct bpk_rounds *rounds, struct bpk_err *err)
{
	struct inputs inputs = { .names = paths, .count = count };
	int rc = inputs_open(&inputs, archive, err);

	if (rc == 0)
		rc = append_inputs(archive, &inputs, rounds, err);
	inputs_close(&inputs);
	return rc;
}
