/*
 * The member .npz, and any other zip with stored members; its row is in layouts.c. Each stored
 * member is an array: an .npy becomes its array, without ".npy" in the name, as in NumPy; other
 * members, and .npy files that cannot be read, are arrays of bytes ("|u1"). Packed or encrypted
 * members have no raw bytes in the file: they are left out without being damage, and named. Folders
 * are left out too. Members lie between the start of the file and its directory. Members that
 * overlap another one are left out as damage, because a small file could claim any number of them.
 *
 * Memory: 56 bytes per member; names are read again on request.
 */
#include "layout/npy.h"
#include "layout/name.h"
#include "layout/zip.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* A stored member. */
struct place {
	struct bpk_named named; /* of its array */
	uint64_t entry;         /* offset of its entry in the directory */
	uint64_t local;         /* offset of its local header, before its bytes */
	uint64_t offset, size;  /* of its bytes */
};

struct own {
	struct bpk_zip zip;
	struct place *places;
	uint64_t nplaces;
	uint64_t *packed; /* hashes of the names of packed members */
	uint64_t npacked;
	bool is_npz;
	char variant[64];
	char left_out[160];
	char damage[160];

	/* The last item returned by get. */
	struct bpk_npy npy;
	char *name;
};

static void npz_close(void *own)
{
	struct own *o = own;

	free(o->name);
	bpk_array_clear(&o->npy.array);
	free(o->places);
	free(o->packed);
	bpk_zip_clear(&o->zip);
	free(o);
}

/* ---- Names ---- */

static bool ends_as_npy(struct bpk_view name)
{
	return name.size > 4 && memcmp(name.data + name.size - 4, ".npy", 4) == 0;
}

/* The array's name for a member's name, with a number unless 0. Released with free(). */
static char *make_name(struct bpk_view name, uint32_t number, struct bpk_err *err)
{
	char digits[BPK_NAME_NUMBER_TEXT];
	struct bpk_buf text = { 0 };
	char *clean, *made = NULL;

	if (ends_as_npy(name))
		name.size -= 4;
	clean = bpk_layout_text(name, err);
	if (clean == NULL)
		return NULL;
	bpk_name_print_number(number, digits);
	/* a name that begins with a NUL is not visible */
	if (bpk_buf_printf(&text, err, "%s%s", clean[0] != '\0' ? clean : "?", digits) == 0 &&
	    bpk_buf_append(&text, bpk_view("", 1), err) == 0)
		made = bpk_strdup((const char *)text.data, err);
	bpk_buf_clear(&text);
	free(clean);
	return made;
}

static int hash_name(struct bpk_view name, uint64_t *hash, struct bpk_err *err)
{
	char *made = make_name(name, 0, err);

	if (made == NULL)
		return -1;
	*hash = bpk_name_hash(made);
	free(made);
	return 0;
}

/* ---- The directory ---- */

/* A member that has no raw bytes in the file. */
static int add_packed(struct own *o, const struct bpk_zip_entry *entry, struct bpk_err *err)
{
	char *name = make_name(entry->name, 0, err);

	if (name == NULL)
		return -1;
	if (o->npacked == 0)
		snprintf(o->left_out, sizeof o->left_out,
			 "'%.100s' is compressed in the zip, and left out", name);
	o->packed[o->npacked++] = bpk_name_hash(name);
	free(name);
	return 0;
}

/* Record the first damage. Only errors of reading are failures. */
static int note_damage(struct own *o, uint64_t number, const struct bpk_err *found,
		       struct bpk_err *err)
{
	if (found->kind != BPK_CORRUPT) {
		if (err != NULL)
			*err = *found;
		return -1;
	}
	if (o->damage[0] == '\0')
		snprintf(o->damage, sizeof o->damage, "member %" PRIu64 ": %.120s", number,
			 found->text);
	return 0;
}

static bool is_folder(const struct bpk_zip_entry *entry)
{
	return entry->name.size == 0 || entry->name.data[entry->name.size - 1] == '/';
}

static int add_member(struct own *o, uint64_t number, uint64_t at,
		      const struct bpk_zip_entry *entry, struct bpk_err *err)
{
	struct place *place = &o->places[o->nplaces];
	struct bpk_err found = { 0 };

	if (is_folder(entry))
		return 0;
	o->is_npz = o->is_npz || ends_as_npy(entry->name);
	if (entry->method != BPK_ZIP_STORED || entry->flags & BPK_ZIP_ENCRYPTED) {
		return add_packed(o, entry, err);
	}
	place->entry = at;
	place->size = entry->size;
	place->local = entry->local;
	if (bpk_zip_locate(&o->zip, entry, &place->offset, &found) != 0)
		return note_damage(o, number, &found, err);
	if (hash_name(entry->name, &place->named.hash, err) != 0)
		return -1;
	o->nplaces++;
	return 0;
}

/* In file order, to find overlaps. */
struct extent {
	uint64_t offset, number;
};

static int by_offset(const void *a, const void *b)
{
	const struct extent *x = a, *y = b;

	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return x->number < y->number ? -1 : 1;
}

/* Drop members that begin inside another one: a header precedes its bytes. */
static void drop_overlaps(struct own *o, struct extent *extents)
{
	uint64_t end = 0, kept = 0;

	for (uint64_t i = 0; i < o->nplaces; i++) {
		struct place *place = &o->places[extents[i].number];

		if (extents[i].offset >= end) {
			end = place->offset + place->size;
			continue;
		}
		if (o->damage[0] == '\0')
			snprintf(o->damage, sizeof o->damage,
				 "array %" PRIu64 " shares bytes with another one",
				 extents[i].number);
		place->entry = BPK_UNKNOWN;
	}
	for (uint64_t i = 0; i < o->nplaces; i++)
		if (o->places[i].entry != BPK_UNKNOWN)
			o->places[kept++] = o->places[i];
	o->nplaces = kept;
}

static int check_overlaps(struct own *o, struct bpk_err *err)
{
	struct extent *extents = bpk_calloc((size_t)o->nplaces + 1, sizeof *extents, err);

	if (extents == NULL)
		return -1;
	for (uint64_t i = 0; i < o->nplaces; i++)
		extents[i] = (struct extent){ .offset = o->places[i].local, .number = i };
	qsort(extents, (size_t)o->nplaces, sizeof *extents, by_offset);
	drop_overlaps(o, extents);
	free(extents);
	return 0;
}

static int read_directory(struct own *o, struct bpk_err *err)
{
	uint64_t at = o->zip.directory, number;

	for (number = 0; number < o->zip.count; number++) {
		struct bpk_err found = { 0 };
		struct bpk_zip_entry entry;

		if (bpk_zip_entry(&o->zip, at, &entry, &found) != 0)
			return note_damage(o, number, &found, err);
		if (add_member(o, number, at, &entry, err) != 0)
			return -1;
		at = entry.next;
	}
	if ((at != o->zip.end || number != o->zip.claimed) && o->damage[0] == '\0')
		snprintf(o->damage, sizeof o->damage,
			 "the directory claims %" PRIu64 " members, but lists another number",
			 o->zip.claimed);
	return 0;
}

/* ---- The member's operations ---- */

static bool npz_probe(struct bpk_view head, uint64_t size)
{
	(void)size;
	return head.size >= 4 && memcmp(head.data, "PK\3\4", 4) == 0;
}

static int load(struct own *o, struct bpk_source *source, struct bpk_err *err)
{
	if (bpk_zip_open(source, &o->zip, err) != 0)
		return -1;
	if (o->zip.count > INT32_MAX)
		return bpk_fail(err, BPK_LIMIT,
				"zip has %" PRIu64 " members, less than 2^31 are "
				"accepted",
				o->zip.count);
	o->places = bpk_calloc((size_t)o->zip.count + 1, sizeof *o->places, err);
	o->packed = bpk_calloc((size_t)o->zip.count + 1, sizeof *o->packed, err);
	if (o->places == NULL || o->packed == NULL || read_directory(o, err) != 0 ||
	    check_overlaps(o, err) != 0)
		return -1;
	if (o->nplaces == 0 && !o->is_npz)
		return bpk_fail(err, BPK_UNSUPPORTED, "zip has no member that is not packed");
	return bpk_name_number_all(&o->places[0].named, sizeof *o->places, o->nplaces, err);
}

static int npz_open(struct bpk_source *source, void **own, struct bpk_layout_info *info,
		    struct bpk_err *err)
{
	struct own *o = bpk_calloc(1, sizeof *o, err);

	if (o == NULL)
		return -1;
	if (load(o, source, err) != 0) {
		npz_close(o);
		return -1;
	}
	if (o->npacked > 0) {
		snprintf(o->variant, sizeof o->variant, "%" PRIu64 " packed members left out",
			 o->npacked);
		info->variant = o->variant;
		info->left_out = o->left_out;
	}
	if (o->npacked > 1)
		snprintf(o->left_out + strlen(o->left_out),
			 sizeof o->left_out - strlen(o->left_out), ", with %" PRIu64 " more",
			 o->npacked - 1);
	info->kind = o->is_npz ? "npz" : "zip";
	info->narrays = o->nplaces;
	info->damage = o->damage[0] != '\0' ? o->damage : NULL;
	*own = o;
	return 0;
}

/* Set the array of this member: NumPy's, or its bytes. */
static int set_array(struct own *o, const struct place *place, struct bpk_err *err)
{
	struct bpk_err found = { 0 };
	uint64_t end = place->offset + place->size;

	bpk_array_clear(&o->npy.array);
	if (bpk_npy_read(o->zip.source, place->offset, place->size, &o->npy, &found) == 0 &&
	    bpk_layout_fits(end, o->npy.offset, o->npy.array.size))
		return 0;
	if (found.kind == BPK_FAILED || found.kind == BPK_NO_MEMORY) {
		if (err != NULL)
			*err = found;
		return -1;
	}
	bpk_array_clear(&o->npy.array);
	o->npy.offset = place->offset;
	o->npy.objects = false;
	return bpk_layout_set_array(&o->npy.array, 'u', '|', 1, &place->size, 1, err);
}

static int npz_get(void *own, uint64_t number, struct bpk_item *item, struct bpk_err *err)
{
	struct own *o = own;
	const struct place *place = &o->places[number];
	struct bpk_zip_entry entry;

	free(o->name);
	o->name = NULL;
	if (bpk_zip_entry(&o->zip, place->entry, &entry, err) != 0)
		return -1;
	o->name = make_name(entry.name, place->named.number, err);
	if (o->name == NULL || set_array(o, place, err) != 0)
		return -1;
	item->name = o->name;
	item->array = &o->npy.array;
	item->offset = o->npy.offset;
	item->pickled = o->npy.objects;
	return 0;
}

/* Search by hash, so that only the matching member is read. */
static int npz_find(void *own, const char *name, uint64_t frame, bool defaults,
		    struct bpk_item *item, struct bpk_err *err)
{
	struct own *o = own;
	uint64_t hash = bpk_name_hash(name);

	(void)frame;
	(void)defaults;
	for (uint64_t i = 0; i < o->nplaces; i++) {
		if (o->places[i].named.hash != hash)
			continue;
		if (npz_get(o, i, item, err) != 0)
			return -1;
		if (strcmp(item->name, name) == 0)
			return 0;
	}
	for (uint64_t i = 0; i < o->npacked; i++)
		if (o->packed[i] == hash)
			return bpk_fail(err, BPK_UNSUPPORTED,
					"'%s' is compressed in the zip; unzip(1) extracts it",
					name);
	return 1;
}

const struct bpk_layout_ops bpk_layout_npz = {
	.probe = npz_probe,
	.open = npz_open,
	.get = npz_get,
	.find = npz_find,
	.close = npz_close,
};
