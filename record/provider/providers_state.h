/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of the collection share. */
#ifndef RECORD_PROVIDER_PROVIDERS_STATE_H
#define RECORD_PROVIDER_PROVIDERS_STATE_H

#include "common/hash_map.h"
#include "record/provider/ordered_streams.h"
#include "record/provider/session.h"
#include "record/provider/providers.h"
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

struct record_providers {
	struct record_capture *capture;
	struct record_observer *observer;
	struct record_provider_session session;
	struct record_ordered_streams ordered;
	int folder;
	int watch; /* inotify; -1: none */
	uint64_t start;
	bool everyone;
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
	struct common_byte_map schemas; /* identity of an event: hash of its schema */
	unsigned fullest;               /* ring of the last step, in percent */
	uint64_t backlog;               /* bytes that were copied and not written, at the last look at all rings */
	unsigned left_out;              /* files: so many are reported and no more */
	unsigned idle;                  /* steps in which nothing came */
};

/* ---- provider_answers.c ----------------------------------------------------------------------- */

/* Notes which rules are about the providers of a program that is followed. */
void record_providers_heed(struct record_providers *providers, struct record_shm_process *process);
/* Notes which rules nothing answers to so far. */
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

/* ---- provider_events.c ------------------------------------------------------------------------ */

/* Copies what the program's rings hold, and takes in schemas that are new. */
int record_writer_copy(struct record_providers *providers, struct record_writer *writer, uint64_t now);
/* Writes what was copied and is older than `before`, in order of time, but no more events than `most`. */
int record_providers_deliver(struct record_providers *providers, uint64_t before, uint64_t most);
/* Reports what the program has dropped; always, or if that is due. */
int record_writer_report_losses(struct record_providers *providers, struct record_writer *writer, uint64_t now,
				bool always);

#endif
