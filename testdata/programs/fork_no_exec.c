/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fork without exec: a tree of processes in the same program with different work. One process forks while it has a
 * second thread, deep in a call chain, so that returns after the fork lead to calls before the fork. `fork_no_exec
 * tree` has no second thread, and executes identically in each run.
 */
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static unsigned work(unsigned rounds, unsigned seed)
{
	for (unsigned i = 0; i < rounds; i++)
		seed = seed % 3 ? seed * 1103515245u + 12345u : seed / 3 + i;
	return seed;
}

/* Forks at the bottom of a recursion; the child returns through the parent's calls. */
__attribute__((noinline)) static pid_t fork_below(unsigned depth)
{
	pid_t pid = depth ? fork_below(depth - 1) : fork();

	__asm__ volatile("" ::: "memory"); /* prevents a tail call */
	return pid;
}

static int wait_for(pid_t pid)
{
	int status;

	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void tree(unsigned level)
{
	pid_t children[2];

	work(1000 * (level + 1), level);
	if (level == 3)
		return;
	for (unsigned i = 0; i < 2; i++) {
		children[i] = fork_below(10 * level);
		CHECK(children[i] >= 0);
		if (children[i] == 0) {
			tree(level + 1);
			_exit((int)(10 * level + i));
		}
	}
	for (unsigned i = 0; i < 2; i++)
		CHECK(wait_for(children[i]) == (int)(10 * level + i));
}

static volatile int stop;

static void *spin(void *argument)
{
	unsigned *rounds = argument;

	while (!stop)
		*rounds += work(10, *rounds) % 2 + 1;
	return NULL;
}

static void fork_beside_a_thread(void)
{
	unsigned rounds = 0;
	pthread_t thread;
	pid_t pid;

	CHECK(pthread_create(&thread, NULL, spin, &rounds) == 0);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		work(500, 9);
		_exit(33);
	}
	CHECK(wait_for(pid) == 33);
	stop = 1;
	CHECK(pthread_join(thread, NULL) == 0);
}

int main(int argc, char **argv)
{
	tree(0);
	if (argc < 2 || strcmp(argv[1], "tree") != 0)
		fork_beside_a_thread();
	printf("fork %u\n", work(10, 1));
	return 0;
}
