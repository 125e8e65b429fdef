/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes source lines and instructions of functions to a page. */
#ifndef DUMP_EXPORT_HTML_SOURCES_H
#define DUMP_EXPORT_HTML_SOURCES_H

#include "dump/export/export.h"
#include "dump/export/html/room.h"
#include "flow/timeline/timeline.h"

/* A requested function. */
struct dump_html_source {
	const char *name;
	const char *path; /* path of its image */
};

/* Writes instructions and lines of the functions with execution counts. Returns a status of analysis_profile_run. */
int dump_html_annotations(struct dump_run *run, const struct flow_timeline *timeline,
			  const struct dump_html_source *sources, size_t count, const struct dump_html_room *room,
			  struct dump_left_out *left_out);

#endif
