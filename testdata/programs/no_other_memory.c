/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A static program that takes all memory away that it finds in /proc/self/maps, but for its own file, heap and stack, as programs do that
 * restore another program's memory. It then still sorts, gets signals, and forks.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>

#include "subtests.h"

static int wait_for(pid_t pid)
{
	int status;

	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int by_value(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static bool qsort_works(void)
{
	int numbers[40];

	for (int i = 0; i < 40; i++)
		numbers[i] = i * 17 % 40;
	qsort(numbers, 40, sizeof(int), by_value);
	return numbers[0] == 0 && numbers[39] == 39;
}

/* Whether a mapping of /proc/self/maps has something that this program needs to go on. */
static bool is_needed(const char *name)
{
	return strstr(name, "no_other_memory") || strstr(name, "[stack]") || strstr(name, "[vsyscall]") ||
	       strstr(name, "[heap]");
}

/* Calls use for each mapping that the program does not need. Returns how many there were. */
static int each_unneeded(void (*use)(uintptr_t, size_t))
{
	static struct {
		uintptr_t first;
		size_t size;
	} found[1000];
	FILE *file = fopen("/proc/self/maps", "r");
	unsigned long needed_end = 0;
	char line[4096];
	int count = 0;

	CHECK(file);
	while (count < 1000 && fgets(line, sizeof(line), file)) {
		unsigned long first, end;
		char protection[8];

		CHECK(sscanf(line, "%lx-%lx %4s", &first, &end, protection) == 3);
		/* The program's data without a file lies behind its other data. */
		if (first == needed_end || is_needed(line)) {
			needed_end = end;
			continue;
		}
		found[count].first = first;
		found[count++].size = end - first;
	}
	fclose(file);
	for (int i = 0; i < count; i++)
		use(found[i].first, found[i].size);
	return count;
}

static void unmap(uintptr_t first, size_t size)
{
	CHECK(munmap((void *)first, size) == 0);
}

static void unmap_around(uintptr_t first, size_t size)
{
	/* With the page before and the page behind, unless something else is there. */
	munmap((void *)(first - 4096), size + 8192);
}

static void protect(uintptr_t first, size_t size)
{
	mprotect((void *)first, size, PROT_NONE);
	syscall(SYS_pkey_mprotect, first, size, PROT_READ, -1);
}

static void map_over(uintptr_t first, size_t size)
{
	mmap((void *)first, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
}

static void move_over(uintptr_t first, size_t size)
{
	void *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(page != MAP_FAILED && size);
	mremap(page, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)first);
}

static void drop(uintptr_t first, size_t size)
{
	madvise((void *)first, size, MADV_DONTNEED);
	madvise((void *)first, size, MADV_DONTFORK);
	madvise((void *)first, size, 18 /* MADV_WIPEONFORK */);
	madvise((void *)first, size, MADV_REMOVE);
}

static void attach_over(uintptr_t first, size_t size)
{
	static int segment = -1;

	if (segment < 0)
		segment = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);
	CHECK(segment >= 0 && size);
	shmat(segment, (void *)first, SHM_REMAP);
	shmctl(segment, IPC_RMID, NULL);
}

/* As checkpointing and loading programs do: all memory but the program's own is taken away, in every way. */
static void nothing_else_mapped(void)
{
	pid_t child;

	CHECK(each_unneeded(unmap) < 1000);
	/* New code is still translated, signals arrive, children begin. */
	CHECK(qsort_works() && raise(SIGURG) == 0);
	child = fork();
	if (!child)
		_exit(qsort_works() ? 6 : 1);
	CHECK(wait_for(child) == 6);
}

static void everything_overwritten(void)
{
	static void (*const ways[])(uintptr_t, size_t) = {protect,  drop,        move_over,
							  map_over, attach_over, unmap_around};
	pid_t child;

	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		each_unneeded(ways[i]);
		CHECK(qsort_works());
		child = fork();
		if (!child)
			_exit(qsort_works() ? 6 : 1);
		CHECK(wait_for(child) == 6);
	}
}

int main(int argc, char **argv)
{
	static const struct subtest tests[] = {
		SUBTEST(nothing_else_mapped),
		SUBTEST(everything_overwritten),
	};

	return run_subtests(tests, sizeof(tests) / sizeof(*tests), argc, argv);
}
