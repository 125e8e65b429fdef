/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The runtime of the software source: it lives in each traced process, copies the program's code into a cache with only its
 * control transfers rewritten, and writes Intel PT packets. Freestanding: no libc, general registers only.
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

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15 };

/* A signal that was caught and is yet to be delivered to the program. */
struct runtime_pending_signal {
	siginfo_t info;
	bool synchronous;                    /* the instruction at the thread's pc caused it */
	bool trapped;                        /* it retired: int3 */
	uint64_t error, trap, cr2, segments; /* of the kernel's frame */
};

/* A return address of the return stack of return compression, and its translation. */
struct runtime_return {
	uint64_t negated; /* the address, negated; 1: none */
	uint64_t code;
};

/* What a traced thread has beside its slot. It stands at RUNTIME_THREAD_AT of the slot; %gs points to the slot. */
struct runtime_thread {
	uint64_t regs[16]; /* the program's; 15 always, the others while the runtime works */
	uint64_t flags;
	uint64_t pc;
	uint64_t tnt;    /* pending TNT bits below a stop bit */
	uint64_t limit;  /* TNT words from here on enter the runtime at a block's head; 0: always */
	uint64_t target; /* where to go on in the cache */
	uint64_t exit;   /* number of the exit that is not linked */
	uint64_t reason; /* RUNTIME_REASON_ */
	uint64_t return_index;
	uint64_t scratch[4];
	uint64_t stack;       /* top of the runtime's stack */
	const void **table;   /* of translated targets of indirect branches, by their addresses */
	const void *entry[7]; /* RUNTIME_TO_ */
	uint64_t in_syscall;
	uint64_t pending; /* signals caught */
	struct runtime_thread *self;
	struct channel_slot *slot;
	struct runtime_pending_signal *signals; /* RUNTIME_PENDING_MAX */
	uint64_t mask;                          /* the program's blocked signals while `pending` is not 0 */
	uint32_t pid, tid, process;
	uint32_t own_tid; /* as the thread's own pid namespace counts */
	bool exec_announced;
	bool lost_alignment; /* the program's AC flag was cleared for an access of the runtime's */
	uint64_t altstack, altstack_size;
	uint32_t altstack_flags;
	uint32_t named_tid;
	int name_fd;
	struct runtime_thread *next; /* of all of the process */
	uint64_t birth_time;
	uint32_t creator_tid;
	uint64_t time_seen, time_looked; /* the clock when it was last read, and when the limit was set */
	uint32_t time_bytes;
	bool enabled;  /* packets are, as the processor's are while it is in user mode */
	bool let_go;   /* a child of vfork goes on natively, its parent does not */
	bool is_dummy; /* no slot was free: what it writes goes nowhere */
	/* Of a thread that was attached to. */
	uint32_t restart; /* enum runtime_restart: the system call at pc was interrupted, and is yet to be made again */
	uint64_t
		rseq; /* the program's struct rseq, which the kernel knows again when the thread goes on natively; 0: none */
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

/* One process's state: the runtime's only global. */
struct runtime_process {
	struct channel_config config;
	struct channel_header *header;
	uint8_t *arena;
	uint32_t pid;
	uint32_t process;
	bool stopped;
	bool announcing;  /* images are from before the attachment, and are reported as rundown */
	bool stops_known; /* a function at which the process goes on natively may be in memory */
	bool let_go;      /* the process goes on natively, for a reason of its own */
	bool ending;      /* the process ends, or becomes another program: threads complete their packets and wait */
	uint64_t image, image_size; /* of the runtime itself */
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
	bool releasing;       /* a thread has left the cache for good */
	uint8_t fp_words[48]; /* since the first signal, what the kernel says of a signal frame's xsave area */
	bool native;          /* the program's own signal handlers are set again: all threads leave the cache */
	uint64_t runtime_areas[512][2]; /* memory of the runtime: first and last address + 1 */
	unsigned area_count;
	struct runtime_lock areas_lock;
	uint64_t stack_low, stack_end; /* where the stack of the program's first thread is, and may grow */
};

extern struct runtime_process runtime;

/* ---- filter.c ---- */

/* Whether a seccomp filter, as seccomp(2) gets it, permits what the runtime calls. */
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
extern const char runtime_to_link[], runtime_to_check[], runtime_to_indirect[], runtime_to_return_miss[],
	runtime_to_syscall[], runtime_to_other[], runtime_to_lookup[], runtime_resume[], runtime_syscall_check[],
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

/* ---- support.c: what there would be of a libc ---- */

void runtime_lock(struct runtime_lock *lock);
void runtime_unlock(struct runtime_lock *lock);
/* Memory of the runtime's own, zeroed, never given back; NULL if the kernel has none.
 * near: an address to be within 2 GiB of, or 0; anywhere: take other memory if there is none near. */
void *runtime_map(size_t size, int protection, uint64_t near, bool anywhere);
void runtime_add_area(uint64_t base, uint64_t end);
bool runtime_is_own(uint64_t base, uint64_t end);
/* Bytes of address space that the runtime takes, with some to spare. */
uint64_t runtime_own_size(void);
/* Appends text, a decimal and a hexadecimal number; *at stays below size. */
void runtime_put(char *out, size_t size, size_t *at, const char *text);
void runtime_put_number(char *out, size_t size, size_t *at, uint64_t number, unsigned base);
int64_t runtime_read_file(const char *path, char *out, size_t size);
uint64_t runtime_monotonic(void);
void runtime_clock_start(uint64_t vdso);
/* The program takes this memory away: the vdso may be in it. */
void runtime_clock_unmapped(uint64_t base, uint64_t end);
void runtime_debug(const char *text, uint64_t a, uint64_t b);

/* ---- ring.c: the way to the recorder ---- */

bool runtime_send(struct runtime_thread *thread, struct channel_message *message, size_t size, const void *tail,
		  size_t tail_size);
uint32_t runtime_request(struct runtime_thread *thread, struct channel_message *message, size_t size, const void *tail,
			 size_t tail_size);
/* A warning, and a note. number: if not 0, an address behind the text. */
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
void runtime_thread_call_all(void);
void runtime_thread_again(struct runtime_thread *thread);
void runtime_thread_continue(struct runtime_thread *thread);
void runtime_threads_settle(struct runtime_thread *thread);
void runtime_threads_resume(struct runtime_thread *thread);
struct channel_slot *runtime_slot_at(uint32_t index);
uint32_t runtime_slot_index(const struct channel_slot *slot);
void runtime_thread_ids(uint32_t *pid, uint32_t *tid);
int64_t runtime_do_clone(struct runtime_thread *thread, int64_t number);
_Noreturn void runtime_do_exit(struct runtime_thread *thread, int64_t number);

/* ---- cpu.c: virtual CPUs, where the recorder asks for them; else these do nothing ---- */

/* Waits for a CPU. Without any lock. */
void runtime_cpu_take(struct runtime_thread *thread);
/* Packets are disabled by now. */
void runtime_cpu_give(struct runtime_thread *thread);
bool runtime_cpu_is_wanted(const struct runtime_thread *thread);
/* Gives it to one that waits, and takes it, or another, again. */
void runtime_cpu_yield(struct runtime_thread *thread);

/* ---- mapping.c, with runtime.lock held, but for the last two ---- */

void runtime_mapping_begin(struct runtime_thread *thread);
void runtime_mapping_add(struct runtime_thread *thread, struct channel_image *image);
/* Code at [start, start + size) is translated from these bytes. *writable: it may be written to. *shared: through another mapping, too */
void runtime_mapping_translated(struct runtime_thread *thread, uint64_t start, const uint8_t *bytes, size_t size);
/* Whether a function of --stop-at begins at pc. */
bool runtime_mapping_is_stop(uint64_t pc);
/* The bytes of [base, end) may have changed without a change of protection. Takes the lock. */
void runtime_mapping_written(struct runtime_thread *thread, uint64_t base, uint64_t end);
void runtime_mapping_syscall(struct runtime_thread *thread, int64_t number, const uint64_t args[6], int64_t result);

struct runtime_map {
	uint64_t base, end, file_offset, device, inode;
	bool readable, writable, executable, shared, deleted;
	char path[CHANNEL_PATH_SIZE];
};
bool runtime_maps_find(uint64_t address, struct runtime_map *map);
/* The first executable mapping that ends behind the address. */
bool runtime_maps_next_executable(uint64_t address, struct runtime_map *map);
/* Where in [low, high) the most memory is free, and at least size is, beside the stack; 0: nowhere. With runtime.lock held. */
uint64_t runtime_maps_gap(uint64_t low, uint64_t high, uint64_t size);

/* ---- uprobe.c, with runtime.lock held ---- */

/* Replaces the breakpoints of uprobes in a block's bytes, which were read at pc, by the bytes of the file. */
void runtime_uprobe_replace(struct runtime_thread *thread, uint64_t pc, uint8_t *bytes, size_t size);

/* ---- start.c ---- */

void runtime_relocate(uint64_t base);
/* Maps the arena by its descriptor, and notes where the runtime's image is. */
bool runtime_map_arena(int64_t arena, uint64_t image, uint64_t image_size);
/* The vdso reads the time stamp counter, which a process may have forbidden to itself and its children. */
bool runtime_may_read_counter(void);
/* The kernel leaves room for a stack, which rsp points into, of the size that the limit has when the program begins. */
void runtime_find_stack(uint64_t rsp);
/* bytes: the program's strings, as CHANNEL_MSG_EXEC_BYTES has them; flags: of CHANNEL_MSG_EXEC. */
void runtime_send_program(struct runtime_thread *thread, const uint8_t *bytes, size_t total, uint32_t argc,
			  uint64_t entry, uint16_t flags);

/* ---- attach.c ---- */

/* The program's call. */
int64_t runtime_attach_rseq(struct runtime_thread *thread);
/* The kernel acts on the program's restartable sequences again: the thread goes on natively. */
void runtime_attach_leave(const struct runtime_thread *thread);

/* ---- serve.c: packets and what goes on between blocks ---- */

void runtime_leave_for_syscall(struct runtime_thread *thread);
void runtime_enable(struct runtime_thread *thread);
/* The thread's packets end at pc, which did not retire unless `trapped`. */
void runtime_interrupt(struct runtime_thread *thread, bool trapped);
uint64_t runtime_now(struct runtime_thread *thread);
/* All threads of the process leave the cache at their next block's head and go on natively. */
void runtime_let_go(struct runtime_thread *thread, const char *why);

/* ---- cache.c ---- */

bool runtime_cache_start(void);
const void **runtime_cache_table(void);
/* A page for the code with which a thread leaves the cache; NULL: neither memory nor the reserve of the start has a page. */
uint8_t *runtime_cache_departure(void);
/* Whether memory was lacking for a translation. The cache grows no more. */
bool runtime_cache_is_full(void);
bool runtime_cache_is_code(uint64_t code);
bool runtime_cache_unguard(uint64_t address);
void runtime_cache_remapped(uint64_t base, uint64_t end);
/* The translation of pc, made if there is none. NULL if pc cannot be read: the thread has then a pending signal. */
const void *runtime_cache_find(struct runtime_thread *thread, uint64_t pc);
/* Lets exit `number` lead to code. */
void runtime_cache_link(uint64_t number, const void *code);
uint64_t runtime_cache_exit_pc(uint64_t number);
/* The code at [base, end) has changed, or is not executable any more. */
void runtime_cache_forget(uint64_t base, uint64_t end);
/* The program's state at an address in the cache: pc and what is to be mended. False if it is none. */
bool runtime_cache_restore(struct runtime_thread *thread, uint64_t code, uint64_t regs[16], uint64_t *pc,
			   uint64_t *next);
bool runtime_cache_restore_check(struct runtime_thread *thread, uint64_t code, uint64_t regs[16], uint64_t *flags,
				 uint64_t *pc);
/* A write fault: true if it was due to the cache's protection of translated code, which is lifted. */
bool runtime_cache_write_fault(struct runtime_thread *thread, uint64_t address);
/* Lifts the protection of all pages, with runtime.lock held. */
void runtime_cache_unguard_locked(void);
/* The same of pages of a range, without the lock. */
void runtime_cache_unguard_range(uint64_t base, uint64_t end);
/* Whether any page is protected. */
bool runtime_cache_has_guards(void);
bool runtime_cache_is_same_page(uint64_t code, uint64_t address);

/* ---- writes.c: system calls that write code ---- */

/* The call is about to be made: the kernel may write to the memory that it names. */
void runtime_writes_before(int64_t number, const uint64_t args[6]);
/* It failed with EFAULT: whether that may be due to the cache's protection, which is lifted then. */
bool runtime_writes_failed(void);
/* It has been made: the program may have written to its own memory by way of a file. */
void runtime_writes_after(struct runtime_thread *thread, int64_t number, const uint64_t args[6], int64_t result);
/* The program has opened a file. */
void runtime_writes_opened(uint64_t path);

/* ---- syscalls.c ---- */

void runtime_do_syscall(struct runtime_thread *thread);

/* ---- signals.c ---- */

void runtime_signals_start(struct runtime_thread *thread);
void runtime_signals_thread(struct runtime_thread *thread);
void runtime_signals_attached(struct runtime_thread *thread);
/* Around execve: a new program ignores what this one ignores, also faults. */
void runtime_signals_ignored(bool natively);
void runtime_deliver(struct runtime_thread *thread);
int64_t runtime_do_sigaction(struct runtime_thread *thread);
int64_t runtime_do_sigaltstack(struct runtime_thread *thread);
void runtime_do_sigreturn(struct runtime_thread *thread);
void runtime_signals_native(const struct runtime_thread *thread);
void runtime_signals_leave(struct runtime_thread *thread, uint64_t mask);
void runtime_queue_unreadable(struct runtime_thread *thread);
void runtime_queue_fault(struct runtime_thread *thread, int signal, int code, uint64_t address);

/* ---- release.c ---- */

struct release;

/* Stops the process's other threads that wait in system calls, ready to go on natively. NULL: there are none. */
struct release *runtime_release_stop(struct runtime_thread *self);
/* Lets them go on: signals have the program's own handlers again. */
void runtime_release_go_on(struct release *release);

/* ---- vsyscall.c ---- */

/*
 * Carries out the call of the vsyscall page at pc, and goes on at the caller. Returns false if pc is no entry of the page, or this kernel
 * has no such page. Packets are enabled.
 */
bool runtime_call_vsyscall(struct runtime_thread *thread);

/* ---- exec.c ---- */

/*
 * Starts a process that shares the memory, without a signal at its end, as a tracer: the process calls run, which does not return.
 * cleared: the kernel writes 0 there when the process has ended; NULL: nowhere. Returns the pid, or -errno.
 */
int64_t runtime_clone_tracer(void (*run)(void *), void *context, uint8_t *stack_end, uint32_t *cleared);

int64_t runtime_do_exec(struct runtime_thread *thread, int64_t number);

#endif
