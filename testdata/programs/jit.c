/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Code made at run time in all ways of JITs: written, then made executable; rewritten in place through
 * mprotect; written through a second mapping of a memfd; written while executable (W+X); code that modifies its
 * next instruction; unmapped code, replaced by other code at the same address; and an instruction across two
 * pages.
 */
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"

#define PAGE 4096u

typedef int (*function)(int);

/* Makes, at p, f(x) = x + add, computed with `steps` additions and a loop. Returns the end. */
static uint8_t *make_add(uint8_t *p, int add, int steps)
{
	static const uint8_t loop[] = {
		0x89, 0xf8,          /* mov eax, edi */
		0xb9, 0,    0, 0, 0, /* mov ecx, steps */
		0x05, 0,    0, 0, 0, /* 1: add eax, add */
		0xff, 0xc9,          /* dec ecx */
		0x75, 0xf7,          /* jnz 1b */
		0xc3,                /* ret */
	};

	memcpy(p, loop, sizeof(loop));
	memcpy(p + 3, &steps, sizeof(steps));
	memcpy(p + 8, &add, sizeof(add));
	return p + sizeof(loop);
}

static uint8_t *map(void *at, int protection, int flags)
{
	uint8_t *p = mmap(at, PAGE, protection, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

	CHECK(p != MAP_FAILED);
	return p;
}

static int run(const uint8_t *p, int x)
{
	return ((function)(uintptr_t)p)(x);
}

static void written_then_executable(void)
{
	uint8_t *p = map(NULL, PROT_READ | PROT_WRITE, 0);

	for (int i = 1; i < 20; i++) {
		CHECK(mprotect(p, PAGE, PROT_READ | PROT_WRITE) == 0);
		make_add(p, i, i);
		CHECK(mprotect(p, PAGE, PROT_READ | PROT_EXEC) == 0);
		CHECK(run(p, 5) == 5 + i * i);
	}
	CHECK(munmap(p, PAGE) == 0);
}

static void through_memfd(void)
{
	int fd = memfd_create("jit", 0);
	uint8_t *write_to;
	uint8_t *execute;

	CHECK(fd >= 0 && ftruncate(fd, PAGE) == 0);
	write_to = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	execute = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	CHECK(write_to != MAP_FAILED && execute != MAP_FAILED);
	close(fd);
	/* new code at new places: executed code is not changed */
	for (int i = 1; i < 60; i++) {
		make_add(write_to + 64 * i, i, 3);
		CHECK(run(execute + 64 * i, 1) == 1 + 3 * i);
	}
	munmap(write_to, PAGE);
	munmap(execute, PAGE);
}

static void writable_and_executable(void)
{
	uint8_t *p = map(NULL, PROT_READ | PROT_WRITE | PROT_EXEC, 0);

	for (int i = 1; i < 50; i++) {
		uint8_t *end = make_add(p, i, 2);

		CHECK(run(p, 7) == 7 + 2 * i);
		/* a second function on the page just executed */
		make_add(end, -i, 4);
		CHECK(run(end, 7) == 7 - 4 * i);
	}
	CHECK(munmap(p, PAGE) == 0);
}

/* The function rewrites the immediate of its own next instruction in each turn of a loop. */
static void modifies_itself(void)
{
	static const uint8_t code[] = {
		0x31, 0xc0,             /* xor eax, eax */
		0x89, 0xf9,             /* mov ecx, edi */
		0x89, 0x0d, 1, 0, 0, 0, /* 1: mov [rip + 1], ecx: the immediate below */
		0x05, 0,    0, 0, 0,    /* add eax, imm */
		0xff, 0xc9,             /* dec ecx */
		0x75, 0xf1,             /* jnz 1b */
		0xc3,                   /* ret */
	};
	uint8_t *p = map(NULL, PROT_READ | PROT_WRITE | PROT_EXEC, 0);

	memcpy(p, code, sizeof(code));
	for (int i = 1; i < 10; i++)
		CHECK(run(p, i) == i * (i + 1) / 2);
	CHECK(munmap(p, PAGE) == 0);
}

/*
 * The patch changes the kind of an instruction: a branch not taken becomes a plain instruction.
 */
static void changes_a_branch(void)
{
	static const uint8_t code[] = {
		0x31, 0xc0,       /* xor eax, eax */
		0x85, 0xff,       /* test edi, edi */
		0x74, 0x05,       /* jz 1f; patched to jnz */
		0x83, 0xc0, 0x01, /* add eax, 1 */
		0xeb, 0x03,       /* jmp 2f */
		0x83, 0xc0, 0x02, /* 1: add eax, 2 */
		0xc3,             /* 2: ret */
	};
	uint8_t *p = map(NULL, PROT_READ | PROT_WRITE | PROT_EXEC, 0);

	memcpy(p, code, sizeof(code));
	for (int i = 0; i < 20; i++) {
		p[4] = i % 2 ? 0x75 : 0x74;
		CHECK(run(p, 1) == (i % 2 ? 2 : 1));
		CHECK(run(p, 0) == (i % 2 ? 1 : 2));
	}
	CHECK(munmap(p, PAGE) == 0);
}

static void same_address_again(void)
{
	uint8_t *p = map(NULL, PROT_READ | PROT_WRITE | PROT_EXEC, 0);

	for (int i = 1; i < 20; i++) {
		if (i % 2)
			CHECK(munmap(p, PAGE) == 0);
		p = map(p, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_FIXED);
		make_add(p, i, 1);
		CHECK(run(p, 3) == 3 + i);
	}
	CHECK(munmap(p, PAGE) == 0);
}

static void across_two_pages(void)
{
	uint8_t *p = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	for (unsigned before = 1; before < 18; before++) {
		uint8_t *start = p + PAGE - before;

		make_add(start, (int)before, 3);
		CHECK(run(start, 1) == 1 + 3 * (int)before);
	}
	/* Only the second half changes; the first page's bytes stay. */
	make_add(p + PAGE - 9, 100, 1);
	CHECK(run(p + PAGE - 9, 1) == 101);
	p[PAGE] = 1; /* second byte of the immediate of add */
	CHECK(run(p + PAGE - 9, 1) == 101 + 256);
	CHECK(munmap(p, 2 * PAGE) == 0);
}

/* The page moves; the code runs at the new address with the same bytes. */
static void moved(void)
{
	uint8_t *p = map(NULL, PROT_READ | PROT_WRITE | PROT_EXEC, 0);
	uint8_t *q = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	make_add(p, 9, 1);
	CHECK(run(p, 1) == 10);
	CHECK(mremap(p, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, q) == q);
	CHECK(run(q, 1) == 10);
	CHECK(munmap(q, PAGE) == 0);
}

int main(void)
{
	written_then_executable();
	through_memfd();
	writable_and_executable();
	modifies_itself();
	changes_a_branch();
	same_address_again();
	across_two_pages();
	moved();
	printf("jit done\n");
	return 0;
}
