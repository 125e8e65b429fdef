/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the overlap of two snapshots of a ring: the end of the first equals the beginning of the second. Candidates are
 * PSBs, which are easy to find; then the bytes around the PSBs are compared.
 */
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "format/pt/psb_scan.h"
#include "import/perf/import.h"

#define PIECE ((size_t)1 << 18)
#define QUICK ((size_t)256) /* bytes of a quick comparison: a PSB with its time, and more */
#define CANDIDATES_MAX 64u  /* maximum positions that pass the quick comparison */

struct search {
	const struct perf_aux_record *before, *record;
	uint64_t first;  /* position of the first PSB in the second record */
	uint64_t end;    /* end of the first record without padding */
	uint8_t *pieces; /* two buffers of PIECE bytes */
	unsigned candidates;
	uint64_t overlap;
};

static int found_first(void *context, uint64_t offset)
{
	*(uint64_t *)context = offset;
	return 1;
}

/* Reads bytes of a record. */
static int read_bytes(const struct perf_aux_record *record, uint64_t at, uint8_t *bytes, size_t size)
{
	if (!record->memory)
		return perf_file_read(record->file, record->offset + at, bytes, size);
	memcpy(bytes, record->memory + at, size);
	return 0;
}

/* Scans a record for PSBs. Returns a non-zero result of `found`, else 0. */
static int scan(const struct perf_aux_record *record, uint64_t size, int (*found)(void *context, uint64_t offset),
		void *context)
{
	struct format_pt_psb_scan state = {0};
	uint8_t *piece = malloc(PIECE);
	int status = piece ? 0 : common_fail_memory("snapshots", PIECE);

	for (uint64_t at = 0; !status && at < size;) {
		const size_t wanted = size - at < PIECE ? (size_t)(size - at) : PIECE;

		status = read_bytes(record, at, piece, wanted);
		if (!status)
			status = format_pt_psb_scan(&state, piece, wanted, found, context);
		at += wanted;
	}
	if (!status)
		status = format_pt_psb_scan_end(&state, found, context);
	free(piece);
	return status;
}

/* Compares bytes of the first record from `at` on with the beginning of the second. Returns 1 if equal, 0 if not. */
static int compare_overlap(const struct search *search, uint64_t at, uint64_t size)
{
	uint8_t *one = search->pieces, *other = search->pieces + PIECE;
	size_t length = QUICK;
	int status = 0;

	for (uint64_t done = 0; !status && done < size; done += length, length = PIECE) {
		if (length > size - done)
			length = (size_t)(size - done);
		status = read_bytes(search->before, at + done, one, length);
		if (!status)
			status = read_bytes(search->record, done, other, length);
		if (!status && memcmp(one, other, length))
			return 0;
	}
	return status ? status : 1;
}

/* Checks whether a PSB of record `before` matches the first PSB of `record`. */
static int try_psb(void *context, uint64_t offset)
{
	struct search *search = context;
	const uint64_t at = offset - search->first, common = search->end - at;
	int status;

	if (offset < search->first || at >= search->end || common > search->record->size)
		return 0;
	if (search->candidates == CANDIDATES_MAX)
		return 1;
	status = compare_overlap(search, at, common < QUICK ? common : QUICK);
	if (status <= 0)
		return status;
	search->candidates++;
	status = compare_overlap(search, at, common);
	if (status > 0)
		search->overlap = common;
	return status;
}

int perf_aux_overlap(const struct perf_aux_record *before, const struct perf_aux_record *record, uint64_t *bytes)
{
	struct search search = {.before = before, .record = record, .first = UINT64_MAX};
	int status;

	*bytes = 0;
	search.end = before->size - (before->zeros < before->size ? before->zeros : 0);
	/* A ring has a PSB every few KiB. A record without an early PSB cannot be matched. */
	status = scan(record, record->size < PIECE ? record->size : PIECE, found_first, &search.first);
	if (status <= 0 || search.first == UINT64_MAX)
		return status;
	search.pieces = malloc(2 * PIECE);
	if (!search.pieces)
		return common_fail_memory("snapshots", 2 * PIECE);
	status = scan(before, search.end, try_psb, &search);
	free(search.pieces);
	*bytes = search.overlap;
	return status < 0 ? status : 0;
}
