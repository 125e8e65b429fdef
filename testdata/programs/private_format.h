/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A plugin file format other than ELF, written by testdata/programs/plugins/pack and read by
 * private_loader.
 */
#ifndef TESTDATA_PROGRAMS_PRIVATE_FORMAT_H
#define TESTDATA_PROGRAMS_PRIVATE_FORMAT_H

#include <stdint.h>

/* file: header, sections, relocations, then the sections' bytes, each XORed with key */

#define PRIVATE_MAGIC 0x474c5056u /* "VPLG" */
#define PRIVATE_FUNCTIONS 3u      /* number of loader functions for plugins */

enum private_protection { PRIVATE_READ = 1, PRIVATE_WRITE = 2, PRIVATE_EXECUTE = 4 };

struct private_header {
	uint32_t magic;
	uint32_t sections;
	uint32_t relocations;
	uint32_t key;
	uint64_t memory_size; /* bytes of the whole plugin; whole pages */
	uint64_t entry;       /* offset of int entry(int) */
};

struct private_section {
	uint64_t memory_offset; /* offset from the plugin's base; whole pages */
	uint64_t memory_size;   /* bytes; zero beyond file_size */
	uint64_t file_offset;   /* whole pages if key is 0, for mapping */
	uint64_t file_size;
	uint32_t protection;
	uint32_t reserved;
};

/*
 * Adds the base, or the address of a loader function, to the 64 bits at the offset
 * `where`.
 */
struct private_relocation {
	uint64_t where;
	int64_t addend;
	uint32_t function; /* PRIVATE_FUNCTIONS: add the base */
	uint32_t reserved;
};

#endif
