/* SPDX-License-Identifier: BSD-2-Clause */
/* What the parts of the QEMU plugin share: the process's state, threads, the way out. */

#ifndef PTL_RECORD_QEMU_PLUGIN_PLUGIN_H
#define PTL_RECORD_QEMU_PLUGIN_PLUGIN_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/qemu/plugin/address_space.h"
#include "record/qemu/plugin/block.h"
#include "record/qemu/shared/channel.h"
#include "record/qemu/plugin/guest.h"

/*
 * Names: pq_ stands for "PTL in QEMU". The plugin is loaded once into a process and QEMU gives its
 * callbacks no place for a pointer, so its state is one global, pq.
 */

/* QEMU numbers the threads alive from 0; a process with more at one time has the others untraced.
 */
#define PQ_VCPU_MAX 32768u

/* A system call between its start and its return. */
struct pq_syscall {
	int64_t number;
	uint64_t args[6];
};

/* A thread as QEMU sees it. */
struct pq_vcpu {
	struct ptl_slot *slot; /* or pq_unattached, or pq_untraced */
	const uint8_t *env;    /* QEMU's CPUX86State; known from the first block on */
	uint64_t birth_time;   /* its creator's clock when it was created */
	uint32_t creator_tid;
	bool alive;
	bool exec_announced; /* an untraced execve was announced and may yet fail */
	uint32_t named_tid;  /* the thread whose name it has opened for writing, as name_fd; 0: none */
	int name_fd;
	struct pq_syscall syscall;
};

struct pq_plugin {
	struct ptl_channel_config config;
	struct ptl_channel_header *header;
	uint8_t *arena;
	uint32_t pid;
	uint32_t process;
	int first_argument;  /* of QEMU's command line, the one that is the program's path */
	int script_argument; /* and the one that is the script's, if it was started by one; else 0
			      */
	bool continued;      /* by execve of a traced process */
	bool started;        /* the program's images have been announced */
	bool stopped;        /* no more tracing in this process; atomic */
	char program[PTL_CHANNEL_PATH_SIZE]; /* its path, resolved */
	uint64_t continue_time;              /* after execve: the clock to continue at */
	int64_t continue_slot; /* after execve: the slot to continue in; -1 = a new one */

	/*
	 * Guards all below, and the order of what concerns the whole process. It is held while
	 * waiting for the recorder, which takes no lock, so that is no deadlock.
	 */
	pthread_mutex_t lock;
	struct pq_block_table blocks;
	struct pq_signal_action actions[PQ_SIGNAL_MAX + 1];
	struct pq_address_space space;
	uint64_t epoch;       /* of the process's mappings */
	uint64_t change_time; /* when the epoch began */
	uint64_t psb_time;    /* the latest time any PSB of the process showed */
	struct pq_vcpu vcpus[PQ_VCPU_MAX];
	uint32_t vcpu_high; /* 1 + the highest vcpu index seen */
};

extern struct pq_plugin pq;

/*
 * By vcpu index, what the fast path works on: the thread's slot, or one of three that send it to
 * the slow path: pq_unattached before the thread's first block, pq_untraced if it has no slot,
 * pq_attention (which any thread may put there) if it has to look at pq.epoch and pq.stopped.
 */
extern struct ptl_slot *pq_slots[PQ_VCPU_MAX];
extern struct ptl_slot pq_unattached;
extern struct ptl_slot pq_untraced;
extern struct ptl_slot pq_attention;

/* What a slot's block is while packets are disabled: no block follows it by the fast path. */
extern struct pq_block pq_disabled;

/* The calling thread's slot; NULL if it has none (yet). */
extern _Thread_local struct ptl_slot *pq_thread_slot;

/* And its vcpu, valid if it has a slot and has executed a block. */
extern _Thread_local unsigned pq_thread_vcpu;

/* ---- ring.c: the way to the recorder -------------------------------------------------------- */

/*
 * Sends a message of the calling thread's: the header's type, flags and the payload of `size` -
 * header bytes are the caller's, the rest is filled in; `time` and `pt_offset` are left if they are
 * not 0. `tail` bytes follow it. Waits for room. Returns false if the recorder is gone; the message
 * is then lost, which no longer matters.
 */
bool pq_send(struct ptl_slot *slot, struct ptl_message *message, size_t size, const void *tail,
	     size_t tail_size);

/* The same, and waits for the recorder's answer: its value, or 0 if there is none in time. */
uint32_t pq_request(struct ptl_slot *slot, struct ptl_message *message, size_t size,
		    const void *tail, size_t tail_size);

/* Sends a line of text. */
void pq_note(struct ptl_slot *slot, uint32_t severity, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Waits until a step fits into the PT ring, and `words` into the truth ring. False: the recorder is
 * gone. */
bool pq_wait_for_room(struct ptl_slot *slot, uint64_t words);

/* Wakes the recorder if it sleeps. */
void pq_ring_doorbell(void);

/* True if the recorder is gone or has said to stop. */
bool pq_recorder_gone(void);

/* Ends tracing of the whole process; each thread completes its stream at its next block. */
void pq_stop(void);

/* ---- thread.c: slots ------------------------------------------------------------------------ */

/* Makes sure that the calling thread has a slot if there is one to be had. May return NULL. */
struct ptl_slot *pq_thread_claim(void);

/* Gives vcpu its slot at the thread's first block; env is QEMU's pointer to the guest's registers.
 */
struct ptl_slot *pq_thread_attach(unsigned vcpu, uint64_t env);

/* Sends every thread to the slow path at its next block. */
void pq_thread_call_all(void);

/* The thread's stream is complete: gives the slot back to the recorder. */
void pq_thread_end(unsigned vcpu);

/* Registers the handlers that give a child of fork its own slots. Returns 0 or an errno. */
int pq_thread_watch_fork(void);

uint8_t *pq_slot_pt_ring(struct ptl_slot *slot);
uint8_t *pq_slot_message_ring(struct ptl_slot *slot);
uint32_t *pq_slot_truth_ring(struct ptl_slot *slot);
uint32_t pq_slot_index(const struct ptl_slot *slot);

/* ---- mapping.c: executable memory, with pq.lock held ---------------------------------------- */

/* The instructions of a block were translated from these bytes. */
void pq_mapping_translated(struct ptl_slot *slot, uint64_t start, const uint8_t *bytes,
			   size_t size);

/* Begins a new version of the address space: later than all segments of the old one. */
void pq_mapping_begin(struct ptl_slot *slot);

/* Adds an executable image, a new version, and announces it. Its path is copied. */
void pq_mapping_add(struct ptl_slot *slot, struct pq_image *image);

/* A system call returned. Takes the lock itself. */
void pq_mapping_syscall(struct ptl_slot *slot, const struct pq_syscall *call, int64_t result);

/* ---- start.c -------------------------------------------------------------------------------- */

/*
 * The program's first thread is about to execute its first block: announces the process (unless
 * execve continued it), the program, its arguments and its images. With pq.lock held.
 */
void pq_start_program(struct ptl_slot *slot, unsigned vcpu, const struct pq_block *block);

/* ---- transition.c: the slow path ------------------------------------------------------------ */

/* Enters a block where the fast path could not. */
void pq_enter_slow(unsigned vcpu, struct pq_block *block, uint64_t env);

/* What is due between steps: room, the end of the ring, a PSB. block_ip is the block now executed,
 * or 0. */
void pq_between_steps(struct ptl_slot *slot, uint64_t block_ip);

/* The thread leaves user mode by a system call. */
void pq_leave_for_syscall(struct ptl_slot *slot);

/* The thread was killed by a signal at `ip`, which did not retire. */
void pq_leave_for_death(struct ptl_slot *slot, uint64_t ip, bool synchronous);

/* ---- hook.c --------------------------------------------------------------------------------- */

/*
 * Has QEMU call us where it ends the process for a signal that the program does not handle, and
 * keeps it from writing a line about that to the program's standard error. False if this QEMU
 * cannot be hooked: the streams of such processes then end at their last block instead of at the
 * instruction.
 */
bool pq_hook_install(void);

/* ---- syscall.c ------------------------------------------------------------------------------ */

void pq_syscall_enter(unsigned vcpu, const struct pq_syscall *call);
void pq_syscall_return(unsigned vcpu, int64_t number, int64_t result);

/* ---- exec.c --------------------------------------------------------------------------------- */

/*
 * The program calls execve. If that would start an x86-64 program, starts QEMU with it instead and
 * does not return. Returns if the call would fail, which QEMU then does its own way, and after
 * announcing a program that cannot be followed.
 */
void pq_exec(unsigned vcpu, const struct pq_syscall *call);

/* ---- truth.c -------------------------------------------------------------------------------- */

/* The thread enters a block; after the packets for that. */
void pq_truth_enter(struct ptl_slot *slot, struct pq_block *block);

/* All of the running block has been executed and nothing follows it yet. */
void pq_truth_leave(struct ptl_slot *slot);

/* The running block was left at `ip`, which did not retire if the signal was synchronous or it is
 * no branch. */
void pq_truth_leave_at(struct ptl_slot *slot, uint64_t ip, bool synchronous);

/* Sends the block's definition. With pq.lock held. */
void pq_truth_define(struct ptl_slot *slot, const struct pq_block *block);

#endif
