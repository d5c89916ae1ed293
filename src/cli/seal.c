/* bpk seal: a signature of the seal of an archive, made and tested. Called by main through the
 * table of commands. */
#include "cli/seal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/report.h"
#include "cli/side.h"
#include "cli/signal.h"
#include "cli/signature.h"
#include "cli/text.h"

struct seal_args {
	struct bpk_shared shared;
	const char *sign;     /* a file with a key, or NULL */
	const char *check;    /* a file of signers, or NULL */
	const char *identity; /* NULL: any of these */
	bool quick;
};

static const struct bpk_opt opt_sign = {
	.name = "sign",
	BPK_OPT_VALUE(OPT_FILE, struct seal_args, sign),
	.metavar = "KEY",
	.help = "sign the seal with the SSH key in the file KEY",
	.more = "KEY is a private key, or a public one whose private key ssh-agent(1) has. The "
		"signature goes into FILE.sig.",
};

static const struct bpk_opt opt_check = {
	.name = "check",
	BPK_OPT_VALUE(OPT_FILE, struct seal_args, check),
	.metavar = "SIGNERS",
	.help = "test seal and signature; one of SIGNERS must have made it",
	.more = "SIGNERS is a file of allowed signers as in ssh-keygen(1): a line has a name and a "
		"public key.",
};

static const struct bpk_opt opt_identity = {
	.letter = 'I',
	.name = "identity",
	BPK_OPT_VALUE(OPT_TEXT, struct seal_args, identity),
	.metavar = "NAME",
	.help = "with --check: NAME must have signed",
};

static const struct bpk_opt opt_quick = {
	.name = "quick",
	BPK_OPT_VALUE(OPT_FLAG, struct seal_args, quick),
	.help = "with --check: read no chunk",
	.more = "Header, metadata, index and the seal's record are tested against the root. It "
		"tells who signed this state; whether the chunks are still those of then, bpk cat "
		"--prove tells of each that it reads.",
};

static const struct bpk_opt *const rows[] = {
	&opt_sign,
	&opt_check,
	&opt_identity,
	&opt_quick,
	&bpk_opt_format_read,
	&bpk_opt_force,
	&bpk_opt_no_sync,
	&bpk_opt_threads,
	&bpk_opt_memory_limit,
	&bpk_opt_quiet,
	&bpk_opt_verbose,
	&bpk_opt_progress,
	&bpk_opt_help,
	NULL,
};

static const struct seal_args defaults = {
	.shared = { .judges = true, .as_stored = true, .audits = true }
};

/* ---- the archive ---- */

static int open_sealed(const struct seal_args *args, const char *path, struct bpk_input *in,
		       struct bpk_err *err)
{
	const struct bpk_shared *shared = &args->shared;
	char word[BPK_WORD_TEXT];

	if (bpk_input_find(in, path, shared, err) != 0 ||
	    bpk_side_check_own(in, "a signature", err) != 0 ||
	    bpk_input_start(in, shared, shared->chunk_limit, err) != 0)
		return -1;
	if (in->info->seal.sealed)
		return 0;
	bpk_fail(err, args->check != NULL ? BPK_CORRUPT : BPK_FAILED,
		 "has no seal; bpk convert --seal %s NEW makes an archive with one",
		 bpk_shell_word(path, word));
	err->advises = true;
	return bpk_input_subject(in, err);
}

/* ---- signing ---- */

/* A signature of a state that the archive does not follow is evidence: it was replaced. */
static int compare_states(const struct bpk_seal_info *old, const struct bpk_seal_info *new,
			  struct bpk_err *err)
{
	if (old->generation > new->generation)
		return bpk_fail(err, BPK_FAILED,
				"exists, and signs generation %" PRIu64
				", the archive is an older one, at generation %" PRIu64
				"; --force replaces it",
				old->generation, new->generation);
	if (old->generation == new->generation &&
	    memcmp(old->root, new->root, sizeof new->root) != 0)
		return bpk_fail(err, BPK_FAILED,
				"exists, and signs another archive of generation %" PRIu64
				"; --force replaces it",
				old->generation);
	return 0;
}

/* Fail unless the file that is replaced is a signature of the same key, and of an earlier state. */
static int compare_old(const struct bpk_signature *old, const struct bpk_signature *new,
		       struct bpk_err *err)
{
	struct bpk_buf a = { 0 }, b = { 0 };
	struct bpk_err why = { 0 };
	int rc = bpk_signature_key(new, &b, err);

	if (rc == 0 && bpk_signature_key(old, &a, &why) != 0)
		rc = bpk_fail(err, BPK_FAILED, "exists, and %s; --force replaces it", why.text);
	else if (rc == 0 && strcmp((const char *)a.data, (const char *)b.data) != 0)
		rc = bpk_fail(err, BPK_FAILED, "exists, signed with %s; --force replaces it",
			      (const char *)a.data);
	if (rc == 0)
		rc = compare_states(&old->seal, &new->seal, err);
	bpk_buf_clear(&a);
	bpk_buf_clear(&b);
	return rc;
}

static int check_old(const char *name, const struct bpk_signature *new, struct bpk_err *err)
{
	struct bpk_signature old = { 0 };
	struct bpk_err why = { 0 };
	bool there;
	int rc = 0;

	if (bpk_signature_read(name, &old, &there, &why) != 0)
		rc = why.kind == BPK_CORRUPT
			     ? bpk_fail(err, BPK_FAILED, "%s, and exists; --force replaces it",
					why.text)
			     : bpk_fail_as(err, &why);
	else if (there && compare_old(&old, new, err) != 0)
		rc = bpk_err_subject(err, "%s", name);
	bpk_signature_clear(&old);
	return rc;
}

static int write_file(const struct seal_args *args, const char *name,
		      const struct bpk_signature *signature, struct bpk_err *err)
{
	const struct bpk_draft_options how = { .overwrite = true, .sync = !args->shared.no_sync };
	struct bpk_draft *draft = NULL;

	if (bpk_draft_open(name, &how, &draft, err) != 0)
		return bpk_err_subject(err, "%s", name);
	if (bpk_draft_write(draft, bpk_buf_view(&signature->armour), err) != 0 ||
	    bpk_draft_write(draft, bpk_buf_view(&signature->text), err) != 0) {
		bpk_draft_drop(draft);
		return bpk_err_subject(err, "%s", name);
	}
	return bpk_draft_keep(draft, NULL, err) == 0 ? 0 : bpk_err_subject(err, "%s", name);
}

static int test_all(const struct seal_args *args, struct bpk_input *in, struct bpk_err *err)
{
	if (bpk_side_test(&args->shared, in, err) == 0)
		return 0;
	bpk_side_advise(in, err);
	return -1;
}

/* A signature of a damaged archive would be a false promise: all of it is tested first. */
static int sign(const struct seal_args *args, struct bpk_input *in, const char *name,
		struct bpk_err *err)
{
	struct bpk_signature signature = { 0 };
	int rc = bpk_seal_check_strong(in->info, err) != 0 ? bpk_input_subject(in, err)
							   : test_all(args, in, err);

	if (rc == 0 && bpk_signature_make(in->info, args->sign, &signature, err) != 0)
		rc = bpk_input_subject(in, err);
	if (rc == 0 && !args->shared.force)
		rc = check_old(name, &signature, err);
	if (rc == 0)
		rc = write_file(args, name, &signature, err);
	if (rc == 0 && args->shared.verbose)
		bpk_note(in->path, "generation %" PRIu64 " is signed in %s",
			 signature.seal.generation, name);
	bpk_signature_clear(&signature);
	return rc;
}

/* ---- checking ---- */

/* Test the archive against its root. */
static int test(const struct seal_args *args, struct bpk_input *in, struct bpk_err *err)
{
	if (!args->quick)
		return test_all(args, in, err);
	if (in->format->reader->prove(in->reader, 0, 0, err) != 0)
		return bpk_input_subject(in, err);
	return bpk_input_unchanged(in, err);
}

/* The archive was changed since it was signed. Only of an intact one can somebody say whether the
 * change was meant: damage would be signed with it. */
static int judge_changed(const struct seal_args *args, const struct bpk_signature *signature,
			 struct bpk_input *in, struct bpk_err *err)
{
	char word[BPK_WORD_TEXT];

	if (test(args, in, err) != 0)
		return -1;
	bpk_fail(err, BPK_REPAIRABLE,
		 "the signature is of generation %" PRIu64 ", the archive is at generation %" PRIu64
		 "%s; if you made that change, bpk seal --sign KEY %s signs it",
		 signature->seal.generation, in->info->seal.generation,
		 args->quick ? ", and its chunks were not read" : " and intact",
		 bpk_shell_word(in->path, word));
	return bpk_input_subject(in, err);
}

/* Compare the archive with the signed text. */
static int judge(const struct seal_args *args, const struct bpk_signature *signature,
		 struct bpk_input *in, struct bpk_err *err)
{
	const struct bpk_seal_info *signed_seal = &signature->seal, *seal = &in->info->seal;

	if (strcmp(signature->format, in->info->format) != 0)
		bpk_fail(err, BPK_CORRUPT,
			 "the signature is of an archive of the format %s, not %s",
			 signature->format, in->info->format);
	else if (signed_seal->generation < seal->generation)
		return judge_changed(args, signature, in, err);
	else if (signed_seal->generation > seal->generation)
		bpk_fail(err, BPK_CORRUPT,
			 "the archive is at generation %" PRIu64
			 ", an older one than the signature's, %" PRIu64
			 ": look for the newer archive, in a backup",
			 seal->generation, signed_seal->generation);
	else if (memcmp(signed_seal->root, seal->root, sizeof seal->root) != 0)
		bpk_fail(err, BPK_CORRUPT, "the seal's root is not the one that was signed");
	else
		return 0;
	return bpk_input_subject(in, err);
}

/* Read the signature, and find who made it, with which key. */
static int read_signed(const struct seal_args *args, const struct bpk_input *in, const char *name,
		       struct bpk_signature *signature, struct bpk_buf *who, struct bpk_err *err)
{
	bool there;

	if (bpk_signature_read(name, signature, &there, err) != 0)
		return -1;
	if (!there) {
		bpk_fail(err, BPK_CORRUPT, "has no signature, %s is missing", name);
		return bpk_input_subject(in, err);
	}
	if (bpk_signature_signer(signature, args->check, args->identity, who, err) != 0)
		return bpk_err_subject(err, "%s", name);
	return 0;
}

static void tell(const struct seal_args *args, const struct bpk_input *in,
		 const struct bpk_signature *signature, const struct bpk_buf *who,
		 const struct bpk_buf *key)
{
	struct bpk_err line = { 0 };

	bpk_fail(&line, BPK_OK, "generation %" PRIu64 " is signed by %s with %s%s",
		 signature->seal.generation, (const char *)who->data, (const char *)key->data,
		 args->quick ? "; its chunks were not read" : "");
	bpk_input_subject(in, &line);
	puts(line.text);
	bpk_flush_results();
}

static int check(const struct seal_args *args, struct bpk_input *in, const char *name,
		 struct bpk_err *err)
{
	struct bpk_signature signature = { 0 };
	struct bpk_buf who = { 0 }, key = { 0 };
	int rc = read_signed(args, in, name, &signature, &who, err);

	if (rc == 0 && bpk_signature_key(&signature, &key, err) != 0)
		rc = bpk_err_subject(err, "%s", name);
	if (rc == 0)
		rc = judge(args, &signature, in, err);
	if (rc == 0)
		rc = test(args, in, err);
	if (rc == 0 && !args->shared.quiet)
		tell(args, in, &signature, &who, &key);
	bpk_signature_clear(&signature);
	bpk_buf_clear(&who);
	bpk_buf_clear(&key);
	return rc;
}

/* ---- all ---- */

static void seal_one(void *arg, const char *path)
{
	const struct seal_args *args = arg;
	struct bpk_input in = { 0 };
	struct bpk_err err = { 0 };
	char *name = NULL;

	if (strcmp(path, "-") == 0)
		bpk_fail(&err, BPK_USAGE, "no signature lies beside standard input, name a FILE");
	else
		name = bpk_side_beside(path, BPK_SIGNATURE_SUFFIX, &err);
	if (name != NULL && open_sealed(args, path, &in, &err) != 0)
		bpk_side_advise_path(path, &err);
	else if (name != NULL)
		(void)(args->sign != NULL ? sign : check)(args, &in, name, &err);
	if (err.kind != BPK_OK)
		bpk_report(NULL, &err);
	bpk_input_close(&in);
	free(name);
}

static int check_usage(const struct seal_args *args, size_t count, struct bpk_err *err)
{
	if ((args->sign != NULL) == (args->check != NULL))
		return bpk_fail(err, BPK_USAGE, "needs one of --sign and --check");
	if (args->identity != NULL && args->check == NULL)
		return bpk_fail(err, BPK_USAGE, "--identity needs --check");
	if (args->quick && args->check == NULL)
		return bpk_fail(err, BPK_USAGE, "--quick needs --check");
	return count > 0 ? 0 : bpk_fail(err, BPK_USAGE, "needs a FILE");
}

static void run_seal(void *arg, char **operands, size_t count)
{
	struct bpk_err err = { 0 };

	if (check_usage(arg, count, &err) != 0) {
		bpk_report("seal", &err);
		return;
	}
	bpk_signals_start();
	bpk_input_each(operands, count, seal_one, arg);
}

static const struct bpk_foreign foreign[] = {
	{ ' ', "verify",
	  "--check SIGNERS tests seal and signature; 'bpk verify FILE' tests the seal alone" },
	{ 0 },
};

const struct bpk_command bpk_command_seal = {
	.name = "seal",
	.synopsis = "--sign KEY [OPTION]... FILE...\n--check SIGNERS [OPTION]... FILE...",
	.summary = "sign the seal of an archive, and test such a signature",
	.description =
		"With --sign, tests each FILE, an archive with a seal (bpk pack --seal), and "
		"writes FILE.sig, a signature of the seal by ssh-keygen. With --check, tests the "
		"signature, the signer, and that FILE is as it was signed, and prints who signed.",
	.operands = OPERANDS_ARCHIVES,
	.options = rows,
	.foreign = foreign,
	.args_size = sizeof(struct seal_args),
	.defaults = &defaults,
	.run = run_seal,
};
