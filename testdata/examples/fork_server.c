/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A fork server for executor.c, by AFL's protocol: loaded into a program by LD_PRELOAD, the library forks the program
 * before main, once for each execution. So an execution needs no execve, no dynamic linking, and no new translation of
 * the program's code by ptl-record's software source.
 *
 *	cc -shared -fPIC -o fork_server.so fork_server.c
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define COMMANDS 198 /* 4 bytes for each execution */
#define ANSWERS 199  /* 4 bytes of 0 at the start; for each execution pid, then wait status */
#define INPUT 197    /* standard input of the executions */

typedef int main_function(int, char **, char **);

static main_function *program_main;

static int answer(uint32_t value)
{
	return write(ANSWERS, &value, sizeof(value)) == sizeof(value);
}

/* Forks for each command. Returns in each child; ends the process with the last command. */
static void serve(void)
{
	uint32_t command;

	/* Without an executor, the program runs once. */
	if (!answer(0))
		return;
	while (read(COMMANDS, &command, sizeof(command)) == sizeof(command)) {
		const pid_t pid = fork();
		int status = 0;

		if (!pid) {
			dup2(INPUT, STDIN_FILENO);
			close(INPUT);
			close(COMMANDS);
			close(ANSWERS);
			return;
		}
		if (pid < 0 || !answer((uint32_t)pid) || waitpid(pid, &status, 0) != pid || !answer((uint32_t)status))
			break;
	}
	_exit(0);
}

static int serve_and_run(int argc, char **argv, char **envp)
{
	/* Programs that the program executes have no fork server. */
	unsetenv("LD_PRELOAD");
	serve();
	return program_main(argc, argv, envp);
}

/* The C library's function, which calls main. */
int __libc_start_main(main_function *main, int argc, char **argv, void (*init)(void), void (*fini)(void),
		      void (*rtld_fini)(void), void *stack_end)
{
	int (*start)(main_function *, int, char **, void (*)(void), void (*)(void), void (*)(void), void *);

	*(void **)&start = dlsym(RTLD_NEXT, "__libc_start_main");
	program_main = main;
	return start(serve_and_run, argc, argv, init, fini, rtld_fini, stack_end);
}
