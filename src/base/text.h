/*
 * Untrusted text: its encoding, and its display; file names, and text from inside files. Numbers
 * as text. A part of the room's door.
 */
#ifndef BPK_BASE_TEXT_H
#define BPK_BASE_TEXT_H

#include "base/bytes.h"

/* True when bytes are well-formed UTF-8 without a NUL. */
bool bpk_utf8_valid(struct bpk_view bytes);

/* Size of the character at the start of text, which is not empty; 0 if it is malformed or NUL. */
size_t bpk_utf8_size(struct bpk_view text);

/* True for lines of text: no controls but blanks and newlines, and mostly ASCII. Reads a sample of
 * more than 16 KiB. */
bool bpk_text_is_lines(struct bpk_view bytes);

/* The word for count things, in messages: "1 byte", "2 bytes". */
static inline const char *bpk_plural(uint64_t count, const char *one, const char *many)
{
	return count == 1 ? one : many;
}

enum { BPK_TEXT_SHOWN = 5 };

/*
 * The one escape of text for a terminal. Spell the first character of text, which is not empty: as
 * itself, or as \xHH if it is a control (U+0000..U+001F, U+007F..U+009F), changes the direction
 * of text or breaks lines (as U+202E and U+2028 do), or is a byte that is not UTF-8. The result
 * contains none of these, so spelling it again changes nothing. Returns the number of bytes of text
 * consumed.
 */
size_t bpk_text_show(struct bpk_view text, char shown[BPK_TEXT_SHOWN]);

enum { BPK_WORD_TEXT = 256 };

/*
 * A file name as one word of a command line for a shell, in messages that advise one: as it is, in
 * quotes, or as $'...' if bpk_text_show would change it (POSIX.1-2024, 2.2.4). A dash in front gets
 * "./". "FILE" stands for standard input ("-", NULL), and for a name that is too long for a line.
 */
const char *bpk_shell_word(const char *name, char word[BPK_WORD_TEXT]);

enum { BPK_NUMBER_TEXT = 32 };

/* A number with as few digits as give the same double, or float, when they are read back: "0.1",
 * "1e+300", "nan", "-inf". */
const char *bpk_double_text(double value, char out[BPK_NUMBER_TEXT]);
const char *bpk_float_text(float value, char out[BPK_NUMBER_TEXT]);

#endif
