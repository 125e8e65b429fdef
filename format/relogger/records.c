/* SPDX-License-Identifier: BSD-2-Clause */
/* Passes metadata: records with converted stream ids, damage as loss records, and the history step of this run. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/error.h"
#include "common/sha256.h"
#include "common/text/text.h"
#include "common/version.h"
#include "format/container/layout.h"
#include "format/metadata/fields.h"
#include "format/metadata/metadata.h"
#include "format/reader/parts.h"
#include "format/relogger/relogger_internal.h"
#include "format/writer/copy.h"

/* Tags of converted fields. */
enum { STREAM_ID = 1, STREAM_CPU = 3, STREAM_PID = 4, STREAM_TID = 5 };
enum { ORIGIN_FILE = 6, ORIGIN_STREAM = 7, ORIGIN_POSITION = 8 };
enum { ATTACHMENT_PID = 2 };
enum { LOSS_STREAM = 2, LOSS_PID = 3, LOSS_TID = 4, LOSS_FIRST = 7, LOSS_LAST = 8 };

/* Returns the index of the input's stream with this id; the number of streams if not found. */
static size_t index_of(const struct ptl_relogger_input *input, uint32_t id)
{
	return format_stream_number(input->trace, id);
}

uint32_t ptl_relogger_map_stream(const struct ptl_relogger_input *input, uint32_t id)
{
	const size_t i = index_of(input, id);

	return i < ptl_stream_count(input->trace) ? input->streams[i].id : PTL_NO_ID;
}

/* A field and its new number. */
struct replacement {
	unsigned tag;
	uint64_t number;
};

/*
 * Appends a record's body with the numbers of some fields replaced. Other fields, also unknown fields, are copied
 * unchanged.
 */
static void replace(struct ptl_bytes *out, const struct ptl_record *record, const struct replacement *replacements,
		    size_t count)
{
	struct common_cursor body = common_cursor(record->data, record->size);
	struct format_tagged field;

	for (size_t i = 0; i < count; i++)
		format_field_number(out, replacements[i].tag, replacements[i].number);
	for (;;) {
		const size_t start = body.at;
		bool replaced = false;

		if (format_next_field(&body, &field) <= 0)
			break;
		for (size_t i = 0; i < count; i++)
			replaced |= field.tag == replacements[i].tag;
		if (!replaced)
			common_write_bytes(out, body.data + start, body.at - start);
	}
}

/* Writes a body and frees it. */
static int write_body(struct ptl_relogger *relogger, uint64_t type, struct ptl_bytes *body)
{
	const int status = body->failed ? common_fail_memory("a record", body->size)
					: ptl_writer_record(relogger->writer, type, body->data, body->size);

	common_bytes_free(body);
	return status;
}

/*
 * Writes a stream record with the stream's origin. Old origin fields are dropped, as a replaced number of 0 is not
 * written.
 */
static int write_stream(struct ptl_relogger *relogger, const struct ptl_record *record,
			const struct replacement *replacements, size_t count,
			const struct format_relogger_stream *stream)
{
	struct format_origin origin = stream->origin;
	struct ptl_bytes out = {0};

	replace(&out, record, replacements, count);
	origin.position += stream->cut;
	if (origin.known)
		format_origin_encode(&origin, &out);
	return write_body(relogger, record->type, &out);
}

/* Returns the number in the last field with this tag. The record was checked when it was read. */
static uint64_t get_number(const struct ptl_record *record, unsigned tag)
{
	struct common_cursor body = common_cursor(record->data, record->size);
	struct format_tagged field;
	uint64_t number = 0;
	bool failed = false;

	while (format_next_field(&body, &field) > 0)
		if (field.tag == tag)
			number = format_take_number(&field, UINT64_MAX, &failed);
	return number;
}

/* Reads and converts an id. Records store an id plus one, so that a missing field means no id. */
static int get_id(const struct ptl_relogger_input *input, const struct ptl_record *record, struct replacement *id)
{
	uint32_t value = (uint32_t)get_number(record, id->tag) - 1;
	const int status = ptl_relogger_map_id(input, &value);

	id->number = (uint32_t)(value + 1);
	return status;
}

static int pass_stream_record(struct ptl_relogger *relogger, struct ptl_relogger_input *input,
			      const struct ptl_record *record)
{
	struct replacement fields[] = {
		{.tag = STREAM_ID},   {.tag = STREAM_CPU},    {.tag = STREAM_PID},      {.tag = STREAM_TID},
		{.tag = ORIGIN_FILE}, {.tag = ORIGIN_STREAM}, {.tag = ORIGIN_POSITION},
	};
	const size_t number = index_of(input, (uint32_t)get_number(record, STREAM_ID));
	int status = 0;

	fields[0].number = ptl_relogger_map_stream(input, (uint32_t)get_number(record, STREAM_ID));
	if (fields[0].number == PTL_NO_ID || fields[0].number == FORMAT_METADATA_STREAM ||
	    fields[0].number == FORMAT_BLOB_STREAM)
		return 0;
	for (size_t i = 1; !status && i < 4; i++)
		status = get_id(input, record, &fields[i]);
	return status ? status
		      : write_stream(relogger, record, fields, input->streams[number].origin.known ? 7 : 4,
				     &input->streams[number]);
}

/*
 * Whether streams of a kind may be dropped or joined with streams of other inputs. Their records wait for this
 * decision, so that no missing stream is declared.
 */
static bool may_go(uint32_t kind)
{
	return kind != PTL_KIND_METADATA && kind != PTL_KIND_BLOB && kind != PTL_KIND_INDEX;
}

static int take_stream_record(struct ptl_relogger *relogger, struct ptl_relogger_input *input,
			      const struct ptl_record *record)
{
	const size_t i = index_of(input, (uint32_t)get_number(record, STREAM_ID));

	if (input->live)
		return i < ptl_stream_count(input->trace) ? format_relogger_tell_stream(relogger, input, i, record) : 0;
	if (i == ptl_stream_count(input->trace) || !may_go(ptl_stream_at(input->trace, i)->kind))
		return pass_stream_record(relogger, input, record);
	input->streams[i].declared = record;
	return 0;
}

int format_relogger_declare_stream(struct ptl_relogger *relogger, struct ptl_relogger_input *input, size_t stream)
{
	const struct format_relogger_stream *target = &input->streams[stream];
	struct ptl_stream identity = *ptl_stream_at(input->trace, stream);
	struct ptl_bytes own = {0};
	struct ptl_record record = {.type = FORMAT_RECORD_STREAM};
	int status;

	if (target->declared)
		return pass_stream_record(relogger, input, target->declared);
	if (!target->origin.known)
		return 0;
	format_stream_encode(&identity, &own);
	record.data = own.data;
	record.size = own.size;
	status = own.failed ? common_fail_memory("a record", 0) : pass_stream_record(relogger, input, &record);
	common_bytes_free(&own);
	return status;
}

/* Whether the record states a part of a recording. format_relogger_pass_parts writes such records at the end. */
static bool is_part(const struct ptl_relogger_input *input, const struct ptl_record *record)
{
	struct ptl_loss *loss;
	bool part = false;

	for (size_t i = 0; !part && i < input->part_count; i++)
		part = input->parts[i].record == record;
	/* Parts of a growing trace are known only at the trace's end. */
	if (input->live && !format_loss_decode(common_cursor(record->data, record->size), &loss)) {
		part = loss->kind == PTL_LOSS_CUT && format_is_named(loss->recording);
		format_loss_free(loss);
	}
	return part;
}

int format_relogger_pass_loss(struct ptl_relogger *relogger, struct ptl_relogger_input *input,
			      const struct ptl_record *record)
{
	struct replacement fields[] = {
		{.tag = LOSS_STREAM}, {.tag = LOSS_PID}, {.tag = LOSS_TID}, {.tag = LOSS_FIRST}, {.tag = LOSS_LAST}};
	const uint64_t old = get_number(record, LOSS_STREAM);
	const uint32_t id = old ? ptl_relogger_map_stream(input, (uint32_t)old - 1) : PTL_NO_ID;
	struct ptl_bytes out = {0};
	int status = get_id(input, record, &fields[1]);

	fields[0].number = (uint32_t)(id + 1);
	if (!status)
		status = get_id(input, record, &fields[2]);
	for (size_t i = 3; i < 5; i++) {
		fields[i].number = get_number(record, fields[i].tag);
		if (fields[i].number)
			fields[i].number += (uint64_t)input->time_shift;
	}
	if (status)
		return status;
	replace(&out, record, fields, 5);
	if (!out.failed)
		status = format_dedup_record(relogger, input, record->type, out.data, out.size);
	if (status) {
		common_bytes_free(&out);
		return status < 0 ? status : 0;
	}
	return write_body(relogger, record->type, &out);
}

static int pass_attachment(struct ptl_relogger *relogger, struct ptl_relogger_input *input,
			   const struct ptl_record *record)
{
	struct replacement pid = {.tag = ATTACHMENT_PID};
	struct ptl_bytes out = {0};
	int status = get_id(input, record, &pid);

	if (status)
		return status;
	replace(&out, record, &pid, 1);
	return write_body(relogger, record->type, &out);
}

static int ask(struct ptl_relogger *relogger, struct ptl_relogger_input *input, const struct ptl_record *record,
	       bool *keep)
{
	int status = 0;

	*keep = true;
	for (size_t i = 0; !status && *keep && i < relogger->stage_count; i++) {
		struct format_relogger_stage *stage = relogger->stages[i];

		relogger->stage = i;
		if (stage->callbacks.record)
			status = stage->callbacks.record(stage->context, relogger, input, record, keep);
	}
	return status;
}

int format_relogger_pass_record(struct ptl_relogger *relogger, struct ptl_relogger_input *input,
				const struct ptl_record *record)
{
	bool keep;
	int status;

	if (record->type == FORMAT_RECORD_STREAM)
		return take_stream_record(relogger, input, record);
	if (record->type == FORMAT_RECORD_RECORDING)
		return 0; /* written by format_relogger_pass_parts */
	status = ask(relogger, input, record, &keep);
	if (status || !keep)
		return status;
	if (record->type == FORMAT_RECORD_LOSS)
		return is_part(input, record) ? 0 : format_relogger_pass_loss(relogger, input, record);
	if (record->type == FORMAT_RECORD_ATTACHMENT)
		return pass_attachment(relogger, input, record);
	if (record->type == FORMAT_RECORD_PROVENANCE) {
		status = format_dedup_record(relogger, input, record->type, record->data, record->size);
		if (status)
			return status < 0 ? status : 0;
	}
	if (record->type == FORMAT_RECORD_MACHINE && (input->number || relogger->own_machines || relogger->has_machine))
		return 0; /* written by format_relogger_finish_records */
	return ptl_writer_record(relogger->writer, record->type, record->data, record->size);
}

int format_relogger_number_stream(struct ptl_relogger *relogger, struct ptl_relogger_input *input, size_t i)
{
	struct ptl_stream stream = *ptl_stream_at(input->trace, i);
	int status;

	input->streams[i].id = stream.kind == PTL_KIND_BLOB ? FORMAT_BLOB_STREAM : FORMAT_METADATA_STREAM;
	if (!may_go(stream.kind))
		return 0;
	if (input->streams[i].leader) {
		input->streams[i].id = input->streams[i].leader->id;
		return 0;
	}
	status = ptl_relogger_map_id(input, &stream.cpu);
	if (!status)
		status = ptl_relogger_map_id(input, &stream.pid);
	if (!status)
		status = ptl_relogger_map_id(input, &stream.tid);
	if (!status)
		status = format_writer_stream_quietly(relogger->writer, &stream);
	if (!status)
		input->streams[i].id = stream.id;
	return status;
}

/* Assigns ids of the output to the streams of an input, in the same order. */
static int number_streams(struct ptl_relogger *relogger, struct ptl_relogger_input *input)
{
	int status = 0;

	for (size_t i = 0; !status && i < ptl_stream_count(input->trace); i++)
		status = format_relogger_number_stream(relogger, input, i);
	return status;
}

int format_relogger_pass_records(struct ptl_relogger *relogger)
{
	for (size_t i = 0; i < relogger->input_count; i++) {
		struct ptl_relogger_input *input = relogger->inputs[i];
		int status = number_streams(relogger, input);

		for (size_t j = 0; !status && j < ptl_record_count(input->trace); j++)
			status = format_relogger_pass_record(relogger, input, ptl_record_at(input->trace, j));
		for (size_t j = 0; !status && j < ptl_stream_count(input->trace); j++)
			if (ptl_stream_at(input->trace, j)->kind == PTL_KIND_EVENTS && !input->streams[j].leader)
				status = format_relogger_declare_stream(relogger, input, j);
		if (status)
			return common_fail_in(status, "%s", input->name);
	}
	return 0;
}

/* --- damage ------------------------------------------------------------------------------------------- */

/* Whether damage is a loss. Parts of a newer version are listed as damage, too, but are copied. */
static bool is_loss(const struct ptl_damage *damage)
{
	return damage->status == PTL_CORRUPT || damage->status == PTL_TRUNCATED;
}

static int pass_damage(struct ptl_relogger *relogger, struct ptl_relogger_input *input)
{
	const struct ptl_trace *trace = input->trace;
	const int full = format_damage_check(input->trace);

	if (full)
		return common_fail_in(full, "%s", input->name);
	for (size_t i = 0; i < ptl_damage_count(trace); i++) {
		const struct ptl_damage *damage = ptl_damage_at(trace, i);
		/* Damage without a size at the end of the file means the missing index. */
		const bool is_end = damage->status == PTL_TRUNCATED && damage->offset >= ptl_trace_size(trace);
		const struct ptl_loss loss = {
			.kind = is_end ? PTL_LOSS_END : PTL_LOSS_BUFFERS,
			.stream = damage->stream == PTL_NO_ID ? PTL_NO_ID
							      : ptl_relogger_map_stream(input, damage->stream),
			.pid = PTL_NO_ID,
			.tid = PTL_NO_ID,
			.count = 1,
			.bytes = damage->size,
			.cause = damage->text,
		};
		const int status = is_loss(damage) ? ptl_writer_loss(relogger->writer, &loss) : 0;

		if (status)
			return status;
		input->losses += is_loss(damage);
	}
	return 0;
}

int format_relogger_pass_damage(struct ptl_relogger *relogger)
{
	int status = 0;

	for (size_t i = 0; !status && i < relogger->input_count; i++)
		status = pass_damage(relogger, relogger->inputs[i]);
	return status;
}

/* --- the end ------------------------------------------------------------------------------------------ */

static int add_inputs(const struct ptl_relogger *relogger, struct ptl_provenance *step)
{
	struct ptl_provenance_input *inputs;

	for (size_t i = 0; i < relogger->input_count; i++)
		step->inputs += relogger->inputs[i]->origin_count;
	inputs = calloc(step->inputs + 1, sizeof(*inputs));
	if (!inputs)
		return common_fail_memory("provenance", step->inputs * sizeof(*inputs));
	step->input = inputs;
	for (size_t i = 0; i < relogger->input_count; i++) {
		const struct ptl_relogger_input *input = relogger->inputs[i];

		for (size_t j = 0; j < input->origin_count; j++)
			*inputs++ = input->origins[j];
	}
	return 0;
}

/* Machine 0 is last, as old readers with only one machine use the last record. */
static int write_machines(struct ptl_relogger *relogger)
{
	int status = 0;

	for (size_t i = relogger->machine_count; !status && i-- > 1;)
		status = ptl_writer_machine(relogger->writer, &relogger->machines[i]);
	if (!status && relogger->has_machine)
		return ptl_writer_machine(relogger->writer, &relogger->machine);
	if (!status && relogger->own_machines)
		status = ptl_writer_machine(relogger->writer, &relogger->machines[0]);
	return status;
}

int format_relogger_finish_records(struct ptl_relogger *relogger)
{
	struct ptl_provenance step = {
		.tool = relogger->tool ? relogger->tool : "libptl",
		.version = relogger->version ? relogger->version : COMMON_VERSION,
		.command = relogger->command ? relogger->command : "",
		.rules = relogger->rules ? relogger->rules : "",
		.unmatched = common_text_string(&relogger->unmatched),
	};
	struct timespec now;
	int status = add_inputs(relogger, &step);

	clock_gettime(CLOCK_REALTIME, &now);
	step.wall_time = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
	if (!status)
		status = ptl_writer_provenance(relogger->writer, &step);
	if (!status)
		status = write_machines(relogger);
	free((void *)step.input);
	return status;
}
