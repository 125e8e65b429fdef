/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the files of a collection, and by collections of several users. */
#ifndef RECORD_PROVIDER_PROVIDERS_STATE_H
#define RECORD_PROVIDER_PROVIDERS_STATE_H

#include "common/hash_map.h"
#include "record/observe/observer.h"
#include "record/provider/ordered_streams.h"
#include "record/provider/session.h"
#include "record/provider/shm_folder.h"
#include "record/provider/shm_process.h"
#include "record/provider/shm_rings.h"

/* Losses of a provider in a program. */
struct record_writer_loss {
	uint64_t seen;    /* dropped events that the trace already reports */
	uint64_t no_ring; /* events without a ring that the trace already reports */
	uint64_t refused; /* unreported events that claimed to be kernel events */
};

/* A program that may write events. */
struct record_writer {
	char name[PROVIDER_SHM_NAME_SIZE]; /* name of the `process` file */
	struct record_shm_process shm;
	char rings_name[PROVIDER_SHM_NAME_SIZE]; /* "" before the first ring */
	struct record_shm_rings rings;
	int pidfd;    /* -1 without */
	bool foreign; /* in another pid namespace: the pid is meaningless here */
	bool dead;
	bool reported;    /* reported to the observer */
	bool schemas_bad; /* the message about invalid schemas was printed */
	bool broken_reported;
	uint64_t program;   /* changes at an execve */
	uint64_t looked;    /* time of the last check for the end */
	uint64_t moved;     /* time of the last event */
	uint64_t turned;    /* time of the last walk through the entries */
	uint32_t known;     /* number of entries at the last walk */
	uint64_t lost_from; /* time of the last report of losses */
	uint64_t lost_due;
	uint64_t lost_wait;
	struct record_writer_loss *losses; /* array of PROVIDER_SHM_PROVIDERS_MAX */
	/* version of the definition in the trace, by identity of the event */
	struct common_byte_map versions;
};

/* The next event of a ring, while events of all rings are sorted. */
struct record_waiting {
	struct record_writer *writer;
	struct record_shm_ring *ring;
	struct record_shm_event event;
};

#define RECORD_LEFT_OUT_MAX 20
/* Maximum size of all schemas, in bytes and in items as of FORMAT_METADATA_ITEMS_MAX: half of a trace's room. */
#define RECORD_SCHEMA_BYTES_MAX (8ull << 20)
#define RECORD_SCHEMA_ITEMS_MAX (1u << 19)
/* Maximum number of reported differing definitions. */
#define RECORD_DIFFERING_MAX 20

/* Limit and use of a resource by programs of all other users. */
struct record_share {
	uint64_t most;
	uint64_t used;
};

/*
 * Returns how much more a user may use. A user with `mine` gets up to a quarter of the amount that the other users
 * leave.
 */
static inline uint64_t record_share_left(const struct record_share *share, uint64_t mine)
{
	const uint64_t others = share->used - mine;
	const uint64_t most = others < share->most ? (share->most - others) / 4 : 0;

	return mine < most ? most - mine : 0;
}

/* Shared by the collections of all users. */
struct record_providers_common {
	struct record_capture *capture;
	struct record_observer *observer;
	struct record_ordered_streams ordered;
	struct common_byte_map schemas; /* hash of the schema by identity of an event; also keys of maps of values */
	struct record_share programs;
	struct record_share rings;
	struct record_share schema_bytes;
	struct record_share schema_items;
	struct common_byte_map
		reported_losses; /* identities of events whose loss of a differing definition was reported */
	unsigned differing;      /* number of definitions with another version */
};

struct record_providers {
	struct record_providers_common *common;
	struct record_capture *capture;
	struct record_observer *observer;
	struct record_provider_session session;
	int folder;
	int watch; /* inotify number of the folder; -1 without */
	uint32_t user;
	bool is_other;  /* collection of another, untrusted user: programs, rings and schemas are limited */
	bool members;   /* accepts only descendants of the command */
	uint64_t rings; /* rings of all programs */
	uint64_t start;
	bool everyone;
	bool turns; /* the recorder turns on the programs' providers too */
	bool ending;
	bool must_list; /* the watch lost notices */
	struct record_writer **writers;
	size_t count;
	size_t capacity;
	struct record_waiting *heap;
	size_t heap_count;
	size_t heap_capacity;
	uint64_t latest; /* upper limit of believable times */
	uint64_t schema_bytes;
	uint64_t schema_items;
	unsigned fullest;  /* fill of the fullest ring in the last step, in percent */
	uint64_t backlog;  /* copied but unwritten bytes, at the last look at all rings */
	unsigned left_out; /* number of reported unusable files */
	unsigned idle;     /* number of steps without an event */
};

/* ---- providers.c: the collection of one folder ------------------------------------------------ */

/*
 * Opens a session in the folder, with the rules of `like`, or with the settings' rules. The collection closes the
 * folder. Fails with PTL_SYSTEM or PTL_NO_MEMORY.
 * Functions below of type int return 0 or PTL_NO_MEMORY.
 */
int record_providers_open(struct record_providers_common *common, int folder, uint32_t user,
			  const struct record_providers *like, struct record_providers **providers);
/* Frees the collection. Unfinished files are left for the next recorder. */
void record_providers_close(struct record_providers *providers);
/* Makes the next started command a member of the session, by an environment variable. */
int record_providers_enter(const struct record_providers *providers);
/* Finds all programs, and asks programs that ran before for their state. */
int record_providers_begin(struct record_providers *providers);
/* Handles a new file with this name. */
int record_providers_notice(struct record_providers *providers, const char *text);
/* Handles events that programs wrote before this time. */
int record_providers_step(struct record_providers *providers, uint64_t now, uint64_t before);
/* Returns the maximum milliseconds until the next step. */
unsigned record_providers_timeout(const struct record_providers *providers);

/*
 * Ends the session, in this order: ask asks programs for their state; are_asked checks whether programs still answer;
 * turn_off turns all providers off; end writes the rest.
 */
int record_providers_ask(struct record_providers *providers);
bool record_providers_are_asked(struct record_providers *providers);
int record_providers_turn_off(struct record_providers *providers);
int record_providers_end(struct record_providers *providers);

/* ---- turn.c ----------------------------------------------------------------------------------- */

/* Adds or removes a rule by its text. Fails with PTL_MISUSE, PTL_NOT_FOUND or PTL_SYSTEM, without a change. */
int record_providers_change(struct record_providers *providers, const struct provider_shm_rule *rule, const char *text,
			    bool on);
/* Returns the index of the rule; the number of rules if absent. */
uint32_t record_providers_find(const struct record_providers *providers, const struct provider_shm_rule *rule);

/* ---- answers.c ----------------------------------------------------------------------- */

/* Notes rules that match providers of a followed program. */
void record_providers_heed(struct record_providers *providers, struct record_shm_process *process);
/* Copies the notes of answered rules from another collection with the same rules. */
void record_providers_take_answers(struct record_providers *providers, const struct record_providers *other);
/* Reports rules without a matching provider so far. */
void record_providers_say_absent(const struct record_providers *providers);
/* Reports rules without a matching provider until the end. */
void record_providers_say_unanswered(struct record_providers *providers);

/* ---- writers.c: programs, and providers to turn on ----------------------------------- */

/* Handles an existing file, if relevant for this session. */
int record_writers_see(struct record_providers *providers, const char *text, const struct record_shm_name *name);
/* Follows the program with this `process` file. */
int record_writers_add(struct record_providers *providers, const char *text);
/* Handles all files of the folder. */
int record_writers_list(struct record_providers *providers);
/* Turns providers of a program on or off, as the rules demand. */
void record_writer_turn(struct record_providers *providers, struct record_writer *writer, uint64_t now);
/* Checks whether the program has ended. */
void record_writer_look(struct record_writer *writer, uint64_t now);
/* Turns all providers off, even in programs that are not followed. */
int record_writers_turn_off(struct record_providers *providers);
/* Removes the files of a program, and forgets the program. */
void record_writer_remove(struct record_providers *providers, size_t index);
void record_writer_free(struct record_writer *writer);
/* Forgets a program, and leaves its files. */
void record_writer_forget(struct record_providers *providers, size_t index);

/* ---- losses.c ------------------------------------------------------------------------ */

/* Reports events or bytes of the program as lost. */
int record_writer_lose(struct record_providers *providers, const struct record_writer *writer, uint64_t count,
		       uint64_t bytes, const char *cause);
/* Reports events that the program dropped, if `always` or if due. */
int record_writer_report_losses(struct record_providers *providers, struct record_writer *writer, uint64_t now,
				bool always);

/* ---- definitions.c ------------------------------------------------------------------- */

/* Reads new descriptions of the program's events. */
int record_writer_take_schemas(struct record_providers *providers, struct record_writer *writer);
/* Replaces an event's version by the version of its definition in the trace. */
void record_writer_give_version(const struct record_writer *writer, struct ptl_descriptor *descriptor);

/* ---- events.c ------------------------------------------------------------------------ */

/* Checks whether more events may be copied, within the limit of unwritten bytes. */
bool record_providers_may_copy(const struct record_providers *providers);
/* Copies the contents of the program's rings, and reads new schemas. */
int record_writer_copy(struct record_providers *providers, struct record_writer *writer, uint64_t now);
/* Writes copied events before `before`, sorted by time, at most `most` events. */
int record_providers_deliver(struct record_providers *providers, uint64_t before, uint64_t most);

#endif
