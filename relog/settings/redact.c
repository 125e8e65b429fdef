/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses rules of redaction. */
#include "relog/settings/redact.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "common/error.h"
#include "common/file.h"
#include "common/program/message.h"
#include "common/text/rule_lines.h"
#include "common/text/text.h"
#include "common/vector.h"

#define RULES_MAX 4096u
#define KEY_MIN 16u
#define NAMED_MAX 5u /* maximum rules that a warning names */
#define KEY_RANDOM 32u

/* A list of rules, and the prefix of its rules. */
struct list {
	const char *prefix;
	size_t offset; /* offset of the struct relog_texts */
};

static const struct list lists[] = {
	{"path:", offsetof(struct relog_redact_rules, path_globs)},
	{"keep:", offsetof(struct relog_redact_rules, keep_globs)},
	{"text:", offsetof(struct relog_redact_rules, literals)},
	{"field:", offsetof(struct relog_redact_rules, fields)},
	{"regex:", offsetof(struct relog_redact_rules, regexes)},
};

#define LISTS (sizeof(lists) / sizeof(lists[0]))

static struct relog_texts *texts_of(struct relog_redact_rules *rules, const struct list *list)
{
	return (struct relog_texts *)((char *)rules + list->offset);
}

static const struct relog_texts *texts_at(const struct relog_redact_rules *rules, const struct list *list)
{
	return (const struct relog_texts *)((const char *)rules + list->offset);
}

static int add_text(struct relog_texts *texts, const char *text)
{
	char *copy;

	if (!*text)
		return common_fail(PTL_MISUSE, "a rule needs something behind its colon");
	if (texts->count == RULES_MAX)
		return common_fail(PTL_MISUSE, "expected at most %u rules of a kind", RULES_MAX);
	copy = strdup(text);
	if (!copy || !common_vector_room(&texts->list, texts->count, sizeof(*texts->list))) {
		free(copy);
		return common_fail_memory("rules", strlen(text));
	}
	texts->list[texts->count++] = (struct relog_redact_text){copy, false};
	return 0;
}

static int add_pattern(struct relog_redact_rules *rules)
{
	const size_t last = rules->regexes.count - 1;
	const char *text = rules->regexes.list[last].text;
	int status = common_vector_room(&rules->patterns, last, sizeof(*rules->patterns))
			     ? 0
			     : common_fail_memory("rules", (last + 1) * sizeof(*rules->patterns));

	if (!status)
		status = relog_pattern_compile(&rules->patterns[last], text);
	if (status) {
		free(rules->regexes.list[last].text);
		rules->regexes.count--;
		return status;
	}
	/* A pattern that matches the empty text would match everywhere. */
	if (relog_pattern_is_empty(&rules->patterns[last]))
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
	bool known = false;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(text, words[i].word) == 0 || strcmp(text, "all") == 0)
			*words[i].set = known = true;
	if (known)
		return 0;
	for (size_t i = 0; i < LISTS; i++) {
		struct relog_texts *texts = texts_of(rules, &lists[i]);
		int status;

		if (strncmp(text, lists[i].prefix, strlen(lists[i].prefix)) != 0)
			continue;
		status = add_text(texts, text + strlen(lists[i].prefix));
		return !status && texts == &rules->regexes ? add_pattern(rules) : status;
	}
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
	/* A "#" behind a rule begins no comment: a text to redact may contain a "#". */
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
	       rules->path_globs.count || rules->literals.count || rules->fields.count || rules->regexes.count;
}

bool relog_redact_streams(const struct relog_redact_rules *rules)
{
	return !rules->paths && !rules->users && !rules->threads && !rules->path_globs.count;
}

void relog_redact_warn(const struct relog_redact_rules *rules)
{
	struct ptl_bytes names = {0};
	size_t unmet = 0, all = 0;

	for (size_t i = 0; i < LISTS; i++) {
		const struct relog_texts *texts = texts_at(rules, &lists[i]);

		all += texts->count;
		for (size_t j = 0; j < texts->count; j++) {
			if (texts->list[j].matched || unmet++ >= NAMED_MAX)
				continue;
			common_text_format(&names, "%s'%s%s'", names.size ? ", " : "", lists[i].prefix,
					   texts->list[j].text);
		}
	}
	if (unmet) {
		common_message_warning("%zu of %zu rules of redaction matched nothing: %s%s", unmet, all,
				       common_text_string(&names), unmet > NAMED_MAX ? ", ..." : "");
		common_message_hint(
			"where one should have, look for a slip in it: what it was to remove is still there");
	}
	common_bytes_free(&names);
}

static void free_texts(struct relog_texts *texts)
{
	for (size_t i = 0; i < texts->count; i++)
		free(texts->list[i].text);
	free(texts->list);
}

void relog_redact_rules_free(struct relog_redact_rules *rules)
{
	for (size_t i = 0; i < rules->regexes.count; i++)
		relog_pattern_free(&rules->patterns[i]);
	free(rules->patterns);
	for (size_t i = 0; i < LISTS; i++)
		free_texts(texts_of(rules, &lists[i]));
	if (rules->key)
		explicit_bzero(rules->key, rules->key_size);
	free(rules->key);
	*rules = (struct relog_redact_rules){.paths = false};
}
