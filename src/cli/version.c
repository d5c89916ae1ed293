/* bpk version: the program, the features built in, and those of this machine. Called by main, also
 * through the table of commands. */
#include <stdio.h>

#include "cli/command.h"
#include "cli/report.h"
#include "cli/text.h"
#include "plot/plot.h"
#include "config.h"

static const struct bpk_opt *const rows[] = { &bpk_opt_help, NULL };
static const struct bpk_shared defaults;

static void print_codecs(void)
{
	const struct bpk_codec *codec;

	printf("%-11s", "codecs");
	for (size_t i = 0; (codec = bpk_codec_at(i)) != NULL; i++) {
		const char *library = bpk_codec_library_version(codec);

		printf("%s%s", i > 0 ? ", " : "", bpk_codec_name(codec));
		if (library != NULL)
			printf(" (%s)", library);
	}
	putchar('\n');
}

static void print_checksums(void)
{
	const struct bpk_checksum *crc32 = bpk_checksum_find("crc32");
	const char *library = bpk_crc32_library();

	printf("%-11s", "checksums");
	for (size_t i = 0; bpk_checksums[i].name != NULL; i++) {
		printf("%s%s", i > 0 ? ", " : "", bpk_checksums[i].name);
		if (&bpk_checksums[i] == crc32 && library != NULL)
			printf(" (%s)", library);
	}
	putchar('\n');
}

static void print_formats(void)
{
	printf("%-11s", "formats");
	for (size_t i = 0; bpk_formats[i] != NULL; i++) {
		const struct bpk_format *format = bpk_formats[i];
		bool reads = format->reader != NULL, writes = format->writer != NULL;

		printf("%s%s (%s%s%s)", i > 0 ? ", " : "", format->name, reads ? "read" : "",
		       reads && writes ? ", " : "", writes ? "write" : "");
	}
	putchar('\n');
}

static const char *mpi_library(void)
{
	if (bpk_program->library != NULL)
		return bpk_program->library;
#ifdef BUILDS_MPI
	return "in bpk-mpi";
#else
	return "left out";
#endif
}

void bpk_version_print(void)
{
	const char *library = bpk_remote_library(), *png = bpk_plot_png_library();
	char memory[BPK_SIZE_TEXT];

	printf("%s %s\n", bpk_program->name, PACKAGE_VERSION);
	print_codecs();
	print_checksums();
	print_formats();
	printf("%-11s%s%s\n", "URLs", library != NULL ? "http, https, s3; libcurl " : "left out",
	       library != NULL ? library : "");
	printf("%-11ssvg, %s%s\n", "pictures", png != NULL ? "png; libpng " : "no png",
	       png != NULL ? png : "");
	printf("%-11s%s\n", "MPI", mpi_library());
	printf("%-11s%s\n", "vectors", bpk_chunk_simd());
	printf("%-11s%u\n", "threads", bpk_cpu_count());
	printf("%-11s%s for --memory-limit\n", "memory",
	       bpk_size_text(bpk_memory_default(), memory));
}

static void run_version(void *args, char **operands, size_t count)
{
	struct bpk_err err = { 0 };

	(void)args;
	if (count > 0) {
		bpk_fail(&err, BPK_USAGE, "takes no operand, '%s' was given", operands[0]);
		bpk_report("version", &err);
	}
	bpk_version_print();
}

const struct bpk_command bpk_command_version = {
	.name = "version",
	.synopsis = "[OPTION]...",
	.summary = "print the version and the features built in",
	.description = "Prints the version of bpk, its codecs with their libraries' versions, its "
		       "checksums and formats, the vector instructions in use, the threads that "
		       "--threads 0 means, and the memory that is the default limit.",
	.operands = OPERANDS_NONE,
	.options = rows,
	.args_size = sizeof(struct bpk_shared),
	.defaults = &defaults,
	.run = run_version,
};
