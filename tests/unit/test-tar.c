/*
 * Tars: written through drafts, listed, and read in place, from a file and from memory.
 */
#include "unit/unit.h"

#include <stdio.h>
#include <unistd.h>

#include "io/io.h"
#include "io/tar/name.h"

static char path[] = "/tmp/bpk-test-tar-XXXXXX";

/* ---- names ---- */

static void names_become_relative(void **state)
{
	static const char *const pairs[][2] = {
		{ "a.blp", "a.blp" },
		{ "./a/./b", "a/b" },
		{ "/data//x/", "data/x" },
		{ "../../run/a", "run/a" },
		{ "a/../b/c", "b/c" },
		{ "...", "..." },
		{ ".", NULL },
		{ "/", NULL },
		{ "a/..", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
		struct bpk_err err = { 0 };
		char *name = bpk_tar_name(pairs[i][0], &err);

		if (pairs[i][1] != NULL)
			assert_string_equal(name, pairs[i][1]);
		else
			assert_null(name);
		assert_int_equal(err.kind, pairs[i][1] != NULL ? BPK_OK : BPK_FAILED);
		free(name);
	}
}

static void names_that_lead_out_are_known(void **state)
{
	char clean[64];

	(void)state;
	assert_null(bpk_tar_clean(".//a/./b/", clean));
	assert_string_equal(clean, "a/b");
	assert_null(bpk_tar_clean("./", clean));
	assert_string_equal(clean, "");
	assert_non_null(bpk_tar_clean("/a", clean));
	assert_non_null(bpk_tar_clean("a/../b", clean));
	assert_non_null(bpk_tar_clean("..", clean));
}

static void links_that_may_lead_out_are_known(void **state)
{
	static const struct {
		const char *name, *link;
		bool stays;
	} cases[] = {
		{ "l", "a", true },
		{ "l", "./a/b", true },
		{ "d/l", "../a", true },
		{ "d/e/l", "../../a", true },
		{ "l", "..", false },
		{ "l", "/a", false },
		{ "l", "", false },
		{ "d/l", "../../a", false },
		{ "d/l", "a/../..", false },
		{ "l", "a/..", false },
		{ "d/e/l", ".././../a", true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		assert_int_equal(bpk_tar_link_stays(cases[i].name, cases[i].link), cases[i].stays);
}

/* ---- writing ---- */

struct writing {
	struct bpk_draft *draft;
	struct bpk_tar_writer *tar;
};

static void begin(struct writing *w)
{
	const struct bpk_draft_options options = { .overwrite = true };
	const struct bpk_tar_options with = { .has_date = true, .date = 1 };
	struct bpk_err err = { 0 };

	assert_int_equal(bpk_draft_open(path, &options, &w->draft, &err), 0);
	assert_int_equal(bpk_tar_writer_open(w->draft, &with, &w->tar, &err), 0);
}

static void end(struct writing *w)
{
	struct bpk_err err = { 0 };

	assert_int_equal(bpk_tar_writer_finish(w->tar, &err), 0);
	bpk_tar_writer_close(w->tar);
	assert_int_equal(bpk_draft_keep(w->draft, NULL, &err), 0);
}

static const struct stat like = { .st_mode = S_IFREG | 0644 };

static void put(struct writing *w, const char *name, const char *text)
{
	struct bpk_draft *member;
	struct bpk_err err = { 0 };

	assert_int_equal(bpk_tar_member(w->tar, name, strlen(text), &like, &member, &err), 0);
	assert_false(bpk_draft_seekable(member));
	assert_int_equal(bpk_draft_write(member, bpk_view(text, strlen(text)), &err), 0);
	assert_int_equal(bpk_draft_tell(member), strlen(text));
	assert_int_equal(bpk_draft_keep(member, NULL, &err), 0);
}

static void put_some(void)
{
	struct writing w;
	struct bpk_err err = { 0 };

	begin(&w);
	put(&w, "x", "first");
	assert_int_equal(bpk_tar_folder(w.tar, "d", &like, &err), 0);
	put(&w, "d/b", "in d");
	put(&w, "d/e/c", "in d/e");
	put(&w, "d.b", "beside d");
	put(&w, "x", "second");
	put(&w, "empty", "");
	end(&w);
}

static void members_keep_to_their_size(void **state)
{
	struct bpk_draft *member;
	struct bpk_err err = { 0 };
	struct writing w;

	(void)state;
	begin(&w);
	assert_int_equal(bpk_tar_member(w.tar, "a", 4, &like, &member, &err), 0);
	assert_int_equal(bpk_draft_write(member, bpk_view("12345", 5), &err), -1);
	assert_int_equal(err.kind, BPK_FAILED);
	assert_int_equal(bpk_draft_write(member, bpk_view("123", 3), &err), 0);
	assert_int_equal(bpk_draft_keep(member, NULL, &err), -1);
	assert_int_equal(err.kind, BPK_FAILED);
	/* after that the tar cannot be finished */
	assert_int_equal(bpk_tar_writer_finish(w.tar, &err), -1);
	bpk_tar_writer_close(w.tar);
	bpk_draft_drop(w.draft);
}

static void a_dropped_member_breaks_the_tar(void **state)
{
	struct bpk_draft *member;
	struct bpk_err err = { 0 };
	struct writing w;

	(void)state;
	begin(&w);
	assert_int_equal(bpk_tar_member(w.tar, "a", 4, &like, &member, &err), 0);
	bpk_draft_drop(member);
	assert_int_equal(bpk_tar_member(w.tar, "b", 4, &like, &member, &err), -1);
	assert_int_equal(bpk_tar_writer_finish(w.tar, &err), -1);
	bpk_tar_writer_close(w.tar);
	bpk_draft_drop(w.draft);
}

/* ---- listing and finding ---- */

static int add_name(void *arg, const struct bpk_tar_entry *entry)
{
	char *names = arg;

	strcat(strcat(names, entry->name), " ");
	assert_int_equal(entry->stat->st_mtim.tv_sec, 1);
	return strcmp(entry->name, "empty") == 0 ? 7 : 0;
}

static void members_are_listed_in_turn(void **state)
{
	struct bpk_source *source;
	struct bpk_err err = { 0 };
	char names[200] = "";

	(void)state;
	put_some();
	assert_int_equal(bpk_source_open(path, &source, &err), 0);
	assert_int_equal(bpk_tar_list(source, add_name, names, &err), 7);
	assert_string_equal(names, "x d/ d/b d/e/c d.b x empty ");
	bpk_source_close(source);
}

static void find(const char *name, struct bpk_source **member, struct bpk_dir **dir)
{
	struct bpk_source *source;
	struct bpk_err err = { 0 };
	bool is_tar;

	assert_int_equal(bpk_source_open(path, &source, &err), 0);
	assert_int_equal(bpk_tar_find(source, name, &is_tar, member, dir, &err), 0);
	assert_true(is_tar);
}

static void holds(struct bpk_source *source, const char *text)
{
	char bytes[64];
	size_t got;

	assert_non_null(source);
	assert_true(bpk_source_seekable(source));
	assert_int_equal(bpk_source_size(source), strlen(text));
	assert_int_equal(
		bpk_source_read_at(source, 0, bpk_span((uint8_t *)bytes, sizeof bytes), &got, NULL),
		0);
	assert_int_equal(got, strlen(text));
	assert_memory_equal(bytes, text, got);
	bpk_source_close(source);
}

static void the_last_member_of_a_name_is_found(void **state)
{
	static const char *const none[] = { "y", "/x", "../x", "", "d/none", "d/b/c" };
	struct bpk_source *member;
	struct bpk_dir *dir;

	(void)state;
	put_some();
	find("x", &member, &dir);
	assert_null(dir);
	holds(member, "second");
	find("./d//b", &member, &dir);
	holds(member, "in d");
	find("empty", &member, &dir);
	holds(member, "");
	for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
		find(none[i], &member, &dir);
		assert_null(member);
		assert_null(dir);
	}
}

static int add_entry(void *arg, const char *name, enum bpk_entry entry)
{
	sprintf((char *)arg + strlen(arg), "%s%s ", name, entry == BPK_ENTRY_DIRECTORY ? "/" : "");
	return 0;
}

static void a_folder_is_a_directory(void **state)
{
	struct bpk_source *member;
	struct bpk_dir *dir;
	enum bpk_entry entry;
	struct bpk_err err = { 0 };
	char entries[100] = "";
	uint64_t size;

	(void)state;
	put_some();
	find("d", &member, &dir);
	assert_null(member);
	assert_non_null(dir);
	assert_int_equal(bpk_dir_list(dir, "", add_entry, entries, &err), 0);
	assert_string_equal(entries, "b e/ ");
	assert_int_equal(bpk_dir_look(dir, "b", &entry, &size, &err), 0);
	assert_int_equal(entry, BPK_ENTRY_FILE);
	assert_int_equal(size, 4);
	assert_int_equal(bpk_dir_look(dir, "e", &entry, &size, &err), 0);
	assert_int_equal(entry, BPK_ENTRY_DIRECTORY);
	assert_int_equal(bpk_dir_look(dir, "", &entry, &size, &err), 0);
	assert_int_equal(entry, BPK_ENTRY_DIRECTORY);
	assert_int_equal(bpk_dir_look(dir, "x", &entry, &size, &err), 0);
	assert_int_equal(entry, BPK_ENTRY_NONE);
	assert_int_equal(bpk_dir_source(dir, "e/c", &member, &err), 0);
	holds(member, "in d/e");
	assert_int_equal(bpk_dir_source(dir, "e", &member, &err), -1);
	assert_int_equal(err.kind, BPK_CORRUPT);
	assert_int_equal(bpk_dir_list(dir, "b", add_entry, entries, &err), -1);
	bpk_dir_close(dir);
}

static void memory_is_searched_too_and_what_is_no_tar_holds_nothing(void **state)
{
	uint8_t bytes[20480];
	FILE *file;
	size_t size;
	struct bpk_source *source, *member;
	struct bpk_dir *dir;
	struct bpk_err err = { 0 };
	bool is_tar;

	(void)state;
	put_some();
	file = fopen(path, "rb");
	assert_non_null(file);
	size = fread(bytes, 1, sizeof bytes, file);
	fclose(file);
	assert_int_equal(bpk_source_of_memory(bpk_view(bytes, size), &source, &err), 0);
	assert_int_equal(bpk_tar_find(source, "d/e/c", &is_tar, &member, &dir, &err), 0);
	holds(member, "in d/e");
	assert_int_equal(bpk_source_of_memory(bpk_view(bytes, 1500), &source, &err), 0);
	assert_int_equal(bpk_tar_find(source, "x", &is_tar, &member, &dir, &err), -1);
	assert_int_equal(err.kind, BPK_CORRUPT);
	bytes[0] ^= 1; /* the checksum of the first header */
	assert_int_equal(bpk_source_of_memory(bpk_view(bytes, size), &source, &err), 0);
	assert_int_equal(bpk_tar_find(source, "x", &is_tar, &member, &dir, &err), 0);
	assert_false(is_tar);
	assert_null(member);
	assert_null(dir);
}

static int make_file(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
	(void)state;
	return unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_become_relative),
		cmocka_unit_test(names_that_lead_out_are_known),
		cmocka_unit_test(links_that_may_lead_out_are_known),
		cmocka_unit_test(members_keep_to_their_size),
		cmocka_unit_test(a_dropped_member_breaks_the_tar),
		cmocka_unit_test(members_are_listed_in_turn),
		cmocka_unit_test(the_last_member_of_a_name_is_found),
		cmocka_unit_test(a_folder_is_a_directory),
		cmocka_unit_test(memory_is_searched_too_and_what_is_no_tar_holds_nothing),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, make_file, remove_file);
}
