/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the trace events from the kernel's reports of processes, without looks at /proc. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <linux/perf_event.h>

#include <ptl/reader.h>

#include "common/bytes.h"
#include "record/capture/machine.h"
#include "record/observe/observer_state.h"

/* pids above the kernel's maximum, which no process has */
#define PID(n) (0x40000000u + (n))

struct fixture {
	struct record_settings settings;
	struct record_capture capture;
	struct record_observer *observer;
	char folder[64];
	char path[96];
	struct ptl_bytes text;
	uint64_t ended; /* time of the last event in the trace */
};

static char *const words[] = {(char *)"test", NULL};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	struct ptl_machine machine;

	*state = fixture;
	fixture->settings = (struct record_settings){.level = 1,
						     .embed = ELF_EMBED_NONE,
						     .clock = PTL_CLOCK_MONOTONIC,
						     .command_line = words,
						     .command = words};
	strcpy(fixture->folder, "/tmp/ptl-reports-XXXXXX");
	if (!mkdtemp(fixture->folder))
		return -1;
	snprintf(fixture->path, sizeof(fixture->path), "%s/a.ptl", fixture->folder);
	record_machine_describe(&fixture->settings, &machine);
	if (record_capture_open(&fixture->capture, &fixture->settings, fixture->path, &machine) < 0 ||
	    record_observer_new(&fixture->capture, 1, &fixture->observer) < 0)
		return -1;
	fixture->observer->sideband = record_sideband_new();
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	unlink(fixture->path);
	rmdir(fixture->folder);
	common_bytes_free(&fixture->text);
	free(fixture);
	return 0;
}

/* ---- records --------------------------------------------------------------------------------- */

static void put(struct fixture *fixture, struct ptl_bytes *body, uint32_t type, uint16_t misc, uint64_t time)
{
	struct ptl_bytes record = {0};

	common_write_le(&record, type, 4);
	common_write_le(&record, misc, 2);
	common_write_le(&record, (uint16_t)(8 + body->size + 16), 2);
	common_write_bytes(&record, body->data, body->size);
	common_write_le(&record, 0, 8);
	common_write_le(&record, time, 8);
	assert_int_equal(record_sideband_put(fixture->observer->sideband, record.data, record.size), 0);
	common_bytes_free(&record);
	common_bytes_free(body);
}

static void put_task(struct fixture *fixture, uint32_t type, uint32_t pid, uint32_t parent, uint32_t tid, uint64_t time)
{
	struct ptl_bytes body = {0};

	common_write_le(&body, PID(pid), 4);
	common_write_le(&body, PID(parent), 4);
	common_write_le(&body, PID(tid), 4);
	common_write_le(&body, PID(parent), 4);
	common_write_le(&body, time, 8);
	put(fixture, &body, type, 0, time);
}

static void put_comm(struct fixture *fixture, uint16_t misc, uint32_t pid, uint32_t tid, const char *name,
		     uint64_t time)
{
	struct ptl_bytes body = {0};

	common_write_le(&body, PID(pid), 4);
	common_write_le(&body, PID(tid), 4);
	common_write_bytes(&body, name, strlen(name) + 1);
	put(fixture, &body, PERF_RECORD_COMM, misc, time);
}

static void put_exec(struct fixture *fixture, uint32_t pid, const char *name, uint64_t time)
{
	put_comm(fixture, PERF_RECORD_MISC_COMM_EXEC, pid, pid, name, time);
}

static void put_map(struct fixture *fixture, uint32_t pid, uint64_t base, const char *name, uint64_t time)
{
	struct ptl_bytes body = {0};

	common_write_le(&body, PID(pid), 4);
	common_write_le(&body, PID(pid), 4);
	common_write_le(&body, base, 8);
	common_write_le(&body, 0x1000, 8);
	common_write_le(&body, 0, 8);
	common_write_le(&body, 8, 4);
	common_write_le(&body, 1, 4);
	common_write_le(&body, 77, 8);
	common_write_le(&body, 0, 8);
	common_write_le(&body, 5, 4);
	common_write_le(&body, 0, 4);
	common_write_bytes(&body, name, strlen(name) + 1);
	put(fixture, &body, PERF_RECORD_MMAP2, 0, time);
}

/* The command, process 1. */
static void start_command(struct fixture *fixture)
{
	struct record_command command = {.program = (char *)"/bin/sh"};

	common_write_bytes(&command.words, "sh\0-c", 6);
	assert_int_equal(record_observer_command(fixture->observer, PID(1), 100, &command), 0);
	common_bytes_free(&command.words);
	put_exec(fixture, 1, "sh", 110);
	put_map(fixture, 1, 0x1000, "/bin/sh", 120);
}

/* ---- the trace ------------------------------------------------------------------------------- */

static const char *opcode_of(const struct ptl_event *event)
{
	switch (event->descriptor.opcode) {
	case PTL_OPCODE_START:
		return "start";
	case PTL_OPCODE_END: /* and PTL_OPCODE_UNLOAD */
		return "end";
	case PTL_OPCODE_EXEC:
		return "exec";
	case PTL_OPCODE_START_RUNDOWN:
		return "name";
	case PTL_OPCODE_LOAD:
		return "load";
	default:
		return "rundown";
	}
}

__attribute__((format(printf, 2, 3))) static void say(struct fixture *fixture, const char *format, ...)
{
	char line[256];
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	common_write_bytes(&fixture->text, line, (size_t)length);
}

static int take_event(void *context, struct ptl_trace *trace, const struct ptl_event *event)
{
	struct fixture *fixture = context;
	struct ptl_bytes storage = {0};
	struct ptl_process_event process;
	struct ptl_thread_event thread;
	struct ptl_image_event image;
	const char *what = opcode_of(event);

	(void)trace;
	/* Skips the rundown at the end, which is the command's, and other events of the command. */
	if (event->descriptor.opcode == PTL_OPCODE_END_RUNDOWN || event->pid == PID(1))
		return 0;
	fixture->ended = event->time;
	if (ptl_process_decode(event, &storage, &process) == 0)
		say(fixture, "%s %u<%u '%s' '%s' @%llu\n", what, process.process_id - PID(0),
		    process.parent_id ? process.parent_id - PID(0) : 0, process.image_file_name, process.command_line,
		    (unsigned long long)event->time);
	else if (ptl_thread_decode(event, &storage, &thread) == 0)
		say(fixture, "thread %s %u/%u '%s' @%llu\n", what, thread.process_id - PID(0),
		    thread.thread_id - PID(0), thread.name, (unsigned long long)event->time);
	else if (ptl_image_decode(event, &storage, &image) == 0)
		say(fixture, "image %s %u %llx '%s' @%llu\n", what, image.process_id - PID(0),
		    (unsigned long long)image.base, image.file_name, (unsigned long long)event->time);
	common_bytes_free(&storage);
	return 0;
}

/* Ends the capture. Its events, except the command's, are in text. */
static void finish(struct fixture *fixture)
{
	struct ptl_trace *trace;

	assert_int_equal(record_observer_take_reports(fixture->observer, UINT64_MAX), 0);
	assert_int_equal(record_observer_finish(fixture->observer, 100000), 0);
	/* Nobody says how the dead have ended. */
	assert_int_equal(record_model_tick(fixture->capture.model, UINT64_MAX / 2), 0);
	assert_int_equal(record_capture_close(&fixture->capture, 100000), 0);
	record_observer_free(fixture->observer);
	assert_int_equal(ptl_open(fixture->path, NULL, &trace), 0);
	assert_int_equal(ptl_process(trace, NULL,
				     &(struct ptl_callbacks){.size = sizeof(struct ptl_callbacks), .event = take_event},
				     fixture),
			 0);
	ptl_close(trace);
	common_write_bytes(&fixture->text, "", 1);
}

static void expect(struct fixture *fixture, const char *text)
{
	finish(fixture);
	assert_string_equal((const char *)fixture->text.data, text);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void a_child_begins_with_what_its_parent_has(void **state)
{
	struct fixture *fixture = *state;

	start_command(fixture);
	put_task(fixture, PERF_RECORD_FORK, 2, 1, 2, 200);
	put_map(fixture, 1, 0x5000, "/lib/late", 210);
	put_exec(fixture, 2, "true", 300);
	put_map(fixture, 2, 0x2000, "/bin/true", 310);
	put_task(fixture, PERF_RECORD_EXIT, 2, 1, 2, 400);
	expect(fixture, "start 2<1 '/bin/sh' 'sh -c' @200\n"
			"image load 2 1000 '/bin/sh' @200\n"
			"thread start 2/2 '' @200\n"
			"exec 2<1 '/bin/true' 'true' @300\n"
			"image load 2 2000 '/bin/true' @310\n"
			"thread end 2/2 '' @400\n"
			"end 2<1 '/bin/true' 'true' @400\n");
}

static void threads_have_names_and_ends(void **state)
{
	struct fixture *fixture = *state;

	start_command(fixture);
	put_task(fixture, PERF_RECORD_FORK, 2, 1, 2, 200);
	put_comm(fixture, 0, 2, 2, "main", 210);
	put_task(fixture, PERF_RECORD_FORK, 2, 2, 3, 220);
	put_comm(fixture, 0, 2, 3, "worker", 230);
	/* The first thread may end before other threads. */
	put_task(fixture, PERF_RECORD_EXIT, 2, 1, 2, 240);
	put_task(fixture, PERF_RECORD_EXIT, 2, 1, 3, 250);
	expect(fixture, "start 2<1 '/bin/sh' 'sh -c' @200\n"
			"image load 2 1000 '/bin/sh' @200\n"
			"thread start 2/2 '' @200\n"
			"thread name 2/2 'main' @210\n"
			"thread start 2/3 'main' @220\n"
			"thread name 2/3 'worker' @230\n"
			"thread end 2/2 'main' @240\n"
			"thread end 2/3 'worker' @250\n"
			"end 2<1 '/bin/sh' 'sh -c' @250\n");
}

/* A thread that executes a program becomes the first thread; the other threads end before. */
static void an_exec_leaves_one_thread(void **state)
{
	struct fixture *fixture = *state;

	start_command(fixture);
	put_task(fixture, PERF_RECORD_FORK, 2, 1, 2, 200);
	put_task(fixture, PERF_RECORD_FORK, 2, 2, 3, 210);
	put_comm(fixture, 0, 2, 3, "worker", 215);
	put_task(fixture, PERF_RECORD_EXIT, 2, 1, 2, 220);
	put_exec(fixture, 2, "true", 230);
	put_map(fixture, 2, 0x2000, "/bin/true", 231);
	put_task(fixture, PERF_RECORD_EXIT, 2, 1, 2, 240);
	expect(fixture, "start 2<1 '/bin/sh' 'sh -c' @200\n"
			"image load 2 1000 '/bin/sh' @200\n"
			"thread start 2/2 '' @200\n"
			"thread start 2/3 '' @210\n"
			"thread name 2/3 'worker' @215\n"
			"thread end 2/2 '' @220\n"
			"exec 2<1 '/bin/true' 'true' @230\n"
			"thread end 2/3 'worker' @230\n"
			"thread start 2/2 '' @230\n"
			"thread name 2/2 'true' @230\n"
			"image load 2 2000 '/bin/true' @231\n"
			"thread end 2/2 'true' @240\n"
			"end 2<1 '/bin/true' 'true' @240\n");
}

static void a_pid_is_used_again(void **state)
{
	struct fixture *fixture = *state;

	start_command(fixture);
	put_task(fixture, PERF_RECORD_FORK, 2, 1, 2, 200);
	put_task(fixture, PERF_RECORD_EXIT, 2, 1, 2, 210);
	put_task(fixture, PERF_RECORD_FORK, 2, 1, 2, 220);
	/* The report of an end is lost. */
	put_task(fixture, PERF_RECORD_FORK, 2, 1, 2, 230);
	put_task(fixture, PERF_RECORD_EXIT, 2, 1, 2, 240);
	assert_int_equal(record_observer_take_reports(fixture->observer, UINT64_MAX), 0);
	assert_int_equal(record_model_tick(fixture->capture.model, UINT64_MAX / 4), 0);
	expect(fixture, "start 2<1 '/bin/sh' 'sh -c' @200\n"
			"image load 2 1000 '/bin/sh' @200\n"
			"thread start 2/2 '' @200\n"
			"thread end 2/2 '' @210\n"
			"end 2<1 '/bin/sh' 'sh -c' @210\n"
			"start 2<1 '/bin/sh' 'sh -c' @220\n"
			"image load 2 1000 '/bin/sh' @220\n"
			"thread start 2/2 '' @220\n"
			"thread end 2/2 '' @230\n"
			"end 2<1 '/bin/sh' 'sh -c' @230\n"
			"start 2<1 '/bin/sh' 'sh -c' @230\n"
			"image load 2 1000 '/bin/sh' @230\n"
			"thread start 2/2 '' @230\n"
			"thread end 2/2 '' @240\n"
			"end 2<1 '/bin/sh' 'sh -c' @240\n");
}

static void a_lost_start_is_made_up_for(void **state)
{
	struct fixture *fixture = *state;
	struct ptl_bytes body = {0};

	start_command(fixture);
	put_exec(fixture, 2, "true", 230);
	put_map(fixture, 2, 0x2000, "/bin/true", 231);
	/* Reports of unknown processes are ignored. */
	put_map(fixture, 3, 0x2000, "/bin/true", 232);
	put_comm(fixture, 0, 3, 3, "name", 233);
	put_task(fixture, PERF_RECORD_FORK, 3, 3, 4, 234);
	put_task(fixture, PERF_RECORD_EXIT, 3, 1, 3, 235);
	common_write_le(&body, 1, 8);
	common_write_le(&body, 7, 8);
	put(fixture, &body, PERF_RECORD_LOST, 0, 240);
	put_task(fixture, PERF_RECORD_EXIT, 2, 1, 2, 250);
	assert_int_equal(record_observer_take_reports(fixture->observer, UINT64_MAX), 0);
	assert_int_equal(fixture->observer->sideband_lost, 7);
	assert_true(fixture->observer->looks_closely);
	expect(fixture, "start 2<0 '' '' @230\n"
			"exec 2<0 '/bin/true' 'true' @230\n"
			"thread start 2/2 '' @230\n"
			"image load 2 2000 '/bin/true' @231\n"
			"thread end 2/2 '' @250\n"
			"end 2<0 '/bin/true' 'true' @250\n");
}

/* For a program with other privileges, the kernel reports only the start, and then the end of reports. */
static void the_end_of_reports_is_not_that_of_a_process(void **state)
{
	struct fixture *fixture = *state;
	const uint64_t before = record_now();
	char text[512];

	start_command(fixture);
	put_task(fixture, PERF_RECORD_FORK, 2, 1, 2, 200);
	put_exec(fixture, 2, "passwd", 230);
	put_task(fixture, PERF_RECORD_EXIT, 2, 1, 2, 231);
	finish(fixture);
	assert_true(fixture->ended >= before && fixture->ended <= record_now());
	snprintf(text, sizeof(text),
		 "start 2<1 '/bin/sh' 'sh -c' @200\n"
		 "image load 2 1000 '/bin/sh' @200\n"
		 "thread start 2/2 '' @200\n"
		 "exec 2<1 'passwd' 'passwd' @230\n"
		 "thread end 2/2 '' @%llu\n"
		 "end 2<1 'passwd' 'passwd' @%llu\n",
		 (unsigned long long)fixture->ended, (unsigned long long)fixture->ended);
	assert_string_equal((const char *)fixture->text.data, text);
}

static void the_same_mapping_is_reported_once(void **state)
{
	struct fixture *fixture = *state;

	start_command(fixture);
	put_task(fixture, PERF_RECORD_FORK, 2, 1, 2, 200);
	put_map(fixture, 2, 0x3000, "/lib/a", 210);
	put_map(fixture, 2, 0x3000, "/lib/a", 220);
	put_map(fixture, 2, 0x2800, "/lib/b", 230);
	put_map(fixture, 2, 0x3000, "/lib/a", 240);
	expect(fixture, "start 2<1 '/bin/sh' 'sh -c' @200\n"
			"image load 2 1000 '/bin/sh' @200\n"
			"thread start 2/2 '' @200\n"
			"image load 2 3000 '/lib/a' @210\n"
			"image load 2 2800 '/lib/b' @230\n"
			"image load 2 3000 '/lib/a' @240\n"
			/* The last look finds the process dead. */
			"thread end 2/2 '' @100000\n"
			"end 2<1 '/bin/sh' 'sh -c' @100000\n");
}

/* Starts a process that waits. Returns its number for put_task and similar functions. */
static uint32_t start_real(pid_t *real)
{
	*real = fork();
	if (*real == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	assert_true(*real > 0);
	return (uint32_t)*real - PID(0);
}

static size_t look_at_maps(const struct fixture *fixture, uint32_t pid)
{
	struct record_observed *process = record_observer_find(fixture->observer, PID(pid));

	assert_non_null(process);
	assert_int_equal(record_observer_look_at_maps(fixture->observer, process, record_now()), 0);
	return process->map_count;
}

/* /proc shows the current mappings: reports of earlier changes come first. */
static void a_look_waits_for_reports(void **state)
{
	struct fixture *fixture = *state;
	const uint64_t now = record_now();
	pid_t real;
	const uint32_t pid = start_real(&real);
	siginfo_t ended;
	size_t count;

	start_command(fixture);
	put_task(fixture, PERF_RECORD_FORK, pid, 1, pid, now);
	assert_int_equal(record_observer_take_reports(fixture->observer, now), 0);
	/* The process forks a child, which does not inherit later mappings, and then executes another program. */
	put_task(fixture, PERF_RECORD_FORK, 2, pid, 2, now + 100);
	put_exec(fixture, pid, "true", now + 200);
	put_map(fixture, pid, 0x7000, "/bin/true", now + 201);
	assert_int_equal(look_at_maps(fixture, pid), 1);
	assert_int_equal(record_observer_take_reports(fixture->observer, now + 150), 0);
	assert_int_equal(look_at_maps(fixture, pid), 1);
	assert_int_equal(record_observer_find(fixture->observer, PID(2))->map_count, 1);
	/* The program is known, its mappings not yet. */
	assert_int_equal(record_observer_take_reports(fixture->observer, now + 200), 0);
	assert_int_equal(look_at_maps(fixture, pid), 0);
	assert_int_equal(record_observer_take_reports(fixture->observer, now + 300), 0);
	count = look_at_maps(fixture, pid);
	assert_true(count > 1);
	kill(real, SIGKILL);
	/* An ended process shows no mappings: they do not count as unmapped, and no memory stays allocated. */
	assert_int_equal(waitid(P_PID, (id_t)real, &ended, WEXITED | WNOWAIT), 0);
	assert_int_equal(look_at_maps(fixture, pid), count);
	assert_int_equal(waitpid(real, NULL, 0), real);
	assert_int_equal(record_capture_close(&fixture->capture, record_now()), 0);
	record_observer_free(fixture->observer);
}

/* After lost reports, looks check programs, too. A program about to be reported is not reported by a look. */
static void a_close_look_waits_for_reports(void **state)
{
	struct fixture *fixture = *state;
	const uint64_t now = record_now();
	struct record_observed *process;
	struct ptl_bytes body = {0};
	pid_t real;
	const uint32_t pid = start_real(&real);

	start_command(fixture);
	put_task(fixture, PERF_RECORD_FORK, pid, 1, pid, now);
	common_write_le(&body, 1, 8);
	common_write_le(&body, 7, 8);
	put(fixture, &body, PERF_RECORD_LOST, 0, now);
	assert_int_equal(record_observer_take_reports(fixture->observer, now), 0);
	process = record_observer_find(fixture->observer, PID(pid));
	assert_non_null(process);
	/* as if the process had executed another program */
	process->program++;
	put_exec(fixture, pid, "true", now + 200);
	put_map(fixture, pid, 0x7000, "/bin/true", now + 201);
	assert_int_equal(record_observer_look(fixture->observer, now + 100), 0);
	assert_true(fixture->observer->looks_closely);
	assert_int_not_equal(process->program_looked, now + 100);
	assert_int_equal(record_observer_take_reports(fixture->observer, now + 300), 0);
	assert_int_equal(record_observer_look(fixture->observer, now + 400), 0);
	assert_int_equal(process->program_looked, now + 400);
	assert_false(fixture->observer->looks_closely);
	kill(real, SIGKILL);
	assert_int_equal(waitpid(real, NULL, 0), real);
	assert_int_equal(record_capture_close(&fixture->capture, record_now()), 0);
	record_observer_free(fixture->observer);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_child_begins_with_what_its_parent_has),
		TEST(threads_have_names_and_ends),
		TEST(an_exec_leaves_one_thread),
		TEST(a_pid_is_used_again),
		TEST(a_lost_start_is_made_up_for),
		TEST(the_same_mapping_is_reported_once),
		TEST(the_end_of_reports_is_not_that_of_a_process),
		TEST(a_look_waits_for_reports),
		TEST(a_close_look_waits_for_reports),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
