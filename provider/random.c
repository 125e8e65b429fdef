/* SPDX-License-Identifier: BSD-2-Clause */
/* Random numbers. Safe in signal handlers. */
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "common/hash.h"
#include "provider/state.h"

uint64_t provider_random(void)
{
	static uint64_t calls;
	struct timespec now;
	uint64_t number;

	if (getrandom(&number, sizeof(number), GRND_NONBLOCK) != sizeof(number)) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		number = (uint64_t)now.tv_nsec ^ (uint64_t)now.tv_sec << 30 ^ (uint64_t)getpid() << 44;
		number += __atomic_add_fetch(&calls, COMMON_HASH_FACTOR, __ATOMIC_RELAXED);
	}
	return number ? number : 1;
}
