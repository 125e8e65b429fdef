/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks session files, matches rules, and writes the words that turn providers on and off. */
#include "provider/session_rules.h"

#include <string.h>
#include <strings.h>

#include <ptl/trace.h>

static bool rule_valid(const struct provider_shm_rule *rule)
{
	return rule->match <= PROVIDER_SHM_MATCH_PATTERN && memchr(rule->name, 0, sizeof(rule->name));
}

bool provider_shm_session_valid(const struct provider_shm_session_file *file, size_t size, unsigned slot)
{
	const struct provider_shm_session *session = &file->session;

	if (size < sizeof(*session) || session->magic != PROVIDER_SHM_SESSION_MAGIC ||
	    session->version != PROVIDER_SHM_VERSION || session->slot != slot || !session->id ||
	    session->clock != PTL_CLOCK_MONOTONIC || session->rule_count > PROVIDER_SHM_RULES_MAX ||
	    size != sizeof(*session) + session->rule_count * sizeof(struct provider_shm_rule) ||
	    session->size != size || session->ring_size < PROVIDER_SHM_RING_MIN ||
	    session->ring_size > PROVIDER_SHM_RING_MAX || (session->ring_size & (session->ring_size - 1)) ||
	    !memchr(session->name, 0, sizeof(session->name)))
		return false;
	for (uint32_t i = 0; i < session->rule_count; i++) {
		if (!rule_valid(&file->rules[i]))
			return false;
	}
	return true;
}

/* strcasecmp and fnmatch depend on the locale, and are unsafe in signal handlers. */
static char upper(char c)
{
	return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

static bool same_name(const char *a, const char *b)
{
	for (; upper(*a) == upper(*b); a++, b++)
		if (!*a)
			return true;
	return false;
}

/* Matches without recursion: after a mismatch, extends the text of the last * by a byte. */
static bool matches_pattern(const char *pattern, const char *name)
{
	const char *star = NULL, *from = NULL;

	while (*name) {
		if (*pattern == '*') {
			star = ++pattern;
			from = name;
		} else if (*pattern && (*pattern == '?' || upper(*pattern) == upper(*name))) {
			pattern++;
			name++;
		} else if (star) {
			pattern = star;
			name = ++from;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

static bool same_guid(const struct ptl_guid *a, const struct ptl_guid *b)
{
	return !memcmp(a->bytes, b->bytes, sizeof(a->bytes));
}

/* A rule for the zero GUID does not match providers without a group. */
static bool is_in_group(const struct provider_shm_identity *provider, const struct ptl_guid *group)
{
	static const struct ptl_guid none;

	return !same_guid(group, &none) && same_guid(group, provider->group);
}

bool provider_shm_rule_matches(const struct provider_shm_rule *rule, const struct provider_shm_identity *provider)
{
	switch (rule->match) {
	case PROVIDER_SHM_MATCH_ALL:
		return true;
	case PROVIDER_SHM_MATCH_NAME:
		return same_name(rule->name, provider->name);
	case PROVIDER_SHM_MATCH_PATTERN:
		return matches_pattern(rule->name, provider->name);
	default:
		return same_guid(&rule->guid, provider->guid) || is_in_group(provider, &rule->guid);
	}
}

bool provider_shm_session_wants(const struct provider_shm_session_file *file,
				const struct provider_shm_identity *provider, uint8_t *level, uint64_t *keywords)
{
	bool wanted = false;
	uint8_t most = 0;
	uint64_t any = 0;

	for (uint32_t i = 0; i < file->session.rule_count; i++) {
		const struct provider_shm_rule *rule = &file->rules[i];

		if (!provider_shm_rule_matches(rule, provider))
			continue;
		wanted = true;
		most = rule->level > most ? rule->level : most;
		any |= rule->keywords;
	}
	if (wanted) {
		*level = most;
		*keywords = any;
	}
	return wanted;
}

bool provider_shm_turn_on(struct ptl_enabled *enabled, unsigned slot, uint64_t session, uint8_t level,
			  uint64_t keywords)
{
	struct ptl_enabled_session *words = &enabled->slots[slot];
	uint32_t bit = 1u << slot;

	if ((__atomic_load_n(&enabled->sessions, __ATOMIC_SEQ_CST) & bit) &&
	    __atomic_load_n(&words->session, __ATOMIC_RELAXED) == session &&
	    __atomic_load_n(&words->level, __ATOMIC_RELAXED) == level &&
	    __atomic_load_n(&words->keywords, __ATOMIC_RELAXED) == keywords)
		return false;
	__atomic_and_fetch(&enabled->sessions, ~bit, __ATOMIC_SEQ_CST);
	__atomic_store_n(&words->level, level, __ATOMIC_RELAXED);
	__atomic_store_n(&words->keywords, keywords, __ATOMIC_RELAXED);
	__atomic_store_n(&words->session, session, __ATOMIC_RELEASE);
	__atomic_or_fetch(&enabled->sessions, bit, __ATOMIC_SEQ_CST);
	return true;
}

bool provider_shm_turn_off(struct ptl_enabled *enabled, unsigned slot, uint64_t session)
{
	uint32_t bit = 1u << slot;

	if (__atomic_load_n(&enabled->slots[slot].session, __ATOMIC_ACQUIRE) != session)
		return false;
	return (__atomic_fetch_and(&enabled->sessions, ~bit, __ATOMIC_SEQ_CST) & bit) != 0;
}
