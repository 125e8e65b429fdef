/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of ptl-dump flow share. */
#ifndef DUMP_COMMAND_FLOW_H
#define DUMP_COMMAND_FLOW_H

#include "dump/print/flow.h"
#include "dump/session/command.h"
#include "query/row.h"

struct flow_options {
	struct dump_options shared; /* first: see dump/session/command.h */
	enum dump_flow_level level;
	bool merge;
	bool source;
	bool bounds;
	bool events;
	struct common_string_list where;
};

/* Threads where the user names no number. */
unsigned dump_flow_threads(enum dump_flow_level level);

/* flow_follow.c: shows the flow of a trace that is being written, span of time after span of time. */
int dump_flow_follow(struct dump_session *session, struct dump_flow_print *print, const struct query_row *where);

#endif
