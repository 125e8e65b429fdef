/* SPDX-License-Identifier: BSD-2-Clause */
/* Activities of threads, with the semantics of EventSource. */
#include <string.h>

#include "provider/state.h"

#include "common/hash.h"

static const struct ptl_guid none;

void ptl_activity_create(struct ptl_guid *activity)
{
	static uint64_t count;
	uint64_t halves[2] = {provider_this_instance(), __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED)};

	if (!halves[0])
		halves[0] = provider_random();
	memcpy(activity->bytes, halves, sizeof(halves));
}

bool ptl_activity_current(struct ptl_guid *activity)
{
	const struct provider_thread *thread = provider_thread_self;

	*activity = thread ? *provider_activity_of(thread) : none;
	return memcmp(activity, &none, sizeof(none)) != 0;
}

void ptl_activity_set(const struct ptl_guid *activity, struct ptl_guid *previous)
{
	struct provider_thread *thread = provider_thread_self ? provider_thread_self : provider_thread_make();

	if (previous)
		*previous = thread ? *provider_activity_of(thread) : none;
	if (!thread)
		return;
	thread->frame_count = 0;
	thread->base = activity ? *activity : none;
}

/* Returns the length of a name without the suffix "Start" or "Stop". */
static size_t stem(const char *name, const char *suffix)
{
	size_t size = strlen(name), rest = strlen(suffix);

	return size >= rest && !memcmp(name + size - rest, suffix, rest) ? size - rest : size;
}

/*
 * Returns a key that a Start and its Stop share. The key is a number, because a definition may vanish (dlclose) while
 * its activity lasts.
 */
static uint64_t key_of(const struct ptl_event_definition *event)
{
	uint64_t key = COMMON_FNV1A ^ event->provider->number ^ (uint64_t)event->task << 32;
	size_t size;

	if (event->task)
		return key;
	size = stem(event->name, event->opcode == PTL_OPCODE_START ? "Start" : "Stop");
	return common_fnv1a(key, event->name, size);
}

/* Returns the index of the activity's innermost frame; the number of frames if there is no such frame. */
static uint32_t find_frame(const struct provider_thread *thread, uint64_t key)
{
	for (uint32_t i = thread->frame_count; i-- > 0;) {
		if (thread->frames[i].key == key)
			return i;
	}
	return thread->frame_count;
}

/* Removes a frame, and the later frames that are not detachable. */
static void end_activity(struct provider_thread *thread, uint32_t at)
{
	uint32_t kept = at;

	for (uint32_t i = at + 1; i < thread->frame_count; i++) {
		if (thread->frames[i].detachable)
			thread->frames[kept++] = thread->frames[i];
	}
	thread->frame_count = kept;
}

static void begin_activity(struct provider_thread *thread, const struct ptl_event_definition *event,
			   const struct ptl_guid *activity)
{
	/* Drop the outermost frame if there are too many: its Stop has probably never come. */
	if (thread->frame_count == PROVIDER_ACTIVITIES_MAX) {
		memmove(thread->frames, thread->frames + 1, sizeof(thread->frames) - sizeof(thread->frames[0]));
		thread->frame_count--;
	}
	thread->frames[thread->frame_count] = (struct provider_activity_frame){
		.id = *activity,
		.key = key_of(event),
		.detachable = event->activity & PTL_ACTIVITY_DETACHABLE,
	};
	__asm__ volatile("" ::: "memory");
	thread->frame_count++;
}

void provider_activity_step(struct provider_thread *thread, const struct ptl_event_definition *event,
			    struct ptl_guid *activity, struct ptl_guid *related)
{
	uint32_t at = find_frame(thread, key_of(event));

	*related = none;
	if (event->opcode == PTL_OPCODE_START) {
		if (at < thread->frame_count && !(event->activity & PTL_ACTIVITY_RECURSIVE))
			end_activity(thread, at);
		*related = *provider_activity_of(thread);
		ptl_activity_create(activity);
		begin_activity(thread, event, activity);
		return;
	}
	/* A Stop whose Start no session wanted belongs to the current activity. */
	*activity = at < thread->frame_count ? thread->frames[at].id : *provider_activity_of(thread);
	if (at < thread->frame_count)
		end_activity(thread, at);
}
