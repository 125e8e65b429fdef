/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the events that result from facts: processes, forks, execs, threads, images, ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/bytes.h"
#include "record/model/model.h"

#define SECOND 1000000000ull

/* Events as text, one per line: "stream_pair part time what". */
struct fixture {
	struct record_model *model;
	struct ptl_bytes text;
	uint64_t lane_time[8][RECORD_PARTS];
};

__attribute__((format(printf, 2, 3))) static void say(struct fixture *fixture, const char *format, ...)
{
	char line[1024];
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	common_write_bytes(&fixture->text, line, (size_t)length);
}

static int take_process(struct fixture *fixture, const struct ptl_event *event)
{
	struct ptl_bytes storage = {0};
	struct ptl_process_event data;
	const char *what = event->descriptor.opcode == PTL_OPCODE_START  ? "start"
			   : event->descriptor.opcode == PTL_OPCODE_END  ? "end"
			   : event->descriptor.opcode == PTL_OPCODE_EXEC ? "exec"
									 : "rundown";

	if (ptl_process_decode(event, &storage, &data) < 0)
		return -1;
	say(fixture, "process %s %u<%u key %llu '%s' '%s'", what, data.process_id, data.parent_id,
	    (unsigned long long)data.unique_key, data.image_file_name, data.command_line);
	if (data.has_exit_status)
		say(fixture, " status %#x", (unsigned)data.exit_status);
	common_bytes_free(&storage);
	return 0;
}

static int take_thread(struct fixture *fixture, const struct ptl_event *event)
{
	struct ptl_bytes storage = {0};
	struct ptl_thread_event data;
	const char *what = event->descriptor.opcode == PTL_OPCODE_START ? "start"
			   : event->descriptor.opcode == PTL_OPCODE_END ? "end"
									: "rundown";

	if (ptl_thread_decode(event, &storage, &data) < 0)
		return -1;
	say(fixture, "thread %s %u/%u", what, data.process_id, data.thread_id);
	common_bytes_free(&storage);
	return 0;
}

static int take_signal(struct fixture *fixture, const struct ptl_event *event)
{
	struct ptl_signal_event data;

	if (ptl_signal_decode(event, &data) < 0)
		return -1;
	say(fixture, "signal %u of %u/%u code %d", data.signal, data.process_id, data.thread_id, data.code);
	return 0;
}

static int take_image(struct fixture *fixture, const struct ptl_event *event)
{
	struct ptl_bytes storage = {0};
	struct ptl_image_event data;
	const uint8_t opcode = event->descriptor.opcode;

	if (ptl_image_decode(event, &storage, &data) < 0)
		return -1;
	say(fixture, "image %s %u %llx+%llx '%s' prot %u",
	    opcode == PTL_OPCODE_LOAD      ? "load"
	    : opcode == PTL_OPCODE_UNLOAD  ? "unload"
	    : opcode == PTL_OPCODE_PROTECT ? "protect"
					   : "rundown",
	    data.process_id, (unsigned long long)data.base, (unsigned long long)data.size, data.file_name,
	    data.protection);
	common_bytes_free(&storage);
	return 0;
}

static int take_code(struct fixture *fixture, const struct ptl_event *event)
{
	struct ptl_code_event data;

	if (ptl_code_decode(event, &data) < 0)
		return -1;
	say(fixture, "code %u %llx+%llx %c", data.process_id, (unsigned long long)data.base,
	    (unsigned long long)data.size, data.code[0]);
	return 0;
}

static int on_event(void *context, uint32_t stream_pair, enum record_part part, const struct ptl_event *event)
{
	struct fixture *fixture = context;

	/* Times go back in no stream. */
	assert_true(stream_pair < 8);
	assert_true(event->time >= fixture->lane_time[stream_pair][part]);
	fixture->lane_time[stream_pair][part] = event->time;
	say(fixture, "%u%c %llu ", stream_pair, part == RECORD_MEMORY ? 'm' : 'l', (unsigned long long)event->time);
	if (take_process(fixture, event) < 0 && take_thread(fixture, event) < 0 && take_image(fixture, event) < 0 &&
	    take_signal(fixture, event) < 0 && take_code(fixture, event) < 0)
		fail_msg("an event of no known class");
	say(fixture, "\n");
	return 0;
}

static int on_code(void *context, const uint8_t *data, size_t size, uint8_t hash[PTL_HASH_SIZE])
{
	(void)context;
	assert_true(size > 0);
	memset(hash, data[0], PTL_HASH_SIZE);
	return 0;
}

static int on_loss(void *context, const struct ptl_loss *loss)
{
	say(context, "loss %u pid %u: %s\n", loss->kind, loss->pid, loss->cause);
	return 0;
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	const struct record_sink sink = {fixture, on_event, on_code, on_loss};

	*state = fixture;
	return record_model_new(&sink, &fixture->model);
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	record_model_free(fixture->model);
	common_bytes_free(&fixture->text);
	free(fixture);
	return 0;
}

/* Expects that the events since the last call are `text`. */
static void expect(struct fixture *fixture, const char *text)
{
	common_write_bytes(&fixture->text, "", 1);
	assert_string_equal((const char *)fixture->text.data, text);
	fixture->text.size = 0;
}

/* ---- facts ----------------------------------------------------------------------------------- */

/* Makes a fact. Process number n has pid 100 * n, and its first thread has the same id. */
static struct record_fact fact_of(enum record_fact_kind kind, uint32_t process, uint32_t tid, uint64_t time)
{
	return (struct record_fact){
		.kind = kind,
		.pid = 100 * process,
		.tid = tid ? tid : 100 * process,
		.time = time,
		.process = process,
	};
}

static void send(struct fixture *fixture, const struct record_fact *fact)
{
	assert_int_equal(record_model_fact(fixture->model, fact, 0), 0);
}

static void send_start(struct fixture *fixture, uint32_t process, uint32_t parent, uint64_t time, uint64_t epoch)
{
	struct record_fact fact = fact_of(RECORD_FACT_PROCESS_START, process, 0, time);

	fact.epoch = epoch;
	fact.start.forked = parent != 0;
	fact.start.parent_pid = parent ? 100 * parent : 7;
	fact.start.parent_process = parent;
	fact.start.parent_epoch = epoch;
	send(fixture, &fact);
}

static void send_exec(struct fixture *fixture, uint32_t process, uint32_t tid, uint64_t time, uint64_t epoch,
		      const char *strings, size_t size)
{
	struct record_fact fact = fact_of(RECORD_FACT_EXEC, process, tid, time);

	fact.epoch = epoch;
	fact.exec.start_address = 0x1000;
	fact.exec.program = (struct record_program){strings, size};
	send(fixture, &fact);
}

static void send_image(struct fixture *fixture, uint32_t process, uint64_t time, uint64_t epoch, uint64_t base,
		       uint64_t size, const char *name)
{
	const struct ptl_image_event image = {.base = base, .size = size, .file_name = name, .protection = 5};
	struct record_fact fact = fact_of(RECORD_FACT_IMAGE_MAP, process, 0, time);

	fact.epoch = epoch;
	fact.image = &image;
	send(fixture, &fact);
}

static void send_unmap(struct fixture *fixture, uint32_t process, uint64_t time, uint64_t epoch, uint64_t base,
		       uint64_t size)
{
	struct record_fact fact = fact_of(RECORD_FACT_IMAGE_UNMAP, process, 0, time);

	fact.epoch = epoch;
	fact.range.base = base;
	fact.range.size = size;
	send(fixture, &fact);
}

static void send_code(struct fixture *fixture, uint32_t process, uint64_t time, uint64_t epoch, uint64_t base,
		      char byte)
{
	struct record_fact fact = fact_of(RECORD_FACT_CODE, process, 0, time);
	uint8_t bytes[8];

	memset(bytes, byte, sizeof(bytes));
	fact.epoch = epoch;
	fact.range.base = base;
	fact.range.size = sizeof(bytes);
	fact.range.code = bytes;
	send(fixture, &fact);
}

static void send_thread(struct fixture *fixture, enum record_fact_kind kind, uint32_t process, uint32_t tid,
			uint64_t time)
{
	const struct record_fact fact = fact_of(kind, process, tid, time);

	send(fixture, &fact);
}

static void send_exit(struct fixture *fixture, uint32_t process, uint64_t time, uint32_t status)
{
	struct record_fact fact = fact_of(RECORD_FACT_EXIT, process, 0, time);

	fact.exit.wait_status = status;
	send(fixture, &fact);
}

#define LS "/bin/ls\0\0/home\0ls\0-l\0a b"
#define RELATIVE "x/y\0\0/home\0y"

/* ---- tests ----------------------------------------------------------------------------------- */

static void tells_the_first_program(void **state)
{
	struct fixture *fixture = *state;

	send_start(fixture, 1, 0, 10, 1);
	expect(fixture, "");
	send_exec(fixture, 1, 0, 11, 1, LS, sizeof(LS));
	expect(fixture, "0m 10 process start 100<7 key 1 '/bin/ls' 'ls -l 'a b''\n0l 10 thread "
			"start 100/100\n");
	send_exit(fixture, 1, 50, 3 << 8);
	expect(fixture, "");
	assert_int_equal(record_model_gone(fixture->model, 1, 0, true), 0);
	expect(fixture, "0l 50 thread end 100/100\n"
			"0l 50 process end 100<7 key 1 '/bin/ls' 'ls -l 'a b'' status 0x300\n");
}

static void expect_name(const struct fixture *fixture, uint32_t pid, const char *path, const char *word)
{
	struct record_program_name name;

	assert_true(record_model_program_of(fixture->model, pid, &name));
	assert_string_equal(name.path, path);
	assert_string_equal(name.word, word);
}

static void knows_the_word_that_started_a_program(void **state)
{
	static const char many[] = "/bin/busybox\0\0/\0/usr/bin/ls\0-l", unknown[] = "/bin/busybox";
	struct fixture *fixture = *state;
	struct record_program_name name;

	send_start(fixture, 1, 0, 10, 1);
	send_exec(fixture, 1, 0, 11, 1, many, sizeof(many));
	expect_name(fixture, 100, "/bin/busybox", "ls");
	send_start(fixture, 2, 1, 13, 1);
	expect_name(fixture, 200, "/bin/busybox", "ls");
	send_exec(fixture, 2, 0, 14, 2, LS, sizeof(LS));
	expect_name(fixture, 200, "/bin/ls", "ls");
	send_exec(fixture, 2, 0, 15, 3, unknown, sizeof(unknown));
	expect_name(fixture, 200, "/bin/busybox", "");
	assert_false(record_model_program_of(fixture->model, 300, &name));
}

static void starts(struct fixture *fixture)
{
	send_start(fixture, 1, 0, 10, 1);
	send_exec(fixture, 1, 0, 10, 1, LS, sizeof(LS));
	fixture->text.size = 0;
}

static void tells_a_start_whose_program_does_not_come(void **state)
{
	struct fixture *fixture = *state;

	send_start(fixture, 1, 0, 10, 1);
	send_thread(fixture, RECORD_FACT_ALIVE, 1, 0, 11);
	expect(fixture, "");
	send_image(fixture, 1, 11, 2, 0x1000, 0x1000, "/bin/ls");
	expect(fixture, "0m 10 process start 100<7 key 1 '' ''\n0l 10 thread start 100/100\n"
			"0m 11 image load 100 1000+1000 '/bin/ls' prot 5\n");
	send_exec(fixture, 1, 0, 12, 3, "/bin/l", 3);
	expect(fixture, "0m 12 process exec 100<7 key 1 '/bi' ''\n");
}

static void ends_a_process_when_it_was_last_alive(void **state)
{
	struct fixture *fixture = *state;

	starts(fixture);
	send_thread(fixture, RECORD_FACT_ALIVE, 1, 0, 40);
	send_exit(fixture, 1, 30, 0);
	assert_int_equal(record_model_gone(fixture->model, 1, 0, true), 0);
	expect(fixture, "0l 40 thread end 100/100\n0l 40 process end 100<7 key 1 '/bin/ls' 'ls -l 'a b'' status 0\n");
}

static void gives_a_fork_its_parents_memory(void **state)
{
	struct fixture *fixture = *state;

	starts(fixture);
	send_image(fixture, 1, 11, 2, 0x1000, 0x3000, "a");
	send_image(fixture, 1, 12, 3, 0x8000, 0x1000, "b");
	send_code(fixture, 1, 12, 3, 0x2000, 'P');
	/* The parent continues before the child is reported. */
	send_unmap(fixture, 1, 20, 4, 0x8000, 0x1000);
	send_code(fixture, 1, 21, 5, 0x2000, 'Q');
	fixture->text.size = 0;
	send_start(fixture, 2, 1, 13, 3);
	expect(fixture, "1m 13 process start 200<100 key 2 '/bin/ls' 'ls -l 'a b''\n1l 13 thread "
			"start 200/200\n"
			"1m 13 image load 200 1000+3000 'a' prot 5\n1m 13 image load 200 8000+1000 "
			"'b' prot 5\n"
			"1m 13 code 200 2000+8 P\n");
	/* The child's child has both changes. */
	send_unmap(fixture, 2, 14, 4, 0x1000, 0x1000);
	fixture->text.size = 0;
	send_start(fixture, 3, 2, 15, 4);
	expect(fixture, "2m 15 process start 300<200 key 3 '/bin/ls' 'ls -l 'a b''\n2l 15 thread "
			"start 300/300\n"
			"2m 15 image load 300 1000+3000 'a' prot 5\n2m 15 image load 300 8000+1000 "
			"'b' prot 5\n"
			"2m 15 code 300 2000+8 P\n2m 15 image unload 300 1000+1000 '' prot 0\n");
}

static void admits_a_parent_it_forgot(void **state)
{
	struct fixture *fixture = *state;

	send_start(fixture, 2, 1, 13, 3);
	expect(fixture, "0m 13 process start 200<100 key 2 '' ''\n0l 13 thread start 200/200\n"
			"loss 6 pid 200: the process was first seen too long after its fork to know "
			"what it inherited\n");
}

static void remembers_a_dead_parent_for_a_while(void **state)
{
	struct fixture *fixture = *state;

	starts(fixture);
	send_image(fixture, 1, 11, 2, 0x1000, 0x1000, "a");
	send_exit(fixture, 1, 12, 0);
	assert_int_equal(record_model_gone(fixture->model, 1, 5 * SECOND, true), 0);
	assert_int_equal(record_model_tick(fixture->model, 6 * SECOND), 0);
	fixture->text.size = 0;
	send_start(fixture, 2, 1, 12, 2);
	expect(fixture, "0m 12 process start 200<100 key 2 '/bin/ls' 'ls -l 'a b''\n0l 12 thread "
			"start 200/200\n"
			"0m 12 image load 200 1000+1000 'a' prot 5\n");
	for (int i = 0; i < 3; i++)
		assert_int_equal(record_model_tick(fixture->model, 60 * SECOND), 0);
	send_start(fixture, 3, 1, 13, 2);
	common_write_bytes(&fixture->text, "", 1);
	assert_non_null(strstr((char *)fixture->text.data, "loss 6 pid 300"));
	fixture->text.size = 0;
}

static void clears_memory_at_exec(void **state)
{
	struct fixture *fixture = *state;

	starts(fixture);
	send_image(fixture, 1, 11, 2, 0x1000, 0x1000, "a");
	send_thread(fixture, RECORD_FACT_THREAD_START, 1, 101, 12);
	fixture->text.size = 0;
	send_exec(fixture, 1, 0, 20, 3, RELATIVE, sizeof(RELATIVE));
	expect(fixture, "0l 20 thread end 100/101\n0m 20 process exec 100<7 key 1 '/home/x/y' 'y'\n");
	send_start(fixture, 2, 1, 21, 3);
	expect(fixture, "1m 21 process start 200<100 key 2 '/home/x/y' 'y'\n1l 21 thread start 200/200\n");
}

static void renames_the_thread_that_execs(void **state)
{
	struct fixture *fixture = *state;

	starts(fixture);
	send_thread(fixture, RECORD_FACT_THREAD_START, 1, 101, 12);
	send_thread(fixture, RECORD_FACT_THREAD_END, 1, 100, 13);
	fixture->text.size = 0;
	send_exec(fixture, 1, 100, 20, 3, RELATIVE, sizeof(RELATIVE));
	expect(fixture, "0l 20 thread end 100/101\n0l 20 thread start 100/100\n"
			"0m 20 process exec 100<7 key 1 '/home/x/y' 'y'\n");
}

static void keeps_streams_in_order(void **state)
{
	struct fixture *fixture = *state;

	starts(fixture);
	/* A thread's clock may run behind; code may be reported with the time of its epoch. */
	send_thread(fixture, RECORD_FACT_THREAD_START, 1, 101, 50);
	send_image(fixture, 1, 40, 2, 0x1000, 0x1000, "a");
	send_thread(fixture, RECORD_FACT_THREAD_END, 1, 101, 45);
	send_code(fixture, 1, 40, 2, 0x1000, 'c');
	expect(fixture, "0l 50 thread start 100/101\n0m 40 image load 100 1000+1000 'a' prot 5\n"
			"0l 50 thread end 100/101\n0m 40 code 100 1000+8 c\n");
}

static void uses_stream_pairs_again(void **state)
{
	struct fixture *fixture = *state;

	starts(fixture);
	send_start(fixture, 2, 1, 100, 1);
	send_exit(fixture, 2, 120, 0);
	assert_int_equal(record_model_gone(fixture->model, 2, 0, true), 0);
	fixture->text.size = 0;
	/* Process 3 began before the end of process 2, so it cannot reuse process 2's free stream_pair. */
	send_start(fixture, 3, 1, 110, 1);
	expect(fixture, "2m 110 process start 300<100 key 3 '/bin/ls' 'ls -l 'a b''\n2l 110 thread "
			"start 300/300\n");
	send_start(fixture, 4, 1, 120, 1);
	expect(fixture, "1m 120 process start 400<100 key 4 '/bin/ls' 'ls -l 'a b''\n1l 120 thread "
			"start 400/400\n");
}

static void waits_for_an_exit_status(void **state)
{
	struct record_fact status = fact_of(RECORD_FACT_CHILD_STATUS, 1, 0, 70);
	struct fixture *fixture = *state;

	starts(fixture);
	send_start(fixture, 2, 1, 30, 1);
	fixture->text.size = 0;
	assert_int_equal(record_model_gone(fixture->model, 2, 5 * SECOND, true), 0);
	/* A turn that began earlier has the earlier time. */
	assert_int_equal(record_model_tick(fixture->model, 4 * SECOND), 0);
	expect(fixture, "");
	status.exit.pid = 200;
	status.exit.wait_status = 9;
	send(fixture, &status);
	expect(fixture, "1l 30 thread end 200/200\n"
			"1l 30 process end 200<100 key 2 '/bin/ls' 'ls -l 'a b'' status 0x9\n");
	/* Without a reported status the process ends without a status. */
	send_start(fixture, 3, 1, 40, 1);
	fixture->text.size = 0;
	assert_int_equal(record_model_gone(fixture->model, 3, 5 * SECOND, true), 0);
	assert_int_equal(record_model_tick(fixture->model, 6 * SECOND), 0);
	expect(fixture, "1l 40 thread end 300/300\n1l 40 process end 300<100 key 3 '/bin/ls' 'ls "
			"-l 'a b''\n");
	/* No process could report a status. */
	send_start(fixture, 4, 1, 50, 1);
	fixture->text.size = 0;
	assert_int_equal(record_model_gone(fixture->model, 4, 6 * SECOND, false), 0);
	expect(fixture, "1l 50 thread end 400/400\n1l 50 process end 400<100 key 4 '/bin/ls' 'ls "
			"-l 'a b''\n");
}

/* A wait status replaces the status by a signal, because only the wait status tells of a core dump. */
static void tells_whom_a_signal_hit(void **state)
{
	struct record_fact signal = fact_of(RECORD_FACT_SIGNAL, 2, 201, 31);
	struct record_fact status = fact_of(RECORD_FACT_CHILD_STATUS, 1, 0, 70);
	struct fixture *fixture = *state;

	starts(fixture);
	send_start(fixture, 2, 1, 30, 1);
	send_start(fixture, 3, 1, 30, 1);
	fixture->text.size = 0;
	signal.signal = (struct ptl_signal_event){.signal = 11, .code = 1};
	send(fixture, &signal);
	expect(fixture, "1l 31 signal 11 of 200/201 code 1\n");
	status.exit.pid = 200;
	status.exit.wait_status = 11 | 0x80;
	send(fixture, &status);
	assert_int_equal(record_model_gone(fixture->model, 2, 5 * SECOND, true), 0);
	expect(fixture, "1l 31 thread end 200/200\n"
			"1l 31 process end 200<100 key 2 '/bin/ls' 'ls -l 'a b'' status 0x8b\n");
	/* No wait status: the signal is the status. */
	signal = fact_of(RECORD_FACT_SIGNAL, 3, 300, 32);
	signal.signal = (struct ptl_signal_event){.signal = 6, .code = -6};
	send(fixture, &signal);
	fixture->text.size = 0;
	assert_int_equal(record_model_gone(fixture->model, 3, 6 * SECOND, false), 0);
	expect(fixture, "2l 32 thread end 300/300\n"
			"2l 32 process end 300<100 key 3 '/bin/ls' 'ls -l 'a b'' status 0x6\n");
}

static void tells_who_ran_untraced(void **state)
{
	struct record_fact leave = fact_of(RECORD_FACT_LEAVE, 1, 0, 20);
	const struct record_fact stay = fact_of(RECORD_FACT_STAY, 1, 0, 21);
	struct record_model_counts counts;
	struct fixture *fixture = *state;

	starts(fixture);
	leave.leave.program = (struct record_program){"/a.o\0\0/\0a\0b c", 13};
	leave.leave.cause = "it is no x86-64 program";
	send(fixture, &leave);
	send(fixture, &stay);
	send(fixture, &leave);
	expect(fixture, "");
	assert_int_equal(record_model_gone(fixture->model, 1, 0, true), 0);
	expect(fixture, "0m 22 process exec 100<7 key 1 '/a.o' 'a 'b c''\n"
			"loss 5 pid 100: /a.o ran untraced: it is no x86-64 program\n");
	record_model_counts(fixture->model, &counts);
	assert_int_equal(counts.not_followed, 1);
}

static void runs_down_what_lives(void **state)
{
	struct fixture *fixture = *state;

	starts(fixture);
	send_image(fixture, 1, 11, 2, 0x1000, 0x1000, "a");
	send_image(fixture, 1, 12, 3, 0x1000, 0x1000, "b");
	fixture->text.size = 0;
	assert_int_equal(record_model_finish(fixture->model), 0);
	expect(fixture, "0m 12 process rundown 100<7 key 1 '/bin/ls' 'ls -l 'a b''\n0l 12 thread "
			"rundown 100/100\n"
			"0m 12 image rundown 100 1000+1000 'b' prot 5\n");
}

static void survives_nonsense(void **state)
{
	struct fixture *fixture = *state;

	send_start(fixture, 5, 5, 1, 1);
	fixture->text.size = 0;
	send_image(fixture, 9, 11, 2, 0x1000, 0x1000, "of no process");
	send_exit(fixture, 9, 12, 0);
	starts(fixture);
	send_start(fixture, 1, 0, 30, 1);
	send_image(fixture, 1, 31, 2, UINT64_MAX - 0xfff, 0x1000, "at the end of the world");
	send_image(fixture, 1, 31, 2, UINT64_MAX - 0xfff, 0x1001, "beyond it");
	send_image(fixture, 1, 31, 2, 0x1000, 0, "empty");
	send_unmap(fixture, 1, 31, 2, UINT64_MAX, UINT64_MAX);
	send_thread(fixture, RECORD_FACT_THREAD_END, 1, 555, 32);
	send_thread(fixture, RECORD_FACT_THREAD_START, 1, 100, 32);
	send_exec(fixture, 1, 0, 33, 3, "", 0);
	expect(fixture, "1m 31 image load 100 fffffffffffff000+1000 'at the end of the world' prot 5\n"
			"1m 33 process exec 100<7 key 1 '' ''\n");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(tells_the_first_program),
		TEST(knows_the_word_that_started_a_program),
		TEST(tells_a_start_whose_program_does_not_come),
		TEST(ends_a_process_when_it_was_last_alive),
		TEST(gives_a_fork_its_parents_memory),
		TEST(admits_a_parent_it_forgot),
		TEST(remembers_a_dead_parent_for_a_while),
		TEST(clears_memory_at_exec),
		TEST(renames_the_thread_that_execs),
		TEST(keeps_streams_in_order),
		TEST(uses_stream_pairs_again),
		TEST(waits_for_an_exit_status),
		TEST(tells_whom_a_signal_hit),
		TEST(tells_who_ran_untraced),
		TEST(runs_down_what_lives),
		TEST(survives_nonsense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
