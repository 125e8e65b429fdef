/* SPDX-License-Identifier: BSD-2-Clause */
/* Life of a relogger: inputs, output, stages, and the order of the steps of a run. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/error.h"
#include "common/structure.h"
#include "common/text/text.h"
#include "common/vector.h"
#include "format/reader/parts.h"
#include "format/relogger/relogger_internal.h"
#include "format/writer/blob_file.h"
#include "format/relogger/unfinished.h"
#include "format/writer/closing.h"

#define DEFAULT_MEMORY ((size_t)160 << 20)
#define DEFAULT_WINDOW_EVENTS 65536
#define UNMATCHED_MAX ((size_t)64 << 10)     /* limit for the text about unmatched rules, in bytes */
#define LIVE_FLUSH ((uint64_t)150 * 1000000) /* ns that an event waits in a partial buffer */
#define DEFAULT_WINDOW_BYTES ((size_t)32 << 20)

/* --- life --------------------------------------------------------------------------------------------- */

int ptl_relogger_new(const struct ptl_relogger_options *options, struct ptl_relogger **relogger)
{
	struct ptl_relogger_options taken;
	struct ptl_relogger *result;
	const int status = common_structure_take_optional("ptl_relogger_options", options, &taken, sizeof(taken));

	*relogger = NULL;
	if (status)
		return status;
	result = calloc(1, sizeof(*result));
	if (!result)
		return common_fail_memory("a relogger", sizeof(*result));
	result->options = taken;
	if (!result->options.memory_limit)
		result->options.memory_limit = DEFAULT_MEMORY;
	if (!result->options.window_events)
		result->options.window_events = DEFAULT_WINDOW_EVENTS;
	if (!result->options.window_bytes)
		result->options.window_bytes = DEFAULT_WINDOW_BYTES;
	result->file.fd = -1;
	result->fd = -1;
	result->window.stream_limit = 1;
	*relogger = result;
	return 0;
}

static void free_input(struct ptl_relogger_input *input)
{
	if (input->trace)
		ptl_close(input->trace);
	if (input->fd >= 0)
		close(input->fd);
	for (size_t i = 0; i < input->origin_count; i++)
		free((char *)input->origins[i].name);
	free(input->origins);
	format_input_hash_free(input->hash);
	format_relogger_parts_free(input);
	free(input->machines);
	common_bytes_free(&input->payload);
	free(input->name);
	free(input->alias);
	free(input);
}

static void abandon_output(struct ptl_relogger *relogger)
{
	if (relogger->writer)
		ptl_writer_abandon(relogger->writer);
	relogger->writer = NULL;
	if (relogger->file.path)
		common_output_abandon(&relogger->file);
	if (relogger->fd >= 0)
		close(relogger->fd);
	relogger->fd = -1;
}

void ptl_relogger_free(struct ptl_relogger *relogger)
{
	if (!relogger)
		return;
	abandon_output(relogger);
	format_window_free(&relogger->window);
	format_dedup_free(&relogger->dedup);
	for (size_t i = 0; i < relogger->input_count; i++)
		free_input(relogger->inputs[i]);
	free(relogger->inputs);
	for (size_t i = 0; i < relogger->stage_count; i++) {
		format_event_memory_free(&relogger->stages[i]->event);
		free(relogger->stages[i]);
	}
	free(relogger->stages);
	free(relogger->machines);
	free(relogger->hash_error);
	free(relogger->tool);
	free(relogger->version);
	free(relogger->command);
	free(relogger->rules);
	common_bytes_free(&relogger->unmatched);
	free(relogger);
}

int format_relogger_check(struct ptl_relogger *relogger)
{
	return atomic_load_explicit(&relogger->cancelled, memory_order_relaxed)
		       ? common_fail(PTL_CANCELLED, "cancelled")
		       : 0;
}

void ptl_relogger_cancel(struct ptl_relogger *relogger)
{
	atomic_store_explicit(&relogger->cancelled, true, memory_order_relaxed);
}

void ptl_relogger_stop(struct ptl_relogger *relogger)
{
	atomic_store_explicit(&relogger->stopped, true, memory_order_relaxed);
}

void format_relogger_warn(const struct ptl_relogger *relogger, const char *format, ...)
{
	char text[512];
	va_list arguments;

	if (!relogger->options.warning)
		return;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	relogger->options.warning(relogger->options.context, text);
}

void format_relogger_progress(struct ptl_relogger *relogger, uint64_t bytes)
{
	relogger->done += bytes;
	if (relogger->options.progress)
		relogger->options.progress(relogger->options.context, relogger->done, relogger->total);
}

/* --- output and stages -------------------------------------------------------------------------------- */

static int check_new(const struct ptl_relogger *relogger)
{
	return relogger->state == FORMAT_RELOGGER_NEW ? 0
						      : common_fail(PTL_MISUSE, "the relogger has begun to process");
}

static int check_output(const struct ptl_relogger *relogger)
{
	if (relogger->has_output)
		return common_fail(PTL_MISUSE, "there is an output already");
	return check_new(relogger);
}

int ptl_relogger_output(struct ptl_relogger *relogger, const char *path, bool force)
{
	int status = check_output(relogger);

	/* Inputs that are the output are detected later, in check_inputs. */
	if (status)
		return status;
	status = common_output_open_unnamed(&relogger->file, path, force);
	relogger->file.sync |= !status && relogger->options.sync;
	relogger->has_output = !status;
	return status;
}

int ptl_relogger_output_fd(struct ptl_relogger *relogger, int fd)
{
	const int status = check_output(relogger);

	if (status)
		return status;
	relogger->fd = fd;
	relogger->has_output = true;
	return 0;
}

int ptl_relogger_recompress(struct ptl_relogger *relogger, int level)
{
	const int status = check_new(relogger);

	if (status)
		return status;
	if (level < 0 || level > 19)
		return common_fail(PTL_MISUSE, "expected a compression level from 0 to 19, found %d", level);
	relogger->recompress = true;
	relogger->level = level;
	return 0;
}

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
	int status = keep_text(&relogger->tool, step->tool);

	if (!status)
		status = keep_text(&relogger->version, step->version);
	if (!status)
		status = keep_text(&relogger->command, step->command);
	if (!status)
		status = keep_text(&relogger->rules, step->rules);
	return status;
}

int ptl_relogger_unmatched(struct ptl_relogger *relogger, const char *rule)
{
	const size_t size = strlen(rule);

	if (size >= UNMATCHED_MAX - relogger->unmatched.size)
		return 0;
	common_text_format(&relogger->unmatched, "%s\n", rule);
	return relogger->unmatched.failed ? common_fail_memory("provenance", size) : 0;
}

int ptl_relogger_callbacks(struct ptl_relogger *relogger, const struct ptl_relogger_callbacks *callbacks, void *context)
{
	struct ptl_relogger_callbacks taken;
	struct format_relogger_stage *stage;
	int status = check_new(relogger);

	if (!status)
		status = common_structure_take("ptl_relogger_callbacks", callbacks, &taken, sizeof(taken));
	if (status)
		return status;
	stage = calloc(1, sizeof(*stage));
	if (!stage || !common_vector_room(&relogger->stages, relogger->stage_count, sizeof(*relogger->stages))) {
		free(stage);
		return common_fail_memory("callbacks", sizeof(*stage));
	}
	stage->callbacks = taken;
	stage->context = context;
	stage->event.relogger = relogger;
	relogger->stages[relogger->stage_count++] = stage;
	return 0;
}

/* --- adding by callbacks ------------------------------------------------------------------------------ */

static int check_writer(const struct ptl_relogger *relogger)
{
	return relogger->writer ? 0 : common_fail(PTL_MISUSE, "nothing can be added before begin");
}

int ptl_relogger_machine(struct ptl_relogger *relogger, const struct ptl_machine *machine)
{
	relogger->machine = *machine;
	relogger->has_machine = true;
	return check_writer(relogger);
}

int ptl_relogger_schema(struct ptl_relogger *relogger, const struct ptl_schema *schema)
{
	const int status = check_writer(relogger);

	return status ? status : ptl_writer_schema(relogger->writer, schema);
}

int ptl_relogger_loss(struct ptl_relogger *relogger, const struct ptl_loss *loss)
{
	const int status = check_writer(relogger);

	return status ? status : ptl_writer_loss(relogger->writer, loss);
}

int ptl_relogger_add_provenance(struct ptl_relogger *relogger, const struct ptl_provenance *step)
{
	const int status = check_writer(relogger);

	return status ? status : ptl_writer_provenance(relogger->writer, step);
}

int ptl_relogger_record(struct ptl_relogger *relogger, uint64_t type, const void *body, size_t size)
{
	const int status = check_writer(relogger);

	return status ? status : ptl_writer_record(relogger->writer, type, body, size);
}

int ptl_relogger_blob(struct ptl_relogger *relogger, uint32_t type, const void *data, size_t size,
		      uint8_t hash[PTL_HASH_SIZE])
{
	const int status = check_writer(relogger);

	return status ? status : ptl_writer_blob(relogger->writer, type, data, size, hash);
}

int ptl_relogger_blob_file(struct ptl_relogger *relogger, uint32_t type, int fd, uint64_t offset, uint64_t size,
			   uint8_t hash[PTL_HASH_SIZE])
{
	const int status = check_writer(relogger);

	return status ? status
		      : format_writer_blob_file(relogger->writer, type, fd, offset, size, &relogger->cancelled, hash);
}

int ptl_relogger_cut(struct ptl_relogger *relogger, const struct ptl_cut *cut)
{
	struct ptl_cut taken;
	const int status = common_structure_take("ptl_cut", cut, &taken, sizeof(taken));

	if (status)
		return status;
	relogger->cut = taken;
	/* without dropped data, the output is as complete as the inputs */
	relogger->has_cut = taken.events || taken.bytes;
	return 0;
}

void ptl_relogger_counts(const struct ptl_relogger *relogger, struct ptl_relogger_counts *counts)
{
	*counts = relogger->counts;
}

/* --- the run ------------------------------------------------------------------------------------------ */

static int call_all(struct ptl_relogger *relogger, bool begin)
{
	int status = 0;

	for (size_t i = 0; !status && i < relogger->stage_count; i++) {
		struct format_relogger_stage *stage = relogger->stages[i];
		int (*call)(void *, struct ptl_relogger *) = begin ? stage->callbacks.begin : stage->callbacks.end;

		relogger->stage = i;
		if (call)
			status = call(stage->context, relogger);
	}
	return status;
}

/* Refuses an output that is an input, even with force. */
static int check_inputs(const struct ptl_relogger *relogger, const char *path)
{
	struct stat output, input;

	if ((path ? stat(path, &output) : fstat(relogger->fd, &output)) < 0 || !S_ISREG(output.st_mode))
		return 0;
	for (size_t i = 0; i < relogger->input_count; i++)
		if (fstat(relogger->inputs[i]->fd, &input) == 0 && input.st_dev == output.st_dev &&
		    input.st_ino == output.st_ino)
			return common_fail(PTL_MISUSE, "%s is an input and the output", relogger->inputs[i]->name);
	return 0;
}

static int open_writer(struct ptl_relogger *relogger)
{
	struct ptl_writer_options options = {
		.size = sizeof(options),
		.level = relogger->recompress ? relogger->level : relogger->options.level,
		.store = relogger->recompress && !relogger->level,
		.threads = relogger->options.threads,
		.memory_limit = relogger->options.memory_limit / 4,
		.write_back = relogger->file.sync, /* as the file will be synced before it gets its name */
		.flush_interval = relogger->inputs[0]->live ? LIVE_FLUSH : 0,
		.name = relogger->file.path,
	};
	int fd = relogger->fd;
	int status;

	for (size_t i = 0; i < relogger->input_count; i++) {
		uint16_t major, minor;

		ptl_trace_version(relogger->inputs[i]->trace, &major, &minor);
		options.minor = minor > options.minor ? minor : options.minor;
		relogger->total += ptl_trace_size(relogger->inputs[i]->trace);
	}
	relogger->fd = -1;
	if (fd < 0)
		fd = fcntl(relogger->file.fd, F_DUPFD_CLOEXEC, 3);
	if (fd < 0)
		return common_fail_errno("cannot write %s", relogger->file.path);
	status = ptl_writer_open(fd, &options, &relogger->writer);
	if (status)
		close(fd);
	/* A growing output is read under its final name. The lock keeps other programs from replacing it. */
	if (!status && relogger->inputs[0]->live && relogger->file.path) {
		if (relogger->file.temporary || relogger->file.unnamed)
			common_file_lock_recorded(relogger->file.fd);
		status = common_output_commit(&relogger->file);
	}
	return status;
}

static void share_memory(const struct ptl_relogger *relogger)
{
	const size_t both = 2 * (relogger->options.memory_limit / FORMAT_INPUT_SHARE);

	for (size_t i = 0; relogger->input_count > 2 && i < relogger->input_count; i++)
		format_trace_limit_cache(relogger->inputs[i]->trace, both / relogger->input_count);
}

/* Examines the whole inputs before the first of them passes. */
static int look_at_inputs(struct ptl_relogger *relogger)
{
	int status;

	share_memory(relogger);
	status = format_relogger_find_machines(relogger);
	if (!status)
		status = format_relogger_find_parts(relogger);
	if (!status)
		status = format_relogger_find_whole(relogger);
	if (!status)
		format_relogger_start_hashes(relogger);
	return status;
}

static int pass_all(struct ptl_relogger *relogger)
{
	int status = format_relogger_pass_records(relogger);

	if (!status)
		status = format_relogger_pass_events(relogger);
	return status ? status : format_relogger_pass_streams(relogger);
}

static int run_relogger(struct ptl_relogger *relogger)
{
	const struct format_live *live = relogger->inputs[0]->live;
	int status = live ? 0 : look_at_inputs(relogger);

	if (!status)
		status = call_all(relogger, true);
	if (!status)
		status = live ? format_relogger_pass_live(relogger) : pass_all(relogger);
	if (!status)
		status = call_all(relogger, false);
	if (!status)
		status = format_window_flush(relogger, UINT64_MAX);
	relogger->ended = true;
	if (!status && !(live && live->copies_blobs))
		status = format_relogger_pass_blobs(relogger);
	if (!status)
		status = format_relogger_pass_parts(relogger);
	if (!status)
		status = format_relogger_pass_damage(relogger);
	if (!status)
		status = format_relogger_finish_hashes(relogger);
	if (!status)
		status = format_relogger_finish_records(relogger);
	return status ? status : format_relogger_check(relogger);
}

void format_relogger_leave_unfinished(struct ptl_relogger *relogger)
{
	relogger->unfinished = true;
}

static int commit(struct ptl_relogger *relogger)
{
	int status;

	if (relogger->unfinished)
		format_writer_leave_unfinished(relogger->writer);
	status = ptl_writer_close(relogger->writer);

	relogger->writer = NULL;
	if (!status)
		status = format_relogger_check(relogger);
	if (!status && relogger->file.path)
		status = common_output_commit(&relogger->file);
	return status;
}

int ptl_relogger_process(struct ptl_relogger *relogger)
{
	int status = check_new(relogger);

	if (status)
		return status;
	if (!relogger->input_count || !relogger->has_output)
		return common_fail(PTL_MISUSE, "a relogger needs an input and an output");
	relogger->state = FORMAT_RELOGGER_RUNNING;
	if (relogger->inputs[0]->live && relogger->input_count > 1)
		return common_fail(PTL_MISUSE, "a trace that is being written is the only input");
	status = check_inputs(relogger, relogger->file.path);
	if (!status)
		status = open_writer(relogger);
	if (!status) {
		status = run_relogger(relogger);
		if (status)
			ptl_relogger_cancel(relogger);
		format_relogger_stop_hashes(relogger);
	}
	if (!status)
		status = commit(relogger);
	relogger->state = FORMAT_RELOGGER_DONE;
	abandon_output(relogger);
	return status;
}
