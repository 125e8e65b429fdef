/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests activities, callbacks, hostile files, crashes, and modules that are loaded and unloaded. */
#include "tests/unit/session_reader.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include <ptl/provider.h>

PTL_PROVIDER(test, "Test-Life");
PTL_EVENT(test, plain, 1, "Plain", PTL_LEVEL_INFORMATIONAL, 1, NULL, PTL_U32(number));
PTL_START_EVENT(test, request_start, 2, "RequestStart", PTL_LEVEL_INFORMATIONAL, 1, 0, 0, NULL);
PTL_STOP_EVENT(test, request_stop, 3, "RequestStop", PTL_LEVEL_INFORMATIONAL, 1, 0, 0, NULL);
PTL_START_EVENT(test, query_start, 4, "Ask", PTL_LEVEL_INFORMATIONAL, 1, 5, PTL_ACTIVITY_RECURSIVE, NULL);
PTL_STOP_EVENT(test, query_stop, 5, "Answer", PTL_LEVEL_INFORMATIONAL, 1, 5, PTL_ACTIVITY_RECURSIVE, NULL);
PTL_START_EVENT(test, job_start, 6, "Begin", PTL_LEVEL_INFORMATIONAL, 1, 6, PTL_ACTIVITY_DETACHABLE, NULL);
PTL_STOP_EVENT(test, job_stop, 7, "End", PTL_LEVEL_INFORMATIONAL, 1, 6, PTL_ACTIVITY_DETACHABLE, NULL);
PTL_START_EVENT(test, just_start, 8, "JustStart", PTL_LEVEL_INFORMATIONAL, 1, 0, PTL_ACTIVITY_DISABLE, NULL);

static char folder[64];
static struct reader reader;

/* The last events read, with their ids. */
static struct {
	unsigned count;
	struct {
		struct provider_shm_record record;
		struct ptl_guid activity;
		struct ptl_guid related;
		uint32_t number;
	} events[64];
} seen;

static const struct ptl_guid none;

static void see(void *context, const struct reader_file *file, uint32_t ring, const struct provider_shm_record *record,
		const uint8_t *payload)
{
	const uint8_t *ids = payload;

	(void)context;
	(void)file;
	(void)ring;
	if (seen.count == 64)
		return;
	memset(&seen.events[seen.count], 0, sizeof(seen.events[0]));
	seen.events[seen.count].record = *record;
	if (record->flags & PROVIDER_SHM_HAS_RELATED) {
		ids -= 16;
		memcpy(&seen.events[seen.count].related, ids, 16);
	}
	if (record->flags & PROVIDER_SHM_HAS_ACTIVITY)
		memcpy(&seen.events[seen.count].activity, ids - 16, 16);
	if (record->payload_size >= 4)
		memcpy(&seen.events[seen.count].number, payload, 4);
	seen.count++;
}

static void read_events(unsigned expected)
{
	seen.count = 0;
	assert_int_equal(reader_drain(&reader), expected);
}

static const struct ptl_guid *activity(unsigned event)
{
	return &seen.events[event].activity;
}

static const struct ptl_guid *related(unsigned event)
{
	return &seen.events[event].related;
}

static bool same(const struct ptl_guid *a, const struct ptl_guid *b)
{
	return !memcmp(a, b, sizeof(*a));
}

static void begin(void)
{
	static uint64_t ids = 0x2000;

	memset(&reader, 0, sizeof(reader));
	reader.visit = see;
	reader_start(&reader, folder, 4, ++ids, 65536, PROVIDER_SHM_SESSION_EVERYONE, "Test-Life", 255, UINT64_MAX);
	assert_int_equal(ptl_provider_register(&test), 0);
}

static void finish(void)
{
	ptl_provider_unregister(&test);
	reader_stop(&reader, false);
}

static void starts_and_stops_nest(void **state)
{
	struct ptl_guid current;

	(void)state;
	begin();
	plain(0);
	request_start();
	plain(1);
	query_start();
	query_start();
	plain(2);
	query_stop();
	query_stop();
	request_stop();
	plain(3);
	read_events(10);
	assert_true(same(activity(0), &none));
	assert_false(same(activity(1), &none));
	assert_true(same(related(1), &none));
	assert_true(same(activity(2), activity(1)));
	assert_true(same(related(3), activity(1)));
	assert_true(same(related(4), activity(3)));
	assert_false(same(activity(4), activity(3)));
	assert_true(same(activity(5), activity(4)));
	assert_true(same(activity(6), activity(4)));
	assert_true(same(activity(7), activity(3)));
	assert_true(same(activity(8), activity(1)));
	assert_true(same(activity(9), &none));
	assert_false(ptl_activity_current(&current));
	finish();
}

static void activity_options(void **state)
{
	(void)state;
	begin();
	/* Not recursive: a second start ends the first activity. */
	request_start();
	request_start();
	plain(0);
	request_stop();
	plain(1);
	read_events(5);
	assert_true(same(related(1), &none));
	assert_true(same(activity(2), activity(1)));
	assert_true(same(activity(4), &none));
	/* The end of an activity ends activities started inside, except detachable activities. */
	request_start();
	job_start();
	query_start();
	request_stop();
	plain(2);
	job_stop();
	plain(3);
	query_stop();
	read_events(8);
	assert_true(same(activity(4), activity(1)));
	assert_true(same(activity(5), activity(1)));
	assert_true(same(activity(6), &none));
	assert_true(same(activity(7), &none));
	just_start();
	plain(4);
	read_events(2);
	assert_true(same(activity(0), &none));
	assert_true(same(activity(1), &none));
	/* more activities than the limit */
	for (unsigned i = 0; i < 40; i++)
		query_start();
	for (unsigned i = 0; i < 40; i++)
		query_stop();
	plain(5);
	read_events(81);
	finish();
}

static void activities_move_between_threads(void **state)
{
	struct ptl_guid mine, before, now;

	(void)state;
	begin();
	ptl_activity_create(&mine);
	ptl_activity_create(&now);
	assert_false(same(&mine, &now));
	ptl_activity_set(&mine, &before);
	assert_true(same(&before, &none));
	plain(1);
	request_start();
	read_events(2);
	assert_true(same(activity(0), &mine));
	assert_true(same(related(1), &mine));
	ptl_activity_set(NULL, &before);
	assert_true(same(&before, activity(1)));
	assert_false(ptl_activity_current(&now));
	finish();
}

static struct {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	unsigned calls;
	enum ptl_control last;
} reported = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0};

static void on_control(struct ptl_provider *provider, enum ptl_control control, uint8_t level, uint64_t keywords,
		       void *context)
{
	(void)keywords;
	assert_ptr_equal(provider, &test);
	assert_ptr_equal(context, &reported);
	assert_int_equal(level, control == PTL_CONTROL_DISABLE ? 0 : 255);
	if (control == PTL_CONTROL_CAPTURE)
		plain(4711);
	pthread_mutex_lock(&reported.mutex);
	reported.calls++;
	reported.last = control;
	pthread_cond_broadcast(&reported.changed);
	pthread_mutex_unlock(&reported.mutex);
}

/* Waits for `calls` calls. Returns the last control. */
static enum ptl_control wait_for_call(unsigned calls)
{
	enum ptl_control last;

	pthread_mutex_lock(&reported.mutex);
	while (reported.calls < calls)
		pthread_cond_wait(&reported.changed, &reported.mutex);
	assert_int_equal(reported.calls, calls);
	last = reported.last;
	pthread_mutex_unlock(&reported.mutex);
	return last;
}

static void ask_for_capture(const struct reader *session, struct provider_shm_process *process,
			    struct provider_shm_provider *provider)
{
	assert_int_equal(provider->flags, PROVIDER_SHM_HAS_CALLBACK);
	__atomic_or_fetch(&provider->enabled.capture, 1u << session->slot, __ATOMIC_SEQ_CST);
	reader_notify(process);
}

static void authors_are_told(void **state)
{
	(void)state;
	test.callback = on_control;
	test.context = &reported;
	begin();
	/* called by the registering thread, before registration returns */
	assert_int_equal(wait_for_call(1), PTL_CONTROL_ENABLE);
	reader_each_provider(&reader, ask_for_capture);
	assert_int_equal(wait_for_call(2), PTL_CONTROL_CAPTURE);
	read_events(1);
	assert_int_equal(seen.events[0].number, 4711);
	reader_stop(&reader, false);
	assert_int_equal(wait_for_call(3), PTL_CONTROL_DISABLE);
	reader_start(&reader, folder, 9, 0x999, 4096, 0, "Test-Life", 255, UINT64_MAX);
	reader_each_provider(&reader, reader_turn_on_one);
	assert_int_equal(wait_for_call(4), PTL_CONTROL_ENABLE);
	finish();
	test.callback = NULL;
}

/* Writes a damaged session file. */
static void write_session(const void *bytes, size_t size, unsigned slot, bool locked, int *fd)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/session.%02u", folder, slot);
	*fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_int_equal(write(*fd, bytes, size), size);
	if (locked)
		assert_int_equal(flock(*fd, LOCK_EX), 0);
}

static void try_session(const struct provider_shm_session_file *file, size_t size, bool locked, bool enabled)
{
	char path[512];
	int fd;

	write_session(file, size, 17, locked, &fd);
	assert_int_equal(ptl_provider_register(&test), 0);
	assert_int_equal(ptl_event_enabled(&plain_event), enabled);
	plain(1);
	ptl_provider_unregister(&test);
	close(fd);
	snprintf(path, sizeof(path), "%s/session.17", folder);
	unlink(path);
}

static void hostile_sessions_are_passed_over(void **state)
{
	static struct provider_shm_session_file good, bad;
	size_t size = sizeof(good.session) + sizeof(good.rules[0]);
	char path[512];

	(void)state;
	good.session = (struct provider_shm_session){.magic = PROVIDER_SHM_SESSION_MAGIC,
						     .version = 1,
						     .size = (uint32_t)size,
						     .id = 5,
						     .slot = 17,
						     .flags = PROVIDER_SHM_SESSION_EVERYONE,
						     .clock = 1,
						     .ring_size = 4096,
						     .rule_count = 1};
	good.rules[0] = (struct provider_shm_rule){
		.match = PROVIDER_SHM_MATCH_ALL, .level = 255, .keywords = UINT64_MAX};
	try_session(&good, size, true, true);
	try_session(&good, size, false, false); /* the recorder is dead */
	try_session(&good, size - 1, true, false);
	try_session(&good, size + 1, true, false);
	try_session(&good, 0, true, false);
#define BAD(change)                                                                                                    \
	bad = good;                                                                                                    \
	bad.change;                                                                                                    \
	try_session(&bad, size, true, false)
	BAD(session.magic++);
	BAD(session.version++);
	BAD(session.size++);
	BAD(session.id = 0);
	BAD(session.slot = 16);
	BAD(session.flags = 0); /* flags exclude this process */
	BAD(session.clock = 4);
	BAD(session.ring_size = 4097);
	BAD(session.ring_size = 2048);
	BAD(session.ring_size = 1ull << 40);
	BAD(session.rule_count = UINT32_MAX);
	BAD(session.rule_count = 0);
	BAD(rules[0].match = 4);
	memset(bad.rules[0].name, 'x', sizeof(bad.rules[0].name));
	bad.rules[0].match = PROVIDER_SHM_MATCH_NAME;
	try_session(&bad, size, true, false);
	BAD(rules[0].level = 3);
	memset(bad.session.name, 'x', sizeof(bad.session.name));
	try_session(&bad, size, true, false);
	/* Not a regular file, or owned by another user. */
	snprintf(path, sizeof(path), "%s/session.17", folder);
	assert_int_equal(symlink("/dev/zero", path), 0);
	assert_int_equal(ptl_provider_register(&test), 0);
	ptl_provider_unregister(&test);
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(ptl_provider_register(&test), 0);
	ptl_provider_unregister(&test);
	unlink(path);
}

static void on_fault(int number)
{
	(void)number;
	plain(99);
	_exit(7);
}

static void a_crash_can_tell_its_story(void **state)
{
	const struct ptl_piece nowhere = {(const void *)16, 4};
	int status;
	pid_t child;

	(void)state;
	begin();
	child = fork();
	if (child == 0) {
		signal(SIGSEGV, on_fault);
		plain(1);
		ptl_emit(&plain_event, &nowhere, 1);
		_exit(1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(WEXITSTATUS(status), 7);
	read_events(2);
	assert_int_equal(seen.events[0].number, 1);
	assert_int_equal(seen.events[1].number, 99);
	finish();
}

static sigjmp_buf back;

static void jump_back(int number)
{
	(void)number;
	plain(98);
	siglongjmp(back, 1);
}

/* Leaves a write by siglongjmp more often than there are levels. */
static void writes_can_be_left_by_siglongjmp(void **state)
{
	const struct ptl_piece nowhere = {(const void *)16, 4};
	volatile unsigned rounds = 0;
	struct sigaction action = {.sa_handler = jump_back}, before;

	(void)state;
	begin();
	sigaction(SIGSEGV, &action, &before);
	while (rounds < 10) {
		if (sigsetjmp(back, 1) == 0)
			ptl_emit(&plain_event, &nowhere, 1);
		rounds++;
		plain(rounds);
	}
	sigaction(SIGSEGV, &before, NULL);
	read_events(20);
	assert_int_equal(reader.broken, 0);
	assert_int_equal(test.enabled->slots[4].lost, 0);
	finish();
}

static void *write_cancelled(void *context)
{
	(void)context;
	pthread_cancel(pthread_self());
	/* Opening files is a cancellation point. */
	plain(7);
	pthread_testcancel();
	return NULL;
}

static void a_cancelled_thread_holds_nobody_up(void **state)
{
	pthread_t thread;
	void *result;

	(void)state;
	begin();
	assert_int_equal(pthread_create(&thread, NULL, write_cancelled, NULL), 0);
	assert_int_equal(pthread_join(thread, &result), 0);
	assert_ptr_equal(result, PTHREAD_CANCELED);
	plain(8);
	read_events(2);
	finish();
}

static void only_the_command_belongs_to_its_session(void **state)
{
	int status;
	pid_t child;

	(void)state;
	/* PTL_SESSIONS is read once: a child without a registration would obey a new value. */
	memset(&reader, 0, sizeof(reader));
	reader.visit = see;
	reader_start(&reader, folder, 4, 0xabcdef, 4096, 0, NULL, 255, UINT64_MAX);
	assert_int_equal(ptl_provider_register(&test), 0);
	assert_false(ptl_event_enabled(&plain_event));
	ptl_provider_unregister(&test);
	child = fork();
	if (child == 0) {
		setenv(PROVIDER_SHM_SESSIONS_VARIABLE, "0000000000000001,0000000000abcdef", 1);
		execl("/proc/self/exe", "test_provider_life", "--child", (char *)NULL);
		_exit(9);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(WEXITSTATUS(status), 0);
	read_events(1);
	assert_int_equal(seen.events[0].number, 1234);
	reader_stop(&reader, false);
}

static void a_folder_that_others_can_write_is_not_used(void **state)
{
	int status;
	pid_t child;

	(void)state;
	child = fork();
	if (child == 0) {
		assert_int_equal(chmod(folder, 0777), 0);
		execl("/proc/self/exe", "test_provider_life", "--child", (char *)NULL);
		_exit(9);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(chmod(folder, 0700), 0);
	assert_int_equal(WEXITSTATUS(status), 3);
}

static void modules_come_and_go(void **state)
{
	const char *programs = getenv("PTL_PROGRAMS");
	char path[512];

	(void)state;
	snprintf(path, sizeof(path), "%s/libevents.so", programs ? programs : "build/programs");
	if (access(path, R_OK))
		skip();
	memset(&reader, 0, sizeof(reader));
	reader.visit = see;
	reader_start(&reader, folder, 6, 0x7777, 65536, PROVIDER_SHM_SESSION_EVERYONE, "Example-Module", 255,
		     UINT64_MAX);
	for (unsigned i = 0; i < 20; i++) {
		void *module = dlopen(path, RTLD_NOW);
		void (*work)(unsigned number);

		assert_non_null(module);
		*(void **)&work = dlsym(module, "events_work");
		assert_non_null(work);
		work(i);
		assert_int_equal(dlclose(module), 0);
		assert_null(dlopen(path, RTLD_NOW | RTLD_NOLOAD));
		read_events(1);
		assert_int_equal(seen.events[0].number, i);
		/* The module's provider keeps one entry over all reloads. */
		assert_int_equal(seen.events[0].record.provider, 0);
	}
	reader_stop(&reader, false);
}

static int run_child(void)
{
	int status = ptl_provider_register(&test);

	if (status)
		return status == PTL_SYSTEM && !ptl_event_enabled(&plain_event) ? 3 : 4;
	plain(1234);
	return 0;
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

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(starts_and_stops_nest),
		cmocka_unit_test(activity_options),
		cmocka_unit_test(activities_move_between_threads),
		cmocka_unit_test(authors_are_told),
		cmocka_unit_test(hostile_sessions_are_passed_over),
		cmocka_unit_test(a_crash_can_tell_its_story),
		cmocka_unit_test(writes_can_be_left_by_siglongjmp),
		cmocka_unit_test(a_cancelled_thread_holds_nobody_up),
		cmocka_unit_test(only_the_command_belongs_to_its_session),
		cmocka_unit_test(a_folder_that_others_can_write_is_not_used),
		cmocka_unit_test(modules_come_and_go),
	};

	if (argc > 1 && strcmp(argv[1], "--child") == 0)
		return run_child();
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
