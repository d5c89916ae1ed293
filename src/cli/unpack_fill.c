/* Unpacks an archive around its damaged chunks. Called by unpack.c. */
#include "cli/unpack_fill.h"

#include <inttypes.h>
#include <stdio.h>

#include "cli/heal.h"
#include "cli/identity.h"
#include "cli/report.h"
#include "cli/salvage_job.h"
#include "cli/text.h"

/* ---- the pattern ---- */

enum { MOST_BYTES = 32, FILLER = 64 << 10 };

/* The bytes that are repeated, from the start of the raw data on. */
struct pattern {
	uint8_t bytes[MOST_BYTES];
	size_t size;
};

/*
 * A quiet NaN of each part of a number. Little-endian, its two highest bytes are the last ones; the
 * sign is 0, the exponent and the first bit of the fraction are ones (IEEE 754-2019, 3.4). Long
 * doubles differ from one machine to the next, and have none here.
 */
static bool make_nan(const struct bpk_scalar *type, struct pattern *pattern)
{
	static const uint8_t half[] = { 0x00, 0x7e }, single[] = { 0xc0, 0x7f },
			     twice[] = { 0xf8, 0x7f };
	size_t parts = type->kind == 'c' ? 2 : 1, size = type->item_size / parts;
	const uint8_t *high = size == 2 ? half : size == 4 ? single : twice;

	if ((type->kind != 'f' && type->kind != 'c') || (size != 2 && size != 4 && size != 8))
		return false;
	pattern->size = type->item_size;
	for (size_t i = 0; i < parts; i++) {
		uint8_t *part = pattern->bytes + i * size;

		memcpy(part + size - 2, high, 2);
		for (size_t k = 0; type->byte_order == '>' && k < size / 2; k++) {
			uint8_t byte = part[k];

			part[k] = part[size - 1 - k];
			part[size - 1 - k] = byte;
		}
	}
	return true;
}

static bool make_pattern(const struct bpk_input *in, enum bpk_fill how, struct pattern *pattern)
{
	const struct bpk_array *array = in->info->array.type;

	*pattern = (struct pattern){ .size = 1 };
	return how != BPK_FILL_NAN || (array != NULL && array->dtype.nfields == 0 &&
				       make_nan(&array->dtype.scalar, pattern));
}

static bool reads_twice(const struct bpk_input *in)
{
	return in->format->reader->positional(in->reader) || bpk_source_seekable(in->place.source);
}

int bpk_fill_check(const struct bpk_input *in, enum bpk_fill how, struct bpk_err *err)
{
	struct pattern unused;

	if (reads_twice(in) && make_pattern(in, how, &unused))
		return 0;
	if (!reads_twice(in))
		bpk_fail(err, BPK_USAGE, "a pipe, and --fill reads a FILE twice");
	else
		bpk_fail(err, BPK_USAGE,
			 "--fill nan needs an archive that records an array of floating-point "
			 "numbers; --fill zero works for all");
	return bpk_input_subject(in, err);
}

/* ---- the damage ---- */

/* An archive on its way around its damage. */
struct detour {
	struct bpk_transfer *transfer;
	const struct bpk_flow *flow; /* that would unpack all of it */
	enum bpk_fill how;
	struct pattern pattern;
	uint64_t raw_size; /* of the whole; may be unknown */
	uint64_t at;       /* the raw bytes before it are dealt with */
	uint64_t lost;     /* of them */
	struct bpk_flow_result sum;
	bool ends_early; /* before its last chunk */
};

/* Read everything, and list the damaged chunks. Any other failure is one. */
static int find_damage(struct detour *detour, struct bpk_damage *damage, struct bpk_err *err)
{
	const struct bpk_transfer *transfer = detour->transfer;
	struct bpk_input *in = transfer->in;
	struct bpk_transfer to_nothing = { .shared = transfer->shared, .in = in };
	struct bpk_flow flow = *detour->flow;
	struct bpk_heal_verdict verdict;
	int rc;

	flow.damage = damage;
	rc = bpk_transfer_run(&to_nothing, &flow, err);
	detour->sum.raw_size = to_nothing.result.raw_size;
	if (rc != 0)
		rc = bpk_heal_judge(transfer->shared, in, rc, &verdict, err);
	if (rc == 0 || err->kind != BPK_CORRUPT)
		return rc;
	if (damage->unlisted) {
		bpk_fail(err, BPK_NO_MEMORY, "no memory for the list of damaged chunks");
		return bpk_input_subject(in, err);
	}
	if (damage->stop.kind != BPK_OK && damage->stop.kind != BPK_CORRUPT) {
		*err = damage->stop;
		return bpk_input_subject(in, err);
	}
	*err = (struct bpk_err){ 0 };
	return 0;
}

/* ---- the way around ---- */

static int put_intact(struct detour *detour, uint64_t end, struct bpk_err *err)
{
	struct bpk_transfer *transfer = detour->transfer;
	struct bpk_flow flow = *detour->flow;

	if (detour->at == end)
		return 0;
	if (bpk_plan_range(transfer->in->format->reader, transfer->in->reader, detour->at, end,
			   &flow.plan, err) != 0)
		return bpk_input_subject(transfer->in, err);
	if (bpk_transfer_run(transfer, &flow, err) != 0)
		return -1;
	detour->sum.nchunks += transfer->result.nchunks;
	detour->sum.raw_size += transfer->result.raw_size;
	detour->sum.packed_size += transfer->result.packed_size;
	detour->at += transfer->result.raw_size;
	return 0;
}

static int put_pattern(struct detour *detour, uint64_t size, struct bpk_err *err)
{
	const struct bpk_transfer *transfer = detour->transfer;
	struct bpk_view pattern = bpk_view(detour->pattern.bytes, detour->pattern.size);
	struct bpk_parcel parcel = { 0 };
	uint64_t at = detour->at;
	int rc = bpk_buf_resize(&parcel.raw, FILLER, err);

	for (; rc == 0 && size > 0; size -= parcel.want_size) {
		parcel.want_size = (size_t)bpk_min_u64(size, FILLER);
		bpk_bytes_repeat(pattern, (size_t)(at % pattern.size),
				 bpk_span(parcel.raw.data, parcel.want_size));
		rc = transfer->format->writer->put(transfer->writer, &parcel, err);
		at += parcel.want_size;
	}
	bpk_buf_clear(&parcel.raw);
	return rc == 0 ? 0 : bpk_err_subject(err, "%s", bpk_output_name(transfer->target));
}

static void report_lost(const struct detour *detour, uint64_t end, const char *report)
{
	struct bpk_err line = { 0 };
	char text[32] = "";

	if (end != BPK_UNKNOWN)
		snprintf(text, sizeof text, "%" PRIu64, end);
	bpk_fail(&line, BPK_CORRUPT, "raw bytes %" PRIu64 ":%s are lost: %s", detour->at, text,
		 report);
	bpk_input_subject(detour->transfer->in, &line);
	bpk_report(NULL, &line);
}

/* Pass the lost bytes up to end; unknown: nothing behind them is known, not even their number. */
static int pass_lost(struct detour *detour, uint64_t end, const char *report, struct bpk_err *err)
{
	report_lost(detour, end, report);
	if (end == BPK_UNKNOWN)
		return 0;
	if (detour->how != BPK_FILL_SKIP) {
		if (put_pattern(detour, end - detour->at, err) != 0)
			return -1;
		detour->sum.raw_size += end - detour->at;
	}
	detour->lost += end - detour->at;
	detour->at = end;
	return 0;
}

/* Where the raw bytes end, if nothing behind the lost ones is known: concatenated archives are
 * counted by walking, but the first one's header counts its own. */
static uint64_t end_of(const struct detour *detour)
{
	uint64_t first = detour->transfer->in->info->raw_size;

	if (detour->raw_size == BPK_UNKNOWN && first != BPK_UNKNOWN && detour->at < first)
		return first;
	return detour->raw_size;
}

/* The list of damage may end early: behind it nothing can be found, or too much is damaged. */
static bool is_last(const struct bpk_damage *damage, size_t i)
{
	return i + 1 == damage->count && (damage->all[i].end == BPK_UNKNOWN || damage->more);
}

static int go_around(struct detour *detour, const struct bpk_damage *damage, struct bpk_err *err)
{
	for (size_t i = 0; i < damage->count; i++) {
		const struct bpk_damaged *found = &damage->all[i];
		bool last = is_last(damage, i);

		if (put_intact(detour, found->start, err) != 0 ||
		    pass_lost(detour, last ? end_of(detour) : found->end, found->report, err) != 0)
			return -1;
		if (last)
			return 0;
	}
	if (damage->stop.kind == BPK_OK)
		return put_intact(detour, detour->raw_size, err);
	return 0;
}

/* The archive ends, or cannot be followed, behind its last listed chunk. */
static int end_early(struct detour *detour, const struct bpk_damage *damage, uint64_t intact,
		     struct bpk_err *err)
{
	if (put_intact(detour, bpk_max_u64(detour->at, intact + detour->lost), err) != 0)
		return -1;
	return pass_lost(detour, end_of(detour), damage->stop.text, err);
}

/* Account for the bytes outside of chunks: damage there costs none of the content. Fails if parity
 * restores it, unless that was asked for the chunks. */
static int account(struct bpk_transfer *transfer, bool is_damaged, struct bpk_err *err)
{
	const struct bpk_shared *shared = transfer->shared;
	struct bpk_input *in = transfer->in;
	struct bpk_heal_verdict verdict;
	struct bpk_err why = { 0 };
	int rc =
		is_damaged ? bpk_input_account_part(in, shared, &why) : bpk_input_account(in, &why);

	if (rc != 0 && !is_damaged)
		rc = bpk_heal_judge(shared, in, rc, &verdict, &why);
	if (rc == 0 || why.kind != BPK_CORRUPT)
		return rc == 0 ? 0 : bpk_fail_as(err, &why);
	transfer->incomplete = true;
	bpk_report(NULL, &why);
	return 0;
}

/* Here a chunk that is not where header and index tell is lost. */
static const char *next_step(const struct bpk_input *in)
{
	return bpk_salvage_serves(in) ? "; bpk repair FILE searches for chunks that moved" : "";
}

static void report_all(const struct detour *detour)
{
	static const char *const how[] = {
		[BPK_FILL_ZERO] = "became zeros",
		[BPK_FILL_NAN] = "became NaN",
		[BPK_FILL_SKIP] = "were left out",
	};
	const struct bpk_input *in = detour->transfer->in;
	const struct bpk_chunks_info *chunks = &in->info->chunks;
	bool is_walked = !chunks->has_offsets && !chunks->extended; /* from chunk to chunk */
	struct bpk_err line = { 0 };

	bpk_fail(&line, BPK_CORRUPT,
		 "%" PRIu64 " raw bytes are lost and %s, %" PRIu64 " were unpacked%s%s",
		 detour->lost, how[detour->how], detour->at - detour->lost,
		 detour->ends_early && is_walked
			 ? ", but without offsets perhaps not at their places"
			 : "",
		 next_step(in));
	bpk_input_subject(in, &line);
	bpk_report(NULL, &line);
	if (!in->info->directory.exchangeable)
		return;
	bpk_fail(&line, BPK_CORRUPT, "%s", BPK_DOUBT_FILES_LOST);
	bpk_input_subject(in, &line);
	bpk_report(NULL, &line);
}

/* Sizes of a damaged header may be anything. The user's --max-output was tested before. */
static int check_claim(const struct detour *detour, struct bpk_err *err)
{
	const struct bpk_transfer *transfer = detour->transfer;
	const struct bpk_info *info = transfer->in->info;
	uint64_t claim = detour->raw_size != BPK_UNKNOWN ? detour->raw_size : info->raw_size;
	char word[BPK_WORD_TEXT];

	if (transfer->shared->max_output != BPK_UNKNOWN || claim == BPK_UNKNOWN ||
	    !bpk_identity_is_bomb(claim, info->stored_size))
		return 0;
	bpk_fail(
		err, BPK_CORRUPT,
		"its header claims %" PRIu64 " raw bytes, more than 1000 times the archive's size, "
		"and may be damaged; bpk repair %s shows which data are left, --max-output %" PRIu64
		" fills all",
		claim, bpk_shell_word(transfer->in->path, word), claim);
	err->advises = true;
	return bpk_input_subject(transfer->in, err);
}

static int unpack_around(struct detour *detour, const struct bpk_damage *damage,
			 struct bpk_err *err)
{
	uint64_t intact = detour->sum.raw_size;
	bool early = damage->stop.kind != BPK_OK &&
		     !(damage->count > 0 && is_last(damage, damage->count - 1));

	detour->sum = (struct bpk_flow_result){ 0 };
	detour->ends_early = early || (damage->count > 0 && is_last(damage, damage->count - 1));
	if (check_claim(detour, err) != 0)
		return -1;
	if (go_around(detour, damage, err) != 0 ||
	    (early && end_early(detour, damage, intact, err) != 0))
		return -1;
	detour->transfer->result = detour->sum;
	detour->transfer->incomplete = true;
	if (account(detour->transfer, true, err) != 0)
		return -1;
	report_all(detour);
	return 0;
}

static int unpack_all(struct bpk_transfer *transfer, struct bpk_flow *flow, struct bpk_err *err)
{
	if (bpk_transfer_run(transfer, flow, err) != 0 ||
	    bpk_transfer_check_bound(transfer, err) != 0)
		return -1;
	return account(transfer, false, err);
}

int bpk_fill_run(struct bpk_transfer *transfer, enum bpk_fill how, struct bpk_flow *flow,
		 struct bpk_err *err)
{
	struct detour detour = { .transfer = transfer, .flow = flow, .how = how };
	struct bpk_damage damage;
	bool is_damaged;
	int rc;

	make_pattern(transfer->in, how, &detour.pattern);
	bpk_damage_init(&damage);
	rc = find_damage(&detour, &damage, err);
	is_damaged = damage.count > 0 || damage.stop.kind != BPK_OK;
	detour.raw_size = bpk_plan_all(transfer->in->info).raw_size;
	if (rc == 0)
		rc = is_damaged ? unpack_around(&detour, &damage, err)
				: unpack_all(transfer, flow, err);
	bpk_damage_clear(&damage);
	return rc;
}
