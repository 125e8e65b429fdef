/* SPDX-License-Identifier: BSD-2-Clause */
/* Downloads from a server into a folder: one piece at a time, bounded and checked. */
#include "common/content/content_remote.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/content/http.h"
#include "common/error.h"
#include "common/file.h"
#include "common/hash_map.h"

#define PATH_SIZE 4096
#define URL_SIZE 2048
/*
 * After this many consecutive failures of the server or of the folder, no more pieces are requested, as each request
 * may take long.
 */
#define FAILURES_MAX 3

struct common_content_remote {
	char url[URL_SIZE]; /* without trailing slashes */
	char folder[PATH_SIZE];
	pthread_mutex_t lock;
	struct common_http *http;
	struct common_byte_map refused; /* digests of pieces that failed */
	uint64_t failures;
	unsigned in_turn;
	char why[512]; /* text of the first failure */
};

/* ---- opening ------------------------------------------------------------------------------------- */

/* Chooses $PTL_CODE_CACHE, or ptl/code in the user's cache folder. */
static int choose_folder(char folder[PATH_SIZE])
{
	const char *own = getenv("PTL_CODE_CACHE"), *caches = getenv("XDG_CACHE_HOME"), *home_folder = getenv("HOME");
	int length;

	if (own && *own)
		length = snprintf(folder, PATH_SIZE, "%s", own);
	else if (caches && *caches == '/')
		length = snprintf(folder, PATH_SIZE, "%s/ptl/code", caches);
	else if (home_folder && *home_folder)
		length = snprintf(folder, PATH_SIZE, "%s/.cache/ptl/code", home_folder);
	else
		return common_fail(PTL_MISUSE, "there is no HOME to keep code in: PTL_CODE_CACHE=FOLDER names a place");
	if (length >= PATH_SIZE - 1)
		return common_fail(PTL_MISUSE, "the name of the folder that keeps code is too long");
	return 0;
}

static int choose_url(const char *from, char url[URL_SIZE])
{
	size_t size = strlen(from);

	while (size && from[size - 1] == '/')
		size--;
	/* A digest will be appended. */
	if (size >= URL_SIZE - COMMON_SHA256_TEXT_SIZE - 2 || strpbrk(from, "?#"))
		return common_fail(PTL_MISUSE, "a code store's URL is a folder: https://server/folder");
	memcpy(url, from, size);
	url[size] = 0;
	return 0;
}

int common_content_remote_open(const char *url, struct common_content_remote **result)
{
	struct common_content_remote *remote = calloc(1, sizeof(*remote));
	int status;

	if (!remote)
		return common_fail_memory("a code store", sizeof(*remote));
	pthread_mutex_init(&remote->lock, NULL);
	status = choose_url(url, remote->url);
	if (!status)
		status = choose_folder(remote->folder);
	if (!status)
		status = common_http_open(&remote->http);
	if (status)
		common_content_remote_close(remote);
	else
		*result = remote;
	return status;
}

void common_content_remote_close(struct common_content_remote *remote)
{
	if (!remote)
		return;
	common_http_close(remote->http);
	common_byte_map_free(&remote->refused);
	pthread_mutex_destroy(&remote->lock);
	free(remote);
}

const char *common_content_remote_folder(const struct common_content_remote *remote)
{
	return remote->folder;
}

/* ---- fetching ------------------------------------------------------------------------------------ */

/* A piece being downloaded, in a file without a name, since its size is unknown. */
struct download {
	int fd;
	int status; /* result of writing */
	uint64_t size, limit;
	struct common_sha256 *hash;
};

static bool take_content(void *context, const void *data, size_t size)
{
	struct download *download = context;

	if (size > download->limit - download->size)
		return false;
	download->status = common_write_temporary(download->fd, data, size, download->size);
	common_sha256_add(download->hash, data, size);
	download->size += size;
	return !download->status;
}

static int make_parents(const char *folder)
{
	char path[PATH_SIZE];

	snprintf(path, sizeof(path), "%s", folder);
	for (char *at = path + 1; (at = strchr(at, '/')); at++) {
		*at = 0;
		if (mkdir(path, 0700) && errno != EEXIST)
			return common_fail_errno("cannot make the folder %s", path);
		*at = '/';
	}
	return 0;
}

static int keep_download(const struct common_content_remote *remote, const uint8_t *digest,
			 const struct download *download)
{
	void *data = NULL;
	bool added;
	int status = make_parents(remote->folder);

	if (status)
		return status;
	if (download->size) {
		data = mmap(NULL, download->size, PROT_READ, MAP_PRIVATE, download->fd, 0);
		if (data == MAP_FAILED)
			return common_fail_errno("cannot map %llu bytes of code", (unsigned long long)download->size);
	}
	status = common_content_add(remote->folder, digest, data, download->size, &added);
	if (data)
		munmap(data, download->size);
	return status;
}

static int check_download(struct download *download, const char *url, const uint8_t *digest)
{
	uint8_t found[COMMON_SHA256_SIZE];

	common_sha256_finish(download->hash, found);
	if (memcmp(found, digest, sizeof(found)) != 0)
		return common_fail(PTL_CORRUPT, "%s is not what its name says", url);
	return 0;
}

/* Downloads the piece into the download's file, and checks its digest. */
static int get_piece(struct common_content_remote *remote, const uint8_t *digest, struct download *download)
{
	char text[COMMON_SHA256_TEXT_SIZE], url[URL_SIZE + COMMON_SHA256_TEXT_SIZE + 2];
	int status;

	common_sha256_format(digest, text);
	snprintf(url, sizeof(url), "%s/%.2s/%s", remote->url, text, text + 2);
	status = common_http_get(remote->http, url, download->limit, take_content, download);
	if (download->status)
		return download->status;
	if (status == PTL_CANCELLED)
		return common_fail(PTL_CORRUPT, "%s has more than %llu bytes", url,
				   (unsigned long long)download->limit);
	return status ? status : check_download(download, url, digest);
}

/* Counts a failure. Any answer of the server resets `in_turn`, so that the next piece is requested. */
static void note_failure(struct common_content_remote *remote, int status)
{
	remote->in_turn = status == PTL_SYSTEM ? remote->in_turn + 1 : 0;
	if (status != PTL_NOT_FOUND && !remote->failures++)
		snprintf(remote->why, sizeof(remote->why), "%s", ptl_error_text());
}

static int download_piece(struct common_content_remote *remote, const uint8_t *digest, uint64_t limit)
{
	struct download download = {.fd = -1, .limit = limit, .hash = common_sha256_new()};
	int status = download.hash ? common_open_temporary(&download.fd) : common_fail_memory("a hash", 0);

	if (!status)
		status = get_piece(remote, digest, &download);
	if (!status)
		status = keep_download(remote, digest, &download);
	if (download.fd >= 0)
		close(download.fd);
	common_sha256_free(download.hash);
	if (!status) {
		remote->in_turn = 0;
		return 0;
	}
	note_failure(remote, status);
	status = common_byte_map_put(&remote->refused, digest, COMMON_SHA256_SIZE, 1);
	return status ? status : PTL_NOT_FOUND;
}

int common_content_remote_fetch(struct common_content_remote *remote, const uint8_t digest[COMMON_SHA256_SIZE],
				uint64_t limit)
{
	uint64_t size;
	int status = 0;

	pthread_mutex_lock(&remote->lock);
	if (!common_content_has(remote->folder, digest, &size)) {
		if (remote->in_turn >= FAILURES_MAX ||
		    common_byte_map_get(&remote->refused, digest, COMMON_SHA256_SIZE))
			status = common_fail(PTL_NOT_FOUND, "%s does not have it", remote->url);
		else
			status = download_piece(remote, digest, limit);
	}
	pthread_mutex_unlock(&remote->lock);
	return status;
}

uint64_t common_content_remote_failures(const struct common_content_remote *remote, const char **why)
{
	*why = remote->why;
	return remote->failures;
}
