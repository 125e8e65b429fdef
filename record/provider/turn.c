/* SPDX-License-Identifier: BSD-2-Clause */
/* Changes the rules of a session during the recording. */
#include <string.h>

#include "common/error.h"
#include "record/capture/machine.h"
#include "record/provider/providers_state.h"

/* Checks whether both rules match the same providers. */
static bool is_same_rule(const struct provider_shm_rule *a, const struct provider_shm_rule *b)
{
	return a->match == b->match && memcmp(&a->guid, &b->guid, sizeof(a->guid)) == 0 && !strcmp(a->name, b->name);
}

/* Returns the index of the rule; the number of rules if absent. */
static uint32_t find_rule(const struct provider_shm_session_file *file, const struct provider_shm_rule *rule)
{
	uint32_t i = 0;

	while (i < file->session.rule_count && !is_same_rule(&file->rules[i], rule))
		i++;
	return i;
}

static int change(struct provider_shm_session_file *file, const struct provider_shm_rule *rule, const char *text,
		  bool on)
{
	const uint32_t i = find_rule(file, rule);

	if (!on && i == file->session.rule_count)
		return common_fail(PTL_NOT_FOUND, "'%s' is not turned on; query shows what is", text);
	if (on && i == PROVIDER_SHM_RULES_MAX)
		return common_fail(PTL_MISUSE, "at most %u providers can be turned on", PROVIDER_SHM_RULES_MAX);
	if (on) {
		file->rules[i] = *rule;
		file->session.rule_count += i == file->session.rule_count;
		return 0;
	}
	file->session.rule_count--;
	memmove(&file->rules[i], &file->rules[i + 1], (file->session.rule_count - i) * sizeof(file->rules[0]));
	return 0;
}

/* Turns providers at once, before the next regular walk through the entries. */
static void turn_writers(struct record_providers *providers)
{
	const uint64_t now = record_now();

	for (size_t i = 0; i < providers->count; i++) {
		struct record_writer *writer = providers->writers[i];

		writer->turned = writer->known = 0;
		if (writer->dead)
			continue;
		record_writer_turn(providers, writer, now);
		/* The rule also counts as answered if another rule has turned the provider on before. */
		record_providers_heed(providers, &writer->shm);
	}
}

uint32_t record_providers_find(const struct record_providers *providers, const struct provider_shm_rule *rule)
{
	return find_rule(&providers->session.file, rule);
}

int record_providers_change(struct record_providers *providers, const struct provider_shm_rule *rule, const char *text,
			    bool on)
{
	struct provider_shm_session_file *file = &providers->session.file;
	const struct provider_shm_session_file before = *file;
	int status = 0;

	if (!providers->everyone)
		status = common_fail(PTL_MISUSE,
				     "this session is of a command alone, which has its rules from its start; "
				     "with --attach-providers they can be changed");
	if (status == 0)
		status = change(file, rule, text, on);
	if (status == 0)
		status = record_provider_session_replace(providers->folder, &providers->session);
	if (status < 0) {
		*file = before;
		return status;
	}
	turn_writers(providers);
	return 0;
}
