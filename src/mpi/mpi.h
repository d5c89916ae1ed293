/*
 * The room mpi: the messages of a team (flow/team.h), by MPI. Nothing else knows MPI, and only
 * bpk-mpi is linked with it: cli/main_mpi.c calls it. For the main thread alone.
 *
 * All failures of MPI end the job.
 */
#ifndef BPK_MPI_MPI_H
#define BPK_MPI_MPI_H

#include "flow/flow.h"

/* Begin, with the arguments of main. Returns the team of all processes of the job: of one where no
 * mpirun started it. */
struct bpk_team *bpk_mpi_start(int *argc, char ***argv);

/* The name and version of the library: "MPICH 4.0.2". */
const char *bpk_mpi_library(void);

/* The end of the job for this process, which waits for the others. exit calls it, too. */
void bpk_mpi_end(void);

#endif
