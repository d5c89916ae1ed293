/* A tar of hostile bytes: list it, find every member in place, by its own name and as a part of a
 * folder, and compare the content found with the content extracted in sequence. */
#include "fuzz/fuzz.h"

#include "io/io.h"
#include "io/tar/name.h"
#include "io/tar/read.h"

#include <stdio.h>
#include <stdlib.h>

enum {
	MOST_MEMBERS = 64,
	LARGEST = 1 << 20, /* members above this size are not compared */
	DEEPEST = 8,       /* folders entered below each other */
};

static void require(bool promise, const char *text)
{
	if (promise)
		return;
	fprintf(stderr, "broken: %s\n", text);
	abort();
}

/* The only failures allowed for hostile bytes: damaged, unsupported, and not a tar at all. */
static void judge(int rc, const struct bpk_err *err)
{
	if (rc >= 0)
		return;
	require(err->kind == BPK_CORRUPT || err->kind == BPK_UNSUPPORTED ||
			(err->kind == BPK_FAILED && strncmp(err->text, "is not a tar: ", 14) == 0),
		err->text);
	require(err->text[0] != '\0', "failures say why");
}

static struct bpk_source *source_of(struct bpk_view bytes)
{
	struct bpk_source *source;

	require(bpk_source_of_memory(bytes, &source, NULL) == 0, "a source of memory");
	return source;
}

/* Read all of source, at offsets, and compare it with content when that is not NULL. */
static void read_all(struct bpk_source *source, const struct bpk_buf *content)
{
	uint64_t size = bpk_source_size(source);
	struct bpk_err err = { 0 };
	struct bpk_buf all = { 0 };

	if (size > LARGEST)
		return;
	require(bpk_buf_resize(&all, (size_t)size, NULL) == 0, "memory for a small member");
	require(bpk_source_need_at(source, 0, bpk_span(all.data, all.size), &err) == 0, err.text);
	require(content == NULL ||
			(all.size == content->size &&
			 (all.size == 0 || memcmp(all.data, content->data, all.size) == 0)),
		"a member lies where its content is");
	bpk_buf_clear(&all);
}

struct walk {
	struct bpk_dir *dir;
	const char *below;
	unsigned depth;
};

static int visit(void *arg, const char *entry_name, enum bpk_entry entry)
{
	struct walk *walk = arg;
	struct bpk_source *source;
	struct bpk_err err = { 0 };
	char *name = NULL;

	require(entry != BPK_ENTRY_NONE && strchr(entry_name, '/') == NULL, "entries are parts");
	require(asprintf(&name, "%s%s%s", walk->below, *walk->below != '\0' ? "/" : "",
			 entry_name) >= 0,
		"memory for a name");
	if (entry == BPK_ENTRY_FILE && bpk_dir_source(walk->dir, name, &source, &err) == 0) {
		read_all(source, NULL);
		bpk_source_close(source);
	} else if (entry == BPK_ENTRY_DIRECTORY && walk->depth < DEEPEST) {
		struct walk inner = { walk->dir, name, walk->depth + 1 };

		judge(bpk_dir_list(walk->dir, name, visit, &inner, &err), &err);
	}
	judge(err.kind == BPK_OK ? 0 : -1, &err);
	free(name);
	return 0;
}

/* content is that of the name after extraction; NULL when unknown. */
static void find(struct bpk_view tar, const char *name, const struct bpk_buf *content)
{
	struct bpk_source *member;
	struct bpk_dir *dir;
	struct bpk_err err = { 0 };
	bool is_tar;

	judge(bpk_tar_find(source_of(tar), name, &is_tar, &member, &dir, &err), &err);
	require(member == NULL || dir == NULL, "a member is a file or a folder");
	if (member != NULL)
		read_all(member, content);
	bpk_source_close(member);
	if (dir != NULL) {
		struct walk walk = { dir, "", 0 };

		judge(bpk_dir_list(dir, "", visit, &walk, &err), &err);
	}
	bpk_dir_close(dir);
}

/* ---- All members in place ---- */

static bool walk_folder(void *arg, const char *name, struct bpk_dir *dir)
{
	struct walk walk = { dir, "", 0 };
	struct bpk_err err = { 0 };

	(void)arg;
	judge(bpk_dir_list(dir, "", visit, &walk, &err), &err);
	bpk_dir_close(dir);
	return strlen(name) % 8 != 7;
}

static void walk_file(void *arg, const char *name, struct bpk_source *source,
		      const struct bpk_err *why)
{
	(void)arg;
	(void)name;
	require((source == NULL) == (why->kind != BPK_OK), "a source, or the reason");
	if (source != NULL)
		read_all(source, NULL);
	bpk_source_close(source);
}

static void walk_all(struct bpk_view tar)
{
	static const struct bpk_tar_visit visiting = { walk_folder, walk_file };
	struct bpk_err err = { 0 };

	judge(bpk_tar_walk(source_of(tar), &visiting, NULL, &err), &err);
}

/* Read the content of the current member. False when it is damaged or has holes. */
static bool take_content(struct bpk_tar_stream *stream, const struct bpk_tar_entry *entry,
			 struct bpk_buf *content)
{
	struct bpk_view bytes;
	struct bpk_err err = { 0 };
	uint64_t offset;
	int rc;

	content->size = 0;
	while ((rc = bpk_tar_stream_data(stream, &bytes, &offset, &err)) == 0) {
		if (offset != content->size || content->size > LARGEST)
			return false;
		require(bpk_buf_append(content, bytes, NULL) == 0, "memory for a small member");
	}
	judge(rc, &err);
	return rc > 0 && content->size == entry->size;
}

/* The content of the last member of a name. known is false when that member is no file, or cannot
 * be compared. */
struct last {
	char *clean;
	struct bpk_buf content;
	bool known;
};

static void take(struct last *last, struct bpk_tar_stream *stream,
		 const struct bpk_tar_entry *entry, const char *clean)
{
	if (strcmp(last->clean, clean) == 0)
		last->known = entry->entry == BPK_ENTRY_FILE &&
			      take_content(stream, entry, &last->content);
}

/* Find the content that name has after extraction. */
static void settle(struct bpk_view tar, struct last *last)
{
	struct bpk_source *source = source_of(tar);
	struct bpk_tar_stream *stream;
	const struct bpk_tar_entry *entry;
	struct bpk_err err = { 0 };
	int rc = bpk_tar_stream_open(source, &stream, &err);

	judge(rc, &err);
	while (rc == 0 && (rc = bpk_tar_stream_next(stream, &entry, &err)) == 0) {
		char *clean = bpk_strdup(entry->name, NULL);

		require(clean != NULL, "memory for a name");
		require(entry->stat != NULL, "a member has a mode");
		if (bpk_tar_clean(entry->name, clean) == NULL)
			take(last, stream, entry, clean);
		free(clean);
	}
	judge(rc, &err);
	bpk_tar_stream_close(stream);
	bpk_source_close(source);
}

static void look_up(struct bpk_view tar, const char *name)
{
	struct last last = { .clean = bpk_strdup(name, NULL) };
	char *slash;

	require(last.clean != NULL, "memory for a name");
	if (bpk_tar_clean(name, last.clean) == NULL && *last.clean != '\0') {
		require(bpk_tar_link_stays("a", last.clean), "a clean name leads below");
		settle(tar, &last);
		find(tar, name, last.known ? &last.content : NULL);
		slash = strrchr(last.clean, '/');
		if (slash != NULL) {
			*slash = '\0';
			find(tar, last.clean, NULL);
		}
	}
	bpk_buf_clear(&last.content);
	free(last.clean);
}

struct names {
	struct bpk_view tar;
	unsigned count;
};

static int take_name(void *arg, const struct bpk_tar_entry *entry)
{
	struct names *names = arg;

	look_up(names->tar, entry->name);
	return ++names->count == MOST_MEMBERS;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct names names = { .tar = bpk_view(data, size) };
	struct bpk_source *source = source_of(names.tar);
	struct bpk_err err = { 0 };

	judge(bpk_tar_list(source, take_name, &names, &err), &err);
	bpk_source_close(source);
	find(names.tar, "no such member", NULL);
	walk_all(names.tar);
	return 0;
}
