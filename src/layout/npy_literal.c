/*
 * The parser of the text of an .npy head, for npy.c: the literal of a Python dict, by its grammar:
 *
 *      dict   = '{' string ':' value {',' string ':' value} [','] '}'
 *      value  = string | word | digits | tuple | list
 *      descr  = string | '(' descr ',' shape ')' | '[' field {',' field} [','] ']'
 *      field  = '(' name ',' descr [',' shape] ')'
 *      name   = string | '(' string ',' string ')'             the first is a title
 */
#include "layout/npy.h"

/* Maximum depth of brackets; a type has two for each record. */
enum { MAX_DEPTH = 2 * BPK_DTYPE_MAX_DEPTH + 4 };

/* A text and the parser's position in it. */
struct literal {
	struct bpk_view text;
	size_t at;
	unsigned depth;
};

/* ---- Signs, strings, numbers ---- */

/* The next character that is not white space; 0 at the end. */
static int peek(struct literal *l)
{
	while (l->at < l->text.size && l->text.data[l->at] != 0 &&
	       strchr(" \t\r\n", l->text.data[l->at]) != NULL)
		l->at++;
	return l->at < l->text.size ? l->text.data[l->at] : 0;
}

static bool take(struct literal *l, char sign)
{
	if (peek(l) != sign)
		return false;
	l->at++;
	return true;
}

static bool is_digit(int sign)
{
	return sign >= '0' && sign <= '9';
}

static bool take_word(struct literal *l, const char *word)
{
	size_t size = strlen(word);

	peek(l);
	if (l->text.size - l->at < size || memcmp(l->text.data + l->at, word, size) != 0)
		return false;
	l->at += size;
	return true;
}

/* Parse a string. A prefix letter of Python 2 or 3 is part of whole. whole includes the quotes,
 * inner does not. */
static bool take_string(struct literal *l, struct bpk_view *whole, struct bpk_view *inner)
{
	int quote = peek(l);
	size_t start = l->at, first;

	if ((quote == 'u' || quote == 'b') && l->at + 1 < l->text.size)
		quote = l->text.data[++l->at];
	if (quote != '\'' && quote != '"')
		return false;
	first = ++l->at;
	while (l->at < l->text.size && l->text.data[l->at] != quote)
		l->at += l->text.data[l->at] == '\\' ? 2 : 1;
	if (l->at >= l->text.size)
		return false;
	*inner = bpk_view(l->text.data + first, l->at - first);
	*whole = bpk_view(l->text.data + start, ++l->at - start);
	return true;
}

static bool take_number(struct literal *l, uint64_t *number)
{
	size_t start;

	if (!is_digit(peek(l)))
		return false;
	for (start = l->at; l->at < l->text.size && is_digit(l->text.data[l->at]);)
		l->at++;
	return bpk_json_u64(bpk_view(l->text.data + start, l->at - start), number);
}

/* ---- Values ---- */

static bool skip_value(struct literal *l);

static bool skip_list(struct literal *l, char closing)
{
	bool good = true;

	if (++l->depth > MAX_DEPTH)
		return false;
	l->at++;
	while (good && !take(l, closing)) {
		good = skip_value(l);
		if (good && !take(l, ','))
			good = peek(l) == closing;
	}
	l->depth--;
	return good;
}

/* Skip a value of a type description. */
static bool skip_value(struct literal *l)
{
	struct bpk_view whole, inner;
	uint64_t number;
	int sign = peek(l);

	if (sign == '(' || sign == '[')
		return skip_list(l, sign == '(' ? ')' : ']');
	if (is_digit(sign))
		return take_number(l, &number);
	return take_string(l, &whole, &inner);
}

static int take_descr(struct literal *l, struct bpk_npy_dict *dict, struct bpk_err *err)
{
	size_t start;

	peek(l);
	start = l->at;
	if (!skip_value(l))
		return bpk_fail(err, BPK_CORRUPT, "npy head has a type that is not a literal");
	dict->descr = bpk_view(l->text.data + start, l->at - start);
	return 0;
}

static int take_order(struct literal *l, struct bpk_npy_dict *dict, struct bpk_err *err)
{
	dict->fortran = take_word(l, "True");
	if (!dict->fortran && !take_word(l, "False"))
		return bpk_fail(err, BPK_CORRUPT,
				"npy head has an order that is neither True nor False");
	return 0;
}

/* A tuple; "(3)" is not one. */
static int take_shape(struct literal *l, struct bpk_npy_dict *dict, struct bpk_err *err)
{
	bool comma = true;

	if (!take(l, '('))
		goto bad;
	while (!take(l, ')')) {
		uint64_t dimension;

		if (!comma || !take_number(l, &dimension))
			goto bad;
		if (dict->ndimensions == BPK_ARRAY_MAX_DIMENSIONS)
			return bpk_fail(err, BPK_LIMIT, "npy has more than %d dimensions",
					BPK_ARRAY_MAX_DIMENSIONS);
		dict->shape[dict->ndimensions++] = dimension;
		comma = take(l, ',');
	}
	if (dict->ndimensions != 1 || comma)
		return 0;
bad:
	return bpk_fail(err, BPK_CORRUPT, "npy head has a shape that is not a tuple of integers");
}

/* ---- The dict ---- */

static const struct {
	const char *key;
	int (*take)(struct literal *l, struct bpk_npy_dict *dict, struct bpk_err *err);
} keys[] = {
	{ "descr", take_descr },
	{ "fortran_order", take_order },
	{ "shape", take_shape },
};

enum { NKEYS = sizeof keys / sizeof *keys };

static int take_member(struct literal *l, unsigned *seen, struct bpk_npy_dict *dict,
		       struct bpk_err *err)
{
	struct bpk_view whole, key;

	if (!take_string(l, &whole, &key) || !take(l, ':'))
		return bpk_fail(err, BPK_CORRUPT, "npy head is not a dict of strings");
	for (size_t i = 0; i < NKEYS; i++) {
		if (strlen(keys[i].key) != key.size || memcmp(keys[i].key, key.data, key.size) != 0)
			continue;
		if (*seen & 1u << i)
			break;
		*seen |= 1u << i;
		return keys[i].take(l, dict, err);
	}
	return bpk_fail(err, BPK_CORRUPT, "npy head has the key '%.*s', or has it twice",
			(int)bpk_min_size(key.size, 40), (const char *)key.data);
}

int bpk_npy_dict_parse(struct bpk_view text, struct bpk_npy_dict *dict, struct bpk_err *err)
{
	struct literal l = { .text = text };
	unsigned seen = 0;

	*dict = (struct bpk_npy_dict){ 0 };
	if (!take(&l, '{'))
		return bpk_fail(err, BPK_CORRUPT, "npy head is not a dict");
	while (!take(&l, '}')) {
		if (take_member(&l, &seen, dict, err) != 0)
			return -1;
		if (!take(&l, ',') && peek(&l) != '}')
			return bpk_fail(err, BPK_CORRUPT, "npy head has no ',' behind a member");
	}
	peek(&l);
	if (seen != (1u << NKEYS) - 1 || l.at != l.text.size)
		return bpk_fail(err, BPK_CORRUPT,
				"npy head lacks a key, or something is behind the dict");
	return 0;
}

/* ---- Sizes of types ---- */

/* The state of computing an item's size. */
struct sizer {
	struct literal l;
	bool opaque;
};

static bool size_of(struct sizer *s, uint64_t *size);

/* Multiply *size by a shape: a number, or a tuple of numbers. */
static bool times_shape(struct literal *l, uint64_t *size)
{
	uint64_t dimension;

	if (!take(l, '('))
		return take_number(l, &dimension) && bpk_mul_u64(*size, dimension, size);
	while (!take(l, ')')) {
		if (!take_number(l, &dimension) || !bpk_mul_u64(*size, dimension, size))
			return false;
		if (!take(l, ',') && peek(l) != ')')
			return false;
	}
	return true;
}

/* An optional base shape after a comma, then the end of the tuple. */
static bool size_of_rest(struct sizer *s, uint64_t *size)
{
	if (!size_of(s, size))
		return false;
	if (take(&s->l, ',') && peek(&s->l) != ')' && !times_shape(&s->l, size))
		return false;
	return take(&s->l, ')');
}

static bool size_of_field(struct sizer *s, uint64_t *size)
{
	return take(&s->l, '(') && skip_value(&s->l) && take(&s->l, ',') && size_of_rest(s, size);
}

static bool size_of_record(struct sizer *s, uint64_t *size)
{
	uint64_t part;

	s->l.at++;
	*size = 0;
	while (!take(&s->l, ']')) {
		if (!size_of_field(s, &part) || !bpk_add_u64(*size, part, size))
			return false;
		if (!take(&s->l, ',') && peek(&s->l) != ']')
			return false;
	}
	return true;
}

static bool size_of_scalar(struct sizer *s, uint64_t *size)
{
	struct bpk_view whole, inner;
	struct bpk_dtype dtype;
	bool good;

	if (!take_string(&s->l, &whole, &inner))
		return false;
	good = bpk_dtype_parse(whole, &dtype, NULL) == 0;
	if (good) {
		*size = dtype.size;
		s->opaque = s->opaque || bpk_dtype_is_opaque(&dtype);
		bpk_dtype_clear(&dtype);
	}
	return good;
}

/* skip_value has passed this text, so its depth is bounded. */
static bool size_of(struct sizer *s, uint64_t *size)
{
	int sign = peek(&s->l);

	if (sign == '[')
		return size_of_record(s, size);
	if (sign != '(')
		return size_of_scalar(s, size);
	s->l.at++;
	return size_of_rest(s, size);
}

bool bpk_npy_item_size(struct bpk_view descr, uint64_t *size, bool *opaque)
{
	struct sizer s = { .l = { .text = descr } };
	bool good = size_of(&s, size);

	*opaque = s.opaque;
	return good;
}
