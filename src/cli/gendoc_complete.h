/*
 * The parts that the completions of all shells share. For gendoc_bash.c, gendoc_zsh.c and
 * gendoc_fish.c alone. Functions that put something write it to out.
 */
#ifndef BPK_CLI_GENDOC_COMPLETE_H
#define BPK_CLI_GENDOC_COMPLETE_H

#include "cli/gendoc.h"

/* A comment for the head of each file. */
extern const char bpk_complete_made_by[];

/* True if the option's argument is the name of a file or a directory. */
bool bpk_complete_takes_path(const struct bpk_opt *opt);

/* True if the argument is a list of words, separated by commas. */
bool bpk_complete_takes_list(const struct bpk_opt *opt);

/* The row that has the option's words: a filter list that may be given again is kept as a text. */
const struct bpk_opt *bpk_complete_row(const struct bpk_opt *opt);

/* True if the argument is the name of an array in a file of the line. */
bool bpk_complete_takes_array(const struct bpk_opt *opt);

/* Put a text inside single quotes of a shell. The characters of escaped get a backslash: colons and
 * brackets need one in zsh alone. */
void bpk_complete_put_quoted(FILE *out, const char *text, const char *escaped);

/* Put the words that the option takes, with blanks between them. */
void bpk_complete_put_words(FILE *out, const struct bpk_opt *opt);

/* True if the command takes archives before all other files. */
bool bpk_complete_takes_archives(const struct bpk_command *command);

/* The number of the operand that alone is an archive: "1", or "2" behind a word; NULL if any
 * operand may be one, or none. */
const char *bpk_complete_archive_first(const struct bpk_command *command);

/* Put the suffixes of the files that the command takes, without their dots. Simulation files are
 * known by their content; these are the usual names. */
void bpk_complete_put_suffixes(FILE *out, const struct bpk_command *command);

/* Put the program's commands, with blanks between them. */
void bpk_complete_put_command_names(FILE *out);

/* Put the options of a program that take a word, each behind a blank. */
void bpk_complete_put_takers(FILE *out, const struct bpk_command *main);

/* The program's name in names of functions. */
const char *bpk_complete_identifier(void);

#endif
