/* SPDX-License-Identifier: BSD-2-Clause */
/* Translates assembler operands into fetch arguments of the kernel. */
#include "record/kernel_event/fetch.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/text/text.h"

#define WORD_MAX 256u
#define ARGUMENTS_MAX 64u /* the kernel takes 128 */

/* Register names of all widths. The kernel fetches the whole register; the type tells how many bits count. */
static const struct {
	const char *names; /* with a blank before and behind each */
	const char *fetch;
} registers[] = {
	{" rax eax ax al ", "%ax"},       {" rbx ebx bx bl ", "%bx"},       {" rcx ecx cx cl ", "%cx"},
	{" rdx edx dx dl ", "%dx"},       {" rsi esi si sil ", "%si"},      {" rdi edi di dil ", "%di"},
	{" rbp ebp bp bpl ", "%bp"},      {" rsp esp sp spl ", "%sp"},      {" r8 r8d r8w r8b ", "%r8"},
	{" r9 r9d r9w r9b ", "%r9"},      {" r10 r10d r10w r10b ", "%r10"}, {" r11 r11d r11w r11b ", "%r11"},
	{" r12 r12d r12w r12b ", "%r12"}, {" r13 r13d r13w r13b ", "%r13"}, {" r14 r14d r14w r14b ", "%r14"},
	{" r15 r15d r15w r15b ", "%r15"},
};

/* Parses a register such as "%edi". */
static const char *find_register(const char *text, size_t size)
{
	char name[16];

	if (size < 2 || size > sizeof(name) - 3 || text[0] != '%')
		return NULL;
	snprintf(name, sizeof(name), " %.*s ", (int)size - 1, text + 1);
	for (size_t i = 0; i < sizeof(registers) / sizeof(registers[0]); i++)
		if (strstr(registers[i].names, name))
			return registers[i].fetch;
	return NULL;
}

/* Parses a memory operand such as "-16(%rbp)" or "(%rax)", without index and symbol. */
static bool add_memory(const char *operand, struct ptl_bytes *out)
{
	char *end;
	const long long offset = *operand == '(' ? 0 : strtoll(operand, &end, 0);
	const char *open = strchr(operand, '('), *close = open ? strchr(open, ')') : NULL, *base;

	if (!close || close[1] || (*operand != '(' && (end != open || end == operand)))
		return false;
	base = find_register(open + 1, (size_t)(close - open - 1));
	if (base)
		common_text_format(out, "%+lld(%s)", offset, base);
	return base != NULL;
}

static bool add_operand(const char *operand, struct ptl_bytes *out)
{
	const char *whole;
	long long number;
	char *end;

	if (*operand == '$') {
		number = strtoll(operand + 1, &end, 0);
		if (end == operand + 1 || *end)
			return false;
		common_text_format(out, "\\%lld", number);
		return true;
	}
	if (*operand != '%')
		return add_memory(operand, out);
	whole = find_register(operand, strlen(operand));
	if (whole)
		common_text_add(out, whole);
	return whole != NULL;
}

/* Parses an argument such as "-4@%edi": size, '@', operand. */
static bool add_sdt_argument(const char *word, unsigned number, struct ptl_bytes *out)
{
	const size_t before = out->size;
	char *end;
	const long size = strtol(word, &end, 10);
	const long bytes = size < 0 ? -size : size;

	if (end == word || *end != '@' || (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8))
		return false;
	common_text_format(out, " arg%u=", number);
	if (!add_operand(end + 1, out)) {
		out->size = before;
		return false;
	}
	common_text_format(out, ":%c%ld", size < 0 ? 's' : 'u', bytes * 8);
	return true;
}

void kernel_event_fetch_sdt(const char *arguments, struct ptl_bytes *out, unsigned *left_out)
{
	char word[WORD_MAX];

	*left_out = 0;
	for (unsigned number = 1; *(arguments += strspn(arguments, " ")); number++) {
		const size_t size = strcspn(arguments, " ");

		snprintf(word, sizeof(word), "%.*s", (int)(size < WORD_MAX ? size : WORD_MAX), arguments);
		*left_out += size >= WORD_MAX || number > ARGUMENTS_MAX || !add_sdt_argument(word, number, out);
		arguments += size;
	}
}

/* ---- what is given on the command line ------------------------------------------------------- */

static bool is_name(const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (!isalnum((unsigned char)text[i]) && text[i] != '_')
			return false;
	return size && size < 32 && !isdigit((unsigned char)*text);
}

static void add_fetch(const char *fetch, struct ptl_bytes *out)
{
	/* registers of a function's first arguments in the System V ABI */
	static const char *const arguments[] = {"%di", "%si", "%dx", "%cx", "%r8", "%r9"};
	const char *found;

	for (; (found = strstr(fetch, "$arg")); fetch = found + 5) {
		common_write_bytes(out, fetch, (size_t)(found - fetch));
		if (found[4] >= '1' && found[4] <= '6' && !isdigit((unsigned char)found[5]))
			common_text_add(out, arguments[found[4] - '1']);
		else
			common_write_bytes(out, found, found[4] ? 5 : 4);
		if (!found[4])
			return;
	}
	common_text_add(out, fetch);
}

static int add_word(const char *word, size_t size, unsigned number, struct ptl_bytes *out)
{
	const char *equals = memchr(word, '=', size);
	char fetch[WORD_MAX];

	while (size && word[size - 1] == ' ')
		size--;
	if (equals && !is_name(word, (size_t)(equals - word)))
		return common_fail(PTL_MISUSE, "'%.*s' is no name for an argument", (int)(equals - word), word);
	if (equals)
		common_text_format(out, " %.*s=", (int)(equals - word), word);
	else
		common_text_format(out, " arg%u=", number);
	size -= equals ? (size_t)(equals + 1 - word) : 0;
	word = equals ? equals + 1 : word;
	if (!size || size >= sizeof(fetch) || memchr(word, ' ', size) || memchr(word, '\n', size))
		return common_fail(
			PTL_MISUSE,
			"expected an argument as %%di:s32, $arg1:u64 or name=+0($arg2):ustring, found '%.*s'",
			(int)size, word);
	snprintf(fetch, sizeof(fetch), "%.*s", (int)size, word);
	add_fetch(fetch, out);
	return 0;
}

int kernel_event_fetch_words(const char *words, struct ptl_bytes *out)
{
	int status = 0;

	for (unsigned number = 1; status == 0 && *(words += strspn(words, " ")); number++) {
		const size_t size = strcspn(words, ",");

		status = number > ARGUMENTS_MAX ? common_fail(PTL_MISUSE, "more than %u arguments", ARGUMENTS_MAX)
						: add_word(words, size, number, out);
		words += size + (words[size] == ',');
	}
	return status;
}
