/* SPDX-License-Identifier: BSD-2-Clause */
/* The texts that a run writes of itself and of its inputs, for stages that may not let them through as they are. */
#ifndef FORMAT_RELOGGER_NAMES_H
#define FORMAT_RELOGGER_NAMES_H

#include <ptl/relogger.h>

enum format_name {
	FORMAT_NAME_COMMAND, /* the command line of the run */
	FORMAT_NAME_RULES,   /* its rules */
	FORMAT_NAME_INPUT,   /* a file that the output was made of */
};

struct format_renaming {
	/* What is written instead of the text, in memory that the relogger frees; NULL: no memory. */
	char *(*name)(void *context, enum format_name kind, const char *text);
	/* Changes a record of a machine. */
	int (*machine)(void *context, struct ptl_machine *machine);
	void *context;
};

/* The command line that provenance will have. */
const char *format_relogger_command(const struct ptl_relogger *relogger);
/* In the begin callback: the records of machines are written at the end, when they can still be changed. */
void format_relogger_keep_machines(struct ptl_relogger *relogger);
/* In the end callback: changes the texts of the provenance records, and the machines. What the functions return; PTL_NO_MEMORY. */
int format_relogger_rename(struct ptl_relogger *relogger, const struct format_renaming *renaming);
/* PTL_CANCELLED once ptl_relogger_cancel was called. */
int format_relogger_check(struct ptl_relogger *relogger);

/*
 * In the begin callback: what provenance says of an input that is not made of other files, which is hashed for it; its name
 * is the input's own. *known is false for one that is.
 */
int format_relogger_origin(struct ptl_relogger *relogger, struct ptl_relogger_input *input, enum ptl_hash_kind kind,
			   struct ptl_provenance_input *origin, bool *known);

#endif
