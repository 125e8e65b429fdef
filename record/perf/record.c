/* SPDX-License-Identifier: BSD-2-Clause */
/* Decodes kernel records, with the layouts of perf_event_open(2). */
#include <linux/perf_event.h>
#include <stddef.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "record/perf/sideband_state.h"

/* Ends each record. */
struct id_trailer {
	uint32_t pid, tid;
	uint64_t time;
};

struct task_record {
	struct perf_event_header header;
	uint32_t pid, parent_pid, tid, parent_tid;
	uint64_t time;
};

struct comm_record {
	struct perf_event_header header;
	uint32_t pid, tid;
	char name[];
};

struct mmap2_record {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t base, size, file_offset;
	uint32_t major_number, minor_number;
	uint64_t inode, inode_generation;
	uint32_t protection, flags;
	char name[];
};

struct symbol_record {
	struct perf_event_header header;
	uint64_t base;
	uint32_t size;
	uint16_t type, flags;
	char name[];
};

struct poke_record {
	struct perf_event_header header;
	uint64_t base;
	uint16_t old_size, new_size;
	/* followed by old bytes and new bytes */
};

struct lost_record {
	struct perf_event_header header;
	uint64_t id, lost;
};

/* Takes the string behind the fixed part. Returns false without a final zero. */
static bool take_name(const char *name, size_t room, struct record_sideband_record *record)
{
	record->name = name;
	return memchr(name, 0, room) != NULL;
}

static bool read_task(const void *data, size_t size, struct record_sideband_record *record)
{
	struct task_record task;

	if (size < sizeof(task))
		return false;
	memcpy(&task, data, sizeof(task));
	record->pid = task.pid;
	record->tid = task.tid;
	record->parent_pid = task.parent_pid;
	record->parent_tid = task.parent_tid;
	return true;
}

static bool read_comm(const void *data, size_t size, struct record_sideband_record *record)
{
	struct comm_record comm;

	if (size <= sizeof(comm))
		return false;
	memcpy(&comm, data, sizeof(comm));
	record->pid = comm.pid;
	record->tid = comm.tid;
	return take_name((const char *)data + sizeof(comm), size - sizeof(comm), record);
}

static bool read_mmap2(const void *data, size_t size, struct record_sideband_record *record)
{
	struct mmap2_record map;

	if (size <= sizeof(map))
		return false;
	memcpy(&map, data, sizeof(map));
	record->pid = map.pid;
	record->tid = map.tid;
	record->base = map.base;
	record->size = map.size;
	/* The kernel uses the address as the offset of memory without a file. */
	record->file_offset = map.inode ? map.file_offset : 0;
	record->device = makedev(map.major_number, map.minor_number);
	record->inode = map.inode;
	record->protection = map.protection;
	return take_name((const char *)data + sizeof(map), size - sizeof(map), record);
}

static bool read_symbol(const void *data, size_t size, struct record_sideband_record *record)
{
	struct symbol_record symbol;

	if (size <= sizeof(symbol))
		return false;
	memcpy(&symbol, data, sizeof(symbol));
	record->base = symbol.base;
	record->size = symbol.size;
	record->is_gone = symbol.flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER;
	return take_name((const char *)data + sizeof(symbol), size - sizeof(symbol), record);
}

static bool read_poke(const void *data, size_t size, struct record_sideband_record *record)
{
	/* without padding of the structure */
	const size_t fixed = offsetof(struct poke_record, new_size) + sizeof(uint16_t);
	struct poke_record poke;

	if (size < fixed)
		return false;
	memcpy(&poke, data, fixed);
	if (size - fixed < (size_t)poke.old_size + poke.new_size)
		return false;
	record->base = poke.base;
	record->size = poke.new_size;
	record->code = (const uint8_t *)data + fixed + poke.old_size;
	return true;
}

static bool read_lost(const void *data, size_t size, struct record_sideband_record *record)
{
	struct lost_record lost;

	if (size < sizeof(lost))
		return false;
	memcpy(&lost, data, sizeof(lost));
	record->lost = lost.lost;
	return true;
}

/* indexed by PERF_RECORD_* */
static const struct {
	enum record_sideband_kind kind;
	bool (*read)(const void *data, size_t size, struct record_sideband_record *record);
} types[] = {
	[PERF_RECORD_FORK] = {RECORD_SIDEBAND_FORK, read_task},
	[PERF_RECORD_EXIT] = {RECORD_SIDEBAND_EXIT, read_task},
	[PERF_RECORD_COMM] = {RECORD_SIDEBAND_NAME, read_comm},
	[PERF_RECORD_MMAP2] = {RECORD_SIDEBAND_MAP, read_mmap2},
	[PERF_RECORD_LOST] = {RECORD_SIDEBAND_LOST, read_lost},
	[PERF_RECORD_KSYMBOL] = {RECORD_SIDEBAND_SYMBOL, read_symbol},
	[PERF_RECORD_TEXT_POKE] = {RECORD_SIDEBAND_CODE, read_poke},
};

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
	if (header.type < sizeof(types) / sizeof(types[0]) && types[header.type].read) {
		if (types[header.type].read(data, size, record))
			record->kind = types[header.type].kind;
		else
			*record = (struct record_sideband_record){.name = ""};
	}
	record->time = trailer.time;
	if (header.type == PERF_RECORD_SAMPLE)
		read_sample(data, size + sizeof(trailer), signals, record);
	if (record->kind == RECORD_SIDEBAND_NAME && header.misc & PERF_RECORD_MISC_COMM_EXEC)
		record->kind = RECORD_SIDEBAND_EXEC;
	/* Process 0 of a trace is the kernel. */
	if (is_outside(record))
		*record = (struct record_sideband_record){.time = record->time, .name = ""};
}
