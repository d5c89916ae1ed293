/*
 * Results as JSON on standard output: a record is one object on a line. Members are printed as they
 * come. Called by all commands with --json. For the main thread alone; one record at a time.
 */
#ifndef BPK_CLI_RECORD_H
#define BPK_CLI_RECORD_H

#include "cli/command.h"

/* {"bpk":1,"command":COMMAND,"path":PATH; path_b64 when PATH is not UTF-8. */
void bpk_record_begin(const char *command, const char *path);

/* The record has all its members but status and error, which the next settling adds. */
void bpk_record_end(void);

/*
 * All is done for an input, and its failures are reported: end its record with the exit status and
 * the line of the gravest failure since the last settling. A failure without a record becomes one;
 * path NULL: it belongs to no single input. Does nothing without --json.
 */
void bpk_record_settle(const struct bpk_shared *shared, const char *path);

/* NULL is null. Text that is not UTF-8 comes under KEY_b64. */
void bpk_record_text(const char *key, const char *text);
void bpk_record_bytes(const char *key, struct bpk_view text);

/* The same for a text that comes in pieces, of whole UTF-8 characters. */
void bpk_record_pieces_begin(const char *key);
void bpk_record_piece(struct bpk_view text);
void bpk_record_pieces_end(void);

/* BPK_UNKNOWN is null. */
void bpk_record_u64(const char *key, uint64_t value);
void bpk_record_bool(const char *key, bool value);
void bpk_record_seconds(const char *key, double value);
void bpk_record_number(const char *key, const char *text); /* JSON's own text; NULL is null */
void bpk_record_double(const char *key, double value);     /* finite, with all its digits */

/* A list of objects, of texts or of numbers. */
void bpk_record_list_begin(const char *key);
void bpk_record_list_end(void);
void bpk_record_item_begin(void);
void bpk_record_item_end(void);
void bpk_record_list_text(const char *text);
void bpk_record_list_u64(uint64_t value);

#endif
