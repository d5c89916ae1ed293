/*
 * A shared library to preload into a command: its Nth allocation fails, or its Nth thread does not
 * start.
 *
 *     LD_PRELOAD=nomemory.so NOMEMORY_ALLOCATION=N NOMEMORY_THREAD=N NOMEMORY_REPORT=FILE COMMAND
 *
 * Unset or 0: nothing fails. At its end the command writes the numbers of allocations and threads
 * that it requested into FILE. Allocations count from the time when the shared libraries are ready,
 * but for those of libcrypto and libarchive, which may crash by themselves without memory.
 * Only glibc names the functions behind its allocator; elsewhere nothing is replaced and no report
 * is written. Not for sanitizer builds, which replace the allocator themselves.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __GLIBC__
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

enum { HIGH = 100 }; /* a descriptor that no command is asked for */

/* Fixed after begin. */
static long bad_allocation, bad_thread;
static int begun, report_fd = -1;

/* Any thread; atomic. */
static long allocations, threads;

static long number_in(const char *variable)
{
	const char *text = getenv(variable);

	return text != NULL ? atol(text) : 0;
}

/* Open the report now: a command that reads may later give up its right to write files. */
static void open_report(void)
{
	const char *path = getenv("NOMEMORY_REPORT");
	int fd = path != NULL ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) : -1;

	if (fd < 0)
		return;
	report_fd = fcntl(fd, F_DUPFD_CLOEXEC, HIGH);
	close(fd);
}

__attribute__((constructor)) static void begin(void)
{
	open_report();
	bad_allocation = number_in("NOMEMORY_ALLOCATION");
	bad_thread = number_in("NOMEMORY_THREAD");
	begun = 1;
}

__attribute__((destructor)) static void report(void)
{
	long asked = allocations;

	begun = 0;
	if (report_fd >= 0)
		dprintf(report_fd, "%ld %ld\n", asked, threads);
}

static int is_in(const void *caller, const char *library)
{
	Dl_info found;

	return dladdr(caller, &found) != 0 && found.dli_fname != NULL &&
	       strstr(found.dli_fname, library) != NULL;
}

static int is_left_alone(const void *caller)
{
	return is_in(caller, "libcrypto.") || is_in(caller, "libarchive.");
}

static int fails(const void *caller)
{
	if (!begun || is_left_alone(caller) ||
	    __atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED) != bad_allocation)
		return 0;
	errno = ENOMEM;
	return 1;
}

void *malloc(size_t size)
{
	return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	/* of these glibc's loader cannot miss the table of unique symbols: it ends the program */
	if (is_in(__builtin_return_address(0), "/ld-linux"))
		return __libc_calloc(count, size);
	return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
	return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(old, size);
}

void *memalign(size_t alignment, size_t size)
{
	return fails(__builtin_return_address(0)) ? NULL : __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
	void *new = memalign(alignment, size);

	if (new == NULL)
		return ENOMEM;
	*out = new;
	return 0;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*enter)(void *),
		   void *argument)
{
	static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

	if (__atomic_add_fetch(&threads, 1, __ATOMIC_RELAXED) == bad_thread)
		return EAGAIN;
	if (real == NULL)
		*(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
	return real(thread, attributes, enter, argument);
}
#endif
