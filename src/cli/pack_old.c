/* bpk pack over an older archive: the new one has a seal and an identity if that had them. Called
 * by pack_work.c and pack_ident.c. */
#include "cli/pack.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "cli/report.h"

/* ---- the new archive ---- */

const char *bpk_pack_identity_obstacle(const struct bpk_pack *pack)
{
	struct bpk_view text = bpk_buf_view(&pack->metadata);

	if (bpk_program->team != NULL)
		return "is bpk's alone, not bpk-mpi's";
	if (text.size > 0 && bpk_json_kind(text) != BPK_JSON_OBJECT)
		return "needs metadata that are an object";
	return NULL;
}

bool bpk_pack_seals(const struct bpk_pack *pack)
{
	return pack->args->seal || pack->old.seal;
}

bool bpk_pack_identifies(const struct bpk_pack *pack)
{
	return pack->args->identity || pack->old.identity;
}

/* By default a seal that is asked for is one that nobody can forge, and one that goes on is as
 * strong as before. */
const struct bpk_checksum *bpk_pack_checksum(const struct bpk_pack *pack)
{
	const struct bpk_checksum *kept = &bpk_checksums[pack->old.checksum];

	if (pack->args->common.encoding.checksum != NULL)
		return pack->args->common.encoding.checksum;
	if (pack->old.seal && (!pack->args->seal || bpk_checksum_is_strong(kept)))
		return kept;
	return bpk_checksum_find(pack->args->seal ? "sha256" : "crc32");
}

/* ---- losses ---- */

static int lose(struct bpk_pack *pack, const struct bpk_err *why, const char *what,
		struct bpk_err *err)
{
	return bpk_buf_printf(&pack->old.lost, err, "%s; no %s is carried over from it\n",
			      why->text, what);
}

int bpk_pack_lose_seal(struct bpk_pack *pack, struct bpk_err *err)
{
	const struct bpk_err why = *err;

	if (!pack->old.seal || pack->args->seal ||
	    (why.kind != BPK_USAGE && why.kind != BPK_UNSUPPORTED))
		return -1;
	pack->old.seal = false;
	*err = (struct bpk_err){ 0 };
	return lose(pack, &why, "seal", err);
}

void bpk_pack_tell_old(const struct bpk_pack *pack)
{
	struct bpk_view rest = bpk_buf_view(&pack->old.lost);

	while (rest.size > 0 && !pack->args->common.shared.quiet) {
		const uint8_t *end = memchr(rest.data, '\n', rest.size);
		size_t size = (size_t)(end - rest.data);

		bpk_note(NULL, "%.*s", (int)size, (const char *)rest.data);
		rest = bpk_view(end + 1, rest.size - size - 1);
	}
}

void bpk_pack_share_old(struct bpk_pack *pack, struct bpk_team *team)
{
	struct bpk_buf lost = pack->old.lost;

	team->broadcast(team->arg, 0, &pack->old, sizeof pack->old);
	pack->old.lost = lost;
}

/* ---- the old archive ---- */

/* A link is replaced or followed, as the draft does it. A file that may not be read may be
 * replaced. */
static int find_old(const struct bpk_transfer *transfer, bool *there, struct bpk_err *why)
{
	const char *path = transfer->target;
	struct stat found;

	*there = false;
	if ((!transfer->shared->force && !transfer->replaces) || strcmp(path, "-") == 0 ||
	    bpk_path_is_url(path))
		return 0;
	if (fstatat(AT_FDCWD, path, &found, transfer->target_derived ? AT_SYMLINK_NOFOLLOW : 0) !=
	    0)
		return errno == ENOENT ? 0 : bpk_fail_errno(why, errno, "%s: cannot look", path);
	*there = S_ISDIR(found.st_mode) || (S_ISREG(found.st_mode) && found.st_size > 0);
	if (!*there || access(path, S_ISDIR(found.st_mode) ? R_OK | X_OK : R_OK) == 0)
		return 0;
	bpk_fail_errno(why, errno, "%s: cannot be read", path);
	if (errno == EACCES)
		why->kind = BPK_UNSUPPORTED;
	return -1;
}

static int open_old(struct bpk_input *old, const char *path, struct bpk_err *why)
{
	const struct bpk_read_options options = { .as_stored = true };

	if (bpk_input_look(old, path, NULL, why) != 0)
		return -1;
	if (old->format == NULL) /* it is no archive */
		return 0;
	if (bpk_input_read(old, &options, why) != 0)
		return -1;
	if (old->info->damage == NULL)
		return 0;
	bpk_fail(why, BPK_CORRUPT, "%s", old->info->damage);
	return bpk_input_subject(old, why);
}

/* A seal is told from a broken one without its chunks, which are replaced. */
static int take_seal(struct bpk_pack *pack, struct bpk_input *old, struct bpk_err *err)
{
	const struct bpk_seal_info *seal = &old->info->seal;
	struct bpk_err why = { 0 };

	if (!seal->sealed)
		return 0;
	if (old->format->reader->prove(old->reader, 0, 0, &why) == 0 &&
	    seal->generation >= INT64_MAX) /* as bpk_seal_next */
		bpk_fail(&why, BPK_LIMIT, "its seal has the last generation");
	if (why.kind != BPK_OK) {
		bpk_input_subject(old, &why);
		return bpk_err_pass(&why, err) != 0 ? -1 : lose(pack, &why, "seal", err);
	}
	pack->old.seal = true;
	pack->old.generation = seal->generation;
	while (&bpk_checksums[pack->old.checksum] != old->info->chunks.checksum)
		pack->old.checksum++;
	return 0;
}

static int take_identity(struct bpk_pack *pack, const struct bpk_input *old, struct bpk_err *err)
{
	const char *obstacle = bpk_pack_identity_obstacle(pack);
	struct bpk_err why;

	pack->old.identity = obstacle == NULL;
	if (obstacle == NULL)
		return 0;
	bpk_fail(&why, BPK_USAGE, "an identity %s", obstacle);
	bpk_input_subject(old, &why);
	return lose(pack, &why, "identity", err);
}

static int take(struct bpk_pack *pack, struct bpk_input *old, struct bpk_err *err)
{
	struct bpk_ident tree = { 0 };
	struct bpk_err why = { 0 };
	enum bpk_ident_state state;
	int rc = bpk_ident_find(old->info, BPK_UNKNOWN, &tree, &state, err);

	bpk_ident_clear(&tree);
	if (rc != 0)
		return bpk_input_subject(old, err);
	if (old->format == pack->format && state != BPK_IDENT_NONE)
		rc = take_identity(pack, old, err);
	if (old->format == pack->format)
		return rc == 0 ? take_seal(pack, old, err) : -1;
	if (!old->info->seal.sealed && state == BPK_IDENT_NONE)
		return 0;
	bpk_fail(&why, BPK_UNSUPPORTED, "was of another format, %s", old->format->name);
	bpk_input_subject(old, &why);
	return lose(pack, &why, "seal or identity", err);
}

int bpk_pack_look_at_old(struct bpk_pack *pack, struct bpk_err *err)
{
	struct bpk_input old = { 0 };
	struct bpk_err why = { 0 };
	bool there;
	int rc = find_old(&pack->transfer, &there, &why);

	if (rc == 0 && !there)
		return 0;
	if (rc == 0)
		rc = open_old(&old, pack->transfer.target, &why);
	if (rc == 0)
		rc = old.format != NULL ? take(pack, &old, err) : 0;
	else if (bpk_err_pass(&why, err) == 0)
		rc = lose(pack, &why, "seal or identity", err);
	bpk_input_close(&old);
	return rc;
}
