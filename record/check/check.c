/* SPDX-License-Identifier: BSD-2-Clause */
/* The command line of ptl-record check. */
#include "record/check/check.h"

#include <sys/stat.h>

#include "common/error.h"
#include "common/program/message.h"
#include "common/program/options.h"
#include "record/check/machine.h"

struct settings {
	const char *root;
	bool json;
};

static const struct common_option options[] = {
	{"json", 0, NULL, "JSON, an object an item", COMMON_FLAG(struct settings, json)},
	{"root", 0, "FOLDER",
	 "look at FOLDER/sys and FOLDER/proc, which another machine sent, instead of at this machine",
	 COMMON_PATH(struct settings, root)},
	{NULL, 0, NULL, NULL},
};

static const struct common_option *const tables[] = {options, NULL};

static const struct common_command_line command_line = {
	.program = "ptl-record check",
	.usage = "[options]",
	.summary =
		"Shows what this machine can record: Intel PT and its capabilities, what the kernel permits this "
		"user, and which sources work; for what is missing, what changes that. It changes nothing itself, but "
		"removes probes of recorders that were killed.",
	.examples = "  ptl-record check\n"
		    "  ptl-record check --json | jq -r 'select(.state == \"no\") | .try'\n"
		    "  ptl-record -- check        records the command that is called check\n",
	.tables = tables,
};

static int check_root(const char *root)
{
	struct stat info;

	if (stat(root, &info) < 0)
		return common_fail_errno("%s", root);
	return S_ISDIR(info.st_mode) ? 0 : common_fail(PTL_MISUSE, "%s is no folder", root);
}

static int print(struct check_list *list, bool json)
{
	if (list->failed)
		return common_message_failure(common_fail_memory("list", 0));
	if (json)
		check_list_print_json(list, stdout);
	else
		check_list_print(list, stdout);
	return fflush(stdout) ? COMMON_EXIT_SYSTEM : COMMON_EXIT_OK;
}

int record_check(int argc, char **argv, void (*add_sources)(struct check_list *list))
{
	struct settings settings = {.root = NULL};
	struct check_list list = {.root = ""};
	int first, status = common_options_parse(&command_line, &settings, argc, argv, &first);

	if (status)
		return status > 0 ? COMMON_EXIT_OK : common_exit_of(status);
	if (first < argc) {
		common_message_error("check looks at the machine, and runs nothing: unexpected \"%s\"", argv[first]);
		common_message_hint("ptl-record -- check, to record a command that is called check");
		return COMMON_EXIT_USAGE;
	}
	status = settings.root ? check_root(settings.root) : 0;
	if (status < 0)
		return common_message_failure(status);
	if (settings.root)
		list.root = settings.root;
	check_processor(&list);
	check_permissions(&list);
	/* Only this machine can tell whether a source works. */
	if (!settings.root)
		add_sources(&list);
	status = print(&list, settings.json);
	check_list_free(&list);
	return status;
}
