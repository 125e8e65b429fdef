/* SPDX-License-Identifier: BSD-2-Clause */
/* Static probes compiled into a program (sys/sdt.h): notes in the section .note.stapsdt. */
#ifndef ELF_SDT_H
#define ELF_SDT_H

#include <stdint.h>

#include "elf/file.h"

/* A probe. The strings live as long as the file is open. */
struct elf_sdt_probe {
	const char *provider, *name;
	const char *arguments; /* operands, such as "-4@%edi 8@-16(%rbp)" */
	uint64_t address;      /* address of the probe's instruction */
	uint64_t semaphore;    /* address of the counter that is nonzero while the probe is in use; 0: none */
};

/*
 * Calls visit with each probe, in the order of the notes. Stops at a result other than 0 and returns this result. Skips
 * other notes. PTL_CORRUPT: the section cannot be read.
 */
int elf_sdt_probes(const struct elf_file *elf, int (*visit)(void *context, const struct elf_sdt_probe *probe),
		   void *context);

#endif
