/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs one command of ptl-dump: options, file, output, report of damage, exit status. */
#include "dump/run/command.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/error.h"
#include "common/program/message.h"
#include "common/session/session_say.h"
#include "common/signals.h"
#include "common/text/text.h"
#include "dump/run/follow.h"
#include "dump/run/line_cut.h"
#include "dump/run/output.h"
#include "dump/run/run.h"
#include "dump/run/source_map.h"
#include "elf/debug_search.h"
#include "elf/debuginfod.h"
#include "elf/jit_names.h"
#include "format/reader/session_beginning.h"
#include "format/reader/session_files.h"
#include "format/reader/trace_end.h"

const char *dump_bold(const struct dump_run *run)
{
	return run->color ? "\033[1m" : "";
}

const char *dump_dim(const struct dump_run *run)
{
	return run->color ? "\033[2m" : "";
}

const char *dump_red(const struct dump_run *run)
{
	return run->color ? "\033[31m" : "";
}

const char *dump_plain(const struct dump_run *run)
{
	return run->color ? "\033[0m" : "";
}

static bool wants_color(const struct dump_options *options)
{
	const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");

	if (options->json || options->output || options->color == DUMP_COLOR_NEVER)
		return false;
	if (options->color == DUMP_COLOR_ALWAYS)
		return true;
	return isatty(STDOUT_FILENO) && term && strcmp(term, "dumb") != 0 && !(no_color && *no_color);
}

/* A damaged file of names is used up to the damaged place. */
static int use_names(const struct dump_options *options)
{
	int status = elf_debug_path_add(getenv("PTL_DEBUG_PATH"));

	if (!status && options->debuginfod)
		status = elf_debuginfod_enable();

	for (size_t i = 0; !status && i < options->jit.count; i++) {
		status = elf_jit_names_add(options->jit.list[i]);
		if (status != PTL_CORRUPT && status != PTL_TRUNCATED && status != PTL_UNSUPPORTED)
			continue;
		common_message_warning("%s; code that is described behind that has no names", ptl_error_text());
		status = 0;
	}
	return status;
}

/* ---- the command --------------------------------------------------------------------------------- */

/*
 * Returns the exit status of a command that returned `status`. A closed pipe is no failure, whether the command or the
 * flush detects it. Of several failures, the first counts.
 */
static int conclude(const struct dump_command *command, struct dump_run *run, int status)
{
	int exit_status = status > 0 ? status : COMMON_EXIT_OK;
	int output_status;

	common_progress_end();
	run->failed = status < 0;
	if (status < 0 && status != PTL_CANCELLED)
		exit_status = common_message_failure(status);
	elf_debuginfod_warn();
	output_status = dump_output_flush(run);
	if (status == PTL_CANCELLED || output_status == PTL_CANCELLED)
		return exit_status;
	if (output_status < 0 && status >= 0)
		exit_status = common_message_failure(output_status);
	if (run->trace && (dump_run_report(run, command->lists_damage) || run->damaged) && !command->judges_damage &&
	    (exit_status == COMMON_EXIT_OK || exit_status == COMMON_EXIT_FINDING))
		exit_status = COMMON_EXIT_INPUT;
	return exit_status;
}

/* Runs the command on an open output and, if the command needs a trace, an open trace. Returns the exit status. */
static int run_open(const struct dump_command *command, struct dump_run *run)
{
	struct analysis_filter *filter = &run->options->filter;
	const uint64_t end = run->options->follow || !run->trace ? 0 : format_trace_end(run->trace);
	int status = 0;

	common_json_start(&run->json_out, run->out);
	if (run->trace)
		status = analysis_filter_resolve(filter, ptl_trace_machine(run->trace), end);
	if (status == 0)
		status = command->run(run);
	return conclude(command, run, status);
}

/* Keeps the output file if the command did its work, even if parts of the trace could not be read. */
static int close_output(struct dump_run *run, int exit_status)
{
	const bool keep = !run->failed && !run->output->error;
	const int status = dump_output_close(run, keep);

	return status < 0 ? common_message_failure(status) : exit_status;
}

static bool needs_trace(const struct dump_command *command, const struct dump_options *options)
{
	return !command->needs_no_trace || !command->needs_no_trace(options);
}

/* Opens the file of the partial result for --partial, and records the FILEs in it. */
static int open_saver(const struct dump_command *command, const struct dump_options *options, char **operands,
		      size_t count, struct dump_partial_saver **saver)
{
	const uint32_t number = options->shard.count ? options->shard.number : 1;
	const uint32_t shards = options->shard.count ? options->shard.count : 1;
	const size_t first = command->operand != NULL;
	int status = dump_partial_save_open(options->partial, command->name, first ? operands[0] : NULL,
					    &options->given, number, shards, saver);

	for (size_t i = first; !status && i < count; i++)
		status = strcmp(operands[i], "-") == 0
				 ? common_fail(PTL_MISUSE, "--partial does not go with a trace on standard input")
				 : dump_partial_save_path(*saver, operands[i]);
	return status < 0 ? common_message_failure(status) : 0;
}

/*
 * Completes the partial result if the command did its work. A finding or damage is no failure here: the merge reports
 * both.
 */
static int commit_saver(const struct dump_run *run, int exit_status)
{
	const bool done = !run->failed;
	const int status = done ? dump_partial_save_commit(run->saver) : 0;

	if (status < 0)
		return common_message_failure(status);
	return done ? COMMON_EXIT_OK : exit_status;
}

/* Whether text is as wide as a terminal. --full-names asks for whole lines. */
static bool wants_width(const struct dump_options *options)
{
	return !options->json && !options->full_names && !options->output && !options->partial;
}

static int run_command(const struct dump_command *command, struct dump_options *options, char **operands, size_t count,
		       struct dump_partial_set *merged)
{
	const size_t first = command->operand != NULL;
	const bool has_trace = needs_trace(command, options);

	struct dump_run run = {
		.options = options,
		.path = has_trace ? operands[first] : "",
		.more = has_trace ? operands + first + 1 : NULL,
		.more_count = has_trace ? count - first - 1 : 0,
		.operand = command->operand && count ? operands[0] : NULL,
		.takes_etl = command->takes & DUMP_TAKES_ETL,
		.width = wants_width(options) ? dump_terminal_width() : 0,
		.cuts_lines = command->takes & DUMP_TAKES_CUT,
		.shortens_names = command->takes & DUMP_TAKES_FULL && !options->json && !options->full_names,
		.color = wants_color(options),
		.failed = true,
		.merged = merged,
		.progress = isatty(STDERR_FILENO) && (options->output || !isatty(STDOUT_FILENO)) && !options->quiet,
	};
	struct dump_output output = {.fd = -1, .file.fd = -1};
	int status = options->partial ? open_saver(command, options, operands, count, &run.saver) : 0;

	if (!status && has_trace)
		status = common_exit_of(dump_run_open(&run));
	if (status) {
		dump_partial_save_close(run.saver);
		return status;
	}
	/* write(2) reports a reader that went away, so the program can end with a clean exit status. */
	common_signal_ignore(SIGPIPE, NULL);
	run.output = &output;
	status = command->prepare_output ? command->prepare_output(options) : 0;
	if (status == 0)
		status = dump_output_open(&run, &output);
	if (status == 0)
		status = run_open(command, &run);
	else
		status = common_message_failure(status);
	status = close_output(&run, status);
	if (run.saver)
		status = commit_saver(&run, status);
	dump_partial_save_close(run.saver);
	/*
	 * The losses of a session are reported now: ptl-dump info cannot be asked later, and each file of a session has
	 * only its own losses.
	 */
	if (options->session)
		analysis_note_lost_events(run.trace);
	ptl_close(run.trace);
	return status;
}

static int wait_for_session(void *context, const char *name, uint64_t waited)
{
	(void)context;
	common_session_say_waiting(name, waited);
	return dump_follow_interrupted() ? common_fail(PTL_CANCELLED, "interrupted") : 0;
}

static int begin_live(struct format_session_files *files, int *fd, char **path)
{
	struct ptl_bytes beginning = {0};
	int status = format_session_files_begin(files, fd, path);

	if (!status && format_session_beginning(files, *fd, *path, &beginning) == 0 && beginning.size)
		common_message_note("%s", common_text_string(&beginning));
	common_bytes_free(&beginning);
	return status;
}

/* Replaces the name of a session by its files, in turn. Commands with --follow take one FILE and no operand. */
static int run_live(const struct dump_command *command, struct dump_options *options, char *name)
{
	struct format_session_files files = {.session = name, .wait = {.wait = wait_for_session}};
	char *path;
	int fd, status = begin_live(&files, &fd, &path), exit_status = COMMON_EXIT_OK;

	if (status < 0)
		return common_message_failure(status);
	options->session = &files;
	while (fd >= 0) {
		const uint64_t missed = files.missed;

		exit_status = run_command(command, options, &path, 1, NULL);
		close(fd);
		free(path);
		/* An unreadable part of one file does not end the session. */
		if ((exit_status != COMMON_EXIT_OK && exit_status != COMMON_EXIT_INPUT) || dump_follow_interrupted())
			break;
		status = format_session_files_next(&files, &fd, &path);
		if (status < 0 && status != PTL_CANCELLED)
			exit_status = common_message_failure(status);
		common_session_say_missed(files.missed - missed);
	}
	if (files.doubt[0])
		common_message_warning("%s", files.doubt);
	format_session_files_free(&files);
	options->session = NULL;
	return exit_status;
}

/* Checks the number of operands, and reports a wrong number. */
static bool has_operands(const struct dump_command *command, const struct common_command_line *line, int argc,
			 char **argv, int first)
{
	const int wanted = command->operand ? 2 : 1;

	if (first + wanted == argc && command->operand && access(argv[first], F_OK) == 0 &&
	    access(argv[first + 1], F_OK) < 0 && strcmp(argv[first + 1], "-") != 0) {
		common_message_error("there is no file '%s': the %s comes before the FILE", argv[first + 1],
				     command->operand);
		common_message_hint("%s %s %s", line->program, argv[first + 1], argv[first]);
		return false;
	}
	if (first + wanted == argc || (command->many && first + wanted < argc))
		return true;
	if (first == argc && command->operand)
		common_message_error("a %s and the FILE of a trace are missing", command->operand);
	else if (first + wanted > argc && command->operand)
		common_message_error("'%s' is taken for the %s: the FILE of a trace is missing", argv[first],
				     command->operand);
	else if (first + wanted > argc)
		common_message_error("which trace? a FILE is missing");
	else
		common_message_error("one FILE was expected, and '%s' is one more", argv[first + wanted]);
	common_message_hint("%s --help", line->program);
	return false;
}

/* ---- options of partial results ------------------------------------------------------------------ */

/* Options that say how and where to produce the result, but do not change the result. */
static const char *const unrecorded[] = {"shard",     "partial", "jobs",        "quiet",  "color",
					 "no-color",  "slurm",   "jobs-script", "shards", "scratch",
					 "partition", "account", "time-limit",  "memory", NULL};
/* Recorded options that a merge takes from its own command line. */
static const char *const of_reading[] = {"ignore-index", "code-store", "max-expansion", "source-map", NULL};

static bool is_listed(const char *const *names, const char *name)
{
	for (; names && *names; names++)
		if (strcmp(*names, name) == 0)
			return true;
	return false;
}

struct recording {
	const struct dump_command *command;
	struct dump_options *options;
};

static void record_option(void *context, const struct common_option *option, const char *argument)
{
	const struct recording *recording = context;
	const bool reads = is_listed(of_reading, option->long_name);
	struct ptl_bytes *given = reads ? &recording->options->passed : &recording->options->given;

	if (is_listed(unrecorded, option->long_name))
		return;
	if (is_listed(recording->command->unsharded, option->long_name) || strcmp(option->long_name, "output") == 0 ||
	    strcmp(option->long_name, "calls") == 0)
		recording->options->unsharded = option->long_name;
	common_write_bytes(given, "--", 2);
	common_write_bytes(given, option->long_name, strlen(option->long_name));
	if (argument) {
		common_write_bytes(given, "=", 1);
		common_write_bytes(given, argument, strlen(argument));
	}
	common_write_bytes(given, "", 1);
}

static bool is_cluster(const struct dump_options *options)
{
	return options->cluster.slurm || options->cluster.script;
}

static int check_partial(const struct dump_options *options, bool merges)
{
	const struct dump_slurm_options *jobs = &options->cluster.options;

	if (!options->cluster.slurm &&
	    (jobs->scratch || jobs->partition || jobs->account || jobs->time || jobs->memory))
		return common_fail(PTL_MISUSE,
				   "--scratch, --partition, --account, --time-limit and --memory are of jobs "
				   "of --slurm");
	if (!is_cluster(options) && options->cluster.jobs)
		return common_fail(PTL_MISUSE, "--shards is of --slurm and --jobs-script; one part is --shard I/N");
	if (merges && (options->shard.count || options->partial || is_cluster(options)))
		return common_fail(PTL_MISUSE, "partial results cannot be of --shard, --partial and the like");
	if (options->shard.count && !options->partial)
		return common_fail(PTL_MISUSE, "--shard needs --partial, which names the file of the partial result");
	if (is_cluster(options) && options->partial)
		return common_fail(PTL_MISUSE, "--slurm and --jobs-script choose shards and files of partial results "
					       "by themselves");
	if (options->cluster.slurm && options->cluster.script)
		return common_fail(PTL_MISUSE, "--slurm does not go with --jobs-script");
	if ((options->partial || merges || is_cluster(options)) && options->unsharded)
		return common_fail(PTL_MISUSE, "--%s does not go with partial results", options->unsharded);
	return 0;
}

#define JOBS_DEFAULT 16

/* Submits the work as jobs, or prints the script of the jobs. Returns the exit status. */
static int run_cluster(const struct dump_command *command, struct dump_options *options, char **operands, size_t count)
{
	const size_t first = command->operand != NULL;
	struct ptl_bytes script = {0};
	struct dump_cluster_work work = {
		.command = command->name,
		.operand = first ? operands[0] : NULL,
		.given = &options->given,
		.passed = &options->passed,
		.files = operands + first,
		.file_count = count - first,
		.jobs = options->cluster.jobs ? options->cluster.jobs : JOBS_DEFAULT,
		.each = command->adds_traces && count - first > 1 && !options->cluster.jobs,
		.folder = "ptl-jobs",
	};
	int status = 0;

	for (size_t i = first; !status && i < count; i++)
		if (strcmp(operands[i], "-") == 0)
			status = common_fail(PTL_MISUSE, "jobs do not go with a trace on standard input");
		else if (access(operands[i], R_OK) != 0)
			status = common_fail_errno("cannot open %s", operands[i]);
	if (!status && options->cluster.slurm)
		return dump_slurm_run(&work, &options->cluster.options);
	dump_cluster_script(&work, &script);
	if (!status && script.failed)
		status = common_fail_memory("a script", script.size);
	if (!status)
		status = common_write_all(STDOUT_FILENO, script.data, script.size);
	common_bytes_free(&script);
	return status < 0 ? common_message_failure(status) : COMMON_EXIT_OK;
}

/* Replaces options recorded in shards by the merge's own options. */
static void take_own(struct dump_options *options, const struct dump_options *own)
{
	options->quiet = own->quiet;
	options->ignore_index = own->ignore_index;
	options->code_store = own->code_store;
	options->max_expansion = own->max_expansion;
	options->output = own->output;
	options->force = own->force;
}

/* ---- the command line ---------------------------------------------------------------------------- */

/* own and merged: for a merge; else NULL. */
static int parse_and_run(const struct dump_command *command, struct dump_options *options, int argc, char **argv,
			 const struct dump_options *own, struct dump_partial_set *merged)
{
	struct recording recording = {command, options};
	struct dump_tables tables;
	const char *files = command->many ? "FILE..." : "FILE", *operand = command->operand;
	char program[64], usage[64];
	const struct common_command_line line = {
		.program = program,
		.usage = usage,
		.summary = command->details,
		.examples = command->examples,
		.tables = tables.tables,
		.taken = record_option,
		.context = &recording,
	};
	int first, status;

	dump_options_tables(command, &tables);
	snprintf(usage, sizeof(usage), "[options] %s%s%s", operand ? operand : "", operand ? " " : "", files);
	snprintf(program, sizeof(program), "ptl-dump %s", command->name);
	status = common_options_parse(&line, options, argc, argv, &first);
	if (status != 0)
		return status > 0 ? COMMON_EXIT_OK : common_exit_of(status);
	if (own)
		take_own(options, own);
	common_message_start("ptl-dump", options->quiet || options->partial);
	options->follow |= options->live;
	status = use_names(options);
	if (status < 0)
		return common_message_failure(status);
	if (check_partial(options, merged != NULL) < 0 || (command->check && command->check(options) < 0)) {
		common_message_error("%s", ptl_error_text());
		common_message_hint("%s --help", program);
		return COMMON_EXIT_USAGE;
	}
	if (needs_trace(command, options) && !has_operands(command, &line, argc, argv, first))
		return COMMON_EXIT_USAGE;
	if (options->live)
		return run_live(command, options, argv[first]);
	if (is_cluster(options))
		return run_cluster(command, options, argv + first, (size_t)(argc - first));
	return run_command(command, options, argv + first, (size_t)(argc - first), merged);
}

static int run_words(const struct dump_command *command, int argc, char **argv, const struct dump_options *own,
		     struct dump_partial_set *merged, struct dump_prepared *prepared)
{
	struct dump_options *options = calloc(1, command->options_size);
	int status;

	if (!options)
		return common_message_failure(common_fail_memory("options", command->options_size));
	options->prepared = prepared;
	status = parse_and_run(command, options, argc, argv, own, merged);
	if (command->free_options)
		command->free_options(options);
	analysis_filter_free(&options->filter);
	common_bytes_free(&options->given);
	common_string_list_free(&options->jit);
	elf_jit_names_free();
	dump_source_map_free();
	common_bytes_free(&options->passed);
	free(options);
	return status;
}

int dump_command_merge(const struct dump_command *command, int argc, char **argv, const struct dump_options *own,
		       struct dump_partial_set *merged)
{
	return run_words(command, argc, argv, own, merged, NULL);
}

int dump_command_prepared(const struct dump_command *command, int argc, char **argv, struct dump_prepared *prepared)
{
	return run_words(command, argc, argv, NULL, NULL, prepared);
}

int dump_command_main(const struct dump_command *command, int argc, char **argv)
{
	return command->whole ? command->whole(command, argc, argv)
			      : dump_command_merge(command, argc, argv, NULL, NULL);
}
