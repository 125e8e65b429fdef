/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For programs that write typed events: libptl-provider(3).
 *
 * A provider is a named source of events. No event is recorded until a recorder (ptl-record --provider) turns the
 * provider on. The program neither knows nor waits for recorders. An event that no session wants costs a load and a
 * branch. An event that a session wants is copied to shared memory, without a lock or a system call.
 *
 * C11 and C++17. Needs libc only.
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

/* Levels as in ETW. A session that asks for a level gets events of this level and all lower levels. */
enum ptl_level {
	PTL_LEVEL_ALWAYS = 0, /* recorded at any level of a session */
	PTL_LEVEL_CRITICAL = 1,
	PTL_LEVEL_ERROR = 2,
	PTL_LEVEL_WARNING = 3,
	PTL_LEVEL_INFORMATIONAL = 4,
	PTL_LEVEL_VERBOSE = 5,
};

#define PTL_SESSIONS_MAX 32

/*
 * The sessions that have turned a provider on. Recorders write this structure, in memory shared with the program. The
 * structure is public only because callers check inline whether an event is wanted. Use the functions below to read it.
 */
struct ptl_enabled_session {
	uint64_t session;  /* id of the session */
	uint64_t keywords; /* an event needs one of these keywords */
	uint8_t level;     /* maximum level of events */
	uint8_t reserved[7];
	uint64_t lost; /* events dropped because the thread had no ring */
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
	PTL_CONTROL_ENABLE = 1,  /* a session wants events now, or the wanted events have changed */
	PTL_CONTROL_DISABLE = 2, /* no session wants events any more */
	PTL_CONTROL_CAPTURE = 3, /* write events that describe the current state */
};

struct ptl_provider;

/*
 * Tells a program which events sessions want. level and keywords combine all sessions. The library calls the callback
 * from the registering thread (during ptl_provider_register) or from a thread of its own, one call at a time; never
 * from functions that write events. The callback may write events and unregister the provider.
 */
typedef void ptl_control_callback(struct ptl_provider *provider, enum ptl_control control, uint8_t level,
				  uint64_t keywords, void *context);

/* A provider: a variable with static storage. Define one with PTL_PROVIDER or PTL_PROVIDER_WITH_GUID. */
struct ptl_provider {
	const char *name;
	struct ptl_guid guid;           /* all zero: ptl_provider_register derives the GUID from the name */
	ptl_control_callback *callback; /* set before registering; NULL: no callback */
	void *context;
	/* Private to the library. */
	struct ptl_enabled *enabled;
	uint32_t number;
	uint32_t registered;
};

/*
 * PTL_PROVIDER defines a provider. PTL_PROVIDER_DECLARE declares it in other files of the same program or shared
 * object. Another module may define a provider with the same name, or even the same variable: both are registered
 * separately.
 */
#define PTL_PROVIDER(variable, name) PTL_PROVIDER_WITH_GUID(variable, name, {{0}})
#define PTL_PROVIDER_WITH_GUID(variable, name, ...)                                                                    \
	PTL_PROVIDER_DECLARE(variable);                                                                                \
	struct ptl_provider variable = {name, __VA_ARGS__, NULL, NULL, &ptl_nothing_enabled, 0, 0}
#define PTL_PROVIDER_DECLARE(variable) extern __attribute__((visibility("hidden"))) struct ptl_provider variable

/* ---- events ---- */

/* ptl_event_definition.activity, for events with opcode START or STOP; see "activities" below. */
#define PTL_ACTIVITY_DISABLE 1u    /* an event without effect on activities */
#define PTL_ACTIVITY_RECURSIVE 2u  /* may start again within itself */
#define PTL_ACTIVITY_DETACHABLE 4u /* outlives the activity in which it was started */

/* Definition of an event. All members must outlive the registration of the provider. */
struct ptl_event_definition {
	struct ptl_provider *provider;
	uint16_t id;
	uint8_t version;
	uint8_t channel;
	uint8_t level;  /* enum ptl_level */
	uint8_t opcode; /* enum ptl_event_opcode, or a custom opcode */
	uint16_t task;
	uint64_t keyword;
	uint32_t tags;
	uint32_t activity; /* PTL_ACTIVITY_* */
	const char *name;
	const char *task_name;   /* or NULL */
	const char *opcode_name; /* or NULL: name of enum ptl_event_opcode */
	const char *message;     /* "{0} came from {1}"; or NULL */
	const struct ptl_field *fields;
	size_t field_count;
};

/* A value map, or names of keywords, tasks and so on. The library fills in ptl_map.provider. */
struct ptl_map_definition {
	struct ptl_provider *provider;
	struct ptl_map map;
};

/* A piece of a payload; pieces follow each other without alignment. */
struct ptl_piece {
	const void *data;
	size_t size;
};

/* Overrides defaults of an event. A NULL member means the default. Members beyond `size` are NULL. */
struct ptl_emit_options {
	size_t size;                     /* sizeof(struct ptl_emit_options) */
	const uint64_t *time;            /* CLOCK_MONOTONIC, ns; default: now */
	const struct ptl_guid *activity; /* default: current activity of the thread, if any */
	const struct ptl_guid *related;  /* default: none */
};

/* Returns the slots in `sessions` whose session wants an event of this level and keyword. For the functions below. */
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

/* Whether any session wants events of this level and keyword (0: any keyword). */
static inline bool ptl_provider_enabled(const struct ptl_provider *provider, uint8_t level, uint64_t keyword)
{
	const struct ptl_enabled *enabled = __atomic_load_n(&provider->enabled, __ATOMIC_RELAXED);
	uint32_t sessions = __atomic_load_n(&enabled->sessions, __ATOMIC_ACQUIRE);

	return __builtin_expect(sessions != 0, 0) && ptl_sessions_that_want(enabled, sessions, level, keyword) != 0;
}

/*
 * Whether any session wants the event. Writing an event checks this, too; call this function if computing the fields is
 * expensive.
 */
static inline bool ptl_event_enabled(const struct ptl_event_definition *event)
{
	return ptl_provider_enabled(event->provider, event->level, event->keyword);
}

/*
 * Writes an event to each session that wants the event. The pieces form the payload, which must match the fields of the
 * definition. Takes no lock and never waits. Does not allocate; makes a system call only at a thread's first event for
 * a session. Safe in signal handlers. Keeps errno. Drops and counts an event that does not fit.
 */
void ptl_emit(const struct ptl_event_definition *event, const struct ptl_piece *pieces, size_t count);
void ptl_emit_with(const struct ptl_event_definition *event, const struct ptl_emit_options *options,
		   const struct ptl_piece *pieces, size_t count);

/*
 * Registers a provider with events and maps, given as arrays of pointers. Skips elements of other providers. After the
 * call, sessions record the events that they want.
 *
 * Returns PTL_MISUSE
 * - if the provider is registered already,
 * - if its name is empty, not UTF-8, or longer than 255 bytes,
 * - if fields of a definition contradict each other,
 * - if this program has defined the same event (id, version and opcode of the same GUID) differently before.
 * Returns PTL_NO_MEMORY if a limit is reached; PTL_SYSTEM with errno if the session folder cannot be used.
 *
 * After a failure the provider can be used all the same: no session records its events. Not for signal handlers.
 * Thread-safe.
 */
int ptl_provider_register_arrays(struct ptl_provider *provider, const struct ptl_event_definition *const *events,
				 const struct ptl_event_definition *const *events_end,
				 const struct ptl_map_definition *const *maps,
				 const struct ptl_map_definition *const *maps_end);

/*
 * Makes the provider a member of a group until the provider is unregistered. A session that turns on the group's GUID
 * turns on all members, as with ETW's groups. All zero: no group. Call before registering. Returns PTL_MISUSE for a
 * registered provider; PTL_NO_MEMORY.
 */
int ptl_provider_set_group(struct ptl_provider *provider, const struct ptl_guid *group);

/*
 * Adds the definition of an event, or a map, to a registered provider at run time. Returns the errors of
 * ptl_provider_register_arrays; PTL_MISUSE if the provider is not registered.
 */
int ptl_provider_add_event(const struct ptl_event_definition *event);
int ptl_provider_add_map(const struct ptl_map_definition *map);

/*
 * Unregisters a provider: no session records its events any more. Events already written stay. Required before the
 * provider or its definitions vanish (dlclose); no other thread may write its events during the call. Waits until no
 * callback runs, unless called from the callback. Does nothing for an unregistered provider.
 */
void ptl_provider_unregister(struct ptl_provider *provider);

/*
 * Computes the GUID that .NET's EventSource gives to a UTF-8 name: see libptl-provider(3). Returns PTL_MISUSE if the
 * name is not UTF-8.
 */
int ptl_guid_from_name(const char *name, struct ptl_guid *guid);

/* ---- activities ---- */

/*
 * Each thread has a current activity, which its events carry.
 * - An event with opcode START begins an activity within the current one. The event carries the new id, and the old id
 *   as related id.
 * - The event with opcode STOP of the same task carries the id and ends the activity. If the task is 0, the names must
 *   be equal except for "Start" and "Stop" at the end. The STOP also ends inner activities that are not detachable.
 * - Starting an activity that is running, and not recursive, ends the running activity first.
 * Only events that a session wants have these effects.
 */

/* Returns the calling thread's activity in *activity. Returns false, and zeros, without an activity. */
bool ptl_activity_current(struct ptl_guid *activity);
/*
 * Sets the current activity (NULL or zeros: none), and forgets activities that the thread has started. For work that
 * moves between threads. *previous (may be NULL): the activity before.
 */
void ptl_activity_set(const struct ptl_guid *activity, struct ptl_guid *previous);
/* Creates a unique id. Safe in signal handlers. */
void ptl_activity_create(struct ptl_guid *activity);

#ifdef __cplusplus
}
#endif

#include <ptl/provider_macros.h>

#endif
