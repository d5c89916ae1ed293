/*
 * One codec on single streams: ratio and speed at every level, beside libblosc where it is
 * installed: bench-codecs [-v] [-c CODEC] [SET...]. The codec is BloscLZ unless named. A set is
 * measured as it is (name) and in byte planes (name/p), cut into streams of 128 KiB. -v adds a
 * line for each set to the geometric means. libblosc works through a chunk of one block without a
 * filter.
 */
#include "bench/data.h"
#include "chunk/chunk.h"
#include "chunk/codec/codec.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#ifdef HAVE_BLOSC
#include <blosc.h>
#endif

enum {
	STREAM = 128 << 10,
	STREAMS = 8,
	ROOM = STREAM + STREAM / 4, /* libblosc stores a stream if Snappy has too little room */
	ROUNDS = 5,
	MAX_SETS = 64,
};

/* One side's way through one set at one level. */
struct result {
	double encode_seconds;
	double decode_seconds;
	size_t packed_size;
};

/* A set cut into streams, and one side's result for each. */
struct work {
	const struct bpk_codec *codec;
	struct bpk_codec_ctx *ctx;
	uint8_t *raw;
	uint8_t *back;
	uint8_t *packed[STREAMS];
	size_t packed_size[STREAMS];
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void check(int ok, const char *what)
{
	if (!ok) {
		fprintf(stderr, "bench-codecs: %s\n", what);
		exit(1);
	}
}

/* Stored raw where it does not shrink, as a chunk would have it. */
static void encode_own(struct work *w, int i, unsigned level)
{
	const uint8_t *raw = w->raw + (size_t)i * STREAM;
	int rc = w->codec->encode(w->ctx, level, bpk_view(raw, STREAM),
				  bpk_span(w->packed[i], STREAM - 1), &w->packed_size[i], NULL);

	check(rc == 0, "encode failed");
	if (w->packed_size[i] == 0) {
		memcpy(w->packed[i], raw, STREAM);
		w->packed_size[i] = STREAM;
	}
}

static void decode_own(struct work *w, int i, unsigned level)
{
	uint8_t *back = w->back + (size_t)i * STREAM;

	(void)level;
	if (w->packed_size[i] == STREAM)
		memcpy(back, w->packed[i], STREAM);
	else
		check(w->codec->decode(w->ctx, bpk_view(w->packed[i], w->packed_size[i]),
				       bpk_span(back, STREAM), NULL) == 0,
		      "decode failed");
}

#ifdef HAVE_BLOSC
static void encode_blosc(struct work *w, int i, unsigned level)
{
	int n = blosc_compress_ctx((int)level, BLOSC_NOSHUFFLE, 1, STREAM,
				   w->raw + (size_t)i * STREAM, w->packed[i], ROOM, w->codec->name,
				   STREAM, 1);

	check(n > 0, "blosc_compress_ctx failed");
	w->packed_size[i] = (size_t)n;
}

static void decode_blosc(struct work *w, int i, unsigned level)
{
	(void)level;
	check(blosc_decompress_ctx(w->packed[i], w->back + (size_t)i * STREAM, STREAM, 1) == STREAM,
	      "blosc_decompress_ctx failed");
}
#endif

static double seconds(struct work *w, unsigned level, void (*step)(struct work *, int, unsigned))
{
	double start = now();

	for (int i = 0; i < STREAMS; i++)
		step(w, i, level);
	return now() - start;
}

/* The fastest of ROUNDS is kept in *result. */
static void measure(struct work *w, unsigned level, struct result *result,
		    void (*encode)(struct work *, int, unsigned),
		    void (*decode)(struct work *, int, unsigned))
{
	double encode_seconds = seconds(w, level, encode);
	double decode_seconds = seconds(w, level, decode);

	check(memcmp(w->raw, w->back, STREAMS * STREAM) == 0, "round trip failed");
	result->packed_size = 0;
	for (int i = 0; i < STREAMS; i++)
		result->packed_size += w->packed_size[i];
	result->encode_seconds = fmin(result->encode_seconds, encode_seconds);
	result->decode_seconds = fmin(result->decode_seconds, decode_seconds);
}

/* Fill w->raw; streams of planes are taken evenly over the element's bytes. */
static void load(struct work *w, const struct bench_data *set, bool planes)
{
	size_t typesize = set->typesize;
	uint8_t *all = malloc(typesize * STREAM);

	check(all != NULL, "no memory");
	if (!planes) {
		check(bench_data_make(set->name, 1, STREAMS * STREAM, w->raw) == 0, "no set");
	} else {
		check(bench_data_make(set->name, 1, typesize * STREAM, all) == 0, "no set");
		for (size_t i = 0; i < STREAMS; i++)
			for (size_t k = 0; k < STREAM; k++)
				w->raw[i * STREAM + k] = all[k * typesize + i % typesize];
	}
	free(all);
}

struct mean {
	/* sums of logarithms */
	double encode_own, decode_own, size_own, encode_other, decode_other, size_other;
	unsigned count;
};

static void add(struct mean *m, const struct result *own, const struct result *other)
{
	m->encode_own += log(own->encode_seconds);
	m->decode_own += log(own->decode_seconds);
	m->size_own += log((double)own->packed_size);
	m->encode_other += log(other->encode_seconds);
	m->decode_other += log(other->decode_seconds);
	m->size_other += log((double)other->packed_size);
	m->count++;
}

static void line(const char *name, unsigned level, const struct result *own,
		 const struct result *other)
{
	const double size = (double)STREAMS * STREAM;

	printf("%-16s %u %8.3f %8.0f %8.0f", name, level, size / (double)own->packed_size,
	       size / own->encode_seconds / 1e6, size / own->decode_seconds / 1e6);
	if (other->packed_size > 0)
		printf(" | %8.3f %8.0f %8.0f | %6.3f %6.2f %6.2f",
		       size / (double)other->packed_size, size / other->encode_seconds / 1e6,
		       size / other->decode_seconds / 1e6,
		       (double)other->packed_size / (double)own->packed_size,
		       other->encode_seconds / own->encode_seconds,
		       other->decode_seconds / own->decode_seconds);
	putchar('\n');
}

static void run_set(struct work *w, const char *name, bool verbose, struct mean means[10])
{
	for (unsigned level = 1; level <= 9; level++) {
		struct result own = { 1e9, 1e9, 0 }, other = { 1e9, 1e9, 0 };

		for (int round = 0; round < ROUNDS; round++) {
			measure(w, level, &own, encode_own, decode_own);
#ifdef HAVE_BLOSC
			measure(w, level, &other, encode_blosc, decode_blosc);
#endif
		}
		if (verbose)
			line(name, level, &own, &other);
		add(&means[level], &own, &other);
	}
}

static void print_means(const struct mean means[10])
{
	for (unsigned level = 1; level <= 9; level++) {
		const struct mean *m = &means[level];
		const double n = m->count;
		const struct result own = { exp(m->encode_own / n), exp(m->decode_own / n),
					    (size_t)exp(m->size_own / n) };
		struct result other = { exp(m->encode_other / n), exp(m->decode_other / n), 0 };

#ifdef HAVE_BLOSC
		other.packed_size = (size_t)exp(m->size_other / n);
#endif
		line("geometric mean", level, &own, &other);
	}
}

static bool wanted(const char *name, int argc, char **argv, int first)
{
	for (int i = first; i < argc; i++)
		if (strcmp(argv[i], name) == 0)
			return true;
	return first == argc;
}

int main(int argc, char **argv)
{
	bool verbose = false;
	struct mean means[10] = { 0 };
	const struct bench_data *set;
	struct work w = { .codec = bpk_codec_find("blosclz"),
			  .ctx = bpk_codec_ctx_new(NULL),
			  .raw = malloc(STREAMS * STREAM),
			  .back = malloc(STREAMS * STREAM) };

	for (int c; (c = getopt(argc, argv, "vc:")) != -1;) {
		check(c != '?', "usage: bench-codecs [-v] [-c CODEC] [SET...]");
		if (c == 'v')
			verbose = true;
		else
			w.codec = bpk_codec_find(optarg);
	}
	check(w.codec != NULL, "no such codec");
	check(w.ctx != NULL && w.raw != NULL && w.back != NULL, "no memory");
	for (int i = 0; i < STREAMS; i++) {
		w.packed[i] = malloc(ROOM);
		check(w.packed[i] != NULL, "no memory");
	}
	printf("%-16s L    ratio   enc MB/s dec MB/s | libblosc: the same       | gain: ratio enc "
	       "dec\n",
	       "set");
	for (size_t i = 0; (set = bench_data_at(i)) != NULL; i++) {
		char name[64];

		snprintf(name, sizeof name, "%s/p", set->name);
		if (wanted(set->name, argc, argv, optind)) {
			load(&w, set, false);
			run_set(&w, set->name, verbose, means);
		}
		if (set->typesize > 1 && wanted(name, argc, argv, optind)) {
			load(&w, set, true);
			run_set(&w, name, verbose, means);
		}
	}
	if (means[1].count > 0)
		print_means(means);
	for (int i = 0; i < STREAMS; i++)
		free(w.packed[i]);
	free(w.raw);
	free(w.back);
	bpk_codec_ctx_free(w.ctx);
	return 0;
}
