/* SPDX-License-Identifier: BSD-2-Clause */
/* History of the output: the step of this run, and the files that it read. */
#include "format/relogger/provenance.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/error.h"
#include "common/text/text.h"
#include "common/vector.h"
#include "common/version.h"
#include "format/relogger/input.h"
#include "format/relogger/relogger_internal.h"

#define UNMATCHED_MAX ((size_t)64 << 10) /* limit for the text about unmatched rules, in bytes */

static int keep_text(char **place, const char *text)
{
	char *copy = text ? strdup(text) : NULL;

	if (text && !copy)
		return common_fail_memory("provenance", strlen(text));
	free(*place);
	*place = copy;
	return 0;
}

int ptl_relogger_provenance(struct ptl_relogger *relogger, const struct ptl_provenance *step)
{
	int status = keep_text(&relogger->step.tool, step->tool);

	if (!status)
		status = keep_text(&relogger->step.version, step->version);
	if (!status)
		status = keep_text(&relogger->step.command, step->command);
	if (!status)
		status = keep_text(&relogger->step.rules, step->rules);
	return status;
}

int ptl_relogger_unmatched(struct ptl_relogger *relogger, const char *rule)
{
	const size_t size = strlen(rule);

	if (size >= UNMATCHED_MAX - relogger->step.unmatched.size)
		return 0;
	common_text_format(&relogger->step.unmatched, "%s\n", rule);
	return relogger->step.unmatched.failed ? common_fail_memory("provenance", size) : 0;
}

int ptl_relogger_input_origin(struct ptl_relogger_input *input, const struct ptl_provenance_input *origin)
{
	char *copy = strdup(origin->name);

	if (!copy || !common_vector_room(&input->origins.all, input->origins.count, sizeof(*input->origins.all))) {
		free(copy);
		return common_fail_memory("provenance", strlen(origin->name));
	}
	input->origins.all[input->origins.count] = *origin;
	input->origins.all[input->origins.count++].name = copy;
	return 0;
}

static int add_inputs(const struct ptl_relogger *relogger, struct ptl_provenance *step)
{
	struct ptl_provenance_input *inputs;

	for (size_t i = 0; i < relogger->input_count; i++)
		step->inputs += relogger->inputs[i]->origins.count;
	inputs = calloc(step->inputs + 1, sizeof(*inputs));
	if (!inputs)
		return common_fail_memory("provenance", step->inputs * sizeof(*inputs));
	step->input = inputs;
	for (size_t i = 0; i < relogger->input_count; i++) {
		const struct ptl_relogger_input *input = relogger->inputs[i];

		for (size_t j = 0; j < input->origins.count; j++)
			*inputs++ = input->origins.all[j];
	}
	return 0;
}

int format_relogger_write_step(struct ptl_relogger *relogger)
{
	struct ptl_provenance step = {
		.tool = relogger->step.tool ? relogger->step.tool : "libptl",
		.version = relogger->step.version ? relogger->step.version : COMMON_VERSION,
		.command = relogger->step.command ? relogger->step.command : "",
		.rules = relogger->step.rules ? relogger->step.rules : "",
		.unmatched = common_text_string(&relogger->step.unmatched),
	};
	struct timespec now;
	int status = add_inputs(relogger, &step);

	clock_gettime(CLOCK_REALTIME, &now);
	step.wall_time = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
	if (!status)
		status = ptl_writer_provenance(relogger->writer, &step);
	free((void *)step.input);
	return status;
}

void format_run_step_free(struct format_run_step *step)
{
	free(step->tool);
	free(step->version);
	free(step->command);
	free(step->rules);
	common_bytes_free(&step->unmatched);
}

void format_origins_free(struct format_origins *origins)
{
	for (size_t i = 0; i < origins->count; i++)
		free((char *)origins->all[i].name);
	free(origins->all);
	free(origins->alias);
}
