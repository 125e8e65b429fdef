/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files over HTTP and HTTPS, by libcurl, which is loaded when it is first needed: who asks for nothing over HTTP needs no
 * libcurl, and does not wait for it to be loaded.
 */
#ifndef COMMON_CONTENT_HTTP_H
#define COMMON_CONTENT_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct common_http; /* a connection, for one thread at a time */

/* Whether it begins as a URL of HTTP or HTTPS does. */
bool common_http_is_url(const char *text);
/* PTL_UNSUPPORTED where there is no libcurl; PTL_NO_MEMORY. */
int common_http_open(struct common_http **http);
void common_http_close(struct common_http *http);
/*
 * Gets a URL; take() sees what comes, and returns false to end it, which is PTL_CANCELLED, and so is more than limit bytes that the
 * server announces. Redirects are followed, from HTTPS to HTTPS
 * alone. PTL_NOT_FOUND: the server says that there is none (404, 410). PTL_SYSTEM: any other answer, or none.
 */
int common_http_get(struct common_http *http, const char *url, uint64_t limit,
		    bool (*take)(void *context, const void *data, size_t size), void *context);

#endif
