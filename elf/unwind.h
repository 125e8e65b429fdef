/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Unwinds calls of programs compiled without frame pointers, from registers, a copy of the stack, and the DWARF frame
 * descriptions (.eh_frame) of the mapped files.
 */
#ifndef ELF_UNWIND_H
#define ELF_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* value for perf_event_attr.sample_regs_user: the registers of elf_unwind_sample */
#define ELF_UNWIND_REGISTERS 0xff01ffu
#define ELF_UNWIND_REGISTER_COUNT 17 /* in the order of asm/perf_regs.h: AX, BX, ..., BP, SP, IP, R8, ..., R15 */
#define ELF_UNWIND_FRAMES 127        /* most frames returned */

enum elf_unwind_register { ELF_UNWIND_SP = 7, ELF_UNWIND_IP = 8 };

/* The mapped files of a process. */
struct elf_unwinder;

struct elf_unwind_sample {
	uint32_t pid;
	uint64_t registers[ELF_UNWIND_REGISTER_COUNT];
	const uint8_t *stack; /* bytes from the stack pointer up */
	size_t stack_size;
};

/* Creates an unwinder. NULL without memory, with the reason in the error chain. */
struct elf_unwinder *elf_unwinder_new(void);
/* Frees an unwinder; NULL is ignored. */
void elf_unwinder_free(struct elf_unwinder *unwinder);

/*
 * Add files between `begin` and `end`. elf_unwinder_add takes ownership of fd. The file's byte at file_offset is mapped
 * at base.
 */
void elf_unwinder_begin(struct elf_unwinder *unwinder);
void elf_unwinder_add(struct elf_unwinder *unwinder, const char *path, int fd, uint64_t base, uint64_t file_offset);
void elf_unwinder_end(struct elf_unwinder *unwinder);

/* Whether a known file is mapped at the address. */
bool elf_unwinder_has(const struct elf_unwinder *unwinder, uint64_t address);
/*
 * Replaces the known files by the current mappings of a running process, from /proc. Returns false if /proc does not
 * show them.
 */
bool elf_unwinder_look(struct elf_unwinder *unwinder, uint32_t pid);

/*
 * Writes the frames' addresses to `frames`, innermost first. Returns their number, at least 1. *whole: unwinding
 * reached the thread's start; otherwise the location of further frames is unknown.
 */
size_t elf_unwind(struct elf_unwinder *unwinder, const struct elf_unwind_sample *sample,
		  uint64_t frames[ELF_UNWIND_FRAMES], bool *whole);

#endif
