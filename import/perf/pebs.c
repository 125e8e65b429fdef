/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the groups of blocks in packets. */
#include "import/perf/pebs.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "flow/segment/guest.h"
#include "format/pt/tsc.h"
#include "import/perf/import.h"

/* Block types by position in a group. */
static const uint8_t block_types[PERF_PEBS_BLOCKS] = {
	[PERF_PEBS_REGISTERS] = 1,  [PERF_PEBS_BASIC] = 4,       [PERF_PEBS_MEMORY] = 5,   [PERF_PEBS_BRANCHES_0] = 8,
	[PERF_PEBS_BRANCHES_1] = 9, [PERF_PEBS_BRANCHES_2] = 10, [PERF_PEBS_VECTORS] = 16,
};

bool perf_pebs_wanted(const struct perf_attrs *attrs)
{
	for (size_t i = 0; i < attrs->count; i++)
		if (attrs->list[i].flags & PERF_ATTR_FLAG_AUX_OUTPUT)
			return true;
	return false;
}

static enum perf_pebs_block find_block(uint8_t type)
{
	size_t i = 0;

	while (i < PERF_PEBS_BLOCKS && block_types[i] != type)
		i++;
	return (enum perf_pebs_block)i;
}

static void forget_group(struct perf_pebs *pebs)
{
	memset(pebs->group.present, 0, sizeof(pebs->group.present));
	pebs->block = PERF_PEBS_BLOCKS;
}

/* Returns the time of the last TSC packet; 0: none. */
static uint64_t packet_time(const struct perf_import *import, const struct perf_pebs_group *group)
{
	const uint64_t lowest = format_tsc_lowest(&import->machine);

	return group->tsc ? format_tsc_time(&import->machine, format_tsc_extend(lowest, group->tsc)) : 0;
}

/* The processor's own time of the sample is more exact than the last packet's. */
static uint64_t time_of(const struct perf_import *import, const struct perf_pebs_group *group)
{
	if (group->present[PERF_PEBS_BASIC] & 1u << PERF_PEBS_BASIC_TIME)
		return format_tsc_time(&import->machine, group->items[PERF_PEBS_BASIC][PERF_PEBS_BASIC_TIME]);
	return packet_time(import, group);
}

static bool is_empty(const struct perf_pebs_group *group)
{
	uint32_t all = 0;

	for (size_t i = 0; i < PERF_PEBS_BLOCKS; i++)
		all |= group->present[i];
	return !all;
}

/* Lets the group wait for its time: the thread that then runs on the CPU is the sample's. */
static int end_group(struct perf_import *import, struct perf_pebs *pebs)
{
	const struct perf_record record = {
		.type = PERF_PEBS_RECORD, .size = sizeof(pebs->group), .body = (const uint8_t *)&pebs->group};
	struct perf_sample sample = {.has_time = true};
	int status = 0;

	/* A trace without host packets was recorded within the machine. */
	pebs->group.guest = pebs->guest && import->aux_host;
	pebs->group.time = sample.time = time_of(import, &pebs->group);
	if (!is_empty(&pebs->group))
		status = perf_order_push(&import->order, &record, &sample, record.size);
	forget_group(pebs);
	return status;
}

/* The TSC of a guest in a host's packets may have an offset. */
static void take_tsc(const struct perf_import *import, struct perf_pebs *pebs, const struct ptl_pt_packet *packet)
{
	if (!pebs->guest || !import->aux_host ||
	    perf_guest_flow_is_timed(import, packet, packet_time(import, &pebs->group)))
		pebs->group.tsc = packet->tsc.tsc;
}

static int take_packet(struct perf_import *import, struct perf_pebs *pebs, const struct ptl_pt_packet *packet)
{
	switch (packet->kind) {
	case PTL_PT_TSC:
		take_tsc(import, pebs, packet);
		return 0;
	case PTL_PT_BBP:
		pebs->block = find_block(packet->bbp.type);
		pebs->group.is_32_bit = packet->bbp.bip_bytes == 4;
		return 0;
	case PTL_PT_BIP:
		if (pebs->block != PERF_PEBS_BLOCKS && packet->bip.id < PERF_PEBS_ITEMS) {
			pebs->group.present[pebs->block] |= 1u << packet->bip.id;
			pebs->group.items[pebs->block][packet->bip.id] = packet->bip.payload;
		}
		return 0;
	case PTL_PT_BEP:
		return end_group(import, pebs);
	case PTL_PT_OVF:
		forget_group(pebs);
		return 0;
	default:
		return 0;
	}
}

/* Reads packets up to the last whole packet. *used: bytes of these packets. */
static int take_packets(struct perf_import *import, struct perf_pebs *pebs, const uint8_t *data, size_t size,
			size_t *used)
{
	const struct flow_errata errata = flow_errata_of(&import->machine);
	size_t at = 0;
	int status = 0;

	while (!status && at < size) {
		struct ptl_pt_packet packet;
		int length;

		if (!pebs->synchronised) {
			at = ptl_pt_find_psb(data, size, at);
			/* The last bytes may begin a PSB. */
			if (at == size) {
				at = size > PTL_PT_PSB_SIZE - 1 && size - (PTL_PT_PSB_SIZE - 1) > *used
					     ? size - (PTL_PT_PSB_SIZE - 1)
					     : *used;
				break;
			}
			pebs->context = (struct ptl_pt_context){0};
			pebs->synchronised = true;
			forget_group(pebs);
		}
		length = ptl_pt_decode(data + at, size - at, &pebs->context, &packet);
		if (length == PTL_TRUNCATED)
			break;
		if (length > 0) {
			flow_guest_follow(&packet, data + at, size - at, &errata, &pebs->guest);
			status = take_packet(import, pebs, &packet);
		}
		pebs->synchronised = length > 0;
		at += length > 0 ? (size_t)length : 1;
		*used = at;
	}
	*used = at;
	return status;
}

int perf_pebs_scan(struct perf_import *import, struct perf_pebs *pebs, const uint8_t *data, size_t size)
{
	const size_t whole = pebs->carried_size + size;
	uint8_t *bytes = malloc(whole + 1);
	size_t used = 0;
	int status;

	if (!bytes)
		return common_fail_memory("packets", whole);
	memcpy(bytes, pebs->carried, pebs->carried_size);
	memcpy(bytes + pebs->carried_size, data, size);
	status = take_packets(import, pebs, bytes, whole, &used);
	/* Fewer bytes than a packet are left. */
	pebs->carried_size = whole - used < sizeof(pebs->carried) ? whole - used : 0;
	memcpy(pebs->carried, bytes + used, pebs->carried_size);
	free(bytes);
	return status;
}
