/* Folders of small files: removed, copied, compared byte by byte. The sweeps use them. */
#ifndef BPK_TESTS_FAULT_FOLDER_H
#define BPK_TESTS_FAULT_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

/* All that a folder holds: names, kinds, modes and bytes, and the times of files that were last
 * written before an instant. Of a later file it only says that it was written. */
struct picture {
	size_t size;
	char *bytes;
};

/* The present instant, by the clock of the file systems. */
struct timespec folder_now(void);

/* Make to a copy of the folder from, with modes and times; a folder of that name is removed. Dies
 * on failure. */
void folder_restore(const char *from, const char *to);

/* Returns the picture of the current folder, whose bytes the caller frees. */
struct picture folder_picture(struct timespec since);

bool folder_is_same(const struct picture *a, const struct picture *b);

/* The pictures of folders that were examined, all different. */
struct album {
	size_t count;
	struct picture *pictures;
};

/* Returns true if the album holds the current folder; otherwise it is added. */
bool folder_was_seen(struct album *album, struct timespec since);

void folder_forget(struct album *album);

#endif
