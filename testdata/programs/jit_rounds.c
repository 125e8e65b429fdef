/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program that makes code continuously. Each round runs a thousand
 * constant functions, writes a new function beside earlier functions, runs
 * some of the earlier functions, and changes one in place, like inline
 * caches of JITs. A decoder's knowledge of the unchanged functions stays
 * valid.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "check.h"

#define REGION ((size_t)1 << 20)
#define SLOT 64u
#define FIRST (4 * SLOT) /* code below changes in place */

typedef unsigned (*function)(unsigned);

#define STABLE(n)                                                                                                      \
	__attribute__((noinline)) static unsigned stable_##n(unsigned x)                                               \
	{                                                                                                              \
		x = x * 2654435761u + 0x##n;                                                                           \
		if (x & 0x10000)                                                                                       \
			x ^= x >> 7;                                                                                   \
		if (x & 0x20000)                                                                                       \
			x += 77;                                                                                       \
		return x;                                                                                              \
	}
#define EACH_16(use, n)                                                                                                \
	use(n##0) use(n##1) use(n##2) use(n##3) use(n##4) use(n##5) use(n##6) use(n##7) use(n##8) use(n##9) use(n##a)  \
		use(n##b) use(n##c) use(n##d) use(n##e) use(n##f)
#define EACH_256(use, n)                                                                                               \
	EACH_16(use, n##0)                                                                                             \
	EACH_16(use, n##1)                                                                                             \
	EACH_16(use, n##2)                                                                                             \
	EACH_16(use, n##3)                                                                                             \
	EACH_16(use, n##4)                                                                                             \
	EACH_16(use, n##5)                                                                                             \
	EACH_16(use, n##6)                                                                                             \
	EACH_16(use, n##7)                                                                                             \
	EACH_16(use, n##8)                                                                                             \
	EACH_16(use, n##9)                                                                                             \
	EACH_16(use, n##a)                                                                                             \
	EACH_16(use, n##b)                                                                                             \
	EACH_16(use, n##c)                                                                                             \
	EACH_16(use, n##d)                                                                                             \
	EACH_16(use, n##e)                                                                                             \
	EACH_16(use, n##f)
#define EACH_1024(use)                                                                                                 \
	EACH_256(use, 1)                                                                                               \
	EACH_256(use, 2)                                                                                               \
	EACH_256(use, 3)                                                                                               \
	EACH_256(use, 4)
#define CALL(n) x = stable_##n(x);

EACH_1024(STABLE)

__attribute__((noinline)) static unsigned run_stable(unsigned x)
{
	EACH_1024(CALL)
	return x;
}

/* f(x) = x + 3 * add, with a loop. */
static function make(uint8_t *at, unsigned add)
{
	static const uint8_t code[] = {
		0x89, 0xf8,          /* mov eax, edi */
		0xb9, 3,    0, 0, 0, /* mov ecx, 3 */
		0x05, 0,    0, 0, 0, /* 1: add eax, add */
		0xff, 0xc9,          /* dec ecx */
		0x75, 0xf7,          /* jnz 1b */
		0xc3,                /* ret */
	};

	memcpy(at, code, sizeof(code));
	memcpy(at + 8, &add, sizeof(add));
	return (function)(uintptr_t)at;
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 50;
	uint8_t *region = mmap(NULL, REGION, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned x = 1;

	CHECK(region != MAP_FAILED);
	for (unsigned long i = 0; i < rounds; i++) {
		const size_t slot = FIRST + i * SLOT % (REGION - FIRST);

		x = run_stable(x);
		CHECK(make(region, (unsigned)i)(x) == x + 3 * (unsigned)i);
		CHECK(make(region + slot, (unsigned)i)(x) == x + 3 * (unsigned)i);
		/* Earlier functions still exist. */
		for (unsigned back = 1; back < 16 && FIRST + back * SLOT <= slot; back++)
			x = ((function)(uintptr_t)(region + slot - back * SLOT))(x);
	}
	printf("jit_rounds done\n");
	return 0;
}
