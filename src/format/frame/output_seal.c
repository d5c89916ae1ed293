/*
 * The leaves of the chunks of a frame that is written, for its seal (output.h). Called by
 * output_put.c, the writer and the editor.
 */
#include "format/frame/output.h"

int bpk_frame_output_seal_parcel(struct bpk_frame_output *out, uint64_t number,
				 const struct bpk_parcel *parcel, struct bpk_err *err)
{
	uint8_t leaf[BPK_MERKLE_SIZE];

	if (out->seal.generation == 0)
		return 0;
	if (bpk_seal_parcel(out->checksum, parcel, number, true, leaf, err) != 0)
		return -1;
	return bpk_seal_growth_set(&out->seal, number, leaf, err);
}

int bpk_frame_output_seal_chunk(struct bpk_frame_output *out, uint64_t number, uint64_t raw_size,
				struct bpk_view chunk, struct bpk_err *err)
{
	const struct bpk_parcel parcel = {
		.packed = { .data = (uint8_t *)chunk.data, .size = chunk.size },
		.packed_size = chunk.size,
		.raw_size = (size_t)raw_size,
	};
	uint8_t leaf[BPK_MERKLE_SIZE];

	if (out->seal.generation == 0)
		return 0;
	if (bpk_seal_parcel(out->checksum, &parcel, number, false, leaf, err) != 0)
		return -1;
	return bpk_seal_growth_set(&out->seal, number, leaf, err);
}

int bpk_frame_output_seal_entry(struct bpk_frame_output *out, uint64_t number, uint64_t raw_size,
				uint64_t entry, struct bpk_err *err)
{
	uint8_t leaf[BPK_MERKLE_SIZE];

	if (out->seal.generation == 0)
		return 0;
	if (bpk_frame_seal_entry(number, raw_size, entry, leaf, err) != 0)
		return -1;
	return bpk_seal_growth_set(&out->seal, number, leaf, err);
}
