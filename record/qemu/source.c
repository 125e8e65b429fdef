/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens and closes the software source. */
#include "record/qemu/source.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "common/error.h"

int record_qemu_open(struct record_qemu *qemu, struct record_capture *capture, const struct qemu_channel_config *config)
{
	int status;

	*qemu = (struct record_qemu){
		.capture = capture,
		.order = {.capture = capture, .facts.model = capture->model},
		.cpus = {.capture = capture},
		.epoll = -1,
	};
	status = qemu_channel_create(&qemu->channel, config);
	if (status < 0) {
		qemu->channel = (struct qemu_channel){.fd = -1};
		errno = -status;
		return common_fail_errno("cannot make %llu MB of memory to share with QEMU",
					 (unsigned long long)(qemu_channel_arena_size(config) >> 20));
	}
	qemu->slots = calloc(config->slot_count, sizeof(*qemu->slots));
	qemu->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (qemu->slots && qemu->epoll >= 0)
		return 0;
	status = qemu->epoll < 0 ? common_fail_errno("epoll_create1")
				 : common_fail_memory("slots", config->slot_count * sizeof(*qemu->slots));
	record_qemu_close(qemu);
	return status;
}

void record_qemu_close(struct record_qemu *qemu)
{
	uint64_t number, value;
	size_t at = 0;

	while (common_hash_map_next(&qemu->processes, &at, &number, &value)) {
		struct record_qemu_process *process = (struct record_qemu_process *)(uintptr_t)value;

		if (process->pidfd >= 0)
			close(process->pidfd);
		free(process);
	}
	common_hash_map_free(&qemu->processes);
	record_qemu_order_free(&qemu->order);
	record_qemu_cpus_free(&qemu->cpus);
	for (uint32_t i = 0; qemu->slots && i < qemu->channel.config.slot_count; i++)
		free(qemu->slots[i].marks);
	qemu_channel_destroy(&qemu->channel);
	if (qemu->epoll >= 0)
		close(qemu->epoll);
	free(qemu->slots);
	*qemu = (struct record_qemu){.epoll = -1};
}

int record_qemu_count_losses(struct record_qemu *qemu)
{
	const struct {
		uint32_t count;
		uint32_t kind;
		const char *cause;
	} counters[] = {
		{__atomic_load_n(&qemu->channel.header->untraced_threads, __ATOMIC_RELAXED), PTL_LOSS_THREAD,
		 "more threads at one time than --threads allows"},
		{__atomic_load_n(&qemu->channel.header->untraced_processes, __ATOMIC_RELAXED), PTL_LOSS_PROCESS,
		 "the QEMU plugin could not trace a process"},
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
			status = record_capture_loss(qemu->capture, &loss);
	}
	return status;
}
