/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * probes N: hits each probe N times. The probes have notes of sys/sdt.h: `step` with arguments in a register, in memory
 * and as a constant, and a text; `watched`, only while its semaphore is set; `step` at a second place; and `done` once.
 * Prints how often the semaphore was set.
 */
#include <stdio.h>
#include <stdlib.h>

#define NOTE(name, semaphore, arguments)                                                                               \
	"990:	nop\n"                                                                                                   \
	"	.pushsection .note.stapsdt, \"\", \"note\"\n"                                                                \
	"	.balign 4\n"                                                                                                 \
	"	.4byte 992f-991f, 994f-993f, 3\n"                                                                            \
	"991:	.asciz \"stapsdt\"\n"                                                                                    \
	"992:	.balign 4\n"                                                                                             \
	"993:	.8byte 990b, _.stapsdt.base, " semaphore "\n"                                                          \
	"	.asciz \"ptl_test\"\n"                                                                                       \
	"	.asciz \"" name "\"\n"                                                                                 \
	"	.asciz \"" arguments "\"\n"                                                                            \
	"994:	.balign 4\n"                                                                                             \
	"	.popsection\n"

__asm__("	.pushsection .stapsdt.base, \"a\", \"progbits\"\n"
	"_.stapsdt.base:	.space 1\n"
	"	.popsection\n"
	"	.pushsection .probes, \"aw\"\n"
	"watched_semaphore:	.2byte 0\n"
	"	.popsection\n");
extern volatile unsigned short watched_semaphore;

static __attribute__((noinline)) void step(int number, const char *text)
{
	volatile long kept = number * 3000000000L;

	__asm__ volatile(NOTE("step", "0", "-4@%k0 -8@%1 4@$77 8@%2") : : "r"(number), "m"(kept), "r"(text));
}

int main(int argc, char **argv)
{
	const int count = argc > 1 ? atoi(argv[1]) : 1;
	const char *text = "some words";
	int watched = 0;

	/* hides the value from the compiler, which would clone step */
	__asm__ volatile("" : "+r"(text));

	for (int i = 0; i < count; i++) {
		step(i - 1, text);
		__asm__ volatile(NOTE("step", "0", "-4@%k0 -8@%1 4@$78 8@%1") : : "r"(i), "r"(-5L - i));
		if (watched_semaphore) {
			watched++;
			__asm__ volatile(NOTE("watched", "watched_semaphore", "8f@%%xmm0 -4@%k0") : : "r"(i));
		}
	}
	__asm__ volatile(NOTE("done", "0", ""));
	printf("%d\n", watched);
	return 0;
}
