/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A plugin file format that is not ELF, as testdata/programs/plugins/pack writes it and
 * private_loader reads it.
 */
#ifndef TESTDATA_PROGRAMS_PRIVATE_FORMAT_H
#define TESTDATA_PROGRAMS_PRIVATE_FORMAT_H

#include <stdint.h>

/* file: header, sections, relocations, then the sections' bytes, each XORed with key */

#define PRIVATE_MAGIC 0x474c5056u /* "VPLG" */
#define PRIVATE_FUNCTIONS 3u      /* that the loader offers to plugins, by number */

enum private_protection { PRIVATE_READ = 1, PRIVATE_WRITE = 2, PRIVATE_EXECUTE = 4 };

struct private_header {
	uint32_t magic;
	uint32_t sections;
	uint32_t relocations;
	uint32_t key;
	uint64_t memory_size; /* of the whole plugin, whole pages */
	uint64_t entry;       /* from its base: int entry(int) */
};

struct private_section {
	uint64_t memory_offset; /* from the plugin's base, whole pages */
	uint64_t memory_size;   /* bytes; those beyond file_size are zero */
	uint64_t file_offset;   /* whole pages where key is 0, so that it can be mapped */
	uint64_t file_size;
	uint32_t protection;
	uint32_t reserved;
};

/*
 * Adds to the 64 bits at `where` (from the base): the base, or the address of a function of the
 * loader's.
 */
struct private_relocation {
	uint64_t where;
	int64_t addend;
	uint32_t function; /* PRIVATE_FUNCTIONS: none, the base counts */
	uint32_t reserved;
};

#endif
