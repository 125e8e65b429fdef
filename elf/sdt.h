/* SPDX-License-Identifier: BSD-2-Clause */
/* Probes that a program was compiled with (sys/sdt.h): the notes of its section .note.stapsdt. */
#ifndef ELF_SDT_H
#define ELF_SDT_H

#include <stdint.h>

#include "elf/file.h"

/* Strings live as long as the file is open. */
struct elf_sdt_probe {
	const char *provider, *name;
	const char *arguments; /* "-4@%edi 8@-16(%rbp)" */
	uint64_t address;      /* of the instruction */
	uint64_t semaphore;    /* of the word that says whether somebody looks; 0: none */
};

/*
 * Calls visit with each probe, in the order of the notes, until it returns a status; that is returned. Notes that are no such probe
 * are left out. PTL_CORRUPT: the section cannot be read.
 */
int elf_sdt_probes(const struct elf_file *elf, int (*visit)(void *context, const struct elf_sdt_probe *probe),
		   void *context);

#endif
