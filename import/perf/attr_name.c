/* SPDX-License-Identifier: BSD-2-Clause */
/* Default names of events, by type and config as perf names events. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "import/perf/attr.h"

#define PERF_TYPE_HARDWARE 0
#define PERF_TYPE_SOFTWARE 1
#define PERF_TYPE_HW_CACHE 3
#define PERF_TYPE_RAW 4
#define PERF_TYPE_BREAKPOINT 5

#define EXCLUDE_USER (1ull << 4)
#define EXCLUDE_KERNEL (1ull << 5)
#define PRECISE_SHIFT 15

static const char *const hardware[] = {
	"cycles",        "instructions", "cache-references",        "cache-misses",           "branches",
	"branch-misses", "bus-cycles",   "stalled-cycles-frontend", "stalled-cycles-backend", "ref-cycles"};
static const char *const software[] = {"cpu-clock",        "task-clock",   "page-faults",  "context-switches",
				       "cpu-migrations",   "minor-faults", "major-faults", "alignment-faults",
				       "emulation-faults", "dummy",        "bpf-output",   "cgroup-switches"};
static const char *const caches[] = {"L1-dcache", "L1-icache", "LLC", "dTLB", "iTLB", "branch", "node"};
static const char *const operations[] = {"load", "store", "prefetch"};

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static void name_cache(uint64_t config, char *name, size_t room)
{
	const unsigned cache = config & 0xff, operation = config >> 8 & 0xff, result = config >> 16 & 0xff;

	if (config >> 24 || cache >= COUNT(caches) || operation >= COUNT(operations) || result > 1)
		snprintf(name, room, "hw-cache/config=0x%" PRIx64 "/", config);
	else if (result)
		snprintf(name, room, "%s-%s-misses", caches[cache], operations[operation]);
	else
		snprintf(name, room, "%s-%ss", caches[cache], operations[operation]);
}

static void name_kind(const struct perf_attr *attr, char *name, size_t room)
{
	const uint64_t config = attr->config;

	if (attr->type == PERF_TYPE_HARDWARE && config < COUNT(hardware))
		snprintf(name, room, "%s", hardware[config]);
	else if (attr->type == PERF_TYPE_SOFTWARE && config < COUNT(software))
		snprintf(name, room, "%s", software[config]);
	else if (attr->type == PERF_TYPE_TRACEPOINT)
		snprintf(name, room, "tracepoint/config=0x%" PRIx64 "/", config);
	else if (attr->type == PERF_TYPE_HW_CACHE)
		name_cache(config, name, room);
	else if (attr->type == PERF_TYPE_RAW)
		snprintf(name, room, "raw/config=0x%" PRIx64 "/", config);
	else if (attr->type == PERF_TYPE_BREAKPOINT)
		snprintf(name, room, "mem/config=0x%" PRIx64 "/", config);
	else
		snprintf(name, room, "type=%" PRIu32 "/config=0x%" PRIx64 "/", attr->type, config);
}

/* Appends modifiers as in perf's command line: ":u", ":k", ":p". */
static void add_modifiers(uint64_t flags, char *name, size_t room)
{
	const unsigned precise = flags >> PRECISE_SHIFT & 3;
	const bool limited = flags & (EXCLUDE_USER | EXCLUDE_KERNEL);
	const size_t used = strlen(name);

	if (limited || precise)
		snprintf(name + used, room - used, ":%s%s%.*s", limited && !(flags & EXCLUDE_USER) ? "u" : "",
			 limited && !(flags & EXCLUDE_KERNEL) ? "k" : "", (int)precise, "ppp");
}

void perf_attr_name(struct perf_attr *attr)
{
	name_kind(attr, attr->name, sizeof(attr->name));
	if (attr->type != PERF_TYPE_TRACEPOINT)
		add_modifiers(attr->flags, attr->name, sizeof(attr->name));
}
