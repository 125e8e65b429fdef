/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes a trace of raw PT bytes, a memory file and a memory map. */
#include "import/raw/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <ptl/kernel.h>

#include "common/bytes.h"
#include "common/error.h"
#include "common/file.h"
#include "common/plural.h"
#include "common/program/interrupt.h"
#include "common/program/message.h"
#include "common/text/text.h"
#include "format/metadata/input_hash.h"
#include "format/pt/tsc.h"
#include "format/writer/pt_filter.h"
#include "import/psbs.h"
#include "import/raw/memory_map.h"

#define MAP_LIMIT (16u << 20)     /* maximum bytes of a memory map's text */
#define MEMORY_LIMIT (4ull << 30) /* maximum bytes of a memory file */
#define PIECE (1u << 20)          /* bytes of PT per read */
#define FIRST_KEY 1               /* unique key of the only process */
#define DEFAULT_PID 1
#define NANOSECONDS 1000000000u /* per second */

/* State of the import. */
struct raw {
	const struct import_raw *settings;
	struct import_spool *spool;
	int memory; /* descriptor; the file is never read to memory as a whole */
	uint64_t memory_size;
	struct import_memory_map map;
	uint32_t pid;
	struct ptl_machine machine;
	uint64_t first_time;      /* earliest time of a PSB; 0: none */
	bool has_tsc;             /* the input has TSC packets */
	uint32_t events;          /* id of the stream of events */
	struct ptl_bytes storage; /* scratch memory of the event being written */
};

static int add_input(struct raw *raw, const char *name, const void *data, size_t size)
{
	struct ptl_provenance_input origin = {.name = name, .size = size};
	struct format_input_hash *hash = format_input_hash_new(raw->spool->hash_kind);

	if (!hash)
		return common_fail_memory("a hash", size);
	format_input_hash_add(hash, data, size);
	format_input_hash_finish(hash, &origin);
	format_input_hash_free(hash);
	return import_spool_origin(raw->spool, &origin);
}

/* Opens the memory file. Copies data of a pipe to an unnamed file, which is seekable. */
static int open_memory(struct raw *raw, const char *name)
{
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	off_t size;
	int status;

	if (fd < 0)
		return common_fail_errno("cannot open %s", name);
	raw->memory = fd;
	if (lseek(fd, 0, SEEK_CUR) < 0) {
		status = import_spool_pipe(fd, false, &raw->memory);
		close(fd);
		if (status)
			return common_fail_in(status, "%s", name);
	}
	size = lseek(raw->memory, 0, SEEK_END);
	if (size < 0)
		return common_fail_in(common_fail_errno("cannot read"), "%s", name);
	raw->memory_size = (uint64_t)size;
	if (raw->memory_size > MEMORY_LIMIT)
		return common_fail(PTL_NO_MEMORY, "%s: larger than the limit of %llu bytes", name, MEMORY_LIMIT);
	return 0;
}

static int add_memory(struct raw *raw, const char *name)
{
	struct ptl_provenance_input origin = {.name = name, .size = raw->memory_size};
	struct format_input_hash *hash = format_input_hash_new(raw->spool->hash_kind);
	uint8_t *piece = malloc(PIECE);
	int status = hash && piece ? 0 : common_fail_memory("a hash", PIECE);

	for (uint64_t at = 0; !status && at < raw->memory_size;) {
		const size_t n = raw->memory_size - at < PIECE ? (size_t)(raw->memory_size - at) : PIECE;

		status = common_read_at(raw->memory, piece, n, at);
		if (!status) {
			format_input_hash_add(hash, piece, n);
			at += n;
			status = common_interrupt_check();
		}
	}
	if (!status) {
		format_input_hash_finish(hash, &origin);
		status = import_spool_origin(raw->spool, &origin);
	}
	format_input_hash_free(hash);
	free(piece);
	return status ? common_fail_in(status, "%s", name) : 0;
}

static int read_memory(struct raw *raw)
{
	const struct import_raw *settings = raw->settings;
	uint8_t *text = NULL;
	size_t size = 0;
	int status = open_memory(raw, settings->memory);

	if (!status)
		status = common_read_file(settings->memory_map, MAP_LIMIT, &text, &size);
	if (!status)
		status = import_memory_map_parse(settings->memory_map, (const char *)text, size, raw->memory_size,
						 &raw->map);
	if (!status)
		status = add_memory(raw, settings->memory);
	if (!status)
		status = add_input(raw, settings->memory_map, text, size);
	free(text);
	return status;
}

/* Sets the clock. Chooses the largest shift for which the multiplier fits 32 bits. */
static void set_clock(const struct import_raw_clock *clock, struct ptl_machine *machine)
{
	__uint128_t multiplier;

	if (!clock->tsc_frequency)
		return;
	machine->tsc_shift = 32;
	do
		multiplier = ((__uint128_t)NANOSECONDS << --machine->tsc_shift) / clock->tsc_frequency;
	while (multiplier > UINT32_MAX);
	machine->clock = PTL_CLOCK_PERF;
	machine->tsc_multiplier = (uint32_t)multiplier;
	machine->tsc_frequency = clock->tsc_frequency;
	machine->timing = clock->ctc_denominator ? PTL_TIMING_MTC : PTL_TIMING_TSC;
	machine->mtc_frequency = clock->mtc_frequency;
	machine->ctc_numerator = clock->ctc_numerator;
	machine->ctc_denominator = clock->ctc_denominator;
	machine->nominal_ratio = clock->nominal_ratio;
	if (clock->tsc_start)
		machine->start_time = format_tsc_time(machine, clock->tsc_start);
}

static int write_machine(struct raw *raw)
{
	const struct import_raw *settings = raw->settings;

	raw->machine = (struct ptl_machine){
		.source = "raw",
		.architecture = "x86_64",
		.clock = PTL_CLOCK_NONE,
		.vendor = settings->has_cpu ? PTL_VENDOR_INTEL : PTL_VENDOR_UNKNOWN,
		.family = settings->family,
		.model = settings->model,
		.stepping = settings->stepping,
		.mode = settings->mode ? settings->mode : 64,
		/* Raw input does not tell whether returns are compressed: a decoder must handle compressed returns. */
		.return_compression = true,
		.guest_code = PTL_GUEST_CODE_ALL,
	};
	set_clock(&settings->clock, &raw->machine);
	return ptl_writer_machine(raw->spool->writer, &raw->machine);
}

/* Sets the start time to the time of the first PSB, unless the user gave a start. */
static int finish_machine(struct raw *raw)
{
	if (raw->has_tsc && !raw->machine.tsc_multiplier)
		common_message_note("there are TSC packets: --tsc-frequency gives them times");
	if (!raw->machine.tsc_multiplier || raw->machine.start_time || !raw->first_time)
		return 0;
	raw->machine.start_time = raw->first_time;
	return ptl_writer_machine(raw->spool->writer, &raw->machine);
}

static int write_schemas(const struct raw *raw)
{
	size_t count;
	const struct ptl_schema *const *schemas = ptl_kernel_schemas(&count);

	for (size_t i = 0; i < count; i++) {
		int status = ptl_writer_schema(raw->spool->writer, schemas[i]);

		if (status)
			return status;
	}
	return 0;
}

/* Writes an event. status: result of the encoder that filled the event. */
static int write_event(struct raw *raw, int status, struct ptl_event *event, uint32_t tid)
{
	if (!status) {
		event->cpu = PTL_NO_CPU;
		event->pid = raw->pid;
		event->tid = tid;
		status = ptl_writer_event(raw->spool->writer, raw->events, event);
	}
	common_bytes_free(&raw->storage);
	return status;
}

static int write_process(struct raw *raw)
{
	const struct import_raw *settings = raw->settings;
	const char *name = settings->process ? settings->process : common_base_name(settings->memory);
	struct ptl_process_event process = {
		.unique_key = FIRST_KEY,
		.process_id = raw->pid,
		.image_file_name = name,
		.command_line = "",
	};
	struct ptl_event event = {0};

	return write_event(raw, ptl_process_encode(&process, PTL_OPCODE_START_RUNDOWN, &raw->storage, &event), &event,
			   raw->pid);
}

static int write_thread(struct raw *raw, uint32_t tid, const char *name)
{
	struct ptl_thread_event thread = {.process_id = raw->pid, .thread_id = tid, .name = name};
	struct ptl_event event = {0};

	return write_event(raw, ptl_thread_encode(&thread, PTL_OPCODE_START_RUNDOWN, &raw->storage, &event), &event,
			   tid);
}

static int write_image(struct raw *raw, const struct import_memory_range *range)
{
	struct ptl_image_event image = {
		.base = range->base,
		.size = range->size,
		.process_id = raw->pid,
		.default_base = range->base,
		.file_name = raw->settings->memory,
		.file_offset = range->offset,
		.protection = PROT_READ | PROT_EXEC,
		.has_code = true,
	};
	struct ptl_event event = {0};
	int status = ptl_writer_blob_file(raw->spool->writer, PTL_BLOB_CODE, raw->memory, range->offset, range->size,
					  image.code);

	if (status)
		return status;
	return write_event(raw, ptl_image_encode(&image, PTL_OPCODE_START_RUNDOWN, &raw->storage, &event), &event,
			   raw->pid);
}

static int write_rundown(struct raw *raw)
{
	struct ptl_stream stream = {
		.kind = PTL_KIND_EVENTS,
		.cpu = PTL_NO_CPU,
		.pid = PTL_NO_ID,
		.tid = PTL_NO_ID,
	};
	int status = ptl_writer_stream(raw->spool->writer, &stream);

	raw->events = stream.id;
	if (!status)
		status = write_process(raw);
	for (size_t i = 0; !status && i < raw->settings->pt.count; i++)
		status = write_thread(raw, raw->pid + (uint32_t)i, common_base_name(raw->settings->pt.list[i]));
	for (size_t i = 0; !status && i < raw->map.count; i++)
		status = write_image(raw, &raw->map.ranges[i]);
	return status;
}

/* State of a PT input. */
struct pt_input {
	struct raw *raw;
	struct ptl_writer *writer;
	uint32_t stream;
	struct import_psbs psbs;
	struct format_input_hash *hash;
	bool host; /* a PIP without NR was read: a host recorded the stream */
};

static int write_psb(void *context, uint64_t offset, uint64_t time)
{
	struct pt_input *pt = context;
	struct raw *raw = pt->raw;

	if (time && (!raw->first_time || time < raw->first_time))
		raw->first_time = time;
	return ptl_writer_psb(pt->writer, pt->stream, offset, time);
}

static int copy_pt(struct pt_input *pt, int fd, uint8_t *piece)
{
	const struct import_psb_clock clock = {.machine = &pt->raw->machine, .host = &pt->host};

	for (;;) {
		ssize_t got = read(fd, piece, PIECE);
		int status = common_interrupt_check();

		if (status)
			return status;
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return common_fail_errno("cannot read");
		if (got == 0)
			return import_psbs_end(&pt->psbs, &clock, write_psb, pt);
		format_input_hash_add(pt->hash, piece, (size_t)got);
		status = ptl_writer_bytes(pt->writer, pt->stream, piece, (size_t)got, pt->psbs.past.time);
		if (!status)
			status = import_psbs_bytes(&pt->psbs, &clock, piece, (size_t)got, write_psb, pt);
		if (status)
			return status;
	}
}

static int finish_pt(struct raw *raw, struct pt_input *pt, const char *name)
{
	struct ptl_provenance_input origin = {.name = name, .size = pt->psbs.scan.offset};

	if (!pt->psbs.scan.found)
		return common_fail(PTL_NOT_OURS,
				   "no PSB packet in %llu bytes: this is not Intel PT, or too short a "
				   "piece of it",
				   (unsigned long long)pt->psbs.scan.offset);
	raw->has_tsc |= pt->psbs.has_tsc;
	format_input_hash_finish(pt->hash, &origin);
	common_message_note("%s: %llu " COMMON_PLURAL("byte", "bytes") ", %llu PSB%s", name,
			    (unsigned long long)pt->psbs.scan.offset, (unsigned long long)pt->psbs.scan.found,
			    pt->psbs.scan.found == 1 ? "" : "s");
	return import_spool_origin(raw->spool, &origin);
}

static int write_pt(struct raw *raw, size_t i)
{
	const char *name = raw->settings->pt.list[i];
	struct ptl_stream stream = {
		.kind = PTL_KIND_PT,
		.cpu = PTL_NO_CPU,
		.pid = raw->pid,
		.tid = raw->pid + (uint32_t)i,
	};
	struct pt_input pt = {.raw = raw, .writer = raw->spool->writer};
	uint8_t *piece = malloc(PIECE);
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	int status = fd < 0 ? common_fail_errno("cannot open") : 0;

	pt.hash = format_input_hash_new(raw->spool->hash_kind);
	if (!status && (!piece || !pt.hash))
		status = common_fail_memory("PT bytes", PIECE);
	if (!status)
		status = ptl_writer_stream(pt.writer, &stream);
	pt.stream = stream.id;
	if (!status)
		status = copy_pt(&pt, fd, piece);
	if (!status)
		status = finish_pt(raw, &pt, name);
	if (fd >= 0)
		close(fd);
	format_input_hash_free(pt.hash);
	free(piece);
	return status ? common_fail_in(status, "%s", name) : 0;
}

int import_input_raw(const struct import_raw *settings, struct import_spool *spool)
{
	struct raw raw = {
		.settings = settings,
		.spool = spool,
		.memory = -1,
		.pid = settings->has_pid ? settings->pid : DEFAULT_PID,
	};
	int status = read_memory(&raw);

	if (!status)
		status = write_machine(&raw);
	if (!status && settings->filters)
		status = format_writer_pt_filters(spool->writer, settings->filters);
	if (!status)
		status = write_schemas(&raw);
	if (!status)
		status = write_rundown(&raw);
	for (size_t i = 0; !status && i < settings->pt.count; i++)
		status = write_pt(&raw, i);
	if (!status)
		status = finish_machine(&raw);
	import_memory_map_free(&raw.map);
	if (raw.memory >= 0)
		close(raw.memory);
	return status;
}
