/* What main does for commands that read URLs. */
#ifndef BPK_CLI_REMOTE_H
#define BPK_CLI_REMOTE_H

#include "cli/command.h"

/* Requests that a command sends at a time. */
unsigned bpk_remote_connections(const struct bpk_shared *shared);

/* Set the options of URLs, before a command runs. */
void bpk_remote_begin(const struct bpk_shared *shared);

/* With --verbose, report the number of requests that the command sent, and the bytes received. */
void bpk_remote_end(const struct bpk_shared *shared);

#endif
