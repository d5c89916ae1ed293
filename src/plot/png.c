/* PNG files by libpng, which is loaded at the first call. Called by canvas_png.c. */
#include "plot/png.h"

#include "plot/plot.h"

#include "config.h"

#ifdef HAVE_LIBPNG
#include <png.h>

#define CALLS(X)                                                                                   \
	X(png_image_write_to_memory)                                                               \
	X(png_image_free)

static struct {
	CALLS(BPK_LIBRARY_CALL)
} calls = { CALLS(PNG_ADDRESS) };
static const char *const names[] = { CALLS(BPK_LIBRARY_NAME) NULL };
static struct bpk_library library = BPK_LIBRARY(PNG_SONAME, names, calls);

const char *bpk_plot_png_library(void)
{
	return PNG_LIBPNG_VER_STRING;
}

/* The file is no larger than the macro says. */
int bpk_png_encode(const uint8_t *pixels, uint32_t width, uint32_t height, struct bpk_buf *out,
		   struct bpk_err *err)
{
	png_image image = { .version = PNG_IMAGE_VERSION,
			    .width = width,
			    .height = height,
			    .format = PNG_FORMAT_RGB };
	png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
	int rc = 0;

	if (bpk_library_need(&library, err) != 0 || bpk_buf_reserve(out, size, err) < 0)
		return -1;
	if (calls.png_image_write_to_memory(&image, out->data + out->size, &size, 0, pixels, 0,
					    NULL) == 0)
		rc = bpk_fail(err, BPK_FAILED, "libpng: %s", image.message);
	else
		out->size += size;
	calls.png_image_free(&image);
	return rc;
}

#else

const char *bpk_plot_png_library(void)
{
	return NULL;
}

int bpk_png_encode(const uint8_t *pixels, uint32_t width, uint32_t height, struct bpk_buf *out,
		   struct bpk_err *err)
{
	(void)pixels;
	(void)width;
	(void)height;
	(void)out;
	return bpk_fail(err, BPK_UNSUPPORTED, "this bpk was built without libpng");
}

#endif
