/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Callbacks of providers. A thread waits for changes by recorders. The thread runs only if a provider has a callback.
 */
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/signals.h"
#include "provider/state.h"

/* State of the last notification of a provider. */
struct reported {
	uint32_t sessions;
	uint8_t level;
	uint64_t keywords;
	uint64_t ids; /* sum of session ids */
};

/* Held while a callback runs; a callback may register and unregister providers. */
static pthread_mutex_t callbacks = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static struct reported reported[PROVIDER_SHM_PROVIDERS_MAX];
static bool running;

static struct reported present(const struct ptl_enabled *enabled)
{
	struct reported now = {.sessions = __atomic_load_n(&enabled->sessions, __ATOMIC_ACQUIRE)};

	for (uint32_t left = now.sessions; left; left &= left - 1) {
		const struct ptl_enabled_session *slot = &enabled->slots[__builtin_ctz(left)];
		uint8_t level = __atomic_load_n(&slot->level, __ATOMIC_RELAXED);

		now.level = level > now.level ? level : now.level;
		now.keywords |= __atomic_load_n(&slot->keywords, __ATOMIC_RELAXED);
		now.ids += __atomic_load_n(&slot->session, __ATOMIC_RELAXED);
	}
	return now;
}

void provider_listener_report(uint32_t number)
{
	struct ptl_provider **registered = &provider_this_process.entries[number].provider, *provider;

	pthread_mutex_lock(&callbacks);
	provider = __atomic_load_n(registered, __ATOMIC_ACQUIRE);
	if (provider && provider->callback) {
		struct ptl_enabled *enabled = &provider_shared_entry(number)->enabled;
		struct reported now = present(enabled), *last = &reported[number];
		uint32_t capture = __atomic_load_n(&enabled->capture, __ATOMIC_ACQUIRE);
		ptl_control_callback *callback = provider->callback;
		void *context = provider->context;

		if (now.sessions != last->sessions || now.level != last->level || now.keywords != last->keywords ||
		    now.ids != last->ids) {
			*last = now;
			callback(provider, now.sessions ? PTL_CONTROL_ENABLE : PTL_CONTROL_DISABLE, now.level,
				 now.keywords, context);
		}
		if (capture && __atomic_load_n(registered, __ATOMIC_ACQUIRE) == provider)
			callback(provider, PTL_CONTROL_CAPTURE, now.level, now.keywords, context);
		if (capture)
			__atomic_and_fetch(&enabled->capture, ~capture, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&callbacks);
}

static void *listen_to_recorders(void *context)
{
	uint32_t *notify = &provider_shared_header()->notify;

	(void)context;
	for (;;) {
		uint32_t seen = __atomic_load_n(notify, __ATOMIC_ACQUIRE);
		uint32_t count = __atomic_load_n(&provider_this_process.entry_count, __ATOMIC_ACQUIRE);

		for (uint32_t i = 0; i < count; i++)
			provider_listener_report(i);
		syscall(SYS_futex, notify, FUTEX_WAIT, seen, NULL, NULL, 0);
	}
	return NULL;
}

void provider_listener_start(void)
{
	pthread_attr_t attributes;
	pthread_t thread;

	if (running || pthread_attr_init(&attributes))
		return;
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	running = common_thread_start(&thread, &attributes, listen_to_recorders, NULL) == 0;
	if (running)
		pthread_setname_np(thread, "ptl-provider");
	pthread_attr_destroy(&attributes);
}

void provider_listener_forget(uint32_t number)
{
	pthread_mutex_lock(&callbacks);
	if (!__atomic_load_n(&provider_this_process.entries[number].provider, __ATOMIC_ACQUIRE))
		memset(&reported[number], 0, sizeof(reported[number]));
	pthread_mutex_unlock(&callbacks);
}

void provider_listener_lock(void)
{
	pthread_mutex_lock(&callbacks);
}

void provider_listener_unlock(void)
{
	pthread_mutex_unlock(&callbacks);
}

void provider_listener_child(void)
{
	static const pthread_mutex_t fresh = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

	/* A recursive mutex belongs to a thread id, which differs in the child. */
	callbacks = fresh;
	running = false;
	memset(reported, 0, sizeof(reported));
}
