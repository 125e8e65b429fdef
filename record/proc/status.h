/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads /proc/PID/status. */
#ifndef RECORD_PROC_STATUS_H
#define RECORD_PROC_STATUS_H

#include <stdbool.h>
#include <stdint.h>

struct record_proc_status {
	char state;              /* as in proc(5): 'Z', a zombie */
	uint32_t leader, tracer; /* Tgid, TracerPid */
	uint32_t real_user, effective_user;
	uint32_t seccomp, filters; /* mode and number of filters */
	bool has_memory;           /* no thread of the kernel */
	bool has_shadow_stack;
};

/* path: of the status file of a process or of a thread. False: the file cannot be read. */
bool record_proc_status(const char *path, struct record_proc_status *status);

#endif
