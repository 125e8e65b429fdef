/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads rules of redaction. */
#include "relog/settings/redact.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "common/error.h"
#include "common/file.h"
#include "common/rule_lines.h"
#include "common/vector.h"

#define RULES_MAX 4096u
#define KEY_MIN 16u
#define KEY_RANDOM 32u

static int add_text(struct relog_texts *texts, const char *text)
{
	char *copy;

	if (!*text)
		return common_fail(PTL_MISUSE, "a rule needs something behind its colon");
	if (texts->count == RULES_MAX)
		return common_fail(PTL_MISUSE, "expected at most %u rules of a kind", RULES_MAX);
	copy = strdup(text);
	if (!copy || !common_vector_room(&texts->texts, texts->count, sizeof(*texts->texts))) {
		free(copy);
		return common_fail_memory("rules", strlen(text));
	}
	texts->texts[texts->count++] = copy;
	return 0;
}

static int add_pattern(struct relog_redact_rules *rules, const char *text)
{
	int status;

	if (!*text || rules->pattern_count == RULES_MAX)
		return common_fail(PTL_MISUSE,
				   *text ? "expected at most %u rules of a kind"
					 : "a rule needs something behind its colon",
				   RULES_MAX);
	if (!common_vector_room(&rules->patterns, rules->pattern_count, sizeof(*rules->patterns)))
		return common_fail_memory("rules", (rules->pattern_count + 1) * sizeof(*rules->patterns));
	status = relog_pattern_compile(&rules->patterns[rules->pattern_count], text);
	if (status)
		return status;
	rules->pattern_count++;
	/* What matches nothing would be found everywhere. */
	if (relog_pattern_is_empty(&rules->patterns[rules->pattern_count - 1]))
		return common_fail(PTL_MISUSE, "'%s' matches the empty string; + instead of * asks for one at least",
				   text);
	return 0;
}

int relog_redact_rule(struct relog_redact_rules *rules, const char *text)
{
	const struct {
		const char *word;
		bool *set;
	} words[] = {
		{"paths", &rules->paths},       {"users", &rules->users},     {"host", &rules->host},
		{"commands", &rules->commands}, {"threads", &rules->threads},
	};
	const struct {
		const char *prefix;
		struct relog_texts *texts;
	} lists[] = {
		{"path:", &rules->path_globs},
		{"keep:", &rules->keep_globs},
		{"text:", &rules->literals},
		{"field:", &rules->fields},
	};
	bool known = false;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(text, words[i].word) == 0 || strcmp(text, "all") == 0)
			*words[i].set = known = true;
	if (known)
		return 0;
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		if (strncmp(text, lists[i].prefix, strlen(lists[i].prefix)) == 0)
			return add_text(lists[i].texts, text + strlen(lists[i].prefix));
	if (strncmp(text, "regex:", 6) == 0)
		return add_pattern(rules, text + 6);
	return common_fail(PTL_MISUSE,
			   "expected paths, users, host, commands, threads, all, path:GLOB, keep:GLOB, text:STRING, "
			   "regex:ERE or field:GLOB, found '%s'",
			   text);
}

static int visit_rule(void *rules, const char *rule, size_t size)
{
	char *text = strndup(rule, size);
	const int status = text ? relog_redact_rule(rules, text) : common_fail_memory("rules", size);

	free(text);
	return status;
}

int relog_redact_file(struct relog_redact_rules *rules, const char *path)
{
	/* What is to be removed may have a "#". */
	return common_rule_file(path, false, visit_rule, rules);
}

int relog_redact_key(struct relog_redact_rules *rules, const char *path)
{
	int status;

	free(rules->key);
	rules->key = NULL;
	status = common_read_file(path, RELOG_REDACT_KEY_MAX, &rules->key, &rules->key_size);
	if (status)
		return status;
	if (rules->key_size < KEY_MIN)
		return common_fail(PTL_MISUSE, "%s: a key has at least %u bytes", path, KEY_MIN);
	return 0;
}

int relog_redact_choose_key(struct relog_redact_rules *rules)
{
	if (rules->key)
		return 0;
	rules->key = malloc(KEY_RANDOM);
	if (!rules->key)
		return common_fail_memory("a key", KEY_RANDOM);
	rules->key_size = KEY_RANDOM;
	if (getrandom(rules->key, KEY_RANDOM, 0) != (ssize_t)KEY_RANDOM)
		return common_fail_errno("no random bytes for a key");
	return 0;
}

bool relog_redact_wanted(const struct relog_redact_rules *rules)
{
	return rules->paths || rules->users || rules->host || rules->commands || rules->threads ||
	       rules->path_globs.count || rules->literals.count || rules->fields.count || rules->pattern_count;
}

static void free_texts(struct relog_texts *texts)
{
	for (size_t i = 0; i < texts->count; i++)
		free(texts->texts[i]);
	free(texts->texts);
}

void relog_redact_rules_free(struct relog_redact_rules *rules)
{
	free_texts(&rules->path_globs);
	free_texts(&rules->keep_globs);
	free_texts(&rules->literals);
	free_texts(&rules->fields);
	for (size_t i = 0; i < rules->pattern_count; i++)
		relog_pattern_free(&rules->patterns[i]);
	free(rules->patterns);
	if (rules->key)
		explicit_bzero(rules->key, rules->key_size);
	free(rules->key);
	*rules = (struct relog_redact_rules){.paths = false};
}
