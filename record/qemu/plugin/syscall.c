/* SPDX-License-Identifier: BSD-2-Clause */
/* System calls: each leaves user mode, and some tell what the recorder wants to know. */

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/qemu/plugin/guest.h"
#include "record/qemu/plugin/plugin.h"

static void on_sigaction(struct qemu_slot *slot, const uint64_t *args)
{
	struct plugin_signal_action action; /* as the kernel's struct begins */
	int status;

	if (args[0] < 1 || args[0] > PLUGIN_SIGNAL_MAX || !args[1] ||
	    !plugin_guest_read(args[1], &action, sizeof(action)))
		return;
	if (action.handler == (uint64_t)SIG_DFL || action.handler == (uint64_t)SIG_IGN)
		return;
	pthread_mutex_lock(&plugin.lock);
	plugin.actions[args[0]] = action;
	status = plugin_block_add_handler(&plugin.blocks, action.handler);
	pthread_mutex_unlock(&plugin.lock);
	if (status)
		plugin_note(slot, 1, "no memory for the signal handler at %#llx", (unsigned long long)action.handler);
}

static bool is_last_thread(void)
{
	unsigned alive = 0;

	for (uint32_t i = 0; i < plugin.vcpu_high; i++)
		alive += __atomic_load_n(&plugin.vcpus[i].alive, __ATOMIC_RELAXED);
	return alive <= 1;
}

static void send_exit(struct qemu_slot *slot, uint64_t code)
{
	struct qemu_message_exit message = {
		.header.type = QEMU_MSG_EXIT,
		.status = (uint32_t)(code & 0xff) << 8,
	};

	plugin_send(slot, &message.header, sizeof(message), NULL, 0);
}

static void on_exit_thread(unsigned vcpu, uint64_t code)
{
	struct qemu_message_thread_end message = {.header.type = QEMU_MSG_THREAD_END, .status = (uint32_t)code};
	struct qemu_slot *slot = plugin.vcpus[vcpu].slot;

	plugin_send(slot, &message.header, sizeof(message), NULL, 0);
	if (is_last_thread())
		send_exit(slot, code);
	plugin_thread_end(vcpu);
}

void plugin_syscall_enter(unsigned vcpu, const struct plugin_syscall *call)
{
	struct qemu_slot *slot = plugin.vcpus[vcpu].slot;

	plugin.vcpus[vcpu].syscall = *call;
	plugin_leave_for_syscall(slot);
	plugin_cpu_give(slot);
	switch (call->number) {
	case SYS_rt_sigaction:
		on_sigaction(slot, call->args);
		break;
	case SYS_exit:
		on_exit_thread(vcpu, call->args[0]);
		break;
	case SYS_exit_group:
		send_exit(slot, call->args[0]);
		plugin_thread_end(vcpu);
		break;
	case SYS_execve:
		plugin_exec(vcpu, call);
		break;
	default:
		break;
	}
}

static void send_child_status(struct qemu_slot *slot, int64_t pid, int status)
{
	struct qemu_message_child_status message = {
		.header.type = QEMU_MSG_CHILD_STATUS,
		.child_pid = (uint32_t)pid,
		.status = (uint32_t)status,
	};

	/* In a pid namespace of its own the program has other numbers than the trace. */
	if (plugin.pid == (uint32_t)getpid() && pid > 0 && (WIFEXITED(status) || WIFSIGNALED(status)))
		plugin_send(slot, &message.header, sizeof(message), NULL, 0);
}

static void on_wait4(struct qemu_slot *slot, const uint64_t *args, int64_t pid)
{
	int status;

	if (args[1] && plugin_guest_read(args[1], &status, sizeof(status)))
		send_child_status(slot, pid, status);
}

static void on_waitid(struct qemu_slot *slot, const uint64_t *args)
{
	siginfo_t info;

	if (!args[2] || !plugin_guest_read(args[2], &info, sizeof(info)))
		return;
	if (info.si_code == CLD_EXITED)
		send_child_status(slot, info.si_pid, W_EXITCODE(info.si_status & 0xff, 0));
	else if (info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED)
		send_child_status(slot, info.si_pid,
				  W_EXITCODE(0, info.si_status) | (info.si_code == CLD_DUMPED ? WCOREFLAG : 0));
}

/* ---- names of threads ---- */

static void send_thread_name(struct qemu_slot *slot, uint32_t tid, uint64_t address, size_t size)
{
	struct qemu_message_thread_name message = {.header.type = QEMU_MSG_THREAD_NAME, .named_tid = tid};
	char name[QEMU_THREAD_NAME_MAX + 1] = "";

	if (size > QEMU_THREAD_NAME_MAX)
		size = QEMU_THREAD_NAME_MAX;
	/* A short string may end where the next page is not there. */
	while (size && !plugin_guest_read(address, name, size))
		size--;
	name[size] = 0;
	message.length = (uint32_t)strcspn(name, "\n");
	plugin_send(slot, &message.header, sizeof(message), name, message.length);
}

static void on_prctl(struct qemu_slot *slot, const uint64_t *args)
{
	if (args[0] == PR_SET_NAME)
		send_thread_name(slot, slot->tid, args[1], QEMU_THREAD_NAME_MAX);
}

/* pthread_setname_np(3) of another thread opens a file of /proc, and writes the name. */
static void on_open(struct plugin_vcpu *vcpu, uint64_t address, int64_t fd)
{
	char path[64];
	unsigned tid, pid;
	int end = 0;

	if (plugin_guest_read_string(address, path, sizeof(path)) < 0)
		return;
	if (sscanf(path, "/proc/self/task/%u/comm%n", &tid, &end) != 1 || !end || path[end]) {
		end = 0;
		if (sscanf(path, "/proc/%u/task/%u/comm%n", &pid, &tid, &end) != 2 || !end || path[end] ||
		    pid != plugin.pid)
			return;
	}
	vcpu->named_tid = tid;
	vcpu->name_fd = (int)fd;
}

static void on_write(struct plugin_vcpu *vcpu, const uint64_t *args, int64_t written)
{
	if (!vcpu->named_tid || args[0] != (uint64_t)vcpu->name_fd)
		return;
	send_thread_name(vcpu->slot, vcpu->named_tid, args[1], (size_t)written);
	vcpu->named_tid = 0;
}

static void on_exec_failed(unsigned vcpu)
{
	struct qemu_message message = {.type = QEMU_MSG_EXEC_FAILED};

	if (plugin.vcpus[vcpu].exec_announced)
		plugin_send(plugin.vcpus[vcpu].slot, &message, sizeof(message), NULL, 0);
	plugin.vcpus[vcpu].exec_announced = false;
}

void plugin_syscall_return(unsigned vcpu, int64_t number, int64_t result)
{
	struct qemu_slot *slot = plugin.vcpus[vcpu].slot;
	const struct plugin_syscall *call = &plugin.vcpus[vcpu].syscall;

	/* Here and not at the next block: in a block others of the process may wait for this thread. */
	plugin_cpu_take(slot);
	if (call->number != number)
		return;
	switch (number) {
	case SYS_mmap:
	case SYS_munmap:
	case SYS_mremap:
	case SYS_mprotect:
	case SYS_pkey_mprotect:
	case SYS_shmat:
	case SYS_shmdt:
		plugin_mapping_syscall(slot, call, result);
		break;
	case SYS_wait4:
		if (result > 0)
			on_wait4(slot, call->args, result);
		break;
	case SYS_waitid:
		if (result == 0)
			on_waitid(slot, call->args);
		break;
	case SYS_execve:
		on_exec_failed(vcpu);
		break;
	case SYS_prctl:
		if (result == 0)
			on_prctl(slot, call->args);
		break;
	case SYS_open:
	case SYS_openat:
		if (result >= 0)
			on_open(&plugin.vcpus[vcpu], call->args[number == SYS_openat], result);
		break;
	case SYS_write:
		if (result > 0)
			on_write(&plugin.vcpus[vcpu], call->args, result);
		break;
	case SYS_close:
		if (call->args[0] == (uint64_t)plugin.vcpus[vcpu].name_fd)
			plugin.vcpus[vcpu].named_tid = 0;
		break;
	default:
		break;
	}
}
