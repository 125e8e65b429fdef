/* SPDX-License-Identifier: BSD-2-Clause */
/* What ptl-dump lint checks, and the limits of it: names, defaults, and the form of files with rules. */
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
	DUMP_LINT_GAP_CAUSES, /* one for each cause but FLOW_GAP_NONE, in their order */
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
#define DUMP_LINT_MICRO 1000000u /* shares are in millionths of a percent */

/* A count, or part of a whole (of is not 0, or the check is of a share). */
struct dump_lint_value {
	uint64_t number;
	uint64_t of;
};

/* Zero-initialised is to become the default when it is set or read. */
struct dump_lint_limits {
	bool begun;
	uint64_t limit[DUMP_LINT_CHECKS]; /* a count, or a share in millionths of a percent; DUMP_LINT_ANY */
};

/* room is for names that are made. */
#define DUMP_LINT_NAME 40
const char *dump_lint_name(unsigned check, char room[DUMP_LINT_NAME]);
const char *dump_lint_meaning(unsigned check);
bool dump_lint_is_share(unsigned check);
bool dump_lint_is_minimum(unsigned check);

/* Nothing may be missing; how much ran outside of images and without names does not matter. */
void dump_lint_limits_begin(struct dump_lint_limits *limits);
/* "gaps.overflow=10", "decoded=99.5", "unresolved=any"; PTL_MISUSE with a text. */
int dump_lint_limits_set(struct dump_lint_limits *limits, const char *text, size_t size);
/* Lines of NAME = VALUE; "#" begins a comment. PTL_MISUSE with the place, PTL_SYSTEM. */
int dump_lint_limits_read(struct dump_lint_limits *limits, const char *path);
/* The same of bytes; name is what messages call them. */
int dump_lint_limits_parse(struct dump_lint_limits *limits, const char *name, const char *text, size_t size);

bool dump_lint_passes(unsigned check, const struct dump_lint_value *value, uint64_t limit);
/* "99.2 %", "1,234". */
void dump_lint_text_value(struct ptl_bytes *text, unsigned check, const struct dump_lint_value *value);
/* ">= 99.5 %", "<= 10", "any". */
void dump_lint_text_limit(struct ptl_bytes *text, unsigned check, uint64_t limit);
/* A share in percent. */
double dump_lint_percent(const struct dump_lint_value *value);

#endif
