/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For programs that write typed events of their own: libptl-provider(3).
 *
 * A provider is a named source of events. Nothing is recorded until a recorder (ptl-record --provider)
 * turns it on; the program neither knows nor waits for one. An event that nobody wants costs a load
 * and a branch; one that is wanted is copied into shared memory, without a lock or a system call.
 *
 * C11 and C++17. Nothing but libc is needed.
 */
#ifndef PTL_PROVIDER_H
#define PTL_PROVIDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <ptl/event.h>
#include <ptl/guid.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Levels, as ETW has them. A session that asks for a level gets it and all lower ones. */
enum ptl_level {
	PTL_LEVEL_ALWAYS = 0, /* whatever level a session asked for */
	PTL_LEVEL_CRITICAL = 1,
	PTL_LEVEL_ERROR = 2,
	PTL_LEVEL_WARNING = 3,
	PTL_LEVEL_INFORMATIONAL = 4,
	PTL_LEVEL_VERBOSE = 5,
};

#define PTL_SESSIONS_MAX 32

/*
 * Which sessions have turned a provider on. Recorders write it, in memory that they share with the
 * program; it is here because the question "is it on?" is answered in the caller. Read it with the
 * functions below only.
 */
struct ptl_enabled_session {
	uint64_t session;  /* its id */
	uint64_t keywords; /* any of these */
	uint8_t level;     /* this level and lower ones */
	uint8_t reserved[7];
	uint64_t lost; /* events for which there was no ring to be dropped from */
};

struct ptl_enabled {
	uint32_t sessions; /* bit n: session slot n has turned the provider on */
	uint32_t capture;  /* bit n: session slot n asks for a capture of state */
	uint8_t reserved[56];
	struct ptl_enabled_session slots[PTL_SESSIONS_MAX];
};

extern struct ptl_enabled ptl_nothing_enabled;

/* ---- providers ---- */

enum ptl_control {
	PTL_CONTROL_ENABLE = 1,  /* sessions want something now, or something else than before */
	PTL_CONTROL_DISABLE = 2, /* no session wants anything any more */
	PTL_CONTROL_CAPTURE = 3, /* write events that give the present state */
};

struct ptl_provider;

/*
 * Called with what sessions want. Level and keywords are those of all sessions together. It is called by the
 * thread that registers (while ptl_provider_register runs) or by a thread of the library, one call at
 * a time; never from the functions that write events. It may write events and unregister the provider.
 */
typedef void ptl_control_callback(struct ptl_provider *provider, enum ptl_control control, uint8_t level,
				  uint64_t keywords, void *context);

/* A provider is a variable with static storage. Make it with PTL_PROVIDER, PTL_PROVIDER_WITH_GUID. */
struct ptl_provider {
	const char *name;
	struct ptl_guid guid;           /* all zero: derived from the name by ptl_provider_register */
	ptl_control_callback *callback; /* may be set before registering; NULL: none */
	void *context;
	/* The library's own. */
	struct ptl_enabled *enabled;
	uint32_t number;
	uint32_t registered;
};

/*
 * PTL_PROVIDER defines a provider, PTL_PROVIDER_DECLARE declares it in other files of the same program or shared
 * object. Other modules may have one of the same name or even the same variable: it is another registration.
 */
#define PTL_PROVIDER(variable, name) PTL_PROVIDER_WITH_GUID(variable, name, {{0}})
#define PTL_PROVIDER_WITH_GUID(variable, name, ...)                                                                    \
	PTL_PROVIDER_DECLARE(variable);                                                                                \
	struct ptl_provider variable = {name, __VA_ARGS__, NULL, NULL, &ptl_nothing_enabled, 0, 0}
#define PTL_PROVIDER_DECLARE(variable) extern __attribute__((visibility("hidden"))) struct ptl_provider variable

/* ---- events ---- */

/* ptl_event_definition.activity, for events whose opcode is START or STOP; see "activities" below. */
#define PTL_ACTIVITY_DISABLE 1u    /* an event like any other */
#define PTL_ACTIVITY_RECURSIVE 2u  /* may start again within itself */
#define PTL_ACTIVITY_DETACHABLE 4u /* goes on when the activity it was started in stops */

/* What an event is. All of it outlives the registration of its provider. */
struct ptl_event_definition {
	struct ptl_provider *provider;
	uint16_t id;
	uint8_t version;
	uint8_t channel;
	uint8_t level;  /* enum ptl_level */
	uint8_t opcode; /* enum ptl_event_opcode or one's own */
	uint16_t task;
	uint64_t keyword;
	uint32_t tags;
	uint32_t activity; /* PTL_ACTIVITY_* */
	const char *name;
	const char *task_name;   /* or NULL */
	const char *opcode_name; /* or NULL: that of enum ptl_event_opcode */
	const char *message;     /* "{0} came from {1}"; or NULL */
	const struct ptl_field *fields;
	size_t field_count;
};

/* A value map, or names of keywords, tasks and so on: ptl_map.provider is filled in by the library. */
struct ptl_map_definition {
	struct ptl_provider *provider;
	struct ptl_map map;
};

/* A part of a payload; parts follow each other without alignment. */
struct ptl_piece {
	const void *data;
	size_t size;
};

/* What an event has by default may be given; NULL: the default. Members beyond `size` are NULL. */
struct ptl_emit_options {
	size_t size;                     /* sizeof(struct ptl_emit_options) */
	const uint64_t *time;            /* CLOCK_MONOTONIC, ns; default: now */
	const struct ptl_guid *activity; /* default: the thread's current one, if there is one */
	const struct ptl_guid *related;  /* default: none */
};

/*
 * Slots of sessions that want an event of this level and keyword, out of those in `sessions`. For
 * the functions below.
 */
static inline uint32_t ptl_sessions_that_want(const struct ptl_enabled *enabled, uint32_t sessions, uint8_t level,
					      uint64_t keyword)
{
	uint32_t wanted = 0;

	for (; sessions; sessions &= sessions - 1) {
		unsigned slot = (unsigned)__builtin_ctz(sessions);
		const struct ptl_enabled_session *session = &enabled->slots[slot];
		uint64_t keywords = __atomic_load_n(&session->keywords, __ATOMIC_RELAXED);

		if ((level == 0 || level <= __atomic_load_n(&session->level, __ATOMIC_RELAXED)) &&
		    (keyword == 0 || (keyword & keywords) != 0))
			wanted |= 1u << slot;
	}
	return wanted;
}

/* Whether any session wants events of this level and keyword (0: whatever the keyword). */
static inline bool ptl_provider_enabled(const struct ptl_provider *provider, uint8_t level, uint64_t keyword)
{
	const struct ptl_enabled *enabled = __atomic_load_n(&provider->enabled, __ATOMIC_RELAXED);
	uint32_t sessions = __atomic_load_n(&enabled->sessions, __ATOMIC_ACQUIRE);

	return __builtin_expect(sessions != 0, 0) && ptl_sessions_that_want(enabled, sessions, level, keyword) != 0;
}

/* The same for one event. Writing asks by itself; ask first where preparing the fields costs. */
static inline bool ptl_event_enabled(const struct ptl_event_definition *event)
{
	return ptl_provider_enabled(event->provider, event->level, event->keyword);
}

/*
 * Writes an event to each session that wants it; the pieces together are its payload, which has to be
 * as the definition's fields say. Takes no lock, does not allocate, makes no system call but at a
 * thread's first event for a session, and never waits; safe in signal handlers. errno is kept.
 * What does not fit is dropped and counted.
 */
void ptl_emit(const struct ptl_event_definition *event, const struct ptl_piece *pieces, size_t count);
void ptl_emit_with(const struct ptl_event_definition *event, const struct ptl_emit_options *options,
		   const struct ptl_piece *pieces, size_t count);

/*
 * Registers a provider with the events and maps given as arrays of pointers; those of other providers
 * in them are passed over. From the return on its events are recorded by the sessions that want them. More than one call for a
 * registered provider is PTL_MISUSE, as are a name that is empty, no UTF-8, or longer than 255 bytes, and
 * a definition with fields that contradict each other, or another definition of an event (the same id, version
 * and opcode of the same GUID) than this program has given before. PTL_NO_MEMORY where a limit is reached, and
 * PTL_SYSTEM with errno where the session folder cannot be used. After a failure the provider can be
 * used all the same: nothing is enabled.
 * Not in signal handlers; may be called in several threads.
 */
int ptl_provider_register_arrays(struct ptl_provider *provider, const struct ptl_event_definition *const *events,
				 const struct ptl_event_definition *const *events_end,
				 const struct ptl_map_definition *const *maps,
				 const struct ptl_map_definition *const *maps_end);

/*
 * Makes the provider a member of a group until it is unregistered: who turns on the group's GUID turns on all of its members, as
 * with the groups of ETW. Before it is registered: afterwards it is PTL_MISUSE. All zero: no group. PTL_NO_MEMORY.
 */
int ptl_provider_set_group(struct ptl_provider *provider, const struct ptl_guid *group);

/*
 * Adds the definition of an event to a registered provider, at run time. Errors as above; PTL_MISUSE
 * where the provider is not registered.
 */
int ptl_provider_add_event(const struct ptl_event_definition *event);
int ptl_provider_add_map(const struct ptl_map_definition *map);

/*
 * Nothing is enabled afterwards. Events already written stay. Required before the provider or the
 * definitions go away (dlclose); no other thread may be writing its events then. Returns when no callback
 * runs any more, unless called from the callback. Nothing happens to one that is not registered.
 */
void ptl_provider_unregister(struct ptl_provider *provider);

/* The GUID that .NET's EventSource gives to this name (UTF-8): see libptl-provider(3). PTL_MISUSE: no UTF-8. */
int ptl_guid_from_name(const char *name, struct ptl_guid *guid);

/* ---- activities ---- */

/*
 * Each thread has a current activity, which its events carry. An event with opcode START begins a new
 * one, within the current one: it carries the new id, and the old one as the related id. The event with opcode
 * STOP of the same task (where there is none: the same name, but for "Start" and "Stop" at its end) carries
 * the id and ends it, and those started within it that are not detachable. Starting one that
 * is under way, and not recursive, ends that one first. Only events that a session wants do this.
 */

/* The calling thread's activity into *activity; false, and zeros: none. */
bool ptl_activity_current(struct ptl_guid *activity);
/*
 * Makes this one current (NULL or zeros: none) and forgets those that the thread had started: for work that moves
 * from thread to thread. The one before is put into *previous (may be NULL).
 */
void ptl_activity_set(const struct ptl_guid *activity, struct ptl_guid *previous);
/* A new id, unlike any other. Safe in signal handlers. */
void ptl_activity_create(struct ptl_guid *activity);

#ifdef __cplusplus
}
#endif

#include <ptl/provider_macros.h>

#endif
