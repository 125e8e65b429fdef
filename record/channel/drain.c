/* SPDX-License-Identifier: BSD-2-Clause */
/* Drains PT and messages from the threads' slots, and completes the streams of dead threads. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/error.h"
#include "common/vector.h"
#include "record/capture/machine.h"
#include "record/channel/source.h"

#define PSB_SIZE 16u

/* ---- damage ---------------------------------------------------------------------------------- */

static int lose_thread(struct record_channel *channel, struct record_channel_slot *state, const char *cause)
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
	channel->threads_damaged++;
	return record_capture_loss(channel->capture, &loss);
}

/* Checks that the recorder's tail is unchanged, and that the ring holds no more than its size. */
static bool is_sound(const struct record_channel *channel, const struct record_channel_slot *state,
		     const struct channel_slot *slot)
{
	const uint64_t tail = __atomic_load_n(&slot->pt_tail, __ATOMIC_RELAXED);
	const uint64_t head = __atomic_load_n(&slot->pt_head, __ATOMIC_RELAXED);

	return tail == state->taken && head >= tail &&
	       head - tail <= channel->channel.config.pt_ring_size + CHANNEL_PT_SLACK;
}

/* ---- PT -------------------------------------------------------------------------------------- */

/* Adds PSBs whose bytes have arrived to the index. */
static int index_psbs(struct record_channel *channel, struct record_channel_slot *state)
{
	int status = 0;

	while (status == 0 && state->psb_count) {
		const struct record_channel_psb *psb = &state->psbs[state->psb_first];

		if (psb->position + PSB_SIZE > state->taken)
			break;
		status = record_capture_psb(channel->capture, state->stream, psb->position, psb->time);
		state->psb_first = (state->psb_first + 1) % RECORD_CHANNEL_PSBS;
		state->psb_count--;
	}
	return status;
}

/*
 * Updates the time of the thread. The encoder stores the time of its last packet, and the head was read before. Ignores
 * future times, which a faulty program may write.
 */
static void advance_time(const struct record_channel *channel, struct record_channel_slot *state,
			 const struct channel_slot *slot)
{
	uint64_t time = __atomic_load_n(&slot->time, __ATOMIC_RELAXED);

	if (channel->channel.config.clock != PTL_CLOCK_VIRTUAL && time > record_now())
		return;
	if (time > state->time)
		state->time = time;
}

/* Destination of a thread's packets. */
typedef int (*packet_sink)(struct record_channel *channel, const struct record_channel_slot *state,
			   const uint8_t *bytes, size_t size);

static int to_thread(struct record_channel *channel, const struct record_channel_slot *state, const uint8_t *bytes,
		     size_t size)
{
	return record_capture_pt(channel->capture, state->stream, bytes, size, state->time);
}

/* Drains one contiguous piece of the ring, up to position `limit` at most. *size: 0 if the ring is empty. */
static int drain_piece(struct record_channel *channel, struct record_channel_slot *state, struct channel_slot *slot,
		       uint64_t limit, packet_sink sink, size_t *size)
{
	const uint8_t *bytes;
	int status;

	*size = 0;
	if (!is_sound(channel, state, slot))
		return lose_thread(channel, state, "the program overwrote the memory it shares with the recorder");
	*size = channel_read_pt(&channel->channel, slot, &bytes);
	if (*size > limit - state->taken)
		*size = (size_t)(limit - state->taken);
	if (!*size)
		return 0;
	advance_time(channel, state, slot);
	status = sink(channel, state, bytes, *size);
	state->taken += *size;
	channel_consume_pt(&channel->channel, slot, *size);
	return status;
}

static int drain_thread(struct record_channel *channel, struct record_channel_slot *state, struct channel_slot *slot,
			bool *work)
{
	size_t size = 1;
	int status = 0;

	/* Two pieces at most: up to the ring's end, and from the ring's start. */
	for (int piece = 0; status == 0 && size && piece < 2; piece++) {
		status = drain_piece(channel, state, slot, UINT64_MAX, to_thread, &size);
		*work |= size != 0;
	}
	return status == 0 ? index_psbs(channel, state) : status;
}

/* ---- turns on virtual CPUs ---------------------------------------------------------------------- */

static uint64_t last_mark(const struct record_channel_slot *state)
{
	return state->mark_count ? state->marks[state->mark_count - 1].position : state->taken;
}

static int add_mark(struct record_channel_slot *state, const struct record_channel_mark *mark)
{
	/* Threads may send arbitrary positions. */
	if (mark->position < last_mark(state))
		return 0;
	if (COMMON_VECTOR_RESERVE(state->marks, state->mark_capacity, state->mark_count + 1, "turns"))
		return PTL_NO_MEMORY;
	state->marks[state->mark_count++] = *mark;
	return 0;
}

int record_channel_note_psb(struct record_channel_slot *state, const struct channel_message *message)
{
	/* The PSB is complete at the position of its last byte. */
	return add_mark(state, &(struct record_channel_mark){
				       .position = message->pt_offset + PSB_SIZE,
				       .time = message->time,
				       .is_psb = true,
			       });
}

int record_channel_note_turn(struct record_channel *channel, struct record_channel_slot *state,
			     const struct channel_message_cpu *message)
{
	struct record_channel_mark mark = {.position = message->header.pt_offset, .time = message->header.time};
	int status = 0;

	if (!channel->channel.config.cpu_count || mark.position < last_mark(state))
		return 0;
	if (message->begins)
		status = record_channel_turn_begin(&channel->cpus, message, &mark.turn);
	if (status < 0 || (message->begins && !mark.turn))
		return status;
	return add_mark(state, &mark);
}

static int index_turn(struct record_channel *channel, struct record_channel_slot *state,
		      const struct record_channel_mark *mark)
{
	const uint64_t position = mark->position - PSB_SIZE;

	/* Packets of a killed thread may be missing. */
	if (!state->turn || position < state->turn_start || mark->position > state->taken)
		return 0;
	return record_channel_turn_psb(&channel->cpus, state->turn, position - state->turn_start, mark->time);
}

static int end_turn(struct record_channel *channel, struct record_channel_slot *state, uint64_t time)
{
	struct record_channel_turn *turn = state->turn;

	state->turn = NULL;
	return turn ? record_channel_turn_end(&channel->cpus, turn, time) : 0;
}

/* Handles all marks up to this position: ends and begins turns, and indexes PSBs. */
static int pass_marks(struct record_channel *channel, struct record_channel_slot *state, uint64_t position)
{
	size_t passed = 0;
	int status = 0;

	while (status == 0 && passed < state->mark_count && state->marks[passed].position <= position) {
		const struct record_channel_mark *mark = &state->marks[passed++];

		if (mark->is_psb) {
			status = index_turn(channel, state, mark);
			continue;
		}
		status = end_turn(channel, state, mark->time);
		state->turn = mark->turn;
		state->turn_start = mark->position;
	}
	state->mark_count -= passed;
	if (passed)
		memmove(state->marks, state->marks + passed, state->mark_count * sizeof(*state->marks));
	return status;
}

static int to_cpu(struct record_channel *channel, const struct record_channel_slot *state, const uint8_t *bytes,
		  size_t size)
{
	return record_channel_turn_bytes(&channel->cpus, state->turn, bytes, size, state->time);
}

/* Drains packets up to `limit` to the CPUs of their turns. All turns before `limit` have been reported. */
static int drain_turns(struct record_channel *channel, struct record_channel_slot *state, struct channel_slot *slot,
		       uint64_t limit, bool *work)
{
	int status = pass_marks(channel, state, state->taken);
	size_t size = 1;

	while (status == 0 && size && state->taken < limit) {
		const uint64_t end = state->mark_count && state->marks[0].position < limit ? state->marks[0].position
											   : limit;

		if (!state->turn)
			return lose_thread(channel, state, "packets of no CPU");
		status = drain_piece(channel, state, slot, end, to_cpu, &size);
		*work |= size != 0;
		if (status == 0)
			status = pass_marks(channel, state, state->taken);
	}
	return status;
}

/* Ends the turn of a dead thread, and frees the thread's CPUs. */
static int leave_cpus(struct record_channel *channel, struct record_channel_slot *state, uint32_t index)
{
	/* after the last packet */
	const uint64_t end = state->time + 1;
	int status = pass_marks(channel, state, UINT64_MAX);

	if (status == 0)
		status = end_turn(channel, state, end);
	for (uint32_t i = 0; status == 0 && i < CHANNEL_CPUS_MAX; i++) {
		const uint64_t turn = channel_free_cpu(&channel->channel, index, i, end + 1);

		status = turn ? record_channel_turn_skip(&channel->cpus, i, turn) : 0;
	}
	free(state->marks);
	return status;
}

/* ---- slots ----------------------------------------------------------------------------------- */

static int begin_slot(struct record_channel *channel, struct record_channel_slot *state,
		      const struct channel_slot *slot)
{
	struct record_channel_process *process;

	*state = (struct record_channel_slot){
		.live = true,
		.process = slot->process,
		.pid = slot->pid,
		.tid = slot->tid,
		.time = __atomic_load_n(&slot->time, __ATOMIC_RELAXED),
	};
	process = record_channel_process(channel, state->process, state->pid);
	if (!process)
		return common_fail_memory("process", sizeof(*process));
	process->slots++;
	state->stream = PTL_NO_ID;
	return channel->channel.config.cpu_count
		       ? 0
		       : record_capture_thread(channel->capture, state->pid, state->tid, &state->stream);
}

static int end_slot(struct record_channel *channel, uint32_t index)
{
	struct record_channel_slot *state = &channel->slots[index];
	struct record_channel_process *process = record_channel_find(channel, state->process);
	const uint64_t offset = channel_slot_offset(&channel->channel.config, index);
	const uint64_t rest = channel_slot_size(&channel->channel.config) - CHANNEL_SLOT_STATE_SIZE;
	uint8_t *targets = channel->channel.base + offset + CHANNEL_SLOT_STATE_SIZE;

	const int status = channel->channel.config.cpu_count
				   ? leave_cpus(channel, state, index)
				   : record_capture_end_stream(channel->capture, state->stream);

	if (process && process->slots)
		process->slots--;
	*state = (struct record_channel_slot){0};
	/*
	 * Returns the pages to the system. Otherwise the slots of many threads would fill the arena for ever. The next
	 * thread of the slot requires zeros in the table of targets.
	 */
	if (madvise(targets, rest, MADV_REMOVE) < 0)
		memset(targets, 0, CHANNEL_TARGETS_SIZE);
	channel_free_slot(&channel->channel, channel_slot(&channel->channel, index));
	return status;
}

static bool is_used(uint32_t slot_status)
{
	return slot_status == CHANNEL_SLOT_LIVE || slot_status == CHANNEL_SLOT_ENDED;
}

/* Drains messages before packets: a message announces a PSB before the PSB's bytes arrive. */
static int take_all(struct record_channel *channel, struct record_channel_slot *state, struct channel_slot *slot,
		    bool *work)
{
	/* The messages report the turns of all packets before this position. */
	const uint64_t head = __atomic_load_n(&slot->pt_head, __ATOMIC_ACQUIRE);
	int status = record_channel_messages(channel, state, slot, work);

	if (status == 0 && !state->damaged && !channel->channel.config.cpu_count)
		status = drain_thread(channel, state, slot, work);
	else if (status == 0 && !state->damaged && !channel_has_messages(slot))
		status = drain_turns(channel, state, slot, head, work);
	return status;
}

int record_channel_drain_slot(struct record_channel *channel, uint32_t index, bool *work)
{
	struct record_channel_slot *state = &channel->slots[index];
	struct channel_slot *slot = channel_slot(&channel->channel, index);
	const uint32_t slot_status = __atomic_load_n(&slot->status, __ATOMIC_ACQUIRE);
	int status = 0;

	if (!state->live && !is_used(slot_status))
		return 0;
	if (!state->live)
		status = begin_slot(channel, state, slot);
	if (status == 0 && !state->damaged)
		status = take_all(channel, state, slot, work);
	if (status < 0 || slot_status != CHANNEL_SLOT_ENDED)
		return status;
	/* The slot had ended before the drain: no data follows, but a ring may hold undrained data. */
	if (state->damaged || !channel_pending(&channel->channel, slot))
		return end_slot(channel, index);
	return 0;
}

/*
 * Drains until the slot is empty. The number of rounds is limited: another program might write to the slot without end.
 */
static int drain_fully(struct record_channel *channel, struct record_channel_slot *state, struct channel_slot *slot)
{
	const uint64_t rounds = channel->channel.config.message_ring_size / sizeof(struct channel_message);
	bool work = true;
	int status = 0;

	for (uint64_t i = 0; status == 0 && work && !state->damaged && i < rounds; i++) {
		work = false;
		status = take_all(channel, state, slot, &work);
	}
	return status;
}

int record_channel_finish_slot(struct record_channel *channel, uint32_t index)
{
	struct record_channel_slot *state = &channel->slots[index];
	struct channel_slot *slot = channel_slot(&channel->channel, index);
	int status = drain_fully(channel, state, slot);

	if (status == 0 && !state->damaged && __atomic_load_n(&slot->status, __ATOMIC_ACQUIRE) == CHANNEL_SLOT_LIVE) {
		if (channel_finish(&channel->channel, slot) < 0)
			status = lose_thread(channel, state, "the thread's last packets could not be completed");
		else
			status = drain_fully(channel, state, slot);
	}
	if (status < 0)
		(void)end_slot(channel, index);
	else
		status = end_slot(channel, index);
	return status;
}

int record_channel_finish_process(struct record_channel *channel, uint32_t process,
				  const struct record_channel_slot *survivor)
{
	const uint32_t high = channel_slot_high(&channel->channel);
	int status = 0;

	for (uint32_t i = 0; status == 0 && i < high; i++) {
		struct record_channel_slot *state = &channel->slots[i];
		struct channel_slot *slot = channel_slot(&channel->channel, i);
		const uint32_t now = __atomic_load_n(&slot->status, __ATOMIC_ACQUIRE);

		/* A new thread without earlier data still belongs to the process. */
		if (!state->live && is_used(now) && slot->process == process)
			status = begin_slot(channel, state, slot);
		/* A thread that was killed before its first instruction. */
		if (now == CHANNEL_SLOT_CLAIMED && slot->process == process && !slot->newborn && !survivor)
			channel_free_slot(&channel->channel, slot);
		if (status == 0 && state->live && state->process == process && state != survivor)
			status = record_channel_finish_slot(channel, i);
	}
	return status;
}

/* Delivers messages of all threads in the order of sending. */
static int hear_all(struct record_channel *channel, uint32_t high, bool *work)
{
	int status = 0;

	for (uint32_t i = 0; status == 0 && i < high; i++) {
		struct record_channel_slot *state = &channel->slots[i];
		struct channel_slot *slot = channel_slot(&channel->channel, i);

		if (!state->live) {
			const uint32_t now = __atomic_load_n(&slot->status, __ATOMIC_ACQUIRE);

			if (!is_used(now) && !(now == CHANNEL_SLOT_CLAIMED && record_channel_adopt(slot)))
				continue;
			status = begin_slot(channel, state, slot);
		}
		if (status == 0 && !state->damaged)
			status = record_channel_messages(channel, state, slot, work);
	}
	return status < 0 ? status : record_channel_order_deliver(&channel->order, record_now(), false);
}

/*
 * Requests PSBs: each stream of a series' file begins with a PSB. A thread that has just checked pt_limit sees the
 * request at the next check.
 */
static void ask_for_psbs(struct record_channel *channel, uint32_t high)
{
	__atomic_store_n(&channel->channel.header->psb_request, channel->capture->rotation.count, __ATOMIC_RELAXED);
	for (uint32_t i = 0; channel->capture->streams.waiting && i < high; i++)
		if (channel->slots[i].live)
			__atomic_store_n(&channel_slot(&channel->channel, i)->pt_limit, 0, __ATOMIC_RELAXED);
}

/*
 * Drains all slots. Processes and their code go into the trace before PT: even after a kill of the recorder, the file
 * has no PT of an unknown process.
 */
int record_channel_drain(struct record_channel *channel, bool *work)
{
	const uint32_t high = channel_slot_high(&channel->channel);
	int status = hear_all(channel, high, work);

	if (channel->capture->rotation.count)
		ask_for_psbs(channel, high);
	for (uint32_t i = 0; status == 0 && i < high; i++)
		status = record_channel_drain_slot(channel, i, work);
	return status;
}

bool record_channel_has_live_slots(const struct record_channel *channel)
{
	const uint32_t high = channel_slot_high(&channel->channel);

	for (uint32_t i = 0; i < high; i++) {
		const struct channel_slot *slot = channel_slot(&channel->channel, i);

		if (__atomic_load_n(&slot->status, __ATOMIC_ACQUIRE) == CHANNEL_SLOT_LIVE)
			return true;
	}
	return false;
}
