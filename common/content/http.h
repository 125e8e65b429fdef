/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Downloads over HTTP and HTTPS by libcurl. libcurl is loaded at the first use: a program without downloads neither
 * needs libcurl nor waits for its loading.
 */
#ifndef COMMON_CONTENT_HTTP_H
#define COMMON_CONTENT_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct common_http; /* a connection, for one thread at a time */

/* Whether the text begins like an HTTP or HTTPS URL. */
bool common_http_is_url(const char *text);
/* Loads libcurl and opens a connection. PTL_UNSUPPORTED without libcurl; PTL_NO_MEMORY. */
int common_http_open(struct common_http **http);
void common_http_close(struct common_http *http);
/*
 * Downloads a URL. take() receives the data and returns false to cancel. PTL_CANCELLED: take() cancelled, or the server
 * announced more than `limit` bytes. Follows redirects; from HTTPS only to HTTPS. PTL_NOT_FOUND: the server answered
 * 404 or 410. PTL_SYSTEM: any other error answer, or no answer.
 */
int common_http_get(struct common_http *http, const char *url, uint64_t limit,
		    bool (*take)(void *context, const void *data, size_t size), void *context);

#endif
