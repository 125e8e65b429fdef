/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Splits by cutting several times. The size of a span of time is estimated from the buffers of the inputs. A part that
 * becomes too large is written again with a shorter span.
 */
#include "relog/split.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ptl/relogger.h>

#include "common/error.h"
#include "common/file.h"
#include "common/program/interrupt.h"
#include "common/program/message.h"
#include "common/vector.h"
#include "format/relogger/names.h"
#include "relog/inputs.h"
#include "relog/run.h"

#define TRIES 6 /* attempts for a part */
#define PARTS_MAX 10000u
#define MARGIN 64u * 1024u /* reserve in a part for metadata and index */

/* Size and time range of a buffer. */
struct span {
	uint64_t first, last;
	uint64_t bytes;
};

struct split {
	const struct relog_settings *settings;
	struct span *spans;
	size_t count, capacity;
	uint64_t start, end;                  /* time range to split, both inclusive */
	struct ptl_provenance_input *origins; /* origins of the inputs, which every part records */
	size_t origin_count;
	uint64_t fixed;              /* bytes of code and metadata that every part may need */
	struct relog_settings *part; /* settings of the current part */
	bool again;                  /* messages about the inputs were printed */
	char **parts;                /* temporary names of the written parts */
	size_t part_count;
	size_t large_count; /* parts that are larger than requested */
	uint64_t largest;
};

/* --- examining the inputs ------------------------------------------------------------------------------ */

static int add_span(struct split *split, const struct ptl_buffer *buffer, uint64_t shift)
{
	if (COMMON_VECTOR_RESERVE(split->spans, split->capacity, split->count + 1, "buffers"))
		return PTL_NO_MEMORY;
	split->spans[split->count++] = (struct span){buffer->first_time + shift, buffer->last_time + shift,
						     buffer->stored_size};
	return 0;
}

static int look_at_input(struct split *split, const struct ptl_relogger_input *input)
{
	const struct ptl_trace *trace = ptl_relogger_input_trace(input);
	struct ptl_relogger_input_info info;
	int status = 0;

	ptl_relogger_input_info(input, &info);
	for (size_t i = 0; !status && i < ptl_buffer_count(trace); i++) {
		const struct ptl_buffer *buffer = ptl_buffer_at(trace, i);

		if (!buffer->last_time)
			split->fixed += buffer->stored_size;
		else
			status = add_span(split, buffer, (uint64_t)info.time_shift);
	}
	return status;
}

/* Computes the origins of inputs that were not made of other files. */
static int hash_inputs(struct split *split, struct ptl_relogger *relogger)
{
	const size_t count = ptl_relogger_input_count(relogger);
	int status = 0;

	split->origin_count = count;
	split->origins = calloc(count + 1, sizeof(*split->origins));
	if (!split->origins)
		return common_fail_memory("inputs", count * sizeof(*split->origins));
	for (size_t i = 0; !status && i < count; i++) {
		struct ptl_provenance_input origin;
		bool known;

		status = format_relogger_origin(relogger, ptl_relogger_input_at(relogger, i), split->settings->hash,
						&origin, &known);
		if (status || !known)
			continue;
		split->origins[i] = origin;
		split->origins[i].name = strdup(origin.name);
		if (!split->origins[i].name)
			status = common_fail_memory("a file name", 0);
	}
	return status;
}

/* A begin callback that stops the run: the shifts of times are known then. */
static int stop_at_begin(void *context, struct ptl_relogger *relogger)
{
	struct split *split = context;
	const struct ptl_machine *machine = ptl_trace_machine(
		ptl_relogger_input_trace(ptl_relogger_input_at(relogger, 0)));
	int status = 0;

	if (machine->clock == PTL_CLOCK_NONE)
		return common_fail(PTL_MISUSE, "--split: this trace has no clock: nothing in it has a time");
	status = relog_cut_times(&split->settings->cut, relogger, &split->start, &split->end);
	for (size_t i = 0; !status && i < ptl_relogger_input_count(relogger); i++)
		status = look_at_input(split, ptl_relogger_input_at(relogger, i));
	if (!status)
		status = hash_inputs(split, relogger);
	return status ? status : 1;
}

static int look_at_inputs(struct split *split)
{
	const struct ptl_relogger_callbacks callbacks = {.size = sizeof(callbacks), .begin = stop_at_begin};
	const struct ptl_relogger_options options = {
		.size = sizeof(options), .hash = PTL_HASH_NONE, .max_expansion = split->settings->max_expansion};
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
	status = relog_inputs_add(split->settings, relogger, &damaged);
	if (!status)
		status = ptl_relogger_callbacks(relogger, &callbacks, split);
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

/* Limits the time range to split to the time range of the inputs. */
static void bound(struct split *split)
{
	uint64_t first = UINT64_MAX, last = 0;

	for (size_t i = 0; i < split->count; i++) {
		first = split->spans[i].first < first ? split->spans[i].first : first;
		last = split->spans[i].last > last ? split->spans[i].last : last;
	}
	if (split->start < first)
		split->start = first;
	if (split->end > last)
		split->end = last;
}

/* --- choosing the bounds ---------------------------------------------------------------------------------- */

/* Estimates the bytes of the inputs in [from, to], as if a buffer's bytes were spread evenly over its time range. */
static double bytes_within(const struct split *split, uint64_t from, uint64_t to)
{
	double bytes = 0;

	for (size_t i = 0; i < split->count; i++) {
		const struct span *span = &split->spans[i];
		const uint64_t first = span->first > from ? span->first : from;
		const uint64_t last = span->last < to ? span->last : to;

		if (first <= last)
			bytes += (double)span->bytes * ((double)(last - first) + 1) /
				 ((double)(span->last - span->first) + 1);
	}
	return bytes;
}

/* Returns the latest end of a part that starts at `from` and has at most `bytes` bytes. */
static uint64_t find_end(const struct split *split, uint64_t from, double bytes)
{
	uint64_t low = from, high = split->end;

	while (low < high) {
		const uint64_t middle = low + (high - low + 1) / 2;

		if (bytes_within(split, from, middle) <= bytes)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

/* --- writing ------------------------------------------------------------------------------------------ */

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

/* Writes [from, to] as the next part. *size: bytes of the file. */
static int write_part(struct split *split, uint64_t from, uint64_t to, bool *damaged, uint64_t *size)
{
	struct relog_settings *settings = split->part;
	struct stat info;
	int status;

	settings->output = split->parts[split->part_count];
	settings->force = true;
	unlink(settings->output); /* an earlier attempt at this part */
	settings->repeated = split->again;
	settings->origins = split->origins;
	split->again = true;
	/* The first part begins, and the last part ends, at the bounds of the settings, which may be no bounds. */
	settings->cut.span.from = from == split->start ? split->settings->cut.span.from
						       : (struct common_time_bound){true, true, from};
	settings->cut.span.to = to == split->end ? split->settings->cut.span.to
						 : (struct common_time_bound){true, true, to};
	status = relog_run(settings, damaged);
	if (!status && stat(settings->output, &info) < 0)
		status = common_fail_errno("%s", settings->output);
	*size = status ? 0 : (uint64_t)info.st_size;
	return status;
}

/*
 * Whether a shorter span would help. Code and rundown do not shrink with the span, and tiny parts would only repeat
 * them more often.
 */
static bool is_too_long(const struct split *split, uint64_t from, uint64_t to, uint64_t size)
{
	const double others = (double)size - bytes_within(split, from, to);

	return to > from && others < 0.75 * (double)split->settings->split;
}

/* Writes a part from `from` on that fits, if possible. *to: end of the part. */
static int make_part(struct split *split, uint64_t from, uint64_t *to, bool *damaged)
{
	const uint64_t wanted = split->settings->split;
	const uint64_t fixed = split->fixed + MARGIN;
	double bytes = wanted > fixed + wanted / 4 ? (double)(wanted - fixed) : (double)wanted / 2;
	uint64_t size = 0;

	for (unsigned try = 0; try < TRIES; try++) {
		int status;

		*to = find_end(split, from, bytes);
		status = write_part(split, from, *to, damaged, &size);
		if (status || size <= wanted)
			return status;
		if (!is_too_long(split, from, *to, size))
			break;
		bytes = bytes * 0.9 * (double)wanted / (double)size;
	}
	split->large_count++;
	split->largest = size > split->largest ? size : split->largest;
	return 0;
}

static int make_parts(struct split *split, bool *damaged)
{
	uint64_t from = split->start;
	int status = 0;

	while (!status) {
		uint64_t to;

		if (!common_vector_room(&split->parts, split->part_count, sizeof(*split->parts)))
			return common_fail_memory("parts", (split->part_count + 1) * sizeof(*split->parts));
		split->parts[split->part_count] = relog_part_name(split->settings->output, split->part_count + 1, true);
		if (!split->parts[split->part_count])
			return common_fail_memory("a file name", 0);
		status = make_part(split, from, &to, damaged);
		split->part_count++;
		if (status || to >= split->end)
			return status;
		if (split->part_count == PARTS_MAX)
			return common_fail(PTL_MISUSE, "--split: more than %u parts", PARTS_MAX);
		from = to + 1;
	}
	return status;
}

/* --- renaming all parts, or none -------------------------------------------------------------------------- */

static int check_target(const struct split *split, const char *name)
{
	int status;

	if (!name)
		return common_fail_memory("a file name", 0);
	if (!split->settings->force && access(name, F_OK) == 0)
		return common_fail(PTL_SYSTEM, "%s exists; use --force to replace it", name);
	status = common_file_check_recorded(name);
	if (status)
		return status;
	split->part->output = name;
	return relog_inputs_check(split->part);
}

static int check_targets(const struct split *split)
{
	for (size_t i = 0; i < split->part_count; i++) {
		char *name = relog_part_name(split->settings->output, i + 1, false);
		const int status = check_target(split, name);

		free(name);
		if (status)
			return status;
	}
	return 0;
}

static int commit(struct split *split)
{
	int status = check_targets(split);

	for (size_t i = 0; !status && i < split->part_count; i++) {
		char *name = relog_part_name(split->settings->output, i + 1, false);

		if (!name)
			return common_fail_memory("a file name", 0);
		/* Syncs a part before the part replaces a file, as for a single output. */
		if (!split->settings->sync && access(name, F_OK) == 0)
			status = common_sync_file(split->parts[i]);
		if (!status && rename(split->parts[i], name) < 0)
			status = common_fail_errno("cannot write %s", name);
		free(name);
	}
	return status;
}

static void clean(struct split *split)
{
	for (size_t i = 0; i < split->part_count; i++) {
		unlink(split->parts[i]);
		free(split->parts[i]);
	}
	for (size_t i = 0; i < split->origin_count; i++)
		free((char *)split->origins[i].name);
	free(split->origins);
	free(split->part);
	free(split->parts);
	free(split->spans);
}

int relog_split(const struct relog_settings *settings, bool *damaged)
{
	struct split split = {.settings = settings, .part = malloc(sizeof(*settings))};
	int status = split.part ? look_at_inputs(&split) : common_fail_memory("settings", sizeof(*settings));

	if (split.part) {
		*split.part = *settings;
		split.part->follow = false; /* look_at_inputs has waited */
	}
	if (!status && !split.count)
		status = common_fail(PTL_MISUSE, "--split: nothing in this trace has a time");
	if (!status) {
		bound(&split);
		status = make_parts(&split, damaged);
	}
	if (!status)
		status = commit(&split);
	if (!status)
		common_message_note("%zu part%s", split.part_count, split.part_count == 1 ? "" : "s");
	if (!status && split.large_count) {
		common_message_warning("%zu of %zu parts could not be made smaller than asked; the largest has %" PRIu64
				       " bytes: each needs code and rundown of its own",
				       split.large_count, split.part_count, split.largest);
		common_message_hint("a larger --split, or --drop-code");
	}
	clean(&split);
	return status;
}
