/* SPDX-License-Identifier: BSD-2-Clause */
/* Asks a session of the same user for its files. */
#include "dump/session/live.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <xxhash.h>

#include "common/bytes.h"
#include "common/error.h"
#include "common/session_ask.h"
#include "common/session_folder.h"
#include "format/event/kernel_class.h"

/* "NUMBER MISSED PATH"; empty: there is none so far. */
static int take_answer(struct dump_live *live, const char *text, char **path)
{
	uint64_t number, missed;
	int at = 0;

	if (!*text)
		return 0;
	if (sscanf(text, "%" SCNu64 " %" SCNu64 " %n", &number, &missed, &at) != 2 || !at)
		return common_fail(PTL_SYSTEM, "the session's answer is not as it should be");
	*path = strdup(text + at);
	live->number = number;
	live->missed += missed;
	live->files++;
	return *path ? 0 : common_fail_memory("file name", strlen(text));
}

static int ask(struct dump_live *live, int folder, const char *name, char **path)
{
	struct ptl_bytes request = {0};
	const char *text;
	char *memory, after[24];
	size_t size;
	int status;

	common_write_bytes(&request, "next", sizeof("next"));
	snprintf(after, sizeof(after), "%" PRIu64, live->number);
	if (live->number)
		common_write_bytes(&request, after, strlen(after) + 1);
	status = common_session_ask(folder, name, &request, &memory, &text, &size);
	if (status < 0)
		return status;
	status = take_answer(live, text, path);
	free(memory);
	return status;
}

int dump_live_next(struct dump_live *live, char **path)
{
	const bool first = !live->number;
	const char *name;
	int folder, status = common_session_name(live->session, &name);

	*path = NULL;
	common_hash_map_free(&live->before);
	live->before = live->seen;
	live->seen = (struct common_hash_map){0};
	if (status == 0)
		status = common_session_folder(false, &folder);
	if (status == PTL_NOT_FOUND)
		return first ? common_fail(PTL_NOT_FOUND, "there is no session %s", name) : 0;
	if (status < 0)
		return status;
	status = ask(live, folder, name, path);
	close(folder);
	/* It has ended meanwhile: what was read was its last file. */
	return status < 0 && !first && status != PTL_NO_MEMORY ? 0 : status;
}

void dump_live_free(struct dump_live *live)
{
	common_hash_map_free(&live->before);
	common_hash_map_free(&live->seen);
}

int dump_live_is_repeated(struct dump_live *live, const struct ptl_event *event)
{
	const enum format_class class = format_class_of(&event->descriptor);
	uint64_t key;
	int status;

	if (class == FORMAT_CLASS_NONE || !live->number)
		return 0;
	/* What was there already, which each file begins with. */
	if ((event->flags & PTL_EVENT_INJECTED) && live->files > 1)
		return 1;
	key = XXH64(event->payload, event->payload_size, event->time);
	key ^= (uint64_t)event->descriptor.opcode << 56 ^ (uint64_t)event->pid << 24 ^ event->tid;
	status = common_hash_map_put(&live->seen, key, 1);
	if (status < 0)
		return status;
	return common_hash_map_get(&live->before, key) != NULL;
}
