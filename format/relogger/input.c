/* SPDX-License-Identifier: BSD-2-Clause */
/* The relogger's inputs: files, pipes copied to temporary files, and files that are being written. */
#include "format/relogger/input.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/bytes.h"
#include "common/error.h"
#include "common/file.h"
#include "common/vector.h"
#include "format/container/layout.h"
#include "format/metadata/input_hash.h"
#include "format/reader/live.h"
#include "format/reader/parts.h"
#include "format/relogger/control.h"
#include "format/relogger/live.h"
#include "format/relogger/relogger_internal.h"

static void free_live(struct ptl_relogger_input *input)
{
	if (input->live) {
		format_merge_free(input->live->ahead);
		common_hash_map_free(&input->live->foreign);
	}
	free(input->live);
	input->live = NULL;
}

void format_relogger_input_free(struct ptl_relogger_input *input)
{
	if (input->trace)
		ptl_close(input->trace);
	if (input->fd >= 0)
		close(input->fd);
	format_input_hash_free(input->whole.hash);
	free_live(input);
	free(input->streams);
	free(input->parts.all);
	free(input->machines.indexes);
	common_bytes_free(&input->ids.payload);
	free(input->name);
	format_origins_free(&input->origins);
	free(input);
}

static int new_input(struct ptl_relogger *relogger, const char *name, void *context, struct ptl_relogger_input **added)
{
	struct ptl_relogger_input *input;
	const int status = format_relogger_check_new(relogger);

	if (status)
		return status;
	input = calloc(1, sizeof(*input));
	if (!input)
		return common_fail_memory("an input", sizeof(*input));
	input->relogger = relogger;
	input->number = relogger->input_count;
	input->context = context;
	input->fd = -1;
	input->name = strdup(name);
	if (!input->name || !common_vector_room(&relogger->inputs, relogger->input_count, sizeof(*relogger->inputs))) {
		free(input->name);
		free(input);
		return common_fail_memory("an input", sizeof(*input));
	}
	*added = input;
	return 0;
}

/* Opens the trace. The caller keeps fd. */
static int open_trace(struct ptl_relogger_input *input, int fd)
{
	const struct ptl_open_options options = {
		.size = sizeof(options),
		.memory_limit = input->relogger->options.memory_limit / FORMAT_INPUT_SHARE,
		.max_expansion = input->relogger->options.max_expansion,
	};
	uint64_t size;
	int second;
	int status;

	input->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (input->fd < 0)
		return common_fail_errno("cannot open");
	status = format_source_prepare(&input->fd, &input->relogger->control.cancelled, &size);
	if (status)
		return status;
	second = fcntl(input->fd, F_DUPFD_CLOEXEC, 3);
	if (second < 0)
		return common_fail_errno("cannot open");
	status = ptl_open_fd(second, input->name, &options, &input->trace);
	if (status)
		close(second);
	return status;
}

bool ptl_is_closed(int fd)
{
	uint8_t data[FORMAT_TRAILER_SIZE];
	struct format_trailer trailer;
	struct stat info;

	return fstat(fd, &info) == 0 && info.st_size >= FORMAT_FILE_HEADER_SIZE + FORMAT_TRAILER_SIZE &&
	       common_read_at(fd, data, sizeof(data), (uint64_t)info.st_size - sizeof(data)) == 0 &&
	       format_trailer_decode(data, &trailer);
}

/* Waits until the writer of a file has closed it. Does not wait for a pipe, which is read to its end later. */
static int wait_for_writer(struct ptl_relogger *relogger, int fd)
{
	const struct timespec pause = {.tv_nsec = 20000000};
	int status = 0;

	while (!status && lseek(fd, 0, SEEK_CUR) >= 0 && !ptl_is_closed(fd)) {
		nanosleep(&pause, NULL);
		status = format_relogger_check(relogger);
	}
	return status;
}

/* Finishes adding an input: frees `added` on failure; takes ownership of fd on success. */
static int add_input(struct ptl_relogger_input *added, int fd, int status, struct ptl_relogger_input **input)
{
	struct ptl_relogger *relogger = added->relogger;

	if (status) {
		free_live(added);
		if (added->fd >= 0)
			close(added->fd);
		free(added->name);
		free(added);
		return status;
	}
	close(fd);
	relogger->inputs[relogger->input_count++] = added;
	if (input)
		*input = added;
	return 0;
}

int ptl_relogger_add_fd(struct ptl_relogger *relogger, int fd, const char *name, bool follow, void *context,
			struct ptl_relogger_input **input)
{
	struct ptl_relogger_input *added;
	int status = new_input(relogger, name, context, &added);

	if (status)
		return status;
	status = follow ? wait_for_writer(relogger, fd) : 0;
	if (!status)
		status = open_trace(added, fd);
	return add_input(added, fd, status, input);
}

/* ---- a trace that is being written ----------------------------------------------------------------------------------- */

static int input_idle(void *context, struct ptl_trace *trace)
{
	struct ptl_relogger_input *input = context;
	struct ptl_relogger *relogger = input->relogger;

	relogger->control.total = ptl_trace_size(trace);
	format_relogger_progress(relogger, 0);
	if (!input->trace && atomic_load_explicit(&relogger->control.stopped, memory_order_relaxed))
		return common_fail(PTL_CANCELLED, "%s: stopped before the trace began", input->name);
	return format_relogger_check(relogger);
}

static int open_live(struct ptl_relogger_input *input, int fd)
{
	const struct ptl_relogger_options *options = &input->relogger->options;
	const struct ptl_open_options open = {
		.size = sizeof(open),
		.memory_limit = options->memory_limit / FORMAT_INPUT_SHARE,
		.max_expansion = options->max_expansion,
	};
	const struct ptl_realtime_options realtime = {
		.size = sizeof(realtime),
		.open = &open,
		.idle = input_idle,
		.context = input,
	};
	struct ptl_trace *trace;
	int second, status;

	input->live = calloc(1, sizeof(*input->live));
	if (!input->live)
		return common_fail_memory("an input", sizeof(*input->live));
	second = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (second < 0)
		return common_fail_errno("cannot open");
	status = ptl_open_realtime_fd(second, input->name, &realtime, &trace);
	if (status) {
		close(second);
		return status;
	}
	input->fd = fcntl(format_trace_descriptor(trace), F_DUPFD_CLOEXEC, 3);
	if (input->fd < 0) {
		status = common_fail_errno("cannot open");
		ptl_close(trace);
		return status;
	}
	input->trace = trace;
	format_realtime_hold(trace, true);
	return 0;
}

int ptl_relogger_add_realtime(struct ptl_relogger *relogger, int fd, const char *name, void *context,
			      struct ptl_relogger_input **input)
{
	struct ptl_relogger_input *added;
	int status = new_input(relogger, name, context, &added);

	if (status)
		return status;
	status = open_live(added, fd);
	if (!status)
		relogger->output.window.stream_limit = FORMAT_WINDOW_STREAMS;
	return add_input(added, fd, status, input);
}

int ptl_relogger_add_file(struct ptl_relogger *relogger, const char *path, void *context,
			  struct ptl_relogger_input **input)
{
	const bool is_stdin = strcmp(path, "-") == 0;
	const char *name = is_stdin ? "(standard input)" : path;
	const int fd = is_stdin ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) : open(path, O_RDONLY | O_CLOEXEC);
	int status;

	if (fd < 0)
		return common_fail_in(common_fail_errno("cannot open"), "%s", name);
	status = ptl_relogger_add_fd(relogger, fd, name, false, context, input);
	if (status)
		close(fd);
	return status;
}

void ptl_relogger_input_identity(struct ptl_relogger_input *input, const uint8_t identity[16])
{
	memcpy(input->parts.identity, identity, sizeof(input->parts.identity));
	input->parts.has_identity = true;
}

size_t ptl_relogger_input_count(const struct ptl_relogger *relogger)
{
	return relogger->input_count;
}

struct ptl_relogger_input *ptl_relogger_input_at(const struct ptl_relogger *relogger, size_t i)
{
	return i < relogger->input_count ? relogger->inputs[i] : NULL;
}

struct ptl_trace *ptl_relogger_input_trace(const struct ptl_relogger_input *input)
{
	return input->trace;
}

void ptl_relogger_input_info(const struct ptl_relogger_input *input, struct ptl_relogger_input_info *info)
{
	*info = (struct ptl_relogger_input_info){
		.name = input->name,
		.context = input->context,
		.machine = input->machines.first,
		.time_shift = input->clock.shift,
		.uncertainty = input->clock.uncertainty,
		.losses = input->losses,
	};
}
