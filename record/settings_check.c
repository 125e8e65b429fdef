/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks combinations of options. */
#include "record/settings_check.h"

#include <string.h>

#include "common/error.h"
#include "common/program/message.h"
#include "record/repeat.h"
#include "record/source.h"

#define MEMORY_SIZE (64u << 20) /* default bytes of the files in memory */

int record_usage(const char *text, const char *hint)
{
	common_message_error("%s", text);
	common_message_hint("%s", hint);
	return COMMON_EXIT_USAGE;
}

/* Checks the options for number and size of files. */
static int check_mode(struct record_settings *settings)
{
	if (settings->append && (settings->mode != RECORD_MODE_SEQUENTIAL || settings->force))
		return record_usage("--append is for one file that is not replaced: not with --mode and --force",
				    "-o FILE --append");
	if (settings->append && settings->output &&
	    (!strcmp(settings->output, "-") || !strncmp(settings->output, "/dev/", 5)))
		return record_usage("--append needs a file with a name", "-o FILE --append");
	if (settings->mode == RECORD_MODE_SEQUENTIAL && (settings->part_time || settings->keep))
		return record_usage("--part-time and --keep are for several files", "--mode newfile");
	if (settings->mode == RECORD_MODE_SEQUENTIAL)
		return 0;
	if (settings->mode == RECORD_MODE_NEWFILE && !settings->max_size && !settings->part_time)
		return record_usage("--mode newfile needs to know when a file is full",
				    "--max-size 100M, or --part-time 60s");
	if (settings->mode >= RECORD_MODE_CIRCULAR && (settings->part_time || settings->keep))
		return record_usage("--part-time and --keep are for --mode newfile: all that is kept has --max-size",
				    "--max-size 100M");
	if (settings->mode == RECORD_MODE_CIRCULAR && !settings->max_size)
		return record_usage("--mode circular needs to know the size of all files together", "--max-size 100M");
	if (settings->mode >= RECORD_MODE_BUFFERING && !settings->max_size)
		settings->max_size = MEMORY_SIZE;
	if (settings->mode == RECORD_MODE_REALTIME && !settings->session_name)
		return record_usage("--mode realtime is for a session: others read it by its name",
				    "ptl-record start NAME --mode realtime");
	if (settings->mode == RECORD_MODE_REALTIME && settings->output)
		return record_usage("--mode realtime writes no file", "--mode buffering -o FILE");
	if (settings->output && (!strcmp(settings->output, "-") || !strncmp(settings->output, "/dev/", 5)))
		return record_usage("several files need names, and a pipe has none", "-o FILE");
	return 0;
}

/* Checks whether --values reads values by uprobes. */
static bool values_by_uprobes(const struct record_settings *settings)
{
	return settings->values.count && strcmp(settings->source, "auto") != 0 &&
	       strcmp(settings->source, "software") != 0;
}

static bool wants_kernel(const struct record_settings *settings)
{
	return settings->tracepoints.count || settings->flags || values_by_uprobes(settings);
}

/* Checks whether options name processes or threads, on any CPU. */
static bool names_threads(const struct record_settings *settings)
{
	return settings->pt.pids.count || settings->pt.tids.count || settings->pt.processes.count;
}

/* Checks whether options ask for running programs. */
bool record_settings_name_running(const struct record_settings *settings)
{
	return names_threads(settings) || settings->pt.cpus;
}

/* Returns an option that only the CPU's packets support; NULL without such an option. */
static const char *option_of_cpu(const struct record_pt_settings *pt)
{
	return pt->filters.count            ? "--filter"
	       : pt->max_rate               ? "--max-rate"
	       : pt->snapshot               ? "--snapshot"
	       : pt->terms                  ? "--pt"
	       : pt->per_thread             ? "--per-thread"
	       : pt->code != RECORD_PT_USER ? "--code"
					    : NULL;
}

/* Checks the options that pause packets or leave packets out. Returns an exit status. */
static int check_pauses(struct record_settings *settings)
{
	const struct record_pt_settings *pt = &settings->pt;

	if (!pt->resume_at != !pt->pause_at)
		return record_usage("--only-between 'FIRST' needs --and 'LAST', and the other way round",
				    "--only-between begin_request --and end_request");
	if (pt->resume_at && !strcmp(settings->source, "auto"))
		settings->source = "intel_pt";
	if (pt->resume_at && strcmp(settings->source, "intel_pt") != 0)
		return record_usage("--only-between is for packets that the CPU makes: --source intel_pt",
				    "--source software with --start-at FIRST --stop-at LAST records once; "
				    "ptl-relog --between FIRST --and LAST cuts a trace afterwards");
	if (pt->max_rate && pt->snapshot)
		return record_usage("--max-rate is for packets that are all kept, and --snapshot keeps the last",
				    "--aux-buffer says how many --snapshot keeps");
	if (pt->max_rate && pt->resume_at)
		return record_usage("--max-rate turns Intel PT off, and --only-between would miss its events meanwhile",
				    "one of them");
	return 0;
}

/* Checks the options for Intel PT. Returns an exit status. */
static int check_pt(struct record_settings *settings)
{
	const struct record_pt_settings *pt = &settings->pt;
	const char *only = option_of_cpu(pt);

	if (check_pauses(settings))
		return COMMON_EXIT_USAGE;
	if (only && !strcmp(settings->source, "auto"))
		settings->source = "intel_pt";
	if (only && strcmp(settings->source, "intel_pt") != 0) {
		common_message_error("%s is for packets that the CPU makes", only);
		common_message_hint("--source intel_pt");
		return COMMON_EXIT_USAGE;
	}
	if (settings->command && names_threads(settings))
		return record_usage(
			"--pid, --tid and --process record what was started elsewhere, instead of a command",
			"--duration ends it");
	if (pt->cpus && names_threads(settings))
		return record_usage(
			"--cpus records whatever runs there, --pid, --tid and --process threads wherever they run",
			"one of them");
	if (pt->max_cpus && !settings->command && !pt->cpus)
		return record_usage("--max-cpus is for a command, or for --cpus: what runs already stays on its CPUs",
				    "taskset -p binds a process");
	if (!pt->snapshot && (pt->triggers.count || pt->whens.count || pt->depth))
		return record_usage(
			"--snapshot-at, --snapshot-when and --snapshot-depth are for packets that are written over",
			"--snapshot");
	if (!pt->triggers.count && (pt->over || (pt->snapshots_max && !pt->whens.count)))
		return record_usage("--over and --snapshots say more about a function that is reached",
				    "--snapshot-at 'FUNCTION @ FILE'");
	if (pt->per_thread && pt->cpus)
		return record_usage("--per-thread is for threads, and --cpus for CPUs", "one of them");
	return 0;
}

/*
 * Checks --per-cpu: only the source software has virtual CPUs, and only time distinguishes threads. Returns an exit
 * status.
 */
static int check_virtual_cpus(struct record_settings *settings)
{
	if (!settings->per_cpu)
		return 0;
	if (!strcmp(settings->source, "auto"))
		settings->source = "software";
	if (strcmp(settings->source, "software") != 0)
		return record_usage("--per-cpu is of packets made by software", "--source software");
	if (settings->timing == PTL_TIMING_NONE)
		return record_usage("--per-cpu needs packets of time, by which threads are distinguished",
				    "--timing tsc");
	return 0;
}

/* Checks the source for running programs. Returns an exit status. */
static int check_running(struct record_settings *settings)
{
	const bool by_cpu = settings->pt.tids.count || settings->pt.processes.count || settings->pt.cpus;

	if (by_cpu && !strcmp(settings->source, "auto"))
		settings->source = "intel_pt";
	if (by_cpu && strcmp(settings->source, "intel_pt") != 0)
		return record_usage("--tid, --process and --cpus need packets that the CPU makes", "--source intel_pt");
	if (settings->pt.pids.count && strcmp(settings->source, "auto") != 0 &&
	    !record_source_needs_no_command(settings->source)) {
		common_message_error("source %s cannot record what runs already", settings->source);
		common_message_hint("--source software, or --source intel_pt; --only pid=PID for events alone");
		return COMMON_EXIT_USAGE;
	}
	return 0;
}

/* Checks the combination of options. Returns an exit status. */
int record_settings_check(struct record_settings *settings)
{
	const bool running = record_settings_name_running(settings);
	const bool by_software = settings->start_at || settings->stop_at;

	if (!settings->command && !settings->attach && !running && !wants_kernel(settings))
		return record_usage("no command to record",
				    "ptl-record -- COMMAND, --pid PID, or --flags latency for the whole system");
	if ((by_software || settings->values.count) && !strcmp(settings->source, "auto"))
		settings->source = "software";
	if (check_running(settings))
		return COMMON_EXIT_USAGE;
	if (check_pt(settings))
		return COMMON_EXIT_USAGE;
	if (!settings->command && !running && !strcmp(settings->source, "auto"))
		settings->source = "none";
	if (check_virtual_cpus(settings))
		return COMMON_EXIT_USAGE;
	if (!settings->command && !running && strcmp(settings->source, "none") != 0)
		return record_usage("packets come from a command that is started here, and there is none",
				    "--source none");
	if (!strcmp(settings->source, "none") &&
	    (settings->timing_given || settings->psb_period_given || !settings->return_compression))
		return record_usage(
			"--timing, --psb-period and --no-retcomp are of packets, and --source none makes none",
			"leave them out, or --source software");
	if (by_software && strcmp(settings->source, "software") != 0)
		return record_usage("--start-at and --stop-at are of packets made by software", "--source software");
	if (settings->attach && !settings->rule_count && !settings->session_name)
		return record_usage("--attach-providers needs a --provider", "--provider '*'");
	if (settings->only.count && !settings->rule_count && !wants_kernel(settings) && !settings->session_name)
		return record_usage("--only says which of the events are recorded, and none are asked for",
				    "--provider '*'");
	if (settings->stacks.count && !wants_kernel(settings) && !settings->session_name)
		return record_usage("--stack is for events of the kernel, and there is none", "-e sched:sched_switch");
	if ((settings->rule_count || wants_kernel(settings)) && settings->clock == PTL_CLOCK_VIRTUAL)
		return record_usage("providers' events are in real time, which has no place on the "
				    "virtual clock",
				    "--clock real, or no --provider");
	if (!strcmp(settings->source, "intel_pt") && settings->clock == PTL_CLOCK_VIRTUAL)
		return record_usage("--source intel_pt has no virtual clock", "--source software");
	if (settings->clock == PTL_CLOCK_SYSTEM && strcmp(settings->source, "none") != 0)
		return record_usage("packets do not count the time of day",
				    "--source none, or ptl-dump events --absolute");
	if (settings->clock == PTL_CLOCK_PERF &&
	    (!strcmp(settings->source, "software") || !strcmp(settings->source, "auto")))
		return record_usage("packets made by software do not count the TSC of this machine",
				    "--source intel_pt, --source none, or --clock real");
	if (check_mode(settings) || record_repeat_check(settings))
		return COMMON_EXIT_USAGE;
	if (settings->session_name && !settings->command && settings->output && !strcmp(settings->output, "-"))
		return record_usage("a session in the background has no standard output: -o names a file",
				    "ptl-record start NAME --mode realtime, and --live NAME to read it");
	if (strcmp(settings->source, "none") != 0)
		return 0;
	if (settings->clock == PTL_CLOCK_VIRTUAL)
		return record_usage("--source none has no virtual clock", "--source software");
	/* Without packets, no decoder needs code. Only stacks of a command need names. */
	if (!settings->embed_given && (!settings->stacks.count || !settings->command))
		settings->embed = ELF_EMBED_NONE;
	return 0;
}
