/*
 * A program for sweep-edit.c to kill. edits SCENARIO COMMITS changes the file f in the current
 * folder up to that many commits, or all of them if there are fewer. edits read writes the view of
 * a reader to standard output, with zeros for bytes that do not count.
 *
 * Status 0, or 1 with a line "edits: N: why", where N is the number of commits that succeeded.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/io.h"

enum { SIZE = 6000, END_MOST = 1 << 16 };

static struct bpk_err err;
static int commits, wanted;

static void check(int rc)
{
	if (rc == 0)
		return;
	fprintf(stderr, "edits: %d: %s\n", commits, err.text);
	exit(1);
}

static struct bpk_edit *open_edit(bool copy)
{
	const struct bpk_edit_options options = { .sync = true, .copy = copy };
	struct bpk_edit *edit;

	check(bpk_edit_open("f", &options, &edit, &err));
	return edit;
}

static void write_run(struct bpk_edit *edit, uint64_t offset, char letter, size_t size)
{
	static char bytes[END_MOST];

	memset(bytes, letter, size);
	check(bpk_edit_write_at(edit, offset, bpk_view(bytes, size), &err));
}

/* Commit. Returns true if that was the last wanted commit. */
static bool commit(struct bpk_edit *edit, const char *head, uint64_t end)
{
	const struct bpk_edit_head written = { 4, bpk_view(head, strlen(head)) };
	check(bpk_edit_commit(edit, &written, end, &err));
	commits++;
	return commits >= wanted;
}

/* Without a journal. The head is a single byte, because no disk leaves half of a longer one. */
static void append(struct bpk_edit *edit)
{
	bpk_edit_set_free(edit, 100, 50);
	write_run(edit, SIZE, 'a', 300);
	write_run(edit, 110, 'A', 8);
	if (commit(edit, "1", SIZE + 300))
		return;
	write_run(edit, SIZE + 300, 'b', 9000);
	write_run(edit, SIZE + 9300, 'c', 1);
	check(bpk_edit_sync(edit, &err));
	commit(edit, "2", SIZE + 9301);
}

static void overwrite(struct bpk_edit *edit)
{
	write_run(edit, 2000, 'd', 700);
	write_run(edit, 1900, 'e', 2000);
	write_run(edit, SIZE - 10, 'f', 5000);
	if (commit(edit, "head of three", SIZE + 4990))
		return;
	write_run(edit, 0, 'g', 3);
	if (commit(edit, "HEAD OF THREE!", SIZE + 4990))
		return;
	bpk_edit_set_free(edit, 600, 200);
	check(bpk_edit_need_journal(edit, &err));
	write_run(edit, SIZE + 4990, 'h', 700);
	write_run(edit, 590, 'i', 300);
	commit(edit, "and the last of heads", SIZE + 5690);
}

static void cut(struct bpk_edit *edit)
{
	check(bpk_edit_save(edit, 3000, SIZE - 3000, &err));
	write_run(edit, 2900, 'j', 400);
	if (commit(edit, "three", 3300))
		return;
	write_run(edit, 1000, 'k', 10);
	if (commit(edit, "one", 1010))
		return;
	check(bpk_edit_trim(edit, &err));
	write_run(edit, 1010, 'l', 10);
	commit(edit, "3", 1020); /* no journal again */
}

static void give_up(struct bpk_edit *edit)
{
	write_run(edit, 3000, 'm', 400);
	write_run(edit, SIZE, 'n', 400);
	check(bpk_edit_rollback(edit, &err));
	write_run(edit, 2000, 'o', 400);
	if (commit(edit, "once", SIZE))
		return;
	write_run(edit, 2200, 'p', 4000);
}

static void copy(struct bpk_edit *edit)
{
	write_run(edit, 3000, 'q', 4000);
	if (commit(edit, "copied", 7000))
		return;
	write_run(edit, 10, 'r', 10);
	commit(edit, "again", 20);
}

static void replace(struct bpk_edit *edit)
{
	struct bpk_draft *draft;

	write_run(edit, 10, 's', 10); /* discarded */
	check(bpk_edit_draft(edit, &draft, &err));
	check(bpk_draft_write(draft, bpk_view("another file", 12), &err));
	check(bpk_edit_replace(edit, draft, &err));
	if (++commits >= wanted)
		return;
	write_run(edit, 3, 't', 5);
	commit(edit, "T", 12);
}

static const struct scenario {
	const char *name;
	void (*run)(struct bpk_edit *edit);
	bool copy;
} scenarios[] = {
	{ "append", append, false },   { "overwrite", overwrite, false }, { "cut", cut, false },
	{ "give-up", give_up, false }, { "replace", replace, false },     { "copy", copy, true },
	{ "recover", NULL, false },
};

/*
 * The head tells a reader, as a format's head would, where the content ends and which of its bytes
 * nobody can reach. Without a known head the content ends at SIZE, as at first.
 */
static const struct known_head {
	const char *head;
	size_t end, unused, unused_size;
} known_heads[] = {
	{ "1", SIZE + 300, 0, 0 },
	{ "2", SIZE + 9301, 0, 0 },
	{ "head of three", SIZE + 4990, 0, 0 },
	{ "HEAD OF THREE!", SIZE + 4990, 600, 200 },
	{ "and the last of heads", SIZE + 5690, 0, 0 },
	{ "three", 3300, 0, 0 },
	{ "one", 1010, 0, 0 },
	{ "3", 1020, 0, 0 },
	{ "once", SIZE, 0, 0 },
	{ "copied", 7000, 0, 0 },
	{ "", SIZE, 100, 50 },
};

static const struct known_head *find_head(const uint8_t *bytes)
{
	const struct known_head *known = known_heads;

	while (memcmp(bytes + 4, known->head, strlen(known->head)) != 0)
		known++;
	return known;
}

static int read_all(void)
{
	static uint8_t bytes[END_MOST];
	const struct known_head *known;
	struct bpk_place place;
	size_t got;

	check(bpk_place_open("f", NULL, &place, &err));
	check(bpk_source_hold(place.source, &err));
	check(bpk_source_read_at(place.source, 0, bpk_span(bytes, sizeof bytes), &got, &err));
	bpk_source_release(place.source);
	bpk_place_close(&place);
	known = find_head(bytes);
	if (got > known->end)
		got = known->end;
	memset(bytes + known->unused, 0, known->unused_size);
	return fwrite(bytes, 1, got, stdout) == got && fclose(stdout) == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "read") == 0)
		return read_all();
	wanted = argc == 3 ? atoi(argv[2]) : 0;
	for (size_t i = 0; argc == 3 && i < sizeof scenarios / sizeof scenarios[0]; i++) {
		const struct scenario *scenario = &scenarios[i];
		struct bpk_edit *edit;

		if (strcmp(scenario->name, argv[1]) != 0)
			continue;
		edit = open_edit(scenario->copy);
		if (scenario->run != NULL && wanted > 0)
			scenario->run(edit);
		bpk_edit_close(edit);
		return 0;
	}
	fprintf(stderr, "usage: edits SCENARIO COMMITS | edits read\n");
	return 2;
}
