/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Takes PT, truth and messages out of the threads' slots, and completes the streams of dead
 * threads.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/error.h"
#include "common/vector.h"
#include "record/capture/machine.h"
#include "record/qemu/source.h"

#define PSB_SIZE 16u

/* ---- damage ---------------------------------------------------------------------------------- */

static int lose_thread(struct record_qemu *qemu, struct record_qemu_slot *state, const char *cause)
{
	const struct ptl_loss loss = {
		.kind = PTL_LOSS_THREAD,
		.stream = state->stream,
		.pid = state->pid,
		.tid = state->tid,
		.count = 1,
		.first_time = state->time,
		.cause = cause,
	};

	if (state->damaged)
		return 0;
	state->damaged = true;
	qemu->threads_damaged++;
	return record_capture_loss(qemu->capture, &loss);
}

/* What the recorder alone advances must be as it left it, and no ring holds more than its size. */
static bool is_sound(const struct record_qemu *qemu, const struct record_qemu_slot *state, const struct qemu_slot *slot)
{
	const uint64_t tail = __atomic_load_n(&slot->pt_tail, __ATOMIC_RELAXED);
	const uint64_t head = __atomic_load_n(&slot->pt_head, __ATOMIC_RELAXED);

	return tail == state->taken && head >= tail && head - tail <= qemu->channel.config.pt_ring_size + QEMU_PT_SLACK;
}

/* ---- PT -------------------------------------------------------------------------------------- */

/* Puts those PSBs into the index whose bytes are there. */
static int index_psbs(struct record_qemu *qemu, struct record_qemu_slot *state)
{
	int status = 0;

	while (status == 0 && state->psb_count) {
		const struct record_qemu_psb *psb = &state->psbs[state->psb_first];

		if (psb->position + PSB_SIZE > state->taken)
			break;
		status = record_capture_psb(qemu->capture, state->stream, psb->position, psb->time);
		state->psb_first = (state->psb_first + 1) % RECORD_QEMU_PSBS;
		state->psb_count--;
	}
	return status;
}

/*
 * The time as of the bytes in the ring, whose head was read before: the encoder keeps that of its
 * last packet. A writer to the channel cannot make it a time that has not come.
 */
static void advance_time(const struct record_qemu *qemu, struct record_qemu_slot *state, const struct qemu_slot *slot)
{
	uint64_t time = __atomic_load_n(&slot->time, __ATOMIC_RELAXED);

	if (qemu->channel.config.clock != PTL_CLOCK_VIRTUAL && time > record_now())
		return;
	if (time > state->time)
		state->time = time;
}

/* Where a thread's packets go, by its state. */
typedef int (*packet_sink)(struct record_qemu *qemu, const struct record_qemu_slot *state, const uint8_t *bytes,
			   size_t size);

static int to_thread(struct record_qemu *qemu, const struct record_qemu_slot *state, const uint8_t *bytes, size_t size)
{
	return record_capture_pt(qemu->capture, state->stream, bytes, size, state->time);
}

/* One piece of the ring, up to its end or to the position `limit`; *size is 0 where there is none. */
static int drain_piece(struct record_qemu *qemu, struct record_qemu_slot *state, struct qemu_slot *slot, uint64_t limit,
		       packet_sink sink, size_t *size)
{
	const uint8_t *bytes;
	int status;

	*size = 0;
	if (!is_sound(qemu, state, slot))
		return lose_thread(qemu, state, "the program overwrote the memory it shares with the recorder");
	*size = qemu_channel_read_pt(&qemu->channel, slot, &bytes);
	if (*size > limit - state->taken)
		*size = (size_t)(limit - state->taken);
	if (!*size)
		return 0;
	advance_time(qemu, state, slot);
	status = sink(qemu, state, bytes, *size);
	state->taken += *size;
	qemu_channel_consume_pt(&qemu->channel, slot, *size);
	return status;
}

static int drain_thread(struct record_qemu *qemu, struct record_qemu_slot *state, struct qemu_slot *slot, bool *work)
{
	size_t size = 1;
	int status = 0;

	/* Two pieces at most: up to the ring's end, and from its start. */
	for (int piece = 0; status == 0 && size && piece < 2; piece++) {
		status = drain_piece(qemu, state, slot, UINT64_MAX, to_thread, &size);
		*work |= size != 0;
	}
	return status == 0 ? index_psbs(qemu, state) : status;
}

/* ---- turns on virtual CPUs ---------------------------------------------------------------------- */

static uint64_t last_mark(const struct record_qemu_slot *state)
{
	return state->mark_count ? state->marks[state->mark_count - 1].position : state->taken;
}

static int add_mark(struct record_qemu_slot *state, const struct record_qemu_mark *mark)
{
	/* What a thread sends can be anything. */
	if (mark->position < last_mark(state))
		return 0;
	if (COMMON_VECTOR_RESERVE(state->marks, state->mark_capacity, state->mark_count + 1, "turns"))
		return PTL_NO_MEMORY;
	state->marks[state->mark_count++] = *mark;
	return 0;
}

int record_qemu_note_psb(struct record_qemu_slot *state, const struct qemu_message *message)
{
	/* It is there when its last byte is. */
	return add_mark(state, &(struct record_qemu_mark){
				       .position = message->pt_offset + PSB_SIZE,
				       .time = message->time,
				       .is_psb = true,
			       });
}

int record_qemu_note_turn(struct record_qemu *qemu, struct record_qemu_slot *state,
			  const struct qemu_message_cpu *message)
{
	struct record_qemu_mark mark = {.position = message->header.pt_offset, .time = message->header.time};
	int status = 0;

	if (!qemu->channel.config.cpu_count || mark.position < last_mark(state))
		return 0;
	if (message->begins)
		status = record_qemu_turn_begin(&qemu->cpus, message, &mark.turn);
	if (status < 0 || (message->begins && !mark.turn))
		return status;
	return add_mark(state, &mark);
}

static int index_turn(struct record_qemu *qemu, struct record_qemu_slot *state, const struct record_qemu_mark *mark)
{
	const uint64_t position = mark->position - PSB_SIZE;

	/* Of a thread that was killed, packets may be missing. */
	if (!state->turn || position < state->turn_start || mark->position > state->taken)
		return 0;
	return record_qemu_turn_psb(&qemu->cpus, state->turn, position - state->turn_start, mark->time);
}

static int end_turn(struct record_qemu *qemu, struct record_qemu_slot *state, uint64_t time)
{
	struct record_qemu_turn *turn = state->turn;

	state->turn = NULL;
	return turn ? record_qemu_turn_end(&qemu->cpus, turn, time) : 0;
}

/* What begins and ends before this position. */
static int pass_marks(struct record_qemu *qemu, struct record_qemu_slot *state, uint64_t position)
{
	size_t passed = 0;
	int status = 0;

	while (status == 0 && passed < state->mark_count && state->marks[passed].position <= position) {
		const struct record_qemu_mark *mark = &state->marks[passed++];

		if (mark->is_psb) {
			status = index_turn(qemu, state, mark);
			continue;
		}
		status = end_turn(qemu, state, mark->time);
		state->turn = mark->turn;
		state->turn_start = mark->position;
	}
	state->mark_count -= passed;
	if (passed)
		memmove(state->marks, state->marks + passed, state->mark_count * sizeof(*state->marks));
	return status;
}

static int to_cpu(struct record_qemu *qemu, const struct record_qemu_slot *state, const uint8_t *bytes, size_t size)
{
	return record_qemu_turn_bytes(&qemu->cpus, state->turn, bytes, size, state->time);
}

/* Up to `limit`, whose turns have been reported; the packets of each go to its CPU. */
static int drain_turns(struct record_qemu *qemu, struct record_qemu_slot *state, struct qemu_slot *slot, uint64_t limit,
		       bool *work)
{
	int status = pass_marks(qemu, state, state->taken);
	size_t size = 1;

	while (status == 0 && size && state->taken < limit) {
		const uint64_t end = state->mark_count && state->marks[0].position < limit ? state->marks[0].position
											   : limit;

		if (!state->turn)
			return lose_thread(qemu, state, "packets of no CPU");
		status = drain_piece(qemu, state, slot, end, to_cpu, &size);
		*work |= size != 0;
		if (status == 0)
			status = pass_marks(qemu, state, state->taken);
	}
	return status;
}

/* The thread is gone, and with it its turn. */
static int leave_cpus(struct record_qemu *qemu, struct record_qemu_slot *state, uint32_t index)
{
	/* Behind its last packet. */
	const uint64_t end = state->time + 1;
	int status = pass_marks(qemu, state, UINT64_MAX);

	if (status == 0)
		status = end_turn(qemu, state, end);
	for (uint32_t i = 0; status == 0 && i < QEMU_CPUS_MAX; i++) {
		const uint64_t turn = qemu_channel_free_cpu(&qemu->channel, index, i, end + 1);

		status = turn ? record_qemu_turn_skip(&qemu->cpus, i, turn) : 0;
	}
	free(state->marks);
	return status;
}

/* ---- truth ----------------------------------------------------------------------------------- */

int record_qemu_drain_truth(struct record_qemu *qemu, struct record_qemu_slot *state, struct qemu_slot *slot,
			    bool *work)
{
	const uint32_t *words;
	int status = 0;

	for (int piece = 0; status == 0 && qemu->capture->truth && state->truth_stream && piece < 2; piece++) {
		const size_t count = qemu_channel_read_truth(&qemu->channel, slot, &words);

		if (!count)
			break;
		*work = true;
		status = record_capture_truth_words(qemu->capture, state->truth_stream, words, count);
		qemu_channel_consume_truth(&qemu->channel, slot, count);
	}
	return status;
}

/* ---- slots ----------------------------------------------------------------------------------- */

static int begin_slot(struct record_qemu *qemu, struct record_qemu_slot *state, const struct qemu_slot *slot)
{
	struct record_qemu_process *process;
	int status;

	*state = (struct record_qemu_slot){
		.live = true,
		.process = slot->process,
		.pid = slot->pid,
		.tid = slot->tid,
		.time = __atomic_load_n(&slot->time, __ATOMIC_RELAXED),
	};
	process = record_qemu_process(qemu, state->process, state->pid);
	if (!process)
		return common_fail_memory("process", sizeof(*process));
	process->slots++;
	state->stream = PTL_NO_ID;
	if (!qemu->channel.config.cpu_count)
		status = record_capture_thread(qemu->capture, state->pid, state->tid, &state->stream);
	else
		status = 0;
	/*
	 * The child of a fork has its parent's definitions, and makes its own from its first
	 * message on.
	 */
	if (status == 0 && process->definitions)
		status = record_capture_truth_thread(qemu->capture, process->definitions, state->pid, state->tid,
						     &state->truth_stream);
	return status;
}

static int end_slot(struct record_qemu *qemu, uint32_t index)
{
	struct record_qemu_slot *state = &qemu->slots[index];
	struct record_qemu_process *process = record_qemu_find(qemu, state->process);
	const uint64_t offset = qemu_channel_slot_offset(&qemu->channel.config, index);
	const uint64_t rings = qemu_channel_slot_size(&qemu->channel.config) - QEMU_SLOT_STATE_SIZE;

	const int status = qemu->channel.config.cpu_count ? leave_cpus(qemu, state, index)
							  : record_capture_end_stream(qemu->capture, state->stream);

	if (process && process->slots)
		process->slots--;
	*state = (struct record_qemu_slot){0};
	/*
	 * Its pages go back to the system, or a crowd of threads would leave the arena full for
	 * ever.
	 */
	(void)madvise(qemu->channel.base + offset + QEMU_SLOT_STATE_SIZE, rings, MADV_REMOVE);
	qemu_channel_free_slot(&qemu->channel, qemu_channel_slot(&qemu->channel, index));
	return status;
}

static bool is_used(uint32_t slot_status)
{
	return slot_status == QEMU_SLOT_LIVE || slot_status == QEMU_SLOT_ENDED;
}

/* Messages come first: a PSB is announced before its bytes are there. */
static int take_all(struct record_qemu *qemu, struct record_qemu_slot *state, struct qemu_slot *slot, bool *work)
{
	/* The turns of all packets before this position are among the messages. */
	const uint64_t head = __atomic_load_n(&slot->pt_head, __ATOMIC_ACQUIRE);
	int status = record_qemu_messages(qemu, state, slot, work);

	if (status == 0 && !state->damaged && !qemu->channel.config.cpu_count)
		status = drain_thread(qemu, state, slot, work);
	else if (status == 0 && !state->damaged && !qemu_channel_has_messages(slot))
		status = drain_turns(qemu, state, slot, head, work);
	if (status == 0 && !state->damaged)
		status = record_qemu_drain_truth(qemu, state, slot, work);
	return status;
}

int record_qemu_drain_slot(struct record_qemu *qemu, uint32_t index, bool *work)
{
	struct record_qemu_slot *state = &qemu->slots[index];
	struct qemu_slot *slot = qemu_channel_slot(&qemu->channel, index);
	const uint32_t slot_status = __atomic_load_n(&slot->status, __ATOMIC_ACQUIRE);
	int status = 0;

	if (!state->live && !is_used(slot_status))
		return 0;
	if (!state->live)
		status = begin_slot(qemu, state, slot);
	if (status == 0 && !state->damaged)
		status = take_all(qemu, state, slot, work);
	if (status < 0 || slot_status != QEMU_SLOT_ENDED)
		return status;
	/*
	 * It had ended before it was drained: nothing more comes, but a ring may have been drained
	 * in part only.
	 */
	if (state->damaged || !qemu_channel_pending(&qemu->channel, slot))
		return end_slot(qemu, index);
	return 0;
}

/* Drains until nothing is left; a slot that goes on giving is one that somebody writes to. */
static int drain_fully(struct record_qemu *qemu, struct record_qemu_slot *state, struct qemu_slot *slot)
{
	const uint64_t rounds = qemu->channel.config.message_ring_size / sizeof(struct qemu_message);
	bool work = true;
	int status = 0;

	for (uint64_t i = 0; status == 0 && work && !state->damaged && i < rounds; i++) {
		work = false;
		status = take_all(qemu, state, slot, &work);
	}
	return status;
}

int record_qemu_finish_slot(struct record_qemu *qemu, uint32_t index)
{
	struct record_qemu_slot *state = &qemu->slots[index];
	struct qemu_slot *slot = qemu_channel_slot(&qemu->channel, index);
	int status = drain_fully(qemu, state, slot);

	if (status == 0 && !state->damaged && __atomic_load_n(&slot->status, __ATOMIC_ACQUIRE) == QEMU_SLOT_LIVE) {
		if (qemu_channel_finish(&qemu->channel, slot) < 0)
			status = lose_thread(qemu, state, "the thread's last packets could not be completed");
		else
			status = drain_fully(qemu, state, slot);
	}
	if (status < 0)
		(void)end_slot(qemu, index);
	else
		status = end_slot(qemu, index);
	return status;
}

int record_qemu_finish_process(struct record_qemu *qemu, uint32_t process, const struct record_qemu_slot *survivor)
{
	const uint32_t high = qemu_channel_slot_high(&qemu->channel);
	int status = 0;

	for (uint32_t i = 0; status == 0 && i < high; i++) {
		struct record_qemu_slot *state = &qemu->slots[i];
		struct qemu_slot *slot = qemu_channel_slot(&qemu->channel, i);
		const uint32_t now = __atomic_load_n(&slot->status, __ATOMIC_ACQUIRE);

		/* A thread that has not been seen yet is of this process all the same. */
		if (!state->live && is_used(now) && slot->process == process)
			status = begin_slot(qemu, state, slot);
		if (status == 0 && state->live && state->process == process && state != survivor)
			status = record_qemu_finish_slot(qemu, i);
	}
	return status;
}

/* What all threads have reported so far, in the order in which they reported it. */
static int hear_all(struct record_qemu *qemu, uint32_t high, bool *work)
{
	int status = 0;

	for (uint32_t i = 0; status == 0 && i < high; i++) {
		struct record_qemu_slot *state = &qemu->slots[i];
		struct qemu_slot *slot = qemu_channel_slot(&qemu->channel, i);

		if (!state->live) {
			if (!is_used(__atomic_load_n(&slot->status, __ATOMIC_ACQUIRE)))
				continue;
			status = begin_slot(qemu, state, slot);
		}
		if (status == 0 && !state->damaged)
			status = record_qemu_messages(qemu, state, slot, work);
	}
	return status < 0 ? status : record_qemu_order_deliver(&qemu->order, record_now(), false);
}

/* A file of a series begins each stream with a PSB. Who has just looked what is due looks at this the next time. */
static void ask_for_psbs(struct record_qemu *qemu, uint32_t high)
{
	__atomic_store_n(&qemu->channel.header->psb_request, qemu->capture->rotations, __ATOMIC_RELAXED);
	for (uint32_t i = 0; qemu->capture->waiting && i < high; i++)
		if (qemu->slots[i].live)
			__atomic_store_n(&qemu_channel_slot(&qemu->channel, i)->pt_limit, 0, __ATOMIC_RELAXED);
}

/*
 * Processes and their code go into the trace before the PT that they explain: whenever the recorder
 * is killed, the file has no PT of a process that it does not know.
 */
int record_qemu_drain(struct record_qemu *qemu, bool *work)
{
	const uint32_t high = qemu_channel_slot_high(&qemu->channel);
	int status = hear_all(qemu, high, work);

	if (qemu->capture->rotations)
		ask_for_psbs(qemu, high);
	for (uint32_t i = 0; status == 0 && i < high; i++)
		status = record_qemu_drain_slot(qemu, i, work);
	return status;
}

bool record_qemu_has_live_slots(const struct record_qemu *qemu)
{
	const uint32_t high = qemu_channel_slot_high(&qemu->channel);

	for (uint32_t i = 0; i < high; i++) {
		const struct qemu_slot *slot = qemu_channel_slot(&qemu->channel, i);

		if (__atomic_load_n(&slot->status, __ATOMIC_ACQUIRE) == QEMU_SLOT_LIVE)
			return true;
	}
	return false;
}
