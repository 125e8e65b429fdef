/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses lines "ADDRESS TYPE NAME[\t[MODULE]]". */
#include "elf/kallsyms.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"

bool elf_kallsym_is_code(const struct elf_kallsym *symbol)
{
	return symbol->type && strchr("tTwW", symbol->type);
}

/* Splits the line, in place. */
static bool parse_kallsym(char *line, struct elf_kallsym *symbol)
{
	char *end, *name, *module;

	if (!strchr("0123456789abcdefABCDEF", line[0]) || !line[0])
		return false;
	symbol->address = strtoull(line, &end, 16);
	if (end[0] != ' ' || !end[1] || end[2] != ' ')
		return false;
	symbol->type = end[1];
	name = end + 3;
	name[strcspn(name, "\n")] = 0;
	module = strstr(name, "\t[");
	if (module) {
		*module = 0;
		module += 2;
		module[strcspn(module, "]")] = 0;
	}
	symbol->name = name;
	symbol->module = module ? module : "";
	return *name != 0;
}

int elf_kallsyms_read(const char *path, int (*visit)(void *context, const struct elf_kallsym *symbol), void *context)
{
	FILE *file = fopen(path, "re");
	struct elf_kallsym symbol;
	bool any = false, hidden = true;
	size_t capacity = 0;
	char *line = NULL;
	int status = 0;

	if (!file)
		return common_fail_errno("%s", path);
	while (status == 0 && getline(&line, &capacity, file) > 0) {
		if (!parse_kallsym(line, &symbol))
			continue;
		any = true;
		hidden &= !symbol.address;
		if (symbol.address)
			status = visit(context, &symbol);
	}
	free(line);
	fclose(file);
	if (status == 0 && any && hidden)
		status = common_fail(PTL_SYSTEM, "%s hides addresses from this user (kernel.kptr_restrict)", path);
	return status;
}
