/* SPDX-License-Identifier: BSD-2-Clause */
/* Changes texts about the run and its inputs, for stages that must not pass them unchanged. */
#ifndef FORMAT_RELOGGER_NAMES_H
#define FORMAT_RELOGGER_NAMES_H

#include <ptl/relogger.h>

enum format_name {
	FORMAT_NAME_COMMAND, /* command line of the run */
	FORMAT_NAME_RULES,   /* rules of the run */
	FORMAT_NAME_INPUT,   /* file from which the output was made */
};

struct format_renaming {
	/* Returns the replacement of a text, in memory that the relogger frees; NULL without memory. */
	char *(*name)(void *context, enum format_name kind, const char *text);
	/* Changes a machine record. */
	int (*machine)(void *context, struct ptl_machine *machine);
	void *context;
};

/* Returns the command line for provenance. */
const char *format_relogger_command(const struct ptl_relogger *relogger);
/* Called in the begin callback: delays writing of machine records to the end, so that they can still be changed. */
void format_relogger_keep_machines(struct ptl_relogger *relogger);
/*
 * Called in the end callback: changes the texts of provenance records, and the machines. Returns failures of the
 * functions; PTL_NO_MEMORY.
 */
int format_relogger_rename(struct ptl_relogger *relogger, const struct format_renaming *renaming);

/*
 * Called in the begin callback: returns the provenance of an input that was not made from other files, including its
 * hash, which is computed; the name is the input's own name. *known: false if the input was made from other files.
 */
int format_relogger_origin(struct ptl_relogger *relogger, struct ptl_relogger_input *input, enum ptl_hash_kind kind,
			   struct ptl_provenance_input *origin, bool *known);

#endif
