/* SPDX-License-Identifier: BSD-2-Clause */
/* Assigns events to processes and threads, and derives their changes. */
#include "format/state/fold.h"

#include <stdlib.h>

#include "common/error.h"
#include "common/vector.h"

void format_fold_free(struct format_fold *fold)
{
	format_pieces_free(&fold->pieces);
	common_bytes_free(&fold->storage);
	free(fold->undecided);
	fold->undecided = NULL;
	fold->undecided_count = 0;
}

/* ---- forked processes ------------------------------------------------------------------------- */

int format_fold_settle(struct format_fold *fold, uint64_t time)
{
	uint32_t *undecided = fold->undecided;
	const size_t count = fold->undecided_count;
	int status = 0;

	if (!count || time <= fold->undecided_time)
		return 0;
	/* The callee may request rundown, which also settles. */
	fold->undecided = NULL;
	fold->undecided_count = 0;
	for (size_t i = 0; i < count && !status; i++) {
		struct format_fold_process *process = fold->listener->processes->find(fold->context, undecided[i]);

		if (process)
			status = format_fold_decide(fold, process);
	}
	free(undecided);
	return status;
}

/* Lets a forked process use its parent's address space, unless more is reported about it at the same time. */
static int fork_space(struct format_fold *fold, struct format_fold_process *process, struct format_fold_process *parent)
{
	int status = process->touched ? 0 : format_fold_decide(fold, parent);

	if (status || process->touched || !parent->touched)
		return status;
	if (!common_vector_room(&fold->undecided, fold->undecided_count, sizeof(*fold->undecided)))
		return common_fail_memory("processes", fold->undecided_count * sizeof(*fold->undecided));
	fold->undecided[fold->undecided_count++] = process->pid;
	fold->undecided_time = process->start;
	process->undecided = process->touched = true;
	return fold->listener->spaces->forks(fold->context, process, parent);
}

/* ---- processes ------------------------------------------------------------------------------- */

static struct format_fold_process *find_parent(struct format_fold *fold, const struct ptl_process_event *data)
{
	struct format_fold_process *parent = data->parent_id == data->process_id
						     ? NULL
						     : fold->listener->processes->find(fold->context, data->parent_id);

	return parent && parent->ended && fold->listener->forgets_ended ? NULL : parent;
}

static int start_process(struct format_fold *fold, const struct ptl_event *event,
			 const struct format_kernel_event *decoded, struct format_fold_process *process)
{
	const bool started = decoded->action == FORMAT_ACTION_BEGIN;
	struct ptl_process_event data = decoded->process;
	struct format_fold_process *parent = find_parent(fold, &data);
	/* Parent 0 means unknown; process 0 has the kernel's images, which need no copies. */
	const bool forked = started && !data.begins_empty && parent && parent->pid % PTL_MACHINE_IDS;
	const char *path, *command_line;
	int status;

	process->implied = false;
	process->started = started;
	process->unique_key = data.unique_key;
	process->start = started ? event->time : 0;
	process->rundown |= decoded->action == FORMAT_ACTION_START_RUNDOWN;
	/* A forked process runs its parent's program until exec. */
	if (forked && !*data.image_file_name &&
	    fold->listener->processes->program(fold->context, parent, &path, &command_line)) {
		data.image_file_name = path;
		if (!*data.command_line)
			data.command_line = command_line;
	}
	status = fold->listener->processes->begins(fold->context, process, parent, &data);
	return status || !forked ? status : fork_space(fold, process, parent);
}

static int add_process(struct format_fold *fold, const struct ptl_event *event,
		       const struct format_kernel_event *decoded, struct format_fold_process **process)
{
	const int status = fold->listener->processes->add(fold->context, decoded->pid, process);

	return status ? status : start_process(fold, event, decoded, *process);
}

/*
 * Whether the event repeats the report of a known process that has not ended, or of a process whose end was already
 * reported.
 */
static bool is_known_process(const struct format_fold_process *process, const struct format_kernel_event *decoded)
{
	if (process->implied)
		return !process->ended;
	if (decoded->process.unique_key && process->unique_key)
		return decoded->process.unique_key == process->unique_key;
	return !process->ended && decoded->action != FORMAT_ACTION_BEGIN;
}

static int process_begins(struct format_fold *fold, const struct ptl_event *event,
			  const struct format_kernel_event *decoded)
{
	struct format_fold_process *process = fold->listener->processes->find(fold->context, decoded->pid);
	int status = 0;

	if (process && is_known_process(process, decoded))
		return process->implied ? start_process(fold, event, decoded, process) : 0;
	/* The pid is reused: an unreported end of the preceding process came before now. */
	if (process && !process->ended)
		status = fold->listener->processes->ends(fold->context, process, event->time, NULL);
	return status ? status : add_process(fold, event, decoded, &process);
}

static int process_ends(struct format_fold *fold, const struct ptl_event *event,
			const struct format_kernel_event *decoded)
{
	struct format_fold_process *process = fold->listener->processes->find(fold->context, decoded->pid);
	const bool tells = *decoded->process.image_file_name || *decoded->process.command_line;
	int status = 0;

	if (!process)
		status = add_process(fold, event, decoded, &process);
	else if (process->implied && !process->ended && tells)
		status = start_process(fold, event, decoded, process);
	if (status || process->ended)
		return status;
	process->ended = true;
	return fold->listener->processes->ends(fold->context, process, event->time, &decoded->process);
}

static int process_executes(struct format_fold *fold, const struct ptl_event *event,
			    const struct format_kernel_event *decoded)
{
	struct format_fold_process *process;
	int status = format_fold_need(fold, decoded->pid, &process);

	if (status || !process)
		return status;
	status = format_fold_clear(fold, process, event->time);
	if (status)
		return status;
	process->implied = false;
	/* From now on, all mappings are reported by loads. */
	process->rundown = true;
	return fold->listener->processes->executes(fold->context, process, event->time, &decoded->process);
}

static int take_process(struct format_fold *fold, const struct ptl_event *event,
			const struct format_kernel_event *decoded)
{
	switch (decoded->action) {
	case FORMAT_ACTION_BEGIN:
	case FORMAT_ACTION_START_RUNDOWN:
	case FORMAT_ACTION_END_RUNDOWN:
		return process_begins(fold, event, decoded);
	case FORMAT_ACTION_END:
		return process_ends(fold, event, decoded);
	case FORMAT_ACTION_EXEC:
		return process_executes(fold, event, decoded);
	default:
		return common_fail(PTL_UNSUPPORTED, "process event with opcode %u", event->descriptor.opcode);
	}
}

static int take_signal(struct format_fold *fold, const struct ptl_event *event,
		       const struct format_kernel_event *decoded)
{
	struct format_fold_process *process;
	int status;

	if (!fold->listener->processes->signalled)
		return 0;
	status = format_fold_need(fold, decoded->pid, &process);
	return status || !process
		       ? status
		       : fold->listener->processes->signalled(fold->context, process, event->time, &decoded->signal);
}

/* ---- threads --------------------------------------------------------------------------------- */

static int thread_begins(struct format_fold *fold, const struct ptl_event *event,
			 const struct format_kernel_event *decoded)
{
	const struct format_fold_threads *threads = fold->listener->threads;
	const bool started = decoded->action == FORMAT_ACTION_BEGIN;
	struct format_fold_process *process;
	uint32_t known;
	int status = format_fold_need(fold, decoded->pid, &process);

	if (status || !process)
		return status;
	if (started || !threads->find(fold->context, process, decoded->tid, &known))
		return threads->begins(fold->context, process, event->time, started, &decoded->thread);
	/* Rundown may repeat a known thread, possibly with a new name. */
	return decoded->thread.name[0] ? threads->renamed(fold->context, known, decoded->thread.name) : 0;
}

static int take_thread(struct format_fold *fold, const struct ptl_event *event,
		       const struct format_kernel_event *decoded)
{
	switch (decoded->action) {
	case FORMAT_ACTION_BEGIN:
	case FORMAT_ACTION_START_RUNDOWN:
	case FORMAT_ACTION_END_RUNDOWN:
		return thread_begins(fold, event, decoded);
	case FORMAT_ACTION_END:
		return fold->listener->threads->ends(fold->context, event->time, &decoded->thread);
	default:
		return common_fail(PTL_UNSUPPORTED, "thread event with opcode %u", event->descriptor.opcode);
	}
}

/* ---- events ---------------------------------------------------------------------------------- */

static int fold_event(struct format_fold *fold, const struct ptl_event *event)
{
	struct format_kernel_event decoded;
	int status = format_kernel_decode(event, &fold->storage, &decoded);

	if (status)
		return status;
	switch (decoded.class) {
	case FORMAT_CLASS_PROCESS:
		return take_process(fold, event, &decoded);
	case FORMAT_CLASS_THREAD:
		return take_thread(fold, event, &decoded);
	case FORMAT_CLASS_SWITCH:
		return fold->listener->threads->switched
			       ? fold->listener->threads->switched(fold->context, event, &decoded.switched)
			       : 0;
	case FORMAT_CLASS_IMAGE:
		return format_fold_image(fold, event, &decoded);
	case FORMAT_CLASS_SIGNAL:
		return take_signal(fold, event, &decoded);
	default:
		return format_fold_code(fold, event, &decoded.code);
	}
}

int format_fold_event(struct format_fold *fold, const struct ptl_event *event)
{
	int status = format_fold_settle(fold, event->time);

	if (status)
		return status;
	status = fold_event(fold, event);
	if (fold->pieces.failed)
		return common_fail_memory("address spaces", 0);
	/* An invalid event is skipped; folding continues. */
	if (status == PTL_NOT_OURS)
		return 0;
	if (status != PTL_UNSUPPORTED && status != PTL_CORRUPT && status != PTL_TRUNCATED)
		return status;
	fold->skipped++;
	return 0;
}
