/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes file names. */
#include "provider/names.h"

#include <string.h>
#include <sys/stat.h>

static char *put_text(char *at, const char *text)
{
	while (*text)
		*at++ = *text++;
	*at = 0;
	return at;
}

static char *put_number(char *at, uint32_t number)
{
	char digits[10];
	unsigned count = 0;

	do
		digits[count++] = (char)('0' + number % 10);
	while (number /= 10);
	while (count)
		*at++ = digits[--count];
	*at = 0;
	return at;
}

static char *put_id(char *at, uint64_t id)
{
	for (int shift = 60; shift >= 0; shift -= 4)
		*at++ = "0123456789abcdef"[id >> shift & 15];
	*at = 0;
	return at;
}

void provider_name_session(char *name, unsigned slot)
{
	char *at = put_text(name, "session.");

	put_number(slot < 10 ? put_text(at, "0") : at, slot);
}

void provider_name_process(char *name, uint32_t pid, uint64_t process)
{
	put_id(put_text(put_number(put_text(name, "process."), pid), "."), process);
}

void provider_name_rings(char *name, uint32_t pid, uint64_t process, uint64_t session)
{
	char *at = put_id(put_text(put_number(put_text(name, "rings."), pid), "."), process);

	put_id(put_text(at, "."), session);
}

void provider_name_new(char *name, uint64_t number)
{
	put_id(put_text(name, ".new."), number);
}

void provider_name_folder(char *name, uint32_t user)
{
	struct stat status;

	put_number(put_text(name, "/dev/shm/ptl-"), user);
	if (lstat(name, &status) || status.st_uid == user)
		return;
	put_number(put_text(name, "/run/user/"), user);
	if (lstat(name, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == user &&
	    !(status.st_mode & (S_IWGRP | S_IWOTH)))
		put_text(name + strlen(name), "/ptl");
	else
		put_number(put_text(name, "/dev/shm/ptl-"), user);
}
