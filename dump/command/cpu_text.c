/* SPDX-License-Identifier: BSD-2-Clause */
/* Text of ptl-dump cpu: lists. */
#include <inttypes.h>
#include <stdlib.h>

#include "common/error.h"
#include "common/text/text.h"
#include "dump/command/cpu.h"
#include "dump/print/table.h"

static void duration_cell(struct dump_table *table, uint64_t time, enum dump_style style)
{
	if (time)
		common_text_duration(&table->text, time);
	else
		common_text_add(&table->text, "-");
	dump_cell_text(table, style);
}

static void share_cell(struct dump_table *table, uint64_t part, uint64_t whole)
{
	common_text_share(&table->text, part, whole);
	dump_cell_text(table, DUMP_STYLE_DIM);
}

static void count_cell(struct dump_table *table, uint64_t count)
{
	common_text_count(&table->text, count);
	dump_cell_text(table, DUMP_STYLE_PLAIN);
}

static void id_cell(struct dump_table *table, uint32_t id)
{
	if (id == PTL_NO_ID)
		dump_cell(table, DUMP_STYLE_PLAIN, "?");
	else
		dump_cell_format(table, DUMP_STYLE_PLAIN, "%" PRIu32, id);
}

static void thread_cell(const struct dump_cpu_run *cpu_run, struct dump_table *table, uint32_t thread)
{
	usage_thread_text(cpu_run->schedule, cpu_run->timeline, thread, &table->text);
	dump_cell_text(table, DUMP_STYLE_PLAIN);
}

static void mean_cell(struct dump_table *table, uint64_t total, uint64_t count)
{
	duration_cell(table, count ? total / count : 0, DUMP_STYLE_PLAIN);
}

/* Prints a list with its heading, and says how many rows are left out. */
static int end_list(const struct dump_cpu_run *cpu_run, struct dump_table *table, const char *heading, uint64_t shown,
		    uint64_t all)
{
	struct dump_run *run = cpu_run->run;
	int status;

	if (cpu_run->by == CPU_ALL && shown)
		fprintf(run->out, "\n%s%s%s\n", dump_bold(run), heading, dump_plain(run));
	status = dump_table_print(table, run);
	if (status == 0 && shown < all)
		fprintf(run->out, "%sand %" PRIu64 " more%s\n", dump_dim(run), all - shown, dump_plain(run));
	return status;
}

/* ---- CPUs, processes, threads ---------------------------------------------------------------------- */

static int text_cpus(const struct dump_cpu_run *cpu_run)
{
	static const struct dump_column columns[] = {{"CPU", true},      {"BUSY", true}, {"%", true},
						     {"SELECTED", true}, {"IDLE", true}, {"%", true},
						     {"UNKNOWN", true},  {"%", true},    {"SWITCHES", true}};
	const struct usage_schedule *schedule = cpu_run->schedule;
	const uint64_t all = schedule->last - schedule->first;
	struct dump_table table = {.columns = columns, .column_count = 9};
	uint64_t shown = 0, every = 0;

	for (size_t i = 0; i < schedule->cpu_count; i++) {
		const struct usage_cpu *cpu = &schedule->cpus[i];

		if (!cpu->selected || dump_cpu_is_full(cpu_run, every++))
			continue;
		id_cell(&table, cpu->cpu);
		duration_cell(&table, cpu->busy, DUMP_STYLE_BOLD);
		share_cell(&table, cpu->busy, all);
		duration_cell(&table, cpu->of_selected, DUMP_STYLE_PLAIN);
		duration_cell(&table, cpu->idle, DUMP_STYLE_PLAIN);
		share_cell(&table, cpu->idle, all);
		duration_cell(&table, cpu->unknown, DUMP_STYLE_PLAIN);
		share_cell(&table, cpu->unknown, all);
		count_cell(&table, cpu->switches);
		shown++;
	}
	return end_list(cpu_run, &table, "CPUs", shown, every);
}

static void state_cells(struct dump_table *table, const uint64_t times[USAGE_STATES], uint64_t all)
{
	duration_cell(table, times[USAGE_RUNNING], DUMP_STYLE_BOLD);
	share_cell(table, times[USAGE_RUNNING], all);
	for (unsigned i = USAGE_WAITING; i < USAGE_STATES; i++)
		duration_cell(table, times[i], DUMP_STYLE_PLAIN);
}

#define STATE_COLUMNS                                                                                                  \
	{"RUNNING", true}, {"%", true}, {"WAITING", true}, {"SLEEPING", true}, {"BLOCKED", true}, {"OFF", true},       \
	{                                                                                                              \
		"UNKNOWN", true                                                                                        \
	}

static int text_processes(const struct dump_cpu_run *cpu_run)
{
	static const struct dump_column columns[] = {{"PID", true},      {"THREADS", true},   STATE_COLUMNS,
						     {"SWITCHES", true}, {"MEAN WAIT", true}, {"LONGEST", true},
						     {"NAME", false}};
	struct dump_table table = {.columns = columns, .column_count = 13};
	size_t i;

	for (i = 0; i < cpu_run->rows->process_count && !dump_cpu_is_full(cpu_run, i); i++) {
		const struct usage_process *process = &cpu_run->rows->processes[i];

		id_cell(&table, process->pid);
		count_cell(&table, process->threads);
		state_cells(&table, process->times, cpu_run->rows->total.all);
		count_cell(&table, process->switches);
		mean_cell(&table, process->delay.total, process->delay.count);
		duration_cell(&table, process->delay.longest, DUMP_STYLE_PLAIN);
		dump_cell(&table, DUMP_STYLE_PLAIN, usage_process_name(process, cpu_run->schedule, cpu_run->timeline));
	}
	return end_list(cpu_run, &table, "processes", i, cpu_run->rows->process_count);
}

static int text_threads(const struct dump_cpu_run *cpu_run)
{
	static const struct dump_column columns[] = {{"PID", true},      {"TID", true},       STATE_COLUMNS,
						     {"SWITCHES", true}, {"MEAN WAIT", true}, {"LONGEST", true},
						     {"END ms", true},   {"NAME", false}};
	const uint64_t start = ptl_trace_machine(cpu_run->run->trace)->start_time;
	struct dump_table table = {.columns = columns, .column_count = 14};
	size_t i;

	for (i = 0; i < cpu_run->rows->thread_count && !dump_cpu_is_full(cpu_run, i); i++) {
		const struct usage_thread *thread = &cpu_run->schedule->threads[cpu_run->rows->threads[i]];

		id_cell(&table, thread->pid);
		id_cell(&table, thread->tid);
		state_cells(&table, thread->times, cpu_run->rows->total.all);
		count_cell(&table, thread->switches);
		mean_cell(&table, thread->delay.total, thread->delay.count);
		duration_cell(&table, thread->delay.longest, DUMP_STYLE_PLAIN);
		dump_cell_time(&table, thread->delay.longest_at, start, "-");
		dump_cell(&table, DUMP_STYLE_PLAIN, usage_thread_name(thread, cpu_run->timeline));
	}
	return end_list(cpu_run, &table, "threads", i, cpu_run->rows->thread_count);
}

/* ---- pairs and chains ------------------------------------------------------------------------------ */

/* wakes: pairs of wake-ups, which have delays behind the wake-up. */
static int text_pairs(const struct dump_cpu_run *cpu_run, const struct usage_pairs *pairs, bool wakes,
		      struct dump_table *table, const char *what)
{
	uint32_t *order = usage_pairs_sort(pairs);
	uint64_t shown = 0, all = 0;

	if (!order)
		return common_fail_memory("pairs of threads", pairs->count * sizeof(*order));
	for (size_t i = 0; i < pairs->count; i++) {
		const struct usage_pair *pair = &pairs->list[order[i]];

		if (!usage_rows_want_pair(cpu_run->schedule, cpu_run->input, pair->a, pair->b) ||
		    dump_cpu_is_full(cpu_run, all++))
			continue;
		count_cell(table, pair->count);
		duration_cell(table, pair->total, DUMP_STYLE_BOLD);
		duration_cell(table, pair->longest, DUMP_STYLE_PLAIN);
		if (wakes) {
			mean_cell(table, pair->delay, pair->count);
			duration_cell(table, pair->longest_delay, DUMP_STYLE_PLAIN);
		}
		thread_cell(cpu_run, table, pair->b);
		thread_cell(cpu_run, table, pair->a);
		shown++;
	}
	free(order);
	return end_list(cpu_run, table, what, shown, all);
}

static int text_wakers(const struct dump_cpu_run *cpu_run)
{
	static const struct dump_column columns[] = {{"WAKE-UPS", true},   {"ASLEEP", true},  {"LONGEST", true},
						     {"MEAN DELAY", true}, {"LONGEST", true}, {"WOKEN", false},
						     {"WAKER", false}};
	struct dump_table table = {.columns = columns, .column_count = 7};

	return text_pairs(cpu_run, &cpu_run->schedule->wakes, true, &table, "wake-ups");
}

static int text_ahead(const struct dump_cpu_run *cpu_run)
{
	static const struct dump_column columns[] = {
		{"WAITS", true}, {"WAITED", true}, {"LONGEST", true}, {"WAITING", false}, {"RUNNING", false}};
	struct dump_table table = {.columns = columns, .column_count = 5};

	return text_pairs(cpu_run, &cpu_run->schedule->ahead, false, &table,
			  "waits for a CPU, and who ran there before");
}

static int text_chains(const struct dump_cpu_run *cpu_run)
{
	static const struct dump_column columns[] = {
		{"WAKE-UPS", true}, {"ASLEEP", true}, {"LONGEST", true}, {"WOKEN < WAKER < ITS WAKER", false}};
	const struct usage_chains *chains = &cpu_run->schedule->chains;
	struct dump_table table = {.columns = columns, .column_count = 4};
	uint32_t *order = usage_chains_sort(chains);
	uint64_t shown = 0, all = 0;

	if (!order)
		return common_fail_memory("chains of wake-ups", chains->count * sizeof(*order));
	for (size_t i = 0; i < chains->count; i++) {
		const struct usage_chain *chain = &chains->list[order[i]];

		if (!chain->count ||
		    !usage_rows_want_pair(cpu_run->schedule, cpu_run->input, chain->thread, chain->thread) ||
		    dump_cpu_is_full(cpu_run, all++))
			continue;
		count_cell(&table, chain->count);
		duration_cell(&table, chain->total, DUMP_STYLE_BOLD);
		duration_cell(&table, chain->longest, DUMP_STYLE_PLAIN);
		for (uint32_t at = order[i]; at != USAGE_NO_CHAIN; at = chains->list[at].waker) {
			common_text_add(&table.text, table.text.size ? " < " : "");
			usage_thread_text(cpu_run->schedule, cpu_run->timeline, chains->list[at].thread, &table.text);
		}
		dump_cell_text(&table, DUMP_STYLE_PLAIN);
		shown++;
	}
	free(order);
	return end_list(cpu_run, &table, "chains of wake-ups", shown, all);
}

/* ---- slices ---------------------------------------------------------------------------------------- */

static void add_padded(struct ptl_bytes *text, uint64_t duration, bool known)
{
	const size_t start = text->size;

	if (known)
		common_text_duration(text, duration);
	else
		common_text_add(text, "-");
	common_text_pad(text, start, 12);
}

/* Slices are printed while the trace is read, so their columns have fixed widths. */
int dump_cpu_text_slice(void *context, const struct usage_schedule *schedule, const struct usage_slice *slice)
{
	struct dump_cpu_run *cpu_run = context;
	const uint64_t start = ptl_trace_machine(cpu_run->run->trace)->start_time;
	struct ptl_bytes text = {0};
	int status;

	if (!usage_rows_want(schedule, cpu_run->input, slice->thread) || dump_cpu_is_full(cpu_run, cpu_run->slices))
		return 0;
	if (!cpu_run->slices++)
		fprintf(cpu_run->run->out, "%s      START ms   CPU  RUNNING     WAITED      THEN      THREAD%s\n",
			dump_bold(cpu_run->run), dump_plain(cpu_run->run));
	common_text_time(&text, slice->from, start);
	common_text_decimal_right(&text, slice->cpu, 6);
	common_text_add(&text, "  ");
	add_padded(&text, slice->to - slice->from, true);
	add_padded(&text, slice->from - slice->ready_at, slice->ready_at && slice->ready_at <= slice->from);
	common_text_format(&text, "%-10s", usage_state_names[slice->after]);
	usage_thread_text(schedule, cpu_run->timeline, slice->thread, &text);
	if (slice->waker != USAGE_NOBODY) {
		common_text_add(&text, ", woken by ");
		usage_thread_text(schedule, cpu_run->timeline, slice->waker, &text);
	}
	common_text_add(&text, "\n");
	status = text.failed ? common_fail_memory("slices", text.size) : 0;
	common_text_write(&text, cpu_run->run->out);
	common_bytes_free(&text);
	return status < 0 ? status : dump_output_check(cpu_run->run);
}

/* ---- all ------------------------------------------------------------------------------------------- */

int dump_cpu_text(const struct dump_cpu_run *cpu_run)
{
	static int (*const lists[])(const struct dump_cpu_run *cpu_run) = {
		[CPU_CPU] = text_cpus,     [CPU_PROCESS] = text_processes, [CPU_THREAD] = text_threads,
		[CPU_WAKER] = text_wakers, [CPU_CHAIN] = text_chains,      [CPU_AHEAD] = text_ahead,
	};
	int status = 0;

	if (cpu_run->by != CPU_ALL)
		return lists[cpu_run->by](cpu_run);
	status = dump_cpu_text_summary(cpu_run);
	for (size_t i = CPU_CPU; status == 0 && i < sizeof(lists) / sizeof(lists[0]); i++)
		status = lists[i](cpu_run);
	return status;
}
