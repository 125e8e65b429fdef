/* SPDX-License-Identifier: BSD-2-Clause */
/* A growing array of symbols; names are in blocks that do not move. */
#include "elf/symbol_list.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"

#define BLOCK_SIZE 65536u
/* number of symbols that get room for a name, even if the file has few strings */
#define FIRST_SYMBOLS ((uint64_t)1 << 18)

struct elf_symbol_names {
	struct elf_symbol_names *next;
	size_t used;
	size_t size;
	char text[];
};

bool elf_symbol_list_wants(const struct elf_symbol_list *symbols, uint64_t address)
{
	return !symbols->size || address - symbols->base < symbols->size;
}

/* Accounts for memory before its allocation. */
static int account(struct elf_symbol_list *symbols, size_t bytes)
{
	if (symbols->limit && bytes > symbols->limit - symbols->bytes)
		return common_fail(PTL_NO_MEMORY, "the names of functions take more than %zu MiB",
				   symbols->limit >> 20);
	symbols->bytes += bytes;
	return 0;
}

int elf_symbol_list_add(struct elf_symbol_list *symbols, const struct ptl_symbol *symbol)
{
	if (symbols->count == symbols->capacity) {
		const size_t capacity = symbols->capacity ? symbols->capacity + symbols->capacity / 2 : 64;
		struct ptl_symbol *larger;
		const int status = account(symbols, (capacity - symbols->capacity) * sizeof(*larger));

		if (status < 0)
			return status;
		larger = reallocarray(symbols->list, capacity, sizeof(*larger));
		if (!larger)
			return common_fail_memory("symbols", capacity * sizeof(*larger));
		symbols->list = larger;
		symbols->capacity = capacity;
	}
	symbols->list[symbols->count++] = *symbol;
	return 0;
}

static struct elf_symbol_names *new_block(struct elf_symbol_list *symbols, size_t size)
{
	struct elf_symbol_names *block;

	if (account(symbols, sizeof(*block) + size) < 0)
		return NULL;
	block = malloc(sizeof(*block) + size);
	if (!block) {
		common_fail_memory("symbols", size);
		return NULL;
	}
	*block = (struct elf_symbol_names){.next = symbols->names, .size = size};
	symbols->names = block;
	return block;
}

const char *elf_symbol_list_name(struct elf_symbol_list *symbols, const char *name, size_t size, const char *more)
{
	struct elf_symbol_names *block = symbols->names;
	const size_t rest = strlen(more), needed = size + rest + 1;
	char *copy;

	if (!block || needed > block->size - block->used)
		block = new_block(symbols, needed > BLOCK_SIZE ? needed : BLOCK_SIZE);
	if (!block)
		return NULL;
	copy = block->text + block->used;
	block->used += needed;
	memcpy(copy, name, size);
	memcpy(copy + size, more, rest + 1);
	return copy;
}

struct elf_name_room elf_name_room(uint64_t count)
{
	const uint64_t first = ELF_NAME_CUT * (count < FIRST_SYMBOLS ? count : FIRST_SYMBOLS);

	return (struct elf_name_room){.whole = first, .cut = first};
}

size_t elf_symbol_list_fit(struct elf_symbol_list *symbols, size_t size, struct elf_name_room *room)
{
	size_t fitting = size < ELF_NAME_CUT ? size : ELF_NAME_CUT;

	if (size <= room->whole) {
		room->whole -= size;
		return size;
	}
	if (fitting > room->cut)
		fitting = 0;
	room->cut -= fitting;
	symbols->cut += fitting < size;
	return fitting;
}

void elf_symbol_list_free(struct elf_symbol_list *symbols)
{
	while (symbols->names) {
		struct elf_symbol_names *next = symbols->names->next;

		free(symbols->names);
		symbols->names = next;
	}
	free(symbols->list);
	*symbols = (struct elf_symbol_list){0};
}
