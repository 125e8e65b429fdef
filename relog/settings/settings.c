/* SPDX-License-Identifier: BSD-2-Clause */
/* The options of ptl-relog: the table, parsing of arguments, and checks of combinations. */
#include "relog/settings/settings.h"

#include <stdlib.h>
#include <string.h>

#include "common/content/http.h"
#include "common/error.h"
#include "common/program/message.h"
#include "common/program/options.h"
#include "common/text/quote.h"
#include "elf/debug_options.h"
#include "elf/debuginfod.h"

#define SPLIT_MIN (64u << 10)
#define MEMORY_LIMIT (256u << 20)
#define LEVEL_MAX 19u       /* levels of zstd without the most expensive ones */
#define TID_MAX 0x3fffffffu /* limit of Linux; PID_MAX_LIMIT is even lower */

static const char *const hash_words[] = {"xxh128", "sha256", "none", NULL}; /* in the order of enum ptl_hash_kind */

/* Parses a part of FAMILY/MODEL/STEPPING that ends with the character `end`, and moves *text behind `end`. */
static int parse_part(const char **text, char end, uint64_t limit, uint64_t *value)
{
	char part[24];
	size_t length = strcspn(*text, "/");

	if ((*text)[length] != end || length == 0 || length >= sizeof(part))
		return PTL_MISUSE;
	memcpy(part, *text, length);
	part[length] = '\0';
	if (common_parse_u64(part, value) || *value > limit)
		return PTL_MISUSE;
	*text += length + (end != '\0');
	return 0;
}

static int take_cpu(void *member, const char *argument)
{
	struct import_raw *raw = member;
	const char *at = argument;
	uint64_t family;
	uint64_t model;
	uint64_t stepping;

	if (parse_part(&at, '/', UINT16_MAX, &family) || parse_part(&at, '/', UINT8_MAX, &model) ||
	    parse_part(&at, '\0', UINT8_MAX, &stepping))
		return common_fail(PTL_MISUSE, "expected FAMILY/MODEL/STEPPING, such as 6/78/3, found '%s'", argument);
	raw->has_cpu = true;
	raw->family = (uint16_t)family;
	raw->model = (uint8_t)model;
	raw->stepping = (uint8_t)stepping;
	return 0;
}

/* Parses TSC/CRYSTAL, the ratio of TSC ticks to crystal ticks (EBX and EAX of CPUID.15H). */
static int take_crystal_ratio(void *member, const char *argument)
{
	struct import_raw_clock *clock = member;
	const char *at = argument;
	uint64_t numerator, denominator;

	if (parse_part(&at, '/', UINT32_MAX, &numerator) || parse_part(&at, '\0', UINT32_MAX, &denominator) ||
	    !numerator || !denominator)
		return common_fail(PTL_MISUSE, "expected TSC/CRYSTAL, such as 168/2, found '%s'", argument);
	clock->ctc_numerator = (uint32_t)numerator;
	clock->ctc_denominator = (uint32_t)denominator;
	return 0;
}

static int take_rules(void *member, const char *argument)
{
	const char **rules = member;

	if (*rules)
		return common_fail(PTL_MISUSE, "expected one rule file, found a second");
	*rules = argument;
	return 0;
}

static const struct common_option rule_options[] = {
	{"", 0, NULL, "Rewriting:"},
	{"rules", 'r', "FILE", "Rewrites events and names code as this rule file says: see ptl-rules(5).",
	 COMMON_CALLBACK(struct relog_settings, rules, take_rules)},
	{"replace", 0, NULL, "Lets images of rules take the place of others that they overlap.",
	 COMMON_FLAG(struct relog_settings, replace)},
	{NULL},
};

static const struct common_option store_options[] = {
	{"", 0, NULL, "Code that many traces have in common:"},
	{"detach-code", 0, "FOLDER",
	 "Leaves code, symbols and debug information out, and puts them into this folder, each piece once.",
	 COMMON_PATH(struct relog_settings, detach_code)},
	{"attach-code", 0, "FOLDER",
	 "Brings back what was left out, from such a folder, or one that an https:// URL names.",
	 COMMON_PATH(struct relog_settings, attach_code)},
	{NULL},
};

/* in the order of enum elf_embed */
static const char *const embed_words[] = {"none", "code", "symbols", "debug", "sources", NULL};
static const char *const modes[] = {"64", "32", NULL};

static const struct common_option common_options[] = {
	{"output", 'o', "FILE", "The trace to write; \"-\" is standard output.",
	 COMMON_STRING(struct relog_settings, output)},
	{"force", 'f', NULL, "Replaces FILE if it exists.", COMMON_FLAG(struct relog_settings, force)},
	{"follow", 0, NULL,
	 "Takes inputs that are still being written: until they are closed, their writers are gone, or an "
	 "interruption (Ctrl-C), after which what is there is taken. One trace that is copied or goes through rules is "
	 "written as it comes; what needs the whole trace waits for its end.",
	 COMMON_FLAG(struct relog_settings, follow)},
	{"live", 0, NULL,
	 "The input is the name of a session (ptl-record start NAME): writes again what it has recorded and records, "
	 "with --follow. A session of several files gives several outputs: out.ptl, out.2.ptl, ...",
	 COMMON_FLAG(struct relog_settings, live)},
	{"recompress", 0, "LEVEL", "Compresses everything again: 1 (fast) to 19 (small); 0 stores it uncompressed.",
	 COMMON_NUMBER(struct relog_settings, level, 0, LEVEL_MAX), COMMON_GIVEN(struct relog_settings, recompress)},
	{"split", 0, "SIZE",
	 "Writes parts of at most SIZE, such as 100M: out.ptl becomes out.1.ptl, out.2.ptl, ... Each is a whole trace.",
	 COMMON_SIZE(struct relog_settings, split, SPLIT_MIN, UINT64_MAX)},
	{"memory-limit", 0, "SIZE",
	 "What a run may take of memory for what it must remember of its inputs, and all else; 256M is the default.",
	 COMMON_SIZE(struct relog_settings, memory_limit, MEMORY_LIMIT, UINT64_MAX)},
	{"max-expansion", 0, "N",
	 "Takes compressed events of inputs that are up to N times as large as in the file (default: 256; 0: any).",
	 COMMON_LIMIT(struct relog_settings, max_expansion)},
	{"hash", 0, "KIND",
	 "What names the bytes of each input in the provenance: XXH128, which xxh128sum checks (the default), SHA-256, "
	 "which nobody can forge but takes longer than copying, or nothing.",
	 COMMON_CHOICE(struct relog_settings, hash, hash_words)},
	{"no-hash", 0, NULL, "The same as --hash none.", COMMON_CONSTANT(struct relog_settings, hash, PTL_HASH_NONE)},
	{"sync", 0, NULL,
	 "Ends when the output is on disk, not only in the system's cache. Where it replaces a file this is so anyway.",
	 COMMON_FLAG(struct relog_settings, sync)},
	{"check", 0, NULL,
	 "Reads all of the output again, and of a redacted one compares the flow: exit status 1 if it is not right.",
	 COMMON_FLAG(struct relog_settings, check)},
	{"quiet", 'q', NULL, "Says nothing but warnings and errors.", COMMON_FLAG(struct relog_settings, quiet)},
	{NULL},
};

static int take_redact(void *rules, const char *argument)
{
	return relog_redact_rule(rules, argument);
}

static int take_redact_file(void *rules, const char *argument)
{
	return relog_redact_file(rules, argument);
}

static int take_redact_key(void *rules, const char *argument)
{
	return relog_redact_key(rules, argument);
}

static const struct common_option redact_options[] = {
	{"", 0, NULL, "What is redacted (tokens take its place, the same one for the same text):"},
	{"redact", 0, "RULE",
	 "paths, users, host, commands, threads, all, path:GLOB, keep:GLOB, text:STRING, regex:ERE or field:GLOB.",
	 COMMON_CALLBACK(struct relog_settings, redact, take_redact)},
	{"redact-file", 0, "FILE", "Rules, one a line; # starts a comment.",
	 COMMON_CALLBACK(struct relog_settings, redact, take_redact_file)},
	{"redact-key", 0, "FILE",
	 "A secret of 16 bytes or more: traces redacted with the same one have the same tokens.",
	 COMMON_CALLBACK(struct relog_settings, redact, take_redact_key)},
	{NULL},
};

static const struct common_option raw_options[] = {
	{"", 0, NULL, "Raw Intel PT and raw code bytes:"},
	{"pt", 0, "FILE", "Raw Intel PT bytes of one thread or CPU. Given again, each is a thread of its own.",
	 COMMON_STRINGS(struct relog_settings, raw.pt, IMPORT_RAW_PT_MAX)},
	{"memory", 0, "FILE", "The bytes of the code that ran.", COMMON_PATH(struct relog_settings, raw.memory)},
	{"memory-map", 0, "FILE", "Which of those bytes lie where: lines of BASE SIZE OFFSET, # starts a comment.",
	 COMMON_PATH(struct relog_settings, raw.memory_map)},
	{"cpu", 0, "F/M/S", "Family, model and stepping of the CPU, for its known errata, such as 6/78/3.",
	 COMMON_CALLBACK(struct relog_settings, raw, take_cpu)},
	{"mode", 0, "BITS", "Mode of execution where the packets do not say it; 64 is the default.",
	 COMMON_NUMBER(struct relog_settings, raw.mode, 32, 64), .choices = modes},
	{"tsc-frequency", 0, "HZ", "Ticks of the TSC in a second: gives packets times.",
	 COMMON_NUMBER(struct relog_settings, raw.clock.tsc_frequency, 1000000, 1000000000000)},
	{"tsc-start", 0, "TICKS", "The whole TSC at the start of the capture. TSC packets hold the lower 56 bits.",
	 COMMON_NUMBER(struct relog_settings, raw.clock.tsc_start, 1, INT64_MAX)},
	{"crystal-ratio", 0, "N/D", "N ticks of the TSC are D ticks of the crystal, for MTC packets, such as 168/2.",
	 COMMON_CALLBACK(struct relog_settings, raw.clock, take_crystal_ratio)},
	{"mtc-frequency", 0, "N", "An MTC packet comes every 2^N ticks of the crystal.",
	 COMMON_NUMBER(struct relog_settings, raw.clock.mtc_frequency, 0, 15)},
	{"nominal-ratio", 0, "N", "The ratio at which a core cycle is a tick of the TSC, for CYC packets.",
	 COMMON_NUMBER(struct relog_settings, raw.clock.nominal_ratio, 1, 255)},
	{"pt-filter", 0, "RANGES",
	 "Address ranges that the packets were filtered by: filter or stop, first address, size, such as 'filter "
	 "0x401000/0x200'. "
	 "A comma stands between ranges.",
	 COMMON_STRING(struct relog_settings, raw.filters)},
	{NULL},
};

static const struct common_option perf_options[] = {
	{"", 0, NULL, "Files of this machine, and inputs that are no traces:"},
	{"embed", 0, "WHAT",
	 "What goes into the trace of the files that perf.data names, if this machine has the very same: nothing, "
	 "code, code and symbols (the default), the whole files with debug information as well, or also source files. "
	 "Where the option is given, symbols, debug information and source files also of files of a trace that lacks "
	 "them.",
	 COMMON_CHOICE(struct relog_settings, embed, embed_words), COMMON_GIVEN(struct relog_settings, embed_given)},
	{"buildid-dir", 0, "FOLDER",
	 "Looks for the files that perf.data names in this cache of perf, too, before ~/.debug: what perf archive has "
	 "packed, unpacked.",
	 COMMON_STRING(struct relog_settings, buildid_dir)},
	{"guest-code", 0, NULL,
	 "Decodes Intel PT of virtual machines with the user code of the process that runs the machine, at equal "
	 "addresses. "
	 "Without the option, packets of a virtual machine are a gap.",
	 COMMON_CONSTANT(struct relog_settings, guest_code, true)},
	{"debug-path", 0, "FOLDER[:...]",
	 "Looks for separate debug files in these folders, before /usr/lib/debug; then in those of $PTL_DEBUG_PATH.",
	 .take = elf_debug_path_take},
	ELF_DEBUGINFOD_OPTION(struct relog_settings, debuginfod),
	{"manifest", 0, "FILE",
	 "An instrumentation manifest (.man), which explains events of .etl files that do not explain themselves. "
	 "Several are allowed.",
	 COMMON_STRINGS(struct relog_settings, manifests, RELOG_MANIFESTS_MAX)},
	{NULL},
};

static const struct common_option *const tables[] = {
	common_options, rule_options,  relog_cut_options, relog_window_options, relog_clock_options,
	redact_options, store_options, raw_options,       perf_options,         NULL};

static const struct common_command_line line = {
	.program = "ptl-relog",
	.usage = "-o OUTPUT [options] INPUT...\n"
		 "  or: ptl-relog -o OUTPUT --pt FILE... --memory FILE --memory-map FILE [options]",
	.summary = "Writes a new trace of one or more others: copied, merged, rewritten by rules, cut, "
		   "redacted. An INPUT is a trace, perf.data, a .dat file of EventHeader events, an .etl file of "
		   "Windows, \"-\", a file that is still being written, or a damaged one: what can be read is kept, "
		   "and what cannot becomes a loss record. Inputs are "
		   "never changed.",
	.examples = "  ptl-relog in.ptl --rules plugins.rules -o named.ptl\n"
		    "  ptl-relog in.ptl --time 2.3s..2.4s --redact all -o share.ptl\n"
		    "  ptl-relog in.ptl --calls serve --slowest 10 -o slow.ptl\n"
		    "  ptl-relog a.ptl b.ptl -o both.ptl\n"
		    "  ptl-relog perf.data -o trace.ptl\n"
		    "  ptl-relog --pt t.pt --memory t.raw --memory-map t.map -o out.ptl\n"
		    "  ptl-relog --pt 0.pt --pt 1.pt --memory m.raw --memory-map m.map \\\n"
		    "            --cpu 6/78/3 --process guest -o out.ptl\n"
		    "  ptl-relog damaged.ptl -o readable.ptl\n"
		    "  ptl-relog --follow live.ptl --process server -o server.ptl\n"
		    "  ssh host cat /var/tmp/live.ptl | ptl-relog - -o snapshot.ptl\n",
	.tables = tables,
};

static int misuse(const char *text, const char *hint)
{
	common_message_error("%s", text);
	common_message_hint("%s", hint);
	return PTL_MISUSE;
}

/* With raw input, --pid and --process select nothing: they set the ids and names that the trace shows. */
static int take_shown(struct relog_settings *settings)
{
	struct relog_cut_settings *cut = &settings->cut;

	if (cut->pids.count > 1 || cut->processes.count > 1)
		return misuse("with raw input, --pid and --process take one value each", "ptl-relog --help");
	if (cut->pids.count) {
		settings->raw.has_pid = true;
		settings->raw.pid = cut->pids.ids[0];
		if (settings->raw.pid == 0 || settings->raw.pid > TID_MAX - IMPORT_RAW_PT_MAX) {
			common_message_error("--pid: expected a process id from 1 to %u, found '%u'",
					     TID_MAX - IMPORT_RAW_PT_MAX, settings->raw.pid);
			common_message_hint("ptl-relog --help");
			return PTL_MISUSE;
		}
	}
	if (cut->processes.count)
		settings->raw.process = cut->processes.list[0];
	cut->pids.count = 0;
	cut->processes.count = 0;
	return 0;
}

static int check_windows(const struct relog_settings *settings)
{
	const bool wanted = relog_windows_wanted(&settings->windows);

	if (relog_windows_check(&settings->windows))
		return misuse(ptl_error_text(), "ptl-relog --help");
	if (wanted && (settings->split || settings->live || common_time_span_given(&settings->cut.span)))
		return misuse(
			"--around, --between and --calls choose the times: they go neither with --time and --last, "
			"nor with --split and --live",
			"cut or split the outputs in a second run");
	if (wanted && (settings->check || strcmp(settings->output, "-") == 0))
		return misuse("windows are written as several files: they go neither with --check nor with -o -",
			      "-o OUTPUT.ptl, and ptl-dump info --check OUTPUT.1.ptl");
	return 0;
}

/* Checks combinations of options, and options that each kind of input needs. */
static int check_settings(struct relog_settings *settings, int operands)
{
	bool raw = settings->raw.pt.count || settings->raw.memory || settings->raw.memory_map;
	const struct import_raw_clock *clock = &settings->raw.clock;
	bool timing = clock->tsc_start || clock->ctc_denominator || clock->mtc_frequency || clock->nominal_ratio;
	bool raw_detail = settings->raw.has_cpu || settings->raw.mode || settings->raw.filters || timing ||
			  clock->tsc_frequency;

	if (raw && operands)
		return misuse("a trace file and raw input cannot be combined",
			      "give either INPUT.ptl, or --pt, --memory and --memory-map");
	if (!raw && !operands)
		return misuse("there is no input", "ptl-relog INPUT.ptl -o OUTPUT.ptl, or ptl-relog --help");
	if (!raw && raw_detail)
		return misuse("--cpu, --mode, --pt-filter, and options of timing packets describe raw input, and there "
			      "is none",
			      "leave them out: a trace file says these things itself");
	if (raw && (!settings->raw.pt.count || !settings->raw.memory || !settings->raw.memory_map))
		return misuse("raw input needs all of --pt, --memory and --memory-map",
			      "ptl-relog --pt trace.pt --memory memory.raw --memory-map memory.map "
			      "-o out.ptl");
	if (timing && !clock->tsc_frequency)
		return misuse("options of timing packets need the frequency of the TSC", "--tsc-frequency 3000000000");
	if (raw && settings->follow)
		return misuse("--follow is about inputs that are still being written, and raw input is read as it is",
			      "leave it out");
	if (settings->live && (raw || operands > 1))
		return misuse("--live takes the name of one session", "ptl-relog --live NAME -o OUTPUT.ptl");
	if (settings->replace && !settings->rules)
		return misuse("--replace is about images of rules, and there are none",
			      "give --rules FILE, or leave it out");
	if (!settings->output)
		return misuse("there is no output", "-o OUTPUT.ptl");
	if (settings->split && strcmp(settings->output, "-") == 0)
		return misuse("--split writes several files, and the output is one", "-o OUTPUT.ptl");
	if (check_windows(settings))
		return PTL_MISUSE;
	if (relog_clocks_check(&settings->clocks, (size_t)operands))
		return misuse(ptl_error_text(), "ptl-relog --help");
	if (settings->follow && relog_clocks_wanted(&settings->clocks))
		return misuse(
			"--offset, --anchor, --order and --machine need whole inputs: they do not go with --follow",
			"relate the clocks in a second run");
	if (settings->check && (settings->split || settings->follow || strcmp(settings->output, "-") == 0))
		return misuse(
			"--check reads one output again that is whole, from inputs that are",
			"leave out --split and --follow, and give -o OUTPUT.ptl; or check the parts with ptl-dump "
			"info --check");
	if (settings->detach_code && common_http_is_url(settings->detach_code))
		return misuse("--detach-code writes to a folder: a server is only read",
			      "--detach-code FOLDER, and copy it to where the server has it");
	if (settings->detach_code && (settings->attach_code || relog_redact_wanted(&settings->redact)))
		return misuse("--detach-code goes neither with --attach-code nor with redaction",
			      "redact or attach first, and detach the output in a second run");
	if (raw)
		return take_shown(settings);
	if (relog_cut_check(&settings->cut))
		return misuse(ptl_error_text(), "ptl-relog --help");
	return 0;
}

int relog_settings_parse(struct relog_settings *settings, int argc, char **argv)
{
	int first_operand;
	int status;

	settings->embed = ELF_EMBED_SYMBOLS;
	settings->memory_limit = MEMORY_LIMIT;
	common_quote_words(&settings->command, (size_t)argc, (const char *const *)argv);
	status = common_options_parse(&line, settings, argc, argv, &first_operand);
	if (status)
		return status;
	settings->follow |= settings->live;
	status = check_settings(settings, argc - first_operand);
	if (!status)
		status = elf_debug_path_add(getenv("PTL_DEBUG_PATH"));
	if (!status && settings->debuginfod && elf_debuginfod_enable() < 0)
		status = misuse(ptl_error_text(),
				"DEBUGINFOD_URLS=https://debuginfod.debian.net ptl-relog --debuginfod ...");
	if (status)
		return status;
	settings->inputs = (const char *const *)argv + first_operand;
	settings->input_count = (size_t)(argc - first_operand);
	if (settings->live && settings->split)
		return misuse("--split reads its input several times, and --live gives it once",
			      "leave it out, and split the output when it is there: ptl-relog OUTPUT.ptl --split ...");
	for (size_t i = 0; (settings->split || relog_windows_wanted(&settings->windows) ||
			    (settings->check && relog_redact_wanted(&settings->redact))) &&
			   i < settings->input_count;
	     i++)
		if (strcmp(settings->inputs[i], "-") == 0)
			return misuse(
				"--split, windows, and --check of what is redacted read their input several times, "
				"and standard input is there once",
				"save it in a file first");
	if (relog_redact_wanted(&settings->redact) && relog_redact_choose_key(&settings->redact))
		return misuse(ptl_error_text(), "--redact-key FILE");
	return 0;
}

bool relog_settings_stream(const struct relog_settings *settings, bool pt)
{
	return settings->follow && settings->input_count == 1 && !settings->split &&
	       !relog_windows_wanted(&settings->windows) && !settings->sync && !settings->detach_code &&
	       !settings->attach_code && relog_cut_streams(&settings->cut, pt) &&
	       relog_redact_streams(&settings->redact);
}

void relog_settings_free(struct relog_settings *settings)
{
	relog_cut_settings_free(&settings->cut);
	relog_clock_settings_free(&settings->clocks);
	relog_redact_rules_free(&settings->redact);
	common_string_list_free(&settings->raw.pt);
	common_string_list_free(&settings->manifests);
	common_bytes_free(&settings->command);
	common_bytes_free(&settings->rules_text);
}
