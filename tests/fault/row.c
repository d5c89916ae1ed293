/* Rows: the archives, the commands, and the look at their results. See row.h. */
#include "fault/row.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fault/folder.h"

enum { RAW_SIZE = 20000 };

/* ---- The tables ---- */

/* Frames for an archive, t.gsd; frames to be appended to it, m.gsd; and a file to follow, f.gsd,
 * with all of them and one more. */
#define PACKED_GSD                                                                                 \
	"for i in 1 2; do \"$BPK\" append -q t.gsd --schema hoomd --step $i pos=p.npy; done;"      \
	" \"$BPK\" append -q m.gsd --schema hoomd --step 7 pos=p.npy new=p.npy; cp t.gsd f.gsd;"   \
	" for i in 7 8; do \"$BPK\" append -q f.gsd --step $i pos=p.npy new=p.npy; done;"

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
	{ "blp, sealed, last chunk full", "x.blp",
	  "head -c 16384 a | \"$BPK\" pack -q -T 1 -z 4K -t 4 --seal --set k=0 -o x.blp -", false,
	  false },
	{ "blp, sealed, last chunk partial", "x.blp",
	  "head -c 14000 a | \"$BPK\" pack -q -T 1 -z 4K -t 4 --seal --set k=0 -o x.blp -", false,
	  false },
	{ "blp, identity, last chunk partial", "x.blp",
	  "head -c 14000 a | \"$BPK\" pack -q -T 1 -z 4K -t 4 --identity --set k=0 -o x.blp -",
	  false, false },
	{ "chunked, identity, sealed, last chunk partial", "x.blpd",
	  "head -c 14000 a >b; \"$BPK\" pack -q -T 1 -z 4K -F chunked --superchunk-size 8K --seal"
	  " --identity --set k=0 -o x.blpd b; rm b",
	  false, false },
	{ "b2frame, identity, last chunk partial", "x.b2frame",
	  "head -c 14000 a | \"$BPK\" pack -q -T 1 -z 4K -t 4 -F b2frame --identity --set k=0"
	  " -o x.b2frame -",
	  false, false },
	{ "b2sparse, identity, last chunk partial", "x.b2s",
	  "head -c 14000 a >b; \"$BPK\" pack -q -T 1 -z 4K -F b2sparse --identity --set k=0 -o "
	  "x.b2s"
	  " b; rm b",
	  false, false },
	{ "chunked, last chunk full", "x.blpd",
	  "head -c 16384 a >b; \"$BPK\" pack -q -T 1 -z 4K -t 4 -F chunked --superchunk-size 8K"
	  " --set k=0 -o x.blpd b; rm b",
	  false, false },
	{ "chunked, last chunk partial", "x.blpd",
	  "head -c 14000 a >b; \"$BPK\" pack -q -T 1 -z 4K -F chunked --superchunk-size 8K"
	  " --set k=0 -o x.blpd b; rm b",
	  false, false },
	{ "chunked, sealed, last chunk partial", "x.blpd",
	  "head -c 14000 a >b; \"$BPK\" pack -q -T 1 -z 4K -F chunked --superchunk-size 8K --seal"
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
	{ "b2frame, sealed, last chunk partial", "x.b2frame",
	  "head -c 14000 a | \"$BPK\" pack -q -T 1 -z 4K -t 4 -F b2frame --seal --set k=0"
	  " -o x.b2frame -",
	  false, false },
	{ "b2sparse, sealed, last chunk partial", "x.b2s",
	  "head -c 14000 a >b; \"$BPK\" pack -q -T 1 -z 4K -F b2sparse --seal --set k=0 -o x.b2s"
	  " b; rm b",
	  false, false },
	{ "b2nd, sealed, last chunks partial", "x.b2nd",
	  "head -c 14000 a >b; \"$BPK\" pack -q -T 1 --dtype '<i4' --shape 70,50"
	  " --chunk-shape 16,20 --seal --set k=0 -o x.b2nd b; rm b",
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
	{ "blp, damaged, with parity", "x.blp",
	  "head -c 14000 a | \"$BPK\" pack -q -T 1 -z 4K -t 4 --identity -o x.blp - &&"
	  " \"$BPK\" parity -q x.blp 40% && cp -p x.blp keep && for i in 6000 7000; do"
	  " printf XXXXXXXX | dd of=x.blp bs=1 seek=$i conv=notrunc status=none; done &&"
	  " touch -r keep x.blp",
	  false, true },
	{ "chunked, damaged, with parity", "x.blpd",
	  "head -c 14000 a >b; \"$BPK\" pack -q -T 1 -z 4K -F chunked --superchunk-size 8K"
	  " --identity -o x.blpd b && rm b && \"$BPK\" parity -q x.blpd 90% && cp -a x.blpd keep &&"
	  " rm x.blpd/data/__1__.bin",
	  false, true },
	{ "b2sparse, damaged, with parity", "x.b2s",
	  "head -c 14000 a >b; \"$BPK\" pack -q -T 1 -z 4K -F b2sparse --identity -o x.b2s b &&"
	  " rm b && \"$BPK\" parity -q x.b2s 90% && cp -a x.b2s keep && rm x.b2s/00000001.chunk",
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
	{ "write above the journal's limit", "write -T 1 --journal-limit 1 --at 16 @ patch", NULL,
	  NULL, true, false, false },
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
	{ "parity", "parity -q -T 1 @", NULL, NULL, false, false, false },
	{ "verify --heal", "verify -q -T 1 --heal @", NULL, NULL, false, false, false },
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

/* ---- Looking ---- */

bool row_is_raw_gsd(const char *name)
{
	return strcmp(name, "x.gsd") == 0;
}

bool row_is_gsd(const char *name)
{
	return strncmp(name, "x.gsd", 5) == 0;
}

/* Run a shell script in the current folder, its output in ../text. */
static void run_script(const char *script, struct ran *ran)
{
	static const struct fault none = { .doer = BY_NOBODY };
	const char *argv[] = { "/bin/sh", "-c", script, NULL };
	const struct command command = { .argv = argv, .out = "../text" };

	run_command(&command, &none, ran);
}

int row_shell(const char *script)
{
	struct ran ran;

	run_script(script, &ran);
	return ran.status;
}

void row_text(char text[TEXT_MAX])
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

/* Prints whether a healed archive is as it was, and the bytes; of a parity file its verdict. */
static const char look_at_bytes[] =
	"[ ! -e keep ] || { diff -rq -x .lock keep %s >../got; echo $?; };"
	" find %s -type f ! -name '.*' -exec cksum {} + | LC_ALL=C sort;"
	" [ ! -e %s.bpp ] || { \"$BPK\" verify %s 2>&1; echo $?; }";

void row_look(const struct row *row, struct state *state)
{
	static const char sizes[] = "-type f ! -name '.*' -printf '%s %f\\n' | sort";
	char script[1024], bring[64];
	struct ran ran;

	snprintf(bring, sizeof bring, "%s %s", row_is_raw_gsd(row->result) ? "cat" : "\"$BPK\" cat",
		 row->result);
	if (row_is_gsd(row->result))
		snprintf(script, sizeof script, look_at_frames, row->result, bring);
	else if (row->parity)
		snprintf(script, sizeof script, look_at_bytes, row->result, row->result,
			 row->result, row->result);
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
	row_text(state->content);
	state->silent = ran.lines == 0;
	state->tail = strncmp(state->content, "3\n", 2) == 0;
	if (state->tail)
		state->content[0] = '0';
	state->size = row->is_tar ? 0 : size_of_file(row->result);
	row_shell("find . ! -name .lock | LC_ALL=C sort"); /* every writer leaves .lock */
	row_text(state->names);
}

void row_restore(void)
{
	if (chdir("..") != 0)
		run_die("..");
	folder_restore("pristine", "work");
	if (chdir("work") != 0)
		run_die("work");
}

void row_run(const struct row *row, const struct fault *fault, struct ran *ran)
{
	const struct command command = { .argv = row->argv, .in = row->in, .pipe = true };

	run_command(&command, fault, ran);
}

int row_verify(const struct row *row)
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

int row_find_state(const struct row *row, const struct state *state)
{
	for (int i = 0; i < 2; i++)
		if (strcmp(state->content, row->states[i].content) == 0)
			return i;
	return row->heals ? 0 : -1;
}

const char *row_judge_next(const struct row *row, int state)
{
	static const struct fault none = { .doer = BY_NOBODY };
	static struct state now;
	struct ran ran;

	row_run(row, &none, &ran);
	if (ran.status != (state == 0 ? 0 : row->again))
		return "the next run fails";
	row_look(row, &now);
	if (now.tail)
		return "bytes are left behind the end after the next run";
	if (strcmp(now.content, row->states[state + 1].content) != 0)
		return "the next run makes another content";
	if (strcmp(now.names, row->states[state + 1].names) != 0)
		return "the next run leaves other files";
	return row_verify(row) == 0 ? NULL : "verify finds fault after the next run";
}

/* ---- One row ---- */

const char *row_learn(struct row *row, struct calls *calls, char said[512])
{
	const struct fault count = { .doer = BY_NTH };
	char made[PATH_MAX + 64];
	struct ran ran;

	snprintf(made, sizeof made,
		 "cd .. && rm -rf pristine && cp -a sources pristine && cd pristine && %s",
		 row->setup);
	said[0] = '\0';
	if (row_shell(made) != 0)
		return "the set-up fails";
	row_restore();
	for (int i = 0; i < 3; i++) {
		if (i > 0) {
			row_run(row, &count, &ran);
			if (i == 1 && (ran.status != 0 || ran.lines > 0)) {
				snprintf(said, 512, "%s", ran.said);
				return "a plain run fails";
			}
			row->again = ran.status;
		}
		if (i == 1)
			*calls = ran.calls;
		row_look(row, &row->states[i]);
	}
	if (row->heals && strncmp(row->states[1].content, "0\n", 2) != 0)
		return "a plain run does not restore the archive";
	return NULL;
}

void row_set_command(struct row *row, const char *args)
{
	size_t n = 0;

	snprintf(row->words, sizeof row->words, "%s", args);
	row->argv[n++] = bpk_program;
	for (char *word = strtok(row->words, " "); word != NULL; word = strtok(NULL, " "))
		row->argv[n++] = strcmp(word, "@") == 0 ? row->archive : word;
	row->argv[n] = NULL;
}

/* True for a header longer than a sector: it is changed through a journal, and other programs can
 * read it only after the next run of bpk. Most of it is metadata of constant size. */
static bool has_long_header(const char *setup)
{
	return strstr(setup, "long-header") != NULL;
}

/* True if a sealed archive does not take the deed, or says more than others: the metadata of a
 * Bloscpack file are an object then, and conversions tell that they leave the seal out. */
static bool refuses_sealed(const struct form *form, const struct deed *deed)
{
	bool is_blp = strcmp(form->archive, "x.blp") == 0;

	return strstr(form->setup, "--seal") != NULL &&
	       ((is_blp && strncmp(deed->args, "meta import", 11) == 0) ||
		strncmp(deed->args, "convert", 7) == 0);
}

/* True if a deed removes a recorded identity, and so says more than of others. */
static bool loses_identity(const struct form *form, const struct deed *deed)
{
	return strstr(form->setup, "--identity") != NULL &&
	       (strncmp(deed->args, "write", 5) == 0 ||
		strncmp(deed->args, "meta import", 11) == 0);
}

/* Damaged archives are healed, and nothing else; parity is made for one of each kind. */
static bool suits_parity(const struct form *form, const struct deed *deed)
{
	bool damaged = strstr(form->name, "damaged") != NULL;

	if (damaged || strstr(deed->args, "--heal") != NULL)
		return damaged && strstr(deed->args, "--heal") != NULL;
	return strncmp(deed->args, "parity", 6) != 0 || strstr(form->setup, "--identity") != NULL;
}

/* True if the deed can be applied to this form. */
static bool suits(const struct form *form, const struct deed *deed)
{
	bool long_header = has_long_header(form->setup);

	if (!suits_parity(form, deed))
		return false;
	if (strstr(deed->args, ".gsd") != NULL)
		return row_is_gsd(form->archive) && !row_is_raw_gsd(form->archive);
	if (strstr(deed->args, "pos=") != NULL || strstr(deed->args, "--frames") != NULL) {
		if (strstr(deed->args, "--schema") != NULL)
			return row_is_raw_gsd(form->archive) && form->empty;
		return row_is_raw_gsd(form->archive) && !form->empty;
	}
	if (row_is_gsd(form->archive))
		return false;
	if ((form->empty && deed->inside) || (form->without_metadata && deed->takes_metadata))
		return false;
	if (strchr(deed->args, '@') == NULL && form != forms)
		return false;
	if (refuses_sealed(form, deed) || loses_identity(form, deed))
		return false;
	if (strstr(deed->args, "--journal-limit") != NULL && strncmp(form->name, "blp", 3) != 0)
		return false; /* others have no journal, or none for chunks */
	if (strstr(deed->args, " 8192") != NULL && strncmp(form->name, "b2nd", 4) == 0)
		return false; /* it is cut at rows, of 200 bytes */
	return strncmp(deed->args, "meta", 4) != 0 ||
	       (strstr(deed->args, IN_HEADER) != NULL) == long_header;
}

size_t row_count(void)
{
	return NFORMS * NDEEDS;
}

/* A frame's header has no journal. */
static bool is_in_one_piece(const char *archive)
{
	static const char *const names[] = { "x.b2frame", HOLES, "x.b2nd", "x.gsd.b2frame", NULL };

	return run_is_one_of(archive, names) || row_is_raw_gsd(archive);
}

bool row_make(size_t n, struct row *row)
{
	const struct form *form = &forms[n / NDEEDS];
	const struct deed *deed = &deeds[n % NDEEDS];
	bool is_heal = strstr(deed->args, "--heal") != NULL;

	if (!suits(form, deed))
		return false;
	*row = (struct row){
		.setup = form->setup,
		.archive = form->archive,
		.result = deed->out != NULL ? deed->out : form->archive,
		.in = deed->in,
		.threads = deed->threads,
		.exact = strncmp(deed->args, "repair", 6) == 0,
		.one_piece = is_in_one_piece(form->archive),
		.long_header = has_long_header(form->setup),
		.parity = is_heal || strncmp(deed->args, "parity", 6) == 0,
		.heals = is_heal,
	};
	snprintf(row->name, sizeof row->name, "%s: %s", form->name, deed->name);
	row_set_command(row, deed->args);
	return true;
}

/* ---- Power cuts ---- */

/* False for commands that commit more than once, or leave the order of their calls to chance. */
static bool is_one_commit(const struct row *row)
{
	return !row->threads && strstr(row->name, "follow") == NULL &&
	       strstr(row->name, "join") == NULL;
}

bool row_is_cut(size_t n, struct row *row, bool all, unsigned rows, char **words, int count)
{
	return row_make(n, row) && is_one_commit(row) && (all || count > 0 || run_turn(n, rows)) &&
	       run_is_wanted(row->name, words, count);
}

void row_tell(struct row_tally *tally, const struct row *row, const char *word, const char *unit,
	      const char *wrong, const char *said)
{
	bool is_good = wrong == NULL && tally->right == tally->points;

	tally->tests++;
	tally->failed += !is_good;
	if (wrong != NULL)
		printf("not ok %d - %s%s: %s\n# %s\n", tally->tests, word, row->name, wrong, said);
	else
		printf("%s %d - %s%s: %ld of %ld %s\n", is_good ? "ok" : "not ok", tally->tests,
		       word, row->name, tally->right, tally->points, unit);
	fflush(stdout);
	tally->all_points += tally->points;
	tally->all_right += tally->right;
	tally->points = tally->right = 0;
}

int row_tell_all(const struct row_tally *tally, const char *unit)
{
	printf("1..%d\n# %ld of %ld %s\n", tally->tests, tally->all_right, tally->all_points, unit);
	return tally->failed > 0;
}

/* ---- Beginning and ending ---- */

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

	row_shell(script);
	row_text(found);
	setenv("GSD_PYTHON", found, 1);
	printf("# python gsd %s\n", found[0] != '\0' ? "reads frames too" : "is not installed");
}

static char scratch[PATH_MAX];

void row_begin(const char *above)
{
	if ((size_t)snprintf(scratch, sizeof scratch, "%s/bpk-rows-XXXXXX", above) >=
		    sizeof scratch ||
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
	find_gsd();
}

void row_end(void)
{
	char script[PATH_MAX + 16];

	snprintf(script, sizeof script, "rm -rf '%s'", scratch);
	if (chdir("/") != 0 || system(script) != 0)
		run_die("remove the scratch folder");
}
