/* SPDX-License-Identifier: BSD-2-Clause */
/* What the parts of the QEMU plugin share: the process's state, threads, the way out. */

#ifndef RECORD_QEMU_PLUGIN_PLUGIN_H
#define RECORD_QEMU_PLUGIN_PLUGIN_H

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
 * callbacks no place for a pointer, so its state is one global, plugin.
 */

/* QEMU numbers the threads alive from 0; a process with more at one time has the others untraced.
 */
#define PLUGIN_VCPU_MAX 32768u

/* A system call between its start and its return. */
struct plugin_syscall {
	int64_t number;
	uint64_t args[6];
};

/* A thread as QEMU sees it. */
struct plugin_vcpu {
	struct qemu_slot *slot; /* or plugin_unattached, or plugin_untraced */
	const uint8_t *env;     /* QEMU's CPUX86State; known from the first block on */
	uint64_t birth_time;    /* its creator's clock when it was created */
	uint32_t creator_tid;
	bool alive;
	bool newborn;        /* created, and yet to execute a block */
	bool exec_announced; /* an untraced execve was announced and may yet fail */
	uint32_t named_tid;  /* the thread whose name it has opened for writing, as name_fd; 0: none */
	int name_fd;
	struct plugin_syscall syscall;
};

struct plugin_process {
	struct qemu_channel_config config;
	struct qemu_channel_header *header;
	uint8_t *arena;
	uint32_t pid;
	uint32_t process;
	int first_argument;                   /* of QEMU's command line, the one that is the program's path */
	int script_argument;                  /* and the one that is the script's, if it was started by one; else 0
			      */
	bool continued;                       /* by execve of a traced process */
	bool started;                         /* the program's images have been announced */
	bool stopped;                         /* no more tracing in this process; atomic */
	char program[QEMU_CHANNEL_PATH_SIZE]; /* its path, resolved */
	uint64_t continue_time;               /* after execve: the clock to continue at */
	int64_t continue_slot;                /* after execve: the slot to continue in; -1 = a new one */

	/*
	 * Guards all below, and the order of what concerns the whole process. It is held while
	 * waiting for the recorder, which takes no lock, so that is no deadlock.
	 */
	pthread_mutex_t lock;
	struct plugin_block_table blocks;
	struct plugin_signal_action actions[PLUGIN_SIGNAL_MAX + 1];
	struct plugin_address_space space;
	uint64_t epoch;       /* of the process's mappings */
	uint64_t change_time; /* when the epoch began */
	uint64_t psb_time;    /* the latest time any PSB of the process showed */
	struct plugin_vcpu vcpus[PLUGIN_VCPU_MAX];
	uint32_t vcpu_high; /* 1 + the highest vcpu index seen */
};

extern struct plugin_process plugin;

/*
 * By vcpu index, what the fast path works on: the thread's slot, or one of three that send it to
 * the slow path: plugin_unattached before the thread's first block, plugin_untraced if it has no slot,
 * plugin_attention (which any thread may put there) if it has to look at plugin.epoch and plugin.stopped.
 */
extern struct qemu_slot *plugin_slots[PLUGIN_VCPU_MAX];
extern struct qemu_slot plugin_unattached;
extern struct qemu_slot plugin_untraced;
extern struct qemu_slot plugin_attention;

/* What a slot's block is while packets are disabled: no block follows it by the fast path. */
extern struct plugin_block plugin_disabled;

/* The calling thread's slot; NULL if it has none (yet). */
extern _Thread_local struct qemu_slot *plugin_thread_slot;

/* And its vcpu, valid if it has a slot and has executed a block. */
extern _Thread_local unsigned plugin_thread_vcpu;

/* ---- ring.c: the way to the recorder -------------------------------------------------------- */

/*
 * Sends a message of the calling thread's: the header's type, flags and the payload of `size` -
 * header bytes are the caller's, the rest is filled in; `time` and `pt_offset` are left if they are
 * not 0. `tail` bytes follow it. Waits for room. Returns false if the recorder is gone; the message
 * is then lost, which no longer matters.
 */
bool plugin_send(struct qemu_slot *slot, struct qemu_message *message, size_t size, const void *tail, size_t tail_size);

/* The same, and waits for the recorder's answer: its value, or 0 if there is none in time. */
uint32_t plugin_request(struct qemu_slot *slot, struct qemu_message *message, size_t size, const void *tail,
			size_t tail_size);

/* Sends a line of text. */
void plugin_note(struct qemu_slot *slot, uint32_t severity, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Waits until a step fits into the PT ring, and `words` into the truth ring. False: the recorder is
 * gone. */
bool plugin_wait_for_room(struct qemu_slot *slot, uint64_t words);

/* Wakes the recorder if it sleeps. */
void plugin_ring_doorbell(void);

/* True if the recorder is gone or has said to stop. */
bool plugin_recorder_gone(void);

/* Ends tracing of the whole process; each thread completes its stream at its next block. */
void plugin_stop(void);

/* ---- thread.c: slots ------------------------------------------------------------------------ */

/* Makes sure that the calling thread has a slot if there is one to be had. May return NULL. */
struct qemu_slot *plugin_thread_claim(void);
/*
 * The ids of the calling thread where /proc was mounted, which is mostly where the recorder is: in a pid namespace of
 * its own the program sees others.
 */
void plugin_thread_ids(uint32_t *pid, uint32_t *tid);

/* Gives vcpu its slot at the thread's first block; env is QEMU's pointer to the guest's registers.
 */
struct qemu_slot *plugin_thread_attach(unsigned vcpu, uint64_t env);

/* Sends every thread to the slow path at its next block. */
void plugin_thread_call_all(void);

/* The thread's stream is complete: gives the slot back to the recorder. */
void plugin_thread_end(unsigned vcpu);

/* Registers the handlers that give a child of fork its own slots. Returns 0 or an errno. */
int plugin_thread_watch_fork(void);

uint8_t *plugin_slot_pt_ring(struct qemu_slot *slot);
uint8_t *plugin_slot_message_ring(struct qemu_slot *slot);
uint32_t *plugin_slot_truth_ring(struct qemu_slot *slot);
uint32_t plugin_slot_index(const struct qemu_slot *slot);

/* ---- mapping.c: executable memory, with plugin.lock held ---------------------------------------- */

/* The instructions of a block were translated from these bytes. */
void plugin_mapping_translated(struct qemu_slot *slot, uint64_t start, const uint8_t *bytes, size_t size);

/* Begins a new version of the address space: later than all segments of the old one. */
void plugin_mapping_begin(struct qemu_slot *slot);

/* Adds an executable image, a new version, and announces it. Its path is copied. */
void plugin_mapping_add(struct qemu_slot *slot, struct plugin_image *image);

/* A system call returned. Takes the lock itself. */
void plugin_mapping_syscall(struct qemu_slot *slot, const struct plugin_syscall *call, int64_t result);

/* ---- start.c -------------------------------------------------------------------------------- */

/*
 * The program's first thread is about to execute its first block: announces the process (unless
 * execve continued it), the program, its arguments and its images. With plugin.lock held.
 */
void plugin_start_program(struct qemu_slot *slot, unsigned vcpu, const struct plugin_block *block);

/* ---- cpu.c: virtual CPUs, where the recorder asks for them; else these do nothing */

/* Waits for a CPU. Without any lock. */
void plugin_cpu_take(struct qemu_slot *slot);
/* Packets are disabled by now. */
void plugin_cpu_give(struct qemu_slot *slot);
bool plugin_cpu_is_wanted(const struct qemu_slot *slot);
/* Gives it to one that waits, and takes it, or another, again. */
void plugin_cpu_yield(struct qemu_slot *slot);

/* ---- transition.c: the slow path ------------------------------------------------------------ */

/* Enters a block where the fast path could not. */
void plugin_enter_slow(unsigned vcpu, struct plugin_block *block, uint64_t env);

/* What is due between steps: room, the end of the ring, a PSB. block_ip is the block now executed,
 * or 0. */
void plugin_between_steps(struct qemu_slot *slot, uint64_t block_ip);

/* The thread leaves user mode by a system call. */
void plugin_leave_for_syscall(struct qemu_slot *slot);

/* The thread was killed by a signal at `ip`, which did not retire. */
void plugin_leave_for_death(struct qemu_slot *slot, uint64_t ip, bool synchronous);

/* ---- hook.c --------------------------------------------------------------------------------- */

/*
 * Has QEMU call us where it ends the process for a signal that the program does not handle, and
 * keeps it from writing a line about that to the program's standard error. False if this QEMU
 * cannot be hooked: the streams of such processes then end at their last block instead of at the
 * instruction.
 */
bool plugin_hook_install(void);

/* ---- syscall.c ------------------------------------------------------------------------------ */

void plugin_syscall_enter(unsigned vcpu, const struct plugin_syscall *call);
void plugin_syscall_return(unsigned vcpu, int64_t number, int64_t result);

/* ---- fork.c: no thread begins or ends during a fork; without plugin.lock, and without a virtual CPU -------- */

/* Returns 0 or an errno. */
int plugin_fork_start(void);
/* Before a system call and behind it. */
void plugin_fork_syscall(const struct plugin_syscall *call);
void plugin_fork_return(int64_t result);
/* The calling thread is about to create another. */
bool plugin_fork_creates(void);
/* Which is this vcpu. */
void plugin_fork_vcpu(uint32_t vcpu);
/* The calling thread executes its first block. */
void plugin_fork_born(uint32_t vcpu);
/* In a fork's child. */
void plugin_fork_child(void);

/* ---- exec.c --------------------------------------------------------------------------------- */

/*
 * The program calls execve. If that would start an x86-64 program, starts QEMU with it instead and
 * does not return. Returns if the call would fail, which QEMU then does its own way, and after
 * announcing a program that cannot be followed.
 */
void plugin_exec(unsigned vcpu, const struct plugin_syscall *call);

/* ---- truth.c -------------------------------------------------------------------------------- */

/* The thread enters a block; after the packets for that. */
void plugin_truth_enter(struct qemu_slot *slot, struct plugin_block *block);

/* All of the running block has been executed and nothing follows it yet. */
void plugin_truth_leave(struct qemu_slot *slot);

/* The running block was left at `ip`, which did not retire if the signal was synchronous or it is
 * no branch. */
void plugin_truth_leave_at(struct qemu_slot *slot, uint64_t ip, bool synchronous);

/* Sends the block's definition. With plugin.lock held. */
void plugin_truth_define(struct qemu_slot *slot, const struct plugin_block *block);

#endif
