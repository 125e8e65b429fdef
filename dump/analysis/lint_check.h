/* SPDX-License-Identifier: BSD-2-Clause */
/* The checks of ptl-dump lint and their limits: names, defaults, and files of limits. */
#ifndef DUMP_ANALYSIS_LINT_CHECK_H
#define DUMP_ANALYSIS_LINT_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/bytes.h"
#include "flow/engine/flow.h"

enum dump_lint_check {
	DUMP_LINT_DECODED,
	DUMP_LINT_GAPS,
	DUMP_LINT_GAP_CAUSES, /* one check for each gap cause except FLOW_GAP_NONE, in the order of the enum */
	DUMP_LINT_UNKNOWN_CODE = DUMP_LINT_GAP_CAUSES + FLOW_GAP_COUNT - 1,
	DUMP_LINT_OUTSIDE_IMAGES,
	DUMP_LINT_UNRESOLVED,
	DUMP_LINT_LOSSES,
	DUMP_LINT_DAMAGE,
	DUMP_LINT_BROKEN_BLOBS,
	DUMP_LINT_INCOMPLETE,
	DUMP_LINT_SKIPPED_EVENTS,
	DUMP_LINT_UNMATCHED_RULES,
	DUMP_LINT_CHECKS,
};

#define DUMP_LINT_ANY UINT64_MAX /* no limit */
#define DUMP_LINT_MICRO 1000000u /* unit of shares: millionths of a percent */

/* A count, or a part of a whole. `of` is the whole; 0 for counts. */
struct dump_lint_value {
	uint64_t number;
	uint64_t of;
};

/* Zero-initialised limits get their defaults when they are first set or read. */
struct dump_lint_limits {
	bool begun;
	uint64_t limit[DUMP_LINT_CHECKS]; /* a count, a share in millionths of a percent, or DUMP_LINT_ANY */
};

/* Buffer size for generated names. */
#define DUMP_LINT_NAME 40
const char *dump_lint_name(unsigned check, char room[DUMP_LINT_NAME]);
const char *dump_lint_meaning(unsigned check);
bool dump_lint_is_share(unsigned check);
bool dump_lint_is_minimum(unsigned check);

/*
 * Sets the defaults: no gap, loss or damage is allowed, but any share of instructions may lie outside images or lack a
 * name.
 */
void dump_lint_limits_begin(struct dump_lint_limits *limits);
/* Sets one limit: "gaps.overflow=10", "decoded=99.5", "unresolved=any". Returns PTL_MISUSE with a text. */
int dump_lint_limits_set(struct dump_lint_limits *limits, const char *text, size_t size);
/*
 * Reads a file with lines NAME = VALUE; "#" begins a comment. Returns PTL_MISUSE with the place of the error, or
 * PTL_SYSTEM.
 */
int dump_lint_limits_read(struct dump_lint_limits *limits, const char *path);
/* Parses the contents of a file of limits. name: what messages call the file. */
int dump_lint_limits_parse(struct dump_lint_limits *limits, const char *name, const char *text, size_t size);

bool dump_lint_passes(unsigned check, const struct dump_lint_value *value, uint64_t limit);
/* Appends a value: "99.2 %", "1,234". */
void dump_lint_text_value(struct ptl_bytes *text, unsigned check, const struct dump_lint_value *value);
/* Appends a limit: ">= 99.5 %", "<= 10", "any". */
void dump_lint_text_limit(struct ptl_bytes *text, unsigned check, uint64_t limit);
/* Returns a share in percent. */
double dump_lint_percent(const struct dump_lint_value *value);

#endif
