/*
 * Gives up the right to write files, in a process that only reads them: if a hostile file took the
 * process over, it could not reach others with it. Called by cli before a command runs.
 */
#include "io/io.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#if defined __has_include
#if __has_include(<linux/landlock.h>)
#include <linux/landlock.h>
#include <sys/syscall.h>
#endif
#endif

#ifdef LANDLOCK_CREATE_RULESET_VERSION

/* The rights to write, of the first version of Landlock; a later one adds TRUNCATE (version 3). */
static const uint64_t WRITING = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
				LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR |
				LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
				LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |
				LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM,
		      TRUNCATE = UINT64_C(1) << 14;

/* The kernel's names are system calls, for which the C library has no functions. */
static int create_ruleset(const struct landlock_ruleset_attr *rules, size_t size, unsigned flags)
{
	return (int)syscall(SYS_landlock_create_ruleset, rules, size, flags);
}

/* Allow files (spool.c, drafts) below folder; a folder that is not there needs no rule. */
static void allow_files(int rules, const char *folder)
{
	struct landlock_path_beneath_attr below = {
		.allowed_access = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG |
				  LANDLOCK_ACCESS_FS_REMOVE_FILE,
		.parent_fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC),
	};

	if (below.parent_fd < 0)
		return;
	(void)syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &below, 0);
	close(below.parent_fd);
}

static void allow_replacing(int rules, const char *file)
{
	const char *slash = strrchr(file, '/');
	char *folder = bpk_strdup(slash != NULL ? file : ".", NULL);

	if (folder == NULL)
		return;
	if (slash != NULL)
		folder[slash == file ? 1 : slash - file] = '\0';
	allow_files(rules, folder);
	free(folder);
}

static void give_up_writing(const char *replaced)
{
	int version = create_ruleset(NULL, 0, LANDLOCK_CREATE_RULESET_VERSION), rules;
	struct landlock_ruleset_attr attr = {
		.handled_access_fs = version >= 3 ? WRITING | TRUNCATE : WRITING,
	};

	if (version < 1)
		return;
	rules = create_ruleset(&attr, sizeof attr.handled_access_fs, 0);
	if (rules < 0)
		return;
	allow_files(rules, bpk_temporary_folder());
	if (replaced != NULL)
		allow_replacing(rules, replaced);
	(void)syscall(SYS_landlock_restrict_self, rules, 0);
	close(rules);
}

#else

static void give_up_writing(const char *replaced)
{
	(void)replaced;
}

#endif

void bpk_confine(const char *replaced)
{
	/* Landlock needs it */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)
		give_up_writing(replaced);
}
