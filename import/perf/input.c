/* SPDX-License-Identifier: BSD-2-Clause */
/* Converts a perf.data file from start to end. */
#include "import/perf/input.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ptl/kernel.h>

#include "common/error.h"
#include "common/program/interrupt.h"
#include "common/program/message.h"
#include "common/text/guid.h"
#include "format/metadata/input_hash.h"
#include "import/perf/import.h"
#include "import/perf/loss.h"
#include "perf/fields.h"

#define CHECK_EVERY 1024u /* records between checks for signals */
/* Exclusive limit of padding: the kernel pads user_events to whole words, and then the sample with its raw size. */
#define RAW_ALIGNMENT (8u + 4u)
#define CLOCKID_MONOTONIC 1
#define CLOCKID_MONOTONIC_RAW 4

/* How a kernel record is handled. in_order: the record must be handled in order of time. */
struct take_record {
	int (*take)(struct perf_import *import, const struct perf_record *record, const struct perf_sample *sample,
		    size_t body);
	bool in_order;
};

static int take_lost(struct perf_import *import, const struct perf_record *record, const struct perf_sample *sample,
		     size_t body)
{
	struct perf_fields fields;
	const bool known = perf_fields_read(record->type, record->misc, record->body, body, &fields);
	const struct ptl_loss loss = {
		.kind = PTL_LOSS_EVENTS,
		.stream = PTL_NO_ID,
		.pid = sample->pid,
		.tid = sample->tid,
		.count = known ? fields.lost : 0,
		.first_time = perf_time(import, sample),
		.cause = record->type == PERF_RECORD_LOST ? "perf's ring buffer was full"
							  : "the kernel dropped samples",
	};
	int status = ptl_writer_loss(import->writer, &loss);

	import->outcome.lost_events += loss.count;
	return status ? status : perf_event_keep(import, record, sample, body);
}

/* Learns the hardware counter of an event whose samples are in the packets. */
static int take_hardware_id(struct perf_import *import, const struct perf_record *record,
			    const struct perf_sample *sample, size_t body)
{
	struct perf_fields fields;
	int status = 0;

	if (perf_fields_read(record->type, record->misc, record->body, body, &fields))
		status = perf_pebs_counter(import, fields.id, sample);
	return status ? status : perf_event_keep(import, record, sample, body);
}

static int take_sample(struct perf_import *import, const struct perf_record *record, const struct perf_sample *sample,
		       size_t body)
{
	struct perf_sample copy = *sample;
	int status = perf_aux_sample(import, sample);

	(void)record;
	(void)body;
	return status ? status : perf_event_sample(import, &copy);
}

static const struct take_record kernel_records[PERF_RECORD_KERNEL_END] = {
	[PERF_RECORD_MMAP] = {perf_mmap, true},
	[PERF_RECORD_MMAP2] = {perf_mmap, true},
	[PERF_RECORD_COMM] = {perf_comm, true},
	[PERF_RECORD_FORK] = {perf_fork, true},
	[PERF_RECORD_EXIT] = {perf_exit, true},
	[PERF_RECORD_SWITCH] = {perf_switch, true},
	[PERF_RECORD_SWITCH_CPU_WIDE] = {perf_switch, true},
	[PERF_RECORD_LOST] = {take_lost, false},
	[PERF_RECORD_LOST_SAMPLES] = {take_lost, false},
	[PERF_RECORD_AUX] = {perf_aux_lost, false},
	[PERF_RECORD_AUX_OUTPUT_HW_ID] = {take_hardware_id, true},
	[PERF_RECORD_SAMPLE] = {take_sample, false},
	[PERF_RECORD_KSYMBOL] = {perf_ksymbol, true},
	[PERF_RECORD_TEXT_POKE] = {perf_text_poke, true},
};

static int take_kernel_record(struct perf_import *import, const struct perf_record *found)
{
	struct perf_record copy = *found;
	const struct perf_record *record = &copy;
	const struct take_record *how = &kernel_records[copy.type];
	struct perf_sample sample;
	size_t body;
	int status = perf_sample_parse(&import->attrs, record, &sample, &body);

	if (!status)
		status = perf_guests_move(&import->guests, &copy, &sample, body);
	if (!status)
		status = perf_thread_seen(import, record);
	if (status || perf_series_repeats(import, record, &sample))
		return status;
	if (sample.has_time && sample.time)
		import->last = sample.time;
	if (sample.has_time && sample.time > import->now)
		import->now = sample.time;
	import->running |= record->type == PERF_RECORD_SAMPLE;
	/* A stack can be unwound only when all earlier mappings are known. */
	if ((how->in_order || perf_unwind_wants(&sample)) && sample.has_time && sample.time)
		return perf_order_push(&import->order, record, &sample, body);
	return how->take ? how->take(import, record, &sample, body) : perf_event_keep(import, record, &sample, body);
}

/* Counts a kernel record that is damaged: the place of the next record is known. Other errors stay. */
static int pass_damaged(struct perf_import *import, int status)
{
	struct perf_outcome *outcome = &import->outcome;

	if (status != PTL_CORRUPT)
		return status;
	if (!outcome->damaged_records++)
		snprintf(outcome->damaged_record, sizeof(outcome->damaged_record), "%s", ptl_error_text());
	return 0;
}

/* Writes the sample of a group of packets. The group was copied as it is. */
static int take_group(struct perf_import *import, const struct perf_record *record)
{
	struct perf_pebs_group group;

	memcpy(&group, record->body, sizeof(group));
	return perf_pebs_write(import, &group);
}

/* Parses a sample again, because pointers of the copied sample are invalid. */
static int parse_again(struct perf_import *import, struct perf_waiting *waiting)
{
	int status = perf_sample_parse(&import->attrs, &waiting->record, &waiting->sample, &waiting->body);

	if (!status)
		status = perf_guests_move(&import->guests, &waiting->record, &waiting->sample, waiting->body);
	return status;
}

/* Handles waiting records whose time has come. */
static int take_waiting(struct perf_import *import)
{
	struct perf_waiting *waiting;
	int status = 0;

	while (!status && (waiting = perf_order_pop(&import->order))) {
		if (waiting->record.type == PERF_RECORD_SAMPLE)
			status = parse_again(import, waiting);
		if (waiting->record.type == PERF_PEBS_RECORD)
			status = take_group(import, &waiting->record);
		else if (!status)
			status = kernel_records[waiting->record.type].take(import, &waiting->record, &waiting->sample,
									   waiting->body);
		status = pass_damaged(import, status);
		free(waiting);
	}
	return status;
}

/* Counts a record about perf's own work, or with data that other records have, too. */
static int leave_out(struct perf_import *import, const struct perf_record *record)
{
	import->outcome.left_out.records[record->type]++;
	return 0;
}

static int take_running(struct perf_import *import, const struct perf_record *record)
{
	import->running = true;
	return leave_out(import, record);
}

/* A round of one file says nothing about the other files. */
static int take_round(struct perf_import *import, const struct perf_record *record)
{
	if (!import->parts.count)
		perf_order_round(&import->order);
	return leave_out(import, record);
}

static int take_build_id(struct perf_import *import, const struct perf_record *record)
{
	return perf_build_id(import, record->misc, record->body, record->size);
}

static int take_attr(struct perf_import *import, const struct perf_record *record)
{
	return perf_attrs_record(&import->attrs, record);
}

/* Keeps a record of perf as an event. Counts unknown records of a newer perf. */
static int keep_own(struct perf_import *import, const struct perf_record *record)
{
	const struct perf_sample nobody = {.pid = PTL_NO_ID, .tid = PTL_NO_ID, .cpu = PTL_NO_CPU};

	if (record->type >= PERF_RECORD_OWN_END) {
		import->outcome.unknown_records++;
		perf_left_out_unknown(&import->outcome.left_out, record->type);
		return 0;
	}
	return perf_event_keep(import, record, &nobody, record->size);
}

/* Learns the virtual machines. Without virtual machines, the record is data that other records have, too. */
static int take_index(struct perf_import *import, const struct perf_record *record)
{
	const int status = perf_guests_index(&import->guests, record);

	if (status)
		return status;
	return perf_guests_named(record) ? keep_own(import, record) : leave_out(import, record);
}

static int take_event_type(struct perf_import *import, const struct perf_record *record)
{
	perf_attrs_event_type(&import->attrs, record->body, record->size);
	return 0;
}

/* Handlers of perf's own records. Other records are kept as events. */
static const struct {
	uint32_t type;
	int (*take)(struct perf_import *import, const struct perf_record *record);
} own_records[] = {
	{PERF_RECORD_HEADER_ATTR, take_attr},
	{PERF_RECORD_HEADER_BUILD_ID, take_build_id},
	{PERF_RECORD_HEADER_FEATURE, perf_feature_record},
	{PERF_RECORD_TRACING_DATA, perf_tracing_record},
	{PERF_RECORD_EVENT_UPDATE, perf_event_update},
	{PERF_RECORD_TIME_CONV, perf_time_conversion},
	{PERF_RECORD_AUXTRACE_INFO, perf_aux_info},
	{PERF_RECORD_AUXTRACE, perf_aux_data},
	{PERF_RECORD_AUXTRACE_ERROR, keep_own},
	{PERF_RECORD_EVENT_TYPE, take_event_type},
	{PERF_RECORD_ID_INDEX, take_index},
	{PERF_RECORD_THREAD_MAP, leave_out},
	{PERF_RECORD_CPU_MAP, leave_out},
	{PERF_RECORD_FINISHED_ROUND, take_round},
	{PERF_RECORD_FINISHED_INIT, take_running},
};

static int take_any_record(struct perf_import *import, const struct perf_record *record)
{
	if (record->type < PERF_RECORD_KERNEL_END)
		return pass_damaged(import, take_kernel_record(import, record));
	for (size_t i = 0; i < sizeof(own_records) / sizeof(own_records[0]); i++)
		if (own_records[i].type == record->type)
			return own_records[i].take(import, record);
	return keep_own(import, record);
}

/* ---- before and after ------------------------------------------------------------------------ */

/*
 * Scans the first records for programs of existing processes, and for the start of the trace. The trace starts at the
 * earliest time of these records; rundown, which has no time, gets the start time. The first records of each ring lie
 * near the file's start.
 */
static int find_start_of(struct perf_import *import, struct perf_attrs *attrs, struct perf_file *file)
{
	struct perf_record record;
	bool running = false;
	unsigned seen = 0;
	int status = 0;

	while (!status && seen < PERF_LOOK_AHEAD && (status = perf_file_next(file, &record)) > 0) {
		struct perf_sample sample;
		size_t body;

		status = 0;
		if (record.type == PERF_RECORD_HEADER_ATTR)
			status = perf_attrs_record(attrs, &record);
		else if (record.type == PERF_RECORD_ID_INDEX)
			status = perf_guests_index(&import->guests, &record);
		if (record.type >= PERF_RECORD_KERNEL_END || perf_sample_parse(attrs, &record, &sample, &body))
			continue;
		status = perf_guests_move(&import->guests, &record, &sample, body);
		running |= record.type == PERF_RECORD_SAMPLE;
		if (!status && (sample.has_time ? !sample.time : !running))
			status = perf_programs_look(&import->programs, &record, body);
		if (!sample.has_time || !sample.time)
			continue;
		seen++;
		if (!import->machine.start_time || sample.time < import->machine.start_time)
			import->machine.start_time = sample.time;
	}
	/* The conversion will report damage. */
	return status == PTL_NO_MEMORY || status == PTL_SYSTEM ? status : 0;
}

static int find_start(struct perf_import *import, int fd)
{
	struct perf_attrs attrs = {0};
	struct perf_file *file = NULL;
	int status = perf_file_open(fd, &file);

	if (!status)
		status = perf_attrs_read(&attrs, file);
	if (!status)
		status = find_start_of(import, &attrs, file);
	perf_file_close(file);
	file = NULL;
	for (size_t i = 0; !status && i < import->parts.count; i++) {
		status = perf_file_open_part(import->parts.list[i].fd, &file);
		if (!status)
			status = find_start_of(import, &attrs, file);
		perf_file_close(file);
		file = NULL;
	}
	perf_attrs_free(&attrs);
	return status;
}

static void set_clock(struct perf_import *import)
{
	const struct perf_attr *attr = import->attrs.count ? &import->attrs.list[0] : NULL;

	import->machine.clock = PTL_CLOCK_PERF;
	if (!import->machine.start_time)
		import->machine.clock = PTL_CLOCK_NONE;
	else if (attr && attr->clockid == CLOCKID_MONOTONIC)
		import->machine.clock = PTL_CLOCK_MONOTONIC;
	else if (attr && attr->clockid == CLOCKID_MONOTONIC_RAW)
		import->machine.clock = PTL_CLOCK_MONOTONIC_RAW;
}

static int begin_import(struct perf_import *import, int fd)
{
	size_t count;
	const struct ptl_schema *const *schemas = ptl_kernel_schemas(&count);
	int status = find_start(import, fd);

	if (!status)
		status = perf_attrs_read(&import->attrs, import->file);
	if (!status)
		status = perf_features_read(import);
	for (size_t i = 0; !status && i < count; i++)
		status = ptl_writer_schema(import->writer, schemas[i]);
	if (!status)
		status = perf_event_schemas(import);
	return status ? status : perf_kernel_begin(import);
}

/* Records that the rest of the file is unreadable. */
static int lose_rest(struct perf_import *import, const char *cause)
{
	snprintf(import->outcome.damage, sizeof(import->outcome.damage), "%s", cause);
	return perf_lose(import->writer, PTL_LOSS_EVENTS, 1, import->now, cause);
}

/* Reads and handles a record. Returns 1; 0 if the current file has ended, or its rest is lost. */
static int read_record(struct perf_import *import)
{
	struct perf_record record;
	int status = perf_file_next(import->file, &record);
	const bool more = status > 0;

	if (more)
		status = import->records++ % CHECK_EVERY ? 0 : common_interrupt_check();
	if (more && status >= 0)
		status = take_any_record(import, &record);
	if (more && status >= 0)
		status = take_waiting(import);
	if (status == PTL_CORRUPT || status == PTL_TRUNCATED)
		return lose_rest(import, ptl_error_text());
	return status < 0 ? status : more;
}

static int read_records(struct perf_import *import)
{
	struct perf_part *part;
	int status;

	while ((status = read_record(import)) > 0)
		;
	while (!status && (part = perf_parts_next(&import->parts))) {
		import->file = part->file;
		import->last = part->time;
		status = read_record(import);
		part->time = import->last;
		part->ended = status == 0;
		status = status > 0 ? 0 : status;
	}
	if (import->parts.count)
		import->file = import->main;
	return status;
}

/* Writes a loss record for each kind of data that the trace lacks. */
static int write_losses(struct perf_import *import)
{
	const struct perf_outcome *outcome = &import->outcome;
	const struct {
		uint32_t kind;
		uint64_t count;
		const char *cause;
	} losses[] = {
		{PTL_LOSS_EVENTS, outcome->left_features, "features of the header are damaged or too large"},
		{PTL_LOSS_EVENTS, outcome->damaged_records, "records are too short for what they describe"},
		{PTL_LOSS_EVENTS, outcome->large_events, "samples are larger than an event of a trace may be"},
		{PTL_LOSS_EVENTS, outcome->lone_stacks, "copies of stacks have no registers with which to unwind them"},
		{PTL_LOSS_CODE, outcome->other_files, "files of mappings are there in another version"},
		{PTL_LOSS_CODE, outcome->absent_files, "files of mappings were not on the machine of the import"},
	};
	int status = perf_left_out_write(&outcome->left_out, import->writer);

	for (size_t i = 0; !status && i < sizeof(losses) / sizeof(losses[0]); i++)
		status = perf_lose(import->writer, losses[i].kind, losses[i].count, 0, losses[i].cause);
	return status;
}

static int end_import(struct perf_import *import)
{
	int status;

	perf_order_end(&import->order);
	status = take_waiting(import);
	if (!status)
		status = perf_process_finish(import);
	if (!status)
		status = perf_aux_finish(import);
	if (!status)
		status = perf_guest_flow_find(import);
	if (!status)
		status = perf_guest_flow_write(import);
	if (!status)
		status = perf_kernel_lose(import);
	if (!status)
		status = write_losses(import);
	if (!import->machine.start_time)
		import->machine.start_time = import->aux_start;
	import->machine.end_time = import->now;
	set_clock(import);
	if (!status)
		status = ptl_writer_machine(import->writer, &import->machine);
	return status ? status : perf_guests_write(&import->guests, &import->machine, import->writer);
}

/* Reads the files that continue the first file. */
static int read_series(struct perf_import *import, const struct perf_input *input)
{
	int more = 1, status = 0;

	while (!status && more && import->outcome.files < input->count) {
		const size_t i = import->outcome.files;

		/* Rundown of the next file is compared with all processes of this file. */
		perf_order_end(&import->order);
		status = take_waiting(import);
		perf_order_round(&import->order);
		more = status ? status : perf_series_next(import, input->fds[i - 1], input->fds[i]);
		import->outcome.files += more > 0;
		status = more > 0 ? read_records(import) : more;
	}
	return status;
}

static int import_files(struct perf_import *import, const struct perf_input *input)
{
	int status = perf_file_open(input->fds[0], &import->main);

	import->file = import->main;
	import->outcome.files = 1;
	if (!status)
		status = begin_import(import, input->fds[0]);
	if (!status)
		status = read_records(import);
	if (!status && !import->parts.count)
		status = read_series(import, input);
	return status ? status : end_import(import);
}

/* A folder's hash covers the bytes of all files in sequence. */
static int add_origin(const struct perf_import *import, const char *name, struct import_spool *spool)
{
	struct ptl_provenance_input origin = {.name = name, .size = perf_file_size(import->main)};
	struct format_input_hash *hash = format_input_hash_new(spool->hash_kind);
	const bool wanted = spool->hash_kind != PTL_HASH_NONE;
	int status = hash ? 0 : common_fail_memory("a hash", 0);

	if (!status && wanted)
		status = perf_file_hash(import->main, hash);
	for (size_t i = 0; !status && i < import->parts.count; i++) {
		origin.size += perf_file_size(import->parts.list[i].file);
		if (wanted)
			status = perf_file_hash(import->parts.list[i].file, hash);
	}
	if (!status)
		format_input_hash_finish(hash, &origin);
	format_input_hash_free(hash);
	return status ? status : import_spool_origin(spool, &origin);
}

static int add_origins(const struct perf_import *import, const struct perf_input *input, struct import_spool *spool)
{
	int status = add_origin(import, input->names[0], spool);

	for (size_t i = 1; !status && i < import->outcome.files; i++)
		status = import_spool_origin_file(spool, input->names[i], input->fds[i]);
	return status;
}

/* Sets the caches: `cache`, unless NULL, and ~/.debug. */
static void find_caches(struct perf_import *import, const char *cache)
{
	const char *home_folder = getenv("HOME");
	size_t count = 0;

	if (cache)
		snprintf(import->caches[count++], sizeof(import->caches[0]), "%s", cache);
	if (home_folder)
		snprintf(import->caches[count], sizeof(import->caches[0]), "%.4000s/.debug", home_folder);
}

int perf_import(const struct perf_input *input, struct import_spool *spool, struct perf_outcome *outcome)
{
	struct perf_import *import = calloc(1, sizeof(*import));
	struct elf_image_sink sink;
	int status;

	*outcome = (struct perf_outcome){0};
	if (!import)
		return common_fail_memory("perf.data", sizeof(*import));
	import->writer = spool->writer;
	import->embed = input->embed;
	import->folder = input->names[0];
	find_caches(import, input->cache);
	import->machine = (struct ptl_machine){
		.source = "perf", .architecture = "x86_64", .mode = 64, .return_compression = true};
	import->machine.guest_code = input->guest_code ? PTL_GUEST_CODE_USER : PTL_GUEST_CODE_NONE;
	sink = perf_image_sink(import);
	status = elf_image_store_new(input->embed, &sink, &import->images);
	if (!status)
		status = ptl_event_headers_new(ptl_guid_from_name, &import->headers);
	if (!status)
		ptl_event_headers_alignment(import->headers, RAW_ALIGNMENT);
	if (!status)
		status = perf_parts_open(&import->parts, input->names[0]);
	if (!status)
		status = perf_kernel_open(import);
	if (!status)
		status = import_files(import, input);
	if (!status)
		status = add_origins(import, input, spool);
	*outcome = import->outcome;
	elf_image_store_free(import->images);
	ptl_event_headers_free(import->headers);
	perf_order_free(&import->order);
	perf_process_free(import);
	perf_programs_free(&import->programs);
	perf_unwind_free(&import->unwinder);
	perf_vdso_close(&import->vdso);
	perf_kernel_free(import);
	perf_guests_free(&import->guests);
	perf_guest_flow_free(&import->guest_flow);
	common_hash_map_free(&import->counters);
	common_hash_map_free(&import->pebs_counters);
	perf_aux_free(import);
	perf_tracing_free(&import->tracing);
	perf_attrs_free(&import->attrs);
	perf_series_close(import);
	perf_file_close(import->main);
	perf_parts_close(&import->parts);
	common_byte_map_free(&import->build_ids);
	common_bytes_free(&import->storage);
	free(import->ids);
	free(import);
	return status;
}
