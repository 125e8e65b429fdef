/* SPDX-License-Identifier: BSD-2-Clause */
/* Asks a session of the same user for its files. */
#include "format/reader/session_files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <xxhash.h>

#include "common/bytes.h"
#include "common/error.h"
#include "common/session/session_ask.h"
#include "common/session/session_folder.h"
#include "format/event/kernel_class.h"

#define GONE_MAX 16        /* most consecutive files that were deleted before they could be opened */
#define GONE_PAUSE 50      /* milliseconds before the session is asked again */
#define LEFT_GONE_MAX 4096 /* most consecutive missing files of a finished session */

/* ---- while the session runs ------------------------------------------------------------------ */

/* Answer "NUMBER MISSED PATH" (record/control/request.c). */
struct next {
	uint64_t number, missed;
	char *path; /* NULL: no file yet */
};

static int parse_next(const char *text, struct next *next)
{
	int at = 0;

	if (!*text)
		return 0;
	if (sscanf(text, "%" SCNu64 " %" SCNu64 " %n", &next->number, &next->missed, &at) != 2 || !at)
		return common_fail(PTL_SYSTEM, "the session's answer is not as it should be");
	next->path = strdup(text + at);
	return next->path ? 0 : common_fail_memory("file name", strlen(text));
}

static int wait_for_session(void *context, const char *name, uint64_t waited)
{
	struct format_session_files *files = context;

	files->wait_result = common_session_wait(&files->wait, name, waited);
	return files->wait_result;
}

/*
 * Asks for the answer at the session's end. Called before the first file is requested, so that the session cannot end
 * in between.
 */
static void ask_for_rest(struct format_session_files *files, int folder, const char *name)
{
	const struct common_session_wait wait = {wait_for_session, files};
	struct ptl_bytes request = {0};

	common_write_bytes(&request, "rest", sizeof("rest"));
	if (common_session_request(folder, name, &wait, &request, &files->connection))
		files->connection = -1;
	files->question_sent = true;
}

static int ask_for_next(struct format_session_files *files, int folder, const char *name, struct next *next)
{
	const struct common_session_wait wait = {wait_for_session, files};
	struct ptl_bytes request = {0};
	const char *text;
	char *memory, after[24];
	size_t size;
	int status;

	common_write_bytes(&request, "next", sizeof("next"));
	snprintf(after, sizeof(after), "%" PRIu64, files->number);
	if (files->number)
		common_write_bytes(&request, after, strlen(after) + 1);
	status = common_session_ask(folder, name, &wait, &request, &memory, &text, &size);
	if (status)
		return status;
	status = parse_next(text, next);
	free(memory);
	return status;
}

/* ---- when the session is over ---------------------------------------------------------------- */

static void end_with_doubt(struct format_session_files *files, const char *why)
{
	snprintf(files->doubt, sizeof(files->doubt), "session %s: it is not known what was missed at its end: %s",
		 files->session, why);
	files->over = true;
}

/*
 * Receives the session's final answer, or finds that the session was killed. PTL_SYSTEM: no answer yet; PTL_NO_MEMORY.
 */
static int await_rest(struct format_session_files *files)
{
	const int status = common_session_await(files->connection, &files->rest);

	if (status < 0 && status != PTL_NOT_FOUND)
		return status;
	close(files->connection);
	files->connection = -1;
	files->killed = status == PTL_NOT_FOUND;
	/* A recorder that refuses the question answers at once and continues. */
	files->over = files->killed || !files->rest.refused;
	if (!files->killed)
		return 0;
	snprintf(files->doubt, sizeof(files->doubt), "session %s was killed: what it recorded last may be missing",
		 files->session);
	return format_session_killed_find(&files->left, files->path, files->fd, files->number);
}

/* Handles a failed request to a session, which may be over; the reason is in the error chain. */
static int end_session(struct format_session_files *files, int failure)
{
	char why[256];
	int status = 0;

	snprintf(why, sizeof(why), "%s", ptl_error_text());
	if (files->connection >= 0)
		status = await_rest(files);
	if (status < 0)
		return status == PTL_SYSTEM ? common_fail(failure, "%s", why) : status;
	if (!files->over)
		end_with_doubt(files, files->rest.refused ? files->rest.text : why);
	return 0;
}

/* Checks without waiting whether the session has stated its end. */
static int look_at_rest(struct format_session_files *files)
{
	return files->question_sent && !files->over && files->connection >= 0 &&
			       common_session_is_answered(files->connection)
		       ? await_rest(files)
		       : 0;
}

/* ---- remaining files ------------------------------------------------------------------------- */

/* Contents of the final answer, as documented in record/control/request.h. */
struct left {
	uint64_t first, last;
	const char *stem, *suffix;
	const char *counts, *end;
};

static const char *behind(const char *field)
{
	return field + strlen(field) + 1;
}

/* Parses the final answer. Returns false if no files are left, or the answer is invalid. */
static bool parse_left(struct format_session_files *files, struct left *left)
{
	const char *text = files->rest.text;

	if (!files->rest.size || files->rest.refused)
		return false;
	left->end = text + files->rest.size;
	if (sscanf(text, "%" SCNu64 " %" SCNu64, &left->first, &left->last) == 2 && left->last < INT64_MAX &&
	    left->first && left->first <= left->last + 1 && (left->stem = behind(text)) < left->end &&
	    (left->suffix = behind(left->stem)) < left->end && (left->counts = behind(left->suffix)) < left->end)
		return true;
	end_with_doubt(files, "the session's answer is not as it should be");
	return false;
}

/*
 * Returns how many events were recorded before the file with this number. For a file older than all known files: before
 * the first known file.
 */
static uint64_t events_before(const struct left *left, uint64_t number)
{
	const char *count = left->counts;

	for (uint64_t at = left->last + 1; at > number && behind(count) < left->end; at--)
		count = behind(count);
	return strtoull(count, NULL, 10);
}

static void count_missed(struct format_session_files *files, const struct left *left, uint64_t from, uint64_t to)
{
	const uint64_t first = events_before(left, from), last = events_before(left, to);

	if (from < to && first < last)
		files->missed += last - first;
}

/* Opens a remaining file. *fd is -1 if the file is gone. */
static int open_left(struct format_session_files *files, const struct left *left, uint64_t number, int *fd,
		     const char *path)
{
	const uint64_t from_last = left->last - number;

	if (*left->stem) {
		*fd = open(path, O_RDONLY | O_CLOEXEC);
		return *fd < 0 && errno != ENOENT ? common_fail_errno("%s", path) : 0;
	}
	if (from_last < files->rest.descriptor_count) {
		*fd = files->rest.descriptors[from_last];
		files->rest.descriptors[from_last] = -1;
	}
	return 0;
}

/*
 * Finds the first existing file from *number on: its number, and its path in new memory. Not found: *fd = -1, and
 * *number is the last number plus one.
 */
static int find_left(struct format_session_files *files, const struct left *left, uint64_t *number, int *fd,
		     char **path)
{
	for (unsigned gone = 0; *number <= left->last; ++*number, gone++) {
		int status;

		if (gone == LEFT_GONE_MAX)
			return common_fail(PTL_SYSTEM, "the files of session %s are gone", files->session);
		if (asprintf(path, "%s%s%06" PRIu64 "%s", *left->stem ? left->stem : files->session,
			     *left->stem ? "" : ".", *number, left->suffix) < 0) {
			*path = NULL;
			return common_fail_memory("file name", strlen(left->stem));
		}
		status = open_left(files, left, *number, fd, *path);
		if (*fd >= 0)
			return 0;
		free(*path);
		*path = NULL;
		if (status < 0)
			return status;
	}
	return 0;
}

static int take_killed(struct format_session_files *files, int *fd, char **path)
{
	uint64_t number = files->number;
	const int status = format_session_killed_next(&files->left, &number, fd, path);

	if (!status && *fd >= 0 && number > files->number + 1)
		snprintf(files->doubt, sizeof(files->doubt),
			 "session %s was killed: what it recorded last may be missing, and so is what was in files "
			 "that are "
			 "gone",
			 files->session);
	if (*fd >= 0)
		files->number = number;
	files->files += *fd >= 0;
	return status;
}

static int take_left(struct format_session_files *files, int *fd, char **path)
{
	const uint64_t wanted = files->number + 1;
	struct left left = {0};
	uint64_t number;
	int status;

	if (!parse_left(files, &left) || wanted > left.last)
		return 0;
	number = wanted < left.first ? left.first : wanted;
	status = find_left(files, &left, &number, fd, path);
	count_missed(files, &left, wanted, number);
	files->number = number;
	files->files += *fd >= 0;
	return status;
}

/* ---- files ----------------------------------------------------------------------------------- */

static int ask_session(struct format_session_files *files, int folder, const char *name, struct next *next)
{
	const bool first = !files->number;
	int status;

	if (!files->question_sent)
		ask_for_rest(files, folder, name);
	if (files->wait_result)
		return files->wait_result;
	status = ask_for_next(files, folder, name, next);
	if (first || status == PTL_NO_MEMORY || files->wait_result)
		return status;
	return status < 0 ? end_session(files, status) : look_at_rest(files);
}

/* Finds the next file. *path is NULL if there is none; *fd is -1 if the caller must open the file. */
static int find_next(struct format_session_files *files, int *fd, char **path)
{
	struct next next = {0};
	const char *name;
	int folder, status = common_session_name(files->session, &name);

	*path = NULL;
	*fd = -1;
	if (!status)
		status = look_at_rest(files);
	if (!status && !files->over) {
		status = common_session_folder(false, &folder);
		if (!status) {
			status = ask_session(files, folder, name, &next);
			close(folder);
		} else if (status == PTL_NOT_FOUND && !files->number)
			return common_fail(PTL_NOT_FOUND, "there is no session %s", name);
		else if (status == PTL_NOT_FOUND)
			status = end_session(files, status);
	}
	/* When a session of the same name answers, the preceding session has already stated its end. */
	if (status || files->over) {
		free(next.path);
		if (status)
			return status;
		return files->killed ? take_killed(files, fd, path) : take_left(files, fd, path);
	}
	if (next.path) {
		files->number = next.number;
		files->missed += next.missed;
		files->files++;
	}
	*path = next.path;
	return 0;
}

/* Remembers the path and the descriptor, to find the remaining files if the session is killed. */
static int remember_file(struct format_session_files *files, int fd, const char *path)
{
	if (files->path && files->fd >= 0)
		close(files->fd);
	free(files->path);
	files->path = strdup(path);
	files->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (files->fd < 0)
		return common_fail_errno("%s", path);
	return files->path ? 0 : common_fail_memory("file name", strlen(path));
}

/* If the session's current file is gone, the next file will soon exist. */
static void wait_for_another(void)
{
	const struct timespec pause = {.tv_nsec = GONE_PAUSE * 1000000l};

	nanosleep(&pause, NULL);
}

/*
 * An open file cannot be lost any more. A file deleted before the open is requested again, and then counted as missed.
 */
int format_session_files_next(struct format_session_files *files, int *fd, char **path)
{
	uint64_t last_gone = 0;
	int status;

	common_hash_map_free(&files->before);
	files->before = files->seen;
	files->seen = (struct common_hash_map){0};
	for (unsigned gone = 0;; gone++) {
		status = find_next(files, fd, path);
		if (status || !*path)
			return status;
		if (*fd < 0)
			*fd = open(*path, O_RDONLY | O_CLOEXEC);
		if (*fd >= 0)
			break;
		if (gone == GONE_MAX)
			status = common_fail_errno("%s", *path);
		free(*path);
		*path = NULL;
		if (status < 0)
			return status;
		if (files->number == last_gone)
			wait_for_another();
		last_gone = files->number;
		files->number--;
		files->files--;
	}
	status = remember_file(files, *fd, *path);
	if (!status)
		return 0;
	close(*fd);
	free(*path);
	*fd = -1;
	*path = NULL;
	return status;
}

int format_session_files_begin(struct format_session_files *files, int *fd, char **path)
{
	const int status = format_session_files_next(files, fd, path);

	return status == PTL_NOT_FOUND
		       ? common_fail(PTL_SYSTEM, "there is no session %s; ptl-record list shows those that are there",
				     files->session)
		       : status;
}

void format_session_files_free(struct format_session_files *files)
{
	common_hash_map_free(&files->before);
	common_hash_map_free(&files->seen);
	if (files->question_sent && files->connection >= 0)
		close(files->connection);
	common_session_answer_free(&files->rest);
	format_session_killed_free(&files->left);
	if (files->path && files->fd >= 0)
		close(files->fd);
	free(files->path);
}

int format_session_files_repeat(struct format_session_files *files, const struct ptl_event *event)
{
	const enum format_class class = format_class_of(&event->descriptor);
	uint64_t key;
	int status;

	if (class == FORMAT_CLASS_NONE || !files->number)
		return 0;
	/* Each file begins with rundown, which is new only in the first file. */
	if ((event->flags & PTL_EVENT_INJECTED) && files->files > 1)
		return 1;
	key = XXH64(event->payload, event->payload_size, event->time);
	key ^= (uint64_t)event->descriptor.opcode << 56 ^ (uint64_t)event->pid << 24 ^ event->tid;
	status = common_hash_map_put(&files->seen, key, 1);
	if (status < 0)
		return status;
	return common_hash_map_get(&files->before, key) != NULL;
}
