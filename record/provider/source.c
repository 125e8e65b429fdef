/* SPDX-License-Identifier: BSD-2-Clause */
/* The source of programs' events, beside the main source. */
#include "record/provider/source.h"

#include "common/text/guid.h"
#include "record/provider/rules.h"
#include "record/provider/users.h"
#include "record/session/answer.h"
#include "record/session/session.h"

#define MILLISECOND 1000000u

static int provider_open(struct record_session *session, void **state)
{
	struct record_users *users;
	int status = record_users_open(&session->capture, session->observer, &users);

	if (status < 0)
		return status;
	if (record_users_watch(users) >= 0)
		status = record_wait_descriptor(&session->wait, record_users_watch(users));
	if (status < 0)
		record_users_close(users);
	else
		*state = users;
	return status;
}

static int provider_drain(void *state, uint64_t now, bool *work)
{
	/* `provider_due` decides the time to sleep. */
	(void)work;
	return record_users_step(state, now);
}

static uint64_t provider_due(void *state, uint64_t now)
{
	return now + (uint64_t)record_users_timeout(state) * MILLISECOND;
}

static int turn(void *state, const char *rule, bool on, FILE *notes)
{
	return record_users_turn(state, rule, on, notes);
}

static void provider_answer(void *state, struct record_answer *answer)
{
	const struct provider_shm_rule *rule;
	char text[PROVIDER_SHM_PROVIDER_NAME_SIZE + 80], guid[PTL_GUID_TEXT_SIZE];

	record_answer_list(answer, "Providers", "providers");
	for (size_t i = 0; (rule = record_users_rule(state, i)); i++) {
		common_guid_format(&rule->guid, guid);
		snprintf(text, sizeof(text), "%s:%u:0x%llx",
			 rule->match == PROVIDER_SHM_MATCH_ALL ? "*"
			 : rule->name[0]                       ? rule->name
							       : guid,
			 rule->level, (unsigned long long)rule->keywords);
		record_answer_item(answer, text);
	}
	record_answer_list_end(answer);
}

static int provider_finish(void *state, bool alone)
{
	(void)alone;
	return record_users_finish(state);
}

static void provider_close(void *state)
{
	record_users_close(state);
}

const struct record_source record_provider_source = {
	.name = "providers",
	.summary = "events that programs write",
	.open = provider_open,
	.drain = provider_drain,
	.due = provider_due,
	.turn = turn,
	.answer = provider_answer,
	.finish = provider_finish,
	.close = provider_close,
};
