/*
 * Hostile GSD files, changed in memory: frames are added and cut off. The editor may write only
 * where its store allows. Before each commit and after each failed write the file must hold the old
 * frames. After a commit they must still be there, byte for byte, with the new ones after them or
 * without those cut off.
 *
 * The last byte of a file selects the changes. A note of bpk's own in its header gets a valid hash.
 */
#include "fuzz/fuzz.h"

#include "layout/layout.h"

#include <stdio.h>
#include <stdlib.h>

enum {
	LARGEST = 1 << 16, /* bytes of an input */
	FULL = 1 << 20,    /* bytes that a file may grow to */
	MOST_ITEMS = 200,  /* arrays that are compared */
	MOST_KEPT = 100,   /* frames kept by a cut */
	HEADER = 256,
	NOTE = 176,       /* offset in the header */
	NOTE_HASHED = 24, /* bytes of the note before its hash */
};

static void require(bool promise, const char *text)
{
	if (promise)
		return;
	fprintf(stderr, "broken: %s\n", text);
	abort();
}

/* The only failures allowed for hostile bytes: damaged, unsupported, too large. */
static void judge(const struct bpk_err *err)
{
	require(err->kind == BPK_CORRUPT || err->kind == BPK_UNSUPPORTED || err->kind == BPK_LIMIT,
		err->text);
	require(err->text[0] != '\0', "failures say why");
}

/* ---- The content of a file ---- */

struct opened {
	struct bpk_source *source;
	struct bpk_layout *layout; /* NULL: plain bytes */
	const struct bpk_layout_info *info;
	struct bpk_view bytes;
	struct bpk_gsd_verdict verdict;
	bool sound;
};

static struct opened open_bytes(struct bpk_view bytes)
{
	struct opened opened = { .bytes = bytes };
	struct bpk_err err = { 0 };

	require(bpk_source_of_memory(bytes, &opened.source, &err) == 0 &&
			bpk_layout_open(opened.source, &opened.layout, &err) == 0,
		err.text);
	opened.info = opened.layout != NULL ? bpk_layout_info(opened.layout) : NULL;
	opened.sound = bpk_gsd_verify(opened.source, NULL, NULL, &opened.verdict, &err) == 0;
	if (!opened.sound)
		judge(&err);
	return opened;
}

static void close_opened(struct opened *opened)
{
	bpk_layout_close(opened->layout);
	bpk_source_close(opened->source);
}

/* The array of that name and frame must be the same in both. */
static void compare_item(struct opened *now, const struct opened *before,
			 const struct bpk_item *item)
{
	struct bpk_item found;
	struct bpk_err err = { 0 };
	int rc = bpk_layout_find(now->layout, item->name, item->frame, false, &found, &err);

	require(rc == 0, rc < 0 ? err.text : "an old array is found");
	require(found.array->size == item->array->size, "it has as many bytes");
	require(found.array->dtype.scalar.kind == item->array->dtype.scalar.kind &&
			found.array->dtype.size == item->array->dtype.size &&
			found.array->ndimensions == item->array->ndimensions,
		"it is of the same kind");
	require(found.offset <= now->bytes.size &&
			found.array->size <= now->bytes.size - found.offset,
		"it lies in the file");
	require(found.array->size == 0 ||
			memcmp(now->bytes.data + found.offset, before->bytes.data + item->offset,
			       (size_t)found.array->size) == 0,
		"it holds the same bytes");
}

/* All arrays of the frames below nframes must be the same. Returns their number. */
static uint64_t compare(struct opened *now, struct opened *before, uint64_t nframes)
{
	uint64_t count = 0, compared = 0;
	struct bpk_err err = { 0 };
	struct bpk_item item;

	for (uint64_t i = 0; i < before->info->narrays; i++) {
		require(bpk_layout_get(before->layout, i, &item, &err) == 0, err.text);
		if (item.frame >= nframes)
			continue;
		count++;
		if (compared++ < MOST_ITEMS)
			compare_item(now, before, &item);
	}
	return count;
}

/* ---- The store ---- */

struct store {
	struct bpk_buf file;
	uint64_t end; /* of the committed content */
	uint64_t top; /* the file is written without a gap up to here */
	uint64_t free_offset, free_size;
	unsigned fail_at; /* the number of the write that fails; 0: no write fails */
	unsigned nwrites;
	bool guarded;          /* until the next commit */
	struct bpk_buf before; /* the file as opened or last committed */
};

/* The file must still hold all frames of before. In a damaged file frames may appear whose data lay
 * behind its end, where bytes are written now. */
static void check_unharmed(const struct store *store)
{
	struct opened now = open_bytes(bpk_buf_view(&store->file));
	struct opened before = open_bytes(bpk_buf_view(&store->before));

	require((now.layout == NULL) == (before.layout == NULL), "a file that opened still does");
	if (now.layout != NULL) {
		require(now.info->narrays == before.info->narrays ||
				(before.info->damage != NULL &&
				 now.info->narrays > before.info->narrays),
			"it has its old arrays");
		compare(&now, &before, BPK_UNKNOWN);
	}
	require(now.sound || !before.sound || before.info == NULL || before.info->nframes == 0,
		"a sound file is sound at any instant, but in its first frame");
	require(!before.sound || now.info == NULL || now.info->nframes == before.info->nframes,
		"it has its old frames");
	close_opened(&before);
	close_opened(&now);
}

static void keep_before(struct store *store)
{
	struct bpk_err err = { 0 };

	store->before.size = 0;
	require(bpk_buf_append(&store->before, bpk_buf_view(&store->file), &err) == 0, err.text);
}

static uint64_t begin(void *own, uint64_t end)
{
	struct store *store = own;

	require(store->file.size == 0 || end <= store->file.size, "the content is in the file");
	store->end = store->top = end;
	store->free_size = 0;
	return end;
}

static int guard(void *own, struct bpk_err *err)
{
	struct store *store = own;

	(void)err;
	require(store->top == store->end, "nothing was written before");
	store->guarded = true;
	return 0;
}

static void set_free(void *own, uint64_t offset, uint64_t size)
{
	struct store *store = own;

	require(offset >= HEADER && offset <= store->top && size <= store->top - offset,
		"a free region is in the file");
	require(store->free_size == 0, "one region is free at a time");
	store->free_offset = offset;
	store->free_size = size;
}

static int write_at(void *own, uint64_t offset, struct bpk_view bytes, struct bpk_err *err)
{
	struct store *store = own;
	bool in_free = offset >= store->free_offset && bytes.size <= store->free_size &&
		       offset - store->free_offset <= store->free_size - bytes.size;

	require(in_free || (offset >= store->end && offset <= store->top),
		"no committed byte is overwritten, and no gap is left");
	if (++store->nwrites == store->fail_at)
		return bpk_fail(err, BPK_LIMIT, "this write fails");
	if (bytes.size > FULL || offset > FULL - bytes.size)
		return bpk_fail(err, BPK_LIMIT, "the file is full");
	if (offset + bytes.size > store->file.size &&
	    bpk_buf_resize(&store->file, (size_t)(offset + bytes.size), err) != 0)
		return -1;
	bpk_copy(store->file.data + offset, bytes.data, bytes.size);
	store->top = bpk_max_u64(store->top, offset + bytes.size);
	return 0;
}

static int commit(void *own, struct bpk_view header, uint64_t end, struct bpk_err *err)
{
	struct store *store = own;

	require(header.size == HEADER, "a header is one");
	require(end >= HEADER && end <= store->top, "the content ends where something was written");
	if (store->before.size > 0 && !store->guarded)
		check_unharmed(store);
	if (++store->nwrites == store->fail_at)
		return bpk_fail(err, BPK_LIMIT, "this commit fails");
	bpk_copy(store->file.data, header.data, header.size);
	store->file.size = (size_t)end;
	store->end = store->top = end;
	store->free_size = 0;
	store->guarded = false;
	keep_before(store);
	return 0;
}

/* Undo guarded writes, as the next change of the file does. */
static void end_session(struct store *store)
{
	struct bpk_err err = { 0 };

	if (store->guarded) {
		store->file.size = 0;
		require(bpk_buf_append(&store->file, bpk_buf_view(&store->before), &err) == 0,
			err.text);
		store->guarded = false;
	}
	check_unharmed(store);
}

static struct bpk_gsd_store store_of(struct store *store)
{
	static const struct bpk_gsd_store_ops ops = {
		.begin = begin,
		.guard = guard,
		.set_free = set_free,
		.write_at = write_at,
		.commit = commit,
	};

	return (struct bpk_gsd_store){ &ops, store };
}

static void store_init(struct store *store, struct bpk_view bytes, unsigned fail_at)
{
	struct bpk_err err = { 0 };

	*store = (struct store){ .fail_at = fail_at };
	require(bpk_buf_append(&store->file, bytes, &err) == 0, err.text);
	keep_before(store);
}

static void store_clear(struct store *store)
{
	bpk_buf_clear(&store->file);
	bpk_buf_clear(&store->before);
}

/* ---- Changes ---- */

/* Returns NULL if the file cannot be changed in this way. */
static struct bpk_gsd_editor *open_editor(struct store *store, bool to_cut)
{
	struct bpk_gsd_store door = store_of(store);
	struct bpk_gsd_editor *editor;
	struct bpk_source *source;
	struct bpk_err err = { 0 };

	require(bpk_source_of_memory(bpk_buf_view(&store->file), &source, &err) == 0, err.text);
	if (bpk_gsd_editor_open(&door, source, to_cut, &editor, &err) != 0) {
		require(editor == NULL, "a failure leaves nothing");
		judge(&err);
	}
	bpk_source_close(source);
	return editor;
}

static int put(struct bpk_gsd_editor *editor, const char *name, uint8_t fill, struct bpk_err *err)
{
	static const struct bpk_scalar scalars[] = { { 'f', '<', 4, "" },
						     { 'u', '|', 1, "" },
						     { 'i', '<', 8, "" } };
	const struct bpk_scalar *scalar = &scalars[fill % 3];
	uint64_t nrows = fill % 7, ncolumns = fill % 2 + 1;
	uint8_t bytes[7 * 2 * 8];

	memset(bytes, fill, sizeof bytes);
	if (bpk_gsd_editor_put(editor, name, scalar, nrows, ncolumns, err) != 0)
		return -1;
	return bpk_gsd_editor_write(
		editor, bpk_view(bytes, (size_t)(nrows * ncolumns * scalar->item_size)), err);
}

/* count arrays must follow those of before, in the next frame, with fill in every byte. */
static void check_new(struct opened *now, const struct opened *before, uint64_t count, uint8_t fill)
{
	struct bpk_err err = { 0 };
	struct bpk_item item;

	require(now->info->narrays == before->info->narrays + count, "as many arrays as were put");
	for (uint64_t i = before->info->narrays; i < now->info->narrays; i++) {
		require(bpk_layout_get(now->layout, i, &item, &err) == 0, err.text);
		require(item.frame == before->info->nframes, "new arrays are in the new frame");
		for (uint64_t at = 0; at < item.array->size; at++)
			require(now->bytes.data[item.offset + at] == fill,
				"they hold the new bytes");
	}
}

static void check_appended(const struct store *store, struct bpk_view old, uint64_t count,
			   uint8_t fill)
{
	struct opened now = open_bytes(bpk_buf_view(&store->file));
	struct opened before = open_bytes(old);

	require(now.layout != NULL, "a committed file opens");
	require(now.info->damage == NULL, now.info->damage);
	require(now.sound || !before.sound, "a sound file stays one");
	require(now.info->nframes == before.info->nframes + 1, "there is one frame more");
	compare(&now, &before, BPK_UNKNOWN);
	check_new(&now, &before, count, fill);
	close_opened(&before);
	close_opened(&now);
}

/* Append one frame of names, which NULL ends. False: the editor failed, and must be closed. */
static bool append(struct store *store, struct bpk_gsd_editor *editor, const char *const *names,
		   uint8_t fill)
{
	struct bpk_buf old = { 0 };
	struct bpk_err err = { 0 };
	uint64_t count = 0;
	bool well = true;

	require(bpk_buf_append(&old, bpk_buf_view(&store->before), &err) == 0, err.text);
	for (; well && names[count] != NULL; count++)
		well = put(editor, names[count], fill, &err) == 0;
	well = well && bpk_gsd_editor_end_frame(editor, &err) == 0 &&
	       bpk_gsd_editor_commit(editor, &err) == 0;
	if (well)
		check_appended(store, bpk_buf_view(&old), count, fill);
	else
		/* an editor opened for a cut meets damage in the index here */
		require(err.kind == BPK_LIMIT || err.kind == BPK_FAILED || err.kind == BPK_CORRUPT,
			err.text);
	bpk_buf_clear(&old);
	return well;
}

/* The number of the first nframes that readers see: those after the last array are not seen. */
static uint64_t seen_frames(struct opened *opened, uint64_t nframes)
{
	struct bpk_err err = { 0 };
	struct bpk_item item;
	uint64_t seen = 0;

	for (uint64_t i = 0; i < opened->info->narrays; i++) {
		require(bpk_layout_get(opened->layout, i, &item, &err) == 0, err.text);
		if (item.frame < nframes)
			seen = bpk_max_u64(seen, item.frame + 1);
	}
	return seen;
}

static void check_cut(const struct store *store, struct bpk_view old, uint64_t nframes)
{
	struct opened now = open_bytes(bpk_buf_view(&store->file));
	struct opened before = open_bytes(old);

	require(now.layout != NULL, "a cut file opens");
	require(now.info->damage == NULL || before.info->damage != NULL, now.info->damage);
	require(now.sound || !before.sound, "a sound file stays one when it is cut");
	require(now.info->nframes == seen_frames(&before, nframes), "as many frames as asked for");
	require(now.info->narrays == compare(&now, &before, nframes), "and no arrays of others");
	close_opened(&before);
	close_opened(&now);
}

static bool truncate_to(struct store *store, struct bpk_gsd_editor *editor, uint64_t nframes)
{
	struct bpk_buf old = { 0 };
	struct bpk_err err = { 0 };
	bool well;

	require(bpk_buf_append(&old, bpk_buf_view(&store->before), &err) == 0, err.text);
	well = bpk_gsd_editor_truncate(editor, nframes, &err) == 0;
	if (well) {
		require(bpk_gsd_editor_nframes(editor) == nframes, "so many are left");
		check_cut(store, bpk_buf_view(&old), nframes);
	} else {
		/* the index of the frames that are kept may be damaged */
		require(err.kind == BPK_LIMIT || err.kind == BPK_CORRUPT, err.text);
	}
	bpk_buf_clear(&old);
	return well;
}

/* ---- Sessions ---- */

/* Names: one that the file may have, and one of its last bytes, which it hardly has. */
struct names {
	char known[64];
	char odd[17];
};

static void find_names(struct bpk_view bytes, struct names *names)
{
	struct opened opened = open_bytes(bytes);
	struct bpk_item item;

	snprintf(names->known, sizeof names->known, "known");
	/* a label that tells equal names apart is not a name in the file */
	if (opened.layout != NULL && opened.info->narrays > 0 &&
	    bpk_layout_get(opened.layout, 0, &item, NULL) == 0 && strlen(item.name) < 64 &&
	    strchr(item.name, '#') == NULL)
		snprintf(names->known, sizeof names->known, "%s", item.name);
	close_opened(&opened);
	memset(names->odd, 0, sizeof names->odd);
	if (bytes.size >= 16)
		bpk_copy(names->odd, bytes.data + bytes.size - 16, 16);
}

/* Append three frames one by one, then cut some off and append another. */
static void add_frames(struct bpk_view bytes, const struct names *names, uint8_t seed)
{
	const char *const some[] = { names->known, NULL };
	const char *const more[] = { "new/one", names->known, "two", NULL };
	const char *const odd[] = { names->odd, NULL };
	struct bpk_gsd_editor *editor;
	struct store store;

	store_init(&store, bytes, seed % 4 == 3 ? seed / 4 % 8 + 1 : 0);
	editor = open_editor(&store, false);
	if (editor != NULL && append(&store, editor, some, seed) &&
	    append(&store, editor, more, (uint8_t)(seed + 1)) &&
	    append(&store, editor, some, (uint8_t)(seed + 2)) &&
	    truncate_to(&store, editor, bpk_gsd_editor_nframes(editor) - seed % 3) &&
	    append(&store, editor, odd, (uint8_t)(seed + 3)))
		(void)truncate_to(&store, editor, bpk_gsd_editor_nframes(editor) / 2);
	end_session(&store);
	bpk_gsd_editor_close(editor);
	store_clear(&store);
}

/* Cut off frames of a file that may be damaged; then open it again and append one. */
static void cut_frames(struct bpk_view bytes, const struct names *names, uint8_t seed)
{
	const char *const some[] = { names->known, "new", NULL };
	struct opened opened = open_bytes(bytes);
	struct bpk_gsd_editor *editor;
	struct store store;
	uint64_t most;

	store_init(&store, bytes, seed % 8 == 5 ? seed / 8 % 8 + 1 : 0);
	editor = open_editor(&store, true);
	if (editor != NULL) {
		most = bpk_min_u64(bpk_gsd_editor_nframes(editor), opened.verdict.sound_frames);
		most = bpk_min_u64(most, MOST_KEPT);
		(void)truncate_to(&store, editor, most - seed % (most + 1));
	}
	end_session(&store);
	bpk_gsd_editor_close(editor);
	editor = open_editor(&store, false);
	if (editor != NULL)
		(void)append(&store, editor, some, seed);
	bpk_gsd_editor_close(editor);
	store_clear(&store);
	close_opened(&opened);
}

/* FNV-1a, the hash of such a note. */
static void sign_note(uint8_t *header)
{
	uint64_t hash = 0xcbf29ce484222325u;

	if (memcmp(header + NOTE, "bpkindex", 8) != 0)
		return;
	for (size_t i = 0; i < NOTE_HASHED; i++)
		hash = (hash ^ header[NOTE + i]) * 0x100000001b3u;
	bpk_put_le64(header + NOTE + NOTE_HASHED, hash);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct names names;
	struct bpk_view bytes;
	uint8_t *copy, seed;

	if (size < HEADER || size > LARGEST)
		return 0;
	copy = malloc(size);
	require(copy != NULL, "memory");
	memcpy(copy, data, size);
	sign_note(copy);
	bytes = bpk_view(copy, size);
	seed = data[size - 1];
	find_names(bytes, &names);
	add_frames(bytes, &names, seed);
	cut_frames(bytes, &names, seed);
	free(copy);
	return 0;
}
