/*
 * Archives changed in place: every kind x every command that changes it x every system call that
 * writes x every fault.
 *
 *     living [WORD]...   only the rows whose name contains one of the words; prints TAP
 *
 * The variables are those of sweep. A row is a state of an archive and a command on it. A case
 * restores the folder, runs the command into the fault, and checks: the content must be the old or
 * the new one, nothing between; verify must accept the archive (or end with 3: a change is
 * pending). Then the same command runs again without a fault, and must make the same content and
 * the same files as an undisturbed run does.
 *
 * A whole sweep leaves out only what cannot differ:
 * - Files are examined once a row. A case that leaves the same names, kinds, modes and bytes, and
 *   has written to the same files, has the same findings. (Journals and drafts differ from run to
 *   run, so a folder that holds one is always examined.)
 * - The cases that run_repeats names; and with threads, files left by a kill are always examined.
 * - SIGINT and SIGTERM take turns: cli/signal.c only raises the number again.
 *
 * Bytes may stay behind an archive's end only after a kill, a failed restore, or a stop or an error
 * between the commit and the cut, and always with a message. After a kill another archive is
 * concatenated to it: that one is read too, or the status reports it. The same kill is repeated
 * beside a reader whose output is not read, which must return the old content or report that the
 * archive changed.
 * A new archive that is packed over the name afterwards must hold its input.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fault/folder.h"
#include "fault/run.h"
#include "fault/slow.h"

enum {
	ROWS = 7,  /* without BPK_FAULT_THIN one row in that many runs, */
	THIN = 19, /* and one of its cases in that many */
	SHOWN = 6, /* failures explained for each mode of a row */
	FINDINGS_MOST = 1 << 14,
	RAW_SIZE = 20000,
	TEXT_MAX = 1 << 14,
	NAME_MAX_ROW = 96,
	PATIENCE_S = 10, /* for a command beside a reader that stands still */
};

/* ---- rows ---- */

/* Frames for an archive, t.gsd; frames to be appended to it, m.gsd; and a file to follow, f.gsd,
 * with all of them and one more. */
#define PACKED_GSD                                                                                 \
	"for i in 1 2; do \"$BPK\" append -q t.gsd --schema hoomd --step $i pos=p.npy; done;"      \
	" \"$BPK\" append -q m.gsd --schema hoomd --step 7 pos=p.npy new=p.npy; cp t.gsd f.gsd;"   \
	" for i in 7 8; do \"$BPK\" append -q f.gsd --step $i pos=p.npy new=p.npy; done;"

/* A frame that an append or a write replaces by a copy without holes, after the commit. */
#define HOLES "holes.b2frame"

/* An archive, made in an empty folder by a shell with BPK and the files a, more, patch and big. */
static const struct form {
	const char *name;
	const char *archive;
	const char *setup;
	bool empty;
	bool without_metadata;
} forms[] = {
	{ "blp, last chunk full", "x.blp",
	  "head -c 16384 a | \"$BPK\" pack -q -T 1 -z 4K -t 4 --slack 200 --set k=0 -o x.blp -",
	  false, false },
	{ "blp, last chunk partial", "x.blp",
	  "head -c 14000 a | \"$BPK\" pack -q -T 1 -z 4K -t 4 --codec lz4 --set k=0 -o x.blp -",
	  false, false },
	{ "blp, chunks of many sizes", "x.blp",
	  "head -c 14000 a | \"$BPK\" pack -q -T 1 -z 4K --set k=0 --set "
	  "'bpk_chunks=[[1,4096],[2,4096]]' -o x.blp -; printf '\\377\\377\\377\\377' | "
	  "dd of=x.blp bs=1 seek=8 conv=notrunc status=none",
	  false, false },
	{ "blp, empty", "x.blp", "\"$BPK\" pack -q -o x.blp - </dev/null", true, true },
	{ "blp, no offsets, partial", "x.blp",
	  "head -c 14000 a | \"$BPK\" pack -q -T 1 -z 4K --no-offsets --set k=0 -o x.blp -", false,
	  false },
	{ "blp, no offsets, full", "x.blp",
	  "head -c 16384 a | \"$BPK\" pack -q -T 1 -z 4K --no-offsets -o x.blp -", false, true },
	{ "blp, a stream of unknown length", "x.blp",
	  "head -c 14000 a | \"$BPK\" pack -q -T 1 -z 4K | cat >x.blp", false, true },
	{ "blp, one spare entry", "x.blp",
	  "head -c 14000 a | \"$BPK\" pack -q -T 1 -z 4K --append-space 1 -o x.blp -", false,
	  true },
	{ "blp, no checksum", "x.blp",
	  "head -c 14000 a | \"$BPK\" pack -q -T 1 -z 4K --checksum none -o x.blp -", false, true },
	{ "chunked, last chunk full", "x.blpd",
	  "head -c 16384 a >b; \"$BPK\" pack -q -T 1 -z 4K -t 4 -F chunked --superchunk-size 8K"
	  " --set k=0 -o x.blpd b; rm b",
	  false, false },
	{ "chunked, last chunk partial", "x.blpd",
	  "head -c 14000 a >b; \"$BPK\" pack -q -T 1 -z 4K -F chunked --superchunk-size 8K"
	  " --set k=0 -o x.blpd b; rm b",
	  false, false },
	{ "chunked, empty", "x.blpd", ": >b; \"$BPK\" pack -q -z 4K -F chunked -o x.blpd b; rm b",
	  true, true },
	{ "bcolz, partial", "x.blpd",
	  "head -c 14000 a >b; \"$BPK\" pack -q -T 1 -z 4K -F chunked --layout bcolz -o x.blpd b;"
	  " rm b",
	  false, true },
	{ "b2frame with holes", "x.b2frame",
	  "head -c 7000 a | \"$BPK\" pack -q -T 1 -z 4K -t 4 -F b2frame --set k=0 -o x.b2frame - &&"
	  " tail -c +7001 a | \"$BPK\" append -q x.b2frame -",
	  false, false },
	{ "b2frame, much larger than its chunks", HOLES,
	  "head -c 21000 /dev/urandom >b; \"$BPK\" pack -q -T 1 -z 64K --set k=0 -o " HOLES " b;"
	  " for i in 1 2 3; do \"$BPK\" write -q --at 0 " HOLES " b; done; rm b",
	  false, false },
	{ "b2sparse with a file too many", "x.b2s",
	  "head -c 14000 a >b; \"$BPK\" pack -q -T 1 -z 4K -F b2sparse --set k=0 -o x.b2s b; rm b;"
	  " cp x.b2s/00000000.chunk x.b2s/00000F00.chunk",
	  false, false },
	{ "b2frame, last chunk full", "x.b2frame",
	  "head -c 16384 a | \"$BPK\" pack -q -T 1 -z 4K -t 4 -F b2frame --set k=0 -o x.b2frame -",
	  false, false },
	{ "b2frame, last chunk partial", "x.b2frame",
	  "head -c 14000 a | \"$BPK\" pack -q -T 1 -z 4K -t 4 -F b2frame --set k=0 -o x.b2frame -",
	  false, false },
	{ "b2frame, empty", "x.b2frame", "\"$BPK\" pack -q -F b2frame -o x.b2frame - </dev/null",
	  true, true },
	{ "b2frame, special chunks, no checksum", "x.b2frame",
	  "(head -c 14000 /dev/zero; cat a) | \"$BPK\" pack -q -T 1 -z 4K -F b2frame"
	  " --checksum none -o x.b2frame -",
	  false, true },
	{ "b2sparse, last chunk full", "x.b2s",
	  "head -c 16384 a >b; \"$BPK\" pack -q -T 1 -z 4K -t 4 -F b2sparse --set k=0 -o x.b2s b;"
	  " rm b",
	  false, false },
	{ "b2sparse, last chunk partial", "x.b2s",
	  "head -c 14000 a >b; \"$BPK\" pack -q -T 1 -z 4K -F b2sparse --set k=0 -o x.b2s b; rm b",
	  false, false },
	{ "b2sparse, empty", "x.b2s", ": >b; \"$BPK\" pack -q -F b2sparse -o x.b2s b; rm b", true,
	  true },
	{ "b2sparse, special chunks", "x.b2s",
	  "(head -c 14000 /dev/zero; cat a) >b; \"$BPK\" pack -q -T 1 -z 4K -F b2sparse -o x.b2s"
	  " b; rm b",
	  false, true },
	{ "b2nd, last chunks full", "x.b2nd",
	  "head -c 12800 a >b; \"$BPK\" pack -q -T 1 --dtype '<i4' --shape 64,50"
	  " --chunk-shape 16,20 --block-shape 8,20 --set k=0 -o x.b2nd b; rm b",
	  false, false },
	{ "b2nd, last chunks partial", "x.b2nd",
	  "head -c 14000 a >b; \"$BPK\" pack -q -T 1 --dtype '<i4' --shape 70,50"
	  " --chunk-shape 16,20 --set k=0 -o x.b2nd b; rm b",
	  false, false },
	{ "b2nd, no rows", "x.b2nd",
	  ": >b; \"$BPK\" pack -q -T 1 --dtype '<i4' --shape 0,50 --chunk-shape 16,20 -o x.b2nd b;"
	  " rm b",
	  true, true },
	{ "b2nd, header longer than a sector", "x.b2nd",
	  "cp \"$top_srcdir/tests/data/frame/good-bpk-long-header.b2nd\" x.b2nd &&"
	  " head -c 14000 a | \"$BPK\" append -q -T 1 x.b2nd -",
	  false, false },
	{ "b2nd in a directory, partial", "x.b2s",
	  "head -c 14000 a >b; \"$BPK\" pack -q -T 1 --dtype '<i4' --shape 70,50"
	  " --chunk-shape 16,20 --set k=0 -o x.b2s b; rm b",
	  false, false },
	{ "columns, partial", "x.blpd",
	  "head -c 14000 a >b; \"$BPK\" pack -q -T 1 -z 4K -F chunked --superchunk-size 8K"
	  " --dtype \"[('x','<f4'),('y',[('u','<i2'),('v','|S2')])]\" -o x.blpd b; rm b",
	  false, true },
	{ "bcolz, columns, last chunk full", "x.blpd",
	  "head -c 16384 a >b; \"$BPK\" pack -q -T 1 -z 4K -F chunked --layout bcolz"
	  " --dtype \"[('x','<f4'),('y','<f4')]\" -o x.blpd b; rm b",
	  false, true },
	{ "gsd, none yet", "x.gsd", ":", true, true },
	{ "gsd, three frames", "x.gsd",
	  "for i in 1 2 3; do \"$BPK\" append -q x.gsd --schema hoomd --step $i pos=p.npy; done",
	  false, true },
	{ "gsd, index full", "x.gsd",
	  "for i in 1 2 3 4; do \"$BPK\" append -q x.gsd --schema demo $(seq -f a%g=p.npy 31)"
	  " pos=p.npy; done",
	  false, true },
	{ "gsd in blp", "x.gsd.blp",
	  PACKED_GSD "\"$BPK\" pack -q -T 1 -o x.gsd.blp t.gsd; rm t.gsd", false, true },
	{ "gsd in blp, small chunks, index block there", "x.gsd.blp",
	  PACKED_GSD "\"$BPK\" pack -q -T 1 -z 4K -o x.gsd.blp t.gsd; rm t.gsd;"
		     " \"$BPK\" append -q -T 1 x.gsd.blp m.gsd",
	  false, true },
	{ "gsd in chunked", "x.gsd.blpd",
	  PACKED_GSD "\"$BPK\" pack -q -T 1 -F chunked -z 4K -o x.gsd.blpd t.gsd; rm t.gsd", false,
	  true },
	{ "gsd in b2frame", "x.gsd.b2frame",
	  PACKED_GSD "\"$BPK\" pack -q -T 1 -F b2frame -z 4K -o x.gsd.b2frame t.gsd; rm t.gsd",
	  false, true },
	{ "gsd, cut, other block at its end", "x.gsd",
	  "for i in 1 2 3 4; do \"$BPK\" append -q x.gsd --schema hoomd --step $i pos=p.npy; done;"
	  " \"$BPK\" truncate --frames 3 x.gsd",
	  false, true },
};

/* Metadata of a long header, after its first sector. */
#define IN_HEADER "0000000000000000000000000000014"

/* @ is the archive. A deed without @ runs beside the first form only. */
static const struct deed {
	const char *name;
	const char *args;
	const char *in;  /* through a pipe */
	const char *out; /* its result, if that is not the archive */
	bool inside;     /* needs data: not for an empty archive */
	bool threads;    /* the order of calls depends on timing */
	bool takes_metadata;
} deeds[] = {
	{ "append", "append -T 1 @ more", NULL, NULL, false, false, false },
	{ "append from a pipe", "append -T 1 @ -", "more", NULL, false, false, false },
	{ "append, 3 threads", "append -T 3 @ more", NULL, NULL, false, true, false },
	{ "append --copy", "append -T 1 --copy @ more", NULL, NULL, false, false, false },
	{ "truncate", "truncate @ --bytes 9000", NULL, NULL, true, false, false },
	{ "truncate behind a chunk", "truncate @ --bytes 8192", NULL, NULL, true, false, false },
	{ "write", "write -T 1 --at 16 @ patch", NULL, NULL, true, false, false },
	{ "meta set", "meta set @ k=1", NULL, NULL, false, false, false },
	{ "meta import", "meta import @ big", NULL, NULL, false, false, false },
	{ "meta set behind a sector", "meta set @ " IN_HEADER "=43", NULL, NULL, false, false,
	  false },
	{ "meta rm", "meta rm @", NULL, NULL, false, false, true },
	{ "convert to a file", "convert -f -T 1 @ y.blp", NULL, "y.blp", false, false, false },
	{ "convert to a frame", "convert -f -T 1 @ y.b2frame", NULL, "y.b2frame", false, false,
	  false },
	{ "convert to a sparse frame", "convert -f -T 1 @ y.b2s", NULL, "y.b2s", false, false,
	  false },
	{ "repair --repack", "repair --repack -q @", NULL, NULL, false, false, false },
	{ "repair --finish", "repair --finish -q @", NULL, NULL, false, false, false },
	{ "convert to a directory", "convert -f -T 1 -F chunked @ y.blpd", NULL, "y.blpd", false,
	  false, false },
	{ "pack -F chunked", "pack -f -T 1 -z 4K -o y.blpd a", NULL, "y.blpd", false, false,
	  false },
	{ "pack -F b2sparse", "pack -f -T 1 -z 4K -o y.b2s a", NULL, "y.b2s", false, false, false },
	{ "pack -F b2sparse, 3 threads", "pack -f -T 3 -z 2K -o y.b2s a", NULL, "y.b2s", false,
	  true, false },
	{ "append a frame", "append @ pos=p.npy", NULL, NULL, true, false, false },
	{ "append a frame of new names", "append @ --step 7 pos=p.npy new/one=p.npy two=p.npy",
	  NULL, NULL, true, false, false },
	{ "append a frame from a pipe", "append @ pos=-", "p.npy", NULL, true, false, false },
	{ "append a frame --copy", "append --copy @ pos=p.npy", NULL, NULL, true, false, false },
	{ "append a frame, and the file", "append @ --schema new --step 7 pos=p.npy", NULL, NULL,
	  false, false, false },
	{ "join frames", "append -T 1 @ m.gsd", NULL, NULL, true, false, false },
	{ "truncate frames", "truncate @ --frames 1", NULL, NULL, true, false, false },
	/* until a process ends whose number cannot exist */
	{ "follow by frames", "append -T 1 --follow f.gsd --pid 4194305 @", NULL, NULL, true, false,
	  false },
};

enum { NFORMS = sizeof forms / sizeof forms[0], NDEEDS = sizeof deeds / sizeof deeds[0] };

/* A tar is extracted; each of its files must be whole or missing. */
static const char tar_setup[] = "mkdir t u && cp a t/one && cp more t/two && : >t/three &&"
				" tar -cf x.tar t && rm -r t";

/* ---- faults ---- */

enum expected { IS_KILLED, FAILS, GOES_ON, IS_SIGNALED };

static const struct mode {
	const char *name;
	const char *action;
	enum expected expected;
	int number;     /* the error or the signal */
	bool transfers; /* only calls that move bytes */
	bool for_ever;
} modes[] = {
	{ "SIGKILL before", "kill", IS_KILLED, SIGKILL, false, false },
	{ "SIGKILL after", "after", IS_KILLED, SIGKILL, false, false },
	{ "SIGKILL half-way", "half", IS_KILLED, SIGKILL, true, false },
	{ "short", "short", GOES_ON, 0, true, false },
	{ "EINTR", "fail:EINTR", GOES_ON, EINTR, true, false },
	{ "ENOSPC", "fail:ENOSPC", FAILS, ENOSPC, false, false },
	{ "EIO", "fail:EIO", FAILS, EIO, false, false },
	{ "ENOSPC for ever", "fail:ENOSPC", FAILS, ENOSPC, false, true },
	{ "EIO for ever", "fail:EIO", FAILS, EIO, false, true },
	{ "SIGINT", "signal:INT", IS_SIGNALED, SIGINT, false, false },
	{ "SIGTERM", "signal:TERM", IS_SIGNALED, SIGTERM, false, false },
};
enum { NMODES = sizeof modes / sizeof modes[0] };

/* ---- one row ---- */

/* True for a GSD file that is no archive; for that, or an archive of it. */
static bool is_raw_gsd(const char *name)
{
	return strcmp(name, "x.gsd") == 0;
}

static bool is_gsd(const char *name)
{
	return strncmp(name, "x.gsd", 5) == 0;
}

/* The state of a folder: the content by its checksum, and the names of all files. */
struct state {
	char content[TEXT_MAX];
	char names[TEXT_MAX];
	off_t size;  /* of an archive that is one file, otherwise 0 */
	bool tail;   /* the status reported bytes behind its end */
	bool silent; /* reading it gave no message */
};

struct row {
	char name[NAME_MAX_ROW];
	const char *setup;
	const char *archive;
	const char *result; /* the path to examine */
	const char *argv[16];
	const char *in;
	bool is_tar;
	bool threads;
	bool exact;             /* the content stays, and sizes of files count too */
	struct state states[3]; /* before, after the command, after it ran twice */
	int again;              /* the status of the second run, which may find nothing to do */
};

static char scratch[PATH_MAX];
static bool full, has_oracle;
static struct timespec began; /* the instant before the last run with a fault */
static int tests, failed_tests;
static long cases, cases_right;

/* Run a shell script in the current folder, its output in ../text. */
static void run_script(const char *script, struct ran *ran)
{
	static const struct fault none = { .doer = BY_NOBODY };
	const char *argv[] = { "/bin/sh", "-c", script, NULL };
	const struct command command = { .argv = argv, .out = "../text" };

	run_command(&command, &none, ran);
}

/* Returns the status of such a script. */
static int shell(const char *script)
{
	struct ran ran;

	run_script(script, &ran);
	return ran.status;
}

static void load_text(char text[TEXT_MAX])
{
	FILE *file = fopen("../text", "re");
	size_t size = file == NULL ? 0 : fread(text, 1, TEXT_MAX - 1, file);

	text[size] = '\0';
	if (file != NULL)
		fclose(file);
}

/* Prints every array of a GSD file, and the answers of python gsd if that is installed. */
static const char look_at_frames[] =
	"if [ -e %s ]; then %s >../raw.gsd; echo $?; \"$BPK\" info --json -vv ../raw.gsd |"
	" sed 's/.*\"nframes\"/\"nframes\"/; s/\"[a-z_]*offset\":[0-9]*//g';"
	" \"$BPK\" cat --no-defaults --name pos ../raw.gsd | cksum;"
	" [ -z \"$GSD_PYTHON\" ] ||"
	" \"$GSD_PYTHON\" \"$top_srcdir/tests/lib/gsd_oracle.py\" ../raw.gsd 2>&1 | cksum;"
	" else echo none; fi";

static off_t size_of_file(const char *name)
{
	struct stat st;

	return stat(name, &st) == 0 && S_ISREG(st.st_mode) ? st.st_size : 0;
}

static void look(const struct row *row, struct state *state)
{
	static const char sizes[] = "-type f ! -name '.*' -printf '%s %f\\n' | sort";
	char script[1024], bring[64];
	struct ran ran;

	snprintf(bring, sizeof bring, "%s %s", is_raw_gsd(row->result) ? "cat" : "\"$BPK\" cat",
		 row->result);
	if (is_gsd(row->result))
		snprintf(script, sizeof script, look_at_frames, row->result, bring);
	else if (row->is_tar)
		snprintf(script, sizeof script,
			 "cd u && find . -type f ! -name '.*.bpk-*' -exec cksum {} + | sort");
	else
		snprintf(script, sizeof script,
			 "if [ -e %s ]; then \"$BPK\" cat %s >../got; echo $?; cksum <../got;"
			 " \"$BPK\" meta get %s 2>/dev/null; else echo none; fi; %s %s %s",
			 row->result, row->result, row->result, row->exact ? "find" : ":",
			 row->result, row->exact ? sizes : "");
	run_script(script, &ran);
	load_text(state->content);
	state->silent = ran.lines == 0;
	state->tail = strncmp(state->content, "3\n", 2) == 0;
	if (state->tail)
		state->content[0] = '0';
	state->size = row->is_tar ? 0 : size_of_file(row->result);
	shell("find . ! -name .lock | LC_ALL=C sort"); /* every writer leaves .lock */
	load_text(state->names);
}

static void restore(void)
{
	if (chdir("..") != 0)
		run_die("..");
	folder_restore("pristine", "work");
	if (chdir("work") != 0)
		run_die("work");
}

static void run_row(const struct row *row, const struct fault *fault, struct ran *ran)
{
	const struct command command = { .argv = row->argv, .in = row->in, .pipe = true };

	run_command(&command, fault, ran);
}

/* Returns 0, or 3 if a change is pending; a missing result counts as 0. */
static int verify(const struct row *row)
{
	static const struct fault none = { .doer = BY_NOBODY };
	const char *argv[] = { bpk_program, "verify", row->result, NULL };
	const struct command command = { .argv = argv };
	struct ran ran;

	if (row->is_tar || access(row->result, F_OK) != 0)
		return 0;
	run_command(&command, &none, &ran);
	return ran.status;
}

/* ---- judging ---- */

/* True if every line of part is a line of whole. */
static bool is_part(const char *part, const char *whole)
{
	char lines[TEXT_MAX + 2];

	snprintf(lines, sizeof lines, "\n%s", whole);
	for (const char *line = part; *line != '\0';) {
		const char *end = strchr(line, '\n');
		char wanted[512];

		if (end == NULL)
			return false;
		snprintf(wanted, sizeof wanted, "\n%.*s", (int)(end - line + 1), line);
		if (strstr(lines, wanted) == NULL)
			return false;
		line = end + 1;
	}
	return true;
}

/* True for a header longer than a sector: it is changed through a journal, and other programs can
 * read it only after the next run of bpk. Most of it is metadata of constant size. */
static bool has_long_header(const char *setup)
{
	return strstr(setup, "long-header") != NULL;
}

/*
 * If BPK_CBLOSC2 names an installed c-blosc2, it must open a frame at any instant and unpack the
 * old or the new content, even while a change is pending: an array in C order, not in stored order.
 * Returns true if the sum of that is in one of the states.
 */
static bool is_frame_for_others(const struct row *row)
{
	const char *name = row->result;
	char sum[TEXT_MAX];

	if (!has_oracle || is_gsd(name) || (strstr(name, ".b2") == NULL) ||
	    access(name, F_OK) != 0 ||
	    (has_long_header(row->setup) && access(".x.b2nd.bpkj", F_OK) == 0))
		return true;
	setenv("FRAME", name, 1);
	if (shell("(../oracle2 array \"$FRAME\" 2>../why || ../oracle2 raw \"$FRAME\") >../got &&"
		  " cksum <../got") != 0)
		return false;
	load_text(sum);
	return strstr(row->states[0].content, sum) != NULL ||
	       strstr(row->states[1].content, sum) != NULL;
}

/* The number of the matching state, or -1. */
static int find_state(const struct row *row, const struct state *state)
{
	for (int i = 0; i < 2; i++)
		if (strcmp(state->content, row->states[i].content) == 0)
			return i;
	return row->is_tar && is_part(state->content, row->states[1].content) ? 0 : -1;
}

/* True if the command said that its change is committed and its last step is not done. */
static bool is_completed_later(const struct ran *ran)
{
	return strstr(ran->said, " must be completed by the next change") != NULL;
}

/* True if the command said that its change is there, although it failed. */
static bool says_so(const struct ran *ran)
{
	static const char *const ways[] = { " is committed, but ", " is replaced, but ",
					    " is written, but ", "; the new content is there" };

	for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
		if (strstr(ran->said, ways[i]) != NULL)
			return true;
	return false;
}

static const char *judge_end(const struct mode *mode, const struct ran *ran, int state)
{
	bool well = ran->status == 0 && ran->lines == 0 && state == 1;

	switch (mode->expected) {
	case IS_KILLED:
		return ran->status == 128 + SIGKILL ? NULL : "was not killed";
	case GOES_ON:
		return well ? NULL : "did not go on as without a fault";
	case IS_SIGNALED:
		return well || ran->status == 128 + mode->number ? NULL
								 : "did not end of the signal";
	case FAILS:
		break;
	}
	if (well)
		return NULL;
	if (ran->status != 1)
		return "status is not 1";
	if (ran->lines != 1 || strncmp(ran->said, "bpk: ", 5) != 0)
		return "not one line that begins with bpk:";
	return strstr(ran->said, strerror(mode->number)) != NULL ? NULL : "does not say why";
}

/* Run the command again without a fault: it must make the same of the present state as ever. */
static const char *judge_next_run(const struct row *row, int state)
{
	static const struct fault none = { .doer = BY_NOBODY };
	static struct state now;
	struct ran ran;

	run_row(row, &none, &ran);
	if (ran.status != (state == 0 ? 0 : row->again))
		return "the next run fails";
	look(row, &now);
	if (now.tail)
		return "bytes are left behind the end after the next run";
	if (strcmp(now.content, row->states[state + 1].content) != 0)
		return "the next run makes another content";
	if (strcmp(now.names, row->states[state + 1].names) != 0)
		return "the next run leaves other files";
	return verify(row) == 0 ? NULL : "verify finds fault after the next run";
}

/* Concatenate an archive to the present one: both must be read, or one and a status other than 0.
 * Not with a journal, without which there may be no archive. */
static const char *judge_both(const struct row *row)
{
	static const char script[] = "[ ! -f \"$over\" ] || [ -e \".$over.bpkj\" ] || {"
				     " cat \"$over\" \"../pristine/$over\" >../both.${over##*.};"
				     " \"$BPK\" cat \"$over\" >../one 2>../why; \"$BPK\" cat "
				     "\"../pristine/$over\" >../two;"
				     " \"$BPK\" cat ../both.${over##*.} >../got 2>../why; s=$?;"
				     " if [ $s -eq 0 ]; then cat ../one ../two | cmp - ../got;"
				     " else [ -s ../why ] && [ $s -le 3 ] && cmp -n $(wc -c "
				     "<../one) ../one ../got; fi; }";

	if (is_raw_gsd(row->result) || row->is_tar || strcmp(row->result, row->archive) != 0)
		return NULL;
	setenv("over", row->result, 1);
	return shell(script) == 0 ? NULL : "another archive behind it is lost, or hides it";
}

/* The reader that stood still must print the old content, or report the change. */
static const char *judge_reader(const struct row *row, int status)
{
	static const char script[] =
		"\"$BPK\" cat \"../pristine/$over\" >../one 2>../why; case $read in"
		" 0|3) cmp ../one ../slow ;; 1) grep -q 'changed while it was read' ../slow.said ;;"
		" *) false ;; esac";
	char text[16];

	snprintf(text, sizeof text, "%d", status);
	setenv("read", text, 1);
	setenv("over", row->result, 1);
	return shell(script) == 0 ? NULL
				  : "a slow reader gives something else, and does not say so";
}

static double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* Repeat the fault beside a slow reader, then pack a new archive under that name: leftovers of the
 * killed command must not change it. */
static const char *pack_over(const struct row *row, const struct fault *fault)
{
	static const char script[] =
		"[ ! -e \"$over\" ] || { \"$BPK\" pack -f -q -T 1 -z 4K -o \"$over\" a &&"
		" \"$BPK\" cat \"$over\" | cmp - a && \"$BPK\" verify \"$over\"; }";
	struct slow reader;
	const char *wrong;
	struct ran ran;
	double start;

	if (is_raw_gsd(row->result) || row->is_tar || strcmp(row->result, row->archive) != 0)
		return NULL;
	restore();
	slow_start(&reader, row->result);
	start = now_s();
	run_row(row, fault, &ran);
	start = now_s() - start;
	wrong = judge_reader(row, slow_end(&reader));
	if (wrong != NULL)
		return wrong;
	if (start > PATIENCE_S)
		return "waits for a reader that waits";
	setenv("over", row->result, 1);
	return shell(script) == 0 ? NULL : "a new archive of that name does not hold its input";
}

/* ---- files examined ---- */

/* What examining the files of a picture gave. */
static struct finding {
	struct picture picture;
	bool killed;       /* examined as after a kill, too */
	const char *wrong; /* with the files alone; NULL: nothing */
	bool pending;      /* verify says that a change is pending */
	bool tail, silent; /* as in struct state */
	bool strange;      /* there are other files than in the state */
	off_t size;
	int state;
} findings[FINDINGS_MOST];
static size_t nfindings;

static void forget_findings(void)
{
	while (nfindings > 0)
		free(findings[--nfindings].picture.bytes);
}

static const char *examine(const struct row *row, const struct fault *fault,
			   struct finding *finding)
{
	static struct state now;
	const char *wrong;
	int verified;

	if (!is_frame_for_others(row)) /* before bpk opens it */
		return "c-blosc2 finds neither the old content nor the new";
	verified = verify(row);
	if (verified != 0 && verified != 3)
		return "verify finds fault";
	finding->pending = verified == 3;
	look(row, &now);
	finding->state = find_state(row, &now);
	if (finding->state < 0)
		return "the content is neither the old nor the new";
	finding->tail = now.tail;
	finding->silent = now.silent;
	finding->size = now.size;
	finding->strange = strcmp(now.names, row->states[finding->state].names) != 0;
	wrong = finding->killed ? judge_both(row) : NULL;
	if (wrong == NULL)
		wrong = judge_next_run(row, finding->state);
	return wrong == NULL && finding->killed ? pack_over(row, fault) : wrong;
}

/* Examine the present files, or find them among those of the row that were examined. */
static const struct finding *find(const struct row *row, const struct mode *mode,
				  const struct fault *fault)
{
	bool killed = mode->expected == IS_KILLED;
	struct finding *finding = &findings[nfindings];

	*finding = (struct finding){ .picture = folder_picture(began), .killed = killed };
	for (size_t i = 0; i < nfindings && !(killed && row->threads); i++)
		if ((findings[i].killed || !killed) &&
		    folder_is_same(&findings[i].picture, &finding->picture)) {
			free(finding->picture.bytes);
			return &findings[i];
		}
	finding->wrong = examine(row, fault, finding);
	if (++nfindings == FINDINGS_MOST)
		run_die("the files of one row are too many");
	return finding;
}

/* ---- judging a case ---- */

/* Bytes behind the end, always with a message, are allowed after a kill, after a failed restore,
 * and after a stop or an error between the commit and the cut. */
static const char *judge_tail(const struct row *row, const struct mode *mode, const struct ran *ran,
			      const struct finding *now)
{
	bool leaves =
		mode->expected == IS_KILLED || mode->for_ever ||
		(now->state == 1 && (mode->expected == IS_SIGNALED || is_completed_later(ran)));

	if (now->tail && !leaves)
		return "bytes are left behind the end";
	if (now->tail && now->silent)
		return "bytes behind the end have a status and no line";
	/* an editor of GSD's frames commits more than once, and a frame may keep its holes */
	if (!is_gsd(row->result) && strcmp(row->result, HOLES) != 0 && !now->tail && now->silent &&
	    now->size != row->states[now->state].size)
		return "bytes that are not the archive's pass in silence";
	return NULL;
}

static const char *judge(const struct row *row, const struct mode *mode, const struct ran *ran,
			 const struct finding *now)
{
	const char *wrong = now->wrong;

	if (wrong == NULL && now->pending && mode->expected == GOES_ON)
		wrong = "a change is pending";
	if (wrong == NULL)
		wrong = judge_tail(row, mode, ran, now);
	if (wrong != NULL)
		return wrong;
	if (ran->calls.first[0] == '\0')
		return row->threads ? NULL : "nothing was done";
	wrong = judge_end(mode, ran, now->state);
	if (wrong != NULL)
		return wrong;
	/* An editor of frames commits more than once. In an exact row only files tell the states
	 * apart, and they are old until the pending change is completed. */
	if (is_completed_later(ran) && now->state != 1 && !is_gsd(row->result) &&
	    !(row->exact && now->pending))
		return "says that it is committed, and is not";
	if (ran->status == 1 && now->state == 1 && !says_so(ran) && !is_gsd(row->result))
		return "fails with the new content, and does not say so";
	/* after an error or a signal only a journal may stay, and a message must name it */
	if (mode->expected != IS_KILLED && !row->is_tar && !mode->for_ever && now->strange &&
	    strstr(ran->said, " stays for the next change") == NULL && !is_completed_later(ran))
		return "a strange file is left";
	return NULL;
}

/* ---- sweeping ---- */

static void explain(const struct row *row, const struct mode *mode, long point,
		    const struct ran *ran, const char *wrong)
{
	printf("# %s: %s at %ld %s: %s; status %d, says: %s\n", row->name, mode->name, point,
	       ran->calls.first, wrong, ran->status, ran->said);
}

/* Returns true if all checks pass. */
static bool try_point(const struct row *row, const struct mode *mode, const struct fault *fault,
		      bool tell)
{
	const char *wrong;
	struct ran ran;

	restore();
	began = folder_now();
	run_row(row, fault, &ran);
	wrong = judge(row, mode, &ran, find(row, mode, fault));
	if (wrong != NULL && tell)
		explain(row, mode, fault->point, &ran, wrong);
	return wrong == NULL;
}

static bool is_chosen(const struct row *row, size_t mode, size_t point)
{
	size_t turn = point + 2 * mode;

	for (const char *c = row->name; *c != '\0'; c++)
		turn += (unsigned char)*c;
	return run_tries(turn, THIN);
}

static void sweep_mode(const struct row *row, size_t number, const struct calls *calls)
{
	const struct mode *mode = &modes[number];
	long points = 0, right = 0;

	for (size_t i = 0; i < calls->count; i++) {
		const struct fault fault = {
			.doer = BY_NTH,
			.action = mode->action,
			.for_ever = mode->for_ever,
			.point = (long)i + 1,
		};
		bool other_signal =
			mode->expected == IS_SIGNALED && (mode->number == SIGTERM) != i % 2;

		if ((mode->transfers && !run_moves_bytes(calls->names[i])) ||
		    !is_chosen(row, number, i) || other_signal ||
		    (!row->threads && run_repeats(&fault, calls)))
			continue;
		points++;
		right += try_point(row, mode, &fault, points - right <= SHOWN);
	}
	cases += points;
	cases_right += right;
	if (points == 0)
		return;
	tests++;
	failed_tests += right < points;
	printf("%s %d - %s: %s: %ld of %ld\n", right == points ? "ok" : "not ok", tests, row->name,
	       mode->name, right, points);
	fflush(stdout);
}

static bool fail_row(const struct row *row, const char *what, const char *said)
{
	tests++;
	failed_tests++;
	printf("not ok %d - %s: %s\n# %s\n", tests, row->name, what, said);
	return false;
}

/* Make the pristine folder, and record the undisturbed runs. */
static bool learn(struct row *row, struct calls *calls)
{
	const struct fault count = { .doer = BY_NTH };
	char made[PATH_MAX + 64];
	struct ran ran;

	snprintf(made, sizeof made,
		 "cd .. && rm -rf pristine && cp -a sources pristine && cd pristine && %s",
		 row->setup);
	if (shell(made) != 0)
		return fail_row(row, "is made", "the set-up fails");
	restore();
	for (int i = 0; i < 3; i++) {
		if (i > 0) {
			run_row(row, &count, &ran);
			if (i == 1 && (ran.status != 0 || ran.lines > 0))
				return fail_row(row, "a plain run", ran.said);
			row->again = ran.status;
		}
		if (i == 1)
			*calls = ran.calls;
		look(row, &row->states[i]);
	}
	return true;
}

static void sweep_row(struct row *row)
{
	static struct calls calls;

	if (!learn(row, &calls))
		return;
	for (size_t i = 0; i < NMODES; i++)
		sweep_mode(row, i, &calls);
	forget_findings();
	run_forget();
}

/* ---- rows from forms and deeds ---- */

/* Split args at spaces; @ is the archive. argv points into words. */
static void fill_argv(struct row *row, const char *args, char words[256])
{
	size_t n = 0;

	snprintf(words, 256, "%s", args);
	row->argv[n++] = bpk_program;
	for (char *word = strtok(words, " "); word != NULL; word = strtok(NULL, " "))
		row->argv[n++] = strcmp(word, "@") == 0 ? row->archive : word;
	row->argv[n] = NULL;
}

/* True if the deed can be applied to this form. */
static bool suits(const struct form *form, const struct deed *deed)
{
	bool long_header = has_long_header(form->setup);

	if (strstr(deed->args, ".gsd") != NULL)
		return is_gsd(form->archive) && !is_raw_gsd(form->archive);
	if (strstr(deed->args, "pos=") != NULL || strstr(deed->args, "--frames") != NULL) {
		if (strstr(deed->args, "--schema") != NULL)
			return is_raw_gsd(form->archive) && form->empty;
		return is_raw_gsd(form->archive) && !form->empty;
	}
	if (is_gsd(form->archive))
		return false;
	if ((form->empty && deed->inside) || (form->without_metadata && deed->takes_metadata))
		return false;
	if (strchr(deed->args, '@') == NULL && form != forms)
		return false;
	if (strstr(deed->args, " 8192") != NULL && strncmp(form->name, "b2nd", 4) == 0)
		return false; /* it is cut at rows, of 200 bytes */
	return strncmp(deed->args, "meta", 4) != 0 ||
	       (strstr(deed->args, IN_HEADER) != NULL) == long_header;
}

static void sweep_pair(const struct form *form, const struct deed *deed, char **wishes, int count)
{
	static struct row row;
	char words[256];

	if (!suits(form, deed))
		return;
	row = (struct row){ .setup = form->setup, .archive = form->archive, .in = deed->in };
	row.result = deed->out != NULL ? deed->out : form->archive;
	row.threads = deed->threads;
	row.exact = strncmp(deed->args, "repair", 6) == 0;
	/* a frame's header has no journal, so one call must write all of it */
	if (strcmp(form->archive, "x.b2frame") == 0 || strcmp(form->archive, HOLES) == 0 ||
	    strcmp(form->archive, "x.b2nd") == 0 || is_raw_gsd(form->archive) ||
	    strcmp(form->archive, "x.gsd.b2frame") == 0)
		setenv("NTH_SECTORS", "1", 1);
	else
		unsetenv("NTH_SECTORS");
	snprintf(row.name, sizeof row.name, "%s: %s", form->name, deed->name);
	fill_argv(&row, deed->args, words);
	if (!full && count == 0 && !run_turn((size_t)((form - forms) + (deed - deeds)), ROWS))
		return;
	if (run_is_wanted(row.name, wishes, count))
		sweep_row(&row);
}

static void sweep_tar(char **wishes, int count)
{
	static struct row row;
	char words[256];

	row = (struct row){ .setup = tar_setup, .archive = "x.tar", .result = "u", .is_tar = true };
	snprintf(row.name, sizeof row.name, "tar: extract");
	fill_argv(&row, "tar -x --force -C u -f @", words);
	if (run_is_wanted(row.name, wishes, count))
		sweep_row(&row);
}

/* ---- beginning and ending ---- */

static void make_file(const char *name, size_t from, size_t to, bool text)
{
	FILE *file = fopen(name, "wbe");
	uint64_t state = 1;

	if (file == NULL)
		run_die(name);
	for (size_t i = 0; i < to; i++) {
		int byte = 0;

		state = state * 6364136223846793005u + 1442695040888963407u;
		if (text)
			byte = i == from || i + 1 == to ? '"' : 'a' + (int)(state >> 40) % 26;
		else if (i < 6000)
			byte = (int)(state >> 56);
		else if (i < 12000)
			byte = (int)((i / 4) >> (8 * (i % 4)) & 255);
		if (i >= from)
			putc(byte, file);
	}
	if (fclose(file) != 0)
		run_die(name);
}

/* An array of 500 numbers, as NumPy saves it. */
static void make_npy(const char *name)
{
	static const char dict[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (100, 5), }";
	FILE *file = fopen(name, "wbe");

	if (file == NULL)
		run_die(name);
	fprintf(file, "\x93NUMPY\x01%c\x76%c%-117s\n", 0, 0, dict);
	for (int i = 0; i < 500; i++)
		fprintf(file, "%c%c%c%c", 0, i & 255, i >> 1 & 255, 0x41);
	if (fclose(file) != 0)
		run_die(name);
}

/* Set GSD_PYTHON to a python with python gsd, or to an empty string. */
static void find_gsd(void)
{
	static const char script[] =
		"for p in \"${PYTHON3:-python3}\" /usr/bin/python3; do"
		" \"$p\" -c 'import gsd.fl' 2>/dev/null && printf %s \"$p\" && break; done";
	char found[TEXT_MAX];

	shell(script);
	load_text(found);
	setenv("GSD_PYTHON", found, 1);
	printf("# python gsd %s\n", found[0] != '\0' ? "reads frames too" : "is not installed");
}

/* Compile oracle2 against the library, if it is installed with its plugins: pack may choose filters
 * that are among them. */
static void make_oracle(void)
{
	const char *root = getenv("top_srcdir");
	char script[2 * PATH_MAX];

	if (getenv("BPK_CBLOSC2") == NULL || root == NULL)
		return;
	snprintf(script, sizeof script,
		 "grep -qa bytedelta \"$BPK_CBLOSC2\"/lib/libblosc2.so &&"
		 " ${CC:-cc} -O1 -I\"$BPK_CBLOSC2/include\" -o ../oracle2 '%s/tests/lib/oracle2.c'"
		 " -L\"$BPK_CBLOSC2/lib\" -Wl,-rpath,\"$BPK_CBLOSC2/lib\" -lblosc2",
		 root);
	has_oracle = shell(script) == 0;
	printf("# c-blosc2 %s\n",
	       has_oracle ? "reads frames too" : "is not installed with its plugins");
}

static void begin(void)
{
	char here[PATH_MAX];

	if (getcwd(here, sizeof here) == NULL ||
	    (size_t)snprintf(scratch, sizeof scratch, "%s/living-XXXXXX", here) >= sizeof scratch ||
	    mkdtemp(scratch) == NULL || chdir(scratch) != 0 || mkdir("sources", 0777) != 0 ||
	    mkdir("work", 0777) != 0 || chdir("sources") != 0)
		run_die("a scratch folder");
	make_file("a", 0, RAW_SIZE, false);
	make_file("more", 3000, 13000, false);
	make_file("patch", 1000, 4000, false);
	make_file("big", 0, 5000, true);
	make_npy("p.npy");
	if (chdir("../work") != 0)
		run_die("chdir");
	setenv("BPK", bpk_program, 1);
	make_oracle();
	find_gsd();
}

static void end(void)
{
	char script[PATH_MAX + 16];

	snprintf(script, sizeof script, "rm -rf '%s'", scratch);
	if (chdir("/") != 0 || system(script) != 0)
		run_die("remove the scratch folder");
}

int main(int argc, char **argv)
{
	const char *build = getenv("abs_top_builddir");
	char tools[PATH_MAX];

	full = run_thin(THIN) == 1;
	snprintf(tools, sizeof tools, "%s/tests/fault", build != NULL ? build : ".");
	if (!run_begin(tools))
		return 99;
	if (run_cannot() != NULL) {
		printf("1..0 # SKIP %s\n", run_cannot());
		return 0;
	}
	begin();
	for (size_t i = 0; i < NFORMS; i++)
		for (size_t j = 0; j < NDEEDS; j++)
			sweep_pair(&forms[i], &deeds[j], argv + 1, argc - 1);
	sweep_tar(argv + 1, argc - 1);
	end();
	printf("1..%d\n# %ld of %ld cases\n", tests, cases_right, cases);
	return failed_tests > 0;
}
