/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Machine code of BPF programs. perf record copies the description of each program that it sees, bpf_prog_info of
 * bpf(2), into the feature BPF_PROG_INFO.
 */
#ifndef IMPORT_PERF_BPF_H
#define IMPORT_PERF_BPF_H

#include <stddef.h>
#include <stdint.h>

#include "common/hash_map.h"

#define PERF_BPF_TAG_SIZE 8

/* A function of a BPF program. Each subprogram is a function. */
struct perf_bpf_function {
	uint64_t base;
	uint32_t size;
	uint8_t tag[PERF_BPF_TAG_SIZE];
	const uint8_t *code; /* `size` bytes */
};

/* Zero-initialised: empty. */
struct perf_bpf {
	uint8_t **data; /* bytes of each feature, which the functions refer to */
	size_t data_count;
	struct perf_bpf_function *list;
	size_t count, capacity;
	struct common_byte_map keys; /* base and tag: index in list */
	uint64_t damaged;            /* programs whose description makes no sense */
};

/* Adds the programs of a feature. Returns PTL_NO_MEMORY. */
int perf_bpf_read(struct perf_bpf *bpf, const uint8_t *data, size_t size);

/*
 * Finds the function that a KSYMBOL record names "bpf_prog_TAG_NAME". An address may have had several functions: the
 * tag decides. Returns NULL for an unknown function.
 */
const struct perf_bpf_function *perf_bpf_find(const struct perf_bpf *bpf, uint64_t base, const char *name);

void perf_bpf_free(struct perf_bpf *bpf);

#endif
