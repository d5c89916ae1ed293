/* bpk append, to a GSD file: a frame. Called by append.c. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/gsd.h"
#include "cli/record.h"
#include "cli/report.h"
#include "cli/signal.h"
#include "config.h"

/* One frame on its way into a file. */
struct appending {
	const char *path;
	const struct bpk_gsd_frame_args *frame;
	struct bpk_gsd_head head; /* of a new file; NULL: not given */
	bool has_version, has_step;
	uint64_t step;
	struct bpk_gsd_array *arrays;
	char **names; /* of the arrays; owned */
	size_t count;
	struct bpk_trajectory trajectory;
};

static const char step_name[] = "configuration/step";

static bool is_missing(const char *path)
{
	struct stat seen;

	return strcmp(path, "-") != 0 && lstat(path, &seen) != 0 && errno == ENOENT;
}

int bpk_gsd_append_wants(const char *path, const struct bpk_gsd_frame_args *frame, bool *wants,
			 struct bpk_err *err)
{
	bool is_named = (strlen(path) > 4 && bpk_ends_with(path, ".gsd")) || frame->schema != NULL;

	if (bpk_path_is_url(path) && is_named)
		return bpk_fail(err, BPK_FAILED,
				"%s: is a URL; frames are added to GSD files on a disk alone",
				path);
	if (!is_missing(path))
		return bpk_path_is_gsd(path, wants, err);
	*wants = is_named && !bpk_path_is_url(path);
	return 0;
}

/* ---- options ---- */

/* "1.4" */
static int parse_version(const char *text, uint32_t *version, struct bpk_err *err)
{
	char major[8] = "", minor[8] = "";
	uint64_t high, low;
	int end = 0;

	if (sscanf(text, "%5[0-9].%5[0-9]%n", major, minor, &end) != 2 || text[end] != '\0' ||
	    bpk_parse_u64(major, 0, UINT16_MAX, &high, NULL) != 0 ||
	    bpk_parse_u64(minor, 0, UINT16_MAX, &low, NULL) != 0)
		return bpk_fail(err, BPK_USAGE,
				"--schema-version cannot be '%s', expected two numbers as in 1.4",
				text);
	*version = (uint32_t)(high << 16 | low);
	return 0;
}

static int read_args(struct appending *a, struct bpk_err *err)
{
	const struct bpk_gsd_frame_args *frame = a->frame;

	a->head.application = frame->application;
	a->head.schema = frame->schema;
	a->has_version = frame->schema_version != NULL;
	if (a->has_version && parse_version(frame->schema_version, &a->head.schema_version, err))
		return -1;
	a->has_step = frame->step != NULL;
	if (a->has_step && bpk_parse_u64(frame->step, 0, UINT64_MAX, &a->step, err) != 0)
		return bpk_err_subject(err, "--step");
	if (a->count == 0 && !a->has_step)
		return bpk_fail(err, BPK_USAGE, "needs --step N or an array NAME=FILE.npy");
	return 0;
}

/* Before anything is written. */
static int check_names(const struct appending *a, struct bpk_err *err)
{
	for (size_t i = 0; i < a->count; i++) {
		const char *name = a->arrays[i].name;
		bool twice = a->has_step && strcmp(name, step_name) == 0;

		for (size_t j = 0; j < i && !twice; j++)
			twice = strcmp(name, a->arrays[j].name) == 0;
		if (twice)
			return bpk_fail(err, BPK_USAGE, "array '%s' is given twice", name);
	}
	return 0;
}

/* NAME=FILE; standard input must not be a terminal. */
static int open_array(const char *operand, char **name, struct bpk_gsd_array *array,
		      struct bpk_err *err)
{
	const char *equals = strchr(operand, '=');

	if (equals == NULL || equals == operand || equals[1] == '\0')
		return bpk_fail(err, BPK_USAGE,
				"'%s' is not an array for a frame, expected NAME=FILE.npy",
				operand);
	if (strcmp(equals, "=-") == 0 && isatty(STDIN_FILENO))
		return bpk_fail(err, BPK_USAGE, "standard input: is a terminal, name a FILE");
	*name = bpk_strdup(operand, err);
	if (*name == NULL)
		return -1;
	(*name)[equals - operand] = '\0';
	return bpk_gsd_array_open(array, *name, equals + 1, err);
}

static int open_arrays(struct appending *a, char *const *operands, struct bpk_err *err)
{
	size_t dashes = 0;

	a->arrays = bpk_calloc(a->count + 1, sizeof *a->arrays, err);
	a->names = bpk_calloc(a->count + 1, sizeof *a->names, err);
	if (a->arrays == NULL || a->names == NULL)
		return -1;
	for (size_t i = 0; i < a->count; i++) {
		const char *equals = strchr(operands[i], '=');

		dashes += equals != NULL && strcmp(equals, "=-") == 0;
	}
	if (dashes > 1)
		return bpk_fail(err, BPK_USAGE, "standard input can be read but once");
	for (size_t i = 0; i < a->count; i++)
		if (open_array(operands[i], &a->names[i], &a->arrays[i], err) != 0)
			return -1;
	return check_names(a, err);
}

/* ---- The file ---- */

static int create(struct appending *a, const struct bpk_args *args, struct bpk_err *err)
{
	struct bpk_gsd_head head = a->head;

	if (head.schema == NULL)
		return bpk_fail(err, BPK_FAILED,
				"%s: does not exist; a new file needs --schema NAME", a->path);
	if (head.application == NULL)
		head.application = "bpk " PACKAGE_VERSION;
	if (!a->has_version)
		head.schema_version = bpk_gsd_schema_version(head.schema);
	return bpk_trajectory_create(&a->trajectory, !args->shared.no_sync, a->path, &head, err);
}

/* An existing file keeps its schema and version. */
static int check_head(const struct appending *a, struct bpk_err *err)
{
	const struct bpk_gsd_head *found = bpk_gsd_editor_head(a->trajectory.editor);
	uint32_t is = found->schema_version, wanted = a->head.schema_version;

	if (a->head.schema != NULL && strcmp(a->head.schema, found->schema) != 0)
		return bpk_fail(err, BPK_FAILED, "%s: has schema '%s', not '%s'", a->path,
				found->schema, a->head.schema);
	if (a->has_version && is != wanted)
		return bpk_fail(err, BPK_FAILED, "%s: has schema version %u.%u, not %u.%u", a->path,
				is >> 16, is & 0xffff, wanted >> 16, wanted & 0xffff);
	if (a->head.application != NULL && strcmp(a->head.application, found->application) != 0)
		return bpk_fail(err, BPK_FAILED, "%s: has application '%s', not '%s'", a->path,
				found->application, a->head.application);
	return 0;
}

static int open_file(struct appending *a, const struct bpk_args *args, struct bpk_err *err)
{
	const struct bpk_edit_options options = bpk_edited_options(args);

	bpk_signals_start();
	if (is_missing(a->path))
		return create(a, args, err);
	if (bpk_trajectory_open(&a->trajectory, &options, a->path, false, err) != 0)
		return -1;
	return check_head(a, err);
}

/* ---- The frame ---- */

static int put_step(struct appending *a, struct bpk_err *err)
{
	static const struct bpk_scalar uint64 = { .kind = 'u', .item_size = 8 };
	struct bpk_gsd_editor *editor = a->trajectory.editor;
	uint8_t bytes[8];

	if (!a->has_step)
		return 0;
	bpk_put_le64(bytes, a->step);
	if (bpk_gsd_editor_put(editor, step_name, &uint64, 1, 1, err) != 0)
		return -1;
	return bpk_gsd_editor_write(editor, bpk_view(bytes, sizeof bytes), err);
}

/* A new file is no more public than its arrays' files. */
static int keep(struct appending *a, struct bpk_err *err)
{
	struct stat like = { .st_mode = S_IFREG | 0666,
			     .st_uid = (uid_t)-1,
			     .st_gid = (gid_t)-1,
			     .st_mtim.tv_nsec = UTIME_OMIT };
	bool is_like = false;

	for (size_t i = 0; i < a->count; i++) {
		const struct stat *seen = bpk_source_stat(a->arrays[i].source);

		if (!S_ISREG(seen->st_mode) || strcmp(a->arrays[i].path, "-") == 0)
			continue;
		bpk_stat_narrow(&like, seen);
		is_like = true;
	}
	return bpk_trajectory_keep(&a->trajectory, is_like ? &like : NULL, err);
}

static int put_frame(struct appending *a, struct bpk_err *err)
{
	if (put_step(a, err) != 0)
		return bpk_err_subject(err, "%s", a->path);
	for (size_t i = 0; i < a->count; i++) {
		struct bpk_gsd_array *array = &a->arrays[i];

		if (bpk_gsd_array_put(array, a->trajectory.editor, err) != 0 ||
		    bpk_source_unchanged(array->source, err) != 0)
			return bpk_err_subject(err, "%s -> %s", bpk_input_name(array->path),
					       a->path);
	}
	if (bpk_gsd_editor_end_frame(a->trajectory.editor, err) != 0 ||
	    bpk_gsd_editor_commit(a->trajectory.editor, err) != 0)
		return bpk_err_subject(err, "%s", a->path);
	return keep(a, err);
}

static void tell(const struct appending *a, const struct bpk_shared *shared)
{
	uint64_t nframes = bpk_gsd_editor_nframes(a->trajectory.editor);

	if (shared->verbose)
		bpk_note(a->path, "frame %" PRIu64 " of %zu arrays appended", (nframes - 1),
			 a->count + a->has_step);
	if (!shared->json)
		return;
	bpk_record_begin("append", a->path);
	bpk_record_u64("frame", nframes - 1);
	bpk_record_u64("step", a->has_step ? a->step : BPK_UNKNOWN);
	bpk_record_u64("appended_arrays", a->count + a->has_step);
	bpk_record_u64("nframes", nframes);
	bpk_record_u64("narrays", bpk_gsd_editor_narrays(a->trajectory.editor));
	bpk_record_end();
}

/* All that can be wrong with the arrays is found before the file is touched. */
static int append_frame(struct appending *a, const struct bpk_args *args, char *const *operands,
			struct bpk_err *err)
{
	if (read_args(a, err) != 0 || open_arrays(a, operands, err) != 0)
		return -1;
	if (open_file(a, args, err) != 0 || put_frame(a, err) != 0)
		return -1;
	tell(a, &args->shared);
	return 0;
}

void bpk_gsd_append(const char *path, const struct bpk_args *args,
		    const struct bpk_gsd_frame_args *frame, char *const *operands, size_t count)
{
	struct appending a = { .path = path, .frame = frame, .count = count };
	struct bpk_err err = { 0 };

	if (append_frame(&a, args, operands, &err) != 0)
		bpk_report(err.kind == BPK_USAGE ? "append" : NULL, &err);
	bpk_trajectory_close(&a.trajectory);
	for (size_t i = 0; a.arrays != NULL && i < count; i++)
		bpk_gsd_array_close(&a.arrays[i]);
	for (size_t i = 0; a.names != NULL && i < count; i++)
		free(a.names[i]);
	free(a.arrays);
	free(a.names);
}
