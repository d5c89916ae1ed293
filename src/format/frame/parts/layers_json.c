/*
 * Converts layers to one JSON object and back, for info.c, output_begin.c and editor_ops.c. A
 * member's key is the layer's name, except for names that JSON cannot represent or distinguish:
 *
 *     "$hex:ff61"       a name that is not UTF-8
 *     "$trailer:name"   in the trailer, if the header has a layer of that name
 *
 * A JSON text that cannot be converted to layers is stored whole in one layer, "json".
 */
#include "format/frame/parts/section.h"

#include <stdio.h>
#include <stdlib.h>

#define HEX     "$hex:"
#define TRAILER "$trailer:"
#define JSON    "json"

enum {
	KEY = sizeof HEX + sizeof TRAILER + 2 * BPK_FRAME_MAX_NAME,
	MEMBER = 6 * KEY + sizeof "{, \"\": }", /* all but the content; an escape has six bytes */
};

static bool begins(const char *name, const char *with)
{
	return strncmp(name, with, strlen(with)) == 0;
}

static void hex_of(const char *name, char *out)
{
	for (; *name != '\0'; name++, out += 2)
		snprintf(out, 3, "%02x", (unsigned char)*name);
}

/* The member's key, unescaped. fixed: the header's layers; NULL if layer is one of them. */
static void key_of(const struct bpk_frame_layer *layer, const struct bpk_frame_layers *fixed,
		   char key[KEY])
{
	const struct bpk_frame_layer *other =
		fixed == NULL ? NULL : bpk_frame_layers_find(fixed, layer->name);
	const char *name = layer->name;
	struct bpk_view bytes = bpk_view(name, strlen(name));

	*key = '\0';
	if (other != NULL && !bpk_frame_layer_is_ours(name))
		strcat(key, TRAILER);
	if (bpk_utf8_valid(bytes) && !begins(name, HEX) && !begins(name, TRAILER)) {
		strcat(key, name);
		return;
	}
	strcat(key, HEX);
	hex_of(name, key + strlen(key));
}

/* ---- Printing ---- */

static int print_member(const struct bpk_frame_layer *layer, const struct bpk_frame_layers *fixed,
			const struct bpk_msgpack_text *text, struct bpk_buf *out, bool *is_empty,
			struct bpk_err *err)
{
	char key[KEY];

	key_of(layer, fixed, key);
	if (bpk_buf_printf(out, err, *is_empty ? "{" : ", ") != 0 ||
	    bpk_json_put_string(out, bpk_view(key, strlen(key)), err) != 0 ||
	    bpk_buf_printf(out, err, ": ") != 0)
		return -1;
	*is_empty = false;
	return bpk_msgpack_print_text(text, out, err);
}

static size_t count_users(const struct bpk_frame_layers *layers)
{
	size_t n = 0;

	for (size_t i = 0; i < layers->count; i++)
		n += !bpk_frame_layer_is_ours(layers->all[i].name);
	return n;
}

/* Measure the texts of the users' layers, one for each layer, and add their sizes and the keys'. */
static int measure(const struct bpk_frame_layers *layers, struct bpk_msgpack_text *texts,
		   size_t *size, struct bpk_err *err)
{
	for (size_t i = 0; i < layers->count; i++) {
		const struct bpk_frame_layer *layer = &layers->all[i];

		if (bpk_frame_layer_is_ours(layer->name))
			continue;
		if (bpk_msgpack_measure(bpk_buf_view(&layer->content), &texts[i], err) != 0)
			return -1;
		if (texts[i].most > SIZE_MAX - MEMBER - *size)
			return bpk_fail_memory(err, texts[i].most);
		*size += texts[i].most + MEMBER;
	}
	return 0;
}

/* The room is made at once: where the buffer grew, there would be two of the text. */
static int print_measured(const struct bpk_frame_layers *fixed,
			  const struct bpk_frame_layers *layers, struct bpk_msgpack_text *texts,
			  struct bpk_buf *out, bool *is_empty, struct bpk_err *err)
{
	struct bpk_msgpack_text *behind = texts + fixed->count;
	size_t size = out->size;

	if (measure(fixed, texts, &size, err) != 0 || measure(layers, behind, &size, err) != 0 ||
	    bpk_buf_reserve(out, size, err) != 0)
		return -1;
	for (size_t i = 0; i < fixed->count; i++)
		if (!bpk_frame_layer_is_ours(fixed->all[i].name) &&
		    print_member(&fixed->all[i], NULL, &texts[i], out, is_empty, err) != 0)
			return -1;
	for (size_t i = 0; i < layers->count; i++)
		if (!bpk_frame_layer_is_ours(layers->all[i].name) &&
		    print_member(&layers->all[i], fixed, &behind[i], out, is_empty, err) != 0)
			return -1;
	return *is_empty ? 0 : bpk_buf_printf(out, err, "}");
}

static int print_members(const struct bpk_frame_layers *fixed,
			 const struct bpk_frame_layers *layers, struct bpk_buf *out, bool *is_empty,
			 struct bpk_err *err)
{
	size_t count = fixed->count + layers->count;
	struct bpk_msgpack_text *texts;
	int rc;

	if (count == 0)
		return 0;
	texts = bpk_calloc(count, sizeof *texts, err);
	if (texts == NULL)
		return -1;
	rc = print_measured(fixed, layers, texts, out, is_empty, err);
	free(texts);
	return rc;
}

static bool fits(struct bpk_view object, const struct bpk_frame_layers *fixed,
		 const struct bpk_frame_layers *layers);

/* Is the layer json the only one, with a text that cannot be layers? *text is then that text, a
 * view into the content, which is a msgpack str. */
static int find_json_alone(const struct bpk_frame_layers *fixed,
			   const struct bpk_frame_layers *layers, bool *alone,
			   struct bpk_view *text, struct bpk_err *err)
{
	static const struct bpk_frame_layers none;
	const struct bpk_frame_layer *layer = bpk_frame_layers_find(layers, JSON);
	struct bpk_buf shortest = { 0 };
	struct bpk_err why = { 0 };
	struct bpk_view content;
	bool good = false;
	int rc = 0;

	*alone = false;
	if (layer == NULL || count_users(layers) != 1 || count_users(fixed) != 0)
		return 0;
	content = bpk_buf_view(&layer->content);
	/* the text is the end of a str, after one to five bytes */
	for (size_t head = 1; rc == 0 && head <= 5 && head < content.size && !good; head++) {
		*text = bpk_view(content.data + head, content.size - head);
		shortest.size = 0;
		rc = bpk_msgpack_put_str(*text, &shortest, err);
		good = rc == 0 && shortest.size == content.size &&
		       memcmp(shortest.data, content.data, content.size) == 0;
	}
	bpk_buf_clear(&shortest);
	if (rc != 0 || !good)
		return rc;
	if (bpk_json_check(*text, &why) != 0)
		return bpk_err_pass(&why, err);
	*alone = !fits(*text, &none, &none);
	return 0;
}

int bpk_frame_layers_print(const struct bpk_frame_layers *fixed,
			   const struct bpk_frame_layers *layers, struct bpk_buf *out,
			   bool *is_empty, struct bpk_err *err)
{
	struct bpk_view text;
	bool alone;

	*is_empty = true;
	if (find_json_alone(fixed, layers, &alone, &text, err) != 0)
		return -1;
	if (alone) {
		*is_empty = false;
		return bpk_buf_append(out, text, err);
	}
	return print_members(fixed, layers, out, is_empty, err);
}

/* ---- Parsing ---- */

/* Convert a member's value to the bytes of a layer. */
static int make_content(struct bpk_view value, struct bpk_buf *out, struct bpk_err *err)
{
	struct bpk_err why = { 0 };
	struct bpk_view key, hex;
	size_t at = 0;

	if (bpk_json_kind(value) == BPK_JSON_OBJECT && bpk_json_next(value, &at, &key, &hex) &&
	    bpk_json_string_is(key, "$raw") && bpk_json_kind(hex) == BPK_JSON_STRING &&
	    !bpk_json_next(value, &at, &key, &key)) {
		if (bpk_hex_take(bpk_view(hex.data + 1, hex.size - 2), out, &why) == 0)
			return 0;
		if (bpk_err_is_of_machine(&why))
			return bpk_fail_as(err, &why);
	}
	return bpk_msgpack_parse(value, out, err);
}

/* Test whether two contents print as the same text. */
static int same_text(struct bpk_view a, struct bpk_view b, bool *same, struct bpk_err *err)
{
	struct bpk_buf one = { 0 }, other = { 0 };
	int rc = -1;

	if (bpk_msgpack_print_any(a, &one, err) == 0 &&
	    bpk_msgpack_print_any(b, &other, err) == 0) {
		*same = one.size == other.size && memcmp(one.data, other.data, one.size) == 0;
		rc = 0;
	}
	bpk_buf_clear(&one);
	bpk_buf_clear(&other);
	return rc;
}

/* The new content of a layer; its old bytes, if they print as the same value. */
static int change_content(const struct bpk_frame_layer *layer, struct bpk_view value,
			  struct bpk_buf *out, struct bpk_err *err)
{
	struct bpk_view old = bpk_buf_view(&layer->content);
	bool same;

	if (make_content(value, out, err) != 0 ||
	    same_text(bpk_buf_view(out), old, &same, err) != 0)
		return bpk_err_subject(err, "metalayer '%s'", layer->name);
	if (!same)
		return 0;
	out->size = 0;
	return bpk_buf_append(out, old, err);
}

static struct bpk_view member_of(struct bpk_view object, const struct bpk_frame_layer *layer,
				 const struct bpk_frame_layers *fixed)
{
	char key[KEY];

	key_of(layer, fixed, key);
	return bpk_json_member(object, key);
}

/* The layer with a given key; fixed as in key_of. */
static const struct bpk_frame_layer *layer_of(struct bpk_view key,
					      const struct bpk_frame_layers *layers,
					      const struct bpk_frame_layers *fixed)
{
	for (size_t i = 0; i < layers->count; i++) {
		char text[KEY];

		key_of(&layers->all[i], fixed, text);
		if (!bpk_frame_layer_is_ours(layers->all[i].name) && bpk_json_string_is(key, text))
			return &layers->all[i];
	}
	return NULL;
}

/* The name for a new layer; false if the key cannot be a name. */
static bool new_name(struct bpk_view key, char name[BPK_FRAME_MAX_NAME + 1])
{
	size_t size = bpk_json_string_copy(key, (uint8_t *)name, BPK_FRAME_MAX_NAME);

	if (size > BPK_FRAME_MAX_NAME || !bpk_utf8_valid(bpk_view(name, size)))
		return false;
	name[size] = '\0';
	/* it differs from the key if that escapes half a character */
	return bpk_json_string_is(key, name) && !bpk_frame_layer_is_ours(name) &&
	       !begins(name, HEX) && !begins(name, TRAILER);
}

/* True if the members can be layers, beside the fixed ones. bpk leaves room for its own layers,
 * unless the existing layers already use it; that of a seal is never given away. */
static bool fits(struct bpk_view object, const struct bpk_frame_layers *fixed,
		 const struct bpk_frame_layers *layers)
{
	bool sealed = bpk_frame_layers_find(fixed, BPK_FRAME_SEAL) != NULL;
	size_t room = BPK_FRAME_MAX_LAYERS_WRITTEN - 1 - sealed, n = 0;
	char name[BPK_FRAME_MAX_NAME + 1];
	struct bpk_view key, value;

	if (bpk_json_kind(object) != BPK_JSON_OBJECT)
		return false;
	if (count_users(layers) > room)
		room = BPK_FRAME_MAX_LAYERS_WRITTEN - sealed;
	for (size_t at = 0; bpk_json_next(object, &at, &key, &value);) {
		if (layer_of(key, fixed, NULL) != NULL)
			continue;
		if (n++ == room || (layer_of(key, layers, fixed) == NULL && !new_name(key, name)))
			return false;
	}
	return true;
}

static int change_fixed(struct bpk_view object, const struct bpk_frame_layers *fixed,
			struct bpk_frame_layers *next, struct bpk_err *err)
{
	for (size_t i = 0; i < fixed->count; i++) {
		const struct bpk_frame_layer *layer = &fixed->all[i];
		struct bpk_view value = member_of(object, layer, NULL);
		struct bpk_buf content = { 0 };
		int rc;

		if (bpk_frame_layer_is_ours(layer->name))
			continue;
		if (value.size == 0)
			return bpk_fail(err, BPK_UNSUPPORTED,
					"metalayer '%s' lies in the header and cannot be removed",
					layer->name);
		rc = change_content(layer, value, &content, err);
		if (rc == 0 && content.size != layer->content.size)
			rc = bpk_fail(err, BPK_UNSUPPORTED,
				      "metalayer '%s' lies in the header and keeps its %zu bytes,"
				      " the new content has %zu",
				      layer->name, layer->content.size, content.size);
		if (rc == 0)
			rc = bpk_frame_layers_set(next, layer->name, bpk_buf_view(&content), err);
		bpk_buf_clear(&content);
		if (rc != 0)
			return -1;
	}
	return 0;
}

/* Keep layers that have a member, and ours. */
static int keep_layers(struct bpk_view object, const struct bpk_frame_layers *fixed,
		       const struct bpk_frame_layers *layers, struct bpk_frame_layers *next,
		       struct bpk_err *err)
{
	for (size_t i = 0; i < layers->count; i++) {
		const struct bpk_frame_layer *layer = &layers->all[i];
		bool ours = bpk_frame_layer_is_ours(layer->name);
		struct bpk_view value = member_of(object, layer, fixed);
		struct bpk_buf content = { 0 };
		int rc = 0;

		if (!ours && value.size == 0)
			continue;
		if (!ours)
			rc = change_content(layer, value, &content, err);
		if (rc == 0)
			rc = bpk_frame_layers_set(next, layer->name,
						  bpk_buf_view(ours ? &layer->content : &content),
						  err);
		bpk_buf_clear(&content);
		if (rc != 0)
			return -1;
	}
	return 0;
}

static int add_layers(struct bpk_view object, const struct bpk_frame_layers *fixed,
		      const struct bpk_frame_layers *layers, struct bpk_frame_layers *next,
		      struct bpk_err *err)
{
	char name[BPK_FRAME_MAX_NAME + 1];
	struct bpk_view key, value;

	for (size_t at = 0; bpk_json_next(object, &at, &key, &value);) {
		struct bpk_buf content = { 0 };
		int rc;

		if (layer_of(key, fixed, NULL) != NULL || layer_of(key, layers, fixed) != NULL ||
		    !new_name(key, name))
			continue;
		rc = make_content(value, &content, err);
		if (rc == 0)
			rc = bpk_frame_layers_set(next, name, bpk_buf_view(&content), err);
		bpk_buf_clear(&content);
		if (rc != 0)
			return -1;
	}
	return 0;
}

/* Put the whole text into one layer; ours stay. */
static int take_text(struct bpk_view json, const struct bpk_frame_layers *layers,
		     struct bpk_frame_layers *next, struct bpk_err *err)
{
	static const struct bpk_frame_layers none;
	struct bpk_buf content = { 0 };
	int rc = keep_layers(bpk_view("{}", 2), &none, layers, next, err);

	if (rc == 0)
		rc = bpk_msgpack_put_str(json, &content, err);
	if (rc == 0)
		rc = bpk_frame_layers_set(next, JSON, bpk_buf_view(&content), err);
	bpk_buf_clear(&content);
	return rc;
}

static int make_layers(struct bpk_view json, const struct bpk_frame_layers *fixed,
		       const struct bpk_frame_layers *layers, struct bpk_frame_layers *next_fixed,
		       struct bpk_frame_layers *next, struct bpk_err *err)
{
	bool layered = fits(json, fixed, layers);
	struct bpk_view object = layered ? json : bpk_view("{}", 2);

	if (change_fixed(object, fixed, next_fixed, err) != 0)
		return -1;
	if (!layered)
		return take_text(json, layers, next, err);
	if (keep_layers(object, fixed, layers, next, err) != 0)
		return -1;
	return add_layers(object, fixed, layers, next, err);
}

/* Replace a list by another. */
static void replace(struct bpk_frame_layers *layers, struct bpk_frame_layers *next)
{
	bpk_frame_layers_clear(layers);
	*layers = *next;
	*next = (struct bpk_frame_layers){ 0 };
}

/* Replace contents only: the list keeps its order, including our layers. */
static void replace_contents(struct bpk_frame_layers *layers, struct bpk_frame_layers *next)
{
	for (size_t i = 0; i < next->count; i++) {
		struct bpk_frame_layer *layer = bpk_frame_layers_find(layers, next->all[i].name);
		struct bpk_buf old = layer->content;

		layer->content = next->all[i].content;
		next->all[i].content = old;
	}
}

int bpk_frame_layers_parse(struct bpk_view json, struct bpk_frame_layers *fixed,
			   struct bpk_frame_layers *layers, struct bpk_err *err)
{
	struct bpk_frame_layers next_fixed = { 0 }, next = { 0 };
	int rc = 0;

	if (json.size == 0)
		json = bpk_view("{}", 2);
	if (bpk_json_check(json, err) != 0)
		rc = -1;
	if (rc == 0)
		rc = make_layers(json, fixed, layers, &next_fixed, &next, err);
	if (rc == 0) {
		replace_contents(fixed, &next_fixed);
		replace(layers, &next);
	}
	bpk_frame_layers_clear(&next_fixed);
	bpk_frame_layers_clear(&next);
	return rc;
}
