/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tasks WORK [CHILDREN]: computes in the process and in forked children, then waits for the end of standard input. The
 * executed code depends only on these numbers, and is all the program's own.
 */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

typedef unsigned (*step)(unsigned);

static __attribute__((noinline)) unsigned add(unsigned n)
{
	return n + 13;
}

static __attribute__((noinline)) unsigned mix(unsigned n)
{
	return n * 2654435761u >> 3;
}

static __attribute__((noinline)) unsigned depth(unsigned n)
{
	return n ? depth(n - 1) + (n & 1 ? add(n) : mix(n)) : 1;
}

static step const steps[] = {add, mix, depth};

static unsigned work(unsigned rounds)
{
	unsigned sum = rounds;

	for (unsigned i = 0; i < rounds; i++) {
		step chosen = steps[(sum ^ i) % 3];

		sum += chosen(chosen == depth ? sum % 30 : sum);
	}
	return sum;
}

static int end(unsigned sum)
{
	char byte;

	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	return (int)(sum & 1) + 40;
}

int main(int argc, char **argv)
{
	const unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 1000;
	const unsigned children = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
	unsigned sum;

	for (unsigned i = 1; i <= children; i++)
		if (fork() == 0)
			_exit(end(work(rounds + 10 * i)));
	sum = work(rounds);
	sum = (unsigned)end(sum);
	while (wait(NULL) > 0)
		;
	return (int)sum;
}
