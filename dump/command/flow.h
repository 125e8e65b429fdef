/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared declarations of the files of ptl-dump flow. */
#ifndef DUMP_COMMAND_FLOW_H
#define DUMP_COMMAND_FLOW_H

#include "dump/flow/flow.h"
#include "dump/run/command.h"
#include "query/row.h"

struct flow_options {
	struct dump_options shared; /* must come first: see dump/run/command.h */
	enum dump_flow_level level;
	bool merge;
	bool source;
	bool bounds;
	bool events;
	struct common_string_list where;
};

/* flow_follow.c: shows the flow of a growing trace, one time span after another. */
int dump_flow_follow(struct dump_run *run, struct dump_flow_print *print, const struct query_row *where);

#endif
