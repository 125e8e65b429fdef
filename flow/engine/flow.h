/* SPDX-License-Identifier: BSD-2-Clause */
/* Flow: the executed code of a thread, as blocks and events. Engines produce flow; views consume flow. */
#ifndef FLOW_ENGINE_FLOW_H
#define FLOW_ENGINE_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flow/code/branch.h"
#include "flow/timeline/timeline.h"

/*
 * A block: instructions at consecutive addresses, executed in order. A block ends at the first branch instruction, or
 * earlier: before an event that is bound to an address (flow_event_splits), at the end of the flow, at the end of a
 * segment, and at its maximum length (flow_block_is_full). These ends depend on the trace alone, not on the engine, so
 * counts of blocks are comparable. Blocks are interned: within a batch, equal blocks have equal pointers.
 */
struct flow_block {
	uint64_t ip;            /* address of the first instruction */
	uint64_t last_ip;       /* address of the last instruction */
	uint32_t instructions;  /* at least 1 */
	uint32_t size;          /* bytes, including the last instruction */
	uint32_t image;         /* index in the timeline of the image at ip; FLOW_NONE */
	uint8_t branch;         /* enum flow_branch */
	uint8_t mode;           /* mode of execution: 64, 32 or 16 */
	bool code_event;        /* a code event gave the bytes at ip: code of a JIT compiler, or changed code */
	const uint8_t *code;    /* executed bytes; `size` bytes */
	const uint8_t *lengths; /* length of each instruction in bytes; the sum is `size` */
	uint64_t target;        /* target of a direct branch if the branch is taken; 0 for all other blocks */
};

/*
 * Checks whether a block ends at its maximum length. last_ip: address of the last instruction; end: address behind the
 * last instruction. A long block ends at a multiple of FLOW_BLOCK_SPAN. Only the address decides, so code without
 * branches makes few blocks, regardless of the block's beginning.
 */
#define FLOW_BLOCK_LONG (1u << 16)   /* instructions */
#define FLOW_BLOCK_SPAN (1ull << 20) /* bytes */

static inline bool flow_block_is_full(uint32_t instructions, uint64_t last_ip, uint64_t end)
{
	return instructions >= FLOW_BLOCK_LONG && last_ip / FLOW_BLOCK_SPAN != end / FLOW_BLOCK_SPAN;
}

enum flow_kind {
	/* Events bound to an address: a block never extends over such an event. */
	FLOW_ENABLED = 1,    /* packets start; `to`: where the flow begins */
	FLOW_DISABLED,       /* packets stop behind the last block; `to`: where execution went */
	FLOW_ASYNC_DISABLED, /* packets stop before the instruction at `from` */
	FLOW_ASYNC_BRANCH,   /* interrupt or signal: execution went to `to` instead of the instruction at `from` */
	FLOW_TSX,            /* value: FLOW_TSX_*; the state is valid from here on */
	FLOW_EXEC_MODE,      /* value: 64, 32 or 16; type: 1 if RFLAGS.IF is set, as event trace reports */
	FLOW_PAGING,         /* value: CR3, valid from here on; type: 1 in a guest (VMX non-root), else 0 */
	FLOW_VMCS,           /* value: VMCS base address, valid from here on */
	FLOW_PTWRITE,        /* value: operand; type: its bytes, 4 or 8; `from`: the instruction, if known */
	FLOW_STOPPED,        /* the address filter's stop range was reached */
	FLOW_EXSTOP,         /* execution stopped (power); `from`: if known */
	FLOW_MWAIT,          /* value: hints | extensions << 32 */
	FLOW_GAP,            /* flow is missing here; cause: reason; `to`: where the flow continues after an overflow */
	FLOW_CONTROL,        /* type: FLOW_CONTROL_*; value: vector; `from`: address of the event, if known */
	FLOW_EVENT_DATA,     /* data of the following FLOW_CONTROL; type: FLOW_DATA_*; value: the data */
	FLOW_BLOCK_ITEM,     /* type: of the block; item: item number; value: the data; `from`: if known */
	FLOW_TRIGGER,        /* value: triggers, one bit each; `from`: if known */
	/* Events bound to no address: such an event stands before the block during which the packet came. */
	FLOW_CBR,         /* value: core-to-bus ratio */
	FLOW_POWER_ENTRY, /* value: state | sub-state << 8 | hardware << 16 */
	FLOW_POWER_EXIT,  /* value: last | deepest << 8 | wake reason << 16 */
	/*
	 * With counts (see flow_count_sink): flow continued at `from`, in the block whose pointer is `value`. That
	 * block and all later blocks were counted.
	 */
	FLOW_COUNTED,
};

/* Types of control flow events and their data: SDM, "Event Trace". */
#define FLOW_CONTROL_INTERRUPT 1 /* interrupt or exception; has a vector */
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
#define FLOW_CONTROL_SOFTWARE_INTERRUPT 14 /* INT n and similar instructions, with FRED; has a vector */
#define FLOW_CONTROL_SYSTEM_CALL 15        /* SYSCALL or SYSENTER, with FRED */
#define FLOW_DATA_PAGE_FAULT 0             /* value: CR2 */
#define FLOW_DATA_VM_EXIT_QUALIFICATION 1
#define FLOW_DATA_VM_EXIT_REASON 2

/* Return names: "interrupt", "page-fault-address", ...; NULL: the SDM did not define the type. */
const char *flow_control_name(uint8_t type);
const char *flow_event_data_name(uint8_t type);
/* Checks whether a control flow event of this type has a vector. */
bool flow_control_has_vector(uint8_t type);

#define FLOW_TSX_COMMITTED 0 /* outside of a transaction, or after a commit */
#define FLOW_TSX_SPECULATIVE 1
#define FLOW_TSX_ABORTED 2

/* Returns the name of the kind: "enabled", "async-branch", ...; never NULL. */
const char *flow_kind_name(uint8_t kind);

/* Reason why flow is missing. */
enum flow_gap_cause {
	FLOW_GAP_NONE = 0,
	FLOW_GAP_OVERFLOW, /* an OVF packet: the CPU reported an overflow */
	FLOW_GAP_LOST,     /* a hole in the stream: buffers were not written, or are damaged */
	FLOW_GAP_SYNC,     /* bytes before any PSB: decoding cannot start here */
	FLOW_GAP_PACKET,   /* bytes that are no packet, a packet at a forbidden place, or a truncated packet */
	FLOW_GAP_CODE,     /* the code at `from` is not in the trace */
	FLOW_GAP_MISMATCH, /* the packets do not fit the code */
	FLOW_GAP_SWITCH,   /* a context switch: the thread of these packets, or an earlier call, is unknown */
	/*
	 * flow of a virtual machine, whose code is not in the trace; value: the VMCS, 0 unknown; type: 1 if the gap ends
	 * where the host's flow continues
	 */
	FLOW_GAP_GUEST,
	FLOW_GAP_COUNT,
};

/* Returns the name of the cause: "overflow", "lost", "unsynchronised", "damaged-packets", ...; never NULL. */
const char *flow_gap_cause_name(uint8_t cause);

#define FLOW_EVENT_HAS_FROM 0x01u
#define FLOW_EVENT_HAS_TO 0x02u
/* ENABLED: flow resumes at the address where packets were disabled; nothing is missing in between */
#define FLOW_EVENT_RESUMED 0x04u
/*
 * PAGING, VMCS, EXEC_MODE: the TIP with the exact place of the change is missing. The change was announced before this
 * place.
 */
#define FLOW_EVENT_UNPLACED 0x08u

struct flow_event {
	uint8_t kind;  /* enum flow_kind */
	uint8_t cause; /* GAP: enum flow_gap_cause */
	uint8_t flags; /* FLOW_EVENT_* flags */
	uint8_t type;  /* the kind defines the meaning of type and item */
	uint8_t item;
	size_t before;   /* index in the batch of the next block (block_count: the next block is in a later batch) */
	uint64_t time;   /* trace clock; 0 unknown */
	uint64_t cycles; /* as in flow_mark */
	uint64_t offset; /* stream offset of the packet that reports the event, or an offset nearby */
	uint64_t from;
	uint64_t to;
	uint64_t value;
	uint64_t size; /* GAP: bytes of PT that were skipped and not decoded; 0 for an overflow */
};

/* Checks whether an event of this kind is bound to an address, and therefore ends the previous block. */
bool flow_event_splits(uint8_t kind);

/* Time and state from a block on. The times are estimates from timing packets. */
struct flow_mark {
	size_t block;         /* index in the batch's blocks */
	uint64_t time;        /* trace clock; 0 unknown */
	uint64_t cycles;      /* core cycles of the segment before, by CYC packets; only of the native engine */
	uint32_t speculative; /* non-zero within a TSX transaction */
	/*
	 * The blocks were executed between time - before and time + after, in nanoseconds; FLOW_UNBOUNDED: unknown. The
	 * nearest timing packets give these bounds: a CPU may send a branch some time after its execution, and the
	 * timing packet may come some time before the branch.
	 */
	uint32_t before;
	uint32_t after;
};

#define FLOW_UNBOUNDED UINT32_MAX

/* A run: blocks executed in sequence, and their sums. Events may stand between the blocks. */
struct flow_block_run {
	const struct flow_block *const *blocks;
	uint64_t instructions;
	uint32_t count;    /* blocks; at least 1 in a batch */
	uint32_t branches; /* blocks that end with a branch */
};

/*
 * A batch of flow: runs of blocks, events and marks. Indexes in events and marks count the blocks of all runs together.
 * A consumer that only counts reads the sums; flow_batch_next walks all blocks and events in order.
 *
 * Arrays are valid until consume returns. Blocks and their members are valid until the segment's last batch has been
 * consumed. Marks are in order, and the first mark is at block 0; a batch without blocks has no marks. Events are in
 * order; events before one block follow the order of the array. The sums may include counted blocks, which are in no
 * run.
 */
struct flow_batch {
	/*
	 * If two batches of an engine have equal generations other than 0, equal pointers to runs are equal runs with
	 * equal blocks. The memory of older runs may be gone.
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

/* Walks a batch in order: blocks with their time, and events in between. */
struct flow_batch_cursor {
	const struct flow_batch *batch;
	size_t next_run;
	const struct flow_block *const *in_run; /* remaining blocks of the run before next_run */
	const struct flow_block *const *run_end;
	size_t next_block;
	size_t next_event;
	size_t next_mark;
	const struct flow_block *block; /* current block and event; either pointer is NULL */
	const struct flow_event *event;
	uint64_t time;
	bool speculative;
};

static inline struct flow_batch_cursor flow_batch_walk(const struct flow_batch *batch)
{
	return (struct flow_batch_cursor){.batch = batch};
}

/* Returns the mark of the current block; NULL: no mark. */
static inline const struct flow_mark *flow_batch_mark(const struct flow_batch_cursor *cursor)
{
	return cursor->next_mark ? &cursor->batch->marks[cursor->next_mark - 1] : NULL;
}

/* Moves to the next block or event. Returns false at the end. */
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
 * Writes the addresses of the block's instructions. `addresses` has room for block->instructions addresses. Fast enough
 * for long flows: adds lengths, and decodes nothing.
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
