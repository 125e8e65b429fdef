/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The hardest case of a JIT: executed code is rewritten through a second, writable mapping of the
 * same memory, so that nothing happens at the executed address; and a shared file mapping is changed
 * with pwrite. Between writing and running, a jump across pages makes the processor read the code
 * again.
 */
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"

#define PAGE 4096u

/* mov eax, value; ret */
static void make_constant(uint8_t *p, uint32_t value)
{
	p[0] = 0xb8;
	memcpy(p + 1, &value, sizeof(value));
	p[5] = 0xc3;
}

int main(void)
{
	int fd = memfd_create("rewritten", 0);
	uint8_t code[6];
	uint8_t *write_to;
	uint32_t sum = 0;

	CHECK(fd >= 0 && ftruncate(fd, PAGE) == 0);
	write_to = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(write_to != MAP_FAILED);
	for (uint32_t i = 0; i < 20; i++) {
		uint8_t *execute;

		if (i % 2) {
			make_constant(write_to, i);
		} else {
			make_constant(code, i);
			CHECK(pwrite(fd, code, sizeof(code), 0) == (ssize_t)sizeof(code));
		}
		/*
		 * A new mapping each time, as such JITs do to make the new bytes
		 * visible.
		 */
		execute = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
		CHECK(execute != MAP_FAILED);
		CHECK(((uint32_t(*)(void))(uintptr_t)execute)() == i);
		sum += i;
		CHECK(munmap(execute, PAGE) == 0);
	}
	printf("memfd_rewrite %u\n", sum);
	return 0;
}
