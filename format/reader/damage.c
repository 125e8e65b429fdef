/* SPDX-License-Identifier: BSD-2-Clause */
/* The list of damaged and missing data. The list grows while a trace is read, from any thread. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "format/reader/reader_internal.h"
#include "common/vector.h"

#define TEXT_SIZE 512

static void append_damage(struct ptl_trace *trace, struct ptl_damage *damage)
{
	/* Entries are returned by pointer, so only the array of pointers may move. */
	if (common_vector_room(&trace->damage.rows, trace->damage.count, sizeof(*trace->damage.rows)))
		trace->damage.rows[trace->damage.count++] = damage;
	else
		free(damage);
}

/*
 * Reserves memory for an entry. After a failure, opening or relogging the trace fails at the end (format_damage_check).
 */
static bool has_damage_room(struct ptl_trace *trace, size_t size)
{
	bool room;

	pthread_mutex_lock(&trace->damage.lock);
	room = !trace->damage.full && !common_memory_budget_take(&trace->damage.budget, size + 24, "pieces of damage",
								 trace->damage.count + 1);
	trace->damage.full |= !room;
	pthread_mutex_unlock(&trace->damage.lock);
	return room;
}

int format_damage_check(struct ptl_trace *trace)
{
	/* Fails as the reservation in has_damage_room failed. */
	return trace->damage.full ? common_memory_budget_take(&trace->damage.budget, SIZE_MAX / 2, "pieces of damage",
							      trace->damage.count + 1)
				  : 0;
}

void format_damage_add(struct ptl_trace *trace, uint64_t offset, uint64_t size, int status, uint32_t stream,
		       const char *format, ...)
{
	struct ptl_damage *damage;
	char text[TEXT_SIZE];
	va_list arguments;
	size_t length;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	length = strlen(text) + 1;
	if (!has_damage_room(trace, sizeof(*damage) + length))
		return;
	damage = malloc(sizeof(*damage) + length);
	if (!damage)
		return;
	memcpy(damage + 1, text, length);
	*damage = (struct ptl_damage){offset, size, status, stream, (const char *)(damage + 1)};
	pthread_mutex_lock(&trace->damage.lock);
	append_damage(trace, damage);
	pthread_mutex_unlock(&trace->damage.lock);
}

void format_damage_entry(struct ptl_trace *trace, struct format_entry *entry, int status)
{
	const struct ptl_buffer *buffer = &entry->buffer;
	bool known;

	pthread_mutex_lock(&trace->damage.lock);
	known = entry->reported;
	entry->reported = true;
	pthread_mutex_unlock(&trace->damage.lock);
	if (!known)
		format_damage_add(trace, buffer->offset,
				  (uint64_t)FORMAT_BUFFER_HEADER_SIZE + entry->side_size + buffer->stored_size, status,
				  buffer->stream.id, "%s", ptl_error_text());
}

int format_damage_buffer(struct ptl_trace *trace, struct format_entry *entry, int status)
{
	const struct ptl_buffer *buffer = &entry->buffer;
	char cause[TEXT_SIZE];

	snprintf(cause, sizeof(cause), "%s", ptl_error_text());
	if (format_is_damage(status))
		format_damage_entry(trace, entry,
				    common_fail(status, "stream %u, sequence %" PRIu64 ": %s", buffer->stream.id,
						buffer->sequence, cause));
	return common_fail(status, "buffer at offset %" PRIu64 " (stream %u, sequence %" PRIu64 "): %s", buffer->offset,
			   buffer->stream.id, buffer->sequence, cause);
}

size_t ptl_damage_count(const struct ptl_trace *trace)
{
	pthread_mutex_t *lock = (pthread_mutex_t *)&trace->damage.lock;
	size_t count;

	pthread_mutex_lock(lock);
	count = trace->damage.count;
	pthread_mutex_unlock(lock);
	return count;
}

const struct ptl_damage *ptl_damage_at(const struct ptl_trace *trace, size_t i)
{
	pthread_mutex_t *lock = (pthread_mutex_t *)&trace->damage.lock;
	const struct ptl_damage *damage = NULL;

	pthread_mutex_lock(lock);
	if (i < trace->damage.count)
		damage = trace->damage.rows[i];
	pthread_mutex_unlock(lock);
	return damage;
}

void format_damage_free(struct ptl_trace *trace)
{
	for (size_t i = 0; i < trace->damage.count; i++)
		free(trace->damage.rows[i]);
	free(trace->damage.rows);
}
