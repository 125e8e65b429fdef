/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program reads /proc/self/status. The runtime catches signals that the program leaves to the kernel: the lines SigIgn and SigCgt
 * get the program's own signals. The lines have the same length then.
 */
#include <string.h>
#include <sys/syscall.h>

#include "record/software/runtime/runtime.h"

#define FILE_MAX 4096u
#define LABEL_SIZE 9u /* of the end of a line, "SigIgn:" and a tab */
#define DIGITS 16u
#define TAIL_MAX 32u /* more than a label and its digits */

static bool any_opened;

static bool ends_with_status(const char *text, size_t size)
{
	return size >= 6 && !memcmp(text + size - 6, "status", 6);
}

void runtime_status_opened(const char *path)
{
	if (ends_with_status(path, strlen(path)))
		__atomic_store_n(&any_opened, true, __ATOMIC_RELAXED);
}

/* Whether the file is a thread's of this process: /proc/PID/status or /proc/PID/task/TID/status. */
static bool is_own_status(const struct runtime_thread *thread, uint64_t fd)
{
	/* Another /proc has the ids of another pid namespace. */
	const uint64_t pids[] = {thread->pid, (uint64_t)RUNTIME_CALL(SYS_getpid, 0)};
	char link[64], text[64], own[32];
	size_t at = 0;
	int64_t size;

	runtime_put(link, sizeof(link), &at, "/proc/self/fd/");
	runtime_put_number(link, sizeof(link), &at, (uint32_t)fd, 10);
	size = RUNTIME_CALL(SYS_readlink, link, text, sizeof(text));
	for (unsigned i = 0; i < 2; i++) {
		at = 0;
		runtime_put(own, sizeof(own), &at, "/proc/");
		runtime_put_number(own, sizeof(own), &at, pids[i], 10);
		runtime_put(own, sizeof(own), &at, "/");
		if (size > (int64_t)at && !memcmp(text, own, at) && ends_with_status(text, (size_t)size))
			return true;
	}
	return false;
}

/* The program's caught signals, or the ignored ones, as the file shows them. */
static void print_signals(bool caught, char digits[DIGITS])
{
	uint64_t set = 0;

	for (int signal = 1; signal < RUNTIME_SIGNALS; signal++) {
		const uint64_t handler = runtime.actions[signal].handler;

		if (caught ? handler > (uint64_t)SIG_IGN : handler == (uint64_t)SIG_IGN)
			set |= 1ull << (signal - 1);
	}
	for (unsigned i = 0; i < DIGITS; i++)
		digits[i] = "0123456789abcdef"[set >> 4 * (DIGITS - 1 - i) & 15];
}

/* The end of what was read last: a line may go on in the next read. */
static struct {
	struct runtime_lock lock;
	uint64_t fd, position; /* behind the bytes */
	size_t size;
	char bytes[TAIL_MAX];
} tail;

/* Mends lines that begin in text. The program has text from `from` on, at `out`. */
static void mend(const char *text, size_t size, size_t from, uint64_t out)
{
	static const char *const labels[] = {"\nSigIgn:\t", "\nSigCgt:\t"};
	char digits[DIGITS];

	for (size_t i = 0; i + LABEL_SIZE < size; i++)
		for (unsigned j = 0; j < 2; j++) {
			if (text[i] != '\n' || memcmp(text + i, labels[j], LABEL_SIZE) != 0)
				continue;
			print_signals(j == 1, digits);
			for (size_t k = 0, at = i + LABEL_SIZE; k < DIGITS && at < size; k++, at++)
				if (at >= from)
					runtime_copy((void *)(out + at - from), &digits[k], 1);
		}
}

void runtime_status_read(struct runtime_thread *thread, int64_t number, const uint64_t args[6], int64_t result)
{
	char text[TAIL_MAX + FILE_MAX];
	uint64_t start;
	size_t size, before = 0;

	if (!__atomic_load_n(&any_opened, __ATOMIC_RELAXED) || result <= 0 ||
	    (number != SYS_read && number != SYS_pread64) || thread->process != runtime.process ||
	    !is_own_status(thread, args[0]))
		return;
	start = number == SYS_pread64 ? args[3] : (uint64_t)(RUNTIME_CALL(SYS_lseek, args[0], 0, 1) - result);
	size = result < FILE_MAX ? (size_t)result : FILE_MAX;
	runtime_lock(&tail.lock);
	if (tail.size && tail.fd == args[0] && tail.position == start) {
		before = tail.size;
		memcpy(text, tail.bytes, before);
	}
	if (runtime_copy(text + before, (const void *)args[1], size)) {
		mend(text, before + size, before, args[1]);
		tail.size = before + size < TAIL_MAX ? before + size : TAIL_MAX;
		tail.fd = args[0];
		tail.position = start + size;
		memcpy(tail.bytes, text + before + size - tail.size, tail.size);
	}
	runtime_unlock(&tail.lock);
}
