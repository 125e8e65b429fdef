/* SPDX-License-Identifier: BSD-2-Clause */
/* ptl-record: its options. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/error.h"
#include "common/message.h"
#include "common/options.h"
#include "record/provider/list.h"
#include "record/provider/rules.h"
#include "record/capture/settings.h"
#include "record/source.h"

#define PSB_PERIOD_MIN 128u
#define PSB_PERIOD_MAX (1u << 30)
#define RING_MIN (64u << 10)
#define RING_MAX (64u << 20)
#define THREADS_MAX 65536u
#define LEVEL_MAX 19

static const char *const source_words[] = {"auto", "qemu", "intel_pt", "none", NULL};
static const char *const timing_words[] = {"none", "tsc", "mtc", "cyc", NULL}; /* as enum ptl_timing */
static const char *const clock_words[] = {"real", "virtual", NULL};
static const char *const embed_words[] = {"none", "code", "symbols", "debug", NULL}; /* as enum elf_embed */

/* Where argument is among words, which it is. */
static unsigned index_of(const char *const *words, const char *argument)
{
	unsigned i = 0;

	while (strcmp(words[i], argument) != 0)
		i++;
	return i;
}

static int take_output(void *target, const char *argument)
{
	struct record_settings *settings = target;

	if (!*argument)
		return common_fail(PTL_MISUSE, "a file name is missing");
	if (!strcmp(argument, "-"))
		return common_fail(PTL_MISUSE, "standard output is the command's; write to a pipe with /dev/fd/N: "
					       "ptl-record -o /dev/fd/3 -- COMMAND 3>&1 >/dev/null | ptl-dump stats -");
	settings->output = argument;
	return 0;
}

static int take_force(void *target, const char *argument)
{
	(void)argument;
	((struct record_settings *)target)->force = true;
	return 0;
}

static int take_source(void *target, const char *argument)
{
	((struct record_settings *)target)->source = argument;
	return 0;
}

static int take_list_sources(void *target, const char *argument)
{
	(void)argument;
	((struct record_settings *)target)->list_sources = true;
	return 0;
}

static int take_qemu(void *target, const char *argument)
{
	((struct record_settings *)target)->qemu = argument;
	return 0;
}

static int take_wait(void *target, const char *argument)
{
	(void)argument;
	((struct record_settings *)target)->wait_for_all = true;
	return 0;
}

static int take_duration(void *target, const char *argument)
{
	struct record_settings *settings = target;
	int status = common_parse_duration(argument, &settings->duration);

	if (status == 0 && !settings->duration)
		return common_fail(PTL_MISUSE, "0 is no time to record");
	return status;
}

static int take_timing(void *target, const char *argument)
{
	((struct record_settings *)target)->timing = index_of(timing_words, argument);
	return 0;
}

static int take_clock(void *target, const char *argument)
{
	((struct record_settings *)target)->clock = index_of(clock_words, argument) ? PTL_CLOCK_VIRTUAL
										    : PTL_CLOCK_MONOTONIC;
	return 0;
}

static int take_no_retcomp(void *target, const char *argument)
{
	(void)argument;
	((struct record_settings *)target)->return_compression = false;
	return 0;
}

/* A size within bounds. */
static int take_bounded(const char *argument, uint64_t low, uint64_t high, uint64_t *value)
{
	int status = common_parse_size(argument, value);

	if (status < 0)
		return status;
	if (*value < low || *value > high)
		return common_fail(PTL_MISUSE, "%s is not between %llu and %llu", argument, (unsigned long long)low,
				   (unsigned long long)high);
	return 0;
}

static int take_psb_period(void *target, const char *argument)
{
	return take_bounded(argument, PSB_PERIOD_MIN, PSB_PERIOD_MAX, &((struct record_settings *)target)->psb_period);
}

static int take_buffer(void *target, const char *argument)
{
	struct record_settings *settings = target;
	int status = take_bounded(argument, RING_MIN, RING_MAX, &settings->ring_size);

	if (status == 0 && settings->ring_size & (settings->ring_size - 1))
		return common_fail(PTL_MISUSE, "%s is not a power of two", argument);
	return status;
}

static int take_threads(void *target, const char *argument)
{
	uint64_t value = 0;
	int status = take_bounded(argument, 1, THREADS_MAX, &value);

	((struct record_settings *)target)->threads_max = (uint32_t)value;
	return status;
}

static int take_truth(void *target, const char *argument)
{
	((struct record_settings *)target)->truth = argument;
	return 0;
}

static int take_provider(void *target, const char *argument)
{
	struct record_settings *settings = target;

	if (settings->rule_count == PROVIDER_SHARE_RULES_MAX)
		return common_fail(PTL_MISUSE, "at most %u are possible", PROVIDER_SHARE_RULES_MAX);
	return record_provider_rule_parse(argument, &settings->rules[settings->rule_count++]);
}

static int take_attach(void *target, const char *argument)
{
	(void)argument;
	((struct record_settings *)target)->attach = true;
	return 0;
}

static int take_list_providers(void *target, const char *argument)
{
	(void)argument;
	((struct record_settings *)target)->list_providers = true;
	return 0;
}

static int take_json(void *target, const char *argument)
{
	(void)argument;
	((struct record_settings *)target)->json = true;
	return 0;
}

static int take_provider_buffer(void *target, const char *argument)
{
	struct record_settings *settings = target;
	int status = take_bounded(argument, PROVIDER_SHARE_RING_MIN, PROVIDER_SHARE_RING_MAX, &settings->provider_ring);

	if (status == 0 && settings->provider_ring & (settings->provider_ring - 1))
		return common_fail(PTL_MISUSE, "%s is not a power of two", argument);
	return status;
}

static int take_embed(void *target, const char *argument)
{
	struct record_settings *settings = target;

	settings->embed = (enum elf_embed)index_of(embed_words, argument);
	settings->embed_given = true;
	return 0;
}

static int take_compress(void *target, const char *argument)
{
	uint64_t value = 0;
	int status = take_bounded(argument, 1, LEVEL_MAX, &value);

	((struct record_settings *)target)->level = (int)value;
	return status;
}

static int take_flush_interval(void *target, const char *argument)
{
	return common_parse_duration(argument, &((struct record_settings *)target)->flush_interval);
}

static int take_progress(void *target, const char *argument)
{
	(void)argument;
	((struct record_settings *)target)->progress = RECORD_PROGRESS_ALWAYS;
	return 0;
}

static int take_no_progress(void *target, const char *argument)
{
	(void)argument;
	((struct record_settings *)target)->progress = RECORD_PROGRESS_NEVER;
	return 0;
}

static int take_quiet(void *target, const char *argument)
{
	(void)argument;
	((struct record_settings *)target)->quiet = true;
	return 0;
}

static const struct common_option options[] = {
	{"", 0, NULL, "Output", NULL, NULL},
	{"output", 'o', "FILE", "the trace (COMMAND.ptl in the working directory)", take_output, NULL},
	{"force", 'f', NULL, "replace FILE if it exists", take_force, NULL},
	{"embed", 0, "WHAT",
	 "put into the trace what decoding needs: no code, the code that was mapped, also names of "
	 "functions (the default where there are packets), also debug information",
	 take_embed, embed_words},
	{"compress", 0, "LEVEL", "zstd level, 1 to 19 (1)", take_compress, NULL},
	{"flush-interval", 0, "TIME", "write at least this often (1s)", take_flush_interval, NULL},
	{"", 0, NULL, "Packets", NULL, NULL},
	{"timing", 0, "MODE", "which packets of time there are; mtc is the default", take_timing, timing_words},
	{"clock", 0, "CLOCK", "virtual counts instructions: the same run gives the same packets; real is the default",
	 take_clock, clock_words},
	{"psb-period", 0, "BYTES", "from one PSB, where decoding can begin, to the next (16K)", take_psb_period, NULL},
	{"no-retcomp", 0, NULL, "no return compression: each return has its target", take_no_retcomp, NULL},
	{"", 0, NULL, "Recording", NULL, NULL},
	{"source", 0, "SOURCE",
	 "where packets come from; auto takes the best that works here; none: no packets, COMMAND "
	 "runs natively",
	 take_source, source_words},
	{"list-sources", 0, NULL, "say which sources work here, and why others do not", take_list_sources, NULL},
	{"qemu", 0, "PATH", "the qemu-x86_64 to use (the one in $PATH)", take_qemu, NULL},
	{"wait", 0, NULL, "record until the last descendant of COMMAND has ended", take_wait, NULL},
	{"duration", 0, "TIME", "end the recording after this time; COMMAND goes on", take_duration, NULL},
	{"buffer", 0, "BYTES", "memory for the packets of each thread (512K)", take_buffer, NULL},
	{"threads", 0, "N", "most threads at one time (1024)", take_threads, NULL},
	{"truth", 0, "FILE", "also write which blocks were really executed, to test decoders", take_truth, NULL},
	{"", 0, NULL, "Events of programs", NULL, NULL},
	{"provider", 'p', "NAME|GUID[:LEVEL[:KEYWORDS]]",
	 "record a provider's events; several times; * is every provider, *NAME the one that has the GUID of this "
	 "name. LEVEL: critical, error, "
	 "warning, info, verbose, all (the default), or a number; KEYWORDS: bits, any of which is "
	 "enough",
	 take_provider, NULL},
	{"attach-providers", 0, NULL,
	 "of all your programs, also those that run already; needs no COMMAND: until Ctrl-C then, "
	 "or --duration",
	 take_attach, NULL},
	{"list-providers", 0, NULL, "show which programs have providers now, and who has turned them on",
	 take_list_providers, NULL},
	{"json", 0, NULL, "with --list-providers: JSON, an object a program", take_json, NULL},
	{"provider-buffer", 0, "BYTES", "memory for the events of each thread (2M, and 512M a program for bursts)",
	 take_provider_buffer, NULL},
	{"", 0, NULL, "Messages", NULL, NULL},
	{"quiet", 'q', NULL, "only warnings and errors", take_quiet, NULL},
	{"progress", 0, NULL,
	 "a progress line on the terminal, though COMMAND may write there; without COMMAND it is "
	 "the default",
	 take_progress, NULL},
	{"no-progress", 0, NULL, "no progress line on the terminal", take_no_progress, NULL},
	{NULL, 0, NULL, NULL, NULL, NULL},
};

static const struct common_option *const tables[] = {options, NULL};

static const struct common_command_line command_line = {
	.program = "ptl-record",
	.usage = "[options] [--] COMMAND [ARGUMENT]...",
	.summary = "Runs COMMAND and records the control flow of it and all its descendants as "
		   "Intel PT packets, and the events that they write, in a "
		   ".ptl file. The exit status is that of COMMAND.",
	.examples = "  ptl-record -o build.ptl -- gcc -O2 -c big.c\n"
		    "  ptl-record --clock=virtual --embed=debug ./a.out\n"
		    "  ptl-record --source=none -p 'MyCompany-Server:info' -- ./server\n"
		    "  ptl-record -o all.ptl -p '*' --attach-providers --duration=10s\n"
		    "  ptl-record -o /dev/fd/3 -- COMMAND 3>&1 >/dev/null | ptl-dump stats -\n",
	.tables = tables,
	.stop_at_operand = 1,
};

static int usage(const char *text, const char *hint)
{
	common_message_error("%s", text);
	common_message_hint("%s", hint);
	return COMMON_EXIT_USAGE;
}

/* Looks whether what is asked for makes sense together. Returns an exit status. */
static int check_settings(struct record_settings *settings)
{
	if (!settings->command && !settings->attach)
		return usage("no command to record", "ptl-record --help");
	if (!settings->command && !strcmp(settings->source, "auto"))
		settings->source = "none";
	if (!settings->command && strcmp(settings->source, "none") != 0)
		return usage("packets come from a command that is started here, and there is none", "--source none");
	if (settings->attach && !settings->rule_count)
		return usage("--attach-providers needs a --provider", "--provider '*'");
	if (settings->rule_count && settings->clock == PTL_CLOCK_VIRTUAL)
		return usage("providers' events are in real time, which has no place on the "
			     "virtual clock",
			     "--clock real, or no --provider");
	if (settings->truth && settings->output && !strcmp(settings->truth, settings->output)) {
		common_message_error("--output and --truth name the same file: %s", settings->output);
		return COMMON_EXIT_USAGE;
	}
	if (strcmp(settings->source, "none") != 0)
		return 0;
	if (settings->clock == PTL_CLOCK_VIRTUAL)
		return usage("--source none has no virtual clock", "--source qemu");
	if (settings->truth)
		return usage("--source none has no truth", "--source qemu");
	/* Nothing is decoded, so nothing is needed for it. */
	if (!settings->embed_given)
		settings->embed = ELF_EMBED_NONE;
	return 0;
}

/* operand: what should not be there, or NULL. */
static int list(const struct record_settings *settings, const char *operand)
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
		.flush_interval = 1000000000u,
		.ring_size = 512u << 10,
		.threads_max = 1024,
		.command_line = argv,
	};
	const struct record_source *source;
	int first, status;

	common_message_start("ptl-record", false);
	status = common_options_parse(&command_line, &settings, argc, argv, &first);
	if (status)
		return status > 0 ? COMMON_EXIT_OK : common_exit_of(status);
	common_message_start("ptl-record", settings.quiet);
	if (settings.list_sources || settings.list_providers)
		return list(&settings, argv[first]);
	if (settings.json)
		return usage("--json is for --list-providers", "ptl-dump --json for what is recorded");
	settings.command = first == argc ? NULL : argv + first;
	status = check_settings(&settings);
	if (status)
		return status;
	source = record_source_choose(&settings);
	return source ? source->record(source, &settings) : COMMON_EXIT_SYSTEM;
}
