/* SPDX-License-Identifier: BSD-2-Clause */
/* Two sides of traces that are compared, and which of their images are the same. */
#ifndef DUMP_DIFFERENCE_DIFF_SIDE_H
#define DUMP_DIFFERENCE_DIFF_SIDE_H

#include "common/hash_map.h"
#include "dump/difference/diff_ignore.h"
#include "dump/session/command.h"
#include "flow/symbol/source_line.h"
#include "flow/symbol/symbol.h"
#include "flow/timeline/timeline.h"

/* What an image is on both sides. */
struct dump_diff_image {
	uint32_t key;   /* the same number is the same image; 0: ignored, or not wanted */
	bool by_symbol; /* it was built again: functions of the same name are the same, addresses are not */
};

/* One trace. */
struct dump_diff_run {
	struct dump_session session; /* its own path and trace, and the rest of the command's */
	bool second;                 /* of side B */
	bool opened;                 /* by the comparison, not by the command */
	struct flow_timeline *timeline;
	struct flow_symbols *symbols;
	struct flow_sources *sources;
	struct dump_diff_image *images; /* by index in the timeline */
};

struct dump_diff {
	struct dump_diff_run *runs; /* those of side A first */
	size_t count, first_count;  /* first_count: of side A */
	const struct dump_ignore *ignore;
	const struct dump_options *options;
	struct common_byte_map names; /* of images: key */
	uint64_t slower;              /* compare times, and tell those that differ by so many percent; 0: no */
	bool damaged;                 /* a trace other than the first one is */
};

/* The key of code that no image covers. */
#define DUMP_DIFF_NO_IMAGE 1u

/*
 * Opens all traces but the session's own, which is the first one of side A, and finds out which images are the same. `first`
 * and `second`: the others of both sides. Free with dump_diff_close, also after a failure.
 */
int dump_diff_open(struct dump_diff *diff, struct dump_session *session, char *const *first, size_t first_count,
		   const char *const *second, size_t second_count, const struct dump_ignore *ignore);
void dump_diff_close(struct dump_diff *diff);

/* Appends "step+0x1f (counted)  counted.c:30"; address is as it was in the process. */
void dump_diff_place(const struct dump_diff_run *run, uint32_t image, uint64_t address, struct ptl_bytes *text);
/* The members "image", "address" (of the file), "symbol", "file" and "line". */
void dump_diff_json_place(const struct dump_diff_run *run, uint32_t image, uint64_t address, struct common_json *json,
			  struct ptl_bytes *scratch);

#endif
