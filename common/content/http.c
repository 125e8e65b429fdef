/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The part of libcurl that PTL uses, an interface unchanged since libcurl 7.19. Declared here, so that building needs
 * no headers of libcurl.
 */
#include "common/content/http.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/error.h"

/* Time limits for a server that does not answer or is too slow. */
#define CONNECT_MS 10000L
#define SLOW_BYTES 1000L /* bytes a second; a slower transfer is given up after SLOW_SECONDS */
#define SLOW_SECONDS 10L
#define WHOLE_MS 300000L
#define REDIRECTS 5L

/* Constants of curl/curl.h. */
enum {
	CURL_GLOBAL_ALL = 3,
	CURLPROTO_HTTP = 1,
	CURLPROTO_HTTPS = 2,
	CURLE_OK = 0,
	CURLE_HTTP_RETURNED_ERROR = 22,
	CURLE_WRITE_ERROR = 23,
	CURLE_FILESIZE_EXCEEDED = 63,
	CURL_ERROR_SIZE = 256,
	CURLINFO_RESPONSE_CODE = 0x200002,
};

enum curl_option {
	CURLOPT_LOW_SPEED_LIMIT = 19,
	CURLOPT_LOW_SPEED_TIME = 20,
	CURLOPT_FAILONERROR = 45,
	CURLOPT_FOLLOWLOCATION = 52,
	CURLOPT_MAXREDIRS = 68,
	CURLOPT_NOSIGNAL = 99,
	CURLOPT_TIMEOUT_MS = 155,
	CURLOPT_CONNECTTIMEOUT_MS = 156,
	CURLOPT_PROTOCOLS = 181,
	CURLOPT_REDIR_PROTOCOLS = 182,
	CURLOPT_WRITEDATA = 10001,
	CURLOPT_URL = 10002,
	CURLOPT_ERRORBUFFER = 10010,
	CURLOPT_USERAGENT = 10018,
	CURLOPT_WRITEFUNCTION = 20011,
	CURLOPT_MAXFILESIZE_LARGE = 30117,
};

static struct {
	int (*global_init)(long flags);
	void *(*easy_init)(void);
	int (*easy_setopt)(void *handle, int option, ...);
	int (*easy_perform)(void *handle);
	int (*easy_getinfo)(void *handle, int info, ...);
	const char *(*easy_strerror)(int code);
	void (*easy_cleanup)(void *handle);
} curl;

struct common_http {
	void *handle;
	char error[CURL_ERROR_SIZE];
	bool (*take)(void *context, const void *data, size_t size);
	void *context;
};

/* ---- the library --------------------------------------------------------------------------------- */

static pthread_once_t loaded = PTHREAD_ONCE_INIT;
static bool usable;

#ifdef COMMON_STATIC

static void load_libcurl(void)
{
	/* A statically linked program loads no shared libraries. */
}

#else

static void load_libcurl(void)
{
	static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
	static const struct {
		const char *name;
		void **function;
	} symbols[] = {
		{"curl_global_init", (void **)&curl.global_init},
		{"curl_easy_init", (void **)&curl.easy_init},
		{"curl_easy_setopt", (void **)&curl.easy_setopt},
		{"curl_easy_perform", (void **)&curl.easy_perform},
		{"curl_easy_getinfo", (void **)&curl.easy_getinfo},
		{"curl_easy_strerror", (void **)&curl.easy_strerror},
		{"curl_easy_cleanup", (void **)&curl.easy_cleanup},
	};
	void *library = NULL;

	for (size_t i = 0; !library && i < sizeof(names) / sizeof(names[0]); i++)
		library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return;
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		*symbols[i].function = dlsym(library, symbols[i].name);
		if (!*symbols[i].function)
			return;
	}
	usable = curl.global_init(CURL_GLOBAL_ALL) == CURLE_OK;
}

#endif

/* ---- a connection -------------------------------------------------------------------------------- */

bool common_http_is_url(const char *text)
{
	return strncasecmp(text, "http://", 7) == 0 || strncasecmp(text, "https://", 8) == 0;
}

static size_t take_data(const char *data, size_t one, size_t count, void *context)
{
	struct common_http *http = context;

	return http->take(http->context, data, one * count) ? one * count : 0;
}

static void set_number(struct common_http *http, enum curl_option option, long number)
{
	curl.easy_setopt(http->handle, option, number);
}

int common_http_open(struct common_http **result)
{
	struct common_http *http;

	pthread_once(&loaded, load_libcurl);
	if (!usable)
		return common_fail(PTL_UNSUPPORTED, "HTTP needs libcurl, which is not here (apt-get install libcurl4)");
	http = calloc(1, sizeof(*http));
	if (!http)
		return common_fail_memory("a connection", sizeof(*http));
	http->handle = curl.easy_init();
	if (!http->handle) {
		free(http);
		return common_fail_memory("a connection", 0);
	}
	set_number(http, CURLOPT_NOSIGNAL, 1);
	set_number(http, CURLOPT_FAILONERROR, 1);
	set_number(http, CURLOPT_FOLLOWLOCATION, 1);
	set_number(http, CURLOPT_MAXREDIRS, REDIRECTS);
	set_number(http, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
	set_number(http, CURLOPT_TIMEOUT_MS, WHOLE_MS);
	set_number(http, CURLOPT_LOW_SPEED_LIMIT, SLOW_BYTES);
	set_number(http, CURLOPT_LOW_SPEED_TIME, SLOW_SECONDS);
	set_number(http, CURLOPT_PROTOCOLS, CURLPROTO_HTTP | CURLPROTO_HTTPS);
	curl.easy_setopt(http->handle, CURLOPT_USERAGENT, "ptl");
	curl.easy_setopt(http->handle, CURLOPT_ERRORBUFFER, http->error);
	curl.easy_setopt(http->handle, CURLOPT_WRITEFUNCTION, take_data);
	curl.easy_setopt(http->handle, CURLOPT_WRITEDATA, http);
	*result = http;
	return 0;
}

void common_http_close(struct common_http *http)
{
	if (!http)
		return;
	curl.easy_cleanup(http->handle);
	free(http);
}

int common_http_get(struct common_http *http, const char *url, uint64_t limit,
		    bool (*take)(void *context, const void *data, size_t size), void *context)
{
	const bool is_safe = strncasecmp(url, "https:", 6) == 0;
	long answer = 0;
	int code;

	http->take = take;
	http->context = context;
	*http->error = 0;
	set_number(http, CURLOPT_REDIR_PROTOCOLS, is_safe ? CURLPROTO_HTTPS : CURLPROTO_HTTP | CURLPROTO_HTTPS);
	curl.easy_setopt(http->handle, CURLOPT_URL, url);
	/* Limit for servers that announce the size. 0 would mean no limit. */
	curl.easy_setopt(http->handle, CURLOPT_MAXFILESIZE_LARGE, (int64_t)(limit ? limit : 1));
	code = curl.easy_perform(http->handle);
	curl.easy_getinfo(http->handle, CURLINFO_RESPONSE_CODE, &answer);
	if (code == CURLE_OK)
		return 0;
	if (code == CURLE_WRITE_ERROR || code == CURLE_FILESIZE_EXCEEDED)
		return common_fail(PTL_CANCELLED, "%s has more than was wanted", url);
	if (code == CURLE_HTTP_RETURNED_ERROR && (answer == 404 || answer == 410))
		return common_fail(PTL_NOT_FOUND, "there is no %s", url);
	return common_fail(PTL_SYSTEM, "cannot get %s: %s", url, *http->error ? http->error : curl.easy_strerror(code));
}
