/*
 * Reading while a writer is active; called by reader.c, audit.c and marks.c. While the source is
 * held, the file shows one committed state, but perhaps a later one than the reader was opened on.
 * So apparent damage is examined again. If the header shows that chunks were added, the old content
 * is still there, except that its last chunk may hold more data. Any other difference means that
 * the file was changed and cannot be judged.
 */
#include "format/bloscpack/bloscpack.h"

static bool has_grown(const struct bpk_bloscpack_header *then,
		      const struct bpk_bloscpack_header *now)
{
	if (then->nchunks == BPK_UNKNOWN || then->last_chunk_size == BPK_UNKNOWN ||
	    now->nchunks == BPK_UNKNOWN || now->last_chunk_size == BPK_UNKNOWN)
		return false;
	if (then->version != now->version || then->blaze != now->blaze ||
	    then->has_offsets != now->has_offsets || then->has_metadata != now->has_metadata ||
	    then->checksum != now->checksum ||
	    bpk_bloscpack_slots(then) != bpk_bloscpack_slots(now))
		return false;
	/* a single chunk may have become a larger one */
	if (then->chunk_size != now->chunk_size && then->nchunks > 1)
		return false;
	/* if chunk sizes differ, the list of those before the last chunk is unchanged */
	return now->nchunks > then->nchunks ||
	       (now->nchunks == then->nchunks && now->last_chunk_size >= then->last_chunk_size);
}

/* Read the current header. *same: it equals the reader's, byte for byte. */
static int look_at_header(const struct bpk_bloscpack_reader *reader,
			  struct bpk_bloscpack_reader *now, bool *same, bool *grown,
			  struct bpk_err *err)
{
	uint8_t head[BPK_BLOSCPACK_HEAD_SIZE];
	size_t got;

	*now = *reader;
	*grown = false;
	if (bpk_source_read_at(reader->source, 0, bpk_span(head, sizeof head), &got, err) != 0)
		return -1;
	now->size = bpk_source_size(reader->source);
	*same = got >= reader->header.size && memcmp(head, reader->head, reader->header.size) == 0;
	if (!*same)
		*grown = bpk_bloscpack_header_read(bpk_view(head, got), &now->header, NULL) == 0 &&
			 has_grown(&reader->header, &now->header);
	return 0;
}

/* True if the record of the seal is still the reader's. A change renews it, while times may be
 * those of before: the clock of a file system has ticks of some milliseconds. */
static bool has_same_seal(const struct bpk_bloscpack_reader *reader)
{
	struct bpk_place place = { .source = reader->source };
	const struct bpk_seal *then = &reader->seal, *seal;
	void *again = NULL;
	bool same;

	if (!then->recorded)
		return true;
	if (bpk_bloscpack_reader_ops.open(&place, &reader->options, &again, NULL) != 0)
		return false;
	seal = &((const struct bpk_bloscpack_reader *)again)->seal;
	same = seal->recorded && seal->generation == then->generation &&
	       memcmp(seal->root, then->root, sizeof seal->root) == 0;
	bpk_bloscpack_reader_ops.close(again);
	return same;
}

/* Find how the file has changed; now becomes the reader of its current state. */
static int look_again(const struct bpk_bloscpack_reader *reader, struct bpk_bloscpack_reader *now,
		      enum bpk_bloscpack_change *change, struct bpk_err *err)
{
	bool same, grown;

	if (look_at_header(reader, now, &same, &grown, err) != 0)
		return -1;
	*change = grown ? BPK_BLOSCPACK_GROWN : BPK_BLOSCPACK_CHANGED;
	/* CHANGED also covers other parts overwritten, and a change that was undone */
	if (same && bpk_source_unchanged(reader->source, NULL) == 0 && has_same_seal(reader))
		*change = BPK_BLOSCPACK_SAME;
	return 0;
}

int bpk_bloscpack_concurrent_open(const struct bpk_bloscpack_reader *reader,
				  struct bpk_bloscpack_reader *now, bool *kept, struct bpk_err *err)
{
	bool same, grown;

	if (look_at_header(reader, now, &same, &grown, err) != 0)
		return -1;
	*kept = same || grown;
	now->sequence = now->located = bpk_bloscpack_walk_start(now);
	return 0;
}

enum bpk_bloscpack_change bpk_bloscpack_concurrent_judge(const struct bpk_bloscpack_reader *reader,
							 struct bpk_bloscpack_reader *now,
							 struct bpk_err *err)
{
	enum bpk_bloscpack_change change = BPK_BLOSCPACK_SAME;
	struct bpk_err found = { 0 };

	if (err->kind != BPK_CORRUPT || !reader->seekable)
		return BPK_BLOSCPACK_SAME;
	if (look_again(reader, now, &change, &found) != 0)
		*err = found;
	else if (change == BPK_BLOSCPACK_CHANGED)
		bpk_fail_changed(err);
	return change;
}
