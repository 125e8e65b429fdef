/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The runtime of the software source. The runtime lives in each traced process, copies the program's code into a cache
 * with only the control transfers rewritten, and writes Intel PT packets. Freestanding: no libc, general registers
 * only.
 */
#ifndef RECORD_SOFTWARE_RUNTIME_RUNTIME_H
#define RECORD_SOFTWARE_RUNTIME_RUNTIME_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/channel/shared/address_space.h"
#include "record/channel/shared/channel.h"
#include "record/software/runtime/layout.h"
#include "record/software/shared/start.h"

#define RUNTIME_PENDING_MAX 8
#define RUNTIME_SIGNALS 65
/* Why a process that sets TF goes on natively. */
#define RUNTIME_STEPS_ITSELF "the program steps through itself (TF): the process goes on natively from"

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15 };

/* A caught signal, not yet delivered to the program. */
struct runtime_pending_signal {
	siginfo_t info;
	bool synchronous;                    /* caused by the instruction at the thread's pc */
	bool trapped;                        /* the instruction retired: int3 */
	uint64_t error, trap, cr2, segments; /* values in the kernel's signal frame */
};

struct cache_block;

/* An entry of the thread's table of indirect branch targets. The head of a forgotten block enters the runtime. */
struct runtime_target {
	uint64_t pc;
	uint64_t code;
};

/* Data of a traced thread, at RUNTIME_THREAD_AT of the thread's slot. %gs points to the slot. */
struct runtime_thread {
	uint64_t regs[16]; /* program's registers; R15 always, the other registers while the runtime works */
	uint64_t flags;
	uint64_t pc;
	uint64_t tnt; /* pending TNT bits below a stop bit */
	/* a TNT word of at least this value enters the runtime at a block's head; 0: every word does */
	uint64_t limit;
	uint64_t target;     /* address in the cache at which the thread continues */
	uint64_t exit;       /* number of the unlinked exit */
	uint64_t reason;     /* RUNTIME_REASON_ */
	int32_t *return_top; /* see RUNTIME_RETURNS */
	uint64_t scratch[4];
	uint64_t stack;             /* top of the runtime's stack */
	struct cache_block **table; /* hash table of blocks, for indirect branches */
	const void *entry[7];       /* entry points RUNTIME_TO_* */
	uint64_t in_syscall;
	uint64_t pending; /* number of caught signals */
	struct runtime_thread *self;
	uint64_t entered;      /* 1 + the plan whose function was entered, until the plan's place; 0: none */
	uint8_t *return_sites; /* offset 0 of the return sites */
	struct channel_slot *slot;
	struct runtime_pending_signal *signals; /* RUNTIME_PENDING_MAX */
	uint64_t mask;                          /* the program's blocked signals while `pending` is not 0 */
	uint64_t
		wait_mask; /* if has_wait_mask, those that the interrupted call waited with, in which its handler runs */
	bool has_wait_mask;
	uint32_t pid, tid, process;
	uint32_t own_tid; /* id in the thread's own pid namespace */
	bool exec_announced;
	bool children_elsewhere; /* children begin in another pid namespace, whose first process a tracer would be */
	bool lost_alignment;     /* the program's AC flag was cleared for an access of the runtime's */
	uint64_t altstack, altstack_size;
	uint32_t altstack_flags;
	uint32_t named_tid;
	int name_fd;
	struct runtime_thread *next; /* next thread of the process */
	uint64_t birth_time;
	uint32_t creator_tid;
	uint64_t time_seen, time_looked; /* clock at the last reading, and at the last setting of the limit */
	uint32_t time_bytes;
	bool enabled;         /* packets are enabled, as the processor enables them in user mode */
	bool let_go;          /* a vfork child runs natively while its parent is traced */
	bool is_dummy;        /* no slot was free: packets are discarded */
	bool clears_handlers; /* created with CLONE_CLEAR_SIGHAND */
	/* In a process that has the memory of another process: signals whose action is the default again. */
	uint64_t defaults;
	/* Members of a thread that existed when the recorder attached. */
	uint32_t restart; /* enum runtime_restart: how to restart the interrupted system call at pc */
	/* program's struct rseq, registered again with the kernel when the thread leaves the cache; 0: none */
	uint64_t rseq;
	uint32_t rseq_size, rseq_signature;
};

/* The kernel's struct sigaction. */
struct runtime_sigaction {
	uint64_t handler;
	uint64_t flags;
	uint64_t restorer;
	uint64_t mask;
};

struct runtime_lock {
	uint32_t word; /* 0 free, 1 taken, 2 taken and wanted */
};

/* State of the process: the only global variable of the runtime. */
struct runtime_process {
	struct channel_config config;
	struct channel_header *header;
	uint8_t *arena;
	uint32_t pid;
	uint32_t process;
	int32_t kept_arena,
		kept_proc;   /* descriptors of the arena and of the recorder's /proc; 0: none. See namespace.c */
	uint64_t kept_inode; /* of the arena */
	bool stopped;
	bool announcing;  /* images predate the attachment and are reported as rundown */
	bool stops_known; /* code of a --stop-at function may be in memory */
	bool let_go;      /* the process goes on natively for a reason other than the recorder's stop */
	bool ending;      /* the process ends or executes another program: threads complete their packets and wait */
	uint64_t image, image_size; /* address and size of the runtime's own code and data */
	char program[CHANNEL_PATH_SIZE];

	/* Guards all below. */
	struct runtime_lock lock;
	struct channel_address_space space;
	uint64_t epoch;
	uint64_t change_time;
	uint64_t psb_time;
	struct runtime_thread *threads;
	struct runtime_lock threads_lock;
	struct runtime_sigaction actions[RUNTIME_SIGNALS];
	bool releasing; /* a thread has left the cache permanently */
	/* description of the xsave area in a signal frame of the kernel; set by the first signal */
	uint8_t fp_words[48];
	bool native; /* the program's own signal handlers are set again: all threads leave the cache */
	uint64_t runtime_areas[512][2]; /* memory of the runtime: first and last address + 1 */
	unsigned area_count;
	struct runtime_lock areas_lock;
	uint64_t stack_low, stack_end; /* address range of the first thread's stack, with room to grow */
};

extern struct runtime_process runtime;

/* ---- filter.c ---- */

/* Returns whether a seccomp filter, in the form of seccomp(2), permits the runtime's system calls. */
bool runtime_filter_permits(uint64_t program);

/* ---- enter.S ---- */

int64_t runtime_syscall(int64_t number, uint64_t a0, uint64_t a1, uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5);
void runtime_old_syscall(struct runtime_thread *thread);
int64_t runtime_program_syscall(struct runtime_thread *thread);
int64_t runtime_clone(struct runtime_thread *parent, struct runtime_thread *child);
_Noreturn void runtime_exit(uint32_t *word, uint64_t number, uint64_t argument, uint32_t value);
bool runtime_copy(void *to, const void *from, size_t size);
bool runtime_xsave(void *area, uint64_t mask);
bool runtime_xrstor(const void *area, uint64_t mask);
bool runtime_fxrstor(const void *area);
void runtime_store_vectors(void *area);
extern const char runtime_to_link[], runtime_to_check[], runtime_to_indirect[], runtime_to_return_miss[],
	runtime_to_syscall[], runtime_to_other[], runtime_to_values[], runtime_resume[], runtime_syscall_check[],
	runtime_syscall_at[], runtime_syscall_behind[], runtime_syscall_interrupted[], runtime_syscall_kicked[],
	runtime_signal_entry[], runtime_signal_return[], runtime_copy_at[], runtime_copy_end[], runtime_copy_failed[],
	runtime_xsave_at[], runtime_xrstor_at[], runtime_fxrstor_at[];

#define RUNTIME_CALL(number, ...) RUNTIME_CALL_(number, __VA_ARGS__, 0, 0, 0, 0, 0, 0)
#define RUNTIME_CALL_(number, a, b, c, d, e, f, ...)                                                                   \
	runtime_syscall(number, (uint64_t)(a), (uint64_t)(b), (uint64_t)(c), (uint64_t)(d), (uint64_t)(e),             \
			(uint64_t)(f))

static inline struct runtime_thread *runtime_thread_of(struct channel_slot *slot)
{
	return (struct runtime_thread *)(void *)((uint8_t *)slot + RUNTIME_THREAD_AT);
}

/* Returns the first entry of the thread's return stack. */
static inline int32_t *runtime_returns(struct channel_slot *slot)
{
	return (int32_t *)(void *)((uint8_t *)slot + RUNTIME_RETURNS);
}

/* ---- support.c: replacement of a libc ---- */

void runtime_lock(struct runtime_lock *lock);
void runtime_unlock(struct runtime_lock *lock);
/*
 * Maps zeroed memory of the runtime, which is never unmapped. NULL: no memory.
 * near: address within 2 GiB of the memory, or 0. anywhere: other memory is acceptable if no near memory is free.
 */
void *runtime_map(size_t size, int protection, uint64_t near, bool anywhere);
void runtime_add_area(uint64_t base, uint64_t end);
bool runtime_is_own(uint64_t base, uint64_t end);
/* Finds the first memory of the runtime in [base, end): [*own, *own_end), cut to the range. Leaves both alone if there is none. */
void runtime_next_own(uint64_t base, uint64_t end, uint64_t *own, uint64_t *own_end);
/* Returns the bytes of address space that the runtime uses, plus a reserve. */
uint64_t runtime_own_size(void);
/* Append text, or a number in base 10 or 16. *at stays below size. */
void runtime_put(char *out, size_t size, size_t *at, const char *text);
void runtime_put_number(char *out, size_t size, size_t *at, uint64_t number, unsigned base);
int64_t runtime_read_file(const char *path, char *out, size_t size);
uint64_t runtime_monotonic(void);
void runtime_clock_start(uint64_t vdso);
/* The program unmaps or replaces this memory: stops using the vdso if the vdso is in the range. */
void runtime_clock_unmapped(uint64_t base, uint64_t end);
void runtime_debug(const char *text, uint64_t a, uint64_t b);

/* ---- ring.c: the way to the recorder ---- */

bool runtime_send(struct runtime_thread *thread, struct channel_message *message, size_t size, const void *tail,
		  size_t tail_size);
uint32_t runtime_request(struct runtime_thread *thread, struct channel_message *message, size_t size, const void *tail,
			 size_t tail_size);
/* Send a warning (note) or a text of a severity (say). number: address appended to the text; 0: none. */
void runtime_note(struct runtime_thread *thread, const char *text, uint64_t number);
void runtime_say(struct runtime_thread *thread, uint32_t severity, const char *text, uint64_t number);
void runtime_ring_doorbell(void);
bool runtime_recorder_gone(void);
void runtime_stop(void);
bool runtime_wait_for_room(struct runtime_thread *thread);

/* ---- threads.c ---- */

struct runtime_thread *runtime_thread_new(void);
void runtime_thread_release(struct runtime_thread *thread);
void runtime_thread_start(struct runtime_thread *thread, uint64_t time);
void runtime_thread_end(struct runtime_thread *thread);
/* Makes the thread enter the runtime at the next check or indirect branch. */
void runtime_thread_call(struct runtime_thread *thread);
void runtime_thread_call_all(void);
void runtime_thread_again(struct runtime_thread *thread);
bool runtime_thread_continue(struct runtime_thread *thread);
void runtime_threads_settle(struct runtime_thread *thread);
void runtime_threads_resume(struct runtime_thread *thread);
struct channel_slot *runtime_slot_at(uint32_t index);
uint32_t runtime_slot_index(const struct channel_slot *slot);
void runtime_thread_ids(uint32_t *pid, uint32_t *tid);
/* A child has been waited for: its process's number; 0: not known. */
uint32_t runtime_thread_forget_child(uint32_t pid);
int64_t runtime_do_clone(struct runtime_thread *thread, int64_t number);
_Noreturn void runtime_do_exit(struct runtime_thread *thread, int64_t number);

/* ---- cpu.c: virtual CPUs, where the recorder asks for them; else these do nothing ---- */

/* Waits for a virtual CPU. The caller holds no lock. */
void runtime_cpu_take(struct runtime_thread *thread);
/* Gives up the thread's CPU. Packets are disabled. */
void runtime_cpu_give(struct runtime_thread *thread);
bool runtime_cpu_is_wanted(const struct runtime_thread *thread);
/* Gives the CPU to a waiting thread, and waits for a CPU again. */
void runtime_cpu_yield(struct runtime_thread *thread);

/* ---- mapping.c, with runtime.lock held, but for the last three ---- */

void runtime_mapping_begin(struct runtime_thread *thread);
void runtime_mapping_add(struct runtime_thread *thread, struct channel_image *image);
/* Reports that code at [start, start + size) is translated from these bytes, if the recorder needs the bytes. */
void runtime_mapping_translated(struct runtime_thread *thread, uint64_t start, const uint8_t *bytes, size_t size);
/* Returns whether a function of --stop-at begins at pc. The caller holds runtime.lock. */
bool runtime_mapping_is_stop(uint64_t pc);
/* The program may have changed the bytes of [base, end) without a change of protection. Takes runtime.lock. */
void runtime_mapping_written(struct runtime_thread *thread, uint64_t base, uint64_t end);
/* The program gave up the contents of [base, end), which may be code. Takes runtime.lock. */
void runtime_mapping_discarded(struct runtime_thread *thread, uint64_t base, uint64_t end);
void runtime_mapping_syscall(struct runtime_thread *thread, int64_t number, const uint64_t args[6], int64_t result);

struct runtime_map {
	uint64_t base, end, file_offset, device, inode;
	bool readable, writable, executable, shared, deleted;
	char path[CHANNEL_PATH_SIZE];
};
bool runtime_maps_find(uint64_t address, struct runtime_map *map);
/* Finds the first executable mapping that ends above the address. */
bool runtime_maps_next_executable(uint64_t address, struct runtime_map *map);
/* Returns the start of the adjacent read-only mappings without a file that end at the address; else the address. */
uint64_t runtime_maps_data_below(uint64_t address);
/*
 * Returns an address in the largest free gap of [low, high) with at least `size` bytes, outside of the stack; 0: no
 * such gap. The caller holds runtime.lock.
 */
uint64_t runtime_maps_gap(uint64_t low, uint64_t high, uint64_t size);

/* ---- uprobe.c, with runtime.lock held ---- */

/* Replaces breakpoints of uprobes in a block's bytes, read at pc, by the bytes of the file. */
void runtime_uprobe_replace(struct runtime_thread *thread, uint64_t pc, uint8_t *bytes, size_t size);

/* ---- start.c ---- */

void runtime_relocate(uint64_t base);
/* Maps the arena by its descriptor, and notes the address range of the runtime's image. */
bool runtime_map_arena(int64_t arena, uint64_t image, uint64_t image_size);
/*
 * Returns whether the time stamp counter, which the vdso reads, is permitted: prctl(PR_SET_TSC) can forbid the counter.
 */
bool runtime_may_read_counter(void);
/*
 * Determines the address range of the stack that rsp points into. The kernel reserves as much as the stack limit at the
 * start of the program.
 */
void runtime_find_stack(uint64_t rsp);
/* Reports the program. bytes: strings in the form of CHANNEL_MSG_EXEC_BYTES; flags: of CHANNEL_MSG_EXEC. */
void runtime_send_program(struct runtime_thread *thread, const uint8_t *bytes, size_t total, uint32_t argc,
			  uint64_t entry, uint16_t flags);

/* ---- attach.c ---- */

/* Carries out the program's system call rseq. */
int64_t runtime_attach_rseq(struct runtime_thread *thread);
/* Registers the program's struct rseq with the kernel again, before the thread goes on natively. */
void runtime_attach_leave(const struct runtime_thread *thread);

/* ---- serve.c: packets and what goes on between blocks ---- */

void runtime_leave_for_syscall(struct runtime_thread *thread);
void runtime_enable(struct runtime_thread *thread);
/* Ends the thread's packets at pc. The instruction at pc did not retire unless `trapped`. */
void runtime_interrupt(struct runtime_thread *thread, bool trapped);
uint64_t runtime_now(struct runtime_thread *thread);
/* Makes all threads of the process leave the cache at their next block and go on natively. */
void runtime_let_go(struct runtime_thread *thread, const char *why);

/*
 * Writes packets that the program stands at pc: flow before and behind has different times. number: of a PTWRITE packet
 * behind the plain instruction at pc; NULL: before the instruction. Returns a time between both, which no packet has.
 */
uint64_t runtime_stand(struct runtime_thread *thread, const uint32_t *number);

/* ---- values.c ---- */

struct instruction;
struct translate_place;

/* Returns whether any function of --values is known. */
bool runtime_values_known(void);
/*
 * Returns the first plan from `from` on with a place at the instruction at pc; TRANSLATE_NO_PLAN: none. The caller holds
 * runtime.lock.
 */
uint32_t runtime_values_place(uint64_t pc, const struct instruction *in, uint32_t from, struct translate_place *place);
/* Returns the plan at the entry `target` of the function that has code at pc; TRANSLATE_NO_PLAN: none. */
uint32_t runtime_values_loop(uint64_t pc, uint64_t target);
/* Reads and sends the values of the plan in thread->exit. */
void runtime_values_take(struct runtime_thread *thread);

/* ---- cache.c ---- */

bool runtime_cache_start(void);
struct cache_block **runtime_cache_table(void);
/* Returns the return site at offset 0, which stands for an empty entry of the return stack. */
uint8_t *runtime_cache_return_sites(void);
/* Returns a page for the code by which a thread leaves the cache; NULL: no memory, and the reserve is used up. */
uint8_t *runtime_cache_departure(void);
/* Returns whether a translation failed for lack of memory. The cache then stays as it is. */
bool runtime_cache_is_full(void);
bool runtime_cache_is_code(uint64_t code);
bool runtime_cache_unguard(uint64_t address);
void runtime_cache_remapped(uint64_t base, uint64_t end);
/*
 * Returns the translation of pc, which is made on demand. NULL: pc is unreadable, or the cache is full. *entry, unless entry
 * is NULL: code for an indirect branch to pc; NULL: no room.
 */
const void *runtime_cache_find(struct runtime_thread *thread, uint64_t pc, const void **entry);
/* Links exit `number` to code. */
void runtime_cache_link(uint64_t number, const void *code);
uint64_t runtime_cache_exit_pc(uint64_t number);
/* Forgets blocks in [base, end): the code has changed or is no longer executable. */
void runtime_cache_forget(uint64_t base, uint64_t end);
/*
 * Restores the program's registers and pc at an address in the cache. next: address of the following instruction.
 * False: the address belongs to no instruction.
 */
bool runtime_cache_restore(struct runtime_thread *thread, uint64_t code, uint64_t regs[16], uint64_t *pc,
			   uint64_t *next);
bool runtime_cache_restore_check(struct runtime_thread *thread, uint64_t code, uint64_t regs[16], uint64_t *flags,
				 uint64_t *pc);
/*
 * Handles a write fault. True if the cache's protection of translated code caused the fault; the protection is then
 * lifted.
 */
bool runtime_cache_write_fault(struct runtime_thread *thread, uint64_t address);
/* Lifts the protection of all pages. The caller holds runtime.lock. */
void runtime_cache_unguard_locked(void);
/* Lifts the protection of the pages in a range. The caller does not hold runtime.lock. */
void runtime_cache_unguard_range(uint64_t base, uint64_t end);
/* Unguards all pages, without the lock. No page is guarded again: blocks in writable pages compare their bytes. */
void runtime_cache_unguard_for_good(void);
/* Returns whether the cache protects any page. */
bool runtime_cache_has_guards(void);
bool runtime_cache_is_same_page(uint64_t code, uint64_t address);

/* ---- writes.c: system calls that write code ---- */

/* Lifts the protection of memory that the kernel may write during the call. Called before the system call. */
void runtime_writes_before(int64_t number, const uint64_t args[6]);
/* Called after a call failed with EFAULT. Lifts all protection and returns true if the protection may be the cause. */
bool runtime_writes_failed(void);
/* Called after the call: the program may have written its own memory through a file of /proc. */
void runtime_writes_after(struct runtime_thread *thread, int64_t number, const uint64_t args[6], int64_t result);
/* Called after the program has opened a file. */
void runtime_writes_opened(uint64_t path);

/* ---- status.c: the program's signals in /proc/self/status ---- */

/* The program has opened a file. */
void runtime_status_opened(const char *path);
/* The program has read from a file: mends what it has read. */
void runtime_status_read(struct runtime_thread *thread, int64_t number, const uint64_t args[6], int64_t result);

/* ---- namespace.c ---- */

/* The call may take /proc or the right to open the arena away. */
void runtime_namespace_before(int64_t number, const uint64_t args[6]);
void runtime_namespace_after(struct runtime_thread *thread, int64_t number, const uint64_t args[6], int64_t result);
/* The process has these descriptors, which do not survive execve by themselves. */
void runtime_namespace_keep(int32_t arena, int32_t proc);
/* Whether the calling process has the kept descriptors: another one with the same memory may have replaced its own. */
bool runtime_namespace_has_kept(void);
/* Around execve: the new program's runtime gets the kept descriptors. */
void runtime_namespace_inherit(bool inherit);
/* Opens a file of the recorder's /proc, or reads a link there. path: the same with /proc, if the process has kept none. */
int64_t runtime_proc_open(const char *name, const char *path);
int64_t runtime_proc_readlink(const char *name, const char *path, char *out, size_t size);
/* The program's calls. */
int64_t runtime_do_close(struct runtime_thread *thread);
int64_t runtime_do_dup(struct runtime_thread *thread);
int64_t runtime_do_close_range(struct runtime_thread *thread);

/* ---- syscalls.c ---- */

void runtime_do_syscall(struct runtime_thread *thread);

/* ---- signals.c ---- */

void runtime_signals_start(struct runtime_thread *thread);
void runtime_signals_thread(struct runtime_thread *thread);
void runtime_signals_attached(struct runtime_thread *thread);
/* Called around execve with true and false: the new program inherits ignored signals, also ignored faults. */
void runtime_signals_ignored(const struct runtime_thread *thread, bool natively);
/* The thread's process now has memory of its own. */
void runtime_signals_separate(struct runtime_thread *thread);
/* The kernel has reset all handlers of the thread's new process. */
void runtime_signals_cleared(struct runtime_thread *thread);
int64_t runtime_do_sigaction(struct runtime_thread *thread);
int64_t runtime_do_sigaltstack(struct runtime_thread *thread);
void runtime_signals_native(const struct runtime_thread *thread);
void runtime_signals_leave(struct runtime_thread *thread, uint64_t mask);
void runtime_queue_unreadable(struct runtime_thread *thread);
void runtime_queue_fault(struct runtime_thread *thread, int signal, int code, uint64_t address);

/* ---- deliver.c ---- */

/* A signal has interrupted a call of the program's, which may have waited with a signal mask of its own. */
void runtime_signals_waited(struct runtime_thread *thread, int64_t number, const uint64_t args[6]);
/* Returns whether the program ignores all caught signals, which then end no system call. */
bool runtime_signals_are_ignored(const struct runtime_thread *thread);
/* Delivers the thread's caught signals at its pc. */
void runtime_deliver(struct runtime_thread *thread);
void runtime_do_sigreturn(struct runtime_thread *thread);

/* ---- release.c ---- */

struct release;

/* Stops other threads of the process that wait in system calls, ready to go on natively. NULL: no such thread. */
struct release *runtime_release_stop(struct runtime_thread *self);
/* Lets the stopped threads go on natively. The program's own signal handlers are installed by now. */
void runtime_release_go_on(struct release *release);

/* ---- vsyscall.c ---- */

/*
 * Carries out the vsyscall at pc and continues at the caller. False: pc is no entry of the vsyscall page, or this
 * kernel has no such page. Packets are enabled.
 */
bool runtime_call_vsyscall(struct runtime_thread *thread);

/* ---- exec.c ---- */

/*
 * Starts a tracer: a process that shares the memory and sends no signal at its end. The process calls `run`, which does
 * not return.
 * cleared: word to which the kernel writes 0 at the end of the process, or NULL. Returns the pid, or -errno.
 */
int64_t runtime_clone_tracer(void (*run)(void *), void *context, uint8_t *stack_end, uint32_t *cleared);
/*
 * Waits in a tracer until *word is at least `value`. parent: getpid() of the tracer's maker. If the parent is dead, the tracer
 * ends: nobody else would write to the word.
 */
void runtime_tracer_wait(uint32_t *word, uint32_t value, int32_t parent);

int64_t runtime_do_exec(struct runtime_thread *thread, int64_t number);

#endif
