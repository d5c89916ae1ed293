/* The rows of options that mean the same in every command that has them. The tables of all commands
 * name them, and main completes their values. */
#include "cli/command.h"
#include "cli/remote.h"

const struct bpk_opt bpk_opt_stdout = {
	.letter = 'c',
	.name = "stdout",
	BPK_OPT_VALUE(OPT_FLAG, struct bpk_shared, to_stdout),
	.help = "write to standard output",
	.more = "Sources are kept.",
	.group = GROUP_OUTPUT,
};

const struct bpk_opt bpk_opt_output = {
	.letter = 'o',
	.name = "output",
	BPK_OPT_VALUE(OPT_FILE, struct bpk_shared, output),
	.metavar = "FILE",
	.help = "write to FILE; - is standard output",
	.more = "Needs a single source. FILE may be a link, a device or a FIFO, but not another "
		"user's link in a sticky directory that everyone may write to; or the URL of a "
		"file in a store, s3://BUCKET/KEY (bpk-remote(7)).",
	.group = GROUP_OUTPUT,
};

const struct bpk_opt bpk_opt_output_dir = {
	.letter = 'O',
	.name = "output-dir",
	BPK_OPT_VALUE(OPT_DIRECTORY, struct bpk_shared, output_dir),
	.metavar = "DIR",
	.help = "write into directory DIR instead of beside the source",
	.more = "The directory must exist, but with --recursive it is made; it may be the URL of a "
		"prefix in a store.",
	.group = GROUP_OUTPUT,
};

const struct bpk_opt bpk_opt_force = {
	.letter = 'f',
	.name = "force",
	BPK_OPT_VALUE(OPT_FLAG, struct bpk_shared, force),
	.help = "replace existing files; write binary data to a terminal",
	.more = "The old file stays unchanged until the new one is complete.",
	.group = GROUP_OUTPUT,
};

const struct bpk_opt bpk_opt_keep = {
	.letter = 'k',
	.name = "keep",
	BPK_OPT_VALUE(OPT_UNFLAG, struct bpk_shared, remove),
	.help = "keep the source (default)",
	.group = GROUP_OUTPUT,
};

const struct bpk_opt bpk_opt_rm = {
	.name = "rm",
	BPK_OPT_VALUE(OPT_FLAG, struct bpk_shared, remove),
	.help = "delete the source once the result is safe",
	.more = "The result is synced first, and a source that has changed meanwhile is kept. "
		"bpk-pack(1) then also compares every chunk, as with --compare; bpk-unpack(1) "
		"compares a recorded identity, and parity. Not together with --no-sync.",
	.group = GROUP_OUTPUT,
};

const struct bpk_opt bpk_opt_no_sync = {
	.name = "no-sync",
	BPK_OPT_VALUE(OPT_FLAG, struct bpk_shared, no_sync),
	.help = "do not wait until the result is on the disk",
	.more = "A power cut soon afterwards may lose the result, or leave wrong content that "
		"bpk-verify(1) does not detect.",
	.group = GROUP_OUTPUT,
};

const struct bpk_opt bpk_opt_threads = {
	.letter = 'T',
	.name = "threads",
	BPK_OPT_VALUE(OPT_U64, struct bpk_shared, threads),
	.metavar = "N",
	.help = "use N threads; 0 (default): all usable ones",
	.more = "CPU affinity, the control group's quota and SLURM_CPUS_PER_TASK limit the usable "
		"threads; a URL has as many as --connections, if that is more. The result is the "
		"same for every N.",
	.group = GROUP_RUN,
	.environment = "BPK_THREADS",
	.max = 1024,
};

const struct bpk_opt bpk_opt_memory_limit = {
	.name = "memory-limit",
	BPK_OPT_VALUE(OPT_SIZE, struct bpk_shared, memory_limit),
	.metavar = "SIZE",
	.help = "refuse work that needs more than SIZE of memory",
	.more = "Such work ends with status 1 before the memory is allocated. The default is half "
		"of the memory of the machine or the control group, and 0 is no limit; "
		"bpk-formats(5) has the details.",
	.group = GROUP_RUN,
	.environment = "BPK_MEMORY_LIMIT",
	.max = INT64_MAX,
};

uint64_t bpk_memory_default(void)
{
	static uint64_t half; /* 0: not looked up yet */

	half = half > 0 ? half : bpk_memory_size() / 2;
	return half;
}

unsigned bpk_shared_threads(const struct bpk_shared *shared)
{
	static unsigned usable; /* 0: not counted yet */

	if (shared->threads > 0)
		return (unsigned)shared->threads;
	usable = usable > 0 ? usable : bpk_cpu_count();
	/* threads that read a URL mostly wait */
	if (bpk_remote_counted().requests > 0 && usable < bpk_remote_connections(shared))
		return bpk_remote_connections(shared);
	return usable;
}

struct bpk_limits bpk_shared_limits(const struct bpk_shared *shared)
{
	return (struct bpk_limits){ .threads = bpk_shared_threads(shared),
				    .memory = shared->memory_limit,
				    .memory_is_default = !shared->memory_given };
}

const struct bpk_shared *bpk_shared_complete(struct bpk_shared *shared)
{
	shared->memory_given = shared->memory_limit != BPK_UNKNOWN;
	if (!shared->memory_given)
		shared->memory_limit = bpk_memory_default();
	/* chunks that are looked at as they lie are not unpacked whole */
	shared->chunk_limit = shared->memory_given && !shared->as_stored ? shared->memory_limit : 0;
	return shared;
}

const struct bpk_opt bpk_opt_max_output = {
	.name = "max-output",
	BPK_OPT_VALUE(OPT_SIZE, struct bpk_shared, max_output),
	.metavar = "SIZE",
	.help = "refuse archives that unpack to more than SIZE",
	.more = "For archives from strangers: a small one may unpack to a very large file.",
	.max = UINT64_MAX,
};

const struct bpk_opt bpk_opt_quiet = {
	.letter = 'q',
	.name = "quiet",
	BPK_OPT_VALUE(OPT_FLAG, struct bpk_shared, quiet),
	.help = "print errors only",
	.group = GROUP_RUN,
};

const struct bpk_opt bpk_opt_verbose = {
	.letter = 'v',
	.name = "verbose",
	BPK_OPT_VALUE(OPT_COUNT, struct bpk_shared, verbose),
	.help = "print more; twice: even more",
	.group = GROUP_RUN,
};

const struct bpk_opt bpk_opt_progress = {
	.name = "progress",
	BPK_OPT_VALUE(OPT_WHEN, struct bpk_shared, progress),
	.metavar = "WHEN",
	.help = "show a progress bar on standard error",
	.more = "With auto, the default, it appears on a terminal once the work has lasted a "
		"second, unless the command is in the background.",
	.group = GROUP_RUN,
};

const struct bpk_opt bpk_opt_json = {
	.name = "json",
	BPK_OPT_VALUE(OPT_FLAG, struct bpk_shared, json),
	.help = "print results as JSON, one object a line",
	.more = "Each input has an object, with status, the exit status that it alone gives, and "
		"error, the message or null. Sizes are integers in bytes, unknown values are null, "
		"and a text that is not UTF-8, such as a path, is printed in base64, as path_b64. "
		"bpk-json.schema.json in bpk's folder of documentation describes all members.",
	.group = GROUP_RUN,
};

const struct bpk_opt bpk_opt_help = {
	.letter = 'h',
	.name = "help",
	BPK_OPT_VALUE(OPT_FLAG, struct bpk_shared, help),
	.help = "print this help",
	.group = GROUP_RUN,
};

const struct bpk_opt bpk_opt_format_read = {
	.letter = 'F',
	.name = "format",
	BPK_OPT_VALUE(OPT_FORMAT_READ, struct bpk_shared, format),
	.metavar = "NAME",
	.help = "read the source as format NAME",
	.more = "By default the format is recognised by content. A bare chunk carries no mark, "
		"so it must be named: chunk.",
};

const struct bpk_opt bpk_opt_format_write = {
	.letter = 'F',
	.name = "format",
	BPK_OPT_VALUE(OPT_FORMAT_WRITE, struct bpk_shared, format),
	.metavar = "NAME",
	.help = "write format NAME",
	.more = "By default the suffix given with --output decides; without one it is blp. A "
		"suffix "
		"of no format, such as .csv, is refused.",
};

const struct bpk_opt bpk_opt_no_check = {
	.name = "no-check",
	BPK_OPT_VALUE(OPT_FLAG, struct bpk_shared, no_check),
	.help = "do not test checksums",
	.more = "The chunks must still decode. Parts of a chunk can then be read without the "
		"rest of it.",
};

const struct bpk_opt bpk_opt_no_marker = {
	.name = "no-marker",
	BPK_OPT_VALUE(OPT_FLAG, struct bpk_shared, no_marker),
	.help = "accept a stream that ends without an end marker",
	.more = "An archive written to a pipe does not record its length; bpk ends it with a "
		"marker, so that a cut is noticed. Other programs write no marker.",
};

const struct bpk_opt bpk_opt_name = {
	.name = "name",
	BPK_OPT_VALUE(OPT_TEXT, struct bpk_shared, pick.name),
	.once = true,
	.metavar = "NAME",
	.help = "only the array NAME inside the data",
	.more = "FILE may be an archive or the raw file itself: bpk knows the arrays of "
		"simulation files by name; bpk-info(1) -v lists them.",
};

const struct bpk_opt bpk_opt_frames = {
	.name = "frames",
	BPK_OPT_VALUE(OPT_PART, struct bpk_shared, pick.frames),
	.metavar = "A:B[:STEP]",
	.help = "the array in the frames from A up to, not including, B",
	.more = "As in Python: a negative number counts from the end, ::10 is every tenth frame. A "
		"single number N is that frame, which must be there. By default the arrays of all "
		"frames are concatenated.",
	.max = INT64_MAX,
};

const struct bpk_opt bpk_opt_no_defaults = {
	.name = "no-defaults",
	BPK_OPT_VALUE(OPT_FLAG, struct bpk_shared, pick.no_defaults),
	.help = "leave out frames that do not hold the array",
	.more = "By default such a frame gets the default of the file's schema: in hoomd's, the "
		"array of frame 0, or a constant. A frame without a default is an error.",
};
