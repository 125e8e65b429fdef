/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets of virtual machines in the rings of a host. If ID_INDEX tells the virtual CPU that a thread of the host runs,
 * the packets between VM entries and VM exits of the thread become a stream of the virtual CPU, in the machine of its
 * own. The stream is as if the machine had been recorded from within: packets are enabled at a VM entry, and disabled
 * at a VM exit. The stream of the host keeps the packets.
 */
#ifndef IMPORT_PERF_GUEST_FLOW_H
#define IMPORT_PERF_GUEST_FLOW_H

#include "import/perf/guest_packets.h"

/* A stretch of packets between a VM entry and the VM exit. */
struct perf_guest_stretch {
	uint32_t ring;  /* index of the ring */
	uint32_t cpu;   /* number of the virtual CPU, with the number of the machine */
	uint64_t psb;   /* position of the ring's last PSB before the stretch */
	uint64_t begin; /* position of the first packet with an address, or of a PSB in the virtual machine */
	uint64_t end;   /* position behind the last packet */
	uint64_t time;  /* time of the VM entry; 0: unknown */
	uint64_t last_ip;
	uint64_t cr3, vmcs;
	struct ptl_pt_packet mode; /* last MODE.Exec before the stretch; size 0: none */
	bool exits;                /* a VM exit or an overflow ends the stretch; else packets are missing */
};

/* A thread of a virtual CPU begins or stops to run on a CPU of the host. */
struct perf_guest_run {
	uint32_t cpu;
	uint32_t tid; /* thread that runs from then on */
	uint64_t time;
	size_t number; /* in the order of the records */
};

/* Zero-initialised: nothing is known. */
struct perf_guest_flow {
	struct perf_guest_ring *rings;
	size_t ring_count, ring_capacity;
	struct perf_guest_run *runs;
	size_t run_count, run_capacity;
	struct perf_guest_stretch *stretches;
	size_t stretch_count, stretch_capacity;
	uint64_t unknown;      /* stretches of threads that ID_INDEX does not name */
	bool has_samples;      /* `samples` is open */
	int samples;           /* temporary file with the packets of samples */
	uint64_t samples_size; /* bytes in `samples` */
};

struct perf_import;

/*
 * Adds bytes of a ring that were written to a stream. ring: number of the ring; SIZE_MAX: a new ring, whose number is
 * stored. Returns PTL_NO_MEMORY.
 */
int perf_guest_flow_bytes(struct perf_guest_flow *flow, size_t *ring, uint32_t cpu, uint32_t tid,
			  const struct perf_guest_piece *piece);
/* Appends a sample's packets to the file of samples. Returns PTL_SYSTEM. */
int perf_guest_flow_sample(struct perf_guest_flow *flow, const uint8_t *data, size_t size);
/* Notes the thread that runs on a CPU of the host from now on. Returns PTL_NO_MEMORY. */
int perf_guest_flow_switch(struct perf_guest_flow *flow, uint32_t cpu, uint32_t tid, uint64_t time);

/* Finds the stretches of all rings. Returns PTL_NO_MEMORY, PTL_TRUNCATED, PTL_SYSTEM. */
int perf_guest_flow_find(struct perf_import *import);
/* Writes a stream for each virtual CPU. Returns as perf_guest_flow_find, or an error of the writer. */
int perf_guest_flow_write(struct perf_import *import);
void perf_guest_flow_free(struct perf_guest_flow *flow);

/*
 * Whether a TSC packet of a virtual machine gives the time of the host: the machine's TSC has an offset, unless perf
 * inject --vm-time-correlation has corrected the packets. now: time before the packet; 0: unknown.
 */
bool perf_guest_flow_is_timed(const struct perf_import *import, const struct ptl_pt_packet *tsc, uint64_t now);

#endif
