/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens tracepoints on each CPU with one ring a CPU, and turns their samples into events. */
#include "record/tracepoint/source.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/error.h"
#include "import/perf/tracing.h"
#include "record/capture/machine.h"
#include "record/session/answer.h"
#include "record/session/session.h"
#include "record/tracepoint/tracefs.h"

#define MILLISECOND 1000000u
#define RING_SIZE ((size_t)1 << 20)
#define WAKE_SHARE 4
#define LOOK_TIME (20 * MILLISECOND)
#define FILTER " if "

struct ring {
	struct perf_event_mmap_page *page; /* NULL: the CPU is switched off */
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
	int64_t clock_offset; /* what this process's clock is ahead of the kernel's */
	uint64_t lost, unread;
	uint8_t *record; /* 64 KiB */
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

static int64_t read_clock_offset(void)
{
	FILE *file = fopen("/proc/self/timens_offsets", "re");
	long long seconds = 0, nanoseconds = 0;

	if (!file)
		return 0;
	if (fscanf(file, "monotonic %lld %lld", &seconds, &nanoseconds) != 2)
		seconds = nanoseconds = 0;
	fclose(file);
	return seconds * 1000000000 + nanoseconds;
}

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
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
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
	int first = -1;

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
		ring->page = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE) + RING_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED,
				  fd, 0);
		if (ring->page == MAP_FAILED) {
			ring->page = NULL;
			return common_fail_errno("memory for tracepoints");
		}
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
		if (state->rings[i].page)
			munmap(state->rings[i].page, (size_t)sysconf(_SC_PAGESIZE) + RING_SIZE);
	for (size_t i = 0; i < state->fd_count; i++)
		close(state->fds[i]);
	for (size_t i = 0; i < state->count; i++)
		free(state->list[i].name);
	perf_tracing_free(&state->tracing);
	common_bytes_free(&state->storage);
	free(state->list);
	free(state->rings);
	free(state->fds);
	free(state->record);
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
	state->record = malloc(UINT16_MAX + 1);
	if (!state->list || !state->rings || !state->fds || !state->record)
		return common_fail_memory("tracepoints", (size_t)cpus * wanted->count);
	state->cpus = (size_t)cpus;
	state->clock_offset = read_clock_offset();
	for (size_t i = 0; status == 0 && i < wanted->count; i++)
		status = add_tracepoint(state, wanted->list[i]);
	for (int cpu = 0; status == 0 && cpu < cpus; cpu++) {
		status = open_cpu(state, cpu);
		if (status == 0 && state->rings[cpu].page)
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

static int take(struct tracepoints *state, const struct ring *ring, size_t size)
{
	struct perf_event_header header;
	struct sample sample;
	uint64_t lost;

	memcpy(&header, state->record, sizeof(header));
	if (header.type == PERF_RECORD_LOST && size >= sizeof(header) + 16) {
		memcpy(&lost, state->record + sizeof(header) + 8, sizeof(lost));
		state->lost += lost;
		return 0;
	}
	if (header.type != PERF_RECORD_SAMPLE || size < SAMPLE_HEAD + sizeof(uint16_t))
		return 0;
	memcpy(&sample, state->record, SAMPLE_HEAD);
	if (sample.size < sizeof(uint16_t) || sample.size > size - SAMPLE_HEAD) {
		state->unread++;
		return 0;
	}
	return put_event(state, ring, &sample, state->record + SAMPLE_HEAD);
}

/* Copies one record, which may pass the ring's end, out of what the kernel may write to. */
static void copy(struct tracepoints *state, const uint8_t *ring, uint64_t at, size_t size)
{
	const size_t from = at & (RING_SIZE - 1), first = size < RING_SIZE - from ? size : RING_SIZE - from;

	memcpy(state->record, ring + from, first);
	memcpy(state->record + first, ring, size - first);
}

static int empty(struct tracepoints *state, const struct ring *ring, bool *work)
{
	const uint8_t *bytes = (const uint8_t *)ring->page + sysconf(_SC_PAGESIZE);
	const uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = ring->page->data_tail;
	int status = 0;

	*work |= head != tail;
	while (status == 0 && head - tail >= sizeof(struct perf_event_header)) {
		struct perf_event_header header;

		/* Records are aligned to 8, so that a header never passes the ring's end. */
		memcpy(&header, bytes + (tail & (RING_SIZE - 1)), sizeof(header));
		if (header.size < sizeof(header) || header.size > head - tail)
			break;
		copy(state, bytes, tail, header.size);
		status = take(state, ring, header.size);
		tail += header.size;
		__atomic_store_n(&ring->page->data_tail, tail, __ATOMIC_RELEASE);
	}
	return status;
}

static int drain(void *state_, uint64_t now, bool *work)
{
	struct tracepoints *state = state_;
	int status = 0;

	(void)now;
	for (size_t i = 0; status == 0 && i < state->cpus; i++)
		if (state->rings[i].page)
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
