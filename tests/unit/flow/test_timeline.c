/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the timeline: processes, threads and images over time, and lookups in every version. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "flow/timeline/query.h"
#include "tests/unit/dump_trace.h"

#define BASE 0x400000ull
#define PAGE 0x1000ull

static const struct ptl_machine machine = {.source = "test", .mode = 64, .clock = PTL_CLOCK_MONOTONIC};

/* Four pages of code, all different. */
static uint8_t *make_code(uint8_t first)
{
	static uint8_t code[4 * 0x1000];

	for (size_t i = 0; i < sizeof(code); i++)
		code[i] = (uint8_t)(first + (i >> 12));
	return code;
}

static struct flow_timeline *finish(struct dump_trace *made, struct ptl_trace **trace)
{
	struct flow_timeline *timeline = NULL;

	*trace = dump_trace_finish(made);
	assert_int_equal(flow_timeline_build(*trace, &timeline), 0);
	return timeline;
}

static void start(struct dump_trace *made, uint64_t time, uint32_t pid, uint32_t parent, uint64_t key, const char *path)
{
	const struct ptl_process_event data = {
		.unique_key = key,
		.process_id = pid,
		.parent_id = parent,
		.image_file_name = path,
		.command_line = path,
	};

	dump_trace_process(made, time, PTL_OPCODE_START, &data);
}

static void end(struct dump_trace *made, uint64_t time, uint32_t pid, uint64_t key, int32_t exit_status)
{
	const struct ptl_process_event data = {
		.unique_key = key,
		.process_id = pid,
		.exit_status = exit_status,
		.has_exit_status = true,
		.image_file_name = "",
		.command_line = "",
	};

	dump_trace_process(made, time, PTL_OPCODE_END, &data);
}

static void execute(struct dump_trace *made, uint64_t time, uint32_t pid, const char *path)
{
	const struct ptl_process_event data = {
		.process_id = pid,
		.image_file_name = path,
		.command_line = path,
	};

	dump_trace_process(made, time, PTL_OPCODE_EXEC, &data);
}

/* Returns the first byte at an address; 0: unmapped, -1: an image without bytes. */
static int byte_at(struct ptl_trace *trace, const struct flow_timeline *timeline, uint32_t process, uint64_t time,
		   uint64_t address)
{
	struct flow_place place;
	uint8_t *data;
	size_t size;
	int byte;

	if (!flow_timeline_find(timeline, process, time, address, &place)) {
		assert_true(place.first <= address && place.last >= address);
		return 0;
	}
	if (!place.has_code)
		return -1;
	assert_int_equal(ptl_blob_read(trace, ptl_blob_at(trace, place.blob)->hash, 1u << 20, &data, &size), 0);
	assert_true(place.blob_offset + (address - place.first) < size);
	byte = data[place.blob_offset + (address - place.first)];
	free(data);
	return byte;
}

static const char *image_at(const struct flow_timeline *timeline, uint32_t process, uint64_t time, uint64_t address)
{
	struct flow_place place;

	if (!flow_timeline_find(timeline, process, time, address, &place) || place.image == FLOW_NONE)
		return "";
	return flow_timeline_image(timeline, place.image)->data.file_name;
}

static void images_alike(void **state)
{
	struct flow_timeline *timeline;
	struct dump_trace made;
	struct ptl_trace *trace;

	(void)state;
	dump_trace_start(&made, &machine);
	dump_trace_load(&made, 10, 7, "a", BASE, PAGE, make_code(1), PAGE);
	dump_trace_load(&made, 11, 8, "a", BASE, PAGE, make_code(1), PAGE);
	dump_trace_load(&made, 12, 9, "b", BASE, PAGE, make_code(1), PAGE);
	dump_trace_load(&made, 13, 10, "a", BASE + PAGE, PAGE, make_code(1), PAGE);
	dump_trace_load(&made, 14, 11, "a", BASE, PAGE, make_code(2), PAGE);
	dump_trace_load(&made, 15, 12, "a", BASE, PAGE, make_code(1), PAGE);
	timeline = finish(&made, &trace);
	assert_int_equal(flow_timeline_image_count(timeline), 6);
	assert_int_equal(flow_timeline_alike(timeline, 0), 0);
	assert_int_equal(flow_timeline_alike(timeline, 1), 0);
	assert_int_equal(flow_timeline_alike(timeline, 2), 2); /* the name differs */
	assert_int_equal(flow_timeline_alike(timeline, 3), 3); /* the address differs */
	assert_int_equal(flow_timeline_alike(timeline, 4), 4); /* the bytes differ */
	assert_int_equal(flow_timeline_alike(timeline, 5), 0);
	assert_int_equal(flow_timeline_alike(timeline, FLOW_NONE), FLOW_NONE);
	flow_timeline_free(timeline);
	ptl_close(trace);
}

static void mappings_over_time(void **state)
{
	struct flow_timeline *timeline;
	struct dump_trace made;
	struct ptl_trace *trace;

	(void)state;
	dump_trace_start(&made, &machine);
	start(&made, 10, 7, 1, 1, "/bin/a");
	dump_trace_load(&made, 20, 7, "a", BASE, 4 * PAGE, make_code(1), 4 * PAGE);
	/* Another image covers the second page; then that image and the rest are unmapped. */
	dump_trace_load(&made, 30, 7, "b", BASE + PAGE, PAGE, make_code(50), PAGE);
	dump_trace_unload(&made, 40, 7, BASE + PAGE, PAGE);
	dump_trace_unload(&made, 50, 7, BASE, 4 * PAGE);
	/* The same address again, with fewer known bytes than mapped. */
	dump_trace_load(&made, 60, 7, "c", BASE, 4 * PAGE, make_code(80), PAGE + 1);
	timeline = finish(&made, &trace);

	assert_int_equal(flow_timeline_image_count(timeline), 3);
	assert_int_equal(byte_at(trace, timeline, 0, 19, BASE), 0);
	assert_int_equal(byte_at(trace, timeline, 0, 20, BASE + PAGE), 2);
	assert_int_equal(byte_at(trace, timeline, 0, 29, BASE + PAGE), 2);
	assert_int_equal(byte_at(trace, timeline, 0, 30, BASE), 1);
	assert_int_equal(byte_at(trace, timeline, 0, 30, BASE + PAGE), 50);
	assert_int_equal(byte_at(trace, timeline, 0, 30, BASE + 2 * PAGE), 3);
	assert_string_equal(image_at(timeline, 0, 39, BASE + PAGE), "b");
	assert_string_equal(image_at(timeline, 0, 39, BASE + 3 * PAGE), "a");
	assert_int_equal(byte_at(trace, timeline, 0, 40, BASE + PAGE), 0);
	assert_int_equal(byte_at(trace, timeline, 0, 49, BASE + 3 * PAGE), 4);
	assert_int_equal(byte_at(trace, timeline, 0, 50, BASE + 3 * PAGE), 0);
	assert_int_equal(byte_at(trace, timeline, 0, 60, BASE + PAGE), 81);
	assert_int_equal(byte_at(trace, timeline, 0, 60, BASE + PAGE + 1), -1);
	assert_string_equal(image_at(timeline, 0, 1000, BASE + 3 * PAGE), "c");

	/* An image ends when its last byte is unmapped. */
	assert_int_equal(flow_timeline_image(timeline, 0)->start, 20);
	assert_int_equal(flow_timeline_image(timeline, 0)->end, 50);
	assert_int_equal(flow_timeline_image(timeline, 1)->end, 40);
	assert_true(flow_timeline_image(timeline, 2)->end == FLOW_TIME_END);
	flow_timeline_free(timeline);
	ptl_close(trace);
}

static void protection(void **state)
{
	struct ptl_image_event change = {.base = BASE, .size = PAGE, .process_id = 7, .file_name = ""};
	struct flow_timeline *timeline;
	struct dump_trace made;
	struct ptl_trace *trace;

	(void)state;
	dump_trace_start(&made, &machine);
	dump_trace_load(&made, 20, 7, "a", BASE, 4 * PAGE, make_code(1), 4 * PAGE);
	change.protection = PROT_READ | PROT_WRITE;
	dump_trace_image(&made, 30, PTL_OPCODE_PROTECT, &change);
	change.base = BASE + PAGE;
	change.protection = PROT_READ | PROT_WRITE | PROT_EXEC;
	dump_trace_image(&made, 40, PTL_OPCODE_PROTECT, &change);
	timeline = finish(&made, &trace);

	assert_int_equal(byte_at(trace, timeline, 0, 29, BASE), 1);
	/* The mapping stays, as the code may become executable again. */
	assert_int_equal(byte_at(trace, timeline, 0, 30, BASE), 1);
	assert_int_equal(byte_at(trace, timeline, 0, 30, BASE + PAGE), 2);
	assert_int_equal(byte_at(trace, timeline, 0, 40, BASE + PAGE), 2);
	assert_int_equal(flow_timeline_image(timeline, 0)->data.protection, change.protection);
	flow_timeline_free(timeline);
	ptl_close(trace);
}

/* Naming the memory of a JIT compiler does not make its code known. */
static void names_of_memory(void **state)
{
	const struct ptl_image_event data = {
		.base = BASE, .size = 2 * PAGE, .process_id = 7, .file_name = "named", .protection = PROT_EXEC};
	struct ptl_bytes payload = {0};
	struct ptl_event event = {0};
	struct flow_timeline *timeline;
	struct dump_trace made;
	struct ptl_trace *trace;

	(void)state;
	dump_trace_start(&made, &machine);
	dump_trace_load(&made, 20, 7, "//anon", BASE, 2 * PAGE, NULL, 0);
	dump_trace_code(&made, 30, 7, BASE + 5, PAGE, make_code(60), PAGE);
	assert_int_equal(ptl_image_encode(&data, PTL_OPCODE_LOAD, &payload, &event), 0);
	event.time = 40;
	event.flags = PTL_EVENT_INJECTED;
	assert_int_equal(ptl_writer_event(made.writer, made.events, &event), 0);
	common_bytes_free(&payload);
	timeline = finish(&made, &trace);

	assert_string_equal(image_at(timeline, 0, 40, BASE), "named");
	assert_string_equal(image_at(timeline, 0, 40, BASE + PAGE), "named");
	assert_string_equal(image_at(timeline, 0, 40, BASE + 2 * PAGE - 1), "named");
	assert_int_equal(byte_at(trace, timeline, 0, 40, BASE + 4), -1);
	assert_int_equal(byte_at(trace, timeline, 0, 40, BASE + 5), 60);
	assert_int_equal(byte_at(trace, timeline, 0, 40, BASE + PAGE), 60);
	assert_int_equal(flow_timeline_image(timeline, 0)->end, 40);
	assert_true(flow_timeline_image(timeline, 1)->end == FLOW_TIME_END);
	flow_timeline_free(timeline);
	ptl_close(trace);
}

static void code_events(void **state)
{
	struct flow_timeline *timeline;
	struct flow_place place;
	struct dump_trace made;
	struct ptl_trace *trace;

	(void)state;
	dump_trace_start(&made, &machine);
	dump_trace_load(&made, 20, 7, "a", BASE, 2 * PAGE, make_code(1), 2 * PAGE);
	/* from inside the image to beyond its end */
	dump_trace_code(&made, 30, 7, BASE + PAGE, 2 * PAGE, make_code(60), 2 * PAGE);
	dump_trace_code(&made, 40, 7, BASE + PAGE + 5, 3, make_code(70), 3);
	/* Fewer bytes than the event's size: the rest becomes unknown. */
	dump_trace_code(&made, 50, 7, BASE, PAGE, make_code(90), 16);
	timeline = finish(&made, &trace);

	assert_int_equal(byte_at(trace, timeline, 0, 29, BASE + PAGE), 2);
	assert_int_equal(byte_at(trace, timeline, 0, 30, BASE), 1);
	assert_int_equal(byte_at(trace, timeline, 0, 30, BASE + PAGE), 60);
	assert_int_equal(byte_at(trace, timeline, 0, 30, BASE + 2 * PAGE), 61);
	assert_string_equal(image_at(timeline, 0, 30, BASE + PAGE), "a");
	assert_string_equal(image_at(timeline, 0, 30, BASE + 2 * PAGE), "");
	assert_true(flow_timeline_find(timeline, 0, 30, BASE + 2 * PAGE, &place));
	assert_true(place.code_event && place.image == FLOW_NONE);
	assert_int_equal(byte_at(trace, timeline, 0, 40, BASE + PAGE + 4), 60);
	assert_int_equal(byte_at(trace, timeline, 0, 40, BASE + PAGE + 5), 70);
	assert_int_equal(byte_at(trace, timeline, 0, 40, BASE + PAGE + 8), 60);
	assert_int_equal(byte_at(trace, timeline, 0, 49, BASE + 16), 1);
	assert_int_equal(byte_at(trace, timeline, 0, 50, BASE + 15), 90);
	assert_int_equal(byte_at(trace, timeline, 0, 50, BASE + 16), -1);
	flow_timeline_free(timeline);
	ptl_close(trace);
}

static void fork_and_exec(void **state)
{
	struct flow_timeline *timeline;
	struct dump_trace made;
	struct ptl_trace *trace;
	uint32_t parent, child;

	(void)state;
	dump_trace_start(&made, &machine);
	start(&made, 10, 7, 1, 1, "/bin/sh");
	dump_trace_load(&made, 20, 7, "sh", BASE, 2 * PAGE, make_code(1), 2 * PAGE);
	dump_trace_code(&made, 25, 7, BASE + 8 * PAGE, PAGE, make_code(33), PAGE);
	start(&made, 30, 8, 7, 2, "");
	/* Later changes of a process do not affect the other. */
	dump_trace_unload(&made, 40, 7, BASE, PAGE);
	dump_trace_load(&made, 50, 8, "plugin", BASE + 4 * PAGE, PAGE, make_code(20), PAGE);
	execute(&made, 60, 8, "/usr/bin/true");
	dump_trace_load(&made, 61, 8, "true", BASE, PAGE, make_code(40), PAGE);
	end(&made, 70, 8, 2, 3 << 8);
	timeline = finish(&made, &trace);

	parent = flow_timeline_process_at(timeline, 7, 100);
	child = flow_timeline_process_at(timeline, 8, 100);
	assert_int_equal(flow_timeline_process(timeline, child)->parent, parent);
	assert_int_equal(byte_at(trace, timeline, child, 29, BASE), 0);
	assert_int_equal(byte_at(trace, timeline, child, 30, BASE), 1);
	assert_int_equal(byte_at(trace, timeline, child, 30, BASE + 8 * PAGE), 33);
	assert_int_equal(byte_at(trace, timeline, parent, 40, BASE), 0);
	assert_int_equal(byte_at(trace, timeline, child, 40, BASE), 1);
	assert_int_equal(byte_at(trace, timeline, parent, 50, BASE + 4 * PAGE), 0);
	assert_int_equal(byte_at(trace, timeline, child, 50, BASE + 4 * PAGE), 20);
	assert_int_equal(byte_at(trace, timeline, child, 60, BASE), 0);
	assert_int_equal(byte_at(trace, timeline, child, 60, BASE + 8 * PAGE), 0);
	assert_int_equal(byte_at(trace, timeline, child, 61, BASE), 40);
	assert_int_equal(byte_at(trace, timeline, parent, 61, BASE + PAGE), 2);

	/* The child's images: inherited, loaded, and loaded by the new program. */
	assert_int_equal(flow_timeline_process(timeline, child)->image_count, 3);
	assert_true(flow_timeline_image(timeline, flow_timeline_process(timeline, child)->images[0])->inherited);
	assert_int_equal(flow_timeline_image(timeline, flow_timeline_process(timeline, child)->images[1])->end, 60);
	assert_int_equal(flow_timeline_image(timeline, flow_timeline_process(timeline, child)->images[2])->end, 70);

	/* The child first ran its parent's program. */
	assert_int_equal(flow_timeline_process(timeline, child)->program_count, 2);
	assert_string_equal(flow_timeline_program_at(timeline, child, 59)->path, "/bin/sh");
	assert_string_equal(flow_timeline_program_at(timeline, child, 60)->path, "/usr/bin/true");
	assert_string_equal(flow_timeline_process(timeline, child)->name, "true");
	assert_int_equal(flow_timeline_process(timeline, child)->exit_status, 3 << 8);
	assert_int_equal(flow_timeline_process(timeline, child)->end, 70);
	assert_false(flow_timeline_process(timeline, parent)->ended);
	flow_timeline_free(timeline);
	ptl_close(trace);
}

/* A recorder may also report a forked child's images: inherited images are not loaded twice. */
static void rundown_of_what_is_known(void **state)
{
	struct ptl_image_event image = {
		.base = BASE,
		.size = PAGE,
		.process_id = 7,
		.file_name = "a",
		.protection = PROT_EXEC,
	};
	struct ptl_process_event process = {
		.unique_key = 1,
		.process_id = 7,
		.image_file_name = "/a",
		.command_line = "a",
	};
	struct flow_timeline *timeline;
	struct dump_trace made;
	struct ptl_trace *trace;

	(void)state;
	dump_trace_start(&made, &machine);
	dump_trace_process(&made, 10, PTL_OPCODE_START_RUNDOWN, &process);
	dump_trace_thread(&made, 10, PTL_OPCODE_START_RUNDOWN, 7, 7);
	dump_trace_image(&made, 10, PTL_OPCODE_START_RUNDOWN, &image);
	start(&made, 20, 8, 7, 2, "");
	image.process_id = 8;
	dump_trace_image(&made, 20, PTL_OPCODE_START_RUNDOWN, &image);
	dump_trace_image(&made, 30, PTL_OPCODE_END_RUNDOWN, &image);
	dump_trace_process(&made, 30, PTL_OPCODE_END_RUNDOWN, &process);
	dump_trace_thread(&made, 30, PTL_OPCODE_END_RUNDOWN, 7, 7);
	timeline = finish(&made, &trace);

	assert_int_equal(flow_timeline_process_count(timeline), 2);
	assert_int_equal(flow_timeline_thread_count(timeline), 1);
	assert_int_equal(flow_timeline_image_count(timeline), 2);
	assert_int_equal(flow_timeline_process(timeline, 0)->start, 0);
	assert_false(flow_timeline_process(timeline, 0)->started);
	/* The image existed before the capture, and before the time of its rundown. */
	assert_int_equal(byte_at(trace, timeline, 0, 0, BASE), -1);
	assert_int_equal(flow_timeline_image(timeline, 0)->start, 0);
	assert_true(flow_timeline_image(timeline, 0)->rundown);
	flow_timeline_free(timeline);
	ptl_close(trace);
}

/* The name is the path's last component or, without a path, the last component of the command's first word. */
static void names_of_processes(void **state)
{
	static const struct {
		const char *path, *command, *name;
	} cases[] = {
		{"/bin/a", "b c", "a"},
		{"", "/usr/sbin/init --all", "init"},
		{"", "sshd: root /dev/pts", "sshd:"},
		{"", "/process /a b", "process"},
		{"", "", ""},
		{"", " x", ""},
	};
	struct flow_timeline *timeline;
	struct dump_trace made;
	struct ptl_trace *trace;

	(void)state;
	dump_trace_start(&made, &machine);
	for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct ptl_process_event data = {
			.unique_key = i + 1,
			.process_id = i + 1,
			.image_file_name = cases[i].path,
			.command_line = cases[i].command,
		};

		dump_trace_process(&made, 10, PTL_OPCODE_START_RUNDOWN, &data);
	}
	timeline = finish(&made, &trace);
	for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(flow_timeline_process(timeline, i)->name, cases[i].name);
	flow_timeline_free(timeline);
	ptl_close(trace);
}

/* Changes of the parent's images after the fork do not affect the child, even without reports about the child. */
static void protection_as_of_the_fork(void **state)
{
	struct ptl_image_event image = {
		.base = BASE, .size = PAGE, .process_id = 7, .file_name = "a", .protection = PROT_EXEC};
	struct flow_timeline *timeline;
	struct dump_trace made;
	struct ptl_trace *trace;
	const struct flow_timeline_process *child;

	(void)state;
	dump_trace_start(&made, &machine);
	start(&made, 10, 7, 1, 1, "/bin/sh");
	dump_trace_image(&made, 20, PTL_OPCODE_LOAD, &image);
	start(&made, 30, 8, 7, 2, "");
	image.protection = PROT_EXEC | PROT_WRITE;
	dump_trace_image(&made, 40, PTL_OPCODE_PROTECT, &image);
	timeline = finish(&made, &trace);

	child = flow_timeline_process(timeline, flow_timeline_process_at(timeline, 8, 100));
	assert_int_equal(flow_timeline_image(timeline, 0)->data.protection, PROT_EXEC | PROT_WRITE);
	assert_int_equal(child->image_count, 1);
	assert_int_equal(flow_timeline_image(timeline, child->images[0])->data.protection, PROT_EXEC);
	flow_timeline_free(timeline);
	ptl_close(trace);
}

/* An unknown event is counted and changes nothing: it creates no process, and inherited images stay. */
static void events_of_unknown_opcodes(void **state)
{
	struct ptl_image_event image = {
		.base = BASE, .size = PAGE, .process_id = 7, .file_name = "a", .protection = PROT_EXEC};
	struct flow_timeline *timeline;
	struct dump_trace made;
	struct ptl_trace *trace;
	uint32_t child;

	(void)state;
	dump_trace_start(&made, &machine);
	start(&made, 10, 7, 1, 1, "/bin/sh");
	dump_trace_image(&made, 20, PTL_OPCODE_LOAD, &image);
	start(&made, 30, 8, 7, 2, "");
	image.process_id = 8;
	dump_trace_image(&made, 30, 99, &image);
	image.process_id = 9;
	dump_trace_image(&made, 40, 99, &image);
	timeline = finish(&made, &trace);

	assert_int_equal(flow_timeline_skipped(timeline), 2);
	assert_int_equal(flow_timeline_process_count(timeline), 2);
	child = flow_timeline_process_at(timeline, 8, 100);
	assert_int_equal(flow_timeline_process(timeline, child)->image_count, 1);
	flow_timeline_free(timeline);
	ptl_close(trace);
}

/* A recorder that reports all of a forked child's images leaves nothing to inherit. */
static void fork_that_is_told(void **state)
{
	struct flow_timeline *timeline;
	struct dump_trace made;
	struct ptl_trace *trace;
	uint32_t child, grandchild;

	(void)state;
	dump_trace_start(&made, &machine);
	start(&made, 10, 7, 1, 1, "/bin/sh");
	dump_trace_load(&made, 20, 7, "sh", BASE, PAGE, make_code(1), PAGE);
	/* Another thread was faster than the fork was reported. */
	dump_trace_code(&made, 29, 7, BASE, PAGE, make_code(9), PAGE);
	start(&made, 30, 8, 7, 2, "");
	dump_trace_load(&made, 30, 8, "sh", BASE, PAGE, make_code(1), PAGE);
	/* no reports about the child's child */
	start(&made, 40, 9, 8, 3, "");
	start(&made, 50, 10, 9, 4, "");
	timeline = finish(&made, &trace);

	child = flow_timeline_process_at(timeline, 8, 100);
	assert_int_equal(byte_at(trace, timeline, child, 30, BASE), 1);
	assert_int_equal(flow_timeline_process(timeline, child)->image_count, 1);
	assert_false(flow_timeline_image(timeline, flow_timeline_process(timeline, child)->images[0])->inherited);
	grandchild = flow_timeline_process_at(timeline, 10, 100);
	assert_int_equal(byte_at(trace, timeline, grandchild, 50, BASE), 1);
	assert_string_equal(image_at(timeline, grandchild, 50, BASE), "sh");
	flow_timeline_free(timeline);
	ptl_close(trace);
}

static void pids_that_are_used_again(void **state)
{
	struct flow_timeline *timeline;
	struct dump_trace made;
	struct ptl_trace *trace;

	(void)state;
	dump_trace_start(&made, &machine);
	start(&made, 10, 7, 1, 1, "/first");
	dump_trace_thread(&made, 10, PTL_OPCODE_START, 7, 7);
	dump_trace_load(&made, 11, 7, "a", BASE, PAGE, make_code(1), PAGE);
	dump_trace_thread(&made, 20, PTL_OPCODE_END, 7, 7);
	end(&made, 20, 7, 1, 0);
	start(&made, 30, 7, 1, 2, "/second");
	dump_trace_thread(&made, 30, PTL_OPCODE_START, 7, 7);
	dump_trace_load(&made, 31, 7, "b", BASE, PAGE, make_code(9), PAGE);
	/* The end of the second process was lost. */
	start(&made, 50, 7, 1, 3, "/third");
	timeline = finish(&made, &trace);

	assert_int_equal(flow_timeline_process_count(timeline), 3);
	assert_int_equal(flow_timeline_process_at(timeline, 7, 0), 0);
	assert_int_equal(flow_timeline_process_at(timeline, 7, 29), 0);
	assert_int_equal(flow_timeline_process_at(timeline, 7, 30), 1);
	assert_int_equal(flow_timeline_process_at(timeline, 7, 1000), 2);
	assert_true(flow_timeline_process_at(timeline, 9, 10) == FLOW_NONE);
	assert_int_equal(flow_timeline_thread_at(timeline, 7, 7, 15), 0);
	assert_int_equal(flow_timeline_thread_at(timeline, 7, 7, 30), 1);
	assert_int_equal(flow_timeline_thread(timeline, 1)->process, 1);
	assert_int_equal(byte_at(trace, timeline, 0, 15, BASE), 1);
	assert_int_equal(byte_at(trace, timeline, 1, 31, BASE), 9);
	assert_int_equal(flow_timeline_process(timeline, 1)->end, 50);
	assert_false(flow_timeline_process(timeline, 1)->ended);
	/* Threads and images without an end end with their process. */
	assert_int_equal(flow_timeline_thread(timeline, 1)->end, 50);
	assert_int_equal(flow_timeline_image(timeline, 1)->end, 50);
	flow_timeline_free(timeline);
	ptl_close(trace);
}

static void streams_without_events(void **state)
{
	static const uint8_t pad[16];
	struct flow_timeline *timeline;
	struct dump_trace made;
	struct ptl_trace *trace;
	uint32_t stream;

	(void)state;
	dump_trace_start(&made, &machine);
	stream = dump_trace_stream(&made, 5, 6);
	assert_int_equal(ptl_writer_bytes(made.writer, stream, pad, sizeof(pad), 10), 0);
	timeline = finish(&made, &trace);

	assert_int_equal(flow_timeline_process_count(timeline), 1);
	assert_int_equal(flow_timeline_process(timeline, 0)->pid, 5);
	assert_true(flow_timeline_process(timeline, 0)->implied);
	assert_int_equal(flow_timeline_process(timeline, 0)->thread_count, 1);
	assert_int_equal(flow_timeline_thread(timeline, 0)->tid, 6);
	assert_true(flow_timeline_thread(timeline, 0)->implied);
	flow_timeline_free(timeline);
	ptl_close(trace);
}

/* Addresses at the end of the address space, invalid ranges, and events of future classes. */
static void odd_events(void **state)
{
	struct ptl_image_event image = {.base = UINT64_MAX - 15, .size = 16, .process_id = 7, .file_name = "a"};
	struct flow_timeline *timeline;
	struct dump_trace made;
	struct ptl_trace *trace;

	(void)state;
	dump_trace_start(&made, &machine);
	dump_trace_image(&made, 10, PTL_OPCODE_LOAD, &image);
	image.size = 17;
	dump_trace_image(&made, 20, PTL_OPCODE_LOAD, &image);
	image.size = 0;
	dump_trace_image(&made, 30, PTL_OPCODE_LOAD, &image);
	image.base = 0;
	image.size = UINT64_MAX;
	dump_trace_image(&made, 40, PTL_OPCODE_LOAD, &image);
	timeline = finish(&made, &trace);

	assert_int_equal(flow_timeline_skipped(timeline), 2);
	assert_int_equal(byte_at(trace, timeline, 0, 10, UINT64_MAX), -1);
	assert_int_equal(byte_at(trace, timeline, 0, 10, UINT64_MAX - 16), 0);
	assert_int_equal(byte_at(trace, timeline, 0, 40, 0), -1);
	assert_int_equal(flow_timeline_image(timeline, 0)->end, FLOW_TIME_END);
	flow_timeline_free(timeline);
	ptl_close(trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(images_alike),
		cmocka_unit_test(mappings_over_time),
		cmocka_unit_test(protection),
		cmocka_unit_test(names_of_memory),
		cmocka_unit_test(code_events),
		cmocka_unit_test(fork_and_exec),
		cmocka_unit_test(rundown_of_what_is_known),
		cmocka_unit_test(names_of_processes),
		cmocka_unit_test(protection_as_of_the_fork),
		cmocka_unit_test(events_of_unknown_opcodes),
		cmocka_unit_test(fork_that_is_told),
		cmocka_unit_test(pids_that_are_used_again),
		cmocka_unit_test(streams_without_events),
		cmocka_unit_test(odd_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
