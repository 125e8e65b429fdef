/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Code that changes and moves: JITs with pages writable and executable, or either; two mappings of a file; changes by
 * another thread and by system calls; code unmapped, replaced, moved, on the stack, next to data, in low memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>

#include "subtests.h"

#define ALL (PROT_READ | PROT_WRITE | PROT_EXEC)
#define PAGE 4096

typedef int (*function)(void);

static uint8_t *map_at(void *address, size_t size, int protection, int flags)
{
	uint8_t *memory = mmap(address, size, protection, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

	CHECK(memory != MAP_FAILED);
	return memory;
}

/* Writes `mov eax, value; ret`; returns the end. */
static uint8_t *put_function(uint8_t *code, int value)
{
	*code++ = 0xb8;
	memcpy(code, &value, 4);
	code[4] = 0xc3;
	return code + 5;
}

static int call(void *code)
{
	return ((function)(uintptr_t)code)();
}

static void write_and_execute(void)
{
	uint8_t *code = map_at(NULL, PAGE, ALL, 0);

	for (int i = 0; i < 300; i++) {
		put_function(code, i);
		CHECK(call(code) == i);
	}
	/* A function changes while another function of the page stays. */
	put_function(code, 1);
	for (int i = 0; i < 300; i++) {
		put_function(code + 64, i);
		CHECK(call(code + 64) == i && call(code) == 1);
	}
}

static void write_xor_execute(void)
{
	uint8_t *code = map_at(NULL, PAGE, PROT_READ | PROT_WRITE, 0);

	for (int i = 0; i < 300; i++) {
		CHECK(mprotect(code, PAGE, PROT_READ | PROT_WRITE) == 0);
		put_function(code, i);
		CHECK(mprotect(code, PAGE, PROT_READ | PROT_EXEC) == 0);
		CHECK(call(code) == i);
	}
}

static void two_mappings(void)
{
	int file = memfd_create("code", 0);
	uint8_t *writable, *code;

	CHECK(file >= 0 && ftruncate(file, PAGE) == 0);
	writable = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	code = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, file, 0);
	CHECK(writable != MAP_FAILED && code != MAP_FAILED);
	for (int i = 0; i < 300; i++) {
		put_function(writable, i);
		CHECK(call(code) == i);
	}
}

/* The kernel writes the code: read, pread, readv, recv, process_vm_writev. */
static void written_by_kernel(void)
{
	uint8_t *code = map_at(NULL, PAGE, ALL, 0), text[16];
	int ends[2];

	CHECK(pipe(ends) == 0);
	for (int i = 0; i < 60; i++) {
		struct iovec from = {text, 6}, to = {code, 6};

		put_function(text, i);
		if (i % 3 == 2) {
			CHECK(process_vm_writev(getpid(), &from, 1, &to, 1, 0) == 6 || errno == EPERM ||
			      errno == ENOSYS);
			memcpy(code, text, 6);
		} else {
			CHECK(write(ends[1], text, 6) == 6);
			CHECK((i % 3 ? readv(ends[0], &to, 1) : read(ends[0], code, 6)) == 6);
		}
		CHECK(call(code) == i);
	}
}

/* A ring of io_uring: one request at a time. */
struct ring {
	int fd;
	struct io_uring_params params;
	uint8_t *entries; /* the heads and tails of both queues */
	struct io_uring_sqe *requests;
};

/* Returns false if this machine has no io_uring. */
static bool ring_open(struct ring *ring)
{
	memset(ring, 0, sizeof(*ring));
	ring->fd = (int)syscall(SYS_io_uring_setup, 4, &ring->params);
	if (ring->fd < 0)
		return false;
	ring->entries = mmap(NULL, ring->params.sq_off.array + 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd,
			     IORING_OFF_SQ_RING);
	ring->requests = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, IORING_OFF_SQES);
	CHECK(ring->entries != MAP_FAILED && ring->requests != MAP_FAILED);
	CHECK(ring->params.features & IORING_FEAT_SINGLE_MMAP);
	return true;
}

/* Returns the result of the request. */
static int ring_do(struct ring *ring, struct io_uring_sqe request)
{
	_Atomic uint32_t *sq_tail = (void *)(ring->entries + ring->params.sq_off.tail);
	_Atomic uint32_t *cq_head = (void *)(ring->entries + ring->params.cq_off.head);
	_Atomic uint32_t *cq_tail = (void *)(ring->entries + ring->params.cq_off.tail);
	const struct io_uring_cqe *done = (void *)(ring->entries + ring->params.cq_off.cqes);
	const uint32_t at = *sq_tail % ring->params.sq_entries, head = *cq_head;
	int result;

	ring->requests[at] = request;
	((uint32_t *)(void *)(ring->entries + ring->params.sq_off.array))[at] = at;
	atomic_fetch_add(sq_tail, 1);
	CHECK(syscall(SYS_io_uring_enter, ring->fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) == 1);
	CHECK(*cq_tail == head + 1);
	result = done[head % ring->params.cq_entries].res;
	*cq_head = head + 1;
	return result;
}

/* io_uring writes code: at once, by a kernel thread, and into registered memory. */
static void written_by_ring(void)
{
	uint8_t *code = map_at(NULL, PAGE, ALL, 0), text[16];
	struct iovec registered = {code, PAGE};
	struct ring ring;
	int ends[2];

	put_function(code, 1);
	CHECK(call(code) == 1);
	CHECK(pipe(ends) == 0);
	if (!ring_open(&ring))
		return;
	CHECK(syscall(SYS_io_uring_register, ring.fd, IORING_REGISTER_BUFFERS, &registered, 1) == 0);
	for (int i = 0; i < 60; i++) {
		struct io_uring_sqe request = {
			.opcode = i % 3 == 2 ? IORING_OP_READ_FIXED : IORING_OP_READ,
			.flags = i % 3 == 1 ? IOSQE_ASYNC : 0,
			.fd = ends[0],
			.addr = (uintptr_t)code,
			.len = 6,
			.off = ~0ull,
		};

		put_function(text, i);
		CHECK(write(ends[1], text, 6) == 6);
		CHECK(ring_do(&ring, request) == 6);
		CHECK(call(code) == i);
	}
}

/* Linux aio writes code. */
static void written_by_aio(void)
{
	uint8_t *code = map_at(NULL, PAGE, ALL, 0), text[16];
	aio_context_t context = 0;
	int file = memfd_create("code", 0);

	if (syscall(SYS_io_setup, 4, &context))
		return;
	for (int i = 0; i < 60; i++) {
		struct iocb request = {.aio_fildes = (uint32_t)file,
				       .aio_lio_opcode = IOCB_CMD_PREAD,
				       .aio_buf = (uintptr_t)code,
				       .aio_nbytes = 6};
		struct iocb *requests[] = {&request};
		struct io_event event;

		put_function(text, i);
		CHECK(pwrite(file, text, 6, 0) == 6);
		CHECK(syscall(SYS_io_submit, context, 1, requests) == 1);
		CHECK(syscall(SYS_io_getevents, context, 1, 1, &event, NULL) == 1 && event.res == 6);
		CHECK(call(code) == i);
	}
}

/* A file of /proc writes to the page regardless of its protection. */
static void written_by_proc(void)
{
	uint8_t *code = map_at(NULL, PAGE, PROT_READ | PROT_EXEC, 0), text[16];
	int file = open("/proc/self/mem", O_RDWR);

	CHECK(file >= 0);
	for (int i = 0; i < 50; i++) {
		put_function(text, i);
		CHECK(pwrite(file, text, 6, (off_t)(uintptr_t)code) == 6);
		CHECK(call(code) == i);
	}
}

/* The kernel writes across the end of data into a page with code; the write must be complete. */
static void partly_protected(void)
{
	uint8_t *code = map_at(NULL, 2 * PAGE, ALL, 0);
	static uint8_t text[2 * PAGE];
	int ends[2], sockets[2];

	CHECK(pipe(ends) == 0 && socketpair(AF_UNIX, SOCK_DGRAM, 0, sockets) == 0);
	for (int i = 0; i < 60; i++) {
		struct iovec parts[2] = {{code + PAGE / 2, PAGE / 2}, {code + PAGE, PAGE / 2}};
		ssize_t size;

		put_function(text + PAGE / 2, i);
		put_function(code + PAGE, -1);
		CHECK(call(code + PAGE) == -1);
		CHECK(write(i % 2 ? ends[1] : sockets[1], text, PAGE) == PAGE);
		if (i % 2)
			size = i % 4 == 1 ? readv(ends[0], parts, 2) : read(ends[0], code + PAGE / 2, PAGE);
		else
			size = recv(sockets[0], code + PAGE / 2, PAGE, 0);
		CHECK(size == PAGE && call(code + PAGE) == i);
		CHECK(syscall(SYS_read, ends[0], -256l, 0x1000l) == -1 && errno == EFAULT);
	}
}

/* The running block modifies its own later instructions. */
static void within_block(void)
{
	static const uint8_t text[] = {
		0xc7, 0x05, 1, 0, 0, 0, 9, 0, 0, 0, /* mov dword [rip + 1], 9: changes the next immediate */
		0xb8, 1,    0, 0, 0,                /* mov eax, 1 */
		0xc3,
	};
	uint8_t *code = map_at(NULL, PAGE, ALL, 0);

	for (int i = 0; i < 100; i++) {
		int number = i + 1000;

		memcpy(code, text, sizeof(text));
		memcpy(code + 6, &number, 4);
		CHECK(call(code) == number);
	}
}

/* Frequently written data next to frequently executed code. */
static void beside_data(void)
{
	uint8_t *code = map_at(NULL, PAGE, ALL, 0);
	volatile uint64_t *data = (volatile uint64_t *)(code + 2048);

	put_function(code, 5);
	for (int i = 0; i < 20000; i++) {
		*data += (uint64_t)call(code);
		if (i == 10000)
			put_function(code, 6);
	}
	CHECK(*data == 10001 * 5 + 9999 * 6);
}

static void replaced(void)
{
	uint8_t *code = map_at(NULL, PAGE, ALL, 0);

	for (int i = 0; i < 100; i++) {
		switch (i % 4) {
		case 0:
			CHECK(munmap(code, PAGE) == 0);
			CHECK(map_at(code, PAGE, ALL, MAP_FIXED) == code);
			break;
		case 1:
			CHECK(map_at(code, PAGE, ALL, MAP_FIXED) == code);
			break;
		case 2:
			CHECK(madvise(code, PAGE, MADV_DONTNEED) == 0);
			CHECK(code[0] == 0);
			break;
		default:
			break;
		}
		put_function(code, i);
		CHECK(call(code) == i);
	}
}

/* Writes a function that calls `to`; returns the end. */
static uint8_t *put_caller(uint8_t *code, const uint8_t *to)
{
	static const uint8_t before[] = {0x48, 0x83, 0xec, 0x08}, after[] = {0x48, 0x83, 0xc4, 0x08, 0xc3};
	const int32_t displacement = (int32_t)(to - (code + 9));

	memcpy(code, before, 4); /* sub rsp, 8 */
	code[4] = 0xe8;
	memcpy(code + 5, &displacement, 4);
	memcpy(code + 9, after, 5); /* add rsp, 8; ret */
	return code + 14;
}

/* Writes a linkage stub, `jmp [pointer]`, with or without endbr64. */
static void put_stub(uint8_t *code, bool marked, uint8_t *const *pointer)
{
	int32_t displacement;

	if (marked) {
		memcpy(code, (const uint8_t[]){0xf3, 0x0f, 0x1e, 0xfa}, 4);
		code += 4;
	}
	displacement = (int32_t)((const uint8_t *)pointer - (code + 6));
	code[0] = 0xff;
	code[1] = 0x25;
	memcpy(code + 2, &displacement, 4);
}

/* Linkage stubs between a caller and a function: the pointer, the stub and the stub's memory change. */
static void changed_stub(void)
{
	uint8_t *code = map_at(NULL, 4 * PAGE, ALL, 0), *stub = code + PAGE, *functions = code + 2 * PAGE;
	uint8_t **pointer = (uint8_t **)(void *)(code + 3 * PAGE);

	put_caller(code, stub + 16);
	for (int i = 0; i < 64; i++)
		put_function(functions + 16 * i, i);
	for (int round = 0; round < 40; round++) {
		put_stub(stub + 16, round % 2, pointer);
		for (int i = 0; i < 64; i++) {
			*pointer = functions + 16 * i;
			CHECK(call(code) == i);
		}
		switch (round % 4) {
		case 0:
			CHECK(munmap(stub, PAGE) == 0);
			CHECK(map_at(stub, PAGE, ALL, MAP_FIXED) == stub);
			break;
		case 1:
			CHECK(mprotect(stub, PAGE, PROT_READ | PROT_WRITE) == 0 && mprotect(stub, PAGE, ALL) == 0);
			break;
		default:
			break;
		}
		put_function(stub + 16, round);
		CHECK(call(code) == round);
	}
}

static uint8_t *faulting_stub, **hidden_pointer;

static void show_pointer(int number, siginfo_t *info, void *context_)
{
	const ucontext_t *context = context_;

	CHECK(number == SIGSEGV && info->si_addr == (void *)hidden_pointer);
	CHECK(context->uc_mcontext.gregs[REG_RIP] == (greg_t)(uintptr_t)faulting_stub);
	CHECK(context->uc_mcontext.gregs[REG_RCX] == 0x1234567812345678 && context->uc_mcontext.gregs[REG_RDX] == -5);
	CHECK(mprotect(hidden_pointer, PAGE, ALL) == 0);
}

/* A stub's pointer cannot be read: the fault is the stub's, with the registers of the call. */
static void faulting_pointer(void)
{
	uint8_t *code = map_at(NULL, 4 * PAGE, ALL, 0);
	long rcx = 0x1234567812345678, rdx = -5, result;

	faulting_stub = code + PAGE;
	hidden_pointer = (uint8_t **)(void *)(code + 3 * PAGE);
	put_caller(code, faulting_stub);
	put_function(code + 2 * PAGE, 77);
	put_stub(faulting_stub, false, hidden_pointer);
	*hidden_pointer = code + 2 * PAGE;
	install_action(SIGSEGV, show_pointer, 0);
	for (int i = 0; i < 3; i++) {
		CHECK(mprotect(hidden_pointer, PAGE, PROT_NONE) == 0);
		__asm__ volatile("sub $128, %%rsp; call *%3; add $128, %%rsp"
				 : "=a"(result), "+c"(rcx), "+d"(rdx)
				 : "r"(code)
				 : "cc", "memory");
		CHECK(result == 77 && rcx == 0x1234567812345678 && rdx == -5);
	}
}

static void moved(void)
{
	uint8_t *code = map_at(NULL, 2 * PAGE, ALL, 0), *place = map_at(NULL, 64 * PAGE, PROT_NONE, 0);

	for (int i = 0; i < 30; i++) {
		put_function(code, i);
		CHECK(call(code) == i);
		code = mremap(code, 2 * PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, place + (i % 2 ? 0 : 32 * PAGE));
		CHECK(code != MAP_FAILED && call(code) == i);
	}
}

/* Code is written right after its memory has moved. */
static void moved_and_written(void)
{
	uint8_t *code = map_at(NULL, PAGE, ALL, 0), *place = map_at(NULL, 4 * PAGE, PROT_NONE, 0);

	for (int i = 0; i < 30; i++) {
		put_function(code, i);
		CHECK(call(code) == i);
		code = mremap(code, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, place + (i % 2 ? 0 : 2 * PAGE));
		CHECK(code != MAP_FAILED);
	}
}

/* MADV_DONTNEED restores the code of a file. */
static void discarded(void)
{
	const int file = memfd_create("code", 0);
	uint8_t *code;

	CHECK(file >= 0 && ftruncate(file, PAGE) == 0);
	code = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	CHECK(code != MAP_FAILED);
	put_function(code, 1);
	CHECK(munmap(code, PAGE) == 0);
	code = mmap(NULL, PAGE, ALL, MAP_PRIVATE, file, 0);
	CHECK(code != MAP_FAILED);
	for (int i = 0; i < 30; i++) {
		CHECK(call(code) == 1);
		put_function(code, i + 2);
		CHECK(call(code) == i + 2 && madvise(code, PAGE, MADV_DONTNEED) == 0);
	}
}

static void low_memory(void)
{
	uint8_t *code = map_at((void *)0x10000, PAGE, ALL, MAP_FIXED_NOREPLACE);
	uint8_t *below = map_at((void *)0x7fff0000, 2 * PAGE, ALL, MAP_FIXED_NOREPLACE);
	uint8_t *in_32 = map_at(NULL, PAGE, ALL, MAP_32BIT);

	for (int i = 0; i < 20; i++) {
		put_function(code, i);
		put_function(below + PAGE - 3, i + 1); /* across the end of a page */
		put_function(in_32, i + 2);
		CHECK(call(code) == i && call(below + PAGE - 3) == i + 1 && call(in_32) == i + 2);
	}
}

static void on_stack(void)
{
	uint8_t memory[2 * PAGE] __attribute__((aligned(PAGE)));
	uint8_t *code = memory;

	CHECK(mprotect(memory, PAGE, ALL) == 0);
	for (int i = 0; i < 50; i++) {
		put_function(code, i);
		CHECK(call(code) == i);
	}
	CHECK(mprotect(memory, PAGE, PROT_READ | PROT_WRITE) == 0);
}

static _Atomic int phase;
static uint8_t *shared_code;

static void *change_code(void *argument)
{
	(void)argument;
	for (int i = 0; i < 200; i++) {
		while (atomic_load(&phase) != 2 * i)
			;
		put_function(shared_code, i);
		atomic_store(&phase, 2 * i + 1);
	}
	return NULL;
}

/* A thread writes code that another thread runs. */
static void by_another_thread(void)
{
	pthread_t thread;

	shared_code = map_at(NULL, PAGE, ALL, 0);
	CHECK(pthread_create(&thread, NULL, change_code, NULL) == 0);
	for (int i = 0; i < 200; i++) {
		while (atomic_load(&phase) != 2 * i + 1)
			;
		CHECK(call(shared_code) == i);
		atomic_store(&phase, 2 * i + 2);
	}
	CHECK(pthread_join(thread, NULL) == 0);
}

static void *run_until_changed(void *argument)
{
	(void)argument;
	atomic_store(&phase, 1);
	call(shared_code);
	return NULL;
}

/* An endless loop of one block; another thread ends the loop by an atomic patch of two bytes. */
static void patched_loop(void)
{
	static const uint8_t loop[] = {0x90, 0x90, 0xeb, 0xfe, 0xc3};
	pthread_t thread;

	shared_code = map_at(NULL, PAGE, ALL, 0);
	for (int i = 0; i < 20; i++) {
		atomic_store(&phase, 0);
		memcpy(shared_code, loop, sizeof(loop));
		CHECK(pthread_create(&thread, NULL, run_until_changed, NULL) == 0);
		while (!atomic_load(&phase))
			;
		usleep(200);
		atomic_store((_Atomic uint16_t *)(shared_code + 2), 0x9090);
		CHECK(pthread_join(thread, NULL) == 0);
	}
}

/* The code of parent and child diverges after fork. */
static void after_fork(void)
{
	uint8_t *code = map_at(NULL, PAGE, ALL, 0);
	int status;

	put_function(code, 1);
	CHECK(call(code) == 1);
	for (int i = 0; i < 10; i++) {
		pid_t child = fork();

		if (!child) {
			CHECK(call(code) == i + 1);
			put_function(code, 100 + i);
			_exit(call(code) == 100 + i ? 0 : 1);
		}
		CHECK(waitpid(child, &status, 0) == child && status == 0);
		CHECK(call(code) == i + 1);
		put_function(code, i + 2);
		CHECK(call(code) == i + 2);
	}
}

/* An instruction crosses into a non-executable page: the fault must have the right address. */
static volatile uintptr_t fault;

static void to_next(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)context;
	fault = (uintptr_t)info->si_addr;
	CHECK(mprotect((void *)fault, PAGE, ALL) == 0);
}

static void into_next_page(void)
{
	uint8_t *code = map_at(NULL, 2 * PAGE, ALL, 0);

	put_function(code + PAGE - 2, 0x12345);
	CHECK(mprotect(code + PAGE, PAGE, PROT_READ | PROT_WRITE) == 0);
	install_action(SIGSEGV, to_next, 0);
	CHECK(call(code + PAGE - 2) == 0x12345 && fault == (uintptr_t)code + PAGE);
}

static volatile int bus_code;

static void skip_call(int number, siginfo_t *info, void *context_)
{
	ucontext_t *context = context_;
	uint64_t *stack = (uint64_t *)context->uc_mcontext.gregs[REG_RSP];

	bus_code = number == SIGBUS ? info->si_code : -1;
	fault = (uintptr_t)info->si_addr;
	CHECK(fault == (uintptr_t)context->uc_mcontext.gregs[REG_RIP]);
	context->uc_mcontext.gregs[REG_RIP] = (greg_t)*stack;
	context->uc_mcontext.gregs[REG_RSP] += 8;
}

/* A mapped page beyond the end of the file: SIGBUS until the file has grown. */
static void beyond_file(void)
{
	int file = memfd_create("code", 0);
	uint8_t *code;

	CHECK(file >= 0 && ftruncate(file, PAGE) == 0);
	code = mmap(NULL, 2 * PAGE, ALL, MAP_SHARED, file, 0);
	CHECK(code != MAP_FAILED);
	install_action(SIGBUS, skip_call, 0);
	install_action(SIGSEGV, skip_call, 0);
	call(code + PAGE);
	CHECK(bus_code == BUS_ADRERR && fault == (uintptr_t)code + PAGE);
	CHECK(ftruncate(file, 2 * PAGE) == 0);
	put_function(code + PAGE, 7);
	CHECK(call(code + PAGE) == 7);
	CHECK(ftruncate(file, PAGE) == 0);
	bus_code = 0;
	call(code + PAGE);
	CHECK(bus_code == BUS_ADRERR);
}

/* Many functions, each executed once or twice: more code than a cache of any size should keep. */
static void much_code(void)
{
	size_t size = 2 << 20;
	uint8_t *code = map_at(NULL, size, ALL, 0);
	long sum = 0;

	for (size_t i = 0; i < size / 64; i++)
		put_function(code + 64 * i, (int)i);
	for (int round = 0; round < 2; round++)
		for (size_t i = 0; i < size / 64; i++)
			sum += call(code + 64 * i);
	CHECK(sum == (long)(size / 64) * (long)(size / 64 - 1));
}

#define NEAR (2200ull << 20) /* further than a displacement of 32 bits reaches */
#define STEP (1ull << 20)
#define STACK_ROOM (128ull << 20)

/* Takes all free memory within NEAR of an address, except below `stack`, where the stack grows. */
static void take_all_near(uint64_t address, uint64_t stack)
{
	for (uint64_t at = (address - NEAR) & ~(STEP - 1); at < address + NEAR; at += STEP)
		if (at + STEP < stack - STACK_ROOM || at > stack)
			mmap((void *)at, STEP, PROT_NONE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
}

#define CROWDED 20000
#define CROWDED_SIZE 64

/* Writes function i: returns its constant; with an argument, jumps to the function as far from the end. */
static void put_crowded(uint8_t *code, int i, int constant)
{
	uint8_t *at = code + (size_t)i * CROWDED_SIZE;
	const int32_t over = 32 - 8;
	const int32_t to_other = (CROWDED - 1 - 2 * i) * CROWDED_SIZE - 32 - 7;

	memcpy(at, (const uint8_t[]){0x85, 0xff, 0x0f, 0x85}, 4); /* test edi, edi; jne +32 */
	memcpy(at + 4, &over, 4);
	put_function(at + 8, constant);
	memcpy(at + 32, (const uint8_t[]){0x31, 0xff, 0xe9}, 3); /* xor edi, edi; jmp other */
	memcpy(at + 35, &to_other, 4);
}

static int call_crowded(uint8_t *code, int i, int other)
{
	return ((int (*)(int))(uintptr_t)(code + (size_t)i * CROWDED_SIZE))(other);
}

/* More code than nearby cache memory, and no free memory near: branches between near and far translations. */
static void nothing_free_nearby(void)
{
	uint8_t *code = map_at((void *)0x100000000000, (size_t)CROWDED * CROWDED_SIZE, ALL, MAP_FIXED_NOREPLACE);

	for (int i = 0; i < CROWDED; i++)
		put_crowded(code, i, i);
	CHECK(call_crowded(code, 0, 0) == 0);
	take_all_near((uint64_t)code, (uint64_t)__builtin_frame_address(0));
	for (int other = 0; other < 4; other++)
		for (int i = 0; i < CROWDED; i++)
			CHECK(call_crowded(code, i, other & 1) == (other & 1 ? CROWDED - 1 - i : i));
	for (int i = 0; i < CROWDED; i += 7)
		put_crowded(code, i, -i);
	for (int i = 0; i < CROWDED; i++)
		CHECK(call_crowded(code, i, 0) == (i % 7 ? i : -i));
	for (int i = 0; i < CROWDED; i++)
		CHECK(call_crowded(code, CROWDED - 1 - i, 1) == (i % 7 ? i : -i));
}

/* The stack grows into apparently free memory near the code. */
static void near_stack(void)
{
	const uint64_t stack = (uint64_t)__builtin_frame_address(0);
	uint8_t *code = map_at((void *)((stack - 6 * STACK_ROOM) & ~(STEP - 1)), (size_t)CROWDED * CROWDED_SIZE, ALL,
			       MAP_FIXED_NOREPLACE);

	take_all_near((uint64_t)code, stack);
	for (int i = 0; i < CROWDED; i++) {
		put_crowded(code, i, i);
		CHECK(call_crowded(code, i, 0) == i);
	}
	for (size_t size = STEP; size < 7 * STEP; size += STEP) {
		volatile uint8_t *below = __builtin_alloca(STEP);

		for (size_t i = STEP; i > 0; i -= PAGE)
			below[i - 1] = 1;
		CHECK(call_crowded(code, (int)(size / STEP), 1) == CROWDED - 1 - (int)(size / STEP));
	}
}

int main(int argc, char **argv)
{
	static const struct subtest tests[] = {
		SUBTEST(write_and_execute), SUBTEST(write_xor_execute),
		SUBTEST(two_mappings),      SUBTEST(written_by_kernel),
		SUBTEST(within_block),      SUBTEST(beside_data),
		SUBTEST(replaced),          SUBTEST(moved),
		SUBTEST(low_memory),        SUBTEST(on_stack),
		SUBTEST(by_another_thread), SUBTEST(patched_loop),
		SUBTEST(after_fork),        SUBTEST(into_next_page),
		SUBTEST(much_code),         SUBTEST(nothing_free_nearby),
		SUBTEST(near_stack),        SUBTEST(written_by_proc),
		SUBTEST(beyond_file),       SUBTEST(partly_protected),
		SUBTEST(written_by_ring),   SUBTEST(written_by_aio),
		SUBTEST(changed_stub),      SUBTEST(faulting_pointer),
		SUBTEST(moved_and_written), SUBTEST(discarded),
	};

	return run_subtests(tests, sizeof(tests) / sizeof(*tests), argc, argv);
}
