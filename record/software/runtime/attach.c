/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Attaching to a running process. The tracer has stopped all threads. One thread prepares the runtime while the other
 * threads are stopped, so that the tracer can still undo the attachment. Then each thread enters the runtime with the
 * registers from before the stop.
 */
#include <asm/prctl.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/rseq.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "record/software/runtime/runtime.h"

#define STRINGS_MAX (1u << 21)
#define WORDS_MAX 128
#define RSEQ_CALL 334
#define USER_END (1ull << 47)
#define PAGE_PRESENT (1ull << 63)
#define PAGE_SWAPPED (1ull << 62)
#define PAGE_OF_FILE (1ull << 61)
/* Flags under the program's control; RF and TF belong to the tracer. */
#define PROGRAM_FLAGS 0x40dd5ull

static struct runtime_attach *attach;
static uint64_t entry_address, vdso_address;

/* ---- while all other threads are stopped ---- */

/* Reads the auxiliary vector of the program. */
static void read_auxiliary_vector(void)
{
	static uint64_t words[WORDS_MAX];
	const int64_t size = runtime_read_file("/proc/self/auxv", (char *)words, sizeof(words));

	for (int64_t i = 0; i + 1 < size / 8; i += 2) {
		if (words[i] == AT_ENTRY)
			entry_address = words[i + 1];
		if (words[i] == AT_SYSINFO_EHDR)
			vdso_address = words[i + 1];
	}
}

static struct runtime_thread *make_thread(struct runtime_attach_thread *given)
{
	struct runtime_thread *thread = runtime_thread_new();

	if (!thread)
		return NULL;
	memcpy(thread->regs, given->registers, sizeof(thread->regs));
	thread->flags = (given->flags & PROGRAM_FLAGS) | 0x202;
	thread->pc = given->pc;
	thread->mask = given->mask;
	thread->restart = given->restart;
	thread->rseq = given->rseq;
	thread->rseq_size = given->rseq_size;
	thread->rseq_signature = given->rseq_signature;
	thread->pid = runtime.pid;
	thread->tid = (uint32_t)given->tid;
	thread->process = runtime.process;
	thread->reason = RUNTIME_REASON_START;
	given->thread = (uint64_t)thread;
	return thread;
}

static struct runtime_thread *thread_of(uint32_t index)
{
	return (struct runtime_thread *)attach->threads[index].thread;
}

static enum runtime_attach_result make_threads(void)
{
	uint32_t made = 0;

	while (made < attach->count && make_thread(&attach->threads[made]))
		made++;
	if (made == attach->count && !thread_of(0)->is_dummy)
		return RUNTIME_ATTACH_DONE;
	while (made--)
		runtime_thread_release(thread_of(made));
	return RUNTIME_ATTACH_NO_SLOT;
}

static enum runtime_attach_result prepare(void)
{
	enum runtime_attach_result result;
	const bool is_mapped = runtime_map_arena(attach->arena, attach->base, attach->size);

	RUNTIME_CALL(SYS_close, attach->arena);
	if (!is_mapped)
		return RUNTIME_ATTACH_NO_ARENA;
	runtime_add_area((uint64_t)attach, (uint64_t)attach + attach->all);
	runtime.pid = attach->pid;
	if (!runtime_cache_start())
		return RUNTIME_ATTACH_NO_CACHE;
	runtime_find_stack(attach->threads[0].registers[RSP]);
	read_auxiliary_vector();
	if (vdso_address && runtime_may_read_counter())
		runtime_clock_start(vdso_address);
	runtime.process = __atomic_add_fetch(&runtime.header->next_process, 1, __ATOMIC_RELAXED);
	result = make_threads();
	for (uint32_t i = 0; result == RUNTIME_ATTACH_DONE && i < attach->count; i++)
		runtime_thread_start(thread_of(i), runtime.config.virtual_start);
	return result;
}

__attribute__((used)) void runtime_attach_prepare(struct runtime_attach *given);

void runtime_attach_prepare(struct runtime_attach *given)
{
	runtime_relocate(given->base);
	attach = given;
	given->result = prepare();
}

/* ---- what the recorder is told ---- */

static void send_process_start(struct runtime_thread *thread)
{
	struct channel_message_process_start message = {
		.header = {.type = CHANNEL_MSG_PROCESS_START,
			   .flags = CHANNEL_MESSAGE_RUNDOWN,
			   .time = runtime.change_time},
		.how = CHANNEL_PROCESS_INITIAL,
		.parent_pid = (uint32_t)RUNTIME_CALL(SYS_getppid, 0),
		.epoch = runtime.epoch,
	};

	runtime_send(thread, &message.header, sizeof(message), NULL, 0);
}

static void add_text(uint8_t *bytes, size_t *total, const char *link)
{
	const int64_t size = RUNTIME_CALL(SYS_readlink, link, bytes + *total, CHANNEL_PATH_SIZE - 1);

	*total += size > 0 ? (size_t)size : 0;
	bytes[(*total)++] = 0;
}

static void send_program(struct runtime_thread *thread)
{
	uint8_t *bytes = malloc(STRINGS_MAX);
	size_t total = 0, arguments;
	uint32_t argc = 0;
	int64_t size;

	if (!bytes)
		return;
	add_text(bytes, &total, "/proc/self/exe");
	memcpy(runtime.program, bytes, total);
	bytes[total++] = 0;
	add_text(bytes, &total, "/proc/self/cwd");
	arguments = total;
	size = runtime_read_file("/proc/self/cmdline", (char *)bytes + total, STRINGS_MAX - total);
	total += size > 0 ? (size_t)size : 0;
	for (size_t i = arguments; i < total; i++)
		argc += !bytes[i];
	runtime_send_program(thread, bytes, total, argc, entry_address, CHANNEL_MESSAGE_RUNDOWN);
	free(bytes);
}

/* Returns whether a page of a private file mapping was modified: its bytes are then sent when executed. */
static bool is_changed(const struct runtime_map *map)
{
	static uint64_t pages[512];
	const int64_t file = RUNTIME_CALL(SYS_open, "/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	bool changed = file < 0;

	for (uint64_t at = map->base; !changed && at < map->end;) {
		const uint64_t left = (map->end - at) / CHANNEL_PAGE;
		const int64_t size = RUNTIME_CALL(SYS_pread64, file, pages, (left < 512 ? left : 512) * 8,
						  at / CHANNEL_PAGE * 8);

		changed = size <= 0;
		for (int64_t i = 0; i < size / 8; i++)
			changed |= pages[i] & (PAGE_PRESENT | PAGE_SWAPPED) && !(pages[i] & PAGE_OF_FILE);
		at += (uint64_t)(size > 0 ? size : 8) / 8 * CHANNEL_PAGE;
	}
	if (file >= 0)
		RUNTIME_CALL(SYS_close, file);
	return changed;
}

static void add_image(struct runtime_thread *thread, struct runtime_map *map)
{
	struct channel_image image = {
		.base = map->base,
		.end = map->end,
		.protection = PROT_EXEC | (map->readable ? PROT_READ : 0) | (map->writable ? PROT_WRITE : 0),
		.flags = (map->shared ? CHANNEL_IMAGE_SHARED : 0) | (map->writable ? CHANNEL_IMAGE_WRITABLE : 0),
	};

	if (map->path[0]) {
		image.path = map->path;
		image.file_offset = map->file_offset;
		image.device = map->device;
		image.inode = map->inode;
		image.flags |= map->deleted ? CHANNEL_IMAGE_DELETED : 0;
		image.flags |= !map->shared && is_changed(map) ? CHANNEL_IMAGE_WRITABLE : 0;
	} else {
		image.flags |= CHANNEL_IMAGE_ANONYMOUS;
		image.flags |= vdso_address >= map->base && vdso_address < map->end ? CHANNEL_IMAGE_VDSO : 0;
	}
	runtime_mapping_add(thread, &image);
}

static void add_images(struct runtime_thread *thread)
{
	static struct runtime_map map;

	for (uint64_t at = 0; runtime_maps_next_executable(at, &map) && map.base < USER_END; at = map.end)
		if (!runtime_is_own(map.base, map.end))
			add_image(thread, &map);
}

static void send_name(struct runtime_thread *thread)
{
	struct channel_message_thread_name message = {.header.type = CHANNEL_MSG_THREAD_NAME, .named_tid = thread->tid};
	char name[CHANNEL_THREAD_NAME_MAX + 2] = "";
	const int64_t size = runtime_read_file("/proc/thread-self/comm", name, sizeof(name) - 1);

	while (message.length < CHANNEL_THREAD_NAME_MAX && (int64_t)message.length < size &&
	       name[message.length] != '\n')
		message.length++;
	if (message.length)
		runtime_send(thread, &message.header, sizeof(message), name, message.length);
}

static void announce(struct runtime_thread *thread)
{
	runtime_lock(&runtime.lock);
	runtime_mapping_begin(thread);
	send_process_start(thread);
	send_program(thread);
	runtime.announcing = true;
	add_images(thread);
	runtime.announcing = false;
	runtime_unlock(&runtime.lock);
	runtime_signals_start(thread);
	__atomic_store_n(&attach->announced, 1, __ATOMIC_SEQ_CST);
	RUNTIME_CALL(SYS_futex, &attach->announced, FUTEX_WAKE, 0x7fffffff, 0, 0, 0);
}

static void wait_for_announcement(struct runtime_thread *thread)
{
	struct channel_message_thread_start message = {
		.header = {.type = CHANNEL_MSG_THREAD_START, .flags = CHANNEL_MESSAGE_RUNDOWN}};

	/* Waits without a timeout: a timeout would replace the kernel's restart state of an interrupted call. */
	while (!__atomic_load_n(&attach->announced, __ATOMIC_SEQ_CST))
		RUNTIME_CALL(SYS_futex, &attach->announced, FUTEX_WAIT, 0, 0, 0, 0);
	runtime_send(thread, &message.header, sizeof(message), NULL, 0);
}

/* ---- each thread ---- */

__attribute__((used)) void runtime_attached(struct runtime_thread *thread);

/* Enters a thread into the runtime. All signals are blocked. */
void runtime_attached(struct runtime_thread *thread)
{
	const uint64_t mask = thread->mask;

	RUNTIME_CALL(SYS_arch_prctl, ARCH_SET_GS, thread->slot);
	thread->own_tid = (uint32_t)RUNTIME_CALL(SYS_gettid, 0);
	if (thread == thread_of(0))
		announce(thread);
	else
		wait_for_announcement(thread);
	send_name(thread);
	/* Unregisters struct rseq: the kernel would act on addresses of the program's own code. */
	if (thread->rseq)
		RUNTIME_CALL(RSEQ_CALL, thread->rseq, thread->rseq_size, RSEQ_FLAG_UNREGISTER, thread->rseq_signature);
	runtime_signals_attached(thread);
	RUNTIME_CALL(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, &mask, 0, 8);
}

/*
 * Handles the program's call rseq. A thread created during the attachment registers its struct rseq, and a C library
 * may abort the program if the call fails. The kernel gets the registration when the thread goes on natively.
 */
int64_t runtime_attach_rseq(struct runtime_thread *thread)
{
	if (!attach)
		return -ENOSYS;
	thread->rseq = thread->regs[RDX] & RSEQ_FLAG_UNREGISTER ? 0 : thread->regs[RDI];
	thread->rseq_size = (uint32_t)thread->regs[RSI];
	thread->rseq_signature = (uint32_t)thread->regs[R10];
	return 0;
}

void runtime_attach_leave(const struct runtime_thread *thread)
{
	if (thread->rseq)
		RUNTIME_CALL(RSEQ_CALL, thread->rseq, thread->rseq_size, 0, thread->rseq_signature);
}
