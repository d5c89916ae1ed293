/*
 * Parity of directories: files are damaged, cut off and removed up to the limit and come back, and
 * one cell beyond it they do not; the list of files follows changes, and is never believed.
 * BPK_PARITY_ROUNDS=1000 tries so many damages, 60 by default.
 */
#include "unit/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "parity/parity.h"
#include "parity/side.h"

enum { FILES = 24, LARGEST = 30000 };

static unsigned rounds(void)
{
	const char *given = getenv("BPK_PARITY_ROUNDS");

	return given != NULL ? (unsigned)atoi(given) : 60;
}

/* A directory, its content in memory by the number of a file, and its parity. */
struct made {
	char root[32], path[48];
	uint8_t *content[FILES]; /* NULL: no such file */
	size_t size[FILES];
	struct bpk_dir *dir;
	struct bpk_source *source;
	struct bpk_parity *parity;
	struct bpk_parity_scan scan;
	uint8_t *joined; /* all bytes, as they were and are healed */
};

static bool owns(const char *name)
{
	return strstr(name, "stranger") == NULL;
}

static void name_file(const struct made *made, unsigned i, char *name, size_t size)
{
	static const char *const folders[] = { "", "a/", "a/b/", "a.c/" };

	snprintf(name, size, "%s/%sf%02u", made->root, folders[i % 4], i);
}

static void write_file(const struct made *made, unsigned i)
{
	char name[64];
	FILE *file;

	name_file(made, i, name, sizeof name);
	if (made->content[i] == NULL) {
		unlink(name);
		return;
	}
	file = fopen(name, "wb");
	assert_non_null(file);
	assert_int_equal(fwrite(made->content[i], 1, made->size[i], file), made->size[i]);
	assert_int_equal(fclose(file), 0);
}

static void new_content(struct made *made, unsigned i, size_t size, struct unit_random *r)
{
	free(made->content[i]);
	made->size[i] = size;
	made->content[i] = malloc(size + 1);
	for (size_t at = 0; at < size; at++)
		made->content[i][at] = (uint8_t)unit_random_next(r);
	write_file(made, i);
}

static void begin(struct made *made, struct unit_random *r)
{
	static const char *const folders[] = { "a", "a/b", "a.c" };
	struct bpk_err err = { 0 };
	char name[64];

	memset(made, 0, sizeof *made);
	strcpy(made->root, "parity-XXXXXX");
	assert_non_null(mkdtemp(made->root));
	snprintf(made->path, sizeof made->path, "%s.bpp", made->root);
	for (unsigned i = 0; i < 3; i++) {
		snprintf(name, sizeof name, "%s/%s", made->root, folders[i]);
		assert_int_equal(mkdir(name, 0700), 0);
	}
	for (unsigned i = 0; i < FILES; i++)
		if (unit_random_next(r) % 4 != 0)
			new_content(made, i, unit_random_next(r) % (i % 5 == 0 ? 200 : LARGEST), r);
	assert_int_equal(bpk_dir_open(made->root, owns, &made->dir, &err), 0);
}

static void end(struct made *made)
{
	static const char *const folders[] = { "a/b", "a", "a.c", "." };
	char name[64];

	for (unsigned i = 0; i < FILES; i++) {
		free(made->content[i]);
		made->content[i] = NULL;
		write_file(made, i);
	}
	bpk_parity_scan_clear(&made->scan);
	bpk_source_close(made->source);
	bpk_parity_close(made->parity);
	bpk_dir_close(made->dir);
	for (unsigned i = 0; i < 4; i++) {
		snprintf(name, sizeof name, "%s/%s", made->root, folders[i]);
		rmdir(name);
	}
	rmdir(made->root);
	unlink(made->path);
	free(made->joined);
}

/* Make the parity of those files; change may be NULL. */
static int make(struct made *made, const struct bpk_parity_files *files,
		const struct bpk_parity_change *change, struct bpk_err *err)
{
	const struct bpk_draft_options options = { .overwrite = true };
	struct bpk_source *source;
	struct bpk_draft *draft;

	assert_int_equal(bpk_parity_files_source(made->dir, files, false, &source, err), 0);
	assert_int_equal(bpk_draft_open(made->path, &options, &draft, err), 0);
	if (bpk_parity_make(source, files, 1000, change, draft, err) != 0) {
		bpk_draft_drop(draft);
		bpk_source_close(source);
		return -1;
	}
	bpk_source_close(source);
	return bpk_draft_keep(draft, NULL, err);
}

/* Open the parity, and keep all bytes as they are now. */
static void keep(struct made *made)
{
	struct bpk_err err = { 0 };
	uint64_t size;

	bpk_source_close(made->source);
	bpk_parity_close(made->parity);
	assert_int_equal(bpk_parity_open(made->path, &made->parity, &err), 0);
	assert_int_equal(bpk_parity_files_source(made->dir, bpk_parity_files(made->parity), true,
						 &made->source, &err),
			 0);
	size = bpk_parity_size(made->parity);
	made->joined = realloc(made->joined, size + 1);
	assert_int_equal(bpk_source_need_at(made->source, 0, bpk_span(made->joined, size), &err),
			 0);
}

static void make_first(struct made *made)
{
	struct bpk_parity_files files;
	struct bpk_err err = { 0 };

	assert_int_equal(bpk_parity_files_list(made->dir, owns, &files, &err), 0);
	assert_int_equal(make(made, &files, NULL, &err), 0);
	bpk_parity_files_clear(&files);
	keep(made);
}

/* ---- damage ---- */

/* Damage the bytes of a file: all are lost, or they and all behind, or each is another. */
static void damage_file(const struct made *made, const struct bpk_parity_file *file, uint64_t from,
			uint64_t to, struct unit_random *r)
{
	char name[96];
	FILE *open;

	snprintf(name, sizeof name, "%s/%s", made->root, file->name);
	if (from == 0 && to == file->size && unit_random_next(r) % 2 == 0) {
		assert_int_equal(unlink(name), 0);
	} else if (to == file->size && unit_random_next(r) % 2 == 0) {
		assert_int_equal(truncate(name, (off_t)from), 0);
	} else {
		open = fopen(name, "r+b");
		assert_non_null(open);
		fseek(open, (long)from, SEEK_SET);
		for (uint64_t at = from; at < to; at++)
			fputc(made->joined[file->start + at] ^ 0x55, open);
		fclose(open);
	}
}

static void damage_range(const struct made *made, uint64_t offset, uint64_t size,
			 struct unit_random *r)
{
	const struct bpk_parity_files *files = bpk_parity_files(made->parity);

	for (size_t i = 0; i < files->count; i++) {
		const struct bpk_parity_file *file = &files->files[i];
		uint64_t from = bpk_max_u64(offset, file->start);
		uint64_t to = bpk_min_u64(offset + size, file->start + file->size);

		if (from < to)
			damage_file(made, file, from - file->start, to - file->start, r);
	}
}

static int put(void *arg, uint64_t offset, struct bpk_view bytes, struct bpk_err *err)
{
	uint8_t *all = arg;

	(void)err;
	memcpy(all + offset, bytes.data, bytes.size);
	return 0;
}

static void compare(struct made *made)
{
	struct bpk_err err = { 0 };

	bpk_parity_scan_clear(&made->scan);
	/* the source keeps a file open */
	bpk_source_close(made->source);
	assert_int_equal(bpk_parity_files_source(made->dir, bpk_parity_files(made->parity), true,
						 &made->source, &err),
			 0);
	assert_int_equal(bpk_parity_compare(made->parity, made->source, &made->scan, &err), 0);
}

/* All bytes can be restored, and are those that were kept. */
static void check_healed(struct made *made)
{
	uint64_t size = bpk_parity_size(made->parity);
	uint8_t *all = malloc(size + 1);
	struct bpk_err err = { 0 };

	compare(made);
	assert_int_equal(made->scan.lost, 0);
	assert_int_equal(bpk_source_need_at(made->source, 0, bpk_span(all, size), &err), 0);
	assert_int_equal(bpk_parity_heal(made->parity, made->source, &made->scan, put, all, &err),
			 0);
	assert_memory_equal(all, made->joined, size);
	free(all);
}

static void restore(const struct made *made)
{
	for (unsigned i = 0; i < FILES; i++)
		write_file(made, i);
}

static void count_lost(void *arg, uint64_t offset, uint64_t size)
{
	(void)offset;
	*(uint64_t *)arg += size;
}

/* Cells that follow each other: as many as a group restores in each, or one more. */
static void test_damage(void **state)
{
	struct unit_random r = { 11 };
	struct bpk_err err = { 0 };
	struct made made;

	(void)state;
	for (unsigned round = 0; round < rounds(); round++) {
		const struct bpk_segment *s;
		uint64_t most, first, lost = 0;

		if (round % 20 == 0) {
			begin(&made, &r);
			make_first(&made);
		}
		s = made.parity->segments;
		most = s->m * s->groups;
		first = unit_random_next(&r) % (s->cells - most - 1);
		damage_range(&made, first * s->cell, most * s->cell, &r);
		check_healed(&made);
		restore(&made);
		damage_range(&made, first * s->cell, (most + 1) * s->cell, &r);
		compare(&made);
		/* zeros in place of lost bytes may be right by chance */
		if (made.scan.bad > most) {
			assert_int_equal(made.scan.lost, s->m + 1);
			assert_int_equal(
				bpk_parity_losses(made.parity, &made.scan, count_lost, &lost, &err),
				0);
			assert_true(lost > 0 && lost <= (s->m + 1) * s->cell);
		}
		restore(&made);
		if (round % 20 == 19 || round + 1 == rounds())
			end(&made);
	}
}

/* ---- changes ---- */

static void change_files(struct made *made, struct unit_random *r)
{
	for (unsigned n = 1 + unit_random_next(r) % 4; n > 0; n--) {
		unsigned i = unit_random_next(r) % FILES;
		size_t size = unit_random_next(r) % LARGEST;

		if (made->content[i] != NULL && unit_random_next(r) % 3 == 0)
			size = made->size[i];
		new_content(made, i, size, r);
		if (unit_random_next(r) % 4 == 0) {
			free(made->content[i]);
			made->content[i] = NULL;
			write_file(made, i);
		}
	}
}

static void follow(struct made *made, int expected)
{
	struct bpk_parity_files now, next;
	struct bpk_parity_range *written;
	struct bpk_parity_change change = { .old = made->parity };
	struct bpk_err err = { 0 };

	assert_int_equal(bpk_parity_files_list(made->dir, owns, &now, &err), 0);
	assert_int_equal(bpk_parity_files_follow(bpk_parity_files(made->parity), &now, &next,
						 &written, &change.count, &err),
			 0);
	assert_true(bpk_parity_files_same(&next, &now));
	change.written = written;
	assert_int_equal(make(made, &next, &change, &err), expected);
	assert_int_equal(err.kind, expected == 0 ? BPK_OK : BPK_CORRUPT);
	bpk_parity_files_clear(&now);
	bpk_parity_files_clear(&next);
	free(written);
}

static void test_changes(void **state)
{
	const struct timespec tick = { .tv_nsec = 12000000 };
	struct unit_random r = { 12 };
	struct made made;

	(void)state;
	begin(&made, &r);
	make_first(&made);
	for (unsigned round = 0; round < 20; round++) {
		const struct bpk_segment *s;

		nanosleep(&tick, NULL); /* so that times tell */
		change_files(&made, &r);
		follow(&made, 0);
		keep(&made);
		s = made.parity->segments;
		damage_range(&made, unit_random_next(&r) % (s->size - s->m * s->groups * s->cell),
			     (s->m * s->groups - 1) * s->cell, &r);
		check_healed(&made);
		restore(&made);
		nanosleep(&tick, NULL);
		make_first(&made); /* restored files have other times */
	}
	end(&made);
}

/* A file that the change did not write, by its size and time, and that is another. */
static void test_change_refuses_damage(void **state)
{
	struct unit_random r = { 13 };
	struct made made;
	struct stat before;
	char name[64];

	(void)state;
	begin(&made, &r);
	new_content(&made, 3, 5000, &r);
	make_first(&made);
	name_file(&made, 3, name, sizeof name);
	assert_int_equal(stat(name, &before), 0);
	made.content[3][77] ^= 1;
	write_file(&made, 3);
	assert_int_equal(utimensat(AT_FDCWD, name,
				   (struct timespec[2]){ before.st_atim, before.st_mtim }, 0),
			 0);
	new_content(&made, 4, 6000, &r);
	follow(&made, -1);
	end(&made);
}

/* ---- the list ---- */

static void refuse(struct bpk_view bytes)
{
	struct bpk_parity_files files;
	struct bpk_err err = { 0 };

	assert_int_equal(bpk_parity_files_get(bytes, &files, &err), -1);
	assert_int_equal(err.kind, BPK_CORRUPT);
	bpk_parity_files_clear(&files);
}

static void test_list(void **state)
{
	struct bpk_parity_file all[] = {
		{ .name = (char *)"a/b", .room = 10, .size = 7, .time = { 5, 6 } },
		{ .room = 3 },
		{ .name = (char *)"c", .room = 0, .size = 0 },
	};
	struct bpk_parity_files files = { .files = all, .count = 3, .size = 13 }, again;
	struct bpk_buf bytes = { 0 };
	struct bpk_err err = { 0 };

	(void)state;
	assert_int_equal(bpk_parity_files_put(&files, &bytes, &err), 0);
	assert_int_equal(bpk_parity_files_get(bpk_buf_view(&bytes), &again, &err), 0);
	assert_int_equal(again.count, 3);
	assert_int_equal(again.size, 13);
	assert_string_equal(again.files[0].name, "a/b");
	assert_int_equal(again.files[0].time.tv_nsec, 6);
	assert_null(again.files[1].name);
	assert_int_equal(again.files[2].start, 13);
	bpk_parity_files_clear(&again);
	for (size_t size = 1; size < bytes.size; size++)
		if (size != 35 && size != 67) /* whole files */
			refuse(bpk_view(bytes.data, size));
	bytes.data[32] = '\0';
	refuse(bpk_buf_view(&bytes));
	bytes.data[32] = 'a';
	bytes.data[8] = 11; /* larger than its room */
	refuse(bpk_buf_view(&bytes));
	bytes.data[8] = 7;
	bytes.data[7] = 0x7f; /* a huge room */
	refuse(bpk_buf_view(&bytes));
	bytes.data[7] = 0;
	all[2].name = all[0].name;
	bpk_buf_clear(&bytes);
	assert_int_equal(bpk_parity_files_put(&files, &bytes, &err), 0);
	refuse(bpk_buf_view(&bytes));
	bpk_buf_clear(&bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_changes),
		cmocka_unit_test(test_change_refuses_damage),
		cmocka_unit_test(test_list),
	};

	return UNIT_RUN(tests);
}
