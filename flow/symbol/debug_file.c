/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens the DWARF of an ELF file for as long as tables are made of it: libdw is not for several threads. */
#include "flow/symbol/debug_file.h"

#include <elfutils/libdwelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void flow_debug_free(struct flow_debug *debug)
{
	if (!debug)
		return;
	flow_lines_free(debug->lines);
	flow_scopes_free(debug->scopes);
	free(debug);
}

static struct flow_debug *read_debug(Elf *elf, bool scopes)
{
	Dwarf *dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
	struct flow_debug *debug = dwarf ? calloc(1, sizeof(*debug)) : NULL;

	if (debug)
		debug->lines = flow_lines_make(dwarf);
	if (debug && debug->lines && scopes)
		debug->scopes = flow_scopes_make(dwarf);
	if (dwarf)
		dwarf_end(dwarf);
	if (debug && !debug->lines) {
		flow_debug_free(debug);
		return NULL;
	}
	return debug;
}

struct flow_debug *flow_debug_from_memory(uint8_t *data, size_t size, bool scopes)
{
	struct flow_debug *debug = NULL;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_memory((char *)data, size);
	if (elf && elf_kind(elf) == ELF_K_ELF)
		debug = read_debug(elf, scopes);
	elf_end(elf);
	return debug;
}

struct flow_debug *flow_debug_from_file(int fd, const uint8_t *build_id, size_t build_id_size, bool scopes)
{
	struct flow_debug *debug = NULL;
	const void *id;
	Elf *elf;

	if (fd < 0)
		return NULL;
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (elf && elf_kind(elf) == ELF_K_ELF && dwelf_elf_gnu_build_id(elf, &id) == (ssize_t)build_id_size &&
	    memcmp(id, build_id, build_id_size) == 0)
		debug = read_debug(elf, scopes);
	elf_end(elf);
	close(fd);
	return debug;
}
