/*
 * The damaged chunks of a run that goes on behind them, and the places where the run met them. A
 * part of the room's door: verify lists them; flow.c notes them, and team_run.c collects them.
 */
#ifndef BPK_FLOW_DAMAGE_H
#define BPK_FLOW_DAMAGE_H

#include "flow/flow.h"

/* A damaged chunk, and those right behind it whose reports differ from its own in numbers alone. */
struct bpk_damaged {
	uint64_t first, count; /* of chunks */
	uint64_t start, end;   /* their raw bytes, half open; BPK_UNKNOWN: unknown */
	uint64_t piece;        /* that failed, of a chunk in pieces; BPK_UNKNOWN: no pieces */
	char *report;          /* of the first chunk: "chunk 3 at offset 4711: ..." */
};

/*
 * Caller storage. Threads of the run share it under its lock; after the run it belongs to the
 * caller. The list is the same for every number of threads and ranks. It has at most 65,536
 * members, the first of them all.
 */
struct bpk_damage {
	struct bpk_mutex lock;
	struct bpk_damaged *all; /* in ascending order */
	size_t count, room;
	uint64_t noted;      /* how often a chunk was noted */
	bool more;           /* there is, or may be, more damage than is listed */
	bool unlisted;       /* ... since memory was missing */
	struct bpk_err stop; /* the failure behind the list that ended the run, or no kind */
	uint64_t stopped_at; /* its chunk */
};

void bpk_damage_init(struct bpk_damage *damage);

/* Empty the list after a run. */
void bpk_damage_drop(struct bpk_damage *damage);

void bpk_damage_clear(struct bpk_damage *damage);

/* ---- Inside flow ---- */

/*
 * Note the damage found, whose report is left open, and the reason. Any thread. False: the run is
 * to end with err, since memory is missing, more chunks are damaged than a file of the archive's
 * size has, or the end of the chunk is unknown.
 */
bool bpk_damage_note(const struct bpk_flow *flow, const struct bpk_damaged *found,
		     const struct bpk_err *err);

/* Note the chunks before end that repeat damaged ones, which were passed over. After the threads
 * have ended; the format knows repeats. */
void bpk_damage_note_repeats(const struct bpk_flow *flow, uint64_t end);

/*
 * The run, or a part of it, is over; failed is the chunk with whose failure, err, it ended, or
 * BPK_UNKNOWN. Returns -1 if it failed or chunks are damaged: then failed and err are those of the
 * lowest.
 */
int bpk_damage_end(struct bpk_damage *damage, uint64_t *failed, struct bpk_err *err);

/* Give rank 0 the damage of all ranks, each of which has found its own. All ranks call it. */
void bpk_damage_gather(const struct bpk_team *team, struct bpk_damage *damage);

#endif
