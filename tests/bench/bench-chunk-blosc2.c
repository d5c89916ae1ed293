/*
 * One Blosc2 chunk packed and unpacked in memory on one thread, beside the c-blosc2 that
 * BPK_CBLOSC2 names: the same codec, level, pipeline, element and block size, in turns.
 *
 *   bench-chunk-blosc2 [-s MIB] [-r ROUNDS] [-c CODEC] [-l LEVELS] [-f PIPELINE] [-d DATA]
 *                      [-b BLOCK]
 *
 * CODEC, DATA and PIPELINE select one; LEVELS is a row of digits, such as 159; BLOCK is the block
 * size, ours unless given. Ratios over 1 are in our favour.
 */
#include "bench/data.h"
#include "bench/turns.h"
#include "chunk/chunk.h"

#include <dlfcn.h>
#include <unistd.h>

enum { LARGEST = 1 << 30 };

/* c-blosc2's parameters as its 2.x and 3.x headers lay them out, and the calls that take them. */
struct cparams {
	uint8_t codec, codec_meta, level;
	int use_dict;
	int32_t typesize;
	int16_t nthreads;
	int32_t blocksize, splitmode;
	void *schunk;
	uint8_t filters[BPK_CHUNK_MAX_FILTERS], metas[BPK_CHUNK_MAX_FILTERS];
	void *prefilter, *preparams, *tuner_params;
	int tuner_id;
	bool instr_codec;
	void *codec_params, *filter_params[BPK_CHUNK_MAX_FILTERS];
};

struct dparams {
	int16_t nthreads;
	void *schunk, *postfilter, *postparams;
	int32_t typesize;
};

static struct {
	void (*init)(void);
	const char *(*version)(void);
	struct cparams (*cparams)(void);
	void *(*create_cctx)(struct cparams cparams);
	void *(*create_dctx)(struct dparams dparams);
	void (*free_ctx)(void *context);
	int (*compress)(void *context, const void *src, int32_t srcsize, void *dest,
			int32_t destsize);
	int (*decompress)(void *context, const void *src, int32_t srcsize, void *dest,
			  int32_t destsize);
} cblosc2;

struct options {
	size_t size;
	unsigned rounds;
	const char *codec, *levels, *data, *pipeline;
	uint32_t block_size;
};

/* Times in seconds and packed sizes, ours first. */
struct result {
	size_t packed[2];
	double encode[2], decode[2];
	double encode_gain, decode_gain; /* medians of theirs / ours, round by round */
};

struct work {
	struct bpk_chunk_ctx *ctx;
	void *cctx, *dctx;
	uint8_t *raw, *packed[2], *back;
	size_t size;
	struct bpk_recipe recipe;
	struct result result;
};

/* Products of gains, for geometric means. */
struct mean {
	double encode, decode, size;
	unsigned n;
};

static void find(void *library, const char *name, void *function)
{
	void *found = dlsym(library, name);

	if (found == NULL)
		turns_die(name);
	*(void **)function = found;
}

static void open_cblosc2(void)
{
	const char *prefix = getenv("BPK_CBLOSC2");
	char path[4096];
	void *library;

	snprintf(path, sizeof path, "%s/lib/libblosc2.so", prefix == NULL ? "" : prefix);
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (library == NULL)
		turns_die("BPK_CBLOSC2 names no installed c-blosc2");
	find(library, "blosc2_init", &cblosc2.init);
	find(library, "blosc2_get_version_string", &cblosc2.version);
	find(library, "blosc2_get_blosc2_cparams_defaults", &cblosc2.cparams);
	find(library, "blosc2_create_cctx", &cblosc2.create_cctx);
	find(library, "blosc2_create_dctx", &cblosc2.create_dctx);
	find(library, "blosc2_free_ctx", &cblosc2.free_ctx);
	find(library, "blosc2_compress_ctx", &cblosc2.compress);
	find(library, "blosc2_decompress_ctx", &cblosc2.decompress);
	cblosc2.init();
}

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

static void encode_theirs(void *arg)
{
	struct work *w = arg;
	int packed = cblosc2.compress(w->cctx, w->raw, (int32_t)w->size, w->packed[1],
				      (int32_t)bpk_chunk_bound(w->size));

	w->result.packed[1] = packed > 0 ? (size_t)packed : 0;
}

static void decode_theirs(void *arg)
{
	struct work *w = arg;

	if (cblosc2.decompress(w->dctx, w->packed[1], (int32_t)w->result.packed[1], w->back,
			       (int32_t)w->size) != (int)w->size)
		turns_die("c-blosc2 does not unpack");
}

/* Contexts of theirs for our recipe; false when they know no such pipeline. */
static bool open_theirs(struct work *w)
{
	struct cparams params = cblosc2.cparams();
	const struct bpk_pipeline *pipeline = &w->recipe.pipeline;
	unsigned first = BPK_CHUNK_MAX_FILTERS - pipeline->nsteps;
	struct dparams dparams = { .nthreads = 1 };

	params.codec = (uint8_t)bpk_codec_code(w->recipe.codec);
	params.level = (uint8_t)w->recipe.level;
	params.typesize = (int32_t)w->recipe.typesize;
	params.nthreads = 1;
	params.blocksize = (int32_t)w->recipe.block_size;
	memset(params.filters, 0, sizeof params.filters);
	for (unsigned i = 0; i < pipeline->nsteps; i++) {
		params.filters[first + i] = pipeline->steps[i].filter;
		params.metas[first + i] = pipeline->steps[i].meta;
		if (pipeline->steps[i].filter == BPK_FILTER_BYTEDELTA &&
		    pipeline->steps[i].meta == 0)
			params.metas[first + i] = (uint8_t)w->recipe.typesize;
	}
	w->cctx = cblosc2.create_cctx(params);
	w->dctx = cblosc2.create_dctx(dparams);
	if (w->cctx == NULL || w->dctx == NULL)
		turns_die("c-blosc2 makes no contexts");
	encode_theirs(w);
	return w->result.packed[1] > 0;
}

static void print_row(const struct work *w, const char *data)
{
	const struct result *r = &w->result;
	double mb = (double)w->size / 1e6, raw = (double)w->size;

	printf("%-14s %-7s %u  %9.3f %9.3f  %7.0f %7.0f %5.2fx  %7.0f %7.0f %5.2fx\n", data,
	       bpk_codec_name(w->recipe.codec), w->recipe.level, raw / (double)r->packed[0],
	       raw / (double)r->packed[1], mb / r->encode[0], mb / r->encode[1], r->encode_gain,
	       mb / r->decode[0], mb / r->decode[1], r->decode_gain);
	fflush(stdout);
}

static void add(struct mean *mean, const struct result *r)
{
	mean->encode += log(r->encode_gain);
	mean->decode += log(r->decode_gain);
	mean->size += log((double)r->packed[1] / (double)r->packed[0]);
	mean->n++;
}

static void print_mean(const char *of, const struct mean *m)
{
	if (m->n > 0)
		printf("= %-16s encode %5.2fx  decode %5.2fx  size %6.3f  (%u rows)\n", of,
		       exp(m->encode / m->n), exp(m->decode / m->n), exp(m->size / m->n), m->n);
}

static void measure(struct work *w, const struct options *o, const struct bench_data *data,
		    struct mean *mean)
{
	struct result *r = &w->result;

	w->recipe.typesize = data->typesize;
	w->recipe.block_size = o->block_size;
	if (bench_data_make(data->name, 1, w->size, w->raw) != 0)
		turns_die("no data");
	encode_ours(w);
	w->recipe.block_size = bpk_get_le32(w->packed[0] + 8);
	if (open_theirs(w)) {
		turns_run(o->rounds, encode_ours, encode_theirs, w, r->encode, &r->encode_gain);
		turns_run(o->rounds, decode_ours, decode_theirs, w, r->decode, &r->decode_gain);
		decode_ours(w);
		if (memcmp(w->raw, w->back, w->size) != 0)
			turns_die("other bytes come back");
		print_row(w, data->name);
		add(mean, r);
	} else {
		printf("%-14s c-blosc2 does not pack it\n", data->name);
	}
	cblosc2.free_ctx(w->cctx);
	cblosc2.free_ctx(w->dctx);
}

static void take_sum(struct mean *all, const struct mean *part)
{
	all->encode += part->encode;
	all->decode += part->decode;
	all->size += part->size;
	all->n += part->n;
}

/* One codec at all levels, over all data. */
static void run_codec(struct work *w, const struct options *o, struct mean *all)
{
	const struct bench_data *data;
	struct mean mean = { 0 };

	for (const char *level = o->levels; *level != '\0'; level++) {
		w->recipe.level = (unsigned)(*level - '0') % 10;
		for (size_t i = 0; (data = bench_data_at(i)) != NULL; i++)
			if (o->data == NULL || strcmp(o->data, data->name) == 0)
				measure(w, o, data, &mean);
	}
	print_mean(bpk_codec_name(w->recipe.codec), &mean);
	take_sum(all, &mean);
}

static void run_pipeline(struct work *w, const struct options *o, const char *text,
			 struct mean *all)
{
	const struct bpk_codec *codec;
	struct mean mean = { 0 };

	if (bpk_pipeline_parse(text, &w->recipe.pipeline, NULL) != 0)
		turns_die("no such pipeline");
	printf("# %s\n", text);
	for (size_t i = 0; (codec = bpk_codec_at(i)) != NULL; i++) {
		w->recipe.codec = codec;
		/* Blosc2 has no Snappy */
		if (strcmp(bpk_codec_name(codec), "snappy") != 0 &&
		    (o->codec == NULL || strcmp(o->codec, bpk_codec_name(codec)) == 0))
			run_codec(w, o, &mean);
	}
	print_mean(text, &mean);
	take_sum(all, &mean);
}

static struct options parse(int argc, char **argv)
{
	struct options o = { 4 << 20, 7, NULL, "15", NULL, NULL, 0 };
	int c;

	while ((c = getopt(argc, argv, "s:r:c:l:f:d:b:")) != -1)
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
		case 'f':
			o.pipeline = optarg;
			break;
		case 'd':
			o.data = optarg;
			break;
		case 'b':
			o.block_size = (uint32_t)strtoul(optarg, NULL, 10);
			break;
		default:
			turns_die("usage: bench-chunk-blosc2 [-s MIB] [-r ROUNDS] [-c CODEC] [-l "
				  "LEVELS] "
				  "[-f PIPELINE] [-d DATA] [-b BLOCK]");
		}
	if (o.size < 1 || o.size > LARGEST || o.rounds < 1 || o.rounds > TURNS_MAX)
		turns_die("a size or number of rounds out of range");
	return o;
}

int main(int argc, char **argv)
{
	static const char *const pipelines[] = { "shuffle", "bitshuffle", "none", "delta,shuffle",
						 "shuffle,bytedelta" };
	struct options o = parse(argc, argv);
	struct work w = { .ctx = bpk_chunk_ctx_new(NULL),
			  .size = o.size,
			  .recipe = { .extended = true } };
	struct mean all = { 0 };

	open_cblosc2();
	if (w.ctx == NULL)
		turns_die("no memory");
	w.raw = turns_allocate(o.size);
	w.back = turns_allocate(o.size);
	w.packed[0] = turns_allocate(bpk_chunk_bound(o.size));
	w.packed[1] = turns_allocate(bpk_chunk_bound(o.size));
	printf("# %zu MiB, kernels %s, one thread; ours, c-blosc2 %s: ratio, encode MB/s, decode "
	       "MB/s\n",
	       o.size >> 20, bpk_chunk_simd(), cblosc2.version());
	if (o.pipeline != NULL)
		run_pipeline(&w, &o, o.pipeline, &all);
	for (size_t i = 0; o.pipeline == NULL && i < sizeof pipelines / sizeof *pipelines; i++)
		run_pipeline(&w, &o, pipelines[i], &all);
	print_mean("all", &all);
	bpk_chunk_ctx_free(w.ctx);
	free(w.raw);
	free(w.back);
	free(w.packed[0]);
	free(w.packed[1]);
	return 0;
}
