/* SPDX-License-Identifier: BSD-2-Clause */
/* Changes texts about the run and its inputs. */
#include "format/relogger/names.h"

#include <stdlib.h>

#include "common/error.h"
#include "format/relogger/hash.h"
#include "format/relogger/input.h"
#include "format/relogger/relogger_internal.h"

const char *format_relogger_command(const struct ptl_relogger *relogger)
{
	return relogger->step.command;
}

void format_relogger_keep_machines(struct ptl_relogger *relogger)
{
	relogger->machines.written = true;
}

/* Replaces *text, which is owned. */
static int rename_text(const struct format_renaming *renaming, enum format_name kind, const char *from, char **text)
{
	char *name = renaming->name(renaming->context, kind, from);

	if (!name)
		return common_fail_memory("provenance", 0);
	free(*text);
	*text = name;
	return 0;
}

static int rename_input(struct ptl_relogger_input *input, const struct format_renaming *renaming)
{
	int status = 0;

	for (size_t i = 0; !status && i < input->origins.count; i++) {
		char *name = (char *)input->origins.all[i].name;

		status = rename_text(renaming, FORMAT_NAME_INPUT, name, &name);
		input->origins.all[i].name = name;
	}
	return status ? status : rename_text(renaming, FORMAT_NAME_INPUT, input->name, &input->origins.alias);
}

int format_relogger_rename(struct ptl_relogger *relogger, const struct format_renaming *renaming)
{
	int status = rename_text(renaming, FORMAT_NAME_COMMAND, relogger->step.command, &relogger->step.command);

	if (!status)
		status = rename_text(renaming, FORMAT_NAME_RULES, relogger->step.rules, &relogger->step.rules);
	for (size_t i = 0; !status && i < relogger->machines.count; i++)
		status = renaming->machine(renaming->context, &relogger->machines.all[i]);
	if (!status && relogger->machines.has_stated)
		status = renaming->machine(renaming->context, &relogger->machines.stated);
	for (size_t i = 0; !status && i < relogger->input_count; i++)
		status = rename_input(relogger->inputs[i], renaming);
	return status;
}

int format_relogger_origin(struct ptl_relogger *relogger, struct ptl_relogger_input *input, enum ptl_hash_kind kind,
			   struct ptl_provenance_input *origin, bool *known)
{
	int status;

	*known = !input->origins.count;
	if (!*known)
		return 0;
	status = format_relogger_hash_input(relogger, input, kind);
	*origin = input->origins.itself;
	origin->size = ptl_trace_size(input->trace);
	origin->name = input->name;
	return status;
}
