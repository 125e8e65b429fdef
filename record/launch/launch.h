/* SPDX-License-Identifier: BSD-2-Clause */
/* Starts a program as a child of the recorder. */
#ifndef RECORD_LAUNCH_LAUNCH_H
#define RECORD_LAUNCH_LAUNCH_H

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

/* Arguments of execve, and options. */
struct record_launch {
	const char *path;
	char *const *argv;
	char *const *envp;
	bool fixed_addresses;       /* disables address space randomisation */
	const struct rlimit *files; /* limit of descriptors for the program */
	/*
	 * Optional. Called between fork and execve, to attach to the child. A result other than 0 ends the child, and
	 * is returned.
	 */
	int (*attach)(void *context, pid_t pid);
	/*
	 * Optional. Called in the child directly before execve, so that the recorder attaches to the child. Returns 0 or
	 * an errno.
	 */
	int (*prepare)(void *context);
	void *context;
};

/*
 * Starts the program as a child with the recorder's standard streams, process group, and the signal handling from
 * before record_signals_start. Returns after execve. Fails with PTL_SYSTEM; *pid is then 0.
 */
int record_launch(const struct record_launch *launch, pid_t *pid);

#endif
