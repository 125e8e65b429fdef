/* SPDX-License-Identifier: BSD-2-Clause */
/* Chooses a process, its window and its current thread, and reads its memory. */
#include "dump/gdb/process.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "common/error.h"

/* ---- the process --------------------------------------------------------------------------------- */

static int end_signal(const struct flow_timeline_process *process)
{
	return process->has_exit_status && WIFSIGNALED(process->exit_status) ? WTERMSIG(process->exit_status) : 0;
}

/* Returns the index of the process to show; FLOW_NONE: no process is wanted. */
static uint32_t choose_process(const struct dump_run *run, const struct flow_timeline *timeline)
{
	uint32_t chosen = FLOW_NONE;

	for (size_t i = 0; i < flow_timeline_process_count(timeline); i++) {
		const struct flow_timeline_process *process = flow_timeline_process(timeline, i);

		if (!analysis_filter_wants_thread(&(const struct analysis_filter){.pids = run->options->filter.pids},
						  process->pid, 0) ||
		    !process->pid || (process->implied && !process->thread_count))
			continue;
		if (end_signal(process))
			return (uint32_t)i;
		if (chosen == FLOW_NONE)
			chosen = (uint32_t)i;
	}
	return chosen;
}

/* ---- memory -------------------------------------------------------------------------------------- */

static size_t read_at(struct dump_gdb_process *process, uint64_t time, uint64_t address, uint8_t *bytes, size_t size)
{
	struct flow_version version;

	flow_timeline_version(process->timeline, process->process, time, &version);
	return flow_code_read(process->code, version.root, address, bytes, size);
}

/* Reads the code of the window's end. Code that was unmapped before is read as of its last time. */
static size_t process_read_memory(void *context, uint64_t address, uint8_t *bytes, size_t size)
{
	struct dump_gdb_process *process = context;
	const struct flow_timeline_process *owner = flow_timeline_process(process->timeline, process->process);
	size_t count = process->code ? read_at(process, process->time, address, bytes, size) : 0;

	for (size_t i = owner->image_count; process->code && !count && i > 0; i--) {
		const struct flow_timeline_image *image = flow_timeline_image(process->timeline, owner->images[i - 1]);

		if (address - image->data.base < image->data.size && image->start <= process->time)
			count = read_at(process, image->end == FLOW_TIME_END ? process->time : image->end - 1, address,
					bytes, size);
	}
	return count;
}

/* ---- threads ------------------------------------------------------------------------------------- */

static uint64_t last_time(const struct dump_gdb_thread *thread)
{
	return thread->count ? thread->blocks[thread->count - 1].time : 0;
}

/*
 * Returns whether the thread may be the one in which the signal ended the process: the thread that the trace names. In a
 * trace without the name, a thread that stands before an instruction.
 */
static bool may_have_signal(const struct dump_gdb_process *process, const struct dump_gdb_thread *thread)
{
	if (process->signal_thread)
		return thread->tid == process->signal_thread;
	return process->signal && thread->next;
}

/*
 * Checks whether gdb shows thread a rather than b: the thread with the last block. If a signal ended the process, a
 * thread that may have taken the signal comes first, and of several the thread that stopped first: the end of a process
 * stops its other threads.
 */
static bool is_shown_before(const struct dump_gdb_process *process, const struct dump_gdb_thread *a,
			    const struct dump_gdb_thread *b)
{
	const bool stopped = may_have_signal(process, a);

	if (stopped != may_have_signal(process, b))
		return stopped;
	return stopped ? last_time(a) < last_time(b) : last_time(a) > last_time(b);
}

static void set_signal(const struct dump_gdb_process *process, struct dump_gdb_thread *thread)
{
	thread->signal = (uint8_t)process->signal;
	if (process->signal_thread)
		thread->fatal = flow_timeline_process(process->timeline, process->process)->fatal;
}

static void set_current(struct dump_gdb_process *process)
{
	struct dump_gdb_model *model = &process->model;
	struct dump_gdb_thread *threads = model->threads;

	model->current = 0;
	model->threads_in_question = 0;
	for (size_t i = 0; i < model->thread_count; i++) {
		model->threads_in_question += may_have_signal(process, &threads[i]);
		if (is_shown_before(process, &threads[i], &threads[model->current]))
			model->current = i;
	}
	process->time = process->window.last_time ? process->window.last_time : UINT64_MAX - 1;
	if (model->thread_count && !process->window.last_time && !threads[model->current].after &&
	    (!process->signal_thread || threads[model->current].tid == process->signal_thread))
		set_signal(process, &threads[model->current]);
}

int dump_gdb_process_move(struct dump_gdb_process *process, const struct dump_gdb_window *window)
{
	struct dump_gdb_window wanted = *window;
	struct flow_code *code = NULL;
	int status;

	if (wanted.first_time < process->program_time)
		wanted.first_time = process->program_time;
	process->options.code = &code;
	status = dump_gdb_blocks_read(process->run->trace, process->timeline, process->process, &process->options,
				      &wanted, &process->model);
	if (status < 0) {
		flow_code_close(code);
		return status;
	}
	if (code) {
		flow_code_close(process->code);
		process->code = code;
	}
	process->window = wanted;
	process->window.from = NULL;
	set_current(process);
	return 0;
}

int dump_gdb_process_from(struct dump_gdb_process *process, const char *pattern, const struct dump_gdb_window *window)
{
	struct dump_gdb_function function = {.pattern = pattern};
	struct dump_gdb_window wanted = *window;
	struct query_near near = {.text = pattern};
	int status = 0;

	if (!process->symbols)
		status = flow_symbols_open(process->run->trace, process->timeline, dump_run_names(process->run),
					   &process->symbols);
	if (status < 0)
		return status;
	function.symbols = process->symbols;
	wanted.from = &function;
	wanted.first = true;
	status = dump_gdb_process_move(process, &wanted);
	if (status != PTL_NOT_FOUND)
		return status;
	dump_gdb_functions_near(&function, process->timeline, process->process, &near);
	return common_fail(PTL_MISUSE, "no thread of process %u calls '%s'%s", process->pid, pattern,
			   query_near_question(&near));
}

int dump_gdb_process_open(struct dump_gdb_process *process, struct dump_run *run, const struct flow_timeline *timeline,
			  uint64_t instructions, const char *from,
			  void (*monitor)(void *context, const char *command, struct ptl_bytes *text))
{
	const struct analysis_filter *filter = &run->options->filter;
	const struct flow_timeline_process *chosen;
	const struct flow_program *program;
	struct dump_gdb_window window = {
		.first_time = filter->first_time,
		.last_time = filter->last_time == UINT64_MAX ? 0 : filter->last_time,
		.instructions = instructions,
	};
	int status;

	process->run = run;
	process->timeline = timeline;
	process->process = choose_process(run, timeline);
	if (process->process == FLOW_NONE)
		return common_fail(PTL_NOT_FOUND, "%s has no process", run->path);
	chosen = flow_timeline_process(timeline, process->process);
	process->pid = chosen->pid;
	process->signal = end_signal(chosen);
	process->signal_thread = process->signal ? chosen->fatal.tid : 0;
	process->options = dump_run_view_options(run);
	process->options.selection.pids = &process->pid;
	process->options.selection.pid_count = 1;
	program = flow_timeline_program_at(timeline, process->process,
					   window.last_time ? window.last_time : UINT64_MAX);
	/* An exec replaces all memory: only the last program is shown. */
	if (program && chosen->program_count > 1)
		process->program_time = program->time;
	process->model.pid = chosen->pid;
	process->model.context = process;
	process->model.read_memory = process_read_memory;
	process->model.monitor = monitor;
	status = from ? dump_gdb_process_from(process, from, &window) : dump_gdb_process_move(process, &window);
	return status == PTL_NOT_FOUND ? common_fail_in(status, "%s: process %u", run->path, process->pid) : status;
}

void dump_gdb_process_close(struct dump_gdb_process *process)
{
	dump_gdb_threads_free(process->model.threads, process->model.thread_count);
	flow_code_close(process->code);
	flow_symbols_close(process->symbols);
}
