/* Keeps the parcels of a round until all ranks have packed theirs. team_round.c calls it. */
#include "flow/collect.h"

#include <stdlib.h>

static bool collect_packs(const void *writer)
{
	const struct bpk_collected *all = writer;

	return all->out->packs != NULL && all->out->packs(all->writer);
}

static int collect_pack(const void *writer, struct bpk_chunk_ctx *ctx,
			const struct bpk_recipe *recipe, struct bpk_parcel *parcel,
			struct bpk_err *err)
{
	const struct bpk_collected *all = writer;

	return all->out->pack(all->writer, ctx, recipe, parcel, err);
}

static int collect_unpack(const void *writer, struct bpk_chunk_ctx *ctx,
			  const struct bpk_parcel *parcel, struct bpk_span out, struct bpk_err *err)
{
	const struct bpk_collected *all = writer;

	return all->out->unpack(all->writer, ctx, parcel, out, err);
}

static int collect_seal(const void *writer, struct bpk_parcel *parcel, struct bpk_err *err)
{
	const struct bpk_collected *all = writer;

	return all->out->seal(all->writer, parcel, err);
}

struct bpk_buf *bpk_collected_bytes(const struct bpk_collected *all, struct bpk_parcel *parcel)
{
	return all->out->seal != NULL ? &parcel->packed : &parcel->raw;
}

static int add_place(struct bpk_collected *all, struct bpk_err *err)
{
	size_t room = all->room == 0 ? 16 : 2 * all->room;
	struct bpk_parcel *more;

	if (all->count < all->room)
		return 0;
	more = realloc(all->parcels, room * sizeof *more);
	if (more == NULL)
		return bpk_fail_memory(err, room * sizeof *more);
	memset(more + all->room, 0, (room - all->room) * sizeof *more);
	all->parcels = more;
	all->room = room;
	return 0;
}

static int collect_put(void *writer, const struct bpk_parcel *parcel, struct bpk_err *err)
{
	struct bpk_collected *all = writer;
	struct bpk_parcel *kept;
	struct bpk_buf raw, packed, *bytes;

	if (add_place(all, err) != 0)
		return -1;
	kept = &all->parcels[all->count];
	raw = kept->raw;
	packed = kept->packed;
	*kept = *parcel;
	kept->raw = raw;
	kept->packed = packed;
	kept->sharing = NULL;
	kept->member = NULL;
	bytes = bpk_collected_bytes(all, kept);
	bytes->size = 0;
	if (bpk_buf_append(bytes,
			   bpk_buf_view(all->out->seal != NULL ? &parcel->packed : &parcel->raw),
			   err) != 0)
		return -1;
	all->count++;
	if (all->then != NULL)
		all->then(all->arg);
	return 0;
}

void bpk_collected_clear(struct bpk_collected *all)
{
	for (size_t i = 0; i < all->room; i++) {
		bpk_buf_clear(&all->parcels[i].raw);
		bpk_buf_clear(&all->parcels[i].packed);
	}
	free(all->parcels);
	all->parcels = NULL;
	all->count = all->room = 0;
}

struct bpk_writer_ops bpk_collected_ops(const struct bpk_writer_ops *out)
{
	return (struct bpk_writer_ops){
		.packs = collect_packs,
		.pack = collect_pack,
		.unpack = collect_unpack,
		.seal = out->seal != NULL ? collect_seal : NULL,
		.put = collect_put,
	};
}
