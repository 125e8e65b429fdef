/* SPDX-License-Identifier: BSD-2-Clause */
/* The checks of ptl-dump lint and their limits: names, defaults, and files of limits. */
#ifndef ANALYSIS_LINT_LINT_CHECK_H
#define ANALYSIS_LINT_LINT_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/bytes.h"
#include "flow/engine/flow.h"

enum analysis_lint_check {
	ANALYSIS_LINT_DECODED,
	ANALYSIS_LINT_GAPS,
	ANALYSIS_LINT_GAP_CAUSES, /* one check for each gap cause except FLOW_GAP_NONE, in the order of the enum */
	ANALYSIS_LINT_UNKNOWN_CODE = ANALYSIS_LINT_GAP_CAUSES + FLOW_GAP_COUNT - 1,
	ANALYSIS_LINT_OUTSIDE_IMAGES,
	ANALYSIS_LINT_UNRESOLVED,
	ANALYSIS_LINT_LOSSES,
	ANALYSIS_LINT_DAMAGE,
	ANALYSIS_LINT_BROKEN_BLOBS,
	ANALYSIS_LINT_INCOMPLETE,
	ANALYSIS_LINT_SKIPPED_EVENTS,
	ANALYSIS_LINT_UNMATCHED_RULES,
	ANALYSIS_LINT_FAILURES,
	ANALYSIS_LINT_CHECKS,
};

#define ANALYSIS_LINT_ANY UINT64_MAX /* no limit */
#define ANALYSIS_LINT_MICRO 1000000u /* unit of shares: millionths of a percent */

/* A count, or a part of a whole. `of` is the whole; 0 for counts. */
struct analysis_lint_value {
	uint64_t number;
	uint64_t of;
};

/* Zero-initialised limits get their defaults when they are first set or read. */
struct analysis_lint_limits {
	bool begun;
	uint64_t limit[ANALYSIS_LINT_CHECKS]; /* a count, a share in millionths of a percent, or ANALYSIS_LINT_ANY */
};

/* Buffer size for generated names. */
#define ANALYSIS_LINT_NAME 40
const char *analysis_lint_name(unsigned check, char room[ANALYSIS_LINT_NAME]);
const char *analysis_lint_meaning(unsigned check);
bool analysis_lint_is_share(unsigned check);
bool analysis_lint_is_minimum(unsigned check);

/*
 * Sets the defaults: no gap, loss or damage is allowed, but any share of instructions may lie outside images or lack a
 * name.
 */
void analysis_lint_limits_begin(struct analysis_lint_limits *limits);
/* Sets one limit: "gaps.overflow=10", "decoded=99.5", "unresolved=any". Returns PTL_MISUSE with a text. */
int analysis_lint_limits_set(struct analysis_lint_limits *limits, const char *text, size_t size);
/*
 * Reads a file with lines NAME = VALUE; "#" begins a comment. Returns PTL_MISUSE with the place of the error, or
 * PTL_SYSTEM.
 */
int analysis_lint_limits_read(struct analysis_lint_limits *limits, const char *path);
/* Parses the contents of a file of limits. name: what messages call the file. */
int analysis_lint_limits_parse(struct analysis_lint_limits *limits, const char *name, const char *text, size_t size);

bool analysis_lint_passes(unsigned check, const struct analysis_lint_value *value, uint64_t limit);
/* Appends a value: "99.2 %", "1,234". */
void analysis_lint_text_value(struct ptl_bytes *text, unsigned check, const struct analysis_lint_value *value);
/* Appends a limit: ">= 99.5 %", "<= 10", "any". */
void analysis_lint_text_limit(struct ptl_bytes *text, unsigned check, uint64_t limit);
/* Returns a share in percent. */
double analysis_lint_percent(const struct analysis_lint_value *value);

#endif
