// SPDX-License-Identifier: BSD-2-Clause
// Writes events. The words on the command line are carried out in order:
//
//   count=N       N numbered events, at level Informational with keyword 1
//   threads=T,N   T threads that write N numbered events each
//   levels        an event at each level, and an event for each of three keywords
//   own=TIME      an event with the time TIME
//   fork=N        a child that writes N events and ends
//   spawn=WORD    runs this program with WORD as a child, and waits for the child
//   exec=WORD     executes this program with WORD, without a new process
//   line          waits for a line of standard input
//   say=TEXT      prints TEXT
//   group=GUID    both providers are members of this group, before anything else
//   redefine=NAME defines an event at run time, with a field of this name, and writes the event
//   abort, kill   ends by SIGABRT or SIGKILL
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ptl/provider.h>

PTL_PROVIDER(writer, "PTL-Test-Writer");
PTL_PROVIDER(other, "PTL-Test-Other");

PTL_EVENT(writer, number, 1, "Number", PTL_LEVEL_INFORMATIONAL, 0x1, "thread {0}, number {1}", PTL_U32(thread),
	  PTL_U64(index));
PTL_EVENT(writer, critical, 2, "Critical", PTL_LEVEL_CRITICAL, 0, "{0}", PTL_UTF8(text));
PTL_EVENT(writer, warning, 3, "Warning", PTL_LEVEL_WARNING, 0x2, "{0}", PTL_UTF8(text));
PTL_EVENT(writer, verbose, 4, "Verbose", PTL_LEVEL_VERBOSE, 0x4, "{0}", PTL_UTF8(text));
PTL_EVENT(writer, state, 5, "State", PTL_LEVEL_INFORMATIONAL, 0x1, "asked {0} times", PTL_U32(times));
PTL_EVENT(writer, timed, 6, "Timed", PTL_LEVEL_INFORMATIONAL, 0x1, "");
PTL_EVENT(other, hello, 1, "Hello", PTL_LEVEL_INFORMATIONAL, 0x1, "hello");

static void reported(struct ptl_provider *provider, enum ptl_control control, uint8_t level, uint64_t keywords,
		     void *context)
{
	static uint32_t times;

	(void)provider, (void)level, (void)keywords, (void)context;
	if (control == PTL_CONTROL_CAPTURE)
		state(++times);
}

struct work {
	pthread_t thread;
	uint32_t number;
	uint64_t count;
};

static void *run_thread(void *argument)
{
	const struct work *work = argument;

	for (uint64_t i = 0; i < work->count; i++)
		number(work->number, i);
	return NULL;
}

static void run_threads(unsigned count, uint64_t events)
{
	struct work *work = calloc(count, sizeof(*work));

	for (unsigned i = 0; i < count; i++) {
		work[i] = (struct work){.number = i + 1, .count = events};
		pthread_create(&work[i].thread, NULL, run_thread, &work[i]);
	}
	for (unsigned i = 0; i < count; i++)
		pthread_join(work[i].thread, NULL);
	free(work);
}

static int run_self(const char *program, const char *word, int in_place)
{
	char copy[256], *arguments[] = {(char *)program, copy, NULL};
	pid_t child = in_place ? 0 : fork();

	snprintf(copy, sizeof(copy), "%s", word);
	if (child)
		return waitpid(child, NULL, 0) == child ? 0 : 1;
	execv("/proc/self/exe", arguments);
	_exit(127);
}

static void fork_child(unsigned long count)
{
	const pid_t child = fork();

	if (child) {
		waitpid(child, NULL, 0);
		return;
	}
	for (unsigned long i = 0; i < count; i++)
		number(0, i);
	_exit(0);
}

static void redefine(const char *name)
{
	static struct ptl_field field = {.type = PTL_TYPE_U32};
	static struct ptl_event_definition event = {.provider = &writer,
						    .id = 9,
						    .level = PTL_LEVEL_INFORMATIONAL,
						    .keyword = 1,
						    .name = "Defined",
						    .fields = &field,
						    .field_count = 1};
	static const uint32_t value = 7;

	field.name = name;
	if (ptl_provider_add_event(&event) == 0)
		ptl_emit(&event, &(struct ptl_piece){&value, sizeof(value)}, 1);
}

static int act(const char *program, const char *word)
{
	const char *value = strchr(word, '=') ? strchr(word, '=') + 1 : "";
	unsigned long threads, count;

	if (!strncmp(word, "count=", 6)) {
		run_thread(&(struct work){.count = strtoul(value, NULL, 10)});
	} else if (sscanf(word, "threads=%lu,%lu", &threads, &count) == 2) {
		run_threads((unsigned)threads, count);
	} else if (!strcmp(word, "levels")) {
		critical("critical");
		warning("warning");
		number(0, 0);
		verbose("verbose");
		hello();
	} else if (!strncmp(word, "own=", 4)) {
		const uint64_t time = strtoull(value, NULL, 10);

		ptl_emit_with(&timed_event,
			      &(struct ptl_emit_options){.size = sizeof(struct ptl_emit_options), .time = &time}, NULL,
			      0);
	} else if (!strncmp(word, "fork=", 5)) {
		fork_child(strtoul(value, NULL, 10));
	} else if (!strncmp(word, "spawn=", 6) || !strncmp(word, "exec=", 5)) {
		return run_self(program, value, word[0] == 'e');
	} else if (!strncmp(word, "redefine", 8)) {
		redefine(*value ? value : "x");
	} else if (!strcmp(word, "line")) {
		int c;

		while ((c = getchar()) != '\n' && c != EOF)
			;
	} else if (!strncmp(word, "group=", 6)) {
		return 0;
	} else if (!strncmp(word, "say=", 4)) {
		puts(value);
		fflush(stdout);
	} else if (!strcmp(word, "abort")) {
		abort();
	} else if (!strcmp(word, "kill")) {
		raise(SIGKILL);
	} else {
		return 2;
	}
	return 0;
}

/* Joins a group. digits: the GUID's 16 bytes in hexadecimal, in the order of memory. */
static int join(const char *digits)
{
	struct ptl_guid group;

	for (int i = 0; i < 16; i++)
		if (sscanf(digits + 2 * i, "%2hhx", &group.bytes[i]) != 1)
			return 2;
	return ptl_provider_set_group(&writer, &group) || ptl_provider_set_group(&other, &group) ? 3 : 0;
}

int main(int argc, char **argv)
{
	int status = 0;

	writer.callback = reported;
	for (int i = 1; i < argc; i++)
		if (!strncmp(argv[i], "group=", 6) && join(argv[i] + 6))
			return 3;
	if (ptl_provider_register(&writer) < 0 || ptl_provider_register(&other) < 0)
		return 3;
	for (int i = 1; i < argc && status == 0; i++)
		status = act(argv[0], argv[i]);
	ptl_provider_unregister(&other);
	ptl_provider_unregister(&writer);
	return status;
}
