/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes turns of threads into the streams of their CPUs in order, with context switches between turns. */
#include "record/channel/cpus.h"

#include <stdlib.h>
#include <string.h>

#include "common/bytes.h"
#include "common/error.h"
#include "common/hash_map.h"
#include "common/vector.h"
#include "record/capture/machine.h"

/* Maximum distance of a thread's turn from the current turn of the CPU. */
#define TURNS_MAX 65536u
/* Maximum bytes of packets that wait for a missing turn. Beyond, the turn is given up. */
#define WAITING_MAX ((uint64_t)64 << 20)

struct psb {
	uint64_t position; /* within the turn */
	uint64_t time;
};

struct record_channel_turn {
	uint32_t cpu;
	uint32_t pid, tid;
	uint64_t number;
	uint64_t begin, end;
	bool complete;
	struct ptl_bytes bytes; /* packets that wait for earlier turns */
	uint64_t time;          /* time of the last packets in `bytes` */
	struct psb *psbs;
	size_t psb_count, psb_capacity;
};

struct record_channel_cpu {
	uint32_t number;
	uint32_t stream, events;
	uint64_t written;             /* bytes written to the stream */
	uint64_t base;                /* value of `written` at the beginning of the current turn */
	uint64_t next;                /* number of the current turn */
	uint64_t time;                /* time of the last context switch */
	bool running;                 /* the context switch to the current turn is written */
	struct common_hash_map turns; /* struct record_channel_turn * by number, from `next` on */
};

/* ---- turns ----------------------------------------------------------------------------------- */

static void free_turn(struct record_channel_cpus *cpus, struct record_channel_turn *turn)
{
	cpus->waiting -= turn->bytes.size;
	common_bytes_free(&turn->bytes);
	free(turn->psbs);
	free(turn);
}

void record_channel_cpus_free(struct record_channel_cpus *cpus)
{
	for (uint32_t i = 0; i < CHANNEL_CPUS_MAX; i++) {
		uint64_t number, value;
		size_t at = 0;

		while (cpus->list[i] && common_hash_map_next(&cpus->list[i]->turns, &at, &number, &value))
			free_turn(cpus, (struct record_channel_turn *)(uintptr_t)value);
		if (cpus->list[i])
			common_hash_map_free(&cpus->list[i]->turns);
		free(cpus->list[i]);
		cpus->list[i] = NULL;
	}
}

static int open_cpu(struct record_channel_cpus *cpus, uint32_t number, struct record_channel_cpu **result)
{
	const struct ptl_stream made = {.kind = PTL_KIND_PT, .cpu = number, .pid = PTL_NO_ID, .tid = PTL_NO_ID};
	struct record_channel_cpu *cpu = calloc(1, sizeof(*cpu));
	int status;

	if (!cpu)
		return common_fail_memory("a CPU", sizeof(*cpu));
	cpus->list[number] = *result = cpu;
	cpu->number = number;
	cpu->next = 1;
	status = record_capture_stream(cpus->capture, &made, &cpu->stream);
	return status < 0 ? status : record_capture_event_stream(cpus->capture, &cpu->events);
}

static struct record_channel_turn *find_turn(const struct record_channel_cpu *cpu, uint64_t number)
{
	const uint64_t *found = common_hash_map_get(&cpu->turns, number);

	return found ? (struct record_channel_turn *)(uintptr_t)*found : NULL;
}

static int add_turn(struct record_channel_cpus *cpus, uint32_t number, uint64_t turn_number,
		    struct record_channel_turn **result)
{
	struct record_channel_cpu *cpu;
	struct record_channel_turn *turn;
	int status = 0;

	*result = NULL;
	if (number >= CHANNEL_CPUS_MAX)
		return 0;
	cpu = cpus->list[number];
	if (!cpu)
		status = open_cpu(cpus, number, &cpu);
	if (status < 0 || turn_number < cpu->next || turn_number - cpu->next > TURNS_MAX || find_turn(cpu, turn_number))
		return status;
	turn = calloc(1, sizeof(*turn));
	if (!turn)
		return common_fail_memory("a turn", sizeof(*turn));
	turn->cpu = number;
	turn->number = turn_number;
	status = common_hash_map_put(&cpu->turns, turn_number, (uint64_t)(uintptr_t)turn);
	if (status < 0)
		free(turn);
	else
		*result = turn;
	return status;
}

/* ---- writing --------------------------------------------------------------------------------- */

static int write_switch(struct record_channel_cpus *cpus, struct record_channel_cpu *cpu,
			const struct record_channel_turn *turn, bool begins)
{
	const struct ptl_switch_event data = {.new_thread = begins ? turn->tid : 0,
					      .old_thread = begins ? 0 : turn->tid};
	struct ptl_bytes storage = {0};
	struct ptl_event event = {0};
	int status;

	/* A turn without any report has no thread. */
	if (!turn->tid)
		return 0;
	status = ptl_switch_encode(&data, &storage, &event);

	event.time = begins ? turn->begin : turn->end;
	if (event.time < cpu->time)
		event.time = cpu->time;
	cpu->time = event.time;
	event.cpu = cpu->number;
	event.pid = turn->pid;
	event.tid = turn->tid;
	if (status == 0)
		status = record_capture_switch(cpus->capture, cpu->events, cpu->stream, &event);
	common_bytes_free(&storage);
	return status;
}

static int write_psb(struct record_channel_cpus *cpus, struct record_channel_cpu *cpu, const struct psb *psb)
{
	return record_capture_psb(cpus->capture, cpu->stream, cpu->base + psb->position, psb->time);
}

/* Writes the waiting packets of the current turn. */
static int write_waiting(struct record_channel_cpus *cpus, struct record_channel_cpu *cpu,
			 struct record_channel_turn *turn)
{
	int status = 0;

	if (!cpu->running) {
		cpu->running = true;
		cpu->base = cpu->written;
		status = write_switch(cpus, cpu, turn, true);
	}
	if (status == 0 && turn->bytes.size)
		status = record_capture_pt(cpus->capture, cpu->stream, turn->bytes.data, turn->bytes.size, turn->time);
	cpu->written += turn->bytes.size;
	cpus->waiting -= turn->bytes.size;
	common_bytes_free(&turn->bytes);
	for (size_t i = 0; status == 0 && i < turn->psb_count; i++)
		status = write_psb(cpus, cpu, &turn->psbs[i]);
	turn->psb_count = 0;
	return status;
}

/* Writes the turns that are next in order. */
static int write_next_turns(struct record_channel_cpus *cpus, struct record_channel_cpu *cpu)
{
	struct record_channel_turn *turn;
	int status = 0;

	while (status == 0 && (turn = find_turn(cpu, cpu->next))) {
		status = write_waiting(cpus, cpu, turn);
		if (!turn->complete)
			return status;
		if (status == 0)
			status = write_switch(cpus, cpu, turn, false);
		common_hash_map_remove(&cpu->turns, cpu->next++);
		cpu->running = false;
		free_turn(cpus, turn);
	}
	return status;
}

/* Gives up missing turns before the first known turn. */
static int give_up(struct record_channel_cpus *cpus, struct record_channel_cpu *cpu)
{
	const struct ptl_loss loss = {
		.kind = PTL_LOSS_BYTES,
		.stream = cpu->stream,
		.pid = PTL_NO_ID,
		.tid = PTL_NO_ID,
		.count = 1,
		.first_time = cpu->time,
		.cause = "a program overwrote the memory it shares with the recorder: a turn on a virtual CPU is "
			 "missing",
	};
	uint64_t number, value, first = UINT64_MAX;
	size_t at = 0;
	int status;

	while (common_hash_map_next(&cpu->turns, &at, &number, &value))
		first = number < first ? number : first;
	if (first == UINT64_MAX || first == cpu->next)
		return 0;
	cpu->next = first;
	status = record_capture_loss(cpus->capture, &loss);
	return status < 0 ? status : write_next_turns(cpus, cpu);
}

/* ---- reports of turns ------------------------------------------------------------------------ */

int record_channel_turn_begin(struct record_channel_cpus *cpus, const struct channel_message_cpu *message,
			      struct record_channel_turn **turn)
{
	int status = add_turn(cpus, message->cpu, message->turn, turn);

	if (status < 0 || !*turn)
		return status;
	(*turn)->pid = message->header.pid;
	(*turn)->tid = message->header.tid;
	(*turn)->begin = message->header.time;
	return 0;
}

int record_channel_turn_bytes(struct record_channel_cpus *cpus, struct record_channel_turn *turn, const void *data,
			      size_t size, uint64_t time)
{
	int status;

	common_write_bytes(&turn->bytes, data, size);
	if (turn->bytes.failed)
		return common_fail_memory("packets", size);
	cpus->waiting += size;
	turn->time = time;
	status = write_next_turns(cpus, cpus->list[turn->cpu]);
	for (uint32_t i = 0; status == 0 && cpus->waiting > WAITING_MAX && i < CHANNEL_CPUS_MAX; i++)
		status = cpus->list[i] ? give_up(cpus, cpus->list[i]) : 0;
	return status;
}

int record_channel_turn_psb(struct record_channel_cpus *cpus, struct record_channel_turn *turn, uint64_t position,
			    uint64_t time)
{
	if (COMMON_VECTOR_RESERVE(turn->psbs, turn->psb_capacity, turn->psb_count + 1, "PSBs"))
		return PTL_NO_MEMORY;
	turn->psbs[turn->psb_count++] = (struct psb){position, time};
	return write_next_turns(cpus, cpus->list[turn->cpu]);
}

int record_channel_turn_end(struct record_channel_cpus *cpus, struct record_channel_turn *turn, uint64_t time)
{
	turn->complete = true;
	turn->end = time;
	return write_next_turns(cpus, cpus->list[turn->cpu]);
}

int record_channel_turn_skip(struct record_channel_cpus *cpus, uint32_t cpu, uint64_t number)
{
	struct record_channel_turn *turn;
	int status = add_turn(cpus, cpu, number, &turn);

	if (status < 0 || !turn)
		return status;
	return record_channel_turn_end(cpus, turn, 0);
}

int record_channel_cpus_finish(struct record_channel_cpus *cpus)
{
	int status = 0;

	for (uint32_t i = 0; status == 0 && i < CHANNEL_CPUS_MAX; i++) {
		struct record_channel_cpu *cpu = cpus->list[i];

		while (status == 0 && cpu && cpu->turns.used) {
			struct record_channel_turn *turn = find_turn(cpu, cpu->next);

			if (!turn)
				status = give_up(cpus, cpu);
			else if (!turn->complete)
				status = record_channel_turn_end(cpus, turn, turn->time);
			else
				status = write_next_turns(cpus, cpu);
		}
	}
	return status;
}
