/* bpk tar: a dataset that is stored, and the tar it goes to. tar_store.c and tar_copy.c call it. */
#include "cli/tar_store.h"

#include "cli/text.h"

int bpk_tar_subject(const struct bpk_tar_storing *s, struct bpk_err *err)
{
	return bpk_err_subject(err, "%s", bpk_output_name(s->tar));
}

void bpk_tar_count_like(struct bpk_tar_storing *s, const struct bpk_input *in)
{
	struct stat like;

	if (bpk_input_like(in, &like))
		bpk_stat_narrow(&s->like, &like);
}

static int look_at(struct bpk_tar_dataset *dataset, const struct bpk_input *in, struct bpk_err *err)
{
	dataset->stat = *bpk_input_stat(in);
	if (in->place.is_directory || bpk_source_seekable(in->place.source))
		return 0;
	bpk_fail(err, BPK_FAILED, "is a pipe, which does not say how much it brings");
	return bpk_input_subject(in, err);
}

int bpk_tar_input(const struct bpk_tar_storing *s, struct bpk_input *in,
		  struct bpk_tar_dataset *dataset, struct bpk_err *err)
{
	if (bpk_input_find(in, dataset->path, &s->args->shared, err) != 0)
		return -1;
	if (in->format == NULL)
		return bpk_input_fail_unknown(in, err);
	return look_at(dataset, in, err);
}
