/* SPDX-License-Identifier: BSD-2-Clause */
/* Selects the kernel records that tell about processes, memory and code. */
#include <linux/perf_event.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "perf/fields.h"
#include "record/perf/sideband_state.h"

/* Ends each record. */
struct id_trailer {
	uint32_t pid, tid;
	uint64_t time;
};

/* Takes the string behind the fixed part. Returns false without a final zero. */
static bool take_name(const struct perf_fields *fields, struct record_sideband_record *record)
{
	record->name = fields->name;
	return fields->name_ends;
}

static bool take_task(const struct perf_fields *fields, struct record_sideband_record *record)
{
	record->pid = fields->pid;
	record->tid = fields->tid;
	record->parent_pid = fields->parent_pid;
	record->parent_tid = fields->parent_tid;
	return true;
}

static bool take_comm(const struct perf_fields *fields, struct record_sideband_record *record)
{
	record->pid = fields->pid;
	record->tid = fields->tid;
	return take_name(fields, record);
}

static bool take_map(const struct perf_fields *fields, struct record_sideband_record *record)
{
	record->pid = fields->pid;
	record->tid = fields->tid;
	record->base = fields->base;
	record->size = fields->size;
	/* The kernel uses the address as the offset of memory without a file. */
	record->file_offset = fields->inode ? fields->file_offset : 0;
	record->device = makedev(fields->device_major, fields->device_minor);
	record->inode = fields->inode;
	record->protection = fields->protection;
	return take_name(fields, record);
}

static bool take_symbol(const struct perf_fields *fields, struct record_sideband_record *record)
{
	record->base = fields->base;
	record->size = fields->size;
	record->is_gone = fields->flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER;
	return take_name(fields, record);
}

static bool take_poke(const struct perf_fields *fields, struct record_sideband_record *record)
{
	record->base = fields->base;
	record->size = fields->new_size;
	record->code = fields->code;
	return true;
}

static bool take_lost(const struct perf_fields *fields, struct record_sideband_record *record)
{
	record->lost = fields->lost;
	return true;
}

/* indexed by PERF_RECORD_* */
static const struct {
	enum record_sideband_kind kind;
	bool (*take)(const struct perf_fields *fields, struct record_sideband_record *record);
} types[] = {
	[PERF_RECORD_FORK] = {RECORD_SIDEBAND_FORK, take_task},
	[PERF_RECORD_EXIT] = {RECORD_SIDEBAND_EXIT, take_task},
	[PERF_RECORD_COMM] = {RECORD_SIDEBAND_NAME, take_comm},
	[PERF_RECORD_MMAP2] = {RECORD_SIDEBAND_MAP, take_map},
	[PERF_RECORD_LOST] = {RECORD_SIDEBAND_LOST, take_lost},
	[PERF_RECORD_KSYMBOL] = {RECORD_SIDEBAND_SYMBOL, take_symbol},
	[PERF_RECORD_TEXT_POKE] = {RECORD_SIDEBAND_CODE, take_poke},
};

/* Decodes a record without its trailer. Leaves `record` empty if the record is uninteresting or invalid. */
static void read_fields(const struct perf_event_header *header, const uint8_t *body, size_t size,
			struct record_sideband_record *record)
{
	struct perf_fields fields;

	if (header->type >= sizeof(types) / sizeof(types[0]) || !types[header->type].take)
		return;
	if (perf_fields_read(header->type, header->misc, body, size, &fields) &&
	    types[header->type].take(&fields, record))
		record->kind = types[header->type].kind;
	else
		*record = (struct record_sideband_record){.name = ""};
}

/* Checks for a record about a process without a pid here: a process in another pid namespace, or a dead process. */
static bool is_outside(const struct record_sideband_record *record)
{
	switch (record->kind) {
	case RECORD_SIDEBAND_FORK:
	case RECORD_SIDEBAND_EXIT:
	case RECORD_SIDEBAND_NAME:
	case RECORD_SIDEBAND_EXEC:
	case RECORD_SIDEBAND_MAP:
	case RECORD_SIDEBAND_SIGNAL:
		return record->pid == 0 || record->pid == UINT32_MAX;
	default:
		return false;
	}
}

/* A sample has ids and time in front; other records have them at the end. Raw data follows in a sample of a signal. */
static void read_sample(const void *data, size_t size, const struct record_signal_event *signals,
			struct record_sideband_record *record)
{
	const size_t fixed = sizeof(struct perf_event_header) + sizeof(struct id_trailer);
	struct id_trailer ids;

	memcpy(&ids, (const uint8_t *)data + sizeof(struct perf_event_header), sizeof(ids));
	*record = (struct record_sideband_record){
		.kind = RECORD_SIDEBAND_SAMPLE, .time = ids.time, .pid = ids.pid, .tid = ids.tid, .name = ""};
	if (size == fixed)
		return;
	record->kind = record_signal_event_read(signals, (const uint8_t *)data + fixed, size - fixed, &record->signal,
						&record->signal_code)
			       ? RECORD_SIDEBAND_SIGNAL
			       : RECORD_SIDEBAND_NONE;
}

void record_sideband_decode(const void *data, size_t size, const struct record_signal_event *signals,
			    struct record_sideband_record *record)
{
	struct perf_event_header header;
	struct id_trailer trailer;

	*record = (struct record_sideband_record){.name = ""};
	if (size < sizeof(header) + sizeof(trailer))
		return;
	memcpy(&header, data, sizeof(header));
	size -= sizeof(trailer);
	memcpy(&trailer, (const uint8_t *)data + size, sizeof(trailer));
	read_fields(&header, (const uint8_t *)data + sizeof(header), size - sizeof(header), record);
	record->time = trailer.time;
	if (header.type == PERF_RECORD_SAMPLE)
		read_sample(data, size + sizeof(trailer), signals, record);
	if (record->kind == RECORD_SIDEBAND_NAME && header.misc & PERF_RECORD_MISC_COMM_EXEC)
		record->kind = RECORD_SIDEBAND_EXEC;
	/* Process 0 of a trace is the kernel. */
	if (is_outside(record))
		*record = (struct record_sideband_record){.time = record->time, .name = ""};
}
