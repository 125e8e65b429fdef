/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes packets, and states PSBs. */
#include "record/intel_pt/stream.h"

#include "record/capture/capture.h"

int intel_pt_stream_open(struct intel_pt_stream *stream, struct record_capture *capture, uint32_t cpu, uint32_t pid,
			 uint32_t tid)
{
	const struct ptl_stream made = {.kind = PTL_KIND_PT, .cpu = cpu, .pid = pid, .tid = tid};

	*stream = (struct intel_pt_stream){.capture = capture, .pid = pid, .tid = tid};
	return record_capture_stream(capture, &made, &stream->id);
}

static int write_psb(void *context, uint64_t offset, uint64_t time)
{
	const struct intel_pt_stream *stream = context;

	return record_capture_psb(stream->capture, stream->id, offset, time);
}

int intel_pt_stream_bytes(struct intel_pt_stream *stream, const void *data, size_t size)
{
	const struct import_psb_clock clock = record_capture_psb_clock(stream->capture, stream->time);
	const int status = size ? record_capture_pt(stream->capture, stream->id, data, size, stream->time) : 0;

	return size && status == 0 ? import_psbs_bytes(&stream->psbs, &clock, data, size, write_psb, stream) : status;
}

int intel_pt_stream_finish(struct intel_pt_stream *stream)
{
	const struct import_psb_clock clock = record_capture_psb_clock(stream->capture, stream->time);

	return import_psbs_end(&stream->psbs, &clock, write_psb, stream);
}

int intel_pt_stream_lose(struct intel_pt_stream *stream, uint32_t kind, uint64_t count, uint64_t bytes,
			 const char *cause)
{
	return record_capture_loss(stream->capture, &(struct ptl_loss){
							    .kind = kind,
							    .stream = stream->id,
							    .pid = stream->pid,
							    .tid = stream->tid,
							    .count = count,
							    .bytes = bytes,
							    .first_time = stream->time,
							    .last_time = stream->time,
							    .cause = cause,
						    });
}

int intel_pt_stream_break(struct intel_pt_stream *stream, uint64_t bytes)
{
	const uint64_t hole = bytes ? bytes : 1; /* a hole, so that no reader joins both sides */
	int status = intel_pt_stream_finish(stream);

	if (status == 0)
		status = record_capture_hole(stream->capture, stream->id, hole, stream->time);
	import_psbs_hole(&stream->psbs, hole);
	return status;
}

int intel_pt_stream_interrupt(struct intel_pt_stream *stream, uint64_t bytes, const char *cause)
{
	const int status = intel_pt_stream_break(stream, bytes);

	return status < 0 ? status : intel_pt_stream_lose(stream, PTL_LOSS_BYTES, 1, bytes, cause);
}
