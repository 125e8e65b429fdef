/* SPDX-License-Identifier: BSD-2-Clause */
/* Reports rules of the command line that no program's provider matches. */
#include <stdio.h>

#include "common/program/message.h"
#include "common/text/guid.h"
#include "record/provider/providers_state.h"

/* Checks whether this session turned the entry on, now or earlier. */
static bool is_ours(const struct record_providers *providers, const struct record_shm_entry *entry)
{
	const struct provider_shm_session *session = &providers->session.file.session;

	return entry->enabled.slots[session->slot].session == session->id;
}

void record_providers_heed(struct record_providers *providers, struct record_shm_process *process)
{
	struct provider_shm_session_file *file = &providers->session.file;
	struct record_shm_entry entry;

	for (uint32_t n = 0; n < process->provider_count; n++) {
		const struct record_shm_provider *provider = &process->providers[n];
		const struct provider_shm_identity identity = {provider->name, &provider->guid, &provider->group};

		if (!record_shm_process_entry(process, n, &entry) || !is_ours(providers, &entry))
			continue;
		for (uint32_t i = 0; i < file->session.rule_count; i++)
			if (provider_shm_rule_matches(&file->rules[i], &identity))
				file->rules[i].answered = 1;
	}
}

void record_providers_take_answers(struct record_providers *providers, const struct record_providers *other)
{
	struct provider_shm_session_file *file = &providers->session.file;

	for (uint32_t i = 0; i < file->session.rule_count; i++)
		file->rules[i].answered |= other->session.file.rules[i].answered;
}

/* Returns the rule's name, or formats its GUID. */
static const char *rule_name_of(const struct provider_shm_rule *rule, char guid[PTL_GUID_TEXT_SIZE])
{
	common_guid_format(&rule->guid, guid);
	return rule->match == PROVIDER_SHM_MATCH_ALL ? "*" : rule->name[0] ? rule->name : guid;
}

void record_providers_say_absent(const struct record_providers *providers)
{
	const struct provider_shm_session_file *file = &providers->session.file;
	char guid[PTL_GUID_TEXT_SIZE];

	for (uint32_t i = 0; i < file->session.rule_count; i++)
		if (!file->rules[i].answered)
			common_message_note("no program has a provider '%s' so far; programs that start later are "
					    "recorded",
					    rule_name_of(&file->rules[i], guid));
}

static void warn_unanswered(const struct provider_shm_rule *rule)
{
	char guid[PTL_GUID_TEXT_SIZE];

	if (rule->match == PROVIDER_SHM_MATCH_ALL) {
		common_message_warning("nothing answered to --provider '*': no program had a provider");
		return;
	}
	common_message_warning("nothing answered to --provider '%s': no program had such a provider",
			       rule_name_of(rule, guid));
}

void record_providers_say_unanswered(struct record_providers *providers)
{
	const struct provider_shm_session_file *file = &providers->session.file;
	bool any = false;

	for (uint32_t i = 0; i < file->session.rule_count; i++) {
		if (file->rules[i].answered)
			continue;
		any = true;
		warn_unanswered(&file->rules[i]);
	}
	if (any)
		common_message_hint(providers->capture->settings->attach
					    ? "ptl-record --list-providers shows the programs that have providers: "
					      "to root those of all users, to others their own"
					    : "--attach-providers records all programs of this user, not only COMMAND "
					      "and its descendants; --list-providers shows which have providers");
}
