/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What two snapshots of one ring have in common: the end of the first one is the beginning of the second. PSBs are
 * looked for, as they stand out, and what stands around them must be equal.
 */
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "import/perf/import.h"
#include "import/psb_scan.h"

#define PIECE ((size_t)1 << 18)
#define QUICK ((size_t)256) /* bytes that are compared at once: a PSB with its time, and more */
#define CANDIDATES_MAX 64u  /* places at which these are equal */

struct search {
	const struct perf_file *file;
	const struct perf_aux_record *before, *record;
	uint64_t first;  /* where the second record's first PSB stands */
	uint64_t end;    /* of the first record's bytes, without padding */
	uint8_t *pieces; /* two */
	unsigned candidates;
	uint64_t overlap;
};

static int found_first(void *context, uint64_t offset)
{
	*(uint64_t *)context = offset;
	return 1;
}

/* Runs a scan over a record; what found returns if it ends it, else 0. */
static int scan(const struct search *search, const struct perf_aux_record *record, uint64_t size,
		int (*found)(void *context, uint64_t offset), void *context)
{
	struct import_psb_scan state = {0};
	uint8_t *piece = malloc(PIECE);
	int status = piece ? 0 : common_fail_memory("snapshots", PIECE);

	for (uint64_t at = 0; !status && at < size;) {
		const size_t wanted = size - at < PIECE ? (size_t)(size - at) : PIECE;

		status = perf_file_read(search->file, record->offset + at, piece, wanted);
		if (!status)
			status = import_psb_scan(&state, piece, wanted, found, context);
		at += wanted;
	}
	if (!status)
		status = import_psb_scan_end(&state, found, context);
	free(piece);
	return status;
}

/* 1: the bytes from `at` on in the first record are those at the beginning of the second one; 0: not. */
static int compare(const struct search *search, uint64_t at, uint64_t size)
{
	uint8_t *one = search->pieces, *other = search->pieces + PIECE;
	size_t length = QUICK;
	int status = 0;

	for (uint64_t done = 0; !status && done < size; done += length, length = PIECE) {
		if (length > size - done)
			length = (size_t)(size - done);
		status = perf_file_read(search->file, search->before->offset + at + done, one, length);
		if (!status)
			status = perf_file_read(search->file, search->record->offset + done, other, length);
		if (!status && memcmp(one, other, length))
			return 0;
	}
	return status ? status : 1;
}

/* A PSB of the first record: is it the first one of the second? */
static int try_psb(void *context, uint64_t offset)
{
	struct search *search = context;
	const uint64_t at = offset - search->first, common = search->end - at;
	int status;

	if (offset < search->first || at >= search->end || common > search->record->size)
		return 0;
	if (search->candidates == CANDIDATES_MAX)
		return 1;
	status = compare(search, at, common < QUICK ? common : QUICK);
	if (status <= 0)
		return status;
	search->candidates++;
	status = compare(search, at, common);
	if (status > 0)
		search->overlap = common;
	return status;
}

int perf_aux_overlap(const struct perf_file *file, const struct perf_aux_record *before,
		     const struct perf_aux_record *record, uint64_t *bytes)
{
	struct search search = {.file = file, .before = before, .record = record, .first = UINT64_MAX};
	int status;

	*bytes = 0;
	search.end = before->size - (before->zeros < before->size ? before->zeros : 0);
	/* A ring has a PSB every few KiB; what has none at its beginning has nothing to be found by. */
	status = scan(&search, record, record->size < PIECE ? record->size : PIECE, found_first, &search.first);
	if (status <= 0 || search.first == UINT64_MAX)
		return status;
	search.pieces = malloc(2 * PIECE);
	if (!search.pieces)
		return common_fail_memory("snapshots", 2 * PIECE);
	status = scan(&search, before, search.end, try_psb, &search);
	free(search.pieces);
	*bytes = search.overlap;
	return status < 0 ? status : 0;
}
