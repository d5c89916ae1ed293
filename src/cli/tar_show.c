/* bpk tar -t and -x. Called by tar.c; ls_show.c prints members by it. */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "cli/record.h"
#include "cli/report.h"
#include "cli/signal.h"
#include "cli/tar.h"
#include "cli/text.h"

/* One tar being read. */
struct reading {
	const struct bpk_tar_args *args;
	const char *tar;
};

static void report(const char *tar, struct bpk_err *err)
{
	bpk_report(bpk_input_name(tar), err);
}

static int open_tar(const char *tar, struct bpk_source **source, struct bpk_err *err)
{
	*source = NULL;
	if (strcmp(tar, "-") == 0 && isatty(STDIN_FILENO))
		return bpk_fail(err, BPK_USAGE, "is a terminal, expected a tar; name a TAR");
	return bpk_source_open(tar, source, err);
}

/* ---- listing ---- */

/* Kinds of members; a hard link has the mode of its target. */
static const struct kind {
	mode_t type;
	char letter; /* as tar -tv has it */
	const char *word;
} kinds[] = {
	{ S_IFREG, '-', "file" },
	{ S_IFDIR, 'd', "directory" },
	{ S_IFLNK, 'l', "symbolic link" },
	{ S_IFIFO, 'p', "FIFO" },
	{ S_IFCHR, 'c', "character device" },
	{ S_IFBLK, 'b', "block device" },
};
static const struct kind hard_link = { 0, 'h', "hard link" };
static const struct kind unknown_kind = { 0, '?', "unknown" };

static const struct kind *kind_of(const struct bpk_tar_entry *entry)
{
	if (entry->is_hard_link)
		return &hard_link;
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		if (kinds[i].type == (entry->stat->st_mode & S_IFMT))
			return &kinds[i];
	return &unknown_kind;
}

const char *bpk_tar_kind(const struct bpk_tar_entry *entry)
{
	return kind_of(entry)->word;
}

void bpk_tar_print_name(const struct bpk_tar_entry *entry, bool with_link)
{
	bpk_print_escaped(bpk_view(entry->name, strlen(entry->name)));
	if (with_link && entry->link != NULL) {
		fputs(entry->is_hard_link ? " link to " : " -> ", stdout);
		bpk_print_escaped(bpk_view(entry->link, strlen(entry->link)));
	}
	putchar('\n');
}

/* "-rw-r--r--" */
static void print_mode(const struct bpk_tar_entry *entry)
{
	static const char letters[] = "rwxrwxrwx";
	mode_t mode = entry->stat->st_mode;

	putchar(kind_of(entry)->letter);
	for (unsigned i = 0; i < 9; i++)
		putchar((mode >> (8 - i) & 1) != 0 ? letters[i] : '-');
}

static void print_time(time_t seconds)
{
	char text[64] = "";
	struct tm when;

	if (localtime_r(&seconds, &when) != NULL)
		(void)strftime(text, sizeof text, "%Y-%m-%d %H:%M", &when);
	printf(" %16s ", text[0] != '\0' ? text : "?");
}

static void print_details(const struct bpk_tar_entry *entry)
{
	char owner[48];

	print_mode(entry);
	snprintf(owner, sizeof owner, "%lu/%lu", (unsigned long)entry->stat->st_uid,
		 (unsigned long)entry->stat->st_gid);
	printf(" %-11s %11" PRIu64, owner, entry->size);
	print_time(entry->stat->st_mtim.tv_sec);
}

void bpk_tar_record_entry(const struct bpk_tar_entry *entry)
{
	const struct stat *stat = entry->stat;
	bool is_file = entry->entry == BPK_ENTRY_FILE;

	bpk_record_text("name", entry->name);
	bpk_record_text("type", kind_of(entry)->word);
	bpk_record_text("link", entry->link);
	bpk_record_u64("size", is_file ? entry->size : BPK_UNKNOWN);
	bpk_record_u64("mode", stat->st_mode & 07777);
	bpk_record_u64("uid", stat->st_uid);
	bpk_record_u64("gid", stat->st_gid);
	bpk_record_seconds("mtime",
			   (double)stat->st_mtim.tv_sec + (double)stat->st_mtim.tv_nsec / 1e9);
}

static int show_entry(void *arg, const struct bpk_tar_entry *entry)
{
	const struct reading *reading = arg;

	if (reading->args->shared.json) {
		bpk_record_begin("tar", reading->tar);
		bpk_tar_record_entry(entry);
		bpk_record_end();
		bpk_record_settle(&reading->args->shared, reading->tar);
		return 0;
	}
	if (reading->args->shared.verbose > 0)
		print_details(entry);
	bpk_tar_print_name(entry, reading->args->shared.verbose > 0);
	return ferror(stdout) ? 1 : 0; /* which is reported at the end */
}

void bpk_tar_show(const struct bpk_tar_args *args, const char *tar)
{
	struct reading reading = { args, tar };
	struct bpk_source *source;
	struct bpk_err err = { 0 };

	if (open_tar(tar, &source, &err) != 0 ||
	    bpk_tar_list(source, show_entry, &reading, &err) < 0) {
		bpk_flush_results(); /* print the list before the error */
		report(tar, &err);
		bpk_record_settle(&args->shared, tar);
	}
	bpk_source_close(source);
}

/* ---- extracting ---- */

static void tell(void *arg, const char *name, const char *reason)
{
	const struct reading *reading = arg;
	struct bpk_err err = { 0 };

	if (reading->args->shared.json) {
		bpk_record_begin("tar", reading->tar);
		bpk_record_text("name", name);
		bpk_record_bool("extracted", reason == NULL);
		bpk_record_text("reason", reason);
		bpk_record_end();
	}
	if (reason != NULL) {
		bpk_fail(&err, BPK_PARTIAL, "%s %s, left out", name, reason);
		report(reading->tar, &err);
	} else if (reading->args->shared.verbose > 0) {
		bpk_note(bpk_input_name(reading->tar), "%s", name);
	}
	bpk_record_settle(&reading->args->shared, reading->tar);
}

void bpk_tar_extract_one(const struct bpk_tar_args *args, const char *tar)
{
	struct reading reading = { args, tar };
	const struct bpk_tar_extract_options options = {
		.overwrite = args->shared.force,
		.sync = !args->shared.no_sync,
		.tell = tell,
		.arg = &reading,
	};
	const char *folder = args->directory != NULL ? args->directory : ".";
	struct bpk_source *source;
	struct bpk_err err = { 0 };
	uint64_t skipped; /* each was reported */

	bpk_signals_start();
	if (open_tar(tar, &source, &err) != 0 ||
	    bpk_tar_extract(source, folder, &options, &skipped, &err) != 0)
		report(tar, &err);
	bpk_record_settle(&args->shared, tar);
	bpk_source_close(source);
}
