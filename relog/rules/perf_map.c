/* SPDX-License-Identifier: BSD-2-Clause */
/* Whole perf maps: all anonymous executable memory of a process gets the names in the process's perf map. */
#include <stdio.h>
#include <unistd.h>

#include "common/error.h"
#include "relog/rules/images.h"

static int warn_of_no_map(const struct rules_run *run, const struct rules_image *image, const char *path)
{
	const struct query_place *at = &image->body.symbols_path->at;
	char text[4352];

	snprintf(text, sizeof(text), "%s:%u:%u: there is no %s: what it would name has no names", run->rules->name,
		 at->line, at->column, path);
	if (run->output.warning)
		run->output.warning(run->output.context, text);
	return 0;
}

/* Whether the process has a perf map. Warns once per process and statement about a missing map. */
static int find_map(struct rules_run *run, size_t index, const struct rules_image *image, struct rules_space *space,
		    bool *found)
{
	struct query_scope scope = rules_statement_scope(run, space->pid);
	const char *name, *path;
	int status = rules_spec_symbols_path(run, &scope, &image->body, space->pid, &name);

	*found = false;
	if (status < 0)
		return status;
	path = query_files_path(&run->files, name, &run->scratch);
	if (!path)
		return PTL_NO_MEMORY;
	*found = access(path, R_OK) == 0;
	/* `mapped` counts missing maps here, so that the first one is reported. */
	return *found || space->mapped[index]++ ? 0 : warn_of_no_map(run, image, path);
}

int rules_perf_map_notice(struct rules_run *run, size_t index, const struct rules_image *image, uint64_t time,
			  const struct ptl_image_event *data)
{
	const uint64_t last = data->base + (data->size - 1);
	struct rules_space *space;
	bool found = false;
	int status = 0;

	if (!rules_is_nameless(data->file_name))
		return 0;
	status = rules_space_need(run, data->process_id, &space);
	if (!status)
		status = find_map(run, index, image, space, &found);
	for (uint64_t at = data->base; !status && found;) {
		const struct rules_live *live = rules_live_find(space, at, last);
		const uint64_t end = live ? live->last : last;

		/* Memory that already has a name keeps the name. */
		if (!live || live->first > at)
			status = rules_statement_load_memory(run, image, data->process_id, time, at,
							     (live ? live->first - 1 : last) - at + 1);
		if (end >= last)
			break;
		at = end + 1;
	}
	return status;
}
