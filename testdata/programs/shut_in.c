/* SPDX-License-Identifier: BSD-2-Clause */
/* Starts a thread and a child without any free descriptor ("descriptors"), or with an empty root folder (a folder). */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void *begin(void *argument)
{
	return argument;
}

static void use_all_descriptors(void)
{
	const struct rlimit few = {40, 40};

	setrlimit(RLIMIT_NOFILE, &few);
	while (open("/dev/null", O_RDONLY) >= 0)
		;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int status;

	if (argc != 2)
		return 2;
	if (strcmp(argv[1], "descriptors") == 0)
		use_all_descriptors();
	else if (chdir(argv[1]) || chroot("."))
		return 77;
	if (pthread_create(&thread, NULL, begin, NULL) || pthread_join(thread, NULL))
		return 1;
	switch (fork()) {
	case -1:
		return 1;
	case 0:
		_exit(3);
	default:
		return wait(&status) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 3;
	}
}
