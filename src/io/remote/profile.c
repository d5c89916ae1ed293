/* Reads the files in which users keep their keys of S3. Called by store.c. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "io/full.h"
#include "io/io.h"
#include "io/remote/s3.h"

enum { FILE_MAX = 1 << 20 }; /* bytes that are read of a file */

/* ---- lines ---- */

static struct bpk_view trimmed(struct bpk_view text)
{
	static const char blanks[] = " \t\r";

	while (text.size > 0 && memchr(blanks, text.data[text.size - 1], 3) != NULL)
		text.size--;
	while (text.size > 0 && memchr(blanks, text.data[0], 3) != NULL)
		text = bpk_view(text.data + 1, text.size - 1);
	return text;
}

static bool is_text(struct bpk_view view, const char *text)
{
	return view.size == strlen(text) && memcmp(view.data, text, view.size) == 0;
}

/* The name in "[NAME]" or "[profile NAME]"; of size 0 for any other line. */
static struct bpk_view section_of(struct bpk_view line)
{
	static const char word[] = "profile";
	struct bpk_view name;

	if (line.size < 2 || line.data[0] != '[' || line.data[line.size - 1] != ']')
		return bpk_view(NULL, 0);
	name = trimmed(bpk_view(line.data + 1, line.size - 2));
	if (name.size > sizeof word && memcmp(name.data, word, sizeof word - 1) == 0 &&
	    (name.data[sizeof word - 1] == ' ' || name.data[sizeof word - 1] == '\t'))
		name = trimmed(bpk_view(name.data + sizeof word, name.size - sizeof word));
	return name;
}

static char **member_of(struct bpk_s3_profile *profile, struct bpk_view key)
{
	if (is_text(key, "aws_access_key_id"))
		return &profile->key_id;
	if (is_text(key, "aws_secret_access_key"))
		return &profile->secret;
	if (is_text(key, "aws_session_token"))
		return &profile->token;
	return is_text(key, "region") ? &profile->region : NULL;
}

/* Take "KEY = VALUE", unless KEY has a value already. */
static int take_setting(struct bpk_view line, struct bpk_s3_profile *found, struct bpk_err *err)
{
	const uint8_t *equals = line.size == 0 ? NULL : memchr(line.data, '=', line.size);
	struct bpk_view value;
	char **member;

	if (equals == NULL)
		return 0;
	member = member_of(found, trimmed(bpk_view(line.data, (size_t)(equals - line.data))));
	value = trimmed(bpk_view(equals + 1, line.size - (size_t)(equals + 1 - line.data)));
	if (member == NULL || *member != NULL || value.size == 0)
		return 0;
	*member = bpk_calloc(1, value.size + 1, err);
	if (*member == NULL)
		return -1;
	memcpy(*member, value.data, value.size);
	return 0;
}

int bpk_s3_profile_read(struct bpk_view text, const char *profile, struct bpk_s3_profile *found,
			struct bpk_err *err)
{
	bool is_ours = false;

	while (text.size > 0) {
		const uint8_t *end = memchr(text.data, '\n', text.size);
		size_t size = end == NULL ? text.size : (size_t)(end - text.data);
		struct bpk_view line = bpk_view(text.data, size), name;

		text = bpk_view(text.data + size, text.size - size);
		if (text.size > 0)
			text = bpk_view(text.data + 1, text.size - 1);
		/* an indented line belongs to a setting of its own, such as "s3 =" */
		if (line.size == 0 || memchr(" \t#;", line.data[0], 4) != NULL)
			continue;
		line = trimmed(line);
		name = section_of(line);
		if (name.size > 0)
			is_ours = is_text(name, profile);
		else if (is_ours && take_setting(line, found, err) != 0)
			return -1;
	}
	return 0;
}

void bpk_s3_profile_clear(struct bpk_s3_profile *profile)
{
	free(profile->key_id);
	free(profile->secret);
	free(profile->token);
	free(profile->region);
	*profile = (struct bpk_s3_profile){ 0 };
}

/* ---- files ---- */

static int read_file(const char *path, const char *profile, struct bpk_s3_profile *found,
		     struct bpk_err *err)
{
	int fd = bpk_full_open(path, O_RDONLY), rc;
	struct bpk_buf text = { 0 };
	size_t got = 0;

	if (fd < 0)
		return bpk_is_missing(errno) ? 0 : bpk_fail_errno(err, errno, "cannot open");
	rc = bpk_buf_resize(&text, FILE_MAX, err);
	if (rc == 0)
		rc = bpk_full_read(fd, bpk_buf_room(&text), &got, err);
	if (rc == 0)
		rc = bpk_s3_profile_read(bpk_view(text.data, got), profile, found, err);
	close(fd);
	bpk_buf_clear(&text);
	return rc;
}

static const char *variable(const char *name)
{
	const char *value = getenv(name);

	return value != NULL && *value != '\0' ? value : NULL;
}

/* Read the file that a variable names, or else the one below the home directory. */
static int read_either(const char *name, const char *below_home, const char *profile,
		       struct bpk_s3_profile *found, struct bpk_err *err)
{
	const char *path = variable(name), *home = variable("HOME");
	char *made = NULL;
	int rc;

	if (path == NULL && home == NULL)
		return 0;
	if (path == NULL && asprintf(&made, "%s/%s", home, below_home) < 0)
		return bpk_fail_memory(err, strlen(home));
	path = path == NULL ? made : path;
	rc = read_file(path, profile, found, err);
	if (rc != 0)
		bpk_err_subject(err, "%s", path);
	free(made);
	return rc;
}

int bpk_s3_profile_load(struct bpk_s3_profile *found, struct bpk_err *err)
{
	const char *named = variable("AWS_PROFILE"), *profile = named == NULL ? "default" : named;

	if (read_either("AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials", profile, found, err) !=
		    0 ||
	    read_either("AWS_CONFIG_FILE", ".aws/config", profile, found, err) != 0)
		return -1;
	if (named != NULL && found->key_id == NULL)
		return bpk_fail(err, BPK_FAILED,
				"AWS_PROFILE is %s, of which no file has an aws_access_key_id",
				named);
	return 0;
}
