/* SPDX-License-Identifier: BSD-2-Clause */
/* Replacement for a libc: memory, locks, text, files, time. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#include "record/software/runtime/runtime.h"

/*
 * Base of the runtime's memory: far from addresses that the kernel chooses, and outside of the shadow memory of
 * sanitizers.
 */
#define OWN_MEMORY 0x7ea400000000ull
#define OWN_STEP (1ull << 30)
/* memory that the runtime may map later */
#define OWN_RESERVE (512ull << 20)
#define STRING_MIN 256u
#define ARENA_PIECE (1u << 20)
#define OWN_TRIES 256u
/* minimal and maximal distance between the cache and the program's code; 2 GiB would be out of reach */
#define NEAR_MIN (512ll << 20)
#define NEAR_MAX (1536ll << 20)
#define NEAR_STEP (4ll << 20)
#define NEAR_FAR (1896ll << 20)

struct runtime_process runtime;

/* ---- strings and memory ---- */

void *memcpy(void *restrict to, const void *restrict from, size_t size)
{
	void *result = to;

	/* The string instruction takes long to begin. */
	for (; size >= 8 && size < STRING_MIN; size -= 8) {
		struct {
			uint64_t word;
		} __attribute__((packed, may_alias)) *out = to;
		const struct {
			uint64_t word;
		} __attribute__((packed, may_alias)) *in = from;

		out->word = in->word;
		to = (uint8_t *)to + 8;
		from = (const uint8_t *)from + 8;
	}
	if (size < 8) {
		for (size_t i = 0; i < size; i++)
			((uint8_t *)to)[i] = ((const uint8_t *)from)[i];
		return result;
	}
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
	return result;
}

void *memmove(void *to, const void *from, size_t size)
{
	uint8_t *out = to;
	const uint8_t *in = from;

	if (out <= in || out >= in + size)
		return memcpy(to, from, size);
	while (size--)
		out[size] = in[size];
	return to;
}

void *memset(void *to, int value, size_t size)
{
	void *result = to;

	__asm__ volatile("rep stosb" : "+D"(to), "+c"(size) : "a"(value) : "memory");
	return result;
}

int memcmp(const void *a, const void *b, size_t size)
{
	const uint8_t *left = a, *right = b;

	for (size_t i = 0; i < size; i++)
		if (left[i] != right[i])
			return left[i] < right[i] ? -1 : 1;
	return 0;
}

size_t strlen(const char *text)
{
	size_t size = 0;

	while (text[size])
		size++;
	return size;
}

/* ---- memory of the runtime ---- */

void runtime_add_area(uint64_t base, uint64_t end)
{
	struct runtime_process *process = &runtime;

	runtime_lock(&process->areas_lock);
	for (unsigned i = 0; i < process->area_count; i++)
		if (process->runtime_areas[i][1] == base) {
			process->runtime_areas[i][1] = end;
			base = end = 0;
			break;
		}
	if (end && process->area_count < sizeof(process->runtime_areas) / sizeof(process->runtime_areas[0])) {
		process->runtime_areas[process->area_count][0] = base;
		process->runtime_areas[process->area_count][1] = end;
		process->area_count++;
	}
	runtime_unlock(&process->areas_lock);
}

uint64_t runtime_own_size(void)
{
	uint64_t size = 0;

	for (unsigned i = 0; i < runtime.area_count; i++)
		size += runtime.runtime_areas[i][1] - runtime.runtime_areas[i][0];
	return size + OWN_RESERVE;
}

bool runtime_is_own(uint64_t base, uint64_t end)
{
	for (unsigned i = 0; i < runtime.area_count; i++)
		if (runtime.runtime_areas[i][0] < end && runtime.runtime_areas[i][1] > base)
			return true;
	return false;
}

void runtime_next_own(uint64_t base, uint64_t end, uint64_t *own, uint64_t *own_end)
{
	uint64_t first = end;

	for (unsigned i = 0; i < runtime.area_count; i++) {
		const uint64_t *area = runtime.runtime_areas[i];

		if (area[0] >= first || area[1] <= base)
			continue;
		first = area[0] > base ? area[0] : base;
		*own = first;
		*own_end = area[1] < end ? area[1] : end;
	}
}

static void *map_at(uint64_t address, size_t size, int protection)
{
	const int64_t result = RUNTIME_CALL(SYS_mmap, address, size, protection,
					    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE, -1, 0);

	if (result == (int64_t)address) {
		runtime_add_area(address, address + size);
		return (void *)address;
	}
	if (result > 0)
		RUNTIME_CALL(SYS_munmap, result, size);
	return NULL;
}

/* Maps memory, but not in the range reserved for the program's stack. */
static void *map_beside_stack(uint64_t address, size_t size, int protection)
{
	if (address < runtime.stack_end && address + size > runtime.stack_low)
		return NULL;
	return map_at(address, size, protection);
}

/* Maps memory below `near`, as a heap grows above. For a program at low addresses, maps above. */
static void *map_near(size_t size, int protection, uint64_t near)
{
	const uint64_t base = near & ~0xfffffull;
	uint64_t gap;
	void *result;

	for (int64_t distance = NEAR_MIN; distance < NEAR_MAX; distance += NEAR_STEP)
		if (base > (uint64_t)distance + NEAR_STEP &&
		    (result = map_beside_stack(base - (uint64_t)distance, size, protection)))
			return result;
	for (int64_t distance = NEAR_MAX; distance > NEAR_MIN; distance -= NEAR_STEP)
		if ((result = map_beside_stack(base + (uint64_t)distance, size, protection)))
			return result;
	gap = runtime_maps_gap(base > (uint64_t)NEAR_FAR ? base - (uint64_t)NEAR_FAR : 0, base + (uint64_t)NEAR_FAR,
			       size);
	return gap ? map_at(gap, size, protection) : NULL;
}

void *runtime_map(size_t size, int protection, uint64_t near, bool anywhere)
{
	static uint64_t own = OWN_MEMORY;
	void *result = near ? map_near(size, protection, near) : NULL;

	for (unsigned i = 0; !result && anywhere && i < OWN_TRIES; i++) {
		result = map_at(own, size, protection);
		own += result ? (size + 0xffff) & ~0xffffull : OWN_STEP;
	}
	return result;
}

/* Free blocks by powers of two. The size of a block precedes the block. */
static struct {
	uint8_t *at, *end;
	void *free[48];
	struct runtime_lock lock;
} heap;

static unsigned class_of(size_t size)
{
	unsigned class = 5;

	while ((size_t)1 << class < size + 16)
		class ++;
	return class;
}

void *malloc(size_t size)
{
	const unsigned class = class_of(size);
	const size_t whole = (size_t)1 << class;
	uint8_t *block;

	if (size > (size_t)1 << 40)
		return NULL;
	runtime_lock(&heap.lock);
	block = heap.free[class];
	if (block) {
		heap.free[class] = *(void **)(void *)block;
	} else if (whole >= ARENA_PIECE / 4) {
		block = runtime_map(whole, PROT_READ | PROT_WRITE, 0, true);
	} else {
		if ((size_t)(heap.end - heap.at) < whole) {
			heap.at = runtime_map(ARENA_PIECE, PROT_READ | PROT_WRITE, 0, true);
			heap.end = heap.at ? heap.at + ARENA_PIECE : NULL;
		}
		block = heap.at;
		heap.at = block ? block + whole : NULL;
	}
	runtime_unlock(&heap.lock);
	if (!block)
		return NULL;
	*(uint64_t *)(void *)block = class;
	return block + 16;
}

void free(void *memory)
{
	uint8_t *block;
	unsigned class;

	if (!memory)
		return;
	block = (uint8_t *)memory - 16;
	class = (unsigned)*(uint64_t *)(void *)block;
	runtime_lock(&heap.lock);
	*(void **)(void *)block = heap.free[class];
	heap.free[class] = block;
	runtime_unlock(&heap.lock);
}

void *calloc(size_t count, size_t size)
{
	void *memory = malloc(count * size);

	return memory ? memset(memory, 0, count * size) : NULL;
}

void *realloc(void *memory, size_t size)
{
	const size_t old = memory ? ((size_t)1 << *(uint64_t *)(void *)((uint8_t *)memory - 16)) - 16 : 0;
	void *larger;

	if (size <= old)
		return memory;
	larger = malloc(size);
	if (!larger)
		return NULL;
	if (memory) {
		memcpy(larger, memory, old);
		free(memory);
	}
	return larger;
}

char *strdup(const char *text)
{
	const size_t size = strlen(text) + 1;
	char *copy = malloc(size);

	return copy ? memcpy(copy, text, size) : NULL;
}

/* ---- locks ---- */

void runtime_lock(struct runtime_lock *lock)
{
	uint32_t expected = 0;

	if (__atomic_compare_exchange_n(&lock->word, &expected, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return;
	for (unsigned i = 0; i < 200; i++) {
		expected = 0;
		if (__atomic_compare_exchange_n(&lock->word, &expected, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return;
		__builtin_ia32_pause();
	}
	while (__atomic_exchange_n(&lock->word, 2, __ATOMIC_ACQUIRE) != 0)
		RUNTIME_CALL(SYS_futex, &lock->word, FUTEX_WAIT, 2, 0, 0, 0);
}

void runtime_unlock(struct runtime_lock *lock)
{
	if (__atomic_exchange_n(&lock->word, 0, __ATOMIC_RELEASE) == 2)
		RUNTIME_CALL(SYS_futex, &lock->word, FUTEX_WAKE, 1, 0, 0, 0);
}

/* ---- text ---- */

void runtime_put(char *out, size_t size, size_t *at, const char *text)
{
	while (*text && *at + 1 < size)
		out[(*at)++] = *text++;
	out[*at] = 0;
}

void runtime_put_number(char *out, size_t size, size_t *at, uint64_t number, unsigned base)
{
	char digits[24];
	size_t count = sizeof(digits) - 1;

	digits[count] = 0;
	do
		digits[--count] = "0123456789abcdef"[number % base];
	while ((number /= base));
	runtime_put(out, size, at, digits + count);
}

void runtime_debug(const char *text, uint64_t a, uint64_t b)
{
	char line[200];
	size_t at = 0;

	runtime_put(line, sizeof(line), &at, text);
	runtime_put(line, sizeof(line), &at, " ");
	runtime_put_number(line, sizeof(line), &at, a, 16);
	runtime_put(line, sizeof(line), &at, " ");
	runtime_put_number(line, sizeof(line), &at, b, 16);
	runtime_put(line, sizeof(line), &at, "\n");
	RUNTIME_CALL(SYS_write, 2, line, at);
}

int64_t runtime_read_file(const char *path, char *out, size_t size)
{
	const int64_t fd = RUNTIME_CALL(SYS_open, path, O_RDONLY | O_CLOEXEC);
	int64_t used = 0, n = 0;

	if (fd < 0)
		return fd;
	while ((size_t)used < size && (n = RUNTIME_CALL(SYS_read, fd, out + used, size - (size_t)used)) > 0)
		used += n;
	RUNTIME_CALL(SYS_close, fd);
	return n < 0 ? n : used;
}

/* ---- time ---- */

static int (*vdso_clock)(clockid_t, struct timespec *);
/* start of the vdso's data, which the kernel maps below the vdso */
static uint64_t vdso_data;

static bool same_text(const char *a, const char *b)
{
	return strlen(a) == strlen(b) && !memcmp(a, b, strlen(a));
}

/* Finds clock_gettime in the vdso, which needs no system call. */
void runtime_clock_start(uint64_t vdso)
{
	const Elf64_Ehdr *header = (const void *)vdso;
	const Elf64_Phdr *segments = (const void *)(vdso + header->e_phoff);
	const Elf64_Dyn *dynamic = NULL;
	const Elf64_Sym *symbols = NULL;
	const char *strings = NULL;
	const uint32_t *hash = NULL;
	uint64_t bias = vdso;

	vdso_data = runtime_maps_data_below(vdso);
	for (unsigned i = 0; i < header->e_phnum; i++) {
		if (segments[i].p_type == PT_LOAD)
			bias = vdso - segments[i].p_vaddr + segments[i].p_offset;
		if (segments[i].p_type == PT_DYNAMIC)
			dynamic = (const void *)(vdso + segments[i].p_offset);
	}
	for (; dynamic && dynamic->d_tag != DT_NULL; dynamic++) {
		if (dynamic->d_tag == DT_SYMTAB)
			symbols = (const void *)(bias + dynamic->d_un.d_ptr);
		if (dynamic->d_tag == DT_STRTAB)
			strings = (const void *)(bias + dynamic->d_un.d_ptr);
		if (dynamic->d_tag == DT_HASH)
			hash = (const void *)(bias + dynamic->d_un.d_ptr);
	}
	for (uint32_t i = 0; symbols && strings && hash && i < hash[1]; i++)
		if (same_text(strings + symbols[i].st_name, "__vdso_clock_gettime"))
			vdso_clock = (int (*)(clockid_t, struct timespec *))(bias + symbols[i].st_value);
}

void runtime_clock_unmapped(uint64_t base, uint64_t end)
{
	if (vdso_clock && (uint64_t)vdso_clock >= (base & ~4095ull) && vdso_data < end)
		vdso_clock = NULL;
}

uint64_t runtime_monotonic(void)
{
	struct timespec time = {0, 0};

	if (!vdso_clock || vdso_clock(CLOCK_MONOTONIC, &time))
		RUNTIME_CALL(SYS_clock_gettime, CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}
