/* SPDX-License-Identifier: BSD-2-Clause */
/* A session with the programs with providers in a folder, from start to end. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "common/error.h"
#include "record/capture/machine.h"
#include "record/provider/providers_state.h"

#define MILLISECOND 1000000ull
/* Maximum milliseconds to sleep: if rings fill fast, if events arrive, and if no events arrive. */
#define SLEEP_FAST 1
#define SLEEP_BUSY 4
#define SLEEP_IDLE 10
#define SLEEP_NOBODY 1000
#define IDLE_STEPS 64
#define FAST_SHARE 20 /* percent of a ring */
#define FULL_SHARE 50
/* Maximum number of copies in a row, and number of events written afterwards. */
#define COPIES_MAX 64
#define SLICE 1024
/* Maximum bytes that wait for writing if no ring fills fast. */
#define BACKLOG_CALM (1ull << 20)
/*
 * Default sizes: a ring per thread, and further rings during a burst, until the rings of a program reach BURST_MEMORY
 * or 1 / BURST_PART of the free memory.
 */
#define RING_LARGEST (2u << 20)
#define RING_SMALLEST (1u << 20)
#define RING_PART 256
#define BURST_MEMORY (512ull << 20)
#define BURST_PART 4
/* Limits the final rounds, for programs that never stop writing. */
#define LAST_ROUNDS 100000
#define LAST_ROUNDS_OTHER 1000

/* ---- start ------------------------------------------------------------------------------------ */

int record_providers_enter(const struct record_providers *providers)
{
	const uint64_t id = providers->session.file.session.id;
	const char *before = getenv(PROVIDER_SHM_SESSIONS_VARIABLE);
	char *value;
	int status;

	if (asprintf(&value, "%s%s%016llx", before ? before : "", before && *before ? "," : "",
		     (unsigned long long)id) < 0)
		return common_fail_memory("environment", 0);
	status = setenv(PROVIDER_SHM_SESSIONS_VARIABLE, value, 1);
	free(value);
	return status < 0 ? common_fail_memory("environment", 0) : 0;
}

/*
 * Returns the free bytes of the folder's file system: /dev/shm of a container is small. No blocks at all means no
 * limit.
 */
static uint64_t free_memory(const struct record_providers *providers)
{
	struct statvfs info;

	if (fstatvfs(providers->folder, &info) < 0)
		return 0;
	return info.f_blocks ? (uint64_t)info.f_bavail * info.f_frsize : UINT64_MAX;
}

static void choose_rings(const struct record_providers *providers, struct provider_shm_session *session)
{
	const uint64_t room = free_memory(providers);
	uint64_t burst = room / BURST_PART;

	session->ring_size = providers->capture->settings->provider_ring;
	if (session->ring_size)
		return;
	if (burst > BURST_MEMORY)
		burst = BURST_MEMORY;
	session->ring_size = RING_LARGEST;
	while (session->ring_size > RING_SMALLEST && session->ring_size > room / RING_PART)
		session->ring_size /= 2;
	session->burst_rings = (uint32_t)(burst / session->ring_size);
}

static void describe_session(struct record_providers *providers, const struct record_providers *like)
{
	const struct record_settings *settings = providers->capture->settings;
	const struct provider_shm_rule *rules = like ? like->session.file.rules : settings->rules;
	struct provider_shm_session_file *file = &providers->session.file;

	file->session.flags = settings->attach ? PROVIDER_SHM_SESSION_EVERYONE : 0;
	/* Descendants of the command find the session by the id in their environment, even under another user. */
	file->session.id = providers->members ? like->session.file.session.id : 0;
	choose_rings(providers, &file->session);
	file->session.rule_count = like ? like->session.file.session.rule_count : settings->rule_count;
	memcpy(file->rules, rules, file->session.rule_count * sizeof(file->rules[0]));
	for (uint32_t i = 0; i < file->session.rule_count; i++)
		file->rules[i].answered = 0;
	snprintf(file->session.name, sizeof(file->session.name), "ptl-record %d", (int)getpid());
}

/* Clears left-over bits of the slot, which would make programs fill rings that no recorder reads. */
static int clear_slot(void *context, const char *text, const struct record_shm_name *name)
{
	struct record_providers *providers = context;
	const struct provider_shm_session *session = &providers->session.file.session;
	const struct record_shm_turn off = {.slot = session->slot, .session = session->id, .any_session = true};
	struct record_shm_process process;
	struct record_shm_entry entry;

	if (name->kind != RECORD_SHM_PROCESS || record_shm_process_open(providers->folder, text, true, &process) < 0)
		return 0;
	record_shm_process_look(&process);
	for (uint32_t n = 0; n < process.provider_count; n++)
		if (record_shm_process_entry(&process, n, &entry) && entry.enabled.sessions & 1u << session->slot &&
		    entry.enabled.slots[session->slot].session != session->id)
			record_shm_process_turn(&process, n, &off);
	record_shm_process_close(&process);
	return 0;
}

/* Asks programs that ran before for their state. */
static void request_captures(struct record_providers *providers)
{
	const unsigned slot = providers->session.file.session.slot;
	struct record_shm_entry entry;

	for (size_t i = 0; i < providers->count; i++) {
		struct record_writer *writer = providers->writers[i];
		bool any_request = false;

		for (uint32_t n = 0; !writer->dead && n < writer->shm.provider_count; n++) {
			if (!record_shm_process_entry(&writer->shm, n, &entry) ||
			    entry.state != PROVIDER_SHM_REGISTERED || !(entry.flags & PROVIDER_SHM_HAS_CALLBACK) ||
			    !(entry.enabled.sessions & 1u << slot) ||
			    entry.enabled.slots[slot].session != providers->session.file.session.id)
				continue;
			record_shm_process_capture(&writer->shm, n, slot);
			any_request = true;
		}
		if (any_request)
			record_shm_process_notify(&writer->shm);
	}
}

static int open_session(struct record_providers *providers, const struct record_providers *like)
{
	int status;

	if (providers->is_other)
		record_provider_clean_sessions(providers->folder);
	else
		(void)record_provider_clean(providers->folder);
	describe_session(providers, like);
	status = record_provider_session_make(providers->folder, &providers->session);
	/* With turns, the walk through the programs clears left-over bits as well. */
	if (status == 0 && !providers->turns)
		(void)record_shm_list(providers->folder, clear_slot, providers);
	return status;
}

int record_providers_open(struct record_providers_common *common, int folder, uint32_t user,
			  const struct record_providers *like, struct record_providers **result)
{
	struct record_providers *providers = calloc(1, sizeof(*providers));
	int status;

	if (!providers) {
		close(folder);
		return common_fail_memory("providers", sizeof(*providers));
	}
	providers->common = common;
	providers->capture = common->capture;
	providers->observer = common->observer;
	providers->folder = folder;
	providers->user = user;
	providers->is_other = user != geteuid();
	providers->watch = providers->session.lock = -1;
	providers->everyone = common->capture->settings->attach;
	providers->members = providers->is_other && !providers->everyone;
	providers->turns = providers->everyone || providers->is_other;
	providers->start = record_now();
	status = open_session(providers, like);
	if (status < 0)
		record_providers_close(providers);
	else
		*result = providers;
	return status;
}

int record_providers_begin(struct record_providers *providers)
{
	const int status = record_writers_list(providers);

	if (status == 0)
		request_captures(providers);
	return status;
}

void record_providers_close(struct record_providers *providers)
{
	if (!providers)
		return;
	while (providers->count)
		record_writer_forget(providers, providers->count - 1);
	free(providers->writers);
	free(providers->heap);
	record_provider_session_remove(providers->folder, &providers->session);
	close(providers->folder);
	free(providers);
}

/* ---- while it runs ---------------------------------------------------------------------------- */

int record_providers_notice(struct record_providers *providers, const char *text)
{
	struct record_shm_name name;

	record_shm_parse(text, &name);
	return record_writers_see(providers, text, &name);
}

/* Lists the folder at each look if the folder is not watched. */
static int look_around(struct record_providers *providers)
{
	if (providers->watch >= 0 && !providers->must_list)
		return 0;
	providers->must_list = false;
	return record_writers_list(providers);
}

/* Checks whether all copied events were written. */
static bool is_drained(const struct record_writer *writer)
{
	for (uint32_t n = 0; n < writer->rings.count; n++)
		if (writer->rings.rings[n].used > writer->rings.rings[n].at)
			return false;
	return true;
}

/* Removes ended programs after all of their events were written. */
static int reap(struct record_providers *providers, uint64_t now)
{
	int status = 0;

	for (size_t i = providers->count; status == 0 && i-- > 0;) {
		struct record_writer *writer = providers->writers[i];
		const bool over = writer->dead && is_drained(writer);

		status = record_writer_report_losses(providers, writer, now, over);
		if (over)
			record_writer_remove(providers, i);
	}
	return status;
}

/* Checks all programs, and copies the contents of their rings. */
static int copy_rings(struct record_providers *providers, uint64_t now, bool *any_dead)
{
	int status = 0;

	providers->fullest = 0;
	providers->backlog = 0;
	for (size_t i = 0; status == 0 && i < providers->count; i++) {
		struct record_writer *writer = providers->writers[i];

		/* Checks for the program's end before copying: a dead program writes no more. */
		record_writer_look(writer, now);
		*any_dead |= writer->dead;
		if (providers->turns && !writer->dead)
			record_writer_turn(providers, writer, now);
		status = record_writer_copy(providers, writer, now);
	}
	return status;
}

/*
 * Copying is much faster than writing. While rings fill fast and memory is left, a step only copies; otherwise it
 * writes a slice of the waiting events.
 */
int record_providers_step(struct record_providers *providers, uint64_t now, uint64_t before)
{
	bool any_dead = false, calm = false;
	int status = look_around(providers);

	providers->idle++;
	for (unsigned i = 0; status == 0 && !calm && i < COPIES_MAX; i++) {
		status = copy_rings(providers, now, &any_dead);
		calm = providers->fullest < FAST_SHARE || !record_providers_may_copy(providers);
	}
	/* Events of a dead program are written before its rings are removed. */
	if (status == 0 && calm)
		status = record_providers_deliver(providers, any_dead ? UINT64_MAX : before, SLICE);
	return status == 0 ? reap(providers, now) : status;
}

unsigned record_providers_timeout(const struct record_providers *providers)
{
	if (providers->watch >= 0 && !providers->count)
		return SLEEP_NOBODY;
	if (providers->fullest >= FULL_SHARE || providers->backlog > BACKLOG_CALM)
		return 0;
	if (providers->fullest >= FAST_SHARE)
		return SLEEP_FAST;
	return providers->idle > IDLE_STEPS ? SLEEP_IDLE : SLEEP_BUSY;
}

/* ---- end -------------------------------------------------------------------------------------- */

/* Adds programs that are otherwise followed only after their first event. */
static int see_members(void *context, const char *text, const struct record_shm_name *name)
{
	struct record_providers *providers = context;
	const struct provider_shm_session *session = &providers->session.file.session;
	struct record_shm_process process;
	struct record_shm_entry entry;
	bool member = false;
	int status;

	if (name->kind != RECORD_SHM_PROCESS)
		return 0;
	status = record_shm_process_open(providers->folder, text, false, &process);
	if (status < 0)
		return status == PTL_NO_MEMORY ? status : 0;
	record_shm_process_look(&process);
	for (uint32_t n = 0; !member && n < process.provider_count; n++)
		member = record_shm_process_entry(&process, n, &entry) &&
			 entry.enabled.sessions & 1u << session->slot &&
			 entry.enabled.slots[session->slot].session == session->id;
	record_providers_heed(providers, &process);
	record_shm_process_close(&process);
	return member ? record_writers_add(providers, text) : 0;
}

bool record_providers_are_asked(struct record_providers *providers)
{
	const uint32_t bit = 1u << providers->session.file.session.slot;
	struct record_shm_entry entry;

	for (size_t i = 0; i < providers->count; i++) {
		struct record_writer *writer = providers->writers[i];

		for (uint32_t n = 0; !writer->dead && n < writer->shm.provider_count; n++)
			if (record_shm_process_entry(&writer->shm, n, &entry) &&
			    entry.flags & PROVIDER_SHM_HAS_CALLBACK && entry.state == PROVIDER_SHM_REGISTERED &&
			    entry.enabled.capture & bit)
				return true;
	}
	return false;
}

int record_providers_ask(struct record_providers *providers)
{
	const int status = record_shm_list(providers->folder, see_members, providers);

	if (status == PTL_NO_MEMORY)
		return status;
	request_captures(providers);
	return 0;
}

int record_providers_turn_off(struct record_providers *providers)
{
	int status = 0;

	for (size_t i = 0; status == 0 && i < providers->count; i++)
		status = record_writer_report_losses(providers, providers->writers[i], record_now(), true);
	providers->ending = true;
	record_provider_session_remove(providers->folder, &providers->session);
	return status == 0 ? record_writers_turn_off(providers) : status;
}

/* Repeats steps until no event arrives. */
static int take_rest(struct record_providers *providers)
{
	const unsigned most = providers->is_other ? LAST_ROUNDS_OTHER : LAST_ROUNDS;
	int status = 0;

	providers->idle = 0;
	for (unsigned i = 0; status == 0 && providers->idle < 2 && i < most; i++)
		status = record_providers_step(providers, record_now(), UINT64_MAX);
	return status;
}

int record_providers_end(struct record_providers *providers)
{
	int status;

	providers->must_list = true;
	providers->everyone = providers->turns = false;
	status = take_rest(providers);
	for (size_t i = providers->count; i-- > 0;) {
		if (status == 0)
			status = record_writer_report_losses(providers, providers->writers[i], record_now(), true);
		record_writer_remove(providers, i);
	}
	return status;
}
