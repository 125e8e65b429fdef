/* SPDX-License-Identifier: BSD-2-Clause */
/* Traces for engine_bench.c: raw bytes from files, and generated traces. */
#ifndef BENCH_ENGINE_SUBJECT_H
#define BENCH_ENGINE_SUBJECT_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ptl/pt.h>

#include "common/error.h"
#include "common/file.h"
#include "tests/unit/random_flow.h"

#define RANGES_MAX 256
#define RANDOM_STEPS 400000
#define PADDED_RANGES 67
#define PADDED_PACKET 16

struct range {
	uint64_t base, size, offset;
};

struct subject {
	const char *name;
	const char *directory; /* NULL: a random program */
	uint8_t *pt;
	size_t pt_size;
	uint8_t *code;
	size_t code_size;
	struct range ranges[RANGES_MAX];
	size_t range_count;
	int code_file; /* file of libipt's sections */
};

static void die(const char *what)
{
	fprintf(stderr, "engine_bench: %s: %s\n", what, ptl_error_text());
	exit(1);
}

/* ---- subjects ------------------------------------------------------------------------------------------- */

static int compare_ranges(const void *a_, const void *b_)
{
	const struct range *a = a_, *b = b_;

	return a->base < b->base ? -1 : a->base > b->base;
}

static void load_subject_file(const char *directory, const char *name, uint8_t **data, size_t *size)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	if (common_read_file(path, (size_t)1 << 32, data, size) < 0)
		die(path);
}

static void load_subject(struct subject *subject)
{
	uint8_t *map;
	size_t size;
	char *line, *rest = NULL;

	load_subject_file(subject->directory, "trace.pt", &subject->pt, &subject->pt_size);
	load_subject_file(subject->directory, "memory.raw", &subject->code, &subject->code_size);
	load_subject_file(subject->directory, "memory.map", &map, &size);
	map = realloc(map, size + 1);
	if (!map)
		die("memory.map");
	map[size] = 0;
	for (line = strtok_r((char *)map, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		struct range *range = &subject->ranges[subject->range_count];

		if (line[0] != '#' && subject->range_count < RANGES_MAX &&
		    sscanf(line, "%" SCNx64 " %" SCNx64 " %" SCNx64, &range->base, &range->size, &range->offset) == 3)
			subject->range_count++;
	}
	free(map);
	qsort(subject->ranges, subject->range_count, sizeof(subject->ranges[0]), compare_ranges);
}

static inline void make_subject(struct subject *subject)
{
	struct random_flow *flow = calloc(1, sizeof(*flow));

	if (!flow)
		die("random program");
	random_flow_make_apart(flow, 1, RANDOM_STEPS, RANDOM_FLOW_RANGES);
	subject->pt = flow->pt;
	subject->pt_size = flow->pt_size;
	subject->code = flow->code;
	subject->code_size = flow->code_size;
	for (size_t i = 0; i < RANDOM_FLOW_RANGES; i++) {
		uint32_t from = flow->ranges[i],
			 to = i + 1 < RANDOM_FLOW_RANGES ? flow->ranges[i + 1] : flow->code_size;

		subject->ranges[i] = (struct range){random_flow_address(flow, from), to - from, from};
	}
	subject->range_count = RANDOM_FLOW_RANGES;
}

/* ---- a trace with much padding ------------------------------------------------------------------------------- */

/* Moves each packet to a multiple of PADDED_PACKET bytes. */
static void pad_packets(struct subject *subject)
{
	struct ptl_pt_context context = {0};
	struct ptl_pt_packet packet;
	uint8_t *padded = calloc(subject->pt_size + 1, PADDED_PACKET);
	size_t size = 0;

	for (size_t at = 0; padded && at < subject->pt_size;) {
		const int length = ptl_pt_decode(subject->pt + at, subject->pt_size - at, &context, &packet);

		if (length <= 0)
			die("a packet that is to be padded");
		if (packet.kind != PTL_PT_PAD) {
			memcpy(padded + size, subject->pt + at, (size_t)length);
			size = (size + (size_t)length + PADDED_PACKET - 1) / PADDED_PACKET * PADDED_PACKET;
		}
		at += (size_t)length;
	}
	if (!padded)
		die("padding");
	free(subject->pt);
	subject->pt = padded;
	subject->pt_size = size;
}

/* Splits the only range of code into PADDED_RANGES adjacent ranges. */
static void split_code(struct subject *subject)
{
	const struct range whole = subject->ranges[0];
	const uint64_t part = (whole.size / PADDED_RANGES + 15) & ~(uint64_t)15;

	if (subject->range_count != 1)
		die("code of more than one range");
	for (subject->range_count = 0; subject->range_count * part < whole.size; subject->range_count++) {
		const uint64_t from = subject->range_count * part;

		subject->ranges[subject->range_count] = (struct range){
			whole.base + from, whole.size - from < part ? whole.size - from : part, whole.offset + from};
	}
}

static FILE *create(const char *directory, const char *name)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "w");
	if (!file) {
		perror(path);
		exit(1);
	}
	return file;
}

static void write_file(const char *directory, const char *name, const uint8_t *data, size_t size)
{
	FILE *file = create(directory, name);

	if (fwrite(data, 1, size, file) != size || fclose(file) != 0) {
		perror(name);
		exit(1);
	}
}

static inline int write_padded(const char *from, const char *to)
{
	struct subject subject = {.name = "padded", .directory = from};
	FILE *map;

	load_subject(&subject);
	split_code(&subject);
	pad_packets(&subject);
	write_file(to, "trace.pt", subject.pt, subject.pt_size);
	write_file(to, "memory.raw", subject.code, subject.code_size);
	map = create(to, "memory.map");
	for (size_t i = 0; i < subject.range_count; i++)
		fprintf(map, "0x%" PRIx64 " 0x%" PRIx64 " 0x%" PRIx64 "\n", subject.ranges[i].base,
			subject.ranges[i].size, subject.ranges[i].offset);
	return fclose(map) ? 1 : 0;
}

#endif
