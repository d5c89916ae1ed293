/*
 * gendoc writes the generated parts of the manual pages, and the completions of three shells, from
 * the tables of commands and options. Part of the build, not of bpk.
 */
#ifndef BPK_CLI_GENDOC_H
#define BPK_CLI_GENDOC_H

#include <stdio.h>

#include "cli/command.h"

/*
 * Copy a manual page's template to out. A line @NAME@ is replaced by that part of the tables for
 * the page's command; @VERSION@ is replaced anywhere. command is the page's; that of the program
 * for bpk.1, bpk-mpi.1 and the pages of other sections. Returns 0, or -1 for an unknown marker (it
 * is named on standard error).
 */
int bpk_gendoc_man(const struct bpk_command *command, FILE *template, FILE *out);

/* The completions of bpk_program. */
void bpk_gendoc_bash(FILE *out);
void bpk_gendoc_zsh(FILE *out);
void bpk_gendoc_fish(FILE *out);

#endif
