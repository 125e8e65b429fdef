/* SPDX-License-Identifier: BSD-2-Clause */
/* The commands that send requests to a session. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ptl/relogger.h>

#include "common/bytes.h"
#include "common/error.h"
#include "common/program/message.h"
#include "common/program/options.h"
#include "common/session/series.h"
#include "common/session/session_ask.h"
#include "common/session/session_folder.h"
#include "common/session/session_say.h"
#include "common/text/json.h"
#include "common/text/text.h"
#include "record/control/control.h"
#include "record/control/ended.h"
#include "record/control/request.h"
#include "record/kernel_event/flags.h"

#define LIST_WAIT 2000 /* milliseconds */

struct settings {
	bool json;
	bool force;
	const char *file; /* FILE operand behind the NAME; NULL without */
	struct common_string_list on, off;
	struct common_string_list events_on, events_off; /* kernel events */
	struct common_string_list flags_on, flags_off;
	struct common_string_list stacks_on, stacks_off;
	struct common_string_list only;
};

struct command {
	const char *name;
	const char *usage;
	const char *summary;
	const char *examples;
	const struct common_option *options;
	int (*run)(const struct settings *settings, int folder, const char *name);
	bool all;  /* concerns all sessions, without a NAME */
	bool file; /* accepts a FILE behind the NAME */
};

/* ---- requests -------------------------------------------------------------------------------- */

static int wait_for_session(void *context, const char *name, uint64_t waited)
{
	(void)context;
	common_session_say_waiting(name, waited);
	return 0;
}

static const struct common_session_wait patient = {.wait = wait_for_session};

/* Gives up on a silent session, so that the list goes on with other sessions. */
static int give_up(void *context, const char *name, uint64_t waited)
{
	bool *silent = context;

	*silent = waited >= LIST_WAIT;
	return *silent ? common_fail(PTL_SYSTEM, "session %s does not answer", name) : 0;
}

/* Starts a request. The caller may append arguments. */
static struct ptl_bytes new_request(const char *word)
{
	struct ptl_bytes request = {0};

	common_write_bytes(&request, word, strlen(word) + 1);
	return request;
}

/* Sends the request, and writes the answer to `file`. */
static int ask_and_show(int folder, const char *name, struct ptl_bytes *request, FILE *file)
{
	const char *text;
	char *memory;
	size_t size;
	const int status = common_session_ask(folder, name, &patient, request, &memory, &text, &size);

	if (status < 0)
		return status;
	fwrite(text, 1, size, file);
	free(memory);
	return 0;
}

/* ---- commands -------------------------------------------------------------------------------- */

/* Reads the record of an ended session. *killed: set if the session did not end regularly. */
static bool read_ended(int folder, const char *name, struct record_ended *ended, char memory[RECORD_ENDED_MAX],
		       bool *killed)
{
	if (record_ended_read(folder, name, ended, memory) < 0)
		return false;
	*killed = !*ended->why;
	if (*killed)
		record_ended_killed(ended);
	return true;
}

/* Fails with PTL_NOT_FOUND and a text that tells when and why the session ended, and the paths of its files. */
static int fail_ended(const char *name, const struct record_ended *ended)
{
	struct ptl_bytes when = {0}, files = {0};
	int status;

	common_text_wall_time(&when, ended->time);
	status = record_ended_describe(ended, &files);
	if (!status)
		status = common_fail(PTL_NOT_FOUND, "session %s ended %s: %s; %s", name, common_text_string(&when),
				     ended->why, common_text_string(&files));
	common_bytes_free(&when);
	common_bytes_free(&files);
	return status;
}

static int run_query(const struct settings *settings, int folder, const char *name)
{
	struct ptl_bytes request = new_request("query");

	if (settings->json)
		common_write_bytes(&request, "json", 5);
	return ask_and_show(folder, name, &request, stdout);
}

struct listing {
	const struct settings *settings;
	int folder;
	bool headed;
};

static void show_head(struct listing *listing)
{
	if (!listing->headed && !listing->settings->json)
		printf("%-20s %8s %14s %12s  %s\n", "NAME", "PID", "EVENTS", "BYTES", "FILE");
	listing->headed = true;
}

static void list_silent(struct listing *listing, const char *name)
{
	static const char reason[] = "does not answer: its recorder is stopped, or busy";
	struct common_json json;

	show_head(listing);
	if (!listing->settings->json) {
		printf("%-20s %s\n", name, reason);
		return;
	}
	common_json_start(&json, stdout);
	common_json_object(&json, NULL);
	common_json_string(&json, "name", name);
	common_json_string(&json, "silent", reason);
	common_json_object_end(&json);
	common_json_line(&json);
}

static int list_session(void *context, const char *name)
{
	struct listing *listing = context;
	struct ptl_bytes request = new_request(listing->settings->json ? "query" : "list");
	bool silent = false;
	const struct common_session_wait wait = {give_up, &silent};
	unsigned long long events, bytes;
	const char *text;
	char *memory;
	size_t size;
	int status, pid, at = 0;

	if (listing->settings->json)
		common_write_bytes(&request, "json", sizeof("json"));
	status = common_session_ask(listing->folder, name, &wait, &request, &memory, &text, &size);
	if (silent)
		list_silent(listing, name);
	/* The session may have ended meanwhile. */
	if (status < 0)
		return status == PTL_NO_MEMORY ? status : 0;
	show_head(listing);
	if (listing->settings->json)
		fwrite(text, 1, size, stdout);
	else if (sscanf(text, "%d\t%llu\t%llu\t%n", &pid, &events, &bytes, &at) == 3 && at)
		printf("%-20s %8d %14llu %12llu  %s\n", name, pid, events, bytes, text + at);
	free(memory);
	return 0;
}

static void show_files_json(struct common_json *json, const struct record_ended *ended)
{
	uint64_t *numbers;
	size_t count;

	(void)record_ended_files(ended, &numbers, &count);
	common_json_array(json, "files");
	for (size_t i = 0; i < count; i++) {
		char *path = common_series_path(ended->stem, numbers[i], ended->suffix);

		if (path)
			common_json_string(json, NULL, path);
		free(path);
	}
	common_json_array_end(json);
	free(numbers);
}

static void show_ended_json(const char *name, const struct record_ended *ended, const char *when)
{
	struct common_json json;

	common_json_start(&json, stdout);
	common_json_object(&json, NULL);
	common_json_string(&json, "name", name);
	common_json_string(&json, "ended", when);
	common_json_string(&json, "why", ended->why);
	common_json_string(&json, "file", ended->file);
	if (*ended->stem)
		show_files_json(&json, ended);
	common_json_string(&json, "messages", ended->messages);
	common_json_object_end(&json);
	common_json_line(&json);
}

static void list_ended_line(const char *name, const struct record_ended *ended, const char *when)
{
	struct ptl_bytes files = {0};

	if (*ended->stem)
		(void)record_ended_describe(ended, &files);
	printf("%-20s ended %s: %s  %s\n", name, when, ended->why,
	       files.size ? common_text_string(&files) : ended->file);
	common_bytes_free(&files);
}

static int list_ended(void *context, const char *name)
{
	struct listing *listing = context;
	struct ptl_bytes when = {0};
	char memory[RECORD_ENDED_MAX];
	struct record_ended ended;
	bool killed;

	/* The session may run, may have restarted, or another command may have read the record. */
	if (common_session_is_there(listing->folder, name) ||
	    !read_ended(listing->folder, name, &ended, memory, &killed))
		return 0;
	common_text_wall_time(&when, ended.time);
	show_head(listing);
	if (listing->settings->json)
		show_ended_json(name, &ended, common_text_string(&when));
	else
		list_ended_line(name, &ended, common_text_string(&when));
	common_bytes_free(&when);
	return 0;
}

static void note_none(const struct settings *settings)
{
	if (!settings->json)
		common_message_note("no session of yours records; 'ptl-record start NAME' begins one");
}

static int run_list(const struct settings *settings, int folder, const char *name)
{
	struct listing listing = {.settings = settings, .folder = folder};
	int status;

	(void)name;
	status = common_session_list(folder, list_session, &listing);
	if (!status)
		status = record_ended_list(folder, list_ended, &listing);
	if (!status && !listing.headed)
		note_none(settings);
	return status;
}

static bool has_updates(const struct settings *settings)
{
	return settings->on.count || settings->off.count || settings->events_on.count || settings->events_off.count ||
	       settings->flags_on.count || settings->flags_off.count || settings->stacks_on.count ||
	       settings->stacks_off.count || settings->only.count;
}

static void add_rules(struct ptl_bytes *request, const struct common_string_list *rules, char sign, char kind)
{
	for (size_t i = 0; i < rules->count; i++) {
		common_write_bytes(request, &sign, 1);
		common_write_bytes(request, &kind, 1);
		common_write_bytes(request, rules->list[i], strlen(rules->list[i]) + 1);
	}
}

static int run_update(const struct settings *settings, int folder, const char *name)
{
	struct ptl_bytes request = new_request("update");

	if (!has_updates(settings)) {
		common_bytes_free(&request);
		return common_fail(PTL_MISUSE, "nothing to update: --provider, --event, --flags and --stack turn on, "
					       "--disable, --disable-event, --disable-flags and --disable-stack off, "
					       "--only says which events");
	}
	add_rules(&request, &settings->off, RECORD_CONTROL_OFF, RECORD_CONTROL_PROVIDER);
	add_rules(&request, &settings->on, RECORD_CONTROL_ON, RECORD_CONTROL_PROVIDER);
	add_rules(&request, &settings->events_off, RECORD_CONTROL_OFF, RECORD_CONTROL_EVENT);
	add_rules(&request, &settings->events_on, RECORD_CONTROL_ON, RECORD_CONTROL_EVENT);
	/* Turns flags on before flags off: an event of both stays on without a break. */
	add_rules(&request, &settings->flags_on, RECORD_CONTROL_ON, RECORD_CONTROL_FLAGS);
	add_rules(&request, &settings->flags_off, RECORD_CONTROL_OFF, RECORD_CONTROL_FLAGS);
	add_rules(&request, &settings->stacks_off, RECORD_CONTROL_OFF, RECORD_CONTROL_STACK);
	add_rules(&request, &settings->stacks_on, RECORD_CONTROL_ON, RECORD_CONTROL_STACK);
	add_rules(&request, &settings->only, RECORD_CONTROL_ON, RECORD_CONTROL_ONLY);
	return ask_and_show(folder, name, &request, stderr);
}

static int run_flush(const struct settings *settings, int folder, const char *name)
{
	struct ptl_bytes request = new_request("flush");

	(void)settings;
	return ask_and_show(folder, name, &request, stderr);
}

/* Merges the files into one complete trace. Skips removed files, which were the session's oldest. */
static int write_copy(const struct settings *settings, const char *paths, size_t size)
{
	struct ptl_relogger *relogger;
	size_t count = 0;
	int status = ptl_relogger_new(NULL, &relogger);

	for (const char *path = paths; status == 0 && path < paths + size; path += strlen(path) + 1) {
		if (access(path, F_OK) < 0 && errno == ENOENT)
			continue;
		status = ptl_relogger_add_file(relogger, path, NULL, NULL);
		count++;
	}
	if (status == 0 && !count)
		status = common_fail(PTL_NOT_FOUND, "the session has no file any more");
	if (status == 0)
		status = ptl_relogger_output(relogger, settings->file, settings->force);
	if (status == 0)
		status = ptl_relogger_process(relogger);
	ptl_relogger_free(relogger);
	return status;
}

static int run_snapshot(const struct settings *settings, int folder, const char *name)
{
	struct ptl_bytes request = new_request("snapshot");
	const char *paths;
	char *memory;
	size_t size;
	int status;

	if (settings->file)
		common_write_bytes(&request, RECORD_CONTROL_ANY, sizeof(RECORD_CONTROL_ANY));
	status = ask_and_show(folder, name, &request, stderr);
	if (status < 0 || !settings->file)
		return status;
	request = new_request("files");
	status = common_session_ask(folder, name, &patient, &request, &memory, &paths, &size);
	if (status < 0)
		return status;
	status = write_copy(settings, paths, size);
	free(memory);
	return status;
}

static int run_stop(const struct settings *settings, int folder, const char *name)
{
	struct ptl_bytes request = new_request("stop");
	char memory[RECORD_ENDED_MAX];
	struct record_ended ended;
	bool killed;
	int status;

	(void)settings;
	status = ask_and_show(folder, name, &request, stderr);
	if (status != PTL_NOT_FOUND || !read_ended(folder, name, &ended, memory, &killed))
		return status;
	/* Messages of the recorder at the end of the session, which no user has seen yet. */
	fail_ended(name, &ended);
	record_ended_forget(folder, name);
	/* A killed session did not complete its files. */
	if (killed)
		return PTL_SYSTEM;
	common_message_note("%s", ptl_error_text());
	fputs(ended.messages, stderr);
	return 0;
}

/* ---- command lines --------------------------------------------------------------------------- */

static const struct common_option json_options[] = {
	{"json", 0, NULL, "JSON, an object a session", COMMON_FLAG(struct settings, json)},
	{NULL, 0, NULL, NULL},
};

/* Refuses wrong flags before any request. */
static int take_flags(void *list, const char *argument)
{
	uint32_t flags = 0;
	const int status = record_flags_parse(argument, &flags);

	return status < 0 ? status : common_string_list_add(list, argument);
}

static const struct common_option update_options[] = {
	{"provider", 'p', "NAME|GUID[:LEVEL[:KEYWORDS]]",
	 "turn a provider on, or change its level and keywords; several times",
	 COMMON_STRINGS(struct settings, on, UINT64_MAX)},
	{"disable", 0, "NAME|GUID", "turn a provider off, as it was turned on; several times",
	 COMMON_STRINGS(struct settings, off, UINT64_MAX)},
	{"event", 'e', "SYSTEM:EVENT", "turn an event of the kernel on, or change its filter; several times",
	 COMMON_STRINGS(struct settings, events_on, UINT64_MAX)},
	{"flags", 0, "FLAG,...", "turn events of the kernel on by flags: ptl-record --list-flags",
	 COMMON_CALLBACK(struct settings, flags_on, take_flags)},
	{"disable-event", 0, "SYSTEM:EVENT", "turn an event of the kernel off; several times",
	 COMMON_STRINGS(struct settings, events_off, UINT64_MAX)},
	{"stack", 0, "EVENT",
	 "events of the kernel whose names match this pattern have stacks from now on; several times",
	 COMMON_STRINGS(struct settings, stacks_on, UINT64_MAX)},
	{"disable-stack", 0, "EVENT", "no stacks any more by this pattern, as it was given; several times",
	 COMMON_STRINGS(struct settings, stacks_off, UINT64_MAX)},
	{"only", 0, "TERM",
	 "record those events alone: pid=PID,..., program=PATTERN,..., id=ID,..., keywords=BITS, where=EXPRESSION, "
	 "or PROVIDER:TERM, in place of such a term; without a value: all again; several times",
	 COMMON_STRINGS(struct settings, only, UINT64_MAX)},
	{"disable-flags", 0, "FLAG,...", "turn events of the kernel off by flags",
	 COMMON_CALLBACK(struct settings, flags_off, take_flags)},
	{NULL, 0, NULL, NULL},
};

static const struct common_option snapshot_options[] = {
	{"force", 'f', NULL, "replace FILE if it exists", COMMON_FLAG(struct settings, force)},
	{NULL, 0, NULL, NULL},
};

static const struct common_option no_options[] = {{NULL, 0, NULL, NULL}};

static const struct command commands[] = {
	{"list", "[options]", "Shows the sessions of this user: those that record, and those that ended by themselves.",
	 "  ptl-record list\n", json_options, run_list, true},
	{"query", "[options] NAME", "Shows what a session records, and what it has written and lost.",
	 "  ptl-record query web --json\n", json_options, run_query, false},
	{"update", "[options] NAME", "Turns providers and events of the kernel on and off while a session records.",
	 "  ptl-record update web -p 'MyCompany-Server:verbose' --disable 'MyCompany-Cache'\n"
	 "  ptl-record update kernel --flags cswitch --disable-flags syscall\n",
	 update_options, run_update, false},
	{"flush", "NAME", "Writes what a session has not written yet to its file.", "  ptl-record flush web\n",
	 no_options, run_flush, false},
	{"snapshot", "[options] NAME [FILE]",
	 "Keeps what a session has in memory that is written over and over; with FILE, writes all that it has recorded "
	 "so far there, as a trace of its own, while it goes on.",
	 "  ptl-record snapshot crash\n  ptl-record snapshot web now.ptl\n", snapshot_options, run_snapshot, false,
	 true},
	{"stop", "NAME", "Ends a session, and returns when its file is complete.", "  ptl-record stop web\n",
	 no_options, run_stop, false},
};

static const struct command *find_command(const char *word)
{
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (!strcmp(commands[i].name, word))
			return &commands[i];
	return NULL;
}

void record_control_near(struct common_nearest *nearest)
{
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		common_nearest_look(nearest, commands[i].name);
}

bool record_control_is_command(const char *word)
{
	return find_command(word) != NULL;
}

static int run_command(const struct command *command, const struct settings *settings, const char *operand)
{
	char memory[RECORD_ENDED_MAX];
	struct record_ended ended;
	bool killed;
	const char *name = NULL;
	int folder, status = command->all ? 0 : common_session_name(operand, &name);

	if (status == 0)
		status = common_session_folder(false, &folder);
	if (status == PTL_NOT_FOUND && command->all) {
		note_none(settings);
		return 0;
	}
	if (status == PTL_NOT_FOUND)
		status = common_fail(PTL_NOT_FOUND, "there is no session %s", name);
	if (status < 0)
		return status;
	status = command->run(settings, folder, name);
	if (status == PTL_NOT_FOUND && name && read_ended(folder, name, &ended, memory, &killed))
		status = fail_ended(name, &ended);
	close(folder);
	return status;
}

static int check_operands(const struct command *command, int argc, char **argv, int first)
{
	const int wanted = command->all ? 0 : 1;

	if (first + wanted == argc || (command->file && first + wanted + 1 == argc))
		return 0;
	if (first + wanted > argc)
		common_message_error("which session? a NAME is missing");
	else
		common_message_error("unexpected \"%s\"", argv[first + wanted + command->file]);
	common_message_hint("ptl-record %s --help", command->name);
	return COMMON_EXIT_USAGE;
}

static int conclude(int status)
{
	if (status == PTL_NOT_FOUND) {
		common_message_error("%s", ptl_error_text());
		common_message_hint("ptl-record list");
		return COMMON_EXIT_SYSTEM;
	}
	if (status < 0)
		return common_message_failure(status);
	return fflush(stdout) ? COMMON_EXIT_SYSTEM : COMMON_EXIT_OK;
}

int record_control_command(int argc, char **argv)
{
	const struct command *command = find_command(argv[0]);
	const struct common_option *const tables[] = {command->options, NULL};
	char program[64];
	const struct common_command_line line = {
		.program = program,
		.usage = command->usage,
		.summary = command->summary,
		.examples = command->examples,
		.tables = tables,
	};
	struct settings settings = {.json = false};
	int first, status;

	snprintf(program, sizeof(program), "ptl-record %s", command->name);
	status = common_options_parse(&line, &settings, argc, argv, &first);
	if (status)
		return status > 0 ? COMMON_EXIT_OK : common_exit_of(status);
	status = check_operands(command, argc, argv, first);
	if (status == 0 && command->file)
		settings.file = argv[first + 1];
	if (status == 0)
		status = conclude(run_command(command, &settings, argv[first]));
	common_string_list_free(&settings.on);
	common_string_list_free(&settings.off);
	common_string_list_free(&settings.events_on);
	common_string_list_free(&settings.events_off);
	common_string_list_free(&settings.flags_on);
	common_string_list_free(&settings.flags_off);
	common_string_list_free(&settings.stacks_on);
	common_string_list_free(&settings.stacks_off);
	common_string_list_free(&settings.only);
	return status;
}
