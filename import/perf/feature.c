/* SPDX-License-Identifier: BSD-2-Clause */
/* Features: perf's description of the machine and of the recorded events. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "import/perf/import.h"

#define FEATURE_MAX (64u << 20) /* maximum bytes of a feature */
#define EVENT_UPDATE_NAME 2u

/* Reads a string: u32 size with padding, then bytes up to a zero. Returns the length. */
static size_t read_string(struct common_cursor *cursor, const char **text)
{
	const uint32_t size = common_read32(cursor);

	*text = (const char *)common_read_bytes(cursor, size);
	return *text ? strnlen(*text, size) : 0;
}

static void copy_string(struct common_cursor cursor, char *to, size_t size)
{
	const char *text;
	const size_t length = read_string(&cursor, &text);

	if (text)
		snprintf(to, size, "%.*s", (int)(length < size ? length : size - 1), text);
}

/* Parses "GenuineIntel,6,85,7": vendor, family, model, stepping. */
static void take_cpu(struct common_cursor cursor, struct ptl_machine *machine)
{
	char text[256] = "", vendor[64] = "";
	unsigned family = 0, model = 0, stepping = 0;

	copy_string(cursor, text, sizeof(text));
	if (sscanf(text, "%63[^,],%u,%u,%u", vendor, &family, &model, &stepping) != 4 || family > UINT16_MAX ||
	    model > UINT8_MAX || stepping > UINT8_MAX)
		return;
	machine->vendor = strcmp(vendor, "GenuineIntel") ? PTL_VENDOR_OTHER : PTL_VENDOR_INTEL;
	machine->family = (uint16_t)family;
	machine->model = (uint8_t)model;
	machine->stepping = (uint8_t)stepping;
}

/* Parses: u32 count, u32 size of an attribute; for each event: attribute, u32 count of ids, name, ids. */
static void take_event_names(struct perf_import *import, struct common_cursor cursor)
{
	const uint32_t count = common_read32(&cursor), size = common_read32(&cursor);
	uint32_t named = 0;

	for (uint32_t i = 0; i < count && !cursor.failed; i++) {
		const char *name;
		uint32_t ids;
		size_t length;

		common_read_bytes(&cursor, size);
		ids = common_read32(&cursor);
		length = read_string(&cursor, &name);
		if (ids > common_cursor_left(&cursor) / 8)
			break;
		common_read_bytes(&cursor, (size_t)ids * 8);
		if (name)
			perf_attrs_name(&import->attrs, import->first_attr + i, name, length);
		named += !cursor.failed;
	}
	import->outcome.left_features += named < count;
}

/* Parses: u32 version, u32 clock id, u64 wall time, u64 time of the clock at the same moment. */
static void take_clock(struct perf_import *import, struct common_cursor cursor)
{
	const uint32_t version = common_read32(&cursor);
	const uint32_t clock = common_read32(&cursor);
	const uint64_t wall = common_read64(&cursor), time = common_read64(&cursor);

	(void)clock;
	if (cursor.failed || version != 1)
		return;
	import->machine.wall_start = (int64_t)(wall + (import->machine.start_time - time));
	/* perf reads the two clocks one after the other. */
	import->machine.wall_uncertainty = 1000000;
}

static int take_build_ids(struct perf_import *import, struct common_cursor cursor)
{
	int status = 0;

	while (!status && common_cursor_left(&cursor) > PERF_RECORD_HEADER_SIZE) {
		uint16_t misc, size;
		const uint8_t *data = NULL;

		common_read32(&cursor);
		misc = common_read16(&cursor);
		size = common_read16(&cursor);
		if (size >= PERF_RECORD_HEADER_SIZE)
			data = common_read_bytes(&cursor, size - PERF_RECORD_HEADER_SIZE);
		if (!data) {
			import->outcome.left_features++;
			break;
		}
		status = perf_build_id(import, misc, data, size - PERF_RECORD_HEADER_SIZE);
	}
	return status;
}

static int take_programs(struct perf_import *import, const uint8_t *data, size_t size)
{
	int status = perf_bpf_read(&import->kernel.bpf, data, size);

	import->outcome.left_features += import->kernel.bpf.damaged > 0;
	return status;
}

static int take_feature(struct perf_import *import, uint64_t feature, const uint8_t *data, size_t size)
{
	struct ptl_machine *machine = &import->machine;
	struct common_cursor cursor = common_cursor(data, size);

	switch (feature) {
	case PERF_FEATURE_BUILD_ID:
		return take_build_ids(import, cursor);
	case PERF_FEATURE_TRACING_DATA:
		return perf_tracing_add(&import->tracing, data, size);
	case PERF_FEATURE_BPF_PROG_INFO:
		return take_programs(import, data, size);
	case PERF_FEATURE_HOSTNAME:
		copy_string(cursor, machine->hostname, sizeof(machine->hostname));
		break;
	case PERF_FEATURE_OSRELEASE:
		copy_string(cursor, machine->kernel, sizeof(machine->kernel));
		break;
	case PERF_FEATURE_ARCH:
		copy_string(cursor, machine->architecture, sizeof(machine->architecture));
		break;
	case PERF_FEATURE_NRCPUS: /* available CPUs, online CPUs */
		common_read32(&cursor);
		machine->cpus = common_read32(&cursor);
		break;
	case PERF_FEATURE_CPUDESC:
		copy_string(cursor, machine->cpu_name, sizeof(machine->cpu_name));
		break;
	case PERF_FEATURE_CPUID:
		take_cpu(cursor, machine);
		break;
	case PERF_FEATURE_EVENT_DESC:
		take_event_names(import, cursor);
		break;
	case PERF_FEATURE_CLOCK_DATA:
		take_clock(import, cursor);
		break;
	default:
		import->outcome.left_out.features[feature < PERF_FEATURES ? feature : PERF_FEATURES - 1]++;
		break;
	}
	return 0;
}

int perf_features_read(struct perf_import *import)
{
	int status = 0;

	for (unsigned i = 0; !status && i < PERF_FEATURES; i++) {
		const struct perf_section section = perf_file_feature(import->file, i);
		uint8_t *data;

		import->outcome.left_features += section.size > FEATURE_MAX;
		if (!section.size || section.size > FEATURE_MAX)
			continue;
		data = malloc(section.size);
		if (!data)
			return common_fail_memory("a feature of perf.data", section.size);
		status = perf_file_read(import->file, section.offset, data, section.size);
		if (!status)
			status = take_feature(import, i, data, section.size);
		free(data);
	}
	return status;
}

int perf_feature_record(struct perf_import *import, const struct perf_record *record)
{
	if (record->size < 8) {
		import->outcome.left_features++;
		return 0;
	}
	/* The mark behind the last feature is an empty feature. */
	if (record->size == 8)
		return 0;
	return take_feature(import, common_load64(record->body), record->body + 8, record->size - 8);
}

int perf_tracing_record(struct perf_import *import, const struct perf_record *record)
{
	const size_t size = record->size >= 4 ? common_load32(record->body) : 0;
	uint8_t *data;
	size_t used = 0;
	int got = 1, status = 0;

	if (!size || size > FEATURE_MAX || size > perf_file_size(import->file)) {
		import->outcome.left_features += size != 0;
		return 0;
	}
	data = malloc(size);
	if (!data)
		return common_fail_memory("formats of tracepoints", size);
	while (used < size && (got = perf_file_payload(import->file, data + used, size - used)) > 0)
		used += (size_t)got;
	if (got >= 0)
		status = perf_tracing_add(&import->tracing, data, used);
	free(data);
	return got < 0 ? got : status;
}

int perf_event_update(struct perf_import *import, const struct perf_record *record)
{
	struct common_cursor cursor = common_cursor(record->body, record->size);
	const uint64_t type = common_read64(&cursor), id = common_read64(&cursor);
	const uint64_t *index = common_hash_map_get(&import->attrs.ids, id);
	const size_t left = common_cursor_left(&cursor);
	const char *name = (const char *)common_read_bytes(&cursor, left);

	if (!cursor.failed && type == EVENT_UPDATE_NAME && index)
		perf_attrs_name(&import->attrs, *index, name, strnlen(name, left));
	else
		import->outcome.left_out.records[record->type]++;
	return 0;
}

/* Parses u64 shift, u64 multiplier, u64 zero, ..., as in perf_event_mmap_page. */
int perf_time_conversion(struct perf_import *import, const struct perf_record *record)
{
	struct common_cursor cursor = common_cursor(record->body, record->size);
	const uint64_t shift = common_read64(&cursor), multiplier = common_read64(&cursor),
		       zero = common_read64(&cursor);

	if (cursor.failed || shift > 63 || multiplier > UINT32_MAX) {
		import->outcome.left_out.records[record->type]++;
		return 0;
	}
	import->machine.tsc_shift = (uint8_t)shift;
	import->machine.tsc_multiplier = (uint32_t)multiplier;
	import->machine.tsc_zero = zero;
	return 0;
}
