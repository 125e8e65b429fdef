/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * System calls that write code. The kernel cannot write to a page that the cache protects. The protection is lifted
 * before the call, since a partial write does not tell the reason. A file of /proc is written regardless of protection.
 * Requests of io_uring and aio write at any time, also to a page that is protected later. From the first such request
 * on, no page is protected.
 */
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "record/software/runtime/runtime.h"

#define VECTORS_MAX 1024u
#define FIRST_ADDRESS 4096u
#define LAST_ADDRESS (1ull << 56)
/*
 * Limits of a plausible size; another value counts as the smallest size, which covers any structure that the kernel
 * fills.
 */
#define SIZE_MIN_TAKEN 256u
#define SIZE_MAX_TAKEN (1ull << 40)

/* ---- the kernel writes to the program's memory ---- */

static void unguard(uint64_t base, uint64_t size)
{
	if (size < SIZE_MIN_TAKEN || size > SIZE_MAX_TAKEN)
		size = SIZE_MIN_TAKEN;
	if (base >= FIRST_ADDRESS && base < LAST_ADDRESS)
		runtime_cache_unguard_range(base, base + size);
}

static void unguard_vectors(uint64_t vectors, uint64_t count)
{
	struct iovec vector;

	for (uint64_t i = 0; i < count && i < VECTORS_MAX; i++) {
		if (!runtime_copy(&vector, (const void *)(vectors + i * sizeof(vector)), sizeof(vector)))
			return;
		unguard((uint64_t)vector.iov_base, vector.iov_len);
	}
}

/* Returns whether the call only reads the program's memory: protection may stay. */
static bool only_reads(int64_t number)
{
	switch (number) {
	case SYS_write:
	case SYS_pwrite64:
	case SYS_writev:
	case SYS_pwritev:
	case SYS_pwritev2:
	case SYS_sendto:
	case SYS_sendmsg:
	case SYS_open:
	case SYS_openat:
	case SYS_mmap:
	case SYS_munmap:
	case SYS_mprotect:
	case SYS_pkey_mprotect:
	case SYS_mremap:
	case SYS_madvise:
	case SYS_futex:
		return true;
	default:
		return false;
	}
}

void runtime_writes_before(int64_t number, const uint64_t args[6])
{
	uint64_t message[7];

	if (number == SYS_io_uring_setup || number == SYS_io_setup) {
		runtime_cache_unguard_for_good();
		return;
	}
	if (!runtime_cache_has_guards() || only_reads(number))
		return;
	switch (number) {
	case SYS_readv:
	case SYS_preadv:
	case SYS_preadv2:
	case SYS_process_vm_readv:
		unguard_vectors(args[1], args[2]);
		break;
	case SYS_process_vm_writev:
		unguard_vectors(args[3], args[4]);
		break;
	case SYS_recvmsg:
		/* struct msghdr: a name, and vectors. */
		if (runtime_copy(message, (const void *)args[1], sizeof(message)))
			unguard_vectors(message[2], message[3]);
		break;
	default:
		/* Any argument may be an address, followed by a size. */
		for (unsigned i = 0; i < 6; i++)
			unguard(args[i], i < 5 ? args[i + 1] : 1);
		break;
	}
}

bool runtime_writes_failed(void)
{
	if (!runtime_cache_has_guards())
		return false;
	runtime_cache_unguard_range(0, ~0ull);
	return true;
}

/* ---- the program writes to /proc/self/mem ---- */

static bool any_opened;

/* Whether text ends with /mem. */
static bool names_memory(const char *text, size_t size)
{
	return size >= 10 && !memcmp(text, "/proc/", 6) && !memcmp(text + size - 4, "/mem", 4);
}

void runtime_writes_opened(uint64_t path)
{
	char text[64];
	size_t size = 0;

	while (size < sizeof(text) && runtime_copy(text + size, (const void *)(path + size), 1) && text[size])
		size++;
	/* The path may be relative to a folder of /proc. */
	if (names_memory(text, size) || (size == 3 && !memcmp(text, "mem", 3)))
		__atomic_store_n(&any_opened, true, __ATOMIC_RELAXED);
}

static bool is_memory(int32_t fd)
{
	char link[64], text[64];
	size_t at = 0;
	int64_t size;

	runtime_put(link, sizeof(link), &at, "/proc/self/fd/");
	runtime_put_number(link, sizeof(link), &at, (uint32_t)fd, 10);
	size = RUNTIME_CALL(SYS_readlink, link, text, sizeof(text));
	return size > 0 && names_memory(text, (size_t)size);
}

void runtime_writes_after(struct runtime_thread *thread, int64_t number, const uint64_t args[6], int64_t result)
{
	uint64_t base;

	if (!__atomic_load_n(&any_opened, __ATOMIC_RELAXED) || result <= 0)
		return;
	switch (number) {
	case SYS_pwrite64:
	case SYS_pwritev:
		base = args[3];
		break;
	case SYS_write:
	case SYS_writev:
	case SYS_pwritev2:
		base = 0;
		break;
	default:
		return;
	}
	if (!is_memory((int32_t)args[0]))
		return;
	if (number == SYS_pwritev2 && (int64_t)args[3] != -1)
		base = args[3];
	else if (!base)
		base = (uint64_t)(RUNTIME_CALL(SYS_lseek, args[0], 0, 1 /* SEEK_CUR */) - result);
	runtime_mapping_written(thread, base, base + (uint64_t)result);
}
