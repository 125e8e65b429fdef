/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens and closes the recorder's end of the software source. */
#include "record/channel/source.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "common/error.h"

int record_channel_open(struct record_channel *channel, struct record_capture *capture,
			const struct channel_config *config)
{
	int status;

	*channel = (struct record_channel){
		.capture = capture,
		.order = {.capture = capture, .facts.model = capture->model},
		.cpus = {.capture = capture},
		.epoll = -1,
	};
	status = channel_create(&channel->channel, config);
	if (status < 0) {
		channel->channel = (struct channel){.fd = -1};
		errno = -status;
		return common_fail_errno("cannot make %llu MB of memory to share with the traced processes",
					 (unsigned long long)(channel_arena_size(config) >> 20));
	}
	channel->slots = calloc(config->slot_count, sizeof(*channel->slots));
	channel->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (channel->slots && channel->epoll >= 0)
		return 0;
	status = channel->epoll < 0 ? common_fail_errno("epoll_create1")
				    : common_fail_memory("slots", config->slot_count * sizeof(*channel->slots));
	record_channel_close(channel);
	return status;
}

void record_channel_close(struct record_channel *channel)
{
	uint64_t number, value;
	size_t at = 0;

	while (common_hash_map_next(&channel->processes, &at, &number, &value)) {
		struct record_channel_process *process = (struct record_channel_process *)(uintptr_t)value;

		if (process->pidfd >= 0)
			close(process->pidfd);
		free(process);
	}
	common_hash_map_free(&channel->processes);
	record_channel_order_free(&channel->order);
	record_channel_cpus_free(&channel->cpus);
	for (uint32_t i = 0; channel->slots && i < channel->channel.config.slot_count; i++)
		free(channel->slots[i].marks);
	channel_destroy(&channel->channel);
	if (channel->epoll >= 0)
		close(channel->epoll);
	free(channel->slots);
	*channel = (struct record_channel){.epoll = -1};
}

int record_channel_count_losses(struct record_channel *channel)
{
	const struct {
		uint32_t count;
		uint32_t kind;
		const char *cause;
	} counters[] = {
		{__atomic_load_n(&channel->channel.header->untraced_threads, __ATOMIC_RELAXED), PTL_LOSS_THREAD,
		 "more threads at one time than --threads allows"},
		{__atomic_load_n(&channel->channel.header->untraced_processes, __ATOMIC_RELAXED), PTL_LOSS_PROCESS,
		 "a process could not be traced: no memory for it, or no access to the recorder's"},
		{__atomic_load_n(&channel->channel.header->native_processes, __ATOMIC_RELAXED), PTL_LOSS_PROCESS,
		 "a process went on natively; the trace has a note of why"},
		{__atomic_load_n(&channel->channel.header->hidden_uprobes, __ATOMIC_RELAXED), PTL_LOSS_EVENTS,
		 "uprobes do not fire in code that the software source translates"},
	};
	int status = 0;

	for (size_t i = 0; status == 0 && i < sizeof(counters) / sizeof(counters[0]); i++) {
		const struct ptl_loss loss = {
			.kind = counters[i].kind,
			.stream = PTL_NO_ID,
			.pid = PTL_NO_ID,
			.tid = PTL_NO_ID,
			.count = counters[i].count,
			.cause = counters[i].cause,
		};

		if (loss.count)
			status = record_capture_loss(channel->capture, &loss);
	}
	return status;
}
