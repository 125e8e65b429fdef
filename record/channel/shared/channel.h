/* SPDX-License-Identifier: BSD-2-Clause */
/* The shared memory between ptl-record and the software source's runtime in each traced process. */

#ifndef RECORD_CHANNEL_SHARED_CHANNEL_H
#define RECORD_CHANNEL_SHARED_CHANNEL_H

#include <stddef.h>
#include <stdint.h>

#include <ptl/trace.h>

#include "record/channel/shared/values.h"
#include "record/proc/target.h"

/*
 * The recorder makes one sparse memory file, the arena. The runtime of the software source lies in the arena behind the
 * header, and is mapped into each new program from /proc/<pid>/fd/<n>. The runtime maps the whole arena, and closes the
 * descriptor. Children made by fork inherit the mapping. Programs started by execve open the path again.
 *
 *   arena    header (CHANNEL_HEADER_SIZE bytes) | runtime | plans of values | slot 0 | slot 1 | ... | slot slot_count-1
 *   slot     struct channel_slot (CHANNEL_SLOT_STATE_SIZE bytes) | the runtime's table of indirect branch targets |
 *            message, PT ring + slack | the runtime's stacks
 *
 * A slot belongs to one traced thread. The thread is the only producer of the slot's rings, and the recorder is the
 * only consumer. Packets of a killed thread are in the ring: see channel_finish() in record/channel/channel.h.
 *
 * The recorder trusts no value in the arena: traced programs can write to the arena. Offsets are checked against the
 * geometry that the recorder chose, never against the header's copy.
 */

#define CHANNEL_MAGIC 0x314e4148434c5450ull /* "PTLCHAN1" in memory */
#define CHANNEL_VERSION 11u
#define CHANNEL_CPUS_MAX 64u
#define CHANNEL_HEADER_SIZE 16384u
#define CHANNEL_SLOT_STATE_SIZE 16384u
#define CHANNEL_TARGETS_SIZE 65536u /* bytes of a thread's table of indirect branch targets; zero in a free slot */
/* The producer may write this many bytes past the end of the PT ring before copying the bytes to the ring's start. */
#define CHANNEL_PT_SLACK 4096u
#define CHANNEL_PATH_SIZE RECORD_PATH_SIZE

/*
 * The clock of the packets: a TSC tick is one nanosecond in all clocks. Decoders need these constants; the recorder
 * writes them to the machine record.
 */
#define CHANNEL_TSC_HZ 1000000000ull
#define CHANNEL_CPUID_15_EAX 1u /* TSC frequency = ART frequency * EBX / EAX: ART is 25 MHz */
#define CHANNEL_CPUID_15_EBX 40u
/* ratio of the nominal frequency and of CBR, in units of 100 MHz: a cycle is a ns */
#define CHANNEL_NOMINAL_RATIO 10u
#define CHANNEL_MTC_SHIFT_DEFAULT 6u /* an MTC each 2^6 ART ticks = 2.56 us; libipt's mtc_freq */

/* Chosen by the recorder. Written once, before the first process starts. */
struct channel_config {
	uint32_t slot_count; /* 1 to 65536 */
	uint32_t timing;     /* enum ptl_timing; TSC: in PSB+ and with each TIP.PGE */
	/*
	 * PTL_CLOCK_MONOTONIC: nanoseconds. PTL_CLOCK_VIRTUAL: one nanosecond per executed instruction, a Lamport clock
	 * between threads.
	 */
	uint32_t clock;
	uint32_t return_compression;        /* 0 or 1 */
	uint32_t mtc_shift;                 /* 0 to 15 */
	uint32_t stops;                     /* 0 or 1: processes go on natively at stop_places */
	uint32_t cpu_count;                 /* virtual CPUs on which threads take turns; 0: a stream per thread */
	uint64_t psb_period;                /* distance of PSBs in bytes, at least 64 */
	uint64_t pt_ring_size;              /* a power of two, at least 64 KiB */
	uint64_t message_ring_size;         /* a power of two, at least 64 KiB */
	uint64_t virtual_start;             /* start of the virtual clock, ns */
	uint64_t runtime_size;              /* bytes of the software source's runtime in the arena */
	uint64_t runtime_code;              /* bytes of code at the runtime's start */
	uint64_t runtime_entry;             /* offset of the runtime's first instruction */
	uint64_t values_size;               /* bytes of struct channel_values in the arena; 0: no --values */
	char arena_path[CHANNEL_PATH_SIZE]; /* path for any process to open the arena: /proc/<pid>/fd/<n> */
};

/* A virtual CPU. */
#define CHANNEL_CPU_OWNER 0xffffffu
#define CHANNEL_CPU_TURN 0x1000000u
struct channel_cpu {
	/* CHANNEL_CPU_TURN times the number of turns so far, plus 1 + the index of the owner's slot, or plus 0 */
	uint64_t owner;
	uint64_t time; /* lower bound of the time of further execution */
};

/*
 * A place at which a process goes on natively: an offset in a file, named by device and inode as in
 * CHANNEL_MSG_IMAGE_MAP.
 */
#define CHANNEL_STOPS_MAX 16u
struct channel_stop_place {
	uint64_t device;
	uint64_t inode;
	uint64_t offset;
};

/* The arena's first bytes. */
struct channel_header {
	uint64_t magic;
	uint32_t version;
	uint32_t reserved0;
	struct channel_config config;

	/* Below: atomics, written by both sides while tracing. */
	/*
	 * Thread id of the recorder's main thread, a robust futex: the kernel clears the id at any end of the thread.
	 * Even programs without descriptors, without /proc or in another pid namespace can read the futex.
	 */
	uint32_t recorder;
	/* recorder: 1 = stop tracing, programs run on; threads notice at their next PSB or system call */
	uint32_t stop __attribute__((aligned(64)));
	uint32_t psb_request;                           /* recorder: a thread with another psb_answered writes a PSB */
	uint32_t recorder_waiting;                      /* recorder: 1 while sleeping on doorbell */
	uint32_t doorbell;                              /* futex (shared): a producer with much data adds 1 and wakes */
	uint32_t next_process;                          /* last assigned process number; the first process is 1 */
	uint64_t sequence __attribute__((aligned(64))); /* last assigned sequence number of a message */
	uint32_t slots_claimed;                         /* total number of claims of slots */
	uint32_t untraced_threads;                      /* threads without a free slot, which ran untraced: a loss */
	uint32_t untraced_processes;                    /* processes whose runtime could not start tracing: a loss */
	uint32_t native_processes;                      /* processes that went on natively, each with a note: a loss */
	uint32_t hidden_uprobes; /* breakpoints of uprobes in translated code, which never fire: a loss */
	uint32_t slot_high;      /* 1 + highest slot index ever claimed, the end of the recorder's search */

	/* recorder: places of an image's file are added before the reply to the image. */
	uint32_t stop_count;
	struct channel_stop_place stop_places[CHANNEL_STOPS_MAX];

	uint32_t cpus_freed __attribute__((aligned(64))); /* futex (shared): incremented when a CPU becomes free */
	uint32_t cpus_wanted; /* threads that wait for a CPU; too high after kills of waiting threads */
	struct channel_cpu cpus[CHANNEL_CPUS_MAX];
};

/* State of a slot; atomic. Only these transitions exist: */
enum channel_slot_status {
	CHANNEL_SLOT_FREE = 0,
	CHANNEL_SLOT_CLAIMED = 1, /* FREE -> CLAIMED by the producer's compare-and-swap; rings are unreadable */
	CHANNEL_SLOT_LIVE = 2,    /* CLAIMED -> LIVE: pid, tid and process are valid, the rings may be drained */
	CHANNEL_SLOT_ENDED = 3,   /* LIVE -> ENDED by the producer: the PT stream is complete, no data follows */
				  /*
				   * ENDED -> FREE by the recorder after draining. LIVE -> FREE after channel_finish(),
				   * if the recorder has seen the thread's death. CLAIMED -> FREE by the recorder if the
				   * process is dead, by the producer if the thread cannot be made. CLAIMED -> LIVE by
				   * the recorder if the child of `newborn` is dead.
				   */
};

/*
 * Lets the recorder, as tracer, get a thread of the runtime out of a system call at the end of a recording: the
 * recorder moves the instruction pointer from `behind` to `kicked`. The thread then repeats the call natively.
 */
struct channel_kick {
	uint64_t behind;  /* address behind the `syscall` instruction for the program's calls */
	uint64_t kicked;  /* address at which the thread leaves the call */
	uint64_t number;  /* recorder: number of the call to repeat */
	uint32_t restart; /* recorder: enum runtime_restart */
	uint32_t waits;   /* 1 while the thread is in a system call of the program */
};

/*
 * Slot of a thread. Only the thread writes to the slot, except for members marked "recorder:". Ring positions count
 * bytes since the claim of the slot, and never wrap.
 */
struct channel_slot {
	uint32_t status; /* enum channel_slot_status; atomic */
	uint32_t pid;
	uint32_t tid;
	uint32_t
		process; /* number of the process in this session, see CHANNEL_MSG_PROCESS_START; never reused; 0: unknown */
	uint32_t generation; /* number of claims of this slot */
	/*
	 * Written by the parent, for the first thread of a child process: process << 32 | pid; pid 0 if unknown. A child that is
	 * killed before its first instruction leaves the slot CLAIMED, with its CHANNEL_MSG_PROCESS_START in the ring.
	 */
	uint64_t newborn;

	/*
	 * recorder: positions up to which the recorder has drained, and a futex to wake a producer that waits for room.
	 */
	uint64_t pt_tail __attribute__((aligned(64)));
	uint64_t message_tail;
	/* futex (shared): the recorder adds 1 after advancing a tail, and wakes if producer_waiting */
	uint32_t room;
	uint32_t reply;       /* futex (shared): number of the last answered request, stored after reply_value */
	uint32_t reply_value; /* answer to the request: enum channel_image_reply */

	uint32_t producer_waiting __attribute__((aligned(64))); /* 1 while the producer sleeps on room */
	uint32_t request;                                       /* number of the last request sent */
	uint64_t message_head;

	/* The encoder. Pending TNT bits are in the thread's registers. */
	uint64_t pt_head __attribute__((aligned(64))); /* position behind the last byte in the PT ring */
	uint64_t instructions;                         /* virtual clock: instructions executed so far */
	uint32_t cpu;                                  /* 1 + the thread's virtual CPU; 0 without a CPU */

	uint64_t pt_bias; /* address of a byte minus the byte's position, for the runtime's pointer */
	uint64_t pt_lap;  /* position of the byte at ring offset 0 in the current lap; see below */
	/* position at which the slow path runs: PSB due, room, end of lap; the recorder sets 0 for a PSB */
	uint64_t pt_limit;
	uint64_t last_ip;        /* last IP, for IP compression */
	uint64_t psb_next;       /* position from which on the next PSB is due */
	uint64_t time;           /* last time in the stream, ns */
	uint64_t virtual_offset; /* virtual clock = virtual_offset + instructions */
	uint64_t epoch;          /* epoch of the process's mappings at the last PSB */
	uint64_t ctc;            /* MTC mode: last CTC in the stream, in MTC periods */
	uint64_t cyc_time;       /* CYC mode: time that CYC packets account for, ns */
	uint32_t psb_answered;   /* the header's psb_request at the last PSB */
	uint32_t reserved;
	struct channel_kick kick;
};

/*
 * The PT ring. The byte at position p is at ring offset p mod size. Exception: the producer may have written bytes past
 * the ring's end, into the slack, without copying the bytes to the ring's start yet; their positions start at pt_lap +
 * size. pt_head is stored after the bytes below pt_head, and pt_lap after the copying. A consumer therefore reads bytes
 * up to min(pt_head, pt_lap + size), and the rest a moment later, as channel_read_pt() does.
 *
 * The message ring holds struct channel_message with payloads. Each message starts at a multiple of 8 bytes, and may
 * wrap at the ring's end at any byte. channel_read_message() copies and checks a message.
 */

/* Size of the largest message with its header. A message ring holds at least one such message. */
#define CHANNEL_MESSAGE_MAX 65536u

enum channel_message_type {
	CHANNEL_MSG_PROCESS_START = 1,
	CHANNEL_MSG_EXEC = 2,
	CHANNEL_MSG_EXEC_BYTES = 3,
	CHANNEL_MSG_EXIT = 4,
	CHANNEL_MSG_THREAD_START = 5,
	CHANNEL_MSG_THREAD_END = 6,
	CHANNEL_MSG_CHILD_STATUS = 7,
	CHANNEL_MSG_IMAGE_MAP = 8,
	CHANNEL_MSG_IMAGE_UNMAP = 9,
	CHANNEL_MSG_IMAGE_PROTECT = 10,
	CHANNEL_MSG_CODE = 11,
	CHANNEL_MSG_PSB = 12,
	CHANNEL_MSG_NOT_FOLLOWED = 13,
	CHANNEL_MSG_EXEC_FAILED = 14,
	CHANNEL_MSG_NOTE = 16,
	CHANNEL_MSG_THREAD_NAME = 17,
	CHANNEL_MSG_CPU = 18,
	CHANNEL_MSG_SIGNAL = 19,
	CHANNEL_MSG_VALUES = 20,
};

/*
 * Header of every message.
 * sequence: a total order over all messages of the session. If a message was sent before another message was started,
 * its number is smaller.
 * time: in the trace's clock. Messages from one address space have times that never decrease with sequence.
 */
struct channel_message {
	uint32_t size;  /* header and payload, without the padding to 8 */
	uint16_t type;  /* enum channel_message_type */
	uint16_t flags; /* CHANNEL_MESSAGE_* */
	uint32_t pid;
	uint32_t tid;
	uint64_t time;
	uint64_t sequence;
	uint64_t pt_offset; /* pt_head when the message was sent */
	uint32_t process;
	uint32_t request; /* nonzero: the thread waits until slot->reply == request */
};

#define CHANNEL_MESSAGE_TRUNCATED 1u /* a string or list in the message was cut */
#define CHANNEL_MESSAGE_RUNDOWN 2u   /* describes a state from before the recording */

/*
 * Versions of an address space. `epoch` counts changes of a process's executable mappings and code bytes. A message
 * with a change carries the epoch that the change begins. A PSB carries the epoch for decoding its segment, the PT
 * bytes up to the next PSB.
 * All messages of an epoch have smaller sequence numbers than any PSB message of the epoch. PSB.time >= time of every
 * change with epoch <= PSB.epoch, and PSB.time < time of every change with epoch > PSB.epoch. A lookup of code by
 * (process, PSB.time) is therefore exact.
 * A child of fork begins with a copy of the parent's images, and continues the parent's epoch.
 */

enum channel_process_how {
	CHANNEL_PROCESS_INITIAL = 0, /* started by the recorder */
	CHANNEL_PROCESS_FORK = 1,    /* fork, vfork, clone without CLONE_VM: a copy of the parent's address space */
};

/* First message of a process, sent by the parent for a child. A CHANNEL_MSG_EXEC follows at once if how is CHANNEL_PROCESS_INITIAL. */
struct channel_message_process_start {
	struct channel_message header; /* header.process is a new number */
	uint32_t how;                  /* enum channel_process_how */
	uint32_t parent_pid;
	uint32_t parent_process; /* number of the parent; 0 if untraced */
	uint32_t parent_tid;
	uint64_t epoch; /* epoch of the child; its mappings equal the parent's at parent_epoch */
	uint64_t parent_epoch;
};

/*
 * The process now runs another program: all images are gone, without unmap messages, and all other threads have ended.
 * CHANNEL_MSG_EXEC_BYTES follow with `total` bytes: path NUL, interpreter script path NUL (empty unless started through
 * #!), cwd NUL, and each argv string NUL.
 */
struct channel_message_exec {
	struct channel_message header;
	uint32_t total;
	uint32_t argc;
	uint64_t epoch;
	uint64_t start_address; /* entry point of the program */
};

struct channel_message_exec_bytes {
	struct channel_message header;
	uint32_t offset; /* offset of the bytes in the whole */
	uint32_t length;
	/* length bytes follow */
};

/* The process is about to end by exit_group, or by the exit of its last thread. */
struct channel_message_exit {
	struct channel_message header;
	uint32_t status; /* status as of waitpid: (code & 255) << 8 */
	uint32_t reserved;
};

/* The thread takes a signal, and the signal's default action is about to end the process. */
struct channel_message_signal {
	struct channel_message header;
	uint32_t signal;
	int32_t code; /* si_code of sigaction(2) */
	uint32_t sender;
	uint32_t has_address; /* 1 or 0 */
	uint64_t address;
};

struct channel_message_thread_start {
	struct channel_message header; /* sent by every thread except for the thread of PROCESS_START */
	uint32_t parent_tid;           /* 0 if unknown */
	uint32_t reserved;
};

struct channel_message_thread_end {
	struct channel_message header;
	uint32_t status; /* argument of exit */
	uint32_t reserved;
};

/* A wait call of the thread returned the status of a child. */
struct channel_message_child_status {
	struct channel_message header;
	uint32_t child_pid;
	uint32_t status;        /* status as of waitpid */
	uint32_t child_process; /* number of the process; 0: by pid */
	uint32_t reserved;
};

enum channel_image_flag {
	CHANNEL_IMAGE_ANONYMOUS = 1u,    /* without a file: code arrives as CHANNEL_MSG_CODE */
	CHANNEL_IMAGE_DELETED = 2u,      /* the file has no name, as files of memfd_create */
	CHANNEL_IMAGE_WRITABLE = 4u,     /* is or was writable since the mapping: bytes may differ from the file */
	CHANNEL_IMAGE_FOUND = 8u,        /* found when code was first translated, without a seen mmap */
	CHANNEL_IMAGE_MAIN = 16u,        /* file of the program itself */
	CHANNEL_IMAGE_INTERPRETER = 32u, /* ELF interpreter (dynamic linker) */
	CHANNEL_IMAGE_SHARED = 64u,      /* MAP_SHARED */
	CHANNEL_IMAGE_VDSO = 128u,       /* made by the kernel: vdso */
};

/*
 * An executable mapping. A mapping replaces older mappings in its range; no unmap is sent.
 * If header.request is set, the runtime waits for a reply: has the recorder the bytes of exactly this file (device,
 * inode), or will it surely read the file through /proc/<pid>/map_files or the path? Without a
 * CHANNEL_IMAGE_REPLY_HAVE, the runtime sends pages when they are executed.
 */
struct channel_message_image {
	struct channel_message header;
	uint64_t base;
	uint64_t size;
	uint64_t file_offset;
	uint64_t device; /* makedev() form, as st_dev */
	uint64_t inode;
	uint64_t epoch;
	uint32_t protection; /* PROT_* */
	uint32_t flags;      /* enum channel_image_flag */
	uint32_t path_length;
	uint32_t reserved;
	/* path_length bytes follow, no NUL; empty for anonymous memory */
};

enum channel_image_reply {
	CHANNEL_IMAGE_REPLY_NONE = 0,
	CHANNEL_IMAGE_REPLY_HAVE = 1,        /* the recorder has or will read the file */
	CHANNEL_IMAGE_REPLY_DO_NOT_SEND = 2, /* code bytes are unwanted (--embed none) */
};

/* [base, base + size) is no longer executable. */
struct channel_message_unmap {
	struct channel_message header;
	uint64_t base;
	uint64_t size;
	uint64_t epoch;
};

/* The protection of [base, base + size) changed, but the range is still executable. Images lie in the range. */
struct channel_message_protect {
	struct channel_message header;
	uint64_t base;
	uint64_t size;
	uint64_t epoch;
	uint32_t protection;
	uint32_t reserved;
};

/*
 * Bytes of executable memory from this epoch on; at most a page, within one page. The bytes replace earlier bytes of
 * the addresses since the last map or unmap there. Bytes that no block of the epoch has executed yet start no new
 * epoch: header.time is then the beginning of the current epoch, so that earlier segments of the epoch find the bytes.
 */
struct channel_message_code {
	struct channel_message header;
	uint64_t base;
	uint64_t epoch;
	uint32_t length;
	uint32_t reserved;
	/* length bytes follow */
};

/* A PSB at header.pt_offset. The message is sent just before the bytes; a thread killed in between leaves no bytes. */
struct channel_message_psb {
	struct channel_message header; /* header.time: time of the TSC in the PSB+, or the corresponding time */
	uint64_t epoch;
};

/* The thread's packets from header.pt_offset on belong to a virtual CPU, until a message ends the turn. */
struct channel_message_cpu {
	struct channel_message header;
	uint32_t cpu;
	uint32_t begins; /* 0: the turn ends */
	uint64_t turn;   /* number of the turn on this CPU: 1, 2, ... */
};

enum channel_not_followed_cause {
	CHANNEL_NOT_FOLLOWED_FORMAT = RECORD_TARGET_FORMAT,
	CHANNEL_NOT_FOLLOWED_ARENA = 2, /* the process may not open the arena (changed user, other mount namespace) */
	CHANNEL_NOT_FOLLOWED_UNREADABLE = RECORD_TARGET_UNREADABLE,
	CHANNEL_NOT_FOLLOWED_PRIVILEGES =
		4,                       /* set-user-ID, set-group-ID or capabilities, which a tracer would remove */
	CHANNEL_NOT_FOLLOWED_TRACER = 5, /* the process has another tracer, or may not be traced */
	CHANNEL_NOT_FOLLOWED_MEMORY = 6, /* the process may not map the runtime */
};

/*
 * The thread is about to execve a program that will run untraced. CHANNEL_MSG_EXEC_FAILED revokes the message. The
 * strings are as in CHANNEL_MSG_EXEC_BYTES, cut to the maximum length.
 */
struct channel_message_not_followed {
	struct channel_message header;
	uint32_t cause; /* enum channel_not_followed_cause */
	uint32_t length;
	/* length bytes follow */
};

/* Maximum length of the kernel's thread names. */
#define CHANNEL_THREAD_NAME_MAX 15u

/* A thread of this process, possibly not the sender, has a new name. */
struct channel_message_thread_name {
	struct channel_message header;
	uint32_t named_tid;
	uint32_t length;
	/* length bytes follow, no NUL */
};

/*
 * Values at a function of --values. The values follow in the order of the plan's fields, as enum channel_value_kind
 * says. The message has no sequence number: its order among the thread's messages is enough.
 */
struct channel_message_values {
	struct channel_message header;
	uint32_t plan;      /* index in struct channel_values */
	uint32_t tail_call; /* 1: the function ends with a jump to another function, and no values follow */
	uint64_t missing;   /* a bit per field: instead of the value follows the address that cannot be read, u64 */
	uint32_t length;
	uint32_t reserved;
	/* length bytes follow */
};

/* In place of an address: the message has no room for the value. */
#define CHANNEL_VALUE_NO_ROOM 0x8f3a5c7e91b2d46eull /* no address of the CPU */

/* A message text for the user and the trace. */
struct channel_message_note {
	struct channel_message header;
	uint32_t severity; /* 0 information, 1 warning */
	uint32_t length;
	/* length bytes follow, no NUL */
};

_Static_assert(sizeof(struct channel_header) <= CHANNEL_HEADER_SIZE, "the header fits its pages");
_Static_assert(sizeof(struct channel_slot) <= CHANNEL_SLOT_STATE_SIZE, "the slot's state fits its pages");

/* Layout of the arena. All offsets are in bytes, and multiples of the page size. */

/* Bytes of a thread's stacks of the runtime, behind the rings. */
#define CHANNEL_RUNTIME_SIZE (144u << 10)

/* Returns the offset of struct channel_values, behind the header and the runtime's image. */
static inline uint64_t channel_values_offset(const struct channel_config *config)
{
	return CHANNEL_HEADER_SIZE + ((config->runtime_size + 4095) & ~4095ull);
}

/* Returns the offset of the first slot. */
static inline uint64_t channel_slots(const struct channel_config *config)
{
	return channel_values_offset(config) + ((config->values_size + 4095) & ~4095ull);
}

static inline uint64_t channel_slot_size(const struct channel_config *config)
{
	return CHANNEL_SLOT_STATE_SIZE + CHANNEL_TARGETS_SIZE + config->message_ring_size + config->pt_ring_size +
	       CHANNEL_PT_SLACK + CHANNEL_RUNTIME_SIZE;
}

static inline uint64_t channel_arena_size(const struct channel_config *config)
{
	return channel_slots(config) + config->slot_count * channel_slot_size(config);
}

static inline uint64_t channel_slot_offset(const struct channel_config *config, uint32_t index)
{
	return channel_slots(config) + index * channel_slot_size(config);
}

/* Offsets within a slot. */
static inline uint64_t channel_slot_message_ring(void)
{
	return CHANNEL_SLOT_STATE_SIZE + CHANNEL_TARGETS_SIZE;
}

static inline uint64_t channel_slot_pt_ring(const struct channel_config *config)
{
	return channel_slot_message_ring() + config->message_ring_size;
}

static inline uint64_t channel_slot_runtime(const struct channel_config *config)
{
	return channel_slot_pt_ring(config) + config->pt_ring_size + CHANNEL_PT_SLACK;
}

#endif
