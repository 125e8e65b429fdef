/* SPDX-License-Identifier: BSD-2-Clause */
/* Events from a program to a reader: fields, sizes, sessions, forks, signals, threads. */
#include "tests/unit/session_reader.h"

#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>

#include <ptl/provider.h>

PTL_PROVIDER(test, "Test-Provider");
PTL_EVENT(test, plain, 1, "Plain", PTL_LEVEL_INFORMATIONAL, 0x1, "{0} and {1}", PTL_UTF8(text), PTL_U32(number));
PTL_EVENT(test, verbose, 2, "Verbose", PTL_LEVEL_VERBOSE, 0x2, NULL);
PTL_EVENT(test, bytes, 3, "Bytes", PTL_LEVEL_ERROR, 0x1, NULL, PTL_BYTES(data));

static char folder[64];

struct seen {
	unsigned count;
	struct provider_shm_record last;
	uint8_t payload[4096];
	uint64_t last_time[16]; /* last time of each ring */
	bool out_of_order;
};

static void see(void *context, const struct reader_file *file, uint32_t ring, const struct provider_shm_record *record,
		const uint8_t *payload)
{
	struct seen *seen = context;

	(void)file;
	seen->count++;
	seen->last = *record;
	seen->out_of_order |= record->time < seen->last_time[ring % 16];
	seen->last_time[ring % 16] = record->time;
	memcpy(seen->payload, payload,
	       record->payload_size < sizeof(seen->payload) ? record->payload_size : sizeof(seen->payload));
}

static void start(struct reader *reader, struct seen *seen, unsigned slot, uint64_t ring_size)
{
	static uint64_t ids = 0x1000;

	memset(reader, 0, sizeof(*reader));
	memset(seen, 0, sizeof(*seen));
	reader->visit = see;
	reader->context = seen;
	reader_start(reader, folder, slot, ++ids, ring_size, PROVIDER_SHM_SESSION_EVERYONE, NULL, 255, UINT64_MAX);
}

static struct reader reader, other;
static struct seen seen, other_seen;

static void an_event_right_after_registering_arrives(void **state)
{
	(void)state;
	plain("before anybody listens", 0);
	start(&reader, &seen, 3, 65536);
	assert_int_equal(ptl_provider_register(&test), 0);
	assert_int_equal(ptl_provider_register(&test), PTL_MISUSE);
	assert_true(ptl_event_enabled(&verbose_event));
	plain("Zoë", 7);
	assert_int_equal(reader_drain(&reader), 1);
	assert_int_equal(seen.last.id, 1);
	assert_int_equal(seen.last.level, PTL_LEVEL_INFORMATIONAL);
	assert_int_equal(seen.last.keyword, 1);
	assert_int_equal(seen.last.tid, getpid());
	assert_int_equal(seen.last.payload_size, 9);
	assert_memory_equal(seen.payload, "Zo\xc3\xab\0\x07\0\0\0", 9);
	assert_int_equal(reader_lost(&reader), 0);
	ptl_provider_unregister(&test);
	plain("nobody", 1);
	assert_int_equal(reader_drain(&reader), 0);
	reader_stop(&reader, false);
}

static void a_session_turns_a_running_provider_on_and_off(void **state)
{
	(void)state;
	assert_int_equal(ptl_provider_register(&test), 0);
	assert_false(ptl_event_enabled(&plain_event));
	start(&reader, &seen, 0, 4096);
	assert_int_equal(reader_each_provider(&reader, reader_turn_on_one), 1);
	assert_true(ptl_event_enabled(&plain_event));
	plain("a", 1);
	reader_stop(&reader, false);
	assert_int_equal(seen.count, 1);
	assert_false(ptl_event_enabled(&plain_event));
	/* another session in the same slot */
	start(&reader, &seen, 0, 8192);
	reader_each_provider(&reader, reader_turn_on_one);
	plain("b", 2);
	plain("c", 3);
	assert_int_equal(reader_drain(&reader), 2);
	reader_stop(&reader, false);
	ptl_provider_unregister(&test);
}

static void each_session_gets_what_it_asked_for(void **state)
{
	(void)state;
	start(&reader, &seen, 0, 65536);
	memset(&other, 0, sizeof(other));
	memset(&other_seen, 0, sizeof(other_seen));
	other.visit = see;
	other.context = &other_seen;
	reader_start(&other, folder, 31, 77, 65536, PROVIDER_SHM_SESSION_EVERYONE, "test-PROVIDER", PTL_LEVEL_ERROR, 1);
	assert_int_equal(ptl_provider_register(&test), 0);
	for (unsigned i = 0; i < 10; i++) {
		plain("x", i);
		verbose();
		bytes("abc", 3);
	}
	assert_int_equal(reader_drain(&reader), 30);
	assert_int_equal(reader_drain(&other), 10);
	assert_int_equal(other_seen.last.id, 3);
	assert_memory_equal(other_seen.payload, "\3\0abc", 5);
	ptl_provider_unregister(&test);
	reader_stop(&reader, false);
	reader_stop(&other, false);
}

static void what_does_not_fit_is_counted(void **state)
{
	static uint8_t much[5000];

	(void)state;
	start(&reader, &seen, 0, 4096);
	assert_int_equal(ptl_provider_register(&test), 0);
	bytes(much, sizeof(much));
	for (unsigned i = 0; i < 100; i++)
		bytes(much, 1000);
	assert_int_equal(reader_drain(&reader), 3);
	assert_int_equal(reader_lost(&reader), 98);
	for (unsigned i = 0; i < 3000; i++) {
		bytes(much, i % 4000);
		assert_int_equal(reader_drain(&reader), 1);
		assert_int_equal(seen.last.payload_size, i % 4000 + 2);
	}
	assert_int_equal(reader_lost(&reader), 98);
	assert_int_equal(reader.broken, 0);
	ptl_provider_unregister(&test);
	reader_stop(&reader, false);
}

static void a_child_has_a_ring_of_its_own(void **state)
{
	int status;
	pid_t child;

	(void)state;
	start(&reader, &seen, 5, 4096);
	assert_int_equal(ptl_provider_register(&test), 0);
	plain("parent", 1);
	child = fork();
	if (child == 0) {
		plain("child", 2);
		plain("child", 3);
		raise(SIGKILL);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	plain("parent", 4);
	assert_int_equal(reader_drain(&reader), 4);
	assert_int_equal(reader.count, 2);
	assert_int_not_equal(reader.files[0].pid, reader.files[1].pid);
	assert_int_not_equal(reader.files[0].process, reader.files[1].process);
	ptl_provider_unregister(&test);
	reader_stop(&reader, false);
}

static void a_child_of_the_raw_system_call_too(void **state)
{
	int status;
	long child;

	(void)state;
	start(&reader, &seen, 5, 4096);
	assert_int_equal(ptl_provider_register(&test), 0);
	plain("parent", 1);
	child = syscall(SYS_fork);
	if (child == 0) {
		plain("child", 2);
		syscall(SYS_exit_group, 0);
	}
	assert_int_equal(waitpid((pid_t)child, &status, 0), child);
	plain("parent", 3);
	assert_int_equal(reader_drain(&reader), 3);
	assert_int_equal(reader.count, 2);
	ptl_provider_unregister(&test);
	reader_stop(&reader, false);
}

static volatile unsigned handled;

static void on_alarm(int number)
{
	(void)number;
	plain("handler", ++handled);
}

static void handlers_write_in_the_middle_of_writes(void **state)
{
	const struct itimerval often = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};
	struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART}, before;
	unsigned written = 0;
	uint64_t read = 0;

	(void)state;
	handled = 0;
	start(&reader, &seen, 0, 1 << 20);
	assert_int_equal(ptl_provider_register(&test), 0);
	sigaction(SIGALRM, &action, &before);
	setitimer(ITIMER_REAL, &often, NULL);
	while (handled < 200) {
		for (unsigned i = 0; i < 1000; i++, written++)
			plain("main", i);
		read += reader_drain(&reader);
	}
	setitimer(ITIMER_REAL, &never, NULL);
	read += reader_drain(&reader);
	assert_int_equal(read + reader_lost(&reader), written + handled);
	assert_false(seen.out_of_order);
	assert_int_equal(reader.broken, 0);
	sigaction(SIGALRM, &before, NULL);
	ptl_provider_unregister(&test);
	reader_stop(&reader, false);
}

static void *write_one(void *context)
{
	plain("thread", *(unsigned *)context);
	return NULL;
}

static void rings_of_ended_threads_are_used_again(void **state)
{
	(void)state;
	start(&reader, &seen, 0, 4096);
	assert_int_equal(ptl_provider_register(&test), 0);
	for (unsigned i = 0; i < 50; i++) {
		pthread_t thread;

		assert_int_equal(pthread_create(&thread, NULL, write_one, &i), 0);
		pthread_join(thread, NULL);
		assert_int_equal(reader_drain(&reader), 1);
		assert_int_equal(seen.payload[7], i);
	}
	assert_int_equal(reader.files[0].first->ring_count, 1);
	ptl_provider_unregister(&test);
	reader_stop(&reader, false);
}

static void the_author_gives_time_and_ids(void **state)
{
	const uint64_t time = 12345;
	const struct ptl_guid activity = {{1}}, related = {{2}};
	const struct ptl_emit_options options = {sizeof(options), &time, &activity, &related};

	(void)state;
	start(&reader, &seen, 0, 4096);
	assert_int_equal(ptl_provider_register(&test), 0);
	ptl_emit_with(&verbose_event, &options, NULL, 0);
	assert_int_equal(reader_drain(&reader), 1);
	assert_int_equal(seen.last.time, 12345);
	assert_int_equal(seen.last.flags, PROVIDER_SHM_OWN_TIME | PROVIDER_SHM_HAS_ACTIVITY | PROVIDER_SHM_HAS_RELATED);
	assert_int_equal(seen.last.size, 80);
	ptl_provider_unregister(&test);
	reader_stop(&reader, false);
}

static int make_folder(void **state)
{
	(void)state;
	reader_folder(folder);
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	reader_remove_folder(folder);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_event_right_after_registering_arrives),
		cmocka_unit_test(a_session_turns_a_running_provider_on_and_off),
		cmocka_unit_test(each_session_gets_what_it_asked_for),
		cmocka_unit_test(what_does_not_fit_is_counted),
		cmocka_unit_test(a_child_has_a_ring_of_its_own),
		cmocka_unit_test(a_child_of_the_raw_system_call_too),
		cmocka_unit_test(handlers_write_in_the_middle_of_writes),
		cmocka_unit_test(rings_of_ended_threads_are_used_again),
		cmocka_unit_test(the_author_gives_time_and_ids),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
