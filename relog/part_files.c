/* SPDX-License-Identifier: BSD-2-Clause */
#include "relog/part_files.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/error.h"
#include "common/file.h"
#include "common/program/interrupt.h"
#include "common/vector.h"
#include "format/relogger/names.h"
#include "relog/inputs.h"
#include "relog/run.h"

/* ---- examining the inputs ------------------------------------------------------------------------ */

/* Computes the origins of inputs that were not made of other files. */
static int hash_inputs(struct relog_part_files *files, struct ptl_relogger *relogger)
{
	const size_t count = ptl_relogger_input_count(relogger);
	int status = 0;

	files->origin_count = count;
	files->origins = calloc(count + 1, sizeof(*files->origins));
	if (!files->origins)
		return common_fail_memory("inputs", count * sizeof(*files->origins));
	for (size_t i = 0; !status && i < count; i++) {
		struct ptl_provenance_input origin;
		bool known;

		status = format_relogger_origin(relogger, ptl_relogger_input_at(relogger, i), files->settings->hash,
						&origin, &known);
		if (status || !known)
			continue;
		files->origins[i] = origin;
		files->origins[i].name = strdup(origin.name);
		if (!files->origins[i].name)
			status = common_fail_memory("a file name", 0);
	}
	return status;
}

struct looking {
	struct relog_part_files *files;
	int (*look)(void *context, struct ptl_relogger *relogger);
	void *context;
};

/* A begin callback that stops the run. */
static int stop_at_begin(void *context, struct ptl_relogger *relogger)
{
	const struct looking *looking = context;
	int status = looking->look(looking->context, relogger);

	if (!status)
		status = hash_inputs(looking->files, relogger);
	return status ? status : 1;
}

static int run_until_begin(struct looking *looking)
{
	const struct relog_settings *settings = looking->files->settings;
	const struct ptl_relogger_callbacks callbacks = {.size = sizeof(callbacks), .begin = stop_at_begin};
	const struct ptl_relogger_options options = {
		.size = sizeof(options), .hash = PTL_HASH_NONE, .max_expansion = settings->max_expansion};
	struct ptl_relogger *relogger;
	bool damaged = false; /* every part reports damage */
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	int status = fd < 0 ? common_fail_errno("/dev/null") : ptl_relogger_new(&options, &relogger);

	if (status) {
		if (fd >= 0)
			close(fd);
		return status;
	}
	relog_catch_interrupts(relogger);
	status = relog_inputs_add(settings, relogger, &damaged);
	if (!status)
		status = ptl_relogger_callbacks(relogger, &callbacks, looking);
	if (!status)
		status = ptl_relogger_output_fd(relogger, fd);
	if (!status)
		fd = -1;
	if (!status)
		status = ptl_relogger_process(relogger);
	common_interrupt_forget();
	ptl_relogger_free(relogger);
	if (fd >= 0)
		close(fd);
	return status == 1 ? 0 : status;
}

int relog_part_files_look(struct relog_part_files *files, int (*look)(void *context, struct ptl_relogger *relogger),
			  void *context)
{
	struct looking looking = {files, look, context};

	files->part = malloc(sizeof(*files->part));
	if (!files->part)
		return common_fail_memory("settings", sizeof(*files->part));
	*files->part = *files->settings;
	files->part->follow = false; /* the inputs are complete behind this */
	return run_until_begin(&looking);
}

/* ---- writing ------------------------------------------------------------------------------------- */

char *relog_part_name(const char *path, size_t number, bool temporary)
{
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;
	const size_t length = strlen(base);
	const bool has_end = length > 4 && strcmp(base + length - 4, ".ptl") == 0;
	char *name = NULL;
	int size;

	size = temporary ? asprintf(&name, "%.*s.%.*s.%zu.ptl.tmp-%d", (int)(base - path), path,
				    (int)(length - (has_end ? 4 : 0)), base, number, (int)getpid())
			 : asprintf(&name, "%.*s%.*s.%zu%s", (int)(base - path), path,
				    (int)(length - (has_end ? 4 : 0)), base, number, has_end ? ".ptl" : "");
	return size < 0 ? NULL : name;
}

int relog_part_files_next(struct relog_part_files *files)
{
	if (!common_vector_room(&files->names, files->count, sizeof(*files->names)))
		return common_fail_memory("parts", (files->count + 1) * sizeof(*files->names));
	files->names[files->count] = relog_part_name(files->settings->output, files->count + 1, true);
	if (!files->names[files->count])
		return common_fail_memory("a file name", 0);
	files->count++;
	return 0;
}

int relog_part_files_write(struct relog_part_files *files, const struct common_time_span *span, bool *damaged,
			   uint64_t *size)
{
	struct relog_settings *part = files->part;
	struct stat info;
	int status;

	part->output = files->names[files->count - 1];
	part->force = true;
	unlink(part->output); /* an earlier attempt at this part */
	part->repeated = files->again;
	part->origins = files->origins;
	files->again = true;
	part->cut.span = *span;
	status = relog_run(part, damaged);
	if (!status && stat(part->output, &info) < 0)
		status = common_fail_errno("%s", part->output);
	*size = status ? 0 : (uint64_t)info.st_size;
	return status;
}

/* ---- renaming all parts, or none ----------------------------------------------------------------- */

static int check_target(struct relog_part_files *files, const char *name)
{
	int status;

	if (!name)
		return common_fail_memory("a file name", 0);
	if (!files->settings->force && access(name, F_OK) == 0)
		return common_fail(PTL_SYSTEM, "%s exists; -f replaces it, -o names another", name);
	status = common_file_check_recorded(name);
	if (status)
		return status;
	files->part->output = name;
	return relog_inputs_check(files->part);
}

static int check_targets(struct relog_part_files *files)
{
	for (size_t i = 0; i < files->count; i++) {
		char *name = relog_part_name(files->settings->output, i + 1, false);
		const int status = check_target(files, name);

		free(name);
		if (status)
			return status;
	}
	return 0;
}

int relog_part_files_commit(struct relog_part_files *files)
{
	int status = check_targets(files);

	for (size_t i = 0; !status && i < files->count; i++) {
		char *name = relog_part_name(files->settings->output, i + 1, false);

		if (!name)
			return common_fail_memory("a file name", 0);
		/* Syncs a part before the part replaces a file, as for a single output. */
		if (!files->settings->sync && access(name, F_OK) == 0)
			status = common_sync_file(files->names[i]);
		if (!status && rename(files->names[i], name) < 0)
			status = common_fail_errno("cannot write %s", name);
		free(name);
	}
	return status;
}

void relog_part_files_free(struct relog_part_files *files)
{
	for (size_t i = 0; i < files->count; i++) {
		unlink(files->names[i]);
		free(files->names[i]);
	}
	for (size_t i = 0; i < files->origin_count; i++)
		free((char *)files->origins[i].name);
	free(files->origins);
	free(files->part);
	free(files->names);
}
