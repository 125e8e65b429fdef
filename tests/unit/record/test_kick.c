/* SPDX-License-Identifier: BSD-2-Clause */
/* Which threads the recorder makes leave their system calls at its end. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "record/channel/source.h"
#include "record/software/kick.h"

#define RING 65536u
#define KICKED 7

/* Waits in a system call. behind: the address behind the call's instruction. */
static _Noreturn void wait_in_call(uint64_t *behind)
{
	__asm__ volatile("lea 1f(%%rip), %%rcx\n\t"
			 "movq %%rcx, (%0)\n\t"
			 "syscall\n"
			 "1:"
			 :
			 : "r"(behind), "a"(SYS_pause)
			 : "rcx", "r11", "memory");
	_exit(0);
}

static _Noreturn void leave(void)
{
	_exit(KICKED);
}

/* Starts a thread that waits, kicks all threads, and returns the thread's exit status; -1: the thread waits on. */
static int kick_child(bool has_arena)
{
	const struct channel_config config = {.slot_count = 1,
					      .psb_period = 4096,
					      .clock = PTL_CLOCK_MONOTONIC,
					      .pt_ring_size = RING,
					      .message_ring_size = RING};
	struct record_channel_slot state = {.live = true, .process = 1};
	struct record_channel channel = {.slots = &state};
	struct channel_slot *slot;
	volatile uint64_t *behind;
	int status = 0, waited;
	pid_t child;

	assert_int_equal(channel_create(&channel.channel, &config), 0);
	behind = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(behind != MAP_FAILED);
	child = fork();
	if (child == 0) {
		if (!has_arena)
			munmap(channel.channel.base, (size_t)channel.channel.size);
		wait_in_call((uint64_t *)(uintptr_t)behind);
	}
	while (!*behind)
		usleep(1000);
	usleep(20000);
	state.pid = state.tid = (uint32_t)child;
	slot = channel_slot(&channel.channel, 0);
	slot->kick.waits = 1;
	slot->kick.behind = *behind;
	slot->kick.kicked = (uint64_t)(uintptr_t)leave;
	channel.channel.header->slot_high = 1;
	software_kick_all(&channel);
	usleep(20000);
	waited = waitpid(child, &status, WNOHANG);
	if (!waited) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	munmap((void *)(uintptr_t)behind, 4096);
	channel_destroy(&channel.channel);
	return waited ? WEXITSTATUS(status) : -1;
}

static void test_kick_of_traced_thread(void **state)
{
	(void)state;
	assert_int_equal(kick_child(true), KICKED);
}

/* A traced program may write any thread id to its slot; and an ended thread's id may be that of another process. */
static void test_no_kick_of_other_process(void **state)
{
	(void)state;
	assert_int_equal(kick_child(false), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kick_of_traced_thread),
		cmocka_unit_test(test_no_kick_of_other_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
