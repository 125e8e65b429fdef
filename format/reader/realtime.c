/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads a trace while it is written: waits for buffers, and passes events as they arrive. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/error.h"
#include "common/file.h"
#include "common/structure.h"
#include "format/reader/live.h"
#include "format/reader/reader_internal.h"

#define MILLISECOND 1000000u
#define SECOND 1000000000u
#define DEFAULT_DELAY (450 * MILLISECOND)
#define PAUSE (25 * MILLISECOND)
#define READ_SIZE (256u << 10)

static uint64_t realtime_now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * SECOND + (uint64_t)time.tv_nsec;
}

/* ---- reading new data ------------------------------------------------------------------------ */

/* Copies data from the pipe, at most as much as one read returns. */
static int copy_from_pipe(struct ptl_trace *trace)
{
	struct pollfd wait = {.fd = trace->growth->pipe, .events = POLLIN};
	uint8_t *data;
	ssize_t size;
	int status = 0;

	if (poll(&wait, 1, 0) <= 0)
		return 0;
	data = malloc(READ_SIZE);
	if (!data)
		return common_fail_memory("a copy of the input", READ_SIZE);
	size = read(trace->growth->pipe, data, READ_SIZE);
	if (size > 0)
		status = common_write_temporary(trace->fd, data, (size_t)size, trace->size);
	else if (size == 0)
		trace->growth->over = true;
	else if (errno != EINTR && errno != EAGAIN)
		status = common_fail_errno("cannot read the input");
	if (size > 0 && !status)
		trace->size += (uint64_t)size;
	free(data);
	return status;
}

static int look_at_file(struct ptl_trace *trace)
{
	/* Checked before fstat: if the writer is gone, the size is final. */
	const bool written = common_file_has_writer(trace->fd);
	struct stat info;

	if (fstat(trace->fd, &info) < 0)
		return common_fail_errno("cannot read the input");
	if ((uint64_t)info.st_size < trace->size)
		return common_fail(PTL_TRUNCATED, "the file has become shorter while it was read");
	trace->growth->over = !written;
	trace->size = (uint64_t)info.st_size;
	return 0;
}

static int take_header(struct ptl_trace *trace)
{
	struct format_growth *growth = trace->growth;
	int status;

	if (growth->started || (trace->size < FORMAT_FILE_HEADER_SIZE && !growth->over))
		return 0;
	status = format_header_read(trace);
	growth->started = !status;
	growth->next = FORMAT_FILE_HEADER_SIZE;
	return status;
}

/* Discards the PSBs found by a search; they will be searched again, with the new data. */
static void forget_search(struct ptl_trace *trace)
{
	for (size_t i = 0; i < trace->stream_count; i++) {
		struct format_reader_stream *stream = &trace->streams[i];

		if (stream->scanned)
			stream->psb_count = 0;
		stream->scanned = false;
	}
}

static int take_buffers(struct ptl_trace *trace)
{
	struct format_growth *growth = trace->growth;
	const size_t before = trace->entry_count;
	int status;

	forget_search(trace);
	status = format_scan_grown(trace, &growth->next);
	growth->over |= trace->complete;
	/* The data is final, so everything invalid in the rest is damage. */
	if (!status && growth->over && !trace->complete)
		status = format_scan(trace, growth->next);
	if (!status && trace->entry_count > before) {
		status = format_metadata_load(trace, growth->loaded, &growth->metadata);
		growth->loaded = trace->entry_count;
		if (!status)
			status = format_streams_sort(trace);
	}
	return status;
}

/* Reads new data. *more: data was added, or the trace has just ended. */
static int read_growth(struct ptl_trace *trace, bool *more)
{
	struct format_growth *growth = trace->growth;
	const uint64_t size = trace->size;
	int status;

	*more = false;
	if (growth->over)
		return 0;
	status = growth->pipe >= 0 ? copy_from_pipe(trace) : look_at_file(trace);
	if (!status && (trace->size != size || growth->over))
		status = take_header(trace);
	if (!status && growth->started && (trace->size != size || growth->over))
		status = take_buffers(trace);
	if (status)
		return common_fail_in(status, "%s", trace->name);
	*more = trace->size != size || growth->over;
	return 0;
}

/* ---- the horizon ----------------------------------------------------------------------------- */

static void add_moment(struct format_growth *growth, uint64_t at, uint64_t delay)
{
	struct format_moment *last =
		&growth->moments[(growth->first_moment + growth->moment_count - 1) % FORMAT_MOMENTS];

	if (growth->moment_count && last->reached == growth->reached)
		return;
	/* The ring is bounded, so moments close together are combined. */
	if (growth->moment_count && at - last->at < delay / (FORMAT_MOMENTS - 2)) {
		last->reached = growth->reached;
		return;
	}
	if (growth->moment_count == FORMAT_MOMENTS) {
		growth->first_moment = (growth->first_moment + 1) % FORMAT_MOMENTS;
		growth->moment_count--;
	}
	growth->moments[(growth->first_moment + growth->moment_count++) % FORMAT_MOMENTS] = (struct format_moment){
		at, growth->reached};
}

static uint64_t own_delay(const struct format_growth *growth)
{
	return growth->options.delay ? growth->options.delay : DEFAULT_DELAY;
}

static void move_horizon(struct ptl_trace *trace)
{
	struct format_growth *growth = trace->growth;
	const uint64_t delay = own_delay(growth) + growth->more_delay, at = realtime_now();

	for (; growth->timed < trace->entry_count; growth->timed++) {
		const struct ptl_buffer *buffer = &trace->entries[growth->timed].buffer;

		if ((buffer->stream.kind == PTL_KIND_EVENTS || buffer->stream.kind == PTL_KIND_PT) &&
		    buffer->last_time > growth->reached)
			growth->reached = buffer->last_time;
	}
	add_moment(growth, at, delay);
	while (growth->moment_count && at - growth->moments[growth->first_moment].at >= delay) {
		growth->horizon = growth->moments[growth->first_moment].reached;
		growth->first_moment = (growth->first_moment + 1) % FORMAT_MOMENTS;
		growth->moment_count--;
	}
	if (growth->over)
		growth->horizon = UINT64_MAX;
}

/* ---- waiting --------------------------------------------------------------------------------------------------------- */

/* Waits: for a pipe, until data arrives; for a file, which must be polled, for the whole time. */
static void rest(const struct format_growth *growth, uint64_t time)
{
	const struct timespec pause = {.tv_sec = (time_t)(time / SECOND), .tv_nsec = (long)(time % SECOND)};
	struct pollfd wait = {.fd = growth->pipe, .events = POLLIN};

	if (growth->pipe >= 0)
		ppoll(&wait, 1, &pause, NULL);
	else
		nanosleep(&pause, NULL);
}

/* Calls idle(), which may use the trace in its current state. */
static int call_idle(struct ptl_trace *trace, const struct ptl_realtime_options *options)
{
	const bool processing = trace->growth->processing;
	int status;

	trace->growth->processing = true;
	status = options->idle(options->context, trace);
	trace->growth->processing = processing;
	return status;
}

int ptl_realtime_wait(struct ptl_trace *trace, uint64_t timeout, bool *more)
{
	const uint64_t start = realtime_now();
	uint64_t passed = 0;
	int status = 0;

	if (!trace->growth)
		return common_fail(PTL_MISUSE, "%s was not opened for real time", trace->name);
	for (;;) {
		const struct ptl_realtime_options *options = &trace->growth->options;

		status = read_growth(trace, more);
		move_horizon(trace);
		if (!status && options->idle)
			status = call_idle(trace, options);
		if (status || *more || trace->growth->over || passed >= timeout)
			return status;
		rest(trace->growth, timeout - passed < PAUSE ? timeout - passed : PAUSE);
		passed = realtime_now() - start;
	}
}

bool ptl_realtime_over(const struct ptl_trace *trace)
{
	return !trace->growth || trace->growth->over;
}

uint64_t ptl_realtime_horizon(const struct ptl_trace *trace)
{
	return trace->growth ? trace->growth->horizon : UINT64_MAX;
}

/* ---- for the relogger ------------------------------------------------------------------------------------------------ */

void format_realtime_hold(struct ptl_trace *trace, bool held)
{
	trace->growth->processing = held;
}

void format_realtime_delay(struct ptl_trace *trace, uint64_t delay)
{
	trace->growth->more_delay = delay;
}

uint64_t format_realtime_ahead(const struct ptl_trace *trace)
{
	const struct format_growth *growth = trace->growth;
	const uint64_t at = realtime_now();

	if (growth->over)
		return UINT64_MAX;
	for (size_t i = growth->moment_count; i-- > 0;) {
		const struct format_moment *moment = &growth->moments[(growth->first_moment + i) % FORMAT_MOMENTS];

		if (at - moment->at >= own_delay(growth))
			return moment->reached;
	}
	return growth->horizon;
}

int format_realtime_end(struct ptl_trace *trace)
{
	int status = 0;

	if (trace->growth->over)
		return 0;
	trace->growth->over = true;
	if (trace->growth->started)
		status = take_buffers(trace);
	move_horizon(trace);
	return status ? common_fail_in(status, "%s", trace->name) : 0;
}

int format_trace_descriptor(const struct ptl_trace *trace)
{
	return trace->fd;
}

/* ---- opening --------------------------------------------------------------------------------------------------------- */

static int prepare_source(struct ptl_trace *trace)
{
	struct stat info;

	if (fstat(trace->fd, &info) < 0)
		return common_fail_errno("cannot read the input");
	if (S_ISDIR(info.st_mode)) {
		errno = EISDIR;
		return common_fail_errno("cannot read the input");
	}
	if (S_ISREG(info.st_mode))
		return 0;
	trace->growth->pipe = trace->fd;
	trace->fd = -1;
	return common_open_temporary(&trace->fd);
}

/* A recorder writes the machine in its first buffer. */
static int wait_for_beginning(struct ptl_trace *trace)
{
	bool more;
	int status = 0;

	while (!status && !trace->growth->over && !trace->metadata.record_count)
		status = ptl_realtime_wait(trace, PAUSE, &more);
	return status;
}

static int begin_realtime(struct ptl_trace *trace, const struct ptl_realtime_options *options)
{
	int status;

	trace->growth = calloc(1, sizeof(*trace->growth));
	if (!trace->growth)
		return common_fail_memory("a trace", sizeof(*trace->growth));
	trace->growth->pipe = -1;
	trace->growth->options = *options;
	status = prepare_source(trace);
	return status ? status : wait_for_beginning(trace);
}

int ptl_open_realtime_fd(int fd, const char *name, const struct ptl_realtime_options *options, struct ptl_trace **trace)
{
	struct ptl_realtime_options taken;
	struct ptl_open_options open;
	struct ptl_trace *result;
	int status = common_structure_take_optional("ptl_realtime_options", options, &taken, sizeof(taken));

	*trace = NULL;
	if (!status)
		status = common_structure_take_optional("ptl_open_options", taken.open, &open, sizeof(open));
	if (status)
		return status;
	taken.open = NULL; /* the caller's structure may end with this call */
	result = format_trace_new(fd, name, &open);
	if (!result)
		return common_fail_memory("a trace", sizeof(*result));
	status = begin_realtime(result, &taken);
	if (!status) {
		*trace = result;
		return 0;
	}
	/* On failure, the caller keeps its descriptor open. */
	if (result->growth && result->growth->pipe == fd)
		result->growth->pipe = -1;
	if (result->fd >= 0 && result->fd != fd)
		close(result->fd);
	format_trace_free(result);
	return status;
}

int ptl_open_realtime(const char *path, const struct ptl_realtime_options *options, struct ptl_trace **trace)
{
	const char *name;
	const int fd = format_source_open(path, &name);
	int status;

	*trace = NULL;
	if (fd < 0)
		return fd;
	status = ptl_open_realtime_fd(fd, name, options, trace);
	if (status)
		close(fd);
	return status;
}
