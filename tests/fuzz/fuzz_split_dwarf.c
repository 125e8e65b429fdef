/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzzes the reader of split DWARF. Input: u32 size of an ELF file with skeletons, the ELF file, and a .dwo file or a
 * package. A unit taken from a package is an ELF file with the unit.
 */
#include <gelf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/bytes.h"
#include "common/file.h"
#include "elf/split_package.h"
#include "flow/symbol/scope_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	const uint8_t *data;
	size_t size;
	struct elf_split_package *package; /* NULL: the file is not a package */
};

static bool read_unit(void *context, const struct elf_split_unit *split, uint8_t **data, size_t *size)
{
	const struct input *input = context;

	if (input->package) {
		Elf *elf;

		if (elf_split_package_read(input->package, split->id, data, size) != 0)
			return false;
		elf = elf_memory((char *)*data, *size);
		if (!elf || elf_kind(elf) != ELF_K_ELF)
			abort();
		elf_end(elf);
		return true;
	}
	*data = malloc(input->size ? input->size : 1);
	if (!*data)
		return false;
	memcpy(*data, input->data, input->size);
	*size = input->size;
	return true;
}

static struct elf_split_package *open_package(const struct input *input)
{
	struct elf_split_package *package = NULL;
	const int fd = memfd_create("package", MFD_CLOEXEC);

	if (fd < 0)
		return NULL;
	if (common_write_all(fd, input->data, input->size) == 0)
		(void)elf_split_package_open(fd, &package);
	else
		close(fd);
	return package;
}

static void make_scopes(Dwarf *dwarf, struct input *input)
{
	struct flow_split_source source = {.context = input, .read = read_unit};
	struct flow_scope_table *scopes = flow_scopes_make(dwarf, &source);

	for (uint64_t address = 0; scopes && address < 0x2000; address += 16) {
		const struct flow_scope *scope = flow_scopes_find(scopes, address);

		if (scope && (!scope->function || !scope->function->name || !scope->call_file))
			abort();
	}
	flow_scopes_free(scopes);
	free(source.missing);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const size_t first = size < 4 ? 0 : common_load32(data);
	struct input input = {0};
	uint8_t *skeletons;
	Dwarf *dwarf;
	Elf *elf;

	if (size < 4 || first > size - 4)
		return 0;
	input.data = data + 4 + first;
	input.size = size - 4 - first;
	input.package = open_package(&input);
	skeletons = malloc(first ? first : 1);
	if (!skeletons)
		abort();
	memcpy(skeletons, data + 4, first);
	elf_version(EV_CURRENT);
	elf = elf_memory((char *)skeletons, first);
	dwarf = elf && elf_kind(elf) == ELF_K_ELF ? dwarf_begin_elf(elf, DWARF_C_READ, NULL) : NULL;
	if (dwarf)
		make_scopes(dwarf, &input);
	dwarf_end(dwarf);
	elf_end(elf);
	free(skeletons);
	elf_split_package_close(input.package);
	return 0;
}
