/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compares the state with the timeline. Random histories of processes are reported completely, and from a moment on
 * after that moment's rundown. Both must agree from then on.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include <ptl/state.h>

#include "common/error.h"
#include "flow/timeline/timeline.h"
#include "tests/unit/dump_trace.h"
#include "tests/unit/pt_random.h"

#define PIDS 6u
#define PAGES 12u
#define PAGE 0x1000ull
#define BASE 0x10000ull
#define EVENTS 120u
#define HOLDS 4u /* maximal number of events at the same time */

static const struct ptl_machine machine = {.source = "test", .mode = 64, .clock = PTL_CLOCK_MONOTONIC};

/* A history: events and their payloads. */
struct life {
	struct ptl_event events[EVENTS];
	struct ptl_bytes payloads[EVENTS];
	size_t count;
	uint64_t next_key;
	uint64_t keys[PIDS];   /* 0: not alive */
	bool ended[PIDS];      /* the process has ended: only a start may follow */
	bool known[PIDS];      /* the process was reported, so no start follows */
	bool reported[PIDS];   /* reported by a process event */
	bool threads[PIDS][3]; /* live threads */
	struct pt_random random;
	uint8_t hashes[4][PTL_HASH_SIZE];
};

static uint32_t below(struct life *life, uint32_t bound)
{
	return (uint32_t)pt_random_below(&life->random, bound);
}

static void add(struct life *life, int status, struct ptl_event *event, uint64_t time)
{
	assert_int_equal(status, 0);
	event->time = time;
	event->cpu = PTL_NO_CPU;
	event->pid = event->tid = PTL_NO_ID;
	life->events[life->count++] = *event;
}

/* Returns a live parent, or 99, which is unknown to the trace. */
static uint32_t any_parent(struct life *life)
{
	const uint32_t pid = below(life, PIDS);

	return life->ended[pid] ? 99 : pid;
}

static void add_process(struct life *life, uint64_t time, uint32_t pid, uint32_t parent, uint8_t opcode)
{
	static const char *const names[] = {"/bin/a", "/bin/b", "", "/usr/bin/c"};
	const char *name = names[below(life, 4)];
	const struct ptl_process_event data = {
		.unique_key = life->keys[pid],
		.process_id = pid,
		.parent_id = parent,
		.image_file_name = name,
		.command_line = name,
	};
	struct ptl_event event = {0};

	add(life, ptl_process_encode(&data, opcode, &life->payloads[life->count], &event), &event, time);
}

/*
 * Adds a thread event. A thread ends only after its start, since an end alone reports a thread from before the trace.
 */
static void add_thread(struct life *life, uint64_t time, uint32_t pid)
{
	static const uint8_t opcodes[] = {PTL_OPCODE_START, PTL_OPCODE_START_RUNDOWN, PTL_OPCODE_END_RUNDOWN};
	const uint32_t thread = below(life, 3);
	const struct ptl_thread_event data = {.process_id = pid, .thread_id = 100 + thread, .name = "thread"};
	const uint8_t opcode = life->threads[pid][thread] ? PTL_OPCODE_END : opcodes[below(life, 3)];
	struct ptl_event event = {0};

	life->threads[pid][thread] = opcode != PTL_OPCODE_END;
	add(life, ptl_thread_encode(&data, opcode, &life->payloads[life->count], &event), &event, time);
}

static void add_image(struct life *life, uint64_t time, uint32_t pid)
{
	static const char *const names[] = {"/lib/x.so", "/lib/y.so", "//anon"};
	static const uint8_t opcodes[] = {PTL_OPCODE_LOAD,        PTL_OPCODE_LOAD,         PTL_OPCODE_LOAD,
					  PTL_OPCODE_UNLOAD,      PTL_OPCODE_UNLOAD,       PTL_OPCODE_PROTECT,
					  PTL_OPCODE_END_RUNDOWN, PTL_OPCODE_START_RUNDOWN};
	/* Only the first moment reports earlier mappings. */
	const uint8_t opcode = opcodes[below(life, time > 10 ? 7 : 8)];
	const uint32_t first = below(life, PAGES), pages = 1 + below(life, PAGES - first);
	struct ptl_image_event data = {
		.base = BASE + first * PAGE,
		.size = pages * PAGE,
		.process_id = pid,
		.file_name = names[below(life, 3)],
		.file_offset = below(life, 2) * PAGE,
		.protection = below(life, 4) ? PROT_READ | PROT_EXEC : PROT_READ,
		.has_code = below(life, 4) != 0,
	};
	struct ptl_event event = {0};

	if (opcode == PTL_OPCODE_UNLOAD && !below(life, 4))
		data.size = 0;
	if (data.has_code)
		memcpy(data.code, life->hashes[below(life, 4)], PTL_HASH_SIZE);
	add(life, ptl_image_encode(&data, opcode, &life->payloads[life->count], &event), &event, time);
}

static void add_code(struct life *life, uint64_t time, uint32_t pid)
{
	struct ptl_code_event data = {
		.process_id = pid, .base = BASE + below(life, PAGES * PAGE), .size = 1 + below(life, 2 * PAGE)};
	struct ptl_event event = {0};

	memcpy(data.code, life->hashes[below(life, 4)], PTL_HASH_SIZE);
	add(life, ptl_code_encode(&data, &life->payloads[life->count], &event), &event, time);
}

static void live(struct life *life, uint64_t time)
{
	const uint32_t pid = below(life, PIDS), kind = below(life, 16);

	if (kind == 0 && life->keys[pid]) {
		add_process(life, time, pid, 0, PTL_OPCODE_END);
		life->keys[pid] = 0;
		memset(life->threads[pid], 0, sizeof(life->threads[pid]));
		life->ended[pid] = true;
		life->known[pid] = false;
	} else if (kind <= 4 && !life->known[pid]) {
		life->ended[pid] = false;
		life->known[pid] = life->reported[pid] = true;
		life->keys[pid] = ++life->next_key;
		add_process(life, time, pid, any_parent(life), PTL_OPCODE_START);
		return;
	}
	if (life->ended[pid])
		return;
	life->known[pid] = true;
	if (kind == 4) {
		add_process(life, time, pid, 0, PTL_OPCODE_EXEC);
	} else if (kind == 5) {
		/*
		 * A process reported only by rundown at the end existed before for a timeline, but not for a state:
		 * test_timeline.c.
		 */
		if (time > 10 && !life->reported[pid])
			return;
		life->reported[pid] = true;
		add_process(life, time, pid, any_parent(life),
			    time == 10 ? PTL_OPCODE_START_RUNDOWN : PTL_OPCODE_END_RUNDOWN);
	} else if (kind <= 7) {
		add_thread(life, time, pid);
	} else if (kind <= 10) {
		add_code(life, time, pid);
	} else {
		add_image(life, time, pid);
	}
}

static void make_life(struct life *life, struct dump_trace *made, uint64_t seed)
{
	static uint8_t code[4][3 * 0x1000];
	uint64_t time = 10;

	*life = (struct life){.random = {seed}};
	for (size_t i = 0; i < 4; i++) {
		memset(code[i], (int)(i + 1), sizeof(code[i]));
		assert_int_equal(
			ptl_writer_blob(made->writer, PTL_BLOB_CODE, code[i], (i + 1) * 0x900, life->hashes[i]), 0);
	}
	while (life->count < EVENTS) {
		live(life, time);
		if (life->count > 15 && !below(life, HOLDS))
			time += 1 + below(life, 3);
	}
}

static void free_life(struct life *life)
{
	for (size_t i = 0; i < life->count; i++)
		common_bytes_free(&life->payloads[i]);
}

/* ---- what both say ------------------------------------------------------------------------------- */

struct side {
	struct ptl_trace *trace;
	struct flow_timeline *timeline;
};

static struct side finish(struct dump_trace *made)
{
	struct side side = {.trace = dump_trace_finish(made)};

	assert_int_equal(flow_timeline_build(side.trace, &side.timeline), 0);
	return side;
}

static void drop(struct side *side)
{
	flow_timeline_free(side->timeline);
	ptl_close(side->trace);
}

static const struct flow_timeline_process *process_at(const struct side *side, uint32_t pid, uint64_t time,
						      uint32_t *index)
{
	const struct flow_timeline_process *process;

	*index = flow_timeline_process_at(side->timeline, pid, time);
	if (*index == FLOW_NONE)
		return NULL;
	process = flow_timeline_process(side->timeline, *index);
	return process->start <= time && time < process->end ? process : NULL;
}

/* Describes the mapping at an address as text. */
static void describe(const struct side *side, uint32_t process, uint64_t time, uint64_t address, char text[160])
{
	struct flow_place place;
	const char *name = "none";
	unsigned byte = 0;
	uint64_t offset = 0, load = 0;

	if (!flow_timeline_find(side->timeline, process, time, address, &place)) {
		snprintf(text, 160, "hole");
		return;
	}
	if (place.image != FLOW_NONE) {
		const struct flow_timeline_image *image = flow_timeline_image(side->timeline, place.image);

		name = image->data.file_name;
		load = image->data.base;
	}
	if (place.has_code) {
		byte = ptl_blob_at(side->trace, place.blob)->hash[0];
		offset = place.blob_offset + (address - place.first);
	}
	snprintf(text, 160, "%s@%llx code %d %d blob %02x+%llx", name, (unsigned long long)load, place.has_code,
		 place.code_event, byte, (unsigned long long)offset);
}

static void compare_process(const struct side *whole, uint32_t in_whole, const struct side *cut, uint32_t in_cut,
			    uint64_t time)
{
	const struct flow_program *a = flow_timeline_program_at(whole->timeline, in_whole, time);
	const struct flow_program *b = flow_timeline_program_at(cut->timeline, in_cut, time);

	assert_int_equal(a != NULL, b != NULL);
	if (a) {
		assert_string_equal(a->path, b->path);
		assert_string_equal(a->command_line, b->command_line);
	}
	for (uint64_t address = BASE - PAGE; address < BASE + (PAGES + 1) * PAGE; address += 0x333) {
		char left[160], right[160];

		describe(whole, in_whole, time, address, left);
		describe(cut, in_cut, time, address, right);
		if (strcmp(left, right))
			fail_msg("time %llu, address %#llx: %s in the whole, %s in the cut", (unsigned long long)time,
				 (unsigned long long)address, left, right);
	}
}

static void compare_threads(const struct side *whole, const struct flow_timeline_process *a, const struct side *cut,
			    const struct flow_timeline_process *b, uint64_t time)
{
	unsigned alive[2][3] = {{0}, {0}};
	const struct side *sides[] = {whole, cut};
	const struct flow_timeline_process *processes[] = {a, b};

	for (size_t k = 0; k < 2; k++)
		for (size_t i = 0; i < processes[k]->thread_count; i++) {
			const struct flow_timeline_thread *thread = flow_timeline_thread(sides[k]->timeline,
											 processes[k]->threads[i]);

			if (thread->start <= time && time < thread->end)
				alive[k][thread->tid - 100] = 1;
		}
	for (size_t i = 0; i < 3; i++)
		if (alive[0][i] != alive[1][i])
			fail_msg("time %llu, process %u: thread %zu is %salive in the whole, %salive in the cut",
				 (unsigned long long)time, a->pid, 100 + i, alive[0][i] ? "" : "not ",
				 alive[1][i] ? "" : "not ");
}

static void compare(const struct side *whole, const struct side *cut, uint64_t time)
{
	for (uint32_t pid = 0; pid < PIDS; pid++) {
		uint32_t in_whole, in_cut;
		const struct flow_timeline_process *a = process_at(whole, pid, time, &in_whole);
		const struct flow_timeline_process *b = process_at(cut, pid, time, &in_cut);

		/* An unreported process without mappings may be missing. */
		if (!a || (!b && a->implied))
			continue;
		assert_non_null(b);
		assert_int_equal(a->implied, b->implied);
		assert_int_equal(a->unique_key, b->unique_key);
		assert_int_equal(a->parent_pid, b->parent_pid);
		compare_process(whole, in_whole, cut, in_cut, time);
		compare_threads(whole, a, cut, b, time);
	}
}

static int write_event(void *context, const struct ptl_event *event)
{
	struct dump_trace *made = context;

	assert_true(event->flags & PTL_EVENT_INJECTED);
	return ptl_writer_event(made->writer, made->events, event);
}

static void cut_at(const struct life *life, const struct side *whole, uint64_t time)
{
	struct ptl_rundown rundown = {.size = sizeof(rundown),
				      .pid = PTL_NO_ID,
				      .time = time - 1,
				      .opcode = PTL_OPCODE_START_RUNDOWN,
				      .take = write_event};
	struct ptl_state *state;
	struct dump_trace made;
	struct side cut;
	struct life again;
	size_t i = 0;

	dump_trace_start(&made, &machine);
	make_life(&again, &made, 1); /* writes the blobs */
	free_life(&again);
	assert_int_equal(ptl_state_new(&state), 0);
	for (; i < life->count && life->events[i].time < time; i++)
		assert_int_equal(ptl_state_event(state, &life->events[i]), 0);
	rundown.context = &made;
	assert_int_equal(ptl_state_rundown(state, &rundown), 0);
	assert_int_equal(ptl_state_skipped(state), 0);
	ptl_state_free(state);
	for (; i < life->count; i++)
		assert_int_equal(ptl_writer_event(made.writer, made.events, &life->events[i]), 0);
	cut = finish(&made);
	for (uint64_t at = time; at < time + 40; at += 3)
		compare(whole, &cut, at);
	drop(&cut);
}

static void rundown_brings_a_reader_to_the_same_state(void **state)
{
	const char *seeds = getenv("PTL_RANDOM_LIVES");
	const unsigned count = seeds ? (unsigned)atoi(seeds) : 60;

	(void)state;
	for (unsigned seed = 1; seed <= count; seed++) {
		static struct life life;
		struct dump_trace made;
		struct side whole;

		dump_trace_start(&made, &machine);
		make_life(&life, &made, seed);
		for (size_t i = 0; i < life.count; i++)
			assert_int_equal(ptl_writer_event(made.writer, made.events, &life.events[i]), 0);
		whole = finish(&made);
		for (uint64_t time = 12; time <= life.events[EVENTS - 1].time + 1; time += 5)
			cut_at(&life, &whole, time);
		drop(&whole);
		free_life(&life);
	}
}

/* ---- questions, and forks ------------------------------------------------------------------------ */

static void fold(struct ptl_state *state, int status, struct ptl_event *event, uint64_t time, struct ptl_bytes *storage)
{
	assert_int_equal(status, 0);
	event->time = time;
	assert_int_equal(ptl_state_event(state, event), 0);
	common_bytes_free(storage);
}

static void fold_process(struct ptl_state *state, uint64_t time, uint8_t opcode, uint32_t pid, uint32_t parent,
			 const char *path)
{
	const struct ptl_process_event data = {.unique_key = pid,
					       .process_id = pid,
					       .parent_id = parent,
					       .image_file_name = path,
					       .command_line = path};
	struct ptl_bytes storage = {0};
	struct ptl_event event = {0};

	fold(state, ptl_process_encode(&data, opcode, &storage, &event), &event, time, &storage);
}

static void fold_image(struct ptl_state *state, uint64_t time, uint8_t opcode, uint32_t pid, uint64_t base,
		       uint64_t size, const char *name)
{
	const struct ptl_image_event data = {.base = base, .size = size, .process_id = pid, .file_name = name};
	struct ptl_bytes storage = {0};
	struct ptl_event event = {0};

	fold(state, ptl_image_encode(&data, opcode, &storage, &event), &event, time, &storage);
}

struct inherited {
	uint32_t pid;
	uint64_t start;
	unsigned calls;
};

static int note_inherited(void *context, struct ptl_state *state, uint32_t pid, uint64_t start)
{
	struct inherited *inherited = context;

	assert_non_null(ptl_state_find_image(state, pid, 0, UINT64_MAX));
	*inherited = (struct inherited){pid, start, inherited->calls + 1};
	return 0;
}

static void questions_and_forks(void **unused)
{
	struct inherited inherited = {0};
	struct ptl_state_process process;
	struct ptl_state *state;

	(void)unused;
	assert_int_equal(ptl_state_new(&state), 0);
	ptl_state_on_inherit(state, note_inherited, &inherited);
	fold_process(state, 10, PTL_OPCODE_START_RUNDOWN, 1, 0, "/bin/init");
	fold_image(state, 10, PTL_OPCODE_START_RUNDOWN, 1, BASE, 2 * PAGE, "a");
	assert_string_equal(ptl_state_find_image(state, 1, BASE + PAGE, BASE + PAGE)->file_name, "a");
	assert_null(ptl_state_find_image(state, 1, 0, BASE - 1));
	assert_null(ptl_state_find_image(state, 2, BASE, BASE));

	/* A fully reported process starts with its own mappings; another starts with the parent's mappings. */
	fold_process(state, 20, PTL_OPCODE_START, 2, 1, "");
	fold_image(state, 20, PTL_OPCODE_LOAD, 2, BASE + 4 * PAGE, PAGE, "b");
	fold_process(state, 20, PTL_OPCODE_START, 3, 1, "");
	assert_int_equal(inherited.calls, 0);
	fold_image(state, 21, PTL_OPCODE_UNLOAD, 1, BASE, 2 * PAGE, "");
	assert_int_equal(inherited.calls, 1);
	assert_int_equal(inherited.pid, 3);
	assert_int_equal(inherited.start, 20);
	assert_null(ptl_state_find_image(state, 2, BASE, BASE + PAGE));
	assert_non_null(ptl_state_find_image(state, 3, BASE, BASE + PAGE));
	assert_null(ptl_state_find_image(state, 1, 0, UINT64_MAX));

	assert_true(ptl_state_find_process(state, 3, &process));
	assert_string_equal(process.program, "/bin/init");
	assert_int_equal(process.parent_id, 1);
	fold_process(state, 30, PTL_OPCODE_END, 2, 1, "");
	assert_false(ptl_state_find_process(state, 2, &process));
	assert_true(ptl_state_process_at(state, 1, &process));
	assert_int_equal(process.pid, 3);
	assert_false(ptl_state_process_at(state, 2, &process));
	ptl_state_free(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(questions_and_forks),
		cmocka_unit_test(rundown_brings_a_reader_to_the_same_state),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
