/* SPDX-License-Identifier: BSD-2-Clause */
/* Starts gdb, which connects to a socket in the temporary folder. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/error.h"
#include "common/signals.h"
#include "common/text/text.h"
#include "dump/gdb/connection.h"
#include "dump/run/source_map.h"
#include "elf/debug_search.h"

#define WAIT_MILLISECONDS 100 /* between two looks whether gdb has ended */

/* gdb's command line. */
struct words {
	struct common_arena texts;
	struct common_string_list list;
	int status;
};

static void words_add(struct words *words, const char *option, const char *command)
{
	if (words->status == 0)
		words->status = common_string_list_add(&words->list, option);
	if (words->status == 0 && command)
		words->status = common_string_list_add(&words->list, command);
}

/* The command with the folder behind the words. */
static void words_add_folder(struct words *words, const char *option, const char *command, const char *folder,
			     const char *more)
{
	struct ptl_bytes text = {0};
	const char *copy;

	common_text_add(&text, command);
	common_text_add(&text, folder);
	common_text_add(&text, more);
	copy = text.failed ? NULL : common_arena_copy(&words->texts, text.data, text.size);
	if (copy)
		words_add(words, option, copy);
	else if (words->status == 0)
		words->status = common_fail_memory("a command line", text.size);
	common_bytes_free(&text);
}

/*
 * gdb has to forget what a window showed before the window moves: the place in the trace, registers and blocks. The new
 * commands do all of this. begin_recording: gdb 13 records nothing of a thread of a later window, and gdb 16 ends with an
 * internal error, unless gdb itself started the recording. enter_history goes to the last instruction of the history, where
 * gdb knows the callers.
 */
static const char definitions[] =
	"python\n"
	"import gdb\n"
	"def begin_recording():\n"
	"    try:\n"
	"        gdb.execute('record stop', to_string=True)\n"
	"        gdb.execute('record btrace', to_string=True)\n"
	"    except gdb.error as error:\n"
	"        print(error)\n"
	"def enter_history():\n"
	"    try:\n"
	"        gdb.execute('reverse-stepi', to_string=True)\n"
	"        gdb.execute('frame')\n"
	"    except gdb.error as error:\n"
	"        print(error)\n"
	"class Move(gdb.Command):\n"
	"    def __init__(self, name):\n"
	"        self.name = name\n"
	"        self.__doc__ = 'Moves the window: monitor ' + name + '.'\n"
	"        super().__init__('ptl-' + name, gdb.COMMAND_RUNNING)\n"
	"    def invoke(self, words, from_tty):\n"
	"        try:\n"
	"            gdb.execute('record goto end', to_string=True)\n"
	"        except gdb.error:\n"
	"            pass\n"
	"        gdb.execute('monitor ' + self.name + ' ' + words)\n"
	"        gdb.execute('maintenance flush register-cache', to_string=True)\n"
	"        gdb.execute('info threads', to_string=True)\n"
	"        try:\n"
	"            exited = gdb.selected_thread().is_exited()\n"
	"        except Exception:\n"
	"            exited = True\n"
	"        threads = [one for one in gdb.selected_inferior().threads() if exited and not one.is_exited()]\n"
	"        if threads:\n"
	"            min(threads, key=lambda one: one.num).switch()\n"
	"        begin_recording()\n"
	"        enter_history()\n"
	"class Where(gdb.Command):\n"
	"    'Shows time and events at the place in the trace: monitor where.'\n"
	"    def __init__(self):\n"
	"        super().__init__('ptl-where', gdb.COMMAND_STATUS)\n"
	"    def invoke(self, words, from_tty):\n"
	"        record = gdb.current_recording()\n"
	"        at = record.replay_position if record else None\n"
	"        where = f' {gdb.selected_thread().ptid[1]} {at.number}' if at else ''\n"
	"        gdb.execute('monitor where' + where)\n"
	"for name in ('goto', 'from', 'earlier', 'later', 'event'):\n"
	"    Move(name)\n"
	"Where()\n"
	"end\n";

static int write_definitions(const char *path)
{
	FILE *file = fopen(path, "we");
	bool good = file && fputs(definitions, file) >= 0;

	good = file && fclose(file) == 0 && good;
	return good ? 0 : common_fail_errno("cannot write %s", path);
}

/* The folder of links to debug files, and the folders in which this program looks for debug files. */
static void words_add_debug_folders(struct words *words, const char *links)
{
	struct ptl_bytes folders = {0};
	const char *folder;
	int size;

	common_text_add(&folders, "/debug");
	for (size_t i = 0; (folder = elf_debug_folder(i, &size)) != NULL; i++) {
		common_text_add(&folders, ":");
		common_write_bytes(&folders, folder, (size_t)size);
	}
	words_add_folder(words, "-iex", "set debug-file-directory ", links, common_text_string(&folders));
	common_bytes_free(&folders);
}

/* gdb looks for a file first at its own path, then at FOLDER/source/PATH, then beside its compilation folder. */
static void words_add_sources(struct words *words, const struct dump_gdb_files *files)
{
	const char *from, *to;
	size_t size;

	for (size_t i = 0; (to = dump_source_map_rule(i, &from, &size)) != NULL; i++) {
		struct ptl_bytes rule = {0};

		common_text_format(&rule, "set substitute-path \"%.*s\" \"", (int)size, from);
		words_add_folder(words, "-iex", common_text_string(&rule), to, "\"");
		common_bytes_free(&rule);
	}
	if (files->sources)
		words_add_folder(words, "-iex", "set directories \"", files->folder, "/source\":$cdir:$cwd");
}

static int words_make(struct words *words, const struct dump_gdb_files *files, const struct dump_gdb_start *start)
{
	struct ptl_bytes path = {0};
	int status;

	words_add(words, start->program ? start->program : "gdb", "-q");
	if (start->batch)
		words_add(words, "-batch", NULL);
	/* A debug file in the trace may have scripts for gdb: commands of a stranger. */
	words_add(words, "-iex", "set auto-load no");
	words_add_folder(words, "-iex", "set sysroot ", files->folder, "/root");
	words_add_debug_folders(words, files->folder);
	words_add_sources(words, files);
	words_add(words, "-iex", "set record btrace replay-memory-access read-write");
	common_text_add(&path, files->folder);
	common_text_add(&path, "/commands.gdb");
	status = write_definitions(common_text_string(&path));
	words_add_folder(words, "-ex", "source ", files->folder, "/commands.gdb");
	words_add_folder(words, "-ex", "target remote ", files->folder, "/socket");
	words_add(words, "-ex", "monitor where");
	words_add(words, "-ex", "python begin_recording(); enter_history()");
	for (size_t i = 0; i < start->commands->count; i++)
		words_add(words, "-ex", start->commands->list[i]);
	common_bytes_free(&path);
	if (words->status == 0)
		words->status = common_string_list_add(&words->list, NULL);
	return words->status ? words->status : status;
}

static int socket_make(const char *folder, int *listener)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const int size = snprintf(address.sun_path, sizeof(address.sun_path), "%s/socket", folder);

	if (size < 0 || (size_t)size >= sizeof(address.sun_path))
		return common_fail(PTL_SYSTEM, "the name of the temporary folder is too long for a socket: %s", folder);
	*listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (*listener < 0 || bind(*listener, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(*listener, 1) < 0)
		return common_fail_errno("cannot make a socket in %s", folder);
	return 0;
}

static int process_start(char *const *words, pid_t *pid)
{
	posix_spawnattr_t attributes;
	sigset_t signals;
	int error;

	/* Signals that this program ignores keep their meaning for gdb. */
	sigemptyset(&signals);
	sigaddset(&signals, SIGPIPE);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGQUIT);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigdefault(&attributes, &signals);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
	error = posix_spawnp(pid, words[0], NULL, &attributes, words, environ);
	posix_spawnattr_destroy(&attributes);
	errno = error;
	return error ? common_fail_errno("cannot start %s", words[0]) : 0;
}

/* Serves gdb's connections until gdb ends. */
static int serve_until_end(struct dump_gdb_process *process, int listener, pid_t pid, int *ended)
{
	int status = 0;
	pid_t gone;

	while ((gone = waitpid(pid, ended, WNOHANG)) == 0 || (gone < 0 && errno == EINTR)) {
		struct pollfd wanted = {.fd = listener, .events = POLLIN};
		int fd;

		if (poll(&wanted, 1, WAIT_MILLISECONDS) <= 0)
			continue;
		fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		if (fd < 0)
			continue;
		status = dump_gdb_serve(process, fd, fd);
		close(fd);
		if (status == PTL_NO_MEMORY)
			kill(pid, SIGTERM);
	}
	return status == PTL_NO_MEMORY ? status : 0;
}

int dump_gdb_start(struct dump_gdb_process *process, const struct dump_gdb_files *files,
		   const struct dump_gdb_start *start, int *exit_status)
{
	struct words words = {0};
	int listener = -1, ended = 0;
	int status = words_make(&words, files, start);
	pid_t pid;

	if (status == 0)
		status = socket_make(files->folder, &listener);
	/* The user's Ctrl-C is for gdb. */
	common_signal_ignore(SIGINT, NULL);
	common_signal_ignore(SIGQUIT, NULL);
	if (status == 0)
		status = process_start((char *const *)words.list.list, &pid);
	if (status == 0)
		status = serve_until_end(process, listener, pid, &ended);
	*exit_status = WIFEXITED(ended) ? WEXITSTATUS(ended) : 1;
	if (listener >= 0)
		close(listener);
	common_string_list_free(&words.list);
	common_arena_free(&words.texts);
	return status;
}
