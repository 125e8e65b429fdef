/* SPDX-License-Identifier: BSD-2-Clause */
/* Sockets and network interfaces of Linux. */
#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>

#include "analysis/usage/io_state.h"
#include "common/error.h"
#include "common/text/text.h"

/* common_flags of a tracepoint: hardirq, softirq, NMI */
#define IN_INTERRUPT 0x58u
#define FAMILY_IPV6 10u

static void add_address(struct ptl_bytes *text, const struct usage_value *value, uint64_t port, int family)
{
	char words[INET6_ADDRSTRLEN] = "?";
	const size_t size = family == AF_INET6 ? 16 : 4;

	if (value->given && value->bytes && value->size == size)
		(void)inet_ntop(family, value->bytes, words, sizeof(words));
	common_text_format(text, family == AF_INET6 ? "[%s]:%" PRIu64 : "%s:%" PRIu64, words, port);
}

static int unnamed_socket(struct usage_io *io, uint64_t address, uint32_t *object)
{
	char name[32];

	snprintf(name, sizeof(name), "socket 0x%" PRIx64, address);
	return usage_io_object(io, USAGE_SOCKET, name, object);
}

/* A state of a connection names the socket by its addresses, once both ports are known. */
static int name_socket(struct usage_io *io, const struct usage_event *read)
{
	const struct usage_value *values = read->values;
	const bool ipv6 = values[USAGE_SOCK_FAMILY].number == FAMILY_IPV6;
	struct ptl_bytes *text = &io->state->text;
	uint32_t object;
	int status;

	if (!values[USAGE_SOCK].given || !values[USAGE_SOCK_SPORT].number || !values[USAGE_SOCK_DPORT].number)
		return 0;
	text->size = 0;
	add_address(text, &values[ipv6 ? USAGE_SOCK_SADDR6 : USAGE_SOCK_SADDR], values[USAGE_SOCK_SPORT].number,
		    ipv6 ? AF_INET6 : AF_INET);
	common_text_add(text, " > ");
	add_address(text, &values[ipv6 ? USAGE_SOCK_DADDR6 : USAGE_SOCK_DADDR], values[USAGE_SOCK_DPORT].number,
		    ipv6 ? AF_INET6 : AF_INET);
	status = usage_io_object(io, USAGE_SOCKET, common_text_string(text), &object);
	return status < 0 ? status : common_hash_map_put(&io->state->sockets, values[USAGE_SOCK].number, object);
}

static int message(struct usage_io *io, const struct usage_event *read)
{
	const uint64_t address = read->values[USAGE_SOCK].number;
	const int64_t result = (int64_t)read->values[USAGE_SOCK_RESULT].number;
	const uint64_t *known = common_hash_map_get(&io->state->sockets, address);
	struct usage_io_done done = {
		.operation = read->type->kind == USAGE_SOCKET_SEND ? USAGE_WRITE : USAGE_READ,
		.bytes = result > 0 ? (uint64_t)result : 0,
		.failed = result < 0,
		.end = read->event->time,
	};
	int status = usage_io_process(io, read->event->pid, read->event->time, &done.process);

	if (known)
		done.object = (uint32_t)*known;
	else if (status == 0)
		status = unnamed_socket(io, address, &done.object);
	return status < 0 ? status : usage_io_add(io, &done);
}

/* A packet in an interrupt belongs to no process. */
static int packet(struct usage_io *io, const struct usage_event *read)
{
	const bool interrupt = read->values[USAGE_NET_FLAGS].number & IN_INTERRUPT;
	struct ptl_bytes *text = &io->state->text;
	struct usage_io_done done = {
		.operation = read->type->kind == USAGE_INTERFACE_SEND ? USAGE_WRITE : USAGE_READ,
		.bytes = read->values[USAGE_NET_LENGTH].number,
		.end = read->event->time,
	};
	int status = usage_io_process(io, interrupt ? PTL_NO_ID : read->event->pid, read->event->time, &done.process);

	text->size = 0;
	usage_value_text(&read->values[USAGE_NET_NAME], text);
	if (status == 0)
		status = usage_io_object(io, USAGE_INTERFACE, common_text_string(text), &done.object);
	return status < 0 ? status : usage_io_add(io, &done);
}

int usage_io_network(struct usage_io *io, const struct usage_event *read)
{
	switch (read->type->kind) {
	case USAGE_SOCKET_STATE:
		return name_socket(io, read);
	case USAGE_SOCKET_SEND:
	case USAGE_SOCKET_RECEIVE:
		return message(io, read);
	default:
		return packet(io, read);
	}
}
