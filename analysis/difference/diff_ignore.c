/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists of code that a comparison ignores. */
#include "analysis/difference/diff_ignore.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/program/options.h"
#include "common/text/rule_lines.h"
#include "common/text/text.h"
#include "common/vector.h"
#include "elf/demangle.h"
#include "query/function_name.h"
#include "query/glob.h"

void analysis_ignore_free(struct analysis_ignore *ignore)
{
	for (size_t i = 0; i < ignore->count; i++)
		free(ignore->rules[i].pattern);
	free(ignore->rules);
	*ignore = (struct analysis_ignore){0};
}

static int fail_rule(const char *text)
{
	struct ptl_bytes shown = {0};
	int status;

	common_text_safe_n(&shown, text, strnlen(text, 64));
	status = common_fail(PTL_MISUSE, "'%s' is none of FUNCTION, image:IMAGE and range:IMAGE:0xFIRST..0xLAST",
			     common_text_string(&shown));
	common_bytes_free(&shown);
	return status;
}

/* Removes ":0xFIRST..0xLAST" from the pattern, and parses the range. */
static bool take_range(struct analysis_ignore_rule *rule)
{
	char *colon = strrchr(rule->pattern, ':'), *dots;

	if (!colon || colon == rule->pattern)
		return false;
	*colon++ = 0;
	dots = strstr(colon, "..");
	if (!dots)
		return false;
	*dots = 0;
	return common_parse_u64(colon, &rule->first) == 0 && common_parse_u64(dots + 2, &rule->last) == 0 &&
	       rule->first <= rule->last;
}

static bool starts(const char *text, const char *word)
{
	return strncmp(text, word, strlen(word)) == 0;
}

/* Parses rule->pattern. The rule owns its pattern, even after an error. */
static int parse_rule(struct analysis_ignore_rule *rule)
{
	static const char image[] = "image:", range[] = "range:";
	size_t skip = 0;

	rule->is_range = starts(rule->pattern, range);
	rule->is_function = !rule->is_range && !starts(rule->pattern, image);
	if (!rule->is_function)
		skip = rule->is_range ? strlen(range) : strlen(image);
	memmove(rule->pattern, rule->pattern + skip, strlen(rule->pattern + skip) + 1);
	if (!*rule->pattern || (rule->is_range && !take_range(rule)))
		return fail_rule(rule->pattern);
	return 0;
}

int analysis_ignore_add(struct analysis_ignore *ignore, const char *text, size_t size)
{
	struct analysis_ignore_rule rule = {.pattern = strndup(text, size)};
	int status = rule.pattern ? parse_rule(&rule) : common_fail_memory("a list", size);

	if (!status && !common_vector_room(&ignore->rules, ignore->count, sizeof(rule)))
		status = common_fail_memory("a list", ignore->count * sizeof(rule));
	if (status) {
		free(rule.pattern);
		return status;
	}
	ignore->rules[ignore->count++] = rule;
	ignore->functions += rule.is_function;
	return 0;
}

static int visit_rule(void *ignore, const char *rule, size_t size)
{
	return analysis_ignore_add(ignore, rule, size);
}

int analysis_ignore_parse(struct analysis_ignore *ignore, const char *name, const char *text, size_t size)
{
	return common_rule_lines(name, text, size, true, visit_rule, ignore);
}

int analysis_ignore_read(struct analysis_ignore *ignore, const char *path)
{
	return common_rule_file(path, true, visit_rule, ignore);
}

bool analysis_ignores_function(const struct analysis_ignore *ignore, const char *name)
{
	struct ptl_bytes plain = {0};
	const bool is_mangled = ignore->functions && elf_demangle(name, &plain);
	const char *called = is_mangled ? common_text_string(&plain) : name;
	bool ignored = false;

	for (size_t i = 0; ignore->functions && !ignored && i < ignore->count; i++)
		ignored = ignore->rules[i].is_function &&
			  (query_function_is_called(called, ignore->rules[i].pattern) ||
			   (is_mangled && query_glob(ignore->rules[i].pattern, name, strlen(name), NULL)));
	common_bytes_free(&plain);
	return ignored;
}

bool analysis_ignores_image(const struct analysis_ignore *ignore, const char *path)
{
	for (size_t i = 0; i < ignore->count; i++) {
		const struct analysis_ignore_rule *rule = &ignore->rules[i];

		if (!rule->is_function && !rule->is_range && query_glob_path(rule->pattern, path))
			return true;
	}
	return false;
}

bool analysis_ignores_address(const struct analysis_ignore *ignore, const char *path, uint64_t address)
{
	for (size_t i = 0; i < ignore->count; i++) {
		const struct analysis_ignore_rule *rule = &ignore->rules[i];

		if (rule->is_range && address >= rule->first && address <= rule->last &&
		    query_glob_path(rule->pattern, path))
			return true;
	}
	return false;
}
