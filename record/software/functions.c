/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/software/functions.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/error.h"
#include "common/text/nearest.h"
#include "common/text/text.h"
#include "elf/demangle.h"
#include "elf/file.h"

int software_function_parse(const char *text, struct software_function *function)
{
	const char *colon = strchr(text, ':');

	/* A C++ name has two. */
	while (colon && colon[1] == ':')
		colon = strchr(colon + 2, ':');
	/* FILE:NAMESPACE::FUNCTION */
	if (!colon && (colon = strchr(text, ':')) && !strchr(text, '/'))
		colon = NULL;
	*function = (struct software_function){0};
	if (colon && (size_t)(colon - text) < sizeof(function->file))
		memcpy(function->file, text, (size_t)(colon - text));
	snprintf(function->name, sizeof(function->name), "%s", colon ? colon + 1 : text);
	return function->name[0] ? 0 : common_fail(PTL_MISUSE, "\"%s\" names no function", text);
}

bool software_function_is_in(const struct software_function *function, const char *path)
{
	if (!function->file[0])
		return true;
	return !strcmp(strchr(function->file, '/') ? path : common_base_name(path), function->file);
}

/* Returns whether the symbol's name, mangled or demangled, is the function's name. */
static bool is_named(const char *symbol, const char *name)
{
	struct ptl_bytes plain = {0};
	const size_t size = strlen(name);
	bool is = !strcmp(symbol, name);

	if (!is && symbol[0] == '_' && elf_demangle(symbol, &plain))
		is = plain.size >= size && !memcmp(plain.data, name, size) &&
		     (plain.size == size || plain.data[size] == '(' || !plain.data[size]);
	common_bytes_free(&plain);
	return is;
}

static size_t find_in_list(const struct elf_file *elf, const struct elf_symbol_list *symbols, const char *name,
			   uint64_t *offsets)
{
	size_t found = 0;

	for (size_t i = 0; i < symbols->count && found < SOFTWARE_FUNCTIONS_MAX; i++) {
		uint64_t offset;
		bool known = false;

		if (symbols->list[i].type == 'P' || symbols->list[i].type == 'u' ||
		    !is_named(symbols->list[i].name, name) || !elf_offset(elf, symbols->list[i].address, &offset))
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
	struct common_nearest nearest = {.word = name};

	for (size_t i = 0; i < symbols->count; i++)
		if (symbols->list[i].type != 'P' && symbols->list[i].name[0])
			common_nearest_look(&nearest, symbols->list[i].name);
	snprintf(near, near_size, "%s", nearest.best ? nearest.best : "");
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
		found = find_in_list(elf, &symbols, function->name, offsets);
		if (near && !found)
			find_near(&symbols, function->name, near, near_size);
	}
	elf_symbol_list_free(&symbols);
	if (elf)
		elf_close(elf);
	close(fd);
	return found;
}
