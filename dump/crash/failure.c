/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists and orders failed processes. */
#include "dump/crash/failure.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "common/error.h"
#include "common/text/text.h"
#include "common/vector.h"
#include "dump/print/status.h"

/* Statuses of Windows from here on are errors of the system: 0xc0000005 is an access violation. */
#define WINDOWS_ERROR 0x80000000u

/* ---- one process --------------------------------------------------------------------------------- */

/* Users, other processes and the kernel's limits send these signals. */
static bool is_sent(int signal)
{
	static const int sent[] = {SIGKILL, SIGTERM, SIGINT,  SIGHUP,  SIGQUIT,
				   SIGALRM, SIGPIPE, SIGXCPU, SIGUSR1, SIGUSR2};

	for (size_t i = 0; i < sizeof(sent) / sizeof(sent[0]); i++)
		if (signal == sent[i])
			return true;
	return false;
}

static bool runs_on_windows(const struct ptl_trace *trace, uint32_t pid)
{
	const struct ptl_machine *machine = ptl_machine_at(trace, pid / PTL_MACHINE_IDS);

	return machine && !strcmp(machine->source, "etl");
}

static struct dump_failure failure_of(const struct dump_run *run, const struct flow_timeline *timeline, uint32_t index)
{
	const struct flow_timeline_process *process = flow_timeline_process(timeline, index);
	struct dump_failure failure = {
		.process = index, .pid = process->pid, .kind = DUMP_FAILURE_NONE, .end = process->end};

	if (!process->has_exit_status || !process->exit_status)
		return failure;
	if (runs_on_windows(run->trace, process->pid)) {
		failure.kind = DUMP_FAILURE_EXIT;
		failure.windows = true;
		failure.number = (uint32_t)process->exit_status;
	} else if (WIFSIGNALED(process->exit_status)) {
		failure.kind = DUMP_FAILURE_SIGNAL;
		failure.number = (uint32_t)WTERMSIG(process->exit_status);
		failure.core = WCOREDUMP(process->exit_status);
		failure.fatal = process->fatal.signal ? &process->fatal : NULL;
		failure.sent = failure.fatal && failure.fatal->sender ? failure.fatal->sender != process->pid
								      : is_sent(WTERMSIG(process->exit_status));
	} else if (WIFEXITED(process->exit_status)) {
		failure.kind = DUMP_FAILURE_EXIT;
		failure.number = (uint32_t)WEXITSTATUS(process->exit_status);
	}
	return failure;
}

static bool is_selected(const struct dump_run *run, const struct flow_timeline_process *process)
{
	const struct analysis_filter pids = {.pids = run->options->filter.pids};

	return analysis_filter_wants_thread(&pids, process->pid, 0);
}

/* ---- order --------------------------------------------------------------------------------------- */

struct failure_order {
	struct dump_failures *failures;
	struct dump_failure *sorted;
	size_t count;
	bool *done;
	uint32_t *at; /* by process: index in failures->list; FLOW_NONE */
};

static void order_add(struct failure_order *order, size_t i)
{
	order->done[i] = true;
	order->sorted[order->count++] = order->failures->list[i];
}

static void order_signals(struct failure_order *order)
{
	for (size_t i = 0; i < order->failures->count; i++)
		if (order->failures->list[i].kind == DUMP_FAILURE_SIGNAL && !order->failures->list[i].sent)
			order_add(order, i);
}

/* Returns whether all known ancestors of the process failed, too: nobody handled the failure. */
static bool reaches_root(const struct failure_order *order, const struct flow_timeline *timeline, uint32_t process)
{
	size_t left = flow_timeline_process_count(timeline);
	uint32_t parent = flow_timeline_process(timeline, process)->parent;

	for (; parent != FLOW_NONE && left > 0; left--) {
		const struct flow_timeline_process *data = flow_timeline_process(timeline, parent);

		if (order->at[parent] == FLOW_NONE && data->ended)
			return false;
		parent = data->parent;
	}
	return true;
}

/* Whether the parent's status may come from the child's failure: shells, make, ctest, xargs and timeout pass failures on. */
static bool passes_on(const struct dump_failure *parent, const struct dump_failure *child)
{
	static const uint32_t general[] = {1, 2, 8, 123, 124, 125};

	if (parent->kind != DUMP_FAILURE_EXIT)
		return false;
	if (child->kind == DUMP_FAILURE_EXIT && parent->number == child->number)
		return true;
	if (child->kind == DUMP_FAILURE_SIGNAL && parent->number == 128 + child->number)
		return true;
	for (size_t i = 0; i < sizeof(general) / sizeof(general[0]); i++)
		if (parent->number == general[i])
			return true;
	return false;
}

/* Returns the unordered failure of the process's child that ended last; SIZE_MAX: none. */
static size_t last_failed_child(const struct failure_order *order, const struct flow_timeline *timeline, size_t parent)
{
	const uint32_t process = order->failures->list[parent].process;
	size_t last = SIZE_MAX;

	for (size_t i = 0; i < order->failures->count; i++) {
		const struct dump_failure *failure = &order->failures->list[i];

		if (!order->done[i] && flow_timeline_process(timeline, failure->process)->parent == process &&
		    passes_on(&order->failures->list[parent], failure) &&
		    (last == SIZE_MAX || failure->end >= order->failures->list[last].end))
			last = i;
	}
	return last;
}

/* Adds the failure behind the failures of its descendants: the last failed child of each parent comes first. */
static void order_tree(struct failure_order *order, const struct flow_timeline *timeline, size_t root)
{
	size_t at = root;

	while (!order->done[root]) {
		const uint32_t process = order->failures->list[at].process;
		const size_t child = last_failed_child(order, timeline, at);
		const uint32_t parent = flow_timeline_process(timeline, process)->parent;

		if (child != SIZE_MAX) {
			at = child;
			continue;
		}
		order_add(order, at);
		if (at != root && parent != FLOW_NONE && order->at[parent] != FLOW_NONE)
			at = order->at[parent];
	}
}

static void order_others(struct failure_order *order, const struct flow_timeline *timeline, bool unhandled)
{
	for (size_t i = 0; i < order->failures->count; i++) {
		const uint32_t process = order->failures->list[i].process;
		const uint32_t parent = flow_timeline_process(timeline, process)->parent;
		const bool is_root = parent == FLOW_NONE || order->at[parent] == FLOW_NONE ||
				     order->done[order->at[parent]];

		if (!order->done[i] && is_root && reaches_root(order, timeline, process) == unhandled)
			order_tree(order, timeline, i);
	}
}

/* Adds failures whose parents are failed descendants of themselves: pids of a damaged trace. */
static void order_rest(struct failure_order *order)
{
	for (size_t i = 0; i < order->failures->count; i++)
		if (!order->done[i])
			order_add(order, i);
}

static int compare_ends(const void *a, const void *b)
{
	const struct dump_failure *one = a, *other = b;

	return one->end != other->end ? (one->end < other->end ? -1 : 1) : (one->process < other->process ? -1 : 1);
}

static int failures_order(struct dump_failures *failures, const struct flow_timeline *timeline)
{
	const size_t processes = flow_timeline_process_count(timeline);
	struct failure_order order = {
		.failures = failures,
		.sorted = malloc((failures->count + 1) * sizeof(*order.sorted)),
		.done = calloc(failures->count + 1, sizeof(*order.done)),
		.at = malloc((processes + 1) * sizeof(*order.at)),
	};
	const bool good = order.sorted && order.done && order.at;

	if (good) {
		if (failures->count > 1)
			qsort(failures->list, failures->count, sizeof(*failures->list), compare_ends);
		for (size_t i = 0; i < processes; i++)
			order.at[i] = FLOW_NONE;
		for (size_t i = 0; i < failures->count; i++)
			order.at[failures->list[i].process] = (uint32_t)i;
		order_signals(&order);
		order_others(&order, timeline, true);
		order_others(&order, timeline, false);
		order_rest(&order);
		free(failures->list);
		failures->list = order.sorted;
	} else {
		free(order.sorted);
	}
	free(order.done);
	free(order.at);
	return good ? 0 : common_fail_memory("processes", processes);
}

/* ---- lists --------------------------------------------------------------------------------------- */

static int failures_add(struct dump_failures *failures, const struct dump_failure *failure)
{
	if (!common_vector_room(&failures->list, failures->count, sizeof(*failures->list)))
		return common_fail_memory("processes", failures->count);
	failures->list[failures->count++] = *failure;
	return 0;
}

int dump_failures_find(struct dump_failures *failures, const struct dump_run *run, const struct flow_timeline *timeline)
{
	int status = 0;

	*failures = (struct dump_failures){0};
	for (size_t i = 0; status == 0 && i < flow_timeline_process_count(timeline); i++) {
		const struct dump_failure failure = failure_of(run, timeline, (uint32_t)i);

		if (failure.kind != DUMP_FAILURE_NONE && is_selected(run, flow_timeline_process(timeline, i)))
			status = failures_add(failures, &failure);
	}
	return status == 0 ? failures_order(failures, timeline) : status;
}

int dump_failures_find_running(struct dump_failures *failures, const struct dump_run *run,
			       const struct flow_timeline *timeline)
{
	int status = 0;

	*failures = (struct dump_failures){0};
	for (size_t i = 0; status == 0 && i < flow_timeline_process_count(timeline); i++) {
		const struct flow_timeline_process *process = flow_timeline_process(timeline, i);
		const struct dump_failure failure = failure_of(run, timeline, (uint32_t)i);

		if (process->pid && !process->ended && is_selected(run, process))
			status = failures_add(failures, &failure);
	}
	return status;
}

void dump_failures_free(struct dump_failures *failures)
{
	free(failures->list);
	*failures = (struct dump_failures){0};
}

/* ---- text ---------------------------------------------------------------------------------------- */

void dump_failure_name(const struct dump_failure *failure, const struct flow_timeline *timeline, struct ptl_bytes *text)
{
	const struct flow_timeline_process *process = flow_timeline_process(timeline, failure->process);

	common_text_safe(text, *process->name ? process->name : "a process");
	common_text_format(text, " (pid %" PRIu32 ")", failure->pid);
}

void dump_failure_text(const struct dump_failure *failure, struct ptl_bytes *text)
{
	char room[16];

	if (failure->kind == DUMP_FAILURE_SIGNAL) {
		common_text_format(text, "died of %s", dump_signal_name((int32_t)failure->number, room));
		if (failure->fatal && failure->fatal->has_address)
			common_text_format(text, " (address 0x%" PRIx64 ")", failure->fatal->address);
		else if (failure->sent && failure->fatal && failure->fatal->sender)
			common_text_format(text, " (sent by process %" PRIu32 ")", failure->fatal->sender);
	} else if (failure->kind == DUMP_FAILURE_NONE)
		common_text_add(text, "runs at the end of the trace");
	else if (failure->windows && failure->number >= WINDOWS_ERROR)
		common_text_format(text, "exited with status 0x%08" PRIx32, failure->number);
	else
		common_text_format(text, "exited with status %" PRIu32, failure->number);
}

void dump_failure_sentence(const struct dump_failure *failure, const struct flow_timeline *timeline,
			   struct ptl_bytes *text)
{
	if (failure->fatal && !failure->sent) {
		const uint32_t thread = flow_timeline_thread_at(timeline, failure->pid, failure->fatal->tid,
								failure->fatal->time);

		common_text_format(text, "thread %" PRIu32, failure->fatal->tid);
		if (thread != FLOW_NONE && *flow_timeline_thread(timeline, thread)->name) {
			common_text_add(text, " (");
			common_text_safe(text, flow_timeline_thread(timeline, thread)->name);
			common_text_add(text, ")");
		}
		common_text_add(text, " of ");
	}
	dump_failure_name(failure, timeline, text);
	common_text_add(text, " ");
	dump_failure_text(failure, text);
}
