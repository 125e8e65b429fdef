/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A just-in-time compiler that tells PTL the names of its functions: docs/jit.md.
 *
 *	cc -o jit jit.c $(pkg-config --cflags --libs ptl-provider)
 *	./jit [silent | events | map | dump]
 *
 * The compiler translates expressions in reverse Polish notation. It compiles "area", compiles it again at another address
 * when it is hot, and puts "price" where the first "area" was. "silent" reports nothing, "events" writes events, "map" a perf
 * map in /tmp, "dump" a jitdump in the working directory. Prints each function with address and number of calls.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <ptl/provider.h>

#define ARENA_SIZE 4096
#define SLOT_SIZE 128u

PTL_PROVIDER(jit, "Example-JIT");
PTL_EVENT(jit, compiled, 1, "Compiled", PTL_LEVEL_INFORMATIONAL, 0, "{2}, tier {3}, is at {0}", PTL_POINTER(Address),
	  PTL_U32(Size), PTL_UTF8(Name), PTL_U8(Tier));
PTL_EVENT(jit, discarded, 2, "Discarded", PTL_LEVEL_INFORMATIONAL, 0, "{0} is free", PTL_POINTER(Address));

static uint8_t *arena;
static FILE *map, *dump;

/* ---- names ------------------------------------------------------------------------------- */

/* A record of a jitdump: linux/tools/perf/Documentation/jitdump-specification.txt. */
static void dump_function(const uint8_t *code, size_t size, const char *name)
{
	static uint64_t index;
	struct timespec now;
	struct {
		uint32_t id, size;
		uint64_t time;
		uint32_t pid, tid;
		uint64_t vma, address, code_size, index;
	} record = {0, (uint32_t)(sizeof(record) + strlen(name) + 1 + size),
		    0, (uint32_t)getpid(),
		    0, (uintptr_t)code,
		    0, size,
		    0};

	clock_gettime(CLOCK_MONOTONIC, &now);
	record.time = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	record.tid = record.pid;
	record.address = record.vma;
	record.index = index++;
	fwrite(&record, sizeof(record), 1, dump);
	fwrite(name, strlen(name) + 1, 1, dump);
	fwrite(code, size, 1, dump);
	fflush(dump);
}

static void open_dump(void)
{
	const uint32_t header[] = {0x4a695444, 1, 40, 62, 0, (uint32_t)getpid(), 0, 0, 0, 0};
	char path[32];

	snprintf(path, sizeof(path), "jit-%d.dump", (int)getpid());
	dump = fopen(path, "w+");
	/* The recorder sees this mapping, and so knows the file. */
	if (!dump || mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(dump), 0) == MAP_FAILED)
		exit(1);
	fwrite(header, sizeof(header), 1, dump);
}

static void open_map(void)
{
	char path[40];

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	map = fopen(path, "w");
	if (!map)
		exit(1);
}

/* Names a function before its first call. */
static void report(const uint8_t *code, size_t size, const char *name, int tier)
{
	char full[64];

	snprintf(full, sizeof(full), "%s (tier %d)", name, tier);
	compiled(code, (uint32_t)size, name, (uint8_t)tier);
	if (map) {
		fprintf(map, "%lx %zx %s\n", (unsigned long)(uintptr_t)code, size, full);
		fflush(map);
	}
	if (dump)
		dump_function(code, size, full);
}

/* ---- the compiler ------------------------------------------------------------------------ */

static uint8_t *put(uint8_t *at, const char *bytes, size_t count)
{
	memcpy(at, bytes, count);
	return at + count;
}

/* Tier 1: a stack machine. */
static uint8_t *put_tier_1(uint8_t *at, const char *token)
{
	const int32_t number = atoi(token);

	if (*token == 'x')
		return put(at, "\x57", 1); /* push rdi */
	if (*token != '+' && *token != '*')
		return put(put(at, "\x68", 1), (const char *)&number, 4); /* push number */
	at = put(at, "\x59\x58", 2);                                      /* pop rcx; pop rax */
	at = *token == '+' ? put(at, "\x48\x01\xc8", 3) : put(at, "\x48\x0f\xaf\xc1", 4);
	return put(at, "\x50", 1); /* push rax */
}

/* Tier 2: the left operand in rax, the right operand in the instruction. */
static uint8_t *put_tier_2(uint8_t *at, const char *token, int32_t *number)
{
	if (*token == 'x')
		return put(at, "\x48\x89\xf8", 3); /* mov rax, rdi */
	if (*token != '+' && *token != '*') {
		*number = atoi(token);
		return at;
	}
	at = *token == '+' ? put(at, "\x48\x05", 2) : put(at, "\x48\x69\xc0", 3); /* add, imul rax, number */
	return put(at, (const char *)number, 4);
}

static long (*compile(unsigned slot, const char *name, const char *expression, int tier))(long)
{
	uint8_t *code = arena + (size_t)slot * SLOT_SIZE, *at = code;
	char text[32];
	int32_t number = 0;

	snprintf(text, sizeof(text), "%s", expression);
	if (mprotect(arena, ARENA_SIZE, PROT_READ | PROT_WRITE))
		exit(1);
	for (char *token = strtok(text, " "); token; token = strtok(NULL, " "))
		at = tier == 1 ? put_tier_1(at, token) : put_tier_2(at, token, &number);
	at = tier == 1 ? put(at, "\x58\xc3", 2) : put(at, "\xc3", 1); /* pop rax; ret */
	if (mprotect(arena, ARENA_SIZE, PROT_READ | PROT_EXEC))
		exit(1);
	report(code, (size_t)(at - code), name, tier);
	return (long (*)(long))(uintptr_t)code;
}

/* ---- the program ------------------------------------------------------------------------- */

static void run(long (*function)(long), const char *name, int tier, long calls)
{
	long sum = 0;

	for (long i = 0; i < calls; i++)
		sum += function(i);
	printf("%p %s (tier %d) %ld calls, sum %ld\n", (void *)(uintptr_t)function, name, tier, calls, sum);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "silent";

	if (!strcmp(how, "events") && ptl_provider_register(&jit))
		perror("jit: no events");
	if (!strcmp(how, "map"))
		open_map();
	if (!strcmp(how, "dump"))
		open_dump();
	arena = mmap(NULL, ARENA_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (arena == MAP_FAILED)
		return 1;
	run(compile(0, "area", "x 3 * 5 +", 1), "area", 1, 30);
	run(compile(1, "area", "x 3 * 5 +", 2), "area", 2, 500);
	discarded(arena);
	run(compile(0, "price", "x 7 + 2 *", 1), "price", 1, 40);
	return 0;
}
