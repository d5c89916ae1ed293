/*
 * Byte permutations for lanes.h. Included by neon.c, ssse3.c, avx2.c and avx512.c. A slot of SLOT
 * bytes holds k elements of typesize t, where k = SLOT / (t rounded up to a power of two). One row
 * for each t of 2 .. 16:
 *
 *   left     the elements begin at the slot's start: gather byte j of all k at k*j (k > 1). For
 *            k == 1, move the element to the slot's end.
 *   right    the same for elements that end at the slot's end
 *   compact  the inverse of left without the gaps: k*t bytes in their final order
 *   tail     from two slots before compacting (the second one counted from SLOT on), the last SLOT
 *            of their 2*k*t bytes in final order
 *
 * FAR marks unused bytes: its bit 7 makes byte shuffles of 16 bytes give 0.
 */
#ifndef BPK_CHUNK_FILTER_PLACES_H
#define BPK_CHUNK_FILTER_PLACES_H

#define FAR            0x80
#define PLACES_L(t)    ((t) <= 2 ? 2 : (t) <= 4 ? 4 : (t) <= 8 ? 8 : 16)
#define PLACES_K(t, s) ((s) / PLACES_L(t))
/* bytes of the slot that the elements leave free */
#define PLACES_FREE(t, s) ((s)-PLACES_K(t, s) * (t))

#define PLACES_GATHER(t, s, p, from)                                                               \
	((p) / PLACES_K(t, s) < (t) ? (p) % PLACES_K(t, s) * (t) + (p) / PLACES_K(t, s) + (from)   \
				    : FAR)
#define PLACES_LEFT(t, s, p)                                                                       \
	(PLACES_K(t, s) > 1         ? PLACES_GATHER(t, s, p, 0)                                    \
	 : (p) >= PLACES_FREE(t, s) ? (p)-PLACES_FREE(t, s)                                        \
				    : FAR)
#define PLACES_RIGHT(t, s, p) PLACES_GATHER(t, s, p, PLACES_FREE(t, s))
#define PLACES_COMPACT(t, s, p)                                                                    \
	((p) < PLACES_K(t, s) * (t) ? (p) % (t)*PLACES_K(t, s) + (p) / (t) : FAR)
/* byte p of the tail is byte p + k*t - FREE of the pair of compacted slots */
#define PLACES_TAIL(t, s, p)                                                                       \
	((p) < PLACES_FREE(t, s)                                                                   \
		 ? PLACES_COMPACT(t, s, (p) + PLACES_K(t, s) * (t)-PLACES_FREE(t, s))              \
		 : (s) + PLACES_COMPACT(t, s, (p)-PLACES_FREE(t, s)))

#define PLACES_4(f, t, s, p) f(t, s, p), f(t, s, p + 1), f(t, s, p + 2), f(t, s, p + 3)
#define PLACES_16(f, t, s, p)                                                                      \
	PLACES_4(f, t, s, p), PLACES_4(f, t, s, p + 4), PLACES_4(f, t, s, p + 8),                  \
		PLACES_4(f, t, s, p + 12)
#define PLACES_64(f, t, s, p)                                                                      \
	PLACES_16(f, t, s, p), PLACES_16(f, t, s, p + 16), PLACES_16(f, t, s, p + 32),             \
		PLACES_16(f, t, s, p + 48)

#define PLACES_ROW(n, t)                                                                           \
	[t] = { { PLACES_##n(PLACES_LEFT, t, n, 0) },                                              \
		{ PLACES_##n(PLACES_RIGHT, t, n, 0) },                                             \
		{ PLACES_##n(PLACES_COMPACT, t, n, 0) },                                           \
		{ PLACES_##n(PLACES_TAIL, t, n, 0) } }

/* The initializer of an array struct places[17] for slots of n (16 or 64, literal) bytes. */
#define PLACES_TABLE(n)                                                                            \
	{                                                                                          \
		PLACES_ROW(n, 2), PLACES_ROW(n, 3), PLACES_ROW(n, 4), PLACES_ROW(n, 5),            \
			PLACES_ROW(n, 6), PLACES_ROW(n, 7), PLACES_ROW(n, 8), PLACES_ROW(n, 9),    \
			PLACES_ROW(n, 10), PLACES_ROW(n, 11), PLACES_ROW(n, 12),                   \
			PLACES_ROW(n, 13), PLACES_ROW(n, 14), PLACES_ROW(n, 15),                   \
			PLACES_ROW(n, 16),                                                         \
	}

#endif
