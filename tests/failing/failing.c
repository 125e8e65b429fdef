/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A library for LD_PRELOAD: fails one allocation, or one write to a regular file, in programs of one name. The
 * environment selects the failure.
 *
 *     PTL_FAILING_PROGRAM=NAME    name of the program; other programs, also children, run normally
 *     PTL_FAILING_ALLOCATION=N    the N-th allocation fails, and the next ones up to PTL_FAILING_RUN
 *     PTL_FAILING_WRITE=N         the N-th write to a regular file fails with ENOSPC
 *     PTL_FAILING_RUN=N           number of failures in a row; by default 1
 *     PTL_FAILING_COUNTS=FILE     file for the counts at the end of the program: "ALLOCATIONS WRITES"
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

struct failing {
	unsigned long at; /* 0: no call fails */
	unsigned long count;
};

static struct failing allocations, writes;
static unsigned long in_a_row = 1;
static bool on;

static unsigned long number(const char *name)
{
	const char *text = getenv(name);

	return text ? strtoul(text, NULL, 10) : 0;
}

static void write_counts(void)
{
	const char *path = getenv("PTL_FAILING_COUNTS");
	const unsigned long allocated = allocations.count, written = writes.count;
	char text[64];
	int fd;

	on = false;
	fd = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
	if (fd < 0)
		return;
	snprintf(text, sizeof(text), "%lu %lu\n", allocated, written);
	if (write(fd, text, strlen(text)) < 0)
		_exit(99);
	close(fd);
}

__attribute__((constructor)) static void start(void)
{
	const char *program = getenv("PTL_FAILING_PROGRAM");

	if (!program || strcmp(program, program_invocation_short_name) != 0)
		return;
	allocations.at = number("PTL_FAILING_ALLOCATION");
	writes.at = number("PTL_FAILING_WRITE");
	if (number("PTL_FAILING_RUN"))
		in_a_row = number("PTL_FAILING_RUN");
	atexit(write_counts);
	on = true;
}

/* Returns whether this call fails. */
static bool fails(struct failing *calls)
{
	const unsigned long call = on ? __atomic_add_fetch(&calls->count, 1, __ATOMIC_RELAXED) : 0;

	return calls->at && call >= calls->at && call < calls->at + in_a_row;
}

static bool has_no_memory(void)
{
	if (!fails(&allocations))
		return false;
	errno = ENOMEM;
	return true;
}

void *malloc(size_t size)
{
	return has_no_memory() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	return has_no_memory() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
	return has_no_memory() ? NULL : __libc_realloc(memory, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return has_no_memory() ? NULL : __libc_memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size)
{
	*memory = has_no_memory() ? NULL : __libc_memalign(alignment, size);
	return *memory ? 0 : ENOMEM;
}

ssize_t write(int fd, const void *data, size_t size)
{
	struct stat info;

	if (on && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && fails(&writes)) {
		errno = ENOSPC;
		return -1;
	}
	return syscall(SYS_write, fd, data, size);
}
