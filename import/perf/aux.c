/* SPDX-License-Identifier: BSD-2-Clause */
/* Intel PT in perf.data: a stream for each CPU or thread. */
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/program/message.h"
#include "format/pt/tsc.h"
#include "format/writer/pt_filter.h"
#include "import/perf/import.h"
#include "import/perf/loss.h"
#include "import/psbs.h"

#define PIECE ((size_t)1 << 20)
#define STREAMS_MAX 65536u
#define THREAD_BIT (1ull << 32) /* in a key of import->aux: the key is a thread, not a CPU */
#define AUXTRACE_BODY 40
#define STREAM_MAX (1ull << 48) /* bytes of a stream; more are of a damaged position */
#define PADDING_MAX 7u          /* perf pads a record to a multiple of 8 bytes */

/* A stream of PT. */
struct perf_aux {
	struct perf_import *import;
	uint32_t stream;
	uint32_t pid, tid;
	size_t guest_ring; /* number of the ring in guest_flow; SIZE_MAX: none */
	bool begun;
	uint64_t ring_end; /* position in perf's ring behind the last record with padding */
	uint64_t end;      /* end of the data in the stream */
	struct perf_aux_record last;
	uint8_t *sampled; /* copy of the last sample's packets, for last.memory */
	size_t sampled_room;
	struct import_psbs psbs;
	struct perf_pebs pebs; /* samples among the packets */
};

/* Whether config has the bit. perf gives bit 0 if the CPU lacks the feature. */
static bool has_bit(uint64_t config, uint64_t bit)
{
	return bit && (config & bit);
}

/* Returns the attribute of the PT event, which has the type of the PT PMU; NULL: none. */
static const struct perf_attr *find_attr(const struct perf_import *import, uint64_t pmu)
{
	for (size_t i = 0; i < import->attrs.count; i++)
		if (import->attrs.list[i].type == pmu)
			return &import->attrs.list[i];
	return NULL;
}

/* Keeps the address filters that follow the numbers. Drops unreadable filters, and filters that are no ranges. */
static int take_filters(struct perf_import *import, struct common_cursor *cursor, uint64_t size)
{
	char *text;
	int status;

	if (!size)
		return 0;
	if (size > common_cursor_left(cursor)) {
		common_message_warning(
			"the address filters are cut off: packets where flow leaves a filter's range may "
			"be understood wrongly");
		return 0;
	}
	text = strndup((const char *)common_read_bytes(cursor, (size_t)size), (size_t)size);
	if (!text)
		return common_fail_memory("address filters", (size_t)size);
	status = format_writer_pt_filters(import->writer, text);
	if (status == PTL_CORRUPT) {
		common_message_warning("%s: packets where flow leaves a filter's range may be understood wrongly",
				       ptl_error_text());
		status = 0;
	}
	free(text);
	return status;
}

int perf_aux_info(struct perf_import *import, const struct perf_record *record)
{
	struct ptl_machine *machine = &import->machine;
	struct common_cursor cursor = common_cursor(record->body, record->size);
	const uint32_t type = common_read32(&cursor);
	uint64_t words[PERF_PT_WORDS] = {0}, config, bits;
	const struct perf_attr *attr;

	common_read32(&cursor);
	if (type != PERF_AUXTRACE_INTEL_PT)
		return common_fail(PTL_UNSUPPORTED, "offset %llu: the trace data is not Intel PT (type %u)",
				   (unsigned long long)record->offset, type);
	for (size_t i = 0; i < PERF_PT_WORDS && common_cursor_left(&cursor) >= 8; i++)
		words[i] = common_read64(&cursor);
	attr = find_attr(import, words[PERF_PT_PMU_TYPE]);
	config = attr ? attr->config : 0;
	import->aux_kernel = attr && !(attr->flags & PERF_ATTR_FLAG_EXCLUDE_KERNEL);
	if (words[PERF_PT_TIME_SHIFT] < 64 && words[PERF_PT_TIME_MULT] <= UINT32_MAX &&
	    words[PERF_PT_CAP_USER_TIME_ZERO]) {
		machine->tsc_shift = (uint8_t)words[PERF_PT_TIME_SHIFT];
		machine->tsc_multiplier = (uint32_t)words[PERF_PT_TIME_MULT];
		machine->tsc_zero = words[PERF_PT_TIME_ZERO];
	}
	import->aux_pebs = perf_pebs_wanted(&import->attrs);
	import->aux_per_cpu = words[PERF_PT_PER_CPU_MMAPS];
	import->aux_snapshots = words[PERF_PT_SNAPSHOT_MODE];
	import->aux_switches = words[PERF_PT_HAVE_SCHED_SWITCH];
	machine->return_compression = !has_bit(config, words[PERF_PT_NORETCOMP_BIT]);
	machine->timing = has_bit(config, words[PERF_PT_CYC_BIT])   ? PTL_TIMING_CYC
			  : has_bit(config, words[PERF_PT_MTC_BIT]) ? PTL_TIMING_MTC
			  : has_bit(config, words[PERF_PT_TSC_BIT]) ? PTL_TIMING_TSC
								    : PTL_TIMING_NONE;
	bits = words[PERF_PT_MTC_FREQ_BITS];
	if (bits)
		machine->mtc_frequency = (uint8_t)((config & bits) / (bits & -bits));
	machine->ctc_numerator = (uint32_t)words[PERF_PT_TSC_CTC_N];
	machine->ctc_denominator = (uint32_t)words[PERF_PT_TSC_CTC_D];
	machine->nominal_ratio = (uint8_t)words[PERF_PT_MAX_NONTURBO_RATIO];
	return take_filters(import, &cursor, words[PERF_PT_FILTER_SIZE]);
}

/*
 * Opens the stream of a ring. The ring of a CPU has the CPU's number. Such a ring also names a thread if perf recorded
 * chosen threads (the first of several), but context switches tell the running threads.
 */
static int open_stream(struct perf_import *import, uint32_t cpu, uint32_t tid, struct perf_aux **opened)
{
	const uint64_t key = cpu != UINT32_MAX ? cpu : THREAD_BIT | tid;
	const uint64_t *known = common_hash_map_get(&import->aux, key);
	struct ptl_stream stream = {.kind = PTL_KIND_PT, .cpu = PTL_NO_CPU, .pid = PTL_NO_ID, .tid = PTL_NO_ID};
	struct perf_aux *aux;
	int status;

	if (known) {
		*opened = (struct perf_aux *)(uintptr_t)*known;
		return 0;
	}
	if (import->aux.used >= STREAMS_MAX)
		return common_fail(PTL_NO_MEMORY, "Intel PT of more than %u CPUs and threads", STREAMS_MAX);
	if (cpu != UINT32_MAX)
		stream.cpu = cpu;
	if (tid != UINT32_MAX && (cpu == UINT32_MAX || !import->aux_switches)) {
		stream.tid = tid;
		stream.pid = perf_thread_process(import, tid);
	}
	aux = calloc(1, sizeof(*aux));
	if (!aux)
		return common_fail_memory("a stream of Intel PT", sizeof(*aux));
	status = ptl_writer_stream(import->writer, &stream);
	if (!status)
		status = common_hash_map_put(&import->aux, key, (uint64_t)(uintptr_t)aux);
	if (status) {
		free(aux);
		return status;
	}
	*aux = (struct perf_aux){
		.import = import, .stream = stream.id, .pid = stream.pid, .tid = stream.tid, .guest_ring = SIZE_MAX};
	aux->pebs.group.cpu = stream.cpu;
	aux->pebs.group.tid = stream.tid;
	*opened = aux;
	return 0;
}

/*
 * Returns the known times. If no record has a time, the first PSB+ starts the trace, and the TSC that perf read with the
 * packets anchors TSC packets. machine: receives the machine with this start.
 */
static struct import_psb_clock psb_clock(struct perf_import *import, struct ptl_machine *machine)
{
	struct import_psb_clock clock = {.machine = machine, .now = import->now, .host = &import->aux_host};
	uint64_t read;

	*machine = import->machine;
	if (!machine->start_time)
		machine->start_time = format_tsc_time(machine, import->aux_reference);
	read = import->aux_reference ? format_tsc_time(machine, import->aux_reference) : 0;
	clock.earliest = import->machine.start_time;
	clock.latest = import->now > read ? import->now : read;
	return clock;
}

static int write_psb(void *context, uint64_t offset, uint64_t time)
{
	struct perf_aux *aux = context;
	struct perf_import *import = aux->import;

	if (time && (!import->aux_start || time < import->aux_start))
		import->aux_start = time;
	return ptl_writer_psb(import->writer, aux->stream, offset, time);
}

static int end_psbs(struct perf_aux *aux)
{
	struct ptl_machine machine;
	const struct import_psb_clock clock = psb_clock(aux->import, &machine);

	return import_psbs_end(&aux->psbs, &clock, write_psb, aux);
}

static int lose_bytes(struct perf_import *import, const struct perf_aux *aux, uint64_t bytes, const char *cause)
{
	const struct ptl_loss loss = {
		.kind = PTL_LOSS_BYTES,
		.stream = aux ? aux->stream : PTL_NO_ID,
		.pid = aux ? aux->pid : PTL_NO_ID,
		.tid = aux ? aux->tid : PTL_NO_ID,
		.count = 1,
		.bytes = bytes,
		.first_time = import->now,
		.cause = cause,
	};

	return ptl_writer_loss(import->writer, &loss);
}

/* Writes a hole: the next bytes do not continue the stream. */
static int write_hole(struct perf_aux *aux, uint64_t size)
{
	int status = end_psbs(aux);

	if (!status)
		status = ptl_writer_hole(aux->import->writer, aux->stream, size, aux->import->now);
	aux->end += size;
	import_psbs_hole(&aux->psbs, size);
	aux->pebs.synchronised = false;
	aux->pebs.carried_size = 0;
	return status;
}

/* Marks missing bytes. missing: number of missing bytes; 0: unknown. */
static int interrupt_stream(struct perf_aux *aux, uint64_t missing, const char *cause)
{
	int status;

	if (missing > STREAM_MAX || aux->end > STREAM_MAX - missing)
		missing = 0;
	/* at least one byte, so that decoders do not join the two sides */
	status = write_hole(aux, missing ? missing : 1);

	return status ? status : lose_bytes(aux->import, aux, missing, cause);
}

/*
 * Finds the overlap with the last record by comparing bytes. Marks missing bytes if the records have no bytes in common.
 */
static int reconcile_bytes(struct perf_aux *aux, const struct perf_aux_record *record, const char *cause,
			   uint64_t *skip)
{
	int status;

	if (!aux->begun)
		return 0;
	status = perf_aux_overlap(&aux->last, record, skip);
	if (status == PTL_TRUNCATED) /* use the available bytes */
		status = 0;
	return status || *skip ? status : interrupt_stream(aux, 0, cause);
}

/*
 * Detects bytes of the ring that are missing from the file, and bytes that the file has twice. A record begins at the end
 * of the previous record, without its padding. Snapshots copy the whole ring each time, so their positions do not help.
 */
static int reconcile(struct perf_aux *aux, const struct perf_aux_record *record, uint64_t offset, uint64_t *skip)
{
	const uint64_t expected = aux->begun ? aux->ring_end : offset;

	if (aux->import->aux_snapshots)
		return reconcile_bytes(aux, record, "between snapshots, as many as there may have been", skip);
	if (offset > expected)
		return interrupt_stream(aux, offset - expected, "perf did not write them");
	return expected - offset <= aux->last.zeros
		       ? 0
		       : reconcile_bytes(aux, record, "the positions of two records do not fit each other", skip);
}

static size_t count_zeros(const uint8_t *data, size_t size)
{
	size_t zeros = 0;

	while (zeros < size && zeros < PADDING_MAX && !data[size - 1 - zeros])
		zeros++;
	return zeros;
}

static int take_piece(struct perf_aux *aux, const uint8_t *data, size_t size)
{
	struct ptl_machine machine;
	const struct import_psb_clock clock = psb_clock(aux->import, &machine);
	int status = ptl_writer_bytes(aux->import->writer, aux->stream, data, size, aux->import->now);

	if (!status)
		status = import_psbs_bytes(&aux->psbs, &clock, data, size, write_psb, aux);
	if (!status && aux->import->aux_pebs)
		status = perf_pebs_scan(aux->import, &aux->pebs, data, size);
	aux->end += size;
	return status;
}

/* Whether the packets of virtual machines become streams. */
static bool has_guest_streams(const struct perf_import *import)
{
	return import->guests.count && !import->machine.guest_code;
}

/* Notes the place in a file of the stream's bytes from `position` on. */
static int note_bytes(struct perf_aux *aux, int fd, uint64_t offset, uint64_t position)
{
	const struct perf_guest_piece piece = {
		.fd = fd, .offset = offset, .position = position, .size = aux->end - position};

	if (!piece.size)
		return 0;
	return perf_guest_flow_bytes(&aux->import->guest_flow, &aux->guest_ring, aux->pebs.group.cpu, aux->tid, &piece);
}

/* Reads the record's bytes without the first `skip` bytes. */
static int take_bytes(struct perf_aux *aux, struct perf_aux_record *record, uint64_t skip)
{
	const size_t room = record->size < PIECE ? (size_t)record->size + 1 : PIECE;
	uint8_t *piece = malloc(room);
	int got = 0, status = 0;

	if (!piece)
		return common_fail_memory("Intel PT", room);
	while (!status && (got = perf_file_payload(aux->import->file, piece, room)) > 0) {
		const size_t cut = skip < (size_t)got ? (size_t)skip : (size_t)got;

		skip -= cut;
		record->zeros = count_zeros(piece, (size_t)got);
		status = take_piece(aux, piece + cut, (size_t)got - cut);
	}
	free(piece);
	return status ? status : got;
}

int perf_aux_data(struct perf_import *import, const struct perf_record *record)
{
	struct perf_aux_record this = {.file = import->file, .offset = perf_file_payload_offset(import->file)};
	struct perf_aux *aux = NULL;
	uint64_t skip = 0, offset, position;
	int status, noted;

	if (record->size < AUXTRACE_BODY)
		return common_fail(PTL_CORRUPT, "offset %llu: trace data without a description",
				   (unsigned long long)record->offset);
	this.size = common_load64(record->body);
	offset = common_load64(record->body + 8);
	import->aux_reference = common_load64(record->body + 16);
	status = open_stream(import, common_load32(record->body + 32), common_load32(record->body + 28), &aux);
	if (!status)
		status = reconcile(aux, &this, offset, &skip);
	if (status)
		return status;
	position = aux->end;
	status = take_bytes(aux, &this, skip);
	/* A file that is cut off has the first bytes of the record. */
	noted = has_guest_streams(import) ? note_bytes(aux, perf_file_fd(this.file), this.offset + skip, position) : 0;
	if (status || noted)
		return status ? status : noted;
	if (!skip || offset + this.size > aux->ring_end)
		aux->ring_end = offset + this.size;
	aux->begun = true;
	aux->last = this;
	return 0;
}

/* Keeps the packets of a sample, for the comparison with the next sample. Returns PTL_NO_MEMORY. */
static int keep_sample(struct perf_aux *aux, const struct perf_aux_record *record)
{
	if (record->size > aux->sampled_room) {
		uint8_t *room = realloc(aux->sampled, record->size);

		if (!room)
			return common_fail_memory("packets of a sample", record->size);
		aux->sampled = room;
		aux->sampled_room = record->size;
	}
	memcpy(aux->sampled, record->memory, record->size);
	aux->last = *record;
	aux->last.memory = aux->sampled;
	aux->begun = true;
	return 0;
}

/* Copies the stream's last `size` bytes, which are of a sample, to the temporary file of samples, and notes the place. */
static int note_sample(struct perf_aux *aux, const uint8_t *data, size_t size)
{
	struct perf_guest_flow *flow = &aux->import->guest_flow;
	const uint64_t offset = flow->samples_size;
	const int status = perf_guest_flow_sample(flow, data, size);

	return status ? status : note_bytes(aux, flow->samples, offset, aux->end - size);
}

/*
 * The ring of a CPU has packets of all threads, which context switches tell apart. Without switches, the packets belong
 * to the sampled thread.
 */
int perf_aux_sample(struct perf_import *import, const struct perf_sample *sample)
{
	const bool by_cpu = import->aux_per_cpu && import->aux_switches && sample->cpu != PTL_NO_CPU;
	struct perf_aux_record this = {.size = sample->packets_size, .memory = sample->packets};
	struct perf_aux *aux = NULL;
	uint64_t skip = 0;
	int status;

	if (!this.size)
		return 0;
	this.zeros = count_zeros(this.memory, this.size);
	status = open_stream(import, by_cpu ? sample->cpu : UINT32_MAX, by_cpu ? UINT32_MAX : sample->tid, &aux);
	if (!status && aux->begun)
		status = perf_aux_overlap(&aux->last, &this, &skip);
	if (!status && aux->begun && !skip) {
		import->aux_unsampled++;
		status = write_hole(aux, 1);
	}
	if (!status)
		status = take_piece(aux, this.memory + skip, (size_t)(this.size - skip));
	if (!status && has_guest_streams(import))
		status = note_sample(aux, this.memory + skip, (size_t)(this.size - skip));
	if (status)
		return status;
	return keep_sample(aux, &this);
}

int perf_aux_lost(struct perf_import *import, const struct perf_record *record, const struct perf_sample *sample,
		  size_t body)
{
	int status = 0;

	if (body >= 24 && common_load64(record->body + 16) & PERF_AUX_FLAG_TRUNCATED)
		status = lose_bytes(import, NULL, 0, "perf's buffer for Intel PT was full");
	return status ? status : perf_event_keep(import, record, sample, body);
}

int perf_aux_finish(struct perf_import *import)
{
	uint64_t key, value;
	size_t at = 0;
	int status = 0;

	while (!status && common_hash_map_next(&import->aux, &at, &key, &value)) {
		struct perf_aux *aux = (struct perf_aux *)(uintptr_t)value;

		status = end_psbs(aux);
	}
	if (!status)
		status = perf_lose(import->writer, PTL_LOSS_BYTES, import->aux_unsampled, import->machine.start_time,
				   "between samples, of which each has the latest packets only (perf record "
				   "--aux-sample)");
	return status;
}

void perf_aux_free(struct perf_import *import)
{
	uint64_t key, value;
	size_t at = 0;

	while (common_hash_map_next(&import->aux, &at, &key, &value)) {
		struct perf_aux *aux = (struct perf_aux *)(uintptr_t)value;

		free(aux->sampled);
		free(aux);
	}
	common_hash_map_free(&import->aux);
}
