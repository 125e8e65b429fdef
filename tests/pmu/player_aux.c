/* SPDX-License-Identifier: BSD-2-Clause */
/* Puts packets into AUX areas, as the driver does. */
#include <string.h>
#include <time.h>

#include "tests/pmu/player.h"

static uint64_t room_of(const struct pmu_event *event)
{
	const uint64_t taken = __atomic_load_n(&pmu_page_of(event)->aux_tail, __ATOMIC_ACQUIRE);

	return event->overwrites ? event->aux_size : event->aux_size - (pmu_page_of(event)->aux_head - taken);
}

static void put_aux(struct pmu_event *event, const uint8_t *bytes, size_t size)
{
	const uint64_t head = pmu_page_of(event)->aux_head;

	for (size_t done = 0, part; done < size; done += part) {
		const size_t at = (head + done) & (event->aux_size - 1);

		part = size - done < event->aux_size - at ? size - done : event->aux_size - at;
		memcpy(event->aux + at, bytes + done, part);
	}
}

/*
 * Writes the AUX record before the head: bytes before the head must have records. In an overwritten area, the head is
 * only a position.
 */
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

/* Returns whether the event, or another Intel PT event with the same rings, is enabled. */
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

/* Returns whether the packets of the CPU are paused: every enabled Intel PT event with these rings is paused. */
static bool is_paused(const struct pmu_event *event)
{
	bool paused = false;

	for (size_t i = 0; i < PMU_EVENTS_MAX; i++) {
		const struct pmu_event *other = &pmu_events[i];

		if (!other->used || other->attr.type != pmu_type || (other != event && other->output != event) ||
		    !__atomic_load_n(&other->enabled, __ATOMIC_ACQUIRE))
			continue;
		if (!other->paused)
			return false;
		paused = true;
	}
	return paused;
}

void pmu_play_hit(int cpu, uint32_t action, const struct pmu_ids *ids)
{
	struct pmu_event *event = pmu_ring_of(cpu), *member = NULL;
	uint64_t body[4];

	for (size_t i = 0; i < PMU_EVENTS_MAX && !member; i++)
		if (pmu_events[i].used && pmu_events[i].leader && pmu_events[i].action == action &&
		    pmu_events[i].output == event)
			member = &pmu_events[i];
	if (!member)
		pmu_die("no event of CPU %d has the action %u", cpu, action);
	wait_until_enabled(event);
	member->leader->paused = action == PMU_PAUSE;
	body[0] = pmu_id(member);
	body[1] = pmu_real(ids->pid) | (uint64_t)pmu_real(ids->tid) << 32;
	body[2] = pmu_playing.start + ids->time;
	body[3] = ids->cpu;
	pmu_sample(event, body, sizeof(body));
}

void pmu_play_aux(int cpu, size_t first, size_t end, uint64_t flags, const struct pmu_ids *ids)
{
	struct pmu_event *event = pmu_ring_of(cpu);

	if (end > pmu_playing.size || first > end)
		pmu_die("packets %zu to %zu of %zu", first, end, pmu_playing.size);
	wait_until_enabled(event);
	if (is_paused(event)) {
		pmu_log("paused cpu=%d bytes=%zu\n", cpu, end - first);
		return;
	}
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

/* ---- as much as a CPU makes ------------------------------------------------------------------ */

#define CHUNK ((size_t)128 << 10)

struct flood {
	uint64_t put, lost;
	size_t at; /* position in the file */
};

static uint64_t clock_time(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/*
 * Puts a chunk. Bytes without room are lost, and the event stops until restarted: meanwhile the CPU makes no packets.
 */
static void put_chunk(struct flood *flood, struct pmu_event *event, const struct pmu_ids *ids)
{
	const uint64_t room = room_of(event);
	const size_t size = room < CHUNK ? (size_t)room : CHUNK;
	const bool full = size < CHUNK;

	if (flood->at + CHUNK > pmu_playing.size)
		flood->at = 0;
	if (!is_on(event)) {
		flood->lost += CHUNK;
		return;
	}
	put_aux(event, pmu_playing.packets + flood->at, size);
	flood->at += CHUNK;
	flood->put += size;
	flood->lost += CHUNK - size;
	if (full)
		event->enabled = false;
	end_aux(event, size, full ? PERF_AUX_FLAG_TRUNCATED : 0, ids);
}

static void wait_for_room(struct pmu_event *event)
{
	for (int i = 0; room_of(event) < CHUNK; i++) {
		if (i > PMU_READER_TIME * 5)
			pmu_die("nobody takes the packets of CPU %d", event->cpu);
		pmu_wake(event);
		pmu_sleep_a_little();
	}
}

void pmu_play_flood(unsigned cpus, uint64_t rate, uint64_t bytes, const struct pmu_ids *ids)
{
	struct flood flood = {0};
	const uint64_t begun = clock_time(CLOCK_MONOTONIC), cpu_time = clock_time(CLOCK_THREAD_CPUTIME_ID);

	if (pmu_playing.size < CHUNK)
		pmu_die("fewer packets than %zu bytes", CHUNK);
	for (uint64_t done = 0; done < bytes; done += CHUNK) {
		while (rate && clock_time(CLOCK_MONOTONIC) - begun < done * 1000 / (rate / 1000000))
			pmu_sleep_a_little();
		for (unsigned cpu = 0; cpu < cpus; cpu++) {
			struct pmu_event *event = pmu_ring_of((int)cpu);

			if (!rate)
				wait_for_room(event);
			put_chunk(&flood, event, ids);
		}
	}
	pmu_log("flood bytes=%llu lost=%llu cpu_ns=%llu wall_ns=%llu\n", (unsigned long long)flood.put,
		(unsigned long long)flood.lost, (unsigned long long)(clock_time(CLOCK_THREAD_CPUTIME_ID) - cpu_time),
		(unsigned long long)(clock_time(CLOCK_MONOTONIC) - begun));
}
