/* URLs and their escapes. Called by store.c, s3.c, tree.c and list.c. */
#include "io/remote/url.h"

#include <stdlib.h>

static bool is_unreserved(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '.' || c == '_' || c == '~';
}

int bpk_url_encode(struct bpk_buf *to, const char *text, const char *kept, struct bpk_err *err)
{
	static const char digits[] = "0123456789ABCDEF";
	int rc = 0;

	for (; rc == 0 && *text != '\0'; text++) {
		char escape[] = { '%', digits[(uint8_t)*text >> 4], digits[*text & 15] };

		if (is_unreserved(*text) || strchr(kept, *text) != NULL)
			rc = bpk_buf_append(to, bpk_view(text, 1), err);
		else
			rc = bpk_buf_append(to, bpk_view(escape, sizeof escape), err);
	}
	return rc;
}

int bpk_url_check_host(const char *url, struct bpk_err *err)
{
	const char *host = strstr(url, "://") + 3;
	size_t size = strcspn(host, "/?#");

	/* a password would be shown in messages and process lists */
	if (memchr(host, '@', size) != NULL)
		return bpk_fail(err, BPK_USAGE,
				"a URL with a user's name; name and password belong in ~/.netrc");
	if (size == 0 || *host == ':')
		return bpk_fail(err, BPK_USAGE, "a URL without a host");
	return 0;
}

int bpk_url_below(const struct bpk_url *folder, const char *name, struct bpk_url *url,
		  struct bpk_err *err)
{
	struct bpk_buf text = { 0 };

	*url = *folder;
	url->text = NULL;
	if (bpk_buf_append(&text, bpk_view(folder->text, strlen(folder->text)), err) != 0 ||
	    bpk_url_encode(&text, name, "/", err) != 0 ||
	    bpk_buf_append(&text, bpk_view("", 1), err) != 0) {
		bpk_buf_clear(&text);
		return -1;
	}
	url->text = (char *)text.data;
	return 0;
}

void bpk_url_clear(struct bpk_url *url)
{
	free(url->text);
	*url = (struct bpk_url){ 0 };
}
