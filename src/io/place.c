#include "io/io.h"

#include <sys/stat.h>

int bpk_place_open(const char *path, struct bpk_place *place, struct bpk_err *err)
{
	struct stat found;

	*place = (struct bpk_place){ .path = path };
	if (strcmp(path, "-") != 0 && stat(path, &found) == 0 && S_ISDIR(found.st_mode)) {
		place->is_directory = true;
		return bpk_dir_open(path, &place->directory, err);
	}
	return bpk_source_open(path, &place->source, err);
}

void bpk_place_close(struct bpk_place *place)
{
	bpk_source_close(place->source);
	bpk_dir_close(place->directory);
	*place = (struct bpk_place){ 0 };
}
