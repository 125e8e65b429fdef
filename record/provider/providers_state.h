/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of a collection share, and what collections of several users share. */
#ifndef RECORD_PROVIDER_PROVIDERS_STATE_H
#define RECORD_PROVIDER_PROVIDERS_STATE_H

#include "common/hash_map.h"
#include "record/provider/ordered_streams.h"
#include "record/provider/session.h"
#include "record/kernel/observer.h"
#include "record/provider/shm_folder.h"
#include "record/provider/shm_process.h"
#include "record/provider/shm_rings.h"

/* Losses of one provider in one program. */
struct record_writer_loss {
	uint64_t seen;    /* dropped so far, as far as it is reported in the trace */
	uint64_t no_ring; /* likewise, for lack of a ring */
	uint64_t refused; /* events that claimed to be the kernel's; not reported yet */
};

/* A program that writes events, or may. */
struct record_writer {
	char name[PROVIDER_SHM_NAME_SIZE]; /* of its `process` file */
	struct record_shm_process shm;
	char rings_name[PROVIDER_SHM_NAME_SIZE]; /* "": no rings yet */
	struct record_shm_rings rings;
	int pidfd;    /* -1: none */
	bool foreign; /* of another pid namespace: its pid says nothing */
	bool dead;
	bool reported;    /* to the observer */
	bool schemas_bad; /* said once */
	bool broken_reported;
	uint64_t program;   /* differs after an exec */
	uint64_t looked;    /* whether it has ended */
	uint64_t moved;     /* when something last came of it */
	uint64_t turned;    /* when its entries were last gone through */
	uint32_t known;     /* entries that were gone through */
	uint64_t lost_from; /* time of the last look at losses that were reported */
	uint64_t lost_due;
	uint64_t lost_wait;
	struct record_writer_loss *losses; /* PROVIDER_SHM_PROVIDERS_MAX */
};

/* The next event of a ring, while events of all rings are put in order. */
struct record_waiting {
	struct record_writer *writer;
	struct record_shm_ring *ring;
	struct record_shm_event event;
};

#define RECORD_LEFT_OUT_MAX 20

/* What other users' programs may take of the recorder, all together. */
struct record_share {
	uint64_t most;
	uint64_t used;
};

/* How much more a user may have who has that much: up to a quarter of what the others leave, so that there is some for all. */
static inline uint64_t record_share_left(const struct record_share *share, uint64_t mine)
{
	const uint64_t others = share->used - mine;
	const uint64_t most = others < share->most ? (share->most - others) / 4 : 0;

	return mine < most ? most - mine : 0;
}

/* What the collections of all users have in common. */
struct record_providers_common {
	struct record_capture *capture;
	struct record_observer *observer;
	struct record_ordered_streams ordered;
	struct common_byte_map
		schemas; /* identity of an event: hash of its schema; and what identifies a map of values */
	struct record_share programs;
	struct record_share rings;
	struct record_share schema_bytes;
};

struct record_providers {
	struct record_providers_common *common;
	struct record_capture *capture;
	struct record_observer *observer;
	struct record_provider_session session;
	int folder;
	int watch; /* number of the folder in the watch for new files; -1: there is none */
	uint32_t user;
	bool is_other;  /* another user's, who is not trusted: programs, rings and schemas have bounds */
	bool members;   /* of another user: those that descend from the command, and no others */
	uint64_t rings; /* of all its programs */
	uint64_t start;
	bool everyone;
	bool turns; /* its programs are turned on by the recorder, too */
	bool ending;
	bool must_list; /* the watch lost count of what is new */
	struct record_writer **writers;
	size_t count;
	size_t capacity;
	struct record_waiting *heap;
	size_t heap_count;
	size_t heap_capacity;
	uint64_t latest; /* times beyond this one are not believed */
	uint64_t schema_bytes;
	unsigned fullest;  /* ring of the last step, in percent */
	uint64_t backlog;  /* bytes that were copied and not written, at the last look at all rings */
	unsigned left_out; /* files: so many are reported and no more */
	unsigned idle;     /* steps in which nothing came */
};

/* ---- providers.c: the collection of one folder ------------------------------------------------ */

/*
 * Opens a session in the folder, which is closed with the collection, with the rules of `like`, or with those of the
 * settings. PTL_SYSTEM, PTL_NO_MEMORY. All functions below that return an int return 0 or PTL_NO_MEMORY.
 */
int record_providers_open(struct record_providers_common *common, int folder, uint32_t user,
			  const struct record_providers *like, struct record_providers **providers);
/* Gives back everything; what was not finished is left to the next recorder. */
void record_providers_close(struct record_providers *providers);
/* Makes the command that is started from now on a member of the session, by our own environment. */
int record_providers_enter(const struct record_providers *providers);
/* All programs that are there; those that were there before are asked what state they are in. */
int record_providers_begin(struct record_providers *providers);
/* A file of this name has appeared. */
int record_providers_notice(struct record_providers *providers, const char *text);
/* Whether more may be copied: not too much waits to be written. */
bool record_providers_may_copy(const struct record_providers *providers);
/* Takes what programs have written before this time. */
int record_providers_step(struct record_providers *providers, uint64_t now, uint64_t before);
/* How many milliseconds to sleep at most until the next step. */
unsigned record_providers_timeout(const struct record_providers *providers);

/* The end, in this order: asks programs for their state; whether they are still at it; turns all off; takes what is left. */
int record_providers_ask(struct record_providers *providers);
bool record_providers_are_asked(struct record_providers *providers);
int record_providers_turn_off(struct record_providers *providers);
int record_providers_end(struct record_providers *providers);

/* ---- turn.c ----------------------------------------------------------------------------------- */

/* Adds a rule or takes it away, by its text. PTL_MISUSE, PTL_NOT_FOUND, PTL_SYSTEM: all is as before. */
int record_providers_change(struct record_providers *providers, const struct provider_shm_rule *rule, const char *text,
			    bool on);
/* The rule's number; the rule count if there is none. */
uint32_t record_providers_find(const struct record_providers *providers, const struct provider_shm_rule *rule);

/* ---- provider_answers.c ----------------------------------------------------------------------- */

/* Notes which rules are about the providers of a program that is followed. */
void record_providers_heed(struct record_providers *providers, struct record_shm_process *process);
/* Takes over which rules programs of the other collection, whose rules are the same, have answered to. */
void record_providers_take_answers(struct record_providers *providers, const struct record_providers *other);
/* Says which rules nothing answers to so far. */
void record_providers_say_absent(const struct record_providers *providers);
/* Says which rules nothing answered to. */
void record_providers_say_unanswered(struct record_providers *providers);

/* ---- provider_writers.c: which programs there are, and what they have turned on --------------- */

/* A file that is there; takes in what concerns this session. */
int record_writers_see(struct record_providers *providers, const char *text, const struct record_shm_name *name);
/* The program with this `process` file is to be followed. */
int record_writers_add(struct record_providers *providers, const char *text);
/* All files. */
int record_writers_list(struct record_providers *providers);
/* Turns on what the rules want in a program, and off what they do not. */
void record_writer_turn(struct record_providers *providers, struct record_writer *writer, uint64_t now);
/* Notices which programs have ended. */
void record_writer_look(struct record_writer *writer, uint64_t now);
/* Turns everything off, in programs that are not followed too. */
int record_writers_turn_off(struct record_providers *providers);
/* Removes its files, and forgets it. */
void record_writer_remove(struct record_providers *providers, size_t index);
void record_writer_free(struct record_writer *writer);
/* Forgets it, and leaves its files. */
void record_writer_forget(struct record_providers *providers, size_t index);

/* ---- provider_events.c ------------------------------------------------------------------------ */

/* Copies what the program's rings hold, and takes in schemas that are new. */
int record_writer_copy(struct record_providers *providers, struct record_writer *writer, uint64_t now);
/* Writes what was copied and is older than `before`, in order of time, but no more events than `most`. */
int record_providers_deliver(struct record_providers *providers, uint64_t before, uint64_t most);
/* Reports what the program has dropped; always, or if that is due. */
int record_writer_report_losses(struct record_providers *providers, struct record_writer *writer, uint64_t now,
				bool always);

#endif
