/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls of programs that were compiled without frame pointers: from registers and a copy of the stack, by what DWARF says of frames
 * (.eh_frame of the files that are mapped).
 */
#ifndef ELF_UNWIND_H
#define ELF_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ELF_UNWIND_REGISTERS 0xff01ffu /* of perf_event_attr.sample_regs_user: those of elf_unwind_sample */
#define ELF_UNWIND_REGISTER_COUNT 17   /* in the order of asm/perf_regs.h: AX, BX, ..., BP, SP, IP, R8, ..., R15 */
#define ELF_UNWIND_FRAMES 127          /* the most that are given */

enum elf_unwind_register { ELF_UNWIND_SP = 7, ELF_UNWIND_IP = 8 };

/* The files that a process has mapped. */
struct elf_unwinder;

struct elf_unwind_sample {
	uint32_t pid;
	uint64_t registers[ELF_UNWIND_REGISTER_COUNT];
	const uint8_t *stack; /* bytes from the stack pointer on */
	size_t stack_size;
};

/* NULL without memory, with the reason in the chain. */
struct elf_unwinder *elf_unwinder_new(void);
/* Also of NULL. */
void elf_unwinder_free(struct elf_unwinder *unwinder);

/* Files are added between `begin` and `end`. fd is closed: the file's byte at file_offset is mapped at base. */
void elf_unwinder_begin(struct elf_unwinder *unwinder);
void elf_unwinder_add(struct elf_unwinder *unwinder, const char *path, int fd, uint64_t base, uint64_t file_offset);
void elf_unwinder_end(struct elf_unwinder *unwinder);

/* Whether a file is known that is mapped at the address. */
bool elf_unwinder_has(const struct elf_unwinder *unwinder, uint64_t address);
/* Takes what a running process has mapped now, as /proc shows it, instead of what was known. False: it is not to be seen. */
bool elf_unwinder_look(struct elf_unwinder *unwinder, uint32_t pid);

/*
 * Writes the addresses of the calls to frames, the innermost first, and returns how many. *whole: the outermost is where the
 * thread began; else nothing says where more frames are.
 */
size_t elf_unwind(struct elf_unwinder *unwinder, const struct elf_unwind_sample *sample,
		  uint64_t frames[ELF_UNWIND_FRAMES], bool *whole);

#endif
