/* SPDX-License-Identifier: BSD-2-Clause */
/* ptl-dump open: an HTML page that shows a trace, opened in the user's browser. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/error.h"
#include "common/program/message.h"
#include "dump/command/commands.h"
#include "dump/export/html/html.h"
#include "dump/run/output.h"

struct open_options {
	struct dump_options shared; /* must come first: see dump/run/command.h */
	struct dump_html_limits limits;
};

static const struct common_option own_options[] = {
	DUMP_HTML_OPTIONS(struct open_options),
	{NULL},
};

/* ---- the page ------------------------------------------------------------------------------------ */

/* Creates an empty file with a unique name: "/tmp/ptl-Xk3hQ2.html". The caller frees the name. */
static int make_file(char **path)
{
	const char *folder = getenv("TMPDIR");
	int fd;

	if (asprintf(path, "%s/ptl-XXXXXX.html", folder && *folder ? folder : "/tmp") < 0) {
		*path = NULL;
		return common_fail_memory("a path", 0);
	}
	fd = mkostemps(*path, (int)strlen(".html"), O_CLOEXEC);
	if (fd < 0)
		return common_fail_errno("cannot make %s", *path);
	close(fd);
	return 0;
}

/* Writes the page, like ptl-dump html -o. */
static int write_page(struct dump_run *run, const char *path)
{
	struct dump_options options = *run->options;
	struct dump_run page = *run;
	struct dump_output output;
	int status, closed;

	options.output = path;
	options.force = true;
	page.options = &options;
	status = dump_output_open(&page, &output);
	if (status == 0)
		status = dump_html(&page, &((const struct open_options *)run->options)->limits);
	if (status >= 0 && dump_output_flush(&page) < 0)
		status = PTL_SYSTEM;
	closed = dump_output_close(&page, status >= 0);
	return status < 0 || closed == 0 ? status : closed;
}

/* ---- the browser --------------------------------------------------------------------------------- */

/* Runs a program. Returns 0; a positive number if the program failed; -1 if no such program exists. */
static int start_browser(const char *program, const char *path)
{
	char *const words[] = {(char *)program, (char *)path, NULL};
	posix_spawnattr_t attributes;
	sigset_t signals;
	pid_t pid;
	int status = 0, error;

	/* The program must not inherit the ignored SIGPIPE. */
	sigemptyset(&signals);
	sigaddset(&signals, SIGPIPE);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigdefault(&attributes, &signals);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
	error = posix_spawnp(&pid, program, NULL, &attributes, words, environ);
	posix_spawnattr_destroy(&attributes);
	if (error)
		return -1;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return 1;
	return status ? 1 : 0;
}

/* Tries the browsers in $BROWSER, separated by colons; else the desktop's browser. */
static int show_in_browser(const char *path)
{
	static const char *const openers[] = {"xdg-open", "sensible-browser"};
	const char *browser = getenv("BROWSER");
	char *list = strdup(browser ? browser : ""), *rest = list;
	int result = -1;

	if (!list)
		return common_fail_memory("a list of browsers", 0);
	for (char *name = strsep(&rest, ":"); result && name; name = strsep(&rest, ":"))
		if (*name)
			result = start_browser(name, path);
	free(list);
	for (size_t i = 0; result < 0 && i < sizeof(openers) / sizeof(openers[0]); i++)
		result = start_browser(openers[i], path);
	if (result == 0)
		return 0;
	return common_fail(PTL_SYSTEM, "%s; the page is %s: open it in a browser, here or on another machine",
			   result < 0 ? "no browser was found: neither $BROWSER nor xdg-open is there"
				      : "the browser did not start",
			   path);
}

static int open_run(struct dump_run *run)
{
	char *path = NULL;
	int status = make_file(&path), shown;

	if (status == 0) {
		status = write_page(run, path);
		if (status < 0)
			unlink(path);
	}
	if (status >= 0 && run->options->json) {
		common_json_object(&run->json_out, NULL);
		common_json_string(&run->json_out, "page", path);
		common_json_object_end(&run->json_out);
		common_json_line(&run->json_out);
	} else if (status >= 0) {
		fprintf(run->out, "%s\n", path);
	}
	if (status >= 0) {
		dump_output_flush(run);
		shown = show_in_browser(path);
		status = shown < 0 ? shown : status;
	}
	free(path);
	return status;
}

static const char examples[] = "ptl-dump open a.ptl\n"
			       "ptl-dump open old.ptl new.ptl              with what differs\n"
			       "BROWSER=firefox ptl-dump open --process gcc build.ptl";

const struct dump_command dump_command_open = {
	.name = "open",
	.many = true,
	.summary = "the page of html, opened in a browser",
	.details = "Writes the page of ptl-dump html to a temporary file, whose name it prints, and opens it with "
		   "$BROWSER or xdg-open. The file stays until it is removed.",
	.examples = examples,
	.takes = DUMP_EXPORT_TAKES & ~DUMP_TAKES_OUTPUT,
	.options = own_options,
	.options_size = sizeof(struct open_options),
	.run = open_run,
};
