/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions with arguments and results of many types. Each call writes its values as a line of JSON: "event" is the
 * function's name, or the name and "/return" for the result. The order of a thread's lines is the order of events.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __clang__
#define NOT_INLINED __attribute__((noinline, used, visibility("default")))
#else
#define NOT_INLINED __attribute__((noinline, noclone, used, visibility("default")))
#endif
#define ROUNDS 25

enum colour { RED = -1, GREEN = 5, BLUE };
typedef enum colour colour_type;

struct point {
	int x, y;
};
struct vector {
	double x;
	float y;
};
struct node {
	short value;
	const char *name;
	struct node *next;
	unsigned low : 3, high : 5;
	int below : 4;
	unsigned long near : 12, wide : 50;
	long many[3];
	char letters[8];
	union {
		uint32_t word;
		uint8_t bytes[4];
	};
};
struct large {
	long first, second, third;
};

int calls_so_far;
static jmp_buf jump;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Writes a line with the thread's number. */
static void say(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	pthread_mutex_lock(&lock);
	printf("{\"tid\": %ld, ", (long)syscall(SYS_gettid));
	vprintf(format, arguments);
	puts("}");
	pthread_mutex_unlock(&lock);
	va_end(arguments);
}

NOT_INLINED int integers(signed char a, uint8_t b, short c, unsigned short d, int e, unsigned f, long g, uint64_t h,
			 bool i)
{
	say("\"event\": \"integers\", \"a\": %d, \"b\": %u, \"c\": %d, \"d\": %u, \"e\": %d, \"f\": %u, \"g\": %ld, "
	    "\"h\": %lu, \"i\": %s, \"calls_so_far\": %d",
	    a, b, c, d, e, f, g, (unsigned long)h, i ? "true" : "false", calls_so_far);
	calls_so_far++;
	return a - e;
}

NOT_INLINED double numbers(float a, double b, int c, colour_type d)
{
	say("\"event\": \"numbers\", \"a\": %.9g, \"b\": %.17g, \"c\": %d, \"d\": \"%s\"", (double)a, b, c,
	    d == RED     ? "RED"
	    : d == GREEN ? "GREEN"
			 : "BLUE");
	return a * b;
}

NOT_INLINED const char *text(const char *a, char b, const char *c)
{
	say("\"event\": \"text\", \"a\": \"%s\", \"b\": \"%c\", \"c\": \"%.256s\"", a, b, c);
	return a + 1;
}

NOT_INLINED int members(struct node *n, int index)
{
	say("\"event\": \"members\", \"n->value\": %d, \"n->next->name\": \"%s\", \"n->low\": %u, \"n->high\": %u, "
	    "\"n->below\": %d, \"n->many[2]\": %ld, \"*n->many\": %ld, \"n->letters\": \"%.8s\", \"n->word\": %u, "
	    "\"n->next->bytes[1]\": %u, \"n->wide\": %lu, \"index\": %d",
	    n->value, n->next->name, n->low, n->high, n->below, n->many[2], n->many[0], n->letters, n->word,
	    n->next->bytes[1], (unsigned long)n->wide, index);
	return n->value + index;
}

NOT_INLINED int structures(struct point a, struct vector b, struct large c, long d, long e, long f, long g, long h,
			   long i, long j)
{
	say("\"event\": \"structures\", \"a.x\": %d, \"a.y\": %d, \"b.x\": %.17g, \"b.y\": %.9g, \"c.second\": %ld, "
	    "\"i\": %ld, \"j\": %ld",
	    a.x, a.y, b.x, (double)b.y, c.second, i, j);
	return (int)(d + e + f + g + h);
}

NOT_INLINED struct point small_result(int a)
{
	return (struct point){a, -a};
}

NOT_INLINED struct vector mixed_result(int a)
{
	return (struct vector){a / 4.0, (float)a};
}

NOT_INLINED struct large large_result(long a)
{
	return (struct large){a, a + 1, a + 2};
}

/* Compilers cannot turn calls through these pointers into loops. */
static long (*volatile recur_again)(long);
static int (*volatile jump_again)(int);

NOT_INLINED long recursive(long n)
{
	long result;

	say("\"event\": \"recursive\", \"n\": %ld", n);
	result = n < 2 ? 1 : n * recur_again(n - 1);
	say("\"event\": \"recursive/return\", \"$return\": %ld", result);
	return result;
}

NOT_INLINED int jumps(int depth)
{
	say("\"event\": \"jumps\", \"depth\": %d", depth);
	if (!depth)
		longjmp(jump, 1);
	return jump_again(depth - 1) + 1;
}

/* The body begins with a loop, and the argument changes. */
NOT_INLINED int loops(int n)
{
	do
		n--;
	while (n > 0);
	return n;
}

NOT_INLINED void *thread(void *argument)
{
	for (long i = 0; i < ROUNDS; i++)
		recursive((long)(intptr_t)argument);
	return NULL;
}

static void run_threads(void)
{
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		if (pthread_create(&threads[i], NULL, thread, (void *)(intptr_t)(i + 1)))
			exit(2);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}

static void run_structures(void)
{
	struct node second = {.name = "second", .bytes = {1, 2, 3, 4}};
	struct node first = {
		.value = -300,
		.next = &second,
		.low = 5,
		.high = 17,
		.below = -3,
		.near = 5,
		.wide = 1ul << 49 | 77,
		.many = {10, 20, 30},
		.letters = "eight ch",
		.word = 0xfffffffe,
	};

	for (int i = 0; i < 3; i++)
		say("\"event\": \"members/return\", \"$return\": %d", members(&first, i));
	say("\"event\": \"structures/return\", \"$return\": %d",
	    structures((struct point){1, -2}, (struct vector){0.1, 0.5f}, (struct large){4, 5, 6}, 7, 8, 9, 10, 11, 12,
		       -13));
	for (int i = 3; i < 5; i++) {
		const struct point point = small_result(i);
		const struct vector vector = mixed_result(i);
		const struct large large = large_result(i);

		say("\"event\": \"small_result/return\", \"$return.x\": %d, \"$return.y\": %d", point.x, point.y);
		say("\"event\": \"mixed_result/return\", \"$return.x\": %.17g, \"$return.y\": %.9g", vector.x,
		    (double)vector.y);
		say("\"event\": \"large_result/return\", \"$return.third\": %ld", large.third);
	}
}

int main(void)
{
	char longer[400];

	recur_again = recursive;
	jump_again = jumps;
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = 0;
	for (int i = 0; i < 4; i++) {
		say("\"event\": \"integers/return\", \"$return\": %d",
		    integers((signed char)(i - 2), (uint8_t)(250 + i), (short)(-30000 - i), (unsigned short)(65530 + i),
			     -i * 100000, 4000000000u + (unsigned)i, -5000000000l * i, UINT64_MAX - (uint64_t)i,
			     i & 1));
		say("\"event\": \"numbers/return\", \"$return\": %.17g", numbers(0.1f * (float)i, -1e-9 * i, i,
										 i & 1 ? RED
										 : i   ? GREEN
										       : BLUE));
	}
	say("\"event\": \"text/return\", \"$return\": \"%s\"", text("hello", 'b', longer));
	run_structures();
	recursive(5);
	if (!setjmp(jump))
		jumps(3);
	for (int i = 1; i < 4; i++)
		say("\"event\": \"loops/return\", \"$return\": %d", loops(i));
	run_threads();
	return 0;
}
