/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decodes records of the kernel (PERF_RECORD_* of perf_event_open(2)), from a ring or from perf.data. The header has no
 * constants, because recorders have the constants from linux/perf_event.h.
 */
#ifndef PERF_FIELDS_H
#define PERF_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Fields of a record. Fields that the record's type lacks are 0. */
struct perf_fields {
	uint32_t pid, tid; /* SWITCH_CPU_WIDE: of the other thread; ITRACE_START: of the running thread */
	uint32_t parent_pid, parent_tid;
	uint64_t time;
	uint64_t base; /* MMAP, MMAP2, KSYMBOL, TEXT_POKE */
	uint64_t size; /* MMAP, MMAP2, KSYMBOL; AUX: bytes of packets */
	uint64_t file_offset;
	uint32_t device_major, device_minor;
	uint64_t inode;
	uint32_t protection;
	const uint8_t *build_id; /* MMAP2: build_id_size bytes; NULL if the record has device and inode instead */
	uint8_t build_id_size;
	uint64_t id;         /* LOST, THROTTLE: of the event; BPF_EVENT: of the program; CGROUP; AUX_OUTPUT_HW_ID */
	uint64_t lost;       /* LOST, LOST_SAMPLES */
	uint64_t aux_offset; /* AUX: position in the ring */
	uint64_t aux_flags;
	uint16_t kind;  /* KSYMBOL, BPF_EVENT: the record's own type */
	uint16_t flags; /* KSYMBOL, BPF_EVENT */
	uint16_t old_size, new_size;
	const uint8_t *old_code, *code; /* TEXT_POKE: bytes before and after the change */
	const char *name;               /* COMM, MMAP, MMAP2, KSYMBOL, CGROUP: name_size bytes; else NULL */
	size_t name_size;
	bool name_ends; /* a zero byte follows the name */
};

/*
 * Decodes the body of a record without header and trailer. Returns false if the type is unknown, or if the body is too
 * short.
 */
bool perf_fields_read(uint32_t type, uint16_t misc, const void *body, size_t size, struct perf_fields *fields);

#endif
