/* SPDX-License-Identifier: BSD-2-Clause */
/* ptl-record: parses the command line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/error.h"
#include "common/program/message.h"
#include "common/program/options.h"
#include "common/session/session_folder.h"
#include "elf/debug_options.h"
#include "elf/debuginfod.h"
#include "record/capture/filter.h"
#include "record/capture/settings.h"
#include "record/check/check.h"
#include "record/control/control.h"
#include "record/kernel_event/flags.h"
#include "record/kernel_event/sdt.h"
#include "record/kernel_event/uprobe_event.h"
#include "record/launch/command.h"
#include "record/provider/list.h"
#include "record/provider/rules.h"
#include "record/settings_check.h"
#include "record/repeat.h"
#include "record/source.h"

#define PSB_PERIOD_MIN 128u
#define PSB_PERIOD_MAX (1u << 30)
#define RING_MIN (64u << 10)
#define RING_MAX (64u << 20)
#define THREADS_MAX 65536u
#define VIRTUAL_CPUS_MAX 64 /* equals CHANNEL_CPUS_MAX */
#define LEVEL_MAX 19
#define COMPRESS_THREADS_MAX 256
#define OPTION_TABLES_MAX 8

static const char *const source_words[] = {"auto", "software", "intel_pt", "none", NULL};
#define MAX_SIZE_MIN (64u << 10)
#define KEEP_MAX 100000u

static const char *const mode_words[] = {"sequential", "newfile",  "circular",
					 "buffering",  "realtime", NULL};      /* indexed by enum record_mode */
static const char *const timing_words[] = {"none", "tsc", "mtc", "cyc", NULL}; /* indexed by enum ptl_timing */
static const char *const clock_words[] = {"real", "virtual", "tsc", "wall", NULL};
static const uint32_t clocks[] = {PTL_CLOCK_MONOTONIC, PTL_CLOCK_VIRTUAL, PTL_CLOCK_PERF, PTL_CLOCK_SYSTEM};
static const char *const embed_words[] = {"none",  "code",    "symbols",
					  "debug", "sources", NULL}; /* indexed by enum elf_embed */

static int take_output(void *target, const char *argument)
{
	struct record_settings *settings = target;

	if (!*argument)
		return common_fail(PTL_MISUSE, "a file name is missing");
	if (!strcmp(argument, "-") && isatty(STDOUT_FILENO))
		return common_fail(PTL_MISUSE, "standard output is a terminal; a trace goes to a file or a pipe: "
					       "ptl-record -o - -- COMMAND | ptl-dump events --follow -");
	settings->output = argument;
	return 0;
}

static int take_provider(void *target, const char *argument)
{
	struct record_settings *settings = target;

	if (settings->rule_count == PROVIDER_SHM_RULES_MAX)
		return common_fail(PTL_MISUSE, "at most %u are possible", PROVIDER_SHM_RULES_MAX);
	return record_provider_rule_parse(argument, &settings->rules[settings->rule_count++]);
}

static int take_flags(void *target, const char *argument)
{
	return record_flags_parse(argument, &((struct record_settings *)target)->flags);
}

static int take_tracepoint(void *target, const char *argument)
{
	return common_string_list_add(&((struct record_settings *)target)->tracepoints, argument);
}

static int take_only(void *target, const char *argument)
{
	struct record_filter filter = {0};
	const int status = record_filter_set(&filter, argument);

	record_filter_free(&filter);
	return status < 0 ? status : common_string_list_add(&((struct record_settings *)target)->only, argument);
}

static const struct common_option options[] = {
	{"", 0, NULL, "Output"},
	{"output", 'o', "FILE",
	 "the trace (COMMAND.ptl in the working directory; if the file exists, COMMAND.2.ptl, ...); -: standard "
	 "output, "
	 "and that of COMMAND becomes its standard error",
	 .take = take_output},
	{"force", 'f', NULL, "replace FILE if it exists", COMMON_FLAG(struct record_settings, force)},
	{"append", 0, NULL, "add to FILE, which is a trace, if it exists", COMMON_FLAG(struct record_settings, append)},
	{"embed", 0, "WHAT",
	 "put into the trace what decoding needs: no code, the code that was mapped, also names of "
	 "functions (the default where there are packets), also debug information, also source files",
	 COMMON_CHOICE(struct record_settings, embed, embed_words), COMMON_GIVEN(struct record_settings, embed_given)},
	{"debug-path", 0, "FOLDER[:...]",
	 "look for separate debug files in these folders, before /usr/lib/debug; then in those of $PTL_DEBUG_PATH",
	 .take = elf_debug_path_take},
	ELF_DEBUGINFOD_OPTION(struct record_settings, debuginfod),
	{"compress", 0, "LEVEL",
	 "zstd level, 1 to 19 (1); 0 compresses nothing, which takes a fifth of the CPU time, or less",
	 COMMON_NUMBER(struct record_settings, level, 0, LEVEL_MAX)},
	{"compress-threads", 0, "N", "threads that compress (1; with --source intel_pt one for each 4 CPUs)",
	 COMMON_COUNT(struct record_settings, compressors, 1, COMPRESS_THREADS_MAX)},
	{"flush-interval", 0, "TIME", "write at least this often (400ms)",
	 COMMON_DURATION(struct record_settings, flush_interval, 0)},
	{"mode", 0, "MODE",
	 "what becomes of a file of --max-size or --part-time: sequential ends the recording, newfile goes on in the "
	 "next "
	 "one, circular, too, and all together have --max-size; buffering keeps that in memory until it is flushed, "
	 "and "
	 "realtime for readers alone",
	 COMMON_CHOICE(struct record_settings, mode, mode_words)},
	{"max-size", 0, "BYTES", "of a file, about (any); of all that is kept (64M in memory)",
	 COMMON_SIZE(struct record_settings, max_size, MAX_SIZE_MIN, UINT64_MAX)},
	{"part-time", 0, "TIME", "with --mode newfile: a new file after this time",
	 COMMON_DURATION(struct record_settings, part_time, 1)},
	{"keep", 0, "N", "with --mode newfile: the last N files alone",
	 COMMON_COUNT(struct record_settings, keep, 2, KEEP_MAX)},
	{"write-buffer", 0, "BYTES", "size of the buffers of the file, before compression (512K)",
	 COMMON_SIZE(struct record_settings, write_buffer, 4u << 10, 8u << 20)},
	{"write-buffers", 0, "N", "memory for so many of them (128)",
	 COMMON_COUNT(struct record_settings, write_buffers, 8, 65536)},
	{"", 0, NULL, "Packets"},
	{"timing", 0, "MODE", "which packets of time there are; mtc is the default",
	 COMMON_CHOICE(struct record_settings, timing, timing_words),
	 COMMON_GIVEN(struct record_settings, timing_given)},
	{"clock", 0, "CLOCK",
	 "what times are: real, the default, is CLOCK_MONOTONIC; virtual counts instructions: the same run gives the "
	 "same "
	 "packets; tsc is the kernel's clock that counts the TSC; wall is the time of day of the start, which goes on "
	 "steadily",
	 COMMON_CHOICE_OF(struct record_settings, clock, clock_words, clocks)},
	{"psb-period", 0, "BYTES", "from one PSB, where decoding can begin, to the next (16K)",
	 COMMON_SIZE(struct record_settings, psb_period, PSB_PERIOD_MIN, PSB_PERIOD_MAX),
	 COMMON_GIVEN(struct record_settings, psb_period_given)},
	{"no-retcomp", 0, NULL, "no return compression: each return has its target",
	 COMMON_CONSTANT(struct record_settings, return_compression, false)},
	{"", 0, NULL, "Recording"},
	{"source", 0, "SOURCE",
	 "where packets come from; auto takes the best that works here: intel_pt, else software; "
	 "none: no packets, COMMAND runs natively",
	 COMMON_STRING(struct record_settings, source), .choices = source_words},
	{"list-sources", 0, NULL, "say which sources work here, and why others do not",
	 COMMON_FLAG(struct record_settings, list_sources)},
	{"wait", 0, NULL, "record until the last descendant of COMMAND has ended",
	 COMMON_FLAG(struct record_settings, wait_for_all)},
	{"until-failure", 0, NULL,
	 "repeat COMMAND until it fails; FILE is the failed run, and FILE with .passed before the suffix the last run "
	 "that passed",
	 COMMON_FLAG(struct record_settings, until_failure)},
	{"runs", 0, "N", "with --until-failure: end after N runs without a failure",
	 COMMON_COUNT(struct record_settings, runs, 1, UINT32_MAX)},
	{"pid", 0, "PID,...", "record processes that run already, instead of a COMMAND, until --duration or Ctrl-C",
	 COMMON_IDS(struct record_settings, pt.pids)},
	{"duration", 0, "TIME", "end the recording after this time; COMMAND goes on",
	 COMMON_DURATION(struct record_settings, duration, 1)},
	{"buffer", 0, "BYTES",
	 "memory for the packets of each thread (512K); with --source intel_pt, for the kernel's records of each CPU",
	 COMMON_POWER_OF_TWO(struct record_settings, ring_size, RING_MIN, RING_MAX)},
	{"per-cpu", 0, "N",
	 "threads take turns on N virtual CPUs, and packets are of these, with context switches between them, as of "
	 "hardware; slower",
	 COMMON_NUMBER(struct record_settings, per_cpu, 1, VIRTUAL_CPUS_MAX)},
	{"threads", 0, "N", "most threads at one time (1024)",
	 COMMON_COUNT(struct record_settings, threads_max, 1, THREADS_MAX)},
	{"", 0, NULL, "Events of programs"},
	{"provider", 'p', "NAME|GUID[:LEVEL[:KEYWORDS]]",
	 "record a provider's events; several times; * is every provider, 'NAME-*' all that match, *NAME the one that "
	 "has "
	 "the GUID of this name. LEVEL: critical, error, "
	 "warning, info, verbose, all (the default), or a number; KEYWORDS: bits, any of which is "
	 "enough",
	 .take = take_provider},
	{"only", 0, "TERM",
	 "of all events that are asked for, record those alone of pid=PID,..., program=PATTERN,..., id=ID,..., "
	 "keywords=BITS (all of them), and where=EXPRESSION of the event's fields as ptl-rules(5) has them; "
	 "PROVIDER:TERM is for events of this provider; several terms have to hold together",
	 .take = take_only},
	{"attach-providers", 0, NULL,
	 "of all your programs (root: all users'), also those that run already; needs no COMMAND: until Ctrl-C then, "
	 "or --duration",
	 COMMON_FLAG(struct record_settings, attach)},
	{"list-providers", 0, NULL, "show which programs have providers now, and who has turned them on",
	 COMMON_FLAG(struct record_settings, list_providers)},
	{"json", 0, NULL, "with --list-providers: JSON, an object a program",
	 COMMON_FLAG(struct record_settings, json)},
	{"provider-buffer", 0, "BYTES", "memory for the events of each thread (2M, and 512M a program for bursts)",
	 COMMON_POWER_OF_TWO(struct record_settings, provider_ring, PROVIDER_SHM_RING_MIN, PROVIDER_SHM_RING_MAX)},
	{"", 0, NULL, "Events of the kernel"},
	{"flags", 0, "FLAG,...",
	 "events of the whole system, or of COMMAND: process, cswitch, syscall, disk-io, page-fault, net-tcpip, ..., "
	 "a group of xperf (latency, diag, ...) or the number of EnableFlags",
	 .take = take_flags},
	{"event", 'e', "SYSTEM:EVENT",
	 "record a tracepoint; 'SYSTEM:EVENT if FILTER' only where FILTER holds; uprobe:PATH:FUNCTION(ARGUMENTS): "
	 "calls of a "
	 "function; sdt:PATH:PROBE: a probe of a program; "
	 "cpu-clock, page-faults, ...: samples; several times",
	 .take = take_tracepoint},
	{"stack", 0, "EVENT",
	 "with the stack of calls, of the kernel's and of programs' functions, where the event's name matches this "
	 "pattern; several times; '*': all; 'EVENT,dwarf': of programs without frame pointers, too",
	 COMMON_STRINGS(struct record_settings, stacks, UINT64_MAX)},
	{"event-buffer", 0, "BYTES",
	 "memory for the kernel's events of each CPU (4M, less where that is not permitted)",
	 COMMON_POWER_OF_TWO(struct record_settings, event_ring, RING_MIN, RING_MAX)},
	{"list-probes", 0, "PROGRAM", "show the probes that a program or library was compiled with (sys/sdt.h); --json",
	 COMMON_STRING(struct record_settings, list_probes)},
	{"list-flags", 0, NULL, "show the flags, which tracepoints they are, and whether they work here",
	 COMMON_FLAG(struct record_settings, list_flags)},
	{"", 0, NULL, "Messages"},
	{"quiet", 'q', NULL, "only warnings and errors", COMMON_FLAG(struct record_settings, quiet)},
	{"progress", 0, NULL,
	 "a progress line on the terminal, though COMMAND may write there; without COMMAND it is "
	 "the default",
	 COMMON_CONSTANT(struct record_settings, progress, RECORD_PROGRESS_ALWAYS)},
	{"no-progress", 0, NULL, "no progress line on the terminal",
	 COMMON_CONSTANT(struct record_settings, progress, RECORD_PROGRESS_NEVER)},
	{NULL},
};

/* Options of ptl-record, and tables of the sources. */
static const struct common_option *tables[OPTION_TABLES_MAX + 1] = {options};

static const struct common_command_line command_line = {
	.program = "ptl-record",
	.usage = "[options] [--] COMMAND [ARGUMENT]...\n       ptl-record check [options]"
		 "\n       ptl-record start NAME [options] [--] [COMMAND [ARGUMENT]...]"
		 "\n       ptl-record list | query | update | flush | snapshot | stop [options] [NAME]",
	.summary = "Runs COMMAND and records the control flow of it and all its descendants as "
		   "Intel PT packets, and the events that they write, in a "
		   ".ptl file. The exit status is that of COMMAND.",
	.examples = "  ptl-record -o build.ptl -- gcc -O2 -c big.c\n"
		    "  ptl-record --clock=virtual --embed=debug ./a.out\n"
		    "  ptl-record --until-failure --runs=1000 -o test.ptl -- ./test\n"
		    "  ptl-record -o now.ptl --pid 4711 --duration=5s\n"
		    "  ptl-record --start-at=handle_request --stop-at=send_answer -- ./server\n"
		    "  ptl-record --source=none -p 'MyCompany-Server:info' -- ./server\n"
		    "  ptl-record -o all.ptl -p '*' --attach-providers --duration=10s\n"
		    "  ptl-record start web -p 'MyCompany-Server'; ptl-record query web; ptl-record stop web\n"
		    "  ptl-record -o - --source=none -- COMMAND | ptl-dump events --follow -\n",
	.tables = tables,
	.stop_at_operand = 1,
};

/* Prepares the requests to debuginfod servers, which start after the recording. Returns an exit status. */
static int prepare_debuginfod(const struct record_settings *settings)
{
	if (!settings->debuginfod)
		return 0;
	if (settings->embed < ELF_EMBED_SYMBOLS)
		return record_usage("--debuginfod asks for names of functions, and none are put into this trace",
				    "--embed symbols");
	if (elf_debuginfod_enable() < 0)
		return record_usage(ptl_error_text(),
				    "DEBUGINFOD_URLS=https://debuginfod.debian.net ptl-record --debuginfod ...");
	elf_debuginfod_hold(true);
	return 0;
}

/* operand: unexpected operand, or NULL. */
static int list_sessions(const struct record_settings *settings, const char *operand)
{
	const char *option = settings->list_sources ? "--list-sources" : "--list-providers";
	int status = 0;

	if (operand) {
		common_message_error("%s lists, and runs nothing: unexpected \"%s\"", option, operand);
		common_message_hint("ptl-record %s", option);
		return COMMON_EXIT_USAGE;
	}
	if (settings->list_sources)
		record_source_list(settings, stdout);
	else
		status = record_provider_list(settings->json, stdout);
	if (status < 0)
		return common_message_failure(status);
	return fflush(stdout) ? COMMON_EXIT_SYSTEM : COMMON_EXIT_OK;
}

/* argv[0]: name of the program or of the session. */
static int record(struct record_settings *settings, int argc, char **argv)
{
	int first, status = common_options_parse(&command_line, settings, argc, argv, &first);

	if (status)
		return status > 0 ? COMMON_EXIT_OK : common_exit_of(status);
	common_message_start("ptl-record", settings->quiet);
	if (elf_debug_path_add(getenv("PTL_DEBUG_PATH")) < 0)
		return common_message_failure(PTL_NO_MEMORY);
	if (settings->list_flags && !argv[first]) {
		record_flags_list(stdout);
		return fflush(stdout) ? COMMON_EXIT_SYSTEM : COMMON_EXIT_OK;
	}
	if (settings->list_probes && !argv[first]) {
		status = kernel_event_sdt_list(settings->list_probes, settings->json);
		return status < 0       ? common_message_failure(status)
		       : fflush(stdout) ? COMMON_EXIT_SYSTEM
					: COMMON_EXIT_OK;
	}
	if (settings->list_sources || settings->list_providers)
		return list_sessions(settings, argv[first]);
	if (settings->json)
		return record_usage("--json is for --list-providers", "ptl-dump --json for what is recorded");
	settings->command = first == argc ? NULL : argv + first;
	/* A session without a command records all programs of the user. */
	settings->attach |= settings->session_name && !settings->command && !record_settings_name_running(settings);
	status = record_settings_check(settings);
	if (!status)
		status = prepare_debuginfod(settings);
	if (status)
		return status;
	if (settings->until_failure)
		return record_repeat(settings, record_source_run);
	return settings->session_name ? record_control_start(settings, record_source_run) : record_source_run(settings);
}

/* Runs "start NAME ...". */
static int start_named_session(struct record_settings *settings, int argc, char **argv)
{
	if (argc < 2 || argv[1][0] == '-') {
		if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")))
			return record(settings, argc, argv);
		return record_usage("a session needs a name: ptl-record start NAME ...", "ptl-record start --help");
	}
	if (common_session_name(argv[1], &settings->session_name) < 0)
		return record_usage(ptl_error_text(), "ptl-record start web -p 'MyCompany-Server'");
	return record(settings, argc - 1, argv + 1);
}

/* Suggests a command of ptl-record for a word that is no program in $PATH. */
static void hint_command(const char *word)
{
	struct common_nearest nearest = {.word = word};

	record_control_near(&nearest);
	common_nearest_look(&nearest, "check");
	common_nearest_look(&nearest, "start");
	if (nearest.best)
		common_message_hint("ptl-record %s", nearest.best);
	else if (!strcmp(word, "help"))
		common_message_hint("ptl-record --help");
}

/* Checks the sources, and removes unused probes. */
static void check_sources(struct check_list *list)
{
	kernel_event_uprobe_event_clean();
	record_source_check(list);
}

int main(int argc, char **argv)
{
	struct record_settings settings = {
		.source = "auto",
		.return_compression = true,
		.timing = PTL_TIMING_MTC,
		.clock = PTL_CLOCK_MONOTONIC,
		.psb_period = 16u << 10,
		.embed = ELF_EMBED_SYMBOLS,
		.level = 1,
		.flush_interval = 400000000u,
		.ring_size = 512u << 10,
		.threads_max = 1024,
		.command_line = argv,
		.control = {-1, -1, -1},
	};
	int status;

	common_message_start("ptl-record", false);
	record_source_options(tables + 1, OPTION_TABLES_MAX);
	/* A recorded command with such a name needs "--" before the name. */
	if (argc > 1 && !strcmp(argv[1], "check"))
		return record_check(argc - 1, argv + 1, check_sources);
	if (argc > 1 && !strcmp(argv[1], "list"))
		kernel_event_uprobe_event_clean();
	if (argc > 1 && record_control_is_command(argv[1]))
		return record_control_command(argc - 1, argv + 1);
	if (argc > 1 && !strcmp(argv[1], "start"))
		status = start_named_session(&settings, argc - 1, argv + 1);
	else
		status = record(&settings, argc, argv);
	if (status == RECORD_EXIT_NOT_FOUND && argc > 1)
		hint_command(argv[1]);
	common_id_set_free(&settings.pt.pids);
	common_id_set_free(&settings.pt.tids);
	common_string_list_free(&settings.pt.filters);
	common_string_list_free(&settings.pt.processes);
	common_string_list_free(&settings.pt.triggers);
	common_string_list_free(&settings.pt.whens);
	common_string_list_free(&settings.tracepoints);
	common_string_list_free(&settings.only);
	common_string_list_free(&settings.stacks);
	common_string_list_free(&settings.values);
	return status;
}
