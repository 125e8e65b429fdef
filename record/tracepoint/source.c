/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens tracepoints on each CPU with one ring a CPU, and turns their samples into events. */
#include "record/tracepoint/source.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/error.h"
#include "import/perf/tracing.h"
#include "record/capture/clock.h"
#include "record/capture/machine.h"
#include "record/perf/data_ring.h"
#include "record/session/answer.h"
#include "record/session/session.h"
#include "record/tracepoint/tracefs.h"

#define MILLISECOND 1000000u
#define RING_SIZE ((size_t)1 << 20)
#define WAKE_SHARE 4
#define LOOK_TIME (20 * MILLISECOND)
#define FILTER " if "

struct ring {
	struct record_data_ring data; /* not mapped: the CPU is switched off */
	uint32_t stream;
};

/* Of one tracepoint. */
struct tracepoint {
	uint64_t id;
	char *name;         /* owned */
	const char *filter; /* NULL: none */
};

struct tracepoints {
	struct record_session *session;
	struct perf_tracing tracing;
	struct tracepoint *list;
	size_t count;
	struct ring *rings; /* by CPU */
	size_t cpus;
	int *fds; /* of each tracepoint on each CPU */
	size_t fd_count;
	int64_t clock_offset; /* record_clock_offset() */
	uint64_t lost, unread, corrupt;
	struct ptl_bytes storage;
};

/* A sample begins so; raw bytes follow. */
struct sample {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu, reserved;
	uint32_t size;
};

#define SAMPLE_HEAD (offsetof(struct sample, size) + sizeof(uint32_t))

/* ---- opening --------------------------------------------------------------------------------- */

/* "ID: 372" of a format. */
static uint64_t find_id(const char *text)
{
	const char *id = strstr(text, "\nID: ");

	return id ? strtoull(id + 5, NULL, 10) : 0;
}

/* text is "SYSTEM:EVENT", or with " if FILTER" behind it. */
static int add_tracepoint(struct tracepoints *state, const char *text)
{
	struct tracepoint *added = &state->list[state->count];
	uint8_t *format;
	size_t size;
	char *filter;
	int status;

	added->name = strdup(text);
	if (!added->name)
		return common_fail_memory("a tracepoint", strlen(text));
	state->count++;
	filter = strstr(added->name, FILTER);
	if (filter) {
		*filter = 0;
		added->filter = filter + strlen(FILTER);
	}
	status = record_tracefs_format(added->name, &format, &size);
	if (status < 0)
		return status;
	added->id = find_id((const char *)format);
	*strchr(added->name, ':') = 0;
	status = perf_tracing_add_format(&state->tracing, added->name, format, size);
	added->name[strlen(added->name)] = ':';
	free(format);
	return status;
}

static int open_on(const struct tracepoints *state, const struct tracepoint *tracepoint, int cpu)
{
	const bool all = !state->session->has_command;
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_TRACEPOINT,
		.config = tracepoint->id,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_RAW,
		.disabled = 1,
		.enable_on_exec = !all,
		.inherit = !all,
		/* Else the kernel's own clock is the trace's. */
		.use_clockid = !record_clock_is_tsc(),
		.clockid = record_clock_is_tsc() ? 0 : CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = RING_SIZE / WAKE_SHARE,
	};
	const int fd = (int)syscall(SYS_perf_event_open, &attr, all ? -1 : 0, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return errno == ENODEV ? PTL_NOT_FOUND
				       : common_fail_errno("cannot record tracepoint %s", tracepoint->name);
	if (!tracepoint->filter || ioctl(fd, PERF_EVENT_IOC_SET_FILTER, tracepoint->filter) == 0)
		return fd;
	close(fd);
	return common_fail(PTL_MISUSE, "tracepoint %s does not take the filter '%s': %s", tracepoint->name,
			   tracepoint->filter, strerror(errno));
}

/* The first tracepoint of a CPU has its ring, and the others write to it, too. */
static int open_cpu(struct tracepoints *state, int cpu)
{
	struct ring *ring = &state->rings[cpu];
	int first = -1, status;

	for (size_t i = 0; i < state->count; i++) {
		const int fd = open_on(state, &state->list[i], cpu);

		if (fd == PTL_NOT_FOUND)
			return 0;
		if (fd < 0)
			return fd;
		state->fds[state->fd_count++] = fd;
		if (first >= 0 && ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, first) < 0)
			return common_fail_errno("cannot record tracepoint %s", state->list[i].name);
		if (first >= 0)
			continue;
		first = fd;
		status = record_data_ring_map(&ring->data, fd, RING_SIZE);
		if (status < 0)
			return status;
	}
	return record_wait_descriptor(&state->session->wait, first);
}

static int enable(const struct tracepoints *state)
{
	for (size_t i = 0; !state->session->has_command && i < state->fd_count; i++)
		if (ioctl(state->fds[i], PERF_EVENT_IOC_ENABLE, 0) < 0)
			return common_fail_errno("cannot turn tracepoints on");
	return 0;
}

static void close_source(void *state_)
{
	struct tracepoints *state = state_;

	for (size_t i = 0; i < state->cpus; i++)
		record_data_ring_unmap(&state->rings[i].data);
	for (size_t i = 0; i < state->fd_count; i++)
		close(state->fds[i]);
	for (size_t i = 0; i < state->count; i++)
		free(state->list[i].name);
	perf_tracing_free(&state->tracing);
	common_bytes_free(&state->storage);
	free(state->list);
	free(state->rings);
	free(state->fds);
	free(state);
}

static int prepare(struct tracepoints *state)
{
	const struct common_string_list *wanted = &state->session->settings->tracepoints;
	const long cpus = sysconf(_SC_NPROCESSORS_CONF);
	int status = 0;

	state->list = calloc(wanted->count, sizeof(*state->list));
	state->rings = calloc((size_t)cpus, sizeof(*state->rings));
	state->fds = calloc((size_t)cpus * wanted->count, sizeof(*state->fds));
	if (!state->list || !state->rings || !state->fds)
		return common_fail_memory("tracepoints", (size_t)cpus * wanted->count);
	state->cpus = (size_t)cpus;
	state->clock_offset = record_clock_offset();
	for (size_t i = 0; status == 0 && i < wanted->count; i++)
		status = add_tracepoint(state, wanted->list[i]);
	for (int cpu = 0; status == 0 && cpu < cpus; cpu++) {
		status = open_cpu(state, cpu);
		if (status == 0 && state->rings[cpu].data.page)
			status = record_capture_event_stream(&state->session->capture, &state->rings[cpu].stream);
	}
	return status == 0 ? enable(state) : status;
}

static int open_source(struct record_session *session, void **result)
{
	struct tracepoints *state = calloc(1, sizeof(*state));
	int status;

	if (!state)
		return common_fail_memory("tracepoints", sizeof(*state));
	state->session = session;
	status = prepare(state);
	if (status < 0)
		close_source(state);
	else
		*result = state;
	return status;
}

/* ---- while it runs --------------------------------------------------------------------------- */

static int put_event(struct tracepoints *state, const struct ring *ring, const struct sample *sample,
		     const uint8_t *raw)
{
	struct record_capture *capture = &state->session->capture;
	struct perf_tracing_described described;
	struct ptl_event event;
	uint16_t number;
	int status;

	memcpy(&number, raw, sizeof(number));
	status = perf_tracing_decode(&state->tracing, number, raw, sample->size, &state->storage, &event, &described);
	if (status < 0)
		return status;
	if (!status) {
		state->unread++;
		return 0;
	}
	status = described.is_new ? record_capture_schema(capture, described.schema) : 0;
	for (size_t i = 0; status == 0 && described.is_new && i < described.map_count; i++)
		status = record_capture_map(capture, &described.maps[i]);
	event.time = sample->time + (uint64_t)state->clock_offset;
	event.cpu = sample->cpu;
	event.pid = sample->pid;
	event.tid = sample->tid;
	return status < 0 ? status : record_capture_event(capture, ring->stream, &event);
}

static int take(struct tracepoints *state, const struct ring *ring, const struct perf_event_header *record)
{
	const uint8_t *bytes = (const uint8_t *)record;
	struct sample sample;
	uint64_t lost;

	if (record->type == PERF_RECORD_LOST && record->size >= sizeof(*record) + 16) {
		memcpy(&lost, bytes + sizeof(*record) + 8, sizeof(lost));
		state->lost += lost;
		return 0;
	}
	if (record->type != PERF_RECORD_SAMPLE || record->size < SAMPLE_HEAD + sizeof(uint16_t))
		return 0;
	memcpy(&sample, bytes, SAMPLE_HEAD);
	if (sample.size < sizeof(uint16_t) || sample.size > record->size - SAMPLE_HEAD) {
		state->unread++;
		return 0;
	}
	return put_event(state, ring, &sample, bytes + SAMPLE_HEAD);
}

static int empty(struct tracepoints *state, struct ring *ring, bool *work)
{
	const uint64_t head = record_data_ring_head(&ring->data);
	const struct perf_event_header *record;
	int status = 0, found;

	while (status == 0 && (found = record_data_ring_next(&ring->data, head, &record)) != 0) {
		*work = true;
		if (found < 0) {
			state->corrupt++;
			break;
		}
		status = take(state, ring, record);
		record_data_ring_taken(&ring->data, record);
	}
	return status;
}

static int drain(void *state_, uint64_t now, bool *work)
{
	struct tracepoints *state = state_;
	int status = 0;

	(void)now;
	for (size_t i = 0; status == 0 && i < state->cpus; i++)
		if (state->rings[i].data.page)
			status = empty(state, &state->rings[i], work);
	return status;
}

static uint64_t due(void *state, uint64_t now)
{
	(void)state;
	return now + LOOK_TIME;
}

static void answer(void *state_, struct record_answer *answer)
{
	const struct tracepoints *state = state_;

	record_answer_list(answer, "Tracepoints", "tracepoints");
	for (size_t i = 0; i < state->count; i++)
		record_answer_item(answer, state->list[i].name);
	record_answer_list_end(answer);
}

/* ---- the end --------------------------------------------------------------------------------- */

static int lose(const struct tracepoints *state, uint64_t count, const char *cause)
{
	const struct ptl_loss loss = {
		.kind = PTL_LOSS_EVENTS,
		.stream = PTL_NO_ID,
		.pid = PTL_NO_ID,
		.tid = PTL_NO_ID,
		.count = count,
		.cause = cause,
	};

	return count ? record_capture_loss(&state->session->capture, &loss) : 0;
}

static int finish(void *state_, bool alone)
{
	struct tracepoints *state = state_;
	bool work = false;
	int status;

	(void)alone;
	for (size_t i = 0; i < state->fd_count; i++)
		ioctl(state->fds[i], PERF_EVENT_IOC_DISABLE, 0);
	status = drain(state, 0, &work);
	if (status == 0)
		status = lose(state, state->lost, "the kernel wrote tracepoints faster than they could be taken");
	if (status == 0)
		status = lose(state, state->corrupt, "a ring of the kernel made no sense: what was in it is skipped");
	return status == 0 ? lose(state, state->unread, "samples of tracepoints that are not as their format says")
			   : status;
}

const struct record_source record_tracepoint_source = {
	.name = "tracepoints",
	.summary = "the kernel's tracepoints",
	.open = open_source,
	.drain = drain,
	.due = due,
	.answer = answer,
	.finish = finish,
	.close = close_source,
};
