/* SPDX-License-Identifier: BSD-2-Clause */
/* A collection per user with recorded programs. The first collection belongs to this user. */
#include "record/provider/users.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <time.h>
#include <unistd.h>

#include "common/error.h"
#include "common/program/message.h"
#include "common/vector.h"
#include "record/capture/machine.h"
#include "record/provider/providers_state.h"
#include "record/provider/rules.h"

#define MILLISECOND 1000000ull
/* Maximum time for programs to report their state, and time for events in progress to be published. */
#define CAPTURE_TIME (1000 * MILLISECOND)
#define CAPTURE_LOOK 1
#define LAST_WORDS 2
/* Maximum reads of notices between looks at programs: a program that keeps making files must not delay others. */
#define NOTICES_MAX 4
/* Limits for other users. A program needs up to three descriptors and two mappings; a ring needs a mapping. */
#define USERS_MAX 256
#define PROGRAMS_MAX 2048
#define RINGS_MAX 16384

struct record_users {
	struct record_providers_common common;
	struct record_providers **all; /* the first collection belongs to this user */
	size_t count;
	size_t capacity;
	bool all_users;
	int watch;        /* inotify descriptor; -1 without */
	int parent_watch; /* inotify number of the parent folder; -1 if unwatched */
	bool more;        /* unread notices are left */
	bool full;        /* the warning about too many users was printed */
};

/* ---- opening ---------------------------------------------------------------------------------- */

static void watch_folder(struct record_users *users, struct record_providers *providers, const char *path)
{
	if (users->watch >= 0)
		providers->watch = inotify_add_watch(users->watch, path, IN_MOVED_TO | IN_CREATE | IN_ONLYDIR);
	if (providers->watch < 0)
		common_message_warning("the folder of providers, %s, cannot be watched: %s", path, strerror(errno));
}

/* Adds a collection, which closes the folder. */
static int add_user(struct record_users *users, int folder, const char *path, uint32_t user)
{
	struct record_providers *providers;
	int status;

	if (COMMON_VECTOR_RESERVE(users->all, users->capacity, users->count + 1, "users")) {
		close(folder);
		return PTL_NO_MEMORY;
	}
	status = record_providers_open(&users->common, folder, user, users->count ? users->all[0] : NULL, &providers);
	if (status < 0)
		return status;
	users->all[users->count++] = providers;
	watch_folder(users, providers, path);
	return 0;
}

static int open_own(struct record_users *users)
{
	char path[RECORD_SHM_PATH_SIZE];
	int folder, status = record_shm_open(true, path, &folder);

	if (status == 0)
		status = add_user(users, folder, path, geteuid());
	if (status == 0)
		status = record_providers_enter(users->all[0]);
	return status == 0 ? record_providers_begin(users->all[0]) : status;
}

static bool has_user(const struct record_users *users, uint32_t user)
{
	for (size_t i = 0; i < users->count; i++)
		if (users->all[i]->user == user)
			return true;
	return false;
}

/* Adds the collection of another user. A user's folder must not keep root from recording other users. */
static int open_other(void *context, uint32_t user)
{
	struct record_users *users = context;
	char path[RECORD_SHM_PATH_SIZE];
	int folder, status;

	if (has_user(users, user) || record_shm_open_user(user, path, &folder) < 0)
		return 0;
	if (users->count > USERS_MAX) {
		close(folder);
		if (!users->full)
			common_message_warning("providers of more than %d users: those of user %u are left out",
					       USERS_MAX, user);
		users->full = true;
		return 0;
	}
	status = add_user(users, folder, path, user);
	if (status == 0)
		return record_providers_begin(users->all[users->count - 1]);
	if (status != PTL_NO_MEMORY)
		common_message_warning("providers of user %u are left out: %s", user, ptl_error_text());
	return status == PTL_NO_MEMORY ? status : 0;
}

/* Watches first and lists afterwards, so that no new folder is missed. */
static int open_others(struct record_users *users)
{
	if (users->watch >= 0)
		users->parent_watch = inotify_add_watch(users->watch, RECORD_SHM_PARENT,
							IN_CREATE | IN_MOVED_TO | IN_ATTRIB | IN_ONLYDIR);
	if (users->parent_watch < 0)
		common_message_warning("%s cannot be watched, programs of users who begin later are left out: %s",
				       RECORD_SHM_PARENT, strerror(errno));
	return record_shm_users(open_other, users);
}

static void take_answers(struct record_users *users)
{
	for (size_t i = 1; i < users->count; i++)
		record_providers_take_answers(users->all[0], users->all[i]);
}

int record_users_open(struct record_capture *capture, struct record_observer *observer, struct record_users **result)
{
	struct record_users *users = calloc(1, sizeof(*users));
	int status;

	if (!users)
		return common_fail_memory("providers", sizeof(*users));
	users->common = (struct record_providers_common){
		.capture = capture,
		.observer = observer,
		.ordered.capture = capture,
		.programs.most = PROGRAMS_MAX,
		.rings.most = RINGS_MAX,
		.schema_bytes.most = RECORD_SCHEMA_BYTES_MAX,
		.schema_items.most = RECORD_SCHEMA_ITEMS_MAX,
	};
	users->all_users = (capture->settings->attach || capture->settings->command) && record_shm_sees_all();
	users->parent_watch = -1;
	users->watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	status = open_own(users);
	if (status == 0 && users->all_users)
		status = open_others(users);
	if (status < 0) {
		record_users_close(users);
		return status;
	}
	take_answers(users);
	if (capture->settings->attach)
		record_providers_say_absent(users->all[0]);
	*result = users;
	return 0;
}

void record_users_close(struct record_users *users)
{
	if (!users)
		return;
	for (size_t i = 0; i < users->count; i++)
		record_providers_close(users->all[i]);
	free(users->all);
	common_byte_map_free(&users->common.schemas);
	common_byte_map_free(&users->common.reported_losses);
	if (users->watch >= 0)
		close(users->watch);
	free(users);
}

/* ---- rules ------------------------------------------------------------------------------------ */

static void leave_user(struct record_users *users, size_t i)
{
	common_message_warning("providers of user %u are left out from here on: %s", users->all[i]->user,
			       ptl_error_text());
	record_providers_close(users->all[i]);
	users->all[i] = users->all[--users->count];
}

int record_users_turn(struct record_users *users, const char *text, bool on, FILE *notes)
{
	struct provider_shm_rule rule;
	int status = record_provider_rule_parse(text, &rule);

	if (status == 0)
		status = record_providers_change(users->all[0], &rule, text, on);
	if (status < 0)
		return status;
	for (size_t i = users->count; i-- > 1;)
		if (record_providers_change(users->all[i], &rule, text, on) < 0)
			leave_user(users, i);
	take_answers(users);
	if (on && !record_users_rule(users, record_providers_find(users->all[0], &rule))->answered)
		fprintf(notes,
			"ptl-record: no program has a provider '%s' so far; programs that start later are recorded\n",
			text);
	return 0;
}

const struct provider_shm_rule *record_users_rule(const struct record_users *users, size_t i)
{
	const struct provider_shm_session_file *file = &users->all[0]->session.file;

	return i < file->session.rule_count ? &file->rules[i] : NULL;
}

/* ---- while it runs ---------------------------------------------------------------------------- */

static int take_notice(struct record_users *users, const struct inotify_event *event)
{
	uint32_t user;

	if (!event->len)
		return 0;
	if (event->wd == users->parent_watch)
		return record_shm_parse_user(event->name, &user) && user != geteuid() ? open_other(users, user) : 0;
	for (size_t i = 0; i < users->count; i++)
		if (users->all[i]->watch == event->wd)
			return record_providers_notice(users->all[i], event->name);
	return 0;
}

/* Lists all folders, because notices were dropped. */
static int look_at_all(struct record_users *users)
{
	for (size_t i = 0; i < users->count; i++)
		users->all[i]->must_list = true;
	return users->all_users ? record_shm_users(open_other, users) : 0;
}

static int take_notices(struct record_users *users, const char *bytes, size_t size)
{
	int status = 0;

	for (size_t at = 0; status == 0 && at < size;) {
		const struct inotify_event *event = (const void *)(bytes + at);

		at += sizeof(*event) + event->len;
		status = event->mask & IN_Q_OVERFLOW ? look_at_all(users) : take_notice(users, event);
	}
	return status;
}

/* Handles new files in the folders. */
static int look_around(struct record_users *users)
{
	_Alignas(struct inotify_event) char bytes[16384];
	ssize_t n = 0;
	int status = 0;

	users->more = false;
	for (unsigned i = 0; status == 0 && users->watch >= 0; i++) {
		users->more = i == NOTICES_MAX;
		if (users->more || (n = read(users->watch, bytes, sizeof(bytes))) <= 0)
			break;
		status = take_notices(users, bytes, (size_t)n);
	}
	return status;
}

int record_users_step(struct record_users *users, uint64_t now)
{
	int status = look_around(users);

	for (size_t i = 0; status == 0 && i < users->count; i++)
		status = record_providers_step(users->all[i], now, now);
	return status;
}

int record_users_watch(const struct record_users *users)
{
	return users->watch;
}

unsigned record_users_timeout(const struct record_users *users)
{
	unsigned least = users->more ? 0 : record_providers_timeout(users->all[0]);

	for (size_t i = 1; i < users->count; i++) {
		const unsigned timeout = record_providers_timeout(users->all[i]);

		least = timeout < least ? timeout : least;
	}
	return least;
}

/* ---- end -------------------------------------------------------------------------------------- */

static void pause_milliseconds(long milliseconds)
{
	const struct timespec time = {.tv_nsec = milliseconds * (long)MILLISECOND};

	nanosleep(&time, NULL);
}

static bool is_capturing(struct record_users *users)
{
	for (size_t i = 0; i < users->count; i++)
		if (record_providers_are_asked(users->all[i]))
			return true;
	return false;
}

static int capture_state(struct record_users *users)
{
	const uint64_t start = record_now();
	int status = 0;

	for (size_t i = 0; status == 0 && i < users->count; i++)
		status = record_providers_ask(users->all[i]);
	while (status == 0 && is_capturing(users) && record_now() - start < CAPTURE_TIME) {
		pause_milliseconds(CAPTURE_LOOK);
		status = record_users_step(users, record_now());
	}
	return status;
}

static void say_unanswered(struct record_users *users)
{
	for (size_t i = 0; i < users->count; i++)
		record_provider_session_answers(&users->all[i]->session);
	take_answers(users);
	record_providers_say_unanswered(users->all[0]);
}

int record_users_finish(struct record_users *users)
{
	int status = capture_state(users);

	say_unanswered(users);
	for (size_t i = 0; status == 0 && i < users->count; i++)
		status = record_providers_turn_off(users->all[i]);
	if (status == 0)
		pause_milliseconds(LAST_WORDS);
	for (size_t i = 0; status == 0 && i < users->count; i++)
		status = record_providers_end(users->all[i]);
	return status;
}
