/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers and declares the output's streams. */
#include "format/relogger/stream.h"

#include "common/error.h"
#include "format/container/layout.h"
#include "format/metadata/fields.h"
#include "format/reader/parts.h"
#include "format/relogger/input.h"
#include "format/relogger/record_fields.h"
#include "format/relogger/relogger_internal.h"
#include "format/writer/copy.h"

/* Tags of converted fields. */
enum { STREAM_ID = 1, STREAM_CPU = 3, STREAM_PID = 4, STREAM_TID = 5 };
enum { ORIGIN_FILE = 6, ORIGIN_STREAM = 7, ORIGIN_POSITION = 8 };

size_t format_relogger_stream_of(const struct ptl_relogger_input *input, const struct ptl_record *record)
{
	return format_stream_number(input->trace, (uint32_t)format_record_number(record, STREAM_ID));
}

uint32_t ptl_relogger_map_stream(const struct ptl_relogger_input *input, uint32_t id)
{
	const size_t i = format_stream_number(input->trace, id);

	return i < ptl_stream_count(input->trace) ? input->streams[i].id : PTL_NO_ID;
}

/* --- records ------------------------------------------------------------------------------------------ */

/*
 * Writes a stream record with the stream's origin. Old origin fields are dropped, as a replaced number of 0 is not
 * written.
 */
static int write_stream(struct ptl_relogger *relogger, const struct ptl_record *record,
			const struct format_replacement *replacements, size_t count,
			const struct format_relogger_stream *stream)
{
	struct format_origin origin = stream->origin;
	struct ptl_bytes out = {0};

	format_record_replace(&out, record, replacements, count);
	origin.position += stream->cut;
	if (origin.known)
		format_origin_encode(&origin, &out);
	return format_record_write(relogger, record->type, &out);
}

static int write_mapped_record(struct ptl_relogger *relogger, struct ptl_relogger_input *input,
			       const struct ptl_record *record)
{
	struct format_replacement fields[] = {
		{.tag = STREAM_ID},   {.tag = STREAM_CPU},    {.tag = STREAM_PID},      {.tag = STREAM_TID},
		{.tag = ORIGIN_FILE}, {.tag = ORIGIN_STREAM}, {.tag = ORIGIN_POSITION},
	};
	const size_t number = format_relogger_stream_of(input, record);
	int status = 0;

	fields[0].number = ptl_relogger_map_stream(input, (uint32_t)format_record_number(record, STREAM_ID));
	if (fields[0].number == PTL_NO_ID || fields[0].number == FORMAT_METADATA_STREAM ||
	    fields[0].number == FORMAT_BLOB_STREAM)
		return 0;
	for (size_t i = 1; !status && i < 4; i++)
		status = format_record_id(input, record, &fields[i]);
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

int format_relogger_pass_stream_record(struct ptl_relogger *relogger, struct ptl_relogger_input *input,
				       const struct ptl_record *record)
{
	const size_t i = format_relogger_stream_of(input, record);

	if (i == ptl_stream_count(input->trace) || !may_go(ptl_stream_at(input->trace, i)->kind))
		return write_mapped_record(relogger, input, record);
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
		return write_mapped_record(relogger, input, target->declared);
	if (!target->origin.known)
		return 0;
	format_stream_encode(&identity, &own);
	record.data = own.data;
	record.size = own.size;
	status = own.failed ? common_fail_memory("a record", 0) : write_mapped_record(relogger, input, &record);
	common_bytes_free(&own);
	return status;
}

/* --- ids ---------------------------------------------------------------------------------------------- */

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
