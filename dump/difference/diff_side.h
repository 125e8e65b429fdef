/* SPDX-License-Identifier: BSD-2-Clause */
/* The two sides of a comparison: their traces, and which images of the traces are the same. */
#ifndef DUMP_DIFFERENCE_DIFF_SIDE_H
#define DUMP_DIFFERENCE_DIFF_SIDE_H

#include "common/hash_map.h"
#include "dump/difference/diff_ignore.h"
#include "dump/session/command.h"
#include "flow/symbol/source_line.h"
#include "flow/symbol/symbol.h"
#include "flow/timeline/timeline.h"

/* Identity of an image on both sides. */
struct dump_diff_image {
	uint32_t key;   /* equal keys: the same image; 0: ignored or not selected */
	bool by_symbol; /* rebuilt image: functions are matched by name, not by address */
};

/* One trace. */
struct dump_diff_run {
	struct dump_session session; /* copy of the command's session, with the path and trace of this run */
	bool second;                 /* belongs to side B */
	bool opened;                 /* opened by the comparison, not by the command */
	struct flow_timeline *timeline;
	struct flow_symbols *symbols;
	struct flow_sources *sources;
	struct dump_diff_image *images; /* by index in the timeline */
};

struct dump_diff {
	struct dump_diff_run *runs; /* runs of side A first */
	size_t count, first_count;  /* all runs; runs of side A */
	const struct dump_ignore *ignore;
	const struct dump_options *options;
	struct common_byte_map names; /* keys of images by name */
	uint64_t slower;              /* percentage by which times must differ; 0: times are not compared */
	bool damaged;                 /* a trace other than the first is damaged */
};

/* Key of code that no image covers. */
#define DUMP_DIFF_NO_IMAGE 1u

/*
 * Opens all traces except the session's own, which is the first of side A, and matches the images. first, second: paths
 * of the further traces of both sides. Call dump_diff_close in any case.
 */
int dump_diff_open(struct dump_diff *diff, struct dump_session *session, char *const *first, size_t first_count,
		   const char *const *second, size_t second_count, const struct dump_ignore *ignore);
void dump_diff_close(struct dump_diff *diff);

/* Appends "step+0x1f (counted)  counted.c:30". address: in the process. */
void dump_diff_place(const struct dump_diff_run *run, uint32_t image, uint64_t address, struct ptl_bytes *text);
/* Writes the members "image", "address" (in the file), "symbol", "file" and "line". */
void dump_diff_json_place(const struct dump_diff_run *run, uint32_t image, uint64_t address, struct common_json *json,
			  struct ptl_bytes *scratch);

#endif
