/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks and evaluates session files. Used by programs and recorders. */
#ifndef PROVIDER_SESSION_RULES_H
#define PROVIDER_SESSION_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "provider/session_layout.h"

#define PROVIDER_SHM_SESSION_SIZE_MAX                                                                                  \
	(sizeof(struct provider_shm_session) + PROVIDER_SHM_RULES_MAX * sizeof(struct provider_shm_rule))

/* A session file in memory: aligned, and large enough for any valid session file. */
struct provider_shm_session_file {
	struct provider_shm_session session;
	struct provider_shm_rule rules[PROVIDER_SHM_RULES_MAX];
};

/* Whether the first `size` bytes are a complete, valid session file of this slot. */
bool provider_shm_session_valid(const struct provider_shm_session_file *file, size_t size, unsigned slot);

/* Properties of a provider that rules match. */
struct provider_shm_identity {
	const char *name;
	const struct ptl_guid *guid;
	const struct ptl_guid *group; /* all zero: no group */
};

/* Whether the rule matches the provider. */
bool provider_shm_rule_matches(const struct provider_shm_rule *rule, const struct provider_shm_identity *provider);

/*
 * Combines all rules that match the provider. Returns false if no rule matches; level and keywords then stay unchanged.
 */
bool provider_shm_session_wants(const struct provider_shm_session_file *file,
				const struct provider_shm_identity *provider, uint8_t *level, uint64_t *keywords);

/* Turns on the slot, in mapped memory, by the protocol of docs/providers.md. Returns whether anything changed. */
bool provider_shm_turn_on(struct ptl_enabled *enabled, unsigned slot, uint64_t session, uint8_t level,
			  uint64_t keywords);

/* Turns off the slot if the slot belongs to the session. Returns whether the slot was on. */
bool provider_shm_turn_off(struct ptl_enabled *enabled, unsigned slot, uint64_t session);

#endif
