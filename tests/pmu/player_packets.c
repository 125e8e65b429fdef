/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads packets from files and adjusts their times. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ptl/pt.h>

#include "tests/pmu/player.h"

static uint64_t tsc_at(uint64_t nanoseconds)
{
	const uint64_t time = pmu_playing.start + nanoseconds - pmu_clock.zero;

	return (uint64_t)((((__uint128_t)time << pmu_clock.shift) + pmu_clock.mult - 1) / pmu_clock.mult);
}

/* Converts TSC packets to this machine's TSC. Restarts at each PSB, as packets before a PSB may be cut off. */
static void set_times(uint64_t base)
{
	struct ptl_pt_context context = {0};
	size_t at = 0;

	while (at < pmu_playing.size) {
		struct ptl_pt_packet packet;
		const int used = ptl_pt_decode(pmu_playing.packets + at, pmu_playing.size - at, &context, &packet);

		if (used <= 0) {
			at = ptl_pt_find_psb(pmu_playing.packets, pmu_playing.size, at + 1);
			continue;
		}
		if (packet.kind == PTL_PT_TSC) {
			const uint64_t tsc = tsc_at(packet.tsc.tsc - base);

			for (unsigned i = 0; i < 7; i++)
				pmu_playing.packets[at + 1 + i] = (uint8_t)(tsc >> 8 * i);
		}
		at += (size_t)used;
	}
}

void pmu_load_packets(const char *name)
{
	char path[8192];
	struct stat info;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", pmu_folder(), name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &info) < 0)
		pmu_die("%s: %s", path, strerror(errno));
	free(pmu_playing.packets);
	pmu_playing.size = (size_t)info.st_size;
	pmu_playing.packets = malloc(pmu_playing.size + 1);
	if (!pmu_playing.packets || read(fd, pmu_playing.packets, pmu_playing.size) != info.st_size)
		pmu_die("%s cannot be read", path);
	close(fd);
}

void pmu_load_timed(uint64_t base, const char *name)
{
	pmu_load_packets(name);
	set_times(base);
}
