/* SPDX-License-Identifier: BSD-2-Clause */
/* Start of the runtime in a new program, and the report of the program to the recorder. */
#include <asm/prctl.h>
#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "record/software/runtime/runtime.h"

#define VECTOR_MAX (1u << 20)
#define HEADERS_MAX 64
#define STRINGS_MAX (1u << 21)
#define ARENA_BASE 0x7e8000000000ull
#define LIMIT_SPARE (1ull << 30)
#define STACK_ROOM_MIN (128ull << 20)
#define STACK_ROOM_MAX (16ull << 30)

/* The kernel's data on the stack of a new program. */
struct initial_stack {
	uint64_t argc;
	uint64_t argv;
	uint64_t headers;      /* AT_PHDR */
	uint64_t header_count; /* AT_PHNUM */
	uint64_t interpreter;  /* AT_BASE */
	uint64_t entry;        /* AT_ENTRY */
	uint64_t file;         /* AT_EXECFN */
	uint64_t vdso;         /* AT_SYSINFO_EHDR */
};

extern uint8_t runtime_first_stack[];
uint8_t runtime_first_stack[65536] __attribute__((aligned(64)));

static bool read_word(uint64_t address, uint64_t *word)
{
	return runtime_copy(word, (const void *)address, sizeof(*word));
}

static uint64_t skip_vector(uint64_t address)
{
	uint64_t word;

	for (unsigned i = 0; i < VECTOR_MAX; i++, address += sizeof(word)) {
		if (!read_word(address, &word))
			return 0;
		if (!word)
			return address + sizeof(word);
	}
	return 0;
}

static bool read_initial_stack(uint64_t rsp, struct initial_stack *stack)
{
	uint64_t at, pair[2];

	*stack = (struct initial_stack){.argv = rsp + 8};
	if (!read_word(rsp, &stack->argc) || stack->argc > VECTOR_MAX)
		return false;
	at = skip_vector(rsp + 8 + stack->argc * 8 + 8);
	for (unsigned i = 0; at && i < 64; i++, at += sizeof(pair)) {
		if (!runtime_copy(pair, (const void *)at, sizeof(pair)))
			return false;
		switch (pair[0]) {
		case AT_PHDR:
			stack->headers = pair[1];
			break;
		case AT_PHNUM:
			stack->header_count = pair[1];
			break;
		case AT_BASE:
			stack->interpreter = pair[1];
			break;
		case AT_ENTRY:
			stack->entry = pair[1];
			break;
		case AT_EXECFN:
			stack->file = pair[1];
			break;
		case AT_SYSINFO_EHDR:
			stack->vdso = pair[1];
			break;
		case AT_NULL:
			return true;
		default:
			break;
		}
	}
	return false;
}

/* ---- images ---- */

static void add_segment(struct runtime_thread *thread, const Elf64_Phdr *segment, uint64_t bias, uint32_t flag)
{
	static struct runtime_map map;
	uint64_t base = (segment->p_vaddr + bias) & ~(CHANNEL_PAGE - 1);
	uint64_t end = (segment->p_vaddr + bias + segment->p_memsz + CHANNEL_PAGE - 1) & ~(CHANNEL_PAGE - 1);
	struct channel_image image = {
		.base = base,
		.end = end,
		.protection = (segment->p_flags & PF_R ? PROT_READ : 0) | (segment->p_flags & PF_W ? PROT_WRITE : 0) |
			      PROT_EXEC,
		.flags = flag | (segment->p_flags & PF_W ? CHANNEL_IMAGE_WRITABLE : 0),
	};

	if (!runtime_maps_find(base, &map))
		return;
	if (map.path[0]) {
		image.path = map.path;
		image.file_offset = map.file_offset + (base - map.base);
		image.device = map.device;
		image.inode = map.inode;
		image.flags |= map.deleted ? CHANNEL_IMAGE_DELETED : 0;
	} else {
		image.flags |= CHANNEL_IMAGE_ANONYMOUS;
	}
	runtime_mapping_add(thread, &image);
}

static void add_segments(struct runtime_thread *thread, uint64_t address, uint64_t count, uint64_t bias, uint32_t flag)
{
	Elf64_Phdr headers[HEADERS_MAX];

	if (count > HEADERS_MAX || !runtime_copy(headers, (const void *)address, count * sizeof(headers[0])))
		return;
	for (uint64_t i = 0; i < count; i++)
		if (headers[i].p_type == PT_LOAD && headers[i].p_flags & PF_X)
			add_segment(thread, &headers[i], bias, flag);
}

/* Returns the load bias: actual minus stated address of the program headers. */
static uint64_t program_bias(const struct initial_stack *stack)
{
	Elf64_Phdr headers[HEADERS_MAX];

	if (stack->header_count > HEADERS_MAX ||
	    !runtime_copy(headers, (const void *)stack->headers, stack->header_count * sizeof(headers[0])))
		return 0;
	for (uint64_t i = 0; i < stack->header_count; i++)
		if (headers[i].p_type == PT_PHDR)
			return stack->headers - headers[i].p_vaddr;
	for (uint64_t i = 0; i < stack->header_count; i++)
		if (headers[i].p_type == PT_LOAD && headers[i].p_offset == 0)
			return stack->headers - sizeof(Elf64_Ehdr) - headers[i].p_vaddr;
	return 0;
}

static void add_vdso(struct runtime_thread *thread, uint64_t address)
{
	static struct runtime_map map;
	struct channel_image image = {.flags = CHANNEL_IMAGE_VDSO, .protection = PROT_READ | PROT_EXEC};

	if (!address || !runtime_maps_find(address, &map))
		return;
	image.base = map.base;
	image.end = map.end;
	runtime_mapping_add(thread, &image);
}

static void add_images(struct runtime_thread *thread, const struct initial_stack *stack)
{
	Elf64_Ehdr header;

	if (stack->headers)
		add_segments(thread, stack->headers, stack->header_count, program_bias(stack), CHANNEL_IMAGE_MAIN);
	if (stack->interpreter && runtime_copy(&header, (const void *)stack->interpreter, sizeof(header)) &&
	    !memcmp(header.e_ident, ELFMAG, SELFMAG))
		add_segments(thread, stack->interpreter + header.e_phoff, header.e_phnum, stack->interpreter,
			     CHANNEL_IMAGE_INTERPRETER);
	add_vdso(thread, stack->vdso);
}

/* ---- messages ---- */

static void send_process_start(struct runtime_thread *thread)
{
	struct channel_message_process_start message = {
		.header = {.type = CHANNEL_MSG_PROCESS_START, .time = runtime.change_time},
		.how = CHANNEL_PROCESS_INITIAL,
		.parent_pid = (uint32_t)RUNTIME_CALL(SYS_getppid, 0),
		.epoch = runtime.epoch,
	};

	runtime_send(thread, &message.header, sizeof(message), NULL, 0);
}

/* Appends a string of the program's memory with its NUL. False: unreadable or too long. */
static bool put_program_string(uint8_t *out, size_t *at, uint64_t address)
{
	for (; *at < STRINGS_MAX - 1; address++) {
		if (!runtime_copy(out + *at, (const void *)address, 1))
			break;
		if (!out[(*at)++])
			return true;
	}
	out[(*at)++] = 0;
	return false;
}

static bool is_script(uint64_t file)
{
	char path[CHANNEL_PATH_SIZE], head[2] = {0, 0};
	size_t at = 0;

	for (; at < sizeof(path) - 1; at++)
		if (!runtime_copy(&path[at], (const void *)(file + at), 1) || !path[at])
			break;
	path[at] = 0;
	return runtime_read_file(path, head, sizeof(head)) == 2 && head[0] == '#' && head[1] == '!';
}

void runtime_send_program(struct runtime_thread *thread, const uint8_t *bytes, size_t total, uint32_t argc,
			  uint64_t entry, uint16_t flags)
{
	struct channel_message_exec message = {
		.header = {.type = CHANNEL_MSG_EXEC, .flags = flags, .time = runtime.change_time},
		.total = (uint32_t)total,
		.argc = argc,
		.epoch = runtime.epoch,
		.start_address = entry,
	};

	runtime_send(thread, &message.header, sizeof(message), NULL, 0);
	for (size_t at = 0; at < total;) {
		struct channel_message_exec_bytes part = {
			.header = {.type = CHANNEL_MSG_EXEC_BYTES, .time = runtime.change_time},
			.offset = (uint32_t)at,
		};
		const size_t length = total - at < 32768 ? total - at : 32768;

		part.length = (uint32_t)length;
		runtime_send(thread, &part.header, sizeof(part), bytes + at, length);
		at += length;
	}
}

static void send_exec(struct runtime_thread *thread, const struct initial_stack *stack)
{
	uint8_t *bytes = malloc(STRINGS_MAX + 16);
	size_t total = 0, length;
	int64_t size;

	if (!bytes)
		return;
	size = runtime_proc_readlink("self/exe", "/proc/self/exe", runtime.program, sizeof(runtime.program) - 1);
	runtime.program[size > 0 ? size : 0] = 0;
	length = strlen(runtime.program);
	memcpy(bytes, runtime.program, length + 1);
	total = length + 1;
	if (stack->file && is_script(stack->file))
		put_program_string(bytes, &total, stack->file);
	else
		bytes[total++] = 0;
	size = RUNTIME_CALL(SYS_getcwd, bytes + total, CHANNEL_PATH_SIZE);
	if (size > 0)
		total += (size_t)size;
	else
		bytes[total++] = 0;
	for (uint64_t i = 0; i < stack->argc; i++) {
		uint64_t argument = 0;

		if (!read_word(stack->argv + i * 8, &argument) || !put_program_string(bytes, &total, argument))
			break;
	}
	runtime_send_program(thread, bytes, total, (uint32_t)stack->argc, stack->entry, 0);
	free(bytes);
}

/* Reports privileges that the program lacks because of the tracer. */
static void note_privileges(struct runtime_thread *thread)
{
	struct stat info;
	char text[CHANNEL_PATH_SIZE + 64];
	size_t at = 0;
	const char *lost = NULL;

	if (RUNTIME_CALL(SYS_stat, runtime.program, &info) < 0)
		return;
	if (info.st_mode & S_ISUID && info.st_uid != (uint32_t)RUNTIME_CALL(SYS_geteuid, 0))
		lost = " is set-user-ID: recorded, it runs without its privileges";
	else if (info.st_mode & S_ISGID && info.st_mode & S_IXGRP &&
		 info.st_gid != (uint32_t)RUNTIME_CALL(SYS_getegid, 0))
		lost = " is set-group-ID: recorded, it runs without its privileges";
	else if (RUNTIME_CALL(SYS_geteuid, 0) &&
		 RUNTIME_CALL(SYS_getxattr, runtime.program, "security.capability", 0, 0) > 0)
		lost = " has capabilities: recorded, it runs without them";
	if (!lost)
		return;
	runtime_put(text, sizeof(text), &at, runtime.program);
	runtime_put(text, sizeof(text), &at, lost);
	runtime_note(thread, text, 0);
}

/* ---- the runtime's beginning ---- */

extern const Elf64_Dyn _DYNAMIC[] __attribute__((visibility("hidden")));

void runtime_relocate(uint64_t base)
{
	const Elf64_Rela *entries = NULL;
	uint64_t size = 0;

	for (const Elf64_Dyn *dynamic = _DYNAMIC; dynamic->d_tag != DT_NULL; dynamic++) {
		if (dynamic->d_tag == DT_RELA)
			entries = (const void *)(base + dynamic->d_un.d_ptr);
		if (dynamic->d_tag == DT_RELASZ)
			size = dynamic->d_un.d_val;
	}
	for (uint64_t i = 0; i < size / sizeof(*entries); i++)
		*(uint64_t *)(base + entries[i].r_offset) = base + (uint64_t)entries[i].r_addend;
}

/* Adds the runtime's memory to the program's limit of address space, if permitted. */
static void raise_limit(uint64_t size)
{
	uint64_t limit[2];

	if (RUNTIME_CALL(SYS_getrlimit, 9 /* RLIMIT_AS */, limit) < 0 || limit[0] == ~0ull)
		return;
	limit[0] += size + LIMIT_SPARE;
	if (limit[1] < limit[0])
		limit[1] = limit[0];
	RUNTIME_CALL(SYS_setrlimit, 9, limit);
}

bool runtime_may_read_counter(void)
{
	int mode = 0;

	return RUNTIME_CALL(SYS_prctl, PR_GET_TSC, &mode) < 0 || mode != PR_TSC_SIGSEGV;
}

void runtime_find_stack(uint64_t rsp)
{
	uint64_t limit[2];

	if (RUNTIME_CALL(SYS_getrlimit, 3 /* RLIMIT_STACK */, limit) < 0 || limit[0] < STACK_ROOM_MIN)
		limit[0] = STACK_ROOM_MIN;
	if (limit[0] > STACK_ROOM_MAX)
		limit[0] = STACK_ROOM_MAX;
	runtime.stack_end = rsp;
	runtime.stack_low = rsp > limit[0] ? rsp - limit[0] : 0;
}

bool runtime_map_arena(int64_t arena, uint64_t image, uint64_t image_size)
{
	static struct channel_config config;
	static uint8_t first[4096 * 4];
	uint64_t at = ARENA_BASE, size;
	int64_t base = -1;

	if (RUNTIME_CALL(SYS_pread64, arena, first, sizeof(first), 0) != sizeof(first))
		return false;
	config = ((struct channel_header *)(void *)first)->config;
	size = channel_arena_size(&config);
	raise_limit(size);
	/* A program with little address space gets fewer slots. */
	for (; base != (int64_t)at; config.slot_count /= 2) {
		size = channel_arena_size(&config);
		for (unsigned i = 0; i < 16 && base != (int64_t)at; i++) {
			at = ARENA_BASE + i * (1ull << 34);
			base = RUNTIME_CALL(SYS_mmap, at, size, PROT_READ | PROT_WRITE,
					    MAP_SHARED | MAP_FIXED_NOREPLACE | MAP_NORESERVE, arena, 0);
		}
		if (base == (int64_t)at)
			break;
		if (config.slot_count < 2)
			return false;
	}
	runtime.config = config;
	runtime.arena = (uint8_t *)at;
	runtime.header = (struct channel_header *)(void *)runtime.arena;
	runtime_add_area(at, at + size);
	runtime_add_area(image, image + image_size);
	runtime.image = image;
	runtime.image_size = image_size;
	return true;
}

/* Starts the program natively through sigreturn, which sets all registers. */
static _Noreturn void give_up(const struct runtime_start *start)
{
	struct {
		uint64_t flags, link, stack[3], regs[23], fpstate, reserved[8], mask;
	} context = {.flags = 2};
	static const uint8_t places[16] = {13, 14, 12, 11, 15, 10, 9, 8, 0, 1, 2, 3, 4, 5, 6, 7};

	if (start->kept_proc > 0) {
		RUNTIME_CALL(SYS_close, start->kept_arena);
		RUNTIME_CALL(SYS_close, start->kept_proc);
	}
	if (runtime.header)
		__atomic_add_fetch(&runtime.header->untraced_processes, 1, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < 16; i++)
		context.regs[places[i]] = start->registers[i];
	context.regs[16] = start->pc;
	context.regs[17] = start->flags;
	context.regs[18] = 0x002b000000000033ull;
	context.mask = start->mask;
	context.stack[1] = 2; /* SS_DISABLE */
	__asm__ volatile("mov %0, %%rsp\n\tmov $15, %%eax\n\tsyscall" : : "r"(&context) : "memory");
	__builtin_unreachable();
}

static struct runtime_thread *continued_thread(const struct runtime_start *start)
{
	struct channel_slot *slot;

	if (!start->continued || start->slot < 0 || start->slot >= runtime.config.slot_count)
		return NULL;
	slot = (struct channel_slot *)(void *)(runtime.arena +
					       channel_slot_offset(&runtime.config, (uint32_t)start->slot));
	return slot->status == CHANNEL_SLOT_LIVE && slot->pid == runtime.pid ? runtime_thread_of(slot) : NULL;
}

__attribute__((used)) void runtime_start(const struct runtime_start *given);

void runtime_start(const struct runtime_start *given)
{
	struct runtime_start start = *given;
	struct initial_stack stack;
	struct runtime_thread *thread;
	const uint64_t all = ~0ull;
	uint32_t tid;

	runtime_relocate(start.base);
	RUNTIME_CALL(SYS_rt_sigprocmask, 2, &all, 0, 8);
	if (start.tracer > 0)
		while (RUNTIME_CALL(SYS_wait4, start.tracer, 0, 0x40000000 /* __WALL */, 0) == -4)
			;
	if (!runtime_map_arena(start.arena, start.base, start.size))
		give_up(&start);
	if (start.kept_proc > 0) {
		runtime_namespace_keep(start.arena, start.kept_proc);
	} else {
		RUNTIME_CALL(SYS_close, start.arena);
	}
	runtime_thread_ids(&runtime.pid, &tid);
	if (!read_initial_stack(start.registers[RSP], &stack) || !runtime_cache_start())
		give_up(&start);
	runtime_find_stack(start.registers[RSP]);
	if (stack.vdso && runtime_may_read_counter())
		runtime_clock_start(stack.vdso);
	runtime.process = start.continued ? start.process
					  : __atomic_add_fetch(&runtime.header->next_process, 1, __ATOMIC_RELAXED);
	runtime.epoch = start.epoch;
	runtime.change_time = start.time;
	runtime.psb_time = start.time;
	thread = continued_thread(&start);
	if (thread) {
		if (!runtime_thread_continue(thread))
			give_up(&start);
	} else {
		thread = runtime_thread_new();
		if (!thread)
			give_up(&start);
		thread->pid = runtime.pid;
		thread->tid = tid;
		thread->process = runtime.process;
		runtime_thread_start(thread, start.continued ? start.time : runtime.config.virtual_start);
	}
	RUNTIME_CALL(SYS_arch_prctl, ARCH_SET_GS, thread->slot);
	memcpy(thread->regs, start.registers, sizeof(thread->regs));
	thread->flags = start.flags;
	thread->pc = start.pc;
	runtime_lock(&runtime.lock);
	runtime_mapping_begin(thread);
	if (!start.continued)
		send_process_start(thread);
	send_exec(thread, &stack);
	note_privileges(thread);
	add_images(thread, &stack);
	runtime_unlock(&runtime.lock);
	thread->own_tid = (uint32_t)RUNTIME_CALL(SYS_gettid, 0);
	thread->reason = RUNTIME_REASON_START;
	runtime_signals_start(thread);
	runtime_signals_thread(thread);
	RUNTIME_CALL(SYS_rt_sigprocmask, 2, &start.mask, 0, 8);
}
