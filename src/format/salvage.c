/* The list of chunks that were found in a damaged file. Formats fill it, and repair reads it. */
#include "format/salvage.h"

#include <stdlib.h>

void bpk_salvage_clear(struct bpk_salvage *salvage)
{
	free(salvage->all);
	*salvage = (struct bpk_salvage){ 0 };
}

int bpk_salvage_add(struct bpk_salvage *salvage, const struct bpk_saved *found, struct bpk_err *err)
{
	size_t room = salvage->room > 0 ? 2 * salvage->room : 64;
	struct bpk_saved *all = salvage->all;

	if (salvage->count == salvage->room) {
		all = realloc(all, room * sizeof *all);
		if (all == NULL)
			return bpk_fail_memory(err, room * sizeof *all);
		salvage->all = all;
		salvage->room = room;
	}
	salvage->all[salvage->count++] = *found;
	return 0;
}
