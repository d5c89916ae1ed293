/* Text of SVG files: elements, escapes, head and end. Called by scatter.c and canvas_svg.c. */
#include "plot/svg.h"

#include <stdio.h>

void bpk_svg_put(struct bpk_svg *svg, const char *format, ...)
{
	char text[512];
	va_list args;
	size_t size;

	va_start(args, format);
	size = (size_t)vsnprintf(text, sizeof text, format, args);
	va_end(args);
	svg->failed = svg->failed ||
		      bpk_buf_append(svg->text, bpk_view(text, bpk_min_size(size, sizeof text - 1)),
				     svg->err) != 0;
}

static const char *entity_of(char c)
{
	return c == '&'   ? "&amp;"
	       : c == '<' ? "&lt;"
	       : c == '>' ? "&gt;"
	       : c == '"' ? "&quot;"
			  : NULL;
}

/* True for U+FFFE and U+FFFF, which XML does not have. */
static bool is_no_character(const char *shown)
{
	return strcmp(shown, "\xef\xbf\xbe") == 0 || strcmp(shown, "\xef\xbf\xbf") == 0;
}

void bpk_svg_put_text(struct bpk_svg *svg, const char *text)
{
	struct bpk_view rest = bpk_view(text, strlen(text));
	char shown[BPK_TEXT_SHOWN];

	while (rest.size > 0) {
		size_t taken = bpk_text_show(rest, shown);
		const char *entity = entity_of(shown[0]);

		bpk_svg_put(svg, "%s",
			    entity != NULL           ? entity
			    : is_no_character(shown) ? "?"
						     : shown);
		rest = bpk_view(rest.data + taken, rest.size - taken);
	}
}

void bpk_svg_put_label(struct bpk_svg *svg, const char *attributes, const char *text)
{
	bpk_svg_put(svg, "<text %s>", attributes);
	bpk_svg_put_text(svg, text);
	bpk_svg_put(svg, "</text>\n");
}

void bpk_svg_begin(struct bpk_svg *svg, int width, int height, const char *style)
{
	bpk_svg_put(svg,
		    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		    "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
		    "font-family=\"sans-serif\" font-size=\"12\">\n",
		    width, height);
	bpk_svg_put(svg, "<style>%s</style>\n", style);
	bpk_svg_put(svg, "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n");
}

int bpk_svg_end(struct bpk_svg *svg)
{
	bpk_svg_put(svg, "</svg>\n");
	return svg->failed ? -1 : 0;
}
