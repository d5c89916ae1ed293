/* bpk meta: user metadata, shown and changed. Called by main through the table of commands. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/edit.h"
#include "cli/identity.h"
#include "cli/transfer.h"
#include "cli/metadata.h"
#include "cli/nearest.h"
#include "cli/record.h"
#include "cli/report.h"

struct meta_args {
	struct bpk_args common;
	bool raw;
};

static const struct bpk_opt opt_raw = {
	.letter = 'r',
	.name = "raw-string",
	BPK_OPT_VALUE(OPT_FLAG, struct meta_args, raw),
	.help = "get: print a string without its quotes and escapes",
};

static const struct bpk_opt *const rows[] = {
	&opt_raw,         &bpk_opt_format_read, BPK_OPTS_CHANGE, &bpk_opt_quiet, BPK_OPTS_REMOTE,
	&bpk_opt_verbose, &bpk_opt_json,        &bpk_opt_help,   NULL,
};

static const struct meta_args defaults = { .common = BPK_ARGS_DEFAULTS };

/* ---- get ---- */

/* No metadata was found: tell absent metadata from damaged metadata. */
static int fail_no_metadata(struct bpk_input *in, struct bpk_err *err)
{
	if (bpk_input_account(in, err) != 0)
		return -1;
	bpk_fail(err, BPK_FAILED, "has no metadata");
	return bpk_input_subject(in, err);
}

static int fail_no_key(const char *key, struct bpk_err *err)
{
	return bpk_fail(err, BPK_FAILED, "metadata have no member '%s'", key);
}

/* JSON text, with escapes for the controls that terminals obey, but for white space. */
static void print_json(struct bpk_view text)
{
	size_t shown = 0; /* bytes printed, or left out for their escape */

	for (size_t i = 0; i < text.size; i++) {
		uint8_t byte = text.data[i], next = i + 1 < text.size ? text.data[i + 1] : 0xff;
		bool wide = byte == 0xc2 && next < 0xa0;

		if (!wide && ((byte >= 0x20 && byte != 0x7f) || strchr("\t\n\r", byte) != NULL))
			continue;
		fwrite(text.data + shown, 1, i - shown, stdout);
		i += wide;
		printf("\\u%04x", (unsigned)text.data[i]);
		shown = i + 1;
	}
	if (shown < text.size)
		fwrite(text.data + shown, 1, text.size - shown, stdout);
}

/* A text may end its line itself, as files that were imported do. */
static void print_line(struct bpk_view text, bool is_json)
{
	if (is_json)
		print_json(text);
	else
		fwrite(text.data, 1, text.size, stdout);
	if (text.size == 0 || text.data[text.size - 1] != '\n')
		putchar('\n');
}

static int print_value(const struct meta_args *args, struct bpk_view value, struct bpk_err *err)
{
	struct bpk_buf text = { 0 };
	bool bare = args->raw && bpk_json_kind(value) == BPK_JSON_STRING;
	int rc = 0;

	if (bare) {
		rc = bpk_json_string(value, &text, err);
		value = bpk_buf_view(&text);
	}
	if (rc == 0)
		print_line(value, !bare);
	bpk_buf_clear(&text);
	return rc;
}

static int print_metadata(const struct meta_args *args, struct bpk_input *in, const char *key,
			  struct bpk_err *err)
{
	struct bpk_buf less = { 0 };
	struct bpk_view value;
	int rc;

	if (bpk_input_check_damage(in, err) != 0)
		return -1;
	if (bpk_identity_users(in->info, &less, &value, err) != 0) {
		bpk_buf_clear(&less);
		return bpk_input_subject(in, err);
	}
	if (value.size == 0) {
		bpk_buf_clear(&less);
		return fail_no_metadata(in, err);
	}
	if (key != NULL)
		value = bpk_json_member(value, key);
	rc = bpk_json_kind(value) == BPK_JSON_NONE ? fail_no_key(key, err)
						   : print_value(args, value, err);
	bpk_buf_clear(&less);
	return rc == 0 ? 0 : bpk_input_subject(in, err);
}

static void get(const struct meta_args *args, char **operands, size_t count)
{
	struct bpk_input in = { 0 };
	struct bpk_err err = { 0 };

	if (bpk_input_open(&in, operands[0], &args->common.shared, &err) != 0 ||
	    print_metadata(args, &in, count > 1 ? operands[1] : NULL, &err) != 0) {
		bpk_side_advise(&in, &err);
		bpk_report(NULL, &err);
	}
	bpk_input_close(&in);
}

/* ---- changing ---- */

static int set_members(const struct bpk_archive *archive, struct bpk_buf *text, char **operands,
		       size_t count, struct bpk_err *err)
{
	for (size_t i = 0; i < count; i++)
		if (bpk_metadata_set(text, operands[i], err) != 0)
			return bpk_archive_subject(archive, err);
	return 0;
}

static int import(const struct bpk_archive *archive, struct bpk_buf *text, char **operands,
		  size_t count, struct bpk_err *err)
{
	static const struct bpk_opt_list no_pairs;

	(void)archive;
	(void)count;
	text->size = 0;
	return bpk_metadata_gather(operands[0], &no_pairs, text, err);
}

static int remove_members(const struct bpk_archive *archive, struct bpk_buf *text, char **operands,
			  size_t count, struct bpk_err *err)
{
	bool found = true;

	if (text->size == 0 && bpk_archive_info(archive)->damage == NULL) {
		bpk_fail(err, BPK_FAILED, "has no metadata");
		return bpk_archive_subject(archive, err);
	}
	if (count == 0)
		text->size = 0;
	for (size_t i = 0; i < count; i++)
		if (bpk_json_remove(text, operands[i], &found, err) != 0 ||
		    (!found && fail_no_key(operands[i], err) != 0))
			return bpk_archive_subject(archive, err);
	return 0;
}

static void tell_result(const struct bpk_edited *edited, const struct bpk_buf *text)
{
	const struct bpk_shared *shared = &edited->args->shared;
	const struct bpk_archive *archive = &edited->archive;

	if (shared->verbose)
		bpk_note(archive->path, "%zu bytes of metadata, %s", text->size,
			 bpk_edited_how(edited, "rewritten, since they outgrew their place"));
	if (!shared->json)
		return;
	bpk_record_begin("meta", archive->path);
	bpk_record_u64("metadata_size", text->size);
	bpk_record_bool("rewritten", archive->rewritten);
	bpk_record_end();
}

/* An action of bpk meta. */
struct word {
	const char *name;
	const char *operands;
	size_t min, max; /* how many they are */
	size_t keeps;    /* with so many or more, the members that are not named stay */
	/* Change the text by the operands behind the archive; NULL for get. */
	int (*change)(const struct bpk_archive *archive, struct bpk_buf *text, char **operands,
		      size_t count, struct bpk_err *err);
};

/* A change of single members keeps the others, so they must be readable. Damaged metadata can only
 * be replaced or removed as a whole. */
static int check_readable(const struct bpk_archive *archive, const struct word *word, size_t count,
			  struct bpk_err *err)
{
	const char *damage = bpk_archive_info(archive)->damage;

	if (damage == NULL || count < word->keeps)
		return 0;
	return bpk_fail(err, BPK_CORRUPT, "%s", damage);
}

static int change_opened(struct bpk_edited *edited, const struct word *word, char **operands,
			 size_t count, struct bpk_buf *text, struct bpk_err *err)
{
	struct bpk_archive *archive = &edited->archive;
	const struct bpk_info *info = bpk_archive_info(archive);
	size_t size;

	if (check_readable(archive, word, count, err) != 0)
		return bpk_archive_subject(archive, err);
	if ((info->metadata.given && bpk_buf_append(text, info->metadata.text, err) != 0) ||
	    bpk_ident_strip(text, err) != 0)
		return bpk_archive_subject(archive, err);
	if (word->change(archive, text, operands + 1, count - 1, err) != 0)
		return -1;
	size = text->size;
	if (bpk_archive_set_metadata(archive, text, err) != 0 ||
	    bpk_archive_commit(archive, err) != 0)
		return -1;
	text->size = size; /* without the identity */
	tell_result(edited, text);
	return 0;
}

static int change_archive(const struct meta_args *args, const struct word *word, char **operands,
			  size_t count, struct bpk_err *err)
{
	struct bpk_edited edited = { 0 };
	struct bpk_buf text = { 0 };
	int rc = bpk_edited_open(&edited, &args->common, operands[0], false, err);

	if (rc == 0)
		rc = change_opened(&edited, word, operands, count, &text, err);
	bpk_edited_close(&edited);
	bpk_buf_clear(&text);
	return rc;
}

/* ---- the words ---- */

static const struct word words[] = {
	{ "get", "ARCHIVE [KEY]", 1, 2, 1, NULL },
	{ "set", "ARCHIVE KEY=VALUE...", 2, SIZE_MAX, 2, set_members },
	{ "import", "ARCHIVE FILE", 2, 2, SIZE_MAX, import },
	{ "rm", "ARCHIVE [KEY]...", 1, SIZE_MAX, 2, remove_members },
};

enum { NWORDS = sizeof words / sizeof words[0] };

static const struct word *find_word(const char *name, struct bpk_err *err)
{
	struct bpk_nearest nearest = { .word = name };

	for (size_t i = 0; i < NWORDS; i++) {
		if (strcmp(words[i].name, name) == 0)
			return &words[i];
		bpk_nearest_offer(&nearest, words[i].name);
	}
	if (nearest.best != NULL)
		bpk_fail(err, BPK_USAGE, "unknown word '%s', did you mean '%s'?", name,
			 nearest.best);
	else
		bpk_fail(err, BPK_USAGE, "unknown word '%s', expected get, set, import or rm",
			 name);
	return NULL;
}

static int check_usage(const struct word *word, const struct meta_args *args, size_t count,
		       struct bpk_err *err)
{
	if (count < word->min || count > word->max)
		return bpk_fail(err, BPK_USAGE, "%s takes %s", word->name, word->operands);
	if (args->raw && word->change != NULL)
		return bpk_fail(err, BPK_USAGE, "--raw-string is for get alone");
	if (args->common.shared.json && word->change == NULL)
		return bpk_fail(err, BPK_USAGE, "--json is not for get, which prints JSON anyway");
	return 0;
}

static void run_meta(void *arg, char **operands, size_t count)
{
	const struct meta_args *args = arg;
	const struct word *word = NULL;
	struct bpk_err err = { 0 };

	if (count == 0)
		bpk_fail(&err, BPK_USAGE, "needs one of get, set, import and rm");
	else
		word = find_word(operands[0], &err);
	if (word == NULL || check_usage(word, args, count - 1, &err) != 0) {
		bpk_report("meta", &err);
		return;
	}
	if (word->change == NULL)
		get(args, operands + 1, count - 1);
	else if (change_archive(args, word, operands + 1, count - 1, &err) != 0)
		bpk_edited_report(operands[1], &err);
	bpk_record_settle(&args->common.shared, operands[1]);
}

const struct bpk_command bpk_command_meta = {
	.name = "meta",
	.synopsis = "[OPTION]... get|set|import|rm ARCHIVE [ARGUMENT]...",
	.summary = "show or change the user's metadata of an archive",
	.description =
		"get prints the metadata of ARCHIVE, a JSON text, or the member KEY of it. set "
		"takes KEY=VALUE pairs, where VALUE is JSON or else a text. import replaces the "
		"metadata with the JSON text in FILE (- is standard input). rm removes members, "
		"or without a KEY all of it.",
	.operands = OPERANDS_ARCHIVE_FIRST,
	.words = "get set import rm",
	.options = rows,
	.args_size = sizeof(struct meta_args),
	.defaults = &defaults,
	.run = run_meta,
};
