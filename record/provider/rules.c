/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses the rules of the command line. */
#include "record/provider/rules.h"

#include <string.h>
#include <strings.h>

#include "common/error.h"
#include "common/program/options.h"
#include "common/text/guid.h"

#define LEVEL_ALL 255

static const struct {
	const char *name;
	uint8_t level;
} levels[] = {
	{"always", PTL_LEVEL_ALWAYS},      {"critical", PTL_LEVEL_CRITICAL},
	{"error", PTL_LEVEL_ERROR},        {"warning", PTL_LEVEL_WARNING},
	{"info", PTL_LEVEL_INFORMATIONAL}, {"informational", PTL_LEVEL_INFORMATIONAL},
	{"verbose", PTL_LEVEL_VERBOSE},    {"all", LEVEL_ALL},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

const char *record_level_name(unsigned level)
{
	for (size_t i = 0; i < COUNT(levels); i++)
		if (levels[i].level == level)
			return levels[i].name;
	return "";
}

static int parse_level(const char *text, uint8_t *level)
{
	uint64_t number;

	for (size_t i = 0; i < COUNT(levels); i++)
		if (!strcasecmp(text, levels[i].name)) {
			*level = levels[i].level;
			return 0;
		}
	if (common_parse_u64(text, &number) < 0 || number > LEVEL_ALL)
		return common_fail(PTL_MISUSE,
				   "\"%s\" is no level: critical, error, warning, info, verbose, all, "
				   "or a number to 255",
				   text);
	*level = (uint8_t)number;
	return 0;
}

static int parse_keywords(const char *text, uint64_t *keywords)
{
	*keywords = UINT64_MAX;
	if (!strcasecmp(text, "all"))
		return 0;
	if (common_parse_u64(text, keywords) < 0)
		return common_fail(PTL_MISUSE, "\"%s\" are no keywords: a number such as 0x12, or all", text);
	return 0;
}

/* Splits the text at colons, and checks the length. */
static int split_rule(const char *text, char *copy, size_t size, char *parts[3])
{
	size_t count = 0;

	if (strlen(text) >= size)
		return common_fail(PTL_MISUSE, "a provider's name has at most %u bytes",
				   PROVIDER_SHM_PROVIDER_NAME_SIZE - 1);
	strcpy(copy, text);
	parts[count++] = copy;
	for (char *at = copy; *at; at++) {
		if (*at != ':')
			continue;
		if (count == 3)
			return common_fail(PTL_MISUSE, "expected NAME|GUID[:LEVEL[:KEYWORDS]]");
		*at = 0;
		parts[count++] = at + 1;
	}
	return 0;
}

int record_provider_rule_parse(const char *text, struct provider_shm_rule *rule)
{
	char copy[PROVIDER_SHM_PROVIDER_NAME_SIZE + 64], *parts[3] = {NULL, NULL, NULL};
	int status = split_rule(text, copy, sizeof(copy), parts);

	*rule = (struct provider_shm_rule){.level = LEVEL_ALL, .keywords = UINT64_MAX};
	if (status < 0)
		return status;
	if (!*parts[0] || strlen(parts[0]) >= sizeof(rule->name))
		return common_fail(PTL_MISUSE, "expected a provider's name of 1 to %u bytes",
				   PROVIDER_SHM_PROVIDER_NAME_SIZE - 1);
	if (!strcmp(parts[0], "*")) {
		rule->match = PROVIDER_SHM_MATCH_ALL;
	} else if (strpbrk(parts[0] + 1, "*?") || parts[0][0] == '?') {
		rule->match = PROVIDER_SHM_MATCH_PATTERN;
		strcpy(rule->name, parts[0]);
	} else if (parts[0][0] == '*') {
		/* As in PerfView: the GUID derived from the name. */
		rule->match = PROVIDER_SHM_MATCH_GUID;
		status = ptl_guid_from_name(parts[0] + 1, &rule->guid);
		if (status < 0)
			return common_fail(PTL_MISUSE, "'%s' is no name that has a GUID: it is not UTF-8",
					   parts[0] + 1);
		strcpy(rule->name, parts[0]);
	} else if (common_guid_parse(parts[0], &rule->guid)) {
		rule->match = PROVIDER_SHM_MATCH_GUID;
	} else {
		rule->match = PROVIDER_SHM_MATCH_NAME;
		strcpy(rule->name, parts[0]);
	}
	if (parts[1] && *parts[1])
		status = parse_level(parts[1], &rule->level);
	if (status == 0 && parts[2] && *parts[2])
		status = parse_keywords(parts[2], &rule->keywords);
	return status;
}
