/*
 * Power cuts of real file systems: archives are changed on a loop device, whose file system is shut
 * down without a flush of its log, mounted again, and examined.
 *
 *     shutdown [WORD]...   only the rows whose name contains one of the words; prints TAP
 *
 * It needs root and loop devices, and mounts; so it runs only if BPK_TEST_MOUNT=1 is set. The other
 * variables are those of living. A row is a state of an archive and a command on it. A case
 * restores the folder, syncs the file system, kills the command before a system call that writes,
 * and cuts the power: bytes and names that the command has not synced are lost, but for some that a
 * kernel may have written meanwhile. The content must be the old or the new one then, and the same
 * command must make the same of it as without a fault. A command that has ended with status 0
 * before the cut must have left the new content.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fault/folder.h"
#include "fault/row.h"

enum {
	ROWS = 9,  /* without BPK_FAULT_THIN one row in that many runs, */
	THIN = 11, /* and one of its cases in that many */
	SHOWN = 6, /* failures explained for each row */
};

/* ---- A disk ---- */

static const char *const systems[] = { "ext4", "xfs" };
enum { NSYSTEMS = sizeof systems / sizeof systems[0] };

/* A file system on a loop device. */
static struct {
	const char *system;
	char folder[PATH_MAX - 16]; /* of the disk's file */
	char mount[PATH_MAX];
	char device[64];
	char work[PATH_MAX]; /* the current folder, on the disk */
} disk;

/* Run a shell script with the folder as $0; returns true if it ends with 0. */
static bool shell(const char *script)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		execl("/bin/sh", "sh", "-c", script, disk.folder, disk.system, disk.device,
		      (char *)NULL);
		_exit(127);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static void read_device(void)
{
	char path[PATH_MAX + 8];
	FILE *file;

	snprintf(path, sizeof path, "%s/device", disk.folder);
	file = fopen(path, "re");
	if (file == NULL || fscanf(file, "%63s", disk.device) != 1)
		run_die("the loop device");
	fclose(file);
}

static void mount_disk(void)
{
	if (mount(disk.device, disk.mount, disk.system, 0, NULL) != 0)
		run_die("mount");
}

/* Returns false if this machine cannot make such a file system. */
static bool make_disk(const char *system)
{
	disk.system = system;
	snprintf(disk.folder, sizeof disk.folder, "/tmp/bpk-shutdown-XXXXXX");
	if (mkdtemp(disk.folder) == NULL)
		run_die("a scratch folder");
	snprintf(disk.mount, sizeof disk.mount, "%s/mount", disk.folder);
	if (mkdir(disk.mount, 0700) != 0)
		run_die(disk.mount);
	if (!shell("exec 2>/dev/null; cd \"$0\" && truncate -s 400M disk && mkfs -t \"$1\" -q disk"
		   " && losetup -f --show disk >device"))
		return false;
	read_device();
	mount_disk();
	return true;
}

static void remove_disk(void)
{
	if (chdir("/") != 0 || !shell("[ -z \"$2\" ] || { umount \"$2\"; losetup -d \"$2\"; };"
				      " rm -r \"$0\""))
		run_die("remove the disk");
	disk.device[0] = '\0';
}

static int open_disk(void)
{
	int fd = open(disk.mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		run_die(disk.mount);
	return fd;
}

static void sync_disk(void)
{
	int fd = open_disk();

	if (syncfs(fd) != 0)
		run_die("syncfs");
	close(fd);
}

/* The part of the unsynced that gets to the disk. */
enum way {
	NOTHING,
	LOG,        /* names and sizes of all files */
	FILE_WHOLE, /* the archive */
	FIRST_PAGE, /* of the archive */
	WAYS
};
static const char *const ways[WAYS] = { "nothing", "the log", "the archive", "its first page" };

static void write_back(const char *name, enum way way)
{
	enum { PAGE = 4096 };
	int fd = open(name, O_RDWR | O_CLOEXEC), rc = 0;

	if (fd < 0)
		return; /* it is not there yet */
	if (way == FILE_WHOLE)
		rc = fsync(fd);
	else if (way == FIRST_PAGE)
		rc = sync_file_range(fd, 0, PAGE,
				     SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
	if (rc != 0)
		run_die(name);
	close(fd);
}

/* Source of the call's number and flags: Linux, where ext4 calls it EXT4_IOC_SHUTDOWN and XFS calls
 * it XFS_IOC_GOINGDOWN. */
static void cut_power(enum way way)
{
	const unsigned long shut_down = _IOR('X', 125, uint32_t);
	uint32_t flush = way == LOG ? 1 : 2;
	int fd = open_disk();

	if (ioctl(fd, shut_down, &flush) != 0)
		run_die("shut down");
	close(fd);
	if (chdir("/") != 0 || umount2(disk.mount, 0) != 0)
		run_die("umount");
	mount_disk();
	if (chdir(disk.work) != 0)
		run_die(disk.work);
}

/* ---- One row ---- */

static struct row_tally tally;
static bool full;
static struct album seen; /* folders that were examined */

static const char *judge(const struct row *row, const struct ran *ran)
{
	static struct state now;
	int state, verified = row_verify(row);

	if (verified != 0 && verified != 3)
		return "verify finds fault";
	row_look(row, &now);
	state = row_find_state(row, &now);
	if (state < 0)
		return "the content is neither the old nor the new";
	if (ran->status == 0 && state != 1 &&
	    strcmp(row->states[0].content, row->states[1].content) != 0)
		return "ended well, and its change is lost";
	return row_judge_next(row, state);
}

static void try_point(const struct row *row, long point, enum way way)
{
	const struct fault kill_it = { .doer = BY_NTH, .action = "kill", .point = point };
	const struct fault none = { .doer = BY_NOBODY };
	struct timespec began;
	struct ran ran;
	const char *wrong = NULL;

	row_restore();
	sync_disk();
	began = folder_now();
	row_run(row, point > 0 ? &kill_it : &none, &ran);
	write_back(row->result, way);
	cut_power(way);
	if (ran.status == 0 || !folder_was_seen(&seen, began))
		wrong = judge(row, &ran);
	tally.points++;
	tally.right += wrong == NULL;
	if (wrong != NULL && tally.points - tally.right <= SHOWN)
		printf("# %s: SIGKILL at %ld %s, power cut, %s gets to the disk: %s; status %d\n",
		       row->name, point, ran.calls.first, ways[way], wrong, ran.status);
}

/* The result is one file, unless the folder has a directory of that name. */
static bool has_ways(const struct row *row)
{
	struct stat st;

	return stat(row->result, &st) != 0 || S_ISREG(st.st_mode);
}

static void try_all(const struct row *row, size_t number, size_t ncalls)
{
	unsigned nways = has_ways(row) ? WAYS : FILE_WHOLE;

	for (size_t point = 0; point <= ncalls; point++)
		for (unsigned way = 0; way < nways; way++)
			if (run_tries(number + point + 3 * way, THIN))
				try_point(row, (long)point, way);
}

static void cut_row(size_t n, char **wishes, int count)
{
	static struct row row;
	static struct calls calls;
	char said[512], word[32];
	const char *wrong;

	if (!row_is_cut(n, &row, full, ROWS, wishes, count))
		return;
	wrong = row_learn(&row, &calls, said);
	if (wrong == NULL)
		try_all(&row, n, calls.count);
	folder_forget(&seen);
	run_forget();
	snprintf(word, sizeof word, "%s: ", disk.system);
	row_tell(&tally, &row, word, "power cuts", wrong, said);
}

static void cut_system(const char *system, char **wishes, int count)
{
	if (!make_disk(system)) {
		printf("ok %d - %s # SKIP no loop device, or no mkfs.%s\n", ++tally.tests, system,
		       system);
		remove_disk();
		return;
	}
	row_begin(disk.mount);
	if (getcwd(disk.work, sizeof disk.work) == NULL)
		run_die("the current folder");
	for (size_t i = 0; i < row_count(); i++)
		cut_row(i, wishes, count);
	row_end();
	remove_disk();
}

/* ---- Requirements ---- */

/* NULL, or the reason why disks cannot be made here. */
static const char *cannot(void)
{
	const char *may = getenv("BPK_TEST_MOUNT");

	if (may == NULL || strcmp(may, "1") != 0)
		return "it mounts file systems, as root: set BPK_TEST_MOUNT=1";
	if (geteuid() != 0)
		return "mounting needs root";
	return run_cannot();
}

int main(int argc, char **argv)
{
	const char *build = getenv("abs_top_builddir");
	char tools[PATH_MAX];

	full = run_thin(THIN) == 1;
	snprintf(tools, sizeof tools, "%s/tests/fault", build != NULL ? build : ".");
	if (!run_begin(tools))
		return 99;
	if (cannot() != NULL) {
		printf("1..0 # SKIP %s\n", cannot());
		return 0;
	}
	for (size_t i = 0; i < NSYSTEMS; i++)
		cut_system(systems[i], argv + 1, argc - 1);
	return row_tell_all(&tally, "power cuts");
}
