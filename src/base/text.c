/*
 * The escape of untrusted text for terminals. See text.h.
 */
#include "base/text.h"

#include <stdio.h>

#include "base/json.h"

/* Controls that terminals obey. U+0080..U+009F are C2 80..C2 9F. */
static bool is_control(struct bpk_view text)
{
	uint8_t lead = text.data[0];

	return lead < 0x20 || lead == 0x7f ||
	       (lead == 0xc2 && text.size > 1 && text.data[1] < 0xa0);
}

size_t bpk_text_show(struct bpk_view text, char shown[BPK_TEXT_SHOWN])
{
	size_t size = bpk_utf8_size(text);

	if (size == 0 || is_control(text)) {
		snprintf(shown, BPK_TEXT_SHOWN, "\\x%02x", text.data[0]);
		return 1;
	}
	memcpy(shown, text.data, size);
	shown[size] = '\0';
	return size;
}
