/* SPDX-License-Identifier: BSD-2-Clause */
/* Turns a SIGBUS into a return value. */
#include "record/provider/shm_guard.h"

#include <setjmp.h>
#include <string.h>

#include "common/signals.h"

static __thread sigjmp_buf *place;

static void on_bus_error(int number)
{
	if (place)
		siglongjmp(*place, 1);
	/* An unexpected SIGBUS: the access repeats after the handler, and ends the program. */
	common_signal_catch(number, SIG_DFL, 0, NULL);
}

void record_guard_start(void)
{
	/* Unmasked, because siglongjmp leaves the handler without unmasking. */
	common_signal_catch(SIGBUS, on_bus_error, SA_NODEFER, NULL);
}

bool record_guard(void (*function)(void *context), void *context)
{
	sigjmp_buf here;

	if (sigsetjmp(here, 0)) {
		place = NULL;
		return false;
	}
	place = &here;
	function(context);
	place = NULL;
	return true;
}

struct copy {
	void *to;
	const void *from;
	size_t size;
};

static void copy_guarded(void *context)
{
	const struct copy *request = context;

	memcpy(request->to, request->from, request->size);
}

bool record_guard_copy(void *to, const void *from, size_t size)
{
	struct copy request = {to, from, size};

	return record_guard(copy_guarded, &request);
}
