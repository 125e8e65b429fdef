/* SPDX-License-Identifier: BSD-2-Clause */
/* The shared memory between ptl-record and the QEMU plugin in each traced process. */

#ifndef RECORD_QEMU_SHARED_CHANNEL_H
#define RECORD_QEMU_SHARED_CHANNEL_H

#include <stddef.h>
#include <stdint.h>

#include <ptl/trace.h>

#include "record/process/target.h"

/*
 * The recorder makes one sparse memory file, the arena, and starts
 *
 *     qemu-x86_64 -plugin .../ptl-qemu.so,arena=/proc/<pid>/fd/<n>,... -0 <argv0> <path> <args>
 *
 * The plugin maps all of it and closes the descriptor; children made by fork inherit the mapping,
 * programs started by execve open the same path again.
 *
 *     arena   header (QEMU_CHANNEL_HEADER_SIZE bytes) | slot 0 | slot 1 | ... | slot slot_count-1
 *     slot    struct qemu_slot (QEMU_SLOT_STATE_SIZE bytes) | message, PT ring + slack, truth ring
 *
 * A slot belongs to one traced thread. The thread is the only producer of its rings and the
 * recorder the only consumer. Everything needed to complete the thread's PT stream is in the slot,
 * so nothing is lost when the thread is killed at any instruction: see qemu_channel_finish() in
 * host_channel.h.
 *
 * The recorder must not believe anything it reads here: a traced program can write to the arena.
 * Offsets are checked against the geometry the recorder itself chose, never against the header's
 * copy of it.
 */

#define QEMU_CHANNEL_MAGIC 0x314e4843514c5450ull /* "PTLQCHN1" in memory */
#define QEMU_CHANNEL_VERSION 5u
#define QEMU_CPUS_MAX 64u
#define QEMU_CHANNEL_HEADER_SIZE 16384u
#define QEMU_SLOT_STATE_SIZE 8192u
/* The producer may write this many bytes past the end of the PT ring before it copies them to its
 * start. */
#define QEMU_PT_SLACK 4096u
#define QEMU_CHANNEL_PATH_SIZE RECORD_PATH_SIZE

/*
 * The clock the packets show. In both clocks one TSC tick is one nanosecond. These are the values a
 * decoder needs and the recorder states in the machine record; they are constants of the software
 * source.
 */
#define QEMU_TSC_HZ 1000000000ull
#define QEMU_CPUID_15_EAX 1u /* TSC frequency = ART frequency * EBX / EAX: ART is 25 MHz */
#define QEMU_CPUID_15_EBX 40u
#define QEMU_NOMINAL_RATIO 10u    /* the nominal frequency, and CBR's ratio, in units of 100 MHz: a cycle is a ns */
#define QEMU_MTC_SHIFT_DEFAULT 6u /* an MTC each 2^6 ART ticks = 2.56 us; libipt's mtc_freq */

/* What the recorder chooses. Written once, before the first process starts. */
struct qemu_channel_config {
	uint32_t slot_count; /* 1 to 65536 */
	uint32_t timing;     /* enum ptl_timing; TSC: in PSB+ and with each TIP.PGE */
	/*
	 * PTL_CLOCK_MONOTONIC: in nanoseconds. PTL_CLOCK_VIRTUAL: one nanosecond an executed
	 * instruction, a Lamport clock between threads.
	 */
	uint32_t clock;
	uint32_t return_compression; /* 0 or 1 */
	uint32_t truth;              /* 0 or 1: fill the truth rings */
	uint32_t mtc_shift;          /* 0 to 15 */
	uint32_t cpu_count;          /* virtual CPUs on which threads take turns; 0: each has a stream of its own */
	uint64_t psb_period;         /* bytes from one PSB to the next, at least 64 */
	uint64_t pt_ring_size;       /* a power of two, at least 64 KiB */
	uint64_t message_ring_size;  /* a power of two, at least 64 KiB */
	uint64_t truth_ring_size;    /* a power of two, at least 64 KiB; 0 without truth */
	uint64_t virtual_start;      /* first time of the virtual clock, ns */
	char arena_path[QEMU_CHANNEL_PATH_SIZE];  /* how any process opens the arena:
						    /proc/<pid>/fd/<n> */
	char plugin_path[QEMU_CHANNEL_PATH_SIZE]; /* absolute */
	char qemu_path[QEMU_CHANNEL_PATH_SIZE];   /* absolute */
};

/* A virtual CPU. */
#define QEMU_CPU_OWNER 0xffffffu
#define QEMU_CPU_TURN 0x1000000u
struct qemu_cpu {
	uint64_t
		owner; /* QEMU_CPU_TURN times the number of turns so far, and 1 + the index of the slot that has it now, or 0 */
	uint64_t time; /* nothing that is executed on it from now on is earlier */
};

/* The arena's first bytes. */
struct qemu_channel_header {
	uint64_t magic;
	uint32_t version;
	uint32_t reserved0;
	struct qemu_channel_config config;

	/* Written by both sides while tracing; atomics. */
	/*
	 * The id of the recorder's main thread, which the kernel takes away when that ends, however it does: a robust futex.
	 * A program that has no descriptor left, no /proc, or other pids, can look at it.
	 */
	uint32_t recorder;
	uint32_t stop __attribute__((aligned(64))); /* recorder: 1 = stop tracing, let the programs run on; noticed
				    * by a thread at its next PSB or system call */
	uint32_t psb_request;      /* recorder: where it differs from a slot's psb_answered, the thread writes a PSB */
	uint32_t recorder_waiting; /* recorder: 1 while it sleeps on doorbell */
	uint32_t doorbell;         /* futex (shared): a producer adds 1 and wakes when there is much to
				  drain */
	uint32_t next_process;     /* last process number given out; the first process is 1 */
	uint64_t sequence __attribute__((aligned(64))); /* last message sequence number given out */
	uint32_t slots_claimed;                         /* how many times a slot was claimed, ever */
	uint32_t untraced_threads;                      /* threads that found no free slot and ran untraced: a loss */
	uint32_t untraced_processes;                    /* processes whose plugin could not start tracing: a loss */
	uint32_t slot_high; /* 1 + the highest slot index ever claimed: the recorder need not look
			       further */

	uint32_t cpus_freed __attribute__((aligned(64))); /* futex (shared): adds 1 when a CPU is free */
	uint32_t cpus_wanted; /* threads that wait for one; too many where some were killed */
	struct qemu_cpu cpus[QEMU_CPUS_MAX];
};

/* A slot's state; atomic. Only the transitions shown exist. */
enum qemu_slot_status {
	QEMU_SLOT_FREE = 0,
	QEMU_SLOT_CLAIMED = 1, /* FREE -> CLAIMED by the producer's compare-and-swap; rings not readable yet */
	QEMU_SLOT_LIVE = 2,    /* CLAIMED -> LIVE: pid, tid and process are valid, the rings may be drained */
	QEMU_SLOT_ENDED = 3,   /* LIVE -> ENDED by the producer: the PT stream is complete, nothing
			       more will come */
			       /* ENDED -> FREE by the recorder after it drained all. LIVE -> FREE too, after
	 * qemu_channel_finish(), when the recorder has seen that the thread is dead. CLAIMED -> FREE
	 * when claimant_pid is dead. */
};

/* What the last instruction of a block is; part of the encoder's state. */
enum qemu_block_kind {
	QEMU_BLOCK_LINEAR = 0, /* no branch: the block ended for QEMU's own reasons */
	QEMU_BLOCK_REPEAT = 1, /* a string instruction with a repeat prefix */
	QEMU_BLOCK_COND = 2,   /* conditional branch, including LOOP and JRCXZ */
	QEMU_BLOCK_JUMP = 3,   /* direct near jump */
	QEMU_BLOCK_CALL = 4,   /* direct near call */
	QEMU_BLOCK_JUMP_INDIRECT = 5,
	QEMU_BLOCK_CALL_INDIRECT = 6,
	QEMU_BLOCK_RETURN = 7,     /* near return */
	QEMU_BLOCK_FAR = 8,        /* far transfer within user mode: far jump, call, return, IRET */
	QEMU_BLOCK_SYSCALL = 9,    /* SYSCALL, SYSENTER, INT 80h: leaves user mode */
	QEMU_BLOCK_TRAP = 10,      /* INT3, INT1, other INT n: leaves user mode, for a signal */
	QEMU_BLOCK_UNDEFINED = 11, /* cannot retire: UD0/1/2, privileged, or bytes that do not decode */
};

#define QEMU_RETURN_STACK_SIZE 64u /* calls that the return stack of Intel PT remembers */

#define QEMU_TNT_SHIFT 16u /* of the TNT bits in struct qemu_slot's tnt */
#define QEMU_TNT_TAG 0xffffu

/*
 * A thread's slot. All of it is written by the thread alone, but for the fields marked "recorder:".
 * Ring positions are byte counts since the slot was claimed; they never wrap.
 */
struct qemu_slot {
	uint32_t status;       /* enum qemu_slot_status; atomic */
	uint32_t claimant_pid; /* who claimed it, valid from CLAIMED on */
	uint32_t pid;
	uint32_t tid;
	uint32_t process;    /* number of the process in this session, see QEMU_MSG_PROCESS_START; never
			     reused */
	uint32_t generation; /* counts the claims of this slot */

	/* recorder: how far it has drained; futex word to wake a producer that waits for room. */
	uint64_t pt_tail __attribute__((aligned(64)));
	uint64_t message_tail;
	uint64_t truth_tail;
	uint32_t room;        /* futex (shared): the recorder adds 1 after advancing a tail and wakes if
			   producer_waiting */
	uint32_t reply;       /* futex (shared): number of the last request answered, stored after
			   reply_value; wake it */
	uint32_t reply_value; /* answer to the request: enum qemu_image_reply */

	uint32_t producer_waiting __attribute__((aligned(64))); /* 1 while the producer sleeps on room */
	uint32_t request;                                       /* number of the last request sent */
	uint64_t message_head;

	/*
	 * The encoder. Its first cache line is what every executed block touches. A killed thread
	 * has executed a prefix of its stores, so they are made in an order from which
	 * qemu_channel_finish() can tell how far it got:
	 *
	 * Entering a block without a packet stores next_ip, tnt, block_ip. The low 16 bits of tnt
	 * are those of the block's address, so they tell whether tnt belongs to next_ip already.
	 *
	 * A step with packets, when they are complete in the ring, stores {commit_head, commit_ip}
	 * in one 16-byte store, then next_ip, tnt, block_ip, pt_head. If commit_head is above
	 * pt_head, the thread died in between, and the state is pt_head = commit_head, block_ip =
	 * commit_ip, and no TNT bits.
	 */
	uint64_t tnt __attribute__((aligned(64))); /* bits 63:16: pending TNT bits below a stop bit, oldest highest */
	uint64_t block_ip; /* first address of the block being executed; 0 = packets are disabled */
	uint64_t next_ip;
	uint64_t pt_head;      /* position after the last byte written to the PT ring */
	uint64_t block;        /* (plugin's pointer) the block being executed */
	uint64_t instructions; /* virtual clock: executed so far, not counting those of block */
	uint64_t return_top;   /* pushes less pops of return_stack */
	uint32_t cpu;          /* 1 + the virtual CPU that the thread has; 0: none */
	uint32_t stop_signal;  /* the fatal signal the thread was killed by, if it said so; 0 =
				 unknown */

	uint64_t commit_head;
	uint64_t commit_ip;

	uint64_t pt_bias;  /* (plugin's pointer) address of a byte less its position */
	uint64_t pt_lap;   /* position of the byte at ring offset 0 in the current lap; see below */
	uint64_t pt_limit; /* position at which the slow path runs: PSB due, room, end of lap; recorder: 0, for a PSB */
	uint64_t last_ip;  /* of IP compression */
	uint64_t psb_next; /* position at or after which the next PSB is due */
	uint64_t time;     /* of the last time shown in the stream, ns */
	uint64_t virtual_offset; /* virtual clock = virtual_offset + instructions */
	uint64_t epoch;          /* of the process's mappings, at the last PSB */
	uint64_t ctc;            /* MTC mode: the last CTC shown, in MTC periods */
	uint64_t cyc_time;       /* CYC mode: the time up to which CYC packets account, ns */
	uint64_t return_bottom;
	uint32_t psb_answered; /* the header's psb_request at the last PSB */
	uint32_t reserved;

	/*
	 * Truth. {truth_head, truth_mark} are stored at once, after the packets of the step; a mark
	 * that does not fit the packets tells that the thread died in between.
	 */
	uint64_t truth_head __attribute__((aligned(16))); /* words written */
	uint64_t truth_mark;                              /* qemu_truth_mark() when truth_head was stored */
	uint64_t truth_block;                             /* (plugin's pointer) that block, */
	uint64_t truth_started;                           /* how many of its instructions have started, */
	uint32_t truth_number;                            /* its number; 0 = no block is being counted */
	uint32_t truth_count;                             /* and how many instructions it has */
	uint64_t return_stack[QEMU_RETURN_STACK_SIZE];
};

/*
 * The PT ring. The byte at position p is at ring offset p mod size, except that the producer may
 * have written bytes past the ring's end, into the slack, that it has not yet copied to the start:
 * those are positions from pt_lap + size on. pt_head is stored after the bytes below it are
 * written, pt_lap after the copying, so a consumer takes bytes up to min(pt_head, pt_lap + size)
 * and the rest in a moment; qemu_channel_read_pt() does.
 *
 * The truth ring holds 32-bit words. A word below 2^31 is an executed block, by its number (see
 * QEMU_MSG_BLOCK), all of whose instructions retired. A word n + 2^31 is followed by a word that
 * holds how many instructions of block n retired, from its first on. A continued repeat instruction
 * is part of its first iteration and is not shown again. A block that was running when the thread
 * was killed is not in the ring; it is completed by qemu_channel_finish().
 *
 * The message ring holds struct qemu_message with their payloads, each starting at a multiple of 8
 * bytes and wrapping at the ring's end anywhere; qemu_channel_read_message() copies one out and
 * checks it.
 */
#define QEMU_TRUTH_PARTIAL 0x80000000u

/* The largest message, header included; a message ring holds at least one. */
#define QEMU_MESSAGE_MAX 65536u

enum qemu_message_type {
	QEMU_MSG_PROCESS_START = 1,
	QEMU_MSG_EXEC = 2,
	QEMU_MSG_EXEC_BYTES = 3,
	QEMU_MSG_EXIT = 4,
	QEMU_MSG_THREAD_START = 5,
	QEMU_MSG_THREAD_END = 6,
	QEMU_MSG_CHILD_STATUS = 7,
	QEMU_MSG_IMAGE_MAP = 8,
	QEMU_MSG_IMAGE_UNMAP = 9,
	QEMU_MSG_IMAGE_PROTECT = 10,
	QEMU_MSG_CODE = 11,
	QEMU_MSG_PSB = 12,
	QEMU_MSG_NOT_FOLLOWED = 13,
	QEMU_MSG_EXEC_FAILED = 14,
	QEMU_MSG_BLOCK = 15,
	QEMU_MSG_NOTE = 16,
	QEMU_MSG_THREAD_NAME = 17,
	QEMU_MSG_CPU = 18,
};

/*
 * Every message begins with this. `sequence` is a total order over all messages of the session: if
 * one message was sent before another began to be, its number is smaller. `time` is in the trace
 * clock; within one process mapping messages have times that never decrease with sequence.
 */
struct qemu_message {
	uint32_t size;  /* header and payload, not the padding to 8 */
	uint16_t type;  /* enum qemu_message_type */
	uint16_t flags; /* QEMU_MESSAGE_* */
	uint32_t pid;
	uint32_t tid;
	uint64_t time;
	uint64_t sequence;
	uint64_t pt_offset; /* pt_head when the message was sent */
	uint32_t process;
	uint32_t request; /* nonzero: the thread waits until slot->reply == request */
};

#define QEMU_MESSAGE_TRUNCATED 1u /* a string or list in it did not fit */
#define QEMU_MESSAGE_RUNDOWN 2u   /* recorder's own: states what had begun before it was looked at */

/*
 * Versions of an address space. `epoch` counts the changes of a process's executable mappings and
 * code bytes. Each message that changes them carries the epoch it begins; each PSB carries the
 * epoch its segment (the PT bytes up to the next PSB) decodes under. All messages of an epoch have
 * smaller sequence numbers than any PSB message of that epoch, and: PSB.time >= time of every
 * change with epoch <= PSB.epoch, and PSB.time < time of every change with epoch > PSB.epoch. So
 * looking code up by (process, PSB.time) is exact. A child of fork begins with a copy of the
 * parent's images and goes on counting from the parent's epoch.
 */

enum qemu_process_how {
	QEMU_PROCESS_INITIAL = 0, /* started by the recorder */
	QEMU_PROCESS_FORK = 1,    /* fork, vfork, clone without CLONE_VM: a copy of the parent's address space */
};

/*
 * A process begins; its first message. A QEMU_MSG_EXEC follows at once if how is QEMU_PROCESS_INITIAL. With truth, a
 * child of fork waits for the answer.
 */
struct qemu_message_process_start {
	struct qemu_message header; /* header.process is a new number */
	uint32_t how;               /* enum qemu_process_how */
	uint32_t parent_pid;
	uint32_t parent_process; /* its number; 0 = not traced */
	uint32_t parent_tid;
	uint64_t epoch; /* the child's epoch, when the mappings are the parent's as at parent_epoch
			 */
	uint64_t parent_epoch;
};

/*
 * The process now runs another program: its images are all gone (no unmap messages are sent), all
 * threads but this one are gone. Followed by QEMU_MSG_EXEC_BYTES until `total` bytes are there: path
 * NUL, interpreter script path NUL (empty unless started through #!), cwd NUL, then argv strings
 * each NUL.
 */
struct qemu_message_exec {
	struct qemu_message header;
	uint32_t total;
	uint32_t argc;
	uint64_t epoch;
	uint64_t start_address; /* entry point of the program */
};

struct qemu_message_exec_bytes {
	struct qemu_message header;
	uint32_t offset; /* of bytes in the whole */
	uint32_t length;
	/* length bytes follow */
};

/* The whole process is about to end by exit_group (or the last thread's exit) or by a signal it
 * died of. */
struct qemu_message_exit {
	struct qemu_message header;
	uint32_t status; /* as in waitpid's status: (code & 255) << 8, or a signal number */
	uint32_t reserved;
};

struct qemu_message_thread_start {
	struct qemu_message header; /* sent by every thread but the one of PROCESS_START */
	uint32_t parent_tid;        /* 0 = unknown */
	uint32_t reserved;
};

struct qemu_message_thread_end {
	struct qemu_message header;
	uint32_t status; /* argument of exit */
	uint32_t reserved;
};

/* The thread's wait call returned the status of a child. */
struct qemu_message_child_status {
	struct qemu_message header;
	uint32_t child_pid;
	uint32_t status; /* as waitpid's */
};

enum qemu_image_flag {
	QEMU_IMAGE_ANONYMOUS = 1u,    /* no file: code arrives as QEMU_MSG_CODE */
	QEMU_IMAGE_DELETED = 2u,      /* its file has no name any more (memfd included) */
	QEMU_IMAGE_WRITABLE = 4u,     /* is, or was since it was mapped, writable: bytes may differ from the file's */
	QEMU_IMAGE_FOUND = 8u,        /* not seen being mapped: found when code in it was first translated */
	QEMU_IMAGE_MAIN = 16u,        /* of the program's own file */
	QEMU_IMAGE_INTERPRETER = 32u, /* of the ELF interpreter (dynamic linker) */
	QEMU_IMAGE_SHARED = 64u,      /* MAP_SHARED */
	QEMU_IMAGE_VDSO = 128u,       /* made by QEMU or the kernel: vdso, vsyscall page */
};

/*
 * An executable mapping. If header.request is set, the plugin waits: does the recorder have, or
 * will it surely read, the bytes of exactly this file (device, inode; it can be opened through
 * /proc/<pid>/map_files or its path)? Without a QEMU_IMAGE_REPLY_HAVE the plugin sends the pages as
 * they are executed. A mapping over an older one replaces it where they overlap: no unmap is sent
 * for that.
 */
struct qemu_message_image {
	struct qemu_message header;
	uint64_t base;
	uint64_t size;
	uint64_t file_offset;
	uint64_t device; /* makedev() form, as st_dev */
	uint64_t inode;
	uint64_t epoch;
	uint32_t protection; /* PROT_* */
	uint32_t flags;      /* enum qemu_image_flag */
	uint32_t path_length;
	uint32_t reserved;
	/* path_length bytes follow, no NUL; empty for anonymous memory */
};

enum qemu_image_reply {
	QEMU_IMAGE_REPLY_NONE = 0,
	QEMU_IMAGE_REPLY_HAVE = 1,        /* the file's bytes are, or will be, in the trace */
	QEMU_IMAGE_REPLY_DO_NOT_SEND = 2, /* code bytes are not wanted (--embed none) */
};

/* [base, base + size) is no longer executable memory. */
struct qemu_message_unmap {
	struct qemu_message header;
	uint64_t base;
	uint64_t size;
	uint64_t epoch;
};

/* The protection of [base, base + size), in which images lie, changed but it is still executable.
 */
struct qemu_message_protect {
	struct qemu_message header;
	uint64_t base;
	uint64_t size;
	uint64_t epoch;
	uint32_t protection;
	uint32_t reserved;
};

/*
 * Bytes of executable memory as they are executed from this epoch on; at most a page, within one.
 * They overlay what was sent before for these addresses since the last map or unmap there. Bytes
 * that no block of this epoch had executed yet are sent without a new epoch: header.time is then
 * that of the epoch's beginning, so that the segments already begun find them.
 */
struct qemu_message_code {
	struct qemu_message header;
	uint64_t base;
	uint64_t epoch;
	uint32_t length;
	uint32_t reserved;
	/* length bytes follow */
};

/* A PSB at header.pt_offset. Sent just before the bytes: if the thread is killed in between, they
 * are not there. */
struct qemu_message_psb {
	struct qemu_message header; /* header.time: the time the PSB+'s TSC shows, or would */
	uint64_t epoch;
	uint64_t ip; /* of the FUP in PSB+; 0 if packets are disabled there */
};

/* The thread's packets from header.pt_offset on are of a virtual CPU, up to the message that it gives that up. */
struct qemu_message_cpu {
	struct qemu_message header;
	uint32_t cpu;
	uint32_t begins; /* 0: the turn ends */
	uint64_t turn;   /* its number on this CPU: 1, 2, ... */
};

enum qemu_not_followed_cause {
	QEMU_NOT_FOLLOWED_FORMAT = RECORD_TARGET_FORMAT,
	QEMU_NOT_FOLLOWED_ARENA = 2, /* this process may not open the arena (changed user, other mount space) */
	QEMU_NOT_FOLLOWED_UNREADABLE = RECORD_TARGET_UNREADABLE,
};

/*
 * The thread is about to execve a program that will run untraced. QEMU_MSG_EXEC_FAILED takes it
 * back. The program's strings are those of QEMU_MSG_EXEC_BYTES, cut if they are too long.
 */
struct qemu_message_not_followed {
	struct qemu_message header;
	uint32_t cause; /* enum qemu_not_followed_cause */
	uint32_t length;
	/* length bytes follow */
};

/* The longest name of a thread, as the kernel has it. */
#define QEMU_THREAD_NAME_MAX 15u

/* A thread of this process, not always the sender, has this name now. */
struct qemu_message_thread_name {
	struct qemu_message header;
	uint32_t named_tid;
	uint32_t length;
	/* length bytes follow, no NUL */
};

/* A line for the user or the trace's log. */
struct qemu_message_note {
	struct qemu_message header;
	uint32_t severity; /* 0 information, 1 warning */
	uint32_t length;
	/* length bytes follow, no NUL */
};

/*
 * Truth only: defines block `number` of this program (numbers are not reused in it, the thread that
 * defines one may be another than the one that executes it, and the definition's sequence is
 * smaller than any that follows its first use). After fork the child knows its parent's blocks;
 * after QEMU_MSG_EXEC there are none.
 */
struct qemu_message_block {
	struct qemu_message header;
	uint32_t number;
	uint32_t count;
	/* count 64-bit instruction addresses follow */
};

_Static_assert(sizeof(struct qemu_channel_header) <= QEMU_CHANNEL_HEADER_SIZE, "the header fits its pages");
_Static_assert(sizeof(struct qemu_slot) <= QEMU_SLOT_STATE_SIZE, "the slot's state fits its pages");

/* Tells one state of a thread's packets from the next. */
static inline uint64_t qemu_truth_mark(uint64_t pt_head, uint64_t tnt)
{
	return pt_head * 0x9e3779b97f4a7c15ull ^ tnt;
}

/* Where things are; all offsets are in bytes and multiples of the page size. */

static inline uint64_t qemu_channel_slot_size(const struct qemu_channel_config *config)
{
	return QEMU_SLOT_STATE_SIZE + config->message_ring_size + config->pt_ring_size + QEMU_PT_SLACK +
	       config->truth_ring_size;
}

static inline uint64_t qemu_channel_arena_size(const struct qemu_channel_config *config)
{
	return QEMU_CHANNEL_HEADER_SIZE + config->slot_count * qemu_channel_slot_size(config);
}

static inline uint64_t qemu_channel_slot_offset(const struct qemu_channel_config *config, uint32_t index)
{
	return QEMU_CHANNEL_HEADER_SIZE + index * qemu_channel_slot_size(config);
}

/* Offsets within a slot. */
static inline uint64_t qemu_slot_message_ring(void)
{
	return QEMU_SLOT_STATE_SIZE;
}

static inline uint64_t qemu_slot_pt_ring(const struct qemu_channel_config *config)
{
	return qemu_slot_message_ring() + config->message_ring_size;
}

static inline uint64_t qemu_slot_truth_ring(const struct qemu_channel_config *config)
{
	return qemu_slot_pt_ring(config) + config->pt_ring_size + QEMU_PT_SLACK;
}

#endif
