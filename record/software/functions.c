/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/software/functions.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/error.h"
#include "common/text/text.h"
#include "elf/demangle.h"
#include "elf/file.h"
#include "query/function_name.h"
#include "query/function_near.h"

int software_function_parse(const char *text, struct software_function *function)
{
	const char *colon = strchr(text, ':');

	/* A C++ name has two. */
	while (colon && colon[1] == ':')
		colon = strchr(colon + 2, ':');
	/* FILE:NAMESPACE::FUNCTION */
	if (!colon && (colon = strchr(text, ':')) && !strchr(text, '/'))
		colon = NULL;
	*function = (struct software_function){.name = colon ? colon + 1 : text};
	if (colon && (size_t)(colon - text) >= sizeof(function->file))
		return common_fail(PTL_MISUSE, "\"%.64s...\": the file's name is too long", text);
	if (colon)
		memcpy(function->file, text, (size_t)(colon - text));
	return function->name[0] ? 0 : common_fail(PTL_MISUSE, "\"%s\" names no function", text);
}

bool software_function_is_in(const struct software_function *function, const char *path)
{
	if (!function->file[0])
		return true;
	return !strcmp(strchr(function->file, '/') ? path : common_base_name(path), function->file);
}

/* Returns how the name is that of the symbol, mangled or demangled. A part of a function does not match. */
static enum query_function_match match_symbol(const char *symbol, const char *name)
{
	struct ptl_bytes plain = {0};
	const char *called = symbol;
	enum query_function_match match;

	if (!strcmp(symbol, name))
		return QUERY_FUNCTION_WHOLE;
	if (elf_demangle(symbol, &plain))
		called = common_text_string(&plain);
	match = query_function_match(called, name);
	if (match && query_function_is_clone(called))
		match = QUERY_FUNCTION_OTHER;
	common_bytes_free(&plain);
	return match;
}

static size_t find_in_list(const struct elf_file *elf, const struct elf_symbol_list *symbols, const char *name,
			   enum query_function_match match, uint64_t *offsets)
{
	size_t found = 0;

	for (size_t i = 0; i < symbols->count && found < SOFTWARE_FUNCTIONS_MAX; i++) {
		uint64_t offset;
		bool known = false;

		if (symbols->list[i].type == 'P' || symbols->list[i].type == 'u' ||
		    match_symbol(symbols->list[i].name, name) != match ||
		    !elf_offset(elf, symbols->list[i].address, &offset))
			continue;
		for (size_t j = 0; j < found; j++)
			known |= offsets[j] == offset;
		if (!known)
			offsets[found++] = offset;
	}
	return found;
}

static void find_near(const struct elf_symbol_list *symbols, const char *name, char *near, size_t near_size)
{
	struct query_near nearest = {.text = name};
	struct ptl_bytes plain = {0};

	for (size_t i = 0; i < symbols->count; i++)
		if (symbols->list[i].type != 'P' && symbols->list[i].name[0])
			query_near_look(&nearest, elf_demangle(symbols->list[i].name, &plain)
							  ? common_text_string(&plain)
							  : symbols->list[i].name);
	common_bytes_free(&plain);
	snprintf(near, near_size, "%s", nearest.names.count ? nearest.names.names[0] : "");
}

/* Any library may have a function like A::run; "run" without FILE is one of a program. */
static bool may_omit_scopes(const struct software_function *function, const char *path)
{
	return function->file[0] || !strstr(common_base_name(path), ".so");
}

size_t software_function_find(const struct software_function *function, const char *path,
			      uint64_t offsets[SOFTWARE_FUNCTIONS_MAX], char *near, size_t near_size)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct elf_symbol_list symbols = {0};
	struct elf_file *elf = NULL;
	size_t found = 0;

	if (near)
		near[0] = 0;
	if (fd < 0)
		return 0;
	if (elf_open(fd, &elf) == 0 && elf_functions(elf, NULL, &symbols) == 0) {
		found = find_in_list(elf, &symbols, function->name, QUERY_FUNCTION_WHOLE, offsets);
		if (!found && may_omit_scopes(function, path))
			found = find_in_list(elf, &symbols, function->name, QUERY_FUNCTION_INNER, offsets);
		if (near && !found)
			find_near(&symbols, function->name, near, near_size);
	}
	elf_symbol_list_free(&symbols);
	if (elf)
		elf_close(elf);
	close(fd);
	return found;
}
