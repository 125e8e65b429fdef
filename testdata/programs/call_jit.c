/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Code made at run time, without symbols, among functions that log their calls: the functions call the code, and the
 * code calls them, itself, and jumps to them (tail calls). call_jit LOG
 */
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "call_log.h"
#include "check.h"

#define NOINLINE __attribute__((noinline))

typedef int (*function)(int);

static uint8_t *next_code;
static volatile int sum;

NOINLINE static int note(int value)
{
	sum += value;
	return value;
}

NOINLINE static int note_twice(int value)
{
	return note(value) + note(value + 1);
}

/* Writes the bytes, with the address of the target at `place`. */
NOT_LOGGED static function make(const uint8_t *code, size_t size, size_t place, function target)
{
	uint8_t *start = next_code;

	memcpy(start, code, size);
	memcpy(start + place, &target, sizeof(target));
	next_code += (size + 15) & ~(size_t)15;
	return (function)(uintptr_t)start;
}

/* f(x): target(x) */
NOT_LOGGED static function make_caller(function target)
{
	static const uint8_t code[] = {
		0x48, 0x83, 0xec, 0x08,                   /* sub rsp, 8 */
		0x48, 0xb8, 0,    0,    0, 0, 0, 0, 0, 0, /* mov rax, target */
		0xff, 0xd0,                               /* call rax */
		0x48, 0x83, 0xc4, 0x08,                   /* add rsp, 8 */
		0xc3,                                     /* ret */
	};

	return make(code, sizeof(code), 6, target);
}

/* f(x): goes over to target(x) */
NOT_LOGGED static function make_jump(function target)
{
	static const uint8_t code[] = {
		0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, /* mov rax, target */
		0xff, 0xe0,                         /* jmp rax */
	};

	return make(code, sizeof(code), 2, target);
}

/* f(x): if x, f(x - 1) and then target(x) */
NOT_LOGGED static function make_recursion(function target)
{
	static const uint8_t code[] = {
		0x89, 0xf8,                                  /* mov eax, edi */
		0x85, 0xff,                                  /* test edi, edi */
		0x74, 0x18,                                  /* jz 1f */
		0x57,                                        /* push rdi */
		0xff, 0xcf,                                  /* dec edi */
		0xe8, 0xf2, 0xff, 0xff, 0xff,                /* call f */
		0x8b, 0x3c, 0x24,                            /* mov edi, [rsp] */
		0x48, 0xb8, 0,    0,    0,    0, 0, 0, 0, 0, /* mov rax, target */
		0xff, 0xd0,                                  /* call rax */
		0x5f,                                        /* pop rdi */
		0xc3,                                        /* 1: ret; eax is 0 the first time */
	};

	return make(code, sizeof(code), 19, target);
}

NOINLINE static void everything(void)
{
	const function caller = make_caller(note_twice), jump = make_jump(note_twice);
	const function recursion = make_recursion(note), both = make_caller(jump), deep = make_recursion(caller);
	const function over = make_jump(recursion);

	for (int i = 0; i < 20; i++) {
		note(caller(i));
		note(jump(i));
		note(both(i));
		note(over(i % 5));
	}
	note(recursion(30));
	note(deep(12));
}

NOT_LOGGED int main(int argc, char **argv)
{
	uint8_t *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(argc == 2 && code != MAP_FAILED);
	next_code = code;
	everything();
	call_log_write(argv[1]);
	return 0;
}
