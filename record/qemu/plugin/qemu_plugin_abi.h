/* SPDX-License-Identifier: BSD-2-Clause */
/* The part of QEMU's plugin interface that PTL uses; Debian does not package the header. */

#ifndef RECORD_QEMU_PLUGIN_QEMU_PLUGIN_ABI_H
#define RECORD_QEMU_PLUGIN_QEMU_PLUGIN_ABI_H

#include <stddef.h>
#include <stdint.h>

/*
 * QEMU's plugin interface is a documented C ABI with a number. A plugin exports
 * qemu_plugin_version, the number it was written for, and qemu_plugin_install; QEMU loads it if the
 * number lies between the oldest and the newest it supports. Here it is number 1, that of QEMU 7.2.
 * QEMU of interface number 2 and later (9.0 on) has raised the oldest to 2: it refuses this plugin
 * before running any of its code, with a message that names both numbers.
 */
#define PLUGIN_QEMU_PLUGIN_VERSION 1

typedef uint64_t qemu_plugin_id_t;

/* What qemu_plugin_install receives; the version numbers are the QEMU's own. */
struct qemu_plugin_info {
	const char *target_name; /* "x86_64" */
	struct {
		int minimum;
		int current;
	} version;
	_Bool system_emulation;
	struct {
		int vcpus;
		int max_vcpus;
	} system;
};

struct qemu_plugin_tb;   /* a block at translation; valid in the callback only */
struct qemu_plugin_insn; /* an instruction of it; likewise */

enum qemu_plugin_cb_flags {
	QEMU_PLUGIN_CB_NO_REGS = 0,
};

typedef void (*qemu_plugin_vcpu_cb)(qemu_plugin_id_t id, unsigned int vcpu);
typedef void (*qemu_plugin_tb_trans_cb)(qemu_plugin_id_t id, struct qemu_plugin_tb *tb);
typedef void (*qemu_plugin_exec_cb)(unsigned int vcpu, void *userdata);
typedef void (*qemu_plugin_syscall_cb)(qemu_plugin_id_t id, unsigned int vcpu, int64_t number, uint64_t a1, uint64_t a2,
				       uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6, uint64_t a7, uint64_t a8);
typedef void (*qemu_plugin_syscall_ret_cb)(qemu_plugin_id_t id, unsigned int vcpu, int64_t number, int64_t result);

void qemu_plugin_register_vcpu_init_cb(qemu_plugin_id_t id, qemu_plugin_vcpu_cb callback);
void qemu_plugin_register_vcpu_exit_cb(qemu_plugin_id_t id, qemu_plugin_vcpu_cb callback);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, qemu_plugin_tb_trans_cb callback);
void qemu_plugin_register_vcpu_syscall_cb(qemu_plugin_id_t id, qemu_plugin_syscall_cb callback);
void qemu_plugin_register_vcpu_syscall_ret_cb(qemu_plugin_id_t id, qemu_plugin_syscall_ret_cb callback);

/* In the translation callback: call back at each execution of the block, or of the instruction. */
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb, qemu_plugin_exec_cb callback,
					  enum qemu_plugin_cb_flags flags, void *userdata);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, qemu_plugin_exec_cb callback,
					    enum qemu_plugin_cb_flags flags, void *userdata);

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t index);

/* The bytes as they were translated; valid in the callback only. */
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);

#endif
