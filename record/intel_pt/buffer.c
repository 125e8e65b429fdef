/* SPDX-License-Identifier: BSD-2-Clause */
/* Names a buffer, and starts and stops its events. */
#include <stdio.h>
#include <sys/ioctl.h>

#include "record/intel_pt/intel_pt_state.h"

const char *intel_pt_buffer_name(const struct intel_pt_buffer *buffer, char name[32])
{
	if (buffer->cpu == PTL_NO_CPU)
		snprintf(name, 32, "thread %u", buffer->stream.tid);
	else
		snprintf(name, 32, "CPU %u", buffer->cpu);
	return name;
}

void intel_pt_buffer_control(const struct intel_pt_buffer *buffer, unsigned long request)
{
	/* An ended thread needs no control. An event without a thread only holds the rings, and stays off. */
	for (size_t i = 0; i < buffer->count; i++)
		if (buffer->list[i].thread)
			(void)ioctl(buffer->list[i].fd, request, 0);
}

bool intel_pt_events_may_start(const struct intel_pt *pt)
{
	return __atomic_load_n(&pt->enabled, __ATOMIC_ACQUIRE) && !__atomic_load_n(&pt->held, __ATOMIC_ACQUIRE);
}
