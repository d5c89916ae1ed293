/* The options of commands that read URLs, and what they tell about requests. Called by main and
 * shared.c; the rows are named in the tables of those commands. */
#include "cli/remote.h"

#include <inttypes.h>

#include "cli/report.h"
#include "cli/text.h"

enum { CONNECTIONS = 8, TIMEOUT = 60 };

static const uint64_t MAX_DOWNLOAD = (uint64_t)1 << 30, CACHE_SIZE = (uint64_t)1 << 30;

const struct bpk_opt bpk_opt_connections = {
	.name = "connections",
	BPK_OPT_VALUE(OPT_U64, struct bpk_shared, connections),
	.metavar = "N",
	.help = "send N requests at a time for a URL (default 8)",
	.more = "bpk-remote(7) says how URLs are read.",
	.group = GROUP_RUN,
	.environment = "BPK_CONNECTIONS",
	.min = 1,
	.max = 64,
};

const struct bpk_opt bpk_opt_timeout = {
	.name = "timeout",
	BPK_OPT_VALUE(OPT_U64, struct bpk_shared, timeout),
	.metavar = "SECONDS",
	.help = "give a URL up after SECONDS without data (default 60)",
	.more = "Until then failed requests are sent again, later each time.",
	.group = GROUP_RUN,
	.environment = "BPK_TIMEOUT",
	.min = 1,
	.max = 86400,
};

const struct bpk_opt bpk_opt_max_download = {
	.name = "max-download",
	BPK_OPT_VALUE(OPT_SIZE, struct bpk_shared, max_download),
	.metavar = "SIZE",
	.help = "refuse to download a whole URL of more than SIZE (default 1G)",
	.more = "A server that does not send ranges sends the whole file, which goes into a "
		"temporary file.",
	.group = GROUP_RUN,
	.environment = "BPK_MAX_DOWNLOAD",
	.min = 1,
	.max = INT64_MAX,
};

const struct bpk_opt bpk_opt_endpoint = {
	.name = "endpoint",
	BPK_OPT_VALUE(OPT_TEXT, struct bpk_shared, endpoint),
	.metavar = "URL",
	.help = "use the store at URL for s3:// URLs, not Amazon",
	.more = "The bucket follows in the path: URL/BUCKET/KEY.",
	.group = GROUP_RUN,
	.environment = "BPK_ENDPOINT",
};

const struct bpk_opt bpk_opt_region = {
	.name = "region",
	BPK_OPT_VALUE(OPT_TEXT, struct bpk_shared, region),
	.metavar = "NAME",
	.help = "the region of s3:// URLs (default us-east-1)",
	.group = GROUP_RUN,
	.environment = "AWS_REGION",
};

const struct bpk_opt bpk_opt_cache = {
	.name = "cache",
	BPK_OPT_VALUE(OPT_DIRECTORY, struct bpk_shared, cache),
	.metavar = "DIR",
	.help = "keep what is read of URLs in DIR, for later commands",
	.more = "A file that has changed on the server is fetched again.",
	.group = GROUP_RUN,
	.environment = "BPK_CACHE",
};

const struct bpk_opt bpk_opt_cache_size = {
	.name = "cache-size",
	BPK_OPT_VALUE(OPT_SIZE, struct bpk_shared, cache_size),
	.metavar = "SIZE",
	.help = "keep at most SIZE in --cache (default 1G)",
	.more = "What was used least recently goes first.",
	.group = GROUP_RUN,
	.environment = "BPK_CACHE_SIZE",
	.min = 4 << 20,
	.max = INT64_MAX,
};

static void tell(const char *url, const char *line)
{
	bpk_note(url, "%s", line);
}

static uint64_t given_or(uint64_t given, uint64_t value)
{
	return given > 0 ? given : value;
}

unsigned bpk_remote_connections(const struct bpk_shared *shared)
{
	return (unsigned)given_or(shared->connections, CONNECTIONS);
}

void bpk_remote_begin(const struct bpk_shared *shared)
{
	bpk_remote_set(&(struct bpk_remote_options){
		.connections = bpk_remote_connections(shared),
		.timeout = (unsigned)given_or(shared->timeout, TIMEOUT),
		.max_download = given_or(shared->max_download, MAX_DOWNLOAD),
		.endpoint = shared->endpoint,
		.region = shared->region,
		.cache = shared->cache,
		.cache_size = given_or(shared->cache_size, CACHE_SIZE),
		.tell = tell,
		.quiet = shared->quiet,
	});
}

void bpk_remote_end(const struct bpk_shared *shared)
{
	struct bpk_remote_counts counts = bpk_remote_counted();
	char received[BPK_SIZE_TEXT], cached[BPK_SIZE_TEXT], sent[BPK_SIZE_TEXT];

	if (counts.requests == 0 || shared->verbose == 0)
		return;
	bpk_note("network", "%" PRIu64 " request%s, %s received%s%s%s%s%s", counts.requests,
		 counts.requests == 1 ? "" : "s", bpk_size_text(counts.bytes, received),
		 counts.cached > 0 ? ", " : "",
		 counts.cached > 0 ? bpk_size_text(counts.cached, cached) : "",
		 counts.cached > 0 ? " from the cache" : "", counts.sent > 0 ? ", sent " : "",
		 counts.sent > 0 ? bpk_size_text(counts.sent, sent) : "");
}
