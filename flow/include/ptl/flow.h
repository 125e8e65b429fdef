/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From Intel PT to what was executed: opens a trace, or raw packets and code, and gives each thread's blocks, events and
 * gaps in order; to a view that is run in parallel, or one by one to a loop. libptl-flow(3) describes how to use it.
 *
 * Rules for all of it:
 *	- Functions that can fail return 0 or a negative enum ptl_status, and leave the causes for ptl_error_text.
 *	  PTL_NO_MEMORY is possible wherever something is made, and is not repeated below.
 *	- Times are nanoseconds of the trace's clock (enum ptl_clock). 0 is an unknown time.
 *	- Structures that the caller fills begin with `size`, which is sizeof the structure; all else may be 0. A newer
 *	  version may add members at the end: it takes 0 for those that an older caller does not have, and an older version
 *	  refuses those that it does not know and that are not 0 (PTL_UNSUPPORTED).
 *	- Structures that the library gives out may get more members at the end. Do not copy arrays of them by their size.
 *	- Numbers of kinds, causes and branches may be added: treat unknown ones as "something else".
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
struct ptl_flow; /* a trace with what is needed to decode it: who ran when, and which code was where */

/* --- opening ------------------------------------------------------------------------------------- */

/*
 * Prepares a trace of ptl_open for decoding: reads its events of processes, threads, images and code. The trace stays the
 * caller's and has to outlive *flow. The trace may be used for other things at the same time. PTL_MISUSE for NULL; what
 * ptl_process returns.
 */
int ptl_flow_open(struct ptl_trace *trace, struct ptl_flow **flow);

/* Code at an address. The structure never grows: it stands in arrays. */
struct ptl_flow_memory {
	uint64_t address;  /* of the first byte */
	const void *bytes; /* these many: */
	uint64_t size;     /* at least 1; address + size - 1 does not wrap */
	const char *name;  /* what ptl_flow_image calls it; NULL: "memory" */
};

/* Packets and code without a trace file. */
struct ptl_flow_raw {
	size_t size;    /* sizeof(struct ptl_flow_raw) */
	const void *pt; /* packets of one thread, or of one CPU that runs one program */
	size_t pt_size;
	const struct ptl_flow_memory *memory; /* where ranges overlap, the later one counts */
	size_t memory_count;
	/*
	 * CPU (for its errata), mode of execution, timing and clock. NULL: an unknown CPU, 64-bit code, no times.
	 * Without TSC conversion (tsc_multiplier) there are no times.
	 */
	const struct ptl_machine *machine;
};

/*
 * The same for bytes in memory, which are copied: the caller may free them afterwards. Their flow is that of process 1,
 * thread 1. Bytes before the first PSB are a gap. PTL_MISUSE for NULL, no packets, or a range that is empty or wraps;
 * PTL_UNSUPPORTED for a newer structure; PTL_SYSTEM (no memory file).
 */
int ptl_flow_open_raw(const struct ptl_flow_raw *raw, struct ptl_flow **flow);

/* After all runs and iterators of it have ended. NULL is allowed. */
void ptl_flow_close(struct ptl_flow *flow);

/* The trace that ptl_flow_open was given; that of ptl_flow_open_raw lives until ptl_flow_close. Never NULL. */
struct ptl_trace *ptl_flow_trace(const struct ptl_flow *flow);

/* Events of processes, threads, images and code that could not be understood. If not 0, code may be missing. */
uint64_t ptl_flow_skipped_events(const struct ptl_flow *flow);

/* --- what flow consists of ------------------------------------------------------------------------ */

/* What a block's last instruction is. */
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
 * Instructions at consecutive addresses, executed one after the other. A block ends behind the first branch instruction,
 * taken or not; before an event that is bound to an address; where a segment ends; and, without branches, where it is
 * very long (docs/decoding.md). That depends on the trace alone, so engines agree about blocks. The same block, executed
 * again within a segment, has the same pointer.
 */
struct ptl_flow_block {
	uint64_t ip;            /* of the first instruction */
	uint64_t last_ip;       /* of the last instruction */
	uint32_t instructions;  /* at least 1 */
	uint32_t size;          /* bytes, the last instruction included */
	uint32_t image;         /* that ip is in, for ptl_flow_image; PTL_NO_ID: none */
	uint8_t branch;         /* enum ptl_flow_branch */
	uint8_t mode;           /* 64, 32 or 16 */
	bool code_event;        /* a code event gave the bytes at ip: a JIT, changed code */
	const uint8_t *code;    /* the `size` bytes that were executed */
	const uint8_t *lengths; /* of each of the instructions, in bytes; their sum is `size` */
	uint64_t target;        /* where a direct branch leads if it is taken; 0 for all others */
};

/* Writes the addresses of the block's instructions; there is room for block->instructions of them. */
static inline void ptl_flow_block_addresses(const struct ptl_flow_block *block, uint64_t *addresses)
{
	uint64_t ip = block->ip;

	for (uint32_t i = 0; i < block->instructions; i++) {
		addresses[i] = ip;
		ip += block->lengths[i];
	}
}

/* What an event is. docs/decoding.md says which packets make it, and where it stands. */
enum ptl_flow_kind {
	/* Bound to an address: a block never extends over one of these. */
	PTL_FLOW_ENABLED = 1,        /* packets start: the flow begins at `to` */
	PTL_FLOW_DISABLED = 2,       /* packets stop behind the last block; `to`: where it went */
	PTL_FLOW_ASYNC_DISABLED = 3, /* packets stop before the instruction at `from` */
	PTL_FLOW_ASYNC_BRANCH = 4,   /* interrupt or signal: `to` came instead of the instruction at `from` */
	PTL_FLOW_TSX = 5,            /* value: 0 no transaction, 1 in a transaction, 2 aborted; from here on */
	PTL_FLOW_EXEC_MODE = 6,      /* value: 64, 32 or 16; type: 1 with RFLAGS.IF set, as event trace reports it */
	PTL_FLOW_PAGING = 7,         /* value: CR3; from here on; type: 1 in a guest (VMX non-root) */
	PTL_FLOW_VMCS = 8,           /* value: VMCS base address; from here on */
	PTL_FLOW_PTWRITE = 9,        /* value: operand; `from`: the instruction, if known */
	PTL_FLOW_STOPPED = 10,       /* the address filter's stop range was reached */
	PTL_FLOW_EXSTOP = 11,        /* execution stopped (power); `from` if known */
	PTL_FLOW_MWAIT = 12,         /* value: hints | extensions << 32 */
	PTL_FLOW_GAP = 13,           /* flow is missing here: see cause; `to`: where it goes on behind an overflow */
	PTL_FLOW_CONTROL = 14,       /* CFE packet; type: as in the packet; value: vector; `from` if known */
	PTL_FLOW_EVENT_DATA = 15,    /* EVD packet, of the PTL_FLOW_CONTROL behind it; type, value: as in the packet */
	PTL_FLOW_BLOCK_ITEM = 16,    /* BIP packet; type: of the block; item: its number; value; `from` if known */
	PTL_FLOW_TRIGGER = 17,       /* value: triggers, a bit each; `from` if known */
	/* Bound to no address: stands before the block during which it came. */
	PTL_FLOW_CBR = 18,         /* value: core-to-bus ratio */
	PTL_FLOW_POWER_ENTRY = 19, /* value: state | sub-state << 8 | hardware << 16 */
	PTL_FLOW_POWER_EXIT = 20   /* value: last | deepest << 8 | wake reason << 16 */
};

/* Why flow is missing. */
enum ptl_flow_gap_cause {
	PTL_FLOW_GAP_NONE = 0,     /* the event is no gap */
	PTL_FLOW_GAP_OVERFLOW = 1, /* the CPU reported it: an OVF packet */
	PTL_FLOW_GAP_LOST = 2,     /* a hole in the stream: buffers that were not written, or are damaged */
	PTL_FLOW_GAP_SYNC = 3,     /* bytes before any PSB: decoding cannot start in them */
	PTL_FLOW_GAP_PACKET = 4,   /* no packets, packets where none may be, or a packet that is cut off */
	PTL_FLOW_GAP_CODE = 5,     /* the code at `from` is not in the trace */
	PTL_FLOW_GAP_MISMATCH = 6, /* the packets do not fit the code */
	PTL_FLOW_GAP_SWITCH = 7    /* a context switch: whose packets these are is not known */
};

#define PTL_FLOW_HAS_FROM 0x01u /* `from` is valid */
#define PTL_FLOW_HAS_TO 0x02u   /* `to` is valid */
#define PTL_FLOW_RESUMED 0x04u  /* ENABLED: where packets were disabled; nothing is missing in between */
/* PAGING, VMCS, EXEC_MODE: the TIP that says from where on it holds is missing; it does so before this place. */
#define PTL_FLOW_UNPLACED 0x08u

struct ptl_flow_event {
	uint8_t kind;  /* enum ptl_flow_kind */
	uint8_t cause; /* enum ptl_flow_gap_cause */
	uint8_t flags; /* PTL_FLOW_HAS_FROM and so on */
	uint8_t type;  /* its kind says what these four mean */
	uint8_t item;
	uint64_t value;
	uint64_t from;
	uint64_t to;
	uint64_t time;   /* 0 unknown */
	uint64_t offset; /* in the stream, of the packet that reported it, or near it */
	uint64_t size;   /* of a gap: bytes of PT that were not decoded; 0 for an overflow, as nobody knows */
};

/*
 * PT from one PSB to the next, or what one thread has of it: the unit that is decoded by itself. Segments with the same
 * `group` are consecutive flow of one thread; where packets of a CPU belong to no known thread, of one CPU. A thread may
 * have several groups, one after the other.
 */
struct ptl_flow_segment {
	uint32_t pid; /* PTL_NO_ID: unknown */
	uint32_t tid;
	uint32_t cpu; /* PTL_NO_CPU: the stream is a thread's */
	uint32_t stream;
	uint64_t group;  /* from 0, of those selected */
	uint64_t offset; /* in the stream */
	uint64_t size;   /* bytes */
	uint64_t time;   /* of its PSB; 0 unknown */
	bool first;      /* of its group */
	bool last;
};

/* One step of flow: a block or an event; the other one is NULL. */
struct ptl_flow_item {
	const struct ptl_flow_segment *segment;
	const struct ptl_flow_block *block;
	const struct ptl_flow_event *event;
	/*
	 * When it happened, as far as timing packets show; 0 unknown. A block was executed between earliest and latest,
	 * both inclusive; 0 and UINT64_MAX where that is not known, as always for events and with libipt's engines.
	 */
	uint64_t time;
	uint64_t earliest;
	uint64_t latest;
	bool speculative; /* a block within a TSX transaction */
};

/* Names as ptl-dump prints them: "conditional", "async-branch", "missing-code". Never NULL ("unknown"). */
const char *ptl_flow_branch_name(unsigned branch);
const char *ptl_flow_kind_name(unsigned kind);
const char *ptl_flow_gap_cause_name(unsigned cause);
/* Names of the types of PTL_FLOW_CONTROL ("interrupt") and PTL_FLOW_EVENT_DATA; NULL: the SDM knew none of this type. */
const char *ptl_flow_control_name(unsigned type);
const char *ptl_flow_event_data_name(unsigned type);

/* What a block's image is: path, address, build id, process; NULL: there is none of this number. Until ptl_flow_close. */
const struct ptl_image_event *ptl_flow_image(const struct ptl_flow *flow, uint32_t image);

/* --- what to decode, and how ---------------------------------------------------------------------- */

/* Names of the engines, for options.engine; NULL beyond the last. 0 is the default. */
const char *ptl_flow_engine_name(size_t i);

/* Zero but for its size, it selects everything. All selections have to hold at once. */
struct ptl_flow_options {
	size_t size;          /* sizeof(struct ptl_flow_options) */
	const uint32_t *pids; /* flow of any of these processes; NULL and 0: of all */
	size_t pid_count;
	const uint32_t *tids; /* likewise of threads */
	size_t tid_count;
	const uint32_t *cpus; /* what these CPUs' streams have; streams of threads have no CPU, and are left out */
	size_t cpu_count;
	/*
	 * Flow of these times, both inclusive, as exactly as timing packets allow; 0: no limit. What has no known time
	 * stays in.
	 */
	uint64_t first_time;
	uint64_t last_time;
	const char *engine; /* NULL: the default */
	unsigned threads;   /* that decode; 0: one for each CPU. Results never depend on it. Iterators use one */
	/*
	 * Segments of all threads in order of their time, not thread after thread. Only for views with emit, and
	 * iterators; a segment's own flow still comes in one piece.
	 */
	bool by_time;
	/* On the calling thread of ptl_flow_run now and then: bytes of PT done, and in all. May be NULL. */
	void (*progress)(void *context, uint64_t done, uint64_t total);
	void *progress_context;
};

/* --- views: folds over flow, run in parallel ------------------------------------------------------- */

/* A stretch of flow of one segment; only within consume, and only for the thread that consume runs on. */
struct ptl_flow_batch;

/* Sums over all blocks of the batch. */
uint64_t ptl_flow_batch_instructions(const struct ptl_flow_batch *batch);
uint64_t ptl_flow_batch_blocks(const struct ptl_flow_batch *batch);
uint64_t ptl_flow_batch_branches(const struct ptl_flow_batch *batch); /* executed branch instructions, taken or not */
/*
 * The next block or event in order; NULL behind the last. For a view with counts_only, events alone. The item and its
 * event are valid until the next call; blocks until the segment's last consume has returned.
 */
const struct ptl_flow_item *ptl_flow_batch_next(struct ptl_flow_batch *batch);

/*
 * A view makes a partial result of each segment, on any thread, and neighbours are merged in order. merge must be
 * associative: then the result is the same for any number of threads.
 *
 * Functions return 0, or a negative enum ptl_status, which ends the run and is returned by it (PTL_CANCELLED: the caller
 * wants no more). A positive result is PTL_MISUSE. They must not throw exceptions or jump out. Each partial result is
 * handed to exactly one of merge (as right), finish, emit or drop, which takes it over.
 */
struct ptl_flow_view {
	size_t size; /* sizeof(struct ptl_flow_view) */
	/*
	 * consume looks at sums and events only, and ptl_flow_batch_next gives events alone. Faster, as engines need not
	 * list the blocks.
	 */
	bool counts_only;
	/* On a worker: *partial is an empty partial result for the segment, which must not be NULL. */
	int (*begin)(void *context, const struct ptl_flow_segment *segment, void **partial);
	/* On a worker: more flow of the segment, in order. Not called for a segment without any. */
	int (*consume)(void *context, void *partial, const struct ptl_flow_segment *segment,
		       struct ptl_flow_batch *batch);
	/* On the calling thread, segments in order: adds right to left, and takes right over, also on failure. */
	int (*merge)(void *context, void *left, void *right);
	/* On the calling thread: a group is complete. last is its last segment. Takes result over, also on failure. */
	int (*finish)(void *context, const struct ptl_flow_segment *last, void *result);
	/*
	 * Instead of merge and finish, which are NULL then, for output: takes over each segment's partial result in order,
	 * also on failure, on the calling thread. With by_time, no later segment has flow before horizon; else it is 0.
	 */
	int (*emit)(void *context, const struct ptl_flow_segment *segment, void *partial, uint64_t horizon);
	/* On the calling thread: frees a partial result that nobody has taken over, when a run fails. */
	void (*drop)(void *context, void *partial);
};

/*
 * Decodes what options select (NULL: everything) and runs the view over it. context is handed to all functions; begin and
 * consume are called on several threads at once and have to mind that. Damaged packets and missing code are gaps in the
 * flow, not errors. Several runs of one ptl_flow may go on at the same time. PTL_MISUSE (no engine of that name, a view
 * that lacks functions), PTL_UNSUPPORTED (a newer structure), PTL_SYSTEM, what a function of the view returned.
 */
int ptl_flow_run(struct ptl_flow *flow, const struct ptl_flow_options *options, const struct ptl_flow_view *view,
		 void *context);

/* --- iterators: one item after the other ------------------------------------------------------------ */

struct ptl_flow_iterator;

/*
 * Gives the same flow item by item: thread after thread, each in order. Decoding goes on in a thread of the iterator's
 * own, one batch at a time, so memory is bounded. A view that is run in parallel is faster. Errors as ptl_flow_run has
 * them, but for those of decoding, which ptl_flow_next returns.
 */
int ptl_flow_iterator_new(struct ptl_flow *flow, const struct ptl_flow_options *options,
			  struct ptl_flow_iterator **iterator);
/*
 * 1 and the next item, with all that it points to valid until the next call; 0 at the end; negative: decoding failed,
 * and the iterator has ended. One thread at a time may use an iterator.
 */
int ptl_flow_next(struct ptl_flow_iterator *iterator, const struct ptl_flow_item **item);
/* At any time: what has not been given out is not decoded. NULL is allowed. */
void ptl_flow_iterator_free(struct ptl_flow_iterator *iterator);

#ifdef __cplusplus
}
#endif

#endif
