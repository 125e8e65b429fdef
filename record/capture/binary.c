/* SPDX-License-Identifier: BSD-2-Clause */
/* Looks functions up among the symbols of a file. */
#include "record/capture/binary.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/error.h"

void record_binary_close(struct record_binary *binary)
{
	elf_symbol_list_free(&binary->symbols);
	elf_close(binary->elf);
	close(binary->fd);
}

int record_binary_open(const char *path, struct record_binary *binary)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	off_t end;
	int status;

	*binary = (struct record_binary){.fd = fd};
	if (fd < 0)
		return common_fail_errno("%s", path);
	end = lseek(fd, 0, SEEK_END);
	status = elf_open(fd, &binary->elf);
	if (status == 0)
		status = elf_functions(binary->elf, NULL, &binary->symbols);
	binary->size = end > 0 ? (uint64_t)end : 0;
	if (status == 0)
		return 0;
	record_binary_close(binary);
	return common_fail_in(status, "%s", path);
}

/* Up to the next symbol where the file does not say. */
static uint64_t size_of(const struct elf_symbol_list *symbols, const struct ptl_symbol *symbol)
{
	uint64_t end = UINT64_MAX;

	if (symbol->size)
		return symbol->size;
	for (size_t i = 0; i < symbols->count; i++)
		if (symbols->list[i].address > symbol->address && symbols->list[i].address < end)
			end = symbols->list[i].address;
	return end == UINT64_MAX ? 1 : end - symbol->address;
}

int record_binary_function(const struct record_binary *binary, const char *name, uint64_t *first, uint64_t *end)
{
	const struct ptl_symbol *found = NULL;

	for (size_t i = 0; i < binary->symbols.count; i++) {
		const struct ptl_symbol *symbol = &binary->symbols.list[i];

		if (strcmp(symbol->name, name) != 0)
			continue;
		if (found && found->address != symbol->address)
			return common_fail(PTL_NOT_FOUND,
					   "several functions are called %s: an offset in the file says which", name);
		found = symbol;
	}
	if (!found)
		return common_fail(PTL_NOT_FOUND, "there is no function %s (of %zu)", name, binary->symbols.count);
	if (!elf_offset(binary->elf, found->address, first))
		return common_fail(PTL_NOT_FOUND, "%s is not in the file", name);
	*end = *first + size_of(&binary->symbols, found);
	return 0;
}
