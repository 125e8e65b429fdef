/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps a fork and the beginning or end of another thread apart. For these QEMU takes locks that its fork knows nothing of:
 * the child, which is the forking thread alone, would find them taken for ever, and wait at its own first thread or its end.
 */
#include <errno.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>

#include "record/qemu/plugin/plugin.h"

/* Longer than QEMU takes on any machine; a thread that is never heard of again holds nobody up for longer. */
#define WAIT_SECONDS 5

enum activity {
	ACTIVITY_NONE,
	ACTIVITY_FORK,
	ACTIVITY_CREATE,
	ACTIVITY_END,
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned forks;
static unsigned changes;  /* threads that create another, or end */
static unsigned newborns; /* threads that have not executed a block yet */
static pthread_key_t end_key;
static _Thread_local enum activity activity;
static _Thread_local uint32_t created;

static bool no_forks(void)
{
	return !forks;
}

/* When tracing was stopped, blocks are no longer noticed. */
static bool no_changes(void)
{
	return !changes && (!newborns || __atomic_load_n(&plugin.stopped, __ATOMIC_RELAXED));
}

static void wait_until(bool (*condition)(void))
{
	struct timespec end;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += WAIT_SECONDS;
	while (!condition() && pthread_cond_clockwait(&changed, &lock, CLOCK_MONOTONIC, &end) != ETIMEDOUT)
		;
}

static void begin(enum activity what)
{
	pthread_mutex_lock(&lock);
	if (what == ACTIVITY_FORK) {
		forks++;
		wait_until(no_changes);
	} else {
		wait_until(no_forks);
		changes++;
	}
	activity = what;
	created = PLUGIN_VCPU_MAX;
	pthread_mutex_unlock(&lock);
}

static void finish(void)
{
	pthread_mutex_lock(&lock);
	if (activity == ACTIVITY_FORK)
		forks--;
	else
		changes--;
	activity = ACTIVITY_NONE;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

/* QEMU is done with the thread: pthread_exit() is the last that it does in it. */
static void ended(void *unused)
{
	(void)unused;
	if (activity == ACTIVITY_END)
		finish();
}

static void forget_newborn(uint32_t vcpu)
{
	pthread_mutex_lock(&lock);
	if (plugin.vcpus[vcpu].newborn) {
		plugin.vcpus[vcpu].newborn = false;
		newborns--;
		pthread_cond_broadcast(&changed);
	}
	pthread_mutex_unlock(&lock);
}

int plugin_fork_start(void)
{
	return pthread_key_create(&end_key, ended);
}

void plugin_fork_syscall(const struct plugin_syscall *call)
{
	switch (call->number) {
	case SYS_fork:
	case SYS_vfork:
		begin(ACTIVITY_FORK);
		break;
	case SYS_clone:
		/* QEMU's vfork is a fork. */
		begin(call->args[0] & CLONE_VM && !(call->args[0] & CLONE_VFORK) ? ACTIVITY_CREATE : ACTIVITY_FORK);
		break;
	case SYS_exit:
		begin(ACTIVITY_END);
		pthread_setspecific(end_key, &end_key);
		break;
	case SYS_exit_group:
		/* QEMU 7.2 takes two locks in the reverse of fork's order. */
		begin(ACTIVITY_END);
		break;
	default:
		break;
	}
}

bool plugin_fork_creates(void)
{
	return activity == ACTIVITY_CREATE;
}

void plugin_fork_vcpu(uint32_t vcpu)
{
	if (activity != ACTIVITY_CREATE)
		return;
	pthread_mutex_lock(&lock);
	created = vcpu;
	plugin.vcpus[vcpu].newborn = true;
	newborns++;
	pthread_mutex_unlock(&lock);
}

void plugin_fork_born(uint32_t vcpu)
{
	if (plugin.vcpus[vcpu].newborn)
		forget_newborn(vcpu);
}

void plugin_fork_return(int64_t result)
{
	if (activity == ACTIVITY_NONE)
		return;
	if (result < 0 && created < PLUGIN_VCPU_MAX)
		forget_newborn(created);
	finish();
}

void plugin_fork_child(void)
{
	pthread_mutex_init(&lock, NULL);
	pthread_cond_init(&changed, NULL);
	forks = changes = newborns = 0;
	activity = ACTIVITY_NONE;
}
