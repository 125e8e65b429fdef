/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds programs with providers, turns providers on and off, and notices ends of programs. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/error.h"
#include "common/program/message.h"
#include "common/vector.h"
#include "provider/names.h"
#include "record/capture/machine.h"
#include "record/proc/proc_files.h"
#include "record/provider/providers_state.h"

#define MILLISECOND 1000000ull
#define LOOK_TIME (200 * MILLISECOND) /* between checks for another program after an execve */
#define TURN_TIME (100 * MILLISECOND) /* between walks through known entries */
#define SILENCE (60000 * MILLISECOND) /* silence after which a program of another pid namespace counts as ended */

void record_writer_free(struct record_writer *writer)
{
	if (!writer)
		return;
	record_shm_process_close(&writer->shm);
	record_shm_rings_close(&writer->rings);
	if (writer->pidfd >= 0)
		close(writer->pidfd);
	free(writer->losses);
	common_byte_map_free(&writer->versions);
	free(writer);
}

static uint64_t own_pid_namespace(void)
{
	struct stat info;

	return stat("/proc/self/ns/pid", &info) == 0 ? info.st_ino : 0;
}

/* ---- turning on and off ----------------------------------------------------------------------- */

static bool turn_entry(const struct record_providers *providers, struct record_writer *writer, uint32_t n)
{
	const struct provider_shm_session *session = &providers->session.file.session;
	const struct record_shm_provider *provider = &writer->shm.providers[n];
	const struct provider_shm_identity identity = {provider->name, &provider->guid, &provider->group};
	struct record_shm_turn turn = {.slot = session->slot, .session = session->id};
	struct record_shm_entry entry;
	const struct ptl_enabled_session *words;

	if (!record_shm_process_entry(&writer->shm, n, &entry))
		return false;
	words = &entry.enabled.slots[session->slot];
	turn.on = providers->turns && entry.state == PROVIDER_SHM_REGISTERED &&
		  provider_shm_session_wants(&providers->session.file, &identity, &turn.level, &turn.keywords);
	if (turn.on)
		return record_shm_process_turn(&writer->shm, n, &turn);
	/* Turns off a bit of a dead recorder that had the slot before, or of this session if unwanted now. */
	turn.any_session = words->session != session->id;
	return (turn.any_session || providers->turns) && entry.enabled.sessions & 1u << session->slot &&
	       record_shm_process_turn(&writer->shm, n, &turn);
}

void record_writer_turn(struct record_providers *providers, struct record_writer *writer, uint64_t now)
{
	uint32_t first = writer->known;
	bool changed = false;

	record_shm_process_look(&writer->shm);
	if (now - writer->turned >= TURN_TIME) {
		writer->turned = now;
		first = 0;
	}
	for (uint32_t n = first; n < writer->shm.provider_count; n++)
		changed |= turn_entry(providers, writer, n);
	writer->known = writer->shm.provider_count;
	if (changed)
		record_providers_heed(providers, &writer->shm);
	if (changed)
		record_shm_process_notify(&writer->shm);
}

/* ---- programs --------------------------------------------------------------------------------- */

static struct record_writer *find_writer(const struct record_providers *providers, const char *name)
{
	for (size_t i = 0; i < providers->count; i++)
		if (!strcmp(providers->writers[i]->name, name))
			return providers->writers[i];
	return NULL;
}

static int make_writer_room(struct record_providers *providers)
{
	if (COMMON_VECTOR_RESERVE(providers->writers, providers->capacity, providers->count + 1, "programs"))
		return PTL_NO_MEMORY;
	return 0;
}

/* Excludes events dropped before this session. */
static void note_earlier_losses(const struct record_providers *providers, struct record_writer *writer)
{
	const unsigned slot = providers->session.file.session.slot;
	struct record_shm_entry entry;

	if (record_clock_of_monotonic(writer->shm.start) >= providers->start)
		return;
	for (uint32_t n = 0; n < writer->shm.provider_count; n++)
		if (record_shm_process_entry(&writer->shm, n, &entry))
			writer->losses[n].no_ring = entry.enabled.slots[slot].lost;
}

/*
 * Checks whether the session may record the process. The session of another user records only descendants of the
 * command, even if others know the session's id. A living process is checked in /proc; an ended process must be known
 * to the observer.
 */
static int is_wanted_writer(const struct record_providers *providers, uint32_t pid, bool *wanted)
{
	struct record_proc_stat stat;

	*wanted = true;
	if (!providers->members)
		return 0;
	*wanted = record_proc_descends(pid, (uint32_t)getpid());
	if (*wanted || !providers->observer || record_proc_stat(pid, &stat))
		return 0;
	return record_observer_follows(providers->observer, pid, wanted);
}

/* A program of another user may claim any pid: a living process with the pid has to belong to the user. */
static int check_user(const struct record_providers *providers, const struct record_writer *writer)
{
	uint32_t own_pid, user;
	bool wanted;
	int status;

	if (!providers->is_other)
		return 0;
	if (writer->foreign)
		return common_fail(PTL_SYSTEM, "it is in another pid namespace, and of user %u", providers->user);
	if (record_proc_identity(writer->shm.pid, &own_pid, &user) && user != providers->user)
		return common_fail(PTL_SYSTEM, "process %u is not one of user %u, who says so", writer->shm.pid,
				   providers->user);
	status = is_wanted_writer(providers, writer->shm.pid, &wanted);
	if (status == 0 && !wanted)
		status = common_fail(PTL_SYSTEM, "process %u is no descendant of the command", writer->shm.pid);
	return status;
}

static void watch(struct record_writer *writer, uint64_t now)
{
	struct record_proc_stat stat;

	writer->looked = writer->moved = now;
	writer->foreign = writer->shm.pid_namespace && writer->shm.pid_namespace != own_pid_namespace();
	if (writer->foreign)
		return;
	writer->pidfd = (int)syscall(SYS_pidfd_open, writer->shm.pid, 0);
	if (record_proc_stat(writer->shm.pid, &stat))
		writer->program = stat.program;
	writer->dead = record_shm_has_ended(writer->shm.pid, &writer->shm.info);
}

/* Reports a program that cannot be recorded, with the error as the cause. */
static int leave_out(struct record_providers *providers, const char *text)
{
	char cause[512];
	const struct ptl_loss loss = {
		.kind = PTL_LOSS_EVENTS,
		.stream = PTL_NO_ID,
		.pid = PTL_NO_ID,
		.tid = PTL_NO_ID,
		.first_time = record_now(),
		.cause = cause,
	};

	snprintf(cause, sizeof(cause), "%s: %s", text, ptl_error_text());
	/* Limits reports: a user can put invalid files into the folder without end. */
	if (providers->left_out++ >= RECORD_LEFT_OUT_MAX)
		return 0;
	common_message_warning("%s", cause);
	return record_capture_loss(providers->capture, &loss);
}

static int open_process(struct record_providers *providers, struct record_writer *writer)
{
	int status;

	if (providers->is_other && !record_share_left(&providers->common->programs, providers->count))
		return common_fail(PTL_SYSTEM, "user %u has more programs with providers than are taken",
				   providers->user);
	status = record_shm_process_open(providers->folder, writer->name, true, &writer->shm);
	if (status == 0) {
		watch(writer, record_now());
		status = check_user(providers, writer);
	}
	return status;
}

/* Sets *result to NULL for an unusable file, and reports the file unless it has just vanished. */
static int add_writer(struct record_providers *providers, const char *text, struct record_writer **result)
{
	struct record_writer *writer;
	int status = make_writer_room(providers);

	*result = NULL;
	if (status < 0)
		return status;
	writer = calloc(1, sizeof(*writer));
	if (!writer)
		return common_fail_memory("program", sizeof(*writer));
	writer->pidfd = writer->rings.file = writer->shm.file = -1;
	snprintf(writer->name, sizeof(writer->name), "%s", text);
	writer->losses = calloc(PROVIDER_SHM_PROVIDERS_MAX, sizeof(*writer->losses));
	status = writer->losses ? open_process(providers, writer) : common_fail_memory("program", sizeof(*writer));
	if (status < 0) {
		record_writer_free(writer);
		if (status == PTL_NO_MEMORY)
			return status;
		return status == PTL_NOT_FOUND ? 0 : leave_out(providers, "a program's providers are left out");
	}
	providers->writers[providers->count++] = writer;
	providers->common->programs.used += providers->is_other;
	record_shm_process_look(&writer->shm);
	note_earlier_losses(providers, writer);
	record_providers_heed(providers, &writer->shm);
	*result = writer;
	return 0;
}

/* Reports a program to the observer, from the time of the program's first possible event in this recording. */
static int report_observer(struct record_providers *providers, struct record_writer *writer)
{
	const uint64_t began = record_clock_of_monotonic(writer->shm.start);
	const uint64_t since = began > providers->start ? began : providers->start;
	const struct record_observer_dead dead = {
		.pid = writer->shm.pid,
		.parent = writer->shm.parent,
		.program = writer->shm.program,
		.since = since,
		.ran_before = providers->everyone,
	};
	bool gone = writer->dead;
	int status = 0;

	if (!providers->observer || writer->reported || writer->foreign)
		return 0;
	if (!gone)
		status = record_observer_writer(providers->observer, writer->shm.pid, since, record_now(), &gone);
	if (status < 0)
		return status;
	/* An ended program is reported only after its first event is known. */
	if (gone && !writer->rings_name[0])
		return 0;
	writer->reported = true;
	/* Reports of another user about an ended process are ignored. */
	return gone && !providers->is_other ? record_observer_dead(providers->observer, &dead, record_now()) : 0;
}

static int see_rings(struct record_providers *providers, const char *text, const struct record_shm_name *name)
{
	char process[PROVIDER_SHM_NAME_SIZE];
	struct record_writer *writer;
	int status = 0;

	if (name->session != providers->session.file.session.id)
		return 0;
	provider_name_process(process, name->pid, name->process);
	writer = find_writer(providers, process);
	if (!writer)
		status = add_writer(providers, process, &writer);
	if (status < 0 || !writer || writer->rings_name[0])
		return status;
	status = record_shm_rings_open(providers->folder, text, providers->session.file.session.ring_size,
				       &writer->rings);
	if (status == 0)
		snprintf(writer->rings_name, sizeof(writer->rings_name), "%s", text);
	else if (status != PTL_NOT_FOUND && status != PTL_NO_MEMORY)
		status = leave_out(providers, "a program's events are left out");
	if (status == PTL_NOT_FOUND)
		status = 0;
	return status == 0 ? report_observer(providers, writer) : status;
}

int record_writers_add(struct record_providers *providers, const char *text)
{
	struct record_writer *writer;

	return find_writer(providers, text) ? 0 : add_writer(providers, text, &writer);
}

static int see_process(struct record_providers *providers, const char *text, uint32_t pid)
{
	struct record_writer *writer = find_writer(providers, text);
	bool wanted = true;
	int status = 0;

	if (!writer)
		status = is_wanted_writer(providers, pid, &wanted);
	if (status == 0 && !writer && wanted)
		status = add_writer(providers, text, &writer);
	if (status < 0 || !writer)
		return status;
	record_writer_turn(providers, writer, record_now());
	return report_observer(providers, writer);
}

int record_writers_see(struct record_providers *providers, const char *text, const struct record_shm_name *name)
{
	if (name->kind == RECORD_SHM_RINGS)
		return see_rings(providers, text, name);
	if (name->kind == RECORD_SHM_PROCESS && providers->turns)
		return see_process(providers, text, name->pid);
	return 0;
}

static int see_listed(void *context, const char *text, const struct record_shm_name *name)
{
	return record_writers_see(context, text, name);
}

int record_writers_list(struct record_providers *providers)
{
	int status = record_shm_list(providers->folder, see_listed, providers);

	return status == PTL_NO_MEMORY ? status : 0;
}

/* ---- ends ------------------------------------------------------------------------------------- */

void record_writer_look(struct record_writer *writer, uint64_t now)
{
	struct pollfd ready = {.fd = writer->pidfd, .events = POLLIN};
	struct record_proc_stat stat;

	if (writer->dead)
		return;
	if (writer->foreign) {
		writer->dead = now - writer->moved >= SILENCE;
		return;
	}
	if (writer->pidfd >= 0 && poll(&ready, 1, 0) > 0 && ready.revents & POLLIN) {
		writer->dead = true;
		return;
	}
	if (now - writer->looked < LOOK_TIME)
		return;
	writer->looked = now;
	/* With a pidfd, only an execve can end the program unnoticed. */
	if (writer->pidfd < 0 || !record_proc_stat(writer->shm.pid, &stat) || stat.program != writer->program) {
		writer->dead = record_shm_has_ended(writer->shm.pid, &writer->shm.info);
		writer->program = stat.program;
	}
}

static int is_rings_of(void *context, const char *text, const struct record_shm_name *name)
{
	const struct record_writer *writer = context;

	(void)text;
	return name->kind == RECORD_SHM_RINGS && name->pid == writer->shm.pid && name->process == writer->shm.id;
}

void record_writer_forget(struct record_providers *providers, size_t index)
{
	struct record_writer *writer = providers->writers[index];

	providers->rings -= writer->rings.count;
	if (providers->is_other) {
		providers->common->rings.used -= writer->rings.count;
		providers->common->programs.used--;
	}
	record_writer_free(writer);
	providers->writers[index] = providers->writers[--providers->count];
}

void record_writer_remove(struct record_providers *providers, size_t index)
{
	struct record_writer *writer = providers->writers[index];

	if (writer->rings_name[0])
		(void)unlinkat(providers->folder, writer->rings_name, 0);
	if (writer->dead && record_shm_list(providers->folder, is_rings_of, writer) == 0)
		(void)unlinkat(providers->folder, writer->name, 0);
	record_writer_forget(providers, index);
}

static int turn_off_listed(void *context, const char *text, const struct record_shm_name *name)
{
	struct record_providers *providers = context;
	const struct provider_shm_session *session = &providers->session.file.session;
	const struct record_shm_turn turn = {.slot = session->slot, .session = session->id};
	struct record_shm_process process;
	bool changed = false;
	int status;

	if (name->kind != RECORD_SHM_PROCESS)
		return 0;
	status = record_shm_process_open(providers->folder, text, true, &process);
	if (status < 0)
		return status == PTL_NO_MEMORY ? status : 0;
	record_shm_process_look(&process);
	for (uint32_t n = 0; n < process.provider_count; n++)
		changed |= record_shm_process_turn(&process, n, &turn);
	if (changed)
		record_shm_process_notify(&process);
	record_shm_process_close(&process);
	return 0;
}

int record_writers_turn_off(struct record_providers *providers)
{
	int status = record_shm_list(providers->folder, turn_off_listed, providers);

	return status == PTL_NO_MEMORY ? status : 0;
}
