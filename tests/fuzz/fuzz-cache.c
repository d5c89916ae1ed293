/* A damaged or foreign file in the cache of remote files: a block is returned only with its digest,
 * and a version only as it was written. */
#include "fuzz/fuzz.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "io/remote/segment.h"

static char folder_name[] = "/tmp/bpk-fuzz-cache-XXXXXX";
static char name[BPK_SEGMENT_NAME];
static const uint8_t key[BPK_SEGMENT_KEY];
static int folder = -1;

static void clean_up(void)
{
	unlinkat(folder, name, 0);
	rmdir(folder_name);
}

static void make_folder(void)
{
	if (mkdtemp(folder_name) == NULL)
		abort();
	folder = open(folder_name, O_DIRECTORY | O_RDONLY);
	bpk_segment_name(key, 0, name);
	atexit(clean_up);
}

static void put(const uint8_t *data, size_t size)
{
	int fd = openat(folder, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t block[BPK_SEGMENT_BLOCK];
	struct bpk_segment_id id = { 0 }, again;
	struct bpk_segment segment = { .fd = -1 };

	if (folder < 0)
		make_folder();
	put(data, size);
	if (!bpk_segment_open(folder, &id, 0, &segment))
		return 0;
	if (*id.version == '\0' || strlen(id.version) >= sizeof id.version || id.total == 0)
		abort();
	for (size_t n = 0; n < BPK_SEGMENT_BLOCKS; n++)
		if (bpk_segment_read(&segment, n, bpk_span(block, sizeof block)) &&
		    (size < 4096 + n * sizeof block || !bpk_segment_has(&segment, n)))
			abort();
	/* the version found is the one that opens it, and no other does */
	again = id;
	if (!bpk_segment_open(folder, &again, 0, &segment))
		abort();
	again.total++;
	if (bpk_segment_open(folder, &again, 0, &segment))
		abort();
	bpk_segment_close(&segment);
	return 0;
}
