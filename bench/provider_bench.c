/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Measures the cost of an event for the writing program: provider not registered, not enabled, enabled for another
 * level only, and enabled. The event has three fields of 32 bytes in total. Measured with one and two sessions, and
 * with threads. Prints the CPU time of the writing threads, best of several rounds, including the loop. Rings are
 * emptied between timed spans. provider_lttng.sh measures lttng-ust in the same way.
 */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ptl/provider.h>

#include "bench/bench.h"
#include "provider/session_layout.h"
#include "provider/session_rules.h"

#define SPAN 4000
#define RING_SIZE (1u << 20)
#define THREADS_MAX 8

PTL_PROVIDER(bench, "PTL-Bench");
PTL_EVENT(bench, three_fields, 1, "ThreeFields", PTL_LEVEL_INFORMATIONAL, 0x1, "{0} {1} {2}", PTL_U64(first),
	  PTL_U64(second), PTL_UTF8(text));
PTL_EVENT(bench, verbose_fields, 2, "Verbose", PTL_LEVEL_VERBOSE, 0x2, "{0} {1} {2}", PTL_U64(first), PTL_U64(second),
	  PTL_UTF8(text));

static unsigned rounds = 200;
static char folder[64];

static void fail_bench(const char *what)
{
	perror(what);
	exit(1);
}

/* ---- a recorder that discards events ---- */

static void start_session(unsigned slot, uint8_t level)
{
	struct provider_shm_session_file file = {
		.session =
			{
				.magic = PROVIDER_SHM_SESSION_MAGIC,
				.version = PROVIDER_SHM_VERSION,
				.size = sizeof(file.session) + sizeof(file.rules[0]),
				.id = 100 + slot,
				.slot = slot,
				.recorder = (uint32_t)getpid(),
				.flags = PROVIDER_SHM_SESSION_EVERYONE,
				.clock = 1,
				.ring_size = RING_SIZE,
				.rule_count = 1,
			},
		.rules = {{.match = PROVIDER_SHM_MATCH_ALL, .level = level, .keywords = UINT64_MAX}},
	};
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/" PROVIDER_SHM_SESSION_NAME, folder, slot);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	/* The lock is held until the process ends. */
	if (fd < 0 || flock(fd, LOCK_EX) || write(fd, &file, file.session.size) != (ssize_t)file.session.size)
		fail_bench(path);
}

static void stop_session(unsigned slot)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/" PROVIDER_SHM_SESSION_NAME, folder, slot);
	unlink(path);
}

/* All rings of all sessions, mapped into memory. */
static struct provider_shm_ring *rings[2 * THREADS_MAX];
static size_t ring_count;

static void map_rings(void)
{
	DIR *files = opendir(folder);
	struct dirent *entry;

	for (size_t i = 0; i < ring_count; i++)
		munmap(rings[i], PROVIDER_SHM_PAGE);
	ring_count = 0;
	while (files && (entry = readdir(files))) {
		struct provider_shm_rings first;
		char path[512];
		int fd;

		if (strncmp(entry->d_name, "rings.", 6) != 0)
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd < 0 || pread(fd, &first, sizeof(first), 0) != sizeof(first))
			fail_bench(path);
		for (uint32_t i = 0; i < first.ring_count && ring_count < 2 * THREADS_MAX; i++) {
			struct provider_shm_ring *ring = mmap(NULL, PROVIDER_SHM_PAGE, PROT_READ | PROT_WRITE,
							      MAP_SHARED, fd,
							      (off_t)PROVIDER_SHM_RING_OFFSET(RING_SIZE, i));

			if (ring == MAP_FAILED)
				fail_bench(path);
			rings[ring_count++] = ring;
		}
		close(fd);
	}
	if (files)
		closedir(files);
}

static void empty_rings(void)
{
	for (size_t i = 0; i < ring_count; i++)
		__atomic_store_n(&rings[i]->tail, __atomic_load_n(&rings[i]->head, __ATOMIC_ACQUIRE), __ATOMIC_RELEASE);
}

static void remove_files(void)
{
	DIR *files = opendir(folder);
	struct dirent *entry;

	while (files && (entry = readdir(files))) {
		char path[512];

		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		if (entry->d_name[0] != '.' || strncmp(entry->d_name, ".new", 4) == 0)
			unlink(path);
	}
	if (files)
		closedir(files);
}

/* ---- measured code ---- */

static __attribute__((noinline)) void write_wanted(void)
{
	for (unsigned i = 0; i < SPAN; i++)
		three_fields(i, 2, "fifteen letters");
}

static __attribute__((noinline)) void write_unwanted(void)
{
	for (unsigned i = 0; i < SPAN; i++)
		verbose_fields(i, 2, "fifteen letters");
}

static double span(void (*work)(void), double best)
{
	double start = 1e9 * bench_now(CLOCK_THREAD_CPUTIME_ID), end;

	work();
	end = 1e9 * bench_now(CLOCK_THREAD_CPUTIME_ID);
	return end - start < best ? end - start : best;
}

static double measure_work(void (*work)(void))
{
	double best = 1e12;

	work();
	map_rings();
	for (unsigned i = 0; i < rounds; i++) {
		empty_rings();
		best = span(work, best);
	}
	empty_rings();
	return best / SPAN;
}

static pthread_barrier_t barrier;

static void *run_thread(void *result)
{
	double best = 1e12;

	write_wanted();
	for (unsigned i = 0; i < rounds; i++) {
		if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD) {
			if (i == 0)
				map_rings();
			empty_rings();
		}
		pthread_barrier_wait(&barrier);
		best = span(write_wanted, best);
	}
	*(double *)result = best / SPAN;
	return NULL;
}

static double measure_threads(unsigned count)
{
	pthread_t threads[THREADS_MAX];
	double results[THREADS_MAX], sum = 0;

	pthread_barrier_init(&barrier, NULL, count);
	for (unsigned i = 0; i < count; i++) {
		if (pthread_create(&threads[i], NULL, run_thread, &results[i]))
			fail_bench("thread");
	}
	for (unsigned i = 0; i < count; i++) {
		pthread_join(threads[i], NULL);
		sum += results[i];
	}
	pthread_barrier_destroy(&barrier);
	return sum / count;
}

static void measure_all(void)
{
	bench_report("not registered", measure_work(write_wanted), "ns", "");
	if (ptl_provider_register(&bench))
		fail_bench("register");
	bench_report("registered, nobody records", measure_work(write_wanted), "ns", "");
	ptl_provider_unregister(&bench);

	start_session(0, PTL_LEVEL_INFORMATIONAL);
	if (ptl_provider_register(&bench))
		fail_bench("register");
	bench_report("recorded, but not this level", measure_work(write_unwanted), "ns", "");
	bench_report("recorded, 3 fields of 32 bytes", measure_work(write_wanted), "ns", "");
	bench_report("the same, 4 threads at once, each", measure_threads(4), "ns", "");
	ptl_provider_unregister(&bench);

	start_session(1, UINT8_MAX);
	if (ptl_provider_register(&bench))
		fail_bench("register");
	bench_report("recorded by two sessions", measure_work(write_wanted), "ns", "");
	ptl_provider_unregister(&bench);
	stop_session(0);
	stop_session(1);
}

int main(int argc, char **argv)
{
	bool as_json = false;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--json") == 0) {
			as_json = true;
		} else if (strcmp(argv[i], "--quick") == 0) {
			rounds /= 10;
		} else {
			fprintf(stderr, "usage: provider_bench [--json] [--quick]\n");
			return 2;
		}
	}
	bench_start("provider", as_json);
	snprintf(folder, sizeof(folder), "/dev/shm/ptl-bench-XXXXXX");
	if (!mkdtemp(folder))
		fail_bench(folder);
	setenv(PROVIDER_SHM_FOLDER_VARIABLE, folder, 1);
	measure_all();
	remove_files();
	rmdir(folder);
	return 0;
}
