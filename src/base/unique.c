/* Random numbers as text. See unique.h. */
#include "base/unique.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/random.h>

int bpk_unique_make(struct bpk_unique *unique, struct bpk_err *err)
{
	uint64_t number[2];

	if (getrandom(number, sizeof number, 0) != sizeof number)
		return bpk_fail_errno(err, errno, "getrandom");
	snprintf(unique->text, sizeof unique->text, "%016" PRIx64 "%016" PRIx64, number[0],
		 number[1]);
	return 0;
}
