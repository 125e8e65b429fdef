/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reports native processes, without privileges: repeated looks at /proc find changes, which go to the capture's model
 * as facts.
 *
 * If permitted, kernel events report the command and its descendants with exact times. Looks then find only unmapped
 * memory, which the kernel does not report. Without kernel events, a process or thread that lives between two looks may
 * stay unseen, and times are times of looks: a start or a load has the time of the last look without it, an end has the
 * time of the first look without it. Every event of a process therefore lies between its start and its end.
 */
#ifndef RECORD_OBSERVE_OBSERVER_H
#define RECORD_OBSERVE_OBSERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "record/capture/capture.h"
#include "record/launch/command.h"
#include "record/perf/sideband.h"
#include "record/session/wait.h"

struct record_observer;

/*
 * capture: outlives the observer. first_number: number of the first process, so that sources of a capture use distinct
 * numbers.
 * Fails with PTL_NO_MEMORY. Functions below of type int return 0 or PTL_NO_MEMORY.
 */
int record_observer_new(struct record_capture *capture, uint32_t first_number, struct record_observer **observer);
void record_observer_free(struct record_observer *observer);

/*
 * Makes the kernel report descendants of this process; called before the command starts, so that no short-lived
 * descendant is missed.
 * targets: reported instead, from now on; the caller then names running processes by record_observer_running. NULL
 * without.
 * Fails with PTL_SYSTEM and the cause if not permitted; the observer then relies on looks at /proc.
 */
int record_observer_listen(struct record_observer *observer, const struct record_sideband_targets *targets);
/*
 * Adds threads and their future children to the reports, after record_observer_listen with an empty list of targets.
 * Fails with PTL_SYSTEM or PTL_NO_MEMORY.
 */
int record_observer_listen_to(struct record_observer *observer, const pid_t *threads, size_t count);
/* Checks whether the kernel reports the process. */
bool record_observer_has(struct record_observer *observer, uint32_t pid);
/* Reports a process that ran before the recording. */
int record_observer_running(struct record_observer *observer, uint32_t pid, uint64_t now);
/*
 * Reports all processes of the machine: running processes now, and later processes by kernel reports. Without
 * permission, a note says so, and only running processes are reported. Does nothing if reports were started before.
 * Fails with PTL_SYSTEM or PTL_NO_MEMORY.
 */
int record_observer_everyone(struct record_observer *observer, struct record_wait *wait);
/* Calls `add` with each descriptor that becomes readable for new kernel reports, until `add` fails. */
int record_observer_descriptors(const struct record_observer *observer, int (*add)(void *context, int fd),
				void *context);

/*
 * Makes the observer read code without a file (anonymous memory, memory files, deleted files) from the memory of
 * processes.
 */
void record_observer_take_code(struct record_observer *observer);

/* Adds the command, started at `time` as a child of the recorder. */
int record_observer_command(struct record_observer *observer, uint32_t pid, uint64_t time,
			    const struct record_command *command);

/*
 * Notes a process that writes events. Reports an unknown process as running before the recording, and looks at its
 * mappings now.
 * since: the process lived at this time, and may have written events since.
 * gone: set if the process has ended and cannot be looked at; see record_observer_dead.
 */
int record_observer_writer(struct record_observer *observer, uint32_t pid, uint64_t since, uint64_t now, bool *gone);

/*
 * A process that wrote events and ended unseen; reported with the facts from its own events.
 * since: the process lived at this time.
 * ran_before: the process may have started before the recording.
 */
struct record_observer_dead {
	uint32_t pid;
	uint32_t parent; /* 0 if unknown */
	const char *program;
	uint64_t since;
	bool ran_before;
};
int record_observer_dead(struct record_observer *observer, const struct record_observer_dead *dead, uint64_t now);

/*
 * Checks whether the process is the command or a descendant, using all kernel reports so far. The process may have just
 * ended.
 */
int record_observer_follows(struct record_observer *observer, uint32_t pid, bool *follows);

/* Handles kernel reports, and looks at all processes if due. */
int record_observer_step(struct record_observer *observer, uint64_t now);
/* Returns the time of the next step. */
uint64_t record_observer_due(const struct record_observer *observer);

/* Notes that the recorder waited for a child. */
int record_observer_exited(struct record_observer *observer, uint32_t pid, uint32_t wait_status, uint64_t now);

/* Takes a last look at all processes. */
int record_observer_finish(struct record_observer *observer, uint64_t now);

#endif
