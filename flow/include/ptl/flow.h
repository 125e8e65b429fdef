/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Turns Intel PT into executed code: opens a trace, or raw packets and code, and gives the blocks, events and gaps of
 * each thread in order. A view receives flow in parallel; an iterator gives flow item by item to a loop. libptl-flow(3)
 * describes how to use this library.
 *
 * Rules for all functions and structures:
 * - A function that can fail returns 0 or a negative enum ptl_status, and leaves the causes for ptl_error_text. Every
 *   function that allocates may return PTL_NO_MEMORY; the comments below do not repeat PTL_NO_MEMORY.
 * - Times are nanoseconds of the trace's clock (enum ptl_clock). 0 is an unknown time.
 * - Structures that the caller fills begin with `size`: sizeof the structure. All further members may be 0. A newer
 *   version may add members at the end. The newer version takes 0 for the members that an older caller lacks. An older
 *   version refuses unknown members that are not 0 (PTL_UNSUPPORTED).
 * - Structures that the library gives out may get more members at the end. Do not copy arrays of such structures by
 *   their size.
 * - Numbers of kinds, causes and branches may be added. Treat an unknown number as "something else".
 */
#ifndef PTL_FLOW_H
#define PTL_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/kernel.h>
#include <ptl/trace.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ptl_trace;
struct ptl_flow; /* a trace with all data needed to decode: processes, threads and code over time */

/* --- opening ------------------------------------------------------------------------------------- */

/*
 * Prepares a trace opened with ptl_open for decoding: reads the trace's events of processes, threads, images and code.
 * The caller keeps ownership of the trace; the trace must outlive *flow. The trace may be used for other purposes at
 * the same time.
 * Returns PTL_MISUSE for NULL, or an error of ptl_process.
 */
int ptl_flow_open(struct ptl_trace *trace, struct ptl_flow **flow);

/* Code at an address. The structure never grows, because callers build arrays of this structure. */
struct ptl_flow_memory {
	uint64_t address;  /* address of the first byte */
	const void *bytes; /* `size` bytes of code */
	uint64_t size;     /* at least 1; address + size - 1 does not wrap */
	const char *name;  /* name reported by ptl_flow_image; NULL: "memory" */
};

/* Packets and code without a trace file. */
struct ptl_flow_raw {
	size_t size;    /* sizeof(struct ptl_flow_raw) */
	const void *pt; /* packets of one thread, or of one CPU that runs one program */
	size_t pt_size;
	const struct ptl_flow_memory *memory; /* if ranges overlap, the later range counts */
	size_t memory_count;
	/*
	 * CPU (for errata), mode of execution, timing and clock. NULL: an unknown CPU, 64-bit code, no times. Without a
	 * TSC conversion (tsc_multiplier) all times are unknown.
	 */
	const struct ptl_machine *machine;
};

/*
 * Prepares packets and code in memory for decoding. The bytes are copied: the caller may free them afterwards.
 * The flow belongs to process 1, thread 1. Bytes before the first PSB are a gap.
 * Returns PTL_MISUSE for NULL, for no packets, or for a range that is empty or wraps; PTL_UNSUPPORTED for a newer
 * structure; PTL_SYSTEM if no memory file can be made.
 */
int ptl_flow_open_raw(const struct ptl_flow_raw *raw, struct ptl_flow **flow);

/* Frees the flow. All runs and iterators of the flow must have ended. NULL is allowed. */
void ptl_flow_close(struct ptl_flow *flow);

/* Returns the trace given to ptl_flow_open. The trace of ptl_flow_open_raw lives until ptl_flow_close. Never NULL. */
struct ptl_trace *ptl_flow_trace(const struct ptl_flow *flow);

/*
 * Returns the number of events of processes, threads, images and code that the library could not understand. If the
 * number is not 0, code may be missing.
 */
uint64_t ptl_flow_skipped_events(const struct ptl_flow *flow);

/* --- parts of flow --------------------------------------------------------------------------------- */

/* Kind of a block's last instruction. */
enum ptl_flow_branch {
	PTL_FLOW_BRANCH_NONE = 0, /* no branch: an event follows, or the flow ends */
	PTL_FLOW_BRANCH_CONDITIONAL = 1,
	PTL_FLOW_BRANCH_JUMP = 2,
	PTL_FLOW_BRANCH_JUMP_INDIRECT = 3,
	PTL_FLOW_BRANCH_CALL = 4,
	PTL_FLOW_BRANCH_CALL_INDIRECT = 5,
	PTL_FLOW_BRANCH_RETURN = 6,
	PTL_FLOW_BRANCH_FAR_CALL = 7,   /* SYSCALL, SYSENTER, INT n, far CALL, VMCALL, ... */
	PTL_FLOW_BRANCH_FAR_RETURN = 8, /* SYSRET, IRET, far RET, ... */
	PTL_FLOW_BRANCH_FAR_JUMP = 9
};

/*
 * Instructions at consecutive addresses, executed in order. A block ends:
 * - behind the first branch instruction, taken or not;
 * - before an event bound to an address;
 * - at the end of a segment;
 * - without branches, at a maximum length (docs/decoding.md).
 * These ends depend on the trace alone, so engines agree about blocks. A block that is executed again within a segment
 * has an equal pointer.
 */
struct ptl_flow_block {
	uint64_t ip;            /* address of the first instruction */
	uint64_t last_ip;       /* address of the last instruction */
	uint32_t instructions;  /* at least 1 */
	uint32_t size;          /* bytes, including the last instruction */
	uint32_t image;         /* image of ip, for ptl_flow_image; PTL_NO_ID: no image */
	uint8_t branch;         /* enum ptl_flow_branch */
	uint8_t mode;           /* mode of execution: 64, 32 or 16 */
	bool code_event;        /* a code event gave the bytes at ip: code of a JIT compiler, or changed code */
	const uint8_t *code;    /* executed bytes; `size` bytes */
	const uint8_t *lengths; /* length of each instruction in bytes; the sum is `size` */
	uint64_t target;        /* target of a direct branch if the branch is taken; 0 for all other blocks */
};

/* Writes the addresses of the block's instructions. `addresses` has room for block->instructions addresses. */
static inline void ptl_flow_block_addresses(const struct ptl_flow_block *block, uint64_t *addresses)
{
	uint64_t ip = block->ip;

	for (uint32_t i = 0; i < block->instructions; i++) {
		addresses[i] = ip;
		ip += block->lengths[i];
	}
}

/* Kind of an event. docs/decoding.md describes the packets and the place of each kind. */
enum ptl_flow_kind {
	/* Events bound to an address: a block never extends over such an event. */
	PTL_FLOW_ENABLED = 1,        /* packets start; `to`: where the flow begins */
	PTL_FLOW_DISABLED = 2,       /* packets stop behind the last block; `to`: where execution went */
	PTL_FLOW_ASYNC_DISABLED = 3, /* packets stop before the instruction at `from` */
	/* interrupt or signal: execution went to `to` instead of the instruction at `from` */
	PTL_FLOW_ASYNC_BRANCH = 4,
	PTL_FLOW_TSX = 5,       /* value: 0 no transaction, 1 in a transaction, 2 aborted; valid from here on */
	PTL_FLOW_EXEC_MODE = 6, /* value: 64, 32 or 16; type: 1 if RFLAGS.IF is set, as event trace reports */
	PTL_FLOW_PAGING = 7,    /* value: CR3, valid from here on; type: 1 in a guest (VMX non-root) */
	PTL_FLOW_VMCS = 8,      /* value: VMCS base address, valid from here on */
	PTL_FLOW_PTWRITE = 9,   /* value: operand; type: its bytes; `from`: the instruction, if known */
	PTL_FLOW_STOPPED = 10,  /* the address filter's stop range was reached */
	PTL_FLOW_EXSTOP = 11,   /* execution stopped (power); `from`: if known */
	PTL_FLOW_MWAIT = 12,    /* value: hints | extensions << 32 */
	/* flow is missing here; cause: reason; `to`: where the flow continues after an overflow */
	PTL_FLOW_GAP = 13,
	PTL_FLOW_CONTROL = 14,    /* CFE packet; type: as in the packet; value: vector; `from`: if known */
	PTL_FLOW_EVENT_DATA = 15, /* EVD packet of the following PTL_FLOW_CONTROL; type, value: as in the packet */
	/* BIP packet; type: of the block; item: item number; value: of the item; `from`: if known */
	PTL_FLOW_BLOCK_ITEM = 16,
	PTL_FLOW_TRIGGER = 17, /* value: triggers, one bit each; `from`: if known */
	/* Events bound to no address: such an event stands before the block during which the packet came. */
	PTL_FLOW_CBR = 18,         /* value: core-to-bus ratio */
	PTL_FLOW_POWER_ENTRY = 19, /* value: state | sub-state << 8 | hardware << 16 */
	PTL_FLOW_POWER_EXIT = 20   /* value: last | deepest << 8 | wake reason << 16 */
};

/* Reason why flow is missing. */
enum ptl_flow_gap_cause {
	PTL_FLOW_GAP_NONE = 0,     /* the event is no gap */
	PTL_FLOW_GAP_OVERFLOW = 1, /* an OVF packet: the CPU reported an overflow */
	PTL_FLOW_GAP_LOST = 2,     /* a hole in the stream: buffers were not written, or are damaged */
	PTL_FLOW_GAP_SYNC = 3,     /* bytes before any PSB: decoding cannot start here */
	PTL_FLOW_GAP_PACKET = 4,   /* bytes that are no packet, a packet at a forbidden place, or a truncated packet */
	PTL_FLOW_GAP_CODE = 5,     /* the code at `from` is not in the trace */
	PTL_FLOW_GAP_MISMATCH = 6, /* the packets do not fit the code */
	PTL_FLOW_GAP_SWITCH = 7,   /* a context switch: the thread of these packets, or an earlier call, is unknown */
	PTL_FLOW_GAP_GUEST = 8 /* flow of a virtual machine, whose code is not in the trace; value: VMCS, if known */
};

#define PTL_FLOW_HAS_FROM 0x01u /* `from` is valid */
#define PTL_FLOW_HAS_TO 0x02u   /* `to` is valid */
/* ENABLED: flow resumes at the address where packets were disabled; nothing is missing in between */
#define PTL_FLOW_RESUMED 0x04u
/*
 * PAGING, VMCS, EXEC_MODE: the TIP with the exact place of the change is missing. The change happened before this
 * place.
 */
#define PTL_FLOW_UNPLACED 0x08u

struct ptl_flow_event {
	uint8_t kind;  /* enum ptl_flow_kind */
	uint8_t cause; /* enum ptl_flow_gap_cause */
	uint8_t flags; /* PTL_FLOW_HAS_FROM and so on */
	uint8_t type;  /* the kind defines the meaning of type, item, value and from */
	uint8_t item;
	uint64_t value;
	uint64_t from;
	uint64_t to;
	uint64_t time;   /* 0 unknown */
	uint64_t offset; /* stream offset of the packet that reported the event, or an offset nearby */
	uint64_t size;   /* gap: bytes of PT that were not decoded; 0 for an overflow, because the number is unknown */
};

/*
 * PT from one PSB to the next, or one thread's part of that PT: the unit of decoding. Segments with an equal `group`
 * are consecutive flow of one thread. If the thread of a CPU's packets is unknown, a group is flow of one CPU. A thread
 * may have several groups, in sequence.
 */
struct ptl_flow_segment {
	uint32_t pid; /* PTL_NO_ID: unknown */
	uint32_t tid;
	uint32_t cpu; /* PTL_NO_CPU: the stream belongs to a thread */
	uint32_t stream;
	uint64_t group;  /* group number among the selected groups, from 0 */
	uint64_t offset; /* offset in the stream */
	uint64_t size;   /* bytes */
	uint64_t time;   /* time of the PSB; 0 unknown */
	bool first;      /* first segment of the group */
	bool last;
};

/* One step of flow: either a block or an event. The other pointer is NULL. */
struct ptl_flow_item {
	const struct ptl_flow_segment *segment;
	const struct ptl_flow_block *block;
	const struct ptl_flow_event *event;
	/*
	 * Time of the item, as exact as timing packets allow; 0 unknown. A block was executed between earliest and
	 * latest, both inclusive. If the bounds are unknown, earliest is 0 and latest is UINT64_MAX. Bounds of events,
	 * and all bounds from libipt's engines, are unknown.
	 */
	uint64_t time;
	uint64_t earliest;
	uint64_t latest;
	bool speculative; /* the block is within a TSX transaction */
};

/* Return names as ptl-dump prints them: "conditional", "async-branch", "missing-code". Never NULL ("unknown"). */
const char *ptl_flow_branch_name(unsigned branch);
const char *ptl_flow_kind_name(unsigned kind);
const char *ptl_flow_gap_cause_name(unsigned cause);
/*
 * Return the names of the types of PTL_FLOW_CONTROL ("interrupt") and PTL_FLOW_EVENT_DATA. NULL: the SDM did not define
 * the type.
 */
const char *ptl_flow_control_name(unsigned type);
const char *ptl_flow_event_data_name(unsigned type);

/*
 * Returns the image with this number: path, address, build id, process. NULL: no such image. The result is valid until
 * ptl_flow_close.
 */
const struct ptl_image_event *ptl_flow_image(const struct ptl_flow *flow, uint32_t image);

/* --- selection and options ------------------------------------------------------------------------- */

/* Returns the names of engines for options.engine; NULL beyond the last engine. Engine 0 is the default. */
const char *ptl_flow_engine_name(size_t i);

/* If all members but `size` are 0, everything is selected. Flow must match all selections at once. */
struct ptl_flow_options {
	size_t size;          /* sizeof(struct ptl_flow_options) */
	const uint32_t *pids; /* flow of any of these processes; NULL and 0: of all processes */
	size_t pid_count;
	const uint32_t *tids; /* flow of any of these threads; NULL and 0: of all threads */
	size_t tid_count;
	const uint32_t *cpus; /* streams of these CPUs; streams of threads have no CPU and are left out */
	size_t cpu_count;
	/*
	 * Selects flow of these times, both inclusive, as exactly as timing packets allow; 0: no limit. Flow of unknown
	 * time is included.
	 */
	uint64_t first_time;
	uint64_t last_time;
	const char *engine; /* NULL: the default */
	/*
	 * number of decoding threads; 0: one for each CPU. Results never depend on the number. Iterators use one thread
	 */
	unsigned threads;
	/*
	 * Orders the segments of all threads by time, instead of thread after thread. Only for views with emit, and for
	 * iterators. The flow of one segment still comes in one piece.
	 */
	bool by_time;
	/*
	 * Called now and then on the thread that called ptl_flow_run. done: bytes of PT decoded; total: all bytes. May
	 * be NULL.
	 */
	void (*progress)(void *context, uint64_t done, uint64_t total);
	void *progress_context;
};

/* --- views: folds over flow, run in parallel ------------------------------------------------------- */

/* A stretch of flow of one segment. Valid only within consume, on the thread that runs consume. */
struct ptl_flow_batch;

/* Return sums over all blocks of the batch. */
uint64_t ptl_flow_batch_instructions(const struct ptl_flow_batch *batch);
uint64_t ptl_flow_batch_blocks(const struct ptl_flow_batch *batch);
uint64_t ptl_flow_batch_branches(const struct ptl_flow_batch *batch); /* executed branch instructions, taken or not */
/*
 * Returns the next block or event in order; NULL after the last. A view with counts_only gets events alone. The item
 * and its event are valid until the next call. Blocks are valid until the segment's last consume has returned.
 */
const struct ptl_flow_item *ptl_flow_batch_next(struct ptl_flow_batch *batch);

/* Blocks that were executed one after the other. Events may stand between the blocks. */
struct ptl_flow_run {
	const struct ptl_flow_block *const *blocks;
	uint64_t instructions; /* sums over the blocks */
	uint32_t count;        /* number of blocks, at least 1 */
	uint32_t branches;
};

/*
 * Returns all blocks of the batch as runs, in order, without a copy; *count: number of runs. The engine gives the same
 * run again when packets repeat: as long as *generation is the same in batches of one decoder, an equal pointer is an
 * equal run, and a caller may remember its own results by run. 0: runs are never the same. Valid as blocks are. With
 * counts_only, there are no runs.
 */
const struct ptl_flow_run *const *ptl_flow_batch_runs(const struct ptl_flow_batch *batch, size_t *count,
						      uint64_t *generation);

/* Arrays for blocks: an element of each array is a block's. Arrays that are NULL are not filled. */
struct ptl_flow_arrays {
	size_t size;  /* sizeof(struct ptl_flow_arrays) */
	uint64_t *ip; /* members as in struct ptl_flow_block */
	uint64_t *last_ip;
	uint64_t *target;
	uint64_t *time; /* as in struct ptl_flow_item */
	uint32_t *instructions;
	uint32_t *bytes; /* `size` of the block */
	uint32_t *image;
	uint8_t *branch;
	uint8_t *mode;
	bool over_events; /* skips events; otherwise blocks end before the next event */
};

/*
 * Writes the next blocks of the batch, at most `room`, and moves behind these blocks, as many calls of
 * ptl_flow_batch_next would. Returns the number of blocks. 0: the batch has ended, or an event is next. Much faster than
 * block after block. Not for views with counts_only: then always 0.
 */
size_t ptl_flow_batch_arrays(struct ptl_flow_batch *batch, const struct ptl_flow_arrays *arrays, size_t room);

/*
 * A view makes a partial result of each segment, on any thread. Neighbouring partial results are merged in order. merge
 * must be associative: then the result does not depend on the number of threads.
 *
 * All functions return 0, or a negative enum ptl_status. A negative status ends the run, and ptl_flow_run returns that
 * status (PTL_CANCELLED: the caller wants no more flow). A positive result is PTL_MISUSE. The functions must not throw
 * exceptions or jump out. Each partial result is passed to exactly one of merge (as right), finish, emit or drop. The
 * called function takes ownership.
 */
struct ptl_flow_view {
	size_t size; /* sizeof(struct ptl_flow_view) */
	/*
	 * consume reads sums and events only, and ptl_flow_batch_next gives events alone. Faster, because engines need
	 * not list blocks.
	 */
	bool counts_only;
	/* Runs on a worker. Stores an empty partial result for the segment in *partial. *partial must not be NULL. */
	int (*begin)(void *context, const struct ptl_flow_segment *segment, void **partial);
	/* Runs on a worker. Receives more flow of the segment, in order. Not called for a segment without flow. */
	int (*consume)(void *context, void *partial, const struct ptl_flow_segment *segment,
		       struct ptl_flow_batch *batch);
	/*
	 * Runs on the calling thread, for segments in order. Adds right to left, and takes ownership of right, also on
	 * failure.
	 */
	int (*merge)(void *context, void *left, void *right);
	/*
	 * Runs on the calling thread when a group is complete. last: last segment of the group. Takes ownership of
	 * result, also on failure.
	 */
	int (*finish)(void *context, const struct ptl_flow_segment *last, void *result);
	/*
	 * Replaces merge and finish for output; merge and finish are NULL then. Runs on the calling thread. Takes
	 * ownership of each segment's partial result in order, also on failure. With by_time, no later segment has flow
	 * before horizon; otherwise horizon is 0.
	 */
	int (*emit)(void *context, const struct ptl_flow_segment *segment, void *partial, uint64_t horizon);
	/* Runs on the calling thread if a run fails. Frees a partial result without an owner. */
	void (*drop)(void *context, void *partial);
};

/*
 * Decodes the flow selected by options (NULL: everything), and runs the view over the flow. context is passed to all
 * functions of the view. begin and consume are called on several threads at once, and have to be thread-safe. Damaged
 * packets and missing code are gaps in the flow, not errors. Several runs of one ptl_flow may go on at once.
 * Returns PTL_MISUSE (unknown engine name, or a view without a required function), PTL_UNSUPPORTED (a newer structure),
 * PTL_SYSTEM, or the negative result of a view's function.
 */
int ptl_flow_run(struct ptl_flow *flow, const struct ptl_flow_options *options, const struct ptl_flow_view *view,
		 void *context);

/* --- iterators: one item after the other ------------------------------------------------------------ */

struct ptl_flow_iterator;

/*
 * Makes an iterator. An iterator gives the flow of a run item by item: thread after thread, each in order. Decoding
 * runs in a thread of the iterator, one batch at a time, so memory is bounded. A view that runs in parallel is faster.
 * Returns errors as ptl_flow_run does, except errors of decoding. ptl_flow_next returns errors of decoding.
 */
int ptl_flow_iterator_new(struct ptl_flow *flow, const struct ptl_flow_options *options,
			  struct ptl_flow_iterator **iterator);
/*
 * Returns 1 and the next item; 0 at the end; a negative status if decoding failed: then the iterator has ended. All
 * memory of the item is valid until the next call. One thread at a time may use an iterator.
 */
int ptl_flow_next(struct ptl_flow_iterator *iterator, const struct ptl_flow_item **item);
/*
 * As ptl_flow_next, for many blocks at a time: writes the next blocks, at most `room`, all of one segment, as
 * ptl_flow_batch_arrays does. *count: number of blocks; then *item has the segment alone. 0 blocks: *item is an event. With
 * over_events, there are no events.
 */
int ptl_flow_next_arrays(struct ptl_flow_iterator *iterator, const struct ptl_flow_arrays *arrays, size_t room,
			 size_t *count, const struct ptl_flow_item **item);
/* Frees the iterator. Allowed at any time: the remaining flow is not decoded. NULL is allowed. */
void ptl_flow_iterator_free(struct ptl_flow_iterator *iterator);

#ifdef __cplusplus
}
#endif

#endif
