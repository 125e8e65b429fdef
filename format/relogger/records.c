/* SPDX-License-Identifier: BSD-2-Clause */
/* Passes metadata: records with converted ids, and damage as loss records. */
#include "format/relogger/records.h"

#include "common/error.h"
#include "format/container/layout.h"
#include "format/metadata/metadata.h"
#include "format/reader/parts.h"
#include "format/relogger/dedup.h"
#include "format/relogger/input.h"
#include "format/relogger/record_fields.h"
#include "format/relogger/relogger_internal.h"
#include "format/relogger/stages.h"
#include "format/relogger/stream.h"

/* Tags of converted fields. */
enum { ATTACHMENT_PID = 2 };
enum { LOSS_STREAM = 2, LOSS_PID = 3, LOSS_TID = 4, LOSS_FIRST = 7, LOSS_LAST = 8 };

/* Whether the record states a part of a recording. format_relogger_pass_parts writes such records at the end. */
static bool is_part(const struct ptl_relogger_input *input, const struct ptl_record *record)
{
	struct ptl_loss *loss;
	bool part = false;

	for (size_t i = 0; !part && i < input->parts.count; i++)
		part = input->parts.all[i].record == record;
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
	struct format_replacement fields[] = {
		{.tag = LOSS_STREAM}, {.tag = LOSS_PID}, {.tag = LOSS_TID}, {.tag = LOSS_FIRST}, {.tag = LOSS_LAST}};
	const uint64_t old = format_record_number(record, LOSS_STREAM);
	const uint32_t id = old ? ptl_relogger_map_stream(input, (uint32_t)old - 1) : PTL_NO_ID;
	struct ptl_bytes out = {0};
	int status = format_record_id(input, record, &fields[1]);

	fields[0].number = (uint32_t)(id + 1);
	if (!status)
		status = format_record_id(input, record, &fields[2]);
	for (size_t i = 3; i < 5; i++) {
		fields[i].number = format_record_number(record, fields[i].tag);
		if (fields[i].number)
			fields[i].number += (uint64_t)input->clock.shift;
	}
	if (status)
		return status;
	format_record_replace(&out, record, fields, 5);
	if (!out.failed)
		status = format_dedup_record(relogger, input, record->type, out.data, out.size);
	if (status) {
		common_bytes_free(&out);
		return status < 0 ? status : 0;
	}
	return format_record_write(relogger, record->type, &out);
}

static int pass_attachment(struct ptl_relogger *relogger, struct ptl_relogger_input *input,
			   const struct ptl_record *record)
{
	struct format_replacement pid = {.tag = ATTACHMENT_PID};
	struct ptl_bytes out = {0};
	int status = format_record_id(input, record, &pid);

	if (status)
		return status;
	format_record_replace(&out, record, &pid, 1);
	return format_record_write(relogger, record->type, &out);
}

int format_relogger_pass_record(struct ptl_relogger *relogger, struct ptl_relogger_input *input,
				const struct ptl_record *record)
{
	bool keep;
	int status;

	if (record->type == FORMAT_RECORD_STREAM)
		return format_relogger_pass_stream_record(relogger, input, record);
	if (record->type == FORMAT_RECORD_RECORDING)
		return 0; /* written by format_relogger_pass_parts */
	status = format_stages_record(relogger, input, record, &keep);
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
	if (record->type == FORMAT_RECORD_MACHINE &&
	    (input->number || relogger->machines.written || relogger->machines.has_stated))
		return 0; /* written by format_relogger_write_machines */
	return ptl_writer_record(relogger->writer, record->type, record->data, record->size);
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
