/* SPDX-License-Identifier: BSD-2-Clause */
/* ptl-dump processes: the tree of processes, with times, exit statuses and command lines. */
#include <inttypes.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "common/error.h"
#include "common/text/text.h"
#include "dump/command/commands.h"
#include "dump/print/status.h"
#include "dump/print/table.h"
#include "dump/run/run.h"

struct processes_options {
	struct dump_options shared; /* must come first: see dump/run/command.h */
	bool threads;
};

/* State of the walk over the tree. */
struct walk {
	struct dump_run *run;
	const struct flow_timeline *timeline;
	const struct processes_options *options;
	uint32_t *first_child; /* by process; FLOW_NONE: none */
	uint32_t *next_child;  /* next sibling, by process */
	bool *visited;
	const struct process_output *output;
	struct dump_table table;
};

/* An output format: text or JSON. */
struct process_output {
	void (*process)(struct walk *walk, const struct flow_timeline_process *process, unsigned depth);
	void (*thread)(struct walk *walk, const struct flow_timeline_thread *thread, unsigned depth);
	int (*end)(struct walk *walk);
};

static const struct common_option own_options[] = {
	{"", 0, NULL, "What is shown:"},
	{"threads", 'T', NULL, "The threads of each process too.", COMMON_FLAG(struct processes_options, threads)},
	{NULL},
};

/* Returns the last program of the process, by which users know it after exec. */
static const struct flow_program *last_program(const struct flow_timeline_process *process)
{
	return process->program_count ? &process->programs[process->program_count - 1] : NULL;
}

/* ---- text ---------------------------------------------------------------------------------------- */

static const struct dump_column columns[] = {
	{"PID", true}, {"PARENT", true}, {"START ms", true}, {"DURATION", true}, {"STATUS", false}, {"COMMAND", false},
};

static void time_cells(struct walk *walk, uint64_t start, uint64_t end)
{
	const struct ptl_machine *machine = ptl_trace_machine(walk->run->trace);
	const uint64_t from = start > machine->start_time ? start : machine->start_time;
	struct dump_table *table = &walk->table;

	dump_cell_time(table, start, machine->start_time, "before");
	if (end != FLOW_TIME_END && end >= from)
		common_text_duration(&table->text, end - from);
	else
		common_text_add(&table->text, "-");
	dump_cell_text(table, DUMP_STYLE_PLAIN);
}

static void status_cell(struct walk *walk, const struct flow_timeline_process *process)
{
	struct dump_table *table = &walk->table;

	if (process->has_exit_status)
		dump_text_exit_status(&table->text, process->exit_status);
	else
		common_text_add(&table->text, process->ended ? "ended" : "-");
	dump_cell_text(table, process->has_exit_status && process->exit_status ? DUMP_STYLE_RED : DUMP_STYLE_PLAIN);
}

static void text_process(struct walk *walk, const struct flow_timeline_process *process, unsigned depth)
{
	const struct flow_program *program = last_program(process);
	struct dump_table *table = &walk->table;

	dump_cell_format(table, DUMP_STYLE_BOLD, "%" PRIu32, process->pid);
	if (process->parent_pid != PTL_NO_ID)
		common_text_decimal(&table->text, process->parent_pid);
	else
		common_text_add(&table->text, "-");
	dump_cell_text(table, DUMP_STYLE_PLAIN);
	time_cells(walk, process->start, process->end);
	status_cell(walk, process);
	common_text_pad(&table->text, table->text.size, (size_t)2 * depth);
	if (program && *program->command_line)
		common_text_add(&table->text, program->command_line);
	else if (program)
		common_text_add(&table->text, program->path);
	else
		common_text_add(&table->text, "(no event tells what it ran)");
	dump_cell_text(table, program ? DUMP_STYLE_PLAIN : DUMP_STYLE_DIM);
}

/* The thread that took the fatal signal has the signal as its status. */
static void text_thread(struct walk *walk, const struct flow_timeline_thread *thread, unsigned depth)
{
	const struct flow_fatal_signal *fatal = &flow_timeline_process(walk->timeline, thread->process)->fatal;
	struct dump_table *table = &walk->table;
	char room[16];

	dump_cell(table, DUMP_STYLE_DIM, "");
	dump_cell(table, DUMP_STYLE_DIM, "");
	time_cells(walk, thread->start, thread->end);
	if (fatal->signal && fatal->tid == thread->tid)
		common_text_add(&table->text, dump_signal_name((int32_t)fatal->signal, room));
	dump_cell_text(table, DUMP_STYLE_RED);
	common_text_pad(&table->text, table->text.size, (size_t)2 * depth + 2);
	common_text_format(&table->text, "thread %" PRIu32 " ", thread->tid);
	common_text_add(&table->text, thread->name);
	dump_cell_text(table, DUMP_STYLE_DIM);
}

static int text_end(struct walk *walk)
{
	return dump_table_print(&walk->table, walk->run);
}

static const struct process_output text_output = {text_process, text_thread, text_end};

/* ---- JSON ---------------------------------------------------------------------------------------- */

static void json_times(struct walk *walk, uint64_t start, uint64_t end)
{
	dump_json_time(walk->run, "start", start);
	dump_json_time(walk->run, "end", end == FLOW_TIME_END ? 0 : end);
}

static void json_status(struct common_json *json, const struct flow_timeline_process *process)
{
	char room[16];
	const char *signal_name;

	if (!process->has_exit_status) {
		common_json_null(json, "exit_status");
		return;
	}
	signal_name = dump_signal_name(process->exit_status, room);
	if (signal_name)
		common_json_string(json, "signal", signal_name);
	else
		common_json_i64(json, "exit_status", WEXITSTATUS(process->exit_status));
	common_json_i64(json, "wait_status", process->exit_status);
}

/* Writes the signal that ended the process, if the trace tells the thread. */
static void json_fatal_signal(struct common_json *json, const struct flow_fatal_signal *fatal)
{
	if (!fatal->signal)
		return;
	common_json_u64(json, "signal_thread", fatal->tid);
	common_json_i64(json, "signal_code", fatal->code);
	if (fatal->has_address)
		common_json_hex(json, "signal_address", fatal->address);
	if (fatal->sender)
		common_json_u64(json, "signal_sender", fatal->sender);
}

static void json_threads(struct walk *walk, const struct flow_timeline_process *process)
{
	struct common_json *json = &walk->run->json_out;

	common_json_array(json, "threads");
	for (size_t i = 0; i < process->thread_count; i++) {
		const struct flow_timeline_thread *thread = flow_timeline_thread(walk->timeline, process->threads[i]);

		if (!common_id_set_has(&walk->options->shared.filter.tids, thread->tid))
			continue;
		common_json_object(json, NULL);
		common_json_u64(json, "tid", thread->tid);
		common_json_string(json, "name", thread->name);
		json_times(walk, thread->start, thread->end);
		if (thread->start_address)
			common_json_hex(json, "start_address", thread->start_address);
		common_json_object_end(json);
	}
	common_json_array_end(json);
}

static void json_programs(struct walk *walk, const struct flow_timeline_process *process)
{
	struct common_json *json = &walk->run->json_out;

	common_json_array(json, "programs");
	for (size_t i = 0; i < process->program_count; i++) {
		const struct flow_program *program = &process->programs[i];

		common_json_object(json, NULL);
		dump_json_time(walk->run, "time", program->time);
		common_json_string(json, "path", program->path);
		common_json_string(json, "command_line", program->command_line);
		common_json_object_end(json);
	}
	common_json_array_end(json);
}

static void json_process(struct walk *walk, const struct flow_timeline_process *process, unsigned depth)
{
	const struct flow_program *program = last_program(process);
	struct common_json *json = &walk->run->json_out;

	common_json_object(json, NULL);
	common_json_u64(json, "pid", process->pid);
	if (process->parent_pid != PTL_NO_ID)
		common_json_u64(json, "parent_pid", process->parent_pid);
	else
		common_json_null(json, "parent_pid");
	common_json_u64(json, "depth", depth);
	common_json_string(json, "name", process->name);
	json_times(walk, process->start, process->end);
	json_status(json, process);
	json_fatal_signal(json, &process->fatal);
	common_json_string(json, "command_line", program ? program->command_line : NULL);
	json_programs(walk, process);
	if (walk->options->threads)
		json_threads(walk, process);
	common_json_object_end(json);
	common_json_line(json);
}

/* JSON has the threads within their process. */
static void json_thread(struct walk *walk, const struct flow_timeline_thread *thread, unsigned depth)
{
	(void)walk;
	(void)thread;
	(void)depth;
}

static int json_end(struct walk *walk)
{
	(void)walk;
	return 0;
}

static const struct process_output json_output = {json_process, json_thread, json_end};

/* ---- the tree ------------------------------------------------------------------------------------ */

static bool is_wanted_process(const struct walk *walk, const struct flow_timeline_process *process)
{
	const struct analysis_filter *filter = &walk->options->shared.filter;

	if (!common_id_set_has(&filter->pids, process->pid))
		return false;
	if (process->start > filter->last_time || process->end < filter->first_time)
		return false;
	for (size_t i = 0; i < process->thread_count && filter->tids.count; i++)
		if (common_id_set_has(&filter->tids, flow_timeline_thread(walk->timeline, process->threads[i])->tid))
			return true;
	return filter->tids.count == 0;
}

static void show_process(struct walk *walk, uint32_t index, unsigned depth)
{
	const struct flow_timeline_process *process = flow_timeline_process(walk->timeline, index);

	if (!is_wanted_process(walk, process))
		return;
	walk->output->process(walk, process, depth);
	for (size_t i = 0; i < process->thread_count && walk->options->threads; i++) {
		const struct flow_timeline_thread *thread = flow_timeline_thread(walk->timeline, process->threads[i]);

		if (common_id_set_has(&walk->options->shared.filter.tids, thread->tid))
			walk->output->thread(walk, thread, depth);
	}
}

/* Shows a subtree, parents before children. Iterative: a trace may claim a chain of any length, or a cycle. */
static void show_tree(struct walk *walk, uint32_t root)
{
	uint32_t at = root;
	unsigned depth = 0;

	while (at != FLOW_NONE && !walk->visited[at]) {
		uint32_t next;

		walk->visited[at] = true;
		show_process(walk, at, depth);
		next = walk->first_child[at];
		if (next != FLOW_NONE && !walk->visited[next]) {
			at = next;
			depth++;
			continue;
		}
		while (at != root && walk->next_child[at] == FLOW_NONE) {
			at = flow_timeline_process(walk->timeline, at)->parent;
			depth--;
		}
		at = at == root ? FLOW_NONE : walk->next_child[at];
	}
}

/* Links children in the order of the timeline, which is the order of their start. */
static void link_children(struct walk *walk, size_t count)
{
	for (size_t i = 0; i < count; i++)
		walk->first_child[i] = walk->next_child[i] = FLOW_NONE;
	for (size_t i = count; i-- > 0;) {
		const uint32_t parent = flow_timeline_process(walk->timeline, i)->parent;

		if (parent == FLOW_NONE || parent >= count || parent == i)
			continue;
		walk->next_child[i] = walk->first_child[parent];
		walk->first_child[parent] = (uint32_t)i;
	}
}

static int show_all(struct walk *walk)
{
	const size_t count = flow_timeline_process_count(walk->timeline);

	walk->first_child = calloc(count + 1, sizeof(*walk->first_child));
	walk->next_child = calloc(count + 1, sizeof(*walk->next_child));
	walk->visited = calloc(count + 1, sizeof(*walk->visited));
	if (!walk->first_child || !walk->next_child || !walk->visited)
		return common_fail_memory("processes", count * sizeof(*walk->first_child));
	link_children(walk, count);
	for (uint32_t i = 0; i < count; i++)
		if (flow_timeline_process(walk->timeline, i)->parent == FLOW_NONE)
			show_tree(walk, i);
	/* The remaining processes are in a cycle of parents: shown without a tree. */
	for (uint32_t i = 0; i < count; i++) {
		if (!walk->visited[i])
			show_process(walk, i, 0);
	}
	return walk->output->end(walk);
}

static int processes_run(struct dump_run *run)
{
	struct walk walk = {
		.run = run,
		.options = (const struct processes_options *)run->options,
		.output = run->options->json ? &json_output : &text_output,
		.table = {.columns = columns, .column_count = sizeof(columns) / sizeof(columns[0])},
	};
	struct flow_timeline *timeline;
	int status = dump_run_timeline(run, &timeline);

	if (status < 0)
		return status;
	walk.timeline = timeline;
	status = show_all(&walk);
	free(walk.first_child);
	free(walk.next_child);
	free(walk.visited);
	flow_timeline_free(timeline);
	return status;
}

const struct dump_command dump_command_processes = {
	.name = "processes",
	.summary = "the process tree, with times and command lines",
	.details = "Shows the tree of processes: when each started, how long it ran, how it ended, "
		   "and its command line.",
	.examples = "ptl-dump processes build.ptl\n"
		    "ptl-dump processes --threads --time 1s..2s build.ptl\n"
		    "ptl-dump processes --json build.ptl | jq 'select(.exit_status != 0)'",
	.takes = DUMP_TAKES_PROCESS | DUMP_TAKES_TIME,
	.options = own_options,
	.options_size = sizeof(struct processes_options),
	.run = processes_run,
};
