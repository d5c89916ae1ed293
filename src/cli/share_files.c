/*
 * Hands whole files to the ranks of a team, and brings their messages to rank 0. While a rank
 * works on a file, its standard output and error lead to files in memory. share.c calls it.
 */
#include "cli/share_files.h"

#include <stdio.h>
#include <stdlib.h>

#include "cli/report.h"
#include "cli/share_catch.h"

/* In front of the messages about an operand, on their way to rank 0. */
struct head {
	uint64_t number;   /* of the operand; BPK_UNKNOWN: the sender has come to its end */
	uint32_t status;   /* bpk_report_take */
	uint64_t out_size; /* of standard output; the rest is standard error */
};

/* ---- The way of each file ---- */

/* The part of an operand that decides the name of its result: without its suffix, in its folder,
 * or in one that all share, where files of a tree keep their folders. */
static char *name_of_result(const struct bpk_file *file, bool one_folder)
{
	const char *operand = file->path;
	const char *suffix = bpk_format_suffix(operand), *slash = strrchr(operand, '/');
	const char *last = one_folder && file->below > 0 ? operand + file->below
			   : slash == NULL               ? operand
							 : slash + 1;
	int size = (int)(strlen(last) - (suffix != NULL ? strlen(suffix) : 0));
	char *folder = NULL, *parent, *name = NULL;

	if (!one_folder) {
		parent = slash == NULL ? strdup(".")
				       : strndup(operand, (size_t)(slash - operand) + 1);
		folder = parent == NULL ? NULL : realpath(parent, NULL);
		free(parent);
	}
	if (asprintf(&name, "%s/%.*s", folder == NULL ? "" : folder, size, last) < 0)
		name = NULL;
	free(folder);
	return name;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* True if two results may have one name, or that of an operand: then their order counts. */
static bool has_rivals(const struct bpk_share_files *files, const struct bpk_shared *shared)
{
	char **names = bpk_calloc(files->count, sizeof *names, NULL);
	bool found = names == NULL;

	for (size_t i = 0; !found && i < files->count; i++) {
		names[i] = name_of_result(&files->operands[i], shared->output_dir != NULL);
		found = names[i] == NULL;
	}
	if (!found)
		qsort(names, files->count, sizeof *names, compare_names);
	for (size_t i = 1; !found && i < files->count; i++)
		found = strcmp(names[i - 1], names[i]) == 0;
	for (size_t i = 0; names != NULL && i < files->count; i++)
		free(names[i]);
	free(names);
	return found;
}

/* A directory counts as large. */
static uint64_t size_of(const char *operand)
{
	struct stat found;
	bool there;

	if (strcmp(operand, "-") == 0 || bpk_path_is_url(operand) ||
	    bpk_path_look(operand, &found, &there, NULL) != 0 || !there)
		return 0;
	return S_ISREG(found.st_mode) ? (uint64_t)found.st_size : BPK_UNKNOWN;
}

/* Large enough that, done by one rank at the end, it would let the others wait. */
static void choose_ways(struct bpk_share_files *files, const struct bpk_shared *shared)
{
	enum { LEAST = 4 << 20, PARTS = 4 };
	bool in_order = files->count == 1 || shared->to_stdout ||
			(shared->results != NULL && has_rivals(files, shared));
	uint64_t total = 0, large;

	for (size_t i = 0; i < files->count; i++) {
		files->jobs[i].size = files->operands[i].size > 0
					      ? files->operands[i].size
					      : size_of(files->operands[i].path);
		if (files->jobs[i].size != BPK_UNKNOWN)
			total += files->jobs[i].size;
		in_order = in_order || strcmp(files->operands[i].path, "-") == 0;
	}
	large = bpk_max_u64(total / files->team->size / PARTS, LEAST);
	for (size_t i = 0; i < files->count; i++) {
		struct bpk_share_files_job *job = &files->jobs[i];

		job->way = in_order || job->size > large ? BPK_SHARE_DIVIDED : BPK_SHARE_WHOLE;
		if (bpk_state_is_done(files->state, files->operands[i].path))
			job->way = BPK_SHARE_PASSED;
	}
}

static const struct bpk_share_files_job *sorted; /* for compare_sizes */

static int compare_sizes(const void *a, const void *b)
{
	size_t left = *(const size_t *)a, right = *(const size_t *)b;

	if (sorted[left].size != sorted[right].size)
		return sorted[left].size > sorted[right].size ? -1 : 1;
	return (left > right) - (left < right);
}

int bpk_share_files_plan(struct bpk_share_files *files, const struct bpk_shared *shared,
			 struct bpk_err *err)
{
	struct bpk_team *team = files->team;

	files->jobs = bpk_calloc(files->count, sizeof *files->jobs, err);
	files->order = bpk_calloc(files->count, sizeof *files->order, err);
	files->said = bpk_calloc(files->count, sizeof *files->said, err);
	if (files->jobs == NULL || files->order == NULL || files->said == NULL)
		return -1;
	if (team->rank == 0)
		choose_ways(files, shared);
	team->broadcast(team->arg, 0, files->jobs, files->count * sizeof *files->jobs);
	for (size_t i = 0; i < files->count; i++) {
		if (files->jobs[i].way == BPK_SHARE_WHOLE)
			files->order[files->nwhole++] = i;
		files->npassed += files->jobs[i].way == BPK_SHARE_PASSED;
	}
	files->ndone = files->npassed;
	sorted = files->jobs;
	qsort(files->order, files->nwhole, sizeof *files->order, compare_sizes);
	return 0;
}

/* ---- Their messages ---- */

static void note_done(struct bpk_share_files *files, size_t number, unsigned status)
{
	struct bpk_err err = { 0 };

	files->ndone++;
	if (status == 0 && bpk_state_add(files->state, files->operands[number].path, &err) != 0)
		bpk_report(NULL, &err);
	/* a number of writes that grows slowly */
	if (++files->nnoted <= files->ndone / 16)
		return;
	files->nnoted = 0;
	if (bpk_state_keep(files->state, &err) != 0)
		bpk_report(NULL, &err);
}

static void print(const struct bpk_buf *said)
{
	const struct head *head = (const void *)said->data; /* aligned, as allocated */
	const uint8_t *text = said->data + sizeof *head;

	fwrite(text, 1, (size_t)head->out_size, stdout);
	bpk_flush_results();
	fwrite(text + head->out_size, 1, said->size - sizeof *head - (size_t)head->out_size,
	       stderr);
	bpk_report_add(head->status);
}

static bool is_ready(const struct bpk_share_files *files, size_t number)
{
	return files->jobs[number].way == BPK_SHARE_PASSED || files->said[number].size > 0;
}

static void print_ready(struct bpk_share_files *files)
{
	for (; files->printed < files->count && is_ready(files, files->printed); files->printed++) {
		struct bpk_buf *said = &files->said[files->printed];

		if (said->size == 0)
			continue;
		print(said);
		bpk_buf_clear(said);
		said->size = 0;
	}
}

/* Those that are behind one that was not done. */
static void print_rest(struct bpk_share_files *files)
{
	for (; files->printed < files->count; files->printed++) {
		if (files->said[files->printed].size > 0)
			print(&files->said[files->printed]);
		bpk_buf_clear(&files->said[files->printed]);
	}
}

/* Takes said. */
static void keep(struct bpk_share_files *files, struct bpk_buf *said)
{
	const struct head *head = (const void *)said->data;
	size_t number = (size_t)head->number;

	note_done(files, number, head->status);
	files->said[number] = *said;
	*said = (struct bpk_buf){ 0 };
	print_ready(files);
}

/* ---- Working ---- */

/* One operand of one command needs no detour. */
static void do_alone(struct bpk_share_files *files)
{
	unsigned status;

	files->one(files->arg, 0);
	status = bpk_report_take();
	note_done(files, 0, status);
	bpk_report_add(status);
	files->printed = 1;
}

void bpk_share_files_do(struct bpk_share_files *files, size_t number)
{
	struct bpk_team *team = files->team;
	struct head head = { .number = number };
	struct bpk_buf said = { 0 };
	struct bpk_err err = { 0 };

	if (files->count == 1) {
		do_alone(files);
		return;
	}
	if (bpk_buf_append(&said, bpk_view(&head, sizeof head), &err) != 0 ||
	    bpk_catch_begin(&err) != 0)
		team->abort(team->arg, EXIT_FAILURE, &err);
	files->one(files->arg, number);
	head.status = bpk_report_take();
	if (bpk_catch_end(&said, &head.out_size, &err) != 0)
		team->abort(team->arg, EXIT_FAILURE, &err);
	memcpy(said.data, &head, sizeof head);
	if (team->rank == 0)
		keep(files, &said);
	else
		team->post(team->arg, bpk_buf_view(&said));
	bpk_buf_clear(&said);
}

/* Take the messages that came to rank 0. Returns the number of ranks that came to their end. */
static unsigned take_messages(struct bpk_share_files *files, bool waits)
{
	struct bpk_buf said = { 0 };
	unsigned ended = 0;

	while (files->team->collect(files->team->arg, waits, &said)) {
		const struct head *head = (const void *)said.data;

		if (head->number == BPK_UNKNOWN)
			ended++;
		else
			keep(files, &said);
		if (waits && ended > 0)
			break;
	}
	bpk_buf_clear(&said);
	return ended;
}

void bpk_share_files_hand_out(struct bpk_share_files *files)
{
	struct bpk_team *team = files->team;
	const struct head end = { .number = BPK_UNKNOWN };
	struct bpk_err err;
	unsigned ended = 0;
	uint64_t next;

	while (files->nwhole > 0 && team->stop(team->arg, &err) == 0 &&
	       (next = team->take(team->arg)) < files->nwhole) {
		bpk_share_files_do(files, files->order[next]);
		if (team->rank == 0)
			ended += take_messages(files, false);
	}
	if (team->rank > 0)
		team->post(team->arg, bpk_view(&end, sizeof end));
	while (team->rank == 0 && ended < team->size - 1)
		ended += take_messages(files, true);
	if (team->rank == 0)
		print_rest(files);
}

void bpk_share_files_clear(struct bpk_share_files *files)
{
	free(files->jobs);
	free(files->order);
	free(files->said);
}
