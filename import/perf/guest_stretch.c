/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the packets of virtual CPUs between the packets of the host. */
#include <stdlib.h>
#include <unistd.h>

#include "common/error.h"
#include "common/file.h"
#include "common/partition.h"
#include "common/program/interrupt.h"
#include "common/vector.h"
#include "flow/segment/clock.h"
#include "format/pt/tsc.h"
#include "import/perf/guest_flow.h"
#include "import/perf/import.h"

#define TIMED_WITHIN 1000000000u /* maximum nanoseconds from the last time to a corrected TSC */
#define CHECK_EVERY 65536u       /* packets between checks for signals */

int perf_guest_flow_bytes(struct perf_guest_flow *flow, size_t *ring, uint32_t cpu, uint32_t tid,
			  const struct perf_guest_piece *piece)
{
	struct perf_guest_ring *found;

	if (*ring == SIZE_MAX) {
		if (COMMON_VECTOR_RESERVE(flow->rings, flow->ring_capacity, flow->ring_count + 1, "rings"))
			return PTL_NO_MEMORY;
		*ring = flow->ring_count++;
		flow->rings[*ring] = (struct perf_guest_ring){.cpu = cpu, .tid = tid};
	}
	found = &flow->rings[*ring];
	if (COMMON_VECTOR_RESERVE(found->pieces, found->capacity, found->count + 1, "records of Intel PT"))
		return PTL_NO_MEMORY;
	found->pieces[found->count++] = *piece;
	return 0;
}

int perf_guest_flow_sample(struct perf_guest_flow *flow, const uint8_t *data, size_t size)
{
	int status = flow->has_samples ? 0 : common_open_temporary(&flow->samples);

	if (status)
		return status;
	flow->has_samples = true;
	status = common_write_temporary(flow->samples, data, size, flow->samples_size);
	flow->samples_size += size;
	return status;
}

int perf_guest_flow_switch(struct perf_guest_flow *flow, uint32_t cpu, uint32_t tid, uint64_t time)
{
	if (COMMON_VECTOR_RESERVE(flow->runs, flow->run_capacity, flow->run_count + 1, "context switches"))
		return PTL_NO_MEMORY;
	flow->runs[flow->run_count] = (struct perf_guest_run){cpu, tid, time, flow->run_count};
	flow->run_count++;
	return 0;
}

void perf_guest_flow_free(struct perf_guest_flow *flow)
{
	for (size_t i = 0; i < flow->ring_count; i++)
		free(flow->rings[i].pieces);
	free(flow->rings);
	free(flow->runs);
	free(flow->stretches);
	if (flow->has_samples)
		close(flow->samples);
	*flow = (struct perf_guest_flow){0};
}

bool perf_guest_flow_is_timed(const struct perf_import *import, const struct ptl_pt_packet *tsc, uint64_t now)
{
	const uint64_t lowest = format_tsc_lowest(&import->machine);
	const uint64_t time = format_tsc_time(&import->machine, format_tsc_extend(lowest, tsc->tsc.tsc));

	/* Without a time, the packet is compared with the times of all records. */
	if (!now && time >= import->machine.start_time && time <= import->now)
		return time != 0;
	return now && time >= now && time - now <= TIMED_WITHIN;
}

static int compare_runs(const void *a_, const void *b_)
{
	const struct perf_guest_run *a = a_, *b = b_;

	if (a->cpu != b->cpu)
		return a->cpu < b->cpu ? -1 : 1;
	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return a->number < b->number ? -1 : 1;
}

/* Returns the thread that runs on a CPU at a time; PTL_NO_ID: unknown. */
static uint32_t thread_at(const struct perf_guest_flow *flow, uint32_t cpu, uint64_t time)
{
	const size_t end = COMMON_PARTITION(flow->run_count, i,
					    flow->runs[i].cpu < cpu ||
						    (flow->runs[i].cpu == cpu && flow->runs[i].time <= time));

	return end && flow->runs[end - 1].cpu == cpu ? flow->runs[end - 1].tid : PTL_NO_ID;
}

/* The search in a ring. */
struct search {
	struct perf_import *import;
	const struct perf_guest_ring *ring;
	struct perf_guest_reader reader;
	struct flow_clock clock;
	struct perf_guest_stretch next; /* state before the current packet, for the next stretch */
	bool guest;                     /* packets are of a virtual machine */
	bool within;                    /* the last element of stretches has not ended */
	bool known;                     /* its virtual CPU is known */
};

/* Begins a stretch at a packet. */
static int begin_stretch(struct search *search, const struct perf_guest_packet *packet, uint64_t last_ip)
{
	struct perf_import *import = search->import;
	struct perf_guest_flow *flow = &import->guest_flow;
	struct perf_guest_stretch *stretch = &search->next;
	uint32_t tid = search->ring->tid;

	stretch->begin = packet->position;
	stretch->last_ip = last_ip;
	stretch->time = flow_clock_time(&search->clock);
	if (search->ring->cpu != PTL_NO_CPU && search->import->aux_switches)
		tid = thread_at(flow, search->ring->cpu, stretch->time);
	search->within = true;
	search->known = perf_guests_runs(&import->guests, tid, &stretch->cpu);
	flow->unknown += !search->known;
	if (!search->known)
		return 0;
	if (COMMON_VECTOR_RESERVE(flow->stretches, flow->stretch_capacity, flow->stretch_count + 1,
				  "stretches of virtual machines"))
		return PTL_NO_MEMORY;
	flow->stretches[flow->stretch_count++] = *stretch;
	return 0;
}

static void end_stretch(struct search *search, uint64_t end, bool exits)
{
	struct perf_guest_flow *flow = &search->import->guest_flow;

	if (search->within && search->known) {
		flow->stretches[flow->stretch_count - 1].end = end;
		flow->stretches[flow->stretch_count - 1].exits = exits;
	}
	search->within = false;
}

/* Handles a PSB. Its PSB+ tells whether packets are of a virtual machine. */
static int take_psb(struct search *search, const struct perf_guest_packet *packet)
{
	struct flow_psb_plus psb_plus;

	perf_guest_reader_psb_plus(&search->reader, &psb_plus);
	search->guest = psb_plus.guest;
	if (psb_plus.has_paging)
		search->next.cr3 = psb_plus.cr3;
	if (!search->guest || packet->lost)
		end_stretch(search, packet->position, false);
	search->next.psb = packet->position;
	return search->guest && !search->within ? begin_stretch(search, packet, 0) : 0;
}

static void take_paging(struct search *search, const struct perf_guest_packet *packet)
{
	search->guest = packet->packet.pip.non_root;
	search->next.cr3 = packet->packet.pip.cr3;
	if (!search->guest)
		end_stretch(search, packet->position, true);
}

static int take_packet(struct search *search, const struct perf_guest_packet *packet, uint64_t last_ip)
{
	switch (packet->packet.kind) {
	case PTL_PT_PSB:
		return take_psb(search, packet);
	case PTL_PT_PIP:
		take_paging(search, packet);
		return 0;
	case PTL_PT_VMCS:
		search->next.vmcs = packet->packet.vmcs.base;
		return 0;
	case PTL_PT_MODE_EXEC:
		search->next.mode = packet->packet;
		return 0;
	case PTL_PT_OVF:
		/* The overflow may hide a VM exit. */
		end_stretch(search, packet->position + packet->packet.size, true);
		search->guest = false;
		return 0;
	case PTL_PT_TSC:
		if (!search->guest ||
		    perf_guest_flow_is_timed(search->import, &packet->packet, flow_clock_time(&search->clock)))
			flow_clock_packet(&search->clock, &packet->packet);
		return 0;
	case PTL_PT_TMA:
		if (!search->guest)
			flow_clock_packet(&search->clock, &packet->packet);
		return 0;
	case PTL_PT_TIP:
	case PTL_PT_TIP_PGE:
		return search->guest && !search->within && packet->has_ip ? begin_stretch(search, packet, last_ip) : 0;
	default:
		flow_clock_packet(&search->clock, &packet->packet);
		return 0;
	}
}

static int search_ring(struct perf_import *import, size_t number)
{
	struct search search = {.import = import, .ring = &import->guest_flow.rings[number]};
	const struct flow_errata errata = flow_errata_of(&import->machine);
	struct perf_guest_packet packet;
	uint64_t packets = 0, end = 0, last_ip = 0;
	int status = perf_guest_reader_open(&search.reader, search.ring, &errata);

	search.next.ring = (uint32_t)number;
	flow_clock_start(&search.clock, &import->machine);
	while (!status && (status = perf_guest_reader_next(&search.reader, &packet)) > 0) {
		if (packet.lost)
			end_stretch(&search, end, false);
		status = ++packets % CHECK_EVERY ? 0 : common_interrupt_check();
		if (!status)
			status = take_packet(&search, &packet, last_ip);
		end = packet.position + packet.packet.size;
		last_ip = search.reader.last_ip;
	}
	end_stretch(&search, end, false);
	perf_guest_reader_close(&search.reader);
	return status;
}

static int compare_stretches(const void *a_, const void *b_)
{
	const struct perf_guest_stretch *a = a_, *b = b_;
	const uint64_t keys[][2] = {{a->cpu, b->cpu}, {a->time, b->time}, {a->ring, b->ring}, {a->begin, b->begin}};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (keys[i][0] != keys[i][1])
			return keys[i][0] < keys[i][1] ? -1 : 1;
	return 0;
}

int perf_guest_flow_find(struct perf_import *import)
{
	struct perf_guest_flow *flow = &import->guest_flow;
	int status = 0;

	if (flow->run_count)
		qsort(flow->runs, flow->run_count, sizeof(*flow->runs), compare_runs);
	for (size_t i = 0; !status && i < flow->ring_count; i++)
		status = search_ring(import, i);
	if (flow->stretch_count)
		qsort(flow->stretches, flow->stretch_count, sizeof(*flow->stretches), compare_stretches);
	return status;
}
