/*
 * GSD 0.0.1, the design of 2014: index entries that hold name, step and a checksum. Called by
 * gsd.c. Programs wrote the struct with the compiler's padding ("natural"); the design document
 * describes a packed one.
 */
#include "layout/gsd.h"

#include <inttypes.h>
#include <stdlib.h>

enum {
	NATURAL = 88, /* bytes of an entry with padding */
	PACKED = 82,
	NAME = 33,  /* with its NUL */
	HEAD = 256, /* the longest header; a file of the shortest one with an index is longer */
	PIECE = 1024,
};

static const uint8_t magic[4] = { 0xdf, 0x65, 0xdf, 0x65 };

/* Find the last word of the header. Its position identifies the header's layout; 0: not found. */
static size_t find_check(struct bpk_view head)
{
	static const size_t places[] = { 224, 220, 252 };

	for (size_t i = 0; i < 3; i++)
		if (bpk_get_le32(head.data + places[i]) == 0xfd56fd56)
			return places[i];
	return 0;
}

bool bpk_gsd_v0_probe(struct bpk_view head)
{
	return head.size >= HEAD && memcmp(head.data, magic, sizeof magic) == 0 &&
	       bpk_get_le32(head.data + 68) == 1 && find_check(head) != 0;
}

/* ---- The header ---- */

/* "demo 1.2.3" */
static int read_schema(struct bpk_gsd *gsd, struct bpk_view head, struct bpk_err *err)
{
	uint32_t version = bpk_get_le32(head.data + 136);
	struct bpk_buf text = { 0 };
	char *name;

	if (head.data[72] == 0)
		return 0;
	name = bpk_layout_text(bpk_view(head.data + 72, BPK_GSD_TEXT), err);
	if (name == NULL)
		return -1;
	if (bpk_buf_printf(&text, err, "%s %u.%u.%u", name, version >> 16, version >> 8 & 0xff,
			   version & 0xff) == 0 &&
	    bpk_buf_append(&text, bpk_view("", 1), err) == 0)
		gsd->schema = bpk_strdup((const char *)text.data, err);
	bpk_buf_clear(&text);
	free(name);
	return gsd->schema != NULL ? 0 : -1;
}

static int read_texts(struct bpk_gsd *gsd, struct bpk_view head, struct bpk_err *err)
{
	if (memchr(head.data + 4, 0, BPK_GSD_TEXT) == NULL ||
	    memchr(head.data + 72, 0, BPK_GSD_TEXT) == NULL)
		return bpk_fail(err, BPK_CORRUPT, "application or schema has no end");
	gsd->variant = bpk_strdup("0.0.1", err);
	if (gsd->variant == NULL)
		return -1;
	if (head.data[4] != 0) {
		gsd->application = bpk_layout_text(bpk_view(head.data + 4, BPK_GSD_TEXT), err);
		if (gsd->application == NULL)
			return -1;
	}
	return read_schema(gsd, head, err);
}

/* The natural struct has 4 bytes of padding after its check word, for a multiple of 8. */
static int read_header(struct bpk_gsd *gsd, struct bpk_view head, bool *natural,
		       struct bpk_err *err)
{
	size_t check = find_check(head);
	size_t at = check == 224 ? 144 : 140;

	*natural = check == 224;
	gsd->header_size = *natural ? 232 : check + 4;
	gsd->index.offset = bpk_get_le64(head.data + at);
	gsd->index.room = bpk_get_le64(head.data + at + 8);
	if (gsd->index.room == 0 || gsd->index.offset < gsd->header_size ||
	    gsd->index.offset > gsd->file_size)
		return bpk_fail(err, BPK_CORRUPT,
				"index of %" PRIu64 " entries at %" PRIu64 " in a file of %" PRIu64
				" bytes",
				gsd->index.room, gsd->index.offset, gsd->file_size);
	return read_texts(gsd, head, err);
}

/* ---- Entries ---- */

/* One entry as stored; name points into its bytes. */
struct raw {
	struct bpk_gsd_entry entry;
	uint64_t step, checksum;
	uint8_t type;
	const uint8_t *name;
};

/*
 * u64 frame, name[33], u8 type, u64 rows, u64 columns, u64 step, i64 location, u64 checksum; the
 * natural form has 6 bytes of padding after type.
 */
static struct raw read_raw(const uint8_t *bytes, size_t entry_size)
{
	static const uint8_t types[] = { 0, BPK_GSD_UINT8, BPK_GSD_UINT32, BPK_GSD_FLOAT32,
					 BPK_GSD_FLOAT64 };
	const uint8_t *numbers = bytes + (entry_size == NATURAL ? 48 : 42);
	uint8_t type = bytes[41];

	return (struct raw){
		.entry = { .frame = bpk_get_le64(bytes),
			   .nrows = bpk_get_le64(numbers),
			   .ncolumns = bpk_get_le64(numbers + 8),
			   .location = bpk_get_le64(numbers + 24),
			   .type = type < sizeof types ? types[type] : 0 },
		.step = bpk_get_le64(numbers + 16),
		.checksum = bpk_get_le64(numbers + 32),
		.type = type,
		.name = bytes + 8,
	};
}

static bool is_checked(const struct raw *raw)
{
	return raw->checksum ==
	       raw->type + raw->entry.nrows + raw->entry.ncolumns + raw->step + raw->entry.location;
}

/* A walk over the entries. The first pass checks them for an assumed entry size, the second stores
 * them. */
struct walk {
	struct bpk_gsd *gsd;
	size_t entry_size;
	int (*take)(struct walk *walk, const uint8_t *bytes, struct bpk_err *err); /* 1: the end */
	uint64_t number;       /* number of the entry passed to take */
	struct bpk_buf *names; /* stored names: struct name */
};

static int walk_index(struct walk *walk, struct bpk_err *err)
{
	uint8_t piece[PIECE];
	uint64_t each = PIECE / walk->entry_size;
	uint64_t room = walk->gsd->index.room;
	int rc = 0;

	for (walk->number = 0; rc == 0 && walk->number < room;) {
		uint64_t count = bpk_min_u64(each, room - walk->number);
		uint64_t at = walk->gsd->index.offset + walk->number * walk->entry_size;
		struct bpk_span span = bpk_span(piece, (size_t)count * walk->entry_size);

		if (bpk_source_need_at(walk->gsd->source, at, span, err) != 0)
			return -1;
		for (uint64_t i = 0; rc == 0 && i < count; i++, walk->number++)
			rc = walk->take(walk, piece + i * walk->entry_size, err);
	}
	return rc < 0 ? -1 : 0;
}

/* Check the checksum of each entry, up to one without a location. */
static int take_to_check(struct walk *walk, const uint8_t *bytes, struct bpk_err *err)
{
	struct raw raw = read_raw(bytes, walk->entry_size);

	if (raw.entry.location == 0 &&
	    (walk->number > 0 || bpk_is_zero(bpk_view(bytes, walk->entry_size))))
		return 1;
	if (raw.entry.location != 0 && is_checked(&raw))
		return 0;
	return bpk_fail(err, BPK_CORRUPT,
			"entry %" PRIu64 " of the index does not hold its checksum", walk->number);
}

/* Choose the entry size for which all checksums hold; sets the size of the index. */
static int choose_size(struct bpk_gsd *gsd, bool natural, size_t *entry_size, struct bpk_err *err)
{
	const size_t sizes[] = { natural ? NATURAL : PACKED, natural ? PACKED : NATURAL };

	for (size_t i = 0; i < 2; i++) {
		struct walk walk = { .gsd = gsd, .entry_size = sizes[i], .take = take_to_check };
		uint64_t left = gsd->file_size - gsd->index.offset;
		struct bpk_err found = { 0 };

		if (gsd->index.room > left / sizes[i])
			continue;
		gsd->index.size = gsd->index.room * sizes[i];
		*entry_size = sizes[i];
		if (walk_index(&walk, &found) == 0)
			return 0;
		if (found.kind != BPK_CORRUPT) {
			if (err != NULL)
				*err = found;
			return -1;
		}
	}
	return bpk_fail(err, BPK_CORRUPT, "index of GSD 0.0.1 is not sound");
}

/* ---- Names ---- */

/* A name, and the number of its entry. */
struct name {
	char text[NAME];
	uint64_t number;
};

static int by_text(const void *a, const void *b)
{
	return memcmp(((const struct name *)a)->text, ((const struct name *)b)->text, NAME);
}

/* There is no list of names, so ids are assigned in sorted order. */
static int number_names(struct bpk_gsd *gsd, struct bpk_buf *names, struct bpk_err *err)
{
	struct name *all = (void *)names->data;
	struct bpk_gsd_entry *entries = (void *)gsd->entries.data;

	if (gsd->nentries > 0)
		qsort(all, (size_t)gsd->nentries, sizeof *all, by_text);
	for (uint64_t i = 0; i < gsd->nentries; i++) {
		struct bpk_view text = bpk_view(all[i].text, strlen(all[i].text));

		if ((i == 0 || by_text(&all[i - 1], &all[i]) != 0) &&
		    bpk_gsd_names_add(&gsd->names, text, err) != 0)
			return -1;
		entries[all[i].number].id = gsd->names.count - 1;
	}
	return bpk_gsd_names_finish(&gsd->names, err);
}

/* ---- Reading ---- */

static int add_raw(struct walk *walk, const struct raw *raw, struct bpk_err *err)
{
	struct name name = { .number = walk->number };

	bpk_copy(name.text, raw->name, strlen((const char *)raw->name));
	if (bpk_buf_append(walk->names, bpk_view(&name, sizeof name), err) != 0 ||
	    bpk_buf_append(&walk->gsd->steps, bpk_view(&raw->step, 8), err) != 0)
		return -1;
	return bpk_gsd_entry_add(walk->gsd, &raw->entry, err);
}

static int check_raw(const struct bpk_gsd *gsd, const struct raw *raw, struct bpk_err *err)
{
	if (raw->name[0] == 0 || memchr(raw->name, 0, NAME) == NULL)
		return bpk_fail(err, BPK_CORRUPT, "no name, or one without an end");
	if (raw->entry.nrows == 0)
		return bpk_fail(err, BPK_CORRUPT, "no rows, expected 1 or more");
	return bpk_gsd_entry_check(gsd, &raw->entry, err);
}

static int take_to_keep(struct walk *walk, const uint8_t *bytes, struct bpk_err *err)
{
	struct raw raw = read_raw(bytes, walk->entry_size);
	struct bpk_err why = { 0 };

	if (raw.entry.location == 0)
		return 1;
	if (check_raw(walk->gsd, &raw, &why) == 0)
		return add_raw(walk, &raw, err);
	if (walk->number == 0)
		return bpk_fail(err, BPK_CORRUPT, "entry 0 of the index: %s", why.text);
	bpk_gsd_note(walk->gsd, "entry %" PRIu64 " of the index (frame %" PRIu64 "): %s",
		     walk->number, raw.entry.frame, why.text);
	return 1;
}

static int read_entries(struct bpk_gsd *gsd, size_t entry_size, struct bpk_err *err)
{
	struct bpk_buf names = { 0 };
	struct walk walk = {
		.gsd = gsd, .entry_size = entry_size, .take = take_to_keep, .names = &names
	};
	int rc = walk_index(&walk, err);

	if (rc == 0)
		rc = number_names(gsd, &names, err);
	bpk_buf_clear(&names);
	return rc == 0 ? bpk_gsd_index_finish(gsd, err) : -1;
}

int bpk_gsd_v0_read(struct bpk_gsd *gsd, struct bpk_view head, struct bpk_err *err)
{
	bool natural;
	size_t entry_size;

	if (!bpk_gsd_v0_probe(head))
		return bpk_fail(err, BPK_CORRUPT, "not a GSD file");
	if (read_header(gsd, head, &natural, err) != 0 ||
	    choose_size(gsd, natural, &entry_size, err) != 0)
		return -1;
	return read_entries(gsd, entry_size, err);
}
