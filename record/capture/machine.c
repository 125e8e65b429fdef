/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the names and clocks of the machine. */
#include "record/capture/machine.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#define CLOCK_READINGS 16

/* Reads the brand string of the first CPU. */
static void read_cpu_name(char *name, size_t size)
{
	static const char key[] = "model name";
	FILE *file = fopen("/proc/cpuinfo", "re");
	char line[256];

	while (file && fgets(line, sizeof(line), file)) {
		const char *colon = strchr(line, ':');

		if (strncmp(line, key, strlen(key)) != 0 || !colon)
			continue;
		colon += 1 + strspn(colon + 1, " \t");
		snprintf(name, size, "%.*s", (int)strcspn(colon, "\n"), colon);
		break;
	}
	if (file)
		fclose(file);
}

/* Reads the trace clock and the wall clock with the smallest delay between them. */
static void relate_clocks(struct ptl_machine *machine)
{
	machine->wall_uncertainty = UINT64_MAX;
	for (int i = 0; i < CLOCK_READINGS; i++) {
		const uint64_t before = record_now();
		const int64_t wall = record_wall_now();
		const uint64_t after = record_now();

		if (after - before >= machine->wall_uncertainty)
			continue;
		machine->wall_uncertainty = after - before;
		machine->start_time = before + (after - before) / 2;
		machine->wall_start = wall;
	}
}

void record_machine_use_tsc(struct ptl_machine *machine, const struct record_tsc *tsc)
{
	record_clock_use_tsc(tsc);
	machine->clock = PTL_CLOCK_PERF;
	machine->tsc_zero = tsc->zero;
	machine->tsc_multiplier = tsc->multiplier;
	machine->tsc_shift = tsc->shift;
	machine->tsc_frequency = (uint64_t)(((__uint128_t)1000000000 << tsc->shift) / tsc->multiplier);
	relate_clocks(machine);
}

void record_machine_use_wall(struct ptl_machine *machine)
{
	record_clock_use_wall();
	machine->clock = PTL_CLOCK_SYSTEM;
	relate_clocks(machine);
}

/* Reads the id of the current boot, which is unique among machines and boots. */
static void read_boot_id(char *id, size_t size)
{
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");

	if (!file)
		return;
	if (fgets(id, (int)size, file))
		id[strcspn(id, "\n")] = '\0';
	fclose(file);
}

void record_machine_describe(const struct record_settings *settings, struct ptl_machine *machine)
{
	const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct utsname names;
	struct stat names_of;

	*machine = (struct ptl_machine){
		.cpus = cpus > 0 ? (uint32_t)cpus : 1,
		.mode = 64,
		.clock = settings->clock,
		.timing = settings->timing,
		.return_compression = settings->return_compression,
		.psb_period = settings->psb_period,
	};
	if (uname(&names) == 0) {
		snprintf(machine->hostname, sizeof(machine->hostname), "%.64s", names.nodename);
		snprintf(machine->kernel, sizeof(machine->kernel), "%.129s", names.release);
		snprintf(machine->architecture, sizeof(machine->architecture), "%.32s", names.machine);
	}
	read_cpu_name(machine->cpu_name, sizeof(machine->cpu_name));
	read_boot_id(machine->boot_id, sizeof(machine->boot_id));
	if (stat("/proc/self/ns/pid", &names_of) == 0)
		machine->pid_namespace = names_of.st_ino;
	relate_clocks(machine);
}
