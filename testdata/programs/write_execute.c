/* SPDX-License-Identifier: BSD-2-Clause */
/* Code that is written while not executable, and executed while not writable: W^X, as JIT compilers do. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define SIZE 4096
#define ROUNDS 5
#define CALLS 100

int main(void)
{
	unsigned char *code = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int (*function)(void);
	int sum = 0;

	if (code == MAP_FAILED)
		return 1;
	memcpy(&function, &code, sizeof(function));
	printf("%p\n", (void *)code);
	for (unsigned char round = 0; round < ROUNDS; round++) {
		/* mov $round, %eax; ret */
		const unsigned char bytes[] = {0xb8, round, 0, 0, 0, 0xc3};

		if (mprotect(code, SIZE, PROT_READ | PROT_WRITE))
			return 1;
		memcpy(code, bytes, sizeof(bytes));
		if (mprotect(code, SIZE, PROT_READ | PROT_EXEC))
			return 1;
		for (int call = 0; call < CALLS; call++)
			sum += function();
	}
	printf("%d\n", sum);
	return munmap(code, SIZE);
}
