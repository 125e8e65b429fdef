/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/software/image.h"

#include <elf.h>
#include <string.h>

/* image_data.S: the linked runtime. */
extern const uint8_t software_image_begin[], software_image_end[];

/* Calls `use` for each segment of the runtime's ELF file, which is built into ptl-record. */
static void each_segment(void (*use)(const Elf64_Phdr *segment, void *context), void *context)
{
	Elf64_Ehdr header;
	Elf64_Phdr segment;

	memcpy(&header, software_image_begin, sizeof(header));
	for (unsigned i = 0; i < header.e_phnum; i++) {
		memcpy(&segment, software_image_begin + header.e_phoff + i * sizeof(segment), sizeof(segment));
		if (segment.p_type == PT_LOAD)
			use(&segment, context);
	}
}

static void measure(const Elf64_Phdr *segment, void *context)
{
	struct channel_config *config = context;
	const uint64_t end = segment->p_vaddr + segment->p_memsz;

	if (end > config->runtime_size)
		config->runtime_size = end;
	if (segment->p_flags & PF_W && (!config->runtime_code || segment->p_vaddr < config->runtime_code))
		config->runtime_code = segment->p_vaddr & ~4095ull;
}

void software_image_describe(struct channel_config *config)
{
	Elf64_Ehdr header;

	memcpy(&header, software_image_begin, sizeof(header));
	config->runtime_size = config->runtime_code = 0;
	each_segment(measure, config);
	config->runtime_size = (config->runtime_size + 4095) & ~4095ull;
	config->runtime_entry = header.e_entry;
}

static void copy(const Elf64_Phdr *segment, void *context)
{
	memcpy((uint8_t *)context + segment->p_vaddr, software_image_begin + segment->p_offset, segment->p_filesz);
}

void software_image_write(const struct channel_config *config, uint8_t *out)
{
	(void)config;
	each_segment(copy, out);
}
