/* The calls of a team, each by one or a few of MPI's. bpk-mpi uses them through mpi.h. */
#include "mpi/mpi.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	TAG_PAIR = 1,    /* send and receive */
	TAG_POST = 2,    /* post and collect */
	PIECE = 1 << 30, /* bytes: MPI counts with an int */
};

/* A message that was posted. */
struct posted {
	struct posted *next;
	MPI_Request request;
	uint8_t bytes[];
};

static uint64_t *counter; /* rank 0's, in a window that all ranks reach */
static MPI_Win window;
static struct posted *posts;
static struct bpk_team team;

/* ---- Calls of all ranks ---- */

static void broadcast(void *arg, unsigned from, void *bytes, size_t size)
{
	uint8_t *at = bytes;

	(void)arg;
	for (; size > 0; at += PIECE) {
		size_t part = bpk_min_size(size, PIECE);

		MPI_Bcast(at, (int)part, MPI_BYTE, (int)from, MPI_COMM_WORLD);
		size -= part;
	}
}

/* MPICH 4.0 compares MPI_UINT64_T as if it had a sign. No number comes near the largest one. */
static uint64_t minimum(void *arg, uint64_t value)
{
	int64_t own = value > INT64_MAX ? INT64_MAX : (int64_t)value, least;

	(void)arg;
	MPI_Allreduce(&own, &least, 1, MPI_INT64_T, MPI_MIN, MPI_COMM_WORLD);
	return least == INT64_MAX ? BPK_UNKNOWN : (uint64_t)least;
}

static uint64_t total(void *arg, uint64_t value)
{
	uint64_t sum;

	(void)arg;
	MPI_Allreduce(&value, &sum, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
	return sum;
}

/* ---- Between two ranks ---- */

static void send_to(void *arg, unsigned to, const void *bytes, size_t size)
{
	const uint8_t *at = bytes;

	(void)arg;
	for (; size > 0; at += PIECE) {
		size_t part = bpk_min_size(size, PIECE);

		MPI_Send(at, (int)part, MPI_BYTE, (int)to, TAG_PAIR, MPI_COMM_WORLD);
		size -= part;
	}
}

static void receive_from(void *arg, unsigned from, void *bytes, size_t size)
{
	uint8_t *at = bytes;

	(void)arg;
	for (; size > 0; at += PIECE) {
		size_t part = bpk_min_size(size, PIECE);

		MPI_Recv(at, (int)part, MPI_BYTE, (int)from, TAG_PAIR, MPI_COMM_WORLD,
			 MPI_STATUS_IGNORE);
		size -= part;
	}
}

/* ---- To rank 0, at any time ---- */

static void end_all(void *arg, int status, const struct bpk_err *err)
{
	(void)arg;
	if (err != NULL)
		fprintf(stderr, "bpk-mpi: rank %u: %s\n", team.rank, err->text);
	MPI_Abort(MPI_COMM_WORLD, status);
	abort();
}

static uint64_t take(void *arg)
{
	const uint64_t one = 1;
	uint64_t before = 0;

	(void)arg;
	MPI_Fetch_and_op(&one, &before, MPI_UINT64_T, 0, 0, MPI_SUM, window);
	MPI_Win_flush(0, window);
	return before;
}

/* Free the messages that have gone; with waits, all. */
static void release_posts(bool waits)
{
	struct posted **at = &posts;

	while (*at != NULL) {
		struct posted *one = *at;
		int gone = waits;

		if (waits)
			MPI_Wait(&one->request, MPI_STATUS_IGNORE);
		else
			MPI_Test(&one->request, &gone, MPI_STATUS_IGNORE);
		if (gone) {
			*at = one->next;
			free(one);
		} else {
			at = &one->next;
		}
	}
}

static void post(void *arg, struct bpk_view bytes)
{
	struct bpk_err err = { 0 };
	struct posted *one;

	release_posts(false);
	one = bpk_calloc(1, sizeof *one + bytes.size, &err);
	if (one == NULL || bytes.size > PIECE)
		end_all(arg, EXIT_FAILURE, &err);
	memcpy(one->bytes, bytes.data, bytes.size);
	MPI_Isend(one->bytes, (int)bytes.size, MPI_BYTE, 0, TAG_POST, MPI_COMM_WORLD,
		  &one->request);
	one->next = posts;
	posts = one;
}

static bool collect(void *arg, bool waits, struct bpk_buf *message)
{
	struct bpk_err err = { 0 };
	MPI_Status status;
	int there = 1, size;

	if (waits)
		MPI_Probe(MPI_ANY_SOURCE, TAG_POST, MPI_COMM_WORLD, &status);
	else
		MPI_Iprobe(MPI_ANY_SOURCE, TAG_POST, MPI_COMM_WORLD, &there, &status);
	if (!there)
		return false;
	MPI_Get_count(&status, MPI_BYTE, &size);
	if (bpk_buf_resize(message, (size_t)size, &err) != 0)
		end_all(arg, EXIT_FAILURE, &err);
	MPI_Recv(message->data, size, MPI_BYTE, status.MPI_SOURCE, TAG_POST, MPI_COMM_WORLD,
		 MPI_STATUS_IGNORE);
	return true;
}

/* ---- Beginning and end ---- */

static void make_counter(void)
{
	MPI_Win_allocate(team.rank == 0 ? sizeof *counter : 0, sizeof *counter, MPI_INFO_NULL,
			 MPI_COMM_WORLD, &counter, &window);
	MPI_Win_lock_all(0, window);
	if (team.rank == 0) {
		const uint64_t none = 0;

		MPI_Put(&none, 1, MPI_UINT64_T, 0, 0, 1, MPI_UINT64_T, window);
		MPI_Win_flush(0, window);
	}
	MPI_Barrier(MPI_COMM_WORLD);
}

void bpk_mpi_end(void)
{
	int ended;

	MPI_Finalized(&ended);
	if (ended)
		return;
	release_posts(true);
	MPI_Win_unlock_all(window);
	MPI_Win_free(&window);
	MPI_Finalize();
}

struct bpk_team *bpk_mpi_start(int *argc, char ***argv)
{
	int provided, rank, size;

	MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	team = (struct bpk_team){
		.rank = (unsigned)rank,
		.size = (unsigned)size,
		.broadcast = broadcast,
		.minimum = minimum,
		.total = total,
		.send = send_to,
		.receive = receive_from,
		.take = take,
		.post = post,
		.collect = collect,
		.abort = end_all,
	};
	make_counter();
	atexit(bpk_mpi_end);
	return &team;
}

const char *bpk_mpi_library(void)
{
	static char text[MPI_MAX_LIBRARY_VERSION_STRING];
	int size;

	MPI_Get_library_version(text, &size);
	text[strcspn(text, "\n,")] = '\0';
	for (char *c = text; *c != '\0'; c++)
		if (*c == '\t')
			*c = ' ';
	return text;
}
