/* The probe that editors run on a file before they restore anything from a journal. */
#include "format/format.h"

int bpk_format_holds(const struct bpk_place *place, bpk_format_probe_fn *probe, bool *holds,
		     struct bpk_err *err)
{
	uint8_t head[BPK_PROBE_SIZE];
	size_t got = 0;

	*holds = false;
	if (place->source != NULL &&
	    bpk_source_read_at(place->source, 0, bpk_span(head, sizeof head), &got, err) != 0)
		return -1;
	return probe(place, bpk_view(head, got), holds, err);
}
