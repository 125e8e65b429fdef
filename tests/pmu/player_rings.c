/* SPDX-License-Identifier: BSD-2-Clause */
/* Puts records into rings, as the kernel does. */
#include <string.h>
#include <unistd.h>

#include "tests/pmu/player.h"

static bool is_of(const struct pmu_event *event, int cpu)
{
	return cpu < 0 ? event->cpu == -1 && event->pid == (pid_t)pmu_real((uint32_t)-cpu) : event->cpu == cpu;
}

/* Returns whether this is the CPU's Intel PT event with mapped rings. */
static bool has_packets(const struct pmu_event *event, int cpu)
{
	return event->attr.type == pmu_type && event->aux && is_of(event, cpu);
}

static bool has_processes(const struct pmu_event *event, int cpu)
{
	return event->attr.type != pmu_type && event->cpu == cpu && (event->attr.mmap || event->attr.mmap2);
}

/* Returns whether the event reports code of all processes and no context switches. */
static bool has_code(const struct pmu_event *event, int cpu)
{
	return event->attr.type != pmu_type && event->cpu == cpu && event->pid == -1 && event->attr.text_poke &&
	       event->attr.ksymbol && !event->attr.context_switch;
}

static struct pmu_event *find_ring(bool (*is_it)(const struct pmu_event *event, int cpu), int cpu, const char *what)
{
	struct pmu_event *found = NULL;

	pthread_mutex_lock(&pmu_lock);
	for (size_t i = 0; !found && i < PMU_EVENTS_MAX; i++)
		if (pmu_events[i].used && pmu_events[i].memory >= 0 && pmu_events[i].page && is_it(&pmu_events[i], cpu))
			found = &pmu_events[i];
	pthread_mutex_unlock(&pmu_lock);
	if (!found)
		pmu_die("no rings of CPU %d for %s", cpu, what);
	return found;
}

struct pmu_event *pmu_ring_of(int cpu)
{
	return find_ring(has_packets, cpu, "Intel PT");
}

struct pmu_event *pmu_ring_of_processes(void)
{
	return find_ring(has_processes, 0, "processes");
}

struct pmu_event *pmu_ring_of_code(void)
{
	return find_ring(has_code, 0, "code of the kernel");
}

struct perf_event_mmap_page *pmu_page_of(const struct pmu_event *event)
{
	return (struct perf_event_mmap_page *)(void *)event->page;
}

void pmu_wake(const struct pmu_event *event)
{
	const uint64_t one = 1;

	(void)!write(event->fd, &one, sizeof(one));
}

void pmu_put(struct pmu_event *event, const void *data, size_t size)
{
	struct perf_event_mmap_page *page = pmu_page_of(event);
	const uint64_t head = page->data_head;
	uint8_t *ring = event->page + sysconf(_SC_PAGESIZE);

	for (size_t i = 0; i < size; i++)
		ring[(head + i) & (event->data_size - 1)] = ((const uint8_t *)data)[i];
	__atomic_store_n(&page->data_head, head + size, __ATOMIC_RELEASE);
	if (event->attr.watermark)
		pmu_wake(event);
}

/* Appends the sample ids behind a record, as the event requests. */
static size_t add_trailer(const struct pmu_event *event, uint8_t *at, const struct pmu_ids *ids)
{
	const uint64_t type = event->attr.sample_type, time = pmu_playing.start + ids->time;
	const uint32_t who[2] = {pmu_real(ids->pid), pmu_real(ids->tid)}, where[2] = {ids->cpu, 0};
	const uint64_t id = 7;
	size_t size = 0;

#define ADD(bit, value)                                                                                                \
	if (type & (bit)) {                                                                                            \
		memcpy(at + size, &(value), 8);                                                                        \
		size += 8;                                                                                             \
	}
	ADD(PERF_SAMPLE_TID, who)
	ADD(PERF_SAMPLE_TIME, time)
	ADD(PERF_SAMPLE_CPU, where)
	ADD(PERF_SAMPLE_IDENTIFIER, id)
#undef ADD
	return size;
}

/* Makes a record as in the ring. Returns the size. */
static size_t make(const struct pmu_event *event, uint8_t *data, struct perf_event_header header, const void *body,
		   size_t size, const struct pmu_ids *ids)
{
	memcpy(data + sizeof(header), body, size);
	size = sizeof(header) + (size + 7) / 8 * 8;
	size += add_trailer(event, data + size, ids);
	header.size = (uint16_t)size;
	memcpy(data, &header, sizeof(header));
	return size;
}

/* Puts a record. A loss is reported before the next record, if both have room. */
void pmu_record(struct pmu_event *event, uint32_t type, uint16_t misc, const void *body, size_t size,
		const struct pmu_ids *ids)
{
	const struct perf_event_mmap_page *page = pmu_page_of(event);
	uint8_t data[PMU_BODY_MAX + 256] = {0};
	const uint64_t lost[2] = {7, event->unsaid};
	size_t used = 0;

	if (event->unsaid)
		used = make(event, data, (struct perf_event_header){.type = PERF_RECORD_LOST}, lost, sizeof(lost), ids);
	used += make(event, data + used, (struct perf_event_header){.type = type, .misc = misc}, body, size, ids);
	if (page->data_head - __atomic_load_n(&page->data_tail, __ATOMIC_ACQUIRE) + used > event->data_size) {
		__atomic_add_fetch(&event->lost, 1, __ATOMIC_RELEASE);
		event->unsaid++;
		return;
	}
	event->unsaid = 0;
	pmu_put(event, data, used);
}

void pmu_sample(struct pmu_event *event, const void *body, size_t size)
{
	const struct perf_event_header header = {.type = PERF_RECORD_SAMPLE, .size = (uint16_t)(sizeof(header) + size)};
	uint8_t data[256];

	memcpy(data, &header, sizeof(header));
	memcpy(data + sizeof(header), body, size);
	pmu_put(event, data, header.size);
}
