/* SPDX-License-Identifier: BSD-2-Clause */
/* Session files: whether one is well formed, and what it wants. Used by programs and recorders alike. */
#ifndef PROVIDER_SESSION_RULES_H
#define PROVIDER_SESSION_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "provider/session_layout.h"

#define PROVIDER_SHM_SESSION_SIZE_MAX                                                                                  \
	(sizeof(struct provider_shm_session) + PROVIDER_SHM_RULES_MAX * sizeof(struct provider_shm_rule))

/* A session file as read: aligned, and large enough for any that is well formed. */
struct provider_shm_session_file {
	struct provider_shm_session session;
	struct provider_shm_rule rules[PROVIDER_SHM_RULES_MAX];
};

/* Whether the first `size` bytes of the file are all of a well-formed session file of this slot. */
bool provider_shm_session_valid(const struct provider_shm_session_file *file, size_t size, unsigned slot);

/* What rules know a provider by. */
struct provider_shm_identity {
	const char *name;
	const struct ptl_guid *guid;
	const struct ptl_guid *group; /* all zero: it is in none */
};

/* Whether the rule is about this provider. */
bool provider_shm_rule_matches(const struct provider_shm_rule *rule, const struct provider_shm_identity *provider);

/*
 * What the session wants of a provider: all rules that match taken together. False: nothing; level
 * and keywords are left alone then.
 */
bool provider_shm_session_wants(const struct provider_shm_session_file *file,
				const struct provider_shm_identity *provider, uint8_t *level, uint64_t *keywords);

/*
 * Turns the slot on as docs/providers.md says, or leaves it alone where it is so already. True if
 * anything changed. For memory that is mapped.
 */
bool provider_shm_turn_on(struct ptl_enabled *enabled, unsigned slot, uint64_t session, uint8_t level,
			  uint64_t keywords);

/* Turns the slot off if it is the session's; true if it was on. */
bool provider_shm_turn_off(struct ptl_enabled *enabled, unsigned slot, uint64_t session);

#endif
