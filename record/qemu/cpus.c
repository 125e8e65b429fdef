/* SPDX-License-Identifier: BSD-2-Clause */
/* Puts turns of threads into the streams of their CPUs, in order, with the context switches between them. */
#include "record/qemu/cpus.h"

#include <stdlib.h>
#include <string.h>

#include "common/bytes.h"
#include "common/error.h"
#include "common/hash_map.h"
#include "common/vector.h"
#include "record/capture/machine.h"

/* A thread on a CPU cannot be further ahead than this. */
#define TURNS_MAX 65536u
/* Packets that wait for a turn that does not come: the turn is given up then. */
#define WAITING_MAX ((uint64_t)64 << 20)

struct psb {
	uint64_t position; /* in the turn */
	uint64_t time;
};

struct record_qemu_turn {
	uint32_t cpu;
	uint32_t pid, tid;
	uint64_t number;
	uint64_t begin, end;
	bool complete;
	struct ptl_bytes bytes; /* that wait for the turns before */
	uint64_t time;          /* of the last of them */
	struct psb *psbs;
	size_t psb_count, psb_capacity;
};

struct record_qemu_cpu {
	uint32_t number;
	uint32_t stream, events;
	uint64_t written;             /* bytes of the stream */
	uint64_t base;                /* where the turn that is being written began */
	uint64_t next;                /* turn */
	uint64_t time;                /* of its last switch */
	bool running;                 /* the next turn's thread has been reported */
	struct common_hash_map turns; /* number: struct record_qemu_turn *, from next on */
};

/* ---- turns ----------------------------------------------------------------------------------- */

static void free_turn(struct record_qemu_cpus *cpus, struct record_qemu_turn *turn)
{
	cpus->waiting -= turn->bytes.size;
	common_bytes_free(&turn->bytes);
	free(turn->psbs);
	free(turn);
}

void record_qemu_cpus_free(struct record_qemu_cpus *cpus)
{
	for (uint32_t i = 0; i < QEMU_CPUS_MAX; i++) {
		uint64_t number, value;
		size_t at = 0;

		while (cpus->list[i] && common_hash_map_next(&cpus->list[i]->turns, &at, &number, &value))
			free_turn(cpus, (struct record_qemu_turn *)(uintptr_t)value);
		if (cpus->list[i])
			common_hash_map_free(&cpus->list[i]->turns);
		free(cpus->list[i]);
		cpus->list[i] = NULL;
	}
}

static int open_cpu(struct record_qemu_cpus *cpus, uint32_t number, struct record_qemu_cpu **result)
{
	const struct ptl_stream made = {.kind = PTL_KIND_PT, .cpu = number, .pid = PTL_NO_ID, .tid = PTL_NO_ID};
	struct record_qemu_cpu *cpu = calloc(1, sizeof(*cpu));
	int status;

	if (!cpu)
		return common_fail_memory("a CPU", sizeof(*cpu));
	cpus->list[number] = *result = cpu;
	cpu->number = number;
	cpu->next = 1;
	status = record_capture_stream(cpus->capture, &made, &cpu->stream);
	return status < 0 ? status : record_capture_event_stream(cpus->capture, &cpu->events);
}

static struct record_qemu_turn *find(const struct record_qemu_cpu *cpu, uint64_t number)
{
	const uint64_t *found = common_hash_map_get(&cpu->turns, number);

	return found ? (struct record_qemu_turn *)(uintptr_t)*found : NULL;
}

static int add(struct record_qemu_cpus *cpus, uint32_t number, uint64_t turn_number, struct record_qemu_turn **result)
{
	struct record_qemu_cpu *cpu;
	struct record_qemu_turn *turn;
	int status = 0;

	*result = NULL;
	if (number >= QEMU_CPUS_MAX)
		return 0;
	cpu = cpus->list[number];
	if (!cpu)
		status = open_cpu(cpus, number, &cpu);
	if (status < 0 || turn_number < cpu->next || turn_number - cpu->next > TURNS_MAX || find(cpu, turn_number))
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

static int write_switch(struct record_qemu_cpus *cpus, struct record_qemu_cpu *cpu, const struct record_qemu_turn *turn,
			bool begins)
{
	const struct ptl_switch_event data = {.new_thread = begins ? turn->tid : 0,
					      .old_thread = begins ? 0 : turn->tid};
	struct ptl_bytes storage = {0};
	struct ptl_event event = {0};
	int status;

	/* A turn of which nothing was heard. */
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

static int write_psb(struct record_qemu_cpus *cpus, struct record_qemu_cpu *cpu, const struct psb *psb)
{
	return record_capture_psb(cpus->capture, cpu->stream, cpu->base + psb->position, psb->time);
}

/* What has come of the turn while it waited. */
static int write_waiting(struct record_qemu_cpus *cpus, struct record_qemu_cpu *cpu, struct record_qemu_turn *turn)
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

/* Writes what has its turn. */
static int advance(struct record_qemu_cpus *cpus, struct record_qemu_cpu *cpu)
{
	struct record_qemu_turn *turn;
	int status = 0;

	while (status == 0 && (turn = find(cpu, cpu->next))) {
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

/* The turns before the first that is there will not come. */
static int give_up(struct record_qemu_cpus *cpus, struct record_qemu_cpu *cpu)
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
	return status < 0 ? status : advance(cpus, cpu);
}

/* ---- what is heard of turns ------------------------------------------------------------------ */

int record_qemu_turn_begin(struct record_qemu_cpus *cpus, const struct qemu_message_cpu *message,
			   struct record_qemu_turn **turn)
{
	int status = add(cpus, message->cpu, message->turn, turn);

	if (status < 0 || !*turn)
		return status;
	(*turn)->pid = message->header.pid;
	(*turn)->tid = message->header.tid;
	(*turn)->begin = message->header.time;
	return 0;
}

int record_qemu_turn_bytes(struct record_qemu_cpus *cpus, struct record_qemu_turn *turn, const void *data, size_t size,
			   uint64_t time)
{
	int status;

	common_write_bytes(&turn->bytes, data, size);
	if (turn->bytes.failed)
		return common_fail_memory("packets", size);
	cpus->waiting += size;
	turn->time = time;
	status = advance(cpus, cpus->list[turn->cpu]);
	for (uint32_t i = 0; status == 0 && cpus->waiting > WAITING_MAX && i < QEMU_CPUS_MAX; i++)
		status = cpus->list[i] ? give_up(cpus, cpus->list[i]) : 0;
	return status;
}

int record_qemu_turn_psb(struct record_qemu_cpus *cpus, struct record_qemu_turn *turn, uint64_t position, uint64_t time)
{
	if (COMMON_VECTOR_RESERVE(turn->psbs, turn->psb_capacity, turn->psb_count + 1, "PSBs"))
		return PTL_NO_MEMORY;
	turn->psbs[turn->psb_count++] = (struct psb){position, time};
	return advance(cpus, cpus->list[turn->cpu]);
}

int record_qemu_turn_end(struct record_qemu_cpus *cpus, struct record_qemu_turn *turn, uint64_t time)
{
	turn->complete = true;
	turn->end = time;
	return advance(cpus, cpus->list[turn->cpu]);
}

int record_qemu_turn_skip(struct record_qemu_cpus *cpus, uint32_t cpu, uint64_t number)
{
	struct record_qemu_turn *turn;
	int status = add(cpus, cpu, number, &turn);

	if (status < 0 || !turn)
		return status;
	return record_qemu_turn_end(cpus, turn, 0);
}

int record_qemu_cpus_finish(struct record_qemu_cpus *cpus)
{
	int status = 0;

	for (uint32_t i = 0; status == 0 && i < QEMU_CPUS_MAX; i++) {
		struct record_qemu_cpu *cpu = cpus->list[i];

		while (status == 0 && cpu && cpu->turns.used) {
			struct record_qemu_turn *turn = find(cpu, cpu->next);

			if (!turn)
				status = give_up(cpus, cpu);
			else if (!turn->complete)
				status = record_qemu_turn_end(cpus, turn, turn->time);
			else
				status = advance(cpus, cpu);
		}
	}
	return status;
}
