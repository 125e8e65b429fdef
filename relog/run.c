/* SPDX-License-Identifier: BSD-2-Clause */
/* Connects inputs, stages and output, and runs the relogger. */
#include "relog/run.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include <ptl/relogger.h>

#include "common/error.h"
#include "common/plural.h"
#include "common/program/interrupt.h"
#include "common/program/message.h"
#include "common/thread_pool.h"
#include "common/version.h"
#include "format/reader/damage.h"
#include "relog/clocks.h"
#include "relog/follow.h"
#include "relog/inputs.h"
#include "relog/stages.h"

#define REPORTED_MAX 20u /* maximum damage entries in messages */

/* Context of the relogger's callbacks. */
struct run {
	const struct relog_settings *settings;
	struct ptl_relogger *relogger;
};

static void warn(void *context, const char *text)
{
	(void)context;
	common_message_warning("%s", text);
}

static void show_progress(void *context, uint64_t done, uint64_t total)
{
	const struct run *run = context;

	if (relog_follow_is_over(run->settings->inputs[0]))
		ptl_relogger_stop(run->relogger);
	common_progress("%" PRIu64 " of %" PRIu64 " MiB", done >> 20, total >> 20);
}

static int open_output(const struct relog_settings *settings, struct ptl_relogger *relogger)
{
	int fd;
	int status;

	if (strcmp(settings->output, "-") != 0)
		return ptl_relogger_output(relogger, settings->output, settings->force);
	if (isatty(STDOUT_FILENO))
		return common_fail(PTL_MISUSE, "standard output is a terminal: give -o FILE, or send it to a pipe");
	fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	if (fd < 0)
		return common_fail_errno("standard output");
	status = ptl_relogger_output_fd(relogger, fd);
	if (status)
		close(fd);
	return status;
}

static int set_provenance(const struct relog_settings *settings, const struct relog_stages *stages,
			  struct ptl_relogger *relogger)
{
	const struct ptl_provenance step = {
		.tool = "ptl-relog",
		.version = COMMON_VERSION,
		.command = (const char *)settings->command.data,
		.rules = relog_stages_rules(stages),
	};

	if (settings->command.failed)
		return common_fail_memory("the command line", settings->command.size);
	return ptl_relogger_provenance(relogger, &step);
}

/*
 * Reports the damage of an input. Returns true if data was lost. Damage also lists parts of a newer version that this
 * version cannot read; such parts are kept.
 */
static bool report_damage(const struct ptl_relogger_input *input, bool repeated)
{
	struct ptl_trace *trace = ptl_relogger_input_trace(input);
	struct ptl_relogger_input_info info;
	bool damaged = false;

	ptl_relogger_input_info(input, &info);
	for (size_t i = 0; i < ptl_damage_count(trace); i++)
		damaged |= format_damage_kind(trace, ptl_damage_at(trace, i)) == FORMAT_DAMAGE_LOST;
	for (size_t i = 0; !repeated && i < ptl_damage_count(trace) && i < REPORTED_MAX; i++) {
		const struct ptl_damage *damage = ptl_damage_at(trace, i);
		const enum format_damage_kind kind = format_damage_kind(trace, damage);

		if (kind == FORMAT_DAMAGE_LOST || kind == FORMAT_DAMAGE_END)
			common_message_warning("%s: offset %" PRIu64 ": %s", info.name, damage->offset, damage->text);
		else
			common_message_note("%s: offset %" PRIu64 ": %s; kept as it is", info.name, damage->offset,
					    damage->text);
	}
	if (!repeated && info.losses > REPORTED_MAX)
		common_message_warning(
			"%s: %zu " COMMON_PLURAL("piece",
						 "pieces") " of damage in all; each is a loss record of the output",
			info.name, info.losses);
	return damaged;
}

/* Sets origins that were computed before. All parts of a split have the same inputs, so the inputs are hashed once. */
static int set_origins(const struct relog_settings *settings, struct ptl_relogger *relogger)
{
	int status = 0;

	for (size_t i = 0; settings->origins && !status && i < ptl_relogger_input_count(relogger); i++)
		if (settings->origins[i].name)
			status = ptl_relogger_input_origin(ptl_relogger_input_at(relogger, i), &settings->origins[i]);
	return status;
}

static void write_ids(struct ptl_bytes *out, const struct common_id_set *ids)
{
	common_write_varint(out, ids->count);
	for (size_t i = 0; i < ids->count; i++)
		common_write_varint(out, ids->ids[i]);
}

/* Records all changes except a cut by time. Parts belong together only if they were changed the same way. */
static int set_change(const struct relog_settings *settings, const struct relog_stages *stages,
		      struct ptl_relogger *relogger)
{
	const struct relog_cut_settings *cut = &settings->cut;
	const char *rules = relog_stages_rules(stages);
	struct ptl_bytes text = {0};
	const bool changes = *rules || cut->pids.count || cut->tids.count || cut->processes.count ||
			     relog_redact_wanted(&settings->redact);
	int status;

	common_write_bytes(&text, rules, strlen(rules) + 1);
	write_ids(&text, &cut->pids);
	write_ids(&text, &cut->tids);
	for (size_t i = 0; i < cut->processes.count; i++)
		common_write_bytes(&text, cut->processes.list[i], strlen(cut->processes.list[i]) + 1);
	common_write_varint(&text, cut->tree);
	if (relog_redact_wanted(&settings->redact))
		common_write_bytes(&text, settings->redact.key, settings->redact.key_size);
	status = text.failed ? common_fail_memory("the settings", text.size)
			     : ptl_relogger_change(relogger, text.data, changes ? text.size : 0);
	common_bytes_free(&text);
	return status;
}

static int write_missed(void *context, struct ptl_relogger *relogger)
{
	const struct run *run = context;

	return ptl_relogger_loss(relogger, &(struct ptl_loss){.kind = PTL_LOSS_EVENTS,
							      .stream = PTL_NO_ID,
							      .pid = PTL_NO_ID,
							      .tid = PTL_NO_ID,
							      .count = run->settings->missed,
							      .cause = "the session went on faster than it was read"});
}

static int add_missed(struct run *run)
{
	static const struct ptl_relogger_callbacks callbacks = {.size = sizeof(callbacks), .begin = write_missed};

	return run->settings->missed ? ptl_relogger_callbacks(run->relogger, &callbacks, run) : 0;
}

static int prepare_relogger(const struct relog_settings *settings, struct ptl_relogger *relogger,
			    struct relog_stages *stages, bool *damaged)
{
	int status = relog_inputs_check(settings);

	if (!status)
		status = relog_inputs_add(settings, relogger, damaged);
	if (!status)
		status = set_origins(settings, relogger);
	if (!status)
		status = relog_clocks_watch(settings, relogger);
	if (!status)
		status = relog_stages_add(stages, settings, relogger);
	if (!status)
		status = open_output(settings, relogger);
	if (!status && settings->recompress)
		status = ptl_relogger_recompress(relogger, settings->level);
	if (!status)
		status = set_provenance(settings, stages, relogger);
	if (!status)
		status = set_change(settings, stages, relogger);
	return status;
}

/*
 * Returns the number of compression threads. At high levels, each thread needs tables of about 15 MiB, so memory bounds
 * the count.
 */
static unsigned count_threads(const struct relog_settings *settings)
{
	const unsigned most = settings->recompress && settings->level > 9 ? 7 : 15;
	const unsigned count = common_cpu_count() - 1;

	return count < most ? count : most;
}

static void cancel(void *relogger)
{
	ptl_relogger_cancel(relogger);
}

void relog_catch_interrupts(struct ptl_relogger *relogger)
{
	common_interrupt_catch(cancel, relogger);
}

/* Prints a note if a followed trace ended incomplete. */
static void say_left(const struct ptl_relogger *relogger, const struct relog_settings *settings)
{
	const struct ptl_relogger_input *input = ptl_relogger_input_at(relogger, 0);

	if (relog_follow_is_open() && !relog_follow_is_over(settings->inputs[0]) &&
	    !ptl_trace_complete(ptl_relogger_input_trace(input)))
		common_message_note("%s: nobody writes it any more", settings->inputs[0]);
}

int relog_run(const struct relog_settings *settings, bool *damaged)
{
	struct run run = {.settings = settings};
	const struct ptl_relogger_options options = {
		.size = sizeof(options),
		.threads = count_threads(settings),
		.hash = settings->hash,
		.max_expansion = settings->max_expansion,
		.sync = settings->sync,
		.warning = settings->repeated ? NULL : warn,
		.progress = show_progress,
		.context = &run,
	};
	struct relog_stages stages = {{NULL}};
	struct ptl_relogger *relogger;
	int status = ptl_relogger_new(&options, &relogger);

	if (status)
		return status;
	run.relogger = relogger;
	relog_catch_interrupts(relogger);
	status = prepare_relogger(settings, relogger, &stages, damaged);
	if (!status)
		status = add_missed(&run);
	if (!status)
		status = ptl_relogger_process(relogger);
	common_progress_end();
	if (!status)
		say_left(relogger, settings);
	relog_follow_end();
	if (status && common_interrupt_check())
		status = PTL_CANCELLED;
	for (size_t i = 0; !status && i < ptl_relogger_input_count(relogger); i++)
		*damaged |= report_damage(ptl_relogger_input_at(relogger, i), settings->repeated);
	common_interrupt_forget();
	relog_stages_free(&stages);
	ptl_relogger_free(relogger);
	return status;
}
