/* All members of a tar, each opened in place: bpk_tar_walk, for verify. */
#include <stdlib.h>

#include "io/tar/index.h"

struct walk {
	struct bpk_tar_index *index;
	const struct bpk_tar_visit *visit;
	void *arg;
	size_t next; /* number of the next member */
	struct bpk_err *err;
};

/* Call for the folder that is the first size bytes of name. *enters: its members are visited. */
static int meet_folder(struct walk *walk, const char *name, size_t size, bool *enters)
{
	char *folder = bpk_calloc(1, size + 2, walk->err);
	struct bpk_dir *dir;
	int rc = -1;

	if (folder == NULL)
		return -1;
	memcpy(folder, name, size);
	folder[size] = '/';
	if (bpk_tar_index_folder(walk->index, folder, true, &dir, walk->err) == 0) {
		folder[size] = '\0';
		*enters = walk->visit->folder(walk->arg, folder, dir);
		folder[size] = '/';
		rc = 0;
	}
	if (rc == 0 && !*enters)
		while (walk->next < walk->index->count &&
		       bpk_tar_index_lies_below(walk->index, walk->next, folder))
			walk->next++;
	free(folder);
	return rc;
}

/* Call for the folders that name lies in and the member before it does not. */
static int meet_folders(struct walk *walk, const char *before, const char *name, bool *enters)
{
	size_t same = 0;

	*enters = true;
	while (before[same] != '\0' && before[same] == name[same])
		same++;
	for (const char *slash = strchr(name + same, '/'); slash != NULL && *enters;
	     slash = strchr(slash + 1, '/'))
		if (meet_folder(walk, name, (size_t)(slash - name), enters) != 0)
			return -1;
	return 0;
}

static void meet_file(struct walk *walk, const struct bpk_tar_member_at *member)
{
	struct bpk_source *source = NULL;
	struct bpk_err err = { 0 };
	const struct bpk_tar_member_at *found = bpk_tar_index_find(walk->index, member->name);

	/* of members of one name the last one counts, as for bpk_tar_find */
	if (walk->next < walk->index->count &&
	    strcmp(walk->index->members[walk->next].name, member->name) == 0)
		return;
	if (found == NULL || found->kind == BPK_TAR_FOLDER || found->kind == BPK_TAR_NO_FILE)
		return;
	bpk_tar_index_open(walk->index, found, &source, &err);
	walk->visit->file(walk->arg, member->name, source, &err);
}

static int go_through(struct walk *walk)
{
	const char *before = "";
	bool enters;

	while (walk->next < walk->index->count) {
		const struct bpk_tar_member_at *member = &walk->index->members[walk->next];

		if (meet_folders(walk, before, member->name, &enters) != 0)
			return -1;
		before = member->name;
		if (!enters)
			continue;
		walk->next++;
		meet_file(walk, member);
	}
	return 0;
}

int bpk_tar_walk(struct bpk_source *source, const struct bpk_tar_visit *visit, void *arg,
		 struct bpk_err *err)
{
	struct bpk_tar_index *index = bpk_tar_index_new(source, err);
	struct walk walk = { .index = index, .visit = visit, .arg = arg, .err = err };
	int rc;

	if (index == NULL)
		return -1;
	rc = go_through(&walk);
	if (rc == 0 && index->behind.kind != BPK_OK)
		rc = bpk_fail_as(err, &index->behind);
	bpk_tar_index_free(index);
	return rc;
}
