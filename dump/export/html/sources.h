/* SPDX-License-Identifier: BSD-2-Clause */
/* The source and the instructions of functions in a page. */
#ifndef DUMP_EXPORT_HTML_SOURCES_H
#define DUMP_EXPORT_HTML_SOURCES_H

#include "dump/export/export.h"
#include "dump/export/html/room.h"
#include "flow/timeline/timeline.h"

/* A function that is wanted. */
struct dump_html_source {
	const char *name;
	const char *path; /* of its image */
};

/* Their instructions and lines with how often each ran. What flow_profile_run returns. */
int dump_html_annotations(struct dump_session *session, const struct flow_timeline *timeline,
			  const struct dump_html_source *sources, size_t count, const struct dump_html_room *room,
			  struct dump_left_out *left_out);

#endif
