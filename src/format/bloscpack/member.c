/*
 * Members that bpk adds to the user's metadata: the last of the JSON object, inserted as text, so
 * that the user's own text stays unchanged. Called by sizes.c and seal.c.
 */
#include "format/bloscpack/bloscpack.h"

/* Find the last member of an object; key is its name as written. */
static bool find_last(struct bpk_view text, struct bpk_view *key, struct bpk_view *value)
{
	size_t at = 0;
	bool any = false;

	if (bpk_json_kind(text) != BPK_JSON_OBJECT)
		return false;
	while (bpk_json_next(text, &at, key, value))
		any = true;
	return any;
}

bool bpk_bloscpack_member_find(struct bpk_view text, const char *name, struct bpk_view *key,
			       struct bpk_view *value)
{
	size_t size = strlen(name);

	return find_last(text, key, value) && key->size == size + 2 &&
	       memcmp(key->data + 1, name, size) == 0;
}

int bpk_bloscpack_member_cut(struct bpk_view text, struct bpk_view key, struct bpk_view value,
			     struct bpk_buf *user, struct bpk_err *err)
{
	const uint8_t *behind = value.data + value.size, *end = text.data + text.size;
	const uint8_t *until = key.data - 1, *comma = until;

	while (*comma != ',' && *comma != '{')
		comma--;
	if (*comma == ',')
		until = comma;
	user->size = 0;
	if (*until == '{')
		return 0;
	if (bpk_buf_append(user, bpk_view(text.data, (size_t)(until - text.data)), err) != 0)
		return -1;
	return bpk_buf_append(user, bpk_view(behind, (size_t)(end - behind)), err);
}

/* Find the place of the member in the user's text, and the text before it; false if the text is not
 * an object, or has a member of that name. */
static bool find_place(struct bpk_view user, const char *name, size_t *at, const char **before)
{
	struct bpk_view key, value;

	*at = user.size;
	*before = "{";
	if (user.size == 0)
		return true;
	if (bpk_json_kind(user) != BPK_JSON_OBJECT)
		return false;
	while (user.data[*at - 1] != '}')
		--*at;
	--*at;
	*before = find_last(user, &key, &value) ? "," : " ";
	return bpk_json_member(user, name).size == 0;
}

int bpk_bloscpack_member_join(struct bpk_view user, const char *name, struct bpk_view value,
			      struct bpk_buf *out, bool *joined, struct bpk_err *err)
{
	const char *before, *behind = user.size > 0 ? "" : "}";
	size_t at;

	out->size = 0;
	*joined = find_place(user, name, &at, &before);
	if (!*joined)
		return bpk_buf_append(out, user, err);
	if (bpk_buf_append(out, bpk_view(user.data, at), err) != 0 ||
	    bpk_buf_printf(out, err, "%s\"%s\":%.*s%s", before, name, (int)value.size,
			   (const char *)value.data, behind) != 0)
		return -1;
	if (at == user.size) /* an empty text has no address */
		return 0;
	return bpk_buf_append(out, bpk_view(user.data + at, user.size - at), err);
}
