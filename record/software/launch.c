/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/software/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "record/launch/launch.h"
#include "record/software/shared/inject.h"

extern char **environ;

/* Reads a byte from the other process. */
static bool hear(int fd)
{
	char byte;
	ssize_t n;

	do
		n = read(fd, &byte, 1);
	while (n < 0 && errno == EINTR);
	return n == 1 && byte == 1;
}

static bool tell(int fd, char byte)
{
	return write(fd, &byte, 1) == 1;
}

/* Runs in the tracer: attaches to its parent, and puts the runtime into the program that the parent executes. */
static _Noreturn void trace_parent(const struct channel_config *config, pid_t parent, uint64_t mask, const int go[2],
				   int ready)
{
	struct runtime_start start = {.mask = mask, .slot = -1, .tracer = (int32_t)syscall(SYS_getpid)};
	bool attached;

	/* Without this copy of the end, the tracer hears if the parent is killed. */
	close(go[1]);
	attached = hear(go[0]) && software_inject_attach(parent) == 0;

	tell(ready, attached ? 1 : 0);
	close(ready);
	if (attached)
		software_inject_at_exec(config, &start, NULL, NULL);
	for (;;)
		syscall(SYS_exit_group, 0);
}

/* Called in the child before execve of the command. */
static int prepare(void *context)
{
	const struct channel *channel = context;
	const pid_t self = (pid_t)syscall(SYS_getpid);
	uint64_t all = ~0ull, mask = 0;
	int go[2], ready[2];
	long tracer;
	bool attached;

	if (pipe2(go, O_CLOEXEC) < 0 || pipe2(ready, O_CLOEXEC) < 0)
		return errno;
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &mask, sizeof(mask));
	/* A child without an exit signal, so that the program does not notice. The runtime waits for the child. */
	tracer = syscall(SYS_clone, 0, 0, 0, 0, 0);
	if (tracer == 0)
		trace_parent(&channel->config, self, mask, go, ready[1]);
	if (tracer < 0)
		return errno;
	/* needed if Yama restricts tracing to descendants */
	prctl(PR_SET_PTRACER, tracer, 0, 0, 0);
	close(ready[1]);
	attached = tell(go[1], 1) && hear(ready[0]);
	if (attached)
		return 0;
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, sizeof(mask));
	return EPERM;
}

/* prepare() for --start-at: the command runs natively first. */
static int prepare_watched(void *context)
{
	return software_watch_command(context) ? 0 : EPERM;
}

int software_launch(const struct record_command *command, const struct channel *channel,
		    const struct software_watch *watch, const struct rlimit *files, pid_t *pid)
{
	const struct record_launch launch = {
		.path = command->path,
		.argv = command->argv,
		.envp = environ,
		/* Fixed addresses make runs with the virtual clock identical. */
		.fixed_addresses = channel->config.clock == PTL_CLOCK_VIRTUAL,
		.files = files,
		.prepare = watch ? prepare_watched : prepare,
		.context = watch ? (void *)(uintptr_t)watch : (void *)(uintptr_t)channel,
	};

	return record_launch(&launch, pid);
}
