/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls `probed` and `across` 100 times and prints the sum of the results. `across` has its second instruction in another page.
 * With "own": writes an int3 into `probed`, handles the signal, and prints how often the signal came.
 */
#include "check.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#define CALLS 100

int probed(int x);
int across(int x);
int across_second(int x);

/* `across` begins a byte before the end of a page. */
__asm__(".text\n"
	".balign 4096\n"
	".globl probed\n"
	".type probed, @function\n"
	"probed:\n"
	"	nop\n"
	"	lea 1(%rdi, %rdi, 2), %eax\n"
	"	ret\n"
	".size probed, . - probed\n"
	".skip 4095 - (. - probed), 0x90\n"
	".globl across\n"
	".type across, @function\n"
	"across:\n"
	"	nop\n"
	".globl across_second\n"
	"across_second:\n"
	"	lea 5(%rdi), %eax\n"
	"	ret\n"
	".size across, . - across\n");

static volatile int traps;

static void on_trap(int signal, siginfo_t *info, void *context)
{
	(void)signal, (void)info, (void)context;
	traps++;
}

/* probed begins with a nop: going on behind the int3 is right. */
static int trap(void)
{
	struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
	volatile unsigned char *code = (unsigned char *)probed;

	sigaction(SIGTRAP, &action, NULL);
	CHECK(!mprotect((void *)code, 4096, PROT_READ | PROT_WRITE | PROT_EXEC));
	*code = 0xcc;
	CHECK(!mprotect((void *)code, 4096, PROT_READ | PROT_EXEC));
	for (int i = 0; i < CALLS; i++)
		CHECK(probed(i) == 3 * i + 1);
	printf("%d\n", traps);
	return 0;
}

int main(int argc, char **argv)
{
	int sum = 0;

	if (argc > 1 && !strcmp(argv[1], "own"))
		return trap();
	for (int i = 0; i < CALLS; i++)
		sum += probed(i) + across(i);
	printf("%d\n", sum);
	return 0;
}
