/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * String instructions with a repeat prefix: movs, stos, lods, cmps, scas of every size, with counts zero, one and many,
 * up and down, ended early by a difference; interrupted by timer signals, and by a fault half way that the handler
 * repairs.
 */
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>

#include "check.h"

#define PAGE 4096ul
#define SIZE (64 * 1024ul)

static uint8_t from[SIZE];
static uint8_t to[SIZE];
static volatile sig_atomic_t ticks;
static volatile int faults;
static uint8_t *pages;

static void tick(int signal)
{
	(void)signal;
	ticks++;
}

static void repair(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)context;
	faults++;
	CHECK(info->si_addr == pages + PAGE);
	CHECK(mprotect(pages + PAGE, PAGE, PROT_READ | PROT_WRITE) == 0);
}

static void copy(void *d, const void *s, unsigned long n)
{
	__asm__ volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(n) : : "memory");
}

static void fill(void *d, uint64_t value, unsigned long n)
{
	__asm__ volatile("rep stosq" : "+D"(d), "+c"(n) : "a"(value) : "memory");
}

static unsigned long find(const void *s, uint8_t value, unsigned long n)
{
	unsigned long left = n;

	__asm__ volatile("repne scasb" : "+D"(s), "+c"(left) : "a"(value) : "cc", "memory");
	return n - left;
}

static unsigned long same(const void *a, const void *b, unsigned long n)
{
	unsigned long left = n;

	__asm__ volatile("cmp %%rax, %%rax\n\t"
			 "repe cmpsw"
			 : "+S"(a), "+D"(b), "+c"(left)
			 :
			 : "cc", "memory");
	return n - left;
}

static uint32_t last(const void *s, unsigned long n)
{
	uint32_t value = 0;

	__asm__ volatile("rep lodsl" : "+S"(s), "+c"(n), "+a"(value) : : "memory");
	return value;
}

static void copy_down(void *d_end, const void *s_end, unsigned long n)
{
	__asm__ volatile("std\n\t"
			 "rep movsw\n\t"
			 "cld"
			 : "+D"(d_end), "+S"(s_end), "+c"(n)
			 :
			 : "cc", "memory");
}

static void all_kinds(void)
{
	for (unsigned long n = 0; n < 40; n++) {
		memset(to, 0xee, 64);
		copy(to, from, n);
		CHECK(memcmp(to, from, n) == 0 && to[n] == 0xee);
	}
	fill(to, 0x0101010101010101u, SIZE / 8);
	CHECK(to[0] == 1 && to[SIZE - 1] == 1);
	fill(to, 0, 0);
	CHECK(find(from, 200, 256) == 201 && find(from, 0, 256) == 1 && find(from, 5, 0) == 0);
	copy(to, from, SIZE);
	CHECK(same(to, from, SIZE / 2) == SIZE / 2);
	to[100] ^= 1;
	CHECK(same(to, from, SIZE / 2) == 51);
	CHECK(last(from, 64) == 0xfffefdfcu);
	copy_down(to + 98, from + 98, 50);
	CHECK(memcmp(to, from, 100) == 0);
}

static void interrupted(void)
{
	struct sigaction action = {.sa_handler = tick};
	struct itimerval often = {.it_value.tv_usec = 1000, .it_interval.tv_usec = 1000};

	CHECK(sigaction(SIGALRM, &action, NULL) == 0);
	CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
	while (ticks < 5) {
		copy(to, from, SIZE);
		CHECK(to[SIZE - 1] == from[SIZE - 1]);
	}
	often = (struct itimerval){0};
	CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
}

static void fault_half_way(void)
{
	struct sigaction action = {.sa_sigaction = repair, .sa_flags = SA_SIGINFO};

	CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
	pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(pages != MAP_FAILED);
	for (int i = 0; i < 10; i++) {
		CHECK(mprotect(pages + PAGE, PAGE, PROT_NONE) == 0);
		copy(pages + PAGE - 100, from, 200);
		CHECK(memcmp(pages + PAGE - 100, from, 200) == 0);
	}
	CHECK(faults == 10);
}

int main(void)
{
	for (unsigned i = 0; i < SIZE; i++)
		from[i] = (uint8_t)i;
	all_kinds();
	fault_half_way();
	interrupted();
	printf("rep_string done\n");
	return 0;
}
