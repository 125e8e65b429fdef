/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reports processes that run natively, without privileges: /proc is looked at again and again, and
 * what has changed goes to the capture's model as facts.
 *
 * Where it is permitted, the kernel's own events report the command and its descendants, with the exact
 * times; looks are then only there for what those leave out: memory that is unmapped. Without them, a process
 * or thread that lives for less time than from one look to the next may not be seen, and times are
 * those of looks: a start or a load has the time of the last look at which it was not there, an end
 * that of the first at which it was not there any more. Every event of a process is therefore between
 * its start and its end.
 */
#ifndef RECORD_KERNEL_OBSERVER_H
#define RECORD_KERNEL_OBSERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "record/capture/capture.h"
#include "record/launch/command.h"
#include "record/perf/sideband.h"
#include "record/session/wait.h"

struct record_observer;

/*
 * capture must live as long. first_number: of the first process, so that the capture's other source
 * and this one do not use the same numbers. PTL_NO_MEMORY. All functions below that return an int
 * return 0 or PTL_NO_MEMORY.
 */
int record_observer_new(struct record_capture *capture, uint32_t first_number, struct record_observer **observer);
void record_observer_free(struct record_observer *observer);

/*
 * Has the kernel report what this process starts next, so that no descendant is missed however short
 * it lives: called before the command is started. targets (NULL: none) are reported instead, from now on; then who runs
 * already is to be named with record_observer_running. PTL_SYSTEM where that is not permitted, with the
 * cause; looks at /proc are all there is then.
 */
int record_observer_listen(struct record_observer *observer, const struct record_sideband_targets *targets);
/* After record_observer_listen without any target: these threads, too, and what they start. PTL_SYSTEM, PTL_NO_MEMORY. */
int record_observer_listen_to(struct record_observer *observer, const pid_t *threads, size_t count);
/* Whether the kernel reports what the process does now. */
bool record_observer_has(struct record_observer *observer, uint32_t pid);
/* A process that ran before is one that is to be reported. */
int record_observer_running(struct record_observer *observer, uint32_t pid, uint64_t now);
/*
 * All processes of the machine are reported: those that run already at once, and from now on what the kernel reports of any. Where it
 * does not permit that, a note says so, and only those that run now are known. Nothing is done where there are reports already.
 * PTL_SYSTEM, PTL_NO_MEMORY.
 */
int record_observer_everyone(struct record_observer *observer, struct record_wait *wait);
/* Calls add with each descriptor that becomes readable when the kernel has reported something; until it fails. */
int record_observer_descriptors(const struct record_observer *observer, int (*add)(void *context, int fd),
				void *context);

/* Code that no file has (of anonymous memory, of memory files, of files that were deleted) is read from the processes' memory. */
void record_observer_take_code(struct record_observer *observer);

/* The command was started as our child at this time. */
int record_observer_command(struct record_observer *observer, uint32_t pid, uint64_t time,
			    const struct record_command *command);

/*
 * A process that writes events: if it is not known, it is reported as one that ran before; what it has
 * mapped is looked at now. It may have written since this time, at which it was there. *gone: it has ended, so that there is
 * nothing to look at any more; see record_observer_dead.
 */
int record_observer_writer(struct record_observer *observer, uint32_t pid, uint64_t since, uint64_t now, bool *gone);

/*
 * A process that wrote events and had ended before it was seen: it is reported with what it said of
 * itself. since: it was there then. ran_before: it may have begun before the recording.
 */
struct record_observer_dead {
	uint32_t pid;
	uint32_t parent; /* 0: unknown */
	const char *program;
	uint64_t since;
	bool ran_before;
};
int record_observer_dead(struct record_observer *observer, const struct record_observer_dead *dead, uint64_t now);

/*
 * Whether the process is the command or a descendant of it, by all that the kernel has reported up to now; it may have ended a moment
 * ago.
 */
int record_observer_follows(struct record_observer *observer, uint32_t pid, bool *follows);

/* Takes what the kernel has reported, and looks at all processes if that is due. */
int record_observer_step(struct record_observer *observer, uint64_t now);
/* When it will be due. */
uint64_t record_observer_due(const struct record_observer *observer);

/* A child of ours was waited for. */
int record_observer_exited(struct record_observer *observer, uint32_t pid, uint32_t wait_status, uint64_t now);

/* A last look at everything. */
int record_observer_finish(struct record_observer *observer, uint64_t now);

#endif
