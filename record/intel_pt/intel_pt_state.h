/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of the source share. */
#ifndef RECORD_INTEL_PT_STATE_H
#define RECORD_INTEL_PT_STATE_H

#include <linux/perf_event.h>
#include <sys/types.h>

#include "record/capture/clock.h"
#include "record/intel_pt/config.h"
#include "record/intel_pt/device.h"
#include "record/intel_pt/ring.h"
#include "record/intel_pt/stream.h"
#include "record/session/session.h"

/* One CPU's, or one thread's: events that share rings. */
struct intel_pt_buffer {
	struct intel_pt_ring ring;
	struct intel_pt_stream stream;
	uint32_t cpu;         /* PTL_NO_CPU: of a thread */
	int *fds;             /* of Intel PT; the first one's rings are mapped */
	int *sideband;        /* of events that report switches, into the same ring */
	size_t count;         /* of each */
	uint64_t taken;       /* position in the AUX area */
	uint32_t events;      /* stream of events */
	uint32_t running;     /* thread on the CPU; 0: none that is recorded */
	uint64_t last_switch; /* when that was said */
	bool stopped;         /* the kernel may have stopped the event for want of room */
	bool lost;            /* reported corrupt: once is enough */
	/* Of a snapshot. */
	uint8_t *before; /* the area as the last snapshot left it; NULL: there was none */
	uint64_t before_head;
};

struct intel_pt {
	struct record_session *session;
	struct record_observer *observer;
	struct intel_pt_device device;
	struct intel_pt_config config;
	struct intel_pt_buffer *buffers;
	size_t count, capacity;
	uint32_t *cpus; /* to record on */
	size_t cpu_count, cpu_capacity;
	pid_t *targets; /* threads, or -1 for all that runs on a CPU */
	size_t target_count, target_capacity;
	char *filter; /* as PERF_EVENT_IOC_SET_FILTER takes it; NULL: none */
	size_t data_size, aux_size;
	bool snapshot;
	bool enabled;
	bool finishing; /* nothing more comes */
	uint64_t snapshots;
	uint64_t looked; /* when it was last looked whether the targets live */
};

/* ---- events.c: opening */

/* Opens and maps the events of all targets on all CPUs; those of a command begin with its execve. */
int intel_pt_events_open(struct intel_pt *pt, bool on_exec);
void intel_pt_events_close(struct intel_pt *pt);
/* ioctl(2) on all events of Intel PT of a buffer. */
void intel_pt_buffer_control(const struct intel_pt_buffer *buffer, unsigned long request);

/* ---- targets.c: what is recorded */

int intel_pt_targets_cpus(struct intel_pt *pt, const char *list);
int intel_pt_targets_threads(struct intel_pt *pt, const struct record_pt_settings *settings);
/* Whether one of them lives; all that runs on a CPU does. */
bool intel_pt_targets_live(const struct intel_pt *pt);
/* The process of a thread; 0: it has ended. */
uint32_t intel_pt_targets_process_of(pid_t thread);
/* Calls visit with each process of the machine, until it returns a value other than 0, which is returned. */
int intel_pt_targets_processes(int (*visit)(void *context, uint32_t pid), void *context);

/* ---- drain.c: from rings into the trace */

int intel_pt_drain(struct intel_pt *pt, struct intel_pt_buffer *buffer, bool *work);

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

/* ---- snapshot.c */

/* Keeps what the rings hold now. */
int intel_pt_snapshot(struct intel_pt *pt, const char *cause);

#endif
