/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The client library is not linked: its web client takes longer to load than most commands run. This file declares the
 * functions it uses.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/error.h"
#include "common/program/interrupt.h"
#include "common/program/message.h"
#include "common/signals.h"
#include "elf/debuginfod.h"
#include "elf/file.h"

#define LIBRARY "libdebuginfod.so.1"
#define SERVERS "DEBUGINFOD_URLS"

static struct client {
	void *(*begin)(void);
	int (*find)(void *client, const unsigned char *build_id, int size, char **path);
	void (*set_progress)(void *client, int (*progress)(void *client, long done, long all));
	bool (*stop)(void);
	void *client; /* NULL: not enabled */
	bool held;
	bool abandoned; /* a search still runs and uses the client, but its result is not wanted any more */
	int failure;    /* errno of the first failed query; 0: none */
} client;

/* A query to the servers, which runs in its own thread. */
struct search {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool done, abandoned;
	uint8_t build_id[PTL_BUILD_ID_MAX];
	size_t size;
	int result;
	char *path;
};

#define LOOK_NS 50000000 /* pause between two checks for an interruption, in nanoseconds */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

bool elf_debuginfod_enabled(void)
{
	return client.client != NULL;
}

#ifdef ELF_WITHOUT_DEBUGINFOD

static int load_client(void)
{
	return common_fail(PTL_UNSUPPORTED,
			   "debuginfod: this program is built without shared libraries, so it has no client");
}

#else

static int load_client(void)
{
	static const struct {
		const char *name;
		void **function;
	} functions[] = {
		{"debuginfod_begin", (void **)&client.begin},
		{"debuginfod_find_debuginfo", (void **)&client.find},
		{"debuginfod_set_progressfn", (void **)&client.set_progress},
	};
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return common_fail(PTL_UNSUPPORTED, "debuginfod: %s cannot be loaded; apt-get install libdebuginfod1",
				   LIBRARY);
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		*functions[i].function = dlsym(library, functions[i].name);
		if (!*functions[i].function)
			return common_fail(PTL_UNSUPPORTED, "debuginfod: %s has no %s", LIBRARY, functions[i].name);
	}
	return 0;
}

#endif

/* Callback of the client: returns nonzero to end a download on the user's request. */
static int progress(void *unused, long done, long all)
{
	(void)unused;
	(void)done;
	(void)all;
	client.held |= client.stop && client.stop();
	return client.held || common_interrupt_check() != 0;
}

void elf_debuginfod_hold(bool hold)
{
	client.held = hold;
}

void elf_debuginfod_stop_if(bool (*stop)(void))
{
	client.stop = stop;
}

int elf_debuginfod_enable(void)
{
	const char *servers = getenv(SERVERS);
	int status;

	if (client.client)
		return 0;
	if (!servers || !*servers)
		return common_fail(PTL_MISUSE, "--debuginfod: which server? %s names none", SERVERS);
	status = load_client();
	if (status < 0)
		return status;
	client.client = client.begin();
	if (!client.client)
		return common_fail_memory("debuginfod", 0);
	client.set_progress(client.client, progress);
	return 0;
}

static void free_search(struct search *search)
{
	pthread_cond_destroy(&search->changed);
	pthread_mutex_destroy(&search->lock);
	free(search->path);
	free(search);
}

static void *run_search(void *context)
{
	struct search *search = context;
	char *path = NULL;
	int result = client.find(client.client, search->build_id, (int)search->size, &path);
	bool abandoned;

	pthread_mutex_lock(&search->lock);
	search->result = result;
	search->path = path;
	search->done = true;
	abandoned = search->abandoned;
	pthread_cond_signal(&search->changed);
	pthread_mutex_unlock(&search->lock);
	if (abandoned) {
		if (result >= 0)
			close(result);
		free_search(search);
	}
	return NULL;
}

/* Waits for the end of the search. Returns false if the user interrupts the wait. */
static bool wait_for_search(struct search *search)
{
	struct timespec until;
	bool done;

	pthread_mutex_lock(&search->lock);
	while (!search->done && !search->abandoned) {
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += LOOK_NS;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		if (pthread_cond_timedwait(&search->changed, &search->lock, &until) && !search->done)
			search->abandoned = progress(NULL, 0, 0) != 0;
	}
	done = search->done;
	pthread_mutex_unlock(&search->lock);
	return done;
}

/*
 * Queries the servers in a separate thread, as libdebuginfod of elfutils 0.192 does not call its progress function
 * while a server is silent. Returns the result of debuginfod_find_debuginfo.
 */
static int query_servers(const uint8_t *build_id, size_t size, char **path)
{
	struct search *search = calloc(1, sizeof(*search));
	pthread_t thread;
	int result = -ENOMEM;

	if (!search)
		return result;
	pthread_mutex_init(&search->lock, NULL);
	pthread_cond_init(&search->changed, NULL);
	memcpy(search->build_id, build_id, size);
	search->size = size;
	if (common_thread_start(&thread, NULL, run_search, search) != 0) {
		free_search(search);
		return result;
	}
	if (!wait_for_search(search)) {
		pthread_detach(thread);
		client.abandoned = true;
		return -EINTR;
	}
	pthread_join(thread, NULL);
	result = search->result;
	*path = search->path;
	search->path = NULL;
	free_search(search);
	return result;
}

int elf_debuginfod_open(const uint8_t *build_id, size_t size)
{
	struct elf_file *elf;
	char *path = NULL;
	int fd = -1, result;

	if (!client.client || client.held || !size || size > PTL_BUILD_ID_MAX)
		return -1;
	pthread_mutex_lock(&lock);
	result = client.abandoned ? -EINTR : query_servers(build_id, size, &path);
	if (result < 0 && result != -ENOENT && !client.held && !client.abandoned && !client.failure)
		client.failure = -result;
	pthread_mutex_unlock(&lock);
	if (result < 0)
		return -1;
	close(result);
	/* Verifies the file, since a server may answer with any file. */
	fd = elf_open_same(path, build_id, size, &elf);
	elf_close(elf);
	free(path);
	return fd;
}

void elf_debuginfod_warn(void)
{
	static bool failure_reported;

	if (client.failure && !failure_reported)
		common_message_warning("debuginfod: a server gave no answer: %s; names and lines may be missing",
				       strerror(client.failure));
	failure_reported |= client.failure != 0;
}
