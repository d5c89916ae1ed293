/*
 * Every constant that decides something: one line each, and the measurements behind them.
 * Percentages are of packed sizes unless a line says more; benches are in tests/bench. Included by
 * the files of choose alone.
 *
 * The cost of a recipe is the packed size and, in thousandths, the gain that a slower recipe must
 * bring (race.c):
 *
 *      shuffle over none            2    bitshuffle over none       8
 *      delta, bytedelta             3    filters for each chunk    10
 *      level 2 over level 1        10    level 3 over level 2      50
 *      a prediction by value       20
 *      chunks of 4 over 1 MiB      50
 *
 * The choice is at most 1% larger than the best single recipe of the same level, 2% for mixtures,
 * as far as samples show (tests/bench/bench-choice).
 *
 * The levels, measured with 1 MiB blocks on one thread (ratio at MB/s; zstd -3 runs at 70 to 150
 * MB/s there, and is larger in every row but the last):
 *
 *      data                        level 1        level 2        level 3
 *      turbulence f64, shuffle     1.195 1860     1.201  900     1.212  570
 *      sorted i64, shuffle         5.30  1830     5.68  1530     5.82   880
 *      records of 20, bitshuffle   3.60  1630     3.72  1630     3.74   700
 *      positions, bitshuffle       1.488 1250     1.497  960     1.514  400
 *      text                        2.890  370     3.040  230     3.080  140
 *
 * Level 2 is within 3% of level 3 at twice its speed, so trials start from it. Level 1 is chosen if
 * level 2 gains nothing, level 3 if it gains much.
 *
 * The other codecs have level 5, as in Blosc: their lower levels find few matches. Their windows
 * are short, so large chunks gain nothing for them.
 *
 * The filters, at level 1 on one thread in extended chunks (ratio, packed and unpacked at MB/s):
 *
 *      data              shuffle             bitshuffle          shuffle,bytedelta
 *      turbulence f32    1.244  920 2630     1.251 1030 2160     1.261  730 1420
 *      sorted i64        5.30  1300 5450     5.08  1880 3340     6.43  1420 3560
 *      records of 20     3.40   900 2190     3.54  1090 2110     3.89   790 1790
 *      records of 7      5.19  1010 2670     5.59  1450 2610     6.89   830 1970
 *
 * A block is a whole chunk of 1 MiB: against the 256 KiB of other writers it is packed up to a
 * third faster and some percent smaller (longer planes, fewer streams), and still fits the cache.
 * This holds for frames, too: with blocks of 512 KiB c-blosc2 takes 2% less time (7% with 256 KiB),
 * bpk itself 10% more, and archives are up to 0.8% larger (2% with 256 KiB).
 */
#ifndef BPK_CHOOSE_TUNING_H
#define BPK_CHOOSE_TUNING_H

#include "choose/sample.h"

/*
 * A percentage below is the growth of the set that grows most if the constant is removed, halved or
 * doubled (bench-choice and bench-structure, blp and b2frame). Instructions are those of choosing,
 * counted by callgrind; such a constant changes no size.
 */

/* ---- Sampling ---- */

enum {
	PIECES = 2,        /* where all looks alike; 1: 10%, 4: 6% (several.npz) and more time */
	WINDOW = 2 << 20,  /* the window, and the least input for cuts; half: 229% */
	PROBES = 32,       /* places that are compared to find groups; half: 0.5% */
	GROUP_SCATTER = 4, /* percent of bytes by which like regions differ; 0: 38%, 8: 10% */
	GROUP_SHARE = 30,  /* or percent of matches; 0: 10%, 60: 10% */
	REPEAT_RUNS = 16,  /* of look-ups for repeats; 4: 9% (hoomd-2000.gsd) */
	REPEAT_SIZE = 192, /* bytes of a repeat; 8: 38%, since prose repeats words */
};

/* ---- Candidates ---- */

enum {
	LAG_CLEAR = 20,   /* one match in so many bytes is a lag; 10: 40% (hoomd-2000, --plain) */
	GROUP_UNLIKE = 2, /* percent that a group must gain by filters of its own; 4: 0.3% */
};

/* ---- Cost, in thousandths: bench-choice and the table above ---- */

enum {
	LEVELS = 4,      /* of Zstd that have their own cost */
	VALUE_COST = 20, /* of a prediction by value: it unpacks more slowly than one by rank */
};

/* ---- Races ---- */

enum {
	NEARLY = 4,            /* percent behind on pieces: races on a run; 0: 11%, 2: 10% */
	RACED = 3,             /* recipes in such a race at most; 1: 11%, 2: 0.5% */
	RACED_MORE = 6,        /* if pieces tell too little; 3: 13% (hoomd-2000.gsd) */
	SHORT_RUN = 256 << 10, /* bytes of a group's run; half: 3%, twice: 37% */
	RUN_SHARE = 2,         /* of the window is a run; 4: 1.7% */
	KIND_RUN_SHARE = 24,   /* of the bytes of one kind is a run; 48: 0.2% */
	INCOMPRESSIBLE = 98,   /* percent: no race; without: 125% more instructions (noise) */
	ZEROS = 400,           /* nor below one byte in that many; without: 37% more (zeros) */
	DENSE = 16,            /* from one byte in that many pieces show how pieces begin; 32: 3% */
	GROUP_SIZES = 2,       /* of elements that race on runs of groups; 1: 18% (mesh-i32) */
	GROUP_WORTH = 10,      /* thousandths that a second list of filters gains; 0: 6%, 20: 10% */
	CHUNK_PIECE = 16 << 10,      /* two of a chunk are packed with each candidate */
	CHUNK_LONG_PIECE = 64 << 10, /* and two of this with the nearest; half: 1% */
	CHUNK_NEAR = 15,             /* percent behind on the short ones is near; 0: 2.4% */
};

/* ---- Levels and chunks ---- */

enum {
	SCREEN_LEVEL = 1, /* three levels of Zstd: the table above */
	BPK_DEFAULT_LEVEL = 2,
	BPK_HIGH_LEVEL = 3,
	BPK_SMALLEST_LEVEL = 9, /* no other packs smaller: no trial is needed */
	BPK_OTHER_LEVEL = 5,    /* of the other codecs, as Blosc packs */
	LEVEL_PROMISING = 2,    /* percent that level 2 brings, or level 3 is not tried; 4: 7% */
	BPK_TEXT_LEVEL = 5,     /* of unfiltered text: zstd -9 in size and time (zstd.c) */
	TEXT_GAIN = 2,          /* percent that it must bring; 0: 5 times the time for 0.3% (CSV) */
	BPK_CHUNK = 1 << 20,    /* fits the cache: up to a third faster than 256 KiB */
	BPK_LARGE_CHUNK = 4 << 20,
	LARGE_CHUNK_GAIN = 5, /* percent that large chunks must gain; 10: 9% (hoomd-2000.gsd) */
};

/* ---- Zones and cuts: bench-structure ---- */

enum {
	/* bytes of a zone; fewer belong to their surroundings; twice: 0.8% */
	ZONE_LEAST = 16 << 10,
	/* bytes of an average array; smaller are not listed. For time alone: packing 50,000 arrays
	 * of 40 bytes takes 2.6 times as long without it */
	ZONE_LEAST_ARRAY = 1 << 10,
	SHORT_ZONE = 8, /* so many zones in a chunk are not cut; 1: 0.9%, no limit: 202% */
};

/* ---- Many small inputs: sets cut into files of one size ---- */

enum {
	/* bytes of an input that may get the choice of another. Files of 20 and 100 KB grow by 0.5%
	 * at most, of 700 KB by up to 2% (mesh-i32), and there trials cost less than packing */
	KNOWN_MOST = 256 << 10,
};

/* ---- Prediction: bench-predict ---- */

enum {
	KEY_FRAMES = 16,               /* frames in a chunk: the most that unpack for one, */
	PREDICT_LEAST_CHUNK = 4 << 20, /* or as many as fill this, unless the user says; half: 4% */
	/* and no more than fill this, except that a chunk has at least two */
	PREDICT_MOST_CHUNK = 64 << 20,
	GRID_NAMES = 32,          /* names of arrays that may be frames */
	GRID_MOST_COMPONENTS = 4, /* of one point: such a last dimension is no stride; 2: 57% */
};

#endif
