/*
 * One chunk packed and unpacked in memory on one thread, beside libblosc when it is built in: the
 * same codec, level, filter and block size, in turns (ours, theirs, ours, theirs ...), so that a
 * disturbance of the machine affects both.
 *
 *   bench-chunk [-s MIB] [-r ROUNDS] [-c CODEC] [-l LEVELS] [-f FILTER] [-d DATA]
 *
 * CODEC, DATA and FILTER select one; LEVELS is a row of digits, such as 159.
 */
#include "bench/data.h"
#include "bench/turns.h"
#include "chunk/chunk.h"

#include <unistd.h>

#ifdef HAVE_BLOSC
#include <blosc.h>
#endif

enum { LARGEST = 1 << 30 };

struct options {
	size_t size;
	unsigned rounds;
	const char *codec, *levels, *data;
	enum bpk_filter filter;
};

/* Times in seconds and the packed size; theirs are 0 without libblosc. */
struct result {
	size_t packed[2];
	double encode[2], decode[2];
	double encode_gain, decode_gain; /* medians of theirs / ours, round by round */
};

struct work {
	struct bpk_chunk_ctx *ctx;
	uint8_t *raw, *packed[2], *back;
	size_t size;
	struct bpk_recipe recipe;
	const char *codec;
	struct result result;
};

/* Products of gains, for geometric means. */
struct mean {
	double encode, decode, size;
	unsigned n;
};

static void encode_ours(void *arg)
{
	struct work *w = arg;
	struct bpk_err err = { 0 };

	if (bpk_chunk_encode(w->ctx, &w->recipe, bpk_view(w->raw, w->size),
			     bpk_span(w->packed[0], bpk_chunk_bound(w->size)), &w->result.packed[0],
			     &err) != 0)
		turns_die(err.text);
}

static void decode_ours(void *arg)
{
	struct work *w = arg;
	struct bpk_err err = { 0 };

	if (bpk_chunk_decode(w->ctx, bpk_view(w->packed[0], w->result.packed[0]),
			     bpk_span(w->back, w->size), &err) != 0)
		turns_die(err.text);
}

#ifdef HAVE_BLOSC
static void encode_theirs(void *arg)
{
	struct work *w = arg;
	int packed = blosc_compress_ctx((int)w->recipe.level, w->recipe.pipeline.steps[0].filter,
					w->recipe.typesize, w->size, w->raw, w->packed[1],
					w->size + BLOSC_MAX_OVERHEAD, w->codec, 0, 1);

	if (packed <= 0)
		turns_die("libblosc does not pack");
	w->result.packed[1] = (size_t)packed;
}

static void decode_theirs(void *arg)
{
	struct work *w = arg;
	if (blosc_decompress_ctx(w->packed[1], w->back, w->size, 1) != (int)w->size)
		turns_die("libblosc does not unpack");
}

/* libblosc takes a wish for a block size, not an order: so it chooses, and we follow. */
static void follow_block_size(struct work *w)
{
	encode_theirs(w);
	w->recipe.block_size = bpk_get_le32(w->packed[1] + 8);
}
#else
static void encode_theirs(void *arg)
{
	(void)arg;
}

static void decode_theirs(void *arg)
{
	(void)arg;
}

static void follow_block_size(struct work *w)
{
	w->recipe.block_size = 0;
}
#endif

static void print_row(const struct work *w, const char *data)
{
	const struct result *r = &w->result;
	double mb = (double)w->size / 1e6, raw = (double)w->size;

	printf("%-14s %-7s %u  %9.3f", data, w->codec, w->recipe.level, raw / (double)r->packed[0]);
#ifdef HAVE_BLOSC
	printf(" %9.3f", raw / (double)r->packed[1]);
#endif
	printf("  %7.0f", mb / r->encode[0]);
#ifdef HAVE_BLOSC
	printf(" %7.0f %5.2fx", mb / r->encode[1], r->encode_gain);
#endif
	printf("  %7.0f", mb / r->decode[0]);
#ifdef HAVE_BLOSC
	printf(" %7.0f %5.2fx", mb / r->decode[1], r->decode_gain);
#endif
	putchar('\n');
	fflush(stdout);
}

static void measure(struct work *w, const struct options *o, const struct bench_data *data)
{
	struct result *r = &w->result;

	w->recipe.codec = bpk_codec_find(w->codec);
	w->recipe.typesize = data->typesize;
	w->recipe.pipeline = bpk_pipeline_of(o->filter);
	follow_block_size(w);
	turns_run(o->rounds, encode_ours, encode_theirs, w, r->encode, &r->encode_gain);
	turns_run(o->rounds, decode_ours, decode_theirs, w, r->decode, &r->decode_gain);
	if (memcmp(w->raw, w->back, w->size) != 0)
		turns_die("other bytes come back");
	print_row(w, data->name);
}

static void add(struct mean *mean, const struct result *r)
{
#ifdef HAVE_BLOSC
	mean->encode += log(r->encode_gain);
	mean->decode += log(r->decode_gain);
	mean->size += log((double)r->packed[0] / (double)r->packed[1]);
	mean->n++;
#else
	(void)mean, (void)r;
#endif
}

static void print_mean(const char *codec, unsigned level, const char *of, const struct mean *m)
{
	if (m->n > 0)
		printf("= %-7s %u %-14s encode %5.2fx  decode %5.2fx  size %6.3f\n", codec, level,
		       of, exp(m->encode / m->n), exp(m->decode / m->n), exp(m->size / m->n));
}

/* Widths for which libblosc shuffles byte by byte. */
static bool is_odd(unsigned typesize)
{
	return typesize == 3 || (typesize >= 5 && typesize <= 7) ||
	       (typesize >= 9 && typesize <= 15);
}

static void run(struct work *w, const struct options *o, struct mean *all)
{
	struct mean even = { 0 }, odd = { 0 };
	const struct bench_data *data;

	for (size_t i = 0; (data = bench_data_at(i)) != NULL; i++) {
		if (o->data != NULL && strcmp(o->data, data->name) != 0)
			continue;
		if (bench_data_make(data->name, 1, w->size, w->raw) != 0)
			turns_die("no data");
		measure(w, o, data);
		add(is_odd(data->typesize) ? &odd : &even, &w->result);
		add(all, &w->result);
	}
	print_mean(w->codec, w->recipe.level, "usual widths", &even);
	print_mean(w->codec, w->recipe.level, "odd widths", &odd);
}

static struct options parse(int argc, char **argv)
{
	struct options o = { 4 << 20, 7, NULL, "15", NULL, BPK_FILTER_SHUFFLE };
	struct bpk_pipeline pipeline;
	int c;

	while ((c = getopt(argc, argv, "s:r:c:l:f:d:")) != -1)
		switch (c) {
		case 's':
			o.size = (size_t)strtoul(optarg, NULL, 10) << 20;
			break;
		case 'r':
			o.rounds = (unsigned)strtoul(optarg, NULL, 10);
			break;
		case 'c':
			o.codec = optarg;
			break;
		case 'l':
			o.levels = optarg;
			break;
		case 'd':
			o.data = optarg;
			break;
		case 'f':
			if (bpk_pipeline_parse(optarg, &pipeline, NULL) != 0 ||
			    !bpk_pipeline_is_plain(&pipeline))
				turns_die("no such filter");
			o.filter = pipeline.nsteps > 0 ? pipeline.steps[0].filter : BPK_FILTER_NONE;
			break;
		default:
			turns_die("usage: bench-chunk [-s MIB] [-r ROUNDS] [-c CODEC] [-l LEVELS] "
				  "[-f FILTER] [-d DATA]");
		}
	if (o.size < 1 || o.size > LARGEST || o.rounds < 1 || o.rounds > TURNS_MAX)
		turns_die("a size or number of rounds out of range");
	return o;
}

int main(int argc, char **argv)
{
	struct options o = parse(argc, argv);
	struct work w = { .ctx = bpk_chunk_ctx_new(NULL), .size = o.size };
	const struct bpk_codec *codec;

	if (w.ctx == NULL)
		turns_die("no memory");
	w.raw = turns_allocate(o.size);
	w.back = turns_allocate(o.size);
	w.packed[0] = turns_allocate(bpk_chunk_bound(o.size));
	w.packed[1] = turns_allocate(bpk_chunk_bound(o.size));
	printf("# %zu MiB, filter %s, kernels %s, one thread; ratio, encode MB/s, decode MB/s",
	       o.size >> 20, bpk_filter_name(o.filter), bpk_chunk_simd());
#ifdef HAVE_BLOSC
	printf(": ours, libblosc %s, gain", blosc_get_version_string());
#endif
	putchar('\n');
	for (size_t i = 0; (codec = bpk_codec_at(i)) != NULL; i++) {
		struct mean all = { 0 };

		w.codec = bpk_codec_name(codec);
		if (o.codec != NULL && strcmp(o.codec, w.codec) != 0)
			continue;
		for (const char *level = o.levels; *level != '\0'; level++) {
			w.recipe.level = (unsigned)(*level - '0') % 10;
			run(&w, &o, &all);
		}
		print_mean(w.codec, w.recipe.level, "all", &all);
	}
	bpk_chunk_ctx_free(w.ctx);
	free(w.raw);
	free(w.back);
	free(w.packed[0]);
	free(w.packed[1]);
	return 0;
}
