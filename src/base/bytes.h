/*
 * Borrowed bytes, on-disk integers, and arithmetic that cannot wrap. A part of the room's door.
 */
#ifndef BPK_BASE_BYTES_H
#define BPK_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* An unknown size, count or offset. */
#define BPK_UNKNOWN UINT64_MAX

/* Borrowed bytes to read. data may be NULL when size is 0. */
struct bpk_view {
	const uint8_t *data;
	size_t size;
};

/* Borrowed bytes to write. */
struct bpk_span {
	uint8_t *data;
	size_t size;
};

static inline struct bpk_view bpk_view(const void *data, size_t size)
{
	return (struct bpk_view){ data, size };
}

static inline struct bpk_span bpk_span(void *data, size_t size)
{
	return (struct bpk_span){ data, size };
}

static inline struct bpk_view bpk_view_of_span(struct bpk_span span)
{
	return (struct bpk_view){ span.data, span.size };
}

/* On-disk integers at any alignment, on any machine. */
static inline uint16_t bpk_get_le16(const uint8_t *p)
{
	return (uint16_t)(p[0] | p[1] << 8);
}

static inline uint16_t bpk_get_be16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static inline uint32_t bpk_get_le32(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t bpk_get_le64(const uint8_t *p)
{
	return bpk_get_le32(p) | (uint64_t)bpk_get_le32(p + 4) << 32;
}

static inline uint32_t bpk_get_be32(const uint8_t *p)
{
	return (uint32_t)bpk_get_be16(p) << 16 | bpk_get_be16(p + 2);
}

static inline uint64_t bpk_get_be64(const uint8_t *p)
{
	return (uint64_t)bpk_get_be32(p) << 32 | bpk_get_be32(p + 4);
}

static inline int32_t bpk_get_le32s(const uint8_t *p)
{
	return (int32_t)bpk_get_le32(p);
}

static inline int64_t bpk_get_le64s(const uint8_t *p)
{
	return (int64_t)bpk_get_le64(p);
}

static inline void bpk_put_le32(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)v;
	p[1] = (uint8_t)(v >> 8);
	p[2] = (uint8_t)(v >> 16);
	p[3] = (uint8_t)(v >> 24);
}

static inline void bpk_put_le64(uint8_t *p, uint64_t v)
{
	bpk_put_le32(p, (uint32_t)v);
	bpk_put_le32(p + 4, (uint32_t)(v >> 32));
}

static inline void bpk_put_be16(uint8_t *p, uint16_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static inline void bpk_put_be32(uint8_t *p, uint32_t v)
{
	bpk_put_be16(p, (uint16_t)(v >> 16));
	bpk_put_be16(p + 2, (uint16_t)v);
}

static inline void bpk_put_be64(uint8_t *p, uint64_t v)
{
	bpk_put_be32(p, (uint32_t)(v >> 32));
	bpk_put_be32(p + 4, (uint32_t)v);
}

/* *out = a op b. Returns false, with *out unspecified, when the result exceeds 64 bits. */
static inline bool bpk_add_u64(uint64_t a, uint64_t b, uint64_t *out)
{
	return !__builtin_add_overflow(a, b, out);
}

static inline bool bpk_mul_u64(uint64_t a, uint64_t b, uint64_t *out)
{
	return !__builtin_mul_overflow(a, b, out);
}

/* The number of pieces of size each (not 0) that cover total. Never overflows. */
static inline uint64_t bpk_div_up(uint64_t total, uint64_t each)
{
	return total / each + (total % each != 0);
}

static inline uint64_t bpk_min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t bpk_max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* The greatest common divisor; gcd(0, n) is n. */
static inline uint64_t bpk_gcd_u64(uint64_t a, uint64_t b)
{
	while (b != 0) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* The least common multiple of two numbers that are not 0, and whose product fits. */
static inline uint64_t bpk_lcm_u64(uint64_t a, uint64_t b)
{
	return a / bpk_gcd_u64(a, b) * b;
}

static inline size_t bpk_min_size(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* True if all bytes are zeros. */
static inline bool bpk_is_zero(struct bpk_view bytes)
{
	return bytes.size == 0 ||
	       (bytes.data[0] == 0 && memcmp(bytes.data, bytes.data + 1, bytes.size - 1) == 0);
}

/*
 * FNV-1a, 64 bits. It finds names again and tells records apart; it proves nothing about bytes.
 * hash is BPK_HASH_START, or the hash of the preceding bytes.
 * Source: Fowler, Noll and Vo, "FNV hash", parameters of the 64-bit one.
 */
#define BPK_HASH_START UINT64_C(0xcbf29ce484222325)

static inline uint64_t bpk_hash(uint64_t hash, struct bpk_view bytes)
{
	for (size_t i = 0; i < bytes.size; i++)
		hash = (hash ^ bytes.data[i]) * UINT64_C(0x100000001b3);
	return hash;
}

/* The hash of many bytes, eight at a time; it differs from bpk_hash. */
static inline uint64_t bpk_hash_words(uint64_t hash, struct bpk_view bytes)
{
	uint64_t word;
	size_t at = 0;

	hash ^= bytes.size;
	for (; bytes.size - at >= sizeof word; at += sizeof word) {
		memcpy(&word, bytes.data + at, sizeof word);
		hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
		hash ^= hash >> 32;
	}
	return bpk_hash(hash, bpk_view(bytes.data + at, bytes.size - at));
}

/* The hash of a text, without its NUL. */
static inline uint64_t bpk_hash_text(uint64_t hash, const char *text)
{
	return bpk_hash(hash, bpk_view(text, strlen(text)));
}

/* True if text ends with end. */
static inline bool bpk_ends_with(const char *text, const char *end)
{
	size_t size = strlen(text), of_end = strlen(end);

	return size >= of_end && memcmp(text + size - of_end, end, of_end) == 0;
}

/*
 * The number of the first of count structs whose key is larger than key, count if there is none:
 * as many have a key that is at most key. keys points to the key of the first struct; the others
 * follow at multiples of stride bytes and ascend.
 */
static inline size_t bpk_find_behind(const uint64_t *keys, size_t stride, size_t count,
				     uint64_t key)
{
	const uint8_t *bytes = (const uint8_t *)keys;
	size_t low = 0, high = count;
	uint64_t found;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		memcpy(&found, bytes + middle * stride, sizeof found);
		if (found <= key)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The number of the last of these structs whose key is at most key, 0 if all keys are larger. */
static inline size_t bpk_find_last(const uint64_t *keys, size_t stride, size_t count, uint64_t key)
{
	size_t behind = bpk_find_behind(keys, stride, count, key);

	return behind > 0 ? behind - 1 : 0;
}

/* memcpy that accepts NULL for 0 bytes. */
static inline void bpk_copy(void *to, const void *from, size_t size)
{
	if (size > 0)
		memcpy(to, from, size);
}

/* Fill out with repetitions of pattern, which has at least one byte, from its byte phase on. Both
 * may be in one buffer, but must not overlap. */
void bpk_bytes_repeat(struct bpk_view pattern, size_t phase, struct bpk_span out);

#endif
