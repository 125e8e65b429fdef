/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * All ways to start a program: vfork and exec, posix_spawn, system, an exec that fails first, a chain of execs
 * in one process, `#!` scripts (with an argument for the interpreter, and with a script as interpreter),
 * fexecve, and exec from a thread other than the first while other threads run. With arguments, it plays the
 * started program: `processes step N` executes itself N times more, `processes report ...` prints its
 * arguments.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static char self[4096];
static char folder[] = "/tmp/ptl-processes-XXXXXX";

static int wait_for(pid_t pid)
{
	int status;

	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void by_vfork(void)
{
	pid_t pid = vfork();

	if (pid == 0) {
		execl(self, self, "report", "by vfork", NULL);
		_exit(127);
	}
	CHECK(wait_for(pid) == 0);
	pid = vfork();
	if (pid == 0)
		_exit(5); /* ends without exec */
	CHECK(wait_for(pid) == 5);
}

static void by_spawn(void)
{
	char *arguments[] = {self, (char *)"step", (char *)"3", NULL};
	char *environment[] = {NULL};
	pid_t pid;

	CHECK(posix_spawn(&pid, self, NULL, NULL, arguments, environment) == 0);
	CHECK(wait_for(pid) == 0);
}

static void by_system(void)
{
	char command[4200];

	snprintf(command, sizeof(command), "'%s' report by system | cat; exit 4", self);
	fflush(stdout);
	CHECK(WEXITSTATUS(system(command)) == 4);
}

static void fails_first(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		execl("/nonexistent/program", "program", NULL);
		if (errno != ENOENT)
			_exit(1);
		execl("/dev/null", "null", NULL);
		if (errno != EACCES)
			_exit(2);
		execl(self, self, "report", "after failures", NULL);
		_exit(127);
	}
	CHECK(wait_for(pid) == 0);
}

static void by_descriptor(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		char *arguments[] = {self, (char *)"report", (char *)"by descriptor", NULL};
		char *environment[] = {NULL};

		fexecve(open(self, O_RDONLY | O_CLOEXEC), arguments, environment);
		_exit(127);
	}
	CHECK(wait_for(pid) == 0);
}

static void write_script(const char *name, const char *text)
{
	FILE *file;
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "w");
	CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
	CHECK(chmod(path, 0755) == 0);
}

static int run_script(const char *name)
{
	char path[4096];
	pid_t pid;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	pid = fork();
	if (pid == 0) {
		execl(path, name, "an argument", NULL);
		_exit(127);
	}
	return wait_for(pid);
}

static void by_scripts(void)
{
	char text[8300];

	CHECK(mkdtemp(folder));
	write_script("plain", "#!/bin/sh\necho \"plain ${1##*/}\"\nexit 3\n");
	CHECK(run_script("plain") == 3);
	write_script("argument", "#! /bin/sh -e\nfalse\nexit 0\n");
	CHECK(run_script("argument") == 1);
	/* A script's first line has no room for a long path or a path with blanks. */
	snprintf(text, sizeof(text), "%s/program", folder);
	CHECK(symlink(self, text) == 0);
	snprintf(text, sizeof(text), "#!%s/program report from script\n", folder);
	write_script("self", text);
	CHECK(run_script("self") == 0);
	snprintf(text, sizeof(text), "#!%s/plain\n", folder);
	write_script("script-of-script", text);
	CHECK(run_script("script-of-script") == 3);
	snprintf(text, sizeof(text), "cd '%s' && rm plain argument program self script-of-script && rmdir '%s'", folder,
		 folder);
	CHECK(system(text) == 0);
}

static volatile int stop; /* never set: makes a branch whose direction the packets report */

static void *spin(void *argument)
{
	volatile unsigned *count = argument;

	do {
		/*
		 * Two blocks per turn: for a block that follows itself, the number of turns before the death is
		 * uncertain.
		 */
		if (++*count & 1)
			++*count;
	} while (!stop);
	return NULL;
}

static void *exec_from_thread(void *argument)
{
	(void)argument;
	execl(self, self, "report", "from a thread", NULL);
	_exit(127);
}

static void by_thread(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		static unsigned count;
		pthread_t thread;

		CHECK(pthread_create(&thread, NULL, spin, &count) == 0);
		while (!*(volatile unsigned *)&count)
			usleep(100);
		CHECK(pthread_create(&thread, NULL, exec_from_thread, NULL) == 0);
		pause();
		_exit(126);
	}
	CHECK(wait_for(pid) == 0);
}

static int step(const char *text)
{
	int n = atoi(text);
	char next[16];

	if (n == 0) {
		printf("last step\n");
		return 0;
	}
	snprintf(next, sizeof(next), "%d", n - 1);
	execl(self, self, "step", next, NULL);
	return 127;
}

static int report(int argc, char **argv)
{
	for (int i = 2; i < argc; i++) {
		const char *slash = strrchr(argv[i], '/');

		printf("%s%s", i > 2 ? " " : "", slash ? slash + 1 : argv[i]);
	}
	printf("\n");
	return 0;
}

int main(int argc, char **argv)
{
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	CHECK(n > 0);
	if (argc > 2 && strcmp(argv[1], "step") == 0)
		return step(argv[2]);
	if (argc > 1 && strncmp(argv[1], "report", 6) == 0)
		return report(argc, argv);
	setvbuf(stdout, NULL, _IONBF, 0);
	by_vfork();
	by_spawn();
	by_system();
	fails_first();
	by_descriptor();
	by_scripts();
	by_thread();
	printf("processes done\n");
	return 0;
}
