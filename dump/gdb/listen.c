/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections from gdb over TCP. */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/error.h"
#include "common/program/interrupt.h"
#include "common/program/message.h"
#include "common/text/text.h"
#include "dump/gdb/connection.h"
#include "dump/gdb/server.h"

int dump_gdb_serve(struct dump_gdb_process *process, int in, int out)
{
	struct dump_gdb_server server = {.model = &process->model};
	const int status = dump_gdb_server_run(&server, in, out);

	dump_gdb_server_free(&server);
	return status;
}

/* Divides "[::1]:1234" into host and port. host keeps its brackets out. */
static bool address_split(char *text, const char **host, const char **port)
{
	char *colon = strrchr(text, ':'), *end;

	*host = "127.0.0.1";
	*port = colon ? colon + 1 : text;
	if (colon) {
		*colon = 0;
		*host = text;
		end = *text == '[' ? strchr(text, ']') : NULL;
		if (*text == '[' && (!end || end[1]))
			return false;
		if (end) {
			*end = 0;
			*host = text + 1;
		}
		if (!**host)
			*host = "127.0.0.1";
	}
	return **port && strspn(*port, "0123456789") == strlen(*port);
}

static int socket_open(const char *host, const char *port, int *listener)
{
	const struct addrinfo wanted = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
	struct addrinfo *found = NULL;
	const int error = getaddrinfo(host, port, &wanted, &found), on = 1;
	int status = 0;

	if (error)
		return common_fail(PTL_SYSTEM, "cannot listen at %s: %s", host, gai_strerror(error));
	*listener = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (*listener < 0 || setsockopt(*listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    bind(*listener, found->ai_addr, found->ai_addrlen) < 0 || listen(*listener, 1) < 0)
		status = common_fail_errno("cannot listen at port %s of %s", port, host);
	freeaddrinfo(found);
	return status;
}

static int print_address(int listener, FILE *out)
{
	struct sockaddr_storage address;
	socklen_t size = sizeof(address);
	char host[64], port[16];

	if (getsockname(listener, (struct sockaddr *)&address, &size) < 0 ||
	    getnameinfo((struct sockaddr *)&address, size, host, sizeof(host), port, sizeof(port),
			NI_NUMERICHOST | NI_NUMERICSERV))
		return common_fail_errno("cannot tell the address");
	fprintf(out, strchr(host, ':') ? "target remote [%s]:%s\n" : "target remote %s:%s\n", host, port);
	return fflush(out) ? common_fail_errno("cannot print the address") : 0;
}

/* Sockets that an interruption ends. */
struct sockets {
	int listener;
	_Atomic int connection; /* -1: none */
};

/* Runs in a signal handler. */
static void sockets_end(void *context)
{
	struct sockets *sockets = context;

	shutdown(sockets->listener, SHUT_RDWR);
	if (sockets->connection >= 0)
		shutdown(sockets->connection, SHUT_RDWR);
}

static int serve_connections(struct dump_gdb_process *process, struct sockets *sockets)
{
	int status = 0;

	while (status == 0) {
		const int fd = accept4(sockets->listener, NULL, NULL, SOCK_CLOEXEC), on = 1;

		status = common_interrupt_check();
		if (fd < 0 && (status < 0 || errno == EINTR || errno == ECONNABORTED))
			continue;
		if (fd < 0)
			return common_fail_errno("cannot accept a connection");
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		/* A client that breaks off, or sends no packets of gdb, does not end the server. */
		sockets->connection = fd;
		status = dump_gdb_serve(process, fd, fd);
		sockets->connection = -1;
		if (status == PTL_SYSTEM || status == PTL_CORRUPT) {
			common_message_warning("%s", ptl_error_text());
			status = 0;
		}
		close(fd);
	}
	return status;
}

int dump_gdb_listen(struct dump_gdb_process *process, const char *address, FILE *out)
{
	char *text = strdup(address);
	const char *host, *port;
	struct sockets sockets = {-1, -1};
	int status = 0;

	if (!text)
		return common_fail_memory("an address", strlen(address));
	if (!address_split(text, &host, &port))
		status = common_fail(PTL_MISUSE, "--listen takes PORT or ADDRESS:PORT, not '%s'", address);
	else
		status = socket_open(host, port, &sockets.listener);
	if (status == 0)
		status = print_address(sockets.listener, out);
	if (status == 0) {
		common_interrupt_catch(sockets_end, &sockets);
		status = serve_connections(process, &sockets);
		common_interrupt_forget();
	}
	if (sockets.listener >= 0)
		close(sockets.listener);
	free(text);
	return status;
}
