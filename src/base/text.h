/*
 * Text of others for people to see: names of files, and what files say.
 */
#ifndef BPK_BASE_TEXT_H
#define BPK_BASE_TEXT_H

#include "base/bytes.h"

enum { BPK_TEXT_SHOWN = 5 };

/*
 * The one escape of text for a terminal. Spell the first character of text, which is not empty: as
 * it is, or as \xHH where it is a control (U+0000..U+001F, U+007F..U+009F) or a byte that is no
 * UTF-8. What is spelled is a text without either, so spelling it again changes nothing.
 * Returns how many bytes of text that were.
 */
size_t bpk_text_show(struct bpk_view text, char shown[BPK_TEXT_SHOWN]);

#endif
