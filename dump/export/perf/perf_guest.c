/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the virtual CPUs of an ID_INDEX record. */
#include "dump/export/perf/perf_guest.h"

#include <stdlib.h>
#include <string.h>

#include <ptl/trace.h>

#include "common/bytes.h"
#include "common/error.h"
#include "common/vector.h"
#include "perf/layout.h"
#include "perf/schemas.h"

#define VCPUS_MAX 4096u /* the lists are searched from the beginning; KVM permits 1024 virtual CPUs of a machine */

/* Returns the index of the machine that a process runs; the machines are numbered in the order of their entries. */
static uint32_t machine_of(struct dump_perf_guests *guests, uint32_t pid)
{
	for (size_t i = 0; i < guests->count; i++)
		if (guests->vcpus[i].pid == pid)
			return guests->vcpus[i].machine;
	return ++guests->machines;
}

static bool is_known(const struct dump_perf_guests *guests, const struct dump_perf_vcpu *vcpu)
{
	for (size_t i = 0; i < guests->count; i++)
		if (guests->vcpus[i].machine == vcpu->machine && guests->vcpus[i].cpu == vcpu->cpu)
			return true;
	return false;
}

static int add_vcpu(struct dump_perf_guests *guests, uint64_t tid, uint64_t pid, uint64_t cpu)
{
	struct dump_perf_vcpu vcpu = {.pid = (uint32_t)pid, .tid = (uint32_t)tid, .cpu = (uint32_t)cpu};

	if (!pid || pid >= PTL_NO_ID || guests->count == VCPUS_MAX)
		return 0;
	vcpu.machine = machine_of(guests, vcpu.pid);
	if (cpu >= PTL_MACHINE_IDS || tid >= PTL_NO_ID || is_known(guests, &vcpu))
		return 0;
	if (!common_vector_room(&guests->vcpus, guests->count, sizeof(*guests->vcpus)))
		return common_fail_memory("virtual CPUs", (guests->count + 1) * sizeof(*guests->vcpus));
	guests->vcpus[guests->count++] = vcpu;
	return 0;
}

int dump_perf_guests_note(struct dump_perf_guests *guests, const struct ptl_event *event)
{
	const uint8_t *payload = event->payload;
	uint64_t count;
	int status = 0;

	if (memcmp(&event->descriptor.provider, &perf_provider, sizeof(perf_provider)) != 0 ||
	    event->descriptor.id != PERF_RECORD_ID_INDEX || event->payload_size < 8)
		return 0;
	count = common_load64(payload);
	if (count > (event->payload_size - 8) / (PERF_INDEX_ENTRY + PERF_INDEX_GUEST))
		return 0;
	for (uint64_t i = 0; !status && i < count; i++) {
		const uint8_t *guest = payload + 8 + count * PERF_INDEX_ENTRY + i * PERF_INDEX_GUEST;

		status = add_vcpu(guests, common_load64(payload + 8 + i * PERF_INDEX_ENTRY + PERF_INDEX_THREAD),
				  common_load64(guest), common_load64(guest + 8));
	}
	return status;
}

uint32_t dump_perf_guests_machine(const struct dump_perf_guests *guests, uint32_t id)
{
	const uint32_t machine = id == PTL_NO_ID ? 0 : id / PTL_MACHINE_IDS;

	return machine <= guests->machines ? machine : 0;
}

bool dump_perf_guests_is_kernel(const struct dump_perf_guests *guests, uint32_t pid)
{
	return dump_perf_guests_machine(guests, pid) && pid % PTL_MACHINE_IDS == 0;
}

size_t dump_perf_guests_find(const struct dump_perf_guests *guests, uint32_t machine, uint32_t cpu)
{
	size_t first = guests->count;

	for (size_t i = 0; i < guests->count; i++) {
		if (guests->vcpus[i].machine != machine)
			continue;
		if (guests->vcpus[i].cpu == cpu % PTL_MACHINE_IDS)
			return i;
		if (first == guests->count)
			first = i;
	}
	return first < guests->count ? first : 0;
}

uint32_t dump_perf_guests_pid(const struct dump_perf_guests *guests, uint32_t machine)
{
	const size_t at = dump_perf_guests_find(guests, machine, 0);

	return at < guests->count ? guests->vcpus[at].pid : 0;
}

void dump_perf_guests_free(struct dump_perf_guests *guests)
{
	free(guests->vcpus);
	*guests = (struct dump_perf_guests){0};
}
