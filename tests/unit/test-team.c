/*
 * Teams of the room flow, without MPI: each rank is a thread with a reader, a draft and a writer of
 * its own, and messages go through memory. Packed files must be those of a run by one process.
 */
#include "unit/unit.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "flow/flow.h"

enum { RANKS = 5 };

#define MUST(condition)                                                                            \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);            \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

/* ---- Messages in memory ---- */

struct message {
	struct message *next;
	size_t size;
	uint8_t bytes[];
};

/* The things that the ranks of a team share. */
struct hub {
	unsigned size;
	pthread_barrier_t barrier;
	pthread_mutex_t lock;
	pthread_cond_t sent;
	struct message *box[RANKS][RANKS]; /* guarded by lock: from, to */
	void *bytes;                       /* of a broadcast, between two barriers */
	uint64_t values[RANKS];
};

struct seat {
	struct hub *hub;
	unsigned rank;
	unsigned rounds; /* stop was asked so often */
	unsigned stops_at;
};

static void broadcast(void *arg, unsigned from, void *bytes, size_t size)
{
	struct seat *seat = arg;

	if (seat->rank == from)
		seat->hub->bytes = bytes;
	pthread_barrier_wait(&seat->hub->barrier);
	if (seat->rank != from && size > 0)
		memcpy(bytes, seat->hub->bytes, size);
	pthread_barrier_wait(&seat->hub->barrier);
}

static uint64_t combine(struct seat *seat, uint64_t value, bool adds)
{
	struct hub *hub = seat->hub;
	uint64_t result;

	hub->values[seat->rank] = value;
	pthread_barrier_wait(&hub->barrier);
	result = hub->values[0];
	for (unsigned i = 1; i < hub->size; i++)
		result = adds ? result + hub->values[i] : bpk_min_u64(result, hub->values[i]);
	pthread_barrier_wait(&hub->barrier);
	return result;
}

static uint64_t minimum(void *arg, uint64_t value)
{
	return combine(arg, value, false);
}

static uint64_t total(void *arg, uint64_t value)
{
	return combine(arg, value, true);
}

static void send_to(void *arg, unsigned to, const void *bytes, size_t size)
{
	struct seat *seat = arg;
	struct message *message = malloc(sizeof *message + size), **last;

	MUST(message != NULL);
	message->next = NULL;
	message->size = size;
	if (size > 0)
		memcpy(message->bytes, bytes, size);
	pthread_mutex_lock(&seat->hub->lock);
	for (last = &seat->hub->box[seat->rank][to]; *last != NULL; last = &(*last)->next)
		;
	*last = message;
	pthread_cond_broadcast(&seat->hub->sent);
	pthread_mutex_unlock(&seat->hub->lock);
}

static void receive_from(void *arg, unsigned from, void *bytes, size_t size)
{
	struct seat *seat = arg;
	struct message **box = &seat->hub->box[from][seat->rank], *message;

	pthread_mutex_lock(&seat->hub->lock);
	while (*box == NULL)
		pthread_cond_wait(&seat->hub->sent, &seat->hub->lock);
	message = *box;
	*box = message->next;
	pthread_mutex_unlock(&seat->hub->lock);
	MUST(message->size == size);
	if (size > 0)
		memcpy(bytes, message->bytes, size);
	free(message);
}

static void end_all(void *arg, int status, const struct bpk_err *err)
{
	(void)arg;
	fprintf(stderr, "abort with %d: %s\n", status, err != NULL ? err->text : "");
	abort();
}

static int stop(void *arg, struct bpk_err *err)
{
	struct seat *seat = arg;

	if (++seat->rounds != seat->stops_at)
		return 0;
	return bpk_fail(err, BPK_PARTIAL, "stopped");
}

static struct bpk_team team_of(struct seat *seat)
{
	return (struct bpk_team){ .rank = seat->rank,
				  .size = seat->hub->size,
				  .arg = seat,
				  .broadcast = broadcast,
				  .minimum = minimum,
				  .total = total,
				  .send = send_to,
				  .receive = receive_from,
				  .stop = stop,
				  .abort = end_all };
}

/* ---- A run ---- */

static char folder[] = "/tmp/bpk-test-team-XXXXXX";

static const char *in_folder(const char *name, char path[64])
{
	snprintf(path, 64, "%s/%s", folder, name);
	return path;
}

enum { NEVER = 1 << 20 };

/* The orders to all ranks of a run. */
struct job {
	const char *format; /* NULL: unpack the archive; "": verify it */
	const char *input, *output;
	size_t chunk_size;
	unsigned ranks;
	unsigned absent; /* this rank comes to no meeting; NEVER: all do */
	unsigned stops;  /* rank 0 stops in this round; 0: never */
	bool ends_early; /* rank 0 never begins the run */
	uint64_t memory; /* the limit, which decides how large rounds are; 0: none */
	/* the outcome */
	struct bpk_flow_result result;
	struct bpk_err err; /* rank 0's */
};

struct rank {
	struct seat seat;
	struct job *job;
	pthread_t thread;
};

static struct bpk_packing packing_of(const struct job *job)
{
	return (struct bpk_packing){
		.choice.recipe = { .codec = bpk_codec_find("zstd"),
				   .level = 1,
				   .typesize = 4,
				   .pipeline = bpk_pipeline_of(BPK_FILTER_SHUFFLE),
				   .extended = bpk_format_find(job->format)->extended_chunks }
	};
}

static int open_draft(const struct job *job, unsigned rank, struct bpk_draft **draft,
		      struct bpk_err *err)
{
	const struct bpk_draft_options options = { .named = true, .overwrite = true };
	char path[64];

	return rank > 0 ? bpk_draft_shadow(false, draft, err)
			: bpk_draft_open(in_folder(job->output, path), &options, draft, err);
}

static const struct bpk_writer_ops *open_writer(const struct job *job, struct bpk_draft *draft,
						const struct bpk_plan *plan, void **writer)
{
	const struct bpk_format *format =
		job->format != NULL ? bpk_format_find(job->format) : &bpk_format_raw;
	const struct bpk_packing packing =
		job->format != NULL ? packing_of(job) : (struct bpk_packing){ 0 };
	const struct bpk_write_options options = {
		.append_space = BPK_UNKNOWN,
		.recipe = job->format != NULL ? &packing.choice.recipe : NULL,
	};
	const struct bpk_info info = { .format = format->name,
				       .raw_size = plan->raw_size,
				       .chunks.count = plan->count,
				       .chunks.size = plan->chunk_size,
				       .chunks.last_size = BPK_UNKNOWN,
				       .chunks.typesize = 4,
				       .chunks.checksum = bpk_checksum_find("crc32") };

	MUST(format->writer->open(draft, &info, &options, writer, NULL) == 0);
	return format->writer;
}

static bool packs(const struct job *job)
{
	return job->format != NULL && job->format[0] != '\0';
}

static const struct bpk_reader_ops *open_reader(const struct job *job, struct bpk_place *place,
						void **reader)
{
	const struct bpk_read_options options = { 0 };
	const struct bpk_format *format = &bpk_format_raw;
	char path[64];

	MUST(bpk_place_open(in_folder(job->input, path), NULL, place, NULL) == 0);
	if (!packs(job))
		MUST(bpk_format_probe(place, &format, NULL) == 0 && format != NULL);
	MUST(format->reader->open(place, &options, reader, NULL) == 0);
	return format->reader;
}

/* The whole of a command, by one rank; team is NULL for a run without a team. */
static void work(struct job *job, struct bpk_team *team)
{
	unsigned rank = team == NULL ? 0 : team->rank;
	struct bpk_packing packing;
	struct bpk_place place;
	struct bpk_flow flow = { .check = true, .team = team };
	struct bpk_flow_result result = { 0 };
	struct bpk_err err = { 0 };
	int rc;

	flow.limits = (struct bpk_limits){ .threads = 1 + rank % 3,
					   .memory = job->memory,
					   .memory_is_default = true };
	flow.in = open_reader(job, &place, &flow.reader);
	if (packs(job)) {
		packing = packing_of(job);
		flow.packing = &packing;
		flow.plan = bpk_plan_cut(bpk_source_size(place.source), job->chunk_size);
	} else {
		flow.decode = true;
		flow.plan = bpk_plan_all(flow.in->info(flow.reader));
	}
	if (job->format == NULL || packs(job)) {
		MUST(open_draft(job, rank, &flow.draft, NULL) == 0);
		flow.out = open_writer(job, flow.draft, &flow.plan, &flow.writer);
	}
	rc = bpk_flow_run(&flow, &result, &err);
	MUST(rank == 0 || rc != 0);
	if (rc == 0 && flow.out != NULL) {
		rc = flow.out->finish(flow.writer, &err);
		flow.out->close(flow.writer);
		flow.writer = NULL;
		MUST(rc != 0 || bpk_draft_keep(flow.draft, NULL, &err) == 0);
		flow.draft = rc == 0 ? NULL : flow.draft;
	}
	if (flow.writer != NULL)
		flow.out->close(flow.writer);
	bpk_draft_drop(flow.draft);
	flow.in->close(flow.reader);
	bpk_place_close(&place);
	if (rank == 0) {
		job->result = result;
		job->err = err;
	}
}

static void *rank_main(void *arg)
{
	struct rank *rank = arg;
	struct job *job = rank->job;
	struct bpk_team team = team_of(&rank->seat);
	struct bpk_err why = { 0 };

	rank->seat.stops_at = team.rank == 0 ? job->stops : 0;
	if (team.rank == job->absent)
		bpk_fail(&why, BPK_FAILED, "was ill");
	else if (team.rank > 0 || !job->ends_early)
		work(job, &team);
	bpk_team_end(&team, &why);
	return NULL;
}

static void run(struct job *job)
{
	static struct hub hub; /* not on the stack of a small thread */
	struct rank ranks[RANKS];

	job->err = (struct bpk_err){ 0 };
	if (job->ranks == 0) {
		work(job, NULL);
		return;
	}
	hub = (struct hub){ .size = job->ranks };
	pthread_mutex_init(&hub.lock, NULL);
	pthread_cond_init(&hub.sent, NULL);
	pthread_barrier_init(&hub.barrier, NULL, job->ranks);
	for (unsigned i = 0; i < job->ranks; i++) {
		ranks[i] = (struct rank){ .seat = { .hub = &hub, .rank = i }, .job = job };
		MUST(pthread_create(&ranks[i].thread, NULL, rank_main, &ranks[i]) == 0);
	}
	for (unsigned i = 0; i < job->ranks; i++)
		pthread_join(ranks[i].thread, NULL);
	for (unsigned i = 0; i < RANKS * RANKS; i++)
		assert_null(hub.box[i / RANKS][i % RANKS]);
	pthread_barrier_destroy(&hub.barrier);
	pthread_cond_destroy(&hub.sent);
	pthread_mutex_destroy(&hub.lock);
}

/* ---- Files ---- */

/* Numbers that pack to a part, with a run of zeros and one of noise. */
static void make_input(const char *name, size_t size)
{
	struct unit_random random = { 7 };
	char path[64];
	FILE *file = fopen(in_folder(name, path), "wb");

	assert_non_null(file);
	for (size_t i = 0; i < size; i++) {
		uint32_t noise = (uint32_t)unit_random_next(&random);
		bool zeros = i / 4096 % 7 == 3, wild = i / 4096 % 7 == 5;

		fputc(zeros ? 0 : wild ? (int)(noise & 255) : (int)(noise & 7), file);
	}
	assert_int_equal(fclose(file), 0);
}

static size_t read_file(const char *name, uint8_t **bytes)
{
	char path[64];
	FILE *file = fopen(in_folder(name, path), "rb");
	size_t size;

	assert_non_null(file);
	fseek(file, 0, SEEK_END);
	size = (size_t)ftell(file);
	rewind(file);
	*bytes = malloc(size + 1);
	assert_int_equal(fread(*bytes, 1, size, file), size);
	fclose(file);
	return size;
}

static void assert_same(const char *one, const char *other)
{
	uint8_t *a, *b;
	size_t size = read_file(one, &a);

	assert_int_equal(read_file(other, &b), size);
	assert_memory_equal(a, b, size);
	free(a);
	free(b);
}

static bool exists(const char *name)
{
	char path[64];

	return access(in_folder(name, path), F_OK) == 0;
}

static void flip(const char *name, long offset)
{
	char path[64];
	FILE *file = fopen(in_folder(name, path), "r+b");
	int was;

	fseek(file, offset, SEEK_SET);
	was = fgetc(file);
	fseek(file, offset, SEEK_SET);
	fputc(was ^ 0x40, file);
	assert_int_equal(fclose(file), 0);
}

/* No draft is left, whatever happened. */
static void assert_no_drafts(void)
{
	DIR *dir = opendir(folder);

	for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
		assert_null(strstr(entry->d_name, ".bpk-"));
	closedir(dir);
}

static void remove_file(const char *name)
{
	char path[64];

	unlink(in_folder(name, path));
}

/* ---- Tests ---- */

static const char *const formats[] = { "blp", "b2frame" };

static void test_same_bytes(void **state)
{
	static const size_t sizes[] = { 0, 1, 4096, 4097, 120000, 300001 };

	(void)state;
	for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
		make_input("in", sizes[s]);
		for (size_t f = 0; f < 2; f++) {
			struct job job = { .format = formats[f],
					   .input = "in",
					   .output = "alone",
					   .chunk_size = 4096,
					   .absent = NEVER };

			run(&job);
			assert_int_equal(job.err.kind, BPK_OK);
			for (job.ranks = 1; job.ranks <= RANKS; job.ranks++) {
				struct bpk_flow_result alone = job.result;
				struct job back = { .input = "shared",
						    .output = "back",
						    .absent = NEVER,
						    .ranks = job.ranks };

				job.output = "shared";
				/* rounds of 3 chunks, or one round of all */
				job.memory = job.ranks % 2 == 0 ? 4 * 3 * 4096 : 0;
				run(&job);
				assert_int_equal(job.err.kind, BPK_OK);
				assert_same("alone", "shared");
				assert_int_equal(job.result.nchunks, alone.nchunks);
				assert_int_equal(job.result.packed_size, alone.packed_size);
				run(&back);
				assert_int_equal(back.err.kind, BPK_OK);
				assert_same("in", "back");
				remove_file("shared");
				remove_file("back");
			}
			assert_no_drafts();
		}
	}
}

/* The lowest damaged chunk is reported, by whichever rank met it. */
static void test_lowest_failure(void **state)
{
	struct job pack = { .format = "blp",
			    .input = "in",
			    .output = "damaged",
			    .chunk_size = 4096,
			    .absent = NEVER };
	uint8_t *bytes;
	long size;

	(void)state;
	make_input("in", 300001);
	run(&pack);
	size = (long)read_file("damaged", &bytes);
	free(bytes);
	for (long part = 3; part < 8; part++)
		flip("damaged", size * part / 9);
	for (unsigned unpacks = 0; unpacks < 2; unpacks++) {
		struct job job = { .format = unpacks ? NULL : "",
				   .input = "damaged",
				   .output = "out",
				   .absent = NEVER };
		struct bpk_err alone;

		run(&job);
		alone = job.err;
		assert_int_equal(alone.kind, BPK_CORRUPT);
		for (job.ranks = 1; job.ranks <= RANKS; job.ranks++) {
			run(&job);
			assert_int_equal(job.err.kind, BPK_CORRUPT);
			assert_string_equal(job.err.text, alone.text);
			assert_false(exists("out"));
		}
	}
	assert_no_drafts();
}

/* A rank that fails before the run, rank 0 that does, and an early stop: all end. */
static void test_ends(void **state)
{
	struct job job = { .format = "b2frame",
			   .input = "in",
			   .output = "out",
			   .chunk_size = 4096,
			   .absent = 2,
			   .ranks = 4 };

	(void)state;
	make_input("in", 120000);
	run(&job);
	assert_int_equal(job.err.kind, BPK_FAILED);
	assert_string_equal(job.err.text, "rank 2: was ill");
	job.absent = NEVER;
	job.ends_early = true;
	run(&job);
	job.ends_early = false;
	job.stops = 1;
	run(&job);
	assert_int_equal(job.err.kind, BPK_PARTIAL);
	assert_false(exists("out"));
	assert_no_drafts();
	job.stops = 0;
	run(&job);
	assert_int_equal(job.err.kind, BPK_OK);
}

/* ---- Choices ---- */

struct chooser {
	struct rank rank;
	struct bpk_choice choice;
	struct bpk_cuts cuts;
};

static void *choose(void *arg)
{
	struct chooser *chooser = arg;
	struct bpk_team team = team_of(&chooser->rank.seat);

	if (team.rank == 0) {
		chooser->choice.recipe = packing_of(chooser->rank.job).choice.recipe;
		chooser->choice.chunk_size = 4096;
		chooser->choice.ncandidates = 1;
		chooser->choice.candidates[0].typesize = 8;
		MUST(bpk_sizes_add(&chooser->cuts.runs, 3, 100, 0, NULL) == 0);
		MUST(bpk_sizes_add(&chooser->cuts.runs, 1, 7, 1, NULL) == 0);
		chooser->cuts.nkinds = 2;
		chooser->cuts.kinds[0] = chooser->cuts.kinds[1] = chooser->choice;
	}
	MUST(bpk_team_share_choice(&team, &chooser->choice, &chooser->cuts, NULL, NULL) == 0);
	bpk_team_end(&team, NULL);
	return NULL;
}

static void test_choice(void **state)
{
	static struct hub hub;
	static struct chooser choosers[3];
	struct job job = { .format = "blp" };

	(void)state;
	hub = (struct hub){ .size = 3 };
	pthread_barrier_init(&hub.barrier, NULL, 3);
	for (unsigned i = 0; i < 3; i++) {
		choosers[i].rank = (struct rank){ .seat = { .hub = &hub, .rank = i }, .job = &job };
		MUST(pthread_create(&choosers[i].rank.thread, NULL, choose, &choosers[i]) == 0);
	}
	for (unsigned i = 0; i < 3; i++)
		pthread_join(choosers[i].rank.thread, NULL);
	for (unsigned i = 0; i < 3; i++) {
		struct bpk_sized last;

		assert_ptr_equal(choosers[i].choice.recipe.codec, bpk_codec_find("zstd"));
		assert_int_equal(choosers[i].choice.candidates[0].typesize, 8);
		assert_int_equal(choosers[i].cuts.nkinds, 2);
		assert_ptr_equal(choosers[i].cuts.kinds[1].recipe.codec, bpk_codec_find("zstd"));
		assert_true(bpk_sizes_chunk(&choosers[i].cuts.runs, 3, &last));
		assert_int_equal(last.size, 7);
		bpk_cuts_clear(&choosers[i].cuts);
	}
	pthread_barrier_destroy(&hub.barrier);
}

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state)
{
	static const char *const names[] = { "in", "alone", "shared", "back", "damaged", "out" };

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		remove_file(names[i]);
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_bytes),
		cmocka_unit_test(test_lowest_failure),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_choice),
	};

	alarm(300); /* a team that waits for ever is a failure */
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
