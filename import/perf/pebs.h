/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Samples that the CPU writes into the packets (PEBS via PT; events of perf with aux-output): a group of blocks, each a BBP
 * with BIPs, ends with a BEP.
 */
#ifndef IMPORT_PERF_PEBS_H
#define IMPORT_PERF_PEBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/pt.h>

#include "import/perf/attr.h"

#define PERF_PEBS_ITEMS 32 /* of a block */

/* Blocks that a sample is made of. SDM, "BBP Packet", has the types, and "Block Item Packet" the items. */
enum perf_pebs_block {
	PERF_PEBS_REGISTERS,
	PERF_PEBS_BASIC,
	PERF_PEBS_MEMORY,
	PERF_PEBS_BRANCHES_0, /* 32 items are no multiple of the 3 items of a branch: each block begins with a branch */
	PERF_PEBS_BRANCHES_1,
	PERF_PEBS_BRANCHES_2,
	PERF_PEBS_VECTORS, /* the lower and upper half of each XMM register */
	PERF_PEBS_BLOCKS,
};

/* Items of PERF_PEBS_BASIC. */
enum perf_pebs_basic { PERF_PEBS_BASIC_IP, PERF_PEBS_BASIC_COUNTERS, PERF_PEBS_BASIC_TIME };

/* Type of a waiting group among records that wait for their time; no record has this type. */
#define PERF_PEBS_RECORD UINT32_MAX

/* A group of blocks. */
struct perf_pebs_group {
	uint64_t tsc;  /* of the last TSC packet; 0: none */
	uint64_t time; /* 0: unknown */
	uint32_t cpu;  /* of the ring; PTL_NO_CPU: the ring is of a thread */
	uint32_t tid;  /* PTL_NO_ID: the ring is of a CPU, which context switches tell about */
	bool is_32_bit;
	bool guest;                         /* the packets are of a virtual machine */
	uint32_t present[PERF_PEBS_BLOCKS]; /* bit set of items */
	uint64_t items[PERF_PEBS_BLOCKS][PERF_PEBS_ITEMS];
};

/* State of the search in a stream. Zero-initialised: before the first PSB. */
struct perf_pebs {
	bool synchronised;
	bool guest; /* the last PIP has NR */
	struct ptl_pt_context context;
	uint8_t carried[PTL_PT_PACKET_MAX]; /* begin of a packet that the next bytes continue */
	size_t carried_size;
	enum perf_pebs_block block; /* of the following BIPs; PERF_PEBS_BLOCKS: of an unknown type */
	struct perf_pebs_group group;
};

struct perf_import;

/* Whether events of the file write samples into the packets. */
bool perf_pebs_wanted(const struct perf_attrs *attrs);

/* Reads the next bytes of a stream, and lets the samples wait for their time. Returns PTL_NO_MEMORY. */
int perf_pebs_scan(struct perf_import *import, struct perf_pebs *pebs, const uint8_t *data, size_t size);

/* Writes the sample of a group whose time has come. Returns PTL_NO_MEMORY, PTL_SYSTEM. */
int perf_pebs_write(struct perf_import *import, const struct perf_pebs_group *group);

/* Learns the event of a hardware counter from an AUX_OUTPUT_HW_ID record. Returns PTL_NO_MEMORY. */
int perf_pebs_counter(struct perf_import *import, uint64_t counter, const struct perf_sample *sample);

#endif
