/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes events of processes, threads and images, and selects their streams. */
#include <stdlib.h>

#include "common/error.h"
#include "common/vector.h"
#include "record/model/model_state.h"

int record_take_stream_pair(struct record_model *model, struct record_process *process)
{
	size_t i = 0;

	while (i < model->stream_pair_count &&
	       (model->stream_pairs[i].busy || model->stream_pairs[i].time[RECORD_MEMORY] > process->start_time ||
		model->stream_pairs[i].time[RECORD_LIFE] > process->start_time))
		i++;
	if (COMMON_VECTOR_RESERVE(model->stream_pairs, model->stream_pair_capacity, i + 1, "event streams"))
		return PTL_NO_MEMORY;
	if (i == model->stream_pair_count) {
		model->stream_pairs[i] = (struct record_stream_pair){0};
		model->stream_pair_count++;
	}
	model->stream_pairs[i].busy = true;
	process->stream_pair = (uint32_t)i;
	return 0;
}

static int emit_model_event(struct record_model *model, struct record_process *process, enum record_part part,
			    struct ptl_event *event, uint32_t tid, uint64_t time)
{
	uint64_t *last = &model->stream_pairs[process->stream_pair].time[part];

	if (part == RECORD_LIFE && time < *last)
		time = *last;
	if (time > *last)
		*last = time;
	if (time > model->last_time)
		model->last_time = time;
	event->time = time;
	event->cpu = PTL_NO_CPU;
	event->pid = process->pid;
	event->tid = tid;
	return model->sink.event(model->sink.context, process->stream_pair, part, event);
}

int record_emit_process(struct record_model *model, struct record_process *process, uint8_t opcode, uint64_t time)
{
	const struct ptl_process_event data = {
		.unique_key = process->number,
		.process_id = process->pid,
		.parent_id = process->parent_pid,
		.exit_status = opcode == PTL_OPCODE_END ? (int32_t)process->exit_status : 0,
		.has_exit_status = opcode == PTL_OPCODE_END && process->has_exit_status,
		.image_file_name = process->path,
		.command_line = process->command_line,
	};
	struct ptl_event event = {0};
	int status;

	model->storage.size = 0;
	status = ptl_process_encode(&data, opcode, &model->storage, &event);
	if (status < 0)
		return status;
	return emit_model_event(model, process, opcode == PTL_OPCODE_END ? RECORD_LIFE : RECORD_MEMORY, &event,
				process->first_tid, time);
}

int record_emit_thread(struct record_model *model, struct record_process *process, uint8_t opcode, uint32_t tid,
		       const char *name, uint64_t start_address, uint64_t time)
{
	const struct ptl_thread_event data = {
		.process_id = process->pid,
		.thread_id = tid,
		.start_address = start_address,
		.name = name,
	};
	struct ptl_event event = {0};
	int status;

	model->storage.size = 0;
	status = ptl_thread_encode(&data, opcode, &model->storage, &event);
	return status < 0 ? status : emit_model_event(model, process, RECORD_LIFE, &event, tid, time);
}

int record_emit_signal(struct record_model *model, struct record_process *process, const struct record_fact *fact)
{
	struct ptl_signal_event data = fact->signal;
	struct ptl_event event = {0};
	int status;

	data.process_id = process->pid;
	data.thread_id = fact->tid;
	model->storage.size = 0;
	status = ptl_signal_encode(&data, &model->storage, &event);
	return status < 0 ? status : emit_model_event(model, process, RECORD_LIFE, &event, fact->tid, fact->time);
}

static int encode_code(struct record_model *model, const struct record_process *process,
		       const struct record_change *change, struct ptl_event *event)
{
	struct ptl_code_event data = {
		.process_id = process->pid,
		.base = change->base,
		.size = change->size,
	};

	memcpy(data.code, change->code, PTL_HASH_SIZE);
	return ptl_code_encode(&data, &model->storage, event);
}

static int encode_image(struct record_model *model, const struct record_process *process,
			const struct record_change *change, struct ptl_event *event)
{
	struct ptl_image_event data = {
		.base = change->base,
		.size = change->size,
		.protection = change->protection,
		.file_name = "",
	};
	uint8_t opcode = change->kind == RECORD_CHANGE_PROTECT ? PTL_OPCODE_PROTECT : PTL_OPCODE_UNLOAD;

	if (change->kind == RECORD_CHANGE_LOAD) {
		data = change->image->data;
		opcode = PTL_OPCODE_LOAD;
	}
	data.process_id = process->pid;
	return ptl_image_encode(&data, opcode, &model->storage, event);
}

int record_emit_change(struct record_model *model, struct record_process *process, uint32_t tid,
		       const struct record_change *change, uint64_t time)
{
	struct ptl_event event = {0};
	int status;

	model->storage.size = 0;
	status = change->kind == RECORD_CHANGE_CODE ? encode_code(model, process, change, &event)
						    : encode_image(model, process, change, &event);
	return status < 0 ? status : emit_model_event(model, process, RECORD_MEMORY, &event, tid, time);
}

int record_emit_image_rundown(struct record_model *model, struct record_process *process, uint8_t opcode,
			      const struct record_image *image, uint64_t time)
{
	struct ptl_image_event data = image->data;
	struct ptl_event event = {0};
	int status;

	data.process_id = process->pid;
	model->storage.size = 0;
	status = ptl_image_encode(&data, opcode, &model->storage, &event);
	return status < 0 ? status : emit_model_event(model, process, RECORD_MEMORY, &event, process->first_tid, time);
}
