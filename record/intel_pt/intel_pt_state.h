/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of the source share. */
#ifndef RECORD_INTEL_PT_INTEL_PT_STATE_H
#define RECORD_INTEL_PT_INTEL_PT_STATE_H

#include <linux/perf_event.h>
#include <pthread.h>
#include <sys/types.h>

#include "common/program/selection.h"
#include "record/clock/clock.h"
#include "record/intel_pt/config.h"
#include "record/intel_pt/device.h"
#include "record/intel_pt/drainers.h"
#include "record/intel_pt/queue.h"
#include "record/intel_pt/ring.h"
#include "record/intel_pt/stream.h"
#include "record/perf/event.h"
#include "record/session/session.h"

/* An event of Intel PT, and beside it one that reports switches, into the same ring. */
struct intel_pt_event {
	pid_t thread; /* -1: all that runs on the CPU; 0: none, it only holds the rings */
	int fd;
	int sideband;
	bool on;
};

/* One CPU's, or one thread's: events that share rings. */
struct intel_pt_buffer {
	struct intel_pt_ring ring;
	struct intel_pt_stream stream;
	uint32_t cpu;                /* PTL_NO_CPU: of a thread */
	struct intel_pt_event *list; /* the first one's rings are mapped */
	size_t count, capacity;
	bool opened; /* its stream of packets is there */
	/*
	 * Who has this lock may take packets, and start the events: the recorder, and a thread of drainers.h. What is behind
	 * `taken` is first in the queue, then in the AUX area.
	 */
	pthread_mutex_t lock;
	uint64_t taken; /* position in the AUX area */
	struct intel_pt_queue queue;
	bool full;                        /* the area was, when that thread last looked */
	bool missed;                      /* that thread was woken while the recorder had the lock */
	uint32_t events;                  /* stream of events */
	uint32_t running;                 /* thread on the CPU; 0: none that is recorded; PTL_NO_ID: unknown */
	uint64_t last_switch;             /* when that was said */
	bool stopped;                     /* the kernel may have stopped the event for want of room */
	bool lost;                        /* reported corrupt: once is enough */
	struct record_perf_losses losses; /* of the kernel\'s records */
	/* Of a snapshot. */
	uint8_t *before; /* the area as the last snapshot left it; NULL: there was none */
	uint64_t before_head;
	uint64_t depth; /* nanoseconds that are kept; 0: all */
};

struct intel_pt {
	struct record_session *session;
	struct record_observer *observer;
	struct record_kernel_code *kernel; /* NULL: it is not traced */
	struct intel_pt_device device;
	struct intel_pt_config config;
	struct intel_pt_buffer **buffers;
	size_t count, capacity;
	struct intel_pt_drainers *drainers; /* NULL: areas are written over, and read when that is asked for */
	uint32_t *cpus;                     /* to record on */
	size_t cpu_count, cpu_capacity;
	pid_t *targets; /* threads, or -1 for all that runs on a CPU */
	size_t target_count, target_capacity;
	struct common_id_set pids;          /* processes whose threads are targets */
	struct intel_pt_triggers *triggers; /* NULL: none */
	uint32_t triggered;                 /* snapshots that were kept for functions and events */
	struct intel_pt_names *names;       /* NULL: targets are not looked for by name */
	char *filter;                       /* as PERF_EVENT_IOC_SET_FILTER takes it; NULL: none */
	size_t data_size, aux_size;
	bool snapshot;
	bool per_thread; /* each has rings of its own */
	bool enabled;
	bool finishing;  /* nothing more comes */
	uint64_t looked; /* when it was last looked whether the targets live */
	uint64_t looked_for_threads;
};

/* ---- events.c: opening */

/* Opens and maps the events of all targets on all CPUs; those of a command begin with its execve. */
int intel_pt_events_open(struct intel_pt *pt, bool on_exec);
/* Opens and enables those of targets from this one on, while recording goes on; what has ended meanwhile is left out. */
int intel_pt_events_add(struct intel_pt *pt, size_t first);
/*
 * Closes those of threads that have ended, with all that they started, takes what their buffers hold, and drops them from
 * the targets.
 */
int intel_pt_events_drop_ended(struct intel_pt *pt);
void intel_pt_events_close(struct intel_pt *pt);
/* Begins with those that are not on yet. */
void intel_pt_events_enable(struct intel_pt *pt);
/* All that its rings held has been taken: completes its stream, and reports what the kernel lost and has not said. */
int intel_pt_buffer_finish(struct intel_pt_buffer *buffer);
/* ioctl(2) on all events of Intel PT of a buffer. */
void intel_pt_buffer_control(const struct intel_pt_buffer *buffer, unsigned long request);

/* ---- targets.c: what is recorded */

int intel_pt_targets_cpus(struct intel_pt *pt, const struct record_pt_settings *settings);
/* The command runs on no other CPUs than those that are recorded. */
int intel_pt_targets_bind(const struct intel_pt *pt, pid_t pid);
int intel_pt_targets_threads(struct intel_pt *pt, const struct record_pt_settings *settings);
/* All threads that the process has now. PTL_SYSTEM: there is no such process. */
int intel_pt_targets_add_process(struct intel_pt *pt, uint32_t pid);
bool intel_pt_targets_has(const struct intel_pt *pt, pid_t thread);
/* Threads that the processes have now and that are no targets yet become ones; processes that have ended are dropped. */
int intel_pt_targets_look(struct intel_pt *pt);
/* Whether one of them lives; all that runs on a CPU does. */
bool intel_pt_targets_live(const struct intel_pt *pt);
/* The process of a thread; 0: it has ended. */
uint32_t intel_pt_targets_process_of(pid_t thread);

/* ---- names.c: processes by name, those that start later, too */

int intel_pt_names_open(struct intel_pt *pt);
void intel_pt_names_close(struct intel_pt_names *names);
/* Adds processes that have got such a name since the last look. */
int intel_pt_names_step(struct intel_pt *pt, uint64_t now);
/* When the next look is due. */
uint64_t intel_pt_names_due(const struct intel_pt_names *names);

/* ---- trigger.c: snapshots when functions are reached, or return late */

/* Looks what --snapshot-at names up; then opens, with targets, or adds to them. All do nothing where there is none. */
int intel_pt_triggers_find(struct intel_pt *pt);
int intel_pt_triggers_open(struct intel_pt *pt);
int intel_pt_triggers_add(struct intel_pt *pt, const pid_t *threads, size_t count);
void intel_pt_triggers_close(struct intel_pt_triggers *triggers);
/* Takes calls, and snapshots for them, and for events that match. */
int intel_pt_triggers_step(struct intel_pt *pt);
/* Says what was lost. */
int intel_pt_triggers_finish(struct intel_pt *pt);
/* Whether there have been as many snapshots as were asked for. */
bool intel_pt_triggers_done(const struct intel_pt *pt);

/* ---- drain.c: from rings into the trace */

int intel_pt_drain(const struct intel_pt *pt, struct intel_pt_buffer *buffer, bool *work);

/* "CPU 3", "thread 17". */
const char *intel_pt_buffer_name(const struct intel_pt_buffer *buffer, char name[32]);

/* ---- records.c: what the kernel says beside the packets */

/* The ids behind each record, as the events' sample_type orders them. */
struct intel_pt_ids {
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu;
};
bool intel_pt_record_ids(const struct perf_event_header *record, struct intel_pt_ids *ids);
/* Takes a record that is not PERF_RECORD_AUX. */
int intel_pt_record(struct intel_pt_buffer *buffer, const struct perf_event_header *record);

/* Reports records that the kernel lost, as far as that is new; open: what events that are open count. */
int intel_pt_records_lost(struct intel_pt_buffer *buffer, uint64_t open);

/* ---- snapshot.c */

/* Keeps what the rings hold now. */
int intel_pt_snapshot(struct intel_pt *pt, const char *cause);

#endif
