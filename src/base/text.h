/*
 * Untrusted text for display: file names, and text from inside files.
 */
#ifndef BPK_BASE_TEXT_H
#define BPK_BASE_TEXT_H

#include "base/bytes.h"

enum { BPK_TEXT_SHOWN = 5 };

/*
 * The one escape of text for a terminal. Spell the first character of text, which is not empty: as
 * itself, or as \xHH if it is a control (U+0000..U+001F, U+007F..U+009F) or a byte that is not
 * UTF-8. The result contains neither, so spelling it again changes nothing. Returns the number of
 * bytes of text consumed.
 */
size_t bpk_text_show(struct bpk_view text, char shown[BPK_TEXT_SHOWN]);

#endif
