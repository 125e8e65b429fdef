/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the TSC conversion from the page of a perf event. */
#include "record/perf/tsc.h"

#include <linux/perf_event.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "record/perf/event.h"

#define ATTEMPTS 1000

/* The kernel changes the page while `lock` is odd. */
static bool read_page(const struct perf_event_mmap_page *page, struct record_tsc *tsc)
{
	for (int i = 0; i < ATTEMPTS; i++) {
		const uint32_t lock = __atomic_load_n(&page->lock, __ATOMIC_ACQUIRE);
		const bool known = page->cap_user_time_zero;

		*tsc = (struct record_tsc){
			.zero = page->time_zero, .multiplier = page->time_mult, .shift = (uint8_t)page->time_shift};
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (!(lock & 1) && __atomic_load_n(&page->lock, __ATOMIC_RELAXED) == lock)
			return known && tsc->multiplier && page->time_shift < 64;
	}
	return false;
}

bool record_tsc_read(struct record_tsc *tsc)
{
	const size_t size = (size_t)sysconf(_SC_PAGESIZE);
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	const int fd = record_perf_event_open(&attr, 0, -1);
	bool known = false;
	void *page;

	if (fd < 0)
		return false;
	page = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	if (page != MAP_FAILED) {
		known = read_page(page, tsc);
		munmap(page, size);
	}
	close(fd);
	return known;
}
