/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzzes answers of a web server to a reader of a code store. The input is the answer to each connection, header and
 * body; then the connection closes.
 * The server is the proxy for all hosts, so every request reaches it, also after redirects.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/content/content_remote.h"
#include "common/content/content_store.h"
#include "common/error.h"
#include "common/file.h"
#include "common/sha256.h"

#define PIECE "code"
#define LIMIT 4096 /* bytes of a piece */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct {
	int listener;
	char url[64];
	pthread_t thread;
	/* lock of the members below: a server thread may still write an answer without a reader */
	pthread_mutex_t lock;
	uint8_t *data;
	size_t size;
} server = {.lock = PTHREAD_MUTEX_INITIALIZER};

static char place[] = "/tmp/ptl-fuzz-XXXXXX";

/* Reads one request to its end, since unread bytes would break the connection. */
static void answer(int fd)
{
	const struct timeval patience = {.tv_sec = 5};
	char request[8192];
	size_t size = 0;
	ssize_t got;

	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	while (size < sizeof(request) - 1 && (got = recv(fd, request + size, sizeof(request) - 1 - size, 0)) > 0) {
		size += (size_t)got;
		request[size] = 0;
		if (strstr(request, "\r\n\r\n"))
			break;
	}
	pthread_mutex_lock(&server.lock);
	for (size_t at = 0; at < server.size; at += (size_t)got)
		if ((got = send(fd, server.data + at, server.size - at, MSG_NOSIGNAL)) <= 0)
			break;
	pthread_mutex_unlock(&server.lock);
}

static void *serve(void *unused)
{
	int fd;

	(void)unused;
	while ((fd = accept(server.listener, NULL, NULL)) >= 0) {
		answer(fd);
		close(fd);
	}
	return NULL;
}

static void end_server(void)
{
	shutdown(server.listener, SHUT_RDWR);
	pthread_join(server.thread, NULL);
	free(server.data);
	server.data = NULL;
	close(server.listener);
	(void)rmdir(place);
}

static void start_server(void)
{
	static const char *const proxies[] = {"http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"};
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);

	if (server.thread)
		return;
	server.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (server.listener < 0 || bind(server.listener, (struct sockaddr *)&address, size) ||
	    listen(server.listener, 16) || getsockname(server.listener, (struct sockaddr *)&address, &size) ||
	    pthread_create(&server.thread, NULL, serve, NULL) || !mkdtemp(place))
		abort();
	snprintf(server.url, sizeof(server.url), "http://127.0.0.1:%u", ntohs(address.sin_port));
	for (size_t i = 0; i < sizeof(proxies) / sizeof(proxies[0]); i++)
		setenv(proxies[i], server.url, 1);
	setenv("no_proxy", "", 1);
	unsetenv("NO_PROXY");
	setenv("PTL_CODE_CACHE", place, 1);
	atexit(end_server);
}

/* Checks that a fetched piece has the requested hash, and a failed piece is not in the folder. */
static void ask_store(void)
{
	uint8_t digest[COMMON_SHA256_SIZE], bytes[LIMIT];
	char text[COMMON_SHA256_TEXT_SIZE], path[128];
	struct common_sha256 *hash = common_sha256_new();
	struct common_content_remote *remote;
	size_t size = 0;
	int status;

	common_sha256_add(hash, PIECE, strlen(PIECE));
	common_sha256_finish(hash, digest);
	common_sha256_free(hash);
	if (common_content_remote_open(server.url, &remote) < 0)
		return; /* no libcurl */
	status = common_content_remote_fetch(remote, digest, LIMIT);
	if (status && status != PTL_NOT_FOUND)
		abort();
	if (!status != !common_content_read(place, digest, bytes, sizeof(bytes), &size))
		abort();
	if (!status && (size != strlen(PIECE) || memcmp(bytes, PIECE, size) != 0))
		abort();
	/* The result of a failed piece is remembered. */
	if (common_content_remote_fetch(remote, digest, LIMIT) != status)
		abort();
	common_content_remote_close(remote);
	common_sha256_format(digest, text);
	snprintf(path, sizeof(path), "%s/%.2s/%s", place, text, text + 2);
	(void)unlink(path);
	snprintf(path, sizeof(path), "%s/%.2s", place, text);
	(void)rmdir(path);
}

static void set_answer(const uint8_t *data, size_t size)
{
	pthread_mutex_lock(&server.lock);
	free(server.data);
	server.data = malloc(size ? size : 1);
	server.size = size;
	if (!server.data)
		abort();
	if (size)
		memcpy(server.data, data, size);
	pthread_mutex_unlock(&server.lock);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	start_server();
	set_answer(data, size);
	ask_store();
	return 0;
}
