/* SPDX-License-Identifier: BSD-2-Clause */
/* The step from the recorder into the program that it starts. */
#ifndef RECORD_LAUNCH_LAUNCH_H
#define RECORD_LAUNCH_LAUNCH_H

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

/* What execve is called with. */
struct record_launch {
	const char *path;
	char *const *argv;
	char *const *envp;
	bool fixed_addresses;       /* no address space randomisation */
	const struct rlimit *files; /* the limit of descriptors that the program shall have */
	/*
	 * *Called while the child exists and has not become the program yet: to attach to it. What it returns, if not 0,
	 * ends the child and is returned.
	 */
	int (*attach)(void *context, pid_t pid);
	void *context;
};

/*
 * Starts it as a child with our standard streams, process group, and the signals as they were
 * before record_signals_start. Returns when the program is there. PTL_SYSTEM: could not be started.
 */
int record_launch(const struct record_launch *launch, pid_t *pid);

#endif
