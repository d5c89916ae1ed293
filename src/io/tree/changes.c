/* Reading and writing lists of changes. folder.c reads through them, change.c and commit.c make and
 * settle them; tree/apply.c carries them out. */
#include "io/tree/changes.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "io/beneath.h"
#include "io/tree/dir.h"
#include "io/full.h"
#include "io/file/hidden.h"

enum {
	TEXT_MAX = 64 << 20, /* bytes of a list: half a million changes */
	LAST_SIZE = sizeof "crc32\t00000000\n" - 1,
};

static const char any_version[] = "bpk changes ";
static const char first_line[] = "bpk changes 3\t";
static const char *const old_versions[] = { "bpk changes 1\t", "bpk changes 2\t" };
static const char root_line[] = "root\t";

void bpk_changes_clear(struct bpk_changes *list)
{
	free(list->changes);
	free(list->by_name);
	bpk_buf_clear(&list->text);
	list->changes = NULL;
	list->by_name = NULL;
	list->count = 0;
}

/* ---- By name ---- */

static int by_name(const void *a, const void *b)
{
	const struct bpk_change *const *left = a, *const *right = b;

	return strcmp((*left)->name, (*right)->name);
}

int bpk_changes_sort(struct bpk_changes *list, struct bpk_err *err)
{
	list->by_name = bpk_calloc(list->count, sizeof(struct bpk_change *), err);
	if (list->by_name == NULL)
		return -1;
	for (size_t i = 0; i < list->count; i++)
		list->by_name[i] = &list->changes[i];
	qsort(list->by_name, list->count, sizeof list->by_name[0], by_name);
	for (size_t i = 1; i < list->count; i++)
		if (strcmp(list->by_name[i - 1]->name, list->by_name[i]->name) == 0)
			return bpk_fail(err, BPK_CORRUPT, "the name \"%s\" comes twice",
					list->by_name[i]->name);
	return 0;
}

const struct bpk_change *bpk_changes_find(const struct bpk_changes *list, const char *name)
{
	const struct bpk_change wanted = { .name = name }, *key = &wanted;
	const struct bpk_change **found;

	if (list->count == 0)
		return NULL;
	found = bsearch(&key, list->by_name, list->count, sizeof list->by_name[0], by_name);
	return found == NULL ? NULL : *found;
}

/* ---- Writing ---- */

static int spell_change(const struct bpk_change *change, struct bpk_buf *text, struct bpk_err *err)
{
	const struct bpk_new_file *is = &change->is;
	const struct bpk_old_file *was = &change->was;

	if (change->draft == NULL)
		return bpk_buf_printf(text, err, "-\t%" PRIu64 "\t%" PRIu64 "\t%s\n", was->inode,
				      was->ctime, change->name);
	return bpk_buf_printf(text, err,
			      "+\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64
			      "\t%s\t%s\n",
			      is->inode, is->size, is->mtime, was->inode, was->ctime, change->draft,
			      change->name);
}

int bpk_changes_encode(const struct bpk_changes *list, struct bpk_buf *text, struct bpk_err *err)
{
	if (bpk_buf_printf(text, err, "%s%zu\n%s%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n",
			   first_line, list->count, root_line, list->root.device, list->root.inode,
			   list->root.born) != 0)
		return -1;
	for (size_t i = 0; i < list->count; i++)
		if (spell_change(&list->changes[i], text, err) != 0)
			return -1;
	if (text->size > TEXT_MAX - LAST_SIZE)
		return bpk_fail(err, BPK_LIMIT, "too many files are changed at once");
	return bpk_buf_printf(text, err, "crc32\t%08" PRIx32 "\n",
			      bpk_crc32(0, bpk_buf_view(text)));
}

/* ---- Reading ---- */

/* Cut *text at the next end, which is replaced by a NUL. Returns the part before it; NULL if text
 * has no end. */
static char *cut(char **text, char end)
{
	char *field = *text, *found = strchr(field, end);

	if (found == NULL)
		return NULL;
	*found = '\0';
	*text = found + 1;
	return field;
}

/* Read decimal digits as bpk writes them. False for others and for more than 64 bits. */
static bool take_number(const char *digits, uint64_t *number)
{
	*number = 0;
	if (*digits == '\0' || (*digits == '0' && digits[1] != '\0'))
		return false;
	for (; *digits != '\0'; digits++) {
		if (*digits < '0' || *digits > '9' || !bpk_mul_u64(*number, 10, number) ||
		    !bpk_add_u64(*number, (uint64_t)(*digits - '0'), number))
			return false;
	}
	return true;
}

static size_t folder_size(const char *name)
{
	const char *slash = strrchr(name, '/');

	return slash == NULL ? 0 : (size_t)(slash - name) + 1;
}

/* True if draft is a draft's name in the folder of name. */
static bool lies_beside(const char *draft, const char *name)
{
	size_t size = folder_size(name);

	return folder_size(draft) == size && memcmp(draft, name, size) == 0 &&
	       bpk_hidden_is_draft(draft + size);
}

static int check_change(const struct bpk_change *change, struct bpk_err *err)
{
	if (bpk_dir_check_name(change->name, err) != 0)
		return -1;
	if (bpk_hidden_is_name(change->name))
		return bpk_fail(err, BPK_CORRUPT, "the name \"%s\" is one that bpk needs",
				change->name);
	if (change->draft == NULL)
		return 0;
	if (bpk_dir_check_name(change->draft, err) != 0)
		return -1;
	if (!lies_beside(change->draft, change->name))
		return bpk_fail(err, BPK_CORRUPT, "the name \"%s\" is not a draft of \"%s\"",
				change->draft, change->name);
	return 0;
}

/* Read the number before the next TAB. */
static bool take_field(char **line, uint64_t *number)
{
	const char *digits = cut(line, '\t');

	return digits != NULL && take_number(digits, number);
}

static bool take_change(char *line, struct bpk_change *change)
{
	bool adds = strncmp(line, "+\t", 2) == 0;

	*change = (struct bpk_change){ 0 };
	if (!adds && strncmp(line, "-\t", 2) != 0)
		return false;
	line += 2;
	if (adds && (!take_field(&line, &change->is.inode) ||
		     !take_field(&line, &change->is.size) || !take_field(&line, &change->is.mtime)))
		return false;
	if (!take_field(&line, &change->was.inode) || !take_field(&line, &change->was.ctime))
		return false;
	change->draft = adds ? cut(&line, '\t') : NULL;
	change->name = line;
	return !adds || change->draft != NULL;
}

static int parse_change(char *line, struct bpk_change *change, struct bpk_err *err)
{
	if (!take_change(line, change))
		return bpk_fail(err, BPK_CORRUPT, "has a line that is not a change");
	return check_change(change, err);
}

/* Check the last line, and that no NUL hides a part of the others. */
static int check_text(const struct bpk_buf *text, struct bpk_err *err)
{
	char last[LAST_SIZE + 1];
	size_t size;

	if (text->size < LAST_SIZE)
		return bpk_fail(err, BPK_CORRUPT, "has %zu bytes, too few for a list", text->size);
	size = text->size - LAST_SIZE;
	snprintf(last, sizeof last, "crc32\t%08" PRIx32 "\n",
		 bpk_crc32(0, bpk_view(text->data, size)));
	if (memcmp(text->data + size, last, LAST_SIZE) != 0 ||
	    memchr(text->data, '\0', size) != NULL)
		return bpk_fail(err, BPK_CORRUPT, "does not match its checksum");
	return 0;
}

static size_t count_lines(const char *text)
{
	size_t count = 0;

	while ((text = strchr(text, '\n')) != NULL) {
		text++;
		count++;
	}
	return count;
}

/* Parse the line about the root. */
static bool parse_root(char *line, struct bpk_identity *root)
{
	const char *device, *inode;

	if (line == NULL || strncmp(line, root_line, sizeof root_line - 1) != 0)
		return false;
	line += sizeof root_line - 1;
	device = cut(&line, '\t');
	inode = device == NULL ? NULL : cut(&line, '\t');
	return inode != NULL && take_number(device, &root->device) &&
	       take_number(inode, &root->inode) && take_number(line, &root->born);
}

/* Parse all lines but the last. */
static int parse_lines(char *text, struct bpk_changes *list, struct bpk_err *err)
{
	size_t lines = count_lines(text);
	const char *line = cut(&text, '\n');
	uint64_t count;

	if (line == NULL || strncmp(line, first_line, sizeof first_line - 1) != 0 ||
	    !take_number(line + sizeof first_line - 1, &count))
		return bpk_fail(err, BPK_CORRUPT, "is not a list of changes");
	if (lines < 2 || count == 0 || count != lines - 2)
		return bpk_fail(err, BPK_CORRUPT, "counts %" PRIu64 " changes in %zu lines", count,
				lines);
	if (!parse_root(cut(&text, '\n'), &list->root))
		return bpk_fail(err, BPK_CORRUPT, "does not say which directory it is about");
	list->changes = bpk_calloc((size_t)count, sizeof list->changes[0], err);
	if (list->changes == NULL)
		return -1;
	for (; list->count < count; list->count++)
		if (parse_change(cut(&text, '\n'), &list->changes[list->count], err) != 0)
			return -1;
	if (*text != '\0')
		return bpk_fail(err, BPK_CORRUPT, "has text after its changes");
	return bpk_changes_sort(list, err);
}

int bpk_changes_parse(struct bpk_buf *text, struct bpk_changes *list, struct bpk_err *err)
{
	bpk_changes_clear(list);
	list->text = *text;
	*text = (struct bpk_buf){ 0 };
	text = &list->text;
	if (check_text(text, err) == 0) {
		/* the checksum is checked; everything before it is lines of text */
		size_t size = text->size - LAST_SIZE;

		list->crc = bpk_crc32(0, bpk_view(text->data, size));
		text->data[size] = '\0';
		if (parse_lines((char *)text->data, list, err) == 0)
			return 0;
	}
	bpk_changes_clear(list);
	return -1;
}

/* ---- The list of a directory ---- */

static int read_text(int fd, const struct stat *found, struct bpk_buf *text, struct bpk_err *err)
{
	size_t got;

	if (found->st_size > TEXT_MAX)
		return bpk_fail(err, BPK_CORRUPT, "has %" PRIu64 " bytes, too many for a list",
				(uint64_t)found->st_size);
	if (bpk_buf_resize(text, (size_t)found->st_size, err) != 0 ||
	    bpk_full_read_at(fd, 0, bpk_span(text->data, text->size), &got, err) != 0)
		return -1;
	text->size = got;
	return 0;
}

/* Ignore the list and note the reason. Returns 1. */
static int refuse_as(struct bpk_changes *list, const struct stat *found, enum bpk_kind kind,
		     const char *why)
{
	bpk_changes_clear(list);
	list->seen = *found;
	if (list->refused.kind == BPK_OK)
		bpk_fail(&list->refused, kind,
			 "its list of changes " BPK_DIR_LIST " is not used: %s", why);
	return 1;
}

static int refuse(struct bpk_changes *list, const struct stat *found, const char *why)
{
	return refuse_as(list, found, BPK_FAILED, why);
}

static bool begins_with(struct bpk_view text, const char *line)
{
	return text.size >= strlen(line) && memcmp(text.data, line, strlen(line)) == 0;
}

/* Parse text, unless it cannot be a list about this directory. */
static int parse_known(struct bpk_buf *text, const struct stat *found, struct bpk_changes *list,
		       struct bpk_err *err)
{
	struct bpk_view view = bpk_buf_view(text);

	if (!begins_with(view, any_version))
		return refuse(list, found, "it is not a list of changes");
	for (size_t i = 0; i < sizeof old_versions / sizeof old_versions[0]; i++)
		if (begins_with(view, old_versions[i]))
			return refuse(list, found, "it is of an older version");
	if (!begins_with(view, first_line))
		return bpk_fail(err, BPK_UNSUPPORTED, "is of a later version");
	return bpk_changes_parse(text, list, err);
}

/* Check that a parsed list belongs to the directory. */
static int check_list(struct bpk_changes *list, const struct bpk_identity *root,
		      const struct stat *found)
{
	struct bpk_err why;

	if (!list->any_root && !bpk_identity_same(&list->root, root))
		return refuse(list, found, bpk_identity_differs(&list->root, root, &why));
	for (size_t i = 0; list->owns != NULL && i < list->count; i++) {
		if (list->owns(list->changes[i].name))
			continue;
		bpk_fail(&why, BPK_FAILED, "it names %s, which is no part of a dataset",
			 list->changes[i].name);
		return refuse(list, found, why.text);
	}
	list->seen = *found;
	return 0;
}

static int check_kind(struct bpk_changes *list, const struct bpk_identity *root,
		      const struct stat *found)
{
	char why[100];

	if (!S_ISREG(found->st_mode))
		return refuse(list, found, "it is not a regular file");
	if (found->st_uid == root->owner || (list->any_root && found->st_uid == geteuid()))
		return 0;
	snprintf(why, sizeof why, "it belongs to user %lu, the directory to user %lu",
		 (unsigned long)found->st_uid, (unsigned long)root->owner);
	return refuse(list, found, why);
}

/* Read the list whose descriptor is fd. Returns 1 if it is ignored. */
static int load(int fd, const struct bpk_identity *root, struct bpk_changes *list,
		struct bpk_err *err)
{
	struct bpk_buf text = { 0 };
	struct stat found;
	int rc;

	if (fstat(fd, &found) != 0)
		return bpk_fail_errno(err, errno, BPK_DIR_LIST ": fstat");
	rc = check_kind(list, root, &found);
	if (rc != 0)
		return rc;
	rc = read_text(fd, &found, &text, err);
	if (rc == 0)
		rc = parse_known(&text, &found, list, err);
	bpk_buf_clear(&text);
	if (rc < 0)
		return bpk_err_subject(err, BPK_DIR_LIST);
	return rc > 0 ? rc : check_list(list, root, &found);
}

bool bpk_changes_stands(int root, const struct stat *seen)
{
	struct stat found;

	return fstatat(root, BPK_DIR_LIST, &found, AT_SYMLINK_NOFOLLOW) == 0 &&
	       bpk_is_still(&found, seen);
}

/* Read the list, whose stat is found. Returns 1 if it is ignored. */
static int take(int root, const struct stat *found, struct bpk_changes *list, struct bpk_err *err)
{
	struct bpk_identity identity;
	int fd, rc;

	if (bpk_identity_of(root, &identity, err) != 0)
		return -1;
	rc = check_kind(list, &identity, found); /* before it is opened */
	if (rc != 0)
		return rc;
	fd = bpk_beneath_open(root, BPK_DIR_LIST, O_RDONLY);
	if (fd < 0)
		return errno == ENOENT ? 0
				       : bpk_fail_errno(err, errno, BPK_DIR_LIST ": cannot open");
	rc = load(fd, &identity, list, err);
	close(fd);
	return rc;
}

/* ---- The list and the files ---- */

enum { TRIES_MAX = 1000 }; /* while writers keep replacing the list */

static int read_now(int root, struct bpk_changes *list, struct bpk_err *err)
{
	struct stat found;

	bpk_changes_clear(list);
	if (fstatat(root, BPK_DIR_LIST, &found, AT_SYMLINK_NOFOLLOW) != 0) {
		if (errno == ENOENT)
			return 0;
		if (errno == EACCES) /* about the folder, not this name */
			return bpk_fail_errno(err, errno, "cannot be read");
		return bpk_fail_errno(err, errno, BPK_DIR_LIST ": cannot stat");
	}
	return take(root, &found, list, err) < 0 ? -1 : 0;
}

/* Ignore a list that the files did not fit, unless they do now. */
static int refuse_files(int root, struct bpk_changes *list, struct bpk_err *err)
{
	const struct stat found = list->seen;
	struct bpk_err why;
	const char *strange;
	bool begun;

	if (bpk_changes_check(root, list, &strange, &begun, err) != 0)
		return -1;
	if (strange == NULL)
		return 0;
	bpk_fail(&why, begun ? BPK_CORRUPT : BPK_FAILED, "%s was changed since it was made%s",
		 strange, begun ? ", and a part of the list was carried out" : "");
	refuse_as(list, &found, why.kind, why.text);
	return 0;
}

/* Compare the files with the list that was read. A list that does not fit is read again: the files
 * may be those of the next one. */
static int compare(int root, struct bpk_changes *list, struct bpk_err *err)
{
	const char *strange;
	bool begun;

	for (int i = 0; i < TRIES_MAX; i++) {
		uint32_t crc = list->crc;

		if (bpk_changes_check(root, list, &strange, &begun, err) != 0)
			return -1;
		if (strange == NULL || (list->is_reader && bpk_changes_has_writer(root)))
			return 0;
		if (read_now(root, list, err) != 0)
			return -1;
		if (list->count == 0)
			return 0;
		if (list->crc == crc)
			return refuse_files(root, list, err);
	}
	return bpk_fail(err, BPK_FAILED, BPK_DIR_LIST ": is being replaced all the time");
}

int bpk_changes_refresh(int root, struct bpk_changes *list, struct bpk_err *err)
{
	bool known = list->count > 0 || list->refused.kind != BPK_OK;

	if (known && bpk_changes_stands(root, &list->seen))
		return 0;
	if (read_now(root, list, err) != 0)
		return -1;
	if (list->count == 0 || compare(root, list, err) == 0)
		return 0;
	bpk_changes_clear(list);
	return -1;
}
