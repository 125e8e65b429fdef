/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * 64 threads in 8 processes write at full speed. Some threads fork, some processes crash or are killed. One recorder
 * stays; other recorders start, stop and die. Every event is read once or counted as lost, in order for each thread.
 */
#include "tests/unit/session_reader.h"

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include <ptl/provider.h>

#define PROCESSES 8
#define THREADS 8
#define EVENTS 4000
#define CHILD_EVENTS 500
/* threads, and a forked child per process */
#define WRITERS (PROCESSES * (THREADS + 1))
#define VISITS 6 /* visits of short-lived recorders */

PTL_PROVIDER(test, "Test-Stress");
PTL_EVENT(test, step, 1, "Step", PTL_LEVEL_INFORMATIONAL, 1, NULL, PTL_U32(writer), PTL_U32(number),
	  PTL_BYTES(ballast));

/* Shared by all processes: number of completed calls per writer. */
static uint32_t *written;
static char folder[64];

struct seen {
	uint32_t next[WRITERS]; /* lowest number that may follow */
	uint64_t count;
	uint64_t out_of_order;
};

static struct reader steady, visitor;
static struct seen steady_seen, visitor_seen;

static void see(void *context, const struct reader_file *file, uint32_t ring, const struct provider_shm_record *record,
		const uint8_t *payload)
{
	struct seen *seen = context;
	uint32_t writer, number;

	(void)file;
	(void)ring;
	memcpy(&writer, payload, 4);
	memcpy(&number, payload + 4, 4);
	if (record->id != 1 || writer >= WRITERS || number < seen->next[writer]) {
		seen->out_of_order++;
		return;
	}
	seen->next[writer] = number + 1;
	seen->count++;
}

static void write_events(uint32_t writer, uint32_t count)
{
	static const uint8_t ballast[256];

	for (uint32_t i = 0; i < count; i++) {
		step(writer, i, ballast, (i * 7 + writer) % sizeof(ballast));
		__atomic_add_fetch(&written[writer], 1, __ATOMIC_RELEASE);
		/* Readers get a word in. */
		if (i % 64 == 0)
			sched_yield();
	}
}

static void *run_thread(void *context)
{
	write_events((uint32_t)(uintptr_t)context, EVENTS);
	return NULL;
}

static _Noreturn void end_badly(void)
{
	signal(SIGABRT, SIG_DFL);
	abort();
}

static _Noreturn void run_process(unsigned number)
{
	uint32_t first = number * (THREADS + 1);
	pthread_t threads[THREADS];
	pid_t child;

	for (uint32_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, run_thread, (void *)(uintptr_t)(first + i));
	child = fork();
	if (child == 0) {
		write_events(first + THREADS, CHILD_EVENTS);
		if (number % 2)
			raise(SIGKILL);
		_exit(0);
	}
	/* while the threads are writing */
	if (number == 2 || number == 3) {
		while (__atomic_load_n(&written[first], __ATOMIC_ACQUIRE) < EVENTS / 4)
			sched_yield();
		if (number == 2)
			end_badly();
		raise(SIGKILL);
	}
	for (uint32_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	waitpid(child, NULL, 0);
	_exit(0);
}

static uint64_t lost_without_ring;

static void add_lost(const struct reader *reader, struct provider_shm_process *process,
		     struct provider_shm_provider *provider)
{
	(void)process;
	lost_without_ring += __atomic_load_n(&provider->enabled.slots[reader->slot].lost, __ATOMIC_ACQUIRE);
}

static void start_visit(unsigned number)
{
	memset(&visitor, 0, sizeof(visitor));
	visitor.visit = see;
	visitor.context = &visitor_seen;
	reader_start(&visitor, folder, 1, 1000 + number, 65536, PROVIDER_SHM_SESSION_EVERYONE, NULL, 255, UINT64_MAX);
	reader_each_provider(&visitor, reader_turn_on_one);
}

/* Returns whether children are left, including orphans of killed parents, which this process adopted. */
static bool children_left(void)
{
	pid_t ended;

	while ((ended = waitpid(-1, NULL, WNOHANG)) > 0)
		;
	return ended == 0;
}

static void every_event_is_read_once_or_counted(void **state)
{
	unsigned visits = 0, passes = 0;
	uint64_t total = 0;

	(void)state;
	steady.visit = see;
	steady.context = &steady_seen;
	reader_start(&steady, folder, 0, 500, 1 << 18, PROVIDER_SHM_SESSION_EVERYONE, "Test-Stress", 255, UINT64_MAX);
	assert_int_equal(ptl_provider_register(&test), 0);
	for (unsigned i = 0; i < PROCESSES; i++) {
		pid_t child = fork();

		if (child == 0)
			run_process(i);
		assert_true(child > 0);
	}
	start_visit(visits++);
	while (children_left()) {
		reader_drain(&steady);
		/* The visitor reads occasionally; every second visitor dies and leaves everything behind. */
		if (passes++ % 4 == 0)
			reader_drain(&visitor);
		if (passes % 16 == 0 && visits < VISITS) {
			reader_stop(&visitor, visits % 2);
			start_visit(visits++);
		}
	}
	reader_stop(&visitor, false);
	reader_drain(&steady);
	reader_each_provider(&steady, add_lost);
	for (unsigned i = 0; i < WRITERS; i++) {
		total += written[i];
		/* A killed writer may have written an event that it had not counted. */
		assert_true(steady_seen.next[i] <= written[i] + 1);
	}
	assert_int_equal(steady.broken + visitor.broken, 0);
	assert_int_equal(steady_seen.out_of_order, 0);
	assert_int_equal(visitor_seen.out_of_order, 0);
	assert_true(steady_seen.count > 0);
	assert_true(steady_seen.count + reader_lost(&steady) + lost_without_ring >= total);
	assert_true(steady_seen.count + reader_lost(&steady) + lost_without_ring <= total + 2 * THREADS);
	if (getenv("PTL_VERBOSE"))
		print_message("written %llu read %llu lost %llu + %llu, visitors %llu in %u visits\n",
			      (unsigned long long)total, (unsigned long long)steady_seen.count,
			      (unsigned long long)reader_lost(&steady), (unsigned long long)lost_without_ring,
			      (unsigned long long)visitor_seen.count, visits);
	ptl_provider_unregister(&test);
	reader_stop(&steady, false);
}

static int make_folder(void **state)
{
	(void)state;
	reader_folder(folder);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	written = mmap(NULL, WRITERS * sizeof(*written), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return written == MAP_FAILED ? -1 : 0;
}

static int remove_folder(void **state)
{
	(void)state;
	reader_remove_folder(folder);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(every_event_is_read_once_or_counted)};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
