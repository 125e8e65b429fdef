/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the files of the source. */
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

/* Actions of --only-between, in the order of its events. */
enum intel_pt_action { INTEL_PT_RESUME, INTEL_PT_PAUSE, INTEL_PT_ACTIONS };

/* An Intel PT event, and an event for context switches into the same ring. */
struct intel_pt_event {
	pid_t thread; /* -1: everything on the CPU; 0: holds the rings only */
	int fd;
	int sideband;
	int actions[INTEL_PT_ACTIONS]; /* events that resume and pause the packets; -1 without */
	bool on;
};

/* The events of one CPU or thread, with shared rings. */
struct intel_pt_buffer {
	struct intel_pt_ring ring;
	struct intel_pt_stream stream;
	uint32_t cpu;                /* PTL_NO_CPU: buffer of a thread */
	struct intel_pt_event *list; /* the rings of the first event are mapped */
	size_t count, capacity;
	bool opened; /* the stream of packets exists */
	/*
	 * Protects the packets and the control of events, which the recorder and a thread of drainers.h share. Packets
	 * behind `taken` lie first in the queue, then in the AUX area.
	 */
	pthread_mutex_t lock;
	uint64_t taken; /* position in the AUX area */
	struct intel_pt_queue queue;
	bool full;                        /* the area was full at that thread's last look */
	bool missed;                      /* that thread was woken while the recorder held the lock */
	uint32_t events;                  /* id of the stream of events */
	uint32_t running;                 /* thread on the CPU; 0: no recorded thread; PTL_NO_ID: unknown */
	uint64_t last_switch;             /* time of the last context switch */
	bool stopped;                     /* the kernel may have stopped the event for lack of room */
	bool lost;                        /* the ring's corruption has been reported */
	struct record_perf_losses losses; /* losses of kernel records */
	uint64_t left_out;                /* nanoseconds that --max-rate left out */
	/* Of a snapshot only: */
	uint8_t *before; /* copy of the area at the last snapshot; NULL before */
	uint64_t before_head;
	uint64_t depth; /* nanoseconds to keep; 0: everything */
};

struct intel_pt {
	struct record_session *session;
	struct record_observer *observer;
	struct record_kernel_code *kernel; /* NULL: the kernel's code is not recorded */
	struct intel_pt_device device;
	struct intel_pt_config config;
	struct intel_pt_buffer **buffers;
	size_t count, capacity;
	struct intel_pt_drainers *drainers; /* NULL: areas are ring buffers that are read on request only */
	uint32_t *cpus;                     /* CPUs to record on */
	size_t cpu_count, cpu_capacity;
	pid_t *targets; /* threads, or -1 for everything on a CPU */
	size_t target_count, target_capacity;
	struct common_id_set pids;          /* processes whose threads are targets */
	struct intel_pt_triggers *triggers; /* NULL without triggers */
	uint32_t triggered;                 /* number of snapshots by functions and events */
	struct intel_pt_names *names;       /* NULL: no search by name */
	struct intel_pt_between *between;   /* NULL without --only-between */
	struct intel_pt_rate *rate;         /* NULL without --max-rate */
	char *filter;                       /* text for PERF_EVENT_IOC_SET_FILTER; NULL without filters */
	size_t data_size, aux_size;
	bool snapshot;
	bool per_thread; /* each thread has its own rings */
	bool enabled;
	bool held;       /* Intel PT is off because of --max-rate */
	bool finishing;  /* no further data will arrive */
	uint64_t looked; /* time of the last check whether targets live */
	uint64_t looked_for_threads;
};

/* ---- events.c: opening ---- */

/* Opens and maps the events of all targets on all CPUs. on_exec: events of a command start at its execve. */
int intel_pt_events_open(struct intel_pt *pt, bool on_exec);
/* Opens and enables events of targets from `first` on during the recording. Skips ended targets. */
int intel_pt_events_add(struct intel_pt *pt, size_t first);
/* Closes events of ended threads without living heirs, drains their buffers, and drops the threads from the targets. */
int intel_pt_events_drop_ended(struct intel_pt *pt);
void intel_pt_events_close(struct intel_pt *pt);
/* Starts the events that are off. */
void intel_pt_events_enable(struct intel_pt *pt);
/* Completes the buffer's stream after the last drain, and reports unreported losses of the kernel. */
int intel_pt_buffer_finish(struct intel_pt_buffer *buffer);

/* ---- attributes.c */

/* Returns attributes that the events of all targets share. */
struct perf_event_attr intel_pt_events_attr(const struct intel_pt *pt, bool on_exec);
/* Returns the attributes of an Intel PT event. */
struct perf_event_attr intel_pt_events_pt_attr(const struct intel_pt *pt, bool on_exec);
/* Returns the attributes of the event for context switches beside an Intel PT event. */
struct perf_event_attr intel_pt_events_sideband_attr(const struct intel_pt *pt, bool on_exec);

/* ---- buffer.c */

/* Returns "CPU 3" or "thread 17" in name. */
const char *intel_pt_buffer_name(const struct intel_pt_buffer *buffer, char name[32]);
/* Checks whether a stopped Intel PT event may start again. Any thread may ask. */
bool intel_pt_events_may_start(const struct intel_pt *pt);
/* Calls ioctl(2) on all Intel PT events of a buffer. */
void intel_pt_buffer_control(const struct intel_pt_buffer *buffer, unsigned long request);

/* ---- targets.c: selection ------ */

int intel_pt_targets_cpus(struct intel_pt *pt, const struct record_pt_settings *settings);
/* Binds the process to the recorded CPUs. */
int intel_pt_targets_bind(const struct intel_pt *pt, pid_t pid);
int intel_pt_targets_threads(struct intel_pt *pt, const struct record_pt_settings *settings);
/* Adds all current threads of the process. Fails with PTL_SYSTEM if the process does not exist. */
int intel_pt_targets_add_process(struct intel_pt *pt, uint32_t pid);
bool intel_pt_targets_has(const struct intel_pt *pt, pid_t thread);
/* Adds new threads of the processes to the targets. Drops ended processes. */
int intel_pt_targets_look(struct intel_pt *pt);
/* Checks whether a target lives. A target of a whole CPU always lives. */
bool intel_pt_targets_live(const struct intel_pt *pt);

/* ---- names.c: processes by name, including later starts ---- */

int intel_pt_names_open(struct intel_pt *pt);
void intel_pt_names_close(struct intel_pt_names *names);
/* Adds processes whose name matches since the last look. */
int intel_pt_names_step(struct intel_pt *pt, uint64_t now);
/* Returns the time of the next look. */
uint64_t intel_pt_names_due(const struct intel_pt_names *names);

/* ---- trigger.c: snapshots at functions and late returns ------------ */

/*
 * Finds the functions of --snapshot-at; opens their probes with the targets; adds probes for further threads. Without
 * triggers, all three do nothing.
 */
int intel_pt_triggers_find(struct intel_pt *pt);
int intel_pt_triggers_open(struct intel_pt *pt);
int intel_pt_triggers_add(struct intel_pt *pt, const pid_t *threads, size_t count);
void intel_pt_triggers_close(struct intel_pt_triggers *triggers);
/* Handles reported calls and matching events, and takes snapshots. */
int intel_pt_triggers_step(struct intel_pt *pt);
/* Reports lost calls. */
int intel_pt_triggers_finish(struct intel_pt *pt);
/* Checks whether the maximum number of snapshots is reached. */
bool intel_pt_triggers_done(const struct intel_pt *pt);

/* ---- between.c: events that pause and resume packets ---------- */

/*
 * Opens and closes an Intel PT event that starts paused. Fails with PTL_UNSUPPORTED if the kernel or its driver cannot
 * pause.
 */
int intel_pt_between_check(const struct intel_pt_device *device, const struct intel_pt_config *config,
			   const struct record_pt_settings *settings);
/* Finds the events of --only-between. Without the option, all functions below do nothing. */
int intel_pt_between_find(struct intel_pt *pt);
/* Opens the events in the group of an Intel PT event. Leaves open events to the caller if that fails. */
int intel_pt_between_open(const struct intel_pt *pt, struct intel_pt_event *event, uint32_t cpu);
void intel_pt_between_close(struct intel_pt_between *between);

/* ---- between_log.c: reports of these events ---------- */

/* Handles a record of the buffer: a report of an event, or a context switch. Ignores other records. */
int intel_pt_between_record(const struct intel_pt *pt, struct intel_pt_buffer *buffer,
			    const struct perf_event_header *record);
/* Handles the reports with a time up to `until` in the order of time: finds threads that moved to another CPU. */
int intel_pt_between_step(const struct intel_pt *pt, uint64_t until);
/* Handles the last reports, and writes a note with the counts. */
int intel_pt_between_finish(const struct intel_pt *pt);
/* Checks whether packets have been resumed. */
bool intel_pt_between_resumed(const struct intel_pt *pt);

/* ---- rate.c: a budget of packets ---------- */

/* Without --max-rate, all functions below do nothing. */
int intel_pt_rate_open(struct intel_pt *pt);
/* Compares the packets so far with the budget, and turns Intel PT off or on. */
int intel_pt_rate_step(struct intel_pt *pt, uint64_t now);
/* Returns the time of the next step; UINT64_MAX without a step. */
uint64_t intel_pt_rate_due(const struct intel_pt *pt, uint64_t now);
/* Reports the stretch in progress for a buffer that is about to close. */
int intel_pt_rate_drop(struct intel_pt *pt, struct intel_pt_buffer *buffer);
/* Reports the last stretch, after the last drain, and the time that was left out. */
int intel_pt_rate_finish(struct intel_pt *pt, uint64_t now);

/* ---- drain.c: from rings into the trace */

int intel_pt_drain(const struct intel_pt *pt, struct intel_pt_buffer *buffer, bool *work);

/* ---- records.c: kernel records beside packets --------- */

/* The ids at the end of each record, in the order of the events' sample_type. */
struct intel_pt_ids {
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu;
};
bool intel_pt_record_ids(const struct perf_event_header *record, struct intel_pt_ids *ids);
/* Handles a record other than PERF_RECORD_AUX. */
int intel_pt_record(struct intel_pt_buffer *buffer, const struct perf_event_header *record);

/* Reports newly lost kernel records. open: count of losses by open events. */
int intel_pt_records_lost(struct intel_pt_buffer *buffer, uint64_t open);

/* ---- snapshot.c */

/* Saves the current content of the rings. */
int intel_pt_snapshot(struct intel_pt *pt, const char *cause);

#endif
