/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds functions in a file's symbols. */
#include "record/image/binary.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "common/error.h"
#include "common/text/text.h"
#include "elf/demangle.h"
#include "query/function_name.h"
#include "query/function_near.h"

#define SHOWN_MAX 4

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

/* Returns the symbol's size; without a size, the distance to the next symbol. */
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

/* ---- names ----------------------------------------------------------------------------------- */

/* Functions that match a name: a few for messages, and their count. */
struct found {
	const struct ptl_symbol *list[SHOWN_MAX];
	size_t count;
	bool are_clones; /* parts of functions, which match only if no whole function matches */
};

/* Adds a function. Several names of one address are one function. */
static void add_found(struct found *found, const struct ptl_symbol *symbol, bool is_clone)
{
	if (found->count && is_clone && !found->are_clones)
		return;
	if (found->are_clones && !is_clone)
		found->count = 0;
	found->are_clones = is_clone;
	for (size_t i = 0; i < found->count && i < SHOWN_MAX; i++)
		if (found->list[i]->address == symbol->address)
			return;
	if (found->count < SHOWN_MAX)
		found->list[found->count] = symbol;
	found->count++;
}

/* Finds functions by the linker's name. */
static void find_linked(const struct elf_symbol_list *symbols, const char *name, struct found *found)
{
	for (size_t i = 0; i < symbols->count; i++)
		if (!strcmp(symbols->list[i].name, name))
			add_found(found, &symbols->list[i], false);
}

/* Returns the source's name. plain: memory of the name. */
static const char *called_name(const struct ptl_symbol *symbol, struct ptl_bytes *plain)
{
	return elf_demangle(symbol->name, plain) ? common_text_string(plain) : symbol->name;
}

/* Finds functions by the source's name, with the whole path or with omitted scopes. */
static void find_called(const struct elf_symbol_list *symbols, const char *name, enum query_function_match match,
			struct found *found)
{
	struct ptl_bytes plain = {0};

	for (size_t i = 0; i < symbols->count; i++) {
		const struct ptl_symbol *symbol = &symbols->list[i];
		const char *called = called_name(symbol, &plain);

		if (query_function_match(called, name) == match)
			add_found(found, symbol, query_function_is_clone(called));
	}
	common_bytes_free(&plain);
}

static int fail_several(const struct record_binary *binary, const struct found *found, const char *name)
{
	struct ptl_bytes text = {0}, plain = {0};
	int status;

	for (size_t i = 0; i < found->count && i < SHOWN_MAX; i++) {
		const struct ptl_symbol *symbol = found->list[i];
		uint64_t offset;

		common_text_add(&text, i ? ", " : "");
		if (elf_offset(binary->elf, symbol->address, &offset))
			common_text_format(&text, "0x%" PRIx64 " ", offset);
		common_text_add(&text, symbol->name);
		if (elf_demangle(symbol->name, &plain))
			common_text_format(&text, " %s", common_text_string(&plain));
	}
	common_text_add(&text, found->count > SHOWN_MAX ? ", and others" : "");
	status = common_fail(
		PTL_NOT_FOUND,
		"several functions are called %s: an offset in the file, or the linker's name, says which: %s", name,
		common_text_string(&text));
	common_bytes_free(&text);
	common_bytes_free(&plain);
	return status;
}

static int fail_unknown(const struct record_binary *binary, const char *name)
{
	struct query_near near = {.text = name};
	struct ptl_bytes plain = {0};

	if (!binary->symbols.count)
		return common_fail(
			PTL_NOT_FOUND,
			"there is no function %s: the file has no symbols; it may have been stripped of them", name);
	for (size_t i = 0; i < binary->symbols.count; i++)
		query_near_look(&near, called_name(&binary->symbols.list[i], &plain));
	common_bytes_free(&plain);
	return common_fail(PTL_NOT_FOUND, "there is no function %s among the %zu of the file%s", name,
			   binary->symbols.count, query_near_question(&near));
}

int record_binary_function(const struct record_binary *binary, const char *name, uint64_t *first, uint64_t *end)
{
	struct found found = {0};

	find_linked(&binary->symbols, name, &found);
	if (!found.count)
		find_called(&binary->symbols, name, QUERY_FUNCTION_WHOLE, &found);
	if (!found.count)
		find_called(&binary->symbols, name, QUERY_FUNCTION_INNER, &found);
	if (!found.count)
		return fail_unknown(binary, name);
	if (found.count > 1)
		return fail_several(binary, &found, name);
	if (!elf_offset(binary->elf, found.list[0]->address, first))
		return common_fail(PTL_NOT_FOUND, "%s is not in the file", name);
	*end = *first + size_of(&binary->symbols, found.list[0]);
	return 0;
}
