/* SPDX-License-Identifier: BSD-2-Clause */
/* Flow, which engines produce and views consume: what a thread executed, as blocks and events. */
#ifndef FLOW_ENGINE_FLOW_H
#define FLOW_ENGINE_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flow/code/branch.h"
#include "flow/timeline/timeline.h"

/*
 * A block: instructions at consecutive addresses, executed one after the other. It ends at the
 * first branch instruction, or before: where an event that is bound to an address stands (see
 * flow_event_splits), where the flow ends, where a segment ends, and where it is too long (see
 * flow_block_is_full). That depends on the trace
 * alone, not on the engine, so counts of blocks can be compared. Blocks are interned: executing one
 * again gives the same pointer within a batch.
 */
struct flow_block {
	uint64_t ip;            /* of the first instruction */
	uint64_t last_ip;       /* of the last instruction */
	uint32_t instructions;  /* at least 1 */
	uint32_t size;          /* bytes, the last instruction included */
	uint32_t image;         /* index in the timeline of the image that ip is in; FLOW_NONE */
	uint8_t branch;         /* enum flow_branch */
	uint8_t mode;           /* 64, 32 or 16 */
	bool code_event;        /* a code event gave the bytes at ip: a JIT, changed code */
	const uint8_t *code;    /* the size bytes that were executed */
	const uint8_t *lengths; /* of each of the instructions, in bytes; their sum is size */
	uint64_t target;        /* where a direct branch leads if it is taken; 0 for all others */
};

/*
 * Whether a block of so many instructions, the last of which begins at last_ip and ends before `end`, ends there though
 * that is no branch: a long one does where it crosses a multiple of FLOW_BLOCK_SPAN. The address alone decides where: so
 * code without branches makes few blocks, wherever flow comes into it.
 */
#define FLOW_BLOCK_LONG (1u << 16)   /* instructions */
#define FLOW_BLOCK_SPAN (1ull << 20) /* bytes */

static inline bool flow_block_is_full(uint32_t instructions, uint64_t last_ip, uint64_t end)
{
	return instructions >= FLOW_BLOCK_LONG && last_ip / FLOW_BLOCK_SPAN != end / FLOW_BLOCK_SPAN;
}

enum flow_kind {
	/* Bound to an address: a block never extends over one of these. */
	FLOW_ENABLED = 1,    /* packets start: the flow begins at `to` */
	FLOW_DISABLED,       /* packets stop behind the last block; `to`: where it went */
	FLOW_ASYNC_DISABLED, /* packets stop before the instruction at `from` */
	FLOW_ASYNC_BRANCH,   /* interrupt or signal: `to` came instead of the one at `from` */
	FLOW_TSX,            /* value: PTL_TSX_*; the state holds from here on */
	FLOW_EXEC_MODE,      /* value: 64, 32 or 16; type: 1 with RFLAGS.IF set, as event trace reports it */
	FLOW_PAGING,         /* value: CR3; from here on; type: 1 in a guest (VMX non-root), else 0 */
	FLOW_VMCS,           /* value: VMCS base address; from here on */
	FLOW_PTWRITE,        /* value: operand; `from`: the instruction, if known */
	FLOW_STOPPED,        /* the address filter's stop range was reached */
	FLOW_EXSTOP,         /* execution stopped (power), `from` if known */
	FLOW_MWAIT,          /* value: hints | extensions << 32 */
	FLOW_GAP,            /* flow is missing here: see cause; `to`: where it goes on behind an overflow */
	FLOW_CONTROL,        /* type: PTL_CONTROL_*; value: vector; `from`: where, if known */
	FLOW_EVENT_DATA,     /* of the FLOW_CONTROL behind it; type: FLOW_DATA_*; value: the data */
	FLOW_BLOCK_ITEM,     /* type: of the block; item: its number; value: the data; `from` if known */
	FLOW_TRIGGER,        /* value: triggers, a bit each; `from` if known */
	/* Bound to no address: stands before the block during which it came. */
	FLOW_CBR,         /* value: core-to-bus ratio */
	FLOW_POWER_ENTRY, /* value: state | sub-state << 8 | hardware << 16 */
	FLOW_POWER_EXIT,  /* value: last | deepest << 8 | wake reason << 16 */
	/*
	 * Where counts are wanted (see flow_count_sink): flow went on at `from`, with the struct flow_block at the address
	 * `value`; that and all that came behind it was counted.
	 */
	FLOW_COUNTED,
};

/* Types of control flow events, and of their data: SDM, "Event Trace". */
#define FLOW_CONTROL_INTERRUPT 1 /* or exception; has a vector */
#define FLOW_CONTROL_IRET 2
#define FLOW_CONTROL_SMI 3
#define FLOW_CONTROL_RSM 4
#define FLOW_CONTROL_SIPI 5 /* has a vector */
#define FLOW_CONTROL_INIT 6
#define FLOW_CONTROL_VM_ENTRY 7
#define FLOW_CONTROL_VM_EXIT 8
#define FLOW_CONTROL_VM_EXIT_INTERRUPT 9 /* has a vector */
#define FLOW_CONTROL_SHUTDOWN 10
#define FLOW_CONTROL_USER_INTERRUPT 12 /* has a vector */
#define FLOW_CONTROL_UIRET 13
#define FLOW_CONTROL_SOFTWARE_INTERRUPT 14 /* INT n and the like, by FRED; has a vector */
#define FLOW_CONTROL_SYSTEM_CALL 15        /* SYSCALL or SYSENTER, by FRED */
#define FLOW_DATA_PAGE_FAULT 0             /* CR2 */
#define FLOW_DATA_VM_EXIT_QUALIFICATION 1
#define FLOW_DATA_VM_EXIT_REASON 2

/* "interrupt", "page-fault-address", ...; NULL: the SDM knew none of this type. */
const char *flow_control_name(uint8_t type);
const char *flow_event_data_name(uint8_t type);
/* Whether a control flow event of this type has a vector. */
bool flow_control_has_vector(uint8_t type);

#define FLOW_TSX_COMMITTED 0 /* not, or no longer, in a transaction */
#define FLOW_TSX_SPECULATIVE 1
#define FLOW_TSX_ABORTED 2

/* "enabled", "async-branch", ...: never NULL. */
const char *flow_kind_name(uint8_t kind);

/* Why flow is missing. */
enum flow_gap_cause {
	FLOW_GAP_NONE = 0,
	FLOW_GAP_OVERFLOW, /* the CPU said so: an OVF packet */
	FLOW_GAP_LOST,     /* a hole in the stream: buffers that were not written, or are damaged */
	FLOW_GAP_SYNC,     /* bytes before any PSB, so that decoding cannot start in them */
	FLOW_GAP_PACKET,   /* no packets, packets where none may be, or a packet that is cut off */
	FLOW_GAP_CODE,     /* the code at `from` is not in the trace */
	FLOW_GAP_MISMATCH, /* the packets do not fit the code */
	FLOW_GAP_SWITCH,   /* a context switch: which thread the packets are of is not known */
	FLOW_GAP_COUNT,
};

/* "overflow", "lost", "unsynchronised", "damaged-packets", ...: never NULL. */
const char *flow_gap_cause_name(uint8_t cause);

#define FLOW_EVENT_HAS_FROM 0x01u
#define FLOW_EVENT_HAS_TO 0x02u
#define FLOW_EVENT_RESUMED 0x04u /* ENABLED: where it was disabled; nothing is missing between */
/* PAGING, VMCS, EXEC_MODE: the TIP that tells where it holds from on is missing; it was announced before this place */
#define FLOW_EVENT_UNPLACED 0x08u

struct flow_event {
	uint8_t kind;  /* enum flow_kind */
	uint8_t cause; /* GAP: enum flow_gap_cause */
	uint8_t flags; /* PTL_EVENT_* of this file */
	uint8_t type;  /* what it means is said at the kind */
	uint8_t item;
	size_t before;   /* index in the batch of the next block (block_count: in a later batch) */
	uint64_t time;   /* trace clock; 0 unknown */
	uint64_t offset; /* in the stream, of the packet that reports it, or near that */
	uint64_t from;
	uint64_t to;
	uint64_t value;
	uint64_t size; /* GAP: bytes of PT that were skipped and not decoded; 0 for an overflow */
};

/* Whether an event of this kind is bound to an address, so that it ends the block before it. */
bool flow_event_splits(uint8_t kind);

/* From this block on, time and state are these. Estimates: what the timing packets allow. */
struct flow_mark {
	size_t block;         /* index in the batch's blocks */
	uint64_t time;        /* trace clock; 0 unknown */
	uint32_t speculative; /* non-zero within a TSX transaction */
	/*
	 * The blocks were executed between time - before and time + after, in nanoseconds; FLOW_UNBOUNDED: not known. What
	 * the timing packets around them say: a branch may be sent some time after it was executed, and the packet that
	 * tells the time may come some time before it.
	 */
	uint32_t before;
	uint32_t after;
};

#define FLOW_UNBOUNDED UINT32_MAX

/* Blocks that were executed one after the other, and what they add up to. Events may stand between them. */
struct flow_block_run {
	const struct flow_block *const *blocks;
	uint64_t instructions;
	uint32_t count;    /* blocks; at least 1 in a batch */
	uint32_t branches; /* blocks that end with a branch */
};

/*
 * A batch of flow: runs of blocks, events and marks. Indexes of events and marks count the blocks
 * of all runs together. A consumer that only counts takes the sums; flow_batch_next walks everything
 * in order. Arrays are valid until consume returns; blocks, and what they point to, until the
 * segment's last batch has been consumed. Marks are in order, and the first stands at block 0 (none
 * in a batch without blocks). Events are in order; events before the same block come in the order
 * of the array. Sums may also be of what was counted, which is in no run.
 */
struct flow_batch {
	/*
	 * Not 0: where an engine gives several batches the same number, the same pointer to a run is the same run, with the same
	 * blocks. They need not be there any more.
	 */
	uint64_t generation;
	const struct flow_block_run *const *runs;
	size_t run_count;
	size_t block_count; /* sums over all runs */
	uint64_t counted_blocks;
	uint64_t instructions;
	uint64_t branches;
	const struct flow_event *events;
	size_t event_count;
	const struct flow_mark *marks;
	size_t mark_count;
};

/* Walks a batch in order: blocks with their time, and events between them. */
struct flow_batch_cursor {
	const struct flow_batch *batch;
	size_t next_run;
	const struct flow_block *const *in_run; /* the rest of the run before next_run */
	const struct flow_block *const *run_end;
	size_t next_block;
	size_t next_event;
	size_t next_mark;
	const struct flow_block *block; /* of the last step: one of these is NULL */
	const struct flow_event *event;
	uint64_t time;
	bool speculative;
};

static inline struct flow_batch_cursor flow_batch_walk(const struct flow_batch *batch)
{
	return (struct flow_batch_cursor){.batch = batch};
}

/* The mark of the block at hand; NULL: there is none. */
static inline const struct flow_mark *flow_batch_mark(const struct flow_batch_cursor *cursor)
{
	return cursor->next_mark ? &cursor->batch->marks[cursor->next_mark - 1] : NULL;
}

/* The next block or event; false at the end. */
static inline bool flow_batch_next(struct flow_batch_cursor *cursor)
{
	const struct flow_batch *batch = cursor->batch;

	if (cursor->next_event < batch->event_count && batch->events[cursor->next_event].before <= cursor->next_block) {
		cursor->block = NULL;
		cursor->event = &batch->events[cursor->next_event++];
		cursor->time = cursor->event->time;
		return true;
	}
	cursor->event = NULL;
	cursor->block = NULL;
	if (cursor->next_block == batch->block_count)
		return false;
	while (cursor->next_mark < batch->mark_count && batch->marks[cursor->next_mark].block <= cursor->next_block)
		cursor->next_mark++;
	if (cursor->next_mark > 0) {
		cursor->time = batch->marks[cursor->next_mark - 1].time;
		cursor->speculative = batch->marks[cursor->next_mark - 1].speculative != 0;
	}
	if (cursor->in_run == cursor->run_end) {
		const struct flow_block_run *run = batch->runs[cursor->next_run++];

		cursor->in_run = run->blocks;
		cursor->run_end = run->blocks + run->count;
	}
	cursor->block = *cursor->in_run++;
	cursor->next_block++;
	return true;
}

/*
 * Writes the addresses of the block's instructions; there is room for block->instructions of them.
 * For long flows: a table lookup an instruction, nothing is decoded again.
 */
static inline void flow_block_addresses(const struct flow_block *block, uint64_t *addresses)
{
	uint64_t ip = block->ip;

	for (uint32_t i = 0; i < block->instructions; i++) {
		addresses[i] = ip;
		ip += block->lengths[i];
	}
}

#endif
