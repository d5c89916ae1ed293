/* The rows of options that choose files. Pack, unpack, verify and cmp have them. */
#include "cli/tree.h"

const struct bpk_opt bpk_opt_recursive = {
	.letter = 'r',
	.name = "recursive",
	BPK_OPT_VALUE(OPT_FLAG, struct bpk_shared, tree.recursive),
	.help = "take the files below the directories named",
	.more = "Symbolic links, devices and FIFOs below them are passed over, and so are drafts, "
		"journals and locks of bpk. A directory that is an archive counts as one file.",
};

const struct bpk_opt bpk_opt_include = {
	.name = "include",
	BPK_OPT_VALUE(OPT_LIST, struct bpk_shared, tree.include),
	.metavar = "GLOB",
	.help = "with -r: only files that match GLOB; may be repeated",
	.more = "A GLOB without a slash is matched with the name of a file, in any directory; one "
		"with a slash with the path below the directory named, from its beginning, and "
		"then "
		"* and ? match no slash. An archive matches with its suffix and without it. A file "
		"is taken if one of these options matches. Files that are named themselves are "
		"always taken.",
};

const struct bpk_opt bpk_opt_exclude = {
	.name = "exclude",
	BPK_OPT_VALUE(OPT_LIST, struct bpk_shared, tree.exclude),
	.metavar = "GLOB",
	.help = "with -r: no files or directories that match GLOB",
	.more = "Matched like --include, with the names of directories, too, which then are not "
		"entered. It wins over --include, whatever the order.",
};

const struct bpk_opt bpk_opt_files0_from = {
	.name = "files0-from",
	BPK_OPT_VALUE(OPT_FILE, struct bpk_shared, tree.files0_from),
	.metavar = "FILE",
	.help = "take the operands from FILE, each ended by a NUL byte",
	.more = "As find -print0 writes them; with - they are read from standard input. No other "
		"operand may be given.",
};

const struct bpk_opt bpk_opt_update = {
	.name = "update",
	BPK_OPT_VALUE(OPT_FLAG, struct bpk_shared, tree.update),
	.help = "skip files whose result is there and not older",
	.more = "An older result is replaced, also without --force. Results have the modification "
		"time of their source, so that a command which was interrupted goes on where it "
		"ended. A source that was replaced by an older file is not noticed. A source that "
		"is skipped is kept, also with --rm.",
	.group = GROUP_OUTPUT,
};
