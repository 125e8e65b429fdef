/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets into AUX areas, as the driver puts them there. */
#include "tests/pmu/player.h"

static uint64_t room_of(const struct pmu_event *event)
{
	const uint64_t taken = __atomic_load_n(&pmu_page_of(event)->aux_tail, __ATOMIC_ACQUIRE);

	return event->overwrites ? event->aux_size : event->aux_size - (pmu_page_of(event)->aux_head - taken);
}

static void put_aux(struct pmu_event *event, const uint8_t *bytes, size_t size)
{
	const uint64_t head = pmu_page_of(event)->aux_head;

	for (size_t i = 0; i < size; i++)
		event->aux[(head + i) & (event->aux_size - 1)] = bytes[i];
}

/* The record, then the head: what is before the head is in records. In an area that is written over, the head is a place. */
static void end_aux(struct pmu_event *event, size_t size, uint64_t flags, const struct pmu_ids *ids)
{
	struct perf_event_mmap_page *page = pmu_page_of(event);
	uint64_t body[3] = {page->aux_head, size, flags};
	uint64_t head = page->aux_head + size;

	if (event->overwrites) {
		head &= event->aux_size - 1;
		body[0] = head;
		body[1] = 0;
		body[2] |= PERF_AUX_FLAG_OVERWRITE;
	}
	if (size || flags)
		pmu_record(event, PERF_RECORD_AUX, 0, body, sizeof(body), ids);
	__atomic_store_n(&page->aux_head, head, __ATOMIC_RELEASE);
	pmu_wake(event);
}

/* The event, or another one of Intel PT that writes into its rings. */
static bool is_on(const struct pmu_event *event)
{
	bool found = false;

	for (size_t i = 0; !found && i < PMU_EVENTS_MAX; i++)
		found = pmu_events[i].used && (&pmu_events[i] == event || pmu_events[i].output == event) &&
			pmu_events[i].attr.type == pmu_type &&
			__atomic_load_n(&pmu_events[i].enabled, __ATOMIC_ACQUIRE);
	return found;
}

static void wait_until_enabled(const struct pmu_event *event)
{
	for (int i = 0; !is_on(event); i++) {
		if (i > PMU_READER_TIME * 5)
			pmu_die("Intel PT of CPU %d is not enabled again", event->cpu);
		pmu_sleep_a_little();
	}
}

void pmu_play_aux(int cpu, size_t first, size_t end, uint64_t flags, const struct pmu_ids *ids)
{
	struct pmu_event *event = pmu_ring_of(cpu);

	if (end > pmu_playing.size || first > end)
		pmu_die("packets %zu to %zu of %zu", first, end, pmu_playing.size);
	for (int i = 0; first < end; i++) {
		const uint64_t room = room_of(event);
		const size_t size = end - first < room ? end - first : (size_t)room;

		wait_until_enabled(event);
		if (i > PMU_READER_TIME * 5)
			pmu_die("nobody takes the packets of CPU %d", cpu);
		if (!size) {
			pmu_wake(event);
			pmu_sleep_a_little();
			continue;
		}
		put_aux(event, pmu_playing.packets + first, size);
		first += size;
		end_aux(event, size, first == end ? flags : 0, ids);
	}
	if (flags & PERF_AUX_FLAG_TRUNCATED && !event->overwrites)
		event->enabled = false;
}

void pmu_play_burst(int cpu, size_t first, size_t end, const struct pmu_ids *ids)
{
	struct pmu_event *event = pmu_ring_of(cpu);
	const uint64_t room = room_of(event);
	const bool full = end - first > room;
	const size_t size = full ? (size_t)room : end - first;

	wait_until_enabled(event);
	put_aux(event, pmu_playing.packets + first, size);
	if (full)
		event->enabled = false;
	end_aux(event, size, full ? PERF_AUX_FLAG_TRUNCATED : 0, ids);
	pmu_log("burst cpu=%d bytes=%zu lost=%zu\n", cpu, size, end - first - size);
}
